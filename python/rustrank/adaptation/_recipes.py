"""Recipes of adaptation: each makes rankers of a base and a little data of the target.

All that a recipe leaves open, such as how many rounds or which weights, it chooses on docs that it was
not fitted to: on those that are held out for it; or on the whole target, fold by fold by what was
fitted to the other folds. What is handed out is fitted to all that the recipe may see.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.adaptation.neighbours import expanded
from rustrank.combining.combiner import Combiner, merged
from rustrank.errors import DataError, ParamError, RustrankError
from rustrank.estimators.lambdaboost import LambdaBoost
from rustrank.metrics.evaluation import Judging, MetricValue, judge
from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset
    from rustrank.data.raw_rows import RawRows
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]

#: What trees are trained with, unless the caller says otherwise: the papers' robust choices, shallow
#: trees and seven tenths of docs and features a node.
TREES: dict[str, Any] = {
    "num_trees": 300,
    "num_leaves": 8,
    "learning_rate": 0.05,
    "features_per_node": 0.7,
    "rows_per_node": 0.7,
}
#: The shares of old leaf values, and the docs that stand for them, that refitting tries.
_DECAYS, _PRIORS = (0.0, 0.3, 0.6, 0.9), (0.0, 30.0)
#: The most features that are added one after the other.
_ROUNDS = 500
#: The most passes over all trees that weighing them anew tries.
_PASSES = 3
#: Codes of errors that tell of a base which is no sum of trees.
_CANNOT = ("base", "bins")


class NotPossible(Exception):  # noqa: N818 - no error: a recipe that does not apply
    """A recipe has nothing to work with; says why."""


@dataclass(frozen=True)
class Made:
    """A ranker and what was chosen for it."""

    booster: Booster
    chosen: str


@dataclass(frozen=True, eq=False)
class Ranker:
    """A ranker, and how docs of `Kitchen.choosing` are scored by one that has not seen them."""

    booster: Booster
    unseen: Scores
    chosen: str


@dataclass(eq=False)
class Kitchen:
    """What all recipes have to work with, and what one has made and others use."""

    bases: dict[str, Booster]
    #: What rankers are fitted to.
    fit: RawRows
    #: What is chosen by.
    choosing: RawRows
    #: Rows to fit to while choosing, and the rows of `choosing` that are judged.
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    background: RawRows | None
    judging: Judging
    trees: dict[str, Any]
    #: How more than two rankers are mixed: a method of `Combiner`.
    mixing: str
    seed: int
    num_threads: int | None
    #: The ranker of the target alone, once it is there.
    own: Ranker | None = field(default=None)

    @property
    def metric(self) -> str:
        """What is to be as high as possible."""
        return self.judging.metrics[0]

    def named(self, recipe: str, base: str) -> str:
        """Name what a recipe makes of one base."""
        return recipe if len(self.bases) == 1 else f"{recipe} ({base})"

    def value(self, scores: Scores, docs: RawRows) -> MetricValue:
        """Return the metric of scores."""
        return judge(scores, docs.y, docs.queries, self.judging, None)[self.metric]

    def score(self, booster: Booster, docs: RawRows) -> Scores:
        """Score docs."""
        return booster.score(docs.X, num_threads=self.num_threads)

    def train(
        self,
        base: Booster | None = None,
        more: RawRows | None = None,
        most_folds: int | None = None,
    ) -> Ranker:
        """Train on the target, and more docs, from the scores of a base.

        As many rounds are taken as are best on average over the folds: none, if a base is best alone.
        With fewer folds than there are, only the docs of these have scores.
        """
        grown, curves, counts = [], [], []
        for rows, judged in self.folds[:most_folds]:
            held = self.choosing.take(judged)
            booster, values = self._trained(self.fit.take(rows), base, more, held)
            grown.append(booster)
            curves.append(values)
            counts.append(held.has_pairs().sum())
        rounds = min(map(len, curves))
        mean = np.average([values[:rounds] for values in curves], axis=0, weights=counts)
        best = int(np.argmax(mean)) if base is not None else int(np.argmax(mean[1:])) + 1
        unseen = np.zeros(len(self.choosing.y))
        for (_, judged), booster in zip(self.folds[:most_folds], grown, strict=True):
            unseen[judged] = self.score(booster.truncate(best), self.choosing.take(judged))
        if len(self.folds) == 1:
            final = grown[0].truncate(best)
        elif best:
            final, _ = self._trained(self.fit, base, more, None, num_trees=best)
        else:
            final = grown[0].truncate(0)
        if base is not None:
            unseen += self.score(base, self.choosing)
            final = merged([base, final], np.ones(2))
        return Ranker(final, unseen, f"{best} rounds")

    def _trained(
        self,
        docs: RawRows,
        base: Booster | None,
        more: RawRows | None,
        held: RawRows | None,
        **options: Any,
    ) -> tuple[Booster, NDArray[np.float64]]:
        """Train; also return the metric on held-out docs before the first round and after each."""
        docs = docs if more is None else docs.joined(more)

        def scores(of: RawRows) -> dict[str, Any]:
            return {} if base is None else {"base_score": self.score(base, of)}

        # Of few docs, leaves may have fewer.
        leaf_docs = min(20, max(1, len(docs.y) // 10))
        dataset = docs.dataset(**scores(docs), num_threads=self.num_threads)
        valid = None
        if held is not None:
            valid = held.dataset(like=dataset, **scores(held), num_threads=self.num_threads)
        booster = train(
            dataset,
            valid=valid,
            metric=self.metric,
            seed=self.seed,
            num_threads=self.num_threads,
            gain=self.judging.gain,
            max_label=self.judging.max_label,
            **{"min_leaf_docs": leaf_docs, **self.trees, **options},
        ).all_rounds
        if held is None:
            return booster, np.empty(0)
        before = self.value(scores(held).get("base_score", np.zeros(len(held.y))), held)
        values = np.concatenate([[before], booster.history["valid"][self.metric]])
        return booster, np.nan_to_num(values, nan=0.0)

    def mix(self, rankers: dict[str, Booster | Ranker]) -> Made:
        """Interpolate rankers: the weights that are best where they have not seen the docs."""
        judging = self.judging
        combiner = Combiner(
            self.metric,
            # Two are swept exactly.
            method="sweep" if len(rankers) == 2 else self.mixing,
            negative=False,
            seed=self.seed,
            gain=judging.gain,
            relevant_from=judging.relevant_from,
            max_label=judging.max_label,
            num_threads=self.num_threads,
        )
        scores = {
            name: one.unseen if isinstance(one, Ranker) else self.score(one, self.choosing)
            for name, one in rankers.items()
        }
        combiner.fit(scores, self.choosing.y, qid=self.choosing.query)
        # As multiples of the first that has any.
        weights = combiner.weights / next((w for w in combiner.weights if w), 1.0)
        said = " + ".join(
            name if weight == 1 else f"{weight:.3g} {name}"
            for name, weight in zip(rankers, weights, strict=True)
            if weight
        )
        boosters = [one.booster if isinstance(one, Ranker) else one for one in rankers.values()]
        return Made(merged(boosters, weights), said)

    def target(self) -> Ranker:
        """Return the ranker of the target alone."""
        if self.own is None:
            self.own = self.train()
        return self.own


def _target(kitchen: Kitchen) -> dict[str, Made]:
    """Train on the target alone."""
    own = kitchen.target()
    return {"target": Made(own.booster, own.chosen)}


def _trees(kitchen: Kitchen) -> dict[str, Made]:
    """Keep boosting each base with trees: LambdaSMART."""
    made = {}
    for name, base in kitchen.bases.items():
        boosted = kitchen.train(base)
        made[kitchen.named("trees", name)] = Made(boosted.booster, boosted.chosen)
    return made


def _features(kitchen: Kitchen) -> dict[str, Made]:
    """Keep boosting each base with single features: LambdaBoost."""
    made = {}
    for name, base in kitchen.bases.items():
        curves, counts = [], []
        for rows, judged in kitchen.folds:
            held = kitchen.choosing.take(judged)
            before = float(kitchen.value(kitchen.score(base, held), held))
            boosted = _by_features(kitchen, base, kitchen.fit.take(rows), _ROUNDS, held)
            values = np.concatenate([[before], boosted.history["valid"][kitchen.metric]])
            curves.append(np.nan_to_num(values, nan=0.0))
            counts.append(held.has_pairs().sum())
        rounds = min(map(len, curves))
        mean = np.average([values[:rounds] for values in curves], axis=0, weights=counts)
        best = int(np.argmax(mean))
        booster = _by_features(kitchen, base, kitchen.fit, best).booster if best else base
        made[kitchen.named("features", name)] = Made(booster, f"{best} rounds")
    return made


def _by_features(
    kitchen: Kitchen, base: Booster, docs: RawRows, rounds: int, held: RawRows | None = None
) -> LambdaBoost:
    ranker = LambdaBoost(
        n_estimators=rounds,
        base=base,
        metric=kitchen.metric,
        early_stopping=None,
        gain=kitchen.judging.gain,
        max_label=kitchen.judging.max_label,
        random_state=kitchen.seed,
        n_jobs=kitchen.num_threads,
    )
    judged = {} if held is None else {"eval_set": [(held.X, held.y)], "eval_qid": [held.query]}
    return ranker.fit(docs.X, docs.y, qid=docs.query, **judged)


def _interpolate(kitchen: Kitchen) -> dict[str, Made]:
    """Mix the bases with the target's own ranker: each with it, and all."""
    own = kitchen.target()
    made = {
        kitchen.named("interpolate", name): kitchen.mix({name: base, "target": own})
        for name, base in kitchen.bases.items()
    }
    if len(kitchen.bases) > 1:
        made["interpolate all"] = kitchen.mix({**kitchen.bases, "target": own})
    return made


