"""The docs of one worker of several: its shards, binned as all workers' docs together would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.batches import Batches, Columns, ParquetFiles
from rustrank.data.dataset import Dataset, _bins
from rustrank.data.dataset_building import Reading, Rows, Text
from rustrank.inputs.queries import as_queries, numbers_if_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rustrank.distributed.shards import Shards

#: As `Dataset.from_letor` has them by default.
_MOST_FEATURES, _BUFFER = 1 << 20, 1 << 30
_ROWS = 65_536


def share_of(
    shards: Shards, numbers: Sequence[int], team: _rustrank.Team, num_threads: int | None
) -> Dataset:
    """Read the shards of this worker; all workers call this. A worker may have none."""
    full = [number for number in numbers if shards.shards[number].docs]
    files = shards.paths(full)
    reading = Reading(None, "error", num_threads)
    if shards.kind == "letor":
        return _of_letor(files, team, reading)
    return _of_parquet(shards, files, team, reading)


def _of_letor(files: list[Path], team: _rustrank.Team, reading: Reading) -> Dataset:
    plan = Text(_MOST_FEATURES, False, _BUFFER, None)
    bins = _bins(None, None, None, None)
    paths = [str(file) for file in files]
    core, ids = _rustrank.Dataset.from_letor(paths, plan, bins, reading, team)
    made = Dataset.__new__(Dataset)
    made._settle(core, None, numbers_if_all(ids))
    return made


def _of_parquet(
    shards: Shards, files: list[Path], team: _rustrank.Team, reading: Reading
) -> Dataset:
    roles = {"y": shards.columns["label"], "qid": shards.columns["qid"]}
    # A file without docs has columns, too.
    parquet = ParquetFiles.of(files or shards.paths([0]), roles, None, _ROWS)
    source = Batches(parquet)
    bins = _bins(None, None, None, None)
    assert isinstance(bins, tuple)  # noqa: S101 - there are no bins to be like
    sampler = _rustrank.Sampler(len(parquet.features), bins[:2], bins[3:], reading)
    columns = Columns()
    for batch, table in source.read() if files else ():
        columns.add(batch, table.num_rows)
        for block in table.blocks():
            sampler.push(block)
    binning = sampler.choose(team)
    if not files:
        return _nothing(binning, parquet.features)
    labels = np.concatenate(columns.y)
    builder = _rustrank.Builder(binning, len(labels), reading)
    for _, table in source.read():
        for block in table.blocks():
            builder.push(block)
    queries, ids = as_queries(columns.joined_qid(), None, len(labels))
    rows = Rows(labels, queries, None, None, None)
    made = Dataset.__new__(Dataset)
    made._settle(builder.finish(rows), parquet.features, ids)
    return made


def nothing_like(dataset: Dataset) -> Dataset:
    """Return a data set without docs, with the bins of another."""
    return _nothing(dataset._core.binning, dataset._names)


def _nothing(binning: _rustrank.Binning, names: list[str] | None) -> Dataset:
    made = Dataset.__new__(Dataset)
    made._settle(_rustrank.Dataset.empty(binning), names, np.empty(0, np.int64))
    return made


def names_of(dataset: Dataset) -> list[Any]:
    """Return what the queries of a share are known by."""
    return [str(one) for one in dataset.query_ids]
