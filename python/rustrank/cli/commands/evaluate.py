"""The command `evaluate`: `rustrank.evaluate` for files."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.commands._judged import (
    add_metric_options,
    evaluations,
    judging_of,
    require_files,
    require_qrels,
)
from rustrank.cli.parsing import FILES, METRICS, command
from rustrank.cli.streams import print_json
from rustrank.formatting import interval, number, percent, text_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rustrank.metrics.evaluation import Drawing, Evaluation, MetricValue

_EPILOG = f"""\
{FILES}
{METRICS}
examples:
  rustrank evaluate test.txt scores.txt --metric ndcg@10,err@20,map
  rustrank evaluate test.txt bm25.txt mine.txt --per-query > values.tsv
  rustrank score web.rrk test.txt | rustrank evaluate test.txt - --json
  rustrank evaluate --qrels qrels.txt bm25.run --metric ndcg@10
  as trec_eval does it: --gain linear --ties rows --empty zero --single-precision
"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "evaluate",
        "how good is a ranking?",
        usage="[options] {DATA SCORES... | --qrels QRELS RUN...}",
        epilog=_EPILOG,
        run=_run,
        reads=("files", "qrels"),
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="DATA SCORES..., or RUN...")
    add_metric_options(parser)
    parser.add_argument("--per-query", action="store_true", help="print a line a query (TSV)")
    parser.add_argument(
        "--all-queries",
        action="store_true",
        help="with --qrels: count queries for which nothing was retrieved (trec_eval -c)",
    )


def _run(options: argparse.Namespace) -> int:
    from rustrank.metrics.evaluation import Drawing, warn_of_nothing

    runs = options.qrels is not None
    for name in ("single_precision", "all_queries"):
        require_qrels(options, name)
    require_files(options, "DATA and SCORES, or --qrels QRELS", runs or len(options.files) > 1)
    judging = judging_of(options)
    drawing = Drawing.of(options.resamples, options.seed, options.threads)
    results = evaluations(options, judging, options.files)
    names = options.files if runs else options.files[1:]
    for result in results:
        warn_of_nothing(result)
    if options.json:
        shown = [
            {"scores": name, "metrics": _plain(result, options, drawing)}
            for name, result in zip(names, results, strict=True)
        ]
        print_json({"data": options.qrels if runs else options.files[0], "results": shown})
    elif options.per_query:
        _print_values(names, results)
    else:
        _print_means(names, results, options, drawing)
    return 0


def _interval(
    value: MetricValue, options: argparse.Namespace, drawing: Drawing
) -> tuple[float, float]:
    """Return the interval; none with ``--resamples 0``."""
    if drawing.resamples == 0:
        return math.nan, math.nan
    return _rustrank.bootstrap(value.per_query, None, options.level, drawing)


def _plain(
    result: Evaluation, options: argparse.Namespace, drawing: Drawing
) -> dict[str, dict[str, Any]]:
    plain: dict[str, dict[str, Any]] = {}
    for name, value in result.items():
        plain[name] = {
            "mean": float(value),
            "level": options.level,
            "interval": list(_interval(value, options, drawing)),
            "num_queries": value.num_queries,
            "num_skipped": value.num_skipped,
        }
        if options.per_query:
            ids = value.query_ids.tolist()
            plain[name]["per_query"] = dict(zip(ids, value.per_query.tolist(), strict=True))
    return plain


def _print_values(names: Sequence[str], results: Sequence[Evaluation]) -> None:
    several = len(results) > 1
    head = (["scores"] if several else []) + ["query", *results[0]]
    sys.stdout.write("\t".join(head) + "\n")
    for name, result in zip(names, results, strict=True):
        columns = [value.per_query.tolist() for value in result.values()]
        for query, *values in zip(result.query_ids.tolist(), *columns, strict=True):
            row = ([name] if several else []) + [query, *map(repr, values)]
            sys.stdout.write("\t".join(row) + "\n")


def _print_means(
    names: Sequence[str],
    results: Sequence[Evaluation],
    options: argparse.Namespace,
    drawing: Drawing,
) -> None:
    head = ["scores", "metric", "mean", f"{percent(options.level)} interval", "queries", "skipped"]
    rows = [
        [
            name,
            metric,
            number(value),
            interval(_interval(value, options, drawing)),
            f"{value.num_queries:,}",
            f"{value.num_skipped:,}",
        ]
        for name, result in zip(names, results, strict=True)
        for metric, value in result.items()
    ]
    sys.stdout.write(text_table(head, rows, left=2) + "\n")
