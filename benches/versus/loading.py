"""``compare.py load``: a data set built from a matrix and from LETOR text, against LightGBM.

CPU time (user and system, all threads) and the peak of resident memory above what was resident
when the input lay ready.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from versus.folds import DATA, read_parts
from versus.process import PeakMemory, machine, run_measured, say
from versus.shapes import load_matrix, save_matrix

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

# 5,833 web queries are about 700,000 docs.
FULL_QUERIES = 5833
MEMORY_BAR = 0.5
SOURCES = {
    "web": "artificial web queries, 700k docs x 136 features",
    "mslr": "MSLR-mini resampled by query with a little noise, 700k docs x 136 features",
}
BARS = {"matrix": 10.0, "text": 8.0}


@dataclass(frozen=True)
class Cost:
    """What one construction took."""

    cpu: float
    wall: float
    peak_mb: float
    rows: int


# --- Measured processes -------------------------------------------------------------------------


def lightgbm_params(threads: int, **more: object) -> dict[str, object]:
    return {"max_bin": 255, "num_threads": threads, "verbose": -1, **more}


def lightgbm_matrix(folder: Path, threads: int) -> Callable[[], int]:
    import lightgbm as lgb

    X, y, _, group = load_matrix(folder)

    def build() -> int:
        data = lgb.Dataset(X, y, group=group, params=lightgbm_params(threads))
        return int(data.construct().num_data())

    small = lgb.Dataset(X[:2000], y[:2000], params=lightgbm_params(threads))
    small.construct()
    return build


def lightgbm_text(folder: Path, threads: int, *, two_round: bool = False) -> Callable[[], int]:
    import lightgbm as lgb

    path = folder / "plain.txt"
    warm(path)

    def build() -> int:
        params = lightgbm_params(threads, two_round=two_round)
        data = lgb.Dataset(str(path), params=params)
        return int(data.construct().num_data())

    return build


def lightgbm_two_round(folder: Path, threads: int) -> Callable[[], int]:
    """Use LightGBM's loader that reads the file twice to save memory."""
    return lightgbm_text(folder, threads, two_round=True)


def rustrank_matrix(folder: Path, threads: int) -> Callable[[], int]:
    X, y, qid, _ = load_matrix(folder)

    def build() -> int:
        return int(rr.Dataset(X, y, qid=qid, num_threads=threads).num_docs)

    rr.Dataset(X[:2000], y[:2000], qid=qid[:2000], num_threads=threads)
    return build


def rustrank_text(folder: Path, threads: int) -> Callable[[], int]:
    path = folder / "letor.txt"
    warm(path)

    def build() -> int:
        return int(rr.Dataset.from_letor(path, num_threads=threads).num_docs)

    return build


RUNNERS: dict[str, Callable[[Path, int], Callable[[], int]]] = {
    "lightgbm-matrix": lightgbm_matrix,
    "lightgbm-text": lightgbm_text,
    "lightgbm-text-two-round": lightgbm_two_round,
    "rustrank-matrix": rustrank_matrix,
    "rustrank-text": rustrank_text,
}


def warm(path: Path) -> None:
    """Bring a file into the page cache: what is measured is reading, not the disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(job: dict[str, Any]) -> dict[str, float]:
    """Run in the measured process: prepare, then take the cost of the construction alone."""
    build = RUNNERS[job["runner"]](Path(job["folder"]), job["threads"])
    peak, cpu, wall = PeakMemory(), cpu_seconds(), time.perf_counter()
    rows = build()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    return vars(Cost(cpu, wall, peak.megabytes(), rows))


# --- The run ------------------------------------------------------------------------------------


def least_cost(runner: str, folder: Path, threads: int, repeats: int) -> Cost:
    job = {"runner": runner, "folder": str(folder), "threads": threads}
    costs = [Cost(**run_measured("load", job, threads)) for _ in range(repeats)]
    least = Cost(
        min(cost.cpu for cost in costs),
        min(cost.wall for cost in costs),
        min(cost.peak_mb for cost in costs),
        costs[0].rows,
    )
    say(f"{runner}, {threads} thread(s): {least}")
    return least


def resampled(num_docs: int, seed: int, data: Path) -> rr.datasets.Ranking:
    """MSLR-mini's queries drawn with replacement, its fractions with a little noise."""
    parts = read_parts("MSLR-mini", data)
    X = np.vstack([part.X for part in parts])
    y, group = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "group"))
    starts = np.cumsum(group) - group
    ends = starts + group
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(starts), 2 * num_docs * len(starts) // len(y))
    drawn = drawn[: int(np.searchsorted(np.cumsum(group[drawn]), num_docs)) + 1]
    rows = np.concatenate([np.arange(starts[query], ends[query]) for query in drawn])
    X = X[rows]
    for column in X.T:
        fractions = column != np.round(column)
        column[fractions] *= 1 + 1e-3 * rng.normal(size=int(fractions.sum())).astype(np.float32)
    ids = np.repeat(np.arange(len(drawn)), group[drawn])
    return rr.datasets.Ranking(X, y[rows].astype(np.float32), ids, ())


