"""The command `combine`: `rustrank.Combiner` for files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.parsing import (
    METRIC_NAMES,
    add_json,
    add_judging,
    add_reading,
    add_threads,
    command,
    offer,
    reading_of,
)
from rustrank.cli.streams import (
    PIPE,
    path_of,
    print_json,
    require_place,
    save_model,
    telling,
)
from rustrank.errors import ParamError
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rustrank.combining.combiner import Combiner

_EPILOG = """\
files:
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`; plain or gzip
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


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "combine",
        "the best mixture of rankers",
        usage="[options] DATA {SCORES... | --models MODEL...}",
        epilog=_EPILOG,
        run=_run,
        reads=("data", "files", "valid"),
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="the docs that weights are fitted to")
    add("files", nargs="+", metavar="FILE", help="SCORES..., or with --models MODEL...")
    add("--models", action="store_true", help="the files are models, which score DATA")
    add(
        "--valid",
        nargs="+",
        metavar="FILE",
        help="a held-out set: its DATA, and without --models its SCORES...",
    )
    metric = add("--metric", default="ndcg@10", metavar="NAME", help="what to maximise (ndcg@10)")
    offer(metric, METRIC_NAMES)
    method = add(
        "--method", default="auto", metavar="NAME", help="auto, sweep, coordinate, best_first, ..."
    )
    offer(method, _METHODS)
    add("--alphas", nargs=2, type=float, metavar=("FROM", "TO"), help="A + alpha * B, alpha in it")
    add("--non-negative", action="store_true", help="no weights below 0")
    add("--restarts", type=int, default=0, metavar="N", help="begin anew so often (0)")
    add("--seed", type=int, default=0, metavar="N", help="of restarts and jitter (0)")
    add("--save", metavar="MODEL", help="with --models: save all as one model")
    add("--scores", metavar="FILE", help="write the combined score of each line of DATA")
    add("--plot", metavar="FILE", help="draw the metric (png, svg, pdf); needs matplotlib")
    add_judging(parser)
    add_reading(parser)
    add_threads(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> int:
    for output in (options.save, options.scores, options.plot):
        require_place(output, options.data, *options.files, *(options.valid or ()))
    found = _combined(options)
    stream = telling(options.save, options.scores)
    if options.json:
        print_json(found.to_dict(), stream)
    else:
        stream.write(f"{found}\n")
    return 0


def _combined(options: argparse.Namespace) -> Combiner:
    """Fit a combiner, and write the outputs."""
    from rustrank.combining.combiner import Combiner

    if options.save and not options.models:
        message = "--save needs --models: scores alone are no model"
        raise ParamError(message, code="save")
    combiner = Combiner(
        options.metric,
        method=options.method,
        alphas=options.alphas,
        negative=not options.non_negative,
        restarts=options.restarts,
        seed=options.seed,
        gain=gain_of(options.gain),
        ties=options.ties,
        empty=options.empty,
        relevant_from=options.relevant_from,
        max_label=options.max_label,
        num_threads=options.threads,
    )
    given = _models if options.models else _scores
    fitted = given(options.data, options.files, options)
    valid = None
    if options.valid is not None:
        data, *files = options.valid
        if options.models and files:
            message = f"--valid: got {len(files) + 1} files, expected DATA: models score it"
            raise ParamError(message, code="valid")
        # Thresholds of models differ, so each set is binned for all of them by itself.
        valid = given(data, options.files if options.models else files, options)
        # By their order: files of other docs have other names.
        valid["rankers"] = list(valid["rankers"].values())
    combiner.fit(**fitted, valid=valid)
    _write(combiner, fitted, options)
    return combiner


def _scores(data: str, files: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    labels, sizes, _ = _rustrank.read_labels(path_of(data), options.threads)
    rankers = [_rustrank.read_scores(path_of(name), options.threads) for name in files]
    return {"rankers": _named(files, rankers), "y": labels, "group": sizes}


def _models(data: str, files: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Score the data with each model, binned between that model's own thresholds."""
    from rustrank.data.dataset import Dataset
    from rustrank.model.booster import Booster

    rankers = []
    threads = options.threads
    for name in files:
        booster = Booster.load(name)
        dataset = Dataset.from_letor(
            path_of(data), like=booster, num_threads=threads, progress=None, **reading_of(options)
        )
        rankers.append(booster.score(dataset, num_threads=threads))
    labels, sizes, _ = _rustrank.read_labels(path_of(data), threads)
    return {"rankers": _named(files, rankers), "y": labels, "group": sizes}


def _named(files: Sequence[str], rankers: Sequence[Any]) -> dict[str, Any]:
    """Return names of rankers: those of their files, made unique by number."""
    names = [Path(name).name for name in files]
    if len(set(names)) < len(names):
        names = (
            list(files) if len(set(files)) == len(files) else [f"{i}" for i in range(len(files))]
        )
    return dict(zip(names, rankers, strict=True))


def _write(combiner: Combiner, fitted: dict[str, Any], options: argparse.Namespace) -> None:
    from rustrank.combining.combiner import merged
    from rustrank.model.booster import Booster

    if options.scores:
        mixed = combiner.score(fitted["rankers"])
        lines = "".join(f"{score!r}\n" for score in mixed.tolist())
        if options.scores == PIPE:
            sys.stdout.write(lines)
        else:
            Path(options.scores).write_text(lines, encoding="ascii")
    if options.save:
        boosters = [Booster.load(name) for name in options.files]
        save_model(merged(boosters, combiner.weights), options.save)
    if options.plot:
        axes = combiner.plot()
        axes.figure.savefig(options.plot, dpi=150)
