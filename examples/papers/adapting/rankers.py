"""Rankers of the adaptation experiments: as the two papers train them, and with rustrank's defaults.

What is free is chosen on validation queries: the rate and the epoch of a net; the number of trees or
features, their rate and the leaves of a tree; the weights of an interpolation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import rustrank as rr
from adapting.data import Docs, Sets, joined, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: What rates of LambdaSMART and LambdaBoost are chosen from.
RATES = (0.1, 0.5)
#: Hidden units of the nets of Gao and others, and of those of Wu and others.
BACKGROUND_UNITS, IN_DOMAIN_UNITS, UNITS_2008 = 15, 10, 10
#: The leaves of Figure 4; one leaf is LambdaBoost.
LEAVES = (2, 5, 10, 20)
#: After so many rounds without a better value on the validation queries, no more are tried.
PATIENCE = 100
#: What the tables call the recipes of `rustrank.adapt`.
RECIPES = {
    "base": "Back.",
    "target": "In-domain",
    "interpolate": "2W-Interp.",
    "interpolate all": "4W-Interp.",
    "interpolate grown": "3W-Interp.",
    "features": "λ-Boost",
    "trees": "λ-SMART",
}


class Nets(NamedTuple):
    """How nets are trained: the most epochs, the rates to choose from, and what they take of a feature."""

    epochs: int
    rates: tuple[float, ...]
    inputs: str = "plain"


class Ranker(NamedTuple):
    """A ranker, its NDCG@10 on the validation queries, and what was chosen on them."""

    booster: rr.Booster
    value: float = 0.0
    chosen: str = ""


def best(tried: Iterable[Ranker]) -> Ranker:
    """Return the ranker with the highest value on the validation queries."""
    return max(tried, key=lambda one: one.value)


def judged(booster: rr.Booster, valid: Docs) -> float:
    return float(rr.evaluate(booster.predict(valid.X), valid.y, qid=valid.qid)["ndcg@10"])


def net(docs: Docs, valid: Docs, units: int, how: Nets) -> Ranker:
    """Train a two-layer LambdaRank net by plain gradient descent, as both papers do."""
    tried = []
    for rate in how.rates:
        ranker = rr.LambdaRank(
            preset="sgd",
            hidden=(units,),
            learning_rate=rate,
            epochs=how.epochs,
            inputs=how.inputs,
            patience=20,
            pairs_to=None,
        )
        ranker.fit(
            docs.X, docs.y, qid=docs.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
        )
        value = judged(ranker.booster, valid)
        tried.append(Ranker(ranker.booster, value, f"rate {rate:g}, {ranker.best_epoch} epochs"))
    return best(tried)


def own_validation(background: Docs) -> tuple[Docs, Docs]:
    """Divide the queries of a background: to train on, and to choose on."""
    return split(background, 0.8)


def leaf_docs(docs: Docs) -> int:
    """Return the fewest documents of a leaf: 20, the default, are too many where there are few."""
    return min(20, max(1, len(docs.y) // 10))


def lambda_smart(
    base: rr.Booster, sets: Sets, rates: Sequence[float] = RATES, **options: Any
) -> Ranker:
    """Boost a base with trees fitted to the target; their number and rate are chosen."""
    docs, valid = sets.target, sets.valid_closed
    train = rr.Dataset(docs.X, docs.y, qid=docs.qid, base=base)
    held = rr.Dataset(valid.X, valid.y, qid=valid.qid, like=train, base=base)
    tried = []
    for rate in rates:
        made = rr.train(
            train,
            valid=held,
            early_stopping=PATIENCE,
            min_leaf_docs=leaf_docs(docs),
            learning_rate=rate,
            **options,
        )
        text = f"{made.num_trees} trees of {options['num_leaves']} leaves, rate {rate:g}"
        tried.append(Ranker(made, judged(made, valid), text))
    return best(tried)


def lambda_smart_2009(
    base: rr.Booster, sets: Sets, rounds: int, leaves: int, random: bool
) -> Ranker:
    """LambdaSMART of Gao and others, with or without draws of documents and features at each node."""
    share = {} if random else {"rows_per_node": 1.0, "features_per_node": 1.0}
    sizes: dict[str, Any] = {"num_trees": rounds, "num_leaves": leaves, **share}
    return lambda_smart(base, sets, preset="gao2009", **sizes)


def lambda_smart_as_chosen(base: rr.Booster, sets: Sets, rounds: int) -> dict[str, Ranker]:
    """LambdaSMART at what Gao and others chose on their data; the number of trees is chosen, or is M."""
    given: dict[str, Any] = {"num_trees": rounds, "num_leaves": 20, "preset": "gao2009"}
    docs = sets.target
    train = rr.Dataset(docs.X, docs.y, qid=docs.qid, base=base)
    return {
        "λ-SMART, M chosen": lambda_smart(base, sets, rates=(0.5,), **given),
        "λ-SMART, all M trees": Ranker(rr.train(train, min_leaf_docs=leaf_docs(docs), **given)),
    }


def lambda_smart_2008(base: rr.Booster, sets: Sets, rounds: int, leaves: int) -> Ranker:
    """LambdaSMART of Wu and others: no draws, rate 0.1."""
    sizes: dict[str, Any] = {"num_trees": rounds, "num_leaves": leaves}
    return lambda_smart(base, sets, rates=(0.1,), preset="wu2008", **sizes)


def lambda_boost(base: rr.Booster, sets: Sets, rounds: int) -> Ranker:
    """Boost a base with single features, fitted to the target; their number and rate are chosen."""
    docs, valid = sets.target, sets.valid_closed
    tried = []
    for rate in RATES:
        ranker = rr.LambdaBoost(
            n_estimators=rounds,
            learning_rate=rate,
            base=base,
            early_stopping=PATIENCE,
            pairs_to=None,
        )
        ranker.fit(
            docs.X, docs.y, qid=docs.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
        )
        text = f"{ranker.best_round} features, rate {rate:g}"
        tried.append(Ranker(ranker.booster, judged(ranker.booster, valid), text))
    return best(tried)


def interpolated(rankers: Mapping[str, Ranker], valid: Docs) -> Ranker:
    """Mix rankers with the weights that are best on the validation queries.

    Two rankers by the exact sweep of Wu and others, more by Powell's search.
    """
    boosters = {name: one.booster for name, one in rankers.items()}
    method = "sweep" if len(boosters) == 2 else "powell"
    combiner = rr.Combiner(method=method, negative=False)
    combiner.fit(boosters, valid.y, X=valid.X, qid=valid.qid)
    # A net's score and another's have no common unit: the share of each is what its spread adds.
    spreads = [one.predict(valid.X).std() for one in boosters.values()]
    shares = combiner.weights * spreads / (combiner.weights @ spreads)
    text = " + ".join(f"{share:.2f} {name}" for name, share in zip(boosters, shares, strict=True))
    return Ranker(combiner.booster, float(combiner.value), text)


def grown_net(sets: Sets, how: Nets) -> Ranker:
    """Train a net on the target and the documents of the background that are close to the target's."""
    more = rr.expand(sets.target, sets.background)
    docs = sets.target
    if len(more.rows):
        docs = joined(docs, Docs(more.X, more.y, more.qid, docs.feature_names))
    made = net(docs, sets.valid_closed, IN_DOMAIN_UNITS, how)
    return made._replace(chosen=f"{made.chosen}, {more.share:.1%} of the background")


