import doctest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rustrank as rr
from rustrank import datasets
from rustrank.datasets import Ranking, make_polynomial, make_web

MAKERS = [make_polynomial, make_web]


def assert_same(a: Ranking, b: Ranking) -> None:
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


def shares(ranking: Ranking) -> list[float]:
    return list(np.bincount(ranking.y.astype(int), minlength=5) / len(ranking.y))


def test_docstring_examples_run() -> None:
    failed, tried = doctest.testmod(datasets)
    assert (failed, tried > 0) == (0, True)


@pytest.mark.parametrize("make", MAKERS)
def test_arrays_have_the_promised_layout(make: Callable[..., Ranking]) -> None:
    ranking = make(5, seed=3)
    X, y, qid = ranking
    assert [str(array.dtype) for array in ranking] == ["float32", "float32", "int64"]
    assert X.flags.c_contiguous
    assert len(X) == len(y) == len(qid)
    assert X.shape[1] == len(ranking.feature_names) == len(set(ranking.feature_names))
    assert list(np.unique(qid)) == [0, 1, 2, 3, 4]
    assert not np.isinf(X).any()
    np.testing.assert_array_equal(np.repeat(np.arange(5), ranking.group), qid)


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_fixes_the_data(make: Callable[..., Ranking]) -> None:
    assert_same(make(3, seed=5), make(3, seed=5))
    assert not np.array_equal(make(3, seed=5).X[:50], make(3, seed=6).X[:50])


@pytest.mark.parametrize("make", MAKERS)
def test_a_query_does_not_depend_on_which_others_are_made(make: Callable[..., Ranking]) -> None:
    whole = make(200, docs_per_query=7)
    for first, count in [(0, 1), (0, 64), (63, 2), (64, 64), (100, 100), (199, 1)]:
        part = make(count, docs_per_query=7, first_query=first)
        wanted = (whole.qid >= first) & (whole.qid < first + count)
        assert_same(part, Ranking(whole.X[wanted], whole.y[wanted], whole.qid[wanted], ()))


def test_polynomial_labels_have_the_shares_of_the_paper() -> None:
    ranking = make_polynomial(2000)
    assert ranking.X.shape == (100_000, 50)
    assert set(ranking.group) == {50}
    assert shares(ranking) == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16], abs=0.01)


def test_polynomial_labels_are_a_function_of_the_features() -> None:
    ranking = make_polynomial(20, num_features=2, num_terms=3)
    # Two features, no noise: nearly every doc has the label of its nearest neighbour.
    distance = ((ranking.X[:, None] - ranking.X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    assert np.mean(ranking.y[distance.argmin(axis=1)] == ranking.y) > 0.85


def test_web_data_looks_like_the_web() -> None:
    ranking = make_web(400, seed=2)
    X = ranking.X
    assert X.shape[1] == 136
    assert 110 < ranking.group.mean() < 130
    assert ranking.group.max() > 3 * ranking.group.min()
    assert shares(ranking) == pytest.approx([0.52, 0.32, 0.13, 0.02, 0.01], abs=0.03)
    constant = [n for n, c in zip(ranking.feature_names, X.T, strict=True) if np.ptp(c) == 0]
    assert constant == ["url_tf_min", "url_tf_norm_min", "url_tfidf_min", "language"]
    assert 0.2 < np.mean(X == 0) < 0.5
    missing = [n for n, c in zip(ranking.feature_names, X.T, strict=True) if np.isnan(c).any()]
    assert missing == ["clicks", "dwell_time"]


def test_web_noise_hides_the_relevance() -> None:
    name = "whole_bm25"

    def correlation(noise: float) -> float:
        ranking = make_web(200, noise=noise)
        column = ranking.X[:, ranking.feature_names.index(name)]
        return float(np.corrcoef(column, ranking.y)[0, 1])

    assert correlation(0.0) > correlation(1.0) > correlation(4.0) > 0


def test_letor_text_holds_every_value(tmp_path: Path) -> None:
    ranking = make_web(3, docs_per_query=5)
    path = tmp_path / "web.txt"
    ranking.to_letor(path)
    lines = [line.split(" ") for line in path.read_text("ascii").splitlines()]
    cells = [[token.split(":") for token in line[2:]] for line in lines]
    assert [float(line[0]) for line in lines] == list(ranking.y)
    assert [line[1] for line in lines] == [f"qid:{qid}" for qid in ranking.qid]
    assert all([int(i) for i, _ in row] == list(range(1, 137)) for row in cells)
    values = np.array([[float(v) for _, v in row] for row in cells], np.float32)
    np.testing.assert_array_equal(values, ranking.X)
    ranking.to_letor(path, with_qid=False)
    assert path.read_text("ascii").startswith(f"{lines[0][0]} 1:")


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_polynomial, {"num_queries": 0}, "num_queries: got 0"),
        (make_polynomial, {"docs_per_query": -1}, "docs_per_query: got -1"),
        (make_polynomial, {"num_features": 0}, "num_features: got 0"),
        (make_polynomial, {"num_terms": 0}, "num_terms: got 0"),
        (make_polynomial, {"seed": -1}, "seed: got -1"),
        (make_web, {"num_queries": 0}, "num_queries: got 0"),
        (make_web, {"noise": float("nan")}, "noise: got nan"),
        (make_web, {"first_query": -1}, "first_query: got -1"),
        (make_web, {"seed": None}, "seed: got None"),
        (make_web, {"noise": "x"}, "noise: got 'x'"),
        (make_polynomial, {"num_queries": 2.5}, "num_queries: got 2.5"),
    ],
)
def test_bad_arguments_are_named(
    make: Callable[..., Ranking], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(rr.ParamError, match=message):
        make(**arguments)
