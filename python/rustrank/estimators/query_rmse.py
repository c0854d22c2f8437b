"""Trees that learn labels up to a constant of each query, as an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rustrank.estimators.tree_ranker import TreeRanker, tree_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rustrank.parameters.option_types import QueryOptions

__all__ = ["QueryRMSEMART"]


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

    def __init__(self, **options: Unpack[QueryOptions]) -> None:
        super().__init__(**options)
