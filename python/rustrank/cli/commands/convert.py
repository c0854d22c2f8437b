"""The command `convert`: a model from or for another library."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rustrank.cli.rankers import load_model
from rustrank.cli.replacing import MODEL
from rustrank.cli.streams import PIPE
from rustrank.errors import ParamError, dropped_warnings
from rustrank.model.best_iteration import LATER_ROUNDS

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser

_EPILOG = """\
MODEL is a file of rustrank, LightGBM (text), XGBoost (JSON, UBJSON) or CatBoost (JSON).
The ending of OUT says what is written, unless --to does:
  .rrk rustrank, .txt lightgbm, .json xgboost, .xml ranklib, .onnx onnx
What the format cannot hold is an error. A - stands for standard input, or output.

examples:
  rustrank convert lightgbm.txt web.rrk
  rustrank convert web.rrk plugin.xml
  rustrank convert web.rrk - --to ranklib | gzip > plugin.xml.gz
"""

_ENDINGS = {
    ".rrk": "rustrank",
    ".txt": "lightgbm",
    ".json": "xgboost",
    ".xml": "ranklib",
    ".onnx": "onnx",
}


def register(parser: Parser) -> None:
    """Add the arguments."""
    parser.define(_run, "[options] MODEL OUT", _EPILOG, writes={"out": MODEL}, has_config=False)
    add = parser.add
    add("model", "MODEL", "a model file of any library")
    add("out", "OUT", "where to write it")
    libraries = _ENDINGS.values()
    add("--to", "LIBRARY", ", ".join(libraries), offered=libraries)


def _run(options: argparse.Namespace) -> int:
    ending = Path(options.out).suffix
    library = options.to or _ENDINGS.get(ending)
    if library is None:
        expected = ", ".join(_ENDINGS)
        message = f"OUT: got the ending {ending!r}, expected {expected}, or --to LIBRARY"
        raise ParamError(message, code="to")
    # XGBoost's format keeps the best iteration, so that its ranker predicts the same by the new file.
    with dropped_warnings(LATER_ROUNDS) if library == "xgboost" else nullcontext():
        booster = load_model(options.model)
    written = booster.export(library, None if options.out == PIPE else options.out)
    if options.out == PIPE:
        sys.stdout.buffer.write(written)
    return 0
