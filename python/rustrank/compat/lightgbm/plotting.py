"""LightGBM's ``plot_importance``, ``plot_metric`` and ``plot_tree``; they need matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.lightgbm.booster import Booster
from rustrank.compat.lightgbm.sklearn import LGBMRanker
from rustrank.errors import (
    ParamError,
    UnknownNameError,
    shown,
    unfitted,
    warn_caller,
    wrong_kind,
    wrong_value,
)
from rustrank.inputs.scalars import whole
from rustrank.plots import plot_tree as draw_tree
from rustrank.plotting import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    Pair = tuple[float, float]


def plot_importance(
    booster: Booster | LGBMRanker,
    ax: Any = None,
    height: float = 0.2,
    xlim: Pair | None = None,
    ylim: Pair | None = None,
    title: str | None = "Feature importance",
    xlabel: str | None = "Feature importance",
    ylabel: str | None = "Features",
    importance_type: str = "auto",
    max_num_features: int | None = None,
    ignore_zero: bool = True,
    figsize: Pair | None = None,
    dpi: int | None = None,
    grid: bool = True,
    precision: int | None = 3,
    **kwargs: Any,
) -> Any:
    """Draw the importance of features, the most important on top, and return the axes.

    Parameters
    ----------
    booster : Booster or LGBMRanker
        Whose features.
    ax, figsize, dpi
        The matplotlib axes to draw into, or the size and resolution of a new figure.
    height, **kwargs
        Arguments of matplotlib's ``barh``.
    xlim, ylim, title, xlabel, ylabel, grid
        Limits, labels and grid of the axes; ``@importance_type@`` in a label is replaced.
    importance_type : {"auto", "split", "gain"}
        As for `Booster.feature_importance`; ``auto`` is that of the ranker, or ``split``.
    max_num_features : int, optional
        The most features to draw; None for all.
    ignore_zero : bool, default True
        Whether to leave out features without splits.
    precision : int, optional
        Digits after the point of gains.
    """
    kind = importance_type
    if kind == "auto":
        kind = getattr(booster, "importance_type", "split")
    model = _booster_of(booster)
    values = model.feature_importance(kind)
    order = np.argsort(values, kind="stable")
    order = order[values[order] > 0] if ignore_zero else order
    if max_num_features is not None and max_num_features > 0:
        order = order[-whole("max_num_features", max_num_features, 1) :]
    if not len(order):
        raise ParamError("booster: none of its features has splits", code="booster")
    axes, names = _axes(ax, figsize, dpi), model.feature_name()
    digits = precision if kind == "gain" else None
    _draw_bars(axes, values[order], digits, {"height": height, **kwargs})
    style.name_rows(axes, np.arange(len(order)), (names[at] for at in order))
    limits = (
        _pair("xlim", xlim, (0, 1.15 * float(values.max()))),
        _pair("ylim", ylim, (-1, len(order))),
    )
    labels = [one and one.replace("@importance_type@", kind) for one in (title, xlabel, ylabel)]
    return _finished(axes, labels, limits, grid)


def plot_metric(
    booster: Mapping[str, Any] | LGBMRanker,
    metric: str | None = None,
    dataset_names: Sequence[str] | None = None,
    ax: Any = None,
    xlim: Pair | None = None,
    ylim: Pair | None = None,
    title: str | None = "Metric during training",
    xlabel: str | None = "Iterations",
    ylabel: str | None = "@metric@",
    figsize: Pair | None = None,
    dpi: int | None = None,
    grid: bool = True,
) -> Any:
    """Draw a metric on each validation set after each iteration, and return the axes.

    Parameters
    ----------
    booster : dict or LGBMRanker
        What `record_evaluation` has recorded, or a ranker that was fitted with ``eval_set``.
    metric : str, optional
        The metric, by default the first, with a warning if there are several.
    dataset_names : list of str, optional
        The sets, by default all.
    ax, xlim, ylim, title, xlabel, ylabel, figsize, dpi, grid
        As for `plot_importance`; ``@metric@`` in a label is replaced.
    """
    recorded = _recorded(booster)
    names = list(recorded if dataset_names is None else dataset_names)
    for name in names:
        if name not in recorded:
            message = f"dataset_names: there is no {shown(name)}, expected some of"
            raise UnknownNameError(f"{message} {', '.join(recorded)}", code="dataset_names")
    known = list(dict.fromkeys(one for name in names for one in recorded[name]))
    chosen = str(metric or next(iter(known), ""))
    if chosen not in known:
        expected = ", ".join(known) or "a metric of a validation set: there was none"
        message = f"metric: there is no {shown(chosen)}, expected {expected}"
        raise UnknownNameError(message, code="metric")
    if metric is None and len(known) > 1:
        message = "More than one metric available, picking one to plot"
        warn_caller(f"{message}: {chosen}, the first of {', '.join(known)}; metric= names another")
    axes = _axes(ax, figsize, dpi)
    for look, name in zip(style.looks(len(names)), names, strict=True):
        values = recorded[name].get(chosen, [])
        axes.plot(np.arange(1, len(values) + 1), values, **look.line, label=style.plain(name))
    axes.legend(loc="best")
    axes.xaxis.get_major_locator().set_params(integer=True)
    labels = [one and one.replace("@metric@", chosen) for one in (title, xlabel, ylabel)]
    if ylabel == "auto":
        labels[2] = chosen
    return _finished(axes, labels, (_pair("xlim", xlim), _pair("ylim", ylim)), grid)


def plot_tree(
    booster: Booster | LGBMRanker,
    ax: Any = None,
    tree_index: int = 0,
    figsize: Pair | None = None,
    dpi: int | None = None,
    show_info: Sequence[str] | None = None,
    precision: int | None = 3,
    orientation: str = "horizontal",
    example_case: Any = None,
    **kwargs: Any,
) -> Any:
    """Draw a tree as `rustrank.plot_tree` does, and return the axes.

    Parameters
    ----------
    booster : Booster or LGBMRanker
        Whose tree.
    ax, figsize, dpi
        As for `plot_importance`; by default the size is one at which the text can be read.
    tree_index : int, default 0
        Which tree.
    show_info, precision, orientation, example_case, **kwargs
        Refused, other than the defaults: leaves show their values and numbers of documents. Graphviz is
        not needed, and takes no arguments.
    """
    refused = {
        "show_info": (show_info, "None", not show_info),
        "precision": (precision, "3", precision == 3),
        "orientation": (orientation, "'horizontal'", orientation == "horizontal"),
        "example_case": (example_case, "None", example_case is None),
        **{name: (value, "no such argument", False) for name, value in kwargs.items()},
    }
    for name, (value, expected, is_accepted) in refused.items():
        if not is_accepted:
            hint = "rustrank draws the tree itself; booster.native.dump() has all its numbers"
            raise wrong_value(name, value, f"{expected}: {hint}")
    is_new = ax is None and figsize is None and dpi is None
    axes = None if is_new else _axes(ax, figsize, dpi)
    return draw_tree(_booster_of(booster).native, tree_index, ax=axes)


def _booster_of(booster: Any) -> Booster:
    found = booster.booster_ if isinstance(booster, LGBMRanker) else booster
    if not isinstance(found, Booster):
        raise wrong_kind("booster", booster, "a Booster or a fitted LGBMRanker")
    return found


def _recorded(booster: Any) -> Mapping[str, Any]:
    """Return the values of metrics after each iteration, by set and metric."""
    if isinstance(booster, LGBMRanker):
        if not booster.fitted_:
            raise unfitted(type(booster).__name__)
        booster = booster.evals_result_
    if not isinstance(booster, Mapping):
        hint = "train(callbacks=[record_evaluation(results)]) fills a dictionary"
        raise wrong_kind("booster", booster, f"a dictionary of results or a LGBMRanker; {hint}")
    if not booster:
        raise ParamError(
            "booster: got no results: pass validation sets in training", code="booster"
        )
    return booster


def _axes(ax: Any, figsize: Any, dpi: Any) -> Any:
    if ax is not None:
        return style.axes_or_new(ax)
    from matplotlib import pyplot as plt

    size = _pair("figsize", figsize)
    return plt.subplots(figsize=size, dpi=dpi, layout="constrained")[1]


def _pair(name: str, given: Any, default: Pair | None = None) -> Pair | None:
    if given is None:
        return default
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise wrong_kind(name, given, "a tuple of two numbers")
    return given[0], given[1]


def _draw_bars(axes: Any, values: Any, digits: int | None, how: dict[str, Any]) -> None:
    try:
        axes.barh(
            np.arange(len(values)), values, **{"align": "center", "color": style.FIRST, **how}
        )
    except (AttributeError, TypeError) as error:
        message = f"plot_importance: {error}; other arguments are those of matplotlib's barh"
        raise ParamError(message, code="plot") from error
    for place, value in enumerate(values):
        text = f"{value}" if digits is None else f"{value:.{digits}f}"
        style.note(axes, text, (float(value), place), (4, 0), va="center")


def _finished(
    axes: Any, labels: Sequence[str | None], limits: Sequence[Pair | None], grid: bool
) -> Any:
    title, xlabel, ylabel = labels
    axes.set(xlabel=xlabel or "", ylabel=ylabel or "", title=title or "")
    for set_limits, limit in zip((axes.set_xlim, axes.set_ylim), limits, strict=True):
        if limit is not None:
            set_limits(limit)
    axes.set_axisbelow(True)
    axes.grid(visible=bool(grid), **({"color": "0.5", "alpha": 0.3} if grid else {}))
    return axes
