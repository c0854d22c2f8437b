"""Columns that are no numbers: text, dates and durations, in frames of every library and in labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ROWS = 60
QID = np.repeat(np.arange(6), 10)
Y = np.arange(ROWS) % 3
#: Text that reads as numbers.
CODES: list[Any] = [f"{at % 7:05d}" for at in range(ROWS)]
GAPS = [None if at == 3 else code for at, code in enumerate(CODES)]
NUMBERS = np.arange(ROWS) * 0.5
DAYS = pd.date_range("2026-01-01", periods=ROWS)
KINDS = ["object", "str", "string", "string[pyarrow]", pd.ArrowDtype(pa.string()), "category"]


def _frames(codes: list[Any]) -> list[Any]:
    pandas = [pd.DataFrame({"sku": pd.Series(codes, dtype=kind), "x": NUMBERS}) for kind in KINDS]
    polars = pl.DataFrame({"sku": codes, "x": NUMBERS})
    arrow = pa.table({"sku": codes, "x": NUMBERS})
    return [
        *pandas,
        polars,
        polars.with_columns(pl.col("sku").cast(pl.Categorical)),
        arrow,
        arrow.set_column(0, "sku", arrow["sku"].dictionary_encode()),
        {"sku": codes, "x": NUMBERS},
    ]


@pytest.mark.parametrize("codes", [CODES, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize("at", range(11))
def test_text_that_reads_as_numbers_is_text(at: int, codes: list[Any]) -> None:
    frame = _frames(codes)[at]
    of_a_type = at == 5 or at in (7, 9)
    if of_a_type:
        assert rr.Dataset(frame, Y, qid=QID).categorical == [0]
    else:
        with pytest.raises(rr.ParamError, match=r"got text.*categorical=\['sku'\]"):
            rr.Dataset(frame, Y, qid=QID)
    numbers = pd.DataFrame({"sku": np.arange(ROWS) % 7.0, "x": NUMBERS})
    booster = rr.train(rr.Dataset(numbers, Y, qid=QID), num_trees=2, min_leaf_docs=2)
    with pytest.raises(TypeError, match="column 'sku': got text"):
        booster.predict(frame)


def _dated() -> Any:
    lengths = DAYS - DAYS[0]
    return pd.DataFrame({"x": NUMBERS, "listed": DAYS, "age": lengths, "sku": CODES})


@pytest.mark.parametrize(
    "frame",
    [
        _dated(),
        _dated().assign(listed=DAYS.tz_localize("UTC")),
        _dated().assign(listed=pd.Series(DAYS.date)),
        _dated().assign(listed=pd.Series(DAYS).where(NUMBERS > 3)),
        _dated().convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas(_dated()),
        pa.Table.from_pandas(_dated()),
    ],
)
def test_one_error_names_all_columns_that_are_no_numbers(frame: Any) -> None:
    with pytest.raises(rr.ParamError) as caught:
        rr.Dataset(frame, Y, qid=QID)
    message = str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert "column 'sku': got text" in message
    assert "column 'listed': got dates, expected numbers; make numbers of them" in message
    assert "column 'age': got durations, expected numbers" in message


def test_columns_of_one_kind_share_a_hint() -> None:
    frame = pd.DataFrame({"brand": CODES, "x": NUMBERS, "site": CODES})
    expected = r"columns 'brand', 'site': got text, .*categorical=\['brand', 'site'\]"
    with pytest.raises(rr.ParamError, match=expected):
        rr.Dataset(frame, Y, qid=QID)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_arrays_and_labels_say_what_they_hold(unit: str) -> None:
    days = DAYS.to_numpy().astype(f"datetime64[{unit}]")
    with pytest.raises(rr.ParamError, match="X: got dates, expected numbers; make numbers of"):
        rr.Dataset(np.stack([days, days], axis=1), Y, qid=QID)
    X = NUMBERS[:, None]
    for labels in (days, pd.Series(days), pl.Series(days)):
        with pytest.raises(rr.ParamError, match="y: got dates, expected numbers; make numbers of"):
            rr.Dataset(X, labels, qid=QID)
    for texts in (CODES, np.array(CODES), pd.Series(GAPS, dtype="str"), pa.array(GAPS)):
        with pytest.raises(rr.ParamError, match=r"y: got text, .*; give each grade a number"):
            rr.Dataset(X, texts, qid=QID)


def test_an_infinite_value_is_named_by_its_column() -> None:
    frame = pd.DataFrame({"x": NUMBERS, "price": NUMBERS})
    booster = rr.train(rr.Dataset(frame, Y, qid=QID), num_trees=2, min_leaf_docs=2)
    bad = frame.assign(price=np.where(np.arange(ROWS) == 5, np.inf, NUMBERS))
    for made in (bad, pl.from_pandas(bad), pa.Table.from_pandas(bad)):
        for use in (lambda one: rr.Dataset(one, Y, qid=QID), booster.predict):
            with pytest.raises(rr.DataError, match=r"infinite \(row 5, column 'price'\)") as caught:
                use(made)
            assert (caught.value.row, caught.value.feature) == (5, "price")
    with pytest.raises(rr.DataError, match=r"infinite \(row 5, feature 1\)"):
        rr.Dataset(bad.to_numpy(), Y, qid=QID)


def test_the_hint_for_dates_works() -> None:
    frame = _dated()[["x", "listed"]]
    made = frame.assign(listed=(frame.listed - frame.listed.min()).dt.days)
    assert rr.Dataset(made, Y, qid=QID).num_features == 2


def test_dates_and_text_are_listed_together_by_all_that_read_rows() -> None:
    ranker, frame = rr.LambdaMART(n_estimators=2), _dated()
    stopped = rr.LambdaMART(n_estimators=2, early_stopping=True)
    calls: list[Any] = [
        lambda one, X: one.fit(X, Y, qid=QID),
        lambda one, X: rr.cross_validate(one, X, Y, qid=QID, folds=2),
        lambda one, X: rr.tune(one, X, {"num_leaves": [3, 4]}, y=Y, qid=QID, folds=2),
    ]
    both = r"column 'listed': got dates.*column 'sku': got text.*categorical=\['sku'\]"
    for one, call in zip((stopped, ranker, ranker), calls, strict=True):
        with pytest.raises(TypeError, match=both):
            call(one, frame)
        with pytest.raises(TypeError, match="column 'listed': got dates") as caught:
            call(one, frame.drop(columns="sku"))
        assert "text" not in str(caught.value)
