"""Datasets from everything people bring: the same content, whatever the container and the order."""

from __future__ import annotations

import gzip
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

ROWS, FEATURES = 400, 6


@pytest.fixture(scope="module")
def data() -> rr.datasets.Ranking:
    """Single-precision cells: few and many distinct ones, zeros, no missing ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    X[:, 1] = rng.integers(0, 3, ROWS)
    X[:, 2] = rng.integers(-5, 60, ROWS)
    X[rng.random(ROWS) < 0.6, 3] = 0
    y = rng.integers(0, 5, ROWS)
    qid = np.sort(rng.integers(0, 30, ROWS)) + 100
    return _ranking(X, y, qid)


def _ranking(X: NDArray[Any], y: NDArray[Any], qid: NDArray[Any]) -> rr.datasets.Ranking:
    return rr.datasets.Ranking(X, y.astype(np.float32), qid.astype(np.int64), ())


@pytest.fixture(scope="module")
def expected(data: rr.datasets.Ranking) -> int:
    return rr.Dataset(data.X, data.y, qid=data.qid).fingerprint


def _frame(X: NDArray[Any]) -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    return frame.astype({"c1": "int64", "c2": "int16"})


def _nullable(X: NDArray[Any]) -> pd.DataFrame:
    return _frame(X).astype({"c0": "Float32", "c1": "Int64"})


def _arrow(X: NDArray[Any]) -> pa.Table:
    return pa.table({f"c{i}": X[:, i].copy() for i in range(X.shape[1])})


def _chunked(X: NDArray[Any]) -> pa.Table:
    return pa.concat_tables([_arrow(X[:100]), _arrow(X[100:111]), _arrow(X[111:])])


class _Stream:
    """Only the Arrow stream protocol, as other libraries have it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


CONTAINERS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "float32, C order": lambda X: X,
    "float32, Fortran order": np.asfortranarray,
    "float64": lambda X: X.astype(np.float64),
    "float64, Fortran order": lambda X: np.asfortranarray(X.astype(np.float64)),
    "big-endian": lambda X: X.astype(">f4"),
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X: _read_only(X),
    "object": lambda X: X.astype(object),
    "masked": lambda X: np.ma.masked_array(X, np.zeros(X.shape, bool)),
    "unaligned": lambda X: _unaligned(X),
    "lists": lambda X: X.astype(np.float64).tolist(),
    "pandas, one type": lambda X: pd.DataFrame(X),
    "pandas, mixed": _frame,
    "pandas, nullable": _nullable,
    "polars": lambda X: pl.DataFrame(_frame(X)),
    "polars, one type": lambda X: pl.DataFrame(X),
    "arrow": _arrow,
    "arrow, chunked": _chunked,
    "arrow stream": lambda X: _Stream(_arrow(X)),
    "mapping": lambda X: {f"c{i}": X[:, i].tolist() for i in range(X.shape[1])},
    "mapping of arrays": lambda X: {f"c{i}": X[:, i] for i in range(X.shape[1])},
    "csr matrix": sp.csr_matrix,
    "bsr matrix": lambda X: sp.bsr_matrix(X, blocksize=(4, 2)),
    "coo array": sp.coo_array,
    "csc array": sp.csc_array,
    "csr, 64-bit indices": lambda X: _wide_indices(sp.csr_matrix(X)),
}


def _read_only(X: NDArray[Any]) -> NDArray[Any]:
    X = X.copy()
    X.flags.writeable = False
    return X


def _unaligned(X: NDArray[Any]) -> NDArray[Any]:
    bytes_ = np.empty(X.nbytes + 1, np.uint8)
    made = bytes_[1:].view(X.dtype).reshape(X.shape)
    made[:] = X
    assert not made.flags.aligned
    return made


def _wide_indices(matrix: sp.csr_matrix) -> sp.csr_matrix:
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_makes_the_same_dataset(
    container: str, data: rr.datasets.Ranking, expected: int
) -> None:
    X = CONTAINERS[container](data.X)
    assert rr.Dataset(X, data.y, qid=data.qid).fingerprint == expected


