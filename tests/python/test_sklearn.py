"""scikit-learn's tools take our rankers for estimators: its checks, pipelines, searches, validation."""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

pytest.importorskip("sklearn")

import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

X, Y, QID = rr.datasets.make_polynomial(num_queries=30, seed=3)
X = X[:, :6]
TREES = [rr.LambdaMART, rr.MART, rr.McRank, rr.QueryRMSEMART, rr.RankNetMART, rr.XENDCGMART]
NETS = [rr.LambdaRank, rr.RankNet]
SMALL: dict[str, Any] = {"n_estimators": 4, "num_leaves": 4, "min_leaf_docs": 5}

#: The checks that fail, and why they should.
WEIGHTS = (
    "a weight is a factor on the gradients of a doc, not a number of docs: one of weight 0 still is "
    "what the others are ranked against, and counts in bins and in the docs of a leaf"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# As constructed by default. The checks know of no queries, and of no class that is not made of
# `BaseEstimator`.
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("kind", [*TREES, *NETS, rr.LambdaBoost, rr.AutoRanker])
def test_it_passes_the_checks_of_estimators(kind: Any) -> None:
    results = estimator_checks.check_estimator(
        kind(), on_fail=None, on_skip=None, expected_failed_checks=EXPECTED
    )
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert not failed
    skipped = {one["check_name"] for one in results if one["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}
    assert len(results) > 40
    named = {one["check_name"] for one in results if one["status"] == "xfail"}
    assert named == set(EXPECTED)


@pytest.mark.parametrize("kind", [*TREES, *NETS, rr.LambdaBoost])
def test_clones_have_the_options_and_nothing_learned(kind: Any) -> None:
    options: dict[str, Any] = {**SMALL, "missing": np.nan} if kind in TREES else {"sigma": 2.0}
    ranker = kind(**options).fit(X, Y, qid=QID)
    again = clone(ranker)
    assert repr(again) == repr(ranker)
    check_is_fitted(ranker)
    with pytest.raises(NotFittedError, match="is not fitted"):
        check_is_fitted(again)
    with pytest.raises(NotFittedError, match="is not fitted") as caught:
        again.predict(X)
    assert isinstance(caught.value, rr.RustrankError)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), rr.NotFittedError)  # noqa: S301


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("kind", [rr.LambdaMART, rr.LambdaRank])
def test_a_search_passes_query_ids_to_folds_training_and_scores(kind: Any) -> None:
    grid = {"learning_rate": [0.001, 0.2]}
    options: dict[str, Any] = {"epochs": 2} if kind in NETS else {**SMALL, "n_estimators": 20}
    search = GridSearchCV(kind(**options), grid, cv=rr.QueryFolds(3), refit=True)
    search.fit(X, Y, qid=QID)
    best = search.best_params_["learning_rate"]
    scores = []
    for train, test in rr.QueryFolds(3).split(X, Y, qid=QID):
        ranker = kind(**options, learning_rate=best).fit(X[train], Y[train], qid=QID[train])
        scores.append(ranker.score(X[test], Y[test], qid=QID[test]))
    assert search.best_score_ == np.mean(scores)
    assert (
        search.best_estimator_.booster_ == clone(search.best_estimator_).fit(X, Y, qid=QID).booster_
    )
    assert search.score(X, Y, qid=QID) == search.best_estimator_.score(X, Y, qid=QID)


@pytest.mark.parametrize("kind", ["pandas", "search", "combined"])
def test_a_pipeline_that_takes_the_column_of_queries_is_judged_with_it(kind: str) -> None:
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(qid=QID, label=Y)
    parts = [("scaled", StandardScaler(), ["a", "b"])]
    columns = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    ranker: Any = make_pipeline(columns.set_output(transform="pandas"), rr.LambdaMART(**SMALL))
    if kind == "search":
        ranker = GridSearchCV(ranker, {"lambdamart__num_leaves": [4]}, cv=rr.QueryFolds(3))
    features = table.drop(columns="label")
    ranker.fit(features, Y, **({"groups": QID} if kind == "search" else {}))
    scores = ranker.predict(features)
    expected = rr.evaluate(scores, Y, qid=QID)
    plain = rr.LambdaMART(**SMALL).fit(features, Y)
    if kind == "combined":
        alone = rr.Combiner().fit([scores, plain.predict(features)], Y, qid=QID)
        judged = {"docs": table, "y": "label", "qid": "qid"}
        both = rr.Combiner().fit([ranker, plain], **judged)
        assert both.value == alone.value
        together = alone.predict([scores, plain.predict(features)])
        assert (both.predict(features, qid="qid") == together).all()
        return
    # By name, by default, and beside a ranker that does not take the column.
    assert rr.evaluate(ranker, table, y="label", qid="qid") == expected
    assert rr.evaluate(ranker, table, y="label") == expected
    assert rr.evaluate(ranker, Y, X=features, qid="qid") == expected
    renamed = table.assign(segment=QID)
    assert rr.evaluate(ranker, renamed, y="label", segments="segment") == expected
    rankers = {"pipeline": ranker, "plain": plain}
    compared = rr.compare(ranker, scores, table, y="label", qid="qid")
    assert compared["ndcg@10"].difference == 0
    assert "pipeline" in rr.report(rankers, table, y="label", qid="qid", resamples=50).html


@pytest.mark.usefixtures("routing")
def test_a_pipeline_passes_query_ids_through() -> None:
    pipeline = make_pipeline(StandardScaler(), rr.LambdaMART(**SMALL))
    pipeline.fit(X, Y, qid=QID)
    assert (pipeline.predict(X) == pipeline[-1].predict(pipeline[0].transform(X))).all()
    assert pipeline.score(X, Y, qid=QID) > 0.3
    grid = {"lambdamart__num_leaves": [2, 8]}
    search = GridSearchCV(pipeline, grid, cv=rr.QueryFolds(3)).fit(X, Y, qid=QID)
    assert search.best_params_["lambdamart__num_leaves"] in (2, 8)
    both = GridSearchCV(pipeline, grid, cv=rr.QueryFolds(3)).fit(X, Y, qid=QID, groups=QID)
    assert both.best_score_ == search.best_score_
    found = cross_validate(
        pipeline, X, Y, cv=rr.QueryFolds(3), params={"qid": QID}, return_train_score=False
    )
    assert len(found["test_score"]) == 3
    assert (found["test_score"] > 0.2).all()


@pytest.mark.usefixtures("routing")
def test_cross_validation_in_scikit_learn_and_here_are_one() -> None:
    ranker = rr.LambdaMART(**SMALL)
    params = {"qid": QID}
    theirs = cross_val_score(ranker, X, Y, cv=rr.QueryFolds(4), params=params)
    ours = rr.cross_validate(ranker, X, Y, qid=QID, folds=4)
    assert np.allclose(ours.by_fold("LambdaMART")[0], theirs, rtol=1e-12)
    scores = cross_val_predict(ranker, X, Y, cv=rr.QueryFolds(4), params=params)
    assert (scores == ours.scores["LambdaMART"][0]).all()
    groups = cross_val_score(ranker, X, Y, cv=GroupKFold(4), params={**params, "groups": QID})
    assert len(groups) == 4


@pytest.mark.usefixtures("routing")
def test_what_is_passed_on_can_be_chosen() -> None:
    ranker = rr.LambdaMART(**SMALL).set_fit_request(sample_weight=True, qid="session")
    ranker.set_score_request(qid="session")
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, clone(ranker))
    weight = 1.0 + X[:, 0] ** 2
    pipeline.fit(X, Y, session=QID, sample_weight=weight)
    plain = make_pipeline(StandardScaler(), rr.LambdaMART(**SMALL)).fit(X, Y, qid=QID)
    assert pipeline[-1].booster_ != plain[-1].booster_
    assert 0 < pipeline.score(X, Y, session=QID) < 1
    with pytest.raises(rr.ParamError, match="fit takes no weights: expected qid, group"):
        ranker.set_fit_request(weights=True)


