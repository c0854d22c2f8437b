"""Combination by LambdaRank nets whose features are the scores of rankers (Burges 2010)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.estimators.nets import LambdaRank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.combining._fit_input import CombinerOptions
    from rustrank.data.scored_rows import ScoredRows

#: The methods, with the hidden units of their nets.
NETS: dict[str, tuple[int, ...]] = {"lambdarank": (), "lambdarank_net": (10,)}


def learn(scored: ScoredRows, other: ScoredRows | None, options: CombinerOptions) -> LambdaRank:
    """Train a net on the scores of rankers; with a held-out set, its best epoch is kept."""
    judging = options.judging
    net = LambdaRank(
        hidden=NETS[options.method],
        epochs=60,
        learning_rate=0.01,
        inputs="plain",
        weight_decay=0.0,
        # Larger than any score, so that nothing is clipped and a linear net is linear.
        limit=1e6,
        metric=judging.metric,
        random_state=options.seed,
        n_jobs=judging.num_threads,
        **judging.scale,
    )
    valid = None if other is None else {"X": np.column_stack(other.scores), **_given(other)}
    return net.fit(np.column_stack(scored.scores), **_given(scored), eval_set=valid)


def _given(scored: ScoredRows) -> dict[str, Any]:
    queries = scored.queries
    by = {"qid": queries[0]} if isinstance(queries, tuple) else {"group": queries}
    return {"y": scored.labels, "query_weight": scored.query_weight, **by}


def weights_of(net: LambdaRank, scores: list[NDArray[np.float64]]) -> list[float]:
    """Return the weights of a linear net."""
    # Sorted, so that sums do not depend on the order of rows.
    table = np.sort(np.column_stack(scores), axis=0)
    mean, spread = table.mean(axis=0), table.std(axis=0)
    spread[spread == 0] = 1.0
    rows = mean + np.vstack([np.zeros_like(mean), np.diag(spread)])
    found = net.predict(rows)
    return [float(weight) for weight in (found[1:] - found[0]) / spread]
