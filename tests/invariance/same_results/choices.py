"""Options of data sets and of trainings, drawn by chance, most of them such as may go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rustrank.parameters.schema import OBJECTIVES, PRESETS
from same_results.columns import kinds_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

METRICS = (
    "ndcg@10",
    "ndcg",
    "ndcg@3",
    "dcg@5",
    "err",
    "err@10",
    "map",
    "map@5",
    "mrr",
    "precision@5",
    "recall@10",
    "pairwise",
    "rbp(p=0.8)",
    "ndcg@1..5",
)
#: Objectives that rank the documents of a query against each other.
_OF_QUERIES = ("lambdamart", "ranknet", "xendcg", "query_rmse")
#: Presets whose many rounds are cut to those of the case.
_PRESETS = sorted({*PRESETS} - {"auto", "plain"})


class Drawing:
    """Settings drawn one after the other."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.settings: dict[str, Any] = {}

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def pick(self, values: Sequence[Any]) -> Any:
        return values[int(self.random.integers(len(values)))]

    def maybe(self, share: float, name: str, values: Sequence[Any]) -> bool:
        """Set an option to one of the values, or leave it out; both take as many random numbers."""
        is_set, value = self.chance(share), self.pick(values)
        if is_set:
            self.settings[f"train.{name}"] = value
        return is_set


def draw_dataset(random: np.random.Generator, docs: Mapping[str, Any]) -> dict[str, Any]:
    """Draw how a data set is made."""
    drawing, settings = Drawing(random), {}
    if drawing.chance(0.3):
        settings["dataset.max_bins"] = drawing.pick([2, 3, 7, 16, 63, 200])
    if drawing.chance(0.15):
        settings["dataset.sample_rows"] = drawing.pick([2, 10, 100, 1000])
    if drawing.chance(0.1):
        settings["dataset.missing"] = drawing.pick([0.0, -0.5, 1.0, 3.0])
    if drawing.chance(0.15):
        settings["dataset.query_ranks"] = True
    if drawing.chance(0.4):
        settings["docs.no_holes"] = True
    number_of_kinds = int(random.integers(1 << 30))
    settings["docs.kinds"] = number_of_kinds
    kinds = kinds_of(number_of_kinds, docs["docs.features"])
    categories = [at for at, kind in enumerate(kinds) if kind == "categories"]
    if categories and drawing.chance(0.7):
        settings["dataset.categorical"] = categories
    return settings


