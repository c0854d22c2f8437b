"""Methods of combining the members of an ensemble: each fits weights, or a net, to unseen documents.

No member was fitted to these documents. The metric of a combination is measured by cross-fitting: each
half of the documents is scored with the weights fitted to the other half.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.combining.combiner import Combiner, combiner_for
from rustrank.data.scored_rows import ScoredRows
from rustrank.errors import ParamError, wrong_kind
from rustrank.inputs.scalars import choice, real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows
    from rustrank.estimators.raw_rankers import LambdaRank
    from rustrank.metrics.evaluation import Evaluation, Judging

    Scores = NDArray[np.float64]

#: The combinations that are tried by default.
DEFAULTS: dict[str, Any] = {
    "average": "average",
    "exact tree, most different first": "most_different_first",
    "exact tree, best first": "best_first",
    "exact, one after the other": "coordinate",
    "forward selection": "forward",
    "linear LambdaRank": "lambdarank",
    "two-layer LambdaRank": "lambdarank_net",
}
#: All that can be named: averages, forward selection, and methods of `Combiner`.
METHODS = (*DEFAULTS.values(), "powell")
#: The most steps of forward selection; a member may be added more than once.
_MOST_STEPS = 50


@dataclass(frozen=True, eq=False)
class MemberScores(ScoredRows):
    """Documents with the scores of all members, each divided by its standard deviation."""

    raw: RawRows

    @classmethod
    def of(
        cls, raw: RawRows, scores: Mapping[str, Scores], spreads: Mapping[str, float]
    ) -> MemberScores:
        """Divide the scores of each member by its spread."""
        scaled = {name: one / spreads[name] for name, one in scores.items()}
        return cls(raw.y, *raw.queries, None, scaled, raw)

    def take(self, rows: NDArray[Any]) -> MemberScores:
        """Return some rows."""
        scores = {name: one[rows] for name, one in self.by_ranker.items()}
        return self.of(self.raw.take(rows), scores, dict.fromkeys(scores, 1.0))


@dataclass(frozen=True, eq=False)
class MemberWeights:
    """A fitted combination: weights of the members' scores, or a net whose inputs they are."""

    weights: dict[str, float] | None
    net: LambdaRank | None = None

    def score(self, scored: MemberScores) -> Scores:
        """Return the combined scores of documents."""
        if self.net is not None:
            return self.net.predict(np.column_stack(list(scored.by_ranker.values())))
        assert self.weights is not None  # noqa: S101 - it is one or the other
        weights = {name: weight for name, weight in self.weights.items() if weight}
        # Without any weight, the scores are zeros.
        weights = weights or dict(list(self.weights.items())[:1])
        scores = [np.ascontiguousarray(scored.by_ranker[name]) for name in weights]
        return _rustrank.mix(scores, list(weights.values()))

    def evaluate(self, scored: MemberScores, judging: Judging) -> Evaluation:
        """Return the metrics of the combined scores."""
        return scored.evaluate(self.score(scored), judging)

    def description(self) -> str:
        """Name the members with the largest weights."""
        if self.weights is None:
            return "a net"
        total = sum(abs(weight) for weight in self.weights.values()) or 1.0
        shares = {name: weight / total for name, weight in self.weights.items() if weight}
        if len({round(share, 9) for share in shares.values()}) == 1:
            return f"{len(shares)} alike"
        first = sorted(shares, key=lambda name: -abs(shares[name]))[:3]
        largest = ", ".join(f"{name} {shares[name]:.0%}" for name in first)
        return largest if len(shares) <= len(first) else f"{largest}, ..."


