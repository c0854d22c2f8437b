"""``compare.py untuned``: what people get who set nothing, and what `rr.auto` makes of a given time.

Every engine is called as its documentation's first example does, with a validation set where it takes one. What
was trained is judged on the test queries by each metric. Some peers are tuned by Optuna on
the validation set, for as long as `rr.auto` may take. ``--tuned`` adds those that ``compare.py quality`` tuned by its
grid, from its records.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from versus import fitted
from versus.fitted import Plan, Setting
from versus.folds import DATA, FOLDS, MADE, SETS, UNSEEN, join, read_fold
from versus.process import machine, say
from versus.records import Records

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versus.folds import Docs, Fold

    Scores = NDArray[np.floating[Any]]

METRICS = ("ndcg@10", "err", "map", "mrr")
#: The rounds of a validation set without a new best.
_PATIENCE = 100
#: What a peer is called whose settings `quality` picked.
TUNED = "{}, tuned by the grid"


@dataclass(frozen=True)
class Job:
    """What is the same for all engines."""

    metric: str
    seed: int
    threads: int
    #: The seconds of `rr.auto`, and of each search by Optuna.
    limit: float


def lightgbm(fold: Fold, job: Job) -> Scores:
    import lightgbm as lgb

    ranker = lgb.LGBMRanker(random_state=job.seed, n_jobs=job.threads, verbose=-1)
    ranker.fit(
        fold.train.X,
        fold.train.y,
        group=fold.train.group,
        eval_set=[(fold.valid.X, fold.valid.y)],
        eval_group=[fold.valid.group],
        eval_at=[10],
        callbacks=[lgb.early_stopping(_PATIENCE, verbose=False)],
    )
    return np.asarray(ranker.predict(fold.test.X))


def xgboost(fold: Fold, job: Job) -> Scores:
    import xgboost as xgb

    ranker = xgb.XGBRanker(
        random_state=job.seed,
        n_jobs=job.threads,
        eval_metric="ndcg@10",
        early_stopping_rounds=_PATIENCE,
    )
    valid = [(fold.valid.X, fold.valid.y)]
    ranker.fit(
        fold.train.X,
        fold.train.y,
        group=fold.train.group,
        eval_set=valid,
        eval_group=[fold.valid.group],
        verbose=False,
    )
    return np.asarray(ranker.predict(fold.test.X))


def catboost(fold: Fold, job: Job) -> Scores:
    import catboost as cb

    ranker = cb.CatBoostRanker(
        random_seed=job.seed, thread_count=job.threads, verbose=False, allow_writing_files=False
    )
    train, valid = (cb.Pool(one.X, one.y, group_id=one.qid) for one in (fold.train, fold.valid))
    ranker.fit(train, eval_set=valid, early_stopping_rounds=_PATIENCE)
    return np.asarray(ranker.predict(fold.test.X))


def default(fold: Fold, job: Job) -> Scores:
    train = rr.Dataset(fold.train.X, fold.train.y, group=fold.train.group)
    valid = rr.Dataset(fold.valid.X, fold.valid.y, group=fold.valid.group, like=train)
    booster = rr.train(train, valid=valid, **_how(job))
    return booster.predict(fold.test.X, group=fold.test.group)


def without_valid(fold: Fold, job: Job) -> Scores:
    return _all_of(fold.train, fold.test, job)


def all_queries(fold: Fold, job: Job) -> Scores:
    return _all_of(join([fold.train, fold.valid]), fold.test, job)


def preset(name: str, num_trees: int) -> Callable[[Fold, Job], Scores]:
    """Return a preset, without ranks within queries."""

    def fit(fold: Fold, job: Job) -> Scores:
        train = rr.Dataset(fold.train.X, fold.train.y, group=fold.train.group)
        valid = rr.Dataset(fold.valid.X, fold.valid.y, group=fold.valid.group, like=train)
        stop: dict[str, Any] = {"early_stopping": _PATIENCE, "num_trees": num_trees}
        booster = rr.train(train, valid=valid, preset=name, **stop, **_how(job))
        return booster.predict(fold.test.X)

    return fit


def auto(fold: Fold, job: Job) -> Scores:
    docs = join([fold.train, fold.valid])
    options: dict[str, Any] = {"time_limit": job.limit, "num_threads": job.threads}
    found = rr.auto(docs.X, docs.y, docs.qid, metric=job.metric, seed=job.seed, **options)
    return found.predict(fold.test.X, group=fold.test.group)


def _all_of(docs: Docs, test: Docs, job: Job) -> Scores:
    data = rr.Dataset(docs.X, docs.y, group=docs.group)
    return rr.train(data, **_how(job)).predict(test.X, group=test.group)


def _how(job: Job) -> dict[str, Any]:
    return {
        "metric": job.metric,
        "seed": job.seed,
        "num_threads": job.threads,
        "progress": False,
    }


def tuned(engine: str) -> Callable[[Fold, Job], Scores]:
    """Return an engine whose settings Optuna chooses on the validation set, for the time of `rr.auto`."""

    def fit(fold: Fold, job: Job) -> Scores:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        plan = Plan(400, _PATIENCE, job.seed, job.threads)
        best: list[Any] = [-math.inf, None]

        def value(trial: optuna.Trial) -> float:
            setting = Setting(
                trial.suggest_categorical("leaves", list(fitted.DEPTH)),
                trial.suggest_float("rate", 0.02, 0.3, log=True),
                trial.suggest_categorical("leaf_docs", list(fitted.LEAST_HESSIAN)),
            )
            done = fitted.ENGINES[engine](fold, setting, plan, _further(engine, trial))
            found = done.curve[done.best - 1]
            if found > best[0]:
                best[:] = found, done.scores
            return found

        sampler = optuna.samplers.TPESampler(seed=job.seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(value, timeout=job.limit)
        return np.asarray(best[1])

    return fit


def _further(engine: str, trial: Any) -> dict[str, Any]:
    """Return what is tuned besides the grid's axes, by the names of the engine."""
    share = trial.suggest_float("features", 0.3, 1.0)
    l2 = trial.suggest_float("l2", 0.01, 30.0, log=True)
    names = {
        "lightgbm": ("feature_fraction", "lambda_l2"),
        "xgboost": ("colsample_bytree", "reg_lambda"),
        "catboost": ("rsm", "l2_leaf_reg"),
    }[engine]
    return dict(zip(names, (share, l2), strict=True))


