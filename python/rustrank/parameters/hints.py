"""What other libraries call our parameters and losses: no aliases, but a hint for those who come from there."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from rustrank._rustrank import objectives

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OBJECTIVES", "hint", "objective_hint"]

#: Our names, of `rustrank.train` first; then what LightGBM, XGBoost, CatBoost or scikit-learn say.
_PARAMETERS = {
    "num_trees n_estimators": "num_trees n_estimators num_boost_round num_round num_rounds num_iterations "
    "iterations max_iter nrounds",
    "num_leaves": "max_leaves max_leaf_nodes num_leaf",
    "learning_rate": "eta shrinkage_rate shrinkage",
    "early_stopping": "early_stopping_rounds early_stopping_round n_iter_no_change od_wait",
    "metric": "eval_metric eval_at metrics ndcg_eval_at",
    "base": "init_model xgb_model warm_start",
    "seed random_state": "seed random_state random_seed",
    "num_threads n_jobs": "num_threads n_jobs nthread thread_count num_thread",
    "progress": "verbose verbosity verbose_eval silent",
    "max_depth": "depth",
    "min_leaf_docs": "min_data_in_leaf min_child_samples min_samples_leaf",
    "min_leaf_hess": "min_child_weight min_sum_hessian_in_leaf",
    "l2": "reg_lambda lambda_l2 l2_regularization l2_leaf_reg lambda",
    "min_reduction": "gamma min_split_gain min_gain_to_split min_split_loss",
    "features_per_tree": "colsample_bytree feature_fraction rsm max_features",
    "features_per_node": "colsample_bynode feature_fraction_bynode",
    "docs_per_tree": "subsample bagging_fraction",
    "pairs_to": "lambdarank_truncation_level lambdarank_num_pair_per_sample",
    "gain": "label_gain ndcg_exp_gain",
    "tree_shape": "grow_policy",
    "dropout": "drop_rate rate_drop",
    "monotone": "monotone_constraints monotonic_cst",
    "interactions": "interaction_constraints interaction_cst",
    "callbacks": "callback",
    "max_bins": "max_bin border_count",
}
_HERE = {theirs: ours.split() for ours, names in _PARAMETERS.items() for theirs in names.split()}
#: What belongs to the data.
_OF_DATA = {
    "max_bins": "max_bins",
    "max_bin": "max_bins",
    "border_count": "max_bins",
    "group": "group",
    "qid": "qid",
    "weight": "row_weight",
    "sample_weight": "row_weight",
    "init_score": "base_score",
    "base_margin": "base_score",
    "categorical_feature": "categorical",
}
#: The losses, and what others call them.
OBJECTIVES = tuple(name for name, _, _ in objectives())
_LOSSES = {
    **{theirs: ours for ours, _, names in objectives() for theirs in names},
    "rank:map": "lambdamart with metric='map'",
}


def hint(name: str, known: Sequence[str]) -> str:
    """Return what may be meant by a parameter that there is not."""
    ours = next((one for one in _HERE.get(name, ()) if one in known), None)
    if ours is not None:
        return f"here it is called {ours}"
    if name in _OF_DATA:
        return f"it is an option of rr.Dataset: {_OF_DATA[name]}"
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"


def objective_hint(name: str) -> str:
    """Return what may be meant by an objective that there is not."""
    if name in _LOSSES:
        return f"here it is called {_LOSSES[name]}"
    near = get_close_matches(name, OBJECTIVES, 1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(OBJECTIVES)}"
