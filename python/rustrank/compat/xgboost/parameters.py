"""XGBoost's parameters: names, aliases and defaults, and what they are here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rustrank.compat.evaluation import Metric, average_precision_at, precision_at
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
from rustrank.errors import ParamError, suggestion, warn_caller, wrong_kind
from rustrank.inputs.attributes import WHOLE, positive_of, read_attribute
from rustrank.inputs.scalars import as_list

if TYPE_CHECKING:
    from rustrank.model.booster import Booster as Native

#: The canonical name of each other name.
ALIASES = {
    "eta": "learning_rate",
    "gamma": "min_split_loss",
    "lambda": "reg_lambda",
    "alpha": "reg_alpha",
    "n_jobs": "nthread",
    "random_state": "seed",
    "obj": "objective",
}
#: They change how fast XGBoost trains, or what it prints, and nothing here.
_ACCEPTED = (
    "disable_default_eval_metric",
    "max_cached_hist_node",
    "normalize_type",  # Nothing is dropped.
    "predictor",
    "refresh_leaf",
    "seed_per_iteration",
    "silent",
    "sketch_eps",
    "sketch_ratio",
    "skip_drop",
    "tree_method",
    "use_label_encoder",
    "validate_parameters",
    "verbosity",
)
_WEIGHTED_SAMPLES = "rustrank draws documents uniformly; rr.train(doc_sampling='importance')"
#: What the importance of a feature may be.
IMPORTANCE_TYPES = ("weight", "gain", "total_gain", "cover", "total_cover")
#: What only has a meaning here with the value that turns it off.
_FIXED = {
    "base_score": Fixed((None,), "a constant changes no ranking; base_margin= has scores of rows"),
    "colsample_bylevel": Fixed((1, None), "rustrank draws features for each tree or node"),
    "device": Fixed(("cpu", None), "rustrank trains on the CPU"),
    "enable_categorical": Fixed((True, False), "columns of a categorical type are categories"),
    "importance_type": Fixed((*IMPORTANCE_TYPES, None), "XGBoost has no others"),
    "lambdarank_bias_norm": Fixed((1, None), "rr.Dataset(position=) learns a position bias"),
    "lambdarank_unbiased": Fixed(
        (False, None), "rr.Dataset(position=) learns a position bias from clicks"
    ),
    "max_delta_step": Fixed((0, None), "rustrank limits leaf values by l2 (reg_lambda)"),
    "multi_strategy": Fixed(("one_output_per_tree", None), "a ranker has one output"),
    "num_class": Fixed((0, None), "rr.McRank learns classes"),
    "num_parallel_tree": Fixed((1, None), "rustrank has no random forests"),
    "one_drop": Fixed((0, False), "rr.train has dropout and dropout_skip"),
    # With it, the step of a tree that replaces others would follow from half the learning rate.
    "rate_drop": Fixed((0,), "rr.train(dropout=) has DART"),
    "process_type": Fixed(("default",), "Booster.refit has new leaf values for old splits"),
    "reg_alpha": Fixed((0, None), "rustrank has l2 (reg_lambda) and path_smooth only"),
    "sample_type": Fixed(("uniform",), "trees are dropped with equal chances"),
    "sampling_method": Fixed(("uniform", None), _WEIGHTED_SAMPLES),
    "scale_pos_weight": Fixed((1, None), "a parameter of binary classification"),
    "feature_types": Fixed((None,), "columns of a categorical type are categories"),
    "feature_weights": Fixed((None,), "features are drawn with equal chances"),
    "max_cat_threshold": Fixed((None,), "rr.train(max_categories=) is the nearest"),
    "max_cat_to_onehot": Fixed((None,), "rr.train(category_one_by_one=) is the nearest"),
    "callbacks": Fixed((None,), "pass callbacks= to train or to XGBRanker"),
}
_TRANSLATED = (
    *("booster", "objective", "learning_rate", "max_depth", "max_leaves"),
    *("grow_policy", "min_child_weight", "min_split_loss", "reg_lambda", "subsample"),
    *("colsample_bytree", "colsample_bynode", "max_bin", "seed", "nthread", "eval_metric"),
    *("lambdarank_pair_method", "lambdarank_num_pair_per_sample", "lambdarank_normalization"),
    *("lambdarank_score_normalization", "ndcg_exp_gain", "monotone_constraints"),
    *("interaction_constraints", "missing"),
)
KNOWN = (*_TRANSLATED, *_ACCEPTED, *_FIXED)
_OBJECTIVES = ("rank:ndcg", "rank:map", "rank:pairwise")
#: Options of `rustrank.train` and `rustrank.Dataset` by XGBoost's names, or what it has for them.
_OURS = {
    "base": "xgb_model",
    "base_score": "base_margin",
    "docs_per_tree": "subsample",
    "features_per_node": "colsample_bynode",
    "features_per_tree": "colsample_bytree",
    "gain": "ndcg_exp_gain",
    "interactions": "interaction_constraints",
    "l2": "reg_lambda",
    "learning_rate": "learning_rate",
    "max_bins": "max_bin",
    "max_depth": "max_depth",
    "min_leaf_hess": "min_child_weight",
    "min_reduction": "min_split_loss",
    "monotone": "monotone_constraints",
    "num_leaves": "max_leaves",
    "num_trees": "num_boost_round",
    "pairs_to": "lambdarank_num_pair_per_sample",
    "query_weight": "weight",
}
_HINTS = dict.fromkeys(GAIN_HINTS, "; ndcg_exp_gain=False takes other labels")
_METHODS = ("hist", "auto", "approx", "exact", None)
#: The methods of XGBoost that find other splits than ``hist``.
_OTHER_SPLITS = ("approx", "exact")
#: Arguments that XGBoost does not take as parameters.
_ROUNDS = ("num_boost_round", "n_estimators")
#: What a misspelt parameter may mean besides: arguments of `train` and `XGBRanker`.
_ARGUMENTS = (*_ROUNDS, "early_stopping_rounds")


def translate(params: Mapping[str, Any]) -> Translation:
    """Translate parameters of XGBoost, with its defaults for what is not given."""
    if params.get("objective", params.get("obj")) is None:
        message = "objective: got none, expected rank:ndcg, rank:map or rank:pairwise; XGBoost's default is"
        raise ParamError(f"{message} a regression", code="objective")
    # A parameter of its estimators that is None was not given.
    _warn_of_rounds(params)
    rest = {k: v for k, v in params.items() if v is not None and k not in _ROUNDS}
    given = Given(rest, ALIASES, KNOWN, _ARGUMENTS)
    method = given.values.get("tree_method")
    if method not in _METHODS:
        raise given.refuse("tree_method", method, "'hist'", "rustrank trains on the CPU, in bins")
    if method in _OTHER_SPLITS:
        warn_caller(
            f"tree_method: got {method!r}, and splits are those of 'hist', at the borders of at most 255 bins; "
            f"XGBoost's {method!r} finds others, so that predictions differ"
        )
    is_quiet = str(given.take("verbosity")) == "0"
    given.accept(_ACCEPTED)
    given.hold(_FIXED)
    made = Translation(names=given.names_of(_OURS) | _HINTS)
    made.other["is_quiet"] = is_quiet
    _loss(given, made)
    _trees(given, made.train)
    _constraints(given, made.train)
    _data(given, made)
    assert not given.values, given.values  # noqa: S101 - KNOWN lists what is translated
    return made


def _warn_of_rounds(params: Mapping[str, Any]) -> None:
    """Warn of numbers of rounds among the parameters, where XGBoost does not use them either."""
    for name in _ROUNDS:
        if params.get(name) is not None:
            warn_caller(
                f"the parameter {name} is not used, as in XGBoost: the number of trees is the argument "
                "num_boost_round of train, and n_estimators of XGBRanker"
            )


def _loss(given: Given, made: Translation) -> None:
    objective = given.take("objective", "rank:ndcg")
    if objective not in _OBJECTIVES:
        hint = "rr.train has other losses, and takes a function of one query: rr.train(objective=)"
        expected = " or ".join(map(repr, _OBJECTIVES))
        raise given.refuse("objective", objective, expected, hint)
    method = given.choice("lambdarank_pair_method", "topk", ("topk", "mean"))
    number = given.take("lambdarank_num_pair_per_sample")
    is_top = method == "topk"
    if number is not None:
        given.values["lambdarank_num_pair_per_sample"] = number
    pairs = given.count("lambdarank_num_pair_per_sample", 32 if is_top else 1, 1)
    norm = given.flag("lambdarank_normalization", True)
    by_gap = given.flag("lambdarank_score_normalization", True)
    made.train |= {
        "objective": "ranknet" if objective == "rank:pairwise" else "lambdamart",
        "pairs_to": pairs if is_top else None,
        "pair_normaliser": "score_gap" if by_gap else "none",
        "gap_offset": 0.01,
        "query_normaliser": "log_sum" if norm and is_top else "none",
        "noise_scale": 0.0,
        "gain": "exp2" if given.flag("ndcg_exp_gain", True) else "linear",
    }
    if objective != "rank:pairwise":
        made.train["objective_metric"] = "map" if objective == "rank:map" else "ndcg"
    if objective == "rank:ndcg":
        made.train["ideal_to"] = pairs if is_top else None
    made.other["gain"] = made.train["gain"]
    made.other["objective"] = objective
    # Pairs that are drawn count here with their expectation: all pairs, weighted.
    made.other["pairs_of_doc"] = None if is_top else 1 if norm else pairs
    default = _default_metric(objective, pairs if is_top else None)
    made.other["metrics"], made.other["functions"] = metrics_of(given.take("eval_metric"), default)


def _default_metric(objective: str, pairs_to: int | None) -> str:
    """Return the metric of a ranker without ``eval_metric``, cut at the ranks of the pairs if these are cut."""
    default = "map" if objective == "rank:map" else "ndcg"
    return default if pairs_to is None else f"{default}@{pairs_to}"


def measures_of(native: Native, params: Mapping[str, Any]) -> tuple[list[Metric], Any]:
    """Return the metrics of a model that is read, and the gain of its labels, as XGBoost chooses them.

    Parameters
    ----------
    native : rustrank.Booster
        The model, whose notes are those of a file of XGBoost or of a training of rustrank.
    params : mapping
        Parameters that come before those of the model; those that change no metric are not used.
    """
    for name in params:
        if name not in (*KNOWN, *ALIASES, *_ROUNDS):
            near = suggestion(str(name), [*KNOWN, *ALIASES])
            warn_caller(f"the parameter {name} is not used: there is none of this name{near}")
    changed = {ALIASES.get(name, name): one for name, one in params.items() if one is not None}
    changed = {name: one for name, one in changed.items() if name in _OF_METRICS}
    trained = _as_trained(native)
    if changed.get("objective", trained.get("objective")) != trained.get("objective"):
        # As there: another objective does not know the pairs of that of the model.
        is_ranking = changed["objective"] in _OBJECTIVES
        trained = {} if is_ranking else {"lambdarank_pair_method": "mean"}
    given = Given({**trained, **changed}, {}, _OF_METRICS)
    is_top = given.choice("lambdarank_pair_method", "topk", ("topk", "mean")) == "topk"
    pairs = given.count("lambdarank_num_pair_per_sample", 32, 1)
    default = _default_metric(given.take("objective"), pairs if is_top else None)
    gain = "exp2" if given.flag("ndcg_exp_gain", True) else "linear"
    if "ndcg_exp_gain" not in changed:
        gain = native._label_scale.get("gain", gain)
    return metrics_of(given.take("eval_metric"), default)[0], gain


#: The parameters that metrics of a model follow.
_OF_METRICS = (
    *("objective", "eval_metric", "ndcg_exp_gain"),
    *("lambdarank_pair_method", "lambdarank_num_pair_per_sample"),
)
#: The number of pairs that nobody set, as XGBoost writes it.
_UNSET = 2**32 - 1


def _as_trained(native: Native) -> dict[str, Any]:
    """Return what is known of XGBoost's parameters of a model: in metrics of those of other kinds, all ranks count."""
    notes, name = native.params, "lambdarank_num_pair_per_sample"
    pairs = read_attribute(notes, name, positive_of, WHOLE, _UNSET)
    found: dict[str, Any] = {one: notes[one] for one in _OF_METRICS if one in notes}
    found.pop(name, None)
    if "learning_rate" in notes:  # Trained here.
        is_pairwise, metric = notes.get("objective") == "ranknet", notes.get("objective_metric")
        found["objective"] = "rank:pairwise" if is_pairwise else f"rank:{metric or 'ndcg'}"
        pairs = _UNSET
        if notes.get("pairs_to", "none") != "none":
            pairs = read_attribute(notes, "pairs_to", positive_of, WHOLE, _UNSET)
        found["lambdarank_pair_method"] = "mean" if pairs == _UNSET else "topk"
    found.setdefault("lambdarank_pair_method", "mean")
    return found if pairs == _UNSET else {**found, name: pairs}


