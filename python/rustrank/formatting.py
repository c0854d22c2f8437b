"""Numbers and small tables as text and HTML."""

from __future__ import annotations

import html
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rustrank.errors import UnknownNameError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

V = TypeVar("V")
#: The head and the rows of a table.
Table: TypeAlias = tuple[list[str], list[list[str]]]

#: All but tabs and line feeds of the control characters, and those that set the direction of writing.
_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)
_CELL = "padding:0.15em 0.8em;font-variant-numeric:tabular-nums;text-align:"


def printable(text: str) -> str:
    """Return text without characters that a terminal obeys or that change the order of others: they are escaped."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return printable text without line ends and tabs, which are escaped, too."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table as aligned text; the first ``left`` columns are left-aligned."""
    head, *rows = [[one_line(cell) for cell in row] for row in (head, *rows)]
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table as HTML for notebooks, in the colours of the page."""
    parts = []
    for tag, row in [("th", head), *(("td", row) for row in rows)]:
        # Intervals and other figures stay on one line; heads and descriptions may be wrapped.
        figure = "right" if tag == "th" else "right;white-space:nowrap"
        cells = [
            f'<{tag} style="{_CELL}{"left" if at < left else figure}">{html.escape(cell)}</{tag}>'
            for at, cell in enumerate(row)
        ]
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead>{parts[0]}</thead><tbody>{''.join(parts[1:])}</tbody></table>"


def html_facts(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return facts by name as HTML for notebooks, under a title; long ones are wrapped."""
    rows = [
        f'<tr><th scope="row" style="{_CELL}left">{html.escape(name)}</th>'
        f'<td style="{_CELL}left;max-width:40em;white-space:normal">{html.escape(value)}</td></tr>'
        for name, value in facts
    ]
    caption = f'<div style="font-weight:bold;padding:0.15em 0.8em">{html.escape(title)}</div>'
    return f"{caption}<table><tbody>{''.join(rows)}</tbody></table>"


def some(texts: Sequence[str], most: int = 5) -> str:
    """Return the first of some texts, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def shortened(text: str, longest: int) -> str:
    """Shorten a text in its middle: names of features often differ at their ends alone."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"


def number(value: float, sign: str = "") -> str:
    """Return a number with four decimals, or a dash for NaN; ``sign="+"`` shows the sign."""
    return "-" if math.isnan(value) else f"{value:{sign}.4f}"


def interval(ends: tuple[float, float], sign: str = "") -> str:
    """Return an interval as text, or a dash for NaN."""
    low, high = ends
    return "-" if math.isnan(low) else f"{number(low, sign)} to {number(high, sign)}"


def p_value(p: float) -> str:
    """Return a p-value with four decimals, ``<0.0001`` for smaller ones, or a dash for NaN."""
    if math.isnan(p):
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def p_text(p: float, space: str = " ", name: str = "p") -> str:
    """Return a p-value as a statement: ``p = 0.0312`` or ``p <0.0001``."""
    shown_p = p_value(p)
    return (
        f"{name}{space}{shown_p}" if shown_p.startswith("<") else f"{name}{space}={space}{shown_p}"
    )


def percent(level: float) -> str:
    """Return a level such as 0.95 as ``95%``."""
    return f"{100 * level:.6g}%"


def count(number: int, one: str, several: str | None = None) -> str:
    """Return a count with its noun: ``1 doc`` or ``2 docs``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def size(number: float) -> str:
    """Return a number of bytes as text."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:,.0f} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


class TableResult(ABC):
    """The base of results that are shown as tables, and sentences below them if there are any."""

    #: The number of columns that are aligned to the left.
    _left = 1

    @abstractmethod
    def _tables(self) -> list[Table]:
        """Return the head and the rows of each table."""

    def __repr__(self) -> str:
        parts = [text_table(*table, left=self._left) for table in self._tables()]
        return "\n\n".join([*parts, *filter(None, [printable("\n".join(self._sentences()))])])

    def _repr_html_(self) -> str:
        parts = [html_table(*table, left=self._left) for table in self._tables()]
        return "".join([*parts, *(f"<p>{html.escape(one)}</p>" for one in self._sentences())])

    def _sentences(self) -> Sequence[str]:
        """Return the ``statements`` of a result that makes some."""
        return getattr(self, "statements", ())


class ResultMapping(TableResult, Mapping[str, V]):
    """The base of results that are a mapping by name and are shown as a table."""

    #: The message and the code of the error for a name that is not among the results.
    _absent: tuple[str, str]

    def __init__(self, values: Mapping[str, V]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> V:
        try:
            return self._values[name]
        except KeyError:
            message, code = self._absent
            message = f"{message.format(shown(name))}: expected one of {', '.join(self)}"
            raise UnknownNameError(message, code=code) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
