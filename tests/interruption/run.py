"""Interrupts long calls at random moments, and prints how long each took to end.

Run with how often each call is interrupted, and names of calls or none for all. A call runs in a forked process,
which gets Ctrl-C's signal; measured is the wall time until the `KeyboardInterrupt` arrives in the caller. The calls
take from one second to a minute on two cores if they are let be. A call that returns what it has when
it is interrupted, as `rr.auto` does, counts as one that raises. Ends with status 1 if an interrupt took longer than
half a second, or ended in another error.
"""

from __future__ import annotations

import os
import pickle
import random
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from long_calls import CALLS, Call

#: Seconds after which a call that is let be is interrupted, too.
_LONGEST = 10.0
#: Seconds within which work has to end.
_ALLOWED = 0.5
#: Seconds after which a process hangs.
_PATIENCE = 120


@dataclass
class Ended:
    """How a call ended: the error it raised, and when by the system's monotonic clock."""

    error: str | None
    at: float


def interrupted(call: Call, folder: Path, after: float) -> tuple[Ended, float]:
    """Run a call and interrupt it after some seconds: how it ended, and the seconds from its start."""
    reads, writes = os.pipe()
    began, begins = os.pipe()
    child = os.fork()
    if child == 0:
        _as_child(call, folder, begins, writes)
    for end in (writes, begins):
        os.close(end)
    os.read(began, 1)
    since = time.monotonic()
    if not select.select([reads], [], [], after)[0]:
        os.kill(child, signal.SIGINT)
    with os.fdopen(reads, "rb") as stream:
        told = stream.read()
    os.close(began)
    status = os.waitpid(child, 0)[1]
    ended = pickle.loads(told) if told else Ended(f"status {status}", time.monotonic())  # noqa: S301 - our child's
    return ended, ended.at - since


def _as_child(call: Call, folder: Path, begins: int, writes: int) -> None:
    try:
        signal.alarm(_PATIENCE)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        error = None
        try:
            os.write(begins, b".")
            call.act(folder)
        except KeyboardInterrupt:
            error = "KeyboardInterrupt"
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
        ended = Ended(error, time.monotonic())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with os.fdopen(writes, "wb") as stream:
            pickle.dump(ended, stream)
    finally:
        # Not the clean-up of what the parent uses.
        os._exit(0)


def trial(call: Call, folder: Path, times: int) -> list[str]:
    """Interrupt a call so many times: what was wrong. Prints a line."""
    moments = random.Random(call.name)  # noqa: S311 - reproducible
    whole, longest = interrupted(call, folder, _LONGEST)
    is_longer = longest > _LONGEST
    if whole.error not in (None, "KeyboardInterrupt"):
        return [f"{call.name} fails by itself: {whole.error}"]
    taken, wrong = ([longest - _LONGEST] if is_longer else []), []
    for _ in range(times):
        after = moments.uniform(0, min(longest, _LONGEST))
        ended, seconds = interrupted(call, folder, after)
        seconds -= after
        if seconds < 0:
            continue  # It had ended before.
        taken.append(seconds)
        if ended.error not in (None, "KeyboardInterrupt"):
            wrong.append(f"{call.name}: after {after:.2f} s it ended by {ended.error}")
        elif seconds > _ALLOWED:
            wrong.append(
                f"{call.name}: interrupted after {after:.2f} s, it took {seconds:.2f} s to end"
            )
    takes = f"over {_LONGEST:.0f}" if is_longer else f"{longest:.1f}"
    print(
        f"{call.name} ({takes} s): {len(taken)} interrupts, at most {max(taken, default=0):.2f} s",
        flush=True,
    )
    return wrong


def main(times: str, *names: str) -> int:
    """Interrupt the named calls, or all."""
    wrong: list[Any] = []
    with TemporaryDirectory() as folder:
        for call in CALLS:
            if not names or call.name in names:
                call.prepare(Path(folder))
                found = trial(call, Path(folder), int(times))
                for one in found:
                    print(f"  {one}", flush=True)
                wrong += found
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
