"""What all cases share: how they are kept, the docs that they use, and the row of a model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from result_cases.table import Result, floats, of_models, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

METRIC_NAMES = ["ndcg", "ndcg@10", "dcg@5", "err", "err@10", "map", "map@10", "mrr"]
METRIC_NAMES += ["precision@5", "recall@5", "pairwise"]
METRICS = ["ndcg@10", "map", "err@10"]
SMALL: dict[str, Any] = {"num_trees": 6, "num_leaves": 8, "min_leaf_docs": 5}
#: What one process and several workers, functions and commands, train alike.
WORKING: dict[str, Any] = {**SMALL, "docs_per_tree": 0.8}
CASES: dict[str, Callable[[], Result]] = {}


def case(name: str, *given: Any, **options: Any) -> Callable[[Callable[..., Result]], Any]:
    """Make a case of a function with these arguments."""

    def kept(function: Callable[..., Result]) -> Callable[..., Result]:
        assert name not in CASES, name
        CASES[name] = partial(function, *given, **options)
        return function

    return kept


def compute(name: str) -> Result:
    """Return the row of a case; what it warns of is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.RustrankWarning)
        return CASES[name]()


@dataclass(frozen=True, eq=False)
class Docs:
    """Docs of some queries."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    qid: NDArray[np.int64]
    names: tuple[str, ...]

    def dataset(self, **options: Any) -> rr.Dataset:
        return rr.Dataset(self.X, self.y, qid=self.qid, **options)


@cache
def clean(num_queries: int = 40, first: int = 0, seed: int = 3) -> Docs:
    """Make docs whose labels are levels of a polynomial."""
    made = rr.datasets.make_polynomial(num_queries, 20, 12, seed, first_query=first)
    return Docs(made.X, made.y, made.qid, made.feature_names)


@cache
def held() -> Docs:
    return clean(25, 1000)


MIXED = ("wide", "counts", "flag", "kind", "constant", "even", "near", "town")


@cache
def mixed(seed: int = 1, num_queries: int = 50) -> Docs:
    """Make docs with missing values, counts, flags, two categories, a constant, and noisy labels."""
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = rng.integers(1, 46, num_queries)
    rows = int(sizes.sum())
    X = rng.integers(-400, 401, (rows, len(MIXED))).astype(np.float32) / np.float32(64)
    X[:, 1] = rng.integers(0, 12, rows) ** 3
    X[:, 2] = rng.integers(0, 2, rows)
    X[:, 3] = np.minimum(rng.integers(0, 14, rows), rng.integers(0, 14, rows))
    X[:, 4] = 1
    X[:, 5] = np.floor(X[:, 5]) * 2
    X[:, 6] = X[:, 0] + rng.integers(-8, 9, rows) / np.float32(8)
    X[:, 7] = rng.integers(0, 6, rows) * 17
    kinds = np.array([4, -3, 2, 0, 5, -4, 1, -1, 3, -5, 2, 6, -2, 0], np.float32)
    worth = X[:, 0] + kinds[X[:, 3].astype(int)] + 2 * X[:, 2] + (X[:, 7] == 51) * np.float32(3)
    worth += X[:, 5] * X[:, 2] / 4 + rng.integers(-16, 17, rows) / np.float32(8)
    y = np.digitize(worth, [1, 4, 7, 10]).astype(np.float32)
    X[rng.integers(0, 7, rows) == 0, 0] = np.nan
    X[rng.integers(0, 9, rows) == 0, 5] = np.nan
    return Docs(X, y, np.repeat(np.arange(num_queries), sizes), MIXED)


def clicked(docs: Docs) -> tuple[Docs, NDArray[np.int64]]:
    """Return docs with clicks for labels, and the positions that they were shown at."""
    rng = np.random.Generator(np.random.PCG64(5))
    at = np.arange(len(docs.y)) - np.searchsorted(docs.qid, docs.qid)
    seen = rng.integers(0, 20, len(at)) < 20 - at
    clicks = seen & (rng.integers(0, 5, len(at)) < docs.y + 1)
    return replace(docs, y=clicks.astype(np.float32)), at + 1


def noise(count: int, seed: int, top: int = 1000) -> NDArray[np.float64]:
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(0, top, count)
    return drawn.astype(np.float64) / 64


#: Pairs of rows of the clean docs: the better, the worse, a probability and a weight.
PAIRS = [
    [20 * query + a, 20 * query + b, p, w]
    for query in range(40)
    for a, b, p, w in ((3, 1, 1, 1), (4, 9, 0.75, 2), (9, 4, 0.5, 1), (0, 17, 1, 0.5))
]
CATEGORICAL = {"categorical": ["kind", "town"], "feature_names": MIXED}


@case("data clean", partial(clean))
@case("data mixed", partial(mixed))
def data(make: Callable[[], Docs]) -> Result:
    docs = make()
    return Result(scores=floats(docs.X, docs.y, docs.qid), values=written({"rows": len(docs.y)}))


@case("data web", partial(rr.datasets.make_web, 20, 30, 3))
def data_of_numpy(make: Callable[[], Any]) -> Result:
    """Numbers that numpy's own logarithms go into: labels and sums to few digits are the same anywhere."""
    made = make()
    means = [f"{one:.3g}" for one in np.nanmean(made.X[:, ::9].astype(np.float64), axis=0)]
    return Result(
        scores=floats(made.y, made.qid, np.isnan(made.X)),
        values=written({"means": means}).replace(" ", ""),
    )


@case("data clicks")
def data_of_clicks() -> Result:
    docs = clean()
    made = rr.datasets.make_clicks(
        (docs.X, docs.y, docs.qid), sessions=3, depth=6, seed=2, scores=noise(len(docs.y), 9)
    )
    return Result(scores=floats(made.y, made.qid, made.position, made.row))


@case("data domains")
def data_of_domains() -> Result:
    made = rr.datasets.make_domains(8, 4, 4, 4, docs_per_query=10, seed=1)
    sets = list(vars(made).values())
    return Result(scores=floats(*(one.y for one in sets), *(one.qid for one in sets)))


def letor(path: Path, docs: Docs) -> Path:
    rr.datasets.Ranking(docs.X, docs.y, docs.qid, docs.names).to_letor(path)
    return path


def model(booster: rr.Booster, test: Docs, **values: Any) -> Result:
    """Return the row of a booster, and how it ranks docs."""
    scores = booster.predict(test.X, qid=test.qid)
    found = rr.evaluate(scores, test.y, qid=test.qid, metrics=METRICS)
    history = [one for by_metric in booster.history.values() for one in by_metric.values()]
    more = {"history": floats(*history)} if history else {}
    best = {} if booster.best_round is None else {"best_round": booster.best_round}
    return of_models([booster], scores, **found, **more, **best, **values)


def few(**options: Any) -> dict[str, Any]:
    return {"n_estimators": 6, "num_leaves": 8, "min_leaf_docs": 5, **options}
