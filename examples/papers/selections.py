"""Data-distributed boosting: Figures 1.4 to 1.6 and Table 1.1 of Svore and Burges (2011).

Documents are split by queries among K workers: processes that `rustrank.train` starts with MPI, as users do.
In each round a worker grows a tree from its own documents: each of them, of which the tree is taken that
is best on the documents of the others (full selection), or one that is drawn (sample selection). A tree is
all that is communicated. The paper's feature-distributed LambdaMART gives the model of one machine, byte
for byte, and so has no place in figures of accuracy; times are in `workers.py`.

Three set-ups, as in section 1.5: every worker has so many queries, so that K workers have K times as many
(Figure 1.4); the same with shards that overlap, each worker having the next one's queries too (Figure
1.5); and all queries divided by K (Figure 1.6). LambdaMART is the paper's (``preset="svore2011"``: lambdas of
all pairs, splits by least squares), smaller.

    python examples/papers/selections.py [--scale tiny|small|paper] [--sweep] [--figure figure.png]
        [--queries 400] [--held 4000]

``--sweep`` tries several rates and leaves in each cell, chooses by the validation queries, and prints Table
1.1; without it, all cells have the same. The paper's figures have no numbers in print; its findings are printed
with what we find. It needs ``pip install 'rustrank[mpi]'``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import rustrank as rr

METRIC = "ndcg@10"
MODES = {"full": "full-selection", "sample": "sample-selection"}


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    #: Queries of a worker, numbers of workers, queries to choose the round by and to test.
    queries: int
    workers: tuple[int, ...]
    held: int
    docs: int
    rounds: int
    #: The leaves and rates of a sweep; without one, the first of each.
    leaves: tuple[int, ...]
    rates: tuple[float, ...]


SCALES = {
    "tiny": Scale(40, (1, 2), 150, 15, 30, (6,), (0.15,)),
    "small": Scale(100, (1, 2, 4, 8), 500, 24, 150, (10, 5, 20), (0.1, 0.05, 0.2)),
    # Section 1.5: 3,500 queries a worker, 14,000 to validate and as many to test, 1000 rounds.
    "paper": Scale(
        3500, (1, 2, 4, 8, 16, 32), 14_000, 100, 1000, (20, 80, 140, 200), (0.1, 0.05, 0.3, 0.5)
    ),
}


@dataclass
class Bench:
    """Trains in each set-up, and keeps the test scores by name."""

    folder: Path
    scale: Scale
    sweep: bool
    scores: dict[str, Any] = field(default_factory=dict)
    #: The rate and leaves that were chosen, by name.
    chosen: dict[str, tuple[float, int]] = field(default_factory=dict)
    #: The queries to test by.
    test: rr.datasets.Ranking = field(init=False)

    def __post_init__(self) -> None:
        scale = self.scale
        most = scale.workers[-1]
        # The last of them stays in memory.
        for name, queries, first in (
            ("train", scale.queries * most, 0),
            ("held", scale.held, 10**6),
            ("test", scale.held, 2 * 10**6),
        ):
            docs = rr.datasets.make_web(queries, scale.docs, seed=21, first_query=first)
            docs.to_letor(self.folder / f"{name}.txt")
            self.test = docs
        self.lines = (self.folder / "train.txt").read_text().splitlines(keepends=True)

    def file(self, queries: int) -> Path:
        """Write the first so many queries of the training set."""
        path = self.folder / f"first{queries}.txt"
        docs = queries * self.scale.docs
        path.write_text("".join(self.lines[:docs]))
        return path

    def train(self, name: str, queries: int, **where: Any) -> None:
        """Train with each setting, keep that with the best value on the validation queries."""
        scale = self.scale
        settings = list(product(scale.rates, scale.leaves))
        best = -1.0
        for rate, leaves in settings if self.sweep else settings[:1]:
            booster = self.trained(queries, num_leaves=leaves, learning_rate=rate, **where)
            value = max(booster.history["valid"][METRIC])
            if value > best:
                best = value
                self.chosen[name] = rate, leaves
                self.scores[name] = booster.predict(self.test.X)

    def trained(self, queries: int, mode: str = "", workers: int = 1, **options: Any) -> rr.Booster:
        """Train on the first so many queries, on one machine or on workers."""
        file, held = self.file(queries), self.folder / "held.txt"
        options |= {
            "preset": "svore2011",
            "num_trees": self.scale.rounds,
            "early_stopping": self.scale.rounds,
            "metric": METRIC,
        }
        if workers == 1:
            train = rr.Dataset.from_letor(file)
            return rr.train(train, valid=rr.Dataset.from_letor(held, like=train), **options)
        shards = rr.shard(
            file, self.folder / f"{queries}-{workers}", shards=workers, overwrite=True
        )
        return rr.train(
            shards, workers=workers, mode=MODES[mode], valid=held, num_threads=1, **options
        )

    def value(self, name: str) -> rr.MetricValue:
        """Return the metric on the test queries."""
        test = self.test
        return rr.evaluate(self.scores[name], test.y, qid=test.qid, metrics=METRIC)[METRIC]

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return by how much the second is better, and the p-value."""
        test = self.test
        a, b = self.scores[first], self.scores[second]
        found = rr.compare(a, b, test.y, qid=test.qid, metrics=METRIC)[METRIC]
        return found.difference, found.p_randomisation


