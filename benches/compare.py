"""Ratios against LightGBM, both measured in one run on one machine.

``compare.py load`` builds a data set from a matrix and from LETOR text. Each measurement is a
process of its own: CPU time (user and system, all threads) and the peak of resident memory above
what was resident when the input lay ready. Of the repeats the least counts: noise only adds.
A time of one run means little on a shared machine, a ratio within a run means more.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
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


def load_matrix(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y, qid, group = (np.load(folder / f"{name}.npy") for name in ("X", "y", "qid", "group"))
    return X, y, qid, group


def warm(path: Path) -> None:
    """Bring a file into the page cache: what is measured is reading, not the disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def status_kb(field: str) -> int:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    msg = f"/proc/self/status has no {field}"
    raise RuntimeError(msg)


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(runner: str, folder: Path, threads: int) -> Cost:
    """Run in the measured process: prepare, then take the cost of the construction alone."""
    build = RUNNERS[runner](folder, threads)
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the high-water mark starts again
    resident, cpu, wall = status_kb("VmRSS"), cpu_seconds(), time.perf_counter()
    rows = build()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    return Cost(cpu, wall, (status_kb("VmHWM") - resident) / 1024, rows)


# --- The run ------------------------------------------------------------------------------------


def least_cost(runner: str, folder: Path, threads: int, repeats: int) -> Cost:
    # Threads that wait by spinning would count as work: let the peer's sleep.
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    costs = []
    for _ in range(repeats):
        command = [sys.executable, __file__, "--measure", runner, str(folder), str(threads)]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
        costs.append(Cost(**json.loads(done.stdout.splitlines()[-1])))
    least = Cost(
        min(cost.cpu for cost in costs),
        min(cost.wall for cost in costs),
        min(cost.peak_mb for cost in costs),
        costs[0].rows,
    )
    print(f"  {runner}, {threads} thread(s): {least}", file=sys.stderr, flush=True)
    return least


def resampled(num_docs: int, seed: int) -> rr.datasets.Ranking:
    """MSLR-mini's queries drawn with replacement, its fractions with a little noise."""
    from sklearn.datasets import load_svmlight_files

    paths = sorted((Path(__file__).resolve().parents[2] / "shared/data/MSLR-mini").glob("*.gz"))
    if not paths:
        msg = "../shared/data/MSLR-mini is not there: only --source web can be measured"
        raise SystemExit(msg)
    parts = load_svmlight_files([str(path) for path in paths], dtype=np.float32, query_id=True)
    X = np.vstack([part.toarray() for part in parts[::3]])
    y, qid = np.concatenate(parts[1::3]), np.concatenate(parts[2::3])
    starts = np.flatnonzero(np.diff(qid, prepend=-1))
    ends = np.append(starts[1:], len(qid))
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(starts), 2 * num_docs * len(starts) // len(qid))
    drawn = drawn[: int(np.searchsorted(np.cumsum((ends - starts)[drawn]), num_docs)) + 1]
    rows = np.concatenate([np.arange(starts[query], ends[query]) for query in drawn])
    X = X[rows]
    for column in X.T:
        fractions = column != np.round(column)
        column[fractions] *= 1 + 1e-3 * rng.normal(size=int(fractions.sum())).astype(np.float32)
    ids = np.repeat(np.arange(len(drawn)), (ends - starts)[drawn])
    return rr.datasets.Ranking(X, y[rows].astype(np.float32), ids, ())


def prepare(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    """Write the data both sides read; returns megabytes by part."""
    if args.source == "mslr":
        ranking = resampled(round(700_000 * args.size), seed=1)
    else:
        ranking = rr.datasets.make_web(max(1, round(FULL_QUERIES * args.size)), seed=1)
    digits, parts = args.digits, args.parts
    megabytes = {"matrix": ranking.X.nbytes / 1e6}
    for name in ("X", "y", "qid", "group"):
        np.save(folder / f"{name}.npy", getattr(ranking, name))
    if "text" in parts:
        ranking.to_letor(folder / "letor.txt", digits=digits)
        # LightGBM cannot read qid tokens: it takes the sizes from a file of their own.
        ranking.to_letor(folder / "plain.txt", digits=digits, with_qid=False)
        np.savetxt(folder / "plain.txt.query", ranking.group, fmt="%d")
        megabytes["text"] = (folder / "letor.txt").stat().st_size / 1e6
    print(f"  {len(ranking.y)} docs, MB: {megabytes}", file=sys.stderr, flush=True)
    return megabytes


def machine() -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("lightgbm", "numpy"))
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}, {versions}"


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
    print(f"Loading {SOURCES[args.source]}, size {args.size:g}; {machine()}\n")
    print(HEADER, "| --- | ---: | --- |" + " ---: |" * 6, *lines, sep="\n")
    return passed


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    loading = commands.add_parser("load", help="data set construction, matrix and text")
    loading.add_argument(
        "--size", type=float, default=1.0, help="1.0 is 700k docs, 0.75 GB of text"
    )
    loading.add_argument("--source", choices=list(SOURCES), default="web")
    loading.add_argument("--digits", type=int, default=7, help="significant digits in the text")
    loading.add_argument("--repeats", type=int, default=3)
    loading.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    loading.add_argument("--parts", nargs="+", choices=list(BARS), default=list(BARS))
    loading.add_argument("--two-round", action="store_true", help="LightGBM's two_round as well")
    loading.add_argument("--folder", type=Path, help="where to write the data (default: temporary)")
    loading.add_argument("--check", action="store_true", help="exit 1 below a bar")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--measure"]:
        runner, folder, threads = argv[1:]
        print(json.dumps(vars(measure(runner, Path(folder), int(threads)))))
        return 0
    args = parse(argv)
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
        passed = load(args, args.folder)
    else:
        with tempfile.TemporaryDirectory(prefix="rustrank-bench-") as folder:
            passed = load(args, Path(folder))
    return 1 if args.check and not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
