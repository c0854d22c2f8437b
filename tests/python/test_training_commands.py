"""`rustrank train`, `rustrank score` and `rustrank convert`, as a shell sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

RUNS = [sys.executable, "-W", "ignore", "-m", "rustrank"]
SMALL = ("--num-trees", 8, "--num-leaves", 6)


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [*RUNS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def good(*arguments: Any) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("letor")
    for name, seed in (("train.txt", 1), ("valid.txt.gz", 2)):
        rr.datasets.make_polynomial(num_queries=40, seed=seed).to_letor(folder / name)
    return folder


def test_train_and_score_do_what_python_does(files: Path, tmp_path: Path) -> None:
    train, valid, model = files / "train.txt", files / "valid.txt.gz", tmp_path / "m.rrk"
    options = ("--valid", valid, "--metric", "map,ndcg@5", "--learning-rate", 0.3, "--l2", 1)
    more = ("--pairs-to", "none", "--early-stopping", 3, "--gain", "0,1,3,7,15")
    told = json.loads(good("train", train, model, *SMALL, *options, *more, "--json"))
    dataset = rr.Dataset.from_letor(train)
    checked = rr.Dataset.from_letor(valid, like=dataset)
    expected = rr.train(
        dataset,
        valid=checked,
        num_trees=8,
        num_leaves=6,
        metric=["map", "ndcg@5"],
        learning_rate=0.3,
        l2=1,
        pairs_to=None,
        early_stopping=3,
        gain=[0, 1, 3, 7, 15],
    )
    booster = rr.Booster.load(model)
    assert booster == expected
    assert told["num_trees"] == expected.num_trees
    assert told["best_round"] == expected.best_round
    said = told["valid"][str(valid)]
    assert said["map"] == max(expected.history["valid"]["map"])
    scores = np.array(good("score", model, valid).split(), np.float64)
    assert np.array_equal(scores, expected.predict(checked))
    # A booster alone is enough to read what it is to score.
    own = rr.Dataset.from_letor(valid, like=booster)
    assert np.array_equal(booster.predict(own), scores)
    assert booster.evaluate(own, "map")["map"] == said["map"]


def test_train_prints_a_table_and_goes_on(files: Path, tmp_path: Path) -> None:
    train, model, begun = files / "train.txt", tmp_path / "m.rrk", tmp_path / "c.rrk"
    lines = good("train", train, model, *SMALL, "--valid", train).splitlines()
    assert lines[0] == f"{model}: 8 trees"
    assert lines[1].split() == ["data", "metric", "mean"]
    assert lines[2].split()[:2] == [str(train), "ndcg@10"]
    again = tmp_path / "again.rrk"
    good("train", train, again, "--num-trees", 3, *SMALL[2:], "--checkpoint", begun)
    good("train", train, again, *SMALL, "--checkpoint", begun, "--resume")
    assert rr.Booster.load(again) == rr.Booster.load(model)
    good("train", train, again, *SMALL, "--base", model)
    assert rr.Booster.load(again).num_trees == 16


def test_train_goes_on_from_a_model_of_any_kind(files: Path, tmp_path: Path) -> None:
    train, valid, model = files / "train.txt", files / "valid.txt.gz", tmp_path / "m.rrk"
    docs = rr.datasets.read_letor(valid)
    plain = rr.Dataset.from_letor(train)
    bases = {
        "net": rr.LambdaRank(epochs=1).fit(docs.X, docs.y, qid=docs.qid).booster,
        "trees of other bins": rr.train(rr.Dataset.from_letor(valid), num_trees=3),
        "trees of the same bins": rr.train(plain, num_trees=3),
    }
    for name, base in bases.items():
        base.save(tmp_path / "base.rrk")
        good("train", train, model, *SMALL, "--valid", valid, "--base", tmp_path / "base.rrk")
        # Bins that can score the base do so: the dataset is then that of a training without base.
        is_same = name == "trees of the same bins"
        dataset = plain if is_same else rr.Dataset.from_letor(train, base=base)
        expected = rr.train(dataset, num_trees=8, num_leaves=6, base=base)
        assert rr.Booster.load(model) == expected, name


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("train", "{train}"), 2, "required: MODEL"),
        (("train", "{train}", "{model}", "--num-leaves", "1"), 2, "num_leaves: got 1"),
        (("train", "{train}", "{model}", "--l2", "much"), 2, "--l2: got 'much', expected a number"),
        (("train", "{train}", "{model}", "--lerning-rate", "1"), 2, "--lerning-rate"),
        (("train", "absent.txt", "{model}"), 66, "absent.txt: No such file"),
        (("train", "{train}", "absent/m.rrk", "--num-trees", "1"), 66, "No such file"),
        (("score", "{train}", "{train}"), 65, "model"),
        (("score", "absent.rrk", "{train}"), 66, "absent.rrk: No such file"),
    ],
)
def test_faults_have_their_exit_codes(
    files: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    paths = {"train": files / "train.txt", "model": tmp_path / "m.rrk"}
    done = run(*(argument.format(**paths) for argument in arguments))
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "m.rrk").exists()


def test_convert_writes_what_the_ending_says(files: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.rrk"
    good("train", files / "train.txt", model, *SMALL)
    booster = rr.Booster.load(model)
    libraries = {"txt": "lightgbm", "json": "xgboost", "xml": "ranklib", "onnx": "onnx"}
    for ending, library in libraries.items():
        out = tmp_path / f"m.{ending}"
        assert good("convert", model, out) == ""
        assert out.read_bytes() == booster.export(library)
    assert good("convert", tmp_path / "m.txt", tmp_path / "again", "--to", "rustrank") == ""
    rows = np.random.default_rng(1).normal(size=(50, booster.num_features))
    again = rr.Booster.load(tmp_path / "again")
    assert np.array_equal(again.predict(rows), booster.predict(rows))


def test_what_cannot_be_converted_is_one_line(files: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.rrk"
    good("train", files / "train.txt", model, *SMALL)
    for arguments, code, said in (
        ((model, tmp_path / "m.doc"), 2, "--to LIBRARY"),
        ((model, tmp_path / "m", "--to", "mystery"), 2, "mystery"),
        (
            (files / "train.txt", tmp_path / "m.rrk"),
            65,
            "train.txt: this is data, expected a model",
        ),
        ((tmp_path / "none", tmp_path / "m.rrk"), 66, "none"),
        ((model, tmp_path / "none" / "m.txt"), 66, "none"),
    ):
        done = run("convert", *arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_weights_of_metrics_and_guards_are_json(files: Path, tmp_path: Path) -> None:
    train, base, model = files / "train.txt", tmp_path / "base.rrk", tmp_path / "m.rrk"
    weights = {"ndcg@10": 1, "err@10": 0.5}
    good("train", train, base, *SMALL)
    options = ("--base", base, "--metric", json.dumps(weights), "--guard", '{"ndcg@10": 0.01}')
    good("train", train, model, *SMALL, *options)
    dataset, first = rr.Dataset.from_letor(train), rr.Booster.load(base)
    small: dict[str, Any] = {"num_trees": 8, "num_leaves": 6}
    expected = rr.train(dataset, base=first, metric=weights, guard={"ndcg@10": 0.01}, **small)
    assert rr.Booster.load(model) == expected
    done = run("train", train, model, *SMALL, "--metric", '{"ndcg@10": 1,')
    assert (done.returncode, "--metric: got '{\"ndcg@10\": 1,', expected JSON" in done.stderr) == (
        2,
        True,
    )
