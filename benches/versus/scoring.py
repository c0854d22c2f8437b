"""``compare.py score``: how long it takes to score docs, against other libraries.

LightGBM is trained once a size (random features: only the shape of trees matters). It scores, and so
does rustrank's copy of the same model; and what else is installed: XGBoost with as many trees and
leaves of its own, CatBoost with symmetric trees of as many leaves, and treelite's GTIL, TL2cgen and
lleaves on LightGBM's model. Like for like with CatBoost are two lines more: rustrank's own symmetric
trees of the same depth, and rustrank on CatBoost's model. Every call gets rows that it has not seen for thousands of calls:
repeating one row would teach the branch predictor the answer. Time is CPU time of the process on one
thread, least of the repeats, Python's share included on all sides; but for the last line of a size,
which is wall time on two threads against one.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from versus.process import machine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    Runner = Callable[[Rows], Any]

FEATURES = 136
TREES = 500
# Docs a call, the tool, and how many times faster we should be.
BARS: dict[int, dict[str, float]] = {
    1000: {"LightGBM": 40, "XGBoost": 15, "CatBoost": 3, "lleaves": 15, "TL2cgen": 25, "GTIL": 60},
    100: {"LightGBM": 30, "XGBoost": 10, "CatBoost": 4, "lleaves": 10, "TL2cgen": 15, "GTIL": 40},
    8: {},
    1: {"LightGBM": 5, "lleaves": 1.5, "TL2cgen": 2},
}
TWO_THREADS = 1.8
# Symmetric trees of CatBoost's depth: CatBoost is measured against them too, with these bars.
OF_CATBOOST = "rustrank, CatBoost's model"
SYMMETRIC = "rustrank, symmetric trees"
LIKE_FOR_LIKE = {1000: 3, 100: 4}


def training_data(docs: int) -> tuple[Rows, NDArray[np.int64]]:
    random = np.random.default_rng(0)
    features = random.normal(size=(docs, FEATURES)).astype(np.float32)
    score = features[:, :10].sum(1) + features[:, 10] * features[:, 11]
    labels = np.clip((score + random.normal(size=docs)) / 2 + 1, 0, 4).astype(int)
    return features, labels


def lightgbm_model(features: Rows, labels: NDArray[np.int64], leaves: int) -> Any:
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


def xgboost_runner(features: Rows, labels: NDArray[np.int64], leaves: int) -> Runner:
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
    return lambda rows: booster.inplace_predict(rows, predict_type="margin")


def catboost_runners(
    features: Rows, labels: NDArray[np.int64], leaves: int, path: Path
) -> dict[str, Runner]:
    """Symmetric trees of 32 or 64 leaves, there and here; what is learned does not matter."""
    import catboost as cb

    params: dict[str, Any] = {
        "loss_function": "RMSE",
        "iterations": TREES,
        "depth": (leaves - 1).bit_length(),
        "learning_rate": 0.05,
        "rsm": 0.3,
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
    }
    model = cb.CatBoost(params).fit(features, labels)
    model.save_model(str(path), format="json")
    ours = rr.Booster.load(path)
    grown = rr.train(
        rr.Dataset(features, labels, qid=np.arange(len(labels)) // 100),
        objective="regression",
        num_trees=TREES,
        num_leaves=2 ** params["depth"],
        tree_shape="symmetric",
        learning_rate=params["learning_rate"],
        features_per_tree=params["rsm"],
    )
    return {
        "CatBoost": lambda rows: model.predict(
            rows, prediction_type="RawFormulaVal", thread_count=1
        ),
        OF_CATBOOST: lambda rows: ours.predict(rows, num_threads=1),
        SYMMETRIC: lambda rows: grown.predict(rows, num_threads=1),
    }


def compiled_runners(path: Path, features: Rows, folder: Path) -> dict[str, Runner]:
    """What else runs LightGBM's model."""
    tools: dict[str, Runner] = {}
    if installed("treelite") and installed("tl2cgen"):
        import tl2cgen
        import treelite

        model = treelite.frontend.load_lightgbm_model(str(path))
        tools["GTIL"] = lambda rows: treelite.gtil.predict(model, rows, nthread=1, pred_margin=True)
        library, branches = folder / f"{path.stem}.so", folder / f"{path.stem}.json"
        tl2cgen.annotate_branch(model, tl2cgen.DMatrix(features[:2000]), path=branches)
        params = {"parallel_comp": 16, "quantize": 1, "annotate_in": str(branches)}
        tl2cgen.export_lib(model, toolchain="gcc", libpath=str(library), params=params, nthread=2)
        predictor = tl2cgen.Predictor(str(library), nthread=1)
        tools["TL2cgen"] = lambda rows: predictor.predict(tl2cgen.DMatrix(rows), pred_margin=True)
    if installed("lleaves"):
        import lleaves

        compiled = lleaves.Model(model_file=str(path))
        compiled.compile(fblocksize=34, raw_score=True)
        tools["lleaves"] = lambda rows: compiled.predict(rows, n_jobs=1)
    return tools


def installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def runners(leaves: int, docs: int, folder: Path) -> tuple[rr.Booster, dict[str, Runner]]:
    """What scores a table, by tool; ours comes first."""
    features, labels = training_data(docs)
    theirs = lightgbm_model(features, labels, leaves)
    path = folder / f"lightgbm-{leaves}.txt"
    theirs.save_model(path)
    ours = rr.Booster.load(path)
    rows = features[:500]
    if not np.array_equal(ours.predict(rows), theirs.predict(rows, raw_score=True)):
        message = "the scores differ"
        raise RuntimeError(message)
    tools: dict[str, Runner] = {
        "rustrank": lambda rows: ours.predict(rows, num_threads=1),
        "LightGBM": lambda rows: theirs.predict(rows, raw_score=True, num_threads=1),
    }
    if installed("xgboost"):
        tools["XGBoost"] = xgboost_runner(features, labels, leaves)
    if installed("catboost"):
        tools |= catboost_runners(features, labels, leaves, folder / f"catboost-{leaves}.json")
    return ours, tools | compiled_runners(path, features, folder)


def least(
    call: Runner,
    tables: list[Rows],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Seconds a call, over tables that are never the same twice in a repeat."""
    best = float("inf")
    for _ in range(repeats):
        start = clock()
        for table in tables:
            call(table)
        best = min(best, (clock() - start) / len(tables))
    return best


def add_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 64])
    parser.add_argument("--docs", type=int, nargs="+", default=list(BARS))
    parser.add_argument("--training-docs", type=int, default=60_000)
    parser.add_argument("--repeats", type=int, default=5)


def score(args: argparse.Namespace) -> bool:
    """Print the table; whether every bar is reached."""
    print(machine())
    unseen = np.random.default_rng(9).normal(size=(20_000, FEATURES)).astype(np.float32)
    passed = True
    print("| leaves | docs a call | tool | us a call | ratio (bar) |")
    print("| ---: | ---: | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="rustrank-bench-") as folder:
        for leaves in args.leaves:
            ours, tools = runners(leaves, args.training_docs, Path(folder))
            for docs in args.docs:
                passed &= rows_of(leaves, docs, tools, args.repeats, unseen)
            passed &= two_threads(leaves, ours, unseen, 4 * args.repeats)
    return passed


def two_threads(leaves: int, ours: rr.Booster, rows: Rows, repeats: int) -> bool:
    """Print how much sooner two threads are done."""

    def wall(threads: int) -> float:
        call = partial(ours.score, num_threads=threads)
        return least(call, [rows], repeats, time.perf_counter)

    one, two = wall(1), wall(2)
    ratio = f"{one / two:.2f}x (>= {TWO_THREADS}x)"
    print(f"| {leaves} | {len(rows)} | two threads | {two * 1e6:.0f} wall | {ratio} |", flush=True)
    return one / two >= TWO_THREADS


def rows_of(leaves: int, docs: int, tools: dict[str, Runner], repeats: int, unseen: Rows) -> bool:
    """Print the rows of one size of call."""
    calls = min(len(unseen) // docs, 2000)
    tables = [np.ascontiguousarray(unseen[i * docs : (i + 1) * docs]) for i in range(calls)]
    cost, passed = {}, True
    for tool, call in tools.items():
        slow = "rustrank" not in tool and docs >= 100
        cost[tool] = least(call, tables[: 10 if slow else calls], repeats)
        ratio, bar = cost[tool] / cost["rustrank"], BARS.get(docs, {}).get(tool)
        passed &= bar is None or ratio >= bar
        verdict = "" if tool == "rustrank" else f"{ratio:.1f}x"
        if tool in {OF_CATBOOST, SYMMETRIC}:
            ratio, bar = cost["CatBoost"] / cost[tool], LIKE_FOR_LIKE.get(docs)
            passed &= bar is None or ratio >= bar
            verdict = f"{ratio:.1f}x less than CatBoost"
        verdict += f" (>= {bar:g}x)" if bar else ""
        print(f"| {leaves} | {docs} | {tool} | {cost[tool] * 1e6:.1f} | {verdict} |", flush=True)
    return passed
