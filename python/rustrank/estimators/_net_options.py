"""The options and data sets of net estimators, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import ReadOptions, Rows
from rustrank.errors import ParamError, ParamKindError
from rustrank.estimators._fit_data import eval_sets
from rustrank.inputs.queries import as_queries, as_query_weight
from rustrank.inputs.tables import as_block, as_table
from rustrank.inputs.vectors import as_doubles, as_labels, check_length
from rustrank.metrics.evaluation import named_metrics
from rustrank.parameters.plan import Preferences, check_same_names, preferences_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rustrank.estimators._fit_data import FitData


@dataclass(frozen=True)
class NetData:
    """A data set with feature values, which nets learn from."""

    core: _rustrank.RawDataset
    names: list[str] | None
    query_ids: NDArray[Any]


def as_values(part: FitData, num_threads: int | None) -> NetData:
    """Read the features, labels, queries and weights of a set."""
    table = as_table(part.X)
    labels = as_labels(part.y)
    check_length("y", len(labels), table.num_rows, "rows")
    queries, ids = as_queries(part.qid, part.group, table.num_rows)
    weight = part.row_weight
    rows = Rows(
        labels,
        queries,
        None if weight is None else as_doubles(weight, "sample_weight"),
        as_query_weight(part.query_weight, ids),
    )
    reading = ReadOptions(None, "error", num_threads)
    return NetData(_rustrank.RawDataset(as_block(table), rows, reading), table.names, ids)


def refuse_dataset(X: Any) -> None:
    """Raise an error for a `Dataset`, which keeps no feature values."""
    if isinstance(X, Dataset):
        message = (
            "X: got a Dataset, which keeps no values, expected the features themselves: nets learn "
            "from values, not from bins"
        )
        raise ParamKindError(message, code="X")


@dataclass(frozen=True)
class NetPlan:
    """All options and validation sets of a training."""

    params: dict[str, Any]
    preferences: Preferences | None
    valid: list[tuple[str, _rustrank.RawDataset]]
    metrics: list[str]

    @classmethod
    def of(
        cls,
        params: Mapping[str, Any],
        given: Mapping[str, Any],
        names: list[str] | None,
    ) -> NetPlan:
        """Take the checked parameters of a net, and what `fit` got besides the training set."""
        valid = valid_of(eval_sets(given), params["num_threads"], names)
        preferences = given.get("preferences")
        return cls(
            dict(params),
            preferences_of(preferences, params["objective"], params["augment"]),
            [] if valid is None else [("valid", valid.core)],
            named_metrics(params["metric"]),
        )


def valid_of(
    sets: Mapping[str, FitData], num_threads: int | None, names: list[str] | None
) -> NetData | None:
    """Read the validation set, if there is one."""
    if not sets:
        return None
    if len(sets) > 1:
        message = f"eval_set: got {len(sets)} validation sets, expected one"
        raise ParamError(message, code="eval_set")
    (part,) = sets.values()
    values = as_values(part, num_threads)
    check_same_names(values.names, names, "eval_set")
    return values
