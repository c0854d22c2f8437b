"""Training and processes: signals, kills and forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def raw() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(num_queries=60, seed=1)


@pytest.fixture(scope="module")
def train(raw: rr.datasets.Ranking) -> rr.Dataset:
    return rr.Dataset(raw.X, raw.y, qid=raw.qid)


def _trained(dataset: rr.Dataset, **options: Any) -> rr.Booster:
    return rr.train(dataset, **{"num_trees": 12, "num_leaves": 7, **options})


_INTERRUPTED = """
    import signal, sys
    import rustrank as rr
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raw = rr.datasets.make_polynomial(num_queries=1500, seed=1)
    train = rr.Dataset(raw.X, raw.y, qid=raw.qid)
    try:
        rr.train(train, num_trees=100000, num_leaves=255, checkpoint=sys.argv[1],
                 callbacks=lambda latest: print(latest.number, flush=True))
    except KeyboardInterrupt as error:
        booster = error.booster
        assert booster.num_trees > 0
        assert len(booster.predict(raw.X)) == len(raw.y)
        assert rr.Booster.load(sys.argv[1]).num_trees == booster.num_trees
        print("interrupted", flush=True)
"""


def test_ctrl_c_ends_within_half_a_second_and_keeps_the_booster(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(_INTERRUPTED), str(tmp_path / "c.rrk")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(3):
            child.stdout.readline()
        begun = time.monotonic()
        child.send_signal(signal.SIGINT)
        lines = child.stdout.read().split()
        took = time.monotonic() - begun
    assert lines[-1] == "interrupted"
    # Scoring, saving and leaving are part of it; the machine may be busy.
    assert took < 5
    assert child.returncode == 0


_KILLED = """
    import sys
    import rustrank as rr
    raw = rr.datasets.make_polynomial(num_queries=60, seed=1)
    train = rr.Dataset(raw.X, raw.y, qid=raw.qid)
    grow = rr.train  # Imported here, and not in the time until the kill.
    print("ready", flush=True)
    grow(train, num_trees=100000, num_leaves=7, checkpoint=sys.argv[1], checkpoint_every=1,
         resume=True)
"""


def test_a_checkpoint_survives_kills(train: rr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "c.rrk"
    command = [sys.executable, "-c", textwrap.dedent(_KILLED), str(path)]
    trees = [0]
    for delay in (0.1, 0.13, 0.17, 0.11):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(delay)
            child.kill()
        trees.append(rr.Booster.load(path).num_trees)
    assert trees == sorted(set(trees)), "each goes on where the one before was killed"
    resumed = _trained(train, num_trees=trees[-1] + 2, checkpoint=path, resume=True)
    assert resumed == _trained(train, num_trees=trees[-1] + 2)


def test_a_forked_child_trains_the_same(train: rr.Dataset) -> None:
    expected = _trained(train, num_threads=2)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if _trained(train, num_threads=2) == expected else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_forked_child_scores_calls_of_every_length(
    raw: rr.datasets.Ranking, train: rr.Dataset
) -> None:
    booster = _trained(train)
    scores = booster.predict(np.tile(raw.X, (5, 1)))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            lengths = (1, 10, 100, len(raw.X))
            code = sum(not np.array_equal(booster.predict(raw.X[:n]), scores[:n]) for n in lengths)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
