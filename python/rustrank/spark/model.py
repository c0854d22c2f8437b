"""The model of a training on Spark, which scores data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml import Model
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from rustrank.model.booster import Booster
from rustrank.spark.columns import table_of, with_arrays
from rustrank.spark.params import ColumnParams

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The characters of a line of the model's text when it is saved.
_FOLDER = "booster"


class LambdaMARTModel(Model, ColumnParams, MLWritable, MLReadable):  # type: ignore[misc]
    """What `LambdaMART` has learned: adds a column of scores to data frames and streams.

    Parameters
    ----------
    booster : rustrank.Booster, optional
        Any booster; `LambdaMART.fit` gives its own.

    Attributes
    ----------
    booster : rustrank.Booster
        The model, in this process: to save, explain or export it.
    """

    def __init__(self, booster: Booster | None = None) -> None:
        super().__init__()
        self.booster = booster

    def copy(self, extra: Any = None) -> LambdaMARTModel:
        """Return a copy with the same booster."""
        made: LambdaMARTModel = super().copy(extra)
        made.booster = self.booster
        return made

    def _transform(self, dataset: Any) -> Any:
        from pyspark.sql.functions import pandas_udf, struct

        names = self.feature_columns()
        columns = [self.getOrDefault("featuresCol")] if names is None else names
        self.require_columns(dataset.schema, columns)
        booster = self.booster
        assert booster is not None  # noqa: S101 - a fitted model has one

        def scored(batches: Iterator[Any]) -> Iterator[Any]:
            import pandas as pd

            for batch in batches:
                table = table_of(batch, names)
                yield pd.Series(booster.predict(table) if len(batch) else [], dtype="float64")

        scored.__annotations__ = _ANNOTATIONS()
        score = pandas_udf(scored, returnType="double")
        if names is None:
            given = struct(with_arrays(dataset, columns[0]))
        else:
            given = struct(*(dataset[name] for name in names))
        return dataset.withColumn(self.getOrDefault("predictionCol"), score(given))

    def write(self) -> MLWriter:
        """Return a writer: ``model.write().overwrite().save(path)``."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[LambdaMARTModel]:
        """Return a reader: ``LambdaMARTModel.load(path)``."""
        return _Reader()


def _ANNOTATIONS() -> dict[str, Any]:  # noqa: N802 - types that need pandas
    from collections.abc import Iterator

    import pandas as pd

    return {"batches": Iterator[pd.DataFrame], "return": Iterator[pd.Series]}


class _Writer(MLWriter):  # type: ignore[misc]
    """Writes the parameters as Spark does, and the booster as lines of text."""

    def __init__(self, model: LambdaMARTModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802 - Spark's name
        """Write the parameters and the booster."""
        DefaultParamsWriter.saveMetadata(self.model, path, self.sc)
        assert self.model.booster is not None  # noqa: S101 - a fitted model has one
        lines = self.model.booster.to_text().split("\n")
        rows = self.sparkSession.createDataFrame(list(enumerate(lines)), "number long, text string")
        rows.coalesce(1).write.parquet(f"{path}/{_FOLDER}")


class _Reader(MLReader[LambdaMARTModel]):  # type: ignore[misc]
    """Reads what `_Writer` has written."""

    def load(self, path: str) -> LambdaMARTModel:
        """Read the parameters and the booster."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        rows = self.sparkSession.read.parquet(f"{path}/{_FOLDER}").orderBy("number").collect()
        model = LambdaMARTModel(Booster.from_text("\n".join(row.text for row in rows)))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
