"""Open every page of the site, and a report, in a browser, and name what is wrong.

Light and dark, wide and narrow: pages that are wider than the window, images that are not there or have no
text, errors of scripts, text that is hard to read on its background. `make pages` builds the site and runs it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import browser, served

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMES, WIDTHS = ("light", "dark"), (1400, 390)
FAULTS = Path(__file__).with_name("check_pages.js").read_text("utf-8")
#: The most that a screenshot shows of a page.
HIGHEST = 30_000


def pages_of(folder: Path) -> list[str]:
    """Return the pages of a folder by their paths."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))


def faults_of(page: Any, address: str) -> list[str]:
    """Open an address, and return what is wrong with the page."""
    heard: list[str] = []

    def hear(message: Any) -> None:
        if message.type in ("error", "warning"):
            heard.append(f"console: {message.text}")

    def fail(request: Any) -> None:
        heard.append(f"request: {request.url} failed")

    listeners = {
        "console": hear,
        "requestfailed": fail,
        "pageerror": lambda e: heard.append(str(e)),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    # Without its animations: colours that are on their way are not what stays.
    page.emulate_media(reduced_motion="reduce")
    page.goto(address, wait_until="networkidle")
    # Images are loaded when they come into view.
    page.evaluate("document.querySelectorAll('img').forEach(one => one.loading = 'eager')")
    page.wait_for_function("[...document.images].every(one => one.complete)")
    found: list[str] = page.evaluate(FAULTS)
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return heard + found


def looks(folder: Path, screenshots: Path | None) -> Iterator[tuple[str, str, list[str]]]:
    """Open each page in each scheme and width; yield its path, how it was opened, and its faults."""
    with served(folder) as address, browser() as started:
        for scheme in SCHEMES:
            for width in WIDTHS:
                how = f"{scheme}, {width} wide"
                context = started.new_context(
                    color_scheme=scheme, viewport={"width": width, "height": 900}
                )
                page = context.new_page()
                for path in pages_of(folder):
                    yield path, how, faults_of(page, f"{address}/{path}")
                    if screenshots is not None:
                        name = f"{folder.name}_{path}".replace("/", "_").removesuffix(".html")
                        shot = screenshots / f"{name}_{scheme}_{width}.png"
                        height = page.evaluate("document.documentElement.scrollHeight")
                        clip = {"x": 0, "y": 0, "width": width, "height": min(height, HIGHEST)}
                        page.screenshot(path=shot, full_page=True, clip=clip)
                context.close()


def main() -> None:
    """Print the faults of all pages, and fail if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="with the pages, such as site")
    parser.add_argument("--screenshots", type=Path, help="write a picture of each page there")
    args = parser.parse_args()
    for folder in args.folders:
        if not pages_of(folder):
            sys.exit(f"{folder}: got no pages, expected some: run make docs")
    if args.screenshots is not None:
        args.screenshots.mkdir(parents=True, exist_ok=True)
    # A fault of every page, and how it was opened, is one line.
    where: dict[tuple[str, str], list[str]] = defaultdict(list)
    for folder in args.folders:
        for path, how, faults in looks(folder, args.screenshots):
            for fault in dict.fromkeys(faults):
                where[f"{folder}/{path}", fault].append(how)
    for (path, fault), ways in where.items():
        print(f"{path} ({'; '.join(ways)}): {fault}")
    num = sum(len(pages_of(folder)) for folder in args.folders)
    print(f"{num} pages in {len(SCHEMES)} schemes and {len(WIDTHS)} widths: {len(where)} faults")
    sys.exit(1 if where else 0)


if __name__ == "__main__":
    main()
