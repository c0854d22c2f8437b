"""Fits the members of an ensemble: one model for each fold, stacked on other members, in parallel.

All members share the same folds of whole queries. Scores that other members learn from, or that weights
are fitted to, come from models that used neither the labels of these queries nor stopped early by them.
For a stacked member this holds for its own fit only: its input features come from models of other folds.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.combining.combiner import merged
from rustrank.data.raw_rows import RawRows
from rustrank.ensembles.members import needs_of, order_of
from rustrank.errors import InternalError, ParamError, RustrankError
from rustrank.estimators.ranker import fitted_again, option_record, options_record
from rustrank.inputs.scalars import seed_of
from rustrank.model.mixture import mix
from rustrank.model.stacking import Stacking
from rustrank.training.rounds import cancellable_pool, check_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rustrank.ensembles._saved_models import SavedModels
    from rustrank.ensembles.members import Member
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedMember:
    """A fitted member."""

    #: One model for each bag, which scores the features that the member learned from.
    fits: list[Booster]
    #: The member as one model of raw features.
    booster: Booster
    #: The models whose mean ``booster`` is.
    parts: list[Booster]
    #: Scores of the training documents by models that were not fitted to them, where these are needed: as
    #: the models give them, and normalised as the member says.
    unseen_raw: Scores | None
    unseen_scores: Scores | None

    @property
    def unseen(self) -> Scores:
        """The scores of unseen documents, which must have been asked for (`scored_unseen`)."""
        if self.unseen_scores is None:
            message = "a member of the ensemble has no scores of unseen documents"
            raise InternalError(message, code="ensemble.unseen_scores")
        return self.unseen_scores


@dataclass(eq=False)
class MemberFitting:
    """Fits all members to one set of documents."""

    docs: RawRows
    #: The fold of each query.
    folds: NDArray[np.intp]
    num_folds: int
    members: Mapping[str, Member]
    #: The members whose unseen scores of the training documents are needed.
    scored_unseen: set[str]
    #: Whether stacked members learn from out-of-fold scores instead of in-sample scores.
    out_of_fold: bool
    seed: int
    #: The top of ERR's label scale, for rankers that have no other.
    max_label: float | None
    #: The threads of each fit.
    num_threads: int | None
    saved: SavedModels | None
    fitted: dict[str, FittedMember] = field(default_factory=dict)

    def bags(self, name: str) -> int:
        """Return how many models a member has."""
        member = self.members[name]
        if member.is_given:
            return 1
        if member.shared is not None:
            return 0
        if name in self._need_unseen:
            return self.num_folds
        bags = self.num_folds if member.bags is None else member.bags
        if bags > self.num_folds:
            message = f"bags of member {name!r}: got {bags}, expected at most one a fold, {self.num_folds}"
            raise ParamError(message, code="bags")
        return bags

    @cached_property
    def _need_unseen(self) -> set[str]:
        """The members that must score documents with models that were not fitted to them."""
        needed = set(self.scored_unseen)
        if self.out_of_fold:
            needed.update(*(member.stack for member in self.members.values()))
        return needed.union(filter(None, (self.members[name].shared for name in needed)))

    def fit(self, name: str, step: Callable[[str], object]) -> FittedMember:
        """Fit a member, after all members that it depends on."""
        member, raw = self.members[name], None
        of = member if member.shared is None else self.members[member.shared]
        if member.shared is not None:
            fits, raw = self.fitted[member.shared].fits, self.fitted[member.shared].unseen_raw
        elif member.is_given:
            fits = [member.ranker]
            if name in self._need_unseen:
                # It was fitted elsewhere, so all documents are unseen.
                raw = score(member.ranker, self.docs, self.num_threads)
        else:
            docs, fits = self._features(member), []
            for bag in range(max(1, self.bags(name))):
                check_cancelled()
                fits.append(self._fit_bag(name, docs, bag))
                step(name)
            if name in self._need_unseen:
                raw = self._out_of_fold(docs, fits)
        booster, unseen = merged(fits, np.full(len(fits), 1.0 / len(fits))), raw
        if of.stack:
            below = [self.fitted[one].booster for one in of.stack]
            booster = Stacking(below, of.derived).booster(booster)
        if member.normalise != "none":
            booster = mix([booster], [1.0], normalise=member.normalise)
            if raw is not None:
                # As the model does.
                unseen = _rustrank.normalised(raw, member.normalise, self.docs.queries[0])
        parts = [booster] if of.stack or member.normalise != "none" else fits
        return FittedMember(fits, booster, parts, raw, unseen)

    def _features(self, member: Member) -> RawRows:
        """Return the training documents with all features that the member learns from."""
        if not member.stack:
            return self.docs
        below = [self.fitted[name] for name in member.stack]
        scores = [
            score(one.booster, self.docs, self.num_threads)
            if one.unseen_scores is None or not self.out_of_fold
            else one.unseen_scores
            for one in below
        ]
        stacking, docs = Stacking([one.booster for one in below], member.derived), self.docs
        X = stacking.table(docs.X, qid=docs.query, scores=scores)
        names = docs.names and [*docs.names, *stacking.names[len(docs.names) :]]
        return replace(docs, X=np.asarray(X, np.float32), names=names)

    def _out_of_fold(self, docs: RawRows, boosters: list[Booster]) -> Scores:
        """Score each document by the model that neither trained on its fold nor stopped by it."""
        unseen = np.empty(len(docs.y))
        folds = docs.rows_of_folds(self.folds, self.num_folds)
        for booster, (_, rows) in zip(boosters, folds, strict=True):
            unseen[rows] = score(booster, docs.take(rows), self.num_threads)
        return unseen

    def _fit_bag(self, name: str, docs: RawRows, bag: int) -> Booster:
        member = self.members[name]
        recipe, called = self._recipe(name, bag), f"{name} {bag}"
        if self.saved is not None and (found := self.saved.load(called, recipe)) is not None:
            return found
        try:
            booster = self._fitted(member, *self._parts(name, docs, bag), bag)
        except RustrankError as error:
            error.args = (f"member {name!r}, fit {bag}: {error}",)
            raise
        if self.saved is not None:
            self.saved.keep(called, recipe, booster)
        return booster

    def _parts(self, name: str, docs: RawRows, bag: int) -> tuple[RawRows, RawRows | None]:
        """Return the training and, for early stopping, the validation documents of one model."""
        stops = _stops_early(self.members[name].ranker)
        if self.bags(name) == 0:
            return docs, None
        fold, stopping = self.folds[docs.query], bag
        if stops and name in self._need_unseen:
            # The fold that the model will score must not be used for early stopping either.
            stopping = (bag + 1) % self.num_folds
        train = docs.take(np.flatnonzero((fold != bag) & (fold != stopping)))
        return train, docs.take(np.flatnonzero(fold == stopping)) if stops else None

    def _fitted(self, member: Member, train: RawRows, valid: RawRows | None, bag: int) -> Booster:
        options = member.ranker.get_params()
        seed = seed_of(options.get("random_state")) + bag
        changed: dict[str, Any] = {"n_jobs": self.num_threads, "random_state": seed}
        if member.augment is not None and "augment" in options:
            # The ranker augments by itself, without copies of the data.
            changed["augment"] = member.augment
        elif member.augment is not None:
            rows, qid, _ = train.dataset().augmented(member.augment, seed=seed)
            ids, query = np.unique(qid, return_inverse=True)
            train = RawRows(train.X[rows], train.y[rows], query, ids, train.names)
        if "progress" in options:
            changed["progress"] = False
        if options.get("max_label", 0) is None:
            # A fold may lack the largest label.
            changed["max_label"] = self.max_label
        return fitted_again(member.ranker, train, valid, **changed).booster_

    def _recipe(self, name: str, bag: int) -> dict[str, Any]:
        """Return everything besides the data that a fit depends on, as plain values."""
        member = self.members[name]
        return {
            "ranker": type(member.ranker).__name__,
            **options_record(member.ranker),
            "augment": option_record(member.augment),
            "derive": option_record(member.derive) if member.stack else [],
            "stack": {one: self._below(one) for one in member.stack},
            "out_of_fold": self.out_of_fold,
            "unseen": name in self._need_unseen,
            "folds": self.num_folds,
            "bag": bag,
            "seed": self.seed,
            "top": self.max_label,
        }

    def _below(self, name: str) -> dict[str, Any]:
        """Return everything that the scores of a member used for stacking depend on."""
        member = self.members[name]
        if member.is_given:
            return {"booster": option_record(member.ranker), "normalise": member.normalise}
        of = name if member.shared is None else member.shared
        return {
            "fits": [self._recipe(of, bag) for bag in (0, self.bags(of))],
            "normalise": member.normalise,
        }

    def check(self) -> None:
        """Raise `ParamError` if a member cannot be fitted, before any is."""
        width = self.docs.X.shape[1]
        for name, member in self.members.items():
            self.bags(name)
            if member.is_given and member.ranker.num_raw_features != width:
                message = (
                    f"member {name!r} has another number of features than the docs: got "
                    f"{member.ranker.num_raw_features}, expected {width}"
                )
                raise ParamError(message, code="features")
            least = 3 if member.is_fitted and _stops_early(member.ranker) else 2
            if member.is_fitted and name in self._need_unseen and self.num_folds < least:
                message = (
                    f"folds: got {self.num_folds}, expected at least {least}: out-of-fold scores "
                    f"of member {name!r} need a fold to fit to beside those it is asked about "
                    "and stopped by"
                )
                raise ParamError(message, code="folds")

    @property
    def num_fits(self) -> int:
        """The number of models to fit."""
        return sum(
            max(1, self.bags(name)) for name, member in self.members.items() if member.is_fitted
        )

    def run(self, n_jobs: int, step: Callable[[str], object]) -> dict[str, FittedMember]:
        """Fit all members, ``n_jobs`` at a time, each after the members that it depends on."""
        self.check()
        running: dict[Future[FittedMember], str] = {}
        # Start with the members that others depend on.
        needed = {need for member in self.members.values() for need in needs_of(member)}
        waiting = sorted(order_of(self.members), key=lambda name: name not in needed)
        with cancellable_pool(n_jobs) as pool:
            while waiting or running:
                for name in list(waiting):
                    if all(need in self.fitted for need in needs_of(self.members[name])):
                        waiting.remove(name)
                        running[pool.submit(self.fit, name, step)] = name
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    self.fitted[running.pop(future)] = future.result()
        return {name: self.fitted[name] for name in self.members}


def score(booster: Booster, docs: RawRows, num_threads: int | None) -> Scores:
    """Return a booster's scores of documents."""
    return booster.predict(docs.features_for(booster), qid=docs.query, num_threads=num_threads)


def _stops_early(ranker: Any) -> bool:
    """Whether a ranker stops early by a validation set."""
    options = ranker.get_params()
    return options.get("early_stopping", options.get("patience")) is not None
