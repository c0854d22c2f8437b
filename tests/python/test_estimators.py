"""Rankers with a ``fit``: the same model however data come, clear answers, no need of scikit-learn."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import rustrank as rr
from rustrank.errors import dropped_warnings

if TYPE_CHECKING:
    from collections.abc import Callable

X, Y, QID = rr.datasets.make_polynomial(num_queries=40, seed=3)
X = np.round(X[:, :6], 3).astype(np.float32)
OTHER = rr.datasets.make_polynomial(num_queries=20, seed=4)
V, Z, IDS = OTHER.X[:, :6], OTHER.y, OTHER.qid
NAMES = [f"c{at}" for at in range(6)]
SMALL: dict[str, Any] = {"n_estimators": 5, "num_leaves": 5, "min_leaf_docs": 5}
TREES = [rr.LambdaMART, rr.MART, rr.McRank, rr.QueryRMSEMART, rr.RankNetMART, rr.XENDCGMART]
NETS = [rr.LambdaRank, rr.RankNet]
#: What learns from values, not from bins.
RAW = [*NETS, rr.LambdaBoost]


def small(kind: Any = rr.LambdaMART, **more: Any) -> Any:
    size = {"epochs": 2} if kind in NETS else {"n_estimators": 4} if kind in RAW else SMALL
    return kind(**size | more)


def columns() -> dict[str, Any]:
    return {name: X[:, at] for at, name in enumerate(NAMES)}


TABLES: dict[str, Callable[[], Any]] = {
    "float64": lambda: X.astype(np.float64),
    "Fortran": lambda: np.asfortranarray(X),
    "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
    "lists": lambda: X.tolist(),
    "pandas": lambda: pd.DataFrame(X, columns=NAMES),
    "pandas, columns": lambda: pd.DataFrame(columns()).astype({"c0": "Float32"}),
    "polars": lambda: pl.DataFrame(columns()),
    "Arrow": lambda: pa.table(columns()),
    "mapping": columns,
    "csr": lambda: sp.csr_matrix(X),
    "csc": lambda: sp.csc_array(X),
    "coo": lambda: sp.coo_matrix(X),
}


@pytest.mark.parametrize("kind", [*TREES, *RAW])
def test_tables_of_any_kind_give_the_same_model(kind: Any) -> None:
    plain = small(kind).fit(X, Y, qid=QID)
    texts = {plain.booster_.to_text()}
    named = {small(kind).fit(TABLES["pandas"](), Y, qid=QID).booster_.to_text()}
    for make in TABLES.values():
        table = make()
        ranker = small(kind).fit(table, Y, qid=QID)
        (named if ranker.booster_._names else texts).add(ranker.booster_.to_text())
        assert ranker.n_features_in_ == 6
        assert (ranker.predict(table) == plain.predict(X)).all()
        assert hasattr(ranker, "feature_names_in_") == (ranker.booster_._names is not None)
    assert len(texts) == len(named) == 1


QUERIES: dict[str, Callable[[], dict[str, Any]]] = {
    "text": lambda: {"qid": [f"query {one}" for one in QID]},
    "large": lambda: {"qid": QID.astype(np.int64) + 2**53},
    "floats": lambda: {"qid": QID / 7},
    "pandas": lambda: {"qid": pd.Series(QID, index=np.arange(len(QID))[::-1])},
    "categorical": lambda: {"qid": pd.Series(QID.astype(str)).astype("category")},
    "polars": lambda: {"qid": pl.Series(QID.astype(str))},
    "polars categorical": lambda: {"qid": pl.Series(QID.astype(str)).cast(pl.Categorical)},
    "Arrow": lambda: {"qid": pa.array(QID.astype(str)).dictionary_encode()},
    "sizes": lambda: {"group": np.bincount(np.unique(QID, return_inverse=True)[1])},
}


@pytest.mark.parametrize("kind", [rr.LambdaMART, rr.LambdaRank, rr.LambdaBoost])
@pytest.mark.parametrize("queries", QUERIES)
def test_queries_of_any_kind_give_the_same_model(kind: Any, queries: str) -> None:
    assert (np.diff(QID) >= 0).all()
    plain = small(kind).fit(X, Y, qid=QID)
    given = QUERIES[queries]()
    assert small(kind).fit(X, Y, **given).booster_ == plain.booster_
    assert plain.score(X, Y, **given) == plain.score(X, Y, qid=QID)


@pytest.mark.parametrize("kind", [*TREES, *RAW])
def test_the_order_of_rows_and_threads_change_nothing(kind: Any) -> None:
    order = np.random.default_rng(0).permutation(len(Y))
    one = small(kind, n_jobs=1).fit(X, Y, qid=QID, sample_weight=1.0 + X[:, 0] ** 2)
    two = small(kind, n_jobs=-1)
    two.fit(X[order], Y[order], qid=QID[order], sample_weight=(1.0 + X[:, 0] ** 2)[order])
    assert one.booster_ == two.booster_
    assert (one.predict(X)[order] == two.predict(X[order])).all()


@pytest.mark.parametrize("kind", TREES)
def test_it_is_what_train_makes(kind: Any) -> None:
    ranker = small(kind, learning_rate=0.2, random_state=7, docs_per_tree=0.8, l2=1.0)
    ranker.fit(X, Y, qid=QID)
    booster = rr.train(
        rr.Dataset(X, Y, qid=QID),
        objective=ranker._loss(),
        num_trees=5,
        num_leaves=5,
        min_leaf_docs=5,
        learning_rate=0.2,
        seed=7,
        docs_per_tree=0.8,
        l2=1.0,
    )
    assert ranker.booster_ == booster


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_a_column_of_query_ids_is_no_feature(make: Any) -> None:
    plain = small().fit(make(columns()), Y, qid=QID)
    table = make({"c0": X[:, 0], "qid": QID.astype(str), **columns()})
    ranker = small().fit(table, Y, eval_set=[(table, Y)])
    assert ranker.booster_ == plain.booster_
    assert list(ranker.feature_names_in_) == NAMES
    assert (ranker.predict(table) == plain.predict(make(columns()))).all()
    assert ranker.score(table, Y) == plain.score(make(columns()), Y, qid=QID)
    with pytest.raises(rr.DataError, match="queries come twice"):
        small().fit(table, Y, qid=QID)


def test_without_queries_a_warning_says_that_all_rows_are_one() -> None:
    with pytest.warns(rr.RustrankWarning, match=f"all {len(Y):,} rows count as one") as caught:
        ranker = small().fit(X, Y)
    assert caught[0].filename == __file__
    assert ranker.booster_ == small().fit(X, Y, group=[len(Y)]).booster_
    with pytest.warns(rr.RustrankWarning, match="NO QUERIES ARE GIVEN") as caught:
        ranker.score(X, Y)
    assert caught[0].filename == __file__


def test_thousands_of_rows_are_not_one_query_by_mistake() -> None:
    many, labels = np.tile(X, (2, 1)), np.tile(Y, 2)
    for kind in (rr.LambdaMART, rr.LambdaRank, rr.LambdaBoost):
        with pytest.raises(rr.DataError, match="got no queries for 4,000 rows") as caught:
            kind().fit(many, labels)
        assert caught.value.code == "query.missing"
    assert small().fit(many, labels, group=[len(labels)]).booster_
    # The loss of MART needs no queries.
    with pytest.warns(rr.RustrankWarning, match="NO QUERIES ARE GIVEN"):
        small(rr.MART).fit(many, labels)


@pytest.mark.parametrize("kind", [rr.LambdaMART, rr.LambdaRank])
def test_a_ranker_that_was_fitted_with_queries_does_not_do_without(kind: Any) -> None:
    ranker = kind(**({"epochs": 2} if kind is rr.LambdaRank else {"n_estimators": 3}))
    with pytest.raises(rr.DataError, match=r"eval_set: got no queries, .* eval_qid= or"):
        ranker.fit(X, Y, qid=QID, eval_set=[(V, Z)])
    ranker.fit(X, Y, QID, eval_set=[(V, Z)], eval_qid=[IDS])
    with pytest.raises(rr.DataError, match="enable_metadata_routing=True") as caught:
        ranker.score(V, Z)
    assert caught.value.code == "query.missing"
    assert ranker.score(V, Z, qid=IDS) == ranker.score(V, Z, group=np.bincount(IDS))
    again = pickle.loads(pickle.dumps(ranker))  # noqa: S301
    with pytest.raises(rr.DataError, match="got no queries"):
        again.score(V, Z)


def test_thirty_rows_are_learned_from() -> None:
    with pytest.warns(rr.RustrankWarning, match="30 docs.*min_leaf_docs is 3 instead"):
        ranker = rr.LambdaMART(n_estimators=3).fit(X[:30], Y[:30], qid=QID[:30])
    assert ranker.booster_.num_trees == 3
    few = rr.LambdaMART(n_estimators=3, min_leaf_docs=3).fit(X[:30], Y[:30], qid=QID[:30])
    assert (ranker.predict(X) == few.predict(X)).all()
    with pytest.raises(rr.ParamError, match="min_leaf_docs is too large for the data: got 20"):
        rr.LambdaMART(min_leaf_docs=20).fit(X[:30], Y[:30], qid=QID[:30])


def test_warnings_name_the_line_that_called() -> None:
    constant = np.column_stack([X, np.ones(len(Y))])
    with pytest.warns(rr.RustrankWarning, match="1 of 7 features have one value.*: f6") as caught:
        small().fit(constant, Y, qid=QID)
    assert caught[0].filename == __file__
    # After one step as long as can be nothing is left to split.
    ranker = small(rr.MART, n_estimators=99, learning_rate=1.0, min_reduction=1.0)
    with pytest.warns(rr.RustrankWarning, match="training ended early") as caught:
        ranker.fit(Y[:, None] > 1, Y, qid=QID)
    assert caught[0].filename == __file__


def test_validation_sets_come_as_they_do_elsewhere() -> None:
    sizes = np.bincount(IDS - IDS.min())
    frame = pd.DataFrame(V)
    frame["qid"] = IDS
    ways: list[dict[str, Any]] = [
        {"eval_set": [(V, Z)], "eval_qid": [IDS]},
        {"eval_set": [(V, Z)], "eval_group": [sizes]},
        {"eval_set": [(V, Z, IDS)]},
        {"eval_set": (V, Z, IDS)},
        {"eval_set": {"X": V, "y": Z, "group": sizes}},
        {"eval_set": [{"X": V, "y": Z, "qid": IDS}]},
    ]
    metrics = ["ndcg@3", "map"]
    for kind in (rr.LambdaMART, rr.LambdaRank, rr.LambdaBoost):
        found = [small(kind, metric=metrics).fit(X, Y, qid=QID, **way) for way in ways]
        for one in found:
            assert (
                one.history_["valid"]["map"].tolist() == found[0].history_["valid"]["map"].tolist()
            )
        assert found[0].score(V, Z, qid=IDS) in found[0].history_["valid"]["ndcg@3"]
    two = small().fit(X, Y, qid=QID, eval_set=[(X, Y, QID), (V, Z, IDS)])
    assert list(two.history_) == ["valid_0", "valid_1"]


def test_early_stopping_keeps_the_best_rounds() -> None:
    options: dict[str, Any] = {"n_estimators": 200, "early_stopping": 3, "learning_rate": 0.5}
    ranker = small(**options).fit(X, Y, qid=QID, eval_set=[(V, Z)], eval_qid=[IDS])
    values = ranker.history_["valid"]["ndcg@10"]
    assert ranker.best_round_ == ranker.booster_.num_trees == int(np.argmax(values)) + 1
    assert len(values) == ranker.best_round_ + 3
    assert ranker.score(V, Z, qid=IDS) == values.max()


def test_early_stopping_holds_queries_out_by_itself() -> None:
    options: dict[str, Any] = {"n_estimators": 100, "early_stopping": 3, "learning_rate": 0.5}
    weight = np.linspace(1, 2, 40)
    more: dict[str, Any] = {"sample_weight": X[:, 0] ** 2}
    ranker = small(**options).fit(X, Y, qid=QID, query_weight=weight, **more)
    assert ranker.best_round_ == ranker.booster_.num_trees < 100
    # Which queries is up to their content, not to their place.
    order = np.random.default_rng(0).permutation(len(Y))
    by_id = dict(zip(np.unique(QID).tolist(), weight.tolist(), strict=True))
    other = small(**options)
    other.fit(
        X[order], Y[order], qid=QID[order], query_weight=by_id, sample_weight=X[order, 0] ** 2
    )
    assert other.booster_ == ranker.booster_
    named = small(**options).fit(
        pd.DataFrame(X, columns=NAMES), Y, qid=QID, query_weight=weight, **more
    )
    assert list(named.feature_names_in_) == NAMES
    assert (named.predict(pd.DataFrame(X, columns=NAMES)) == ranker.predict(X)).all()
    different = small(**options, validation_fraction=0.5).fit(X, Y, qid=QID)
    assert different.booster_ != ranker.booster_
    with pytest.raises(rr.ParamError, match=r"validation_fraction: got 1\.0, expected a share"):
        small(**options, validation_fraction=1.0).fit(X, Y, qid=QID)
    with pytest.raises(rr.ParamError, match=r"validation_fraction: got 0\.1 of 1 queries"):
        small(**options).fit(X, Y, group=[len(Y)])


def test_a_model_of_any_kind_can_be_gone_on_from() -> None:
    net = rr.LambdaRank(epochs=2).fit(X, Y, qid=QID)
    ranker = small().fit(X, Y, qid=QID, base=net.booster_, eval_set=[(V, Z, IDS)])
    assert ranker.booster_.num_trees == 5
    start = rr.Dataset(X, Y, qid=QID, base_score=net.predict(X))
    by_hand = rr.train(start, base=net.booster_, num_trees=5, num_leaves=5, min_leaf_docs=5)
    assert ranker.booster_ == by_hand
    with pytest.raises(rr.ParamError, match="base: got 5, expected a Booster"):
        small().fit(X, Y, qid=QID, base=5)


def test_presets_and_kinds_of_losses_are_passed_on() -> None:
    paper = rr.LambdaMART(preset="wu2008", n_estimators=3, learning_rate=0.1).fit(X, Y, qid=QID)
    by_hand = rr.train(rr.Dataset(X, Y, qid=QID), preset="wu2008", num_trees=3)
    assert paper.booster_ == by_hand
    ordinal = small(rr.McRank, ordinal=True).fit(X, Y, qid=QID)
    assert ordinal.booster_ != small(rr.McRank).fit(X, Y, qid=QID).booster_
    logistic = small(rr.MART, objective="logistic", relevant_from=1).fit(X, Y, qid=QID)
    assert logistic.booster_ != small(rr.MART).fit(X, Y, qid=QID).booster_
    with pytest.raises(rr.ParamError, match="objective: got 'lambdamart', expected regression"):
        small(rr.MART, objective="lambdamart").fit(X, Y, qid=QID)


def test_callbacks_and_preferences_are_passed_on() -> None:
    seen: list[int] = []
    small().fit(X, Y, qid=QID, callbacks=lambda one: seen.append(one.number))
    assert seen == [1, 2, 3, 4, 5]
    pairs = [[at, at + 1] for at in range(len(Y) - 1) if QID[at] == QID[at + 1]]
    ranker = small(rr.RankNetMART).fit(X, np.zeros(len(Y)), qid=QID, preferences=pairs)
    assert ranker.booster_.num_trees == 5


def test_importances_are_shares_of_what_splits_took_off() -> None:
    ranker = small().fit(X, Y, qid=QID)
    reduction = ranker.booster_.feature_importance()
    assert np.allclose(ranker.feature_importances_, reduction / reduction.sum())
    assert not hasattr(rr.LambdaRank(epochs=1).fit(X, Y, qid=QID), "feature_importances_")


def test_weights_of_rows_weigh_queries_in_scores() -> None:
    ranker = small().fit(X, Y, qid=QID)
    by_query = np.linspace(1, 3, 40)
    codes = np.unique(QID, return_inverse=True)[1]
    rows = by_query[codes]
    expected = ranker.score(X, Y, qid=QID, query_weight=by_query)
    assert np.isclose(ranker.score(X, Y, rows, qid=QID), expected, rtol=1e-14)
    assert expected != ranker.score(X, Y, qid=QID)
    uneven = rows + (X[:, 0] - X[:, 0].min())
    order = np.random.default_rng(0).permutation(len(Y))
    moved = ranker.score(X[order], Y[order], uneven[order], qid=QID[order])
    assert ranker.score(X, Y, uneven, qid=QID) == moved
    with pytest.raises(rr.DataError, match="weights come twice"):
        ranker.score(X, Y, rows, qid=QID, query_weight=by_query)


def test_a_value_may_stand_for_missing() -> None:
    holes = np.where(X > 1, np.float32(-99), X)
    ranker = small(missing=-99.0).fit(holes, Y, qid=QID, eval_set=[(holes, Y, QID)])
    gaps = np.where(X > 1, np.float32(np.nan), X)
    other = small().fit(gaps, Y, qid=QID)
    # Only the note of the value differs.
    assert ranker.booster_.dump()["trees"] == other.booster_.dump()["trees"]
    assert (ranker.predict(holes) == other.predict(gaps)).all()


@pytest.mark.parametrize("kind", [*TREES, *RAW])
def test_rankers_are_pickled_and_shown(kind: Any) -> None:
    ranker = small(kind).fit(pd.DataFrame(X, columns=NAMES), Y, qid=QID)
    again = pickle.loads(pickle.dumps(ranker))  # noqa: S301
    assert again.get_params().keys() == ranker.get_params().keys()
    assert again.booster_ == ranker.booster_
    assert list(again.feature_names_in_) == NAMES
    assert repr(again).startswith(kind.__name__)
    assert repr(kind()) == f"{kind.__name__}()"


def test_refitting_forgets_what_was() -> None:
    ranker = small().fit(pd.DataFrame(X, columns=NAMES), Y, qid=QID)
    ranker.fit(X[:, :3], Y, qid=QID)
    assert ranker.n_features_in_ == 3
    assert not hasattr(ranker, "feature_names_in_")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "n_estimators": ({"n_estimators": 0}, "n_estimators: got 0, expected a whole number from 1"),
    "n_jobs": ({"n_jobs": -2}, "n_jobs: got -2, expected a whole number from 1"),
    "random_state": ({"random_state": "x"}, "random_state: got 'x', expected a whole number"),
    "num_leaves": ({"num_leaves": 1}, "num_leaves: got 1, expected a whole number from 2"),
    "max_bins": ({"max_bins": 1000}, "max_bins: got 1000, expected a whole number from 2 to 255"),
    "metric": ({"metric": "ndgc"}, "ndcg"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_out_of_range_are_named_as_they_are_here(name: str) -> None:
    options, said = REFUSED[name]
    with pytest.raises(rr.ParamError) as caught:
        small(**options).fit(X, Y, qid=QID)
    assert said in str(caught.value)


def test_what_cannot_be_used_is_said() -> None:
    ranker = small()
    with pytest.raises(rr.NotFittedError, match="this LambdaMART is not fitted: call fit first"):
        ranker.predict(X)
    with pytest.raises(AttributeError):
        _ = ranker.booster_
    with pytest.raises(
        rr.ParamError, match="there is no parameter num_trees; here it is called n_estim"
    ):
        ranker.set_params(num_trees=5)
    with pytest.raises(rr.DataError, match="the target y is None"):
        ranker.fit(X, None, qid=QID)
    with pytest.raises(rr.DataError, match="Reshape your data"):
        ranker.fit(X[:, 0], Y, qid=QID)
    with pytest.raises(rr.DataError, match="every weight is zero"):
        ranker.fit(X, Y, qid=QID, sample_weight=np.zeros(len(Y)))
    with pytest.raises(rr.ParamError, match=r"eval_qid: got .* expected a list of 1"):
        ranker.fit(X, Y, qid=QID, eval_set=[(V, Z)], eval_qid=IDS)
    with pytest.raises(rr.ParamError, match="the set has its own qid"):
        ranker.fit(X, Y, qid=QID, eval_set=[(V, Z, IDS)], eval_qid=[IDS])
    with pytest.raises(rr.ParamError, match=r"eval_set: got 'vali\.txt'"):
        ranker.fit(X, Y, qid=QID, eval_set="vali.txt")
    with pytest.raises(rr.ParamError, match="eval_set: got 2 validation sets, expected one"):
        small(rr.LambdaRank).fit(X, Y, qid=QID, eval_set=[(V, Z, IDS)] * 2)
    ranker.fit(pd.DataFrame(X, columns=NAMES), Y, qid=QID)
    with pytest.raises(rr.DataError, match=f"yet now missing:\n- {NAMES[0]}\n") as caught:
        ranker.predict(pd.DataFrame(X[:, 1:], columns=NAMES[1:]))
    assert caught.value.feature == NAMES[0]
    with pytest.warns(rr.RustrankWarning, match="does not have valid feature names"):
        ranker.predict(X)


_WITHOUT = """
    import sys
    sys.modules["sklearn"] = None  # As if it were not installed.
    import rustrank as rr
    X, y, qid = rr.datasets.make_polynomial(num_queries=20, seed=0)
    for ranker in (rr.LambdaMART(n_estimators=3, early_stopping=2), rr.MART(), rr.RankNet(epochs=1)):
        try:
            ranker.predict(X)
        except rr.NotFittedError:
            pass
        ranker.set_params(**ranker.get_params()).fit(X, y, qid=qid)
        assert 0 < ranker.score(X, y, qid=qid) <= 1
        assert ranker.predict(X).shape == y.shape
        rr.cross_validate(ranker, X, y, qid=qid, folds=2)
    print("ok")
