"""Training by workers that hold parts of the documents: the model of one process, and errors on all of them.

The workers are threads here, which talk over TCP; tests of `rustrank.dask` have processes.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank import partitions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DOCS = rr.datasets.make_polynomial(num_queries=36, seed=1)
MORE = rr.datasets.make_polynomial(num_queries=15, seed=2)
X, Y, QID = np.round(DOCS.X[:, :6], 3), DOCS.y, DOCS.qid
V, Z, IDS = np.round(MORE.X[:, :6], 3), MORE.y, MORE.qid
LITTLE: dict[str, Any] = {"num_trees": 6, "num_leaves": 8, "min_leaf_docs": 5, "preset": "plain"}
ROWS = np.arange(len(Y))


def run(size: int, work: Callable[[int, Any], Any], **of_port: Any) -> list[Any]:
    """Return what each of some workers returns, or the exception that it raises."""
    ports = [partitions.TcpPort("127.0.0.1") for _ in range(size)]
    addresses, token = [port.address for port in ports], partitions.new_token()

    def one(rank: int) -> Any:
        try:
            team = ports[rank].connect(rank, addresses, token, **{"deadline": 60.0, **of_port})
            return work(rank, team)
        except BaseException as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


def worker_of(queries: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Return the worker of each row; of three and more, the second has none."""
    rank = np.asarray(queries).astype(np.int64) * 7 // 3 % size
    return np.where((size > 2) & (rank == 1), 0, rank)


def part(rank: int, size: int, columns: dict[str, Any], order: Any = None) -> dict[str, Any] | None:
    """Return the rows of a worker, in another order than they had."""
    mine = np.flatnonzero(worker_of(columns["qid"], size) == rank)
    if not len(mine):
        return None
    mine = np.random.default_rng(rank).permutation(mine) if order is None else mine
    taken = {}
    for name, one in columns.items():
        taken[name] = one.iloc[mine] if hasattr(one, "iloc") else np.asarray(one)[mine]
    return taken


def by_parts(size: int, train: dict[str, Any], valid: dict[str, Any] | None, **options: Any) -> Any:
    """Train by parts; all workers return the same model."""

    def work(rank: int, team: Any) -> rr.Booster:
        sets = {} if valid is None else {"valid": {"valid": part(rank, size, valid)}}
        return partitions.train(part(rank, size, train), team, num_threads=1, **sets, **options)

    told = run(size, work)
    for one in told:
        if isinstance(one, BaseException):
            raise one
    assert all(one == told[0] for one in told)
    return told[0]


TRAIN: dict[str, Any] = {"X": X, "y": Y, "qid": QID}
VALID: dict[str, Any] = {"X": V, "y": Z, "qid": IDS}
WEIGHT = np.random.default_rng(5).uniform(0.5, 2.0, len(Y))
OF_QUERY = {int(query): 0.25 + query % 4 for query in np.unique(QID)}


