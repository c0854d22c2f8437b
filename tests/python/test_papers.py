"""The scripts for the papers' findings run to their ends, small."""

import re
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
    picture = tmp_path / "figure4.svg"
    said = run("adaptation.py", "--scale", "tiny", "--figure", picture)
    for table in (
        *(
            f"Gao and others, Table {place}: one background, {queries} queries of the target"
            for place in ("3, closed", "4, open")
            for queries in (20, 8)
        ),
        *("Gao and others, Tables 5, 7, 9 and 11", "Gao and others, Tables 6, 8, 10 and 12"),
        *(f"Wu and others, Table {number}: " for number in (3, 4, 5)),
        *(f"Gao and others, Figure 4 ({part}, 20 queries" for part in ("a) closed", "b) open")),
        *(f"Gao and others, Figure 4 ({letter}) open, " for letter in "def"),
    ):
        assert said.count(table) == 1, table
    # The papers' algorithm and ours, in Tables 3 and 4; 3W is in Figure 4 too.
    assert said.count("\n| Back. |") == said.count("\n| 3W-Interp. |") - 4 == 4
    assert said.count("\n| ours: 3W-Interp. |") == 4
    assert "| 0.5042 | 0.5449 | 0.5951 | 0.5623 |" in said, "Gao's LambdaSMART, closed"
    assert "| 0.7070 | 0.6230 | 0.5540 |" in said, "Wu's LambdaSMART over a net"
    assert "| 0.6140 | 0.5690 | 0.5840 |" in said, "Wu's net of the target"
    assert "| 0.6150 | 0.5710 | 0.5880 |" in said, "Wu's interpolation"
    # Half of the 95% interval.
    assert re.search(r"^\| λ-SMART \|.* ± 0\.\d{4} \|", said, re.MULTILINE)
    assert 1000 < picture.stat().st_size < 60_000
    # Verdicts on the papers' algorithms, and apart from them on ours.
    found = held(said)
    for claim in ("20 queries: λ-SMART is the best, closed", "table 5: λ-SMART beats its base"):
        assert {claim, f"ours: {claim}"} <= set(found)
    assert "8 queries: (a) more leaves are better, closed, without draws: 1, 2, 5, 20" in found
    chosen = said.partition("Chosen on the validation queries, names, 20 queries:")[2]
    assert re.search(r"^- Back\.: rate 0\.01, \d epochs$", chosen, re.MULTILINE), "a net"
    assert re.search(r"^- λ-SMART: \d+ trees of \d+ leaves, rate 0\.[15]$", chosen, re.MULTILINE)


def test_adaptation_studies_the_settings_chosen_in_the_paper() -> None:
    found = held(run("adaptation.py", "--scale", "tiny", "--study", "--log-inputs", "--drift", 1))
    assert len(found) == 8
    assert "8 queries: 2W-interpolation beats λ-SMART, all M trees, open" in found


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
    assert "background to target, five folds, as Table 3, closed" in said
    assert said.count("\n| λ-SMART |") == said.count("\n| ours: λ-SMART |") == 2


def test_every_script_has_scales_and_says_what_held() -> None:
    papers = sorted(PAPERS.glob("*.py"))
    assert [path.stem for path in papers] == [
        "adaptation",
        "ensemble",
        "exact_step",
        "local_optimum",
        "mcrank",
        "scale",
        "selections",
        "workers",
    ]
    for path in papers:
        text = path.read_text("utf-8")
        assert '"--scale", choices=SCALES' in text, path.name
        assert "What held" in text, path.name
        assert all(f'"{scale}": ' in text for scale in ("tiny", "small", "paper")), path.name


def held(said: str) -> dict[str, str]:
    """Return the verdict on each claim."""
    lines = said.partition("What held:")[2].splitlines()
    claims = [line[2:].split(": **") for line in lines if line.startswith("- ") and "**" in line]
    return {claim: rest.partition("**")[0] for claim, rest in claims}


def test_mcrank_prints_a_table_beside_the_papers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure2.png"
    said = run("mcrank.py", "--scale", "tiny", "--picture", picture)
    assert "McRank: " in said
    assert "| 87.9 (0.16) |" in said, "the paper's LambdaMART"
    assert "order: ndcg@10 McRank > λ-MART > λ-Rank" in said
    # With so few rounds, McRank's five trees a round are ahead of the paper's LambdaMART.
    assert held(said)["λ-MART beats McRank, at 10, 3 and 1"] == "did not hold"
    assert held(said)["our default beats McRank, at 10, 3 and 1"] == "held"
    assert picture.stat().st_size > 1000


