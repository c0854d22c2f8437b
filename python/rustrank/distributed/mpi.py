"""Communication between workers: collectives over MPI, by mpi4py.

mpi4py is imported only in workers. Messages are plain numbers and bytes, never pickles. MPI neither
encrypts nor authenticates: workers belong in a trusted network.

Every operation has a deadline. When it passes, or MPI reports that a worker is lost, the whole job is
ended with the exit code `LOST`: MPI still owns the buffers of the pending operation, so the call cannot
return to its caller.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import CommError, ParamError
from rustrank.inputs.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOST", "Ranks", "launched_world_size", "require_world", "world"]

#: The exit code of a job that lost a worker, and may succeed when started again.
LOST = 75
#: The environment variables in which MPI launchers pass the number of processes.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
#: How often a request is polled before the process yields and reads the clock.
_SPINS = 200


def launched_world_size() -> int | None:
    """Return the number of processes that an MPI launcher started; None without a launcher."""
    for name in _SIZES:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


def world() -> Any:
    """Return the communicator of all processes of the job."""
    try:
        from mpi4py import MPI
    except ImportError:
        message = "several workers need mpi4py: pip install 'rustrank[mpi-system]'"
        raise ImportError(message, name="mpi4py") from None
    return MPI.COMM_WORLD


def require_world(size: int, workers: int | None) -> None:
    """Raise an error unless MPI has the expected number of processes.

    With a wrong launcher, each process would be alone and would train a model of its own.

    Raises
    ------
    CommError
        MPI sees fewer processes than the launcher started: the launcher belongs to another MPI.
    ParamError
        The number of processes is not the number of workers asked for.
    """
    launched = launched_world_size()
    if launched is not None and launched != size:
        message = (
            f"the launcher started {launched} processes, but MPI sees {size}: mpiexec is of another MPI than "
            "the one mpi4py has loaded; use the mpiexec that stands beside this Python"
        )
        raise CommError(message, code="comm.world")
    if workers is not None and workers != size:
        message = f"workers: got {workers}, but MPI started {size} processes"
        raise ParamError(message, code="workers")


def report(what: str) -> None:
    """Write a line to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"rustrank: {what}\n")
        sys.stderr.flush()


def save_note(folder: str, kind: str, rank: int, note: dict[str, Any]) -> None:
    """Write a note of a worker, such as its error, to the folder of the job."""
    replace_file(Path(folder) / f"{kind}-{rank}", json.dumps(note))


def notes_in(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Read the notes of all workers, in the order of their ranks."""
    paths = sorted(folder.glob(f"{kind}-*"), key=lambda path: int(path.name.partition("-")[2]))
    return [json.loads(path.read_text()) for path in paths]


class Ranks:
    """The collectives of an MPI communicator that the extension calls during training.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; it is duplicated, so that messages of others do not interfere.
    deadline : float
        The most seconds that an operation may take.
    shrinks : bool, default False
        Whether an operation raises an error when a worker is lost, after which the surviving workers may
        continue (`survivors`), instead of ending the job.
    notes : path, optional
        The folder of the job, where a lost worker is reported to the process that started the workers.
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
        #: Whether a worker was lost, and the surviving ones may continue.
        self.is_lost = False
        self.rank: int = self._comm.rank
        self.size: int = self._comm.size
        #: The progress of training, for the message about a lost worker.
        self.progress = "at the start"

    def sum_i64(self, values: memoryview) -> None:
        """Sum 64-bit integers in place."""
        self._reduce(values, self._mpi.INT64_T, self._mpi.SUM)

    def max_f64(self, values: memoryview) -> None:
        """Replace each double by the maximum over all ranks, in place."""
        self._reduce(values, self._mpi.DOUBLE, self._mpi.MAX)

    def _reduce(self, values: memoryview, kind: Any, operation: Any) -> None:
        message = [values, values.nbytes // 8, kind]
        self._complete(self._comm.Iallreduce, self._mpi.IN_PLACE, message, operation)

    def allgather(self, own: bytes) -> list[bytes]:
        """Return the bytes of each rank."""
        lengths = np.empty(self.size, np.int64)
        self._complete(self._comm.Iallgather, np.array([len(own)]), lengths)
        ends = np.cumsum(lengths)
        whole = np.empty(int(ends[-1]), np.uint8)
        counts, starts = lengths.tolist(), (ends - lengths).tolist()
        byte = self._mpi.BYTE
        message = [whole, counts, starts, byte]
        self._complete(self._comm.Iallgatherv, [own, len(own), byte], message)
        return [whole[end - count : end].tobytes() for count, end in zip(counts, ends, strict=True)]

    def broadcast(self, root: int, own: bytes) -> bytes:
        """Return the bytes of rank ``root``."""
        length = np.array([len(own)])
        self._complete(self._comm.Ibcast, length, root)
        whole = np.empty(int(length[0]), np.uint8)
        if self.rank == root:
            whole[:] = np.frombuffer(own, np.uint8)
        self._complete(self._comm.Ibcast, [whole, len(whole), self._mpi.BYTE], root)
        return whole.tobytes()

    def abort(self, code: int, message: str) -> None:
        """End all processes of the job."""
        report(f"rank {self.rank}: {message}")
        self._comm.Abort(code)

    def _complete(self, begin: Callable[..., Any], *arguments: Any) -> None:
        """Start an operation and poll it until it is complete or the deadline has passed."""
        end = None
        try:
            request = begin(*arguments)
            while not any(request.Test() for _ in range(_SPINS)):
                # The clock is read only now, since most operations are complete before.
                now = time.monotonic()
                end = now + self._deadline if end is None else end
                if now > end:
                    self._lost(f"a rank has not answered for {self._deadline:g} s")
                os.sched_yield()
        except self._mpi.Exception as error:
            why = f"MPI says: {error.Get_error_string()}"
            if self._shrinks:
                # The code is not always ERR_PROC_FAILED: an operation of several steps may fail with
                # ERR_OTHER. `survivors` finds out whether a worker is lost.
                self.is_lost = True
                raise CommError(why, code="comm.lost") from None
            self._lost(why)

    def _lost(self, why: str) -> None:
        """Report that a worker does not answer, and end the job."""
        if self._notes is not None:
            with contextlib.suppress(OSError):
                save_note(self._notes, "lost", self.rank, {"why": why})
        self.abort(LOST, f"a worker was lost {self.progress}: {why}")

    def survivors(self) -> Any:
        """Return a communicator of the surviving workers; all of them call this."""
        # Wakes workers that wait for a message of the lost one.
        self._comm.Revoke()
        remaining = self._comm.Shrink()
        if remaining.size == self.size:
            self._lost("MPI has failed, but all workers are there")
        return remaining
