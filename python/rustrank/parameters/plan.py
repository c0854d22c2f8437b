"""What to train: the options of `train` that only this half understands, checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank.data.dataset import Dataset, as_dataset
from rustrank.data.dataset_building import check_base_names, is_booster, raw_names, wrong_base
from rustrank.errors import (
    DataError,
    ParamError,
    ParamKindError,
    shown,
    warn_caller,
    wrong_kind,
    wrong_value,
)
from rustrank.formatting import count
from rustrank.inputs.feature_names import check_joined_texts, features_of_text
from rustrank.inputs.scalars import as_list, choice, named, real, separated, whole
from rustrank.inputs.tables import check_same_names, feature_number
from rustrank.inputs.vectors import as_doubles, first_true
from rustrank.parameters.hints import check_objective
from rustrank.parameters.schema import checked, with_preset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rustrank import _rustrank

_MOST = 2**32 - 1
#: With this share of training queries a validation set no longer says when to stop.
_MOST_SHARED = 0.1

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
        The name of the validation set to look at; by default the first one that is not the training set.
    smooth : int, default 1
        Over how many rounds around each one values are averaged before they are compared. Above 1, a
        single high value of a noisy curve is no reason to keep a round: on small sets 41, with a patience
        of 200 at ``learning_rate=0.05``, chose better rounds than the highest value did.
    """

    rounds: int
    metric: str | None = None
    valid: str | None = None
    smooth: int = 1


def looking_past_training(given: Any, is_training: Mapping[str, bool]) -> Any:
    """Return a rule that names the first validation set that is not the training set.

    A rule that names a set is returned as it is, and so is one whose default is right. There is a
    warning if the training set is the only one, which the rule then names.

    Parameters
    ----------
    given : int, EarlyStopping or None
        The option ``early_stopping``.
    is_training : mapping
        Whether each validation set is the training set, by name.
    """
    rule = given if isinstance(given, EarlyStopping) else EarlyStopping(given)
    if given is None or rule.valid is not None or not next(iter(is_training.values()), False):
        return given
    others = [name for name, is_train in is_training.items() if not is_train]
    if others:
        return replace(rule, valid=others[0])
    warn_caller(
        "early_stopping looks at the training set, the only validation set, where more rounds nearly always "
        "look better: pass a set of other queries, too"
    )
    # Named, so that nothing warns again.
    return replace(rule, valid=next(iter(is_training)))


def is_training_set(one: Dataset, dataset: Dataset) -> bool:
    """Return whether a validation set is the training set, or has the same queries."""
    return one is dataset or one._core.has_the_queries_of(dataset._core)


def _warn_of_training_queries(rule: Any, valid: Mapping[str, Dataset], dataset: Dataset) -> None:
    """Warn where early stopping looks at a set that has queries of the training set, but is another one."""
    given = rule.valid if isinstance(rule, EarlyStopping) else None
    name = given or next(iter(valid), "")
    if rule is None or name not in valid or is_training_set(valid[name], dataset):
        return
    shared, looked_at = valid[name]._core.shared_queries(dataset._core)
    if shared >= max(2, _MOST_SHARED * looked_at):
        queries = count(looked_at, "query", "queries")
        warn_caller(
            f"early_stopping looks at {name}, where {shared} of {queries} are queries of the training set, too. "
            "More rounds nearly always look better on these: pass other queries"
        )


class Patience:
    """When to end early, with places of the set and the metric."""

    def __init__(self, given: Any, sets: list[str], metrics: list[str], weighted: bool) -> None:
        rule = given if isinstance(given, EarlyStopping) else EarlyStopping(given)
        self.rounds = whole("early_stopping", rule.rounds, 1, 2**31, ", or None")
        self.smooth = whole("early_stopping, smooth", rule.smooth, 1, 2**31)
        if not sets or not metrics:
            message = "early_stopping needs a validation set and a metric: pass valid="
            raise ParamError(message, code="early_stopping")
        self.set = _place("valid", rule.valid, sets)
        #: The weighted sum of several metrics, if there is one, comes last.
        known = [*metrics, "weighted"] if weighted else metrics
        self.metric = _place("metric", rule.metric or known[-1 if weighted else 0], known)


