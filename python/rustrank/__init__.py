"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives. A name's module
is imported when the name is first asked for, so that importing the package takes little time.
"""

from typing import TYPE_CHECKING

from rustrank import errors as _errors
from rustrank._rustrank import __version__ as __version__
from rustrank.errors import *  # noqa: F403 - all of its public names are public here

if TYPE_CHECKING:
    # With `as`, type checkers take a name as public.
    from rustrank import datasets as datasets
    from rustrank import plots as plots
    from rustrank.adaptation.adaptation import Adaptation as Adaptation
    from rustrank.adaptation.adaptation import adapt as adapt
    from rustrank.adaptation.neighbours import Expansion as Expansion
    from rustrank.adaptation.neighbours import expand as expand
    from rustrank.combining.combiner import Combiner as Combiner
    from rustrank.combining.combiner import Curve as Curve
    from rustrank.data.dataset import Augmented as Augmented
    from rustrank.data.dataset import Dataset as Dataset
    from rustrank.distributed.shards import Shards as Shards
    from rustrank.distributed.shards import shard as shard
    from rustrank.ensembles.distillation import Distillation as Distillation
    from rustrank.ensembles.distillation import distill as distill
    from rustrank.ensembles.ensemble import Ensemble as Ensemble
    from rustrank.ensembles.ensemble import EnsembleTables as EnsembleTables
    from rustrank.ensembles.ensemble import ensemble as ensemble
    from rustrank.ensembles.members import Member as Member
    from rustrank.ensembles.members import Recipe as Recipe
    from rustrank.ensembles.members import recipe as recipe
    from rustrank.estimators.lambdaboost import LambdaBoost as LambdaBoost
    from rustrank.estimators.lambdamart import MART as MART
    from rustrank.estimators.lambdamart import XENDCGMART as XENDCGMART
    from rustrank.estimators.lambdamart import LambdaMART as LambdaMART
    from rustrank.estimators.lambdamart import McRank as McRank
    from rustrank.estimators.lambdamart import QueryRMSEMART as QueryRMSEMART
    from rustrank.estimators.lambdamart import RankNetMART as RankNetMART
    from rustrank.estimators.nets import LambdaRank as LambdaRank
    from rustrank.estimators.nets import RankNet as RankNet
    from rustrank.metrics.comparison import Comparison as Comparison
    from rustrank.metrics.comparison import MetricComparison as MetricComparison
    from rustrank.metrics.comparison import compare as compare
    from rustrank.metrics.evaluation import Evaluation as Evaluation
    from rustrank.metrics.evaluation import MetricValue as MetricValue
    from rustrank.metrics.evaluation import evaluate as evaluate
    from rustrank.metrics.relevance import err_relevance as err_relevance
    from rustrank.model.booster import Booster as Booster
    from rustrank.model.local_optimum import LocalOptimum as LocalOptimum
    from rustrank.model.local_optimum import local_optimum as local_optimum
    from rustrank.model.mixture import mix as mix
    from rustrank.model.stacking import Stacking as Stacking
    from rustrank.plots import plot_importance as plot_importance
    from rustrank.plots import plot_metric as plot_metric
    from rustrank.plots import plot_tree as plot_tree
    from rustrank.reporting.report import Report as Report
    from rustrank.reporting.report import report as report
    from rustrank.selection.cross_validation import CrossValidation as CrossValidation
    from rustrank.selection.cross_validation import cross_validate as cross_validate
    from rustrank.selection.folds import QueryFolds as QueryFolds
    from rustrank.selection.search_spaces import Between as Between
    from rustrank.selection.search_spaces import grids as grids
    from rustrank.selection.tuning import Trial as Trial
    from rustrank.selection.tuning import Tuning as Tuning
    from rustrank.selection.tuning import tune as tune
    from rustrank.training.train import EarlyStopping as EarlyStopping
    from rustrank.training.train import Round as Round
    from rustrank.training.train import train as train

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
__all__ = sorted(["__version__", *_errors.__all__, *_HOMES, *_MODULES])

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
    return __all__
