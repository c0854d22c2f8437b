"""`rustrank.auto`: mixtures that are trained in a given time."""

from __future__ import annotations

import json
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.ensembles import _auto_members
from rustrank.training.probes import Probe

if TYPE_CHECKING:
    from pathlib import Path

WEB = rr.datasets.make_web(50, seed=4)
X, Y, QID = np.ascontiguousarray(WEB.X[:, :15]), WEB.y, WEB.qid


@pytest.fixture(autouse=True)
def _fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_auto_members, "_ROUNDS", 40)


def auto(**how: Any) -> rr.Auto:
    return rr.auto(X, Y, QID, **{"time_limit": None, "max_members": 4, "folds": 3, **how})


@pytest.fixture(scope="module")
def found() -> rr.Auto:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_auto_members, "_ROUNDS", 40)
        return auto()


def test_the_booster_is_the_weighted_mean_of_all_models(found: rr.Auto) -> None:
    assert found.ended == "done"
    assert next(iter(found.members)) == "noisy"
    assert sum(one.weight for one in found.members.values()) == pytest.approx(1)
    assert found.predict(X, qid=QID).shape == Y.shape
    num_trees = sum(3 * one.rounds for one in found.members.values() if one.weight)
    assert found.booster.num_trees <= num_trees


def test_a_member_is_the_mean_over_folds_and_its_value_is_held_out() -> None:
    """The first member again, each fold trained through the front door."""
    single = auto(max_members=1)
    member = single.members["noisy"]
    train = rr.Dataset(X, Y, qid=QID, query_ranks=True)
    total, values = np.zeros(len(Y)), np.full(train.num_queries, np.nan)
    for fold in range(3):
        (fit, _), (held, queries) = train._core.fold(fold, 3, 2**31)
        options = {**member.options, "num_trees": member.rounds}
        booster = rr.train(train.of_same_docs(fit), **options)
        total += booster.predict(train) / 3
        values[queries] = booster.evaluate(train.of_same_docs(held))["ndcg@10"].per_query
    spread = np.corrcoef(total, single.predict(X, qid=QID))[0, 1]
    assert spread == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(member.value.per_query, values)
    assert float(single.value) == pytest.approx(float(member.value))
    assert member.weight == 1
    assert member.against is None


def test_the_value_of_the_mixture_is_cross_fitted(found: rr.Auto) -> None:
    scores = found.predict(X, qid=QID)
    in_sample = float(rr.evaluate(scores, Y, qid=QID)["ndcg@10"])
    # Models have seen four fifths of the queries: the estimate has not.
    assert float(found.value) < in_sample
    low, high = found.value.bootstrap(0.95)
    assert low < float(found.value) < high


def test_neither_order_nor_threads_matter(found: rr.Auto) -> None:
    order = np.random.default_rng(1).permutation(len(Y))
    again = rr.auto(
        X[order], Y[order], QID[order], time_limit=None, max_members=4, folds=3, num_threads=1
    )
    assert again.booster == found.booster
    assert float(again.value) == float(found.value)
    assert [one.weight for one in again.members.values()] == [
        one.weight for one in found.members.values()
    ]


def test_docs_come_in_any_form(found: rr.Auto) -> None:
    data = rr.Dataset(X, Y, qid=QID)
    for docs in (data, (X, Y, QID), {"X": X, "y": Y, "qid": QID}):
        same = rr.auto(docs, time_limit=None, max_members=4, folds=3)
        assert same.booster == found.booster
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).rename(columns=str).assign(label=Y, query=QID)
    framed = rr.auto(frame, "label", "query", time_limit=None, max_members=1, folds=3)
    assert framed.booster.feature_names[:15] == [str(at) for at in range(15)]


def test_the_leaderboard_says_what_was_found(found: rr.Auto) -> None:
    shown = repr(found)
    for name in found.members:
        assert name in shown
    assert "over noisy" in shown
    assert "by cross-fitting" in shown
    assert "<table" in found._repr_html_()
    plain = found.to_dict()
    assert plain["ended"] == "done"
    assert set(plain["members"]) == set(found.members)


