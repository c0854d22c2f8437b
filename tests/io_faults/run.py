"""Lets each call of the system on a file fail once, for each entry point, and checks what is left.

Run with the library of ``interpose.c`` in LD_PRELOAD, a folder for its files, a step, a number of kills, and names of
entry points or none for all. Every call is tried, or with a step above 1 every so many of the entry points that make
many. Each entry point is besides killed at so many random moments. Prints a line for each entry point: its calls of
the system, how many faults were tried, and what was wrong.

A call fails with an error (the disk is full, input or output fails), is interrupted by a signal, reads or writes half
of what was asked, or the process is killed before it or in the middle of it. After a failure there is one clear
error, the old or the new content, and no temporary file. After an interrupt or half a read or write there is the new
content. After a kill there is the old or the new content, and the same call then works.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import random
import select
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entry_points import ENTRY_POINTS, EntryPoint

COUNT, FAIL, INTERRUPT, SHORT, KILL = range(5)
KINDS = {FAIL: "failed", INTERRUPT: "interrupted", SHORT: "half done", KILL: "killed"}
#: Seconds after which a child hangs.
_PATIENCE = 60
#: More calls of the system than these are many.
_MANY = 30
_SHIM = ctypes.CDLL(None)
_SHIM.io_faults_calls.restype = ctypes.c_long
_SHIM.io_faults_call.restype = ctypes.c_char_p
_SHIM.io_faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long]


@dataclass
class Ended:
    """How a child ended: what it returned or raised, the calls it made, and the one that was chosen."""

    value: Any = None
    error: str | None = None
    calls: int = 0
    call: str = "none"
    signal: int = 0


def in_child(
    entry: EntryPoint, folder: Path, kind: int, number: int, seconds: float | None = None
) -> Ended:
    """Run an entry point in a forked process in which the call of that number fails, or kill it after some seconds."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _as_child(entry, folder, kind, number, writes)
    os.close(writes)
    if seconds is not None and not select.select([reads], [], [], seconds)[0]:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reads, "rb") as stream:
        told = stream.read()
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status := os.waitpid(child, 0)[1]) else 0
    return pickle.loads(told) if told else Ended(signal=ended or -1)  # noqa: S301 - of our child


def _as_child(entry: EntryPoint, folder: Path, kind: int, number: int, writes: int) -> None:
    signal.alarm(_PATIENCE)
    told = Ended()
    _SHIM.io_faults_arm(str(folder).encode(), kind, number)
    try:
        told.value = entry.act(folder)
    except BaseException as error:
        cause = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
        told.error = cause if _is_clear(error, folder) else f"unclear: {cause}"
    _SHIM.io_faults_disarm()
    told.calls, told.call = _SHIM.io_faults_calls(), _SHIM.io_faults_call().decode()
    with os.fdopen(writes, "wb") as stream:
        pickle.dump(told, stream)
    os._exit(0)


def _is_clear(error: BaseException, folder: Path) -> bool:
    """Whether an error is an OSError, of rustrank's or Python's, and names the file, or is the exit of a command."""
    return isinstance(error, OSError) and (str(folder) in str(error) or "exit code" in str(error))


