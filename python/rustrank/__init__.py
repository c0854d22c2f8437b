"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives.
"""

from rustrank import datasets
from rustrank._errors import (
    DataError,
    InternalError,
    ModelFormatError,
    ModelVersionError,
    ParamError,
    ResourceError,
    RustrankError,
    RustrankWarning,
)
from rustrank._rustrank import __version__
from rustrank.adaptation import Adaptation, adapt
from rustrank.booster import Booster
from rustrank.combination import Combiner, Curve
from rustrank.comparison import Comparison, MetricComparison, compare
from rustrank.dataset import Dataset
from rustrank.evaluation import Evaluation, MetricValue, evaluate
from rustrank.lambdaboost import LambdaBoost
from rustrank.neighbours import Expansion, expand
from rustrank.nets import LambdaRank, RankNet
from rustrank.optimality import LocalOptimum, local_optimum
from rustrank.relevance import err_relevance
from rustrank.training import EarlyStopping, Round, train

__all__ = [
    "Adaptation",
    "Booster",
    "Combiner",
    "Comparison",
    "Curve",
    "DataError",
    "Dataset",
    "EarlyStopping",
    "Evaluation",
    "Expansion",
    "InternalError",
    "LambdaBoost",
    "LambdaRank",
    "LocalOptimum",
    "MetricComparison",
    "MetricValue",
    "ModelFormatError",
    "ModelVersionError",
    "ParamError",
    "RankNet",
    "ResourceError",
    "Round",
    "RustrankError",
    "RustrankWarning",
    "__version__",
    "adapt",
    "compare",
    "datasets",
    "err_relevance",
    "evaluate",
    "expand",
    "local_optimum",
    "train",
]
