"""Parquet and CSV files that commands read: their columns, and where in the file a row stands."""

from __future__ import annotations

import csv
import errno
import gzip
import importlib
import io
import os
import re
import warnings
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.errors import DataError, ParamError, RustrankWarning, shown, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How the names of tables end; all other files are LETOR text.
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
#: The bytes of a file that show what it is.
_START = 4096
#: What the files of models begin with that we read, and those that score but that we do not read.
_MODELS = (b"rustrank model", b"tree\n", b"tree\r", b"{")
_OTHER_MODELS = (b"#", b"<", b"CBM1", b"binf", b"\x80")
#: Characters that no text has, by which other files are known, such as ONNX.
_BINARY = bytes(range(9))
#: The most columns that an error names.
_NAMED = 8
#: A number with a decimal comma.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
#: The columns in which pandas keeps an index that has no name.
_INDEX = re.compile(r"__index_level_\d+__")


def is_table(file: str) -> bool:
    """Whether a file is Parquet or CSV, by its name."""
    return file.endswith((*_PARQUET, *_CSV))


def start_of(file: str) -> bytes:
    """Return the first bytes of a file, those inside of gzip; none of a pipe, which can be read only once."""
    if Path(file).exists() and not Path(file).is_file():
        if Path(file).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
        return b""
    with _opened(file) as stream:
        start: bytes = stream.read(_START)
        return start


def is_model(start: bytes, *, of_any_library: bool = False) -> bool:
    """Whether a file with this start is a model: one that we read, or perhaps of another library."""
    if of_any_library and _is_binary(start):
        return True
    return start.lstrip().startswith((*_MODELS, *(_OTHER_MODELS if of_any_library else ())))


def _is_binary(start: bytes) -> bool:
    return any(byte in _BINARY for byte in start)


def model_hint(file: str) -> str | None:
    """Return what a file is that is not a model we read, if that can be seen, and what to do."""
    with Path(file).open("rb") as stream:
        if stream.read(2) == b"\x1f\x8b":
            return "this is gzip, expected a model that is not packed"
    start = start_of(file)
    is_data = start.startswith(b"PAR1") or b" qid:" in start.partition(b"\n")[0]
    return "this is data, expected a model" if is_data else _hint_of_other_model(start)


def _hint_of_other_model(start: bytes) -> str | None:
    for begins, hint in (
        (b"CBM1", "this is CatBoost's binary format: save it by save_model(file, format='json')"),
        (b"binf", "this is XGBoost's old binary format: save it by save_model('model.json')"),
        (b"\x80", "this is a pickle: save the model by the method of its library"),
        (b"## LambdaMART", "this is RankLib's XML, which is written, not read"),
    ):
        if start.startswith(begins):
            return hint
    return None


def require_data(file: str) -> None:
    """Raise `DataError` for a file that has not the format that its name says."""
    start = start_of(file)
    hint = ""
    if is_model(start):
        hint = "this is a model, expected data"
    elif start.startswith(b"PAR1"):
        hint = "" if file.endswith(_PARQUET) else "this is Parquet: let its name end in .parquet"
    elif start and file.endswith(_PARQUET):
        hint = f"this is not Parquet: it begins with {shown(start[:20])}"
    elif b" qid:" in start.partition(b"\n")[0]:
        hint = "this is LETOR text, not CSV: call it .txt" if file.endswith(_CSV) else ""
    elif other := _hint_of_other_model(start):
        hint = other
    elif not file.endswith(_PARQUET) and _is_binary(start):
        hint = "this is neither text nor a model that can be read"
    elif not is_table(file) and re.match(rb"[^\s:]+[,;\t][^\s:]+\s*\n", start):
        hint = "this looks like CSV: let its name end in .csv"
    if hint:
        raise DataError(f"{file}: {hint}", code="format", path=file)


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """Open a file, or what is inside of gzip; damaged gzip is a `DataError`."""
    try:
        with Path(file).open("rb") as stream:
            is_packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            with gzip.GzipFile(fileobj=stream) if is_packed else stream as content:
                yield content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: damaged gzip: {error}", code="gzip", path=file) from None


