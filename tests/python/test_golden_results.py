"""What rustrank computes is what the table says, bit for bit; tests/golden/README.md explains it."""

from dataclasses import replace
from pathlib import Path

import make_results
import pytest
from result_cases import CASES, SAME, compute
from result_cases.table import COLUMNS, NONE, Result, content, differences, read, write

EXPECTED, NOTES = read()


def test_the_table_has_a_row_for_each_case() -> None:
    assert list(EXPECTED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_result_is_that_of_the_table(name: str) -> None:
    different = differences(EXPECTED[name], compute(name))
    assert not different, "\n".join([name, *different])


@pytest.mark.parametrize("names", SAME, ids=" ".join)
def test_results_that_must_be_equal_have_equal_rows(names: tuple[str, ...]) -> None:
    first, *others = (EXPECTED[name] for name in names)
    for other in others:
        assert (other.content, other.scores) == (first.content, first.scores)


def test_one_bit_of_any_column_is_noticed() -> None:
    name = "objective lambdamart"
    found = compute(name)
    assert differences(EXPECTED[name], found) == []
    for column in COLUMNS:
        value = getattr(found, column)
        last = "1" if value[-1] != "1" else "2"
        lines = differences(EXPECTED[name], replace(found, **{column: value[:-1] + last}))
        assert lines[0].startswith(f"{column}: expected {value}, got ")
        assert any("only the notes" in line for line in lines) == (column == "model")


def test_notes_are_no_part_of_the_content() -> None:
    lines = ["rustrank model 1", "bytes 9", "names 1", "checksum of a", "attributes 1", "a b"]
    text = "\n".join([*lines, "intercept 0.0", "checksum xxh3 1"])
    assert content(text) == "rustrank model 1\nnames 1\nchecksum of a\nintercept 0.0"
    assert content(text.replace("a b", "a c")) == content(text)
    assert content(text.replace("0.0", "0.5")) != content(text)


def test_a_model_of_another_seed_is_another_row() -> None:
    assert EXPECTED["threads 1"].content != EXPECTED["seed 7"].content


def test_changed_rows_are_written_with_a_note_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = tmp_path / "results.tsv", "metrics rows"
    wrong = {name: replace(EXPECTED[name], values="map@10=0.5")}
    write(wrong, {}, path)
    monkeypatch.setattr(make_results, "TABLE", path)
    monkeypatch.setattr(make_results, "CASES", [name, "metrics zero"])
    assert make_results.main([]) == 1
    assert f"{name}\n  values: expected map@10=0.5, got ndcg=" in capsys.readouterr().out
    assert read(path)[0] == wrong
    assert make_results.main(["--note", "a bug was mended"]) == 0
    assert read(path)[1] == {name: "a bug was mended", "metrics zero": ""}
    assert read(path)[0] == {one: EXPECTED[one] for one in (name, "metrics zero")}


def test_a_table_reads_as_it_was_written(tmp_path: Path) -> None:
    write(EXPECTED, NOTES, tmp_path / "copy.tsv")
    assert read(tmp_path / "copy.tsv") == (EXPECTED, NOTES)
    write({"one": Result("a", NONE, NONE, "x=1.0 y=b")}, {"one": "why"}, tmp_path / "one.tsv")
    assert read(tmp_path / "one.tsv")[1] == {"one": "why"}
