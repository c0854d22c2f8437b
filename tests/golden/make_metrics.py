"""Golden metric values: what other tools say about small random queries.

Writes `queries.tsv` and `metrics.tsv` beside this file; README.md there describes them. Run by
`make golden`, in an environment that has pytrec_eval, ranx and scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytrec_eval
import ranx
from sklearn.metrics import dcg_score, ndcg_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

HERE = Path(__file__).parent
SEED = 20240229
CUTS = (1, 3, 5, 10, 20)
MAX_LABEL = 4


@dataclass(frozen=True)
class Query:
    """One query: docs in row order."""

    name: str
    scores: NDArray[np.float64]
    labels: NDArray[np.int64]

    @property
    def tied(self) -> bool:
        return len(np.unique(self.scores)) < len(self.scores)

    @property
    def judged(self) -> bool:
        return bool(self.labels.max() > 0)


@dataclass(frozen=True)
class Value:
    """One tool's value, under the convention in which it must be ours too."""

    query: str
    tool: str
    metric: str
    gain: str
    ties: str
    empty: str
    value: float


# --- Queries ------------------------------------------------------------------------------------


def make_queries(rng: np.random.Generator) -> Iterable[Query]:
    sizes = (1, 2, 3, 4, 6, 8, 12, 25)
    for kind in ("graded", "binary", "nothing"):
        for spread in ("distinct", "tied", "constant"):
            for size in sizes if kind != "nothing" else sizes[::3]:
                labels = make_labels(rng, kind, size)
                yield Query(f"{kind}-{spread}-{size}", make_scores(rng, spread, size), labels)


