"""The documents that commands read: LETOR text, Parquet and CSV."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.category_columns import NO_TEXTS, TextColumns, as_models_take
from rustrank.cli.file_kinds import is_csv, is_table, no_rows, require_text
from rustrank.cli.parsing import listed, passed, reading_of
from rustrank.cli.streams import path_of
from rustrank.cli.tables import (
    category_hint,
    is_row_number,
    joined,
    num_docs_of,
    numbers_of_parquet,
    place_of_row,
    read_table,
    require_column,
    require_utf8,
    text_in_column,
    warn_of_spaces,
)
from rustrank.errors import DataError, ParamError, RustrankWarning, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows
    from rustrank.inputs.queries import Queries
    from rustrank.metrics.evaluation import Judging
    from rustrank.model.booster import Booster

#: What errors about the kind of a feature begin with.
_OF_FEATURE = re.compile(r"\b(columns? .+|feature \d+): got ")


@dataclass(frozen=True, eq=False)
class Docs:
    """The documents of files, in the order of their lines."""

    files: Sequence[str]
    #: The number of documents of each file.
    counts: Sequence[int]
    #: Raw features: an array, an Arrow table, or None if nobody needs them.
    X: Any
    #: Labels; None if a table has none and nobody needs them.
    labels: Any
    queries: Queries
    query_ids: NDArray[Any]
    #: The segment of each document, of the column that --segments names.
    segments: Any = None
    #: The features together with that column, for models that have it as a feature.
    X_with_segments: Any = None
    #: The columns of CSV that were read as text.
    text_columns: Collection[str] = ()
    #: Whether the command takes categories for a model to train.
    trains: bool = False

    @property
    def num_docs(self) -> int:
        """The number of documents."""
        return sum(self.counts)

    @property
    def qid(self) -> NDArray[Any]:
        """The query id of each document."""
        from rustrank.inputs.queries import query_codes

        return self.query_ids[query_codes(self.queries)]

    @property
    def width(self) -> int:
        """The number of features of text; 0 of tables, which have names."""
        return 0 if self.X is None or hasattr(self.X, "column_names") else int(self.X.shape[1])

    def values(self, width: int = 0) -> Any:
        """Return raw features, as many as asked for: features that no line of text mentions are 0."""
        import numpy as np

        if not self.width:
            return self.X
        if self.width < width:
            beyond = str(width) if self.width == width - 1 else f"{self.width + 1} to {width}"
            files = ", ".join(self.files)
            message = f"{files}: no line has a feature {beyond}, of {width}: they count as 0"
            warnings.warn(message, RustrankWarning, stacklevel=2)
        return np.pad(self.X, ((0, 0), (0, max(0, width - self.X.shape[1]))))

    def rows(self, width: int = 0, models: Collection[Booster] = ()) -> dict[str, Any]:
        """Return features, labels and queries as functions of the package take them, perhaps with models."""
        X = self._as_models_take(self.values(width), models)
        return {"X": X, "y": self.labels, "qid": self.qid}

    def _as_models_take(self, X: Any, models: Collection[Booster]) -> Any:
        """Return features of the kinds that models have them; text has numbers alone."""
        if not models or not hasattr(X, "column_names"):
            return X
        with lines_in_errors(self.files, self.counts):
            return as_models_take(X, self.text_columns, models)

    def score(self, file: str, booster: Booster, num_threads: int | None) -> NDArray[np.float64]:
        """Return the scores of a model of any kind, read from a file."""
        of_rows = self.queries
        known = {"qid": of_rows[0]} if isinstance(of_rows, tuple) else {"group": of_rows}
        column = self._segment_column()
        is_feature = column is not None and column in booster.feature_names
        X = self.X_with_segments if is_feature else self.values(booster.num_raw_features)
        X = self._as_models_take(X, [booster])
        with self.places_in_errors(f"{file}: "):
            return booster.predict(X, num_threads=num_threads, **known)

    def _segment_column(self) -> str | None:
        """Return the name of the column of segments."""
        if self.X_with_segments is None:
            return None
        (name,) = set(self.X_with_segments.column_names) - set(self.X.column_names)
        return str(name)

    def raw_rows(self, judging: Judging, width: int = 0, *, takes_texts: bool = False) -> RawRows:
        """Return features, labels and queries, checked, so that errors name the file and the line."""
        from rustrank.data.raw_rows import as_raw_rows

        self.check_labels(judging)
        with self.places_in_errors():
            files = ", ".join(self.files)
            return as_raw_rows(self.rows(width), files, takes_texts=takes_texts)

    def check_labels(self, judging: Judging) -> None:
        """Raise `DataError` for a label that has no gain, before only some of the rows are looked at."""
        import numpy as np

        from rustrank.metrics.evaluation import judge

        with self.places_in_errors():
            queries = self.queries, self.query_ids
            judge(np.zeros(self.num_docs), self.labels, queries, judging, None)

    @contextmanager
    def places_in_errors(self, before: str = "") -> Iterator[None]:
        """Let errors about documents name the file and the line, and text in columns, too."""
        with self.places_of_text_in_errors(), lines_in_errors(self.files, self.counts, before):
            yield

    @contextmanager
    def places_of_text_in_errors(self) -> Iterator[None]:
        """Let errors about what columns hold name the file, and the line where text stands for a number."""
        try:
            yield
        except TypeError as error:
            found = self._text_of(error) or self._other_kind_of(error)
            if found is None:
                raise
            raise found from error

    def _text_of(self, error: TypeError) -> DataError | None:
        """Return the error of the column of a table that has text instead of numbers."""
        if not hasattr(self.X, "column_names") or "got numbers" in str(error):
            return None
        from rustrank.inputs.column_kinds import kind_of

        columns = [name for name in self.X.column_names if repr(name) in str(error)]
        of_text = [one for one in columns if kind_of(self.X.column(one)) == "text"]
        hint = category_hint(of_text, self.trains)
        for name in columns:
            start = 0
            for file, count in zip(self.files, self.counts, strict=True):
                column = self.X.column(name).slice(start, count)
                found = text_in_column(file, name, column, hint)
                if found is not None:
                    return found
                start += count
        return None

    def _other_kind_of(self, error: TypeError) -> DataError | None:
        """Return the error of a feature that has another kind than a model or a training set expects."""
        if not _OF_FEATURE.search(str(error)):
            return None
        message = f"{error} ({', '.join(self.files)})"
        return DataError(message, code="features.kind", path=self.files[0])


@contextmanager
def lines_in_errors(
    files: Sequence[str], counts: Sequence[int] | None = None, before: str = ""
) -> Iterator[None]:
    """Let errors about data name the file, and the line or the row of the table where one is at fault.

    Parameters
    ----------
    files
        The files that were read, one after the other.
    counts
        The number of documents of each; by default they are read again.
    before
        What messages begin with.
    """
    try:
        yield
    except DataError as error:
        if error.path is None:
            place, error.path, error.line = _place(files, counts, error.row)
            error.args = (f"{before}{error} ({place})",)
        raise


def _place(
    files: Sequence[str], counts: Sequence[int] | None, row: int | None
) -> tuple[str, str, int | None]:
    """Return where a row stands, as text, its file and its line, as far as files can be read again."""
    can_read = all(Path(file).is_file() for file in files)
    if row is None or not can_read:
        return ", ".join(files), files[0], None
    for at, file in enumerate(files):
        count = num_docs_of(file) if counts is None else counts[at]
        if row < count:
            place, line = place_of_row(file, row)
            return place, file, line
        row -= count
    return ", ".join(files), files[0], None


def checked_judging(
    metrics: str | Sequence[str], options: argparse.Namespace, names: Sequence[str]
) -> Judging:
    """Return metrics with the options of these names; wrong ones are an error before any file is read."""
    import numpy as np

    from rustrank.metrics.evaluation import Judging, judge

    judging = Judging(metrics, **{"gain": "exp2", **passed(options, *names)})
    nothing = np.zeros(1, np.float32), (np.ones(1, np.int64), np.zeros(1, np.int64))
    judge(np.zeros(1), *nothing, judging, None)
    return judging


def categorical_of(options: argparse.Namespace) -> list[str | int] | None:
    """Return the categorical features: names, and numbers where the data are text, which has no names."""
    if options.categorical is None:
        return None
    given = listed(options.categorical)
    if is_table(options.data):
        return list(given)
    return [int(one) if one.isdecimal() else one for one in given]


def data_files(data: str, options: argparse.Namespace) -> list[str]:
    """Return a file of data and those of --more-data."""
    return [data, *(options.more_data or ())]


def read_docs(
    files: Sequence[str],
    options: argparse.Namespace,
    *,
    values: bool,
    labelled: bool | None = True,
    texts: TextColumns = NO_TEXTS,
) -> Docs:
    """Read documents of one or more files, as all commands do.

    Parameters
    ----------
    files
        LETOR text, or tables.
    options
        The options of the command: the names of columns, and how text is read.
    values
        Whether features are needed.
    labelled
        Whether labels are needed; queries with the same id in two files are an error then. None if labels of
        tables are not even read.
    texts
        The features that CSV is read for as text.
    """
    tables = [file for file in files if is_table(file)]
    if tables and len(tables) < len(files):
        message = f"files: got {', '.join(files)}, expected all of one kind, text or tables"
        raise ParamError(message, code="files")
    if _segments(options) is not None and not tables:
        message = f"--segments: {files[0]} has no columns: expected Parquet or CSV"
        raise ParamError(message, code="segments")
    docs = (
        _of_tables(files, options, texts, labelled) if tables else _of_text(files, options, values)
    )
    if labelled:
        _require_labels(docs, options)
        if tables and values and not docs.X.column_names:
            message = f"{files[0]} has no column that is a feature, beside query ids and labels"
            raise DataError(message, code="features", path=files[0])
    return docs


def _of_text(files: Sequence[str], options: argparse.Namespace, values: bool) -> Docs:
    import numpy as np

    from rustrank.data.dataset_building import LetorOptions

    blocks, labels, sizes, ids = [], [], [], []
    for file in files:
        require_text(file)
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


def _of_tables(
    files: Sequence[str], options: argparse.Namespace, texts: TextColumns, labelled: bool | None
) -> Docs:
    import numpy as np

    labels, codes, ids = [], [], []
    tables, num_queries = [], 0
    segments, trains = _segments(options), hasattr(options, "categorical")
    no_features = _no_features(options)
    as_text: set[str] = set()
    texts = texts._replace(numbers=texts.numbers | numbers_of_parquet(files))
    for file in files:
        table, found = _table(file, options, texts)
        as_text.update(found)
        if not table.num_rows:
            raise no_rows(file)
        of_rows, of_file = _numbered(file, table.column(options.qid), options.qid)
        # Queries of two files are not one query, as of text.
        codes.append(of_rows + num_queries)
        ids.append(of_file)
        num_queries += len(of_file)
        if labelled is not None and options.label in table.column_names:
            labels.append(_labels(file, table.column(options.label), options.label))
        tables.append(table)
    # By what queries are grouped may be a feature, too; --ignore and other roles exclude it.
    whole = joined(files, tables, no_features - {segments}, trains=trains)
    of_segments = None if segments is None else whole.column(segments)
    with_segments = whole.drop_columns([one for one in whole.column_names if one in no_features])
    features = with_segments
    if segments in features.column_names:
        features = features.drop_columns([segments])
    queries = np.concatenate(codes).astype(np.uint32), num_queries
    return Docs(
        files,
        [table.num_rows for table in tables],
        features,
        np.concatenate(labels) if labels else None,
        queries,
        np.concatenate(ids),
        of_segments,
        None if features is with_segments else with_segments,
        as_text,
        trains,
    )


def _segments(options: argparse.Namespace) -> str | None:
    segments: str | None = getattr(options, "segments", None)
    return segments


def _no_features(options: argparse.Namespace) -> set[str]:
    """Return the names of columns that are not features."""
    return {options.qid, options.label, *listed(options.ignore or ())}


def _table(
    file: str, options: argparse.Namespace, texts: TextColumns
) -> tuple[Any, Collection[str]]:
    """Return a table, and the columns of CSV that are text: ids, segments and some categories."""
    ignored, segments = listed(options.ignore or ()), _segments(options)
    no_features = _no_features(options)

    def as_text(names: Sequence[str]) -> set[str]:
        features = [one for one in names if one not in no_features and not is_row_number(one)]
        # Features without names are numbered without the segments.
        found = texts.among([one for one in features if one != segments])
        roles = {options.qid} if segments is None else {options.qid, segments}
        return {*roles, *found} - {options.label}

    table = read_table(file, as_text)
    require_column(file, table.column_names, "--qid", options.qid)
    for name in ignored:
        require_column(file, table.column_names, "--ignore", name)
    if segments is not None:
        require_column(file, table.column_names, "--segments", segments)
    if not is_csv(file):
        return table, ()
    require_utf8(file, table, [one for one in table.column_names if one not in ignored])
    of_text = as_text(table.column_names)
    warn_of_spaces(file, table, of_text)
    return table, of_text


def _numbered(file: str, column: Any, name: str) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the number of each row's query in its file, and the ids."""
    from rustrank.inputs.queries import as_ids, group_ids

    try:
        with lines_in_errors([file]):
            return group_ids(as_ids(column))
    except TypeError:
        message = f"{file}: column {shown(name)}: got {column.type}, expected query ids"
        raise DataError(message, code="qid", path=file, feature=name) from None


