"""What other libraries call our parameters and losses: no aliases, but a hint for those who come from there."""

from __future__ import annotations

from collections import defaultdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import objectives
from rustrank.errors import ParamKindError, UnknownNameError, wrong_kind
from rustrank.inputs.keywords import NEAR, OF_DATASET
from rustrank.parameters.schema import OBJECTIVES, OF_ESTIMATORS, TRAININGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["OBJECTIVES", "check_objective", "hint", "option_hint", "refuse_unknown"]

#: What others say besides the names that stand beside the definition of a parameter, by ours.
_MORE = {
    "num_trees": "num_iter num_tree num_trees n_iter iteration",
    "epochs": "n_estimators num_trees num_boost_round iterations max_iter n_epochs num_epochs max_epochs",
    "hidden": "hidden_layer_sizes hidden_units hidden_size layers",
    "optimiser": "optimizer solver",
    "batch_queries": "batch_size",
    "weight_decay": "alpha l2 reg_lambda l2_regularization",
    "patience": "early_stopping early_stopping_rounds n_iter_no_change",
    "learning_rate": "learning_rate_init lr",
    "num_leaves": "max_leaf",
    "min_leaf_docs": "min_data min_data_per_leaf min_child_docs min_samples_split",
    "min_leaf_hess": "min_sum_hessian min_sum_hessian_per_leaf min_hessian",
    "docs_per_tree": "sub_row bagging",
    "queries_per_tree": "bagging_by_query",
    "features_per_node": "colsample_bylevel",
    "features_per_tree": "sub_feature colsample",
    "l2": "l2_reg",
    "min_reduction": "min_impurity_decrease",
    "criterion": "score_function",
    "doc_sampling": "data_sample_strategy sampling_method bootstrap_type",
    "top_docs": "top_rate",
    "tree_shape": "growing_policy",
    "dropout_skip": "skip_drop",
    "dropout_max": "max_drop",
    "dropout_normaliser": "normalize_type",
    "category_one_by_one": "max_cat_to_onehot one_hot_max_size",
    "category_smooth": "cat_smooth cat_l2",
    "max_categories": "max_cat_threshold",
    "min_category_docs": "min_data_per_group",
    "feature_weight": "feature_contri feature_contrib feature_weights",
    "position_l2": "lambdarank_position_bias_regularization lambdarank_bias_norm",
    "query_normaliser": "lambdarank_norm lambdarank_normalization",
    "sigma": "sigmoid",
    "pairs_to": "truncation_level max_position",
    "pair_normaliser": "lambdarank_score_normalization",
    "step": "line_search",
    "objective": "loss loss_function application app obj fobj",
    "metric": "scoring custom_metric feval custom_loss maximize",
    "early_stopping": "early_stop od_pval od_type",
    "base": "model_file input_model",
    "valid": "evals eval_set valid_sets valid_data test validation_data watchlist",
    "num_threads": "num_workers threads",
    "seed": "data_random_seed bagging_seed feature_fraction_seed drop_seed extra_seed",
    "progress": "logging_level",
    "snapshot_every": "snapshot_freq save_period",
    "checkpoint": "save_snapshot snapshot_file",
    "checkpoint_every": "snapshot_interval",
    "workers": "num_machines machines",
    "mode": "tree_learner",
}


def _names_here() -> Mapping[str, Sequence[str]]:
    """Return our names, of `rustrank.train` and of estimators, by what others say."""
    here: dict[str, list[str]] = defaultdict(list)
    for ours, theirs in _MORE.items():
        for name in theirs.split():
            here[name] += [ours, OF_ESTIMATORS.get(ours, ours)]
    for one in TRAININGS["train"].values():
        for name in (*one.elsewhere, one.name):
            here[name] += [one.name, OF_ESTIMATORS.get(one.name, one.name)]
    for name, ours in OF_DATASET.items():
        here[name].append(ours)
    return here


