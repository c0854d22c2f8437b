"""What `rustrank inspect` prints of a file's summary."""

from __future__ import annotations

import sys
from typing import Any

from rustrank._tables import count, size, text_table

#: The longest bar, in characters.
_BAR = 40
#: Labels that are counted one by one.
_LABELS = 32
#: Features that are named one by one.
_NAMED = 8

#: A finding about the file as a whole.
NO_FEATURES = {
    "line": None,
    "column": None,
    "code": "features",
    "message": "no line has a feature: expected index:value after the qid",
}


def inspection(path: str, summary: dict[str, Any], with_features: bool) -> str:
    """Tell a summary to people."""
    if with_features:
        return _feature_table(summary)
    parts = [_head(path, summary)]
    if summary["rows"]:
        parts += [_labels(summary), "\n".join(_facts(summary))]
    if summary["findings"]:
        parts.append(_findings(path, summary))
    return "\n\n".join(parts)


def _head(path: str, summary: dict[str, Any]) -> str:
    if not summary["rows"]:
        return f"{path}: no docs"
    return (
        f"{path}: {count(summary['rows'], 'doc')} in "
        f"{count(summary['queries'], 'query', 'queries')}, "
        f"{count(len(summary['features']), 'feature')}, {size(summary['bytes'])} of text"
    )


def _labels(summary: dict[str, Any]) -> str:
    labels = [label for label, _ in summary["labels"]]
    if len(labels) > _LABELS:
        return f"{len(labels):,} labels from {labels[0]:g} to {labels[-1]:g}"
    bar = "█" if _can_print("█") else "#"
    most = max(count for _, count in summary["labels"])
    rows = [
        [f"{label:g}", f"{count:,}", f"{100 * count / summary['rows']:.1f}%"]
        for label, count in summary["labels"]
    ]
    table = text_table(["label", "docs", "share"], rows).split("\n")
    bars = [bar * max(1, round(_BAR * count / most)) for _, count in summary["labels"]]
    return "\n".join(
        f"{line}  {bar}".rstrip() for line, bar in zip(table, ["", *bars], strict=True)
    )


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _facts(summary: dict[str, Any]) -> list[str]:
    features = summary["features"]
    constant = [str(one["index"]) for one in features if one["constant"]]
    missing = [
        f"{one['index']} ({100 * one['missing'] / summary['rows']:.1f}%)"
        for one in features
        if one["missing"]
    ]
    facts = [
        (
            "docs a query",
            f"{summary['min_docs']:,} to {summary['max_docs']:,}, median {summary['median_docs']:,}",
        ),
        (
            "queries",
            f"{summary['queries_without_relevant']:,} without a relevant doc, "
            f"{summary['queries_with_one_label']:,} with one label only",
        ),
        ("repeated rows", f"{summary['repeated_rows']:,}"),
        ("constant features", _some(constant)),
        ("missing values in", _some(missing)),
    ]
    if features:
        facts.insert(0, ("features", f"{features[0]['index']} to {features[-1]['index']}"))
    if not summary["sorted_by_qid"]:
        facts.append(("order", "the docs of a query do not stand together"))
    width = max(len(name) for name, _ in facts)
    return [f"{name.ljust(width)}  {value}" for name, value in facts]


def _some(names: list[str]) -> str:
    """Name the first few, and count the others."""
    if not names:
        return "none"
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{len(names):,}: {shown}" + (f" and {more:,} more" if more > 0 else "")


def _findings(path: str, summary: dict[str, Any]) -> str:
    bad = summary["bad_lines"]
    head = f"{count(bad, 'line')} cannot be read" if bad else "the file cannot be loaded"
    lines = [head + ":"]
    for finding in summary["findings"]:
        place = "" if finding["line"] is None else f":{finding['line']}:{finding['column']}"
        message = finding["message"].replace(f" (line {place[1:]})", "")
        lines.append(f"  {path}{place}: {message}")
    if bad > len(summary["findings"]):
        lines.append("  ...")
    return "\n".join(lines)


def _feature_table(summary: dict[str, Any]) -> str:
    rows = [
        [
            str(one["index"]),
            f"{one['rows']:,}",
            f"{one['missing']:,}",
            f"{one['min']:.6g}",
            f"{one['max']:.6g}",
            "constant" if one["constant"] else "",
        ]
        for one in summary["features"]
    ]
    return text_table(["feature", "docs", "missing", "min", "max", ""], rows)
