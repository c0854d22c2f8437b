"""Trees: each option of `rustrank.train` and `rustrank.Dataset`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import rustrank as rr
from result_cases.docs import (
    CATEGORICAL,
    METRIC_NAMES,
    METRICS,
    PAIRS,
    SMALL,
    Docs,
    case,
    clean,
    clicked,
    held,
    letor,
    mixed,
    model,
    noise,
)
from result_cases.table import Result, digest, floats, of_models


def trained(made: dict[str, Any], options: dict[str, Any]) -> rr.Booster:
    """Train on the clean data, made into a dataset with some options."""
    dataset = clean().dataset(**made)
    base = made.get("base_score")
    of_valid = {} if base is None else {"base_score": noise(len(held().y), 8)}
    valid = {"valid": held().dataset(like=dataset, **of_valid)}
    return rr.train(dataset, **{"valid": valid, **SMALL, **options})


def gaussian(scores: Any, labels: Any, _rows: Any) -> tuple[Any, Any]:
    return scores - labels, np.ones(len(scores))


def top_label(scores: Any, labels: Any) -> float:
    return float(labels[np.argmax(scores)])


#: Options of `rr.train` on the clean data, besides those of SMALL.
TRAINED: dict[str, dict[str, Any]] = {
    "objective lambdamart": {},
    **{f"objective_metric {one}": {"objective_metric": one} for one in METRIC_NAMES},
    "objective ranknet": {"objective": "ranknet"},
    "objective xendcg": {"objective": "xendcg"},
    "objective regression": {"objective": "regression"},
    "objective logistic": {"objective": "logistic", "relevant_from": 2},
    "objective balanced_logistic": {"objective": "balanced_logistic", "relevant_from": 2},
    "objective err_logistic": {"objective": "err_logistic", "metric": "err@5"},
    "objective mcrank": {"objective": "mcrank", "num_trees": 3},
    "objective mcrank_ordinal": {"objective": "mcrank_ordinal", "num_trees": 3, "gain": "linear"},
    "objective preferences": {"objective": "ranknet", "preferences": PAIRS, "min_leaf_docs": 2},
    "objective of python": {"objective": gaussian, "metric": [top_label, "ndcg@3"]},
    "symmetric": {"tree_shape": "symmetric"},
    "symmetric mcrank": {"tree_shape": "symmetric", "objective": "mcrank", "num_trees": 3},
    "symmetric deep": {"tree_shape": "symmetric", "num_leaves": 64, "max_depth": 5, "l2": 2.0},
    "least_squares": {"criterion": "least_squares"},
    "least_squares symmetric": {"criterion": "least_squares", "tree_shape": "symmetric"},
    "max_depth": {"max_depth": 2},
    "many leaves": {"num_leaves": 100, "min_leaf_docs": 1, "num_trees": 3},
    "min_leaf_hess": {"min_leaf_hess": 8.0, "min_leaf_docs": 1},
    "l2": {"l2": 5.0},
    "path_smooth": {"path_smooth": 20.0},
    "path_smooth symmetric": {"path_smooth": 20.0, "tree_shape": "symmetric", "monotone": {0: 1}},
    "min_reduction": {"min_reduction": 5.0},
    "features_per_tree": {"features_per_tree": 0.4},
    "features_per_node": {"features_per_node": 0.4},
    "features_per_node symmetric": {"features_per_node": 0.4, "tree_shape": "symmetric"},
    "rows_per_node": {"rows_per_node": 0.6},
    "rows_per_node symmetric": {"rows_per_node": 0.6, "tree_shape": "symmetric"},
    "random_strength": {"random_strength": 1.0},
    "random_strength symmetric": {"random_strength": 2.0, "tree_shape": "symmetric"},
    "queries_per_tree": {"queries_per_tree": 0.6},
    "docs_per_tree": {"docs_per_tree": 0.5},
    "queries and docs": {"queries_per_tree": 0.7, "docs_per_tree": 0.7, "objective": "regression"},
    "doc_sampling one_sided": {"doc_sampling": "one_sided", "docs_per_tree": 0.5},
    "doc_sampling top_docs": {"doc_sampling": "one_sided", "docs_per_tree": 0.5, "top_docs": 0.1},
    "doc_sampling importance": {"doc_sampling": "importance", "docs_per_tree": 0.4},
    "step exact": {"step": "exact", "learning_rate": 1.0},
    "step exact err": {"step": "exact", "step_metric": "err@5", "step_min": 0.5, "step_max": 3.0},
    "step exact jitter": {"step": "exact", "step_ties": "jitter"},
    "step exact feature": {"step": "exact", "step_ties": "feature", "step_tie_feature": 1},
    "step exact valid": {"step": "exact", "step_on": "valid", "step_metric": "map"},
    "dropout tree": {"dropout": 0.5, "dropout_skip": 0.0, "num_trees": 10},
    "dropout forest": {"dropout": 0.5, "dropout_normaliser": "forest", "num_trees": 10},
    "dropout max": {"dropout": 0.9, "dropout_skip": 0.0, "dropout_max": 2, "num_trees": 10},
    "dropout stopped": {"dropout": 0.3, "early_stopping": 2, "num_trees": 40, "learning_rate": 0.5},
    "monotone": {"monotone": {0: 1, "f3": -1}},
    "monotone list": {"monotone": [1, -1] * 6, "tree_shape": "symmetric"},
    "interactions": {"interactions": [[0, 1, 2], ["f3", "f4"], [2, 5, 6, 7]]},
    "feature_weight": {"feature_weight": {"f0": 0.2, 3: 0.0, 5: 2.0}},
    "limits together": {
        "monotone": {1: 1},
        "interactions": [[0, 1, 2, 3], [4, 5, 6]],
        "feature_weight": [1.0] * 6 + [0.5] * 6,
        "features_per_node": 0.8,
    },
    **{
        f"augment {one}": {"augment": (0.6, 2), "objective": one}
        for one in ("lambdamart", "ranknet", "xendcg")
    },
    "noise_scale 0": {"noise_scale": 0.0},
    "noise_copies": {"noise_scale": 0.5, "noise_copies": 3},
    "noise ranknet": {"noise_scale": 1.0, "objective": "ranknet", "pairs_to": 5},
    "tied_pairs drawn": {"tied_pairs": "drawn", "noise_scale": 0.0},
    "tied_pairs expected": {"noise_scale": 0.0, "pairs_to": 3, "objective_metric": "ndcg@5"},
    "pairs_to": {"pairs_to": 5},
    "leaf_values mean": {"leaf_values": "mean", "step": "exact", "learning_rate": 1},
    "sigma": {"sigma": 2.5},
    "pair_normaliser none": {"pair_normaliser": "none"},
    "pair_normaliser score_gap": {"pair_normaliser": "score_gap", "objective": "ranknet"},
    "gap_offset": {"gap_offset": 0.01},
    "query_normaliser": {"query_normaliser": "log_sum"},
    "gain linear": {"gain": "linear"},
    "gain table": {"gain": [0, 1, 1.5, 4, 20], "metric": ["dcg@10", "ndcg"]},
    "relevant_from": {"relevant_from": 3, "metric": "map"},
    "max_label": {"max_label": 6, "metric": "err"},
    "seed 7": {"seed": 7, "docs_per_tree": 0.7, "features_per_tree": 0.7},
    "threads 1": {"num_threads": 1, "docs_per_tree": 0.7, "features_per_tree": 0.7},
    "threads 2": {"num_threads": 2, "docs_per_tree": 0.7, "features_per_tree": 0.7},
    "early_stopping": {"early_stopping": 3, "num_trees": 60, "learning_rate": 0.4},
    "early_stopping by": {
        "metric": ["ndcg@3", "err@5"],
        "early_stopping": rr.EarlyStopping(2, metric="err@5", valid="valid"),
        "num_trees": 60,
        "learning_rate": 0.6,
    },
    "learning_rate": {"learning_rate": 0.7},
}
#: Options of `rr.Dataset` on the same data, with those of `rr.train`.
DATASETS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "query_ranks": ({"query_ranks": True}, {}),
    "query_ranks symmetric": ({"query_ranks": True}, {"tree_shape": "symmetric"}),
    "max_bins": ({"max_bins": 9}, {}),
    "sample_rows": ({"sample_rows": 300}, {}),
    "query_weight": ({"query_weight": np.arange(40) % 3 + 0.5}, {}),
    "row_weight": ({"row_weight": np.arange(800) % 5 / 4}, {"objective": "regression"}),
    "both weights": (
        {"row_weight": np.arange(800) % 5 / 4, "query_weight": np.arange(40) % 3 + 0.5},
        {"docs_per_tree": 0.7},
    ),
    "base_score": ({"base_score": noise(800, 7)}, {}),
    "feature_names": ({"feature_names": [f"x {at}" for at in range(12)]}, {"monotone": {"x 2": 1}}),
}


def plain_training(options: dict[str, Any], made: dict[str, Any]) -> Result:
    return model(trained(made, options), held())


def preset_training(**options: Any) -> Result:
    """Train without the options of SMALL, which would count before the preset's."""
    return model(rr.train(clean().dataset(), **options), held())


