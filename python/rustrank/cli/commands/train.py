"""The command `train`: parameters are those of `rustrank.train`, by their own names."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from rustrank.cli.category_columns import declared, texts_of_dataset
from rustrank.cli.file_kinds import is_table, require_text
from rustrank.cli.parsing import OFFERED, READING, listed, offer, passed, reading_of
from rustrank.cli.rankers import load_model
from rustrank.cli.reading import (
    categorical_of,
    checked_judging,
    data_files,
    lines_in_errors,
    read_docs,
)
from rustrank.cli.replacing import MODEL
from rustrank.cli.streams import path_of, print_result, save_model
from rustrank.errors import DataError, ParamError, shown
from rustrank.formatting import number, text_table
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rustrank.cli.category_columns import TextColumns
    from rustrank.cli.parsing import Parser
    from rustrank.data.dataset import Dataset
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
  rustrank train train.parquet web.rrk --label grade --qid query --valid vali.parquet
  rustrank train sites.parquet web.rrk --categorical site,brand
  rustrank train markets.parquet web.rrk --label grade --qid query --ignore market
  rustrank train monday.txt web.rrk --more-data tuesday.txt
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
_OTHERWISE = ("valid", "callbacks", "progress", "num_threads", "preferences", "resume")
#: What text is read as, where the kind of the parameter does not say it.
_KINDS = {"early_stopping": "int"}


def register(parser: Parser) -> None:
    """Add the arguments."""
    reads, writes = ("data", "valid", "more_data"), {"model": MODEL, "checkpoint": MODEL}
    usage = "[options] DATA MODEL"
    parser.define(_run, usage, _EPILOG, reads=reads, models=("base",), writes=writes)
    add, flag = parser.add, parser.flag
    add(
        "data",
        "DATA",
        "the training set: LETOR or SVMlight text, plain or gzip; Parquet or CSV; or shards",
    )
    add("model", "MODEL", "where to save the model")
    add("--valid", "DATA", "a validation set; may be repeated", action="append")
    parser.share("categorical")
    parser.add_argument(
        "--query-ranks",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="rank values within queries, as features of their own (chosen where no parameter of the model is given)",
    )
    flag("--resume", "go on from --checkpoint, if that file exists")
    parser.share("more_data", *READING, "progress", "threads", "json")
    group = parser.add_argument_group("parameters of rustrank.train")
    for one in _parameters():
        shown = "none" if one.default is None else str(one.default)
        values = f": {', '.join(one.choices)}" if one.choices else ""
        values += f"; {one.within}" if one.within else ""
        text = f"{one.summary}{values} ({shown})".replace("%", "%%")
        action = group.add_argument(f"--{one.name.replace('_', '-')}", help=text, metavar="X")
        offer(action, OFFERED.get(one.name, one.choices))


def _parameters() -> list[Parameter]:
    """Return the parameters of `train` that are options of the command."""
    from rustrank.parameters.schema import TRAININGS

    return [one for one in TRAININGS["train"].values() if one.name not in _OTHERWISE]


def _run(options: argparse.Namespace) -> int:
    from rustrank.data.caller_errors import is_of
    from rustrank.distributed import mpi
    from rustrank.training.train import train

    given = _given(options)
    launched = mpi.launched_world_size() is not None
    of_data = _shards if given.get("workers") is not None or launched else datasets_of
    data, valid = of_data(options, given.get("base"))
    try:
        booster = train(data, valid=valid, **passed(options, "progress", "resume"), **given)
    except DataError as error:
        files = [name for name, one in (valid or {}).items() if is_of(error, one)]
        with lines_in_errors(files or data_files(options.data, options)):
            raise
    if launched and mpi.world().rank > 0:
        return 0
    save_model(booster, options.model)
    summary = {
        "model": options.model,
        "num_trees": booster.num_trees,
        "rounds": booster.all_rounds.num_rounds,
        "best_round": booster.best_round,
        "valid": _values(booster),
    }
    return print_result(options, summary, _table_of(summary))


def datasets_of(options: argparse.Namespace, base: Booster | None) -> tuple[Any, Any]:
    """Read the training set and the validation sets, and score them by a base of other bins."""
    from rustrank.data.dataset import Dataset
    from rustrank.data.dataset_building import BaseIfNeeded

    how = {**reading_of(options), "progress": None if options.progress else False}
    files, valid = data_files(options.data, options), options.valid or ()
    own = {"query_ranks": options.query_ranks, "categorical": categorical_of(options)}
    if any(map(is_table, (*files, *valid))):
        dataset = _dataset(files, options, declared(own["categorical"], base), base=base, **own)
        texts = texts_of_dataset(dataset)
        return dataset, {name: _dataset([name], options, texts, like=dataset) for name in valid}
    for file in (*files, *valid):
        require_text(file)
    paths: Any = [path_of(name) for name in files] if len(files) > 1 else path_of(options.data)
    scorer: Any = None if base is None else BaseIfNeeded(base)
    dataset = Dataset.from_letor(paths, base=scorer, **own, **how)
    return dataset, {name: Dataset.from_letor(path_of(name), like=dataset, **how) for name in valid}


def _dataset(
    files: Sequence[str], options: argparse.Namespace, texts: TextColumns, **more: Any
) -> Dataset:
    """Read tables."""
    from rustrank.data.dataset import Dataset

    docs = read_docs(files, options, values=True, texts=texts)
    with docs.places_in_errors():
        return Dataset(**docs.rows(), num_threads=options.threads, **more)


def _shards(options: argparse.Namespace, _: Booster | None) -> tuple[Any, Any]:
    """Return the names of the files, which several workers read, of which this may be one."""
    if options.query_ranks:
        message = "--query-ranks: not with several workers, which have parts of the data"
        raise ParamError(message, code="query_ranks")
    if options.categorical is not None:
        message = "--categorical: not with several workers, which know no categories"
        raise ParamError(message, code="categorical")
    if options.zero_based:
        message = "--zero-based: not with several workers: rustrank shard writes parts that are not"
        raise ParamError(message, code="zero_based")
    return options.data, {name: name for name in options.valid or ()} or None


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
    trees, rounds, best = (summary[name] for name in ("num_trees", "rounds", "best_round"))
    said = f"{trees} trees" if best in (None, rounds) else f"{trees} trees, the best of {rounds}"
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
    texts = [(one, getattr(options, one.name)) for one in _parameters()]
    given = {one.name: _value(one, text) for one, text in texts if text is not None}
    if "base" in given:
        given["base"] = load_model(given["base"])
    if isinstance(metric := given.get("metric"), str):
        # A mapping from metrics to weights is JSON, as that of guards is.
        is_json = metric.startswith("{")
        given["metric"] = _json("metric", metric) if is_json else listed(metric)
        checked_judging(list(given["metric"]), options, ())
    if isinstance(given.get("guard"), str):
        given["guard"] = _json("guard", given["guard"])
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
    except (ValueError, RecursionError) as error:
        message = f"--{name.replace('_', '-')}: got {shown(text)}, expected JSON: {error}"
        raise ParamError(message, code=name) from None
