"""CSV files: what separates their columns, which cells are missing, and in which line a row begins."""

from __future__ import annotations

import csv
import importlib
import io
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from rustrank.cli.file_kinds import no_rows, opened, start_of
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
    """Return a CSV file as an Arrow table; its names are known to be UTF-8 by `column_names`.

    The columns that are named are text, as it is written; the type of any other follows from its values.
    """
    if len(list(islice(csv_rows(file), 2))) < 2:
        raise no_rows(file)
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
        wrong = [found for found in (_wrong_quote(file), _wrong_width(file)) if found is not None]
        found = min(wrong, key=lambda one: one.line or 0, default=not_utf8(file, texts))
        if found is None:
            raise
        raise found from None
    if _has_line_breaks(table) and (found := _wrong_quote(file)) is not None:
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
    has_tabs = file.lower().removesuffix(".gz").endswith(".tsv") and "\t" in outside
    return "\t" if has_tabs else max(",;\t", key=outside.count)


def _wrong_width(file: str) -> DataError | None:
    """Return the error of the first row that has not a cell for each column; None without one."""
    rows = csv_rows(file)
    _, names = next(rows, (1, []))
    for line, row in rows:
        if len(row) != len(names):
            return _wrong_row(file, line, f"got {len(row)} columns, expected {len(names)}")
    return None


def _wrong_quote(file: str) -> DataError | None:
    """Return the error of the first row in which quotes do not enclose whole cells; None without one."""
    number = 0
    try:
        for _ in csv_rows(file, strict=True):
            number += 1
    except csv.Error as error:
        line, _ = next(islice(csv_rows(file), number, None))
        is_open = "end of data" in str(error)
        what = "a quote is not closed before the end of the file"
        return _wrong_row(
            file, line, what if is_open else "text follows the quote that ends a cell"
        )
    return None


def _wrong_row(file: str, line: int, what: str) -> DataError:
    return DataError(f"{what} ({file}, line {line})", code="table", path=file, line=line)


def _has_line_breaks(table: Any) -> bool:
    """Whether a cell has a line break: a quote that is not closed has all lines after it in one cell."""
    compute = importlib.import_module("pyarrow.compute")
    texts = (column for column in table.columns if str(column.type) in ("string", "binary"))
    found = (compute.any(compute.match_substring_regex(one, "[\r\n]")).as_py() for one in texts)
    return any(found)
