"""`Combiner`: a linear combination of rankers with the weights that maximise a metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.combining._fit_input import (
    CombinerOptions,
    as_rankers,
    held_out,
    in_order,
    scored_rows,
)
from rustrank.combining._net_combiner import NETS, features, learn, weights_of
from rustrank.errors import RustrankError
from rustrank.formatting import html_table, interval, number, text_table
from rustrank.metrics.evaluation import Judging, MetricValue
from rustrank.model.booster import Booster
from rustrank.plotting.results import plot_combiner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.data.scored_rows import ScoredRows
    from rustrank.estimators.nets import LambdaRank

__all__ = ["Combiner", "Curve"]


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric as a function of alpha, which is constant on intervals.

    Attributes
    ----------
    start, end : ndarray of float64
        The ends of each interval, in rising order.
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
        after = int(np.searchsorted(self.start, alpha, side="right"))
        place = max(after - 1, 0)
        if after < len(self) and self.start[after] - alpha < alpha - self.end[place]:
            place = after  # in a gap of a curve that is not whole
        return float(self.value[place])


@dataclass(frozen=True)
class _Fitted:
    """The result of `Combiner.fit`."""

    rankers: dict[str, Any]
    weights: NDArray[np.float64]
    value: MetricValue
    held_out: MetricValue | None
    alone: dict[str, MetricValue]
    alpha: float | None
    interval: tuple[float, float] | None
    curve: Curve | None
    held_out_curve: Curve | None
    history: NDArray[np.float64]
    held_out_history: NDArray[np.float64] | None
    chosen: int
    net: LambdaRank | None = None


class Combiner:
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

    Examples
    --------
    >>> import rustrank as rr
    >>> y = [0, 2, 1]
    >>> best = rr.Combiner(metric="ndcg").fit([[1, 2, 0], [0, 0, 3]], y)
    >>> best.value, best.interval
    (<ndcg 1.0000, 1 query>, (0.25, 0.4))
    >>> best.weights
    array([0.675, 0.325])
    >>> best.score([[1, 2, 0], [0, 0, 3]]).argsort()[::-1]
    array([1, 2, 0])
    """

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
        judging = Judging.of(metric, gain, of_metric, empty, relevant_from, max_label, num_threads)
        self._options = CombinerOptions.of(judging, options)
        self._fitted: _Fitted | None = None

    @classmethod
    def judged_by(cls, judging: Judging, **options: Any) -> Combiner:
        """Return a combiner for the first metric of an evaluation, with its options."""
        return cls(
            judging.metrics[0],
            gain=judging.gain,
            relevant_from=judging.relevant_from,
            max_label=judging.max_label,
            num_threads=judging.num_threads,
            **options,
        )

    def fit(
        self,
        rankers: Sequence[Any] | Mapping[str, Any],
        y: Any,
        *,
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
        rankers : sequence or mapping of array-like or Booster
            The scores of all docs by each ranker, or the ranker itself, perhaps by its name.
        y : array-like of shape (num_docs,), or Dataset
            Labels; or a dataset that has labels, queries and weights, and that boosters score.
        X : array-like of shape (num_docs, num_features), or Dataset, optional
            What boosters score.
        qid, group, query_weight
            As for `rustrank.evaluate`.
        tie_break : array-like of shape (num_docs,), optional
            What orders docs that a ranker scores the same: larger is better. Scores change by less than
            2^-30 of what they range over in a query, so that it holds for weights above 0.
        valid : Dataset or mapping, optional
            A held-out set: a dataset for boosters, or these same arguments in a mapping
            (``{"rankers": [v1, v2], "y": y, "qid": qid}``). What is found is judged there too; of
            the weights that coordinate sweeps and joins pass on their way, those that are best
            there are taken.

        Returns
        -------
        Combiner
            This one, fitted.
        """
        given = {
            "y": y,
            "X": X,
            "qid": qid,
            "group": group,
            "query_weight": query_weight,
            "tie_break": tie_break,
        }
        scored = scored_rows(rankers, given, self._options)
        other = held_out(valid, rankers, self._options)
        method = self._options.method
        is_sweep = method == "sweep" or (method == "auto" and len(scored.scores) == 2)
        find = _swept if is_sweep else _learned if method in NETS else _searched
        self._fitted = find(as_rankers(rankers), scored, other, self._options)
        return self

    def _found(self) -> _Fitted:
        if self._fitted is None:
            message = "the combiner is not fitted: call fit first"
            raise RustrankError(message, code="combine.unfitted")
        return self._fitted

    def _refuse_net(self, what: str) -> None:
        if self._found().net is not None:
            message = (
                f"there is no {what}: the combination is a net, which has no weights of rankers"
            )
            raise RustrankError(message, code="combine.net")

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each ranker's scores."""
        self._refuse_net("weights")
        return self._found().weights.copy()

    @property
    def names(self) -> list[str]:
        """The names of the rankers."""
        return list(self._found().rankers)

    @property
    def value(self) -> MetricValue:
        """The metric of the combination on the documents it was fitted to, with its interval."""
        return self._found().value

    @property
    def held_out(self) -> MetricValue | None:
        """The metric on the held-out set, if there was one."""
        return self._found().held_out

    @property
    def alone(self) -> dict[str, MetricValue]:
        """The metric of each single ranker, on the documents the combiner was fitted to."""
        return dict(self._found().alone)

    @property
    def alpha(self) -> float | None:
        """The best alpha of a sweep: the middle of `interval`."""
        return self._found().alpha

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of alpha with the best metric, of a sweep."""
        return self._found().interval

    @property
    def curve(self) -> Curve | None:
        """The metric over alpha, of a sweep."""
        return self._found().curve

    @property
    def held_out_curve(self) -> Curve | None:
        """The metric over alpha on the held-out set, of a sweep."""
        return self._found().held_out_curve

    @property
    def history(self) -> NDArray[np.float64]:
        """The metric after each change of the weights; a sweep has only the best value."""
        return self._found().history.copy()

    @property
    def held_out_history(self) -> NDArray[np.float64] | None:
        """The same on the held-out set."""
        theirs = self._found().held_out_history
        return None if theirs is None else theirs.copy()

    @property
    def chosen(self) -> int:
        """The index in `history` of the chosen weights."""
        return self._found().chosen

    @property
    def net(self) -> LambdaRank | None:
        """The net of ``lambdarank_net``, whose features are the scores of the rankers."""
        return self._found().net

    @property
    def booster(self) -> Booster:
        """All rankers as one model, if they are boosters: it can be saved as one file."""
        fitted = self._found()
        self._refuse_net("booster")
        boosters = list(fitted.rankers.values())
        if not all(isinstance(one, Booster) for one in boosters):
            message = "there is no booster: the combiner was fitted to scores"
            raise RustrankError(message, code="combine.scores")
        return merged(boosters, fitted.weights)

    def score(self, docs: Any) -> NDArray[np.float64]:
        """Return the weighted sum of all rankers' scores.

        Parameters
        ----------
        docs : sequence or mapping of array-like, array-like or Dataset
            The scores of all rankers, as for `fit`; or, for boosters, features.
        """
        fitted = self._found()
        threads = self._options.judging.num_threads
        of_boosters = all(isinstance(one, Booster) for one in fitted.rankers.values())
        if of_boosters and fitted.net is not None:
            scores = [one.score(docs, num_threads=threads) for one in fitted.rankers.values()]
            return fitted.net.predict(features(scores))
        if of_boosters:
            return self.booster.score(docs, num_threads=threads)
        named = in_order(docs, list(fitted.rankers), "docs")
        first = np.asarray(next(iter(named.values())))
        # Labels and queries do not matter here.
        nothing = {"y": np.zeros(len(first)), "group": [len(first)]}
        scored = scored_rows(named, nothing, replace(self._options, jitter=False))
        if fitted.net is not None:
            return fitted.net.predict(features(scored.scores))
        return _rustrank.mix(scored.scores, fitted.weights.tolist())

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
        self._found()
        return plot_combiner(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: weights, alpha and interval, and all metrics with their intervals."""
        fitted = self._found()
        values = {**fitted.alone, "combined": fitted.value}
        if fitted.held_out is not None:
            values["held out"] = fitted.held_out
        return {
            "metric": self._options.judging.metrics[0],
            "weights": dict(zip(fitted.rankers, fitted.weights.tolist(), strict=True)),
            "alpha": fitted.alpha,
            "interval": None if fitted.interval is None else list(fitted.interval),
            "values": {
                name: {"mean": float(value), "interval": list(value.interval)}
                for name, value in values.items()
            },
        }

    def _table(self) -> tuple[list[str], list[list[str]]]:
        fitted = self._found()
        head = ["", "weight", self._options.judging.metrics[0], "95% interval"]
        rows = [
            [name, _shown(weight), number(value), interval(value.interval)]
            for weight, (name, value) in zip(fitted.weights, fitted.alone.items(), strict=True)
        ]
        rows.append(["combined", "", number(fitted.value), interval(fitted.value.interval)])
        if fitted.held_out is not None:
            rows.append(
                ["held out", "", number(fitted.held_out), interval(fitted.held_out.interval)]
            )
        return head, rows

    def __repr__(self) -> str:
        """Show weights and values; of a combiner that is not fitted, the metric."""
        if self._fitted is None:
            return f"<Combiner: {self._options.judging.metrics[0]}, not fitted>"
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table()) if self._fitted is not None else repr(self)


