"""The rows D1 to D23 of the fault matrix: exception, place, and hint."""

from __future__ import annotations

import errno
import gzip
import math
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
Y = np.arange(200) % 3
QID = np.arange(200) // 20
SIZES = np.full(10, 20)
SCORES = X[:, 0].astype(np.float64)


def _changed(array: Any, at: Any, value: Any, dtype: Any = np.float64) -> Any:
    array = np.array(array, dtype)
    array[at] = value
    return array


def _with_inf() -> Any:
    values = X.copy()
    values[17, 3] = math.inf
    return values


@dataclass
class Fault:
    """A call that must fail, and how."""

    row: str
    call: Callable[[], object]
    says: str
    code: str
    error: type[Exception] = rr.DataError
    place: dict[str, Any] = field(default_factory=dict)


def _dataset(y: Any = Y, **more: Any) -> rr.Dataset:
    return rr.Dataset(more.pop("X", X), y, **({"qid": QID} | more))


FAULTS = [
    Fault(
        "D1",
        lambda: _dataset(_changed(Y, 3, math.nan)),
        r"label\[3\] is NaN \(query 0\)",
        "label.nan",
        place={"row": 3},
    ),
    Fault(
        "D2",
        lambda: _dataset(_changed(Y, 25, -math.inf)),
        r"label\[25\] is infinite \(query 1\)",
        "label.infinite",
        place={"row": 25},
    ),
    Fault(
        "D3",
        lambda: _dataset(_changed(Y, 4, -1)),
        r"label\[4\] = -1 is negative",
        "label.negative",
        place={"row": 4},
    ),
    Fault(
        "D4",
        lambda: rr.evaluate(SCORES, _changed(Y, 7, 0.5), qid=QID),
        r"label\[7\].*gain=.linear.",
        "label.fraction",
        place={"row": 7},
    ),
    Fault(
        "D5",
        lambda: rr.evaluate(SCORES, _changed(Y, 7, 40), qid=QID),
        r"label\[7\].*31 levels.*gain=.linear.",
        "label.large",
        place={"row": 7},
    ),
    Fault(
        "D6",
        lambda: _dataset(_changed(Y, 9, 1e30)),
        r"label\[9\] = 1e30 is too large",
        "label.large",
        place={"row": 9},
    ),
    Fault(
        "D6",
        lambda: _dataset(_changed(Y, 9, 1e300)),
        r"label\[9\] = .* is too large",
        "label.large",
        place={"row": 9},
    ),
    Fault(
        "D7",
        lambda: _dataset(qid=None, group=SIZES[:9]),
        "groups cover 180 of 200 rows",
        "group.sum",
    ),
    Fault(
        "D7",
        lambda: _dataset(qid=None, group=[*SIZES, 20]),
        "groups cover 220 of 200 rows",
        "group.sum",
    ),
    Fault(
        "D8",
        lambda: _dataset(qid=None, group=[*SIZES, 0]),
        r"group\[10\] = 0: expected a positive number of rows",
        "group.size",
    ),
    Fault(
        "D9",
        lambda: _dataset(qid=None, group=[*SIZES, -20]),
        r"group\[10\] = -20",
        "group.size",
    ),
    Fault("D11", lambda: _dataset([], X=X[:0], qid=[]), "the data have no rows", "data.empty"),
    Fault(
        "D11",
        lambda: _dataset([], X=X[:0], qid=None, group=np.array([], int)),
        "the data have no rows",
        "data.empty",
    ),
    Fault("D11", lambda: rr.Dataset.from_batches([]), "the data have no rows", "data.empty"),
    Fault(
        "D12",
        lambda: _dataset(X=_with_inf()),
        r"a feature value is infinite \(row 17, .*feature 3\).*infinite=\"missing\"",
        "feature.infinite",
        place={"row": 17, "feature": "3"},
    ),
    Fault(
        "D12",
        lambda: rr.Dataset.from_batches([(X, Y, QID), (_with_inf(), Y, QID)]),
        r"a feature value is infinite \(row 217, .*feature 3\)",
        "feature.infinite",
        place={"row": 217, "feature": "3"},
    ),
    Fault(
        "D14",
        lambda: _dataset(QID % 3).require_pairs(),
        "no pairs to learn from: in every query all labels are equal",
        "pairs",
    ),
    Fault(
        "D14",
        lambda: _dataset(qid=np.arange(200)).require_pairs(),
        "no pairs to learn from: every query has one document",
        "pairs",
    ),
    Fault(
        "D15",
        lambda: _dataset(row_weight=_changed(np.ones(200), 8, math.nan)),
        r"row_weight\[8\] = NaN",
        "weight",
        place={"row": 8},
    ),
    Fault(
        "D15",
        lambda: _dataset(query_weight=_changed(np.ones(10), 8, -1)),
        r"query_weight\[8\] = -1",
        "weight",
        place={"query": "8"},
    ),
    Fault(
        "D15",
        lambda: _dataset(row_weight=np.ones(199)),
        "row_weight has the wrong length: got 199, expected 200",
        "length",
    ),
    Fault(
        "D15",
        lambda: _dataset(query_weight={0: 1.0, 1: 2.0}),
        "query_weight has no weight for query 2",
        "weight",
        place={"query": "2"},
    ),
    Fault(
        "D16",
        lambda: _dataset(X=X[:, :3], like=_dataset()),
        "another number of features: got 3, expected 5",
        "features",
    ),
    Fault(
        "lengths",
        lambda: _dataset(Y[:199]),
        "y has the wrong length: got 199, expected 200",
        "length",
    ),
    Fault(
        "lengths",
        lambda: _dataset(qid=QID[:100]),
        "qid has the wrong length: got 100, expected 200",
        "length",
    ),
    Fault("queries", lambda: _dataset(qid=None), "neither is given", "query.none"),
    Fault("queries", lambda: _dataset(group=SIZES), "both are given", "query.both"),
    Fault(
        "queries",
        lambda: _dataset(qid=_changed(QID, 5, math.nan)),
        r"qid\[5\] is missing",
        "qid.missing",
        place={"row": 5},
    ),
    Fault(
        "queries",
        lambda: _dataset(qid=_changed(QID, 6, None, object)),
        r"qid\[6\] is missing",
        "qid.missing",
        place={"row": 6},
    ),
    Fault(
        "P1",
        lambda: _dataset(max_bins=1),
        "max_bins: got 1, expected a whole number from 2 to 255",
        "max_bins",
        rr.ParamError,
    ),
    Fault(
        "P1",
        lambda: _dataset(sample_rows=1),
        "sample_rows: got 1, expected a whole number from 2 to",
        "sample_rows",
        rr.ParamError,
    ),
    Fault(
        "P1",
        lambda: _dataset(num_threads=0),
        "num_threads: got 0, expected .* 1 to 1024, or None for all cores",
        "num_threads",
        rr.ParamError,
    ),
    Fault(
        "P1",
        lambda: _dataset(infinite="keep"),
        'infinite is not known: got "keep"',
        "infinite",
        rr.ParamError,
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.row} {f.code}")
def test_bad_data_are_named_with_their_place(fault: Fault) -> None:
    with pytest.raises(fault.error, match=fault.says) as caught:
        fault.call()
    error = caught.value
    assert isinstance(error, rr.RustrankError)
    assert isinstance(error, ValueError)
    assert error.code == fault.code
    for name, value in fault.place.items():
        assert getattr(error, name) == value
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(again), again.code, again.row) == (str(error), error.code, error.row)


