"""Documents in every form, for every function that takes some: the same results, and errors that name what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

WEB = rr.datasets.make_web(60, 15, seed=1)
X, Y, QID = WEB.X[:, :6], WEB.y, WEB.qid
NAMES = [f"c{at}" for at in range(6)]
LAST = QID >= 45
FIRST = ~LAST
NAMED: dict[str, Any] = {"y": "label", "qid": "query_id"}
IDS = np.array([f"q{one}" for one in QID])


class Stream:
    """An Arrow stream that can be read once, such as a relation of DuckDB."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.table: Any = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        table, self.table = self.table, None
        return table.__arrow_c_stream__(requested_schema)


KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "stream": Stream,
    "mapping": dict,
}
#: How documents are given: as an argument, and the arguments beside it.
Given = tuple[Any, dict[str, Any]]


def columns(rows: Any) -> dict[str, Any]:
    return dict(zip(NAMES, X[rows].T, strict=True))


def first(form: str, rows: Any = FIRST) -> Given:
    """Return the first set of a call."""
    if form == "tuple":
        return (X[rows], Y[rows], IDS[rows]), {}
    if form == "array":
        return X[rows], {"y": Y[rows], "qid": IDS[rows]}
    if form == "parts":
        return {
            "X": X[rows],
            "y": Y[rows],
            "group": np.unique(QID[rows], return_counts=True)[1],
        }, {}
    if form == "named parts":
        table = pd.DataFrame({"label": Y[rows], **columns(rows), "query_id": IDS[rows]})
        return (table, "label", "query_id"), {}
    table = {"label": Y[rows], **columns(rows), "query_id": IDS[rows]}
    return KINDS[form](table), dict(NAMED)


def further(form: str, rows: Any = LAST) -> Any:
    """Return another set of a call; a table has its columns in another order, and one of text more."""
    if form in KINDS:
        moved = {"query_id": IDS[rows], **dict(reversed(columns(rows).items())), "url": IDS[rows]}
        return KINDS[form]({**moved, "label": Y[rows]})
    return first("tuple" if form == "array" else form, rows)[0]


FORMS = ["array", "parts", "named parts", *KINDS]


def small(**more: Any) -> rr.LambdaMART:
    return rr.LambdaMART(n_estimators=4, num_leaves=4, **more)


def trained(form: str) -> Any:
    docs, beside = first(form)
    options: dict[str, Any] = {"num_trees": 6, "num_leaves": 4, "early_stopping": 2}
    booster = rr.train(docs, valid=further(form), **beside, **options)
    return booster.predict(X).tolist(), booster.history["valid"]["ndcg@10"].tolist()


def tuned(form: str) -> Any:
    docs, beside = first(form)
    space = {"learning_rate": [0.1, 0.3]}
    found = rr.tune(small(), docs, space, valid=further(form), **beside)
    return [trial.value.per_query.tolist() for trial in found.trials], found.booster.predict(
        X
    ).tolist()


def validated(form: str, folds: int = 3) -> Any:
    docs, beside = first(form)
    found = rr.cross_validate(small(), docs, folds=folds, **beside)
    return found.scores["LambdaMART"].tolist()


def combined(form: str) -> Any:
    docs, beside = first(form)
    members = {"trees": small(), "more": small(learning_rate=0.3)}
    options: dict[str, Any] = {"folds": 2, "combinations": ["average", "forward"]}
    found = rr.ensemble(members, docs, valid=further(form), **beside, **options)
    return found.predict(X).tolist(), found.to_dict()


def adapted(form: str) -> Any:
    base = rr.train((pd.DataFrame(columns(FIRST)), Y[FIRST], QID[FIRST]), num_trees=4)
    if form in KINDS:
        docs, beside = further(form, QID < 40), dict(NAMED)
    else:
        docs, beside = first(form, QID < 40)
    options: dict[str, Any] = {"held_out": 2, "recipes": ["trees", "refit"]}
    closed = further(form)
    found = rr.adapt(base, docs, valid_closed=closed, trees={"num_trees": 3}, **options, **beside)
    return found.booster.predict(X).tolist(), found.to_dict()


