"""XGBoost's ``train`` over `rustrank.train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rustrank.compat.evaluation import Result, Watched, as_results, train_watched
from rustrank.compat.scoring import part_of
from rustrank.compat.wording import in_words_of
from rustrank.compat.xgboost.booster import Booster, as_native
from rustrank.compat.xgboost.callback import EarlyStopping, EvaluationMonitor, TrainingCallback
from rustrank.compat.xgboost.data import DMatrix, as_matrix, check_names
from rustrank.compat.xgboost.parameters import as_params, translate
from rustrank.compat.xgboost.positional import positional_too
from rustrank.errors import wrong_kind
from rustrank.inputs.scalars import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rustrank.compat.parameters import Translation
    from rustrank.compat.xgboost.callback import EvalsLog
    from rustrank.model.booster import Booster as Native
    from rustrank.training.train import Round


@positional_too()
def train(
    params: Any,
    dtrain: DMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[DMatrix, str]] | None = None,
    obj: Any = None,
    maximize: bool | None = None,
    early_stopping_rounds: int | None = None,
    evals_result: dict[str, Any] | None = None,
    verbose_eval: bool | int | None = True,
    xgb_model: Any = None,
    callbacks: Sequence[Any] | None = None,
    custom_metric: Any = None,
) -> Booster:
    """Train a ranker with XGBoost's parameters.

    Parameters
    ----------
    params : dict or pairs
        Parameters by XGBoost's names. A number of rounds among them is not used, with a warning, as there.
    dtrain : DMatrix
        The training set, with labels and queries.
    num_boost_round : int, default 10
        The number of trees.
    evals : list of (DMatrix, str), optional
        Sets that are evaluated after each iteration, with their names.
    obj : None
        Refused: `rustrank.train` takes functions of one query as ``objective``.
    maximize : bool, optional
        Whether larger values of a metric function are better, for early stopping.
    early_stopping_rounds : int, optional
        End training when the last metric of the last set has not improved for so many iterations.
    evals_result : dict, optional
        Gets the metrics: ``evals_result["name"]["ndcg@5"]`` is a list.
    verbose_eval : bool or int, default True
        Whether to print the metrics, or how often.
    xgb_model : Booster, XGBRanker or path, optional
        The model to go on from, which becomes a part of the result.
    callbacks : list of TrainingCallback, optional
        Call-backs.
    custom_metric : function, optional
        ``(scores, matrix) -> (name, value)``. Each set is scored anew by all trees in every iteration.
    """
    if obj is not None:
        hint = "a function of one query is a loss in rustrank: rr.train(objective=function)"
        raise wrong_kind("obj", obj, f"None: {hint}")
    made = translate(as_params(params))
    listed = _checked(callbacks)
    if verbose_eval and evals:
        listed.append(EvaluationMonitor(period=1 if verbose_eval is True else int(verbose_eval)))
    if early_stopping_rounds is not None:
        listed.append(EarlyStopping(rounds=early_stopping_rounds, maximize=maximize))
    with in_words_of(made.names):
        start = num_boost_round, xgb_model
        job = _Training(as_params(params), made, as_matrix("dtrain", dtrain), *start)
        booster = job.run(_named(evals), custom_metric, listed)
    if evals_result is not None:
        evals_result.update(job.log)
    return booster


def _checked(callbacks: Any) -> list[Any]:
    listed = list(callbacks or ())
    for one in listed:
        if not isinstance(one, TrainingCallback):
            raise wrong_kind("callbacks", one, "a TrainingCallback of rustrank.compat.xgboost")
    return listed


def _named(evals: Any) -> dict[str, DMatrix]:
    named: dict[str, DMatrix] = {}
    for one in evals or ():
        if not isinstance(one, (tuple, list)) or len(one) != 2 or not isinstance(one[1], str):
            raise wrong_kind("evals", one, "pairs of a DMatrix and a name")
        if one[1] in named:
            raise wrong_kind("evals", one[1], "a name of its own for each set")
        named[one[1]] = as_matrix("evals", one[0])
    return named


class _Training:
    """A training, with call-backs around its rounds."""

    def __init__(
        self,
        params: dict[str, Any],
        made: Translation,
        dtrain: DMatrix,
        num_boost_round: int,
        xgb_model: Any,
    ) -> None:
        made.train["num_trees"] = whole("num_boost_round", num_boost_round, 1)
        if dtrain.missing == dtrain.missing:
            made.dataset["missing"] = dtrain.missing
        self.base: Native | None = as_native("xgb_model", xgb_model)
        self.begin = 0 if self.base is None else self.base.num_rounds
        self.end = self.begin + made.train["num_trees"]
        self.feature_names = dtrain.feature_names
        dtrain.check_weight()
        if dtrain.rows.pairs_of_doc != made.other["pairs_of_doc"]:
            dtrain.rows.pairs_of_doc = made.other["pairs_of_doc"]
            dtrain.rows.changed()
        self.binned = dtrain.rows.for_training(
            self.base, made.dataset, is_quiet=made.other["is_quiet"]
        )
        self.params, self.made, self.log = params, made, dict[str, dict[str, list[float]]]()

    def run(self, evals: dict[str, DMatrix], custom: Any, callbacks: list[Any]) -> Booster:
        """Train to the end, or until a call-back ends it."""
        functions = [*self.made.other["functions"], *([] if custom is None else [custom])]
        watched = []
        for name, one in evals.items():
            one.check_weight()
            if one.feature_names is None:
                check_names(self.feature_names, None)
            binned = one.rows.for_metrics(
                self.binned, {**self.made.dataset, "missing": one.missing}
            )
            customs = [_custom(function, one) for function in functions]
            watched.append(Watched(name, one.rows, binned, self.made.other["gain"], customs))
        begin = _Latest(None, self.params)
        for one in callbacks:
            one.before_training(begin)
            one.before_iteration(begin, self.begin, self.log)

        def finish(latest: Round, results: list[Result]) -> bool:
            _record(self.log, results)
            model, epoch = _Latest(latest, self.params), latest.number - 1
            # As there: what follows a call-back that ends training is not called.
            stops = any(one.after_iteration(model, epoch, self.log) for one in callbacks)
            if latest.number < self.end and not stops:
                stops = any(one.before_iteration(model, epoch + 1, self.log) for one in callbacks)
            return stops

        metrics = self.made.other["metrics"]
        native = train_watched(self.binned, self.made.train, watched, metrics, finish)
        return self._booster(native, callbacks)

    def _booster(self, native: Native, callbacks: list[Any]) -> Booster:
        booster = Booster.of(native, self.params)
        booster._metrics, booster._gain = self.made.other["metrics"], self.made.other["gain"]
        booster._begin = self.begin
        for one in callbacks:
            one.after_training(booster)
            if isinstance(one, EarlyStopping) and one.best is not None:
                booster.best_score, booster.best_iteration = one.best
                if one.save_best:
                    booster._native = part_of(native, one.best[1] + 1)
        return booster


def _record(log: EvalsLog, results: list[Result]) -> None:
    for name, metric, value, _ in results:
        log.setdefault(name, {}).setdefault(metric, []).append(value)


class _Latest:
    """The model of a call-back: a `Booster` that is made when it is asked for something."""

    def __init__(self, latest: Round | None, params: dict[str, Any]) -> None:
        self._latest, self._params = latest, params

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self._latest is None:
            raise AttributeError(name)
        return getattr(Booster.of(self._latest.booster, self._params), name)


def _custom(function: Callable[..., Any], matrix: DMatrix) -> Callable[..., Any]:
    if not callable(function):
        raise wrong_kind("custom_metric", function, "a function (scores, matrix) -> (name, value)")

    def evaluate(scores: Any, _: Any) -> list[tuple[str, float, bool]]:
        return as_results(function(scores, matrix), "custom_metric")

    return evaluate
