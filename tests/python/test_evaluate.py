import copy
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rustrank as rr
from rustrank import _rustrank

METRICS = [
    "ndcg@10",
    "ndcg",
    "dcg@3",
    "err@10",
    "map",
    "mrr",
    "precision@5",
    "recall@5",
    "pairwise",
]


@pytest.fixture(scope="module")
def web() -> tuple[Any, Any, Any]:
    """Scores with many ties, labels and query ids."""
    X, y, qid = data = rr.datasets.make_web(80, docs_per_query=30, seed=3)
    return np.round(X[:, data.feature_names.index("whole_bm25")], -1), y, qid


def test_values_by_hand() -> None:
    # Ranked 0.9, 0.4, 0.1: labels 1, 2, 0; gains 1, 3, 0; the ideal order is 2, 1, 0.
    metrics = ["ndcg", "ndcg@1", "dcg", "err", "map", "mrr", "precision@2", "recall@1", "pairwise"]
    found = rr.evaluate([0.1, 0.9, 0.4], [0, 1, 2], metrics=metrics)
    log3 = math.log2(3)
    wanted = [
        (1 + 3 / log3) / (3 + 1 / log3),
        1 / 3,
        1 + 3 / log3,
        1 / 4 + 3 / 4 * 3 / 4 / 2,
        1,
        1,
        1,
        1 / 2,
        2 / 3,
    ]
    assert list(found) == metrics
    assert [float(value) for value in found.values()] == pytest.approx(wanted, abs=1e-15)


def test_ties_follow_the_rule() -> None:
    def mrr(ties: str) -> float:
        return rr.evaluate([1, 1, 0], [0, 1, 0], metrics="mrr", ties=ties)["mrr"]

    assert (mrr("expected"), mrr("rows"), mrr("worst")) == (0.75, 0.5, 0.5)
    assert rr.evaluate([1, 1, 0], [1, 0, 0], metrics="mrr", ties="rows")["mrr"] == 1.0


def test_empty_queries_are_skipped_or_count() -> None:
    scores, labels, qid = [1, 2, 1, 2, 1], [0, 1, 0, 0, 1], [1, 1, 2, 2, 3]

    def evaluated(empty: str) -> rr.MetricValue:
        return rr.evaluate(scores, labels, qid=qid, metrics="ndcg@10", empty=empty)["ndcg@10"]

    skipped = evaluated("skip")
    assert (skipped, skipped.num_queries, skipped.num_skipped) == (1.0, 3, 1)
    np.testing.assert_array_equal(skipped.per_query, [1, math.nan, 1])
    assert (evaluated("zero"), evaluated("one")) == (2 / 3, 1.0)
    assert evaluated("zero").num_skipped == 0


def test_queries_of_one_label_can_be_left_out() -> None:
    scores, qid = [1, 2, 1, 2, 1, 2], [1, 1, 2, 2, 3, 3]
    labels = [1, 0, 2, 2, 0, 0]
    metrics = ["ndcg@10", "map", "err", "precision@1", "pairwise"]
    every = rr.evaluate(scores, labels, qid=qid, metrics=metrics)
    some = rr.evaluate(scores, labels, qid=qid, metrics=metrics, empty="skip-one-label")
    for name in metrics:
        expected = [every[name].per_query[0], math.nan, math.nan]
        np.testing.assert_array_equal(some[name].per_query, expected)
        assert (some[name], some[name].num_skipped) == (expected[0], 2)
    assert every["ndcg@10"].per_query[1] == 1.0
    two = [np.array([1.0, 0, 2, 1, 1, 2]), np.array([0.0, 1, 1, 1, 2, 2])]
    best = rr.Combiner("ndcg@10", empty="skip-one-label").fit(two, labels, qid=qid)
    assert best.value == 1.0


def test_a_range_of_cuts_is_the_mean_over_them() -> None:
    draw = np.random.default_rng(3)
    qid = np.repeat(np.arange(30), 12)
    scores, labels = draw.integers(0, 6, qid.size), draw.integers(0, 4, qid.size)
    for measure in ("ndcg", "dcg", "err", "map", "precision", "recall", "mrr", "pairwise"):
        cuts = [f"{measure}@{cut}" for cut in range(2, 16)]
        found = rr.evaluate(scores, labels, qid=qid, metrics=[f"{measure}@2..15", *cuts])
        mean = np.mean([found[cut].per_query for cut in cuts], axis=0)
        np.testing.assert_allclose(found[f"{measure}@2..15"].per_query, mean, rtol=1e-13)


