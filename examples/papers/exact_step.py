"""Figure 3 of Wu, Burges, Svore and Gao (2008): the exact step against the Newton step.

Trains LambdaMART on the paper's artificial data, with the paper's lambdas (all pairs, no noise) and splits by
least squares, and compares steps. The paper's exact step (section 5.6) gives all leaves of a tree one weight on
the mean lambda of each leaf; the weight, from 0.1 to 100, is the best for NDCG on 5,000 other queries.
Ours gives one weight on top of the Newton steps of the leaves. Both come with the weight chosen on other
queries and on the training queries.

The Newton steps come twice: at the rate of 0.1 that section 5.2 has for LambdaMART everywhere, and whole, at
rate 1, as section 5.6 says ("the full Newton step").

Rounds to a height differ by a tenth between two draws of the queries, so all is done with several draws.
Draws the mean NDCG@10 on the training and test queries after each round, and prints the rounds that each
step needs to reach some heights, and whether the exact step needs fewer.

    python examples/papers/exact_step.py [figure3.png] [--scale tiny|small|paper] [--draws 4]
        [--lambdas paper|default]

``--lambdas default`` does the same with rustrank's default lambdas and splits.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rustrank as rr

METRIC = "ndcg@10"
#: Name, parameters, and colour. The rate of an exact step is 1.
STEPS: list[tuple[str, dict[str, Any], str]] = [
    ("Newton, rate 0.1", {"learning_rate": 0.1}, "#7f9fbf"),
    ("Newton, rate 1", {"learning_rate": 1.0}, "#1f4e79"),
    ("exact, as in the paper", {"leaf_values": "mean", "step_on": "other"}, "#c8641e"),
    ("exact, as in the paper, by training queries", {"leaf_values": "mean"}, "#e0a878"),
    ("exact on Newton leaves", {"step_on": "other"}, "#3a7d44"),
    ("exact on Newton leaves, by training queries", {}, "#8fbf96"),
]
EXACT = {"step": "exact", "learning_rate": 1.0}
PAPER_STEP = "exact, as in the paper"
#: The paper's lambdas and splits, and ours.
LAMBDAS: dict[str, dict[str, Any]] = {"paper": {"preset": "burges2010"}, "default": {}}
#: Queries for training, half as many for each other set; rounds; draws of the queries.
SCALES = {"tiny": (60, 12, 2), "small": (1500, 200, 4), "paper": (10_000, 500, 4)}
HEIGHTS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


#: NDCG@10 by step, set, draw and round.
Histories = dict[str, dict[str, NDArray[np.float64]]]


def trained(draw: int, queries: int, trees: int, leaves: int, lambdas: str) -> Histories:
    """Train with each step on queries of their own."""
    options = {"num_trees": trees, "num_leaves": leaves, **LAMBDAS[lambdas]}

    def dataset(num_queries: int, first: int, like: rr.Dataset | None = None) -> rr.Dataset:
        first += 3 * queries * draw
        docs = rr.datasets.make_polynomial(num_queries, seed=0, first_query=first)
        return rr.Dataset(docs.X, docs.y, qid=docs.qid, like=like)

    train = dataset(queries, 0)
    test = dataset(queries // 2, 2 * queries, train)
    other = dataset(queries // 2, queries, train)
    found: Histories = {}
    for name, step, _ in STEPS:
        start = time.process_time()
        booster = rr.train(
            train,
            metric=METRIC,
            valid={"train": train, "test": test, "other": other},
            seed=draw,
            **{**options, **({} if name.startswith("Newton") else EXACT), **step},
        )
        found[name] = {of: booster.history[of][METRIC] for of in ("train", "test")}
        print(f"draw {draw}, {name}: {time.process_time() - start:.0f} CPU s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", help="where to draw: png, svg or pdf")
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--queries", type=int, help="for training; half for steps")
    parser.add_argument("--trees", type=int)
    parser.add_argument("--draws", type=int, help="of the queries")
    parser.add_argument("--leaves", type=int, default=10)
    parser.add_argument("--lambdas", choices=LAMBDAS, default="paper")
    args = parser.parse_args()
    queries, trees, draws = SCALES[args.scale]
    queries, trees, draws = args.queries or queries, args.trees or trees, args.draws or draws
    each = [trained(number, queries, trees, args.leaves, args.lambdas) for number in range(draws)]
    found = {
        name: {of: np.array([one[name][of] for one in each]) for of in ("train", "test")}
        for name, _, _ in STEPS
    }
    for of in ("train", "test"):
        print(f"\n| {of}: step | " + " | ".join(f"{height:g}" for height in HEIGHTS) + " | end |")
        print("| --- |" + " ---: |" * (len(HEIGHTS) + 1))
        for name, histories in found.items():
            rounds = [log_rounds(histories[of], height) for height in HEIGHTS]
            cells = ["-" if logs is None else f"{np.exp(logs.mean()):.0f}" for logs in rounds]
            print(f"| {name} | " + " | ".join(cells) + f" | {histories[of][:, -1].mean():.4f} |")
    print("\nWhat held:\n\n" + "\n".join(findings(found)))
    if args.picture:
        draw(found, args.picture)


def log_rounds(histories: NDArray[np.float64], height: float) -> NDArray[np.float64] | None:
    """Return the logarithm of the first round at a height, by draw; None if some draw never is."""
    reached = histories >= height
    return np.log(reached.argmax(axis=1) + 1) if reached.any(axis=1).all() else None


def findings(found: Histories) -> list[str]:
    """Compare the rounds to the greatest height that both reach: the paper's curve is far ahead."""
    lines = []
    exact_steps = (PAPER_STEP, "exact on Newton leaves")
    for of, newton, exact in product(
        ("train", "test"), ("Newton, rate 0.1", "Newton, rate 1"), exact_steps
    ):
        claim = f"the step '{exact}' converges faster than '{newton}', {of}"
        pairs = [
            (height, log_rounds(found[exact][of], height), log_rounds(found[newton][of], height))
            for height in HEIGHTS
        ]
        reached = [(height, a - b) for height, a, b in pairs if a is not None and b is not None]
        if not reached:
            lines.append(f"- {claim}: not tried: not all reached {HEIGHTS[0]}")
            continue
        height, logs = reached[-1]
        error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.inf
        # What differs by a tenth, or by chance, is the same.
        is_faster = logs.mean() < min(np.log(0.9), -2 * error)
        said = f"{np.exp(logs.mean()):.2f} ± {error:.2f} times the rounds"
        verdict = "held" if is_faster else "did not hold"
        lines.append(f"- {claim}: **{verdict}**: {said} to {height:g}, {len(logs)} draws")
    return lines


def draw(found: Histories, path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    for (name, _, color), histories in zip(STEPS, found.values(), strict=True):
        for of, line in (("train", "-"), ("test", "--")):
            mean = histories[of].mean(axis=0)
            rounds = np.arange(1, len(mean) + 1)
            axes.plot(rounds, mean, line, color=color, linewidth=1.4, label=f"{name}, {of}")
    axes.set_xlabel("round")
    axes.set_ylabel(METRIC)
    axes.set_xscale("log")
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(frameon=False, loc="outside right upper")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
