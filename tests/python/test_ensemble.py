"""Ensembles: members, what they may see, how they are combined, resumed and saved."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.data.raw_rows import RawRows, as_raw_rows
from rustrank.datasets import Ranking, make_polynomial
from rustrank.ensembles._member_fitting import MemberFitting
from rustrank.ensembles._weighting import CombinationMethod, MemberScores
from rustrank.metrics.evaluation import Judging


def small(**more: Any) -> rr.LambdaMART:
    return rr.LambdaMART(**{"n_estimators": 12, "num_leaves": 5, "min_leaf_docs": 5, **more})


def two() -> dict[str, Any]:
    return {
        "trees": small(early_stopping=5),
        "net": rr.Member(rr.LambdaRank(hidden=(), epochs=3), bags=1),
    }


@pytest.fixture(scope="module")
def docs() -> Ranking:
    return make_polynomial(num_queries=120, docs_per_query=15, num_features=12, seed=0)


@pytest.fixture(scope="module")
def found(docs: Ranking) -> rr.Ensemble:
    return rr.ensemble(two(), docs, folds=3)


def noise(num_queries: int = 60, seed: int = 0) -> RawRows:
    """Make docs whose labels have nothing to do with their features."""
    rng = np.random.default_rng(seed)
    rows = 10 * num_queries
    X = rng.random((rows, 3), np.float32)
    return as_raw_rows((X, rng.integers(0, 3, rows), np.arange(rows) // 10), "docs")


def fitting(
    docs: RawRows, members: dict[str, rr.Member], folds: Any = None, **more: Any
) -> MemberFitting:
    given: dict[str, Any] = {
        "docs": docs,
        "folds": np.arange(docs.num_queries) % 4 if folds is None else folds,
        "num_folds": 4,
        "members": members,
        "scored_unseen": set(members),
        "out_of_fold": True,
        "seed": 0,
        "max_label": 4.0,
        "num_threads": 1,
        "saved": None,
    }
    return MemberFitting(**{**given, **more})


def run(one: MemberFitting, n_jobs: int = 1) -> Any:
    return one.run(n_jobs, lambda _: None)


# What comes out.


def test_the_average_is_of_scores_divided_by_their_spread(
    docs: Ranking, found: rr.Ensemble
) -> None:
    assert found.chosen == "average"
    assert found.weights == {"trees": 1.0, "net": 1.0}
    boosters = found.boosters
    expected = sum(boosters[name].predict(docs.X) / found._spreads[name] for name in boosters)
    np.testing.assert_allclose(found.predict(docs.X), expected, rtol=1e-9, atol=1e-9)
    saved = rr.Booster.from_text(found.booster.to_text())
    np.testing.assert_array_equal(saved.predict(docs.X), found.predict(docs.X))


def test_a_member_is_the_mean_of_its_models(docs: Ranking, found: rr.Ensemble) -> None:
    models = found._made["trees"].fits
    assert len(models) == 3
    assert len(found._made["net"].fits) == 1
    mean = np.mean([model.predict(docs.X) for model in models], axis=0)
    np.testing.assert_allclose(found.boosters["trees"].predict(docs.X), mean, rtol=1e-9, atol=1e-12)


def test_every_combination_is_one_model(docs: Ranking, found: rr.Ensemble) -> None:
    for name, mixture in found._mixtures.items():
        booster = rr.Booster.from_text(found.combined(name).to_text())
        scores = {one: made.predict(docs.X) for one, made in found.boosters.items()}
        taken = MemberScores.of(as_raw_rows(docs, "docs"), scores, found._spreads)
        expected = mixture.score(taken)
        np.testing.assert_allclose(booster.predict(docs.X, qid=docs.qid), expected, rtol=1e-5)
    with pytest.raises(rr.ParamError, match="no combination 'best': expected one of average"):
        found.combined("best")


def test_tables_are_printed_and_are_plain_values(found: rr.Ensemble) -> None:
    said = str(found)
    for part in ("combination", "member", "average *", "net", "over ", "95% interval"):
        assert part in said
    assert found._repr_html_().count("<table>") == 2
    how = "combinations by cross-fitting, each half of these queries with the weights of the other"
    assert how in repr(found)
    assert how in found._repr_html_()
    assert not any(how in one for one in found.statements)
    plain = json.loads(json.dumps(found.to_dict()))
    row = plain["members"]["trees"]
    assert row["valid"]["ndcg@10"]["mean"] == float(found.members["trees"].valid["ndcg@10"])
    assert plain["chosen"] == "average"


def test_plot_has_a_row_for_each(found: rr.Ensemble) -> None:
    pytest.importorskip("matplotlib").use("agg")
    axes = found.plot()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == len(found.members) + len(found.combinations) + len(found.subsets)
    assert "average *" in labels


def test_an_ensemble_does_not_depend_on_the_order_of_rows_nor_on_threads(docs: Ranking) -> None:
    order = np.random.default_rng(1).permutation(len(docs.y))
    shuffled = Ranking(docs.X[order], docs.y[order], docs.qid[order], docs.feature_names)
    ways = ["average", "coordinate", "forward"]
    first = rr.ensemble(two(), docs, folds=3, combinations=ways, n_jobs=1, num_threads=1)
    other = rr.ensemble(two(), shuffled, folds=3, combinations=ways, n_jobs=2, num_threads=2)
    for name in ways:
        assert first.combined(name) == other.combined(name)
    assert str(first) == str(other)


def test_docs_of_ones_own_are_judged_by(docs: Ranking) -> None:
    more = make_polynomial(60, 15, 12, seed=0, first_query=500)
    held = more.X[:450], more.y[:450], more.qid[:450]
    valid = {"X": more.X[450:], "y": more.y[450:], "qid": more.qid[450:]}
    found = rr.ensemble(two(), docs, folds=3, held_out=held, valid=valid)
    value = rr.evaluate(found.predict(more.X[450:]), more.y[450:], qid=more.qid[450:])
    assert float(found.combinations["average"].valid["ndcg@10"]) == float(value["ndcg@10"])


def test_weights_may_be_chosen_on_folds(docs: Ranking) -> None:
    found = rr.ensemble(two(), docs, folds=3, held_out="folds", combinations=["coordinate"])
    assert found.combinations["coordinate"].held_out["ndcg@10"].num_queries == 96
    assert len(found._made["net"].fits) == 3, "each doc needs a model that has not seen it"


def test_retraining_uses_all_docs_and_keeps_weights(docs: Ranking) -> None:
    members = {"a": small(), "b": small(num_leaves=3)}
    plain = rr.ensemble(members, docs, folds=3, combinations=["coordinate"])
    again = rr.ensemble(members, docs, folds=3, combinations=["coordinate"], retrain=True)
    assert again.weights == plain.weights
    assert str(again) == str(plain)
    assert again.booster != plain.booster


def test_a_booster_is_a_member_as_it_is(docs: Ranking) -> None:
    train = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    booster = rr.train(train, num_trees=3)
    found = rr.ensemble({"old": booster, "new": small()}, docs, folds=3, held_out="folds")
    assert found.boosters["old"].predict(docs.X).tolist() == booster.predict(docs.X).tolist()


# What members may see.


def test_out_of_fold_scores_do_not_know_their_own_labels() -> None:
    docs = noise()
    parrot = rr.MART(n_estimators=60, num_leaves=400, min_leaf_docs=1, learning_rate=0.5)
    made = run(fitting(docs, {"parrot": rr.Member(parrot)}))["parrot"]
    seen = rr.MART(**parrot.get_params()).fit(docs.X, docs.y, qid=docs.query).predict(docs.X)

    def known(scores: Any) -> float:
        return float(np.corrcoef(scores, docs.y)[0, 1])

    assert known(seen) > 0.99, "it does memorise"
    assert abs(known(made.unseen_scores)) < 0.1


@pytest.mark.parametrize(
    "ranker",
    [small(early_stopping=2), small(), rr.LambdaRank(hidden=(), epochs=4, patience=1)],
    ids=["stops", "does not stop", "net"],
)
def test_labels_of_a_fold_change_no_bit_of_its_out_of_fold_scores(ranker: Any) -> None:
    docs = noise()
    folds = np.arange(docs.num_queries) % 4
    members = {
        "inner": rr.Member(ranker),
        "also": rr.Member("inner", normalise="query_top"),
    }
    own = folds[docs.query] == 2
    other = docs.y.copy()
    other[own] = 2 - other[own]
    changed = RawRows(docs.X, other, docs.query, docs.query_ids, None)
    for name in members:
        before, after = (run(fitting(one, members))[name].unseen_scores for one in (docs, changed))
        np.testing.assert_array_equal(before[own], after[own])
        assert (before[~own] != after[~own]).any(), "the others have seen these labels"


def test_features_of_other_members_are_out_of_fold_unless_as_in_the_paper() -> None:
    docs = noise()
    parrot = rr.MART(n_estimators=60, num_leaves=400, min_leaf_docs=1, learning_rate=0.5)
    members = {
        "parrot": rr.Member(parrot, bags=0),
        "outer": rr.Member(small(), stack=("parrot",), derive=("score",)),
    }
    for out_of_fold in (True, False):
        one = fitting(docs, members, scored_unseen=set(), out_of_fold=out_of_fold)
        run(one)
        feature = one._features(members["outer"]).X[:, -1]
        known = abs(np.corrcoef(feature, docs.y)[0, 1])
        assert known < 0.1 if out_of_fold else known > 0.99


def test_validation_folds_of_members_nobody_asks_are_their_own(docs: Ranking) -> None:
    taken = as_raw_rows(docs, "docs")
    one = fitting(taken, {"trees": rr.Member(small(early_stopping=3))}, scored_unseen=set())
    train, valid = one._parts("trees", taken, 1)
    assert valid is not None
    assert train.num_queries + valid.num_queries == taken.num_queries
    strict = fitting(taken, {"trees": rr.Member(small(early_stopping=3))})
    train, valid = strict._parts("trees", taken, 1)
    assert valid is not None
    assert train.num_queries + valid.num_queries == taken.num_queries * 3 // 4


# Augmentation.


def test_rankers_that_can_count_queries_again_copy_nothing(docs: Ranking) -> None:
    taken = as_raw_rows(docs, "docs")
    member = rr.Member(small(), bags=0, augment=(0.7, 5))
    made = run(fitting(taken, {"a": member}, scored_unseen=set()))["a"]
    own = small(augment=(0.7, 5), max_label=4.0).fit(taken.table(), taken.y, qid=taken.query)
    assert made.booster.predict(docs.X).tolist() == own.booster_.predict(docs.X).tolist()


def test_others_learn_from_rows_of_the_same_copies(docs: Ranking) -> None:
    taken = as_raw_rows(docs, "docs")
    mart = rr.MART(n_estimators=5, num_leaves=4)
    made = run(
        fitting(taken, {"a": rr.Member(mart, bags=0, augment=(0.5, 3))}, scored_unseen=set())
    )["a"]
    rows, qid, _ = rr.Dataset(docs.X, docs.y, qid=docs.qid).augmented((0.5, 3), seed=0)
    assert len(rows) > 2 * len(docs.y)
    own = mart.set_params(max_label=4.0).fit(docs.X[rows], docs.y[rows], qid=qid)
    assert made.booster.predict(docs.X).tolist() == own.booster_.predict(docs.X).tolist()


# Combinations.


def rated(useful: float = 1.0, num_queries: int = 80) -> MemberScores:
    """Make docs with a good ranker, a worse one, and three that know nothing."""
    docs = noise(num_queries, seed=5)
    rng = np.random.default_rng(6)
    scores = {"good": docs.y + useful * rng.standard_normal(len(docs.y))}
    scores["worse"] = docs.y + 2 * useful * rng.standard_normal(len(docs.y))
    scores.update({f"noise {at}": rng.standard_normal(len(docs.y)) for at in range(3)})
    return MemberScores.of(docs, scores, dict.fromkeys(scores, 1.0))


def judging() -> Judging:
    return Judging("ndcg@10", "exp2", "expected", "skip", 1, None, 1)


def test_forward_selection_leaves_most_noise_out() -> None:
    docs = rated(num_queries=300)
    ways = {
        name: CombinationMethod(name, name, list(docs.by_ranker)) for name in ("forward", "average")
    }
    weights = ways["forward"].find(docs, judging(), 0).weights
    assert weights is not None
    total = sum(weights.values())
    assert weights["good"] / total > 0.5
    assert sum(weights[f"noise {at}"] for at in range(3)) / total < 0.25, "3/5 in the average"
    unseen = {name: way.cross_fitted(docs, judging(), 0)["ndcg@10"] for name, way in ways.items()}
    assert unseen["forward"] > unseen["average"]


def test_fitted_combinations_are_judged_on_the_other_half() -> None:
    docs = rated(useful=1e9)
    judge = judging()
    way = CombinationMethod("exact", "coordinate", list(docs.by_ranker))
    fitted = docs.evaluate(way.find(docs, judge, 0).score(docs), judge)["ndcg@10"]
    chance = CombinationMethod("average", "average", list(docs.by_ranker)).cross_fitted(
        docs, judge, 0
    )["ndcg@10"]
    assert fitted > chance + 0.02, "on the docs it was fitted to, noise looks good"
    assert way.cross_fitted(docs, judge, 0)["ndcg@10"] < fitted - 0.02


def test_combinations_take_weights_pairs_and_combiners(docs: Ranking) -> None:
    members = {name: small(num_leaves=leaves) for name, leaves in (("a", 2), ("b", 4), ("c", 6))}
    ways = {
        "by hand": {"a": 1, "c": 3},
        "tree": (("a", "b"), "c"),
        "own": rr.Combiner("err", method="powell"),
    }
    found = rr.ensemble(members, docs, folds=3, combinations=ways, choose="by hand")
    assert found.weights == {"a": 1.0, "b": 0.0, "c": 3.0}
    assert found.booster.num_trees == 2 * 3 * 12, "a member of weight 0 is left out"
    assert list(found.subsets) == ["all but a", "all but b", "all but c"]


def test_another_combination_is_chosen_only_if_it_is_clearly_better() -> None:
    known = noise(400, seed=8)
    rng = np.random.default_rng(9)
    X = np.column_stack([known.y + rng.standard_normal(len(known.y)), rng.random(len(known.y))])
    good = rr.LambdaBoost(n_estimators=1, early_stopping=None)
    bad = rr.MART(n_estimators=1, num_leaves=2, random_state=1)
    given = (X[:, :1].repeat(2, axis=1), known.y, known.query)
    plain = rr.ensemble({"a": good, "b": good}, given, folds=3)
    assert plain.chosen == "average"
    mixed = rr.ensemble(
        {"a": good, "b": bad},
        given,
        folds=3,
        combinations={"average": {"b": 1}, "coordinate": "coordinate"},
    )
    assert mixed.chosen == "coordinate"


# The recipe.


def test_yahoo2010_has_the_twelve_members_of_table_2() -> None:
    made = rr.recipe("yahoo2010")
    assert list(made.members) == [f"M{number}" for number in range(1, 13)]
    kinds = [type(member.ranker).__name__ for member in made.members.values()]
    assert kinds == ["LambdaMART"] * 8 + ["LambdaRank"] * 2 + ["MART", "str"]
    augment = [made.members[f"M{number}"].augment for number in (1, 2, 3, 6, 7)]
    assert augment == [None, (0.5, 10), (0.7, 5), (0.5, 10), (0.7, 5)]
    assert {name for name, one in made.members.items() if one.stack} == {"M4", "M8"}
    assert made.members["M12"].ranker == "M11"
    metrics = [made.members[f"M{number}"].ranker.metric for number in range(1, 11)]
    assert metrics == ["err"] * 4 + ["ndcg"] * 4 + ["err", "ndcg"]
    for number in (*range(1, 9), 11):
        ranker = made.members[f"M{number}"].ranker
        assert (ranker.n_estimators, ranker.num_leaves, ranker.learning_rate) == (3000, 110, 0.05)
        assert (ranker.preset, ranker.criterion) == ("yahoo2010", "least_squares")
    for number in (9, 10):
        net = made.members[f"M{number}"].ranker
        assert (net.hidden, net.learning_rate, net.epochs) == ((25,), 1e-3, 500)
        assert (net.optimiser, net.restart_from) == ("sgd", "random")
    assert len(made.members["M4"].derive) == 4
    assert made.members["M12"].normalise == "query_top"


def test_yahoo2010_has_the_other_readings_as_options() -> None:
    made = rr.recipe(
        "yahoo2010", derived=6, mart_normalise="query", preset=None, net_preset=None, epochs=30
    )
    assert len(made.members["M4"].derive) * len(made.members["M4"].stack) == 6
    assert made.members["M12"].normalise == "query"
    assert made.members["M1"].ranker.criterion == "second_order"
    assert (made.members["M9"].ranker.optimiser, made.members["M9"].ranker.epochs) == ("adam", 30)
    with pytest.raises(rr.ParamError, match="derived: got 5, expected 4 or 6"):
        rr.recipe("yahoo2010", derived=5)


def test_features_are_derived_of_named_members(docs: Ranking) -> None:
    trees = rr.LambdaMART(n_estimators=3, num_leaves=4, early_stopping=None)
    members = {
        "a": rr.Member(rr.MART(n_estimators=3, num_leaves=4), 1),
        "b": rr.Member(rr.MART(n_estimators=3, num_leaves=3), 1),
        "c": rr.Member(trees, 1, stack=("a", "b"), derive=(("b", "max"), "mean", ("a", "top3"))),
    }
    found = rr.ensemble(members, docs, folds=3, progress=False)
    assert members["c"].derived == [(1, "max"), "mean", (0, "top3")]
    again = rr.Booster.from_text(found.booster.to_text())
    np.testing.assert_array_equal(
        again.predict(docs.X, qid=docs.qid), found.booster.predict(docs.X, qid=docs.qid)
    )
    wrong = {**members, "c": rr.Member(trees, 1, stack=("a",), derive=(("b", "max"),))}
    with pytest.raises(rr.ParamError, match="derive of member 'c': got 'b', expected some of a"):
        rr.ensemble(wrong, docs, folds=3, progress=False)


def test_yahoo2010_runs_whole_and_small(docs: Ranking) -> None:
    tiny = rr.recipe(
        "yahoo2010", num_trees=4, num_leaves=4, early_stopping=4, bags=1, epochs=1, hidden=2
    )
    found = rr.ensemble(tiny, docs, folds=3, progress=False)
    assert len(found.members) == 12
    assert len(found.combinations) == 9
    assert list(found.subsets)[-1] == "Just NDCG"
    assert found.metrics == ["err", "ndcg"]
    for name in found.combinations:
        whole = rr.Booster.from_text(found.combined(name).to_text())
        order = np.random.default_rng(0).permutation(len(docs.y))
        scores = whole.predict(docs.X, qid=docs.qid)
        shuffled = whole.predict(docs.X[order], qid=docs.qid[order])
        np.testing.assert_array_equal(scores[order], shuffled)
    assert scores.tolist() == found.combined(name).predict(docs.X, qid=docs.qid).tolist()
    raw = found.members["M11"].valid["ndcg"], found.members["M12"].valid["ndcg"]
    assert raw[0] == raw[1], "normalising within queries changes no order"


def test_diverse_members_are_one_model_though_some_rank_values(docs: Ranking) -> None:
    tiny = rr.recipe("diverse", num_trees=5, num_leaves=4, epochs=1, min_leaf_docs=5, bags=1)
    found = rr.ensemble(tiny, docs, folds=3, combinations=["average"])
    assert len(found.members) == 6
    saved = rr.Booster.from_text(found.booster.to_text())
    scores = saved.predict(docs.X, qid=docs.qid)
    each = [
        booster.predict(docs.X, qid=docs.qid) / found._spreads[name]
        for name, booster in found.boosters.items()
    ]
    np.testing.assert_allclose(scores, np.sum(each, axis=0), rtol=1e-9, atol=1e-9)
    with pytest.raises(rr.ParamError, match=r"recipe diverse: got an unexpected keyword.*'trees'"):
        rr.recipe("diverse", trees=3)


# Resuming.

_SCRIPT = """
import os, signal, sys
import rustrank as rr
directory, fits = sys.argv[1], int(sys.argv[2])
fit, done = rr.LambdaMART.fit, []

