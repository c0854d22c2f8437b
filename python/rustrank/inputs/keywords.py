"""Hints for arguments that a function does not have: what other libraries call ours."""

from __future__ import annotations

import functools
import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rustrank.errors import UnknownArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NEAR", "OF_DATASET", "refuses_unknown"]

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
#: Some of the parameters of training that would be taken for misspelt arguments of a dataset.
_OF_TRAINING = ("num_trees", "num_round", "num_rounds", "max_categories", "categorical_smooth")


def refuses_unknown(names: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function say what was meant by an argument that it does not have.

    Parameters
    ----------
    names : mapping from str to str
        Its arguments, by what others say.
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
        return f"here it is called {names[name]}"
    near = get_close_matches(name, known, 1, NEAR)
    if near and name not in _OF_TRAINING:
        return f"did you mean {near[0]}?"
    more = "; options of training belong to rr.train" if names is OF_DATASET else ""
    return f"expected one of {', '.join(known)}{more}"
