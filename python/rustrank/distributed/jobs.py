"""Jobs: the options of a training on several workers, saved in a file that each worker reads.

A job has a folder of its own. Workers write their process ids, the current round, their errors and the
result into it.
"""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset
from rustrank.distributed.shards import Shards
from rustrank.errors import ParamError, ParamKindError, wrong_kind
from rustrank.inputs.scalars import text
from rustrank.model.booster import Booster
from rustrank.parameters.plan import EarlyStopping
from rustrank.parameters.schema import TRAININGS

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options of `train` that concern the workers and not the model; the reducers take their mode from it.
_OF_WORKERS = {
    name for name, one in TRAININGS["train"].items() if one.group == "workers" and name != "mode"
}


@dataclass(frozen=True)
class Job:
    """A training on several workers.

    Attributes
    ----------
    options : mapping
        All options of `train`, and its data set, as plain values. The data set is a manifest of shards; the
        validation sets, by name, are manifests or files that every worker reads; a base is a file.
    folder : str or None
        Where workers write what the process that started them reads; None if nobody did.
    """

    options: dict[str, Any]
    folder: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any], folder: Path) -> Job:
        """Check the arguments of `train`; a base booster is saved in the folder."""
        if options["callbacks"] is not None:
            message = "callbacks: got some, expected none: workers cannot call back here"
            raise ParamError(message, code="workers")
        _check_sharing(options)
        paths = {
            "dataset": _shards("dataset", options["dataset"]),
            "valid": _valid(options["valid"]),
            "base": _base(options["base"], folder),
            **{name: _absolute(name, options[name]) for name in ("checkpoint", "snapshot")},
        }
        plain = {name: _plain(name, one) for name, one in options.items() if name not in paths}
        return cls({**plain, **paths}, str(folder))

    def save(self, path: Path) -> None:
        """Write the job to a file."""
        path.write_text(repr(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Job:
        """Read a job from a file."""
        return cls(**ast.literal_eval(path.read_text()))

    def train_options(self) -> dict[str, Any]:
        """Return the options of `train` that concern the model."""
        left_out = {"dataset", *_OF_WORKERS}
        options = {name: one for name, one in self.options.items() if name not in left_out}
        if isinstance(options.get("early_stopping"), dict):
            options["early_stopping"] = EarlyStopping(**options["early_stopping"])
        return options


def _check_sharing(options: Mapping[str, Any]) -> None:
    """Refuse what would count documents twice, and rows that have no number."""
    mode, overlap = options["mode"], options["overlap"]
    if overlap and mode in ("histogram", "features"):
        message = (
            f"overlap: got {overlap}, expected 0 with mode={mode!r}: the sums over workers would count "
            "the documents that two of them have twice; the selections take overlaps"
        )
        raise ParamError(message, code="overlap")
    if options["preferences"] is not None:
        message = (
            "preferences: got some, expected none with workers: they are pairs of row numbers, and the "
            "rows of shards are numbered in each shard"
        )
        raise ParamError(message, code="preferences")


def _plain(name: str, value: Any) -> Any:
    """Return an option as a value that can be saved as text, or raise `ParamKindError`."""
    if isinstance(value, EarlyStopping):
        return asdict(value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    try:
        if ast.literal_eval(repr(value)) == value:
            return value
    except (ValueError, SyntaxError):
        pass
    raise wrong_kind(name, value, "a plain value: workers are other processes", "workers")


def _absolute(name: str, path: Any) -> str | None:
    try:
        return None if path is None else str(Path(path).absolute())
    except TypeError:
        raise wrong_kind(name, path, "a path") from None


def _shards(name: str, given: Any) -> str:
    if isinstance(given, Shards):
        return str((given.directory / "manifest.json").absolute())
    if isinstance(given, Dataset):
        message = (
            f"{name}: got a Dataset, expected shards: workers are other processes, which read files; "
            "write some with rustrank.shard"
        )
        raise ParamKindError(message, code="workers")
    path = _absolute(name, given)
    if path is None or not Path(path).exists():
        raise FileNotFoundError(2, "no such file", str(given))
    return path


def _valid(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, (list, tuple)):
        given = {f"valid_{at}": one for at, one in enumerate(given)}
    named = given if isinstance(given, dict) else {"valid": given}
    return {text("valid", name): _shards(name, one) for name, one in named.items()}


def _base(given: Any, folder: Path) -> str | None:
    if given is None:
        return None
    if not isinstance(given, Booster):
        raise wrong_kind("base", given, "a Booster")
    given.save(folder / "base.rrk")
    return str(folder / "base.rrk")
