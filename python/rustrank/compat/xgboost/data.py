"""XGBoost's ``DMatrix``: rows that are binned when a training needs them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.left_out import absent
from rustrank.compat.rows import LazyRows, as_sizes
from rustrank.compat.xgboost.positional import positional_too
from rustrank.errors import DataError, ParamError, listed, shown, wrong_kind
from rustrank.estimators.fitting import names_of
from rustrank.inputs.tables import Sparse
from rustrank.inputs.vectors import as_doubles, as_labels, check_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LEFT_OUT = {
    "get_data": "keep the arrays: a DMatrix refers to them",
    "get_quantile_cut": "rr.Dataset.thresholds",
    "save_binary": "keep the arrays: binning takes seconds; rr.Dataset.from_parquet reads files",
    "slice": "take the rows of whole queries from the arrays",
    "set_uint_info": "set_info and set_group",
}


class _Rows(LazyRows):
    """Rows whose weights are those of queries, divided by their mean, as XGBoost does."""

    #: How many pairs of each document are drawn; None for the pairs of the first ranks.
    pairs_of_doc: int | None = None

    def training_weights(self) -> dict[str, Any]:
        """Return the weight of each query in training.

        Pairs that XGBoost draws count with their expectation: each document has ``pairs_of_doc`` pairs.
        """
        weight = None
        if self.query_weight is not None:
            weight = as_doubles(self.query_weight, "weight")
            weight = weight * (len(weight) / weight.sum())
        if self.pairs_of_doc is not None:
            share = self.pairs_of_doc * self._share_of_pairs()
            weight = share if weight is None else weight * share
        return {"row_weight": None, "query_weight": weight}

    def _share_of_pairs(self) -> NDArray[np.float64]:
        """Return the number of documents over that of pairs of different labels, for each query."""
        labels = self.labels
        shares = []
        for docs in self.docs_of_queries():
            counts = np.unique(labels[docs], return_counts=True)[1]
            pairs = (len(docs) ** 2 - (counts**2).sum()) / 2
            shares.append(len(docs) / pairs if pairs else 1.0)
        return np.array(shares)


class DMatrix:
    """Rows with labels and queries, as XGBoost's ``DMatrix``.

    Parameters
    ----------
    data : array-like of shape (num_rows, num_features)
        Features, as for `rustrank.Dataset`. Cells that a sparse matrix does not store are missing. Files are
        refused.
    label : array-like, optional
        Labels.
    weight : array-like, optional
        A weight of each query, in order of first appearance.
    base_margin : array-like, optional
        Scores that training starts from.
    missing : float, optional
        A value that means "missing", besides NaN.
    silent, nthread, enable_categorical
        Accepted: columns of a categorical type are categories.
    feature_names : sequence of str, optional
        Names; by default those of the columns of a frame.
    feature_types, feature_weights, label_lower_bound, label_upper_bound
        Refused.
    group, qid : array-like, optional
        The number of rows of each query, or the query of each row; ids need not be sorted.
    """

    @positional_too()
    def __init__(
        self,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,  # noqa: ARG002 - nothing is printed
        feature_names: Any = None,
        feature_types: Any = None,
        nthread: int | None = None,  # noqa: ARG002 - training has the number of threads
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_weights: Any = None,
        enable_categorical: bool = False,  # noqa: ARG002 - types of columns say it
    ) -> None:
        refused = {
            "feature_types": (feature_types, "columns of a categorical type are categories"),
            "feature_weights": (feature_weights, "features are drawn with equal chances"),
            "label_lower_bound": (label_lower_bound, "a parameter of survival analysis"),
            "label_upper_bound": (label_upper_bound, "a parameter of survival analysis"),
        }
        for name, (value, hint) in refused.items():
            if value is not None:
                raise wrong_kind(name, value, f"None: {hint}")
        if qid is not None and group is not None:
            raise DataError("queries come twice: got qid= and group=, expected one of them")
        # Cells that are not stored are missing in XGBoost.
        table = Sparse(data, math.nan) if hasattr(data, "tocsr") else data
        self.rows = _Rows(table, "DMatrix")
        self.missing = float("nan") if missing is None else missing
        self.feature_names = feature_names
        self.set_info(label=label, weight=weight, base_margin=base_margin, group=group, qid=qid)

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of a method that was left out."""
        raise absent("DMatrix", name, _LEFT_OUT, dir(type(self)))

    @positional_too("label", "weight", "base_margin", "group", "qid")
    def set_info(
        self,
        *,
        label: Any = None,
        weight: Any = None,
        base_margin: Any = None,
        group: Any = None,
        qid: Any = None,
        feature_names: Any = None,
    ) -> None:
        """Set what is not None: labels, weights of queries, starting scores and queries."""
        rows, count = self.rows, self.rows.num_rows
        if label is not None:
            rows.y = as_labels(label)
            check_length("label", len(rows.y), count, "rows")
        if base_margin is not None:
            rows.base_score = as_doubles(base_margin, "base_margin")
            check_length("base_margin", len(rows.base_score), count, "rows")
        if group is not None:
            rows.group, rows.qid = as_sizes(group), None
            check_length("group", int(rows.group.sum()), count, "rows in all queries together")
        if qid is not None:
            rows.qid, rows.group = qid, None
        if feature_names is not None:
            self.feature_names = feature_names
        if weight is not None:
            rows.query_weight = as_doubles(weight, "weight")
        rows.changed()

    def check_weight(self) -> None:
        """Raise `DataError` unless there is a weight for each query."""
        weight = self.rows.query_weight
        if weight is not None:
            queries = int(self.rows.codes().max()) + 1
            expected = "queries: a weight is that of a query in XGBoost's rankers"
            check_length("weight", len(weight), queries, expected)

    def set_label(self, label: Any) -> None:
        """Set the labels."""
        self.set_info(label=label)

    def set_weight(self, weight: Any) -> None:
        """Set the weight of each query."""
        self.set_info(weight=weight)

    def set_group(self, group: Any) -> None:
        """Set the number of rows of each query."""
        self.set_info(group=group)

    def set_base_margin(self, margin: Any) -> None:
        """Set the scores that training starts from."""
        self.set_info(base_margin=margin)

    def get_label(self) -> NDArray[Any]:
        """Return the labels."""
        return self.rows.labels

    def get_weight(self) -> NDArray[Any]:
        """Return the weights of queries; empty where there are none."""
        weight = self.rows.query_weight
        return np.empty(0, np.float32) if weight is None else np.asarray(weight, np.float32)

    def get_base_margin(self) -> NDArray[Any]:
        """Return the scores that training starts from; empty where there are none."""
        margin = self.rows.base_score
        return np.empty(0, np.float32) if margin is None else np.asarray(margin, np.float32)

    def get_group(self) -> NDArray[Any]:
        """Return the number of rows of each query, in order of first appearance."""
        return np.bincount(self.rows.codes())

    def num_row(self) -> int:
        """Return the number of rows."""
        return self.rows.num_rows

    def num_col(self) -> int:
        """Return the number of features."""
        return self.rows.num_columns

    @property
    def feature_names(self) -> list[str] | None:
        """The names of features."""
        return self.rows.feature_names or names_of(self.rows._table)

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        self.rows.feature_names = None if names is None else [str(one) for one in names]
        self.rows.changed()


