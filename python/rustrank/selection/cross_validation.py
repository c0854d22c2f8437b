"""Cross-validation of rankers over folds of whole queries."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rustrank.data.dataset import CONSTANT
from rustrank.data.raw_rows import docs_to_rows
from rustrank.errors import (
    DataError,
    ParamError,
    ParamKindError,
    RustrankError,
    UnknownNameError,
    dropped_warnings,
    shown,
)
from rustrank.estimators.ranker import Ranker
from rustrank.formatting import ResultMapping, Table, interval, number
from rustrank.inputs.docs import DocArguments, read_docs, unjudged_docs
from rustrank.inputs.keywords import OF_EVALUATE, refuses_unknown
from rustrank.inputs.queries import as_query_weight, query_weight_of_rows
from rustrank.inputs.rankers import scores_of, table_for
from rustrank.inputs.scalars import flag
from rustrank.inputs.vectors import as_doubles, check_length, library
from rustrank.metrics.comparison import Comparison, difference_cells
from rustrank.metrics.evaluation import Drawing, Evaluation, Judging, MetricValue, warn_of_nothing
from rustrank.metrics.label_scale import warn_of_other_scale
from rustrank.progress import progress_of_steps
from rustrank.selection.folds import QueryFolds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows

__all__ = ["CrossValidation", "cross_validate"]


class CrossValidation(ResultMapping[Evaluation]):
    """The evaluations of rankers on queries that they were not fitted to, by the rankers' names.

    The value of a query is its mean over all repeats: each query counts once. The column "between folds" of the
    table is the standard deviation of `by_fold`: of these folds, all of which count (divided by their number, as
    ``numpy.std`` and the ``stdv`` of LightGBM's ``cv``).

    Attributes
    ----------
    scores : mapping
        For each ranker, the scores of all documents by models not fitted to them: an array of shape
        (num_repeats, num_docs).
    repeats : mapping
        For each ranker, its `Evaluation` in each repeat.
    folds : ndarray of shape (num_repeats, num_queries)
        The fold of each query, in order of first appearance.
    """

    scores: dict[str, NDArray[np.float64]]
    repeats: dict[str, list[Evaluation]]
    folds: NDArray[np.intp]
    _drawing: Drawing
    _left = 2

    _absent = "there is no ranker {}", "ranker"

    def compare(self, a: str | None = None, b: str | None = None) -> Comparison:
        """Compare two rankers query by query: by default the first with the second.

        The tests use each query once, whatever the number of repeats. They do not account for the training
        data that the models of different folds share, so p-values are slightly too small.
        """
        names = list(self)
        first = names[0] if a is None else a
        if b is None and len(names) < 2:
            message = f"comparing takes two rankers: got {', '.join(names)}"
            raise UnknownNameError(message, code="ranker")
        other = next(name for name in names if name != first) if b is None else b
        return Comparison.of(self[first], self[other], (first, other), self._drawing)

    @overload
    def by_fold(self, name: str, metric: str | None = None) -> NDArray[np.float64]: ...

    @overload
    def by_fold(
        self, name: None = None, metric: str | None = None
    ) -> dict[str, NDArray[np.float64]]: ...

    def by_fold(
        self, name: str | None = None, metric: str | None = None
    ) -> NDArray[np.float64] | dict[str, NDArray[np.float64]]:
        """Return the mean of a metric over each fold of each repeat.

        Parameters
        ----------
        name : str, optional
            The ranker; by default all of them.
        metric : str, optional
            The metric; by default the first.

        Returns
        -------
        array of shape (repeats, folds), or dict
            The means of the ranker; of all, a dictionary of such arrays by ranker.
        """
        if name is None:
            return {one: self._by_fold(one, metric) for one in self}
        return self._by_fold(name, metric)

    def _by_fold(self, name: str, metric: str | None) -> NDArray[np.float64]:
        chosen = next(iter(self[name])) if metric is None else metric
        means = np.full((len(self.folds), int(self.folds.max()) + 1), np.nan)
        for at, (folds, evaluation) in enumerate(zip(self.folds, self.repeats[name], strict=True)):
            value = evaluation[chosen]
            weight = np.ones(len(folds)) if value.query_weight is None else value.query_weight
            for fold in range(means.shape[1]):
                counted = (folds == fold) & ~np.isnan(value.per_query)
                if weight[counted].sum() > 0:
                    means[at, fold] = np.average(value.per_query[counted], weights=weight[counted])
        return means

    def _tables(self) -> list[Table]:
        head = ["ranker", "metric", "mean", "95% interval", "between folds"]
        if len(self) > 1:
            head += ["difference", "p (random)"]
        first = next(iter(self))
        rows = []
        for name, evaluation in self.items():
            compared = self.compare(first, name) if name != first else {}
            for metric, value in evaluation.items():
                # Of these folds, as LightGBM's cv has it: not estimated for further ones.
                spread = float(np.nanstd(self._by_fold(name, metric)))
                row = [name, metric, number(value), interval(value.interval), number(spread)]
                rows.append([*row, *difference_cells(compared.get(metric))][: len(head)])
        return [(head, rows)]


@refuses_unknown(OF_EVALUATE)
def cross_validate(
    rankers: Any,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    folds: int = 5,
    repeats: int = 1,
    seed: int = 0,
    metrics: str | Sequence[str] = ("ndcg@10",),
    sample_weight: Any = None,
    query_weight: Any = None,
    gain: Any = "exp2",
    relevant_from: float = 1,
    max_label: float | None = None,
    progress: bool = False,
) -> CrossValidation:
    """Evaluate rankers by cross-validation over folds of whole queries.

    All rankers are fitted and tested on the same folds. The result does not depend on the order of
    rows, nor on the ids of queries.

    Parameters
    ----------
    rankers : ranker, or sequence or mapping of rankers
        Rankers of this library, pipelines that end in one, or anything else with ``fit``, ``predict``
        and ``get_params``, optionally by name. Copies of them are fitted; queries are passed to their ``fit`` as
        ``qid``, ``group`` or ``group_id``, if it has one of these. A ranker with ``early_stopping``
        holds validation queries of its own out of each training set.
    X, y, qid, group
        The documents, in the forms that `rustrank.tune` takes: a table with ``y="label", qid="query_id"``,
        the names of its columns, features with labels and query ids, or ``(X, y, qid)`` alone.
    sample_weight, query_weight
        As for `LambdaMART.fit`. Query weights count in training and in the means.
    folds, repeats, seed : int, default 5, 1 and 0
        As for `QueryFolds`.
    metrics, gain, relevant_from, max_label
        As for `rustrank.evaluate`.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    CrossValidation
        A mapping from the name of each ranker to its `Evaluation`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> small = rr.LambdaMART(n_estimators=2, num_leaves=4)
    >>> large = rr.LambdaMART(n_estimators=20, num_leaves=8)
    >>> found = rr.cross_validate({"small": small, "large": large}, X, y, qid=qid, folds=3)
    >>> found["large"]["ndcg@10"] > found["small"]["ndcg@10"]
    True
    >>> found.compare("small", "large")["ndcg@10"].is_clear
    True
    """
    named = _named(rankers)
    columns = {"sample_weight": sample_weight}
    if isinstance(query_weight, str):
        columns["query_weight"] = query_weight
    read = read_docs(X, "X", DocArguments(y, qid, group), columns=columns)
    docs, weight = docs_to_rows(read, "X", takes_texts=True), read.columns["sample_weight"]
    by_row = None if weight is None else as_doubles(weight, "sample_weight")
    if isinstance(query_weight, str):
        query_weight = query_weight_of_rows(read.columns["query_weight"], read.qid, read.group)
    by_query = as_query_weight(query_weight, docs.query_ids)
    _check_weights(by_row, by_query, docs)
    judging = Judging(metrics, gain, relevant_from=relevant_from, max_label=max_label)
    # Bad labels are named by their rows here, not by those of a fold.
    docs.evaluate(np.zeros(len(docs.y)), judging, by_query)
    if max_label is None:
        judging = judging.but(max_label=float(docs.y.max()))
    folds_of_repeats = QueryFolds(folds, n_repeats=repeats, random_state=seed).fold_numbers(docs)
    scores = {name: np.empty((len(folds_of_repeats), len(docs.y))) for name in named}
    fits = len(named) * len(folds_of_repeats) * folds
    with progress_of_steps(fits, "fit", flag("progress", progress)) as step:
        for repeat, fold_of_query in enumerate(folds_of_repeats):
            for train, held in docs.rows_of_folds(fold_of_query, folds):
                fold = _fold(read.X, docs, train, by_row, by_query)
                left_out = rows_of(read.X, held), docs.query[held]
                for name, ranker in named.items():
                    fitted = _fitted(name, ranker, fold)
                    warn_of_other_scale(fitted, judging, docs.y)
                    rows = unjudged_docs(*left_out, None)
                    scores[name][repeat, held] = scores_of(fitted, rows, name)
                    step()
    every = {
        name: [docs.evaluate(one, judging, by_query) for one in rows]
        for name, rows in scores.items()
    }
    result = CrossValidation({name: _mean(evaluations) for name, evaluations in every.items()})
    result.scores, result.repeats, result.folds = scores, every, folds_of_repeats
    result._drawing = Drawing()
    warn_of_nothing(next(iter(result.values())))
    return result


def _check_weights(
    by_row: NDArray[np.float64] | None, by_query: NDArray[np.float64] | None, docs: RawRows
) -> None:
    if by_row is not None:
        check_length("sample_weight", len(by_row), len(docs.y), "rows")
    if by_query is not None:
        check_length("query_weight", len(by_query), docs.num_queries, "queries")


def _fold(
    X: Any,
    docs: RawRows,
    train: NDArray[np.intp],
    by_row: NDArray[np.float64] | None,
    by_query: NDArray[np.float64] | None,
) -> tuple[Any, NDArray[np.float32], dict[str, Any]]:
    """Return features, labels, queries and weights of some rows."""
    # Other libraries want the rows of a query together.
    rows = train[np.argsort(docs.query[train], kind="stable")]
    query = docs.query[rows]
    given: dict[str, Any] = {"qid": query}
    if by_row is not None:
        given["sample_weight"] = by_row[rows]
    if by_query is not None:
        given["query_weight"] = by_query[np.unique(query)]
    return rows_of(X, rows), docs.y[rows], given


def _fitted(name: str, ranker: Any, fold: tuple[Any, NDArray[np.float32], dict[str, Any]]) -> Any:
    """Return a copy of a ranker that is fitted to some rows; errors of other libraries name it."""
    (X, y, given), fresh = fold, _copy(ranker)
    passed = _passed(name, fresh, given)
    try:
        # In a fold, a feature may have a single value.
        with dropped_warnings(CONSTANT):
            fresh.fit(X if library(fresh) == "rustrank" else table_for(fresh, X), y, **passed)
    except (RustrankError, TypeError):
        raise
    except Exception as error:  # Any library's.
        reason = f"{type(error).__name__}: {error}"
        message = f"{name}: {shown(ranker)} could not be fitted ({reason})"
        raise DataError(message, code="rankers") from error
    return fresh


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table of any kind."""
    if library(X) == "pandas":
        return X.iloc[rows]
    if library(X) == "pyarrow":
        return X.take(rows)
    if library(X) == "scipy":
        return X.tocsr()[rows]
    if library(X) == "polars":
        return X[rows]
    if isinstance(X, Mapping):
        return {name: rows_of(column, rows) for name, column in X.items()}
    return np.asarray(X)[rows]


def _passed(name: str, ranker: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of ``fit`` by the names that the ranker, or a pipeline for its last step, takes.

    Queries are ids or sizes, or nothing for rankers that know no queries.
    """
    steps = getattr(ranker, "steps", None)
    last = ranker if steps is None else steps[-1][1]
    known = inspect.signature(last.fit).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in known.values())
    passed: dict[str, Any] = {}
    if "qid" in known or takes_all:
        passed["qid"] = given["qid"]
    elif "group" in known:
        passed["group"] = np.unique(given["qid"], return_counts=True)[1]
    elif "group_id" in known:
        passed["group_id"] = given["qid"]
    for weight in ("sample_weight", "query_weight"):
        if weight in given and weight not in known and not takes_all:
            message = f"{weight}: fit of {name}, a {type(last).__name__}, takes no {weight}, expected none"
            raise ParamError(message, code=weight)
        if weight in given:
            passed[weight] = given[weight]
    if steps is None:
        return passed
    from sklearn import get_config

    routed = get_config().get("enable_metadata_routing", False)
    return passed if routed else {f"{steps[-1][0]}__{one}": passed[one] for one in passed}


def _copy(ranker: Any) -> Any:
    if isinstance(ranker, Ranker):
        return ranker._again()
    from sklearn.base import clone

    return clone(ranker)


def _named(rankers: Any) -> dict[str, Any]:
    """Return one or several rankers by name."""
    if isinstance(rankers, Mapping):
        named = {str(name): ranker for name, ranker in rankers.items()}
    elif isinstance(rankers, (list, tuple)):
        kinds = [type(ranker).__name__ for ranker in rankers]
        named = {}
        for at, (kind, ranker) in enumerate(zip(kinds, rankers, strict=True)):
            number_of_kind = kinds[: at + 1].count(kind)
            named[f"{kind} {number_of_kind}" if kinds.count(kind) > 1 else kind] = ranker
    else:
        named = {type(rankers).__name__: rankers}
    for name, ranker in named.items():
        if isinstance(ranker, type) or not hasattr(ranker, "fit") or not hasattr(ranker, "predict"):
            message = f"rankers: {name} is {shown(ranker)}, expected something with fit and predict"
            raise ParamKindError(message, code="rankers")
    if not named:
        raise ParamKindError("rankers: got none, expected at least one", code="rankers")
    return named


def _mean(repeats: list[Evaluation]) -> Evaluation:
    """Return the means over repeats, query by query."""
    if len(repeats) == 1:
        return repeats[0]
    values = {}
    for metric, one in repeats[0].items():
        # A query is skipped in all repeats or in none: that is up to its labels.
        mean = np.mean([repeat[metric].per_query for repeat in repeats], axis=0)
        values[metric] = MetricValue(metric, mean, one.query_ids, one.query_weight)
    return Evaluation(values)
