"""A worker that fails where it is told to: ``python -m mpi4py worker_with_faults.py JOB WHAT RANK ROUND``.

Not a test: the tests of workers start it in place of `rustrank.training.worker`.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from rustrank.distributed import worker
from rustrank.distributed.jobs import Job
from rustrank.training.train import trained

if TYPE_CHECKING:
    from pathlib import Path


def main(path: str, what: str, rank: int, at: int) -> int:
    """Do the job of a worker, with a fault in the given round of the given rank."""
    watching = worker._progress_callback

    def with_fault(job: Job, ranks: Any) -> Any:
        note = watching(job, ranks)

        def failing(latest: Any) -> None:
            note(latest)
            if ranks.rank != rank or latest.number != at:
                return
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif what == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            elif what == "raise":
                message = "a fault of the test"
                raise RuntimeError(message)

        return failing

    def with_other_options(given: Path) -> Job:
        job = load(given)
        from mpi4py import MPI

        if rank == MPI.COMM_WORLD.rank:
            job.options["learning_rate"] = 0.35
        return job

    worker._progress_callback = with_fault
    if what == "differ":
        load, Job.load = Job.load, with_other_options  # type: ignore[method-assign,assignment]
    return worker.main([path], trained)


if __name__ == "__main__":
    _, path, what, rank, at = sys.argv
    sys.exit(main(path, what, int(rank), int(at)))
