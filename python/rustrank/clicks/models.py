"""Models of how people click: position-based, cascade, and dynamic Bayesian.

Each separates whether a document is relevant from whether it was looked at. All sums are in the order of
ids, so results do not depend on the order of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import unfitted, wrong_value
from rustrank.formatting import count
from rustrank.inputs.scalars import whole
from rustrank.metrics.frames import frame

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank.clicks.log import ClickLog

__all__ = ["Cascade", "ClickModel", "DynamicBayesian", "PositionBased", "Relevance"]

#: A probability is at least this far from 0 and 1, so that no click is impossible.
_EDGE = 1e-9


@dataclass(frozen=True)
class Relevance:
    """The estimated relevance of each pair of query and document.

    Attributes
    ----------
    query, doc : ndarray
        The ids of the pair.
    value : ndarray of float
        The probability that the document satisfies whoever looks at it.
    impressions : ndarray of int
        How many times the document was shown for the query: how far the value can be trusted.
    """

    query: NDArray[Any]
    doc: NDArray[Any]
    value: NDArray[np.float64]
    impressions: NDArray[np.int64]

    def __repr__(self) -> str:
        """Summarise the estimates in one line."""
        mean = f", mean value {self.value.mean():.4f}" if len(self.value) else ""
        return (
            f"<Relevance: {count(len(self.value), 'pair')} of query and doc, "
            f"{count(int(self.impressions.sum()), 'impression')}{mean}>"
        )

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame: a row for each pair, with its value and its impressions."""
        return frame(dict(vars(self)))

    def labels(self, levels: int = 5) -> NDArray[np.float32]:
        """Return the values as grades from 0 to ``levels - 1``, in steps of equal width.

        The most relevant grade is from ``1 - 1 / levels`` on.
        """
        most = whole("levels", levels, 2, 32)
        return np.minimum(np.floor(self.value * most), most - 1).astype(np.float32)


class ClickModel(ABC):
    """The base class of click models: `fit` to a log, then `relevance` and `click_probability`."""

    _log: ClickLog | None = None
    #: The probability that a document attracts a click when it is looked at, by pair.
    _attraction: NDArray[np.float64]

    @abstractmethod
    def fit(self, log: ClickLog) -> Self:
        """Estimate the parameters from a log; returns the model."""

    @abstractmethod
    def click_probability(self) -> NDArray[np.float64]:
        """Return the probability of a click in each row of the log, given the clicks above it."""

    def relevance(self) -> Relevance:
        """Return the relevance of each pair of query and document."""
        log = self._fitted()
        impressions = np.bincount(log.pairs, minlength=log.num_pairs)
        value = self._relevance_of_pairs()
        return Relevance(log.query_of_pair, log.doc_of_pair, value, impressions)

    def log_likelihood(self) -> float:
        """Return the mean log-likelihood of a row of the log, in nats: larger is better."""
        log, p = self._fitted(), np.clip(self.click_probability(), _EDGE, 1 - _EDGE)
        return float(np.mean(np.where(log.clicks == 1, np.log(p), np.log1p(-p))))

    def perplexity(self) -> float:
        """Return two to the mean surprise of a row in bits: 1 is certain, 2 is a coin."""
        return float(np.exp(-self.log_likelihood()))

    def __repr__(self) -> str:
        """Say whether the model is fitted, and to what."""
        log = self._log
        state = "not fitted" if log is None else f"fitted to {repr(log).strip('<>')}"
        return f"<{type(self).__name__}: {state}>"

    def _relevance_of_pairs(self) -> NDArray[np.float64]:
        return self._attraction

    def _fitted(self) -> ClickLog:
        if self._log is None:
            raise unfitted(type(self).__name__)
        return self._log


def _mean_by(
    groups: NDArray[Any], done: NDArray[Any], tried: NDArray[Any], number: int
) -> NDArray[np.float64]:
    """Return the share of successes of each group, with one success and one failure added."""
    successes = np.bincount(groups, done, number)
    return (successes + 1) / (np.bincount(groups, tried, number) + 2)


