"""The loop over the rounds of training: progress, call-backs, checkpoints and snapshots."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

import numpy as np

from rustrank import _rustrank
from rustrank.data.dataset_building import missing_note
from rustrank.errors import wrong_kind, wrong_value
from rustrank.metrics.label_scale import scale_note
from rustrank.model.booster import Booster
from rustrank.parameters.hints import foreign_callback
from rustrank.progress import bar_type, shows_bars, time_left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset

V = TypeVar("V")

#: Called between rounds and within them: whether the work of this thread is cancelled. Threads besides the main one
#: learn of Ctrl-C by it.
IS_CANCELLED: ContextVar[Callable[[], bool] | None] = ContextVar("IS_CANCELLED", default=None)

#: The number of progress lines without a terminal, and the least seconds between two.
_LINES, _SECONDS = 20, 1.0


class Cancelled(Exception):  # noqa: N818 - another thread has failed, or Ctrl-C was pressed
    """The training of this thread was cancelled."""


@contextlib.contextmanager
def cancellable_pool(n_jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads; if the block raises, the work in them ends, too.

    The same holds for Ctrl-C, and for the block of a pool that has this thread. What waits is dropped.
    """
    cancelled = threading.Event()
    outer = IS_CANCELLED.get()

    def is_cancelled() -> bool:
        return cancelled.is_set() or (outer is not None and outer())

    with ThreadPoolExecutor(n_jobs, initializer=IS_CANCELLED.set, initargs=(is_cancelled,)) as pool:
        try:
            yield pool
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_cancelled() -> None:
    """Raise `Cancelled` if the training of this thread was cancelled."""
    is_cancelled = IS_CANCELLED.get()
    if is_cancelled is not None and is_cancelled():
        raise Cancelled


# The extension asks while it works, too.
_rustrank.watch_by(check_cancelled)


class Notes(NamedTuple):
    """What a booster is told of its training: the names of features, and attributes of the model."""

    names: list[str] | None
    attributes: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, dataset: Dataset, options: Mapping[str, Any]) -> Notes:
        """Return those of a training on a dataset with these options."""
        return cls(dataset._names, missing_note(dataset._missing) | scale_note(options))

    def written_into(self, core: _rustrank.Booster) -> Booster:
        """Return a booster that has them."""
        core = core.named(self.names)
        for name, value in self.attributes.items():
            core = core.with_attribute(name, value)
        return Booster._of(core)


@dataclass(frozen=True)
class Round:
    """The state of training after a round, which call-backs get.

    Attributes
    ----------
    number : int
        The number of rounds of the model: its trees, those of a base included, or those of each
        class; the features that `LambdaBoost` has added; the epochs of a net.
    values : mapping
        The metrics by the names of the validation sets: ``values["valid"]["ndcg@10"]``.
    is_best : bool
        Whether the metric of early stopping has its best value so far.
    num_leaves : int
        The number of leaves of the new tree, or trees; 0 for `LambdaBoost` and nets.
    """

    number: int
    values: dict[str, dict[str, float]]
    is_best: bool
    num_leaves: int
    _trainer: _rustrank.Trainer = field(repr=False)
    _notes: Notes = field(repr=False)

    @property
    def booster(self) -> Booster:
        """The booster as it is after this round."""
        return booster_of(self._trainer, self._notes)


def booster_of(trainer: _rustrank.Trainer, notes: Notes, rounds: int | None = None) -> Booster:
    """Return the booster after so many rounds, by default all so far, with the whole history."""
    core = trainer.booster_at(trainer.num_rounds if rounds is None else rounds)
    booster = notes.written_into(core)
    booster.history = history_of(trainer)
    booster.best_round = trainer.best_round
    return booster