def make_labels(rng: np.random.Generator, kind: str, size: int) -> NDArray[np.int64]:
    if kind == "nothing":
        return np.zeros(size, np.int64)
    if kind == "binary":
        labels = (rng.random(size) < 0.4).astype(np.int64)
    else:
        labels = rng.choice(MAX_LABEL + 1, size, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    if labels.max() == 0:
        labels[rng.integers(size)] = 1
    return labels


def make_scores(rng: np.random.Generator, spread: str, size: int) -> NDArray[np.float64]:
    """Draw scores that a float32 holds exactly, as pytrec_eval keeps no more."""
    if spread == "constant":
        return np.full(size, 0.5)
    if spread == "tied":
        return rng.integers(-2, 3, size) / 4
    return rng.permutation(4 * size)[:size] / 64 - 1


# --- Tools --------------------------------------------------------------------------------------


def docnos(query: Query) -> list[str]:
    """Name the docs so that trec_eval, which puts the larger docno first, keeps their rows."""
    return [f"d{len(query.labels) - row:04d}" for row in range(len(query.labels))]


def from_pytrec_eval(queries: list[Query]) -> Iterable[Value]:
    cuts = ",".join(map(str, CUTS))
    names = {"ndcg": "ndcg", "map": "map", "recip_rank": "mrr"}
    names |= {f"ndcg_cut_{k}": f"ndcg@{k}" for k in CUTS}
    names |= {f"map_cut_{k}": f"map@{k}" for k in CUTS}
    names |= {f"P_{k}": f"precision@{k}" for k in CUTS}
    names |= {f"recall_{k}": f"recall@{k}" for k in CUTS}
    asked = {"ndcg", "map", "recip_rank"}
    asked |= {f"{family}.{cuts}" for family in ("ndcg_cut", "map_cut", "P", "recall")}
    qrels = {
        q.name: {d: int(label) for d, label in zip(docnos(q), q.labels, strict=True)}
        for q in queries
    }
    run = {
        q.name: {d: float(score) for d, score in zip(docnos(q), q.scores, strict=True)}
        for q in queries
    }
    answers = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    for query in queries:
        for theirs, ours in names.items():
            gain = "linear" if ours.startswith("ndcg") else "-"
            value = answers[query.name][theirs]
            yield Value(query.name, "pytrec_eval", ours, gain, "row_order", "zero", value)


def from_ranx(queries: list[Query]) -> Iterable[Value]:
    names = {}
    for cut in ("", *(f"@{k}" for k in CUTS)):
        names[f"ndcg{cut}"] = (f"ndcg{cut}", "linear")
        names[f"ndcg_burges{cut}"] = (f"ndcg{cut}", "exp2")
        for family in ("map", "mrr", "precision", "recall"):
            names[f"{family}{cut}"] = (f"{family}{cut}", "-")
    judged = [query for query in queries if query.judged and not query.tied]
    qrels = ranx.Qrels(
        {
            q.name: {d: int(label) for d, label in zip(docnos(q), q.labels, strict=True) if label}
            for q in judged
        }
    )
    run = ranx.Run(
        {
            q.name: {d: float(score) for d, score in zip(docnos(q), q.scores, strict=True)}
            for q in judged
        }
    )
    ranx.evaluate(qrels, run, list(names))
    for query in judged:
        for theirs, (ours, gain) in names.items():
            value = run.scores[theirs][query.name]
            yield Value(query.name, "ranx", ours, gain, "none", "none", value)


def from_sklearn(queries: list[Query]) -> Iterable[Value]:
    for query in queries:
        # scikit-learn refuses a single doc, and calls the NDCG of nothing relevant zero.
        if len(query.labels) < 2:
            continue
        empty = "none" if query.judged else "zero"
        for gain, worth in (("linear", query.labels), ("exp2", 2**query.labels - 1)):
            for k in (None, *CUTS):
                cut = f"@{k}" if k else ""
                ndcg = ndcg_score([worth], [query.scores], k=k)
                dcg = dcg_score([worth], [query.scores], k=k)
                yield Value(query.name, "sklearn", f"ndcg{cut}", gain, "expected", empty, ndcg)
                yield Value(query.name, "sklearn", f"dcg{cut}", gain, "expected", empty, dcg)


def expected_reciprocal_rank(labels: NDArray[np.int64]) -> float:
    """ERR as published (Chapelle et al. 2009, Algorithm 2), with the gdeval script's constants.

    A user looks at ranks from the top and stops at each with probability (2^l - 1) / 2^4.
    """
    going_on, total = 1.0, 0.0
    for rank, label in enumerate(labels, start=1):
        stops = (2.0**label - 1) / 2.0**MAX_LABEL
        total += going_on * stops / rank
        going_on *= 1 - stops
    return total


def from_formula(queries: list[Query]) -> Iterable[Value]:
    """Yield ERR with rows deciding ties; queries without anything relevant have a value of 0."""
    for query in queries:
        ranked = query.labels[np.argsort(-query.scores, kind="stable")]
        for k in (None, *CUTS):
            cut = f"@{k}" if k else ""
            value = expected_reciprocal_rank(ranked[:k])
            yield Value(query.name, "formula", f"err{cut}", "exp2", "row_order", "zero", value)


# --- Files --------------------------------------------------------------------------------------

TOOLS: tuple[Callable[[list[Query]], Iterable[Value]], ...] = (
    from_pytrec_eval,
    from_ranx,
    from_sklearn,
    from_formula,
)


def write(path: Path, header: str, rows: Iterable[str]) -> None:
    path.write_text("\n".join([header, *rows, ""]), encoding="ascii", newline="\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


def main() -> None:
    queries = list(make_queries(np.random.default_rng(SEED)))
    values = [value for tool in TOOLS for value in tool(queries)]
    write(
        HERE / "queries.tsv",
        "query\tscore\tlabel",
        (
            f"{query.name}\t{float(score)!r}\t{label}"
            for query in queries
            for score, label in zip(query.scores, query.labels, strict=True)
        ),
    )
    write(
        HERE / "metrics.tsv",
        "query\ttool\tmetric\tgain\tties\tempty\tvalue",
        (
            f"{v.query}\t{v.tool}\t{v.metric}\t{v.gain}\t{v.ties}\t{v.empty}\t{float(v.value)!r}"
            for v in values
        ),
    )
    for package in ("pytrec_eval-terrier", "ranx", "scikit-learn", "numpy"):
        print(f"{package} {metadata.version(package)}")


if __name__ == "__main__":
    main()