class PositionBased(ClickModel):
    """The position-based model: a click needs a look, which depends on the position, and attraction.

    ``P(click) = examination[position] * attraction[query, doc]``, fitted by expectation maximisation
    (Craswell and others 2008; Chuklin, Markov and de Rijke 2015, section 3.3).

    Parameters
    ----------
    iterations : int, default 50
        The rounds of expectation maximisation.

    Attributes
    ----------
    examination : ndarray of shape (num_positions,)
        The probability that a position is looked at, relative to the first.

    Examples
    --------
    >>> import rustrank as rr
    >>> log = rr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2], query=["cat"] * 4, doc=["a", "b", "b", "a"],
    ...     position=[1, 2, 1, 2], click=[1, 0, 1, 0],
    ... )
    >>> found = rr.clicks.PositionBased().fit(log).relevance()
    >>> found.doc.tolist()
    ['a', 'b']
    """

    examination: NDArray[np.float64]

    def __init__(self, iterations: int = 50) -> None:
        self.iterations = whole("iterations", iterations, 1)

    def fit(self, log: ClickLog) -> Self:
        """Estimate attraction and examination from a log; returns the model."""
        places, clicks = log.positions - 1, log.clicks
        attraction = np.full(log.num_pairs, 0.5)
        examination = 1.0 / np.arange(1, log.num_positions + 1)
        ones = np.ones(log.num_rows)
        for _ in range(self.iterations):
            a, e = attraction[log.pairs], examination[places]
            no_click = 1 - a * e
            was_attractive = np.where(clicks == 1, 1.0, a * (1 - e) / no_click)
            was_examined = np.where(clicks == 1, 1.0, e * (1 - a) / no_click)
            attraction = _mean_by(log.pairs, was_attractive, ones, log.num_pairs)
            examination = _mean_by(places, was_examined, ones, log.num_positions)
        self._attraction, self._examined, self._log = attraction, examination, log
        self.examination = examination / examination[0]
        return self

    def click_probability(self) -> NDArray[np.float64]:
        """Return the probability of a click in each row of the log."""
        log = self._fitted()
        p: NDArray[np.float64] = self._attraction[log.pairs] * self._examined[log.positions - 1]
        return p


class Cascade(ClickModel):
    """The cascade model: people read from the top and stop at the first click (Craswell and others 2008).

    The attraction of a document is its share of first clicks where everything above it was passed over. Clicks
    after the first say nothing here.
    """

    def fit(self, log: ClickLog) -> Self:
        """Estimate attraction from a log; returns the model."""
        is_read = self._are_read(log)
        clicks = log.clicks * is_read
        self._attraction = _mean_by(log.pairs, clicks, is_read, log.num_pairs)
        self._log = log
        return self

    @staticmethod
    def _are_read(log: ClickLog) -> NDArray[np.float64]:
        """Return 1 for rows up to the first click of their session, else 0."""
        log.grid()
        before = np.cumsum(log.clicks) - log.clicks
        sizes = np.diff(np.append(log.starts, log.num_rows))
        of_session = before - np.repeat(before[log.starts], sizes)
        is_read: NDArray[np.float64] = (of_session == 0).astype(np.float64)
        return is_read

    def click_probability(self) -> NDArray[np.float64]:
        """Return the probability of a click in each row of the log; 0 after the first click."""
        log = self._fitted()
        p: NDArray[np.float64] = self._attraction[log.pairs] * self._are_read(log)
        return p


