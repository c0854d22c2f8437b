"""The tour runs to its end and leaves a page."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_tour_ends_with_a_page(tmp_path: Path) -> None:
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
    text = page.read_text("utf-8")
    assert text.count('class="row c') == 4 * 6
    assert "LambdaMART is better than linear model" in text
    assert 'class="fitted"' in text
    assert "$" not in text