LABELS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "float32": lambda y: y.astype(np.float32),
    "uint8": lambda y: y.astype(np.uint8),
    "list": lambda y: y.tolist(),
    "column": lambda y: y[:, None],
    "pandas": pd.Series,
    "pandas, nullable": lambda y: pd.Series(y, dtype="Int32"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow, chunked": lambda y: pa.chunked_array([y[:7], y[7:]]),
}


@pytest.mark.parametrize("container", LABELS)
def test_labels_come_in_every_container(
    container: str, data: rr.datasets.Ranking, expected: int
) -> None:
    dataset = rr.Dataset(data.X, LABELS[container](data.y), qid=data.qid)
    assert dataset.fingerprint == expected
    np.testing.assert_array_equal(dataset.labels, data.y)


IDS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "int32": lambda q: q.astype(np.int32),
    "float64": lambda q: q.astype(np.float64) / 2,
    "text": lambda q: q.astype(str),
    "bytes": lambda q: q.astype("S"),
    "objects": lambda q: np.array([f"q{x}" for x in q], object),
    "tuples": lambda q: _tuples(q),
    "dates": lambda q: np.datetime64("2026-01-01") + q,
    "list": lambda q: q.tolist(),
    "list of text": lambda q: q.astype(str).tolist(),
    "list of numbers and text": lambda q: [int(x) if x % 2 else str(x) for x in q],
    "list of tuples": lambda q: [("market", int(x)) for x in q],
    "list of numpy integers": lambda q: [*q],
    "masked": lambda q: np.ma.masked_array(q, np.zeros(len(q), bool)),
    "pandas categories": lambda q: pd.Series(q.astype(str), dtype="category"),
    "polars": pl.Series,
    "polars text": lambda q: pl.Series(q.astype(str)),
    "arrow text": lambda q: pa.array(q.astype(str).tolist()),
    "arrow dictionary": lambda q: pa.array(q.astype(str).tolist()).dictionary_encode(),
}


def _tuples(q: NDArray[Any]) -> NDArray[Any]:
    made = np.empty(len(q), object)
    made[:] = [("market", int(x)) for x in q]
    return made


@pytest.mark.parametrize("container", IDS)
def test_query_ids_are_of_any_type(
    container: str, data: rr.datasets.Ranking, expected: int
) -> None:
    dataset = rr.Dataset(data.X, data.y, qid=IDS[container](data.qid))
    assert dataset.fingerprint == expected
    assert len(dataset.query_ids) == dataset.num_queries == len(np.unique(data.qid))


def test_group_sizes_are_query_ids_by_another_name(
    data: rr.datasets.Ranking, expected: int
) -> None:
    sizes = np.unique(data.qid, return_counts=True)[1]
    assert rr.Dataset(data.X, data.y, group=sizes).fingerprint == expected
    assert rr.Dataset(data.X, data.y, group=sizes.tolist()).fingerprint == expected


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from([1, 2, 4]))
def test_order_of_rows_and_threads_change_nothing(
    data: rr.datasets.Ranking, expected: int, seed: int, threads: int
) -> None:
    order = np.random.default_rng(seed).permutation(ROWS)
    X, y, qid = data.X[order], data.y[order], data.qid[order]
    dataset = rr.Dataset(X, y, qid=qid, num_threads=threads)
    assert dataset.fingerprint == expected
    np.testing.assert_array_equal(dataset.labels, y)
    first = list(dict.fromkeys(qid.tolist()))
    assert dataset.query_ids.tolist() == first
    assert dataset.query_sizes.tolist() == [int((qid == one).sum()) for one in first]


def test_weights_and_base_scores_are_part_of_the_content(
    data: rr.datasets.Ranking, expected: int
) -> None:
    ids = np.unique(data.qid)
    weights = np.linspace(0.5, 2, len(ids))
    by_rank = rr.Dataset(data.X, data.y, qid=data.qid, query_weight=weights)
    by_id = dict(zip(ids.tolist(), weights.tolist(), strict=True))
    order = np.random.default_rng(1).permutation(ROWS)
    shuffled = rr.Dataset(data.X[order], data.y[order], qid=data.qid[order], query_weight=by_id)
    assert by_rank.fingerprint == shuffled.fingerprint != expected
    rows = np.linspace(0, 1, ROWS)
    for name in ("row_weight", "base_score"):
        given: dict[str, Any] = {name: rows}
        one = rr.Dataset(data.X, data.y, qid=data.qid, **given)
        given = {name: rows[order]}
        two = rr.Dataset(data.X[order], data.y[order], qid=data.qid[order], **given)
        assert one.fingerprint == two.fingerprint != expected


