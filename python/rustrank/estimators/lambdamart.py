"""LambdaMART and its siblings as estimators like scikit-learn's, none of which needs scikit-learn.

They are `rustrank.Dataset` and `rustrank.train` in one call. `n_estimators`, `n_jobs` and
`random_state` are scikit-learn's names; all other options have `rustrank.train`'s.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from rustrank._rustrank import objectives
from rustrank.errors import ParamError, wrong_value
from rustrank.estimators.eval_sets import eval_sets, training_sets
from rustrank.estimators.fitting import columns_by_name, training_part
from rustrank.estimators.ranker import Ranker
from rustrank.inputs.keywords import OF_FIT, refuses_unknown
from rustrank.inputs.scalars import flag, share
from rustrank.parameters.plan import looking_past_training
from rustrank.parameters.schema import TRAININGS, as_named, options_of
from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self, Unpack

    from rustrank.parameters import option_types

__all__ = ["MART", "XENDCGMART", "LambdaMART", "McRank", "QueryRMSEMART", "RankNetMART"]

#: The losses of `MART`.
_POINTWISE = tuple(name for name, estimator, _ in objectives() if estimator == "MART")
#: What is `rustrank.Dataset`'s, or an estimator's own.
_OWN = {
    "categorical": None,
    "max_bins": None,
    "missing": math.nan,
    "query_ranks": False,
    "validation_fraction": 0.1,
}
#: Options of `train` that are options of an estimator, too, and not arguments of its ``fit``.
_RUN = ("metric", "early_stopping", "preset", "exportable", "progress", "num_threads")
#: The options of losses.
OF_LOSSES = [
    name
    for name, one in TRAININGS["train"].items()
    if one.group == "objective" and name not in ("objective", "preferences")
]


def tree_options(of_loss: Iterable[str], **own: Any) -> dict[str, Any]:
    """Return the options of a ranker made of trees, with those of its loss, and their defaults."""
    left_out = ("objective", "run", "workers")
    return options_of("train", (*of_loss, *_RUN), left_out=left_out) | _OWN | own


class TreeRanker(Ranker):
    """The base class of estimators of boosted trees."""

    _objective: ClassVar[str]
    _training = "train"

    @refuses_unknown(OF_FIT)
    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
        extra_labels: Any = None,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_features)
            Features, in anything that `rustrank.Dataset` takes. A column ``qid`` of a frame is not a
            feature but the query of each row, unless queries come otherwise.
        y : array-like of shape (num_docs,)
            Labels: finite numbers from 0.
            ``y``, ``qid``, ``sample_weight`` and ``base_score`` may be the name of a column of ``X``, which
            is then not a feature, here and in `predict` and `score`.
        qid, group : array-like, optional
            The query of each row, in any order; or the number of rows of each query, in row order.
            Without either all rows are one query: a warning says so, and with more than 3,000 rows it
            is an error unless the loss needs no queries, as that of `MART`.
        sample_weight : array-like of shape (num_docs,), optional
            A factor on each doc's gradients.
        query_weight, base_score : array-like, optional
            As for `rustrank.Dataset`.
        eval_set : (X, y), list or mapping of these, optional
            Validation sets, with their query ids as a third element, a column ``qid``, or in one of the
            next two. One alone is called ``valid``, those of a list ``valid_0``, ``valid_1``, ...; a
            mapping has names as keys. A set may be a mapping of X, y, qid or group, query_weight and
            extra_labels, too; and where ``y`` is the name of a column, a table that has it. The other
            columns that ``fit`` takes by name are then taken from that table, too.
        eval_qid, eval_group : list of array-like, optional
            Query ids, or sizes, of each validation set.
        base : Booster, optional
            A model of any kind to go on from: its scores are what training starts with.
        callbacks : callable or sequence of callables, optional
            As for `rustrank.train`.
        extra_labels : mapping, str or sequence of str, optional
            Further labels for metrics such as ``revenue@10``, as for `rustrank.Dataset`; those of a
            validation set are an entry of its mapping.

        Returns
        -------
        TreeRanker
            This one, fitted.

        Raises
        ------
        DataError
            Nothing can be learned from the data, or a validation set does not fit them.
        ParamError
            An option is out of range.
        """
        return self._fit(X, y, locals())

    def _fit(self, X: Any, y: Any, given: Mapping[str, Any]) -> Self:
        kind, needs_queries = type(self).__name__, self._needs_queries
        part = training_part(X, y, given, kind, needs_queries=needs_queries)
        has_queries = part.qid is not None or given["group"] is not None
        table, sets = part.X, eval_sets(given, has_queries=has_queries)
        every = {name: getattr(self, name) for name in self._defaults}
        if every["early_stopping"] is not None and not sets:
            held_share = share("validation_fraction", every["validation_fraction"])
            part, held = part.split(held_share, self._seed())
            sets = {"valid": held}
        rule = looking_past_training(every["early_stopping"], training_sets(given))
        # What was not given is left to `train`, which knows of presets.
        attributes = {name: value for name, value in every.items() if name in vars(self)}
        if all(name in attributes and _is_default(self, name) for name in self._defaults):
            # A copy by ``type(ranker)(**ranker.get_params())`` of one that was given nothing.
            attributes = {}
        if rule is not every["early_stopping"]:
            attributes["early_stopping"] = rule
        own = {self._renamed.get(name, name): value for name, value in attributes.items()}
        options = {name: value for name, value in own.items() if name in TRAININGS["train"]}
        options |= {"num_threads": self._threads(), "seed": self._seed(), "objective": self._loss()}
        options |= {name: given[name] for name in ("callbacks", "preferences") if name in given}
        reading = {"missing": every["missing"], "num_threads": options["num_threads"]}
        binning = {name: every[name] for name in ("max_bins", "query_ranks", "categorical")}
        flag("query_ranks", binning["query_ranks"])
        dataset = part.dataset(base=given["base"], **binning, **reading)
        valid = {name: one.dataset(like=dataset, **reading) for name, one in sets.items()}
        try:
            self._booster = train(dataset, valid=valid or None, **options)
        except ParamError as error:
            raise as_named(error, self._renamed) from None
        self._note(table)
        self._has_queries, self._columns = has_queries, columns_by_name(y, given)
        return self

    def _loss(self) -> str:
        return self._objective

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


