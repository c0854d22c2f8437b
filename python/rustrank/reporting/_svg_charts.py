"""Charts of a report: HTML and inline SVG, with the colours and text sizes of the page.

A plot is stretched to whatever width there is; text stands beside it as HTML, so that it stays legible
on a phone, and lines keep their width. Numbers that a chart shows stand in a table too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.reporting._html import Markup, figure, joined, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: The sides of the square that a plot is stretched from.
_SIDE = 1000
#: Colours that the style sheet has; and the dashes of those that come after.
SERIES, _DASHES = 5, ("", "8 5", "2 4")
#: Bars that a chart of queries has at most.
_BARS = 600


@dataclass(frozen=True)
class Line:
    """A line of a chart."""

    name: str
    x: Floats
    y: Floats
    #: Which colour it has.
    place: int
    #: Lower and upper ends around it.
    band: tuple[Floats, Floats] | None = None


def color(place: int) -> str:
    """Return the class of a colour."""
    return f"c{place % SERIES}"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two ends."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    for factor in (1, 2, 2.5, 5, 10):
        if (high - low) / (step * factor) <= most:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def _shown(value: float) -> str:
    return f"{value + 0.0:.10g}" if abs(value) < 1e5 else f"{value:,.0f}"


@dataclass(frozen=True)
class _Frame:
    """The mapping from values to places."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, value: Any) -> Any:
        low, high = self.x
        return (value - low) / ((high - low) or 1)

    def down(self, value: Any) -> Any:
        low, high = self.y
        return (high - value) / ((high - low) or 1)

    def path(self, x: Floats, y: Floats) -> str:
        """Return the data of an SVG path, interrupted at unknown values."""
        parts, letter = [], "M"
        for left, top in zip(self.across(x).tolist(), self.down(y).tolist(), strict=True):
            if not math.isnan(top):
                parts.append(f"{letter}{_SIDE * left:.1f} {_SIDE * top:.1f}")
            letter = "M" if math.isnan(top) else "L"
        return "".join(parts)


def line_chart(
    title: str,
    lines: Sequence[Line],
    label: str,
    x_label: str,
    y_label: str,
    *,
    marks: Sequence[tuple[float, str]] = (),
    x_ticks: Sequence[tuple[float, str]] | None = None,
) -> Markup:
    """Return a figure of lines with bands around them and a legend above.

    The label is for those who do not see the chart. Marks are vertical lines: where, and what they are.
    Numbers below are round and whole unless ``x_ticks`` says where they stand, and which.
    """
    known = [one.y for one in lines] + [end for one in lines for end in one.band or ()]
    values = np.concatenate(known)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.06 * (high - low) or 0.05
    xs = np.concatenate([one.x for one in lines])
    frame = _Frame((float(xs.min()), float(xs.max())), (low - room, high + room))
    drawn = [_band(one, frame) for one in lines if one.band is not None]
    drawn += [_mark(frame.across(where)) for where, _ in marks]
    drawn += [_stroke(one, frame) for one in lines]
    if x_ticks is None:
        round_ones = {frame.x[0], *(at for at in ticks(*frame.x) if at == int(at))}
        x_ticks = [(at, _shown(at)) for at in _apart(sorted(round_ones), frame)]
    chart = tag(
        "div",
        _key(lines, [mark for _, mark in marks]),
        tag("p", y_label, class_="axis"),
        _plot(joined(*drawn), frame, x_ticks, label),
        tag("p", x_label, class_="axis under"),
        class_="chart",
    )
    return figure(title, chart)


def _apart(places: list[float], frame: _Frame) -> list[float]:
    """Remove numbers that would overlap with the one before."""
    kept: list[float] = []
    for at in places:
        if not kept or frame.across(at) - frame.across(kept[-1]) > 0.12:
            kept.append(at)
    return kept


def _key(lines: Sequence[Line], marks: Sequence[str]) -> Markup:
    """Return the legend."""
    items = [tag("li", _sample(one.place), " ", one.name, class_=color(one.place)) for one in lines]
    items += [tag("li", tag("span", class_="upright"), " ", label) for label in marks]
    return tag("ul", *items, class_="key")


def _sample(place: int) -> Markup:
    line = tag("line", x1=0, x2=28, y1=5, y2=5, stroke_dasharray=_dashes(place))
    return tag("svg", line, width=28, height=10, viewBox="0 0 28 10", aria_hidden="true")


