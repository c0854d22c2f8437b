"""The commands `train` and `score`: parameters are those of `rustrank.train`, by their own names."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from rustrank._errors import ParamError
from rustrank._tables import number, text_table
from rustrank.booster import Booster
from rustrank.dataset import Dataset
from rustrank.training import train

if TYPE_CHECKING:
    import argparse

TRAIN = """\
Parameters are those of `rustrank.train` in Python, with their names and defaults; `none` is None.
The model is saved at the end, whole or not at all. With --checkpoint and --resume, training goes on
where it was interrupted, and the model is the same as without the interruption.

examples:
  rustrank train train.txt.gz web.rrk --valid vali.txt.gz --num-trees 500 --early-stopping 50
  rustrank train train.txt err.rrk --metric err@20,ndcg@10 --num-leaves 63 --learning-rate 0.05
  rustrank score web.rrk test.txt > scores.txt && rustrank evaluate test.txt scores.txt
"""
SCORE = """\
Prints one score a line, for the lines of DATA in their order.

examples:
  rustrank score web.rrk test.txt.gz > scores.txt
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
#: What parameters take whose default does not say it.
_KINDS: dict[str, type] = {
    "early_stopping": int,
    "max_depth": int,
    "relevant_from": float,
    "max_label": float,
}


def add_train(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `train`."""
    add = parser.add_argument
    add("data", metavar="DATA", help="the training set: LETOR or SVMlight text, plain or gzip")
    add("model", metavar="MODEL", help="where to save the model")
    add(
        "--valid",
        action="append",
        default=[],
        metavar="DATA",
        help="a validation set; may be repeated",
    )
    add(
        "--query-ranks",
        action="store_true",
        help="rank values within queries, as features of their own",
    )
    add("--progress", action="store_true", help="say how far training is on standard error")
    add("--resume", action="store_true", help="go on from --checkpoint, if that file exists")
    add("--threads", type=int, metavar="N", help="threads to use (all cores)")
    add("--json", action="store_true", help="print JSON")
    for name, parameter in inspect.signature(train).parameters.items():
        if name in _OTHERWISE:
            continue
        default = parameter.default
        said = "none" if default is None else default
        add(f"--{name.replace('_', '-')}", default=None, metavar="X", help=f"({said})")


def add_score(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `score`."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("data", metavar="DATA", help="LETOR or SVMlight text, plain or gzip")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores)")


def run_train(options: argparse.Namespace, path: Any) -> dict[str, Any]:
    """Train and save; return what can be said of it."""
    given = _given(options)
    reading: dict[str, Any] = {"num_threads": options.threads, "progress": None}
    dataset = Dataset.from_letor(path(options.data), query_ranks=options.query_ranks, **reading)
    valid = {
        name: Dataset.from_letor(path(name), like=dataset, **reading) for name in options.valid
    }
    booster = train(
        dataset,
        valid=valid,
        progress=options.progress,
        resume=options.resume,
        num_threads=options.threads,
        **given,
    )
    booster.save(options.model)
    last = booster.num_rounds if booster.best_round is None else booster.best_round
    return {
        "model": options.model,
        "num_trees": booster.num_trees,
        "rounds": booster.all_rounds.num_rounds,
        "best_round": booster.best_round,
        "valid": {
            name: {
                metric: float(values[last - (booster.all_rounds.num_rounds - len(values)) - 1])
                for metric, values in metrics.items()
            }
            for name, metrics in booster.history.items()
        },
    }


def table_of(told: dict[str, Any]) -> str:
    """Show what was trained."""
    trees, rounds = told["num_trees"], told["rounds"]
    said = f"{trees} trees" if trees == rounds else f"{trees} trees, the best of {rounds}"
    lines = [f"{told['model']}: {said}"]
    rows = [
        [name, metric, number(value)]
        for name, metrics in told["valid"].items()
        for metric, value in metrics.items()
    ]
    if rows:
        lines.append(text_table(["data", "metric", "mean"], rows, left=2))
    return "\n".join(lines)


def run_score(options: argparse.Namespace, path: Any) -> None:
    """Print the score of each line."""
    booster = Booster.load(options.model)
    dataset = Dataset.from_letor(path(options.data), like=booster, num_threads=options.threads)
    scores = booster.score(dataset, num_threads=options.threads)
    sys.stdout.writelines(f"{score!r}\n" for score in scores.tolist())


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of `train` that are among the arguments."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(train).parameters.items():
        text = getattr(options, name, None)
        if name not in _OTHERWISE and text is not None:
            given[name] = _value(name, text, parameter.default)
    if "base" in given:
        given["base"] = Booster.load(given["base"])
    if isinstance(given.get("metric"), str):
        given["metric"] = [name.strip() for name in given["metric"].split(",")]
    if isinstance(given.get("gain"), str) and given["gain"][:1].isdigit():
        given["gain"] = [_value("gain", part, 0.0) for part in given["gain"].split(",")]
    return given


def _value(name: str, text: str, default: Any) -> Any:
    """Read a value of the kind that the parameter takes."""
    if text == "none" and (default is None or name == "pairs_to"):
        return None
    kind = _KINDS.get(name, str if default is None else type(default))
    try:
        return kind(text)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        message = f"--{name.replace('_', '-')}: got {text!r}, expected {wanted}"
        raise ParamError(message, code=name) from None
