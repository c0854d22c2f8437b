"""Training for several metrics at once: weights, guards, further labels and the Pareto front."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

DATA = Path(__file__).parents[3] / "shared" / "data"
RANDOM = np.random.default_rng(5)


def made(num_queries: int, seed: int, like: Any = None, **more: Any) -> rr.Dataset:
    data = rr.datasets.make_polynomial(num_queries=num_queries, seed=seed)
    revenue = np.floor(np.abs(data.X[:, 1]) * 40)
    return rr.Dataset(
        data.X, data.y, qid=data.qid, extra_labels={"revenue": revenue}, like=like, **more
    )


TRAIN = made(120, 1)
VALID = made(60, 2, TRAIN)


def base() -> rr.Booster:
    return rr.train(TRAIN, num_trees=40, num_leaves=15)


def values(booster: rr.Booster, dataset: rr.Dataset) -> tuple[float, float]:
    found = booster.evaluate(dataset, ["ndcg@10", "revenue@10"])
    return float(found["ndcg@10"]), float(found["revenue@10"])


def test_one_metric_with_a_weight_is_the_plain_training() -> None:
    plain = rr.train(TRAIN, num_trees=15, metric="ndcg@10")
    weighted = rr.train(TRAIN, num_trees=15, metric={"ndcg@10": 1})
    assert plain.dump()["trees"] == weighted.dump()["trees"]


def test_labels_that_no_metric_uses_change_nothing() -> None:
    """Neither they nor their unit seed the random numbers of training; copies of a document may differ by them."""
    data = rr.datasets.make_polynomial(num_queries=60, seed=1)
    rows = np.repeat(np.arange(len(data.y)), 2)
    X, y, qid = data.X[rows], data.y[rows], data.qid[rows]
    cents = RANDOM.integers(0, 9000, len(rows)).astype(np.float32)
    options: dict[str, Any] = {
        "num_trees": 10,
        "queries_per_tree": 0.7,
        "features_per_node": 0.6,
        "docs_per_tree": 0.8,
    }

    def model(extra: Any, order: Any = slice(None)) -> rr.Booster:
        given = None if extra is None else {"money": extra[order]}
        data = rr.Dataset(X[order], y[order], qid=qid[order], extra_labels=given)
        return rr.train(data, random_strength=1.0, **options)

    plain = model(None)
    for extra in (cents, cents / 100):
        for order in (slice(None), np.random.default_rng(2).permutation(len(rows))):
            assert model(extra, order).dump()["trees"] == plain.dump()["trees"]
    sets = [rr.Dataset(X, y, qid=qid, extra_labels={"money": one}) for one in (cents, cents[::-1])]
    assert sets[0].fingerprint != sets[1].fingerprint


def test_the_weight_moves_training_from_one_metric_to_the_other() -> None:
    found = [
        values(rr.train(TRAIN, num_trees=40, metric={"ndcg@10": 1 - w, "revenue@10": w}), TRAIN)
        for w in (0, 0.3, 1)
    ]
    assert found[0][0] > found[1][0] > found[2][0]
    assert found[0][1] < found[1][1] < found[2][1]


def test_the_history_has_the_weighted_sum_and_early_stopping_looks_at_it() -> None:
    weights = {"ndcg@10": 1, "revenue@10": 0.5}
    booster = rr.train(TRAIN, valid=VALID, num_trees=60, metric=weights, early_stopping=5)
    history = booster.all_rounds.history["valid"]
    assert list(history) == ["ndcg@10", "revenue@10", "weighted"]
    expected = history["ndcg@10"] + 0.5 * history["revenue@10"]
    assert np.allclose(history["weighted"], expected, rtol=0, atol=1e-15)
    assert booster.best_round == 1 + int(np.argmax(history["weighted"]))
    named = rr.EarlyStopping(5, metric="ndcg@10")
    other = rr.train(TRAIN, valid=VALID, num_trees=60, metric=weights, early_stopping=named)
    assert other.best_round == 1 + int(np.argmax(other.all_rounds.history["valid"]["ndcg@10"]))


def test_metrics_of_further_labels_are_those_of_arrays() -> None:
    booster = base()
    names = ["ndcg@10", "revenue@10", "revenue", "revenue:err@5"]
    found = booster.evaluate(VALID, names)
    data = rr.datasets.make_polynomial(num_queries=60, seed=2)
    revenue, scores = VALID.extra_labels["revenue"], booster.predict(data.X)
    assert list(found) == names
    linear = rr.evaluate(
        scores, revenue, qid=data.qid, metrics=["ndcg@10", "ndcg", "err@5"], gain="linear"
    )
    assert [found[name] for name in names[1:]] == [linear[name] for name in linear]
    assert found["ndcg@10"] == rr.evaluate(scores, data.y, qid=data.qid)["ndcg@10"]
    trained = rr.train(TRAIN, valid=VALID, num_trees=3, metric=names[:2])
    assert trained.history["valid"]["revenue@10"][-1] == pytest.approx(
        float(trained.evaluate(VALID, ["revenue@10"])["revenue@10"]), abs=1e-15
    )


@pytest.mark.parametrize("fall", [0.0, 0.01, 0.05])
def test_a_guard_holds_on_all_sets_while_the_other_metric_rises(fall: float) -> None:
    start = base()
    booster = rr.train(
        TRAIN,
        valid=VALID,
        base=start,
        num_trees=60,
        metric={"revenue@10": 1},
        guard={"ndcg@10": fall},
    )
    for dataset in (TRAIN, VALID):
        before, after = values(start, dataset), values(booster, dataset)
        assert after[0] >= before[0] - fall - 1e-12
        assert after[1] > before[1] + 0.01
    history = booster.all_rounds.history
    assert list(history) == ["valid", "train"]
    broken = np.isnan(history["valid"]["weighted"])
    low = np.zeros(60, bool)
    for name, dataset in (("valid", VALID), ("train", TRAIN)):
        low |= history[name]["ndcg@10"] < values(start, dataset)[0] - fall
        assert (np.isnan(history[name]["weighted"]) == broken).all()
    assert (low == broken).all()


def test_the_best_round_is_that_of_the_first_set_that_is_not_the_training_set() -> None:
    start = base()
    options: dict[str, Any] = {"metric": {"revenue@10": 1}, "guard": {"ndcg@10": 0.05}}
    sets = {"train": TRAIN, "valid": VALID}
    booster = rr.train(TRAIN, valid=sets, base=start, num_trees=40, **options)
    values = booster.all_rounds.history["valid"]["weighted"]
    assert booster.best_round == start.num_rounds + 1 + int(np.nanargmax(values))


def test_without_a_round_that_holds_the_booster_is_the_base() -> None:
    start = base()
    with pytest.warns(UserWarning, match="no round kept ndcg@10 from falling further"):
        booster = rr.train(
            TRAIN,
            base=start,
            num_trees=2,
            learning_rate=10,
            metric={"revenue@10": 1},
            guard={"ndcg@10": 0},
        )
    assert booster.num_trees == start.num_trees
    assert booster.all_rounds.num_trees == start.num_trees + 2
    assert (booster.predict(TRAIN) == start.predict(TRAIN)).all()


def test_a_plain_metric_may_have_a_guard() -> None:
    start = base()
    booster = rr.train(TRAIN, base=start, num_trees=20, metric="map", guard={"ndcg@5": 0.01})
    assert list(booster.all_rounds.history["train"]) == ["map", "ndcg@5", "weighted"]
    found, before = (one.evaluate(TRAIN, ["ndcg@5", "map"]) for one in (booster, start))
    assert found["ndcg@5"] >= before["ndcg@5"] - 0.01
    assert found["map"] > before["map"]


def test_a_checkpoint_goes_on_with_the_same_weights(tmp_path: Path) -> None:
    start, file = base(), tmp_path / "half.rrk"
    options: dict[str, Any] = {
        "metric": {"revenue@10": 1},
        "guard": {"ndcg@10": 0.01},
        "base": start,
        "valid": VALID,
    }
    whole = rr.train(TRAIN, num_trees=30, **options)

    def stop(latest: rr.Round) -> bool:
        return latest.number == start.num_rounds + 11

    rr.train(TRAIN, num_trees=30, checkpoint=file, callbacks=stop, **options)
    again = rr.train(TRAIN, num_trees=30, checkpoint=file, resume=True, **options)
    assert again == whole
    with pytest.raises(rr.DataError, match="another objective_metric"):
        rr.train(
            TRAIN,
            num_trees=30,
            checkpoint=file,
            resume=True,
            **options | {"guard": {"ndcg@10": 0.02}},
        )


def test_columns_of_a_frame_are_further_labels() -> None:
    pandas = pytest.importorskip("pandas")
    data = rr.datasets.make_polynomial(num_queries=10, seed=3)
    frame = pandas.DataFrame(data.X).rename(columns=str)
    frame["relevance"], frame["query"], frame["money"] = data.y, data.qid, data.X[:, 0] + 5
    for given in ("money", ["money"], {"money": "money"}, {"money": frame["money"]}):
        table = (
            frame
            if not isinstance(given, dict) or isinstance(given["money"], str)
            else frame.drop(columns="money")
        )
        made = rr.Dataset(table, "relevance", qid="query", extra_labels=given)
        assert made.num_features == data.X.shape[1]
        assert list(made.extra_labels) == ["money"]
        assert np.allclose(made.extra_labels["money"], frame["money"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": {}}, "metrics with weights"),
        ({"metric": {"ndcg@10": 0}}, "all weights are 0"),
        ({"metric": {"ndcg@10": -1}}, r"metric\['ndcg@10'\]: got -1, expected a weight, a finite"),
        ({"guard": {"ndcg@10": -0.01}}, r"guard\['ndcg@10'\]: got -0.01, expected how far"),
        ({"metric": {"revenu@10": 1}}, "did you mean revenue, of the extra labels"),
        ({"metric": {"revenu:err@10": 1}}, "did you mean revenue, of the extra labels"),
        ({"metric": {"ndcg@10": "much"}}, r"metric\['ndcg@10'\]"),
        ({"metric": {min: 1}}, "only metrics of ours can be weighed"),
        ({"metric": {"profit@10": 1}}, "unknown metric `profit`.*extra_labels"),
        ({"metric": {"ndcg@10": 1}, "objective": "ranknet"}, "lambdamart"),
        ({"metric": {"ndcg@10": 1}, "objective_metric": "map"}, "leave it out"),
        ({"metric": {"ndcg@10": 1}, "objective": max}, "lambdamart"),
        ({"guard": {"ndcg@10": 0.1}}, "guard: there is no base"),
        ({"guard": "ndcg@10"}, "how far each may fall"),
    ],
)
def test_what_means_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((rr.RustrankError, TypeError, ValueError), match=message):
        rr.train(TRAIN, num_trees=2, **options)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"a b": [1.0]}, "a name without spaces"),
        ({"ndcg": [1.0]}, "another name: this is a metric"),
        ({"revenue": [1.0]}, "revenue has the wrong length"),
        ({"revenue": [-1.0] * 4}, r"revenue\[0\].*negative"),
        ({"revenue": [0.0, 1.0, float("nan"), 0.0]}, r"revenue\[2\].*NaN"),
        ({"revenue": [0.0, 1.0, 1e9, 0.0]}, r"revenue\[2\].*large"),
        (3, "a mapping from names to labels"),
    ],
)
def test_further_labels_are_checked(extra: Any, message: str) -> None:
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises((rr.RustrankError, TypeError, ValueError), match=message):
        rr.Dataset(X, y, group=[4], extra_labels=extra)


def test_estimators_train_for_several_metrics() -> None:
    pandas = pytest.importorskip("pandas")
    data = rr.datasets.make_polynomial(num_queries=60, seed=4)
    frame = pandas.DataFrame(data.X).rename(columns=str)
    revenue = np.floor(np.abs(data.X[:, 1]) * 40)
    ranker = rr.LambdaMART(n_estimators=10, metric={"revenue@10": 1, "ndcg@10": 0.5})
    dataset = rr.Dataset(data.X, data.y, qid=data.qid, extra_labels={"revenue": revenue})
    expected = rr.train(dataset, num_trees=10, metric=ranker.metric).predict(data.X)
    ranker.fit(data.X, data.y, qid=data.qid, extra_labels={"revenue": revenue})
    assert (ranker.predict(data.X) == expected).all()
    # The score is that of the first metric of y.
    assert (
        ranker.score(data.X, data.y, qid=data.qid)
        == rr.evaluate(expected, data.y, qid=data.qid)["ndcg@10"]
    )
    # A column by name is no feature, in fit and after.
    table = frame.assign(revenue=revenue)
    again = rr.LambdaMART(n_estimators=10, metric=ranker.metric)
    valid = {"X": table, "y": data.y, "qid": data.qid, "extra_labels": "revenue"}
    again.fit(table, data.y, qid=data.qid, extra_labels="revenue", eval_set=[valid])
    assert (again.predict(table) == expected).all()
    assert (again.predict(frame) == expected).all()
    assert list(again.history_["valid"]) == ["revenue@10", "ndcg@10", "weighted"]
    guarded = rr.LambdaMART(n_estimators=5, metric={"revenue@10": 1}, guard={"ndcg@10": 0.01})
    guarded.fit(
        data.X, data.y, qid=data.qid, extra_labels={"revenue": revenue}, base=again.booster_
    )
    found = rr.evaluate(guarded.predict(data.X), data.y, qid=data.qid)["ndcg@10"]
    assert found >= rr.evaluate(expected, data.y, qid=data.qid)["ndcg@10"] - 0.01
    # Early stopping holds out queries with their labels.
    stopped = rr.LambdaMART(n_estimators=30, metric=ranker.metric, early_stopping=3)
    stopped.fit(data.X, data.y, qid=data.qid, extra_labels={"revenue": revenue})
    assert "weighted" in stopped.history_["valid"]


def test_a_validation_set_without_the_labels_is_refused() -> None:
    data = rr.datasets.make_polynomial(num_queries=10, seed=3)
    without = rr.Dataset(data.X, data.y, qid=data.qid, like=TRAIN)
    with pytest.raises(rr.DataError, match="no labels called revenue"):
        rr.train(TRAIN, valid=without, num_trees=2, metric={"revenue@10": 1})


def test_the_front_has_the_points_that_no_other_is_better_than() -> None:
    front = rr.pareto_front(
        TRAIN, ["ndcg@10", "revenue@10"], valid=VALID, shares=[1, 0, 0.3, 0.3], num_trees=20
    )
    assert [point.share for point in front.points] == [0, 0.3, 1]
    for point in front.points:
        assert tuple(point.values.values()) == values(point.booster, VALID)
        worse = [
            other
            for other in front.points
            if all(other.values[name] >= point.values[name] for name in front.metrics)
            and any(other.values[name] > point.values[name] for name in front.metrics)
        ]
        assert point.is_best == (not worse)
    low = front.front[0]
    assert low.values["revenue@10"] == min(point.values["revenue@10"] for point in front.front)
    middle = front.points[1].values["ndcg@10"]
    assert front.pick(**{"ndcg@10": middle}).values["ndcg@10"] >= middle
    with pytest.raises(rr.DataError, match="no point has ndcg@10"):
        front.pick(**{"ndcg@10": 1.0})
    with pytest.raises(rr.ParamError, match="the least value of"):
        front.pick(map=0.5)
    assert "on the front" in repr(front)
    frame = pytest.importorskip("pandas") and front.to_pandas()
    assert list(frame["share"]) == [0, 0.3, 1]
    pytest.importorskip("matplotlib").use("Agg")
    axes = front.plot()
    assert "revenue@10" in axes.get_ylabel()
    line = axes.lines[0].get_xydata()
    assert np.allclose(line, [list(point.values.values()) for point in front.front])


def test_a_front_refuses_what_it_sets_itself() -> None:
    with pytest.raises(rr.ParamError, match="metric: got"):
        rr.pareto_front(TRAIN, ["ndcg", "revenue"], metric="map")
    with pytest.raises(rr.ParamError, match="two metrics"):
        rr.pareto_front(TRAIN, ["ndcg"])
    with pytest.raises(rr.ParamError, match="from 0 to 1"):
        rr.pareto_front(TRAIN, ["ndcg", "revenue"], shares=[2])


@pytest.mark.parametrize(("name", "feature"), [("MSLR-mini", 133), ("MQ2007-85pct", 40)])
def test_a_guard_on_real_data_holds_on_test_documents_within_its_interval(
    name: str, feature: int
) -> None:
    """A feature is the second label, and no feature any more."""
    if not (DATA / name).is_dir():
        pytest.skip("the real data are not here")
    parts = [rr.datasets.read_letor(file) for file in sorted((DATA / name).iterdir())]
    fall = 0.01
    sets: list[rr.Dataset] = []
    for numbers in ((0, 1, 2), (3,), (4,)):
        X = np.concatenate([parts[at].X for at in numbers])
        y = np.concatenate([parts[at].y for at in numbers])
        qid = np.concatenate([[f"{at}:{one}" for one in parts[at].qid] for at in numbers])
        clicks = np.log1p(X[:, feature] - min(0, X[:, feature].min()))
        more = {"like": sets[0]} if sets else {"query_ranks": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            extra = {"clicks": clicks}
            sets.append(
                rr.Dataset(np.delete(X, feature, 1), y, qid=qid, extra_labels=extra, **more)
            )
    train, valid, test = sets
    options: dict[str, Any] = {"preset": "noisy", "num_leaves": 16, "learning_rate": 0.05}
    start = rr.train(train, valid=valid, num_trees=200, early_stopping=40, **options)
    booster = rr.train(
        train,
        valid=valid,
        base=start,
        num_trees=100,
        metric={"clicks@10": 1},
        guard={"ndcg@10": fall},
        **options,
    )
    names = ["ndcg@10", "clicks@10"]
    for dataset in (train, valid):
        before, after = start.evaluate(dataset, names), booster.evaluate(dataset, names)
        assert after["ndcg@10"] >= before["ndcg@10"] - fall - 1e-12
    before, after = start.evaluate(test, names), booster.evaluate(test, names)
    difference = after["ndcg@10"].per_query - before["ndcg@10"].per_query
    difference = difference[~np.isnan(difference)]
    half = 1.96 * difference.std() / len(difference) ** 0.5
    assert difference.mean() + half >= -fall
    assert after["clicks@10"] > before["clicks@10"] + 0.02


def test_rankers_are_judged_by_further_labels_of_a_data_set() -> None:
    names = ["ndcg@10", "revenue@10", "revenue:err@5"]
    one, two = (rr.train(TRAIN, num_trees=trees) for trees in (3, 12))
    found = rr.evaluate(one, VALID, metrics=names)
    assert found.to_dict() == one.evaluate(VALID, names).to_dict()
    compared = rr.compare(one, two, VALID, metrics=names)
    assert list(compared) == names
    assert float(compared["revenue@10"].b) == float(two.evaluate(VALID, names)["revenue@10"])
    scores = one.predict(VALID)
    assert rr.evaluate(scores, VALID, metrics=names).to_dict() == found.to_dict()


def test_a_metric_that_is_a_column_says_how_its_values_are_labels() -> None:
    data = rr.datasets.make_polynomial(num_queries=20, seed=0)
    frame = pd.DataFrame(data.X[:, :3], columns=list("abc"))
    frame = frame.assign(label=data.y, query=data.qid, revenue=np.abs(data.X[:, 1]))
    said = r"""unknown metric `revenue.* pass y='revenue', gain="linear", metrics='err@5', or a Dataset"""
    for function in (rr.evaluate, lambda a, *docs, **more: rr.compare(a, "b", *docs, **more)):
        with pytest.raises(rr.ParamError, match=said):
            function("a", frame, y="label", qid="query", metrics="revenue:err@5")
    found = rr.evaluate("a", frame, y="revenue", qid="query", metrics="err@5", gain="linear")
    assert found["err@5"] > 0
    with pytest.raises(rr.ParamError, match=r"unknown metric `profit`: expected one of [^;]*$"):
        rr.evaluate("a", frame, y="label", qid="query", metrics="profit@5")


def _priced() -> tuple[Any, Any]:
    """Return a frame with labels, queries and prices, and the data set of it."""
    pandas = pytest.importorskip("pandas")
    data = rr.datasets.make_polynomial(num_queries=30, seed=3)
    frame = pandas.DataFrame(data.X[:, :6], columns=list("abcdef"))
    frame["relevance"], frame["query"] = data.y, data.qid
    frame["money"] = np.floor(np.abs(data.X[:, 1]) * 40)
    made = rr.Dataset(frame, "relevance", qid="query", extra_labels={"revenue": "money"})
    return frame, made


@pytest.mark.parametrize(
    ("given", "name"), [("money", "money"), (["money"], "money"), ({"revenue": "money"}, "revenue")]
)
def test_columns_of_batches_and_files_are_further_labels(
    given: Any, name: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    frame, expected = _priced()
    frame.to_parquet(tmp_path / "docs.parquet", index=False)
    columns: dict[str, Any] = {"label": "relevance", "qid": "query", "extra_labels": given}
    X = frame.drop(columns=["relevance", "query"])
    parts = [
        (X[rows], frame["relevance"][rows], frame["query"][rows])
        for rows in (slice(0, 100), slice(100, None))
    ]
    for made in (
        rr.Dataset.from_parquet(tmp_path / "docs.parquet", batch_rows=70, **columns),
        rr.Dataset.from_parquet(tmp_path / "docs.parquet", features=list("abcdef"), **columns),
        rr.Dataset.from_batches(parts, extra_labels=given),
        rr.Dataset.from_batches(parts, extra_labels=given, like=expected),
    ):
        assert made.feature_names == list("abcdef")
        assert list(made.extra_labels) == [name]
        assert np.array_equal(made.extra_labels[name], frame["money"])
    weighted = {"ndcg@10": 1, f"{name}@10": 0.2}
    assert rr.train(made, num_trees=2, metric=weighted).num_trees == 2


def test_further_labels_of_batches_are_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame, _ = _priced()
    frame.to_parquet(tmp_path / "docs.parquet", index=False)
    roles: dict[str, Any] = {"label": "relevance", "qid": "query"}

    def read(**more: Any) -> rr.Dataset:
        return rr.Dataset.from_parquet(tmp_path / "docs.parquet", **roles, **more)

    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"extra_labels": {"money": frame["money"]}},
            r"extra_labels\['money'\]: got .* name of a col",
        ),
        ({"extra_labels": "price"}, "column 'price' is not there"),
        ({"extra_labels": "query"}, r"column 'query' is both qid and extra label"),
        (
            {"extra_labels": "money", "features": ["a", "money"]},
            "is the extra label, and cannot be",
        ),
    ]
    for more, message in cases:
        with pytest.raises((rr.RustrankError, TypeError), match=message):
            read(**more)
    table = (frame[["a"]], frame["relevance"], frame["query"])
    with pytest.raises(rr.DataError, match=r"extra_labels\['price'\]: X has no column 'price'"):
        rr.Dataset.from_batches([table], extra_labels="price")


def test_validation_frames_have_the_labels_of_the_training_set() -> None:
    frame, _ = _priced()
    frame = frame.rename(columns={"money": "revenue"})
    names: dict[str, Any] = {"y": "relevance", "qid": "query"}
    how: dict[str, Any] = {"num_trees": 3, "metric": {"ndcg@10": 1, "revenue@10": 0.2}}
    train = rr.Dataset(frame, "relevance", qid="query", extra_labels="revenue")
    made = rr.Dataset(frame, "relevance", qid="query", extra_labels="revenue", like=train)
    expected = rr.train(train, valid=made, **how)
    assert str(rr.train(train, valid=frame, **names, **how).history) == str(expected.history)
    # A feature of the training set is no label: the error names the set.
    own = {"revenue": frame["revenue"].to_numpy()}
    with_feature = rr.Dataset(frame, "relevance", qid="query", extra_labels=own)
    bare = frame.drop(columns="revenue")
    for data, valid, name in [
        (with_feature, frame, "valid"),
        (train, bare, "valid"),
        (train, {"a": frame, "b": bare}, r"valid\['b'\]"),
        (train, [made, bare], r"valid\[1\]"),
    ]:
        with pytest.raises(rr.DataError, match=rf"^{name}: the dataset has no labels called reven"):
            rr.train(data, valid=valid, **names, **how)


def test_the_report_of_a_further_label_is_one_of_its_own() -> None:
    frame, _ = _priced()
    frame = frame.rename(columns={"money": "revenue"})
    data = rr.Dataset(frame, "relevance", qid="query", extra_labels="revenue")
    rankers = {"model": rr.train(data, num_trees=2)}
    alone = r"unknown metric `revenue(:err)?`.* a report has the label y alone: for a report of revenue, pass "
    way = (
        rf"{alone}the raw rows instead of the Dataset, with y='revenue' or its .* metrics='ndcg@10'"
    )
    with pytest.raises(rr.ParamError, match=way):
        rr.report(rankers, data, metrics=["ndcg@10", "revenue@10"])
    docs: dict[str, Any] = {"docs": frame, "qid": "query"}
    with pytest.raises(rr.ParamError, match=rf"{alone}y='revenue' or its .* metrics='err@5'"):
        rr.report(rankers, y="relevance", metrics="revenue:err@5", **docs)
    with pytest.raises(rr.ParamError, match="unknown metric") as caught:
        rr.report(rankers, y="relevance", metrics="ndgc@5", **docs)
    assert "alone" not in str(caught.value)
    made = rr.report(rankers, y="revenue", gain="linear", metrics="ndcg@10", resamples=10, **docs)
    expected = rankers["model"].evaluate(data, "revenue@10")["revenue@10"]
    assert float(made.evaluations["model"]["ndcg@10"]) == pytest.approx(expected)