def measured(bench: Bench) -> None:
    """Train all cells of the three figures."""
    scale = bench.scale
    most = scale.workers[-1]
    everything = scale.queries * most
    for K in scale.workers:
        grown = scale.queries * K
        bench.train(f"central, {grown} queries", grown)
        for mode in MODES:
            if K == 1:
                continue
            spread = {"mode": mode, "workers": K}
            bench.train(f"{mode}, K = {K}, {scale.queries} each", grown, **spread)
            if K > 2:  # With two workers that overlap, both have everything.
                bench.train(f"{mode}, K = {K}, overlapping", grown, overlap=1, **spread)
            if most > K:
                bench.train(f"{mode}, K = {K}, {everything // K} each", everything, **spread)
    if most >= 4:
        # Section 1.5.5: four workers with three quarters of the queries each.
        bench.train("sample, K = 4, 75% each", everything, mode="sample", workers=4, overlap=2)


def findings(bench: Bench) -> list[str]:
    scale = bench.scale
    most = scale.workers[-1]
    each, everything = scale.queries, scale.queries * most
    alone, central = f"central, {each} queries", f"central, {everything} queries"
    lines = []

    def judged(claim: str, pairs: list[tuple[str, str]], better: bool) -> None:
        if any(name not in bench.scores for pair in pairs for name in pair):
            return
        found = [bench.difference(*pair) for pair in pairs]
        if better:
            held = all(difference > 0 and p < 0.05 for difference, p in found)
            wrong = any(difference < 0 and p < 0.05 for difference, p in found)
        else:
            held = not any(p < 0.05 for _, p in found)
            wrong = not held
        verdict = "held" if held else "did not hold" if wrong else "not clear"
        said = ", ".join(f"{difference:+.4f} (p {p:.4f})" for difference, p in found)
        lines.append(f"- {claim}: **{verdict}**: {said}")

    def cell(mode: str, what: str) -> str:
        return f"{mode}, K = {most}, {what}"

    judged(f"more workers with as many queries each help: {most} against 1 (figure 1.4)",
           [(alone, cell(mode, f"{each} each")) for mode in MODES], True)  # fmt: skip
    judged("full and sample selection are alike (figures 1.4 to 1.6)",
           [(cell("full", f"{each} each"), cell("sample", f"{each} each"))], False)  # fmt: skip
    judged("one machine with all the documents is better (figure 1.4 d)",
           [(cell(mode, f"{each} each"), central) for mode in MODES], True)  # fmt: skip
    judged("shards that overlap are better than those that do not (figure 1.5)",
           [(cell(mode, f"{each} each"), cell(mode, "overlapping")) for mode in MODES], True)  # fmt: skip
    for K in scale.workers[1:-1]:
        # The trees of a worker with so many queries, chosen among K workers or all of one.
        own = f"central, {everything // K} queries"
        judged(f"trees of {K} workers are better than those of one of them (figure 1.6)",
               [(own, f"{mode}, K = {K}, {everything // K} each") for mode in MODES], True)  # fmt: skip
    judged("shards of 75% each are as good as all on one machine (section 1.5.5)",
           [(central, "sample, K = 4, 75% each")], False)  # fmt: skip
    return lines


