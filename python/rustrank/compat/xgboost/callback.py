"""XGBoost's call-backs: early stopping, printing of metrics, and the base of one's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rustrank.compat.xgboost.positional import positional_too
from rustrank.errors import ParamError, wrong_kind
from rustrank.inputs.scalars import whole

if TYPE_CHECKING:
    from collections.abc import Callable

#: Metrics by set and name, with a value for each iteration.
EvalsLog = dict[str, dict[str, list[float]]]


class TrainingCallback:
    """The base of call-backs: after an iteration, true ends training."""

    def before_training(self, model: Any) -> Any:
        """Run before training, with a model without trees or with those to go on from."""
        return model

    def after_training(self, model: Any) -> Any:
        """Run after training."""
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:  # noqa: ARG002
        """Run before an iteration."""
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:  # noqa: ARG002
        """Run after an iteration."""
        return False


class EvaluationMonitor(TrainingCallback):
    """Print the metrics every ``period`` iterations.

    Parameters
    ----------
    rank : int, default 0
        Accepted: there is one process.
    period : int, default 1
        How often to print.
    show_stdv : bool, default False
        Accepted: there are no deviations in training.
    logger : function, optional
        What to print with.
    """

    def __init__(
        self,
        rank: int = 0,  # noqa: ARG002
        period: int = 1,
        show_stdv: bool = False,  # noqa: ARG002
        logger: Callable[[str], Any] | None = None,
    ) -> None:
        self.period = whole("period", period, 1)
        self.logger = logger or sys.stdout.write
        self._latest = ""

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:  # noqa: ARG002
        """Print a line."""
        values = (
            f"\t{name}-{metric}:{given[-1]:.5f}"
            for name, metrics in evals_log.items()
            for metric, given in metrics.items()
        )
        line = f"[{epoch}]{''.join(values)}\n"
        is_due = evals_log and epoch % self.period == 0
        self._latest = "" if is_due else line
        if is_due:
            self.logger(line)
        return False

    def after_training(self, model: Any) -> Any:
        """Print the last line, if it was not due."""
        if self._latest and "\t" in self._latest:
            self.logger(self._latest)
        return model


class EarlyStopping(TrainingCallback):
    """End training when a metric has not improved for so many iterations.

    Parameters
    ----------
    rounds : int
        How many iterations to wait.
    metric_name, data_name : str, optional
        The metric and the set; by default the last of each.
    maximize : bool, optional
        Whether larger is better; by default it follows from the name.
    save_best : bool, default False
        Whether the booster has the iterations up to the best only.
    min_delta : float, default 0
        What counts as better.
    """

    @positional_too()
    def __init__(
        self,
        *,
        rounds: int,
        metric_name: str | None = None,
        data_name: str | None = None,
        maximize: bool | None = None,
        save_best: bool | None = False,
        min_delta: float = 0.0,
    ) -> None:
        self.rounds = whole("early_stopping_rounds", rounds, 1)
        self.metric_name, self.data_name, self.maximize = metric_name, data_name, maximize
        self.save_best, self.min_delta = bool(save_best), float(min_delta)
        self.best: tuple[float, int] | None = None

    def before_training(self, model: Any) -> Any:
        """Start anew."""
        self.best = None
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:  # noqa: ARG002
        """Return whether to stop."""
        if not evals_log:
            message = "early_stopping_rounds: got no validation set, expected one: pass evals= or eval_set="
            raise ParamError(message, code="early_stopping_rounds")
        name = _known("data_name", self.data_name or list(evals_log)[-1], evals_log)
        metrics = evals_log[name]
        metric = _known("metric_name", self.metric_name or list(metrics)[-1], metrics)
        value = metrics[metric][-1]
        larger = (
            metric.startswith(("ndcg", "map", "pre", "auc"))
            if self.maximize is None
            else self.maximize
        )
        sign = 1.0 if larger else -1.0
        if self.best is None or sign * (value - self.best[0]) > self.min_delta:
            self.best = value, epoch
        return epoch - self.best[1] >= self.rounds


def _known(what: str, name: str, known: dict[str, Any]) -> str:
    if name not in known:
        raise wrong_kind(what, name, f"one of {', '.join(known)}")
    return name


def _refused(name: str, hint: str) -> Any:
    class Refused(TrainingCallback):
        def __init__(self, *_: Any, **__: Any) -> None:
            raise ParamError(f"{name}: {hint}", code=name)

    Refused.__name__ = Refused.__qualname__ = name
    return Refused


LearningRateScheduler = _refused(
    "LearningRateScheduler",
    "the learning rate is that of the whole training; go on with xgb_model= and another one",
)
TrainingCheckPoint = _refused(
    "TrainingCheckPoint", "rr.train(checkpoint=) rewrites a file that training goes on from"
)
