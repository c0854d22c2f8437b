"""What to train, checked: each option by its own name, before the compiled half sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset, as_dataset, is_booster
from rustrank.errors import DataError, ParamError, ParamKindError, UnknownNameError, shown
from rustrank.inputs.scalars import as_augment, real, text, threads, whole
from rustrank.metrics.evaluation import Judging
from rustrank.parameters._callables import Loss, Measurement, name_of
from rustrank.parameters._constraints import Limits
from rustrank.parameters.hints import OBJECTIVES, hint, objective_hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rustrank import _rustrank

#: Our names for what the papers call an objective.
_OBJECTIVES = {"lambdamart": "lambdarank"}
#: Metrics that mean nothing without their cut.
_NEED_CUT = ("precision", "recall")
_MOST = 2**32 - 1


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


#: Options that go together, by name: what is not said otherwise takes these values.
PRESETS: dict[str, dict[str, Any]] = {
    # Gao et al. 2009, section 5.3: at each node 0.7 of the docs and of the features; and the trees
    # of Wu et al. 2008, shallow and shrunk.
    "robust": {
        "num_leaves": 15,
        "max_depth": 5,
        "learning_rate": 0.05,
        "features_per_node": 0.7,
        "rows_per_node": 0.7,
    },
    # What did best on the validation folds of four small real sets (benches/RESULTS.md), where the
    # datasets had the ranks of values within their queries too.
    "noisy": {
        "tree_shape": "symmetric",
        "num_leaves": 16,
        "l2": 3.0,
        "features_per_tree": 0.7,
        "random_strength": 1.0,
        "pair_normaliser": "none",
        "noise_copies": 2,
    },
    # Wu et al. 2008, section 5.2, and Gao et al. 2009: L = 20 and M = 500, splits by least squares,
    # and lambdas as they are.
    "paper": {
        "num_trees": 500,
        "num_leaves": 20,
        "criterion": "least_squares",
        "features_per_node": 0.7,
        "rows_per_node": 0.7,
        "pair_normaliser": "none",
        "noise_scale": 0.0,
        "pairs_to": None,
    },
}


def with_preset(options: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options that stand at their defaults the values of the preset."""
    name = options.pop("preset")
    if name is None:
        return options
    if text("preset", name) not in PRESETS:
        message = f"preset: got {shown(name)}, expected one of {', '.join(PRESETS)}"
        raise UnknownNameError(message, code="preset")
    said = {key for key, value in options.items() if key in defaults and value is not defaults[key]}
    return options | {key: value for key, value in PRESETS[name].items() if key not in said}


@dataclass(frozen=True)
class Boosting:
    """Rounds and steps."""

    num_trees: int
    learning_rate: float
    queries_per_tree: float
    docs_per_tree: float
    doc_sampling: tuple[str, float]
    position_l2: float
    step: tuple[str, float, float, int | None] | None
    dropout: tuple[float, float, int | None, str] | None

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        sets: list[str],
        metrics: Iterable[str | tuple[str, Measurement]],
    ) -> Boosting:
        """Check the kinds of options; the core checks their ranges."""
        return cls(
            whole("num_trees", options["num_trees"], 1, 2**20),
            real("learning_rate", options["learning_rate"]),
            real("queries_per_tree", options["queries_per_tree"]),
            real("docs_per_tree", options["docs_per_tree"]),
            _sampling(options),
            real("position_l2", options["position_l2"]),
            _step(options, sets, metrics),
            _dropout(options),
        )


