"""What a `Combiner` gives its members when it scores documents, and what it asks of its callers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr


@pytest.fixture(scope="module")
def docs() -> Any:
    web = rr.datasets.make_web(40, 20, seed=1)
    return rr.datasets.Ranking(web.X[:, :12], web.y, web.qid, web.feature_names[:12])


def fifth(X: Any) -> Any:
    return np.asarray(X)[:, 5].astype(float)


def with_ranks(docs: Any, names: Any = None) -> rr.Booster:
    data = rr.Dataset(docs.X, docs.y, qid=docs.qid, query_ranks=True, feature_names=names)
    return rr.train(data, num_trees=5)


def test_a_member_that_needs_queries_is_given_no_others(docs: Any) -> None:
    frame = pd.DataFrame(docs.X, columns=docs.feature_names).assign(qid=docs.qid)
    booster = with_ranks(docs)
    ranker: Any = rr.LambdaMART(query_ranks=True, n_estimators=5).fit(docs.X, docs.y, qid=docs.qid)
    in_query = rr.mix([booster, booster], normalise="query")
    plain: Any = rr.LambdaMART(n_estimators=5).fit(docs.X, docs.y, qid=docs.qid)
    for needy, error in (
        (booster, rr.ParamError),
        (in_query, rr.ParamError),
        (ranker, rr.DataError),
    ):
        for other in (fifth, plain, ranker):
            both = {"model": needy, "other": other}
            combiner = rr.Combiner().fit(both, docs.y, X=docs.X, qid=docs.qid)
            with pytest.raises(error) as alone:
                needy.predict(docs.X)
            with pytest.raises(error) as inside:
                combiner.predict(docs.X)
            assert str(inside.value) == f"model: {alone.value}"
            given = combiner.predict(docs.X, qid=docs.qid)
            assert (given == combiner.predict(docs.X, group=docs.group)).all()
    named = with_ranks(docs, docs.feature_names)
    members = {"model": named, "column": docs.feature_names[5]}
    combiner = rr.Combiner().fit(members, docs.y, X=frame.drop(columns="qid"), qid=docs.qid)
    for one in (named, combiner):
        with pytest.raises(rr.ParamError, match='X has a column qid: pass qid="qid"'):
            one.predict(frame)
    given = combiner.predict(frame, qid="qid")
    assert (given == combiner.predict(frame, qid=docs.qid)).all()


def test_a_function_is_given_the_table_of_the_caller(docs: Any) -> None:
    frame = pd.DataFrame(docs.X, columns=docs.feature_names)
    frame = frame.assign(label=docs.y, query_id=docs.qid)
    kinds = set()

    def of_frame(X: Any) -> Any:
        kinds.add(type(X))
        assert list(X.columns) == list(docs.feature_names)
        return X[docs.feature_names[5]].fillna(0)

    booster = rr.train(frame, y="label", qid="query_id", num_trees=5)
    combiner = rr.Combiner().fit({"t": booster, "f": of_frame}, frame, y="label", qid="query_id")
    new = frame.drop(columns="label")
    by_name = combiner.predict(new, qid="query_id")
    assert (by_name == combiner.predict(new.drop(columns="query_id"), qid=docs.qid)).all()
    assert kinds == {pd.DataFrame}


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_scores_in_place_of_documents_are_named(docs: Any) -> None:
    plain: Any = rr.LambdaMART(n_estimators=5).fit(docs.X, docs.y, qid=docs.qid)
    net: Any = rr.RankNet(epochs=1).fit(docs.X, docs.y, qid=docs.qid)
    given = {"y": docs.y, "X": docs.X, "qid": docs.qid}
    members: list[dict[str, Any]] = [
        {"trees": plain, "ranknet": net},
        {"trees": plain.booster_, "ranknet": net.booster_},
        {"trees": plain, "ranknet": fifth},
        {"trees": lambda X: X[:, 5].astype(float), "ranknet": net},
    ]
    scores = plain.predict(docs.X), net.predict(docs.X)
    for rankers in members:
        combiner = rr.Combiner().fit(rankers, **given)
        # What a function makes of wrong names is its own affair.
        misspelt = [] if callable(rankers["trees"]) else ["ranknt"]
        for name in ("ranknet", *misspelt):
            with pytest.raises(rr.errors.ParamKindError) as error:
                combiner.predict({"trees": scores[0], name: scores[1]})
            said = f"scores of 'trees', '{name}', expected features: the combiner was fitted"
            assert said in str(error.value)
            assert "rankers themselves ('trees', 'ranknet')" in str(error.value)
    of_scores = rr.Combiner().fit(
        dict(zip(("trees", "ranknet"), scores, strict=True)), docs.y, qid=docs.qid
    )
    with pytest.raises(rr.ParamError, match="docs has rankers trees, ranknt: expected trees, rank"):
        of_scores.predict({"trees": scores[0], "ranknt": scores[1]})
