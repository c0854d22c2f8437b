"""The names that scripts import from ``lightgbm.basic``."""

from rustrank.compat.lightgbm.booster import Booster
from rustrank.compat.lightgbm.callback import EvalResult
from rustrank.compat.lightgbm.dataset import Dataset
from rustrank.errors import RustrankError

#: All errors of rustrank, so that ``except LightGBMError`` catches them.
LightGBMError = RustrankError

__all__ = ["Booster", "Dataset", "EvalResult", "LightGBMError"]