@dataclass(frozen=True)
class Growing:
    """How trees are grown."""

    tree_shape: str
    num_leaves: int
    max_depth: int | None
    min_leaf_docs: int
    min_leaf_hess: float
    l2: float
    min_reduction: float
    criterion: str
    features_per_tree: float
    features_per_node: float
    rows_per_node: float
    random_strength: float
    limits: Limits
    category_smooth: float
    min_category_docs: int
    max_categories: int
    category_one_by_one: int
    seed: int

    @classmethod
    def of(cls, options: Mapping[str, Any], dataset: Dataset) -> Growing:
        """Check the kinds of options; the core checks their ranges."""
        depth = options["max_depth"]
        return cls(
            tree_shape=text("tree_shape", options["tree_shape"]),
            num_leaves=whole("num_leaves", options["num_leaves"], 2, 65_536),
            max_depth=None if depth is None else whole("max_depth", depth, 1, _MOST, ", or None"),
            min_leaf_docs=whole("min_leaf_docs", options["min_leaf_docs"], 1, _MOST),
            min_leaf_hess=real("min_leaf_hess", options["min_leaf_hess"]),
            l2=real("l2", options["l2"]),
            min_reduction=real("min_reduction", options["min_reduction"]),
            criterion=text("criterion", options["criterion"]),
            features_per_tree=real("features_per_tree", options["features_per_tree"]),
            features_per_node=real("features_per_node", options["features_per_node"]),
            rows_per_node=real("rows_per_node", options["rows_per_node"]),
            random_strength=real("random_strength", options["random_strength"]),
            limits=Limits.of(options, dataset),
            category_smooth=real("category_smooth", options["category_smooth"]),
            min_category_docs=whole("min_category_docs", options["min_category_docs"], 0, _MOST),
            max_categories=whole("max_categories", options["max_categories"], 1, _MOST),
            category_one_by_one=whole(
                "category_one_by_one", options["category_one_by_one"], 0, _MOST
            ),
            seed=whole("seed", options["seed"], 0, 2**64 - 1),
        )


@dataclass(frozen=True)
class Losing:
    """A loss of ours."""

    kind: str
    metric: str
    pairs_to: int | None
    sigma: float
    pair_normaliser: str
    gap_offset: float
    query_normaliser: str
    noise_scale: float
    noise_copies: int
    augment: tuple[float, int] | None
    tied_pairs: str
    relevant_from: float | None

    @classmethod
    def of(cls, options: Mapping[str, Any], metrics: Iterable[str | Any]) -> Losing:
        """Check the kinds of options; the core checks names and ranges."""
        kind = text("objective", options["objective"])
        to, from_ = options["pairs_to"], options["relevant_from"]
        kind = _OBJECTIVES.get(kind, kind)
        if kind not in OBJECTIVES and kind not in _OBJECTIVES.values():
            message = f"unknown objective {kind!r}; {objective_hint(kind)}"
            raise UnknownNameError(message, code="objective")
        is_tuned = kind == "lambdarank"
        pair, noise = text("pair_normaliser", options["pair_normaliser"]), options["noise_scale"]
        if pair == "auto":
            pair = "score_gap" if is_tuned else "none"
        if noise is None:
            noise = 1.0 if is_tuned else 0.0
        return cls(
            kind,
            loss_metric(options["objective_metric"], metrics),
            None if to is None else whole("pairs_to", to, 1, _MOST, ", or None for all pairs"),
            real("sigma", options["sigma"]),
            pair,
            real("gap_offset", options["gap_offset"]),
            text("query_normaliser", options["query_normaliser"]),
            real("noise_scale", noise),
            whole("noise_copies", options["noise_copies"], 1, 64),
            as_augment(options["augment"]),
            text("tied_pairs", options["tied_pairs"]),
            None if from_ is None else real("relevant_from", from_),
        )


@dataclass(frozen=True)
class Plan:
    """Everything but the training set."""

    boosting: Boosting
    growing: Growing
    objective: Losing | tuple[str, Loss]
    preferences: tuple[list[int], list[int], list[float], list[float]] | None
    valid: list[tuple[str, _rustrank.Dataset]]
    metrics: list[str | tuple[str, Measurement]]
    judging: Judging
    patience: tuple[int, int, int] | None
    base: _rustrank.Booster | None
    is_scored: bool
    checkpoint: _rustrank.Booster | None
    num_threads: int | None

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        options: Mapping[str, Any],
        checkpoint: _rustrank.Booster | None,
    ) -> Plan:
        """Check all options of `train` that are about the model."""
        metrics = _metrics(options["metric"])
        valid = _valid(options["valid"], dataset)
        objective = options["objective"]
        if callable(objective) and options["augment"] is not None:
            message = "augment: a function sees whole queries only; leave it None"
            raise ParamError(message, code="augment")
        relevant = options["relevant_from"]
        gain, top = options["gain"], options["max_label"]
        from_ = 1 if relevant is None else relevant
        return cls(
            Boosting.of(options, list(valid), metrics),
            Growing.of(options, dataset),
            (name_of(objective), Loss(objective, dataset.query_ids))
            if callable(objective)
            else Losing.of(options, metrics),
            preferences_of(options["preferences"], objective, options["augment"]),
            [(name, given._core) for name, given in valid.items()],
            metrics,
            Judging.of("ndcg@10", gain, "expected", "skip", from_, top, None),
            _patience(options["early_stopping"], list(valid), metrics),
            *_base(options["base"], {"the training set": dataset, **valid}),
            checkpoint,
            threads(options["num_threads"]),
        )


