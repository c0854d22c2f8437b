"""XGBoost's ``Booster`` over a booster of rustrank."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.compat.evaluation import measured
from rustrank.compat.left_out import absent
from rustrank.compat.scoring import part_of, scores_of_rounds
from rustrank.compat.wording import in_words_of
from rustrank.compat.xgboost.data import DMatrix, as_matrix, check_names
from rustrank.compat.xgboost.objectives import is_transformed, predicted
from rustrank.compat.xgboost.parameters import IMPORTANCE_TYPES, as_params, measures_of
from rustrank.compat.xgboost.positional import positional_too
from rustrank.data.dataset_building import wrong_base
from rustrank.errors import DataError, ParamError, dropped_warnings, wrong_kind, wrong_value
from rustrank.estimators.fitting import names_of
from rustrank.inputs.attributes import WHOLE, positive_of, read_attribute
from rustrank.inputs.files import replace_file
from rustrank.model.best_iteration import LATER_ROUNDS
from rustrank.model.booster import Booster as Native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank.compat.evaluation import Metric
    from rustrank.compat.rows import LazyRows

_LEFT_OUT = {
    "boost": "train does all rounds; go on with train(xgb_model=)",
    "dump_model": "booster.native.dump() has the trees as dictionaries",
    "get_dump": "booster.native.dump() has the trees as dictionaries",
    "get_split_value_histogram": "booster.native.dump() has the thresholds of all splits",
    "load_config": "a model has no configuration of training",
    "save_config": "booster.native.params has the parameters of training",
    "save_raw": "booster.native.export('xgboost') has the bytes of a JSON file",
    "set_param": "parameters are those of the whole training; go on with xgb_model=",
    "trees_to_dataframe": "booster.native.dump() has the trees as dictionaries",
    "update": "train does all rounds; go on with train(xgb_model=)",
}


class Booster:
    """A trained model with XGBoost's methods.

    Parameters
    ----------
    params : dict, optional
        Those of metrics (``eval_metric``, ``objective``, ``ndcg_exp_gain``, and the pairs that the default cut follows)
        come before those of the model that is read. Others are kept, and not used: a booster is trained by `train`.
    cache : sequence of DMatrix
        Accepted, and not used.
    model_file : path-like, optional
        A model file of XGBoost (JSON or UBJSON) or of rustrank.

    Attributes
    ----------
    native : rustrank.Booster
        The model, with all its rounds, as `predict` scores by all. After early stopping `XGBRanker.predict` scores
        by those up to the best alone: ``booster.native.truncate(booster.best_iteration + 1)``.
    """

    best_iteration: int
    best_score: float

    def __init__(
        self,
        params: Any = None,
        cache: Sequence[Any] = (),  # noqa: ARG002 - there is none
        model_file: Any = None,
    ) -> None:
        self._set(None, as_params(params))
        if model_file is not None:
            self.load_model(model_file)

    def _set(self, native: Native | None, params: dict[str, Any]) -> None:
        self._native, self.params, self._attributes = native, params, dict[str, str]()
        self._metrics: list[Metric] = []
        self._gain: Any = "exp2"
        if native is not None:
            self._metrics, self._gain = measures_of(native, params)
        #: The model as its file has it, once `predict` has needed that.
        self._saved: Native | None = None
        #: The rounds of the model that training went on from.
        self._begin = 0

    @classmethod
    def of(cls, native: Native, params: dict[str, Any]) -> Self:
        """Return a booster of rustrank with XGBoost's methods."""
        made = cls.__new__(cls)
        made._set(native, params)
        return made

    @property
    def native(self) -> Native:
        """The model of rustrank, with all rounds: after early stopping, those after the best iteration, too."""
        if self._native is None:
            raise ParamError("the Booster is empty: call load_model, or train", code="model")
        return self._native

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of a method that was left out."""
        if name in ("best_iteration", "best_score"):
            raise AttributeError(f"{name} is there after early stopping only", name=name)
        raise absent("Booster", name, _LEFT_OUT, dir(type(self)))

    @positional_too()
    def predict(
        self,
        data: DMatrix,
        *,
        output_margin: bool = False,
        pred_leaf: bool = False,
        pred_contribs: bool = False,
        approx_contribs: bool = False,
        pred_interactions: bool = False,
        validate_features: bool = True,
        training: bool = False,  # noqa: ARG002 - trees are not dropped in prediction
        iteration_range: tuple[int, int] = (0, 0),
        strict_shape: bool = False,
    ) -> NDArray[np.float32]:
        """Return the predictions for rows, by all iterations by default; base margins are added.

        These are scores, of which a model with another objective, such as ``binary:logistic``, makes what XGBoost
        does.

        Parameters
        ----------
        data : DMatrix
            The rows.
        output_margin : bool, default False
            Whether predictions are scores for any objective.
        training : bool
            Accepted: trees are not dropped in prediction.
        pred_leaf, approx_contribs, pred_interactions : bool
            Refused.
        pred_contribs : bool, default False
            Return the contributions of features, and in the last column the expected score. A feature that is
            not known takes both branches, weighted by their hessians as in XGBoost: the values are those of the
            file that `save_model` writes. Those of ``native.explain`` are weighted by numbers of documents.
        validate_features : bool, default True
            Whether names of features must be those of the model, in the same order: a model with names takes no
            data without. Otherwise columns are taken by their places.
        iteration_range : (int, int), default (0, 0)
            The iterations that count, the end excluded; an end of 0 is the last.
        strict_shape : bool, default False
            Whether scores are a table with one column.
        """
        refused = {
            "pred_leaf": (pred_leaf, "leaves have no numbers; booster.native.dump() has the trees"),
            "approx_contribs": (approx_contribs, "contributions are exact: pred_contribs=True"),
            "pred_interactions": (pred_interactions, "rustrank has contributions of features"),
        }
        for name, (value, hint) in refused.items():
            if value:
                raise wrong_value(name, value, f"False: {hint}")
        rows = as_matrix("data", data).rows
        if validate_features:
            check_names(self.feature_names, data.feature_names)
        start, end = self._range(iteration_range)
        how: dict[str, Any] = {"contributions": pred_contribs, "missing": data.missing}
        how["keeps_intercept"] = True
        with in_words_of():
            trees = self._trees_of_round
            native = _by_place(self._as_saved() if pred_contribs else self.native, rows)
            found = scores_of_rounds(native, rows.X, start * trees, end * trees, **how)
        if rows.base_score is not None:
            if pred_contribs:
                found[:, -1] += rows.base_score
            else:
                found = found + rows.base_score
        if not (output_margin or pred_contribs):
            found = predicted(self.native.params.get("objective", ""), found)
        found = found[:, None] if strict_shape and found.ndim == 1 else found
        return found.astype(np.float32)

    def _as_saved(self) -> Native:
        """Return the model with the sums of hessians as its only covers, as XGBoost's format has it.

        A model that cannot be saved, such as one of XGBoost with categories, is returned as it is.
        """
        if self._saved is None:
            try:
                with dropped_warnings(LATER_ROUNDS):
                    self._saved = Native.from_text(
                        self.native._core.export("xgboost", None).decode()
                    )
            except ParamError:
                self._saved = self.native
        return self._saved

    @positional_too()
    def inplace_predict(
        self,
        data: Any,
        *,
        iteration_range: tuple[int, int] = (0, 0),
        predict_type: str = "value",
        missing: float = float("nan"),
        validate_features: bool = True,
        base_margin: Any = None,
        strict_shape: bool = False,
    ) -> NDArray[np.float32]:
        """Return the scores of rows of an array or a frame, as `predict` does of a `DMatrix`.

        The columns of an array, which have no names, are taken by their places.
        """
        if predict_type not in ("value", "margin"):
            raise wrong_value("predict_type", predict_type, "'value' or 'margin'")
        matrix = DMatrix(data, base_margin=base_margin, missing=missing)
        return self.predict(
            matrix,
            output_margin=predict_type == "margin",
            validate_features=validate_features and matrix.feature_names is not None,
            iteration_range=iteration_range,
            strict_shape=strict_shape,
        )

    def _range(self, iteration_range: Any) -> tuple[int, int]:
        start, end = (0, 0) if iteration_range is None else iteration_range
        rounds = self.num_boosted_rounds()
        if not 0 <= start <= rounds or end > rounds or (end and end < start):
            expected = f"(start, end) within 0 and {rounds}, the number of iterations"
            raise wrong_value("iteration_range", iteration_range, expected)
        return int(start), int(end) or rounds

    def __getitem__(self, part: Any) -> Booster:
        """Return the booster of the first iterations: ``booster[:5]``."""
        part = slice(None) if part is ... else part
        if not isinstance(part, slice) or part.step not in (None, 1) or part.start not in (None, 0):
            hint = "predict(data, iteration_range=(10, 11)) scores by others"
            raise wrong_kind("iterations", part, f"the first ones, such as booster[:5]; {hint}")
        end = self.num_boosted_rounds() if part.stop in (None, 0) else int(part.stop)
        rounds = self._range((0, end))[1] * self._trees_of_round
        made = Booster.of(part_of(self.native, rounds), dict(self.params))
        made._metrics, made._gain = self._metrics, self._gain
        return made

    def eval(self, data: DMatrix, name: str = "eval", iteration: int = 0) -> str:
        """Return the metrics of a set as text, as XGBoost writes them."""
        rows = as_matrix("data", data).rows
        scores = self.predict(data).astype(np.float64)
        results = measured(scores, name, rows, self._metrics, self._gain)
        values = (f"\t{one.data}-{one.metric}:{one.value:.17g}" for one in results)
        return f"[{iteration}]{''.join(values)}"

    def eval_set(
        self,
        evals: Sequence[tuple[DMatrix, str]],
        iteration: int = 0,
        feval: Any = None,
        output_margin: bool = True,  # noqa: ARG002 - scores of rankers are margins
    ) -> str:
        """Return the metrics of several sets as text."""
        if feval is not None:
            raise wrong_kind("feval", feval, "None: pass custom_metric= to train")
        lines = (self.eval(one, name, iteration).partition("\t")[2] for one, name in evals)
        return "\t".join([f"[{iteration}]", *lines])

    def save_model(self, fname: str | os.PathLike[str]) -> None:
        """Write the model as XGBoost's JSON, which XGBoost reads, too."""
        if not str(fname).endswith(".json"):
            expected = "a name that ends with .json: rustrank writes XGBoost's JSON"
            raise wrong_value(
                "fname", fname, f"{expected}; booster.native.save writes its own format"
            )
        objective = self.native.params.get("objective", "")
        if is_transformed(objective):
            raise wrong_value(
                "objective",
                objective,
                "a model of scores: native.export('xgboost') writes its margins",
            )
        with in_words_of():
            model = json.loads(self.native._core.export("xgboost", None))
        model["learner"]["attributes"] = self.attributes()
        if (pairs := self.params.get(_PAIRS)) is not None:
            # A model does not know the number of draws that it was trained with the expectation of.
            model["learner"]["objective"]["lambdarank_param"][_PAIRS] = str(pairs)
        replace_file(Path(fname), json.dumps(model, separators=(",", ":")))

    def load_model(self, fname: str | os.PathLike[str]) -> None:
        """Read a model file of XGBoost (JSON or UBJSON) or of rustrank."""
        native = _read(fname)
        self._set(native, self.params)
        kept = {
            name.removeprefix(_KEPT): value
            for name, value in native.params.items()
            if name.startswith(_KEPT)
        }
        if (
            read_attribute(kept, "best_iteration", int, _BEST_EXPECTED, -1)
            >= self.num_boosted_rounds()
        ):
            # Truncated, and saved in our own format.
            kept = {name: value for name, value in kept.items() if name not in _BEST}
        for name, read in _BEST.items():
            if name in kept:
                vars(self)[name] = read_attribute(kept, name, read, _BEST_EXPECTED, None)
                del kept[name]
        self._attributes = kept

    def get_score(
        self, fmap: str = "", importance_type: str = "weight"
    ) -> dict[str, float | list[float]]:
        """Return the importance of each feature that has splits, by name.

        ``weight`` is the number of splits, ``total_gain`` twice what they take off the loss, as XGBoost
        leaves out a factor 1/2, ``gain`` that on average. XGBoost doubles the hessians of its rankers, so that
        its gains are half of these; those of a model of its own are as it wrote them. ``total_cover`` is the sum
        of the hessians (``sum_hessian``) that `save_model` writes for the nodes of these splits, ``cover`` that on
        average.
        """
        if fmap:
            raise wrong_value("fmap", fmap, "'': names are those of the data")
        if importance_type not in IMPORTANCE_TYPES:
            expected = f"one of {', '.join(map(repr, IMPORTANCE_TYPES))}"
            raise wrong_value("importance_type", importance_type, expected)
        counts = self.native.feature_importance("count")
        if importance_type in ("cover", "total_cover"):
            values = self._total_covers()
        else:
            values = 2.0 * self.native.feature_importance("reduction")
        if importance_type == "weight":
            values = counts
        elif importance_type in ("gain", "cover"):
            values = values / np.maximum(counts, 1)
        names = self.native.feature_names
        return {names[at]: float(values[at]) for at in np.flatnonzero(counts)}

    def _total_covers(self) -> NDArray[np.float64]:
        """Return the sum of the hessians of the nodes that each feature splits, as a saved file has them."""
        with in_words_of(), dropped_warnings(LATER_ROUNDS):
            model = json.loads(self.native._core.export("xgboost", None))
        totals = np.zeros(self.native.num_features)
        for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
            is_split = np.array(tree["left_children"]) >= 0
            features = np.array(tree["split_indices"], np.int64)[is_split]
            np.add.at(totals, features, np.array(tree["sum_hessian"], np.float64)[is_split])
        return totals

    def get_fscore(self, fmap: str = "") -> dict[str, float | list[float]]:
        """Return the number of splits on each feature that has some."""
        return self.get_score(fmap)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of features; None where there were none."""
        return self.native._names

    def num_boosted_rounds(self) -> int:
        """Return the number of iterations."""
        return self.native.num_rounds // self._trees_of_round

    @property
    def _trees_of_round(self) -> int:
        """The trees of an iteration: above 1 in models of XGBoost with ``num_parallel_tree``."""
        return read_attribute(self.native.params, "num_parallel_tree", positive_of, WHOLE, 1)

    def num_features(self) -> int:
        """Return the number of features."""
        return self.native.num_raw_features

    def attr(self, key: str) -> str | None:
        """Return an attribute, or None."""
        return self.attributes().get(key)

    def attributes(self) -> dict[str, str]:
        """Return all attributes."""
        best = {name: str(vars(self)[name]) for name in _BEST if name in vars(self)}
        return {**best, **self._attributes}

    def set_attr(self, **kwargs: str | None) -> None:
        """Set attributes; None deletes one. XGBoost's format keeps them."""
        for name, value in kwargs.items():
            self._attributes.pop(name, None)
            if value is not None:
                self._attributes[name] = value

    def copy(self) -> Booster:
        """Return a copy."""
        made = Booster.of(self.native, dict(self.params))
        vars(made).update(vars(self))
        return made

    def __copy__(self) -> Booster:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Booster:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ({**vars(self), "_saved": None},)


