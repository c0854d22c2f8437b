"""The command `compare`: `rustrank.compare` for files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rustrank.cli.parsing import FILES, METRICS, add_metric_options
from rustrank.cli.streams import print_json

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser
    from rustrank.metrics.comparison import Comparison

_EPILOG = f"""\
{FILES}
{METRICS}
Differences are B minus A: the mean, its bootstrap interval, Student's paired t-test and the paired
randomisation test. With --qrels, queries for which a run has nothing count as they are: 0.

examples:
  rustrank compare test.txt bm25.txt mine.txt --metric ndcg@10,map
  rustrank compare test.txt bm25.txt mine.txt --per-query > differences.tsv
  rustrank compare test.txt bm25.txt web.rrk
  rustrank compare markets.parquet a.rrk b.rrk --label grade --qid query --segments market
  rustrank compare --qrels qrels.txt bm25.run mine.run --json
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] {DATA A B | --qrels QRELS A B}"
    parser.define(_run, usage, _EPILOG, reads=("files", "qrels", "more_data"))
    add, flag = parser.add, parser.flag
    add("files", "FILE", "DATA A B (SCORES or MODEL files), or A B (runs)", nargs="+")
    add_metric_options(parser)
    flag("--per-query", "print a line for each metric and query (TSV)")


def _run(options: argparse.Namespace) -> int:
    from rustrank.cli.commands._judged import evaluations
    from rustrank.metrics.comparison import Comparison
    from rustrank.metrics.evaluation import warn_of_nothing

    runs = options.qrels is not None
    wanted = "two runs" if runs else "DATA A B, or --qrels QRELS A B"
    (a, b), segments, drawing = evaluations(
        options, wanted, len(options.files) == (2 if runs else 3)
    )
    first, second = options.files[-2:]
    names = (first, second) if first != second else ("a", "b")
    warn_of_nothing(a)
    compared = Comparison.of(a, b, names, drawing).of_segments(segments, names, drawing)
    if options.json:
        data = options.qrels if runs else options.files[0]
        metrics = compared.to_dict()
        for metric, one in compared.items() if options.per_query else ():
            ids = one.query_ids.tolist()
            metrics[metric]["per_query"] = dict(zip(ids, one.per_query.tolist(), strict=True))
        shown = {"data": data, "a": first, "b": second, "metrics": metrics}
        if compared.segments:
            parts = compared.segments.items()
            shown["segments"] = {str(name): part.to_dict() for name, part in parts}
        print_json(shown)
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
