"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives. A name's module
is imported when the name is first asked for, so that importing the package takes little time.
"""

# ruff: noqa: F403 - all public names of these modules are public here
import os as _os
from typing import TYPE_CHECKING

from rustrank import errors as _errors
from rustrank._rustrank import __version__ as __version__
from rustrank._rustrank import forked as _forked
from rustrank.errors import *

if hasattr(_os, "register_at_fork"):
    # A child has none of its parent's threads, and may have the process id of a grandparent.
    _os.register_at_fork(after_in_child=_forked)

if TYPE_CHECKING:
    # Type checkers take a name as public that comes with `as`, or with all public names of its module.
    from rustrank import clicks as clicks
    from rustrank import datasets as datasets
    from rustrank import partitions as partitions
    from rustrank import plots as plots
    from rustrank.adaptation.adaptation import *
    from rustrank.adaptation.neighbours import Expansion as Expansion
    from rustrank.adaptation.neighbours import expand as expand
    from rustrank.combining.combiner import *
    from rustrank.data.dataset import *
    from rustrank.distributed.shards import Shards as Shards
    from rustrank.distributed.shards import shard as shard
    from rustrank.ensembles.auto import *
    from rustrank.ensembles.auto_ranker import *
    from rustrank.ensembles.distillation import *
    from rustrank.ensembles.ensemble import *
    from rustrank.ensembles.members import *
    from rustrank.estimators.lambdamart import *
    from rustrank.estimators.raw_rankers import *
    from rustrank.metrics.comparison import *
    from rustrank.metrics.evaluation import *
    from rustrank.model.booster import *
    from rustrank.model.local_optimum import *
    from rustrank.model.mixture import *
    from rustrank.model.stacking import *
    from rustrank.plots import plot_importance as plot_importance
    from rustrank.plots import plot_metric as plot_metric
    from rustrank.plots import plot_tree as plot_tree
    from rustrank.reporting.report import *
    from rustrank.selection.cross_validation import *
    from rustrank.selection.folds import *
    from rustrank.selection.pareto import *
    from rustrank.selection.search_spaces import *
    from rustrank.selection.tuning import *
    from rustrank.training.train import *

#: The names that are in each module, and not imported yet.
_NAMES = {
    "adaptation.adaptation": "Adaptation adapt",
    "adaptation.neighbours": "Expansion expand",
    "combining.combiner": "Combiner Curve",
    "data.dataset": "Augmented Dataset",
    "distributed.shards": "Shards shard",
    "ensembles.auto": "Auto AutoMember auto",
    "ensembles.auto_ranker": "AutoRanker",
    "ensembles.distillation": "Distillation distill",
    "ensembles.ensemble": "Ensemble EnsembleTables ensemble",
    "ensembles.members": "Member Recipe recipe",
    "estimators.lambdamart": "MART XENDCGMART LambdaMART McRank QueryRMSEMART RankNetMART",
    "estimators.raw_rankers": "LambdaBoost LambdaRank RankNet",
    "metrics.comparison": "Comparison MetricComparison compare",
    "metrics.evaluation": "Evaluation MetricValue err_relevance evaluate",
    "model.booster": "Booster",
    "model.local_optimum": "LocalOptimum local_optimum",
    "model.mixture": "mix",
    "model.stacking": "Stacking",
    "plots": "plot_importance plot_metric plot_tree",
    "reporting.report": "Report report",
    "selection.cross_validation": "CrossValidation cross_validate",
    "selection.folds": "QueryFolds",
    "selection.pareto": "ParetoFront ParetoPoint pareto_front",
    "selection.search_spaces": "Between grids",
    "selection.tuning": "Trial Tuning tune",
    "training.train": "EarlyStopping Round train",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
#: Modules that are names themselves.
_MODULES = ("clicks", "datasets", "partitions", "plots")
__all__ = sorted(["__version__", *_errors.__all__, *_HOMES, *_MODULES])

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import what is asked for."""
        import sys
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"rustrank.{name}")
        if name not in _HOMES:
            from rustrank.parameters.peer_names import here

            message = f"module 'rustrank' has no attribute {name!r}{here(name)}"
            # With these, Python itself says what may have been meant.
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        found = getattr(import_module(f"rustrank.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Name what there is, imported or not."""
    return __all__
