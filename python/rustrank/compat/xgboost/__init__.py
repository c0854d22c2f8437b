"""The names of XGBoost for ranking: ``import rustrank.compat.xgboost as xgb``.

Parameters have XGBoost's names, defaults and meaning. What cannot be translated is refused, and the error
names what there is in rustrank. Values of metrics count a query without relevant documents as 1, as
XGBoost does, and as 0 if the name of the metric ends with ``-``. See "Come from XGBoost" in the
documentation for what is left out.
"""

from __future__ import annotations

from typing import Any

from rustrank._rustrank import __version__ as __version__
from rustrank.compat.left_out import absent
from rustrank.compat.xgboost import callback
from rustrank.compat.xgboost.booster import Booster
from rustrank.compat.xgboost.data import DMatrix, QuantileDMatrix
from rustrank.compat.xgboost.sklearn import XGBRanker
from rustrank.compat.xgboost.training import train

__all__ = ["Booster", "DMatrix", "QuantileDMatrix", "XGBRanker", "callback", "train"]

_LEFT_OUT = {
    "DataIter": "rr.Dataset.from_batches reads data in parts",
    "ExtMemQuantileDMatrix": "rr.Dataset.from_batches and from_parquet read data in parts",
    "RabitTracker": "rr.train(workers=) trains with several processes",
    "XGBClassifier": "rustrank ranks; rr.MART has logistic losses of documents",
    "XGBModel": "rustrank ranks: XGBRanker",
    "XGBRFClassifier": "rustrank has no random forests",
    "XGBRFRegressor": "rustrank has no random forests",
    "XGBRegressor": "rustrank ranks; rr.MART has regression losses of documents",
    "collective": "rr.train(workers=) trains with several processes",
    "config_context": "rustrank has no global settings",
    "cv": "rr.cross_validate has folds of whole queries",
    "dask": "rr.train(workers=) trains with several processes",
    "get_config": "rustrank has no global settings",
    "plot_importance": "rr.plot_importance(ranker), of a booster, too",
    "plot_tree": "rr.plot_tree(ranker, 0), of a booster, too",
    "set_config": "rustrank has no global settings",
    "to_graphviz": "rr.Booster.draw_tree draws a tree: booster.native.draw_tree(0)",
}


def __getattr__(name: str) -> Any:
    """Say what there is instead of a name that was left out."""
    raise absent("rustrank.compat.xgboost", name, _LEFT_OUT, __all__)
