"""Combinations against a grid and against coordinate ascent, on real folds.

For each set two rankers (LambdaMART and regression trees, fitted on the training part) are combined on
the validation part by an exact sweep, and by the best of the grid that ranx tries: weights 0 to 1 in
steps of 0.1 after division by the spread. Then all features with a ranking of their own are combined
on the training part by coordinate sweeps, and by coordinate ascent with RankLib's steps: each weight
in turn by 0.05, doubled 25 times, either way, until nothing rises by 0.001, the best of five starts.
Values are NDCG@10, the mean of the folds.

``compare_combine.py [--sets MQ2008,OHSUMED] [--folds 1,2]`` prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr
from versus.folds import DATA, SETS, Docs, read_fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Scores = list[NDArray[np.float64]]

METRIC = "ndcg@10"
#: RankLib's coordinate ascent.
STEP, DOUBLED, TOLERANCE, STARTS = 0.05, 25, 0.001, 5
#: Ours take less time each.
RESTARTS = 20


def value(rankers: Scores, weights: NDArray[np.float64], docs: Docs) -> float:
    mixed = np.sum([w * scores for w, scores in zip(weights, rankers, strict=True)], axis=0)
    return float(rr.evaluate(mixed, docs.y, group=docs.group, metrics=METRIC)[METRIC])


def grid(rankers: Scores, docs: Docs) -> NDArray[np.float64]:
    """The best of eleven mixtures of two."""
    scale = [1 / max(float(np.std(scores)), 1e-300) for scores in rankers]
    tried = [np.array([(10 - step) * scale[0], step * scale[1]]) for step in range(11)]
    return max(tried, key=lambda weights: value(rankers, weights, docs))


def ascent(rankers: Scores, docs: Docs, seed: int) -> NDArray[np.float64]:
    """Coordinate ascent with doubled steps."""
    rng = np.random.default_rng(seed)
    starts = [np.full(len(rankers), 1 / len(rankers))]
    starts += [rng.random(len(rankers)) for _ in range(STARTS - 1)]
    found = [_raised(start, rankers, docs, rng) for start in starts]
    return max(found, key=lambda pair: pair[1])[0]


def _raised(
    weights: NDArray[np.float64], rankers: Scores, docs: Docs, rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    best = value(rankers, weights, docs)
    rose = True
    while rose:
        before = best
        for ranker in rng.permutation(len(rankers)):
            weights, best = _stepped(weights, best, ranker, (rankers, docs))
        rose = best > before + TOLERANCE
    return weights, best


def _stepped(
    weights: NDArray[np.float64], best: float, ranker: int, on: tuple[Scores, Docs]
) -> tuple[NDArray[np.float64], float]:
    rankers, docs = on
    rest = np.sum(
        [
            w * scores
            for at, (w, scores) in enumerate(zip(weights, rankers, strict=True))
            if at != ranker
        ],
        axis=0,
    )
    here = weights[ranker]
    chosen = here
    steps = [sign * STEP * 2.0**at for sign in (1, -1) for at in range(DOUBLED)]
    for step in [*steps, -here]:
        mixed = rest + (here + step) * rankers[ranker]
        tried = float(rr.evaluate(mixed, docs.y, group=docs.group, metrics=METRIC)[METRIC])
        if tried > best:
            chosen, best = here + step, tried
    if chosen == here:
        return weights, best
    weights = weights.copy()
    weights[ranker] = chosen
    return weights / np.abs(weights).sum(), best


def two_rankers(train: Docs, others: list[Docs]) -> list[Scores]:
    dataset = rr.Dataset(train.X, train.y, group=train.group)
    options = {"num_trees": 60, "num_leaves": 8, "learning_rate": 0.1}
    made = [
        rr.train(dataset, objective=name, **options)  # type: ignore[arg-type]
        for name in ("lambdamart", "regression")
    ]
    return [[booster.predict(docs.X) for booster in made] for docs in others]


def features(docs: Docs, used: list[int], scale: NDArray[np.float64]) -> Scores:
    columns = np.nan_to_num(docs.X[:, used].astype(float)) / scale
    return list(np.ascontiguousarray(columns.T))


def used_features(docs: Docs, most: int) -> tuple[list[int], NDArray[np.float64]]:
    """The features that rank best alone, either way round."""
    found = []
    for feature in range(docs.X.shape[1]):
        scores = np.nan_to_num(docs.X[:, feature].astype(float))
        if scores.std() > 0:
            one = max(value([scores], np.array([sign]), docs) for sign in (1.0, -1.0))
            found.append((one, -feature))
    used = sorted(-feature for _, feature in sorted(found, reverse=True)[:most])
    return used, np.std(np.nan_to_num(docs.X[:, used].astype(float)), axis=0)


def timed(
    find: Callable[[], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], float]:
    start = time.process_time()
    weights = find()
    return weights, time.process_time() - start


def of_fold(name: str, number: int, data: Path, most: int) -> dict[str, tuple[float, ...]]:
    """Each way's value where it was fitted, on the test part, and its CPU seconds."""
    fold = read_fold(name, number, data)
    found: dict[str, tuple[float, ...]] = {}
    fitted, test = two_rankers(fold.train, [fold.valid, fold.test])
    ways: list[tuple[str, Callable[[], NDArray[np.float64]]]] = [
        ("two, exact", lambda: sweep(fitted, fold.valid, "sweep")),
        ("two, grid of 11", lambda: grid(fitted, fold.valid)),
    ]
    for way, find in ways:
        weights, seconds = timed(find)
        found[way] = value(fitted, weights, fold.valid), value(test, weights, fold.test), seconds
    used, scale = used_features(fold.train, most)
    here, there = (features(docs, used, scale) for docs in (fold.train, fold.test))
    ways = [
        ("features, coordinate sweeps", lambda: sweep(here, fold.train, "coordinate")),
        ("features, Powell", lambda: sweep(here, fold.train, "powell")),
        ("features, ascent", lambda: ascent(here, fold.train, number)),
    ]
    for way, find in ways:
        weights, seconds = timed(find)
        found[way] = value(here, weights, fold.train), value(there, weights, fold.test), seconds
    return found


def sweep(rankers: Scores, docs: Docs, method: str) -> NDArray[np.float64]:
    restarts = 0 if method == "sweep" else RESTARTS
    combiner = rr.Combiner(METRIC, method=method, restarts=restarts, num_threads=1)
    return combiner.fit(rankers, docs.y, group=docs.group).weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", default="1,2,3,4,5")
    parser.add_argument("--features", type=int, default=20, help="features that are combined")
    parser.add_argument("--data", type=Path, default=DATA)
    args = parser.parse_args()
    folds = [int(one) for one in args.folds.split(",")]
    print(
        "| set | rankers, way | fitted | test | CPU s a fold | fitted, worst fold against exact |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name in args.sets.split(","):
        found = [of_fold(name, fold, args.data, args.features) for fold in folds]
        for way in found[0]:
            rows = np.array([one[way] for one in found])
            exact = "two, exact" if way.startswith("two") else "features, coordinate sweeps"
            ahead = np.min([one[exact][0] - one[way][0] for one in found])
            fitted, test, seconds = rows.mean(axis=0)
            print(f"| {name} | {way} | {fitted:.4f} | {test:.4f} | {seconds:.2f} | {ahead:+.4f} |")


if __name__ == "__main__":
    main()
