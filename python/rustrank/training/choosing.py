"""The choice of settings from the data, where the caller of `rustrank.train` gives none about the model.

Each candidate is a preset with a learning rate. They are trained on some queries and judged on others: on those
of the validation set or, without one, on each of five folds. The first candidate, for noisy judgements, is
kept unless another one is better by more than chance would explain. The folds also say how many trees there are.
Nothing here depends on the order of rows or on the number of threads.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.ranked import sets_with_ranks
from rustrank.errors import ParamError, dropped_warnings
from rustrank.formatting import count
from rustrank.inputs.scalars import separated
from rustrank.metrics.evaluation import Judging
from rustrank.parameters.plan import (
    EarlyStopping,
    Plan,
    is_training_set,
    names_of_metrics,
    sets_by_name,
    train_options,
)
from rustrank.parameters.schema import TRAININGS
from rustrank.training.probes import (
    PATIENCE,
    SMOOTH,
    Probe,
    Probes,
    better,
    num_judged_queries,
    objective_for,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rustrank.data.dataset import Dataset
    from rustrank.model.booster import Booster

#: What is tried, the first for judgements with much noise.
CANDIDATES: tuple[dict[str, Any], ...] = (
    {"preset": "noisy", "learning_rate": 0.05},
    {"preset": "clean", "learning_rate": 0.1},
)
#: The most rounds.
_ROUNDS = 1000
#: The number of folds; data with more documents than the second number have one, of a sample of queries.
_FOLDS, _MOST_DOCS = 5, 1 << 17
#: Fewer queries with different labels say too little: nothing is chosen.
_FEWEST_QUERIES = 20
#: Another candidate than the first must be better by so many standard errors.
_ERRORS = 2.0
#: Parameters that may be given: they say nothing about the model.
_NOT_OF_MODEL = {
    "seed",
    *(name for name, one in TRAININGS["train"].items() if one.group in ("run", "labels")),
} - {"base", "guard", "preset"}
#: Parameters that change no tree once the number of trees is known, which is always chosen, or that are data.
_NOT_OF_TREES = _NOT_OF_MODEL - {
    "seed",
    "metric",
    "exportable",
    "gain",
    "relevant_from",
    "max_label",
} | {
    "base",
    "guard",
    "num_trees",
    "preferences",
    "preset",
}


@dataclass(frozen=True)
class Choice:
    """The settings that were chosen, with the data sets that they need.

    Attributes
    ----------
    data : Dataset
        The training set, perhaps with ranks within queries.
    options : dict
        All options of `rustrank.train`.
    chosen : mapping
        Those of them that were chosen.
    given : mapping
        Those of them that the caller gave and that change the trees, as JSON has them.
    metric : str
        What decided.
    num_queries : int
        The number of queries that candidates were compared on.
    values : mapping
        The mean of the metric over these, by candidate: the highest of a curve that is smoothed over `SMOOTH` rounds.
    value : float
        The mean of the chosen one over all queries that were held out once.
    """

    data: Dataset
    options: dict[str, Any]
    chosen: dict[str, Any]
    given: dict[str, Any]
    metric: str
    num_queries: int
    values: dict[str, float]
    value: float

    def noted(self, booster: Booster) -> Booster:
        """Write the choice into the booster, with the number of trees that it has."""
        note = {
            "options": {**self.given, **self.chosen, "num_trees": booster.num_rounds},
            "given": sorted(self.given),
            "query_ranks": self.data.query_ranks,
            "metric": self.metric,
            "queries": self.num_queries,
            "values": self.values,
            "value": self.value,
        }
        return booster._with_choice(note)

    def __str__(self) -> str:
        """Say in one line what was chosen and why."""
        chosen = dict(self.chosen)
        if self.options["early_stopping"] is not None:
            chosen["num_trees"] = f"up to {chosen['num_trees']}"
        shown = [f"{name} {value}" for name, value in chosen.items()]
        ranks = ["ranks within queries"] if self.data.query_ranks else []
        values = ", ".join(f"{name} {value:.4f}" for name, value in self.values.items())
        queries = count(self.num_queries, "held-out query", "held-out queries")
        rule = ""
        if max(self.values, key=self.values.__getitem__) != self.chosen.get("preset"):
            rule = ", not clearly better"
        return (
            f"chosen by {self.metric} on {queries} ({values}, means over {SMOOTH} rounds{rule}): {', '.join([*shown, *ranks])}; "
            "preset='plain' keeps the defaults"
        )

    def report(self, progress: bool | None) -> None:
        """Print it, unless ``progress=False`` was given."""
        if progress is not False and sys.stderr is not None:
            print(f"rustrank: {self}", file=sys.stderr, flush=True)  # noqa: T201 - what people should know


def choose(data: Dataset, given: Mapping[str, Any], options: Mapping[str, Any]) -> Choice | None:
    """Return what to train with; None where the caller has said it, or the data say too little.

    Parameters
    ----------
    data : Dataset
        The training set.
    given : mapping
        The options of `rustrank.train` that its caller has given.
    options : mapping
        All of them, with datasets as validation sets.
    """
    if not _is_wanted(given):
        return None
    if (reason := _reason_against(data, options)) is not None:
        refuse_auto(given, reason)
        return None
    if num_judged_queries(data) < _FEWEST_QUERIES:
        return None
    task = _Task.of(data, given, options)
    # What is wrong with the options is said before anything is tried; warnings come with the training.
    with dropped_warnings():
        Plan(task.data, task.options, None)
    try:
        return _by_folds(task) if task.held is None else _by_valid(task, task.held)
    except ParamError as error:
        # So few documents that no split leaves enough of them.
        if error.code == "min_leaf_docs":
            return None
        raise


def _is_wanted(given: Mapping[str, Any]) -> bool:
    """Return whether nothing about the model was given, or ``preset="auto"``."""
    if (preset := given.get("preset")) is not None:
        return bool(preset == "auto")
    return all(given[name] is None for name in given.keys() - _NOT_OF_MODEL - {"objective"})


def refuse_auto(given: Mapping[str, Any], reason: str) -> None:
    """Raise `ParamError` if ``preset="auto"`` was given where nothing can be chosen."""
    if given.get("preset") == "auto":
        message = (
            f"preset: got 'auto', which chooses nothing {reason}; expected another preset, or none"
        )
        raise ParamError(message, code="preset")


def _reason_against(data: Dataset, options: Mapping[str, Any]) -> str | None:
    """Return why nothing can be chosen, if that is so."""
    if options["objective"] != "lambdamart":
        return f"for objective={options['objective']!r}, only for 'lambdamart'"
    if options["base"] is not None or data._core.has_base_scores:
        return "for trees that are added to a base"
    if _is_of_further_label(data, options["metric"]):
        return "by the metric of a further label"
    return None


def _heaviest(metric: Any) -> Any:
    """Return what candidates are compared by: of metrics with weights the first of those with the largest."""
    return max(metric, key=metric.__getitem__) if isinstance(metric, Mapping) and metric else metric


def _is_of_further_label(data: Dataset, metric: Any) -> bool:
    """Return whether the metric that candidates would be compared by is that of a further label."""
    one = _heaviest(metric) if isinstance(metric, Mapping) else names_of_metrics(metric)[0]
    return str(one).partition("@")[0] in data.extra_labels


@dataclass(frozen=True)
class _Task:
    """The data and what was asked for."""

    data: Dataset
    sets: Mapping[str, Dataset]
    given: Mapping[str, Any]
    #: All options, as the caller gave them, with the data sets as they are here.
    options: Mapping[str, Any]

    @classmethod
    def of(cls, data: Dataset, given: Mapping[str, Any], options: Mapping[str, Any]) -> _Task:
        """Return the task with ranks within queries in all sets, if these can have them."""
        sets = sets_by_name(options["valid"])
        is_free = options["exportable"] in (None, "rustrank")
        data, sets = (sets_with_ranks(data, sets) if is_free else None) or (data, sets)
        given = {name: value for name, value in given.items() if name != "preset"}
        return cls(data, sets, given, {**options, "valid": sets or None})

    @property
    def held(self) -> Dataset | None:
        """The validation set that early stopping looks at, if there is one."""
        rule = self.options["early_stopping"]
        if isinstance(rule, EarlyStopping) and rule.valid is not None:
            return self.sets.get(rule.valid)
        others = (one for one in self.sets.values() if not is_training_set(one, self.data))
        return next(others, None)

    @property
    def metric(self) -> Any:
        """The option of that name without weights."""
        return _heaviest(self.options["metric"])

    @property
    def place_of_metric(self) -> int:
        """The place of the metric that decides: that of early stopping, by default the first."""
        names, rule = names_of_metrics(self.metric), self.options["early_stopping"]
        chosen = rule.metric if isinstance(rule, EarlyStopping) else None
        return names.index(chosen) if chosen in names else 0

    @property
    def judging(self) -> Judging:
        """The metric that candidates are compared by: NDCG@10 where it is a function of the caller's."""
        options, at, metric = self.options, self.place_of_metric, self.metric
        metric = separated(metric) if isinstance(metric, str) else metric
        one = metric if callable(metric) else list(metric)[at]
        relevant_from = options["relevant_from"]
        return Judging(
            one if isinstance(one, str) else "ndcg@10",
            options["gain"],
            relevant_from=1 if relevant_from is None else relevant_from,
            max_label=options["max_label"],
            num_threads=options["num_threads"],
        )

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What is tried. Several metrics with weights say themselves what pairs weigh."""
        has_weights = isinstance(self.options["metric"], Mapping)
        objective = {} if has_weights else objective_for(names_of_metrics(self.metric)[0])
        return [{**candidate, **objective} for candidate in CANDIDATES]

    def options_of(self, candidate: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options with those of a candidate, over which given ones win."""
        every = train_options({**candidate, **self.given})
        # What was made of the options that were given.
        return every | {name: self.options[name] for name in ("valid", "missing_is_unknown")}

    @property
    def most_rounds(self) -> int:
        """The most rounds that are tried."""
        most: int = self.options["num_trees"] if "num_trees" in self.given else _ROUNDS
        return most

    def tried(
        self,
        candidate: Mapping[str, Any],
        *parts: tuple[Dataset, Dataset],
        after: Sequence[Probe] = (),
    ) -> Probes:
        """Train a candidate on parts of the data, each with queries that it is judged on."""
        cores = self.options["num_threads"] or os.cpu_count() or 1
        n_jobs = min(cores, len(parts))
        options = {
            **self.options_of(candidate),
            "metric": self.metric,
            "guard": None,
            "num_trees": self.most_rounds,
            "num_threads": cores // n_jobs,
        }
        probes = [Probe(fit, held, options, self.place_of_metric) for fit, held in parts]
        tried = Probes([*after, *probes])
        tried.train(self.most_rounds, n_jobs)
        return tried

    def choice(
        self, probes: Sequence[Probes], at: int, more: dict[str, Any], whole: Probes | None = None
    ) -> Choice | None:
        """Return a candidate and what else was chosen; None where the metric has no value.

        Candidates were compared by ``probes``, all on the same queries; ``whole`` is the chosen one on all folds.
        """
        names = [str(candidate["preset"]) for candidate in CANDIDATES]
        values = dict(zip(names, (one.value for one in probes), strict=True))
        if not np.isfinite(list(values.values())).all():
            return None
        candidate = self.candidates[at]
        chosen = {name: value for name, value in candidate.items() if name not in self.given}
        options = {**self.options_of(candidate), **more}
        chosen |= {"num_trees": options["num_trees"]}
        judged = int(np.isfinite(probes[at].per_query(self.judging)).sum())
        metric = names_of_metrics(self.metric)[self.place_of_metric]
        value = probes[at].value if whole is None else whole.value
        kept = _given_of_trees(self.given, self.data.feature_names)
        return Choice(self.data, options, chosen, kept, metric, judged, values, value)


