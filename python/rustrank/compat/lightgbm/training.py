"""LightGBM's ``train`` and ``cv`` over `rustrank.train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rustrank.compat.evaluation import Metric, Result, Watched, as_results, train_watched
from rustrank.compat.left_out import absent
from rustrank.compat.lightgbm.booster import Booster, as_native, best_scores
from rustrank.compat.lightgbm.callback import (
    CallbackEnv,
    EarlyStopException,
    EvalResult,
    early_stopping,
    in_order,
)
from rustrank.compat.lightgbm.categories import CODE, warn_of_numbers
from rustrank.compat.lightgbm.dataset import Dataset, as_lightgbm_dataset
from rustrank.compat.lightgbm.parameters import ALIASES, metrics_of, translate
from rustrank.compat.scoring import part_of
from rustrank.compat.wording import in_words_of
from rustrank.errors import dropped_warnings, wrong_kind
from rustrank.inputs.scalars import whole
from rustrank.selection.cross_validation import rows_of
from rustrank.selection.folds import QueryFolds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.compat.parameters import Translation
    from rustrank.compat.rows import BinnedRows
    from rustrank.model.booster import Booster as Native
    from rustrank.training.train import Round


def train(
    params: Mapping[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    valid_sets: Any = None,
    valid_names: Any = None,
    feval: Any = None,
    init_model: Any = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[Any] | None = None,
) -> Booster:
    """Train a ranker with LightGBM's parameters.

    Parameters
    ----------
    params : dict
        Parameters by any of LightGBM's names.
    train_set : Dataset
        The training set, with labels and queries.
    num_boost_round : int, default 100
        The number of trees, if ``params`` does not say.
    valid_sets : list of Dataset, optional
        Sets that are evaluated after each iteration; the training set may be one.
    valid_names : list of str, optional
        Their names, by default ``valid_0`` and so on, and ``training``.
    feval : function or list of functions, optional
        ``(scores, dataset) -> (name, value, is_higher_better)``. Each set is scored anew by all
        trees in every iteration.
    init_model : Booster, LGBMRanker or path, optional
        The model to go on from, which becomes a part of the result.
    keep_training_booster : bool, default False
        Whether the booster keeps the trees after the best iteration.
    callbacks : list of functions, optional
        `early_stopping`, `log_evaluation`, `record_evaluation`, or functions of a ``CallbackEnv``.
    """
    as_lightgbm_dataset("train_set", train_set)
    made = translate({**train_set.params, **(params or {})})
    rounds = made.other["num_boost_round"] or num_boost_round
    made.train["num_trees"] = whole("num_boost_round", rounds, 1)
    is_listed = callbacks is None or isinstance(callbacks, (list, tuple, set))
    listed: Any = list(callbacks or ()) if is_listed else callbacks
    patience = made.other["early_stopping_round"]
    if patience > 0 and isinstance(listed, list):
        is_verbose, min_delta = made.other["is_verbose"], made.other["early_stopping_min_delta"]
        how = made.other["first_metric_only"], is_verbose, min_delta
        listed.append(early_stopping(patience, *how))
    sets = _sets(train_set, valid_sets, valid_names, made.other["training_metric"])
    with in_words_of(made.names):
        job = _Training(train_set, made, as_native("init_model", init_model), dict(params or {}))
        booster = job.run(sets, feval, in_order(listed))
    if booster.best_iteration and not keep_training_booster:
        booster.native = part_of(booster.native, booster.best_iteration)
        # What was evaluated last is of trees that are left out.
        booster._last = []
    return booster


def _sets(
    train_set: Dataset, valid_sets: Any, valid_names: Any, has_training: bool
) -> dict[str, Dataset]:
    """Return the sets to evaluate by name, the training set first."""
    given = [] if valid_sets is None else valid_sets
    listed = [given] if isinstance(given, Dataset) else list(given)
    names = [valid_names] if isinstance(valid_names, str) else list(valid_names or ())
    if names and len(names) != len(listed):
        raise wrong_kind("valid_names", valid_names, f"{len(listed)} names, one a set")
    sets: dict[str, Dataset] = {}
    for at, one in enumerate(listed):
        as_lightgbm_dataset("valid_sets", one)
        name = names[at] if names else "training" if one is train_set else f"valid_{at}"
        if name in sets:
            raise wrong_kind("valid_names", valid_names, "a name of its own for each set")
        sets[name] = one
    if has_training and not any(one is train_set for one in listed):
        sets["training"] = train_set
    return dict(sorted(sets.items(), key=lambda one: one[1] is not train_set))


class _Training:
    """A training, with call-backs around its rounds."""

    def __init__(
        self, train_set: Dataset, made: Translation, base: Native | None, params: dict[str, Any]
    ) -> None:
        rows = train_set.rows
        _settle_categories(train_set, made)
        self.train_set, self.made, self.params = train_set, made, params
        self.begin = 0 if base is None else base.num_rounds
        self.end = self.begin + made.train["num_trees"]
        _leave_out_unlisted(made.train, rows.num_columns)
        self.binned: BinnedRows = rows.for_training(
            base, made.dataset, is_quiet=made.other["is_quiet"]
        )
        self.stop: EarlyStopException | None = None
        self.results: list[Result] = []

    def run(
        self, sets: Mapping[str, Dataset], feval: Any, callbacks: tuple[list[Any], list[Any]]
    ) -> Booster:
        """Train to the end, or until a call-back ends it."""
        watched = self._watched(sets, _functions(feval))
        train_name = next((name for name, one in sets.items() if one is self.train_set), "training")
        before, after = callbacks

        def finish(latest: Round, results: list[Result]) -> bool:
            self.results = results
            model = _Latest(latest, train_name, self.params)
            self._call(after, latest.number - 1, model)
            if self.stop is None and latest.number < self.end:
                self._call(before, latest.number, model)
            return self.stop is not None

        self._call(before, self.begin, None)
        metrics: list[Metric] = self.made.other["metrics"]
        native = train_watched(self.binned, self.made.train, watched, metrics, finish)
        if self.stop is None and native.num_rounds < self.end:
            ends = [one.end for one in after if hasattr(one, "end")]
            self._call(ends, native.num_rounds - 1, self._booster(native, train_name))
        return self._booster(native, train_name)

    def _watched(self, sets: Mapping[str, Dataset], functions: list[Any]) -> list[Watched]:
        gain, options = self.made.other["gain"], self.made.dataset
        watched = []
        for name, one in sets.items():
            binned = one.rows.for_metrics(self.binned, options)
            customs = [_custom(function, one) for function in functions]
            watched.append(Watched(name, one.rows, binned, gain, customs))
        return watched

    def _call(self, callbacks: list[Any], iteration: int, model: Any) -> None:
        """Call call-backs, of which one may end training."""
        every = [EvalResult(*one) for one in self.results]
        try:
            for one in callbacks:
                one(CallbackEnv(model, self.params, iteration, self.begin, self.end, every))
        except EarlyStopException as stop:
            self.stop = stop

    def _booster(self, native: Native, train_name: str) -> Booster:
        booster = Booster.of(native, self.params)
        booster.train_set, booster._train_name = self.train_set, train_name
        booster._begin = self.begin
        booster._last = [EvalResult(*one) for one in self.results]
        best = booster._last
        if self.stop is not None:
            booster.best_iteration = self.stop.best_iteration + 1
            best = self.stop.best_score or best
        booster.best_score = best_scores(best)
        return booster


class _Latest(Booster):
    """The model of a call-back: a `Booster` that is made when it is asked for something."""

    def __init__(self, latest: Round, train_name: str, params: dict[str, Any]) -> None:
        self._latest, self._train_name, self.params = latest, train_name, params

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_latest" not in vars(self):
            return super().__getattr__(name)
        # The first attribute that is not there yet: `native`, most often.
        train_name, latest = self._train_name, vars(self).pop("_latest")
        self._set(latest.booster, self.params)
        self._train_name = train_name
        return getattr(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Booster.of(self.native, self.params).__reduce__()


def _settle_categories(train_set: Dataset, made: Translation) -> None:
    """Take the categories that parameters name, and warn of those that LightGBM takes as numbers."""
    if (categorical := made.other["categorical_feature"]) not in (None, "", "auto"):
        train_set.set_categorical_feature(categorical)
    warn_of_numbers(train_set)


def _functions(feval: Any) -> list[Callable[..., Any]]:
    listed = [] if feval is None else list(feval) if isinstance(feval, (list, tuple)) else [feval]
    for one in listed:
        if not callable(one):
            raise wrong_kind(
                "feval", one, "a function (scores, dataset) -> (name, value, is_higher_better)"
            )
    return listed


def _custom(function: Callable[..., Any], dataset: Dataset) -> Callable[..., Any]:
    def evaluate(scores: NDArray[Any], _: Any) -> list[tuple[str, float, bool]]:
        return as_results(function(scores, dataset), "feval", says_direction=True)

    return evaluate


def _leave_out_unlisted(options: dict[str, Any], num_features: int) -> None:
    """Leave features out of the model that are in no list of ``interaction_constraints``."""
    if not options.get("interactions"):
        options.pop("interactions", None)
        return
    listed = {one for group in options["interactions"] for one in group}
    weights = list(options.get("feature_weight", [1.0] * num_features))
    if len(listed) < num_features:
        options["feature_weight"] = [
            weight if at in listed else 0.0 for at, weight in enumerate(weights)
        ]


_OF_EACH = "booster.save_model of each of cvbooster.boosters"
_LEFT_OUT_OF_CV = dict.fromkeys(("model_from_string", "model_to_string", "save_model"), _OF_EACH)


class CVBooster:
    """The boosters of the folds of `cv`.

    It has the methods of `Booster`, which return a list with the result of each.

    Attributes
    ----------
    boosters : list of Booster
        The boosters.
    best_iteration : int
        The best iteration, from 1, with early stopping; else 0.
    """

    #: The name of the training sets in results.
    _train_name = "train"

    def __init__(self, boosters: Sequence[Booster], best_iteration: int) -> None:
        self.boosters, self.best_iteration = list(boosters), best_iteration

    def predict(self, data: Any, *args: Any, **kwargs: Any) -> list[NDArray[np.float64]]:
        """Return the scores of rows by each booster, as `Booster.predict` does."""
        return [one.predict(data, *args, **kwargs) for one in self.boosters]

    def __getattr__(self, name: str) -> Any:
        """Return a method of all boosters."""
        if name.startswith("_") or name in (*_LEFT_OUT_OF_CV, "boosters"):
            raise absent("CVBooster", name, _LEFT_OUT_OF_CV, dir(type(self)))
        methods = [getattr(one, name) for one in self.boosters]

        def of_each(*args: Any, **kwargs: Any) -> list[Any]:
            return [method(*args, **kwargs) for method in methods]

        return of_each


class _Replayed(NamedTuple):
    """The values of all folds, round by round."""

    rounds: list[list[EvalResult]]
    boosters: list[Booster]


def cv(
    params: Mapping[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = True,  # noqa: ARG001 - folds are of whole queries
    shuffle: bool = True,  # noqa: ARG001 - see `seed`
    metrics: Any = None,
    feval: Any = None,
    init_model: Any = None,
    fpreproc: Any = None,
    seed: int = 0,
    callbacks: Sequence[Any] | None = None,
    eval_train_metric: bool = False,
    return_cvbooster: bool = False,
) -> dict[str, Any]:
    """Cross-validate over folds of whole queries: means and deviations, iteration by iteration.

    Parameters
    ----------
    params, train_set, num_boost_round, feval, init_model, callbacks
        As for `train`. All folds are trained to the end; early stopping then cuts the result.
    folds : iterable of (train rows, test rows), or splitter, optional
        The folds, of whole queries; by default ``nfold`` random ones.
    nfold : int, default 5
        The number of folds.
    stratified, shuffle : bool
        Accepted: folds are of whole queries, and random.
    metrics : str or list of str, optional
        Instead of the ``metric`` in ``params``.
    fpreproc : None
        Refused.
    seed : int, default 0
        The seed of the folds.
    eval_train_metric : bool, default False
        Whether to evaluate the training sets, too.
    return_cvbooster : bool, default False
        Whether the result has the boosters: ``result["cvbooster"]``.

    Returns
    -------
    dict
        Lists such as ``valid ndcg@1-mean`` and ``valid ndcg@1-stdv``.
    """
    as_lightgbm_dataset("train_set", train_set)
    if fpreproc is not None:
        raise wrong_kind("fpreproc", fpreproc, "None: make the folds' arrays, and call train")
    given = {**train_set.params, **(params or {})}
    if metrics is not None:
        metrics_of(metrics, None)
        given = {name: value for name, value in given.items() if name not in ("metric", "metrics")}
        given["metric"] = metrics
    before, after = in_order(callbacks)
    if before:
        raise wrong_kind("callbacks", before[0], "functions that are called after an iteration")
    how = {"num_boost_round": num_boost_round, "feval": feval, "init_model": init_model}
    parts = _fold_parts(train_set, folds, nfold, seed)
    _settle_categories(train_set, translate(given))
    with dropped_warnings(CODE):
        replayed = _folds_trained(given, parts, eval_train_metric, how)
    return _replay(replayed, given, after, return_cvbooster)


def _fold_parts(
    train_set: Dataset, folds: Any, nfold: int, seed: int
) -> Iterator[tuple[Dataset, Dataset]]:
    rows = train_set.rows
    codes = rows.codes()
    if folds is None:
        splitter = QueryFolds(whole("nfold", nfold, 2), random_state=seed)
        pairs: Iterable[Any] = splitter.split(rows.X, rows.labels, codes)
    elif hasattr(folds, "split"):
        pairs = folds.split(np.empty((len(codes), 1)), rows.labels, codes)
    else:
        pairs = folds
    for learned, held in pairs:
        yield _some(train_set, np.asarray(learned)), _some(train_set, np.asarray(held))


def _some(dataset: Dataset, rows: NDArray[Any]) -> Dataset:
    fields = dataset.rows.taken(rows)
    made = Dataset(rows_of(dataset.rows.X, fields.pop("rows")), params=dataset.params)
    vars(made.rows).update(fields)
    made.rows.feature_names = dataset.rows.feature_names
    made.rows.categorical = dataset.rows.categorical
    return made


def _folds_trained(
    params: dict[str, Any],
    parts: Iterator[tuple[Dataset, Dataset]],
    eval_train_metric: bool,
    how: dict[str, Any],
) -> _Replayed:
    params = {
        name: value
        for name, value in params.items()
        if not ALIASES.get(name, name).startswith("early_stopping")
    }
    histories: list[list[list[EvalResult]]] = []
    boosters = []
    for learned, held in parts:
        history: list[list[EvalResult]] = []
        watch = [learned, held] if eval_train_metric else [held]
        boosters.append(
            train(
                params,
                learned,
                valid_sets=watch,
                valid_names=["train", "valid"][-len(watch) :],
                callbacks=[lambda env, to=history: to.append(env.evaluation_result_list)],
                **how,
            )
        )
        histories.append(history)
    rounds = []
    for at in range(min(map(len, histories))):
        every = zip(*(history[at] for history in histories), strict=True)
        rounds.append([_mean(list(one)) for one in every])
    return _Replayed(rounds, boosters)


def _mean(folds: list[EvalResult]) -> EvalResult:
    name, metric, _, is_higher = folds[0]
    values = [one.metric_value for one in folds]
    return EvalResult(name, metric, float(np.mean(values)), is_higher, float(np.std(values)))


def _replay(
    replayed: _Replayed, params: dict[str, Any], after: list[Any], return_cvbooster: bool
) -> dict[str, Any]:
    """Give the means to the call-backs, which may end the replay."""
    made = translate(params)
    if (patience := made.other["early_stopping_round"]) > 0:
        is_verbose, min_delta = made.other["is_verbose"], made.other["early_stopping_min_delta"]
        how = made.other["first_metric_only"], is_verbose, min_delta
        after = [*after, early_stopping(patience, *how)]
    rounds, best = replayed.rounds, 0
    model = CVBooster(replayed.boosters, 0)
    try:
        for at, results in enumerate(rounds):
            for one in after:
                one(CallbackEnv(model, params, at, 0, len(rounds), results))
    except EarlyStopException as stop:
        best = stop.best_iteration + 1
        rounds = rounds[:best]
    found: dict[str, Any] = {}
    for results in rounds:
        for name, metric, mean, _, deviation in results:
            found.setdefault(f"{name} {metric}-mean", []).append(mean)
            found.setdefault(f"{name} {metric}-stdv", []).append(deviation)
    if return_cvbooster:
        model.best_iteration = best
        for booster in model.boosters:
            booster.best_iteration = best
        found["cvbooster"] = model
    return found
