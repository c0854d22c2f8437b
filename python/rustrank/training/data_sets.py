"""The training and validation sets of a call of `rustrank.train`, made of documents where they are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rustrank.data.dataset import dataset_of
from rustrank.data.ranked import sets_with_ranks
from rustrank.errors import warn_caller
from rustrank.inputs.docs import DocArguments, has_parts, is_dataset
from rustrank.parameters.plan import sets_by_name

if TYPE_CHECKING:
    from rustrank.data.dataset import Dataset


def data_sets(
    dataset: Any, arguments: DocArguments, options: dict[str, Any]
) -> tuple[Dataset, dict[str, Any]]:
    """Return the training set, and the options with validation sets, made of documents where they are none."""
    reading = {"num_threads": options["num_threads"]}
    base = {} if is_dataset(dataset) else {"base": options["base"]}
    # Names of columns beside a Dataset are those of validation sets, if there are some.
    are_names = all(one is None or isinstance(one, str) for one in arguments)
    has_names = options["valid"] is not None and are_names
    own = DocArguments() if is_dataset(dataset) and has_names else arguments
    data = dataset_of(dataset, "dataset", own, **reading, **base)

    def of_set(name: str, one: Any) -> Dataset:
        if one is dataset:
            return data
        return dataset_of(one, name, arguments, like=data, **reading)

    valid = options["valid"]
    # A mapping has sets by their names, unless it is one set: its parts, or its columns.
    is_one = has_parts(valid) or (isinstance(valid, Mapping) and arguments.names().y in valid)
    if valid is None:
        made: Any = None
    elif is_one or not isinstance(valid, (Mapping, list, tuple)):
        made = of_set("valid", valid)
    elif isinstance(valid, Mapping):
        made = {name: of_set(f"valid[{name!r}]", one) for name, one in valid.items()}
    else:
        made = [of_set(f"valid[{at}]", one) for at, one in enumerate(valid)]
    _warn_of_bins_of_booster(data)
    return _as_base_sees(data, {**options, "valid": made})


def _as_base_sees(data: Dataset, options: dict[str, Any]) -> tuple[Dataset, dict[str, Any]]:
    """Add ranks within queries to the data sets if the base has learned from ranks."""
    base = options["base"]
    if not getattr(base, "query_ranks", False) or base.num_features != 2 * data.num_features:
        return data, options
    found = sets_with_ranks(data, sets_by_name(options["valid"]))
    if found is None or not base._core.scores_bins(found[0]._core.binning):
        return data, options
    return found[0], {**options, "valid": found[1] or None}


def _warn_of_bins_of_booster(data: Dataset) -> None:
    """Warn of a training set that has only the split points of a booster, and many features without any."""
    unused = len(data.unused_features)
    if data._has_bins_of_booster and unused:
        warn_caller(
            f"the training set was made like= a booster, and has bins at its splits alone: {unused} of "
            f"{data.num_features} features are not used. Make it with base= to go on from a booster, or without like="
        )