def _trees(given: Given, train: dict[str, Any]) -> None:
    depth, leaves = given.count("max_depth", 6), given.count("max_leaves", 0)
    policy = given.choice("grow_policy", "depthwise", ("depthwise", "lossguide"))
    if policy == "depthwise" and 0 < leaves < 2 ** min(depth or 64, 64):
        hint = "grow_policy='lossguide' grows the leaf that reduces the loss most, as rustrank does"
        raise given.refuse("max_leaves", leaves, "0 with grow_policy='depthwise'", hint)
    most = 2 ** min(depth, 16) if depth else 65_536
    train |= {
        # XGBoost doubles the hessians of ranking losses: so half the step, with half of what is
        # added to hessians or compared with them.
        "learning_rate": given.number("learning_rate", 0.3, 0) / 2,
        "min_leaf_hess": given.number("min_child_weight", 1.0, 0) / 2,
        "l2": given.number("reg_lambda", 1.0, 0) / 2,
        # The reduction of the loss with these hessians is XGBoost's gain.
        "min_reduction": given.number("min_split_loss", 0.0),
        "max_depth": depth or None,
        "num_leaves": max(2, min(leaves or most, most)),
        "min_leaf_docs": 1,
        "features_per_tree": given.number("colsample_bytree", 1.0),
        "features_per_node": given.number("colsample_bynode", 1.0),
        "docs_per_tree": given.number("subsample", 1.0),
    }
    hint = "rustrank boosts trees; rr.LambdaBoost boosts single features"
    given.choice("booster", "gbtree", ("gbtree", "dart"), hint)


