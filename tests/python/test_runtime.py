"""The boundary to the extension: threads, forks, signals, and the interpreter lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank import _rustrank
from rustrank.data.dataset_building import LetorOptions
from rustrank.training.rounds import cancellable_pool, check_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

#: Long enough for any machine; what is tested would otherwise hang for ever.
LIMIT = 60

rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 20)).astype(np.float32)
Y = rng.integers(0, 3, len(X))
QID = np.arange(len(X)) // 30


def test_sixteen_threads_at_once_make_what_one_makes() -> None:
    expected = rr.Dataset(X, Y, qid=QID, num_threads=1).fingerprint
    with ThreadPoolExecutor(16) as pool:
        made = pool.map(lambda i: rr.Dataset(X, Y, qid=QID, num_threads=1 + i % 3), range(48))
        assert {dataset.fingerprint for dataset in made} == {expected}


_TRAINED_AT_A_LEVEL = """
import hashlib, sys, warnings
import numpy as np, rustrank as rr
from rustrank import _rustrank
warnings.simplefilter("ignore")
docs = rr.datasets.make_web(40, 20, seed=0)
D = rr.Dataset(docs.X, docs.y, qid=docs.qid)
boosters = [rr.train(D, num_trees=5, progress=False, **one) for one in ({}, {"preset": "noisy"}, {"objective": "mcrank"})]
parts = [b.to_text().encode() + b.predict(docs.X, qid=docs.qid).tobytes() for b in boosters]
parts.append(boosters[0].explain(docs.X[:50]).tobytes())
parts.append(repr(rr.evaluate(docs.X[:, 5], docs.y, qid=docs.qid, metrics=["ndcg@10", "map"])).encode())
print(_rustrank.simd_level, hashlib.sha256(b"".join(parts)).hexdigest())
"""


def test_every_level_of_instructions_has_the_same_bits() -> None:
    def at(level: str) -> list[str]:
        return subprocess.run(
            [sys.executable, "-c", _TRAINED_AT_A_LEVEL],
            env=os.environ | {"RUSTRANK_SIMD": level}, capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip

    levels = ["portable", "avx2", "avx512"]
    usable = levels[: levels.index(_rustrank.simd_level) + 1]
    found = [at(level) for level in usable]
    assert [level for level, _ in found] == usable
    assert len({told for _, told in found}) == 1


def test_an_unknown_level_of_instructions_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import rustrank"],
        env=os.environ | {"RUSTRANK_SIMD": "sse9"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 'RUSTRANK_SIMD: got "sse9", expected portable, avx2 or avx512' in done.stderr


def test_the_interpreter_runs_on_meanwhile() -> None:
    wide = np.tile(X, (10, 3))
    ticks = 0
    done = threading.Event()

    def work() -> None:
        rr.Dataset(wide, np.zeros(len(wide)), group=[len(wide)], num_threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    # With the lock held this thread would have had one turn, at most a few.
    assert ticks > 10


def test_a_forked_child_works_after_its_parent_has_worked() -> None:
    expected = rr.Dataset(X, Y, qid=QID).fingerprint
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        os.write(writer, str(rr.Dataset(X, Y, qid=QID).fingerprint).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert answer.read() == str(expected)
    assert os.waitpid(child, 0)[1] == 0
    assert rr.Dataset(X, Y, qid=QID).fingerprint == expected


_THREADS = """
import os, rustrank as rr
from rustrank import _rustrank
data = rr.datasets.make_web(num_queries=5)
def threads():
    rr.evaluate(data.X[:, 0], data.y, qid=data.qid, num_threads=3)
    return len(os.listdir("/proc/self/task"))
