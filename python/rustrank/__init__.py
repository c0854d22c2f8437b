"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives. A name's module
is imported when the name is first asked for, so that importing the package takes little time.
"""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from rustrank import datasets, plots
    from rustrank.adaptation import Adaptation, adapt
    from rustrank.booster import Booster
    from rustrank.combination import Combiner, Curve
    from rustrank.comparison import Comparison, MetricComparison, compare
    from rustrank.dataset import Augmented, Dataset
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
    from rustrank.query_rmse import QueryRMSEMART
    from rustrank.relevance import err_relevance
    from rustrank.reporting import Report, report
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
    "Augmented",
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
    "QueryRMSEMART",
    "RankNet",
    "RankNetMART",
    "Recipe",
    "Report",
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
    "report",
    "shard",
    "train",
    "tune",
]

#: The names that are in each module, and not imported yet.
_NAMES = {
    "adaptation": "Adaptation adapt",
    "booster": "Booster",
    "combination": "Combiner Curve",
    "comparison": "Comparison MetricComparison compare",
    "dataset": "Augmented Dataset",
    "distillation": "Distillation distill",
    "ensembles": "Ensemble EnsembleTables ensemble",
    "evaluation": "Evaluation MetricValue evaluate",
    "folds": "QueryFolds",
    "lambdaboost": "LambdaBoost",
    "lambdamart": "XENDCGMART LambdaMART RankNetMART",
    "mart": "MART McRank",
    "members": "Member Recipe recipe",
    "mixture": "mix",
    "neighbours": "Expansion expand",
    "nets": "LambdaRank RankNet",
    "optimality": "LocalOptimum local_optimum",
    "plots": "plot_importance plot_metric plot_tree",
    "query_rmse": "QueryRMSEMART",
    "relevance": "err_relevance",
    "reporting": "Report report",
    "sharding": "Shards shard",
    "spaces": "Between grids",
    "stacking": "Stacking",
    "training": "EarlyStopping Round train",
    "tuning": "Trial Tuning tune",
    "validation": "CrossValidation cross_validate",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
#: Modules that are names themselves.
_MODULES = ("datasets", "plots")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import what is asked for."""
        import sys
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"rustrank.{name}")
        if name not in _HOMES:
            message = f"module 'rustrank' has no attribute {name!r}"
            # With these, Python itself says what may have been meant.
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        found = getattr(import_module(f"rustrank.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Name what there is, imported or not."""
    return sorted(__all__)