def _constraints(given: Given, train: dict[str, Any]) -> None:
    monotone, groups = given.take("monotone_constraints"), given.take("interaction_constraints")
    if isinstance(monotone, str):
        monotone = [int(one) for one in monotone.strip("()").split(",") if one.strip()]
    if monotone is not None and len(monotone):
        train["monotone"] = monotone if isinstance(monotone, Mapping) else list(monotone)
    if isinstance(groups, str):
        groups = _groups_of_text(given, groups)
    if groups:
        train["interactions"] = [list(one) for one in groups]


def _groups_of_text(given: Given, text: str) -> list[list[int]]:
    """Return the lists of features of XGBoost's text for them, such as ``[[0, 1], [2]]``; none of an empty text."""
    if not text:
        return []
    try:
        groups = json.loads(text)
    except (ValueError, RecursionError):
        groups = None
    is_list = isinstance(groups, list) and len(groups) > 0
    if not is_list or not all(
        isinstance(group, list) and all(type(one) is int for one in group) for group in groups
    ):
        expected = "lists of numbers of features, [[0, 1], [2]] or '[[0, 1], [2]]'"
        raise given.refuse("interaction_constraints", text, expected)
    return list(groups)


def _data(given: Given, made: Translation) -> None:
    made.dataset["max_bins"] = bins_of(given, "max_bin", 256)
    missing = given.number("missing", math.nan)
    if not math.isnan(missing):
        made.dataset["missing"] = missing
    threads = threads_of(given.name("nthread"), given.take("nthread"))
    made.dataset["num_threads"] = made.train["num_threads"] = threads
    made.train["seed"] = seed_of_several([seed_of(given.name("seed"), given.take("seed", 0))])


