"""The command `score`: `Booster.predict` for files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rustrank.cli.category_columns import texts_of_models
from rustrank.cli.file_kinds import is_table, require_text
from rustrank.cli.parsing import READING, reading_of
from rustrank.cli.rankers import load_model
from rustrank.cli.reading import read_docs
from rustrank.cli.replacing import SCORES
from rustrank.cli.streams import PIPE, path_of
from rustrank.errors import RustrankError
from rustrank.inputs.files import replace_file

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser
    from rustrank.model.booster import Booster

_EPILOG = """\
Prints one score a line, for the lines of DATA in their order. MODEL may be a file of LightGBM, XGBoost
or CatBoost too. DATA may be Parquet or CSV (*.parquet, *.csv, *.tsv), with a column of query ids. A - stands
for standard input.

examples:
  rustrank score web.rrk test.txt.gz > scores.txt
  rustrank score web.rrk monday.txt tuesday.txt --out scores.txt
  rustrank score web.rrk test.parquet --qid query --label grade --out scores.txt
  zcat test.txt.gz | rustrank score web.rrk - | head -n 3
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] MODEL DATA..."
    reads, writes = ("model", "data"), {"out": SCORES}
    parser.define(_run, usage, _EPILOG, reads=reads, writes=writes, has_config=False)
    parser.add("model", "MODEL", "a model file")
    parser.add("data", "DATA", "LETOR or SVMlight text, plain or gzip; Parquet or CSV", nargs="+")
    parser.add("--out", "FILE", "where to write the scores (standard output)", default=PIPE)
    parser.share(*READING, "threads")


def _run(options: argparse.Namespace) -> int:

    booster = load_model(options.model)
    scores = _scores(booster, options)
    lines = (f"{score!r}\n" for score in scores.tolist())
    if options.out == PIPE:
        sys.stdout.writelines(lines)
    else:
        replace_file(options.out, "".join(lines))
    return 0


def _scores(booster: Booster, options: argparse.Namespace) -> Any:
    """Return the scores of text by its bins, which take less memory, or of values, as any model can."""
    from rustrank.data.dataset import Dataset

    if len(options.data) > 1 or is_table(options.data[0]) or not _has_bins(booster):
        texts = texts_of_models([booster])
        docs = read_docs(options.data, options, values=True, labelled=None, texts=texts)
        return docs.score(options.model, booster, options.threads)
    require_text(options.data[0])
    path = path_of(options.data[0])
    dataset = Dataset.from_letor(path, like=booster, **reading_of(options))
    return booster.predict(dataset, num_threads=options.threads)


def _has_bins(booster: Booster) -> bool:
    try:
        booster._core.binning()
    except RustrankError:
        return False
    return True
