"""Evaluation: metrics of a ranking, for each query and on average, with confidence intervals."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.errors import (
    ParamError,
    ParamKindError,
    shown,
    suggestion,
    warn_caller,
    wrong_kind,
)
from rustrank.formatting import ResultMapping, Table, count, interval, number
from rustrank.inputs.docs import judged_docs
from rustrank.inputs.keywords import OF_EVALUATE, refuses_unknown
from rustrank.inputs.queries import (
    Queries,
    as_queries,
    query_codes,
    query_ids_in_errors,
)
from rustrank.inputs.rankers import scores_of
from rustrank.inputs.scalars import flag, real, separated, text, threads, whole
from rustrank.inputs.tables import labels_of
from rustrank.inputs.vectors import as_doubles, as_scores, check_length
from rustrank.metrics.frames import frame, query_frame, segment_frame, segment_tables
from rustrank.metrics.label_scale import warn_of_other_scale
from rustrank.metrics.segments import QueriesOfSegments, as_segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from rustrank.inputs.docs import JudgedDocs

__all__ = ["Evaluation", "MetricValue", "err_relevance", "evaluate"]

#: Tables compute intervals, which take a moment, up to this number of queries.
_QUICK = 20_000


class Judging:
    """The metrics to compute, and their options."""

    def __init__(
        self,
        metrics: str | Sequence[str],
        gain: Any,
        ties: str = "expected",
        empty: str = "skip",
        relevant_from: float = 1,
        max_label: float | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Check the kinds of options; the core checks their values."""
        self.metrics = named_metrics(metrics)
        self.gain = _gain(gain)
        self.ties, self.empty = text("ties", ties), text("empty", empty)
        self.relevant_from = real("relevant_from", relevant_from)
        self.max_label = None if max_label is None else real("max_label", max_label)
        self.num_threads = threads(num_threads)

    @property
    def metric(self) -> str:
        """The first metric, which decides where only one can."""
        return self.metrics[0]

    @property
    def scale(self) -> dict[str, Any]:
        """What labels are worth, as the options of trainings and combiners."""
        return {name: getattr(self, name) for name in ("gain", "relevant_from", "max_label")}

    def but(self, **changes: Any) -> Judging:
        """Return the same with some options changed."""
        return Judging(**{**vars(self), **changes})


class Drawing:
    """How random replicates are drawn, and the level of the intervals that they give."""

    def __init__(
        self,
        resamples: int = 10_000,
        seed: int = 0,
        num_threads: int | None = None,
        level: float = 0.95,
    ) -> None:
        """Check the kinds of options; the core checks how many replicates there may be."""
        self.resamples = whole("resamples", resamples, 0)
        self.seed = whole("seed", seed, 0, 2**64 - 1)
        self.num_threads, self.level = threads(num_threads), real("level", level)

    def interval(self, value: MetricValue) -> tuple[float, float]:
        """Return the bootstrap interval of a mean; NaN without replicates."""
        if not self.resamples:
            return math.nan, math.nan
        return _rustrank.bootstrap(value.per_query, value.query_weight, self.level, self)


