"""What labels are worth in metrics: that of a model's training is kept, to warn of another one in an evaluation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rustrank.errors import warn_caller
from rustrank.inputs.attributes import mapping_of, read_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def warn_of_other_scale(ranker: Any, judging: Judging) -> None:
    """Warn if a model was trained with another gain, say, than the one that metrics have here by default."""
    own = getattr(ranker, "booster_", ranker)
    trained: Mapping[str, Any] = getattr(own, "_label_scale", {})
    for name, value in trained.items():
        names = [metric for metric in judging.metrics if metric.startswith(_METRICS[name])]
        here = judging.scale[name]
        if names and here == _DEFAULTS[name]:
            warn_caller(
                f"the model was trained with {name}={value!r}, which its history and early stopping use, and "
                f"{', '.join(names)} has {name}={here!r} here: pass {name}={value!r} to compare with them"
            )
