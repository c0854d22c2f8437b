"""The same model and the same scores in every way that the documentation promises; `make invariance` runs more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from check_invariance import Counts, check, main
from same_results.cases import draw
from same_results.forms import ORDERS, Form, dataset
from same_results.trainings import Setting
from same_results.variants import variants_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::rustrank.RustrankWarning")

#: Cases of at most so many documents, a few of which take a second.
CASES, MOST_DOCS = 80, 400


@pytest.mark.parametrize("first", range(0, CASES, 10))
def test_a_model_does_not_depend_on_how_it_was_made(first: int, tmp_path: Path) -> None:
    counts = Counts()
    for number in range(first, first + 10):
        difference = check(draw(number, most_docs=MOST_DOCS), tmp_path, counts)
        assert difference is None, (
            f"{difference}\npython tests/invariance/check_invariance.py --first {number} --cases 1 --most-docs {MOST_DOCS}"
        )
    assert counts.cases == 10
    assert counts.variants.total() > 50


def test_a_number_is_always_the_same_case() -> None:
    for number in range(20):
        assert draw(number) == draw(number)
        assert variants_of(draw(number)) == variants_of(draw(number))
    assert draw(1).settings != draw(2).settings


def test_smaller_cases_are_parts_of_larger_ones(tmp_path: Path) -> None:
    case = draw(3)
    larger = Setting(case, tmp_path).docs
    settings = {**case.settings, "docs.queries": max(1, case.get("docs.queries") // 2)}
    smaller = Setting(type(case)(3, settings), tmp_path).docs
    assert smaller.X.tobytes() == larger.X[: len(smaller.X)].tobytes()
    assert smaller.y.tobytes() == larger.y[: len(smaller.y)].tobytes()


@pytest.mark.parametrize("order", ORDERS)
def test_orders_have_every_row_once(order: str, tmp_path: Path) -> None:
    setting = Setting(draw(5), tmp_path)
    rows = Form(order=order, seed=1).rows(setting.docs)
    assert sorted(rows.tolist()) == list(range(len(setting.docs.qid)))
    moved = dataset(setting.case, setting.docs.taken(rows), Form(), tmp_path)
    assert moved.fingerprint == dataset(setting.case, setting.docs, Form(), tmp_path).fingerprint
    if order != "any":
        queries = setting.docs.qid[rows]
        assert np.count_nonzero(np.diff(queries)) == len(set(queries.tolist())) - 1


def test_a_difference_is_found_and_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def careless(self: Setting, form: Form, threads: int = 2) -> object:
        found = trained(self, form, threads)
        if threads == 5 and found.booster is not None and self.case.get("train.l2"):
            found.scores = b"other bits"
        return found

    trained = Setting.trained
    monkeypatch.setattr(Setting, "trained", careless)
    assert main(["--cases", "60", "--most-docs", "200"]) == 1
    shown = capsys.readouterr().out
    least = shown.partition("the least that still differs:")[2]
    assert "'train.l2'" in least
    assert "'docs.queries': 1," in least
    assert "1 differ" in shown
    assert tmp_path.exists()
