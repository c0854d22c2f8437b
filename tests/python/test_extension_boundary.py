"""The boundary to the extension: threads, forks, signals and the interpreter lock."""

import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rustrank as rr

METRICS = ["ndcg@10", "err", "map"]


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any, Any]:
    X, y, qid = rr.datasets.make_web(50, docs_per_query=20, seed=5)
    return X[:, 0] + X[:, 60], y, qid


def values(data: tuple[Any, Any, Any]) -> list[float]:
    scores, y, qid = data
    found = rr.evaluate(scores, y, qid=qid, metrics=METRICS)
    return [end for value in found.values() for end in (float(value), *value.interval)]


def long_value() -> rr.MetricValue:
    """A value whose bootstrap takes minutes at the most resamples allowed."""
    num = 20_000
    scores, labels = np.tile([1.0, 2.0], num), np.tile([1.0, 0.0], num)
    return rr.evaluate(scores, labels, group=np.full(num, 2), metrics="mrr")["mrr"]


def test_sixteen_threads_at_once_agree_with_one(data: tuple[Any, Any, Any]) -> None:
    wanted = values(data)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: values(data), range(64)))
    assert all(result == wanted for result in results)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_bootstrap_and_the_lock_is_free_meanwhile() -> None:
    value = long_value()
    # Ten ticks need the interpreter ten times while the bootstrap runs, and only then is it
    # interrupted: it cannot end by a KeyboardInterrupt if it keeps the lock.
    ticks = []

    def tick_then_interrupt() -> None:
        for _ in range(10):
            time.sleep(0.01)
            ticks.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=tick_then_interrupt)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the thread must not be left behind
        try:
            thread.start()
            value.bootstrap(resamples=10_000_000)
        finally:
            ended = time.perf_counter()
            thread.join()
    assert len(ticks) == 10
    # The flag is looked at every 50 ms and the work once a replicate; the rest is a busy machine.
    assert ended - ticks[-1] < 5
    assert value.bootstrap(resamples=10) == value.bootstrap(resamples=10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_evaluates_after_its_parent_did(data: tuple[Any, Any, Any]) -> None:
    wanted = values(data)
    with warnings.catch_warnings():
        # From 3.12 on Python warns of forks with threads around: that is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if values(data) == wanted else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 20
    ended, status = 0, 0
    while not ended and time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert (ended, status) == (child, 0)
    assert values(data) == wanted


def test_arrays_that_change_during_a_call_do_no_harm(data: tuple[Any, Any, Any]) -> None:
    scores, y, qid = data
    mine = scores.astype(np.float64)
    stop = threading.Event()

    def scribble() -> None:
        while not stop.is_set():
            mine[:] = mine[::-1].copy()

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(50):
            assert 0 <= rr.evaluate(mine, y, qid=qid)["ndcg@10"] <= 1
    finally:
        stop.set()
        thread.join()


def test_read_only_arrays_are_taken(data: tuple[Any, Any, Any]) -> None:
    scores, y, qid = (array.copy() for array in data)
    for array in (scores, y, qid):
        array.setflags(write=False)
    assert values((scores, y, qid)) == values(data)
