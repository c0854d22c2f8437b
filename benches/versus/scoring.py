"""Scoring against other libraries: ratios, all measured in one run on one machine, one thread.

``python benches/compare_score.py`` trains LightGBM once a size (random features, since only the
shape of trees matters), scores with it and with rustrank's copy of the same model, and with what
else is installed: XGBoost with as many trees and leaves of its own, treelite's GTIL and TL2cgen on
LightGBM's model. Every call gets rows that it has not seen for thousands of calls: repeating one
row would teach the branch predictor the answer. Time is CPU time of the process, least of the
repeats, Python's share included on all sides.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

FEATURES = 136
TREES = 500
# The bars of issue 4: (docs a call) -> tool -> how many times faster.
BARS = {
    1000: {"LightGBM": 40, "XGBoost": 15, "TL2cgen": 25, "GTIL": 60},
    100: {"LightGBM": 30, "XGBoost": 10, "TL2cgen": 15, "GTIL": 40},
    8: {},
    1: {"LightGBM": 5, "XGBoost": 30, "TL2cgen": 2},
}


def training_data(docs: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    features = random.normal(size=(docs, FEATURES)).astype(np.float32)
    score = features[:, :10].sum(1) + features[:, 10] * features[:, 11]
    labels = np.clip((score + random.normal(size=docs)) / 2 + 1, 0, 4).astype(int)
    return features, labels


def lightgbm_model(features: np.ndarray, labels: np.ndarray, leaves: int) -> Any:
    import lightgbm as lgb

    params = {
        "objective": "lambdarank",
        "num_leaves": leaves,
        "learning_rate": 0.05,
        "feature_fraction": 0.3,
        "num_threads": 1,
        "verbose": -1,
    }
    groups = [100] * (len(labels) // 100)
    data = lgb.Dataset(features, labels, group=groups, params={"verbose": -1, "num_threads": 1})
    return lgb.train(params, data, TREES)


def xgboost_model(features: np.ndarray, labels: np.ndarray, leaves: int) -> Any:
    import xgboost as xgb

    params = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": leaves,
        "max_depth": 0,
        "min_child_weight": 0,
        "eta": 0.05,
        "colsample_bytree": 0.3,
        "nthread": 1,
    }
    data = xgb.DMatrix(features, labels, group=[100] * (len(labels) // 100), nthread=1)
    booster = xgb.train(params, data, TREES)
    booster.set_param({"nthread": 1})
    return booster


def installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def runners(leaves: int, docs: int, folder: Path) -> dict[str, Callable[[np.ndarray], Any]]:
    """What scores a table, by tool; ours comes first."""
    features, labels = training_data(docs)
    theirs = lightgbm_model(features, labels, leaves)
    path = folder / f"lightgbm-{leaves}.txt"
    theirs.save_model(path)
    ours = rr.Booster.load(path)
    rows = features[:500]
    if not np.array_equal(ours.score(rows), theirs.predict(rows, raw_score=True)):
        msg = "the scores differ"
        raise RuntimeError(msg)
    tools: dict[str, Callable[[np.ndarray], Any]] = {
        "rustrank": lambda rows: ours.score(rows, num_threads=1),
        "LightGBM": lambda rows: theirs.predict(rows, raw_score=True, num_threads=1),
    }
    if installed("xgboost"):
        xgb = xgboost_model(features, labels, leaves)
        tools["XGBoost"] = lambda rows: xgb.inplace_predict(rows, predict_type="margin")
    if installed("treelite") and installed("tl2cgen"):
        import tl2cgen
        import treelite

        model = treelite.frontend.load_lightgbm_model(str(path))
        tools["GTIL"] = lambda rows: treelite.gtil.predict(model, rows, nthread=1, pred_margin=True)
        library = folder / f"compiled-{leaves}.so"
        tl2cgen.annotate_branch(
            model, tl2cgen.DMatrix(features[:2000]), path=folder / "branches.json"
        )
        tl2cgen.export_lib(
            model,
            toolchain="gcc",
            libpath=str(library),
            params={
                "parallel_comp": 16,
                "quantize": 1,
                "annotate_in": str(folder / "branches.json"),
            },
            nthread=2,
        )
        predictor = tl2cgen.Predictor(str(library), nthread=1)
        tools["TL2cgen"] = lambda rows: predictor.predict(tl2cgen.DMatrix(rows), pred_margin=True)
    return tools


def least(call: Callable[[np.ndarray], Any], tables: list[np.ndarray], repeats: int) -> float:
    """CPU seconds a call, over tables that are never the same twice in a repeat."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        for table in tables:
            call(table)
        best = min(best, (time.process_time() - start) / len(tables))
    return best


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 64])
    parser.add_argument("--docs", type=int, nargs="+", default=list(BARS))
    parser.add_argument("--training-docs", type=int, default=60_000)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--check", action="store_true", help="exit 1 below a bar")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    unseen = np.random.default_rng(9).normal(size=(8000, FEATURES)).astype(np.float32)
    passed = True
    print("| leaves | docs a call | tool | us a call | ratio (bar) |")
    print("| ---: | ---: | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="rustrank-bench-") as folder:
        for leaves in args.leaves:
            tools = runners(leaves, args.training_docs, Path(folder))
            for docs in args.docs:
                calls = min(len(unseen) // docs, 2000)
                tables = [
                    np.ascontiguousarray(unseen[i * docs : (i + 1) * docs]) for i in range(calls)
                ]
                cost = {}
                for tool, call in tools.items():
                    slow = tool != "rustrank" and docs >= 100
                    some = tables[: 10 if slow else calls]
                    cost[tool] = least(call, some, args.repeats)
                    ratio, bar = cost[tool] / cost["rustrank"], BARS.get(docs, {}).get(tool)
                    passed &= bar is None or ratio >= bar
                    verdict = "" if tool == "rustrank" else f"{ratio:.1f}x"
                    verdict += f" (>= {bar}x)" if bar else ""
                    print(
                        f"| {leaves} | {docs} | {tool} | {cost[tool] * 1e6:.1f} | {verdict} |",
                        flush=True,
                    )
    return 1 if args.check and not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
