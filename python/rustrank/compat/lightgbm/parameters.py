"""LightGBM's parameters: names, aliases and defaults, and what they are here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rustrank.compat.evaluation import Metric, average_precision_at
from rustrank.compat.parameters import (
    Fixed,
    Given,
    Translation,
    bins_of,
    seed_of,
    seed_of_several,
    threads_of,
)
from rustrank.compat.wording import GAIN_HINTS
from rustrank.errors import ParamError, UnknownNameError, wrong_kind
from rustrank.inputs.scalars import as_list

if TYPE_CHECKING:
    from collections.abc import Callable

_ALIASES_OF = {
    "bagging_fraction": "bagging sub_row subsample",
    "bagging_freq": "subsample_freq",
    "bagging_seed": "bagging_fraction_seed",
    "bin_construct_sample_cnt": "subsample_for_bin",
    "boosting": "boost boosting_type",
    "categorical_feature": "cat_column cat_feature categorical_column categorical_features",
    "data_random_seed": "data_seed",
    "device_type": "device",
    "drop_rate": "rate_drop",
    "early_stopping_round": "early_stopping early_stopping_rounds n_iter_no_change",
    "enable_bundle": "bundle is_enable_bundle",
    "eval_at": "map_at map_eval_at ndcg_at ndcg_eval_at",
    "extra_trees": "extra_tree",
    "feature_contri": "fc feature_contrib feature_penalty fp",
    "feature_fraction": "colsample_bytree sub_feature",
    "feature_fraction_bynode": "colsample_bynode sub_feature_bynode",
    "histogram_pool_size": "hist_pool_size",
    "is_enable_sparse": "enable_sparse is_sparse sparse",
    "is_provide_training_metric": "is_training_metric train_metric training_metric",
    "is_unbalance": "unbalance unbalanced_sets",
    "lambda_l1": "l1_regularization reg_alpha",
    "lambda_l2": "l2_regularization lambda reg_lambda",
    "learning_rate": "eta shrinkage_rate",
    "linear_tree": "linear_trees",
    "max_bin": "max_bins",
    "max_delta_step": "max_leaf_output max_tree_output",
    "metric": "metric_types metrics",
    "min_data_in_leaf": "min_child_samples min_data min_data_per_leaf min_samples_leaf",
    "min_gain_to_split": "min_split_gain",
    "min_sum_hessian_in_leaf": "min_child_weight min_hessian min_sum_hessian min_sum_hessian_per_leaf",
    "monotone_constraints": "mc monotone_constraint monotonic_cst",
    "monotone_constraints_method": "mc_method monotone_constraining_method",
    "monotone_penalty": "mc_penalty monotone_splits_penalty ms_penalty",
    "neg_bagging_fraction": "neg_bagging neg_sub_row neg_subsample",
    "num_class": "num_classes",
    "num_iterations": "max_iter n_estimators n_iter nrounds num_boost_round num_iteration num_round num_rounds num_tree num_trees",
    "num_leaves": "max_leaf max_leaf_nodes max_leaves num_leaf",
    "num_machines": "num_machine",
    "num_threads": "n_jobs nthread nthreads num_thread",
    "objective": "app application loss objective_type",
    "pos_bagging_fraction": "pos_bagging pos_sub_row pos_subsample",
    "seed": "random_seed random_state",
    "tree_learner": "tree tree_learner_type tree_type",
    "verbosity": "verbose",
}
#: The canonical name of each other name.
ALIASES = {alias: name for name, many in _ALIASES_OF.items() for alias in many.split()}

#: They change how fast LightGBM trains, or what it prints, and nothing here.
_ACCEPTED = (
    "boost_from_average",  # Not for ranking losses, in LightGBM either.
    "deterministic",
    "enable_bundle",
    "feature_pre_filter",
    "force_col_wise",
    "force_row_wise",
    "histogram_pool_size",
    "is_enable_sparse",
    "pre_partition",
    "silent",
    "two_round",
)
_ONE_MACHINE = "rr.train(workers=) trains with several processes"
_TREES_OF_DATA = "rustrank has no such parameter"
#: What only has a meaning here with the value that turns it off.
_FIXED = {
    "cegb_penalty_split": Fixed((0,), _TREES_OF_DATA),
    "cegb_tradeoff": Fixed((1,), _TREES_OF_DATA),
    "class_weight": Fixed((None,), "labels of rankers are grades: weigh queries or rows (weight=)"),
    "device_type": Fixed(("cpu",), "rustrank trains on the CPU"),
    "extra_trees": Fixed((False,), "random_strength of rr.train leaves splits to chance a little"),
    "forcedsplits_filename": Fixed(("", None), _TREES_OF_DATA),
    "is_unbalance": Fixed((False,), "a parameter of binary classification"),
    "lambda_l1": Fixed((0,), "rustrank has l2 (lambda_l2) and path_smooth only"),
    "lambdarank_position_bias_regularization": Fixed(
        (0,), "rr.Dataset(position=) and rr.train(position_l2=) learn a position bias"
    ),
    "linear_tree": Fixed((False,), "leaves are constants in rustrank"),
    "max_delta_step": Fixed((0, -1), "rustrank limits leaf values by l2 (lambda_l2)"),
    "min_data_in_bin": Fixed((3,), "rustrank chooses bins by max_bin alone"),
    "monotone_constraints_method": Fixed(("basic",), "rustrank has one method"),
    "monotone_penalty": Fixed((0,), _TREES_OF_DATA),
    "neg_bagging_fraction": Fixed((1,), "a parameter of binary classification"),
    "num_class": Fixed((1,), "rr.McRank learns classes"),
    "num_machines": Fixed((1,), _ONE_MACHINE),
    "pos_bagging_fraction": Fixed((1,), "a parameter of binary classification"),
    "scale_pos_weight": Fixed((1,), "a parameter of binary classification"),
    "tree_learner": Fixed(("serial",), _ONE_MACHINE),
    "use_missing": Fixed((True,), "replace NaN in the data to treat it as a number"),
    "use_quantized_grad": Fixed((False,), "gradients are always quantised, to 32 bits and more"),
    "zero_as_missing": Fixed((False,), "replace 0 by NaN in the data, in prediction too"),
    "cat_l2": Fixed((10,), "rr.train(category_smooth=) is what there is: cat_smooth"),
    "min_data_per_group": Fixed((100,), "rr.train(min_category_docs=) is the nearest"),
}
_SEEDS = (
    "seed",
    "bagging_seed",
    "feature_fraction_seed",
    "drop_seed",
    "extra_seed",
    "data_random_seed",
    "objective_seed",
)
_TRANSLATED = (
    *("objective", "boosting", "data_sample_strategy", "num_iterations", "learning_rate"),
    *("num_leaves", "max_depth", "min_data_in_leaf", "min_sum_hessian_in_leaf", "lambda_l2"),
    *("min_gain_to_split", "path_smooth", "feature_fraction", "feature_fraction_bynode"),
    *("bagging_fraction", "bagging_freq", "bagging_by_query", "top_rate", "other_rate"),
    *("drop_rate", "max_drop", "skip_drop", "xgboost_dart_mode", "uniform_drop", "sigmoid"),
    *("lambdarank_truncation_level", "lambdarank_norm", "label_gain", "monotone_constraints"),
    *("interaction_constraints", "feature_contri", "cat_smooth", "max_cat_threshold"),
    *("max_cat_to_onehot", "num_threads", "max_bin", "bin_construct_sample_cnt"),
    *("categorical_feature", "metric", "eval_at", "first_metric_only", "verbosity"),
    *("early_stopping_round", "early_stopping_min_delta", "is_provide_training_metric"),
)
KNOWN = (*_TRANSLATED, *_SEEDS, *_ACCEPTED, *_FIXED)
_OBJECTIVES = {
    "lambdarank": "lambdamart",
    "rank_xendcg": "xendcg",
    "xendcg": "xendcg",
    "xe_ndcg": "xendcg",
    "xe_ndcg_mart": "xendcg",
    "xendcg_mart": "xendcg",
}
_METRICS = {
    "ndcg": "ndcg",
    "lambdarank": "ndcg",
    "map": "map",
    "mean_average_precision": "map",
    **dict.fromkeys(_OBJECTIVES, "ndcg"),
}
#: Options of `rustrank.train` and `rustrank.Dataset` by LightGBM's names, or what it has for them.
_OURS = {
    "base": "init_model",
    "base_score": "init_score",
    "categorical": "categorical_feature",
    "category_one_by_one": "max_cat_to_onehot",
    "category_smooth": "cat_smooth",
    "docs_per_tree": "bagging_fraction",
    "dropout": "drop_rate",
    "dropout_max": "max_drop",
    "dropout_skip": "skip_drop",
    "feature_names": "feature_name",
    "feature_weight": "feature_contri",
    "features_per_node": "feature_fraction_bynode",
    "features_per_tree": "feature_fraction",
    "gain": "label_gain",
    "interactions": "interaction_constraints",
    "l2": "lambda_l2",
    "learning_rate": "learning_rate",
    "max_bins": "max_bin",
    "max_categories": "max_cat_threshold",
    "max_depth": "max_depth",
    "min_leaf_docs": "min_data_in_leaf",
    "min_leaf_hess": "min_sum_hessian_in_leaf",
    "min_reduction": "min_gain_to_split",
    "monotone": "monotone_constraints",
    "num_leaves": "num_leaves",
    "num_trees": "num_iterations",
    "pairs_to": "lambdarank_truncation_level",
    "path_smooth": "path_smooth",
    "queries_per_tree": "bagging_fraction",
    "row_weight": "weight",
    "sample_rows": "bin_construct_sample_cnt",
    "sigma": "sigmoid",
    "top_docs": "top_rate",
}
_HINTS = dict.fromkeys(GAIN_HINTS, "; label_gain has the gain of each label")
_FILES = "pass arrays or frames to Dataset; rustrank train and rr.Dataset.from_letor read files"
#: Parameters of LightGBM's command line, with their other names, and what there is in Python.
_COMMAND_LINE = {
    "config config_file": "parameters are a dictionary; rustrank train --config reads a file",
    "data data_filename train train_data train_data_file": _FILES,
    "header has_header": _FILES,
    "input_model model_in model_input": "pass init_model= to train, or Booster(model_file=)",
    "metric_freq output_freq": "pass callbacks=[log_evaluation(period)]",
    "output_model model_out model_output": "call booster.save_model(path) after training",
    "snapshot_freq save_period": "rr.train(checkpoint=) saves what has been trained, and goes on from it",
    "task task_type": "leave it out: call train, or predict of a Booster",
    "valid test test_data test_data_file valid_data valid_data_file valid_filenames": (
        "pass valid_sets= to train, or eval_set= to fit"
    ),
}
_COMMAND_LINE_HINTS = {
    name: hint for names, hint in _COMMAND_LINE.items() for name in names.split()
}
_NO_METRIC = ("None", "none", "na", "null", "custom")
#: What metrics are of the five first ranks, if it is not said.
DEFAULT_EVAL_AT = (1, 2, 3, 4, 5)


def translate(params: Mapping[str, Any] | None) -> Translation:
    """Translate parameters of LightGBM, with its defaults for what is not given."""
    if params is not None and not isinstance(params, Mapping):
        raise wrong_kind("params", params, "a dictionary")
    for name in params or {}:
        if name in _COMMAND_LINE_HINTS:
            message = f"there is no parameter {name}, which is of LightGBM's command line"
            raise UnknownNameError(f"{message}: {_COMMAND_LINE_HINTS[name]}", code="param")
    given = Given(dict(params or {}), ALIASES, KNOWN)
    if given.values.get("objective") is None:
        message = "objective: got none, expected lambdarank or rank_xendcg; LightGBM's default is a"
        raise ParamError(f"{message} regression", code="objective")
    given.accept(_ACCEPTED)
    given.hold(_FIXED)
    made = Translation(names=given.names_of(_OURS) | _HINTS)
    _loss(given, made)
    _trees(given, made.train)
    _sampling(given, made.train)
    if "top_docs" in made.train:
        made.names["docs_per_tree"] = "top_rate + other_rate"
    _constraints(given, made.train)
    _data(given, made)
    _run(given, made)
    assert not given.values, given.values  # noqa: S101 - KNOWN lists what is translated
    return made


def _loss(given: Given, made: Translation) -> None:
    objective = given.take("objective")
    if callable(objective):
        hint = "a function of one query is a loss in rustrank: rr.train(objective=function)"
        raise given.refuse("objective", objective, "'lambdarank' or 'rank_xendcg'", hint)
    if objective not in _OBJECTIVES:
        hint = "rr.train has other losses: ranknet, regression, logistic"
        raise given.refuse("objective", objective, "'lambdarank' or 'rank_xendcg'", hint)
    made.other["objective"] = "lambdarank" if objective == "lambdarank" else "rank_xendcg"
    ours = _OBJECTIVES[objective]
    truncation = given.count("lambdarank_truncation_level", 30, 1)
    sigmoid, norm = given.number("sigmoid", 1.0), given.flag("lambdarank_norm", True)
    made.train["objective"] = ours
    if ours == "lambdamart":
        made.train |= {
            "objective_metric": "ndcg",
            "pairs_to": truncation,
            "ideal_to": truncation,
            "sigma": sigmoid,
            "pair_normaliser": "score_gap" if norm else "none",
            "gap_offset": 0.01,
            "query_normaliser": "log_sum" if norm else "none",
            "noise_scale": 0.0,
        }
    gain = given.take("label_gain")
    if isinstance(gain, str):
        gain = [float(one) for one in gain.split(",")]
    made.other["gain"] = made.train["gain"] = "exp2" if gain is None else list(gain)


def _trees(given: Given, train: dict[str, Any]) -> None:
    depth = given.count("max_depth", -1, -(2**31))
    train |= {
        "num_trees": given.count("num_iterations", 100),
        "learning_rate": given.number("learning_rate", 0.1),
        "num_leaves": given.count("num_leaves", 31, 2),
        "max_depth": depth if depth > 0 else None,
        "min_leaf_docs": max(1, given.count("min_data_in_leaf", 20)),
        "min_leaf_hess": given.number("min_sum_hessian_in_leaf", 1e-3),
        "l2": given.number("lambda_l2", 0.0),
        # LightGBM leaves out the factor 1/2 of the loss.
        "min_reduction": given.number("min_gain_to_split", 0.0, 0) / 2,
        "path_smooth": given.number("path_smooth", 0.0),
        "features_per_tree": given.number("feature_fraction", 1.0),
        "features_per_node": given.number("feature_fraction_bynode", 1.0),
        "category_smooth": given.number("cat_smooth", 10.0),
        "missing_is_unknown": True,
        "max_categories": given.count("max_cat_threshold", 32, 1),
        "category_one_by_one": given.count("max_cat_to_onehot", 4, 0),
    }


def _sampling(given: Given, train: dict[str, Any]) -> None:
    boosting = given.choice(
        "boosting",
        "gbdt",
        ("gbdt", "gbrt", "goss", "dart"),
        "rr.train has no random forests: rows_per_node and features_per_node are the nearest",
    )
    strategy = given.choice("data_sample_strategy", "bagging", ("bagging", "goss"))
    fraction, freq = given.number("bagging_fraction", 1.0), given.count("bagging_freq", 0)
    if not 0 < fraction <= 1:
        raise given.refuse("bagging_fraction", fraction, "a number above 0, up to 1")
    by_query = given.flag("bagging_by_query", False)
    top, other = given.number("top_rate", 0.2), given.number("other_rate", 0.1)
    if boosting == "goss" or strategy == "goss":
        train |= {"doc_sampling": "one_sided", "top_docs": top, "docs_per_tree": top + other}
    elif freq > 0 and fraction < 1:
        if freq > 1:
            hint = "rustrank draws documents anew for each tree: bagging_freq=1"
            raise given.refuse("bagging_freq", freq, "0 or 1", hint)
        train["queries_per_tree" if by_query else "docs_per_tree"] = fraction
    _dart(given, train, is_on=boosting == "dart")


def _dart(given: Given, train: dict[str, Any], *, is_on: bool) -> None:
    rate, skip = given.number("drop_rate", 0.1), given.number("skip_drop", 0.5)
    most = given.count("max_drop", 50, -(2**31))
    as_xgboost = given.flag("xgboost_dart_mode", False)
    uniform = given.flag("uniform_drop", False)
    if not is_on:
        return
    if not (as_xgboost and uniform):
        hint = (
            "rustrank's dropout is that of XGBoost: xgboost_dart_mode=True, uniform_drop=True; "
            "rr.train(dropout=)"
        )
        raise given.refuse("boosting", "dart", "'gbdt', or both of these parameters", hint)
    train |= {"dropout": rate, "dropout_skip": skip, "dropout_max": most if most > 0 else None}


def _constraints(given: Given, train: dict[str, Any]) -> None:
    for name, ours in (
        ("monotone_constraints", "monotone"),
        ("feature_contri", "feature_weight"),
        ("interaction_constraints", "interactions"),
    ):
        value = given.take(name)
        if ours == "interactions" and isinstance(value, str):
            value = _groups_of_text(given, name, value)
        if isinstance(value, str):
            hint = "a list with an entry for each feature"
            raise given.refuse(name, value, hint)
        if value is not None:
            train[ours] = list(value)


def _groups_of_text(given: Given, name: str, text: str) -> list[list[int]] | None:
    """Return the lists of features of LightGBM's text for them, such as ``[0,1],[2]``."""
    try:
        groups = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        groups = [None]
    if not all(
        isinstance(group, list) and all(type(one) is int for one in group) for group in groups
    ):
        expected = "lists of numbers of features, [[0, 1], [2]] or '[0,1],[2]'"
        raise given.refuse(name, text, expected)
    return groups or None


