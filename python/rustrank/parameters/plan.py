"""What to train: the options of `train` that only this half understands, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank.data.dataset import Dataset, as_dataset
from rustrank.data.dataset_building import is_booster
from rustrank.errors import (
    DataError,
    ParamError,
    ParamKindError,
    UnknownNameError,
    shown,
    wrong_kind,
    wrong_value,
)
from rustrank.inputs.scalars import text, whole
from rustrank.inputs.tables import check_same_names
from rustrank.inputs.vectors import as_doubles, first_true
from rustrank.parameters._constraints import Limits
from rustrank.parameters.hints import check_objective
from rustrank.parameters.schema import checked, with_preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rustrank import _rustrank

_MOST = 2**32 - 1

#: The better row, the worse row, the probability and the weight.
Preference: TypeAlias = tuple[int, int, float, float]


@dataclass(frozen=True)
class EarlyStopping:
    """When to end training early.

    Parameters
    ----------
    rounds : int
        How many rounds without a new best value are waited for.
    metric : str, optional
        The metric to look at; the first one by default.
    valid : str, optional
        The name of the validation set to look at; the first one by default.
    """

    rounds: int
    metric: str | None = None
    valid: str | None = None


class Patience:
    """When to end early, with places of the set and the metric."""

    def __init__(self, given: Any, sets: list[str], metrics: list[str | Measurement]) -> None:
        rule = given if isinstance(given, EarlyStopping) else EarlyStopping(given)
        self.rounds = whole("early_stopping", rule.rounds, 1, 2**31, ", or None")
        if not sets or not metrics:
            message = "early_stopping needs a validation set and a metric: pass valid="
            raise ParamError(message, code="early_stopping")
        self.set = _place("valid", rule.valid, sets)
        self.metric = _place("metric", rule.metric, _names_of(metrics))


def _place(what: str, name: str | None, known: list[str]) -> int:
    if name is not None and name not in known:
        message = (
            f"early_stopping looks at {what} {shown(name)}: expected one of {', '.join(known)}"
        )
        raise UnknownNameError(message, code="early_stopping")
    return 0 if name is None else known.index(name)


@dataclass(frozen=True)
class _Written:
    """A loss or a metric that people wrote: wrapped so that what it returns is checked.

    The compiled half calls it for one query at a time, with arrays of their own: scores, labels, the
    rows of the docs in the caller's order, and the number of the query. What it raises goes through.
    """

    given: Callable[..., Any]

    @property
    def name(self) -> str:
        """What the function is called, or the class of an object that can be called."""
        return str(getattr(self.given, "__name__", None) or type(self.given).__name__)


@dataclass(frozen=True)
class Loss(_Written):
    """A function ``(scores, labels, rows) -> (grad, hess)``."""

    query_ids: NDArray[Any]

    def function(
        self,
        scores: NDArray[np.float64],
        labels: NDArray[np.float32],
        rows: NDArray[np.uint32],
        query: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gradients and hessians that training can use."""
        given, of = self.given(scores, labels, rows), self.query_ids[query]
        try:
            grad, hess = given
        except (TypeError, ValueError):
            message = f"{self.name} returned {shown(given)} (query {of}): expected (grad, hess)"
            raise DataError(message, code="gradient", query=str(of)) from None
        return (
            self._checked(grad, "grad", rows, of, -np.inf),
            self._checked(hess, "hess", rows, of, 0.0),
        )

    def _checked(
        self, values: Any, what: str, rows: NDArray[np.uint32], query: Any, least: float
    ) -> NDArray[np.float64]:
        name = f"{what} of {self.name}"
        array = as_doubles(values, name)
        if len(array) != len(rows):
            message = (
                f"{name} has the wrong length (query {query}): got {len(array)}, expected "
                f"{len(rows)}, the number of docs"
            )
            raise DataError(message, code="gradient.length", query=str(query))
        at = first_true(~np.isfinite(array) | (array < least))
        if at is not None:
            value = "NaN" if np.isnan(array[at]) else repr(float(array[at]))
            message = (
                f"{name}[{at}] is {value} (row {rows[at]}, query {query}): expected a finite number"
                f"{' >= 0' if least == 0 else ''}"
            )
            raise DataError(message, code="gradient", row=int(rows[at]), query=str(query))
        return array


@dataclass(frozen=True)
class Measurement(_Written):
    """A function ``(scores, labels) -> float``; larger is better, NaN leaves the query out."""

    def function(
        self,
        scores: NDArray[np.float64],
        labels: NDArray[np.float32],
        rows: NDArray[np.uint32],  # noqa: ARG002 - losses need them, and both are called alike
        query: int,
    ) -> float:
        """Return the value of a query."""
        given = self.given(scores, labels)
        try:
            return float(given)
        except (TypeError, ValueError):
            message = f"{self.name} returned {shown(given)} (query {query}): expected a number"
            raise DataError(message, code="metric.value", query=str(query)) from None


