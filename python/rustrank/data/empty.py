"""Datasets without documents, of workers that have none while others do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rustrank import _rustrank
from rustrank.data.dataset import Dataset

if TYPE_CHECKING:
    from rustrank.model.booster import Booster


def empty_dataset(
    binning: _rustrank.Binning,
    names: list[str] | None,
    base: Booster | None = None,
    *,
    has_scores: bool = False,
) -> Dataset:
    """Return a data set without documents, with some bins; the other workers' may have a base or scores."""
    core = _rustrank.Dataset.empty(binning, has_scores or base is not None)
    ids = np.empty(0, np.int64)
    return Dataset.__new__(Dataset)._finish(core, names, ids, base=base, warns=False)
