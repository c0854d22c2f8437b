"""The estimators: trees, nets and LambdaBoost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from result_cases.bases import bases
from result_cases.docs import PAIRS, case, clean, few, held, model
from result_cases.table import Result, floats

if TYPE_CHECKING:
    from collections.abc import Callable

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "LambdaMART": lambda: rr.LambdaMART(**few()),
    "LambdaMART early": lambda: rr.LambdaMART(
        **few(n_estimators=40, early_stopping=3, learning_rate=0.4, validation_fraction=0.3)
    ),
    "LambdaMART options": lambda: rr.LambdaMART(
        **few(query_ranks=True, max_bins=20, random_state=5, docs_per_tree=0.7, sigma=2.0)
    ),
    "LambdaMART preset": lambda: rr.LambdaMART(n_estimators=6, preset="robust"),
    "RankNetMART": lambda: rr.RankNetMART(**few(pairs_to=10, augment="0.5x2")),
    "XENDCGMART": lambda: rr.XENDCGMART(**few()),
    **{
        f"MART {one}": partial(rr.MART, **few(objective=one, relevant_from=2))
        for one in ("regression", "balanced_logistic", "err_logistic")
    },
    "McRank": lambda: rr.McRank(n_estimators=2, num_leaves=6),
    "McRank ordinal": lambda: rr.McRank(n_estimators=2, num_leaves=6, ordinal=True),
    "RankNet": lambda: rr.RankNet(hidden=(4,), epochs=3),
    "RankNet linear": lambda: rr.RankNet(hidden=(), epochs=3, optimiser="sgd", schedule="constant"),
    "LambdaRank": lambda: rr.LambdaRank(epochs=3),
    "LambdaRank sgd": lambda: rr.LambdaRank(preset="sgd", epochs=3),
    "LambdaRank deep": lambda: rr.LambdaRank(hidden=(6, 4), epochs=3, batch_queries=4, sigma=0.5),
    "LambdaRank options": lambda: rr.LambdaRank(
        hidden=(4,),
        epochs=3,
        inputs="log",
        limit=1.5,
        weight_decay=0.5,
        random_state=9,
        objective_metric="err",
        pairs_to=3,
        gain="linear",
        augment=(0.5, 2),
    ),
    "LambdaBoost": lambda: rr.LambdaBoost(n_estimators=8),
    "LambdaBoost xendcg": lambda: rr.LambdaBoost(n_estimators=8, objective="xendcg"),
    "LambdaBoost regression": lambda: rr.LambdaBoost(n_estimators=8, objective="regression"),
    "LambdaBoost base": lambda: rr.LambdaBoost(n_estimators=5, base=bases()["trees"]),
    "LambdaBoost on classes": lambda: rr.LambdaBoost(n_estimators=5, base=bases()["classes"]),
}


def estimated(make: Callable[[], Any]) -> Result:
    docs = clean()
    ranker = make().fit(docs.X, docs.y, qid=docs.qid)
    return model(
        ranker.booster_,
        held(),
        predicted=floats(ranker.predict(held().X, qid=held().qid))
        if ranker.booster_.query_ranks
        else "plain",
    )


for _name, _make in ESTIMATORS.items():
    case(f"estimator {_name}", _make)(estimated)


@case(
    "held out LambdaMART",
    rr.LambdaMART,
    **few(early_stopping=2, n_estimators=30, learning_rate=0.5),
)
@case("held out LambdaRank restarts", rr.LambdaRank, epochs=9, patience=1, restart_from="random")
@case("held out LambdaRank", rr.LambdaRank, hidden=(8,), epochs=12, patience=1, learning_rate=0.05)
@case(
    "held out RankNet",
    rr.RankNet,
    hidden=(4,),
    epochs=10,
    patience=2,
    restarts=1,
    learning_rate=0.05,
)
@case("held out LambdaBoost", rr.LambdaBoost, n_estimators=40, early_stopping=4)
def held_out(kind: Any, **options: Any) -> Result:
    docs, test = clean(), held()
    weight = {one: 1 + one % 2 for one in range(40)}
    ranker = kind(**options)
    ranker.fit(
        docs.X,
        docs.y,
        qid=docs.qid,
        query_weight=weight,
        sample_weight=np.arange(800) % 4 / 2,
        eval_set=[(test.X, test.y)],
        eval_qid=[test.qid],
    )
    return model(ranker.booster_, test)


@case("preferences RankNet", partial(rr.RankNet, hidden=(3,), epochs=3))
@case("preferences RankNetMART", partial(rr.RankNetMART, n_estimators=4, min_leaf_docs=2))
def preferences(make: Callable[[], Any]) -> Result:
    docs = clean()
    ranker = make().fit(docs.X, np.zeros(800), qid=docs.qid, preferences=PAIRS)
    return model(ranker.booster_, held())
