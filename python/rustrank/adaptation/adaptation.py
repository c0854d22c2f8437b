"""Adaptation: rankers for a market with little data, made from a ranker of another market."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.adaptation._recipes import (
    RECIPES,
    RecipeContext,
    RecipeNotApplicable,
    RecipeResult,
    check_trees,
)
from rustrank.data.raw_rows import RawRows, as_raw_rows
from rustrank.errors import DataError, ParamError, dropped_warnings, wrong_kind
from rustrank.formatting import Table, TableResult, interval, number, percent
from rustrank.inputs.docs import DocArguments
from rustrank.inputs.keywords import OF_ONE_METRIC, refuses_unknown
from rustrank.inputs.scalars import choice, flag, real, text, threads, whole
from rustrank.inputs.tables import check_same_names
from rustrank.metrics.comparison import MetricComparison, compare_values, difference_cells
from rustrank.metrics.evaluation import Drawing, Judging, MetricValue, mean_of, plain_value
from rustrank.model.conversion import as_booster
from rustrank.plotting.results import plot_adaptation
from rustrank.progress import progress_of_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rustrank.model.booster import Booster

__all__ = ["Adaptation", "adapt"]

#: The most folds.
_MOST_FOLDS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Adaptation(TableResult):
    """The rankers of all recipes, with their metrics on documents that were not used to fit or choose.

    Attributes
    ----------
    best : str
        The recipe with the highest mean over the validation sets. Its value there is biased upwards by
        this choice; `choosing` is not.
    boosters : dict
        The ranker of each recipe, and the bases.
    chosen : dict
        The parameters that each recipe chose on the held-out part of the target: rounds, weights.
    values : dict
        The metric by set (``closed``, ``open``) and recipe, each with its interval.
    comparisons : dict
        Each recipe against the first base, by set and recipe.
    choosing : dict
        By set, the metric of the strategy "take the best recipe": each half of the queries is ranked by
        the recipe that is best on the other half.
    skipped : dict
        Recipes that could not be applied, with the reason.
    """

    best: str
    boosters: dict[str, Booster]
    chosen: dict[str, str]
    values: dict[str, dict[str, MetricValue]]
    comparisons: dict[str, dict[str, MetricComparison]]
    choosing: dict[str, MetricValue]
    skipped: dict[str, str]
    metric: str
    level: float
    _base: str

    @property
    def booster(self) -> Booster:
        """The ranker of the best recipe."""
        return self.boosters[self.best]

    @property
    def statements(self) -> list[str]:
        """The conclusion in sentences: which recipe to use, and how significant its difference is."""
        if self.best == self._base:
            description = f"keep {self._base}: no recipe has a higher mean {self.metric}"
            return [description, *self._notes()]
        ways, verdicts = zip(*map(self._verdict, self.values), strict=True)
        is_better = 1 in ways and -1 not in ways
        description = f"use {self.best}" if is_better else f"{self.best} looks best"
        return [f"{description}: {'; '.join(verdicts)}", *self._notes()]

    def _verdict(self, name: str) -> tuple[int, str]:
        """Compare the best recipe with the base on a set, corrected for the number of recipes tried.

        Returns 1 if it is clearly better, -1 if it is clearly worse and 0 otherwise, and a sentence.
        """
        compared = self.comparisons[name][self.best]
        if math.isnan(compared.difference):
            return 0, f"nothing counts on the {name} set"
        difference = f"{number(compared.difference, '+')} on the {name} set"
        p = self._corrected(compared)
        if p >= 1 - self.level:
            return 0, f"{difference}, which is not clear"
        way, called = (1, "better") if compared.difference > 0 else (-1, "worse")
        shown_p = f"p {'<' if p < 0.0001 else '='} {max(p, 0.0001):.4f}"
        return way, f"{difference}, clearly {called} ({shown_p}, Bonferroni)"

    def _corrected(self, compared: MetricComparison) -> float:
        """Return the p-value of a comparison with the base, corrected for the number of recipes tried."""
        return min(1.0, (len(self.boosters) - 1) * compared.p_randomisation)

    def _notes(self) -> list[str]:
        values = ", ".join(
            f"{number(value)} [{interval(value.interval)}] {name}"
            for name, value in self.choosing.items()
        )
        notes = [f"taking the best of {len(self.boosters)} on other queries gives {values}"]
        notes += [f"skipped {name}: {why}" for name, why in self.skipped.items()]
        return notes

    def _tables(self) -> list[Table]:
        head = ["recipe"]
        for name in self.values:
            head += [f"{name} {self.metric}", f"{percent(self.level)} interval", "over base"]
            head.append("p (Bonferroni)")
        head.append("chosen")
        rows = []
        for recipe in self.boosters:
            row = [f"{recipe} *" if recipe == self.best else recipe]
            for name, values in self.values.items():
                row += [number(values[recipe]), interval(values[recipe].bootstrap(self.level))]
                compared = self.comparisons[name].get(recipe)
                p = None if compared is None else self._corrected(compared)
                row += difference_cells(compared, p)
            rows.append([*row, self.chosen.get(recipe, "")])
        return [(head, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "metric": self.metric,
            "best": self.best,
            "statements": self.statements,
            "recipes": {
                recipe: {
                    "chosen": self.chosen.get(recipe, ""),
                    "values": {name: self._plain(name, recipe) for name in self.values},
                }
                for recipe in self.boosters
            },
            "choosing": {name: plain_value(value) for name, value in self.choosing.items()},
            "skipped": self.skipped,
        }

    def _plain(self, name: str, recipe: str) -> dict[str, Any]:
        value = self.values[name][recipe]
        plain = plain_value(value, value.bootstrap(self.level))
        compared = self.comparisons[name].get(recipe)
        if compared is not None:
            plain["difference"] = compared.difference
            plain["difference_interval"] = list(compared.interval)
            plain["p"] = compared.p_randomisation
            plain["p_bonferroni"] = self._corrected(compared)
        return plain

    def plot(self, ax: Any = None) -> Any:
        """Draw each recipe's metric on each set with its interval; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib axes
        """
        return plot_adaptation(self, ax)


@refuses_unknown(OF_ONE_METRIC)
def adapt(
    base: Any,
    target: Any,
    background: Any = None,
    *,
    y: Any = None,
    qid: Any = None,
    group: Any = None,
    held_out: Any = 5,
    valid_closed: Any = None,
    valid_open: Any = None,
    recipes: Sequence[str] | None = None,
    metric: str = "ndcg@10",
    trees: Mapping[str, Any] | None = None,
    mixing: str = "powell",
    level: float = 0.95,
    seed: int = 0,
    gain: Any = "exp2",
    max_label: float | None = None,
    progress: bool = False,
    num_threads: int | None = None,
) -> Adaptation:
    """Adapt a ranker to another market: try several recipes, and report which one to use.

    Every recipe is fitted to the target's queries, and chooses its free parameters on queries that it was
    not fitted to. Its metric is measured on further queries: of the same time (*closed*) and, if given, of
    another time or place (*open*), which shows whether what was learned from few documents generalises.

    Parameters
    ----------
    base : ranker, or mapping from names to rankers
        Rankers of other markets: a `Booster`, or a fitted ranker of this library, LightGBM, XGBoost or
        CatBoost, whose model is read as `Booster.load` reads it. Recipes go on from its trees, so scores
        alone, or other kinds of rankers, are not enough.
    target : docs
        The documents of the market that the ranker is for, in the forms that `rustrank.tune` takes; named
        columns are matched to those of the base.
    background : docs, optional
        The data that the base was trained on, for the recipes ``grow`` and ``pool``.
    y, qid, group : array-like or str, optional
        Labels and queries of a table, as for `rustrank.tune`; names of columns hold for all tables.
    held_out : int or docs, default 5
        The documents on which recipes choose parameters: a number of folds of the target's queries, for
        cross-validation, or separate documents.
    valid_closed : docs, optional
        Further queries of the target's market and time; by default 30% of the target's queries.
    valid_open : docs, optional
        Queries of the market at another place or a later time.
    recipes : sequence of str, optional
        The recipes to try; by default all that can be applied:

        - ``target``: a ranker of the target alone;
        - ``trees``: continue boosting the base with trees (LambdaSMART);
        - ``features``: continue boosting it with single features (`LambdaBoost`);
        - ``interpolate``: the linear combination of base and ``target`` that is best on the held-out
          part: found by an exact sweep for two rankers, by ``mixing`` for more;
        - ``refit``: new values for the leaves of the base (`Booster.refit`);
        - ``reweigh``: new weights for the trees of the base (`Booster.reweigh`);
        - ``grow``: also train on documents of the background that are similar to the target's (`expand`;
          needs scikit-learn), alone and combined with the others;
        - ``pool``: train on background and target together.
    metric : str, default "ndcg@10"
        The metric to maximise.
    trees : mapping, optional
        Parameters of `train` for all recipes. The defaults are the papers' advice: 8 leaves, a learning rate
        of 0.05, 0.7 of rows and features at each node, and fewer than 20 documents in a leaf if there are
        few documents. With ``"preset"`` among them, the others are what the preset says, as in
        ``{"preset": "gao2009"}``.
    mixing : {"powell", "lambdarank", "coordinate"}
        How more than two rankers are combined: along Powell's directions, by a linear `LambdaRank` on
        their scores, or one weight after the other.
    level : float, default 0.95
        The level of intervals and of significance.
    seed : int, default 0
        The seed of the split of queries and of training.
    gain, max_label
        As for `rustrank.evaluate`.
    progress : bool, default False
        Whether to show a progress bar; lines of text where standard error is no terminal.
    num_threads : int, optional
        Threads to use; all cores by default.

    Returns
    -------
    Adaptation
        The ranker and the metrics of each recipe, and the best recipe.

    Raises
    ------
    DataError
        The target has too few queries or only one label, or a data set has other features than the base.

    Examples
    --------
    >>> import rustrank as rr
    >>> markets = rr.datasets.make_domains(num_background=200, num_target=40, seed=1)
    >>> there = markets.background
    >>> base = rr.train(rr.Dataset(there.X, there.y, qid=there.qid), num_trees=30)
    >>> found = rr.adapt(
    ...     base,
    ...     markets.target,
    ...     valid_closed=markets.valid_closed,
    ...     valid_open=markets.valid_open,
    ...     recipes=["trees", "interpolate"],
    ...     trees={"num_trees": 30},
    ... )
    >>> sorted(found.boosters)
    ['base', 'interpolate', 'trees']
    """
    given = dict(locals())
    judging = Judging(
        text("metric", metric), gain, max_label=max_label, num_threads=threads(num_threads)
    )
    bases = _bases(base)
    drawn = whole("seed", seed, 0, 2**63 - 1)
    folds = None
    if isinstance(held_out, (int, np.integer)):
        folds = whole("held_out", held_out, 2, _MOST_FOLDS, ", or docs")
        given["held_out"] = None
    data = AdaptationData(next(iter(bases.values())), given, folds, drawn)
    mixing = choice("mixing", mixing, ("powell", "lambdarank", "coordinate"))
    context = RecipeContext(bases, data, judging, check_trees(trees), mixing, drawn)
    listed = (
        [recipes] if isinstance(recipes, str) else list(RECIPES if recipes is None else recipes)
    )
    for name in listed:
        choice("recipes", name, RECIPES, of="some of")
    wanted = [name for name in RECIPES if name in listed]
    # Small sets have features with a single value, which the caller cannot change.
    with dropped_warnings():
        made, skipped = _run_recipes(
            context, wanted, recipes is not None, flag("progress", progress)
        )
        return _evaluated(context, made, skipped, real("level", level))


def _bases(given: Any) -> dict[str, Booster]:
    named = given if isinstance(given, Mapping) else {"base": given}
    if not named:
        raise wrong_kind("base", given, "a ranker, or a mapping from names to rankers")
    bases: dict[str, Booster] = {}
    for name, one in named.items():
        found = as_booster(one)
        if found is None:
            expected = (
                "a Booster, or a fitted ranker of this library, LightGBM, XGBoost or CatBoost: recipes need "
                "its trees, not only its scores; rr.Booster.load reads a saved model"
            )
            raise wrong_kind("base" if one is given else f"base[{name!r}]", one, expected, "base")
        bases[text("base", name)] = found
    for name, one in bases.items():
        if one._core.needs_queries:
            how = (
                "ranks features within queries"
                if one.query_ranks
                else "has scores that depend on the other docs of the query"
            )
            message = (
                f"base: {name!r} {how}, expected one of raw features alone; rr.train(rr.Dataset(..., base=base)) "
                "goes on from it, with query_ranks=True if all of it ranks features"
            )
            raise ParamError(message, code="base")
    widths = {one.num_features for one in bases.values()}
    if len(widths) > 1:
        message = f"bases have different numbers of features: {sorted(widths)}"
        raise DataError(message, code="features")
    first = next(iter(bases.values()))
    for name, one in bases.items():
        check_same_names(one._names, first._names, f" of base {name!r}")
    for name in bases:
        if name in RECIPES or name == "grown":
            message = f"base: {name!r} is the name of a recipe, call it otherwise"
            raise ParamError(message, code="base")
    return bases


def _run_recipes(
    context: RecipeContext, wanted: list[str], asked: bool, progress: bool
) -> tuple[dict[str, RecipeResult], dict[str, str]]:
    """Run the recipes; one that was asked for by name must be applicable."""
    made: dict[str, RecipeResult] = {}
    skipped: dict[str, str] = {}
    with progress_of_steps(len(wanted), "recipe", progress) as step:
        for name in wanted:
            try:
                made.update(RECIPES[name](context))
            except RecipeNotApplicable as why:
                if asked:
                    message = f"recipe {name} is not possible: {why}"
                    raise ParamError(message, code="recipes") from None
                skipped[name] = str(why)
            except ImportError as why:
                skipped[name] = str(why)
            step(name)
    return made, skipped


def _evaluated(
    context: RecipeContext, made: dict[str, RecipeResult], skipped: dict[str, str], level: float
) -> Adaptation:
    boosters = {**context.bases, **{name: one.booster for name, one in made.items()}}
    first = next(iter(context.bases))
    judging = context.judging
    drawing = Drawing(seed=context.seed, num_threads=judging.num_threads, level=level)
    sets = context.data.valid
    values = {
        name: {
            recipe: context.value(context.score(booster, docs), docs)
            for recipe, booster in boosters.items()
        }
        for name, docs in sets.items()
    }
    comparisons = {
        name: {
            recipe: compare_values(of[first], one, (first, recipe), drawing)
            for recipe, one in of.items()
            if recipe != first
        }
        for name, of in values.items()
    }
    parts = {name: docs.split([1.0, 1.0], context.seed) for name, docs in sets.items()}
    return Adaptation(
        best=_best(values),
        boosters=boosters,
        chosen={name: one.chosen for name, one in made.items()},
        values=values,
        comparisons=comparisons,
        choosing=_choosing(values, parts),
        skipped=skipped,
        metric=judging.metric,
        level=level,
        _base=first,
    )


def _best(values: dict[str, dict[str, Any]]) -> str:
    """Return the recipe with the highest mean over the sets; the first of several."""
    recipes = list(next(iter(values.values())))
    means = [np.mean([float(one[recipe]) for one in values.values()]) for recipe in recipes]
    return recipes[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]


def _choosing(
    values: dict[str, dict[str, MetricValue]], parts: dict[str, list[RawRows]]
) -> dict[str, MetricValue]:
    """Return an unbiased value of choosing the best recipe: chosen on one half, measured on the other."""
    masks = {
        name: np.isin(next(iter(values[name].values())).query_ids, halves[0].query_ids)
        for name, halves in parts.items()
    }
    joined = {name: np.full(len(mask), np.nan) for name, mask in masks.items()}
    for here in (True, False):
        there: dict[str, dict[str, Any]] = {
            name: {
                recipe: mean_of(one.per_query[masks[name] != here]) for recipe, one in of.items()
            }
            for name, of in values.items()
        }
        best = _best(there)
        for name, mask in masks.items():
            joined[name][mask == here] = values[name][best].per_query[mask == here]
    return {
        name: MetricValue(next(iter(values[name].values())).name, one, np.arange(len(one)))
        for name, one in joined.items()
    }


#: The data sets that a caller may give.
_SETS = ("target", "background", "held_out", "valid_closed", "valid_open")
#: The shares of the target to fit to and to evaluate on, where no closed validation set is given.
_FIT, _CLOSED = 0.7, 0.3


class AdaptationData:
    """The data sets of an adaptation.

    Attributes
    ----------
    fit : RawRows
        The documents of the target that rankers are fitted to.
    choosing : RawRows
        The documents that free parameters are chosen on.
    folds : list of (rows, rows)
        For each fold, the rows of ``fit`` to fit to and the rows of ``choosing`` to evaluate on.
    """

    def __init__(
        self, base: Booster, given: Mapping[str, Any], folds: int | None, seed: int
    ) -> None:
        """Check all data sets, and split the target where a set is not given.

        Without a held-out set, ``folds`` is the number of folds.
        """
        docs: dict[str, RawRows] = {}
        arguments = DocArguments(*(given[name] for name in ("y", "qid", "group")))
        like = base.num_features, base._names, "the base"
        for name in _SETS:
            if given[name] is not None:
                further = name != "target"
                docs[name] = as_raw_rows(given[name], name, arguments, like, is_further=further)
                _check_labels(docs[name], name)
                if like[1] is None:
                    like = docs[name].features("the target")
        fit, closed, choosing = map(docs.get, ("target", "valid_closed", "held_out"))
        if fit is None:
            raise wrong_kind("target", None, "docs: (X, y, qid)")
        if choosing is None and folds is None:
            raise wrong_kind("held_out", None, "a number of folds, or docs")
        _check_number(fit, choosing is None, closed is None)
        if closed is None:
            fit, closed = fit.split([_FIT, _CLOSED], seed)
        self.fit, self.choosing, self.background = fit, choosing or fit, docs.get("background")
        self.valid = {"closed": closed}
        if "valid_open" in docs:
            self.valid["open"] = docs["valid_open"]
        if choosing is None:
            count = min(folds or 0, int(fit.has_pairs().sum()))
            self.folds = list(fit.rows_of_folds(fit.folds(count, seed), count))
        else:
            self.folds = [(np.arange(len(fit.y)), np.arange(len(choosing.y)))]


def _check_labels(docs: RawRows, name: str) -> None:
    if not len(docs.y):
        message = f"{name} has no docs"
    elif docs.y.min() == docs.y.max():
        message = (
            f"all {len(docs.y):,} labels of {name} are {docs.y[0]:g}: nothing can be learned from "
            "them, nor judged by them"
        )
    elif not docs.has_pairs().any():
        message = f"no query of {name} has docs with different labels"
    else:
        return
    raise DataError(message, code="labels.one")


def _check_number(target: RawRows, has_folds: bool, is_evaluated: bool) -> None:
    """Raise `DataError` if the target has fewer queries than the parts that it is split into."""
    usable = int(target.has_pairs().sum())
    uses = ["fit to"] + ["choose by"] * has_folds + ["judge by"] * is_evaluated
    # 30% of three queries, rounded, is one.
    if usable >= len(uses) + (is_evaluated and has_folds):
        return
    passed = ["held_out="] * has_folds + ["valid_closed="] * is_evaluated
    message = (
        f"the target has {usable} {'query' if usable == 1 else 'queries'} with different labels, to "
        f"{', '.join(uses)}: bring more queries, or pass {' and '.join(passed)} as docs"
    )
    raise DataError(message, code="adapt.queries")
