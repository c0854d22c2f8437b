"""A mixture of models has no first trees: `num_trees` counts all, and `truncate` refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.compat import lightgbm

if TYPE_CHECKING:
    from pathlib import Path

DATA = rr.datasets.make_polynomial(60, seed=0)
TRAIN = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
FIRST, SECOND = (rr.train(TRAIN, num_trees=count, seed=count) for count in (6, 4))
#: It has an intercept, so that a mixture holds it as a model of its own.
WITH_START = rr.train(TRAIN, num_trees=5, objective="regression")


def mixtures() -> dict[str, rr.Booster]:
    scores = [one.predict(DATA.X) for one in (FIRST, SECOND)]
    combined = rr.Combiner().fit({"a": FIRST, "b": WITH_START}, DATA.y, X=DATA.X, qid=DATA.qid)
    return {
        "mix": rr.mix([FIRST, SECOND]),
        "sum": rr.mix([FIRST, SECOND], [1, 1]),
        "normalised": rr.mix([FIRST, SECOND], normalise="set", scores=scores),
        "with a model inside": rr.mix([WITH_START, FIRST]),
        "a model inside last": rr.mix([FIRST, WITH_START]),
        "models inside alone": rr.mix([WITH_START, WITH_START]),
        "combined": combined.booster,
        "calibrated": FIRST.calibrate(DATA.X, DATA.y),
    }


@pytest.mark.parametrize("kind", mixtures())
def test_a_mixture_counts_all_trees_and_is_not_truncated(kind: str) -> None:
    mixed = mixtures()[kind]
    assert mixed.num_trees >= 6
    assert repr(mixed).startswith(f"<Booster: {mixed.num_trees} trees")
    for count in (0, 3, mixed.num_rounds, mixed.num_trees, 1000):
        with pytest.raises(rr.ParamError, match=r"truncate the models first, then mix, stack or"):
            mixed.truncate(count)


# Training goes on in the last model of a plain sum, and from no calibrated model.
@pytest.mark.parametrize("kind", ["single", *sorted({*mixtures()} - {"sum", "calibrated"})])
def test_rounds_after_a_base_are_taken_off(kind: str) -> None:
    base = FIRST if kind == "single" else mixtures()[kind]
    further = rr.train(rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base=base), num_trees=3)
    assert further.num_trees == base.num_trees + 3
    assert further.num_rounds == base.num_rounds + 3
    alone = further.truncate(base.num_rounds)
    np.testing.assert_allclose(alone.predict(DATA.X), base.predict(DATA.X))
    assert further.truncate(base.num_rounds + 2).num_trees == base.num_trees + 2
    if kind != "single" and base.num_rounds:
        with pytest.raises(rr.ParamError, match=rf"or take {base.num_rounds} or more"):
            further.truncate(base.num_rounds - 1)


def test_a_weighted_model_alone_is_truncated() -> None:
    half = rr.mix([FIRST], [0.5]).truncate(2)
    np.testing.assert_allclose(half.predict(DATA.X), FIRST.truncate(2).predict(DATA.X) / 2)


def test_single_trees_are_those_of_the_model_itself() -> None:
    mixed = rr.mix([FIRST, WITH_START])
    assert mixed.num_trees == 11
    assert len(mixed.dump()["trees"]) == 6
    assert mixed.dump()["trees_inside"] == 5
    text = mixed.dump_text()
    assert "\nnot shown: 5 trees of models inside: take the models that were mixed, stacked" in text
    assert text.count("\ntree ") == 6
    assert "tree 0 of 6; 5 more of models inside" in mixed.draw_tree(0)
    with pytest.raises(rr.ParamError, match="whole number from 0 to 5; it has 5 trees of models"):
        mixed.draw_tree(6)
    assert FIRST.dump()["trees_inside"] == 0
    assert "inside" not in FIRST.dump_text() + FIRST.draw_tree(0)
    with pytest.raises(rr.ParamError, match=r"whole number from 0 to 5$"):
        FIRST.draw_tree(6)


def test_a_model_without_trees_of_its_own_says_where_they_are() -> None:
    calibrated = FIRST.calibrate(DATA.X, DATA.y)
    assert calibrated.dump()["trees"] == []
    assert calibrated.dump()["trees_inside"] == 6
    own = "has no trees of its own, but 6 trees of models inside: take the models that were mixed"
    with pytest.raises(rr.ParamError, match=f"number: got 0, but .* {own}"):
        calibrated.draw_tree(0)
    pytest.importorskip("matplotlib")
    with pytest.raises(rr.ParamError, match=f"tree_index: got 0, but .* {own}"):
        rr.plot_tree(calibrated)
    mixed = rr.mix([FIRST, WITH_START])
    assert rr.plot_tree(mixed).get_title("left") == "tree 0 of 6; 5 more of models inside"
    assert rr.plot_tree(mixed, max_depth=1).get_title("left").endswith("5 more of models inside")


def test_iterations_of_a_mixture_with_the_names_of_lightgbm() -> None:
    data: Any = lightgbm.Dataset(DATA.X, DATA.y, group=np.unique(DATA.qid, return_counts=True)[1])
    params = {"objective": "lambdarank", "verbose": -1}
    made = lightgbm.train(params, data, 2)
    made.native = rr.mix([FIRST, SECOND])
    assert made.num_trees() == 10
    with pytest.raises(rr.ParamError, match="truncate the models first"):
        made.predict(DATA.X, num_iteration=3, raw_score=True)


def test_the_command_train_counts_trees_of_a_base_and_no_rounds_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, base, made = (str(tmp_path / name) for name in ("data.txt", "base.rrk", "made.rrk"))
    DATA.to_letor(data)
    rr.mix([FIRST, WITH_START]).save(base)
    few = ["--num-trees", "3", "--no-progress"]
    assert main(["train", data, made, "--base", base, *few]) == 0
    assert capsys.readouterr().out.strip() == f"{made}: 14 trees"


def test_a_report_draws_no_rounds_of_a_mixture() -> None:
    rankers = {
        "single": FIRST,
        "comb": rr.mix([FIRST, WITH_START]),
        "bags": rr.mix([FIRST, SECOND]),
    }
    page = rr.report(rankers, DATA.y, X=DATA.X, qid=DATA.qid, resamples=100, examples=1).html
    rows = page.split("By number of rounds")[-1].split("</table>")[0]
    assert '<th scope="row">single</th>' in rows
    assert '<th scope="row">comb</th>' not in rows
    assert '<th scope="row">bags</th>' not in rows
    assert "Without rounds, being made of other models: comb, bags." in page
    assert (
        "being made of other models" not in rr.report([FIRST], DATA.y, X=DATA.X, qid=DATA.qid).html
    )
