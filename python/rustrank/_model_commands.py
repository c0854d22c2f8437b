"""The command that works on model files alone: `rustrank convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rustrank._errors import ParamError
from rustrank.booster import Booster

if TYPE_CHECKING:
    import argparse

__all__ = ["CONVERT", "add_convert", "run_convert"]

CONVERT = """\
MODEL is a file of rustrank, LightGBM (text), XGBoost (JSON, UBJSON) or CatBoost (JSON).
The ending of OUT says what is written, unless --to does:
  .rrk rustrank, .txt lightgbm, .json xgboost, .xml ranklib, .onnx onnx
What the format cannot hold is an error.

examples:
  rustrank convert lightgbm.txt web.rrk
  rustrank convert web.rrk plugin.xml
"""

_ENDINGS = {
    ".rrk": "rustrank",
    ".txt": "lightgbm",
    ".json": "xgboost",
    ".xml": "ranklib",
    ".onnx": "onnx",
}


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `convert`."""
    parser.add_argument("model", metavar="MODEL", help="a model file of any library")
    parser.add_argument("out", metavar="OUT", help="where to write it")
    parser.add_argument("--to", metavar="LIBRARY", help=", ".join(_ENDINGS.values()))


def run_convert(options: argparse.Namespace) -> None:
    """Read a model and write it for another library."""
    library = options.to
    if library is None:
        ending = Path(options.out).suffix
        library = _ENDINGS.get(ending)
        if library is None:
            expected = ", ".join(_ENDINGS)
            message = f"OUT: got the ending {ending!r}, expected {expected}, or --to LIBRARY"
            raise ParamError(message, code="to")
    Booster.load(options.model).export(library, options.out)
