"""How leaf values are fitted anew, checked: what `Booster.refit` hands to the compiled half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank.inputs.scalars import real, text, whole
from rustrank.metrics.evaluation import Judging
from rustrank.parameters.plan import Losing, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The parameters of `train` that describe its objective, with the same defaults.
OF_OBJECTIVE: dict[str, Any] = {
    "objective_metric": None,
    "pairs_to": 30,
    "sigma": 1.0,
    "pair_normaliser": "auto",
    "gap_offset": 0.3,
    "query_normaliser": "none",
    "noise_scale": None,
    "noise_copies": 1,
    "augment": None,
    "tied_pairs": "expected",
    "relevant_from": None,
}
#: The learning rate of a booster that has no note of its own, as of one from another library.
LEARNING_RATE = 0.1


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
        unknown = {name: None for name in of_objective if name not in OF_OBJECTIVE}
        refuse_unknown(unknown, OF_OBJECTIVE)
        losing = OF_OBJECTIVE | dict(of_objective)
        losing["objective"] = text("objective", options["objective"])
        rate = options["learning_rate"]
        if rate is None:
            rate = noted.get("learning_rate", LEARNING_RATE)
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
