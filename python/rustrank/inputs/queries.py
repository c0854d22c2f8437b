"""Conversion of query arguments: ids of any type and order, group sizes, and weights of queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rustrank.errors import DataError, ParamKindError, RustrankError, shown, warn_caller
from rustrank.inputs import vectors
from rustrank.inputs.scalars import real

#: Of so many queries at least, this share with a single document is more likely a wrong column.
_MANY_QUERIES, _MOST_SINGLE = 100, 0.9

Queries: TypeAlias = tuple[NDArray[np.uint32], int] | NDArray[np.int64]


def as_queries(qid: Any, group: Any, num_rows: int) -> tuple[Queries, NDArray[Any]]:
    """Query ids of any type and in any order, or the number of rows of each query.

    Returns what the compiled half takes, and the ids in order of first appearance.
    """
    if (qid is None) == (group is None):
        given = "both are given" if qid is not None else "neither is given"
        message = f"queries come as `qid` (one id a row) or `group` (rows a query): {given}"
        raise DataError(message, code="query.none" if qid is None else "query.both")
    if group is not None:
        sizes = as_sizes(group)
        return sizes, np.arange(len(sizes))
    ids = as_ids(qid)
    vectors.check_length("qid", len(ids), num_rows, "rows")
    codes, distinct = group_ids(ids)
    return (codes, len(distinct)), distinct


def queries_of(qid: Any, group: Any, num_rows: int) -> tuple[Queries, NDArray[Any]]:
    """Read queries; without ids and sizes, all rows are one query."""
    if qid is None and group is None:
        group = [num_rows]
    return as_queries(qid, group, num_rows)


def query_codes(queries: Queries) -> NDArray[np.uint32] | NDArray[np.int64]:
    """Return the number of the query of each row."""
    return queries[0] if isinstance(queries, tuple) else np.repeat(np.arange(len(queries)), queries)


def warn_of_single_docs(sizes: NDArray[Any], where: str) -> None:
    """Warn where nearly all queries have one document, as by a column of the ids of documents."""
    num_queries, singles = int((sizes > 0).sum()), int((sizes == 1).sum())
    if num_queries >= _MANY_QUERIES and singles >= _MOST_SINGLE * num_queries:
        warn_caller(
            f"{where}: {singles:,} of {num_queries:,} queries have a single doc. Such queries teach and measure "
            "nothing: expected the query of each doc, with several docs to rank"
        )


def query_sizes(queries: Queries) -> NDArray[np.int64]:
    """Return the number of rows of each query."""
    return np.bincount(queries[0], minlength=queries[1]) if isinstance(queries, tuple) else queries


def as_sizes(group: Any) -> NDArray[np.int64]:
    """Return the number of rows of each query."""
    sizes = vectors.as_vector(group, "group")
    if len(sizes) == 0:
        return np.empty(0, np.int64)
    if isinstance(sizes, np.ma.MaskedArray):
        at = vectors.first_true(np.ma.getmaskarray(sizes))
        if at is not None:
            message = f"group[{at}] is missing: expected a positive number of rows"
            raise DataError(message, code="group.size")
        sizes = sizes.data
    if sizes.dtype.kind == "f" and (sizes == np.floor(sizes)).all() and (abs(sizes) < 2**53).all():
        # As a frame's column of sizes is once rows were joined.
        sizes = sizes.astype(np.int64)
    if sizes.dtype.kind not in "iu":
        raise ParamKindError(
            f"group: got {sizes.dtype}, expected whole numbers of rows", code="kind"
        )
    # What is too large for 64 bits is too large for any data.
    sizes = np.minimum(sizes, np.array(2**62, sizes.dtype)) if sizes.dtype.itemsize == 8 else sizes
    return np.require(sizes, np.int64, ["C", "A"])


def as_ids(qid: Any, name: str = "qid") -> NDArray[Any]:
    """Return query ids as an array in which different ids are still different.

    A list becomes an array of numbers or text only if all of it is of one type: numpy would make
    one text of 1 and "1", and one double of two large integers.
    """
    listed = isinstance(qid, Sequence) and not isinstance(qid, (str, bytes))
    if not listed or vectors.library(qid) == "polars" or hasattr(qid, "__array__"):
        ids = vectors.as_vector(qid, name)
        if not isinstance(ids, np.ma.MaskedArray):
            return ids
        return vectors.with_none(ids) if np.ma.getmaskarray(ids).any() else ids.data
    kinds = set(map(type, qid))
    if kinds and kinds <= {list, np.ndarray}:
        return vectors.as_vector(qid, name)
    if kinds == {int} and min(qid) >= -(2**63):
        top = max(qid)
        if top < 2**63 or (top < 2**64 and min(qid) >= 0):
            return np.array(qid, np.int64 if top < 2**63 else np.uint64)
    # An array of text forgets the NULs at the end.
    texts = bool(kinds) and all(issubclass(kind, str) for kind in kinds)
    plain = texts and not any("\0" in one for one in qid)
    numbers = len(kinds) == 1 and issubclass(next(iter(kinds)), (float, np.number, np.bool_, bool))
    if plain or numbers:
        return np.array(qid)
    return np.fromiter(qid, object, len(qid))


def group_ids(ids: NDArray[Any], name: str = "qid") -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the number of each row's id, by first appearance, and the distinct ids."""
    if len(ids) == 0:
        return np.empty(0, np.uint32), ids
    if ids.dtype.kind == "O":
        return _group_objects(ids, name)
    if ids.dtype.kind in "fcmM":
        # NaN and NaT differ from themselves.
        _refuse_missing(np.asarray(ids != ids, bool), name)
    # Rows of a query are mostly adjacent, so only the first id of each run is looked up.
    starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
    heads = ids[starts]
    distinct, first, inverse = np.unique(heads, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.argsort(order).astype(np.uint32)
    lengths = np.diff(starts, append=len(ids))
    return np.repeat(number[inverse], lengths), distinct[order]


def _group_objects(ids: NDArray[Any], name: str) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    numbers: dict[Any, int] = {}
    try:
        codes = np.fromiter(
            (numbers.setdefault(value, len(numbers)) for value in ids), np.uint32, len(ids)
        )
    except TypeError as error:
        raise ParamKindError(
            f"{name}: got values that cannot be compared ({error})", code="kind"
        ) from error
    absent = np.array([vectors.is_absent(value) for value in numbers], bool)
    _refuse_missing(absent[codes], name)
    return codes, np.fromiter(numbers, object, len(numbers))


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    row = vectors.first_true(missing)
    if row is not None:
        message = f"{name}[{row}] is missing: expected an id for every row"
        raise DataError(message, code=f"{name}.missing", row=row)


def as_query_weight(weight: Any, ids: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the weights of queries in order of first appearance, given so or by id.

    A pandas Series with an index of its own is a mapping: pandas itself would align it.
    """
    if weight is None:
        return None
    by_id = weight if isinstance(weight, Mapping) else by_index(weight, "query_weight", ids)
    if by_id is None:
        return vectors.as_doubles(weight, "query_weight")
    known = dict.fromkeys(ids.tolist())
    for key in by_id:
        if key not in known:
            message = f"query_weight has a weight for query {shown(key)}, which is not in the data"
            raise DataError(message, code="weight", query=str(key))
    for key in known:
        if key not in by_id:
            message = f"query_weight has no weight for query {key!r}"
            raise DataError(message, code="weight", query=str(key))
    return np.array([real(f"query_weight of query {key!r}", by_id[key]) for key in known])


def query_weight_of_rows(column: Any, qid: Any, group: Any) -> NDArray[np.float64]:
    """Return the weights of queries from a column with a weight for each row, the same in all rows of a query."""
    of_row = vectors.as_doubles(column, "query_weight")
    queries, ids = as_queries(qid, group, len(of_row))
    codes = query_codes(queries)
    weight = of_row[np.unique(codes, return_index=True)[1]]
    is_same = (weight[codes] == of_row) | np.isnan(weight[codes]) & np.isnan(of_row)
    row = vectors.first_true(~is_same)
    if row is not None:
        (key,) = ids[codes[row] : codes[row] + 1].tolist()
        message = (
            f"query_weight: query {shown(key)} has two weights, {weight[codes[row]]:g} and {of_row[row]:g} in row "
            f"{row}, expected one; row_weight= takes a weight for each row"
        )
        raise DataError(message, code="weight", row=row)
    return weight


def by_index(values: Any, name: str, ids: NDArray[Any]) -> dict[Any, Any] | None:
    """Return a pandas Series with a value for each query as a mapping by its index; None for a default index."""
    if vectors.library(values) != "pandas" or not hasattr(values, "index"):
        return None
    index = values.index
    counts = type(index).__name__ == "RangeIndex" and index.name is None
    if counts and (index.start, index.step) == (0, 1):
        own, numbers = ids.tolist(), list(range(len(ids)))
        if own != numbers and set(own) == set(numbers):
            message = (
                f"{name}: the index of the Series may be the ids of the queries or count them, and these are in "
                "another order; pass .to_dict() for values by id, or .to_numpy() for values in order of appearance"
            )
            raise DataError(message, code=name)
        return None
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        what = {"query_weight": "weights", "segments": "segments"}.get(name, "values")
        message = f"{name} has two {what} for query {shown(twice)}"
        raise DataError(
            message, code="weight" if name == "query_weight" else name, query=str(twice)
        )
    return dict(zip(index.tolist(), vectors.as_vector(values, name).tolist(), strict=True))


def numbers_if_all(ids: list[str]) -> NDArray[Any]:
    """Return ids as integers if all are decimal integers, else as strings."""
    plain = all(one.isdecimal() and len(one) < 19 and str(int(one)) == one for one in ids)
    return np.array([int(one) for one in ids], np.int64) if plain else np.array(ids)


@contextmanager
def query_ids_in_errors(ids: NDArray[Any]) -> Iterator[None]:
    """Let errors of the compiled half, which knows queries by their numbers, name the caller's ids."""
    try:
        yield
    except RustrankError as error:
        number = None if error.query is None or _is_named(error) else int(error.query)
        if number is not None and number < len(ids):
            named = ids[number]
            named = named.item() if isinstance(named, np.generic) else named
            name = f"query {shown(named)}"
            message = re.sub(rf"\bquery {number}\b", lambda _: name, str(error), count=1)
            error.args, error.query = (message,), str(named)
        vars(error)["_has_query_id"] = True
        raise


def _is_named(error: RustrankError) -> bool:
    """Whether an error names a query by its id: it was raised here, or translated already."""
    return "_has_query_id" in vars(error) or not str(error.query).isdecimal()
