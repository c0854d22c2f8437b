"""Data of the shapes that training is timed on, written once for all measured processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rustrank.datasets import Ranking, make_polynomial, make_web
from versus.folds import join, read_parts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

SHAPES = {
    "web": "make_web, 700k docs x 136, 120 a query",
    "polynomial": "make_polynomial, 500k docs x 50, 50 a query",
    "wide": "make_web's features and noisy copies of them, 130k docs x 700, 24 a query",
    "mq2008": "MQ2008, parts 1 to 3, 9.6k docs x 46 (real, never scaled)",
}
_NAMES = ("X", "y", "qid", "group")


def save_matrix(folder: Path, ranking: Ranking) -> None:
    for name in _NAMES:
        np.save(folder / f"{name}.npy", getattr(ranking, name))


def load_matrix(folder: Path) -> tuple[Floats, Floats, Ints, Ints]:
    """Return X, y, qid and group."""
    X, y, qid, group = (np.load(folder / f"{name}.npy") for name in _NAMES)
    return X, y, qid, group


def make_shape(shape: str, size: float, data: Path) -> Ranking:
    """Make the data of a shape, with ``size`` times its queries."""
    if shape == "web":
        return make_web(max(1, round(5833 * size)), seed=1)
    if shape == "polynomial":
        return make_polynomial(max(1, round(10_000 * size)), seed=1)
    if shape == "wide":
        return make_wide(max(1, round(5417 * size)), seed=1)
    docs = join(read_parts("MQ2008", data)[:3]).shuffled([7])
    return Ranking(docs.X, docs.y, docs.qid, ())


def make_wide(num_queries: int, seed: int, num_features: int = 700) -> Ranking:
    """Make short web queries of many features: each web feature, then copies with noise of 30 %.

    An empty field's zeros and a missing cell stay what they are, so the copies are as sparse.
    """
    web = make_web(num_queries, docs_per_query=24, seed=seed)
    own = web.X.shape[1]
    rng = np.random.default_rng([seed, num_features])
    X = np.empty((len(web.y), num_features), np.float32)
    X[:, :own] = web.X
    varied = np.flatnonzero(np.nanmin(web.X, axis=0) < np.nanmax(web.X, axis=0))
    for number in range(own, num_features):
        noise = rng.standard_normal(len(X), dtype=np.float32)
        X[:, number] = web.X[:, varied[number % len(varied)]] * (1 + np.float32(0.3) * noise)
    return Ranking(X, web.y, web.qid, ())