def expanded(form: str) -> Any:
    docs, beside = first(form)
    if form == "array":
        docs, beside = (docs, *beside.values()), {}
    return rr.expand(docs, further(form), max_distance=0.1, **beside).rows.tolist()


@pytest.mark.filterwarnings("ignore::rustrank.RustrankWarning")
@pytest.mark.parametrize("function", [trained, tuned, validated, combined, adapted, expanded])
def test_all_forms_of_documents_give_the_same(function: Callable[[str], Any]) -> None:
    expected = function("tuple")
    for form in FORMS:
        assert function(form) == expected, form


FRAME, FURTHER = first("pandas")[0], further("pandas")


def calls() -> dict[str, Callable[..., Any]]:
    """Return the functions that learn, by name: of documents, a further set and what stands beside."""
    base = rr.train(FRAME, **NAMED, num_trees=1)
    space = {"learning_rate": [0.1, 0.3]}
    return {
        "train": lambda docs, more, **beside: rr.train(docs, valid=more, **beside),
        "tune": lambda docs, more, **beside: rr.tune(small(), docs, space, valid=more, **beside),
        "ensemble": lambda docs, more, **beside: rr.ensemble([small()], docs, valid=more, **beside),
        "adapt": lambda docs, more, **beside: rr.adapt(base, docs, valid_closed=more, **beside),
        "cross_validate": lambda docs, _, **beside: rr.cross_validate(small(), docs, **beside),
    }


@pytest.mark.parametrize("name", ["train", "tune", "ensemble", "adapt", "cross_validate"])
def test_what_is_missing_or_given_twice_is_named(name: str) -> None:
    call, parts = calls()[name], (X, Y, QID)
    bad: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
        (
            FRAME,
            FURTHER,
            {"y": "labels", "qid": "query_id"},
            rr.DataError,
            "y: .*no column 'labels'",
        ),
        (
            FRAME,
            FURTHER,
            {"y": "label", "qid": "query"},
            rr.DataError,
            "qid: .*no column 'query', e",
        ),
        (FRAME, FURTHER, {}, rr.ParamError, "got a DataFrame without labels, expected y="),
        (
            X,
            parts,
            dict(NAMED),
            rr.DataError,
            "y: .*no column 'label', expected a table with named",
        ),
        (parts, parts, {"qid": QID}, rr.ParamError, "qid: got it twice, in .* and as qid="),
        (parts[:2], parts, {}, rr.DataError, "quer"),
        (X[:, 0], parts, {}, rr.ParamError, r"expected .*\(X, y, qid\)"),
    ]
    if name != "cross_validate":
        lacking = FURTHER.drop(columns=["c1", "c4"])
        bad += [
            (FRAME, lacking, dict(NAMED), rr.DataError, "valid.* lacks 2 .* also 'c1', 'c4'"),
            (FRAME, FURTHER.drop(columns="label"), dict(NAMED), rr.DataError, "of valid.*'label'"),
            (parts, FURTHER, {}, rr.ParamError, "valid.* got a DataFrame without labels"),
        ]
    if name != "train":
        data = rr.Dataset(*parts[:2], qid=QID)
        bad.append((data, parts, {}, rr.ParamError, "got a Dataset, which keeps bins"))
    for docs, more, beside, error, said in bad:
        with pytest.raises(error, match=said):
            call(docs, more, **beside)


def test_names_beside_a_data_set_are_refused() -> None:
    data = rr.Dataset(FRAME, "label", qid="query_id")
    with pytest.raises(rr.ParamError, match="y: got it beside a Dataset"):
        rr.train(data, y="label")