def test_batches_make_the_same_dataset(data: rr.datasets.Ranking, expected: int) -> None:
    def batches() -> Any:
        for start in range(0, ROWS, 37):
            rows = slice(start, start + 37)
            yield data.X[rows], data.y[rows], data.qid[rows]

    assert rr.Dataset.from_batches(batches).fingerprint == expected
    assert rr.Dataset.from_batches(list(batches())).fingerprint == expected
    named = [{"X": X, "y": y, "qid": qid.astype(str)} for X, y, qid in batches()]
    assert rr.Dataset.from_batches(named).fingerprint == expected
    with pytest.raises(TypeError, match="returns a new iterator"):
        rr.Dataset.from_batches(batches())


def test_few_rows_in_the_sample_are_the_same_rows_everywhere(data: rr.datasets.Ranking) -> None:
    whole = rr.Dataset(data.X, data.y, qid=data.qid, sample_rows=90, max_bins=16)
    order = np.random.default_rng(5).permutation(ROWS)
    X, y, qid = data.X[order], data.y[order], data.qid[order]
    parts = [(X[i : i + 50], y[i : i + 50], qid[i : i + 50]) for i in range(0, ROWS, 50)]
    batched = rr.Dataset.from_batches(parts, sample_rows=90, max_bins=16)
    frame = rr.Dataset(pl.DataFrame(X), y, qid=qid, sample_rows=90, max_bins=16)
    assert whole.fingerprint == batched.fingerprint == frame.fingerprint


def test_parquet_is_read_in_batches(
    data: rr.datasets.Ranking, expected: int, tmp_path: Path
) -> None:
    table = _arrow(data.X).append_column("label", pa.array(data.y))
    table = table.append_column("qid", pa.array(data.qid))
    pq.write_table(table[:150], tmp_path / "a.parquet", row_group_size=40)
    pq.write_table(table[150:], tmp_path / "b.parquet", row_group_size=99)
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    dataset = rr.Dataset.from_parquet(paths, batch_rows=64)
    assert dataset.fingerprint == expected
    assert dataset.feature_names == [f"c{i}" for i in range(FEATURES)]
    with pytest.raises(rr.DataError, match="column 'query' is not there"):
        rr.Dataset.from_parquet(paths[0], qid="query")


def test_text_plain_and_gzip_is_the_array_it_was_written_from(
    data: rr.datasets.Ranking, expected: int, tmp_path: Path
) -> None:
    data.to_letor(tmp_path / "a.txt")
    text = (tmp_path / "a.txt").read_bytes()
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    for name in ("a.txt", "a.txt.gz"):
        for buffer in (1 << 30, 0):
            dataset = rr.Dataset.from_letor(tmp_path / name, buffer_bytes=buffer)
            assert dataset.fingerprint == expected
            assert dataset.query_ids.tolist() == np.unique(data.qid).tolist()