@pytest.fixture(scope="module")
def alone() -> rr.Booster:
    data = rr.Dataset(**TRAIN)
    valid = rr.Dataset(**VALID, like=data)
    return rr.train(data, valid={"valid": valid}, **LITTLE)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_model_is_that_of_one_process(size: int, alone: rr.Booster) -> None:
    found = by_parts(size, TRAIN, VALID, **LITTLE)
    assert found == alone
    assert found.to_text() == alone.to_text()
    for name, values in alone.history["valid"].items():
        assert found.history["valid"][name].tolist() == values.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"metric": ["map", "err@10"], "objective_metric": "map"},
        {"objective": "ranknet"},
        {"objective": "xendcg", "seed": 3},
        {"objective": "regression"},
        {"objective": "query_rmse"},
        {"queries_per_tree": 0.6, "seed": 1},
        {"docs_per_tree": 0.7, "features_per_tree": 0.5, "features_per_node": 0.8},
        {"max_bins": 15, "sample_rows": 100},
        {"missing": 0.0},
        {"criterion": "least_squares", "l2": 3.0},
        {"path_smooth": 5.0, "max_depth": 3},
        {"monotone": {"f0": 1}, "early_stopping": 3},
        {"dropout": 0.5},
        {"gain": "linear", "max_label": 9},
        {"noise_scale": 0.1, "noise_copies": 3},
        {"interactions": [["f0", "f1"], ["f2", "f3", "f4"]]},
        {"feature_weight": {"f0": 0.5}, "random_strength": 0.3},
    ],
    ids=lambda options: ",".join(options),
)
def test_whatever_the_options(options: dict[str, Any]) -> None:
    of_dataset = {
        name: options[name] for name in ("max_bins", "sample_rows", "missing") if name in options
    }
    of_training = {name: one for name, one in options.items() if name not in of_dataset}
    data = rr.Dataset(**TRAIN, **of_dataset)
    valid = rr.Dataset(**VALID, like=data)
    expected = rr.train(data, valid={"valid": valid}, **{**LITTLE, **of_training})
    assert by_parts(3, TRAIN, VALID, **{**LITTLE, **options}).to_text() == expected.to_text()


@pytest.mark.parametrize(
    "columns",
    [
        {"row_weight": WEIGHT},
        {"query_weight": OF_QUERY},
        {"base_score": X[:, 2].astype(np.float64)},
        {"row_weight": WEIGHT, "base_score": WEIGHT - 1.0},
    ],
    ids=lambda columns: ",".join(columns),
)
def test_weights_and_base_scores(columns: dict[str, Any]) -> None:
    expected = rr.train(rr.Dataset(**TRAIN, **columns), **LITTLE)

    def work(rank: int, team: Any) -> rr.Booster:
        rows = {name: one for name, one in columns.items() if name != "query_weight"}
        own = part(rank, 3, {**TRAIN, **rows})
        if own is not None and "query_weight" in columns:
            own["query_weight"] = {int(one): OF_QUERY[int(one)] for one in np.unique(own["qid"])}
        return partitions.train(own, team, num_threads=1, **LITTLE)

    for found in run(3, work):
        assert found == expected


def frame() -> pd.DataFrame:
    names = [f"c{at}" for at in range(6)]
    made = pd.DataFrame(X, columns=names)
    made["brand"] = pd.Series(np.where(X[:, 0] > 0, "a", "b")).where(X[:, 1] > 0.2, None)
    made.loc[QID > 30, "brand"] = "late"
    made["kind"] = pd.Categorical(np.round(X[:, 2] * 3).astype(int))
    made["is_new"] = pd.Categorical(X[:, 3] > 0)
    made["query"] = [f"q{one}" for one in QID]
    return made


@pytest.mark.parametrize("size", [2, 3])
def test_frames_with_categories_and_columns_in_any_order(size: int) -> None:
    table = frame()
    more: dict[str, Any] = {"categorical": ["brand"]}
    expected = rr.train(
        rr.Dataset(table, Y, qid="query", **more), max_categories=2, min_category_docs=2, **LITTLE
    )

    def work(rank: int, team: Any) -> rr.Booster:
        mine = worker_of(QID, size) == rank
        own = table[mine]
        if rank == size - 1:
            own = own[list(reversed(own.columns))]
        columns = {"X": own, "y": Y[mine], "qid": "query"}
        options = {"max_categories": 2, "min_category_docs": 2, **more, **LITTLE}
        return partitions.train(columns, team, num_threads=1, **options)

    for found in run(size, work):
        assert not isinstance(found, BaseException), found
        assert found == expected
        assert found.predict(table).tolist() == expected.predict(table).tolist()


