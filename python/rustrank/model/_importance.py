"""Which importance of features a model has: of splits, if it has trees; by permutation, if it has bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rustrank.errors import DataError, ParamError, warn_caller

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rustrank.model.booster import Booster

_FOR_ANY = (
    "sklearn.inspection.permutation_importance(estimator, X, y, scoring=...) needs scores alone, where scoring "
    'is a function such as lambda r, X, y: rustrank.evaluate(r.predict(X, qid=qid), y, qid=qid)["ndcg@10"]'
)


def importance_by_splits(booster: Booster, kind: str) -> NDArray[np.float64]:
    """Return the reduction of the loss by the splits on each feature, or their number.

    Raises `ParamError` for a model whose features have weights in it, but no splits, and warns of one that is more
    than trees.
    """
    reduction, number, left_out = booster._core.splits()
    # A training of trees that grew none has an importance: 0 for each feature.
    if not number.any() and (left_out or "tree_shape" not in booster.params):
        path = "; booster.path has the weights of its features" if booster.path else ""
        message = f"kind: got {kind!r}, which is about splits: {booster!r} has no trees on features{path}; {_FOR_ANY}"
        raise ParamError(message, code="tree")
    if left_out:
        warn_caller(
            f"the importance by splits is that of trees alone, and {' and '.join(left_out)} is a part of the "
            f"model, too; {_FOR_ANY}"
        )
    return reduction if kind == "reduction" else number


def check_has_bins(booster: Booster) -> None:
    """Raise `DataError` for a model that cannot score the documents of any Dataset."""
    try:
        booster._core.binning()
    except DataError as error:
        reason = (
            "only some of its models rank features within queries"
            if "rank features" in str(error)  # Models without bins have the same code.
            else "it has a net, a linear part, trees of another library or scores normalised within queries"
        )
        message = (
            f"kind: got 'permutation', which shuffles the bins of a Dataset: {booster!r} scores raw features "
            f"only, as {reason}, and no Dataset can be made for it; {_FOR_ANY}"
        )
        raise DataError(message, code="bins") from None
