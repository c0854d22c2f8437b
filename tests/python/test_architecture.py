"""ARCHITECTURE.md names files that exist, and is short."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "ARCHITECTURE.md", ROOT / "docs" / "reference" / "where-to-change.md")
#: A path from the root of the repository, to a file or, with a slash at the end, to a folder.
PATH = re.compile(r"`((?:src|python|tests|benches|examples|docs|scripts)/[\w./-]*)`")


def missing(text: str) -> list[str]:
    """Return the paths in a text at which there is nothing."""
    return [path for path in PATH.findall(text) if not (ROOT / path).exists()]


def test_the_pages_name_files_that_exist() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert len(PATH.findall(text)) > 10, page
        assert missing(text) == [], page


def test_a_file_that_does_not_exist_is_found() -> None:
    assert missing("see `src/metric/nothing.rs` and `src/metric/`") == ["src/metric/nothing.rs"]


def test_the_glossary_has_few_words_of_our_own() -> None:
    text = PAGES[0].read_text("utf-8")
    glossary = text.split("# Glossary")[1].split("# Limitations")[0]
    assert "The words of the last two rows are our own" in glossary
    rows = [line for line in glossary.splitlines() if line.startswith("| ")]
    own = [word for row in rows[-2:] for word in row.split("|")[1].split(",")]
    assert len(own) < 10