def table_of_settings(bench: Bench) -> list[str]:
    """Return Table 1.1: the rate and leaves of each cell that were best on the validation queries."""
    rows = ["| trained | rate | leaves |", "| --- | ---: | ---: |"]
    rows += [f"| {name} | {rate:g} | {leaves} |" for name, (rate, leaves) in bench.chosen.items()]
    return rows


def draw(bench: Bench, path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    scale = bench.scale
    everything = scale.queries * scale.workers[-1]
    figure, both = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    each = f"{scale.queries} each"
    panels = (
        {"full": f"full, K = %d, {each}", "sample": f"sample, K = %d, {each}",
         "full, overlapping": "full, K = %d, overlapping",
         "sample, overlapping": "sample, K = %d, overlapping"},
        {"full": "full, K = %d, %d each", "sample": "sample, K = %d, %d each"},
    )  # fmt: skip
    for axes, panel, title in zip(
        both, panels, (f"{each} (1.4, 1.5)", "all divided (1.6)"), strict=True
    ):
        for (label, name), mark in zip(panel.items(), ("o-", "s--", "^-", "v--"), strict=False):
            names = {
                K: name % ((K, everything // K) if name.count("%d") == 2 else K)
                for K in scale.workers[1:]
            }
            known = [K for K, one in names.items() if one in bench.scores]
            values = [float(bench.value(names[K])) for K in known]
            axes.plot(known, values, mark, label=label, markersize=5)
        grown = "1.4" in title
        centrals = {
            K: f"central, {scale.queries * K if grown else everything // K} queries"
            for K in scale.workers
        }
        values = [float(bench.value(name)) for name in centrals.values()]
        axes.plot(list(centrals), values, "D:", label="central", markersize=5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(scale.workers, [str(K) for K in scale.workers])
        axes.set_xlabel(f"workers: {title}")
        axes.legend(frameon=False)
    both[0].set_ylabel(f"{METRIC.upper()}, test")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--queries", type=int, help="of a worker")
    parser.add_argument("--held", type=int, help="queries to choose the round by, and to test")
    parser.add_argument("--sweep", action="store_true", help="choose rate and leaves in each cell")
    parser.add_argument("--figure", metavar="FILE", help="where to draw figures 1.4 to 1.6")
    args = parser.parse_args()
    # Parts have features of one value.
    warnings.simplefilter("ignore", rr.RustrankWarning)
    scale, start = SCALES[args.scale], time.monotonic()
    scale = replace(scale, queries=args.queries or scale.queries, held=args.held or scale.held)
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), scale, args.sweep)
        measured(bench)
    print(f"{METRIC}, {scale.queries:,} queries a worker, {scale.held:,} test queries\n")
    print("| trained | value | 95% interval |\n| --- | ---: | ---: |")
    for name in bench.scores:
        low, high = bench.value(name).interval
        print(f"| {name} | {float(bench.value(name)):.4f} | {low:.4f} to {high:.4f} |")
    if args.sweep:
        print("\nTable 1.1:\n\n" + "\n".join(table_of_settings(bench)))
    print("\nWhat held:\n\n" + "\n".join(findings(bench)))
    if args.figure:
        draw(bench, args.figure)
    print(f"\n{time.monotonic() - start:.0f} s at scale {args.scale}")


if __name__ == "__main__":
    main()