def _is_default(ranker: TreeRanker, name: str) -> bool:
    """Return whether an option is the default, and not another value that equals it."""
    value, default = getattr(ranker, name), ranker._defaults[name]
    return value is default or (type(value) is type(default) and bool(value == default))


class LambdaMART(TreeRanker):
    """Gradient-boosted trees that learn by the changes of a metric (Wu et al. 2010; Burges 2010).

    Works as it is, in scikit-learn's pipelines, searches and cross-validation, and without scikit-learn.
    The result depends on the data and the options alone: not on the order of rows or queries, nor on
    the number of threads.

    Parameters
    ----------
    n_estimators : int, default 100
        The most trees; chosen from the data where no option of the model is given (see ``preset``).
    num_leaves : int, default 31
        The most leaves of a tree; chosen likewise.
    learning_rate : float, default 0.1
        What leaf values are multiplied by; chosen likewise.
    metric : str or callable, a sequence of these, or a mapping, default "ndcg@10"
        What is evaluated on the validation sets; the first one decides when to stop, and is what
        `score` returns. Of a mapping from metrics to weights the weighted sum is maximised and decides.
    guard : mapping, optional
        Metrics that may not fall, and how far they may at most, as for `rustrank.train`.
    early_stopping : int or EarlyStopping, optional
        End training after so many rounds without a new best value on the first validation set that is
        not the training set: the same objects ``X`` and ``y``.
    validation_fraction : float, default 0.1
        With ``early_stopping`` and no ``eval_set``: the share of the queries that is held out.
    preset : {"auto", "plain", "noisy", "clean", "robust", "paper", ...}, optional
        Values for options that are not given, as for `rustrank.train`. Without it, and without any option of the
        model, `fit` chooses the settings from the data, as `rustrank.train` does, but without ranks within
        queries; ``plain`` keeps the defaults. ``booster_.chosen`` has what was chosen.
    tree_shape, max_depth, min_leaf_docs, min_leaf_hess, l2, ...
        What bounds a tree: as for `rustrank.train`, like all the following.
    features_per_tree, features_per_node, rows_per_node, random_strength
        How trees are made different by chance.
    monotone, interactions, feature_weight
        What bounds the use of features.
    category_smooth, min_category_docs, max_categories, category_one_by_one, missing_is_unknown
        How splits on categories are chosen.
    queries_per_tree, docs_per_tree, doc_sampling, top_docs
        What each tree is grown from.
    step, step_metric, step_min, step_max, step_on
        The exact step.
    dropout, dropout_skip, dropout_max, dropout_normaliser
        Trees that are left out while others are grown.
    position_l2
        How far the biases of positions stay near 0.
    objective_metric, pairs_to, ideal_to, sigma, pair_normaliser, gap_offset
        What pairs weigh.
    query_normaliser, noise_scale, noise_copies, augment, tied_pairs
        What queries weigh, whether they count again with some of their docs, and how ties count.
    gain, relevant_from, max_label
        What labels are worth.
    max_bins, missing, categorical, query_ranks
        As for `rustrank.Dataset`. With ``query_ranks``, scores depend on the other docs of the query:
        `predict` needs ``qid``, too.
    exportable : {"lightgbm", "xgboost", "ranklib", "onnx", "rustrank"}, optional
        A format that the model is to be exported to: `fit` refuses what it cannot hold.
    random_state : int or None, default 0
        The seed of everything random; None is 0.
    n_jobs : int, optional
        Threads to use; all cores by default, and for -1.
    progress : bool, default False
        Whether to show a progress bar.

    Attributes
    ----------
    booster_ : Booster
        What was learned.
    feature_importances_ : ndarray of shape (num_features,)
        The share of each feature in what all splits took off the loss.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (num_features,)
        Their names, where the table had some.
    history_ : mapping
        The metrics on the validation sets after each round.
    best_round_ : int or None
        With early stopping, the number of trees at which the metric was best.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> ranker = rr.LambdaMART(n_estimators=10, num_leaves=8).fit(X, y, qid=qid)
    >>> ranker.booster_
    <Booster: 10 trees, 50 features>
    >>> ranker.predict(X).shape == y.shape
    True
    >>> ranker.score(X, y, qid=qid) > 0.5
    True
    """

    _objective = "lambdamart"
    _defaults = tree_options([*OF_LOSSES, "guard"])

    def __init__(self, **options: Unpack[option_types.LambdaOptions]) -> None:
        super().__init__(**options)