def _labels(file: str, column: Any, name: str) -> NDArray[Any]:
    from rustrank.inputs.vectors import as_labels, first_true

    try:
        with lines_in_errors([file]):
            labels = as_labels(column)
            row = first_true(~(labels >= 0))
            if row is not None:
                shown = "missing" if labels[row] != labels[row] else f"{labels[row]:g}"
                message = f"label[{row}] is {shown}: expected a finite number from 0 to 2^24"
                raise DataError(message, code="label", row=row)
            return labels
    except TypeError as error:
        found = text_in_column(file, name, column, "")
        if found is None:
            message = (
                f"{file}: column {name!r}: got {column.type}, expected labels, which are numbers"
            )
            found = DataError(message, code="label", path=file)
        raise found from error


def _require_labels(docs: Docs, options: argparse.Namespace) -> None:
    """Raise an error if a table has no labels, or if a query is in two files."""
    import numpy as np

    names, times = np.unique(docs.query_ids.astype(str), return_counts=True)
    if times.max(initial=1) > 1:
        message = (
            f"qid {str(names[times > 1][0])!r} stands in two files: keep the docs of a query in one file, "
            "and let qids differ between files"
        )
        raise DataError(message, code="query.again", path=docs.files[0])
    if docs.labels is None:
        columns = [options.qid, *docs.X.column_names]
        require_column(docs.files[0], columns, "--label", options.label)
