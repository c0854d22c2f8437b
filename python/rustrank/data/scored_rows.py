"""Documents that rankers have scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank.data.dataset import Dataset
from rustrank.errors import ParamError
from rustrank.inputs.queries import as_query_weight
from rustrank.inputs.vectors import as_labels
from rustrank.metrics.evaluation import Evaluation, Judging, judge, queries_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rustrank.inputs.queries import Queries


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Labels and queries of documents, and the scores that each ranker gives them."""

    labels: NDArray[np.float32]
    queries: Queries
    query_ids: NDArray[Any]
    query_weight: NDArray[np.float64] | None
    by_ranker: dict[str, NDArray[np.float64]]

    @property
    def scores(self) -> list[NDArray[np.float64]]:
        """The scores of each ranker, as the extension reads them."""
        return list(self.by_ranker.values())

    def evaluate(self, scores: NDArray[np.float64], judging: Judging) -> Evaluation:
        """Return the metrics of some scores of these documents."""
        queries = self.queries, self.query_ids
        return judge(scores, self.labels, queries, judging, self.query_weight)


def judged_rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read labels, queries and weights: from ``y``, ``qid``, ..., or a dataset as ``y``.

    They are the fields of `ScoredRows` besides the scores.
    """
    y = given.get("y")
    if isinstance(y, Dataset):
        for field in ("qid", "group", "query_weight"):
            if given.get(field) is not None:
                raise ParamError(f"{field} is given twice: the dataset has it", code=field)
        labels, ids, weight = y.labels, y.query_ids, y._core.query_weight()
        queries: Queries = (y._core.query_codes(), y._core.num_queries)
    else:
        labels = as_labels(y)
        queries, ids = queries_of(given.get("qid"), given.get("group"), len(labels))
        weight = as_query_weight(given.get("query_weight"), ids)
    return {"labels": labels, "queries": queries, "query_ids": ids, "query_weight": weight}