class QuantileDMatrix(DMatrix):
    """The same: all rows are binned for training, and share the bins of the training set.

    Parameters
    ----------
    data, label, **more
        As for `DMatrix`.
    ref : DMatrix, optional
        Accepted: sets share the bins of the training set in any case.
    max_bin : int, optional
        Refused if it is not that of training: pass it to ``train``.
    """

    @positional_too(
        *("weight", "base_margin", "missing", "silent", "feature_names", "feature_types"),
        *("nthread", "max_bin", "ref", "group", "qid"),
    )
    def __init__(
        self, data: Any, label: Any = None, *, ref: Any = None, max_bin: Any = None, **more: Any
    ) -> None:
        if ref is not None and not isinstance(ref, DMatrix):
            raise wrong_kind("ref", ref, "a DMatrix")
        if max_bin not in (None, 256):
            raise wrong_kind("max_bin", max_bin, "None: pass max_bin to train")
        super().__init__(data, label, **more)


def as_matrix(name: str, value: Any) -> DMatrix:
    """Return the value, which must be a `DMatrix` of this module."""
    if not isinstance(value, DMatrix):
        raise wrong_kind(name, value, "a DMatrix of rustrank.compat.xgboost")
    return value


def check_names(names: Sequence[str] | None, found: Sequence[str] | None) -> None:
    """Raise `ParamError` unless data have the names of features of the model, where that has some."""
    if names is None:
        return
    if found is None:
        message = (
            f"feature_names: got data without names, expected those of the model, {listed(names)}: pass a frame or "
            "feature_names= to DMatrix, or validate_features=False to predict, which takes columns by their places"
        )
        raise ParamError(message, code="features.names")
    if list(names) != list(found):
        other = [name for name in found if name not in names]
        missing = [name for name in names if name not in found]
        got = [f"data without {shown(missing)}"] if missing else []
        got += [f"{shown(other)}, which the model has not"] if other else []
        got = got or [f"another order, {shown(list(found))}"]
        message = f"feature_names: got {' and '.join(got)}; expected those of the model, {shown(list(names))}"
        raise ParamError(message, code="features.names")