def test_a_time_limit_ends_it() -> None:
    began = time.monotonic()
    hurried = auto(time_limit=1e-9, max_members=100)
    assert hurried.ended == "time_limit"
    assert list(hurried.members) == ["noisy"]
    assert hurried.members["noisy"].rounds >= 1
    assert time.monotonic() - began < 60


def test_members_of_other_seeds_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_auto_members, "_ROUNDS", 5)
    many = auto(max_members=8)
    assert len(many.members) == 8
    copies = [name for name in many.members if name.endswith(" 2")]
    assert copies
    first = copies[0].split(" ")[0]
    assert many.members[copies[0]].options == {**many.members[first].options, "seed": 1}
    assert float(many.members[copies[0]].value) != float(many.members[first].value)


def test_ctrl_c_returns_what_there_is(
    monkeypatch: pytest.MonkeyPatch, found: rr.Auto, recwarn: pytest.WarningsRecorder
) -> None:
    calls, original = 0, Probe.train_to

    def interrupted(after: int) -> Any:
        nonlocal calls
        calls = 0

        def train_to(probe: Probe, rounds: int) -> None:
            nonlocal calls
            calls += 1
            if calls > after:
                raise KeyboardInterrupt
            original(probe, rounds)

        monkeypatch.setattr(Probe, "train_to", train_to)
        return auto()

    with pytest.raises(KeyboardInterrupt):
        interrupted(0)
    # After the first 20 rounds of the first member.
    early = interrupted(3)
    assert early.ended == "interrupted"
    assert [one.rounds for one in early.members.values()] == [pytest.approx(10, abs=10)]
    late = interrupted(12)
    assert len(late.members) >= 2
    assert late.members["noisy"].value == found.members["noisy"].value
    assert any("interrupted: the mixture is of" in str(one.message) for one in recwarn.list)


def test_it_goes_on_from_a_directory(
    tmp_path: Path, found: rr.Auto, monkeypatch: pytest.MonkeyPatch
) -> None:
    auto(directory=tmp_path, max_members=2)
    trained: list[int] = []
    original = Probe.train_to

    def train_to(probe: Probe, rounds: int) -> None:
        trained.append(rounds)
        original(probe, rounds)

    monkeypatch.setattr(Probe, "train_to", train_to)
    again = auto(directory=tmp_path)
    assert again.booster == found.booster
    first = len(trained)
    trained.clear()
    assert auto(directory=tmp_path).booster == found.booster
    # Only the rival, which was not ahead on the first fold and is tried again, if at all.
    assert len(trained) < first
    with pytest.raises(rr.ParamError, match="fits of other docs"):
        rr.auto(X[:-40], Y[:-40], QID[:-40], directory=tmp_path)
    with pytest.raises(rr.ParamError, match="fitted otherwise"):
        auto(directory=tmp_path, metric="map")


def test_metrics_and_labels(found: rr.Auto) -> None:
    by_err = auto(metric="err@5", gain="linear", max_label=4, max_members=2)
    assert by_err.metric == "err@5"
    assert by_err.booster != found.booster
    lean = auto(query_ranks=False, max_members=1)
    assert not lean.booster.query_ranks
    lean.predict(X)


def test_it_is_distilled_on_request(found: rr.Auto) -> None:
    other = rr.datasets.make_web(20, seed=4, first_query=100)
    ranker = rr.LambdaMART(n_estimators=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = found.distil(other.X[:, :15], qid=other.qid, y=other.y, ranker=ranker)
        found.distil(X, qid=QID, ranker=ranker)
    assert small.booster.num_trees <= 20


def test_labels_of_the_training_are_no_fair_judge_of_a_student(found: rr.Auto) -> None:
    ranker = rr.LambdaMART(n_estimators=2)
    order = np.random.default_rng(0).permutation(len(Y))
    frame = pd.DataFrame(X).assign(qid=QID)
    for docs, how in (
        (X, {"qid": QID, "y": Y}),
        (X[order], {"qid": QID[order], "y": Y[order]}),
        (frame, {"y": Y}),
    ):
        with pytest.warns(rr.RustrankWarning, match="X: got the docs that the mixture was trained"):
            found.distil(docs, **how, ranker=ranker)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"time_limit": 0}, "time_limit: got 0, expected seconds above 0"),
        ({"time_limit": "fast"}, "time_limit"),
        ({"folds": 1}, "folds"),
        ({"max_members": 0}, "max_members"),
        ({"metric": "ndgc"}, "did you mean"),
        ({"level": 2}, "level"),
        ({"seed": -1}, "seed"),
        ({"timeout": 3}, "timeout"),
    ],
)
def test_wrong_options_are_told(how: dict[str, Any], message: str) -> None:
    with pytest.raises((rr.ParamError, TypeError), match=message):
        auto(**how)


