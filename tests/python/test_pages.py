"""The check of pages in a browser finds planted faults; `make pages` runs it where there is a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_pages.py"
GOOD = """<!DOCTYPE html><html lang="en"><head><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width"><title>a page</title></head>
<body><h1>A page</h1><p>Text.</p>{}</body></html>"""
#: What is wrong, and how the check names it.
PLANTED = {
    '<div style="width: 1000px">wide</div>': "390 wide): overflow: the page is",
    '<img src="nothing.png" alt="nothing">': "image: nothing.png is not there",
    '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">': "has no text for those",
    "<script>console.error('oh')</script>": "console: oh",
    "<script>no_function()</script>": "no_function is not defined",
    '<p style="color: #888; background: #999">grey</p>': "contrast: 1.2",
    '<p style="color: #111; background: #fff; opacity: .3">faint</p>': "contrast: 1.",
    '<p style="color: #fff">white</p>': "(light, 1400 wide; light, 390 wide): contrast: 1.00",
    "<h1>Again</h1>": "headings: got 2",
}


def faults(folder: Path, *pages: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("playwright")
    for number, inside in enumerate(pages):
        (folder / f"{number}.html").write_text(GOOD.format(inside), "utf-8")
    command = [sys.executable, str(SCRIPT), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_planted_faults_are_found(tmp_path: Path) -> None:
    done = faults(tmp_path, *PLANTED)
    assert done.returncode == 1
    for number, fault in enumerate(PLANTED.values()):
        of_page = [line for line in done.stdout.splitlines() if f"/{number}.html" in line]
        assert any(fault in line for line in of_page), (fault, of_page)


def test_a_good_page_has_no_faults(tmp_path: Path) -> None:
    scrolls = '<div style="overflow-x: auto"><div style="width: 2000px">wide</div></div>'
    done = faults(tmp_path, scrolls, '<p style="color: #767676; background: #fff">grey</p>')
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 pages in 2 schemes and 2 widths: 0 faults" in done.stdout