def refuse_unknown(unknown: Mapping[str, Any], known: Iterable[str]) -> None:
    """Name an option that there is not, and the one that was meant."""
    for name in unknown:
        message = f"there is no parameter {name}; {hint(name, list(known))}"
        raise UnknownNameError(message, code="param")


def preferences_of(
    given: Any, objective: Any, augment: Any = None
) -> tuple[list[int], list[int], list[float], list[float]] | None:
    """Take pairs of rows, with probabilities and weights where there are more columns."""
    if given is None:
        return None
    if objective != "ranknet":
        message = f"preferences need objective='ranknet': got {shown(objective)}"
        raise ParamError(message, code="preferences")
    if augment is not None:
        message = f"augment: got {shown(augment)}, expected none: preferences are of pairs"
        raise ParamError(message, code="augment")
    try:
        table = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        message = f"preferences cannot be read as a table of numbers: {error}"
        raise ParamKindError(message, code="preferences") from None
    if table.ndim != 2 or not 2 <= table.shape[1] <= 4:
        message = (
            f"preferences: got an array of shape {table.shape}, expected rows of (better, worse), "
            "and perhaps a probability and a weight"
        )
        raise ParamError(message, code="preferences")
    rows = table[:, :2]
    wrong = np.flatnonzero(~((rows >= 0) & (rows <= _MOST) & (rows == np.floor(rows))).all(1))
    if len(wrong):
        at = int(wrong[0])
        message = f"preferences[{at}]: got {rows[at].tolist()}, expected two row numbers"
        raise ParamError(message, code="preferences")
    whole_rows = rows.astype(np.int64)
    more = [column.tolist() for column in table.T[2:]] + [[1.0] * len(table)] * 2
    return whole_rows[:, 0].tolist(), whole_rows[:, 1].tolist(), more[0], more[1]


def _metrics(given: Any) -> list[str | tuple[str, Measurement]]:
    many = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    metrics: list[str | tuple[str, Measurement]] = []
    for metric in given if many else [given]:
        if isinstance(metric, str):
            metrics.append(str(metric))
        elif callable(metric):
            metrics.append((name_of(metric), Measurement(metric)))
        else:
            message = (
                f"metric: got {shown(metric)}, expected a name such as 'ndcg@10' or a function "
                "(scores, labels) -> float"
            )
            raise ParamKindError(message, code="metric")
    names = [_name(metric) for metric in metrics]
    for name in names:
        if names.count(name) > 1:
            message = f"metric: two are called {name}"
            raise ParamError(message, code="metric")
    return metrics


def _name(metric: str | tuple[str, Measurement]) -> str:
    return metric if isinstance(metric, str) else metric[0]


def loss_metric(given: Any, metrics: Iterable[str | Any]) -> str:
    """Return what lambdas are weighted by: the first metric of ours, and all of its ranks."""
    if given is not None:
        return text("objective_metric", given)
    first = next((metric for metric in metrics if isinstance(metric, str)), "ndcg")
    return first if first.startswith(_NEED_CUT) else first.split("@")[0]


def _sampling(options: Mapping[str, Any]) -> tuple[str, float]:
    """Take how docs are sampled: by name, and the share that is kept for its gradients."""
    name, top = text("doc_sampling", options["doc_sampling"]), options["top_docs"]
    if top is not None and name != "one_sided":
        message = f'top_docs: got {shown(top)}, but doc_sampling is {shown(name)}, not "one_sided"'
        raise ParamError(message, code="top_docs")
    share = real("docs_per_tree", options["docs_per_tree"])
    return name, 2 / 3 * share if top is None else real("top_docs", top)