def test_nothing_to_learn_is_an_error() -> None:
    with pytest.raises(rr.DataError):
        rr.auto(X, np.ones_like(Y), QID, time_limit=1)
    with pytest.raises(rr.DataError):
        rr.auto(X, Y, time_limit=1)


def test_the_command_saves_the_mixture(
    tmp_path: Path, found: rr.Auto, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tuple(f"f{at}" for at in range(X.shape[1]))
    rr.datasets.Ranking(X, Y, QID, names).to_letor(tmp_path / "docs.txt")
    model, data = str(tmp_path / "best.rrk"), str(tmp_path / "docs.txt")
    how = ["--time-limit", "none", "--max-members", "4", "--folds", "3"]
    assert main(["auto", data, model, *how]) == 0
    out = capsys.readouterr()
    assert "by cross-fitting" in out.out
    assert "member 4 of 4" in out.err
    saved = rr.Booster.load(model)
    np.testing.assert_array_equal(saved.predict(X, qid=QID), found.predict(X, qid=QID))
    assert main(["auto", data, model, *how, "--json", "--no-query-ranks", "--no-progress"]) == 0
    assert json.loads(capsys.readouterr().out)["ended"] == "done"
    assert not rr.Booster.load(model).query_ranks
    assert main(["auto", data, model, "--time-limit", "-3"]) == 2
    assert "time_limit: got -3" in capsys.readouterr().err
    assert main(["auto", data, model, "--time-limit", "fast"]) == 2


def test_the_estimator_is_the_function(found: rr.Auto) -> None:
    ranker = rr.AutoRanker(time_limit=None, max_members=4, folds=3).fit(X, Y, qid=QID)
    assert ranker.booster_ == found.booster
    assert ranker.auto_ is not None
    assert list(ranker.auto_.members) == list(found.members)
    assert ranker.score(X, Y, qid=QID) == pytest.approx(
        float(rr.evaluate(found.predict(X, qid=QID), Y, qid=QID)["ndcg@10"])
    )
    lean = rr.AutoRanker(time_limit=None, max_members=1, folds=3, query_ranks=False, n_jobs=1)
    assert lean.fit(X, Y, qid=QID).predict(X).shape == Y.shape
    with pytest.raises(rr.ParamError, match="random_state"):
        rr.AutoRanker(random_state=-1).fit(X, Y, qid=QID)


@pytest.mark.filterwarnings("ignore:1 of 15 features")
def test_one_query_makes_one_model() -> None:
    rows = QID[0] == QID
    with pytest.warns(rr.RustrankWarning, match="fewer than two queries"):
        ranker = rr.AutoRanker().fit(X[rows], Y[rows], group=[int(rows.sum())])
    assert ranker.auto_ is None
    assert ranker.predict(X[rows]).shape == (rows.sum(),)


def test_too_few_documents_for_its_leaves_are_an_error_of_the_data() -> None:
    docs = rr.datasets.make_polynomial(60, 20, seed=1)
    few = docs.X[:60], docs.y[:60], docs.qid[:60]
    message = "got 60 documents of 3 queries .* too few for rr.auto: a fold trains on 40 of them.* some 200 or more"
    with pytest.raises(rr.DataError, match=message):
        rr.auto(*few, time_limit=3)
    # What the message names works.
    rr.train(rr.Dataset(*few[:2], qid=few[2]), min_leaf_docs=5, num_trees=3)
    rare = np.zeros((1200, 1))
    rare[:5] = 1
    with pytest.raises(
        rr.DataError, match="no feature divides the 940 documents that a fold trains on"
    ):
        rr.auto(rare, docs.y, docs.qid, time_limit=3, query_ranks=False)
