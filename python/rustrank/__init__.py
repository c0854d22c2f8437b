"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives.
"""

from rustrank import datasets, plots
from rustrank._errors import (
    DataError,
    InternalError,
    ModelFormatError,
    ModelVersionError,
    NotFittedError,
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
from rustrank.dataset import Augmented, Dataset
from rustrank.evaluation import Evaluation, MetricValue, evaluate
from rustrank.folds import QueryFolds
from rustrank.lambdaboost import LambdaBoost
from rustrank.lambdamart import XENDCGMART, LambdaMART, RankNetMART
from rustrank.mart import MART, McRank
from rustrank.mixture import mix
from rustrank.neighbours import Expansion, expand
from rustrank.nets import LambdaRank, RankNet
from rustrank.optimality import LocalOptimum, local_optimum
from rustrank.plots import plot_importance, plot_metric, plot_tree
from rustrank.relevance import err_relevance
from rustrank.stacking import Stacking
from rustrank.training import EarlyStopping, Round, train
from rustrank.validation import CrossValidation, cross_validate

__all__ = [
    "MART",
    "XENDCGMART",
    "Adaptation",
    "Augmented",
    "Booster",
    "Combiner",
    "Comparison",
    "CrossValidation",
    "Curve",
    "DataError",
    "Dataset",
    "EarlyStopping",
    "Evaluation",
    "Expansion",
    "InternalError",
    "LambdaBoost",
    "LambdaMART",
    "LambdaRank",
    "LocalOptimum",
    "McRank",
    "MetricComparison",
    "MetricValue",
    "ModelFormatError",
    "ModelVersionError",
    "NotFittedError",
    "ParamError",
    "QueryFolds",
    "RankNet",
    "RankNetMART",
    "ResourceError",
    "Round",
    "RustrankError",
    "RustrankWarning",
    "Stacking",
    "__version__",
    "adapt",
    "compare",
    "cross_validate",
    "datasets",
    "err_relevance",
    "evaluate",
    "expand",
    "local_optimum",
    "mix",
    "plot_importance",
    "plot_metric",
    "plot_tree",
    "plots",
    "train",
]
