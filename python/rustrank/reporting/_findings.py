"""The figures of a report: everything is computed here, and rendered as HTML in other modules."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rustrank.errors import RustrankError
from rustrank.metrics.comparison import Comparison, MetricComparison
from rustrank.metrics.evaluation import Drawing, Evaluation, Judging
from rustrank.reporting._swapped_docs import Case, CaseFinder, most_changed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rustrank.combining.side_by_side import SideBySide
    from rustrank.model.booster import Booster

    Floats = NDArray[np.float64]

#: The largest cut of the plot over cuts, and the number of bootstrap resamples of its intervals.
_CUTS, _CUT_DRAWS = 20, 2000
#: The most documents whose SHAP values are averaged.
_EXPLAINED = 1000
#: The relative difference up to which scores, summed in different orders, count as equal.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report."""

    judging: Judging
    drawing: Drawing
    level: float
    title: str
    examples: int

    @property
    def metric(self) -> str:
        """The first metric, which decides in everything that uses only one."""
        return self.judging.metrics[0]

    def compare(self, evaluations: dict[str, Evaluation], names: tuple[str, str]) -> Comparison:
        """Compare two of the evaluated rankers."""
        a, b = (evaluations[name] for name in names)
        return Comparison.of(a, b, names, self.drawing, self.level)


@dataclass(frozen=True)
class Pair:
    """A comparison of two rankers by the first metric, with its p-value after Holm's correction."""

    compared: MetricComparison
    p_holm: float


@dataclass(frozen=True, eq=False)
class Findings:
    """All figures of a report."""

    side: SideBySide
    options: ReportOptions
    baseline: str
    #: The best other ranker by the first metric, one that differs from the baseline if there is any.
    best: str | None
    evaluations: dict[str, Evaluation]
    intervals: dict[str, dict[str, tuple[float, float]]]
    #: The baseline against each other ranker.
    against: dict[str, Comparison]
    pairs: list[Pair]
    #: For each ranker, the first metric at each cut with its interval; empty if the metric has no cut.
    cuts: dict[str, list[tuple[int, float, tuple[float, float]]]]
    gained: list[Case]
    lost: list[Case]

    @property
    def names(self) -> list[str]:
        """The names of all rankers."""
        return list(self.evaluations)

    def compared(self) -> Iterator[tuple[MetricComparison, Comparison]]:
        """Yield each comparison with the baseline, by the first metric and by all."""
        for one in self.against.values():
            yield one[self.options.metric], one

    def ranking(self) -> list[str]:
        """Return the names of the rankers, best first by the first metric."""
        metric = self.options.metric
        means = {name: float(one[metric]) for name, one in self.evaluations.items()}
        return sorted(means, key=lambda name: math.inf if math.isnan(means[name]) else -means[name])


def compute_findings(side: SideBySide, options: ReportOptions, baseline: str) -> Findings:
    """Compute all figures of a report."""
    judging, metric = options.judging, options.metric
    evaluations = side.evaluate_all(judging)
    against = {
        name: options.compare(evaluations, (baseline, name))
        for name in evaluations
        if name != baseline
    }
    best = _best(evaluations, against, metric)
    cases: list[list[Case]] = [[], []]
    if best is not None:
        values = {name: evaluations[name][metric].per_query for name in (baseline, best)}
        # A single query is evaluated on the label scale of the whole set.
        top = judging.max_label
        alone = replace(judging, max_label=float(side.labels.max()) if top is None else top)
        finder = CaseFinder(side, alone, values)
        chosen = most_changed(against[best][metric].per_query, options.examples)
        cases = [finder.cases(some) for some in chosen]
    intervals = {
        name: {key: options.drawing.interval(value, options.level) for key, value in one.items()}
        for name, one in evaluations.items()
    }
    return Findings(
        side=side,
        options=options,
        baseline=baseline,
        best=best,
        evaluations=evaluations,
        intervals=intervals,
        against=against,
        pairs=_pairs(evaluations, against, baseline, options),
        cuts=_cuts(side, options),
        gained=cases[0],
        lost=cases[1],
    )


