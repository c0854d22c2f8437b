"""Checks that results do not depend on the order of rows, threads, workers, forms of data and interruptions.

Run by ``make invariance CASES=2000``. A case is named by a number: ``--first 17 --cases 1`` runs it again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from same_results.cases import draw
from same_results.forms import Form
from same_results.shrinking import shrunk
from same_results.trainings import Setting
from same_results.variants import Difference, compared

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from same_results.cases import Case


@dataclass
class Counts:
    """What was run."""

    cases: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    variants: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """Show the sums."""
        return (
            f"{self.cases} cases, {self.refused.total()} of them refused, "
            f"{self.variants.total()} variants compared"
        )


def check(
    case: Case, folder: Path, counts: Counts, without: Sequence[str] = ()
) -> Difference | None:
    """Compare all variants of a case but those of some kinds, up to the first difference."""
    setting = Setting(case, folder)
    plain = setting.trained(Form())
    counts.cases += 1
    if plain.error is not None:
        counts.refused[f"{plain.error[1]}: {plain.message[:70]}"] += 1
    for variant, difference in compared(setting, plain, without):
        counts.variants[variant.kind] += 1
        if difference is not None:
            return Difference(case, variant, difference, plain.error)
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100, help="how many cases to run (100)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (0)")
    parser.add_argument(
        "--most-docs", type=int, default=4000, help="about the most docs of a case (4000)"
    )
    parser.add_argument(
        "--without", action="append", default=[], help="a kind of variants to leave out"
    )
    parser.add_argument(
        "--keep-going", action="store_true", help="do not stop at a difference, nor make it smaller"
    )
    parser.add_argument("--verbose", action="store_true", help="show what was refused, and why")
    parser.add_argument("--progress", type=int, default=50, help="cases between two lines (50)")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rr.RustrankWarning)
    counts, begun, found = Counts(), time.monotonic(), 0
    for number in range(given.first, given.first + given.cases):
        with tempfile.TemporaryDirectory() as name:
            case = draw(number, most_docs=given.most_docs)
            difference = check(case, Path(name), counts, given.without)
            if difference is not None:
                found += 1
                print(difference, flush=True)
                if not given.keep_going:
                    print(f"\nthe least that still differs:\n{shrunk(difference, Path(name))}")
                    break
        if counts.cases % given.progress == 0:
            print(f"case {number}: {counts}, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{counts}; {found} differ")
    print(", ".join(f"{kind} {count}" for kind, count in counts.variants.items()))
    if given.verbose:
        for why, count in counts.refused.most_common():
            print(f"{count:6} {why}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
