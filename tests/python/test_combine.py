from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.combining.methods import METHODS

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("agg")


class Two:
    """Two rankers of the same docs, and of held-out docs."""

    def __init__(self, num_queries: int = 60) -> None:
        X, self.y, self.qid = web = rr.datasets.make_web(num_queries, docs_per_query=20, seed=1)
        column = web.feature_names.index
        self.a = np.nan_to_num(X[:, column("whole_bm25")].astype(float))
        self.b = np.nan_to_num(X[:, column("body_bm25")].astype(float))

    @property
    def valid(self) -> dict[str, Any]:
        return {"rankers": [self.a, self.b], "y": self.y, "qid": self.qid}


@pytest.fixture(scope="module")
def two() -> Two:
    return Two()


@pytest.fixture(scope="module")
def boosters() -> tuple[Any, Any, Any, Any]:
    data = rr.datasets.make_polynomial(60, docs_per_query=20, seed=0)
    train = rr.Dataset(data.X, data.y, qid=data.qid)
    made = [
        rr.train(train, num_trees=5, num_leaves=4, objective=one, features_per_tree=0.3, seed=seed)
        for seed, one in enumerate(["lambdamart", "regression"])
    ]
    return made, data.X, data.y, data.qid


def test_no_mixture_of_a_grid_is_better(two: Two) -> None:
    best = rr.Combiner("ndcg@10").fit([two.a, two.b], two.y, qid=two.qid)
    for alpha in np.linspace(0, 1, 1001):
        mixed = (1 - alpha) * two.a + alpha * two.b
        value = rr.evaluate(mixed, two.y, qid=two.qid)["ndcg@10"]
        assert value <= best.value + 1e-12
        if best.interval[0] < alpha < best.interval[1]:  # type: ignore[index]
            assert value == pytest.approx(best.value, rel=1e-12)
    assert best.value >= max(best.alone.values())


def test_a_mean_over_cuts_is_combined_exactly(two: Two) -> None:
    name = "ndcg@1..10"
    best = rr.Combiner(name).fit([two.a, two.b], two.y, qid=two.qid)
    for alpha in np.linspace(0, 1, 101):
        mixed = (1 - alpha) * two.a + alpha * two.b
        value = rr.evaluate(mixed, two.y, qid=two.qid, metrics=name)[name]
        assert value <= best.value + 1e-12
    assert best.alpha is not None
    mixed = (1 - best.alpha) * two.a + best.alpha * two.b
    assert rr.evaluate(mixed, two.y, qid=two.qid, metrics=name)[name] == pytest.approx(best.value)


@pytest.mark.parametrize("metric", ["ndcg@10", "err@5", "map", "mrr", "pairwise"])
@pytest.mark.parametrize("method", ["sweep", "coordinate", "best_first", "average"])
def test_the_value_is_what_evaluate_says(two: Two, metric: str, method: str) -> None:
    weight = {one: 1 + one % 3 for one in range(60)}
    best = rr.Combiner(metric, method=method)
    best.fit([two.a, two.b], two.y, qid=two.qid, query_weight=weight)
    mixed = best.predict([two.a, two.b])
    again = rr.evaluate(mixed, two.y, qid=two.qid, metrics=metric, query_weight=weight)[metric]
    assert again == best.value
    assert again.interval == best.value.interval
    assert np.array_equal(mixed, best.weights[0] * two.a + best.weights[1] * two.b)
    assert best.history[-1] == best.value