def _best(
    evaluations: dict[str, Evaluation], against: dict[str, Comparison], metric: str
) -> str | None:
    """Return the best ranker besides the baseline; one that ranks as it does only if all do."""
    known = [name for name in against if not math.isnan(evaluations[name][metric])]
    differ = [name for name in known if against[name][metric].wins or against[name][metric].losses]
    return max(differ or known, key=lambda name: float(evaluations[name][metric]), default=None)


def _pairs(
    evaluations: dict[str, Evaluation],
    against: dict[str, Comparison],
    baseline: str,
    options: ReportOptions,
) -> list[Pair]:
    """Compare all pairs by the first metric; those with the baseline are reused."""
    metric = options.metric
    alone = {name: Evaluation({metric: one[metric]}) for name, one in evaluations.items()}
    made = [
        against[names[1]][metric] if names[0] == baseline else options.compare(alone, names)[metric]
        for names in itertools.combinations(evaluations, 2)
    ]
    corrected = holm([one.p_randomisation for one in made])
    return [Pair(one, p) for one, p in zip(made, corrected, strict=True)]


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for the number of tests (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, largest = [math.nan] * len(p_values), 0.0
    for place, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def _cuts(
    side: SideBySide, options: ReportOptions
) -> dict[str, list[tuple[int, float, tuple[float, float]]]]:
    name, _, _ = options.metric.partition("@")
    places = range(1, _CUTS + 1)
    judging = replace(options.judging, metrics=[f"{name}@{cut}" for cut in places])
    drawing = replace(options.drawing, resamples=min(options.drawing.resamples, _CUT_DRAWS), seed=0)
    try:
        by_cut = side.evaluate_all(judging)
    except RustrankError:
        # The metric has no cut.
        return {}

    return {
        ranker: [
            (cut, float(value), drawing.interval(value, options.level))
            for cut, value in zip(places, values.values(), strict=True)
        ]
        for ranker, values in by_cut.items()
    }


def shap_means(side: SideBySide, booster: Booster) -> Floats | None:
    """Return the mean absolute SHAP value of each feature, over a sample of whole queries."""
    if not side.has_features or not len(side.labels):
        return None
    query = side.query
    sizes = np.bincount(query, minlength=len(side.query_ids))
    # A sample of evenly spaced queries.
    step = max(1, math.ceil(len(query) / _EXPLAINED))
    some = np.arange(0, len(sizes), step)
    rows = np.flatnonzero(np.isin(query, some))
    rows = rows[np.argsort(query[rows], kind="stable")]
    try:
        values = booster.explain(side.cells(rows), group=sizes[some][sizes[some] > 0])
    except RustrankError:
        return None
    return np.asarray(np.abs(values[:, :-1]).mean(axis=0), np.float64)


def by_rounds(side: SideBySide, name: str, judging: Judging) -> list[tuple[int, float]] | None:
    """Return the first metric of a booster after 1, 2, 4, ... and all rounds."""
    booster = side.boosters[name]
    rounds = booster.num_rounds
    if rounds < 2 or side.X is None:
        return None
    places = sorted({*(2**power for power in range(rounds.bit_length())), rounds})
    try:
        scores = [side.score(booster.truncate(at)) for at in places]
    except RustrankError:
        return None
    # A model with parts besides trees is not the sum of its rounds.
    if not np.allclose(scores[-1], side.by_ranker[name], rtol=_ROUNDING, atol=_ROUNDING):
        return None
    metric = judging.metrics[0]
    alone = replace(judging, metrics=[metric])
    values = [side.evaluate(one, alone)[metric] for one in scores]
    return [(at, float(value)) for at, value in zip(places, values, strict=True)]
