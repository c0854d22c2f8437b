"""Data of the adaptation experiments: artificial markets, and real folds that share their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Docs = rr.datasets.Ranking
Sets = rr.datasets.Domains


def split(docs: Docs, part: float) -> tuple[Docs, Docs]:
    """Divide queries: the first share, and the rest."""
    queries = np.unique(docs.qid)
    first = np.isin(docs.qid, queries[: round(part * len(queries))])

    def taken(rows: Any) -> Docs:
        return Docs(docs.X[rows], docs.y[rows], docs.qid[rows], docs.feature_names)

    return taken(first), taken(~first)


def joined(*parts: Docs) -> Docs:
    """Return sets of different queries as one."""
    X, y, qid = (np.concatenate(one) for one in zip(*parts, strict=True))
    return Docs(X, y, qid, parts[0].feature_names)


def real_folds(background: Path, target: Path) -> Iterator[Sets]:
    """Read folders of five LETOR parts: each fold of the target is moved to with little of its data."""

    def part(folder: Path, number: int) -> Docs:
        (path,) = folder.glob(f"part{number % 5 + 1}.txt*")
        return rr.datasets.read_letor(path)

    for fold in range(5):
        little, _ = split(part(target, fold), 0.6)
        there = [part(background, fold + step) for step in range(5)]
        yield Sets(
            background=joined(*there[:4]),
            target=little,
            valid_closed=part(target, fold + 1),
            valid_open=there[4],
            test_closed=part(target, fold + 2),
            test_open=there[4],
        )
