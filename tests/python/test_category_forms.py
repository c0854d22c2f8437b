"""Categories in every form that they come in: columns of frames, Parquet, CSV, LETOR text and lists."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank import cli
from rustrank.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SITES = ["shop", "news", "wiki", "Łódź", "a b"]
SMALL: dict[str, Any] = {"num_trees": 4, "num_leaves": 6, "min_leaf_docs": 5}
DECLARED = "categories are declared where the training set is made: categorical=["


def _docs() -> tuple[Any, np.ndarray, np.ndarray]:
    draws = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), 10)
    site = draws.integers(0, len(SITES), len(qid))
    price, fresh = draws.normal(size=len(qid)).round(2), draws.random(len(qid)) < 0.5
    worth = price + np.array([2, -1, 0.5, -2, 1])[site] + fresh
    names: list[Any] = [SITES[at] for at in site]
    names[7] = None
    frame = pd.DataFrame({"site": names, "price": price, "fresh": fresh})
    return frame, np.digitize(worth, [0, 1, 2]), qid


FRAME, Y, QID = _docs()
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)
POLARS = pl.from_pandas(FRAME)
#: Whole numbers in place of texts; the missing one stays missing.
NUMBERS = FRAME.assign(site=FRAME["site"].map({name: 3 * at for at, name in enumerate(SITES)}))


def _model(X: Any, categorical: Any = ("site",), **options: Any) -> rr.Booster:
    return rr.train(rr.Dataset(X, Y, qid=QID, categorical=categorical, **options), **SMALL)


@pytest.fixture(scope="module")
def booster() -> rr.Booster:
    return _model(FRAME)


def _pandas(kind: Any) -> Any:
    return FRAME.assign(site=FRAME["site"].astype(kind))


def _polars(kind: Any) -> Any:
    return POLARS.with_columns(pl.col("site").cast(kind))


def _arrow(column: Any) -> Any:
    return ARROW.set_column(0, "site", column)


@pytest.mark.parametrize(
    "table",
    [
        *(_pandas(kind) for kind in ("object", "str", "string[pyarrow]", "string[python]")),
        _pandas(pd.ArrowDtype(pa.string())),
        POLARS,
        ARROW,
        _arrow(ARROW["site"].cast(pa.large_string())),
        {name: FRAME[name].to_numpy() for name in FRAME},
        {name: FRAME[name].tolist() for name in FRAME},
    ],
    ids=lambda table: type(table).__module__.split(".")[0],
)
def test_columns_of_text_are_named(table: Any, booster: rr.Booster) -> None:
    assert _model(table) == booster
    assert np.array_equal(booster.predict(table), booster.predict(FRAME))
    with pytest.raises(
        rr.RustrankError, match="column 'site': got text, expected numbers"
    ) as caught:
        _model(table, None)
    assert f"{DECLARED}'site']" in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        _pandas("category"),
        _pandas("string[pyarrow]").astype({"site": "category"}),
        _pandas(pd.CategoricalDtype([*SITES[::-1], "unused"], ordered=True)),
        _pandas(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        _polars(pl.Categorical),
        _polars(pl.Enum(SITES)),
        _arrow(ARROW["site"].dictionary_encode()),
    ],
    ids=lambda table: type(table).__module__.split(".")[0],
)
def test_columns_of_a_categorical_type_declare_themselves(table: Any, booster: rr.Booster) -> None:
    assert _model(table, None) == booster
    assert np.array_equal(booster.predict(table), booster.predict(FRAME))


@pytest.mark.parametrize("table", [FRAME, POLARS, ARROW, FRAME.to_numpy(object)], ids=type)
def test_a_trained_model_is_told_no_categories(table: Any) -> None:
    of_numbers = rr.train(rr.Dataset(NUMBERS.to_numpy(np.float64), Y, qid=QID), num_trees=2)
    for qid in (None, QID):
        with pytest.raises(rr.ParamError, match=r"text, expected numbers, as in the training set$"):
            of_numbers.predict(table, qid=qid)


def test_a_column_without_a_known_category_is_a_warning(booster: rr.Booster) -> None:
    upper = FRAME.assign(site=FRAME["site"].str.upper())
    said = r"no value of column 'site' \(got '[A-Z ]+', and the model knows 'a b'\) is a category"
    with pytest.warns(rr.RustrankWarning, match=said) as caught:
        booster.predict(upper)
    assert len(caught) == 1
    # Some known ones, none at all, or a query of a new site are as they may be.
    booster.predict(upper.assign(site=[FRAME["site"].dropna().iloc[0], *upper["site"][1:]]))
    booster.predict(FRAME.assign(site=None))
    booster.predict(upper[:8])


def test_arrays_and_lists_hold_texts_among_numbers(booster: rr.Booster) -> None:
    rows = FRAME.to_numpy(object).tolist()
    names = list(FRAME)
    for table in (rows, FRAME.to_numpy(object)):
        assert _model(table, [0], feature_names=names) == booster
        with pytest.raises(rr.RustrankError, match="X: got text, expected numbers") as caught:
            _model(table, None)
        assert f"{DECLARED}0]" in str(caught.value)
    texts = np.column_stack([FRAME["site"].fillna("shop"), FRAME["site"].fillna("news")]).astype(
        str
    )
    assert texts.dtype.kind == "U"
    assert _model(texts, [0, 1]).num_trees == 4


def test_truth_values_are_two_categories() -> None:
    kinds: list[Any] = [
        FRAME,
        FRAME.assign(fresh=FRAME["fresh"].astype("boolean")),
        FRAME.assign(fresh=FRAME["fresh"].astype("category")),
        POLARS,
        ARROW,
        FRAME.assign(fresh=FRAME["fresh"].astype(int)),
    ]
    models = [_model(table, ["site", "fresh"]) for table in kinds]
    scores = models[0].predict(FRAME)
    for table, model in zip(kinds, models, strict=True):
        assert np.array_equal(model.predict(table), scores)
        assert np.array_equal(model.predict(FRAME), scores)
    data = rr.Dataset(FRAME, Y, qid=QID, categorical=["site", "fresh"])
    assert sorted(data.categories("fresh")) == [0, 1]


def test_features_without_names_are_declared_by_number_or_default_name() -> None:
    X = NUMBERS.to_numpy(np.float64)
    made = [rr.Dataset(X, Y, qid=QID, categorical=[key]) for key in (0, "f0")]
    assert made[0].fingerprint == made[1].fingerprint
    with pytest.raises(UnknownNameError, match="there is no feature 'site'"):
        rr.Dataset(X, Y, qid=QID, categorical=["site"])
    with pytest.raises(rr.ParamError, match="categorical: a feature: got 3"):
        rr.Dataset(X, Y, qid=QID, categorical=["f3"])


# Files.


def _parquet(path: Path, table: Any) -> Path:
    pq.write_table(
        table.append_column("label", pa.array(Y)).append_column("qid", pa.array(QID)), path
    )
    return path


@pytest.mark.parametrize(
    ("table", "categorical"),
    [
        (ARROW, ["site"]),
        (pa.Table.from_pandas(_pandas("category"), preserve_index=False), None),
        (pa.Table.from_pandas(_pandas("string[pyarrow]"), preserve_index=False), ["site"]),
        (_arrow(ARROW["site"].dictionary_encode()), None),
        (_arrow(ARROW["site"].dictionary_encode()), ["site"]),
        (_polars(pl.Categorical).to_arrow(), None),
    ],
)
@pytest.mark.parametrize("batch_rows", [50, 10_000])
def test_parquet_has_the_same_categories(
    table: Any, categorical: Any, batch_rows: int, booster: rr.Booster, tmp_path: Path
) -> None:
    path = _parquet(tmp_path / "train.parquet", table)
    data = rr.Dataset.from_parquet(path, categorical=categorical, batch_rows=batch_rows)
    assert data.categorical == [0]
    assert data.fingerprint == rr.Dataset(FRAME, Y, qid=QID, categorical=["site"]).fingerprint
    assert rr.train(data, **SMALL) == booster
    later = rr.Dataset.from_parquet(path, like=data, batch_rows=batch_rows)
    assert np.array_equal(booster.predict(later), booster.predict(FRAME))


def test_parquet_holds_numbers_and_texts_to_declare(tmp_path: Path) -> None:
    whole = rr.Dataset(NUMBERS, Y, qid=QID, categorical=["site"])
    path = _parquet(tmp_path / "n.parquet", pa.Table.from_pandas(NUMBERS, preserve_index=False))
    for key in ("site", 0):
        read = rr.Dataset.from_parquet(path, categorical=[key], batch_rows=100)
        assert read.fingerprint == whole.fingerprint
    path = _parquet(tmp_path / "t.parquet", ARROW)
    with pytest.raises(rr.RustrankError, match="column 'site': got text") as caught:
        rr.Dataset.from_parquet(path)
    assert f"{DECLARED}'site']" in str(caught.value)
    with pytest.raises(UnknownNameError, match="there is no feature 'sight'; did you mean site"):
        rr.Dataset.from_parquet(path, categorical=["sight"])


def test_columns_of_parquet_are_ignored(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "t.parquet", ARROW)
    read = rr.Dataset.from_parquet(path, ignore=["site"])
    assert read.feature_names == ["price", "fresh"]
    assert (
        read.fingerprint == rr.Dataset.from_parquet(path, features=["price", "fresh"]).fingerprint
    )
    with pytest.raises(rr.RustrankError, match="sight"):
        rr.Dataset.from_parquet(path, ignore=["sight"])
    with pytest.raises(rr.ParamError, match="ignore: got 'site', expected a list"):
        rr.Dataset.from_parquet(path, ignore="site")
    with pytest.raises(rr.ParamError, match="features and ignore: expected one of them"):
        rr.Dataset.from_parquet(path, features=["price"], ignore=["site"])


def test_batches_are_read_once_more_only_for_texts(booster: rr.Booster) -> None:
    passes = 0

    def batches(frame: Any = FRAME) -> Iterator[Any]:
        nonlocal passes
        passes += 1
        for at in range(0, len(Y), 70):
            some = slice(at, at + 70)
            yield frame.iloc[some], Y[some], QID[some]

    assert rr.train(rr.Dataset.from_batches(batches, categorical=["site"]), **SMALL) == booster
    assert passes == 3
    passes = 0
    rr.Dataset.from_batches(lambda: batches(NUMBERS), categorical=["site"])
    assert passes == 2
    # A first batch without any text does not say that there are only numbers.
    late = FRAME.assign(site=FRAME["site"].where(FRAME.index >= 70, None))
    read = rr.Dataset.from_batches(lambda: batches(late), categorical=["site"])
    assert read.fingerprint == rr.Dataset(late, Y, qid=QID, categorical=["site"]).fingerprint
    based = rr.Dataset.from_batches(lambda: batches(late), categorical=["site"], base=booster)
    assert np.array_equal(
        rr.train(based, num_trees=1).predict(late),
        rr.train(
            rr.Dataset(late, Y, qid=QID, categorical=["site"], base=booster), num_trees=1
        ).predict(late),
    )


def _letor(path: Path) -> Path:
    cells = NUMBERS.astype(float).fillna(0).to_numpy().tolist()
    lines = [
        f"{label} qid:{query} " + " ".join(f"{at + 1}:{value}" for at, value in enumerate(row))
        for label, query, row in zip(Y, QID, cells, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_letor_text_declares_numbers(tmp_path: Path) -> None:
    path = _letor(tmp_path / "train.txt")
    whole = rr.Dataset(NUMBERS.astype(float).fillna(0).to_numpy(), Y, qid=QID, categorical=[0])
    for key in (0, "f0"):
        assert rr.Dataset.from_letor(path, categorical=[key]).fingerprint == whole.fingerprint
    named = rr.Dataset.from_letor(path, categorical=["site"], feature_names=list(FRAME))
    assert named.categories("site") == whole.categories(0)
    with pytest.raises(UnknownNameError, match="there is no feature 'site'"):
        rr.Dataset.from_letor(path, categorical=["site"])


# What is unknown or missing when documents are scored.


@pytest.mark.filterwarnings("ignore:no value of column")
def test_unknown_texts_score_alike_and_missing_ones_are_missing(booster: rr.Booster) -> None:
    def scored(site: Any, kind: Any = "object") -> np.ndarray:
        return booster.predict(FRAME.assign(site=pd.Series([site] * len(Y), dtype=kind)))

    unknown = scored("forum")
    for kind in ("object", "category", "string[pyarrow]", "str"):
        assert np.array_equal(scored("blog", kind), unknown)
    assert np.array_equal(scored(None), scored(np.nan))
    assert np.array_equal(scored(None, "string[pyarrow]"), scored(None))
    assert not np.array_equal(scored("shop"), unknown)
    with pytest.raises(TypeError, match="got numbers, expected the texts"):
        scored(3)


# Folds and searches.


def test_rankers_are_compared_and_tuned_on_texts() -> None:
    options: dict[str, Any] = {"n_estimators": 4, "num_leaves": 6, "min_leaf_docs": 5}
    ranker = rr.LambdaMART(**options, categorical=["site"])
    coded = rr.LambdaMART(**options, categorical=["site"])
    codes = {name: at for at, name in enumerate(sorted(SITES))}
    numbers = FRAME.assign(site=FRAME["site"].map(codes))
    found = rr.cross_validate(ranker, FRAME, Y, qid=QID, folds=3)
    order = np.random.default_rng(1).permutation(len(Y))
    moved = rr.cross_validate(ranker, FRAME.iloc[order], Y[order], qid=QID[order], folds=3)
    assert float(first(found)) == float(first(moved))
    assert float(first(found)) == float(
        first(rr.cross_validate(coded, numbers, Y, qid=QID, folds=3))
    )
    for table in (FRAME, FRAME.to_numpy(object)):
        which = ["site"] if table is FRAME else [0]
        tuned = rr.tune(
            rr.LambdaMART(**options, categorical=which),
            (table, Y, QID),
            {"l2": [0.0, 9.0]},
            folds=2,
        )
        assert np.array_equal(tuned.booster.predict(table)[:3], tuned.ranker.predict(table)[:3])
        assert tuned.booster.predict(table).std() > 0
    stopped = rr.LambdaMART(**options, categorical=["site"], early_stopping=2)
    assert stopped.fit(FRAME, Y, qid=QID).predict(FRAME).std() > 0
    with pytest.raises(
        rr.ParamError, match="docs: feature 'site' holds categories, expected numbers"
    ):
        rr.ensemble([rr.Member(ranker)], (FRAME, Y, QID))


def first(found: Any) -> Any:
    """Return the first metric of the first ranker."""
    return next(iter(next(iter(found.values())).values()))


# The command line.


def _run(*arguments: Any) -> None:
    assert cli.main([*map(str, arguments)]) == 0


@pytest.fixture
def _plain_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["rustrank"])


@pytest.mark.usefixtures("_plain_streams")
def test_the_command_line_declares_them(
    tmp_path: Path, booster: rr.Booster, capsys: pytest.CaptureFixture[str]
) -> None:
    model, few = tmp_path / "m.rrk", ("--num-trees", 4, "--num-leaves", 6, "--min-leaf-docs", 5)
    data = _parquet(tmp_path / "t.parquet", ARROW)
    _run("train", data, model, "--categorical", "site", *few)
    assert rr.Booster.load(model) == booster
    model_of_parquet = model.read_bytes()
    csv = tmp_path / "t.csv"
    FRAME.assign(label=Y, qid=QID).to_csv(csv, index=False)
    _run("train", csv, model, "--categorical", "site", *few)
    scores = tmp_path / "scores.txt"
    _run("score", model, csv, "--out", scores)
    assert np.loadtxt(scores).std() > 0
    # An empty cell is a missing value, as a null of Parquet is.
    from_csv = tmp_path / "csv.rrk"
    _run("train", csv, from_csv, "--categorical", "site", *few)
    assert from_csv.read_bytes() == model_of_parquet
    assert cli.main(["inspect", str(csv)]) == 0
    assert "missing values in  1: site (0.2%)" in capsys.readouterr().out
    letor = _letor(tmp_path / "train.txt")
    _run("train", letor, model, "--categorical", "0", "--categorical", "f2", *few)
    expected = rr.train(rr.Dataset.from_letor(letor, categorical=[0, 2]), **SMALL)
    assert rr.Booster.load(model) == expected
    small = ("--try", "num_leaves=3,6", "--set", "n_estimators=3", "--folds", "2", "--no-progress")
    tuned = []
    for how in (("--categorical", "site"), ("--set", "categorical=site")):
        for file in (data, csv):
            _run("tune", file, model, *small, *how)
            tuned.append(model.read_bytes())
    assert tuned[0] == tuned[1] == tuned[2] == tuned[3]
    assert "site" in str(rr.Booster.load(model).dump())
    _run("tune", letor, model, *small, "--categorical", "0")
    capsys.readouterr()
    assert cli.main(["tune", str(data), str(model), *small]) != 0
    assert "got 'a b', expected a number; train, tune and auto take" in capsys.readouterr().err
    assert cli.main(["train", str(data), str(model)]) != 0
    assert "column 'site': got 'a b', expected a number" in capsys.readouterr().err
    assert cli.main(["train", str(letor), str(model), "--categorical", "site"]) != 0
    assert "there is no feature 'site'" in capsys.readouterr().err
    assert cli.main(["train", "shards", str(model), "--categorical", "0", "--workers", "2"]) != 0
    assert "--categorical: not with several workers" in capsys.readouterr().err
