"""The loop around the rounds of training: progress, call-backs, files."""

from __future__ import annotations

import contextlib
import sys
import time
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from os import fspath
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import numpy as np

from rustrank.errors import ParamError, ParamKindError, shown
from rustrank.inputs.scalars import flag, whole
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank import _rustrank

#: Asked between rounds: whether all that this thread does is to end. A thread other than the first hears
#: of Ctrl-C by it.
ENDED: ContextVar[Callable[[], bool] | None] = ContextVar("ENDED", default=None)

#: Lines that a whole training prints where there is no terminal, and the least time between two.
_LINES, _SECONDS = 20, 1.0


class Ended(Exception):  # noqa: N818 - no error: something else went wrong, or it was Ctrl-C
    """What this thread does is to end."""


def end_if_told() -> None:
    """End a training between two rounds if its results are not wanted any more."""
    ended = ENDED.get()
    if ended is not None and ended():
        raise Ended


@dataclass(frozen=True)
class Round:
    """What a call-back is told after a round.

    Attributes
    ----------
    number : int
        The number of rounds of the model, those of a base included: its trees, or those of each
        class.
    values : mapping
        The metrics by the names of the validation sets: ``values["valid"]["ndcg@10"]``.
    is_best : bool
        Whether the value that early stopping looks at is the best so far.
    num_leaves : int
        The number of leaves of the new tree, or trees.
    """

    number: int
    values: dict[str, dict[str, float]]
    is_best: bool
    num_leaves: int
    _trainer: _rustrank.Trainer = field(repr=False)
    _names: list[str] | None = field(repr=False)

    @property
    def booster(self) -> Booster:
        """The booster as it is after this round."""
        return booster_of(self._trainer, self._names)


def booster_of(trainer: _rustrank.Trainer, names: list[str] | None) -> Booster:
    """Return the booster of all rounds so far, with their history."""
    booster = Booster._of(trainer.booster().named(names))
    booster.history = history_of(trainer)
    booster.best_round = trainer.best_round
    return booster


