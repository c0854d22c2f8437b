"""The layout of trees, and their drawing as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from rustrank.formatting import count, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Picture",
    "PlacedNode",
    "largest_value",
    "leaf_color",
    "leaf_text",
    "split_condition",
    "tree_layout",
    "tree_picture",
    "tree_title",
]

# Pixels: the height of a leaf, the width of a level, the margin.
_LINE, _LEVEL, _EDGE = 26, 210, 12
#: The most characters of the condition of a split.
_LONGEST = 26
_LOWER, _HIGHER = (33, 102, 172), (178, 86, 24)
#: What is drawn around text, so that lines below do not touch it: the colour of a notebook's page.
_PAGE = "var(--rustrank-page,var(--jp-layout-color0,var(--vscode-editor-background,transparent)))"
#: The colours of a picture that is a file. Within a page, whose root is another element, they do not count.
_STYLE = """<style>
svg:root { --rustrank-page: #ffffff; background: var(--rustrank-page); color: #1b1d20 }
@media (prefers-color-scheme: dark) { svg:root { --rustrank-page: #1b1d20; color: #e9eaec } }
</style>
"""


class Picture(str):
    """The text of an SVG file, which notebooks display."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        # Part of the page, and not an image: text has the colour of the page, light or dark.
        return f'<div style="overflow-x:auto">{self}</div>'


@dataclass(frozen=True)
class PlacedNode:
    """A node of `Booster.dump` with its place in the drawing."""

    node: dict[str, Any]
    #: The number of splits above the node.
    depth: int
    #: The vertical place: leaves are numbered from the top, and a split is midway between its children.
    line: float
    #: The vertical places of the left and right child; empty for a leaf, and for a split below which
    #: nothing is drawn.
    children: tuple[float, ...]

    @property
    def is_end(self) -> bool:
        """Whether nothing is drawn below the node."""
        return not self.children


def tree_layout(tree: dict[str, Any], max_depth: int | None = None) -> list[PlacedNode]:
    """Return the nodes down to a depth with their places, children before parents."""
    placed: list[PlacedNode] = []
    lines: list[float] = []
    leaves = 0
    todo: list[tuple[dict[str, Any], int, bool]] = [(tree, 0, False)]
    while todo:
        node, depth, is_below_done = todo.pop()
        if "value" in node or depth == max_depth:
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


def split_condition(node: dict[str, Any], names: Sequence[str], longest: int = 1000) -> str:
    """Return the condition of a split as text of limited length; documents that meet it go left."""
    if "categories" in node:
        first = [str(category) for category in node["categories"][:_NAMED]]
        more = ["…"] if len(node["categories"]) > _NAMED else []
        asked = shortened(f" in {', '.join(first + more)}", longest // 2)
    else:
        forms = [f" \u2264 {node['threshold']:.{digits}g}" for digits in (6, 5, 4, 3)]
        asked = next((form for form in forms if len(form) <= longest // 2), min(forms, key=len))
    return shortened(names[node["feature"]], max(1, longest - len(asked))) + asked


def leaf_text(node: dict[str, Any]) -> str:
    """Return what a leaf adds to the score, or how many leaves a split has that nothing is drawn below."""
    return (
        f"{node['value']:+.3g}" if "value" in node else count(_num_leaves(node), "leaf", "leaves")
    )


def _num_leaves(node: dict[str, Any]) -> int:
    return sum(one.is_end for one in tree_layout(node))


def tree_title(number: int, num_trees: int, tree: dict[str, Any], max_depth: int | None) -> str:
    """Return the number of a tree, and how many of its levels are drawn if that is not all."""
    levels = max(one.depth for one in tree_layout(tree))
    title = f"tree {number} of {num_trees}"
    if max_depth is None or max_depth >= levels:
        return title
    return f"{title}, {max_depth} of {count(levels, 'level')}"


def leaf_color(node: dict[str, Any], largest: float) -> tuple[tuple[int, int, int], bool]:
    """Return the colour of a leaf, more intense for larger values, and whether text on it is light.

    A split that nothing is drawn below is white.
    """
    value = node.get("value", 0.0)
    strength = abs(value) / largest if largest else 0.0
    red, green, blue = (
        round(255 + strength * (part - 255)) for part in (_HIGHER if value > 0 else _LOWER)
    )
    return (red, green, blue), _luminance(red, green, blue) < _EQUAL_CONTRAST


#: The luminance at which white text and black text have the same contrast.
_EQUAL_CONTRAST = 0.179


def _luminance(*parts: int) -> float:
    """Return the relative luminance of a colour, as in WCAG 2."""
    shares = (part / 255 for part in parts)
    red, green, blue = (
        share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def largest_value(placed: Sequence[PlacedNode]) -> float:
    """Return the largest size of a leaf's value, for the colours."""
    return max((abs(one.node["value"]) for one in placed if "value" in one.node), default=0.0)


def tree_picture(
    tree: dict[str, Any], names: Sequence[str], title: str, max_depth: int | None = None
) -> Picture:
    """Draw a tree of `Booster.dump` with the root on the left."""
    placed = tree_layout(tree, max_depth)
    largest = largest_value(placed)
    width = _LEVEL * (max(one.depth for one in placed) + 1) + 2 * _EDGE
    height = _LINE * (sum(one.is_end for one in placed) + 1) + 2 * _EDGE
    edges = (_edges(one) for one in placed if not one.is_end)
    nodes = (_leaf(one, largest) if one.is_end else _split(one, names) for one in placed)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" '
        f'fill="currentColor" style="max-width:none">\n<title>{escape(title)}</title>\n{_STYLE}'
        f'<text x="{_EDGE}" y="{_EDGE + 8}" font-weight="bold">{escape(title)}</text>\n'
        + "".join(edges)
        + "".join(nodes)
        + "</svg>\n"
    )


def _place(depth: int, line: float) -> tuple[int, float]:
    return _EDGE + _LEVEL * depth, _EDGE + _LINE * (line + 1) + _LINE / 2


def _leaf(placed: PlacedNode, largest: float) -> str:
    x, height = _place(placed.depth, placed.line)
    (red, green, blue), is_light = leaf_color(placed.node, largest)
    return (
        f'<rect x="{x}" y="{height - 10:g}" width="76" height="20" rx="4" '
        f'fill="rgb({red},{green},{blue})" stroke="gray" stroke-width="0.5"/>'
        f'<text x="{x + 38}" y="{height + 4:g}" text-anchor="middle" '
        f'fill="{"white" if is_light else "black"}">{leaf_text(placed.node)}</text>'
        f'<text x="{x + 82}" y="{height + 4:g}" fill-opacity="0.7">'
        f"{count(placed.node['docs'], 'doc')}</text>\n"
    )


def _edges(placed: PlacedNode) -> str:
    x, height = _place(placed.depth, placed.line)
    bend, middle = x + 0.7 * _LEVEL, x + 0.85 * _LEVEL
    edges = []
    for line, is_left in zip(placed.children, (True, False), strict=True):
        _, end = _place(0, line)
        # Missing values take the thick way.
        thick = 3 if placed.node["missing_left"] == is_left else 1
        edges.append(
            f'<path d="M{x} {height:g} H{bend:g} C{middle:g} {height:g} {middle:g} {end:g} '
            f'{x + _LEVEL} {end:g}" fill="none" stroke="gray" stroke-width="{thick}"/>\n'
        )
    return "".join(edges)


def _split(placed: PlacedNode, names: Sequence[str]) -> str:
    x, height = _place(placed.depth, placed.line)
    node = placed.node
    whole = f"{split_condition(node, names)}: {count(node['docs'], 'doc')}"
    return (
        f"<g><title>{escape(whole)}, reduction {node['reduction']:.6g}</title>"
        f'<circle cx="{x + 4}" cy="{height:g}" r="4"/>'
        f'<text x="{x + 12}" y="{height - 6:g}" paint-order="stroke" stroke-width="3" '
        f'style="stroke:{_PAGE}">{escape(split_condition(node, names, _LONGEST))}</text></g>\n'
    )