def history_of(trainer: _rustrank.Trainer) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the values of all rounds by set and metric."""
    names, rounds = trainer.names(), trainer.history()
    return _nested(names, np.array(rounds, np.float64).reshape(len(rounds), len(names)).T)


def _nested(names: Sequence[tuple[str, str]], values: Iterable[V]) -> dict[str, dict[str, V]]:
    """Return values by set and metric."""
    nested: dict[str, dict[str, V]] = {}
    for (name, metric), value in zip(names, values, strict=True):
        nested.setdefault(name, {})[metric] = value
    return nested


class Reporting:
    """The actions between rounds: call-backs, progress, checkpoints and snapshots."""

    def __init__(self, options: Mapping[str, Any], unit: str = "tree") -> None:
        """Check the options of `train`, or of an estimator, for the actions between rounds."""
        given = options["callbacks"]
        is_list = given is None or (hasattr(given, "__iter__") and not callable(given))
        self.callbacks = list(given or ()) if is_list else [given]
        for callback in self.callbacks:
            if (foreign := foreign_callback(callback)) is not None:
                raise foreign
            if not callable(callback):
                raise wrong_kind("callbacks", callback, "functions of a round")
        self.progress, self.unit = options["progress"], unit
        files = {name: options.get(name) for name in ("checkpoint", "snapshot")}
        paths = {name: None if path is None else fspath(path) for name, path in files.items()}
        self.checkpoint, self.snapshot = paths["checkpoint"], paths["snapshot"]
        if self.snapshot is not None and "{round}" not in self.snapshot:
            raise wrong_value("snapshot", files["snapshot"], "a path with {round} in it")
        self.checkpoint_every = options.get("checkpoint_every", 1)
        self.snapshot_every = options.get("snapshot_every", 1)

    def silence(self) -> None:
        """Leave out what a worker that is not the first must not do: writing and showing."""
        self.progress, self.checkpoint, self.snapshot = False, None, None

    def run(
        self,
        trainer: _rustrank.Trainer,
        notes: Notes,
        so_far: Callable[[], Booster] | None = None,
    ) -> None:
        """Train to the end; any exception gets the booster so far as an attribute.

        That is what ``so_far`` returns, or else the booster of all rounds.
        """
        try:
            done = len(trainer.history())
            with progress_display(self.progress, trainer.max_rounds, done, self.unit) as show:
                self._run(trainer, notes, show)
        except BaseException as error:
            # The original error is raised, whatever happens here.
            with contextlib.suppress(Exception):
                self._save(trainer)
            with contextlib.suppress(Exception):
                vars(error)["booster"] = so_far() if so_far else booster_of(trainer, notes)
            with contextlib.suppress(Exception):
                vars(error)["_checkpoint"] = trainer.checkpoint()
            raise
        self._save(trainer)

    def _run(self, trainer: _rustrank.Trainer, notes: Notes, show: Callable[[Round], None]) -> None:
        keys = trainer.names()
        while (found := trainer.next_round()) is not None:
            check_cancelled()
            number, flat, is_best, num_leaves = found
            latest = Round(number, _nested(keys, flat), is_best, num_leaves, trainer, notes)
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


@contextlib.contextmanager
def progress_display(
    progress: bool, total: int, done: int, unit: str
) -> Iterator[Callable[[Round], None]]:
    """Yield a function that displays a round: in a bar on a terminal, or else in some lines of text."""
    if not progress:
        yield lambda _: None
    elif shows_bars():
        best = _MetricsText("epoch" if unit == "epoch" else "round")
        with bar_type()(total=total, initial=done, unit=unit) as bar:

            def show(latest: Round) -> None:
                bar.set_postfix_str(best.text(latest), refresh=False)
                bar.update()

            yield show
        best.print_end(sys.stderr)
    else:
        lines = _Lines(sys.stderr, total, done, "epoch" if unit == "epoch" else "round")
        yield lines.show
        lines.print_end(sys.stderr)


class _MetricsText:
    """The text about the metrics of a round, with the best round so far."""

    #: The latest round, once there is one.
    latest: Round | None = None

    def __init__(self, what: str) -> None:
        self.what = what

    def print_end(self, stream: TextIO | None) -> None:
        """Print where training stopped and which round was best, if early stopping looked for it."""
        if self.latest is None or stream is None:
            return
        trainer, number = self.latest._trainer, self.latest.number
        if (best := trainer.best_round) is None:
            return
        history = trainer.history()
        before = number - len(history)
        if best <= before:
            return
        values = _values_text(_nested(trainer.names(), history[best - before - 1]))
        text = f"stopped after {self.what} {number}, best {self.what} {best}: {', '.join(values)}"
        print(text, file=stream, flush=True)

    def text(self, latest: Round) -> str:
        """Return all values, and the best round."""
        self.latest = latest
        best, values = latest._trainer.best_round, _values_text(latest.values)
        return ", ".join(values if best is None else [*values, f"best at {best}"])


def _values_text(values: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [
        f"{name} {metric} {value:.5f}"
        for name, metrics in values.items()
        for metric, value in metrics.items()
    ]


class _Lines(_MetricsText):
    """Progress as lines of text."""

    def __init__(self, stream: TextIO, num_trees: int, done: int, what: str) -> None:
        super().__init__(what)
        self.stream, self.num_trees, self.done = stream, num_trees, done
        self.count = done
        self.begun = self.last = time.monotonic()

    def show(self, latest: Round) -> None:
        """Print a line if it is the first, the last, or time for one."""
        self.count += 1
        metrics, now = self.text(latest), time.monotonic()
        ends = self.count in (self.done + 1, self.num_trees)
        is_due = self.count % max(1, self.num_trees // _LINES) == 0
        if not ends and not (is_due and now - self.last >= _SECONDS):
            return
        self.last = now
        left = (now - self.begun) / (self.count - self.done) * (self.num_trees - self.count)
        parts: Sequence[str] = [f"{self.what} {latest.number}", metrics, time_left(left)]
        print(", ".join(part for part in parts if part), file=self.stream, flush=True)
