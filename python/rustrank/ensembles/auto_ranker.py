"""`AutoRanker`: `rustrank.auto` as an estimator like scikit-learn's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from rustrank.ensembles.auto import Auto, auto
from rustrank.errors import ParamError, warn_caller
from rustrank.estimators.fitting import columns_by_name, training_part
from rustrank.estimators.ranker import Ranker
from rustrank.inputs.keywords import OF_FIT, refuses_unknown
from rustrank.parameters.schema import RENAMED, as_named
from rustrank.training.probes import num_judged_queries
from rustrank.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AutoRanker"]


class AutoRanker(Ranker):
    """The best ranker that can be had in a given time, without settings: `rustrank.auto` as an estimator.

    Parameters
    ----------
    time_limit : float or None, default 60
        The seconds that ``fit`` may take; None for no limit.
    metric : str, default "ndcg@10"
        What everything is chosen by, and what `score` returns.
    folds, max_members : int
        As for `rustrank.auto`.
    query_ranks : bool, default True
        Whether the ranks of values within queries are features: `predict` then needs ``qid``, too.
    gain, relevant_from, max_label
        What labels are worth, as for `rustrank.train`.
    max_bins, missing, categorical
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
        The mixture, as one model.
    auto_ : Auto or None
        The leaderboard; None where there were too few queries for folds.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=30, docs_per_query=15, seed=0)
    >>> ranker = rr.AutoRanker(time_limit=2, folds=3).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.5
    True
    """

    _training = "train"
    _defaults: ClassVar[dict[str, Any]] = {
        "time_limit": 60.0,
        "metric": "ndcg@10",
        "folds": 5,
        "max_members": 12,
        "query_ranks": True,
        "gain": "exp2",
        "relevant_from": None,
        "max_label": None,
        "max_bins": None,
        "missing": math.nan,
        "categorical": None,
        "random_state": 0,
        "n_jobs": None,
        "progress": False,
    }
    auto_: Auto | None

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
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As for `LambdaMART.fit`. No validation set is needed: folds choose the number of rounds.

        Returns
        -------
        AutoRanker
            This one, fitted.

        Raises
        ------
        DataError
            Nothing can be learned from the data.
        ParamError
            An option is out of range.
        """
        given = locals()
        part = training_part(X, y, given, type(self).__name__)
        reading = {"missing": self.missing, "num_threads": self._threads()}
        binning = {"max_bins": self.max_bins, "categorical": self.categorical}
        ranks = None if self.query_ranks else False
        data = part.dataset(query_ranks=ranks, **binning, **reading)
        names = ("time_limit", "metric", "folds", "max_members", "query_ranks", "progress")
        labels = {name: getattr(self, name) for name in ("gain", "relevant_from", "max_label")}
        common = {"seed": self._seed(), "num_threads": self._threads(), **labels}
        self.auto_ = None
        try:
            if num_judged_queries(data) < 2:
                warn_caller(
                    "fewer than two queries with different labels make no folds: one model is trained"
                )
                plain = {"metric": self.metric, "preset": "plain", "progress": False, **common}
                self._booster = train(data, **plain)
            else:
                options = {name: getattr(self, name) for name in names}
                self.auto_ = auto(data, **options, **common)
                self._booster = self.auto_.booster
        except ParamError as error:
            raise as_named(error, RENAMED) from None
        self._note(part.X)
        self._has_queries = part.qid is not None or group is not None
        self._columns = columns_by_name(y, given)
        return self
