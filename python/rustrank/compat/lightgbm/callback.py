"""LightGBM's call-backs: early stopping, printing and recording of metrics."""

from __future__ import annotations

import sys
from collections import OrderedDict
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from rustrank.errors import ParamError, warn_caller, wrong_kind, wrong_value
from rustrank.inputs.scalars import real, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self


class EvalResult(tuple[Any, ...]):
    """A value of a metric, as a tuple of four, or of five in cross-validation, with names.

    Attributes
    ----------
    dataset_name, metric_name : str
        The set and the metric.
    metric_value : float
        The value; in cross-validation, the mean over the folds.
    maximize : bool
        Whether larger is better.
    metric_std_dev : float or None
        In cross-validation, the standard deviation over the folds.
    """

    __slots__ = ()

    def __new__(
        cls,
        dataset_name: str,
        metric_name: str,
        metric_value: float,
        maximize: bool,
        metric_std_dev: float | None = None,
    ) -> Self:
        """Make one, without a deviation for None."""
        four = dataset_name, metric_name, metric_value, maximize
        return super().__new__(cls, four if metric_std_dev is None else (*four, metric_std_dev))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    dataset_name = property(itemgetter(0))
    metric_name = property(itemgetter(1))
    metric_value = property(itemgetter(2))
    maximize = property(itemgetter(3))
    metric_std_dev = property(lambda self: self[4] if self.is_cv_result() else None)

    def is_cv_result(self) -> bool:
        """Return whether the result is of cross-validation."""
        return len(self) > 4


class EarlyStopException(Exception):  # noqa: N818 - LightGBM's name
    """Raised by a call-back to end training, with the best iteration, from 0, and its values."""

    def __init__(self, best_iteration: int, best_score: Any) -> None:
        super().__init__()
        self.best_iteration, self.best_score = best_iteration, best_score


class CallbackEnv(NamedTuple):
    """What call-backs get after each iteration."""

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[Any]


def _format(result: Any, *, show_stdv: bool = True) -> str:
    """Return a value of a metric as text; in cross-validation there is a deviation."""
    text = f"{result[0]}'s {result[1]}: {result[2]:g}"
    return f"{text} + {result[4]:g}" if len(result) > 4 and show_stdv else text