#: What is compared, by its row in the tables.
ENGINES: dict[str, Callable[[Fold, Job], Scores]] = {
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "rr.train(D, valid=V)": default,
    "rr.train(D)": without_valid,
    "rr.train(D and V)": all_queries,
    "rr.train(D, valid=V, preset='plain')": preset("plain", 100),
    "rr.train(D, valid=V, preset='plain', num_trees=1000)": preset("plain", 1000),
    "rr.train(D, valid=V, preset='noisy', num_trees=1000)": preset("noisy", 1000),
    "rr.auto(D and V)": auto,
    "LightGBM, Optuna": tuned("lightgbm"),
    "XGBoost, Optuna": tuned("xgboost"),
    "CatBoost, Optuna": tuned("catboost"),
}
_LIMITED = ("auto", "Optuna")


def limit_of(args: argparse.Namespace, name: str) -> float:
    """Return the seconds for a set: one number for all sets, or one for each."""
    limits = args.limit
    return float(limits[args.sets.index(name)] if len(limits) > 1 else limits[0])


def key(name: str, fold: int, engine: str, job: Job) -> dict[str, Any]:
    ours = engine.startswith("rr.")
    found = {"set": name, "fold": fold, "engine": engine, "seed": job.seed}
    # Peers' default calls are judged by each metric, and trained for none of them.
    found["metric"] = job.metric if ours else ""
    if any(word in engine for word in _LIMITED):
        found["limit"] = job.limit
    return found


def judged(scores: Scores, docs: Docs) -> dict[str, list[float | None]]:
    """Return each metric of each query; None where nothing is relevant."""
    found = rr.evaluate(
        np.asarray(scores, np.float64), docs.y, group=docs.group, metrics=list(METRICS)
    )
    return {
        metric: [None if math.isnan(one) else round(one, 6) for one in value.per_query.tolist()]
        for metric, value in found.items()
    }


def run(args: argparse.Namespace, records: Records) -> None:
    """Fit all that is not on record."""
    for name, fold, engine, metric in product(args.sets, args.folds, args.engines, args.metrics):
        for seed in range(args.seeds):
            job = Job(metric, seed, args.threads, limit_of(args, name))
            at = key(name, fold, engine, job)
            if records.get(at) is not None:
                continue
            docs, began = read_fold(name, fold, args.data), time.perf_counter()
            scores = ENGINES[engine](docs, job)
            took = time.perf_counter() - began
            records.put(at, {"seconds": round(took, 2), "queries": judged(scores, docs.test)})
            say(f"{name}, fold {fold}, {engine}, {metric}: {took:.1f} s")


def read_tuned(args: argparse.Namespace, records: Records) -> list[str]:
    """Read what the settings had on the test set that `quality` picked by validation; return the names of these engines."""
    best: dict[tuple[str, str, int, int], Any] = {}
    for path in args.tuned:
        for line in filter(None, path.read_text("utf-8").splitlines()):
            record = json.loads(line)
            at = record["key"]
            place = at["engine"], at["set"], at["fold"], at["seed"]
            if place not in best or record["value"]["valid"] > best[place]["valid"]:
                best[place] = record["value"]
    for (engine, name, fold, seed), value in best.items():
        if name in args.sets:
            job = Job("ndcg@10", seed, args.threads, limit_of(args, name))
            queries = {"ndcg@10": value["queries"]}
            records.keep_in_memory(
                key(name, fold, TUNED.format(engine), job),
                {"seconds": math.nan, "queries": queries},
            )
    return sorted({TUNED.format(engine) for engine, *_ in best})


