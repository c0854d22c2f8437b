"""Models of how people click: position-based, cascade, and dynamic Bayesian.

Each separates whether a document is relevant from whether it was looked at. All sums are in the order of
ids, so results do not depend on the order of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import unfitted, warn_caller, wrong_value
from rustrank.formatting import count
from rustrank.inputs.scalars import whole
from rustrank.metrics.frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank.clicks.log import ClickLog

__all__ = ["Cascade", "ClickModel", "DynamicBayesian", "PositionBased", "Relevance"]

#: A probability is at least this far from 0 and 1, so that no click is impossible.
_EDGE = 1e-9

#: A fit has converged once a round changes no probability by more than this.
_STILL = 1e-6


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


def _sums(groups: NDArray[Any], values: NDArray[Any], number: int) -> NDArray[np.float64]:
    """Return the sum of each group."""
    return np.asarray(np.bincount(groups, values, number), np.float64)


def _mean_by(
    groups: NDArray[Any], done: NDArray[Any], tried: NDArray[Any], number: int
) -> NDArray[np.float64]:
    """Return the share of successes of each group, with one success and one failure added."""
    successes = np.bincount(groups, done, number)
    return (successes + 1) / (np.bincount(groups, tried, number) + 2)


def _most_likely(
    start: NDArray[np.float64],
    clicked: NDArray[np.float64],
    prior: float,
    group: NDArray[np.int64],
    passed: NDArray[np.float64],
    factor: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the most likely probability of each group, with two looks added of which a share is clicked.

    That share is ``prior``. A group has ``clicked`` clicks and, in each of its cells, ``passed`` rows without; the
    probability of a click in a cell is that of the group times the cell's ``factor``. The slope of the log-likelihood
    times the probability falls ever faster, so Newton's method comes down to its zero and never passes it again.
    """
    p = start
    for _ in range(100):
        left = 1 - p[group] * factor
        failed = 2 * (1 - prior) / (1 - p) + np.bincount(group, passed * factor / left, len(p))
        fall = 2 * (1 - prior) / (1 - p) ** 2 + np.bincount(
            group, passed * factor / left**2, len(p)
        )
        after = p + (clicked + 2 * prior - p * failed) / fall
        after = np.clip(after, p / 2, np.minimum((p + 1) / 2, 1 - _EDGE))
        is_done = np.abs(after - p) <= 1e-13
        p = after
        if is_done.all():
            break
    return p


def _change(before: Iterable[Any], after: Iterable[Any]) -> float:
    """Return the largest change of any of these probabilities."""
    return max(
        float(np.abs(np.subtract(a, b)).max(initial=0.0))
        for a, b in zip(before, after, strict=True)
    )


def _warn_of_change(model: Any, change: float, more: str) -> None:
    """Warn that the rounds of a model were not enough."""
    name, most = type(model).__name__, model.iterations
    warn_caller(
        f"{name} has not converged: the last of {count(most, 'iteration')} still changed a probability by "
        f"{change:.2g}. Allow more, such as iterations={10 * most}{'. ' * bool(more)}{more}",
        "converged",
    )


class PositionBased(ClickModel):
    """The position-based model: a click needs a look, which depends on the position, and attraction.

    ``P(click) = examination[position] * attraction[query, doc]`` (Craswell and others 2008; Chuklin, Markov and
    de Rijke 2015, section 3.3). Only the product shows in clicks, so the first position of the log is taken to be
    looked at always, and no other more often; `relevance` is then the attraction. What has few impressions is taken
    to be nearer to the mean of the first position: two impressions with its rate of clicks are added. Fitted by the most likely
    examination for the attraction found so far, then the most likely attraction, in turn: expectation maximisation
    ends at the same values, but needs thousands of rounds where clicks are rare.

    Parameters
    ----------
    iterations : int, default 200
        The most rounds. Fitting ends earlier once no probability changes by more than a millionth, and warns if
        that was not reached.

    Attributes
    ----------
    examination : ndarray of shape (num_positions,)
        The probability that a position is looked at, relative to the first; 0.5 for positions without rows.

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

    def __init__(self, iterations: int = 200) -> None:
        self.iterations = whole("iterations", iterations, 1)

    def fit(self, log: ClickLog) -> Self:
        """Estimate attraction and examination from a log; returns the model."""
        places, number = log.positions - 1, log.num_pairs
        # A cell is a pair at a position: rows of the same cell are alike but for their clicks.
        cells, cell = np.unique(log.pairs * max(1, log.num_positions) + places, return_inverse=True)
        pair_of, place_of = (
            np.asarray(one, np.int64) for one in np.divmod(cells, max(1, log.num_positions))
        )
        passed = _sums(cell, 1 - log.clicks, len(cells))
        clicked_pairs = _sums(log.pairs, log.clicks, number)
        clicked_places = _sums(places, log.clicks, log.num_positions)
        first = places.min() if len(places) else 0
        on_first = log.clicks[places == first]
        mean = (on_first.sum() + 1) / (len(on_first) + 2)
        attraction = (clicked_pairs + 2 * mean) / (np.bincount(log.pairs, minlength=number) + 2)
        examination = np.full(log.num_positions, 0.5)
        for _ in range(self.iterations):
            before = attraction, examination
            attracted, looked = attraction[pair_of], np.minimum(examination, 1 - _EDGE)
            examination = _most_likely(looked, clicked_places, 0.5, place_of, passed, attracted)
            examination[first : first + 1] = 1.0
            looked = examination[place_of]
            attraction = _most_likely(attraction, clicked_pairs, mean, pair_of, passed, looked)
            change = _change(before, (attraction, examination))
            if change <= _STILL:
                break
        else:
            where = "Fits are slow where each document is nearly always shown at the same position"
            _warn_of_change(self, change, where)
        self._attraction, self.examination, self._log = attraction, examination, log
        return self

    def click_probability(self) -> NDArray[np.float64]:
        """Return the probability of a click in each row of the log."""
        log = self._fitted()
        p: NDArray[np.float64] = self._attraction[log.pairs] * self.examination[log.positions - 1]
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
    iterations : int, default 200
        The most rounds of expectation maximisation. Fitting ends earlier once no probability changes by more than
        a millionth, and warns if that was not reached.
    continuation : float, optional
        The probability of going on when not satisfied; by default it is estimated. With 1 the model is the
        simplified one of the paper.
    """

    def __init__(self, iterations: int = 200, continuation: float | None = None) -> None:
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
            before = self._attraction, self._satisfaction, self.continuation
            looked, satisfied, went_on, could = self._expected(log, grid)
            self._attraction = _mean_by(pairs, log.clicks, looked, number)
            self._satisfaction = _mean_by(pairs, satisfied, log.clicks, number)
            if self._given is None:
                self.continuation = float((went_on + 1) / (could + 2))
            change = _change(before, (self._attraction, self._satisfaction, self.continuation))
            if change <= _STILL:
                break
        else:
            _warn_of_change(self, change, "")
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
