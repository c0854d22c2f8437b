"""The command `train`: parameters are those of `rustrank.train`, by their own names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

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
from rustrank.formatting import number, text_table
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    import argparse

    from rustrank.model.booster import Booster
    from rustrank.parameters.schema import Parameter

_EPILOG = """\
Parameters are those of `rustrank.train` in Python, with their names and defaults; `none` is None.
The model is saved at the end, whole or not at all. With --checkpoint and --resume, training goes on
where it was interrupted, and the model is the same as without the interruption.
A - stands for standard input, or output.

examples:
  rustrank train train.txt.gz web.rrk --valid vali.txt.gz --num-trees 500 --early-stopping 50
  rustrank train train.txt err.rrk --metric err@20,ndcg@10 --num-leaves 63 --learning-rate 0.05
  rustrank train train.txt web.rrk --config train.toml --seed 7
  rustrank train train.txt web.rrk --checkpoint web.part --resume
  rustrank train train.txt web.rrk --monotone '{"f3": 1, "f7": -1}' --num-trees 20
  rustrank train shards web.rrk --workers 4 --checkpoint web.part --max-restarts 3
  rustrank train train.txt - --num-trees 20 | rustrank score - test.txt > scores.txt

train.toml, or the same as JSON:
  valid = ["vali.txt"]
  metric = ["ndcg@10", "map"]
  num_trees = 500
  early_stopping = 50