def _refit(kitchen: Kitchen) -> dict[str, Made]:
    """Fit the leaf values of each base anew."""
    made = {}
    grid = [(decay, prior) for decay in _DECAYS for prior in _PRIORS]

    def refitted(base: Booster, docs: Dataset, decay: float, prior: float) -> Booster:
        booster: Booster = _or_skip(
            base.refit,
            docs,
            decay=decay,
            prior_docs=prior,
            metric=kitchen.metric,
            seed=kitchen.seed,
            gain=kitchen.judging.gain,
            max_label=kitchen.judging.max_label,
            num_threads=kitchen.num_threads,
        )
        return booster

    for name, base in kitchen.bases.items():
        unseen = np.zeros((len(grid), len(kitchen.choosing.y)))
        for rows, judged in kitchen.folds:
            docs = _binned(kitchen, kitchen.fit.take(rows), base)
            held = _binned(kitchen, kitchen.choosing.take(judged), base)
            for at, (decay, prior) in enumerate(grid):
                booster = refitted(base, docs, decay, prior)
                unseen[at, judged] = booster.score(held, num_threads=kitchen.num_threads)
        values = [float(kitchen.value(scores, kitchen.choosing)) for scores in unseen]
        decay, prior = grid[int(np.argmax(values))]
        booster = refitted(base, _binned(kitchen, kitchen.fit, base), decay, prior)
        said = f"decay {decay:g}, prior {prior:g} docs"
        made[kitchen.named("refit", name)] = Made(booster, said)
    return made


