"""Draw the pictures of a report that the README and the site show, light and dark.

`make picture` runs it: the same pictures for the same fonts and browser.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from browser import browser

import rustrank as rr

FOLDER = Path(__file__).parents[1] / "docs" / "how-to"
#: Of the page in pixels, wide enough for its tables.
WIDTH = 1060
#: The last section that is shown.
LAST = "chance"


def write_report(path: Path) -> None:
    """Write a report that compares two rankers and a feature."""
    train, valid, test = (
        rr.datasets.make_web(num, seed=1, first_query=first)
        for num, first in ((300, 0), (100, 1000), (200, 2000))
    )
    dataset = rr.Dataset(train.X, train.y, qid=train.qid, feature_names=train.feature_names)
    watched = {"valid": rr.Dataset(valid.X, valid.y, qid=valid.qid, like=dataset)}
    shared: dict[str, Any] = {
        "num_trees": 100,
        "num_leaves": 15,
        "valid": watched,
        "early_stopping": 20,
    }
    rankers = {
        "bm25": test.X[:, test.feature_names.index("whole_bm25")],
        "mart": rr.train(dataset, objective="regression", **shared),
        "lambdamart": rr.train(dataset, **shared),
    }
    title = "Three rankers of web search"
    rr.report(rankers, test.y, X=test.X, qid=test.qid, path=path, title=title)


def main() -> None:
    """Write both pictures."""
    warnings.simplefilter("ignore", rr.RustrankWarning)
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        path = Path(folder) / "report.html"
        write_report(path)
        for scheme in ("light", "dark"):
            view = {"width": WIDTH, "height": 800}
            page = started.new_page(color_scheme=scheme, viewport=view)
            page.goto(path.as_uri())
            last = page.locator(f"section[aria-labelledby={LAST}]").bounding_box()
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": last["y"] + last["height"] + 10}
            page.screenshot(path=FOLDER / f"report-{scheme}.png", full_page=True, clip=clip)


if __name__ == "__main__":
    main()
