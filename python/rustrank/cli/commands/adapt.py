"""The command `adapt`: `rustrank.adapt` for files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.cli.parsing import (
    METRIC_NAMES,
    add_json,
    add_progress,
    add_reading,
    add_threads,
    command,
    offer,
    reading_of,
)
from rustrank.cli.streams import path_of, print_json, require_place, save_model, telling
from rustrank.errors import ParamError
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from rustrank.adaptation.adaptation import Adaptation
    from rustrank.model.booster import Booster

_EPILOG = """\
files:
  BASE     a model file, of ours or of another library: a ranker of another market
  TARGET   the little data there is of the market that a ranker is wanted for
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`; plain or gzip

Recipes are fitted to TARGET, and choose by folds of it, or by --held-out, what they leave open. What they
are worth is measured on --valid-closed (without it, on three tenths of TARGET's queries) and, if there
is one, on --valid-open: the market as it is elsewhere, or later.

recipes:
  target, trees, features, interpolate, refit, reweigh; with --background also grow and pool

examples:
  rustrank adapt web.rrk names.txt --background web.txt.gz --valid-open names-2.txt --save best.rrk
  rustrank adapt en.rrk ko.txt --also ja.rrk cn.rrk --recipes trees,interpolate --plot ko.png
"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "adapt",
        "a ranker for another market",
        usage="[options] BASE TARGET",
        epilog=_EPILOG,
        run=_run,
        reads=("base", "target", "also", "background", "held_out", "valid_closed", "valid_open"),
    )
    add = parser.add_argument
    add("base", metavar="BASE", help="the model to adapt")
    add("target", metavar="TARGET", help="the docs to adapt it to")
    add("--also", nargs="+", default=[], metavar="MODEL", help="more models to adapt, or to mix in")
    add("--background", metavar="DATA", help="what the base was trained on: for grow and pool")
    add("--held-out", metavar="DATA", help="what recipes choose by, instead of folds")
    add("--folds", type=int, default=5, metavar="N", help="folds of TARGET to choose by (5)")
    add("--valid-closed", metavar="DATA", help="more of the target's own kind and time")
    add("--valid-open", metavar="DATA", help="the target as it is elsewhere, or later")
    add("--recipes", metavar="NAME,...", help="which to try (all that are possible)")
    mixing = add(
        "--mixing", default="powell", metavar="NAME", help="powell, lambdarank or coordinate"
    )
    offer(mixing, ("powell", "lambdarank", "coordinate"))
    metric = add("--metric", default="ndcg@10", metavar="NAME", help="what to maximise (ndcg@10)")
    offer(metric, METRIC_NAMES)
    add("--num-trees", type=int, metavar="N", help="the most trees of a recipe (300)")
    add("--num-leaves", type=int, metavar="N", help="the most leaves of a tree (8)")
    add(
        "--learning-rate", type=float, metavar="X", help="what leaf values are multiplied by (0.05)"
    )
    add("--save", metavar="MODEL", help="where to save the ranker of the best recipe")
    add("--save-all", metavar="FOLDER", help="where to save those of all recipes")
    add(
        "--plot", metavar="FILE", help="draw values and intervals (png, svg, pdf); needs matplotlib"
    )
    gain = add(
        "--gain", default="exp2", metavar="GAIN", help="exp2, linear or a table such as 0,1,3,7"
    )
    offer(gain, ("exp2", "linear"))
    add("--max-label", type=float, metavar="L", help="top of ERR's label scale (the largest label)")
    add("--level", type=float, default=0.95, metavar="P", help="level of intervals (0.95)")
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random (0)")
    add_progress(parser)
    add_reading(parser)
    add_threads(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> int:
    for output in (options.save, options.plot):
        data = (options.target, options.background, options.held_out)
        require_place(output, *data, options.valid_closed, options.valid_open)
    found = _adapted(options)
    stream = telling(options.save)
    if options.json:
        print_json(found.to_dict(), stream)
    else:
        stream.write(f"{found}\n")
    return 0


def _adapted(options: argparse.Namespace) -> Adaptation:
    """Run the recipes, and write the outputs."""
    from rustrank.adaptation.adaptation import adapt

    bases = _bases(options)
    width = next(iter(bases.values())).num_features

    def docs(name: str | None) -> Any:
        reading = {"num_threads": options.threads, **reading_of(options)}
        return None if name is None else _docs(path_of(name), width, reading)

    given = {"num_trees", "num_leaves", "learning_rate"}
    found = adapt(
        bases,
        docs(options.target),
        docs(options.background),
        held_out=options.folds if options.held_out is None else docs(options.held_out),
        valid_closed=docs(options.valid_closed),
        valid_open=docs(options.valid_open),
        recipes=None if options.recipes is None else _listed(options.recipes),
        metric=options.metric,
        mixing=options.mixing,
        trees={name: getattr(options, name) for name in sorted(given) if getattr(options, name)},
        level=options.level,
        seed=options.seed,
        gain=gain_of(options.gain),
        max_label=options.max_label,
        progress=options.progress,
        num_threads=options.threads,
    )
    _write(found, options)
    return found


def _bases(options: argparse.Namespace) -> Mapping[str, Booster]:
    from rustrank.model.booster import Booster

    files = [options.base, *options.also]
    if len(files) == 1:
        return {"base": Booster.load(path_of(files[0]))}
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        message = f"--also: two models are called the same, of {', '.join(names)}"
        raise ParamError(message, code="also")
    return {name: Booster.load(path_of(file)) for name, file in zip(names, files, strict=True)}


def _docs(path: str, width: int, reading: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Read a file; features that are missing in all lines are 0."""
    from rustrank.datasets import read_letor

    X, y, qid = read_letor(path, **reading)
    if X.shape[1] < width:
        X = np.pad(X, ((0, 0), (0, width - X.shape[1])))
    return X, y, qid


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def _write(found: Adaptation, options: argparse.Namespace) -> None:
    if options.save:
        save_model(found.booster, options.save)
    if options.save_all:
        folder = Path(options.save_all)
        folder.mkdir(parents=True, exist_ok=True)
        for name, booster in found.boosters.items():
            kept = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
            booster.save(folder / f"{kept}.rrk")
    if options.plot:
        found.plot().figure.savefig(options.plot, dpi=150)
