"""Engines as `quality` uses them: fit a fold at one setting, judge every round on validation.

For every engine the same: our exact NDCG@10 (ties by expectation, queries with nothing relevant
left out) after each round on the validation queries, an end after `patience` rounds without a new
best, and the scores of the best round on the test queries.

How a setting is read by whom: XGBoost has no least number of docs a leaf but a least hessian, and
CatBoost's symmetric trees have neither, but depths and an L2 penalty.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from versus.folds import Docs, Fold

    Scores = NDArray[np.floating[Any]]

METRIC = "ndcg@10"
FEATURES = 0.7
#: XGBoost's least hessian of a leaf for our least number of docs; the two did best on validation.
LEAST_HESSIAN = {20: 0.1, 100: 5.0}
#: The depth of symmetric trees for a number of leaves, and CatBoost's L2 penalty in place of a leaf size (3: its default).
DEPTH = {7: 3, 15: 4, 31: 6}
CATBOOST_L2 = {20: 3.0, 100: 10.0}


class Setting(NamedTuple):
    """One point of the grid."""

    leaves: int
    rate: float
    leaf_docs: int


@dataclass(frozen=True)
class Plan:
    """What is the same for all engines of a run."""

    rounds: int
    patience: int
    seed: int
    threads: int


@dataclass(frozen=True, eq=False)
class Fitted:
    """The value of each round on validation, the best round (from 1) and its test scores."""

    curve: list[float]
    best: int
    scores: Scores


def ndcg(scores: Any, docs: Docs) -> rr.MetricValue:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.RustrankWarning)
        return rr.evaluate(
            np.asarray(scores, np.float64), docs.y, group=docs.group, metrics=METRIC, num_threads=1
        )[METRIC]


def until_patience(values: Iterable[float], patience: int) -> tuple[list[float], int]:
    """Take values until none is a new best for ``patience`` rounds; the best one's number from 1."""
    curve: list[float] = []
    best = 0
    for value in values:
        curve.append(value)
        if value > curve[best]:
            best = len(curve) - 1
        if len(curve) - 1 - best >= patience:
            break
    return curve, best + 1


def lightgbm(fold: Fold, setting: Setting, plan: Plan, more: dict[str, Any]) -> Fitted:
    import lightgbm as lgb

    params = {
        "objective": "lambdarank",
        "num_leaves": setting.leaves,
        "learning_rate": setting.rate,
        "min_data_in_leaf": setting.leaf_docs,
        "feature_fraction": FEATURES,
        "metric": "none",
        "seed": plan.seed,
        "num_threads": plan.threads,
        "verbose": -1,
        **more,
    }
    train = lgb.Dataset(fold.train.X, fold.train.y, group=fold.train.group, params=params)
    valid = train.create_valid(fold.valid.X, fold.valid.y, group=fold.valid.group)
    scored = lgb.Booster(params, train)
    scored.add_valid(valid, "valid")

    def rounds() -> Iterable[float]:
        for _ in range(plan.rounds):
            scored.update()
            found = scored.eval_valid(
                lambda scores, _: (METRIC, float(ndcg(scores, fold.valid)), True)
            )
            yield float(found[0][2])

    curve, best = until_patience(rounds(), plan.patience)
    return Fitted(curve, best, np.asarray(scored.predict(fold.test.X, num_iteration=best)))


def lightgbm_xendcg(fold: Fold, setting: Setting, plan: Plan, more: dict[str, Any]) -> Fitted:
    return lightgbm(fold, setting, plan, {"objective": "rank_xendcg", **more})


def xgboost(fold: Fold, setting: Setting, plan: Plan, more: dict[str, Any]) -> Fitted:
    import xgboost as xgb

    params = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": setting.leaves,
        "eta": setting.rate,
        "min_child_weight": LEAST_HESSIAN[setting.leaf_docs],
        "colsample_bytree": FEATURES,
        "disable_default_eval_metric": True,
        "seed": plan.seed,
        "nthread": plan.threads,
        **more,
    }

    def matrix(docs: Docs) -> Any:
        return xgb.DMatrix(docs.X, docs.y, group=docs.group, nthread=plan.threads)

    train, valid = matrix(fold.train), matrix(fold.valid)
    booster = xgb.Booster(params, [train, valid])

    def rounds() -> Iterable[float]:
        for number in range(plan.rounds):
            booster.update(train, number)
            yield float(ndcg(booster.predict(valid, output_margin=True), fold.valid))

    curve, best = until_patience(rounds(), plan.patience)
    test = matrix(fold.test)
    return Fitted(curve, best, booster.predict(test, output_margin=True, iteration_range=(0, best)))


def catboost(fold: Fold, setting: Setting, plan: Plan, more: dict[str, Any]) -> Fitted:
    import catboost as cb

    params = {
        "loss_function": "YetiRank",
        "iterations": plan.rounds,
        "depth": DEPTH[setting.leaves],
        "learning_rate": setting.rate,
        "l2_leaf_reg": CATBOOST_L2[setting.leaf_docs],
        "rsm": FEATURES,
        "random_seed": plan.seed,
        "thread_count": plan.threads,
        "metric_period": plan.rounds,
        "logging_level": "Silent",
        "allow_writing_files": False,
        **more,
    }
    model = cb.CatBoost(params)
    model.fit(cb.Pool(fold.train.X, fold.train.y, group_id=fold.train.qid))
    staged = model.staged_predict(fold.valid.X, thread_count=plan.threads)
    curve, best = until_patience(
        (float(ndcg(scores, fold.valid)) for scores in staged), plan.patience
    )
    return Fitted(curve, best, model.predict(fold.test.X, ntree_end=best))


def rustrank(fold: Fold, setting: Setting, plan: Plan, more: dict[str, Any]) -> Fitted:
    # The one option that is the dataset's and not the training's.
    ranks = more.get("query_ranks", False)
    more = {name: value for name, value in more.items() if name != "query_ranks"}
    train = rr.Dataset(
        fold.train.X,
        fold.train.y,
        group=fold.train.group,
        query_ranks=ranks,
        num_threads=plan.threads,
    )
    valid = rr.Dataset(
        fold.valid.X,
        fold.valid.y,
        group=fold.valid.group,
        like=train,
        num_threads=plan.threads,
    )
    # Symmetric trees are as deep as CatBoost's.
    symmetric = more.get("tree_shape") == "symmetric" or more.get("preset") == "noisy"
    params = {
        "objective": "lambdamart",
        "metric": METRIC,
        "num_trees": plan.rounds,
        "num_leaves": 2 ** DEPTH[setting.leaves] if symmetric else setting.leaves,
        "learning_rate": setting.rate,
        "min_leaf_docs": setting.leaf_docs,
        "features_per_tree": FEATURES,
        "early_stopping": plan.patience,
        "seed": plan.seed,
        "num_threads": plan.threads,
        **more,
    }
    booster = rr.train(train, valid=valid, **params)
    curve = booster.history["valid"][METRIC].tolist()
    _, best = until_patience(curve, plan.patience)
    scores = booster.truncate(best).predict(
        fold.test.X, group=fold.test.group, num_threads=plan.threads
    )
    return Fitted(curve, best, scores)


ENGINES: dict[str, Callable[[Fold, Setting, Plan, dict[str, Any]], Fitted]] = {
    "rustrank": rustrank,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "lightgbm-xendcg": lightgbm_xendcg,
}
#: The engines whose best is to be beaten.
PEERS = ("lightgbm", "xgboost", "catboost")
