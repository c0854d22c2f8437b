"""What other tools say about the same queries; tests/golden/README.md explains the files."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

import rustrank as rr

GOLDEN = Path(__file__).parents[1] / "golden"
TIES = {"row_order": ["rows"], "expected": ["expected"], "none": ["expected", "rows", "worst"]}
EMPTY = {"zero": ["zero"], "none": ["skip", "zero", "one"]}
GAIN = {"exp2": ["exp2"], "linear": ["linear"], "-": ["exp2", "linear"]}


def rows(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_value_of_every_tool_is_ours() -> None:
    docs = rows("queries.tsv")
    scores, labels = [float(doc["score"]) for doc in docs], [int(doc["label"]) for doc in docs]
    qid = [doc["query"] for doc in docs]
    wanted: dict[tuple[str, str, str], dict[str, dict[str, float]]] = defaultdict(dict)
    compared = 0
    for row in rows("metrics.tsv"):
        for gain in GAIN[row["gain"]]:
            for ties in TIES[row["ties"]]:
                for empty in EMPTY[row["empty"]]:
                    values = wanted[gain, ties, empty].setdefault(row["metric"], {})
                    values[row["query"] + " " + row["tool"]] = float(row["value"])
    for (gain, ties, empty), metrics in wanted.items():
        found = rr.evaluate(
            scores,
            labels,
            qid=qid,
            metrics=list(metrics),
            gain=gain,
            ties=ties,
            empty=empty,
            max_label=4,
        )
        for metric, values in metrics.items():
            value = found[metric]
            ours = dict(zip(value.query_ids, value.per_query, strict=True))
            for name, theirs in values.items():
                query, tool = name.split(" ")
                assert ours[query] == pytest.approx(theirs, abs=1e-12), (query, tool, metric, ties)
                compared += 1
    assert compared > len(rows("metrics.tsv")) > 1000
