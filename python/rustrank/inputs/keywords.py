"""Hints for arguments that a function does not have: what other libraries call ours."""

from __future__ import annotations

import functools
import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rustrank.errors import UnknownArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "NEAR",
    "OF_DATASET",
    "OF_EVALUATE",
    "OF_FIT",
    "OF_MODEL",
    "OF_ONE_METRIC",
    "OF_PREDICT",
    "OF_PREDICT_OF_MODEL",
    "no_attribute",
    "refuses_unknown",
]

P = ParamSpec("P")
R = TypeVar("R")

#: How alike two names are at least if one is taken for a misspelling of the other.
NEAR = 0.75
#: The arguments of `rustrank.Dataset`, by what others say.
OF_DATASET = {
    **dict.fromkeys(("data", "x", "features"), "X"),
    **dict.fromkeys(("label", "labels", "target", "relevance"), "y"),
    **dict.fromkeys(("qid", "group_id", "query", "query_id", "groups", "queries"), "qid"),
    **dict.fromkeys(("group", "group_sizes", "query_sizes"), "group"),
    **dict.fromkeys(("weight", "weights", "sample_weight", "row_weight"), "row_weight"),
    **dict.fromkeys(("query_weight", "group_weight"), "query_weight"),
    **dict.fromkeys(("base_score", "init_score", "base_margin", "baseline"), "base_score"),
    **dict.fromkeys(("position", "positions"), "position"),
    **dict.fromkeys(("init_model",), "base"),
    **dict.fromkeys(("feature_names", "feature_name", "columns"), "feature_names"),
    **dict.fromkeys(("like", "reference", "ref"), "like"),
    **dict.fromkeys(("max_bins", "max_bin", "border_count", "num_bins", "nbins"), "max_bins"),
    **dict.fromkeys(("sample_rows", "bin_construct_sample_cnt"), "sample_rows"),
    "subsample_for_bin": "sample_rows",
    **dict.fromkeys(("missing", "zero_as_missing", "nan_mode", "use_missing"), "missing"),
    **dict.fromkeys(("nthread", "n_jobs", "thread_count", "num_thread"), "num_threads"),
    **dict.fromkeys(("categorical", "categorical_feature", "cat_features"), "categorical"),
    **dict.fromkeys(("categorical_features", "cat_feature", "feature_types"), "categorical"),
    "enable_categorical": "categorical",
}
_METRIC = "metric is an option of the estimator: metric=('ndcg@1', 'ndcg@10')"
_STOP = "early_stopping is an option of the estimator"
_PROGRESS = "progress is an option of the estimator: progress=True shows a bar"
_OF_DATA = "categorical is an option of the estimator; names are those of the columns of X"
#: The arguments of an estimator's ``fit``, by what others say.
OF_FIT = {
    **dict.fromkeys(("group_id", "query", "query_id", "groups", "queries"), "qid"),
    **dict.fromkeys(("weight", "weights", "row_weight"), "sample_weight"),
    **dict.fromkeys(("init_score", "base_margin", "baseline"), "base_score"),
    **dict.fromkeys(("evals", "valid", "valid_sets", "validation_data"), "eval_set"),
    **dict.fromkeys(("label", "labels", "target"), "y"),
    **dict.fromkeys(("init_model", "xgb_model", "warm_start"), "base"),
    **dict.fromkeys(("eval_at", "eval_metric", "feval"), _METRIC),
    **dict.fromkeys(("early_stopping_rounds", "use_best_model"), _STOP),
    **dict.fromkeys(("verbose", "verbose_eval", "logging_level", "silent"), _PROGRESS),
    **dict.fromkeys(("feature_name", "categorical_feature", "cat_features"), _OF_DATA),
    "eval_names": "eval_set may be a list; its sets are called valid_0, valid_1, ...",
    "eval_sample_weight": "a validation set may be a mapping with X, y, qid and query_weight",
    "eval_init_score": "validation sets start from the scores of base=",
    "callback": "callbacks",
}
_RAW = "scores are always raw"
_TRUNCATE = "booster_.truncate(n).predict(X) scores by the first n trees"
#: The arguments of `predict`, by what others say.
OF_PREDICT = {
    **dict.fromkeys(("raw_score", "output_margin", "prediction_type"), _RAW),
    **dict.fromkeys(("num_iteration", "iteration_range", "ntree_limit", "ntree_end"), _TRUNCATE),
    **dict.fromkeys(("start_iteration", "ntree_start"), "trees are counted from the first"),
    **dict.fromkeys(("pred_contrib", "pred_contribs"), "Booster.explain gives contributions"),
    **dict.fromkeys(("pred_leaf",), "Booster.dump has the leaves of trees"),
    **dict.fromkeys(("data", "x"), "X"),
    **dict.fromkeys(("nthread", "n_jobs", "thread_count", "num_thread"), "num_threads"),
}
#: The arguments of `Booster.predict`, by what others say.
OF_PREDICT_OF_MODEL = {
    name: meant.replace("booster_.", "booster.") for name, meant in OF_PREDICT.items()
}
#: The attributes of a `Booster`, by what others say.
OF_MODEL = {
    "score": "predict; the value of a metric is evaluate(dataset)",
    "decision_function": "predict",
    "save_model": "save",
    "model_to_string": "to_text",
    "save_raw": "to_text",
    "load_model": "Booster.load",
    "model_from_string": "Booster.from_text",
    "best_iteration": "best_round",
    "best_ntree_limit": "best_round",
    "best_score": "history, which has the metrics after each round",
    "evals_result": "history",
    "feature_name": "feature_names",
    "feature_importances": "feature_importance",
    "get_score": "feature_importance",
    "get_fscore": "feature_importance",
    "get_feature_importance": "feature_importance",
    "dump_model": "dump",
    "get_dump": "dump",
    "trees_to_dataframe": "dump",
    "num_boosted_rounds": "num_rounds",
    "current_iteration": "num_rounds",
    "num_feature": "num_features",
    "shap_values": "explain",
}
_CATEGORICAL = (
    "categories belong to the data or to the ranker: pass rr.Dataset(..., categorical=[...]), or an estimator such as "
    "rr.AutoRanker(categorical=[...])"
)
#: The arguments of `rustrank.evaluate` and of other functions of several metrics, by what others say.
OF_EVALUATE = {
    **dict.fromkeys(("metric", "eval_metric", "scoring", "measures"), "metrics"),
    **dict.fromkeys(("y_pred", "y_score", "preds", "predictions", "score"), "scores"),
    **dict.fromkeys(("y_true", "label", "labels", "target", "relevance"), "y"),
    **{name: OF_DATASET[name] for name in ("group_id", "query", "query_id", "groups", "queries")},
    **dict.fromkeys(("segment", "by", "slices"), "segments"),
    **{name: _CATEGORICAL for name, ours in OF_DATASET.items() if ours == "categorical"},
    **dict.fromkeys(("nthread", "n_jobs", "thread_count", "num_thread"), "num_threads"),
}
#: The arguments of functions of one metric.
OF_ONE_METRIC = dict.fromkeys(("metrics", "eval_metric", "scoring"), "metric")
#: Some of the parameters of training that would be taken for misspelt arguments of a dataset.
_OF_TRAINING = ("num_trees", "num_round", "num_rounds", "max_categories", "categorical_smooth")


