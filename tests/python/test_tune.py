"""Sweeps over options: what is tried, what it is judged by, and how a sweep goes on."""

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli.commands.tune import _list, _value
from rustrank.datasets import Ranking, make_web
from rustrank.progress import progress_of_steps
from rustrank.selection.search_spaces import (
    as_space,
    different_settings,
    grid_settings,
    random_settings,
)

pytestmark = pytest.mark.filterwarnings("ignore:4 of 136 features:rustrank.RustrankWarning")

SPACE: dict[str, Any] = {"num_leaves": [2, 6], "learning_rate": [0.001, 0.1, 0.3]}
RANGES = {"num_leaves": rr.Between(2, 6), "learning_rate": rr.Between(0.01, 0.3, log=True)}


def trees(**more: Any) -> rr.LambdaMART:
    return rr.LambdaMART(**{"n_estimators": 6, "num_leaves": 4, **more})


@pytest.fixture(scope="module")
def docs() -> Ranking:
    return make_web(50, docs_per_query=15, seed=4)


@pytest.fixture(scope="module")
def found(docs: Ranking) -> rr.Tuning:
    return rr.tune(trees(), docs, SPACE, folds=3)


def test_a_grid_is_tried_whole_and_as_cross_validation_does(
    docs: Ranking, found: rr.Tuning
) -> None:
    assert len(found.trials) == 6
    settings = [tuple(trial.setting.values()) for trial in found.trials]
    assert settings[:3] == [(2, 0.001), (2, 0.1), (2, 0.3)]
    rankers = {str(at): trees(**trial.setting) for at, trial in enumerate(found.trials)}
    theirs = rr.cross_validate(rankers, docs.X, docs.y, qid=docs.qid, folds=3)
    for at, trial in enumerate(found.trials):
        assert float(trial.value) == float(theirs[str(at)]["ndcg@10"])
    assert float(found.value) == max(float(trial.value) for trial in found.trials)


def test_the_ranker_has_the_best_setting_and_all_docs(docs: Ranking, found: rr.Tuning) -> None:
    again = trees(**found.best).fit(
        dict(zip(docs.feature_names, docs.X.T, strict=True)), docs.y, qid=docs.qid
    )
    assert found.booster == again.booster_
    assert found.ranker.get_params()["num_leaves"] == found.best["num_leaves"]
    none = rr.tune(trees(), docs, {"num_leaves": [3]}, folds=2, refit=False)
    with pytest.raises(rr.ParamError, match="refit=False"):
        _ = none.booster


def test_the_best_of_many_flatters_itself_and_choosing_does_not() -> None:
    rng = np.random.default_rng(0)
    flattery, bias = [], []
    for _ in range(3):
        X, qid = rng.random((600, 4), np.float32), np.arange(600) // 10
        y = rng.integers(0, 3, 600)
        tried = {"random_state": list(range(12)), "features_per_node": [0.5]}
        found = rr.tune(trees(), (X, y, qid), tried, folds=3, refit=False)
        mean = np.mean([float(trial.value) for trial in found.trials])
        flattery.append(float(found.value) - mean)
        bias.append(float(found.choosing) - mean)
    assert np.mean(flattery) > 0.01
    assert abs(np.mean(bias)) < np.mean(flattery)


def test_a_sweep_does_not_depend_on_threads_nor_on_the_order_of_rows(
    docs: Ranking, found: rr.Tuning
) -> None:
    order = np.random.default_rng(1).permutation(len(docs.y))
    shuffled = Ranking(docs.X[order], docs.y[order], docs.qid[order], docs.feature_names)
    other = rr.tune(trees(), shuffled, SPACE, folds=3, n_jobs=1, num_threads=1)
    assert str(other) == str(found)
    assert other.booster == found.booster


