"""What artificial data are made with: random streams, blocks of queries, docs with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank._options import whole

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

# Queries that share one random stream. Changing it changes every artificial data set.
BLOCK = 64
# Streams of random numbers that must not meet.
SIZES, DOCS, REFERENCE, POLYNOMIAL, DOMAIN, CLICKS = range(6)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Docs with their labels and queries; unpacks as ``X, y, qid``.

    Attributes
    ----------
    X : ndarray of float32, shape (docs, features)
        Feature values in C order; NaN where a value is missing.
    y : ndarray of float32, shape (docs,)
        Labels 0 to 4.
    qid : ndarray of int64, shape (docs,)
        The number of each doc's query; the docs of a query lie together.
    feature_names : tuple of str
        One name a column.
    """

    X: Floats
    y: Floats
    qid: Ints
    feature_names: tuple[str, ...]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield ``X``, ``y`` and ``qid``."""
        yield self.X
        yield self.y
        yield self.qid

    @property
    def group(self) -> Ints:
        """The number of docs of each query, in row order."""
        starts = np.flatnonzero(np.diff(self.qid, prepend=self.qid[0] - 1))
        return np.diff(starts, append=len(self.qid))

    def to_letor(
        self, path: str | os.PathLike[str], *, digits: int = 9, with_qid: bool = True
    ) -> None:
        """Write LETOR text: ``label qid:q 1:value 2:value ...``, one line a doc.

        Parameters
        ----------
        path : path-like
            The file to write.
        digits : int, default 9
            Significant digits of a value; nine give every float32 back.
        with_qid : bool, default True
            Write the ``qid:`` tokens, which some readers do not understand.
        """
        cells = " ".join(f"{column}:%.{digits}g" for column in range(1, self.X.shape[1] + 1))
        line = f"%d qid:%d {cells}\n" if with_qid else f"%d {cells}\n"
        with Path(path).open("w", encoding="ascii", newline="\n") as file:
            for label, qid, row in zip(self.y, self.qid, self.X, strict=True):
                head = (label, qid) if with_qid else (label,)
                file.write(line % (*head, *row.tolist()))


def check(**counts: int) -> None:
    """Refuse counts below 1."""
    for name, count in counts.items():
        whole(name, count, 1)


def check_from_zero(**numbers: int) -> None:
    """Refuse numbers below 0."""
    for name, number in numbers.items():
        whole(name, number, 0)


def stream(seed: int, kind: int, block: int = 0) -> np.random.Generator:
    """Return the random numbers of a block, the same wherever it is made."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, kind, block])))


def normal(rng: np.random.Generator, count: int) -> Floats:
    """Draw from the standard normal distribution."""
    return rng.standard_normal(count, dtype=np.float32)


def uniform(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Draw from -1 to 1."""
    return rng.random((rows, columns), dtype=np.float32) * np.float32(2) - np.float32(1)


def assemble(
    num_queries: int,
    first_query: int,
    seed: int,
    names: tuple[str, ...],
    sizes: Callable[[int], Ints],
    docs: Callable[[np.random.Generator, Ints, Floats], Floats],
) -> Ranking:
    """Make the blocks that hold the queries asked for and keep those queries of them."""
    last = first_query + num_queries
    blocks = range(first_query // BLOCK, (last - 1) // BLOCK + 1)
    group = np.concatenate([sizes(block) for block in blocks])
    skip = first_query - blocks.start * BLOCK
    wanted = group[skip : skip + num_queries]
    X = np.empty((int(wanted.sum()), len(names)), np.float32)
    y = np.empty(len(X), np.float32)
    row = 0
    for number, block in enumerate(blocks):
        size = group[number * BLOCK : (number + 1) * BLOCK]
        at = np.concatenate([[0], np.cumsum(size)])
        lo = at[max(first_query - block * BLOCK, 0)]
        hi = at[min(last - block * BLOCK, BLOCK)]
        cells = np.empty((at[-1], len(names)), np.float32)
        labels = docs(stream(seed, DOCS, block), size, cells)
        X[row : row + hi - lo] = cells[lo:hi]
        y[row : row + hi - lo] = labels[lo:hi]
        row += int(hi - lo)
    qid = np.repeat(np.arange(first_query, last, dtype=np.int64), wanted)
    return Ranking(X, y, qid, names)
