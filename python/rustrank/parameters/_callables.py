"""Losses and metrics that people write: wrapped so that what they return is checked.

The compiled half calls them for one query at a time, with arrays of their own: scores, labels, the rows
of the docs in the caller's order, and the number of the query. Whatever they raise goes through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, shown
from rustrank.inputs.vectors import as_doubles, first_true

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class _Written:
    """A function that people wrote, with its name for messages and results."""

    given: Callable[..., Any]

    @property
    def name(self) -> str:
        """What the function is called, or the class of an object that can be called."""
        return str(getattr(self.given, "__name__", None) or type(self.given).__name__)


@dataclass(frozen=True)
class Loss(_Written):
    """A function ``(scores, labels, rows) -> (grad, hess)``."""

    query_ids: NDArray[Any]

    def function(
        self,
        scores: NDArray[np.float64],
        labels: NDArray[np.float32],
        rows: NDArray[np.uint32],
        query: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gradients and hessians that training can use."""
        given, of = self.given(scores, labels, rows), self.query_ids[query]
        try:
            grad, hess = given
        except (TypeError, ValueError):
            message = f"{self.name} returned {shown(given)} (query {of}): expected (grad, hess)"
            raise DataError(message, code="gradient", query=str(of)) from None
        return (
            self._checked(grad, "grad", rows, of, -np.inf),
            self._checked(hess, "hess", rows, of, 0.0),
        )

    def _checked(
        self, values: Any, what: str, rows: NDArray[np.uint32], query: Any, least: float
    ) -> NDArray[np.float64]:
        name = f"{what} of {self.name}"
        array = as_doubles(values, name)
        if len(array) != len(rows):
            message = (
                f"{name} has the wrong length (query {query}): got {len(array)}, expected "
                f"{len(rows)}, the number of docs"
            )
            raise DataError(message, code="gradient.length", query=str(query))
        at = first_true(~np.isfinite(array) | (array < least))
        if at is not None:
            value = "NaN" if np.isnan(array[at]) else repr(float(array[at]))
            message = (
                f"{name}[{at}] is {value} (row {rows[at]}, query {query}): expected a finite number"
                f"{' >= 0' if least == 0 else ''}"
            )
            raise DataError(message, code="gradient", row=int(rows[at]), query=str(query))
        return array


@dataclass(frozen=True)
class Measurement(_Written):
    """A function ``(scores, labels) -> float``; larger is better, NaN leaves the query out."""

    def function(
        self,
        scores: NDArray[np.float64],
        labels: NDArray[np.float32],
        rows: NDArray[np.uint32],  # noqa: ARG002 - losses need them, and both are called alike
        query: int,
    ) -> float:
        """Return the value of a query."""
        given = self.given(scores, labels)
        try:
            return float(given)
        except (TypeError, ValueError):
            message = f"{self.name} returned {shown(given)} (query {query}): expected a number"
            raise DataError(message, code="metric.value", query=str(query)) from None
