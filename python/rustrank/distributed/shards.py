"""Shards: a data set split by queries into several files, for training on several workers.

The files have the format of the source: LETOR text or Parquet. A manifest lists the documents, queries and
checksum of each. It is written last, so a folder without a manifest has no shards.
"""

from __future__ import annotations

import gzip
import hashlib
import heapq
import itertools
import json
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.batches import opened, require_columns
from rustrank.data.dataset import Dataset
from rustrank.errors import DataError, ParamError, shown
from rustrank.formatting import count, size, text_table
from rustrank.inputs.files import checksum, errors_name, replace_file
from rustrank.inputs.scalars import flag, text, whole
from rustrank.progress import progress_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

__all__ = ["Shard", "Shards", "shard"]

_FORMAT = "rustrank shards"
_VERSION = 1
_MANIFEST = "manifest.json"
_MOST = 100_000
#: Rows of a Parquet file that are read at a time.
_ROWS = 65_536
#: The bytes of a line of text that are too many, as in `Dataset.from_letor`.
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Shard:
    """One file of a sharded data set.

    Attributes
    ----------
    file : str
        The name of the file, in the folder of the manifest.
    docs, queries, bytes : int
        The numbers of documents, queries and bytes.
    sha256 : str
        The checksum of the file.
    """

    file: str
    docs: int
    queries: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Shards:
    """A data set in several files; made by `shard`, read by `Shards.load`.

    Attributes
    ----------
    directory : Path
        The folder of the files.
    kind : {"letor", "parquet"}
        The format of the files.
    columns : mapping
        For Parquet: the names of the columns of labels and query ids.
    shards : tuple of Shard
        The files.
    """

    directory: Path
    kind: str
    columns: Mapping[str, str]
    shards: tuple[Shard, ...]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Shards:
        """Read a manifest, given by its path or its folder.

        Raises
        ------
        DataError
            The file is no manifest, or a shard is missing or has another size.
        """
        place = Path(path)
        place = place / _MANIFEST if place.is_dir() else place
        try:
            with errors_name(place):
                read = json.loads(place.read_bytes())
            version = read["version"] if read["format"] == _FORMAT else None
            known = [Shard(**one) for one in read["shards"]] if version == _VERSION else []
            found = cls(place.parent, read["kind"], dict(read["columns"]), tuple(known))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            message = f"{place}: not a manifest of shards: {error}"
            raise DataError(message, code="shards.manifest", path=str(place)) from None
        if version != _VERSION:
            message = f"{place}: got version {shown(version)}, expected {_VERSION}"
            raise DataError(message, code="shards.version", path=str(place))
        for one in found.shards:
            if not isinstance(one.file, str) or not one.file or Path(one.file).name != one.file:
                message = f"{place}: got the file {shown(one.file)}, expected a name in the manifest's folder"
                raise DataError(message, code="shards.manifest", path=str(place))
        for one, file in zip(found.shards, found.paths(), strict=True):
            if file.stat().st_size != one.bytes:
                message = f"{file}: got {file.stat().st_size} bytes, expected {one.bytes}"
                raise DataError(message, code="shards.size", path=str(file))
        return found

    @property
    def num_docs(self) -> int:
        """The total number of documents."""
        return sum(one.docs for one in self.shards)

    @property
    def num_queries(self) -> int:
        """The total number of queries."""
        return sum(one.queries for one in self.shards)

    @property
    def skew(self) -> float:
        """The documents of the largest shard, relative to the average: the slowdown by imbalance."""
        return max(one.docs for one in self.shards) * len(self.shards) / max(self.num_docs, 1)

    def of_worker(self, rank: int, size: int) -> list[int]:
        """Return the numbers of the shards that one of ``size`` workers reads."""
        return list(range(rank, len(self.shards), size))

    def paths(self, numbers: Sequence[int] | None = None) -> list[Path]:
        """Return the paths of some shards, by default all."""
        wanted = self.of_worker(0, 1) if numbers is None else numbers
        return [self.directory / self.shards[number].file for number in wanted]

    def check(self, numbers: Sequence[int] | None = None) -> None:
        """Verify the checksums of some shards, by default all."""
        wanted = self.of_worker(0, 1) if numbers is None else numbers
        for number, file in zip(wanted, self.paths(wanted), strict=True):
            if checksum(file) != self.shards[number].sha256:
                message = f"{file}: the file is not the one that was written: its checksum differs"
                raise DataError(message, code="shards.checksum", path=str(file))

    def dataset(self, numbers: Sequence[int] | None = None, **options: Any) -> Dataset:
        """Read some shards as one data set, by default all; their checksums are verified first.

        Parameters
        ----------
        numbers : sequence of int, optional
            The shards to read; at least one must have documents.
        **options
            As for `Dataset.from_letor` or `Dataset.from_parquet`.
        """
        wanted = self.of_worker(0, 1) if numbers is None else numbers
        full = [number for number in wanted if self.shards[number].docs]
        if not full:
            raise DataError(f"shards {list(wanted)} hold no docs", code="data.empty")
        self.check(full)
        read = Dataset.from_letor if self.kind == "letor" else Dataset.from_parquet
        given: dict[str, Any] = {**self.columns, **options}
        return read(self.paths(full), **given)

    def __str__(self) -> str:
        """Show a table of the files."""
        rows = [
            [one.file, f"{one.docs:,}", f"{one.queries:,}", size(one.bytes)] for one in self.shards
        ]
        total = f"{count(self.num_docs, 'doc')}, {count(self.num_queries, 'query', 'queries')}"
        table = text_table(["shard", "docs", "queries", "bytes"], rows, left=1)
        return f"{table}\n{total}; the largest has {self.skew:.3f} times the average"