"""

#: Parameters of `train` that are no options of the command, or not by that name.
_OTHERWISE = (
    "dataset",
    "valid",
    "callbacks",
    "progress",
    "num_threads",
    "preferences",
    "resume",
    "unknown",
)
#: What text is read as, where the kind of the parameter does not say it.
_KINDS = {"early_stopping": "int"}


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "train",
        "train a ranker",
        usage="[options] DATA MODEL",
        epilog=_EPILOG,
        run=_run,
        reads=("data", "valid", "base"),
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="the training set: LETOR or SVMlight text, plain or gzip")
    add("model", metavar="MODEL", help="where to save the model")
    add("--valid", action="append", metavar="DATA", help="a validation set; may be repeated")
    add(
        "--query-ranks",
        action="store_true",
        help="rank values within queries, as features of their own",
    )
    add("--resume", action="store_true", help="go on from --checkpoint, if that file exists")
    add_reading(parser)
    add_progress(parser)
    add_threads(parser)
    add_json(parser)
    group = parser.add_argument_group("parameters of rustrank.train")
    for parameter in _parameters():
        _add_parameter(group, parameter)


def _parameters() -> list[Parameter]:
    """Return the parameters of `train` that are options of the command."""
    from rustrank.parameters.schema import TRAININGS

    return [one for one in TRAININGS["train"].values() if one.name not in _OTHERWISE]


def _add_parameter(group: Any, one: Parameter) -> None:
    shown = "none" if one.default is None else str(one.default)
    values = f": {', '.join(one.choices)}" if one.choices else ""
    values += f"; {one.within}" if one.within else ""
    text = f"{one.summary}{values} ({shown})".replace("%", "%%")
    action = group.add_argument(
        f"--{one.name.replace('_', '-')}", default=None, help=text, metavar="X"
    )
    offered = {"metric": METRIC_NAMES, "gain": ("exp2", "linear")}
    offer(action, offered.get(one.name, one.choices))


def _run(options: argparse.Namespace) -> int:
    for output in (options.model, options.checkpoint):
        require_place(output, options.data, *(options.valid or ()))
    summary = _trained(options)
    if not summary:
        return 0
    stream = telling(options.model)
    if options.json:
        print_json(summary, stream)
    else:
        stream.write(f"{_table_of(summary)}\n")
    return 0


def _trained(options: argparse.Namespace) -> dict[str, Any]:
    """Train and save; return a summary of it."""
    from rustrank.data.dataset import Dataset
    from rustrank.distributed.mpi import launched_world_size
    from rustrank.training.train import train

    given = _given(options)
    if given.get("workers") is not None or launched_world_size() is not None:
        return _trained_together(options, given)
    reading: dict[str, Any] = {
        **reading_of(options),
        "num_threads": options.threads,
        "progress": None if options.progress else False,
    }
    dataset = Dataset.from_letor(path_of(options.data), query_ranks=options.query_ranks, **reading)
    valid = {
        name: Dataset.from_letor(path_of(name), like=dataset, **reading)
        for name in options.valid or ()
    }
    booster = train(
        dataset,
        valid=valid,
        progress=options.progress,
        resume=options.resume,
        num_threads=options.threads,
        **given,
    )
    save_model(booster, options.model)
    return _told(options, booster)


def _trained_together(options: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """Train on several workers, which are started here, or of which this is one."""
    from rustrank.distributed import mpi
    from rustrank.training.train import train

    if options.query_ranks:
        message = "--query-ranks: not with several workers, which have parts of the data"
        raise ParamError(message, code="query_ranks")
    if options.zero_based:
        message = "--zero-based: not with several workers: rustrank shard writes parts that are not"
        raise ParamError(message, code="zero_based")
    booster = train(
        options.data,
        valid={name: name for name in options.valid or ()} or None,
        progress=options.progress,
        resume=options.resume,
        num_threads=options.threads,
        **given,
    )
    if mpi.launched_world_size() is not None and mpi.world().rank > 0:
        return {}
    save_model(booster, options.model)
    return _told(options, booster)


def _told(options: argparse.Namespace, booster: Booster) -> dict[str, Any]:
    """Return a summary of a training."""
    return {
        "model": options.model,
        "num_trees": booster.num_trees,
        "rounds": booster.all_rounds.num_rounds,
        "best_round": booster.best_round,
        "valid": _values(booster),
    }


def _values(booster: Booster) -> dict[str, dict[str, float]]:
    """Return the metrics of the rounds that the booster has."""
    rounds = booster.all_rounds.num_rounds
    last = booster.num_rounds if booster.best_round is None else booster.best_round
    return {
        name: {
            metric: float(values[last - (rounds - len(values)) - 1])
            for metric, values in metrics.items()
        }
        for name, metrics in booster.history.items()
    }


def _table_of(summary: dict[str, Any]) -> str:
    """Show what was trained."""
    trees, rounds = summary["num_trees"], summary["rounds"]
    said = f"{trees} trees" if trees == rounds else f"{trees} trees, the best of {rounds}"
    lines = [f"{summary['model']}: {said}"]
    rows = [
        [name, metric, number(value)]
        for name, metrics in summary["valid"].items()
        for metric, value in metrics.items()
    ]
    if rows:
        lines.append(text_table(["data", "metric", "mean"], rows, left=2))
    return "\n".join(lines)


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of `train` that are among the arguments."""
    from rustrank.model.booster import Booster

    given: dict[str, Any] = {}
    for one in _parameters():
        text = getattr(options, one.name)
        if text is not None:
            given[one.name] = _value(one, text)
    if "base" in given:
        given["base"] = Booster.load(path_of(given["base"]))
    if isinstance(given.get("metric"), str):
        given["metric"] = [name.strip() for name in given["metric"].split(",")]
    if isinstance(given.get("gain"), str) and given["gain"][:1].isdigit():
        given["gain"] = gain_of(given["gain"])
    return given


def _value(one: Parameter, text: str) -> Any:
    """Read a value of the kind that the parameter takes."""
    if text == "none" and one.is_optional and "none" not in one.choices:
        return None
    if text == one.default:
        return text
    if one.group == "limits":
        return _json(one.name, text if text[:1] in ("[", "{") else f"[{text}]")
    kind = _KINDS.get(one.name, one.kind)
    try:
        return {"int": int, "float": float}.get(kind, str)(text)
    except ValueError:
        wanted = "a whole number" if kind == "int" else "a number"
        message = f"--{one.name.replace('_', '-')}: got {text!r}, expected {wanted}"
        raise ParamError(message, code=one.name) from None


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        message = f"--{name.replace('_', '-')}: got {text!r}, expected JSON: {error}"
        raise ParamError(message, code=name) from None
