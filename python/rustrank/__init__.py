"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives. A name's module
is imported when the name is first asked for, so that importing the package takes little time.
"""

from typing import TYPE_CHECKING

from rustrank._rustrank import __version__
from rustrank.errors import (
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

if TYPE_CHECKING:
    from rustrank import datasets, plots
    from rustrank.adaptation.adaptation import Adaptation, adapt
    from rustrank.adaptation.neighbours import Expansion, expand
    from rustrank.combining.combiner import Combiner, Curve
    from rustrank.data.dataset import Augmented, Dataset
    from rustrank.distributed.shards import Shards, shard
    from rustrank.ensembles.distillation import Distillation, distill
    from rustrank.ensembles.ensemble import Ensemble, EnsembleTables, ensemble
    from rustrank.ensembles.members import Member, Recipe, recipe
    from rustrank.estimators.lambdaboost import LambdaBoost
    from rustrank.estimators.lambdamart import (
        MART,
        XENDCGMART,
        LambdaMART,
        McRank,
        QueryRMSEMART,
        RankNetMART,
    )
    from rustrank.estimators.nets import LambdaRank, RankNet
    from rustrank.metrics.comparison import Comparison, MetricComparison, compare
    from rustrank.metrics.evaluation import Evaluation, MetricValue, evaluate
    from rustrank.metrics.relevance import err_relevance
    from rustrank.model.booster import Booster
    from rustrank.model.local_optimum import LocalOptimum, local_optimum
    from rustrank.model.mixture import mix
    from rustrank.model.stacking import Stacking
    from rustrank.plots import plot_importance, plot_metric, plot_tree
    from rustrank.reporting.report import Report, report
    from rustrank.selection.cross_validation import CrossValidation, cross_validate
    from rustrank.selection.folds import QueryFolds
    from rustrank.selection.search_spaces import Between, grids
    from rustrank.selection.tuning import Trial, Tuning, tune
    from rustrank.training.train import EarlyStopping, Round, train

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
    "adaptation.adaptation": "Adaptation adapt",
    "adaptation.neighbours": "Expansion expand",
    "combining.combiner": "Combiner Curve",
    "data.dataset": "Augmented Dataset",
    "distributed.shards": "Shards shard",
    "ensembles.distillation": "Distillation distill",
    "ensembles.ensemble": "Ensemble EnsembleTables ensemble",
    "ensembles.members": "Member Recipe recipe",
    "estimators.lambdaboost": "LambdaBoost",
    "estimators.lambdamart": "MART XENDCGMART LambdaMART McRank QueryRMSEMART RankNetMART",
    "estimators.nets": "LambdaRank RankNet",
    "metrics.comparison": "Comparison MetricComparison compare",
    "metrics.evaluation": "Evaluation MetricValue evaluate",
    "metrics.relevance": "err_relevance",
    "model.booster": "Booster",
    "model.local_optimum": "LocalOptimum local_optimum",
    "model.mixture": "mix",
    "model.stacking": "Stacking",
    "plots": "plot_importance plot_metric plot_tree",
    "reporting.report": "Report report",
    "selection.cross_validation": "CrossValidation cross_validate",
    "selection.folds": "QueryFolds",
    "selection.search_spaces": "Between grids",
    "selection.tuning": "Trial Tuning tune",
    "training.train": "EarlyStopping Round train",
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
