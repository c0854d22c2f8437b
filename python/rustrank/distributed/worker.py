"""One worker of a training, which `rustrank.training.worker` is the process of.

A worker reads its shards and trains together with the others; the first worker writes the result. Each
writes its process id and its error, if any, into the folder of the job, and ends with the exit code of
the error.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.batches import Batches, Columns, ParquetFiles
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import LetorOptions, ReadOptions, Rows, bins_of
from rustrank.distributed.jobs import Job, report
from rustrank.distributed.mpi import Ranks, Workers, require_world, world
from rustrank.distributed.shards import Shards
from rustrank.errors import CommError
from rustrank.exit_codes import INTERNAL, INTERRUPTED, exit_code_of
from rustrank.inputs.queries import numbers_if_all
from rustrank.model.booster import Booster
from rustrank.parameters.plan import train_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rustrank.training.rounds import Round

    #: `rustrank.training.train.trained`, which is in a package above this one.
    Train = Callable[[Dataset, dict[str, Any], Workers, _rustrank.Booster | None], Booster]

__all__ = ["main", "work"]

#: The defaults of `Dataset.from_letor` and `Dataset.from_parquet`.
_MOST_FEATURES = 1 << 20
_ROWS = 65_536


def main(arguments: Sequence[str], train: Train) -> int:
    """Run the job of a file with a training function, and return the exit code."""
    job = Job.load(Path(arguments[0]))
    notes, comm = Path(arguments[0]).parent, world()
    (notes / f"rank-{comm.rank}").write_text(str(os.getpid()))
    try:
        booster, is_first = work(job, comm, train)
        if is_first:
            _save(booster, job)
    except BaseException as error:
        return _failed(error, notes, comm.rank)
    return 0


def work(job: Job, comm: Any, train: Train) -> tuple[Booster, bool]:
    """Train together with the other processes of an MPI communicator.

    Returns the booster, the same in all of them, and whether this is the first surviving worker.
    """
    require_world(comm.size, job.workers)
    found = None
    while True:
        ranks = Ranks(comm, job.deadline, job.shrinks, job.notes)
        try:
            return train(*_arguments(job, comm, ranks), found), ranks.rank == 0
        except CommError as error:
            if not ranks.is_lost:
                raise
            comm = ranks.survivors()
            if comm.rank == 0:
                left = "worker is" if comm.size == 1 else "workers are"
                report(f"a worker was lost {ranks.progress}: {comm.size} {left} left and go on")
            found = _common_checkpoint(comm, job.deadline, vars(error).get("_checkpoint"))


def _arguments(job: Job, comm: Any, ranks: Ranks) -> tuple[Dataset, dict[str, Any], Workers]:
    """Return the arguments of the training function: this worker's documents, options, and team."""
    team = _rustrank.Team(ranks)
    reading = {"num_threads": job.num_threads or _threads(comm)}
    shards = Shards.load(job.data)
    whole = job.mode == "features"
    numbers = list(range(len(shards.shards))) if whole else _own_shards(shards, job, comm)
    shards.check(numbers)
    if whole:
        dataset = shards.dataset(numbers, **reading)
    else:
        dataset = _read_shards(shards, numbers, team, reading["num_threads"])
    team.check_queries(dataset._core, _query_names(dataset), whole or job.overlap > 0)
    given = job.train_options() | {
        "valid": {name: _valid(path, job, comm, dataset) for name, path in job.valid.items()},
        "base": None if job.base is None else Booster.load(job.base),
        "callbacks": _progress_callback(job, ranks),
        "checkpoint": job.checkpoint,
        "snapshot": job.snapshot,
        "resume": job.resume,
        "progress": job.progress,
        "num_threads": reading["num_threads"],
        "mode": job.mode,
    }
    return dataset, train_options(given), Workers(team)


def _common_checkpoint(
    comm: Any, deadline: float, own: _rustrank.Booster | None
) -> _rustrank.Booster | None:
    """Return, in all surviving workers, the checkpoint of the one with the fewest rounds."""
    ranks = Ranks(comm, deadline)
    rounds = [
        int(each) for each in ranks.allgather(b"-1" if own is None else b"%d" % own.num_rounds)
    ]
    fewest = min(rounds)
    if fewest < 0:
        return None
    text = ranks.broadcast(rounds.index(fewest), b"" if own is None else own.to_text().encode())
    return _rustrank.Booster.from_text(text.decode())


def _own_shards(shards: Shards, job: Job, comm: Any) -> list[int]:
    """Return the shards of this worker, and with ``overlap`` also those of the next workers."""
    own = [
        number
        for after in range(job.overlap + 1)
        for number in shards.of_worker((comm.rank + after) % comm.size, comm.size)
    ]
    return list(dict.fromkeys(own))


