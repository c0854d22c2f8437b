"""`Combiner`: a linear combination of rankers with the weights that maximise a metric."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.combining import _fit_input as fit_input
from rustrank.errors import RustrankError
from rustrank.estimators.raw_rankers import LambdaRank
from rustrank.formatting import Table, TableResult, html_facts, interval, number
from rustrank.inputs.docs import unjudged_docs
from rustrank.inputs.keywords import OF_MODEL, OF_ONE_METRIC, no_attribute, refuses_unknown
from rustrank.inputs.rankers import scores_of
from rustrank.metrics.evaluation import Judging, MetricValue, first_value, plain_value
from rustrank.model.booster import Booster
from rustrank.model.conversion import own_booster
from rustrank.model.mixture import check_same_columns, made_of, share_columns
from rustrank.plotting.results import plot_combiner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.data.scored_rows import ScoredRows

__all__ = ["Combiner", "Curve"]


#: The attributes of a combiner, by what others say.
_NAMES = {**OF_MODEL, "save": "booster.save, of models alone; pickle keeps any combiner"}
#: Means that differ by less are the same, summed in another order.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric as a function of alpha, which is constant on intervals.

    Attributes
    ----------
    start, end : ndarray of float64
        The ends of each interval, in rising order. Where a ranker alone has docs with equal scores, which the
        other one orders in any mixture, its value is an interval of a single alpha, 0 or 1.
    value : ndarray of float64
        The mean of the metric in the interval.
    is_whole : bool
        Whether these are all intervals; otherwise each is the one with the highest metric in its part of the
        range.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    value: NDArray[np.float64]
    is_whole: bool

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.value)

    def at(self, alpha: float) -> float:
        """Return the value at an alpha, or that of the nearest interval; NaN for an empty curve."""
        if not len(self):
            return float("nan")
        points = np.flatnonzero((self.start == alpha) & (self.end == alpha))
        if len(points):
            return float(self.value[points[0]])
        after = int(np.searchsorted(self.start, alpha, side="right"))
        place = max(after - 1, 0)
        if after < len(self) and self.start[after] - alpha < alpha - self.end[place]:
            place = after  # in a gap of a curve that is not whole
        return float(self.value[place])


def _curve_of(
    scored: ScoredRows, alone: Mapping[str, MetricValue], options: fit_input.CombinerOptions
) -> tuple[tuple[Any, ...], Curve]:
    """Return what a sweep finds, and its curve with the values of single rankers at its ends."""
    found, (start, end, value, is_whole) = _rustrank.sweep(scored, options)
    first, second = map(float, alone.values())
    begins = options.alphas is None or options.alphas[0] == 0
    if len(value) and begins and abs(value[0] - first) > _SAME:
        start, end, value = (
            np.append(new, old) for new, old in ((0, start), (0, end), (first, value))
        )
    if len(value) and options.alphas is None and abs(value[-1] - second) > _SAME:
        start, end, value = (
            np.append(old, new) for old, new in ((start, 1), (end, 1), (value, second))
        )
    return found, Curve(start, end, value, is_whole)


class Combiner(TableResult):
    """The weighted sum of rankers that is best for a metric.

    For two rankers the answer is exact: a sweep follows the metric over all mixtures
    (Wu, Burges, Svore and Gao 2008). For more, one weight after the other is swept until nothing
    raises the metric: it never falls.

    Parameters
    ----------
    metric : str, default "ndcg@10"
        What should be as high as possible: a name as for `rustrank.evaluate`.
    method : str or nested pairs, default "auto"
        ``sweep`` for two rankers; ``coordinate`` sweeps for any number, or ``powell`` along his
        directions; ``best_first`` or ``most_different_first`` join two rankers at a time by sweeps, or
        nested pairs of numbers, such as ``((0, 1), 2)``, in the order given; ``average`` is the mean of
        all after division by their spreads, a baseline. ``lambdarank`` learns the weights as a linear
        `LambdaRank` on the scores, and ``lambdarank_net`` a net with ten hidden units in place of
        weights. ``auto`` is a sweep for two, else coordinate.
    alphas : (float, float), optional
        For a sweep: look at ``first + alpha * second`` with alpha from one to the other, of any
        sign, instead of ``(1 - alpha) * first + alpha * second`` with alpha from 0 to 1.
    negative : bool, default True
        Whether coordinate sweeps look at weights below 0.
    reach : float, default 100
        How far coordinate sweeps let one ranker outweigh all others together.
    most_passes : int, default 100
        The most passes of coordinate sweeps over all rankers.
    restarts, seed : int, default 0
        How often ``coordinate`` and ``powell`` begin anew, with random weights or near the best so far;
        the seed of these, and
        of jitter.
    curve_steps : int, default 10000
        How many intervals of the curve are kept: all, or the best of as many parts of the range.
    ties : {"expected", "rows", "worst", "jitter"}, default "expected"
        As for `rustrank.evaluate`; ``jitter`` breaks ties in scores by random numbers, the same for
        any order of rows.
    gain, empty, relevant_from, max_label, num_threads
        As for `rustrank.evaluate`.

    Attributes
    ----------
    names : list of str
        The names of the rankers; like all that follow, there when the combiner is fitted.
    value : MetricValue
        The metric of the combination on the documents it was fitted to, with its interval.
    held_out : MetricValue or None
        The metric on the held-out set, if there was one.
    alone : dict
        The metric of each single ranker, on the documents the combiner was fitted to.
    held_out_alone : dict or None
        The same on the held-out set.
    alpha : float or None
        The best alpha of a sweep: the middle of ``interval``.
    interval : (float, float) or None
        The interval of alpha with the best metric, of a sweep.
    curve, held_out_curve : Curve or None
        The metric over alpha, of a sweep, and the same on the held-out set.
    history : ndarray of float64
        The metric after each change of the weights; a sweep has only the best value.
    held_out_history : ndarray of float64 or None
        The same on the held-out set.
    chosen : int
        The index in ``history`` of the chosen weights.
    net : LambdaRank or None
        The net of ``lambdarank_net``, whose features are the scores of the rankers.

    Examples
    --------
    >>> import rustrank as rr
    >>> y = [0, 2, 1]
    >>> best = rr.Combiner(metric="ndcg").fit([[1, 2, 0], [0, 0, 3]], y)
    >>> best.value, best.interval
    (<ndcg 1.0000, 1 query>, (0.25, 0.4))
    >>> best.weights
    array([0.675, 0.325])
    >>> best.predict([[1, 2, 0], [0, 0, 3]]).argsort()[::-1]
    array([1, 2, 0])
    """

    names: list[str]
    value: MetricValue
    held_out: MetricValue | None
    alone: dict[str, MetricValue]
    held_out_alone: dict[str, MetricValue] | None
    alpha: float | None
    interval: tuple[float, float] | None
    curve: Curve | None
    held_out_curve: Curve | None
    history: NDArray[np.float64]
    held_out_history: NDArray[np.float64] | None
    chosen: int
    net: LambdaRank | None

    @refuses_unknown(OF_ONE_METRIC)
    def __init__(
        self,
        metric: str = "ndcg@10",
        *,
        method: str | tuple[Any, Any] = "auto",
        alphas: tuple[float, float] | None = None,
        negative: bool = True,
        reach: float = 100.0,
        most_passes: int = 100,
        restarts: int = 0,
        seed: int = 0,
        curve_steps: int = 10_000,
        gain: Any = "exp2",
        ties: str = "expected",
        empty: str = "skip",
        relevant_from: float = 1,
        max_label: float | None = None,
        num_threads: int | None = None,
    ) -> None:
        options = dict(locals())
        of_metric = "expected" if ties == "jitter" else ties
        judging = Judging(metric, gain, of_metric, empty, relevant_from, max_label, num_threads)
        self._options = fit_input.CombinerOptions(judging, options)
        self._rankers: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Raise the error of a combiner that is not fitted, for what `fit` sets."""
        if name in Combiner.__annotations__:
            message = "the combiner is not fitted: call fit first"
            raise RustrankError(message, code="combine.unfitted")
        raise no_attribute(self, name, _NAMES)

    def fit(
        self,
        rankers: Sequence[Any] | Mapping[str, Any],
        docs: Any = None,
        *,
        y: Any = None,
        X: Any = None,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        tie_break: Any = None,
        valid: Any = None,
    ) -> Combiner:
        """Find the weights.

        Parameters
        ----------
        rankers : sequence or mapping of rankers or array-like
            The scores of all docs by each ranker, or the ranker itself, perhaps by its name: boosters, fitted
            rankers of this or another library, functions of ``X``, or names of columns of ``X``.
        docs, y, X, qid, group, query_weight
            The documents, as for `rustrank.evaluate`: labels, perhaps with features, or both together.
        tie_break : array-like of shape (num_docs,) or str, optional
            The values, or the name of the column of ``X``, that order docs that a ranker scores the same: larger is better. Scores change by less than
            2^-30 of what they range over in a query, so that it holds for weights above 0.
        valid : docs or mapping, optional
            A held-out set: documents with features for rankers to score, or these same arguments in a mapping
            (``{"rankers": [v1, v2], "y": y, "qid": qid}``). What is found is judged there too; of
            the weights that coordinate sweeps and joins pass on their way, those that are best
            there are taken.

        Returns
        -------
        Combiner
            This one, fitted.
        """
        given = dict(locals())
        options, judging = self._options, self._options.judging
        scored = fit_input.scored_rows(rankers, given, options)
        other = fit_input.held_out(valid, rankers, given, options)
        # First, because it names bad labels by the caller's rows and queries.
        alone = _values_alone(scored, judging)
        found: dict[str, Any] = dict.fromkeys(
            ("alpha", "interval", "curve", "held_out_curve", "net")
        )
        if options.method == "sweep" or (options.method == "auto" and len(scored.scores) == 2):
            (alpha, _, ends), curve = _curve_of(scored, alone, options)
            found.update(alpha=alpha, interval=ends, curve=curve)
            if other is not None:
                theirs = _values_alone(other, judging)
                found["held_out_curve"] = _curve_of(other, theirs, options)[1]
            path = [[1.0 - alpha if options.alphas is None else 1.0, alpha]]
        elif options.method in _NETS:
            net = _trained_net(scored, other, options)
            path = [_weights_of(net, scored.scores)]
            if _NETS[options.method]:
                # Only a net without hidden units is the sum with these weights.
                found["net"] = net
        else:
            path, _ = _rustrank.combine_rankers(scored, options)
        vars(self).update(found, _rankers=fit_input.as_rankers(rankers))
        self.names, self.chosen = list(self._rankers), len(path) - 1
        self.alone = alone
        self.held_out_alone = None if other is None else _values_alone(other, judging)
        if self.net is None:
            self._choose(path, scored, other)
        self.value = first_value(scored.evaluate(self._combined(scored.scores), judging))
        self.held_out = None
        if other is not None:
            self.held_out = first_value(other.evaluate(self._combined(other.scores), judging))
        if self.net is not None:
            self.history = np.array([self.value])
            self.held_out_history = None if other is None else np.array([self.held_out])
        return self

    def _choose(
        self, path: list[list[float]], scored: ScoredRows, other: ScoredRows | None
    ) -> None:
        """Choose the last weights of a path, or those that are best on the held-out set."""
        judging = self._options.judging
        self.history = np.array(_rustrank.values_of_weights(scored, judging, path))
        self.held_out_history = None
        if other is not None:
            theirs = np.array(_rustrank.values_of_weights(other, judging, path))
            self.held_out_history = theirs
            if not np.isnan(theirs).all():
                self.chosen = int(np.nanargmax(theirs))
        self._weights = np.array(path[self.chosen])

    def _combined(self, scores: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        if self.net is not None:
            return self.net.predict(np.column_stack(scores))
        return _rustrank.mix(scores, self._weights.tolist())

    def _refuse_net(self, what: str) -> None:
        if self.net is not None:
            message = (
                f"there is no {what}: the combination is a net, which has no weights of rankers"
            )
            raise RustrankError(message, code="combine.net")

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each ranker's scores."""
        self._refuse_net("weights")
        return self._weights.copy()

    @property
    def booster(self) -> Booster:
        """All rankers as one model, if they are boosters with the same columns: it can be saved as one file."""
        self._refuse_net("booster")
        boosters = self._boosters()
        if boosters is None:
            message = (
                "there is no booster: the combiner was fitted to scores, or to rankers that have none; pickle keeps "
                "the combiner, and one of models alone has a booster, which is saved as one file"
            )
            raise RustrankError(message, code="combine.scores")
        return merged(boosters, self._weights, self.names)

    def _boosters(self) -> list[Booster] | None:
        """Return the boosters of all rankers, if each is or has one."""
        every = [own_booster(one) for one in self._rankers.values()]
        found = [one for one in every if one is not None]
        return found if len(found) == len(every) else None

    def predict(self, docs: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.float64]:
        """Return the weighted sum of all rankers' scores.

        Parameters
        ----------
        docs : sequence or mapping of array-like, array-like or Dataset
            The scores of all rankers, as for `fit`; or features, if it was fitted to rankers that score them.
        qid, group : array-like, optional
            The queries, for rankers whose scores depend on the other documents of the query.
        """
        rankers = self._rankers
        if all(map(fit_input.scores_features, rankers.values())):
            fit_input.refuse_scores(docs, rankers)
            threads = self._options.judging.num_threads
            boosters = [one for one in rankers.values() if isinstance(one, Booster)]
            is_one = len(boosters) == len(rankers) and share_columns(boosters)
            with fit_input.features_in_errors(docs, rankers):
                if self.net is None and is_one:
                    # As one model, all trees are scored in one pass.
                    return self.booster.predict(docs, qid=qid, group=group, num_threads=threads)
                rows = unjudged_docs(docs, qid, group)
                every = [scores_of(one, rows, name, threads) for name, one in rankers.items()]
            return self._combined(every)
        named = fit_input.in_order(docs, self.names, "docs")
        first = np.asarray(next(iter(named.values())))
        # Labels and queries do not matter here.
        nothing = {"y": np.zeros(len(first)), "group": [len(first)]}
        options = copy.copy(self._options)
        options.jitter = False
        scored = fit_input.scored_rows(named, nothing, options)
        return self._combined(scored.scores)

    def plot(self, ax: Any = None) -> Any:
        """Draw the metric over alpha, the chosen interval and the held-out curve; needs matplotlib.

        Of other methods than a sweep, the metric after each change of the weights.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib axes
        """
        return plot_combiner(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: weights, alpha and interval, and all metrics with their intervals.

        ``values`` are of the documents of the fit, save ``held out``.
        """
        values = {**self.alone, "combined": self.value}
        if self.held_out is not None:
            values["held out"] = self.held_out
        weights = self._weights.tolist() if self.net is None else [math.nan] * len(self.names)
        plain = {
            "metric": self._options.judging.metric,
            "weights": dict(zip(self.names, weights, strict=True)),
            "alpha": self.alpha,
            "interval": None if self.interval is None else list(self.interval),
            "values": {name: plain_value(value) for name, value in values.items()},
        }
        if self.held_out_alone is not None:
            theirs = self.held_out_alone.items()
            plain["held_out_alone"] = {name: plain_value(value) for name, value in theirs}
        return plain

    def _tables(self) -> list[Table]:
        head = ["", "weight", f"{self._options.judging.metric}, fitted", "95% interval"]
        weights = [""] * len(self.names)
        if self.net is None:
            weights = [f"{weight:.6g}" for weight in self._weights]
        columns = [[*self.alone.values(), self.value]]
        if self.held_out_alone is not None and self.held_out is not None:
            head += ["held out", "95% interval"]
            columns.append([*self.held_out_alone.values(), self.held_out])
        rows = [
            [
                name,
                weight,
                *(text for one in values for text in (number(one), interval(one.interval))),
            ]
            for name, weight, *values in zip(
                [*self.alone, "combined"], [*weights, ""], *columns, strict=True
            )
        ]
        return [(head, rows)]

    def __repr__(self) -> str:
        """Show weights and values; of a combiner that is not fitted, the metric."""
        if not self._rankers:
            return f"<Combiner: {self._options.judging.metric}, not fitted>"
        return super().__repr__()

    def _repr_html_(self) -> str:
        if not self._rankers:
            return html_facts("Combiner, not fitted", [("metric", self._options.judging.metric)])
        return super()._repr_html_()


def _values_alone(scored: ScoredRows, judging: Judging) -> dict[str, MetricValue]:
    """Return the metric of each single ranker."""
    return {
        name: first_value(scored.evaluate(scores, judging))
        for name, scores in scored.by_ranker.items()
    }


def combiner_for(judging: Judging, **options: Any) -> Combiner:
    """Return a combiner for the first metric of an evaluation, with its options."""
    return Combiner(
        judging.metric,
        num_threads=judging.num_threads,
        **judging.scale,
        **options,
    )


def merged(
    boosters: Sequence[Booster], weights: NDArray[np.float64], names: Sequence[str] | None = None
) -> Booster:
    """Return the weighted sum of boosters as one, without those of weight 0; errors call them by their names."""
    used = np.flatnonzero(weights).tolist() or [0]
    called = names or [f"boosters[{at}]" for at in range(len(boosters))]
    check_same_columns([boosters[at] for at in used], [called[at] for at in used])
    mixed = [boosters[at] for at in used]
    cores = [booster._core for booster in mixed]
    core = _rustrank.Booster.sum(cores, weights[used].tolist(), ["as-is"] * len(cores))
    return made_of(mixed, core)


#: The methods, with the hidden units of their nets.
_NETS: dict[str, tuple[int, ...]] = {"lambdarank": (), "lambdarank_net": (10,)}


def _trained_net(
    scored: ScoredRows, other: ScoredRows | None, options: fit_input.CombinerOptions
) -> LambdaRank:
    """Train a net on the scores of rankers; with a held-out set, its best epoch is kept."""
    judging = options.judging
    net = LambdaRank(
        hidden=_NETS[options.method],
        epochs=60,
        learning_rate=0.01,
        inputs="plain",
        weight_decay=0.0,
        # Larger than any score, so that nothing is clipped and a linear net is linear.
        limit=1e6,
        metric=judging.metric,
        random_state=options.seed,
        n_jobs=judging.num_threads,
        **judging.scale,
    )
    valid = None if other is None else {"X": np.column_stack(other.scores), **_given(other)}
    return net.fit(np.column_stack(scored.scores), **_given(scored), eval_set=valid)


def _given(scored: ScoredRows) -> dict[str, Any]:
    queries = scored.queries
    by = {"qid": queries[0]} if isinstance(queries, tuple) else {"group": queries}
    return {"y": scored.labels, "query_weight": scored.query_weight, **by}


def _weights_of(net: LambdaRank, scores: list[NDArray[np.float64]]) -> list[float]:
    """Return the weights of a linear net."""
    # Sorted, so that sums do not depend on the order of rows.
    table = np.sort(np.column_stack(scores), axis=0)
    mean, spread = table.mean(axis=0), table.std(axis=0)
    spread[spread == 0] = 1.0
    rows = mean + np.vstack([np.zeros_like(mean), np.diag(spread)])
    found = net.predict(rows)
    return [float(weight) for weight in (found[1:] - found[0]) / spread]
