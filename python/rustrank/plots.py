"""Pictures of rankers and rankings; they need matplotlib: ``pip install 'rustrank[plot]'``.

Each function draws into ``ax=``, or into a new figure, and returns the axes. Result objects (`Combiner`,
`Adaptation`, `MetricComparison`, `LocalOptimum`, `LambdaBoost`) have a ``plot`` method of their own.
``plot_importance``, ``plot_metric`` and ``plot_tree`` have the names of LightGBM and XGBoost. All functions
take rankers and boosters of `rustrank.compat`, too.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.combining.side_by_side import SideBySide, drawn_booster
from rustrank.errors import ParamError, UnknownNameError, shown, unfitted, wrong_value
from rustrank.formatting import count, percent
from rustrank.inputs.queries import as_queries, query_codes
from rustrank.inputs.scalars import as_list, real, text, whole
from rustrank.inputs.tables import Frame, as_table, columns_of, in_one_piece, named_columns
from rustrank.inputs.vectors import as_doubles, as_labels, as_scores, check_length
from rustrank.metrics.evaluation import Judging
from rustrank.model.ranking import feature_ranks
from rustrank.plotting import style
from rustrank.plotting.tree_axes import draw_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    from rustrank.model.booster import Booster

    #: Values after each round, by set and metric.
    History = Mapping[str, Mapping[str, Any]]

__all__ = [
    "plot_cuts",
    "plot_importance",
    "plot_metric",
    "plot_position_bias",
    "plot_scores",
    "plot_shap",
    "plot_tree",
]

#: The bootstrap samples of each interval, where there are many intervals.
_RESAMPLES = 2000
#: The number of bins of a density.
_BINS = 200
#: The number of piles of points of a beeswarm.
_PILES = 80
#: The most labels with rows of their own.
_LEVELS = 32
#: Inches: a row of bars.
_ROW = 0.27


def plot_metric(ranker: Any, metric: str | None = None, *, ax: Any = None) -> Any:
    """Draw learning curves: a metric on each validation set after each round.

    Parameters
    ----------
    ranker : Booster or fitted estimator
        One that comes from training with validation sets: a model file has no history. Rounds after the
        best one are drawn, too.
    metric : str, optional
        The metric; by default the first that was evaluated.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    history, best, before = _history(ranker)
    curves = _curves(history, metric)
    name = metric or next(iter(next(iter(history.values()))))
    axes = style.new_axes() if ax is None else ax
    for look, (of_set, values) in zip(style.looks(len(curves)), curves.items(), strict=True):
        rounds = np.arange(before + 1, before + len(values) + 1)
        axes.plot(rounds, values, **look.line, linewidth=1.5, label=style.plain(of_set))
        if best is not None and 1 <= best - before <= len(values):
            axes.plot(
                [best], [values[best - before - 1]], look.marker, color=look.color, markersize=6
            )
    if best is not None:
        label = f"best round: {best:,}"
        axes.axvline(best, color=style.NEUTRAL, linewidth=1, linestyle=":", label=label)
    return style.finish(axes, "round", name, legend=3)


def _history(ranker: Any) -> tuple[History, int | None, int]:
    """Return the metrics on each validation set after each round, the best round, and the rounds of a base."""
    if type(ranker).__module__.startswith("rustrank.compat."):
        return _compat_history(ranker)
    booster = drawn_booster(ranker)
    before, _ = booster._rounds_of_history()
    return booster.history or booster.all_rounds.history, booster.best_round, before


def _compat_history(ranker: Any) -> tuple[History, int | None, int]:
    """Return the history of a ranker or a booster with the names of LightGBM or XGBoost."""
    if hasattr(ranker, "native"):
        return _history(ranker.native)
    if not ranker.__sklearn_is_fitted__():
        raise unfitted(type(ranker).__name__)
    # The rankers' own record: after early stopping their boosters have no history.
    is_xgboost = callable(getattr(type(ranker), "evals_result", None))
    record = ranker.evals_result() if is_xgboost else ranker.evals_result_
    best = _best_of_compat(ranker, is_xgboost=is_xgboost)
    return record, best, _rounds_before(ranker)


def _rounds_before(ranker: Any) -> int:
    """Return the rounds of the model that training went on from."""
    booster = ranker.booster_ if hasattr(ranker, "booster_") else ranker.get_booster()
    begin: int = vars(booster).get("_begin", 0)
    return begin