def test_going_on_from_a_base_and_from_a_checkpoint(tmp_path: Path, alone: rr.Booster) -> None:
    base = rr.train(rr.Dataset(V, Z, qid=IDS), num_trees=2, preset="plain")
    expected = rr.train(rr.Dataset(**TRAIN, base=base), base=base, **LITTLE)
    assert by_parts(3, TRAIN, None, base=base, **LITTLE) == expected
    path = tmp_path / "checkpoint.rrk"
    saved: dict[str, Any] = {"checkpoint": path, "checkpoint_every": 2}
    by_parts(3, TRAIN, VALID, **{**LITTLE, "num_trees": 3}, **saved)
    found = by_parts(2, TRAIN, VALID, resume=True, **saved, **LITTLE)
    assert found.to_text() == alone.to_text()


def test_the_error_of_one_worker_is_everybodys() -> None:
    labels = Y.copy()
    labels[-1] = np.nan

    def work(rank: int, team: Any) -> Any:
        return partitions.train(part(rank, 3, {**TRAIN, "y": labels}), team, **LITTLE)

    told = run(3, work)
    owner = int(worker_of(QID[-1:], 3)[0])
    assert isinstance(told[owner], rr.DataError), told
    for rank in {0, 1, 2} - {owner}:
        assert isinstance(told[rank], rr.CommError)
        assert f"rank {owner} has failed: " in str(told[rank])
        assert "nan" in str(told[rank]).lower()


def told(*parts: Any, **options: Any) -> list[str]:
    """Return the errors of workers with some parts."""
    found = run(len(parts), lambda rank, team: partitions.train(parts[rank], team, **options))
    return [f"{type(one).__name__}: {one}" for one in found]


def test_parts_that_do_not_fit_are_told() -> None:
    table = frame().drop(columns=["query", "brand"])
    first, second = QID < 18, QID >= 18
    of = {"y": Y[first], "qid": QID[first]}, {"y": Y[second], "qid": QID[second]}
    parts = [{"X": table[first], **of[0]}, {"X": table[second].drop(columns="c2"), **of[1]}]
    for text in told(*parts):
        assert text.startswith(
            "DataError: the parts of ranks 0 and 1 have other features: got 'c0'"
        )
    overlapping = QID >= 17
    parts = [
        {"X": X[first], **of[0]},
        {"X": X[overlapping], "y": Y[overlapping], "qid": QID[overlapping]},
    ]
    for text in told(*parts):
        assert text.startswith("DataError: query 17 is in the parts of ranks 0 and 1")
    for text in told(None, None):
        assert text == "DataError: no worker has docs"
    parts = [{"X": X[first], **of[0], "row_weight": WEIGHT[first]}, {"X": X[second], **of[1]}]
    for text in told(*parts):
        assert "have other columns: got 'qid', 'row_weight', 'y' and 'qid', 'y'" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"step": "exact"}, "ParamError: an exact step is not taken"),
        ({"objective": "mcrank"}, "ParamError: classes are not learned"),
        ({"tree_shape": "symmetric"}, "ParamError: symmetric trees are not grown"),
        ({"metric": {"ndcg@10": 1, "map": 0.5}}, "ParamError: metric: several metrics are weighed"),
        ({"mode": "features"}, "ParamError: mode: got 'features'"),
        ({"workers": 2}, "UnknownNameError: there is no parameter workers"),
    ],
)
def test_options_that_workers_do_not_have_are_told(options: dict[str, Any], said: str) -> None:
    first = QID < 18
    for text in told(
        (X[first], Y[first], QID[first]), (X[~first], Y[~first], QID[~first]), **options
    ):
        assert text.startswith(said), text


def test_a_part_has_features_labels_and_queries() -> None:
    for text in told((X, Y), None):
        assert "expected (X, y, qid), a mapping with 'X', 'y', 'qid'" in text


def test_workers_with_other_options_are_told() -> None:
    def work(rank: int, team: Any) -> Any:
        return partitions.train(part(rank, 2, TRAIN), team, **{**LITTLE, "num_leaves": 8 + rank})

    for error in run(2, work):
        assert isinstance(error, rr.CommError)
        assert "another" in str(error), error


