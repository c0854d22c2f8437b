"""Estimators that learn from raw feature values in rounds: `LambdaBoost`, and the nets RankNet and LambdaRank."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from rustrank import _rustrank
from rustrank.data.caller_errors import errors_in_order_of_rows
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import check_base_names, wrong_base
from rustrank.errors import ParamError, ParamKindError
from rustrank.estimators.eval_sets import eval_sets
from rustrank.estimators.fitting import columns_by_name, training_part
from rustrank.estimators.ranker import Ranker
from rustrank.inputs.keywords import OF_FIT, refuses_unknown
from rustrank.inputs.queries import query_sizes, warn_of_single_docs
from rustrank.inputs.tables import columns_of
from rustrank.metrics.evaluation import named_metrics
from rustrank.metrics.label_scale import scale_note
from rustrank.model.booster import Booster
from rustrank.parameters.hints import check_objective
from rustrank.parameters.plan import preferences_of
from rustrank.parameters.schema import RENAMED, options_of
from rustrank.training.rounds import Notes, Reporting, booster_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self, Unpack

    from rustrank.parameters import option_types

__all__ = ["LambdaBoost", "LambdaRank", "RankNet"]


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

    @refuses_unknown(OF_FIT)
    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
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
            rows are one: a warning says so, and with more than 3,000 rows it is an error.
        sample_weight : array-like of shape (num_docs,), optional
            A factor on each doc's gradients.
        eval_set : (X, y), or a list or mapping of one, optional
            A validation set; with its query ids as a third element, a column ``qid``, or in one of
            the next two. Or a mapping of X, y, qid or group, and query_weight; or a table, where ``y`` is
            the name of a column. It is called ``valid``, or what a mapping from its name says.
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
        check_base_names(getattr(self, "base", None), names, "X")
        has_queries = part.qid is not None or given["group"] is not None
        sets = eval_sets(given, has_queries=has_queries)
        if len(sets) > 1:
            message = f"eval_set: got {len(sets)} validation sets, expected one"
            raise ParamError(message, code="eval_set")
        expected = part.X.num_features, names
        valid = []
        for name, one in sets.items():
            table = columns_of(one.X, expected, "eval_set", "the training set")
            valid.append((name, replace(one, X=table).values(num_threads)))
        metrics = named_metrics(options["params"]["metric"])
        options = {"base": None, "preferences": None, **options}
        plan = SimpleNamespace(valid=valid, metrics=metrics, **options)
        scale = {name: options["params"][name] for name in ("gain", "max_label")}
        of_sets = {name: one.judged() for name, one in sets.items()}
        judged = part.judged()
        warn_of_single_docs(query_sizes(judged.queries), "the training set")
        with errors_in_order_of_rows(judged, {**scale, "valid": of_sets}):
            notes = Notes(names, scale_note(options["params"]))
            self._run(self._trainer(data, plan), notes, given)
        self._note(part.X)
        self._has_queries, self._columns = has_queries, columns_by_name(y, given)
        return self

    def _run(self, trainer: _rustrank.Trainer, notes: Notes, given: Mapping[str, Any]) -> None:
        """Train, and keep the model even if training ends early."""

        def settle() -> Booster:
            self._best_round = trainer.best_round
            self._booster = booster_of(trainer, notes, self._best_round)
            self._keep_results(trainer)
            return self._booster

        reporting = Reporting({**given, "progress": self.progress}, self._unit)
        reporting.run(trainer, notes, settle)
        settle()

    @property
    def booster(self) -> Booster:
        """The same as ``booster_``."""
        return self.booster_

    @property
    def best_round_(self) -> int | None:
        """The round whose model was kept, where training looked at a validation set: of a net, the `best_epoch`."""
        _ = self.booster_
        return self._best_round

    @property
    def history(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """The metrics on the validation set after each round."""
        return self.booster.history


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

    def __init__(self, **options: Unpack[option_types.LambdaBoostOptions]) -> None:
        super().__init__(**options)

    def _options_of(self, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        if self.base is not None and not isinstance(self.base, Booster):
            raise wrong_base("base", self.base, "a Booster")
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


class _Net(RawRanker):
    """The training of RankNet and LambdaRank, and its results."""

    _training = "net"
    _unit = "epoch"
    _trainer = staticmethod(_rustrank.Trainer.net)
    _kind: ClassVar[str]
    _num_restarts: int = 0
    #: How many were asked for.
    _epochs: int

    def _options_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        params = self._checked(objective=self._kind)
        self._epochs = params["epochs"]
        pairs = preferences_of(given.get("preferences"), self._kind, params["augment"])
        return {"params": params, "preferences": pairs}

    def _keep_results(self, trainer: _rustrank.Trainer) -> None:
        self._num_restarts = trainer.num_restarts
        # The extension notes the epoch whose weights were kept; that is `best_round`.
        self.booster._core = self.booster._core.with_attribute("epochs", str(self._epochs))

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

    def __init__(self, **options: Unpack[option_types.LambdaRankOptions]) -> None:
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

    def __init__(self, **options: Unpack[option_types.RankNetOptions]) -> None:
        super().__init__(**options)

    @refuses_unknown(OF_FIT)
    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
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
