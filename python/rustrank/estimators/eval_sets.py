"""The validation sets of ``fit``, in any form: one alone, a list, or a mapping of names.

A set is ``(X, y)``, ``(X, y, qid)`` or a mapping of its parts. Where ``fit`` took labels from a column of
its table, a set may also be a table with a column of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rustrank.data.dataset_building import extra_labels_of, named_labels
from rustrank.errors import ParamError, shown, wrong_kind
from rustrank.estimators.fitting import FitData, WithoutQueries, columns_by_name, queries_within
from rustrank.inputs.docs import is_table
from rustrank.inputs.scalars import fields_of, text
from rustrank.inputs.tables import labels_of, named_columns

#: The parts of a validation set.
_FIELDS = ("X", "y", "qid", "group", "query_weight", "extra_labels")
#: Those that are found in the columns that `fit` took by name.
_OF_COLUMNS = ("y", "qid", "base_score")
_EXPECTED = "(X, y) or (X, y, qid)"


def eval_sets(given: Mapping[str, Any], *, has_queries: bool) -> dict[str, FitData]:
    """Return the validation sets of `fit` by name: ``valid``, or ``valid_0``, ``valid_1``, ...

    If the training set has queries, a validation set without any is an error.

    Parameters
    ----------
    given : mapping
        The arguments of `fit`.
    has_queries : bool
        Whether the training set has queries.
    """
    sets = _by_name(given)
    ids = _each("eval_qid", given["eval_qid"], len(sets))
    sizes = _each("eval_group", given["eval_group"], len(sets))
    without = WithoutQueries.ERROR if has_queries else WithoutQueries.ANY
    return {
        name: _set(_fields(one, given), {"qid": qid, "group": group}, given, without)
        for (name, one), qid, group in zip(sets.items(), ids, sizes, strict=True)
    }


def training_sets(given: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether each validation set has the very table and labels that `fit` learns from."""
    fields = {name: _fields(one, given) for name, one in _by_name(given).items()}
    y = given["y"]
    return {
        name: one.get("X") is given["X"]
        and (one.get("y") is y or (isinstance(y, str) and one.get("y") in (None, y)))
        for name, one in fields.items()
    }


def _by_name(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validation sets as they were given, by name."""
    sets = given.get("eval_set")
    if sets is None:
        return {}
    if isinstance(sets, Mapping) and not _is_one(sets, given):
        return {text("eval_set", name): one for name, one in sets.items()}
    if _is_one(sets, given):
        return {"valid": sets}
    if not isinstance(sets, (list, tuple)):
        raise wrong_kind("eval_set", sets, f"{_EXPECTED}, or a list or a mapping of these")
    return {("valid" if len(sets) == 1 else f"valid_{at}"): one for at, one in enumerate(sets)}


def _is_one(given: Any, arguments: Mapping[str, Any]) -> bool:
    """Return whether a value is one validation set and not several."""
    if isinstance(given, Mapping):
        has_parts = any(field in given for field in _FIELDS)
        return has_parts or _is_docs(given, arguments) or not all(map(_may_be_set, given.values()))
    if isinstance(given, tuple):
        # A tuple is one set if its first element is a table.
        return len(given) in (2, 3) and not isinstance(given[0], (tuple, Mapping))
    return _is_docs(given, arguments)


def _is_docs(given: Any, arguments: Mapping[str, Any]) -> bool:
    """Return whether a value is a table that has labels in the column that `fit` took them from."""
    label = arguments["y"]
    if not isinstance(label, str) or isinstance(given, (list, tuple, np.ndarray)):
        return False
    return label in given if isinstance(given, Mapping) else is_table(given)


def _may_be_set(given: Any) -> bool:
    return isinstance(given, (tuple, list, Mapping)) or is_table(given)


def _fields(given: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a validation set."""
    is_parts = isinstance(given, Mapping) and "X" in given
    if not is_parts and _is_docs(given, arguments):
        return {"X": given}
    return fields_of("eval_set", given, _FIELDS, (2, 3), _EXPECTED)


def _each(name: str, given: Any, num_sets: int) -> list[Any]:
    """Return one value for each validation set."""
    if given is None:
        return [None] * num_sets
    if not isinstance(given, (list, tuple)) or len(given) != num_sets:
        raise wrong_kind(name, given, f"a list of {num_sets}, one a validation set")
    return list(given)


def _set(
    fields: dict[str, Any],
    queries: Mapping[str, Any],
    arguments: Mapping[str, Any],
    without: WithoutQueries,
) -> FitData:
    """Return a validation set from its parts, its queries where they came apart, and `fit`'s arguments."""
    for name, value in queries.items():
        if value is not None and fields.get(name) is not None:
            message = f"eval_{name}: got {shown(value)}, expected none: the set has its own {name}"
            raise ParamError(message, code="eval_set")
        fields[name] = fields.get(name) if value is None else value
    fields |= _from_columns(fields, arguments)
    for name in ("X", "y"):
        if name not in fields:
            message = f"eval_set has no {name}: expected at least X, y and qid or group"
            raise ParamError(message, code="eval_set")
    X, extra = named_labels(fields["X"], fields.get("extra_labels"))
    own = {name: fields.get(name) for name in _OF_COLUMNS}
    X, own = named_columns(X, own, "eval_set")
    table, ids, sizes = queries_within(
        X, own["qid"], fields["group"], without=without, name="eval_set"
    )
    return FitData(
        table,
        own["y"],
        ids,
        sizes,
        fields.get("query_weight"),
        base_score=own["base_score"],
        extra_labels=extra,
    )


def _from_columns(fields: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts that a set does not have itself, as columns that `fit` took by name."""
    columns = columns_by_name(arguments["y"], arguments)
    labels = labels_of(fields.get("X"))
    found: dict[str, Any] = {}
    if fields.get("y") is None and "y" in columns:
        found["y"] = columns["y"]  # An error later if the table has no such column.
    has_queries = fields["qid"] is not None or fields["group"] is not None
    for name in _OF_COLUMNS[1:]:
        if columns.get(name) in labels and not (name == "qid" and has_queries):
            found[name] = columns[name]
    if fields.get("extra_labels") is None:
        named = extra_labels_of(arguments.get("extra_labels")).items()
        found["extra_labels"] = {name: one for name, one in named if _is_label(one, labels)}
    return found


def _is_label(given: Any, labels: list[Any]) -> bool:
    return isinstance(given, str) and given in labels
