"""The command `score`: `Booster.score` for files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rustrank.cli.parsing import READING, reading_of
from rustrank.cli.streams import path_of

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser

_EPILOG = """\
Prints one score a line, for the lines of DATA in their order. MODEL may be a file of LightGBM, XGBoost
or CatBoost too. A - stands for standard input.

examples:
  rustrank score web.rrk test.txt.gz > scores.txt
  zcat test.txt.gz | rustrank score web.rrk - | head -n 3
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] MODEL DATA"
    parser.define(_run, usage, _EPILOG, reads=("model", "data"), has_config=False)
    parser.add("model", "MODEL", "a model file")
    parser.add("data", "DATA", "LETOR or SVMlight text, plain or gzip")
    parser.share(*READING, "threads")


def _run(options: argparse.Namespace) -> int:
    from rustrank.data.dataset import Dataset
    from rustrank.model.booster import Booster

    booster = Booster.load(path_of(options.model))
    dataset = Dataset.from_letor(path_of(options.data), like=booster, **reading_of(options))
    scores = booster.score(dataset, num_threads=options.threads)
    sys.stdout.writelines(f"{score!r}\n" for score in scores.tolist())
    return 0
