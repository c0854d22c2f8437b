"""The documents and rankers that commands read: LETOR text, Parquet and CSV; scores and models."""

from __future__ import annotations

import gzip
import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.parsing import reading_of
from rustrank.cli.streams import path_of
from rustrank.errors import DataError, ParamError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rustrank.inputs.queries import Queries
    from rustrank.model.booster import Booster

#: How the names of tables end; all other files are LETOR text.
_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
#: The most of a file that says whether it has scores: what a number may begin with.
_MOST = 4096


@dataclass(frozen=True, eq=False)
class Docs:
    """The documents of files, in the order of their lines."""

    files: Sequence[str]
    #: The number of documents of each file.
    counts: Sequence[int]
    #: Raw features: an array, an Arrow table, or None if nobody needs them.
    X: Any
    #: Labels; None if a table has none.
    labels: NDArray[Any] | None
    queries: Queries
    query_ids: NDArray[Any]

    @property
    def num_docs(self) -> int:
        """The number of documents."""
        return sum(self.counts)

    def score(self, booster: Booster, num_threads: int | None) -> NDArray[np.float64]:
        """Return the scores of any model; features that no line of text mentions are 0."""
        import numpy as np

        X = self.X
        if isinstance(X, np.ndarray):
            X = np.pad(X, ((0, 0), (0, max(0, booster.num_raw_features - X.shape[1]))))
        of_rows = self.queries
        known = {"qid": of_rows[0]} if isinstance(of_rows, tuple) else {"group": of_rows}
        return booster.predict(X, num_threads=num_threads, **known)

    @contextmanager
    def lines_in_errors(self) -> Iterator[None]:
        """Let errors about rows name the file and the line."""
        with lines_in_errors(self.files, self.counts):
            yield


@contextmanager
def lines_in_errors(files: Sequence[str], counts: Sequence[int] | None = None) -> Iterator[None]:
    """Let errors about rows name the line of text, or the row of the table, and its file."""
    try:
        yield
    except DataError as error:
        if error.row is not None and error.path is None:
            place = _place(files, counts, error.row)
            if place is not None:
                error.path, error.line = place
                error.args = (f"{error} ({error.path}, line {error.line})",)
        raise


def _place(files: Sequence[str], counts: Sequence[int] | None, row: int) -> tuple[str, int] | None:
    """Return the file and the line of a row, if the file can be read again."""
    if any(one.endswith(_PARQUET) or not Path(one).is_file() for one in files):
        return None
    for at, file in enumerate(files):
        if counts is not None and row >= counts[at]:
            row -= counts[at]
            continue
        found = 0
        for number, line in enumerate(_lines(file), 1):
            # Tables have a line with names; blank lines and comments of text are no documents.
            is_doc = number > 1 if file.endswith(_CSV) else not line.lstrip().startswith(b"#")
            if not line.strip() or not is_doc:
                continue
            if found == row:
                return file, number
            found += 1
        row -= found
    return None


def _lines(file: str) -> Iterator[bytes]:
    with Path(file).open("rb") as opened:
        is_packed = opened.read(2) == b"\x1f\x8b"
    with gzip.open(file) if is_packed else Path(file).open("rb") as opened:
        yield from opened


def is_table(file: str) -> bool:
    """Whether a file is Parquet or CSV, by its name."""
    return file.endswith((*_PARQUET, *_CSV))


def read_docs(files: Sequence[str], options: argparse.Namespace, *, values: bool) -> Docs:
    """Read documents, with their features where models score them."""
    tables = [file for file in files if is_table(file)]
    if tables and len(tables) < len(files):
        message = f"files: got {files[0]} and others, expected all of one kind, text or tables"
        raise ParamError(message, code="files")
    return _of_tables(files, options) if tables else _of_text(files, options, values)