def _reweigh(kitchen: Kitchen) -> dict[str, Made]:
    """Weigh the trees of each base anew, in as many passes as help where docs are not seen."""
    made = {}

    def reweighed(base: Booster, docs: Dataset, passes: int) -> Booster:
        booster: Booster = _or_skip(
            base.reweigh,
            docs,
            kitchen.metric,
            most_passes=passes,
            gain=kitchen.judging.gain,
            relevant_from=kitchen.judging.relevant_from,
            max_label=kitchen.judging.max_label,
            num_threads=kitchen.num_threads,
        )
        return booster

    for name, base in kitchen.bases.items():
        unseen = np.zeros((_PASSES + 1, len(kitchen.choosing.y)))
        for rows, judged in kitchen.folds:
            docs = _binned(kitchen, kitchen.fit.take(rows), base)
            held = _binned(kitchen, kitchen.choosing.take(judged), base)
            booster = base
            unseen[0, judged] = base.score(held, num_threads=kitchen.num_threads)
            for passes in range(1, _PASSES + 1):
                booster = reweighed(booster, docs, 1)
                unseen[passes, judged] = booster.score(held, num_threads=kitchen.num_threads)
        values = [float(kitchen.value(scores, kitchen.choosing)) for scores in unseen]
        passes = int(np.argmax(values))
        docs = _binned(kitchen, kitchen.fit, base)
        booster = reweighed(base, docs, passes) if passes else base
        said = f"{passes} passes, {booster.num_trees} of {base.num_trees} trees"
        made[kitchen.named("reweigh", name)] = Made(booster, said)
    return made


