"""The base class of estimators that learn from raw feature values in rounds: `LambdaBoost` and nets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rustrank.estimators._fit_data import training_part
from rustrank.estimators._net_options import as_values, refuse_dataset
from rustrank.estimators.ranker import Ranker
from rustrank.training.rounds import Reporting, booster_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rustrank import _rustrank
    from rustrank.estimators._net_options import NetData
    from rustrank.model.booster import Booster


class RawRanker(Ranker):
    """A ranker whose training takes the feature values themselves."""

    #: What the progress display calls a round.
    _unit: ClassVar[str]
    progress: bool
    _best_round: int | None = None

    def _trainer(self, data: NetData, given: Mapping[str, Any]) -> _rustrank.Trainer:
        """Return the training, from the training set and the other arguments of ``fit``."""
        raise NotImplementedError

    def _keep_results(self, trainer: _rustrank.Trainer) -> None:
        """Keep what the training knows besides the model."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, given: Mapping[str, Any]) -> None:
        refuse_dataset(X)
        part = training_part(X, y, given, type(self).__name__)
        data = as_values(part, self._threads())
        trainer = self._trainer(data, given)

        def settle() -> Booster:
            self._best_round = trainer.best_round
            self._booster = booster_of(trainer, data.names, self._best_round)
            self._keep_results(trainer)
            return self._booster

        reporting = Reporting.of({**given, "progress": self.progress}, self._unit)
        reporting.run(trainer, data.names, settle)
        settle()
        self._note(part.X)

    @property
    def booster(self) -> Booster:
        """The same as ``booster_``."""
        return self.booster_

    @property
    def history(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """The metrics on the validation set after each round."""
        return self.booster.history