def read_table(file: str, qid: str) -> Any:
    """Return a Parquet or CSV file as an Arrow table; ids of CSV stay text, as they are written.

    Empty cells of CSV are missing values, in columns of text, too.
    """
    require_data(file)
    try:
        arrow = importlib.import_module("pyarrow")
        of_csv, parquet = (importlib.import_module(f"pyarrow.{one}") for one in ("csv", "parquet"))
        importlib.import_module("pyarrow.compute")
    except ImportError:
        message = "Parquet and CSV need pyarrow: pip install pyarrow"
        raise ImportError(message) from None
    try:
        if file.endswith(_PARQUET):
            table = parquet.read_table(file)
        else:
            parse = of_csv.ParseOptions(delimiter=_delimiter(file))
            convert = of_csv.ConvertOptions(column_types={qid: arrow.string()})
            with _opened(file) as content:
                read = of_csv.read_csv(content, parse_options=parse, convert_options=convert)
            table = _with_missing_text(arrow, read)
    except arrow.ArrowInvalid as error:
        raise _not_readable(file, error) from None
    return _without_index(file, table.replace_schema_metadata(None))


def _with_missing_text(arrow: Any, table: Any) -> Any:
    """Return a table with missing values in place of empty text.

    Arrow's own option would have texts such as NA and null be missing, too.
    """
    columns = [
        arrow.compute.if_else(arrow.compute.not_equal(one, ""), one, None)
        if one.type == arrow.string()
        else one
        for one in table.columns
    ]
    return arrow.table(columns, names=table.column_names)


def _delimiter(file: str) -> str:
    """Return what separates the columns of a CSV file: what stands most often in its first line."""
    line = start_of(file).partition(b"\n")[0].decode("utf-8", "replace")
    outside = re.sub('"[^"]*"', "", line)
    return max(",;\t", key=outside.count)


def _not_readable(file: str, error: Exception) -> DataError:
    """Return the error of a table that pyarrow refuses, with the first line that is wrong."""
    if start_of(file).strip() == b"":
        message = f"the data have no rows ({file}): expected at least one query with one document"
        return DataError(message, code="data.empty", path=file)
    if not file.endswith(_PARQUET):
        lines = _csv_rows(file)
        width = len(next(lines)[1])
        for line, row in lines:
            if len(row) != width:
                message = f"got {len(row)} columns, expected {width} ({file}, line {line})"
                return DataError(message, code="table", path=file, line=line)
    return DataError(f"{file}: {shorten(str(error))}", code="table", path=file)


def shorten(text: str) -> str:
    """Return a text of another library as a part of a message: the first of it, in one line."""
    longest = 200
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def _without_index(file: str, table: Any) -> Any:
    """Return a table without the row numbers that pandas writes; two columns of one name are an error."""
    names = table.column_names
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        message = f"{file}: two columns have the name {shown(twice[0])}"
        raise DataError(message, code="features.names", path=file, feature=twice[0])
    numbers = [name for name in names if name == "" or _INDEX.fullmatch(name)]
    if "" in numbers:
        message = f"{file}: the column without a name is left out: row numbers are no feature"
        warnings.warn(message, RustrankWarning, stacklevel=1)
    return table.drop_columns(numbers) if numbers else table


def require_column(file: str, names: Sequence[str], option: str, name: str) -> None:
    """Raise `ParamError` if a table lacks the column that an option names."""
    if name in names:
        return
    hint = suggestion(name, names)
    if not hint:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        hint = f"; its columns are {', '.join(one[:30] for one in names[:_NAMED])}{more}"
    message = f"{option}: {file} has no column {shown(name)}{hint}"
    raise ParamError(message, code=option.strip("-"))


