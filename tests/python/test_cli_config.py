"""`--config`: options from a file, as if they had been typed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rustrank.cli import main, parser
from rustrank.cli.commands import train
from rustrank.cli.config import with_config
from rustrank.parameters.schema import TRAININGS

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

TOML = """\
metric = ["ndcg@10", "map"]
gain = [0, 1, 3.5]
threads = 1

[train]
data = "train.txt"
model = "web.rrk"
valid = ["a.txt", "b.txt"]
num-trees = 20
learning_rate = 0.05
pairs_to = "none"
query_ranks = true
progress = false

[combine]
alphas = [-1, 2]
non_negative = false
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    pytest.importorskip("tomllib")
    path = tmp_path / "rustrank.toml"
    path.write_text(TOML, "ascii")
    return path


def parsed(command: str, *arguments: Any) -> argparse.Namespace:
    made = parser()
    given = with_config(vars(made)["commands"][command], list(map(str, arguments)))
    return made.parse([command, *given])


def test_names_are_those_of_options_and_arguments(config: Path) -> None:
    options = parsed("train", "--config", config)
    assert (options.data, options.model) == ("train.txt", "web.rrk")
    assert options.valid == ["a.txt", "b.txt"]
    assert (options.metric, options.gain) == ("ndcg@10,map", "0,1,3.5")
    assert (options.num_trees, options.learning_rate) == ("20", "0.05")
    assert (options.query_ranks, options.progress, options.threads) == (True, False, 1)


def test_what_is_typed_wins(config: Path) -> None:
    typed = ("--num-trees=7", "--valid", "c.txt", "--progress", "--metric", "err")
    options = parsed("train", "x.txt", "y.rrk", f"--config={config}", *typed)
    assert (options.data, options.model) == ("x.txt", "y.rrk")
    assert (options.num_trees, options.learning_rate) == ("7", "0.05")
    assert (options.valid, options.metric, options.progress) == (["c.txt"], "err", True)


def test_a_table_is_for_one_command(config: Path) -> None:
    options = parsed("combine", "--config", config, "--", "data.txt", "-s.txt")
    assert (options.data, options.files) == ("data.txt", ["-s.txt"])
    assert (options.alphas, options.non_negative) == ([-1.0, 2.0], False)
    assert options.metric == "ndcg@10,map"


def test_tables_and_lists_of_lists_are_json(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    given = {"monotone": {"f1": 1}, "interactions": [["f1", 2]], "feature_weight": [1, 0.5]}
    path.write_text(json.dumps({"train": given}), "ascii")
    options = parsed("train", "a", "b", "--config", path)
    for name, value in given.items():
        assert train._value(TRAININGS["train"][name], getattr(options, name)) == value


def test_json_is_the_same(config: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    other = config.with_suffix(".json")
    other.write_text(json.dumps(tomllib.loads(TOML)), "ascii")
    ours, theirs = (vars(parsed("train", "--config", path)) for path in (config, other))
    for names in (ours, theirs):
        del names["config"], names["parser"], names["run"]
    assert ours == theirs


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            "lerning_rate = 1",
            2,
            "`rustrank train` has no option lerning_rate; did you mean learning",
        ),
        ("[trian]\nseed = 1", 2, "there is no command [trian]; did you mean train?"),
        ("num_trees = ", 65, "cannot be read: Invalid value"),
        ("seed = true", 2, "seed: got true, expected a value for --seed"),
        ("resume = 1", 2, "resume: got 1, expected true or false"),
        ("seed = 1979-05-27", 2, "expected text or a number"),
        ("json = true", 2, "has no option json"),
        ("threads = 'many'", 2, "argument --threads: invalid int value: 'many'"),
        ("num_trees = 0", 2, "num_trees: got 0"),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, said: str
) -> None:
    pytest.importorskip("tomllib")
    path, data = tmp_path / "c.toml", tmp_path / "d.txt"
    path.write_text(text, "ascii")
    data.write_text("1 qid:1 1:1\n0 qid:1 1:2\n", "ascii")
    assert main(["train", str(data), str(tmp_path / "m.rrk"), "--config", str(path)]) == code
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert said in told[0]


def test_a_file_that_is_no_table_or_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.json"
    path.write_text("[1]", "ascii")
    assert main(["evaluate", "--config", str(path)]) == 65
    assert "got a list, expected names and values" in capsys.readouterr().err
    assert main(["evaluate", "--config", str(tmp_path / "none.toml")]) == 66
    assert "none.toml: No such file" in capsys.readouterr().err
    assert main(["evaluate", "--config"]) == 2


@pytest.mark.parametrize("name", ["c.json", "c.toml"])
@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_lists_deep_inside_each_other_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, depth: int
) -> None:
    pytest.importorskip("tomllib")
    deep = "[" * depth + "]" * depth
    (tmp_path / name).write_text(f'{{"data": {deep}}}' if "json" in name else f"data = {deep}")
    assert main(["train", "--config", str(tmp_path / name)]) in (2, 65)
    told = capsys.readouterr().err
    assert "a bug" not in told
    assert len(told) < 300 + len(str(tmp_path))
    assert depth < 2_000 or "stand too deep inside each other" in told


def test_toml_without_a_reader_of_it_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "c.toml"
    path.write_text("seed = 1", "ascii")
    assert main(["train", "--config", str(path)]) == 2
    assert "JSON (.json) does not" in capsys.readouterr().err
