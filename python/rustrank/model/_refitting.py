"""How leaf values are fitted anew, checked: what `Booster.refit` hands to the compiled half."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rustrank.parameters.hints import check_objective, refuse_unknown
from rustrank.parameters.schema import TRAININGS, checked

if TYPE_CHECKING:
    from collections.abc import Mapping


def refitting(
    options: Mapping[str, Any], of_objective: Mapping[str, Any], noted: Mapping[str, str]
) -> dict[str, Any]:
    """Check all options of `Booster.refit`.

    ``noted`` is what training has noted down: where the learning rate is, unless it is given.
    """
    schema = TRAININGS["refit"]
    losses = [name for name, one in schema.items() if one.group == "objective"]
    refuse_unknown(of_objective, [*losses, "relevant_from"])
    check_objective(options["objective"])
    given = {**options, **of_objective}
    if given["learning_rate"] is None:
        default = schema["learning_rate"].default
        given["learning_rate"] = float(noted.get("learning_rate", default))
    return checked("refit", given)
