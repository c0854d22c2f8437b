"""Rankers in pipelines of PyTerrier; skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

pt = pytest.importorskip("pyterrier")
pytestmark = [
    pytest.mark.filterwarnings("ignore:There are shared pipeline components"),
    # Of PyTerrier's own use of pandas.
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]


def frames(num_queries: int, first_query: int) -> tuple[Any, Any]:
    """Return candidates with their features, and judgements of those that are relevant."""
    docs = rr.datasets.make_polynomial(num_queries, 20, seed=1, first_query=first_query)
    found = pd.DataFrame({"qid": [f"q{query}" for query in docs.qid], "query": "words"})
    found["docno"] = [f"d{row}" for row in range(len(docs.y))]
    found["features"] = list(docs.X.astype(np.float64))
    found["score"] = docs.X[:, 0].astype(np.float64)
    found["rank"] = (
        found.groupby("qid")["score"].rank(ascending=False, method="first").astype(int) - 1
    )
    qrels = found[["qid", "docno"]].assign(label=docs.y.astype(int))
    return found, qrels[qrels["label"] > 0]


TRAIN, VALID, TEST = frames(60, 0), frames(20, 1000), frames(30, 2000)
CANDIDATES = pt.Transformer.from_df(pd.concat([TRAIN[0], VALID[0], TEST[0]]))


def topics(frame: Any) -> Any:
    return frame[["qid", "query"]].drop_duplicates()


def reranker(ranker: Any, **options: Any) -> Any:
    from rustrank.compat.pyterrier import Reranker

    return Reranker(ranker, **options)


def test_a_pipeline_learns_and_an_experiment_measures_it() -> None:
    step = reranker(rr.LambdaMART(n_estimators=30, early_stopping=5, metric="ndcg@10"))
    pipeline = CANDIDATES >> step
    pipeline.fit(topics(TRAIN[0]), TRAIN[1], topics(VALID[0]), VALID[1])
    assert step.ranker.best_round_ < 30
    rankers = [CANDIDATES, pipeline]
    table = pt.Experiment(rankers, topics(TEST[0]), TEST[1], ["ndcg_cut_10"])
    first, learned = table["ndcg_cut_10"]
    assert learned > first + 0.1

    # trec_eval has linear gains.
    docs = rr.datasets.make_polynomial(30, 20, seed=1, first_query=2000)
    ours = rr.evaluate(step.ranker.predict(docs.X), docs.y, qid=docs.qid, gain="linear")
    assert learned == pytest.approx(float(ours["ndcg@10"]), abs=1e-9)


def test_the_model_is_that_of_fit_with_the_queries() -> None:
    step = reranker(rr.LambdaMART(n_estimators=5, query_ranks=True))
    (CANDIDATES >> step).fit(topics(TRAIN[0]), TRAIN[1])
    docs = rr.datasets.make_polynomial(60, 20, seed=1)
    # Judgements leave out what is not relevant.
    expected = rr.LambdaMART(n_estimators=5, query_ranks=True).fit(docs.X, docs.y, qid=docs.qid)
    scores = step(TRAIN[0])["score"]
    assert np.array_equal(scores, expected.predict(docs.X, qid=docs.qid))


def test_a_booster_scores_and_is_not_fitted() -> None:
    docs = rr.datasets.make_polynomial(60, 20, seed=1)
    booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=5)
    found = reranker(booster)(TEST[0])
    ranks = found.sort_values(["qid", "score"], ascending=[True, False]).groupby("qid")["rank"]
    assert ranks.apply(lambda within: within.is_monotonic_increasing).all()
    with pytest.raises(rr.ParamError, match=r"expected an estimator, such as rr\.LambdaMART"):
        reranker(booster).fit(*TRAIN)


def test_negative_labels_are_not_relevant() -> None:
    found, qrels = TRAIN
    spam = qrels.assign(label=-2).head(3)
    others = qrels.iloc[3:]
    ranker = rr.LambdaMART(n_estimators=3)
    with_spam = reranker(ranker).fit(found, pd.concat([spam, others]))(found)["score"]
    assert with_spam.equals(reranker(ranker).fit(found, others)(found)["score"])


def test_frames_without_documents_stay_without() -> None:
    step = reranker(rr.LambdaMART(n_estimators=1)).fit(*TRAIN)
    found = step(TEST[0].head(0))
    assert len(found) == 0
    assert {"score", "rank"} <= set(found.columns)


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(rr.ParamError, match="expected an estimator of rustrank or a Booster"):
        reranker(3)
    with pytest.raises(rr.NotFittedError):
        reranker(rr.LambdaMART())(TEST[0])
    uneven = TRAIN[0].head(3).copy()
    uneven["features"] = [np.zeros(3), np.zeros(3), np.zeros(2)]
    with pytest.raises(rr.DataError, match=r"features of row 2: got an array of shape \(2,\)"):
        reranker(rr.LambdaMART()).fit(uneven, TRAIN[1])
