"""The summary of a Parquet or CSV file, for `inspect`: what is told of text, told of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.cli.reading import Docs


def table_summary(docs: Docs) -> dict[str, Any]:
    """Return the facts about the documents of one table, by the names that `inspect_letor` uses.

    A feature has the name of its column as its index. Columns of dates and durations are in ``dates``, all
    others that are no numbers in ``text``.
    """
    from rustrank.inputs.column_kinds import kind_of
    from rustrank.inputs.queries import query_codes

    codes = query_codes(docs.queries).astype(np.int64)
    sizes = np.sort(np.bincount(codes))
    features, cells = [], [codes]
    text: list[dict[str, Any]] = []
    dates: list[dict[str, Any]] = []
    for name in docs.X.column_names:
        column = docs.X.column(name)
        values = _numbers(column)
        if values is None:
            encoded = _numbered(docs.files[0], name, column)
            cells.append(_bits(_plain(encoded.indices)))
            distinct = len(encoded.dictionary)
            of_kind = dates if kind_of(column) in ("dates", "durations") else text
            of_kind.append({"index": name, "missing": column.null_count, "distinct": distinct})
        else:
            cells.append(_bits(values))
            features.append({"index": name, **_facts_of(values)})
    return {
        "bytes": Path(docs.files[0]).stat().st_size,
        "rows": docs.num_docs,
        "queries": len(docs.query_ids),
        "min_docs": int(sizes[0]),
        "median_docs": int(sizes[(len(sizes) - 1) // 2]),
        "max_docs": int(sizes[-1]),
        "repeated_rows": docs.num_docs - len(np.unique(np.stack(cells, axis=1), axis=0)),
        "sorted_by_qid": bool(1 + np.count_nonzero(np.diff(codes)) == len(sizes)),
        "bad_lines": 0,
        "features": features,
        "text": text,
        "dates": dates,
        "findings": [],
        **_labels(docs.labels, codes),
    }


def _numbered(file: str, name: str, column: Any) -> Any:
    """Return the different values of a column that is not of numbers, and the number of each row's value."""
    try:
        return column.combine_chunks().dictionary_encode()
    except NotImplementedError:  # That of Arrow is one.
        message = (
            f"{file}: column {shown(name)}: got {column.type}, expected numbers, text or dates"
        )
        raise DataError(message, code="table", path=file, feature=name) from None


def _numbers(column: Any) -> NDArray[Any] | None:
    """Return a column in single precision, missing values as NaN; None if it is not of numbers."""
    try:
        with np.errstate(over="ignore"):
            return _plain(column).astype(np.float32)
    except (TypeError, ValueError):
        return None


def _plain(column: Any) -> NDArray[Any]:
    from rustrank.inputs.vectors import as_floats, to_numpy

    return as_floats(to_numpy(column), "a column")


def _bits(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers that are equal where values are; all missing values are equal."""
    plain = np.where(np.isnan(values), np.float32(np.nan), values.astype(np.float32) + 0)
    return plain.view(np.uint32).astype(np.int64)


def _facts_of(values: NDArray[Any]) -> dict[str, Any]:
    present = values[~np.isnan(values)]
    low, high = (float(present.min()), float(present.max())) if len(present) else (None, None)
    missing = len(values) - len(present)
    constant = low == high and missing in (0, len(values))
    return {
        "rows": len(values),
        "missing": missing,
        "min": low,
        "max": high,
        "constant": constant,
    }


def _labels(labels: NDArray[Any] | None, codes: NDArray[np.int64]) -> dict[str, Any]:
    """Return the facts about labels; without a column of labels there are none."""
    if labels is None:
        return {"labels": [], "queries_without_relevant": None, "queries_with_one_label": None}
    from rustrank.data.raw_rows import label_ends

    low, high = label_ends(labels, codes, int(codes.max()) + 1)
    found, counts = np.unique(labels, return_counts=True)
    return {
        "labels": [list(pair) for pair in zip(found.tolist(), counts.tolist(), strict=True)],
        "queries_without_relevant": int((high == 0).sum()),
        "queries_with_one_label": int((low == high).sum()),
    }
