"""``compare.py polynomial``: the first paper's artificial data at its settings.

10,000 queries to train on, 5,000 to validate, 10,000 to test, 50 docs and 50 features each, labels
without noise; 1000 trees of 10 leaves at rate 0.1. NDCG at 1, 3 and 10 after all trees and at the
best round by validation, ours and LightGBM's, exact, ties by expectation.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from versus.process import machine, say
from versus.variants import add_variants, chosen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from numpy.typing import NDArray

METRICS = ("ndcg@1", "ndcg@3", "ndcg@10")


@dataclass(frozen=True, eq=False)
class Sets:
    """The three sets of one polynomial."""

    train: rr.datasets.Ranking
    valid: rr.datasets.Ranking
    test: rr.datasets.Ranking


@dataclass(frozen=True, eq=False)
class Trained:
    """Scores of the test docs after all rounds and at the best one."""

    label: str
    best: int
    cpu: float
    last_scores: NDArray[np.float64]
    best_scores: NDArray[np.float64]


def make_sets(size: float, seed: int) -> Sets:
    train, valid, test = (max(1, round(queries * size)) for queries in (10_000, 5_000, 10_000))
    return Sets(
        rr.datasets.make_polynomial(train, seed=seed),
        rr.datasets.make_polynomial(valid, seed=seed, first_query=train),
        rr.datasets.make_polynomial(test, seed=seed, first_query=train + valid),
    )


def judge(scores: Any, ranking: rr.datasets.Ranking, threads: int) -> rr.Evaluation:
    return rr.evaluate(
        np.asarray(scores, np.float64),
        ranking.y,
        group=ranking.group,
        metrics=METRICS,
        num_threads=threads,
    )


def lightgbm(sets: Sets, args: argparse.Namespace) -> Trained:
    import lightgbm as lgb

    params = {
        "objective": "lambdarank",
        "num_leaves": args.leaves,
        "learning_rate": args.rate,
        "metric": "none",
        "num_threads": args.threads,
        "verbose": -1,
    }
    cpu = time.process_time()
    train = lgb.Dataset(sets.train.X, sets.train.y, group=sets.train.group, params=params)
    valid = train.create_valid(sets.valid.X, sets.valid.y, group=sets.valid.group)
    curve: dict[str, Any] = {}

    def ndcg(scores: NDArray[np.float64], _: object) -> tuple[str, float, bool]:
        return "ndcg@10", float(judge(scores, sets.valid, args.threads)["ndcg@10"]), True

    booster = lgb.train(
        params,
        train,
        args.trees,
        valid_sets=[valid],
        feval=ndcg,
        callbacks=[lgb.record_evaluation(curve)],
    )
    best = int(np.argmax(curve["valid_0"]["ndcg@10"])) + 1
    return Trained(
        "LightGBM",
        best,
        time.process_time() - cpu,
        np.asarray(booster.predict(sets.test.X), np.float64),
        np.asarray(booster.predict(sets.test.X, num_iteration=best), np.float64),
    )


def rustrank(sets: Sets, args: argparse.Namespace, label: str, more: dict[str, Any]) -> Trained:
    cpu = time.process_time()
    train = rr.Dataset(sets.train.X, sets.train.y, qid=sets.train.qid, num_threads=args.threads)
    valid = rr.Dataset(
        sets.valid.X, sets.valid.y, qid=sets.valid.qid, like=train, num_threads=args.threads
    )
    params = {
        "objective": "lambdamart",
        "metric": "ndcg@10",
        "num_trees": args.trees,
        "num_leaves": args.leaves,
        "learning_rate": args.rate,
        "num_threads": args.threads,
        **more,
    }
    booster = rr.train(train, valid=valid, **params)
    best = int(np.argmax(booster.history["valid"]["ndcg@10"])) + 1
    return Trained(
        label,
        best,
        time.process_time() - cpu,
        booster.predict(sets.test.X, num_threads=args.threads),
        booster.truncate(best).predict(sets.test.X, num_threads=args.threads),
    )


def difference(ours: rr.MetricValue, peer: rr.MetricValue) -> str:
    """Return by how much ours is better, with the standard error over paired queries."""
    pairs = ours.per_query - peer.per_query
    pairs = pairs[~np.isnan(pairs)]
    return f"{float(ours) - float(peer):+.4f} ± {np.std(pairs, ddof=1) / math.sqrt(len(pairs)):.4f}"


def rows(
    trained: Trained, sets: Sets, peers: dict[str, rr.Evaluation], threads: int
) -> tuple[list[str], bool]:
    """Return the rows of one tool, and whether it is nowhere below the peer.

    The first tool is the peer: ``peers`` keeps its figures.
    """
    lines, above = [], True
    for end, rounds, scores in (
        ("all", "all", trained.last_scores),
        ("best", f"best ({trained.best})", trained.best_scores),
    ):
        result = judge(scores, sets.test, threads)
        peer = peers.setdefault(end, result)
        cells = [f"{result[metric]:.4f}" for metric in METRICS]
        if peer is not result:
            cells += [difference(result[metric], peer[metric]) for metric in METRICS]
            above &= all(float(result[metric]) >= float(peer[metric]) for metric in METRICS)
        else:
            cells += [""] * len(METRICS)
        lines.append(f"| {trained.label} | {rounds} | " + " | ".join(cells) + " |")
    return lines, above


def polynomial(args: argparse.Namespace) -> bool:
    """Print the table; true if the first row of ours is nowhere below LightGBM's."""
    sets = make_sets(args.size, args.seed)
    runs: list[Callable[[], Trained]] = [partial(lightgbm, sets, args)]
    runs += [partial(rustrank, sets, args, one.label, one.params) for one in chosen(args)]
    lines: list[str] = []
    peers: dict[str, rr.Evaluation] = {}
    passed = []
    for run in runs:
        trained = run()
        say(f"{trained.label}: {trained.cpu:.0f} s of CPU, best round {trained.best}")
        found, above = rows(trained, sets, peers, args.threads)
        lines += found
        passed.append(above)
    print(
        f"make_polynomial, size {args.size:g}, {args.trees} trees of {args.leaves} leaves, "
        f"rate {args.rate:g}; {machine('lightgbm')}\n"
    )
    print("| tool | rounds | " + " | ".join(METRICS) + " |" + " above LightGBM |" * len(METRICS))
    print("| --- | --- |" + " ---: |" * (2 * len(METRICS)), *lines, sep="\n")
    return len(passed) > 1 and passed[1]


def add_polynomial(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=float, default=1.0, help="a factor on all queries")
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=10)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1, help="of the polynomial and its docs")
    parser.add_argument("--threads", type=int, default=1)
    add_variants(parser)
