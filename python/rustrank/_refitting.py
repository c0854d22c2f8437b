"""How leaf values are fitted anew, checked: what `Booster.refit` hands to the compiled half."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank._options import real, text, whole
from rustrank._plans import Losing, refuse_unknown
from rustrank.evaluation import Judging

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What of the parameters of `train` is about its objective.
_OF_OBJECTIVE = (
    "objective_metric",
    "pairs_to",
    "sigma",
    "pair_normaliser",
    "gap_offset",
    "query_normaliser",
    "noise_scale",
    "noise_copies",
    "augment",
    "tied_pairs",
    "relevant_from",
)


@dataclass(frozen=True)
class Refitting:
    """Shares, rates and the loss."""

    learning_rate: float
    decay: float
    prior_docs: float
    l2: float
    objective: Losing
    judging: Judging
    seed: int

    @classmethod
    def of(
        cls, options: Mapping[str, Any], of_objective: Mapping[str, Any], noted: Mapping[str, str]
    ) -> Refitting:
        """Check the kinds of options; the core checks their ranges.

        ``noted`` is what training has noted down: where the learning rate is, unless it is given.
        """
        from rustrank.training import train

        refuse_unknown(
            {name: None for name in of_objective if name not in _OF_OBJECTIVE}, _OF_OBJECTIVE
        )
        parameters = inspect.signature(train).parameters
        losing: dict[str, Any] = {name: parameters[name].default for name in _OF_OBJECTIVE}
        losing.update(of_objective)
        losing["objective"] = text("objective", options["objective"])
        rate = options["learning_rate"]
        if rate is None:
            rate = noted.get("learning_rate", parameters["learning_rate"].default)
            rate = float(rate)
        relevant = losing["relevant_from"]
        return cls(
            learning_rate=real("learning_rate", rate),
            decay=real("decay", options["decay"]),
            prior_docs=real("prior_docs", options["prior_docs"]),
            l2=real("l2", options["l2"]),
            objective=Losing.of(losing, [text("metric", options["metric"])]),
            judging=Judging.of(
                "ndcg@10",
                options["gain"],
                "expected",
                "skip",
                1 if relevant is None else relevant,
                options["max_label"],
                options["num_threads"],
            ),
            seed=whole("seed", options["seed"], 0, 2**64 - 1),
        )
