"""The options and data sets of net estimators, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import ReadOptions, Rows
from rustrank.errors import ParamError, ParamKindError
from rustrank.estimators._fit_data import eval_sets
from rustrank.inputs.queries import as_queries, as_query_weight
from rustrank.inputs.scalars import as_augment, real, seed_of, text, threads, whole
from rustrank.inputs.tables import as_block, as_table
from rustrank.inputs.vectors import as_doubles, as_labels, check_length
from rustrank.metrics.evaluation import Judging
from rustrank.parameters.plan import Losing, check_same_names, loss_metric, preferences_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.estimators._fit_data import FitData

_MOST = 2**32 - 1


@dataclass(frozen=True)
class NetData:
    """A data set with feature values, which nets learn from."""

    core: _rustrank.RawDataset
    names: list[str] | None
    query_ids: NDArray[Any]


def as_values(part: FitData, num_threads: int | None) -> NetData:
    """Read the features, labels, queries and weights of a set."""
    table = as_table(part.X)
    labels = as_labels(part.y)
    check_length("y", len(labels), table.num_rows, "rows")
    queries, ids = as_queries(part.qid, part.group, table.num_rows)
    weight = part.row_weight
    rows = Rows(
        labels,
        queries,
        None if weight is None else as_doubles(weight, "sample_weight"),
        as_query_weight(part.query_weight, ids),
    )
    reading = ReadOptions(None, "error", num_threads)
    return NetData(_rustrank.RawDataset(as_block(table), rows, reading), table.names, ids)


def refuse_dataset(X: Any) -> None:
    """Raise an error for a `Dataset`, which keeps no feature values."""
    if isinstance(X, Dataset):
        message = (
            "X: got a Dataset, which keeps no values, expected the features themselves: nets learn "
            "from values, not from bins"
        )
        raise ParamKindError(message, code="X")


@dataclass(frozen=True)
class Learning:
    """The structure of a net and the options of its training."""

    hidden: list[int]
    epochs: int
    learning_rate: float
    optimiser: str
    schedule: str
    batch_queries: int
    weight_decay: float
    inputs: str
    limit: float
    seed: int

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Learning:
        """Check the kinds of options; the core checks their ranges."""
        return cls(
            _hidden(options["hidden"]),
            whole("epochs", options["epochs"], 1, _MOST),
            real("learning_rate", options["learning_rate"]),
            text("optimiser", options["optimiser"]),
            text("schedule", options["schedule"]),
            whole("batch_queries", options["batch_queries"], 1, _MOST),
            real("weight_decay", options["weight_decay"]),
            text("inputs", options["inputs"]),
            real("limit", options["limit"]),
            seed_of(options["random_state"]),
        )


def _hidden(given: Any) -> list[int]:
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        given = [given]
    return [whole("hidden", units, 1, 4096, " units a hidden layer") for units in given]


@dataclass(frozen=True)
class NetPlan:
    """All options and validation sets of a training."""

    learning: Learning
    objective: Losing
    preferences: tuple[list[int], list[int], list[float], list[float]] | None
    valid: list[tuple[str, _rustrank.RawDataset]]
    metrics: list[str]
    judging: Judging
    patience: tuple[int, int, float] | None
    num_threads: int | None

    @classmethod
    def of(
        cls,
        kind: str,
        options: Mapping[str, Any],
        given: Mapping[str, Any],
        names: list[str] | None,
    ) -> NetPlan:
        """Check all options of a net, and the arguments of `fit` besides the training set."""
        num_threads = threads(options["n_jobs"], "n_jobs")
        judging = judging_of(options, num_threads)
        valid = valid_of(eval_sets(given), num_threads, names)
        patience = None
        if valid is not None and options["patience"] is not None:
            patience = (
                whole("patience", options["patience"], 1, _MOST, ", or None"),
                whole("restarts", options["restarts"], 0, _MOST),
                real("restart_factor", options["restart_factor"]),
            )
        return cls(
            Learning.of(options),
            _losing(kind, options, judging.metrics),
            preferences_of(given.get("preferences"), kind, options["augment"]),
            [] if valid is None else [("valid", valid.core)],
            [] if valid is None else judging.metrics,
            judging,
            patience,
            num_threads,
        )


def judging_of(options: Mapping[str, Any], num_threads: int | None) -> Judging:
    """Return the metrics of a net and their options."""
    gain, relevant, top = options["gain"], options["relevant_from"], options["max_label"]
    return Judging.of(options["metric"], gain, "expected", "skip", relevant, top, num_threads)


def _losing(kind: str, options: Mapping[str, Any], metrics: list[str]) -> Losing:
    to = options["pairs_to"]
    return Losing(
        kind=kind,
        metric=loss_metric(options.get("objective_metric"), metrics),
        pairs_to=None if to is None else whole("pairs_to", to, 1, _MOST, ", or None for all pairs"),
        sigma=real("sigma", options["sigma"]),
        pair_normaliser="none",
        gap_offset=0.3,
        query_normaliser="none",
        noise_scale=0.0,
        noise_copies=1,
        augment=as_augment(options["augment"]),
        tied_pairs="expected",
        relevant_from=None,
    )


def valid_of(
    sets: Mapping[str, FitData], num_threads: int | None, names: list[str] | None
) -> NetData | None:
    """Read the validation set, if there is one."""
    if not sets:
        return None
    if len(sets) > 1:
        message = f"eval_set: got {len(sets)} validation sets, expected one"
        raise ParamError(message, code="eval_set")
    (part,) = sets.values()
    values = as_values(part, num_threads)
    check_same_names(values.names, names, "eval_set")
    return values
