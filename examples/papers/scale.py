"""Time and bytes of training on many workers: a model, for the sets of section 1.5 of Svore and Burges (2011) and larger.

Constants of computing are measured here, with one thread; those of the network are assumed and said. What the
model says of bytes is compared with what two workers of MPI bring to their messages, with few docs and with
ten times as many. With `--network` (Linux, root, MPICH) workers stand in network namespaces of their own, behind a
link of limited bandwidth; latency is added before each collective, by sleeping. Both are compared with the model.

    python examples/papers/scale.py [--scale tiny|small|paper] [--figure scale.svg] [--network]

Everything is per tree. An all-reduce sends twice its bytes, but for a K-th part, in 2 log2 K steps.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

MODES = ("histogram", "features", "full-selection", "sample-selection")
#: Words of a message of the histogram mode that stand behind the bins of a column; a frame is among them.
GAP = 8
#: Words of the small messages of a tree, but for one a leaf: gradients, the root, metrics, and their frames.
SMALL = 39
#: Words of a message that counts the docs on the sides of two splits, its frame included.
SIDES = 8
#: Bytes of a leaf, its split included, in a tree that is sent; of the best splits of two nodes.
LEAF, BEST = 80, 150


@dataclass(frozen=True)
class Scale:
    """What constants are measured on: queries of 20 docs, rounds of a measurement."""

    queries: int
    rounds: int


SCALES = {"tiny": Scale(100, 4), "small": Scale(2000, 12), "paper": Scale(10_000, 20)}


@dataclass(frozen=True)
class Costs:
    """Seconds: of a doc, of a cell, of the bins of a column at a split, of a doc that a tree is tried on."""

    doc: float
    cell: float
    column: float
    tried: float


@dataclass(frozen=True)
class Network:
    """Seconds from one worker to another, and bytes per second."""

    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Task:
    """What is trained."""

    docs: float
    features: int
    leaves: int
    codes: int = 256
    #: Threads of a worker.
    threads: int = 1


def histogram_bytes(task: Task) -> int:
    """Return the bytes that a worker brings to the sums of a tree: there are no docs in it."""
    return 8 * ((task.leaves - 1) * histogram_words(task) + task.leaves + SMALL)


def histogram_words(task: Task) -> int:
    """Return the words of the histogram of a node."""
    return task.features * (max(32, 1 << (task.codes - 1).bit_length()) + GAP)


def most_histogram_bytes(task: Task) -> int:
    """Return the bytes of a tree if the docs of all its nodes must be counted for `min_leaf_docs`."""
    return histogram_bytes(task) + 8 * task.leaves * (histogram_words(task) + SIDES)


def reduced(size: float, calls: float, workers: int, network: Network) -> float:
    """Return the seconds of sums over all workers."""
    steps = math.log2(workers) if workers > 1 else 0
    sent = 2 * size * (workers - 1) / workers
    return 2 * steps * calls * network.latency + sent / network.bandwidth


def gathered(size: float, calls: float, workers: int, network: Network) -> float:
    """Return the seconds until each worker has what all have brought."""
    steps = math.log2(workers) if workers > 1 else 0
    return steps * calls * network.latency + size * (workers - 1) / network.bandwidth


def computing(task: Task, mode: str, workers: int, costs: Costs) -> float:
    """Return the seconds that a worker computes for a tree."""
    # Constants are for 31 leaves; each level looks at about as many docs as the one above.
    depth = math.log2(task.leaves) / math.log2(31)
    docs = task.docs if mode == "features" else task.docs / workers
    features = task.features / workers if mode == "features" else task.features
    work = docs * (costs.doc + depth * features * costs.cell)
    work += (task.leaves - 1) * features * costs.column
    if mode == "full-selection" and workers > 1:
        # Each tries the trees of all on its own docs.
        work += task.docs * costs.tried
    return work / task.threads


def talking(task: Task, mode: str, workers: int, network: Network) -> float:
    """Return the seconds that messages of a tree take."""
    if workers == 1:
        return 0.0
    if mode == "histogram":
        return reduced(histogram_bytes(task), task.leaves + 7, workers, network)
    if mode == "features":
        # What is gathered goes with its length, in a message before.
        calls = 2 * (task.leaves - 1)
        return gathered(BEST * (task.leaves - 1), calls, workers, network)
    return gathered(LEAF * task.leaves, 8, workers, network)


def bytes_of(task: Task, mode: str) -> int:
    """Return the bytes that a worker brings to the messages of a tree."""
    if mode == "histogram":
        return histogram_bytes(task)
    return BEST * (task.leaves - 1) if mode == "features" else LEAF * task.leaves


def clock(ends: list[float]) -> Callable[[rr.Round], None]:
    """Return what notes when a round is over."""

    def note(_: rr.Round) -> None:
        ends.append(time.perf_counter())

    return note


def measured_costs(scale: Scale) -> Costs:
    """Measure the constants of computing with one thread."""
    rows, seconds = [], []
    for times, features in ((1, 16), (1, 64), (4, 16), (4, 64)):
        made = rr.datasets.make_polynomial(scale.queries * times, 20, features, seed=3)
        data = rr.Dataset(made.X, made.y, qid=made.qid)
        ends: list[float] = []
        booster = rr.train(
            data,
            num_trees=scale.rounds,
            num_threads=1,
            callbacks=clock(ends),
        )
        seconds.append(float(np.min(np.diff(ends))))
        docs = len(made.y)
        rows.append([docs, docs * features, 30 * features])
    # Each cost is positive; measurements of small sets are too short to show all of them.
    weights = 1 / np.array(seconds)
    found = np.linalg.lstsq(np.array(rows) * weights[:, None], np.ones(len(rows)), rcond=None)[0]
    start = time.perf_counter()
    scores = booster.predict(made.X) / 1.0
    per_tree = (time.perf_counter() - start) / scale.rounds
    start = time.perf_counter()
    rr.evaluate(scores, made.y, qid=made.qid, metrics="ndcg@10", num_threads=1)
    tried = (per_tree + time.perf_counter() - start) / len(made.y)
    doc, cell, column = (max(float(one), 1e-12) for one in found)
    return Costs(doc, cell, column, tried)


# What two workers do.


@dataclass(frozen=True)
class Job:
    """What workers train, with how much latency before each operation."""

    folder: str
    mode: str
    latency: float = 0.0
    workers: int = 2
    trees: int = 6
    leaves: int = 31
    threads: int = 1


def work(job: Job) -> None:
    """Be one of the workers: count and time what each round brings to the messages."""
    from rustrank.distributed import mpi, worker

    class Ranks(mpi.Ranks):
        """Collectives that are counted, and late."""

        said = (0, 0)

        def count(self, more: int) -> None:
            """Count a message."""
            Ranks.said = (Ranks.said[0] + more, Ranks.said[1] + 1)

        def _complete(self, begin: Any, *arguments: Any) -> None:
            if job.latency:
                time.sleep(job.latency)
            super()._complete(begin, *arguments)

        def sum_i64(self, values: memoryview) -> None:
            self.count(values.nbytes)
            super().sum_i64(values)

        def max_f64(self, values: memoryview) -> None:
            self.count(values.nbytes)
            super().max_f64(values)

        def allgather(self, own: bytes) -> list[bytes]:
            self.count(len(own))
            return super().allgather(own)

    rank = mpi.world().rank
    rounds: list[tuple[float, int, int]] = []

    def watching(*_: Any) -> Any:
        return lambda _: rounds.append((time.perf_counter(), *Ranks.said))

    # Seams that only a measurement needs: no option of `train` slows messages down.
    vars(worker).update(Ranks=Ranks, _progress_callback=watching)
    rr.train(
        job.folder,
        workers=job.workers,
        mode=job.mode,
        num_trees=job.trees,
        num_leaves=job.leaves,
        num_threads=job.threads,
        min_leaf_docs=5,
    )
    steps = np.diff(np.array(rounds), axis=0)
    # Others use the machine, too: the quicker rounds say what a round takes.
    told = [*np.quantile(steps[:, 0], [0.25]), *np.median(steps[:, 1:], axis=0)]
    told[1:] = [int(one) for one in told[1:]]
    if rank == 0:
        (Path(job.folder) / "told").write_text(json.dumps([float(told[0]), *told[1:]]))


def worked(job: Job, where: tuple[str, ...] = ()) -> Any:
    """Return the seconds, the bytes and the messages of a tree on workers."""
    from rustrank.distributed.launching import Launcher

    own = [sys.executable, "-m", "mpi4py", str(Path(__file__).resolve())]
    own += ["--work", json.dumps(asdict(job))]
    command = Launcher.found().command(job.workers, False, own)
    full = [*where[:4], command[0], *where[4:], *command[1:]]
    subprocess.run(full, check=True, timeout=300, stdout=subprocess.DEVNULL)  # noqa: S603
    return json.loads((Path(job.folder) / "told").read_text())


def shards(folder: Path, queries: int, features: int) -> Path:
    """Write docs for two workers."""
    file = folder / f"{queries}.txt"
    rr.datasets.make_polynomial(queries, 20, features, seed=4).to_letor(file)
    rr.shard(file, folder / f"{queries}-{features}", shards=2)
    return folder / f"{queries}-{features}"


def counted(folder: Path, scale: Scale) -> str:
    """Compare the bytes of a tree with few docs and ten times as many, and the model's."""
    first, second = (
        worked(Job(str(shards(folder, times * scale.queries, 12)), "histogram"))
        for times in (1, 10)
    )
    task = Task(0, 12, 31)
    model, most = histogram_bytes(task), most_histogram_bytes(task)
    held = model <= second[1] <= first[1] <= most
    said = f"{first[1]:,} and {second[1]:,} with ten times the docs; model {model:,} to {most:,}"
    verdict = "held" if held else "did not hold"
    return f"- bytes of a tree do not grow with the docs: **{verdict}**: {said}"


