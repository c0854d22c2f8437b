"""Exit codes of the command line and of workers, after sysexits, and the message of each error."""

from __future__ import annotations

import os
import traceback

from rustrank.errors import CommError, DataError, ModelFormatError, ParamError, ResourceError

USAGE, DATA, NO_INPUT, INTERNAL, IO, WORKER_LOST, INTERRUPTED = 2, 65, 66, 70, 74, 75, 130

#: The optional dependency ("extra") that installs a package.
_EXTRAS = {"matplotlib": "plot", "sklearn": "sklearn", "optuna": "tune", "pyarrow": "arrow"}


def exit_code_of(error: Exception) -> tuple[int, str]:
    """Return the exit code for an error, and the message to show."""
    for kinds, code in (
        (ParamError, USAGE),
        ((DataError, ModelFormatError), DATA),
        # Before OSError, of which its time-out is one.
        (CommError, WORKER_LOST),
    ):
        if isinstance(error, kinds):
            return code, str(error)
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, (MemoryError, ResourceError)):
        return INTERNAL, str(error) or "there is not enough memory"
    if isinstance(error, ImportError) and not (error.name or "").startswith("rustrank"):
        # What an option needs, such as matplotlib for --plot.
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        return USAGE, f"{error}: pip install 'rustrank[{extra}]'" if extra else str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119
    return INTERNAL, f"a bug, please report it: {type(error).__name__}: {error} ({where})"


def _of_system(error: OSError) -> tuple[int, str]:
    absent = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
    place = "" if error.filename is None else f"{os.fspath(error.filename)}: "
    code = NO_INPUT if isinstance(error, absent) else IO
    return code, f"{place}{error.strerror or error}"
