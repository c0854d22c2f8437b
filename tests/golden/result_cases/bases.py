"""Models that others are made of, and models of other libraries."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import rustrank as rr
from result_cases.docs import SMALL, clean


@cache
def bases() -> dict[str, rr.Booster]:
    other = clean(30, 0, 4)
    dataset = other.dataset()
    trees = rr.train(dataset, **SMALL)
    linear = rr.LambdaBoost(n_estimators=4).fit(other.X, other.y, qid=other.qid).booster_
    net = rr.LambdaRank(hidden=(3,), epochs=2).fit(other.X, other.y, qid=other.qid).booster_
    classes = rr.train(dataset, **{**SMALL, "num_trees": 2}, objective="mcrank")
    ranks = rr.train(other.dataset(query_ranks=True), **SMALL, objective="xendcg")
    logistic = rr.train(dataset, **SMALL, objective="logistic", relevant_from=2)
    made = {"trees": trees, "linear": linear, "net": net, "classes": classes, "ranks": ranks}
    made["mixture"] = rr.mix([trees, ranks], [0.5, 2.0], normalise=["query", "query_range"])
    stacking = rr.Stacking([trees, linear], ("score", "max", "mean", "top3"))
    table = stacking.table(clean().X, qid=clean().qid)
    outer = rr.train(rr.Dataset(table, clean().y, qid=clean().qid), **SMALL)
    return {**made, "stack": stacking.booster(outer), "logistic": logistic}


@cache
def exported(library: str) -> bytes:
    return bases()["trees"].export(library)


CATBOOST = {
    "features_info": {
        "float_features": [
            {"feature_index": at, "flat_feature_index": at, "nan_value_treatment": "AsFalse"}
            for at in range(12)
        ]
    },
    "oblivious_trees": [
        {
            "splits": [
                {"split_type": "FloatFeature", "float_feature_index": 3, "border": 0.125},
                {"split_type": "FloatFeature", "float_feature_index": 7, "border": -0.25},
            ],
            "leaf_values": [0.1, -0.3, 0.7, 1.9],
            "leaf_weights": [4, 3, 2, 1],
        }
    ],
    "scale_and_bias": [0.5, [0.25]],
}


@cache
def imported(library: str) -> rr.Booster:
    text = json.dumps(CATBOOST).encode() if library == "catboost" else exported(library)
    with TemporaryDirectory() as folder:
        (Path(folder) / "model").write_bytes(text)
        return rr.Booster.load(Path(folder) / "model")
