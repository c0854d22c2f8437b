"""Ratios against LightGBM, XGBoost and CatBoost, all measured in one run on one machine.

``compare.py load``        a data set from a matrix and from text: CPU time, peak of memory
``compare.py train``       time a tree, 100 trees from a matrix, peak of memory
``compare.py quality``     NDCG@10 on real folds, one grid for every engine
``compare.py untuned``     the same where nothing is set, and `rr.auto` for a given time
``compare.py choice``      whether the default call's choice is the same for resampled queries
``compare.py polynomial``  NDCG at the first paper's settings on its artificial data
``compare.py score``       time to score 1 to 1000 docs
``compare.py nets``        time an epoch of a LambdaRank net, against PyTorch

Each prints tables in Markdown; with ``--check`` it exits with 1 below a bar.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def measured(kind: str, job: dict[str, Any]) -> Any:
    """Do one job: this is the measured process."""
    if kind == "load":
        from versus.loading import measure
    elif kind == "nets":
        from versus.nets import measure
    else:
        from versus.training import measure
    return measure(job)


def quiet_threads(threads: int) -> None:
    """Let the peers' threads sleep: read when their libraries are first loaded."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


def in_folder(
    command: Callable[[argparse.Namespace, Path], bool],
) -> Callable[[argparse.Namespace], bool]:
    """Give a command a folder to write data to: the one asked for, or one that goes away."""

    def run(args: argparse.Namespace) -> bool:
        if args.folder:
            args.folder.mkdir(parents=True, exist_ok=True)
            return command(args, args.folder)
        with tempfile.TemporaryDirectory(prefix="rustrank-bench-") as folder:
            return command(args, Path(folder))

    return run


def parser() -> argparse.ArgumentParser:
    from versus.choice import add_choice, choice
    from versus.loading import add_load, load
    from versus.nets import add_nets, nets
    from versus.polynomial import add_polynomial, polynomial
    from versus.quality import add_quality, quality
    from versus.scoring import add_score, score
    from versus.training import add_train, train
    from versus.untuned import add_untuned, untuned

    plain = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    commands = made.add_subparsers(dest="command", required=True)
    for name, add, run, help_ in (
        ("load", add_load, in_folder(load), "data set construction, matrix and text"),
        ("train", add_train, in_folder(train), "time a tree, end to end, memory"),
        ("quality", add_quality, quality, "NDCG@10 on real folds"),
        ("untuned", add_untuned, untuned, "the same where nothing is set"),
        ("choice", add_choice, choice, "flips of the default call's choice"),
        ("polynomial", add_polynomial, polynomial, "NDCG on the first paper's artificial data"),
        ("score", add_score, score, "time to score docs"),
        ("nets", add_nets, in_folder(nets), "time an epoch of a net, against PyTorch"),
    ):
        command = commands.add_parser(name, help=help_)
        add(command)
        command.add_argument("--check", action="store_true", help="exit 1 below a bar")
        command.set_defaults(run=run, folder=None)
        if name in ("load", "train", "nets"):
            command.add_argument("--folder", type=Path, help="where to write data (temporary)")
    return made


def main(argv: list[str]) -> int:
    # Of constant features, which every real set has, many times over.
    warnings.filterwarnings("ignore", module="versus")
    if argv[:1] == ["--measure"]:
        kind, job = argv[1:]
        print(json.dumps(measured(kind, json.loads(job))))
        return 0
    args = parser().parse_args(argv)
    if args.command in ("quality", "untuned", "polynomial"):
        quiet_threads(args.threads)
    passed = args.run(args)
    return 1 if args.check and not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