def test_a_column_of_query_ids_needs_no_routing() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["qid"] = QID
    ranker = rr.LambdaMART(**SMALL)
    scores = cross_val_score(ranker, frame, Y, cv=GroupKFold(3), groups=QID)
    assert (scores > 0.2).all()
    for cv in (GroupKFold(3), rr.QueryFolds(3)):
        groups = {"groups": QID} if isinstance(cv, GroupKFold) else {}
        grid = {"num_leaves": [2, 6], "learning_rate": [0.1, 0.3]}
        search = RandomizedSearchCV(ranker, grid, n_iter=2, random_state=0, cv=cv, n_jobs=2)
        search.fit(frame, Y, **groups)
        assert list(search.best_estimator_.feature_names_in_) == list("abcdef")


def test_a_search_without_query_ids_for_scores_has_no_score() -> None:
    search = GridSearchCV(rr.LambdaMART(**SMALL), {"num_leaves": [2]}, cv=GroupKFold(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, Y, qid=QID, groups=QID)
    assert any("enable_metadata_routing=True" in str(one.message) for one in caught)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(rr.DataError, match="got no queries"):
        GridSearchCV(
            rr.LambdaMART(**SMALL), {"num_leaves": [2]}, cv=GroupKFold(2), error_score="raise"
        ).fit(X, Y, qid=QID, groups=QID)


def test_rankers_are_drawn_in_notebooks() -> None:
    from sklearn.utils import estimator_html_repr

    pipeline = make_pipeline(StandardScaler(), rr.LambdaMART(num_leaves=7))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "LambdaMART" in estimator_html_repr(pipeline)
    assert "LambdaMART(num_leaves=7)" in repr(pipeline)
