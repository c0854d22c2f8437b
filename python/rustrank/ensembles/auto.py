"""`auto`: the best ranker that can be had in a given time, without settings."""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.combining.combiner import combiner_for, merged
from rustrank.data.dataset import dataset_of
from rustrank.data.ranked import can_have_ranks, with_ranks
from rustrank.ensembles._auto_members import (
    FIRST,
    RIVALS,
    SETTINGS,
    Folds,
    Member,
    MemberTraining,
    kind_of,
    schedule,
)
from rustrank.ensembles._saved_models import SavedModels
from rustrank.ensembles._weighting import spread_of
from rustrank.errors import DataError, ParamError, RustrankError, dropped_warnings, warn_caller
from rustrank.formatting import Table, TableResult, count, interval, number, percent
from rustrank.inputs.docs import DocArguments, judged_docs
from rustrank.inputs.keywords import OF_EVALUATE, refuses_unknown
from rustrank.inputs.scalars import flag, real, share, text, threads, whole
from rustrank.metrics.comparison import MetricComparison, compare_values, difference_cells
from rustrank.metrics.evaluation import (
    Drawing,
    Judging,
    MetricValue,
    first_value,
    judge_docs,
)
from rustrank.progress import progress_of_steps
from rustrank.training.probes import num_judged_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from rustrank.ensembles.distillation import Distillation
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]

__all__ = ["Auto", "AutoMember", "auto"]

#: The fewest documents of a leaf of a member, by default, and how many times as many a fold trains on at least if a
#: feature that can be learned from is likely to divide them.
_LEAF, _FEW = 20, 10
#: Shares of the time limit: members are trained until then; the rest is for weights and figures.
_TRAINING = 0.9


@dataclass(frozen=True)
class AutoMember:
    """A member of what `auto` has found.

    Attributes
    ----------
    options : dict
        Its parameters, as for `rustrank.train`.
    rounds : int
        The number of rounds of each of its models.
    value : MetricValue
        Its metric on held-out queries.
    against : MetricComparison or None
        The comparison with the first member; None of itself.
    weight : float
        Its share in the mixture.
    seconds : float
        How long it took to train.
    """

    options: dict[str, Any]
    rounds: int
    value: MetricValue
    against: MetricComparison | None
    weight: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Auto(TableResult):
    """What `auto` has found: one model, and what it and its members are worth on held-out queries.

    Attributes
    ----------
    booster : Booster
        The mixture, as one model.
    metric : str
        The metric that everything was chosen by.
    value : MetricValue
        Its mean for the mixture, by cross-fitting: the queries of each fold are scored by models that have not
        seen them, with weights that were fitted to the other folds.
    against : MetricComparison
        The comparison of the mixture with the first member.
    members : dict
        The members by name, each an `AutoMember`.
    seconds : float
        How long everything took.
    ended : str
        Why it ended: ``"time_limit"``, ``"done"`` (``max_members`` were trained) or ``"interrupted"``.
    """

    booster: Booster
    metric: str
    value: MetricValue
    against: MetricComparison
    members: dict[str, AutoMember]
    seconds: float
    ended: str
    level: float
    #: What `Dataset.fingerprint` says of the documents that it learned from.
    _fingerprint: int
    _left = 1

    @property
    def statements(self) -> list[str]:
        """What the figures say."""
        low, high = self.value.bootstrap(self.level)
        return [
            f"the mixture: {self.metric} {number(self.value)} [{number(low)}, {number(high)}] on held-out queries, by "
            "cross-fitting",
            f"against {FIRST} alone, {self.against.statement}",
        ]

    def _tables(self) -> list[Table]:
        """Return the leaderboard."""
        head = ["member", "weight", self.metric, f"{percent(self.level)} interval", "rounds"]
        head += ["seconds", f"over {FIRST}", "p"]
        rows = []
        order = sorted(self.members.items(), key=lambda item: -float(item[1].value))
        for name, one in order:
            cells = [name, f"{one.weight:.0%}", number(one.value)]
            cells += [interval(one.value.bootstrap(self.level)), str(one.rounds)]
            rows.append([*cells, f"{one.seconds:.1f}", *difference_cells(one.against)])
        return [(head, rows)]

    def predict(
        self, X: Any, *, qid: Any = None, group: Any = None, num_threads: int | None = None
    ) -> Scores:
        """Score docs, as `Booster.predict` does.

        Parameters
        ----------
        X, qid, group, num_threads
            As for `Booster.predict`.
        """
        return self.booster.predict(X, qid=qid, group=group, num_threads=num_threads)

    def distil(self, X: Any, *, qid: Any = None, group: Any = None, **options: Any) -> Distillation:
        """Train one small ranker to rank as the mixture does: see `rustrank.distill`.

        Parameters
        ----------
        X, qid, group
            Documents, which need no labels: the more, the better, and other docs than those of training. With
            labels ``y``, those of training favour the mixture, which has learned them by heart: a warning.
        **options
            As for `rustrank.distill`.
        """
        from rustrank.ensembles.distillation import distill

        if options.get("y") is not None and self._has_learned(X, options["y"], qid, group):
            warn_caller(
                "X: got the docs that the mixture was trained on: by their labels it looks better than it is, and so "
                "than the student; pass other docs, or leave y out"
            )
        return distill(self.booster, X, qid=qid, group=group, **options)

    def _has_learned(self, X: Any, y: Any, qid: Any, group: Any) -> bool:
        """Return whether these are the documents of training; False where they cannot be read."""
        try:
            with dropped_warnings():
                return (
                    dataset_of(X, "X", DocArguments(y, qid, group)).fingerprint == self._fingerprint
                )
        except RustrankError:  # What is wrong with them is said by what uses them.
            return False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        members = {
            name: {
                "options": one.options,
                "rounds": one.rounds,
                "value": float(one.value),
                "weight": one.weight,
                "seconds": one.seconds,
            }
            for name, one in self.members.items()
        }
        return {
            "metric": self.metric,
            "value": float(self.value),
            "interval": list(self.value.bootstrap(self.level)),
            "difference": self.against.difference,
            "p": self.against.p_randomisation,
            "seconds": self.seconds,
            "ended": self.ended,
            "members": members,
            "statements": self.statements,
        }


