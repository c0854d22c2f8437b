"""The parameters that the estimator and its model have as stages of Spark ML."""

from __future__ import annotations

from typing import Any

from pyspark import keyword_only
from pyspark.ml.param import Param, Params, TypeConverters

from rustrank.errors import ParamError, suggestion

__all__ = ["ColumnParams", "keyword_only"]


class ColumnParams(Params):  # type: ignore[misc]
    """The columns of a data frame."""

    featuresCol: Any = Param(
        Params._dummy(), "featuresCol",
        "a column of vectors or arrays, or a list of columns with a feature each",
    )  # fmt: skip
    predictionCol: Any = Param(
        Params._dummy(), "predictionCol", "the column of scores", TypeConverters.toString
    )
    qidCol: Any = Param(Params._dummy(), "qidCol", "the query of each row", TypeConverters.toString)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features", predictionCol="prediction", qidCol="qid")

    def feature_columns(self) -> list[str] | None:
        """Return the columns with a feature each; None where one column has all."""
        given = self.getOrDefault("featuresCol")
        return None if isinstance(given, str) else [str(one) for one in given]

    def require_columns(self, schema: Any, names: list[str]) -> None:
        """Raise `ParamError` for columns that a data frame lacks."""
        for name in names:
            if name not in schema.names:
                near = suggestion(name, schema.names)
                message = (
                    f"the data frame has no column {name!r}, expected one of {schema.names}{near}"
                )
                raise ParamError(message, code="column")
