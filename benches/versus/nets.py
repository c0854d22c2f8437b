"""``compare.py nets``: time an epoch of a LambdaRank net, ours and PyTorch's, on the same cores.

The same net on the same docs: the same pairs, the same weights of pairs, the same optimiser, the same
queries a step. PyTorch need not be in our environment: ``--torch-python`` names an interpreter
that has it. Engines take turns, and of all epochs the least counts; the NDCG@10 that both reach on
the training set says that they do the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from versus.process import machine, run_measured, say

if TYPE_CHECKING:
    import argparse

#: We take at most this share of PyTorch's time.
BAR = 0.5


def add_nets(command: argparse.ArgumentParser) -> None:
    command.add_argument("--docs", type=int, default=700_000)
    command.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    command.add_argument("--batch", type=int, nargs="+", default=[1, 32], help="queries a step")
    command.add_argument("--hidden", type=int, nargs="*", default=[10])
    command.add_argument("--epochs", type=int, default=2)
    command.add_argument("--optimiser", default="adam")
    command.add_argument("--torch-python", default=sys.executable)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Train ours, an epoch at a time."""
    from rustrank import _rustrank
    from rustrank.estimators.fitting import FitData
    from rustrank.inputs.tables import as_table

    folder = Path(job["folder"])
    X, y, sizes = (np.load(folder / f"{name}.npy") for name in ("X", "y", "sizes"))
    net = rr.LambdaRank(
        hidden=job["hidden"],
        epochs=job["epochs"],
        learning_rate=job["learning_rate"],
        optimiser=job["optimiser"],
        schedule="constant",
        inputs="plain",
        weight_decay=0.0,
        batch_queries=job["batch_queries"],
        n_jobs=job["threads"],
    )
    begun = time.perf_counter()
    values = FitData(as_table(X), y, group=sizes).values(job["threads"])
    params = net._checked(objective="lambdamart")
    plan = SimpleNamespace(params=params, valid=[], metrics=[params["metric"]], preferences=None)
    trainer = _rustrank.Trainer.net(values, plan)
    prepared = time.perf_counter() - begun
    epochs, cpu = [], []
    for _ in range(job["epochs"]):
        begun, used = time.perf_counter(), time.process_time()
        trainer.next_round()
        epochs.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    scores = rr.Booster._of(trainer.booster_at(trainer.num_rounds)).predict(X)
    value = float(rr.evaluate(scores, y, group=sizes)["ndcg@10"])
    return {"prepared": prepared, "epochs": epochs, "cpu": cpu, "value": value}


def measure_torch(job: dict[str, Any], python: str) -> dict[str, Any]:
    """Train PyTorch's in an interpreter that has it."""
    script = Path(__file__).with_name("torch_nets.py")
    env = {**os.environ, "OMP_NUM_THREADS": str(job["threads"]), "OMP_WAIT_POLICY": "PASSIVE"}
    env.pop("PYTHONPATH", None)
    command = [python, str(script), job["folder"], json.dumps(job)]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    folder = Path(job["folder"])
    scores, y, sizes = (np.load(folder / f"{n}.npy") for n in ("torch_scores", "y", "sizes"))
    told["value"] = float(rr.evaluate(scores, y, group=sizes)["ndcg@10"])
    return told


def nets(args: argparse.Namespace, folder: Path) -> bool:
    data = rr.datasets.make_web(num_queries=max(1, args.docs // 120), seed=0)
    docs = len(data.y)
    say(f"{docs} docs, {data.X.shape[1]} features")
    np.save(folder / "X.npy", data.X)
    np.save(folder / "y.npy", data.y)
    np.save(folder / "sizes.npy", data.group)
    layers = " x ".join(map(str, (data.X.shape[1], *args.hidden, 1)))
    print(f"{machine()}; {docs} docs, {layers}, {args.optimiser}\n")
    print("| threads | queries a step | | prepare | epoch | CPU | us a doc | NDCG@10 | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    passed = True
    for threads in args.threads:
        for batch in args.batch:
            job = {
                "folder": str(folder),
                "hidden": args.hidden,
                "epochs": args.epochs,
                "learning_rate": 1e-3,
                "optimiser": args.optimiser,
                "batch_queries": batch,
                "threads": threads,
            }
            ours = run_measured("nets", job, threads)
            theirs = measure_torch(job, args.torch_python)
            ratio = min(ours["epochs"]) / min(theirs["epochs"])
            passed &= ratio <= BAR
            for name, told in (("rustrank", ours), (f"torch {theirs['torch']}", theirs)):
                epoch = min(told["epochs"])
                shown = f"{ratio:.3f}" if told is ours else ""
                print(
                    f"| {threads} | {batch} | {name} | {told['prepared']:.1f} s | {epoch:.2f} s | "
                    f"{min(told['cpu']):.2f} s | {1e6 * epoch / docs:.2f} | {told['value']:.4f} | {shown} |"
                )
    return passed