def _data(given: Given, made: Translation) -> None:
    made.dataset["max_bins"] = bins_of(given, "max_bin", 255)
    made.dataset["sample_rows"] = given.count("bin_construct_sample_cnt", 200_000, 1)
    made.other["categorical_feature"] = given.take("categorical_feature")
    threads = threads_of(given.name("num_threads"), given.take("num_threads"))
    made.dataset["num_threads"] = made.train["num_threads"] = threads
    seeds = [(given.name(name), given.take(name)) for name in _SEEDS]
    drawn = [seed_of(name, value) for name, value in seeds if value is not None]
    made.train["seed"] = seed_of_several(drawn or [0])


def _run(given: Given, made: Translation) -> None:
    metric, at = given.take("metric"), given.take("eval_at")
    verbosity = str(given.take("verbosity", 1))
    made.other |= {
        "metrics": metrics_of(metric, at, given.name("metric")),
        "num_boost_round": made.train["num_trees"] if "num_iterations" in given.names else None,
        "first_metric_only": given.flag("first_metric_only", False),
        "early_stopping_round": given.count("early_stopping_round", 0, -(2**31)),
        "early_stopping_min_delta": given.number("early_stopping_min_delta", 0.0),
        "is_verbose": verbosity not in ("-1", "0", "False"),
        # From 0 on, LightGBM prints warnings.
        "is_quiet": verbosity.startswith("-"),
        "training_metric": given.flag("is_provide_training_metric", False),
    }