class CombinationMethod:
    """A method of combining members, checked."""

    def __init__(self, name: str, given: Any, members: Sequence[str]) -> None:
        """Check a combination as the caller gives it."""
        what = f"combination {name!r}"
        if isinstance(given, str):
            choice(what, given, METHODS, "combinations")
        elif isinstance(given, Mapping):
            for one in given:
                choice(what, one, members, "combinations", "some of")
            given = {one: real(f"{what}, {one}", weight) for one, weight in given.items()}
            if not any(given.values()):
                raise ParamError(f"{what}: every weight is 0", code="combinations")
        elif isinstance(given, (tuple, list)):
            given = _numbered(what, given, list(members))
        elif not isinstance(given, Combiner):
            expected = "a name, a mapping from members to weights, nested pairs of members, or a"
            raise wrong_kind(what, given, f"{expected} Combiner", "combinations")
        self.given = given

    @property
    def is_fitted(self) -> bool:
        """Whether weights are fitted to labels."""
        return not (isinstance(self.given, Mapping) or self.given == "average")

    def find(self, scored: MemberScores, judging: Judging, seed: int) -> MemberWeights:
        """Fit the weights to some documents."""
        names = list(scored.by_ranker)
        if self.given == "average":
            return MemberWeights(dict.fromkeys(names, 1.0))
        if isinstance(self.given, Mapping):
            return MemberWeights({name: self.given.get(name, 0.0) for name in names})
        if len(names) == 1:
            return MemberWeights({names[0]: 1.0})
        if self.given == "forward":
            return _forward(scored, judging)
        combiner = self._combiner(judging, seed)
        combiner.fit(scored.by_ranker, scored.raw.y, qid=scored.raw.query)
        if combiner.net is not None:
            return MemberWeights(None, combiner.net)
        return MemberWeights(dict(zip(names, combiner.weights.tolist(), strict=True)))

    def _combiner(self, judging: Judging, seed: int) -> Combiner:
        if isinstance(self.given, Combiner):
            return copy.copy(self.given)
        # A negative weight is more often noise than signal.
        return combiner_for(judging, method=self.given, negative=False, seed=seed)

    def cross_fitted(self, scored: MemberScores, judging: Judging, seed: int) -> Evaluation:
        """Return the metrics by cross-fitting: each half scored with the weights of the other."""
        if not self.is_fitted:
            return self.find(scored, judging, seed).evaluate(scored, judging)
        scores = np.zeros(len(scored.raw.y))
        for fit, held in scored.raw.halves(seed):
            found = self.find(scored.take(fit), judging, seed)
            scores[held] = found.score(scored.take(held))
        return scored.evaluate(scores, judging)


def spread_of(scores: Scores) -> float:
    """Return the standard deviation, the same for any order of rows; 1 if it is 0."""
    spread = float(np.std(np.sort(scores)))
    return spread if spread > 0 and np.isfinite(spread) else 1.0


def _forward(scored: MemberScores, judging: Judging) -> MemberWeights:
    """Forward selection: repeatedly add the member that improves the average most.

    A member may be added more than once. The number of steps is chosen by cross-fitting on two halves.
    """
    curves = []
    for fit, held in scored.raw.halves(1):
        judged = scored.take(held)
        added = (judged.by_ranker[name] for name in _path(scored.take(fit), judging))
        curves.append([_value(judged, total, judging) for total in accumulate(added)])
    steps = int(np.argmax(np.nan_to_num(np.mean(curves, axis=0), nan=-1.0))) + 1
    chosen = _path(scored, judging, steps)
    return MemberWeights({name: float(chosen.count(name)) for name in scored.by_ranker})


def _path(scored: MemberScores, judging: Judging, steps: int | None = None) -> list[str]:
    """Return the members in the order in which forward selection adds them."""
    names = list(scored.by_ranker)
    total = np.zeros(len(scored.raw.y))
    chosen: list[str] = []
    for _ in range(min(_MOST_STEPS, 4 * len(names)) if steps is None else steps):
        values = [_value(scored, total + scored.by_ranker[name], judging) for name in names]
        chosen.append(names[int(np.argmax(np.nan_to_num(values, nan=-1.0)))])
        total = total + scored.by_ranker[chosen[-1]]
    return chosen


def _value(scored: MemberScores, scores: Scores, judging: Judging) -> float:
    return float(scored.evaluate(scores, judging)[judging.metric])


def _numbered(what: str, given: Any, members: list[str]) -> Any:
    """Return nested pairs of names as pairs of numbers."""
    if isinstance(given, (tuple, list)):
        return tuple(_numbered(what, one, members) for one in given)
    return members.index(choice(what, given, members, "combinations", "some of"))
