"""Standard input, output and error of commands."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rustrank.errors import ParamError
from rustrank.formatting import printable

if TYPE_CHECKING:
    import argparse

    from rustrank.model.booster import Booster

#: What stands for standard input, or output.
PIPE = "-"


def path_of(name: str) -> str:
    """Return the path of a file argument, where ``-`` is standard input."""
    return "/dev/stdin" if name == PIPE else name


def require_output() -> None:
    """Raise `OSError` if standard output is closed."""
    # Python has no stream where the shell closed it.
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")


def flush_output() -> None:
    """Flush standard output."""
    require_output()
    sys.stdout.flush()


def close_output() -> None:
    """Discard buffered output, so that the interpreter can exit without an error."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def complain(what: str) -> None:
    """Write to standard error, if that is possible."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"rustrank: {printable(what)}\n")


def print_result(options: argparse.Namespace, plain: Any, text: object) -> int:
    """Print a result as text, or as JSON with ``--json``, and return 0.

    It goes to standard error if a file that the command writes goes to standard output.
    """
    piped = any(getattr(options, name) == PIPE for name in options.parser.writes)
    stream = sys.stderr if piped and sys.stderr is not None else sys.stdout
    if options.json:
        print_json(plain, stream)
    else:
        stream.write(f"{printable(str(text))}\n")
    return 0


def require_place(output: str | None, *inputs: str | None) -> None:
    """Raise an error early for an output file that cannot be written, or that is also an input."""
    if output is None or output == PIPE:
        return
    for name in inputs:
        if name and Path(name).exists() and Path(output).exists():
            if not Path(name).samefile(output):
                continue
            message = f"{output} is read and would be written over: name another file to write"
            raise ParamError(message, code="output")
    if Path(output).exists() and not Path(output).is_file() and not Path(output).is_dir():
        return  # A pipe or a device, which nothing takes the place of.
    folder = Path(output).parent
    for is_wrong, code in (
        (not folder.exists(), errno.ENOENT),
        (not folder.is_dir(), errno.ENOTDIR),
        (Path(output).is_dir(), errno.EISDIR),
        (not os.access(folder, os.W_OK), errno.EACCES),
    ):
        if is_wrong:
            raise OSError(code, os.strerror(code), output)


def save_model(booster: Booster, output: str) -> None:
    """Write a model to a file, atomically, or to standard output."""
    if output == PIPE:
        sys.stdout.write(booster.to_text())
    else:
        booster.save(output)


def save_plot(axes: Any, output: str) -> None:
    """Write a plot to a file."""
    axes.figure.savefig(output, dpi=150)


def print_json(value: Any, stream: TextIO | None = None) -> None:
    """Print a value as JSON."""
    (stream or sys.stdout).write(json.dumps(_without_nan(value), indent=2) + "\n")


def _without_nan(value: Any) -> Any:
    """Replace NaN, which JSON does not have, by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return value
