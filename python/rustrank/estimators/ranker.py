"""The base class of all estimators: options, prediction, and scikit-learn's protocols.

scikit-learn is optional, so estimators do not inherit from its classes. Its tools call methods with
certain names, and only these methods import scikit-learn.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
from abc import ABC
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rustrank._rustrank import measures
from rustrank.errors import DataError, ParamError, unfitted, wrong_kind
from rustrank.estimators.fitting import (
    WithoutQueries,
    fitted_columns,
    names_of,
    queries_within,
    weight_of_queries,
    without_fitted,
)
from rustrank.formatting import html_facts
from rustrank.inputs.keywords import OF_PREDICT, no_attribute, refuses_unknown
from rustrank.inputs.queries import as_queries, query_codes
from rustrank.inputs.scalars import seed_of, separated, threads, whole
from rustrank.metrics.evaluation import evaluate
from rustrank.model.booster import Booster
from rustrank.model.ranking import ranks_within, top_within
from rustrank.parameters import schema
from rustrank.parameters.hints import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank.data.raw_rows import RawRows
    from rustrank.inputs.tables import Table


#: What attributes of other libraries' rankers are called here.
_ATTRIBUTES = {
    "best_iteration_": "best_round_",
    "best_iteration": "best_round_",
    "best_score_": "history_, which has the metrics after each round",
    "best_score": "history_, which has the metrics after each round",
    "evals_result_": "history_",
    "evals_result": "history_",
    "feature_name_": "feature_names_in_",
    "n_estimators_": "booster_.num_rounds",
    "get_booster": "booster_",
    "n_iter_": "booster_.num_rounds",
}


class Ranker(ABC):
    """The base class of rankers with ``fit`` and ``predict``.

    An instance has those options as attributes that it was given, and the class has the defaults of the
    others: so what was given wins over a preset, even where it is the default. ``fit`` checks them.
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _booster: Booster | None = None
    #: Whether it was fitted with queries.
    _has_queries: bool = False
    #: The columns that `fit` took by name, by argument.
    _columns: Mapping[str, str] = MappingProxyType({})
    #: Whether the loss compares documents of a query.
    _needs_queries: ClassVar[bool] = True

    #: All options with their defaults.
    _defaults: ClassVar[Mapping[str, Any]] = {}
    #: The kind of training, and its names of options that are called otherwise here.
    _training: ClassVar[str]
    _renamed: ClassVar[Mapping[str, str]] = schema.RENAMED

    def __init_subclass__(cls) -> None:
        """Give the constructor the signature that editors, ``help`` and scikit-learn look at."""
        super().__init_subclass__()
        if "_defaults" in vars(cls):
            for name, value in cls._defaults.items():
                setattr(cls, name, _Default(name, value))
            signature = schema.signature_of(cls._defaults)
        elif "__init__" in vars(cls):
            own = list(inspect.signature(cls.__init__).parameters.values())
            signature = inspect.Signature(own[1:])
        else:
            return
        cls.__signature__ = signature  # type: ignore[attr-defined]

    def __init__(self, **options: Any) -> None:
        # Not those of a subclass, whose constructor may take other things and pass on what it will.
        refuse_unknown(options, self._defaults)
        vars(self).update(options)

    @classmethod
    def _options(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def _preset(self) -> Mapping[str, Any]:
        """Return what options are that were not given, if not their defaults."""
        values = schema.changed_defaults(vars(self))
        return {schema.OF_ESTIMATORS.get(one, one): value for one, value in values.items()}

    def _checked(self, **more: Any) -> dict[str, Any]:
        """Return all parameters of the training, checked."""
        given = {self._renamed.get(name, name): getattr(self, name) for name in self._defaults}
        given |= {"num_threads": self._threads(), "seed": self._seed()}
        try:
            return schema.checked(self._training, {**given, **more})
        except ParamError as error:
            raise schema.as_named(error, self._renamed) from None

    def _given(self, *more: str) -> dict[str, Any]:
        """Return the options that were given."""
        own = vars(self)
        return {name: own[name] for name in (*self._options(), *more) if name in own}

    def _again(self, **changes: Any) -> Self:
        """Return one that is not fitted, with the options that this was given, and others."""
        return type(self)(**{**self._given(), **changes})

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted; an option that was not given is not given to it either."""
        made = self._again()
        vars(made).update(copy.deepcopy(self._given("_metadata_request")))
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return all options by name: what was given, or else the preset's value or the default."""
        return {name: getattr(self, name) for name in self._options()}

    def set_params(self, **params: Any) -> Any:
        """Set options by name and return the ranker."""
        refuse_unknown(params, self._options())
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __getattr__(self, name: str) -> Any:
        """Say what an attribute of other libraries is called here."""
        if isinstance(getattr(type(self), name, None), property):
            # The property raised an AttributeError, as that of a ranker that is not fitted is.
            raise unfitted(type(self).__name__)
        raise no_attribute(self, name, _ATTRIBUTES)

    @property
    def booster_(self) -> Booster:
        """The trained model."""
        if self._booster is None:
            raise unfitted(type(self).__name__)
        return self._booster

    @property
    def history_(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """The metrics on the validation sets after each round: ``history_["valid_0"]["ndcg@10"]``."""
        return self.booster_.history

    @refuses_unknown(OF_PREDICT)
    def predict(self, X: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.float64]:
        """Return the score of each row: larger is better, within a query.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_features)
            Features. A column ``qid`` with query ids is allowed, as in `fit`. Named columns are matched to
            those of `fit`; others are left out.
        qid, group : array-like, optional
            As for `fit`. Only used by rankers whose scores depend on the other documents of the query.
        """
        booster = self.booster_
        X, qid, _ = without_fitted(X, qid, group, None, self._columns)
        needed = booster._core.needs_queries
        without = self._without_queries() if needed else WithoutQueries.UNUSED
        taken, ids, sizes = queries_within(X, qid, group, self._own_names(), without=without)
        taken = fitted_columns(self, taken)
        if not needed:
            ids = sizes = None
        reading = {"missing": self.missing} if hasattr(self, "missing") else {}
        return booster.predict(taken, qid=ids, group=sizes, num_threads=self._threads(), **reading)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
    ) -> float:
        """Return the mean of the ranker's first metric over queries, by default NDCG@10.

        Parameters
        ----------
        X, y, qid, group, query_weight
            As for `fit`. By default ``y`` is the column of X that `fit` took the labels from.
        sample_weight : array-like of shape (num_docs,), optional
            Instead of ``query_weight``: the weight of a query is the mean weight of its documents.
        """
        X, qid, y = without_fitted(X, qid, group, y, self._columns)
        if y is None:
            column = self._columns.get("y")
            of_fit = "" if column is None else f", or X with the column {column!r} that fit took"
            raise wrong_kind("y", y, f"the labels of X{of_fit}")
        own, without = self._own_names(), self._without_queries()
        taken, ids, sizes = queries_within(X, qid, group, own, without=without)
        if sample_weight is not None:
            if query_weight is not None:
                message = "weights come twice: got sample_weight= and query_weight="
                raise DataError(message, code="weight")
            query_weight = weight_of_queries(sample_weight, ids, sizes)
        queries = {"qid": ids, "group": sizes}
        options = {"query_weight": query_weight, "num_threads": self._threads(), **queries}
        scores = self.predict(taken, **queries)
        found = evaluate(scores, y, **options, **self._evaluated_by())
        return float(next(iter(found.values())))

    def rank(self, X: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.int64]:
        """Return the rank of each row within its query: 1 is the best.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_features)
            Features. A column ``qid`` with query ids is allowed, as in `fit`.
        qid, group : array-like, optional
            As for `fit`; `rank` and `top` of a ranker that was fitted with queries need them. Pass
            ``group=[len(X)]`` if all rows are one query.
        """
        return ranks_within(*self._scored(X, qid, group))

    def top(self, X: Any, k: int = 10, *, qid: Any = None, group: Any = None) -> NDArray[np.int64]:
        """Return the row numbers of the ``k`` best documents of each query, the best first.

        Parameters
        ----------
        X, qid, group
            As for `rank`.
        k : int, default 10
            The most rows of a query.
        """
        return top_within(*self._scored(X, qid, group), whole("k", k, 1))

    def _scored(self, X: Any, qid: Any, group: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the score and the number of the query of each row."""
        X, qid, _ = without_fitted(X, qid, group, None, self._columns)
        own = self._own_names()
        without = WithoutQueries.ERROR if self._has_queries else WithoutQueries.UNUSED
        table, ids, sizes = queries_within(X, qid, group, own, without=without)
        scores = self.predict(X, qid=qid, group=group)
        if ids is None and sizes is None:
            sizes = [table.num_rows]
        return scores, np.asarray(query_codes(as_queries(ids, sizes, table.num_rows)[0]))

    def _evaluated_by(self) -> dict[str, Any]:
        """Return the first metric of ours, and its options, as for `rustrank.evaluate`."""
        given = getattr(self, "metric", "ndcg@10")
        given = separated(given) if isinstance(given, str) else given
        many = [given] if callable(given) else list(given)
        names = [name for name in many if isinstance(name, str)]
        # Those of further labels are not about y.
        known = tuple(measure.partition("(")[0] for measure in measures())
        of_y = [name for name in names if name.startswith(known) and ":" not in name]
        # None: labels from 1 are relevant, as for the losses.
        from_ = getattr(self, "relevant_from", None)
        return {
            "metrics": next(iter(of_y), "ndcg@10"),
            "gain": getattr(self, "gain", "exp2"),
            "relevant_from": 1.0 if from_ is None else from_,
            "max_label": getattr(self, "max_label", None),
        }

    def _without_queries(self) -> WithoutQueries:
        """Return what rows without queries are: an error if the ranker was fitted with queries."""
        return WithoutQueries.ERROR if self._has_queries else WithoutQueries.ANY

    def _own_names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", ()))

    def _threads(self) -> int | None:
        """Return ``n_jobs`` as a number of threads; -1 is all cores, as in scikit-learn."""
        jobs = getattr(self, "n_jobs", None)
        return None if type(jobs) is int and jobs == -1 else threads(jobs, "n_jobs")

    def _seed(self) -> int:
        return seed_of(getattr(self, "random_state", 0))

    def _note(self, table: Table) -> None:
        """Store the number and names of the features of the training set."""
        self.n_features_in_ = table.num_features
        vars(self).pop("feature_names_in_", None)
        if (names := names_of(table)) is not None:
            self.feature_names_in_ = np.array(names, object)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the ranker is fitted."""
        return self._booster is not None

    def __sklearn_tags__(self) -> Any:
        """Return the accepted input: sparse and missing values, labels from 0."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="ranker",
            target_tags=TargetTags(required=True, positive_only=True),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    def get_metadata_routing(self) -> Any:
        """Return the metadata that each method requests; ``qid`` is requested by default."""
        from sklearn.utils.metadata_routing import MetadataRequest

        if "_metadata_request" in vars(self):
            return self._metadata_request
        request = MetadataRequest(owner=self)
        for method in ("fit", "predict", "score"):
            for name in self._metadata(method):
                wanted = True if name == "qid" else None
                getattr(request, method).add_request(param=name, alias=wanted)
        return request

    def _metadata(self, method: str) -> list[str]:
        known = inspect.signature(getattr(self, method)).parameters
        return [name for name in known if name not in ("X", "y")]

    def _request(self, method: str, wanted: dict[str, bool | str | None]) -> Any:
        known = self._metadata(method)
        request = self.get_metadata_routing()
        for name, alias in wanted.items():
            if name not in known:
                message = f"{method} takes no {name}: expected {', '.join(known)}"
                raise ParamError(message, code="param")
            getattr(request, method).add_request(param=name, alias=alias)
        self._metadata_request = request
        return self

    def set_fit_request(self, **wanted: bool | str | None) -> Any:
        """Choose the arguments of `fit` that pipelines and searches pass on: True, False or another name."""
        return self._request("fit", wanted)

    def set_predict_request(self, **wanted: bool | str | None) -> Any:
        """Choose the arguments of `predict` that pipelines and searches pass on."""
        return self._request("predict", wanted)

    def set_score_request(self, **wanted: bool | str | None) -> Any:
        """Choose the arguments of `score` that pipelines and searches pass on."""
        return self._request("score", wanted)

    def __repr__(self) -> str:
        """Show the options that were given."""
        shown = [f"{name}={value!r}" for name, value in self._given().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        # Not the diagram of scikit-learn, which is optional and knows nothing of the model. A Pipeline
        # that contains the ranker is still drawn by scikit-learn, from ``__repr__``.
        options = ", ".join(f"{name}={value!r}" for name, value in self._given().items())
        name, fitted = type(self).__name__, self._booster
        facts = [("given", options or "no options: all are the defaults")]
        if fitted is None:
            return html_facts(f"{name}, not fitted", facts)
        return html_facts(f"{name}, fitted", [*facts, *fitted._facts()])


class _Default:
    """What an option is that an estimator was not given: its preset's value, or the default."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def __get__(self, ranker: Ranker | None, kind: type) -> Any:
        return self.value if ranker is None else ranker._preset().get(self.name, self.value)


def option_record(value: Any) -> Any:
    """Return an option as a plain value that is the same in another process, to compare runs by."""
    if isinstance(value, Booster):
        return hashlib.sha256(value.to_text().encode()).hexdigest()
    if isinstance(value, (list, tuple)):
        return [option_record(one) for one in value]
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return value if isinstance(value, (int, str, bool)) or value is None else repr(value)


def options_record(ranker: Ranker, without: Iterable[str] = ()) -> dict[str, Any]:
    """Return the options that a fit depends on as plain values, without some of them."""
    left_out = ("n_jobs", "progress", *without)
    options = ranker.get_params().items()
    return {name: option_record(value) for name, value in options if name not in left_out}


def fitted_again(ranker: Ranker, train: RawRows, valid: RawRows | None, **changes: Any) -> Ranker:
    """Return a copy of a ranker with other options, fitted to documents."""
    made: Any = ranker._again(**changes)
    more = {} if valid is None else {"eval_set": [(valid.table(), valid.y, valid.query)]}
    fitted: Ranker = made.fit(train.table(), train.y, qid=train.query, **more)
    return fitted
