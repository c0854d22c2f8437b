"""The command `evaluate`: `rustrank.evaluate` for files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rustrank.cli.parsing import FILES, METRICS, add_metric_options
from rustrank.cli.streams import print_json
from rustrank.formatting import interval, number, percent, text_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rustrank.cli.parsing import Parser
    from rustrank.metrics.evaluation import Drawing, Evaluation

_EPILOG = f"""\
{FILES}
{METRICS}
examples:
  rustrank evaluate test.txt scores.txt --metric ndcg@10,err@20,map
  rustrank evaluate test.txt bm25.txt mine.txt --per-query > values.tsv
  rustrank evaluate test.txt web.rrk bm25.txt
  rustrank evaluate test.parquet web.rrk --label grade --qid query
  rustrank evaluate markets.parquet web.rrk --label grade --qid query --segments market
  rustrank score web.rrk test.txt | rustrank evaluate test.txt - --json
  rustrank evaluate --qrels qrels.txt bm25.run --metric ndcg@10
  as trec_eval does it: --gain linear --ties rows --empty zero --single-precision
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] {DATA {SCORES | MODEL}... | --qrels QRELS RUN...}"
    parser.define(_run, usage, _EPILOG, reads=("files", "qrels", "more_data"))
    add, flag = parser.add, parser.flag
    add("files", "FILE", "DATA, and SCORES or MODEL files; or RUN...", nargs="+")
    add_metric_options(parser)
    flag("--per-query", "print a line a query (TSV)")
    flag(
        "--all-queries",
        "with --qrels: count queries for which nothing was retrieved (trec_eval -c)",
    )


def _run(options: argparse.Namespace) -> int:
    from rustrank.cli.commands._judged import evaluations
    from rustrank.metrics.evaluation import warn_of_nothing

    runs = options.qrels is not None
    wanted = "DATA and SCORES or models, or --qrels QRELS and runs"
    results, _, drawing = evaluations(options, wanted, runs or len(options.files) > 1)
    named = list(zip(options.files[not runs :], results, strict=True))
    for result in results:
        warn_of_nothing(result)
    if options.json:
        shown = [{"scores": name, **_plain(result, drawing, options)} for name, result in named]
        print_json({"data": options.qrels if runs else options.files[0], "results": shown})
    elif options.per_query:
        _print_values(named)
    else:
        sys.stdout.write("\n\n".join(_tables(named, drawing)) + "\n")
    return 0


def _tables(named: Sequence[tuple[str, Evaluation]], drawing: Drawing) -> list[str]:
    """Return the table of all queries, and that of the segments if there are any."""
    head = ["metric", "mean", f"{percent(drawing.level)} interval", "queries", "skipped"]
    rows = [[name, *row] for name, result in named for row in _rows(result, drawing)]
    tables = [text_table(["scores", *head], rows, left=2)]
    rows = [
        [name, str(segment), *row]
        for name, result in named
        for segment, part in result.segments.items()
        for row in _rows(part, drawing)
    ]
    if rows:
        tables.append(text_table(["scores", "segment", *head], rows, left=3))
    return tables


def _rows(result: Evaluation, drawing: Drawing) -> list[list[str]]:
    return [
        [
            metric,
            number(value),
            interval(drawing.interval(value)),
            f"{value.num_queries:,}",
            f"{value.num_skipped:,}",
        ]
        for metric, value in result.items()
    ]


def _plain(result: Evaluation, drawing: Drawing, options: argparse.Namespace) -> dict[str, Any]:
    """Return the metrics as plain values, and those of each segment."""
    plain: dict[str, Any] = {"metrics": _plain_metrics(result, drawing, options)}
    if result.segments:
        plain["segments"] = {
            str(name): _plain_metrics(part, drawing, options)
            for name, part in result.segments.items()
        }
    return plain


def _plain_metrics(
    result: Evaluation, drawing: Drawing, options: argparse.Namespace
) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in result.items():
        plain[name] = {
            "mean": float(value),
            "level": options.level,
            "interval": list(drawing.interval(value)),
            "num_queries": value.num_queries,
            "num_skipped": value.num_skipped,
        }
        if options.per_query:
            ids = value.query_ids.tolist()
            plain[name]["per_query"] = dict(zip(ids, value.per_query.tolist(), strict=True))
    return plain


def _print_values(named: Sequence[tuple[str, Evaluation]]) -> None:
    """Print a line for each query, with the name of the scores if there are several."""
    skipped = 0 if len(named) > 1 else 1
    sys.stdout.write("\t".join(["scores", "query", *named[0][1]][skipped:]) + "\n")
    for name, result in named:
        columns = [value.per_query.tolist() for value in result.values()]
        for query, *values in zip(result.query_ids.tolist(), *columns, strict=True):
            row = [name, query, *map(repr, values)]
            sys.stdout.write("\t".join(row[skipped:]) + "\n")
