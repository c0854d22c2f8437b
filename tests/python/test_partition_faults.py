"""Faults of workers over TCP: killed, stopped, failed or cut off at random rounds, the others end with a clear error.

Then the training goes on from the checkpoint, with another number of workers, to the same model. Each worker is a
process of its own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

#: Each worker: its number, how many there are, a folder, and the fault as "kind rank round".
WORKER = """
import os, pathlib, signal, sys, time
import numpy as np, rustrank as rr
from rustrank import partitions
rank, size, folder, fault = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4].split()
docs = rr.datasets.make_polynomial(num_queries=30, seed=1)
mine = docs.qid % size == rank
port = partitions.TcpPort("127.0.0.1")
(folder / f"{rank}.tmp").write_text(port.address)
(folder / f"{rank}.tmp").rename(folder / f"address-{rank}")
addresses = []
while len(addresses) < size:
    files = [folder / f"address-{one}" for one in range(size)]
    addresses = [file.read_text() for file in files if file.exists()]
    time.sleep(0.01)
team = port.connect(rank, addresses, b"t" * 32, deadline=float(sys.argv[5]))

def fails(latest):
    if [str(rank), str(latest.number)] != fault[1:]:
        return
    if fault[0] == "raise":
        raise ValueError("a fault of the test")
    if fault[0] == "cut":
        team.leave("the connection was cut")
        time.sleep(60)
    os.kill(os.getpid(), signal.SIGKILL if fault[0] == "kill" else signal.SIGSTOP)

part = (docs.X[mine][:, :6], docs.y[mine], docs.qid[mine])
options = {"num_trees": 8, "num_leaves": 8, "min_leaf_docs": 5, "preset": "plain", "num_threads": 1}
try:
    booster = partitions.train(
        part, team, callbacks=[fails], checkpoint=folder / "c.rrk", checkpoint_every=1, resume=True, **options
    )
except Exception as error:
    (folder / f"error-{rank}").write_text(f"{type(error).__name__}: {error}")
    sys.exit(3)
(folder / f"model-{rank}").write_text(booster.to_text())
"""
#: The seconds after which a stopped worker is lost.
DEADLINE = 2.0
#: How many of the twenty faults are tried here; `RUSTRANK_FAULTS=20` tries all.
FAULTS = int(os.environ.get("RUSTRANK_FAULTS", "8"))


def moments() -> list[tuple[str, int, int, int]]:
    """Return kinds of faults with a number of workers, one of them and a round."""
    draw = random.Random(11)  # noqa: S311 - reproducible
    found = []
    for number in range(20):
        size = draw.choice([2, 3, 4])
        kind = ["kill", "raise", "stop", "cut"][number % 4]
        found.append((kind, size, draw.randrange(size), draw.randrange(1, 8)))
    return found[:FAULTS]


def run(folder: Path, size: int, fault: str) -> list[subprocess.Popen[bytes]]:
    """Start the workers."""
    folder.mkdir(exist_ok=True)
    for file in folder.glob("address-*"):
        file.unlink()
    return [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(size), str(folder), fault, str(DEADLINE)],
            stderr=subprocess.DEVNULL,
        )
        for rank in range(size)
    ]


@pytest.fixture(scope="module")
def undisturbed() -> str:
    docs = rr.datasets.make_polynomial(num_queries=30, seed=1)
    data = rr.Dataset(docs.X[:, :6], docs.y, qid=docs.qid)
    options: dict[str, Any] = {"num_trees": 8, "num_leaves": 8, "min_leaf_docs": 5}
    return rr.train(data, preset="plain", **options).to_text()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="stops a process")
@pytest.mark.parametrize(("kind", "size", "rank", "at"), moments())
def test_a_lost_worker_ends_all_and_the_rest_is_resumed(
    tmp_path: Path, undisturbed: str, kind: str, size: int, rank: int, at: int
) -> None:
    workers = run(tmp_path / "job", size, f"{kind} {rank} {at}")
    others = [worker for number, worker in enumerate(workers) if number != rank]
    try:
        end = time.monotonic() + 60
        while any(worker.poll() is None for worker in others) and time.monotonic() < end:
            time.sleep(0.02)
        codes = [worker.poll() for worker in others]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert codes == [3] * (size - 1)
    for number in {*range(size)} - {rank}:
        said = (tmp_path / "job" / f"error-{number}").read_text()
        assert said.startswith(("CommError: ", "CommTimeout: ")), said
        assert f"rank {rank} " in said, said
        if kind == "raise":
            assert "a fault of the test" in said
    again = run(tmp_path / "job", 5 - size if size < 4 else 2, "none 0 0")
    assert [worker.wait(60) for worker in again] == [0] * len(again)
    assert (tmp_path / "job" / "model-0").read_text() == undisturbed
