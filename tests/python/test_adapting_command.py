"""`rustrank adapt`, as a shell sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

RUNS = [sys.executable, "-W", "ignore", "-m", "rustrank"]
SMALL = ("--num-trees", 10, "--num-leaves", 4, "--folds", 2, "--threads", 1)


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [*RUNS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapt")
    sets = rr.datasets.make_domains(60, 24, 20, 20, docs_per_query=12, seed=1)
    for name, docs in vars(sets).items():
        # What nobody has measured is 0 in this text.
        filled = rr.datasets.Ranking(np.nan_to_num(docs.X), docs.y, docs.qid, docs.feature_names)
        filled.to_letor(folder / f"{name}.txt")
    there = rr.Dataset.from_letor(folder / "background.txt")
    rr.train(there, num_trees=15, num_leaves=6).save(folder / "base.rrk")
    rr.train(there, num_trees=5, num_leaves=6).save(folder / "small.rrk")
    return folder


def test_it_does_what_python_does(files: Path, tmp_path: Path) -> None:
    best, every = tmp_path / "best.rrk", tmp_path / "every"
    options = ["--valid-closed", files / "valid_closed.txt", "--save", best, "--save-all", every]
    options += ["--valid-open", files / "valid_open.txt", "--recipes", "trees, interpolate,refit"]
    done = run("adapt", files / "base.rrk", files / "target.txt", *options, *SMALL, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    sets = [
        tuple(rr.datasets.read_letor(files / f"{name}.txt"))
        for name in ("target", "valid_closed", "valid_open")
    ]
    found = rr.adapt(
        rr.Booster.load(files / "base.rrk"),
        sets[0],
        valid_closed=sets[1],
        valid_open=sets[2],
        recipes=["trees", "interpolate", "refit"],
        held_out=2,
        trees={"num_trees": 10, "num_leaves": 4},
    )
    assert told == found.to_dict()
    assert rr.Booster.load(best) == found.booster
    names = ["base", "interpolate", "refit", "trees"]
    assert sorted(file.name for file in every.iterdir()) == [f"{name}.rrk" for name in names]


def test_several_models_are_adapted_and_shown(files: Path) -> None:
    options = ["--also", files / "small.rrk", "--recipes", "interpolate"]
    done = run("adapt", files / "base.rrk", files / "test_closed.txt", *options, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "interpolate all" in done.stdout
    assert "closed ndcg@10" in done.stdout


def test_what_is_wrong_is_told_in_a_line(files: Path) -> None:
    target, base = files / "target.txt", files / "base.rrk"
    wrong: list[tuple[list[Any], int, str]] = [
        (["--recipes", "boil"], 2, "'boil', expected some of target, trees"),
        (["--recipes", "grow"], 2, "it needs `background`"),
        (["--also", base], 2, "two models are called the same"),
        (["--folds", 1], 2, "held_out: got 1"),
        (["--valid-open", files / "none.txt"], 66, "none.txt"),
    ]
    for more, code, said in wrong:
        done = run("adapt", base, target, *more, "--no-progress")
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
        assert said in done.stderr