@refuses_unknown(OF_EVALUATE)
def auto(
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    group: Any = None,
    time_limit: float | None = 60.0,
    metric: str = "ndcg@10",
    folds: int = 5,
    max_members: int = 12,
    query_ranks: bool = True,
    directory: str | PathLike[str] | None = None,
    gain: Any = "exp2",
    relevant_from: float | None = None,
    max_label: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = False,
) -> Auto:
    """Train the best ranker that can be had in a given time: a mixture of several kinds of trees, each by folds.

    Nothing needs to be set. Each member is trained by folds of whole queries: its models of all folds together
    choose their number of rounds, and their mean is the member. Its scores of the queries that
    each model has not seen decide what it weighs in the mixture, and how good everything is. More members, of other
    losses and shapes and then of other seeds, are added while there is time.

    Parameters
    ----------
    X : array-like, Dataset or table
        The documents, in the forms that `rustrank.train` takes. All of them are trained on: no validation
        set is needed.
    y, qid, group : array-like or str, optional
        Labels and queries, as for `rustrank.train`.
    time_limit : float, optional
        The seconds it may take, 60 by default; None for no limit. One member is always trained, if only for
        some rounds. With a limit the result depends on the speed of the machine.
    metric : str, default "ndcg@10"
        What everything is chosen by, as for `rustrank.evaluate`.
    folds : int, default 5
        The number of folds, and of models of each member.
    max_members : int, default 12
        The most members.
    query_ranks : bool, default True
        Whether the ranks of values within queries are features, where the data are small enough or were
        made with them.
    directory : path-like, optional
        A folder where each member is saved when it is trained. A run that was interrupted goes on from it; other
        documents or options are an error.
    gain, relevant_from, max_label
        As for `rustrank.train`.
    level : float, default 0.95
        The level of intervals.
    seed : int, default 0
        The seed of everything random.
    num_threads : int, optional
        Threads to use; all cores by default.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    Auto
        The mixture as one `Booster`, and the leaderboard of its members. On Ctrl-C too, once there is a member.

    Raises
    ------
    DataError
        Nothing can be learned from the documents, or there are too few.
    ParamError
        An option is out of range, or the directory belongs to other documents or options.

    Examples
    --------
    >>> import rustrank as rr
    >>> web = rr.datasets.make_polynomial(num_queries=30, docs_per_query=15, seed=0)
    >>> found = rr.auto(web.X, web.y, web.qid, time_limit=2, folds=3)
    >>> list(found.members)[0]
    'noisy'
    >>> found.booster.predict(web.X, qid=web.qid).shape == web.y.shape
    True
    """
    began = time.monotonic()
    limit = math.inf if time_limit is None else real("time_limit", time_limit)
    if not limit > 0:
        raise ParamError(
            f"time_limit: got {limit:g}, expected seconds above 0, or None", code="time_limit"
        )
    common = {
        "metric": text("metric", metric),
        "gain": gain,
        "relevant_from": relevant_from,
        "max_label": max_label,
        "seed": whole("seed", seed, 0, 2**31),
        "num_threads": threads(num_threads),
    }
    level = share("level", level)
    data = dataset_of(X, "X", DocArguments(y, qid, group), num_threads=num_threads)
    fingerprint = data.fingerprint
    if flag("query_ranks", query_ranks) and can_have_ranks(data):
        data = with_ranks(data)
    data.require_pairs()
    num_folds, judged = whole("folds", folds, 2, 100), num_judged_queries(data)
    if judged < 2:
        message = (
            f"X: {count(judged, 'query', 'queries')} with different labels, expected at least two: folds are of whole "
            "queries"
        )
        raise DataError(message, code="query.few")
    num_folds = min(num_folds, judged)
    saved = None
    if directory is not None:
        saved = SavedModels(Path(directory), f"{data.fingerprint:016x}")
    training = MemberTraining(Folds.of(data, num_folds), common, saved, began + _TRAINING * limit)
    mixing = _Mixing(training.folds, _judging(common))
    with (
        dropped_warnings(),
        progress_of_steps(max_members, "member", flag("progress", progress)) as step,
        _few_documents_in_errors(training.folds, judged),
    ):
        ended = _train(training, mixing, whole("max_members", max_members, 1, 1000), step)
    if ended == "interrupted":
        members = count(len(mixing.members), "member")
        warn_caller(f"interrupted: the mixture is of {members} that there were")
    return mixing.result(began, ended, level, fingerprint)