def _place(what: str, name: str | None, known: list[str]) -> int:
    if name is None:
        return 0
    return known.index(choice(f"early_stopping, {what}", name, known, "early_stopping"))


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
        self,
        dataset: Dataset,
        options: Mapping[str, Any],
        checkpoint: _rustrank.Booster | None,
        *,
        is_alone: bool = True,
    ) -> None:
        """Check the options; ``is_alone``, unless the data set is one worker's part of the documents."""
        objective, augment, self.params = options["objective"], options["augment"], dict(options)
        given = options["metric"]
        guards = _guards(options["guard"])
        self.weights = _weights(given) if isinstance(given, Mapping) else None
        self.metrics = _metrics(list(given) if isinstance(given, Mapping) else given)
        if guards and self.weights is None:
            self.weights = [1.0] + [0.0] * (len(self.metrics) - 1)
        more = [name for name in guards if name not in _names_of(self.metrics)]
        self.metrics += more
        if self.weights is not None:
            self.weights += [0.0] * len(more)
        names = _names_of(self.metrics)
        #: The numbers of metrics that may not fall, and how far they may.
        self.guards = [(names.index(name), fall) for name, fall in guards.items()]
        valid = _valid(options["valid"], dataset)
        is_same = is_training_set if is_alone else operator.is_
        is_training = {name: is_same(one, dataset) for name, one in valid.items()}
        if guards and all(one is not dataset for one in valid.values()):
            # Guards hold on the training set, too.
            valid["train"] = dataset
        self.valid = [(name, given._core) for name, given in valid.items()]
        self.function = None
        if callable(objective):
            if augment is not None:
                message = "augment: a function sees whole queries only; leave it None"
                raise ParamError(message, code="augment")
            self.function = Loss(objective, dataset.query_ids)
            del self.params["objective"]
        self.limits = Limits(options, dataset)
        _warn_of_shrunk_steps(options)
        self.preferences = preferences_of(options["preferences"], objective, augment)
        rule = looking_past_training(options["early_stopping"], is_training)
        if is_alone:
            _warn_of_training_queries(rule, valid, dataset)
        weighted = self.weights is not None
        if guards and rule is None:
            # Nothing ends the training early, but the best round keeps the guards.
            other = next((name for name, one in valid.items() if one is not dataset), None)
            rule = EarlyStopping(2**31, valid=other)
        self.patience = None if rule is None else Patience(rule, list(valid), names, weighted)
        sets = {"the training set": dataset, **valid}
        self.base, self.is_scored = _base(options["base"], sets)
        if guards and self.base is None:
            message = (
                "guard: there is no base, expected base=, the booster whose values may not fall: train one "
                "for the guarded metrics first"
            )
            raise ParamError(message, code="guard")
        self.checkpoint = checkpoint


def _warn_of_shrunk_steps(options: Mapping[str, Any]) -> None:
    rate = options["learning_rate"]
    if options["step"] == "exact" and rate != 1:
        message = (
            f"step='exact' with learning_rate={rate:g}: every exact step is multiplied by it, so that "
            "the model learns slowly; leave learning_rate out, and it is 1"
        )
        warn_caller(message)


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


def _weights(given: Mapping[Any, Any]) -> list[float]:
    """Return the weights of several metrics."""
    if not given:
        raise wrong_kind("metric", given, "metrics with weights, {'ndcg@10': 1, 'revenue@10': 0.2}")
    for name in given:
        if not isinstance(name, str):
            raise wrong_kind("metric", name, "a name: only metrics of ours can be weighed")
    return [_from_zero(f"metric[{name!r}]", one, "a weight") for name, one in given.items()]


