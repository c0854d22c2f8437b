"""Pictures say what they are told to, stand on light and dark, and hold for colour-blind eyes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank import plots
from rustrank.compat import lightgbm, xgboost
from rustrank.plotting import style

if TYPE_CHECKING:
    from collections.abc import Iterator

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

DATA = rr.datasets.make_polynomial(60, seed=0)
NAMES = [f"f <{at}> $x_{at}$" for at in range(DATA.X.shape[1])]


@pytest.fixture(scope="module")
def booster() -> rr.Booster:
    train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, feature_names=NAMES)
    other = rr.datasets.make_polynomial(30, seed=1)
    valid = rr.Dataset(other.X, other.y, qid=other.qid, like=train)
    sets = {"valid": valid, "train": train}
    stopped = rr.train(
        train, num_trees=20, num_leaves=6, valid=sets, metric=["ndcg@10", "map"], early_stopping=5
    )
    return stopped.all_rounds


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


def drawn(axes: Any) -> None:
    """Draw for real: what cannot be laid out warns, and warnings are errors."""
    axes.figure.canvas.draw()


def texts(axes: Any) -> list[str]:
    return [one.get_text() for one in axes.texts]


def test_learning_curves_have_a_line_a_set_and_mark_the_best_round(booster: rr.Booster) -> None:
    axes = rr.plot_metric(booster)
    drawn(axes)
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["valid", "train", f"best round: {booster.best_round}"]
    assert axes.get_xlabel() == "round"
    assert axes.get_ylabel() == "ndcg@10"
    line = axes.lines[0]
    assert line.get_ydata().tolist() == booster.history["valid"]["ndcg@10"].tolist()
    assert line.get_xdata()[0] == 1
    assert rr.plot_metric(booster, "map").get_ylabel() == "map"
    with pytest.raises(rr.ParamError, match=r"no 'err' in the history: expected ndcg@10, map"):
        rr.plot_metric(booster, "err")
    with pytest.raises(rr.ParamError, match="model files do not keep them"):
        rr.plot_metric(rr.Booster.from_text(booster.to_text()))


def test_importance_is_in_order_and_says_its_unit(booster: rr.Booster) -> None:
    axes = rr.plot_importance(booster, max_num_features=5)
    drawn(axes)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(widths, reverse=True)
    assert len(widths) == 5
    reduction = booster.feature_importance()
    assert widths[0] == pytest.approx(100 * reduction.max() / reduction.sum())
    assert axes.get_xlabel() == "share of the reduction of the loss (%)"
    first = axes.get_yticklabels()[0].get_text()
    # A name is text, even with what would be mathematics.
    assert first.replace(r"\$", "$") == NAMES[int(reduction.argmax())]
    assert "less importance not shown" in axes.get_title(loc="right")
    counts = rr.plot_importance(booster, "count", max_num_features=None)
    assert (
        sum(bar.get_width() for bar in counts.patches) == booster.feature_importance("count").sum()
    )
    dataset = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, like=booster)
    shuffled = rr.plot_importance(booster, "permutation", dataset=dataset, metric="map")
    assert shuffled.get_xlabel() == "loss of map when shuffled"
    with pytest.raises(rr.ParamError, match="kind: got 'gain', which is called 'reduction' here"):
        rr.plot_importance(booster, "gain")
    net = rr.LambdaRank(epochs=1).fit(DATA.X, DATA.y, qid=DATA.qid)
    with pytest.raises(rr.ParamError, match="has no trees"):
        rr.plot_importance(net)


def test_a_tree_shows_all_questions_and_leaves(booster: rr.Booster) -> None:
    axes = rr.plot_tree(booster, 2)
    drawn(axes)
    said = texts(axes)
    assert sum(" \u2264 " in one for one in said) == 5
    assert sum(one.endswith((" docs", " doc")) for one in said) == 6
    thick = [line for line in axes.lines if line.get_linewidth() > 2]
    assert len(thick) == 5
    with pytest.raises(rr.ParamError, match="tree_index: got 99, expected a whole number"):
        rr.plot_tree(booster, 99)
    with pytest.raises(rr.ParamError, match="has no trees of its own"):
        rr.plot_tree(booster.truncate(0))


def test_a_single_leaf_is_a_tree_too(booster: rr.Booster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rr.Booster, "_nested", lambda *_: {"value": 0.5, "docs": 1})
    axes = rr.plot_tree(booster)
    drawn(axes)
    assert texts(axes) == ["+0.5", "1 doc"]


def large(num_leaves: int) -> rr.Booster:
    """Return a tree of long names that differ at their ends alone."""
    names = [f"long_name_of_a_feature_that_ends_in_{at}" for at in range(DATA.X.shape[1])]
    data = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, feature_names=names)
    return rr.train(data, num_trees=1, num_leaves=num_leaves, min_leaf_docs=5)


@pytest.mark.parametrize("num_leaves", [8, 31, 63])
@pytest.mark.parametrize("inches", [(6.4, 4.8), (14, 6), None])
def test_a_tree_can_be_read_in_axes_of_any_size(
    num_leaves: int, inches: tuple[float, float] | None
) -> None:
    from matplotlib import pyplot as plt

    booster = large(num_leaves)
    ax = None if inches is None else plt.subplots(1, 2, figsize=inches)[1][0]
    axes = rr.plot_tree(booster, ax=ax)
    drawn(axes)
    notes = [one for one in axes.texts if one.get_text()]
    assert min(one.get_fontsize() for one in notes) >= 0.85 * 5.0
    boxes = [one.get_window_extent() for one in notes]
    limits = axes.figure.bbox if inches is None else axes.get_window_extent().padded(2)
    for at, box in enumerate(boxes):
        assert limits.x0 <= box.x0, notes[at].get_text()
        assert box.x1 <= limits.x1, notes[at].get_text()
        for other in boxes[:at]:
            assert not box.shrunk(0.98, 0.9).overlaps(other.shrunk(0.98, 0.9))
    conditions = [one for one in texts(axes) if "\u2264" in one]
    assert all(one.startswith("l") and "\u2026" in one for one in conditions)
    title = axes.get_title(loc="left")
    hidden = [one for one in texts(axes) if one.endswith(" leaves")]
    assert ("levels" in title) == bool(hidden)
    assert not (hidden and inches is None)


@pytest.mark.parametrize("value", [0.5, -0.000123, -1.23e-05])
def test_the_box_of_a_leaf_does_not_touch_its_number_of_docs(
    booster: rr.Booster, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    monkeypatch.setattr(rr.Booster, "_nested", lambda *_: {"value": value, "docs": 1})
    axes = rr.plot_tree(booster)
    drawn(axes)
    leaf, docs = axes.texts
    assert leaf.get_bbox_patch().get_window_extent().x1 < docs.get_window_extent().x0


def test_names_are_shortened_to_the_width_of_narrow_axes() -> None:
    from matplotlib import pyplot as plt

    booster = large(8)
    both = plt.subplots(1, 2, figsize=(7, 3))[1]
    for axes in (
        rr.plot_importance(booster, ax=both[0]),
        plots.plot_shap(booster, DATA.X, ax=both[1]),
    ):
        drawn(axes)
        width = axes.get_window_extent().width
        for label in axes.get_yticklabels():
            assert "\u2026" in label.get_text()
            assert label.get_window_extent().width < 0.6 * width
    alone = rr.plot_importance(booster).get_yticklabels()[0].get_text()
    assert alone in booster.feature_names


def test_an_array_of_axes_is_not_one(booster: rr.Booster) -> None:
    from matplotlib import pyplot as plt

    both = plt.subplots(1, 2)[1]
    for draw in (rr.plot_importance, rr.plot_tree):
        with pytest.raises(
            rr.errors.ParamKindError, match=r"ax: got .*expected one matplotlib axes"
        ):
            draw(booster, ax=both)


def test_a_tree_too_deep_for_a_figure_is_drawn_in_part() -> None:
    docs = 600
    train = rr.Dataset(np.eye(docs, dtype=np.float32), np.arange(docs) / docs, group=[docs])
    booster = rr.train(train, objective="regression", num_trees=1, num_leaves=500, min_leaf_docs=1)
    title = plots.plot_tree(booster).get_title(loc="left")
    levels = int(title.split()[4])
    assert title == f"tree 0 of 1, {levels} of 499 levels"
    assert 50 < levels < 210
    with pytest.raises(rr.ParamError, match=f"max_depth: .* got 499, expected at most {levels}"):
        plots.plot_tree(booster, max_depth=499)
    _, axes = mpl.pyplot.subplots()
    assert plots.plot_tree(booster, max_depth=3, ax=axes) is axes


def test_levels_of_a_tree_are_left_out() -> None:
    booster = large(31)
    root = booster.dump()["trees"][0]
    axes = rr.plot_tree(booster, max_depth=1)
    assert len(axes.texts) == 5
    assert sum(int(one.split()[0]) for one in texts(axes) if one.endswith(" leaves")) == 31
    assert f"{root['left']['docs']:,} docs" in texts(axes)
    assert axes.get_title(loc="left").startswith("tree 0 of 1, 1 of ")
    assert rr.plot_tree(booster, max_depth=99).get_title(loc="left") == "tree 0 of 1"
    picture = booster.draw_tree(0, max_depth=1)
    assert "tree 0 of 1, 1 of " in picture
    assert picture.count("<circle") == 1
    assert picture.count("<rect") == 2
    for draw in (rr.plot_tree, rr.Booster.draw_tree):
        with pytest.raises(rr.ParamError, match="max_depth: got 0, expected a whole number"):
            draw(booster, 0, max_depth=0)


def test_metrics_by_cut_are_those_of_evaluate(booster: rr.Booster) -> None:
    noise = np.random.default_rng(0).normal(size=len(DATA.y))
    rankers = {"noise": noise, "trees": booster, "function": lambda X: X[:, 0]}
    axes = plots.plot_cuts(rankers, DATA.y, X=DATA.X, qid=DATA.qid, cuts=[1, 3, 10])
    drawn(axes)
    expected = rr.evaluate(noise, DATA.y, qid=DATA.qid, metrics=["ndcg@1", "ndcg@3", "ndcg@10"])
    assert axes.lines[0].get_ydata().tolist() == [float(value) for value in expected.values()]
    assert axes.get_legend_handles_labels()[1] == list(rankers)
    assert len(axes.collections) == 3
    bare = plots.plot_cuts({"noise": noise}, DATA.y, qid=DATA.qid, metric="map", cuts=2, level=0)
    assert not bare.collections
    with pytest.raises(rr.ParamError, match="one without a cut"):
        plots.plot_cuts({"noise": noise}, DATA.y, qid=DATA.qid, metric="map@3")
    with pytest.raises(rr.ParamError, match="needs features to score: pass X="):
        plots.plot_cuts({"trees": booster}, DATA.y, qid=DATA.qid)
    with pytest.raises(rr.ParamError, match="cuts: got 'ten'"):
        plots.plot_cuts({"noise": noise}, DATA.y, qid=DATA.qid, cuts="ten")  # type: ignore[arg-type]


def test_gains_and_losses_fall_and_are_counted(booster: rr.Booster) -> None:
    noise = np.random.default_rng(0).normal(size=len(DATA.y))
    found = rr.compare(noise, booster.predict(DATA.X), DATA.y, qid=DATA.qid, names=("a$", "b$"))
    one = found["ndcg@10"]
    axes = one.plot()
    drawn(axes)
    labels = axes.get_legend_handles_labels()[1]
    assert labels[:3] == [
        rf"b\$ is better: {one.wins}",
        rf"a\$ is better: {one.losses}",
        f"equal: {one.ties}",
    ]
    assert "95% interval" in labels[3]


def test_many_queries_share_lines() -> None:
    rng = np.random.default_rng(0)
    group, y = np.full(5000, 3), np.tile([0, 1, 2], 5000)
    a, b = rng.normal(size=(2, len(y)))
    drawn(rr.compare(a, b, y, group=group)["ndcg@10"].plot())


@pytest.mark.parametrize("queries", [1, 2, 7, 5000])
def test_bars_of_queries_fill_the_axis(queries: int) -> None:
    """The first bar and the last are as wide as the others, and a single one is drawn."""
    y = np.tile([0, 1], queries)
    better, worse = np.tile([0.0, 1.0], queries), np.tile([1.0, 0.0], queries)
    lost = queries // 3
    a = np.r_[better[: 2 * lost], worse[2 * lost :]]
    axes = rr.compare(a, -a, y, group=np.full(queries, 2))["ndcg@10"].plot()
    drawn(axes)
    assert axes.get_xlim() == (0.5, queries + 0.5)
    ends = []
    for patch in axes.patches[:2]:
        corners = patch.get_path().vertices
        x = corners[corners[:, 1] != 0, 0]
        ends += [x.min(), x.max()] if len(x) else []
    won = queries - lost
    expected = [0.5, won + 0.5, *([won + 0.5, queries + 0.5] if lost else [])]
    # Of many queries, neighbours share a bar.
    assert ends == pytest.approx(expected, abs=0 if queries < 2000 else 3)


def test_scores_by_label_have_a_row_a_label() -> None:
    scores = DATA.y + np.random.default_rng(0).normal(size=len(DATA.y))
    axes = plots.plot_scores(scores, DATA.y)
    drawn(axes)
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert [row.split("\n")[0] for row in rows] == [f"label {at}" for at in range(5)]
    medians = [line.get_xdata()[0] for line in axes.lines]
    assert medians == sorted(medians)
    # One doc, all scores alike, docs that were not retrieved.
    drawn(plots.plot_scores([1.0], [1]))
    drawn(plots.plot_scores(np.r_[np.zeros(9), -np.inf], np.arange(10) % 2))
    with pytest.raises(rr.ParamError, match="none of them is finite"):
        plots.plot_scores([-np.inf], [1])
    with pytest.raises(rr.DataError, match="scores has the wrong length"):
        plots.plot_scores([1.0, 2.0], [1])


def test_shap_values_are_drawn_of_every_doc(booster: rr.Booster) -> None:
    X = DATA.X[:50].copy()
    X[::7, :] = np.nan
    axes = plots.plot_shap(booster, X, max_num_features=4)
    drawn(axes)
    assert len(axes.get_yticklabels()) == 4
    spots = sum(len(one.get_offsets()) for one in axes.collections)
    assert spots == 4 * len(X)
    # The largest on top.
    top = axes.get_yticklabels()[-1].get_text().replace(r"\$", "$")
    weights = np.abs(booster.explain(X)[:, :-1]).mean(axis=0)
    assert top == NAMES[int(weights.argmax())]


def test_colours_of_shap_values_reach_from_the_lowest_to_the_highest_value() -> None:
    """Also where most docs share the lowest value."""
    from matplotlib.colors import to_rgba

    X = np.zeros((100, 2))
    X[95:, 0], X[:, 1] = np.arange(5), np.arange(100) % 2
    y = (X[:, 0] > 1).astype(int)
    data = rr.Dataset(X, y, group=[100], feature_names=["rare", "other"])
    axes = plots.plot_shap(rr.train(data, num_trees=3, min_leaf_docs=1), X)
    drawn(axes)
    (colors,) = (one.get_facecolor() for one in axes.collections if len(one.get_offsets()))
    assert len(colors) == len(X)
    assert colors[0] == pytest.approx(to_rgba(style.FIRST), abs=0.01)
    assert colors[-1] == pytest.approx(to_rgba(style.SECOND), abs=0.01)
    assert plots._stretched(np.array([2.5, 2.5, 2.5])).tolist() == [0.5] * 3


@pytest.mark.parametrize("mixed", [False, True])
def test_ranks_within_queries_are_coloured_by_the_rank(mixed: bool) -> None:
    from matplotlib.colors import to_rgba

    rng = np.random.default_rng(0)
    shift = rng.normal(size=8).repeat(25) * 100
    qid = np.arange(8).repeat(25)
    X = np.stack([rng.normal(size=200) + shift, rng.normal(size=200)], axis=1)
    ranks = np.concatenate([X[qid == one, 0].argsort().argsort() for one in range(8)])
    X[::9, 0] = np.nan
    data = rr.Dataset(X, ranks // 7, qid=qid, query_ranks=True, feature_names=["a", "b"])
    ranker = rr.train(data, num_trees=5, min_leaf_docs=5)
    if mixed:
        plain = rr.Dataset(X, ranks // 7, qid=qid, feature_names=["a", "b"])
        ranker = rr.mix([rr.train(plain, num_trees=1, min_leaf_docs=5), ranker], [0.01, 1])
    frame = {"a": X[:, 0], "b": X[:, 1], "query": qid}
    for given, queries in ((X, {"qid": qid}), (X, {"group": [25] * 8}), (frame, {"qid": "query"})):
        axes = plots.plot_shap(ranker, given, max_num_features=1, **queries)
        drawn(axes)
        assert axes.get_yticklabels()[0].get_text() == "rank(a)"
        filled, hollow = axes.collections[:2]
        known = ~np.isnan(X[:, 0])
        assert len(hollow.get_offsets()) == (~known).sum()
        colors = filled.get_facecolor()
        # By definition: the place among the known values of the query.
        wanted = np.array(
            [
                (np.sum(X[qid == query, 0] < value) + 0.5) / np.sum(known & (qid == query))
                for query, value in zip(qid[known], X[known, 0], strict=True)
            ]
        )
        order = np.argsort(wanted, kind="stable")
        blue = colors[order, 2]
        assert colors[order[0]] == pytest.approx(to_rgba(style.FIRST), abs=0.02)
        assert colors[order[-1]] == pytest.approx(to_rgba(style.SECOND), abs=0.02)
        assert np.all(np.diff(blue) <= 1e-9)


def test_numbers_that_mean_missing_are_hollow(booster: rr.Booster) -> None:
    X = DATA.X[:50].copy()
    X[::5, :] = -1
    axes = plots.plot_shap(booster, X, max_num_features=1, missing=-1)
    assert [len(one.get_offsets()) for one in axes.collections[:2]] == [40, 10]
    X[::5, :] = np.inf
    axes = plots.plot_shap(booster, X, max_num_features=1, infinite="missing")
    assert [len(one.get_offsets()) for one in axes.collections[:2]] == [40, 10]


def test_the_ranker_in_a_pipeline_or_a_search_is_named() -> None:
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipe = make_pipeline(StandardScaler(), rr.LambdaMART(n_estimators=3))
    pipe.fit(DATA.X, DATA.y, lambdamart__qid=DATA.qid)
    search = GridSearchCV(rr.LambdaMART(n_estimators=2), {"num_leaves": [4]}, cv=rr.QueryFolds(2))
    frame = pytest.importorskip("pandas").DataFrame(DATA.X).rename(columns=str)
    search.fit(frame.assign(qid=DATA.qid), DATA.y)
    draws: list[Any] = [
        rr.plot_importance,
        rr.plot_tree,
        rr.plot_metric,
        lambda ranker: plots.plot_shap(ranker, DATA.X),
    ]
    for draw in draws:
        with pytest.raises(TypeError, match=r"last step: pass pipe\[-1\]"):
            draw(pipe)
        with pytest.raises(TypeError, match=r"pass search\.best_estimator_"):
            draw(search)
    drawn(rr.plot_importance(pipe[-1]))
    drawn(rr.plot_importance(search.best_estimator_))


def test_the_bias_of_places_is_drawn_as_a_share(
    booster: rr.Booster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(rr.ParamError, match="ranker has no position bias"):
        plots.plot_position_bias(booster)
    learned = property(lambda _: np.log([1.0, 0.5, 0.25]))
    monkeypatch.setattr(rr.Booster, "position_bias", learned, raising=False)
    axes = plots.plot_position_bias(booster, known=[0.8, 0.4, 0.3])
    drawn(axes)
    assert axes.lines[0].get_ydata() == pytest.approx([100, 50, 25])
    assert axes.lines[1].get_ydata() == pytest.approx([100, 50, 37.5])
    assert axes.get_legend_handles_labels()[1] == ["learned", "known"]
    assert axes.get_xlabel() == "position"
    with pytest.raises(rr.ParamError, match="the first above 0"):
        plots.plot_position_bias(booster, known=[0.0, 1.0])


def test_an_estimator_is_drawn_like_its_booster() -> None:
    ranker = rr.LambdaMART(n_estimators=3).fit(
        DATA.X, DATA.y, qid=DATA.qid, eval_set=[(DATA.X, DATA.y)], eval_qid=[DATA.qid]
    )
    assert len(rr.plot_metric(ranker).lines[0].get_xdata()) == 3
    assert rr.plot_importance(ranker).patches
    with pytest.raises(rr.ParamError, match="expected a Booster or a fitted estimator"):
        rr.plot_tree(3)


def test_learning_curves_have_the_rounds_after_the_best_one() -> None:
    data = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
    rule = rr.EarlyStopping(3, valid="valid")
    options: dict[str, Any] = {"learning_rate": 2.0, "num_trees": 200, "early_stopping": rule}
    booster = rr.train(data, valid=data, **options)
    for one in (booster, booster.all_rounds):
        axes = rr.plot_metric(one)
        assert len(axes.lines[0].get_xdata()) == booster.all_rounds.num_rounds
        assert f"best round: {booster.best_round}" in axes.get_legend_handles_labels()[1]


def test_learning_curves_of_rankers_with_the_names_of_others() -> None:
    sizes = np.unique(DATA.qid, return_counts=True)[1]
    sets: dict[str, Any] = {"eval_set": [(DATA.X, DATA.y)]}
    of_lightgbm = lightgbm.LGBMRanker(n_estimators=4, verbose=-1)
    with pytest.raises(rr.RustrankError, match="not fitted"):
        rr.plot_metric(of_lightgbm)
    with pytest.raises(rr.ParamError, match="ranker has no learning curves"):
        rr.plot_metric(of_lightgbm.fit(DATA.X, DATA.y, group=sizes))
    of_lightgbm.fit(DATA.X, DATA.y, group=sizes, eval_group=[sizes], **sets)
    line = rr.plot_metric(of_lightgbm, "ndcg@3").lines[0]
    name = next(iter(of_lightgbm.evals_result_))
    assert line.get_ydata().tolist() == of_lightgbm.evals_result_[name]["ndcg@3"]
    of_xgboost = xgboost.XGBRanker(n_estimators=4, early_stopping_rounds=2)
    of_xgboost.fit(DATA.X, DATA.y, qid=DATA.qid, eval_qid=[DATA.qid], **sets)
    axes = rr.plot_metric(of_xgboost)
    assert len(axes.lines[0].get_xdata()) == 4
    best = of_xgboost.best_iteration + 1
    assert f"best round: {best}" in axes.get_legend_handles_labels()[1]
    loaded = lightgbm.Booster(model_str=of_lightgbm.booster_.model_to_string())
    with pytest.raises(rr.ParamError, match="model files do not keep them"):
        rr.plot_metric(loaded)


def test_what_is_given_is_drawn_into(booster: rr.Booster) -> None:
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(2, 2)
    assert rr.plot_metric(booster, ax=grid[0, 0]) is grid[0, 0]
    assert rr.plot_importance(booster, ax=grid[0, 1]) is grid[0, 1]
    assert rr.plot_tree(booster, ax=grid[1, 0]) is grid[1, 0]
    assert plots.plot_scores(DATA.y, DATA.y, ax=grid[1, 1]) is grid[1, 1]
    assert plt.get_fignums() == [figure.number]


def linear(color: str) -> Any:
    """Return the light of a colour."""
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


#: What eyes without one kind of cones see (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "all cones": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(light: Any) -> Any:
    """Return CIE L*a*b*, in which distances are what eyes see."""
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    parts = np.array(to_xyz) @ light / [0.95047, 1.0, 1.08883]
    parts = np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16 / 116)
    return np.array([116 * parts[1] - 16, 500 * (parts[0] - parts[1]), 200 * (parts[1] - parts[2])])


@pytest.mark.parametrize("eyes", EYES)
def test_colours_are_told_apart_by_all_eyes(eyes: str) -> None:
    seen = [lab(np.clip(np.array(EYES[eyes]) @ linear(one), 0, 1)) for one in style.COLORS]
    for first, second in itertools.combinations(seen, 2):
        assert np.linalg.norm(first - second) > 15


@pytest.mark.parametrize("background", ["#FFFFFF", "#121212"])
def test_colours_stand_on_light_and_dark(background: str) -> None:
    luminance = np.array([0.2126, 0.7152, 0.0722])
    behind = linear(background) @ luminance
    for color in style.COLORS:
        light = linear(color) @ luminance
        assert (max(light, behind) + 0.05) / (min(light, behind) + 0.05) >= 3


def test_looks_differ() -> None:
    first = list(style.looks(20))
    assert len({(look.color, look.dashes) for look in first}) == 20


def test_matplotlib_is_imported_when_something_is_drawn() -> None:
    code = "import sys, rustrank; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
