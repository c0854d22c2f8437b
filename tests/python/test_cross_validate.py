"""Cross-validation by queries: whole, whatever the order of rows, with tests that see a query once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import rustrank as rr
from rustrank.formatting import number

X, Y, QID = rr.datasets.make_polynomial(num_queries=30, seed=3)
X = X[:, :5]
FEW = rr.LambdaMART(n_estimators=3, num_leaves=4)
MANY = rr.LambdaMART(n_estimators=30, num_leaves=8, learning_rate=0.3)


def test_folds_are_of_whole_queries_and_all_of_them() -> None:
    folds = rr.QueryFolds(4, n_repeats=3, random_state=1)
    parts = list(folds.split(X, Y, qid=QID))
    assert len(parts) == folds.get_n_splits() == 12
    for train, test in parts:
        assert not set(QID[train]) & set(QID[test])
        assert sorted([*train, *test]) == list(range(len(Y)))
        assert 7 <= len(set(QID[test])) <= 8
    for repeat in range(3):
        tested = np.concatenate([test for _, test in parts[4 * repeat : 4 * repeat + 4]])
        assert sorted(tested) == list(range(len(Y)))
    assert len({tuple(test) for _, test in parts}) == 12


def test_folds_depend_on_content_and_seed_alone() -> None:
    order = np.random.default_rng(0).permutation(len(Y))
    ids = np.array([f"query {one * 7 % 31}" for one in QID])
    there = [set(QID[test]) for _, test in rr.QueryFolds(3).split(X, Y, qid=QID)]
    moved = rr.QueryFolds(3).split(X[order], Y[order], groups=ids[order])
    assert [set(QID[order][test]) for _, test in moved] == there
    other = rr.QueryFolds(3, random_state=1).split(X, Y, qid=QID)
    assert [set(QID[test]) for _, test in other] != there


def test_scores_are_of_models_that_had_not_seen_the_query() -> None:
    found = rr.cross_validate({"few": FEW}, X, Y, qid=QID, folds=3, repeats=2, seed=5)
    folds = rr.QueryFolds(3, n_repeats=2, random_state=5)
    for at, (train, test) in enumerate(folds.split(X, Y, qid=QID)):
        ranker = rr.LambdaMART(n_estimators=3, num_leaves=4)
        ranker.fit(X[train], Y[train], qid=QID[train])
        assert (found.scores["few"][at // 3, test] == ranker.predict(X[test])).all()
        value = ranker.score(X[test], Y[test], qid=QID[test])
        assert np.isclose(found.by_fold("few")[at // 3, at % 3], value, rtol=1e-12)
    assert not hasattr(FEW, "booster_")
    repeats = [rr.evaluate(scores, Y, qid=QID)["ndcg@10"] for scores in found.scores["few"]]
    assert [one["ndcg@10"] for one in found.repeats["few"]] == repeats
    mean = np.mean([one.per_query for one in repeats], axis=0)
    assert (found["few"]["ndcg@10"].per_query == mean).all()


def test_two_rankers_are_compared_query_by_query() -> None:
    found = rr.cross_validate([FEW, MANY], X, Y, qid=QID, folds=3, metrics=["ndcg@10", "err"])
    assert list(found) == ["LambdaMART 1", "LambdaMART 2"]
    one, two = (found.scores[name][0] for name in found)
    theirs = rr.compare(
        one, two, Y, qid=QID, metrics=["ndcg@10", "err"], names=("LambdaMART 1", "LambdaMART 2")
    )
    assert repr(found.compare()) == repr(theirs)
    assert found.compare("LambdaMART 2", "LambdaMART 1")["err"].difference == (
        -theirs["err"].difference
    )
    lines = repr(found).splitlines()
    assert len(lines) == 5
    assert lines[0].split()[:3] == ["ranker", "metric", "mean"]
    assert "<table" in found._repr_html_()
    kinds = rr.cross_validate([FEW, rr.MART(n_estimators=2)], X, Y, qid=QID, folds=2)
    assert list(kinds) == ["LambdaMART", "MART"]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(X),
        pl.DataFrame(X),
        pa.table({f"f{at}": X[:, at] for at in range(5)}),
        {f"f{at}": X[:, at] for at in range(5)},
        sp.coo_matrix(X),
        X.tolist(),
        pd.DataFrame(X).assign(qid=QID),
    ],
)
def test_tables_of_any_kind_give_the_same_scores(table: Any) -> None:
    given: dict[str, Any] = (
        {} if "qid" in getattr(table, "columns", ()) else {"qid": QID.astype(str)}
    )
    found = rr.cross_validate(FEW, table, Y, folds=2, **given)
    plain = rr.cross_validate(FEW, X, Y, qid=QID, folds=2)
    assert (found.scores["LambdaMART"] == plain.scores["LambdaMART"]).all()


def test_weights_count_in_training_and_in_means() -> None:
    order = np.random.default_rng(0).permutation(len(Y))
    by_id = dict(zip(np.unique(QID).tolist(), np.linspace(0, 2, 30).tolist(), strict=True))
    rows = 1.0 + X[:, 0] ** 2
    one = rr.cross_validate(FEW, X, Y, qid=QID, query_weight=by_id, sample_weight=rows, folds=2)
    two = rr.cross_validate(
        FEW,
        X[order],
        Y[order],
        qid=QID[order],
        query_weight=by_id,
        sample_weight=rows[order],
        folds=2,
    )
    scores = one.scores["LambdaMART"]
    assert (scores[:, order] == two.scores["LambdaMART"]).all()
    plain = rr.cross_validate(FEW, X, Y, qid=QID, folds=2)
    assert (scores != plain.scores["LambdaMART"]).any()
    value = rr.evaluate(scores[0], Y, qid=QID, query_weight=by_id)["ndcg@10"]
    assert one["LambdaMART"]["ndcg@10"] == value


def test_pipelines_and_nets_are_rankers_too() -> None:
    sklearn = pytest.importorskip("sklearn")
    pipeline = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), FEW)
    given = {"pipeline": pipeline, "net": rr.LambdaRank(epochs=1)}
    plain = rr.cross_validate(given, X, Y, qid=QID, folds=2)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = rr.cross_validate(given, X, Y, qid=QID, folds=2)
    for name in given:
        assert (plain.scores[name] == routed.scores[name]).all()


def test_features_of_one_value_in_a_fold_are_no_news() -> None:
    table = np.column_stack([X, QID[0] == QID])
    found = rr.cross_validate(FEW, table, Y, qid=QID, folds=2)
    plain = rr.cross_validate(FEW, X, Y, qid=QID, folds=2)
    assert found["LambdaMART"]["ndcg@10"].num_queries == plain["LambdaMART"]["ndcg@10"].num_queries


def test_progress_is_shown_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    rr.cross_validate(FEW, X, Y, qid=QID, folds=2, progress=True)
    assert "fit 2 of 2\n" in capfd.readouterr().err


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(rr.ParamError, match="got 30 queries, expected at least one a fold: 31"):
        rr.cross_validate(FEW, X, Y, qid=QID, folds=31)
    with pytest.raises(rr.ParamError, match="n_splits: got 1, expected a whole number from 2"):
        rr.cross_validate(FEW, X, Y, qid=QID, folds=1)
    with pytest.raises(rr.ParamError, match="expected something with fit and predict"):
        rr.cross_validate(rr.LambdaMART, X, Y, qid=QID)
    with pytest.raises(rr.ParamError, match="rankers: got none"):
        rr.cross_validate([], X, Y, qid=QID)
    with pytest.raises(rr.DataError, match="folds are of queries: got none"):
        list(rr.QueryFolds(2).split(X, Y))
    with pytest.raises(rr.DataError, match="sample_weight has the wrong length"):
        rr.cross_validate(FEW, X, Y, qid=QID, sample_weight=[1.0])
    found = rr.cross_validate(FEW, X, Y, qid=QID, folds=2)
    with pytest.raises(KeyError, match="there is no ranker 'few': expected one of LambdaMART"):
        found["few"]
    with pytest.raises(rr.ParamError, match="comparing takes two rankers"):
        found.compare()


def test_groups_may_repeat_the_column_of_queries() -> None:
    frame = pytest.importorskip("pandas").DataFrame(X).rename(columns=str).assign(qid=QID)
    by_column = [test.tolist() for _, test in rr.QueryFolds(3).split(frame, Y)]
    by_both = [test.tolist() for _, test in rr.QueryFolds(3).split(frame, Y, groups=QID)]
    assert by_both == by_column
    with pytest.raises(rr.DataError, match="queries come twice"):
        list(rr.QueryFolds(3).split(frame, Y, groups=QID // 2))


def test_values_of_folds_are_of_one_ranker_or_of_all() -> None:
    found = rr.cross_validate(
        {"few": FEW, "many": MANY}, X, Y, qid=QID, folds=3, metrics=["err", "mrr"]
    )
    for metric in (None, "mrr"):
        every = found.by_fold(metric=metric)
        assert list(every) == ["few", "many"]
        for name, means in every.items():
            assert means.shape == (1, 3)
            assert (means == found.by_fold(name, metric)).all()
    assert (found.by_fold()["few"] != found.by_fold(metric="mrr")["few"]).any()


def test_the_figure_between_folds_is_the_deviation_of_these_folds() -> None:
    found = rr.cross_validate({"few": FEW}, X, Y, qid=QID, folds=3, repeats=2)
    deviation = float(np.std(found.by_fold("few")))
    assert str(found).splitlines()[1].split()[-1] == number(deviation)