def history_of(trainer: _rustrank.Trainer) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the values of all rounds by set and metric."""
    rounds = np.array(trainer.history(), np.float64)
    history: dict[str, dict[str, NDArray[np.float64]]] = {}
    for at, (name, metric) in enumerate(trainer.names()):
        values = rounds[:, at] if len(rounds) else np.empty(0)
        history.setdefault(name, {})[metric] = values
    return history


@dataclass(frozen=True)
class Reporting:
    """What happens between rounds."""

    callbacks: list[Callable[[Round], object]]
    progress: bool
    checkpoint: str | None
    checkpoint_every: int
    snapshot: str | None
    snapshot_every: int

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Reporting:
        """Check the options of `train` that are about what happens between rounds."""
        given = options["callbacks"]
        callbacks = [given] if callable(given) else list(given or ())
        for callback in callbacks:
            if not callable(callback):
                message = f"callbacks: got {shown(callback)}, expected functions of a round"
                raise ParamKindError(message, code="callbacks")
        snapshot = options["snapshot"]
        if snapshot is not None and "{round}" not in fspath(snapshot):
            message = f"snapshot: got {shown(snapshot)}, expected a path with {{round}} in it"
            raise ParamError(message, code="snapshot")
        checkpoint = options["checkpoint"]
        return cls(
            callbacks,
            flag("progress", options["progress"]),
            None if checkpoint is None else fspath(checkpoint),
            whole("checkpoint_every", options["checkpoint_every"], 1),
            None if snapshot is None else fspath(snapshot),
            whole("snapshot_every", options["snapshot_every"], 1),
        )

    def silent(self) -> Reporting:
        """Return what is left for a worker that is not the first: nothing is written or shown."""
        return replace(self, progress=False, checkpoint=None, snapshot=None)

    def run(self, trainer: _rustrank.Trainer, names: list[str] | None, num_trees: int) -> None:
        """Train to the end; what is raised on the way carries the booster so far."""
        try:
            done = len(trainer.history())
            with showing(self.progress, num_trees, done, "tree", "round") as show:
                self._run(trainer, names, show)
        except BaseException as error:
            # What is raised is what went wrong first.
            with contextlib.suppress(Exception):
                self._save(trainer)
            with contextlib.suppress(Exception):
                vars(error)["booster"] = booster_of(trainer, names)
            with contextlib.suppress(Exception):
                vars(error)["_checkpoint"] = trainer.checkpoint()
            raise
        self._save(trainer)

    def _run(
        self,
        trainer: _rustrank.Trainer,
        names: list[str] | None,
        show: Callable[[Round], None],
    ) -> None:
        keys = trainer.names()
        while (told := trainer.next_round()) is not None:
            end_if_told()
            number, flat, is_best, num_leaves = told
            values: dict[str, dict[str, float]] = {}
            for (name, metric), value in zip(keys, flat, strict=True):
                values.setdefault(name, {})[metric] = value
            latest = Round(number, values, is_best, num_leaves, trainer, names)
            try:
                stops = [bool(callback(latest)) for callback in self.callbacks]
            except BaseException:
                trainer.take_back()
                raise
            show(latest)
            if number % self.checkpoint_every == 0:
                self._save(trainer)
            if self.snapshot is not None and number % self.snapshot_every == 0:
                latest.booster.save(self.snapshot.replace("{round}", str(number)))
            if any(stops):
                break

    def _save(self, trainer: _rustrank.Trainer) -> None:
        if self.checkpoint is not None:
            trainer.checkpoint().save(self.checkpoint)


class Told(Protocol):
    """What is shown of a round or an epoch."""

    @property
    def number(self) -> int:
        """Its number, from 1."""

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """The metrics by the names of the sets."""

    @property
    def is_best(self) -> bool:
        """Whether it is the best so far."""


@contextlib.contextmanager
def showing(
    progress: bool, total: int, done: int, unit: str, what: str
) -> Iterator[Callable[[Told], None]]:
    """Yield what shows a round: nothing, a bar, or a line now and then where no terminal is."""
    if not progress:
        yield lambda _: None
    elif sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, initial=done, unit=unit) as bar:
            best = _Best()

            def show(latest: Told) -> None:
                bar.set_postfix_str(best.say(latest), refresh=False)
                bar.update()

            yield show
    else:
        yield _Lines(sys.stderr, total, done, what).show


class _Best:
    """What is said of the metrics of a round."""

    said = ""

    def say(self, latest: Told) -> str:
        """Name all values, and the best round of the one that is looked at."""
        values = [
            f"{name} {metric} {value:.5f}"
            for name, metrics in latest.values.items()
            for metric, value in metrics.items()
        ]
        if latest.is_best:
            self.said = f"best at {latest.number}"
        return ", ".join([*values, self.said] if self.said else values)


class _Lines:
    """Progress as lines of text."""

    def __init__(self, stream: TextIO, num_trees: int, done: int, what: str) -> None:
        self.stream, self.num_trees, self.done, self.what = stream, num_trees, done, what
        self.best = _Best()
        self.count = done
        self.begun = self.last = time.monotonic()

    def show(self, latest: Told) -> None:
        """Print a line if it is the first, the last, or time for one."""
        self.count += 1
        said, now = self.best.say(latest), time.monotonic()
        ends = self.count in (self.done + 1, self.num_trees)
        is_due = self.count % max(1, self.num_trees // _LINES) == 0
        if not ends and not (is_due and now - self.last >= _SECONDS):
            return
        self.last = now
        left = (now - self.begun) / (self.count - self.done) * (self.num_trees - self.count)
        parts: Sequence[str] = [f"{self.what} {latest.number}", said, f"{left:.0f} s left"]
        print(", ".join(part for part in parts if part), file=self.stream, flush=True)
