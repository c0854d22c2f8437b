"""The style of plots: colours, axes, grids. matplotlib is imported when one is drawn.

Colours have a contrast of at least 3 to white and to near-black, so plots work on light and dark pages.
They can be told apart by colour-blind readers, and lines also differ in markers and dashes. Text,
background and ticks follow the caller's matplotlib style.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Blue, orange, purple, green, grey.
COLORS = ("#0A6FC2", "#DD6A00", "#A0529C", "#00A06E", "#686868")
FIRST, SECOND, _, BETTER, NEUTRAL = COLORS
WORSE = SECOND
#: The opacity of bands and lines in the background.
FAINT = 0.22
_MARKERS = "os^DvP"
_DASHES = ("-", "--", "-.", ":")


class Look(NamedTuple):
    """The colour, marker and dashes of a line."""

    color: str
    marker: str
    dashes: str


def looks(number: int) -> Iterator[Look]:
    """Yield a look for each of ``number`` lines; they repeat only after all combinations of colour and dashes."""
    for at in range(number):
        of_color, of_dashes = at % len(COLORS), at // len(COLORS)
        marker = _MARKERS[at % len(_MARKERS)]
        yield Look(COLORS[of_color], marker, _DASHES[of_dashes % len(_DASHES)])


def new_axes(width: float = 7.5, height: float = 4.5) -> Any:
    """Return axes of a new figure, in inches."""
    from matplotlib import pyplot as plt

    _, axes = plt.subplots(figsize=(width, height), layout="constrained")
    return axes


def tidy(axes: Any, grid: str = "y") -> None:
    """Draw a faint grid, and remove the spines without ticks."""
    axes.grid(visible=False)
    axes.grid(axis=grid, color="0.5", alpha=0.3, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def legend_above(axes: Any, columns: int = 2) -> None:
    """Put the legend above the axes."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, ncols=columns)


def shortened(name: str, longest: int = 40) -> str:
    """Shorten a name that is too long for a plot."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def plain(text: str) -> str:
    """Escape a name, so that matplotlib does not read it as mathematics."""
    return text.replace("$", r"\$")


def on_background(axes: Any) -> list[Any]:
    """Return the effects that keep text legible where lines pass below it."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=3, foreground=axes.figure.get_facecolor())]