first = threads()
assert threads() == first
_rustrank.forked()
print(threads() - first)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_fork_makes_new_threads_whatever_the_process_id_is() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout == "3\n"


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("asked", ["objective", "metric"])
def test_functions_of_the_caller_may_call_us(asked: str, num_threads: int) -> None:
    data = rr.datasets.make_polynomial(50, seed=0)
    one: dict[str, Any] = {"num_threads": num_threads, "progress": False}
    train = rr.Dataset(data.X, data.y, qid=data.qid)
    inner = rr.train(train, num_trees=2, **one)
    calls = []

    def work() -> None:
        calls.append(float(rr.evaluate(inner, train, num_threads=num_threads)["ndcg@10"]))
        inner.predict(data.X, num_threads=num_threads)
        rr.train(train, num_trees=1, **one)

    def objective(scores: Any, labels: Any, _: Any) -> Any:
        work()
        return scores - labels, np.ones_like(scores)

    def metric(*_: Any) -> float:
        work()
        return 0.5

    options: dict[str, Any] = {"objective": objective} if asked == "objective" else {}
    if asked == "metric":
        options = {"metric": metric, "valid": train}
    # A thread of its own, so that a test that hangs ends.
    ended = threading.Event()

    def run() -> None:
        rr.train(train, num_trees=2, **one, **options)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert ended.wait(LIMIT)
    assert len(set(calls)) == 1


_FEW_THREADS = """
import resource, time, rustrank as rr
data = rr.datasets.make_web(num_queries=5)
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
try:
    rr.evaluate(data.X[:, 0], data.y, qid=data.qid, num_threads=1000)
except rr.ResourceError as error:
    print(error.code, isinstance(error, MemoryError), error)
time.sleep(1)  # Those that were started end.
print(rr.evaluate(data.X[:, 0], data.y, qid=data.qid, num_threads=1)["ndcg@10"] > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit elsewhere")
def test_threads_that_cannot_be_started_are_no_bug() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FEW_THREADS], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.stdout.startswith("threads True 1000 threads could not be started"), done.stderr
    assert done.stdout.splitlines()[-1] == "True"


_ENDLESS = """
import sys, rustrank as rr
print("ready", flush=True)
try:
    rr.Dataset.from_letor(sys.argv[1])
except KeyboardInterrupt:
    data = rr.datasets.make_web(num_queries=5)
    import warnings
    warnings.simplefilter("ignore")
    print("interrupted", rr.Dataset(data.X, data.y, qid=data.qid).num_queries, flush=True)
