"""Documents in every form, for every function that takes some: the same results, and errors that name what is missing."""

from __future__ import annotations

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
