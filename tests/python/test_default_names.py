"""Tables whose columns are called as features without names are: they are matched by these names, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = rr.datasets.make_web(30, 20, seed=1)
X, Y, QID = DOCS.X[:, :8], DOCS.y, DOCS.qid
RANKER: Any = rr.LambdaMART(n_estimators=5).fit(X, Y, qid=QID)
BOOSTER: rr.Booster = RANKER.booster_


def table(form: str) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[form.format(at) for at in range(8)])


@pytest.mark.parametrize("form", ["f{}", "Column_{}", "{}"])
@pytest.mark.parametrize(
    "score",
    [
        BOOSTER.predict,
        lambda frame: rr.evaluate(BOOSTER, Y, X=frame, qid=QID),
        lambda frame: rr.Dataset(frame, Y, qid=QID, like=BOOSTER),
    ],
)
def test_a_missing_column_is_an_error(form: str, score: Callable[[Any], Any]) -> None:
    frame, third = table(form), form.format(3)
    turned = frame[frame.columns[::-1]]
    for wrong in (
        frame.drop(columns=third).assign(label=Y),
        frame.drop(columns=form.format(7)).assign(label=Y),
        turned.rename(columns={third: "f_3"}),
    ):
        with pytest.raises(rr.DataError, match="expected also '") as error:
            score(wrong)
        assert "pass an array to match by position" in str(error.value)
        assert error.value.feature in (third, form.format(7))
    assert (BOOSTER.predict(turned.assign(label=Y)) == BOOSTER.predict(X)).all()


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_rankers_and_integers_as_names_are_no_exception() -> None:
    with pytest.raises(rr.DataError, match="expected also 'f3'"):
        RANKER.predict(table("f{}").drop(columns="f3").assign(label=Y))
    numbers = pd.DataFrame(X)
    with pytest.raises(rr.DataError, match="expected also '3'"):
        BOOSTER.predict(numbers.drop(columns=3).assign(label=Y))
    assert (BOOSTER.predict(numbers) == BOOSTER.predict(X)).all()


def test_other_names_are_matched_by_position() -> None:
    assert (BOOSTER.predict(table("price {}")) == BOOSTER.predict(X)).all()
    assert (BOOSTER.predict(table("f{}1")) == BOOSTER.predict(X)).all()
