import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rustrank as rr

#: Four queries of two docs each; b ranks three of them better, and one worse.
LABELS = [1, 0, 1, 0, 1, 0, 1, 0]
GROUP = [2, 2, 2, 2]
A = [0, 1, 0, 1, 0, 1, 1, 0]
B = [1, 0, 1, 0, 1, 0, 0, 1]


@pytest.fixture(scope="module")
def rankings() -> tuple[Any, Any, Any, Any]:
    X, y, qid = web = rr.datasets.make_web(60, docs_per_query=20, seed=1)
    bm25 = X[:, web.feature_names.index("whole_bm25")].astype(float)
    noise = np.random.default_rng(0).normal(size=len(bm25))
    return bm25, bm25 + 5 * noise, y, qid


def test_a_small_comparison_by_hand() -> None:
    found = rr.compare(A, B, LABELS, group=GROUP, metrics="mrr")["mrr"]
    assert (found.a, found.b, found.difference) == (0.625, 0.875, 0.25)
    assert (found.wins, found.ties, found.losses) == (3, 0, 1)
    assert found.per_query.tolist() == [0.5, 0.5, 0.5, -0.5]
    # Of 16 patterns of signs, 10 have a sum at least as far from 0.
    assert (found.p_randomisation, found.exact) == (10 / 16, True)
    assert found.p_t == pytest.approx(stats.ttest_1samp(found.per_query, 0).pvalue)
    assert found.interval[0] <= found.difference <= found.interval[1]
    assert not found.is_clear
    assert found.statement.startswith(
        "mrr: no clear difference between a and b: b minus a +0.2500 ["
    )


def test_tests_agree_with_scipy(rankings: tuple[Any, Any, Any, Any]) -> None:
    a, b, y, qid = rankings
    found = rr.compare(a, b, y, qid=qid, metrics=["ndcg@10", "err", "map"])
    for value in found.values():
        pair = value.b.per_query, value.a.per_query
        assert value.p_t == pytest.approx(
            stats.ttest_rel(*pair, nan_policy="omit").pvalue, rel=1e-9
        )
        drawn = stats.permutation_test(
            pair, lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=9999, rng=1
        )
        assert value.p_randomisation == pytest.approx(drawn.pvalue, abs=0.02)


def test_a_clear_winner_is_named(rankings: tuple[Any, Any, Any, Any]) -> None:
    a, _, y, qid = rankings
    for names, scores in [(("worst", "best"), (-y, y)), (("best", "worst"), (y, -y))]:
        found = rr.compare(*scores, y, qid=qid, names=names)["ndcg@10"]
        assert found.is_clear
        assert "ndcg@10: best is better than worst: " in found.statement
        assert "p<0.0001" in found.statement or "p=0.0001" in found.statement
    same = rr.compare(a, a, y, qid=qid)["ndcg@10"]
    assert (same.difference, same.interval, same.ties) == (0, (0, 0), 60)
    assert (same.p_t, same.p_randomisation, same.is_clear) == (1, 1, False)


def test_exchanging_the_rankings_changes_the_sign(rankings: tuple[Any, Any, Any, Any]) -> None:
    a, b, y, qid = rankings
    there, back = (rr.compare(*pair, y, qid=qid, metrics="map")["map"] for pair in [(a, b), (b, a)])
    assert there.difference == -back.difference
    assert there.interval == (-back.interval[1], -back.interval[0])
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert (there.p_t, there.p_randomisation) == (back.p_t, back.p_randomisation)


def test_neither_row_order_nor_threads_change_a_bit(rankings: tuple[Any, Any, Any, Any]) -> None:
    a, b, y, qid = rankings
    weight = {one: 1 + one % 3 for one in range(60)}
    rng = np.random.default_rng(2)
    results = []
    for threads in (1, 2, 3):
        order = rng.permutation(len(y)) if threads > 1 else np.arange(len(y))
        arrays = [array[order] for array in (a, b, y)]
        found = rr.compare(
            *arrays,
            qid=qid[order],
            metrics=["ndcg@10", "pairwise"],
            query_weight=weight,
            num_threads=threads,
        )
        results.append(found.to_dict())
    assert results[0] == results[1] == results[2]


def test_weights_count_in_the_mean_and_in_the_tests() -> None:
    arguments: dict[str, Any] = {"group": GROUP, "metrics": "mrr"}
    # A weight of 0 is as if the query were not there.
    without = rr.compare(A[:6], B[:6], LABELS[:6], group=GROUP[:3], metrics="mrr")["mrr"]
    found = rr.compare(A, B, LABELS, query_weight=[1, 1, 1, 0], **arguments)["mrr"]
    assert (found.difference, found.p_t, found.p_randomisation, found.interval) == (
        without.difference,
        without.p_t,
        without.p_randomisation,
        without.interval,
    )
    # The scale of weights is nothing.
    one, two = (
        rr.compare(A, B, LABELS, query_weight=[scale, 2 * scale, scale, scale], **arguments)["mrr"]
        for scale in (1, 64)
    )
    assert one.to_dict() == two.to_dict()
    assert one.difference == pytest.approx((0.5 + 1 + 0.5 - 0.5) / 5)


def test_a_comparison_shows_itself(rankings: tuple[Any, Any, Any, Any]) -> None:
    a, b, y, qid = rankings
    found = rr.compare(a, b, y, qid=qid, metrics=["ndcg@10", "map"], names=("BM25", "<noisy>"))
    assert isinstance(found, Mapping)
    assert list(found) == ["ndcg@10", "map"]
    text = repr(found)
    assert "BM25" in text
    assert text.splitlines()[-2:] == found.statements
    assert len({len(line) for line in text.splitlines()[:3]}) == 1
    assert "&lt;noisy&gt;" in found._repr_html_()
    assert "<noisy>" not in found._repr_html_()
    with pytest.raises(KeyError, match="there is no 'mrr' here"):
        found["mrr"]
    plain = found["map"].to_dict()
    assert plain["means"] == {"BM25": found["map"].a, "<noisy>": found["map"].b}


def test_no_query_that_counts_is_said() -> None:
    with pytest.warns(rr.RustrankWarning, match="is NaN"):
        found = rr.compare([1, 2], [2, 1], [0, 0])["ndcg@10"]
    assert math.isnan(found.difference)
    assert "nothing can be said" in found.statement
    assert "nothing can be said" in repr(rr.Comparison({"ndcg@10": found}))


@pytest.mark.parametrize(
    ("arguments", "kind", "part"),
    [
        ({"names": ("a", "a")}, rr.ParamError, "expected two different ones"),
        ({"names": ("a",)}, rr.ParamError, "expected two names"),
        ({"level": 0}, rr.ParamError, "between 0 and 1"),
        ({"resamples": 0}, rr.ParamError, "from 1"),
        ({"seed": 0.5}, TypeError, "whole number"),
        ({"metrics": "nddcg"}, rr.ParamError, "did you mean ndcg?"),
        ({"b": [1, 2, 3]}, rr.DataError, "b has the wrong length: got 3, expected 2"),
        ({"b": [1, math.nan]}, rr.DataError, "scores of b, row 1 (query 0): got nan"),
    ],
)
def test_faults_are_named(arguments: dict[str, Any], kind: type[Exception], part: str) -> None:
    with pytest.raises(kind) as caught:
        rr.compare(**{"a": [1, 2], "b": [2, 1], "y": [0, 1], **arguments})
    assert part in str(caught.value)
