"""The style of plots: colours, axes, grids. matplotlib is imported when one is drawn.

Colours have a contrast of at least 3 to white and to near-black, so plots work on light and dark pages.
They can be told apart by colour-blind readers, and lines also differ in markers and dashes. Text,
background and ticks follow the caller's matplotlib style.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rustrank.errors import wrong_kind
from rustrank.formatting import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Blue, orange, purple, green, grey.
COLORS = ("#0A6FC2", "#DD6A00", "#A0529C", "#00A06E", "#686868")
FIRST, SECOND, _, BETTER, NEUTRAL = COLORS
WORSE = SECOND
#: The opacity of bands and lines in the background.
FAINT = 0.22
#: The most characters of a feature's name beside a row.
_LONGEST = 40
#: The same of axes among others: at least so many, and as fit into this share of the width of the axes, at
#: the mean width of a character in units of the size of text.
_SHORTEST, _NAMES_SHARE, _CHARACTER = 8, 0.4, 0.62
_MARKERS = "os^DvP"
_DASHES = ("-", "--", "-.", ":")


class Look(NamedTuple):
    """The colour, marker and dashes of a line."""

    color: str
    marker: str
    dashes: str

    @property
    def line(self) -> dict[str, str]:
        """The arguments of matplotlib for a line without markers."""
        return {"color": self.color, "linestyle": self.dashes}


def looks(number: int) -> Iterator[Look]:
    """Yield a look for each of ``number`` lines; they repeat only after all combinations of colour and dashes."""
    for at in range(number):
        of_color, of_dashes = at % len(COLORS), at // len(COLORS)
        marker = _MARKERS[at % len(_MARKERS)]
        yield Look(COLORS[of_color], marker, _DASHES[of_dashes % len(_DASHES)])


def new_axes(width: float = 7.5, height: float = 4.5, columns: int = 1, **more: Any) -> Any:
    """Return the axes of a new figure, in inches; an array of them if there are several columns."""
    from matplotlib import pyplot as plt

    _, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained", **more)
    return axes


def axes_or_new(ax: Any, width: float = 7.5, height: float = 4.5) -> Any:
    """Return the axes that a caller gave, or those of a new figure, in inches."""
    if ax is None:
        return new_axes(width, height)
    if not hasattr(ax, "annotate"):
        several = ": one of the array, such as ax[0]" if isinstance(ax, np.ndarray) else ""
        raise wrong_kind("ax", ax, f"one matplotlib axes{several}")
    return ax


def finish(
    axes: Any, x_label: str, y_label: str | None = None, *, grid: str = "y", legend: int = 0
) -> Any:
    """Label the axes, draw a faint grid, and put a legend of some columns above; return the axes."""
    axes.set_xlabel(x_label)
    if y_label is not None:
        axes.set_ylabel(y_label)
    axes.grid(visible=False)
    axes.grid(axis=grid, color="0.5", alpha=0.3, linewidth=0.8)
    axes.set_axisbelow(True)
    # Sides without ticks.
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if legend:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, ncols=legend)
    return axes


def draw_intervals(
    axes: Any, values: Sequence[Any], places: Any, level: float, **look: Any
) -> None:
    """Draw the means of metrics as points with their bootstrap intervals."""
    means = np.array([float(value) for value in values])
    ends = np.array([value.bootstrap(level) for value in values])
    axes.errorbar(means, places, xerr=np.abs(ends.T - means), markersize=5, **look)


def name_rows(axes: Any, places: Any, names: Iterable[str]) -> None:
    """Name rows of features, shortened where a name is too long."""
    longest = _LONGEST
    if len(axes.figure.axes) > 1:
        # Between axes side by side, names have less room than in a figure of their own.
        from matplotlib import rcParams

        width = axes.get_window_extent().width * 72 / axes.figure.dpi
        fits = _NAMES_SHARE * width / (_CHARACTER * rcParams["font.size"])
        longest = int(np.clip(fits, _SHORTEST, _LONGEST))
    axes.set_yticks(places, [plain(shortened(name, longest)) for name in names])


def note(
    axes: Any, text: str, place: tuple[Any, Any], offset: tuple[float, float], **how: Any
) -> Any:
    """Write text beside a place, at an offset in points."""
    how = {"xytext": offset, "textcoords": "offset points", "fontsize": "small", **how}
    return axes.annotate(text, place, **how)


def plain(text: str) -> str:
    """Escape a name, so that matplotlib does not read it as mathematics."""
    return text.replace("$", r"\$")


def on_background(axes: Any, width: float) -> list[Any]:
    """Return the effects that keep text legible where lines pass below it."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=axes.figure.get_facecolor())]