_HERE = _names_here()
#: The arguments of an estimator's ``fit``, by what others say.
_OF_FIT = {
    **{name: name for name in ("qid", "group", "sample_weight", "query_weight", "base_score")},
    **{name: name for name in ("eval_set", "eval_qid", "eval_group", "base", "callbacks")},
    **dict.fromkeys(("group_id", "query", "query_id", "groups"), "qid"),
    **dict.fromkeys(("weight", "weights", "row_weight"), "sample_weight"),
    "group_weight": "query_weight",
    **dict.fromkeys(("init_score", "base_margin", "baseline"), "base_score"),
    **dict.fromkeys(("evals", "valid", "valid_sets", "validation_data"), "eval_set"),
    **dict.fromkeys(("label", "labels", "target"), "y"),
    **dict.fromkeys(("init_model", "xgb_model", "warm_start"), "base"),
    "callback": "callbacks",
}
_SAMPLED = "queries_per_tree and docs_per_tree sample anew for each tree"
_MACHINE = "training runs on the processor, and its result does not depend on the number of threads"
_BINS = "features are always binned; max_bins says how finely"
_WEIGHTS = (
    "weights of docs and queries belong to the data: row_weight and query_weight of rr.Dataset"
)
#: What there is nothing for, and what does the work.
_INSTEAD = {
    **dict.fromkeys(("bagging_freq", "subsample_freq"), _SAMPLED),
    **dict.fromkeys(("bagging_temperature", "mvs_reg"), _SAMPLED),
    "sampling_unit": "docs_per_tree samples documents, queries_per_tree whole queries",
    "leaf_estimation_iterations": "leaf values are one Newton step; step='exact' finds its length by the metric",
    **dict.fromkeys(
        ("metric_period", "train_dir", "allow_writing_files"),
        "metrics are evaluated after each round, and only checkpoint and snapshot write files",
    ),
    **dict.fromkeys(
        ("max_ctr_complexity", "simple_ctr", "combinations_ctr", "model_size_reg"),
        "categories are split as sets of values, without statistics of labels; see category_smooth",
    ),
    **dict.fromkeys(("device", "device_type", "task_type", "gpu_id", "predictor"), _MACHINE),
    **dict.fromkeys(("deterministic", "force_col_wise", "force_row_wise"), _MACHINE),
    **dict.fromkeys(("tree_method", "border_type", "feature_border_type"), _BINS),
    **dict.fromkeys(("scale_pos_weight", "is_unbalance", "class_weight"), _WEIGHTS),
    **dict.fromkeys(
        ("lambda_l1", "reg_alpha", "alpha", "l1_regularization"),
        "there is no L1 penalty; l2 shrinks the values of leaves",
    ),
    **dict.fromkeys(
        ("boosting", "boosting_type", "booster", "boost"),
        "trees are always boosted; dropout makes it DART, doc_sampling='one_sided' GOSS",
    ),
    **dict.fromkeys(
        ("extra_trees", "splitter"), "random_strength brings chance into the choice of splits"
    ),
    **dict.fromkeys(
        ("params", "param", "parameters"),
        "options are given by name: rr.train(dataset, num_trees=100), or **params",
    ),
    **dict.fromkeys(
        ("use_best_model", "first_metric_only"),
        "with early_stopping the booster ends at the best round of the first metric",
    ),
    **dict.fromkeys(
        ("tol", "min_delta"), "early_stopping takes any new best value for an improvement"
    ),
    **dict.fromkeys(
        ("lambdarank_unbiased", "unbiased"),
        "the bias of places is learned where the data have places: position of rr.Dataset",
    ),
    **dict.fromkeys(
        ("importance_type",), "importance is asked of the model: Booster.feature_importance(kind)"
    ),
    **dict.fromkeys(("valid_names",), "sets have names in valid={'name': dataset}"),
    **dict.fromkeys(
        ("evals_result", "record_evaluation"), "the values of all rounds are in Booster.history"
    ),
    **dict.fromkeys(
        (
            *("num_parallel_tree", "linear_tree", "max_delta_step"),
            *("langevin", "posterior_sampling", "has_time", "boost_from_average"),
        ),
        "there is nothing like it here",
    ),
    "lambdarank_pair_method": (
        "XGBoost's 'topk' with lambdarank_num_pair_per_sample=8 is pairs_to=8 here, with rank:ndcg ideal_to=8, too, "
        "and its 'mean', which draws pairs, is nearest to pairs_to=None, all pairs"
    ),
}
#: The options of commands that are called otherwise than in Python, by what others say.
_OF_COMMANDS = {
    **dict.fromkeys(
        ("num_threads", "num_thread", "nthread", "n_jobs", "thread_count", "num_workers"), "threads"
    ),
    **dict.fromkeys(("params", "param", "parameters", "param_file", "config_file"), "config"),
    **dict.fromkeys(("input_model", "model_in"), "base"),
}
#: What the papers call ``lambdamart``'s loss: model files do so, too.
_OF_PAPERS = "lambdarank"
#: What others call the losses.
_LOSSES = {
    **{theirs: ours for ours, _, names in objectives() for theirs in names},
    "rank:map": "lambdamart with metric='map'",
}