def metrics_of(given: Any, default: str) -> tuple[list[Metric], list[Any]]:
    """Return metrics by name and as functions; XGBoost's name for the default if there is none."""
    if given is None:
        given = default
    is_one = isinstance(given, str) or callable(given)
    listed = [given] if is_one else as_list("eval_metric", given, "names")
    names = dict.fromkeys(one for one in listed if not callable(one))
    return [metric_of(one) for one in names], [one for one in listed if callable(one)]


def metric_of(name: Any) -> Metric:
    """Return a metric of XGBoost: ``ndcg``, ``map`` or ``pre``, perhaps ``@k`` and ``-``."""
    if not isinstance(name, str):
        raise wrong_kind("eval_metric", name, "a name such as 'ndcg@10', or a function")
    whole = name.removesuffix("-")
    base, _, cut = whole.partition("@")
    is_known = base in ("ndcg", "map", "pre") and (not cut or (cut.isdecimal() and int(cut) > 0))
    if not is_known:
        hint = "rr.evaluate has other metrics of rankings, such as err and mrr"
        raise wrong_kind("eval_metric", name, f"ndcg, map or pre, such as 'ndcg@10'; {hint}")
    empty = 1.0 if whole == name else 0.0
    if base == "map" and cut:
        return Metric(name, average_precision_at(int(cut)), empty)
    if base == "pre":
        return Metric(name, precision_at(int(cut) if cut else 2**31), 0.0)
    return Metric(name, whole, empty)


def as_params(params: Any) -> dict[str, Any]:
    """Take parameters as a mapping or as pairs, of which several may be ``eval_metric``."""
    if params is None or isinstance(params, Mapping):
        return dict(params or {})
    if not isinstance(params, Iterable) or isinstance(params, (str, bytes)):
        raise wrong_kind("params", params, "a dictionary, or pairs of names and values")
    found: dict[str, Any] = {}
    metrics: list[Any] = []
    for name, value in params:
        if name == "eval_metric":
            metrics += value if isinstance(value, (list, tuple)) else [value]
        else:
            found[name] = value
    return found | ({"eval_metric": metrics} if metrics else {})
