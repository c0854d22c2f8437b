"""The command `compare`: `rustrank.compare` for files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rustrank.cli.commands._judged import (
    add_metric_options,
    evaluations,
    judging_of,
    require_files,
    require_qrels,
)
from rustrank.cli.parsing import FILES, METRICS, command
from rustrank.cli.streams import print_json

if TYPE_CHECKING:
    import argparse

    from rustrank.metrics.comparison import Comparison

_EPILOG = f"""\
{FILES}
{METRICS}
Differences are B minus A: the mean, its bootstrap interval, Student's paired t-test and the paired
randomisation test. With --qrels, queries for which a run has nothing count as they are: 0.

examples:
  rustrank compare test.txt bm25.txt mine.txt --metric ndcg@10,map
  rustrank compare test.txt bm25.txt mine.txt --per-query > differences.tsv
  rustrank compare --qrels qrels.txt bm25.run mine.run --json
"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "compare",
        "which of two rankings is better?",
        usage="[options] {DATA A B | --qrels QRELS A B}",
        epilog=_EPILOG,
        run=_run,
        reads=("files", "qrels"),
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="DATA A B, or A B (runs)")
    add_metric_options(parser)
    parser.add_argument(
        "--per-query", action="store_true", help="print a line for each metric and query (TSV)"
    )
    parser.set_defaults(all_queries=True)


def _run(options: argparse.Namespace) -> int:
    from rustrank.metrics.comparison import Comparison
    from rustrank.metrics.evaluation import Drawing, warn_of_nothing

    runs = options.qrels is not None
    require_qrels(options, "single_precision")
    wanted = "two runs" if runs else "DATA A B, or --qrels QRELS A B"
    require_files(options, wanted, len(options.files) == (2 if runs else 3))
    judging = judging_of(options)
    drawing = Drawing.of(options.resamples, options.seed, options.threads)
    first, second = options.files[-2:]
    names = (first, second) if first != second else ("a", "b")
    a, b = evaluations(options, judging, options.files)
    warn_of_nothing(a)
    compared = Comparison.of(a, b, names, drawing, options.level)
    if options.json:
        data = options.qrels if runs else options.files[0]
        metrics = compared.to_dict()
        for metric, one in compared.items() if options.per_query else ():
            ids = one.query_ids.tolist()
            metrics[metric]["per_query"] = dict(zip(ids, one.per_query.tolist(), strict=True))
        print_json({"data": data, "a": first, "b": second, "metrics": metrics})
    elif options.per_query:
        _print_values(compared)
    else:
        sys.stdout.write(f"{compared}\n")
    return 0


def _print_values(compared: Comparison) -> None:
    """Print a line for each metric and query: both values and their difference."""
    sys.stdout.write("metric\tquery\ta\tb\tdifference\n")
    for metric, one in compared.items():
        columns = [values.tolist() for values in (one.a.per_query, one.b.per_query, one.per_query)]
        for query, *values in zip(one.query_ids.tolist(), *columns, strict=True):
            sys.stdout.write("\t".join([metric, query, *map(repr, values)]) + "\n")
