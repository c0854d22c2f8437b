"""What LightGBM's and XGBoost's own interfaces do beside their estimators works here, with other names.

Rewritten from their documentation: `lightgbm.train`, `lightgbm.cv` and `Booster`; `xgboost.train`,
`DMatrix` and `Booster`. Each test says what is called otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import rustrank as rr

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL = rr.datasets.make_polynomial(num_queries=100, docs_per_query=20, seed=0)
TRAIN, TEST = (
    rr.datasets.Ranking(ALL.X[rows], ALL.y[rows], ALL.qid[rows], ALL.feature_names)
    for rows in (slice(None, 1200), slice(1200, None))
)
SIZES = np.full(60, 20)
SMALL: dict[str, Any] = {"num_trees": 12, "num_leaves": 8}


def data(**more: Any) -> rr.Dataset:
    return rr.Dataset(TRAIN.X, TRAIN.y, **({"group": SIZES} | more))


def valid_of(train: rr.Dataset) -> rr.Dataset:
    return rr.Dataset(TEST.X, TEST.y, group=np.full(40, 20), like=train)


@pytest.mark.parametrize("metric", ["ndcg@5", "map", "err@10", "mrr", "pairwise"])
@pytest.mark.parametrize("objective", ["lambdamart", "ranknet", "xendcg"])
def test_learning_beats_chance(objective: str, metric: str) -> None:
    booster = rr.train(data(), objective=objective, metric=metric, **SMALL)
    random = np.random.default_rng(0).normal(size=(20, len(TEST.y)))
    chance = [rr.evaluate(one, TEST.y, qid=TEST.qid, metrics=metric)[metric] for one in random]
    learned = rr.evaluate(booster.predict(TEST.X), TEST.y, qid=TEST.qid, metrics=metric)
    assert learned[metric] > max(chance)


def test_lightgbm_validation_sets_have_names_and_are_recorded() -> None:
    # valid_sets=[train, test], valid_names=["fit", "new"], record_evaluation(result).
    train = data()
    seen: list[dict[str, dict[str, float]]] = []
    booster = rr.train(
        train,
        valid={"fit": train, "new": valid_of(train)},
        metric=["ndcg@3", "ndcg@5"],
        callbacks=[lambda latest: seen.append(latest.values)],
        **SMALL,
    )
    result = booster.history
    assert list(result) == ["fit", "new"]
    assert list(result["new"]) == ["ndcg@3", "ndcg@5"]
    assert [one["fit"]["ndcg@5"] for one in seen] == result["fit"]["ndcg@5"].tolist()
    assert result["fit"]["ndcg@5"][-1] > result["fit"]["ndcg@5"][0]


def test_lightgbm_early_stopping_looks_where_it_is_told() -> None:
    # early_stopping(stopping_rounds=5, first_metric_only=True); best_iteration is best_round.
    train = data()
    sets = {"fit": train, "new": valid_of(train)}
    metrics = ["ndcg@3", "map"]
    how = rr.EarlyStopping(5, metric="map", valid="new")
    booster = rr.train(
        train, valid=sets, metric=metrics, early_stopping=how, num_trees=300, num_leaves=8
    )
    values = booster.history["new"]["map"]
    assert booster.best_round == int(np.argmax(values)) + 1 == booster.num_trees
    assert len(values) == booster.best_round + 5
    # predict(num_iteration=3), shrink_rollback: the first trees are a model.
    three = booster.truncate(3)
    assert three.num_trees == 3
    assert (
        rr.evaluate(three.predict(TEST.X), TEST.y, qid=TEST.qid, metrics="map")["map"] == values[2]
    )


def test_lightgbm_a_call_back_ends_training() -> None:
    # raise EarlyStopException(best_iteration, best_score) is: return True.
    booster = rr.train(data(), callbacks=lambda latest: latest.number == 4, **SMALL)
    assert booster.num_trees == 4


def test_lightgbm_gains_of_labels_are_a_table() -> None:
    # label_gain=[0, 1, 3, 7, 15].
    table = [2**label - 1 for label in range(5)]
    assert rr.train(data(), gain=table, **SMALL).predict(TEST.X).tolist() == (
        rr.train(data(), **SMALL).predict(TEST.X).tolist()
    )
    assert rr.train(data(), gain=[0, 1, 2, 3, 50], **SMALL) != rr.train(data(), **SMALL)


def test_lightgbm_weights_of_rows() -> None:
    # Dataset(weight=...) is row_weight.
    plain = rr.train(data(), **SMALL)
    # A weight of 1 is none, and a base score of 0: the same data set, and the same noise.
    ones, zeros = np.ones(len(TRAIN.y)), np.zeros(len(TRAIN.y))
    for same in (data(row_weight=ones), data(query_weight=ones[:60]), data(base_score=zeros)):
        assert same.fingerprint == data().fingerprint
        assert rr.train(same, **SMALL).predict(TEST.X).tolist() == plain.predict(TEST.X).tolist()
    assert rr.train(data(row_weight=ones), **SMALL) == plain
    first = np.where(TRAIN.qid < TRAIN.qid[600], 10.0, 0.1)
    booster = rr.train(data(row_weight=first), **SMALL)

    def fitted(model: rr.Booster) -> float:
        value = rr.evaluate(model.predict(TRAIN.X[:600]), TRAIN.y[:600], group=[20] * 30)
        return float(value["ndcg@10"])

    assert fitted(booster) > fitted(plain)


def test_lightgbm_losses_and_metrics_of_ones_own() -> None:
    # fobj(preds, train_data) -> (grad, hess), feval(preds, eval_data) -> (name, value, is_higher):
    # here both see one query at a time, and larger is better.
    def squares(scores: Any, labels: Any, rows: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return scores - labels, np.ones_like(scores)

    def best_first(scores: NDArray[Any], labels: NDArray[Any]) -> float:
        return float(labels[np.argmax(scores)])

    train = data()
    booster = rr.train(train, objective=squares, metric=best_first, valid=train, **SMALL)
    values = booster.history["valid"]["best_first"]
    assert values[-1] > TRAIN.y.mean()
    ours = rr.train(train, objective="regression", **SMALL)
    assert np.corrcoef(ours.predict(TEST.X), booster.predict(TEST.X))[0, 1] > 0.99


def test_lightgbm_going_on_keeps_what_was() -> None:
    # init_model, keep_training_booster; init_score is base_score.
    # Noise is drawn anew for each round, by its number: without it, both ways are one.
    exact: dict[str, Any] = SMALL | {"noise_scale": 0}
    first = rr.train(data(), **exact)
    both = rr.train(data(base=first), **exact)
    assert both.num_trees == 24
    assert both.truncate(12).predict(TEST.X).tolist() == first.predict(TEST.X).tolist()
    beside = rr.train(data(base_score=first.predict(TRAIN.X)), **exact)
    together = first.predict(TEST.X) + beside.predict(TEST.X)
    assert np.allclose(together, both.predict(TEST.X), rtol=1e-6)


def test_lightgbm_cross_validation_keeps_queries_whole() -> None:
    # lightgbm.cv(params, data, folds=GroupKFold().split(...)).
    ranker = rr.LambdaMART(n_estimators=10, num_leaves=8)
    found = rr.cross_validate(ranker, TRAIN.X, TRAIN.y, group=SIZES, folds=3)
    assert "ndcg@10" in str(found)
    folds = list(rr.QueryFolds(3).split(TRAIN.X, TRAIN.y, TRAIN.qid))
    for learned, held_out in folds:
        assert not set(TRAIN.qid[learned]) & set(TRAIN.qid[held_out])
    assert sorted(np.concatenate([one for _, one in folds])) == list(range(len(TRAIN.y)))


def test_lightgbm_contributions_add_up() -> None:
    # predict(pred_contrib=True): a column a feature and one for the expectation.
    booster = rr.train(data(), **SMALL)
    parts = booster.explain(TEST.X[:50])
    assert parts.shape == (50, TEST.X.shape[1] + 1)
    assert np.allclose(parts.sum(axis=1), booster.predict(TEST.X[:50]))


def test_lightgbm_importances_by_kind() -> None:
    # feature_importance("split" and "gain") are "count" and "reduction".
    booster = rr.train(data(), **SMALL)
    splits, gains = booster.feature_importance("count"), booster.feature_importance("reduction")
    assert splits.sum() == 12 * 7
    assert ((splits > 0) == (gains > 0)).all()
    # dump_model() is dump(); trees_to_dataframe() can be made of it.
    assert len(booster.dump()["trees"]) == 12


def test_xgboost_a_matrix_with_ids_and_names_of_sets() -> None:
    # DMatrix(X, y, qid=qid), evals=[(d, "train"), (e, "test")], evals_result={}, verbose_eval.
    train = data(group=None, qid=TRAIN.qid)
    booster = rr.train(train, valid={"train": train, "test": valid_of(train)}, **SMALL)
    assert list(booster.history) == ["train", "test"]
    assert len(booster.history["test"]["ndcg@10"]) == 12
    assert booster == rr.train(data(), **SMALL)


def test_xgboost_ids_need_not_be_sorted_or_numbers() -> None:
    # XGBoost: "qid must be sorted in non-decreasing order along with data."
    order = np.random.default_rng(0).permutation(len(TRAIN.y))
    ids = np.array([f"query {one}" for one in TRAIN.qid])
    shuffled = rr.Dataset(TRAIN.X[order], TRAIN.y[order], qid=ids[order])
    assert rr.train(shuffled, **SMALL) == rr.train(data(), **SMALL)
    series = pd.Series(ids[order], dtype="category")
    frame = pd.DataFrame(TRAIN.X[order], columns=[f"f{at}" for at in range(50)])
    named = rr.Dataset(frame, pd.Series(TRAIN.y[order]), qid=series)
    assert (
        rr.train(named, **SMALL).predict(TEST.X) == rr.train(data(), **SMALL).predict(TEST.X)
    ).all()


def test_xgboost_weights_are_those_of_queries() -> None:
    # sample_weight, "one for each group", is query_weight.
    weights = np.linspace(0.2, 3, 60)
    ranker = rr.LambdaMART(n_estimators=8, num_leaves=8)
    ranker.fit(TRAIN.X, TRAIN.y, group=SIZES, query_weight=weights)
    by_id = dict(zip(np.unique(TRAIN.qid).tolist(), weights.tolist(), strict=True))
    other = rr.LambdaMART(n_estimators=8, num_leaves=8)
    other.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, query_weight=by_id)
    assert ranker.booster_ == other.booster_
    assert ranker.booster_ != rr.LambdaMART(n_estimators=8, num_leaves=8).fit(
        TRAIN.X, TRAIN.y, group=SIZES
    )


def test_xgboost_pairs_of_top_docs() -> None:
    # lambdarank_pair_method="topk", lambdarank_num_pair_per_sample=k is pairs_to=k; "mean" is None.
    few, many = (rr.train(data(), pairs_to=to, **SMALL) for to in (1, None))
    assert few != many
    # A cut above all docs is none.
    assert rr.train(data(), pairs_to=20, **SMALL).predict(TEST.X).tolist() == (
        many.predict(TEST.X).tolist()
    )


def test_xgboost_names_of_columns_must_match() -> None:
    # "feature_names mismatch".
    names = [f"f{at}" for at in range(50)]
    frame = pd.DataFrame(TRAIN.X, columns=names)
    ranker = rr.LambdaMART(n_estimators=3).fit(frame, TRAIN.y, group=SIZES)
    assert ranker.predict(pd.DataFrame(TEST.X, columns=names)).shape == TEST.y.shape
    for wrong in ([*names[:-1], "other"], names[:-1]):
        with pytest.raises(rr.DataError, match=r"other|49|f49"):
            ranker.predict(pd.DataFrame(TEST.X[:, : len(wrong)], columns=wrong))


def test_xgboost_labels_of_two_grades_for_map() -> None:
    # rank:map "requires binary relevance"; here a threshold makes them so.
    booster = rr.train(data(), metric="map", relevant_from=3, **SMALL)
    value = booster.evaluate(valid_of(data()), "map", relevant_from=3)["map"]
    found = rr.evaluate(booster.predict(TEST.X), TEST.y >= 3, qid=TEST.qid, metrics="map")["map"]
    assert value == pytest.approx(found, abs=1e-12)


def test_xgboost_scores_do_not_depend_on_the_batch() -> None:
    # inplace_predict, iteration_range=(0, 5) is truncate(5).
    booster = rr.train(data(), **SMALL)
    scores = booster.predict(TEST.X)
    assert scores.dtype == np.float64
    assert scores.shape == (len(TEST.y),)
    assert [booster.predict(TEST.X[at : at + 1])[0] for at in range(5)] == scores[:5].tolist()
    assert booster.truncate(12) == booster


IDS: dict[str, Any] = {
    "numbers": lambda ids: ids,
    "text": lambda ids: ids.astype(str),
    "bytes": lambda ids: ids.astype("S8"),
    "list": lambda ids: ids.tolist(),
    "pandas categorical": lambda ids: pd.Series(ids.astype(str), dtype="category"),
    "pandas nullable": lambda ids: pd.Series(ids, dtype="Int64"),
    "polars": lambda ids: pl.Series(ids.astype(str)).cast(pl.Categorical),
    "Arrow": lambda ids: pa.array(ids),
}


@pytest.mark.parametrize("kind", IDS)
def test_rows_in_any_order_and_ids_of_any_kind_give_the_same_bytes(kind: str) -> None:
    plain = rr.train(data(), **SMALL)
    order = np.random.default_rng(3).permutation(len(TRAIN.y))
    shuffled = rr.Dataset(TRAIN.X[order], TRAIN.y[order], qid=IDS[kind](TRAIN.qid[order]))
    assert rr.train(shuffled, **SMALL).to_text() == plain.to_text()
    queries = np.concatenate([np.arange(1200)[at * 20 : at * 20 + 20] for at in range(59, -1, -1)])
    turned = rr.Dataset(TRAIN.X[queries], TRAIN.y[queries], group=SIZES)
    assert rr.train(turned, **SMALL).to_text() == plain.to_text()


def test_whole_numbers_of_any_width_give_the_same_bytes() -> None:
    whole = np.clip(np.round(TRAIN.X[:, :6] * 20), -100, 100)
    names = [f"c{at}" for at in range(6)]
    texts = set()
    for table in (
        pd.DataFrame(whole, columns=names),
        pd.DataFrame(whole.astype(np.int8), columns=names),
        pd.DataFrame(whole.astype(np.int64), columns=names).astype("Int16"),
        pd.DataFrame(whole, columns=names).astype({"c0": "int32", "c1": "float32"}),
        pl.DataFrame(dict(zip(names, whole.astype(np.int16).T, strict=True))),
        pa.table(dict(zip(names, whole.astype(np.int32).T, strict=True))),
    ):
        texts.add(rr.train(rr.Dataset(table, TRAIN.y, group=SIZES), **SMALL).to_text())
    assert len(texts) == 1
    flags = TRAIN.X[:, :6] > 0
    made = {
        rr.train(rr.Dataset(table, TRAIN.y, group=SIZES), **SMALL).to_text()
        for table in (flags, flags.astype(np.float64), sp.csr_matrix(flags.astype(np.int8)))
    }
    assert len(made) == 1
