"""Documents with raw features: for what divides or changes them before they are binned."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import raw_names
from rustrank.errors import ParamKindError, shown
from rustrank.inputs.categories import Listed, categories_again, categories_numbered
from rustrank.inputs.column_kinds import kind_of_values
from rustrank.inputs.docs import DocArguments, Docs, read_docs
from rustrank.inputs.queries import as_queries, query_codes, warn_of_single_docs
from rustrank.inputs.tables import columns_of
from rustrank.inputs.vectors import as_labels, check_length
from rustrank.metrics.evaluation import Evaluation, Judging, judge

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from rustrank.inputs.tables import Table
    from rustrank.model.booster import Booster

#: Odd numbers that spread bits: products with them, summed without carry, are hashes.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class RawRows:
    """Documents with raw features, labels and queries, checked.

    A `Dataset` keeps only bins: what takes rows out, adds features or looks at values needs these.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    #: The number of the query of each row, from 0 in order of first appearance.
    query: NDArray[np.int64]
    query_ids: NDArray[Any]
    names: list[str] | None
    #: The lists of features that hold categories, which `X` has the numbers of.
    listed: dict[int, Listed] = field(default_factory=dict)

    @property
    def num_queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    @property
    def queries(self) -> tuple[tuple[NDArray[np.uint32], int], NDArray[Any]]:
        """The queries as `judge` takes them."""
        return (self.query.astype(np.uint32), self.num_queries), self.query_ids

    def evaluate(
        self,
        scores: NDArray[np.float64],
        judging: Judging,
        query_weight: NDArray[np.float64] | None = None,
    ) -> Evaluation:
        """Return the metrics of some scores of these documents."""
        return judge(scores, self.y, self.queries, judging, query_weight)

    def features(self, what: str) -> tuple[int, list[str] | None, str]:
        """Return what further sets are matched to: the number and names of features, and what has them."""
        return self.X.shape[1], self.names, what

    def take(self, rows: NDArray[Any]) -> RawRows:
        """Return some rows, with the queries that they are in."""
        kept, query = np.unique(self.query[rows], return_inverse=True)
        ids = self.query_ids[kept]
        return RawRows(self.X[rows], self.y[rows], query, ids, self.names, self.listed)

    def of_queries(self, queries: NDArray[Any]) -> RawRows:
        """Return the rows of some queries, by number."""
        return self.take(np.flatnonzero(np.isin(self.query, queries)))

    def joined(self, more: RawRows) -> RawRows:
        """Return these rows and more rows, whose queries count as others even if ids are equal."""
        ids = np.arange(self.num_queries + more.num_queries)
        query = np.concatenate([self.query, more.query + self.num_queries])
        X, y = np.concatenate([self.X, more.X]), np.concatenate([self.y, more.y])
        return RawRows(X, y, query, ids, self.names)

    def dataset(self, **options: Any) -> Dataset:
        """Return the rows binned."""
        X = self.table() if self.listed else self.X
        return Dataset(X, self.y, qid=self.query, feature_names=self.names, **options)

    def table(self) -> Any:
        """Return the features: a mapping from names to columns where they have names."""
        if self.names is None and not self.listed:
            return self.X
        columns: list[Any] = list(self.X.T)
        for feature, listed in self.listed.items():
            columns[feature] = categories_again(columns[feature], listed)
        if self.names is None:
            return np.column_stack([column.astype(object) for column in columns])
        return dict(zip(self.names, columns, strict=True))

    def features_for(self, model: Booster) -> Any:
        """Return the features for a model, by name where the model has other names, or another order."""
        theirs = raw_names(model)
        return self.X if None in (theirs, self.names) or theirs == self.names else self.table()

    def has_pairs(self) -> NDArray[np.bool_]:
        """Return for each query whether it has two different labels."""
        low, high = label_ends(self.y, self.query, self.num_queries)
        return low < high

    def query_hashes(self) -> NDArray[np.uint64]:
        """Return a hash of each query's rows, which does not depend on their order."""
        hashes = np.zeros(self.num_queries, np.uint64)
        np.add.at(hashes, self.query, self.row_hashes())
        return hashes

    def row_hashes(self) -> NDArray[np.uint64]:
        """Return a hash of each row: of its label and its features."""
        cells = np.ascontiguousarray(self.X + np.float32(0)).view(np.uint32).astype(np.uint64)
        hashed = spread_bits(self.y.view(np.uint32).astype(np.uint64))
        for feature in range(cells.shape[1]):
            hashed = spread_bits(hashed ^ cells[:, feature])
        return hashed

    def checksum(self) -> str:
        """Return a checksum of all documents, whatever their order and the ids of their queries."""
        whole = hashlib.sha256(np.sort(self.query_hashes()).tobytes())
        whole.update(str(self.names).encode())
        if self.listed:
            whole.update(str(self.listed).encode())
        return whole.hexdigest()

    def halves(self, seed: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return two folds of rows (fit, judge); one fold of all rows where a half has no queries."""
        second, first = self.rows_of_folds(self.folds(2, seed), 2)
        every = np.arange(len(self.y))
        return [first, second] if all(map(len, first)) else [(every, every)]

    def folds(self, count: int, seed: int) -> NDArray[np.intp]:
        """Return the fold of each query: `split_queries` into equal parts."""
        folds = np.empty(self.num_queries, np.intp)
        for fold, queries in enumerate(self.split_queries([1.0] * count, seed)):
            folds[queries] = fold
        return folds

    def rows_of_folds(
        self, folds: NDArray[np.intp], count: int
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows outside and the rows inside each fold of queries."""
        fold_of_row = folds[self.query]
        for fold in range(count):
            yield np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)

    def split(self, shares: list[float], seed: int) -> list[RawRows]:
        """Split the rows by queries, as `split_queries` does."""
        return [self.of_queries(queries) for queries in self.split_queries(shares, seed)]

    def split_queries(self, shares: list[float], seed: int) -> list[NDArray[Any]]:
        """Split the queries at random in proportion to the shares; returns their numbers.

        Where a query goes depends on the seed and on its rows, not on their order or its id. Queries with
        two different labels, from which something can be learned, are split apart from the others.
        """
        drawn = spread_bits(self.query_hashes() ^ spread_bits(np.full(1, seed, np.uint64)))
        has_pairs = self.has_pairs()
        parts: list[list[NDArray[Any]]] = [[] for _ in shares]
        for some in (np.flatnonzero(has_pairs), np.flatnonzero(~has_pairs)):
            shuffled = some[np.argsort(drawn[some], kind="stable")]
            ends = np.rint(np.cumsum(shares) / sum(shares) * len(shuffled)).astype(int)
            for part, queries in zip(parts, np.split(shuffled, ends[:-1]), strict=True):
                part.append(queries)
        return [np.concatenate(part) for part in parts]


