"""The training and validation sets that estimators are given, as arguments of `Dataset`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset
from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import ParamError, ParamKindError, UnknownNameError, shown
from rustrank.estimators.fitting import check_training, check_weight, checked, queries_within
from rustrank.inputs.queries import as_query_weight
from rustrank.inputs.vectors import as_doubles, as_scores, check_length

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: The fields of a validation set.
_FIELDS = ("X", "y", "qid", "group", "query_weight")


@dataclass(frozen=True)
class FitData:
    """A training or validation set: features in the caller's form, with queries, weights and base scores."""

    X: Any
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
        return Dataset(
            self.X,
            self.y,
            qid=self.qid,
            group=self.group,
            query_weight=self.query_weight,
            row_weight=self.row_weight,
            base_score=self.base_score,
            **options,
        )

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
        weight = as_query_weight(self.query_weight, docs.query_ids)
        return self._of(docs, np.sort(kept), weight), self._of(docs, np.sort(held), weight)

    def _of(self, docs: Any, queries: NDArray[Any], weight: Any) -> FitData:
        rows = np.flatnonzero(np.isin(docs.query, queries))
        some = docs.take(rows)
        by_row = [
            (None if values is None else read(values, name)[rows])
            for values, read, name in (
                (self.row_weight, as_doubles, "sample_weight"),
                (self.base_score, as_scores, "base_score"),
            )
        ]
        X = some.X if docs.names is None else dict(zip(docs.names, some.X.T, strict=True))
        if weight is not None:
            check_length("query_weight", len(weight), docs.num_queries, "queries")
            weight = weight[queries]
        return FitData(X, some.y, some.query, None, weight, *by_row)


def training_part(X: Any, y: Any, given: Mapping[str, Any], kind: str) -> FitData:
    """Return the training set from the arguments of `fit`."""
    X, qid, group = queries_within(check_training(X, y, kind), given["qid"], given["group"])
    weight, base_score = given["sample_weight"], given.get("base_score")
    return FitData(X, y, qid, group, given["query_weight"], weight, base_score)


def eval_sets(given: Mapping[str, Any]) -> dict[str, FitData]:
    """Return the validation sets of `fit` by name: ``valid``, or ``valid_0``, ``valid_1``, ..."""
    sets = given.get("eval_set")
    if sets is None:
        return {}
    if isinstance(sets, Mapping) or _is_set(sets):
        sets = [sets]
    if not isinstance(sets, (list, tuple)):
        message = f"eval_set: got {shown(sets)}, expected (X, y) or (X, y, qid), or a list of them"
        raise ParamKindError(message, code="eval_set")
    names = ["valid"] if len(sets) == 1 else [f"valid_{at}" for at in range(len(sets))]
    ids = _each("eval_qid", given["eval_qid"], len(sets))
    sizes = _each("eval_group", given["eval_group"], len(sets))
    return {name: _set(*one) for name, *one in zip(names, sets, ids, sizes, strict=True)}


def _is_set(given: Any) -> bool:
    """Whether this is one validation set and not a list: its first element is a table."""
    return isinstance(given, tuple) and len(given) in (2, 3) and not _is_tuple(given[0])


def _is_tuple(given: Any) -> bool:
    return isinstance(given, (tuple, Mapping))


def _each(name: str, given: Any, num_sets: int) -> list[Any]:
    """Return one value for each validation set."""
    if given is None:
        return [None] * num_sets
    if not isinstance(given, (list, tuple)) or len(given) != num_sets:
        message = f"{name}: got {shown(given)}, expected a list of {num_sets}, one a validation set"
        raise ParamKindError(message, code=name)
    return list(given)


def _set(given: Any, qid: Any, group: Any) -> FitData:
    fields = _fields(given)
    for name, value in (("qid", qid), ("group", group)):
        if value is not None and fields.get(name) is not None:
            message = f"eval_{name}: got {shown(value)}, expected none: the set has its own {name}"
            raise ParamError(message, code="eval_set")
        fields[name] = fields.get(name) if value is None else value
    X, ids, sizes = queries_within(checked(fields["X"]), fields["qid"], fields["group"])
    return FitData(X, fields["y"], ids, sizes, fields.get("query_weight"))


def _fields(given: Any) -> dict[str, Any]:
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return dict(zip(_FIELDS, given, strict=False))
    if not isinstance(given, Mapping):
        message = f"eval_set: got {shown(given)}, expected (X, y) or (X, y, qid)"
        raise ParamKindError(message, code="eval_set")
    for name in given:
        if name not in _FIELDS:
            message = f"eval_set has {shown(name)}: expected {', '.join(_FIELDS)}"
            raise UnknownNameError(message, code="eval_set")
    for name in ("X", "y"):
        if name not in given:
            message = f"eval_set has no {name}: expected at least X, y and qid or group"
            raise ParamError(message, code="eval_set")
    return dict(given)
