"""Documents in memory with raw features, labels and queries: what generators make and readers return."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.formatting import count

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]


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
        yield from (self.X, self.y, self.qid)

    def __repr__(self) -> str:
        """Summarise the docs in one line."""
        docs, features = self.X.shape
        labels = f", labels {self.y.min():g} to {self.y.max():g}" if docs else ""
        queries = count(len(np.unique(self.qid)), "query", "queries")
        return f"<Ranking: {count(docs, 'doc')}, {queries}, {count(features, 'feature')}{labels}>"

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