def test_numbers_no_single_can_hold_are_rounded_alike_everywhere(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X, y, qid = rng.normal(size=(300, 4)) / 3, np.arange(300) % 2, np.arange(300) // 10
    expected = rr.Dataset(X, y, qid=qid).fingerprint
    assert rr.Dataset(X.astype(np.float32), y, qid=qid).fingerprint == expected
    assert rr.Dataset(pl.DataFrame(X), y, qid=qid).fingerprint == expected
    lines = [
        f"{label} qid:{q} " + " ".join(f"{i}:{value!r}" for i, value in enumerate(row.tolist(), 1))
        for row, label, q in zip(X, y, qid, strict=True)
    ]
    (tmp_path / "long.txt").write_text("\n".join(lines), "ascii")
    assert rr.Dataset.from_letor(tmp_path / "long.txt").fingerprint == expected
    marked = np.where(X > 0.3, -999.9, X)
    missing = rr.Dataset(np.where(X > 0.3, math.nan, X), y, qid=qid).fingerprint
    for values in (marked, marked.astype(np.float32)):
        assert rr.Dataset(values, y, qid=qid, missing=-999.9).fingerprint == missing


def test_validation_data_share_the_bins_of_the_training_set(
    data: rr.datasets.Ranking, tmp_path: Path
) -> None:
    train = rr.Dataset(data.X, data.y, qid=data.qid, max_bins=20)
    X, y, qid = data.X[:90] * 1.5, data.y[:90], data.qid[:90]
    valid = rr.Dataset(X, y, qid=qid, like=train)
    for feature in range(FEATURES):
        np.testing.assert_array_equal(valid.thresholds(feature), train.thresholds(feature))
    _ranking(X, y, qid).to_letor(tmp_path / "v.txt")
    assert rr.Dataset.from_letor(tmp_path / "v.txt", like=train).fingerprint == valid.fingerprint
    batched = rr.Dataset.from_batches([(X, y, qid)], like=train)
    assert batched.fingerprint == valid.fingerprint


def test_missing_values_have_one_meaning(data: rr.datasets.Ranking) -> None:
    X = data.X.copy()
    X[::7, 0] = math.nan
    expected = rr.Dataset(X, data.y, qid=data.qid).fingerprint
    marked = np.where(np.isnan(X), -999.0, X).astype(np.float32)
    assert rr.Dataset(marked, data.y, qid=data.qid, missing=-999).fingerprint == expected
    masked = np.ma.masked_array(marked, marked == -999)
    assert rr.Dataset(masked, data.y, qid=data.qid).fingerprint == expected
    columns = {f"c{i}": [None if math.isnan(x) else float(x) for x in X[:, i]] for i in range(6)}
    assert rr.Dataset(pl.DataFrame(columns), data.y, qid=data.qid).fingerprint == expected
    assert rr.Dataset(pa.table(columns), data.y, qid=data.qid).fingerprint == expected
    nullable = pd.DataFrame(columns).astype("Float64")
    assert rr.Dataset(nullable, data.y, qid=data.qid).fingerprint == expected
    X[3, 5] = math.inf
    settled = rr.Dataset(X, data.y, qid=data.qid, infinite="missing")
    X[3, 5] = math.nan
    assert settled.fingerprint == rr.Dataset(X, data.y, qid=data.qid).fingerprint


def test_names_come_from_columns_and_are_checked(data: rr.datasets.Ranking) -> None:
    train = rr.Dataset(_frame(data.X), data.y, qid=data.qid)
    assert train.feature_names == ["c0", "c1", "c2", "c3", "c4", "c5"]
    np.testing.assert_array_equal(train.thresholds("c1"), [0.5, 1.5])
    moved = _frame(data.X)[["c1", "c0", "c2", "c3", "c4", "c5"]].assign(url="text")
    assert rr.Dataset(moved, data.y, qid=data.qid, like=train).fingerprint == train.fingerprint
    lacking = moved.drop(columns=["c0", "c4"])
    with pytest.raises(rr.DataError, match=r"X lacks 2 features of `like`: .* also 'c0', 'c4'$"):
        rr.Dataset(lacking, data.y, qid=data.qid, like=train)
    twice = moved.rename(columns={"url": "c0"})
    with pytest.raises(rr.DataError, match="two features have the name 'c0'"):
        rr.Dataset(twice, data.y, qid=data.qid, like=train)
    with pytest.raises(rr.DataError, match="two features have the name 'a'"):
        rr.Dataset(data.X[:, :2], data.y, qid=data.qid, feature_names=["a", "a"])
    for number in (6, -1, 2**70):
        with pytest.raises(IndexError, match=f"no feature {number}: expected 0 to 5"):
            train.thresholds(number)
    with pytest.raises(KeyError, match=r"there is no feature 'C1'; did you mean c1"):
        train.thresholds("C1")
    with pytest.raises(TypeError, match="expected a number or a name"):
        train.thresholds(1.5)  # type: ignore[arg-type]


def test_a_dataset_says_what_it_is(data: rr.datasets.Ranking) -> None:
    dataset = rr.Dataset(data.X, data.y, qid=data.qid)
    assert repr(dataset).startswith("<Dataset: 400 docs, 30 queries, 6 features, ")
    assert repr(dataset).endswith(" KiB>")
    one = rr.Dataset([[1, 2], [2, 1]], [0, 1], group=[2])
    assert repr(one).startswith("<Dataset: 2 docs, 1 query, 2 features, ")
    assert len(dataset) == ROWS
    lean = rr.Dataset(data.X, data.y, qid=data.qid, query_ranks=False)
    assert lean.memory < data.X.nbytes + ROWS * 20
    # Values are kept, which training may rank within queries.
    assert 0 <= dataset.memory - lean.memory - data.X.astype(np.float32).nbytes <= ROWS * 20


def test_unused_features_are_named_in_one_warning(data: rr.datasets.Ranking) -> None:
    X = data.X.copy()
    X[:, 2] = 7
    X[:, 4] = math.nan
    said = "2 of 6 features have one value, or none, in the data and are not used: f2, f4$"
    with pytest.warns(rr.RustrankWarning, match=said) as seen:
        dataset = rr.Dataset(X, data.y, qid=data.qid)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert dataset.unused_features == [2, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rr.Dataset(X, data.y, qid=data.qid, like=dataset)
        # Said already; and of fewer rows, where no other feature is constant.
        rr.Dataset(X, data.y, qid=data.qid)
        rr.LambdaMART(n_estimators=1).fit(X, data.y, qid=data.qid)
    X[:, 5] = 0
    with pytest.warns(rr.RustrankWarning, match="3 of 6 features .*: f2, f4, f5$"):
        rr.Dataset(X, data.y, qid=data.qid)
    names = [f"of another set {at}" for at in range(6)]
    with pytest.warns(rr.RustrankWarning, match="3 of 6 features .*: of another set 2, "):
        rr.Dataset(X, data.y, qid=data.qid, feature_names=names)


def test_a_dropped_warning_of_constant_features_comes_later(data: rr.datasets.Ranking) -> None:
    X = data.X.copy()
    X[:, 2] = 7
    docs, trees = (X, data.y, data.qid), rr.LambdaMART(n_estimators=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rr.cross_validate({"trees": trees}, X, data.y, qid=data.qid, folds=2)
        rr.tune(trees, docs, {"l2": [0.0, 1.0]}, folds=2)
    with pytest.warns(rr.RustrankWarning, match="1 of 6 features have one value"):
        trees.fit(X, data.y, qid=data.qid)


def test_narrow_features_share_a_byte() -> None:
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 2, (500, 40)).astype(np.float32)
    dataset = rr.Dataset(flags, np.zeros(500), group=[500])
    assert dataset.memory < 500 * (8 + 30)


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    lines = [f"{at % 3} qid:{at // 4} 1:{at * 7 % 11} 2:{at % 5}\n" for at in range(40)]
    (tmp_path / "all.txt").write_text("".join(lines))
    with gzip.open(tmp_path / "one.txt.gz", "wt") as file:
        file.write("".join(lines[:12]))
    (tmp_path / "two.txt").write_text("".join(lines[12:]))
    whole = rr.Dataset.from_letor(tmp_path / "all.txt")
    parts = rr.Dataset.from_letor([tmp_path / "one.txt.gz", str(tmp_path / "two.txt")])
    assert parts.fingerprint == whole.fingerprint
    assert (parts.query_ids == whole.query_ids).all()
    (tmp_path / "two.txt").write_text("".join(lines[10:]))
    with pytest.raises(rr.DataError, match="qid `2` stands in an earlier file, too"):
        rr.Dataset.from_letor([tmp_path / "one.txt.gz", tmp_path / "two.txt"])
    with pytest.raises(rr.ParamError, match="path: got no files"):
        rr.Dataset.from_letor([])
    with pytest.raises(TypeError, match="path: got 3, expected a path, or a list"):
        rr.Dataset.from_letor(3)  # type: ignore[arg-type]
