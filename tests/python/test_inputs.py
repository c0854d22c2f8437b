"""What people bring by mistake: nothing is merged, dropped or rounded in silence, no foreign error."""

from __future__ import annotations

import bz2
import copy
import lzma
import math
import pickle
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
Y = np.arange(8) % 3
QID = np.arange(8) // 4
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def dataset(y: Any = Y, **more: Any) -> rr.Dataset:
    return rr.Dataset(more.pop("X", X), y, **({"qid": QID} | more))


def masked(values: Any, at: int = 5) -> Any:
    return np.ma.masked_array(values, np.arange(8) == at)


def evaluated(scores: Any = X[:, 0], y: Any = Y, **more: Any) -> rr.Evaluation:
    return rr.evaluate(scores, y, **({"qid": QID} | more))


def cells(value: Any) -> Any:
    made = X.astype(object)
    made[2, 1] = value
    return made


class Refused:
    """A call, the error it ends in, and what that says."""

    def __init__(
        self,
        call: Callable[[], object],
        error: type[Exception],
        says: str,
        code: str | None = None,
        row: int | None = None,
    ) -> None:
        self.call, self.error, self.says, self.code, self.row = call, error, says, code, row


DATA, PARAM = rr.DataError, rr.ParamError
HUGE = [2**53, 2**53 + 1, 5, 6, 7, 8, 9, 10]

