"""How rankers made of trees learn: from ``fit``'s arguments to `rustrank.train`'s."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

from rustrank._errors import ParamError
from rustrank._options import real, seed_of, whole
from rustrank._parts import eval_sets, training_part
from rustrank._ranker import Ranker
from rustrank.training import train

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rustrank._parts import Part
    from rustrank.booster import Booster

#: Options that are not `rustrank.train`'s.
_OTHERS = ("max_bins", "missing", "objective", "ordinal", "validation_fraction")
#: What is called otherwise here, as in scikit-learn.
_RENAMED = {"n_estimators": "num_trees", "n_jobs": "num_threads", "random_state": "seed"}


class TreeRanker(Ranker):
    """What rankers made of trees share: how they learn, and what is known of them afterwards."""

    _objective: ClassVar[str]
    n_jobs: int | None
    early_stopping: Any
    validation_fraction: float

    def _fit(self, X: Any, y: Any, given: dict[str, Any]) -> None:
        part = training_part(X, y, given, type(self).__name__)
        table = part.X
        sets = eval_sets(given)
        if self.early_stopping is not None and not sets:
            share = real("validation_fraction", self.validation_fraction)
            if not 0 < share < 1:
                message = f"validation_fraction: got {share}, expected a share between 0 and 1"
                raise ParamError(message, code="validation_fraction")
            part, held = part.divided(share, self._seed())
            sets = {"valid": held}
        booster = self._trained(part, sets, given)
        self._note(table)
        self._booster = booster

    def _trained(self, part: Part, sets: dict[str, Part], given: Mapping[str, Any]) -> Booster:
        options = self._training_options()
        reading = {**self._reading(), "num_threads": options["num_threads"]}
        max_bins = self.get_params()["max_bins"]
        dataset = part.dataset(max_bins=max_bins, base=given["base"], **reading)
        valid = {name: one.dataset(like=dataset, **reading) for name, one in sets.items()}
        more = {"preferences": given["preferences"]} if "preferences" in given else {}
        return train(dataset, valid=valid or None, callbacks=given["callbacks"], **more, **options)

    def _training_options(self) -> dict[str, Any]:
        """Return the options that are not `train`'s defaults, which a preset may have others for."""
        defaults = inspect.signature(train).parameters
        options = {
            _RENAMED.get(name, name): value
            for name, value in self.get_params().items()
            if name not in _OTHERS
        }
        changed = {
            name: value
            for name, value in options.items()
            if repr(value) != repr(defaults[name].default)
        }
        if "num_trees" in changed:
            # Named here as it is called here.
            changed["num_trees"] = whole("n_estimators", changed["num_trees"], 1, 2**20)
        changed["num_threads"], changed["seed"] = self._threads(), self._seed()
        return {"objective": self._loss(), **changed}

    def _loss(self) -> str:
        return self._objective

    def _seed(self) -> int:
        return seed_of(self.get_params()["random_state"])

    @property
    def best_round_(self) -> int | None:
        """With early stopping, the number of trees at which the metric was best."""
        return self.booster_.best_round

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in what all splits took off the loss."""
        reduction = self.booster_.feature_importance()
        total = reduction.sum()
        return reduction / total if total > 0 else reduction