class MetricValue(float):
    """The mean of a metric over queries: a float with the value of each query.

    Attributes
    ----------
    name : str
        The metric, such as ``ndcg@10``.
    per_query : ndarray of float64
        The value of each query in order of first appearance; NaN where the query is skipped.
    query_ids : ndarray
        The id of each query, in the same order.
    query_weight : ndarray of float64 or None
        The weight of each query in the mean.
    num_queries, num_skipped : int
        The number of queries, and of those that are left out of the mean.
    """

    name: str
    per_query: NDArray[np.float64]
    query_ids: NDArray[Any]
    query_weight: NDArray[np.float64] | None
    num_queries: int
    num_skipped: int
    _num_threads: int | None

    def __new__(  # noqa: PYI034 - typing.Self came with CPython 3.11
        cls,
        name: str,
        per_query: NDArray[np.float64],
        query_ids: NDArray[Any],
        query_weight: NDArray[np.float64] | None = None,
        num_threads: int | None = None,
    ) -> MetricValue:
        """Take the mean of the values."""
        mean, num_queries, num_skipped = _rustrank.mean(per_query, query_weight, num_threads)
        made = super().__new__(cls, mean)
        # The interval is cached, so the values must not change.
        per_query.setflags(write=False)
        made.name, made.per_query, made.query_ids = name, per_query, query_ids
        made.query_weight, made._num_threads = query_weight, num_threads
        made.num_queries, made.num_skipped = num_queries, num_skipped
        return made

    @functools.cached_property
    def interval(self) -> tuple[float, float]:
        """The 95% bootstrap interval of the mean, computed on first use."""
        return self.bootstrap()

    def bootstrap(
        self, level: float = 0.95, resamples: int = 10_000, seed: int = 0
    ) -> tuple[float, float]:
        """Return the percentile bootstrap interval of the mean over queries.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level.
        resamples : int, default 10000
            The number of bootstrap samples of the queries.
        seed : int, default 0
            The seed of the samples. The interval does not depend on the order of queries or on
            threads.
        """
        drawing = Drawing(resamples, seed, self._num_threads, level)
        return _rustrank.bootstrap(self.per_query, self.query_weight, drawing.level, drawing)

    def __repr__(self) -> str:
        skipped = f", {self.num_skipped:,} skipped" if self.num_skipped else ""
        return (
            f"<{self.name} {number(self)}, {count(self.num_queries, 'query', 'queries')}{skipped}>"
        )

    def __str__(self) -> str:
        return float.__repr__(self)

    def part(self, queries: NDArray[np.int64]) -> MetricValue:
        """Return the mean over some queries, given by their numbers."""
        weight = None if self.query_weight is None else self.query_weight[queries]
        own = self.per_query[queries], self.query_ids[queries]
        return MetricValue(self.name, *own, weight, self._num_threads)

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.name, self.per_query, self.query_ids, self.query_weight, self._num_threads)
        return MetricValue, state


class Evaluation(ResultMapping[MetricValue]):
    """The values of metrics by name, in the order of the request."""

    #: The evaluation of the queries of each segment, where segments were given.
    segments: Mapping[Any, Evaluation] = MappingProxyType({})

    _absent = "there is no {} here", "metric.absent"

    @property
    def query_ids(self) -> NDArray[Any]:
        """The query ids in order of first appearance, which is the order of ``per_query``."""
        return next(iter(self._values.values())).query_ids

    @property
    def num_queries(self) -> int:
        """The number of queries, skipped ones included."""
        return len(self.query_ids)

    def best(self, metric: str | None = None, n: int = 10) -> list[tuple[Any, float]]:
        """Return the ids and values of the ``n`` best queries by a metric (the first by default)."""
        return self._ends(metric, n, -1.0)

    def worst(self, metric: str | None = None, n: int = 10) -> list[tuple[Any, float]]:
        """Return the ids and values of the ``n`` worst queries by a metric (the first by default)."""
        return self._ends(metric, n, 1.0)

    def _ends(self, metric: str | None, n: int, sign: float) -> list[tuple[Any, float]]:
        value = self[next(iter(self)) if metric is None else metric]
        counted = np.flatnonzero(~np.isnan(value.per_query))
        order = counted[np.argsort(sign * value.per_query[counted], kind="stable")]
        chosen = order[: whole("n", n, 0)]
        ids = value.query_ids[chosen].tolist()
        return list(zip(ids, value.per_query[chosen].tolist(), strict=True))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain numbers: mean, interval, queries and skipped queries of each metric."""
        return {
            name: {
                **plain_value(value),
                "num_queries": value.num_queries,
                "num_skipped": value.num_skipped,
            }
            for name, value in self.items()
        }

    def to_pandas(self, *, per_query: bool = False, by_segment: bool = False) -> Any:
        """Return a pandas DataFrame: a row for each metric, with its interval and numbers of queries.

        Parameters
        ----------
        per_query : bool, default False
            A row for each query instead: its id, its segment if there are any, and each metric.
        by_segment : bool, default False
            A row for each segment and metric instead.
        """
        if flag("per_query", per_query):
            return query_frame(self, self.items())
        if flag("by_segment", by_segment):
            return segment_frame(self)
        return frame(self._records())

    def _records(self) -> list[dict[str, Any]]:
        """Return a row for each metric."""
        return [
            {
                "metric": name,
                "mean": float(value),
                "low": value.interval[0],
                "high": value.interval[1],
                "num_queries": value.num_queries,
                "num_skipped": value.num_skipped,
            }
            for name, value in self.items()
        ]

    def of_segments(self, queries: QueriesOfSegments | None) -> Evaluation:
        """Return this evaluation with those of segments, which are given by the numbers of their queries."""
        if queries is not None:
            self.segments = {name: self._part(chosen) for name, chosen in queries.items()}
        return self

    def _part(self, queries: NDArray[np.int64]) -> Evaluation:
        return Evaluation({name: value.part(queries) for name, value in self.items()})

    def _tables(self) -> list[Table]:
        head = ["metric", "mean", "95% interval", "queries", "skipped"]
        return [(head, self._rows()), *segment_tables(self, head)]

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, value in self.items():
            is_quick = value.num_queries <= _QUICK or "interval" in vars(value)
            ends = interval(value.interval) if is_quick else "see .interval"
            counts = [f"{value.num_queries:,}", f"{value.num_skipped:,}"]
            rows.append([name, number(value), ends, *counts])
        return rows


def first_value(evaluation: Evaluation) -> MetricValue:
    """Return the value of the first metric."""
    return next(iter(evaluation.values()))


def plain_value(value: MetricValue, ends: tuple[float, float] | None = None) -> dict[str, Any]:
    """Return a metric as plain numbers, with its own interval or another."""
    return {"mean": float(value), "interval": list(value.interval if ends is None else ends)}


def mean_of(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not NaN, the same for any order of queries."""
    counted = np.sort(values[~np.isnan(values)])
    return float(counted.mean()) if len(counted) else math.nan


