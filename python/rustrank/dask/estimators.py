"""LambdaMART on a Dask cluster, as an estimator like scikit-learn's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.dask.collections import is_array, is_frame
from rustrank.dask.training import train
from rustrank.errors import wrong_kind
from rustrank.estimators import lambdamart
from rustrank.metrics.evaluation import evaluate
from rustrank.parameters.schema import TRAININGS

if TYPE_CHECKING:
    from typing_extensions import Self

    from rustrank.model.booster import Booster

#: Options of an estimator that are those of the data set.
_OF_DATASET = ("categorical", "max_bins", "missing")


class LambdaMART(lambdamart.LambdaMART):
    """`rustrank.LambdaMART`, fitted on the workers of a Dask cluster.

    The options are those of `rustrank.LambdaMART`; ``query_ranks`` and ``preset="auto"`` need all documents in one
    process, and are refused. ``booster_`` is the model, in this process.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> import rustrank as rr
    >>> from rustrank.dask import LambdaMART
    >>> docs = rr.datasets.make_polynomial(num_queries=40, seed=0)
    >>> X, y, qid = (da.from_array(one, chunks=(200, -1)[: one.ndim]) for one in docs)
    >>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
    ...     ranker = LambdaMART(n_estimators=5, num_leaves=8).fit(X, y, qid)
    ...     scores = ranker.predict(X).compute()
    >>> bool((scores == ranker.booster_.predict(docs.X)).all())
    True
    """

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        qid: Any,
        *,
        sample_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        base: Booster | None = None,
        client: Any = None,
        **of_cluster: Any,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X, y, qid, base_score, client
            As for `rustrank.dask.train`.
        sample_weight : dask Array or Series, or str, optional
            A factor on each doc's gradients.
        eval_set : (X, y, qid), or a mapping of these, optional
            Validation sets.
        base : Booster, optional
            A model to go on from.
        **of_cluster
            ``deadline`` and ``max_restarts`` of `rustrank.dask.train`.
        """
        given = {name: value for name, value in vars(self).items() if name in self._defaults}
        named = {self._renamed.get(name, name): value for name, value in given.items()}
        names = [*TRAININGS["train"], *_OF_DATASET]
        options = {name: one for name, one in named.items() if name in names}
        left_out = {name: one for name, one in named.items() if name not in options}
        left_out.pop("validation_fraction", None)
        for name, value in left_out.items():
            if value not in (None, False):
                raise wrong_kind(name, value, "nothing: it needs all documents in one process")
        options |= {"num_threads": self._threads(), "seed": self._seed(), "objective": self._loss()}
        if options.get("early_stopping") is not None and eval_set is None:
            raise wrong_kind("eval_set", None, "a validation set, for early_stopping")
        self._booster = train(
            X, y, qid, row_weight=sample_weight, base_score=base_score, valid=eval_set, base=base,
            client=client, **options, **of_cluster,
        )  # fmt: skip
        self._has_queries = True
        names_of = self._booster.feature_names
        self.n_features_in_ = len(names_of)
        if is_frame(X):
            self.feature_names_in_ = np.array(names_of, dtype=object)
        return self

    def predict(self, X: Any, *args: Any, **options: Any) -> Any:
        """Return scores: a Dask array for one, a series for a data frame, and else as `rustrank.LambdaMART`."""
        booster = self.booster_
        if is_array(X):
            rows = X.rechunk({1: -1})
            return rows.map_blocks(booster.predict, dtype=np.float64, drop_axis=1, **options)
        if is_frame(X):
            return X.map_partitions(_scored, booster, options, meta=("score", np.float64))
        return super().predict(X, *args, **options)

    def score(self, X: Any, y: Any, qid: Any = None, **options: Any) -> float:  # type: ignore[override]
        """Return the mean of the metric; scores, labels and queries come to this process."""
        if not (is_array(X) or is_frame(X)):
            return super().score(X, y, qid=qid, **options)
        import dask

        columns = [X[one] if isinstance(one, str) else one for one in (y, qid)]
        scores, labels, queries = dask.compute(self.predict(X), *columns)
        found = evaluate(
            np.asarray(scores),
            y=np.asarray(labels),
            qid=np.asarray(queries),
            **self._evaluated_by(),
        )
        return float(next(iter(found.values())))


def _scored(table: Any, booster: Booster, options: dict[str, Any]) -> Any:
    """Return the scores of a partition, with its index."""
    import pandas as pd

    scores = booster.predict(table, **options) if len(table) else np.empty(0)
    return pd.Series(scores, index=table.index, name="score", dtype=np.float64)
