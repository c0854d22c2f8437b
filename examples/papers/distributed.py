"""Data-distributed boosting: figures 1.4 to 1.6 of Svore and Burges (2011), tried on one machine.

Docs are split by queries among K workers. In each round a worker grows a tree from its own docs alone: each of
them, of which the tree is taken that is best on the docs of the others (full selection), or one that is drawn
(sample selection). What is communicated is a tree, however many docs there are. Here the workers are
parts of one process, since what is asked is how good the rankers become, not how fast: workers of their own
are `rustrank.train`'s business. The paper's feature-distributed LambdaMART gives the model of one machine, byte for
byte, and so has nothing to show here.

    python examples/papers/distributed.py [--scale tiny|small|paper] [--figure figure.png]

The paper's figures have no numbers in print; its findings are printed with what we find.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Docs = rr.datasets.Ranking
METRIC = "ndcg@10"


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    #: Queries of a worker, numbers of workers, queries to choose the round by and to test.
    queries: int
    workers: tuple[int, ...]
    held: int
    docs: int
    rounds: int
    leaves: int
    rate: float


SCALES = {
    "tiny": Scale(25, (1, 4), 150, 15, 30, 6, 0.15),
    "small": Scale(100, (1, 2, 4, 8), 500, 24, 120, 10, 0.1),
    # Section 1.5: 3,500 queries a worker, 14,000 to validate and as many to test, 1000 rounds.
    "paper": Scale(3500, (1, 2, 4, 8, 16, 32), 14_000, 100, 1000, 20, 0.1),
}


class Shard:
    """The docs of a worker, and what they score so far."""

    def __init__(self, docs: Docs, like: rr.Dataset | None = None) -> None:
        self.docs = docs
        self.like = like or rr.Dataset(docs.X, docs.y, qid=docs.qid)
        self.scores = np.zeros(len(docs.y))

    def tree(self, scale: Scale, seed: int) -> rr.Booster:
        """Grow a tree on top of the scores."""
        docs = self.docs
        data = rr.Dataset(docs.X, docs.y, qid=docs.qid, base_score=self.scores, like=self.like)
        return rr.train(
            data,
            num_trees=1,
            num_leaves=scale.leaves,
            learning_rate=scale.rate,
            seed=seed,
            noise_copies=2,
        )

    def value(self, more: NDArray[np.float64]) -> tuple[float, int]:
        """Return the metric with the scores of one more tree, and the number of queries."""
        found = rr.evaluate(self.scores + more, self.docs.y, qid=self.docs.qid, metrics=METRIC)
        return float(found[METRIC]), found[METRIC].num_queries


def selected(shards: Sequence[Shard], scale: Scale, number: int, full: bool) -> rr.Booster:
    """Return the tree of a round."""
    drawn = int(np.random.default_rng([5, number]).integers(len(shards)))
    if not full or len(shards) == 1:
        return shards[drawn].tree(scale, number)
    trees = [shard.tree(scale, number) for shard in shards]
    scores = [[tree.score(shard.docs.X) for shard in shards] for tree in trees]
    values = []
    for worker, of_tree in enumerate(scores):
        others = [
            shard.value(more)
            for at, (shard, more) in enumerate(zip(shards, of_tree, strict=True))
            if at != worker
        ]
        values.append(np.average([one for one, _ in others], weights=[n for _, n in others]))
    return trees[int(np.argmax(values))]


def boosted(shards: list[Docs], full: bool, scale: Scale, held: Docs, test: Docs) -> Any:
    """Boost with a tree of a worker a round; return the test scores of the best round."""
    first = Shard(shards[0])
    workers = [first, *(Shard(docs, first.like) for docs in shards[1:])]
    sets = [Shard(held, first.like), Shard(test, first.like)]
    best, kept = -1.0, sets[1].scores
    for number in range(scale.rounds):
        tree = selected(workers, scale, number, full)
        for one in (*workers, *sets):
            one.scores = one.scores + tree.score(one.docs.X)
        value, _ = sets[0].value(np.zeros(len(held.y)))
        if value > best:
            best, kept = value, sets[1].scores
    return kept


def central(docs: Docs, scale: Scale, held: Docs, test: Docs) -> Any:
    """Train on one machine that has all docs."""
    data = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    valid = rr.Dataset(held.X, held.y, qid=held.qid, like=data)
    booster = rr.train(
        data,
        num_trees=scale.rounds,
        num_leaves=scale.leaves,
        noise_copies=2,
        learning_rate=scale.rate,
        valid=valid,
        early_stopping=scale.rounds,
    )
    return booster.score(test.X)


def joined(parts: Sequence[Docs]) -> Docs:
    X, y, qid = (np.concatenate(one) for one in zip(*parts, strict=True))
    return Docs(X, y, qid, parts[0].feature_names)


def rotated(parts: list[Docs], each: int) -> list[Docs]:
    """Give each worker its own part and the next ones."""
    return [
        joined([parts[(at + step) % len(parts)] for step in range(each)])
        for at in range(len(parts))
    ]


class Tested:
    """Test scores by the name of what was trained."""

    def __init__(self, test: Docs) -> None:
        self.test = test
        self.scores: dict[str, Any] = {}

    def value(self, name: str) -> rr.MetricValue:
        """Return the metric on the test queries."""
        found = rr.evaluate(self.scores[name], self.test.y, qid=self.test.qid, metrics=METRIC)
        return found[METRIC]

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return by how much the second is better, and the p-value."""
        a, b = self.scores[first], self.scores[second]
        found = rr.compare(a, b, self.test.y, qid=self.test.qid, metrics=METRIC)[METRIC]
        return found.difference, found.p_randomisation


