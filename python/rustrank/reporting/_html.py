"""The HTML elements of a report, escaped by construction: what is not `Markup` is escaped as text.

Only this module turns text into markup, so names of queries and features may contain any characters.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Elements without content or end tag.
_VOID = frozenset({"meta", "link", "br", "col", "hr", "img", "input"})
#: The most rows of a table; a note counts the others.
MOST_ROWS = 500
#: A table with more rows than this scrolls.
_LONG = 20


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def joined(*parts: Any) -> Markup:
    """Concatenate parts; text is escaped, and None is left out."""
    return Markup("".join(_text(part) for part in parts))


def _text(part: Any) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, (list, tuple)):
        return joined(*part)
    return escape(_printable(str(part)), quote=False)


def _printable(text: str) -> str:
    """Replace characters that are not allowed in HTML: control characters and lone surrogates."""
    return "".join(
        letter
        if letter in "\n\t" or (letter >= " " and not "\x7f" <= letter <= "\x9f")
        else "\N{REPLACEMENT CHARACTER}"
        for letter in text.encode("utf-8", "replace").decode("utf-8")
    )


def tag(name: str, /, *inside: Any, **attributes: Any) -> Markup:
    """Return an element; attributes that are None or False are left out, ``class_`` is ``class``."""
    start = f"<{name}"
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            start += f" {attribute}"
        elif value is not None and value is not False:
            start += f' {attribute}="{escape(_printable(str(value)))}"'
    return Markup(f"{start}>" if name in _VOID else f"{start}>{joined(*inside)}</{name}>")


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
    sides = [None if at < left else "n" for at in range(len(head))]
    top = [
        tag("th", cell, scope="col", class_=side) for cell, side in zip(head, sides, strict=True)
    ]
    body = []
    for first, *others in rows[:MOST_ROWS]:
        cells = [
            cell if _is_cell(cell) else tag("td", cell, class_=side)
            for cell, side in zip(others, sides[1:], strict=True)
        ]
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    title = tag("caption", tag("span", caption))
    shown = tag("table", title, tag("thead", tag("tr", *top)), tag("tbody", *body))
    scroll = "scroll long" if len(rows) > _LONG else "scroll"
    more = len(rows) - MOST_ROWS
    return joined(
        tag("div", shown, class_=scroll, tabindex="0", role="group", aria_label=caption),
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


def plain(value: float | str) -> str:
    """Return a feature value as text."""
    if isinstance(value, str):
        return value
    return "missing" if math.isnan(value) else f"{value:.6g}"


def facts(rows: Sequence[tuple[str, Any]]) -> Markup:
    """Return a list of names with their descriptions."""
    described = (tag("div", tag("dt", name), tag("dd", what)) for name, what in rows)
    return tag("dl", *described, class_="facts")