def _best_of_compat(ranker: Any, *, is_xgboost: bool) -> int | None:
    if not is_xgboost:
        return ranker.best_iteration_ or None
    try:
        return int(ranker.best_iteration) + 1  # XGBoost counts from 0.
    except AttributeError:  # There was no early stopping.
        return None


def _curves(history: History, metric: str | None) -> dict[str, Floats]:
    """Return the values of a metric after each round, by the names of sets."""
    if not history:
        message = (
            "ranker has no learning curves: they come from training with validation sets "
            "(valid=...), and model files do not keep them"
        )
        raise ParamError(message, code="history")
    known = list(dict.fromkeys(name for values in history.values() for name in values))
    chosen = known[0] if metric is None else text("metric", metric)
    if chosen not in known:
        message = f"there is no {shown(chosen)} in the history: expected {', '.join(known)}"
        raise UnknownNameError(message, code="metric.absent")
    return {
        name: np.asarray(values[chosen]) for name, values in history.items() if chosen in values
    }


def plot_importance(
    ranker: Any,
    kind: str = "reduction",
    *,
    max_num_features: int | None = 20,
    ax: Any = None,
    **of_importance: Any,
) -> Any:
    """Draw the importance of features, the most important first.

    Parameters
    ----------
    ranker : Booster or fitted estimator
        Whose features.
    kind : {"reduction", "count", "permutation"}
        As for `Booster.feature_importance`; reductions are drawn as shares of their sum.
    max_num_features : int, optional
        The most features to draw; None for all that matter at all.
    ax : matplotlib axes, optional
        Where to draw.
    **of_importance
        More for `Booster.feature_importance`: permutations need a ``dataset``.

    Returns
    -------
    matplotlib axes
    """
    booster = drawn_booster(ranker)
    values = booster.feature_importance(kind, **of_importance)
    label = {
        "reduction": "share of the reduction of the loss (%)",
        "count": "splits",
        "permutation": f"loss of {of_importance.get('metric', 'ndcg@10')} when shuffled",
    }[kind]
    if kind != "permutation" and booster._parts_beside_trees():
        label += ", of its trees alone"
    if kind == "reduction" and values.sum() > 0:
        values = 100 * values / values.sum()
    matter = int(np.count_nonzero(values))
    most = matter if max_num_features is None else whole("max_num_features", max_num_features, 1)
    # What shuffling makes better by chance comes last, after those that do nothing.
    order = np.argsort(-values, kind="stable")
    order = order[values[order] != 0][: min(most, matter)]
    axes = style.axes_or_new(ax, 7.5, 1.2 + _ROW * max(len(order), 3))
    places = np.arange(len(order))[::-1]
    axes.barh(places, values[order], height=0.7, color=style.FIRST)
    for place, value in zip(places, values[order], strict=True):
        shown_value = f"{value:,.0f}" if kind == "count" else f"{value:.3g}"
        style.note(axes, shown_value, (max(value, 0), place), (4, 0), va="center")
    style.name_rows(axes, places, (booster.feature_names[at] for at in order))
    axes.margins(x=0.12)
    left_out = matter - len(order)
    if left_out:
        title = f"{count(left_out, 'feature')} of less importance not shown"
        axes.set_title(title, fontsize="small", loc="right")
    return style.finish(axes, label, grid="x")


def plot_tree(
    ranker: Any, tree_index: int = 0, *, max_depth: int | None = None, ax: Any = None
) -> Any:
    """Draw a tree: the root on the left; documents that meet the condition go up.

    Missing values go the thick way. Leaves show what they add to the score, and how many docs they had in
    training: of those with a gradient in that round, as in `Booster.dump`. `Booster.draw_tree` draws the
    same as SVG, without matplotlib.

    Parameters
    ----------
    ranker : Booster or fitted estimator
        Whose tree.
    tree_index : int, default 0
        Which tree: its place in `Booster.dump`, which leaves out the trees of models inside.
    max_depth : int, optional
        How many levels of splits to draw; below them is the number of leaves. By default all, or as many as
        can be read in ``ax``, or fit a figure of 400 inches; the title says if that is not all.
    ax : matplotlib axes, optional
        Where to draw: the size of text follows from theirs. A new figure has a size at which the text can be
        read.

    Returns
    -------
    matplotlib axes
    """
    booster = drawn_booster(ranker)
    at = booster._tree_at("tree_index", tree_index)
    most = None if max_depth is None else whole("max_depth", max_depth, 1)
    tree = booster._nested(at)
    title = partial(booster._tree_title, at, tree)
    return draw_tree(tree, booster.feature_names, title, max_depth=most, ax=ax)


