"""Evaluations and comparisons as pandas DataFrames, and the tables of their segments."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

from rustrank.errors import ParamError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rustrank.formatting import Table
    from rustrank.metrics.comparison import Comparison
    from rustrank.metrics.evaluation import Evaluation, MetricValue

    Result: TypeAlias = Evaluation | Comparison


def frame(records: Sequence[dict[str, Any]] | dict[str, Any]) -> Any:
    """Return rows, or columns, as a pandas DataFrame."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        message = "to_pandas needs pandas (pip install pandas); to_dict needs nothing"
        raise ImportError(message) from None
    return pandas.DataFrame(records)


def query_frame(result: Result, columns: Iterable[tuple[str, MetricValue | Any]]) -> Any:
    """Return a row for each query: its id, its segment, and columns of values."""
    made: dict[str, Any] = {"query": _query_ids(result)}
    if result.segments:
        segment_of = {
            query: name
            for name, part in result.segments.items()
            for query in _query_ids(part).tolist()
        }
        made["segment"] = [segment_of.get(query) for query in made["query"].tolist()]
    for name, value in columns:
        made[name] = getattr(value, "per_query", value)
    return frame(made)


def _query_ids(result: Result) -> Any:
    values: Any = result.values()
    return next(iter(values)).query_ids


def segment_frame(result: Result) -> Any:
    """Return a row for each segment and metric."""
    if not result.segments:
        raise ParamError("by_segment: there are no segments: pass segments=", code="by_segment")
    return frame(
        [
            {"segment": name, **record}
            for name, part in result.segments.items()
            for record in part._records()
        ]
    )


def segment_tables(result: Result, head: list[str]) -> list[Table]:
    """Return the table of the segments, if there are any."""
    rows = [[str(name), *row] for name, part in result.segments.items() for row in part._rows()]
    return [(["segment", *head], rows)] if rows else []
