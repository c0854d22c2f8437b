"""What labels are worth in metrics: that of a model's training is kept, to warn of another one in an evaluation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import warn_caller
from rustrank.inputs.attributes import mapping_of, read_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rustrank.metrics.evaluation import Judging

#: The attribute of a model with the options that were not the default, as JSON.
SCALE = "label_scale"
#: The defaults, and the metrics that look at each option.
_DEFAULTS = {"gain": "exp2", "relevant_from": 1.0, "max_label": None}
_METRICS = {
    "gain": ("ndcg", "dcg", "err"),
    "relevant_from": ("map", "mrr", "precision", "recall", "rbp"),
    "max_label": ("err",),
}


def scale_note(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the attribute of a model for the options of its training; none for the defaults."""
    given = {name: options.get(name) for name in _DEFAULTS}
    changed = {
        name: value
        for name, value in given.items()
        if value is not None and value != _DEFAULTS[name]
    }
    return {SCALE: json.dumps(changed)} if changed else {}


def scale_of(attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a model's training that were not the default."""
    options: dict[str, Any] = {}
    return read_attribute(attributes, SCALE, _options_of, "JSON of options of metrics", options)


def without_scale(booster: Any) -> Any:
    """Return a model that was just trained on other labels than evaluations have, such as scores, without the note."""
    booster._core = booster._core.with_attribute(SCALE, None)
    return booster


def _options_of(text: str) -> dict[str, Any]:
    options = mapping_of(text)
    if not set(options) <= set(_DEFAULTS):
        raise ValueError
    return options


def warn_of_other_scale(ranker: Any, judging: Judging, labels: NDArray[Any]) -> None:
    """Warn if a model was trained with another gain, say, than the one that metrics have here by default.

    Options that say the same of all these labels, as ``exp2`` and a table with its values do, are no reason.
    """
    own = getattr(ranker, "booster_", ranker)
    trained: Mapping[str, Any] = getattr(own, "_label_scale", {})
    for name, value in trained.items():
        names = [metric for metric in judging.metrics if metric.startswith(_METRICS[name])]
        here = judging.scale[name]
        if not names or here != _DEFAULTS[name]:
            continue
        if not _are_same(name, value, here, np.unique(labels).astype(np.float64)):
            warn_caller(
                f"the model was trained with {name}={value!r}, which its history and early stopping use, and "
                f"{', '.join(names)} has {name}={here!r} here: pass {name}={value!r} to compare with them"
            )


def _are_same(name: str, first: Any, second: Any, labels: NDArray[np.float64]) -> bool:
    """Return whether two values of an option are the same for these labels."""
    try:
        with np.errstate(invalid="ignore"):  # The core refuses labels that are no numbers.
            a, b = (_meaning(name, value, labels) for value in (first, second))
    except (TypeError, ValueError):  # A note of a file that somebody edited.
        return False
    return a is not None and b is not None and np.array_equal(a, b)


def _meaning(name: str, value: Any, labels: NDArray[np.float64]) -> NDArray[Any] | None:
    """Return what a value of an option says of each label; None where it says nothing."""
    if name == "relevant_from":
        return np.asarray(labels >= value)
    if name == "max_label":
        return np.array([labels.max(initial=0) if value is None else value])
    if isinstance(value, str):
        return np.exp2(labels) - 1 if value == "exp2" else labels
    places = labels.astype(np.int64)
    is_listed = (places == labels) & (places >= 0) & (places < len(value))
    return np.array(value, np.float64)[places] if is_listed.all() else None
