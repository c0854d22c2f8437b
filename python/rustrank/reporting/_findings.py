"""What a report says, as figures: everything is computed here, and nothing is written."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import RustrankError
from rustrank.metrics.comparison import Comparison, MetricComparison
from rustrank.metrics.evaluation import Drawing, Evaluation, Judging
from rustrank.reporting._swapped_docs import Case, Casebook, changed_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rustrank.combining.side_by_side import SideBySide
    from rustrank.model.booster import Booster

    Floats = NDArray[np.float64]

#: The metric is drawn at all cuts up to here; its intervals are made of so many draws.
_CUTS, _CUT_DRAWS = 20, 2000
#: Documents whose SHAP values are averaged, at most.
_EXPLAINED = 1000
#: Relative difference of scores up to which two ways of adding them up are the same.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Choices:
    """What was asked for."""

    judging: Judging
    drawing: Drawing
    level: float
    title: str
    examples: int

    @property
    def metric(self) -> str:
        """The metric that decides in whatever looks at one alone."""
        return self.judging.metrics[0]


@dataclass(frozen=True)
class Pair:
    """Two rankers by the first metric, and the p-value among those of all pairs (Holm)."""

    compared: MetricComparison
    p_holm: float


@dataclass(frozen=True, eq=False)
class Findings:
    """All that a report says."""

    side: SideBySide
    choices: Choices
    baseline: str
    #: The best by the first metric of those that differ from the baseline; None if there are no others.
    best: str | None
    evaluations: dict[str, Evaluation]
    intervals: dict[str, dict[str, tuple[float, float]]]
    #: The baseline against each other ranker.
    against: dict[str, Comparison]
    pairs: list[Pair]
    #: The first metric at each cut, with its interval, of each ranker; none if it has no cut.
    cuts: dict[str, list[tuple[int, float, tuple[float, float]]]]
    gained: list[Case]
    lost: list[Case]

    @property
    def names(self) -> list[str]:
        """All rankers."""
        return list(self.evaluations)

    def compared(self) -> Iterator[tuple[MetricComparison, Comparison]]:
        """Yield each comparison with the baseline, by the first metric and by all."""
        for one in self.against.values():
            yield one[self.choices.metric], one

    def ranking(self) -> list[str]:
        """Return the rankers, the best by the first metric first."""
        metric = self.choices.metric
        means = {name: float(one[metric]) for name, one in self.evaluations.items()}
        return sorted(means, key=lambda name: math.inf if math.isnan(means[name]) else -means[name])


def found(side: SideBySide, choices: Choices, baseline: str) -> Findings:
    """Compare rankers."""
    judging, metric = choices.judging, choices.metric
    evaluations = side.evaluate_all(judging)
    against = {
        name: _comparison(evaluations, (baseline, name), choices)
        for name in evaluations
        if name != baseline
    }
    best = _best(evaluations, against, metric)
    gained: list[Case] = []
    lost: list[Case] = []
    if best is not None:
        values = {name: evaluations[name][metric].per_query for name in (baseline, best)}
        # The scale of ERR is that of all docs, also where a query is looked at alone.
        top = judging.max_label
        alone = replace(judging, max_label=float(side.labels.max()) if top is None else top)
        book = Casebook(side, alone, metric, (baseline, best), values)
        chosen = changed_most(against[best][metric].per_query, choices.examples)
        gained, lost = map(book.cases, chosen)
    return Findings(
        side=side,
        choices=choices,
        baseline=baseline,
        best=best,
        evaluations=evaluations,
        intervals={
            name: {key: _interval(value, choices) for key, value in one.items()}
            for name, one in evaluations.items()
        },
        against=against,
        pairs=_pairs(evaluations, against, baseline, choices),
        cuts=_cuts(side, choices),
        gained=gained,
        lost=lost,
    )


def _best(
    evaluations: dict[str, Evaluation], against: dict[str, Comparison], metric: str
) -> str | None:
    """Return the best ranker that is not the baseline, nor the same as it where there are others."""
    known = [name for name in against if not math.isnan(evaluations[name][metric])]
    differ = [name for name in known if against[name][metric].wins or against[name][metric].losses]
    return max(differ or known, key=lambda name: float(evaluations[name][metric]), default=None)


def _interval(value: Any, choices: Choices) -> tuple[float, float]:
    drawing = choices.drawing
    if not drawing.resamples:
        return math.nan, math.nan
    ends: tuple[float, float] = value.bootstrap(choices.level, drawing.resamples, drawing.seed)
    return ends


def _comparison(
    evaluations: dict[str, Evaluation], names: tuple[str, str], choices: Choices
) -> Comparison:
    first, second = names
    of_two = evaluations[first], evaluations[second]
    return Comparison.of(*of_two, names, choices.drawing, choices.level)


def _pairs(
    evaluations: dict[str, Evaluation],
    against: dict[str, Comparison],
    baseline: str,
    choices: Choices,
) -> list[Pair]:
    """Compare all pairs by the first metric; those with the baseline are there already."""
    metric = choices.metric
    alone = {name: Evaluation({metric: one[metric]}) for name, one in evaluations.items()}
    made = []
    for names in itertools.combinations(evaluations, 2):
        if names[0] == baseline:
            made.append(against[names[1]][metric])
        else:
            made.append(_comparison(alone, names, choices)[metric])
    return [
        Pair(one, p)
        for one, p in zip(made, holm([one.p_randomisation for one in made]), strict=True)
    ]


def holm(p_values: list[float]) -> list[float]:
    """Return p-values among several, such that all together are rarely wrong (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, largest = [math.nan] * len(p_values), 0.0
    for place, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def _cuts(
    side: SideBySide, choices: Choices
) -> dict[str, list[tuple[int, float, tuple[float, float]]]]:
    name, _, _ = choices.metric.partition("@")
    places = range(1, _CUTS + 1)
    judging = replace(choices.judging, metrics=[f"{name}@{cut}" for cut in places])
    drawn = min(choices.drawing.resamples, _CUT_DRAWS)
    try:
        by_cut = side.evaluate_all(judging)
    except RustrankError:
        # A metric that has no cut.
        return {}

    def ends(value: Any) -> tuple[float, float]:
        return value.bootstrap(choices.level, drawn) if drawn else (math.nan, math.nan)

    return {
        ranker: [
            (cut, float(value), ends(value))
            for cut, value in zip(places, values.values(), strict=True)
        ]
        for ranker, values in by_cut.items()
    }


def shap_means(side: SideBySide, booster: Booster) -> Floats | None:
    """Return what each feature adds on average of absolute values, over some whole queries."""
    if not side.has_features or not len(side.labels):
        return None
    query = side.query
    sizes = np.bincount(query, minlength=len(side.query_ids))
    # Queries evenly spread over the set, as long as there is room.
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
    """Return the first metric of a booster's first rounds: 1, 2, 4 ... and all."""
    booster = side.boosters[name]
    rounds = booster.num_rounds
    if rounds < 2 or side.X is None:
        return None
    places = sorted({*(2**power for power in range(rounds.bit_length())), rounds})
    last = side.by_ranker[name]
    scores = []
    try:
        for at in places:
            scores.append(side.score(booster.truncate(at)))
    except RustrankError:
        return None
    # Parts that are no trees stay out of what rounds add.
    if not np.allclose(scores[-1], last, rtol=_ROUNDING, atol=_ROUNDING):
        return None
    metric = judging.metrics[0]
    alone = replace(judging, metrics=[metric])
    values = [side.evaluate(one, alone)[metric] for one in scores]
    return [(at, float(value)) for at, value in zip(places, values, strict=True)]
