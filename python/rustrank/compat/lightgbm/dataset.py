"""LightGBM's ``Dataset``: rows that are binned when a training needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.left_out import absent
from rustrank.compat.rows import LazyRows, as_sizes
from rustrank.errors import wrong_kind
from rustrank.estimators.fitting import names_of
from rustrank.inputs.vectors import as_doubles, as_labels, check_length

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

_LEFT_OUT = {
    "add_features_from": "join the columns before the data set is made",
    "save_binary": "keep the arrays: binning takes seconds; rr.Dataset.from_parquet reads files",
    "subset": "take the rows of whole queries from the arrays; cv makes folds itself",
    "feature_num_bin": "rr.Dataset.thresholds",
    "num_bin": "rr.Dataset.thresholds",
    "get_ref_chain": "reference has the set that this one refers to",
}


class Dataset:
    """Rows with labels and queries, as LightGBM's ``Dataset``.

    Parameters
    ----------
    data : array-like of shape (num_rows, num_features)
        Features, as for `rustrank.Dataset`; infinite values count as the largest finite ones. Files are
        refused.
    label : array-like, optional
        Labels.
    reference : Dataset, optional
        The training set of a validation set. Sets that are trained with share its bins in any case.
    weight : array-like, optional
        A weight of each row. In metrics, a query weighs as much as its rows on average.
    group : array-like, optional
        The number of rows of each query, also as floats.
    init_score : array-like, optional
        Scores that training starts from.
    feature_name : "auto" or list of str
        Names; by default those of the columns of a frame.
    categorical_feature : "auto" or list of str or int
        Features that hold categories; by default columns of a categorical type.
    params : dict, optional
        Parameters of LightGBM: those of data count in training.
    free_raw_data : bool, default True
        Accepted: the rows are kept by reference, and never copied.
    position : None
        Refused: `rustrank.Dataset` learns a position bias.
    """

    rows: LazyRows

    def __init__(
        self,
        data: Any,
        label: Any = None,
        reference: Dataset | None = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        params: Mapping[str, Any] | None = None,
        free_raw_data: bool = True,
        position: Any = None,
    ) -> None:
        if position is not None:
            hint = "rr.Dataset(position=) and rr.train learn a position bias"
            raise wrong_kind("position", position, f"None; {hint}")
        self.rows = LazyRows(data.rows if isinstance(data, Dataset) else data, "Dataset")
        self.rows.is_lightgbm = True
        self.rows.query_fields = "group= (rows of each query)"
        self.data, self.free_raw_data = data, free_raw_data
        self.params = dict(params or {})
        self.reference = reference
        self.set_feature_name(feature_name)
        self.set_categorical_feature(categorical_feature)
        for name, value in (("label", label), ("weight", weight), ("group", group)):
            self.set_field(name, value)
        self.set_field("init_score", init_score)

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of a method that was left out."""
        raise absent("Dataset", name, _LEFT_OUT, dir(type(self)))

    def set_field(self, field_name: str, data: Any) -> Self:
        """Set ``label``, ``weight``, ``group`` (or ``query``) or ``init_score``; None for none."""
        rows, count = self.rows, self.rows.num_rows
        if field_name in ("group", "query"):
            rows.group = None if data is None else as_sizes(data)
            if rows.group is not None:
                check_length("group", int(rows.group.sum()), count, "rows in all queries together")
        elif field_name == "label":
            rows.y = None if data is None else as_labels(data)
        elif field_name == "weight":
            rows.row_weight = None if data is None else as_doubles(data, "weight")
        elif field_name == "init_score":
            rows.base_score = None if data is None else as_doubles(data, "init_score")
        else:
            raise wrong_kind("field_name", field_name, "label, weight, group or init_score")
        vector = {"label": rows.y, "weight": rows.row_weight, "init_score": rows.base_score}
        if vector.get(field_name) is not None:
            check_length(field_name, len(vector[field_name]), count, "rows")
        rows.changed()
        return self

    def get_field(self, field_name: str) -> NDArray[Any] | None:
        """Return ``label``, ``weight`` or ``init_score``; of ``group`` the first row of each query.

        Boundaries of queries end with the number of rows; `get_group` returns sizes.
        """
        rows = self.rows
        sizes = rows.group
        bounds = None if sizes is None else np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        fields: dict[str, NDArray[Any] | None] = {
            "label": rows.y,
            "weight": rows.row_weight,
            "group": bounds,
            "init_score": rows.base_score,
        }
        if field_name not in fields:
            raise wrong_kind("field_name", field_name, ", ".join(fields))
        return fields[field_name]

    def set_label(self, label: Any) -> Self:
        """Set the labels."""
        return self.set_field("label", label)

    def set_weight(self, weight: Any) -> Self:
        """Set the weight of each row."""
        return self.set_field("weight", weight)

    def set_group(self, group: Any) -> Self:
        """Set the number of rows of each query."""
        return self.set_field("group", group)

    def set_init_score(self, init_score: Any) -> Self:
        """Set the scores that training starts from."""
        return self.set_field("init_score", init_score)

    def set_reference(self, reference: Dataset) -> Self:
        """Set the training set of a validation set."""
        self.reference = reference
        return self

    def set_feature_name(self, feature_name: Any) -> Self:
        """Set the names of features."""
        automatic = feature_name is None or isinstance(feature_name, str)
        self.rows.feature_names = None if automatic else [str(one) for one in feature_name]
        self.rows.changed()
        return self

    def set_categorical_feature(self, categorical_feature: Any) -> Self:
        """Set the features that hold categories."""
        automatic = categorical_feature is None or isinstance(categorical_feature, str)
        if automatic and categorical_feature not in (None, "auto", ""):
            raise wrong_kind("categorical_feature", categorical_feature, "'auto' or a list")
        self.rows.categorical = None if automatic else list(categorical_feature)
        self.categorical_feature = categorical_feature
        self.rows.changed()
        return self

    def get_label(self) -> NDArray[Any] | None:
        """Return the labels."""
        return self.get_field("label")

    def get_weight(self) -> NDArray[Any] | None:
        """Return the weights of rows."""
        return self.get_field("weight")

    def get_group(self) -> NDArray[Any] | None:
        """Return the number of rows of each query."""
        sizes: NDArray[Any] | None = self.rows.group
        return sizes

    def get_init_score(self) -> NDArray[Any] | None:
        """Return the scores that training starts from."""
        return self.get_field("init_score")

    def get_data(self) -> Any:
        """Return the features as they were given."""
        return self.data

    def get_params(self) -> dict[str, Any]:
        """Return the parameters."""
        return dict(self.params)

    def get_feature_name(self) -> list[str]:
        """Return the names of features; ``Column_0`` and so on where there are none."""
        names = self.rows.feature_names or names_of(self.rows._table)
        return names or [f"Column_{at}" for at in range(self.rows.num_columns)]

    feature_name = property(get_feature_name)

    def num_data(self) -> int:
        """Return the number of rows."""
        return self.rows.num_rows

    def num_feature(self) -> int:
        """Return the number of features."""
        return self.rows.num_columns

    def construct(self) -> Self:
        """Return the data set: it is binned when a training needs it."""
        return self

    def create_valid(
        self,
        data: Any,
        label: Any = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Return a validation set of this training set."""
        return Dataset(data, label, self, weight, group, init_score, params=params)


def as_lightgbm_dataset(name: str, value: Any) -> Dataset:
    """Return the value, which must be a `Dataset` of this module."""
    if not isinstance(value, Dataset):
        raise wrong_kind(name, value, "a Dataset of rustrank.compat.lightgbm")
    return value