"""


def test_scikit_learn_is_not_needed() -> None:
    program = textwrap.dedent(_WITHOUT)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
    program = "import sys, rustrank; print('sklearn' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False False\n"


def test_a_ranker_of_trees_has_all_that_train_takes() -> None:
    takes = set(inspect.signature(rr.train).parameters) - {"unknown"}
    elsewhere = {
        "dataset",
        "y",
        "qid",
        "group",
        "objective",
        "valid",
        "base",
        "callbacks",
        "preferences",
    }
    files = {"checkpoint", "checkpoint_every", "resume", "snapshot", "snapshot_every"}
    files |= {"workers", "mode", "overlap", "deadline", "max_restarts", "on_loss"}
    renamed = {"num_trees": "n_estimators", "num_threads": "n_jobs", "seed": "random_state"}
    wanted = {renamed.get(name, name) for name in takes - elsewhere - files}
    own = {"categorical", "max_bins", "missing", "query_ranks", "validation_fraction"}
    assert set(inspect.signature(rr.LambdaMART).parameters) == wanted | own


def test_a_wrong_option_is_named_with_the_one_meant() -> None:
    with pytest.raises(rr.ParamError, match="lerning_rate; did you mean learning_rate"):
        rr.LambdaMART(lerning_rate=0.1)  # type: ignore[call-arg]


def test_a_ranker_of_ones_own_may_have_another_constructor() -> None:
    class Shallow(rr.LambdaMART):
        def __init__(self, *, max_depth: int = 2) -> None:
            super().__init__(n_estimators=3, num_leaves=4, metric="err")
            self.max_depth = max_depth

    class Named(rr.LambdaMART):
        pass

    shallow = Shallow().fit(X, Y, qid=QID)
    assert shallow.get_params() == {"max_depth": 2}
    plain = rr.LambdaMART(n_estimators=3, num_leaves=4, metric="err", max_depth=2)
    assert shallow.booster_ == plain.fit(X, Y, qid=QID).booster_
    assert shallow.score(X, Y, qid=QID) == plain.score(X, Y, qid=QID)
    assert Named(l2=1.0).get_params() == rr.LambdaMART(l2=1.0).get_params()


def test_ranks_within_queries_are_features_if_asked_for() -> None:
    ranker = small(query_ranks=True).fit(X, Y, qid=QID, eval_set=[(V, Z)], eval_qid=[IDS])
    train = rr.Dataset(X, Y, qid=QID, query_ranks=True)
    assert ranker.booster_ == rr.train(train, num_trees=5, num_leaves=5, min_leaf_docs=5)
    assert (ranker.predict(V, qid=IDS) == ranker.booster_.predict(V, qid=IDS)).all()
    assert ranker.score(V, Z, qid=IDS) == ranker.score(V, Z, group=np.bincount(IDS))
    with pytest.raises(rr.DataError, match="got no queries"):
        ranker.predict(V)
    plain = small().fit(X, Y, qid=QID)
    assert (plain.predict(V, qid=IDS) == plain.predict(V)).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_columns_are_taken_by_name(make: Any) -> None:
    plain = small().fit(make(columns()), Y, qid=QID, sample_weight=1 + Y)
    more = {"label": Y, "query": QID.astype(str), "weight": 1 + Y}
    table = make({"label": Y, **columns(), "query": more["query"], "weight": more["weight"]})
    named: Any = {"qid": "query", "sample_weight": "weight"}
    valid = make(
        {name: column for name, column in {**columns(), **more}.items() if name != "weight"}
    )
    ranker = small().fit(table, "label", **named, eval_set=[(valid, "label", "query")])
    assert ranker.booster_ == plain.booster_
    assert list(ranker.feature_names_in_) == NAMES
    assert (ranker.predict(table) == plain.predict(make(columns()))).all()
    assert (ranker.predict(make(columns())) == ranker.predict(table)).all()
    expected = plain.score(make(columns()), Y, qid=QID)
    assert ranker.score(table, "label") == ranker.score(table, Y, qid="query") == expected
    assert (ranker.rank(table) == plain.rank(make(columns()), qid=QID)).all()
    dataset = rr.Dataset(table, "label", qid="query", row_weight="weight")
    assert (
        dataset.fingerprint == rr.Dataset(make(columns()), Y, qid=QID, row_weight=1 + Y).fingerprint
    )
    assert dataset.feature_names == NAMES
    # A column ``qid`` needs no naming.
    with_qid = make({"label": Y, **columns(), "qid": QID})
    ranker = small().fit(with_qid, "label", sample_weight=1 + Y)
    assert ranker.booster_ == plain.booster_
    assert ranker.score(with_qid, "label") == expected
    assert (ranker.predict(with_qid) == plain.predict(make(columns()))).all()
    assert (ranker.rank(with_qid) == plain.rank(make(columns()), qid=QID)).all()
    # Other columns and another order are fine.
    moved = make({"url": QID.astype(str), **dict(reversed(columns().items())), "label": Y})
    assert (plain.predict(moved) == plain.predict(make(columns()))).all()
    with dropped_warnings():  # Early stopping looks at the training set.
        stopped = [
            small(kind, early_stopping=2).fit(make(columns()), Y, qid=QID, eval_set=[(X, y, QID)])
            for kind in (rr.LambdaMART, rr.LambdaBoost)
            for X, y in ((make(columns()), Y), (moved, "label"))
        ]
    assert stopped[0].booster_ == stopped[1].booster_
    assert stopped[2].booster_ == stopped[3].booster_
    with pytest.raises(
        rr.DataError, match="qid: X has no column 'session', expected one of 'label'"
    ):
        small().fit(table, "label", qid="session")