def test_a_worker_that_fails_alone_leaves_the_others() -> None:
    def stops(latest: Any) -> None:
        if latest.number == 1:
            raise ValueError("it was enough")

    def work(rank: int, team: Any) -> Any:
        callbacks = [stops] if rank == 1 else None
        return partitions.train(part(rank, 2, TRAIN), team, callbacks=callbacks, **LITTLE)

    told = run(2, work)
    assert isinstance(told[1], ValueError)
    assert isinstance(told[0], rr.CommError)
    assert "rank 1 has failed: it was enough" in str(told[0])


def test_a_worker_that_never_comes_is_told_after_the_deadline() -> None:
    port = partitions.TcpPort("127.0.0.1")
    with pytest.raises(rr.CommTimeout, match=r"rank 1 did not connect within 0\.2 s"):
        port.connect(0, [port.address, "127.0.0.1:9"], partitions.new_token(), deadline=0.2)
    with pytest.raises(rr.ParamError, match="the port was used before"):
        port.connect(0, [port.address], partitions.new_token())
    with pytest.raises(TypeError, match="token: expected 32 bytes"):
        partitions.TcpPort("127.0.0.1").connect(0, ["a:1"], b"secret")
    other = partitions.TcpPort("127.0.0.1")
    with pytest.raises(rr.CommError, match="cannot listen on"):
        partitions.TcpPort("127.0.0.1", int(other.address.split(":")[1]))


def test_a_communicator_of_the_callers_own() -> None:
    class Threads:
        """Workers that are threads of this process."""

        def __init__(self, rank: int, size: int, shared: list[Any], barrier: Any) -> None:
            self.rank, self.size, self._shared, self._barrier = rank, size, shared, barrier

        def allgather(self, own: bytes) -> list[bytes]:
            self._shared[self.rank] = own
            self._barrier.wait(60)
            found = list(self._shared)
            self._barrier.wait(60)
            return found

        def _reduce(self, values: memoryview, kind: Any, join: Any) -> None:
            every = [np.frombuffer(one, kind) for one in self.allgather(bytes(values))]
            np.frombuffer(values, kind)[:] = join(every)

        def sum_i64(self, values: memoryview) -> None:
            self._reduce(values, np.int64, lambda every: np.sum(every, axis=0))

        def max_f64(self, values: memoryview) -> None:
            self._reduce(values, np.float64, lambda every: np.max(every, axis=0))

    shared: list[Any] = [None] * 2
    barrier = threading.Barrier(2)

    def work(rank: int) -> rr.Booster:
        team = partitions.team_of(Threads(rank, 2, shared, barrier))
        return partitions.train(part(rank, 2, TRAIN), team, num_threads=1, **LITTLE)

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(work, range(2)))
    assert told[0] == told[1] == rr.train(rr.Dataset(**TRAIN), **LITTLE)
    with pytest.raises(TypeError, match="it has no sum_i64"):
        partitions.team_of(type("Half", (), {"rank": 0, "size": 1})())


def test_losses_and_metrics_of_the_callers_own() -> None:
    def loss(scores: Any, labels: Any, _: Any) -> tuple[Any, Any]:
        return labels - scores, np.ones_like(scores)

    def best_first(scores: Any, labels: Any) -> float:
        return float(labels[np.argmax(scores)])

    own: dict[str, Any] = {"objective": loss, "metric": best_first}
    data = rr.Dataset(**TRAIN)
    valid = rr.Dataset(**VALID, like=data)
    expected = rr.train(data, valid={"valid": valid}, **own, **LITTLE)
    found = by_parts(3, TRAIN, VALID, **own, **LITTLE)
    assert found == expected
    values = [one.history["valid"]["best_first"].tolist() for one in (found, expected)]
    assert values[0] == values[1]