def test_a_curve_says_what_the_metric_is_everywhere(two: Two) -> None:
    best = rr.Combiner("err@10", alphas=(-2, 5)).fit([two.a, two.b], two.y, qid=two.qid)
    curve = best.curve
    assert curve is not None
    assert curve.is_whole
    assert (curve.start[0], curve.end[-1]) == (-2, 5)
    assert np.array_equal(curve.start[1:], curve.end[:-1])
    assert curve.value.max() == pytest.approx(best.value)
    for alpha in np.random.default_rng(0).uniform(-2, 5, 30):
        value = rr.evaluate(two.a + alpha * two.b, two.y, qid=two.qid, metrics="err@10")["err@10"]
        assert curve.at(alpha) == pytest.approx(value)
    few = rr.Combiner("err@10", alphas=(-2, 5), curve_steps=20)
    few.fit([two.a, two.b], two.y, qid=two.qid)
    assert few.curve is not None
    assert not few.curve.is_whole
    assert len(few.curve) <= 20
    assert (few.alpha, few.value) == (best.alpha, best.value)


def test_neither_row_order_nor_threads_change_a_bit(two: Two) -> None:
    rng = np.random.default_rng(2)
    found = []
    for threads in (1, 2, 3):
        order = rng.permutation(len(two.y)) if threads > 1 else np.arange(len(two.y))
        for method in ("sweep", "coordinate", "most_different_first"):
            best = rr.Combiner("ndcg@5", method=method, num_threads=threads)
            best.fit([two.a[order], two.b[order]], two.y[order], qid=two.qid[order])
            found.append((best.weights.tolist(), float(best.value), best.interval))
    assert found[:3] == found[3:6] == found[6:]


def test_a_held_out_set_has_its_curve_and_its_value(two: Two) -> None:
    first, second = two.qid < 30, two.qid >= 30
    valid: dict[str, Any] = {
        "rankers": [two.a[second], two.b[second]],
        "y": two.y[second],
        "qid": two.qid[second],
    }
    best = rr.Combiner().fit(
        [two.a[first], two.b[first]], two.y[first], qid=two.qid[first], valid=valid
    )
    alone = rr.Combiner().fit(**valid)
    assert best.held_out_curve is not None
    assert alone.curve is not None
    assert np.array_equal(best.held_out_curve.value, alone.curve.value)
    assert best.held_out is not None
    assert best.held_out == pytest.approx(alone.curve.at(best.alpha or 0))
    assert best.held_out.interval[0] < best.held_out < best.held_out.interval[1]
    assert best.held_out_alone is not None
    for name, scores in zip(best.names, valid["rankers"], strict=True):
        evaluated = rr.evaluate(scores, valid["y"], qid=valid["qid"])["ndcg@10"]
        assert best.held_out_alone[name] == evaluated
        assert best.to_dict()["held_out_alone"][name]["mean"] == float(evaluated)
    head, *rows = (re.split(" {2,}", line) for line in repr(best).splitlines())
    assert [one for one in head if one] == [
        "weight",
        "ndcg@10, fitted",
        "95% interval",
        "held out",
        "95% interval",
    ]
    assert [row[0] for row in rows] == [*best.names, "combined"]
    assert [row[-2] for row in rows[:-1]] == [
        f"{value:.4f}" for value in best.held_out_alone.values()
    ]
    assert rows[-1][-4] == f"{best.value:.4f}"
    assert rows[-1][-2] == f"{best.held_out:.4f}"


def test_of_the_way_the_weights_that_are_best_held_out_are_taken(two: Two) -> None:
    rng = np.random.default_rng(1)
    rankers = [two.a, two.b] + [rng.normal(size=len(two.y)) for _ in range(8)]
    half = two.qid < 20
    fit: dict[str, Any] = {
        "rankers": [one[half] for one in rankers],
        "y": two.y[half],
        "qid": two.qid[half],
    }
    valid: dict[str, Any] = {
        "rankers": [one[~half] for one in rankers],
        "y": two.y[~half],
        "qid": two.qid[~half],
    }
    best = rr.Combiner().fit(**fit, valid=valid)
    free = rr.Combiner().fit(**fit)
    assert np.array_equal(best.history, free.history)
    assert free.value == free.history.max() == free.history[-1]
    assert np.all(np.diff(free.history) > 0)
    assert best.held_out_history is not None
    assert best.held_out == best.held_out_history.max()
    assert best.held_out_history[best.chosen] == best.held_out
    assert best.history[best.chosen] == best.value
    # Noise fits noise: what is best held out is not the end of the way.
    assert best.chosen < len(best.history) - 1