def queries_of(
    args: argparse.Namespace, records: Records, name: str, engine: str, metric: str
) -> NDArray[np.float64] | None:
    """Return the metric of each test query of all folds, the mean over seeds; None while some are missing."""
    parts = []
    for fold in args.folds:
        jobs = [Job(metric, seed, args.threads, limit_of(args, name)) for seed in range(args.seeds)]
        found = [records.get(key(name, fold, engine, job)) for job in jobs]
        if any(one is None or metric not in one["queries"] for one in found):
            return None
        values = [np.array(one["queries"][metric], np.float64) for one in found]
        parts.append(np.mean(values, axis=0))
    return np.concatenate(parts)


def fold_mean(
    args: argparse.Namespace, records: Records, name: str, engine: str, metric: str
) -> float:
    """Return the mean over folds and seeds of the mean over queries."""
    values = []
    for fold, seed in product(args.folds, range(args.seeds)):
        job = Job(metric, seed, args.threads, limit_of(args, name))
        found = records.get(key(name, fold, engine, job))
        values.append(float(np.nanmean(np.array(found["queries"][metric], np.float64))))
    return float(np.mean(values))


def table(args: argparse.Namespace, records: Records, metric: str) -> bool:
    """Print a metric of all engines; true if all that is ours is above all default calls of peers."""
    print(f"| test {metric} | " + " | ".join(args.sets) + " | average | seconds a call |")
    print("| --- |" + " ---: |" * (len(args.sets) + 2))
    means: dict[str, list[float]] = {}
    for engine in [*args.engines, *args.tuned_engines]:
        known = [queries_of(args, records, name, engine, metric) for name in args.sets]
        if any(one is None for one in known):
            continue
        means[engine] = [fold_mean(args, records, name, engine, metric) for name in args.sets]
        seconds = [
            records.get(key(name, fold, engine, Job(metric, 0, args.threads, limit_of(args, name))))
            for name, fold in product(args.sets, args.folds)
        ]
        took = float(np.mean([one["seconds"] for one in seconds]))
        cells = [format(value, ".4f") for value in (*means[engine], np.mean(means[engine]))]
        print(f"| {engine} | " + " | ".join(cells) + f" | {took:.1f} |")
    print()
    return _differences(args, records, metric, means)


def _is_peer(engine: str) -> bool:
    return not engine.startswith("rr.")


def _differences(
    args: argparse.Namespace, records: Records, metric: str, means: dict[str, list[float]]
) -> bool:
    """Print what is ours against the best peer of the average, over all queries together."""
    peers = {name: float(np.mean(values)) for name, values in means.items() if _is_peer(name)}
    if not peers:
        return True
    best = max(peers, key=peers.__getitem__)
    print(f"| test {metric}, above {best} | average of sets | all queries together | z |")
    print("| --- | ---: | ---: | ---: |")
    passed = True
    for engine, values in means.items():
        if _is_peer(engine):
            continue
        ours, theirs = (
            np.concatenate([queries_of(args, records, name, one, metric) for name in args.sets])
            for one in (engine, best)
        )
        pairs = (ours - theirs)[~np.isnan(ours - theirs)]
        error = float(np.std(pairs, ddof=1) / math.sqrt(len(pairs)))
        mean, ahead = float(pairs.mean()), float(np.mean(values)) - peers[best]
        print(f"| {engine} | {ahead:+.4f} | {mean:+.4f} ± {error:.4f} | {mean / error:.1f} |")
        passed = passed and (ahead > 0 or "preset" in engine)
    print()
    return passed


def untuned(args: argparse.Namespace) -> bool:
    records = Records(args.results)
    if not args.show:
        run(args, records)
    args.tuned_engines = read_tuned(args, records)
    print(
        f"folds {args.folds}, {args.seeds} seed(s), {args.threads} thread(s), time limits {args.limit} s; "
        f"{machine(*fitted.PEERS)}\n"
    )
    passed = [table(args, records, metric) for metric in args.metrics]
    return all(passed)


def add_untuned(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--sets", nargs="+", choices=[*SETS, *UNSEEN, *MADE], default=list(SETS))
    parser.add_argument("--folds", nargs="+", type=int, choices=FOLDS, default=list(FOLDS))
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=["ndcg@10"])
    parser.add_argument(
        "--limit", nargs="+", type=float, default=[60.0], help="seconds, for all sets or for each"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, nargs="+", default=[], help="files of records")
    parser.add_argument(
        "--tuned",
        type=Path,
        nargs="+",
        default=[],
        help="records of quality: peers with the picked settings, too",
    )
    parser.add_argument("--show", action="store_true", help="print what is on record, fit nothing")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real sets")
