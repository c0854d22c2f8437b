"""Recipes of adaptation: each builds rankers from a base ranker and the little data of the target market.

A recipe chooses its free parameters, such as the number of rounds or the weights, on documents that the
ranker was not fitted to: the held-out set, or the target's folds by cross-validation. The ranker that it
returns is then fitted to all documents of the target.
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

#: The default training parameters: the papers' robust choice of shallow trees, with 70% of the documents
#: and of the features at each node.
TREES: dict[str, Any] = {
    "num_trees": 300,
    "num_leaves": 8,
    "learning_rate": 0.05,
    "features_per_node": 0.7,
    "rows_per_node": 0.7,
}
#: The values of ``decay`` and ``prior_docs`` that the recipe "refit" tries.
_DECAYS, _PRIORS = (0.0, 0.3, 0.6, 0.9), (0.0, 30.0)
#: The most rounds of LambdaBoost.
_ROUNDS = 500
#: The most passes over all trees that the recipe "reweigh" tries.
_PASSES = 3
#: Codes of errors which mean that the base is not a sum of trees.
_CANNOT = ("base", "bins")


class RecipeNotApplicable(Exception):  # noqa: N818 - not an error unless the recipe was asked for by name
    """A recipe cannot be applied to the given base or data; the message gives the reason."""


@dataclass(frozen=True)
class RecipeResult:
    """A ranker, and a description of the parameters that the recipe chose."""

    booster: Booster
    chosen: str


@dataclass(frozen=True, eq=False)
class TargetRanker:
    """A ranker fitted to the target, and scores of the choosing set by fits that did not include it."""

    booster: Booster
    held_out_scores: Scores
    chosen: str


@dataclass(eq=False)
class RecipeContext:
    """The inputs of all recipes, and the ranker of the target alone, which several recipes use."""

    bases: dict[str, Booster]
    #: The documents of the target that rankers are fitted to.
    fit: RawRows
    #: The documents that free parameters are chosen on.
    choosing: RawRows
    #: For each fold, the rows of ``fit`` to fit to and the rows of ``choosing`` to evaluate on.
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    background: RawRows | None
    judging: Judging
    trees: dict[str, Any]
    #: How more than two rankers are combined: a method of `Combiner`.
    mixing: str
    seed: int
    num_threads: int | None
    #: The ranker trained on the target alone, once a recipe has asked for it.
    target_only: TargetRanker | None = field(default=None)

    @property
    def metric(self) -> str:
        """The name of the metric to maximise."""
        return self.judging.metrics[0]

    def named(self, recipe: str, base: str) -> str:
        """Return the name of a recipe's ranker of one base."""
        return recipe if len(self.bases) == 1 else f"{recipe} ({base})"

    def value(self, scores: Scores, docs: RawRows) -> MetricValue:
        """Return the metric of some scores of documents."""
        return judge(scores, docs.y, docs.queries, self.judging, None)[self.metric]

    def score(self, booster: Booster, docs: RawRows) -> Scores:
        """Return a booster's scores of documents."""
        return booster.score(docs.X, num_threads=self.num_threads)

    def train(
        self,
        base: Booster | None = None,
        more: RawRows | None = None,
        most_folds: int | None = None,
    ) -> TargetRanker:
        """Train on the target and optional further documents, starting from the scores of a base.

        The number of rounds is the one with the best mean metric over the folds: 0 if the base is best
        alone. With ``most_folds``, only documents of these folds get held-out scores.
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
        return TargetRanker(final, unseen, f"{best} rounds")

    def _trained(
        self,
        docs: RawRows,
        base: Booster | None,
        more: RawRows | None,
        held: RawRows | None,
        **options: Any,
    ) -> tuple[Booster, NDArray[np.float64]]:
        """Train; also return the metric on the held-out documents before the first and after each round."""
        docs = docs if more is None else docs.joined(more)

        def scores(of: RawRows) -> dict[str, Any]:
            return {} if base is None else {"base_score": self.score(base, of)}

        # A small target needs smaller leaves.
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

    def combine(self, rankers: dict[str, Booster | TargetRanker]) -> RecipeResult:
        """Combine rankers with the weights that are best on documents that they were not fitted to."""
        judging = self.judging
        combiner = Combiner(
            self.metric,
            # For two rankers the sweep finds the optimum exactly.
            method="sweep" if len(rankers) == 2 else self.mixing,
            negative=False,
            seed=self.seed,
            gain=judging.gain,
            relevant_from=judging.relevant_from,
            max_label=judging.max_label,
            num_threads=self.num_threads,
        )
        scores = {
            name: one.held_out_scores
            if isinstance(one, TargetRanker)
            else self.score(one, self.choosing)
            for name, one in rankers.items()
        }
        combiner.fit(scores, self.choosing.y, qid=self.choosing.query)
        # Relative to the first weight that is not 0.
        weights = combiner.weights / next((w for w in combiner.weights if w), 1.0)
        description = " + ".join(
            name if weight == 1 else f"{weight:.3g} {name}"
            for name, weight in zip(rankers, weights, strict=True)
            if weight
        )
        boosters = [
            one.booster if isinstance(one, TargetRanker) else one for one in rankers.values()
        ]
        return RecipeResult(merged(boosters, weights), description)

    def target(self) -> TargetRanker:
        """Return the ranker trained on the target alone."""
        if self.target_only is None:
            self.target_only = self.train()
        return self.target_only


def _target(context: RecipeContext) -> dict[str, RecipeResult]:
    """Train on the target alone."""
    own = context.target()
    return {"target": RecipeResult(own.booster, own.chosen)}


def _trees(context: RecipeContext) -> dict[str, RecipeResult]:
    """Continue boosting from each base with trees: LambdaSMART."""
    made = {}
    for name, base in context.bases.items():
        boosted = context.train(base)
        made[context.named("trees", name)] = RecipeResult(boosted.booster, boosted.chosen)
    return made


def _features(context: RecipeContext) -> dict[str, RecipeResult]:
    """Continue boosting from each base with single features: LambdaBoost."""
    made = {}
    for name, base in context.bases.items():
        curves, counts = [], []
        for rows, judged in context.folds:
            held = context.choosing.take(judged)
            before = float(context.value(context.score(base, held), held))
            boosted = _by_features(context, base, context.fit.take(rows), _ROUNDS, held)
            values = np.concatenate([[before], boosted.history["valid"][context.metric]])
            curves.append(np.nan_to_num(values, nan=0.0))
            counts.append(held.has_pairs().sum())
        rounds = min(map(len, curves))
        mean = np.average([values[:rounds] for values in curves], axis=0, weights=counts)
        best = int(np.argmax(mean))
        booster = _by_features(context, base, context.fit, best).booster if best else base
        made[context.named("features", name)] = RecipeResult(booster, f"{best} rounds")
    return made


def _by_features(
    context: RecipeContext, base: Booster, docs: RawRows, rounds: int, held: RawRows | None = None
) -> LambdaBoost:
    ranker = LambdaBoost(
        n_estimators=rounds,
        base=base,
        metric=context.metric,
        early_stopping=None,
        gain=context.judging.gain,
        max_label=context.judging.max_label,
        random_state=context.seed,
        n_jobs=context.num_threads,
    )
    judged = {} if held is None else {"eval_set": [(held.X, held.y)], "eval_qid": [held.query]}
    return ranker.fit(docs.X, docs.y, qid=docs.query, **judged)


def _interpolate(context: RecipeContext) -> dict[str, RecipeResult]:
    """Combine each base, and all bases, with the ranker of the target."""
    own = context.target()
    made = {
        context.named("interpolate", name): context.combine({name: base, "target": own})
        for name, base in context.bases.items()
    }
    if len(context.bases) > 1:
        made["interpolate all"] = context.combine({**context.bases, "target": own})
    return made


def _refit(context: RecipeContext) -> dict[str, RecipeResult]:
    """Refit the leaf values of each base; decay and prior are chosen from a grid."""
    made = {}
    grid = [(decay, prior) for decay in _DECAYS for prior in _PRIORS]

    def refitted(base: Booster, docs: Dataset, decay: float, prior: float) -> Booster:
        booster: Booster = _or_skip(
            base.refit,
            docs,
            decay=decay,
            prior_docs=prior,
            metric=context.metric,
            seed=context.seed,
            gain=context.judging.gain,
            max_label=context.judging.max_label,
            num_threads=context.num_threads,
        )
        return booster

    for name, base in context.bases.items():
        unseen = np.zeros((len(grid), len(context.choosing.y)))
        for rows, judged in context.folds:
            docs = _binned(context, context.fit.take(rows), base)
            held = _binned(context, context.choosing.take(judged), base)
            for at, (decay, prior) in enumerate(grid):
                booster = refitted(base, docs, decay, prior)
                unseen[at, judged] = booster.score(held, num_threads=context.num_threads)
        values = [float(context.value(scores, context.choosing)) for scores in unseen]
        decay, prior = grid[int(np.argmax(values))]
        booster = refitted(base, _binned(context, context.fit, base), decay, prior)
        description = f"decay {decay:g}, prior {prior:g} docs"
        made[context.named("refit", name)] = RecipeResult(booster, description)
    return made


def _reweigh(context: RecipeContext) -> dict[str, RecipeResult]:
    """Reweigh the trees of each base; the number of passes is chosen on held-out documents."""
    made = {}

    def reweighed(base: Booster, docs: Dataset, passes: int) -> Booster:
        booster: Booster = _or_skip(
            base.reweigh,
            docs,
            context.metric,
            most_passes=passes,
            gain=context.judging.gain,
            relevant_from=context.judging.relevant_from,
            max_label=context.judging.max_label,
            num_threads=context.num_threads,
        )
        return booster

    for name, base in context.bases.items():
        unseen = np.zeros((_PASSES + 1, len(context.choosing.y)))
        for rows, judged in context.folds:
            docs = _binned(context, context.fit.take(rows), base)
            held = _binned(context, context.choosing.take(judged), base)
            booster = base
            unseen[0, judged] = base.score(held, num_threads=context.num_threads)
            for passes in range(1, _PASSES + 1):
                booster = reweighed(booster, docs, 1)
                unseen[passes, judged] = booster.score(held, num_threads=context.num_threads)
        values = [float(context.value(scores, context.choosing)) for scores in unseen]
        passes = int(np.argmax(values))
        docs = _binned(context, context.fit, base)
        booster = reweighed(base, docs, passes) if passes else base
        description = f"{passes} passes, {booster.num_trees} of {base.num_trees} trees"
        made[context.named("reweigh", name)] = RecipeResult(booster, description)
    return made


def _grow(context: RecipeContext) -> dict[str, RecipeResult]:
    """Train on the target and similar documents of the background; combine the result with the bases."""
    there = _background(context)
    try:
        more = expanded(context.fit, there, 0.5, 3, None, num_threads=context.num_threads)
    except DataError as error:
        raise RecipeNotApplicable(str(error)) from None
    if not len(more.rows):
        message = f"no doc of the background lies within {more.max_distance:.4g} of the target's"
        raise RecipeNotApplicable(message)
    grown = context.train(more=there.take(more.rows))
    combined = context.combine({**context.bases, "target": context.target(), "grown": grown})
    description = f"{len(more.rows):,} docs of the background, {grown.chosen}"
    return {"grow": RecipeResult(grown.booster, description), "interpolate grown": combined}


def _pool(context: RecipeContext) -> dict[str, RecipeResult]:
    """Train on the background and the target together."""
    # Two folds do: the background is large, so a fold is expensive, and the target changes little.
    pooled = context.train(more=_background(context), most_folds=2)
    return {"pool": RecipeResult(pooled.booster, pooled.chosen)}


def _background(context: RecipeContext) -> RawRows:
    if context.background is None:
        message = "it needs the docs of the background: pass background="
        raise RecipeNotApplicable(message)
    return context.background


def _binned(context: RecipeContext, docs: RawRows, base: Booster) -> Dataset:
    """Return documents binned with the thresholds of a base."""
    binned: Dataset = _or_skip(docs.dataset, like=base, num_threads=context.num_threads)
    return binned


def _or_skip(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function; if the base is not a sum of trees, raise `RecipeNotApplicable`."""
    try:
        return call(*arguments, **options)
    except RustrankError as error:
        if error.code in _CANNOT:
            raise RecipeNotApplicable(str(error)) from None
        raise


RECIPES: dict[str, Callable[[RecipeContext], dict[str, RecipeResult]]] = {
    "target": _target,
    "trees": _trees,
    "features": _features,
    "interpolate": _interpolate,
    "refit": _refit,
    "reweigh": _reweigh,
    "grow": _grow,
    "pool": _pool,
}

#: Parameters of `train` that recipes set themselves.
_SET_BY_RECIPES = (
    "dataset",
    "valid",
    "metric",
    "base",
    "seed",
    "num_threads",
    "gain",
    "max_label",
    "early_stopping",
    # The number of rounds is chosen by truncation, but dropout changes earlier trees in later rounds.
    "dropout",
    "checkpoint",
    "resume",
    "snapshot",
    "preferences",
    "progress",
)


def check_trees(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters of `train` for all trees; those that recipes set are an error."""
    options = dict(given or {})
    known = inspect.signature(train).parameters
    for name in options:
        if name in _SET_BY_RECIPES or name not in known:
            message = f"trees: {name} is no parameter of training that can be set here"
            raise ParamError(message, code="trees")
    return {**TREES, **options}