def test_boosters_become_one_model(boosters: tuple[Any, Any, Any, Any], tmp_path: Path) -> None:
    made, X, y, qid = boosters
    for method in ("sweep", "coordinate"):
        best = rr.Combiner(method=method).fit({"mart": made[0], "mse": made[1]}, y, X=X, qid=qid)
        assert best.names == ["mart", "mse"]
        one = best.booster
        one.save(tmp_path / "both.rrk")
        assert rr.Booster.load(tmp_path / "both.rrk") == one
        mixed = sum(w * b.predict(X) for w, b in zip(best.weights, made, strict=True))
        assert np.allclose(one.predict(X), mixed, rtol=1e-15)
        assert np.array_equal(best.predict(X), one.predict(X))
        assert rr.evaluate(one.predict(X), y, qid=qid)["ndcg@10"] == best.value
        assert best.value >= max(best.alone.values())


def test_a_dataset_has_labels_and_queries_and_is_scored(
    boosters: tuple[Any, Any, Any, Any],
) -> None:
    made, X, y, qid = boosters
    train = rr.Dataset(X, y, qid=qid, query_weight={q: 1 + q % 2 for q in range(60)})
    best = rr.Combiner().fit(made, train, valid=train)
    assert best.value == best.booster.evaluate(train)["ndcg@10"] == best.held_out
    assert np.array_equal(best.predict(train), best.predict(X))
    like = rr.Dataset(X, y, qid=qid, like=best.booster)
    assert np.array_equal(best.predict(like), best.predict(X))
    based = rr.Dataset(X, y, qid=qid, base_score=np.ones(len(y)), like=train)
    with pytest.raises(rr.DataError, match="sum of models cannot score docs that have base"):
        best.predict(based)


def test_what_cannot_be_used_is_named(two: Two, boosters: tuple[Any, Any, Any, Any]) -> None:
    made = boosters[0]
    a, b, y, qid = two.a, two.b, two.y, two.qid
    bad = a.copy()
    bad[7] = np.nan
    for rankers, said in [
        ([], "rankers: got none"),
        (3, "rankers: got 3"),
        ([a, b[1:]], "scores of ranker 1 has the wrong length"),
        ({"good": b, "bad": bad}, r"scores of bad, row 7 \(query \d+\): got nan"),
        ([a, np.full(len(y), -np.inf)], "scores of ranker 1, row "),
        (made, "ranker 0 is a Booster, which needs features"),
    ]:
        with pytest.raises((ValueError, TypeError), match=said):
            rr.Combiner().fit(rankers, y, qid=qid)
    with pytest.raises(rr.ParamError, match="a sweep is of two rankers: got 1"):
        rr.Combiner(method="sweep").fit([a], y, qid=qid)
    wrong: list[tuple[dict[str, Any], str]] = [
        (
            {"method": "pow"},
            "method: got 'pow', expected nested pairs .*, or one of auto, sweep, coordinate, powell, best_first, "
            "most_different_first, average, lambdarank, lambdarank_net$",
        ),
        ({"method": 3}, "method: got 3, expected nested pairs"),
        ({"alphas": (1.0, 1.0)}, "the range of alpha"),
        ({"alphas": 3}, "alphas: got 3"),
        ({"metric": "ndgc"}, "ndgc"),
        ({"metric": ["ndcg", "map"]}, "expected one"),
        ({"reach": -1.0, "method": "coordinate"}, "reach"),
    ]
    for options, said in wrong:
        with pytest.raises(rr.ParamError, match=said):
            rr.Combiner(**options).fit([a, b], y, qid=qid)
    for valid, said in [
        ({"scores": 3}, "valid has 'scores'"),
        ({"y": y}, "valid needs rankers"),
        ({"rankers": [a], "y": y, "qid": qid}, "another number of rankers"),
        (3, "valid: got 3"),
    ]:
        with pytest.raises(rr.RustrankError, match=said):
            rr.Combiner().fit([a, b], y, qid=qid, valid=valid)
    with pytest.raises(rr.DataError, match="no query has anything to find"):
        rr.Combiner().fit([a, b], 0 * y, qid=qid)
    with pytest.raises(rr.RustrankError, match="call fit first"):
        _ = rr.Combiner().weights
    with pytest.raises(rr.RustrankError, match="fitted to scores"):
        _ = rr.Combiner().fit([a, b], y, qid=qid).booster


