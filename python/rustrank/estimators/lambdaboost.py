"""LambdaBoost: one feature a round, with its least-squares coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rustrank import _rustrank
from rustrank.errors import wrong_kind
from rustrank.estimators._raw_ranker import RawRanker
from rustrank.model.booster import Booster
from rustrank.parameters.hints import check_objective
from rustrank.parameters.schema import RENAMED, options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from rustrank.parameters.option_types import LambdaBoostOptions

__all__ = ["LambdaBoost"]


_OF_LOSS = ("objective", "objective_metric", "pairs_to", "sigma")


class LambdaBoost(RawRanker):
    """Boosting by single features (Gao et al. 2009): a sparse linear ranker, or one on top of a base.

    Each round adds the feature that fits the downhill direction of the loss best, in the sense of
    least squares, times its coefficient and the learning rate. The order in which features are
    chosen is the `path`: a way of selecting them. The result depends on the data and the options
    alone: not on the order of rows or queries, nor on the number of threads.

    Features count as they are, a missing value as 0. Least squares favour features with a mean near
    0: the sum over a query does not change the order of its docs.

    Parameters
    ----------
    n_estimators : int, default 500
        The most rounds.
    learning_rate : float, default 0.5
        The share of a coefficient that is added.
    base : Booster, optional
        What features are added to: any booster. It becomes part of the result.
    objective : str, default "lambdamart"
        ``lambdamart``, ``ranknet``, ``xendcg``, ``regression``, ``logistic``, ``balanced_logistic`` or
        ``err_logistic``, as for `rustrank.train`; the lambdas are those of the papers.
    metric : str or sequence of str, default "ndcg@10"
        What is evaluated on the validation set after each round; the first one decides.
    early_stopping : int or None, default 50
        With a validation set: end after so many rounds without a new best value, and keep those up
        to the best.
    objective_metric : str, optional
        The metric whose changes weigh pairs; by default the first ``metric``, at all ranks.
    pairs_to : int or None, default 30
        Pairs count if one of their docs has at most this rank; None for all.
    sigma : float, default 1
        The steepness of the sigmoid.
    gain, relevant_from, max_label
        As for `rustrank.train`.
    random_state : int or None, default 0
        The seed of what objectives draw; None is 0.
    n_jobs : int, optional
        Threads to use; all cores by default, and for -1.
    progress : bool, default False
        Whether to show a progress bar.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> ranker = rr.LambdaBoost(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    >>> len(ranker.path)
    5
    >>> ranker.predict(data.X).shape == data.y.shape
    True
    """

    _training = "features"
    _renamed: ClassVar[dict[str, str]] = {**RENAMED, "n_estimators": "num_rounds"}
    _defaults = options_of(_training, _OF_LOSS, _renamed)
    base: Any
    objective: str
    _unit = "feature"
    _trainer = staticmethod(_rustrank.Trainer.features)
    _path: list[tuple[int, float]]

    def __init__(self, **options: Unpack[LambdaBoostOptions]) -> None:
        super().__init__(**options)

    def _options_of(self, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        if self.base is not None and not isinstance(self.base, Booster):
            raise wrong_kind("base", self.base, "a Booster")
        check_objective(self.objective)
        base = None if self.base is None else self.base._core
        return {"params": self._checked(), "base": base}

    def _keep_results(self, trainer: _rustrank.Trainer) -> None:
        self._path = trainer.path()

    @property
    def path(self) -> list[tuple[int, float]]:
        """The feature of each round and the weight that was added to it, after the best round too."""
        _ = self.booster
        return list(self._path)

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The weight of each feature in the booster: the sum over the path up to the best round."""
        return self.booster.coefficients

    @property
    def best_round(self) -> int | None:
        """The round whose booster was kept, where early stopping looked at a validation set."""
        return self._best_round

    def plot(self, ax: Any = None) -> Any:
        """Draw the weight of each feature as rounds go on (needs matplotlib)."""
        from rustrank.plotting.results import plot_path

        return plot_path(self, ax)
