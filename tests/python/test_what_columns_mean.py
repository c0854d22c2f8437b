"""Columns that could be taken for something else: an index of pandas, numbered names, values by id or in order."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
from rustrank.cli import main

if TYPE_CHECKING:
    from pathlib import Path

pd = pytest.importorskip("pandas")
DATA = rr.datasets.make_polynomial(40, 12, seed=4)
FEW: dict[str, Any] = {"num_trees": 4, "num_leaves": 6, "min_leaf_docs": 5}


def _frame() -> Any:
    frame = pd.DataFrame(DATA.X[:, :5], columns=list("abcde"))
    return frame.assign(label=DATA.y, qid=DATA.qid)


def test_an_index_of_pandas_is_no_feature(tmp_path: Path) -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    frame = _frame().sort_values("label", ascending=False)
    frame.to_parquet(tmp_path / "t.parquet")
    arrow = pa.Table.from_pandas(frame)
    assert "__index_level_0__" in arrow.column_names
    expected = rr.Dataset(frame, "label", qid="qid")
    for table in (arrow, pl.read_parquet(tmp_path / "t.parquet")):
        made = rr.Dataset(table, "label", qid="qid")
        assert made.feature_names == list("abcde")
        assert made.fingerprint == expected.fingerprint
    made = rr.Dataset.from_parquet(tmp_path / "t.parquet", label="label", qid="qid")
    assert made.fingerprint == expected.fingerprint
    assert rr.train(arrow, y="label", qid="qid", **FEW) == rr.train(expected, **FEW)


@pytest.mark.parametrize("form", ["f{}", "Column_{}", "{}"])
def test_numbered_names_are_names(form: str) -> None:
    """Of a model without names, columns with the names that it shows go by name."""
    booster = rr.train(rr.Dataset(DATA.X, DATA.y, qid=DATA.qid), **FEW)
    frame = pd.DataFrame(DATA.X, columns=[form.format(at) for at in range(DATA.X.shape[1])])
    other = frame[sorted(frame.columns)].assign(more=1.0)
    scores = booster.predict(DATA.X)
    assert np.array_equal(booster.predict(frame), scores)
    assert np.array_equal(booster.predict(other), scores)
    dataset = rr.Dataset(other, DATA.y, qid=DATA.qid, like=booster)
    assert np.array_equal(booster.predict(dataset), scores)
    # Other names say nothing: such columns go by position.
    assert np.array_equal(booster.predict(frame.add_prefix("x")), scores)


def test_a_series_of_queries_goes_by_its_index() -> None:
    qid = np.array(list("ccaabb"))
    y, scores = [1, 0] * 3, [1, 0, 0, 1, 0.5, 0.5]
    of_query = pd.DataFrame({"q": qid, "land": list("CCAABB")}).groupby("q").land.first()
    of_row = pd.Series(list("CCAABB"), index=[5, 3, 4, 0, 1, 2])
    for segments in (of_query, of_query.to_dict(), of_row):
        found = rr.evaluate(scores, y, qid=qid, segments=segments).segments
        assert {name: one.query_ids.tolist() for name, one in found.items()} == {
            "A": ["a"],
            "B": ["b"],
            "C": ["c"],
        }


def test_an_index_that_may_count_queries_or_name_them_is_refused() -> None:
    y, scores = [1, 0] * 3, [1, 0, 0, 1, 0.5, 0.5]
    weight = pd.Series({0: 10.0, 1: 1.0, 2: 1.0}).reset_index(drop=True)
    with pytest.raises(rr.DataError, match="query_weight: the index of the Series may be"):
        rr.evaluate(scores, y, qid=[2, 2, 0, 0, 1, 1], query_weight=weight)
    with pytest.raises(rr.DataError, match="segments: the index of the Series may be"):
        rr.evaluate(scores, y, qid=[2, 2, 0, 0, 1, 1], segments=pd.Series(list("abc")))
    in_order = rr.evaluate(scores, y, qid=[0, 0, 1, 1, 2, 2], query_weight=weight)
    assert in_order == rr.evaluate(scores, y, qid=[0, 0, 1, 1, 2, 2], query_weight=[10, 1, 1])


@pytest.mark.parametrize("kind", ["pandas", "arrow", "plain"])
def test_ids_that_a_double_does_not_hold_are_refused(kind: str) -> None:
    ids = np.array([10**17 + at for at in range(12)] * 40)
    frame: Any = pd.DataFrame({"id": pd.Categorical(ids), "x": DATA.X[:, 0]})
    more: dict[str, Any] = {}
    if kind == "arrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)
    if kind == "plain":
        frame, more = frame.assign(id=ids), {"categorical": ["id"]}
    with pytest.raises(rr.DataError, match=r"got the category 100000000000000000.*astype"):
        rr.Dataset(frame, DATA.y, qid=DATA.qid, **more)


def test_a_stack_of_texts_sees_scores_alone() -> None:
    frame = _frame().drop(columns=["label", "qid"]).assign(site=np.array(list("abc"))[DATA.qid % 3])
    train = rr.Dataset(frame, DATA.y, qid=DATA.qid, categorical=["site"])
    booster = rr.train(train, **FEW)
    for table in (frame, frame.assign(site=frame["site"].astype("category"))):
        with pytest.raises(rr.ParamError, match="own=False"):
            rr.Stacking([booster]).table(table, qid=DATA.qid)
        assert len(rr.Stacking([booster], own=False).table(table, qid=DATA.qid)) == len(frame)


def test_csv_beside_parquet_has_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    frame = _frame().assign(site=DATA.qid % 5)
    half = frame["qid"] < frame["qid"].median()
    frame[half].to_parquet(tmp_path / "one.parquet", index=False)
    frame[~half].to_csv(tmp_path / "two.csv", index=False)
    one, two, model = (str(tmp_path / name) for name in ("one.parquet", "two.csv", "m.rrk"))
    for first, more in ((one, two), (two, one)):
        told = ["train", first, model, "--more-data", more, "--categorical", "site"]
        assert main([*told, "--num-trees", "4", "--min-leaf-docs", "5"]) == 0, capsys.readouterr()
    infinite = frame.assign(a=np.inf)
    infinite.to_csv(tmp_path / "inf.csv", index=False)
    assert main(["train", str(tmp_path / "inf.csv"), model]) == 65
    assert "leave the cell empty" in capsys.readouterr().err


def test_query_ids_that_become_a_feature_are_told() -> None:
    frame = _frame()
    X, sizes = frame.drop(columns="label"), np.unique(DATA.qid, return_counts=True)[1]
    given: list[dict[str, Any]] = [{"group": sizes}, {"qid": DATA.qid}]
    for how in given:
        with pytest.warns(
            UserWarning, match=rf"column qid of X is a feature, since {next(iter(how))}="
        ):
            made = rr.Dataset(X, DATA.y, **how)
        assert "qid" in made.feature_names
    with pytest.warns(UserWarning, match="column qid of X is a feature"):
        rr.train(frame, y="label", qid=DATA.qid, **FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train = rr.Dataset(X, DATA.y, qid="qid")
        assert "qid" not in train.feature_names
        # Columns that the training set does not have are left out, and names may be wanted.
        assert "qid" not in rr.Dataset(X, DATA.y, group=sizes, like=train).feature_names
        rr.Dataset(X, DATA.y, group=sizes, feature_names=list(X.columns))
        # In the drop-ins, it is a feature as in the other libraries.
        drop_in = lgb.train({"objective": "lambdarank"}, lgb.Dataset(X, DATA.y, group=sizes), 2)
        assert drop_in.feature_name() == list(X.columns)
