"""Time by workers: figures 1.1 to 1.3 of Svore and Burges (2011), in miniature, with workers of MPI.

Figure 1.1: workers that have all documents and search some of the features each, with few and many
features. Figure 1.2: workers with so many documents each, of which the best tree or a drawn one is taken.
Figure 1.3: the same with all documents divided among them.

Workers are processes that `rustrank.train` starts, each with one thread; one process with one thread is
what they are compared with. Loading is left out, as in the paper. Of the rounds of a training the first quartile
counts, since others use the machine too, and of several trainings the least.
More workers than cores show what communication costs, and no gain. The mode `histogram` is ours.

    python examples/papers/workers.py [--scale tiny|small|paper] [--figure figure.png] [--only-ratio [--shards FOLDER]]

The paper's figures have no numbers in print; its findings are printed with what we find.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import rustrank as rr
from scale import Job, worked

MODES = ("histogram", "features", "full-selection", "sample-selection")
SELECTIONS = MODES[2:]
#: Seconds of all rounds of which nothing can be said.
NOISE = 0.1
Times = dict[tuple[str, str, int], float]


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    queries: int
    docs: int
    #: Figure 1.1 has all of these; the other figures the one in the middle.
    features: tuple[int, ...]
    workers: tuple[int, ...]
    rounds: int
    leaves: int
    repeats: int


SCALES = {
    "tiny": Scale(60, 10, (6,), (1, 2), 6, 6, 1),
    "small": Scale(1000, 100, (34, 136, 272), (1, 2, 4), 60, 31, 3),
    # Section 1.5: 140,000 queries of about 100 docs, of which four fifths; 500 to 4000 features; 500 or 1000 rounds, 20 to 200 leaves, three runs.
    "paper": Scale(112_000, 104, (500, 1000, 2000, 4000), (1, 2, 4, 8, 16, 32), 500, 200, 3),
}


def middle(scale: Scale) -> int:
    """Return the number of features of figures 1.2 and 1.3."""
    return scale.features[len(scale.features) // 2]


def figure_1(scale: Scale) -> dict[int, str]:
    """Return the titles of figure 1.1, by the number of features; one of them is figure 1.3's too."""
    titles = {features: f"all docs, {features} features" for features in scale.features}
    return {**titles, middle(scale): "all docs"}


def seconds(
    shards: rr.Shards, scale: Scale, workers: int, mode: str = "histogram", num_threads: int = 1
) -> float:
    """Return what all rounds take, from the quicker ones."""
    place = str(shards.directory)
    job = Job(place, mode, 0.0, workers, scale.rounds + 1, scale.leaves, num_threads)
    return min(float(worked(job)[0]) for _ in range(scale.repeats)) * scale.rounds


def sharded(folder: Path, queries: int, workers: int, scale: Scale, features: int) -> rr.Shards:
    """Write docs of so many queries, in a shard for each worker."""
    file = folder / f"{queries}-{features}.txt"
    if not file.exists():
        made = rr.datasets.make_polynomial(queries, scale.docs, features, seed=21)
        made.to_letor(file)
    return rr.shard(file, file.with_suffix(f".{workers}"), shards=workers, overwrite=True)


