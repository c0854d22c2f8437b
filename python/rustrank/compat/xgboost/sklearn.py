"""XGBoost's ``XGBRanker``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.estimator import CompatRanker
from rustrank.compat.left_out import absent
from rustrank.compat.xgboost.booster import Booster
from rustrank.compat.xgboost.data import DMatrix
from rustrank.compat.xgboost.positional import positional_too
from rustrank.compat.xgboost.training import train
from rustrank.errors import DataError, unfitted, wrong_kind
from rustrank.estimators.fitting import without_qid
from rustrank.inputs.docs import QID
from rustrank.inputs.tables import as_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

#: They are no parameters of `train`.
_OWN = ("early_stopping_rounds", "callbacks", "missing", "importance_type", "n_estimators")


_LEFT_OUT = {
    "apply": "ranker.get_booster().native.dump() has the trees, whose leaves have no numbers",
}


class XGBRanker(CompatRanker):
    """A ranker with the parameters, defaults and attributes of XGBoost's ``XGBRanker``.

    Parameters
    ----------
    max_depth, max_leaves, max_bin, grow_policy, learning_rate, n_estimators, verbosity, objective,
    booster, tree_method, n_jobs, gamma, min_child_weight, max_delta_step, subsample, sampling_method,
    colsample_bytree, colsample_bylevel, colsample_bynode, reg_alpha, reg_lambda, scale_pos_weight,
    base_score, random_state, missing, num_parallel_tree, monotone_constraints,
    interaction_constraints, importance_type, device, validate_parameters, enable_categorical,
    feature_types, feature_weights, max_cat_to_onehot, max_cat_threshold, multi_strategy, eval_metric,
    early_stopping_rounds, callbacks
        As in XGBoost. What has no meaning here is refused by `fit`.
    **kwargs
        Other parameters of XGBoost, such as ``lambdarank_num_pair_per_sample``.
    """

    @positional_too("objective")
    def __init__(
        self,
        *,
        objective: str = "rank:ndcg",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        max_bin: int | None = None,
        grow_policy: str | None = None,
        learning_rate: float | None = None,
        n_estimators: int | None = None,
        verbosity: int | None = None,
        booster: str | None = None,
        tree_method: str | None = None,
        n_jobs: int | None = None,
        gamma: float | None = None,
        min_child_weight: float | None = None,
        max_delta_step: float | None = None,
        subsample: float | None = None,
        sampling_method: str | None = None,
        colsample_bytree: float | None = None,
        colsample_bylevel: float | None = None,
        colsample_bynode: float | None = None,
        reg_alpha: float | None = None,
        reg_lambda: float | None = None,
        scale_pos_weight: float | None = None,
        base_score: float | None = None,
        random_state: Any = None,
        missing: float = np.nan,
        num_parallel_tree: int | None = None,
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        importance_type: str | None = None,
        device: str | None = None,
        validate_parameters: bool | None = None,
        enable_categorical: bool = False,
        feature_types: Any = None,
        feature_weights: Any = None,
        max_cat_to_onehot: int | None = None,
        max_cat_threshold: int | None = None,
        multi_strategy: str | None = None,
        eval_metric: Any = None,
        early_stopping_rounds: int | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> None:
        self._keep(locals(), kwargs)

    def _get(self, name: str) -> Any:
        return getattr(self, name)

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters that `train` gets."""
        return {name: one for name, one in self.get_params().items() if name not in _OWN}

    def get_num_boosting_rounds(self) -> int:
        """Return the number of trees to train."""
        rounds = self._get("n_estimators")
        return 100 if rounds is None else int(rounds)

    @positional_too()
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        verbose: bool | int | None = False,
        xgb_model: Any = None,
        sample_weight_eval_set: Any = None,
        base_margin_eval_set: Any = None,
        feature_weights: Any = None,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X, y : array-like
            Features and labels. A frame may have the query ids in a column ``qid``.
        group, qid : array-like
            The number of rows of each query, or the query of each row, which need not be sorted.
        sample_weight : array-like, optional
            A weight of each query.
        base_margin : array-like, optional
            A starting score of each row.
        eval_set : list of (X, y), optional
            Sets that are evaluated after each iteration: ``validation_0``, ``validation_1`` ...
        eval_group, eval_qid, sample_weight_eval_set, base_margin_eval_set : list, optional
            The same for them, an entry each.
        verbose : bool or int, default False
            Whether to print metrics, or how often.
        xgb_model : Booster, XGBRanker or path, optional
            The model to go on from.
        feature_weights : None
            Refused.
        """
        if feature_weights is not None:
            raise wrong_kind("feature_weights", feature_weights, "None: features are drawn alike")
        dtrain = self._matrix(X, y, group, qid, sample_weight, base_margin)
        given = {
            "eval_group": eval_group,
            "eval_qid": eval_qid,
            "sample_weight_eval_set": sample_weight_eval_set,
            "base_margin_eval_set": base_margin_eval_set,
        }
        evals = []
        for at, one in enumerate(eval_set or ()):
            if not isinstance(one, (tuple, list)) or len(one) != 2:
                raise wrong_kind(f"eval_set[{at}]", one, "(X, y)")
            more = [
                _item(name, value, at, len(list(eval_set or ()))) for name, value in given.items()
            ]
            evals.append((self._matrix(*one, *more), f"validation_{at}"))
        self._evals: dict[str, Any] = {}
        params = self.get_xgb_params()
        names, functions = _functions(params.pop("eval_metric"))
        params["eval_metric"] = [*names, *(_metric(one) for one in functions)] or None
        self._booster = train(
            params,
            dtrain,
            self.get_num_boosting_rounds(),
            evals=evals,
            early_stopping_rounds=self._get("early_stopping_rounds"),
            evals_result=self._evals,
            verbose_eval=verbose,
            xgb_model=xgb_model,
            callbacks=self._get("callbacks"),
        )
        self._columns = dtrain.feature_names
        return self

    def _matrix(
        self, X: Any, y: Any, group: Any, qid: Any, weight: Any = None, margin: Any = None
    ) -> DMatrix:
        table = as_table(X)
        if QID in (table.labels or ()):
            if qid is not None or group is not None:
                message = "queries come twice: got a column qid in X and qid= or group="
                raise DataError(message, code="query.both")
            qid = table.column(list(table.labels or ()).index(QID))
            X = without_qid(X)
        if y is not None and qid is None and group is None:
            message = "queries are missing: pass group= or qid=, or have a column qid in X"
            raise DataError(message, code="query.none")
        more = {"group": group, "qid": qid, "missing": self._get("missing")}
        return DMatrix(X, y, weight=weight, base_margin=margin, **more)

    @positional_too()
    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> NDArray[np.float32]:
        """Return the scores of rows, up to the best iteration if there was early stopping.

        Parameters
        ----------
        X : array-like of shape (num_rows, num_features)
            Features; a column ``qid`` is left out.
        output_margin, validate_features, iteration_range
            As for `Booster.inplace_predict`: the columns of an array are taken by their places.
        base_margin : array-like, optional
            Scores that are added.
        """
        booster = self.get_booster()
        if iteration_range is None or tuple(iteration_range) == (0, 0):
            iteration_range = (0, vars(booster).get("best_iteration", -1) + 1)
        matrix = self._matrix(X, None, None, None, None, base_margin)
        checks = validate_features and matrix.feature_names is not None
        how = {"validate_features": checks, "iteration_range": iteration_range}
        return booster.predict(matrix, output_margin=output_margin, **how)  # type: ignore[arg-type]

    def score(self, X: Any, y: Any) -> float:
        """Return the last metric, by default NDCG, of a frame with a column ``qid``.

        All rounds count, as in XGBoost: after early stopping those after the best one, too.
        """
        booster = self.get_booster().copy()
        booster._metrics = booster._metrics[-1:]
        return float(booster.eval(self._matrix(X, y, None, None)).rpartition(":")[2])

    def get_booster(self) -> Booster:
        """Return the trained model."""
        found: Booster = self._fitted()
        return found

    def save_model(self, fname: str | os.PathLike[str]) -> None:
        """Write the model as XGBoost's JSON."""
        self.get_booster().save_model(fname)

    def load_model(self, fname: str | os.PathLike[str]) -> None:
        """Read a model file of XGBoost or of rustrank."""
        self._booster, self._evals = Booster(model_file=fname), {}
        self._columns = self._booster.feature_names

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of a method that was left out."""
        if name in _LEFT_OUT:
            raise absent(type(self).__name__, name, _LEFT_OUT, dir(type(self)))
        # The error of a property, or Python's own.
        return object.__getattribute__(self, name)

    def evals_result(self) -> dict[str, Any]:
        """Return the metrics: ``evals_result()["validation_0"]["ndcg@32"]`` is a list."""
        if not getattr(self, "_evals", None):
            raise unfitted(f"{type(self).__name__} with an eval_set")
        return self._evals

    @property
    def best_iteration(self) -> int:
        """The best iteration, from 0; with early stopping only."""
        return self.get_booster().best_iteration

    @property
    def best_score(self) -> float:
        """The best value of the metric of early stopping."""
        return self.get_booster().best_score

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self.get_booster().num_features()

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns of a frame."""
        self._fitted()
        if self._columns is None:
            raise AttributeError("feature_names_in_: the training data had no names of features")
        return np.array(self._columns, object)

    @property
    def feature_importances_(self) -> NDArray[np.float32]:
        """The importance of each feature as ``importance_type`` says, by default ``gain``; their sum is 1."""
        booster = self.get_booster()
        kind = self._get("importance_type") or "gain"
        scores: dict[str, Any] = booster.get_score(importance_type=kind)
        every = [scores.get(name, 0.0) for name in booster.native.feature_names]
        values = np.array(every, np.float32)
        total = values.sum()
        return values / total if total > 0 else values


def _item(name: str, given: Any, at: int, number: int) -> Any:
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or len(given) != number:
        raise wrong_kind(name, given, f"a list of {number}, one a set of eval_set")
    return given[at]


def _functions(given: Any) -> tuple[list[Any], list[Any]]:
    listed = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
    return [one for one in listed if not callable(one)], [one for one in listed if callable(one)]


def _metric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a metric ``(y, scores) -> value`` as one of `train`."""

    def evaluate(scores: NDArray[Any], matrix: DMatrix) -> tuple[str, float]:
        return getattr(function, "__name__", "metric"), float(function(matrix.get_label(), scores))

    return evaluate