#: What differs besides the name.
_SCALED = {
    **dict.fromkeys(
        ("min_gain_to_split", "min_split_gain"),
        ", and is half of LightGBM's value, whose reductions have no factor 1/2",
    ),
    **dict.fromkeys(
        ("lambdarank_truncation_level", "lambdarank_num_pair_per_sample"),
        "; with ideal_to of the same value gradients are divided by the best DCG to that rank, as there",
    ),
    "lambdarank_norm": (
        ", together with pair_normaliser: LightGBM's True is query_normaliser='log_sum', pair_normaliser='score_gap', "
        "gap_offset=0.01, and its False query_normaliser='none', pair_normaliser='none'"
    ),
    "lambdarank_normalization": (
        ": XGBoost's True is query_normaliser='log_sum', and its False query_normaliser='none'"
    ),
    "lambdarank_score_normalization": (
        ", together with gap_offset: XGBoost's True is pair_normaliser='score_gap', gap_offset=0.01, and its False "
        "pair_normaliser='none'"
    ),
    "top_rate": (
        ", with doc_sampling='one_sided' and with docs_per_tree, which is LightGBM's top_rate and other_rate together"
    ),
    "data_sample_strategy": (
        ": LightGBM's 'goss' is doc_sampling='one_sided' with top_docs=top_rate and docs_per_tree=top_rate + other_rate"
    ),
    "depth": ", with num_leaves: CatBoost's depth=6 is tree_shape='symmetric', max_depth=6, num_leaves=64",
}


#: Parameters of trees that are half of XGBoost's.
_HALVED = ("eta", "lambda", "reg_lambda", "min_child_weight")
_HALF = ", and is half of XGBoost's value, whose rankers have doubled hessians"
#: What goes with such a parameter.
_WITH = {"min_child_weight": "; with min_leaf_docs=1, as XGBoost has no least number of documents"}

#: What there is for the call-backs of other libraries, by a part of their names.
_CALLBACKS = {
    "early": "early_stopping=10 or rr.EarlyStopping ends training",
    "record": "booster.history has the metrics of all rounds",
    "log": "progress=True shows the metrics; lambda one: print(one.number, one.values) prints them",
    "monitor": "progress=True shows the metrics; lambda one: print(one.number, one.values) prints them",
    "reset": "parameters do not change in training; base= goes on with others",
    "rate": "parameters do not change in training; base= goes on with others",
    "checkpoint": "checkpoint= and snapshot= write files",
}


