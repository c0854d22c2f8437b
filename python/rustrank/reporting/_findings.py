"""The figures of a report: everything is computed here, and rendered as HTML in other modules."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rustrank.errors import RustrankError
from rustrank.metrics.comparison import Comparison, MetricComparison, holm
from rustrank.metrics.evaluation import Drawing, Evaluation, Judging, first_value, height
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
EXPLAINED = 1000
#: The relative difference up to which scores, summed in different orders, count as equal.
_ROUNDING = 1e-6


class Pair(NamedTuple):
    """A comparison of two rankers by the first metric, with its p-value after Holm's correction."""

    compared: MetricComparison
    p_holm: float


class Findings:
    """All figures of a report.

    Attributes
    ----------
    best : str or None
        The best other ranker by the first metric, one that differs from the baseline if there is any.
    against : dict from str to Comparison
        The baseline against each other ranker.
    pairs : list of Pair
        All pairs, compared by the first metric.
    cuts : dict from str to list of (int, float, (float, float))
        For each ranker, the first metric at each cut with its interval; empty if the metric has no cut.
    gained, lost : list of Case
        The queries for which the best ranker is better, and those for which the baseline is.
    """

    def __init__(
        self, side: SideBySide, judging: Judging, drawing: Drawing, baseline: str, examples: int
    ) -> None:
        self.side, self.judging, self.drawing, self.baseline = side, judging, drawing, baseline
        self.metric = judging.metric
        self.evaluations = side.evaluate_all(judging)
        self.against = {
            name: self._compare(self.evaluations, (baseline, name))
            for name in self.evaluations
            if name != baseline
        }
        self.best = self._best()
        self.gained, self.lost = self._cases(examples)
        self.intervals = {
            name: {key: drawing.interval(value) for key, value in one.items()}
            for name, one in self.evaluations.items()
        }
        self.pairs, self.cuts = self._pairs(), self._cuts()

    @property
    def names(self) -> list[str]:
        """The names of all rankers."""
        return list(self.evaluations)

    def compared(self) -> Iterator[tuple[MetricComparison, Comparison]]:
        """Yield each comparison with the baseline, by the first metric and by all."""
        for one in self.against.values():
            yield one[self.metric], one

    @property
    def p_name(self) -> str:
        """What the p-value that decides is called: it is corrected if there are several pairs."""
        return "p (Holm)" if len(self.pairs) > 1 else "p"

    def p_of(self, other: str) -> float:
        """Return the p-value of the baseline against another ranker, corrected for all pairs."""
        return next(
            pair.p_holm for pair in self.pairs if set(pair.compared.names) == {self.baseline, other}
        )

    @property
    def statements(self) -> list[str]:
        """The comparisons with the baseline as sentences, decided by the corrected p-values."""
        return [one._sentence(self.p_of(one.names[1]), self.p_name) for one, _ in self.compared()]

    def ranking(self) -> list[str]:
        """Return the names of the rankers, best first by the first metric."""
        means = {name: one[self.metric] for name, one in self.evaluations.items()}
        return sorted(means, key=lambda name: -height(means[name]))

    def _compare(self, evaluations: dict[str, Evaluation], names: tuple[str, str]) -> Comparison:
        """Compare two of the evaluated rankers."""
        a, b = (evaluations[name] for name in names)
        return Comparison.of(a, b, names, self.drawing)

    def _best(self) -> str | None:
        """Return the best ranker besides the baseline; one that ranks as it does only if all do."""
        means = {name: float(self.evaluations[name][self.metric]) for name in self.against}
        known = [name for name in means if not math.isnan(means[name])]
        found = {name: self.against[name][self.metric] for name in known}
        differ = [name for name in known if found[name].wins or found[name].losses]
        return max(differ or known, key=lambda name: means[name], default=None)

    def _cases(self, examples: int) -> tuple[list[Case], list[Case]]:
        if self.best is None:
            return [], []
        both = (self.baseline, self.best)
        values = {name: self.evaluations[name][self.metric].per_query for name in both}
        # A single query is evaluated on the label scale of the whole set.
        top = self.judging.max_label
        alone = self.judging.but(max_label=float(self.side.labels.max()) if top is None else top)
        finder = CaseFinder(self.side, alone, values)
        gained, lost = most_changed(self.against[self.best][self.metric].per_query, examples)
        return finder.cases(gained), finder.cases(lost)

    def _pairs(self) -> list[Pair]:
        """Compare all pairs by the first metric; those with the baseline are reused."""
        metric = self.metric
        alone = {name: Evaluation({metric: one[metric]}) for name, one in self.evaluations.items()}
        made = [
            (self.against[b] if a == self.baseline else self._compare(alone, (a, b)))[metric]
            for a, b in itertools.combinations(self.evaluations, 2)
        ]
        corrected = holm([one.p_randomisation for one in made])
        return [Pair(*both) for both in zip(made, corrected, strict=True)]

    def _cuts(self) -> dict[str, list[tuple[int, float, tuple[float, float]]]]:
        name, _, _ = self.metric.partition("@")
        places = range(1, _CUTS + 1)
        drawing = self.drawing
        few = Drawing(min(drawing.resamples, _CUT_DRAWS), 0, drawing.num_threads, drawing.level)
        try:
            by_cut = self.side.evaluate_all(
                self.judging.but(metrics=[f"{name}@{cut}" for cut in places])
            )
        except RustrankError:
            # The metric has no cut.
            return {}
        return {
            ranker: [
                (cut, float(value), few.interval(value))
                for cut, value in zip(places, values.values(), strict=True)
            ]
            for ranker, values in by_cut.items()
        }


def shap_means(side: SideBySide, booster: Booster) -> Floats | None:
    """Return the mean absolute SHAP value of each feature, over a sample of whole queries."""
    if not len(side.labels):
        return None
    query = side.query
    sizes = np.bincount(query, minlength=len(side.query_ids))
    # A sample of evenly spaced queries.
    step = max(1, math.ceil(len(query) / EXPLAINED))
    some = np.arange(0, len(sizes), step)
    rows = np.flatnonzero(np.isin(query, some))
    rows = rows[np.argsort(query[rows], kind="stable")]
    try:
        cells = side.cells(rows, booster)
        if cells is None:
            return None
        values = booster._explain_numbers(cells, sizes[some][sizes[some] > 0])
    except RustrankError:
        return None
    return np.asarray(np.abs(values[:, :-1]).mean(axis=0), np.float64)


def by_rounds(side: SideBySide, name: str, judging: Judging) -> list[tuple[int, float]] | None:
    """Return the first metric of a booster after 1, 2, 4, ... and all rounds; None of one without rounds."""
    booster = side.boosters[name]
    rounds, least = booster.num_rounds, booster._least_rounds()
    if rounds < 2 or least is None or side.X is None:
        return None
    # The rounds of a base that is a mixture are there from the start.
    powers = {2**power for power in range(rounds.bit_length())}
    places = sorted({max(least, 1), rounds, *(at for at in powers if at > least)})
    try:
        scores = [side.score(booster.truncate(at)) for at in places]
    except RustrankError:
        return None
    # A model with parts besides trees is not the sum of its rounds.
    if not np.allclose(scores[-1], side.by_ranker[name], rtol=_ROUNDING, atol=_ROUNDING):
        return None
    alone = judging.but(metrics=judging.metric)
    values = [first_value(side.evaluate(one, alone)) for one in scores]
    return [(at, float(value)) for at, value in zip(places, values, strict=True)]
