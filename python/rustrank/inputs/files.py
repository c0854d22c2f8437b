"""Files: their checksums, what reads them, and replacing them as a whole, so that no reader sees half of one."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rustrank import _rustrank

if TYPE_CHECKING:
    from collections.abc import Iterator


def replace_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Replace a file atomically; it is on the disk when this returns."""
    whole = content if isinstance(content, bytes) else content.encode()
    _rustrank.replace_file(Path(path), whole)


@contextmanager
def errors_name(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an OSError of reading, writing or closing a file name it; Python's own names it in those of opening."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def checksum(path: Path, *, syncs: bool = False) -> str:
    """Return the checksum of a file; perhaps make sure that the file is on the disk."""
    digest = hashlib.sha256()
    with errors_name(path), path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
        if syncs:
            os.fsync(stream.fileno())
    return digest.hexdigest()


def reader_of(path: object) -> str:
    """Return what reads a file, by its name."""
    name = str(path).lower().removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        return "pandas.read_csv"
    return f"Dataset.from_{'parquet' if name.endswith('.parquet') else 'letor'}"
