"""HTML elements of a report: sections, paragraphs, scrolling tables, collapsible parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rustrank.reporting._html import Markup, joined, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The most rows of a table; a note counts the others.
MOST_ROWS = 500
#: A table with more rows than this scrolls.
_LONG = 20


def section(name: str, title: str, *inside: Any) -> Markup:
    """Return a section with a heading that the table of contents links to."""
    return tag("section", tag("h2", title, id=name), *inside, aria_labelledby=name)


def paragraph(*parts: Any) -> Markup:
    """Return a paragraph."""
    return tag("p", *parts)


def note(*parts: Any) -> Markup:
    """Return a paragraph in subdued style."""
    return tag("p", *parts, class_="soft")


def figure(title: str, *inside: Any) -> Markup:
    """Return a chart with its title."""
    return tag("figure", tag("figcaption", title), *inside)


def folded(title: Any, *inside: Any, is_open: bool = False) -> Markup:
    """Return a collapsible part with a title."""
    return tag("details", tag("summary", title), *inside, open=is_open)


def table(
    caption: str, head: Sequence[Any], rows: Sequence[Sequence[Any]], left: int = 1
) -> Markup:
    """Return a table whose first column is the row header; the first ``left`` columns are text."""
    sides = ["" if at < left else "n" for at in range(len(head))]
    top = [
        tag("th", cell, scope="col", class_=side or None)
        for cell, side in zip(head, sides, strict=True)
    ]
    body = []
    for row in rows[:MOST_ROWS]:
        first, *others = row
        cells = [
            cell if _is_cell(cell) else tag("td", cell, class_=side or None)
            for cell, side in zip(others, sides[1:], strict=True)
        ]
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    more = len(rows) - MOST_ROWS
    return joined(
        tag(
            "div",
            tag(
                "table",
                tag("caption", tag("span", caption)),
                tag("thead", tag("tr", *top)),
                tag("tbody", *body),
            ),
            class_="scroll long" if len(rows) > _LONG else "scroll",
            tabindex="0",
            role="group",
            aria_label=caption,
        ),
        note(f"{more:,} more rows are not shown.") if more > 0 else None,
    )


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, Markup) and cell.startswith("<td")


def cell_with_chart(chart: Any, number: str) -> Markup:
    """Return a cell with a small chart before its number."""
    return tag("td", tag("span", chart, tag("span", number), class_="drawn"), class_="wide")


def emphasised(cell: Any) -> Markup:
    """Return a bold cell."""
    return tag("td", tag("strong", cell), class_="n")


def plain(value: float) -> str:
    """Return a feature value as text."""
    return "missing" if math.isnan(value) else f"{value:.6g}"


def facts(rows: Sequence[tuple[str, Any]]) -> Markup:
    """Return a list of names with their descriptions."""
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", what)) for name, what in rows), class_="facts"
    )