"""


def test_ctrl_c_ends_a_long_load(tmp_path: Path) -> None:
    pipe = tmp_path / "endless.txt"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", _ENDLESS, str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        _feed_and_interrupt(child, pipe)


def _feed_and_interrupt(child: subprocess.Popen[str], pipe: Path) -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    lines = b"".join(b"1 qid:7 1:%d 2:0.5\n" % i for i in range(50_000))
    written = 0
    deadline = time.monotonic() + LIMIT
    try:
        with pipe.open("wb", buffering=0) as file:
            while time.monotonic() < deadline:
                file.write(lines)
                written += len(lines)
                if written > 40 << 20:
                    child.send_signal(signal.SIGINT)
                    written = 0
    except BrokenPipeError:
        pass
    assert child.stdout.read() == "interrupted 5\n"
    assert child.wait(LIMIT) == 0


def test_ctrl_c_ends_a_long_construction() -> None:
    wide = np.tile(X, (20, 5))
    y, group = np.zeros(len(wide)), [len(wide)]

    def again_and_again() -> None:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            rr.Dataset(wide, y, group=group, num_threads=1)

    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        again_and_again()
    timer.join()
    assert rr.Dataset(X, Y, qid=QID).num_docs == len(X)


def test_threads_are_as_many_as_cores() -> None:
    assert _rustrank.num_threads() == len(os.sched_getaffinity(0))


def _threads_of(pools: str) -> int:
    count = 0
    for path in Path("/proc/self/task").glob("*/comm"):
        # A thread may end between its listing and the look at its name.
        with suppress(OSError):
            count += path.read_text("ascii").startswith(pools)
    return count


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_few_pools_stay() -> None:
    small = np.arange(2.0)[:, None], [0, 1]
    fingerprints = set()
    for num_threads in range(1, 40):
        made = rr.Dataset(*small, group=[2], num_threads=num_threads)
        fingerprints.add(made.fingerprint)
    assert len(fingerprints) == 1
    # Threads that nobody needs end by themselves, soon.
    deadline = time.monotonic() + LIMIT
    while _threads_of("rustrank-") > 39 + 38 + 37 + 36 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _threads_of("rustrank-") <= 39 + 38 + 37 + 36


def _letor_with_progress(pipe: Path, call: Callable[[int], object]) -> _rustrank.Dataset:
    """Load what a thread feeds slowly, so that there is time to look."""

    def feed() -> None:
        lines = b"".join(b"1 qid:7 1:%d 2:0.5\n" % i for i in range(500_000))
        with suppress(BrokenPipeError), pipe.open("wb") as file:
            for _ in range(4):
                file.write(lines)
                time.sleep(0.2)

    os.mkfifo(pipe)
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    text = LetorOptions(max_features=10, buffer_bytes=1 << 30)
    text.progress = call
    reading = SimpleNamespace(missing=None, infinite="error", num_threads=None)
    try:
        chosen: tuple[int, int, bool, list[int], dict[int, list[str]]] = (255, 1000, False, [], {})
        return _rustrank.Dataset.from_letor([str(pipe)], text, chosen, reading)[0]
    finally:
        feeder.join(60)


def test_progress_is_told_while_a_file_is_read(tmp_path: Path) -> None:
    seen: list[int] = []
    dataset = _letor_with_progress(tmp_path / "slow.txt", seen.append)
    assert dataset.num_docs == 2_000_000
    assert len(seen) > 3
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= 2_000_000 * 24


def test_an_exception_from_the_progress_callback_ends_the_load(tmp_path: Path) -> None:
    def refuse(done: int) -> None:
        raise RuntimeError(done)

    with pytest.raises(RuntimeError):
        _letor_with_progress(tmp_path / "slow.txt", refuse)


_AT_A_BAR = """
import os, signal
from rustrank.progress import bar_type
with bar_type()(total=2) as bar:
    bar.update()
child = os.fork()
if child == 0:
    bar_type().get_lock().acquire()
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
with bar_type()(total=2) as bar:
    bar.update()
print("drawn")
"""


def test_a_process_that_is_killed_at_its_bar_stops_no_other() -> None:
    # The lock of tqdm is shared by forked processes.
    done = subprocess.run(
        [sys.executable, "-c", _AT_A_BAR],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.stdout == "drawn\n", done.stderr


def test_reading_and_writing_a_model_end_at_ctrl_c_and_work_again() -> None:
    booster = rr.train(
        rr.Dataset(X, Y, qid=QID), num_trees=30, num_leaves=64, preset="plain", progress=False
    )
    text = booster.to_text()
    calls: list[Callable[[], object]] = [
        lambda: rr.Booster.from_text(text),
        booster.to_text,
        lambda: booster.export("onnx"),
    ]

    def again_and_again(call: Callable[[], object]) -> None:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            call()

    for call in calls:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            again_and_again(call)
        timer.join()
    assert rr.Booster.from_text(text) == booster
    assert booster.to_text() == text


def test_work_in_the_threads_of_a_thread_is_cancelled_with_it() -> None:
    started, ended = threading.Event(), threading.Event()

    def inner() -> None:
        started.set()
        try:
            while True:
                rr.Dataset(np.tile(X, (4, 1)), np.zeros(4 * len(X)), group=[4 * len(X)])
                check_cancelled()
        finally:
            ended.set()

    def outer() -> None:
        with cancellable_pool(1) as pool:
            pool.submit(inner).result()

    with pytest.raises(ValueError, match="enough"), cancellable_pool(1) as pool:  # noqa: PT012 - the pool waits
        pool.submit(outer)
        assert started.wait(LIMIT)
        raise ValueError("enough")
    assert ended.is_set()
