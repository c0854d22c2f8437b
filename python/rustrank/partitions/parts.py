"""The dataset of a worker's part of the documents, with the bins that one process would choose for all.

All workers call the functions of this module together. What a worker says of its part is exchanged as JSON, so that
columns of other names, queries in two parts and errors of one worker end in an error on all of them.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.data import dataset_building as building
from rustrank.data.dataset import Dataset
from rustrank.data.empty import empty_dataset
from rustrank.errors import CommError, DataError, listed, wrong_kind
from rustrank.inputs.categories import (
    Categories,
    PartCategories,
    categories_of_part,
    joined_categories,
    numbered_like,
)
from rustrank.inputs.tables import as_names, as_table, columns_of, named_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from rustrank.inputs.tables import Table
    from rustrank.model.booster import Booster

#: The columns of a part that are no features.
_COLUMNS = ("y", "qid", "query_weight", "row_weight", "base_score", "position")
_PARTS = ("X", *_COLUMNS)


def part_of(name: str, given: Any) -> dict[str, Any] | None:
    """Return the documents of a worker by the names of `Dataset`'s arguments; None if it has none."""
    if given is None:
        return None
    if isinstance(given, tuple) and len(given) == 3:
        given = dict(zip(("X", "y", "qid"), given, strict=True))
    if not isinstance(given, Mapping) or not {"X", "y", "qid"} <= set(given) <= set(_PARTS):
        expected = f"(X, y, qid), a mapping with {listed(_PARTS)}, or None for no docs"
        raise wrong_kind(name, given, expected, "part")
    part = {key: one for key, one in given.items() if one is not None}
    return part if as_table(part["X"]).num_rows else None


def agreed(team: _rustrank.Team, own: Callable[[], bytes]) -> list[bytes]:
    """Return what each worker says, by rank; the error of one is raised there, and a `CommError` on the others."""
    try:
        message = own()
    except BaseException as error:
        with contextlib.suppress(CommError):
            team.gather(b"", failure=str(error) or type(error).__name__)
        raise
    return team.gather(message)


class PartsOfTraining:
    """The parts of the training set: bins for all of them, and the dataset of this worker's."""

    def __init__(
        self,
        part: dict[str, Any] | None,
        team: _rustrank.Team,
        *,
        base: Booster | None = None,
        feature_names: Any = None,
        max_bins: int | None = None,
        sample_rows: int | None = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
        categorical: Any = None,
    ) -> None:
        self.part, self.team = part, team
        self.given, self.categorical = as_names(feature_names), categorical
        self.missing = building.missing_of(missing, None, base)
        self.reading = building.ReadOptions(self.missing, infinite, num_threads)
        self.choice = (max_bins, sample_rows)
        self.base = None if base is None else building.BaseIfNeeded(base)

    def dataset(self) -> Dataset:
        """Return the dataset of this worker's part."""
        every = self._columns()
        first = next((one for one in every if one), None)
        if first is None:
            raise DataError("no worker has docs", code="data.empty")
        _check_alike(every)
        like = self._like(first)
        return _checked(self.team, lambda: self._own(like), "the training set")

    def _columns(self) -> list[dict[str, Any] | None]:
        """Exchange the columns of the parts: None of a worker without documents."""

        def own() -> bytes:
            if self.part is None:
                return b"null"
            table = self._table()
            told = {
                "names": building.checked_names(self.given, table),
                "features": table.num_features,
                "columns": sorted(key for key in self.part if key in _COLUMNS),
            }
            return json.dumps(told).encode()

        return [json.loads(text) for text in agreed(self.team, own)]

    def _table(self) -> Table:
        """Return the features of the part."""
        assert self.part is not None  # noqa: S101 - asked of workers with docs
        named = {key: self.part[key] for key in _COLUMNS if key in self.part}
        return as_table(named_columns(self.part["X"], named)[0])

    def _table_like(self, first: dict[str, Any]) -> Table:
        """Return the features of the part, in the order of the first part."""
        expected = (first["features"], first["names"])
        return columns_of(self._table(), expected, "X", "the first part")

    def _categories(self, first: dict[str, Any]) -> Categories:
        """Exchange the categories of the parts."""

        def own() -> bytes:
            if self.part is None:
                return b"null"
            table, names = self._table_like(first), first["names"]
            found = categories_of_part(table, self.categorical, names, self.missing)
            return json.dumps([found.features, list(found.found.items()), found.truths]).encode()

        told = [json.loads(text) for text in agreed(self.team, own)]
        features = [None if one is None else one[0] for one in told]
        _check_same("categorical features", features, first["names"])
        known = [one for one in told if one is not None]
        return joined_categories([PartCategories(one[0], dict(one[1]), one[2]) for one in known])

    def _like(self, first: dict[str, Any]) -> Dataset:
        """Return a dataset without documents, with the bins of all."""
        known = self._categories(first)
        bins = building.bins_of(None, first["names"], *self.choice, False, known)
        assert isinstance(bins, tuple)  # noqa: S101 - without `like`
        sampler = _rustrank.Sampler(first["features"], bins, self.reading)

        def pushed() -> bytes:
            if self.part is not None:
                table = numbered_like(self._table_like(first), known, self.missing)
                for block in table.blocks():
                    sampler.push(block)
            return b""

        agreed(self.team, pushed)
        binning = sampler.choose(self.team)
        base = None if self.base is None else self.base.for_bins(binning)
        has_scores = "base_score" in first["columns"]
        made = empty_dataset(binning, first["names"], base, has_scores=has_scores)
        made._missing = self.missing
        return made

    def _own(self, like: Dataset) -> Dataset:
        if self.part is None:
            return like
        return _like_first(self.part, like, self.reading)


