"""Tables 1 and 2 and Figure 2 of Wu, Burges, Svore and Gao (2008): LambdaMART, McRank and LambdaRank.

Trains the three rankers as the paper has them, and beside them LambdaMART with rustrank's defaults, and
prints NDCG@10, 3 and 1 on the test queries with 95% intervals, beside the paper's figures. With
``--picture``, draws NDCG@10 against the number of trees, where a round of McRank has a tree for each label.

    python examples/papers/mcrank.py [--data polynomial|noisy|FOLDER] [--scale tiny|small|paper]
        [--picture figure2.png] [--study]

The data: ``polynomial`` is the paper's artificial data (Table 1, Figure 2 a), from another polynomial;
``noisy`` has noise added to labels and features, and FOLDER has the five parts of a real set, of which
the first three train, the fourth validates and the fifth tests: both stand for the paper's Web-1 (Table 2,
Figure 2 b). Queries whose documents all have one label are left out, as in the paper.

The rankers, from section 5.2: LambdaMART with lambdas of all pairs, splits by least squares, 10 leaves and
rate 0.1 (``preset="wu2008"``); McRank with 10 leaves and rate 0.05, splits by least squares too; LambdaRank
with one hidden layer of ten units, plain gradient descent at rate 1e-4 and no decay. The number of trees is
that of the best round on the validation queries.

``--study`` asks what decides between LambdaMART and McRank: the number of queries, the number of rounds,
the split criterion.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Iterator

METRICS = ("ndcg@10", "ndcg@3", "ndcg@1")
#: Tables 1 and 2.
PAPER = {
    "polynomial": {
        "λ-MART": ("87.9 (0.16)", "81.7 (0.32)", "79.6 (0.56)"),
        "McRank": ("83.7 (0.19)", "75.6 (0.36)", "72.2 (0.65)"),
        "λ-Rank": ("75.4 (0.25)", "67.8 (0.41)", "65.8 (0.66)"),
    },
    "web": {
        "λ-MART": ("69.3 (0.46)", "62.5 (0.60)", "61.3 (0.81)"),
        "McRank": ("69.7 (0.46)", "62.9 (0.60)", "61.6 (0.81)"),
        "λ-Rank": ("68.6 (0.47)", "61.5 (0.60)", "60.4 (0.82)"),
    },
}
#: Queries for training and for testing, rounds of trees, epochs of LambdaRank.
SCALES = {"tiny": (400, 60, 2), "small": (2000, 400, 40), "paper": (10_000, 1000, 100)}
#: The trees of the paper, and ours beside them.
TREES: dict[str, dict[str, Any]] = {
    "λ-MART": {"preset": "wu2008", "num_leaves": 10},
    "McRank": {
        "objective": "mcrank",
        "criterion": "least_squares",
        "num_leaves": 10,
        "learning_rate": 0.05,
    },
    "our default": {"num_leaves": 10},
}
NET: dict[str, Any] = {
    "hidden": (10,),
    "learning_rate": 1e-4,
    "optimiser": "sgd",
    "schedule": "constant",
    "weight_decay": 0.0,
    "inputs": "plain",
    "pairs_to": None,
}
COLORS = {"λ-MART": "#1f4e79", "McRank": "#c8641e", "our default": "#3a7d44"}
#: What the paper claims of Table 1: each beats the next.
ORDER = ("λ-MART", "McRank", "λ-Rank")

Docs = rr.datasets.Ranking


def with_pairs(docs: Docs) -> Docs:
    """Leave out the queries whose documents all have one label."""
    _, where = np.unique(docs.qid, return_inverse=True)
    lowest, highest = np.full(where.max() + 1, np.inf), np.full(where.max() + 1, -np.inf)
    np.minimum.at(lowest, where, docs.y)
    np.maximum.at(highest, where, docs.y)
    kept = (lowest < highest)[where]
    return replace(docs, X=docs.X[kept], y=docs.y[kept], qid=docs.qid[kept])


def noisy(docs: Docs) -> Docs:
    """Add noise to features and labels: of a tenth of the documents, the label is one off."""
    random = np.random.default_rng(int(docs.qid[0]))
    X = docs.X + random.normal(scale=0.5 * docs.X.std(axis=0), size=docs.X.shape)
    step = random.choice([-1, 0, 1], size=len(docs.y), p=[0.15, 0.7, 0.15])
    return replace(docs, X=X.astype(np.float32), y=np.clip(docs.y + step, 0, 4).astype(np.float32))


def parts_of(data: str, count: int) -> list[Docs]:
    """Return the documents for training, validation and testing."""
    if data in ("polynomial", "noisy"):
        firsts = ((count, 0), (count // 2, count), (count, 2 * count))
        made = [rr.datasets.make_polynomial(n, seed=0, first_query=first) for n, first in firsts]
        return [with_pairs(noisy(docs) if data == "noisy" else docs) for docs in made]
    files = sorted(Path(data).glob("part*.txt*"))
    read = [rr.datasets.read_letor(path) for path in files]
    X, y, qid = (np.concatenate(each) for each in zip(*read[:3], strict=True))
    train = replace(read[0], X=X, y=y, qid=qid)
    return [with_pairs(docs) for docs in (train, *read[3:5])]


def table(scores: dict[str, Any], test: Docs, paper: dict[str, Any]) -> Iterator[str]:
    found = {
        name: rr.evaluate(each, test.y, qid=test.qid, metrics=METRICS)
        for name, each in scores.items()
    }
    yield "| | " + " | ".join(f"{n} | paper's" if n in paper else n for n in scores) + " |"
    yield "| --- |" + " ---: |" * (len(scores) + len(paper))
    for at, metric in enumerate(METRICS):
        cells = []
        for name in scores:
            value = found[name][metric]
            low, high = value.interval
            cells.append(f"{100 * float(value):.1f} ({50 * (high - low):.2f})")
            cells += [paper[name][at]] if name in paper else []
        yield f"| {metric} | " + " | ".join(cells) + " |"
    order = []
    for metric in METRICS:
        values = {name: float(found[name][metric]) for name in ORDER}
        order.append(" > ".join(sorted(values, key=values.__getitem__, reverse=True)))
    yield ""
    yield "order: " + "; ".join(
        f"{metric} {names}" for metric, names in zip(METRICS, order, strict=True)
    )
    yield "\nWhat held:\n"
    for better, worse in pairwise(ORDER):
        yield finding(scores[worse], scores[better], test, f"{better} beats {worse}")
    yield finding(scores["McRank"], scores["our default"], test, "our default beats McRank")


def finding(worse: Any, better: Any, test: Docs, claim: str) -> str:
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


def datasets(parts: list[Docs]) -> list[rr.Dataset]:
    train = rr.Dataset(parts[0].X, parts[0].y, qid=parts[0].qid)
    return [train, *(rr.Dataset(one.X, one.y, qid=one.qid, like=train) for one in parts[1:])]


def trees(sets: list[rr.Dataset], rounds: int, **options: Any) -> rr.Booster:
    """Train so many rounds, and keep those up to the best on the validation queries."""
    return rr.train(
        sets[0],
        num_trees=rounds,
        valid=sets[1],
        early_stopping=rounds,
        **{"preset": None, **options},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="polynomial", help="polynomial, noisy or a folder")
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--queries", type=int, help="for training and for testing")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--epochs", type=int, help="of LambdaRank")
    parser.add_argument("--picture", help="where to draw figure 2: png, svg or pdf")
    parser.add_argument("--study", action="store_true", help="vary queries, rounds and criterion")
    args = parser.parse_args()
    queries, rounds, epochs = SCALES[args.scale]
    count = args.queries or queries
    args.rounds, args.epochs = args.rounds or rounds, args.epochs or epochs
    if args.study:
        study(args.data, count, args.rounds)
        return
    parts = parts_of(args.data, count)
    train, held, test = parts
    sets = datasets(parts)
    scores: dict[str, Any] = {}
    for name, options in TREES.items():
        start = time.process_time()
        booster = trees(sets, args.rounds, **options)
        scores[name] = booster.predict(test.X)
        spent = time.process_time() - start
        print(f"{name}: {booster.num_trees} trees, {spent:.0f} CPU s", flush=True)
    start = time.process_time()
    net = rr.LambdaRank(**NET, epochs=args.epochs, patience=max(5, args.epochs // 10))
    net.fit(train.X, train.y, qid=train.qid, eval_set=(held.X, held.y, held.qid))
    scores["λ-Rank"] = net.predict(test.X)
    print(f"λ-Rank: best epoch {net.best_epoch}, {time.process_time() - start:.0f} CPU s\n")
    paper = PAPER["polynomial" if args.data == "polynomial" else "web"]
    print("\n".join(table(scores, test, paper)))
    if args.picture:
        draw(sets, args)


def study(data: str, count: int, rounds: int) -> None:
    """Print test NDCG@10 of LambdaMART and McRank by queries, rounds and split criterion."""
    print("| queries | rounds | splits | λ-MART | McRank | λ-MART - McRank |")
    print("| ---: | ---: | --- | ---: | ---: | ---: |")
    for queries in (count // 4, count // 2, count):
        parts = parts_of(data, queries)
        sets, test = datasets(parts), parts[2]
        for criterion in ("least_squares", "second_order"):
            made = {
                name: trees(sets, rounds, **{**TREES[name], "criterion": criterion})
                for name in ("λ-MART", "McRank")
            }
            for shown in (rounds // 4, rounds):
                few = {name: one.truncate(min(shown, one.num_rounds)) for name, one in made.items()}
                scores = {name: one.predict(test.X) for name, one in few.items()}
                compared = rr.compare(
                    scores["McRank"], scores["λ-MART"], test.y, qid=test.qid, metrics="ndcg@10"
                )["ndcg@10"]
                low, high = compared.interval
                cells = [f"{float(value):.4f}" for value in (compared.b, compared.a)]
                print(
                    f"| {queries} | {shown} | {criterion} | {' | '.join(cells)} "
                    f"| {compared.difference:+.4f} [{low:+.4f}, {high:+.4f}] |",
                    flush=True,
                )
    print("\nWhat held: the last column above 0 is the paper's order")


def draw(sets: list[rr.Dataset], args: argparse.Namespace) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    # Section 5.4: 20 leaves and steps of 0.15 for both.
    for name, options in TREES.items():
        booster = rr.train(
            sets[0],
            **{**options, "num_leaves": 20, "learning_rate": 0.15, "num_trees": args.rounds},
            valid={"test": sets[2]},
        )
        history = booster.history["test"]["ndcg@10"]
        counts = np.arange(1, len(history) + 1) * (booster.num_trees // booster.num_rounds)
        axes.plot(counts, history, color=COLORS[name], linewidth=1.4, label=name)
        shown = [n for n in (5, 25, 50, 100, 250, 500, 1000, 2500, 5000) if n in counts]
        values = ", ".join(f"{n}: {history[counts.tolist().index(n)]:.4f}" for n in shown)
        print(f"{name} NDCG@10 by trees: {values}")
    axes.set_xscale("log")
    axes.set_xlabel("trees")
    axes.set_ylabel("NDCG@10, test")
    axes.grid(color="0.9", linewidth=0.8)
    axes.legend(frameon=False)
    figure.savefig(args.picture, dpi=150)


if __name__ == "__main__":
    main()