def _grow(kitchen: Kitchen) -> dict[str, Made]:
    """Train on the target and the background's docs that are like it; mix that in, too."""
    there = _background(kitchen)
    try:
        more = expanded(kitchen.fit, there, 0.5, 3, None, num_threads=kitchen.num_threads)
    except DataError as error:
        raise NotPossible(str(error)) from None
    if not len(more.rows):
        message = f"no doc of the background lies within {more.max_distance:.4g} of the target's"
        raise NotPossible(message)
    grown = kitchen.train(more=there.take(more.rows))
    mixed = kitchen.mix({**kitchen.bases, "target": kitchen.target(), "grown": grown})
    said = f"{len(more.rows):,} docs of the background, {grown.chosen}"
    return {"grow": Made(grown.booster, said), "interpolate grown": mixed}


def _pool(kitchen: Kitchen) -> dict[str, Made]:
    """Train on the background and the target together."""
    # So many docs are trained on that each fold is dear, and the target's make little difference.
    pooled = kitchen.train(more=_background(kitchen), most_folds=2)
    return {"pool": Made(pooled.booster, pooled.chosen)}


def _background(kitchen: Kitchen) -> RawRows:
    if kitchen.background is None:
        message = "it needs the docs of the background: pass background="
        raise NotPossible(message)
    return kitchen.background


def _binned(kitchen: Kitchen, docs: RawRows, base: Booster) -> Dataset:
    """Return docs in the bins of a base."""
    binned: Dataset = _or_skip(docs.dataset, like=base, num_threads=kitchen.num_threads)
    return binned


def _or_skip(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call, and tell what only models of trees can do from what is wrong."""
    try:
        return call(*arguments, **options)
    except RustrankError as error:
        if error.code in _CANNOT:
            raise NotPossible(str(error)) from None
        raise


RECIPES: dict[str, Callable[[Kitchen], dict[str, Made]]] = {
    "target": _target,
    "trees": _trees,
    "features": _features,
    "interpolate": _interpolate,
    "refit": _refit,
    "reweigh": _reweigh,
    "grow": _grow,
    "pool": _pool,
}

#: Parameters of `train` that are not the caller's to set here.
_OURS = (
    "dataset",
    "valid",
    "metric",
    "base",
    "seed",
    "num_threads",
    "gain",
    "max_label",
    "early_stopping",
    # Rounds are chosen by cutting models, which does not bring their trees' values back.
    "dropout",
    "checkpoint",
    "resume",
    "snapshot",
    "preferences",
    "progress",
)


def check_trees(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Take parameters of `train`, for all trees; those that adaptation sets itself are refused."""
    options = dict(given or {})
    known = inspect.signature(train).parameters
    for name in options:
        if name in _OURS or name not in known:
            message = f"trees: {name} is no parameter of training that can be set here"
            raise ParamError(message, code="trees")
    return {**TREES, **options}
