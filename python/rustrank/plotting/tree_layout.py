"""The layout of trees, and their drawing as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Picture", "PlacedNode", "leaf_color", "split_condition", "tree_layout", "tree_picture"]

# Pixels: the height of a leaf, the width of a level, the margin.
_LINE, _LEVEL, _EDGE = 26, 210, 12
_LOWER, _HIGHER = (33, 102, 172), (178, 86, 24)


class Picture(str):
    """The text of an SVG file, which notebooks display."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


@dataclass(frozen=True)
class PlacedNode:
    """A node of `Booster.dump` with its place in the drawing."""

    node: dict[str, Any]
    #: The number of splits above the node.
    depth: int
    #: The vertical place: leaves are numbered from the top, and a split is midway between its children.
    line: float
    #: The vertical places of the left and right child; empty for a leaf.
    children: tuple[float, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return not self.children


def tree_layout(tree: dict[str, Any]) -> list[PlacedNode]:
    """Return all nodes with their places, children before parents."""
    placed: list[PlacedNode] = []
    lines: list[float] = []
    leaves = 0
    todo: list[tuple[dict[str, Any], int, bool]] = [(tree, 0, False)]
    while todo:
        node, depth, is_below_done = todo.pop()
        if "value" in node:
            placed.append(PlacedNode(node, depth, float(leaves), ()))
            leaves += 1
        elif is_below_done:
            right, left = lines.pop(), lines.pop()
            placed.append(PlacedNode(node, depth, (left + right) / 2, (left, right)))
        else:
            todo += [(node, depth, True), (node["right"], depth + 1, False)]
            todo.append((node["left"], depth + 1, False))
            continue
        lines.append(placed[-1].line)
    return placed


#: The most categories of a split to name.
_NAMED = 3


def split_condition(node: dict[str, Any], names: Sequence[str]) -> str:
    """Return the condition of a split as text; documents that meet it go left."""
    if "categories" in node:
        first = [str(category) for category in node["categories"][:_NAMED]]
        more = ["\u2026"] if len(node["categories"]) > _NAMED else []
        return f"{names[node['feature']]} in {', '.join(first + more)}"
    return f"{names[node['feature']]} \u2264 {node['threshold']:.6g}"


def leaf_color(value: float, largest: float) -> tuple[tuple[int, int, int], bool]:
    """Return the colour of a leaf, more intense for larger values, and whether text on it is light."""
    strength = abs(value) / largest if largest else 0.0
    red, green, blue = (
        round(255 + strength * (part - 255)) for part in (_HIGHER if value > 0 else _LOWER)
    )
    return (red, green, blue), strength > 0.6


def tree_picture(tree: dict[str, Any], names: Sequence[str], title: str) -> Picture:
    """Draw a tree of `Booster.dump` with the root on the left."""
    placed = tree_layout(tree)
    leaves = [one.node["value"] for one in placed if one.is_leaf]
    largest = max(map(abs, leaves), default=0.0)
    width = _LEVEL * (max(one.depth for one in placed) + 1) + 2 * _EDGE
    height = _LINE * (len(leaves) + 1) + 2 * _EDGE
    edges = (_edges(one) for one in placed if not one.is_leaf)
    nodes = (_leaf(one, largest) if one.is_leaf else _split(one, names) for one in placed)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
        f"<title>{escape(title)}</title>\n"
        f'<text x="{_EDGE}" y="{_EDGE + 8}" font-weight="bold">{escape(title)}</text>\n'
        + "".join(edges)
        + "".join(nodes)
        + "</svg>\n"
    )


def _place(depth: int, line: float) -> tuple[int, float]:
    return _EDGE + _LEVEL * depth, _EDGE + _LINE * (line + 1) + _LINE / 2


def _leaf(placed: PlacedNode, largest: float) -> str:
    x, height = _place(placed.depth, placed.line)
    value = placed.node["value"]
    (red, green, blue), is_light = leaf_color(value, largest)
    return (
        f'<rect x="{x}" y="{height - 10:g}" width="76" height="20" rx="4" '
        f'fill="rgb({red},{green},{blue})"/>'
        f'<text x="{x + 38}" y="{height + 4:g}" text-anchor="middle" '
        f'fill="{"white" if is_light else "black"}">{value:+.4g}</text>'
        f'<text x="{x + 82}" y="{height + 4:g}" fill="gray">{placed.node["docs"]}</text>\n'
    )


def _edges(placed: PlacedNode) -> str:
    x, height = _place(placed.depth, placed.line)
    edges = []
    for line, is_left in zip(placed.children, (True, False), strict=True):
        _, end = _place(0, line)
        # Missing values take the thick way.
        thick = 3 if placed.node["missing_left"] == is_left else 1
        edges.append(
            f'<path d="M{x + 8} {height:g} C{x + 90} {height:g} {x + 110} {end:g} '
            f'{x + _LEVEL} {end:g}" fill="none" stroke="gray" stroke-width="{thick}"/>\n'
        )
    return "".join(edges)


def _split(placed: PlacedNode, names: Sequence[str]) -> str:
    x, height = _place(placed.depth, placed.line)
    node = placed.node
    return (
        f"<g><title>{node['docs']} docs, reduction {node['reduction']:.6g}</title>"
        f'<circle cx="{x + 4}" cy="{height:g}" r="4"/>'
        f'<text x="{x + 12}" y="{height - 5:g}" paint-order="stroke" stroke="white" '
        f'stroke-width="4">{escape(split_condition(node, names))}</text></g>\n'
    )
