"""The command `adapt`: `rustrank.adapt` for files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.cli.category_columns import texts_of_models
from rustrank.cli.parsing import DATA, READING, listed, passed
from rustrank.cli.rankers import load_model
from rustrank.cli.reading import checked_judging, data_files, read_docs
from rustrank.cli.replacing import MODEL, PLOT
from rustrank.cli.streams import print_result, save_model, save_plot
from rustrank.errors import ParamError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from rustrank.adaptation.adaptation import Adaptation
    from rustrank.cli.parsing import Parser
    from rustrank.model.booster import Booster

_EPILOG = f"""\
files:
  BASE     a model file, of ours or of another library: a ranker of another market
  TARGET   the little data there is of the market that a ranker is wanted for
{DATA}

Recipes are fitted to TARGET, and choose by folds of it, or by --held-out, what they leave open. What they
are worth is measured on --valid-closed (without it, on three tenths of TARGET's queries) and, if there
is one, on --valid-open: the market as it is elsewhere, or later.

recipes:
  target, trees, features, interpolate, refit, reweigh; with --background also grow and pool

examples:
  rustrank adapt web.rrk names.txt --background web.txt.gz --valid-open names-2.txt --save best.rrk
  rustrank adapt en.rrk ko.txt --also ja.rrk cn.rrk --recipes trees,interpolate --plot ko.png
"""


_MIXING = ("powell", "lambdarank", "coordinate")


def register(parser: Parser) -> None:
    """Add the arguments."""
    parser.define(
        _run,
        "[options] BASE TARGET",
        _EPILOG,
        reads=("target", "more_data", "background", "held_out", "valid_closed", "valid_open"),
        models=("base", "also"),
        writes={"save": MODEL, "plot": PLOT},
    )
    add = parser.add
    add("base", "BASE", "the model to adapt")
    add("target", "TARGET", "the docs to adapt it to")
    add("--also", "MODEL", "more models to adapt, or to mix in", nargs="+", default=[])
    add("--background", "DATA", "what the base was trained on: for grow and pool")
    add("--held-out", "DATA", "what recipes choose by, instead of folds")
    add("--folds", "N", "folds of TARGET to choose by (5)", type=int, default=5)
    add("--valid-closed", "DATA", "more of the target's own kind and time")
    add("--valid-open", "DATA", "the target as it is elsewhere, or later")
    add("--recipes", "NAME,...", "which to try (all that are possible)")
    add("--mixing", "NAME", "powell, lambdarank or coordinate", default="powell", offered=_MIXING)
    add("--metric")
    add("--num-trees", "N", "the most trees of a recipe (300)", type=int)
    add("--num-leaves", "N", "the most leaves of a tree (8)", type=int)
    add("--learning-rate", "X", "what leaf values are multiplied by (0.05)", type=float)
    add("--save", "MODEL", "where to save the ranker of the best recipe")
    add("--save-all", "FOLDER", "where to save those of all recipes")
    add("--plot", "FILE", "draw values and intervals (png, svg, pdf); needs matplotlib")
    parser.share("gain", "max-label", "level")
    add("--seed", text="seed of everything random (0)")
    add("--more-data", text="another file whose docs follow those of TARGET; may be repeated")
    parser.share("progress", *READING, "threads", "json")


def _run(options: argparse.Namespace) -> int:
    from rustrank.adaptation.adaptation import adapt

    bases = _bases(options)
    width, texts = next(iter(bases.values())).num_raw_features, texts_of_models(bases.values())
    judging = checked_judging(options.metric, options, ("gain", "max_label"))

    def docs(name: str | None, more: bool = False) -> Any:
        if name is None:
            return None
        files = data_files(name, options) if more else [name]
        return read_docs(files, options, values=True, texts=texts).raw_rows(judging, width)

    given = ("learning_rate", "num_leaves", "num_trees")
    names = ("metric", "mixing", "level", "seed", "gain", "max_label", "progress")
    found = adapt(
        bases,
        docs(options.target, more=True),
        docs(options.background),
        held_out=options.folds if options.held_out is None else docs(options.held_out),
        valid_closed=docs(options.valid_closed),
        valid_open=docs(options.valid_open),
        recipes=None if options.recipes is None else listed(options.recipes),
        trees={name: getattr(options, name) for name in given if getattr(options, name)},
        **passed(options, *names),
    )
    _write(found, options)
    return print_result(options, found.to_dict(), found)


def _bases(options: argparse.Namespace) -> Mapping[str, Booster]:

    files = [options.base, *options.also]
    if len(files) == 1:
        return {"base": load_model(files[0])}
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        message = f"--also: two models are called the same, of {', '.join(names)}"
        raise ParamError(message, code="also")
    return {name: load_model(file) for name, file in zip(names, files, strict=True)}


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
        save_plot(found.plot(), options.plot)