def joined(files: Sequence[str], tables: Sequence[Any]) -> Any:
    """Return tables one after the other; columns are those of the first, by name."""
    arrow = importlib.import_module("pyarrow")
    first = tables[0].column_names
    made = []
    for file, table in zip(files, tables, strict=True):
        missing = [name for name in first if name not in table.column_names]
        other = [name for name in table.column_names if name not in first]
        if missing or other:
            name, has, lacks = (
                (missing[0], files[0], file) if missing else (other[0], file, files[0])
            )
            message = f"{lacks} has no column {shown(name)}, which {has} has"
            raise DataError(message, code="features.names", path=file, feature=name)
        made.append(table.select(first))
    try:
        return arrow.concat_tables(made, promote_options="permissive")
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        raise _different_types(files, made, error) from None


def _different_types(files: Sequence[str], tables: Sequence[Any], error: Exception) -> DataError:
    """Return the error of tables in which a column has not the same type."""
    for name in tables[0].column_names:
        types = [str(table.schema.field(name).type) for table in tables]
        if "string" in types and set(types) != {"string"}:
            at = types.index("string")
            column = tables[at].column(name)
            found = text_in_column(files[at], name, column, category_hint([name]))
            if found is not None:
                return found
    message = f"{', '.join(files)}: {shorten(str(error))}"
    return DataError(message, code="table", path=files[0])


def category_hint(names: Sequence[str]) -> str:
    """Return how a command is told that columns hold categories, as the end of a message."""
    return f"; train and tune take categories: --categorical {','.join(names)}"


def text_in_column(file: str, name: str, column: Any, hint: str) -> DataError | None:
    """Return the error of a column of numbers that has text; None if it has none."""
    for row, value in enumerate(column.to_pylist()):
        if isinstance(value, str) and not _is_number(value):
            if _DECIMAL_COMMA.fullmatch(value):
                hint = " with a point: a decimal comma is not read"
            place, line = place_of_row(file, row)
            message = f"column {shown(name)}: got {shown(value)}, expected a number{hint} ({place})"
            return DataError(
                message, code="table.text", path=file, line=line, row=row, feature=name
            )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def place_of_row(file: str, row: int) -> tuple[str, int | None]:
    """Return where a row of a file stands, as text: its line, or the row of Parquet, from 0; and the line."""
    if file.endswith(_PARQUET):
        return f"{file}, row {row}", None
    line = _line_of_table(file, row) if file.endswith(_CSV) else _line_of_text(file, row)
    return (file, None) if line is None else (f"{file}, line {line}", line)


def num_docs_of(file: str) -> int:
    """Return the number of documents of a file."""
    if file.endswith(_PARQUET):
        parquet = importlib.import_module("pyarrow.parquet")
        number: int = parquet.read_metadata(file).num_rows
        return number
    return sum(1 for _ in _doc_lines(file)) if not file.endswith(_CSV) else _num_rows(file)


def _num_rows(file: str) -> int:
    return sum(1 for _ in _csv_rows(file)) - 1


def _line_of_table(file: str, row: int) -> int | None:
    for at, (line, _) in enumerate(_csv_rows(file)):
        if at == row + 1:
            return line
    return None


def _line_of_text(file: str, row: int) -> int | None:
    for at, line in enumerate(_doc_lines(file)):
        if at == row:
            return line
    return None


def _csv_rows(file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, the names of columns first, each with the line where it begins."""
    with _opened(file) as content:
        text = io.TextIOWrapper(content, "utf-8", errors="replace", newline="")
        reader = csv.reader(text, delimiter=_delimiter(file))
        before = 0
        for row in reader:
            if row:
                yield before + 1, row
            before = reader.line_num


def _doc_lines(file: str) -> Iterator[int]:
    """Yield the numbers of the lines of LETOR text that are documents."""
    with _opened(file) as content:
        for number, line in enumerate(content, 1):
            if line.strip() and not line.lstrip().startswith(b"#"):
                yield number
