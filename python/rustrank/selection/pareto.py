"""The Pareto front of two metrics: what one costs the other, over the weights of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import dataset_of
from rustrank.errors import DataError, ParamError, shown, wrong_kind, wrong_value
from rustrank.formatting import Table, TableResult, number
from rustrank.inputs.docs import DocArguments, is_dataset
from rustrank.inputs.scalars import as_list, flag, real
from rustrank.progress import progress_of_steps
from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rustrank.model.booster import Booster

__all__ = ["ParetoFront", "ParetoPoint", "pareto_front"]

#: The default weights of the second metric.
_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class ParetoPoint:
    """A booster and what it reaches.

    Attributes
    ----------
    share : float
        The weight of the second metric; that of the first is ``1 - share``.
    values : mapping
        Both metrics on the set that decides.
    booster : Booster
        The booster.
    is_best : bool
        Whether no other point has more of one metric and at least as much of the other.
    """

    share: float
    values: Mapping[str, float]
    booster: Booster
    is_best: bool


class ParetoFront(TableResult):
    """What training reached for each weight of two metrics.

    Attributes
    ----------
    metrics : tuple of str
        The two metrics.
    points : list of ParetoPoint
        One for each weight of the second metric, in rising order.
    """

    def __init__(self, metrics: tuple[str, str], points: Sequence[ParetoPoint]) -> None:
        self.metrics, self.points = metrics, list(points)

    def _tables(self) -> list[Table]:
        rows = [
            [
                f"{point.share:g}",
                *map(number, point.values.values()),
                "yes" if point.is_best else "",
            ]
            for point in self.points
        ]
        return [([f"share of {self.metrics[1]}", *self.metrics, "on the front"], rows)]

    @property
    def front(self) -> list[ParetoPoint]:
        """The points that no other is better than, by rising value of the second metric."""
        best = [point for point in self.points if point.is_best]
        return sorted(best, key=lambda point: point.values[self.metrics[1]])

    def pick(self, **at_least: float) -> ParetoPoint:
        """Return the point with the most of one metric among those with enough of the other.

        Parameters
        ----------
        **at_least : float
            The least value of one of both metrics, as in ``front.pick(**{"ndcg@10": 0.42})``.
        """
        if len(at_least) != 1 or next(iter(at_least)) not in self.metrics:
            raise wrong_value("pick", at_least, f"the least value of {' or '.join(self.metrics)}")
        ((name, least),) = at_least.items()
        (other,) = (metric for metric in self.metrics if metric != name)
        enough = [point for point in self.points if point.values[name] >= real(name, least)]
        if not enough:
            most = max(point.values[name] for point in self.points)
            message = f"no point has {name} of {least:g}: the most is {number(most)}"
            raise DataError(message, code="pareto")
        return max(enough, key=lambda point: point.values[other])

    def to_pandas(self) -> Any:
        """Return the points as a pandas DataFrame."""
        from rustrank.metrics.frames import frame

        columns: dict[str, list[Any]] = {"share": [point.share for point in self.points]}
        for metric in self.metrics:
            columns[metric] = [point.values[metric] for point in self.points]
        columns["is_best"] = [point.is_best for point in self.points]
        return frame(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw all points and the front (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        """
        from rustrank.plotting.results import plot_front

        return plot_front(self, ax)


def pareto_front(
    dataset: Any,
    metrics: Sequence[str],
    *,
    y: Any = None,
    qid: Any = None,
    group: Any = None,
    extra_labels: Any = None,
    valid: Any = None,
    shares: Sequence[float] = _SHARES,
    progress: bool = False,
    **options: Any,
) -> ParetoFront:
    """Train a booster for each of several weights of two metrics, to see what one costs the other.

    Parameters
    ----------
    dataset : Dataset or docs
        The training set; with ``extra_labels`` for metrics such as ``revenue@10``. Or documents, as for
        `rustrank.train`.
    y, qid, group : array-like or str, optional
        Labels and queries of a table, as for `rustrank.train`.
    extra_labels : sequence of str or str, optional
        The columns of tables that are further labels, as for `Dataset`.
    metrics : two of str
        The metrics, as for ``metric`` of `rustrank.train`.
    valid : Dataset or docs, optional
        The set that decides about points, and about the best round with ``early_stopping``; the training
        set by default, which flatters all points.
    shares : sequence of float
        The weights of the second metric, from 0 to 1; the first has the rest.
    progress : bool, default False
        Whether to show a progress bar, with the metrics of the last point.
    **options
        As for `rustrank.train`.

    Examples
    --------
    >>> import numpy as np
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> extra = {"revenue": np.abs(data.X[:, 1]) * 10}
    >>> train = rr.Dataset(data.X, data.y, qid=data.qid, extra_labels=extra)
    >>> front = rr.pareto_front(
    ...     train, ["ndcg@10", "revenue@10"], shares=[0, 0.3, 1], num_trees=20
    ... )
    >>> [point.share for point in front.front]
    [0.0, 0.3, 1.0]
    >>> front.pick(**{"ndcg@10": 0.5}).share < 1
    True
    """
    first, second = _two(metrics)
    arguments, extra = DocArguments(y, qid, group), dict[str, Any]()
    if extra_labels is not None:
        if is_dataset(dataset):
            message = (
                "extra_labels: got it beside a Dataset, expected none: the data set has its own"
            )
            raise ParamError(message, code="extra_labels")
        extra["extra_labels"] = extra_labels
    dataset = dataset_of(dataset, "dataset", arguments, **extra)
    if valid is not None:
        valid = dataset_of(valid, "valid", arguments, like=dataset, **extra)
    judged = dataset if valid is None else valid
    for name in ("metric", "guard", "valid"):
        if name in options:
            message = (
                f"{name}: got {shown(options[name])}, expected none: the metrics have weights here"
            )
            raise ParamError(message, code=name)
    weights = _shares(shares)
    made: list[tuple[float, Booster, dict[str, float]]] = []
    with progress_of_steps(len(weights), "share", flag("progress", progress)) as step:
        for share in weights:
            metric = {first: 1 - share, second: share}
            booster = train(dataset, metric=metric, valid=valid, **options)
            found = booster.evaluate(judged, [first, second])
            made.append((share, booster, {name: float(value) for name, value in found.items()}))
            step(", ".join(f"{name} {value:.4f}" for name, value in made[-1][2].items()))
    table = np.array([list(values.values()) for _, _, values in made])
    points = [
        ParetoPoint(share, values, booster, is_best=_is_best(table[at], table))
        for at, (share, booster, values) in enumerate(made)
    ]
    return ParetoFront((first, second), points)


def _is_best(own: Any, table: Any) -> bool:
    """Return whether no row has more of one value and at least as much of the other."""
    return not bool(((table >= own).all(1) & (table > own).any(1)).any())


def _two(metrics: Any) -> tuple[str, str]:
    names = as_list("metrics", metrics, "two metrics")
    if len(names) != 2 or names[0] == names[1] or not all(isinstance(one, str) for one in names):
        raise wrong_kind("metrics", metrics, "two metrics, ['ndcg@10', 'revenue@10']")
    return names[0], names[1]


def _shares(given: Any) -> list[float]:
    shares = sorted(
        {real("shares", share) for share in as_list("shares", given, "numbers from 0 to 1")}
    )
    if not shares or shares[0] < 0 or shares[-1] > 1:
        raise wrong_value("shares", given, "numbers from 0 to 1")
    return shares
