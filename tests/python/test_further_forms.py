"""Forms of input that once had no way through: ranks in queries, weights as columns, documents with categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr

pd = pytest.importorskip("pandas")
DATA = rr.datasets.make_polynomial(40, 12, seed=1, num_features=6)


def _frame() -> Any:
    frame = pd.DataFrame(DATA.X[:, :3], columns=list("xyz"))
    queries = [f"q{one}" for one in DATA.qid]
    return frame.assign(w=1.0 + DATA.qid % 3, query=queries, label=DATA.y)


@pytest.mark.parametrize("space", [{"num_leaves": [4, 8]}, {"query_ranks": [False, True]}])
def test_ranks_within_queries_are_tuned(space: dict[str, Any]) -> None:
    ranker = rr.LambdaMART(n_estimators=4, query_ranks="query_ranks" not in space)
    found = rr.tune(ranker, (DATA.X, DATA.y, DATA.qid), space, folds=3)
    assert len(found.trials) == 2
    for trial in found.trials:
        fitted = rr.LambdaMART(**{"n_estimators": 4, "query_ranks": True, **trial.setting})
        by_folds = rr.cross_validate({"one": fitted}, DATA.X, DATA.y, qid=DATA.qid, folds=3)
        assert trial.value == pytest.approx(float(by_folds["one"]["ndcg@10"]), abs=1e-12)


def test_a_weight_of_queries_is_no_feature_of_an_estimator() -> None:
    frame = _frame()
    ranker = rr.LambdaMART(n_estimators=4).fit(frame, "label", qid="query", query_weight="w")
    assert list(ranker.feature_names_in_) == list("xyz")
    weight = dict(zip(frame["query"], frame["w"], strict=True))
    expected = rr.LambdaMART(n_estimators=4).fit(
        frame[list("xyz")], DATA.y, qid=frame["query"], query_weight=weight
    )
    assert ranker.booster_ == expected.booster_
    assert np.array_equal(ranker.predict(frame[list("xyz")]), expected.predict(frame[list("xyz")]))
    named: dict[str, Any] = {"y": "label", "qid": "query"}
    found = rr.evaluate(ranker, frame, **named, query_weight="w")
    assert found == rr.evaluate(ranker, frame, **named, query_weight=weight)
    folds = [
        rr.cross_validate({"one": ranker}, table, **named, folds=2, query_weight=given)
        for table, given in ((frame, "w"), (frame.drop(columns="w"), list(weight.values())))
    ]
    assert folds[0]["one"] == folds[1]["one"]


def test_odd_weights_of_queries_with_text_ids_are_named() -> None:
    frame = _frame()
    named: dict[str, Any] = {"y": "label", "qid": "query", "query_weight": "w"}
    with pytest.raises(rr.DataError, match=r"query 'q[0-9]+' has two weights"):
        rr.evaluate("x", frame.assign(w=np.arange(len(frame))), **named)
    frame.loc[3, "w"] = np.nan
    with pytest.raises(rr.DataError, match=r"query 'q[0-9]+' has two weights"):
        rr.Dataset(frame, "label", qid="query", query_weight="w")


def test_documents_with_categories_are_contrasted() -> None:
    frame = (
        _frame().drop(columns="w").assign(brand=np.array(list("abc"))[np.arange(len(DATA.y)) % 3])
    )
    train = rr.Dataset(frame, "label", qid="query", categorical=["brand"])
    booster = rr.train(train, num_trees=5)
    first, second = frame.iloc[[0]], frame.iloc[[1]][list(frame)[::-1]]
    scores = booster.predict(frame)
    assert booster.contrast(first, second).sum() == pytest.approx(scores[0] - scores[1], abs=1e-12)
    with pytest.raises(rr.DataError, match="above: got 2 rows, expected one"):
        booster.contrast(frame.head(2), second)


def test_adapting_ranks_within_queries_is_refused() -> None:
    base = rr.train(rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, query_ranks=True), num_trees=3)
    with pytest.raises(rr.ParamError, match="ranks features within queries"):
        rr.adapt(base, (DATA.X, DATA.y, DATA.qid))


def test_one_row_is_a_table_with_one_row() -> None:
    brands = np.array(list("abc"))[np.arange(len(DATA.y)) % 3]
    frame = _frame().drop(columns="w").assign(brand=brands)
    train = rr.Dataset(frame, "label", qid="query", categorical=["brand"])
    with_text = rr.train(train, num_trees=5)
    numbers = frame.drop(columns="brand")
    plain = rr.train(rr.Dataset(numbers, "label", qid="query"), num_trees=5)
    for booster, table in ((with_text, frame), (plain, numbers)):
        table = table[booster.feature_names]
        first, second = table.iloc[0], table.iloc[1]
        scores = booster.predict(table)
        forms = (first, first[::-1], dict(first), dict(first[::-1]), list(first), tuple(first))
        for row in (*forms, first.to_numpy(), first.to_numpy().astype(object)):
            assert booster.predict(row) == scores[:1]
            assert np.array_equal(booster.explain(row), booster.explain(table.head(1)))
            found = booster.contrast(row, second)
            assert np.array_equal(found, booster.contrast(table.iloc[[0]], table.iloc[[1]]))
        with pytest.raises(TypeError, match=r"pandas Series: one column"):
            booster.predict(table.iloc[:, 0])
        with pytest.raises(rr.DataError, match="lacks"):
            booster.predict(dict(first[1:]))
        with pytest.raises(rr.DataError, match="below has another number of features"):
            booster.contrast(first, list(second)[1:])