def test_the_command_offers_the_methods_of_the_combiner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["combine", "docs.txt", "a.rrk", "b.rrk", "--method", "pow"]) == 2
    told = capsys.readouterr().err
    with pytest.raises(rr.ParamError) as caught:
        rr.Combiner(method="pow").fit([[0.0, 1.0], [1.0, 0.0]], [0, 1], group=[2])
    for name in METHODS:
        assert name in told
        assert name in str(caught.value)


def test_edge_cases_have_clear_answers() -> None:
    one = rr.Combiner().fit([[1.0, 2.0]], [0, 1])
    assert one.weights.tolist() == [1.0]
    same = rr.Combiner().fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    assert (same.alpha, same.value) == (0.5, 1.0)
    lonely = rr.Combiner().fit([[3.0], [4.0]], [1])
    assert lonely.value == 1.0
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40)
    many = list(rng.normal(size=(1000, 40)) + 0.05 * y)
    all_of_them = rr.Combiner(most_passes=1).fit(many, y, group=[10] * 4)
    assert all_of_them.value >= max(all_of_them.alone.values())


def test_trees_and_powell_and_restarts(two: Two) -> None:
    rng = np.random.default_rng(3)
    names = ["a", "b", "noise"]
    rankers = dict(zip(names, [two.a, two.b, rng.normal(size=len(two.y))], strict=True))
    values = {}
    methods: list[Any] = ["coordinate", "powell", ((0, 1), 2), ((2, 1), 0), "best_first"]
    for method in methods:
        for restarts in (0, 2):
            best = rr.Combiner(method=method, restarts=restarts, seed=1)
            best.fit(rankers, two.y, qid=two.qid)
            assert best.value >= max(best.alone.values()) - 1e-12
            values[method, restarts] = best.value
    assert values["coordinate", 2] >= values["coordinate", 0]
    assert values["powell", 2] >= values["powell", 0]
    positive = rr.Combiner(method="powell", negative=False).fit(rankers, two.y, qid=two.qid)
    assert min(positive.weights) >= 0
    wrong: list[tuple[Any, str]] = [
        (((0, 1), 1), "join 1 cannot be made"),
        ((0, 1), "does not join all"),
        ((0, 1, 2), "expected a pair"),
        (("a", "b"), "expected a whole number"),
    ]
    for method, said in wrong:
        with pytest.raises(rr.ParamError, match=said):
            rr.Combiner(method=method).fit(rankers, two.y, qid=two.qid)