@pytest.mark.parametrize("name", ["ndcg@5..5", "ndcg@5..2", "ndcg@0..3", "ndcg@1..", "ndcg@..3"])
def test_a_range_of_cuts_rises(name: str) -> None:
    with pytest.raises(rr.ParamError, match=r"are no range|is no rank"):
        rr.evaluate([1, 2], [0, 1], metrics=name)


def test_the_mean_is_weighted() -> None:
    scores, labels, qid = [1, 2, 2, 1], [0, 1, 0, 1], list("bbaa")
    for weight in ([3, 1], {"a": 1, "b": 3}, pd.Series([3, 1]), np.array([3, 1], ">f4")):
        value = rr.evaluate(scores, labels, qid=qid, metrics="mrr", query_weight=weight)["mrr"]
        assert value == pytest.approx((3 * 1 + 0.5) / 4)
        low, high = value.interval
        assert 0.5 <= low <= value <= high <= 1


def test_gains_are_named_or_given() -> None:
    def dcg(gain: Any) -> float:
        return rr.evaluate([2, 1], [2, 1], metrics="dcg@1", gain=gain)["dcg@1"]

    assert (dcg("exp2"), dcg("linear")) == (3, 2)
    assert dcg([0, 1, 7]) == dcg({0: 0, 1: 1, 2: 7}) == dcg(np.array([0, 1, 7])) == 7


def test_values_come_in_order_of_first_appearance(web: tuple[Any, Any, Any]) -> None:
    scores, y, qid = web
    names = np.array([f"query {one}" for one in qid])
    whole = rr.evaluate(scores, y, qid=names)["ndcg@10"]
    by_id = dict(zip(whole.query_ids, whole.per_query, strict=True))
    order = np.random.default_rng(1).permutation(len(y))
    for ids in (names[order], names[order].astype(object), pd.Categorical(names[order])):
        shuffled = rr.evaluate(scores[order], y[order], qid=ids)["ndcg@10"]
        first = list(dict.fromkeys(names[order]))
        assert list(shuffled.query_ids) == first
        np.testing.assert_array_equal(shuffled.per_query, [by_id[one] for one in first])


def test_neither_row_order_nor_threads_change_a_bit(web: tuple[Any, Any, Any]) -> None:
    scores, y, qid = web
    weight = dict(zip(np.unique(qid).tolist(), np.linspace(0, 1, 80), strict=True))
    rng = np.random.default_rng(0)
    wanted = None
    for threads in (1, 2, 5):
        order = rng.permutation(len(y)) if threads > 1 else np.arange(len(y))
        found = rr.evaluate(
            scores[order],
            y[order],
            qid=qid[order],
            metrics=METRICS,
            query_weight=weight,
            num_threads=threads,
        )
        bits = {name: (float(value), value.interval) for name, value in found.items()}
        values = {
            name: dict(zip(value.query_ids.tolist(), value.per_query.tolist(), strict=True))
            for name, value in found.items()
        }
        wanted = wanted or (bits, values)
        assert wanted[0] == bits
        for name in METRICS:
            for query, one in wanted[1][name].items():
                np.testing.assert_array_equal(values[name][query], one)


def test_groups_are_queries_in_row_order(web: tuple[Any, Any, Any]) -> None:
    scores, y, qid = web
    sizes = np.unique(qid, return_counts=True)[1]
    by_group = rr.evaluate(scores, y, group=sizes)["ndcg@10"]
    np.testing.assert_array_equal(
        by_group.per_query, rr.evaluate(scores, y, qid=qid)["ndcg@10"].per_query
    )
    assert list(by_group.query_ids) == list(range(80))


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.asarray,
        lambda v: np.array(v, np.float16),
        lambda v: np.array(v, ">i8"),
        lambda v: np.repeat(np.array(v), 2)[::2],
        lambda v: np.array(v).reshape(-1, 1),
        lambda v: np.array(v, object),
        pd.Series,
        lambda v: pd.Series(v, index=[3, 3, 1, 0], dtype="Int64"),
        lambda v: pd.DataFrame({"score": v}),
        pl.Series,
        pa.array,
        lambda v: pa.chunked_array([v[:1], v[1:]]),
    ],
)
def test_arrays_of_all_kinds(make: Callable[[list[int]], Any]) -> None:
    found = rr.evaluate(
        make([3, 1, 2, 5]), make([1, 0, 2, 0]), qid=make([7, 7, 9, 9]), metrics="mrr"
    )
    assert found["mrr"].per_query.tolist() == [1.0, 0.5]