def _shown(weight: float) -> str:
    return "" if np.isnan(weight) else f"{weight:.6g}"


def merged(boosters: Sequence[Booster], weights: NDArray[np.float64]) -> Booster:
    """Return the weighted sum of boosters as one, without those of weight 0."""
    used = np.flatnonzero(weights).tolist() or [0]
    cores = [boosters[at]._core for at in used]
    return Booster._of(_rustrank.Booster.sum(cores, weights[used].tolist(), ["as-is"] * len(cores)))


def _swept(
    rankers: dict[str, Any], scored: ScoredRows, other: ScoredRows | None, options: CombinerOptions
) -> _Fitted:
    """Find the best combination of two rankers by a sweep over alpha."""
    (alpha, _, ends), curve = _rustrank.sweep(scored, options)
    first = 1.0 - alpha if options.alphas is None else 1.0
    weights = np.array([first, alpha])
    theirs = None if other is None else Curve(*_rustrank.sweep(other, options)[1])
    swept = {
        "alpha": alpha,
        "interval": ends,
        "curve": Curve(*curve),
        "held_out_curve": theirs,
    }
    return _fitted(rankers, (scored, other), options, [weights.tolist()], swept)


def _searched(
    rankers: dict[str, Any], scored: ScoredRows, other: ScoredRows | None, options: CombinerOptions
) -> _Fitted:
    """Search weights step by step; take the last ones, or the best on the held-out set."""
    path, _ = _rustrank.combine_rankers(scored, options)
    return _fitted(rankers, (scored, other), options, path, {})


