"""Small tables of figures, as text and as HTML."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL = "padding:0.15em 0.8em;font-variant-numeric:tabular-nums;text-align:"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Align columns, the first ``left`` of them to the left."""
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
    """Render the same table for notebooks; colours are the page's own."""
    parts = []
    for tag, row in [("th", head), *(("td", row) for row in rows)]:
        cells = [
            f'<{tag} style="{_CELL}{"left" if at < left else "right"}">{html.escape(cell)}</{tag}>'
            for at, cell in enumerate(row)
        ]
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead>{parts[0]}</thead><tbody>{''.join(parts[1:])}</tbody></table>"


def number(value: float, sign: str = "") -> str:
    """Four decimals, or a dash for NaN; ``sign="+"`` shows the sign."""
    return "-" if math.isnan(value) else f"{value:{sign}.4f}"


def interval(ends: tuple[float, float], sign: str = "") -> str:
    """Both ends, or a dash for NaN."""
    low, high = ends
    return "-" if math.isnan(low) else f"{number(low, sign)} to {number(high, sign)}"


def p_value(p: float) -> str:
    """Four decimals, or that it is below them; a dash for NaN."""
    if math.isnan(p):
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def percent(level: float) -> str:
    """Write a level such as 0.95 as ``95%``."""
    return f"{100 * level:.6g}%"


def count(number: int, one: str, several: str | None = None) -> str:
    """Write ``1 doc`` or ``2 docs``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def size(number: float) -> str:
    """Write a number of bytes."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:,.0f} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
