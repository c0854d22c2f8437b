"""A tour on artificial web data: rankers trained, measured, compared, combined; ends with a page.

Usage: python examples/demo.py [folder]      (default folder: demo)
"""

from __future__ import annotations

import html
import math
import sys
import time
import warnings
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METRICS = ["ndcg@10", "err@10", "map", "mrr", "precision@10", "pairwise"]
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


def panel(metric: str, values: Sequence[rr.MetricValue]) -> str:
    """Draw one metric: a dot and an interval for each ranker, on one scale."""
    low = math.floor(10 * min(value.interval[0] for value in values)) / 10
    high = math.ceil(10 * max(value.interval[1] for value in values)) / 10

    def at(value: float) -> float:
        return 100 * (value - low) / (high - low)

    rows = []
    for number, value in enumerate(values):
        left, right = map(at, value.interval)
        rows.append(
            f'<div class="row c{number}" title="{value:.4f}, 95% interval '
            f'{value.interval[0]:.4f} to {value.interval[1]:.4f}"><div class="track">'
            f'<span style="left:{left:.2f}%;width:{right - left:.2f}%"></span>'
            f'<u style="left:{at(value):.2f}%"></u></div><b>{value:.4f}</b></div>'
        )
    ends = f'<div class="ends"><span>{low:.1f}</span><span>{high:.1f}</span></div>'
    return f'<div class="card"><h3>{metric}</h3>{"".join(rows)}{ends}</div>'


def fall(compared: rr.MetricComparison) -> str:
    """Draw the difference of every query, best first."""
    order = np.argsort(-compared.per_query, kind="stable")
    order = order[~np.isnan(compared.per_query[order])]
    parts = []
    for at, (query, value) in enumerate(
        zip(compared.query_ids[order], compared.per_query[order], strict=True)
    ):
        side = "up" if value > 0 else "down" if value < 0 else "tied"
        parts.append(
            f'<rect class="{side}" x="{at}" width="1.02" y="{-max(value, 0):.4f}" '
            f'height="{abs(value):.4f}"><title>query {query}: {value:+.4f}</title></rect>'
        )
    top, bottom = compared.per_query[order][[0, -1]]
    box = f"0 {-top:.4f} {len(order)} {top - bottom:.4f}"
    zero = f'<line class="zero" x1="0" x2="{len(order)}" y1="0" y2="0"/>'
    return (
        f'<svg class="fall" viewBox="{box}" preserveAspectRatio="none" role="img" '
        f'aria-label="difference of every query">{"".join(parts)}{zero}</svg>'
    )


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
        f'<div class="ends" style="margin:0"><span>{combiner.names[0]} alone</span>'
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
    results: Mapping[str, rr.Evaluation],
    compared: rr.Comparison,
    combiner: rr.Combiner,
    shuffled: tuple[Floats, float],
    facts: Facts,
    data: str,
) -> str:
    """Fill the page."""
    names = [html.escape(name) for name in results]
    one = compared["ndcg@10"]
    base, best = map(html.escape, one.names)
    dots, ends = strip(*shuffled)
    spread = shuffled[0].max() - shuffled[0].min()
    template = Path(__file__).with_suffix(".html").read_text("utf-8")
    return Template(template).substitute(
        data=data,
        key="".join(
            f'<span><i class="c{number}"></i>{name}</span>' for number, name in enumerate(names)
        ),
        panels="".join(
            panel(metric, [result[metric] for result in results.values()]) for metric in METRICS
        ),
        base=base,
        best=best,
        wins=f"{best} is better for <b>{one.wins}</b> queries",
        losses=f"{base} for <b>{one.losses}</b>",
        fall=fall(one),
        curves=curves(combiner),
        mixture=" + ".join(
            f"{weight:.3f} times {html.escape(name)}"
            for name, weight in zip(combiner.names, combiner.weights, strict=True)
        ),
        table=compared._repr_html_().split("</table>")[0] + "</table>",
        statement=html.escape(one.statement),
        ties=(
            f"A ranker with few distinct scores leaves many docs tied. Tools that keep the order of rows "
            f"give another NDCG@10 for each order of the same file: {len(shuffled[0])} shuffles, the "
            f"dots, spread over {spread:.4f}. rustrank takes the expectation over the orders of "
            f"tied docs: the line, the same bits for every shuffle."
        ),
        strip=dots,
        strip_ends=ends,
        facts="".join(
            f'<div class="card"><b>{took}</b><small>{html.escape(what)}</small></div>'
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
    dataset = facts.timed(
        f"check and bin {train.X.shape[0]:,} docs of {X.shape[1]} features",
        lambda: rr.Dataset(train.X, train.y, qid=train.qid),
    )
    watched = rr.Dataset(valid.X, valid.y, qid=valid.qid, like=dataset)
    booster = facts.timed(
        "train LambdaMART with early stopping",
        lambda: rr.train(dataset, num_trees=300, valid=watched, early_stopping=30),
    )
    learned = facts.timed(f"score {X.shape[0]:,} docs", lambda: booster.score(X))
    line = line_through(train, X)
    combiner = facts.timed(
        "find the best of all mixtures of two rankers",
        lambda: rr.Combiner("ndcg@10").fit(
            {"LambdaMART": booster.score(valid.X), "linear model": line_through(train, valid.X)},
            valid.y,
            qid=valid.qid,
            valid={"rankers": [learned, line], "y": y, "qid": qid},
        ),
    )
    column = {name: at for at, name in enumerate(test.feature_names)}
    rankers = {
        "BM25": X[:, column["whole_bm25"]].astype(np.float64),
        "linear model": line,
        "LambdaMART": learned,
        "best mixture": combiner.score([learned, line]),
    }

    def evaluated() -> dict[str, rr.Evaluation]:
        results = {name: rr.evaluate(s, y, qid=qid, metrics=METRICS) for name, s in rankers.items()}
        for result in results.values():
            result.to_dict()
        return results

    results = facts.timed(
        f"evaluate {len(rankers)} rankers by {len(METRICS)} metrics, with intervals", evaluated
    )
    base, best = "linear model", "LambdaMART"
    compared = facts.timed(
        f"compare two rankers by {len(METRICS)} metrics, 10,000 resamples each",
        lambda: rr.compare(
            rankers[base], rankers[best], y, qid=qid, metrics=METRICS, names=(base, best)
        ),
    )
    tied = np.round(rankers["BM25"] / 12)
    by_rows, expected = facts.timed(
        f"evaluate {2 * SHUFFLES} shuffles of the rows", lambda: shuffles(tied, y, qid)
    )

    print(f"\n{dataset}\n")
    for name, result in results.items():
        print(f"{name}\n{result}\n")
    print(f"{compared}\n")
    print(f"{combiner}\n")
    spread = by_rows.max() - by_rows.min()
    print(f"{SHUFFLES} shuffles of tied docs: by row order NDCG@10 moves by {spread:.4f},")
    print(f"by expectation its values and intervals have {len(expected)} set of bits\n")

    data = (
        f"{dataset.num_docs:,} artificial web docs in {dataset.num_queries} queries, "
        f"{dataset.num_features} features, labels 0 to 4."
    )
    target = folder / "index.html"
    text = page(results, compared, combiner, (by_rows, next(iter(expected))[0]), facts, data)
    target.write_text(text, encoding="utf-8")
    print(f"Look at {target}")
    return 0 if len(expected) == 1 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
