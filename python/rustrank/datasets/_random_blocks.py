"""Shared parts of the data generators: random streams and blocks of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rustrank.data.ranking import Ranking
from rustrank.inputs.scalars import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

# Queries that share one random stream. Changing it changes every artificial data set.
BLOCK = 64
# Identifiers of independent random streams.
SIZES, DOCS, REFERENCE, POLYNOMIAL, DOMAIN, CLICKS = range(6)


def check(**counts: int) -> None:
    """Raise an error for counts below 1."""
    for name, count in counts.items():
        whole(name, count, 1)


def check_from_zero(**numbers: int) -> None:
    """Raise an error for numbers below 0."""
    for name, number in numbers.items():
        whole(name, number, 0)


def stream(seed: int, kind: int, block: int = 0) -> np.random.Generator:
    """Return the random generator of a block."""
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
    """Generate the blocks that contain the requested queries, and return these queries."""
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