def valid_part(
    team: _rustrank.Team, name: str, part: dict[str, Any] | None, like: Dataset, infinite: str
) -> Dataset:
    """Return the dataset of this worker's part of a validation set."""
    reading = building.ReadOptions(like._missing, infinite, None)

    def own() -> Dataset:
        if part is None:
            has_scores = like._core.has_base_scores
            return empty_dataset(like._core.binning, like._names, like._base, has_scores=has_scores)
        return _like_first(part, like, reading)

    return _checked(team, own, f"the validation set {name}")


def _like_first(part: dict[str, Any], like: Dataset, reading: building.ReadOptions) -> Dataset:
    missing = None if math.isnan(like._missing) else like._missing
    more: dict[str, Any] = {
        "infinite": reading.infinite,
        "num_threads": reading.num_threads,
        "missing": missing,
    }
    return Dataset(**part, like=like, **more)


def _checked(team: _rustrank.Team, made: Callable[[], Dataset], what: str) -> Dataset:
    """Make the dataset of a worker; an error on all of them if one fails, or two have a query."""
    found = []

    def own() -> bytes:
        found.append(made())
        return what.encode()

    agreed(team, own)
    names = [str(one) for one in found[0].query_ids]
    team.check_queries(found[0]._core, names, False)
    return found[0]


def _check_alike(every: list[dict[str, Any] | None]) -> None:
    """Raise an error, the same on all workers, if parts have other columns."""
    known = [one for one in every if one]
    is_named = all(one["names"] is not None for one in known)
    _check_same(
        "features",
        [one and (sorted(one["names"]) if is_named else one["features"]) for one in every],
    )
    _check_same("columns", [one and one["columns"] for one in every])


def _check_same(what: str, every: list[Any], names: list[str] | None = None) -> None:
    """Raise an error if two workers have something else; None where there are no documents."""
    known = [(rank, one) for rank, one in enumerate(every) if one is not None]
    first_rank, first = known[0]
    for rank, one in known[1:]:
        if one != first:
            shown = [
                listed([names[at] for at in each] if names else each)
                if isinstance(each, list)
                else str(each)
                for each in (first, one)
            ]
            message = (
                f"the parts of ranks {first_rank} and {rank} have other {what}: got {shown[0] or 'none'} and "
                f"{shown[1] or 'none'}, expected the same"
            )
            raise DataError(message, code="part")
