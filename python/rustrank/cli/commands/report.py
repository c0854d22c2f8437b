"""The command `report`: `rustrank.report` for files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.cli.parsing import (
    METRIC_NAMES,
    METRICS,
    add_json,
    add_judging,
    add_reading,
    add_threads,
    command,
    offer,
    reading_of,
)
from rustrank.cli.streams import PIPE, path_of, print_json, require_place, telling
from rustrank.errors import DataError, ParamError
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

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
#: What a number may begin with; files of models begin otherwise, or are packed.
_MOST = 4096


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "report",
        "rankers compared, as one HTML page",
        usage="[options] DATA RANKER...",
        epilog=_EPILOG,
        run=_run,
        reads=("data", "rankers"),
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="the docs that rankers are judged by")
    add("rankers", nargs="+", metavar="RANKER", help="a model or scores, perhaps as NAME=FILE")
    add("--out", default="report.html", metavar="FILE", help="where to write it (report.html)")
    add("--title", default="Rankers compared", metavar="TEXT", help="the heading of the page")
    add("--baseline", metavar="NAME", help="what others are compared with (the first ranker)")
    add(
        "--examples",
        type=int,
        default=5,
        metavar="N",
        help="won, and lost, queries looked into (5)",
    )
    add("--doc-ids", metavar="FILE", help="what docs are called: a line for each of DATA")
    add("--feature-names", metavar="FILE", help="what features are called, from 1: a line each")
    metric = add(
        "--metric",
        action="append",
        metavar="NAME,...",
        help="metrics; may be repeated; the first decides (ndcg@10,err@10,map,mrr,precision@10)",
    )
    offer(metric, METRIC_NAMES)
    add_judging(parser)
    add("--level", type=float, default=0.95, metavar="P", help="level of intervals (0.95)")
    add("--resamples", type=int, default=10_000, metavar="N", help="random replicates (10000)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the replicates (0)")
    add_reading(parser)
    add_threads(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> int:
    from rustrank.reporting.report import METRICS as BY_DEFAULT
    from rustrank.reporting.report import report

    require_place(options.out, options.data)
    # Before a large file is read.
    files = _named(options.rankers)
    if options.baseline is not None and options.baseline not in files:
        message = f"--baseline: got {options.baseline!r}, expected one of {', '.join(files)}"
        raise ParamError(message, code="baseline")
    rankers = {name: _ranker(file, options.threads) for name, file in files.items()}
    made = report(
        **_docs(rankers, options),
        metrics=_listed(options.metric) if options.metric else BY_DEFAULT,
        baseline=options.baseline,
        title=options.title,
        examples=options.examples,
        doc_ids=_lines(options.doc_ids),
        feature_names=_lines(options.feature_names),
        gain=gain_of(options.gain),
        ties=options.ties,
        empty=options.empty,
        relevant_from=options.relevant_from,
        max_label=options.max_label,
        level=options.level,
        resamples=options.resamples,
        seed=options.seed,
        num_threads=options.threads,
    )
    if options.out == PIPE:
        sys.stdout.write(made.html)
    else:
        made.save(options.out)
    stream = telling(options.out)
    if options.json:
        summary = {
            "data": options.data,
            "out": options.out,
            "rankers": {name: one.to_dict() for name, one in made.evaluations.items()},
            "comparisons": [
                {"a": a, "b": b, "metrics": compared.to_dict()}
                for (a, b), compared in made.comparisons.items()
            ],
        }
        print_json(summary, stream)
    else:
        for compared in made.comparisons.values():
            stream.write(f"{compared.statements[0]}\n")
        if options.out != PIPE:
            stream.write(f"wrote {options.out}\n")
    return 0


def _lines(file: str | None) -> list[str] | None:
    return None if file is None else Path(file).read_text("utf-8").splitlines()


def _listed(given: Sequence[str]) -> list[str]:
    return [name.strip() for one in given for name in one.split(",")]


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


@dataclass(frozen=True)
class _Scores:
    """Scores from a file."""

    path: str
    values: np.ndarray


def _ranker(file: str, num_threads: int | None) -> Any:
    """Read a model, or scores."""
    from rustrank.model.booster import Booster

    if file == PIPE or _is_scores(file):
        return _Scores(file, _rustrank.read_scores(path_of(file), num_threads))
    return Booster.load(file)


def _is_scores(file: str) -> bool:
    with Path(file).open("rb") as opened:
        start = opened.read(_MOST)
    if start.startswith(b"\x1f\x8b"):
        return True
    words = start.split(maxsplit=1)
    try:
        float(words[0] if words else b"0")
    except ValueError:
        return False
    return True


def _docs(rankers: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Read the data, with features if a ranker needs them."""
    from rustrank.data.dataset_building import LetorOptions
    from rustrank.model.booster import Booster

    path = path_of(options.data)
    widths = [one.num_raw_features for one in rankers.values() if isinstance(one, Booster)]
    X = None
    if widths:
        how = LetorOptions(**reading_of(options), num_threads=options.threads)
        X, labels, sizes, ids = _rustrank.read_table(path, how)
        # Features that no line mentions are 0.
        X = np.pad(X, ((0, 0), (0, max(0, max(widths) - X.shape[1]))))
    else:
        labels, sizes, ids = _rustrank.read_labels(path, options.threads)
    scored = {}
    for name, one in rankers.items():
        if isinstance(one, _Scores) and len(one.values) != len(labels):
            message = (
                f"{one.path} has the wrong length: got {len(one.values)} scores, expected "
                f"{len(labels)}, one for each doc of {options.data}"
            )
            raise DataError(message, code="length", path=one.path)
        scored[name] = one.values if isinstance(one, _Scores) else one
    return {"rankers": scored, "y": labels, "X": X, "qid": np.repeat(np.array(ids), sizes)}
