"""The table of results: what a row holds, how it is read and written, and how two rows differ."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import rustrank as rr

TABLE = Path(__file__).parents[1] / "results.tsv"
NONE = "-"


@dataclass(frozen=True)
class Result:
    """What a configuration computes: hashes and numbers, each to the last bit.

    Attributes
    ----------
    model : str
        The hash of a model's text, or of a file that was exported.
    content : str
        The hash of the same text without its notes, length and checksum: of all that scores.
    scores : str
        The hash of scores, or of other arrays of numbers.
    values : str
        Single numbers by name.
    """

    model: str = NONE
    content: str = NONE
    scores: str = NONE
    values: str = NONE


COLUMNS = [field.name for field in fields(Result)]


def digest(data: bytes | str) -> str:
    given = data.encode() if isinstance(data, str) else data
    return blake2b(given, digest_size=8).hexdigest()


def floats(*arrays: Any) -> str:
    """Return the hash of the bits of all numbers and the arrays' shapes; all NaNs are the same."""
    hashed = blake2b(digest_size=8)
    for array in arrays:
        given = np.array(array, "<f8")
        given[np.isnan(given)] = np.nan
        hashed.update(repr(given.shape).encode() + given.tobytes())
    return hashed.hexdigest()


def figures(nested: Any) -> list[float]:
    """Return all numbers in nested mappings and sequences, by the order of keys; texts are left out."""
    if isinstance(nested, dict):
        return [one for key in sorted(nested, key=str) for one in figures(nested[key])]
    if isinstance(nested, (list, tuple)):
        return [one for each in nested for one in figures(each)]
    return [] if nested is None or isinstance(nested, str) else [float(nested)]


def content(text: str) -> str:
    """Return a model's text without notes, lengths and checksums, those of models inside too."""
    kept, lines = [], iter(text.splitlines())
    for line in lines:
        block = re.fullmatch(r"(names|attributes) (\d+)", line)
        inside = [next(lines) for _ in range(int(block[2]))] if block else []
        if line.startswith("attributes "):
            continue
        if not re.match(r"bytes |checksum ", line):
            kept += [line, *inside]
    return "\n".join(kept)


def written(values: Mapping[str, Any]) -> str:
    """Return numbers as text that reads back to the same bits."""

    def one(value: Any) -> str:
        return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)

    return " ".join(f"{name}={one(value)}" for name, value in values.items()) or NONE


def of_models(boosters: Iterable[rr.Booster], scores: Any = None, **values: Any) -> Result:
    """Return the result of a configuration that makes models."""
    texts = [booster.to_text() for booster in boosters]
    return Result(
        digest("\n".join(texts)),
        digest("\n".join(map(content, texts))),
        NONE if scores is None else floats(scores),
        written(values),
    )


def differences(expected: Result, found: Result) -> list[str]:
    """Say in which columns two results differ."""
    lines = [
        f"{column}: expected {getattr(expected, column)}, got {getattr(found, column)}"
        for column in COLUMNS
        if getattr(expected, column) != getattr(found, column)
    ]
    if len(lines) == 1 and lines[0].startswith("model: ") and expected.content != NONE:
        lines.append("only the notes in the model's text have changed: all that scores is the same")
    return lines


def read(path: Path = TABLE) -> tuple[dict[str, Result], dict[str, str]]:
    """Return the results and the notes of a table, by the rows' names."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    results = {row["name"]: Result(*(row[column] for column in COLUMNS)) for row in rows}
    assert len(results) == len(rows), "two rows have the same name"
    return results, {row["name"]: row["note"] for row in rows}


def write(results: Mapping[str, Result], notes: Mapping[str, str], path: Path) -> None:
    lines = ["\t".join(["name", *COLUMNS, "note"])]
    for name, result in results.items():
        columns = [getattr(result, column) for column in COLUMNS]
        lines.append("\t".join([name, *columns, notes.get(name, "")]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