def test_ties_can_be_broken_by_a_score_or_by_jitter(two: Two) -> None:
    coarse, other = np.round(two.a / 10), np.round(two.b / 10)
    rankers = [coarse, other]
    broken = rr.Combiner().fit(rankers, two.y, qid=two.qid, tie_break=two.y)
    expected = rr.Combiner().fit(rankers, two.y, qid=two.qid)
    worst = rr.Combiner().fit(rankers, two.y, qid=two.qid, tie_break=-two.y)
    assert worst.value < expected.value < broken.value
    drawn = [rr.Combiner(ties="jitter", seed=seed) for seed in (0, 0, 1)]
    order = np.random.default_rng(0).permutation(len(two.y))
    drawn[0].fit(rankers, two.y, qid=two.qid)
    drawn[1].fit([one[order] for one in rankers], two.y[order], qid=two.qid[order])
    drawn[2].fit(rankers, two.y, qid=two.qid)
    assert drawn[0].value == drawn[1].value != drawn[2].value
    assert drawn[0].value == pytest.approx(expected.value, abs=0.02)
    with pytest.raises(rr.DataError, match="scores of tie_break has the wrong length"):
        rr.Combiner().fit(rankers, two.y, qid=two.qid, tie_break=two.y[1:])
    # Far from 0 there are few bits for what breaks ties.
    far = [one + 1e9 for one in rankers]
    assert rr.Combiner().fit(far, two.y, qid=two.qid, tie_break=two.y).value == broken.value


def test_rankers_are_known_by_their_names(two: Two) -> None:
    best = rr.Combiner().fit({"a": two.a, "b": two.b}, two.y, qid=two.qid)
    scores = best.predict({"b": two.b, "a": two.a})
    np.testing.assert_array_equal(scores, best.predict([two.a, two.b]))
    with pytest.raises(rr.ParamError, match="docs has rankers b, A: expected a, b"):
        best.predict({"b": two.b, "A": two.a})


def test_a_score_far_below_all_others_is_refused(two: Two) -> None:
    lost = two.b.copy()
    lost[3] = -1e30
    with pytest.raises(rr.DataError, match="just below its lowest"):
        rr.Combiner().fit([two.a, lost], two.y, qid=two.qid)


def test_a_combiner_of_boosters_says_that_it_scores_features(
    boosters: tuple[Any, Any, Any, Any],
) -> None:
    made, X, y, qid = boosters
    named = dict(zip(["first", "second"], made, strict=True))
    best = rr.Combiner().fit(named, y, X=X, qid=qid)
    scores = {name: one.predict(X) for name, one in named.items()}
    for given in (scores, list(scores.values()), np.column_stack(list(scores.values()))):
        with pytest.raises(
            rr.errors.ParamKindError, match=r"scores of 'first', 'second'.*features"
        ):
            best.predict(given)
    assert np.array_equal(best.predict(X[:2]), best.predict(list(X[:2])))


def test_a_plot_shows_both_curves_and_the_interval(two: Two, tmp_path: Path) -> None:
    best = rr.Combiner(alphas=(0.01, 100)).fit([two.a, two.b], two.y, qid=two.qid, valid=two.valid)
    axes = best.plot()
    labels = axes.get_legend_handles_labels()[1]
    assert any(label.startswith("best interval") for label in labels)
    assert any(label.startswith("fitted") for label in labels)
    assert any(label.startswith("held out") for label in labels)
    assert axes.get_xscale() == "log"
    axes.figure.savefig(tmp_path / "curve.png")
    way = rr.Combiner(method="coordinate").fit([two.a, two.b], two.y, qid=two.qid)
    assert way.plot(axes.figure.add_subplot()).get_xlabel() == "change of the weights"


