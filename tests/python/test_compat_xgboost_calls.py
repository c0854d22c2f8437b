"""How the functions of the drop-in for XGBoost may be called: names of features."""

from __future__ import annotations

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
