"""Training on Ray: the model of one process, blocks that cut queries, lost workers.

Needs Ray: `make test-ray` makes an environment of its own.
"""

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

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

from rustrank.ray import score, train  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = rr.datasets.make_polynomial(num_queries=36, seed=1)
MORE = rr.datasets.make_polynomial(num_queries=15, seed=2)
NAMES = [f"c{at}" for at in range(6)]
LITTLE: dict[str, Any] = {"num_trees": 6, "num_leaves": 8, "min_leaf_docs": 5, "preset": "plain"}
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=6, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def frame(docs: Any = DOCS) -> pd.DataFrame:
    made = pd.DataFrame(np.round(docs.X[:, :6], 3), columns=NAMES)
    made["label"] = docs.y
    made["qid"] = [f"q{one}" for one in docs.qid]
    return made


def alone(table: pd.DataFrame, **more: Any) -> rr.Booster:
    data = rr.Dataset(table[NAMES], table["label"], qid=table["qid"])
    more_rows = frame(MORE)
    valid = rr.Dataset(more_rows[NAMES], more_rows["label"], qid=more_rows["qid"], like=data)
    return rr.train(data, valid={"valid": valid}, **{**LITTLE, **more})


@pytest.mark.parametrize(("workers", "blocks"), [(1, 3), (2, 5), (3, 2), (4, 7)])
def test_the_model_is_that_of_one_process(workers: int, blocks: int) -> None:
    table = frame()
    expected = alone(table)
    shuffled = table.sample(frac=1, random_state=workers)
    data = ray.data.from_pandas(shuffled).repartition(blocks)
    valid = ray.data.from_pandas(frame(MORE)).repartition(2)
    found = train(data, valid=valid, num_workers=workers, **LITTLE)
    assert found == expected
    assert found.to_text() == expected.to_text()
    assert (
        found.history["valid"]["ndcg@10"].tolist() == expected.history["valid"]["ndcg@10"].tolist()
    )
    scored = score(found, data).to_pandas()
    assert scored["prediction"].tolist() == expected.predict(scored[NAMES]).tolist()


def test_weights_features_and_categories() -> None:
    table = frame()
    table["weight"] = np.where(table["c0"] > 0, 2.0, 1.0)
    table["brand"] = np.where(table["c1"] > 0, "a", "b")
    names = [*NAMES[:4], "brand"]
    options = {**LITTLE, "max_categories": 2, "min_category_docs": 2}
    data = rr.Dataset(
        table[names],
        table["label"],
        qid=table["qid"],
        row_weight=table["weight"],
        categorical=["brand"],
    )
    found = train(
        ray.data.from_pandas(table).repartition(4), row_weight="weight", features=names,
        categorical=["brand"], **options,
    )  # fmt: skip
    assert found == rr.train(data, **options)


def test_errors_are_those_of_one_process() -> None:
    table = frame()
    data = ray.data.from_pandas(table)
    with pytest.raises(rr.DataError, match="no column 'query'"):
        train(data, qid="query", **LITTLE)
    with pytest.raises(rr.RustrankError, match="min_leaf_docs is too large for the data"):
        train(data, **{**LITTLE, "min_leaf_docs": 10_000})
    with pytest.raises(rr.RustrankError, match="there is no parameter num_leafs"):
        train(data, num_leafs=3)
    with pytest.raises(TypeError, match=r"expected a ray\.data\.Dataset"):
        train(table)
    table.loc[3, "label"] = np.nan
    with pytest.raises(rr.DataError, match="finite"):
        train(ray.data.from_pandas(table), **LITTLE)


def test_a_lost_worker_ends_the_training_or_it_starts_again(tmp_path: Path) -> None:
    docs = rr.datasets.make_polynomial(num_queries=400, docs_per_query=40, seed=3)
    table = pd.DataFrame(docs.X, columns=[f"c{at}" for at in range(docs.X.shape[1])])
    table["label"], table["qid"] = docs.y, docs.qid
    data = ray.data.from_pandas(table).repartition(4).materialize()
    options: dict[str, Any] = {"num_trees": 40, "num_leaves": 63, "preset": "plain"}
    expected = train(data, **options)
    path = tmp_path / "checkpoint.rrk"

    def kill_once() -> None:
        while not path.exists():
            time.sleep(0.02)
        listed = os.popen("ps -eo pid,args").read().splitlines()  # noqa: S605, S607 - a test
        actors = [int(line.split()[0]) for line in listed if "ray::_Worker" in line]
        os.kill(actors[0], signal.SIGKILL)

    saved: dict[str, Any] = {"checkpoint": str(path), "checkpoint_every": 2}
    thread = threading.Thread(target=kill_once)
    thread.start()
    with pytest.raises(rr.CommError):
        train(data, **{**options, "num_trees": 3000}, **saved)
    thread.join()
    path.unlink()
    thread = threading.Thread(target=kill_once)
    thread.start()
    with pytest.warns(rr.RustrankWarning, match="starting again"):
        found = train(data, max_restarts=2, **{**options, "num_trees": 200}, **saved)
    thread.join()
    assert found.truncate(40).to_text().count("tree ") == expected.to_text().count("tree ")
    assert found == train(data, **{**options, "num_trees": 200})
