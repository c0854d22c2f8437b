"""Tuning: a search for the options of a ranker that are best on queries it was not fitted to."""

from __future__ import annotations

import importlib
import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.errors import ParamError, dropped_warnings, wrong_kind
from rustrank.estimators.ranker import Ranker, option_record, options_record
from rustrank.formatting import Table, TableResult, count, interval, number
from rustrank.inputs.keywords import OF_ONE_METRIC, refuses_unknown
from rustrank.inputs.scalars import choice, flag, threads, whole
from rustrank.metrics.comparison import compare_values, difference_cells
from rustrank.metrics.evaluation import Drawing, MetricValue, height, mean_of, plain_value
from rustrank.plotting.results import plot_tuning
from rustrank.progress import progress_of_steps
from rustrank.selection._trials import Records, TrialEvaluator
from rustrank.selection.search_spaces import (
    Between,
    as_space,
    different_settings,
    grid_settings,
    num_settings,
)
from rustrank.training.rounds import cancellable_pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from rustrank.model.booster import Booster

__all__ = ["Trial", "Tuning", "tune"]

#: The settings asked of Optuna before it gets the values of any of them. They can run in parallel, and the
#: result does not depend on which ends first.
_BATCH = 4
#: The most that Optuna is asked at a time, where it names settings again that were tried.
_ASKED = 200
#: The most rows of a table.
_SHOWN = 20


@dataclass(frozen=True)
class Trial:
    """A setting that was tried, and its value.

    Attributes
    ----------
    setting : dict
        The options that were tried, by name.
    value : MetricValue
        The metric on queries that the ranker was not fitted to.
    """

    setting: dict[str, Any]
    value: MetricValue


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(TableResult):
    """The settings that were tried, with their values, and a ranker with the best one.

    Attributes
    ----------
    trials : list of Trial
        All settings in the order in which they were tried.
    best : dict
        The setting with the highest mean; of several, the first.
    choosing : MetricValue
        The metric of the strategy "take the best setting": each half of the queries with the setting that is
        best on the other half. The mean of the best setting itself is biased upwards by the choice. Where a
        ranker that stops early is judged on ``valid=``, its rounds are chosen on these queries, too, and all
        values are too high, this one as well: evaluate the ranker on other queries.
    ranker : ranker or None
        A ranker with the best setting, fitted to all documents.
    metric : str
        The metric that was maximised.
    """

    trials: list[Trial]
    best: dict[str, Any]
    choosing: MetricValue
    ranker: Any
    metric: str
    _drawing: Drawing
    _stopped_on_judged: bool = False
    _left = 0

    @property
    def value(self) -> MetricValue:
        """The metric of the best setting."""
        return self._first.value

    @property
    def booster(self) -> Booster:
        """The booster of the ranker."""
        if self.ranker is None:
            raise ParamError("there is no booster: refit=False", code="refit")
        booster: Booster = self.ranker.booster_
        return booster

    @property
    def _first(self) -> Trial:
        return _best(self.trials, [float(trial.value) for trial in self.trials])

    @property
    def statements(self) -> list[str]:
        """The result in sentences."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.best.items())
        level = interval(self.choosing.interval)
        found = [
            f"best of {count(len(self.trials), 'setting')}: {options}",
            f"taking the best on other queries gives {self.metric} {number(self.choosing)} [{level}]",
        ]
        if self._stopped_on_judged:
            found.append(
                "the rounds of each setting were stopped early on the same queries, so all values are too high: "
                "evaluate the ranker on other queries"
            )
        return found

    def _tables(self) -> list[Table]:
        """Return the best settings, each compared with the best one."""
        names = list(self.best)
        ranked = sorted(self.trials, key=lambda trial: -height(trial.value))
        head = [*names, self.metric, "95% interval", "below the best", "p"]
        rows = []
        for trial in ranked[:_SHOWN]:
            row = [_shown(trial.setting[name]) for name in names]
            row += [number(trial.value), interval(trial.value.interval)]
            pair = self._first.value, trial.value
            found = compare_values(*pair, ("best", "other"), self._drawing)
            row += difference_cells(None if trial is self._first else found)
            rows.append(row)
        return [(head, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "metric": self.metric,
            "best": self.best,
            "value": float(self.value),
            "choosing": plain_value(self.choosing),
            "trials": [
                {"setting": trial.setting, **plain_value(trial.value)} for trial in self.trials
            ],
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw the metric over each parameter; needs matplotlib.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
            Where to draw, one a parameter; new ones by default.

        Returns
        -------
        array of matplotlib axes
        """
        return plot_tuning(self, axes)