def plot_cuts(
    rankers: Any,
    docs: Any = None,
    *,
    y: Any = None,
    X: Any = None,
    qid: Any = None,
    group: Any = None,
    metric: str = "ndcg",
    cuts: int | Sequence[int] = 20,
    level: float = 0.95,
    query_weight: Any = None,
    gain: Any = "exp2",
    ties: str = "expected",
    empty: str = "skip",
    relevant_from: float = 1,
    max_label: float | None = None,
    num_threads: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw a metric of several rankers at many cuts, with bootstrap intervals.

    Parameters
    ----------
    rankers : mapping or sequence
        Rankers by their names: scores of all docs, boosters, fitted estimators, models of other
        libraries (what has a ``predict``), functions of ``X``, or model files.
    docs, y, X, qid, group, query_weight
        The documents, as for `rustrank.evaluate`: labels, perhaps with features, or both together.
    metric : str, default "ndcg"
        A metric without a cut.
    cuts : int or sequence of int, default 20
        The cuts; a number stands for all from 1 up to it.
    level : float, default 0.95
        The level of the intervals; 0 for none.
    gain, ties, empty, relevant_from, max_label, num_threads
        As for `rustrank.evaluate`.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    places = _cuts(cuts)
    name = text("metric", metric)
    if "@" in name:
        message = f"metric: got {name!r}, expected one without a cut: cuts= has them"
        raise ParamError(message, code="metric.name")
    chance = real("level", level)
    several = [f"{name}@{cut}" for cut in places]
    judging = Judging(several, gain, ties, empty, relevant_from, max_label, num_threads)
    given = {"docs": docs, "y": y, "X": X, "qid": qid, "group": group, "query_weight": query_weight}
    found = SideBySide.of(rankers, given, judging.num_threads).evaluate_all(judging)
    axes = style.axes_or_new(ax)
    for look, (ranker, values) in zip(style.looks(len(found)), found.items(), strict=True):
        how = {**look.line, "marker": look.marker, "markersize": 4, "linewidth": 1.4}
        axes.plot(places, list(values.values()), **how, label=style.plain(ranker))
        if chance > 0:
            ends = np.array([one.bootstrap(chance, _RESAMPLES) for one in values.values()])
            axes.fill_between(
                places, *ends.T, color=look.color, alpha=style.FAINT / 1.5, linewidth=0
            )
    axes.xaxis.get_major_locator().set_params(integer=True)
    bands = f", bands: {percent(chance)} intervals" if chance > 0 else ""
    x_label = f"cut: {name}@k looks at the first k docs"
    return style.finish(axes, x_label, f"{name}@k{bands}", legend=min(len(found), 3))


def _cuts(cuts: Any) -> list[int]:
    if isinstance(cuts, (int, np.integer)):
        return list(range(1, whole("cuts", cuts, 1, 1000) + 1))
    each = as_list("cuts", cuts, "a number, or several")
    listed = sorted({whole("cuts", cut, 1) for cut in each})
    if not listed:
        raise ParamError("cuts is empty: expected a number, or several", code="cuts")
    return listed


def plot_scores(scores: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw the distribution of scores for each label: the less they overlap, the better.

    Parameters
    ----------
    scores, y : array-like of shape (num_docs,)
        The score and the label of each doc.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    labels = as_labels(y)
    values = as_scores(scores, "scores")
    check_length("scores", len(values), len(labels), "rows")
    known = np.isfinite(values)
    values, labels = values[known], labels[known]
    if not len(values):
        raise ParamError("scores: none of them is finite", code="scores")
    levels = np.unique(labels)
    if len(levels) > _LEVELS:
        message = f"y has {len(levels):,} different labels: expected {_LEVELS} at most"
        raise ParamError(message, code="labels")
    # The few that lie far out would leave no room for the others.
    low, high = np.quantile(values, [0.001, 0.999])
    places = np.linspace(low - 0.05 * (high - low or 1), high + 0.05 * (high - low or 1), _BINS)
    densities = [_density(values[labels == level], places) for level in levels]
    tallest = max(density.max() for density in densities)
    axes = style.axes_or_new(ax, 7.5, 1.3 + 0.75 * len(levels))
    for at, (level, density) in enumerate(zip(levels, densities, strict=True)):
        top = at + 0.9 * density / tallest
        axes.fill_between(places, at, top, color=style.FIRST, alpha=0.55, linewidth=0)
        middle = np.median(values[labels == level])
        axes.plot([middle, middle], [at, at + 0.85], color=style.SECOND, linewidth=1.8)
    named = [f"label {level:g}\n{count(int((labels == level).sum()), 'doc')}" for level in levels]
    axes.set_yticks(np.arange(len(levels)), named, va="bottom")
    axes.set_ylim(-0.08, len(levels))
    axes.set_title("share of the docs of each label; line: median", fontsize="small", loc="right")
    return style.finish(axes, "score")


def _density(values: Floats, places: Floats) -> Floats:
    """Return a smooth density at evenly spaced places."""
    step = places[1] - places[0]
    ends = np.append(places - step / 2, places[-1] + step / 2)
    histogram, _ = np.histogram(np.clip(values, places[0], places[-1]), ends)
    # Silverman's rule, in steps.
    spread = np.std(values) / step
    width = float(np.clip(1.06 * spread * len(values) ** -0.2, 1.0, _BINS / 8))
    reach = np.arange(-_BINS // 2 + 1, _BINS // 2)
    kernel = np.exp(-0.5 * (reach / width) ** 2)
    smooth = np.convolve(histogram, kernel / kernel.sum(), mode="same")
    return np.asarray(smooth / max(len(values), 1), np.float64)


def plot_shap(
    ranker: Any,
    X: Any,
    *,
    qid: Any = None,
    group: Any = None,
    max_num_features: int = 15,
    ax: Any = None,
    **of_explain: Any,
) -> Any:
    """Draw a beeswarm plot of exact SHAP values: a point for each document and feature.

    Features that add most, on average of absolute values, come first. The colour is the feature's
    value in the doc, from blue for the lowest to orange for the highest: of ``rank(...)`` the rank within the
    query. Missing values and categories are hollow.

    Parameters
    ----------
    ranker : Booster or fitted estimator
        Whose scores.
    X, qid, group, **of_explain
        As for `Booster.explain`; a few thousand docs are enough.
    max_num_features : int, default 15
        The most features to draw.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    booster = drawn_booster(ranker)
    if isinstance(qid, str):
        X, columns = named_columns(X, {"qid": qid})
        qid = columns["qid"]
    values = booster.explain(X, qid=qid, group=group, **of_explain)[:, :-1]
    if not len(values):
        raise ParamError("X has no docs", code="X")
    weight = np.abs(values).mean(axis=0)
    most = whole("max_num_features", max_num_features, 1)
    order = np.argsort(-weight, kind="stable")[: min(most, max(int((weight > 0).sum()), 1))]
    cells = _cells_of(booster, X, **of_explain)
    if booster.query_ranks:
        queries, _ = as_queries(qid, group, len(cells))
        drawn = order[order >= booster.num_raw_features] - booster.num_raw_features
        ranks = np.full(cells.shape, np.nan)
        ranks[:, drawn] = feature_ranks(cells[:, drawn], query_codes(queries))
        cells = np.hstack([cells, ranks])
    axes = style.axes_or_new(ax, 7.5, 1.4 + 0.36 * max(len(order), 3))
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("value", [style.FIRST, "#8C8C8C", style.SECOND])
    for place, feature in enumerate(order[::-1]):
        _draw_swarm(axes, values[:, feature], cells[:, feature], place, ramp)
    axes.axvline(0, color=style.NEUTRAL, linewidth=0.8)
    style.name_rows(axes, np.arange(len(order)), (booster.feature_names[at] for at in order[::-1]))
    axes.set_ylim(-0.7, len(order) - 0.3)
    _draw_color_bar(axes, ramp)
    return style.finish(axes, "SHAP value: what the feature adds to the score", grid="x")


def _cells_of(
    booster: Booster, X: Any, *, missing: float | None = None, infinite: str = "error", **_: Any
) -> Floats:
    """Return the values of raw features, in the order of the booster's; NaN where there is no number.

    ``missing`` and ``infinite`` say which numbers are none, as for `Booster.explain`.
    """
    expected = booster.num_raw_features, booster._names
    table = columns_of(as_table(X), expected, "X", "the booster")
    cells = np.full((table.num_rows, table.num_features), np.nan)
    for feature in set(range(table.num_features)) - set(booster._core.categorical()):
        with contextlib.suppress(TypeError):
            column = Frame([table.column(feature)], ["column"], table.num_rows)
            cells[:, feature] = np.asarray(in_one_piece(column))[:, 0]
    is_missing = cells == (booster._missing if missing is None else missing)
    if infinite == "missing":
        is_missing |= np.isinf(cells)
    return np.where(is_missing, np.nan, cells)


def _draw_swarm(axes: Any, values: Floats, cells: Floats, place: int, ramp: Any) -> None:
    """Draw a row of points, one for each value, stacked around the middle where they are frequent."""
    low, high = values.min(), values.max()
    bins = np.minimum(((values - low) / ((high - low) or 1) * _PILES).astype(int), _PILES - 1)
    order = np.argsort(bins, kind="stable")
    sizes = np.bincount(bins, minlength=_PILES)
    within = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # 0, 1, -1, 2, -2 ... steps from the middle, all within the row.
    steps = np.where(within % 2, -(within + 1) // 2, within // 2)
    heights = np.empty(len(values))
    heights[order] = place + 0.8 * steps / max(sizes.max(), 12)
    known = ~np.isnan(cells)
    ranks = np.sort(cells[known])
    if known.any():
        sides = [np.searchsorted(ranks, cells[known], side) for side in ("left", "right")]
        colors = ramp(_stretched((sides[0] + sides[1]) / 2))
        axes.scatter(values[known], heights[known], c=colors, s=7, linewidth=0, rasterized=True)
    axes.scatter(
        values[~known],
        heights[~known],
        s=7,
        facecolor="none",
        edgecolor=style.NEUTRAL,
        linewidth=0.6,
        rasterized=True,
    )


def _stretched(ranks: Floats) -> Floats:
    """Return ranks from 0 for the lowest to 1 for the highest; 1/2 if there is one alone."""
    low, high = ranks.min(), ranks.max()
    if low == high:
        return np.full(len(ranks), 0.5)
    return np.asarray((ranks - low) / (high - low))


def _draw_color_bar(axes: Any, ramp: Any) -> None:
    """Draw the bar that explains the colours."""
    from matplotlib.cm import ScalarMappable

    bar = axes.figure.colorbar(ScalarMappable(cmap=ramp), ax=axes, ticks=[0, 1], aspect=30)
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("value of the feature", labelpad=-8)
    bar.outline.set_visible(False)


def plot_position_bias(ranker: Any, *, known: Any = None, ax: Any = None) -> Any:
    """Draw the learned position bias: clicks at each position relative to the first.

    Parameters
    ----------
    ranker : Booster or fitted estimator
        One that was trained on clicks with positions: see `Booster.position_bias`.
    known : array-like, optional
        How often each place is looked at, from the first, if that is known: from an experiment, or
        because the clicks are artificial. It is drawn for comparison.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    booster = drawn_booster(ranker)
    bias = getattr(booster, "position_bias", None)
    if bias is None:
        message = (
            "ranker has no position bias: that comes from training on a dataset with positions"
        )
        raise ParamError(message, code="position_bias")
    curves = {"learned": np.exp(bias)}
    if known is not None:
        looked_at = as_doubles(known, "known")
        if not len(looked_at) or not looked_at[0] > 0:
            raise wrong_value("known", known, "numbers, the first above 0")
        curves["known"] = looked_at / looked_at[0]
    axes = style.axes_or_new(ax)
    for look, (name, values) in zip(style.looks(len(curves)), curves.items(), strict=True):
        how = {**look.line, "marker": look.marker, "markersize": 5, "linewidth": 1.5}
        axes.plot(np.arange(1, len(values) + 1), 100 * values, **how, label=name)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    y_label = "clicks on the same docs, % of those at position 1"
    return style.finish(axes, "position", y_label, legend=0 if known is None else 2)
