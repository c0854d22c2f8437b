"""Small DataFrames of numbers are converted at once, to the values that their columns have one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rustrank as rr
from rustrank.inputs import tables
from rustrank.inputs.tables import Frame, as_table, in_one_piece

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDE = np.array([2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 7, 8])
DATA = rr.datasets.make_polynomial(num_queries=20, seed=3)
NAMES = [f"c{at}" for at in range(6)]
TABLE = pd.DataFrame(DATA.X[:, :6], columns=NAMES)

#: Columns of numbers of numpy.
COLUMNS: dict[str, dict[str, Any]] = {
    "doubles": {"a": np.arange(6) / 7, "b": np.array([np.nan, -0.0, 1e300, 5e-324, 1, 2])},
    "singles": {
        "a": np.array([0.1, np.nan, 3, 4, 5, 6], np.float32),
        "b": np.arange(6, dtype=np.float32),
    },
    "single and double": {"a": np.array([0.1, 2, 3, 4, 5, 6], np.float32), "b": np.arange(6) / 7},
    "wide integers": {"a": WIDE, "b": WIDE[::-1]},
    "wide integers and singles": {"a": WIDE, "b": np.array([0.1, 2, 3, 4, 5, 6], np.float32)},
    "both kinds of wide integers": {"a": WIDE, "b": WIDE.astype(np.uint64)},
    "integers and singles": {
        "a": WIDE.astype(np.int32),
        "b": np.array([0.1, 2, 3, 4, 5, 6], np.float32),
    },
    "narrow integers": {"a": np.arange(6, dtype=np.int8), "b": np.arange(6, dtype=np.uint16)},
    "truth and numbers": {"a": np.arange(6) > 2, "b": np.arange(6) / 7, "c": WIDE},
    "truth": {"a": np.arange(6) > 2, "b": np.arange(6) < 2},
}


def one_by_one(frame: Any) -> Frame:
    """Return a frame as a table that is converted column by column."""
    columns = [frame[name] for name in frame.columns]
    return Frame(columns, list(frame.columns), frame.shape[0])


def same_cells(frame: Any) -> None:
    expected = Frame.block(one_by_one(frame), slice(0, frame.shape[0]))
    found = list(as_table(frame).blocks())
    assert len(found) == 1
    cells = np.stack(found[0], axis=1) if isinstance(found[0], list) else found[0]
    values = np.stack([column.astype(np.float64) for column in expected], axis=1)
    assert cells.astype(np.float64).tobytes() == values.tobytes()
    if isinstance(frame, pd.DataFrame):
        assert cells.dtype == np.result_type(*expected)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_cells_are_those_of_the_columns(name: str, make: Any) -> None:
    frame = make(COLUMNS[name])
    same_cells(frame)
    some = frame.iloc[1:5] if isinstance(frame, pd.DataFrame) else frame.slice(1, 4)
    same_cells(some)


def test_columns_of_polars_without_a_value_are_missing_ones() -> None:
    for kind in (pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64):
        column = pl.Series([1, None, 3], dtype=kind)
        same_cells(pl.DataFrame({"a": column, "b": column}))
    wide = pl.Series([2**53 + 1, None, 3], dtype=pl.Int64)
    same_cells(pl.DataFrame({"a": wide, "b": pl.Series([0.1, 2, None], dtype=pl.Float32)}))


@pytest.fixture
def columns_refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refused(*_: Any) -> None:
        message = "a column was converted alone"
        raise AssertionError(message)

    with monkeypatch.context() as patched:
        patched.setattr(tables, "_floats_of", refused)
        patched.setattr(tables._ColumnsOf, "__getitem__", refused)
        yield


def booster() -> rr.Booster:
    data = rr.Dataset(TABLE, DATA.y, qid=DATA.qid)
    return rr.train(data, num_trees=3)


BOOSTER = booster()
SCORES = BOOSTER.predict(TABLE.to_numpy())


@pytest.mark.usefixtures("columns_refused")
def test_slices_are_scored_without_a_look_at_each_column() -> None:
    others = TABLE.assign(name="x", qid=DATA.qid)[["qid", *NAMES[::-1], "name"]]
    mixed = TABLE.assign(c9=1, c8=True)
    for frame in (TABLE, others, mixed):
        assert BOOSTER.predict(frame.iloc[3:11]).tolist() == SCORES[3:11].tolist()
        part = pl.from_pandas(frame).slice(3, 8)
        assert BOOSTER.predict(part).tolist() == SCORES[3:11].tolist()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_large_frames_are_not_converted_at_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Types that differ, so that pandas has no single array.
    frame = make(TABLE.astype({"c0": "float64"}))
    expected = BOOSTER.predict(frame)
    monkeypatch.setattr(tables, "_CELLS", 30)
    table = as_table(frame)
    assert table.whole() is None
    assert len(list(table.blocks())) == -(-len(TABLE) // 5)
    assert BOOSTER.predict(frame).tolist() == expected.tolist()
    assert in_one_piece(table).dtype == np.float64  # type: ignore[union-attr]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_ids_beside_numbers_stay_whole(make: Any) -> None:
    ids = np.where(DATA.qid % 2 == 0, 2**53, 2**53 + 1)
    frame = make(TABLE.assign(label=DATA.y, query=ids))
    data = rr.Dataset(frame, "label", qid="query")
    assert sorted(data.query_ids.tolist()) == [2**53, 2**53 + 1]


def test_frames_without_cells_have_no_scores() -> None:
    for frame in (TABLE.iloc[:0], pl.from_pandas(TABLE).slice(0, 0)):
        assert BOOSTER.predict(frame).shape == (0,)