def _dashes(place: int) -> str | None:
    return _DASHES[place // SERIES % len(_DASHES)] or None


def _stroke(one: Line, frame: _Frame) -> Markup:
    path = frame.path(one.x, one.y)
    if len(one.x) == 1:
        # Round ends make a line of no length a dot.
        path += "h0"
    dashes = _dashes(one.place)
    return tag("path", d=path, class_=f"line {color(one.place)}", stroke_dasharray=dashes)


def _band(one: Line, frame: _Frame) -> Markup:
    low, high = one.band or (one.y, one.y)
    x, y = np.concatenate([one.x, one.x[::-1]]), np.concatenate([low, high[::-1]])
    return tag("path", d=frame.path(x, y) + "Z", class_=f"band {color(one.place)}")


def _mark(across: float) -> Markup:
    x = f"{_SIDE * across:.1f}"
    return tag("line", x1=x, x2=x, y1=0, y2=_SIDE, class_="mark")


def _plot(drawn: Markup, frame: _Frame, x_ticks: Sequence[tuple[float, str]], label: str) -> Markup:
    """Add a grid and axis numbers to a drawing."""
    y_ticks = ticks(*frame.y)
    grid = [
        tag("line", x1=0, x2=_SIDE, y1=top, y2=top, class_="grid")
        for top in (f"{_SIDE * frame.down(at):.1f}" for at in y_ticks)
    ]
    box = {"viewBox": f"0 0 {_SIDE} {_SIDE}", "preserveAspectRatio": "none"}
    svg = tag("svg", *grid, drawn, **box, role="img", aria_label=label)
    left = [tag("span", _shown(at), style=f"top:{100 * frame.down(at):.2f}%") for at in y_ticks]
    below = [
        tag("span", shown, style=f"left:{100 * frame.across(at):.2f}%") for at, shown in x_ticks
    ]
    return tag(
        "div",
        tag("div", *left, class_="left", aria_hidden="true"),
        tag("div", svg, class_="area"),
        tag("div", *below, class_="below", aria_hidden="true"),
        class_="plot",
    )


def fall_chart(differences: Floats, label: str) -> Markup:
    """Draw differences from the largest gain to the largest loss."""
    known = np.sort(differences[~np.isnan(differences)])[::-1]
    if len(known) > _BARS:
        # Neighbours share a bar: their mean.
        known = np.array([part.mean() for part in np.array_split(known, _BARS)])
    low, high = float(min(known.min(), 0)), float(max(known.max(), 0))
    frame = _Frame((0.0, float(len(known))), (low, high if high > low else low + 1))
    zero = _SIDE * frame.down(0.0)
    bars = []
    for chosen, side in ((known > 0, "gain"), (known < 0, "loss")):
        if not chosen.any():
            continue
        left, right = int(np.argmax(chosen)), len(chosen) - int(np.argmax(chosen[::-1]))
        edges = np.repeat(np.arange(left, right + 1), 2)[1:-1].astype(float)
        path = frame.path(edges, np.repeat(known[left:right], 2))
        for at in (right, left):
            path += f"L{_SIDE * frame.across(float(at)):.1f} {zero:.1f}"
        bars.append(tag("path", d=f"{path}Z", class_=side))
    bars.append(tag("line", x1=0, x2=_SIDE, y1=f"{zero:.1f}", y2=f"{zero:.1f}", class_="zero"))
    plot = _plot(joined(*bars), frame, [], label)
    return tag("div", plot, class_="chart fall")


def interval_track(
    value: float, ends: tuple[float, float], scale: tuple[float, float], place: int
) -> Markup:
    """Draw a value as a dot on its interval."""
    low, high = scale

    def at(one: float) -> float:
        return 100 * (one - low) / ((high - low) or 1)

    if math.isnan(value):
        return tag("span", class_="track", aria_hidden="true")
    first, last = (value, value) if math.isnan(ends[0]) else ends
    style = f"left:{at(first):.2f}%;width:{at(last) - at(first):.2f}%"
    band = tag("span", class_="ends", style=style)
    dot = tag("span", class_="dot", style=f"left:{at(value):.2f}%")
    return tag("span", band, dot, class_=f"track {color(place)}", aria_hidden="true")


def bar(value: float, largest: float, place: int = 0) -> Markup:
    """Draw a bar for a value; negative values have another colour."""
    share = 100 * min(abs(value) / largest, 1.0) if largest else 0.0
    side = "loss" if value < 0 else color(place)
    filled = tag("span", class_=f"filled {side}", style=f"width:{share:.2f}%")
    return tag("span", filled, class_="bar", aria_hidden="true")


def two_sided_bar(value: float, largest: float) -> Markup:
    """Draw a bar to the right or the left of a middle line."""
    share = 50 * min(abs(value) / largest, 1.0) if largest else 0.0
    side, left = ("gain", 50.0) if value >= 0 else ("loss", 50.0 - share)
    filled = tag("span", class_=f"filled {side}", style=f"left:{left:.2f}%;width:{share:.2f}%")
    return tag("span", filled, class_="bar middle", aria_hidden="true")