def test_values_on_queries_that_rounds_were_stopped_on_are_said_to_be_too_high(
    docs: Ranking,
) -> None:
    valid = make_web(30, docs_per_query=15, seed=4, first_query=200)
    said = (
        "the rounds of each setting were stopped early on the same queries, so all values are too"
    )

    def is_said(ranker: Any, tried: dict[str, Any], **more: Any) -> bool:
        found = rr.tune(ranker, docs, tried, refit=False, **more)
        is_shown = [said in " ".join(text.split()) for text in (str(found), found._repr_html_())]
        assert all(is_shown) == any(is_shown)
        return all(is_shown)

    some = {"num_leaves": [3, 5]}
    stopping = trees(n_estimators=5, early_stopping=3)
    assert is_said(stopping, some, valid=valid)
    assert is_said(trees(n_estimators=5), {"early_stopping": [None, 2]}, valid=valid)
    assert is_said(rr.LambdaRank(epochs=2), {"learning_rate": [0.01, 0.1]}, valid=valid)
    # Folds hold out queries of their own, and without early stopping there is no choice of rounds.
    assert not is_said(stopping, some, folds=2)
    assert not is_said(trees(n_estimators=5), some, valid=valid)


def test_a_validation_set_judges_and_stops(docs: Ranking) -> None:
    valid = make_web(30, docs_per_query=15, seed=4, first_query=200)
    ranker = trees(n_estimators=30, early_stopping=3)
    found = rr.tune(ranker, docs, {"num_leaves": [3, 5]}, valid=valid)
    names = docs.feature_names
    own = ranker.set_params(**found.best).fit(
        dict(zip(names, docs.X.T, strict=True)),
        docs.y,
        qid=docs.qid,
        eval_set=[(dict(zip(names, valid.X.T, strict=True)), valid.y, valid.qid)],
    )
    assert found.booster == own.booster_
    scores = own.booster_.predict(valid.X)
    assert float(found.value) == float(rr.evaluate(scores, valid.y, qid=valid.qid)["ndcg@10"])


def test_tables_are_printed_and_are_plain_values(found: rr.Tuning) -> None:
    said = str(found)
    assert said.splitlines()[0].split()[:3] == ["num_leaves", "learning_rate", "ndcg@10"]
    assert len(said.splitlines()) == 1 + 6 + 1 + 2
    assert "best of 6 settings: num_leaves=" in said
    assert found._repr_html_().startswith("<table>")
    assert len(json.loads(json.dumps(found.to_dict()))["trials"]) == 6


def test_plot_has_a_panel_a_parameter(found: rr.Tuning) -> None:
    pytest.importorskip("matplotlib").use("agg")
    panels = found.plot()
    assert [panel.get_xlabel() for panel in panels] == ["num_leaves", "learning_rate"]
    assert panels[1].get_xscale() == "log"
    figure = panels[0].figure
    figure.draw_without_rendering()
    legend = panels[0].get_legend().get_window_extent()
    assert legend.y0 >= panels[0].get_window_extent().y1
    named = [text.get_window_extent() for text in panels[1].get_xticklabels(which="both")]
    shown = sorted((box for box in named if box.width > 1), key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(shown))
    assert all(tick == int(tick) for tick in panels[0].get_xticks())


# Spaces.


def test_the_papers_grids_have_names() -> None:
    yahoo = rr.grids["lambdamart-2010"]
    assert len(grid_settings(yahoo)) == 5 * 12
    assert grid_settings(yahoo)[-1]["num_leaves"] == 380
    for name, space in rr.grids.items():
        kind = rr.LambdaRank if "rank" in name else rr.LambdaMART
        assert as_space(name, list(kind().get_params()), kind.__name__) == {
            key: values if isinstance(values, rr.Between) else list(values)
            for key, values in space.items()
        }


def test_random_settings_are_in_their_ranges_and_need_no_state() -> None:
    drawn = random_settings(RANGES, seed=3)
    some = [next(drawn) for _ in range(200)]
    again = random_settings(RANGES, seed=3)
    assert [next(again) for _ in range(3)] == some[:3]
    leaves = [one["num_leaves"] for one in some]
    assert sorted(set(leaves)) == [2, 3, 4, 5, 6]
    rates = np.array([one["learning_rate"] for one in some])
    assert rates.min() >= 0.01
    assert rates.max() <= 0.3
    assert 0.35 < (rates < 0.055).mean() < 0.65, "half of them below the geometric mean"


