"""Parquet and CSV files that commands read: their columns, and where in the file a row stands."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import TYPE_CHECKING, Any

from rustrank.cli.csv_files import column_names, csv_rows, not_utf8, read_csv
from rustrank.cli.file_kinds import is_csv, is_parquet, no_rows, opened, require_data, start_of
from rustrank.errors import DataError, ParamError, RustrankWarning, shown, suggestion
from rustrank.inputs.feature_names import is_index

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

#: The most columns that an error names.
_NAMED = 8
#: A number with a decimal comma.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
#: A number as CSV has it.
_NUMBER = re.compile(
    r"\s*[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf|infinity|nan)\s*", re.ASCII | re.IGNORECASE
)


def read_table(file: str, texts: Callable[[Sequence[str]], Collection[str]]) -> Any:
    """Return a Parquet or CSV file as an Arrow table.

    Parameters
    ----------
    file
        The file. What its columns hold is known of Parquet.
    texts
        Returns which columns of CSV, of which it is given the names, are read as text.
    """
    require_data(file)
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
        for one in ("compute", "csv"):
            importlib.import_module(f"pyarrow.{one}")
    except ImportError:
        message = "Parquet and CSV need pyarrow: pip install pyarrow"
        raise ImportError(message) from None
    if not start_of(file).strip():
        raise no_rows(file)
    try:
        if is_parquet(file):
            table = parquet.read_table(file)
        else:
            table = read_csv(file, texts(column_names(file)))
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        # Arrow calls a damaged file of Parquet an error of input, without the number of one.
        raise DataError(f"{file}: {shorten(str(error))}", code="table", path=file) from None
    return _without_index(file, table.replace_schema_metadata(None))


def numbers_of_parquet(files: Sequence[str]) -> frozenset[str]:
    """Return the columns that hold numbers in the Parquet files among some, and so in CSV beside them."""
    found: set[str] = set()
    if not any(map(is_csv, files)):
        return frozenset()
    for file in filter(is_parquet, files):
        arrow = importlib.import_module("pyarrow")
        try:
            schema = importlib.import_module("pyarrow.parquet").read_schema(file)
        except (arrow.ArrowException, OSError):
            continue  # Reading it says what is wrong.
        kinds = (arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_boolean)
        found.update(field.name for field in schema if any(kind(field.type) for kind in kinds))
    return frozenset(found)


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
    numbers = [name for name in names if is_row_number(name)]
    if "" in numbers:
        message = f"{file}: the column without a name is left out: row numbers are no feature"
        warnings.warn(message, RustrankWarning, stacklevel=1)
    return table.drop_columns(numbers) if numbers else table


def is_row_number(name: str) -> bool:
    """Whether a column of this name has the row numbers that pandas writes."""
    return name == "" or is_index(name)


def require_utf8(file: str, table: Any, columns: Sequence[str]) -> None:
    """Raise `DataError` for a column of CSV that Arrow has as bytes: some of it is not UTF-8."""
    odd = [name for name in columns if str(table.schema.field(name).type) == "binary"]
    found = not_utf8(file, odd) if odd else None
    if found is not None:
        raise found


def warn_of_spaces(file: str, table: Any, columns: Collection[str]) -> None:
    """Warn of columns with texts that begin or end with a space: these are other ids and categories."""
    compute = importlib.import_module("pyarrow.compute")
    for name in sorted(columns):
        texts = table.column(name)
        odd = texts.filter(compute.not_equal(compute.utf8_trim_whitespace(texts), texts))
        if len(odd):
            text = shown(odd[0].as_py())
            message = f"{file}: column {shown(name)} has texts with spaces around them, which are kept: {text}"
            warnings.warn(message, RustrankWarning, stacklevel=1)


def require_column(file: str, names: Sequence[str], option: str, name: str) -> None:
    """Raise `ParamError` if a table lacks the column that an option names."""
    if name in names:
        return
    same = [one for one in names if one.strip().lower() == name.strip().lower()]
    hint = f"; did you mean {shown(same[0])}?" if same else suggestion(name, names)
    if not hint and names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        hint = f"; its columns are {', '.join(one[:30] for one in names[:_NAMED])}{more}"
    message = f"{option}: {file} has no column {shown(name)}{hint}"
    raise ParamError(message, code=option.strip("-"))


def joined(
    files: Sequence[str], tables: Sequence[Any], unused: Collection[str], *, trains: bool = False
) -> Any:
    """Return tables one after the other; columns are those of the first, by name, but for unused ones."""
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
        made.append(table.select([name for name in first if name not in unused]))
    return arrow.concat_tables(
        _with_same_types(arrow, files, made, trains), promote_options="permissive"
    )


def _with_same_types(
    arrow: Any, files: Sequence[str], tables: Sequence[Any], trains: bool
) -> list[Any]:
    """Return tables that can be joined.

    Truth values are 0 and 1 where another file has numbers, and a dictionary of texts is text. A column of which
    one file has text, and another has numbers, is a `DataError`.
    """
    made = list(tables)
    for place, name in enumerate(made[0].column_names):
        types = [table.schema.field(name).type for table in made]
        for at, plain in enumerate(_plain_types(arrow, types)):
            if plain != types[at]:
                made[at] = made[at].set_column(place, name, made[at].column(name).cast(plain))
                types[at] = plain
        try:
            schemas = [arrow.schema([arrow.field(name, one)]) for one in types]
            arrow.unify_schemas(schemas, promote_options="permissive")
        except (arrow.ArrowInvalid, arrow.ArrowTypeError):
            raise _different_types(files, made, name, trains) from None
    return made


def _plain_types(arrow: Any, given: Sequence[Any]) -> list[Any]:
    """Return the types that a column of these types in several tables is converted to before they are joined."""
    of = arrow.types
    numbers = (of.is_integer, of.is_floating, of.is_decimal)
    has_numbers = any(is_one(kind) for kind in given for is_one in numbers)
    has_texts = any(of.is_string(kind) or of.is_large_string(kind) for kind in given)
    made = []
    for kind in given:
        if has_numbers and of.is_boolean(kind):
            made.append(arrow.uint8())
        elif has_texts and of.is_dictionary(kind):
            made.append(kind.value_type)
        else:
            made.append(kind)
    return made


def _different_types(
    files: Sequence[str], tables: Sequence[Any], name: str, trains: bool
) -> DataError:
    """Return the error of tables in which a column has not the same type."""
    columns = [table.column(name) for table in tables]
    for file, column in zip(files, columns, strict=True):
        hint = category_hint([name], trains)
        found = text_in_column(file, name, column, hint) if str(column.type) == "string" else None
        if found is not None:
            return found
    types = ", ".join(f"{one.type} in {file}" for file, one in zip(files, columns, strict=True))
    message = f"column {shown(name)}: got {types}, expected the same type in all files"
    return DataError(message, code="table", path=files[0], feature=name)


def category_hint(names: Sequence[str], trains: bool) -> str:
    """Return what to do with text in columns of numbers, as the end of a message: a trained model has numbers there."""
    if not trains:
        return ", as in the training set"
    return f"; train, tune and auto take categories: --categorical {','.join(names)}"


def text_in_column(file: str, name: str, column: Any, hint: str) -> DataError | None:
    """Return the error of a column of numbers that has text; None if it has none."""
    for row, value in enumerate(column.to_pylist()):
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            if _DECIMAL_COMMA.fullmatch(value):
                hint = " with a point: a decimal comma is not read"
            place, line = place_of_row(file, row)
            message = f"column {shown(name)}: got {shown(value)}, expected a number{hint} ({place})"
            return DataError(
                message, code="table.text", path=file, line=line, row=row, feature=name
            )
    return None


def place_of_row(file: str, row: int) -> tuple[str, int | None]:
    """Return where a row of a file stands, as text: its line, or the row of Parquet, from 0; and the line."""
    if is_parquet(file):
        return f"{file}, row {row}", None
    line = _line_of_table(file, row) if is_csv(file) else _line_of_text(file, row)
    return (file, None) if line is None else (f"{file}, line {line}", line)


def num_docs_of(file: str) -> int:
    """Return the number of documents of a file."""
    if is_parquet(file):
        parquet = importlib.import_module("pyarrow.parquet")
        number: int = parquet.read_metadata(file).num_rows
        return number
    return sum(1 for _ in _doc_lines(file)) if not is_csv(file) else _num_rows(file)


def _num_rows(file: str) -> int:
    return sum(1 for _ in csv_rows(file)) - 1


def _line_of_table(file: str, row: int) -> int | None:
    for at, (line, _) in enumerate(csv_rows(file)):
        if at == row + 1:
            return line
    return None


def _line_of_text(file: str, row: int) -> int | None:
    for at, line in enumerate(_doc_lines(file)):
        if at == row:
            return line
    return None


def _doc_lines(file: str) -> Iterator[int]:
    """Yield the numbers of the lines of LETOR text that are documents."""
    with opened(file) as content:
        for number, line in enumerate(content, 1):
            if line.strip() and not line.lstrip().startswith(b"#"):
                yield number
