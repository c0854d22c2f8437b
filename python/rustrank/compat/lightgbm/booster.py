"""LightGBM's ``Booster`` over a booster of rustrank."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.finite import with_infinite_clipped
from rustrank.compat.left_out import absent
from rustrank.compat.lightgbm.dataset import Dataset
from rustrank.compat.lightgbm.model_text import ModelText, is_model_text, text_of_file
from rustrank.compat.lightgbm.objectives import objective_of, predicted
from rustrank.compat.scoring import part_of, scores_of_rounds
from rustrank.compat.wording import in_words_of
from rustrank.data.dataset_building import with_ranks, wrong_base
from rustrank.errors import ModelFormatError, ParamError, warn_caller, wrong_kind, wrong_value
from rustrank.inputs.files import replace_file
from rustrank.model.booster import Booster as Native

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

_LEFT_OUT = {
    "add_valid": "pass validation sets to train: valid_sets=",
    "dump_model": "booster.native.dump() has the trees as dictionaries",
    "eval": "rr.evaluate(booster.predict(X), y, group=group)",
    "eval_train": "train with the training set among valid_sets",
    "get_leaf_output": "booster.native.dump() has the trees as dictionaries",
    "get_split_value_histogram": "booster.native.dump() has the thresholds of all splits",
    "refit": "booster.native.refit(rr.Dataset(X, y, group=group, like=booster.native)) for models that "
    "rustrank trained in this process or read from its own files; from a file of LightGBM, train(init_model=) "
    "trains on, and lightgbm itself refits",
    "reset_parameter": "parameters are those of the whole training; go on with init_model=",
    "rollback_one_iter": "booster.native.truncate(number)",
    "set_leaf_output": "boosters are immutable",
    "shuffle_models": "boosters are immutable",
    "trees_to_dataframe": "booster.native.dump() has the trees as dictionaries",
    "update": "train does all rounds; go on with train(init_model=)",
}


class Booster:
    """A trained model with LightGBM's methods.

    Parameters
    ----------
    params : dict, optional
        Kept, and not used: a booster is trained by `train`. A file with parameters has its own.
    train_set : None
        Refused: `train` makes boosters.
    model_file : path-like, optional
        A model file of LightGBM or of rustrank. `predict` transforms scores as the objective of the file
        says; models of several classes are refused.
    model_str : str, optional
        The text of such a file.

    Attributes
    ----------
    native : rustrank.Booster
        The model, with all its rounds.
    params : dict
        The parameters of `train`, or those that the model file of LightGBM has.
    best_iteration : int
        With early stopping, the number of the best iteration, from 1; else 0.
    best_score : dict
        The metrics of the best or of the last iteration, by set.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        train_set: Any = None,
        model_file: str | PathLike[str] | None = None,
        model_str: str | None = None,
    ) -> None:
        if train_set is not None:
            raise wrong_kind("train_set", train_set, "None: call train(params, train_set)")
        if (model_file is None) == (model_str is None):
            raise ParamError("a Booster needs one of model_file= and model_str=", code="model")
        text: str | None = str(model_str)
        if model_file is not None:
            path = fspath(model_file)
            native = _read(lambda: Native.load(path))
            text = text_of_file(path)
        else:
            native = _read(lambda: Native.from_text(str(model_str)))
        self._set(native, dict(params or {}), text)
        if self._text is not None and (written := self._text.params):
            if params:
                warn_caller("params: ignored, the model file has the parameters of its training")
            self.params = written

    def _set(self, native: Native, params: dict[str, Any], text: str | None = None) -> None:
        self.native, self.params = native, params
        #: The file of LightGBM that the model was read from, as it was.
        is_theirs = text is not None and is_model_text(text)
        self._text: ModelText | None = ModelText.of(str(text)) if is_theirs else None
        #: The last part of the file that was asked for: which trees, and the model of their sum.
        self._summed: tuple[tuple[int, int], Native] | None = None
        self.best_iteration = 0
        self.best_score: Any = defaultdict(OrderedDict)
        self.train_set: Any = None
        self._train_name = "training"
        #: The rounds of the model that training went on from.
        self._begin = 0
        self._last: list[Any] = []
        self.pandas_categorical: Any = None

    @classmethod
    def of(cls, native: Native, params: dict[str, Any]) -> Self:
        """Return a booster of rustrank with LightGBM's methods."""
        made = cls.__new__(cls)
        made._set(native, params)
        return made

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of a method that was left out."""
        raise absent("Booster", name, _LEFT_OUT, dir(type(self)))

    def predict(
        self,
        data: Any,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        raw_score: bool = False,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        data_has_header: bool = False,
        validate_features: bool = False,  # noqa: ARG002 - names are always checked
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Return the scores of rows, by default of the best iteration if there was early stopping.

        Of a model file whose objective is no ranking loss they are what LightGBM predicts, such as
        probabilities. Of a random forest they are the mean over the iterations that count.

        Parameters
        ----------
        data : array-like of shape (num_rows, num_features)
            Features; not a `Dataset`. Infinite values count as the largest finite ones.
        start_iteration : int, default 0
            The first iteration whose tree counts.
        num_iteration : int, optional
            How many iterations count; 0 and less for all.
        raw_score : bool, default False
            Whether not to transform scores as the objective says; those of a random forest are then the sum
            over its trees. It changes nothing for rankers.
        pred_leaf : bool, default False
            Refused: leaves have no numbers.
        pred_contrib : bool, default False
            Return the contributions of features, and in the last column the expected score.
        data_has_header, validate_features, **kwargs
            ``num_threads`` counts; other parameters of prediction are refused.
        """
        if isinstance(data, (Dataset, str, bytes, PathLike)) or data_has_header:
            raise wrong_kind("data", data, "raw features in memory, not a Dataset or a file")
        if pred_leaf:
            hint = "booster.native.dump() has the trees as dictionaries"
            raise wrong_value("pred_leaf", pred_leaf, f"False: leaves have no numbers; {hint}")
        threads = kwargs.pop("num_threads", kwargs.pop("n_jobs", None))
        for name, value in kwargs.items():
            if value and name not in ("verbosity", "verbose"):
                raise wrong_value(name, value, "no such parameter in predict")
        start, end = self._range(start_iteration, num_iteration)
        given = threads if threads is not None and threads > 0 else None

        def scored(X: Any) -> NDArray[np.float64]:
            native, first, last = self._scorer(start, end)
            return scores_of_rounds(native, X, first, last, given, contributions=pred_contrib)

        with in_words_of():
            found = with_infinite_clipped(scored, data)
        if pred_contrib or raw_score:
            return found
        if self._text is not None and self._text.is_average:
            found = found / max(1, end - start)
        return predicted(objective_of(self.native), found)

    def _range(self, start: int, number: int | None) -> tuple[int, int]:
        if number is None:
            number = self.best_iteration if start <= 0 else 0
        rounds = self.native.num_rounds
        start = min(max(0, int(start)), rounds)
        return start, min(rounds, start + int(number)) if number > 0 else rounds

    def _scorer(self, start: int, end: int) -> tuple[Native, int, int]:
        """Return a model and its rounds, whose sum is the raw score of some iterations."""
        if self._text is None or not (start > 0 or self._text.is_average):
            return self.native, start, end
        if self._summed is None or self._summed[0] != (start, end):
            text = str(self._text.as_sum().part(start, end))
            self._summed = (start, end), Native.from_text(text)
        return self._summed[1], 0, end - start

    def save_model(
        self,
        filename: str | Path,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Self:
        """Write the model as LightGBM's text, which LightGBM reads, too.

        A model that was read from a file of LightGBM is written as it was read, but for the importance of
        features, which is ``split`` or ``gain`` as here asked for.
        """
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        replace_file(Path(filename), text)
        return self

    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Return the model as LightGBM's text, with its objective.

        By default as many iterations from ``start_iteration`` on as the best one counts, if there was early
        stopping. The importance of features is, as there, that of as many of the first iterations, in whole
        numbers.
        """
        _check_importance(importance_type)
        # As in LightGBM: where `predict` takes all from a start on, files have as many as the best iteration.
        number = self.best_iteration if num_iteration is None else num_iteration
        start, end = self._range(start_iteration, number)
        if self._text is not None:
            counted = self._text.with_importance(importance_type, number)
            return str(counted.part(start, end))
        with in_words_of():
            exported = part_of(self.native, end).export("lightgbm").decode()
        text = ModelText.of(exported).with_objective(objective_of(self.native))
        if start > 0 and len(text.trees) != end:
            expected = "0: this model has parts that belong to no iteration"
            raise wrong_value("start_iteration", start, expected)
        text = text.with_importance(importance_type, number if start > 0 else 0)
        return str(text.part(start, len(text.trees)))

    def model_from_string(self, model_str: str) -> Self:
        """Read a model from text into this booster."""
        self._set(_read(lambda: Native.from_text(model_str)), self.params, model_str)
        return self

    def feature_importance(
        self, importance_type: str = "split", iteration: int | None = None
    ) -> NDArray[Any]:
        """Return the number of splits on each feature (``split``), or LightGBM's gain of them (``gain``).

        A gain is twice what the split takes off the loss: LightGBM leaves out a factor 1/2.
        """
        _check_importance(importance_type)
        native = part_of(self.native, self._range(0, iteration)[1])
        if importance_type == "gain":
            return 2.0 * native.feature_importance("reduction")
        return native.feature_importance("count").astype(np.int32)

    def feature_name(self) -> list[str]:
        """Return the names of features; ``Column_0`` and so on where there were none."""
        if self.native._names:
            return self.native._names
        names = [f"Column_{at}" for at in range(self.num_feature())]
        return with_ranks(names) if self.native.query_ranks else names

    def num_feature(self) -> int:
        """Return the number of features."""
        return self.native.num_raw_features

    def num_trees(self) -> int:
        """Return the number of trees, those after the best iteration included."""
        return self.native.num_trees

    def num_model_per_iteration(self) -> int:
        """Return 1: rankers have one tree in an iteration."""
        return 1

    def current_iteration(self) -> int:
        """Return the number of iterations."""
        return self.native.num_rounds

    def eval_valid(self, feval: Any = None) -> list[Any]:
        """Return the metrics of validation sets after the last iteration, as tuples.

        Call it on a booster that was trained in this process.
        """
        if feval is not None:
            raise wrong_kind("feval", feval, "None: pass feval= to train")
        return [one for one in self._last if one[0] != self._train_name]

    def free_dataset(self) -> Self:
        """Return the booster: it keeps no data."""
        return self

    def set_train_data_name(self, name: str) -> Self:
        """Set the name of the training set in results."""
        self._train_name = name
        return self

    def __copy__(self) -> Booster:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Booster:
        made = type(self).of(self.native, dict(self.params))
        made._text = self._text
        made.best_iteration, made.best_score = self.best_iteration, self.best_score
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name != "train_set"}
        return _restored, (state,)


def _check_importance(kind: str) -> None:
    if kind not in ("split", "gain"):
        raise wrong_value("importance_type", kind, "'split' or 'gain'")


def _read(read: Callable[[], Native]) -> Native:
    """Read a model; the error of one with several classes says what it is."""
    try:
        return read()
    except ModelFormatError as error:
        if error.code == "lightgbm.classes":
            what = "its objective is multiclass or multiclassova, with a score for each class"
            error.args = (f"{error}: {what}; rustrank reads models with one score for each row",)
        raise


def _restored(state: dict[str, Any]) -> Booster:
    made = Booster.of(state["native"], state["params"])
    vars(made).update(state)  # The training set is None.
    return made


def as_native(name: str, value: Any) -> Native | None:
    """Return the model that training goes on from: a booster, a ranker that has one, or a file."""
    value = getattr(value, "booster_", value)
    if isinstance(value, Booster):
        return value.native
    if value is None or isinstance(value, Native):
        return value
    if isinstance(value, (str, PathLike)):
        return Native.load(fspath(value))
    expected = "a Booster, a ranker or the path of a model file"
    raise wrong_base(name, value, expected, takes_paths=True)


def best_scores(results: Sequence[Any]) -> Any:
    """Return values by set and metric."""
    found: Any = defaultdict(OrderedDict)
    for name, metric, value, *_ in results:
        found[name][metric] = value
    return found