def _of_text(files: Sequence[str], options: argparse.Namespace, values: bool) -> Docs:
    import numpy as np

    from rustrank.data.dataset_building import LetorOptions

    blocks, labels, sizes, ids = [], [], [], []
    for file in files:
        if values:
            read = _rustrank.read_table(path_of(file), LetorOptions(**reading_of(options)))
            blocks.append(read[0])
            rest = read[1:]
        else:
            rest = _rustrank.read_labels(path_of(file), options.threads)
        labels.append(rest[0])
        sizes.append(rest[1])
        ids += rest[2]
    X = None
    if values:
        width = max(block.shape[1] for block in blocks)
        X = np.vstack([np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in blocks])
    counts = [len(one) for one in labels]
    return Docs(files, counts, X, np.concatenate(labels), np.concatenate(sizes), np.array(ids))


def _numbered(qid: Any) -> tuple[Queries, NDArray[Any]]:
    from rustrank.inputs.queries import as_ids, group_ids

    codes, names = group_ids(as_ids(qid))
    return (codes, len(names)), names


def _of_tables(files: Sequence[str], options: argparse.Namespace) -> Docs:
    from rustrank.inputs.vectors import as_labels

    try:
        arrow = importlib.import_module("pyarrow")
        csv, parquet = (importlib.import_module(f"pyarrow.{one}") for one in ("csv", "parquet"))
    except ImportError:
        message = "Parquet and CSV need pyarrow: pip install pyarrow"
        raise ImportError(message) from None
    tables = []
    for file in files:
        try:
            table = parquet.read_table(file) if file.endswith(_PARQUET) else csv.read_csv(file)
        except arrow.ArrowInvalid as error:
            raise DataError(f"{file}: {error}", code="table", path=file) from None
        if options.qid not in table.column_names:
            columns = ", ".join(table.column_names[:8])
            message = f"--qid: {file} has no column {options.qid!r}; its first ones are {columns}"
            raise ParamError(message, code="qid")
        tables.append(table)
    whole = arrow.concat_tables(tables)
    queries, names = _numbered(whole.column(options.qid))
    labels, features = None, whole.drop_columns([options.qid])
    if options.label in features.column_names:
        labels = as_labels(features.column(options.label))
        features = features.drop_columns([options.label])
    counts = [table.num_rows for table in tables]
    return Docs(files, counts, features, labels, queries, names)


def labels_of(docs: Docs, options: argparse.Namespace) -> NDArray[Any]:
    """Return the labels; an error if a table has none, or if a query of text is in two files."""
    import numpy as np

    names, times = np.unique(docs.query_ids, return_counts=True)
    if times.max(initial=1) > 1:
        message = (
            f"qid {str(names[times > 1][0])!r} stands in two files: keep the docs of a query in one file, "
            "and let qids differ between files"
        )
        raise DataError(message, code="query.again")
    if docs.labels is None:
        message = f"--label: {docs.files[0]} has no column {options.label!r}"
        raise ParamError(message, code="label")
    return docs.labels


def has_scores(file: str) -> bool:
    """Whether a file has scores; otherwise it is a model."""
    # What is read from a pipe is gone; a file that is missing is named on reading.
    if not Path(file).is_file():
        return True
    with Path(file).open("rb") as opened:
        start = opened.read(_MOST)
    if start.startswith(b"\x1f\x8b"):
        return True
    words = start.split(maxsplit=1)
    try:
        float(words[0] if words else b"0")
    except ValueError:
        # Files of models begin with a word or a brace; a line that is no number is named on reading.
        return not start.lstrip().startswith((b"rustrank model", b"tree", b"{", b"#", b"<"))
    return True


def read_ranker(file: str, docs: Docs, options: argparse.Namespace) -> NDArray[np.float64]:
    """Return scores of documents: those of a file, or of a model."""
    from rustrank.model.booster import Booster

    if not has_scores(file):
        return docs.score(Booster.load(file), options.threads)
    scores = _rustrank.read_scores(path_of(file), options.threads)
    require_length(file, scores, docs.num_docs, ", ".join(docs.files))
    return scores


def require_length(path: str, scores: NDArray[Any], num_docs: int, data: str) -> None:
    """Raise `DataError` for a file of scores that does not have one for each document."""
    if len(scores) != num_docs:
        message = (
            f"{path} has the wrong length: got {len(scores)} scores, expected {num_docs}, "
            f"one for each doc of {data}"
        )
        raise DataError(message, code="length", path=path)
