"""The names of LightGBM for ranking: ``import rustrank.compat.lightgbm as lgb``.

Parameters have LightGBM's names, aliases, defaults and meaning. What cannot be translated is refused, and
the error names what there is in rustrank. Values of metrics count a query without relevant documents as
1, as LightGBM does. See "Come from LightGBM" in the documentation for what is left out.
"""

from __future__ import annotations

from typing import Any

from rustrank._rustrank import __version__ as __version__
from rustrank.compat.left_out import absent
from rustrank.compat.lightgbm.basic import LightGBMError
from rustrank.compat.lightgbm.booster import Booster
from rustrank.compat.lightgbm.callback import (
    EarlyStopException,
    EvalResult,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from rustrank.compat.lightgbm.dataset import Dataset
from rustrank.compat.lightgbm.plotting import plot_importance, plot_metric, plot_tree
from rustrank.compat.lightgbm.sklearn import LGBMRanker
from rustrank.compat.lightgbm.training import CVBooster, cv, train

__all__ = [
    "Booster",
    "CVBooster",
    "Dataset",
    "EarlyStopException",
    "EvalResult",
    "LGBMRanker",
    "LightGBMError",
    "cv",
    "early_stopping",
    "log_evaluation",
    "plot_importance",
    "plot_metric",
    "plot_tree",
    "record_evaluation",
    "reset_parameter",
    "train",
]

_LEFT_OUT = {
    "DaskLGBMRanker": "rr.train(workers=) trains with several processes",
    "LGBMClassifier": "rustrank ranks; rr.MART has logistic losses of documents",
    "LGBMModel": "rustrank ranks: LGBMRanker",
    "LGBMRegressor": "rustrank ranks; rr.MART has regression losses of documents",
    "Sequence": "rr.Dataset.from_batches reads data in parts",
    "create_tree_digraph": "rr.Booster.draw_tree draws a tree: booster.native.draw_tree(0)",
    "plot_split_value_histogram": "booster.native.dump() has the thresholds of all splits",
    "register_logger": "log_evaluation writes to standard output, and warnings are Python's",
}


def __getattr__(name: str) -> Any:
    """Say what there is instead of a name that was left out."""
    raise absent("rustrank.compat.lightgbm", name, _LEFT_OUT, __all__)
