"""Real ranking data in five folds: fold k tests on part k, validates on the one before.

Rows are shuffled inside queries, the same for every engine: the order of a file gives labels away
to an engine that breaks ties by rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Beside the project: research terms keep the data out of it.
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("MQ2007-85pct", "MQ2008", "OHSUMED", "MSLR-mini")
FOLDS = (1, 2, 3, 4, 5)
#: Sets that nothing was chosen by: web search, fault localisation (one split each), and the modes of travel that
#: people chose (of statsmodels; five parts).
UNSEEN = ("lightgbm-example", "FLUCCS", "modechoice")

#: Artificial sets: clean labels, and the kind of web search data. The number of a fold is their seed.
MADE = ("make_polynomial", "make_web")
#: The queries of their parts.
_MADE_QUERIES = (1000, 250, 250)


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


def docs_of(X: Any, y: Any, qid: Any) -> Docs:
    """Return docs whose queries are together."""
    starts = np.flatnonzero(np.diff(qid, prepend=qid[0] - 1))
    group = np.diff(starts, append=len(qid)).astype(np.int64)
    return Docs(np.asarray(X, np.float32), np.asarray(y, np.float32), group)


def read_files(paths: list[Path]) -> list[Docs]:
    from sklearn.datasets import load_svmlight_files

    if not paths:
        msg = "there are no real data: read where they come from in benches/RESULTS.md"
        raise SystemExit(msg)
    read = load_svmlight_files([str(path) for path in paths], dtype=np.float32, query_id=True)
    found = zip(read[::3], read[1::3], read[2::3], strict=True)
    return [docs_of(X.toarray(), y, qid) for X, y, qid in found]


def choices_of_travel() -> list[Docs]:
    """Return 210 travellers in five parts, each with four modes of which one was chosen."""
    from statsmodels.datasets import modechoice

    table = modechoice.load_pandas().data
    features = table.drop(columns=["individual", "choice"]).to_numpy(np.float32)
    person = table["individual"].to_numpy().astype(np.int64)
    parts = [person % 5 == part for part in range(5)]
    return [docs_of(features[at], table["choice"].to_numpy()[at], person[at]) for at in parts]


@lru_cache(maxsize=1)
def read_parts(name: str, data: Path = DATA) -> list[Docs]:
    """Read the parts of a set in the order of their numbers."""
    if name == "modechoice":
        return choices_of_travel()
    return read_files(sorted((data / name).glob("part*.gz")))


def read_split(name: str, data: Path) -> Fold:
    """Return a set of one split; every fifth training query validates where there is no part for it."""
    paths = [data / name / f"{part}.txt.gz" for part in ("train", "test", "vali")]
    train, test, *valid = read_files([path for path in paths if path.exists()])
    if not valid:
        held = np.repeat(np.arange(len(train.group)) % 5 == 0, train.group)
        query = train.qid
        parts = [docs_of(train.X[at], train.y[at], query[at]) for at in (~held, held)]
        train, *valid = parts
    shuffled = [one.shuffled([7, n]) for n, one in enumerate((train, valid[0], test))]
    return Fold(*shuffled)


def join(parts: list[Docs]) -> Docs:
    return Docs(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.group for part in parts]),
    )


def make_fold(name: str, seed: int) -> Fold:
    """Return artificial docs, whose parts have the same truth."""
    made = getattr(rr.datasets, name)(num_queries=sum(_MADE_QUERIES), seed=seed)
    ends = np.cumsum(_MADE_QUERIES)
    number = np.unique(made.qid, return_inverse=True)[1]
    parts = [
        (number < end) & (number >= end - size)
        for end, size in zip(ends, _MADE_QUERIES, strict=True)
    ]
    return Fold(*(docs_of(made.X[at], made.y[at], number[at]) for at in parts))


def read_fold(name: str, fold: int, data: Path = DATA) -> Fold:
    """Return the fold of a number from 1."""
    if name in MADE:
        return make_fold(name, fold)
    if name in UNSEEN and name != "modechoice":
        return read_split(name, data)
    parts = [part.shuffled([7, n]) for n, part in enumerate(read_parts(name, data))]
    test, valid = fold - 1, (fold - 2) % len(parts)
    rest = [part for n, part in enumerate(parts) if n not in (test, valid)]
    return Fold(join(rest), parts[valid], parts[test])
