"""The command `inspect`: what is in a data file, or in a model file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.cli.file_kinds import is_model, is_table, require_text, start_of
from rustrank.cli.parsing import READING, reading_of
from rustrank.cli.rankers import load_model
from rustrank.cli.reading import read_docs
from rustrank.cli.streams import PIPE, path_of, print_result
from rustrank.formatting import count, size, some, text_table

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser
    from rustrank.model.booster import Booster

_EPILOG = """\
FILE is LETOR or SVMlight text, plain or gzip; a table, *.parquet, *.csv or *.tsv, in which --label and
--qid name columns; or a model of rustrank, LightGBM, XGBoost or CatBoost. The exit code is 65 if the file
cannot be loaded: lines cannot be read, the docs of a query do not stand together in text (in a table they
need not), or no line has a feature; and if a model is not complete.

examples:
  rustrank inspect train.txt.gz
  rustrank inspect train.txt --features | head -n 20
  rustrank inspect train.parquet vali.parquet --label grade --qid query
  rustrank inspect web.rrk
  rustrank inspect web.rrk --json > web.json
"""
_DATA = 65
#: The longest bar, in characters.
_BAR = 40
#: Labels that are counted one by one.
_LABELS = 32
#: Features that are named one by one.
_NAMED = 8

#: Features that are shown without ``--features``.
_SHOWN = 10
#: Parameters that say what a model is; the others stand in the JSON.
_TELLING = ("objective", "objective_metric", "learning_rate", "num_leaves", "tree_shape", "seed")

#: A finding about the file as a whole.
_NO_FEATURES = {
    "line": None,
    "column": None,
    "code": "features",
    "message": "no line has a feature: expected index:value after the qid",
}


def register(parser: Parser) -> None:
    """Add the arguments."""
    parser.define(_run, "[options] FILE...", _EPILOG, reads=("files",), has_config=False)
    parser.add("files", "FILE", "data or a model; - for text from a pipe", nargs="+")
    parser.flag("--features", "print a line a feature")
    parser.share(*READING, "json", "threads")


def _run(options: argparse.Namespace) -> int:
    shown = [_inspected(file, options) for file in options.files]
    plain = [
        {what: file, **facts} for file, (what, facts, _) in zip(options.files, shown, strict=True)
    ]
    text = "\n\n\n".join(text for _, _, text in shown)
    print_result(options, plain if len(plain) > 1 else plain[0], text)
    is_good = all(
        what == "model" or (facts["rows"] and not facts["findings"]) for what, facts, _ in shown
    )
    return 0 if is_good else _DATA


def _inspected(file: str, options: argparse.Namespace) -> tuple[str, dict[str, Any], str]:
    """Return whether a file is data or a model, its facts, and the text that shows them."""
    if file != PIPE and is_model(start_of(file)):
        facts = _model(file)
        return "model", facts, _model_text(file, facts, options.features)
    facts = _data(file, options)
    return "data", facts, _data_text(file, facts, options.features)


def _model(file: str) -> dict[str, Any]:

    return _facts_of(load_model(file), Path(file).stat().st_size)


def _data(file: str, options: argparse.Namespace) -> dict[str, Any]:
    from rustrank.data.dataset_building import LetorOptions

    if is_table(file):
        from rustrank.cli.table_summary import table_summary

        summary = table_summary(read_docs([file], options, values=True, labelled=False))
        for one in (*summary["features"], *summary["text"], *summary["dates"]):
            one["name"] = one["index"]
        return summary
    require_text(file)
    summary = _rustrank.inspect_letor(path_of(file), LetorOptions(**reading_of(options)))
    # As models, warnings and options call them.
    first = 0 if options.zero_based else 1
    for one in summary["features"]:
        one["name"] = f"f{one['index'] - first}"
    if summary["rows"] and not summary["features"]:
        summary["findings"].append(_NO_FEATURES)
    return summary


def _data_text(path: str, summary: dict[str, Any], with_features: bool) -> str:
    """Return the summary of a data file as text."""
    if with_features:
        return _feature_table(summary)
    parts = [f"{path}: no docs"]
    if summary["rows"]:
        docs, queries = count(summary["rows"], "doc"), count(summary["queries"], "query", "queries")
        features, text = count(len(summary["features"]), "feature"), size(summary["bytes"])
        kind = "" if is_table(path) else " of text"
        head = f"{path}: {docs} in {queries}, {features}, {text}{kind}"
        parts = [head, _labels(summary), _facts(summary)]
    if summary["findings"]:
        parts.append(_findings(path, summary))
    return "\n\n".join(parts)


def _labels(summary: dict[str, Any]) -> str:
    labels = [label for label, _ in summary["labels"]]
    if not labels:
        return "no labels: there is no column of that name, see --label"
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


def _facts(summary: dict[str, Any]) -> str:
    features = summary["features"]
    constant = [one["name"] for one in features if one["constant"]]
    missing = [
        f"{one['name']} ({100 * one['missing'] / summary['rows']:.1f}%)"
        for one in [*features, *summary.get("text", ()), *summary.get("dates", ())]
        if one["missing"]
    ]
    sizes = "{min_docs:,} to {max_docs:,}, median {median_docs:,}"
    dull = "{queries_without_relevant:,} without a relevant doc, {queries_with_one_label:,} with one label only"
    facts = [
        ("docs a query", sizes.format(**summary)),
        ("queries", dull.format(**summary) if summary["labels"] else "without labels"),
        ("repeated rows", f"{summary['repeated_rows']:,}"),
        ("constant features", _some(constant)),
        ("missing values in", _some(missing)),
    ]
    if features:
        ends = f"{features[0]['name']} to {features[-1]['name']}"
        if _has_other_numbers(features):
            ends += f"; {features[-1]['name']} is number {features[-1]['index']} in the file"
        facts.insert(0, ("features", ends))
    if not summary["sorted_by_qid"]:
        facts.append(("order", "the docs of a query do not stand together"))
    for kind in ("text", "dates"):
        if found := [
            f"{one['name']} ({one['distinct']:,} values)" for one in summary.get(kind, ())
        ]:
            facts.append((f"{kind} in", _some(found)))
    return text_table(facts[0], facts[1:], left=2)


def _has_other_numbers(features: list[dict[str, Any]]) -> bool:
    """Whether a file counts features from 1, and their names count from 0."""
    return any(f"f{one['index']}" != one["name"] != one["index"] for one in features)


def _some(names: list[str]) -> str:
    """Return the first names, and the number of the others."""
    if not names:
        return "none"
    return f"{len(names):,}: {some(names, _NAMED)}"


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
    has_numbers = _has_other_numbers(summary["features"])
    rows = [
        [
            one["name"],
            *([str(one["index"])] if has_numbers else []),
            f"{one['rows']:,}",
            f"{one['missing']:,}",
            *("-" if one[end] is None else f"{one[end]:.6g}" for end in ("min", "max")),
            "constant" if one["constant"] else "",
        ]
        for one in summary["features"]
    ]
    for kind in ("text", "dates"):
        for one in summary.get(kind, ()):
            docs, missing = f"{summary['rows']:,}", f"{one['missing']:,}"
            values = count(one["distinct"], "value")
            rows.append([one["name"], docs, missing, "-", "-", f"{kind}, {values}"])
    number = ["in file"] if has_numbers else []
    return text_table(["feature", *number, "docs", "missing", "min", "max", ""], rows)


def _facts_of(booster: Booster, num_bytes: int) -> dict[str, Any]:
    """Return the facts about a model as plain values."""
    import numpy as np

    # Of a net, which has no splits, all zeros.
    reduction, splits, _ = booster._core.splits()
    # Those that matter most first; of equals, the first.
    order = np.lexsort((np.arange(len(splits)), -splits, -reduction))
    names = booster.feature_names
    return {
        "what": repr(booster).strip("<>").removeprefix("Booster: "),
        "bytes": num_bytes,
        "num_trees": booster.num_trees,
        "num_rounds": booster.num_rounds,
        "num_features": booster.num_features,
        "num_raw_features": booster.num_raw_features,
        "num_used_features": int(np.count_nonzero(splits)),
        "query_ranks": booster.query_ranks,
        "intercept": booster._core.intercept,
        "classes": None if booster.classes is None else booster.classes.tolist(),
        "objective": booster._objective() or None,
        "params": booster.params,
        "chosen": booster.chosen,
        "features": [
            {"name": names[at], "reduction": float(reduction[at]), "splits": int(splits[at])}
            for at in order.tolist()
        ],
    }


def _model_text(path: str, facts: dict[str, Any], with_features: bool) -> str:
    """Return the facts about a model as text."""
    if with_features:
        return _model_features(facts["features"], facts)
    parts = [f"{path}: {facts['what']}, {size(facts['bytes'])}", _model_facts(facts)]
    used = [one for one in facts["features"] if one["splits"]]
    if used:
        table = _model_features(used[:_SHOWN], facts)
        more = len(used) - _SHOWN
        parts.append(table + (f"\nand {more:,} more, see --features" if more > 0 else ""))
    return "\n\n".join(parts)


def _model_facts(facts: dict[str, Any]) -> str:
    facts_shown = [("intercept", f"{facts['intercept']:g}")]
    if facts["num_trees"]:
        used, whole = facts["num_used_features"], count(facts["num_features"], "feature")
        facts_shown.append(("in splits", f"{used:,} of {whole}"))
    if facts["query_ranks"]:
        facts_shown.append(
            ("ranks", f"within queries, beside {facts['num_raw_features']:,} raw values")
        )
    if facts["classes"] is not None:
        facts_shown.append(("classes", ", ".join(f"{label:g}" for label in facts["classes"])))
    told = {**facts["params"], "objective": facts["objective"]}
    if (chosen := facts["chosen"]) is not None:
        options = ", ".join(
            f"{name} {value}"
            for name, value in chosen["options"].items()
            if name not in chosen.get("given", ())
        )
        facts_shown.append(("chosen from the data", options))
    facts_shown += [(name, told[name]) for name in _TELLING if told.get(name) is not None]
    return text_table(facts_shown[0], facts_shown[1:], left=2)


def _model_features(shown: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    whole = sum(one["reduction"] for one in facts["features"])
    rows = []
    for one in shown:
        share = f"{100 * one['reduction'] / whole:.1f}%" if whole else "-"
        rows.append([one["name"], f"{one['reduction']:.6g}", share, f"{one['splits']:,}"])
    return text_table(["feature", "reduction", "share", "splits"], rows)