class Namespaces:
    """Two network namespaces, and a link between them of so many bits per second."""

    def __init__(self, folder: Path, mbits: int) -> None:
        self.names = [f"rr{os.getpid()}a", f"rr{os.getpid()}b"]
        self.mbits = mbits
        self.agent = folder / "agent"
        # Hydra calls it as it would ssh: options, the host, the command.
        self.agent.write_text(
            "#!/bin/sh\n"
            'while [ "${1#-}" != "$1" ]; do shift; done\n'
            f'case "$1" in 10.77.0.1) n={self.names[0]};; *) n={self.names[1]};; esac\n'
            'shift; exec ip netns exec $n sh -c "$*"\n'
        )
        self.agent.chmod(0o755)

    def __enter__(self) -> tuple[str, ...]:
        a, b = self.names
        limit = ["root", "tbf", "rate", f"{self.mbits}mbit", "burst", "64kb", "latency", "400ms"]
        for name in (a, b):
            self.ip("netns", "add", name)
        self.ip(*("link", "add", "v0", "netns", a, "type", "veth", "peer", "v0", "netns", b))
        for at, name in enumerate((a, b), 1):
            self.ip("-n", name, "addr", "add", f"10.77.0.{at}/24", "dev", "v0")
            self.ip("-n", name, "link", "set", "v0", "up")
            self.ip("-n", name, "link", "set", "lo", "up")
            self.ip("netns", "exec", name, "tc", "qdisc", "add", "dev", "v0", *limit)
        # Addresses of version 6 are looked for doubles first.
        time.sleep(3)
        hosts = ["-hosts", "10.77.0.1,10.77.0.2", "-ppn", "1", "-localhost", "10.77.0.1"]
        # On one machine MPICH finds memory to share, namespaces or not.
        tcp = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}
        hosts += [word for name, value in tcp.items() for word in ("-genv", name, value)]
        start = ["-launcher", "ssh", "-launcher-exec", str(self.agent)]
        return ("ip", "netns", "exec", a, *hosts, *start)

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            self.ip("netns", "del", name)

    def ip(self, *arguments: str) -> None:
        """Run a command of iproute2."""
        subprocess.run(["ip", *arguments], check=True)  # noqa: S603, S607


