"""The command `inspect`: what is in a data file, or in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rustrank import _rustrank
from rustrank.cli.parsing import READING, reading_of
from rustrank.cli.streams import PIPE, path_of, print_result

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser

_EPILOG = """\
FILE is LETOR or SVMlight text, plain or gzip, or a model of rustrank, LightGBM, XGBoost or CatBoost.
The exit code is 65 if lines cannot be read, the docs of a query do not stand together, or no line
has a feature: such a file cannot be loaded; and if a model is not whole.

examples:
  rustrank inspect train.txt.gz
  rustrank inspect train.txt --features | head -n 20
  rustrank inspect web.rrk
  rustrank inspect web.rrk --json > web.json
"""
_DATA = 65
#: What model files of all libraries start with; no line of data does.
_STARTS = (b"rustrank model", b"tree", b"{")


def register(parser: Parser) -> None:
    """Add the arguments."""
    parser.define(_run, "[options] FILE", _EPILOG, has_config=False)
    parser.add("file", "FILE", "data or a model; - for data from a pipe")
    parser.flag("--features", "print a line a feature")
    parser.share(*READING, "json", "threads")


def _run(options: argparse.Namespace) -> int:
    return _model(options) if _is_model(options.file) else _data(options)


def _is_model(name: str) -> bool:
    if name == PIPE or not Path(name).is_file():
        return False
    with Path(name).open("rb") as file:
        return file.read(16).lstrip().startswith(_STARTS)


def _model(options: argparse.Namespace) -> int:
    from rustrank.cli.inspection import facts_of, model_inspection
    from rustrank.model.booster import Booster

    facts = facts_of(Booster.load(options.file), Path(options.file).stat().st_size)
    text = model_inspection(options.file, facts, options.features)
    return print_result(options, {"model": options.file, **facts}, text)


def _data(options: argparse.Namespace) -> int:
    from rustrank.cli.inspection import NO_FEATURES, data_inspection
    from rustrank.data.dataset_building import LetorOptions

    how = LetorOptions(**reading_of(options))
    summary = _rustrank.inspect_letor(path_of(options.file), how)
    if summary["rows"] and not summary["features"]:
        summary["findings"].append(NO_FEATURES)
    text = data_inspection(options.file, summary, options.features)
    print_result(options, {"data": options.file, **summary}, text)
    return 0 if summary["rows"] and not summary["findings"] else _DATA
