"""What a mixture says of its parts that are no trees: in its summary, its importance and a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("agg")

DATA = rr.datasets.make_polynomial(40, seed=0)
TREES = rr.train(rr.Dataset(DATA.X, DATA.y, qid=DATA.qid), num_trees=6)
DOCS: dict[str, Any] = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}
NET = rr.LambdaRank(epochs=2).fit(**DOCS).booster
OTHER = rr.RankNet(epochs=2).fit(**DOCS).booster
LINEAR = rr.LambdaBoost(n_estimators=2).fit(**DOCS).booster


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (TREES, "6 trees"),
        (NET, "a net"),
        (LINEAR, "a linear part"),
        (rr.mix([TREES, NET]), "6 trees, 1 net"),
        (rr.mix([NET, OTHER]), "2 nets"),
        (rr.mix([rr.mix([TREES, NET]), OTHER]), "6 trees of models inside, 2 nets"),
        (rr.mix([TREES, LINEAR]), "6 trees, a linear part"),
        (NET.calibrate(DATA.X, DATA.y), "1 net"),
    ],
)
def test_a_model_says_what_it_consists_of(model: rr.Booster, words: str) -> None:
    assert repr(model) == f"<Booster: {words}, 50 features>"
    assert f">{words}</td>" in model._repr_html_()


def test_a_stack_counts_the_nets_in_it() -> None:
    stacking = rr.Stacking([TREES, NET], features=["max"])
    table = stacking.table(DATA.X, qid=DATA.qid)
    outer = rr.train(rr.Dataset(table, DATA.y, qid=DATA.qid), num_trees=3)
    assert repr(stacking.booster(outer)).startswith("<Booster: 9 trees of models inside, 1 net, 50")


def test_importance_is_said_to_be_of_the_trees(tmp_path: Path) -> None:
    mixed = rr.mix([TREES, NET])
    assert "most important in its trees" in mixed._repr_html_()
    assert "in its trees" not in TREES._repr_html_()
    with pytest.warns(
        rr.RustrankWarning, match="that of trees alone, and a net is a part of the model"
    ):
        axes = rr.plot_importance(mixed)
    assert axes.get_xlabel().endswith(", of its trees alone")
    assert "alone" not in rr.plot_importance(TREES).get_xlabel()
    page = tmp_path / "report.html"
    rr.report({"trees": TREES, "mix": mixed, "net": NET}, **DOCS, path=page)
    assert "Without feature importance: mix, net." in page.read_text()
