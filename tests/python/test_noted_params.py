"""The parameters that a model shows: by the names that the caller knows, and without internal notes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from pathlib import Path

DATA = rr.datasets.make_polynomial(30, seed=0)
DOCS: dict[str, Any] = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}
TREES = rr.train(rr.Dataset(DATA.X, DATA.y, qid=DATA.qid), num_trees=3, gain="linear")


def test_the_objective_has_its_name_and_internal_notes_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, path = tmp_path / "report.html", tmp_path / "model.rrk"
    rr.report({"trees": TREES}, **DOCS, gain="linear", path=page)
    TREES.save(path)
    assert main(["inspect", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    again = rr.Booster.load(path)
    for params in (TREES.params, again.params, TREES.dump()["params"], shown["params"]):
        assert params["objective"] == "lambdamart"
        assert "convention" not in params
        assert "Convention" not in str(params)
    text = page.read_text()
    assert "<code>lambdamart</code>" in text
    assert "Convention" not in text
    assert "lambdarank" not in text


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (rr.LambdaBoost(n_estimators=2), "lambdamart"),
        (rr.LambdaRank(epochs=1), "lambdarank"),
        (rr.RankNet(epochs=1), "ranknet"),
        (rr.MART(n_estimators=1), "regression"),
    ],
)
def test_other_rankers_have_their_own(ranker: Any, name: str) -> None:
    booster = ranker.fit(**DOCS).booster_
    assert booster.params["objective"] == booster._objective() == name
