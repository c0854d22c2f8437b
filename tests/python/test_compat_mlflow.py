"""Models, trainings and evaluations in MLflow; skipped where it is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

mlflow = pytest.importorskip("mlflow")
pytestmark = [
    # Of MLflow and of the libraries below it.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred"),
]


def frame(num_queries: int, first_query: int = 0) -> Any:
    docs = rr.datasets.make_polynomial(num_queries, 20, seed=1, first_query=first_query)
    made = pd.DataFrame(docs.X, columns=docs.feature_names)
    return made.assign(query_id=[f"q{query}" for query in docs.qid], label=docs.y)


TRAIN, VALID, TEST = frame(40), frame(20, 1000), frame(30, 2000)


def fitted(**options: Any) -> Any:
    ranker = rr.LambdaMART(n_estimators=10, metric=["ndcg@10", "map"], **options)
    valid = (VALID.drop(columns=["label", "query_id"]), VALID["label"], VALID["query_id"])
    return ranker.fit(TRAIN, "label", qid="query_id", eval_set=[valid])


@pytest.fixture(autouse=True, scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        mlflow.set_experiment("ranking")
        yield


def test_a_logged_model_scores_as_the_ranker_does() -> None:
    from rustrank.compat.mlflow import log_model

    ranker = fitted(query_ranks=True)
    with mlflow.start_run():
        info = log_model(ranker, qid="query_id")
    model = mlflow.pyfunc.load_model(info.model_uri)
    expected = ranker.predict(TEST.drop(columns=["label", "query_id"]), qid=TEST["query_id"])
    assert np.array_equal(model.predict(TEST), expected)
    # Columns are found by name.
    assert np.array_equal(model.predict(TEST[TEST.columns[::-1]]), expected)
    assert model.get_raw_model() == ranker.booster_


def test_a_saved_model_is_a_file_of_ours_without_pickle(tmp_path: Path) -> None:
    from rustrank.compat.mlflow import save_model

    booster = fitted().booster_
    save_model(booster, tmp_path / "model")
    files = {path.name for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert not [name for name in files if name.endswith((".pkl", ".pickle"))]
    assert rr.Booster.load(tmp_path / "model" / "data" / "model.rrk") == booster
    assert f"rustrank=={rr.__version__}" in (tmp_path / "model" / "requirements.txt").read_text()


def test_arrays_are_scored_and_missing_columns_named(tmp_path: Path) -> None:
    from rustrank.compat.mlflow import save_model

    ranker = fitted()
    save_model(ranker, tmp_path / "model")
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    features = TEST.drop(columns=["label", "query_id"])
    assert np.array_equal(model.predict(features.to_numpy()), ranker.predict(features))
    with pytest.raises(
        rr.DataError, match=r"lacks 2 features of the model.*expected also 'x3', 'x5'"
    ):
        model.predict(TEST.drop(columns=["x3", "x5"]))


def test_a_training_is_logged_by_rounds() -> None:
    from rustrank.compat.mlflow import log_training

    ranker = fitted(early_stopping=3)
    with mlflow.start_run() as run:
        log_training(ranker)
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data
    assert logged.params["learning_rate"] == "0.1"
    assert logged.metrics["best_round"] == ranker.best_round_
    steps = mlflow.MlflowClient().get_metric_history(run.info.run_id, "valid/ndcg_at_10")
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    assert [step.value for step in steps] == list(ranker.history_["valid"]["ndcg@10"])


def test_an_evaluation_is_logged_with_intervals() -> None:
    from rustrank.compat.mlflow import log_evaluation

    found = rr.evaluate(TEST["x0"], TEST["label"], qid=TEST["query_id"], metrics=["rbp(p=0.8)"])
    with mlflow.start_run() as run:
        log_evaluation(found, "test/")
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    low, high = found["rbp(p=0.8)"].interval
    assert logged == {
        "test/rbp_p_0.8": float(found["rbp(p=0.8)"]),
        "test/rbp_p_0.8_low": low,
        "test/rbp_p_0.8_high": high,
    }


def test_models_evaluate_takes_our_metrics() -> None:
    from rustrank.compat.mlflow import log_model, metric

    ranker = fitted()
    with mlflow.start_run():
        info = log_model(ranker, qid="query_id")
        result = mlflow.models.evaluate(
            info.model_uri,
            TEST,
            targets="label",
            extra_metrics=[metric("ndcg@10"), metric("map", relevant_from=2)],
            evaluator_config={"col_mapping": {"qid": "query_id"}},
        )
    scores = ranker.predict(TEST.drop(columns=["label", "query_id"]))
    judged: Any = {"y": TEST["label"], "qid": TEST["query_id"]}
    assert result.metrics == {
        "ndcg_at_10": float(rr.evaluate(scores, **judged)["ndcg@10"]),
        "map": float(rr.evaluate(scores, **judged, metrics="map", relevant_from=2)["map"]),
    }


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    from rustrank.compat.mlflow import save_model

    with pytest.raises(rr.ParamError, match="ranker: got 3, expected a Booster or a fitted"):
        save_model(3, tmp_path / "model")
    with pytest.raises(rr.ParamError, match=r"ranker: got LambdaMART\(\), expected"):
        save_model(rr.LambdaMART(), tmp_path / "model")
