"""The README's code runs, and the commands it names exist."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("ignore:4 of 136 features:rustrank.RustrankWarning")
def test_python_blocks_run_one_after_the_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks("python")):
        exec(compile(block, f"README.md, block {number}", "exec"), names)  # noqa: S102
    assert len(blocks("python")) == 6
    assert (tmp_path / "report.html").exists()
    assert "NDCG@10 0." in capsys.readouterr().out


def test_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = re.findall(r"^make ([a-z-]+)", "\n".join(blocks("sh")), re.MULTILINE)
    assert named == ["demo", "test"]
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE) or f" {target} " in makefile


def test_pictures_are_there_and_small() -> None:
    pictures = re.findall(r'src(?:set)?="([^"]+)"', README)
    assert len(pictures) == 2
    for name in pictures:
        assert (ROOT / name).stat().st_size < 300_000


def test_linked_files_exist() -> None:
    linked = re.findall(r"\]\(([A-Z]+\.md)\)", README)
    assert linked
    for name in linked:
        assert (ROOT / name).is_file()