def prepare(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    """Write the data both sides read; returns megabytes by part."""
    if args.source == "mslr":
        ranking = resampled(round(700_000 * args.size), 1, args.data)
    else:
        ranking = rr.datasets.make_web(max(1, round(FULL_QUERIES * args.size)), seed=1)
    digits, parts = args.digits, args.parts
    megabytes = {"matrix": ranking.X.nbytes / 1e6}
    save_matrix(folder, ranking)
    if "text" in parts:
        ranking.to_letor(folder / "letor.txt", digits=digits)
        # LightGBM cannot read qid tokens: it takes the sizes from a file of their own.
        ranking.to_letor(folder / "plain.txt", digits=digits, with_qid=False)
        np.savetxt(folder / "plain.txt.query", ranking.group, fmt="%d")
        megabytes["text"] = (folder / "letor.txt").stat().st_size / 1e6
    say(f"{len(ranking.y)} docs, MB: {megabytes}")
    return megabytes


HEADER = (
    "| input | threads | tool | CPU s | MB/s of CPU | wall s | peak above input, MB "
    "| CPU ratio (bar) | peak ratio (bar) |"
)


def row(part: str, threads: int, tool: str, cost: Cost, megabytes: float, verdict: str) -> str:
    speed = megabytes / max(cost.cpu, 1e-9)
    return (
        f"| {part} | {threads} | {tool} | {cost.cpu:.2f} | {speed:.0f} | {cost.wall:.2f} "
        f"| {cost.peak_mb:.0f} | {verdict} |"
    )


def load(args: argparse.Namespace, folder: Path) -> bool:
    """Print the table; true if every bar was passed."""
    megabytes = prepare(folder, args)
    lines, passed = [], True
    for part in args.parts:
        for threads in args.threads:
            peer = least_cost(f"lightgbm-{part}", folder, threads, args.repeats)
            lines.append(row(part, threads, "LightGBM", peer, megabytes[part], "|"))
            if part == "text" and args.two_round:
                cost = least_cost("lightgbm-text-two-round", folder, threads, args.repeats)
                lines.append(row(part, threads, "LightGBM, two_round", cost, megabytes[part], "|"))
            ours = least_cost(f"rustrank-{part}", folder, threads, args.repeats)
            if ours.rows != peer.rows:
                msg = f"{part}: rustrank read {ours.rows} rows, LightGBM {peer.rows}"
                raise RuntimeError(msg)
            speedup, share = peer.cpu / ours.cpu, ours.peak_mb / peer.peak_mb
            passed &= speedup >= BARS[part] and share <= MEMORY_BAR
            verdict = f"{speedup:.1f}x (>= {BARS[part]:g}x) | {share:.2f}x (<= {MEMORY_BAR:g}x)"
            lines.append(row(part, threads, "rustrank", ours, megabytes[part], verdict))
    print(f"Loading {SOURCES[args.source]}, size {args.size:g}; {machine('lightgbm')}\n")
    print(HEADER, "| --- | ---: | --- |" + " ---: |" * 6, *lines, sep="\n")
    return passed


def add_load(loading: argparse.ArgumentParser) -> None:
    loading.add_argument(
        "--size", type=float, default=1.0, help="1.0 is 700k docs, 0.75 GB of text"
    )
    loading.add_argument("--source", choices=list(SOURCES), default="web")
    loading.add_argument("--digits", type=int, default=7, help="significant digits in the text")
    loading.add_argument("--repeats", type=int, default=3)
    loading.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    loading.add_argument("--parts", nargs="+", choices=list(BARS), default=list(BARS))
    loading.add_argument("--two-round", action="store_true", help="LightGBM's two_round as well")
    loading.add_argument("--data", type=Path, default=DATA, help="the folder of the real sets")
