"""Documents that rankers have scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank.metrics.evaluation import Evaluation, Judging, judge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rustrank.inputs.docs import JudgedDocs
    from rustrank.inputs.queries import Queries


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Labels and queries of documents, and the scores that each ranker gives them."""

    labels: NDArray[np.float32]
    queries: Queries
    query_ids: NDArray[Any]
    query_weight: NDArray[np.float64] | None
    by_ranker: dict[str, NDArray[np.float64]]

    @classmethod
    def of_docs(cls, docs: JudgedDocs, by_ranker: dict[str, NDArray[np.float64]]) -> ScoredRows:
        """Return documents with the scores that each ranker gives them."""
        return cls(docs.labels, docs.queries, docs.query_ids, docs.query_weight, by_ranker)

    @property
    def scores(self) -> list[NDArray[np.float64]]:
        """The scores of each ranker, as the extension reads them."""
        return list(self.by_ranker.values())

    def evaluate(self, scores: NDArray[np.float64], judging: Judging) -> Evaluation:
        """Return the metrics of some scores of these documents."""
        queries = self.queries, self.query_ids
        return judge(scores, self.labels, queries, judging, self.query_weight)
