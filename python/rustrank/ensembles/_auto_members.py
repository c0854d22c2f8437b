"""The members of `rustrank.auto`: which settings are trained in which order, and one of them by folds."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.parameters.plan import train_options
from rustrank.training.probes import Probe, Probes, objective_for
from rustrank.training.rounds import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset
    from rustrank.ensembles._saved_models import SavedModels
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]

_NOISY: dict[str, Any] = {"preset": "noisy", "learning_rate": 0.05}
#: What is trained, in this order: what the default call chooses from, then other losses and shapes.
SETTINGS: dict[str, dict[str, Any]] = {
    "noisy": _NOISY,
    "clean": {"preset": "clean", "learning_rate": 0.1},
    "query_rmse": {**_NOISY, "objective": "query_rmse"},
    "leafwise": {**_NOISY, "tree_shape": "leafwise", "num_leaves": 8},
    "xendcg": {**_NOISY, "objective": "xendcg"},
}
#: The member that comes first.
FIRST = "noisy"
#: Members that are worth all folds only if they are ahead of the first one on one fold: on noisy judgements, where
#: it is the best, they would be much behind.
RIVALS = ("clean",)
#: The most rounds of a member.
_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Folds:
    """The data by folds of whole queries."""

    data: Dataset
    #: For each fold, the other queries and its own.
    parts: Sequence[tuple[Dataset, Dataset]]
    #: The rows of the queries of each fold.
    rows: Sequence[NDArray[np.intp]]

    @classmethod
    def of(cls, data: Dataset, num_folds: int) -> Folds:
        """Divide a dataset."""
        codes, parts, rows = data._core.query_codes(), [], []
        for fold in range(num_folds):
            fit, held = data._core.fold(fold, num_folds, 2**62)
            parts.append((data.of_same_docs(*fit), data.of_same_docs(*held)))
            rows.append(np.flatnonzero(np.isin(codes, held[1])))
        return cls(data, parts, rows)


@dataclass(frozen=True, eq=False)
class Member:
    """Settings that were trained by folds.

    Attributes
    ----------
    options : mapping
        The settings.
    boosters : list of Booster
        A model of each fold, of the other queries.
    unseen : array
        The score of each row by the model that has not seen its query.
    seconds : float
        How long the training took.
    is_interrupted : bool
        Whether Ctrl-C ended it.
    """

    options: dict[str, Any]
    boosters: list[Booster]
    unseen: Scores
    seconds: float
    is_interrupted: bool

    @property
    def rounds(self) -> int:
        """The number of rounds that all folds have in common."""
        return max(one.num_rounds for one in self.boosters)


@dataclass(frozen=True)
class MemberTraining:
    """How members are trained: the folds, what all have in common, and where finished ones are kept."""

    folds: Folds
    #: Options of `rustrank.train`: the metric, labels, the seed, threads.
    common: Mapping[str, Any]
    saved: SavedModels | None
    #: When training ends, by `time.monotonic`.
    deadline: float

    def value_on_first_fold(self, settings: Mapping[str, Any]) -> float:
        """Return the best value of settings on the queries of the first fold."""
        probes = Probes([self._probe({**self.common, **settings}, self.folds.parts[0])])
        probes.train(_ROUNDS, 1, self.deadline)
        return probes.value

    def member(self, name: str, settings: Mapping[str, Any]) -> Member:
        """Train settings on all folds, or load what was saved of them."""
        options = {**settings, "seed": self.common["seed"] + settings.get("seed", 0)}
        recipe = {**options, "folds": len(self.folds.parts), "metric": self.common["metric"]}
        recipe |= {key: self.common[key] for key in ("gain", "relevant_from", "max_label")}
        if (found := self._loaded(name, recipe)) is not None:
            return self._of(options, found, 0.0)
        began = time.monotonic()
        probes = Probes([self._probe(options, part) for part in self.folds.parts])
        is_interrupted = False
        try:
            is_whole = probes.train(_ROUNDS, self._jobs(), self.deadline)
        except KeyboardInterrupt:
            if not all(probe.rounds_at(1) for probe in probes.probes):
                raise
            is_whole, is_interrupted = False, True
        best, notes = probes.best, Notes.of(self.folds.data, self.common)
        cores = [one.trainer.booster_at(one.rounds_at(best)) for one in probes.probes]
        boosters = [notes.written_into(core) for core in cores]
        seconds = time.monotonic() - began
        if self.saved is not None and is_whole:
            for fold, booster in enumerate(boosters):
                self.saved.keep(f"{name} fold {fold}", recipe, booster)
        return self._of(options, boosters, seconds, is_interrupted=is_interrupted)

    def _loaded(self, name: str, recipe: dict[str, Any]) -> list[Booster] | None:
        if self.saved is None:
            return None
        folds = range(len(self.folds.parts))
        found = [self.saved.load(f"{name} fold {fold}", recipe) for fold in folds]
        return [one for one in found if one is not None] if all(found) else None

    def _probe(self, options: Mapping[str, Any], part: tuple[Dataset, Dataset]) -> Probe:
        cores = self.common["num_threads"] or os.cpu_count() or 1
        given = {**self.common, **options, "num_trees": _ROUNDS}
        if "objective" not in options:
            given |= objective_for(given["metric"])
        given["num_threads"] = max(1, cores // self._jobs())
        return Probe(*part, train_options(given), 0)

    def _jobs(self) -> int:
        cores: int = self.common["num_threads"] or os.cpu_count() or 1
        return min(cores, len(self.folds.parts))

    def _of(
        self,
        options: dict[str, Any],
        boosters: list[Booster],
        seconds: float,
        *,
        is_interrupted: bool = False,
    ) -> Member:
        unseen = np.zeros(self.folds.data.num_docs)
        for booster, (_, held), rows in zip(
            boosters, self.folds.parts, self.folds.rows, strict=True
        ):
            unseen[rows] = booster.predict(held, num_threads=self.common["num_threads"])
        return Member(options, boosters, unseen, seconds, is_interrupted)


def schedule(weights: Mapping[str, float]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield settings: each once, then with further seeds, those of the largest weight per copy first.

    ``weights`` is what each kind weighs in the mixture so far; it may change while members are added.
    """
    copies = dict.fromkeys(SETTINGS, 1)
    yield from SETTINGS.items()
    while True:
        # Equal weights are taken in the order of the settings.
        name = max(SETTINGS, key=lambda one: weights.get(one, 0.0) / copies[one])
        yield f"{name} {copies[name] + 1}", {**SETTINGS[name], "seed": copies[name]}
        copies[name] += 1


def kind_of(name: str) -> str:
    """Return the settings that a member is a copy of."""
    return name.split(" ")[0]