def _threads(comm: Any) -> int:
    """Return the cores for this worker: busy waiting in MPI makes more threads than cores slow."""
    from mpi4py import MPI

    near = comm.Split_type(MPI.COMM_TYPE_SHARED)
    share: int = max(1, len(os.sched_getaffinity(0)) // near.size)
    near.Free()
    return share


def _valid(path: str, job: Job, comm: Any, like: Dataset) -> Dataset:
    """Read this worker's part of a validation set.

    Shards are divided among the workers, and a plain file is read by the first worker. With
    ``mode="features"`` every worker reads everything.
    """
    if Path(path).is_dir() or path.endswith(".json"):
        shards = Shards.load(path)
        every = list(range(len(shards.shards)))
        own = every if job.mode == "features" else shards.of_worker(comm.rank, comm.size)
        shards.check(own)
        if any(shards.shards[number].docs for number in own):
            return shards.dataset(own, like=like, num_threads=job.num_threads)
    elif job.mode == "features" or comm.rank == 0:
        return Dataset.from_letor(path, like=like, num_threads=job.num_threads)
    return _empty_like(like)


def _progress_callback(job: Job, ranks: Ranks) -> Any:
    """Return a call-back that records the current round, for messages about lost workers."""
    file = None
    if ranks.rank == 0 and job.notes is not None:
        file = os.open(Path(job.notes) / "round", os.O_WRONLY | os.O_CREAT, 0o644)

    def note(latest: Round) -> None:
        ranks.progress = f"in round {latest.number + 1}"
        if file is not None:
            os.pwrite(file, str(latest.number + 1).encode(), 0)

    return note


def _save(booster: Booster, job: Job) -> None:
    booster.save(job.out)
    if booster.all_rounds is not booster:
        booster.all_rounds.save(Path(job.out).with_name("all.rrk"))
    result = {
        "best_round": booster.best_round,
        "history": {
            name: {metric: values.tolist() for metric, values in metrics.items()}
            for name, metrics in booster.history.items()
        },
    }
    place = Path(job.out).with_name("result")
    part = place.with_name(".result")
    part.write_text(json.dumps(result))
    part.replace(place)


def _failed(error: BaseException, notes: Path, rank: int) -> int:
    """Write the error to a file for the process that started the workers; returns the exit code."""
    code, message = (
        (INTERRUPTED, "interrupted")
        if isinstance(error, KeyboardInterrupt)
        else (INTERNAL, str(error))
    )
    if isinstance(error, Exception):
        code, message = exit_code_of(error)
    report = {
        "kind": type(error).__name__,
        "message": message,
        "code": getattr(error, "code", None),
        "exit": code,
    }
    part = notes / f".error-{rank}"
    part.write_text(json.dumps(report))
    part.replace(notes / f"error-{rank}")
    return code


def _read_shards(
    shards: Shards, numbers: Sequence[int], team: _rustrank.Team, num_threads: int | None
) -> Dataset:
    """Read the shards of this worker, which may have none; all workers call this."""
    not_empty = [number for number in numbers if shards.shards[number].docs]
    files = shards.paths(not_empty)
    reading = ReadOptions(None, "error", num_threads)
    if shards.kind == "letor":
        return _of_letor(files, team, reading)
    return _of_parquet(shards, files, team, reading)


def _of_letor(files: list[Path], team: _rustrank.Team, reading: ReadOptions) -> Dataset:
    text = LetorOptions(_MOST_FEATURES, False)
    bins = bins_of(None)
    paths = [str(file) for file in files]
    core, ids = _rustrank.Dataset.from_letor(paths, text, bins, reading, team)
    made = Dataset.__new__(Dataset)
    made._settle(core, None, numbers_if_all(ids))
    return made


def _of_parquet(
    shards: Shards, files: list[Path], team: _rustrank.Team, reading: ReadOptions
) -> Dataset:
    roles = {"label": shards.columns["label"], "qid": shards.columns["qid"]}
    # Without shards, the columns are those of the first file.
    parquet = ParquetFiles(files or shards.paths([0]), roles, None, _ROWS)
    source = Batches(parquet)
    bins = bins_of(None)
    assert isinstance(bins, tuple)  # noqa: S101 - without `like`
    sampler = _rustrank.Sampler(len(parquet.features), bins[:2], bins[3:], reading)
    columns = Columns()
    for batch, table in source.read() if files else ():
        columns.add(batch, table.num_rows)
        for block in table.blocks():
            sampler.push(block)
    binning = sampler.choose(team)
    if not files:
        return _empty(binning, parquet.features)
    builder = _rustrank.Builder(binning, source.num_rows, reading)
    for _, table in source.read():
        for block in table.blocks():
            builder.push(block)
    rows = Rows(source.num_rows, columns.joined("y"), columns.joined("qid"), None)
    made = Dataset.__new__(Dataset)
    made._settle(builder.finish(rows), parquet.features, rows.query_ids)
    return made


def _empty_like(dataset: Dataset) -> Dataset:
    """Return a data set without documents, with the bins of another."""
    return _empty(dataset._core.binning, dataset._names)


def _empty(binning: _rustrank.Binning, names: list[str] | None) -> Dataset:
    made = Dataset.__new__(Dataset)
    made._settle(_rustrank.Dataset.empty(binning), names, np.empty(0, np.int64))
    return made


def _query_names(dataset: Dataset) -> list[Any]:
    """Return the names of this worker's queries."""
    return [str(one) for one in dataset.query_ids]
