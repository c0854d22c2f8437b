"""Fits the members of an ensemble: one model for each fold, stacked on other members, in parallel.

All members share the same folds of whole queries. Scores that other members learn from, or that weights
are fitted to, come from models that used neither the labels of these queries nor stopped early by them.
For a stacked member this holds for its own fit only: its input features come from models of other folds.
"""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import RawRows
from rustrank.ensembles._member_models import member_booster, normalised, score, with_derived
from rustrank.ensembles.members import needs_of, order_of
from rustrank.errors import ParamError, RustrankError
from rustrank.estimators.lambdamart import TreeRanker
from rustrank.estimators.ranker import option_record
from rustrank.inputs.scalars import seed_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rustrank.ensembles._saved_models import SavedModels
    from rustrank.ensembles.members import Member
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]


class _Cancelled(Exception):  # noqa: N818 - another fit has failed, or Ctrl-C was pressed
    """All fits are to end."""


@dataclass(frozen=True, eq=False)
class FittedMember:
    """A fitted member."""

    #: One model for each bag, which scores the features that the member learned from.
    fits: list[Booster]
    #: The member as one model of raw features.
    booster: Booster
    #: The models whose mean ``booster`` is.
    parts: list[Booster]
    #: Scores of the training documents by models that were not fitted to them, where these are needed.
    unseen_scores: Scores | None


