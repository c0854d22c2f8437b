"""Table 1 and Figure 2 (a) of Wu, Burges, Svore and Gao (2008): LambdaMART, McRank and LambdaRank.

Trains all three on the paper's artificial data and prints NDCG@10, 3 and 1 on the test queries with
95% intervals, beside the paper's figures. With a picture, draws NDCG@10 against the number of trees, where
a round of McRank has a tree for each of the five labels.

    python examples/papers/mcrank.py [--scale tiny|small|paper] [--picture figure2.png]

The paper has 10,000 queries for training and testing and 5,000 for validation; fewer are fewer in
proportion, and the polynomial is another one: what can be compared is the order.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Iterator

METRICS = ("ndcg@10", "ndcg@3", "ndcg@1")
PAPER = {
    "λ-MART": ("87.9 (0.16)", "81.7 (0.32)", "79.6 (0.56)"),
    "McRank": ("83.7 (0.19)", "75.6 (0.36)", "72.2 (0.65)"),
    "λ-Rank": ("75.4 (0.25)", "67.8 (0.41)", "65.8 (0.66)"),
}
#: Queries for training and for testing, rounds of trees, epochs of LambdaRank.
SCALES = {"tiny": (400, 60, 2), "small": (1500, 200, 15), "paper": (10_000, 1000, 30)}
#: Section 5.2: 10 leaves; steps of 0.1 and 0.05.
STEPS = {"λ-MART": ("lambdamart", 0.1), "McRank": ("mcrank", 0.05)}
COLORS = {"λ-MART": "#1f4e79", "McRank": "#c8641e"}


def docs(num_queries: int, first: int) -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(num_queries, seed=0, first_query=first)


def table(scores: dict[str, Any], test: rr.datasets.Ranking) -> Iterator[str]:
    found = {
        name: rr.evaluate(each, test.y, qid=test.qid, metrics=METRICS)
        for name, each in scores.items()
    }
    yield "| | " + " | ".join(f"{name} | paper's" for name in scores) + " |"
    yield "| --- |" + " ---: | ---: |" * len(scores)
    for at, metric in enumerate(METRICS):
        cells = []
        for name in scores:
            value = found[name][metric]
            low, high = value.interval
            cells += [f"{100 * float(value):.1f} ({50 * (high - low):.2f})", PAPER[name][at]]
        yield f"| {metric} | " + " | ".join(cells) + " |"
    order = []
    for metric in METRICS:
        values = {name: float(found[name][metric]) for name in scores}
        order.append(" > ".join(sorted(values, key=values.__getitem__, reverse=True)))
    yield ""
    yield "order: " + "; ".join(
        f"{metric} {names}" for metric, names in zip(METRICS, order, strict=True)
    )
    yield "\nWhat held:\n"
    names = list(PAPER)
    for better, worse in pairwise(names):
        yield finding(scores[worse], scores[better], test, f"{better} beats {worse}")


def finding(worse: Any, better: Any, test: rr.datasets.Ranking, claim: str) -> str:
    compared = rr.compare(worse, better, test.y, qid=test.qid, metrics=METRICS)
    pairs = [(one.difference, one.p_randomisation) for one in compared.values()]
    if all(difference > 0 and p < 0.05 for difference, p in pairs):
        verdict = "held"
    elif any(difference < 0 and p < 0.05 for difference, p in pairs):
        verdict = "did not hold"
    else:
        verdict = "not clear"
    said = ", ".join(f"{difference:+.4f} (p {p:.4f})" for difference, p in pairs)
    return f"- {claim}, at 10, 3 and 1: **{verdict}**: {said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--queries", type=int, help="for training and for testing")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--epochs", type=int, help="of LambdaRank")
    parser.add_argument("--picture", help="where to draw figure 2: png, svg or pdf")
    args = parser.parse_args()
    queries, rounds, epochs = SCALES[args.scale]
    count = args.queries or queries
    args.rounds, args.epochs = args.rounds or rounds, args.epochs or epochs
    parts = docs(count, 0), docs(count // 2, count), docs(count, 2 * count)
    train, held, test = parts
    sets = [rr.Dataset(train.X, train.y, qid=train.qid)]
    sets += [rr.Dataset(part.X, part.y, qid=part.qid, like=sets[0]) for part in (held, test)]
    scores: dict[str, Any] = {}
    for name, (objective, rate) in STEPS.items():
        start = time.process_time()
        booster = rr.train(
            sets[0],
            objective=objective,
            num_trees=args.rounds,
            num_leaves=10,
            learning_rate=rate,
            valid=sets[1],
            early_stopping=args.rounds,
        )
        scores[name] = booster.score(test.X)
        spent = time.process_time() - start
        print(f"{name}: {booster.num_trees} trees, {spent:.0f} CPU s", flush=True)
    start = time.process_time()
    net = rr.LambdaRank(hidden=(10,), epochs=args.epochs)
    net.fit(train.X, train.y, qid=train.qid, eval_set=(held.X, held.y, held.qid))
    scores["λ-Rank"] = net.predict(test.X)
    print(f"λ-Rank: {time.process_time() - start:.0f} CPU s\n")
    print("\n".join(table(scores, test)))
    if args.picture:
        draw(sets, args)


def draw(sets: list[rr.Dataset], args: argparse.Namespace) -> None:
    import matplotlib as mpl
    import numpy as np

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    # Section 5.4: 20 leaves and steps of 0.15 for both.
    for name, (objective, _) in STEPS.items():
        booster = rr.train(
            sets[0],
            objective=objective,
            num_trees=args.rounds,
            num_leaves=20,
            learning_rate=0.15,
            valid={"test": sets[2]},
        )
        history = booster.history["test"]["ndcg@10"]
        trees = np.arange(1, len(history) + 1) * (booster.num_trees // booster.num_rounds)
        axes.plot(trees, history, color=COLORS[name], linewidth=1.4, label=name)
        shown = [n for n in (5, 25, 50, 100, 250, 500, 1000, 2500, 5000) if n in trees]
        values = ", ".join(f"{n}: {history[trees.tolist().index(n)]:.4f}" for n in shown)
        print(f"{name} NDCG@10 by trees: {values}")
    axes.set_xscale("log")
    axes.set_xlabel("trees")
    axes.set_ylabel("NDCG@10, test")
    axes.grid(color="0.9", linewidth=0.8)
    axes.legend(frameon=False)
    figure.savefig(args.picture, dpi=150)


if __name__ == "__main__":
    main()
