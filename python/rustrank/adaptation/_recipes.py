"""Recipes of adaptation: each builds rankers from a base ranker and the little data of the target market.

A recipe chooses its free parameters, such as the number of rounds or the weights, on documents that the
ranker was not fitted to: the held-out set, or the target's folds by cross-validation. The ranker that it
returns is then fitted to all documents of the target.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.adaptation.neighbours import expand
from rustrank.combining.combiner import combiner_for, merged
from rustrank.errors import DataError, ParamError, RustrankError
from rustrank.estimators.raw_rankers import LambdaBoost
from rustrank.metrics.evaluation import Judging, MetricValue, first_value
from rustrank.parameters.schema import TRAININGS
from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rustrank.adaptation.adaptation import AdaptationData
    from rustrank.data.dataset import Dataset
    from rustrank.data.raw_rows import RawRows
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]

#: The training parameters without a preset: the papers' robust choice of shallow trees, with 70% of the documents
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


@dataclass(frozen=True, eq=False)
class RecipeResult:
    """A ranker, and a description of the parameters that the recipe chose."""

    booster: Booster
    chosen: str
    #: Scores of the choosing set by fits that did not include it; none where the ranker is not combined.
    held_out_scores: Scores = field(default_factory=lambda: np.empty(0))


@dataclass(eq=False)
class RecipeContext:
    """The inputs of all recipes, and the ranker of the target alone, which several recipes use."""

    bases: dict[str, Booster]
    data: AdaptationData
    judging: Judging
    trees: dict[str, Any]
    #: How more than two rankers are combined: a method of `Combiner`.
    mixing: str
    seed: int

    @property
    def options(self) -> dict[str, Any]:
        """The options of `train` and of `Booster.refit` that are the same in all recipes."""
        own = {name: getattr(self.judging, name) for name in ("gain", "max_label", "num_threads")}
        return {"metric": self.judging.metric, "seed": self.seed, **own}

    @property
    def background(self) -> RawRows:
        """The documents of the background."""
        if self.data.background is None:
            raise RecipeNotApplicable(
                "it needs `background`, the docs that the base was trained on"
            )
        return self.data.background

    @cached_property
    def target(self) -> RecipeResult:
        """The ranker trained on the target alone."""
        return self.train()

    def value(self, scores: Scores, docs: RawRows) -> MetricValue:
        """Return the metric of some scores of documents."""
        return first_value(docs.evaluate(scores, self.judging))

    def score(self, booster: Booster, docs: RawRows) -> Scores:
        """Return a booster's scores of documents."""
        return booster.predict(docs.X, num_threads=self.judging.num_threads)

    def named(self, recipe: str, base: str) -> str:
        """Return the name of a recipe's ranker of one base."""
        return recipe if len(self.bases) == 1 else f"{recipe} ({base})"

    def each_base(
        self, recipe: str, adapted: Callable[[Booster], RecipeResult]
    ) -> dict[str, RecipeResult]:
        """Adapt each base."""
        return {self.named(recipe, name): adapted(base) for name, base in self.bases.items()}

    def over_folds(
        self,
        fit: Callable[[RawRows, RawRows], Any],
        base: Booster | None,
        most_folds: int | None = None,
    ) -> tuple[list[Any], NDArray[np.float64]]:
        """Fit in each fold; also return the mean metric before the first and after each round.

        Before the first round, documents have the scores of the base.
        """
        fitted, curves, counts = [], [], []
        for rows, judged in self.data.folds[:most_folds]:
            held = self.data.choosing.take(judged)
            fitted.append(fit(self.data.fit.take(rows), held))
            scores = np.zeros(len(held.y)) if base is None else self.score(base, held)
            values = fitted[-1].history["valid"][self.judging.metric]
            curves.append(np.nan_to_num([self.value(scores, held), *values], nan=0.0))
            counts.append(held.has_pairs().sum())
        rounds = min(map(len, curves))
        mean = np.average([values[:rounds] for values in curves], axis=0, weights=counts)
        return fitted, mean

    def train(
        self,
        base: Booster | None = None,
        more: RawRows | None = None,
        most_folds: int | None = None,
    ) -> RecipeResult:
        """Train on the target and optional further documents, starting from the scores of a base.

        The number of rounds is the one with the best mean metric over the folds: 0 if the base is best
        alone. With ``most_folds``, only documents of these folds get held-out scores.
        """
        choosing = self.data.choosing
        grown, mean = self.over_folds(
            lambda docs, held: self._trained(docs, base, more, held), base, most_folds
        )
        best = int(np.argmax(mean)) if base is not None else int(np.argmax(mean[1:])) + 1
        unseen = np.zeros(len(choosing.y))
        for (_, judged), booster in zip(self.data.folds, grown, strict=False):
            unseen[judged] = self.score(booster.truncate(best), choosing.take(judged))
        final: Booster = grown[0].truncate(best)
        if best and len(self.data.folds) > 1:
            final = self._trained(self.data.fit, base, more, None, num_trees=best)
        if base is not None:
            unseen += self.score(base, choosing)
            final = merged([base, final], np.ones(2))
        return RecipeResult(final, f"{best} rounds", unseen)

    def _trained(
        self,
        docs: RawRows,
        base: Booster | None,
        more: RawRows | None,
        held: RawRows | None,
        **options: Any,
    ) -> Booster:
        """Train with all rounds; the history has the metric on the held-out documents."""

        def dataset(of: RawRows, **like: Any) -> Dataset:
            scores = {} if base is None else {"base_score": self.score(base, of)}
            return of.dataset(**scores, **like, num_threads=self.judging.num_threads)

        docs = docs if more is None else docs.joined(more)
        training = dataset(docs)
        # A small target needs smaller leaves.
        leaf_docs = min(20, max(1, len(docs.y) // 10))
        return train(
            training,
            valid=None if held is None else dataset(held, like=training),
            **{"min_leaf_docs": leaf_docs, **self.options, **self.trees, **options},
        ).all_rounds

    def combine(self, rankers: dict[str, RecipeResult]) -> RecipeResult:
        """Combine rankers with the weights that are best on documents that they were not fitted to."""
        # For two rankers the sweep finds the optimum exactly.
        method = "sweep" if len(rankers) == 2 else self.mixing
        combiner = combiner_for(self.judging, method=method, negative=False, seed=self.seed)
        scores = {name: one.held_out_scores for name, one in rankers.items()}
        combiner.fit(scores, self.data.choosing.y, qid=self.data.choosing.query)
        # Relative to the first weight that is not 0.
        weights = combiner.weights / next((w for w in combiner.weights if w), 1.0)
        description = " + ".join(
            name if weight == 1 else f"{weight:.3g} {name}"
            for name, weight in zip(rankers, weights, strict=True)
            if weight
        )
        return RecipeResult(merged([one.booster for one in rankers.values()], weights), description)

    def as_results(self) -> dict[str, RecipeResult]:
        """Return the bases as rankers to combine with others."""
        choosing = self.data.choosing
        return {
            name: RecipeResult(base, "", self.score(base, choosing))
            for name, base in self.bases.items()
        }

    def best_candidate(
        self, base: Booster, count: int, candidates: Callable[[Dataset], Iterable[Booster]]
    ) -> int:
        """Return which of the candidates made from the base and a binned data set is best over the folds."""
        choosing = self.data.choosing
        unseen = np.zeros((count, len(choosing.y)))
        for rows, judged in self.data.folds:
            docs = self.binned(self.data.fit.take(rows), base)
            held = self.binned(choosing.take(judged), base)
            for at, booster in enumerate(candidates(docs)):
                unseen[at, judged] = booster.predict(held, num_threads=self.judging.num_threads)
        return int(np.argmax([float(self.value(scores, choosing)) for scores in unseen]))

    def binned(self, docs: RawRows, base: Booster) -> Dataset:
        """Return documents binned with the thresholds of a base."""
        return docs.dataset(like=base, num_threads=self.judging.num_threads)


@contextmanager
def _skip_unless_trees() -> Iterator[None]:
    """If the base is not a sum of trees, raise `RecipeNotApplicable`."""
    try:
        yield
    except RustrankError as error:
        if error.code in _CANNOT:
            raise RecipeNotApplicable(str(error)) from None
        raise


def _target(context: RecipeContext) -> dict[str, RecipeResult]:
    """Train on the target alone."""
    return {"target": context.target}


def _trees(context: RecipeContext) -> dict[str, RecipeResult]:
    """Continue boosting from each base with trees: LambdaSMART."""
    return context.each_base("trees", context.train)


def _features(context: RecipeContext) -> dict[str, RecipeResult]:
    """Continue boosting from each base with single features: LambdaBoost."""

    def boosted(
        base: Booster, docs: RawRows, rounds: int, held: RawRows | None = None
    ) -> LambdaBoost:
        ranker = LambdaBoost(
            n_estimators=rounds,
            base=base,
            metric=context.judging.metric,
            early_stopping=None,
            gain=context.judging.gain,
            max_label=context.judging.max_label,
            random_state=context.seed,
            n_jobs=context.judging.num_threads,
        )
        judged = {} if held is None else {"eval_set": [(held.X, held.y)], "eval_qid": [held.query]}
        return ranker.fit(docs.X, docs.y, qid=docs.query, **judged)

    def adapted(base: Booster) -> RecipeResult:
        _, mean = context.over_folds(lambda docs, held: boosted(base, docs, _ROUNDS, held), base)
        best = int(np.argmax(mean))
        booster = boosted(base, context.data.fit, best).booster if best else base
        return RecipeResult(booster, f"{best} rounds")

    return context.each_base("features", adapted)


def _interpolate(context: RecipeContext) -> dict[str, RecipeResult]:
    """Combine each base, and all bases, with the ranker of the target."""
    bases = context.as_results()

    def combined(*names: str) -> RecipeResult:
        return context.combine({name: bases[name] for name in names} | {"target": context.target})

    made = {context.named("interpolate", name): combined(name) for name in bases}
    return {**made, "interpolate all": combined(*bases)} if len(bases) > 1 else made


@_skip_unless_trees()
def _refit(context: RecipeContext) -> dict[str, RecipeResult]:
    """Refit the leaf values of each base; decay and prior are chosen from a grid."""
    grid = list(product(_DECAYS, _PRIORS))

    def adapted(base: Booster) -> RecipeResult:
        def refitted(docs: Dataset, decay: float, prior: float) -> Booster:
            return base.refit(docs, decay=decay, prior_docs=prior, **context.options)

        decay, prior = grid[
            context.best_candidate(
                base, len(grid), lambda docs: (refitted(docs, *one) for one in grid)
            )
        ]
        booster = refitted(context.binned(context.data.fit, base), decay, prior)
        return RecipeResult(booster, f"decay {decay:g}, prior {prior:g} docs")

    return context.each_base("refit", adapted)


@_skip_unless_trees()
def _reweigh(context: RecipeContext) -> dict[str, RecipeResult]:
    """Reweigh the trees of each base; the number of passes is chosen on held-out documents."""
    judging = context.judging

    def reweighed(base: Booster, docs: Dataset, passes: int) -> Booster:
        options = {"num_threads": judging.num_threads, **judging.scale}
        return base.reweigh(docs, judging.metric, most_passes=passes, **options)

    def adapted(base: Booster) -> RecipeResult:
        def after_each_pass(docs: Dataset) -> Iterator[Booster]:
            yield (booster := base)
            for _ in range(_PASSES):
                yield (booster := reweighed(booster, docs, 1))

        passes = context.best_candidate(base, _PASSES + 1, after_each_pass)
        docs = context.binned(context.data.fit, base)
        booster = reweighed(base, docs, passes) if passes else base
        chosen = f"{passes} passes, {booster.num_trees} of {base.num_trees} trees"
        return RecipeResult(booster, chosen)

    return context.each_base("reweigh", adapted)


def _grow(context: RecipeContext) -> dict[str, RecipeResult]:
    """Train on the target and similar documents of the background; combine the result with the bases."""
    there = context.background
    try:
        more = expand(context.data.fit, there, num_threads=context.judging.num_threads)
    except DataError as error:
        raise RecipeNotApplicable(str(error)) from None
    if not len(more.rows):
        message = f"no doc of the background lies within {more.max_distance:.4g} of the target's"
        raise RecipeNotApplicable(message)
    grown = context.train(more=there.take(more.rows))
    chosen = f"{len(more.rows):,} docs of the background ({more.share:.1%}), {grown.chosen}"
    both = {"target": context.target, "grown": grown}
    return {
        "grow": replace(grown, chosen=chosen),
        "interpolate grown": context.combine({**context.as_results(), **both}),
    }


def _pool(context: RecipeContext) -> dict[str, RecipeResult]:
    """Train on the background and the target together."""
    # Two folds do: the background is large, so a fold is expensive, and the target changes little.
    return {"pool": context.train(more=context.background, most_folds=2)}


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

#: Parameters of `train` that recipes set themselves: those of a run, save two, and some others.
_SET_BY_RECIPES = {
    *(name for name, one in TRAININGS["train"].items() if one.group == "run"),
    *("seed", "gain", "max_label", "preferences"),
    # The number of rounds is chosen by truncation, but dropout changes earlier trees in later rounds.
    "dropout",
} - {"preset", "callbacks"}


def check_trees(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters of `train` for all trees; those that recipes set are an error."""
    options = dict(given or {})
    for name in options:
        if name in _SET_BY_RECIPES or name not in TRAININGS["train"]:
            message = f"trees: {name} is no parameter of training that can be set here"
            raise ParamError(message, code="trees")
    return {**(TREES if options.get("preset") is None else {}), **options}
