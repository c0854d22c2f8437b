"""What `rustrank.train` chooses from the data where nothing about the model is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.training.choosing import CANDIDATES
from rustrank.training.probes import Probe, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WEB = rr.datasets.make_web(60, seed=3)
#: Few features, so that tests are quick.
X, Y, QID = np.ascontiguousarray(WEB.X[:, :20]), WEB.y, WEB.qid
HELD = rr.datasets.make_web(40, seed=3, first_query=500)
HELD_X = np.ascontiguousarray(HELD.X[:, :20])


def dataset(**how: Any) -> rr.Dataset:
    return rr.Dataset(X, Y, qid=QID, **how)


def held_like(train: rr.Dataset) -> rr.Dataset:
    return rr.Dataset(HELD_X, HELD.y, qid=HELD.qid, like=train)


@pytest.fixture(scope="module")
def train() -> rr.Dataset:
    return dataset()


@pytest.fixture(scope="module")
def valid(train: rr.Dataset) -> rr.Dataset:
    return held_like(train)


@pytest.fixture(scope="module")
def booster(train: rr.Dataset) -> rr.Booster:
    return rr.train(train, progress=False)


@pytest.fixture(scope="module")
def by_valid(train: rr.Dataset, valid: rr.Dataset) -> rr.Booster:
    return rr.train(train, valid=valid, progress=False)


def chosen_by(booster: rr.Booster) -> dict[str, Any]:
    assert booster.chosen is not None
    return booster.chosen


def test_the_booster_says_what_was_chosen(booster: rr.Booster, tmp_path: Path) -> None:
    chosen = chosen_by(booster)
    assert chosen["options"]["num_trees"] == booster.num_trees
    assert any(chosen["options"].items() >= one.items() for one in CANDIDATES)
    assert (chosen["metric"], chosen["query_ranks"]) == ("ndcg@10", True)
    assert set(chosen["values"]) == {"noisy", "clean"}
    assert 0 < chosen["queries"] <= len(set(QID.tolist()))
    booster.save(tmp_path / "model.rrk")
    assert rr.Booster.load(tmp_path / "model.rrk").chosen == chosen
    assert "chosen" not in booster.params


def test_what_was_chosen_trains_the_same_trees(
    booster: rr.Booster, by_valid: rr.Booster, train: rr.Dataset
) -> None:
    for one in (booster, by_valid):
        chosen = chosen_by(one)
        pinned = dataset(query_ranks=chosen["query_ranks"])
        again = rr.train(pinned, **chosen["options"])
        assert again.chosen is None
        if not one.all_rounds.history:
            assert again == one
        np.testing.assert_array_equal(again.predict(pinned), one.predict(train))


def test_neither_the_order_of_rows_nor_threads_matter(booster: rr.Booster) -> None:
    order = np.random.default_rng(1).permutation(len(Y))
    names = np.array([f"q{one}" for one in QID])
    shuffled = rr.Dataset(X[order], Y[order], qid=names[order])
    for threads in (1, 2, 5):
        same = rr.train(shuffled, num_threads=threads, progress=False)
        assert same == booster
        assert same.chosen == booster.chosen


def test_the_same_with_a_validation_set(by_valid: rr.Booster) -> None:
    order = np.random.default_rng(2).permutation(len(Y))
    train = rr.Dataset(X[order], Y[order], qid=QID[order])
    other = np.random.default_rng(3).permutation(len(HELD.y))
    valid = rr.Dataset(HELD_X[other], HELD.y[other], qid=HELD.qid[other], like=train)
    assert rr.train(train, valid=valid, num_threads=1, progress=False) == by_valid


def test_a_validation_set_that_is_trained_on_later_has_bins_of_its_own(train: rr.Dataset) -> None:
    fresh = rr.train(held_like(train), progress=False)
    used = held_like(train)
    rr.train(train, valid=used, progress=False)
    assert rr.train(used, progress=False) == fresh


def test_the_validation_set_chooses_the_rounds(by_valid: rr.Booster) -> None:
    values = by_valid.all_rounds.history["valid"]["ndcg@10"]
    assert by_valid.best_round == int(np.argmax(smoothed(values, 41))) + 1
    assert len(values) == min(1000, by_valid.best_round + 200)
    assert by_valid.num_trees == by_valid.best_round


def test_folds_choose_the_rounds(booster: rr.Booster) -> None:
    """The folds again, each trained through the front door."""
    chosen = chosen_by(booster)
    options = {**chosen["options"], "num_trees": booster.num_trees + 200}
    train = dataset(query_ranks=True)
    curves = []
    for fold in range(5):
        (fit, _), (held, _) = train._core.fold(fold, 5, 2**31)
        sets = train.of_same_docs(fit), train.of_same_docs(held)
        history = rr.train(sets[0], valid=sets[1], **options).history
        curves.append(history["valid"]["ndcg@10"])
    mean = smoothed(np.mean(curves, axis=0), 41)
    assert int(np.argmax(mean)) + 1 == booster.num_trees
    assert float(np.max(mean)) == pytest.approx(chosen["value"])


def test_smoothed_is_the_mean_of_the_values_around() -> None:
    curve = np.random.default_rng(0).random(30)
    for window in (1, 2, 5, 8, 100):
        for at, mean in enumerate(smoothed(curve, window)):
            before = min(at, window // 2)
            span = range(-before, min(-(-window // 2), before + 1))
            assert mean == pytest.approx(np.mean([curve[at + i] for i in span if at + i < 30]))


def test_the_first_round_is_not_the_best_of_a_curve_that_rises_fast_and_falls_slowly() -> None:
    """With windows that are cut at their start alone, the first means are those of later rounds."""
    at = np.arange(100)
    curve = np.where(at < 5, 0.30 + 0.01 * at, 0.345 - 0.001 * at)
    assert curve[:21].mean() > curve[:41].mean()
    assert 4 <= int(np.argmax(smoothed(curve, 41))) < 12


def test_datasets_without_ranks_are_scored_by_models_with_them(
    booster: rr.Booster, train: rr.Dataset, valid: rr.Dataset
) -> None:
    np.testing.assert_array_equal(booster.predict(train), booster.predict(X, qid=QID))
    scores = booster.predict(HELD_X, qid=HELD.qid)
    np.testing.assert_array_equal(booster.predict(valid), scores)
    np.testing.assert_array_equal(booster.predict(held_like(dataset())), scores)
    loaded = rr.Booster.from_text(booster.to_text())
    np.testing.assert_array_equal(loaded.predict(valid), scores)
    assert booster.evaluate(valid) == rr.evaluate(scores, HELD.y, qid=HELD.qid)
    assert len(booster.feature_importance("permutation", dataset=valid)) == 2 * X.shape[1]
    assert booster.reweigh(train).num_trees == booster.num_trees
    assert booster.refit(valid).num_trees == booster.num_trees
    # Not where the training set said that it has none.
    lean = rr.Dataset(HELD_X, HELD.y, qid=HELD.qid, query_ranks=False)
    with pytest.raises(rr.DataError, match="ranks"):
        booster.predict(lean)


def test_letor_text_has_ranks_too(tmp_path: Path, booster: rr.Booster) -> None:
    docs = rr.datasets.Ranking(X, Y, QID, tuple(f"f{at}" for at in range(X.shape[1])))
    path = tmp_path / "train.txt"
    docs.to_letor(path)
    train = rr.Dataset.from_letor(path)
    assert rr.train(train, progress=False) == booster
    valid = rr.Dataset.from_letor(path, like=train)
    np.testing.assert_array_equal(booster.predict(valid), booster.predict(X, qid=QID))


@pytest.mark.parametrize(
    "given",
    [
        {"num_trees": 10},
        {"learning_rate": 0.1, "num_trees": 3},
        {"num_leaves": 31, "num_trees": 3},
        {"preset": "plain"},
        {"preset": "noisy", "num_trees": 3},
        {"objective": "xendcg", "num_trees": 3},
        {"objective": "regression"},
        {"monotone": {0: 1}, "num_trees": 3},
    ],
)
def test_nothing_is_chosen_where_something_is_said(
    train: rr.Dataset, given: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    booster = rr.train(train, **given)
    assert booster.chosen is None
    assert not booster.query_ranks
    assert "chosen" not in capsys.readouterr().err


def test_several_metrics_are_chosen_for_by_the_heaviest(train: rr.Dataset) -> None:
    metric = {"map": 0.2, "ndcg@5": 1.0}
    booster = rr.train(train, metric=metric, progress=False)
    chosen, alone = chosen_by(booster), chosen_by(rr.train(train, metric="ndcg@5", progress=False))
    assert {**chosen["options"], "metric": "ndcg@5"} == alone["options"]
    assert chosen["values"] == alone["values"]
    assert booster == rr.train(dataset(query_ranks=True), progress=False, **chosen["options"])


def test_a_metric_of_a_further_label_chooses_nothing() -> None:
    train = dataset(extra_labels={"sales": (Y > 2).astype(float)})
    metric = {"sales@5": 1.0, "ndcg@10": 0.2}
    assert rr.train(train, metric=metric, progress=False).chosen is None
    heavier = {"sales@5": 0.2, "ndcg@10": 1.0}
    assert chosen_by(rr.train(train, metric=heavier, progress=False))["metric"] == "ndcg@10"


@pytest.mark.parametrize(
    "given",
    [
        {"objective": "regression"},
        {"workers": 2},
        {"base": rr.train(dataset(), preset="plain", num_trees=2)},
    ],
)
def test_auto_is_refused_where_nothing_can_be_chosen(
    train: rr.Dataset, given: dict[str, Any]
) -> None:
    with pytest.raises(rr.ParamError, match=r"preset: got 'auto', which chooses nothing for"):
        rr.train(train, preset="auto", progress=False, **given)


def test_plain_is_the_documented_defaults(train: rr.Dataset) -> None:
    plain = rr.train(train, preset="plain")
    assert plain == rr.train(train, num_trees=100, learning_rate=0.1, num_leaves=31)


def test_auto_chooses_around_what_is_said(train: rr.Dataset) -> None:
    booster = rr.train(train, preset="auto", num_leaves=4, num_trees=30, progress=False)
    assert booster.params["num_leaves"] == "4"
    assert booster.num_trees == 30
    chosen = chosen_by(booster)
    assert chosen["options"]["num_trees"] == 30
    assert (chosen["given"], chosen["options"]["num_leaves"]) == (["num_leaves"], 4)
    again = rr.train(dataset(query_ranks=True), **chosen["options"])
    assert again == booster
    np.testing.assert_array_equal(again.predict(X, qid=QID), booster.predict(train))
    slow = rr.train(train, preset="auto", learning_rate=0.2, num_trees=5, progress=False)
    assert slow.params["learning_rate"] == "0.2"
    assert chosen_by(slow)["options"]["learning_rate"] == 0.2


@pytest.mark.parametrize(
    "given",
    [
        {"seed": np.int64(7), "gain": "linear", "metric": ["map", "ndcg@5"], "relevant_from": 2},
        {"monotone": {0: 1, "f1": -1}, "interactions": [[0, 1], ["f2"]], "gain": np.arange(5.0)},
        {"exportable": "lightgbm", "l2": np.float32(0.5), "num_threads": 1, "early_stopping": None},
    ],
)
def test_what_was_given_with_auto_trains_the_same_trees_again(
    train: rr.Dataset, given: dict[str, Any], tmp_path: Path
) -> None:
    rr.train(train, preset="auto", progress=False, **given).save(tmp_path / "model.rrk")
    booster = rr.Booster.load(tmp_path / "model.rrk")
    chosen = chosen_by(booster)
    of_trees = given.keys() - {"num_threads", "early_stopping"}
    assert chosen["given"] == sorted(of_trees)
    again = rr.train(dataset(query_ranks=chosen["query_ranks"]), **chosen["options"])
    assert again == booster


def test_a_function_that_was_given_is_not_among_the_options(train: rr.Dataset) -> None:
    def own(scores: Any, labels: Any) -> float:
        return float(scores @ labels)

    booster = rr.train(train, preset="auto", metric=own, num_trees=3, progress=False)
    assert chosen_by(booster)["given"] == []


def test_what_says_nothing_of_the_model_may_be_given(
    train: rr.Dataset, valid: rr.Dataset, tmp_path: Path
) -> None:
    rounds: list[int] = []
    booster = rr.train(
        train,
        valid={"train": train, "new": valid},
        metric=["err@5", "map"],
        early_stopping=rr.EarlyStopping(10, metric="map"),
        seed=4,
        num_threads=2,
        gain="linear",
        progress=False,
        callbacks=lambda latest: rounds.append(latest.number),
        snapshot=tmp_path / "at{round}.rrk",
    )
    chosen = chosen_by(booster)
    assert chosen["metric"] == "map"
    best = int(np.argmax(booster.all_rounds.history["new"]["map"])) + 1
    assert booster.best_round == booster.num_trees == best
    assert rounds == list(range(1, best + 11))


def test_pairs_are_weighed_by_ndcg_for_the_reciprocal_rank(train: rr.Dataset) -> None:
    booster = rr.train(train, metric="mrr", progress=False)
    chosen = chosen_by(booster)
    assert (chosen["metric"], chosen["options"]["objective_metric"]) == ("mrr", "ndcg@10")
    assert chosen["options"]["metric"] == "mrr"
    again = rr.train(dataset(query_ranks=True), **chosen["options"])
    assert again == booster
    own = rr.train(train, metric="mrr", preset="auto", objective_metric="mrr", progress=False)
    assert chosen_by(own)["options"]["objective_metric"] == "mrr"
    assert (
        "objective_metric"
        not in chosen_by(rr.train(train, metric="err", progress=False))["options"]
    )


def test_a_metric_may_be_a_function(train: rr.Dataset, valid: rr.Dataset) -> None:
    def first(scores: np.ndarray, labels: np.ndarray) -> float:
        return float(labels[np.argmax(scores)])

    booster = rr.train(train, valid=valid, metric=["ndcg@10", first], progress=False)
    assert set(booster.history["valid"]) == {"ndcg@10", "first"}
    booster = rr.train(
        train,
        valid=valid,
        objective_metric="ndcg",
        preset="auto",
        metric=first,
        num_trees=20,
        progress=False,
    )
    assert chosen_by(booster)["metric"] == "first"


def test_a_checkpoint_is_gone_on_from(train: rr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "part"

    def interrupts(latest: rr.Round) -> None:
        if latest.number == 3:
            raise KeyboardInterrupt

    how: dict[str, Any] = {
        "checkpoint": path,
        "checkpoint_every": 2,
        "resume": True,
        "progress": False,
    }
    with pytest.raises(KeyboardInterrupt):
        rr.train(train, callbacks=interrupts, **how)
    booster = rr.train(train, **how)
    assert booster == rr.train(train, progress=False)


def test_an_interrupted_choice_has_no_booster(
    train: rr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupts(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Probe, "train_to", interrupts)
    with pytest.raises(KeyboardInterrupt) as caught:
        rr.train(train, progress=False)
    assert vars(caught.value)["booster"] is None


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_the_trees_of_candidates_have_a_power_of_two_of_leaves(candidate: dict[str, Any]) -> None:
    # As docs/how-to/defaults.md says.
    def leaves(most: int) -> list[int]:
        found: list[int] = []

        def note(latest: rr.Round) -> None:
            found.append(latest.num_leaves)

        rr.train(dataset(), **candidate, num_trees=3, num_leaves=most, callbacks=note)
        return found

    assert leaves(31) == [16] * 3
    assert leaves(32) == [32] * 3


def test_it_is_printed_unless_progress_is_off(
    train: rr.Dataset,
    booster: rr.Booster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rr.train(train)
    chosen = chosen_by(booster)
    said = capsys.readouterr().err
    assert said.startswith(f"rustrank: chosen by ndcg@10 on {chosen['queries']} held-out queries (")
    assert ("not clearly better" in said) == (chosen["values"]["clean"] > chosen["values"]["noisy"])
    assert f"num_trees {booster.num_trees}, ranks within queries; preset='plain'" in said
    assert f"noisy {chosen['values']['noisy']:.4f}" in said
    # No figures of the booster: the curves by which presets are compared are smoothed.
    assert f"clean {chosen['values']['clean']:.4f}, means over 41 rounds" in said
    rr.train(train, progress=False)
    assert not capsys.readouterr().err
    monkeypatch.setattr(sys, "stderr", None)
    rr.train(train)


def test_ranks_are_left_out_where_they_cannot_be(train: rr.Dataset) -> None:
    lean = dataset(query_ranks=False)
    booster = rr.train(lean, progress=False)
    assert not chosen_by(booster)["query_ranks"]
    assert not booster.query_ranks
    booster.predict(X)
    exported = rr.train(train, exportable="lightgbm", progress=False)
    np.testing.assert_array_equal(exported.predict(X), booster.predict(X))
    assert exported.export("lightgbm").startswith(b"tree")


@pytest.mark.parametrize("num_queries", [1, 5, 19])
def test_few_queries_choose_nothing(num_queries: int) -> None:
    rows = np.isin(QID, np.unique(QID)[:num_queries])
    few = rr.Dataset(X[rows], Y[rows], qid=QID[rows])
    assert rr.train(few).chosen is None
    # Copies say no more.
    alike = rr.Dataset(X, np.ones_like(Y), qid=QID, query_weight=np.ones(len(np.unique(QID))))
    with pytest.raises(rr.DataError):
        rr.train(alike)


def test_tiny_queries_choose_nothing_if_no_split_is_possible() -> None:
    rng = np.random.default_rng(0)
    small = rr.Dataset(rng.random((44, 3)), np.tile([0, 1], 22), group=[2] * 22)
    assert rr.train(small, progress=False).num_trees > 0


def test_equal_queries_are_in_one_fold() -> None:
    """A bootstrap of queries leaks nothing from a fold into another."""
    times = np.random.default_rng(5).integers(0, 4, len(np.unique(QID)))
    rows, ids = [], []
    for query, count in zip(np.unique(QID), times, strict=True):
        for copy in range(count):
            found = np.flatnonzero(query == QID)
            rows.append(found)
            ids.append(np.full(len(found), 10 * query + copy))
    data = rr.Dataset(X[np.concatenate(rows)], Y[np.concatenate(rows)], qid=np.concatenate(ids))
    for fold in range(5):
        (_, fit), (_, held) = data._core.fold(fold, 5, 2**31)
        names = data.query_ids
        assert not set(names[fit] // 10) & set(names[held] // 10)


def test_clean_labels_are_told_from_noisy_ones(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(7)
    features = rng.random((12_000, 5)).astype(np.float32)
    signal = features[:, 0] * features[:, 1] + np.sin(6 * features[:, 2])
    group = np.full(300, 40)

    def labels(noise: float) -> Any:
        values = (
            20 * (features[:, 3] - 0.5) * (features[:, 4] - 0.5) * signal
            + noise * rng.standard_normal(len(signal))
        ).reshape(300, 40)
        return (values.argsort(axis=1).argsort(axis=1) * 5 // 40).ravel()

    def picked(noise: float) -> str:
        data = rr.Dataset(features, labels(noise), group=group, query_ranks=False)
        return str(chosen_by(rr.train(data))["options"]["preset"])

    assert picked(0.0) == "clean"
    assert "preset clean" in capsys.readouterr().err
    assert picked(2.0) == "noisy"


def test_estimators_choose_without_ranks(booster: rr.Booster) -> None:
    ranker = rr.LambdaMART(progress=False).fit(X, Y, qid=QID)
    assert not chosen_by(ranker.booster_)["query_ranks"]
    assert ranker.booster_ == rr.train(dataset(query_ranks=False), progress=False)
    assert ranker.predict(X).shape == Y.shape
    ranked = rr.LambdaMART(progress=False, query_ranks=True).fit(X, Y, qid=QID)
    assert ranked.booster_ == booster
    assert rr.LambdaMART(n_estimators=3).fit(X, Y, qid=QID).booster_.chosen is None
    assert rr.LambdaMART(preset="plain").fit(X, Y, qid=QID).booster_.chosen is None


def test_candidates_are_compared_on_the_same_queries(booster: rr.Booster) -> None:
    chosen = chosen_by(booster)
    assert chosen["options"]["preset"] == "noisy"
    train = dataset(query_ranks=True)
    folds = [train._core.fold(fold, 5, 2**31) for fold in range(5)]
    judged = [np.isin(train._core.query_codes(), held[1]) for _, held in folds]
    is_first = chosen["queries"] <= len(np.unique(QID[judged[0]]))
    for candidate in CANDIDATES:
        curves = []
        for fit, held in folds[:1] if is_first else folds:
            sets = train.of_same_docs(fit[0]), train.of_same_docs(held[0])
            history = rr.train(sets[0], valid=sets[1], num_trees=1000, **candidate).history
            curves.append(history["valid"]["ndcg@10"])
        best = float(np.max(smoothed(np.mean(curves, axis=0), 41)))
        # The probe may have ended before the best of all thousand rounds.
        assert chosen["values"][candidate["preset"]] <= best + 1e-12
        assert chosen["values"][candidate["preset"]] > best - 0.02


@pytest.mark.parametrize(
    "changed",
    [
        lambda booster: booster.truncate(3),
        lambda booster: booster.refit(dataset()),
        lambda booster: booster.reweigh(dataset()),
        lambda booster: booster.calibrate(X, Y, qid=QID),
        lambda booster: rr.train(dataset(), base=booster, num_trees=2),
        lambda booster: rr.train(dataset(), base=booster),
        lambda booster: rr.mix([booster, booster]),
    ],
)
def test_a_changed_model_was_not_chosen(booster: rr.Booster, changed: Any) -> None:
    assert changed(booster).chosen is None
    assert booster.chosen is not None


def test_batches_and_mixed_frames_have_ranks_too(booster: rr.Booster, tmp_path: Path) -> None:
    batches = [
        (X[at : at + 700], Y[at : at + 700], QID[at : at + 700]) for at in range(0, len(Y), 700)
    ]
    train = rr.Dataset.from_batches(batches)
    assert rr.train(train, progress=False) == booster
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"f{at}" for at in range(X.shape[1])])
    frame["site"] = pandas.Categorical([f"s{one}" for one in QID % 7])
    assert rr.train(rr.Dataset(frame, Y, qid=QID), progress=False).query_ranks
    pytest.importorskip("pyarrow")
    frame.assign(label=Y, qid=QID).to_parquet(tmp_path / "docs.parquet")
    assert rr.train(rr.Dataset.from_parquet(tmp_path / "docs.parquet"), progress=False).query_ranks


def test_wrong_options_are_told_before_anything_is_tried(
    train: rr.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(rr.ParamError, match="needs a validation set"):
        rr.train(train, early_stopping=10)
    assert not capsys.readouterr().err


def test_a_copy_by_parameters_is_the_same_estimator() -> None:
    ranker = rr.LambdaMART()
    fitted = ranker.fit(X, Y, qid=QID)
    again = rr.LambdaMART(**ranker.get_params()).fit(X, Y, qid=QID)
    assert again.booster_ == fitted.booster_
    assert again.booster_.chosen == fitted.booster_.chosen


def test_a_base_is_gone_on_from(booster: rr.Booster, train: rr.Dataset) -> None:
    more = rr.train(train, base=booster, num_trees=3)
    assert more.num_trees == booster.num_trees + 3
    assert more.query_ranks


def test_ctrl_c_ends_the_choice(train: rr.Dataset) -> None:
    class Interrupts:
        """A metric during which Ctrl-C is pressed."""

        __name__ = "interrupts"
        calls = 0

        def __call__(self, scores: np.ndarray, labels: np.ndarray) -> float:
            self.calls += 1
            if self.calls > 300:
                raise KeyboardInterrupt
            return float(labels[np.argmax(scores)])

    metric: Callable[..., float] = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        rr.train(train, metric=["ndcg@10", metric], progress=False)