def test_d13_constant_and_missing_features_are_counted() -> None:
    values = X.copy()
    values[:, 1], values[:, 2] = 4, math.nan
    with pytest.warns(rr.RustrankWarning, match="2 of 5 features"):
        assert _dataset(X=values).unused_features == [1, 2]


def _letor(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


TEXT_FAULTS = {
    "D10 qid returns": ([b"1 qid:1 1:2", b"0 qid:2 1:3", b"1 qid:1 1:4"], "qid.returns", 3),
    "D17 index 4e9": ([b"1 qid:1 1:2", b"1 qid:1 4000000000:1"], "letor.index", 2),
    "D17 index 2^31-1": ([b"1 qid:1 2147483647:1"], "letor.index", 1),
    "D17 index 1e20": ([b"1 qid:1 1e20:1"], "letor.index", 1),
    "D17 index of 20 digits": ([b"1 qid:1 99999999999999999999:1"], "letor.index", 1),
    "D18 index 0": ([b"1 qid:1 0:1"], "letor.index", 1),
    "D18 index negative": ([b"1 qid:1 -2:1"], "letor.index", 1),
    "D18 index falls": ([b"1 qid:1 3:1 2:1"], "letor.order", 1),
    "D18 index twice": ([b"1 qid:1 3:1 3:1"], "letor.order", 1),
    "D19 value abc": ([b"1 qid:1 1:1", b"", b"# x", b"1 qid:1 1:abc"], "letor.value", 4),
    "D20 garbage": ([bytes(range(1, 10)) + bytes(range(11, 256)) * 40], None, 1),
    "D20 invalid UTF-8": ([b"1 qid:1 1:1", b"1 qid:\xff\xfe 1:1"], None, 2),
    "D1 label": ([b"nan qid:1 1:1"], "letor.label", 1),
    "no qid": ([b"1 1:1 2:2"], "letor.qid", 1),
    "D12 infinite": ([b"1 qid:1 1:1", b"1 qid:1 1:inf"], "letor.value", 2),
}


@pytest.mark.parametrize("name", TEXT_FAULTS)
def test_bad_text_is_named_with_file_line_and_column(name: str, tmp_path: Path) -> None:
    lines, code, line = TEXT_FAULTS[name]
    path = _letor(tmp_path / "bad.txt", lines)
    for threads in (1, 4):
        with pytest.raises(rr.DataError, match=rf"bad\.txt:{line}:\d+") as caught:
            rr.Dataset.from_letor(path, num_threads=threads)
        error = caught.value
        assert (error.line, error.path) == (line, str(path))
        assert error.column is not None
        assert code in (None, error.code)
        assert len(str(error)) < 500


def test_d17_the_hint_names_the_cap(tmp_path: Path) -> None:
    path = _letor(tmp_path / "wide.txt", [b"1 qid:1 2000000:1", b"0 qid:1 1:1"])
    with pytest.raises(rr.DataError, match="max_features"):
        rr.Dataset.from_letor(path)
    with pytest.warns(rr.RustrankWarning, match="1,999,998 of 2,000,000 features"):
        dataset = rr.Dataset.from_letor(path, max_features=2_000_000)
    assert dataset.num_features == 2_000_000


#: Runs in a process of its own, whose memory is then its own too.
_LOAD = """
import resource, sys
import rustrank as rr
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    rr.Dataset.from_letor(sys.argv[1])
except rr.DataError as error:
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(error.code, (after - before) // 1024)
"""


def _load_alone(path: Path) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    code, mebibytes = done.stdout.split()
    return code, int(mebibytes)


def test_d20_a_line_of_a_gigabyte_ends_in_bounded_memory(tmp_path: Path) -> None:
    block = b"1" * (1 << 20)
    plain = tmp_path / "long.txt"
    with plain.open("wb") as file:
        for _ in range(1024):
            file.write(block)
    member = gzip.compress(block * 64, compresslevel=1)
    packed = tmp_path / "long.txt.gz"
    packed.write_bytes(member * 16)
    for path in (plain, packed):
        code, mebibytes = _load_alone(path)
        assert code == "text.line_long"
        assert mebibytes < 400
    plain.unlink()


def test_d20_a_truncated_gzip_is_named(tmp_path: Path) -> None:
    lines = [b"1 qid:1 1:%d" % i for i in range(5000)]
    whole = gzip.compress(b"\n".join(lines))
    path = tmp_path / "cut.txt.gz"
    for end in (20, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:end])
        with pytest.raises(rr.DataError, match=r"cut\.txt\.gz") as caught:
            rr.Dataset.from_letor(path)
        assert caught.value.code == "text.gzip"


