"""Metrics of the further labels of a data set, such as revenue: ``revenue@10`` and ``revenue:err@10``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.metrics.evaluation import Evaluation, Judging, MetricValue, judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset

__all__ = ["judge_dataset"]


def judge_dataset(scores: NDArray[np.float64], dataset: Dataset, judging: Judging) -> Evaluation:
    """Compute metrics of a data set, of its labels and of its further labels."""
    core = dataset._core
    queries = ((core.query_codes(), core.num_queries), dataset.query_ids)
    weight, extra = core.query_weight(), dataset.extra_labels
    if not extra:
        return judge(scores, dataset.labels, queries, judging, weight)
    made: dict[str, MetricValue] = {}
    for name in judging.metrics:
        of, metric = _rustrank.named_metric(name, list(extra))
        own: dict[str, Any] = {"metrics": [metric]}
        if of is not None:
            # Amounts, as in training: twice as much is worth twice as much.
            own |= {"gain": "linear", "max_label": None}
        labels = dataset.labels if of is None else extra[of]
        (value,) = judge(scores, labels, queries, judging.but(**own), weight).values()
        values = np.array(value.per_query)
        made[name] = MetricValue(name, values, dataset.query_ids, weight, judging.num_threads)
    return Evaluation(made)