REFUSED: dict[str, Refused] = {
    # Masks are missing values.
    "masked labels": Refused(
        lambda: dataset(masked(Y)), DATA, r"label\[5\] is NaN", "label.nan", 5
    ),
    "masked integer scores": Refused(
        lambda: evaluated(masked(np.arange(8))), DATA, r"scores, row 5 .*got nan", "score.nan", 5
    ),
    "masked object scores": Refused(
        lambda: evaluated(masked(np.arange(8).astype(object))), DATA, r"scores, row 5 .*got nan"
    ),
    "masked weights": Refused(
        lambda: dataset(row_weight=masked(np.ones(8))), DATA, r"row_weight\[5\] = NaN", "weight", 5
    ),
    "masked ids": Refused(
        lambda: dataset(qid=masked(QID)), DATA, r"qid\[5\] is missing", "qid.missing", 5
    ),
    "masked ids of a batch": Refused(
        lambda: rr.Dataset.from_batches([(X, Y, QID), (X, Y, masked(QID))]),
        DATA,
        r"qid\[13\] is missing",
        "qid.missing",
        13,
    ),
    "masked sizes": Refused(
        lambda: dataset(qid=None, group=np.ma.masked_array([4, 4], [False, True])),
        DATA,
        r"group\[1\] is missing",
        "group.size",
    ),
    # pandas' NA.
    "NA in labels": Refused(
        lambda: dataset(pd.Series([True, None] * 4, dtype="boolean")),
        DATA,
        r"label\[1\] is NaN",
        "label.nan",
        1,
    ),
    "NA in ids": Refused(
        lambda: dataset(qid=pd.Series(["a"] * 7 + [None], dtype="string")),
        DATA,
        r"qid\[7\] is missing",
        "qid.missing",
        7,
    ),
    "NaN beside text": Refused(
        lambda: dataset(qid=["a"] * 7 + [math.nan]), DATA, r"qid\[7\] is missing", "qid.missing", 7
    ),
    # Weights by id.
    "a weight for nobody": Refused(
        lambda: dataset(query_weight={0: 1, 1: 1, 77: 1}), DATA, "query 77, which is not", "weight"
    ),
    "a series for nobody": Refused(
        lambda: dataset(query_weight=pd.Series([1, 2], index=[1, 2])), DATA, "query 2, which is not"
    ),
    "a series with twice the same id": Refused(
        lambda: dataset(query_weight=pd.Series([1, 2, 3], index=[0, 1, 1])), DATA, "two weights"
    ),
    "no weight": Refused(
        lambda: dataset(query_weight={0: 1, 1: None}), TypeError, "query 1: got None, expected a"
    ),
    "text as weight": Refused(
        lambda: dataset(query_weight={0: "x", 1: 1}), TypeError, "query 0: got 'x', expected a"
    ),
    # Numbers that would not stay themselves.
    "scores above 2^53": Refused(
        lambda: evaluated(np.array(HUGE)), DATA, r"scores\[1\] is too large", "score.large", 1
    ),
    "listed scores above 2^53": Refused(
        lambda: evaluated([*HUGE[:7], 0.5]), DATA, r"scores\[1\] is too large", "score.large", 1
    ),
    "unsigned scores": Refused(
        lambda: rr.compare(X[:, 0], np.full(8, 2**64 - 1, np.uint64), Y, qid=QID),
        DATA,
        r"b\[0\] is too large",
        "score.large",
    ),
    "base scores above 2^53": Refused(
        lambda: dataset(base_score=HUGE), DATA, r"base_score\[1\] is too large", "score.large"
    ),
    "a label of 2^24 + 1": Refused(
        lambda: dataset([2**24 + 1] * 8), DATA, r"label\[0\] = 16777217.0 is too", "label.large", 0
    ),
    "a tiny negative label": Refused(
        lambda: dataset([0] * 7 + [-1e-50]), DATA, r"label\[7\].*negative", "label.negative", 7
    ),
    "an endless integer": Refused(
        lambda: evaluated([10**400] * 8), DATA, "scores: a number is too large", "number.large"
    ),
    "an endless integer in a cell": Refused(
        lambda: dataset(X=cells(10**400)), DATA, "X: a number is too large", "number.large"
    ),
    "bytes in a cell": Refused(lambda: dataset(X=cells(b"1")), TypeError, "X: got text"),
    "bytes": Refused(lambda: evaluated([b"1"] * 8), TypeError, "scores: got text"),
    # Names.
    "names as one text": Refused(
        lambda: dataset(feature_names="abc"), PARAM, "feature_names: got 'abc'", "feature_names"
    ),
    "names that are numbers": Refused(
        lambda: dataset(feature_names=[0, 1, 2]), PARAM, r"feature_names\[0\]: got 0"
    ),
    "a column twice": Refused(
        lambda: dataset(X=pd.DataFrame(X, columns=list("aba"))), DATA, "two features have the name"
    ),
    # Options that the bins of another dataset leave without meaning.
    "like and max_bins": Refused(
        lambda: dataset(like=dataset(), max_bins=7), PARAM, "max_bins: got 7", "max_bins"
    ),
    "like and sample_rows": Refused(
        lambda: dataset(like=dataset(), sample_rows=7), PARAM, "bins are those of `like`"
    ),
    "like an array": Refused(lambda: dataset(like=X), PARAM, "expected a Dataset", "like"),
    # Kinds of options.
    **{
        f"{name}={value!r}": Refused(
            lambda name=name, value=value: dataset(**{name: value}),  # type: ignore[misc]
            PARAM,
            f"{name}: got {value!r}, expected a {what}",
            name,
        )
        for name, value, what in [
            ("max_bins", -1, "whole number from 2 to 255"),
            ("max_bins", 2.5, "whole number from 2 to 255"),
            ("max_bins", "255", "whole number from 2 to 255"),
            ("max_bins", True, "whole number from 2 to 255"),
            ("max_bins", 256, "whole number from 2 to 255"),
            ("sample_rows", -1, "whole number from 2"),
            ("num_threads", -2, "whole number from 1 to 1024, or None for all cores"),
            ("num_threads", 1025, "whole number from 1 to 1024, or None for all cores"),
            ("num_threads", 1.5, "whole number from 1 to 1024, or None for all cores"),
            ("missing", "x", "number"),
            ("infinite", None, "name"),
        ]
    },
    "level": Refused(
        lambda: rr.compare(X[:, 0], X[:, 1], Y, qid=QID, level="x"),  # type: ignore[arg-type]
        PARAM,
        "level: got 'x', expected a number",
    ),
    "no metrics": Refused(lambda: evaluated(metrics=None), PARAM, "metrics: got None"),
    "no names": Refused(
        lambda: rr.compare(X[:, 0], X[:, 1], Y, names=None),  # type: ignore[arg-type]
        PARAM,
        "names: got None, expected two names",
    ),
    "no gain": Refused(lambda: evaluated(gain=None), PARAM, "gain: got None, expected 'exp2'"),
    "ties like scipy's": Refused(
        lambda: evaluated(ties="first"), PARAM, "expected one of expected, rows, worst"
    ),
    "a metric of trec_eval": Refused(
        lambda: evaluated(metrics="recip_rank"), PARAM, "did you mean mrr?"
    ),
    # Things that are not tables or columns.
    "no table": Refused(lambda: dataset(X=None), TypeError, "X: got None, expected a table"),
    "a series": Refused(lambda: dataset(X=FRAME["a"]), TypeError, r"one column.*to_frame"),
    "a polars series": Refused(lambda: dataset(X=pl.Series(Y)), TypeError, r"one column.*to_frame"),
    "a lazy frame": Refused(lambda: dataset(X=pl.DataFrame(X).lazy()), TypeError, r"collect\(\)"),
    "a file": Refused(lambda: dataset(X="train.txt"), TypeError, "Dataset.from_letor reads"),
    "a Parquet file": Refused(lambda: dataset(X="x.parquet"), TypeError, "Dataset.from_parquet"),
    "a dataset as X": Refused(lambda: dataset(X=dataset()), TypeError, "got a Dataset"),
    "a ranking as X": Refused(
        lambda: dataset(X=rr.datasets.Ranking(X, Y.astype(np.float32), QID, ())),
        TypeError,
        r"its table in \.X",
    ),
    "a dataset as y": Refused(lambda: dataset(dataset()), TypeError, r"labels in \.labels"),
    "columns of two lengths": Refused(
        lambda: dataset(X={"a": [1, 2], "b": [1]}), DATA, "different lengths: from 1 to 2", "length"
    ),
    "integers of 128 bits": Refused(
        lambda: dataset(X=pl.DataFrame({"wide": pl.Series(Y, dtype=pl.Int128)})),
        TypeError,
        "column 'wide': got Int128",
    ),
    "dates behind a mask": Refused(
        lambda: dataset(X=np.ma.masked_array(X.astype("M8[s]"))), TypeError, "expected numbers"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_named(name: str) -> None:
    refused = REFUSED[name]
    with pytest.raises(refused.error, match=refused.says) as caught:
        refused.call()
    error = caught.value
    assert len(str(error)) < 300
    if isinstance(error, rr.RustrankError):
        assert refused.code in (None, error.code)
        assert refused.row in (None, error.row)


def test_a_wrong_kind_of_option_is_both_errors() -> None:
    with pytest.raises(rr.ParamError) as caught:
        dataset(max_bins="many")
    assert isinstance(caught.value, TypeError)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


@pytest.mark.parametrize(
    "ids",
    [
        [2**64 - 1, 2**64 - 2, 5, 6],
        [2**53, 2**53 + 1, 0.5, 6],
        [2**53, 2**53 + 1, -1, 2**64],
        [1, "1", "a", b"a"],
        ["a", "a\0", "b", ""],
        [("a", 1), ("a", 2), ("b", 1), (1, "b")],
    ],
)
def test_different_ids_stay_different(ids: list[Any]) -> None:
    found = rr.evaluate([2, 1] * 4, [0, 1] * 4, qid=[one for one in ids for _ in "ab"])
    assert list(found["ndcg@10"].query_ids) == ids
    assert found.num_queries == 4


def test_a_series_with_an_index_of_its_own_is_taken_by_id() -> None:
    qid = np.repeat(["b", "a"], 4)
    by_id = {"a": 3.0, "b": 1.0}
    expected = dataset(qid=qid, query_weight=by_id).fingerprint
    for order in (["a", "b"], ["b", "a"]):
        series = pd.Series([by_id[one] for one in order], index=order)
        assert dataset(qid=qid, query_weight=series).fingerprint == expected
    by_place = pd.Series([1.0, 3.0])
    assert dataset(qid=qid, query_weight=by_place).fingerprint == expected
    numbers = pd.Series([1.0, 3.0], index=pd.Index([1, 0]))
    swapped = dataset(qid=np.repeat([0, 1], 4), query_weight=numbers)
    assert swapped.fingerprint == dataset(query_weight=[3.0, 1.0]).fingerprint


def test_large_scores_that_doubles_hold_are_taken() -> None:
    exact = np.array([2**60, 2**61, -(2**62), 1, 2, 3, 4, 5])
    assert list(evaluated(exact)) == ["ndcg@10"]
    assert list(evaluated(exact.tolist())) == ["ndcg@10"]
    assert list(evaluated([1e300, 1e200, *range(6)])) == ["ndcg@10"]


def test_tiny_labels_round_to_zero() -> None:
    assert dataset([1e-50, *Y[1:]]).labels[0] == 0.0


def test_many_names_are_compared_quickly() -> None:
    names = [f"feature {i}" for i in range(50_000)]
    wide = np.zeros((2, 50_000), np.float32)
    with pytest.raises(rr.DataError, match="two features have the name 'feature 7'"):
        rr.Dataset(wide, [0, 1], group=[2], feature_names=[*names[:-1], names[7]])


@pytest.mark.parametrize("damaged", ["csr", "csc", "coo"])
def test_damaged_sparse_matrices_are_refused(damaged: str) -> None:
    matrix = sp.coo_matrix(X).asformat(damaged)
    if damaged == "coo":
        matrix.col[3] = 99
    else:
        matrix.indices[3] = 99
    with pytest.raises(rr.DataError, match="damaged sparse matrix") as caught:
        dataset(X=matrix)
    assert caught.value.code == "sparse"


def test_columns_of_batches_are_matched_by_name() -> None:
    whole = rr.Dataset(pd.concat([FRAME, FRAME]), [*Y, *Y], qid=[*QID, *QID])
    for later in (FRAME[["c", "a", "b"]], pl.DataFrame(FRAME[["b", "c", "a"]])):
        made = rr.Dataset.from_batches([(FRAME, Y, QID), (later, Y, QID)])
        assert made.feature_names == ["a", "b", "c"]
        assert made.fingerprint == whole.fingerprint
    moved = {"c": X[:, 2], "a": X[:, 0], "b": X[:, 1]}
    made = rr.Dataset.from_batches([(FRAME, Y, QID), (moved, Y, QID)], feature_names=list("xyz"))
    assert made.fingerprint == whole.fingerprint
    batched = rr.Dataset.from_batches([(FRAME, Y, QID), (moved, Y, QID)], like=whole)
    assert batched.fingerprint == whole.fingerprint


@pytest.mark.parametrize(
    ("batch", "error", "says"),
    [
        (
            (FRAME.rename(columns={"b": "z"}), Y, QID),
            DATA,
            "batch 1 lacks a feature of the first: got .*'z'.* also 'b'",
        ),
        ((FRAME.iloc[:, :2], Y, QID), DATA, "batch 1 .* got 2, expected 3"),
        ((X, Y), DATA, "batch 1 has 2 parts, expected 3"),
        ((X, Y, QID, Y), DATA, "batch 1 has 4 parts, expected 3"),
        ({"X": X, "y": Y}, DATA, "batch 1 has no qid"),
        ({"X": X, "y": Y, "qid": QID, "weight": Y}, DATA, "batch 1 has 'weight'"),
        ((X, Y[:7], QID), DATA, "y of batch 1 has the wrong length: got 7, expected 8"),
        (None, TypeError, "batch 1: got None"),
    ],
)
def test_bad_batches_are_named(batch: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        rr.Dataset.from_batches([(FRAME, Y, QID), batch])


def test_batches_are_put_into_the_order_of_the_training_set() -> None:
    train = dataset(X=FRAME)
    moved = FRAME[["c", "a", "b"]].assign(more="text")
    made = rr.Dataset.from_batches([(moved, Y, QID)], like=train)
    assert made.fingerprint == train.fingerprint
    with pytest.raises(rr.DataError, match=r"batch 0 lacks a feature of `like`: .* also 'c'"):
        rr.Dataset.from_batches([(FRAME[["a", "b"]], Y, QID)], like=train)


def test_a_second_pass_over_other_rows_is_refused() -> None:
    passes = iter([8, 6])

    def batches() -> Any:
        rows = next(passes)
        yield X[:rows], Y[:rows], QID[:rows]

    with pytest.raises(rr.DataError, match=r"read twice.*got 6 rows, expected 8") as caught:
        rr.Dataset.from_batches(batches)
    assert caught.value.code == "batch"
    with pytest.raises(TypeError, match="the function returned None"):
        rr.Dataset.from_batches(lambda: None)  # type: ignore[arg-type, return-value]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    columns = {name: FRAME[name].to_numpy() for name in FRAME}
    pq.write_table(pa.table({**columns, "label": Y, "qid": QID}), path)
    return path


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"features": ["a", "label"]}, "column 'label' is the label"),
        ({"features": ["a", "qid"]}, "column 'qid' is the qid"),
        ({"features": "a"}, "features: got 'a', expected a list"),
        ({"features": [1]}, "features: got 1"),
        ({"qid": "label"}, "column 'label' is both label and qid"),
        ({"row_weight": "label"}, "column 'label' is both label and row_weight"),
        ({"batch_rows": 0}, "batch_rows: got 0"),
        ({"max_bins": 2.5}, "max_bins: got 2.5"),
    ],
)
def test_bad_columns_of_parquet_are_named(table: Path, options: Any, says: str) -> None:
    with pytest.raises(rr.ParamError, match=says):
        rr.Dataset.from_parquet(table, **options)


