"""Trees of a booster as nested dictionaries and as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rustrank.formatting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rustrank import _rustrank


def nested(core: _rustrank.Booster, number: int) -> dict[str, Any]:
    """Return a tree as nested dictionaries, built from the last node, since children follow parents."""
    flat = core.tree(number)
    assert flat is not None  # noqa: S101 - numbers come from the model's own range
    leaves = [
        {"value": value, "docs": docs}
        for value, docs in zip(flat["leaf_value"], flat["leaf_docs"], strict=True)
    ]
    nodes: dict[int, dict[str, Any]] = {}
    for at in reversed(range(len(flat["feature"]))):
        ends = (
            leaves[-1 - end] if end < 0 else nodes.pop(end)
            for end in (flat["left"][at], flat["right"][at])
        )
        fields = ("feature", "threshold", "missing_left", "reduction", "docs")
        nodes[at] = {name: flat[name][at] for name in fields}
        if flat["categories"][at] is not None:
            nodes[at] = _on_categories(core, nodes[at], flat["categories"][at])
        nodes[at]["left"], nodes[at]["right"] = ends
    return nodes[0] if nodes else leaves[0]


def text_lines(node: dict[str, Any], names: Sequence[str], depth: int) -> list[str]:
    """Return a node and all nodes below it as text, one line each."""
    indent = "  " * depth
    if "value" in node:
        return [f"{indent}{node['value']!r} ({count(node['docs'], 'doc')})"]
    missing = "left" if node["missing_left"] else "right"
    line = (
        f"{indent}{names[node['feature']]} {_asked(node)}, missing {missing} "
        f"({count(node['docs'], 'doc')}, reduction {node['reduction']:.6g})"
    )
    sides = (text_lines(node[side], names, depth + 1) for side in ("left", "right"))
    return [line, *next(sides), *next(sides)]


def _on_categories(
    core: _rustrank.Booster, node: dict[str, Any], categories: list[int]
) -> dict[str, Any]:
    """Return a split on categories: those that go left, by their names where they have some."""
    if node["threshold"] >= 1:  # Of a foreign model: all that is not missing goes left.
        return {**node, "threshold": sys.float_info.max}
    names = core.category_names().get(node["feature"])
    named = categories if names is None else [names[category] for category in categories]
    kept = {name: value for name, value in node.items() if name != "threshold"}
    return {**kept, "categories": named}


def _asked(node: dict[str, Any]) -> str:
    """Return what a split asks of its feature."""
    if "categories" in node:
        return f"in {', '.join(map(repr, node['categories']))}"
    return f"<= {node['threshold']!r}"