def metrics_of(metric: Any, eval_at: Any, name: str = "metric") -> list[Metric]:
    """Return the metrics at all cuts: of ``ndcg`` and the cuts 1 and 3, ``ndcg@1`` and ``ndcg@3``."""
    cuts = cuts_of(eval_at)
    if metric is None or metric == "":
        metric = "ndcg"
    given = metric.split(",") if isinstance(metric, str) else as_list(name, metric, "names")
    given = [one for one in given if not (isinstance(one, str) and one == "")] or ["ndcg"]
    names: list[str] = []
    for one in given:
        if one is None or one in _NO_METRIC:
            continue
        if not isinstance(one, str):
            raise wrong_kind(name, one, "a name; pass functions as feval= or eval_metric=")
        base, _, cut = one.strip().partition("@")
        if base not in _METRICS:
            hint = "rr.evaluate has other metrics of rankings, such as err and mrr"
            raise wrong_kind(name, one, f"'ndcg' or 'map' for ranking; {hint}")
        at = cuts_of(cut) if cut else cuts
        names += [f"{_METRICS[base]}@{k}" for k in at]
    return [_metric(one) for one in dict.fromkeys(names)]


def _metric(name: str) -> Metric:
    base, _, cut = name.partition("@")
    measure: str | Callable[[Any, Any], float] = name
    return Metric(name, measure if base == "ndcg" else average_precision_at(int(cut)))


def cuts_of(eval_at: Any) -> list[int]:
    """Return the cuts of metrics, rising as in LightGBM: the first one decides on early stopping."""
    if eval_at is None or eval_at == "":
        return list(DEFAULT_EVAL_AT)
    if isinstance(eval_at, str):
        eval_at = eval_at.split(",")
    many = eval_at if isinstance(eval_at, Iterable) else [eval_at]
    cuts = []
    for one in many:
        try:
            cut = int(one)
        except (TypeError, ValueError):
            cut = 0
        if cut < 1 or cut != float(one):
            raise wrong_kind("eval_at", one, "whole numbers from 1")
        cuts.append(cut)
    return sorted(cuts)


def function_list(given: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Part what may be metrics into names and functions."""
    listed = given if isinstance(given, (list, tuple, set)) else [] if given is None else [given]
    return [one for one in listed if not callable(one)], [one for one in listed if callable(one)]
