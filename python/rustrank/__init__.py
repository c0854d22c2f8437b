"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives.
"""

from rustrank import datasets, plots
from rustrank._errors import (
    CommError,
    CommTimeout,
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
from rustrank.dataset import Dataset
from rustrank.distillation import Distillation, distill
from rustrank.ensembles import Ensemble, EnsembleTables, ensemble
from rustrank.evaluation import Evaluation, MetricValue, evaluate
from rustrank.folds import QueryFolds
from rustrank.lambdaboost import LambdaBoost
from rustrank.lambdamart import XENDCGMART, LambdaMART, RankNetMART
from rustrank.mart import MART, McRank
from rustrank.members import Member, Recipe, recipe
from rustrank.mixture import mix
from rustrank.neighbours import Expansion, expand
from rustrank.nets import LambdaRank, RankNet
from rustrank.optimality import LocalOptimum, local_optimum
from rustrank.plots import plot_importance, plot_metric, plot_tree
from rustrank.relevance import err_relevance
from rustrank.sharding import Shards, shard
from rustrank.spaces import Between, grids
from rustrank.stacking import Stacking
from rustrank.training import EarlyStopping, Round, train
from rustrank.tuning import Trial, Tuning, tune
from rustrank.validation import CrossValidation, cross_validate

__all__ = [
    "MART",
    "XENDCGMART",
    "Adaptation",
    "Between",
    "Booster",
    "Combiner",
    "CommError",
    "CommTimeout",
    "Comparison",
    "CrossValidation",
    "Curve",
    "DataError",
    "Dataset",
    "Distillation",
    "EarlyStopping",
    "Ensemble",
    "EnsembleTables",
    "Evaluation",
    "Expansion",
    "InternalError",
    "LambdaBoost",
    "LambdaMART",
    "LambdaRank",
    "LocalOptimum",
    "McRank",
    "Member",
    "MetricComparison",
    "MetricValue",
    "ModelFormatError",
    "ModelVersionError",
    "NotFittedError",
    "ParamError",
    "QueryFolds",
    "RankNet",
    "RankNetMART",
    "Recipe",
    "ResourceError",
    "Round",
    "RustrankError",
    "RustrankWarning",
    "Shards",
    "Stacking",
    "Trial",
    "Tuning",
    "__version__",
    "adapt",
    "compare",
    "cross_validate",
    "datasets",
    "distill",
    "ensemble",
    "err_relevance",
    "evaluate",
    "expand",
    "grids",
    "local_optimum",
    "mix",
    "plot_importance",
    "plot_metric",
    "plot_tree",
    "plots",
    "recipe",
    "shard",
    "train",
    "tune",
]
