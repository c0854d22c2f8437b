"""The command `auto`: `rustrank.auto` for files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rustrank.cli.commands.train import datasets_of
from rustrank.cli.parsing import READING, passed
from rustrank.cli.reading import data_files, lines_in_errors
from rustrank.cli.replacing import MODEL
from rustrank.cli.streams import print_result, save_model
from rustrank.errors import DataError

if TYPE_CHECKING:
    from rustrank.cli.parsing import Parser

_EPILOG = """\
Trains several kinds of trees by folds of DATA while there is time, and saves their best mixture as one
model. No validation set is needed. Ctrl-C saves what there is. With --directory, a run that was interrupted
goes on from there.

examples:
  rustrank auto train.txt best.rrk
  rustrank auto train.txt best.rrk --time-limit 600 --metric err@20
  rustrank auto train.parquet best.rrk --label grade --qid query --no-query-ranks
  rustrank auto train.txt best.rrk --directory members --time-limit none
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    reads, writes = ("data", "more_data"), {"model": MODEL}
    parser.define(_run, "[options] DATA MODEL", _EPILOG, reads=reads, writes=writes)
    add = parser.add
    add("data", "DATA", "the training set: LETOR or SVMlight text, plain or gzip; Parquet or CSV")
    add("model", "MODEL", "where to save the mixture")
    add(
        "--time-limit", "SECONDS", "how long it may take, or none (60)", type=_seconds, default=60.0
    )
    add("--metric", "NAME", "what everything is chosen by (ndcg@10)", default="ndcg@10")
    add("--folds", "N", "the number of folds (5)", type=int, default=5)
    add("--max-members", "N", "the most members (12)", type=int, default=12)
    add("--directory", "FOLDER", "where members are saved, from which a run goes on")
    parser.add_argument(
        "--query-ranks",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="rank values of small data within queries, as features of their own (yes)",
    )
    parser.share("categorical", "gain", "max-label")
    add("--seed", text="seed of everything random (0)")
    parser.share("more_data", *READING, "progress", "threads", "json")


def _seconds(text: str) -> float | None:
    return None if text == "none" else float(text)


def _run(options: argparse.Namespace) -> int:
    from rustrank.ensembles.auto import auto

    options.valid, ranks = None, options.query_ranks
    # They are added where the data are small enough.
    options.query_ranks = None if ranks else False
    data, _ = datasets_of(options, None)
    names = ("time_limit", "metric", "folds", "max_members", "directory", "gain", "max_label")
    given = passed(options, *names, "seed", "progress")
    try:
        found = auto(data, query_ranks=ranks, **given)
    except DataError:
        with lines_in_errors(data_files(options.data, options)):
            raise
    save_model(found.booster, options.model)
    return print_result(options, found.to_dict(), found)