def test_random_search_tries_as_many_as_asked(docs: Ranking) -> None:
    found = rr.tune(trees(), docs, RANGES, trials=3, folds=2, seed=5)
    other = rr.tune(trees(), docs, RANGES, trials=5, folds=2, seed=5)
    assert [trial.setting for trial in other.trials][:3] == [one.setting for one in found.trials]


def test_no_setting_is_tried_twice(docs: Ranking) -> None:
    space = {"num_leaves": (2, 4), "l2": [0.0, 1.0]}
    given: dict[str, Any] = {"docs": docs, "space": space, "folds": 2, "refit": False}
    ranker = trees(n_estimators=1)
    for method, number in (("random", 5), ("random", 50), ("optuna", 5), ("optuna", 50)):
        if method == "optuna":
            pytest.importorskip("optuna")
        found = rr.tune(ranker, method=method, trials=number, **given)
        tried = {str(trial.setting) for trial in found.trials}
        assert len(tried) == len(found.trials) == min(number, 6), method
    grid = rr.tune(ranker, docs, {"num_leaves": [2, 3, 2]}, folds=2, refit=False)
    assert len(grid.trials) == 2


def test_what_is_hardly_ever_drawn_is_tried_at_the_end() -> None:
    space: dict[str, Any] = {"n_estimators": rr.Between(1, 3000, log=True), "l2": [1.0]}
    found = different_settings(space, 0, 2900)
    assert len({one["n_estimators"] for one in found}) == len(found) == 2900
    assert different_settings(space, 0, 20) == found[:20]


def test_a_tuple_of_two_numbers_is_a_range() -> None:
    known = {"num_leaves": 31, "l2": 0.0, "learning_rate": 0.1, "hidden": (10,), "metric": "ndcg"}
    given = {"num_leaves": (4, 64), "l2": (0, 1), "learning_rate": (0.01, np.float64(0.3))}
    assert as_space(given, known, "LambdaMART") == {
        "num_leaves": rr.Between(4, 64),
        "l2": rr.Between(0.0, 1.0),
        "learning_rate": rr.Between(0.01, 0.3),
    }
    lists: dict[str, Any] = {
        "num_leaves": [4, 64],
        "hidden": [(4, 2), (8,)],
        "metric": ("ndcg", "err"),
    }
    lists |= {"l2": (0, 1, 2)}
    assert as_space(lists, known, "x") == {key: list(one) for key, one in lists.items()}
    with pytest.raises(rr.ParamError, match=r"num_leaves is a range, Between\(low=4, high=64"):
        grid_settings(as_space({"num_leaves": (4, 64)}, known, "LambdaMART"))
    with pytest.raises(rr.ParamError, match="expected a low end below a high one"):
        as_space({"num_leaves": (64, 4)}, known, "LambdaMART")