def _dropout(options: Mapping[str, Any]) -> tuple[float, float, int | None, str] | None:
    """Take how trees are dropped, if any are."""
    rate, most = real("dropout", options["dropout"]), options["dropout_max"]
    if most is not None:
        most = whole("dropout_max", most, 1, _MOST, ", or None for any number")
    skip = real("dropout_skip", options["dropout_skip"])
    normaliser = text("dropout_normaliser", options["dropout_normaliser"])
    return None if rate == 0 else (rate, skip, most, normaliser)


def _step(
    options: Mapping[str, Any], sets: list[str], metrics: Iterable[str | tuple[str, Measurement]]
) -> tuple[str, float, float, int | None] | None:
    """Return the metric, the range and the set of an exact step."""
    kind, metric, valid = text("step", options["step"]), options["step_metric"], options["step_on"]
    if kind == "newton":
        return None
    if kind != "exact":
        message = f"step: got {shown(kind)}, expected 'newton' or 'exact'"
        raise ParamError(message, code="step")
    if metric is None:
        metric = next((metric for metric in metrics if isinstance(metric, str)), "ndcg@10")
    if valid is not None and valid not in sets:
        known = ", ".join(sets) or "none: pass valid="
        message = f"step_on: got {shown(valid)}, expected a validation set, one of {known}"
        raise UnknownNameError(message, code="step_on")
    place = None if valid is None else sets.index(valid)
    ends = real("step_min", options["step_min"]), real("step_max", options["step_max"])
    return text("step_metric", metric), *ends, place


def _valid(given: Any, dataset: Dataset) -> dict[str, Dataset]:
    if given is None:
        return {}
    if isinstance(given, Dataset):
        named = {"valid": given}
    elif isinstance(given, Mapping):
        named = {text("valid", name): value for name, value in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        named = {f"valid_{at}": value for at, value in enumerate(given)}
    else:
        named = {"valid": given}
    for name, value in named.items():
        check_same_names(as_dataset(value, name)._names, dataset._names, name)
    return named


def check_same_names(names: list[str] | None, expected: list[str] | None, what: str) -> None:
    """Refuse features that have other names, or another order, than those of the training set."""
    if names is None or expected is None or len(names) != len(expected):
        return
    for number, (mine, theirs) in enumerate(zip(names, expected, strict=True)):
        if mine != theirs:
            message = (
                f"feature {number} of {what} has another name: got {mine!r}, expected {theirs!r}"
            )
            raise DataError(message, code="features.names", feature=mine)


def _patience(
    given: Any, sets: list[str], metrics: list[str | tuple[str, Measurement]]
) -> tuple[int, int, int] | None:
    if given is None:
        return None
    rule = given if isinstance(given, EarlyStopping) else EarlyStopping(given)
    rounds = whole("early_stopping", rule.rounds, 1, 2**31, ", or None")
    if not sets or not metrics:
        message = "early_stopping needs a validation set and a metric: pass valid="
        raise ParamError(message, code="early_stopping")
    places = []
    names = [_name(metric) for metric in metrics]
    for what, name, known in (("valid", rule.valid, sets), ("metric", rule.metric, names)):
        if name is not None and name not in known:
            message = (
                f"early_stopping looks at {what} {shown(name)}: expected one of {', '.join(known)}"
            )
            raise UnknownNameError(message, code="early_stopping")
        places.append(0 if name is None else known.index(name))
    return rounds, places[0], places[1]


def _base(given: Any, sets: Mapping[str, Dataset]) -> tuple[_rustrank.Booster | None, bool]:
    """Return what training goes on from, and whether the datasets have its scores."""
    if given is not None and not is_booster(given):
        message = f"base: got {shown(given)}, expected a Booster"
        raise ParamKindError(message, code="base")
    scored = {name: dataset._base for name, dataset in sets.items()}
    own = scored["the training set"]
    if not any(scored.values()):
        return (None, False) if given is None else (given._core, False)
    base = own if given is None else given
    for name, theirs in scored.items():
        if theirs is None or (theirs is not base and theirs != base):
            message = (
                f"base: {name} was made with {'no' if theirs is None else 'another'} base; make "
                "the training set with base=, and the others like= it"
            )
            raise ParamError(message, code="base")
    return (None if base is None else base._core), True
