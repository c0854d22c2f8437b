"""The tour runs to its end and leaves pages."""

import subprocess
import sys
from pathlib import Path

import html5lib

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_tour_ends_with_pages(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(DEMO), str(tmp_path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    page = tmp_path / "index.html"
    assert done.stdout.endswith(f"Look at {page}\n")
    assert "have 1 set of bits" in done.stdout
    assert "LambdaMART is better than linear model" in done.stdout
    made = {file.name for file in tmp_path.iterdir()}
    assert made == {"index.html", "report.html", "adapted.html", "web.rrk", "adapted.rrk"}
    for name in ("index.html", "report.html", "adapted.html"):
        parser = html5lib.HTMLParser()
        parser.parse((tmp_path / name).read_text("utf-8"))
        assert parser.errors == []
    text = page.read_text("utf-8")
    assert 'class="fitted"' in text
    assert 'href="report.html"' in text
    assert "$" not in text
