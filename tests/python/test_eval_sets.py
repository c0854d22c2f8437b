"""Validation sets: which one early stopping looks at, their names, and columns by name."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rustrank as rr
from rustrank.distributed.jobs import Job
from rustrank.parameters.plan import train_options

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DATA = rr.datasets.make_polynomial(num_queries=40, seed=3)
MORE = rr.datasets.make_polynomial(num_queries=20, seed=4)
OPTIONS: dict[str, Any] = {
    "num_leaves": 8,
    "min_leaf_docs": 5,
    "learning_rate": 0.5,
    "early_stopping": 3,
}
X, Y, QID = DATA.X[:, :6], DATA.y, DATA.qid
V, Z, IDS = MORE.X[:, :6], MORE.y, MORE.qid
ONLY = "early_stopping looks at the training set, the only validation set"


def frame(values: Any, labels: Any, queries: Any) -> pd.DataFrame:
    """Return docs as a frame, with ids that are not called ``qid``."""
    table = pd.DataFrame(values, columns=[f"c{at}" for at in range(values.shape[1])])
    return table.assign(label=labels, query=queries)


def train(valid: Any, **more: Any) -> rr.Booster:
    data = more.pop("data", TRAIN)
    return rr.train(data, valid=valid, num_trees=100, **{**OPTIONS, **more})


TRAIN = rr.Dataset(X, Y, qid=QID)
VALID = rr.Dataset(V, Z, qid=IDS, like=TRAIN)


def test_early_stopping_looks_past_the_training_set() -> None:
    expected = train({"new": VALID})
    values = expected.history["new"]["ndcg@10"]
    assert expected.best_round == int(np.argmax(values)) + 1 < 97
    for sets in ({"train": TRAIN, "new": VALID}, [TRAIN, VALID], [TRAIN, TRAIN, VALID]):
        assert train(sets) == expected
    last = list(train([TRAIN, VALID]).history.values())[-1]["ndcg@10"]
    assert last.tolist() == values.tolist()


def test_a_named_set_of_early_stopping_wins() -> None:
    both = {"train": TRAIN, "new": VALID}
    rule = rr.EarlyStopping(3, valid="train")
    found = train(both, early_stopping=rule)
    assert found.best_round == int(np.argmax(found.history["train"]["ndcg@10"])) + 1
    assert found != train(both)
    rule = rr.EarlyStopping(3, metric="map")
    found = train(both, early_stopping=rule, metric=["ndcg@10", "map"])
    assert found.best_round == int(np.argmax(found.history["new"]["map"])) + 1


def test_early_stopping_on_the_training_set_alone_warns() -> None:
    with pytest.warns(rr.RustrankWarning, match=ONLY):
        found = train({"train": TRAIN})
    assert found.best_round == int(np.argmax(found.history["train"]["ndcg@10"])) + 1
    # There is no warning where the set is named.
    rule = rr.EarlyStopping(3, valid="train")
    assert train({"train": TRAIN}, early_stopping=rule) == found


def test_documents_that_are_the_training_set_are_known_as_such() -> None:
    docs, new = frame(X, Y, QID), frame(V, Z, IDS)
    named: dict[str, Any] = {"y": "label", "qid": "query"}
    sets = {"train": docs, "new": new}
    assert train(sets, data=docs, **named) == train({"new": new}, data=docs, **named)


def test_early_stopping_of_an_estimator_looks_past_the_training_set() -> None:
    ranker = rr.LambdaMART(n_estimators=100, **OPTIONS)
    expected = ranker.fit(X, Y, qid=QID, eval_set=[(V, Z, IDS)]).booster_
    for sets in ([(X, Y, QID), (V, Z, IDS)], {"train": (X, Y, QID), "new": (V, Z, IDS)}):
        assert ranker.fit(X, Y, qid=QID, eval_set=sets).booster_ == expected
    docs, new = frame(X, Y, QID), frame(V, Z, IDS)
    assert (
        ranker.fit(docs, "label", qid="query", eval_set=[docs, new]).best_round_
        == expected.num_trees
    )
    with pytest.warns(rr.RustrankWarning, match=ONLY):
        ranker.fit(X, Y, qid=QID, eval_set=[(X, Y, QID)])
    # Other labels make another set.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(X, Y, qid=QID, eval_set=[(X, 4 - Y, QID)])


def some(queries: NDArray[Any]) -> rr.Dataset:
    rows = np.isin(QID, queries)
    return rr.Dataset(X[rows], Y[rows], qid=QID[rows], like=TRAIN)


def test_a_copy_of_the_training_set_counts_as_the_training_set() -> None:
    copy = rr.Dataset(X[::-1].copy(), Y[::-1], qid=QID[::-1], like=TRAIN)
    assert train({"copy": copy, "new": VALID}) == train({"new": VALID})
    for valid in (copy, {"train": copy}):
        with pytest.warns(rr.RustrankWarning, match=ONLY) as caught:
            train(valid)
        assert len(caught) == 1
    docs = frame(X, Y, QID)
    with pytest.warns(rr.RustrankWarning, match=ONLY):
        train(docs.copy(), data=docs, y="label", qid="query")
    ranker = rr.LambdaMART(n_estimators=5, **OPTIONS)
    with pytest.warns(rr.RustrankWarning, match=ONLY) as caught:
        ranker.fit(X, Y, qid=QID, eval_set=[(X.copy(), Y.copy(), QID)])
    assert len(caught) == 1


def test_a_choice_by_a_copy_of_the_training_set_is_made_by_folds() -> None:
    own: dict[str, Any] = {"num_trees": 20, "progress": False}
    copy = rr.Dataset(X.copy(), Y, qid=QID, like=TRAIN)
    found = rr.train(TRAIN, valid=copy, **own)
    assert found.chosen == rr.train(TRAIN, valid=TRAIN, **own).chosen
    assert found.best_round is None


def test_training_queries_in_a_validation_set_warn() -> None:
    ids = np.unique(QID)
    with pytest.warns(
        rr.RustrankWarning, match=r"valid, where 4 of 4 queries are queries of the tr"
    ):
        train(some(ids[:4]))
    old = np.isin(QID, ids[:2])
    mixed = rr.Dataset(
        np.concatenate([V, X[old]]),
        np.concatenate([Z, Y[old]]),
        qid=np.concatenate([IDS, QID[old] + 1000]),
        like=TRAIN,
    )
    assert mixed._core.shared_queries(TRAIN._core) == (2, 22)
    # Less than a tenth, and another set than that which early stopping looks at.
    train(mixed)
    train({"new": VALID, "some": some(ids[:4])})
    train(some(ids[:1]))
    with pytest.warns(rr.RustrankWarning, match="looks at some"):
        train(
            {"new": VALID, "some": some(ids[:4])}, early_stopping=rr.EarlyStopping(3, valid="some")
        )
    # Without early stopping nothing is decided by them.
    train(some(ids[:4]), early_stopping=None)


def test_workers_look_past_the_training_set(tmp_path: Path) -> None:
    for name, docs in {"train": DATA, "new": MORE}.items():
        docs.to_letor(tmp_path / f"{name}.txt")
        rr.shard(tmp_path / f"{name}.txt", tmp_path / name, shards=2)
    paths = {name: str(tmp_path / name / "manifest.json") for name in ("train", "new")}
    options = train_options({"early_stopping": 3, "workers": 2, "valid": paths})
    job = Job.of({"dataset": rr.Shards.load(paths["train"]), **options}, tmp_path)
    assert job.options["early_stopping"] == rr.EarlyStopping(3, valid="new")


def test_validation_sets_of_an_estimator_have_names() -> None:
    ranker = rr.LambdaMART(n_estimators=3)
    sets = {"train": (X, Y, QID), "new": {"X": V, "y": Z, "qid": IDS}}
    named = ranker.fit(X, Y, qid=QID, eval_set=sets).history_
    assert list(named) == ["train", "new"]
    listed = ranker.fit(X, Y, qid=QID, eval_set=list(sets.values())).history_
    assert [one["ndcg@10"].tolist() for one in named.values()] == [
        one["ndcg@10"].tolist() for one in listed.values()
    ]
    # Ids apart, in the order of the names.
    apart = {"train": (X, Y), "new": (V, Z)}
    found = ranker.fit(X, Y, qid=QID, eval_set=apart, eval_qid=[QID, IDS]).history_
    assert found["new"]["ndcg@10"].tolist() == named["new"]["ndcg@10"].tolist()
    one = ranker.fit(X, Y, qid=QID, eval_set={"X": V, "y": Z, "qid": IDS}).history_
    assert list(one) == ["valid"]
    assert list(
        rr.LambdaRank(epochs=1).fit(X, Y, qid=QID, eval_set={"new": (V, Z, IDS)}).history_
    ) == ["new"]


@pytest.mark.parametrize("kind", [rr.LambdaMART, rr.LambdaBoost])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, lambda one: one.to_dict("list")])
def test_names_of_columns_hold_for_validation_sets(kind: Any, make: Any) -> None:
    docs, new = make(frame(X, Y, QID)), make(frame(V, Z, IDS))
    ranker = kind(n_estimators=3)
    expected = ranker.fit(X, Y, qid=QID, eval_set=[(V, Z, IDS)]).history_["valid"]["ndcg@10"]
    columns = pd.DataFrame(new).drop(columns=["label", "query"]) if isinstance(new, dict) else None
    apart = [] if columns is None else [[(columns, Z, IDS)]]
    for sets in (new, [new], [(new, "label")], [(new, "label", "query")], [{"X": new}], *apart):
        found = ranker.fit(docs, "label", qid="query", eval_set=sets).history_
        assert found["valid"]["ndcg@10"].tolist() == expected.tolist()
    found = ranker.fit(docs, "label", qid="query", eval_set={"new": new}).history_
    assert found["new"]["ndcg@10"].tolist() == expected.tolist()


def test_all_columns_that_fit_takes_by_name_hold_for_validation_sets() -> None:
    gain = np.arange(len(Y)) % 5
    revenue = np.arange(len(Z)) % 5
    docs = frame(X, Y, QID).assign(old=X[:, 0], revenue=gain)
    new = frame(V, Z, IDS).assign(old=V[:, 0], revenue=revenue)
    ranker = rr.LambdaMART(n_estimators=3, metric=["ndcg@10", "revenue@10"])
    named: dict[str, Any] = {"qid": "query", "base_score": "old", "extra_labels": "revenue"}
    found = ranker.fit(docs, "label", eval_set=new, **named)
    data = rr.Dataset(X, Y, qid=QID, base_score=X[:, 0], extra_labels={"revenue": gain})
    more: dict[str, Any] = {"base_score": V[:, 0], "extra_labels": {"revenue": revenue}}
    valid = rr.Dataset(V, Z, qid=IDS, like=data, **more)
    metrics = ["ndcg@10", "revenue@10"]
    expected = rr.train(data, num_trees=3, metric=metrics, valid=valid).history
    for metric in metrics:
        assert found.history_["valid"][metric].tolist() == expected["valid"][metric].tolist()


def test_a_validation_set_without_the_column_of_labels_is_an_error() -> None:
    docs, new = frame(X, Y, QID), frame(V, Z, IDS)
    with pytest.raises(rr.DataError, match="y: eval_set has no column 'label', expected one of"):
        rr.LambdaMART().fit(docs, "label", qid="query", eval_set=[{"X": new.drop(columns="label")}])
    with pytest.raises(rr.ParamError, match=r"eval_set: got 1, expected \(X, y\)"):
        rr.LambdaMART().fit(X, Y, qid=QID, eval_set=1)