def no_attribute(model: object, name: str, ours: Mapping[str, str]) -> AttributeError:
    """Return the error of an attribute that a model does not have, with what it is called here.

    Parameters
    ----------
    model : object
        The model.
    name : str
        The attribute.
    ours : mapping from str to str
        Our names of attributes, by those of others.
    """
    more = f"; here it is called {ours[name]}" if name in ours else ""
    return AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}{more}")


def refuses_unknown(names: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function say what was meant by an argument that it does not have.

    Parameters
    ----------
    names : mapping from str to str
        Its arguments, by what others say, or a sentence on what does the work.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        known = [name for name in inspect.signature(function).parameters if name != "self"]

        @functools.wraps(function)
        def checked(*args: P.args, **given: P.kwargs) -> R:
            for name in given:
                if name not in known:
                    message = f"there is no parameter {name}; {_meant(name, known, names)}"
                    raise UnknownArgumentError(message, code="param")
            return function(*args, **given)

        return checked

    return decorated


def _meant(name: str, known: list[str], names: Mapping[str, str]) -> str:
    if name in names:
        # Several words say what does the work where there is no such argument.
        ours = names[name]
        return ours if " " in ours else f"here it is called {ours}"
    near = get_close_matches(name, known, 1, NEAR)
    if near and name not in _OF_TRAINING:
        return f"did you mean {near[0]}?"
    more = "; options of training belong to rr.train" if names is OF_DATASET else ""
    return f"expected one of {', '.join(known)}{more}"