def networked(folder: Path, scale: Scale, costs: Costs) -> None:
    """Compare what two workers do on slow networks with the model."""
    place, task = shards(folder, scale.queries, 64), Task(20.0 * scale.queries, 64, 31)
    print("\n| link | latency | mode | seconds of a tree | model | of it messages |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for mbits in (100, 1000):
        with Namespaces(folder, mbits) as where:
            for mode in MODES:
                for latency in (0.0, 0.002):
                    found = worked(Job(str(place), mode, latency), where)
                    # A collective sleeps once, where the model counts steps.
                    said = Network(0, mbits * 1e6 / 8)
                    late = latency * found[2] * (2 if mode != "histogram" else 1)
                    spoken = talking(task, mode, 2, said) + late
                    model = computing(task, mode, 2, costs) + spoken
                    head = f"| {mbits} Mbit/s | {latency * 1e3:g} ms | {mode} |"
                    print(f"{head} {found[0]:.4f} | {model:.4f} | {spoken:.4f} |", flush=True)


# What the model says.

LAN = Network(50e-6, 1.25e9)
SETS = (
    ("14.5 million x 4000", Task(14.5e6, 4000, 200, threads=8)),
    ("10 billion x 136", Task(1e10, 136, 200, threads=8)),
    ("10 billion x 700", Task(1e10, 700, 200, threads=8)),
)
WORKERS = (1, 32, 128, 512, 1000)


def table(costs: Costs) -> None:
    print("\n| docs x features | mode | MB of a tree |" + "".join(f" K = {K} |" for K in WORKERS))
    print("| --- | --- | ---: |" + " ---: |" * len(WORKERS))
    for name, task in SETS:
        for mode in MODES:
            times = [computing(task, mode, K, costs) + talking(task, mode, K, LAN) for K in WORKERS]
            cells = "".join(f" {_digits(one)} s |" for one in times)
            print(f"| {name} | {mode} | {_digits(bytes_of(task, mode) / 1e6)} |{cells}")


def _digits(value: float) -> str:
    """Return a number with three digits, without an exponent."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 999.5 else f"{value:.3g}"


def draw(costs: Costs, path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    # The same bytes for the same numbers.
    mpl.rcParams["svg.hashsalt"] = "rustrank"
    figure, all_axes = plt.subplots(1, len(SETS), figsize=(11, 3.6), layout="constrained")
    workers = [2**power for power in range(11)]
    for axes, (name, task) in zip(all_axes, SETS, strict=True):
        for mode, line in zip(MODES, ("-", "--", "-.", ":"), strict=True):
            times = [computing(task, mode, K, costs) + talking(task, mode, K, LAN) for K in workers]
            axes.loglog(workers, times, line, label=mode, base=10)
        axes.set_title(f"{name} features", fontsize=10)
        axes.set_xlabel("workers, 8 threads each")
    all_axes[0].set_ylabel("seconds of a tree, model")
    all_axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--figure", metavar="FILE", help="where to draw times by workers")
    parser.add_argument("--network", action="store_true", help="try it in network namespaces")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(Job(**json.loads(args.work)))
        return
    scale = SCALES[args.scale]
    costs = measured_costs(scale)
    print(f"seconds of one thread: a doc {costs.doc:.2e}, a cell {costs.cell:.2e}", end=", ")
    print(f"a column of a split {costs.column:.2e}, a doc tried {costs.tried:.2e}")
    print(f"assumed: latency {LAN.latency:g} s, {LAN.bandwidth:.3g} bytes/s, 200 leaves, 8 threads")
    table(costs)
    with tempfile.TemporaryDirectory() as name:
        if args.network:
            networked(Path(name), scale, costs)
        print("\nWhat held:\n\n" + counted(Path(name), scale))
    if args.figure:
        draw(costs, args.figure)


if __name__ == "__main__":
    main()
