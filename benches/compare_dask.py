"""rustrank, LightGBM and XGBoost on a Dask cluster of this machine, on real folds, beside themselves without a cluster.

Each library trains the same number of trees of as many leaves on partitions that cut queries: with its estimator for
Dask, and its own one-machine ranker on all rows. Printed are the seconds of `fit` on the cluster, the bytes over the
loopback meanwhile, NDCG@10 on the test part, and by how much the predictions differ at most from those of the
one-machine model of the same library.

``compare_dask.py [--sets MSLR-mini,MQ2008] [--workers 2]`` prints Markdown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import rustrank as rr
from versus.folds import Docs, read_fold

if TYPE_CHECKING:
    from collections.abc import Callable

TREES, LEAVES, RATE, LEAST = 100, 31, 0.1, 20


def loopback() -> int:
    """Return the bytes that the loopback has carried so far."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.split()[0] == "lo:")


def chunks_by_query(docs: Docs, parts: int) -> tuple[int, ...]:
    """Return the rows of partitions of whole queries, which LightGBM needs."""
    ends = np.cumsum(docs.group)
    wanted = [len(docs.y) * part // parts for part in range(1, parts)]
    cuts = sorted({int(ends[np.searchsorted(ends, one)]) for one in wanted} | {len(docs.y)})
    return tuple(np.diff([0, *cuts]).tolist())


def rustrank(
    docs: Docs, test: Docs, parts: int
) -> tuple[Callable[[], Any], Callable[[Any], Any], Any]:
    from rustrank.dask import LambdaMART

    options: dict[str, Any] = {
        "n_estimators": TREES,
        "num_leaves": LEAVES,
        "min_leaf_docs": LEAST,
        "preset": "plain",
    }
    rows = -(-len(docs.y) // parts)
    own = [da.from_array(one, chunks=(rows, -1)[: one.ndim]) for one in (docs.X, docs.y, docs.qid)]
    alone = rr.LambdaMART(**options).fit(docs.X, docs.y, docs.qid).predict(test.X)
    return (
        lambda: LambdaMART(**options).fit(*own),
        lambda model: model.booster_.predict(test.X),
        alone,
    )


def lightgbm(
    docs: Docs, test: Docs, parts: int
) -> tuple[Callable[[], Any], Callable[[Any], Any], Any]:
    import lightgbm as lgb

    options: dict[str, Any] = {
        "n_estimators": TREES,
        "num_leaves": LEAVES,
        "learning_rate": RATE,
        "min_child_samples": LEAST,
        "verbose": -1,
    }
    sizes = chunks_by_query(docs, parts)
    X, y = (da.from_array(one, chunks=(sizes, -1)[: one.ndim]) for one in (docs.X, docs.y))
    ends = np.cumsum(docs.group)
    cuts = [0, *(int(np.searchsorted(ends, end)) + 1 for end in np.cumsum(sizes))]
    group = da.from_array(np.asarray(docs.group), chunks=(tuple(np.diff(cuts).tolist()),))
    alone = lgb.LGBMRanker(**options).fit(docs.X, docs.y, group=docs.group).predict(test.X)
    return (
        lambda: lgb.DaskLGBMRanker(**options, tree_learner="data").fit(X, y, group=group),
        lambda model: model.booster_.predict(test.X),
        alone,
    )


def xgboost(
    docs: Docs, test: Docs, parts: int
) -> tuple[Callable[[], Any], Callable[[Any], Any], Any]:
    import xgboost as xgb
    from xgboost.dask import DaskXGBRanker

    options: dict[str, Any] = {
        "n_estimators": TREES, "max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide",
        "learning_rate": RATE, "tree_method": "hist",
    }  # fmt: skip
    rows = -(-len(docs.y) // parts)
    own = [da.from_array(one, chunks=(rows, -1)[: one.ndim]) for one in (docs.X, docs.y, docs.qid)]
    alone = xgb.XGBRanker(**options).fit(docs.X, docs.y, qid=docs.qid).predict(test.X)
    return (
        lambda: DaskXGBRanker(**options, allow_group_split=True).fit(own[0], own[1], qid=own[2]),
        lambda model: model.get_booster().inplace_predict(test.X),
        alone,
    )


def main() -> None:
    """Compare them on each set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default="MQ2008,MSLR-mini")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | library | seconds | loopback, MB | NDCG@10 | one machine | largest difference |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster):
        for name in options.sets.split(","):
            fold = read_fold(name, 1)
            train, test = fold.train, fold.test
            for library in (rustrank, lightgbm, xgboost):
                fit, predict, alone = library(train, test, 5)
                fit()
                before, since = loopback(), time.perf_counter()
                model = fit()
                took, moved = time.perf_counter() - since, loopback() - before
                scores = predict(model)
                values = [
                    float(rr.evaluate(one, y=test.y, group=test.group)["ndcg@10"])
                    for one in (scores, alone)
                ]
                difference = float(np.max(np.abs(scores - alone)))
                print(
                    f"| {name} | {library.__name__} | {took:.2f} | {moved / 1e6:.0f} | {values[0]:.4f} | "
                    f"{values[1]:.4f} | {difference:.2g} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
