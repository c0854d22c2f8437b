"""The command `combine`: `rustrank.Combiner` for files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.parsing import COLUMNS, JUDGING, READING, passed
from rustrank.cli.reading import labels_of, lines_in_errors, read_docs
from rustrank.cli.streams import PIPE, path_of, print_result, save_model, save_plot
from rustrank.errors import ParamError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rustrank.cli.parsing import Parser
    from rustrank.cli.reading import Docs
    from rustrank.combining.combiner import Combiner

_EPILOG = """\
files:
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`, plain or gzip; or *.parquet, *.csv
  SCORES   one number a line, for the lines of DATA in their order
  MODEL    with --models: a model file, of ours or of another library
  A - stands for standard input.

Two rankers are swept over all their mixtures: the answer is exact, the middle of the best interval.
More are swept one after the other until nothing raises the metric. With --valid, the result is judged
on a held-out set too, and of several rankers the weights that are best there are taken.

examples:
  rustrank combine vali.txt bm25.txt mine.txt --plot curve.png
  rustrank combine vali.txt a.txt b.txt c.txt --metric err@20 --valid test.txt ta.txt tb.txt tc.txt
  rustrank combine vali.txt --models a.rrk b.rrk --save both.rrk
"""

_METHODS = (
    "auto",
    "sweep",
    "coordinate",
    "powell",
    "best_first",
    "most_different_first",
    "average",
    "lambdarank",
    "lambdarank_net",
)


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] DATA {SCORES... | --models MODEL...}"
    reads, writes = ("data", "files", "valid"), ("save", "scores", "plot")
    parser.define(_run, usage, _EPILOG, reads=reads, writes=writes)
    add, flag = parser.add, parser.flag
    add("data", "DATA", "the docs that weights are fitted to")
    add("files", "FILE", "SCORES..., or with --models MODEL...", nargs="+")
    flag("--models", "the files are models, which score DATA")
    add(
        "--valid", "FILE", "a held-out set: its DATA, and without --models its SCORES...", nargs="+"
    )
    add("--metric")
    several = "auto, sweep, coordinate, best_first, ..."
    add("--method", "NAME", several, default="auto", offered=_METHODS)
    add("--alphas", ("FROM", "TO"), "A + alpha * B, alpha in it", nargs=2, type=float)
    flag("--non-negative", "no weights below 0")
    add("--restarts", "N", "begin anew so often (0)", type=int, default=0)
    add("--seed", text="of restarts and jitter (0)")
    add("--save", "MODEL", "with --models: save all as one model")
    add("--scores", "FILE", "write the combined score of each line of DATA")
    add("--plot", "FILE", "draw the metric (png, svg, pdf); needs matplotlib")
    parser.share(*JUDGING, *COLUMNS, *READING, "threads", "json")


def _run(options: argparse.Namespace) -> int:
    found = _combined(options)
    return print_result(options, found.to_dict(), found)


def _combined(options: argparse.Namespace) -> Combiner:
    """Fit a combiner, and write the outputs."""
    from rustrank.combining.combiner import Combiner

    if options.save and not options.models:
        raise ParamError("--save needs --models: scores alone are no model", code="save")
    names = ("method", "alphas", "restarts", "seed", *JUDGING)
    negative = not options.non_negative
    combiner = Combiner(options.metric, negative=negative, **passed(options, *names))
    given = _models if options.models else _scores
    fitted = given(options.data, options.files, options)
    valid = None
    if options.valid is not None:
        data, *files = options.valid
        if options.models and files:
            message = f"--valid: got {len(files) + 1} files, expected DATA: models score it"
            raise ParamError(message, code="valid")
        valid = given(data, options.files if options.models else files, options)
        # By their order: files of other docs have other names.
        valid["rankers"] = list(valid["rankers"].values())
    with lines_in_errors([options.data]):
        combiner.fit(**fitted, valid=valid)
    _write(combiner, fitted, options)
    return combiner


def _scores(data: str, files: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    docs = read_docs([data], options, values=False)
    rankers = [_rustrank.read_scores(path_of(name), options.threads) for name in files]
    return _fitted(docs, files, rankers, options)


def _models(data: str, files: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Score the values of the data with each model, which may be of any kind."""
    from rustrank.model.booster import Booster

    docs = read_docs([data], options, values=True)
    rankers = [docs.score(Booster.load(name), options.threads) for name in files]
    return _fitted(docs, files, rankers, options)


def _fitted(
    docs: Docs, files: Sequence[str], rankers: Sequence[Any], options: argparse.Namespace
) -> dict[str, Any]:
    """Return the arguments of `Combiner.fit`."""
    queries = docs.queries
    known = {"qid": queries[0]} if isinstance(queries, tuple) else {"group": queries}
    return {"rankers": _named(files, rankers), "y": labels_of(docs, options), **known}


def _named(files: Sequence[str], rankers: Sequence[Any]) -> dict[str, Any]:
    """Return names of rankers: those of their files, made unique by number."""
    names = [Path(name).name for name in files]
    if len(set(names)) < len(names):
        is_unique = len(set(files)) == len(files)
        names = list(files) if is_unique else [str(at) for at in range(len(files))]
    return dict(zip(names, rankers, strict=True))


def _write(combiner: Combiner, fitted: dict[str, Any], options: argparse.Namespace) -> None:
    from rustrank.combining.combiner import merged
    from rustrank.model.booster import Booster

    if options.scores:
        mixed = combiner.predict(fitted["rankers"])
        lines = "".join(f"{score!r}\n" for score in mixed.tolist())
        if options.scores == PIPE:
            sys.stdout.write(lines)
        else:
            Path(options.scores).write_text(lines, encoding="ascii")
    if options.save:
        boosters = [Booster.load(name) for name in options.files]
        save_model(merged(boosters, combiner.weights), options.save)
    if options.plot:
        save_plot(combiner.plot(), options.plot)