class RankNetMART(TreeRanker):
    """Gradient-boosted trees that learn to order pairs of docs: RankNet's loss (Burges et al. 2005).

    Pairs weigh the same, whatever their labels and ranks. `RankNet` is the net with this loss.

    Parameters
    ----------
    pairs_to : int or None, default 30
        Pairs count if one of their docs has at most this rank; None for all.
    sigma : float, default 1
        The steepness of the sigmoid.
    tied_pairs : {"expected", "drawn"}
        As for `rustrank.train`.
    n_estimators, num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> rr.RankNetMART(n_estimators=5).fit(X, y, qid=qid).booster_
    <Booster: 5 trees, 50 features>
    """

    _objective = "ranknet"
    _defaults = tree_options(("augment", "pairs_to", "sigma", "tied_pairs"))

    def __init__(self, **options: Unpack[option_types.PairOptions]) -> None:
        super().__init__(**options)

    @refuses_unknown(OF_FIT)
    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
        extra_labels: Any = None,
        preferences: Any = None,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight, base_score
            As for `LambdaMART.fit`.
        eval_set, eval_qid, eval_group, base, callbacks, extra_labels
            As for `LambdaMART.fit`.
        preferences : array-like of shape (num_pairs, 2 to 4), optional
            What is learned instead of labels, as for `rustrank.train`.

        Returns
        -------
        RankNetMART
            This one, fitted.
        """
        return self._fit(X, y, locals())


class XENDCGMART(TreeRanker):
    """Gradient-boosted trees with the cross entropy that bounds NDCG (Bruch 2021).

    Parameters
    ----------
    n_estimators, num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> rr.XENDCGMART(n_estimators=5).fit(X, y, qid=qid).booster_
    <Booster: 5 trees, 50 features>
    """

    _objective = "xendcg"
    _defaults = tree_options(("augment",))

    def __init__(self, **options: Unpack[option_types.QueryOptions]) -> None:
        super().__init__(**options)


class QueryRMSEMART(TreeRanker):
    """Gradient-boosted trees with the squared error around each query's mean (CatBoost's QueryRMSE).

    Labels are learned doc by doc, but for a constant of each query: the mean error of a query is taken
    out, so that no tree is spent on how large the labels of a query are.

    Parameters
    ----------
    n_estimators, num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> rr.QueryRMSEMART(n_estimators=5).fit(X, y, qid=qid).booster_
    <Booster: 5 trees, 50 features>
    """

    _objective = "query_rmse"
    _defaults = tree_options(("augment",))

    def __init__(self, **options: Unpack[option_types.QueryOptions]) -> None:
        super().__init__(**options)


class MART(TreeRanker):
    """Gradient-boosted trees that learn labels doc by doc (Friedman 2001).

    Parameters
    ----------
    objective : {"regression", "logistic", "balanced_logistic", "err_logistic"}
        The loss: squared error, or that of a logistic regression, in which the docs that are relevant
        may weigh as much as the others, or are so with the probability that ERR sees in a label. With
        ``relevant_from`` logistic losses tell relevant docs by it; without, labels are probabilities.
    n_estimators, num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> rr.MART(n_estimators=5).fit(X, y, qid=qid).booster_
    <Booster: 5 trees, 50 features>
    """

    _needs_queries = False
    _defaults = tree_options((), objective="regression")
    objective: str

    def __init__(self, **options: Unpack[option_types.MARTOptions]) -> None:
        super().__init__(**options)

    def _loss(self) -> str:
        if self.objective not in _POINTWISE:
            raise wrong_value("objective", self.objective, ", ".join(_POINTWISE))
        return self.objective


class McRank(TreeRanker):
    """Gradient-boosted trees for each label; the score is the expected gain (Li, Burges and Wu 2007).

    Parameters
    ----------
    ordinal : bool, default False
        Whether trees learn how probable labels above each are, and not the labels themselves.
    n_estimators : int, default 100
        The most trees of each label.
    num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> ranker = rr.McRank(n_estimators=3).fit(X, y, qid=qid)
    >>> ranker.booster_.probabilities(X).shape[1]
    5
    """

    _needs_queries = False
    _defaults = tree_options((), ordinal=False)
    ordinal: bool

    def __init__(self, **options: Unpack[option_types.McRankOptions]) -> None:
        super().__init__(**options)

    def _loss(self) -> str:
        return "mcrank_ordinal" if flag("ordinal", self.ordinal) else "mcrank"
