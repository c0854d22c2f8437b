"""Evaluations and comparisons by segments of queries, and as DataFrames."""

from __future__ import annotations

import json
import pickle
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from pathlib import Path

WEB = rr.datasets.make_web(30, docs_per_query=10, seed=0)
QID = np.array([f"q{query}" for query in WEB.qid])
LANGUAGE = np.array(["en", "de", "fr"])[WEB.qid % 3]
FIRST, SECOND = WEB.X[:, WEB.feature_names.index("whole_bm25")], np.nan_to_num(WEB.X[:, 0])
METRICS = ["ndcg@10", "map"]


def evaluate(**more: Any) -> rr.Evaluation:
    return rr.evaluate(FIRST, WEB.y, qid=QID, metrics=METRICS, **more)


def test_a_segment_is_what_its_queries_alone_are() -> None:
    weight = np.linspace(0.5, 2, 30)
    found = evaluate(segments=LANGUAGE, query_weight=weight)
    assert str(found).startswith(str(evaluate(query_weight=weight)))
    assert list(found.segments) == ["de", "en", "fr"], "in the order of their names"
    assert sum(one.num_queries for one in found.segments.values()) == found.num_queries
    for name, one in found.segments.items():
        rows = name == LANGUAGE
        _, first = np.unique(WEB.qid, return_index=True)
        alone = rr.evaluate(
            FIRST[rows],
            WEB.y[rows],
            qid=QID[rows],
            metrics=METRICS,
            query_weight=weight[LANGUAGE[np.sort(first)] == name],
        )
        assert one.to_dict() == alone.to_dict()
        assert one.query_ids.tolist() == alone.query_ids.tolist()
    table = str(found).split("\n\n")[1].splitlines()
    assert table[0].split()[:2] == ["segment", "metric"]
    assert len(table) == 1 + 3 * 2
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again.segments.keys() == found.segments.keys()


def test_segments_come_by_rows_queries_or_ids_in_any_order() -> None:
    expected = str(evaluate(segments=LANGUAGE))
    _, first = np.unique(WEB.qid, return_index=True)
    of_query = LANGUAGE[np.sort(first)]
    by_id = dict(zip(QID.tolist(), LANGUAGE.tolist(), strict=True))
    for given in (LANGUAGE.tolist(), of_query, by_id):
        assert str(evaluate(segments=given)) == expected
    order = np.random.default_rng(0).permutation(len(QID))
    shuffled = rr.evaluate(
        FIRST[order], WEB.y[order], qid=QID[order], metrics=METRICS, segments=LANGUAGE[order]
    )
    assert str(shuffled) == expected


def test_segments_are_compared_and_corrected_for_their_number() -> None:
    found = rr.compare(FIRST, SECOND, WEB.y, qid=QID, segments=LANGUAGE, names=("bm25", "x"))
    for name, one in found.segments.items():
        rows = name == LANGUAGE
        alone = rr.compare(
            FIRST[rows], SECOND[rows], WEB.y[rows], qid=QID[rows], names=("bm25", "x")
        )
        plain = one.to_dict()
        assert plain["ndcg@10"].pop("p_holm") >= plain["ndcg@10"]["p_randomisation"]
        assert plain == alone.to_dict()
    table = str(found).split("\n\n")[1]
    assert "p (Holm)" in table
    assert "p (random)" not in table
    frame = found.to_pandas(by_segment=True)
    assert frame["segment"].tolist() == ["de", "en", "fr"]
    assert (frame["p_holm"] >= frame["p_randomisation"]).all()
    assert frame["p_holm"].max() <= 1


