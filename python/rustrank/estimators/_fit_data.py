"""The training and validation sets that estimators are given: tables with what is known of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import ReadOptions, rows_of
from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import ParamError, UnknownNameError, shown, wrong_kind
from rustrank.estimators.fitting import check_training, check_weight, queries_within
from rustrank.inputs.queries import as_query_weight
from rustrank.inputs.tables import as_block, as_table
from rustrank.inputs.vectors import as_doubles, as_scores, check_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows
    from rustrank.inputs.tables import Table

#: The fields of a validation set.
_FIELDS = ("X", "y", "qid", "group", "query_weight")


@dataclass(frozen=True)
class FitData:
    """A training or validation set: features, and the rest in the caller's form."""

    X: Table
    y: Any
    qid: Any = None
    group: Any = None
    query_weight: Any = None
    row_weight: Any = None
    base_score: Any = None

    def __post_init__(self) -> None:
        check_weight(self.row_weight)

    def dataset(self, **options: Any) -> Dataset:
        """Return the rows binned."""
        return Dataset(**vars(self), **options)

    def values(self, num_threads: int | None) -> _rustrank.RawDataset:
        """Return the rows with the values of the features."""
        given = {name: value for name, value in vars(self).items() if name != "X"}
        rows, _ = rows_of(self.X.num_rows, **given)
        reading = ReadOptions(None, "error", num_threads)
        return _rustrank.RawDataset(as_block(self.X), rows, reading)

    def split(self, share: float, seed: int) -> tuple[FitData, FitData]:
        """Split off a share of the queries, chosen by the seed and the content of the queries."""
        docs = as_raw_rows({"X": self.X, "y": self.y, "qid": self.qid, "group": self.group}, "X")
        kept, held = docs.split_queries([1 - share, share], seed)
        if len(kept) == 0 or len(held) == 0:
            message = (
                f"validation_fraction: got {share} of {docs.num_queries} queries, expected enough "
                "queries for both parts; pass eval_set=, or early_stopping=None"
            )
            raise ParamError(message, code="validation_fraction")
        return self._of(docs, np.sort(kept)), self._of(docs, np.sort(held))

    def _of(self, docs: RawRows, queries: NDArray[Any]) -> FitData:
        rows = np.flatnonzero(np.isin(docs.query, queries))
        some = docs.take(rows)
        weight, base_score = self.row_weight, self.base_score
        by_query = as_query_weight(self.query_weight, docs.query_ids)
        if by_query is not None:
            check_length("query_weight", len(by_query), docs.num_queries, "queries")
            by_query = by_query[queries]
        return FitData(
            as_table(some.table()),
            some.y,
            some.query,
            query_weight=by_query,
            row_weight=None if weight is None else as_doubles(weight, "sample_weight")[rows],
            base_score=None if base_score is None else as_scores(base_score, "base_score")[rows],
        )


def training_part(X: Any, y: Any, given: Mapping[str, Any], kind: str) -> FitData:
    """Return the training set from the arguments of `fit`."""
    table, qid, group = queries_within(check_training(X, y, kind), given["qid"], given["group"])
    weight, base_score = given["sample_weight"], given.get("base_score")
    return FitData(table, y, qid, group, given["query_weight"], weight, base_score)


def eval_sets(given: Mapping[str, Any]) -> dict[str, FitData]:
    """Return the validation sets of `fit` by name: ``valid``, or ``valid_0``, ``valid_1``, ..."""
    sets = given.get("eval_set")
    if sets is None:
        return {}
    if isinstance(sets, Mapping) or _is_set(sets):
        sets = [sets]
    if not isinstance(sets, (list, tuple)):
        raise wrong_kind("eval_set", sets, "(X, y) or (X, y, qid), or a list of them")
    names = ["valid"] if len(sets) == 1 else [f"valid_{at}" for at in range(len(sets))]
    ids = _each("eval_qid", given["eval_qid"], len(sets))
    sizes = _each("eval_group", given["eval_group"], len(sets))
    return {name: _set(*one) for name, *one in zip(names, sets, ids, sizes, strict=True)}


def _is_set(given: Any) -> bool:
    """Whether this is one validation set and not a list: its first element is a table."""
    is_short = isinstance(given, tuple) and len(given) in (2, 3)
    return is_short and not isinstance(given[0], (tuple, Mapping))


def _each(name: str, given: Any, num_sets: int) -> list[Any]:
    """Return one value for each validation set."""
    if given is None:
        return [None] * num_sets
    if not isinstance(given, (list, tuple)) or len(given) != num_sets:
        raise wrong_kind(name, given, f"a list of {num_sets}, one a validation set")
    return list(given)


def _set(given: Any, qid: Any, group: Any) -> FitData:
    fields = _fields(given)
    for name, value in (("qid", qid), ("group", group)):
        if value is not None and fields.get(name) is not None:
            message = f"eval_{name}: got {shown(value)}, expected none: the set has its own {name}"
            raise ParamError(message, code="eval_set")
        fields[name] = fields.get(name) if value is None else value
    table, ids, sizes = queries_within(fields["X"], fields["qid"], fields["group"])
    return FitData(table, fields["y"], ids, sizes, fields.get("query_weight"))


def _fields(given: Any) -> dict[str, Any]:
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return dict(zip(_FIELDS, given, strict=False))
    if not isinstance(given, Mapping):
        raise wrong_kind("eval_set", given, "(X, y) or (X, y, qid)")
    for name in given:
        if name not in _FIELDS:
            message = f"eval_set has {shown(name)}: expected {', '.join(_FIELDS)}"
            raise UnknownNameError(message, code="eval_set")
    for name in ("X", "y"):
        if name not in given:
            message = f"eval_set has no {name}: expected at least X, y and qid or group"
            raise ParamError(message, code="eval_set")
    return dict(given)
