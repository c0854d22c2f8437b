"""Models are joined by the names of their columns, or refused where these differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WEB = rr.datasets.make_web(60, 15, seed=1)
NAMES = [f"c{at}" for at in range(6)]
NAMED: dict[str, Any] = {"y": "label", "qid": "qid"}
FRAME = pd.DataFrame(WEB.X[:, :6], columns=NAMES).assign(qid=WEB.qid, label=WEB.y)
REVERSED = FRAME[FRAME.columns[::-1]]
FEWER = FRAME.drop(columns="c5")
SMALL: dict[str, Any] = {"num_trees": 4, "num_leaves": 6}
A = rr.train(FRAME, **NAMED, num_trees=6)
B = rr.train(REVERSED, **NAMED, **SMALL)
C = rr.train(FEWER, **NAMED, **SMALL)
ORDER = "feature 0 is 'c5' in .*, and 'c0' in .*"


def dataset(frame: pd.DataFrame, **options: Any) -> rr.Dataset:
    return rr.Dataset(frame, "label", qid="qid", **options)


JOINED: dict[str, Callable[[], Any]] = {
    "mix": lambda: rr.mix([A, B]),
    "booster": lambda: rr.Combiner().fit({"a": A, "b": B}, FRAME, **NAMED).booster,
    "Stacking": lambda: rr.Stacking({"a": A, "b": B}),
    "train": lambda: rr.train(REVERSED, **NAMED, **SMALL, base=A),
    "train on scores": lambda: rr.train(
        dataset(REVERSED, base_score=A.predict(REVERSED)), base=A, **SMALL
    ),
    "train on a Dataset": lambda: rr.train(dataset(REVERSED), base=A, **SMALL),
    "Dataset": lambda: dataset(REVERSED, base=A),
    "from_batches": lambda: rr.Dataset.from_batches(
        [{"X": REVERSED[NAMES[::-1]], "y": WEB.y, "qid": WEB.qid}], base=A
    ),
    "LambdaMART": lambda: rr.LambdaMART(n_estimators=2).fit(REVERSED, "label", qid="qid", base=A),
    "LambdaBoost": lambda: rr.LambdaBoost(n_estimators=2, base=A).fit(REVERSED, "label", qid="qid"),
    "predict of a Dataset": lambda: A.predict(dataset(REVERSED)),
}


@pytest.mark.parametrize("place", JOINED)
def test_models_of_other_orders_of_columns_are_not_joined(place: str) -> None:
    with pytest.raises(rr.DataError, match=ORDER) as found:
        JOINED[place]()
    assert (found.value.code, found.value.feature) == ("features.names", "c5")


def test_the_first_difference_of_column_sets_is_named() -> None:
    with pytest.raises(
        rr.DataError,
        match=r"boosters\[1\] has other features than boosters\[0\], .* feature 5 is none",
    ):
        rr.mix([A, C])
    with pytest.raises(rr.DataError, match="feature 5 is none in b, and 'c5' in a"):
        rr.Stacking({"a": A, "b": C})
    with pytest.raises(rr.DataError, match="feature 5 is 'c5' in the data set, and none in base"):
        rr.train(FRAME, **NAMED, **SMALL, base=C)


def test_what_the_errors_advise_works() -> None:
    same = rr.train((FRAME[A.feature_names], WEB.y, WEB.qid), **SMALL)
    both = rr.mix([A, same], [0.5, 2.0])
    expected = 0.5 * A.predict(REVERSED) + 2.0 * same.predict(REVERSED)
    assert np.allclose(both.predict(REVERSED), expected, rtol=1e-12)
    further = rr.train((REVERSED[A.feature_names], WEB.y, WEB.qid), **SMALL, base=A)
    assert further.num_trees == 10
    history = rr.train(
        dataset(FRAME, base=A), valid=dataset(FRAME, like=dataset(FRAME, base=A)), **SMALL
    ).history["valid"]["ndcg@10"]
    found = rr.evaluate(further, REVERSED, **NAMED)["ndcg@10"]
    assert found == pytest.approx(history[-1], abs=1e-12)


@pytest.mark.parametrize("other", [B, C], ids=["order", "set"])
def test_a_combiner_scores_each_ranker_by_its_own_names(other: rr.Booster) -> None:
    best = rr.Combiner(method="average").fit({"a": A, "b": other}, FRAME, **NAMED)
    assert (best.weights != 0).all()
    first, second = best.weights
    expected = first * A.predict(FRAME) + second * other.predict(FRAME)
    for frame in (FRAME, REVERSED):
        assert np.allclose(best.predict(frame), expected, rtol=1e-12)
        assert rr.evaluate(best, frame, **NAMED)["ndcg@10"] == best.value


def test_features_without_names_are_matched_by_position() -> None:
    bare = rr.train((WEB.X[:, :6], WEB.y, WEB.qid), **SMALL)
    numbered = rr.train(
        rr.Dataset(WEB.X[:, :6], WEB.y, qid=WEB.qid, feature_names=[f"f{at}" for at in range(6)]),
        **SMALL,
    )
    for one in (bare, numbered):
        expected = 0.5 * A.predict(WEB.X[:, :6]) + 0.5 * one.predict(WEB.X[:, :6])
        assert np.allclose(rr.mix([A, one]).predict(WEB.X[:, :6]), expected, rtol=1e-12)
        assert rr.train(dataset(FRAME, base_score=one.predict(WEB.X[:, :6])), base=one, **SMALL)


def test_a_table_of_a_stacking_has_the_columns_of_its_rankers() -> None:
    stacking = rr.Stacking({"a": A}, ("score",))
    expected = stacking.table(WEB.X[:, :6], qid=WEB.qid)
    for frame in (FRAME, REVERSED):
        assert np.array_equal(stacking.table(frame), expected)
        renamed = frame.rename(columns={"qid": "query"})
        assert np.array_equal(stacking.table(renamed, qid="query"), expected)
        assert np.array_equal(stacking.table(frame[NAMES], qid=WEB.qid), expected)
    with pytest.raises(rr.DataError, match=r"X lacks a feature of .*'c5'"):
        stacking.table(FEWER)
    outer = rr.train((pd.DataFrame(expected, columns=stacking.names), WEB.y, WEB.qid), **SMALL)
    whole = stacking.booster(outer)
    assert np.array_equal(whole.predict(REVERSED), outer.predict(expected))
    turned = pd.DataFrame(expected, columns=stacking.names)[stacking.names[::-1]]
    with pytest.raises(rr.DataError, match="feature 0 is 'a_score' in outer, and 'c0' in table"):
        stacking.booster(rr.train((turned, WEB.y, WEB.qid), **SMALL))


def test_commands_do_not_join_models_of_other_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, turned, a, b, both = (
        str(tmp_path / name) for name in ("a.parquet", "b.parquet", "a.rrk", "b.rrk", "both.rrk")
    )
    FRAME.to_parquet(data)
    REVERSED.to_parquet(turned)
    A.save(a)
    B.save(b)
    assert main(["combine", data, a, b]) == 0
    capsys.readouterr()
    assert main(["combine", data, a, b, "--save", both]) == 65
    assert "feature 0 is 'c5' in b.rrk, and 'c0' in a.rrk" in capsys.readouterr().err
    assert main(["train", turned, both, "--base", a, "--num-trees", "2"]) == 65
    assert "feature 0 is 'c5' in the data set, and 'c0' in base" in capsys.readouterr().err
    assert main(["train", data, both, "--base", a, "--num-trees", "2"]) == 0
