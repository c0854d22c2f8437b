"""LambdaMART and its siblings as estimators like scikit-learn's, none of which needs scikit-learn.

They are `rustrank.Dataset` and `rustrank.train` in one call. `n_estimators`, `n_jobs` and
`random_state` are scikit-learn's names; all other options have `rustrank.train`'s.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rustrank._tree_ranker import TreeRanker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rustrank.training import EarlyStopping

__all__ = ["XENDCGMART", "LambdaMART", "RankNetMART"]


class LambdaMART(TreeRanker):
    """Gradient-boosted trees that learn by the changes of a metric (Wu et al. 2010; Burges 2010).

    Works as it is, in scikit-learn's pipelines, searches and cross-validation, and without scikit-learn.
    The result depends on the data and the options alone: not on the order of rows or queries, nor on
    the number of threads.

    Parameters
    ----------
    n_estimators : int, default 100
        The most trees.
    num_leaves : int, default 31
        The most leaves of a tree.
    learning_rate : float, default 0.1
        What leaf values are multiplied by.
    metric : str or callable, or a sequence of these, default "ndcg@10"
        What is evaluated on the validation sets; the first one decides when to stop, and is what
        `score` returns.
    early_stopping : int or EarlyStopping, optional
        End training after so many rounds without a new best value on the first validation set.
    validation_fraction : float, default 0.1
        With ``early_stopping`` and no ``eval_set``: the share of the queries that is held out.
    preset : {"robust", "paper"}, optional
        Values for options that are left at their defaults, as for `rustrank.train`.
    tree_shape, max_depth, min_leaf_docs, min_leaf_hess, l2, min_reduction, criterion
        As for `rustrank.train`, like all the following.
    features_per_tree, features_per_node, rows_per_node, random_strength
        How trees are made different by chance.
    queries_per_tree, docs_per_tree
        What each tree is grown from.
    step, step_metric, step_min, step_max, step_on
        The exact step.
    objective_metric, pairs_to, sigma, pair_normaliser, gap_offset
        What pairs weigh.
    query_normaliser, noise_scale, noise_copies, tied_pairs
        What queries weigh, and how ties count.
    gain, relevant_from, max_label
        What labels are worth.
    max_bins, missing
        As for `rustrank.Dataset`.
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

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "ndcg@10",
        early_stopping: int | EarlyStopping | None = None,
        validation_fraction: float = 0.1,
        preset: str | None = None,
        tree_shape: str = "leafwise",
        max_depth: int | None = None,
        min_leaf_docs: int = 20,
        min_leaf_hess: float = 1e-3,
        l2: float = 0.0,
        min_reduction: float = 0.0,
        criterion: str = "second_order",
        features_per_tree: float = 1.0,
        features_per_node: float = 1.0,
        rows_per_node: float = 1.0,
        random_strength: float = 0.0,
        queries_per_tree: float = 1.0,
        docs_per_tree: float = 1.0,
        step: str = "newton",
        step_metric: str | None = None,
        step_min: float = 0.1,
        step_max: float = 100.0,
        step_on: str | None = None,
        objective_metric: str | None = None,
        pairs_to: int | None = 30,
        sigma: float = 1.0,
        pair_normaliser: str = "auto",
        gap_offset: float = 0.3,
        query_normaliser: str = "none",
        noise_scale: float | None = None,
        noise_copies: int = 2,
        tied_pairs: str = "expected",
        gain: Any = "exp2",
        relevant_from: float | None = None,
        max_label: float | None = None,
        max_bins: int | None = None,
        missing: float = math.nan,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
    ) -> LambdaMART:
        """Learn.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_features)
            Features, in anything that `rustrank.Dataset` takes. A column ``qid`` of a frame is not a
            feature but the query of each row, unless queries come otherwise.
        y : array-like of shape (num_docs,)
            Labels: finite numbers from 0.
        qid, group : array-like, optional
            The query of each row, in any order; or the number of rows of each query, in row order.
            Without either all rows are one query, and a warning says so.
        sample_weight : array-like of shape (num_docs,), optional
            A factor on each doc's gradients.
        query_weight, base_score : array-like, optional
            As for `rustrank.Dataset`.
        eval_set : (X, y), list or mapping of these, optional
            Validation sets, called ``valid_0``, ``valid_1``, ... where they have no names; with their
            query ids as a third element, a column ``qid``, or in one of the next two.
        eval_qid, eval_group : list of array-like, optional
            Query ids, or sizes, of each validation set.
        base : Booster, optional
            A model of any kind to go on from: its scores are what training starts with.
        callbacks : callable or sequence of callables, optional
            As for `rustrank.train`.

        Returns
        -------
        LambdaMART
            This one, fitted.

        Raises
        ------
        DataError
            Nothing can be learned from the data, or a validation set does not fit them.
        ParamError
            An option is out of range.
        """
        given = dict(locals())
        del given["self"], given["X"], given["y"]
        self._fit(X, y, given)
        return self


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

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "ndcg@10",
        early_stopping: int | EarlyStopping | None = None,
        validation_fraction: float = 0.1,
        preset: str | None = None,
        tree_shape: str = "leafwise",
        max_depth: int | None = None,
        min_leaf_docs: int = 20,
        min_leaf_hess: float = 1e-3,
        l2: float = 0.0,
        min_reduction: float = 0.0,
        criterion: str = "second_order",
        features_per_tree: float = 1.0,
        features_per_node: float = 1.0,
        rows_per_node: float = 1.0,
        random_strength: float = 0.0,
        queries_per_tree: float = 1.0,
        docs_per_tree: float = 1.0,
        step: str = "newton",
        step_metric: str | None = None,
        step_min: float = 0.1,
        step_max: float = 100.0,
        step_on: str | None = None,
        pairs_to: int | None = 30,
        sigma: float = 1.0,
        tied_pairs: str = "expected",
        gain: Any = "exp2",
        relevant_from: float | None = None,
        max_label: float | None = None,
        max_bins: int | None = None,
        missing: float = math.nan,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
        preferences: Any = None,
    ) -> RankNetMART:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight, base_score
            As for `LambdaMART.fit`.
        eval_set, eval_qid, eval_group, base, callbacks
            As for `LambdaMART.fit`.
        preferences : array-like of shape (num_pairs, 2 to 4), optional
            What is learned instead of labels, as for `rustrank.train`.

        Returns
        -------
        RankNetMART
            This one, fitted.
        """
        given = dict(locals())
        del given["self"], given["X"], given["y"]
        self._fit(X, y, given)
        return self


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

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "ndcg@10",
        early_stopping: int | EarlyStopping | None = None,
        validation_fraction: float = 0.1,
        preset: str | None = None,
        tree_shape: str = "leafwise",
        max_depth: int | None = None,
        min_leaf_docs: int = 20,
        min_leaf_hess: float = 1e-3,
        l2: float = 0.0,
        min_reduction: float = 0.0,
        criterion: str = "second_order",
        features_per_tree: float = 1.0,
        features_per_node: float = 1.0,
        rows_per_node: float = 1.0,
        random_strength: float = 0.0,
        queries_per_tree: float = 1.0,
        docs_per_tree: float = 1.0,
        step: str = "newton",
        step_metric: str | None = None,
        step_min: float = 0.1,
        step_max: float = 100.0,
        step_on: str | None = None,
        gain: Any = "exp2",
        relevant_from: float | None = None,
        max_label: float | None = None,
        max_bins: int | None = None,
        missing: float = math.nan,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
    ) -> XENDCGMART:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight, base_score
            As for `LambdaMART.fit`.
        eval_set, eval_qid, eval_group, base, callbacks
            As for `LambdaMART.fit`.

        Returns
        -------
        XENDCGMART
            This one, fitted.
        """
        given = dict(locals())
        del given["self"], given["X"], given["y"]
        self._fit(X, y, given)
        return self
