"""CSV files: what separates their columns, which cells are missing, and in which line a row begins."""

from __future__ import annotations

import csv
import importlib
import io
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from rustrank.cli.file_kinds import opened, start_of
from rustrank.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

#: The cells that are missing values, in columns of text and of numbers, quoted or not: those of pandas.
MISSING = (
    *("", "NA", "N/A", "n/a", "<NA>", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
    *("#NA", "#N/A", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
#: The bytes that are read at once; a row must fit into them.
_BLOCK = 1 << 24
#: The most characters of a cell.
_LONGEST_CELL = 1 << 30


def read_csv(file: str, texts: Collection[str]) -> Any:
    """Return a CSV file as an Arrow table.

    The columns that are named are text, as it is written; the type of any other follows from its values.
    """
    column_names(file)
    arrow, of_csv = (importlib.import_module(one) for one in ("pyarrow", "pyarrow.csv"))
    read = of_csv.ReadOptions(block_size=_BLOCK)
    parse = of_csv.ParseOptions(delimiter=_delimiter(file), newlines_in_values=True)
    convert = of_csv.ConvertOptions(
        column_types=dict.fromkeys(texts, arrow.string()),
        null_values=MISSING,
        strings_can_be_null=True,
    )
    try:
        with opened(file) as content:
            table = of_csv.read_csv(content, read, parse, convert)
    except arrow.ArrowInvalid:
        found = _open_quote(file) or _wrong_width(file) or not_utf8(file, texts)
        if found is None:
            raise
        raise found from None
    if _may_have_open_quote(table) and (found := _open_quote(file)) is not None:
        raise found
    return table


def column_names(file: str) -> list[str]:
    """Return the names of the columns of a CSV file; names that are not UTF-8 are an error."""
    found = not_utf8(file, ())
    if found is not None:
        raise found
    return next((names for _, names in csv_rows(file)), [])


def csv_rows(
    file: str, encoding: str = "utf-8-sig", *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, the names of columns first, each with the line where it begins."""
    csv.field_size_limit(_LONGEST_CELL)
    with opened(file) as content:
        text = io.TextIOWrapper(content, encoding, errors="replace", newline="")
        reader = csv.reader(text, delimiter=_delimiter(file), strict=strict)
        before = 0
        for row in reader:
            if row:
                yield before + 1, row
            before = reader.line_num


def not_utf8(file: str, columns: Collection[str]) -> DataError | None:
    """Return the error of the first cell of some columns that is not UTF-8, or of a name of any column."""
    rows = csv_rows(file, "latin-1")
    names: list[str] = []
    for line, row in rows:
        for at, cell in enumerate(row):
            is_looked_at = not names or (at < len(names) and names[at] in columns)
            if is_looked_at and _is_not_utf8(cell):
                what = f"column {shown(names[at])}" if names else f"the name of column {at + 1}"
                message = (
                    f"{what}: got {shown(cell.encode('latin-1'))}, which is not UTF-8; "
                    f"save the file as UTF-8 ({file}, line {line})"
                )
                return DataError(message, code="encoding", path=file, line=line)
        if not columns:
            break
        names = names or [one.encode("latin-1").decode("utf-8-sig") for one in row]
    return None


def _is_not_utf8(cell: str) -> bool:
    """Whether bytes are not UTF-8; they are given as the characters of their numbers."""
    try:
        cell.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _delimiter(file: str) -> str:
    """Return what separates the columns of a CSV file: what stands most often in its first line."""
    first = re.split(rb"[\r\n]", start_of(file).lstrip(b"\xef\xbb\xbf\r\n"), maxsplit=1)[0]
    outside = re.sub('"[^"]*"', "", first.decode("utf-8", "replace"))
    has_tabs = file.removesuffix(".gz").endswith(".tsv") and "\t" in outside
    return "\t" if has_tabs else max(",;\t", key=outside.count)


def _wrong_width(file: str) -> DataError | None:
    """Return the error of the first row that has not a cell for each column; None without one."""
    rows = csv_rows(file)
    _, names = next(rows, (1, []))
    for line, row in rows:
        if len(row) != len(names):
            message = f"got {len(row)} columns, expected {len(names)} ({file}, line {line})"
            return DataError(message, code="table", path=file, line=line)
    return None


def _may_have_open_quote(table: Any) -> bool:
    """Whether the last row has a line break in a cell: an open quote takes all lines after it into a cell."""
    last = table.slice(max(0, table.num_rows - 1))
    cells = (cell for column in last.columns for cell in column.to_pylist())
    return any(isinstance(cell, str) and ("\n" in cell or "\r" in cell) for cell in cells)


def _open_quote(file: str) -> DataError | None:
    """Return the error of a quote that is open to the end of the file; None without one."""
    try:
        deque(csv_rows(file, strict=True), maxlen=0)
    except csv.Error as error:
        if "end of data" in str(error):
            ((line, _),) = deque(csv_rows(file), maxlen=1)
            message = f"a quote is not closed before the end of the file ({file}, line {line})"
            return DataError(message, code="table", path=file, line=line)
    return None
