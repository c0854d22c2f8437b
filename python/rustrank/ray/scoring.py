"""Scores of datasets of Ray Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rustrank.model.booster import Booster


def score(booster: Booster, dataset: Any, column: str = "prediction") -> Any:
    """Return a dataset of Ray Data with a column of scores, computed where the blocks are.

    Parameters
    ----------
    booster : Booster
        Any model whose scores do not depend on the other documents of a query.
    dataset : ray.data.Dataset
        Documents with the columns of the training, matched by name; others stay as they are.
    column : str, default "prediction"
        What the scores are called.
    """
    import ray

    shared = ray.put(booster)

    def scored(batch: Any) -> Any:
        return batch.assign(**{column: ray.get(shared).predict(batch)})

    return dataset.map_batches(scored, batch_format="pandas")
