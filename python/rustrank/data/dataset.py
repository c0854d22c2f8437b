"""`Dataset`: binned features with labels and queries, which models are trained and evaluated on."""

from __future__ import annotations

import math
import operator
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from rustrank import _rustrank
from rustrank.data import dataset_building as building
from rustrank.data.batches import Batches, Columns, ParquetFiles, paths_of
from rustrank.data.ranked import ranks_of_base
from rustrank.errors import DataError, ParamError, UnknownNameError, shown, warn_caller, wrong_kind
from rustrank.formatting import count, html_facts, size, some
from rustrank.inputs.categories import Categories, as_shown, categories_of, encoded, numbered_like
from rustrank.inputs.docs import EXPECTED, DocArguments, has_parts, is_dataset, is_table, read_docs
from rustrank.inputs.keywords import OF_DATASET, refuses_unknown
from rustrank.inputs.queries import numbers_if_all, query_ids_in_errors, query_weight_of_rows
from rustrank.inputs.scalars import as_augment, whole
from rustrank.inputs.tables import as_names, as_table, check_different, columns_of, named_columns
from rustrank.inputs.vectors import check_length
from rustrank.progress import progress_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from rustrank.data.batches import Batch
    from rustrank.model.booster import Booster

__all__ = ["Augmented", "Dataset"]

#: The code of the warning of constant features.
CONSTANT = "features.constant"


class Augmented(NamedTuple):
    """The rows of an augmented set: all queries, and copies of them with some of their documents.

    Attributes
    ----------
    rows : array
        Row numbers, those of the original queries first.
    qid : array
        The number of the query or copy of each row, from 0.
    query_ids : array
        The id of the original query of each query or copy; folds must keep equal ids together.
    """

    rows: NDArray[np.int64]
    qid: NDArray[np.int64]
    query_ids: NDArray[Any]


