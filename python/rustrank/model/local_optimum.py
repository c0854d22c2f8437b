"""A test whether a trained model is at a local optimum of a metric (Burges 2010, section 4.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank import _rustrank
from rustrank.errors import wrong_value
from rustrank.inputs.keywords import OF_ONE_METRIC, refuses_unknown
from rustrank.inputs.scalars import real, whole
from rustrank.metrics.evaluation import evaluate
from rustrank.model.booster import Booster
from rustrank.plotting.results import plot_optimum

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    _Weights: TypeAlias = NDArray[np.float64]

__all__ = ["LocalOptimum", "local_optimum"]


@dataclass(frozen=True, eq=False, repr=False)
class LocalOptimum:
    """The values of a metric near the weights of a model.

    Attributes
    ----------
    metric : str
        The name of the metric.
    value : float
        The metric of the unchanged model.
    weights : ndarray of float64
        All weights and biases of a net, layer by layer; for trees, a 1 for each tree.
    looked_at : ndarray of int64
        The numbers of the weights that were moved one at a time.
    offsets : ndarray of float64
        The amounts by which they were moved.
    curves : ndarray of float64 of shape (weights looked at, offsets)
        The metric after one weight was moved.
    distance : float
        The length of the steps along random directions.
    changes : ndarray of float64
        The change of the metric along each random direction.
    """

    metric: str
    value: float
    weights: NDArray[np.float64]
    looked_at: NDArray[np.int64]
    offsets: NDArray[np.float64]
    curves: NDArray[np.float64]
    distance: float
    changes: NDArray[np.float64]

    @property
    def share_of_ascents(self) -> float:
        """The share of the random directions along which the metric rose."""
        return float((self.changes > 0).mean())

    def bound(self, confidence: float = 0.99) -> float:
        """Return an upper confidence bound on the share of all directions along which the metric rises.

        The one-sided bound of Clopper and Pearson. If no direction rose, it is the bound of the paper: 459
        directions and a confidence of 0.99 give 0.01.
        """
        count, rose = len(self.changes), int((self.changes > 0).sum())
        if rose == count:
            return 1.0
        low, high = rose / count, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            is_low = _at_most(rose, count, middle) > 1 - confidence
            low, high = (middle, high) if is_low else (low, middle)
        return high

    @property
    def peaks(self) -> NDArray[np.float64]:
        """For each weight, the offset with the highest metric; 0 if none is better than no change."""
        best = self.curves.max(axis=1)
        return np.where(best > self.value, self.offsets[self.curves.argmax(axis=1)], 0.0)

    def plot(self, ax: Any = None) -> Any:
        """Draw the metric along each weight, and below it along random directions; needs matplotlib.

        Parameters
        ----------
        ax : pair of matplotlib axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        pair of matplotlib axes
        """
        return plot_optimum(self, ax)

    def __repr__(self) -> str:
        """Summarise the result in one line."""
        rose = int((self.changes > 0).sum())
        return (
            f"<LocalOptimum: {self.metric} {self.value:.4f}, rises along {rose} of "
            f"{len(self.changes)} directions, at most {self.bound():.1%} of all at 99%>"
        )


@refuses_unknown(OF_ONE_METRIC)
def local_optimum(
    booster: Booster,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    group: Any = None,
    metric: str = "ndcg@10",
    directions: int = 459,
    distance: float = 0.1,
    most_weights: int = 50,
    steps: int = 10,
    seed: int = 0,
    num_threads: int | None = None,
) -> LocalOptimum:
    """Test whether a metric falls in every direction around the weights of a model.

    Single weights are moved by several offsets; then all weights are moved together by a small step along
    random directions. If the metric rises along none of 459 directions, it rises along fewer than 1% of all
    directions, at a confidence of 99%. Use the training documents: a model need not be optimal on others.

    Parameters
    ----------
    booster : Booster
        A net, whose weights are moved, or trees, each of which gets a weight of 1 to move.
    X, y, qid, group
        The documents, as for `rustrank.Dataset`.
    metric : str, default "ndcg@10"
        The metric to test.
    directions : int, default 459
        The number of random directions.
    distance : float, default 0.1
        The length of a step along a direction, and the largest offset of a single weight, relative to the
        norm of all weights: small, but large enough to average over the steps of the metric.
    most_weights : int, default 50
        The most weights to move one at a time; of more, a random sample is taken.
    steps : int, default 10
        The number of offsets on either side.
    seed : int, default 0
        The seed of random directions and samples.
    num_threads : int, optional
        Threads to use; all cores by default.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=30, seed=0)
    >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
    >>> trees = rr.train(train, num_trees=3)
    >>> found = rr.local_optimum(trees, data.X, data.y, qid=data.qid, directions=20, steps=2)
    >>> found.curves.shape, len(found.changes)
    ((3, 4), 20)
    """
    directions, steps = whole("directions", directions, 1), whole("steps", steps, 1)
    most = whole("most_weights", most_weights, 0)
    if not 0 < real("distance", distance) < math.inf:
        raise wrong_value("distance", distance, "a number above 0")
    weights, score = _movable(booster, X, num_threads)
    options: dict[str, Any] = {"metrics": [metric], "num_threads": num_threads}

    def value(weights: _Weights) -> float:
        return float(evaluate(score(weights), y, qid=qid, group=group, **options)[metric])

    rng = np.random.default_rng(whole("seed", seed, 0))
    reach = distance * float(np.linalg.norm(weights))
    offsets = reach * np.concatenate([np.arange(-steps, 0), np.arange(1, steps + 1)]) / steps
    chosen = np.arange(len(weights))
    if len(chosen) > most:
        chosen = np.sort(rng.choice(chosen, most, replace=False))
    start = value(weights)
    curves = np.empty((len(chosen), len(offsets)))
    for row, at in enumerate(chosen):
        for column, offset in enumerate(offsets):
            moved = weights.copy()
            moved[at] += offset
            curves[row, column] = value(moved)
    changes = np.empty(directions)
    for number in range(directions):
        way = rng.standard_normal(len(weights))
        changes[number] = value(weights + reach * way / np.linalg.norm(way)) - start
    return LocalOptimum(metric, start, weights, chosen, offsets, curves, reach, changes)


def _movable(
    booster: Any, X: Any, num_threads: int | None
) -> tuple[_Weights, Callable[[_Weights], _Weights]]:
    """Return weights of a model, and the function that scores all docs by other weights.

    They are the weights of a net; or factors of trees, where whatever else the model has stays.
    """
    if not isinstance(booster, Booster):
        raise wrong_value("booster", booster, "a Booster")
    trees = booster._core.num_trees
    if trees:
        # Of a mixture, too: differences are what single trees add.
        truncated = (Booster._of(booster._core.truncated(count)) for count in range(trees + 1))
        sums = np.array([one.predict(X, num_threads=num_threads) for one in truncated])
        terms = np.diff(sums, axis=0)
        return np.ones(trees), lambda weights: np.asarray(sums[0] + weights @ terms)

    def score(weights: _Weights) -> NDArray[np.float64]:
        core = _rustrank.with_net_weights(booster._core, weights.astype(np.float32))
        return Booster._of(core).predict(X, num_threads=num_threads)

    return _rustrank.net_weights(booster._core).astype(np.float64), score


def _at_most(rose: int, count: int, share: float) -> float:
    """Return the probability of at most so many ascents among as many directions."""
    terms = (
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
        for k in range(rose + 1)
    )
    return math.fsum(math.exp(term) for term in terms) if 0 < share < 1 else float(share <= 0)