def measured(folder: Path, scale: Scale) -> Times:
    """Return seconds by figure, mode and number of workers."""
    times: Times = {}
    most = scale.workers[-1]
    each = max(1, scale.queries // most)
    for features, title in figure_1(scale).items():
        if features == middle(scale):
            continue
        for workers in scale.workers:
            shards = sharded(folder, scale.queries, workers, scale, features)
            taken = seconds(shards, scale, workers, mode="features")
            times[title, "features", workers] = taken
    for workers in scale.workers:
        whole = sharded(folder, scale.queries, workers, scale, middle(scale))
        part = sharded(folder, each * workers, workers, scale, middle(scale))
        if workers == 1:
            one = seconds(whole, scale, 1)
            times |= {("all docs", mode, 1): one for mode in MODES}
            one = seconds(part, scale, 1)
            times |= {("docs by workers", mode, 1): one for mode in ("central", *SELECTIONS)}
            continue
        for mode in MODES:
            times["all docs", mode, workers] = seconds(whole, scale, workers, mode=mode)
        for mode in SELECTIONS:
            times["docs by workers", mode, workers] = seconds(part, scale, workers, mode=mode)
        times["docs by workers", "central", workers] = (
            seconds(part, scale, 1) if workers < most else times["all docs", "histogram", 1]
        )  # fmt: skip
    return times


def ratio(shards: rr.Shards, scale: Scale) -> None:
    """Print the speed of two workers of a thread each, as a part of that of one with two threads."""
    # In turns: what else the machine does falls on both.
    pairs = [
        (seconds(shards, scale, 1, num_threads=2), seconds(shards, scale, 2))
        for _ in range(scale.repeats)
    ]
    one, two = (min(times) for times in zip(*pairs, strict=True))
    print(f"\n1 worker x 2 threads: {one:.2f} s; 2 workers x 1 thread: {two:.2f} s", end="; ")
    clear = min(one, two) >= NOISE
    print(f"speed {one / two:.2f} of it (bar: 0.9)" if clear else "too short to tell")


def findings(times: Times, scale: Scale) -> list[str]:
    """Return what the paper says of its figures, and whether it is so here."""
    # More workers than cores do not gain anything, whatever the paper says.
    most = max(K for K in scale.workers if max(2, os.cpu_count() or 1) >= K)

    def at(figure: str, mode: str, workers: int = most) -> float:
        return times[figure, mode, workers]

    def judged(claim: str, pairs: list[tuple[float, float]], factor: float) -> str:
        if min(map(min, pairs)) < NOISE:
            return f"- {claim}: **not clear**: too short to tell"
        parts = [first / second for first, second in pairs]
        verdict = "held" if all(part >= factor for part in parts) else "did not hold"
        said = ", ".join(f"{part:.2f}" for part in parts)
        return f"- {claim}: **{verdict}**: {said} times"

    central = at("all docs", "features", 1)
    # Of too short a time no gain is known.
    gains = [one / many if min(one, many) >= NOISE else 0.0 for one, many in (
        (at(title, "features", 1), at(title, "features")) for title in figure_1(scale).values()
    )]  # fmt: skip
    grown = "docs by workers"
    return [
        judged(f"{most} workers share features faster than one has all (figure 1.1)",
               [(central, at("all docs", "features"))], 1),
        judged("workers that share features gain more the more features there are (figure 1.1)",
               list(zip(gains[1:], gains, strict=False)) or [(gains[0], gains[0])], 1),
        judged(f"{most} workers that select are faster than one with all docs (figure 1.3)",
               [(central, at("all docs", mode)) for mode in SELECTIONS], 1),
        judged("a tree that is drawn is faster than the best (figures 1.2 and 1.3)",
               [(at(figure, SELECTIONS[0]), at(figure, SELECTIONS[1]))
                for figure in (grown, "all docs")], 1),
        judged(f"drawn, {most} workers take as long as one with as many docs each (figure 1.2)",
               [(at(grown, SELECTIONS[1], 1), at(grown, SELECTIONS[1]))], 0.8),
        judged(f"{most} workers sum histograms faster than one has all docs (ours)",
               [(central, at("all docs", "histogram"))], 1),
    ]  # fmt: skip


def draw(times: Times, scale: Scale, path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    # Figure 1.1 shows what sharing features gains; the others show seconds.
    panels: dict[str, dict[str, list[float]]] = {
        "1.1: some features each": {
            f"{features} features": [
                times[title, "features", 1] / times[title, "features", K] for K in scale.workers
            ]
            for features, title in figure_1(scale).items()
        }
    }
    for title, name in (
        ("docs by workers", "1.2: as many docs each"),
        ("all docs", "1.3: a part of all docs each"),
    ):
        kinds = [mode for mode in ("central", *MODES) if (title, mode, 1) in times]
        panels[name] = {mode: [times[title, mode, K] for K in scale.workers] for mode in kinds}
    figure, places = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for axes, (title, lines) in zip(places, panels.items(), strict=True):
        for (name, values), mark in zip(lines.items(), ("o-", "s--", "^-", "v:"), strict=False):
            axes.plot(scale.workers, values, mark, label=name, markersize=5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(scale.workers, [str(K) for K in scale.workers])
        axes.set_ylim(0)
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("workers")
        axes.set_ylabel("times as fast" if title.startswith("1.1") else "seconds")
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--figure", metavar="FILE", help="where to draw figures 1.1 to 1.3")
    parser.add_argument("--only-ratio", action="store_true", help="2 workers against 2 threads")
    parser.add_argument("--shards", metavar="FOLDER", help="docs of your own for --only-ratio")
    args = parser.parse_args()
    scale = SCALES[args.scale]
    with tempfile.TemporaryDirectory() as name:
        own = args.shards and rr.Shards.load(args.shards)
        ratio(own or sharded(Path(name), scale.queries, 2, scale, middle(scale)), scale)
        if args.only_ratio:
            return
        times = measured(Path(name), scale)
    print(f"\n{scale.rounds} rounds, {os.cpu_count()} cores, a thread a worker, seconds:\n")
    print("| docs | mode |" + "".join(f" K = {K} |" for K in scale.workers))
    print("| --- | --- |" + " ---: |" * len(scale.workers))
    for title, mode in dict.fromkeys(key[:2] for key in times):
        row = "".join(f" {times[title, mode, K]:.2f} |" for K in scale.workers)
        print(f"| {title} | {mode} |{row}")
    print("\nWhat held:\n\n" + "\n".join(findings(times, scale)))
    if args.figure:
        draw(times, scale, args.figure)


if __name__ == "__main__":
    main()