def height(value: float) -> float:
    """Return a metric as a number to sort by: minus infinity if no query counts."""
    return -math.inf if math.isnan(value) else float(value)


@refuses_unknown(OF_EVALUATE)
def evaluate(
    scores: Any,
    docs: Any = None,
    *,
    y: Any = None,
    X: Any = None,
    qid: Any = None,
    group: Any = None,
    metrics: str | Sequence[str] = ("ndcg@10",),
    query_weight: Any = None,
    gain: Any = "exp2",
    ties: str = "expected",
    empty: str = "skip",
    relevant_from: float = 1,
    max_label: float | None = None,
    segments: Any = None,
    num_threads: int | None = None,
) -> Evaluation:
    """Evaluate a ranking: compute metrics of scores within queries.

    Parameters
    ----------
    scores : array-like of shape (num_docs,), ranker or str
        A score for each document, larger is better; ``-inf`` for documents that were not retrieved. Or what
        scores the features: a `Booster`, a fitted ranker of this or another library, a function of ``X``; or
        the name of the column of ``X`` that has the scores.
    docs : array-like of shape (num_docs,) or docs
        Labels, finite numbers from 0, which may be given as ``y=``, too. Or the documents with features: a
        table with ``y`` and ``qid``, ``(X, y, qid)`` or a mapping of these, as for `rustrank.tune`, or a
        `Dataset`, which only rankers of this library score.
    y : array-like of shape (num_docs,) or str, optional
        Labels, or the name of a column.
    X : array-like of shape (num_docs, num_features), optional
        The features, where ``docs`` or ``y`` are labels.
    qid : array-like of shape (num_docs,) or str, optional
        The query of each row: ids of any type, in any order; or the name of a column. Without ``qid`` and
        ``group``, a column ``qid`` has the query ids.
    group : array-like of shape (num_queries,), optional
        Instead of ``qid``: the number of rows of each query, in row order. Without either all rows
        are one query, with a warning from 1,000 rows on: ``group=[len(y)]`` says that they are.
    metrics : str or sequence of str, default ("ndcg@10",)
        ``ndcg``, ``dcg``, ``err``, ``map``, ``mrr``, ``precision``, ``recall``, ``pairwise`` or
        rank-biased precision with its persistence, ``rbp(p=0.8)``, each with or without a cut, as in
        ``err@20``, or as the mean over a range of cuts, as in ``ndcg@1..10``. Several stand in a list, or in a
        text separated by commas: ``"ndcg@10,map"``. Precision is divided by its cut, also where fewer docs are retrieved; without a
        cut, by the number of retrieved docs.
    query_weight : array-like or mapping, optional
        The weight of each query in the mean, in order of first appearance, or by id: a mapping, or
        a pandas Series with an index of its own. Or the name of a column, the same in all rows of a query.
    gain : {"exp2", "linear"}, sequence or mapping, default "exp2"
        The gain of a label in NDCG, DCG and ERR: ``2**label - 1``, the label itself, or
        ``gain[label]``.
    ties : {"expected", "rows", "worst"}, default "expected"
        Docs with equal scores: the expectation over their orders; the first row first; the
        least relevant first.
    empty : {"skip", "skip-one-label", "zero", "one"}, default "skip"
        Queries without a relevant document, or without two different labels in ``pairwise``: left out
        of the mean and counted as skipped, or with the value 0 or 1. ``"skip-one-label"`` also leaves
        out every query whose documents all have the same label, as Wu et al. (2008) do.
    relevant_from : float, default 1
        The smallest label of a relevant doc, for metrics of relevant and irrelevant docs.
    max_label : float, optional
        The top of ERR's label scale; the largest label of the data by default.
    segments : array-like, mapping or str, optional
        What queries are grouped by, such as their language: a value for each row, which is the same in
        all rows of a query, for each query in order of first appearance, or by query id (a mapping, or a
        pandas Series of queries with an index of its own); or the name of a column. The result then has the evaluation of each segment, too, in ``.segments``.
    num_threads : int, optional
        Threads to use; all cores by default. The result does not depend on it.

    Returns
    -------
    Evaluation
        A mapping from the name of a metric to its `MetricValue`.

    Raises
    ------
    DataError
        Labels, scores, queries or weights cannot be used.
    ParamError
        A metric or an option is unknown or out of range.

    Examples
    --------
    >>> import rustrank as rr
    >>> scores = [0.9, 0.4, 0.1, 0.7, 0.7]
    >>> labels = [1, 2, 0, 0, 1]
    >>> result = rr.evaluate(scores, labels, qid=list("aaabb"), metrics=["ndcg@10", "mrr"])
    >>> print(f"{result['mrr']:.3f}")  # b: its docs are tied, (1 + 1/2) / 2
    0.875
    >>> result["mrr"].per_query
    array([1.  , 0.75])
    >>> result.worst("mrr", 1)
    [('b', 0.75)]
    >>> by_language = rr.evaluate(scores, labels, qid=list("aaabb"), segments={"a": "en", "b": "fr"})
    >>> by_language.segments["fr"].num_queries
    1
    """
    judging = Judging(metrics, gain, ties, empty, relevant_from, max_label, num_threads)
    arguments = {"y": y, "X": X, "qid": qid, "group": group}
    judged = judged_docs(docs, {**arguments, "query_weight": query_weight, "segments": segments})
    queries = judged.queries, judged.query_ids
    parts = as_segments(judged.segments, *queries, column=segments)
    warn_of_other_scale(scores, judging, judged.labels)
    found = scores_of(scores, judged, "scores", judging.num_threads)
    result = judge_docs(found, judged, judging)
    warn_of_nothing(result)
    return result.of_segments(parts)