def by_leaves(base: Ranker, sets: Sets, rounds: int) -> dict[str, Ranker]:
    """Return the rankers of Figure 4: LambdaBoost, and LambdaSMART by leaves, with draws and without."""
    figure = {"L = 1": lambda_boost(base.booster, sets, rounds)}
    for leaves in LEAVES:
        for random in (False, True):
            name = f"L = {leaves}, random" if random else f"L = {leaves}"
            figure[name] = lambda_smart_2009(base.booster, sets, rounds, leaves, random)
    return figure


def of_figure(figure: Mapping[str, Ranker]) -> dict[str, Ranker]:
    """Return the two boosted rankers of the tables: LambdaSMART has draws, its leaves are chosen."""
    return {
        "λ-Boost": figure["L = 1"],
        "λ-SMART": best(one for name, one in figure.items() if "random" in name),
    }


def lambda_mart(docs: Docs, valid: Docs, rounds: int) -> rr.Booster:
    """Train LambdaMART of a background with our defaults; the number of trees is chosen."""
    train = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    held = rr.Dataset(valid.X, valid.y, qid=valid.qid, like=train)
    return rr.train(train, num_trees=rounds, num_leaves=15, valid=held, early_stopping=30)


def with_defaults(
    bases: dict[str, rr.Booster], sets: Sets, rounds: int, background: Docs | None = None
) -> dict[str, Ranker]:
    """Adapt LambdaMART models by `rustrank.adapt` as it comes; names begin with "ours: "."""
    found = rr.adapt(
        bases,
        sets.target,
        background,
        held_out=sets.valid_closed,
        valid_closed=sets.valid_closed,
        recipes=None if background is not None else ["target", "interpolate", "features", "trees"],
        trees={"num_trees": min(300, rounds)},
    )
    made = {}
    for name, booster in found.boosters.items():
        recipe, _, base = name.partition(" (")
        if base:
            called = f"{'Interp.' if recipe == 'interpolate' else RECIPES[recipe]} ({base}"
        elif name in bases and len(bases) > 1:
            called = f"Back. ({name})"
        else:
            called = RECIPES.get(recipe, recipe)
        made[f"ours: {called}"] = Ranker(booster, chosen=found.chosen.get(name, ""))
    return made