def test_mcrank_reads_noisy_and_real_data_and_asks_what_decides(tmp_path: Path) -> None:
    said = run("mcrank.py", "--scale", "tiny", "--data", "noisy", "--queries", 80, "--study")
    assert said.count("| least_squares |") == said.count("| second_order |") == 6
    for part in range(1, 6):
        rr.datasets.make_polynomial(30, seed=part).to_letor(tmp_path / f"part{part}.txt")
    said = run("mcrank.py", "--scale", "tiny", "--data", tmp_path)
    assert "| 69.3 (0.46) |" in said, "the paper's LambdaMART on Web-1"


def test_the_exact_step_is_drawn_beside_newtons(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure3.png"
    said = run("exact_step.py", picture, "--queries", 800, "--trees", 60, "--draws", 2)
    found = held(said)
    for of in ("train", "test"):
        for step in ("exact, as in the paper", "exact on Newton leaves"):
            for newton in ("Newton, rate 0.1", "Newton, rate 1"):
                assert f"the step '{step}' converges faster than '{newton}', {of}" in found
    # The paper's Newton curve is that of its rate of 0.1.
    claim = "the step 'exact on Newton leaves' converges faster than 'Newton, rate 0.1', train"
    assert found[claim] == "held"
    assert picture.stat().st_size > 1000


def test_the_two_layer_net_ends_at_a_local_optimum() -> None:
    said = run("local_optimum.py", "--scale", "tiny")
    found = held(said)
    for net in ("two-layer LambdaRank", "two-layer LambdaRank by Adam"):
        assert found[f"{net} ends where NDCG rises along no direction"] == "held"
    assert len(found) == 5


def test_selections_of_real_workers_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure.png"
    said = run("selections.py", "--scale", "tiny", "--figure", picture, "--sweep")
    found = held(said)
    assert len(found) == 3
    assert found["full and sample selection are alike (figures 1.4 to 1.6)"] == "held"
    assert "| full, K = 2, 40 each | 0.15 | 6 |" in said, "table 1.1"
    assert picture.stat().st_size > 1000


def test_workers_of_mpi_are_timed_by_mode(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("mpi4py", reason="make test installs mpi4py and mpich")
    picture = tmp_path / "figure.png"
    said = run("workers.py", "--scale", "tiny", "--figure", picture)
    assert all(f"| {mode} |" in said for mode in ("histogram", "features", "sample-selection"))
    # Too short to tell: nothing is claimed of noise.
    assert set(held(said).values()) == {"not clear"}
    assert len(held(said)) == 6
    assert picture.stat().st_size > 1000


def test_the_model_of_scale_counts_messages_as_the_core_does(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "scale.svg"
    said = run("scale.py", "--scale", "tiny", "--figure", picture)
    assert held(said)["bytes of a tree do not grow with the docs"] == "held"
    assert 1000 < picture.stat().st_size < 200_000


def test_the_ensemble_prints_three_tables_beside_the_papers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure1.png"
    said = run(
        *("ensemble.py", "--scale", "tiny", "--figure", picture),
        *("--directory", tmp_path / "fits", "--json", tmp_path / "all.json"),
    )
    for number in (1, 2, 3):
        assert f"Table {number}: " in said
    assert "| 0.4657 |" in said, "the paper's ensemble"
    assert "M12: MART, normalised within queries" in said
    assert "models 2 and 4 of table 1" in said
    found = held(said)
    assert len(found) == 9
    best = [claim for claim in found if claim.startswith("the average beats the member that is")]
    assert {found[claim] for claim in best} <= {"held", "not clear"}
    assert len(list((tmp_path / "fits").iterdir())) == 2
    assert picture.stat().st_size > 1000


def test_the_ensemble_reads_real_folds(tmp_path: Path) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    for part in range(5):
        docs = rr.datasets.make_polynomial(20, 8, 6, seed=1, first_query=20 * part)
        docs.to_letor(folder / f"part{part + 1}.txt")
    said = run("ensemble.py", "--scale", "tiny", "--data", folder, "--defaults")
    assert "## web: 100 test queries" in said
    assert said.count("web, fold ") == 5
