"""Real ranking data in five folds: fold k tests on part k, validates on the one before.

Rows are shuffled inside queries, the same for every engine: the order of a file gives labels away
to an engine that breaks ties by rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Beside the project: research terms keep the data out of it.
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("MQ2007-85pct", "MQ2008", "OHSUMED", "MSLR-mini")
FOLDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, eq=False)
class Docs:
    """Docs of whole queries, those of a query together."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    group: NDArray[np.int64]

    @property
    def qid(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.group), dtype=np.int64), self.group)

    def shuffled(self, seed: list[int]) -> Docs:
        """Return the docs in another order inside each query."""
        keys = np.random.default_rng(seed).random(len(self.y))
        order = np.lexsort((keys, self.qid))
        return Docs(self.X[order], self.y[order], self.group)


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of a set."""

    train: Docs
    valid: Docs
    test: Docs


@lru_cache(maxsize=1)
def read_parts(name: str, data: Path = DATA) -> list[Docs]:
    """Read the parts of a set in the order of their numbers."""
    from sklearn.datasets import load_svmlight_files

    paths = sorted((data / name).glob("part*.gz"))
    if not paths:
        msg = f"{name} is not in {data}: read where the real data come from in benches/RESULTS.md"
        raise SystemExit(msg)
    read = load_svmlight_files([str(path) for path in paths], dtype=np.float32, query_id=True)
    parts = []
    for X, y, qid in zip(read[::3], read[1::3], read[2::3], strict=True):
        starts = np.flatnonzero(np.diff(qid, prepend=qid[0] - 1))
        group = np.diff(starts, append=len(qid)).astype(np.int64)
        parts.append(Docs(X.toarray(), y.astype(np.float32), group))
    return parts


def join(parts: list[Docs]) -> Docs:
    return Docs(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.group for part in parts]),
    )


def read_fold(name: str, fold: int, data: Path = DATA) -> Fold:
    """Return the fold of a number from 1."""
    parts = [part.shuffled([7, n]) for n, part in enumerate(read_parts(name, data))]
    test, valid = fold - 1, (fold - 2) % len(parts)
    rest = [part for n, part in enumerate(parts) if n not in (test, valid)]
    return Fold(join(rest), parts[valid], parts[test])
