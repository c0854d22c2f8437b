"""Comparison of two rankings of the same documents, with significance tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.errors import ParamError, ParamKindError, wrong_kind, wrong_value
from rustrank.formatting import (
    ResultMapping,
    Table,
    TableResult,
    interval,
    number,
    p_text,
    p_value,
    percent,
)
from rustrank.inputs.docs import judged_docs
from rustrank.inputs.keywords import OF_EVALUATE, refuses_unknown
from rustrank.inputs.rankers import scores_of
from rustrank.inputs.scalars import as_list, flag
from rustrank.metrics.evaluation import (
    Drawing,
    Evaluation,
    Judging,
    MetricValue,
    judge_docs,
    warn_of_nothing,
)
from rustrank.metrics.frames import frame, query_frame, segment_frame, segment_tables
from rustrank.metrics.label_scale import warn_of_other_scale
from rustrank.metrics.segments import QueriesOfSegments, as_segments
from rustrank.plotting.results import plot_comparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Comparison", "MetricComparison", "compare"]

#: The attributes of a comparison that are plain values.
_PLAIN = ["difference", "level", "interval", "p_t", "p_randomisation", "wins", "ties", "losses"]


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparison(TableResult):
    """The comparison of two rankings by one metric; differences are the second minus the first.

    Attributes
    ----------
    metric : str
        The metric, such as ``ndcg@10``.
    names : tuple of str
        The names of the first and the second ranking.
    a, b : MetricValue
        Their means.
    per_query : ndarray of float64
        The difference for each query, in order of first appearance; NaN where it is skipped.
    difference : float
        The mean of these differences.
    interval : tuple of float
        The bootstrap interval of the mean, at ``level``.
    p_t, p_randomisation : float
        Two-sided p-values of the paired t-test and of the paired randomisation test, of which
        ``exact`` says whether all patterns of signs were enumerated. Differences are multiplied by the
        query weights.
    wins, ties, losses : int
        Queries for which the second ranking is better, equal and worse.
    level : float
        The level of the interval. A difference is significant ("clear") if the p-value of the
        randomisation test is below ``1 - level``.
    """

    metric: str
    names: tuple[str, str]
    a: MetricValue
    b: MetricValue
    per_query: NDArray[np.float64] = field(repr=False)
    difference: float
    interval: tuple[float, float]
    p_t: float
    p_randomisation: float
    exact: bool
    wins: int
    ties: int
    losses: int
    level: float

    @property
    def query_ids(self) -> NDArray[Any]:
        """The id of each query, in the order of ``per_query``."""
        return self.a.query_ids

    @property
    def is_clear(self) -> bool:
        """Whether the difference is significant by the randomisation test."""
        return self.p_randomisation < 1 - self.level

    @property
    def statement(self) -> str:
        """The result as a sentence; it names what is subtracted from what."""
        return self._sentence(self.p_randomisation, "p")

    def _sentence(self, p: float, p_name: str) -> str:
        """Return the result as a sentence that is decided by the given p-value, which is named."""
        if math.isnan(self.difference):
            return f"{self.metric}: no query counts, so nothing can be said"
        first, second = self.names
        if not p < 1 - self.level:
            verdict = f"no clear difference between {first} and {second}"
        elif self.difference > 0:
            verdict = f"{second} is better than {first}"
        else:
            verdict = f"{first} is better than {second}"
        return (
            f"{self.metric}: {verdict}: {second} minus {first} {number(self.difference, '+')} "
            f"[{number(self.interval[0], '+')}, {number(self.interval[1], '+')}], "
            f"{p_text(p, '', p_name)}"
        )

    def _tables(self) -> list[Table]:
        return Comparison({self.metric: self})._tables()

    def _sentences(self) -> list[str]:
        return [self.statement]

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference of every query, the largest gain first; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes
        """
        return plot_comparison(self, ax)

    def _shown_p(self, p: float) -> str:
        """Return a p-value as text; a dash if no query counts."""
        return p_value(math.nan if math.isnan(self.difference) else p)

    def cells(self) -> list[str]:
        """Return the difference, its interval, the p-values, wins, ties and losses as text."""
        p_values = [self._shown_p(p) for p in (self.p_t, self.p_randomisation)]
        counts = [f"{queries:,}" for queries in (self.wins, self.ties, self.losses)]
        ends = interval(self.interval, "+")
        return [number(self.difference, "+"), ends, *p_values, *counts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        first, second = self.names
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {
            "means": {first: float(self.a), second: float(self.b)},
            **plain,
            "interval": list(self.interval),
            "num_queries": self.a.num_queries,
            "num_skipped": int(np.isnan(self.per_query).sum()),
        }


class Comparison(ResultMapping[MetricComparison]):
    """Comparisons by the name of the metric, in the order of the request."""

    @classmethod
    def of(
        cls, a: Evaluation, b: Evaluation, names: tuple[str, str], drawing: Drawing
    ) -> Comparison:
        """Compare two evaluations of the same queries by the same metrics."""
        return cls({name: compare_values(a[name], b[name], names, drawing) for name in a})

    _absent = Evaluation._absent

    #: The comparison on the queries of each segment, where segments were given.
    segments: Mapping[Any, Comparison] = MappingProxyType({})

    def to_pandas(self, *, per_query: bool = False, by_segment: bool = False) -> Any:
        """Return a pandas DataFrame: a row for each metric, with both means and their difference.

        Parameters
        ----------
        per_query : bool, default False
            A row for each query instead: its id, its segment if there are any, and for each metric both
            values and their difference.
        by_segment : bool, default False
            A row for each segment and metric instead, with ``p_holm``: the p-value of the randomisation
            test, corrected for the number of segments.
        """
        if flag("per_query", per_query):
            columns = [
                (f"{name} {of}", part)
                for name, one in self.items()
                for of, part in (*zip(one.names, (one.a, one.b), strict=True), ("difference", one))
            ]
            return query_frame(self, columns)
        return segment_frame(self) if flag("by_segment", by_segment) else frame(self._records())

    def _records(self) -> list[dict[str, Any]]:
        """Return a row for each metric."""
        records = []
        for name, one in self.items():
            plain = one.to_dict()
            low, high = plain.pop("interval")
            means, p_holm = plain.pop("means"), self._p_holm.get(name)
            corrected = {} if p_holm is None else {"p_holm": p_holm}
            ends = {"difference": plain.pop("difference"), "low": low, "high": high}
            records.append({"metric": name, **means, **ends, **plain, **corrected})
        return records

    #: The p-values of a segment by metric, corrected for the number of segments.
    _p_holm: Mapping[str, float] = MappingProxyType({})

    def of_segments(
        self, queries: QueriesOfSegments | None, names: tuple[str, str], drawing: Drawing
    ) -> Comparison:
        """Return this comparison with those of segments, which are given by the numbers of their queries."""
        if queries is None:
            return self
        parts = {
            segment: Comparison(
                {
                    name: compare_values(one.a.part(chosen), one.b.part(chosen), names, drawing)
                    for name, one in self.items()
                }
            )
            for segment, chosen in queries.items()
        }
        for part in parts.values():
            part._p_holm = {}
        for name in self:
            p_values = holm([part[name].p_randomisation for part in parts.values()])
            for part, p in zip(parts.values(), p_values, strict=True):
                part._p_holm = {**part._p_holm, name: p}
        self.segments = parts
        return self

    @property
    def statements(self) -> list[str]:
        """The results as sentences, one for each metric."""
        return [value.statement for value in self.values()]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain numbers of each metric; of a segment, ``p_holm`` is the corrected p-value."""
        plain = {name: value.to_dict() for name, value in self.items()}
        for name, p in self._p_holm.items():
            plain[name]["p_holm"] = p
        return plain

    def _tables(self) -> list[Table]:
        one = next(iter(self.values()))
        head = ["metric", *one.names, "difference", f"{percent(one.level)} interval"]
        head += ["p (t)", "p (random)", "wins", "ties", "losses"]
        of_segments = [*head[:-5], "p (Holm)", *head[-3:], "queries"]
        return [(head, self._rows()), *segment_tables(self, of_segments)]

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, value in self.items():
            cells = value.cells()
            if name in self._p_holm:
                # Of segments, only the corrected p-value is shown.
                cells[2:4] = [value._shown_p(self._p_holm[name])]
                cells.append(f"{value.a.num_queries:,}")
            rows.append([name, number(value.a), number(value.b), *cells])
        return rows


@refuses_unknown(
    {**OF_EVALUATE, **dict.fromkeys(("scores", "y_pred"), "the two rankings are a and b")}
)
def compare(
    a: Any,
    b: Any,
    docs: Any = None,
    *,
    y: Any = None,
    X: Any = None,
    qid: Any = None,
    group: Any = None,
    metrics: str | Sequence[str] = ("ndcg@10",),
    names: tuple[str, str] = ("a", "b"),
    query_weight: Any = None,
    gain: Any = "exp2",
    ties: str = "expected",
    empty: str = "skip",
    relevant_from: float = 1,
    max_label: float | None = None,
    segments: Any = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    num_threads: int | None = None,
) -> Comparison:
    """Compare two rankings of the same docs, query by query.

    Parameters
    ----------
    a, b : array-like of shape (num_docs,), ranker or str
        Scores of the two rankings, or what scores the features, as for `evaluate`. All differences are
        ``b`` minus ``a``.
    docs, y, X, qid, group, metrics, query_weight, gain, ties, empty, relevant_from, max_label, segments,
    num_threads
        As for `evaluate`. The result has the comparison of each segment in ``.segments``; their p-values
        are corrected for the number of segments where they are printed (Holm 1979).
    names : tuple of str, default ("a", "b")
        What to call the two in what is printed and in errors.
    level : float, default 0.95
        The level of the bootstrap interval of the difference; also, a difference is called clear if
        its p-value is below ``1 - level``. With many metrics some will be so by chance.
    resamples, seed : int
        How many replicates the interval and the randomisation test draw (10000 by default), and the
        seed of the draws.

    Returns
    -------
    Comparison
        A mapping from the name of a metric to its `MetricComparison`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = web = rr.datasets.make_web(100, seed=0)
    >>> bm25 = X[:, web.feature_names.index("whole_bm25")]
    >>> quality = X[:, web.feature_names.index("quality")]
    >>> found = rr.compare(bm25, bm25 + quality / 5, y, qid=qid, names=("BM25", "both"))
    >>> found["ndcg@10"].is_clear
    True
    >>> found["ndcg@10"].wins + found["ndcg@10"].ties + found["ndcg@10"].losses
    100
    """
    judging = Judging(metrics, gain, ties, empty, relevant_from, max_label, num_threads)
    drawing = Drawing(resamples, seed, num_threads, level)
    called = _two(names)
    arguments = {"y": y, "X": X, "qid": qid, "group": group}
    arguments |= {"query_weight": query_weight, "segments": segments}
    try:
        judged = judged_docs(docs, arguments)
    except ParamKindError as error:
        if docs is None and y is None and error.code == "docs":
            hint = "rr.compare takes two rankers before them, and rr.evaluate and rr.report one"
            error.args = (f"{error}; {hint}",)
        raise
    queries = judged.queries, judged.query_ids
    parts = as_segments(judged.segments, *queries, column=segments)
    for one in (a, b):
        warn_of_other_scale(one, judging, judged.labels)
    first, second = (
        judge_docs(scores_of(one, judged, name, judging.num_threads), judged, judging)
        for one, name in zip((a, b), called, strict=True)
    )
    warn_of_nothing(first)
    found = Comparison.of(first, second, called, drawing)
    return found.of_segments(parts, called, drawing)


def difference_cells(found: MetricComparison | None, p: float | None = None) -> list[str]:
    """Return the cells of a table for a difference and its p-value, or ``p``; empty ones for None."""
    if found is None:
        return ["", ""]
    return [
        number(found.difference, "+"),
        found._shown_p(found.p_randomisation if p is None else p),
    ]


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for the number of tests (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, largest = [math.nan] * len(p_values), 0.0
    for place, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def _two(names: Any) -> tuple[str, str]:
    called = as_list("names", names, "two names")
    if not all(isinstance(name, str) for name in called):
        raise wrong_kind("names", names, "two names")
    if len(called) != 2:
        raise wrong_value("names", names, "two names")
    if called[0] == called[1]:
        message = f"names: both are {called[0]!r}, expected two different ones"
        raise ParamError(message, code="names")
    return called[0], called[1]


def compare_values(
    a: MetricValue, b: MetricValue, names: tuple[str, str], drawing: Drawing
) -> MetricComparison:
    """Compare two rankings by their values of one metric."""
    differences = b.per_query - a.per_query
    differences.setflags(write=False)
    weight, threads = a.query_weight, drawing.num_threads
    # Computed from the better ranking's side, so that exchanging the two changes signs and no more.
    sign = -1.0 if _rustrank.mean(differences, weight, threads)[0] < 0 else 1.0
    lead = sign * differences + 0.0
    tested = lead
    if weight is not None:
        # Under random signs of these the mean is what the weighted mean is without a difference.
        tested = np.where(weight > 0, lead * (weight / weight.max()), math.nan)
    p_values, signs = _rustrank.significance_tests(differences, tested, drawing)
    (p_t, p_randomisation, exact), (wins, ties, losses) = p_values, signs
    low, high = _rustrank.bootstrap(lead, weight, drawing.level, drawing)
    return MetricComparison(
        metric=a.name,
        names=names,
        a=a,
        b=b,
        per_query=differences,
        difference=sign * _rustrank.mean(lead, weight, threads)[0],
        interval=(low, high) if sign > 0 else (-high, -low),
        p_t=p_t,
        p_randomisation=p_randomisation,
        exact=exact,
        wins=wins,
        ties=ties,
        losses=losses,
        level=drawing.level,
    )