def findings(tested: Tested, scale: Scale) -> list[str]:
    most = scale.workers[-1]
    few, many = "one worker", f"K = {most}"
    lines = []

    def judged(claim: str, pairs: list[tuple[str, str]], better: bool) -> None:
        found = [tested.difference(*pair) for pair in pairs]
        if better:
            held = all(difference > 0 and p < 0.05 for difference, p in found)
            wrong = any(difference < 0 and p < 0.05 for difference, p in found)
        else:
            held = not any(p < 0.05 for _, p in found)
            wrong = not held
        verdict = "held" if held else "did not hold" if wrong else "not clear"
        said = ", ".join(f"{difference:+.4f} (p {p:.4f})" for difference, p in found)
        lines.append(f"- {claim}: **{verdict}**: {said}")

    both = ("full", "sample")
    judged(f"more workers with as many queries each help: {many} against 1 (figure 1.4)",
           [(few, f"{how}, {many}") for how in both], True)  # fmt: skip
    judged("full and sample selection are alike (figures 1.4 to 1.6)",
           [(f"full, {many}", f"sample, {many}")], False)  # fmt: skip
    judged("one machine with all the docs is better (figure 1.4 d)",
           [(f"{how}, {many}", f"central, {many}") for how in both], True)  # fmt: skip
    judged("shards that overlap are better than those that do not (figure 1.5)",
           [(f"{how}, {many}", f"{how}, overlapping, {many}") for how in both], True)  # fmt: skip
    judged("shards of 75% each are as good as all on one machine (section 1.5.5)",
           [(f"central, {many}", "sample, 75% each")], False)  # fmt: skip
    return lines


def draw(tested: Tested, scale: Scale, path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for kind, mark in (
        ("full", "o-"),
        ("sample", "s--"),
        ("full, overlapping", "^-"),
        ("sample, overlapping", "v--"),
        ("central", "D:"),
    ):
        known = [K for K in scale.workers if f"{kind}, K = {K}" in tested.scores]
        values = [float(tested.value(f"{kind}, K = {K}")) for K in known]
        axes.plot(known, values, mark, label=kind, markersize=5)
    axes.set_xscale("log", base=2)
    axes.set_xticks(scale.workers, [str(K) for K in scale.workers])
    axes.set_xlabel(f"workers, {scale.queries:,} queries each")
    axes.set_ylabel(f"{METRIC.upper()}, test")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--figure", metavar="FILE", help="where to draw figures 1.4 and 1.5")
    args = parser.parse_args()
    # Parts have features of one value.
    warnings.simplefilter("ignore", rr.RustrankWarning)
    scale, start = SCALES[args.scale], time.monotonic()

    def some(queries: int, first: int) -> Docs:
        return rr.datasets.make_web(queries, scale.docs, seed=21, first_query=first)

    most = scale.workers[-1]
    parts = [some(scale.queries, at * scale.queries) for at in range(most)]
    held, test = (some(scale.held, 10**6 * (at + 1)) for at in range(2))
    tested = Tested(test)
    tested.scores["one worker"] = boosted(parts[:1], False, scale, held, test)
    for workers in scale.workers[1:]:
        mine = parts[:workers]
        name = f"K = {workers}"
        tested.scores[f"central, {name}"] = central(joined(mine), scale, held, test)
        for how in ("full", "sample"):
            full = how == "full"
            tested.scores[f"{how}, {name}"] = boosted(mine, full, scale, held, test)
            shards = rotated(mine, 2)
            tested.scores[f"{how}, overlapping, {name}"] = boosted(shards, full, scale, held, test)
    three = rotated(parts, max(1, round(0.75 * most)))
    tested.scores["sample, 75% each"] = boosted(three, False, scale, held, test)
    print(f"{METRIC}, {scale.queries:,} queries a worker, {scale.held:,} test queries\n")
    print("| trained | value | 95% interval |\n| --- | ---: | ---: |")
    for name in tested.scores:
        low, high = tested.value(name).interval
        print(f"| {name} | {float(tested.value(name)):.4f} | {low:.4f} to {high:.4f} |")
    print("\nWhat held:\n\n" + "\n".join(findings(tested, scale)))
    if args.figure:
        draw(tested, scale, args.figure)
    print(f"\n{time.monotonic() - start:.0f} s at scale {args.scale}")


if __name__ == "__main__":
    main()
