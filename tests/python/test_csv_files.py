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
    assert model._core.category_names() == {1: ["news", "shop", "wiki"]}
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
    assert "NA" in rr.Booster.load("x.rrk")._core.category_names()[1]


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
