"""Plots of rankers with the names of LightGBM and XGBoost: by our functions, and by LightGBM's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

ALL = rr.datasets.make_polynomial(num_queries=30, docs_per_query=20, seed=0)
NAMES = ["a", "b $x$", "c", "d", "e", "f"]
X, Y, SIZES, QID = ALL.X[:, :6], ALL.y, [20] * 30, ALL.qid


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def ranker() -> Any:
    made = lgb.LGBMRanker(n_estimators=12, num_leaves=5, importance_type="gain", verbose=-1)
    sets: dict[str, Any] = {"eval_set": [(X, Y), (X[:200], Y[:200])]}
    sets |= {"eval_group": [SIZES, SIZES[:10]], "eval_at": [1, 3], "eval_names": ["all", "some"]}
    return made.fit(X, Y, group=SIZES, feature_name=NAMES, **sets)


def drawn(axes: Any) -> Any:
    """Draw for real: what cannot be laid out warns, and warnings are errors."""
    axes.figure.canvas.draw()
    return axes


def rows_of(axes: Any) -> list[str]:
    return [one.get_text() for one in axes.get_yticklabels()]


def widths_of(axes: Any) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


def test_our_functions_take_rankers_and_boosters(ranker: Any) -> None:
    matrix = xgb.DMatrix(X, Y, qid=QID)
    tall = xgb.XGBRanker(n_estimators=4).fit(X, Y, qid=QID)
    booster = xgb.train({"objective": "rank:ndcg"}, matrix, 4)
    pairs: list[tuple[Any, rr.Booster]] = [
        (ranker, ranker.booster_.native),
        (ranker.booster_, ranker.booster_.native),
        (tall, tall.get_booster().native),
        (booster, booster.native),
    ]
    from matplotlib import pyplot as plt

    for given, native in pairs:
        plt.close("all")
        for draw in (rr.plot_importance, rr.plot_tree):
            found, expected = drawn(draw(given)), drawn(draw(native))
            assert [one.get_text() for one in found.texts] == [
                one.get_text() for one in expected.texts
            ]
        shown = drawn(rr.plots.plot_shap(given, X[:50], max_num_features=3))
        assert rows_of(shown) == rows_of(rr.plots.plot_shap(native, X[:50], max_num_features=3))
    for unfitted in (lgb.LGBMRanker(), xgb.XGBRanker()):
        with pytest.raises(rr.RustrankError, match="fitted"):
            rr.plot_importance(unfitted)
    with pytest.raises(rr.ParamError, match="expected a Booster or a fitted estimator"):
        rr.plot_importance(lgb.Dataset(X, Y))


def test_a_ranker_with_early_stopping_is_drawn_to_its_best_iteration() -> None:
    made = lgb.LGBMRanker(n_estimators=60, num_leaves=5, verbose=-1)
    how: dict[str, Any] = {"eval_set": [(X[:200], Y[::-1][:200])], "eval_group": [SIZES[:10]]}
    made.fit(X, Y, group=SIZES, callbacks=[lgb.early_stopping(3, verbose=False)], **how)
    title = rr.plot_tree(made).get_title(loc="left")
    assert f"of {made.best_iteration_}" in title


def test_importance_has_the_values_of_the_booster(ranker: Any) -> None:
    booster = ranker.booster_
    for given, kind, expected in (
        (ranker, "auto", "gain"),
        (booster, "auto", "split"),
        (booster, "gain", "gain"),
    ):
        axes = drawn(lgb.plot_importance(given, importance_type=kind))
        values = booster.feature_importance(expected)
        assert widths_of(axes) == sorted(values[values > 0])
        best = NAMES[int(np.argmax(values))].replace("$", r"\$")
        assert rows_of(axes)[-1] == best
    notes = [one.get_text() for one in lgb.plot_importance(ranker, precision=1).texts]
    assert notes == [f"{one:.1f}" for one in sorted(booster.feature_importance("gain"))]


def test_options_of_importance(ranker: Any) -> None:
    from matplotlib import pyplot as plt

    axes = drawn(
        lgb.plot_importance(
            ranker,
            height=0.5,
            xlim=(0, 500),
            ylim=(-2, 9),
            title="By @importance_type@",
            xlabel="@importance_type@",
            ylabel=None,
            max_num_features=2,
            figsize=(4, 3),
            dpi=50,
            grid=False,
            color="green",
        )
    )
    assert len(axes.patches) == 2
    assert axes.patches[0].get_height() == 0.5
    assert axes.patches[0].get_facecolor() == mpl.colors.to_rgba("green")
    assert axes.get_xlim() == (0, 500)
    assert axes.get_ylim() == (-2, 9)
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("By gain", "gain", "")
    assert axes.figure.get_size_inches().tolist() == [4, 3]
    given = plt.subplots()[1]
    assert lgb.plot_importance(ranker, given) is given
    flat = lgb.train(
        {"objective": "lambdarank", "interaction_constraints": [[0]], "verbose": -1},
        lgb.Dataset(X, Y, group=SIZES),
        2,
    )
    assert len(lgb.plot_importance(flat).patches) == 1
    assert len(lgb.plot_importance(flat, ignore_zero=False).patches) == 6


def test_metrics_after_each_iteration(ranker: Any) -> None:
    with pytest.warns(
        rr.RustrankWarning, match="More than one metric.*: ndcg@1, the first of ndcg@1, ndcg@3"
    ):
        axes = drawn(lgb.plot_metric(ranker))
    assert axes.get_ylabel() == "ndcg@1"
    assert axes.get_legend_handles_labels()[1] == ["all", "some"]
    values = ranker.evals_result_
    assert axes.lines[1].get_ydata().tolist() == values["some"]["ndcg@1"]
    axes = lgb.plot_metric(values, "ndcg@3", ["some"], title="@metric@!", ylabel="auto")
    assert (len(axes.lines), axes.get_title(), axes.get_ylabel()) == (1, "ndcg@3!", "ndcg@3")
    with pytest.warns(rr.RustrankWarning, match="picking one to plot"):
        lgb.plot_metric(dict(values))
    # Nothing was picked.
    only = {name: {"ndcg@3": of["ndcg@3"]} for name, of in values.items()}
    assert lgb.plot_metric(only).get_ylabel() == "ndcg@3"


def test_a_tree_is_drawn_as_ours(ranker: Any) -> None:
    axes = drawn(lgb.plot_tree(ranker, tree_index=3))
    expected = rr.plot_tree(ranker.booster_.native, 3)
    assert [one.get_text() for one in axes.texts] == [one.get_text() for one in expected.texts]
    assert lgb.plot_tree(ranker, figsize=(6, 4)).figure.get_size_inches().tolist() == [6, 4]


#: Without its types: what is typed here is not right.
LGB: Any = lgb
REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda one: lgb.plot_importance(one, colour="red"),
        "arguments are those of matplotlib's barh",
    ),
    (lambda one: lgb.plot_importance(one, importance_type="weight"), "expected 'split' or 'gain'"),
    (lambda one: LGB.plot_importance(one, xlim=3), "xlim: got 3, expected a tuple of two numbers"),
    (lambda _: LGB.plot_importance(X), "expected a Booster or a fitted LGBMRanker"),
    (lambda _: lgb.plot_importance(lgb.LGBMRanker()), "not fitted"),
    (lambda one: lgb.plot_metric(one, "auc"), "metric: there is no 'auc', expected ndcg@1, ndcg@3"),
    (
        lambda one: lgb.plot_metric(one, dataset_names=["z"]),
        "there is no 'z', expected some of all",
    ),
    (lambda one: lgb.plot_metric(one.booster_), "train(callbacks=[record_evaluation(results)])"),
    (lambda _: lgb.plot_metric({}), "pass validation sets in training"),
    (
        lambda one: lgb.plot_tree(one, show_info=["leaf_count"]),
        "show_info: got ['leaf_count'], exp",
    ),
    (
        lambda one: lgb.plot_tree(one, orientation="vertical"),
        "expected 'horizontal': rustrank draws",
    ),
    (lambda one: lgb.plot_tree(one, precision=5), "precision: got 5, expected 3"),
    (lambda one: lgb.plot_tree(one, example_case=X[:1]), "example_case: got"),
    (lambda one: lgb.plot_tree(one, node_attr={}), "node_attr: got {}, expected no such argument"),
]


@pytest.mark.parametrize("at", range(len(REFUSED)))
def test_what_has_no_meaning_here_is_refused(ranker: Any, at: int) -> None:
    call, expected = REFUSED[at]
    with pytest.raises(rr.RustrankError) as found:
        call(ranker)
    assert expected in str(found.value)


def test_bars_are_those_of_lightgbm() -> None:
    theirs = pytest.importorskip("lightgbm")
    model = theirs.LGBMRanker(n_estimators=5, num_leaves=6, verbose=-1).fit(X, Y, group=SIZES)
    ours = lgb.Booster(model_str=model.booster_.model_to_string())
    for kind in ("split", "gain"):
        how: dict[str, Any] = {"importance_type": kind, "max_num_features": 4}
        found, expected = lgb.plot_importance(ours, **how), theirs.plot_importance(model, **how)
        assert widths_of(found) == pytest.approx(widths_of(expected))
        assert rows_of(found) == rows_of(expected)
        labels = [[one.get_text() for one in axes.texts] for axes in (found, expected)]
        assert labels[0] == labels[1]
