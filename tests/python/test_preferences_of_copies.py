"""Preferences between docs of which there are copies: the model does not depend on which rows those are."""

from __future__ import annotations

from typing import Any

import numpy as np

import rustrank as rr


def test_which_copy_a_preference_is_about_makes_no_difference() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    X[5] = X[6] = X[7]
    X[20:] = X[:20]  # Two queries are the same, too.
    qid = np.repeat([0, 1], 20)
    better, worse = random.integers(0, 20, (2, 300))
    start = random.integers(0, 2, 300) * 20
    values = random.random((2, 300))
    pairs = np.column_stack([better + start, worse + start, *values])[better != worse]

    def text(order: Any) -> str:
        place = np.argsort(order)
        moved = pairs.copy()
        moved[:, :2] = place[pairs[:, :2].astype(int)]
        data = rr.Dataset(X[order], np.zeros(40), qid=qid[order])
        options: dict[str, Any] = {"objective": "ranknet", "num_trees": 5, "min_leaf_docs": 1}
        return rr.train(data, preferences=moved, **options).to_text()

    texts = {text(np.random.default_rng(seed).permutation(40)) for seed in range(8)}
    assert len(texts) == 1
    # The note in the model says which preferences there were.
    assert "\npreferences " in texts.pop()
