"""CSV on the command line: missing cells, encodings, quotes and types, as other programs write them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.cli.csv_files import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FEW = ("--num-trees", "4", "--min-leaf-docs", "2", "--no-progress")
SITE = ("--categorical", "site")


def frame(seed: int = 0, num_rows: int = 300) -> Any:
    """Return docs whose labels depend on the site and the price."""
    random = np.random.default_rng(seed)
    site, price = random.integers(0, 3, num_rows), random.normal(size=num_rows).round(3)
    sites = np.array(["shop", "news", "wiki"], object)[site]
    label = np.digitize(price + 2.0 * site, [0, 1.5, 3])
    qid = 1000 * seed + np.arange(num_rows) // 10
    return pd.DataFrame({"qid": qid, "price": price, "site": sites, "label": label})


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("train.csv", index=False)
    frame(1).to_csv("test.csv", index=False)
    options: list[str] = ["train", "train.csv", "m.rrk", *SITE, *FEW]
    assert main(options) == 0

    def said(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        found = main(list(arguments))
        captured = capsys.readouterr()
        assert found == code, captured.err
        assert "a bug" not in captured.err
        return captured.err if code else captured.out

    return said


def test_cells_are_missing_where_pandas_has_them_missing(run: Callable[..., str]) -> None:
    table = frame().astype({"price": object})
    cells = [*MISSING, '"NA"', '""']
    for at in range(len(cells)):
        table.loc[at, "price"] = table.loc[100 + at, "site"] = f"<{at}>"
    text = table.to_csv(index=False)
    for at, cell in enumerate(cells):
        text = text.replace(f"<{at}>", cell)
    Path("holes.csv").write_text(text)
    read = pd.read_csv("holes.csv")
    assert read["price"].isna().sum() == read["site"].isna().sum() == len(cells)
    read.to_parquet("holes.parquet", index=False)
    for kind in ("csv", "parquet"):
        run("train", f"holes.{kind}", f"{kind}.rrk", *SITE, *FEW)
    assert Path("csv.rrk").read_bytes() == Path("parquet.rrk").read_bytes()
    model = rr.Booster.load("csv.rrk")
    assert model._core.category_lists() == {1: ["news", "shop", "wiki"]}
    scores = [float(line) for line in run("score", "csv.rrk", "holes.csv").splitlines()]
    assert scores == model.predict(read[["price", "site"]]).tolist()
    told = run("inspect", "holes.csv")
    share = f"{100 * len(cells) / 300:.1f}%"
    assert f"2: price ({share}), site ({share})" in told
    # A label or an id that is missing is an error.
    for column in ("label", "qid"):
        bad = frame().astype({column: object})
        bad.loc[4, column] = "NA"
        bad.to_csv("bad.csv", index=False)
        assert "is missing" in (said := run("train", "bad.csv", "x.rrk", *FEW, code=65))
        assert "(bad.csv, line 6)" in said


def test_parquet_has_the_texts_that_csv_takes_for_missing(run: Callable[..., str]) -> None:
    table = frame()
    table.loc[::3, "site"] = "NA"
    table.to_parquet("na.parquet", index=False)
    run("train", "na.parquet", "x.rrk", *SITE, *FEW)
    assert "NA" in rr.Booster.load("x.rrk")._core.category_lists()[1]


@pytest.mark.parametrize("column", ["site", "qid", "label", "name of a column"])
def test_what_is_not_utf8_is_named(run: Callable[..., str], column: str) -> None:
    table = frame().astype(object)
    # Bytes and lines: a quoted line break comes before.
    table.insert(3, "note", "a\nb")
    if column in table:
        table.loc[7, column] = "café"
        place, what = "line 16", f"column '{column}'"
    else:
        table["prix été"] = 1
        place, what = "line 1", "the name of column 6"
    table.to_csv("latin.csv", index=False, encoding="latin-1")
    for arguments in (
        ("train", "latin.csv", "x.rrk", *SITE, *FEW, "--ignore", "note"),
        ("train", "latin.csv", "x.rrk", *FEW, "--ignore", "note"),
        ("train", "train.csv", "x.rrk", *SITE, *FEW, "--valid", "latin.csv"),
        ("score", "m.rrk", "latin.csv"),
        ("evaluate", "latin.csv", "m.rrk"),
        ("inspect", "latin.csv"),
    ):
        said = run(*arguments, code=65)
        assert f"{what}: got b'" in said, arguments
        assert f"which is not UTF-8; save the file as UTF-8 (latin.csv, {place})" in said
    if column == "site":
        more = ("--ignore", "note,site")
        run("train", "latin.csv", "x.rrk", *FEW, *more)


def test_an_open_quote_is_an_error(run: Callable[..., str]) -> None:
    """It would take all lines after it into one cell."""
    lines = Path("train.csv").read_text().splitlines()
    lines[9] = lines[9].replace(",shop,", ',"shop,').replace(",news,", ',"news,')
    lines[9] = lines[9].replace(",wiki,", ',"wiki,')
    Path("open.csv").write_text("\n".join(lines))
    for arguments in (("train", "open.csv", "x.rrk", *SITE, *FEW), ("inspect", "open.csv")):
        said = run(*arguments, code=65)
        assert "a quote is not closed before the end of the file (open.csv, line 10)" in said
    # In the last column each row has as many cells as the first.
    text = "qid,x,label,site\n" + "".join(f'{at // 9},{at},{at % 2},"a"\n' for at in range(90))
    Path("open.csv").write_text(text.replace('"a"\n4,40,', '"a\n4,40,'))
    said = run("train", "open.csv", "x.rrk", *SITE, *FEW, code=65)
    assert "text follows the quote that ends a cell (open.csv, line 41)" in said
    Path("open.csv").write_text(text[:-3] + "\nand more\n")
    said = run("train", "open.csv", "x.rrk", *SITE, *FEW, code=65)
    assert "a quote is not closed before the end of the file (open.csv, line 91)" in said


def test_quoted_line_breaks_are_a_part_of_cells(run: Callable[..., str]) -> None:
    """Also in a file that is read in several blocks, at whose ends they must not divide a row."""
    table = frame(num_rows=3000)
    expected = table.assign(site=table["site"] + "\n")
    expected.to_parquet("lines.parquet", index=False)
    expected.assign(note='line, "one"\n' * 1000).to_csv("lines.csv", index=False)
    assert Path("lines.csv").stat().st_size > 1 << 25
    for kind, more in (("parquet", ()), ("csv", ("--ignore", "note"))):
        run("train", f"lines.{kind}", f"{kind}.rrk", *SITE, *FEW, *more)
    assert Path("csv.rrk").read_bytes() == Path("parquet.rrk").read_bytes()


def test_text_far_below_is_named(run: Callable[..., str]) -> None:
    table = pd.concat([frame(num_rows=50_000).assign(note="y" * 400)]).astype({"price": object})
    table.loc[49_990, "price"] = "cheap"
    table.to_csv("late.csv", index=False)
    said = run("train", "late.csv", "x.rrk", *FEW, "--ignore", "note,site", code=65)
    assert "column 'price': got 'cheap', expected a number" in said
    assert "(late.csv, line 49992)" in said


def test_types_of_several_files(run: Callable[..., str]) -> None:
    first, second = frame(), frame(1)
    for one, other, works in (
        (first["price"] > 0, second["price"] > 0, True),
        (first["price"] > 0, (second["price"] > 0).astype(int), True),
        (first["label"], second["price"], True),
        ("", second["price"], True),
        (first["price"] > 0, "2024-01-01", False),
        ("2024-01-01", second["price"], False),
        ("2024-01-01", "2024-01-01T00:00:00", False),
    ):
        first.assign(more=one).to_csv("one.csv", index=False)
        second.assign(more=other).to_csv("two.csv", index=False)
        arguments = ("train", "one.csv", "x.rrk", *SITE, *FEW, "--more-data", "two.csv")
        said = run(*arguments, code=0 if works else 65)
        assert works or "column 'more': got " in said
        assert works or " in two.csv, expected the same type in all files" in said
        # What is not a feature may be of any type.
        run(*arguments, "--ignore", "more")
    first.assign(more=first["price"] > 0).to_csv("bool.csv", index=False)
    first.assign(more=(first["price"] > 0).astype(int)).to_csv("int.csv", index=False)
    run("train", "bool.csv", "a.rrk", *SITE, *FEW)
    assert run("score", "a.rrk", "bool.csv") == run("score", "a.rrk", "int.csv")


def test_text_of_csv_and_dictionaries_of_parquet_are_one_column(run: Callable[..., str]) -> None:
    run("train", "train.csv", "a.rrk", *SITE, *FEW, "--more-data", "test.csv")
    frame(1).astype({"site": "category"}).to_parquet("test.parquet", index=False)
    run("train", "train.csv", "b.rrk", *SITE, *FEW, "--more-data", "test.parquet")
    assert Path("a.rrk").read_bytes() == Path("b.rrk").read_bytes()


def test_names_of_columns_are_suggested(run: Callable[..., str]) -> None:
    text = Path("train.csv").read_text()
    Path("spaces.csv").write_text(text.replace("qid,price,site,label", "qid, price, site, label"))
    Path("upper.csv").write_text(text.replace("qid,price,site,label", "QID,price,site,label"))
    Path("few.csv").write_text("qid,label\n1,0\n1,1\n")
    Path("ids.csv").write_text("qid\n1\n1\n")
    for name, code, part in (
        ("spaces.csv", 2, "--label: spaces.csv has no column 'label'; did you mean ' label'?"),
        ("upper.csv", 2, "--qid: upper.csv has no column 'qid'; did you mean 'QID'?"),
        ("ids.csv", 2, "--label: ids.csv has no column 'label'; its columns are qid"),
        ("few.csv", 65, "few.csv has no column that is a feature, beside query ids and labels"),
    ):
        assert part in run("train", name, "x.rrk", *FEW, code=code)


def test_files_are_known_by_names_of_any_case(run: Callable[..., str]) -> None:
    Path("TEST.CSV").write_bytes(Path("test.csv").read_bytes())
    assert run("score", "m.rrk", "TEST.CSV") == run("score", "m.rrk", "test.csv")
    Path("wide.csv").write_text(Path("test.csv").read_text(), "utf-16")
    said = run("score", "m.rrk", "wide.csv", code=65)
    assert "wide.csv: this is UTF-16: save the file as UTF-8" in said
    Path("header.csv").write_text("qid,price,site,label")
    said = run("score", "m.rrk", "header.csv", code=65)
    assert "the data have no rows (header.csv)" in said
    Path("blank.csv").write_text("\n\n" + Path("test.csv").read_text().replace(",", ";"))
    assert run("score", "m.rrk", "blank.csv") == run("score", "m.rrk", "test.csv")


def test_spaces_around_texts_are_told(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path("test.csv").read_text().replace(",", ", ")
    Path("spaces.csv").write_text(lines.replace("qid, price, site, label", "qid,price,site,label"))
    assert main(["score", "m.rrk", "spaces.csv"]) == 0
    warned = capsys.readouterr().err
    assert (
        "spaces.csv: column 'site' has texts with spaces around them, which are kept: '" in warned
    )
    assert warned.count("with spaces around them") == 1
    # They are other categories than those of the training set.
    assert "no value of column 'site' (got ' " in warned
    assert warned.count("\n") == 2
    run("score", "m.rrk", "test.csv")
    assert main(["score", "m.rrk", "test.csv"]) == 0
    assert capsys.readouterr().err == ""


def test_ids_are_text(run: Callable[..., str]) -> None:
    table = frame().astype({"qid": object})
    table["qid"] = [
        ("7", "007", "12345678901234567890", "12345678901234567891", 'a,"b\nc')[at % 5]
        for at in range(300)
    ]
    table.to_csv("ids.csv", index=False)
    table.to_parquet("ids.parquet", index=False)
    told = [
        run("evaluate", f"ids.{kind}", "m.rrk", "--json", "--per-query")
        for kind in ("csv", "parquet")
    ]
    assert told[0] == told[1].replace("ids.parquet", "ids.csv")
    assert '"12345678901234567891"' in told[0]


def test_what_is_scored_needs_no_labels(run: Callable[..., str]) -> None:
    scores = run("score", "m.rrk", "test.csv")
    for label in ("", "unknown"):
        frame(1).assign(label=label).to_csv("future.csv", index=False)
        assert run("score", "m.rrk", "future.csv") == scores
        assert "label" in run("evaluate", "future.csv", "m.rrk", code=65)


def test_odd_parquet_is_no_bug(run: Callable[..., str]) -> None:
    table = frame()
    table.to_parquet("damaged.parquet", index=False)
    whole = Path("damaged.parquet").read_bytes()
    Path("damaged.parquet").write_bytes(whole[:200] + b"\xff" * 200 + whole[400:])
    table.assign(more=[[1, 2]] * 300).to_parquet("lists.parquet", index=False)
    table.assign(qid=[[1]] * 300).to_parquet("ids.parquet", index=False)
    assert "damaged.parquet: " in run("inspect", "damaged.parquet", code=65)
    said = run("inspect", "lists.parquet", code=65)
    assert "lists.parquet: column 'more': got list<" in said
    assert "column 'more'" in run("train", "lists.parquet", "x.rrk", *SITE, *FEW, code=65)
    said = run("train", "ids.parquet", "x.rrk", *SITE, *FEW, code=65)
    assert "ids.parquet: column 'qid': got list<" in said


def test_models_of_texts_refuse_text_files_of_numbers(run: Callable[..., str]) -> None:
    """Numbers of LETOR text are no categories of a model whose categories are texts."""
    rows = [f"{row.label} qid:{row.qid} 1:{row.price} 2:1" for row in frame(1).itertuples()]
    Path("letor.txt").write_text("\n".join(rows) + "\n")
    assert "it has texts" in run("score", "m.rrk", "letor.txt", code=2)
    for arguments in (("evaluate", "letor.txt", "m.rrk"), ("report", "letor.txt", "m.rrk")):
        said = run(*arguments, code=65)
        assert "feature 1: got numbers, expected the texts that the model was trained on" in said
        assert "(letor.txt)" in said


def test_functions_name_the_reader_of_a_file() -> None:
    for name, reader in (("a.csv", "pandas.read_csv"), ("a.tsv.gz", "pandas.read_csv")):
        with pytest.raises(TypeError, match=f"expected a table; {reader} reads a file"):
            rr.Dataset(name, [0, 1], qid=[1, 1])
