"""NDCG and a second label on real folds: the Pareto front, and guards that keep NDCG from falling.

    python examples/several_metrics.py ../shared/data/MQ2007-85pct --feature 41 --name pagerank

One feature (counted from 1, as in LETOR text) becomes the second label and is no feature any more. Each
fold trains on three parts, stops early on one and is tested on one. The table has means over the test
queries of all folds; the difference of NDCG@10 to the model without a guard has its 95% interval.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
FALLS = (0.0, 0.005, 0.01, 0.02, 0.05)
OPTIONS: dict[str, Any] = {
    "preset": "noisy",
    "num_leaves": 16,
    "learning_rate": 0.05,
    "num_trees": 200,
}


class Values(NamedTuple):
    """Both metrics of each test query."""

    ndcg: NDArray[np.float64]
    other: NDArray[np.float64]


def part(
    parts: list[rr.datasets.Ranking], numbers: list[int], feature: int, name: str, like: Any
) -> rr.Dataset:
    """Return some parts as one data set, with one feature as a label."""
    X = np.concatenate([parts[at].X for at in numbers])
    label = X[:, feature] - min(0.0, X[:, feature].min())
    if label.max() > 100:
        label = np.log1p(label)
    return rr.Dataset(
        np.delete(X, feature, 1),
        np.concatenate([parts[at].y for at in numbers]),
        qid=np.concatenate([[f"{at}:{one}" for one in parts[at].qid] for at in numbers]),
        extra_labels={name: label},
        **({"query_ranks": True} if like is None else {"like": like}),
    )


def fold(sets: tuple[rr.Dataset, ...], name: str) -> dict[str, Values]:
    """Train all models of a fold; return what they reach on its test queries."""
    train, valid, test = sets
    metrics = ["ndcg@10", f"{name}@10"]

    def tested(booster: rr.Booster) -> Values:
        found = booster.evaluate(test, metrics)
        return Values(*(found[metric].per_query for metric in metrics))

    front = rr.pareto_front(
        train, metrics, valid=valid, shares=SHARES, early_stopping=40, **OPTIONS
    )
    made = {f"share {point.share:g}": tested(point.booster) for point in front.points}
    base = front.points[0].booster
    for fall in FALLS:
        booster = rr.train(
            train,
            valid=valid,
            base=base,
            metric={metrics[1]: 1},
            guard={metrics[0]: fall},
            **OPTIONS,
        )
        for dataset in (train, valid):
            now, before = (one.evaluate(dataset)["ndcg@10"] for one in (booster, base))
            if now < before - fall - 1e-12:
                raise AssertionError(f"the guard of {fall} does not hold: {before} to {now}")
        made[f"guard {fall:g}"] = tested(booster)
    return made


def draw(rows: dict[str, tuple[float, float]], name: str, path: Path) -> None:
    """Draw both metrics of all models."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "rustrank"
    _, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    looks = {
        "share": ("o-", f"weighted sum, by the weight of {name}@10", (-6, -10), "right"),
        "guard": ("s", "guard on NDCG@10, by how far it may fall", (7, 1), "left"),
    }
    for kind, (look, label, offset, side) in looks.items():
        points = {key.split()[1]: value for key, value in rows.items() if key.startswith(kind)}
        (line,) = axes.plot(*np.array(list(points.values())).T, look, label=label)
        how: dict[str, Any] = {
            "textcoords": "offset points",
            "fontsize": "small",
            "color": line.get_color(),
        }
        before = (0.0, 0.0)
        for text, place in points.items():
            # Beside one that is near, on its other side.
            is_near = side == "right" and np.hypot(*np.subtract(place, before)) < 0.02
            where, aligned = ((7, -3), "left") if is_near else (offset, side)
            axes.annotate(text, place, xytext=where, ha=aligned, **how)
            before = (9.0, 9.0) if is_near else place
    axes.margins(x=0.1)
    axes.set(xlabel="NDCG@10 on test queries", ylabel=f"{name}@10 on test queries")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    plt.savefig(path, metadata={"Date": None})


def main() -> None:
    """Train on all folds, print the table and draw the front."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the five parts as LETOR text")
    parser.add_argument("--feature", type=int, required=True, help="the second label, from 1")
    parser.add_argument("--name", default="other", help="what the second label is called")
    parser.add_argument("--out", type=Path, help="where to draw the front")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = [rr.datasets.read_letor(file) for file in sorted(given.folder.iterdir())]
    pooled: dict[str, list[Values]] = {}
    for test in range(len(parts)):
        valid = (test - 1) % len(parts)
        rest = [at for at in range(len(parts)) if at not in (test, valid)]
        train = part(parts, rest, given.feature - 1, given.name, None)
        others = [part(parts, [at], given.feature - 1, given.name, train) for at in (valid, test)]
        for key, values in fold((train, *others), given.name).items():
            pooled.setdefault(key, []).append(values)
    rows, start = {}, np.concatenate([one.ndcg for one in pooled["share 0"]])
    print(
        f"| model | NDCG@10 | {given.name}@10 | NDCG@10, difference to share 0 |\n| --- | ---: | ---: | ---: |"
    )
    for key, several in pooled.items():
        ndcg, other = (np.concatenate(column) for column in zip(*several, strict=True))
        rows[key] = (float(np.nanmean(ndcg)), float(np.nanmean(other)))
        change = (ndcg - start)[~np.isnan(ndcg)]
        half = 1.96 * change.std() / len(change) ** 0.5
        print(
            f"| {key} | {rows[key][0]:.4f} | {rows[key][1]:.4f} | {change.mean():+.4f} ± {half:.4f} |"
        )
    if given.out is not None:
        draw(rows, given.name, given.out)


if __name__ == "__main__":
    main()
