"""Faults of input and output: each call of the system fails, is interrupted, is cut short, or ends the process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "io_faults"
#: Of the entry points that make many calls, every so many are tried here; `make io-faults` tries all.
STEP = os.environ.get("RUSTRANK_IO_FAULTS_STEP", "11")
#: Each is killed at so many random moments; `make io-faults` says 200.
KILLS = os.environ.get("RUSTRANK_KILLS", "2")
COMPILER = shutil.which("cc")


@pytest.mark.skipif(
    sys.platform != "linux", reason="calls of the system are replaced by LD_PRELOAD"
)
@pytest.mark.skipif(COMPILER is None, reason="replacing calls of the system needs a C compiler")
def test_files_are_old_or_new_whatever_call_fails(tmp_path: Path) -> None:
    library = tmp_path / "interpose.so"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-ldl"]
    subprocess.run([str(COMPILER), SOURCES / "interpose.c", "-o", library, *flags], check=True)
    done = subprocess.run(
        [sys.executable, SOURCES / "run.py", tmp_path / "files", STEP, KILLS],
        env=os.environ | {"LD_PRELOAD": str(library)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 wrong") == 12