def test_d21_files_that_cannot_be_read_raise_the_usual_errors(tmp_path: Path) -> None:
    missing = tmp_path / "none.txt"
    with pytest.raises(FileNotFoundError) as caught:
        rr.Dataset.from_letor(missing)
    assert os.fspath(caught.value.filename) == str(missing)
    with pytest.raises(IsADirectoryError) as directory:
        rr.Dataset.from_letor(tmp_path)
    assert os.fspath(directory.value.filename) == str(tmp_path)
    secret = _letor(tmp_path / "secret.txt", [b"1 qid:1 1:1"])
    secret.chmod(0)
    # Root may read all files but those of the kernel that nobody may.
    closed = secret if os.geteuid() != 0 else "/proc/sys/vm/drop_caches"
    with pytest.raises(PermissionError) as refused:
        rr.Dataset.from_letor(closed)
    assert refused.value.errno in (errno.EACCES, errno.EPERM)


WRONG_TYPES: dict[str, Callable[[], object]] = {
    "three dimensions": lambda: _dataset(X=X[None]),
    "one dimension": lambda: _dataset(X=X[:, 0]),
    "text": lambda: _dataset(X=X.astype(str)),
    "objects that are text": lambda: _dataset(X=_changed(X, (0, 0), "a", object)),
    "objects": lambda: _dataset(X=_changed(X, (0, 0), object(), object)),
    "complex": lambda: _dataset(X=X.astype(complex)),
    "dates": lambda: _dataset(X=X.astype("datetime64[s]")),
    "a path": lambda: _dataset(X="train.txt"),
    "nothing": lambda: _dataset(X=None),
    "labels of two dimensions": lambda: _dataset(np.zeros((200, 2))),
    "labels of text": lambda: _dataset(Y.astype(str)),
    "fractional sizes": lambda: _dataset(qid=None, group=SIZES + 0.5),
    "ids that cannot be compared": lambda: _dataset(qid=[[1]] * 100 + [[2]] * 99 + [{}]),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_d22_what_is_no_table_of_numbers_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match=r"expected|cannot be|not numbers|dimensions"):
        WRONG_TYPES[name]()


