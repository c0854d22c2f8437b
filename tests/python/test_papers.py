"""The scripts for the papers' findings run to their ends, small."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rustrank as rr

PAPERS = Path(__file__).parents[2] / "examples" / "papers"


def run(script: str, *arguments: Any) -> str:
    command = [sys.executable, "-W", "error", str(PAPERS / script), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_adaptation_prints_tables_beside_the_papers(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    said = run("adaptation.py", "--scale", "tiny", "--figure", tmp_path / "figure4.png")
    assert said.count("| Back. |") == 2
    assert "| 0.5042 | 0.5449 | 0.5951 | 0.5623 |" in said, "the paper's LambdaSMART, closed"
    assert "| 4W-Interp. |" in said
    assert "λ-SMART is the best, closed: **" in said
    assert (tmp_path / "figure4.png").stat().st_size > 1000


def test_adaptation_reads_real_folds(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    sets = [
        rr.datasets.make_domains(10, 10, 2, 2, docs_per_query=10, seed=7 + part)
        for part in range(5)
    ]
    for name in ("background", "target"):
        folder = tmp_path / name
        folder.mkdir()
        for part, made in enumerate(sets):
            docs = made.background if name == "background" else sets[part].target
            docs.to_letor(folder / f"part{part + 1}.txt")
    said = run(
        "adaptation.py",
        *("--background", tmp_path / "background", "--target", tmp_path / "target"),
        *("--scale", "tiny"),
    )
    assert "background to target, five folds: closed" in said
    assert "| λ-SMART |" in said


def test_mcrank_prints_a_table_beside_the_papers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure2.png"
    small = ("--queries", 40, "--rounds", 5, "--epochs", 1)
    said = run("mcrank.py", *small, "--picture", picture)
    assert "McRank: " in said
    assert "| 87.9 (0.16) |" in said, "the paper's LambdaMART"
    assert "order: ndcg@10 " in said
    assert picture.stat().st_size > 1000
