"""Training on a Dask cluster: the model of one process, queries in several partitions, lost workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from rustrank.dask import LambdaMART, train  # noqa: E402 - needs Dask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = rr.datasets.make_polynomial(num_queries=36, seed=1)
MORE = rr.datasets.make_polynomial(num_queries=15, seed=2)
X, Y, QID = np.round(DOCS.X[:, :6], 3), DOCS.y, DOCS.qid
V, Z, IDS = np.round(MORE.X[:, :6], 3), MORE.y, MORE.qid
LITTLE: dict[str, Any] = {"num_trees": 6, "num_leaves": 8, "min_leaf_docs": 5, "preset": "plain"}
QUIET: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, **QUIET
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone() -> rr.Booster:
    data = rr.Dataset(X, Y, qid=QID)
    return rr.train(data, valid={"valid": rr.Dataset(V, Z, qid=IDS, like=data)}, **LITTLE)


def arrays(rows: int, order: Any = slice(None)) -> tuple[Any, Any, Any]:
    return tuple(da.from_array(one[order], chunks=(rows, -1)[: one.ndim]) for one in (X, Y, QID))


def valid_arrays() -> tuple[Any, Any, Any]:
    return tuple(da.from_array(one, chunks=(70, -1)[: one.ndim]) for one in (V, Z, IDS))


@pytest.mark.parametrize("rows", [40, 100, 10_000])
def test_arrays_train_the_model_of_one_process(client: Any, alone: rr.Booster, rows: int) -> None:
    # Chunks cut queries in two.
    found = train(*arrays(rows), valid=valid_arrays(), client=client, **LITTLE)
    assert found == alone
    assert found.to_text() == alone.to_text()
    np.testing.assert_array_equal(
        found.history["valid"]["ndcg@10"], alone.history["valid"]["ndcg@10"]
    )


def test_permuted_rows_train_the_same_model(client: Any, alone: rr.Booster) -> None:
    # Nearly every query is in all partitions.
    order = np.random.default_rng(0).permutation(len(Y))
    found = train(*arrays(150, order), valid={"valid": valid_arrays()}, client=client, **LITTLE)
    assert found.to_text() == alone.to_text()


def test_threads_of_one_process(alone: rr.Booster) -> None:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, **QUIET
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert train(*arrays(100), valid=valid_arrays(), client=client, **LITTLE) == alone


def frame() -> pd.DataFrame:
    made = pd.DataFrame(X, columns=[f"c{at}" for at in range(6)])
    made["brand"] = np.where(X[:, 0] > 0, "a", "b")
    made["kind"] = pd.Categorical(np.round(X[:, 2] * 3).astype(int))
    made["weight"] = np.where(X[:, 1] > 0, 1.0, 2.0)
    made["query"] = [f"q{one}" for one in QID]
    made["label"] = Y
    return made


def test_data_frames_with_names_and_categories(client: Any) -> None:
    table = frame()
    more: dict[str, Any] = {"categorical": ["brand"]}
    options = {**LITTLE, "max_categories": 2, "min_category_docs": 2}
    data = rr.Dataset(table, "label", qid="query", row_weight="weight", **more)
    expected = rr.train(data, **options)
    for partitions in (1, 4, 7):
        collection = dd.from_pandas(table, npartitions=partitions)
        found = train(
            collection, "label", "query", row_weight="weight", client=client, **more, **options
        )
        assert found == expected
        assert found.predict(table).tolist() == expected.predict(table).tolist()


def test_the_estimator_fits_predicts_and_scores(client: Any) -> None:
    options: dict[str, Any] = {
        "n_estimators": 6,
        "num_leaves": 8,
        "min_leaf_docs": 5,
        "preset": "plain",
    }
    expected = rr.LambdaMART(**options).fit(X, Y, QID)
    own = arrays(90)
    found = LambdaMART(**options).fit(*own, client=client)
    assert found.booster_ == expected.booster_
    scores = found.predict(own[0])
    assert isinstance(scores, da.Array)
    assert scores.compute().tolist() == expected.predict(X).tolist()
    assert found.score(*own) == pytest.approx(expected.score(X, Y, qid=QID), abs=1e-12)
    table = frame()[["c0", "c1", "c2", "label", "query"]]
    collection = dd.from_pandas(table, npartitions=3)
    by_name = LambdaMART(**options).fit(collection, "label", "query", client=client)
    assert by_name.feature_names_in_.tolist() == ["c0", "c1", "c2"]
    told = by_name.predict(collection[["c2", "c0", "c1"]])
    assert told.compute().tolist() == by_name.booster_.predict(table[["c0", "c1", "c2"]]).tolist()
    assert by_name.predict(table[["c0", "c1", "c2"]]).tolist() == told.compute().tolist()
    assert 0 < by_name.score(collection, "label", "query") < 1


def test_errors_are_those_of_one_process(client: Any) -> None:
    labels = Y.copy()
    labels[-1] = np.nan
    own = arrays(100)
    bad = da.from_array(labels, chunks=100)
    with pytest.raises(rr.DataError, match="finite"):
        train(own[0], bad, own[2], client=client, **LITTLE)
    with pytest.raises(rr.DataError, match="min_leaf_docs is too large for the data"):
        train(*own, client=client, **{**LITTLE, "min_leaf_docs": 100_000})
    with pytest.raises(rr.RustrankError, match="there is no parameter num_leafs"):
        train(*own, client=client, num_leafs=3)
    with pytest.raises(rr.DataError, match="qid: X has no column 'query'"):
        train(own[0], own[1], "query", client=client)
    with pytest.raises(rr.DataError, match="y has the wrong length: got 10"):
        train(own[0], own[1][:10], own[2], client=client)
    with pytest.raises(TypeError, match="expected a Dask array or data frame"):
        train(X, Y, QID, client=client)
    with pytest.raises(TypeError, match="query_ranks: got True"):
        LambdaMART(query_ranks=True).fit(*own, client=client)
    # The cluster still works.
    assert train(*own, client=client, **LITTLE) == rr.train(rr.Dataset(X, Y, qid=QID), **LITTLE)


def test_progress_is_shown_by_the_client(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    train(*arrays(100), valid=valid_arrays(), client=client, progress=True, **LITTLE)
    shown = capsys.readouterr().err
    assert "round 1 of 6: valid ndcg@10 0." in shown


def busy() -> tuple[Any, Any, Any]:
    """Return arrays on which training takes a while."""
    docs = rr.datasets.make_polynomial(num_queries=400, docs_per_query=40, seed=3)
    return tuple(da.from_array(one, chunks=(3000, -1)[: one.ndim]) for one in docs)


def later(act: Callable[[], object]) -> threading.Thread:
    """Call a function some time after a training has begun."""
    thread = threading.Timer(1.5, act)
    thread.start()
    return thread


LONG: dict[str, Any] = {"num_trees": 3000, "num_leaves": 63, "preset": "plain"}


def test_a_lost_worker_ends_the_training_or_it_starts_again(tmp_path: Any) -> None:
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **QUIET)
    with cluster, distributed.Client(cluster) as client:
        columns = busy()
        expected = train(*columns, client=client, **{**LONG, "num_trees": 40})

        def kill() -> None:
            ids = client.run(os.getpid)
            os.kill(next(iter(ids.values())), signal.SIGKILL)

        thread = later(kill)
        with pytest.raises(rr.CommError, match="was lost"):
            train(*columns, client=client, **LONG)
        thread.join()
        client.wait_for_workers(2, timeout=60)
        path = tmp_path / "checkpoint.rrk"
        saved: dict[str, Any] = {"checkpoint": str(path), "checkpoint_every": 5}
        killed = threading.Event()

        def kill_once() -> None:
            while not path.exists():
                time.sleep(0.02)
            kill()
            killed.set()

        thread = threading.Thread(target=kill_once)
        thread.start()
        options = {**LONG, "num_trees": 40, **saved}
        with pytest.warns(rr.RustrankWarning, match="starting again"):
            found = train(*columns, client=client, max_restarts=2, **options)
        thread.join()
        assert killed.is_set()
        assert found == expected


def test_ctrl_c_ends_the_workers(client: Any) -> None:
    columns = busy()
    thread = later(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        train(*columns, client=client, **LONG)
    thread.join()
    deadline = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.processing().values())
    assert train(*arrays(100), client=client, **LITTLE).num_trees == 6