def test_an_evaluation_is_a_mapping_of_floats(web: tuple[Any, Any, Any]) -> None:
    scores, y, qid = web
    found = rr.evaluate(scores, y, qid=qid, metrics=METRICS)
    assert isinstance(found, Mapping)
    assert (len(found), found.num_queries) == (len(METRICS), 80)
    value = found["map"]
    assert isinstance(value, float)
    assert f"{value:.3f}" == f"{float(value):.3f}"
    assert str(value) == str(float(value))
    assert "map" in repr(value)
    assert value + 0 == pytest.approx(np.nanmean(value.per_query))
    assert not value.per_query.flags.writeable
    low, high = value.interval
    assert low < value < high
    narrow = value.bootstrap(level=0.5)
    assert low < narrow[0] < narrow[1] < high
    assert value.bootstrap(seed=1) != value.interval == value.bootstrap(seed=0)
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):  # noqa: S301
        assert (other, other.interval, other.name) == (value, value.interval, "map")


def test_an_evaluation_shows_itself(web: tuple[Any, Any, Any]) -> None:
    scores, y, qid = web
    found = rr.evaluate(scores, y, qid=qid, metrics=["ndcg@10", "map"])
    lines = repr(found).splitlines()
    assert len({len(line) for line in lines}) == 1
    low, high = found["map"].interval
    assert lines[2].split() == [
        "map",
        f"{found['map']:.4f}",
        f"{low:.4f}",
        "to",
        f"{high:.4f}",
        "80",
        "0",
    ]
    assert found._repr_html_().count("<tr>") == 3
    plain = found.to_dict()
    assert plain["map"]["mean"] == found["map"]
    assert type(plain["map"]["mean"]) is float


def test_many_rows_without_queries_are_one_query_with_a_warning() -> None:
    scores, labels = np.arange(1000.0), np.arange(1000) % 3
    warned = pytest.warns(rr.errors.RustrankWarning, match="NO QUERIES ARE GIVEN: all 1,000 rows")
    with warned:
        assert rr.evaluate(scores, labels).num_queries == 1
    with warned:
        rr.compare(scores, -scores, labels)
    rr.evaluate(scores, labels, group=[1000])
    rr.compare(scores, -scores, labels, group=[1000])
    rr.evaluate(scores[1:], labels[1:])


def test_best_and_worst_queries() -> None:
    found = rr.evaluate([1, 2, 2, 1, 1], [0, 1, 0, 1, 0], qid=list("aabbc"), metrics="mrr")
    assert found.best(n=5) == [("a", 1.0), ("b", 0.5)]
    assert found.worst("mrr", 1) == [("b", 0.5)]


def test_large_evaluations_show_intervals_on_demand() -> None:
    num = 20_001
    labels = np.ones(2 * num)
    found = rr.evaluate(np.arange(2 * num), labels, group=np.full(num, 2), metrics="mrr")
    assert "see .interval" in repr(found)
    _ = found["mrr"].bootstrap(resamples=2)
    assert "see .interval" in repr(found)


def test_a_metric_that_is_not_there_is_a_key_error() -> None:
    found = rr.evaluate([1, 2], [0, 1], metrics=["ndcg@10", "map"])
    assert "mrr" not in found
    assert found.get("mrr") is None
    with pytest.raises(KeyError) as caught:
        found["ndgc@10"]
    assert isinstance(caught.value, rr.ParamError)
    assert str(caught.value) == "there is no 'ndgc@10' here: expected one of ndcg@10, map"


def test_a_mean_of_nothing_is_nan_and_says_why() -> None:
    with pytest.warns(
        rr.RustrankWarning, match=r"mean of ndcg@10, map is NaN: nothing can be found"
    ):
        found = rr.evaluate([1, 2, 3], [0, 0, 0], group=[1, 2], metrics=["ndcg@10", "map"])
    assert math.isnan(found["map"])
    assert found["map"].num_skipped == 2
    assert all(math.isnan(end) for end in found["map"].interval)
    assert "-" in repr(found)
    with pytest.warns(rr.RustrankWarning, match="have weight 0"):
        rr.evaluate([1, 2, 3], [0, 0, 1], group=[2, 1], query_weight=[1, 0])
    assert rr.evaluate([1, 2], [0, 0], empty="zero")["ndcg@10"] == 0.0


