"""One worker of a training, which `rustrank.training.worker` is the process of.

A worker reads its shards and trains together with the others; the first worker writes the result. Each
writes its process id and its error, if any, into the folder of the job, and ends with the exit code of
the error.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.data.batches import Batches, ParquetFiles
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import (
    BaseIfNeeded,
    LetorOptions,
    ReadOptions,
    base_of_text,
    bins_of,
)
from rustrank.data.empty import empty_dataset
from rustrank.distributed.jobs import Job
from rustrank.distributed.mpi import Ranks, report, require_world, save_note, world
from rustrank.distributed.shards import Shards
from rustrank.errors import CommError
from rustrank.exit_codes import INTERNAL, INTERRUPTED, exit_code_of
from rustrank.inputs.files import replace_file
from rustrank.inputs.queries import numbers_if_all
from rustrank.parameters.plan import train_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rustrank.model.booster import Booster
    from rustrank.training.rounds import Round

    #: `rustrank.training.train.trained`, which is in a package above this one.
    Train = Callable[[Dataset, dict[str, Any], _rustrank.Team, _rustrank.Booster | None], Booster]

__all__ = ["main", "work"]

#: The defaults of `Dataset.from_letor` and `Dataset.from_parquet`.
_ROWS = 65_536


def main(arguments: Sequence[str], train: Train) -> int:
    """Run the job of a file with a training function, and return the exit code."""
    path, comm = Path(arguments[0]), world()
    (path.parent / f"rank-{comm.rank}").write_text(str(os.getpid()))
    try:
        booster, is_first = work(Job.load(path), comm, train)
        if is_first:
            replace_file(path.parent / "result", pickle.dumps((booster, booster.all_rounds)))
    except BaseException as error:
        return _failed(error, str(path.parent), comm.rank)
    return 0


def work(job: Job, comm: Any, train: Train) -> tuple[Booster, bool]:
    """Train together with the other processes of an MPI communicator.

    Returns the booster, the same in all of them, and whether this is the first surviving worker.
    """
    options = job.options
    require_world(comm.size, options["workers"])
    found = None
    while True:
        ranks = Ranks(comm, options["deadline"], options["on_loss"] == "shrink", job.folder)
        try:
            return train(*_arguments(job, comm, ranks), found), ranks.rank == 0
        except CommError as error:
            if not ranks.is_lost:
                raise
            comm = ranks.survivors()
            if comm.rank == 0:
                left = "worker is" if comm.size == 1 else "workers are"
                report(f"a worker was lost {ranks.progress}: {comm.size} {left} left and go on")
            found = _common_checkpoint(comm, options["deadline"], vars(error).get("_checkpoint"))


def _arguments(job: Job, comm: Any, ranks: Ranks) -> tuple[Dataset, dict[str, Any], _rustrank.Team]:
    """Return the arguments of the training function: this worker's documents, options, and team."""
    team = _rustrank.Team(ranks)
    options = job.train_options()
    options["num_threads"] = options["num_threads"] or _threads(comm)
    shards, overlap = Shards.load(job.options["dataset"]), job.options["overlap"]
    whole = options["mode"] == "features"
    numbers = shards.of_worker(0, 1) if whole else _own_shards(shards, overlap, comm)
    shards.check(numbers)
    base = None if options["base"] is None else BaseIfNeeded(options["base"])
    if whole:
        dataset = shards.dataset(numbers, base=base, num_threads=options["num_threads"])
    else:
        reading = ReadOptions(None, "error", options["num_threads"])
        dataset = _read_shards(shards, numbers, team, reading, base)
    names = [str(one) for one in dataset.query_ids]
    team.check_queries(dataset._core, names, whole or overlap > 0)
    given = options | {
        "valid": {
            name: _valid(path, job, comm, dataset) for name, path in options["valid"].items()
        },
        "callbacks": _progress_callback(job, ranks),
    }
    return dataset, train_options(given), team


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


def _own_shards(shards: Shards, overlap: int, comm: Any) -> list[int]:
    """Return the shards of this worker, and with ``overlap`` also those of the next workers."""
    own = [
        number
        for after in range(overlap + 1)
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
    ``mode="features"`` every worker reads everything. The documents are scored by the base of ``like``.
    """
    whole, num_threads = job.options["mode"] == "features", job.options["num_threads"]
    if Path(path).is_dir() or path.endswith(".json"):
        shards = Shards.load(path)
        own = shards.of_worker(0, 1) if whole else shards.of_worker(comm.rank, comm.size)
        shards.check(own)
        if any(shards.shards[number].docs for number in own):
            return shards.dataset(own, like=like, num_threads=num_threads)
    elif whole or comm.rank == 0:
        return Dataset.from_letor(path, like=like, num_threads=num_threads)
    return empty_dataset(like._core.binning, like._names, like._base)


def _progress_callback(job: Job, ranks: Ranks) -> Any:
    """Return a call-back that records the current round, for messages about lost workers."""
    file = None
    if ranks.rank == 0 and job.folder is not None:
        file = os.open(Path(job.folder) / "round", os.O_WRONLY | os.O_CREAT, 0o644)

    def note(latest: Round) -> None:
        ranks.progress = f"in round {latest.number + 1}"
        if file is not None:
            os.pwrite(file, str(latest.number + 1).encode(), 0)

    return note


def _failed(error: BaseException, folder: str, rank: int) -> int:
    """Write the error to a file for the process that started the workers; returns the exit code."""
    if isinstance(error, Exception):
        code, message = exit_code_of(error)
    elif isinstance(error, KeyboardInterrupt):
        code, message = INTERRUPTED, "interrupted"
    else:
        code, message = INTERNAL, str(error)
    kind, of_error = type(error).__name__, getattr(error, "code", None)
    note = {"kind": kind, "message": message, "code": of_error, "exit": code}
    save_note(folder, "error", rank, note)
    return code


def _read_shards(
    shards: Shards,
    numbers: Sequence[int],
    team: _rustrank.Team,
    reading: ReadOptions,
    base: BaseIfNeeded | None,
) -> Dataset:
    """Read the shards of this worker, which may have none; all workers call this."""
    files = shards.paths([number for number in numbers if shards.shards[number].docs])
    bins = bins_of(None, query_ranks=False)
    if shards.kind == "letor":
        scorer = base_of_text(base, None, text := LetorOptions())
        core, ids = _rustrank.Dataset.from_letor(list(map(str, files)), text, bins, reading, team)
        scorer = scorer if core.has_base_scores else None
        query_ids = numbers_if_all(ids)
        return Dataset.__new__(Dataset)._finish(core, None, query_ids, base=scorer, warns=False)
    roles = {"label": shards.columns["label"], "qid": shards.columns["qid"]}
    # Without shards, the columns are those of the first file.
    parquet = ParquetFiles(files or shards.paths([0]), roles, None, _ROWS)
    assert isinstance(bins, tuple)  # noqa: S101 - without `like`
    sampler = _rustrank.Sampler(len(parquet.features), bins, reading)
    for _, table in Batches(parquet).read() if files else ():
        for block in table.blocks():
            sampler.push(block)
    binning = sampler.choose(team)
    binned = empty_dataset(
        binning, parquet.features, None if base is None else base.for_bins(binning)
    )
    if not files:
        return binned
    return Dataset.from_batches(parquet, like=binned, num_threads=reading.num_threads)