def test_d22_sparse_with_duplicates_and_unsorted_indices() -> None:
    rows, columns = [0, 0, 0, 1], [3, 1, 3, 0]
    matrix = sp.coo_matrix(([1.0, 2.0, 4.0, 5.0], (rows, columns)), shape=(2, 5))
    dense = np.array([[0, 2, 0, 5, 0], [5, 0, 0, 0, 0]], float)
    one = rr.Dataset(matrix, [0, 1], group=[2], like=_dataset())
    two = rr.Dataset(dense, [0, 1], group=[2], like=_dataset())
    assert one.fingerprint == two.fingerprint


def test_d23_an_array_that_changes_meanwhile_does_no_harm() -> None:
    changing = np.tile(X, (200, 20))
    rows = len(changing)
    stop = threading.Event()

    def change() -> None:
        rng = np.random.default_rng(0)
        while not stop.is_set():
            changing[rng.integers(0, rows, 1000)] = rng.normal()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3):
            dataset = rr.Dataset(changing, np.zeros(rows), group=[rows])
            assert dataset.num_docs == rows
    finally:
        stop.set()
        thread.join()


def test_p3_a_table_beyond_memory_is_an_error_and_no_abort() -> None:
    # The table takes 90 MB: more than the limit leaves, and than an arena of malloc can hold.
    code = """
import resource, numpy as np, rustrank as rr
X = np.random.default_rng(0).random((900_000, 100), np.float32)
y = np.zeros(len(X))
rr.Dataset(X[:100], y[:100], group=[100], num_threads=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), resource.RLIM_INFINITY))
try:
    rr.Dataset(X, y, group=[len(X)], num_threads=1)
except rr.ResourceError as error:
    print("refused:", error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "needs" in done.stdout, done.stderr
    assert "MiB of memory" in done.stdout


def test_d17_more_features_than_memory_can_list_is_an_error_and_no_abort(tmp_path: Path) -> None:
    path = _letor(tmp_path / "wide.txt", [b"1 qid:1 1:1 2000000000:2", b"0 qid:1 1:2"])
    code = """
import resource, sys, rustrank as rr
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))
try:
    rr.Dataset.from_letor(sys.argv[1], max_features=2**31 - 1)
except rr.ResourceError as error:
    print("refused:", error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "MiB of memory" in done.stdout, done.stderr
