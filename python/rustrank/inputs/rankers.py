"""Scores of rankers of any kind: ours, fitted rankers of other libraries, functions, and scores themselves.

Every function that takes rankers scores them here.
"""

from __future__ import annotations

import importlib
import inspect
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, ParamError, RustrankError, listed, shown, wrong_kind
from rustrank.inputs.docs import is_dataset
from rustrank.inputs.feature_names import are_numbered
from rustrank.inputs.queries import query_codes
from rustrank.inputs.tables import (
    as_table,
    columns_of,
    in_one_piece,
    labels_of,
    select_columns,
)
from rustrank.inputs.vectors import as_scores, check_length, first_true, library, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rustrank.inputs.docs import JudgedDocs

#: Libraries whose rankers take frames of pandas, but not all other tables.
_BOOSTED = ("catboost", "lightgbm", "xgboost")
#: Where rankers of other libraries keep the names of their features.
_NAMES = ("feature_names_in_", "feature_names_", "feature_names", "feature_name")


def is_ranker(value: Any) -> bool:
    """Return whether a value scores features: a fitted ranker or a function."""
    return callable(value) or callable(getattr(value, "predict", None))


def scores_of(
    ranker: Any, docs: JudgedDocs, name: str, num_threads: int | None = None
) -> NDArray[np.float64]:
    """Return the scores of documents by a ranker, or scores that are given.

    A text is the name of a column of the features. Errors name the ranker. Scores may be infinite.
    """
    what = name if name == "scores" else f"scores of {name}"
    if isinstance(ranker, type):
        message = f"{name}: got the class {ranker.__name__}, expected a fitted ranker"
        raise ParamError(message, code="rankers")
    if isinstance(ranker, (str, os.PathLike)):
        given = _column(ranker, docs, name)
    elif is_ranker(ranker):
        given = _predicted(ranker, docs, name, num_threads)
    else:
        given = ranker
    scores = as_scores(given, what)
    check_length(what, len(scores), len(docs.labels), "rows")
    row = first_true(np.isnan(scores))
    if row is not None:
        raise _not_a_number(docs, what, row)
    return scores


def _not_a_number(docs: JudgedDocs, what: str, row: int) -> DataError:
    codes = query_codes(docs.queries)
    query = docs.query_ids[codes[row]] if row < len(codes) else None
    query = query.item() if isinstance(query, np.generic) else query
    of_query = "" if query is None else f" (query {shown(query)})"
    message = f"{what}, row {row}{of_query}: got nan, expected a number; -inf for a doc that is not retrieved"
    named = None if query is None else str(query)
    return DataError(message, code="score.nan", row=row, query=named)


def _column(given: Any, docs: JudgedDocs, name: str) -> Any:
    labels = labels_of(docs.X)
    if given not in labels:
        expected = f"one of {listed(labels)}" if labels else "scores or a ranker"
        message = f"{name}: X has no column {shown(given)}, expected {expected}; rr.Booster.load reads a model file"
        raise DataError(message, code="rankers")
    return as_table(docs.X).column(labels.index(given))


def _predicted(ranker: Any, docs: JudgedDocs, name: str, num_threads: int | None) -> Any:
    """Return what a ranker predicts; its errors name it."""
    if docs.X is None:
        kind = type(ranker).__name__
        message = f"{name} is a {kind}, which needs features to score: pass X="
        raise ParamError(message, code="rankers")
    try:
        if docs.more_columns:
            docs = replace(docs, X=docs.features_of(_features_scored(ranker)))
        predict, X = _function(ranker, docs, name)
        options = {} if library(ranker) in _BOOSTED else _options(predict, docs, num_threads)
        with warnings.catch_warnings():
            # Its own features were matched by name, whatever form it is given.
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return predict(X, **options)
    except RustrankError as error:
        if not str(error).startswith(f"{name}:"):
            error.args = (f"{name}: {error}",)
        raise
    except Exception as error:  # Any library's, or the caller's function's.
        reason = f"{type(error).__name__}: {error}"
        message = f"{name}: {shown(ranker)} could not score the documents ({reason})"
        raise DataError(message, code="rankers") from error


def _function(ranker: Any, docs: JudgedDocs, name: str) -> tuple[Callable[..., Any], Any]:
    """Return the function that scores, and the features as it takes them."""
    if is_dataset(docs.X):
        # Only a Booster scores bins; an estimator has one.
        own = getattr(ranker, "booster_", ranker)
        if library(own) != "rustrank":
            expected = "the features themselves as X: only rankers of rustrank score a Dataset"
            raise wrong_kind(name, ranker, expected, "rankers")
        return own.predict, docs.X
    predict = getattr(ranker, "predict", None)
    if not callable(predict):
        return ranker, docs.X
    if library(ranker) == "rustrank":
        return predict, docs.X
    # `predict` of an xgboost.Booster needs a DMatrix, this method does not.
    if library(ranker) == "xgboost":
        predict = getattr(ranker, "inplace_predict", predict)
    return predict, _features_for(ranker, docs.X)


def _options(
    predict: Callable[..., Any], docs: JudgedDocs, num_threads: int | None
) -> dict[str, Any]:
    """Return the queries and the number of threads, if a function takes them by name."""
    try:
        known = inspect.signature(predict).parameters
    except (TypeError, ValueError):  # A function in C may have no signature.
        return {}
    options: dict[str, Any] = {}
    if "qid" in known and docs.has_queries and not is_dataset(docs.X):
        options["qid"] = query_codes(docs.queries)
    if "num_threads" in known and num_threads is not None:
        options["num_threads"] = num_threads
    return options


def _features_for(ranker: Any, X: Any) -> Any:
    """Return the features of another library's ranker, matched by name, in a form that it takes."""
    labels, names = labels_of(X), _names_of(ranker)
    if labels and names is not None:
        taken = columns_of(as_table(X), (len(names), names), "X", "the ranker")
        if taken.names != [str(label) for label in labels]:
            of_name = {str(label): label for label in labels}
            X = select_columns(X, [of_name[one] for one in names])
    return table_for(ranker, X)


def table_for(ranker: Any, X: Any) -> Any:
    """Return a table in a form that another library's ranker takes, or as it is."""
    if library(X) in ("pandas", "numpy", "scipy") or not labels_of(X):
        return X
    if library(X) == "polars" and library(ranker) not in _BOOSTED:
        return X
    return _pandas(X)


def _pandas(X: Any) -> Any:
    """Return a table with named columns as a frame of pandas, or an array where there is no pandas."""
    table = as_table(X)
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return in_one_piece(table)
    labels = table.labels or []
    return pandas.DataFrame({one: to_numpy(table.column(at)) for at, one in enumerate(labels)})


def _features_scored(ranker: Any) -> list[str]:
    """Return the names of the features that a ranker scores, as far as they are known; of a combination, all."""
    parts = getattr(ranker, "_rankers", None) or getattr(ranker, "boosters", None)
    if isinstance(parts, Mapping):
        return [name for one in parts.values() for name in _features_scored(one)]
    return _names_of(ranker) or []


def _names_of(ranker: Any) -> list[str] | None:
    """Return the names of the features of another library's ranker, if it has any."""
    for attribute in _NAMES:
        try:
            found = getattr(ranker, attribute, None)
            found = found() if callable(found) else found
            names = [] if found is None else list(found)
        except Exception:  # noqa: S112 - a library's error, as of a ranker that is not fitted
            continue
        if not names or not all(isinstance(one, str) for one in names):
            continue
        return None if are_numbered(names) else [str(one) for one in names]
    return None
