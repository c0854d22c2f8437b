"""What XGBoost's files and data mean in the drop-in: attributes, iterations, start scores, sparse cells, categories."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
import rustrank.compat.xgboost as compat
from rustrank.cli import main

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = np.random.default_rng(11)
QID = np.repeat(np.arange(40), 15)
X = RANDOM.normal(size=(600, 3))
Y = np.clip((X[:, 0] + RANDOM.normal(size=600) + 1).astype(int), 0, 3)


def _libraries() -> list[Any]:
    """Return the drop-in, and XGBoost itself where it is installed."""
    try:
        import xgboost
    except ImportError:
        return [compat]
    return [compat, xgboost]


def _stopped(library: Any, **more: Any) -> Any:
    options = {"n_estimators": 40, "early_stopping_rounds": 4, "eval_metric": "ndcg@5", **more}
    ranker = library.XGBRanker(**options)
    return ranker.fit(
        X[:450],
        Y[:450],
        qid=QID[:450],
        eval_set=[(X[450:], Y[450:])],
        eval_qid=[QID[450:]],
        verbose=False,
    )


def test_the_best_iteration_is_saved(tmp_path: Path) -> None:
    ranker = _stopped(compat)
    ranker.get_booster().set_attr(who="me")
    ranker.save_model(tmp_path / "m.json")
    again = compat.XGBRanker()
    again.load_model(tmp_path / "m.json")
    assert again.best_iteration == ranker.best_iteration
    assert np.allclose(again.predict(X), ranker.predict(X), rtol=1e-6, atol=1e-6)
    assert again.get_booster().attr("who") == "me"
    xgb = pytest.importorskip("xgboost")
    theirs = xgb.XGBRanker()
    theirs.load_model(tmp_path / "m.json")
    assert np.allclose(theirs.predict(X), ranker.predict(X), rtol=1e-5, atol=1e-6)
    made = _stopped(xgb)
    for name in ("x.json", "x.ubj"):
        made.save_model(tmp_path / name)
        again.load_model(tmp_path / name)
        assert again.best_iteration == made.best_iteration
        assert np.allclose(again.predict(X), made.predict(X), rtol=1e-5, atol=1e-6)


def test_metrics_at_a_cut_are_pickled() -> None:
    ranker = compat.XGBRanker(n_estimators=3, objective="rank:map").fit(X, Y > 1, qid=QID)
    again = pickle.loads(pickle.dumps(ranker))  # noqa: S301
    assert np.array_equal(again.predict(X), ranker.predict(X))


def test_cells_that_are_not_stored_are_missing() -> None:
    sp = pytest.importorskip("scipy.sparse")
    kept = np.random.default_rng(0).random(X.shape) < 0.6
    sparse, dense = sp.csr_matrix(np.where(kept, X, 0.0)), np.where(kept, X, np.nan)
    options = {"objective": "rank:ndcg", "max_depth": 3}
    boosters = [
        compat.train(options, compat.DMatrix(one, Y, qid=QID), 5) for one in (sparse, dense)
    ]
    for form in (sparse, sparse.tocoo(), sparse.tocsc()):
        found = boosters[0].predict(compat.DMatrix(form))
        assert np.array_equal(found, boosters[1].predict(compat.DMatrix(dense)))
        assert np.array_equal(boosters[0].inplace_predict(form), found)


@pytest.mark.parametrize("parallel", [1, 3])
def test_iterations_are_those_of_xgboost(parallel: int, tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost")
    made = xgb.XGBRanker(
        n_estimators=6, num_parallel_tree=parallel, subsample=0.6, base_score=0.5, n_jobs=1
    ).fit(X, Y, qid=QID)
    made.save_model(tmp_path / "m.json")
    theirs, ours = made.get_booster(), compat.Booster(model_file=tmp_path / "m.json")
    assert ours.num_boosted_rounds() == theirs.num_boosted_rounds() == 6
    for between in ((0, 0), (0, 3), (2, 4), (5, 6)):
        wanted = theirs.predict(xgb.DMatrix(X), iteration_range=between)
        found = ours.predict(compat.DMatrix(X), iteration_range=between)
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert np.allclose(
        ours[:3].predict(compat.DMatrix(X)), theirs[:3].predict(xgb.DMatrix(X)), atol=1e-6
    )


def test_frames_with_categories_are_not_misread(tmp_path: Path) -> None:
    xgb, pd = pytest.importorskip("xgboost"), pytest.importorskip("pandas")
    for values in ([3, 7, 10, 200], ["a", "b", "c", "d"]):
        places = np.random.default_rng(0).integers(0, 4, 600)
        frame = pd.DataFrame({"shop": pd.Categorical.from_codes(places, values), "x": X[:, 0]})
        data = xgb.DMatrix(frame, Y + (places == 1), qid=QID, enable_categorical=True)
        theirs = xgb.train({"objective": "rank:ndcg"}, data, 10)
        theirs.save_model(tmp_path / "m.json")
        ours = rr.Booster.load(tmp_path / "m.json")
        with pytest.raises(rr.ParamError, match=r"such as column\.cat\.codes"):
            ours.predict(frame)
        codes = frame.assign(shop=frame["shop"].cat.codes)
        assert np.allclose(ours.predict(codes), theirs.predict(data), rtol=1e-5, atol=1e-6)


def test_contributions_are_those_of_the_saved_file(tmp_path: Path) -> None:
    data = compat.DMatrix(X, Y, qid=QID)
    first = compat.train({"objective": "rank:ndcg", "max_depth": 4}, data, 10)
    booster = compat.train({"objective": "rank:ndcg"}, data, 5, xgb_model=first)
    booster.save_model(tmp_path / "m.json")
    again = compat.Booster(model_file=tmp_path / "m.json")
    unpickled = pickle.loads(pickle.dumps(booster))  # noqa: S301
    for rounds in ((0, 0), (0, 4), (3, 12)):
        values = booster.predict(data, pred_contribs=True, iteration_range=rounds)
        for other in (again, unpickled):
            found = other.predict(data, pred_contribs=True, iteration_range=rounds)
            assert np.allclose(values, found, rtol=0, atol=1e-6)
        scores = booster.predict(data, iteration_range=rounds)
        assert np.allclose(values.sum(axis=1), scores, rtol=0, atol=1e-5)
    # XGBoost weights the sides of a split by hessians, and ours by documents.
    values = booster.predict(data, pred_contribs=True)
    assert not np.allclose(values, booster.native.explain(X), rtol=0, atol=1e-4)


def test_contributions_are_those_of_xgboost(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    data = compat.DMatrix(X, Y, qid=QID)
    booster = compat.train({"objective": "rank:ndcg"}, data, 10)
    booster.save_model(tmp_path / "m.json")
    theirs = xgboost.Booster(model_file=tmp_path / "m.json")
    wanted = theirs.predict(xgboost.DMatrix(X), pred_contribs=True)
    found = booster.predict(data, pred_contribs=True)
    assert np.allclose(found, wanted, rtol=0, atol=1e-5)


def test_covers_are_the_hessians_of_the_saved_file(tmp_path: Path) -> None:
    ranker = compat.XGBRanker(n_estimators=10, importance_type="cover").fit(X, Y, qid=QID)
    booster = ranker.get_booster()
    booster.save_model(tmp_path / "m.json")
    kinds = ("weight", "cover", "total_cover")
    found: list[Any] = [booster.get_score(importance_type=kind) for kind in kinds]
    count, cover, total = found
    assert total == pytest.approx({name: cover[name] * count[name] for name in count})
    whole = sum(cover.values())
    assert ranker.feature_importances_ == pytest.approx([one / whole for one in cover.values()])
    again = compat.Booster(model_file=tmp_path / "m.json")
    assert again.get_score(importance_type="cover") == pytest.approx(cover)
    with pytest.raises(rr.ParamError, match="expected one of 'weight', 'gain', 'total_gain', 'cov"):
        booster.get_score(importance_type="covers")
    xgboost = pytest.importorskip("xgboost")
    theirs = xgboost.Booster(model_file=tmp_path / "m.json")
    assert theirs.get_score(importance_type="total_cover") == pytest.approx(total, rel=1e-5)
    theirs = xgboost.train({"objective": "rank:ndcg"}, xgboost.DMatrix(X, Y, qid=QID), 10)
    theirs.save_model(tmp_path / "m.json")
    read = compat.Booster(model_file=tmp_path / "m.json")
    for kind in ("cover", "total_cover"):
        wanted = theirs.get_score(importance_type=kind)
        assert read.get_score(importance_type=kind) == pytest.approx(wanted, rel=1e-5)


def test_a_file_with_rounds_after_the_best_is_read_with_a_warning(tmp_path: Path) -> None:
    for library in (compat, pytest.importorskip("xgboost")):
        for parallel in (1,) if library is compat else (1, 3):
            more = {} if parallel == 1 else {"num_parallel_tree": parallel, "subsample": 0.6}
            made = _stopped(library, **more)
            for name in ("m.json", "m.ubj")[: 1 if library is compat else 2]:
                made.save_model(tmp_path / name)
                first = made.best_iteration + 1
                with pytest.warns(
                    rr.RustrankWarning, match=f"{name}.*XGBRanker predicts by"
                ) as found:
                    booster = rr.Booster.load(tmp_path / name)
                message = str(found[0].message)
                assert f"found number {first} the best" in message
                assert f"booster.truncate({first * parallel}) has those of XGBRanker" in message
                short = booster.truncate(first * parallel)
                assert np.allclose(short.predict(X), made.predict(X), rtol=1e-5, atol=1e-6)
                # Nothing to say of a file without such rounds, and of our own format.
                short.export("xgboost", tmp_path / "short.json")
                rr.Booster.load(tmp_path / "short.json")
                booster.save(tmp_path / "m.rrk")
                rr.Booster.load(tmp_path / "m.rrk")
                assert pickle.loads(pickle.dumps(booster)) == booster  # noqa: S301
                # The drop-in has the best iteration itself.
                again = compat.XGBRanker()
                again.load_model(tmp_path / name)
                again.get_booster().predict(compat.DMatrix(X), pred_contribs=True)
    made.save_model(tmp_path / "m.json")
    with pytest.warns(rr.RustrankWarning, match="the text is a model of XGBoost"):
        rr.Booster.from_text((tmp_path / "m.json").read_text())


def test_the_best_iteration_survives_a_conversion(tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost")
    for parallel in (1, 3):
        made = _stopped(xgb, num_parallel_tree=parallel, subsample=0.6)
        made.save_model(tmp_path / "x.json")
        assert main(["convert", str(tmp_path / "x.json"), str(tmp_path / "y.json")]) == 0
        with pytest.warns(rr.RustrankWarning, match="best"):
            booster = rr.Booster.load(tmp_path / "x.json")
        booster.export("xgboost", tmp_path / "z.json")
        booster.truncate(parallel * (made.best_iteration + 1)).export(
            "xgboost", tmp_path / "t.json"
        )
        for name in ("y.json", "z.json", "t.json"):
            again = xgb.XGBRanker()
            again.load_model(tmp_path / name)
            assert (again.best_iteration, again.best_score) == (
                made.best_iteration,
                made.best_score,
            )
            assert np.allclose(again.predict(X), made.predict(X), rtol=1e-5, atol=1e-6)
        assert again.get_booster().num_boosted_rounds() == made.best_iteration + 1


def test_a_best_iteration_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    _stopped(compat).save_model(tmp_path / "x.json")
    with pytest.warns(rr.RustrankWarning, match="best"):
        booster = rr.Booster.load(tmp_path / "x.json")
    best = int(booster.params["xgboost.best_iteration"])
    data = rr.Dataset(X, Y, qid=QID, base=booster)
    for other in (booster.truncate(best), rr.train(data, num_trees=2), rr.mix([booster])):
        written = json.loads(other.export("xgboost"))["learner"]["attributes"]
        assert "best_iteration" not in written
        assert "best_score" not in written
    booster.truncate(best).save(tmp_path / "x.rrk")
    ranker = compat.XGBRanker()
    ranker.load_model(tmp_path / "x.rrk")
    assert np.allclose(ranker.predict(X), booster.truncate(best).predict(X), rtol=1e-6, atol=1e-6)


def _metric(line: str) -> str:
    """Return the name of the last metric of a line of `eval`."""
    return line.rpartition("-")[2].partition(":")[0]


@pytest.mark.parametrize("library", _libraries(), ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    ("params", "metric"),
    [
        ({}, "ndcg@10"),
        ({"eval_metric": "ndcg@5"}, "ndcg@5"),
        ({"eval_metric": ["ndcg@2", "ndcg@3"]}, "ndcg@3"),
        ([("eval_metric", "ndcg@2"), ("eval_metric", "ndcg@3")], "ndcg@3"),
        ({"lambdarank_num_pair_per_sample": 5}, "ndcg@5"),
        ({"lambdarank_pair_method": "mean"}, "ndcg"),
        # Another objective has its own pairs.
        ({"objective": "rank:map"}, "map@32"),
        ({"objective": "rank:pairwise", "lambdarank_num_pair_per_sample": 4}, "ndcg@4"),
        ({"objective": "rank:ndcg", "max_depth": 2, "n_jobs": 1}, "ndcg@10"),
    ],
)
def test_parameters_choose_the_metrics_of_a_model_that_is_read(
    library: Any, params: Any, metric: str, tmp_path: Path
) -> None:
    trained = {"objective": "rank:ndcg", "lambdarank_num_pair_per_sample": 10}
    data = library.DMatrix(X, Y > 1, qid=QID)
    library.train(trained, data, 3).save_model(tmp_path / "m.json")
    read = library.Booster(params, model_file=tmp_path / "m.json")
    assert _metric(read.eval(data)) == metric
    later = library.Booster(params)
    later.load_model(tmp_path / "m.json")
    assert later.eval(data) == read.eval(data)
    assert _metric(read[:2].eval(data)) == metric


def test_gains_of_labels_follow_the_file_and_the_parameters(tmp_path: Path) -> None:
    data = compat.DMatrix(X, Y, qid=QID)
    trained = {"objective": "rank:ndcg", "ndcg_exp_gain": False}
    booster = compat.train(trained, data, 3)
    booster.save_model(tmp_path / "m.json")
    booster.native.save(tmp_path / "m.rrk")
    for name in ("m.json", "m.rrk"):
        assert compat.Booster(model_file=tmp_path / name).eval(data) == booster.eval(data)
    other = compat.Booster({"ndcg_exp_gain": True}, model_file=tmp_path / "m.json")
    assert other.eval(data) != booster.eval(data)


def test_unknown_metrics_and_misspelt_parameters_are_said(tmp_path: Path) -> None:
    compat.XGBRanker(n_estimators=2).fit(X, Y, qid=QID).save_model(tmp_path / "m.json")
    with pytest.raises(rr.ParamError, match="eval_metric: got 'nosuch'"):
        compat.Booster({"eval_metric": "nosuch"}, model_file=tmp_path / "m.json")
    with pytest.raises(rr.ParamError, match="eval_metric: got 'nosuch'"):
        compat.Booster({"eval_metric": "nosuch"}).load_model(tmp_path / "m.json")
    with pytest.warns(rr.RustrankWarning, match="eval_metrics is not used.*mean eval_metric?"):
        compat.Booster({"eval_metrics": "ndcg"}, model_file=tmp_path / "m.json")


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:map", "rank:pairwise"])
@pytest.mark.parametrize(
    "pairs",
    [
        {},
        {"lambdarank_num_pair_per_sample": 7},
        {"lambdarank_pair_method": "mean"},
        {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 7},
    ],
)
def test_files_keep_the_pairs_that_the_metric_follows(
    objective: str, pairs: dict[str, Any], tmp_path: Path
) -> None:
    labels = Y > 1
    data = compat.DMatrix(X, labels, qid=QID)
    booster = compat.train({"objective": objective, **pairs}, data, 2)
    wanted = _metric(booster.eval(data))
    booster.save_model(tmp_path / "m.json")
    booster.native.save(tmp_path / "m.rrk")
    kept = json.loads((tmp_path / "m.json").read_text())["learner"]["objective"]
    assert kept["name"] == objective
    assert kept["lambdarank_param"].items() >= {one: str(pairs[one]) for one in pairs}.items()
    for name in ("m.json", "m.rrk"):
        assert _metric(compat.Booster(model_file=tmp_path / name).eval(data)) == wanted
    # What was read is written again.
    rr.Booster.load(tmp_path / "m.json").export("xgboost", tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["learner"]["objective"] == kept
    xgb = pytest.importorskip("xgboost")
    theirs = xgb.DMatrix(X, labels, qid=QID)
    assert _metric(xgb.Booster(model_file=tmp_path / "m.json").eval(theirs)) == wanted
    made = xgb.train({"objective": objective, **pairs}, theirs, 2)
    made.save_model(tmp_path / "x.json")
    assert _metric(compat.Booster(model_file=tmp_path / "x.json").eval(data)) == wanted


@pytest.mark.parametrize("library", _libraries(), ids=lambda one: one.__name__)
def test_score_counts_all_rounds_after_early_stopping(library: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(qid=QID)
    ranker = library.XGBRanker(
        n_estimators=40, early_stopping_rounds=4, lambdarank_num_pair_per_sample=10
    )
    ranker.fit(frame[:450], Y[:450], eval_set=[(frame[450:], Y[450:])], verbose=False)
    values = ranker.evals_result()["validation_0"]["ndcg@10"]
    assert values[-1] != values[ranker.best_iteration]
    assert ranker.score(frame[450:], Y[450:]) == pytest.approx(values[-1], abs=1e-6)
    ranker.save_model(tmp_path / "m.json")
    again = library.XGBRanker()
    again.load_model(tmp_path / "m.json")
    assert again.score(frame[450:], Y[450:]) == pytest.approx(values[-1], abs=1e-6)