def foreign_callback(callback: Any) -> ParamKindError | None:
    """Return the error of a call-back of another library, or of `rustrank.compat`; None for others."""
    module = str(getattr(callback, "__module__", ""))
    library = module.removeprefix("rustrank.compat.").partition(".")[0]
    if library not in ("lightgbm", "xgboost", "catboost"):
        return None
    name = (getattr(callback, "__qualname__", "") or type(callback).__name__).lower()
    instead = next((one for part, one in _CALLBACKS.items() if part in name), None)
    expected = "functions of a rr.Round" + (f"; {instead}" if instead else "")
    return wrong_kind("callbacks", callback, f"{expected}: this one is of {module}")


def hint(name: str, known: Sequence[str]) -> str:
    """Return what may be meant by a parameter that there is not."""
    return _meant(name, known) or _nearest(name, known)


def _meant(name: str, known: Sequence[str]) -> str:
    """Return what a name of another library is here; nothing if it is of none."""
    ours = next((one for one in _HERE.get(name, ()) if one in known), None)
    if ours is not None:
        return f"here it is called {ours}{_besides(name, known)}"
    # Only estimators have this name.
    is_estimator = "random_state" in known
    if is_estimator and name in _OF_FIT:
        return f"it is an argument of fit: {_OF_FIT[name]}"
    if OF_DATASET.get(name) in known:
        return f"here it is called {OF_DATASET[name]}"
    if name in OF_DATASET:
        return f"it is an option of rr.Dataset: {OF_DATASET[name]}"
    if name in _INSTEAD:
        return _INSTEAD[name]
    if is_estimator and "objective" in _HERE.get(name, ()):
        losses = ", ".join(f"rr.{estimator} ({ours})" for ours, estimator, _ in objectives())
        return f"each loss has its estimator: {losses}"
    options = TRAININGS["train"]
    of_train = next((one for one in _HERE.get(name, ()) if one in options), None)
    if is_estimator and of_train is not None:
        return f"it is an option of rr.train with trees: {of_train}"
    return ""


def _besides(name: str, known: Sequence[str]) -> str:
    """Return what differs besides the name: in values, or in other parameters that go with it."""
    if name in _HALVED and "min_leaf_hess" in known:
        return _HALF + _WITH.get(name, "")
    return _SCALED.get(name, "")


def option_hint(option: str, there: Iterable[str]) -> str:
    """Return the suggestion for an option that a command does not have, as the end of a message."""
    options = list(there)
    name = option.removeprefix("--").replace("-", "_")
    known = [one.removeprefix("--").replace("-", "_") for one in options]
    candidates = (*_HERE.get(name, ()), _OF_COMMANDS.get(name))
    ours = next((one for one in candidates if one in known), None)
    if ours is not None:
        return f"; here it is called --{ours.replace('_', '-')}{_besides(name, known)}"
    if "set" in known and (of_ranker := next(iter(_HERE.get(name, ())), None)) is not None:
        of_ranker = OF_ESTIMATORS.get(of_ranker, of_ranker)
        return f"; an option of the ranker is given as --set {of_ranker}=..., or tried by --try"
    meant = _meant(name, known) if "num_trees" in known else ""
    near = get_close_matches(option, options, 1, NEAR)
    if not meant and near:
        meant = f"did you mean {near[0]}?"
    return f"; {meant}" if meant else ""


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1, NEAR)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Name a parameter that there is not, and the one that was meant."""
    known = list(known)
    for name in given:
        if name not in known:
            message = f"there is no parameter {name}; {hint(name, known)}"
            raise UnknownNameError(message, code="param")


def check_objective(name: Any) -> None:
    """Name an objective that there is not, and the one that was meant."""
    if isinstance(name, str) and name not in (*OBJECTIVES, _OF_PAPERS):
        ours = _LOSSES.get(name)
        hint = f"here it is called {ours}" if ours else _nearest(name, OBJECTIVES)
        raise UnknownNameError(f"unknown objective {name!r}; {hint}", code="objective")
