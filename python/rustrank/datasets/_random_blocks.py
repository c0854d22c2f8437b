"""Shared parts of the data generators: random streams and blocks of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.ranking import Ranking
from rustrank.errors import ParamError
from rustrank.inputs.scalars import real, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
    #: Fills in the features of the documents of a block, and returns a number for each of them.
    Docs = Callable[[np.random.Generator, Ints, Floats], Floats]

# Queries that share one random stream. Changing it changes every artificial data set.
BLOCK = 64
# Identifiers of independent random streams.
SIZES, DOCS, REFERENCE, POLYNOMIAL, DOMAIN, CLICKS = range(6)


def check(low: int = 1, /, **counts: int) -> None:
    """Raise an error for whole numbers below an end."""
    for name, count in counts.items():
        whole(name, count, low)


def share(name: str, value: Any) -> float:
    """Take a number from 0 to 1."""
    number = real(name, value)
    if not 0 <= number <= 1:
        raise ParamError(f"{name}: got {number}, expected a number from 0 to 1", code=name)
    return number


def deviation(name: str, value: Any) -> float:
    """Take a standard deviation."""
    number = real(name, value)
    if not (np.isfinite(number) and number >= 0):
        raise ParamError(f"{name}: got {number}, expected a finite number >= 0", code=name)
    return number


def stream(seed: int, kind: int, block: int = 0) -> np.random.Generator:
    """Return the random generator of a block."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, kind, block])))


def normal(rng: np.random.Generator, count: int) -> Floats:
    """Draw from the standard normal distribution."""
    return rng.standard_normal(count, dtype=np.float32)


def uniform(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Draw from -1 to 1."""
    return rng.random((rows, columns), dtype=np.float32) * np.float32(2) - np.float32(1)


def varying_sizes(
    seed: int, docs_per_query: int, spread: float, shift: float
) -> Callable[[int], Ints]:
    """Return a function that draws the sizes of the queries of a block around their mean."""

    def sizes(block: int) -> Ints:
        drawn = stream(seed, SIZES, block).standard_normal(BLOCK)
        mean = np.exp(spread * drawn - shift) * docs_per_query
        sizes: Ints = np.clip(mean, 1, 10 * docs_per_query).astype(np.int64)
        return sizes

    return sizes


def labelled(
    relevance: Docs, rng: np.random.Generator, group: Ints, width: int, shares: Sequence[float]
) -> Docs:
    """Return a function that makes documents with labels, cut at the quantiles of reference documents."""
    reference = relevance(rng, group, np.empty((int(group.sum()), width), np.float32))
    cuts = np.quantile(reference, shares)

    def docs(rng: np.random.Generator, sizes: Ints, X: Floats) -> Floats:
        return np.digitize(relevance(rng, sizes, X), cuts).astype(np.float32)

    return docs


def assemble(
    num_queries: int,
    first_query: int,
    seed: int,
    names: tuple[str, ...],
    sizes: Callable[[int], Ints],
    docs: Docs,
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
