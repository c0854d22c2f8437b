"""Beeswarm plots: a point for each document, stacked where values are frequent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.plotting.style import NEUTRAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: The number of bins of values, within which points are stacked.
_BINS = 80


def draw_swarm(axes: Any, values: Floats, cells: Floats, place: int, ramp: Any) -> None:
    """Draw a row of points, one for each value, stacked around the middle where they are frequent."""
    low, high = values.min(), values.max()
    bins = np.minimum(((values - low) / ((high - low) or 1) * _BINS).astype(int), _BINS - 1)
    order = np.argsort(bins, kind="stable")
    sizes = np.bincount(bins, minlength=_BINS)
    within = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # 0, 1, -1, 2, -2 ... steps from the middle, all within the row.
    steps = np.where(within % 2, -(within + 1) // 2, within // 2)
    heights = np.empty(len(values))
    heights[order] = place + 0.8 * steps / max(sizes.max(), 12)
    known = ~np.isnan(cells)
    ranks = np.sort(cells[known])
    if known.any():
        sides = [np.searchsorted(ranks, cells[known], side) for side in ("left", "right")]
        colors = ramp((sides[0] + sides[1]) / 2 / len(ranks))
        axes.scatter(values[known], heights[known], c=colors, s=7, linewidth=0, rasterized=True)
    axes.scatter(
        values[~known],
        heights[~known],
        s=7,
        facecolor="none",
        edgecolor=NEUTRAL,
        linewidth=0.6,
        rasterized=True,
    )


def draw_color_bar(axes: Any, ramp: Any) -> None:
    """Draw the bar that explains the colours."""
    from matplotlib.cm import ScalarMappable

    bar = axes.figure.colorbar(ScalarMappable(cmap=ramp), ax=axes, ticks=[0, 1], aspect=30)
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("value of the feature", labelpad=-8)
    bar.outline.set_visible(False)
