"""Parquet and CSV on the command line: every command reads them, and errors name the line."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

COLUMNS = ("--label", "grade", "--qid", "query")
SEARCH = ("--try", "num_leaves=3,6", "--set", "n_estimators=3", "--folds", "2", "--no-progress")
RECIPES = ("--recipes", "trees,refit", "--num-trees", "3", "--folds", "2", "--no-progress")


def as_frame(docs: Any) -> Any:
    table = pd.DataFrame(docs.X, columns=[f"x{at}" for at in range(docs.X.shape[1])])
    table.insert(1, "query", [f"q{query}" for query in docs.qid])
    return table.assign(grade=docs.y)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("tables")
    for seed, name in enumerate(("train", "vali", "test")):
        made = rr.datasets.make_polynomial(24, 8, seed=seed, first_query=100 * seed)
        made.to_letor(to / f"{name}.txt")
        table = as_frame(rr.datasets.read_letor(to / f"{name}.txt"))
        table.to_parquet(to / f"{name}.parquet")
        table.to_csv(to / f"{name}.csv", index=False)
    data = rr.Dataset.from_letor(to / "train.txt")
    for trees, model in ((4, "a"), (8, "b")):
        rr.train(data, num_trees=trees, num_leaves=4).save(to / f"{model}.rrk")
    rr.Booster.load(to / "a.rrk").export("lightgbm", to / "lightgbm.txt")
    rr.Booster.load(to / "a.rrk").export("xgboost", to / "xgboost.json")
    return to


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:  # noqa: ARG001
    def said(*arguments: str, code: int = 0) -> str:
        assert main(list(arguments)) == code, capsys.readouterr().err
        captured = capsys.readouterr()
        if code:
            assert captured.err.count("\n") == 1
            assert "a bug" not in captured.err
        return captured.err if code else captured.out

    return said


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_every_command_reads_tables(run: Callable[..., str], kind: str) -> None:
    def same(*arguments: str) -> str:
        """Run a command on text and on tables; what it prints must be the same."""
        told = run(*arguments)
        tables = [one.replace(".txt", f".{kind}") if one in DATA else one for one in arguments]
        found = run(*tables, *COLUMNS)
        assert found.replace(f".{kind}", ".txt") == told
        return told

    DATA = ("train.txt", "vali.txt", "test.txt")
    same("evaluate", "test.txt", "a.rrk")
    same("compare", "test.txt", "a.rrk", "b.rrk")
    same("combine", "vali.txt", "a.rrk", "b.rrk", "--valid", "test.txt")
    same("report", "test.txt", "a.rrk", "b.rrk", "--metric", "ndcg@5")
    same("tune", "train.txt", "best.rrk", *SEARCH)
    same("tune", "train.txt", "best.rrk", *SEARCH, "--valid", "vali.txt")
    same("adapt", "a.rrk", "vali.txt", "--valid-open", "test.txt", *RECIPES)
    same("score", "a.rrk", "test.txt")
    lines = [run("inspect", name, *COLUMNS).splitlines() for name in ("test.txt", f"test.{kind}")]
    # Names of features and sizes of files are other ones.
    for text, table in zip(*lines, strict=True):
        assert text == table or text.startswith(("test.txt:", "features "))


@pytest.mark.parametrize("kind", ["txt", "parquet", "csv"])
def test_every_command_reads_several_files(run: Callable[..., str], kind: str) -> None:
    """A command on two files says what it says of one file with the lines of both."""
    first, second, both = f"vali.{kind}", f"test.{kind}", f"both.{kind}"
    if kind == "parquet":
        pd.concat([pd.read_parquet(first), pd.read_parquet(second)]).to_parquet(both, index=False)
    else:
        lines = Path(second).read_text().splitlines(keepends=True)
        Path(both).write_text(Path(first).read_text() + "".join(lines[kind == "csv" :]))
    more = ("--more-data", second)
    for before, after in (
        (["evaluate"], ["a.rrk"]),
        (["compare"], ["a.rrk", "b.rrk"]),
        (["combine"], ["a.rrk", "b.rrk"]),
        (["report"], ["a.rrk", "b.rrk", "--out", "r.html"]),
        (["tune"], ["best.rrk", *SEARCH]),
        (["adapt", "a.rrk"], RECIPES),
    ):
        found = run(*before, first, *after, *more, *COLUMNS)
        assert found == run(*before, both, *after, *COLUMNS)
    apart = [run("inspect", name, *COLUMNS) for name in (first, second)]
    assert run("inspect", first, second, *COLUMNS) == "\n\n".join(apart)
    shown = json.loads(run("inspect", first, second, "a.rrk", "--json", *COLUMNS))
    assert [next(iter(one)) for one in shown] == ["data", "data", "model"]


def test_models_of_other_libraries_need_no_conversion(run: Callable[..., str]) -> None:
    for data, theirs in (
        ("test.txt", ("lightgbm.txt", "xgboost.json")),
        ("test.parquet", ("xgboost.json",)),
    ):
        rows = run("evaluate", data, "a.rrk", *theirs, *COLUMNS).splitlines()[1:]
        assert len({tuple(row.split()[1:]) for row in rows}) == 1
        for file in theirs:
            assert "+0.0000" in run("compare", data, "a.rrk", file, *COLUMNS)
        assert "wrote" in run("report", data, "a.rrk", *theirs, *COLUMNS)


def test_models_and_scores_are_combined(run: Callable[..., str]) -> None:
    for name in ("vali", "test"):
        run("score", "b.rrk", f"{name}.txt", "--out", f"{name}-b.txt")
    models = run("combine", "vali.txt", "a.rrk", "b.rrk", "--valid", "test.txt")
    mixed = run("combine", "vali.txt", "a.rrk", "vali-b.txt", "--valid", "test.txt", "test-b.txt")
    assert [row.split()[1:] for row in mixed.splitlines()] == [
        row.split()[1:] for row in models.splitlines()
    ]
    said = run("combine", "vali.txt", "a.rrk", "vali-b.txt", "--valid", "test.txt", code=2)
    assert "--valid: got 0 files of scores, expected 1" in said
    said = run("combine", "vali.txt", "a.rrk", "vali-b.txt", "--save", "x.rrk", code=2)
    assert "--save: vali-b.txt is no model" in said


def test_segments_are_columns(run: Callable[..., str]) -> None:
    table = pd.read_parquet("test.parquet")
    numbers = table["query"].str[1:].astype(int)
    table["market"] = np.where(numbers % 3 == 0, "en", "fr")
    table.to_parquet("markets.parquet")
    table.to_csv("markets.csv", index=False)
    scores = rr.Booster.load("a.rrk").predict(table.filter(regex="^x").to_numpy())
    expected = rr.evaluate(scores, table["grade"], qid=table["query"], segments=table["market"])
    for name in ("markets.parquet", "markets.csv"):
        arguments = (name, "a.rrk", *COLUMNS, "--segments", "market")
        whole, parts = (one.splitlines()[1:] for one in run("evaluate", *arguments).split("\n\n"))
        assert whole[0].split()[2] == f"{expected['ndcg@10']:.4f}"
        for row, (segment, part) in zip(parts, expected.segments.items(), strict=True):
            assert row.split()[1:4] == [segment, "ndcg@10", f"{part['ndcg@10']:.4f}"]
        (shown,) = json.loads(run("evaluate", *arguments, "--json"))["results"]
        assert shown["segments"]["fr"]["ndcg@10"]["mean"] == float(
            expected.segments["fr"]["ndcg@10"]
        )
        compared = run("compare", name, "a.rrk", "b.rrk", *arguments[2:])
        assert "p (Holm)" in compared
        shown = json.loads(run("compare", name, "a.rrk", "b.rrk", *arguments[2:], "--json"))
        assert set(shown["segments"]) == {"en", "fr"}
        for part in shown["segments"].values():
            assert part["ndcg@10"]["p_holm"] >= part["ndcg@10"]["p_randomisation"]
    table["market"] = ["en", "fr"] * (len(table) // 2)
    table.to_csv("markets.csv", index=False)
    said = run("evaluate", *arguments, code=65)
    assert "has two" in said
    assert "(markets.csv, line 3)" in said
    said = run("evaluate", *arguments[:-1], "markt", code=2)
    assert "--segments: markets.csv has no column 'markt'; did you mean market?" in said
    said = run("evaluate", "test.txt", "a.rrk", "--segments", "market", code=2)
    assert "--segments: test.txt has no columns: expected Parquet or CSV" in said
    said = run("evaluate", "--qrels", "test.txt", "a.rrk", "--segments", "market", code=2)
    assert "--segments: not with --qrels" in said


def test_columns_that_are_no_features_are_ignored(run: Callable[..., str]) -> None:
    run("train", "train.csv", "plain.rrk", "--num-trees", "2", *COLUMNS)
    table = pd.read_csv("train.csv")
    table.assign(url="a/b", price=np.arange(len(table))).to_csv("more.csv", index=False)
    more = ("--num-trees", "2", *COLUMNS, "--ignore")
    run("train", "more.csv", "more.rrk", *more, "url,price")
    assert Path("more.rrk").read_bytes() == Path("plain.rrk").read_bytes()
    said = run("train", "more.csv", "more.rrk", *more, "ulr", code=2)
    assert "--ignore: more.csv has no column 'ulr'; did you mean url?" in said


def test_row_numbers_of_pandas_are_no_features(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    run("train", "train.csv", "plain.rrk", "--num-trees", "2", *COLUMNS)
    table = pd.read_csv("train.csv").iloc[::-1][::-1]
    table.to_csv("index.csv")
    table.drop(index=[]).sort_index(ascending=False).iloc[::-1].to_parquet("index.parquet")
    for name in ("index.csv", "index.parquet"):
        assert main(["train", name, "x.rrk", "--num-trees", "2", *COLUMNS]) == 0
        warned = capsys.readouterr().err
        assert ("index.csv: the column without a name is left out" in warned) == (
            name == "index.csv"
        )
        assert Path("x.rrk").read_bytes() == Path("plain.rrk").read_bytes()


def test_csv_is_read_as_programs_write_it(run: Callable[..., str]) -> None:
    table = pd.read_csv("test.csv")
    table["query"] = [f"00{at // 8}" for at in range(len(table))]
    table.to_csv("plain.csv", index=False)
    expected = run("evaluate", "plain.csv", "a.rrk", *COLUMNS, "--per-query")
    # Ids are text: 007 is not 7.
    assert "\n000\t" in expected
    for name, how in (
        ("semicolon.csv", {"sep": ";"}),
        ("tab.tsv", {"sep": "\t"}),
        ("quoted.csv", {"quoting": 1}),
        ("packed.csv.gz", {}),
        ("windows.csv", {"lineterminator": "\r\n", "encoding": "utf-8-sig"}),
    ):
        table.to_csv(name, index=False, **how)
        assert run("evaluate", name, "a.rrk", *COLUMNS, "--per-query") == expected
    table.loc[::5, [f"x{at}" for at in range(50)]] = np.nan
    table.to_csv("missing.csv", index=False)
    table.to_parquet("missing.parquet")
    told = [run("score", "a.rrk", f"missing.{kind}", *COLUMNS) for kind in ("csv", "parquet")]
    assert told[0] == told[1] != run("score", "a.rrk", "plain.csv", *COLUMNS)
    assert "missing values in  50: x0 (20" in run("inspect", "missing.csv", *COLUMNS)


def changed(row: int, column: str, value: Any) -> Any:
    table = pd.read_csv("test.csv")
    table[column] = table[column].astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("column", "value", "part"),
    [
        ("grade", -1, "label[5] is -1: expected a finite number from 0 to 2^24"),
        ("grade", None, "label[5] is missing: expected a finite number"),
        ("grade", "good", "column 'grade': got 'good', expected a number"),
        ("grade", 40, "] = 40"),
        ("query", None, "qid[5] is missing: expected an id for every row"),
        ("x3", "oops", "column 'x3': got 'oops', expected a number"),
        ("x3", "1,5", "column 'x3': got '1,5', expected a number with a point: a decimal comma"),
    ],
)
def test_errors_name_the_line_of_a_table(
    run: Callable[..., str], column: str, value: Any, part: str
) -> None:
    bad = changed(5, column, value)
    bad.to_csv("bad.csv", index=False)
    places = {"bad.csv": "(bad.csv, line 7)"}
    if not isinstance(value, str):
        if column != "query":
            bad[column] = bad[column].astype(float)
        bad.to_parquet("bad.parquet")
        places["bad.parquet"] = "(bad.parquet, row 5)"
    for name, place in places.items():
        other = name.replace("bad", "vali")
        for arguments in (
            ("train", name, "x.rrk", "--num-trees", "2"),
            ("train", other, "x.rrk", "--num-trees", "2", "--more-data", name),
            ("train", other, "x.rrk", "--num-trees", "2", "--valid", name),
            ("evaluate", name, "a.rrk"),
            ("evaluate", other, "a.rrk", "--more-data", name),
            ("compare", name, "a.rrk", "b.rrk"),
            ("report", name, "a.rrk", "b.rrk"),
            ("combine", name, "a.rrk", "b.rrk"),
            ("combine", other, "a.rrk", "b.rrk", "--valid", name),
            ("tune", name, "x.rrk", *SEARCH),
            ("tune", other, "x.rrk", *SEARCH, "--valid", name),
            ("adapt", "a.rrk", name, *RECIPES),
            ("adapt", "a.rrk", other, *RECIPES, "--valid-open", name),
        ):
            said = run(*arguments, *COLUMNS, code=65)
            assert part in said, arguments
            if value == "oops":
                # It is too late to tell a trained model.
                is_late = arguments[0] not in ("train", "tune")
                hint = "; train, tune and auto take categories: --categorical x3"
                assert (", as in the training set" if is_late else hint) + f" ({name}" in said
            assert place in said, arguments


def test_a_file_is_what_its_name_says(folder: Path, run: Callable[..., str]) -> None:
    for name, content in (
        ("letor.csv", Path("test.txt").read_bytes()),
        ("csv.txt", Path("test.csv").read_bytes()),
        ("csv.parquet", Path("test.csv").read_bytes()),
        ("parquet.csv", Path("test.parquet").read_bytes()),
        ("parquet.txt", Path("test.parquet").read_bytes()),
        ("model.txt", Path("a.rrk").read_bytes()),
        ("empty.txt", b""),
        ("empty.csv", b""),
        ("empty.parquet", b""),
        ("cut.csv.gz", gzip.compress(Path("test.csv").read_bytes())[:-200]),
        ("ragged.csv", Path("test.csv").read_bytes() + b"1,2\n"),
        ("twice.csv", b"query,x,x,grade\n1,2,3,0\n"),
        ("header.csv", b"query,x,grade\n"),
    ):
        Path(name).write_bytes(content)
    for name in ("folder.csv", "folder.parquet", "folder.txt"):
        (folder / name).mkdir()
    lines = Path("test.csv").read_text().count("\n") + 1
    for name, code, part in (
        ("letor.csv", 65, "letor.csv: this is LETOR text, not CSV: call it .txt"),
        ("csv.txt", 65, "csv.txt: this looks like CSV: let its name end in .csv"),
        ("csv.parquet", 65, "csv.parquet: this is not Parquet: it begins with b'x0,query"),
        ("parquet.csv", 65, "parquet.csv: this is Parquet: let its name end in .parquet"),
        ("parquet.txt", 65, "parquet.txt: this is Parquet: let its name end in .parquet"),
        ("model.txt", 65, "model.txt: this is a model, expected data"),
        ("empty.txt", 65, "the data have no rows (empty.txt)"),
        ("empty.csv", 65, "the data have no rows (empty.csv)"),
        ("empty.parquet", 65, "the data have no rows (empty.parquet)"),
        ("header.csv", 65, "(header.csv)"),
        ("cut.csv.gz", 65, "cut.csv.gz: damaged gzip"),
        ("ragged.csv", 65, f"got 2 columns, expected 52 (ragged.csv, line {lines})"),
        ("twice.csv", 65, "twice.csv: two columns have the name 'x'"),
        ("folder.csv", 66, "folder.csv: Is a directory"),
        ("folder.parquet", 66, "folder.parquet: Is a directory"),
        ("folder.txt", 66, "folder.txt: Is a directory"),
        ("none.csv", 66, "none.csv: No such file"),
        ("none.parquet", 66, "none.parquet: No such file"),
    ):
        for arguments in (
            ("train", name, "x.rrk"),
            ("score", "a.rrk", name),
            ("evaluate", name, "a.rrk"),
            ("report", name, "a.rrk"),
            ("tune", name, "x.rrk", *SEARCH),
            ("adapt", "a.rrk", name, *RECIPES),
        ):
            assert part in run(*arguments, *COLUMNS, code=code), arguments


def test_a_model_that_is_none_is_named_for_what_it_is(run: Callable[..., str]) -> None:
    run("convert", "a.rrk", "ranklib.xml")
    run("convert", "a.rrk", "a.onnx")
    Path("a.rrk.gz").write_bytes(gzip.compress(Path("a.rrk").read_bytes()))
    Path("a.cbm").write_bytes(b"CBM1\xa0\0\0")
    Path("a.pkl").write_bytes(b"\x80\x04\x95")
    for name, part in (
        ("a.cbm", "a.cbm: this is CatBoost's binary format: save it by save_model(file"),
        ("a.pkl", "a.pkl: this is a pickle"),
        ("ranklib.xml", "ranklib.xml: this is RankLib's XML, which is written, not read"),
        ("a.onnx", "a.onnx"),
        ("a.rrk.gz", "a.rrk.gz: this is gzip, expected a model that is not packed"),
    ):
        for arguments in (
            ("evaluate", "test.txt", name),
            ("score", name, "test.txt"),
            ("report", "test.txt", name),
            ("combine", "test.txt", "a.rrk", name),
            ("convert", name, "out.rrk"),
            ("adapt", name, "test.txt"),
        ):
            assert part in run(*arguments, code=65), arguments
        if name != "a.rrk.gz":
            assert name in run("inspect", name, code=65)
    for data in ("test.txt", "test.parquet"):
        assert f"{data}: this is data, expected a model" in run("score", data, "a.rrk", code=65)
        assert f"{data}: this is data" in run("train", "a.txt", "x.rrk", "--base", data, code=65)
    assert "a.rrk: this is a model, expected data" in run("evaluate", "a.rrk", "test.txt", code=65)


def test_wrong_metrics_are_told_before_a_file_is_read(run: Callable[..., str]) -> None:
    for arguments in (
        ("train", "none.txt", "x.rrk"),
        ("evaluate", "none.txt", "a.rrk"),
        ("report", "none.txt", "a.rrk"),
        ("combine", "none.txt", "a.rrk", "b.rrk"),
        ("tune", "none.txt", "x.rrk"),
        ("adapt", "a.rrk", "none.txt"),
    ):
        said = run(*arguments, "--metric", "ndgc@10", code=2)
        assert "unknown metric `ndgc`; did you mean ndcg?" in said, arguments


def test_features_that_are_in_no_line_are_told(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path("test.txt").read_text().splitlines()
    Path("narrow.txt").write_text("\n".join(line.partition(" 41:")[0] for line in lines))
    for arguments in (("evaluate", "narrow.txt", "a.rrk"), ("report", "narrow.txt", "a.rrk")):
        assert main(list(arguments)) == 0
        warned = capsys.readouterr().err
        assert "narrow.txt: no line has a feature 41 to 50, of 50: they count as 0" in warned
    run("evaluate", "test.txt", "a.rrk")
    assert capsys.readouterr().err == ""


def test_an_option_of_tuning_by_another_name_is_told_its_own(run: Callable[..., str]) -> None:
    said = run("tune", "train.txt", "x.rrk", "--set", "num_trees=10", code=2)
    assert "there is no parameter num_trees; here it is called n_estimators" in said


def test_shards_are_of_text_or_parquet(run: Callable[..., str]) -> None:
    run("shard", "train.parquet", "shards", "--shards", "2", *COLUMNS, "--no-progress")
    said = run("shard", "train.csv", "more", "--shards", "2", code=2)
    assert "DATA: got train.csv, expected LETOR text or Parquet" in said
    Path("csv.txt").write_bytes(Path("train.csv").read_bytes())
    said = run("shard", "csv.txt", "more", "--shards", "2", code=65)
    assert "csv.txt: this looks like CSV" in said


def test_files_of_one_command_have_the_same_columns(run: Callable[..., str]) -> None:
    table = pd.read_csv("test.csv")
    table[table.columns[::-1]].to_csv("turned.csv", index=False)
    more = ("a.rrk", *COLUMNS, "--more-data")
    turned = run("evaluate", "vali.csv", *more, "turned.csv")
    assert turned == run("evaluate", "vali.csv", *more, "test.csv")
    table.drop(columns="x5").to_csv("fewer.csv", index=False)
    said = run("evaluate", "vali.csv", *more, "fewer.csv", code=65)
    assert "fewer.csv has no column 'x5', which vali.csv has" in said
    said = run("evaluate", "fewer.csv", *more, "vali.csv", code=65)
    assert "fewer.csv has no column 'x5', which vali.csv has" in said
    said = run("evaluate", "vali.csv", *more, "vali.csv", code=65)
    assert "stands in two files" in said
    said = run("evaluate", "vali.csv", *more, "test.txt", code=2)
    assert "files: got vali.csv, test.txt, expected all of one kind" in said
    # Where a model does not fit, the error names it and the data.
    said = run("evaluate", "fewer.csv", "a.rrk", *COLUMNS, code=65)
    assert "a.rrk: " in said
    assert "(fewer.csv)" in said


def test_inspect_tells_of_columns_that_are_no_numbers(run: Callable[..., str]) -> None:
    table = pd.read_csv("test.csv").assign(brand=["a", "b"] * 96)
    table.to_parquet("brands.parquet")
    told = run("inspect", "brands.parquet", *COLUMNS)
    assert "text in            1: brand (2 values)" in told
    assert "50 features" in told
    days = pd.date_range("2026-01-01", periods=len(table)).where(np.arange(len(table)) > 2)
    table.assign(listed=days, empty="").to_csv("dates.csv", index=False)
    told = run("inspect", "dates.csv", *COLUMNS)
    assert f"dates in           1: listed ({len(table) - 3} values)" in told
    assert "text in            1: brand (2 values)" in told
    assert "listed (1.6%)" in told
    told = run("inspect", "dates.csv", *COLUMNS, "--features")
    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines()}
    assert rows["brand"] == ["192", "0", "-", "-", "text,", "2", "values"]
    assert rows["listed"] == ["192", "3", "-", "-", "dates,", "189", "values"]
    assert len(rows["x0"]) == 4
    told = run("inspect", "brands.parquet", "--qid", "query")
    assert "no labels" in told
    said = run("inspect", "brands.parquet", code=2)
    assert "--qid: brands.parquet has no column 'qid'; its columns are x0, query, x1" in said


def test_inspect_tells_whether_the_rows_of_a_query_stand_together(run: Callable[..., str]) -> None:
    table = pd.read_csv("test.csv")
    turned = table[::-1]
    mixed = table.sample(frac=1, random_state=0)
    for given, is_sorted in ((table, True), (turned, True), (mixed, False)):
        given.to_parquet("rows.parquet", index=False)
        given.to_csv("rows.csv", index=False)
        for file in ("rows.parquet", "rows.csv"):
            assert (
                json.loads(run("inspect", file, *COLUMNS, "--json"))["sorted_by_qid"] is is_sorted
            )
            said = "the docs of a query do not stand together" in run("inspect", file, *COLUMNS)
            assert said is not is_sorted
