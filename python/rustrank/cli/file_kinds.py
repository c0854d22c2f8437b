"""What the files are that commands read: text, Parquet, CSV or a model, by their names and first bytes."""

from __future__ import annotations

import errno
import gzip
import os
import re
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.cli.streams import PIPE
from rustrank.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def is_table(file: str) -> bool:
    """Whether a file is Parquet or CSV, by its name."""
    return is_parquet(file) or is_csv(file)


def is_parquet(file: str) -> bool:
    """Whether a file is Parquet, by its name."""
    return file.lower().endswith(_PARQUET)


def is_csv(file: str) -> bool:
    """Whether a file is CSV, by its name."""
    return file.lower().endswith(_CSV)


def start_of(file: str) -> bytes:
    """Return the first bytes of a file, those inside of gzip; none of a pipe, which can be read only once."""
    if Path(file).exists() and not Path(file).is_file():
        if Path(file).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
        return b""
    with opened(file) as stream:
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
        hint = "" if is_parquet(file) else "this is Parquet: let its name end in .parquet"
    elif start and is_parquet(file):
        hint = f"this is not Parquet: it begins with {shown(start[:20])}"
    elif b" qid:" in start.partition(b"\n")[0]:
        hint = "this is LETOR text, not CSV: call it .txt" if is_csv(file) else ""
    elif other := _hint_of_other_model(start):
        hint = other
    elif start.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = "this is UTF-16: save the file as UTF-8"
    elif not is_parquet(file) and _is_binary(start):
        hint = "this is neither text nor a model that can be read"
    elif not is_table(file) and re.match(rb"[^\s:]+[,;\t][^\s:]+\s*\n", start):
        hint = "this looks like CSV: let its name end in .csv"
    if hint:
        raise DataError(f"{file}: {hint}", code="format", path=file)


def no_rows(file: str) -> DataError:
    """Return the error of data without documents."""
    message = f"the data have no rows ({file}): expected at least one query with one document"
    return DataError(message, code="data.empty", path=file)


def require_text(file: str) -> None:
    """Raise `DataError` for a file that is called text and is something else."""
    if file != PIPE:
        require_data(file)


@contextmanager
def opened(file: str) -> Iterator[Any]:
    """Open a file, or what is inside of gzip; damaged gzip is a `DataError`."""
    try:
        with Path(file).open("rb") as stream:
            is_packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            with gzip.GzipFile(fileobj=stream) if is_packed else stream as content:
                yield content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: damaged gzip: {error}", code="gzip", path=file) from None