def test_a_query_with_two_segments_is_an_error_that_names_it() -> None:
    wrong = LANGUAGE.copy()
    wrong[3] = "it"
    with pytest.raises(
        rr.DataError, match="segments: query 'q0' has two, 'en' in row 0 and 'it' in row 3"
    ) as caught:
        evaluate(segments=wrong)
    assert (caught.value.row, caught.value.query) == (3, "q0")
    with pytest.raises(rr.DataError, match="got 7, expected 279, the number of rows, or 30, the"):
        evaluate(segments=LANGUAGE[:7])
    with pytest.raises(rr.DataError, match="segments has no segment for query 'q0'"):
        evaluate(segments={"q1": "en"})
    missing = LANGUAGE.astype(object)
    missing[4] = None
    with pytest.raises(rr.DataError, match="of query 'q0', row 4 is missing") as caught:
        evaluate(segments=missing)
    assert (caught.value.row, caught.value.query) == (4, "q0")
    of_queries = np.array(["en", None, *["de"] * 28], object)
    with pytest.raises(rr.DataError, match="of query 'q1' is missing: expected one for every qu"):
        evaluate(segments=of_queries)


def test_errors_name_the_column_of_segments() -> None:
    frame = pd.DataFrame(WEB.X).add_prefix("f").assign(qid=QID, lang=LANGUAGE, y=WEB.y)
    missing, wrong = frame.copy(), frame.copy()
    missing.loc[4, "lang"], wrong.loc[3, "lang"] = None, "it"
    scores = frame["f0"].fillna(0)
    with pytest.raises(
        rr.DataError, match=r"segments \(column 'lang'\): the segment of query 'q0'"
    ):
        rr.evaluate(scores, missing, y="y", qid="qid", segments="lang")
    with pytest.raises(rr.DataError, match=r"segments \(column 'lang'\): query 'q0' has two"):
        rr.evaluate(scores, wrong, y="y", qid="qid", segments="lang")
    with pytest.raises(
        rr.DataError, match=r"segments \(column 'lang'\): the segment of query 'q0'"
    ):
        evaluate(segments=missing["lang"])


def test_results_are_data_frames() -> None:
    pytest.importorskip("pandas")
    found = evaluate(segments=LANGUAGE)
    frame = found.to_pandas()
    assert frame["metric"].tolist() == METRICS
    assert frame["mean"].tolist() == [float(value) for value in found.values()]
    assert frame[["low", "high"]].to_numpy().tolist() == [
        list(value.interval) for value in found.values()
    ]
    queries = found.to_pandas(per_query=True)
    assert queries["query"].tolist() == list(dict.fromkeys(QID.tolist()))
    assert np.array_equal(queries["map"], found["map"].per_query, equal_nan=True)
    assert queries["segment"].tolist() == [LANGUAGE[query == QID][0] for query in queries["query"]]
    assert found.to_pandas(by_segment=True).shape == (6, 7)
    assert "segment" not in evaluate().to_pandas(per_query=True)
    with pytest.raises(rr.ParamError, match="there are no segments: pass segments="):
        evaluate().to_pandas(by_segment=True)
    compared = rr.compare(FIRST, SECOND, WEB.y, qid=QID, names=("bm25", "x"))
    one = compared["ndcg@10"]
    (row,) = compared.to_pandas().to_dict("records")
    assert (row["bm25"], row["x"], row["difference"]) == (
        float(one.a),
        float(one.b),
        one.difference,
    )
    values = compared.to_pandas(per_query=True)
    assert list(values) == ["query", "ndcg@10 bm25", "ndcg@10 x", "ndcg@10 difference"]
    assert np.array_equal(values["ndcg@10 difference"], one.per_query, equal_nan=True)


def test_without_pandas_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_pandas needs pandas \(pip install pandas\)"):
        evaluate().to_pandas()