def judge_docs(scores: NDArray[np.float64], docs: JudgedDocs, judging: Judging) -> Evaluation:
    """Compute metrics of documents, of their labels and of the further labels of a data set."""
    queries, extra = (docs.queries, docs.query_ids), docs.extra_labels
    made: dict[str, MetricValue] = {}
    if not extra:
        with _columns_in_errors(docs, judging):
            return judge(scores, docs.labels, queries, judging, docs.query_weight)
    for name in judging.metrics:
        of, metric = _rustrank.named_metric(name, list(extra))
        own: dict[str, Any] = {"metrics": [metric]}
        if of is not None:
            # Amounts, as in training: twice as much is worth twice as much.
            own |= {"gain": "linear", "max_label": None}
        labels = docs.labels if of is None else extra[of]
        with _columns_in_errors(docs, judging):
            values_of = judge(scores, labels, queries, judging.but(**own), docs.query_weight)
        (value,) = values_of.values()
        values = np.array(value.per_query)
        made[name] = MetricValue(
            name, values, docs.query_ids, docs.query_weight, judging.num_threads
        )
    return Evaluation(made)


@contextmanager
def _columns_in_errors(docs: JudgedDocs, judging: Judging) -> Iterator[None]:
    """Let the error of an unknown metric that is a column say how its values are labels."""
    try:
        yield
    except ParamError as error:
        columns = labels_of(docs.X)
        for name in judging.metrics if error.code == "metric.name" else ():
            of, _, cut = name.partition("@")
            of, _, metric = of.partition(":")
            if of in columns:
                metric = "@".join(filter(None, (metric or "ndcg", cut)))
                error.args = (
                    f"{error}; {of} is a column: for metrics of its values, pass y={of!r}, "
                    f'gain="linear", metrics={metric!r}, or a Dataset with extra_labels={of!r}',
                )
                break
        else:
            if error.code == "metric.name" and docs.extra_labels:
                error.args = (f"{error}{meant_labels(str(error), docs.extra_labels)}",)
        raise


