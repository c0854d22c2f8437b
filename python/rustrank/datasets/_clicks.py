"""Simulated clicks of users on ranked lists of judged documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.datasets._random_blocks import CLICKS, check, share, stream
from rustrank.errors import DataError, ParamError
from rustrank.formatting import count
from rustrank.inputs.queries import as_ids, group_ids
from rustrank.inputs.scalars import real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.datasets._random_blocks import Floats, Ints


@dataclass(frozen=True, eq=False)
class Clicks:
    """Ranked lists as shown in sessions, with clicks.

    Attributes
    ----------
    X : ndarray of float32, shape (shown, features)
        The features of the documents shown.
    y : ndarray of float32, shape (shown,)
        1 for a clicked document, else 0.
    qid : ndarray of int64, shape (shown,)
        The number of the session.
    position : ndarray of int64, shape (shown,)
        The position at which the document was shown, from 1.
    row : ndarray of int64, shape (shown,)
        The row of the document in the source data.
    propensity : ndarray of float64, shape (depth,)
        The probability that a position is examined: the true position bias.
    """

    X: Floats
    y: Floats
    qid: Ints
    position: Ints
    row: Ints
    propensity: NDArray[np.float64]

    def __repr__(self) -> str:
        """Summarise the sessions in one line."""
        return (
            f"<Clicks: {count(len(self.y), 'shown doc')}, {count(len(np.unique(self.qid)), 'session')}, "
            f"{count(int(self.y.sum()), 'click')}, {count(len(self.propensity), 'position')}>"
        )


def make_clicks(
    ranking: Any,
    sessions: int = 10,
    depth: int = 10,
    seed: int = 0,
    *,
    scores: Any = None,
    exploration: float = 1.0,
    propensity: Any = 1.0,
    noise: float = 0.1,
    attraction: float = 1.0,
) -> Clicks:
    """Show the docs of each query in some sessions, and click on them.

    In a session the docs are ordered by the scores of the ranker that was in use, with noise, and
    the first ``depth`` are shown. A doc is clicked if its place is looked at and the doc attracts:
    the position-based model, with the probabilities ``propensity[place]`` and ``attraction * (noise +
    (1 - noise) * (2**label - 1) / (2**most - 1))``, where ``most`` is the largest label of all.

    Parameters
    ----------
    ranking : Ranking, or (X, y, qid)
        Judged docs.
    sessions : int, default 10
        How often each query is asked.
    depth : int, default 10
        How many docs are shown.
    seed : int, default 0
        Fixes everything.
    scores : array-like of shape (num_docs,), optional
        What the ranker in use says; by default a random linear function of the features: a poor
        ranker, that users are nevertheless shown. One that knew more of the docs than the features
        do would make places worth learning from.
    exploration : float, default 1
        How much the order changes from session to session: the scale of the noise that is added to
        scores, beside their standard deviation.
    propensity : float or array-like of shape (depth,), default 1
        How often each place is looked at; or the exponent ``eta`` of ``1 / place**eta``.
    noise : float, default 0.1
        How much docs without relevance attract.
    attraction : float, default 1
        How much the best docs attract.

    Returns
    -------
    Clicks
        Their docs, session by session in the order of the queries, place by place.

    Examples
    --------
    >>> import rustrank as rr
    >>> judged = rr.datasets.make_polynomial(num_queries=20, seed=1)
    >>> clicks = rr.datasets.make_clicks(judged, sessions=5)
    >>> clicks.X.shape, int(clicks.position.max()), clicks.propensity[:2].tolist()
    ((1000, 50), 10, [1.0, 0.5])
    >>> log = rr.Dataset(clicks.X, clicks.y, qid=clicks.qid, position=clicks.position)
    >>> rr.train(log, num_trees=5).position_bias.shape
    (10,)
    """
    check(sessions=sessions, depth=depth)
    check(0, seed=seed)
    X, y, qid = ranking
    X, labels = np.asarray(X), np.asarray(y, np.float64)
    codes, _ = group_ids(as_ids(qid))
    seen = _propensity(propensity, depth)
    noise, attraction = share("noise", noise), share("attraction", attraction)
    gain = (2**labels - 1) / (2 ** labels.max() - 1)
    attracts = attraction * (noise + (1 - noise) * gain)
    if scores is None:
        scores = _linear(X, seed)
    scores = np.asarray(scores, np.float64)
    if scores.shape != labels.shape:
        message = f"scores: got {len(scores)}, expected {len(labels)}, one a doc"
        raise DataError(message, code="length")
    spread = real("exploration", exploration) * scores.std()
    parts = []
    for number, docs in enumerate(_docs_of(codes)):
        rng = stream(seed, CLICKS, number + 1)
        noisy = scores[docs] + spread * rng.standard_normal((sessions, len(docs)))
        shown = docs[np.argsort(-noisy, axis=1, kind="stable")[:, :depth]]
        most = shown.shape[1]
        clicked = rng.random(shown.shape) < seen[:most] * attracts[shown]
        ids = np.repeat(np.arange(sessions) + number * sessions, most)
        places = np.tile(np.arange(1, most + 1), sessions)
        parts.append((clicked.ravel().astype(np.float32), ids, places, shown.ravel()))
    y, ids, places, rows = map(np.concatenate, zip(*parts, strict=True))
    return Clicks(X[rows], y, ids, places, rows, seen)


def _linear(X: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Return a random linear function of the features, each with a mean of 0 and a spread of 1."""
    weights: NDArray[np.float64] = stream(seed, CLICKS).standard_normal(size=(X.shape[1],))
    scores = np.zeros(len(X))
    for column, weight in zip(X.T, weights, strict=True):
        known = np.isfinite(column)
        if known.any() and (spread := float(column[known].std(dtype=np.float64))) > 0:
            mean = column[known].mean(dtype=np.float64)
            scores += np.where(known, weight * (column - mean) / spread, 0.0)
    return scores


def _docs_of(codes: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the rows of each query, in order of first appearance."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _propensity(given: Any, depth: int) -> NDArray[np.float64]:
    if np.ndim(given) == 0:
        return np.asarray(1.0 / np.arange(1, depth + 1) ** real("propensity", given))
    seen = np.asarray(given, np.float64)
    if seen.shape != (depth,) or not ((seen >= 0) & (seen <= 1)).all():
        message = f"propensity: got {given!r}, expected {depth} shares from 0 to 1"
        raise ParamError(message, code="propensity")
    return seen
