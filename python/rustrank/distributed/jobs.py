"""Jobs: the options of a training on several workers, saved in a file that each worker reads.

A job has a folder of its own. Workers write their process ids, the current round, their errors and the
result into it.
"""

from __future__ import annotations

import ast
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import is_booster, wrong_base
from rustrank.distributed.shards import Shards
from rustrank.errors import ParamError, ParamKindError, wrong_kind
from rustrank.parameters.plan import EarlyStopping, looking_past_training, sets_by_name
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
        validation sets, by name, are manifests or files that every worker reads.
    folder : str or None
        Where workers write what the process that started them reads; None if nobody did.
    """

    options: dict[str, Any]
    folder: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any], folder: Path) -> Job:
        """Check the arguments of `train`."""
        if options["callbacks"] is not None:
            message = "callbacks: got some, expected none: workers cannot call back here"
            raise ParamError(message, code="workers")
        _check_sharing(options)
        if options["base"] is not None and not is_booster(options["base"]):
            raise wrong_base("base", options["base"], "a Booster")
        training = _shards("dataset", options["dataset"])
        valid = {name: _shards(name, one) for name, one in sets_by_name(options["valid"]).items()}
        is_training = {name: path == training for name, path in valid.items()}
        checked = {
            "dataset": training,
            "valid": valid,
            "early_stopping": looking_past_training(options["early_stopping"], is_training),
            "base": options["base"],
            **{name: _absolute(name, options[name]) for name in ("checkpoint", "snapshot")},
        }
        plain = {name: _plain(name, one) for name, one in options.items() if name not in checked}
        return cls({**plain, **checked}, str(folder))

    def save(self, path: Path) -> None:
        """Write the job to a file."""
        path.write_bytes(pickle.dumps(self))

    @classmethod
    def load(cls, path: Path) -> Job:
        """Read a job from a file."""
        job: Job = pickle.loads(path.read_bytes())  # noqa: S301 - of the user's own process
        return job

    def train_options(self) -> dict[str, Any]:
        """Return the options of `train` that concern the model."""
        left_out = {"dataset", *_OF_WORKERS}
        return {name: one for name, one in self.options.items() if name not in left_out}


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
    """Return an option as a plain value, or raise `ParamKindError`."""
    if isinstance(value, EarlyStopping):
        return value
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
