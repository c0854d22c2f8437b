"""Tuning: a search for the options of a ranker that are best on queries it was not fitted to."""

from __future__ import annotations

import importlib
import math
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import ParamError, ParamKindError, RustrankWarning, UnknownNameError, shown
from rustrank.estimators.ranker import Ranker, option_record
from rustrank.formatting import (
    count,
    interval,
    number,
    p_value,
    result_html,
    result_text,
)
from rustrank.inputs.scalars import flag, text, threads, whole
from rustrank.metrics.comparison import Comparison
from rustrank.metrics.evaluation import Drawing, Evaluation, Judging, MetricValue
from rustrank.plotting.results import plot_tuning
from rustrank.progress import progress_of_steps
from rustrank.selection._trials import Records, TrialEvaluator
from rustrank.selection.folds import QueryFolds
from rustrank.selection.search_spaces import Between, as_space, grid_settings, random_settings
from rustrank.training.rounds import IS_CANCELLED, Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from rustrank.model.booster import Booster

__all__ = ["Trial", "Tuning", "tune"]

#: The settings asked of Optuna before it gets the values of any of them. They can run in parallel, and the
#: result does not depend on which ends first.
_BATCH = 4
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


@dataclass(frozen=True, eq=False)
class Tuning:
    """The settings that were tried, with their values, and a ranker with the best one.

    Attributes
    ----------
    trials : list of Trial
        All settings in the order in which they were tried.
    best : dict
        The setting with the highest mean; of several, the first.
    choosing : MetricValue
        The metric of the strategy "take the best setting": each half of the queries with the setting that is
        best on the other half. The mean of the best setting itself is biased upwards by the choice.
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
    _drawing: Drawing = field(repr=False)

    @property
    def value(self) -> MetricValue:
        """The metric of the best setting."""
        return self._first.value

    @property
    def booster(self) -> Booster:
        """The booster of the ranker."""
        if self.ranker is None:
            message = "there is no booster: refit=False"
            raise ParamError(message, code="refit")
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
        return [
            f"best of {count(len(self.trials), 'setting')}: {options}",
            f"taking the best on other queries gives {self.metric} {number(self.choosing)} [{level}]",
        ]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return the best settings, each compared with the best one."""
        names = list(self.best)
        ranked = sorted(self.trials, key=lambda trial: -_height(trial.value))
        head = [*names, self.metric, "95% interval", "below the best", "p"]
        rows = []
        for trial in ranked[:_SHOWN]:
            row = [_shown(trial.setting[name]) for name in names]
            row += [number(trial.value), interval(trial.value.interval)]
            if trial is self._first:
                row += ["", ""]
            else:
                one, other = (
                    Evaluation({self.metric: each.value}) for each in (self._first, trial)
                )
                pair = Comparison.of(one, other, ("best", "other"), self._drawing)
                found = pair[self.metric]
                row += [number(found.difference, "+"), p_value(found.p_randomisation)]
            rows.append(row)
        return head, rows

    def __repr__(self) -> str:
        return result_text(self._table(), self.statements, left=0)

    def _repr_html_(self) -> str:
        return result_html(self._table(), self.statements, left=0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "metric": self.metric,
            "best": self.best,
            "value": float(self.value),
            "choosing": {"mean": float(self.choosing), "interval": list(self.choosing.interval)},
            "trials": [
                {
                    "setting": trial.setting,
                    "mean": float(trial.value),
                    "interval": list(trial.value.interval),
                }
                for trial in self.trials
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


def tune(
    ranker: Any,
    docs: Any,
    space: str | Mapping[str, Any] = "lambdamart",
    *,
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
        uses validation queries of its own, held out of each training set, or ``valid``.
    docs : docs
        As for `rustrank.ensemble`: a `rustrank.datasets.Ranking`, ``(X, y, qid)`` or a mapping.
    space : str or mapping, default "lambdamart"
        A list of values, or a range (`Between`), for each parameter; or the name of one of
        `rustrank.grids`, such as those of the papers.
    method : {"grid", "random", "optuna"}, optional
        All settings; ``trials`` random settings; or ``trials`` settings chosen by Optuna from the values of
        earlier ones. By default ``grid``, or ``random`` where a space has ranges or
        ``trials`` is given.
    trials : int, optional
        The number of settings to try; 50 by default, or all of a grid.
    valid : docs, optional
        The documents to evaluate settings on; by default folds of ``docs``.
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
        Whether to show a progress bar.
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
    >>> docs = rr.datasets.make_web(num_queries=60, docs_per_query=20, seed=0)
    >>> trees = rr.LambdaMART(n_estimators=10, num_leaves=8)
    >>> found = rr.tune(trees, docs, {"learning_rate": [0.001, 0.1], "l2": [1.0]}, folds=3)
    >>> found.best
    {'learning_rate': 0.1, 'l2': 1.0}
    >>> found.booster
    <Booster: 10 trees, 136 features>
    """
    options = dict(locals())
    if isinstance(ranker, type) or not isinstance(ranker, Ranker):
        message = f"ranker: got {shown(ranker)}, expected a ranker such as rr.LambdaMART()"
        raise ParamKindError(message, code="ranker")
    known = [name for name in ranker.get_params() if name not in ("n_jobs", "progress")]
    tried = as_space(space, known, type(ranker).__name__)
    most = threads(num_threads)
    cores = _rustrank.num_threads() if most is None else most
    jobs = cores if n_jobs is None else whole("n_jobs", n_jobs, 1, 1024)
    evaluator = _course(options, max(1, cores // jobs))
    place = None if records is None else Path(records)
    kept = Records(place, _about(options, evaluator, tried))
    runner = _TrialRunner(evaluator, kept, jobs, threading.Event())
    with warnings.catch_warnings():
        # Folds may have features with a single value, which the caller cannot change.
        warnings.simplefilter("ignore", RustrankWarning)
        done = runner.run(_method(options, tried), tried, options)
        return _result(done, evaluator, flag("refit", refit), cores)


def _course(options: Mapping[str, Any], num_threads: int) -> TrialEvaluator:
    """Check the data and the metric."""
    ranker = options["ranker"]
    docs = as_raw_rows(options["docs"], "docs")
    valid = None if options["valid"] is None else as_raw_rows(options["valid"], "valid")
    own = ranker._evaluated_by()
    top = own["max_label"] if options["max_label"] is None else options["max_label"]
    judging = Judging.of(
        own["metrics"] if options["metric"] is None else text("metric", options["metric"]),
        own["gain"] if options["gain"] is None else options["gain"],
        "expected",
        "skip",
        own["relevant_from"],
        float(docs.y.max()) if top is None else top,
        num_threads,
    )
    folds = np.zeros(docs.num_queries, np.intp)
    seed = whole("seed", options["seed"], 0, 2**31)
    if valid is None:
        folds = QueryFolds(options["folds"], random_state=seed).fold_numbers(docs)[0]
    return TrialEvaluator(ranker, docs, valid, folds, judging, num_threads)


def _about(
    options: Mapping[str, Any], evaluator: TrialEvaluator, space: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything that the value of a setting depends on, as plain values."""
    fixed = {
        name: option_record(value)
        for name, value in evaluator.ranker.get_params().items()
        if name not in ("n_jobs", "progress", *space)
    }
    return {
        "ranker": type(evaluator.ranker).__name__,
        "options": fixed,
        "docs": evaluator.docs.checksum(),
        "valid": None if evaluator.valid is None else evaluator.valid.checksum(),
        "folds": 0 if evaluator.valid is not None else int(evaluator.folds.max()) + 1,
        "metric": evaluator.judging.metrics[0],
        "gain": option_record(evaluator.judging.gain),
        "max_label": evaluator.judging.max_label,
        "seed": options["seed"],
    }


def _method(options: Mapping[str, Any], space: Mapping[str, Any]) -> str:
    given = options["method"]
    if given is None:
        has_ranges = any(isinstance(values, Between) for values in space.values())
        return "random" if has_ranges or options["trials"] is not None else "grid"
    if given not in ("grid", "random", "optuna"):
        message = f"method: got {shown(given)}, expected grid, random or optuna"
        raise UnknownNameError(message, code="method")
    if given == "grid" and options["trials"] is not None:
        message = (
            'trials: got a number for a grid, of which all settings are tried; pass method="random"'
        )
        raise ParamError(message, code="trials")
    return str(given)


@dataclass(frozen=True, eq=False)
class _TrialRunner:
    """Runs trials in parallel."""

    evaluator: TrialEvaluator
    records: Records
    n_jobs: int
    cancelled: threading.Event

    def run(self, method: str, space: Mapping[str, Any], options: Mapping[str, Any]) -> list[Trial]:
        """Try settings, and return them with their values."""
        wanted = 50 if options["trials"] is None else whole("trials", options["trials"], 1, 100_000)
        batches: Iterator[list[dict[str, Any]]]
        if method == "optuna":
            study = _Study.of(space, options["seed"])
            batches = study.batches(wanted)
        else:
            study = None
            drawn = random_settings(space, options["seed"])
            grid = (
                grid_settings(space) if method == "grid" else [next(drawn) for _ in range(wanted)]
            )
            wanted, batches = len(grid), iter([grid])
        done: list[Trial] = []
        shows = flag("progress", options["progress"])
        with progress_of_steps(wanted, "trial", shows) as step:
            for batch in batches:
                values = self._try(batch, step)
                done += [
                    Trial(setting, self.evaluator.value(value))
                    for setting, value in zip(batch, values, strict=True)
                ]
                if study is not None:
                    study.tell([float(trial.value) for trial in done[-len(batch) :]])
        return done

    def _try(
        self, batch: list[dict[str, Any]], step: Callable[[], object]
    ) -> list[NDArray[np.float64]]:
        def one(setting: dict[str, Any]) -> NDArray[np.float64]:
            IS_CANCELLED.set(self.cancelled.is_set)
            values = self.records.get(setting)
            if values is None:
                values = self.evaluator.evaluate(setting, self.cancelled.is_set)
                if values is None:
                    raise Cancelled
                self.records.put(setting, values)
            step()
            return values

        if self.n_jobs == 1:
            return [one(setting) for setting in batch]
        with ThreadPoolExecutor(self.n_jobs) as pool:
            try:
                return list(pool.map(one, batch))
            except BaseException:
                # Ctrl-C comes here, too: what runs ends with its round, what waits is dropped.
                self.cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@dataclass(eq=False)
class _Study:
    """What Optuna knows."""

    study: Any
    space: Mapping[str, Any]
    asked: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, space: Mapping[str, Any], seed: int) -> _Study:
        """Begin."""
        try:
            optuna = importlib.import_module("optuna")
        except ImportError:
            message = 'method="optuna" needs Optuna: pip install "rustrank[tune]"'
            raise ImportError(message) from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=10)
        return cls(optuna.create_study(direction="maximize", sampler=sampler), space)

    def batches(self, trials: int) -> Iterator[list[dict[str, Any]]]:
        """Yield settings, so many at a time."""
        for start in range(0, trials, _BATCH):
            self.asked = [self.study.ask() for _ in range(min(_BATCH, trials - start))]
            yield [
                {name: self._suggested(trial, name) for name in self.space} for trial in self.asked
            ]

    def _suggested(self, trial: Any, name: str) -> Any:
        values = self.space[name]
        if not isinstance(values, Between):
            # By number: Optuna takes no lists for values.
            return values[trial.suggest_categorical(name, list(range(len(values))))]
        ask = trial.suggest_int if values.is_whole else trial.suggest_float
        return ask(name, values.low, values.high, log=values.log)

    def tell(self, values: list[float]) -> None:
        """Report the values of the last batch of settings."""
        for trial, value in zip(self.asked, values, strict=True):
            self.study.tell(trial, value if math.isfinite(value) else 0.0)


def _result(
    trials: list[Trial], evaluator: TrialEvaluator, refit: bool, num_threads: int
) -> Tuning:
    """Return the best setting, and the cross-fitted value of choosing it."""
    first = _best(trials, [float(trial.value) for trial in trials])
    evaluated = evaluator.evaluated
    chosen = np.full(evaluated.num_queries, np.nan)
    for fit, held in evaluated.halves(0):
        own, theirs = np.unique(evaluated.query[fit]), np.unique(evaluated.query[held])
        means = [_mean(trial.value.per_query[own]) for trial in trials]
        chosen[theirs] = _best(trials, means).value.per_query[theirs]
    return Tuning(
        trials=trials,
        best=first.setting,
        choosing=evaluator.value(chosen),
        ranker=evaluator.fitted(first.setting, num_threads) if refit else None,
        metric=evaluator.judging.metrics[0],
        _drawing=Drawing.of(10_000, 0, evaluator.judging.num_threads),
    )


def _best(trials: list[Trial], means: list[float]) -> Trial:
    return max(zip(trials, means, strict=True), key=lambda pair: _height(pair[1]))[0]


def _mean(values: NDArray[np.float64]) -> float:
    # Sorted, so that the order of queries does not matter.
    counted = np.sort(values[~np.isnan(values)])
    return float(counted.mean()) if len(counted) else math.nan


def _height(value: float) -> float:
    return -math.inf if math.isnan(value) else float(value)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
