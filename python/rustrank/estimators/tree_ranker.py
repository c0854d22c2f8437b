"""The base class of tree estimators: maps the arguments of ``fit`` to those of `rustrank.train`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from rustrank.errors import ParamError, wrong_value
from rustrank.estimators.fitting import eval_sets, training_part
from rustrank.estimators.ranker import Ranker
from rustrank.inputs.scalars import flag, real
from rustrank.parameters.schema import TRAININGS, as_named, options_of
from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self


#: What is `rustrank.Dataset`'s, or an estimator's own.
_OWN = {
    "categorical": None,
    "max_bins": None,
    "missing": math.nan,
    "query_ranks": False,
    "validation_fraction": 0.1,
}
#: Options of `train` that are options of an estimator, too, and not arguments of its ``fit``.
_RUN = ("metric", "early_stopping", "preset", "progress", "num_threads")
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
    max_bins: int | None
    query_ranks: bool
    categorical: Any
    missing: float
    early_stopping: Any
    validation_fraction: float

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
    ) -> Self:
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
        part = training_part(X, y, given, type(self).__name__)
        table, sets = part.X, eval_sets(given)
        if self.early_stopping is not None and not sets:
            share = real("validation_fraction", self.validation_fraction)
            if not 0 < share < 1:
                raise wrong_value("validation_fraction", share, "a share between 0 and 1")
            part, held = part.split(share, self._seed())
            sets = {"valid": held}
        # What was not given is left to `train`, which knows of presets.
        attributes = {name: vars(self)[name] for name in self._defaults if name in vars(self)}
        own = {self._renamed.get(name, name): value for name, value in attributes.items()}
        options = {name: value for name, value in own.items() if name in TRAININGS["train"]}
        options |= {"num_threads": self._threads(), "seed": self._seed(), "objective": self._loss()}
        options |= {name: given[name] for name in ("callbacks", "preferences") if name in given}
        reading = {"missing": self.missing, "num_threads": options["num_threads"]}
        dataset = part.dataset(
            base=given["base"],
            max_bins=self.max_bins,
            query_ranks=flag("query_ranks", self.query_ranks),
            categorical=self.categorical,
            **reading,
        )
        valid = {name: one.dataset(like=dataset, **reading) for name, one in sets.items()}
        try:
            self._booster = train(dataset, valid=valid or None, **options)
        except ParamError as error:
            raise as_named(error, self._renamed) from None
        self._note(table)
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