@contextmanager
def _few_documents_in_errors(folds: Folds, judged: int) -> Iterator[None]:
    """Let the error of leaves that no member can fill name the documents: the size of leaves is no option of `auto`."""
    try:
        yield
    except ParamError as error:
        if error.code != "min_leaf_docs":
            raise
        docs = folds.data.num_docs
        trained = docs - max(map(len, folds.rows))
        smaller = "train one ranker with smaller leaves: rr.train(data, min_leaf_docs=5)"
        message = (
            f"X: no feature divides the {trained:,} documents that a fold trains on into two parts of {_LEAF} or more, "
            f"the smallest leaves; {smaller}"
        )
        if trained < _FEW * _LEAF:
            message = (
                f"X: got {count(docs, 'document')} of {count(judged, 'query', 'queries')} with different labels, too "
                f"few for rr.auto: a fold trains on {trained:,} of them, with at least {_LEAF} in each leaf; expected some "
                f"{_FEW * _LEAF} or more; or {smaller}"
            )
        raise DataError(message, code="docs.few") from None


def _judging(common: Mapping[str, Any]) -> Judging:
    relevant_from = common["relevant_from"]
    return Judging(
        common["metric"],
        common["gain"],
        relevant_from=1 if relevant_from is None else relevant_from,
        max_label=common["max_label"],
        num_threads=common["num_threads"],
    )


def _train(training: MemberTraining, mixing: _Mixing, most: int, step: Any) -> str:
    """Train members while there is time, and return why it ended."""
    slowest = 0.0
    weights: dict[str, float] = {}
    for name, settings in schedule(weights):
        if len(mixing.members) >= most:
            return "done"
        # Half of a member's time lets it come far enough to be of use.
        if mixing.members and time.monotonic() + slowest / 2 > training.deadline:
            return "time_limit"
        try:
            if name in RIVALS and mixing.value_on_first_fold() > training.value_on_first_fold(
                settings
            ):
                continue
            member = training.member(name, settings)
            mixing.members[name] = member
            if member.is_interrupted:
                raise KeyboardInterrupt
            if len(mixing.members) >= len(SETTINGS) - len(RIVALS):
                # Further seeds are for those that weigh most.
                weights.update(mean_weights(mixing.weights_by_fold()))
        except KeyboardInterrupt:
            if not mixing.members:
                raise
            return "interrupted"
        step(name)
        slowest = max(slowest, member.seconds)
    return "done"