def shard(
    path: str | PathLike[str],
    directory: str | PathLike[str],
    *,
    shards: int,
    label: str = "label",
    qid: str = "qid",
    compress: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Shards:
    r"""Split a data set by queries into files with about equal numbers of documents.

    Queries are assigned in order of size, each to the shard with the fewest documents so far. The result
    depends on their ids and sizes only, not on their order in the file.

    Parameters
    ----------
    path : path-like
        LETOR or SVMlight text, plain or gzip, in which the lines of a query stand together; or a
        Parquet file (``.parquet``).
    directory : path-like
        The folder to write to; it is created if necessary.
    shards : int
        The number of shards. With fewer queries, some shards are empty.
    label, qid : str
        Of a Parquet file, the columns of labels and query ids.
    compress : bool, default False
        Whether text is written as gzip.
    overwrite : bool, default False
        Whether existing shards may be replaced: once the new ones are complete, and not if anything fails.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal, when it takes a second.

    Returns
    -------
    Shards
        The shards that were written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import rustrank as rr
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lines = [f"{at % 2} qid:{at // 4} 1:{at}" for at in range(40)]
    >>> _ = (folder / "train.txt").write_text("\n".join(lines))
    >>> made = rr.shard(folder / "train.txt", folder / "shards", shards=2)
    >>> [one.docs for one in made.shards]
    [20, 20]
    """
    number = whole("shards", shards, 1, _MOST)
    place = Path(directory)
    if (place / _MANIFEST).exists() and not flag("overwrite", overwrite):
        message = f"{place}: there are shards already: pass overwrite=True, or another directory"
        raise ParamError(message, code="shards.exist")
    source = Path(path)
    if source.suffix == ".parquet":
        columns = {"label": text("label", label), "qid": text("qid", qid)}
        writer: _Text | _Parquet = _Parquet(source, columns)
    else:
        columns = {}
        writer = _Text(source, flag("compress", compress), progress)
    docs = writer.docs_of_queries()
    shard_of_query = _assignment(docs, number)
    sizes: list[list[int]] = [[] for _ in range(number)]
    for query, at in shard_of_query.items():
        sizes[at].append(docs[query])
    place.mkdir(parents=True, exist_ok=True)
    names = _new_names(place, number, writer.suffix)
    with _files(place, names) as paths, errors_name(place):
        writer.write(shard_of_query, paths)
        made = [
            Shard(name, sum(held), len(held), path.stat().st_size, checksum(path, syncs=True))
            for name, held, path in zip(names, sizes, paths, strict=True)
        ]
    found = Shards(place, writer.kind, columns, tuple(made))
    manifest = {
        "format": _FORMAT,
        "version": _VERSION,
        "kind": found.kind,
        "columns": columns,
        "docs": found.num_docs,
        "queries": found.num_queries,
        "shards": [asdict(one) for one in made],
    }
    replaced = _listed(place)
    replace_file(place / _MANIFEST, json.dumps(manifest, indent=1) + "\n")
    for old in replaced:
        old.unlink(missing_ok=True)
    return found


def _new_names(place: Path, number: int, suffix: str) -> list[str]:
    """Return names for shards that no file of the folder has: the shards that are there stay until all are made."""
    runs = itertools.chain([""], (f".{times}" for times in itertools.count(1)))
    tried = ([f"shard-{at:05}{run}{suffix}" for at in range(number)] for run in runs)
    return next(names for names in tried if not any((place / name).exists() for name in names))


def _listed(place: Path) -> list[Path]:
    """Return the shards that the manifest of a folder lists, if it has one that can be read."""
    try:
        return Shards.load(place).paths()
    except (OSError, DataError):
        return []


def _assignment(docs: Mapping[Any, int], shards: int) -> dict[Any, int]:
    """Return the shard of each query: the largest first, each to the shard with the fewest documents."""

    def key(query: Any) -> tuple[int, bytes]:
        return -docs[query], hashlib.blake2b(repr(query).encode(), digest_size=16).digest()

    heap = [(0, at) for at in range(shards)]
    shard_of_query = {}
    for query in sorted(docs, key=key):
        held, at = heapq.heappop(heap)
        shard_of_query[query] = at
        heapq.heappush(heap, (held + docs[query], at))
    return shard_of_query


@contextmanager
def _files(place: Path, names: list[str]) -> Iterator[list[Path]]:
    """Yield temporary paths, which get their final names on success and are removed otherwise."""
    paths = [place / f".{name}.part" for name in names]
    try:
        yield paths
        for path, name in zip(paths, names, strict=True):
            path.replace(place / name)
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


class _Text:
    """Splits LETOR text, in two passes over the file."""

    kind = "letor"

    def __init__(self, path: Path, compress: bool, progress: bool | None) -> None:
        self.path, self.compress, self.progress = path, compress, progress
        self.suffix = ".txt.gz" if compress else ".txt"

    def docs_of_queries(self) -> dict[bytes, int]:
        docs: dict[bytes, int] = {}
        last = b""
        for qid, number, line in self._lines():
            if line is not None and (qid not in docs or qid == last):
                docs[qid] = docs.get(qid, 0) + 1
            elif line is not None:
                message = (
                    f"qid {qid.decode(errors='replace')!r} returns after another qid ({self.path}, "
                    f"line {number}): the docs of a query must stand together; sort the lines by qid"
                )
                raise DataError(message, code="qid.returns", path=str(self.path), line=number)
            last = qid
        return docs

    def write(self, shard_of_query: Mapping[bytes, int], paths: list[Path]) -> None:
        with ExitStack() as stack:
            files: list[Any] = [stack.enter_context(path.open("wb")) for path in paths]
            if self.compress:
                # The name and the time within a gzip file would make two of the same data differ.
                zipped = [gzip.GzipFile("", "wb", fileobj=raw, mtime=0) for raw in files]
                files = [stack.enter_context(one) for one in zipped]
            for qid, _, line in self._lines():
                if line is not None:
                    files[shard_of_query[qid]].write(line)

    def _lines(self) -> Iterator[tuple[bytes, int, bytes | None]]:
        """Yield the query, the number and the text of each line; comments have no text."""
        with ExitStack() as stack:
            stack.enter_context(errors_name(self.path))
            raw = stack.enter_context(self.path.open("rb"))
            show = stack.enter_context(progress_of_file(self.path, self.progress))
            is_gzip = raw.peek(2)[:2] == b"\x1f\x8b"
            lines: Any = gzip.GzipFile(fileobj=raw) if is_gzip else raw
            qid = b""
            for number, line in enumerate(iter(partial(lines.readline, _MOST_BYTES), b""), 1):
                if len(line) == _MOST_BYTES:
                    message = f"a line is longer than {_MOST_BYTES:,} bytes ({self.path}, line {number}); is this text?"
                    raise DataError(message, code="line.long", path=str(self.path), line=number)
                if show is not None and number % 4096 == 0:
                    show(raw.tell())
                told = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if not told.split(b"#", 1)[0].strip():
                    yield qid, number, None
                    continue
                qid = self._qid(told, number)
                yield qid, number, told if told.endswith(b"\n") else told + b"\n"

    def _qid(self, line: bytes, number: int) -> bytes:
        parts = line.split(None, 2)
        if len(parts) < 2 or not parts[1].startswith(b"qid:"):
            got = parts[1].decode(errors="replace") if len(parts) > 1 else "nothing"
            message = (
                f"expected `qid:` after the label, got {shown(got)} ({self.path}, line {number}); "
                "`rustrank inspect` reports on a whole file"
            )
            raise DataError(message, code="qid.missing", path=str(self.path), line=number)
        return parts[1].split(b"#", 1)[0].removeprefix(b"qid:")


class _Parquet:
    """Splits a Parquet file: reads the query ids first, then the rows."""

    kind = "parquet"
    suffix = ".parquet"

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self.path, self.columns = path, columns

    def docs_of_queries(self) -> dict[Any, int]:
        docs: dict[Any, int] = {}
        with opened(self.path) as file:
            require_columns(self.columns.values(), file.schema_arrow.names, self.path)
            for rows in file.iter_batches(_ROWS, columns=[self.columns["qid"]]):
                for one in rows.column(0).value_counts().to_pylist():
                    docs[one["values"]] = docs.get(one["values"], 0) + one["counts"]
        if None in docs:
            message = f"{self.path}: column {self.columns['qid']!r} has rows without a query id"
            raise DataError(message, code="qid.missing", path=str(self.path))
        return docs

    def write(self, shard_of_query: Mapping[Any, int], paths: list[Path]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with ExitStack() as stack, opened(self.path) as file:
            schema = file.schema_arrow
            files = [stack.enter_context(pq.ParquetWriter(path, schema)) for path in paths]
            for rows in file.iter_batches(_ROWS):
                table = pa.Table.from_batches([rows])
                ids = table.column(self.columns["qid"]).to_pylist()
                home = np.array([shard_of_query[one] for one in ids])
                for at in np.unique(home):
                    files[at].write_table(table.take(np.flatnonzero(home == at)))
