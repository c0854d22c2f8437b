"""Engines as `train` times them: one training, a stamp when the data set is built and each round.

The same for all: 255 bins, the number of leaves, rate 0.1, at least 20 docs a leaf, no features or
rows sampled, no metric. Beyond that each engine's defaults, but for these: XGBoost has the pairs of
LightGBM's default (30 from the top) and no least hessian, since its default stops trees short of
their leaves; symmetric trees, CatBoost's and ours, have the depth with at least as many leaves, and CatBoost's loss
is named by the job; left alone it would grow trees from a sample of 80 % of the docs (MVS).
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

RATE = 0.1
LEAF_DOCS = 20
BINS = 255


@dataclass(frozen=True, eq=False)
class Matrix:
    """Docs, those of a query together."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    qid: NDArray[np.int64]
    group: NDArray[np.int64]

    def head(self, num_docs: int) -> Matrix:
        """Return the first queries that have so many docs together."""
        queries = int((self.group.cumsum() < num_docs).sum()) + 1
        group = self.group[:queries]
        docs = int(group.sum())
        return Matrix(self.X[:docs], self.y[:docs], self.qid[:docs], group)


@dataclass(frozen=True)
class Work:
    """What to train."""

    rounds: int
    leaves: int
    threads: int
    params: dict[str, Any]


def lightgbm(data: Matrix, work: Work, stamp: Callable[[], None]) -> float:
    import lightgbm as lgb

    params = {
        "objective": "lambdarank",
        "num_leaves": work.leaves,
        "learning_rate": RATE,
        "min_data_in_leaf": LEAF_DOCS,
        "max_bin": BINS,
        "metric": "none",
        "num_threads": work.threads,
        "verbose": -1,
        **work.params,
    }
    train = lgb.Dataset(data.X, data.y, group=data.group, params=params).construct()
    stamp()
    booster = lgb.Booster(params, train)
    for _ in range(work.rounds):
        booster.update()
        stamp()
    sizes = [
        int(line.removeprefix("num_leaves="))
        for line in booster.model_to_string().splitlines()
        if line.startswith("num_leaves=")
    ]
    return statistics.mean(sizes)


def xgboost(data: Matrix, work: Work, stamp: Callable[[], None]) -> float:
    import xgboost as xgb

    params = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": work.leaves,
        "eta": RATE,
        "min_child_weight": 0,
        "max_bin": BINS,
        "lambdarank_num_pair_per_sample": 30,
        "disable_default_eval_metric": True,
        "nthread": work.threads,
        **work.params,
    }
    train = xgb.QuantileDMatrix(
        data.X, data.y, group=data.group, max_bin=BINS, nthread=work.threads
    )
    stamp()
    booster = xgb.Booster(params, [train])
    for number in range(work.rounds):
        booster.update(train, number)
        stamp()
    return float(statistics.mean(tree.count("leaf=") for tree in booster.get_dump()))


def depth_for(leaves: int) -> int:
    """Return the depth with at least as many leaves: 5 for 31, 8 for 255."""
    return (leaves - 1).bit_length()


def catboost(data: Matrix, work: Work, stamp: Callable[[], None]) -> float:
    import catboost as cb

    class Stamping:
        def after_iteration(self, _: object) -> bool:
            stamp()
            return True

    depth = depth_for(work.leaves)
    params = {
        "iterations": work.rounds,
        "depth": depth,
        "learning_rate": RATE,
        "border_count": BINS,
        "bootstrap_type": "No",
        "boosting_type": "Plain",
        "metric_period": work.rounds,
        "thread_count": work.threads,
        "logging_level": "Silent",
        "allow_writing_files": False,
        **work.params,
    }
    pool = cb.Pool(data.X, data.y, group_id=data.qid, thread_count=work.threads)
    # The cells are binned by `fit`, in the first round's time.
    stamp()
    cb.CatBoost(params).fit(pool, callbacks=[Stamping()])
    return float(2**depth)


def rustrank(data: Matrix, work: Work, stamp: Callable[[], None]) -> float:
    train = rr.Dataset(data.X, data.y, qid=data.qid, num_threads=work.threads)
    stamp()
    sizes: list[int] = []
    is_symmetric = work.params.get("tree_shape") == "symmetric"

    def after_round(done: rr.Round) -> None:
        sizes.append(done.num_leaves)
        stamp()

    params = {
        "objective": "lambdamart",
        "num_trees": work.rounds,
        "num_leaves": 2 ** depth_for(work.leaves) if is_symmetric else work.leaves,
        "learning_rate": RATE,
        "min_leaf_docs": LEAF_DOCS,
        "num_threads": work.threads,
        **work.params,
    }
    rr.train(train, callbacks=after_round, **params)
    return statistics.mean(sizes)


ENGINES: dict[str, Callable[[Matrix, Work, Callable[[], None]], float]] = {
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "rustrank": rustrank,
}