class Trial:
    """One entry point: its state before and after, and what went wrong."""

    def __init__(self, entry: EntryPoint, place: Path) -> None:
        self.entry, self.place = entry, place
        self.folder, self.kept = place / "work", place / "kept"
        self.wrong: list[str] = []
        shutil.rmtree(place, ignore_errors=True)
        self.folder.mkdir(parents=True)
        entry.prepare(self.folder)
        shutil.copytree(self.folder, self.kept)
        self.old = entry.state(self.folder)
        since = time.perf_counter()
        whole = in_child(entry, self.folder, COUNT, -1)
        self.seconds = time.perf_counter() - since
        if whole.error or whole.signal:
            raise SystemExit(f"{entry.name} fails without faults: {whole}")
        self.calls, self.value, self.new = whole.calls, whole.value, entry.state(self.folder)

    def renew(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)

    def hidden(self) -> list[str]:
        """Return the temporary files that are left."""
        return [path.name for path in self.folder.rglob("*") if path.name.startswith(".")]

    def state(self) -> object:
        try:
            return self.entry.state(self.folder)
        except Exception as error:
            return f"cannot be read: {type(error).__name__}: {error}"

    def run(self, kind: int, number: int) -> None:
        """Try one fault."""
        self.renew()
        ended = in_child(self.entry, self.folder, kind, number)
        where = f"{self.entry.name}, call {number} of {self.calls} ({ended.call}) {KINDS[kind]}"
        found = self.state()
        if ended.signal and kind != KILL:
            self.wrong.append(f"{where}: ended by signal {ended.signal}")
        elif kind == KILL:
            self._check_kill(where, ended, found)
        elif kind == FAIL:
            self._check_failure(where, ended, found)
        elif ended.error or found != self.new or ended.value != self.value:
            self.wrong.append(f"{where}: {ended.error or 'another result'}")

    def kill(self, moments: random.Random) -> None:
        """Kill the process at a moment."""
        self.renew()
        seconds = moments.uniform(0, self.seconds)
        ended = in_child(self.entry, self.folder, COUNT, -1, seconds)
        where = f"{self.entry.name} killed after {seconds:.4f} s"
        if ended.signal not in (0, signal.SIGKILL) or ended.error:
            self.wrong.append(f"{where}: {ended}")
        self._check_state(where, self.state())
        self._check_again(where)

    def _check_failure(self, where: str, ended: Ended, found: object) -> None:
        if ended.error and ended.error.startswith("unclear"):
            self.wrong.append(f"{where}: {ended.error}")
        if not ended.error and (found != self.new or ended.value != self.value):
            self.wrong.append(f"{where}: no error, and the result is another")
        self._check_state(where, found)
        if self.hidden() and ended.call != "unlink":
            self.wrong.append(f"{where}: left {self.hidden()}")
        self._check_again(where)

    def _check_kill(self, where: str, ended: Ended, found: object) -> None:
        if ended.signal != signal.SIGKILL:
            self.wrong.append(f"{where}: was not killed, {ended}")
        self._check_state(where, found)
        self._check_again(where)

    def _check_state(self, where: str, found: object) -> None:
        if self.entry.goes_on:
            if isinstance(found, str) and found.startswith("cannot"):
                self.wrong.append(f"{where}: {found}")
        elif found not in (self.old, self.new):
            told = found if isinstance(found, str) else "neither the old nor the new content"
            self.wrong.append(f"{where}: {told}")

    def _check_again(self, where: str) -> None:
        """Check that the same call then works."""
        again = in_child(self.entry, self.folder, COUNT, -1)
        if again.error or again.signal or again.value != self.value or self.state() != self.new:
            self.wrong.append(f"{where}: and again: {again.error or 'another result'}")


def main(place: str, step: str = "1", kills: str = "0", *names: str) -> int:
    """Try the faults of the named entry points, or of all."""
    wrong = 0
    for entry in ENTRY_POINTS:
        if names and entry.name not in names:
            continue
        since = time.perf_counter()
        trial = Trial(entry, Path(place).resolve())
        numbers = range(1, trial.calls + 1, int(step) if trial.calls > _MANY else 1)
        for kind in KINDS:
            for number in numbers:
                trial.run(kind, number)
        moments = random.Random(entry.name)  # noqa: S311 - reproducible
        for _ in range(int(kills)):
            trial.kill(moments)
        faults, took = len(KINDS) * len(numbers) + int(kills), time.perf_counter() - since
        print(
            f"{entry.name}: {trial.calls} calls, {faults} faults, {len(trial.wrong)} wrong ({took:.1f} s)",
            flush=True,
        )
        for one in trial.wrong:
            print(f"  {one}")
        wrong += len(trial.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
