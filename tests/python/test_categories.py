"""Features that hold categories, from tables of all kinds to scores of later ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

pd = pytest.importorskip("pandas")

ROUNDS = 12
TOWNS = np.array(["Ulm", "Aix la Chapelle", "bonn", "Köln", "Brno\\s", "Łódź", "x y", "Oslo"])


def _raw(seed: int = 0, num_queries: int = 60) -> tuple[Any, np.ndarray, np.ndarray]:
    """A table of a text, a whole number and two amounts; labels follow the first two by no order."""
    draws = np.random.default_rng(seed)
    qid = np.repeat(np.arange(num_queries), 12)
    town = draws.choice(len(TOWNS), len(qid), p=[0.3, 0.2, 0.15, 0.12, 0.1, 0.06, 0.04, 0.03])
    shop = draws.integers(0, 40, len(qid)) * 17
    amounts = draws.normal(size=(len(qid), 2)).round(2)
    worth = np.array([0, 2, -1, 1, 3, -2, 0.5, -3])[town] + np.sin(shop * 1.7) * 1.5
    y = np.digitize(worth + amounts[:, 0] + draws.normal(size=len(qid)) * 0.5, [0, 1.5, 3, 4.5])
    names: list[Any] = TOWNS[town].tolist()
    for at in range(0, len(qid), 29):
        names[at] = None
    frame = pd.DataFrame(
        {"town": names, "shop": shop, "price": amounts[:, 0], "stars": amounts[:, 1]}
    )
    return frame, y, qid


@pytest.fixture(scope="module")
def frame() -> Any:
    return _raw()[0]


@pytest.fixture(scope="module")
def train() -> rr.Dataset:
    X, y, qid = _raw()
    return rr.Dataset(X, y, qid=qid, categorical=["town", "shop"])


def _trained(dataset: rr.Dataset, **options: Any) -> rr.Booster:
    return rr.train(dataset, **{"num_trees": ROUNDS, "num_leaves": 8, "min_leaf_docs": 5} | options)


def test_a_dataset_knows_its_categories(train: rr.Dataset, frame: Any) -> None:
    assert train.categorical == [0, 1]
    counts = frame["town"].value_counts()
    assert train.categories("town")[0] == counts.index[0]
    assert sorted(train.categories("town")) == sorted(TOWNS)
    assert set(train.categories(1)) == set(frame["shop"])
    with pytest.raises(rr.ParamError, match="holds no categories"):
        train.categories("price")


def test_categories_learn_what_numbers_cannot(train: rr.Dataset) -> None:
    X, y, qid = _raw()
    X = X.assign(town=X["town"].astype("category").cat.codes)
    numbers = rr.Dataset(X, y, qid=qid)
    few = {"num_trees": 8, "num_leaves": 6}
    assert (
        _trained(train, **few).evaluate(train)["ndcg@10"]
        > _trained(numbers, **few).evaluate(numbers)["ndcg@10"]
    )


def test_all_kinds_of_tables_say_the_same(train: rr.Dataset, frame: Any) -> None:
    _, y, qid = _raw()
    expected = _trained(train)
    typed = frame.assign(town=frame["town"].astype("category"))
    unused = pd.CategoricalDtype([*sorted(TOWNS, reverse=True), "Rome"])
    tables: list[Any] = [
        typed,
        frame.assign(town=frame["town"].astype(unused)),
        {name: frame[name].to_numpy() for name in frame},
    ]
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    tables.append(pl.from_pandas(frame).with_columns(pl.col("town").cast(pl.Categorical)))
    tables.append(pl.from_pandas(frame).with_columns(pl.col("town").cast(pl.Enum(sorted(TOWNS)))))
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    tables.append(arrow)
    tables.append(arrow.set_column(0, "town", arrow["town"].dictionary_encode()))
    scores = expected.predict(frame)
    for table in tables:
        made = rr.Dataset(table, y, qid=qid, categorical=["town", 1])
        assert _trained(made) == expected
        assert np.array_equal(expected.predict(table), scores)
    # Columns that say so themselves need not be named.
    both = typed.assign(shop=frame["shop"].astype("category"))
    assert np.array_equal(expected.predict(both), scores)
    made = rr.Dataset(both, y, qid=qid)
    assert made.categories("shop") == train.categories("shop")
    of_types = _trained(made)
    assert np.array_equal(of_types.predict(frame), of_types.predict(both))
    objects = rr.Dataset(
        frame.to_numpy(object), y, qid=qid, categorical=[0, 1], feature_names=list(frame)
    )
    assert _trained(objects) == expected


@pytest.mark.parametrize("tree_shape", ["leafwise", "symmetric"])
def test_threads_order_and_interruptions_cannot_be_seen(
    train: rr.Dataset, tree_shape: str, tmp_path: Path
) -> None:
    options = {"tree_shape": tree_shape, "features_per_node": 0.8, "random_strength": 0.5}
    whole = _trained(train, **options)
    assert _trained(train, num_threads=1, **options) == whole
    X, y, qid = _raw()
    order = np.random.default_rng(0).permutation(len(y))
    moved = rr.Dataset(X.iloc[order], y[order], qid=qid[order], categorical=["shop", "town"])
    assert moved.fingerprint == train.fingerprint
    assert _trained(moved, **options) == whole
    first = _trained(train, **{**options, "num_trees": 5})
    assert whole.truncate(5) == first
    assert _trained(train, base=first, **{**options, "num_trees": ROUNDS - 5}) == whole

    def stop(latest: rr.Round) -> bool:
        return latest.number == 5

    begun = {**options, "checkpoint": tmp_path / "c.rrk"}
    _trained(train, callbacks=stop, **begun)
    assert _trained(train, resume=True, **begun) == whole


def test_a_saved_model_scores_the_same_column(
    train: rr.Dataset, frame: Any, tmp_path: Path
) -> None:
    booster = _trained(train)
    booster.save(tmp_path / "m.rrk")
    loaded = rr.Booster.load(tmp_path / "m.rrk")
    scores = booster.predict(frame)
    assert np.array_equal(loaded.predict(frame), scores)
    assert np.array_equal(booster.predict(train), scores)
    assert np.array_equal(
        loaded.predict(rr.Dataset(frame, np.zeros(len(frame)), group=[len(frame)], like=train)),
        scores,
    )
    assert np.array_equal(
        loaded.predict(rr.Dataset(frame, np.zeros(len(frame)), group=[len(frame)], like=loaded)),
        scores,
    )
    assert not any(name.startswith("categories") for name in loaded.params)


@pytest.mark.filterwarnings("ignore:no value of column")
def test_unknown_categories_are_all_alike(train: rr.Dataset, frame: Any) -> None:
    booster = _trained(train)
    towns = [booster.predict(frame.assign(town=town)) for town in ("Rome", "Paris", "")]
    assert np.array_equal(towns[0], towns[1])
    assert np.array_equal(towns[0], towns[2])
    shops = [booster.predict(frame.assign(shop=shop)) for shop in (3, 10_001, 2**30)]
    assert np.array_equal(shops[0], shops[1])
    assert np.array_equal(shops[0], shops[2])
    later = frame.assign(town=np.where(frame["stars"] > 0, "Rome", frame["town"]))
    made = rr.Dataset(later, np.zeros(len(later)), group=[len(later)], like=train)
    assert np.array_equal(booster.predict(made), booster.predict(later))
    missing = booster.predict(frame.assign(town=None))
    assert np.array_equal(missing, booster.predict(frame.assign(town=np.nan)))


def test_more_categories_than_bins_share_one() -> None:
    draws = np.random.default_rng(3)
    shop = (draws.random(6000) ** 2 * 900).astype(int)
    worth = np.random.default_rng(4).normal(size=900)
    y = np.digitize(worth[shop] + draws.normal(size=6000) * 0.3, [0, 1])
    X = np.column_stack([shop, draws.normal(size=6000)])
    data = rr.Dataset(X, y, qid=np.arange(6000) // 20, categorical=[0])
    assert len(data.categories(0)) == 254
    booster = _trained(data)
    assert np.array_equal(booster.predict(X), booster.predict(data))
    free = rr.Dataset(X, y, qid=np.arange(6000) // 20)
    assert booster.evaluate(data)["ndcg@10"] > _trained(free).evaluate(free)["ndcg@10"]


def test_what_is_asked_can_be_read(train: rr.Dataset, frame: Any) -> None:
    booster = _trained(train)
    assert "town in '" in booster.dump_text()
    assert "shop in " in booster.dump_text()
    json.dumps(booster.dump())
    assert booster.draw_tree(0).startswith("<svg")
    importance = booster.feature_importance()
    assert len(importance) == 4
    assert importance[0] > 0
    assert booster.feature_importance("permutation", dataset=train)[0] > 0
    parts = booster.explain(frame)
    assert np.allclose(parts.sum(1), booster.predict(frame), rtol=0, atol=1e-12)


def test_other_formats_hold_them_or_say_why_not(tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    X, y, qid = _raw()
    X = X.drop(columns="town")
    booster = _trained(rr.Dataset(X, y, qid=qid, categorical=["shop"]))
    booster.export("lightgbm", tmp_path / "m.txt")
    scores = lgb.Booster(model_file=str(tmp_path / "m.txt")).predict(X.to_numpy(np.float64))
    assert np.allclose(scores, booster.predict(X), atol=1e-12)
    theirs = lgb.Booster(model_file=str(tmp_path / "m.txt"))
    parts = theirs.predict(X.to_numpy(np.float64), pred_contrib=True)
    assert np.allclose(parts, booster.explain(X), atol=1e-9)
    again = rr.Booster.load(tmp_path / "m.txt")
    assert np.array_equal(again.predict(X), booster.predict(X))
    with pytest.raises(rr.ParamError, match="cannot hold sets of categories"):
        booster.export("xgboost")


def test_refitting_and_adding_keep_categories(train: rr.Dataset, frame: Any) -> None:
    booster = _trained(train)
    assert np.array_equal(booster.refit(train, decay=1.0).predict(frame), booster.predict(frame))
    other = _trained(train, seed=3, features_per_node=0.5)
    both = rr.Booster.combine([booster, other]) if hasattr(rr.Booster, "combine") else None
    if both is not None:
        assert both.predict(frame).shape == (len(frame),)


def test_a_base_with_other_numbers_is_refused(train: rr.Dataset) -> None:
    X, y, qid = _raw()
    few = X.assign(town=np.where(X["town"] == "Oslo", "Rome", X["town"]))
    other = rr.Dataset(few, y, qid=qid, categorical=["town", "shop"])
    with pytest.raises(rr.DataError, match="cannot score binned docs"):
        _trained(other, base=_trained(train))


def test_estimators_take_categories() -> None:
    X, y, qid = _raw()
    ranker = rr.LambdaMART(n_estimators=ROUNDS, categorical=["town", "shop"], category_smooth=5.0)
    ranker.fit(X, y, qid=qid)
    assert ranker.booster_.params["category_smooth"] == "5"
    assert np.array_equal(ranker.predict(X), ranker.booster_.predict(X))


def test_options_of_categories_change_trees(train: rr.Dataset) -> None:
    plain = _trained(train)
    assert not {"category_smooth", "max_categories"} & set(plain.params)
    for options in (
        {"category_smooth": 0.0},
        {"max_categories": 1},
        {"min_category_docs": 60},
        {"category_one_by_one": 50},
    ):
        assert _trained(train, **options).dump()["trees"] != plain.dump()["trees"]


@pytest.mark.parametrize(
    ("change", "categorical", "said"),
    [
        ({}, None, "column 'town': got text, expected numbers; categories are declared"),
        ({}, ["town", "prise"], "categorical: there is no feature 'prise'"),
        ({}, "town", "categorical: got 'town', expected a list of features"),
        ({}, ["town", 9], "categorical: a feature: got 9"),
        ({}, ["town", "price"], "column 'price' holds categories: got"),
        ({"town": [1, "a"] * 360}, ["town"], "among categories, expected texts alone"),
        ({"shop": -4}, ["town", "shop"], "got -4.0 in row 0, expected whole numbers from 0"),
    ],
)
def test_what_makes_no_sense_is_refused(change: Any, categorical: Any, said: str) -> None:
    X, y, qid = _raw()
    with pytest.raises((rr.RustrankError, TypeError)) as caught:
        rr.Dataset(X.assign(**change), y, qid=qid, categorical=categorical)
    assert said in str(caught.value)


def test_later_tables_must_hold_the_same_kind(train: rr.Dataset, frame: Any) -> None:
    booster = _trained(train)
    for change in ({"town": 3}, {"shop": "a"}, {"price": "cheap"}):
        with pytest.raises(TypeError, match="expected"):
            booster.predict(frame.assign(**change))
        with pytest.raises(TypeError, match="expected"):
            rr.Dataset(frame.assign(**change), np.zeros(len(frame)), group=[len(frame)], like=train)
    with pytest.raises(rr.ParamError, match="the bins are those of `like`"):
        rr.Dataset(
            frame, np.zeros(len(frame)), group=[len(frame)], like=train, categorical=["town"]
        )
    with pytest.raises(TypeError, match="expected the texts"):
        booster.predict(np.zeros((3, 4)))
    with pytest.raises(rr.ParamError, match="whose categories have no order"):
        _trained(train, monotone={"shop": 1})
    with pytest.raises(rr.DataError, match="trees of classes cannot ask for categories"):
        _trained(train, objective="mcrank")


def test_batches_and_text_hold_numbers(tmp_path: Path) -> None:
    X, y, qid = _raw()
    numbers = X[["shop", "price", "stars"]]
    whole = rr.Dataset(numbers, y, qid=qid, categorical=["shop"])

    def batches() -> Any:
        for at in range(0, len(y), 200):
            some = slice(at, at + 200)
            yield {"X": numbers.iloc[some], "y": y[some], "qid": qid[some]}

    made = rr.Dataset.from_batches(batches, categorical=[0])
    assert made.fingerprint == whole.fingerprint
    lines = [
        f"{label} qid:{query} " + " ".join(f"{at + 1}:{x}" for at, x in enumerate(row))
        for label, query, row in zip(y, qid, numbers.to_numpy().tolist(), strict=True)
    ]
    path = tmp_path / "t.txt"
    path.write_text("\n".join(lines) + "\n")
    assert rr.Dataset.from_letor(path, categorical=[0]).fingerprint == whole.fingerprint
    with pytest.raises(rr.ParamError, match="the bins are those of `like`"):
        rr.Dataset.from_letor(path, like=whole, categorical=[0])
    texts = rr.Dataset(X, y, qid=qid, categorical=["town", "shop"])
    later = rr.Dataset.from_batches([{"X": X, "y": y, "qid": qid}], like=texts)
    assert later.fingerprint == texts.fingerprint
    with pytest.raises(rr.ParamError, match="like: it has texts"):
        rr.Dataset.from_letor(path, like=texts)


def test_values_of_the_wrong_kind_are_errors_of_ours() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": np.arange(40.0), "brand": ["x", "y"] * 20})
    qid = np.repeat(np.arange(4), 10)
    data = rr.Dataset(frame, np.arange(40) % 3, qid=qid, categorical=["brand"])
    booster = rr.train(data, num_trees=1, min_leaf_docs=1)
    for call in (booster.predict, booster.explain, booster.rank):
        with pytest.raises(rr.ParamError, match="column 'brand': got numbers, expected the texts"):
            call(frame.assign(brand=7), qid=qid)
    for X in (10, "file.csv", [[[1.0]]], frame["size"], [[1, 2], [3]]):
        with pytest.raises(rr.ParamError, match=r"^X"):
            booster.predict(X)
