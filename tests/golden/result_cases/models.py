"""What is done with models, and files of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr
from result_cases.bases import bases, exported, imported
from result_cases.docs import CATEGORICAL, SMALL, case, clean, held, mixed, model, noise
from result_cases.table import Result, digest, figures, floats, of_models, written

if TYPE_CHECKING:
    from collections.abc import Callable


@case("truncate", lambda b, _: b.truncate(3))
@case("refit", lambda b, d: b.refit(d, decay=0.3, prior_docs=10.0))
@case("refit xendcg", lambda b, d: b.refit(d, objective="xendcg", learning_rate=0.3, l2=1.0))
@case("reweigh", lambda b, d: b.reweigh(d, "ndcg@5", most_passes=3))
@case("reweigh valid", lambda b, d: b.reweigh(d, "err@10", valid=d, low=0.5, high=2.0))
@case("mix equal", lambda b, _: rr.mix([b, bases()["net"]]))
@case("mix of mixtures", lambda b, _: rr.mix([b, bases()["mixture"]], [1.0, -0.5]))
@case("mix trees", lambda b, _: rr.mix([b, b.truncate(2)], [0.25, 3.0]))
def changed(work: Callable[[rr.Booster, rr.Dataset], rr.Booster]) -> Result:
    booster = bases()["trees"]
    return model(work(booster, clean().dataset(like=booster)), held())


for _name in ("query", "query_range", "logistic", "query_top", "set"):

    @case(f"mix {_name}", _name)
    def mixture(kind: str) -> Result:
        both = [bases()["logistic"], bases()["linear"]]
        scores = [one.predict(clean().X) for one in both] if kind == "set" else None
        return model(rr.mix(both, [2.0, 1.0], normalise=kind, scores=scores), held())


@case("stacking of folds")
def stacked() -> Result:
    stacking = rr.Stacking(
        {"a": bases()["net"], "b": bases()["logistic"]},
        [(0, "max"), "score"],
        own=False,
        normalise=["query", "logistic"],
    )
    docs = clean()
    table = stacking.table(docs.X, qid=docs.qid, scores=[noise(800, 1), noise(800, 2)])
    outer = rr.train(rr.Dataset(table, docs.y, qid=docs.qid), **SMALL)
    return model(stacking.booster(outer), held(), table=floats(table))


@case("explain trees", "trees")
@case("explain linear", "linear")
@case("explain ranks", "ranks")
def explained(name: str) -> Result:
    booster, test = bases()[name], held()
    values = booster.explain(test.X, qid=test.qid if name == "ranks" else None)
    pairs = [] if name == "ranks" else [booster.contrast(test.X[0], test.X[7])]
    return Result(scores=floats(values, *pairs))


@case("importance")
def importance() -> Result:
    booster = bases()["trees"]
    kinds = [booster.feature_importance(kind) for kind in ("reduction", "count")]
    docs = clean().dataset(like=booster)
    permuted = booster.feature_importance("permutation", dataset=docs, metric="err@10", seed=3)
    return Result(
        scores=floats(*kinds, permuted), values=written({"dump": floats(figures(booster.dump()))})
    )


@case("classes")
def classes() -> Result:
    booster = bases()["classes"]
    return model(
        booster.with_gain([0, 1, 2, 3, 10]),
        held(),
        labels=floats(booster.classes),
        p=floats(booster.probabilities(held().X)),
    )


@case("err_relevance")
def relevance() -> Result:
    """Return probabilities to 12 digits: numpy's own `exp` has other last bits on other processors."""
    scores = bases()["logistic"].predict(held().X)
    both = rr.err_relevance(scores), rr.err_relevance(scores, qid=held().qid)
    return Result(scores=floats(*(np.round(one, 12) for one in both)))


@case("path of LambdaBoost")
def path() -> Result:
    booster = bases()["linear"]
    return Result(scores=floats(booster.coefficients, booster.path))


for _name in ("lightgbm", "xgboost", "ranklib", "onnx", "rustrank"):
    case(f"export {_name}", _name)(lambda library: Result(model=digest(exported(library))))
for _name in ("lightgbm", "xgboost", "catboost", "rustrank"):
    case(f"import {_name}", _name)(lambda library: model(imported(library), held()))


@case("export categories")
def export_categories() -> Result:
    booster = rr.train(mixed().dataset(**CATEGORICAL), **SMALL)
    return Result(model=digest(booster.export("lightgbm")))


@case("file version 1", "model-1.rrk")
@case("file version 1 classes", "model-1-classes.rrk")
@case("file version 1 nets", "model-1-nets.rrk")
@case("file version 1 ranks", "model-1-ranks.rrk")
@case("file version 1 stack", "model-1-stack.rrk")
def old_files(name: str) -> Result:
    booster = rr.Booster.load(Path(__file__).parents[1] / name)
    X = noise(40 * booster.num_raw_features, 1, 400).reshape(40, -1) - 3
    return of_models([booster], booster.predict(X, group=[25, 15]))