for _name in ("noisy", "robust", "wu2008", "burges2010", "gao2009", "svore2011", "yahoo2010"):
    case(f"preset {_name}", preset=_name, num_trees=6, min_leaf_docs=5)(preset_training)
    case(f"preset {_name} and more", preset=_name, num_trees=4, num_leaves=5)(preset_training)
for _name, _options in TRAINED.items():
    case(_name, _options, {})(plain_training)
for _name, (_made, _options) in DATASETS.items():
    case(_name, _options, _made)(plain_training)


@case("mixed", {}, {})
@case("mixed pairs_to all", {}, {"pairs_to": None})
@case("mixed symmetric", {}, {"tree_shape": "symmetric"})
@case("mixed limits", {}, {"monotone": {0: 1, 5: -1}, "interactions": [[0, 2, 3], [5, 6, 7]]})
@case("mixed missing", {"missing": 0.0, "infinite": "missing"}, {})
@case(
    "mixed one_sided ranks",
    {"query_ranks": True},
    {"doc_sampling": "one_sided", "docs_per_tree": 0.6},
)
@case("categories", CATEGORICAL, {})
@case("categories symmetric", CATEGORICAL, {"tree_shape": "symmetric"})
@case("categories ranks", {**CATEGORICAL, "query_ranks": True}, {"features_per_node": 0.7})
@case("categories sorted", CATEGORICAL, {"category_smooth": 0.0, "category_one_by_one": 0})
@case("categories rare", CATEGORICAL, {"min_category_docs": 60, "max_categories": 2})
@case("categories apart", CATEGORICAL, {"category_one_by_one": 30})
@case("categories least_squares", CATEGORICAL, {"criterion": "least_squares"})
def of_mixed(made: dict[str, Any], options: dict[str, Any]) -> Result:
    dataset = mixed().dataset(**made)
    booster = rr.train(dataset, **{**SMALL, **options})
    reading = {name: made[name] for name in ("missing", "infinite") if name in made}
    scores = booster.predict(mixed(2).X, qid=mixed(2).qid, **reading)
    found = booster.evaluate(mixed(2).dataset(like=dataset, **reading), METRICS)
    return of_models([booster], scores, **found)


