"""The files that commands read: models and scores, text and tables, one and several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

TRAIN = rr.datasets.make_polynomial(30, 10, seed=0)
TEST = rr.datasets.make_polynomial(12, 10, seed=1, first_query=100)
MODELS = ("own", "lightgbm", "classes", "net", "on-net", "ranks")
COLUMNS = ("--label", "grade", "--qid", "query")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("files")
    for name, docs in (("train", TRAIN), ("test", TEST)):
        docs.to_letor(to / f"{name}.txt")
    docs = rr.datasets.read_letor(to / "train.txt")
    data = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    own = rr.train(data, num_trees=4)
    own.save(to / "own")
    own.export("lightgbm", to / "lightgbm")
    rr.train(data, num_trees=2, objective="mcrank").save(to / "classes")
    net = rr.LambdaRank(epochs=1).fit(docs.X, docs.y, qid=docs.qid).booster_
    net.save(to / "net")
    on_net = rr.Dataset(docs.X, docs.y, qid=docs.qid, base=net)
    rr.train(on_net, num_trees=2).save(to / "on-net")
    ranks = rr.Dataset(docs.X, docs.y, qid=docs.qid, query_ranks=True)
    rr.train(ranks, num_trees=2).save(to / "ranks")
    return to


@pytest.fixture
def run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    monkeypatch.chdir(folder)

    def said(*arguments: str, code: int = 0) -> str:
        assert main(list(arguments)) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return said


@pytest.mark.parametrize("model", MODELS)
def test_models_of_all_kinds_are_scored_evaluated_and_compared(
    folder: Path, run: Callable[..., str], model: str
) -> None:
    docs = rr.datasets.read_letor(folder / "test.txt")
    expected = rr.Booster.load(folder / model).predict(docs.X, qid=docs.qid)
    assert run("score", model, "test.txt", "--out", "scores.txt") == ""
    assert np.array_equal(np.loadtxt("scores.txt"), expected)
    assert run("score", model, "test.txt") == Path("scores.txt").read_text("ascii")
    of_model, of_scores = run("evaluate", "test.txt", model, "scores.txt").splitlines()[1:]
    assert of_model.split()[1:] == of_scores.split()[1:]
    compared = run("compare", "test.txt", model, "scores.txt").splitlines()[1].split()
    assert compared[1] == compared[2]
    assert "combined" in run("combine", "test.txt", model, "own")


def test_inspect_names_the_objective(run: Callable[..., str]) -> None:
    for model, objective in (("own", "lambdamart"), ("classes", "mcrank"), ("net", "lambdarank")):
        lines = [line.split() for line in run("inspect", model).splitlines()]
        assert ["objective", objective] in lines


def test_tables_are_read_as_text_is(folder: Path, run: Callable[..., str]) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name in ("train", "test"):
        docs = rr.datasets.read_letor(folder / f"{name}.txt")
        table = pd.DataFrame(docs.X, columns=[f"x{at}" for at in range(docs.X.shape[1])])
        table.insert(1, "query", [f"q{query}" for query in docs.qid])
        table["grade"] = docs.y
        table.to_parquet(f"{name}.parquet")
        table.to_csv(f"{name}.csv", index=False)
    run("train", "train.txt", "text.rrk", "--num-trees", "3")
    for kind in ("parquet", "csv"):
        run("train", f"train.{kind}", "table.rrk", "--num-trees", "3", *COLUMNS)
        scores = run("score", "text.rrk", "test.txt")
        assert run("score", "table.rrk", f"test.{kind}", *COLUMNS) == scores
        found = run("evaluate", f"test.{kind}", "table.rrk", *COLUMNS).splitlines()[1]
        expected = run("evaluate", "test.txt", "text.rrk").splitlines()[1]
        assert found.split()[1:] == expected.split()[1:]
    said = run("evaluate", "test.csv", "text.rrk", code=2)
    assert "--qid: test.csv has no column 'qid'; its columns are x0, query, x1" in said
    said = run("evaluate", "test.csv", "text.rrk", "--qid", "query", code=2)
    assert "--label: test.csv has no column 'label'" in said
    lines = Path("test.csv").read_text("utf-8").splitlines()
    lines[4] = lines[4].rpartition(",")[0] + ",40"
    Path("bad.csv").write_text("\n".join(lines), "utf-8")
    run("score", "text.rrk", "test.txt", "--out", "s.txt")
    assert "(bad.csv, line 5)" in run("evaluate", "bad.csv", "s.txt", *COLUMNS, code=65)


def test_several_files_are_read_one_after_the_other(run: Callable[..., str]) -> None:
    both = run("score", "own", "train.txt", "test.txt")
    assert both == run("score", "own", "train.txt") + run("score", "own", "test.txt")
    Path("both.txt").write_text(Path("train.txt").read_text() + Path("test.txt").read_text())
    more = ("--more-data", "test.txt")
    assert run("evaluate", "train.txt", "own", *more) == run("evaluate", "both.txt", "own")
    run("train", "train.txt", "more.rrk", "--num-trees", "2", *more)
    run("train", "both.txt", "both.rrk", "--num-trees", "2")
    assert Path("more.rrk").read_bytes() == Path("both.rrk").read_bytes()
    said = run("evaluate", "train.txt", "own", "--more-data", "train.txt", code=65)
    assert "stands in two files" in said
    # Scores do not mix the queries of files.
    twice = run("score", "ranks", "test.txt", "test.txt")
    assert twice == run("score", "ranks", "test.txt") * 2


def test_errors_name_the_line(run: Callable[..., str]) -> None:
    lines = Path("test.txt").read_text("utf-8").splitlines()
    lines[4] = "40" + lines[4][lines[4].index(" ") :]
    Path("bad.txt").write_text("\n".join(["# a comment", "", *lines]), "utf-8")
    for arguments in (
        ("evaluate", "bad.txt", "own"),
        ("compare", "bad.txt", "own", "net"),
        ("evaluate", "train.txt", "own", "--more-data", "bad.txt"),
        ("train", "bad.txt", "x.rrk"),
        ("combine", "bad.txt", "own", "net"),
    ):
        said = run(*arguments, code=65)
        assert "label[" in said
        assert "(bad.txt, line 7)" in said


def test_errors_speak_of_the_options_of_commands(run: Callable[..., str]) -> None:
    train = ("train", "train.txt", "new.rrk", "--num-trees", "2")
    said = run(*train, "--early-stopping", "3", code=2)
    assert "error: --early-stopping needs a validation set: pass --valid\n" in said
    said = run(*train, "--resume", code=2)
    assert "error: --resume needs a checkpoint: pass --checkpoint\n" in said
    said = run(*train, "--guard", '{"ndcg@10": 0.1}', code=2)
    assert "--guard: there is no base, expected --base, the model whose values may not fall" in said
    for command in (("evaluate", "test.txt", "own"), train):
        said = run(*command, "--metric", "revenue@10", code=2)
        assert "metrics of further labels, as revenue@10, are for Python only" in said
    for name in ("evaluate", "compare"):
        said = run(name, "test.txt", "own", "bm25", code=66)
        assert "bm25: No such file or directory; scores are in a file, one a line" in said
        assert "columns as rankers are for Python only" in said
