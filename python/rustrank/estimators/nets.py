"""Nets that rank: RankNet and LambdaRank, linear or with one or two hidden layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rustrank import _rustrank
from rustrank.estimators._raw_ranker import RawRanker
from rustrank.parameters.plan import preferences_of
from rustrank.parameters.schema import options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self, Unpack

    from rustrank.parameters.option_types import LambdaRankOptions, RankNetOptions

__all__ = ["LambdaRank", "RankNet"]


class _Net(RawRanker):
    """The training of RankNet and LambdaRank, and its results."""

    _training = "net"
    _unit = "epoch"
    _trainer = staticmethod(_rustrank.Trainer.net)
    _kind: ClassVar[str]
    _num_restarts: int = 0

    def _options_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        params = self._checked(objective=self._kind)
        pairs = preferences_of(given.get("preferences"), self._kind, params["augment"])
        return {"params": params, "preferences": pairs}

    def _keep_results(self, trainer: _rustrank.Trainer) -> None:
        self._num_restarts = trainer.num_restarts
        # The model of a net has no rounds that it could be cut to.
        self.booster.best_round = None

    @property
    def best_epoch(self) -> int | None:
        """The epoch whose weights were kept, where there was a validation set."""
        return self._best_round

    @property
    def num_restarts(self) -> int:
        """How often training went back to the best weights."""
        return self._num_restarts


class LambdaRank(_Net):
    """A net that learns by the changes of a metric (Burges, Ragno and Le 2006; Burges 2010).

    The lambdas are those of `rustrank.train` with ``objective="lambdamart"`` and without its
    additions to the paper. The result depends on the data and the options alone: not on the order of rows or
    queries, nor on the number of threads.

    Values are standardised; how is part of the model. A missing value counts as the mean.

    Parameters
    ----------
    hidden : sequence of int, default (16,)
        The units of each hidden layer, tanh: ``()`` for a linear ranker, at most two layers. Sixteen
        cost no more than the papers' ten.
    epochs : int, default 30
        The most passes over all queries.
    learning_rate : float, default 3e-3
        The size of a step.
    optimiser : {"adam", "sgd"}
        How a gradient becomes a step; ``sgd`` is the papers'.
    schedule : {"linear", "constant"}
        Whether the learning rate falls from epoch to epoch, towards 0 after the last.
    batch_queries : int, default 1
        How many queries make a step together; 1 is the papers'. Only the docs of a batch are worked
        on in parallel.
    patience : int or None, default 5
        With a validation set: after so many epochs without a new best value of the first metric, go
        back to the best weights, at a lower rate; and end, after as many again. None does all epochs
        and keeps the last weights.
    restarts, restart_factor : int, float, default 2 and 0.5
        How often training goes back before it ends, and what the learning rate is then multiplied by.
    weight_decay : float, default 0.1
        What a step takes off each weight, as a share of the learning rate. Clean labels and much data
        want less.
    inputs : {"auto", "plain", "log"}
        Whether to take ``sign(x) * log(1 + |x|)`` of values before they are standardised: ``auto`` does
        so for features with long tails, such as counts, whose tails that shortens.
    limit : float, default 10
        Standardised values beyond this count as this.
    metric : str or sequence of str, default "ndcg@10"
        What is evaluated on the validation set; the first one decides.
    objective_metric : str, optional
        The metric whose changes weigh pairs; by default the first ``metric``, at all ranks.
    pairs_to : int or None, default 30
        Pairs count if one of their docs has at most this rank; None for all.
    sigma : float, default 1
        The steepness of the sigmoid.
    augment : (fraction, copies), optional
        Each query counts again, ``copies`` times, with a random ``fraction`` of its docs.
    gain, relevant_from, max_label
        As for `rustrank.evaluate`, in the loss and the metrics alike.
    random_state : int or None, default 0
        The seed of the first weights and of the order of queries; None is 0.
    n_jobs : int, optional
        Threads to use; all cores by default, and for -1.
    progress : bool, default False
        Whether to show a progress bar.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> net = rr.LambdaRank(hidden=(8,), epochs=3).fit(data.X, data.y, qid=data.qid)
    >>> net.booster.num_features
    50
    >>> net.predict(data.X).shape == data.y.shape
    True
    """

    _kind = "lambdamart"
    _defaults = options_of("net", ("objective_metric", "pairs_to", "sigma", "augment"))

    def __init__(self, **options: Unpack[LambdaRankOptions]) -> None:
        super().__init__(**options)


class RankNet(_Net):
    """A net that learns to order pairs of docs (Burges et al. 2005).

    The result depends on the data and the options alone: not on the order of rows or queries, nor on
    the number of threads.

    Parameters
    ----------
    hidden, epochs, learning_rate, optimiser, schedule, batch_queries
        As for `LambdaRank`.
    patience, restarts, restart_factor, weight_decay, inputs, limit
        As for `LambdaRank`.
    metric : str or sequence of str, default "ndcg@10"
        What is evaluated on the validation set; the first one decides.
    pairs_to : int or None, default None
        Pairs count if one of their docs has at most this rank; None for all.
    sigma, augment, gain, relevant_from, max_label, random_state, n_jobs, progress
        As for `LambdaRank`.

    Examples
    --------
    >>> import rustrank as rr
    >>> net = rr.RankNet(hidden=(), epochs=50)
    >>> X, pairs = [[1.0], [2.0], [4.0]], [[2, 0], [2, 1], [1, 0]]
    >>> net.fit(X, [0, 0, 0], group=[3], preferences=pairs).predict(X).argsort()
    array([0, 1, 2])
    """

    _kind = "ranknet"
    _defaults = options_of("net", ("pairs_to", "sigma", "augment"))

    def __init__(self, **options: Unpack[RankNetOptions]) -> None:
        super().__init__(**options)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        sample_weight: Any = None,
        preferences: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, query_weight, sample_weight, eval_set, eval_qid, eval_group, callbacks
            As for `LambdaRank.fit`.
        preferences : array-like of shape (num_pairs, 2 to 4), optional
            What is learned instead of labels: the rows of a better and a worse doc of one query, the
            probability that it is better (1 by default) and the weight of the pair (1). Pairs may
            contradict each other. Labels then play no part.

        Returns
        -------
        RankNet
            This one, fitted.
        """
        return self._fit(X, y, locals())
