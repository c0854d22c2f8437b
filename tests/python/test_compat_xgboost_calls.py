"""How the functions of the drop-in for XGBoost may be called: names of features, positional arguments, slices."""

from __future__ import annotations

import inspect
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.xgboost as compat

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(3)
QID = np.repeat(np.arange(40), 15)
X = RANDOM.normal(size=(600, 3))
Y = np.clip((X[:, 0] + RANDOM.normal(size=600) + 1).astype(int), 0, 3)
SIZES = [15] * 40
RANKING = {"objective": "rank:ndcg"}
#: Without its types: what is called here by position is typed as keywords.
COMPAT: Any = compat


def _libraries() -> list[Any]:
    """Return the drop-in, and XGBoost itself where it is installed."""
    try:
        import xgboost
    except ImportError:
        return [COMPAT]
    return [COMPAT, xgboost]


def _calls_without_names(library: Any, frame: Any) -> list[Callable[[], Any]]:
    """Return calls with data whose features have no names, other names or another order than those of the model."""
    turned, renamed = frame[["b", "a", "c"]], frame.set_axis(list("xyz"), axis=1)
    data, bare = library.DMatrix(frame, Y, qid=QID), library.DMatrix(X, Y, qid=QID)
    booster = library.train(RANKING, data, 5)
    return [
        lambda: booster.predict(bare),
        lambda: booster.eval(bare),
        lambda: booster.predict(library.DMatrix(turned)),
        lambda: booster.predict(library.DMatrix(renamed)),
        lambda: booster.inplace_predict(turned),
        lambda: library.train(RANKING, data, 1, evals=[(bare, "v")]),
        lambda: library.XGBRanker(n_estimators=2).fit(frame, Y, qid=QID).predict(renamed),
    ]


def test_a_model_with_names_takes_no_data_without() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    for library in _libraries():
        for call in _calls_without_names(library, frame):
            with pytest.raises(ValueError, match=r"feature.names"):
                call()
    wanted = r"data without names.*'a', 'b', 'c'.*validate_features"
    with pytest.raises(rr.ParamError, match=wanted):
        compat.train(RANKING, compat.DMatrix(frame, Y, qid=QID), 1).predict(compat.DMatrix(X))


def test_columns_that_are_not_checked_are_taken_by_their_places() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    turned, renamed = frame[["b", "a", "c"]], frame.set_axis(list("xyz"), axis=1)
    by_place = {"validate_features": False}
    for library in _libraries():
        data = library.DMatrix(frame, Y, qid=QID)
        booster = library.train(RANKING, data, 5)
        for found in (
            booster.predict(library.DMatrix(X), **by_place),
            booster.predict(library.DMatrix(renamed), **by_place),
            booster.inplace_predict(X),
            booster.inplace_predict(renamed, **by_place),
            booster.predict(library.DMatrix(renamed, feature_names=list("abc"))),
        ):
            assert np.array_equal(found, booster.predict(data))
        found = booster.predict(library.DMatrix(turned), **by_place)
        assert np.array_equal(found, booster.inplace_predict(turned.to_numpy()))
        ranker = library.XGBRanker(n_estimators=3).fit(frame, Y, qid=QID)
        assert np.array_equal(ranker.predict(X), ranker.predict(frame))
        assert np.array_equal(ranker.predict(renamed, **by_place), ranker.predict(frame))
    ours = compat.train(RANKING, compat.DMatrix(frame, Y, qid=QID), 1)
    with pytest.raises(rr.DataError, match="2 columns"):
        ours.predict(compat.DMatrix(renamed[["x", "y"]]), validate_features=False)


def _calls_by_position(library: Any) -> dict[str, Callable[[], Any]]:
    """Return calls by the names of the keyword arguments that they give by position."""
    data = library.DMatrix(X, Y, qid=QID)
    booster, ranker = library.train(RANKING, data, 3), library.XGBRanker(n_estimators=3)
    checked = "iteration_range, predict_type, missing, validate_features"
    return {
        "rounds": lambda: library.callback.EarlyStopping(5),
        "rounds, metric_name": lambda: library.callback.EarlyStopping(5, "ndcg@3"),
        "group": lambda: ranker.fit(X, Y, SIZES),
        "group, qid": lambda: ranker.fit(X, Y, None, QID),
        "objective": lambda: library.XGBRanker("rank:pairwise"),
        "weight": lambda: library.DMatrix(X, Y, np.ones(40)),
        "weight, base_margin": lambda: library.QuantileDMatrix(X, Y, None, None),
        "label": lambda: data.set_info(Y),
        "evals": lambda: library.train(RANKING, data, 1, [(data, "a")]),
        "output_margin": lambda: booster.predict(data, True),
        checked: lambda: booster.inplace_predict(X, (0, 2), "value", np.nan, False),
    }


