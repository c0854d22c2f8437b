"""Trees as pictures: SVG, which browsers and notebooks show."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Picture", "tree_picture"]

# Pixels: a leaf's line, and a level from the root on the left to the leaves on the right.
_LINE, _LEVEL, _EDGE = 26, 210, 12
_LOWER, _HIGHER = (33, 102, 172), (178, 86, 24)


class Picture(str):
    """The text of an SVG file, which a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def tree_picture(tree: dict[str, Any], names: Sequence[str], title: str) -> Picture:
    """Draw a tree as `Booster.dump` has it: the root on the left, docs at a threshold upwards."""
    drawing = _Drawing(names, max((abs(leaf) for leaf in _values(tree)), default=0.0))
    drawing.place(tree)
    width = _LEVEL * (drawing.depth + 1) + 2 * _EDGE
    height = _LINE * (drawing.leaves + 1) + 2 * _EDGE
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
        f"<title>{escape(title)}</title>\n"
        f'<text x="{_EDGE}" y="{_EDGE + 8}" font-weight="bold">{escape(title)}</text>\n'
        + "".join(drawing.lines)
        + "".join(drawing.nodes)
        + "</svg>\n"
    )


def _values(tree: dict[str, Any]) -> list[float]:
    """Return the values of all leaves."""
    values, open_nodes = [], [tree]
    while open_nodes:
        node = open_nodes.pop()
        if "value" in node:
            values.append(node["value"])
        else:
            open_nodes += [node["left"], node["right"]]
    return values


class _Drawing:
    """What is drawn so far."""

    def __init__(self, names: Sequence[str], largest: float) -> None:
        self.names = names
        self.largest = largest
        self.leaves = 0
        self.depth = 0
        self.lines: list[str] = []
        self.nodes: list[str] = []

    def place(self, tree: dict[str, Any]) -> None:
        """Draw a node after all below it, whose heights decide its own."""
        heights: list[float] = []
        todo: list[tuple[dict[str, Any], int, bool]] = [(tree, 0, False)]
        while todo:
            node, depth, is_placed = todo.pop()
            if "value" in node:
                self.depth = max(self.depth, depth)
                heights.append(self._leaf(node, depth))
            elif is_placed:
                right, left = heights.pop(), heights.pop()
                heights.append(self._split(node, depth, left, right))
            else:
                todo += [(node, depth, True), (node["right"], depth + 1, False)]
                todo.append((node["left"], depth + 1, False))

    def _leaf(self, node: dict[str, Any], depth: int) -> float:
        self.leaves += 1
        height = float(_EDGE + _LINE * self.leaves + _LINE / 2)
        value = node["value"]
        strength = abs(value) / self.largest if self.largest else 0.0
        full = _HIGHER if value > 0 else _LOWER
        red, green, blue = (round(255 + strength * (part - 255)) for part in full)
        ink = "white" if strength > 0.6 else "black"
        x = _EDGE + _LEVEL * depth
        self.nodes.append(
            f'<rect x="{x}" y="{height - 10:g}" width="76" height="20" rx="4" '
            f'fill="rgb({red},{green},{blue})"/>'
            f'<text x="{x + 38}" y="{height + 4:g}" text-anchor="middle" fill="{ink}">'
            f"{value:+.4g}</text>"
            f'<text x="{x + 82}" y="{height + 4:g}" fill="gray">{node["docs"]}</text>\n'
        )
        return height

    def _split(self, node: dict[str, Any], depth: int, left: float, right: float) -> float:
        height = (left + right) / 2
        x = _EDGE + _LEVEL * depth
        said = f"{self.names[node['feature']]} \u2264 {node['threshold']:.6g}"
        for end, is_left in ((left, True), (right, False)):
            # Missing values take the thick way.
            thick = 3 if node["missing_left"] == is_left else 1
            self.lines.append(
                f'<path d="M{x + 8} {height:g} C{x + 90} {height:g} {x + 110} {end:g} '
                f'{x + _LEVEL} {end:g}" fill="none" stroke="gray" stroke-width="{thick}"/>\n'
            )
        self.nodes.append(
            f'<circle cx="{x + 4}" cy="{height:g}" r="4"/>'
            f'<text x="{x + 12}" y="{height - 5:g}" paint-order="stroke" stroke="white" '
            f'stroke-width="4">{escape(said)}</text>'
            f"<title>{node['docs']} docs, reduction {node['reduction']:.6g}</title>\n"
        )
        return height