_PAIRS = "lambdarank_num_pair_per_sample"
#: What early stopping found, and what reads the text that a file has of it.
_BEST: dict[str, Callable[[str], Any]] = {"best_iteration": int, "best_score": float}
_BEST_EXPECTED = "a number"
#: The notes of a model that were attributes in a file of XGBoost.
_KEPT = "xgboost."


def _restored(state: dict[str, Any]) -> Booster:
    made = Booster()
    vars(made).update(state)
    return made


def _read(file: str | os.PathLike[str]) -> Native:
    """Return the model of a file, with all rounds: the best iteration is kept beside it."""
    with dropped_warnings(LATER_ROUNDS):
        return Native.load(os.fspath(file))


def as_native(name: str, value: Any) -> Native | None:
    """Return the model that training goes on from: a booster, a ranker that has one, or a file."""
    if hasattr(type(value), "get_booster"):
        value = value.get_booster()
    if isinstance(value, Booster):
        return value.native
    if value is None or isinstance(value, Native):
        return value
    if isinstance(value, (str, os.PathLike)):
        return _read(value)
    expected = "a Booster, a ranker or the path of a model file"
    raise wrong_base(name, value, expected, takes_paths=True)


def _by_place(native: Native, rows: LazyRows) -> Native:
    """Return the model with the names that the columns of a frame have, so that it takes them by their places."""
    names, columns = native._names, names_of(rows._table)
    if names is None or columns is None or names == columns:
        return native
    if len(columns) != len(names):
        message = (
            f"data: got {len(columns)} columns, expected {len(names)}, the features of the model"
        )
        raise DataError(message, code="shape")
    return Native._of(native._core.named(columns))
