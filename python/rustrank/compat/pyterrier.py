"""PyTerrier: rankers as the last step of a pipeline, which learns from `fit` of the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, wrong_kind
from rustrank.estimators.ranker import Ranker
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from numpy.typing import NDArray

try:
    import pyterrier as pt
except ImportError:
    message = "rustrank.compat.pyterrier needs PyTerrier: pip install python-terrier"
    raise ImportError(message) from None

__all__ = ["Reranker"]


class Reranker(pt.Estimator):  # type: ignore[misc]  # PyTerrier is optional, and then without types
    """A PyTerrier transformer that scores documents by their column ``features``.

    Unlike `pyterrier.ltr.apply_learned_model` it always passes the queries on, so that rankers whose scores
    depend on the other documents of a query work, and a validation set is optional.

    Parameters
    ----------
    ranker : estimator of rustrank, or rustrank.Booster
        An estimator, fitted or not; or a model that is only used.
    **options
        Of the estimator's ``fit``, such as ``base``.

    Examples
    --------
    ``pipeline = candidates >> Reranker(rr.LambdaMART())``, then
    ``pipeline.fit(train_topics, train_qrels, valid_topics, valid_qrels)``.
    """

    def __init__(self, ranker: Any, **options: Any) -> None:
        super().__init__()
        if not isinstance(ranker, (Booster, Ranker)):
            raise wrong_kind("ranker", ranker, "an estimator of rustrank or a Booster")
        self.ranker, self.options = ranker, options

    def fit(
        self,
        topics_or_res_tr: Any,
        qrels_tr: Any,
        topics_or_res_va: Any = None,
        qrels_va: Any = None,
    ) -> Reranker:
        """Train the estimator; what ``fit`` of a pipeline calls.

        Parameters
        ----------
        topics_or_res_tr : pandas.DataFrame
            Documents with ``qid``, ``docno`` and ``features``.
        qrels_tr : pandas.DataFrame
            Judgements with ``qid``, ``docno`` and ``label``. Documents without one, and those with a label
            below 0, count as not relevant.
        topics_or_res_va, qrels_va : pandas.DataFrame, optional
            The same for the validation set, which early stopping needs.
        """
        if isinstance(self.ranker, Booster):
            raise wrong_kind("ranker", self.ranker, "an estimator, such as rr.LambdaMART(), to fit")
        X, y, qid = _judged(topics_or_res_tr, qrels_tr)
        options = dict(self.options)
        if topics_or_res_va is not None:
            options["eval_set"] = [_judged(topics_or_res_va, qrels_va)]
        self.ranker.fit(X, y, qid=qid, **options)
        return self

    def transform(self, inp: Any) -> Any:
        """Return the frame with the columns ``score`` and ``rank``."""
        pt.validate.result_frame(inp, extra_columns=["features"], context=self)
        model = self.ranker if isinstance(self.ranker, Booster) else self.ranker.booster_
        scores = model.predict(_features(inp), qid=_ids(inp)) if len(inp) else np.empty(0)
        return pt.model.add_ranks(inp.assign(score=scores))

    def transform_outputs(self, inp_cols: list[str]) -> list[str]:
        """Return the names of the columns after `transform`."""
        return [*inp_cols, *(name for name in ("score", "rank") if name not in inp_cols)]


def _judged(documents: Any, qrels: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return features, labels and query ids."""
    pt.validate.result_frame(documents, extra_columns=["features"])
    judged = documents.drop(columns="label", errors="ignore").merge(
        qrels[["qid", "docno", "label"]], on=["qid", "docno"], how="left"
    )
    labels = judged["label"].fillna(0).to_numpy().clip(min=0)
    return _features(judged), labels, _ids(judged)


def _ids(documents: Any) -> NDArray[Any]:
    return np.asarray(documents["qid"].astype(str), dtype=object)


def _features(documents: Any) -> NDArray[Any]:
    """Return the features as a matrix, or raise `DataError` where a document has others than the first."""
    rows = [np.asarray(row) for row in documents["features"]]
    for number, row in enumerate(rows):
        if row.shape != rows[0].shape or row.ndim != 1:
            message = (
                f"features of row {number}: got an array of shape {row.shape}, expected "
                f"({rows[0].size},) as in row 0"
            )
            raise DataError(message, code="shape", row=number)
    return np.stack(rows)