def test_keyword_arguments_may_come_by_position_with_a_warning() -> None:
    for library in _libraries():
        for names, call in _calls_by_position(library).items():
            with pytest.warns(FutureWarning, match=f"Pass `{names}` as keyword args") as found:
                call()
            assert library is not COMPAT or found[0].filename == __file__
    with pytest.warns(FutureWarning):
        assert COMPAT.callback.EarlyStopping(5, "ndcg@3").metric_name == "ndcg@3"
    with pytest.warns(FutureWarning):
        by_place = COMPAT.XGBRanker(n_estimators=3).fit(X, Y, SIZES)
    by_name = COMPAT.XGBRanker(n_estimators=3).fit(X, Y, group=SIZES)
    assert np.array_equal(by_place.predict(X), by_name.predict(X))


def test_too_many_arguments_and_those_given_twice_are_errors() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        COMPAT.callback.EarlyStopping(5, None, None, None, False, 0.0, 7)
    with pytest.raises(TypeError, match="positional argument"):
        COMPAT.XGBRanker().fit(X, Y, SIZES, group=SIZES)


def test_the_order_of_arguments_is_that_of_xgboost() -> None:
    xgb = pytest.importorskip("xgboost")

    def names(function: Callable[..., Any]) -> list[str]:
        return list(inspect.signature(function).parameters)

    for path in (
        "XGBRanker.fit",
        "XGBRanker.predict",
        "Booster.predict",
        "Booster.inplace_predict",
        "train",
    ):
        ours, theirs = COMPAT, xgb
        for part in path.split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        assert names(ours) == names(theirs)
    theirs = names(xgb.DMatrix.__init__)
    assert names(compat.DMatrix.__init__) == theirs[: len(names(compat.DMatrix.__init__))]
    ours = names(compat.callback.EarlyStopping.__init__)
    assert ours == names(xgb.callback.EarlyStopping.__init__)


def test_what_is_left_out_of_a_slice_says_what_does_it() -> None:
    data = compat.DMatrix(X, Y, qid=QID)
    booster = compat.train(RANKING, data, 4)
    assert booster[...].num_boosted_rounds() == booster[:4].num_boosted_rounds() == 4
    for part in (slice(2, 3), 2, slice(0, 4, 2)):
        with pytest.raises(
            rr.ParamError, match=r"such as booster\[:5\]; predict\(data, iteration_range="
        ):
            booster[part]


def test_a_ranker_says_what_there_is_instead_of_apply() -> None:
    ranker = COMPAT.XGBRanker(n_estimators=2).fit(X, Y, qid=QID)
    with pytest.raises(AttributeError, match=r"XGBRanker has no apply.*native\.dump\(\)"):
        ranker.apply(X)
    assert not hasattr(ranker, "apply")
    # The errors of properties stay, and so do copies.
    with pytest.raises(AttributeError, match="after early stopping only"):
        ranker.best_iteration  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        ranker.nothing  # noqa: B018
    assert np.array_equal(pickle.loads(pickle.dumps(ranker)).predict(X), ranker.predict(X))  # noqa: S301


def test_a_misspelt_number_of_rounds_has_a_suggestion() -> None:
    for name, meant in (
        ("n_estimator", "n_estimators"),
        ("early_stopping_round", "early_stopping_rounds"),
        ("max_dept", "max_depth"),
    ):
        with pytest.raises(rr.ParamError, match=f"no parameter {name}; did you mean {meant}?"):
            COMPAT.XGBRanker(**{name: 3}).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"objective": "rank:ndcg"}, {"ideal_to": 8, "noise_scale": 0}),
        ({"objective": "rank:pairwise"}, {"objective": "ranknet", "noise_scale": 0}),
        ({"objective": "rank:map"}, {"metric": "map", "noise_scale": 0}),
    ],
)
def test_the_translation_of_the_guide_gives_the_same_trees(
    theirs: dict[str, Any], ours: dict[str, Any]
) -> None:
    """Half of eta, reg_lambda and min_child_weight, as docs/how-to/xgboost.md says; gamma as it is."""
    given: dict[str, Any] = {
        "eta": 0.2,
        "reg_lambda": 3,
        "min_child_weight": 2,
        "gamma": 0.001,
        "max_leaves": 8,
    }
    given |= {"grow_policy": "lossguide", "max_depth": 4, "lambdarank_num_pair_per_sample": 8}
    dropped_in = compat.train(given | theirs, compat.DMatrix(X, Y, qid=QID), 5)
    translated = rr.train(
        rr.Dataset(X, Y, qid=QID),
        num_trees=5,
        learning_rate=0.1,
        l2=1.5,
        min_leaf_hess=1,
        min_leaf_docs=1,
        min_reduction=0.001,
        num_leaves=8,
        max_depth=4,
        pairs_to=8,
        pair_normaliser="score_gap",
        gap_offset=0.01,
        query_normaliser="log_sum",
        **ours,
    )
    assert np.array_equal(translated.predict(X), dropped_in.native.predict(X))