@case("categories of text")
def texts() -> Result:
    def table(docs: Docs) -> dict[str, Any]:
        towns = [None if at == 34 else f"town {at:g}" for at in docs.X[:, 7].tolist()]
        return {"town": towns, "wide": docs.X[:, 0], "kind": docs.X[:, 3], "even": docs.X[:, 5]}

    docs, test = mixed(), mixed(2)
    dataset = rr.Dataset(table(docs), docs.y, qid=docs.qid, categorical=["town"])
    booster = rr.train(dataset, **SMALL)
    scores = booster.predict(table(test))
    return of_models(
        [booster], scores, towns=digest(" ".join(map(str, dataset.categories("town"))))
    )


@case("positions", {})
@case("positions l2", {"position_l2": 20.0, "objective": "logistic", "relevant_from": 1})
def positions(options: dict[str, Any]) -> Result:
    docs, at = clicked(clean())
    booster = rr.train(docs.dataset(position=at), **{**SMALL, **options})
    return model(booster, held(), bias=floats(booster.position_bias))


@case("logistic of probabilities")
def probabilities_as_labels() -> Result:
    docs = replace(clean(), y=clean().y / np.float32(4))
    return model(rr.train(docs.dataset(), **SMALL, objective="logistic", gain="linear"), held())


@case("from_letor", "letor")
@case("from_batches", "batches")
@case("from rows", "rows")
@case("group and order", "group")
def ways_to_read(kind: str) -> Result:
    docs = clean()
    if kind == "letor":
        with TemporaryDirectory() as folder:
            made = letor(Path(folder) / "train.txt", docs)
            dataset = rr.Dataset.from_letor(made)
    elif kind == "batches":
        parts = [slice(0, 130), slice(130, 500), slice(500, 800)]
        batches = [(docs.X[part], docs.y[part], docs.qid[part]) for part in parts]
        dataset = rr.Dataset.from_batches(batches)
    elif kind == "group":
        turned = np.concatenate(
            [np.flatnonzero(docs.qid == one)[::-1] for one in range(39, -1, -1)]
        )
        dataset = rr.Dataset(docs.X[turned], docs.y[turned], group=[20] * 40)
    else:
        dataset = docs.dataset()
    return model(rr.train(dataset, **SMALL), held(), fingerprint=dataset.fingerprint)