def _given_of_trees(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the options that change the trees, as JSON has them; without functions, which it has not."""
    found = {}
    for name, value in given.items():
        if name not in TRAININGS["train"] or name in _NOT_OF_TREES or value is None:
            continue
        try:
            found[name] = json.loads(json.dumps(_plain(value, names), allow_nan=False))
        except (TypeError, ValueError):
            continue
    return found


def _plain(value: Any, names: Sequence[str]) -> Any:
    """Return a value without numpy's types, and with the names of features that numbers are keys of."""
    if isinstance(value, Mapping):
        numbers = (int, np.integer)
        return {
            str(names[int(key)] if isinstance(key, numbers) else key): _plain(one, names)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one, names) for one in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _by_valid(task: _Task, held: Dataset) -> Choice | None:
    """Choose by the validation set, which then says how many trees there are."""
    part = _sample(task.data), _sample(held)
    probes = [task.tried(candidate, part) for candidate in task.candidates]
    more: dict[str, Any] = {"num_trees": task.most_rounds}
    if task.options["early_stopping"] is None:
        name = next(name for name, one in task.sets.items() if one is held)
        more["early_stopping"] = EarlyStopping(PATIENCE, valid=name, smooth=SMOOTH)
    return task.choice(probes, better(probes, task.judging, _ERRORS), more)


def _by_folds(task: _Task) -> Choice | None:
    """Choose by folds of the training set, which also say how many trees there are."""
    is_large = task.data.num_docs > _MOST_DOCS
    parts = [_parts(task.data, fold, _FOLDS) for fold in range(1 if is_large else _FOLDS)]
    first = [task.tried(candidate, parts[0]) for candidate in task.candidates]

    def on_all(at: int) -> Probes:
        return (
            task.tried(task.candidates[at], *parts[1:], after=first[at].probes)
            if parts[1:]
            else first[at]
        )

    # Only where another candidate is ahead on the first fold, all are tried on the others.
    is_close = any(one.value > first[0].value for one in first[1:])
    probes = [on_all(at) for at in range(len(first))] if is_close else first
    best = better(probes, task.judging, _ERRORS)
    whole = probes[best] if is_close else on_all(best)
    rounds = task.most_rounds if "num_trees" in task.given else whole.best
    return task.choice(probes, best, {"num_trees": rounds}, whole)


def _sample(data: Dataset) -> Dataset:
    """Return a set, or a sample of the queries of a large one."""
    return data if data.num_docs <= _MOST_DOCS else _parts(data, 1, 1)[0]


def _parts(data: Dataset, fold: int, num_folds: int) -> tuple[Dataset, Dataset]:
    """Return all but one fold, and that fold; of a large set, those of a sample of its queries."""
    fit, held = data._core.fold(fold, num_folds, _MOST_DOCS)
    return data.of_same_docs(*fit), data.of_same_docs(*held)
