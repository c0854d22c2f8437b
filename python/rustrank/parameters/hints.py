"""What other libraries call our parameters and losses: no aliases, but a hint for those who come from there."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import objectives
from rustrank.errors import UnknownNameError
from rustrank.parameters.schema import OBJECTIVES, OF_ESTIMATORS, TRAININGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["OBJECTIVES", "check_objective", "hint", "refuse_unknown"]

#: Our names, of `rustrank.train` and of estimators, by what others say.
_HERE = {
    theirs: [one.name, OF_ESTIMATORS.get(one.name, one.name)]
    for one in TRAININGS["train"].values()
    for theirs in (*one.elsewhere, one.name)
} | {theirs: ["max_bins"] for theirs in ("max_bin", "border_count")}
#: What belongs to the data.
_OF_DATA = {
    "max_bins": "max_bins",
    "max_bin": "max_bins",
    "border_count": "max_bins",
    "group": "group",
    "qid": "qid",
    "weight": "row_weight",
    "sample_weight": "row_weight",
    "init_score": "base_score",
    "base_margin": "base_score",
    "categorical_feature": "categorical",
}
#: What the papers call ``lambdamart``'s loss: model files do so, too.
_OF_PAPERS = "lambdarank"
#: What others call the losses.
_LOSSES = {
    **{theirs: ours for ours, _, names in objectives() for theirs in names},
    "rank:map": "lambdamart with metric='map'",
}


def hint(name: str, known: Sequence[str]) -> str:
    """Return what may be meant by a parameter that there is not."""
    ours = next((one for one in _HERE.get(name, ()) if one in known), None)
    if ours is not None:
        return f"here it is called {ours}"
    if name in _OF_DATA:
        return f"it is an option of rr.Dataset: {_OF_DATA[name]}"
    return _nearest(name, known)


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Name a parameter that there is not, and the one that was meant."""
    known = list(known)
    for name in given:
        if name not in known:
            message = f"there is no parameter {name}; {hint(name, known)}"
            raise UnknownNameError(message, code="param")


def check_objective(name: Any) -> None:
    """Name an objective that there is not, and the one that was meant."""
    if isinstance(name, str) and name not in (*OBJECTIVES, _OF_PAPERS):
        ours = _LOSSES.get(name)
        hint = f"here it is called {ours}" if ours else _nearest(name, OBJECTIVES)
        raise UnknownNameError(f"unknown objective {name!r}; {hint}", code="objective")