def write(line: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{line}\n")


class _LogEvaluation:
    order, before_iteration = 10, False

    def __init__(self, period: int, show_stdv: bool) -> None:
        self.period, self.show_stdv = period, show_stdv

    def __call__(self, env: CallbackEnv) -> None:
        shown = env.evaluation_result_list
        if self.period > 0 and shown and (env.iteration + 1) % self.period == 0:
            values = "\t".join(_format(one, show_stdv=self.show_stdv) for one in shown)
            write(f"[{env.iteration + 1}]\t{values}")


def log_evaluation(period: int = 1, show_stdv: bool = True) -> Callable[[CallbackEnv], None]:
    """Return a call-back that prints the metrics every ``period`` iterations."""
    return _LogEvaluation(period, show_stdv)


class _RecordEvaluation:
    order, before_iteration = 20, False

    def __init__(self, eval_result: dict[str, Any]) -> None:
        if not isinstance(eval_result, dict):
            raise wrong_kind("eval_result", eval_result, "a dictionary")
        self.eval_result = eval_result

    def __call__(self, env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            self.eval_result.clear()
        for name, metric, value, *more in env.evaluation_result_list:
            of_set = self.eval_result.setdefault(name, OrderedDict())
            if len(more) > 1:
                of_set.setdefault(f"{metric}-mean", []).append(value)
                of_set.setdefault(f"{metric}-stdv", []).append(more[1])
            else:
                of_set.setdefault(metric, []).append(value)


def record_evaluation(eval_result: dict[str, Any]) -> Callable[[CallbackEnv], None]:
    """Return a call-back that keeps the metrics: ``eval_result["valid_0"]["ndcg@1"]`` is a list."""
    return _RecordEvaluation(eval_result)


def reset_parameter(**kwargs: Any) -> Callable[[CallbackEnv], None]:
    """Refuse: parameters are those of the whole training."""
    message = (
        f"reset_parameter: got {', '.join(kwargs) or 'nothing'}, expected parameters of the whole training: "
        "rustrank does not change them between rounds; train in parts with init_model="
    )
    raise ParamError(message, code="reset_parameter")


class _EarlyStopping:
    order, before_iteration = 30, False

    def __init__(self, rounds: int, first_only: bool, verbose: bool, min_delta: Any) -> None:
        self.rounds = whole("stopping_rounds", rounds, 1)
        self.first_only, self.verbose = first_only, verbose
        listed = min_delta if isinstance(min_delta, (list, tuple)) else [min_delta]
        self.min_delta = [real("min_delta", one) for one in listed] or [0.0]
        if min(self.min_delta) < 0:
            raise wrong_value("min_delta", min_delta, "numbers from 0")
        self.is_on = True
        self.best: list[tuple[float, int, list[Any]]] = []

    def __call__(self, env: CallbackEnv) -> None:
        results = env.evaluation_result_list
        if env.iteration == env.begin_iteration:
            self._start(env)
        if not self.is_on:
            return
        first_metric = results[0][1]
        deltas = self._deltas(results)
        for at, (name, metric, value, is_higher, *_) in enumerate(results):
            sign = 1 if is_higher else -1
            if at == len(self.best):
                self.best.append((value, env.iteration, list(results)))
            elif sign * (value - self.best[at][0]) > deltas[metric]:
                self.best[at] = (value, env.iteration, list(results))
            if self.first_only and metric != first_metric:
                continue
            if self._is_training(name, env):
                continue
            best_at = self.best[at][1]
            if env.iteration - best_at >= self.rounds:
                self._stop(at, "Early stopping, best iteration is:")
            if env.iteration == env.end_iteration - 1:
                self._stop(at, "Did not meet early stopping. Best iteration is:")

    def _deltas(self, results: Sequence[Any]) -> dict[str, float]:
        """Return what an improvement of each metric must exceed."""
        metrics = list(dict.fromkeys(metric for _, metric, *_ in results))
        given = self.min_delta * len(metrics) if len(self.min_delta) == 1 else self.min_delta
        if len(given) != len(metrics):
            expected = f"one number, or one for each of the metrics {', '.join(metrics)}"
            raise wrong_value("min_delta", self.min_delta, expected)
        return dict(zip(metrics, given, strict=True))

    def end(self, env: CallbackEnv) -> None:
        """Choose the best iteration of a training that ended because nothing could be split."""
        if self.is_on and self.best:
            self(env._replace(end_iteration=env.iteration + 1))

    def _start(self, env: CallbackEnv) -> None:
        self.best = []
        if not env.evaluation_result_list:
            message = (
                "early_stopping: got no metric of a validation set, expected one: pass valid_sets="
            )
            raise ParamError(f"{message} or eval_set=", code="early_stopping")
        self.is_on = not all(
            self._is_training(name, env) for name, *_ in env.evaluation_result_list
        )
        if not self.is_on:
            warn_caller("early stopping does nothing: the training set is the only one evaluated")
        if "dart" in (env.params.get(name) for name in ("boosting", "boosting_type", "boost")):
            self.is_on = False
            warn_caller("early stopping does nothing under dart: later rounds change earlier trees")
        if self.is_on and self.verbose:
            self._announce(len({metric for _, metric, *_ in env.evaluation_result_list}))

    def _announce(self, num_metrics: int) -> None:
        write(f"Training until validation scores don't improve for {self.rounds} rounds")
        first = self.min_delta[0]
        if len(self.min_delta) > 1:
            if self.first_only:
                write(f"Using only {first} as early stopping min_delta.")
        elif first > 0 and num_metrics > 1 and not self.first_only:
            write(f"Using {first} as min_delta for all metrics.")

    @staticmethod
    def _is_training(name: str, env: CallbackEnv) -> bool:
        return bool(name == getattr(env.model, "_train_name", "training"))

    def _stop(self, at: int, why: str) -> None:
        _, iteration, results = self.best[at]
        if self.verbose:
            values = "\t".join(_format(one) for one in results)
            write(f"{why}\n[{iteration + 1}]\t{values}")
            if self.first_only:
                write(f"Evaluated only: {results[at][1]}")
        raise EarlyStopException(iteration, results)


def early_stopping(
    stopping_rounds: int,
    first_metric_only: bool = False,
    verbose: bool = True,
    min_delta: float | list[float] = 0.0,
) -> Callable[[CallbackEnv], None]:
    """Return a call-back that ends training when a metric has not improved for so many iterations.

    Any metric on any validation set does so; with ``first_metric_only``, the first metric alone.
    ``min_delta`` is what an improvement must exceed: a number, or a list with one for each metric.
    """
    return _EarlyStopping(stopping_rounds, first_metric_only, verbose, min_delta)


#: What LightGBM's own call-backs are here, and what their attributes are called, in our order.
_THEIRS: dict[str, tuple[Callable[..., Any], str]] = {
    "_EarlyStoppingCallback": (
        early_stopping,
        "stopping_rounds first_metric_only verbose min_delta",
    ),
    "_LogEvaluationCallback": (log_evaluation, "period show_stdv"),
    "_RecordEvaluationCallback": (record_evaluation, "eval_result"),
}


def _ours(callback: Any) -> Any:
    """Return the call-back of this module for one of LightGBM, whose own know its boosters only."""
    module = str(getattr(callback, "__module__", ""))
    if module.partition(".")[0] != "lightgbm":
        return callback
    kind = type(callback).__name__
    if kind == "_ResetParameterCallback":
        return reset_parameter(**getattr(callback, "kwargs", {}))
    make, names = _THEIRS.get(kind, (None, ""))
    if make is None or not all(hasattr(callback, name) for name in names.split()):
        known = "early_stopping, log_evaluation or record_evaluation"
        expected = f"a function of a CallbackEnv, or {known} of rustrank.compat.lightgbm"
        raise wrong_kind("callbacks", callback, f"{expected}: this one is of {module}")
    return make(*(getattr(callback, name) for name in names.split()))


def in_order(callbacks: Sequence[Any] | None) -> tuple[list[Any], list[Any]]:
    """Return the call-backs before and after an iteration, in the order that they ask for.

    LightGBM's own are replaced by those of this module.
    """
    if callbacks is not None and (callable(callbacks) or isinstance(callbacks, str)):
        raise wrong_kind("callbacks", callbacks, "a list of functions")
    listed = [_ours(one) for one in callbacks or ()]
    for one in listed:
        if not callable(one):
            raise wrong_kind("callbacks", one, "functions of a CallbackEnv")
    numbered = sorted(enumerate(listed), key=lambda one: (getattr(one[1], "order", -1), one[0]))
    both: tuple[list[Any], list[Any]] = [], []
    for _, one in numbered:
        both[0 if getattr(one, "before_iteration", False) else 1].append(one)
    return both