@dataclass(eq=False)
class MemberFitting:
    """Fits all members to one set of documents."""

    docs: RawRows
    #: The fold of each query.
    folds: NDArray[np.int64]
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
    cancelled: threading.Event = field(default_factory=threading.Event)

    def bags(self, name: str) -> int:
        """Return how many models a member has."""
        member = self.members[name]
        if member.is_given:
            return 1
        if member.shared is not None:
            return 0
        if name in self._need_unseen():
            return self.num_folds
        bags = self.num_folds if member.bags is None else member.bags
        if bags > self.num_folds:
            message = f"bags of member {name!r}: got {bags}, expected at most one a fold, {self.num_folds}"
            raise ParamError(message, code="bags")
        return bags

    def _need_unseen(self) -> set[str]:
        """Return the members that must score documents with models that were not fitted to them."""
        needed = set(self.scored_unseen)
        if self.out_of_fold:
            needed |= {need for member in self.members.values() for need in member.stack}
        shared = {self.members[name].shared for name in needed}
        return needed | {name for name in shared if name is not None}

    def fit(self, name: str, step: Callable[[str], object]) -> FittedMember:
        """Fit a member, after all members that it depends on."""
        member = self.members[name]
        if member.shared is not None:
            theirs = self.fitted[member.shared]
            return self._made(name, theirs.fits, self._raw_unseen(member.shared, theirs))
        if member.is_given:
            booster = member.ranker
            self._check_given(name, booster)
            return self._made(name, [booster], None)
        docs = self._features(member)
        boosters = []
        for bag in range(max(1, self.bags(name))):
            if self.cancelled.is_set():
                raise _Cancelled
            boosters.append(self._fit_bag(name, docs, bag))
            step(name)
        strict = name in self._need_unseen()
        return self._made(name, boosters, self._out_of_fold(docs, boosters) if strict else None)

    def _made(self, name: str, boosters: list[Booster], unseen: Scores | None) -> FittedMember:
        member = self.members[name]
        of = member if member.shared is None else self.members[member.shared]
        booster = member_booster(
            member, of, boosters, [self.fitted[one].booster for one in of.stack]
        )
        if member.is_given and name in self._need_unseen():
            # A given booster was fitted elsewhere, so all documents are unseen.
            unseen = score(booster, self.docs, self.num_threads)
        elif unseen is not None:
            unseen = normalised(unseen, self.docs, member.normalise)
        is_mean = not of.stack and member.normalise == "none"
        return FittedMember(boosters, booster, boosters if is_mean else [booster], unseen)

    def _raw_unseen(self, shared: str, theirs: FittedMember) -> Scores | None:
        """Return the unseen scores of a shared member before its normalisation."""
        if theirs.unseen_scores is None:
            return None
        member = self.members[shared]
        if member.is_given:
            return score(theirs.fits[0], self.docs, self.num_threads)
        return self._out_of_fold(self._features(member), theirs.fits)

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
        return with_derived(self.docs, [one.booster for one in below], scores, member.derive)

    def _out_of_fold(self, docs: RawRows, boosters: list[Booster]) -> Scores:
        """Score each document by the model that neither trained on its fold nor stopped by it."""
        unseen = np.empty(len(docs.y))
        for bag, booster in enumerate(boosters):
            rows = np.flatnonzero(self.folds[docs.query] == bag)
            unseen[rows] = score(booster, docs.take(rows), self.num_threads)
        return unseen

    def _fit_bag(self, name: str, docs: RawRows, bag: int) -> Booster:
        member = self.members[name]
        recipe = {} if self.saved is None else self._recipe(name, bag)
        called = f"{name} {bag}"
        if self.saved is not None and (found := self.saved.load(called, recipe)) is not None:
            return found
        train, valid = self._parts(name, docs, bag)
        try:
            booster = self._fitted(member, train, valid, bag)
        except RustrankError as error:
            error.args = (f"member {name!r}, fit {bag}: {error}",)
            raise
        return booster if self.saved is None else self.saved.keep(called, recipe, booster)

    def _parts(self, name: str, docs: RawRows, bag: int) -> tuple[RawRows, RawRows | None]:
        """Return the training and, for early stopping, the validation documents of one model."""
        stops = _stops_early(self.members[name].ranker)
        if self.bags(name) == 0:
            return docs, None
        fold = self.folds[docs.query]
        if name not in self._need_unseen():
            held = docs.take(np.flatnonzero(fold == bag))
            return docs.take(np.flatnonzero(fold != bag)), held if stops else None
        # The fold that the model will score must not be used for early stopping either.
        stopping = (bag + 1) % self.num_folds if stops else bag
        kept = docs.take(np.flatnonzero((fold != bag) & (fold != stopping)))
        return kept, docs.take(np.flatnonzero(fold == stopping)) if stops else None

    def _fitted(self, member: Member, train: RawRows, valid: RawRows | None, bag: int) -> Booster:
        options = member.ranker.get_params()
        changed: dict[str, Any] = {"n_jobs": self.num_threads}
        changed["random_state"] = seed_of(options.get("random_state")) + bag
        if member.augment is not None:
            if "augment" in options:
                # The ranker augments by itself, without copies of the data.
                changed["augment"] = member.augment
            else:
                train = augmented(train, member.augment, changed["random_state"])
        if "progress" in options:
            changed["progress"] = False
        if options.get("max_label", 0) is None:
            # A fold may lack the largest label.
            changed["max_label"] = self.max_label
        ranker = member.ranker._again(**changed)
        more: dict[str, Any] = {}
        if isinstance(ranker, TreeRanker):
            more["callbacks"] = self._check_cancelled
        if valid is not None:
            more["eval_set"] = [(valid.table(), valid.y, valid.query)]
        ranker.fit(train.table(), train.y, qid=train.query, **more)
        booster: Booster = ranker.booster_
        return booster

    def _check_cancelled(self, _: Any) -> None:
        if self.cancelled.is_set():
            raise _Cancelled

    def _recipe(self, name: str, bag: int) -> dict[str, Any]:
        """Return everything besides the data that a fit depends on, as plain values."""
        member = self.members[name]
        options = {
            key: option_record(value)
            for key, value in member.ranker.get_params().items()
            if key not in ("n_jobs", "progress")
        }
        below = {one: self._below(one) for one in member.stack}
        return {
            "ranker": type(member.ranker).__name__,
            **options,
            "augment": option_record(member.augment),
            "derive": option_record(member.derive) if member.stack else [],
            "stack": below,
            "out_of_fold": self.out_of_fold,
            "unseen": name in self._need_unseen(),
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

    def _check_given(self, name: str, booster: Booster) -> None:
        if booster.num_raw_features != self.docs.X.shape[1]:
            message = (
                f"member {name!r} has another number of features than the docs: got "
                f"{booster.num_raw_features}, expected {self.docs.X.shape[1]}"
            )
            raise ParamError(message, code="features")

    def check(self) -> None:
        """Raise `ParamError` if a member cannot be fitted, before any is."""
        for name, member in self.members.items():
            self.bags(name)
            if member.is_given:
                self._check_given(name, member.ranker)
            elif member.shared is None and name in self._need_unseen():
                least = 3 if _stops_early(member.ranker) else 2
                if self.num_folds < least:
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
            max(1, self.bags(name))
            for name, member in self.members.items()
            if not member.is_given and member.shared is None
        )

    def run(self, n_jobs: int, step: Callable[[str], object]) -> dict[str, FittedMember]:
        """Fit all members, ``n_jobs`` at a time, each after the members that it depends on."""
        self.check()
        if n_jobs == 1:
            for name in order_of(self.members):
                self.fitted[name] = self.fit(name, step)
        else:
            self._run_many(n_jobs, step)
        return {name: self.fitted[name] for name in self.members}

    def _run_many(self, n_jobs: int, step: Callable[[str], object]) -> None:
        with ThreadPoolExecutor(n_jobs) as pool:
            running: dict[Future[FittedMember], str] = {}
            # Start with the members that others depend on.
            needed = {need for member in self.members.values() for need in needs_of(member)}
            waiting = sorted(order_of(self.members), key=lambda name: name not in needed)
            try:
                while waiting or running:
                    for name in list(waiting):
                        if all(need in self.fitted for need in needs_of(self.members[name])):
                            waiting.remove(name)
                            running[pool.submit(self.fit, name, step)] = name
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        self.fitted[running.pop(future)] = future.result()
            except BaseException:
                # Also on Ctrl-C: running fits end after their round, waiting ones are dropped.
                self.cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def augmented(docs: RawRows, augment: tuple[float, int], seed: int) -> RawRows:
    """Return documents with augmented copies of queries, for rankers that cannot augment themselves."""
    rows, qid, _ = docs.dataset().augmented(augment, seed=seed)
    ids, query = np.unique(qid, return_inverse=True)
    return RawRows(docs.X[rows], docs.y[rows], query, ids, docs.names)


def _stops_early(ranker: Any) -> bool:
    """Whether a ranker stops early by a validation set."""
    options = ranker.get_params()
    return options.get("early_stopping", options.get("patience")) is not None
