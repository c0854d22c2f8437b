"""LambdaMART as an estimator of Spark ML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from rustrank import errors, partitions
from rustrank.errors import ParamError
from rustrank.estimators import lambdamart
from rustrank.model.booster import Booster
from rustrank.parameters.hints import refuse_unknown
from rustrank.parameters.schema import TRAININGS
from rustrank.spark import worker
from rustrank.spark.columns import with_arrays
from rustrank.spark.model import LambdaMARTModel
from rustrank.spark.params import ColumnParams

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options of a data set that are options here.
_OF_DATASET = ("categorical", "max_bins", "missing")
#: What the options of `rustrank.LambdaMART` are called in `rustrank.train`.
_RENAMED = lambdamart.LambdaMART._renamed
_OPTIONS = {
    name: value
    for name, value in lambdamart.LambdaMART._defaults.items()
    if _RENAMED.get(name, name) in (*TRAININGS["train"], *_OF_DATASET)
}
#: The types of a column of queries, in the result of tasks.
_RESULT = "number long, best_round long, text string"


class LambdaMART(Estimator, ColumnParams, DefaultParamsWritable, DefaultParamsReadable):  # type: ignore[misc]
    """LambdaMART, trained by the executors of a Spark cluster in barrier mode.

    Parameters
    ----------
    featuresCol : str or list of str, default "features"
        A column of vectors or arrays, or columns with a feature each, whose names the model keeps.
    labelCol, qidCol : str, default "label" and "qid"
        Labels, finite numbers from 0; and the query of each row, of any type.
    predictionCol : str, default "prediction"
        The column of scores that the model adds.
    weightCol, baseScoreCol : str, optional
        Factors on the gradients of rows; scores to start from.
    validationIndicatorCol : str, optional
        A column of truth values: rows with true are the validation set, by whole queries, on which metrics
        are evaluated and early stopping looks.
    numWorkers : int, default 2
        How many tasks train together; each needs a slot at the same time.
    deadline : float, default 300
        The seconds after which a task that does not answer is lost.
    **options
        As for `rustrank.LambdaMART`, by the same names, as parameters of Spark ML: they can be set, saved, and
        searched with a ``ParamGridBuilder``.
    """

    labelCol: Any = Param(Params._dummy(), "labelCol", "labels", TypeConverters.toString)
    weightCol: Any = Param(
        Params._dummy(), "weightCol", "factors on the gradients of rows", TypeConverters.toString
    )
    baseScoreCol: Any = Param(
        Params._dummy(), "baseScoreCol", "scores to start from", TypeConverters.toString
    )
    validationIndicatorCol: Any = Param(
        Params._dummy(), "validationIndicatorCol", "whether a row is of the validation set",
        TypeConverters.toString,
    )  # fmt: skip
    numWorkers: Any = Param(
        Params._dummy(), "numWorkers", "how many tasks train together", TypeConverters.toInt
    )
    deadline: Any = Param(
        Params._dummy(), "deadline", "seconds to wait for a task", TypeConverters.toFloat
    )

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(labelCol="label", numWorkers=2, deadline=300.0)
        self.setParams(**params)

    def setParams(self, **params: Any) -> LambdaMART:  # noqa: N802 - Spark's name
        """Set parameters by their names."""
        refuse_unknown(params, [*_OPTIONS, *(one.name for one in self.params)])
        self._set(**params)
        return self

    def fit(self, dataset: Any, params: Any = None) -> Any:
        """Learn from a data frame; with a list of parameter maps, once for each."""
        return super().fit(dataset, params)

    def _fit(self, dataset: Any) -> LambdaMARTModel:
        names = self.feature_columns()
        columns = self._columns()
        given = [self.getOrDefault("featuresCol")] if names is None else names
        self.require_columns(dataset.schema, [*given, *columns.values()])
        picked = [dataset[name] for name in names or ()]
        if names is None:
            picked = [with_arrays(dataset, given[0])]
        picked += [dataset[name].alias(alias) for alias, name in columns.items()]
        clash = sorted(set(names or ()) & set(columns))
        if clash:
            message = (
                f"featuresCol: columns may not be called {clash}, which the tasks use: rename them"
            )
            raise ParamError(message, code="featuresCol")
        workers = self.getOrDefault("numWorkers")
        rows = dataset.select(*picked).repartition(workers, worker.QUERY)
        options = self._options()
        options["has_valid"] = worker.VALID in columns
        job = worker.Job(partitions.new_token(), self.getOrDefault("deadline"), names, options)
        try:
            found = rows.mapInPandas(job.run, _RESULT, barrier=True).orderBy("number").collect()
        except Exception as error:
            raise _of_task(error) from error
        whole = Booster.from_text("".join(row.text for row in found))
        best = found[0].best_round
        booster = whole if best < 0 else whole.truncate(best)
        booster.best_round = None if best < 0 else best
        made: LambdaMARTModel = self._copyValues(LambdaMARTModel(booster))
        return made

    def _columns(self) -> dict[str, str]:
        """Return the columns besides the features, by what tasks call them."""
        named = {
            worker.LABEL: "labelCol",
            worker.QUERY: "qidCol",
            worker.WEIGHT: "weightCol",
            worker.BASE: "baseScoreCol",
            worker.VALID: "validationIndicatorCol",
        }
        return {one: self.getOrDefault(name) for one, name in named.items() if self.isDefined(name)}

    def _options(self) -> dict[str, Any]:
        """Return the options of the training that were given, by the names of `rustrank.train`."""
        given: Mapping[str, Any] = {
            name: self.getOrDefault(name) for name in _OPTIONS if self.isSet(name)
        }
        options = {_RENAMED.get(name, name): value for name, value in given.items()}
        # A task has one core.
        return {"num_threads": 1, "seed": 0, "objective": "lambdamart", **options}


def _of_task(error: Exception) -> Exception:
    """Return the error of rustrank's that a task has raised, out of the report of the engine."""
    said = re.search(r"rustrank\.errors\.(\w+): (.+)", str(error))
    kind = getattr(errors, said.group(1), None) if said else None
    if said is None or not (isinstance(kind, type) and issubclass(kind, errors.RustrankError)):
        return error
    return kind(said.group(2), code="spark")


for _name in _OPTIONS:
    setattr(LambdaMART, _name, Param(Params._dummy(), _name, "as for rustrank.LambdaMART"))
