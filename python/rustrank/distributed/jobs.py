"""Jobs: the options of a training on several workers, saved in a file that each worker reads.

A job has a folder of its own. Workers write their process ids, the current round, their errors and the
result into it.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset
from rustrank.distributed.shards import Shards
from rustrank.errors import ParamError, ParamKindError, shown
from rustrank.inputs.scalars import text
from rustrank.model.booster import Booster
from rustrank.parameters.plan import EarlyStopping
from rustrank.parameters.schema import TRAININGS

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options of `train` that concern the workers and not the model.
OF_WORKERS = tuple(name for name, one in TRAININGS["train"].items() if one.group == "workers")
#: Options that are handled in the calling process or have fields of their own.
_SEPARATE = ("dataset", "valid", "base", "callbacks", "num_threads", "progress", "resume")
_FILES = ("checkpoint", "snapshot")


@dataclass(frozen=True)
class Job:
    """A training on several workers.

    Attributes
    ----------
    data : str
        The manifest of shards.
    valid : mapping
        Validation sets by name: manifests of shards, or files that every worker reads.
    options : mapping
        The options of `train` that are plain values.
    mode, overlap
        As for `train`.
    workers : int
        The number of workers.
    deadline : float
        The most seconds that a collective may take.
    shrinks : bool
        Whether the surviving workers continue without a lost one.
    base, checkpoint, snapshot : str or None
        Files.
    resume, progress : bool
        As for `train`.
    num_threads : int or None
        The threads of a worker; by default its share of the cores.
    out : str
        The file to write the result to.
    """

    data: str
    valid: dict[str, str]
    options: dict[str, Any]
    mode: str
    overlap: int
    workers: int | None
    deadline: float
    shrinks: bool
    base: str | None
    checkpoint: str | None
    snapshot: str | None
    resume: bool
    progress: bool
    num_threads: int | None
    out: str
    notes: str | None = field(default=None)

    @classmethod
    def of(cls, options: Mapping[str, Any], folder: Path) -> Job:
        """Check the arguments of `train`; a base booster is saved in the folder."""
        plain = {
            name: _plain(name, value)
            for name, value in options.items()
            if name not in (*OF_WORKERS, *_SEPARATE, *_FILES)
        }
        if options["callbacks"] is not None:
            message = "callbacks: got some, expected none: workers cannot call back here"
            raise ParamError(message, code="workers")
        files = {name: _absolute(name, options[name]) for name in _FILES}
        return cls(
            data=_shards("dataset", options["dataset"]),
            valid=_valid(options["valid"]),
            options=plain,
            mode=options["mode"],
            overlap=options["overlap"],
            workers=options["workers"],
            deadline=options["deadline"],
            shrinks=options["on_loss"] == "shrink",
            base=_base(options["base"], folder),
            resume=options["resume"],
            progress=options["progress"],
            num_threads=options["num_threads"],
            out=str(folder / "model.rrk"),
            notes=str(folder),
            **files,
        )

    def save(self, path: Path) -> None:
        """Write the job to a file."""
        path.write_text(repr({one.name: getattr(self, one.name) for one in fields(self)}))

    @classmethod
    def load(cls, path: Path) -> Job:
        """Read a job from a file."""
        return cls(**ast.literal_eval(path.read_text()))

    def train_options(self) -> dict[str, Any]:
        """Return the options of `train` as the caller gave them."""
        options = dict(self.options)
        stopping = options.get("early_stopping")
        if isinstance(stopping, dict):
            options["early_stopping"] = EarlyStopping(**stopping)
        return options


def _plain(name: str, value: Any) -> Any:
    """Return an option as a value that can be saved as text, or raise `ParamKindError`."""
    if isinstance(value, EarlyStopping):
        return {"rounds": value.rounds, "metric": value.metric, "valid": value.valid}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    try:
        if ast.literal_eval(repr(value)) == value:
            return value
    except (ValueError, SyntaxError):
        pass
    message = f"{name}: got {shown(value)}, expected a plain value: workers are other processes"
    raise ParamKindError(message, code="workers")


def _absolute(name: str, path: Any) -> str | None:
    if path is None:
        return None
    try:
        return str(Path(path).absolute())
    except TypeError:
        message = f"{name}: got {shown(path)}, expected a path"
        raise ParamKindError(message, code=name) from None


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
    if isinstance(given, dict):
        return {text("valid", name): _shards(name, one) for name, one in given.items()}
    if isinstance(given, (list, tuple)):
        return {f"valid_{at}": _shards(f"valid_{at}", one) for at, one in enumerate(given)}
    return {"valid": _shards("valid", given)}


def _base(given: Any, folder: Path) -> str | None:
    if given is None:
        return None
    if not isinstance(given, Booster):
        message = f"base: got {shown(given)}, expected a Booster"
        raise ParamKindError(message, code="base")
    given.save(folder / "base.rrk")
    return str(folder / "base.rrk")


def report(what: str) -> None:
    """Write a line to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"rustrank: {what}\n")
        sys.stderr.flush()