def test_bad_parquet_files_are_named(table: Path, tmp_path: Path) -> None:
    assert rr.Dataset.from_parquet(str(table)).fingerprint == dataset().fingerprint
    with pytest.raises(rr.ParamError, match="no files"):
        rr.Dataset.from_parquet([])
    with pytest.raises(FileNotFoundError) as caught:
        rr.Dataset.from_parquet(tmp_path / "none.parquet")
    assert str(caught.value.filename) == str(tmp_path / "none.parquet")
    text = tmp_path / "text.parquet"
    text.write_text("1 qid:1 1:1\n", "ascii")
    with pytest.raises(rr.DataError, match="not a Parquet file") as refused:
        rr.Dataset.from_parquet(text)
    assert (refused.value.code, refused.value.path) == ("parquet", str(text))


def test_options_of_text_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1 2:1\n0 qid:1 1:2 2:3\n", "ascii")
    bad: list[tuple[dict[str, Any], str]] = [
        ({"max_features": -1}, "max_features: got -1"),
        ({"buffer_bytes": -1}, "buffer_bytes: got -1"),
        ({"buffer_bytes": 5, "like": rr.Dataset.from_letor(path)}, "buffer_bytes: got 5"),
        ({"zero_based": "no"}, "zero_based: got 'no'"),
        ({"feature_names": "ab"}, "feature_names: got 'ab'"),
        ({"feature_names": [1, 2]}, r"feature_names\[0\]: got 1"),
    ]
    for options, says in bad:
        with pytest.raises(rr.ParamError, match=says):
            rr.Dataset.from_letor(path, **options)
    with pytest.raises(rr.DataError, match="two features have the name 'a'"):
        rr.Dataset.from_letor(path, feature_names=["a", "a"])
    train = rr.Dataset.from_letor(path, feature_names=["a", "b"])
    with pytest.raises(rr.DataError, match="feature 1 has another name: got 'c', expected 'b'"):
        rr.Dataset.from_letor(path, like=train, feature_names=["a", "c"])