def counted(self, *rows, **more):
    done.append(0)
    if len(done) > fits:
        os.kill(os.getpid(), signal.SIGKILL)
    return fit(self, *rows, **more)

rr.LambdaMART.fit = counted
docs = rr.datasets.make_polynomial(60, 12, 6, seed=0)
trees = rr.LambdaMART(n_estimators=5, num_leaves=4, early_stopping=5)
members = {
    "plain": trees,
    "inner": rr.MART(n_estimators=5, num_leaves=4, early_stopping=5),
    "stacked": rr.Member(trees, stack=("inner",)),
}
found = rr.ensemble(members, docs, folds=3, directory=directory, n_jobs=int(sys.argv[3]))
print(len(done))
"""


def start(directory: Path, fits: int, n_jobs: int = 1) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", "-c", _SCRIPT]
    command += [str(directory), str(fits), str(n_jobs)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.mark.parametrize(("fits", "n_jobs"), [(0, 1), (2, 2), (4, 1)])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, fits: int, n_jobs: int
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = start(whole, 99)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "6\n")
    assert start(killed, fits, n_jobs).returncode == -signal.SIGKILL
    assert not (killed / "ensemble.rrk").exists()
    again = start(killed, 99, n_jobs)
    assert (again.returncode, again.stderr) == (0, "")
    assert int(again.stdout) <= 6 - max(0, fits - 1), "what was fitted is not fitted again"
    ended = contents(killed)
    # Half a file may lie about that was being written when it was killed, under a name of its own.
    assert {name: ended[name] for name in contents(whole)} == contents(whole)


def test_a_directory_of_something_else_is_refused(docs: Ranking, tmp_path: Path) -> None:
    given: dict[str, Any] = {"folds": 3, "combinations": ["average"], "directory": tmp_path}
    first = rr.ensemble({"a": small()}, docs, **given)
    assert rr.Booster.load(tmp_path / "ensemble.rrk") == first.booster
    assert json.loads((tmp_path / "ensemble.json").read_text("utf-8"))["chosen"] == "average"
    rr.ensemble({"a": small(), "b": small(num_leaves=3)}, docs, **given)
    with pytest.raises(rr.ParamError, match="has a 0 fitted otherwise: its num_leaves was 5, and"):
        rr.ensemble({"a": small(num_leaves=7)}, docs, **given)
    with pytest.raises(rr.ParamError, match="has fits of other docs"):
        rr.ensemble({"a": small()}, (docs.X + 1, docs.y, docs.qid), **given)
    model = next(tmp_path.glob("a-0-*.rrk"))
    model.write_bytes(model.read_bytes() + b" ")
    with pytest.raises(rr.DataError, match="is not what was saved"):
        rr.ensemble({"a": small()}, docs, **given)
    (tmp_path / "manifest.json").write_text("{}", "utf-8")
    with pytest.raises(rr.DataError, match="no file of an ensemble"):
        rr.ensemble({"a": small()}, docs, **given)


SHARED = """
import sys
import rustrank as rr
docs = rr.datasets.make_web(60, 10, seed=0)
names = sys.argv[2].split(",")
members = {name: rr.LambdaMART(n_estimators=2, num_leaves=3, random_state=ord(name)) for name in names}
rr.ensemble(members, docs, folds=3, combinations=["average"], directory=sys.argv[1], progress=False)
"""


def test_several_processes_may_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", SHARED, str(tmp_path)]
    runs = [subprocess.Popen([*command, names]) for names in ("a,b", "a,b", "b,c", "c,d")]
    assert [run.wait(timeout=300) for run in runs] == [0] * len(runs)
    told = {json.loads(file.read_text("utf-8"))["name"] for file in tmp_path.glob("*-*.json")}
    # The last to end combines its own members; all of all runs are there.
    assert {name.split()[0] for name in told} == set("abcd")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]
    times = {file: file.stat().st_mtime_ns for file in tmp_path.glob("[abcd]-*.rrk")}
    subprocess.run([*command, "a,b,c,d"], check=True, timeout=300)
    assert times == {file: file.stat().st_mtime_ns for file in tmp_path.glob("[abcd]-*.rrk")}


# What goes wrong is said.


def test_a_member_that_fails_is_named(docs: Ranking) -> None:
    members = {"good": small(n_estimators=2000), "bad": small(num_leaves=1)}
    for n_jobs in (1, 2):
        with pytest.raises(rr.ParamError, match="member 'bad', fit 0: num_leaves"):
            rr.ensemble(members, docs, folds=3, n_jobs=n_jobs)


@pytest.mark.skipif(os.name == "nt", reason="signals are of POSIX")
@pytest.mark.parametrize(
    "ranker", ["LambdaMART(n_estimators=10**6)", "RankNet(epochs=10**6, patience=None)"]
)
def test_ctrl_c_ends_all_fits(ranker: str) -> None:
    script = (
        "import os, signal, threading, rustrank as rr\n"
        "docs = rr.datasets.make_polynomial(200, 20, 20, seed=0)\n"
        "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"one = rr.{ranker}\n"
        "rr.ensemble({'a': one, 'b': one}, docs, n_jobs=2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "members: got none"),
        (7, "members: got 7, expected a recipe or its name"),
        ("yahoo", "recipe: got 'yahoo', expected one of yahoo2010, diverse"),
        ({"a": rr.LambdaMART}, "member 'a' is <class .*expected a ranker"),
        ({"a": rr.Member(small(), stack=("b",))}, "stack of member 'a': got 'b', expected some"),
        ({"a": rr.Member(small(), stack=("a",))}, "in a circle: a"),
        ({"a": rr.Member("b"), "b": rr.Member("a")}, "which shares those of another"),
        ({"a": rr.Member(small(), derive=("least",), stack=("b",)), "b": small()}, "derive of"),
        ({"a": rr.Member(small(), normalise="best")}, "normalise of member 'a': got 'best'"),
        ({"a": rr.Member(small(), augment=(1.5, 2))}, "augment of member 'a': got a share of 1.5"),
        (
            {"a": rr.Member(small(), augment=3)},  # type: ignore[arg-type]
            r"augment .*got 3, expected \(share, copies\)",
        ),
        ({"a": rr.Member(small(), bags=9)}, "bags of member 'a': got 9, expected at most one"),
    ],
)
def test_members_are_checked_before_anything_is_fitted(
    docs: Ranking, members: Any, message: str
) -> None:
    with pytest.raises(rr.ParamError, match=message):
        rr.ensemble(members, docs, folds=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stacking": "none"}, "stacking: got 'none', expected one of out_of_fold, paper"),
        ({"held_out": 0.6, "valid": 0.5}, "held_out and valid take 1.1 of the docs"),
        ({"valid": 2.0}, "valid: got 2.0, expected docs, or a share"),
        ({"folds": 1}, "folds: got 1"),
        ({"folds": 90}, "folds: got 90, expected at most"),
        ({"choose": "best"}, "choose: got 'best', expected one of auto, average"),
        ({"combinations": ["median"]}, "combination 'median': got 'median', expected one of"),
        ({"combinations": {"mine": {"x": 1}}}, "combination 'mine': got 'x', expected some of"),
        ({"combinations": {"mine": ("trees", "x")}}, "combination 'mine': got 'x'"),
        ({"combinations": {"mine": {"net": 0}}}, "every weight is 0"),
        ({"subsets": {"some": ["x"]}}, "subset 'some': got 'x', expected some of trees, net"),
        ({"n_jobs": 0}, "n_jobs: got 0"),
    ],
)
def test_options_are_checked(docs: Ranking, options: dict[str, Any], message: str) -> None:
    with pytest.raises(rr.ParamError, match=message):
        rr.ensemble(two(), docs, **{"folds": 3, **options})


def test_out_of_fold_scores_need_three_folds_of_members_that_stop_early(docs: Ranking) -> None:
    members = {"a": small(early_stopping=2), "b": rr.Member(small(), stack=("a",))}
    with pytest.raises(rr.ParamError, match="folds: got 2, expected at least 3: out-of-fold"):
        rr.ensemble(members, docs, folds=2)


def test_parts_that_teach_nothing_are_refused(docs: Ranking) -> None:
    flat = docs.X[:30], np.ones(30), docs.qid[:30]
    with pytest.raises(rr.DataError, match="no query of valid has docs with different labels"):
        rr.ensemble(two(), docs, folds=3, valid=flat)
    wide = np.ones((30, 3)), docs.y[:30], docs.qid[:30]
    with pytest.raises(rr.DataError, match="valid has another number of features than docs: got 3"):
        rr.ensemble(two(), docs, folds=3, valid=wide)


def test_ensembles_of_folds_are_pooled(docs: Ranking, found: rr.Ensemble) -> None:
    other = rr.ensemble(two(), docs, folds=3, seed=1)
    both = rr.Ensemble.pooled([found, other])
    row = both.combinations["average"].valid["ndcg@10"]
    each = [one.combinations["average"].valid["ndcg@10"].per_query for one in (found, other)]
    assert row.per_query.tolist() == [*each[0].tolist(), *each[1].tolist()]
    assert both.chosen == "average"
    assert "average *" in str(both)
    assert both.to_dict()["members"]["net"]["valid"]["ndcg@10"]["num_queries"] == 48
    with pytest.raises(rr.ParamError, match="expected the same members"):
        rr.Ensemble.pooled([found, rr.ensemble({"a": small()}, docs, folds=3)])
    with pytest.raises(rr.ParamError, match="ensembles: got none"):
        rr.Ensemble.pooled([])
