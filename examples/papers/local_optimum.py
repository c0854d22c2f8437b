"""LambdaRank ends at a local optimum of its metric: Burges (2010), section 4.1, tried here.

A linear net and a net of two layers learn NDCG on artificial web data by plain gradient descent, as in
the paper (``preset="sgd"``); beside them, the same nets by our default (Adam), and trees. Then all weights
move, a little, along 459 random directions. The paper: where NDCG rises along none of them, fewer than 1%
of all directions lead upwards, at a confidence of 99%.

    python examples/papers/local_optimum.py [--scale tiny|small|paper] [--figure optimum.png]

What holds here: nets stand at an optimum at the scale at which curves are smooth (a twentieth to a fifth
of the length of the weights); nearer, NDCG is seen in its single steps, and many directions rise. Trees do
not: their lambdas make each tree good after those before it, and never ask whether a tree should count
more or less; `Booster.reweigh` does.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import rustrank as rr

DISTANCES = (0.02, 0.05, 0.1, 0.2)
#: Queries, epochs of plain descent and of Adam, trees, and directions: 459 of which none rises bound the
#: share at 1%.
SCALES = {
    "tiny": (60, 300, 30, 10, 60),
    "small": (800, 500, 60, 50, 459),
    "paper": (10_000, 500, 100, 200, 459),
}
NETS: dict[str, tuple[int, ...]] = {"linear LambdaRank": (), "two-layer LambdaRank": (10,)}


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asking.add_argument("--scale", choices=SCALES, default="small")
    asking.add_argument("--queries", type=int)
    asking.add_argument("--directions", type=int)
    asking.add_argument("--figure", type=Path)
    args = asking.parse_args()
    queries, plain_epochs, epochs, trees, directions = SCALES[args.scale]
    args.directions = args.directions or directions
    # Four features have one value.
    warnings.simplefilter("ignore", rr.RustrankWarning)
    data = rr.datasets.make_web(num_queries=args.queries or queries, seed=3)
    trained: dict[str, rr.Booster] = {}
    for name, hidden in NETS.items():
        plain = rr.LambdaRank(preset="sgd", hidden=hidden, epochs=plain_epochs, metric="ndcg")
        ours = rr.LambdaRank(
            hidden=hidden, epochs=epochs, weight_decay=0.0, pairs_to=None, metric="ndcg"
        )
        trained[name] = plain.fit(data.X, data.y, qid=data.qid).booster
        trained[f"{name} by Adam"] = ours.fit(data.X, data.y, qid=data.qid).booster
    dataset = rr.Dataset(data.X, data.y, qid=data.qid)
    name = f"LambdaMART, {trees} trees"
    trained[name] = rr.train(dataset, num_trees=trees, objective_metric="ndcg")
    rises: dict[str, list[int]] = {}
    print("| | NDCG | distance | rises along | of all, at most |")
    print("| --- | --- | --- | --- | --- |")
    for name, booster in trained.items():
        for distance in DISTANCES:
            found = rr.local_optimum(
                booster,
                data.X,
                data.y,
                qid=data.qid,
                metric="ndcg",
                directions=args.directions,
                distance=distance,
                most_weights=40 if args.figure and distance == DISTANCES[-1] else 0,
            )
            rose = int((found.changes > 0).sum())
            rises.setdefault(name, []).append(rose)
            print(
                f"| {name} | {found.value:.4f} | {distance} | {rose} of {args.directions} | "
                f"{found.bound():.1%} |",
                flush=True,
            )
            if len(found.curves) and name == "two-layer LambdaRank":
                found.plot()[0].figure.savefig(args.figure, dpi=150)
    print("\nWhat held:\n")
    for name, counts in rises.items():
        least = min(counts)
        verdict = "held" if least == 0 else "did not hold"
        at = DISTANCES[counts.index(least)]
        said = f"at distance {at:g}, {least} of {args.directions} directions rise"
        print(f"- {name} ends where NDCG rises along no direction: **{verdict}**: {said}")


if __name__ == "__main__":
    main()
