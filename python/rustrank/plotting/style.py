"""How pictures look: colours, axes, grids. matplotlib is imported when one is drawn.

Colours have a contrast of at least 3 to white and to near-black, so a picture may stand on either; a
colour-blind eye tells them apart, and where lines lie close their markers and dashes differ too.
Everything else (text, background, ticks) is the style's that the caller has chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Blue, orange, purple, green, grey.
COLORS = ("#0A6FC2", "#DD6A00", "#A0529C", "#00A06E", "#686868")
FIRST, SECOND, _, BETTER, NEUTRAL = COLORS
WORSE = SECOND
#: Behind what is drawn: a band, a line.
FAINT = 0.22
_MARKERS = "os^DvP"
_DASHES = ("-", "--", "-.", ":")


class Look(NamedTuple):
    """What one of several lines looks like."""

    color: str
    marker: str
    dashes: str


def looks(number: int) -> Iterator[Look]:
    """Yield a look for each of some lines: none twice before all colours have had all dashes."""
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
    """Leave what helps to read values: a faint grid, and spines where the ticks are."""
    axes.grid(visible=False)
    axes.grid(axis=grid, color="0.5", alpha=0.3, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def legend_above(axes: Any, columns: int = 2) -> None:
    """Put the legend where it hides nothing."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, ncols=columns)


def shortened(name: str, longest: int = 40) -> str:
    """Cut a name that would take the place of the picture."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def plain(text: str) -> str:
    """Keep matplotlib from reading a name as mathematics."""
    return text.replace("$", r"\$")


def on_background(axes: Any) -> list[Any]:
    """Return the effects that keep text legible where lines pass below it."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=3, foreground=axes.figure.get_facecolor())]
