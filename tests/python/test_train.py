"""Training from Python: the same bytes whatever the threads, rows and interruptions; clear answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.training.rounds import Notes, progress_display

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

ROUNDS = 12
RANDOM: dict[str, Any] = {
    "queries_per_tree": 0.7,
    "docs_per_tree": 0.8,
    "features_per_tree": 0.7,
    "noise_scale": 0.5,
    "seed": 5,
}


@pytest.fixture(scope="module")
def raw() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(num_queries=60, seed=1)


@pytest.fixture(scope="module")
def train(raw: rr.datasets.Ranking) -> rr.Dataset:
    return rr.Dataset(raw.X, raw.y, qid=raw.qid)


@pytest.fixture(scope="module")
def valid(train: rr.Dataset) -> rr.Dataset:
    other = rr.datasets.make_polynomial(num_queries=25, seed=2)
    return rr.Dataset(other.X, other.y, qid=other.qid, like=train)


def _trained(dataset: rr.Dataset, **options: Any) -> rr.Booster:
    return rr.train(dataset, **{"num_trees": ROUNDS, "num_leaves": 7, **options})


DROPPING: dict[str, Any] = {**RANDOM, "dropout": 0.3, "dropout_skip": 0.2}


@pytest.mark.parametrize("options", [{}, RANDOM, DROPPING])
def test_threads_do_not_matter(
    train: rr.Dataset, valid: rr.Dataset, options: dict[str, Any]
) -> None:
    made = [_trained(train, valid=valid, num_threads=n, **options) for n in (1, 2, 4)]
    assert made[0] == made[1] == made[2]
    values = [booster.history["valid"]["ndcg@10"].tolist() for booster in made]
    assert values[0] == values[1] == values[2]
    assert len(values[0]) == ROUNDS


@pytest.mark.parametrize("options", [{}, RANDOM, DROPPING])
def test_the_order_of_rows_does_not_matter(
    raw: rr.datasets.Ranking, train: rr.Dataset, options: dict[str, Any]
) -> None:
    order = np.random.default_rng(0).permutation(len(raw.y))
    moved = rr.Dataset(raw.X[order], raw.y[order], qid=raw.qid[order])
    assert _trained(moved, **options) == _trained(train, **options)


def test_symmetric_trees_are_full_and_ask_one_question_a_level(train: rr.Dataset) -> None:
    options = {"tree_shape": "symmetric", "num_leaves": 19, "random_strength": 0.5}
    booster = _trained(train, valid={"train": train}, num_trees=30, **options)
    values = booster.history["train"]["ndcg@10"]
    assert values[-1] > values[0] + 0.1
    for tree in booster.dump()["trees"]:
        level = [tree]
        while "left" in level[0]:
            assert len({(node["feature"], node["threshold"]) for node in level}) == 1
            level = [node[side] for node in level for side in ("left", "right")]
        assert len(level) == 16
        assert not any("left" in node for node in level)


def _own_step(node: dict[str, Any]) -> float:
    """Return the value of a node before smoothing, from an unsmoothed tree whose docs weigh the same."""
    if "left" not in node:
        return float(node["value"])
    sides = [node[side] for side in ("left", "right")]
    return float(sum(side["docs"] * _own_step(side) for side in sides) / node["docs"])


def _smoothed_leaves(node: dict[str, Any], smooth: float, parent: float | None) -> list[float]:
    """Return the values that smoothing should make of the leaves of an unsmoothed tree."""
    weight = 1.0 if parent is None else node["docs"] / (node["docs"] + smooth)
    value = weight * _own_step(node) + (1 - weight) * (parent or 0.0)
    if "left" not in node:
        return [value]
    return [
        leaf for side in ("left", "right") for leaf in _smoothed_leaves(node[side], smooth, value)
    ]


def _leaves(node: dict[str, Any]) -> list[float]:
    if "left" not in node:
        return [node["value"]]
    return _leaves(node["left"]) + _leaves(node["right"])


@pytest.mark.parametrize("tree_shape", ["leafwise", "symmetric"])
def test_leaves_are_smoothed_towards_the_nodes_above(train: rr.Dataset, tree_shape: str) -> None:
    shape = {"tree_shape": tree_shape, "min_leaf_docs": 5}
    assert _trained(train, path_smooth=0, **shape) == _trained(train, **shape)
    made = [_trained(train, path_smooth=30, num_threads=n, **shape) for n in (1, 2)]
    assert made[0] == made[1] != _trained(train, **shape)
    spreads = []
    for smooth in (0.0, 20.0, 500.0, 1e6):
        booster = _trained(train, path_smooth=smooth, num_trees=1, objective="regression", **shape)
        spreads.append(np.ptp(_leaves(booster.dump()["trees"][0])))
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < spreads[0] / 100


def test_smoothed_leaves_are_those_of_a_walk_from_the_root(train: rr.Dataset) -> None:
    options: dict[str, Any] = {"num_trees": 1, "objective": "regression", "num_leaves": 12}
    plain = _trained(train, **options).dump()["trees"][0]
    for smooth in (0.0, 3.0, 500.0):
        smoothed = _trained(train, path_smooth=smooth, **options).dump()["trees"][0]
        expected = _smoothed_leaves(plain, smooth, None)
        assert len(expected) == 12
        assert np.allclose(_leaves(smoothed), expected, rtol=1e-5, atol=0)


def test_it_learns(raw: rr.datasets.Ranking, train: rr.Dataset, valid: rr.Dataset) -> None:
    booster = _trained(train, valid={"valid": valid, "train": train}, num_trees=40)
    for name in ("valid", "train"):
        values = booster.history[name]["ndcg@10"]
        assert values[-1] > values[0] + 0.02
    before = rr.evaluate(np.zeros(len(raw.y)), raw.y, qid=raw.qid)["ndcg@10"]
    assert booster.evaluate(train)["ndcg@10"] > before + 0.1


def test_history_evaluate_and_score_agree(valid: rr.Dataset, train: rr.Dataset) -> None:
    other = rr.datasets.make_polynomial(num_queries=25, seed=2)
    metrics = ["ndcg@10", "map", "err@5"]
    booster = _trained(train, valid=valid, metric=metrics)
    scores = booster.predict(other.X)
    assert np.array_equal(scores, booster.predict(valid))
    said = rr.evaluate(scores, other.y, qid=other.qid, metrics=metrics)
    for metric in metrics:
        assert booster.evaluate(valid, metrics)[metric] == said[metric]
        assert booster.history["valid"][metric][-1] == said[metric]


@pytest.mark.parametrize(
    "objective",
    [
        "lambdamart",
        "lambdarank",
        "ranknet",
        "xendcg",
        "regression",
        "logistic",
        "balanced_logistic",
    ],
)
def test_every_objective_trains(train: rr.Dataset, valid: rr.Dataset, objective: str) -> None:
    booster = _trained(train, valid=valid, objective=objective, relevant_from=1)
    assert booster.num_trees == ROUNDS
    assert booster.history["valid"]["ndcg@10"][-1] > booster.history["valid"]["ndcg@10"][0] - 0.02


@pytest.mark.parametrize("metric", ["err", "map", "mrr", "precision@5", "dcg@10", "recall@10"])
def test_any_metric_can_be_the_aim(train: rr.Dataset, metric: str) -> None:
    assert _trained(train, metric=metric) == _trained(
        train, objective_metric=metric.split("@")[0] if metric == "dcg@10" else metric
    )


def test_ten_and_ten_are_twenty(train: rr.Dataset) -> None:
    for options in ({}, RANDOM, {"objective": "regression"}):
        twenty = _trained(train, **{**options, "num_trees": 20})
        ten = _trained(train, **{**options, "num_trees": 10})
        assert ten == twenty.truncate(10)
        assert _trained(train, base=ten, **{**options, "num_trees": 10}) == twenty


def test_resuming_is_as_if_never_interrupted(
    train: rr.Dataset, valid: rr.Dataset, tmp_path: Path
) -> None:
    class StoppedError(Exception):
        pass

    def end_at(number: int) -> Callable[[rr.Round], None]:
        def callback(latest: rr.Round) -> None:
            if latest.number == number:
                raise StoppedError

        return callback

    options = {"valid": valid, "early_stopping": 50, **RANDOM}
    whole = _trained(train, **options)
    for number in range(1, ROUNDS + 1):
        path = tmp_path / f"{number}.rrk"
        begun: dict[str, Any] = {"checkpoint": path, "checkpoint_every": 3, **options}
        with pytest.raises(StoppedError):
            _trained(train, callbacks=end_at(number), **begun)
        assert rr.Booster.load(path).num_trees == number - 1
        resumed = _trained(train, resume=True, **begun)
        assert resumed == whole
        assert np.array_equal(
            resumed.history["valid"]["ndcg@10"], whole.history["valid"]["ndcg@10"]
        )


@pytest.mark.parametrize(
    ("options", "label", "what"),
    [
        ({}, 31.0, r"label\[57\] = 31.* \(query 11\)"),
        ({"gain": [0, 1, 2]}, 3.0, r"label\[57\] = 3"),
        ({"objective": "logistic"}, -1.0, r"label\[57\] = -1"),
        ({"objective": "err_logistic"}, 31.0, r"label\[57\] = 31"),
        ({"objective": "mcrank"}, 1.5, r"label\[57\] = 1.5"),
        ({"objective": "regression", "step": "exact", "gain": [0, 1]}, 5.0, r"label\[57\] = 5"),
    ],
)
def test_errors_of_training_name_the_callers_rows(
    raw: rr.datasets.Ranking, options: dict[str, Any], label: float, what: str
) -> None:
    X, y, qid = raw.X[:200], np.zeros(200, np.float32), np.arange(200) // 5
    y[::3] = 1
    y[57] = label
    with pytest.raises(rr.DataError, match=what) as caught:
        rr.train(rr.Dataset(X, y, qid=qid), num_trees=3, progress=False, **options)
    assert caught.value.row == 57
    assert caught.value.query in (11, "11", None)


def test_errors_about_a_booster_name_the_callers_rows(raw: rr.datasets.Ranking) -> None:
    y = np.arange(200) % 3.0
    y[57] = 31
    dataset = rr.Dataset(raw.X[:200], y, qid=np.arange(200) // 5)
    booster = rr.train(dataset, num_trees=3, objective="regression", progress=False)
    for ask in (
        lambda: booster.reweigh(dataset),
        lambda: booster.feature_importance("permutation", dataset=dataset),
    ):
        with pytest.raises(rr.DataError, match=r"label\[57\] = 31"):
            ask()


def test_a_gradient_that_overflows_names_its_query(raw: rr.datasets.Ranking) -> None:
    weight = np.ones(200)
    weight[57] = 1e300
    dataset = rr.Dataset(
        raw.X[:200], np.arange(200) % 3, qid=np.arange(200) // 5, row_weight=weight
    )
    with pytest.raises(rr.DataError, match=r"a gradient overflows \(query 11\)"):
        rr.train(dataset, num_trees=3, progress=False)


def test_only_the_same_training_is_resumed(
    train: rr.Dataset, valid: rr.Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint.rrk"
    first = _trained(train, checkpoint=path, resume=True)
    more = _trained(train, checkpoint=path, resume=True, num_trees=ROUNDS + 2)
    assert more.truncate(ROUNDS) == first
    with pytest.raises(rr.ParamError, match=f"num_trees: got 3, expected at least {ROUNDS + 2}"):
        _trained(train, checkpoint=path, resume=True, num_trees=3)
    with pytest.raises(rr.DataError, match=r"another learning_rate: got 0\.1, expected 0\.2"):
        _trained(train, checkpoint=path, resume=True, learning_rate=0.2)
    with pytest.raises(rr.DataError, match="another training set"):
        _trained(valid, checkpoint=path, resume=True)
    with pytest.raises(rr.DataError, match="other sets or metrics"):
        _trained(train, checkpoint=path, resume=True, valid=valid)
    first.save(path)
    with pytest.raises(rr.DataError, match="no checkpoint"):
        _trained(train, checkpoint=path, resume=True)
    path.write_text("something else")
    with pytest.raises(rr.ModelFormatError):
        _trained(train, checkpoint=path, resume=True)
    with pytest.raises(rr.ParamError, match="resume needs a checkpoint"):
        _trained(train, resume=True)


def test_early_stopping_keeps_the_best_round(train: rr.Dataset, valid: rr.Dataset) -> None:
    sets = {"a": train, "b": valid}
    rule = rr.EarlyStopping(5, metric="map", valid="b")
    booster = _trained(
        train,
        valid=sets,
        metric=["ndcg@5", "map"],
        early_stopping=rule,
        num_trees=400,
        learning_rate=0.8,
    )
    values = booster.history["b"]["map"]
    best = int(np.argmax(values)) + 1
    assert booster.best_round == booster.num_trees == best
    assert booster.all_rounds.num_trees == len(values) == best + 5
    assert booster.all_rounds.truncate(best) == booster
    assert float(booster.evaluate(valid, "map")["map"]) == max(values)


@pytest.mark.parametrize("smooth", [2, 7, 40, 1000])
def test_early_stopping_may_smooth_the_curve(
    train: rr.Dataset, valid: rr.Dataset, smooth: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = rr.EarlyStopping(25, smooth=smooth)
    booster = _trained(
        train, valid=valid, early_stopping=rule, num_trees=200, learning_rate=0.8, progress=True
    )
    values = booster.all_rounds.history["valid"]["ndcg@10"]
    before = [min(at, smooth // 2) for at in range(len(values))]
    ends = [at + min(-(-smooth // 2), one + 1) for at, one in enumerate(before)]
    starts = [at - one for at, one in enumerate(before)]
    means = [np.mean(values[slice(*span)]) for span in zip(starts, ends, strict=True)]
    # Where windows hold all rounds, means are equal, and the value itself decides.
    best = max(range(len(values)), key=lambda at: (round(means[at], 12), values[at])) + 1
    assert booster.best_round == booster.num_trees == best
    assert len(values) >= min(200, best + 25)
    where = f"stopped after round {len(values)}, best round {best}: "
    assert f"{where}valid ndcg@10 {values[best - 1]:.5f}" in capsys.readouterr().err


def test_early_stopping_refuses_to_smooth_over_no_round(
    train: rr.Dataset, valid: rr.Dataset
) -> None:
    with pytest.raises(rr.ParamError, match="early_stopping, smooth"):
        _trained(train, valid=valid, early_stopping=rr.EarlyStopping(3, smooth=0))


def test_callbacks_see_each_round(train: rr.Dataset, valid: rr.Dataset) -> None:
    seen: list[rr.Round] = []
    trees: list[int] = []

    def look(latest: rr.Round) -> bool:
        seen.append(latest)
        trees.append(latest.booster.num_trees)
        return latest.number == 5

    booster = _trained(train, valid=valid, callbacks=[look])
    assert [latest.number for latest in seen] == trees == [1, 2, 3, 4, 5]
    assert booster.num_trees == 5
    values = [latest.values["valid"]["ndcg@10"] for latest in seen]
    assert values == booster.history["valid"]["ndcg@10"].tolist()


def test_a_callback_that_raises_ends_training_without_its_tree(train: rr.Dataset) -> None:
    def fail(latest: rr.Round) -> None:
        if latest.number == 4:
            message = "enough"
            raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="enough") as caught:
        _trained(train, callbacks=fail)
    booster = vars(caught.value)["booster"]
    assert booster == _trained(train, num_trees=3)


def _pairs(
    scores: NDArray[np.float64], labels: NDArray[np.float32], rows: NDArray[np.uint32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    assert len(scores) == len(labels) == len(rows)
    rho = 1 / (1 + np.exp(np.subtract.outer(scores, scores)))
    better = np.greater.outer(labels, labels)
    grad = -(rho * better).sum(1) + (rho * better).sum(0)
    both = better | better.T
    return grad, (rho * (1 - rho) * both).sum(1)


def test_a_loss_of_ones_own_sees_one_query_at_a_time(
    raw: rr.datasets.Ranking, train: rr.Dataset, valid: rr.Dataset
) -> None:
    seen: set[int] = set()

    def loss(scores: Any, labels: Any, rows: Any) -> Any:
        assert len(set(raw.qid[rows])) == 1
        assert np.array_equal(raw.y[rows], labels)
        seen.update(rows.tolist())
        return _pairs(scores, labels, rows)

    booster = _trained(train, objective=loss, valid=valid)
    assert seen == set(range(len(raw.y)))
    values = booster.history["valid"]["ndcg@10"]
    assert values[-1] > values[0]
    # The same loss of ours, up to its arithmetic.
    ours = _trained(train, objective="ranknet", pairs_to=None)
    assert np.corrcoef(booster.predict(raw.X), ours.predict(raw.X))[0, 1] > 0.95
    assert booster == _trained(train, objective=loss, num_threads=1)


def test_a_metric_of_ones_own(train: rr.Dataset, valid: rr.Dataset) -> None:
    def first(scores: Any, labels: Any) -> float:
        return float(labels[scores == scores.max()].mean())

    booster = _trained(train, metric=["ndcg@10", first], valid=valid)
    assert list(booster.history["valid"]) == ["ndcg@10", "first"]
    assert booster == _trained(train, metric=["ndcg@10"])
    scores, ids = booster.predict(valid), np.repeat(valid.query_ids, valid.query_sizes)
    expected = [first(scores[ids == q], valid.labels[ids == q]) for q in valid.query_ids]
    assert booster.history["valid"]["first"][-1] == pytest.approx(np.mean(expected))


def test_preferences_take_the_place_of_labels(raw: rr.datasets.Ranking, train: rr.Dataset) -> None:
    pairs = [
        (better, worse)
        for q in np.unique(raw.qid)
        for better in np.flatnonzero(raw.qid == q)
        for worse in np.flatnonzero(raw.qid == q)
        if raw.y[better] > raw.y[worse]
    ]
    blank = rr.Dataset(raw.X, np.zeros(len(raw.y)), qid=raw.qid)
    booster = _trained(blank, objective="ranknet", preferences=pairs)
    ours = _trained(train, objective="ranknet", pairs_to=None)
    assert np.corrcoef(booster.predict(raw.X), ours.predict(raw.X))[0, 1] > 0.95
    order = np.random.default_rng(1).permutation(len(raw.y))
    where = np.argsort(order)
    moved = rr.Dataset(raw.X[order], np.zeros(len(raw.y)), qid=raw.qid[order])
    swapped = where[np.array(pairs)][::-1]
    assert _trained(moved, objective="ranknet", preferences=swapped) == booster
    soft = [(a, b, 0.9, 2.0) for a, b in pairs]
    assert _trained(blank, objective="ranknet", preferences=soft) != booster
    for wrong, said in [
        ([(0, len(raw.y))], "a row of preferences\\[0\\]: got 3000"),
        ([(0, 1), (0, len(raw.y) - 1)], "the rows of preferences\\[1\\]: got 0 and 2999"),
        ([(0, 1, 1.5)], "probability"),
    ]:
        with pytest.raises(rr.DataError, match=said):
            _trained(blank, objective="ranknet", preferences=wrong)
    with pytest.raises(rr.ParamError, match="two row numbers"):
        _trained(blank, objective="ranknet", preferences=[(0, 0.5)])
    with pytest.raises(rr.ParamError, match="preferences need objective='ranknet'"):
        _trained(train, preferences=pairs)


def test_base_scores_are_where_training_starts(raw: rr.datasets.Ranking, train: rr.Dataset) -> None:
    base = _trained(train, objective="regression", num_trees=3)
    scored = rr.Dataset(raw.X, raw.y, qid=raw.qid, base_score=base.predict(raw.X))
    more = _trained(scored)
    with_base = more.predict(scored)
    assert np.allclose(with_base, base.predict(raw.X) + more.predict(raw.X))
    assert more.evaluate(scored)["ndcg@10"] > more.evaluate(train)["ndcg@10"] - 0.2
    # The base's trees are in the model, its scores in the data.
    other = rr.Dataset(raw.X + 1, raw.y, qid=raw.qid)
    with pytest.raises(rr.DataError, match="the base cannot score binned docs"):
        _trained(other, base=base)


def test_snapshots_are_models(train: rr.Dataset, tmp_path: Path) -> None:
    booster = _trained(train, snapshot=tmp_path / "model-{round}.rrk", snapshot_every=4)
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["model-12.rrk", "model-4.rrk", "model-8.rrk"]
    assert rr.Booster.load(tmp_path / "model-4.rrk") == booster.truncate(4)
    assert rr.Booster.load(tmp_path / "model-12.rrk") == booster


def test_progress_is_lines_where_no_terminal_is(
    train: rr.Dataset, valid: rr.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    booster = _trained(train, valid=valid, progress=True, early_stopping=50)
    *lines, end = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("round 1, valid ndcg@10 0.")
    assert lines[-1].startswith(f"round {ROUNDS}, ")
    assert "best at " in lines[-1]
    assert " left" not in lines[-1]
    best = booster.history["valid"]["ndcg@10"].max()
    where = f"stopped after round {ROUNDS}, best round {booster.best_round}"
    assert end == f"{where}: valid ndcg@10 {best:.5f}"
    _trained(train)
    assert capsys.readouterr().err == ""


def test_threads_share_a_booster_and_train_side_by_side(
    raw: rr.datasets.Ranking, train: rr.Dataset
) -> None:
    booster = _trained(train)
    expected = booster.predict(raw.X)

    def work(number: int) -> bool:
        if number % 4 == 0:
            return _trained(train, objective=_pairs, num_trees=2) == ours
        return np.array_equal(booster.predict(raw.X), expected)

    ours = _trained(train, objective=_pairs, num_trees=2)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))


def test_progress_lines_have_the_time_left_while_there_is_some(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing: Any = SimpleNamespace(best_round=None)
    at = iter([0.0, 100.0, 120.0, 200.0])
    monkeypatch.setattr("time.monotonic", lambda: next(at))
    with progress_display(True, 3, 0, "tree") as show:
        for number in (1, 2, 3):
            show(rr.Round(number, {}, False, 2, _trainer=nothing, _notes=Notes(None)))
    monkeypatch.undo()
    lines = ["round 1, about 3 min left", "round 2, about 60 s left", "round 3"]
    assert capsys.readouterr().err.splitlines() == lines