def test_a_column_qid_has_the_queries() -> None:
    frame = FRAME.rename(columns={"query_id": "qid"})
    expected = rr.train(FRAME, **NAMED, num_trees=3)
    assert rr.train(frame, y="label", num_trees=3) == expected
    assert rr.train((frame, "label"), num_trees=3) == expected
    found = rr.cross_validate(small(), frame, y="label", folds=2)
    assert found.scores["LambdaMART"].tolist() == validated("tuple", 2)


def test_training_goes_on_from_a_base_on_documents() -> None:
    base = rr.train(FRAME, **NAMED, num_trees=3)
    data = rr.Dataset(FRAME, "label", qid="query_id", base=base)
    valid = rr.Dataset(X[LAST], Y[LAST], qid=QID[LAST], like=data)
    expected = rr.train(data, num_trees=3, valid=valid)
    made = rr.train(FRAME, **NAMED, num_trees=3, base=base, valid={"valid": FURTHER})
    assert made == expected
    assert (
        made.history["valid"]["ndcg@10"].tolist() == expected.history["valid"]["ndcg@10"].tolist()
    )


def test_weights_of_rows_are_a_column_too() -> None:
    weights = 1.0 + (QID[FIRST] % 3)
    frame = FRAME.assign(weight=weights)
    expected = rr.cross_validate(small(), FRAME, **NAMED, folds=2, sample_weight=weights)
    found = rr.cross_validate(small(), frame, **NAMED, folds=2, sample_weight="weight")
    assert found.scores["LambdaMART"].tolist() == expected.scores["LambdaMART"].tolist()


# Rankers are judged on documents in the same forms.

WHOLE = np.ones(len(Y), bool)
BOOSTER = rr.train((X, Y, QID), num_trees=5, num_leaves=4)
TREES = rr.LambdaMART(n_estimators=5, num_leaves=4).fit(X, Y, qid=QID)