@refuses_unknown(OF_ONE_METRIC)
def tune(
    ranker: Any,
    docs: Any,
    space: str | Mapping[str, Any] = "lambdamart",
    *,
    y: Any = None,
    qid: Any = None,
    group: Any = None,
    method: str | None = None,
    trials: int | None = None,
    valid: Any = None,
    folds: int = 5,
    metric: str | None = None,
    records: str | PathLike[str] | None = None,
    refit: bool = True,
    seed: int = 0,
    gain: Any = None,
    max_label: float | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    num_threads: int | None = None,
) -> Tuning:
    """Search for the setting of a ranker that is best on queries it was not fitted to.

    The result depends on the documents and the options only, not on the order of rows nor on threads.

    Parameters
    ----------
    ranker : ranker
        One of this library's rankers, with the options that stay fixed:
        ``rr.LambdaMART(n_estimators=1000, early_stopping=50)``. For early stopping it
        uses validation queries of its own, held out of each training set, or ``valid``, on which all values
        are then too high, as the result says.
    docs : docs
        The documents, with raw features: a table with ``y`` and ``qid`` or ``group``; ``(X, y, qid)``, a
        mapping with ``X``, ``y`` and ``qid`` or ``group``, or a `rustrank.datasets.Ranking`.
    space : str or mapping, default "lambdamart"
        For each parameter a list of values, or a range: a tuple of two numbers, ``(low, high)``, or a
        `Between`, which may be logarithmic. A range whose ends are both whole has whole numbers only, unless
        the parameter is a float. Or the name of one of `rustrank.grids`, such as those of the papers.
    y, qid, group : array-like or str, optional
        Labels, query ids or sizes of queries of a table, as for `rustrank.Dataset`: often the names of two
        columns, ``y="label", qid="query_id"``, which then hold for ``valid``, too. Without ``qid`` and
        ``group``, a column ``qid`` has the query ids.
    method : {"grid", "random", "optuna"}, optional
        All settings; ``trials`` random settings; or ``trials`` settings chosen by Optuna from the values of
        earlier ones. By default ``grid``, or ``random`` where a space has ranges or
        ``trials`` is given.
    trials : int, optional
        The number of settings to try; 50 by default, or all of a grid. No setting is tried twice: if
        there are fewer, all are tried.
    valid : docs, optional
        The documents to evaluate settings on, in the same forms, with named columns in any order; by
        default folds of ``docs``.
    folds : int, default 5
        The number of folds.
    metric : str, optional
        The metric to maximise; by default the first metric of the ranker.
    records : path-like, optional
        A file that records the value of each setting. A run that was killed continues from it; other
        documents or options are an error.
    refit : bool, default True
        Whether to finally fit a ranker with the best setting to all documents.
    seed : int, default 0
        The seed of the folds and of random settings.
    gain, max_label
        As for `rustrank.evaluate`; the ranker's by default.
    progress : bool, default False
        Whether to show a progress bar, with the metric of the last setting and of the best so far.
    n_jobs : int, optional
        The number of settings to try at once; the number of cores by default.
    num_threads : int, optional
        Threads to use, for all of these together; all cores by default.

    Returns
    -------
    Tuning
        All trials, the best setting, and a ranker with it.

    Raises
    ------
    DataError
        Nothing can be learned from the documents.
    ParamError
        An option is unknown or out of range, or the records belong to another run.
    ImportError
        For ``optuna``: it is not installed.

    Examples
    --------
    >>> import rustrank as rr
    >>> docs = rr.datasets.make_web(num_queries=100, docs_per_query=20, seed=0)
    >>> trees = rr.LambdaMART(n_estimators=10, num_leaves=8)
    >>> found = rr.tune(trees, docs, {"learning_rate": [0.001, 0.1], "l2": [1.0]}, folds=3)
    >>> found.best
    {'learning_rate': 0.1, 'l2': 1.0}
    >>> found.booster
    <Booster: 10 trees, 136 features>
    """
    options = dict(locals())
    if isinstance(ranker, type) or not isinstance(ranker, Ranker):
        raise wrong_kind("ranker", ranker, "a ranker such as rr.LambdaMART()")
    known = {
        name: default
        for name, default in type(ranker)().get_params().items()
        if name not in ("n_jobs", "progress")
    }
    tried = as_space(space, known, type(ranker).__name__)
    most = threads(num_threads)
    cores = _rustrank.num_threads() if most is None else most
    jobs = cores if n_jobs is None else whole("n_jobs", n_jobs, 1, 1024)
    evaluator = TrialEvaluator(options, max(1, cores // jobs))
    place = None if records is None else Path(records)
    kept = Records(place, _about(evaluator, tried))
    # Folds may have features with a single value, which the caller cannot change.
    with dropped_warnings():
        done = _run(evaluator, kept, jobs, tried)
        return _result(done, evaluator, flag("refit", refit), cores)


def _about(evaluator: TrialEvaluator, space: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the value of a setting depends on, as plain values."""
    return {
        "ranker": type(evaluator.ranker).__name__,
        "options": options_record(evaluator.ranker, space),
        "docs": evaluator.docs.checksum(),
        "valid": None if evaluator.valid is None else evaluator.valid.checksum(),
        "folds": len(evaluator.folds),
        "metric": evaluator.judging.metric,
        "gain": option_record(evaluator.judging.gain),
        "max_label": evaluator.judging.max_label,
        "seed": evaluator.options["seed"],
    }


def _method(options: Mapping[str, Any], space: Mapping[str, Any]) -> str:
    given = options["method"]
    if given is None:
        has_ranges = any(isinstance(values, Between) for values in space.values())
        return "random" if has_ranges or options["trials"] is not None else "grid"
    choice("method", given, ("grid", "random", "optuna"))
    if given == "grid" and options["trials"] is not None:
        message = (
            'trials: got a number for a grid, of which all settings are tried; pass method="random"'
        )
        raise ParamError(message, code="trials")
    return str(given)


def _run(
    evaluator: TrialEvaluator, records: Records, n_jobs: int, space: Mapping[str, Any]
) -> list[Trial]:
    """Try settings in parallel, and return them with their values."""
    options = evaluator.options
    method = _method(options, space)
    wanted = 50 if options["trials"] is None else whole("trials", options["trials"], 1, 100_000)
    done: list[Trial] = []
    batches: Iterable[list[dict[str, Any]]]
    if method == "optuna" and num_settings(space) > wanted:
        batches = _optuna_batches(space, options["seed"], wanted, done)
    elif method == "grid":
        batches = [grid_settings(space)]
    else:
        batches = [different_settings(space, options["seed"], wanted)]
    if isinstance(batches, list):
        wanted = len(batches[0])
    shows = flag("progress", options["progress"])
    best_so_far = _BestSoFar(evaluator.judging.metric)
    with progress_of_steps(wanted, "trial", shows) as step, cancellable_pool(n_jobs) as pool:

        def tried(setting: dict[str, Any]) -> Trial:
            values = records.get(setting)
            if values is None:
                values = evaluator.evaluate(setting)
                records.put(setting, values)
            trial = Trial(setting, evaluator.value(values))
            step(best_so_far(float(trial.value)))
            return trial

        for batch in batches:
            done += pool.map(tried, batch)
    return done


class _BestSoFar:
    """Texts for the progress: the value of the last setting and of the best one so far."""

    def __init__(self, metric: str) -> None:
        self.metric, self.best, self.lock = metric, -math.inf, threading.Lock()

    def __call__(self, value: float) -> str:
        with self.lock:
            self.best = max(self.best, height(value))
            return f"{self.metric} {number(value)}, best {number(self.best)}"


def _optuna_batches(
    space: Mapping[str, Any], seed: int, trials: int, done: list[Trial]
) -> Iterator[list[dict[str, Any]]]:
    """Yield settings that Optuna chooses, some at a time; it is told the values of those that are done."""
    try:
        optuna = importlib.import_module("optuna")
    except ImportError:
        raise ImportError('method="optuna" needs Optuna: pip install "rustrank[tune]"') from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=10)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    #: The value of each setting, by its text.
    values: dict[str, float] = {}
    while len(values) < trials:
        fresh: dict[str, dict[str, Any]] = {}
        asked: list[tuple[Any, str]] = []
        while len(fresh) < min(_BATCH, trials - len(values)) and len(asked) < _ASKED:
            trial = study.ask()
            setting = {name: _suggested(trial, name, among) for name, among in space.items()}
            asked.append((trial, repr(setting)))
            if repr(setting) not in values:
                fresh.setdefault(repr(setting), setting)
        if not fresh:
            return
        yield list(fresh.values())
        for key, one in zip(fresh, done[-len(fresh) :], strict=True):
            values[key] = float(one.value) if math.isfinite(one.value) else 0.0
        for trial, key in asked:
            study.tell(trial, values[key])


def _suggested(trial: Any, name: str, values: Any) -> Any:
    if not isinstance(values, Between):
        # By number: Optuna takes no lists for values.
        return values[trial.suggest_categorical(name, list(range(len(values))))]
    ask = trial.suggest_int if values.is_whole else trial.suggest_float
    return ask(name, values.low, values.high, log=values.log)


def _result(
    trials: list[Trial], evaluator: TrialEvaluator, refit: bool, num_threads: int
) -> Tuning:
    """Return the best setting, and the cross-fitted value of choosing it."""
    first = _best(trials, [float(trial.value) for trial in trials])
    evaluated = evaluator.evaluated
    chosen = np.full(evaluated.num_queries, np.nan)
    for fit, held in evaluated.halves(0):
        own, theirs = np.unique(evaluated.query[fit]), np.unique(evaluated.query[held])
        means = [mean_of(trial.value.per_query[own]) for trial in trials]
        chosen[theirs] = _best(trials, means).value.per_query[theirs]
    return Tuning(
        trials=trials,
        best=first.setting,
        choosing=evaluator.value(chosen),
        ranker=evaluator.fitted(first.setting, n_jobs=num_threads) if refit else None,
        metric=evaluator.judging.metric,
        _drawing=Drawing(num_threads=evaluator.judging.num_threads),
        _stopped_on_judged=any(evaluator.stops_on_judged_queries(one.setting) for one in trials),
    )


def _best(trials: list[Trial], means: list[float]) -> Trial:
    return max(zip(trials, means, strict=True), key=lambda pair: height(pair[1]))[0]


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
