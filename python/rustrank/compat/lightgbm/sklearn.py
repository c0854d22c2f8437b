"""LightGBM's ``LGBMRanker``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.estimator import CompatRanker
from rustrank.compat.evaluation import as_results
from rustrank.compat.lightgbm.callback import record_evaluation
from rustrank.compat.lightgbm.dataset import Dataset
from rustrank.compat.lightgbm.parameters import ALIASES, function_list
from rustrank.compat.lightgbm.training import train
from rustrank.errors import DataError, ParamError, wrong_kind
from rustrank.estimators.fitting import names_of
from rustrank.inputs.tables import as_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank.compat.lightgbm.booster import Booster


class LGBMRanker(CompatRanker):
    """A ranker with the parameters, defaults and attributes of LightGBM's ``LGBMRanker``.

    Parameters
    ----------
    boosting_type, num_leaves, max_depth, learning_rate, n_estimators, subsample_for_bin, objective,
    class_weight, min_split_gain, min_child_weight, min_child_samples, subsample, subsample_freq,
    colsample_bytree, reg_alpha, reg_lambda, random_state, n_jobs
        As in LightGBM. What has no meaning here is refused by `fit`.
    importance_type : {"split", "gain"}, default "split"
        What ``feature_importances_`` are.
    **kwargs
        Other parameters, by any of LightGBM's names.
    """

    def __init__(
        self,
        *,
        boosting_type: str = "gbdt",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample_for_bin: int = 200_000,
        objective: Any = None,
        class_weight: Any = None,
        min_split_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        **kwargs: Any,
    ) -> None:
        self._keep(locals(), kwargs)

    def _params(self) -> dict[str, Any]:
        """Return the parameters of `train`; what came by another name replaces a default."""
        params = self.get_params()
        del params["importance_type"]
        if params["objective"] is None:
            params["objective"] = "lambdarank"
        taken = {ALIASES.get(name, name) for name in self._others}
        return {
            name: value
            for name, value in params.items()
            if name in self._others or ALIASES.get(name, name) not in taken
        }

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_group: Any = None,
        eval_metric: Any = None,
        eval_at: Any = (1, 2, 3, 4, 5),
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Sequence[Any] | None = None,
        init_model: Any = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> Self:
        """Learn.

        Parameters
        ----------
        X, y : array-like
            Features and labels, the rows of a query together.
        sample_weight, init_score : array-like, optional
            A weight and a starting score of each row.
        group : array-like
            The number of rows of each query.
        eval_set : list of (X, y), optional
            Sets that are evaluated after each iteration.
        eval_names, eval_sample_weight, eval_init_score, eval_group : list, optional
            Their names, weights, starting scores and queries; ``eval_group`` is needed.
        eval_metric : str, function or list of them, optional
            Metrics besides NDCG: ``map``, or functions ``(y, scores)``,
            ``(y, scores, weight)`` or ``(y, scores, weight, group)`` that return a name, a value and
            whether larger is better.
        eval_at : sequence of int, default (1, 2, 3, 4, 5)
            The cuts of the metrics.
        feature_name, categorical_feature
            As for `Dataset`.
        callbacks, init_model
            As for `train`.
        eval_X, eval_y : array-like, or tuple of them, optional
            Instead of ``eval_set``: features and labels.
        """
        eval_set = _sets_of(eval_set, eval_X, eval_y)
        if group is None:
            raise DataError("group: got None, expected the rows of each query", code="query.none")
        params = self._params()
        names, functions = function_list(eval_metric)
        metrics = _metrics(params, names, eval_metric)
        cuts = next((params[name] for name in ("eval_at", *_CUT_NAMES) if name in params), eval_at)
        own = ("metric", "eval_at", *_METRIC_NAMES, *_CUT_NAMES)
        params = {name: one for name, one in params.items() if name not in own}
        params |= {"metric": metrics, "eval_at": cuts}
        more = {"feature_name": feature_name, "categorical_feature": categorical_feature}
        train_set = Dataset(X, y, None, sample_weight, group, init_score, **more)
        given = (eval_sample_weight, eval_group, eval_init_score)
        sets, set_names = _eval_sets((X, y), train_set, eval_set, given, eval_names)
        self._evals: dict[str, Any] = {}
        self._booster = train(
            params,
            train_set,
            valid_sets=sets,
            valid_names=set_names,
            feval=[_feval(one) for one in functions],
            init_model=init_model,
            callbacks=[*(callbacks or ()), record_evaluation(self._evals)],
        )
        self._columns = names_of(as_table(X))
        self._objective = params["objective"]
        return self

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Return the scores of rows, of the best iteration by default, as `Booster.predict` does."""
        booster: Booster = self._fitted()
        given = raw_score, pred_leaf, pred_contrib, False, validate_features
        kwargs.setdefault("num_threads", self.n_jobs)  # type: ignore[attr-defined]
        return booster.predict(X, start_iteration, num_iteration, *given, **kwargs)

    @property
    def booster_(self) -> Booster:
        """The trained model."""
        found: Booster = self._fitted()
        return found

    @property
    def fitted_(self) -> bool:
        """Whether the ranker is fitted."""
        return self._booster is not None

    @property
    def best_iteration_(self) -> int:
        """The best iteration, from 1, with early stopping; else 0."""
        return int(self._fitted().best_iteration)

    @property
    def best_score_(self) -> Any:
        """The metrics of the best iteration, or of the last, by set."""
        return self._fitted().best_score

    @property
    def evals_result_(self) -> dict[str, Any]:
        """The metrics of all iterations: ``evals_result_["valid_0"]["ndcg@1"]`` is a list."""
        self._fitted()
        return self._evals

    @property
    def n_estimators_(self) -> int:
        """The number of trees."""
        return int(self._fitted().current_iteration())

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return self.n_estimators_

    @property
    def objective_(self) -> str:
        """The objective."""
        self._fitted()
        return str(self._objective)

    @property
    def n_features_(self) -> int:
        """The number of features."""
        return int(self._fitted().num_feature())

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self.n_features_

    @property
    def feature_name_(self) -> list[str]:
        """The names of features; ``Column_0`` and so on where there were none."""
        return list(self._fitted().feature_name())

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns of a frame."""
        self._fitted()
        if self._columns is None:
            raise AttributeError("feature_names_in_: the training data had no names of features")
        return np.array(self._columns, object)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """The importance of each feature, as ``importance_type`` says."""
        kind = self.importance_type  # type: ignore[attr-defined]
        found: NDArray[Any] = self._fitted().feature_importance(kind)
        return found


def _metrics(params: dict[str, Any], names: Sequence[Any], given: Any) -> list[Any]:
    """Return ``eval_metric`` before the metrics of the parameters, by default that of the objective."""
    if isinstance(given, str):
        names = [given]
    own = next((params[name] for name in ("metric", *_METRIC_NAMES) if name in params), None)
    listed = (
        list(own) if isinstance(own, (list, tuple, set)) else ["lambdarank" if own is None else own]
    )
    return [*(one for one in names if one not in listed), *listed]


_METRIC_NAMES = tuple(alias for alias, name in ALIASES.items() if name == "metric")
_CUT_NAMES = tuple(alias for alias, name in ALIASES.items() if name == "eval_at")


def _sets_of(eval_set: Any, eval_X: Any, eval_y: Any) -> Any:
    """Return ``eval_set``, or the pairs of ``eval_X`` and ``eval_y``."""
    if eval_X is None and eval_y is None:
        return eval_set
    if eval_set is not None or eval_X is None or eval_y is None:
        message = "eval_set: expected either eval_set, or eval_X together with eval_y"
        raise ParamError(message, code="eval_set")
    both = [list(one) if isinstance(one, tuple) else [one] for one in (eval_X, eval_y)]
    if len(both[0]) != len(both[1]):
        message = f"eval_y: got {len(both[1])} arrays, expected {len(both[0])}, as many as eval_X"
        raise ParamError(message, code="eval_y")
    return list(zip(*both, strict=True))


def _eval_sets(
    own: tuple[Any, Any], train_set: Dataset, eval_set: Any, given: Sequence[Any], names: Any
) -> tuple[list[Dataset], list[str] | None]:
    if eval_set is None:
        return [], None
    sets = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if given[1] is None:
        message = "eval_group: got None, expected the rows of each query for each set of eval_set"
        raise DataError(message, code="query.none")
    if names is not None and len(names) != len(sets):
        raise wrong_kind("eval_names", names, f"{len(sets)} names, one a set")
    made = []
    for at, one in enumerate(sets):
        if not isinstance(one, (tuple, list)) or len(one) != 2:
            raise wrong_kind(f"eval_set[{at}]", one, "(X, y)")
        if one[0] is own[0] and one[1] is own[1]:
            made.append(train_set)
            continue
        weight, group, score = (
            _item(name, value, at)
            for name, value in zip(
                ("eval_sample_weight", "eval_group", "eval_init_score"), given, strict=True
            )
        )
        if group is None:
            raise DataError(f"eval_group[{at}]: got None, expected the rows of each query")
        made.append(Dataset(one[0], one[1], train_set, weight, group, score))
    return made, None if names is None else list(names)


def _item(name: str, given: Any, at: int) -> Any:
    """Return what belongs to a set of ``eval_set``."""
    if given is None:
        return None
    if isinstance(given, dict):
        return given.get(at)
    if not isinstance(given, (list, tuple)) or len(given) <= at:
        raise ParamError(f"{name}: expected a list with an entry for each eval_set", code=name)
    return given[at]


def _feval(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a metric of LightGBM's rankers as one of `train`."""
    import inspect

    arguments = len(inspect.signature(function).parameters)
    if not 2 <= arguments <= 4:
        expected = "a function of (y, scores), (y, scores, weight) or (y, scores, weight, group)"
        raise wrong_kind("eval_metric", function, expected)

    def evaluate(scores: NDArray[Any], dataset: Dataset) -> Any:
        more = (dataset.get_weight(), dataset.get_group())
        found = function(dataset.get_label(), scores, *more[: arguments - 2])
        return as_results(found, "eval_metric", says_direction=True)

    return evaluate