def _guards(given: Any) -> dict[str, float]:
    """Return how far each guarded metric may fall."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise wrong_kind("guard", given, "metrics and how far each may fall, {'ndcg@10': 0.005}")
    fall = "how far the metric may fall"
    return {name: _from_zero(f"guard[{name!r}]", one, fall) for name, one in given.items()}


def _from_zero(name: str, given: Any, what: str) -> float:
    """Return a finite number from 0 on."""
    number = real(name, given)
    if not 0 <= number < math.inf:
        code = name.partition("[")[0]
        raise wrong_value(name, given, f"{what}, a finite number from 0 on", code)
    return number


def _metrics(given: Any) -> list[str | Measurement]:
    given = separated(given) if isinstance(given, str) else given
    many = isinstance(given, Sequence) and not isinstance(given, bytes)
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


def names_of_metrics(given: Any) -> list[str]:
    """Return the names of the option ``metric``, which is no mapping."""
    return _names_of(_metrics(given))


def _names_of(metrics: Sequence[str | Measurement]) -> list[str]:
    return [metric if isinstance(metric, str) else metric.name for metric in metrics]


def _valid(given: Any, dataset: Dataset) -> dict[str, Dataset]:
    sets = sets_by_name(given)
    for name, value in sets.items():
        check_same_names(as_dataset(value, name)._names, dataset._names, f" of {name}")
    return sets


def sets_by_name(given: Any) -> dict[str, Any]:
    """Return validation sets by name, given by name, as a list, or one alone."""
    if given is None:
        return {}
    given = given if isinstance(given, (Mapping, list, tuple)) else {"valid": given}
    return named("valid", given, "valid_", "data sets")


def _base(given: Any, sets: Mapping[str, Dataset]) -> tuple[_rustrank.Booster | None, bool]:
    """Return what training goes on from, and whether the datasets have its scores."""
    if given is not None and not is_booster(given):
        raise wrong_base("base", given, "a Booster")
    scored = {name: dataset._base for name, dataset in sets.items()}
    base = scored["the training set"] if given is None else given
    check_base_names(base, raw_names(sets["the training set"]), "the training set")
    is_scored = any(scored.values())
    if base is not None and not is_scored:
        of_base = base._core.category_lists()
        of_set = sets["the training set"]._core.binning.category_lists()
        hint = "train the base on the same columns, or make the training set with base="
        check_joined_texts(
            ("base", features_of_text(of_base)),
            ("the training set", features_of_text(of_set)),
            hint,
        )
    for name, theirs in scored.items() if is_scored else ():
        if theirs is None or (theirs is not base and theirs != base):
            message = (
                f"base: {name} was made with {'no' if theirs is None else 'another'} base; make "
                "the training set with base=, and the others like= it"
            )
            raise ParamError(message, code="base")
    return (None if base is None else base._core), is_scored


class Limits:
    """Constraints by the numbers of features; those that change nothing are left out.

    The kinds of options are checked here; the core checks what they mean together. A constraint on a
    feature holds for its ranks in queries, too.
    """

    def __init__(self, options: Mapping[str, Any], dataset: Dataset) -> None:
        self._names = dataset.feature_names
        self._num_raw = len(self._names) // (2 if dataset.query_ranks else 1)
        directions = self._values("monotone", options["monotone"], _direction)
        weights = self._values("feature_weight", options["feature_weight"], real)
        #: Whether scores may rise with a feature, or fall.
        self.monotone = [(feature, way > 0) for feature, way in directions.items() if way]
        self.interactions = list(self._groups(options["interactions"]))
        tie_feature = options["step_tie_feature"]
        #: What ranks docs with equal scores in exact steps.
        self.tie_feature = (
            None if tie_feature is None else self._number("step_tie_feature", tie_feature)
        )
        self.feature_weight = [pair for pair in weights.items() if pair[1] != 1.0]

    def _values(
        self, option: str, given: Any, checked: Callable[[str, Any], float]
    ) -> dict[int, float]:
        """Take a mapping from features, or a list with an entry a feature."""
        if given is None:
            return {}
        if isinstance(given, Mapping):
            items = [
                (self._number(option, key), checked(f"{option}[{shown(key)}]", value))
                for key, value in given.items()
            ]
        elif isinstance(given, (list, tuple, np.ndarray)):
            if len(given) not in (self._num_raw, len(self._names)):
                message = (
                    f"{option} has the wrong length: got {len(given)}, expected {self._num_raw}, "
                    "the number of features; or a mapping from features"
                )
                raise ParamError(message, code=option)
            items = [(at, checked(f"{option}[{at}]", one)) for at, one in enumerate(given)]
        else:
            raise wrong_kind(option, given, "a mapping from features, or a list")
        values = dict(items)
        if len(values) < len(items):
            raise ParamError(f"{option} has a feature twice, by name and by number", code=option)
        for feature, value in items:
            for rank in self._ranks(feature):
                values.setdefault(rank, value)
        return dict(sorted(values.items()))

    def _groups(self, given: Any) -> Iterator[list[int]]:
        expected = "a list of lists of features"
        if isinstance(given, Mapping):
            raise wrong_kind("interactions", given, expected)
        for group in () if given is None else as_list("interactions", given, expected):
            if isinstance(group, (str, bytes, Mapping)) or not hasattr(group, "__iter__"):
                raise wrong_kind("interactions", given, expected)
            numbers = {self._number("interactions", key) for key in group}
            yield sorted(numbers.union(*map(self._ranks, numbers)))

    def _ranks(self, feature: int) -> list[int]:
        """Return the ranks of a feature, where they are features."""
        rank = feature + self._num_raw
        return [rank] if rank < len(self._names) else []

    def _number(self, option: str, key: Any) -> int:
        return feature_number(option, key, self._names, len(self._names) - 1)


def _direction(what: str, value: Any) -> float:
    return whole(what, value, -1, 1, " (1 for rising, -1 for falling)")