def draw_train(random: np.random.Generator, docs: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the options of a training."""
    drawing = Drawing(random)
    drawing.settings["train.num_trees"] = int(random.integers(1, 30, endpoint=True) ** 2 // 30) + 1
    _loss(drawing, docs)
    _trees(drawing, docs["docs.queries"] * docs["docs.length"], docs["docs.features"])
    _rounds(drawing)
    _metrics(drawing)
    return drawing.settings


def _loss(drawing: Drawing, docs: Mapping[str, Any]) -> None:
    chosen = "lambdamart" if drawing.chance(0.35) else drawing.pick([*OBJECTIVES, "function"])
    fractions = docs["docs.labels"] == "fractions"
    if fractions and chosen.startswith("mcrank") and drawing.chance(0.9):
        chosen = "regression"
    drawing.settings["train.objective"] = chosen
    ranks = chosen in _OF_QUERIES
    if fractions and drawing.chance(0.9):
        drawing.settings["train.gain"] = "linear"
    else:
        small = docs["docs.labels"] not in ("large", "many")
        drawing.maybe(
            0.15, "gain", ["linear", list(range(31)), [0, 1, 3, 7, 15] if small else "linear"]
        )
    if "logistic" in chosen and drawing.chance(0.9):
        # Else labels are probabilities.
        drawing.settings["train.relevant_from"] = drawing.pick([1.0, 2.0, 0.5])
    else:
        drawing.maybe(0.1, "relevant_from", [1.0, 2.0, 0.5])
    drawing.maybe(0.1, "max_label", [30.0, 12.0] if docs["docs.labels"] == "many" else [30.0])
    drawing.maybe(0.2, "sigma", [0.5, 2.0, 20.0])
    drawing.maybe(0.2, "seed", [1, 17, 123_456_789])
    if chosen == "lambdamart":
        drawing.maybe(
            0.2,
            "objective_metric",
            ["ndcg", "err", "map", "mrr", "pairwise", "precision@5", "rbp(p=0.8)"],
        )
        drawing.maybe(0.15, "ideal_to", [1, 5, 10])
    if chosen in ("lambdamart", "ranknet"):
        drawing.maybe(0.3, "pairs_to", [1, 5, 30, None])
        drawing.maybe(0.3, "pair_normaliser", ["none", "score_gap"])
        drawing.maybe(0.2, "gap_offset", [0.01, 1.0])
        drawing.maybe(0.2, "query_normaliser", ["log_sum", "none"])
        drawing.maybe(0.3, "noise_scale", [0.0, 0.5, 3.0])
        drawing.maybe(0.2, "noise_copies", [2, 5])
        drawing.maybe(0.2, "tied_pairs", ["drawn", "expected"])
    if ranks:
        drawing.maybe(0.15, "augment", [(0.7, 2), (0.5, 3), "0.3x1"])
    if chosen == "ranknet" and "train.augment" not in drawing.settings:
        drawing.maybe(0.25, "preferences", ["some"])


def _trees(drawing: Drawing, num_docs: int, num_features: int) -> None:
    drawing.maybe(0.3, "tree_shape", ["symmetric"])
    drawing.maybe(0.8, "num_leaves", [2, 3, 4, 8, 15, 31, 64])
    drawing.maybe(0.3, "max_depth", [1, 2, 3, 5, 8])
    large = num_docs > 200
    drawing.maybe(0.9, "min_leaf_docs", [1, 2, 5, 20] if large else [1, 1, 1, 2])
    drawing.maybe(0.2, "min_leaf_hess", [0.0, 0.01, 5.0 if large else 0.1])
    drawing.maybe(0.3, "l2", [0.1, 3.0, 100.0])
    drawing.maybe(0.15, "path_smooth", [1.0, 30.0])
    drawing.maybe(0.1, "min_reduction", [1e-6, 0.01])
    limited = drawing.chance(0.12)
    if not limited:
        drawing.maybe(0.15, "criterion", ["least_squares"])
        drawing.maybe(0.1, "leaf_values", ["mean"])
    drawing.maybe(0.25, "features_per_tree", [0.3, 0.7])
    drawing.maybe(0.2, "features_per_node", [0.3, 0.7])
    drawing.maybe(0.2, "rows_per_node", [0.3, 0.7])
    drawing.maybe(0.25, "random_strength", [0.5, 1.0, 10.0])
    drawing.maybe(0.15, "category_smooth", [0.0, 1.0])
    drawing.maybe(0.2, "min_category_docs", [1, 2, 20])
    drawing.maybe(0.1, "max_categories", [1, 4])
    drawing.maybe(0.15, "category_one_by_one", [0, 40])
    drawing.maybe(0.1, "missing_is_unknown", [True])
    features = range(num_features)
    signs = {at: int(drawing.random.integers(-1, 2)) for at in features}
    if limited:
        drawing.settings["train.monotone"] = drawing.pick([signs, {0: 1}])
    cut = int(drawing.random.integers(num_features)) if num_features else 0
    groups = [[*features][: cut + 1], [*features][cut:]]
    drawing.maybe(0.12, "interactions", [groups, groups[:1], [[at] for at in features]])
    drawing.maybe(
        0.12,
        "feature_weight",
        [{0: 0.0}, {num_features - 1: 0.1}, {at: 1 / (at + 1) for at in features}],
    )


def _rounds(drawing: Drawing) -> None:
    if "train.monotone" not in drawing.settings:
        drawing.maybe(0.12, "preset", _PRESETS)
    drawing.maybe(0.5, "learning_rate", [0.01, 0.3, 1.0, 10.0])
    drawing.maybe(0.2, "queries_per_tree", [0.3, 0.8])
    if drawing.maybe(0.3, "docs_per_tree", [0.3, 0.8, 0.05]):
        if "train.leaf_values" not in drawing.settings:
            drawing.maybe(0.5, "doc_sampling", ["one_sided", "importance"])
        if drawing.settings.get("train.doc_sampling") == "one_sided":
            drawing.maybe(0.3, "top_docs", [0.02, 0.04])
    drawing.maybe(0.2, "position_l2", [0.0, 10.0])
    if drawing.maybe(0.15, "step", ["exact"]):
        drawing.maybe(0.4, "step_metric", ["map", "ndcg@3", "err"])
        drawing.maybe(0.3, "step_min", [0.01, 1.0])
        drawing.maybe(0.3, "step_max", [2.0, 1000.0])
        drawing.maybe(0.4, "step_ties", ["jitter", "feature"])
        if drawing.settings.get("train.step_ties") == "feature":
            drawing.settings["train.step_tie_feature"] = 0
    if drawing.maybe(0.2, "dropout", [0.1, 0.5, 1.0]):
        drawing.maybe(0.5, "dropout_skip", [0.0, 0.2])
        drawing.maybe(0.3, "dropout_max", [1, 3, None])
        drawing.maybe(0.5, "dropout_normaliser", ["forest"])
    drawing.maybe(0.02, "exportable", ["lightgbm", "xgboost", "rustrank"])


def _metrics(drawing: Drawing) -> None:
    if drawing.chance(0.5):
        several = [str(one) for one in drawing.random.choice(METRICS, 3, replace=False)]
        drawing.maybe(0.8, "metric", [several[0], several, "function"])
    weighs = drawing.settings["train.objective"] == "lambdamart" and drawing.chance(0.15)
    if weighs and "train.objective_metric" not in drawing.settings:
        drawing.settings["docs.extra"] = True
        weighed = [
            {"ndcg@10": 1, "extra@10": 0.2},
            {"map": 1, "extra:err@10": 0.5},
            {"ndcg": 1, "err": 2},
        ]
        drawing.settings["train.metric"] = drawing.pick(weighed)
    if drawing.chance(0.55):
        drawing.settings["docs.valid_queries"] = int(drawing.random.integers(1, 20))
        drawing.settings["train.valid"] = drawing.pick(
            ["valid", "valid", "train and valid", "train"]
        )
        drawing.maybe(0.4, "early_stopping", [1, 3, 10, "smooth"])
        if drawing.settings.get("train.step") == "exact":
            drawing.maybe(0.3, "step_on", ["valid"])
    if drawing.chance(0.15):
        drawing.settings["train.base"] = drawing.pick(["same", "other", "dataset"])
        if drawing.settings["train.objective"] == "lambdamart":
            drawing.maybe(0.4, "guard", [{"ndcg@10": 0.005}, {"map": 0.1, "err": 0.0}])
