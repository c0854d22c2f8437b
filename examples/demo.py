"""A tour on artificial data: rankers trained, measured, compared, combined, adapted; ends with pages.

Usage: python examples/demo.py [folder]      (default folder: demo)
"""

from __future__ import annotations

import html
import sys
import time
import warnings
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RECIPES = ["target", "trees", "interpolate", "refit"]
QUERIES = 400
SHUFFLES = 120


def line_through(train: rr.datasets.Ranking, X: NDArray[Any]) -> Floats:
    """Score by a least-squares line through the gains: the plainest learned ranker there is."""

    def tamed(raw: NDArray[Any]) -> Floats:
        known = np.nan_to_num(raw.astype(np.float64))
        return np.asarray(np.sign(known) * np.log1p(np.abs(known)))

    known = tamed(train.X)
    mean, scale = known.mean(axis=0), known.std(axis=0) + 1e-9
    known = (known - mean) / scale
    normal = known.T @ known + np.eye(known.shape[1])
    weights = np.linalg.solve(normal, known.T @ (2.0**train.y - 1))
    return np.asarray((tamed(X) - mean) / scale @ weights)


class Facts:
    """What was done, and how long it took; printed as it happens, and kept for the page."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def timed(self, what: str, do: Callable[[], Any]) -> Any:
        """Do something and tell how long it took."""
        start = time.perf_counter()
        result = do()
        took = f"{1000 * (time.perf_counter() - start):.0f} ms"
        self.told.append((took, what))
        print(f"  {took:>8}  {what}")
        return result


def curves(combiner: rr.Combiner) -> str:
    """Draw the metric over all mixtures, where it was fitted and on held-out queries."""
    fitted, held_out = combiner.curve, combiner.held_out_curve
    if fitted is None or held_out is None or combiner.interval is None:
        return ""
    low = min(fitted.value.min(), held_out.value.min())
    high = max(fitted.value.max(), held_out.value.max())
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)

    def path(curve: rr.Curve, side: str) -> str:
        steps = (
            f"L{start:.5f} {high - value:.5f}L{end:.5f} {high - value:.5f}"
            for start, end, value in zip(curve.start, curve.end, curve.value, strict=True)
        )
        return f'<path class="{side}" d="M{"".join(steps)[1:]}"/>'

    left, right = combiner.interval
    return (
        f'<svg class="curve" viewBox="0 0 1 {high - low:.5f}" preserveAspectRatio="none" role="img" '
        f'aria-label="NDCG@10 of all mixtures"><rect class="chosen" x="{left:.5f}" y="0" '
        f'width="{max(right - left, 0.002):.5f}" height="{high - low:.5f}"/>'
        f"{path(fitted, 'fitted')}{path(held_out, 'held')}</svg>"
        f'<div class="ends"><span>{combiner.names[0]} alone</span>'
        f"<span>NDCG@10 {low:.3f} to {high:.3f}</span><span>{combiner.names[1]} alone</span></div>"
    )


def strip(by_rows: Floats, expected: float) -> tuple[str, str]:
    """Draw what shuffling the rows does under both tie rules."""
    low, high = by_rows.min(), by_rows.max()
    left, width = low - 0.06 * (high - low), 1.12 * (high - low)
    dots = [
        f'<i style="left:{100 * (value - left) / width:.2f}%;top:{6 + 46 * (at * 0.618 % 1):.0f}px" '
        f'title="ties by row order, shuffle {at + 1}: {value:.6f}"></i>'
        for at, value in enumerate(by_rows)
    ]
    line = f'<u style="left:{100 * (expected - left) / width:.2f}%" title="{expected:.6f}"></u>'
    ends = f"<span>{left:.4f}</span><span>NDCG@10</span><span>{left + width:.4f}</span>"
    return "".join(dots) + line, ends


def page(
    combiner: rr.Combiner,
    adaptation: rr.Adaptation,
    shuffled: tuple[Floats, float],
    facts: Facts,
) -> str:
    """Fill the first page."""
    dots, ends = strip(*shuffled)
    spread = shuffled[0].max() - shuffled[0].min()
    template = Path(__file__).with_suffix(".html").read_text("utf-8")
    return Template(template).substitute(
        curves=curves(combiner),
        mixture=" + ".join(
            f"{weight:.3f} times {html.escape(name)}"
            for name, weight in zip(combiner.names, combiner.weights, strict=True)
        ),
        best=html.escape(adaptation.best),
        adapted="".join(f"<li>{html.escape(one)}.</li>" for one in adaptation.statements),
        ties=(
            f"A ranker with few distinct scores leaves many docs tied. Tools that keep the order of rows "
            f"give another NDCG@10 for each order of the same file: {len(shuffled[0])} shuffles, the "
            f"dots, spread over {spread:.4f}. rustrank takes the expectation over the orders of "
            f"tied docs: the line, the same bits for every shuffle."
        ),
        strip=dots,
        strip_ends=ends,
        facts="".join(
            f"<li><b>{took}</b> <small>{html.escape(what)}</small></li>"
            for took, what in facts.told
        ),
        version=rr.__version__,
    )


def shuffles(scores: Floats, y: Any, qid: Any) -> tuple[Floats, set[tuple[float, float, float]]]:
    """Evaluate shuffled rows: NDCG@10 by row order, and all that is said with ties expected."""
    rng = np.random.default_rng(0)
    by_rows: list[float] = []
    expected: set[tuple[float, float, float]] = set()
    for _ in range(SHUFFLES):
        order = rng.permutation(len(y))
        rows = (scores[order], y[order])
        by_rows.append(float(rr.evaluate(*rows, qid=qid[order], ties="rows")["ndcg@10"]))
        value = rr.evaluate(*rows, qid=qid[order])["ndcg@10"]
        expected.add((float(value), *value.interval))
    return np.array(by_rows, np.float64), expected


def trained(facts: Facts, train: rr.datasets.Ranking, valid: rr.datasets.Ranking) -> rr.Booster:
    """Train a ranker, with early stopping."""
    dataset = facts.timed(
        f"check and bin {train.X.shape[0]:,} docs of {train.X.shape[1]} features",
        lambda: rr.Dataset(
            train.X, train.y, qid=train.qid, feature_names=list(train.feature_names)
        ),
    )
    watched = rr.Dataset(valid.X, valid.y, qid=valid.qid, like=dataset)
    print(f"            {dataset!r}")
    made: rr.Booster = facts.timed(
        "train LambdaMART with early stopping",
        lambda: rr.train(dataset, num_trees=300, valid=watched, early_stopping=30),
    )
    return made


def adapted(facts: Facts, folder: Path) -> rr.Adaptation:
    """Adapt a ranker to a market with little data, and judge the result on a later time."""
    markets = facts.timed(
        "make a large market, and one with 60 judged queries",
        lambda: rr.datasets.make_domains(num_background=600, num_target=60, seed=0),
    )
    there = markets.background
    base = facts.timed(
        f"train on the large market's {len(there.y):,} docs",
        lambda: rr.train(
            rr.Dataset(there.X, there.y, qid=there.qid, feature_names=list(there.feature_names)),
            num_trees=150,
        ),
    )
    found: rr.Adaptation = facts.timed(
        f"adapt it to the other by {len(RECIPES)} recipes, each chosen by cross-validation",
        lambda: rr.adapt(
            base,
            markets.target,
            valid_closed=markets.valid_closed,
            valid_open=markets.valid_open,
            recipes=RECIPES,
            trees={"num_trees": 100},
        ),
    )
    found.booster.save(folder / "adapted.rrk")
    X, y, qid = markets.test_open
    facts.timed(
        f"report on all {len(found.boosters)} rankers, on {len(y):,} docs of a later time",
        lambda: rr.report(
            found.boosters,
            y,
            X=X,
            qid=qid,
            path=folder / "adapted.html",
            title="A ranker adapted to another market",
        ),
    )
    return found


def main(arguments: Sequence[str]) -> int:
    folder = Path(arguments[0] if arguments else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    # Real data have constant features, and so have these: no news here.
    warnings.filterwarnings("ignore", category=rr.RustrankWarning, message=".* features have one")
    facts = Facts()
    print("A tour of rustrank\n")
    train, valid, test = facts.timed(
        f"make 3 x {QUERIES} artificial web queries",
        lambda: [
            rr.datasets.make_web(QUERIES, seed=1, first_query=at * QUERIES) for at in range(3)
        ],
    )
    X, y, qid = test
    booster = trained(facts, train, valid)
    booster.save(folder / "web.rrk")
    learned = facts.timed(f"score {X.shape[0]:,} docs", lambda: booster.predict(X))
    line = line_through(train, X)
    combiner = facts.timed(
        "find the best of all mixtures of two rankers",
        lambda: rr.Combiner("ndcg@10").fit(
            {"LambdaMART": booster.predict(valid.X), "linear model": line_through(train, valid.X)},
            valid.y,
            qid=valid.qid,
            valid={"rankers": [learned, line], "y": y, "qid": qid},
        ),
    )
    bm25 = X[:, test.feature_names.index("whole_bm25")].astype(np.float64)
    rankers = {
        "linear model": line,
        "BM25": bm25,
        "LambdaMART": booster,
        "best mixture": combiner.predict([learned, line]),
    }
    made = facts.timed(
        f"report on {len(rankers)} rankers: metrics, tests, won and lost queries, and why",
        lambda: rr.report(
            rankers,
            y,
            X=X,
            qid=qid,
            path=folder / "report.html",
            title="Four rankers of artificial web docs",
        ),
    )
    adaptation = adapted(facts, folder)
    tied = np.round(bm25 / 12)
    by_rows, expected = facts.timed(
        f"evaluate {2 * SHUFFLES} shuffles of the rows", lambda: shuffles(tied, y, qid)
    )

    print(f"\n{made.comparisons['linear model', 'LambdaMART']}\n")
    print(f"{combiner}\n")
    print(f"{adaptation}\n")
    spread = by_rows.max() - by_rows.min()
    print(f"{SHUFFLES} shuffles of tied docs: by row order NDCG@10 moves by {spread:.4f},")
    print(f"by expectation its values and intervals have {len(expected)} set of bits\n")

    target = folder / "index.html"
    text = page(combiner, adaptation, (by_rows, next(iter(expected))[0]), facts)
    target.write_text(text, encoding="utf-8")
    print(f"Look at {target}")
    return 0 if len(expected) == 1 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