def test_metric_and_metrics_lead_to_each_other() -> None:
    docs = (WEB.X, WEB.y, QID)
    calls: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "evaluate": (rr.evaluate, (FIRST, WEB.y)),
        "compare": (rr.compare, (FIRST, SECOND, WEB.y)),
        "report": (rr.report, ({"a": FIRST}, WEB.y)),
        "cross_validate": (rr.cross_validate, (rr.LambdaMART(), WEB.X, WEB.y)),
        "ensemble": (rr.ensemble, ([], docs)),
    }
    for function, given in calls.values():
        with pytest.raises(
            rr.ParamError, match="there is no parameter metric; here it is called metrics"
        ):
            function(*given, metric="map")
    one: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "tune": (rr.tune, (rr.LambdaMART(), docs)),
        "adapt": (rr.adapt, (None, docs)),
        "Combiner": (rr.Combiner, ()),
        "distill": (rr.distill, (None, docs)),
        "local_optimum": (rr.local_optimum, (None, docs)),
        "LambdaMART": (rr.LambdaMART, ()),
    }
    for function, given in one.values():
        with pytest.raises(
            rr.ParamError, match="there is no parameter metrics; here it is called metric"
        ):
            function(*given, metrics="map")


@pytest.mark.filterwarnings("ignore:.*have one value")
def test_a_booster_evaluates_segments() -> None:
    order = np.random.default_rng(1).permutation(len(QID))
    data = rr.Dataset(WEB.X[order], WEB.y[order], qid=QID[order])
    booster = rr.train(data, num_trees=3)
    found = booster.evaluate(data, METRICS, segments=LANGUAGE[order])
    scores = booster.predict(data)
    expected = rr.evaluate(
        scores, WEB.y[order], qid=QID[order], metrics=METRICS, segments=LANGUAGE[order]
    )
    assert str(found) == str(expected)
    assert list(found.segments) == ["de", "en", "fr"]
    with pytest.raises(rr.DataError, match="segments has the wrong length"):
        booster.evaluate(data, segments=["en"])
    for judge in (booster.evaluate, lambda of, **more: rr.evaluate(booster, of, **more)):
        with pytest.raises(TypeError, match=r"a Dataset has no columns; .*frame\['lang'\]"):
            judge(data, segments="lang")


def test_a_column_of_segments_may_be_a_feature(tmp_path: Path, capsys: Any) -> None:
    named: dict[str, Any] = {"y": "label", "qid": "query"}
    X = pd.DataFrame(np.nan_to_num(WEB.X[:, :5]), columns=list("abcde"))
    table = X.assign(market=WEB.qid % 3, label=WEB.y, query=QID)
    small: dict[str, Any] = {"num_trees": 4, "min_leaf_docs": 5}
    with_market, without = rr.train(table, **named, **small), rr.train((X, WEB.y, QID), **small)
    bare = rr.train((X.to_numpy(), WEB.y, QID), **small)
    both = rr.Combiner(method="average").fit({"a": with_market, "b": without}, table, **named)
    fitted = rr.LambdaMART(n_estimators=4).fit(table, "label", qid="query")
    for ranker in (with_market, without, bare, both, fitted, lambda X: np.asarray(X)[:, 4]):
        scored = X if ranker is bare or callable(ranker) else table
        scores = (
            ranker(X)
            if callable(ranker)
            else ranker.predict(scored.drop(columns="query", errors="ignore"))
        )
        expected = rr.evaluate(scores, WEB.y, qid=QID, segments=WEB.qid % 3)
        assert str(rr.evaluate(ranker, table, **named, segments="market")) == str(expected)
    compared = rr.compare(with_market, without, table, **named, segments="market")
    assert list(compared.segments) == [0, 1, 2]
    data, files = tmp_path / "data.parquet", [tmp_path / f"{name}.rrk" for name in "abc"]
    table.to_parquet(data)
    for ranker, file in zip((with_market, without, bare), files, strict=True):
        ranker.save(file)
        arguments = ["evaluate", data, file, "--qid", "query", "--segments", "market", "--json"]
        assert main(list(map(str, arguments))) == 0
        (value,) = json.loads(capsys.readouterr().out)["results"]
        found = rr.evaluate(ranker, table, **named, segments="market")
        assert value["metrics"]["ndcg@10"]["mean"] == float(found["ndcg@10"])
