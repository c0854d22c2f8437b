"""Trees drawn with matplotlib, at a size of text that follows from the size of the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import ParamError
from rustrank.formatting import count
from rustrank.plotting import style
from rustrank.plotting.tree_layout import (
    PlacedNode,
    largest_value,
    leaf_color,
    leaf_text,
    split_condition,
    tree_layout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["draw_tree"]

#: Inches of a new figure: a leaf's line, a level of splits.
_LINE, _LEVEL = 0.24, 1.9
#: In inches and square inches: what matplotlib can draw at 150 dots an inch, in about a gigabyte.
_LONGEST_SIDE, _LARGEST_AREA = 400.0, 10_000.0
#: Points: the smallest text that can be read.
_SMALLEST = 5.0
#: In units of the size of text: the height of a leaf's line, the least width of a level of splits, the width
#: of the leaves, from a leaf to the number of its documents, and the mean width of a character.
_LINE_HEIGHT, _LEVEL_WIDTH, _LEAF_WIDTH, _TO_DOCS, _CHARACTER = 1.5, 10.5, 12.1, 6.6, 0.62


def draw_tree(
    tree: dict[str, Any],
    names: Sequence[str],
    title: Callable[[int], str],
    *,
    max_depth: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw a tree of `Booster.dump` into axes, or into a new figure in which all of it can be read.

    ``title`` gets the number of levels that are drawn.
    """
    levels = max(one.depth for one in tree_layout(tree))
    if max_depth is not None:
        levels = min(levels, max_depth)
    is_new = ax is None
    if is_new:
        levels = _levels_of_figure(tree, levels, max_depth)
    ax = style.axes_or_new(ax, *_size_of_figure(tree, levels))
    if not is_new and max_depth is None:
        levels = _readable_levels(tree, ax)
    ax.axis("off")
    ax.set_title(title(levels), loc="left", fontsize="medium")
    if is_new:
        # Axes of a new figure have their size once it was laid out.
        ax.figure.draw_without_rendering()
    placed = tree_layout(tree, levels)
    size = _text_size(placed, ax)
    # The width of a level in points; a single leaf has none.
    level = max(1.0, (_extent(ax)[0] - _LEAF_WIDTH * size) / max(1, levels))
    largest = largest_value(placed)
    for one in placed:
        if one.is_end:
            _draw_leaf(ax, one, largest, size)
        else:
            _draw_split(ax, one, names, size, level)
    ax.set_xlim(-0.02, levels + _LEAF_WIDTH * size / level)
    ax.set_ylim(sum(one.is_end for one in placed) - 0.4, -0.9)
    return ax


def _size_of_figure(tree: dict[str, Any], levels: int) -> tuple[float, float]:
    """Return the width and the height, in inches, at which so many levels of a tree can be read."""
    lines = sum(one.is_end for one in tree_layout(tree, levels))
    return 1.7 + _LEVEL * levels, 0.8 + _LINE * lines


def _levels_of_figure(tree: dict[str, Any], levels: int, max_depth: int | None) -> int:
    """Return how many levels, up to these, fit a figure; an error if the caller asked for more."""

    def fits(most: int) -> bool:
        width, height = _size_of_figure(tree, most)
        return max(width, height) <= _LONGEST_SIDE and width * height <= _LARGEST_AREA

    if fits(levels):
        return levels
    # More levels take more room.
    low, high = 1, levels
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if max_depth is not None:
        message = (
            f"max_depth: a drawing of {count(levels, 'level')} of this tree is too large: got {max_depth}, "
            f"expected at most {low}; Booster.draw_tree draws all of it as SVG"
        )
        raise ParamError(message, code="max_depth")
    return low


def _extent(axes: Any) -> tuple[float, float]:
    """Return the width and the height of axes in points."""
    extent = axes.get_window_extent()
    return extent.width * 72 / axes.figure.dpi, extent.height * 72 / axes.figure.dpi


def _text_size(placed: Sequence[PlacedNode], axes: Any) -> float:
    """Return the largest size of text at which all nodes have their room, up to that of small text."""
    from matplotlib import rcParams

    width, height = _extent(axes)
    lines, levels = sum(one.is_end for one in placed), max(one.depth for one in placed)
    fits = (
        height / (_LINE_HEIGHT * (lines + 0.5)),
        width / (_LEVEL_WIDTH * levels + _LEAF_WIDTH),
    )
    return float(min(0.833 * rcParams["font.size"], *fits))


def _readable_levels(tree: dict[str, Any], axes: Any) -> int:
    """Return how many levels of splits can be read in the axes, at least one."""
    levels = max(one.depth for one in tree_layout(tree))
    while levels > 1 and _text_size(tree_layout(tree, levels), axes) < _SMALLEST:
        levels -= 1
    return levels


def _draw_split(
    axes: Any, placed: PlacedNode, names: Sequence[str], size: float, level: float
) -> None:
    x, y = placed.depth, placed.line
    # Level below the text, and then a bend.
    ways = np.linspace(0, 1, 40)
    bent = np.clip((ways - 0.7) / 0.3, 0, 1)
    for line, is_left in zip(placed.children, (True, False), strict=True):
        bend = y + (line - y) * bent * bent * (3 - 2 * bent)
        width = (0.3 if placed.node["missing_left"] == is_left else 0.12) * size
        axes.plot(x + ways, bend, color=style.NEUTRAL, linewidth=width, zorder=1)
    axes.plot([x], [y], "o", color=style.NEUTRAL, markersize=0.5 * size)
    longest = max(4, int((level - size) / (_CHARACTER * size)))
    label = style.plain(split_condition(placed.node, names, longest))
    text = style.note(axes, label, (x, y), (0.4 * size, 0.45 * size), fontsize=size)
    text.set_path_effects(style.on_background(axes, 0.25 * size))


def _draw_leaf(axes: Any, placed: PlacedNode, largest: float, size: float) -> None:
    place = placed.depth, placed.line
    parts, is_light = leaf_color(placed.node, largest)
    face = tuple(part / 255 for part in parts)
    box = {
        "boxstyle": "round,pad=0.2",
        "facecolor": face,
        "edgecolor": style.NEUTRAL,
        "linewidth": 0.5,
    }
    look = {"color": "white" if is_light else "black", "bbox": box, "zorder": 3}
    axes.annotate(leaf_text(placed.node), place, va="center", fontsize=size, **look)
    docs = count(placed.node["docs"], "doc")
    style.note(axes, docs, place, (_TO_DOCS * size, 0), va="center", fontsize=0.85 * size)