def _alone(scored: ScoredRows, judging: Judging) -> dict[str, MetricValue]:
    return {name: _value(scored, scores, judging) for name, scores in scored.by_ranker.items()}


def _value(scored: ScoredRows, scores: NDArray[np.float64], judging: Judging) -> MetricValue:
    return next(iter(scored.evaluate(scores, judging).values()))


def _learned(
    rankers: dict[str, Any], scored: ScoredRows, other: ScoredRows | None, options: CombinerOptions
) -> _Fitted:
    """Train a net on the scores; a linear one gives weights."""
    net = learn(scored, other, options)
    if not NETS[options.method]:
        weights = weights_of(net, scored.scores)
        return _fitted(rankers, (scored, other), options, [weights], {})
    judging = options.judging

    def value(of: ScoredRows) -> MetricValue:
        return _value(of, net.predict(features(of.scores)), judging)

    theirs = None if other is None else value(other)
    return _Fitted(
        rankers=rankers,
        weights=np.full(len(rankers), np.nan),
        value=value(scored),
        held_out=theirs,
        alone=_alone(scored, judging),
        alpha=None,
        interval=None,
        curve=None,
        held_out_curve=None,
        history=np.array([value(scored)]),
        held_out_history=None if theirs is None else np.array([theirs]),
        chosen=0,
        net=net,
    )


def _fitted(
    rankers: dict[str, Any],
    sets: tuple[ScoredRows, ScoredRows | None],
    options: CombinerOptions,
    path: list[list[float]],
    swept: dict[str, Any],
) -> _Fitted:
    scored, other = sets
    judging = options.judging
    history = np.array(_rustrank.values_of_weights(scored, judging, path))
    theirs = None
    chosen = len(path) - 1
    if other is not None:
        theirs = np.array(_rustrank.values_of_weights(other, judging, path))
        if not np.isnan(theirs).all():
            chosen = int(np.nanargmax(theirs))
    weights = path[chosen]

    def value(of: ScoredRows) -> MetricValue:
        return _value(of, _rustrank.mix(of.scores, weights), judging)

    return _Fitted(
        rankers=rankers,
        weights=np.array(weights),
        value=value(scored),
        held_out=None if other is None else value(other),
        alone=_alone(scored, judging),
        alpha=swept.get("alpha"),
        interval=swept.get("interval"),
        curve=swept.get("curve"),
        held_out_curve=swept.get("held_out_curve"),
        history=history,
        held_out_history=theirs,
        chosen=chosen,
    )