class DynamicBayesian(ClickModel):
    """The dynamic Bayesian network of Chapelle and Zhang (2009): people stop once they are satisfied.

    From the top: a document that is looked at is clicked with the probability of its *attraction*; a click
    satisfies with the probability of its *satisfaction*, and then the session ends; otherwise the next
    document is looked at with the probability ``continuation``. Relevance is attraction times
    satisfaction. Fitted by expectation maximisation.

    Parameters
    ----------
    iterations : int, default 50
        The rounds of expectation maximisation.
    continuation : float, optional
        The probability of going on when not satisfied; by default it is estimated. With 1 the model is the
        simplified one of the paper.
    """

    def __init__(self, iterations: int = 50, continuation: float | None = None) -> None:
        self.iterations = whole("iterations", iterations, 1)
        self._given = continuation
        if continuation is not None and not 0 < continuation <= 1:
            raise wrong_value("continuation", continuation, "above 0 and at most 1, or None")
        self.continuation = 0.9 if continuation is None else float(continuation)

    def fit(self, log: ClickLog) -> Self:
        """Estimate attraction, satisfaction and continuation from a log; returns the model."""
        grid = log.grid()
        pairs, number = log.pairs, log.num_pairs
        self._attraction, self._satisfaction = np.full(number, 0.5), np.full(number, 0.5)
        for _ in range(self.iterations):
            looked, satisfied, went_on, could = self._expected(log, grid)
            self._attraction = _mean_by(pairs, log.clicks, looked, number)
            self._satisfaction = _mean_by(pairs, satisfied, log.clicks, number)
            if self._given is None:
                self.continuation = float((went_on + 1) / (could + 2))
        self._log = log
        return self

    def _expected(
        self, log: ClickLog, grid: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
        """Return what is hidden, given the clicks.

        That is how likely each row was looked at, and satisfied; and how many times people went on, and
        could have.
        """
        gamma, width = self.continuation, grid.shape[1]
        a = np.append(self._attraction[log.pairs], 0.0)[grid]
        s = np.append(self._satisfaction[log.pairs], 0.0)[grid]
        clicks = np.append(log.clicks, 0.0)[grid]
        is_row = grid >= 0
        # No click from a position on, if it is looked at; 1 beyond the last row of a session.
        silent = np.ones((len(grid), width + 1))
        for at in range(width - 1, -1, -1):
            here = (1 - a[:, at]) * (gamma * silent[:, at + 1] + 1 - gamma)
            silent[:, at] = np.where(is_row[:, at], here, 1.0)
        has_click = clicks.any(axis=1)
        last = np.where(has_click, width - 1 - np.argmax(clicks[:, ::-1], axis=1), -1)
        looked, satisfied = np.zeros(grid.shape), np.zeros(grid.shape)
        went_on = could = 0.0
        for at in range(width):
            is_last, is_above = at == last, at < last
            is_after = ~is_last & ~is_above & is_row[:, at]
            has_next = is_row[:, at + 1] if at + 1 < width else np.zeros(len(grid), bool)
            after = silent[:, at + 1]
            if at == 0:
                looked[:, 0] = 1.0
            looked[is_above | is_last, at] = 1.0
            # Of the last click: satisfied, went on, or gave up.
            unsatisfied = (1 - s[:, at]) * (gamma * after + 1 - gamma)
            satisfied[:, at] = np.where(is_last, s[:, at] / (s[:, at] + unsatisfied), 0.0)
            not_satisfied = np.where(is_last, 1 - satisfied[:, at], looked[:, at])
            share = gamma * after / (gamma * after + 1 - gamma)
            onward = np.where(is_above, 1.0, not_satisfied * share)
            if at + 1 < width:
                free = (is_last | is_after) & has_next
                looked[free, at + 1] = onward[free]
            counted = (is_above | is_last | is_after) & has_next
            went_on += float(onward[counted].sum())
            could += float(np.where(is_above, 1.0, not_satisfied)[counted].sum())
        return looked[is_row], satisfied[is_row], went_on, could

    def click_probability(self) -> NDArray[np.float64]:
        """Return the probability of a click in each row of the log, given the clicks above it."""
        log = self._fitted()
        grid = log.grid()
        a = np.append(self._attraction[log.pairs], 0.0)[grid]
        s = np.append(self._satisfaction[log.pairs], 0.0)[grid]
        clicks = np.append(log.clicks, 0.0)[grid]
        looked = np.ones(len(grid))
        p = np.zeros(grid.shape)
        for at in range(grid.shape[1]):
            p[:, at] = looked * a[:, at]
            passed = looked * (1 - a[:, at]) / np.maximum(1 - p[:, at], _EDGE)
            unsatisfied = np.where(clicks[:, at] == 1, 1 - s[:, at], passed)
            looked = self.continuation * unsatisfied
        rows: NDArray[np.float64] = p[grid >= 0]
        return rows

    def _relevance_of_pairs(self) -> NDArray[np.float64]:
        relevance: NDArray[np.float64] = self._attraction * self._satisfaction
        return relevance
