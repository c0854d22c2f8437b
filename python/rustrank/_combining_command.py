"""The command `combine`: what `rustrank.Combiner` does, on files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank._errors import ParamError
from rustrank._options import gain_of
from rustrank.booster import Booster
from rustrank.combination import Combiner, merged
from rustrank.dataset import Dataset

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

COMBINE = """\
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


def add_combine(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `combine`."""
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
    add("--metric", default="ndcg@10", metavar="NAME", help="what to maximise (ndcg@10)")
    add("--method", default="auto", metavar="NAME", help="auto, sweep, coordinate, best_first, ...")
    add("--alphas", nargs=2, type=float, metavar=("FROM", "TO"), help="A + alpha * B, alpha in it")
    add("--non-negative", action="store_true", help="no weights below 0")
    add("--save", metavar="MODEL", help="with --models: save all as one model")
    add("--scores", metavar="FILE", help="write the combined score of each line of DATA")
    add("--plot", metavar="FILE", help="draw the metric (png, svg, pdf); needs matplotlib")
    add("--gain", default="exp2", metavar="GAIN", help="exp2, linear or a table such as 0,1,3,7")
    add("--ties", default="expected", metavar="RULE", help="expected, rows or worst (expected)")
    add("--empty", default="skip", metavar="RULE", help="skip, zero or one (skip)")
    add("--relevant-from", type=float, default=1.0, metavar="L", help="smallest relevant label (1)")
    add("--max-label", type=float, metavar="L", help="top of ERR's label scale (the largest label)")
    add("--threads", type=int, metavar="N", help="threads to use (all cores)")
    add("--json", action="store_true", help="print JSON")


def run_combine(options: argparse.Namespace, path: Any) -> Combiner:
    """Fit, and write what was asked for."""
    if options.save and not options.models:
        message = "--save needs --models: scores alone are no model"
        raise ParamError(message, code="save")
    combiner = Combiner(
        options.metric,
        method=options.method,
        alphas=options.alphas,
        negative=not options.non_negative,
        gain=gain_of(options.gain),
        ties=options.ties,
        empty=options.empty,
        relevant_from=options.relevant_from,
        max_label=options.max_label,
        num_threads=options.threads,
    )
    given = _models if options.models else _scores
    fitted = given(options.data, options.files, options, path)
    valid = None
    if options.valid is not None:
        data, *files = options.valid
        if options.models and files:
            message = f"--valid: got {len(files) + 1} files, expected DATA: models score it"
            raise ParamError(message, code="valid")
        # Thresholds of models differ, so each set is binned for all of them by itself.
        valid = given(data, options.files if options.models else files, options, path)
        # By their order: files of other docs have other names.
        valid["rankers"] = list(valid["rankers"].values())
    combiner.fit(**fitted, valid=valid)
    _write(combiner, fitted, options)
    return combiner


def _scores(
    data: str, files: Sequence[str], options: argparse.Namespace, path: Any
) -> dict[str, Any]:
    labels, sizes, _ = _rustrank.read_labels(path(data), options.threads)
    rankers = [_rustrank.read_scores(path(name), options.threads) for name in files]
    return {"rankers": _named(files, rankers), "y": labels, "group": sizes}


def _models(
    data: str, files: Sequence[str], options: argparse.Namespace, path: Any
) -> dict[str, Any]:
    """Score the data with each model, binned between that model's own thresholds."""
    rankers = []
    threads = options.threads
    for name in files:
        booster = Booster.load(name)
        dataset = Dataset.from_letor(path(data), like=booster, num_threads=threads, progress=None)
        rankers.append(booster.score(dataset, num_threads=threads))
    labels, sizes, _ = _rustrank.read_labels(path(data), threads)
    return {"rankers": _named(files, rankers), "y": labels, "group": sizes}


def _named(files: Sequence[str], rankers: Sequence[Any]) -> dict[str, Any]:
    """Name rankers by their files, those of one name by their place."""
    names = [Path(name).name for name in files]
    if len(set(names)) < len(names):
        names = (
            list(files) if len(set(files)) == len(files) else [f"{i}" for i in range(len(files))]
        )
    return dict(zip(names, rankers, strict=True))


def _write(combiner: Combiner, fitted: dict[str, Any], options: argparse.Namespace) -> None:
    if options.scores:
        mixed = combiner.score(fitted["rankers"])
        lines = "".join(f"{score!r}\n" for score in mixed.tolist())
        Path(options.scores).write_text(lines, encoding="ascii")
    if options.save:
        boosters = [Booster.load(name) for name in options.files]
        merged(boosters, combiner.weights).save(options.save)
    if options.plot:
        axes = combiner.plot()
        axes.figure.savefig(options.plot, dpi=150)
