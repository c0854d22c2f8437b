"""Stacking: boosters whose features are derived from the scores of other boosters."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.dataset_building import raw_names
from rustrank.errors import DataError, ParamError, ParamKindError, shown, wrong_kind
from rustrank.inputs.categories import categories_numbered
from rustrank.inputs.docs import QID
from rustrank.inputs.feature_names import check_joined_names
from rustrank.inputs.queries import as_queries
from rustrank.inputs.scalars import as_list, flag
from rustrank.inputs.tables import as_table, columns_of, in_one_piece, labels_of, named_columns
from rustrank.inputs.vectors import as_doubles, check_length
from rustrank.model.booster import Booster
from rustrank.model.mixture import as_boosters, as_normalisations, check_same_columns, made_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Stacking"]

#: What to do with rankers of other columns, which cannot be in one model.
_HINT = (
    "the stacked model knows features by their position: train all rankers with the columns in one order "
    "(frame[booster.feature_names])"
)


class Stacking:
    """Features derived from the scores of boosters, the same in training and in serving.

    `table` returns the features to train an outer booster on. `booster` combines the outer booster with the
    inner ones into one model, which scores raw features and computes the same derived features inside.

    Parameters
    ----------
    rankers : sequence of Booster, or mapping from names to them
        The rankers whose scores become features.
    features : sequence of str or (ranker, str), default ("score", "max", "mean", "top3")
        The features derived from the scores of each ranker: the ``"score"`` itself, the ``"max"`` or
        ``"mean"`` over the query, or the mean of the largest scores of the query, as in ``"top3"``. A pair is
        for the ranker of that number only.
    own : bool, default True
        Whether the raw features of the document come before the derived ones.
    normalise, scores
        The normalisation of scores, as for `rustrank.mix`.

    Notes
    -----
    A ranker's scores of its own training documents are biased by their labels. An outer booster should learn
    from out-of-fold scores: compute them fold by fold, and their features with `features_of`.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> first = rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=5)
    >>> stacking = rr.Stacking([first], ("max", "top3"))
    >>> other = rr.datasets.make_polynomial(num_queries=60, seed=1)
    >>> table = stacking.table(other.X, qid=other.qid)
    >>> outer = rr.train(rr.Dataset(table, other.y, qid=other.qid), num_trees=5)
    >>> booster = stacking.booster(outer)
    >>> bool((booster.predict(other.X, qid=other.qid) == outer.predict(table)).all())
    True
    """

    def __init__(
        self,
        rankers: Any,
        features: Any = ("score", "max", "mean", "top3"),
        *,
        own: bool = True,
        normalise: Any = None,
        scores: Any = None,
    ) -> None:
        named = isinstance(rankers, Mapping)
        self.rankers = as_boosters(list(rankers.values()) if named else rankers, "rankers")
        self.own = flag("own", own)
        numbered = (f"ranker{at}" for at in range(len(self.rankers)))
        self._names = list(map(str, rankers) if named else numbered)
        self._normalisations = as_normalisations(normalise, len(self.rankers), scores)
        self._features = _as_features(features, len(self.rankers))
        check_same_columns(self.rankers, self._names, _HINT)
        raw = {ranker.num_raw_features for ranker in self.rankers}
        if len(raw) > 1:
            message = f"rankers must have the same raw features: got {sorted(raw)} of them"
            raise DataError(message, code="features")

    def _raw_names(self) -> list[str] | None:
        """Return the names of raw features, of the first ranker that has some."""
        return next((one for one in map(raw_names, self.rankers) if one is not None), None)

    def _with_queries(self, X: Any, qid: Any, group: Any) -> tuple[Any, Any]:
        """Return raw features, and the queries: ids, the column of that name, or the column ``qid``."""
        if qid is None and group is None and QID in labels_of(X):
            qid = QID
        X, columns = named_columns(X, {"qid": qid})
        return X, columns["qid"]

    @property
    def names(self) -> list[str]:
        """The names of the features of the outer booster, such as ``ranker0_max``."""
        first = self.rankers[0]
        own = self._raw_names() or first.feature_names[: first.num_raw_features]
        own = own if self.own else []
        return own + [f"{self._names[ranker]}_{kind}" for ranker, kind in self._features]

    def features(
        self, X: Any, *, qid: Any = None, group: Any = None, num_threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return the derived features of documents with raw features ``X``."""
        X, qid = self._with_queries(X, qid, group)
        scores = [
            ranker.predict(X, qid=qid, group=group, num_threads=num_threads)
            for ranker in self.rankers
        ]
        return self.features_of(scores, qid=qid, group=group)

    def features_of(
        self, scores: Any, *, qid: Any = None, group: Any = None
    ) -> NDArray[np.float32]:
        """Return the derived features of given scores, such as out-of-fold scores.

        Parameters
        ----------
        scores : sequence of arrays
            The scores of each ranker, before normalisation.
        qid, group
            The queries, as for `Dataset`.
        """
        given = [as_doubles(one, f"scores[{at}]") for at, one in enumerate(scores)]
        if len(given) != len(self.rankers):
            message = f"scores: got {len(given)} arrays, expected {len(self.rankers)}"
            raise DataError(message, code="stack.scores")
        for at, one in enumerate(given):
            check_length(f"scores[{at}]", len(one), len(given[0]), "rows")
        queries, _ = as_queries(qid, group, len(given[0]))
        return _rustrank.derive(given, self._normalisations, self._features, queries)

    def table(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: Any = None,
        scores: Any = None,
        num_threads: int | None = None,
    ) -> NDArray[np.float32] | NDArray[np.float64]:
        """Return what the outer booster learns from: X, if it sees that, and the features.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_raw_features)
            Raw features; named columns are matched to those of the rankers, and others are left out.
        qid, group
            The queries, as for `Dataset`; by default the column ``qid``, if X has one.
        scores : sequence of arrays, optional
            What the rankers say of the docs, where that is known better: fold by fold, of docs that
            they have learned from. By default the rankers score X.
        num_threads : int, optional
            Threads to score with.
        """
        X, qid = self._with_queries(X, qid, group)
        if scores is None:
            made = self.features(X, qid=qid, group=group, num_threads=num_threads)
        else:
            made = self.features_of(scores, qid=qid, group=group)
        if not self.own:
            return made
        expected = self.rankers[0].num_raw_features, self._raw_names()
        table = columns_of(as_table(X), expected, "X", "the rankers")
        listed = categories_numbered(table)[1]
        if listed:
            name = (table.names or [str(at) for at in range(table.num_features)])[min(listed)]
            message = (
                f"X: column {shown(name)} holds categories that are texts or of a categorical type, which the "
                "outer booster cannot see; own=False lets it see the scores of the rankers alone"
            )
            raise ParamKindError(message, code="own")
        own = np.asarray(in_one_piece(table))
        check_length("scores", len(made), len(own), "rows")
        joined: NDArray[np.float32] | NDArray[np.float64] = np.concatenate((own, made), axis=1)
        return joined

    def booster(self, outer: Any) -> Booster:
        """Return the booster that scores raw features by the rankers, their features and ``outer``.

        Parameters
        ----------
        outer : Booster
            One that was trained on a `table`.
        """
        if not isinstance(outer, Booster):
            raise wrong_kind("outer", outer, "a booster")
        hint = "train it on what table returns"
        check_joined_names(("table", self.names), ("outer", raw_names(outer)), hint)
        cores = [ranker._core for ranker in self.rankers]
        planned = SimpleNamespace(
            normalisations=self._normalisations,
            features=self._features,
            own=self.own,
            outer=outer._core,
        )
        return made_of(self.rankers, _rustrank.Booster.stack(cores, planned))

    def __repr__(self) -> str:
        """Say what is in it in one line."""
        return f"<Stacking: {len(self.rankers)} rankers, {len(self._features)} features>"


def _as_features(given: Any, rankers: int) -> list[tuple[int, str]]:
    """Take features as pairs of a ranker's number and a name; the core knows the names."""
    listed = as_list("features", given, "a list such as ['max', 'mean']")
    names = [one for one in listed if not isinstance(one, tuple)]
    pairs = [one for one in listed if isinstance(one, tuple)]
    pairs += [(ranker, name) for ranker in range(rankers) for name in names]
    for pair in pairs:
        if len(pair) != 2 or type(pair[0]) is not int or not isinstance(pair[1], str):
            raise wrong_kind("features", pair, "a name, or a ranker's number and a name")
        if not 0 <= pair[0] < rankers:
            message = f"features: got ranker {pair[0]}, expected 0 to {rankers - 1}"
            raise ParamError(message, code="features")
    return sorted(pairs, key=lambda pair: pair[0])
