"""Writes `results.tsv` again: what rustrank computes for the configurations of `result_cases`.

Run by `make golden-results`. A row that is there already changes only with ``--note WHY``, which becomes
the note of all rows that differ; without it they are shown, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from result_cases import CASES, compute
from result_cases.table import TABLE, differences, read, write

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the table of results again.")
    parser.add_argument("--note", default="", help="why rows have changed")
    why = parser.parse_args(arguments).note
    known, notes = read(TABLE) if TABLE.exists() else ({}, {})
    results = {name: compute(name) for name in CASES}
    changed = 0
    for name, result in results.items():
        lines = differences(known[name], result) if name in known else []
        if lines:
            print(f"{name}\n  " + "\n  ".join(lines))
            notes[name] = why
            changed += 1
    if changed and not why:
        print(f"{changed} rows have changed; nothing is written without --note WHY")
        return 1
    write(results, notes, TABLE)
    print(f"{TABLE}: {len(results)} rows, {changed} changed, {len(set(results) - set(known))} new")
    return 0


if __name__ == "__main__":
    sys.exit(main())
