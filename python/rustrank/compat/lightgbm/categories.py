"""Columns of categories that LightGBM takes as numbers, and this library does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rustrank.errors import listed, warn_caller
from rustrank.inputs.vectors import library

if TYPE_CHECKING:
    from rustrank.compat.lightgbm.dataset import Dataset

#: The code of the warning.
CODE = "categories.numbers"


def warn_of_numbers(dataset: Dataset) -> None:
    """Warn of columns of a frame whose categories LightGBM would take as numbers.

    These are ordered categories, and, with ``categorical_feature``, those that it does not name.
    """
    data, given = dataset.rows.X, dataset.categorical_feature
    if library(data) != "pandas":
        return
    is_automatic = isinstance(given, str)
    chosen = () if is_automatic or given is None else given
    names = [
        name
        for at, (name, dtype) in enumerate(
            zip(dataset.get_feature_name(), data.dtypes, strict=True)
        )
        if dtype.name == "category"
        and (dtype.ordered if is_automatic else name not in chosen and at not in chosen)
    ]
    if names:
        why = "are ordered" if is_automatic else "are not in categorical_feature"
        message = (
            f"categories of {listed(names)} are split as sets of values; LightGBM takes their places as "
            f"numbers, since they {why}. For numbers, pass column.cat.codes, with NaN instead of -1"
        )
        warn_caller(message, CODE)
