"""MLflow: models that MLflow loads and serves, and trainings and evaluations in its runs.

A model is saved as a file of rustrank, without pickle, and `mlflow.pyfunc.load_model` reads it. MLflow is
imported when a function here needs it; a process that only loads models needs nothing else of this package.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.combining.side_by_side import required_booster
from rustrank.errors import wrong_value
from rustrank.inputs.scalars import text
from rustrank.metrics.evaluation import evaluate
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from os import PathLike
    from types import ModuleType

    from numpy.typing import NDArray

    from rustrank.metrics.evaluation import Evaluation

__all__ = ["Scorer", "log_evaluation", "log_model", "log_training", "metric", "save_model"]

#: The file of the model within MLflow's folder.
_FILE = "model.rrk"


class Scorer:
    """A model as `mlflow.pyfunc` calls it.

    Attributes
    ----------
    booster : rustrank.Booster
        The model; what ``get_raw_model()`` returns of a model that MLflow loaded.
    qid : str
        The column of query ids.
    """

    def __init__(self, booster: Booster, qid: str) -> None:
        self.booster, self.qid = booster, qid

    def get_raw_model(self) -> Booster:
        """Return the model, for all that a `rustrank.Booster` can do besides scoring."""
        return self.booster

    def predict(
        self, model_input: Any, params: dict[str, Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the score of each row.

        Parameters
        ----------
        model_input : pandas.DataFrame or numpy.ndarray
            The features, as for `rustrank.Booster.predict`. The column of query ids is needed only by
            models whose scores depend on the other documents of the query.
        params : dict, optional
            What MLflow passes on; there is nothing to choose.
        """
        if params:
            raise wrong_value("params", params, "none: there is nothing to choose")
        columns = list(getattr(model_input, "columns", ()))
        if not columns:
            return self.booster.predict(model_input)
        qid = np.asarray(model_input[self.qid]) if self.qid in columns else None
        features = [name for name in columns if name != self.qid]
        return self.booster.predict(model_input[features], qid=qid)


def save_model(ranker: Any, path: str | PathLike[str], *, qid: str = "qid", **options: Any) -> None:
    """Save a ranker as a folder that `mlflow.pyfunc.load_model` reads.

    Parameters
    ----------
    ranker : rustrank.Booster or fitted estimator
        The model.
    path : path
        The folder; it must not exist.
    qid : str, default "qid"
        The column of query ids in the frames that will be scored.
    **options
        Of `mlflow.pyfunc.save_model`, such as ``input_example`` and ``signature``.
    """
    booster, qid = required_booster(ranker), text("qid", qid)
    with tempfile.TemporaryDirectory() as folder:
        options = _described(booster, folder, qid) | options
        _mlflow().pyfunc.save_model(path=str(path), **options)


def log_model(ranker: Any, name: str = "model", *, qid: str = "qid", **options: Any) -> Any:
    """Save a ranker in the active run, and return MLflow's description of it.

    Parameters
    ----------
    ranker, qid
        As for `save_model`.
    name : str, default "model"
        The name of the model in the run. ``model_uri`` of the result is what loads it.
    **options
        Of `mlflow.pyfunc.log_model`, such as ``registered_model_name``.
    """
    booster, qid = required_booster(ranker), text("qid", qid)
    with tempfile.TemporaryDirectory() as folder:
        options = _described(booster, folder, qid) | options
        return _mlflow().pyfunc.log_model(name=name, **options)


def log_training(ranker: Any) -> None:
    """Log the parameters of a training and the metrics of its rounds in the active run.

    Values of ``ndcg@10`` on the validation set ``valid`` are the metric ``valid/ndcg_at_10``, since MLflow
    allows no @ in names; its step is the round, from 1. The best round is the metric ``best_round``.

    Parameters
    ----------
    ranker : rustrank.Booster or fitted estimator
        The model, as it was trained: a file has no history.
    """
    booster, mlflow = required_booster(ranker), _mlflow()
    if booster.params:
        mlflow.log_params(booster.params)
    rounds: dict[int, dict[str, float]] = {}
    for of_set, metrics in booster.history.items():
        for name, values in metrics.items():
            for number, value in enumerate(values, 1):
                rounds.setdefault(number, {})[f"{of_set}/{_name_there(name)}"] = float(value)
    for number, values_there in sorted(rounds.items()):
        mlflow.log_metrics(values_there, step=number)
    if booster.best_round is not None:
        mlflow.log_metric("best_round", booster.best_round)


def log_evaluation(evaluation: Evaluation, prefix: str = "") -> None:
    """Log the means of `rustrank.evaluate` in the active run, with the ends of their intervals.

    Parameters
    ----------
    evaluation : rustrank.Evaluation
        The result.
    prefix : str, default ""
        Stands before each name: ``"test/"`` gives ``test/ndcg_at_10``, and ``test/ndcg_at_10_low`` and
        ``_high`` for the interval.
    """
    values: dict[str, float] = {}
    for name, value in evaluation.items():
        there = f"{prefix}{_name_there(name)}"
        low, high = value.interval
        values |= {there: float(value), f"{there}_low": low, f"{there}_high": high}
    _mlflow().log_metrics({name: value for name, value in values.items() if np.isfinite(value)})


def metric(name: str, **options: Any) -> Any:
    """Return a metric for ``extra_metrics`` of `mlflow.models.evaluate`.

    The evaluated frame has the query ids in a column ``qid``; for another name, pass
    ``evaluator_config={"col_mapping": {"qid": "query_id"}}``.

    Parameters
    ----------
    name : str
        A metric of `rustrank.evaluate`, such as ``"ndcg@10"``. MLflow shows it as ``ndcg_at_10``.
    **options
        Of `rustrank.evaluate`, such as ``gain`` and ``ties``.
    """

    def eval_fn(predictions: Any, targets: Any, qid: Any) -> float:
        scores, y = np.asarray(predictions), np.asarray(targets)
        if len(scores) == 1:
            # MLflow tries a metric on the first row, and ignores its value.
            return 0.0
        return float(evaluate(scores, y, qid=np.asarray(qid), metrics=name, **options)[name])

    checked = text("name", name)
    make = _mlflow().models.make_metric
    return make(eval_fn=eval_fn, greater_is_better=True, name=_name_there(checked))


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> Scorer:
    """Read a model; what `mlflow.pyfunc.load_model` calls."""
    return Scorer(Booster.load(path), (model_config or {}).get("qid", "qid"))


def _described(booster: Booster, folder: str, qid: str) -> dict[str, Any]:
    """Write a model into a folder, and return what MLflow needs to know of it."""
    path = Path(folder) / _FILE
    booster.save(path)
    return {
        "loader_module": __name__,
        "data_path": str(path),
        "model_config": {"qid": qid},
        "pip_requirements": [f"rustrank=={_rustrank.__version__}", "pandas"],
    }


def _name_there(name: str) -> str:
    """Return the name of a metric in MLflow, which allows no @, brackets or equals signs."""
    return re.sub(r"[^\w/ .:-]+", "_", name.replace("@", "_at_")).strip("_")


def _mlflow() -> ModuleType:
    try:
        import mlflow
    except ImportError:
        raise ImportError("rustrank.compat.mlflow needs MLflow: pip install mlflow") from None
    module: ModuleType = mlflow
    return module