def run(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main([str(one) for one in arguments])
    return code, *capsys.readouterr()


def test_the_command_combines_scores(
    two: Two, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, a, b, mixed = (tmp_path / name for name in ("data.txt", "a.txt", "b.txt", "mixed.txt"))
    rr.datasets.make_web(60, docs_per_query=20, seed=1).to_letor(data)
    np.savetxt(a, two.a, fmt="%.17g")
    np.savetxt(b, two.b, fmt="%.17g")
    best = rr.Combiner("err@5").fit([two.a, two.b], two.y, qid=two.qid)
    more = ["--scores", mixed, "--plot", tmp_path / "curve.png", "--metric", "err@5"]
    code, said, _ = run(["combine", data, a, b, *more, "--valid", data, a, b], capsys)
    assert code == 0
    assert f"{best.value:.4f}" in said
    assert "held out" in said
    assert np.array_equal(np.loadtxt(mixed), best.predict([two.a, two.b]))
    assert (tmp_path / "curve.png").stat().st_size > 10_000
    code, said, _ = run(["combine", data, a, b, "--metric", "err@5", "--json"], capsys)
    found = json.loads(said)
    assert found["weights"] == {"a.txt": best.weights[0], "b.txt": best.weights[1]}
    assert found["values"]["combined"]["mean"] == best.value
    again = ["--method", "coordinate", "--restarts", 3, "--seed", 5, "--metric", "err@5", "--json"]
    code, said, _ = run(["combine", data, a, b, *again], capsys)
    way = rr.Combiner("err@5", method="coordinate", restarts=3, seed=5)
    way.fit([two.a, two.b], two.y, qid=two.qid)
    assert (code, json.loads(said)["values"]["combined"]["mean"]) == (0, float(way.value))
    code, _, error = run(["combine", data, a, b, "--save", tmp_path / "no.rrk"], capsys)
    assert (code, "a.txt is no model" in error) == (2, True)


def test_the_command_combines_models(
    boosters: tuple[Any, Any, Any, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, X, y, qid = boosters
    data, *files, both = (tmp_path / name for name in ("data.txt", "a.rrk", "b.rrk", "both.rrk"))
    rr.datasets.make_polynomial(60, docs_per_query=20, seed=0).to_letor(data)
    for booster, file in zip(made, files, strict=True):
        booster.save(file)
    arguments = ["combine", data, *files, "--save", both, "--valid", data]
    code, said, error = run(arguments, capsys)
    assert (code, error) == (0, "")
    best = rr.Combiner().fit(made, y, X=X, qid=qid)
    assert f"{best.value:.4f}" in said
    assert rr.Booster.load(both) == best.booster


def test_an_exact_step_is_an_option_of_training(
    boosters: tuple[Any, Any, Any, Any], tmp_path: Path
) -> None:
    _, X, y, qid = boosters
    train = rr.Dataset(X, y, qid=qid)
    other = rr.datasets.make_polynomial(40, docs_per_query=20, seed=0, first_query=60)
    valid = rr.Dataset(other.X, other.y, qid=other.qid, like=train)
    options: dict[str, Any] = {"num_trees": 6, "num_leaves": 8, "learning_rate": 1.0}
    exact = rr.train(train, step="exact", **options)
    assert exact.params["step"] == "exact ndcg@10 on train, 0.1 to 100"
    newton = rr.train(train, **options)
    assert newton.params["step"] == "newton"
    # No order comes of nothing: where no step is better, that of Newton is taken or the nearest.
    first = [
        {"num_trees": 1, **one} for one in ({"step": "newton"}, {"step": "exact", "step_min": 1})
    ]
    assert rr.train(train, **{**options, **first[0]}).predict(X).tolist() == (
        rr.train(train, **{**options, **first[1]}).predict(X).tolist()
    )
    # The trees of the second round are the same, and an exact step of it is at least as good.
    two = [one.truncate(2).evaluate(train)["ndcg@10"] for one in (exact, newton)]
    assert two[0] >= two[1]
    more: dict[str, Any] = {**options, "step_metric": "err@5", "step_max": 10, "valid": valid}
    held = rr.train(train, step="exact", step_on="valid", num_threads=1, **more)
    assert held.params["step"] == "exact err@5 on set 0, 0.1 to 10"
    checkpoint = tmp_path / "checkpoint.rrk"
    again: dict[str, Any] = {"step": "exact", "step_on": "valid", "checkpoint": checkpoint, **more}
    rr.train(train, callbacks=lambda one: one.number == 3, **again)
    assert rr.train(train, resume=True, num_threads=3, **again) == held
    for wrong, said in [
        ({"step": "full"}, 'step is not known: got "full", expected "newton" or "exact"'),
        ({"step": "exact", "step_on": "test"}, "step_on: got 'test', expected a validation set"),
        ({"step": "exact", "step_min": 3, "step_max": 2}, "the range of weights of a tree"),
    ]:
        with pytest.raises(rr.ParamError, match=said):
            rr.train(train, **wrong)  # type: ignore[arg-type]


def test_reweighing_raises_the_metric(boosters: tuple[Any, Any, Any, Any]) -> None:
    made, X, y, qid = boosters
    train = rr.Dataset(X, y, qid=qid)
    better = made[0].reweigh(train, "err@5")
    history = better.history["dataset"]["err@5"]
    assert np.all(np.diff(history) > 0)
    assert history[0] == made[0].evaluate(train, "err@5")["err@5"]
    assert history[-1] == better.evaluate(train, "err@5")["err@5"]
    assert better.params["reweighed"] == "err@5"
    other = rr.datasets.make_polynomial(40, docs_per_query=20, seed=0, first_query=60)
    valid = rr.Dataset(other.X, other.y, qid=other.qid, like=train)
    stopped = made[0].reweigh(train, valid=valid)
    held_out = stopped.history["valid"]["ndcg@10"]
    assert stopped.evaluate(valid)["ndcg@10"] == held_out.max()
    with pytest.raises(rr.ParamError, match="the range of weights of a tree"):
        made[0].reweigh(train, low=2, high=1)
    best = rr.Combiner().fit(made, train)
    with pytest.raises(rr.DataError, match="only a model of trees alone"):
        best.booster.reweigh(train)


def test_lambdarank_learns_weights_or_a_net(two: Two) -> None:
    rng = np.random.default_rng(3)
    rankers = {"a": two.a, "b": two.b, "noise": rng.normal(size=len(two.y)), "constant": 0 * two.a}
    exact = rr.Combiner(method="coordinate").fit(rankers, two.y, qid=two.qid)
    linear = rr.Combiner(method="lambdarank").fit(rankers, two.y, qid=two.qid)
    assert max(linear.alone.values()) < linear.value <= exact.value
    shares = linear.weights * [np.std(scores) for scores in rankers.values()]
    assert abs(shares[2]) < min(shares[:2])
    assert linear.weights[3] == 0
    scores = sum(w * s for w, s in zip(linear.weights, rankers.values(), strict=True))
    assert np.allclose(linear.predict(rankers), scores)
    net = rr.Combiner(method="lambdarank_net").fit(
        rankers, two.y, qid=two.qid, valid={"rankers": rankers, "y": two.y, "qid": two.qid}
    )
    assert max(net.alone.values()) < net.value == net.held_out
    assert rr.evaluate(net.predict(rankers), two.y, qid=two.qid)["ndcg@10"] == net.value
    assert "noise" in repr(net)
    for name in ("weights", "booster"):
        with pytest.raises(rr.RustrankError, match=f"there is no {name}: the combination is a net"):
            getattr(net, name)


def test_an_exact_step_has_a_rate_of_1_and_three_ways_of_ties(
    boosters: tuple[Any, Any, Any, Any],
) -> None:
    _, X, y, qid = boosters
    train = rr.Dataset(X, y, qid=qid, feature_names=[f"f{at}" for at in range(X.shape[1])])
    options: dict[str, Any] = {"num_trees": 4, "num_leaves": 8, "step": "exact"}
    exact = rr.train(train, **options)
    assert exact == rr.train(train, learning_rate=1.0, **options)
    ranker: Any = rr.LambdaMART(step="exact")
    assert ranker.learning_rate == 1.0
    # The preset's rate is that of Newton steps; what the caller gives wins over both.
    ranker = rr.LambdaMART(step="exact", preset="wu2008")
    assert ranker.learning_rate == 1.0
    ranker = rr.LambdaMART(step="exact", preset="wu2008", learning_rate=0.5)
    assert ranker.learning_rate == 0.5
    with pytest.warns(rr.RustrankWarning, match="step='exact' with learning_rate=0.1"):
        shrunk = rr.train(train, learning_rate=0.1, **options)
    assert shrunk != exact
    made = {exact.to_text()}
    ways: list[dict[str, Any]] = [
        {"step_ties": "jitter"},
        {"step_ties": "jitter", "seed": 1},
        {"step_ties": "feature", "step_tie_feature": "f2"},
    ]
    for ties in ways:
        one = rr.train(train, **options, **ties)
        order = np.random.default_rng(0).permutation(len(y))
        names = train.feature_names
        shuffled = rr.Dataset(X[order], y[order], qid=qid[order], feature_names=names)
        assert rr.train(shuffled, num_threads=2, **options, **ties) == one
        made.add(one.to_text())
    assert len(made) == 4
    assert rr.train(train, **options, step_ties="feature", step_tie_feature=2) == one
    faults: list[tuple[dict[str, Any], str]] = [
        ({"step_ties": "feature"}, "step_ties='feature' needs a feature"),
        ({"step_ties": "feature", "step_tie_feature": "f99"}, "there is no feature 'f99'"),
        ({"step_ties": "luck"}, 'step_ties is not known: got "luck"'),
    ]
    for wrong, said in faults:
        with pytest.raises(rr.ParamError, match=said):
            rr.train(train, **options, **wrong)


def test_the_ends_of_a_curve_are_the_single_rankers() -> None:
    found = rr.Combiner("ndcg").fit([[0, 1, 2], [5, 5, 5]], [1, 0, 0], group=[3])
    assert found.alpha == 1.0
    curve = found.curve
    assert curve is not None
    first, second = map(float, found.alone.values())
    assert curve.at(1.0) == second == found.value == pytest.approx(0.71030992)
    assert curve.at(0.0) == curve.at(0.999) == pytest.approx(first)
    # Both have ties, which the other one orders; the ends that are drawn have these values, too.
    rng = np.random.default_rng(0)
    scores = [rng.integers(0, 3, 200).astype(float) for _ in range(3)]
    y, qid = rng.integers(0, 4, 200), np.arange(200) // 20
    valid = {"rankers": scores[1:], "y": y, "qid": qid}
    for steps in (10_000, 3):
        found = rr.Combiner(curve_steps=steps).fit(scores[:2], y, qid=qid, valid=valid)
        assert found.held_out_alone is not None
        for line, alone in (
            (found.curve, found.alone),
            (found.held_out_curve, found.held_out_alone),
        ):
            assert line is not None
            ends = list(map(float, alone.values()))
            assert [line.at(0), line.at(1)] == pytest.approx(ends)
            assert [line.value[0], line.value[-1]] == pytest.approx(ends)
            assert [line.start[0], line.end[-1]] == [0, 1]
            assert abs(line.at(1e-9) - ends[0]) > 1e-6
            assert line.at(-1) == pytest.approx(ends[0])
    # Another range ends with no ranker alone.
    found = rr.Combiner(alphas=(0, 2)).fit(scores[:2], y, qid=qid)
    line = found.curve
    assert line is not None
    assert line.at(0) == pytest.approx(float(next(iter(found.alone.values()))))
    assert line.start[-1] < line.end[-1] == 2


def test_a_combiner_without_a_booster_names_a_way_to_keep_it() -> None:
    found = rr.Combiner().fit([[0, 1, 2], [5, 1, 3]], [1, 0, 0], group=[3])
    with pytest.raises(
        rr.RustrankError, match=r"no booster: .*pickle keeps the combiner, and one of mo"
    ):
        _ = found.booster
    with pytest.raises(
        AttributeError, match=r"called booster.save, of models alone; pickle keeps any"
    ):
        found.save("x")
