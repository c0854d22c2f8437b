"""MPI, by mpi4py, as what connects the workers of a training.

Nothing here is imported but in a worker. Messages are plain numbers and bytes: no pickles. MPI
neither encrypts nor checks who speaks: workers belong in a network that is trusted.

No operation waits for ever. Where a deadline is over, or MPI reports that a worker is lost, the whole
job is ended from here, with the exit code `LOST`: the buffers of an operation under way belong to MPI,
so there is no way back to the caller.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import CommError, ParamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rustrank import _rustrank

__all__ = ["LOST", "LossReport", "Ranks", "Workers", "require_world", "world", "world_size_said"]

#: The exit code of a job that lost a worker: starting it again makes sense.
LOST = 75
#: What the launchers of MPI tell each process: how many there are.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
#: So many looks at a request before other processes are let in, and the clock is read.
_SPINS = 200


@dataclass(frozen=True)
class Workers:
    """The processes that train together, of which this is one."""

    team: _rustrank.Team
    mode: str

    @property
    def is_first(self) -> bool:
        """Whether this one writes files and shows progress."""
        rank: int = self.team.rank
        return rank == 0


def world_size_said() -> int | None:
    """Return how many processes the launcher says there are; None if no launcher started this one."""
    for name in _SIZES:
        said = os.environ.get(name, "")
        if said.isdigit():
            return int(said)
    return None


def world() -> Any:
    """Return the communicator of all processes that MPI has started."""
    try:
        from mpi4py import MPI
    except ImportError:
        message = "several workers need mpi4py: pip install 'rustrank[mpi-system]'"
        raise ImportError(message, name="mpi4py") from None
    return MPI.COMM_WORLD


def require_world(size: int, workers: int | None) -> None:
    """Refuse a world of another size than was asked for: each process would train a model of its own.

    Raises
    ------
    CommError
        MPI sees fewer processes than its launcher started, as when the launcher is of another MPI.
    ParamError
        There are other numbers of processes and of workers.
    """
    said = world_size_said()
    if said is not None and said != size:
        message = (
            f"the launcher started {said} processes, but MPI sees {size}: mpiexec is of another MPI than "
            "the one mpi4py has loaded; use the mpiexec that stands beside this Python"
        )
        raise CommError(message, code="comm.world")
    if workers is not None and workers != size:
        message = f"workers: got {workers}, but MPI started {size} processes"
        raise ParamError(message, code="workers")


@dataclass(frozen=True)
class LossReport:
    """What a worker reports of another one that it has lost, before it ends the job.

    Attributes
    ----------
    rank : int
        The worker that reports.
    why : str
        What it has seen: MPI's error, or that the deadline has passed.
    """

    rank: int
    why: str

    def save(self, folder: Path) -> None:
        """Write the report to the folder of a job, whole or not at all."""
        part = folder / f".lost-{self.rank}"
        part.write_text(json.dumps(asdict(self)))
        part.replace(folder / f"lost-{self.rank}")

    @classmethod
    def all_in(cls, folder: Path) -> list[LossReport]:
        """Read the reports of all workers, in the order of their ranks."""
        reports = [cls(**json.loads(path.read_text())) for path in folder.glob("lost-*")]
        return sorted(reports, key=lambda report: report.rank)


class Ranks:
    """The processes of an MPI communicator, as the compiled half asks for them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        It is duplicated: messages of others do not get in between.
    deadline : float
        How many seconds an operation may take.
    shrinks : bool, default False
        Whether an operation fails with an error when a worker is lost, after which those that are
        left may go on (`rest`), instead of ending the job.
    notes : path, optional
        The job's folder: a report of a lost worker is written to it for the process that started
        the workers.
    """

    def __init__(
        self, comm: Any, deadline: float, shrinks: bool = False, notes: str | None = None
    ) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = comm.Dup()
        self._comm.Set_errhandler(MPI.ERRORS_RETURN)
        self._deadline = deadline
        self._shrinks = shrinks
        self._notes = notes
        #: Whether a worker was lost, and those that are left may go on.
        self.is_lost = False
        self.rank: int = self._comm.rank
        self.size: int = self._comm.size
        #: What is said of where training is, for the message that a worker is lost.
        self.doing = "at the start"

    def sum_i64(self, values: memoryview) -> None:
        """Sum 64-bit integers in place."""
        mpi = self._mpi
        told = [values, values.nbytes // 8, mpi.INT64_T]
        self._done(self._comm.Iallreduce, mpi.IN_PLACE, told, mpi.SUM)

    def max_f64(self, values: memoryview) -> None:
        """Make each double the largest of all ranks."""
        mpi = self._mpi
        told = [values, values.nbytes // 8, mpi.DOUBLE]
        self._done(self._comm.Iallreduce, mpi.IN_PLACE, told, mpi.MAX)

    def allgather(self, own: bytes) -> list[bytes]:
        """Return the bytes of each rank."""
        mpi = self._mpi
        lengths = np.empty(self.size, np.int64)
        self._done(self._comm.Iallgather, np.array([len(own)]), lengths)
        ends = np.cumsum(lengths)
        whole = np.empty(int(ends[-1]), np.uint8)
        counts, starts = lengths.tolist(), (ends - lengths).tolist()
        told = [whole, counts, starts, mpi.BYTE]
        self._done(self._comm.Iallgatherv, [own, len(own), mpi.BYTE], told)
        return [whole[end - count : end].tobytes() for count, end in zip(counts, ends, strict=True)]

    def broadcast(self, root: int, own: bytes) -> bytes:
        """Return the bytes of rank ``root``."""
        length = np.array([len(own)])
        self._done(self._comm.Ibcast, length, root)
        if self.rank != root:
            whole = np.empty(int(length[0]), np.uint8)
        else:
            whole = np.frombuffer(own, np.uint8).copy()
        self._done(self._comm.Ibcast, [whole, len(whole), self._mpi.BYTE], root)
        return whole.tobytes()

    def barrier(self) -> None:
        """Return once all ranks have come here."""
        self._done(self._comm.Ibarrier)

    def abort(self, code: int, message: str) -> None:
        """End all processes of the job."""
        sys.stderr.write(f"rustrank: rank {self.rank}: {message}\n")
        sys.stderr.flush()
        self._comm.Abort(code)

    def free(self) -> None:
        """Give the communicator back."""
        self._comm.Free()

    def _done(self, begin: Callable[..., Any], *arguments: Any) -> None:
        """Begin an operation and look at it until it is over."""
        end = None
        try:
            request = begin(*arguments)
            while not any(request.Test() for _ in range(_SPINS)):
                # Not the clock at first: most operations are over by now.
                now = time.monotonic()
                end = now + self._deadline if end is None else end
                if now > end:
                    self._lost(f"a rank has not answered for {self._deadline:g} s")
                os.sched_yield()
        except self._mpi.Exception as error:
            why = f"MPI says: {error.Get_error_string()}"
            if self._shrinks:
                # Not always ERR_PROC_FAILED: an operation in steps may say ERR_OTHER. Who is left
                # will show.
                self.is_lost = True
                raise CommError(why, code="comm.lost") from None
            self._lost(why)

    def _lost(self, why: str) -> None:
        """Report that a worker does not answer, and end the job."""
        if self._notes is not None:
            report = LossReport(self.rank, why)
            with contextlib.suppress(OSError):
                report.save(Path(self._notes))
        self.abort(LOST, f"a worker was lost {self.doing}: {why}")

    def rest(self) -> Any:
        """Return a communicator of the workers that are left; all of them call this."""
        # Others may wait for an answer that will not come.
        self._comm.Revoke()
        rest = self._comm.Shrink()
        if rest.size == self.size:
            self._lost("MPI has failed, but all workers are there")
        return rest