def test_warnings_point_at_the_caller() -> None:
    with pytest.warns(rr.RustrankWarning) as caught:
        rr.evaluate([1], [0])
    assert caught[0].filename == __file__


#: The data rows of the fault matrix: labels, other arguments, code, row, part of the message.
FAULTS: list[tuple[Any, dict[str, Any], str, int | None, str]] = [
    ([0, 1, 0, math.nan], {"qid": [1, 2, 1, 2]}, "label.nan", 3, "label[3] is NaN (query 2)"),
    ([0, math.inf, 0, 0], {}, "label.infinite", 1, "label[1] is infinite"),
    ([0, 1, -1, 0], {}, "label.negative", 2, "label[2] = -1"),
    ([0, 1, 0.5, 0], {}, "label.fraction", 2, 'gain="linear"'),
    ([0, 1, 40, 0], {}, "label.large", 2, "31 levels"),
    ([0, 1, 1e30, 0], {}, "label.large", 2, "label[2] = 1e30"),
    ([0, 1, 1e300, 0], {}, "label.large", 2, "label[2] = 3.4028235e38"),
    ([0, 1, 2, 0], {"gain": [0, 1]}, "label.large", 2, "longer gain table"),
    ([0, 1, 2, 0], {"metrics": "err", "max_label": 1}, "label.large", 2, "max_label"),
    ([0, 1, 0, 0], {"group": [1, 2]}, "group.sum", None, "groups cover 3 of 4 rows"),
    ([0, 1, 0, 0], {"group": [3, 2]}, "group.sum", None, "groups cover 5 of 4 rows"),
    ([0, 1, 0, 0], {"group": [4, 0]}, "group.size", None, "group[1] = 0"),
    ([0, 1, 0, 0], {"group": [5, -1]}, "group.size", None, "group[1] = -1"),
    ([0, 1, 0, 0], {"qid": [1, 1, 2]}, "length", None, "qid has the wrong length: got 3"),
    ([0, 1, 0, 0], {"qid": [1, None, 2, 2]}, "qid.missing", 1, "qid[1] is missing"),
    ([0, 1, 0, 0], {"qid": [1, 1, 2, 2], "group": [4]}, "query.both", None, "both are given"),
    ([0, 1, 0], {}, "length", None, "scores has the wrong length: got 4, expected 3"),
    ([0, 1, 0, 0], {"query_weight": [math.nan]}, "weight", None, "query_weight[0] = NaN"),
    ([0, 1, 0, 0], {"query_weight": [-1]}, "weight", None, "query_weight[0] = -1"),
    ([0, 1, 0, 0], {"query_weight": [0]}, "weight", None, "all of query_weight are 0"),
    ([0, 1, 0, 0], {"query_weight": [1, 1]}, "length", None, "got 2, expected 1"),
    ([0, 1, 0, 0], {"qid": list("aabb"), "query_weight": {"a": 1}}, "weight", None, "query 'b'"),
]


@pytest.mark.parametrize(("labels", "arguments", "code", "row", "part"), FAULTS)
def test_bad_data_are_named(
    labels: Any, arguments: dict[str, Any], code: str, row: int | None, part: str
) -> None:
    with pytest.raises(rr.DataError) as caught:
        rr.evaluate([1, 2, 3, 4], labels, **arguments)
    assert (caught.value.code, caught.value.row) == (code, row)
    assert part in str(caught.value)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrays_of_the_caller_stay_as_they_are(kind: Any) -> None:
    labels, scores = np.arange(3).astype(kind), np.arange(3).astype(kind)
    for array in (labels, scores):
        array.setflags(write=False)
    assert rr.evaluate(scores, labels)["ndcg@10"] == 1.0
    huge = np.array([0, 1e300])
    with pytest.raises(rr.DataError):
        rr.evaluate([1, 2], huge)
    assert huge[1] == 1e300


def test_bad_scores_are_named() -> None:
    with pytest.raises(rr.DataError, match=r"scores, row 3 \(query 5\): got nan") as caught:
        rr.evaluate([1, 2, 3, math.nan], [0, 1, 0, 1], qid=[5, 6, 6, 5])
    assert (caught.value.code, caught.value.row) == ("score.nan", 3)
    with pytest.raises(rr.DataError, match="the data have no rows"):
        rr.evaluate([], [])
    with pytest.raises(TypeError, match="scores: got text"):
        rr.evaluate(np.array(["1", "2"], object), [0, 1])
    with pytest.raises(TypeError, match="y has 2 dimensions"):
        rr.evaluate([1, 2], [[0, 1], [1, 0]])


