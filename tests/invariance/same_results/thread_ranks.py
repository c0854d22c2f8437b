"""Workers as threads of this process, with the collectives of a communicator."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: A worker that waits so long has lost the others.
_SECONDS = 120.0


class ThreadRanks:
    """The collectives of one of several threads, as `rustrank.distributed.mpi.Ranks` has them."""

    def __init__(self, rank: int, size: int, slots: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size, self._slots, self._barrier = rank, size, slots, barrier

    def _all(self, own: Any) -> list[Any]:
        self._slots[self.rank] = own
        self._barrier.wait()
        every = list(self._slots)
        self._barrier.wait()
        return every

    def sum_i64(self, values: memoryview) -> None:
        total = sum(self._all(np.frombuffer(values, np.int64).copy()))
        values[:] = np.asarray(total, np.int64).tobytes()

    def max_f64(self, values: memoryview) -> None:
        largest = np.max(self._all(np.frombuffer(values, np.float64).copy()), axis=0)
        values[:] = np.asarray(largest, np.float64).tobytes()

    def allgather(self, own: bytes) -> list[bytes]:
        return self._all(own)


def on_threads(size: int, work: Callable[[ThreadRanks], Any]) -> list[Any]:
    """Return what the workers return, or the exceptions that they raise."""
    slots: list[Any] = [None] * size
    barrier = threading.Barrier(size, timeout=_SECONDS)
    found: list[Any] = [None] * size

    def run(rank: int) -> None:
        try:
            found[rank] = work(ThreadRanks(rank, size, slots, barrier))
        except Exception as error:
            found[rank] = error
            # The others may wait for this one.
            barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def own_error(found: Sequence[Any]) -> Any:
    """Return the error of a worker that is not about the others, if one of them has an error."""
    errors = [one for one in found if isinstance(one, Exception)]
    return next(
        (one for one in errors if not str(getattr(one, "code", "")).startswith("comm")), None
    ) or (errors[0] if errors else None)
