"""Training on Spark: the model of one process, pipelines, columns of every kind, lost tasks.

Needs pyspark and Java: `make test-spark` makes an environment of its own.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

pyspark = pytest.importorskip("pyspark")

from pyspark.ml import Pipeline, PipelineModel  # noqa: E402 - needs pyspark
from pyspark.ml.feature import VectorAssembler  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

from rustrank.spark import LambdaMART, LambdaMARTModel  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = rr.datasets.make_polynomial(num_queries=36, seed=1)
MORE = rr.datasets.make_polynomial(num_queries=15, seed=2)
NAMES = [f"c{at}" for at in range(6)]
LITTLE: dict[str, Any] = {"n_estimators": 6, "num_leaves": 8, "min_leaf_docs": 5, "preset": "plain"}
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(docs: Any = DOCS, first: int = 0) -> pd.DataFrame:
    made = pd.DataFrame(np.round(docs.X[:, :6], 3).astype(float), columns=NAMES)
    made["label"] = docs.y.astype(float)
    made["qid"] = [f"q{first + one}" for one in docs.qid]
    return made


def alone(table: pd.DataFrame, **more: Any) -> rr.LambdaMART:
    own = {"sample_weight": more.pop("sample_weight", None), "eval_set": more.pop("eval_set", None)}
    return rr.LambdaMART(**LITTLE, **more).fit(table[NAMES], table["label"], table["qid"], **own)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_model_is_that_of_one_process(spark: Any, workers: int) -> None:
    table = frame()
    expected = alone(table).booster_
    shuffled = table.sample(frac=1, random_state=workers)
    data = spark.createDataFrame(shuffled).repartition(7)
    found = LambdaMART(featuresCol=NAMES, numWorkers=workers, **LITTLE).fit(data)
    assert found.booster == expected
    assert found.booster.feature_names == NAMES
    scores = found.transform(data).toPandas()
    assert scores["prediction"].tolist() == expected.predict(scores[NAMES]).tolist()


def test_vectors_and_arrays(spark: Any) -> None:
    table = frame()
    expected = rr.LambdaMART(**LITTLE).fit(table[NAMES].to_numpy(), table["label"], table["qid"])
    data = spark.createDataFrame(table)
    vectors = VectorAssembler(inputCols=NAMES, outputCol="features").transform(data)
    for columns in (
        vectors,
        vectors.selectExpr("array(c0, c1, c2, c3, c4, c5) features", "label", "qid"),
    ):
        model = LambdaMART(**LITTLE).fit(columns)
        assert model.booster == expected.booster_
        told = model.transform(columns).toPandas()["prediction"]
        assert sorted(told) == sorted(expected.predict(table[NAMES].to_numpy()))


def test_weights_validation_and_early_stopping(spark: Any) -> None:
    table, more = frame(), frame(MORE, 1000)
    table["weight"], more["weight"] = np.where(table["c0"] > 0, 2.0, 1.0), 1.0
    table["held"], more["held"] = False, True
    options = {**LITTLE, "n_estimators": 60, "early_stopping": 5, "learning_rate": 0.5}
    expected = rr.LambdaMART(**options).fit(
        table[NAMES], table["label"], table["qid"], sample_weight=table["weight"],
        eval_set={"valid": (more[NAMES], more["label"], more["qid"])},
    )  # fmt: skip
    data = spark.createDataFrame(pd.concat([more, table]))
    model = LambdaMART(
        featuresCol=NAMES,
        weightCol="weight",
        validationIndicatorCol="held",
        numWorkers=3,
        **options,
    ).fit(data)
    assert model.booster == expected.booster_
    assert model.booster.best_round == expected.best_round_ != 60


def test_a_pipeline_is_saved_loaded_and_applied(spark: Any, tmp_path: Path) -> None:
    table = frame()
    data = spark.createDataFrame(table)
    stages = [
        VectorAssembler(inputCols=NAMES, outputCol="features"),
        LambdaMART(predictionCol="score", **LITTLE),
    ]
    fitted = Pipeline(stages=stages).fit(data)
    expected = fitted.transform(data).toPandas()["score"].tolist()
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert loaded.transform(data).toPandas()["score"].tolist() == expected
    assert isinstance(loaded.stages[1], LambdaMARTModel)
    assert loaded.stages[1].booster == fitted.stages[1].booster
    stages[1].write().overwrite().save(str(tmp_path / "estimator"))
    again = LambdaMART.load(str(tmp_path / "estimator"))
    assert again.getOrDefault("num_leaves") == 8
    assert again.getOrDefault("predictionCol") == "score"


def test_a_stream_of_batches_is_scored(spark: Any, tmp_path: Path) -> None:
    table = frame()
    data = spark.createDataFrame(table)
    model = LambdaMART(featuresCol=NAMES, **LITTLE).fit(data)
    data.repartition(3).write.parquet(str(tmp_path / "in"))
    stream = (
        spark.readStream.schema(data.schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
    )
    query = (
        model.transform(stream)
        .writeStream.format("memory").queryName("scored").trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination(120)
    told = spark.table("scored").toPandas()
    assert len(told) == len(table)
    assert told["prediction"].tolist() == model.booster.predict(told[NAMES]).tolist()


def test_nulls_are_missing_features_and_no_labels(spark: Any) -> None:
    table = frame()
    table.loc[::7, "c1"] = np.nan
    data = spark.createDataFrame(table).replace(float("nan"), None)
    model = LambdaMART(featuresCol=NAMES, **LITTLE).fit(data)
    assert model.booster == alone(table).booster_
    table.loc[3, "label"] = np.nan
    bad = spark.createDataFrame(table).replace(float("nan"), None)
    with pytest.raises(rr.RustrankError, match="1 labels are null"):
        LambdaMART(featuresCol=NAMES, **LITTLE).fit(bad)


def test_what_is_wrong_is_named(spark: Any) -> None:
    data = spark.createDataFrame(frame())
    with pytest.raises(rr.ParamError, match="no column 'features'"):
        LambdaMART().fit(data)
    with pytest.raises(rr.ParamError, match="no column 'query'"):
        LambdaMART(featuresCol=NAMES, qidCol="query").fit(data)
    with pytest.raises(rr.RustrankError, match="num_leafs"):
        LambdaMART(num_leafs=3)
    with pytest.raises(rr.RustrankError, match="min_leaf_docs is too large for the data"):
        LambdaMART(featuresCol=NAMES, **{**LITTLE, "min_leaf_docs": 10_000}).fit(data)


def test_a_search_over_folds_of_queries(spark: Any) -> None:
    from pyspark.ml.tuning import ParamGridBuilder

    data = spark.createDataFrame(frame())
    ranker = LambdaMART(featuresCol=NAMES, **LITTLE)
    grid = ParamGridBuilder().addGrid(ranker.num_leaves, [4, 8]).build()
    models = ranker.fit(data, grid)
    assert [model.booster for model in models] == [
        rr.LambdaMART(**{**LITTLE, "num_leaves": leaves})
        .fit(frame()[NAMES], frame()["label"], frame()["qid"])
        .booster_
        for leaves in (4, 8)
    ]