def test_metrics_may_be_one_text_with_commas() -> None:
    scores, labels, group = [3.0, 2, 1, 0, 1, 2], [0, 1, 2, 0, 1, 1], [3, 3]
    listed = rr.evaluate(scores, labels, group=group, metrics=["ndcg@1", "map"])
    assert rr.evaluate(scores, labels, group=group, metrics="ndcg@1, map") == listed
    assert list(listed) == ["ndcg@1", "map"]
    with pytest.raises(rr.ParamError, match="got 2 metrics, expected one"):
        rr.Combiner("ndcg@1,map")
    data = rr.datasets.make_polynomial(30, seed=1)
    train = rr.Dataset(data.X, data.y, qid=data.qid)
    how: dict[str, Any] = {"valid": train, "num_trees": 2, "progress": False}
    one, other = (rr.train(train, metric=given, **how) for given in ("map,err@5", ["map", "err@5"]))
    assert one == other
    assert list(one.history["valid"]) == ["map", "err@5"]
    chosen = [
        rr.train(train, metric=given, num_trees=2, progress=False, preset="auto")
        for given in ("map,err@5", ["map", "err@5"])
    ]
    assert np.array_equal(chosen[0].predict(train), chosen[1].predict(train))
    ranker = rr.LambdaMART(n_estimators=2, metric="map,err@5").fit(data.X, data.y, qid=data.qid)
    expected = rr.evaluate(ranker, data.y, X=data.X, qid=data.qid, metrics="map")["map"]
    assert ranker.score(data.X, data.y, qid=data.qid) == expected


def test_unretrieved_docs_have_no_rank() -> None:
    found = rr.evaluate([-math.inf, 1, 0], [1, 0, 1], metrics=["mrr", "recall"])
    assert (found["mrr"], found["recall"]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ({"metrics": "ndgc@10"}, "metric.name", "did you mean ndcg?"),
        ({"metrics": ["map", "NDCG"]}, "metric.name", "did you mean ndcg?"),
        ({"metrics": "ndcg@0"}, "metric.cut", "whole number from 1"),
        ({"metrics": []}, "metric.name", "metrics is empty"),
        ({"ties": "row"}, "metric.ties", "did you mean rows?"),
        ({"empty": "nan"}, "metric.empty", "skip-one-label, zero, one"),
        ({"gain": "exp"}, "metric.gain", "exp2"),
        ({"gain": []}, "metric.gain", "empty"),
        ({"gain": [1, 0]}, "metric.gain", "gain[1]"),
        ({"gain": {0: 0, 2: 1}}, "metric.gain", "no value for label 1"),
        ({"relevant_from": math.nan}, "metric.relevant_from", "finite"),
        ({"max_label": 31}, "metric.max_label", "from 0 to 30"),
        ({"num_threads": 0}, "num_threads", "from 1"),
        ({"num_threads": -4}, "num_threads", "from 1"),
        ({"num_threads": 10**30}, "num_threads", "from 1"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], code: str, part: str) -> None:
    with pytest.raises(rr.ParamError) as caught:
        rr.evaluate([1, 2], [0, 1], **arguments)
    assert caught.value.code == code
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"metrics": [3]},
        {"ties": None},
        {"gain": len},
        {"relevant_from": "one"},
        {"num_threads": 1.5},
        {"top_k": 3},
    ],
)
def test_parameters_of_a_wrong_kind_are_type_errors(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        rr.evaluate([1, 2], [0, 1], **arguments)


def test_bad_bootstraps_are_named() -> None:
    value = rr.evaluate([1, 2], [0, 1])["ndcg@10"]
    for arguments, part in [
        ({"level": 1.0}, "between 0 and 1"),
        ({"level": math.nan}, "between 0 and 1"),
        ({"resamples": 0}, "from 1"),
        ({"resamples": 10**9}, "to 10000000"),
        ({"seed": -1}, "from 0"),
        ({"seed": 2**64}, "from 0"),
    ]:
        with pytest.raises(rr.ParamError, match=part):
            value.bootstrap(**arguments)  # type: ignore[arg-type]
    assert value.bootstrap(seed=2**64 - 1) == (1, 1)


def test_the_door_names_its_measures() -> None:
    assert _rustrank.measures()[:3] == ["ndcg", "dcg", "err"]