def test_packed_text_is_named_by_its_format(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    text = b"1 qid:1 1:1\n"
    with zipfile.ZipFile(tmp_path / "train.zip", "w") as file:
        file.writestr("train.txt", text)
    packed = {
        "bzip2": bz2.compress(text),
        "xz": lzma.compress(text),
        "zip": (tmp_path / "train.zip").read_bytes(),
        "zstd": pa.compress(text, "zstd", asbytes=True),
    }
    for name, content in packed.items():
        path.write_bytes(content)
        with pytest.raises(rr.DataError, match=f"this is a {name} file .*unpack it") as caught:
            rr.Dataset.from_letor(path)
        assert (caught.value.code, caught.value.path) == ("text.format", str(path))


def test_a_dataset_is_made_and_not_pickled() -> None:
    made = dataset()
    with pytest.raises(TypeError, match="cannot be pickled: keep the arrays or the file"):
        pickle.dumps(made)
    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made
    made.feature_names.append("more")
    assert len(made.feature_names) == 3


def test_one_query_is_no_queries() -> None:
    value = rr.evaluate([1, 2], [0, 1])["ndcg@10"]
    assert repr(value) == "<ndcg@10 1.0000, 1 query>"
    with pytest.warns(rr.RustrankWarning, match="in any of 1 query "):
        rr.evaluate([1, 2], [0, 0])


def test_a_p_value_of_nothing_is_a_dash() -> None:
    with pytest.warns(rr.RustrankWarning):
        found = rr.compare([1, 2], [2, 1], [0, 0])
    assert repr(found).splitlines()[1].split()[5:7] == ["-", "-"]
    assert "nan" not in repr(found)


def test_batches_with_other_values_the_second_time_are_refused() -> None:
    passes = []

    def batches() -> list[tuple[Any, Any, Any]]:
        passes.append(1)
        X = np.arange(40.0).reshape(20, 2) * len(passes)
        return [(X, np.arange(20) % 2, np.arange(20) // 5)]

    with pytest.raises(rr.DataError, match="read twice and were not the same: got other values"):
        rr.Dataset.from_batches(batches)


def test_what_others_write_for_no_limit_and_sizes_is_taken() -> None:
    data = rr.datasets.make_polynomial(num_queries=12, docs_per_query=20, seed=0)
    sizes = np.unique(data.qid, return_counts=True)[1]
    order = np.argsort(data.qid, kind="stable")
    train = rr.Dataset(data.X[order], data.y[order], group=sizes.astype(np.float64), num_threads=-1)
    assert train.num_queries == len(sizes)
    plain = rr.train(train, num_trees=2)
    assert rr.train(train, num_trees=2, max_depth=-1, num_threads=-1) == plain
    ranker = rr.LambdaMART(n_estimators=2, max_depth=-1, n_jobs=-1)
    assert ranker.fit(data.X[order], data.y[order], group=sizes).booster_ == plain
    with pytest.raises(TypeError, match="group: got float64, expected whole numbers of rows"):
        rr.Dataset(data.X[order], data.y[order], group=sizes + 0.5)
