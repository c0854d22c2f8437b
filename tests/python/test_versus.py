"""The rules by which rustrank is compared: what is picked, by what, and what counts."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from versus import folds, quality, training, untuned
from versus.fitted import Plan, Setting, until_patience
from versus.records import Records


def test_the_first_best_round_counts_and_patience_ends() -> None:
    values = iter([0.1, 0.3, 0.3, 0.2, 0.2, 0.9])
    assert until_patience(values, 3) == ([0.1, 0.3, 0.3, 0.2, 0.2], 2)
    assert until_patience([0.5], 3) == ([0.5], 1)


def part(number: int) -> folds.Docs:
    X = np.arange(6, dtype=np.float32).reshape(6, 1) + 10 * number
    return folds.Docs(X, X[:, 0].copy(), np.array([2, 4]))


def test_each_part_is_in_one_set_of_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "read_parts", lambda *_: [part(number) for number in range(5)])
    first = folds.read_fold("any", 1)
    tens = [sorted(set(docs.y // 10)) for docs in (first.test, first.valid, first.train)]
    assert tens == [[0], [4], [1, 2, 3]]
    third = folds.read_fold("any", 3)
    tens = [sorted(set(docs.y // 10)) for docs in (third.test, third.valid, third.train)]
    assert tens == [[2], [1], [0, 3, 4]]


def test_docs_are_shuffled_inside_their_queries_with_their_labels() -> None:
    docs = part(0)
    orders = {tuple(docs.shuffled([seed]).y) for seed in range(30)}
    assert len(orders) > 10
    for seed in range(30):
        shuffled = docs.shuffled([seed])
        assert np.array_equal(shuffled.X[:, 0], shuffled.y)
        assert sorted(shuffled.y[:2]) == [0, 1]


def test_records_are_found_again_and_half_a_line_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    Records([path]).put({"fold": 1, "set": "a"}, {"valid": 0.5})
    with path.open("a") as file:
        file.write('{"key": {"fold": 2')
    again = Records([path])
    assert again.get({"set": "a", "fold": 1}) == {"valid": 0.5}
    assert again.get({"set": "a", "fold": 2}) is None
    # What follows is a line of its own, so the next run finds it.
    again.put({"set": "a", "fold": 2}, 7)
    assert Records([path]).get({"set": "a", "fold": 2}) == 7


def test_validation_alone_picks_the_setting() -> None:
    args = argparse.Namespace(
        leaves=[7, 15], rates=[0.1], leaf_docs=[20], rounds=4, patience=2, seeds=1, threads=1
    )
    contender = quality.Contender("x", "lightgbm", {})
    records = Records([])

    def put(leaves: int, valid: float, test: float) -> None:
        at = quality.key("a", 1, contender, Setting(leaves, 0.1, 20), Plan(4, 2, 0, 1))
        records.put(at, {"valid": valid, "test": test, "round": 3, "queries": [test, None]})

    put(7, 0.6, 0.1)
    assert quality.pick(args, records, "a", 1, contender) is None
    put(15, 0.5, 0.9)
    picked = quality.pick(args, records, "a", 1, contender)
    assert picked is not None
    assert (picked.valid, picked.test, picked.setting.leaves) == (0.6, 0.1, 7)
    assert np.isnan(picked.queries[1])


def test_a_tree_is_timed_without_the_first_rounds() -> None:
    # One second to build, ten for each of five rounds, then two for each of the others.
    ends = np.cumsum([0, 1, *[10] * training.FIRST, *[2] * 10])
    answer: dict[str, Any] = {
        "stamps": [[end, 2 * end] for end in ends.tolist()],
        "peak_mb": 1.0,
        "leaves": 31.0,
    }
    found = training.figures(answer, timed=training.FIRST + 10)
    assert (found.build_cpu, found.tree_cpu, found.tree_wall) == (1, 2, 4)
    assert found.whole_cpu is None


def test_the_best_layout_of_a_peer_is_the_one_to_beat() -> None:
    args = argparse.Namespace(
        engines=["lightgbm", "rustrank"], variants=[], no_defaults=False, judge="least"
    )

    def cost(tree: float, peak: float) -> training.Figures:
        return training.Figures(tree, tree, 0, 0, None, None, peak, 31)

    costs = {
        "rustrank": cost(1.0, 80),
        "LightGBM row-wise": cost(3.5, 200),
        "LightGBM col-wise": cost(3.1, 100),
    }
    case = training.Case("web", 31, 1)
    (verdict,) = training.judged(args, case, costs)
    assert "3.10x CPU" in verdict.line
    assert verdict.passed
    costs["LightGBM col-wise"] = cost(2.9, 100)
    assert not training.judged(args, case, costs)[0].passed


def test_settings_that_quality_picked_are_compared_with_calls_that_set_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untuned, "machine", lambda *_: "")
    grid = Records([tmp_path / "grid"])
    for leaves, valid, queries in ((7, 0.5, [0.1, 0.3]), (31, 0.6, [0.2, 0.2])):
        at = {"set": "MQ2008", "fold": 1, "engine": "catboost", "leaves": leaves, "seed": 0}
        grid.put(at, {"valid": valid, "queries": queries})
    args = argparse.Namespace(
        sets=["MQ2008"], folds=[1], engines=["rr.train(D)"], metrics=["ndcg@10"], limit=[60.0], seeds=1,
        threads=1, results=[tmp_path / "own"], show=True, tuned=[tmp_path / "grid"],
    )  # fmt: skip
    own = Records(args.results)
    job = untuned.Job("ndcg@10", 0, 1, 60.0)
    at = untuned.key("MQ2008", 1, "rr.train(D)", job)
    own.put(at, {"seconds": 1.0, "queries": {"ndcg@10": [0.5, 0.7]}})
    assert untuned.untuned(args)
    told = capsys.readouterr().out
    assert "| catboost, tuned by the grid | 0.2000 |" in told
    assert "above catboost, tuned by the grid" in told
    assert "| rr.train(D) | +0.4000 | +0.4000 ±" in told
    assert "grid" not in (tmp_path / "own").read_text()
