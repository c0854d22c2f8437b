"""``compare.py choice``: whether the default call chooses the same preset for resampled queries.

For each set, `rr.train` chooses settings for the training queries of a fold, and again for bootstrap samples of them.
A good rule seldom chooses otherwise.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr
from versus.folds import DATA, MADE, SETS, Docs, read_fold
from versus.process import machine, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

#: The largest share of samples for which another preset may be chosen.
_MOST_FLIPS = 0.1


def resampled(docs: Docs, times: int) -> Iterator[Docs]:
    """Yield the docs, and bootstrap samples of their queries."""
    yield docs
    ends = np.cumsum(docs.group)
    starts = ends - docs.group
    for seed in range(times):
        drawn = np.random.default_rng(seed).integers(len(docs.group), size=len(docs.group))
        rows = np.concatenate([np.arange(starts[one], ends[one]) for one in drawn])
        yield Docs(docs.X[rows], docs.y[rows], docs.group[drawn])


def choice(args: argparse.Namespace) -> bool:
    print(f"{args.times} bootstrap samples of queries; {machine()}\n")
    print("| set | preset | chosen for samples | flips | trees, 10 % to 90 % |")
    print("| --- | --- | --- | ---: | ---: |")
    passed = True
    for name in args.sets:
        began, presets, trees = time.perf_counter(), [], []
        for docs in resampled(read_fold(name, 1, args.data).train, args.times):
            data = rr.Dataset(docs.X, docs.y, group=docs.group)
            chosen = rr.train(data, num_threads=args.threads, progress=False).chosen
            assert chosen is not None  # noqa: S101 - nothing is set
            presets.append(chosen["options"]["preset"])
            trees.append(chosen["options"]["num_trees"])
        others = Counter(presets[1:])
        flips = 1 - others[presets[0]] / args.times
        low, high = np.quantile(trees[1:], [0.1, 0.9])
        shown = ", ".join(f"{preset} {count}" for preset, count in others.most_common())
        print(
            f"| {name} | {presets[0]} | {shown} | {flips:.0%} | {low:.0f} to {high:.0f} |",
            flush=True,
        )
        passed = passed and flips <= _MOST_FLIPS
        say(f"{name}: {time.perf_counter() - began:.0f} s")
    return passed


def add_choice(parser: argparse.ArgumentParser) -> None:
    every = [*SETS, *MADE]
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real sets")