class Plan:
    """Everything but the training set: what only this half understands of the options, checked."""

    def __init__(
        self, dataset: Dataset, options: Mapping[str, Any], checkpoint: _rustrank.Booster | None
    ) -> None:
        objective, augment, self.params = options["objective"], options["augment"], dict(options)
        self.metrics = _metrics(options["metric"])
        valid = _valid(options["valid"], dataset)
        self.valid = [(name, given._core) for name, given in valid.items()]
        self.function = None
        if callable(objective):
            if augment is not None:
                message = "augment: a function sees whole queries only; leave it None"
                raise ParamError(message, code="augment")
            self.function = Loss(objective, dataset.query_ids)
            del self.params["objective"]
        self.limits = Limits(options, dataset)
        self.preferences = preferences_of(options["preferences"], objective, augment)
        rule = options["early_stopping"]
        self.patience = None if rule is None else Patience(rule, list(valid), self.metrics)
        sets = {"the training set": dataset, **valid}
        self.base, self.is_scored = _base(options["base"], sets)
        self.checkpoint = checkpoint


def train_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of `train`: what is given, else a preset's value, else the default."""
    given = with_preset(given)
    objective = given.get("objective", "lambdamart")
    if callable(objective):
        return {**checked("train", {**given, "objective": "regression"}), "objective": objective}
    check_objective(objective)
    return checked("train", given)


def preferences_of(given: Any, objective: Any, augment: Any = None) -> list[Preference] | None:
    """Take pairs of rows, with probabilities and weights where there are more columns."""
    if given is None:
        return None
    if objective != "ranknet":
        message = f"preferences need objective='ranknet': got {shown(objective)}"
        raise ParamError(message, code="preferences")
    if augment is not None:
        raise wrong_value("augment", augment, "none: preferences are of pairs")
    return _preferences(given)


def _preferences(given: Any) -> list[Preference]:
    """Return rows that are better, rows that are worse, probabilities and weights; these may be left out."""
    try:
        table = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        message = f"preferences cannot be read as a table of numbers: {error}"
        raise ParamKindError(message, code="preferences") from None
    if table.ndim != 2 or not 2 <= table.shape[1] <= 4:
        message = (
            f"preferences: got an array of shape {table.shape}, expected rows of (better, "
            "worse), and perhaps a probability and a weight"
        )
        raise ParamError(message, code="preferences")
    rows = table[:, :2]
    at = first_true(~((rows >= 0) & (rows <= _MOST) & (rows == np.floor(rows))).all(1))
    if at is not None:
        pair = rows[at].tolist()
        raise wrong_value(f"preferences[{at}]", pair, "two row numbers", "preferences")
    better, worse = rows.T.astype(np.int64).tolist()
    probability, weight, *_ = table.T[2:].tolist() + [[1.0] * len(table)] * 2
    return list(zip(better, worse, probability, weight, strict=True))


def _metrics(given: Any) -> list[str | Measurement]:
    many = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    metrics: list[str | Measurement] = []
    for metric in given if many else [given]:
        if isinstance(metric, str):
            metrics.append(str(metric))
        elif callable(metric):
            metrics.append(Measurement(metric))
        else:
            expected = "a name such as 'ndcg@10' or a function (scores, labels) -> float"
            raise wrong_kind("metric", metric, expected)
    names = _names_of(metrics)
    for name in names:
        if names.count(name) > 1:
            raise ParamError(f"metric: two are called {name}", code="metric")
    return metrics


def _names_of(metrics: Sequence[str | Measurement]) -> list[str]:
    return [metric if isinstance(metric, str) else metric.name for metric in metrics]


def _valid(given: Any, dataset: Dataset) -> dict[str, Dataset]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        named = {text("valid", name): value for name, value in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        named = {f"valid_{at}": value for at, value in enumerate(given)}
    else:
        named = {"valid": given}
    for name, value in named.items():
        check_same_names(as_dataset(value, name)._names, dataset._names, f" of {name}")
    return named


def _base(given: Any, sets: Mapping[str, Dataset]) -> tuple[_rustrank.Booster | None, bool]:
    """Return what training goes on from, and whether the datasets have its scores."""
    if given is not None and not is_booster(given):
        raise wrong_kind("base", given, "a Booster")
    scored = {name: dataset._base for name, dataset in sets.items()}
    base = scored["the training set"] if given is None else given
    is_scored = any(scored.values())
    for name, theirs in scored.items() if is_scored else ():
        if theirs is None or (theirs is not base and theirs != base):
            message = (
                f"base: {name} was made with {'no' if theirs is None else 'another'} base; make "
                "the training set with base=, and the others like= it"
            )
            raise ParamError(message, code="base")
    return (None if base is None else base._core), is_scored