def meant_labels(message: str, extra_labels: Iterable[str]) -> str:
    """Return the suggestion of extra labels for the error of an unknown metric, as the end of the message."""
    unknown = re.search(r"unknown metric `([^`:@]*)", message)
    near = unknown and suggestion(unknown[1], extra_labels)
    return near.replace("?", ", of the extra labels?") if near else ""


def judge(
    scores: NDArray[np.float64],
    labels: NDArray[np.float32],
    queries: tuple[Queries, NDArray[Any]],
    judging: Judging,
    weight: NDArray[np.float64] | None,
    what: str = "scores",
) -> Evaluation:
    """Compute metrics of arrays that are already checked."""
    check_length(what, len(scores), len(labels), "rows")
    ranked = SimpleNamespace(scores=scores, labels=labels, queries=queries[0])
    ids, threads = queries[1], judging.num_threads
    with query_ids_in_errors(ids):
        values = _rustrank.evaluate(ranked, judging)
        made = {name: MetricValue(name, one, ids, weight, threads) for name, one in values}
    return Evaluation(made)


def warn_of_nothing(result: Evaluation) -> None:
    """Warn of means that are NaN, with the reason; called by public functions only."""
    silent = [name for name, value in result.items() if math.isnan(value)]
    if not silent:
        return
    why = "the queries that are not skipped have weight 0"
    if all(result[name].num_skipped == result.num_queries for name in silent):
        why = (
            f"nothing can be found in any of {count(result.num_queries, 'query', 'queries')} (no relevant "
            'doc, or no two different labels); empty="zero" would count them'
        )
    message = f"the mean of {', '.join(silent)} is NaN: {why}"
    warn_caller(message)


def named_metrics(metrics: Any) -> list[str]:
    if not hasattr(metrics, "__iter__") or isinstance(metrics, (bytes, Mapping)):
        raise wrong_kind("metrics", metrics, "names such as 'ndcg@10'", "metric.name")
    names = separated(metrics) if isinstance(metrics, str) else list(metrics)
    for name in names:
        if not isinstance(name, str):
            raise wrong_kind("metrics", name, "a name such as 'ndcg@10'", "metric.name")
    if not names:
        raise ParamError("metrics is empty: expected a name such as 'ndcg@10'", code="metric.name")
    return list(dict.fromkeys(map(str, names)))


def _gain(gain: Any) -> str | list[float]:
    if isinstance(gain, str):
        return gain
    if callable(gain) or not hasattr(gain, "__iter__"):
        what = "a function" if callable(gain) else shown(gain)
        message = (
            f"gain: got {what}, expected 'exp2', 'linear' or gains by label: [f(0), f(1), ...]"
        )
        raise ParamKindError(message, code="metric.gain")
    if isinstance(gain, Mapping):
        for label in range(len(gain)):
            if label not in gain:
                message = f"gain has no value for label {label}, and one for a label above it"
                raise ParamError(message, code="metric.gain")
        gain = [gain[label] for label in range(len(gain))]
    table: list[float] = as_doubles(gain, "gain").tolist()
    return table


def err_relevance(scores: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.float64]:
    """Turn the scores of a booster of ``objective="err_logistic"`` into probabilities of relevance.

    With queries, they are normalised within each: with m the most probable doc's probability, a doc
    of probability p counts as ``m * (1 + p - m)``, so that docs of little relevance differ less where
    none is of much. Neither changes the order of a query's docs; both are for mixing rankers, and
    for features of other rankers.

    Parameters
    ----------
    scores : array-like of shape (num_docs,)
        The scores.
    qid, group : optional
        The query of each row, or the number of rows of each query, as for `rustrank.Dataset`.

    Examples
    --------
    >>> import rustrank as rr
    >>> rr.err_relevance([0.0, 0.0]).tolist()
    [0.5, 0.5]
    >>> rr.err_relevance([0.0, -50.0], group=[2]).round(3).tolist()
    [0.5, 0.25]
    """
    numbers = as_scores(scores, "scores")
    # From the side where nothing overflows.
    odds = np.exp(-np.abs(numbers))
    relevance: NDArray[np.float64] = np.where(numbers < 0, odds, 1.0) / (1.0 + odds)
    if qid is None and group is None:
        return relevance
    queries, ids = as_queries(qid, group, len(numbers))
    codes = query_codes(queries)
    check_length("scores", len(numbers), len(codes), "the rows of all groups")
    most = np.zeros(len(ids))
    np.maximum.at(most, codes, relevance)
    top = most[codes]
    normalised: NDArray[np.float64] = top * (1.0 + relevance - top)
    return normalised
