"""What `rustrank inspect` prints of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank._tables import count, size, text_table

if TYPE_CHECKING:
    from rustrank.booster import Booster

#: Features that are shown without ``--features``.
_SHOWN = 10
#: Parameters that say what a model is; the others stand in the JSON.
_TELLING = ("objective", "objective_metric", "learning_rate", "num_leaves", "tree_shape", "seed")


def facts_of(booster: Booster, num_bytes: int) -> dict[str, Any]:
    """Return what can be said of a model, as plain values."""
    reduction = booster.feature_importance("reduction")
    splits = booster.feature_importance("count")
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
        "params": booster.params,
        "features": [
            {"name": names[at], "reduction": float(reduction[at]), "splits": int(splits[at])}
            for at in order.tolist()
        ],
    }


def model_inspection(path: str, facts: dict[str, Any], with_features: bool) -> str:
    """Tell facts to people."""
    if with_features:
        return _feature_table(facts["features"], facts)
    parts = [f"{path}: {facts['what']}, {size(facts['bytes'])}", "\n".join(_lines(facts))]
    used = [one for one in facts["features"] if one["splits"]]
    if used:
        table = _feature_table(used[:_SHOWN], facts)
        more = len(used) - _SHOWN
        parts.append(table + (f"\nand {more:,} more, see --features" if more > 0 else ""))
    return "\n\n".join(parts)


def _lines(facts: dict[str, Any]) -> list[str]:
    said = [("intercept", f"{facts['intercept']:g}")]
    if facts["num_trees"]:
        used, whole = facts["num_used_features"], count(facts["num_features"], "feature")
        said.append(("in splits", f"{used:,} of {whole}"))
    if facts["query_ranks"]:
        said.append(("ranks", f"within queries, beside {facts['num_raw_features']:,} raw values"))
    if facts["classes"] is not None:
        said.append(("classes", ", ".join(f"{label:g}" for label in facts["classes"])))
    said += [(name, facts["params"][name]) for name in _TELLING if name in facts["params"]]
    width = max(len(name) for name, _ in said)
    return [f"{name.ljust(width)}  {value}" for name, value in said]


def _feature_table(shown: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    whole = sum(one["reduction"] for one in facts["features"])
    rows = [
        [
            one["name"],
            f"{one['reduction']:.6g}",
            f"{100 * one['reduction'] / whole:.1f}%" if whole else "-",
            f"{one['splits']:,}",
        ]
        for one in shown
    ]
    return text_table(["feature", "reduction", "share", "splits"], rows)
