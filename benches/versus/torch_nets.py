"""A LambdaRank net in PyTorch, timed: a script for an interpreter that has torch and numpy.

``torch_nets.py FOLDER JOB`` reads ``X.npy``, ``y.npy`` and ``sizes.npy`` from the folder and prints
the time of each epoch. Written for speed: the docs of a batch go through the net as one matrix,
without padding; the lambdas of all queries of a batch are a few operations on padded blocks of the
first ranks by all ranks, the same pairs and the same weights as ours; the backward pass starts from
them. Nothing loops over docs or queries but the batches themselves.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

#: Pairs count if one of their docs has at most this rank.
DEPTH = 30


def lambdas(scores: Any, gains: Any, real: Any, ideal: Any) -> Any:
    """The gradient of each doc: a row a query, with pads that are not real."""
    order = scores.masked_fill(~real, -torch.inf).argsort(dim=1, descending=True)
    s, g, r = (values.gather(1, order) for values in (scores, gains, real))
    ranks = torch.arange(s.shape[1])
    discounts = 1.0 / torch.log2(ranks + 2.0)
    top = min(DEPTH, s.shape[1])
    gap = g[:, :top, None] - g[:, None, :]
    delta = (gap * (discounts[:top, None] - discounts[None, :])).abs_() / ideal[:, None, None]
    # The upper doc of a pair is the better one or the worse one.
    sign = gap.sign()
    force = torch.sigmoid(-sign * (s[:, :top, None] - s[:, None, :])) * delta * sign
    force *= (ranks[None, :] > ranks[:top, None]) & r[:, :top, None] & r[:, None, :]
    grads = force.sum(1)
    grads[:, :top] -= force.sum(2)
    return torch.zeros_like(grads).scatter_(1, order, grads)


class Batches:
    """All queries with two gains, in batches of an order that is drawn anew."""

    def __init__(self, folder: Path, size: int) -> None:
        X = np.load(folder / "X.npy", mmap_mode="r")
        gains = np.exp2(np.load(folder / "y.npy").astype(np.float64)) - 1.0
        self.sizes = np.load(folder / "sizes.npy")
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.X = torch.from_numpy(np.array(X, np.float32))
        mean, scale = (torch.from_numpy(stat(X, axis=0)) for stat in (np.nanmean, np.nanstd))
        self.X = ((self.X - mean) / scale.clamp_min(1e-20)).clamp_(-10.0, 10.0).nan_to_num_(0.0)
        self.gains = torch.from_numpy(gains.astype(np.float32))
        self.size = size
        least, most = (ufunc.reduceat(gains, self.starts) for ufunc in (np.minimum, np.maximum))
        self.useful = np.flatnonzero(least != most)
        self.ideal = torch.tensor([self._ideal(query) for query in range(len(self.sizes))])

    def _ideal(self, query: int) -> float:
        start = self.starts[query]
        gains = np.sort(self.gains[start : start + self.sizes[query]].numpy())[::-1]
        return max(float((gains / np.log2(np.arange(len(gains)) + 2.0)).sum()), 1e-30)

    def epoch(self, rng: np.random.Generator) -> Any:
        """Yield the rows of a batch, their gains in padded rows, which are real, and ideals."""
        order = rng.permutation(self.useful)
        for first in range(0, len(order), self.size):
            queries = order[first : first + self.size]
            ideal = self.ideal[queries]
            if len(queries) == 1:
                rows = slice(
                    self.starts[queries[0]], self.starts[queries[0]] + self.sizes[queries[0]]
                )
                gains = self.gains[rows][None]
                yield self.X[rows], gains, torch.ones_like(gains, dtype=torch.bool), ideal
                continue
            sizes = torch.from_numpy(self.sizes[queries])
            real = torch.arange(int(sizes.max()))[None] < sizes[:, None]
            at = torch.from_numpy(
                np.concatenate(
                    [np.arange(self.starts[q], self.starts[q] + self.sizes[q]) for q in queries]
                )
            )
            gains = torch.zeros(real.shape).masked_scatter_(real, self.gains[at])
            yield self.X[at], gains, real, ideal


def main(folder: Path, job: dict[str, Any]) -> None:
    torch.set_num_threads(job["threads"])
    torch.manual_seed(0)
    begun = time.perf_counter()
    batches = Batches(folder, job["batch_queries"])
    layers: list[Any] = []
    width = batches.X.shape[1]
    for units in job["hidden"]:
        layers += [torch.nn.Linear(width, units), torch.nn.Tanh()]
        width = units
    net = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1, bias=False))
    made = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[job["optimiser"]]
    optimiser = made(net.parameters(), lr=job["learning_rate"])
    rng = np.random.default_rng(0)
    prepared = time.perf_counter() - begun
    epochs, cpu = [], []
    for _ in range(job["epochs"]):
        begun, used = time.perf_counter(), time.process_time()
        for rows, gains, real, ideal in batches.epoch(rng):
            scores = net(rows)[:, 0]
            with torch.no_grad():
                padded = torch.zeros(real.shape).masked_scatter_(real, scores)
                grads = lambdas(padded, gains, real, ideal)[real] / len(gains)
            optimiser.zero_grad(set_to_none=True)
            scores.backward(grads)
            optimiser.step()
        epochs.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    with torch.no_grad():
        np.save(folder / "torch_scores.npy", net(batches.X)[:, 0].numpy().astype(np.float64))
    print(
        json.dumps({"prepared": prepared, "epochs": epochs, "cpu": cpu, "torch": torch.__version__})
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
