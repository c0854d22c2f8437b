"""The command `report`: `rustrank.report` for files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.parsing import DRAWING, JUDGING, METRICS, READING, listed, passed, reading_of
from rustrank.cli.reading import has_scores, require_length
from rustrank.cli.streams import PIPE, path_of, print_result
from rustrank.errors import ParamError
from rustrank.inputs.scalars import choice

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from rustrank.cli.parsing import Parser

_EPILOG = f"""\
files:
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`; plain or gzip
  RANKER   a model file, of ours or of another library, which scores DATA; or scores, one number a
           line, for the lines of DATA in their order. NAME=RANKER calls it something else than its file
  A - stands for standard input.

{METRICS}
The first ranker is what others are compared with, unless --baseline names another. The page is one file
that opens without a network. Features say why docs changed places where rankers are models.

examples:
  rustrank report test.txt bm25=bm25.txt mine=model.rrk
  rustrank report test.txt a.rrk b.rrk lightgbm.txt --out page.html --title "Spring release" --examples 2
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] DATA RANKER..."
    parser.define(_run, usage, _EPILOG, reads=("data",), models=("rankers",), writes=("out",))
    add = parser.add
    add("data", "DATA", "the docs that rankers are judged by")
    add("rankers", "RANKER", "a model or scores, perhaps as NAME=FILE", nargs="+")
    add("--out", "FILE", "where to write it (report.html)", default="report.html")
    add("--title", "TEXT", "the heading of the page", default="Rankers compared")
    add("--baseline", "NAME", "what others are compared with (the first ranker)")
    add("--examples", "N", "won, and lost, queries looked into (5)", type=int, default=5)
    add("--doc-ids", "FILE", "what docs are called: a line for each of DATA")
    add("--feature-names", "FILE", "what features are called, from 1: a line each")
    default = "ndcg@10,err@10,map,mrr,precision@10"
    parser.add_metrics(f"metrics; may be repeated; the first decides ({default})")
    parser.share(*JUDGING, *DRAWING, *READING, "threads", "json")


def _run(options: argparse.Namespace) -> int:
    from rustrank.reporting.report import METRICS as BY_DEFAULT
    from rustrank.reporting.report import report

    # Before a large file is read.
    files = _named(options.rankers)
    if options.baseline is not None:
        choice("--baseline", options.baseline, files, "baseline")
    made = report(
        **_docs(files, options),
        metrics=listed(options.metric or BY_DEFAULT),
        doc_ids=_lines(options.doc_ids),
        feature_names=_lines(options.feature_names),
        **passed(options, "baseline", "title", "examples", *JUDGING, *DRAWING),
    )
    lines = list(made.statements)
    if options.out == PIPE:
        sys.stdout.write(made.html)
    else:
        made.save(options.out)
        lines.append(f"wrote {options.out}")
    summary = {
        "data": options.data,
        "out": options.out,
        "rankers": {name: one.to_dict() for name, one in made.evaluations.items()},
        "comparisons": [
            {"a": a, "b": b, "metrics": compared.to_dict()}
            for (a, b), compared in made.comparisons.items()
        ],
    }
    return print_result(options, summary, "\n".join(lines))


def _lines(file: str | None) -> list[str] | None:
    return None if file is None else Path(file).read_text("utf-8").splitlines()


def _named(given: Sequence[str]) -> dict[str, str]:
    """Return files by name: a given one, or that of the file."""
    named: dict[str, str] = {}
    for one in given:
        name, sign, file = one.partition("=")
        if not sign or Path(one).exists():
            name, file = ("-" if one == PIPE else Path(one).stem), one
            name = file if name in named else name
        if not name or not file or name in named:
            message = f"RANKER: got {one!r}, expected a file, or NAME=FILE with a name of its own"
            raise ParamError(message, code="rankers")
        named[name] = file
    return named


def _docs(files: Mapping[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Read the rankers, which are models or scores, and the data, with features if models need them."""
    import numpy as np

    from rustrank.data.dataset_building import LetorOptions
    from rustrank.model.booster import Booster

    rankers: dict[str, Any] = {
        name: _rustrank.read_scores(path_of(file), options.threads)
        if has_scores(file)
        else Booster.load(file)
        for name, file in files.items()
    }
    path, X = path_of(options.data), None
    widths = [one.num_raw_features for one in rankers.values() if isinstance(one, Booster)]
    if widths:
        X, labels, sizes, ids = _rustrank.read_table(path, LetorOptions(**reading_of(options)))
        # Features that no line mentions are 0.
        X = np.pad(X, ((0, 0), (0, max(0, max(widths) - X.shape[1]))))
    else:
        labels, sizes, ids = _rustrank.read_labels(path, options.threads)
    for name, one in rankers.items():
        if not isinstance(one, Booster):
            require_length(files[name], one, len(labels), options.data)
    return {"rankers": rankers, "y": labels, "X": X, "qid": np.repeat(np.array(ids), sizes)}
