"""Figure 3 of Wu, Burges, Svore and Gao (2008): the exact step against the Newton step.

Trains LambdaMART on the paper's artificial data, once with a Newton step in each leaf and once with the
exact step for each tree on top, which is chosen on the training queries or, as in the paper, on
5,000 others; no shrinkage. Draws NDCG@10 on the training and test queries after each round, and
prints the rounds that each needs to reach some heights, and whether the exact step needs fewer, as in the paper.

    python examples/papers/exact_step.py [figure3.png] [--scale tiny|small|paper]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRIC = "ndcg@10"
#: Name, parameters, and colour.
STEPS = [
    ("Newton", {}, "#1f4e79"),
    ("exact", {"step": "exact"}, "#c8641e"),
    ("exact, on other queries", {"step": "exact", "step_on": "other"}, "#3a7d44"),
]
#: Queries for training, half as many for each other set; and rounds.
SCALES = {"tiny": (60, 12), "small": (1500, 200), "paper": (10_000, 500)}
HEIGHTS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def dataset(num_queries: int, first: int, like: rr.Dataset | None = None) -> rr.Dataset:
    docs = rr.datasets.make_polynomial(num_queries, seed=0, first_query=first)
    return rr.Dataset(docs.X, docs.y, qid=docs.qid, like=like)


def rounds_to(history: NDArray[np.float64], height: float) -> str:
    reached = np.flatnonzero(history >= height)
    return str(reached[0] + 1) if len(reached) else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", help="where to draw: png, svg or pdf")
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--queries", type=int, help="for training; half for steps")
    parser.add_argument("--trees", type=int)
    parser.add_argument("--leaves", type=int, default=15)
    args = parser.parse_args()
    queries, trees = SCALES[args.scale]
    args.queries, args.trees = args.queries or queries, args.trees or trees
    train = dataset(args.queries, 0)
    test = dataset(args.queries // 2, 2 * args.queries, train)
    other = dataset(args.queries // 2, args.queries, train)
    found = {}
    for name, step, _ in STEPS:
        start = time.process_time()
        booster = rr.train(
            train,
            metric=METRIC,
            num_trees=args.trees,
            num_leaves=args.leaves,
            learning_rate=1.0,
            valid={"train": train, "test": test, "other": other},
            **step,  # type: ignore[arg-type]
        )
        found[name] = {of: booster.history[of][METRIC] for of in ("train", "test")}
        print(f"{name}: {time.process_time() - start:.0f} CPU s")
    for of in ("train", "test"):
        print(f"\n| {of}: step | " + " | ".join(f"{height:g}" for height in HEIGHTS) + " | end |")
        print("| --- |" + " ---: |" * (len(HEIGHTS) + 1))
        for name, histories in found.items():
            cells = [rounds_to(histories[of], height) for height in HEIGHTS]
            print(f"| {name} | " + " | ".join(cells) + f" | {histories[of][-1]:.4f} |")
    print("\nWhat held:\n\n" + "\n".join(findings(found)))
    if args.picture:
        draw(found, args.picture)


def findings(found: dict[str, dict[str, NDArray[np.float64]]]) -> list[str]:
    """Compare the rounds to the greatest height that both steps reach: the paper's curve is far ahead."""
    lines = []
    newton, exact = found["Newton"], found["exact, on other queries"]
    for of in ("train", "test"):
        reached = [height for height in HEIGHTS if min(newton[of].max(), exact[of].max()) >= height]
        claim = f"the exact step converges faster, {of}"
        if not reached:
            lines.append(f"- {claim}: not tried: nothing reached {HEIGHTS[0]}")
            continue
        rounds = [int(rounds_to(one[of], reached[-1])) for one in (exact, newton)]
        # What differs by a tenth is the same.
        verdict = "held" if rounds[0] < 0.9 * rounds[1] else "did not hold"
        said = f"{rounds[0]} rounds to {reached[-1]:g}, the Newton step {rounds[1]}"
        lines.append(f"- {claim}: **{verdict}**: {said}")
    return lines


def draw(found: dict[str, dict[str, NDArray[np.float64]]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for (name, _, color), histories in zip(STEPS, found.values(), strict=True):
        for of, line in (("train", "-"), ("test", "--")):
            rounds = np.arange(1, len(histories[of]) + 1)
            axes.plot(
                rounds, histories[of], line, color=color, linewidth=1.4, label=f"{name}, {of}"
            )
    axes.set_xlabel("round")
    axes.set_ylabel(METRIC)
    axes.set_xscale("log")
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