def judged(form: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the documents as arguments, by place and by name."""
    if form == "labels and X":
        return (Y,), {"X": X, "qid": IDS}
    if form == "names and X":
        return (), {"X": further("pandas", WHOLE).drop(columns="url"), **NAMED}
    if form == "all by name":
        return (), {"y": Y, "X": X, "qid": IDS}
    if form == "Dataset":
        return (rr.Dataset(X, Y, qid=IDS, like=BOOSTER),), {}
    docs, beside = first(form, WHOLE)
    return (docs,), beside


def evaluated(*docs: Any, **beside: Any) -> Any:
    return rr.evaluate(BOOSTER, *docs, **beside)["ndcg@10"].per_query.tolist()


def compared(*docs: Any, **beside: Any) -> Any:
    found = rr.compare(BOOSTER, TREES, *docs, **beside)
    return found["ndcg@10"].per_query.tolist()


def reported(*docs: Any, **beside: Any) -> Any:
    found = rr.report({"a": BOOSTER, "b": TREES}, *docs, **beside, metrics="ndcg@10")
    return {name: one["ndcg@10"].per_query.tolist() for name, one in found.evaluations.items()}


def mixed(*docs: Any, **beside: Any) -> Any:
    found = rr.Combiner().fit({"a": BOOSTER, "b": BOOSTER.truncate(2), "c": TREES}, *docs, **beside)
    return found.weights.tolist(), found.predict(X).tolist(), found.booster.predict(X).tolist()


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("function", [evaluated, compared, reported, mixed])
def test_rankers_are_judged_on_all_forms(function: Callable[..., Any]) -> None:
    expected = function((X, Y, IDS))
    names = ("labels and X", "names and X", "all by name", "Dataset")
    for form in (*FORMS, *names):
        docs, beside = judged(form)
        if form == "names and X":
            # The columns are in another order, and these models have no names.
            beside["X"] = beside["X"][[*NAMES, "label", "query_id"]]
        assert function(*docs, **beside) == expected, form


def test_columns_are_rankers_and_segments() -> None:
    frame = further("pandas", WHOLE).assign(language=np.where(QID % 2, "en", "fr"))
    booster = rr.train((FRAME, "label", "query_id"), num_trees=5, num_leaves=4)
    scores = booster.predict(frame)
    expected = rr.compare(X[:, 0], scores, Y, qid=QID)["ndcg@10"].difference
    assert rr.compare("c0", booster, frame, **NAMED)["ndcg@10"].difference == expected
    found = rr.evaluate("c0", frame, **NAMED, segments="language")
    by_array = rr.evaluate(X[:, 0], Y, qid=QID, segments=np.where(QID % 2, "en", "fr"))
    assert found.to_dict() == by_array.to_dict()
    assert found.segments["fr"].to_dict() == by_array.segments["fr"].to_dict()
    made = rr.report({"bm25": "c0", "trees": booster}, frame, **NAMED, metrics="ndcg@10")
    assert made.comparisons["bm25", "trees"]["ndcg@10"].difference == expected
    combiner = rr.Combiner().fit({"bm25": "c0", "trees": booster}, frame, **NAMED, valid=frame)
    by_scores = rr.Combiner().fit([X[:, 0], scores], Y, qid=QID)
    assert combiner.weights.tolist() == by_scores.weights.tolist()
    assert combiner.held_out == combiner.value == by_scores.value
    assert combiner.predict(frame).tolist() == by_scores.predict([X[:, 0], scores]).tolist()


def test_reports_explain_models_of_reordered_tables() -> None:
    frame = further("pandas", WHOLE)
    here, there = (
        rr.train(
            (FRAME, "label", "query_id"), num_trees=5, num_leaves=4, seed=seed, docs_per_tree=0.5
        )
        for seed in (0, 1)
    )
    rankers = {"here": here, "there": there}
    plain = pd.DataFrame(columns(WHOLE))
    expected = rr.report(rankers, Y, X=plain, qid=QID, examples=3)
    made = rr.report(rankers, frame, **NAMED, examples=3)
    swap = "The pair" if "The pair" in expected.html else "label"
    assert swap in made.html
    table = r"<table.*?</table>"

    of_both = [re.findall(table, one.html, re.DOTALL) for one in (expected, made)]
    assert len(of_both[0]) > 5
    assert [one for one in of_both[0] if "c3" in one] == [one for one in of_both[1] if "c3" in one]


class Foreign:
    """A fitted ranker of another library, which checks what it gets as that does."""

    def __init__(self, names: list[str] | None, wanted: type) -> None:
        self.names, self.wanted = names, wanted

    def predict(self, X: Any) -> Any:
        assert isinstance(X, self.wanted), type(X)
        if self.names is not None and isinstance(X, pd.DataFrame):
            assert list(X.columns) == self.names
        return np.asarray(X)[:, :2].astype(float) @ [1.0, 2.0]


class Lightgbm(Foreign):
    __module__ = "lightgbm.sklearn"

    @property
    def feature_names_in_(self) -> list[str]:
        return self.names or [f"Column_{at}" for at in range(6)]


class Xgboost(Foreign):
    __module__ = "xgboost.core"

    @property
    def feature_names(self) -> list[str] | None:
        return self.names

    def predict(self, X: Any) -> Any:
        raise TypeError(f"expected a DMatrix, got {type(X)}")

    def inplace_predict(self, X: Any) -> Any:
        return super().predict(X)


@pytest.mark.parametrize("kind", [Lightgbm, Xgboost])
@pytest.mark.parametrize("form", list(KINDS))
def test_rankers_of_other_libraries_get_their_own_columns(form: str, kind: type[Foreign]) -> None:
    expected = rr.evaluate(X[:, :2] @ np.array([1.0, 2.0]), Y, qid=QID)["ndcg@10"]
    frame = further(form, WHOLE)
    assert rr.evaluate(kind(NAMES, pd.DataFrame), frame, **NAMED)["ndcg@10"] == expected
    by_place = {"label": Y, **columns(WHOLE), "query_id": IDS}
    unnamed = kind(None, pd.DataFrame)
    assert rr.evaluate(unnamed, KINDS[form](by_place), **NAMED)["ndcg@10"] == expected
    assert rr.evaluate(kind(None, np.ndarray), (X, Y, QID))["ndcg@10"] == expected
    found = rr.Combiner().fit([kind(NAMES, pd.DataFrame), "c3"], further(form, WHOLE), **NAMED)
    assert found.predict(pd.DataFrame(columns(WHOLE))).shape == Y.shape
    with pytest.raises(rr.DataError, match=r"two: X lacks a feature of the ranker: .*also 'c9'"):
        rr.compare(
            "c0", kind(["c0", "c9"], dict), further(form, WHOLE), **NAMED, names=("one", "two")
        )


def test_sklearn_models_and_functions_are_rankers() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaling = pytest.importorskip("sklearn.preprocessing")
    frame = pd.DataFrame(columns(WHOLE))
    model = pipeline.make_pipeline(scaling.StandardScaler(), linear.LinearRegression()).fit(
        frame, Y
    )
    expected = rr.evaluate(model.predict(frame), Y, qid=QID).to_dict()
    for form in KINDS:
        assert rr.evaluate(model, further(form, WHOLE), **NAMED).to_dict() == expected, form
    assert rr.evaluate(model.predict, frame, y=Y, qid=QID).to_dict() == expected
    rankers = {"model": model, "trees": TREES, "booster": BOOSTER}
    made = rr.report(rankers, Y, X=X, qid=QID, metrics="ndcg@10")
    assert made.evaluations["model"]["ndcg@10"] == expected["ndcg@10"]["mean"]
    several = rr.Combiner().fit(rankers, (X, Y, QID))
    assert several.predict(X).shape == Y.shape
    assert rr.evaluate(several, (X, Y, QID))["ndcg@10"] == several.value


def test_errors_name_the_ranker() -> None:
    bad = X[:, 0].astype(float)
    bad[7] = np.nan

    def fails(_: Any) -> Any:
        raise ZeroDivisionError("no docs")

    docs = (X, Y, IDS)
    cases: list[tuple[Any, str]] = [
        (bad, r"scores of new, row 7 \(query 'q0'\): got nan"),
        (bad[1:], "scores of new has the wrong length: got"),
        (fails, "new: .*fails.* could not score the documents .ZeroDivisionError: no docs"),
        (lambda _: "scores", "scores of new: got 'scores'"),
        (rr.LambdaMART, "new: got the class LambdaMART, expected a fitted ranker"),
        (rr.LambdaMART(), "new: this LambdaMART is not fitted"),
        ("bm25", "new: X has no column 'bm25', expected scores or a ranker"),
        (rr.train((X[:, :3], Y, QID), num_trees=1), "new: X has another number of features"),
    ]
    for ranker, said in cases:
        with pytest.raises((rr.RustrankError, TypeError), match=said):
            rr.compare(BOOSTER, ranker, docs, names=("old", "new"))
        if not isinstance(ranker, str):
            with pytest.raises((rr.RustrankError, TypeError), match=said):
                rr.report({"old": BOOSTER, "new": ranker}, docs)
        with pytest.raises((rr.RustrankError, TypeError), match=said):
            rr.Combiner().fit({"old": BOOSTER, "new": ranker}, docs)
    with pytest.raises(rr.ParamError, match=r"b is a Booster, which needs features .* pass X="):
        rr.compare(X[:, 0], BOOSTER, Y, qid=QID)
    data = rr.Dataset(X, Y, qid=QID, like=BOOSTER)
    with pytest.raises(rr.ParamError, match=r"b: got .* only rankers of rustrank score a Dataset"):
        rr.compare(BOOSTER, Foreign(None, dict), data)


def test_what_is_missing_to_judge_is_named() -> None:
    data = rr.Dataset(X, Y, qid=QID)
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((), {}, "docs: got nothing, expected labels, a Dataset"),
        ((FRAME,), {}, "got a table of 8 columns, expected y="),
        (
            (Y,),
            {"qid": "query_id"},
            "qid: got 'query_id', the name of a column, expected a table",
        ),
        ((), NAMED, "y: got 'label', the name of a column, expected a table, too: X="),
        ((FRAME,), {"y": "labels"}, "y: .* has no column 'labels', expected one of 'label'"),
        ((FRAME,), {**NAMED, "X": X}, "X: got it twice, in docs and as X="),
        ((data,), {"qid": QID}, "qid is given twice: the dataset has it"),
        ((data,), {"y": Y}, "y is given twice: the dataset has it"),
    ]
    for docs, beside, said in cases:
        with pytest.raises(rr.RustrankError, match=said):
            rr.evaluate(BOOSTER, *docs, **beside)


class Sized:
    """A ranker of another library whose ``fit`` takes the sizes of queries, which stand together."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight

    def get_params(self, **_: Any) -> dict[str, Any]:
        return {"weight": self.weight}

    def set_params(self, **params: Any) -> Any:
        vars(self).update(params)
        return self

    def fit(self, X: Any, y: Any, group: Any = None) -> Any:
        assert len(X) == len(y) == sum(group)
        self.means = np.asarray(X, float).mean(axis=0) * self.weight
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray(X, float) @ self.means


def test_rankers_of_any_kind_are_cross_validated() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaling = pytest.importorskip("sklearn.preprocessing")
    piped = pipeline.make_pipeline(scaling.StandardScaler(), linear.LinearRegression())
    # Rows of a query need not stand together.
    rows = np.random.default_rng(0).permutation(len(Y))
    frame = pd.DataFrame({"label": Y[rows], **columns(rows), "query_id": IDS[rows]})
    rankers = {"linear": linear.LinearRegression(), "piped": piped, "sized": Sized()}
    rankers["ranks"] = small(query_ranks=True)
    found = rr.cross_validate(rankers, frame, **NAMED, folds=3)
    assert found.scores["linear"] == pytest.approx(found.scores["piped"], abs=2e-3)
    one = rr.cross_validate(rankers, columns(WHOLE), Y, qid=IDS, folds=3)
    for name in ("linear", "sized"):
        assert one.scores[name][0][rows] == pytest.approx(found.scores[name][0], abs=2e-3, rel=1e-4)
    assert one.scores["ranks"][0][rows].tolist() == found.scores["ranks"][0].tolist()
    with pytest.raises(rr.ParamError, match="sample_weight: fit of sized, a Sized, takes no"):
        rr.cross_validate({"sized": Sized()}, frame, **NAMED, folds=2, sample_weight=Y)
    holes = frame.assign(c0=np.nan)
    with pytest.raises(
        rr.DataError, match=r"linear: LinearRegression.* could not be fitted .Value"
    ):
        rr.cross_validate({"linear": linear.LinearRegression()}, holes, **NAMED, folds=2)


class Boosted(Lightgbm):
    """A fitted ranker of LightGBM, which is saved as text."""

    __module__ = "lightgbm.sklearn"

    @property
    def booster_(self) -> Any:
        return self

    def model_to_string(self) -> str:
        return BOOSTER.export("lightgbm").decode()


def test_fitted_rankers_are_bases_of_adaptations() -> None:
    options: dict[str, Any] = {"held_out": 2, "recipes": ["trees"], "trees": {"num_trees": 3}}
    docs = (X[LAST], Y[LAST], QID[LAST])
    expected = rr.adapt(BOOSTER, docs, **options).to_dict()
    assert rr.adapt(TREES, docs, **options).boosters["base"] == TREES.booster_
    # Features that LightGBM numbered have no names.
    found = rr.adapt(
        Boosted(None, np.ndarray),
        further("pandas").drop(columns="url")[[*NAMES, "label", "query_id"]],
        **NAMED,
        **options,
    )
    assert found.to_dict() == expected
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression()
    for base, said in (
        (linear, "base: got LinearRegression"),
        ({"a": BOOSTER, "b": X[:, 0]}, r"base\['b'\]: got "),
        (rr.LambdaMART(), "base: got LambdaMART"),
    ):
        with pytest.raises(rr.ParamError, match=f"{said}.*its trees, not only its scores"):
            rr.adapt(base, docs, **options)


def test_features_that_are_numbered_have_no_names() -> None:
    plain = rr.datasets.Ranking(X, Y, QID, tuple(f"f{at}" for at in range(6)))
    booster = rr.train(plain, num_trees=2)
    assert booster == rr.train((X, Y, QID), num_trees=2)
    assert booster.predict(columns(WHOLE)).tolist() == booster.predict(X).tolist()
    named = rr.train((pd.DataFrame(columns(WHOLE)), Y, QID), num_trees=2)
    assert named.predict(pd.DataFrame(X)).tolist() == booster.predict(X).tolist()
    with pytest.raises(rr.DataError, match="got 5, expected 6"):
        named.predict(pd.DataFrame(X[:, :5]))


def test_a_text_that_is_neither_column_nor_file_is_said() -> None:
    with pytest.raises(rr.DataError, match="b: X has no column 'nothing', expected one of 'c0'"):
        rr.report({"a": "c0", "b": "nothing"}, FRAME, **NAMED)


def test_boosters_within_ensembles_are_given_their_own_columns() -> None:
    fixed = rr.train(FRAME, **NAMED, num_trees=4)
    moved = further("pandas", WHOLE).drop(columns="url")
    members = {"fixed": fixed, "trees": small()}
    found = rr.ensemble(members, moved, **NAMED, folds=2, valid=FURTHER)
    expected = rr.evaluate(fixed, X[LAST], y=Y[LAST], qid=QID[LAST])["ndcg@10"]
    assert found.members["fixed"].valid["ndcg@10"] == expected
    table = moved[NAMES[::-1]]
    copied, scored = (
        rr.distill(teacher, table, qid=IDS, ranker=small()) for teacher in (fixed, fixed.predict(X))
    )
    assert copied.fidelity == scored.fidelity
    other = rr.train((moved[NAMES[::-1]], Y, QID), num_trees=4)
    with pytest.raises(rr.DataError, match="feature 0 of base 'b' has another name: got 'c5'"):
        rr.adapt({"a": fixed, "b": other}, moved, **NAMED)


def test_a_front_is_made_of_documents_with_further_labels() -> None:
    table = (
        pd.DataFrame(columns(WHOLE))
        .assign(label=Y, query_id=IDS)
        .assign(revenue=np.arange(len(Y)) % 7)
    )
    train, valid = table[FIRST], table[LAST]
    metrics = ["ndcg@10", "revenue@10"]
    small: dict[str, Any] = {"num_trees": 3, "shares": [0, 1]}
    found = rr.pareto_front(train, metrics, **NAMED, extra_labels="revenue", valid=valid, **small)
    dataset = rr.Dataset(train, "label", qid="query_id", extra_labels="revenue")
    further = rr.Dataset(valid, "label", qid="query_id", extra_labels="revenue", like=dataset)
    expected = rr.pareto_front(dataset, metrics, valid=further, **small)
    assert str(found) == str(expected)
    with pytest.raises(rr.ParamError, match="extra_labels: got it beside a Dataset"):
        rr.pareto_front(dataset, metrics, extra_labels="revenue", **small)


def test_names_of_columns_beside_a_data_set_are_those_of_validation_sets() -> None:
    table = pd.DataFrame(columns(WHOLE)).assign(label=Y, query_id=IDS)
    dataset = rr.Dataset(table[FIRST], "label", qid="query_id")
    further = rr.Dataset(table[LAST], "label", qid="query_id", like=dataset)
    found = rr.train(dataset, valid=table[LAST], **NAMED, num_trees=3)
    expected = rr.train(dataset, valid=further, num_trees=3)
    assert (found.history["valid"]["ndcg@10"] == expected.history["valid"]["ndcg@10"]).all()


def test_errors_do_not_print_tables() -> None:
    table = pd.DataFrame(columns(WHOLE)).assign(label=Y, query_id=IDS)
    with pytest.raises(rr.ParamError, match=f"got a DataFrame of {len(Y)} rows and 8 columns, exp"):
        rr.Booster.evaluate(rr.train(table, **NAMED, num_trees=1), table)


def test_the_weight_of_a_query_may_be_a_column() -> None:
    data = rr.datasets.make_polynomial(40, seed=3)
    weight = {one: 1.0 + one % 4 for one in np.unique(data.qid).tolist()}
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    frame = frame.assign(
        label=data.y, query=data.qid, worth=[weight[one] for one in data.qid.tolist()]
    )
    frame = frame.sample(frac=1.0, random_state=1)
    of_ids = rr.Dataset(frame.drop(columns="worth"), "label", qid="query", query_weight=weight)
    of_column = rr.Dataset(frame, "label", qid="query", query_weight="worth")
    assert of_column.fingerprint == of_ids.fingerprint
    booster = rr.train(of_column, num_trees=5)
    values = [
        rr.evaluate(booster, frame, y="label", qid="query", query_weight="worth"),
        rr.evaluate(booster, frame, y="label", qid="query", query_weight=weight),
    ]
    assert values[0] == values[1]
    frame.iloc[5, frame.columns.get_loc("worth")] = 9.0
    with pytest.raises(rr.DataError, match=r"query_weight: query \d+ has two weights"):
        rr.Dataset(frame, "label", qid="query", query_weight="worth")


SINGLE = r"[0-9]+ of [0-9]+ queries have a single doc\. Such queries teach and measure"


def test_a_column_of_documents_as_queries_warns() -> None:
    docs = rr.datasets.make_polynomial(num_queries=12, docs_per_query=50, seed=1)
    frame = pd.DataFrame(docs.X[:, :3], columns=["a", "b", "c"])
    frame = frame.assign(
        y=docs.y, q=docs.qid, product=[row // 5 if row < 50 else row for row in range(600)]
    )
    wrong: dict[str, Any] = {"y": "y", "qid": "product"}
    own: dict[str, Any] = {"num_trees": 2, "num_leaves": 4, "min_leaf_docs": 1}
    trees = rr.LambdaMART(n_estimators=2, num_leaves=4, min_leaf_docs=1)
    calls: dict[str, Callable[[], Any]] = {
        r"qid \(column 'product'\)": lambda: rr.evaluate("a", frame, **wrong),
        r"qid \(column 'product'\): ": lambda: rr.compare("a", "b", frame, **wrong),
        r"qid \(column 'product'\):": lambda: rr.tune(trees, frame, {"l2": [0.0]}, **wrong),
        "qid: ": lambda: rr.evaluate(docs.y, docs.y, qid=frame["product"]),
        "the training set .qid='product'.: ": lambda: rr.train(frame, **wrong, **own),
        "the training set: ": lambda: trees.fit(frame[["a"]], frame["y"], qid=frame["product"]),
        "the training set:": lambda: rr.LambdaRank(epochs=1).fit(
            frame[["a"]], frame["y"], qid=frame["product"]
        ),
    }
    for named, call in calls.items():
        with pytest.warns(rr.RustrankWarning, match=SINGLE) as caught:
            call()
        found = [str(one.message) for one in caught if re.search(SINGLE, str(one.message))]
        assert len(found) == 1, named
        assert re.match(named, found[0])
    with pytest.warns(rr.RustrankWarning, match="group: 600 of 600 queries"):
        rr.evaluate(docs.y, docs.y, group=np.ones(600, int))
    # Few queries, several documents in some, or a loss of single documents.
    rr.evaluate(docs.y[:99], docs.y[:99], group=np.ones(99, int))
    rr.evaluate("a", frame, y="y", qid="q")
    rr.evaluate(docs.y, docs.y, group=[1] * 400 + [2] * 100)
    rr.train(frame, **wrong, **own, objective="regression")
    rr.MART(n_estimators=2).fit(frame[["a"]], frame["y"], qid=frame["product"])
