"""The base class of estimators that learn from raw feature values in rounds: `LambdaBoost` and nets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rustrank.data.dataset import Dataset
from rustrank.errors import ParamError, ParamKindError
from rustrank.estimators.fitting import eval_sets, training_part
from rustrank.estimators.ranker import Ranker
from rustrank.inputs.tables import check_same_names
from rustrank.metrics.evaluation import named_metrics
from rustrank.training.rounds import Reporting, booster_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank import _rustrank
    from rustrank.model.booster import Booster
    from rustrank.parameters.plan import Preference


@dataclass(frozen=True)
class RawPlan:
    """Everything but the training set; a base is for `LambdaBoost`, and preferences for `RankNet`."""

    params: dict[str, Any]
    valid: list[tuple[str, _rustrank.RawDataset]]
    metrics: list[str]
    base: _rustrank.Booster | None = None
    preferences: list[Preference] | None = None


class RawRanker(Ranker):
    """A ranker whose training takes the feature values themselves."""

    #: What the progress display calls a round.
    _unit: ClassVar[str]
    #: What starts the training.
    _trainer: ClassVar[staticmethod[..., _rustrank.Trainer]]
    progress: bool
    _best_round: int | None = None

    @abstractmethod
    def _options_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters and what else the plan has, from the other arguments of ``fit``."""

    @abstractmethod
    def _keep_results(self, trainer: _rustrank.Trainer) -> None:
        """Keep what the training knows besides the model."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_features)
            Features, as for `rustrank.Dataset`. They are copied, four bytes each.
        y, qid, group, query_weight
            As for `rustrank.Dataset`; ``X`` may have a column ``qid`` instead. Without queries all
            rows are one, and a warning says so.
        sample_weight : array-like of shape (num_docs,), optional
            A factor on each doc's gradients.
        eval_set : (X, y), or a list of one, optional
            A validation set; with its query ids as a third element, a column ``qid``, or in one of
            the next two. Or a mapping of X, y, qid or group, and query_weight.
        eval_qid, eval_group : list of array-like, optional
            Its query ids, or sizes, in a list of one.
        callbacks : callable or sequence of callables, optional
            As for `rustrank.train`; a round of a net is an epoch.

        Returns
        -------
        Ranker
            This one, fitted.

        Raises
        ------
        DataError
            Nothing can be learned from the data, or the validation set or the base does not fit.
        ParamError
            An option is unknown or out of range, or training diverged.
        KeyboardInterrupt
            On Ctrl-C. Like any exception from the loop, it has the booster so far as ``.booster``.
        """
        return self._fit(X, y, locals())

    def _fit(self, X: Any, y: Any, given: Mapping[str, Any]) -> Self:
        if isinstance(X, Dataset):
            message = (
                "X: got a Dataset, which keeps no values, expected the features themselves: nets "
                "learn from values, not from bins"
            )
            raise ParamKindError(message, code="X")
        part = training_part(X, y, given, type(self).__name__)
        names, num_threads = part.X.names, self._threads()
        data, options = part.values(num_threads), self._options_of(given)
        sets = eval_sets(given)
        if len(sets) > 1:
            message = f"eval_set: got {len(sets)} validation sets, expected one"
            raise ParamError(message, code="eval_set")
        for one in sets.values():
            check_same_names(one.X.names, names, " of eval_set")
        valid = [(name, one.values(num_threads)) for name, one in sets.items()]
        metrics = named_metrics(options["params"]["metric"])
        trainer = self._trainer(data, RawPlan(valid=valid, metrics=metrics, **options))

        def settle() -> Booster:
            self._best_round = trainer.best_round
            self._booster = booster_of(trainer, names, self._best_round)
            self._keep_results(trainer)
            return self._booster

        reporting = Reporting({**given, "progress": self.progress}, self._unit)
        reporting.run(trainer, names, settle)
        settle()
        self._note(part.X)
        return self

    @property
    def booster(self) -> Booster:
        """The same as ``booster_``."""
        return self.booster_

    @property
    def history(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """The metrics on the validation set after each round."""
        return self.booster.history
