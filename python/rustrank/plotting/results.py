"""The plots of result objects: what their ``plot`` methods draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.formatting import interval, number, p_text, percent
from rustrank.plotting import style

if TYPE_CHECKING:
    from rustrank.adaptation.adaptation import Adaptation
    from rustrank.combining.combiner import Combiner
    from rustrank.ensembles.ensemble import EnsembleTables
    from rustrank.estimators.raw_rankers import LambdaBoost
    from rustrank.metrics.comparison import MetricComparison
    from rustrank.model.local_optimum import LocalOptimum
    from rustrank.selection.pareto import ParetoFront
    from rustrank.selection.tuning import Tuning

#: Marker and colour of each kind of row of an ensemble: shapes differ too, for colour-blind readers.
_MARKS = {
    "member": ("s", style.NEUTRAL),
    "combination": ("o", style.FIRST),
    "subset": ("^", style.SECOND),
}
#: Ranges of alpha that span more are drawn on a logarithmic axis.
_WIDE = 50
#: So many bars have a line of their own; of more, neighbours share one.
_BARS = 2000


def plot_combiner(combiner: Combiner, ax: Any = None) -> Any:
    """Draw a fitted combiner: a curve over alpha, or the way of its weights."""
    axes = style.new_axes() if ax is None else ax
    is_sweep = combiner.curve is not None
    chosen: Any = combiner.chosen
    lines: tuple[Any, Any] = combiner.history, combiner.held_out_history
    x_label = "change of the weights"
    if is_sweep:
        chosen, lines = combiner.alpha, (combiner.curve, combiner.held_out_curve)
        x_label = _sweep_axis(combiner, axes)
    axes.axvline(chosen, color=style.NEUTRAL, linewidth=1)
    for name, color, line, value in (
        ("fitted", style.FIRST, lines[0], combiner.value),
        ("held out", style.SECOND, lines[1], combiner.held_out),
    ):
        if line is None or value is None:
            continue
        look = {"color": color, "linewidth": 1.4, "label": f"{name}, {number(value)}"}
        if is_sweep:
            # The corners of a line of steps.
            x = np.column_stack((line.start, line.end)).ravel()
            axes.plot(x, np.repeat(line.value, 2), **look)
        else:
            axes.plot(np.arange(len(line)), line, drawstyle="steps-post", **look)
            axes.xaxis.get_major_locator().set_params(integer=True)
        # A dot, since the best interval may be narrower than any line.
        axes.plot([chosen], [value if is_sweep else line[chosen]], "o", color=color, markersize=6)
    # Room for the legend above what is drawn.
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.05 * (high - low))
    return style.finish(axes, x_label, combiner.value.name, legend=2)


def _sweep_axis(combiner: Combiner, axes: Any) -> str:
    """Draw the best interval of alpha, and return the label of its axis."""
    low, high = combiner.interval or (0.0, 0.0)
    label = f"best interval, {low:.6g} to {high:.6g}"
    axes.axvspan(low, high, color=style.FIRST, alpha=style.FAINT, linewidth=0, label=label)
    first, second = combiner.names
    start, end = combiner._options.alphas or (0.0, 1.0)
    if start > 0 and end / start > _WIDE:
        axes.set_xscale("log")
    axes.set_xlim(start, end)
    share = "(1 - alpha) * " if combiner._options.alphas is None else ""
    return f"alpha, where the score is  {share}{first} + alpha * {second}"


def plot_optimum(found: LocalOptimum, ax: Any = None) -> Any:
    """Draw a metric along single weights, and how it changes along random directions."""
    ax = style.new_axes(10, 4, columns=2) if ax is None else ax
    along, around = ax
    offsets = np.insert(found.offsets, len(found.offsets) // 2, 0.0)
    for curve in found.curves:
        values = np.insert(curve, len(curve) // 2, found.value)
        along.plot(offsets, values, color=style.FIRST, linewidth=0.8, alpha=0.5)
    along.axvline(0, color=style.NEUTRAL, linewidth=1)
    along.axhline(found.value, color=style.NEUTRAL, linewidth=1)
    style.finish(along, f"change of one weight, {len(found.curves)} weights", found.metric)
    around.hist(found.changes, bins=40, color=style.FIRST)
    around.axvline(0, color=style.SECOND, linewidth=1.4)
    around.set_title(f"rises along {found.share_of_ascents:.1%}", fontsize="medium")
    style.finish(around, f"change of {found.metric} along {len(found.changes)} random directions")
    return ax


def plot_adaptation(adaptation: Adaptation, ax: Any = None) -> Any:
    """Draw the value of each recipe on each set, with its interval."""
    recipes = list(adaptation.boosters)
    axes = style.new_axes() if ax is None else ax
    places = np.arange(len(recipes))[::-1]
    for at, (name, values) in enumerate(adaptation.values.items()):
        shift = 0.12 * (1 - 2 * at) if len(adaptation.values) > 1 else 0.0
        color, shown = (style.FIRST, style.SECOND)[at], [values[recipe] for recipe in recipes]
        look = {"fmt": "o", "color": color, "label": name}
        style.draw_intervals(axes, shown, places + shift, adaptation.level, **look)
        axes.axvline(float(shown[0]), color=color, linewidth=0.8, linestyle=":")
    axes.set_yticks(places, recipes)
    return style.finish(axes, f"{adaptation.metric}; dotted: {recipes[0]}", grid="x", legend=2)


def plot_path(ranker: LambdaBoost, ax: Any = None) -> Any:
    """Draw the weight of each feature as rounds go on, the heaviest named."""
    axes = style.new_axes() if ax is None else ax
    names = ranker.booster.feature_names
    features = sorted({feature for feature, _ in ranker.path})
    weights = np.zeros((len(ranker.path) + 1, len(features)))
    for at, (feature, weight) in enumerate(ranker.path):
        weights[at + 1 :, features.index(feature)] += weight
    heaviest = set(np.argsort(-np.abs(weights[-1]))[:8].tolist())
    named = style.looks(len(heaviest))
    for at, feature in enumerate(features):
        how: dict[str, Any] = {"color": style.NEUTRAL, "alpha": style.FAINT, "zorder": 1}
        if at in heaviest:
            how = {**next(named).line, "label": style.plain(names[feature]), "zorder": 2}
        axes.plot(weights[:, at], linewidth=1.2, **how)
    if ranker.best_round is not None:
        axes.axvline(ranker.best_round, color=style.NEUTRAL, linewidth=1, linestyle=":")
    axes.legend(frameon=False, fontsize="small")
    return style.finish(axes, "round", "weight")


def plot_comparison(compared: MetricComparison, ax: Any = None) -> Any:
    """Draw the difference of every query, the largest gain first, and the mean with its interval."""
    axes = style.new_axes() if ax is None else ax
    first, second = map(style.plain, compared.names)
    differences = np.sort(compared.per_query[~np.isnan(compared.per_query)])[::-1]
    queries, places = len(differences), np.arange(1, len(differences) + 1)
    if queries > _BARS:
        kept = np.unique(np.linspace(0, queries - 1, _BARS).round().astype(int))
        places, differences = places[kept], differences[kept]
    # A bar ends half way to the next one; the first starts, and the last ends, half a query beyond its place.
    edges = np.concatenate([[0.5], (places[1:] + places[:-1]) / 2, [queries + 0.5]])
    sides = (
        (differences > 0, style.BETTER, f"{second} is better: {compared.wins:,}"),
        (differences < 0, style.WORSE, f"{first} is better: {compared.losses:,}"),
        (differences == 0, style.NEUTRAL, f"equal: {compared.ties:,}"),
    )
    for chosen, color, label in sides:
        there = np.where(chosen, differences, 0.0)
        if queries:
            axes.stairs(there, edges, fill=True, color=color, linewidth=0, label=label)
    low, high = compared.interval
    label = (
        f"mean {number(compared.difference, '+')}, {percent(compared.level)} interval "
        f"{interval(compared.interval, '+')}"
    )
    axes.axhspan(low, high, color=style.FIRST, alpha=style.FAINT, linewidth=0)
    axes.axhline(compared.difference, color=style.FIRST, linewidth=1.4, linestyle="--", label=label)
    axes.axhline(0, color=style.NEUTRAL, linewidth=0.8)
    axes.set_xlim(0.5, max(queries, 1) + 0.5)
    axes.set_title(p_text(compared.p_randomisation), fontsize="small", loc="right")
    y_label = f"{compared.metric} of {second} minus {first}"
    return style.finish(axes, "queries, the largest gain first", y_label, legend=1)


def plot_ensemble(ensemble: EnsembleTables, ax: Any = None) -> Any:
    """Draw the first metric of everything that was measured, with its interval."""
    metric = ensemble.metrics[0]
    parts = {
        "combination": ensemble.combinations,
        "member": ensemble.members,
        "subset": ensemble.subsets,
    }
    names = [name for rows in parts.values() for name in rows]
    axes = style.new_axes(8.5, max(3.0, 0.24 * len(names) + 1.2)) if ax is None else ax
    place = len(names)
    for kind, rows in parts.items():
        if not rows:
            continue
        places = np.arange(place - 1, place - 1 - len(rows), -1)
        place -= len(rows)
        mark, color = _MARKS[kind]
        look = {"fmt": mark, "color": color, "linewidth": 1, "label": kind}
        values = [row.valid[metric] for row in rows.values()]
        style.draw_intervals(axes, values, places, ensemble.level, **look)
    best = float(ensemble.members[ensemble.best_member].valid[metric])
    axes.axvline(best, color=_MARKS["member"][1], linewidth=0.8, linestyle=":")
    marked = {ensemble.chosen, ensemble.best_member}
    labels = [style.plain(f"{name} *" if name in marked else name) for name in names]
    axes.set_yticks(np.arange(len(names) - 1, -1, -1), labels, fontsize="small")
    label = f"{metric} with {percent(ensemble.level)} intervals; dotted: {ensemble.best_member}"
    return style.finish(axes, label, grid="x", legend=3)


def plot_tuning(tuning: Tuning, axes: Any = None) -> Any:
    """Draw the metric over each parameter, the best setting marked."""
    names = list(tuning.best)
    if axes is None:
        axes = style.new_axes(3.2 * len(names) + 0.8, 3.2, columns=len(names), sharey=True)
    panels = np.ravel(np.asarray(axes, object))
    means = np.array([float(trial.value) for trial in tuning.trials])
    best = int(np.nanargmax(means)) if not np.isnan(means).all() else 0
    for panel, name in zip(panels, names, strict=True):
        places = _places(panel, [trial.setting[name] for trial in tuning.trials])
        panel.plot(places, means, "o", color=style.FIRST, markersize=4, alpha=0.7)
        panel.plot(places[best], means[best], "D", color=style.SECOND, markersize=8, label="best")
        style.finish(panel, style.plain(name))
    panels[0].set_ylabel(tuning.metric)
    # Outside of the data, where its marker is no setting.
    panels[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return panels


def _places(panel: Any, values: list[Any]) -> Any:
    """Return where values go: numbers where they are, on a logarithmic axis if they span much."""
    is_number = all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
    )
    if is_number:
        places = np.array(values, float)
        if places.min() > 0 and places.max() / places.min() >= 10:
            panel.set_xscale("log")
            # Powers of ten alone: labels between them overlap in a narrow panel.
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter("")
        elif all(isinstance(value, int) for value in values):
            panel.xaxis.get_major_locator().set_params(integer=True)
        return places
    label = list(dict.fromkeys(map(str, values)))
    panel.set_xticks(range(len(label)), label, rotation=45)
    return np.array([label.index(str(value)) for value in values])


def plot_front(front: ParetoFront, ax: Any = None) -> Any:
    """Draw the points of two metrics, and a line through those that no other is better than."""
    axes = style.new_axes() if ax is None else ax
    first, second = front.metrics
    best = front.front
    axes.plot(
        [point.values[first] for point in best],
        [point.values[second] for point in best],
        "o-",
        color=style.FIRST,
        label="Pareto front",
    )
    others = [point for point in front.points if not point.is_best]
    if others:
        axes.plot(
            [point.values[first] for point in others],
            [point.values[second] for point in others],
            "s",
            color=style.NEUTRAL,
            label="another point is better",
        )
    for point in front.points:
        place = point.values[first], point.values[second]
        style.note(axes, f"{point.share:g}", place, (6, 4))
    label = f"{first}; numbers are weights of {second}"
    return style.finish(axes, label, second, grid="both", legend=2)
