"""CSV on the command line: columns of categories are text or numbers as a model or training set has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as compat
from rustrank.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

DIGITS = ("7", "007", "0007")
MIXED = (*DIGITS, "shop", "wiki")
LETTERS = ("shop", "wiki")
FEW = ("--num-trees", "4", "--min-leaf-docs", "2", "--no-progress")
SITE = ("--categorical", "site")
SEARCH = ("--try", "num_leaves=3,5", "--set", "n_estimators=3", "--folds", "2", "--no-progress")


def frame(seed: int, sites: tuple[Any, ...], num_rows: int = 300) -> Any:
    """Return docs whose labels depend on the site; queries of another seed have other ids."""
    random = np.random.default_rng(seed)
    site, price = random.integers(0, len(sites), num_rows), random.normal(size=num_rows).round(3)
    label = np.digitize(price + 2.0 * (site % 3), [0, 1.5, 3])
    qid = 1000 * seed + np.arange(num_rows) // 10
    return pd.DataFrame(
        {"qid": qid, "price": price, "site": [sites[at] for at in site], "label": label}
    )


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    for seed, (name, sites) in enumerate(
        {"mixed": MIXED, "digits": DIGITS, "letters": LETTERS, "more": MIXED}.items()
    ):
        frame(seed, sites).to_csv(f"{name}.csv", index=False)
    numbers = frame(9, (1, 2, 30))
    numbers.to_csv("numbers.csv", index=False)
    numbers.to_parquet("numbers.parquet", index=False)

    def said(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        found = main(list(arguments))
        captured = capsys.readouterr()
        assert found == code, captured.err
        assert "a bug" not in captured.err
        return captured.err if code else captured.out

    return said


def texts(path: str) -> Any:
    """Return the features of a CSV file with sites as text."""
    return pd.read_csv(path, dtype={"site": str})[["price", "site"]]


def test_categories_are_text_as_it_is_written(run: Callable[..., str]) -> None:
    for name, sites in (("digits", DIGITS), ("mixed", MIXED)):
        run("train", f"{name}.csv", f"{name}.rrk", *SITE, *FEW)
        model, table = rr.Booster.load(f"{name}.rrk"), pd.read_csv(f"{name}.csv", dtype=str)
        assert model._core.category_lists() == {1: sorted(sites)}
        data = rr.Dataset(
            texts(f"{name}.csv"), table["label"].astype(int), qid=table["qid"], categorical=["site"]
        )
        options: dict[str, Any] = {"num_trees": 4, "min_leaf_docs": 2}
        assert np.array_equal(
            model.predict(texts("mixed.csv")), rr.train(data, **options).predict(texts("mixed.csv"))
        )


def test_a_model_of_texts_reads_text_in_every_command(run: Callable[..., str]) -> None:
    run("train", "mixed.csv", "a.rrk", *SITE, *FEW)
    run("train", "digits.csv", "b.rrk", *SITE, *FEW)
    a, b = (rr.Booster.load(f"{name}.rrk").predict(texts("digits.csv")) for name in "ab")
    for name, scores in (("a", a), ("b", b)):
        Path(f"{name}.txt").write_text("\n".join(map(repr, scores.tolist())))
    scored = run("score", "a.rrk", "digits.csv")
    assert [float(line) for line in scored.splitlines()] == a.tolist()
    scored = run("score", "a.rrk", "letters.csv", "digits.csv")
    assert [float(line) for line in scored.splitlines()][300:] == a.tolist()
    for command in ("evaluate", "compare", "combine", "report"):
        told = run(command, "digits.csv", "a.txt", "b.txt")
        found = run(command, "digits.csv", "a.rrk", "b.rrk")
        assert [line.split()[1:] for line in found.replace(".rrk", ".txt").splitlines()] == [
            line.split()[1:] for line in told.splitlines()
        ]
        run(command, "digits.csv", "a.rrk", "b.rrk", "--more-data", "letters.csv")
    said = run("adapt", "a.rrk", "digits.csv", code=2)
    assert "feature 'site' holds categories" in said


def test_files_of_training_may_hold_digits_only(run: Callable[..., str]) -> None:
    pd.concat([pd.read_csv(f"{one}.csv", dtype=str) for one in ("digits", "letters")]).to_csv(
        "both.csv", index=False
    )
    run("train", "both.csv", "both.rrk", *SITE, *FEW)
    run("train", "digits.csv", "parts.rrk", *SITE, *FEW, "--more-data", "letters.csv")
    assert Path("parts.rrk").read_bytes() == Path("both.rrk").read_bytes()
    told = run("train", "mixed.csv", "m.rrk", *SITE, *FEW, "--valid", "digits.csv")
    value = run("evaluate", "digits.csv", "m.rrk").splitlines()[-1].split()[2]
    assert told.splitlines()[-1].split() == ["digits.csv", "ndcg@10", value]
    tuned = []
    for how in (SITE, ("--set", "categorical=site"), ("--set", 'categorical=["site"]')):
        run("tune", "mixed.csv", "t.rrk", *SEARCH, *how, "--valid", "digits.csv")
        assert set(rr.Booster.load("t.rrk")._core.category_lists()[1]) == set(MIXED)
        tuned.append(Path("t.rrk").read_bytes())
    assert tuned[0] == tuned[1] == tuned[2]
    # The base says which columns are texts, so an option that was forgotten is an error.
    more = ("more.csv", "c.rrk", "--base", "m.rrk", *FEW)
    run("train", *more, *SITE)
    assert "column 'site'" in run("train", *more, code=65)


def test_categories_that_a_model_does_not_know_are_a_warning(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    run("train", "mixed.csv", "m.rrk", *SITE, *FEW)
    table = pd.read_csv("mixed.csv", dtype=str)
    table.assign(site=table["site"] + ".0").to_csv("other.csv", index=False)
    for arguments in (("score", "m.rrk", "other.csv"), ("evaluate", "other.csv", "m.rrk")):
        assert main(list(arguments)) == 0
        said = capsys.readouterr().err
        assert said.count("no value of column 'site' (got '") == 1
        assert "and the model knows '0007') is a category" in said


def test_a_model_of_numbers_reads_numbers(run: Callable[..., str]) -> None:
    run("train", "numbers.parquet", "n.rrk", *SITE, *FEW, "--valid", "numbers.csv")
    assert rr.Booster.load("n.rrk")._core.category_lists() == {}
    scores = run("score", "n.rrk", "numbers.parquet")
    assert run("score", "n.rrk", "numbers.csv") == scores
    # 7 and 007 are one number.
    table = pd.read_csv("numbers.csv", dtype=str)
    table.assign(site="00" + table["site"]).to_csv("zeros.csv", index=False)
    assert run("score", "n.rrk", "zeros.csv") == scores
    # So does training that goes on from it.
    for data in ("numbers.parquet", "numbers.csv"):
        run("train", data, f"{data}.rrk", *SITE, *FEW, "--base", "n.rrk")
    assert Path("numbers.csv.rrk").read_bytes() == Path("numbers.parquet.rrk").read_bytes()
    run("train", "mixed.csv", "t.rrk", *SITE, *FEW)
    # Each model has the column in its own way.
    for command in ("evaluate", "compare", "combine"):
        run(command, "numbers.csv", "n.rrk", "t.rrk")
    both = run("evaluate", "numbers.csv", "n.rrk", "t.rrk").splitlines()
    alone = run("evaluate", "numbers.csv", "n.rrk").splitlines()
    assert both[1].split() == alone[1].split()
    said = run("report", "numbers.csv", "n.rrk", "t.rrk", code=65)
    assert "column 'site' holds texts in one model and numbers in another" in said
    assert "(numbers.csv)" in said
    assert "give one model as a file of its scores (rustrank score MODEL DATA --out FILE)" in said
    run("score", "t.rrk", "numbers.csv", "--out", "t.txt")
    run("report", "numbers.csv", "n.rrk", "t.txt", "--resamples", "100")
    said = run("combine", "numbers.csv", "n.rrk", "t.rrk", "--save", "both.rrk", code=65)
    assert "train all with texts there, or all with numbers" in said
    assert "order" not in said
    said = run("evaluate", "mixed.csv", "t.rrk", "n.rrk", code=65)
    line = 2 + table.index[pd.read_csv("mixed.csv", dtype=str)["site"].isin(LETTERS)][0]
    assert "column 'site': got " in said
    assert f"(mixed.csv, line {line})" in said


def test_models_without_names_know_columns_by_their_places(run: Callable[..., str]) -> None:
    table = pd.read_csv("mixed.csv", dtype={"site": str})
    X = table[["price", "site"]].to_numpy(object)
    data = rr.Dataset(X, table["label"], qid=table["qid"], categorical=[1])
    model = rr.train(data, num_trees=4, min_leaf_docs=2)
    model.save("places.rrk")
    digits = texts("digits.csv").to_numpy(object)
    found = run("score", "places.rrk", "digits.csv").splitlines()
    assert [float(line) for line in found] == model.predict(digits).tolist()


def test_lightgbm_models_have_texts_or_numbers(run: Callable[..., str]) -> None:
    table = pd.read_csv("numbers.csv").astype({"site": str})
    X = table[["price", "site"]].astype({"site": "category"})
    ranker = compat.LGBMRanker(n_estimators=4, verbose=-1, min_child_samples=5)
    ranker.fit(X, table["label"], group=np.full(30, 10)).booster_.save_model("texts.txt")
    expected = ranker.predict(X)
    found = run("score", "texts.txt", "numbers.csv").splitlines()
    assert np.allclose([float(line) for line in found], expected)
    # As LightGBM writes it where the categories are numbers in pandas.
    text = Path("texts.txt").read_text("utf-8")
    assert '[["1","2","30"]]' in text
    Path("listed.txt").write_text(text.replace('[["1","2","30"]]', "[[1,2,30]]"), "utf-8")
    table.assign(site=table["site"] + ".0").to_csv("floats.csv", index=False)
    for data in ("numbers.csv", "floats.csv"):
        found = run("score", "listed.txt", data).splitlines()
        assert np.allclose([float(line) for line in found], expected)
    run("report", "numbers.csv", "listed.txt")


def test_segments_are_text(run: Callable[..., str]) -> None:
    run("train", "mixed.csv", "m.rrk", *FEW, "--ignore", "site")
    for seed, (name, market) in enumerate({"one": "007", "two": "7", "three": "fr"}.items()):
        table = frame(seed + 20, MIXED).assign(market=market)
        table.to_csv(f"{name}.csv", index=False)
    more = ("--more-data", "two.csv", "--more-data", "three.csv", "--segments", "market")
    rows = run("evaluate", "one.csv", "m.rrk", *more).splitlines()[-3:]
    assert [row.split()[1] for row in rows] == ["007", "7", "fr"]


@pytest.mark.parametrize("command", ["train", "valid", "more", "score", "evaluate", "tune"])
def test_a_column_of_another_kind_is_an_error(run: Callable[..., str], command: str) -> None:
    run("train", "mixed.csv", "t.rrk", *SITE, *FEW)
    run("train", "numbers.csv", "n.rrk", *FEW)
    texts_for_numbers = {
        "train": ("train", "letters.csv", "x.rrk", *FEW),
        "valid": ("train", "numbers.csv", "x.rrk", *FEW, "--valid", "letters.csv"),
        "more": ("train", "numbers.csv", "x.rrk", *FEW, "--more-data", "letters.csv"),
        "score": ("score", "n.rrk", "letters.csv"),
        "evaluate": ("evaluate", "letters.csv", "n.rrk"),
        "tune": ("tune", "numbers.csv", "x.rrk", *SEARCH, "--valid", "letters.csv"),
    }
    said = run(*texts_for_numbers[command], code=65)
    first = frame(2, LETTERS)["site"][0]
    assert f"column 'site': got '{first}', expected a number" in said
    assert "(letters.csv, line 2)" in said
    numbers_for_texts = {
        "valid": ("train", "mixed.csv", "x.rrk", *SITE, *FEW, "--valid", "numbers.parquet"),
        "more": ("train", "mixed.csv", "x.rrk", *SITE, *FEW, "--more-data", "numbers.parquet"),
        "score": ("score", "t.rrk", "numbers.parquet"),
        "evaluate": ("evaluate", "numbers.parquet", "t.rrk"),
        "tune": ("tune", "mixed.csv", "x.rrk", *SITE, *SEARCH, "--valid", "numbers.parquet"),
    }
    if command in numbers_for_texts:
        said = run(*numbers_for_texts[command], code=65)
        assert "column 'site': got " in said
        assert "numbers.parquet" in said or "(mixed.csv, line " in said


def test_a_segment_may_be_a_feature_of_numbers(run: Callable[..., str]) -> None:
    table = frame(0, MIXED).assign(market=np.arange(300) // 10 % 2)
    table.drop(columns="site").to_csv("market.csv", index=False)
    run("train", "market.csv", "m.rrk", *FEW)
    whole = run("evaluate", "market.csv", "m.rrk").splitlines()[1]
    told = run("evaluate", "market.csv", "m.rrk", "--segments", "market").splitlines()
    assert told[1].split() == whole.split()
    assert [row.split()[1] for row in told[-2:]] == ["0", "1"]
