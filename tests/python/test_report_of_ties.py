"""A report orders no documents that a ranker ties, and is the same for any order of rows with names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rustrank as rr

LABELS = np.array([0, 0, 2, 0, 0, 1, 0, 2])
QUERIES = np.array(list("aaaabbbb"))
NAMES = np.array(list("ABCDEFGH"))
RANKERS = {"flat": np.zeros(8), "b": np.array([4, 3, 2, 1, 3, 2, 1, 4.0])}


def page(order: Any, names: Any = NAMES, **options: Any) -> str:
    rankers = {name: scores[order] for name, scores in RANKERS.items()}
    docs: dict[str, Any] = {"qid": QUERIES[order], "doc_ids": names[order]}
    return rr.report(rankers, LABELS[order], metrics="ndcg@10", **docs, **options).html


def rows_of(text: str, query: str) -> list[list[str]]:
    table = text.split(f"Query {query}: docs that stand high", 1)[1].split("</table>", 1)[0]
    rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    return [re.findall(">([^<>]+)<", row) for row in rows]


def test_tied_documents_share_a_rank_and_make_no_pair() -> None:
    made = page(np.arange(8))
    assert [row[:4] for row in rows_of(made, "a")] == [
        ["A", "0", "1", "1"],
        ["B", "0", "2", "1"],
        ["C", "2", "3", "1"],
        ["D", "0", "4", "1"],
    ]
    assert made.count("Docs with equal scores share a rank.") == 2
    assert "the other way round. If" not in made
    assert made.count("docs with equal scores have no order") == 2


@pytest.mark.parametrize("names", [NAMES, np.array(list("AABBCCDD"))])
def test_shuffled_rows_with_names_make_the_same_page(names: Any) -> None:
    shuffled = [np.random.default_rng(seed).permutation(8) for seed in range(4)]
    assert {page(order, names) for order in shuffled} == {page(np.arange(8), names)}


def test_many_tied_documents_are_not_all_shown() -> None:
    labels, zeros = np.arange(30) % 3, np.zeros(30)
    qid, names = np.zeros(30), [f"d{at:02}" for at in range(30)]
    rankers = {"flat": zeros, "falling": -np.arange(30.0)}
    made = rr.report(rankers, labels, qid=qid, doc_ids=names).html
    assert [row[0] for row in rows_of(made, "0.0")] == names[:8]


def test_a_pair_that_changes_nothing_is_not_named() -> None:
    labels = np.array([2.0, 0, 1, 0])
    # Rows 2 and 3 are the only pair in another order, both below the cut.
    rankers = {"tied": np.array([4.0, 4, 1, 2]), "strict": np.array([4.0, 3, 2, 1])}
    docs: dict[str, Any] = {"y": labels, "qid": np.zeros(4)}
    assert "the other way round. If" not in rr.report(rankers, metrics="ndcg@1", **docs).html
    assert "row 2 (label 1) above row 3" in rr.report(rankers, metrics="ndcg@4", **docs).html


def test_models_with_shuffled_rows_make_the_same_page() -> None:
    data = rr.datasets.make_polynomial(12, seed=0)
    train = rr.Dataset(data.X, data.y, qid=data.qid)
    models = {
        "one": rr.train(train, num_trees=1, num_leaves=2),
        "two": rr.train(train, num_trees=9),
    }
    ids = np.arange(len(data.y))

    def of(order: Any) -> str:
        docs = {"X": data.X[order], "qid": data.qid[order], "doc_ids": ids[order]}
        return rr.report(models, data.y[order], **docs, resamples=100).html

    assert of(np.random.default_rng(0).permutation(len(ids))) == of(ids)