def label_ends(
    labels: NDArray[np.float32], query: NDArray[np.int64], num_queries: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the lowest and the highest label of each query; infinities without documents."""
    low = np.full(num_queries, np.inf, np.float32)
    high = np.full(num_queries, -np.inf, np.float32)
    np.minimum.at(low, query, labels)
    np.maximum.at(high, query, labels)
    return low, high


def spread_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes of numbers: the last steps of SplitMix64."""
    bits = numbers * _SPREAD + _SPREAD
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)), np.uint64)


def as_raw_rows(
    given: Any,
    name: str,
    arguments: DocArguments | None = None,
    like: tuple[int, Sequence[str] | None, str] | None = None,
    *,
    is_further: bool = False,
    takes_texts: bool = False,
) -> RawRows:
    """Read documents that an argument of this name gives, as `read_docs` does.

    Rows that were read before are returned as they are. With ``like``, the number and the names of the
    features of another thing and what that is called, named columns are matched to its features. Features
    may hold texts and categories if ``takes_texts``: they are numbered for what looks at values, and
    `RawRows.table` has them again.
    """
    if isinstance(given, RawRows):
        return given
    docs = read_docs(given, name, arguments, is_further=is_further)
    rows = docs_to_rows(docs, name, like, takes_texts=takes_texts)
    if arguments is not None and not is_further:
        # The documents that a caller gave; others are parts of these.
        warn_of_single_docs(np.bincount(rows.query), docs.queries_are)
    return rows


def docs_to_rows(
    docs: Docs,
    name: str,
    like: tuple[int, Sequence[str] | None, str] | None = None,
    *,
    takes_texts: bool = False,
) -> RawRows:
    """Return documents that were read as numbers."""
    raw = docs.table if like is None else columns_of(docs.table, like[:2], name, like[2])
    table, listed = categories_numbered(raw)
    if listed and not takes_texts:
        feature = next(iter(listed))
        label = table.names[feature] if table.names else feature
        message = (
            f"{name}: feature {shown(label)} holds categories, expected numbers: number its categories from 0, and "
            f"declare them by the ranker's categorical=[{shown(label)}]"
        )
        raise ParamKindError(message, code="categorical")
    X = np.empty((table.num_rows, table.num_features), np.float32)
    start = 0
    with _texts_in_errors(raw, listed):
        for block in table.blocks():
            rows = np.stack(block, axis=1) if isinstance(block, list) else block
            # A value counts as the nearest float32, as in a dataset.
            with np.errstate(over="ignore"):
                X[start : start + len(rows)] = rows
            start += len(rows)
    docs.require_queries(name)
    y = as_labels(docs.y)
    check_length(f"y of {name}", len(y), len(X), "rows")
    queries, ids = as_queries(docs.qid, docs.group, len(X))
    codes = query_codes(queries)
    check_length(f"group of {name}", len(codes), len(X), "rows")
    return RawRows(X, y, codes.astype(np.int64), ids, table.names, listed)


@contextmanager
def _texts_in_errors(table: Table, listed: Collection[int]) -> Iterator[None]:
    """Let the error of columns of dates name those of text, too, which are numbered already."""
    try:
        yield
    except ParamKindError as error:
        names = table.names
        texts = [at for at in listed if kind_of_values(table.column(at)) == "text"]
        if names is not None and texts and error.code in ("dates", "durations"):
            called = ", ".join(shown(names[at]) for at in texts)
            columns, them = ("column", "it") if len(texts) == 1 else ("columns", "them")
            error.args = (
                f"{error}; {columns} {called}: got text, which a ranker reads only where its "
                f"categorical=[{called}] declares {them}",
            )
        raise
