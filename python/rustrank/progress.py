"""Progress bars and lines for long operations."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Work that ends sooner shows nothing.
_SECONDS = 1.0


def shows_bars() -> bool:
    """Return whether the standard error shows a bar that moves: on a terminal, and in a notebook."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal or (sys.stderr is not None and "ipykernel" in sys.modules)


@cache
def bar_type() -> Any:
    """Return tqdm's bar, with a lock of this process.

    The lock of tqdm is one of the system's, which forked processes share: one that is killed while it draws a bar
    would stop all others at theirs.
    """
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        """A bar of rustrank."""

    def renew() -> None:
        Bar.set_lock(threading.RLock())

    renew()
    if hasattr(os, "register_at_fork"):
        # Another thread may have the lock when the process forks.
        os.register_at_fork(after_in_child=renew)
    return Bar


@contextmanager
def progress_of_file(
    path: str | PathLike[str] | Sequence[str | PathLike[str]], shown: bool | None
) -> Iterator[Callable[[int], object] | None]:
    """Yield a function that takes the number of bytes read so far, or None for no bar.

    Parameters
    ----------
    path : path-like, or a sequence of them
        The files; how long they are says how long the bar is, unless one is compressed.
    shown : bool or None
        Whether to show the bar; None shows it on a terminal only.
    """
    if shown is False:
        yield None
        return
    files = [Path(one) for one in ([path] if isinstance(path, (str, PathLike)) else path)]
    plain = all(file.is_file() and file.suffix != ".gz" for file in files)
    disable = None if shown is None else False
    with bar_type()(
        desc=files[0].name if len(files) == 1 else f"{len(files)} files",
        total=sum(file.stat().st_size for file in files) if plain else None,
        unit="B",
        unit_scale=True,
        disable=disable,
        delay=_SECONDS,
        leave=False,
    ) as bar:
        yield None if bar.disable else lambda done: bar.update(done - bar.n)


@contextmanager
def progress_of_steps(total: int, what: str, shown: bool) -> Iterator[Callable[..., object]]:
    """Yield a function to call when a step is done, perhaps with its name, from any thread.

    It moves a bar on a terminal; elsewhere there is a line for the first step, for the last, and now
    and then between.

    Parameters
    ----------
    total : int
        How many steps there are.
    what : str
        What a step is called.
    shown : bool
        Whether to show anything.
    """
    if not shown or sys.stderr is None:
        yield lambda name="": None  # noqa: ARG005
    elif not shows_bars():
        yield _Lines(total, what).step
    else:
        with bar_type()(total=total, unit=what) as bar:

            def step(name: str = "") -> None:
                bar.set_postfix_str(name, refresh=False)
                bar.update()

            yield step


class _Lines:
    """Progress as lines of text."""

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what, self.count = total, what, 0
        self.start = self.last = time.monotonic()
        self.lock = threading.Lock()

    def step(self, name: str = "") -> None:
        """Print a line if it is the first, the last, or time for one."""
        with self.lock:
            self.count += 1
            now = time.monotonic()
            if self.count not in (1, self.total) and now - self.last < _SECONDS:
                return
            self.last = now
            left = (now - self.start) / self.count * (self.total - self.count)
            parts = [name, time_left(left)]
            suffix = f": {', '.join(filter(None, parts))}" if any(parts) else ""
            sys.stderr.write(f"{self.what} {self.count} of {self.total}{suffix}\n")
            sys.stderr.flush()


def time_left(seconds: float) -> str:
    """Return ``about 40 s left``, with minutes or hours for longer times, or no text below a second."""
    if seconds < _SECONDS:
        return ""
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    larger = f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
    return f"about {larger} left"
