"""Measured processes: one measurement each, so that none warms or fragments another's memory.

A time of one run means little on a shared machine, a ratio within a run means more; of repeats the
least counts, since noise only adds. `compare.py --measure KIND JSON` is the measured side.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ENTRY = Path(__file__).resolve().parents[1] / "compare.py"


def run_measured(kind: str, job: dict[str, Any], threads: int) -> Any:
    """Run one job in a process of its own and return what it answers."""
    # Threads that wait by spinning would count as work: let the peers' sleep.
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    command = [sys.executable, str(ENTRY), "--measure", kind, json.dumps(job)]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def status_kb(field: str) -> int:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    msg = f"/proc/self/status has no {field}"
    raise RuntimeError(msg)


class PeakMemory:
    """The peak of resident memory above what was resident when this was made."""

    def __init__(self) -> None:
        # What was freed before must not hide what will be asked for.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # the high-water mark starts again
        self.resident = status_kb("VmRSS")

    def megabytes(self) -> float:
        return (status_kb("VmHWM") - self.resident) / 1024


def say(line: str) -> None:
    """Report progress: the tables alone go to standard output."""
    print(f"  {line}", file=sys.stderr, flush=True)


def _version(name: str) -> str:
    """The version of a package; XGBoost without GPU code is a distribution of another name."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return metadata.version(f"{name}-cpu")


def machine(*peers: str) -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    versions = ", ".join(f"{name} {_version(name)}" for name in (*peers, "numpy"))
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}, {versions}"
