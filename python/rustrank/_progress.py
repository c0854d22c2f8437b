"""Progress bars on long work."""

from __future__ import annotations

import itertools
import sys
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Work that ends sooner shows nothing.
_SECONDS = 1.0


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
    from tqdm import tqdm

    files = [Path(one) for one in ([path] if isinstance(path, (str, PathLike)) else path)]
    plain = all(file.is_file() and file.suffix != ".gz" for file in files)
    disable = None if shown is None else False
    with tqdm(
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
def progress_of_steps(total: int, what: str, shown: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that takes the name of each step as it begins.

    It shows a bar on a terminal, and a line a step elsewhere.

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
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        numbers = itertools.count(1)

        def tell(name: str) -> None:
            sys.stderr.write(f"{what} {next(numbers)} of {total}: {name}\n")
            sys.stderr.flush()

        yield tell
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=what) as bar:
        begun = itertools.count()

        def show(name: str) -> None:
            bar.update(1 if next(begun) else 0)
            bar.set_postfix_str(name)

        yield show
        bar.update(total - bar.n)
