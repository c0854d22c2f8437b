"""Rows that are kept as the caller gave them, and binned when a training needs them."""

from __future__ import annotations

from contextlib import nullcontext
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rustrank.compat.finite import with_infinite_clipped
from rustrank.data.dataset import CONSTANT, Dataset
from rustrank.data.dataset_building import QUERY_COLUMN
from rustrank.errors import DataError, dropped_warnings, shown, wrong_kind
from rustrank.estimators.fitting import weight_of_queries
from rustrank.inputs.categories import with_own_order
from rustrank.inputs.queries import as_queries, query_codes
from rustrank.inputs.tables import as_table
from rustrank.inputs.vectors import as_doubles, as_labels, check_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.model.booster import Booster


class BinnedRows(NamedTuple):
    """A binned data set, with what it was made with, which keeps these objects alive."""

    dataset: Dataset
    made_with: tuple[Any, ...]
    options: str


class LazyRows:
    """The base of the data sets of other libraries: features, labels, queries and weights.

    ``row_weight`` is a weight of each document, ``query_weight`` one of each query. With ``is_lightgbm``, infinite
    values count as the largest finite ones, and categories keep the order that a frame has them in.
    """

    is_lightgbm = False
    #: What says which query a row belongs to, for errors.
    query_fields = "group= (rows of each query) or qid= (an id for each row)"

    def __init__(self, X: Any, kind: str) -> None:
        if isinstance(X, (str, bytes, PathLike)):
            hint = "read files with rr.Dataset.from_letor or rr.datasets.read_letor"
            raise wrong_kind("data", X, f"features in memory; {hint}")
        if isinstance(X, LazyRows):
            raise wrong_kind("data", X, f"features, not a {kind}")
        self.X = X
        self.y: Any = None
        self.qid: Any = None
        self.group: Any = None
        self.row_weight: Any = None
        self.query_weight: Any = None
        self.base_score: Any = None
        self.feature_names: list[str] | None = None
        self.categorical: Sequence[str | int] | None = None
        self._table = as_table(X)
        self._binned: BinnedRows | None = None
        self._watched: BinnedRows | None = None

    def changed(self) -> None:
        """Forget what was binned: a field was set."""
        self._binned = self._watched = None

    @property
    def num_rows(self) -> int:
        """The number of documents."""
        return self._table.num_rows

    @property
    def num_columns(self) -> int:
        """The number of features."""
        return self._table.num_features

    @property
    def labels(self) -> NDArray[Any]:
        """The labels."""
        if self.y is None:
            message = "label: got None, expected a label for each row: pass label="
            raise DataError(message, code="label")
        return as_labels(self.y)

    @property
    def queries(self) -> dict[str, Any]:
        """The queries as arguments: ``qid`` or ``group``."""
        if self.qid is None and self.group is None:
            message = f"queries are missing: pass {self.query_fields}"
            raise DataError(message, code="query.none")
        return {"qid": self.qid} if self.group is None else {"group": self.group}

    def codes(self) -> NDArray[Any]:
        """Return the number of the query of each row."""
        queries = self.queries
        found, _ = as_queries(queries.get("qid"), queries.get("group"), self.num_rows)
        codes = query_codes(found)
        check_length("group", len(codes), self.num_rows, "rows in all queries together")
        return codes

    def docs_of_queries(self) -> Iterator[NDArray[Any]]:
        """Yield the rows of each query."""
        codes = self.codes()
        order = np.argsort(codes, kind="stable")
        yield from np.split(order, np.cumsum(np.bincount(codes))[:-1])

    def metric_weight(self) -> NDArray[np.float64] | None:
        """Return the weight of each query in the means of metrics: that of its documents on average."""
        if self.query_weight is not None:
            return as_doubles(self.query_weight, "weight")
        if self.row_weight is None:
            return None
        codes = self.codes()
        return weight_of_queries(self.row_weight, codes, None)

    def share_of_queries_without(self, is_relevant: NDArray[np.bool_]) -> float:
        """Return the share of queries, by weight, without a relevant document."""
        codes = self.codes()
        check_length("label", len(is_relevant), len(codes), "rows")
        relevant = np.bincount(codes, weights=is_relevant) > 0
        if relevant.all():
            return 0.0
        if not relevant.any():
            return 1.0
        weight = self.metric_weight()
        return float(np.average(~relevant, weights=weight))

    def training_weights(self) -> dict[str, Any]:
        """Return the weights in training."""
        return {"row_weight": self.row_weight, "query_weight": self.query_weight}

    def for_training(
        self, base: Booster | None, options: Mapping[str, Any], *, is_quiet: bool = False
    ) -> BinnedRows:
        """Return the rows binned, as a training set; without a warning of constant features if quiet."""
        if not _is_made_with(self._binned, (base,), options):
            own = {"base": base, "categorical": self.categorical, **self.training_weights()}
            with dropped_warnings(CONSTANT) if is_quiet else nullcontext():
                dataset = self._dataset(**own, **options)
            self._binned = BinnedRows(dataset, (base,), repr(options))
        assert self._binned is not None  # noqa: S101 - made above
        return self._binned

    def for_metrics(self, like: BinnedRows, options: Mapping[str, Any]) -> BinnedRows:
        """Return the rows in the bins of a training set, with the weights of metrics."""
        if like is self._binned and not any(
            weight is not None for weight in self.training_weights().values()
        ):
            return like
        read = {
            name: value for name, value in options.items() if name in ("missing", "num_threads")
        }
        if not _is_made_with(self._watched, (*like.made_with, like.dataset), read):
            weight = self.metric_weight()
            dataset = self._dataset(query_weight=weight, like=like.dataset, **read)
            self._watched = BinnedRows(dataset, (*like.made_with, like.dataset), repr(read))
        assert self._watched is not None  # noqa: S101 - made above
        return self._watched

    def _dataset(self, **more: Any) -> Dataset:
        self.codes()

        def made(X: Any) -> Dataset:
            # A column qid is a feature of the other libraries, too, which say nothing.
            with dropped_warnings(QUERY_COLUMN):
                return Dataset(
                    X,
                    self.labels,
                    **self.queries,
                    base_score=self.base_score,
                    feature_names=self.feature_names,
                    infinite="error",
                    **more,
                )

        if not self.is_lightgbm:
            return made(self.X)
        return with_infinite_clipped(made, with_own_order(self.X))

    def taken(self, rows: NDArray[Any]) -> dict[str, Any]:
        """Return some rows, whole queries, as fields by name: in the order of all rows, as ``rows`` are."""
        codes = self.codes()
        picked = np.zeros(len(codes), bool)
        picked[rows] = True
        cut = np.flatnonzero(np.bincount(codes, picked) % np.maximum(np.bincount(codes), 1))
        if len(cut):
            message = f"folds: query number {cut[0]} is in the training and the test part of a fold"
            raise DataError(f"{message}, expected whole queries; use GroupKFold", code="folds")
        at = np.flatnonzero(picked)
        by_row = {
            name: None if value is None else as_doubles(value, name)[at]
            for name, value in (("row_weight", self.row_weight), ("base_score", self.base_score))
        }
        weight = None
        if self.query_weight is not None:
            weight = as_doubles(self.query_weight, "weight")[np.unique(codes[at])]
        qid: NDArray[Any] | None = codes[at]
        group = None
        if self.group is not None:
            sizes = np.bincount(codes[at])
            qid, group = None, sizes[sizes > 0]
        more = {"y": self.labels[at], "qid": qid, "group": group, "query_weight": weight}
        return {"rows": at, **by_row, **more}


def _is_made_with(
    binned: BinnedRows | None, objects: tuple[Any, ...], options: Mapping[str, Any]
) -> bool:
    if binned is None or len(binned.made_with) != len(objects):
        return False
    same = all(ours is given for ours, given in zip(binned.made_with, objects, strict=True))
    return same and binned.options == repr(options)


def as_sizes(group: Any, name: str = "group") -> NDArray[np.int64]:
    """Return sizes of queries as whole numbers; those libraries take floats, too."""
    sizes = as_doubles(group, name)
    for at, size in enumerate(sizes):
        if size != int(size) or size < 0:
            message = f"{name}[{at}]: got {shown(float(size))}, expected a whole number of rows"
            raise DataError(message, code="group.size")
    return sizes.astype(np.int64)