class Dataset:
    """Documents with binned features, labels and queries: checked on construction, and immutable.

    Features are binned, at most one byte each; ``X`` is not kept, except values of small data (up to 2**24,
    four bytes each) where ``query_ranks`` is not given. Values are rounded to ``float32``. The
    result does not depend on the order of rows or queries, nor on the number of threads.

    Parameters
    ----------
    X : array-like of shape (num_docs, num_features)
        A numpy array, pandas or polars DataFrame, Arrow table, scipy sparse matrix, lists, or a
        mapping from names to columns. Arrays of ``float32`` and ``float64`` in C or Fortran order
        are read without a copy.
    y : array-like of shape (num_docs,), or str
        Labels: finite numbers from 0. A text names a column of ``X``, which is then not a feature; so it
        does for ``qid``, ``row_weight``, ``base_score`` and ``position``.
    qid : array-like of shape (num_docs,), or str, optional
        The query of each row: ids of any type, in any order.
    group : array-like of shape (num_queries,), optional
        Instead of ``qid``: the number of rows of each query, in row order.
    query_weight : array-like or mapping, optional
        A weight for each query, in order of first appearance, or by id: a mapping, or a pandas
        Series with an index of its own. Or the name of a column of ``X``, the same in all rows of a query.
    row_weight : array-like of shape (num_docs,), optional
        A factor for the gradients of each document.
    base_score : array-like of shape (num_docs,), optional
        Scores that training starts from.
    position : array-like of shape (num_docs,), optional
        For labels that are clicks: the position at which each document was shown, from 1. Training then
        learns the position bias together with the ranker, whose scores do not contain it;
        `Booster.position_bias` returns it. Use judged labels in validation sets, since metrics do not
        correct for positions.
    extra_labels : mapping, str or sequence of str, optional
        Further labels of the rows by name, such as ``{"revenue": amounts}``: numbers from 0, or columns of
        ``X``. Training maximises several metrics at once with ``metric={"ndcg@10": 1, "revenue@10": 0.2}``,
        and keeps some from falling with ``guard``; ``Booster.evaluate`` has them, too.
    base : Booster, optional
        A booster to continue training from: its scores of ``X`` are the base scores, and
        `rustrank.train` adds trees to it. By default that of ``like``.
    feature_names : sequence of str, optional
        Names; taken from the columns of a frame by default.
    like : Dataset or Booster, optional
        A training set whose bins this one shares, for validation and test sets; or a booster that will
        score the documents. Named columns are matched to its features, and others are left out.
    query_ranks : bool, optional
        Whether to add the rank of each value within its query as a feature: the place from the smallest
        value, minus a half, over the number of documents with a value; ties share their mean place. Ranks
        follow all features, as ``rank(NAME)``. A booster trained on them computes them itself and needs
        the queries: ``booster.predict(X, qid=...)``. By default as in ``base`` or ``like``, else `rustrank.train`
        adds them to small data where it chooses the settings; False keeps it from that. Building the dataset
        needs 4 more bytes for each value.
    max_bins : int, optional
        The most bins a feature may have, besides the one for missing values: 2 to 255, by default
        255. Not together with ``like``.
    sample_rows : int, optional
        The most distinct rows to choose bins from, by default 65,536. Not together with ``like``.
    missing : float, optional
        A value that counts as missing, besides NaN; by default that of ``like`` or ``base``, which for others
        is none. A model that is trained on the dataset knows it, and reads it so when it scores.
    infinite : {"error", "missing"}, default "error"
        How to treat infinite values.
    num_threads : int, optional
        Threads to use; all cores by default.
    categorical : sequence of str or int, optional
        The categorical features, by name or number. Categories are whole numbers from 0, or texts, whose
        encoding is part of the model. Columns with a categorical type in pandas, polars or Arrow are
        included. A split tests for a subset of the categories. The 254 most frequent categories have bins
        of their own; all others, including new ones, share one. Missing values stay missing. Not together
        with ``like``.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=20, seed=0)
    >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
    >>> train.num_queries
    20

    With ranks within queries:

    >>> ranked = rr.Dataset(data.X, data.y, qid=data.qid, query_ranks=True)
    >>> ranked.num_features == 2 * train.num_features
    True
    >>> rr.train(ranked, num_trees=5).predict(data.X, qid=data.qid).shape == data.y.shape
    True
    """

    _core: _rustrank.Dataset
    _names: list[str] | None
    _query_ids: NDArray[Any]
    #: The booster whose scores are the base scores.
    _base: Booster | None

    #: Whether its bins are those between the splits of a booster.
    _has_bins_of_booster = False
    #: The value that counts as missing, besides NaN; NaN if there is none.
    _missing = math.nan
    #: The dataset with ranks within queries, once a training has added them.
    _ranked: Dataset | None = None

    @refuses_unknown(OF_DATASET)
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        row_weight: Any = None,
        base_score: Any = None,
        position: Any = None,
        extra_labels: Mapping[str, Any] | Sequence[str] | str | None = None,
        base: Booster | None = None,
        feature_names: Sequence[str] | None = None,
        like: Dataset | Booster | None = None,
        query_ranks: bool | None = None,
        max_bins: int | None = None,
        sample_rows: int | None = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
        categorical: Sequence[str | int] | None = None,
    ) -> None:
        own = {"y": y, "qid": qid, "row_weight": row_weight, "base_score": base_score}
        X, extra = building.named_labels(X, extra_labels)
        weight = query_weight if isinstance(query_weight, str) else None
        X, own = named_columns(X, {**own, "position": position, "query_weight": weight})
        y, qid, row_weight, base_score, position, weight = own.values()
        if weight is not None:
            query_weight = query_weight_of_rows(weight, qid, group)
        missing = building.missing_of(missing, like, base)
        reading = building.ReadOptions(missing, infinite, num_threads)
        is_given = base is not None
        base = building.base_of(base, like, has_scores=base_score is not None)
        if is_given:
            like, query_ranks = ranks_of_base(base, like, query_ranks)
        if base is not None:
            ids, sizes = (qid, group) if base._core.needs_queries else (None, None)
            base_score = base.predict(
                X, qid=ids, group=sizes, missing=missing, infinite=infinite, num_threads=num_threads
            )
        given = as_names(feature_names)
        table = building.columns_like(as_table(X), like, given)
        names = building.checked_names(given, table)
        table, categories = encoded(
            table, categorical, building.known_categories(like), names, reading.missing
        )
        bins = building.bins_of(like, names, max_bins, sample_rows, query_ranks, categories)
        rows = building.Rows(
            table.num_rows, y, qid, group, query_weight, row_weight, base_score, position, extra
        )
        core = building.binned_dataset(table, rows, bins, reading)
        if like is None and given is None:
            building.warn_of_query_column(names, "group" if qid is None else "qid")
        self._finish(core, names, rows.query_ids, like, base)
        self._missing = missing

    def _finish(
        self,
        core: _rustrank.Dataset,
        names: list[str] | None,
        query_ids: NDArray[Any],
        like: Dataset | Booster | None = None,
        base: Booster | None = None,
        *,
        warns: bool = True,
    ) -> Dataset:
        """Keep what a constructor has made, and warn of features that cannot be used."""
        names = names or (None if like is None else like._names)
        if names and len(names) < core.num_features:
            names = building.with_ranks(names)
            check_different(names)
        self._core, self._names, self._query_ids, self._base = core, names or None, query_ids, base
        building.check_base_names(base, building.raw_names(self))
        self._has_bins_of_booster = building.is_booster(like)
        if warns and like is None:
            # Categories have no ranks, which is no fault of the data.
            half = core.num_features // 2 if self.query_ranks else core.num_features
            no_ranks = {half + feature for feature in self.categorical}
            constant = [one for one in self.unused_features if one not in no_ranks]
            _warn_of_constant(self.feature_names, constant)
        return self

    @classmethod
    def from_letor(
        cls,
        path: str | PathLike[str] | Sequence[str | PathLike[str]],
        *,
        base: Booster | None = None,
        feature_names: Sequence[str] | None = None,
        like: Dataset | Booster | None = None,
        query_ranks: bool | None = None,
        max_bins: int | None = None,
        sample_rows: int | None = None,
        missing: float | None = None,
        infinite: str = "error",
        max_features: int = 1 << 20,
        zero_based: bool = False,
        buffer_bytes: int | None = None,
        num_threads: int | None = None,
        progress: bool | None = None,
        categorical: Sequence[str | int] | None = None,
    ) -> Dataset:
        """Read LETOR or SVMlight text: ``label qid:Q 1:v 2:v ... # comment``, plain or gzip.

        Parameters
        ----------
        path : path-like, or a sequence of them
            The file, or several that are read as one, such as shards. The lines of a query must be
            adjacent, in one file.
        max_features : int, default 2**20
            The highest feature number that is accepted; a larger one is an error.
        zero_based : bool, default False
            Whether the first feature is 0 and not 1.
        buffer_bytes : int, optional
            The most bytes of parsed values to keep until the bins are chosen, by default 2**30; a longer
            text is read twice instead. Not together with ``like``. All are kept with ``query_ranks``, and
            with a ``base`` whose scores depend on the other documents of the query.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal, when it takes a second.
        base, feature_names, like, query_ranks, max_bins, sample_rows, missing, infinite, num_threads,
        categorical
            As for `Dataset`. Categories must be numbers, and features are numbered from 0. Features
            missing from a line are 0; so are the last features of ``base`` and ``like`` if no line has them.
        """
        missing = building.missing_of(missing, like, base)
        reading = building.ReadOptions(missing, infinite, num_threads)
        names = as_names(feature_names)
        text = building.LetorOptions(max_features, zero_based, buffer_bytes=buffer_bytes)
        is_given = base is not None
        base = building.base_of_text(base, like, text)
        if is_given:
            like, query_ranks = ranks_of_base(base, like, query_ranks)
        known = building.known_categories(like)
        if known is not None and known.lists:
            message = (
                "like: it has texts or columns of a categorical type, and LETOR text holds numbers"
            )
            raise ParamError(message, code="like")
        more: dict[str, Any] = {"buffer_bytes": buffer_bytes, "categorical": categorical}
        bins = building.bins_of(like, names, max_bins, sample_rows, query_ranks, **more)
        with progress_of_file(files := paths_of(path), progress) as text.progress:
            core, ids = _rustrank.Dataset.from_letor(files, text, bins, reading)
        if names:
            num_raw = core.num_features // (2 if core.binning.query_ranks else 1)
            check_length("feature_names", len(names), num_raw, "features")
        base = base if core.has_base_scores else None
        made = cls.__new__(cls)._finish(core, names, numbers_if_all(ids), like, base)
        made._missing = missing
        return made

    @classmethod
    def from_batches(
        cls,
        batches: Callable[[], Iterable[Batch]] | Iterable[Batch],
        *,
        query_weight: Any = None,
        extra_labels: Mapping[str, str] | Sequence[str] | str | None = None,
        base: Booster | None = None,
        feature_names: Sequence[str] | None = None,
        like: Dataset | Booster | None = None,
        max_bins: int | None = None,
        sample_rows: int | None = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
        categorical: Sequence[str | int] | None = None,
    ) -> Dataset:
        """Build a dataset from batches, for features that do not fit into memory at once.

        Parameters
        ----------
        batches : callable or iterable
            A function that returns a new iterator over batches, or an object that can be iterated over
            twice, since bins are chosen in a first pass (not with ``like``). A batch is a mapping with
            ``X``, ``y``, ``qid`` and optionally ``row_weight`` and ``base_score``, or a tuple
            ``(X, y, qid)``. A query may continue in a later batch. Named columns are matched by name to
            those of the first batch. Ranks within queries are not available, nor is a ``base`` whose scores
            depend on the other documents of the query.
        extra_labels : str, sequence of str or mapping of str, optional
            Columns of ``X`` that are further labels, as for `Dataset`.
        query_weight, base, feature_names, like, max_bins, sample_rows, missing, infinite, num_threads,
        categorical
            As for `Dataset`. Where categories are texts, the batches are read three times.
        """
        source = Batches(batches, extra_labels)
        missing = building.missing_of(missing, like, base)
        reading = building.ReadOptions(missing, infinite, num_threads)
        given = as_names(feature_names)
        # Names of features are known once a batch was read.
        declared: dict[str, Any] = {} if like is None else {"categorical": categorical}
        bins = building.bins_of(like, given, max_bins, sample_rows, **declared)
        known, content = building.known_categories(like) or Categories([]), None
        if isinstance(bins, tuple):
            known, unread = categories_of(source.tables(), categorical, given, reading.missing)
            bins = *bins[:3], known.features, known.lists
            parts = source.tables() if unread is None else unread
            code = partial(numbered_like, known=known, missing=reading.missing)
            bins, content = building.sampled(map(code, parts), bins, reading)
        builder = _rustrank.Builder(bins, source.num_rows, reading)
        columns, scores = Columns(), []
        given_base, base, names = base, None, None
        for batch, read in source.read():
            raw = building.columns_like(read, like, given, f"batch {columns.num_batches}")
            table = numbered_like(raw, known, reading.missing)
            if not columns.num_batches:
                names = building.checked_names(given, table)
                building.check_names_like(names, like)
                has_scores = batch.get("base_score") is not None
                base = building.base_of_batches(given_base, like, bins, has_scores=has_scores)
            columns.add(batch, table.num_rows)
            for block in table.blocks():
                builder.push(block)
            if base is not None:
                scores += building.scores_of(base, raw, reading)
        if content not in (None, builder.content):
            message = (
                "the batches are read twice and were not the same: got other values in X than in "
                "the first pass"
            )
            raise DataError(message, code="batch")
        rows = building.Rows(
            source.num_rows,
            columns.joined("y"),
            columns.joined("qid"),
            None,
            query_weight,
            columns.joined("row_weight"),
            columns.joined("base_score") if base is None else np.concatenate(scores),
            extra_labels=columns.extra_labels(),
        )
        with query_ids_in_errors(rows.query_ids):
            core = builder.finish(rows)
        made = cls.__new__(cls)._finish(core, names, rows.query_ids, like, base)
        made._missing = missing
        return made

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        *,
        label: str = "label",
        qid: str = "qid",
        features: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        row_weight: str | None = None,
        base_score: str | None = None,
        extra_labels: Mapping[str, str] | Sequence[str] | str | None = None,
        batch_rows: int = 65_536,
        **options: Any,
    ) -> Dataset:
        """Build a dataset from Parquet files, one batch of rows at a time (needs pyarrow).

        Parameters
        ----------
        path : path-like or sequence of path-like
            One or several files.
        label, qid : str
            The columns of labels and query ids.
        features : sequence of str, optional
            The columns of features; by default all columns without another role.
        ignore : sequence of str, optional
            Columns that are no features, in place of ``features``.
        row_weight, base_score : str, optional
            The columns of row weights and base scores.
        extra_labels : str, sequence of str or mapping of str, optional
            The columns of further labels, as for `Dataset`; a mapping has them by name.
        batch_rows : int, default 65536
            The number of rows to read at a time.
        **options
            As for `from_batches`.
        """
        roles = {"label": label, "qid": qid, "row_weight": row_weight, "base_score": base_score}
        files = ParquetFiles(path, roles, features, batch_rows, ignore, extra_labels)
        return cls.from_batches(files, extra_labels=extra_labels, **options)

    @property
    def num_docs(self) -> int:
        """The number of docs."""
        return self._core.num_docs

    @property
    def num_queries(self) -> int:
        """The number of queries."""
        return self._core.num_queries

    @property
    def num_features(self) -> int:
        """The number of features, the unused ones and ranks within queries included."""
        return self._core.num_features

    @property
    def query_ranks(self) -> bool:
        """Whether the second half of the features are the ranks of the first within queries."""
        return self._core.binning.query_ranks

    @property
    def feature_names(self) -> list[str]:
        """The names of the features; ``f0``, ``f1``, ... where none were given."""
        return list(self._names or building.numbered_names(self.num_features, self.query_ranks))

    @property
    def query_ids(self) -> NDArray[Any]:
        """The query ids in order of first appearance: the order of all per-query results."""
        return self._query_ids

    @property
    def query_sizes(self) -> NDArray[np.int64]:
        """The number of docs of each query."""
        return self._core.query_sizes()

    @property
    def labels(self) -> NDArray[np.float32]:
        """The label of each row."""
        return self._core.labels()

    @property
    def extra_labels(self) -> dict[str, NDArray[np.float32]]:
        """The further labels of each row by name."""
        return dict(self._core.extra_labels())

    @property
    def unused_features(self) -> list[int]:
        """Features with at most one value in the sample, on which no split is possible."""
        return self._core.binning.unused_features()

    @property
    def memory(self) -> int:
        """The size of the dataset in bytes."""
        return self._core.memory

    @property
    def fingerprint(self) -> int:
        """A hash of everything that training uses, the same for any order of rows."""
        return self._core.fingerprint()

    @property
    def categorical(self) -> list[int]:
        """The categorical features."""
        return self._core.binning.categorical()

    def categories(self, feature: int | str) -> list[str] | list[int] | list[float]:
        """Return the categories of a feature with bins of their own, most frequent first."""
        number = self._number_of(feature)
        found = self._core.binning.categories(number)
        if found is None:
            raise ParamError(f"feature {shown(feature)} holds no categories", code="feature")
        known = self._core.binning.category_lists().get(number)
        return found if known is None else as_shown([known[category] for category in found])

    def thresholds(self, feature: int | str) -> NDArray[np.float32]:
        """Return the thresholds between the bins of a feature, by number or name."""
        number = self._number_of(feature)
        found = self._core.binning.thresholds(number) if 0 <= number < self.num_features else None
        if found is None:
            message = f"there is no feature {shown(number)}: expected 0 to {self.num_features - 1}"
            raise IndexError(message)
        return found

    def _number_of(self, feature: Any) -> int:
        names = self.feature_names
        if isinstance(feature, str):
            if feature in names:
                return names.index(feature)
            same = [name for name in names if name.casefold() == feature.casefold()]
            near = same[:3] or get_close_matches(feature, names, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else "feature_names lists them"
            message = f"there is no feature {shown(feature)}; {hint}"
            raise UnknownNameError(message, code="feature.absent")
        try:
            return operator.index(feature)
        except TypeError:
            raise wrong_kind("feature", feature, "a number or a name") from None

    def augmented(self, augment: Any = (0.7, 5), *, seed: int = 0) -> Augmented:
        """Return the rows of an augmented set: all queries, and copies with some of their documents.

        The copies are those that `rustrank.train` uses with the same ``augment`` and ``seed``, without
        copying data. Copies without two different labels are left out.

        Parameters
        ----------
        augment : (fraction, copies), default (0.7, 5)
            The share of its documents that a copy of a query keeps, and the number of copies of each.
        seed : int, default 0
            The random seed.

        Examples
        --------
        >>> import rustrank as rr
        >>> data = rr.datasets.make_polynomial(num_queries=50, seed=0)
        >>> rows, qid, _ = rr.Dataset(data.X, data.y, qid=data.qid).augmented((0.5, 10))
        >>> larger = rr.Dataset(data.X[rows], data.y[rows], qid=qid)
        >>> larger.num_queries
        550
        """
        taken = as_augment(augment)
        if taken is None:
            raise wrong_kind("augment", None, "(fraction, copies) such as (0.7, 5)")
        rows, qid, query = self._core.augmented(taken, whole("seed", seed, 0, 2**64 - 1))
        return Augmented(rows.astype(np.int64), qid.astype(np.int64), self.query_ids[query])

    def of_same_docs(self, core: _rustrank.Dataset, queries: Any = None) -> Dataset:
        """Return a dataset of the same documents, or of those of some queries, in another form."""
        ids = self._query_ids if queries is None else self._query_ids[queries]
        names = building.raw_names(self)
        made = Dataset.__new__(Dataset)._finish(core, names, ids, base=self._base, warns=False)
        made._has_bins_of_booster = self._has_bins_of_booster
        made._missing = self._missing
        return made

    def require_pairs(self) -> None:
        """Raise `DataError` unless some query has two different labels."""
        self._core.require_pairs()

    def __len__(self) -> int:
        """Return the number of docs."""
        return self.num_docs

    def __repr__(self) -> str:
        """Summarise the dataset in one line."""
        return (
            f"<Dataset: {count(self.num_docs, 'doc')}, {count(self.num_queries, 'query', 'queries')}, "
            f"{count(self.num_features, 'feature')}, {size(self.memory)}>"
        )

    def _repr_html_(self) -> str:
        sizes, names = self.query_sizes, self.feature_names
        labels, docs = np.unique(self.labels, return_counts=True)
        shares = [
            f"{label:g}: {share:.1%}"
            for label, share in zip(labels.tolist(), (docs / docs.sum()).tolist(), strict=True)
        ]
        facts = [
            ("docs", f"{self.num_docs:,}"),
            (
                "queries",
                f"{self.num_queries:,}, of {sizes.min():,} to {count(int(sizes.max()), 'doc')}",
            ),
            ("features", f"{self.num_features:,}: {some(names)}"),
            ("categorical", some([names[at] for at in self.categorical])),
            ("not used: one value", some([names[at] for at in self.unused_features])),
            ("labels", some(shares, 6)),
            ("memory", size(self.memory)),
        ]
        return html_facts("Dataset", [fact for fact in facts if fact[1]])

    def __copy__(self) -> Dataset:
        """Return the dataset itself: nothing can change it."""
        return self

    def __deepcopy__(self, memo: object) -> Dataset:
        """Return the dataset itself: nothing can change it."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Dataset cannot be pickled: keep the arrays or the file and make it again; for other "
            "processes, make it in each of them, or before they are forked"
        )


#: The features that a warning has said to be constant, by the names of all features: neither folds nor later
#: calls with the same features repeat it.
_NAMED: dict[int, set[str]] = {}


def _warn_of_constant(names: list[str], constant: list[int]) -> None:
    """Name features that cannot be used, in one warning, unless an earlier one has named them all."""
    found = [names[at] for at in constant]
    named = _NAMED.setdefault(hash(tuple(names)), set())
    if named.issuperset(found):
        return
    message = (
        f"{len(found):,} of {len(names):,} features have one value, or none, in the data and are not used: "
        f"{some(found)}"
    )
    if warn_caller(message, CONSTANT):
        named.update(found)


def as_dataset(value: Any, name: str) -> Dataset:
    """Return the value, which must be a `Dataset`."""
    if not isinstance(value, Dataset):
        raise wrong_kind(name, value, "a Dataset")
    return value


def dataset_of(
    given: Any, name: str, arguments: DocArguments, like: Dataset | None = None, **options: Any
) -> Dataset:
    """Return a data set as it is, or make one of documents, as a further set if it is ``like`` another."""
    if is_dataset(given):
        for part, value in arguments._asdict().items():
            if value is not None and like is None:
                message = (
                    f"{part}: got it beside a Dataset, expected none: the data set has its own"
                )
                raise ParamError(message, code=part)
        return given
    if not has_parts(given) and not is_table(given):
        raise wrong_kind(name, given, f"a Dataset, {EXPECTED}")
    docs = read_docs(given, name, arguments, is_further=like is not None)
    docs.require_queries(name)
    # Before the columns of the training set are taken, which further labels are none of.
    further = options.pop("extra_labels", None)
    if further is None and like is not None:
        further = _labels_as_in(like, docs.table.labels or [])
    table, extra = building.named_labels(docs.table, further)
    options |= {"extra_labels": extra} if extra else {}
    if like is not None:
        names = building.raw_names(like)
        count = table.num_features if names is None else len(names)
        table = columns_of(table, (count, names), name, "the training set")
    return Dataset(table, docs.y, qid=docs.qid, group=docs.group, like=like, **options)


def _labels_as_in(like: Dataset, columns: Sequence[Any]) -> list[str]:
    """Return the columns that are called as further labels of a training set are, and that it has no features of."""
    features = building.raw_names(like) or []
    return [name for name in like.extra_labels if name in columns and name not in features]