def test_progress_has_values_and_the_time_left(
    docs: Ranking, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rr.tune(
        trees(n_estimators=1), docs, {"l2": [0.0, 1.0]}, folds=2, refit=False, progress=True
    )
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("trial 2 of 2: ndcg@10 0.")
    assert last.endswith(f", best {float(found.value):.4f}")
    at = iter([0.0, 50.0, 60.0])
    monkeypatch.setattr("time.monotonic", lambda: next(at))
    with progress_of_steps(11, "trial", shown=True) as step:
        step("ndcg@10 0.5")
        step()
    monkeypatch.undo()
    assert capsys.readouterr().err == (
        "trial 1 of 11: ndcg@10 0.5, about 8 min left\ntrial 2 of 11: about 4 min left\n"
    )


# Optuna.


def test_optuna_looks_where_it_was_good(docs: Ranking, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    space = {"learning_rate": rr.Between(1e-6, 0.3), "num_leaves": [2, 3]}
    given: dict[str, Any] = {"method": "optuna", "trials": 24, "folds": 2, "seed": 2}
    found = rr.tune(trees(), docs, space, n_jobs=2, records=tmp_path / "all", **given)
    assert len(found.trials) == 24
    again = rr.tune(trees(), docs, space, n_jobs=1, **given)
    assert str(again) == str(found), "what it is told does not depend on threads"
    lines = (tmp_path / "all").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "half").write_text("".join(lines[:9]), "utf-8")
    resumed = rr.tune(trees(), docs, space, records=tmp_path / "half", **given)
    assert str(resumed) == str(found)


def test_without_optuna_the_message_says_what_to_install(
    docs: Ranking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'pip install "rustrank\[tune\]"'):
        rr.tune(trees(), docs, RANGES, method="optuna", trials=2)


# Records.

_SCRIPT = """
import os, signal, sys
import rustrank as rr
fit, done = rr.LambdaMART.fit, []

def counted(self, *rows, **more):
    done.append(0)
    if len(done) > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return fit(self, *rows, **more)

rr.LambdaMART.fit = counted
docs = rr.datasets.make_web(30, 10, seed=0)
space = {"num_leaves": [2, 3, 4], "n_estimators": [3]}
found = rr.tune(rr.LambdaMART(), docs, space, folds=2, records=sys.argv[1], n_jobs=1)
print(len(done), found.best, found.booster.to_text())
"""


def start(records: Path, fits: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", "-c", _SCRIPT, str(records), str(fits)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_killed_sweep_goes_on(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    done = start(whole, 99)
    assert (done.returncode, done.stderr) == (0, "")
    assert start(killed, 4).returncode == -signal.SIGKILL
    text = killed.read_text("utf-8")
    assert text.count("\n") == 3, "the first line, and two settings of two fits"
    killed.write_text(text + '{"setting": "{', "utf-8")
    again = start(killed, 99)
    assert (again.returncode, again.stderr) == (0, "")
    assert done.stdout.split(" ", 1)[0] == "7"
    assert again.stdout.split(" ", 1)[0] == "3", "one setting, and the fit at the end"
    assert again.stdout.split(" ", 1)[1] == done.stdout.split(" ", 1)[1]
    assert killed.read_bytes() == whole.read_bytes()


_ENDLESS = """
import os, signal, threading
import rustrank as rr

docs = rr.datasets.make_web(30, 10, seed=0)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
ranker = rr.{ranker}
try:
    rr.tune(ranker, docs, {space}, folds=2, n_jobs=2)
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.parametrize(
    ("ranker", "space"),
    [
        ("LambdaMART(n_estimators=10**6, num_leaves=2)", '{"l2": [1.0, 2.0]}'),
        ("RankNet(epochs=10**6)", '{"learning_rate": [0.1, 0.2]}'),
    ],
)
def test_ctrl_c_ends_fits_between_rounds(ranker: str, space: str) -> None:
    script = _ENDLESS.format(ranker=ranker, space=space)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


def test_records_of_something_else_are_refused(docs: Ranking, tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    rr.tune(trees(), docs, {"num_leaves": [3]}, folds=2, records=path, refit=False)
    rr.tune(trees(), docs, {"num_leaves": [3, 4]}, folds=2, records=path, refit=False)
    for options, what in (
        ({"ranker": trees(l2=1.0)}, "its options was"),
        ({"docs": (docs.X + 1, docs.y, docs.qid)}, "its docs was"),
        ({"folds": 3}, "its folds was 2, and is 3"),
        ({"metric": "err"}, "its metric was ndcg@10, and is err"),
    ):
        given: dict[str, Any] = {"ranker": trees(), "docs": docs, "folds": 2}
        given.update(options)
        with pytest.raises(rr.ParamError, match=what):
            rr.tune(space={"num_leaves": [3]}, records=path, **given)
    path.write_text("hello\n", "utf-8")
    with pytest.raises(rr.DataError, match="has no records of a tuning run"):
        rr.tune(trees(), docs, {"num_leaves": [3]}, records=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranker": rr.LambdaMART}, "ranker: got <class"),
        ({"space": "lambdamart-1999"}, "space: got 'lambdamart-1999', expected one of"),
        ({"space": {}}, "space: got {}, expected a name, or values"),
        ({"space": {"leaves": [3]}}, "LambdaMART has no parameter 'leaves'"),
        ({"space": {"num_leaves": []}}, r"num_leaves is \[\], expected a list"),
        ({"space": {"num_leaves": 3}}, "num_leaves is 3, expected a list"),
        ({"space": {"l2": rr.Between(3, 1)}}, "expected a low end below a high one"),
        ({"space": {"l2": rr.Between(0.0, 1.0, log=True)}}, "a low end above 0"),
        ({"space": RANGES, "method": "grid"}, "of which a grid cannot try all"),
        ({"method": "bayes"}, "method: got 'bayes', expected one of grid, random, optuna"),
        ({"method": "grid", "trials": 3}, "trials: got a number for a grid"),
        ({"method": "random", "trials": 0}, "trials: got 0"),
        ({"metric": "ndgc"}, "ndgc"),
        ({"folds": 1}, "folds|n_splits"),
        ({"n_jobs": 0}, "n_jobs: got 0"),
    ],
)
def test_options_are_checked(docs: Ranking, options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"ranker": trees(), "docs": docs, "space": SPACE, **options}
    with pytest.raises(rr.ParamError, match=message):
        rr.tune(**given)


# The command.


def command(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "rustrank", "tune", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def test_the_command_does_what_the_function_does(docs: Ranking, tmp_path: Path) -> None:
    path, model = tmp_path / "web.txt", tmp_path / "best.rrk"
    docs.to_letor(path)
    said = command(
        *(path, model, "--try", "num_leaves=2,6", "--try", "learning_rate=0.001,0.1,0.3"),
        *("--set", "n_estimators=6", "--folds", 3, "--json", "--no-progress"),
    )
    assert (said.returncode, said.stderr) == (0, "")
    read = rr.datasets.read_letor(path)
    theirs = rr.tune(trees(max_label=None), read, SPACE, folds=3)
    assert json.loads(said.stdout)["best"] == theirs.best
    assert (
        rr.Booster.load(model).predict(read.X).tolist() == theirs.booster.predict(read.X).tolist()
    )


def test_the_command_takes_ranges_and_names_what_is_wrong(docs: Ranking, tmp_path: Path) -> None:
    path, model = tmp_path / "web.txt", tmp_path / "best.rrk"
    docs.to_letor(path)
    given = (path, model, "--set", "epochs=1", "--ranker", "lambdarank", "--trials", 2)
    said = command(*given, "--try", "learning_rate=1e-4..1e-2:log", "--try", "hidden=[2],[3]")
    assert said.returncode == 0, said.stderr
    assert "best of 2 settings: learning_rate=0.00" in said.stdout
    for options, message in (
        (("--try", "num_leaves"), "--try: got 'num_leaves', expected NAME="),
        (("--ranker", "lambdamarts"), "--ranker: got 'lambdamarts'; did you mean lambdamart?"),
        (("--try", "leaves=3"), "LambdaMART has no parameter 'leaves'"),
        (("--set", "leaves=3"), "there is no parameter leaves"),
    ):
        wrong = command(path, model, *options)
        assert wrong.returncode == 2
        assert message in wrong.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".05", 0.05),
        ("5.", 5.0),
        ("+2", 2),
        ("007", 7),
        ("1e-3", 1e-3),
        ("7", 7),
        ("true", True),
        ("none", None),
        ("[0, 1]", [0, 1]),
        # Words, which the option refuses by its own message.
        ("nan", "nan"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("inf", "inf"),
    ],
)
def test_the_command_line_takes_numbers_as_python_does(text: str, expected: Any) -> None:
    found = _value(text)
    assert (found, type(found)) == (expected, type(expected))
    assert _list(f"{text},{text}") == [expected, expected]