def mean_weights(by_fold: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean weight of each kind of member."""
    return {name: float(np.mean([one[name] for one in by_fold])) for name in by_fold[0]}


class _Mixing:
    """Finds what members weigh, by their scores of unseen queries, and what the mixture is worth."""

    def __init__(self, folds: Folds, judging: Judging) -> None:
        self.folds, self.judging = folds, judging
        self.docs = judged_docs(folds.data, {})
        self.codes = folds.data._core.query_codes()
        self.members: dict[str, Member] = {}

    def scaled(self) -> dict[str, Scores]:
        """Return the scores of unseen queries of each member, divided by their spread."""
        return {name: one.unseen / spread_of(one.unseen) for name, one in self.members.items()}

    def kinds(self) -> dict[str, Scores]:
        """Return the mean of the scaled scores of each kind of member, whose copies differ in the seed alone.

        Weights are fitted to kinds: with one for each copy, the fit follows noise (docs/reference/tried.md).
        """
        of_kind: dict[str, list[Scores]] = {}
        for name, one in self.scaled().items():
            of_kind.setdefault(kind_of(name), []).append(one)
        return {kind: np.mean(copies, axis=0) for kind, copies in of_kind.items()}

    def weights_by_fold(self) -> list[dict[str, float]]:
        """Return for each fold the weights of kinds that the exact combiner fits to the others."""
        scaled, found = self.kinds(), []
        for fold in range(len(self.folds.rows)):
            others = [rows for other, rows in enumerate(self.folds.rows) if other != fold]
            rows = np.sort(np.concatenate(others))
            fitted = self._exact_weights({name: one[rows] for name, one in scaled.items()}, rows)
            found.append(dict(zip(scaled, fitted.tolist(), strict=True)))
        return found

    def _exact_weights(self, scores: Mapping[str, Scores], rows: Any) -> NDArray[np.float64]:
        """Return the weights of the exact combiner for some rows; equal ones where nothing can be learned."""
        equal = np.full(len(scores), 1.0 / len(scores))
        combiner = combiner_for(self.judging, method="coordinate", negative=False)
        try:
            combiner.fit(scores, self.folds.data.labels[rows], qid=self.codes[rows])
        except DataError:
            return equal
        total = float(combiner.weights.sum())
        return combiner.weights / total if total > 0 else equal

    def evaluate(self, scores: Scores) -> MetricValue:
        """Return the metric of scores of all rows."""
        return first_value(judge_docs(scores, self.docs, self.judging))

    def value_on_first_fold(self) -> float:
        """Return the metric of the first member on the queries of the first fold."""
        per_query = self.evaluate(self.members[FIRST].unseen).per_query
        return float(np.nanmean(per_query[np.unique(self.codes[self.folds.rows[0]])]))

    def cross_fitted(self, weights: Sequence[Mapping[str, float]]) -> Scores:
        """Return scores of all rows, those of each fold with the weights of the others."""
        scaled, mixed = self.kinds(), np.zeros(len(self.codes))
        for rows, own in zip(self.folds.rows, weights, strict=True):
            for name, weight in own.items():
                mixed[rows] += weight * scaled[name][rows]
        return mixed

    def result(self, began: float, ended: str, level: float, fingerprint: int) -> Auto:
        """Return the mixture of all members, and figures."""
        by_fold = self.weights_by_fold()
        of_kind = mean_weights(by_fold)
        copies = Counter(map(kind_of, self.members))
        weights = {name: of_kind[kind_of(name)] / copies[kind_of(name)] for name in self.members}
        boosters: list[Booster] = []
        shares: list[float] = []
        for name, one in self.members.items():
            boosters += one.boosters
            shares += [weights[name] / spread_of(one.unseen) / len(one.boosters)] * len(
                one.boosters
            )
        mixture = merged(boosters, np.array(shares))
        value = self.evaluate(self.cross_fitted(by_fold))
        values = {name: self.evaluate(one.unseen) for name, one in self.members.items()}
        first = values[FIRST]
        members = {
            name: AutoMember(
                one.options,
                one.rounds,
                values[name],
                None if name == FIRST else self._compared(name, values[name], first, level),
                weights[name],
                one.seconds,
            )
            for name, one in self.members.items()
        }
        against = self._compared("the mixture", value, first, level)
        seconds = time.monotonic() - began
        metric = self.judging.metric
        return Auto(mixture, metric, value, against, members, seconds, ended, level, fingerprint)

    def _compared(
        self, name: str, value: MetricValue, first: MetricValue, level: float
    ) -> MetricComparison:
        drawing = Drawing(level=level, num_threads=self.judging.num_threads)
        return compare_values(first, value, (FIRST, name), drawing)
