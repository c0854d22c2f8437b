"""A tour on artificial web data: three rankers, measured and compared; ends with a page to look at.

Usage: python examples/demo.py [folder]      (default folder: demo)
"""

from __future__ import annotations

import html
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METRICS = ["ndcg@10", "err@10", "map", "mrr", "precision@10", "pairwise"]
COLOURS = ("#4878cf", "#d65f5f", "#6acc65")


def line_through(train: rr.datasets.Ranking, X: Floats) -> Floats:
    """Score by a least-squares line through the gains: the plainest learned ranker there is."""
    known = np.nan_to_num(train.X.astype(np.float64))
    known = np.sign(known) * np.log1p(np.abs(known))
    mean, scale = known.mean(axis=0), known.std(axis=0) + 1e-9
    weights = np.linalg.lstsq((known - mean) / scale, 2.0**train.y - 1, rcond=None)[0]
    fresh = np.nan_to_num(X)
    scores: Floats = (np.sign(fresh) * np.log1p(np.abs(fresh)) - mean) / scale @ weights
    return scores


def timed(what: str, start: float) -> None:
    print(f"  {what}: {1000 * (time.perf_counter() - start):.0f} ms")


def bars(results: Mapping[str, Mapping[str, float]]) -> str:
    """Draw each ranker's metrics as bars with their intervals."""
    parts = []
    for row, metric in enumerate(METRICS):
        top = 20 + row * 74
        parts.append(f'<text x="0" y="{top + 30}">{metric}</text>')
        for at, (colour, values) in enumerate(zip(COLOURS, results.values(), strict=True)):
            value = values[metric]
            low, high = getattr(value, "interval", (value, value))
            y = top + at * 20
            parts.append(
                f'<rect x="110" y="{y}" width="{480 * value:.1f}" height="16" fill="{colour}"/>'
                f'<line x1="{110 + 480 * low:.1f}" x2="{110 + 480 * high:.1f}" '
                f'y1="{y + 8}" y2="{y + 8}" stroke="#222" stroke-width="2"/>'
                f'<text x="{118 + 480 * high:.1f}" y="{y + 13}">{value:.4f}</text>'
            )
    return f'<svg width="720" height="{30 + 74 * len(METRICS)}">{"".join(parts)}</svg>'


def wins(difference: Floats) -> str:
    """Draw the difference of every query, best first: what a mean hides."""
    ordered = np.sort(difference[~np.isnan(difference)])[::-1]
    step = 720 / max(len(ordered), 1)
    parts = [
        f'<rect x="{at * step:.2f}" width="{step:.2f}" y="{100 - max(value, 0) * 100:.1f}" '
        f'height="{abs(value) * 100:.1f}" fill="{COLOURS[2] if value > 0 else COLOURS[1]}"/>'
        for at, value in enumerate(ordered)
    ]
    return f'<svg width="720" height="200">{"".join(parts)}</svg>'


def page(results: Mapping[str, Mapping[str, float]], verdict: str, difference: Floats) -> str:
    names = list(results)
    legend = " ".join(
        f'<b style="color:{colour}">{html.escape(name)}</b>'
        for colour, name in zip(COLOURS, names, strict=True)
    )
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>rustrank demo</title>
<style>body{{font:15px/1.5 system-ui;max-width:740px;margin:2em auto;color:#222}}
text{{font:12px system-ui}}pre{{background:#f4f4f4;padding:1em;overflow:auto}}</style>
<h1>Three rankers on artificial web data</h1>
<p>{legend}. Black lines are 95% bootstrap intervals of the mean over queries.</p>
{bars(results)}
<h2>{html.escape(names[2])} against {html.escape(names[0])}, query by query</h2>
<p>Difference in NDCG@10 of every query, best first.</p>
{wins(difference)}
<pre>{html.escape(verdict)}</pre></html>
"""


def main(arguments: Sequence[str]) -> int:
    folder = Path(arguments[0] if arguments else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    train = rr.datasets.make_web(400, seed=1)
    test = rr.datasets.make_web(400, seed=1, first_query=400)
    X, y, qid = test
    timed(f"made 2 x 400 queries, {len(train.y) + len(y)} docs of {X.shape[1]} features", start)

    start = time.perf_counter()
    print(f"  {rr.Dataset(X, y, qid=qid)}")
    timed("checked and binned them into a Dataset", start)

    column = {name: at for at, name in enumerate(test.feature_names)}
    rankers = {
        "BM25": X[:, column["whole_bm25"]].astype(np.float64),
        "page quality": X[:, column["quality"]].astype(np.float64),
        "a line through all features": line_through(train, X.astype(np.float64)),
    }
    start = time.perf_counter()
    results = {
        name: rr.evaluate(scores, y, qid=qid, metrics=METRICS) for name, scores in rankers.items()
    }
    timed(f"evaluated {len(rankers)} rankers by {len(METRICS)} metrics, with intervals", start)
    width = max(map(len, rankers))
    print("\n  " + " " * width + "".join(f"{metric:>14}" for metric in METRICS))
    for name, values in results.items():
        print(f"  {name:{width}}" + "".join(f"{values[metric]:14.4f}" for metric in METRICS))

    first, _, last = rankers.values()
    verdict = str(rr.compare(first, last, y, qid=qid, metrics=["ndcg@10"]))
    print(f"\nBM25 against the line:\n{verdict}")

    order = np.random.default_rng(0).permutation(len(y))
    again = rr.evaluate(first[order], y[order], qid=qid[order], metrics=METRICS)
    same = all(again[metric] == results["BM25"][metric] for metric in METRICS)
    print(f"\nAll docs shuffled: every metric {'has the same bits' if same else 'CHANGED'}")

    ndcg = [np.asarray(results[name]["ndcg@10"].per_query) for name in rankers]
    target = folder / "index.html"
    target.write_text(page(results, verdict, ndcg[2] - ndcg[0]), encoding="utf-8")
    print(f"Look at {target}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
