"""Cross-validation of rankers over folds of whole queries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import ParamKindError, RustrankWarning, UnknownNameError, shown
from rustrank.estimators.fitting import queries_within, without_qid
from rustrank.estimators.ranker import Ranker
from rustrank.formatting import ResultMapping, interval, number, p_value
from rustrank.inputs.queries import as_query_weight
from rustrank.inputs.scalars import flag
from rustrank.inputs.vectors import as_doubles, check_length, library
from rustrank.metrics.comparison import Comparison
from rustrank.metrics.evaluation import (
    Drawing,
    Evaluation,
    Judging,
    MetricValue,
    judge,
    warn_of_nothing,
)
from rustrank.progress import progress_of_steps
from rustrank.selection.folds import QueryFolds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows

__all__ = ["CrossValidation", "cross_validate"]


class CrossValidation(ResultMapping[Evaluation]):
    """The evaluations of rankers on queries that they were not fitted to, by the rankers' names.

    The value of a query is its mean over all repeats: each query counts once.

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

    def _unknown(self, name: object) -> KeyError:
        message = f"there is no ranker {shown(name)}: expected one of {', '.join(self)}"
        return UnknownNameError(message, code="ranker")

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

    def by_fold(self, name: str, metric: str | None = None) -> NDArray[np.float64]:
        """Return the mean of a metric, the first by default, over each fold of each repeat."""
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

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["ranker", "metric", "mean", "95% interval", "between folds"]
        one_of_many = len(self) > 1
        if one_of_many:
            head += ["difference", "p (random)"]
        first = next(iter(self))
        rows = []
        for name, evaluation in self.items():
            compared = self.compare(first, name) if name != first else None
            for metric, value in evaluation.items():
                spread = float(np.nanstd(self.by_fold(name, metric)))
                row = [name, metric, number(value), interval(value.interval), number(spread)]
                if one_of_many:
                    row += (
                        ["", ""]
                        if compared is None
                        else [
                            number(compared[metric].difference, "+"),
                            p_value(compared[metric].p_randomisation),
                        ]
                    )
                rows.append(row)
        return head, rows


def cross_validate(
    rankers: Any,
    X: Any,
    y: Any,
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
        and ``get_params``, optionally by name. Copies of them are fitted. A ranker with ``early_stopping``
        holds validation queries of its own out of each training set.
    X, y, qid, group, sample_weight, query_weight
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
    table, ids, sizes = queries_within(X, qid, group)
    docs = as_raw_rows({"X": table, "y": y, "qid": ids, "group": sizes}, "X")
    folds_of_repeats = QueryFolds(folds, n_repeats=repeats, random_state=seed).fold_numbers(docs)
    given = _TrainingData(
        X if ids is qid else without_qid(X),
        docs,
        None if sample_weight is None else as_doubles(sample_weight, "sample_weight"),
        as_query_weight(query_weight, docs.query_ids),
    )
    given.check()
    top = float(docs.y.max()) if max_label is None else max_label
    judging = Judging.of(metrics, gain, "expected", "skip", relevant_from, top, None)
    scores = {name: np.empty((len(folds_of_repeats), len(docs.y))) for name in named}
    fits = len(named) * folds_of_repeats.shape[0] * folds
    with progress_of_steps(fits, "fit", flag("progress", progress)) as step:
        for repeat, fold_of in enumerate(folds_of_repeats):
            for fold in range(folds):
                held = fold_of[docs.query] == fold
                for name, ranker in named.items():
                    scores[name][repeat, held] = given.held_out_scores(ranker, held)
                    step()
    return _evaluated(scores, given, judging, folds_of_repeats)


@dataclass(frozen=True)
class _TrainingData:
    """The documents and weights that rankers are fitted to."""

    X: Any
    docs: RawRows
    sample_weight: NDArray[np.float64] | None
    query_weight: NDArray[np.float64] | None

    def check(self) -> None:
        """Raise `DataError` for weights of the wrong length."""
        if self.sample_weight is not None:
            check_length("sample_weight", len(self.sample_weight), len(self.docs.y), "rows")
        if self.query_weight is not None:
            check_length("query_weight", len(self.query_weight), self.docs.num_queries, "queries")

    def held_out_scores(self, ranker: Any, held: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Fit a copy of a ranker to the other rows, and return its scores of the held-out rows."""
        train, test = np.flatnonzero(~held), np.flatnonzero(held)
        query = self.docs.query[train]
        more: dict[str, Any] = {"qid": query}
        if self.sample_weight is not None:
            more["sample_weight"] = self.sample_weight[train]
        if self.query_weight is not None:
            # Queries are numbered by first appearance, also in a subset of the rows.
            more["query_weight"] = self.query_weight[np.unique(query)]
        fresh = _copy(ranker)
        with warnings.catch_warnings():
            # In a fold, a feature may have a single value.
            warnings.filterwarnings("ignore", ".* have one value, or none", RustrankWarning)
            fresh.fit(rows_of(self.X, train), self.docs.y[train], **_passed(fresh, more))
        found = np.asarray(fresh.predict(rows_of(self.X, test)), np.float64)
        check_length("what predict returned", len(found), len(test), "rows")
        return found


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


def _passed(ranker: Any, more: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of ``fit`` by the names that the ranker, or a pipeline for its last step, takes."""
    steps = getattr(ranker, "steps", None)
    if steps is None:
        return more
    from sklearn import get_config

    routed = get_config().get("enable_metadata_routing", False)
    return more if routed else {f"{steps[-1][0]}__{name}": value for name, value in more.items()}


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
        message = "rankers: got none, expected at least one"
        raise ParamKindError(message, code="rankers")
    return named


def _evaluated(
    scores: dict[str, NDArray[np.float64]],
    given: _TrainingData,
    judging: Judging,
    folds_of_repeats: NDArray[np.intp],
) -> CrossValidation:
    docs, weight = given.docs, given.query_weight
    repeats = {
        name: [judge(one, docs.y, docs.queries, judging, weight) for one in rows]
        for name, rows in scores.items()
    }
    found = CrossValidation({name: _mean(every) for name, every in repeats.items()})
    found.scores, found.repeats, found.folds = scores, repeats, folds_of_repeats
    found._drawing = Drawing.of(10_000, 0, None)
    warn_of_nothing(next(iter(found.values())))
    return found


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
