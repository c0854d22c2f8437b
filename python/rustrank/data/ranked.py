"""Ranks within queries of datasets that were made without them, for models that have learned from ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rustrank.data.dataset_building import is_booster
from rustrank.errors import DataError, ParamError
from rustrank.inputs.docs import is_dataset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank.data.dataset import Dataset
    from rustrank.model.booster import Booster


def can_have_ranks(dataset: Dataset) -> bool:
    """Return whether the dataset has ranks within queries, or has kept its values, so that `with_ranks` adds them."""
    return dataset.query_ranks or dataset._core.keeps_values


def with_ranks(dataset: Dataset, like: Dataset | None = None) -> Dataset:
    """Return the dataset with ranks within queries as features; a validation set is ``like`` its training set.

    A training set keeps the result, so that models that have learned from it can be evaluated on either. A
    validation set does not: the bins are those of one training set, and it may be trained on itself later.
    """
    if dataset.query_ranks:
        return dataset
    if like is None and dataset._ranked is not None:
        return dataset._ranked
    core = dataset._core.with_query_ranks(None if like is None else like._core.binning, None)
    if core is None:
        raise ValueError("the values of the dataset were not kept")
    ranked = dataset.of_same_docs(core)
    if like is None:
        dataset._ranked = ranked
    return ranked


def sets_with_ranks(
    data: Dataset, valid: Mapping[str, Dataset]
) -> tuple[Dataset, dict[str, Dataset]] | None:
    """Return a training set and its validation sets with ranks within queries; None if one cannot have them."""
    if not all(map(can_have_ranks, (data, *valid.values()))):
        return None
    ranked = with_ranks(data)
    return ranked, {
        name: ranked if one is data else with_ranks(one, like=ranked) for name, one in valid.items()
    }


def as_booster_sees(booster: Booster, dataset: Dataset) -> Dataset:
    """Return the dataset with ranks within queries if the booster has them and the dataset can have them."""
    if not booster.query_ranks or 2 * dataset.num_features != booster.num_features:
        return dataset
    if dataset._ranked is not None and booster._core.scores_bins(dataset._ranked._core.binning):
        return dataset._ranked
    core = dataset._core.with_query_ranks(booster._core.binning(), None)
    if core is None:
        message = (
            "the model ranks features within queries, and the dataset has no ranks: make it like= the model, or "
            "with query_ranks=True"
        )
        raise DataError(message, code="query_ranks")
    return dataset.of_same_docs(core)


def ranks_of_base(base: Booster | None, like: Any, query_ranks: Any) -> tuple[Any, Any]:
    """Return ``like`` and ``query_ranks`` of a dataset with a base: with ranks if all of the base has them.

    Training goes on from such a base with ranks only. Without ``like`` these are ranks unless the caller has
    said otherwise; a ``like`` gets them if it has kept its values.
    """
    if base is None or not base._core.ranks_features or query_ranks is False:
        return like, query_ranks
    if like is None:
        return None, True
    if not (is_booster(like) or is_dataset(like)) or like.query_ranks:
        return like, query_ranks
    if 2 * like.num_features != base.num_features:
        return like, query_ranks
    if is_dataset(like) and can_have_ranks(like):
        return with_ranks(like), query_ranks
    message = (
        "like: the base ranks features within queries, and `like` has no ranks; make `like` with query_ranks=True, "
        "or leave it out"
    )
    raise ParamError(message, code="like")
