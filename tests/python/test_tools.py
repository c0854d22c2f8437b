"""A machine without the tools, or with old ones, hears what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "scripts" / "check-tools"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell script")


def fake(folder: Path, name: str, body: str) -> None:
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{body}\n", "ascii")
    tool.chmod(0o755)


def check(folder: Path, what: str) -> subprocess.CompletedProcess[str]:
    # Nothing but the fakes can be found, and the two programs the script itself needs.
    for name in ("sed", "printf"):
        fake(folder, name, f'PATH=/usr/bin:/bin exec {name} "$@"')
    return subprocess.run(
        ["/bin/sh", str(CHECK), what],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_good_tools_pass_silently(tmp_path: Path) -> None:
    fake(tmp_path, "cargo", "echo 'cargo 1.89.0 (c24e10642 2025-06-23)'")
    fake(tmp_path, "python3", f'exec {sys.executable} "$@"')
    done = check(tmp_path, "all")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_missing_tools_are_named_both_at_once(tmp_path: Path) -> None:
    done = check(tmp_path, "all")
    assert done.returncode == 1
    assert "cargo was not found" in done.stderr
    assert "python3 was not found" in done.stderr


@pytest.mark.parametrize("version", ["1.88.0", "1.9.3", "0.90.0"])
def test_an_old_cargo_is_refused(tmp_path: Path, version: str) -> None:
    fake(tmp_path, "cargo", f"echo 'cargo {version} (abc 2025-01-01)'")
    done = check(tmp_path, "cargo")
    assert done.returncode == 1
    assert f"got 'cargo {version}" in done.stderr
    assert "expected 1.89 or newer" in done.stderr


def test_a_cargo_that_does_not_run_is_refused(tmp_path: Path) -> None:
    fake(tmp_path, "cargo", "echo 'no default toolchain'; exit 1")
    done = check(tmp_path, "cargo")
    assert done.returncode == 1
    assert "no default toolchain" in done.stderr


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    fake(tmp_path, "python3", 'case "$2" in *print*) echo 3.9;; *) exit 1;; esac')
    done = check(tmp_path, "python")
    assert done.returncode == 1
    assert "got 3.9, expected 3.10 or newer" in done.stderr


def test_a_python_without_venv_is_refused(tmp_path: Path) -> None:
    fake(tmp_path, "python3", 'case "$2" in *print*) echo 3.11;; *ensurepip*) exit 1;; esac')
    done = check(tmp_path, "python")
    assert done.returncode == 1
    assert "cannot make virtual environments" in done.stderr
