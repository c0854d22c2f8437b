"""Distillation: a student ranks as its teacher does, and says how far."""

import warnings
from typing import Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.data.raw_rows import as_raw_rows
from rustrank.datasets import Ranking, make_web
from rustrank.ensembles.distillation import ranked

pytestmark = pytest.mark.filterwarnings("ignore:4 of 136 features:rustrank.RustrankWarning")


def student(**more: Any) -> rr.LambdaMART:
    return rr.LambdaMART(**{"n_estimators": 40, "num_leaves": 12, **more})


@pytest.fixture(scope="module")
def teacher() -> rr.Booster:
    docs = make_web(60, docs_per_query=20, seed=3)
    few = rr.LambdaMART(n_estimators=30, num_leaves=6)
    made = [few.set_params(random_state=at).fit(docs.X, docs.y, qid=docs.qid) for at in range(3)]
    return rr.mix([one.booster_ for one in made])


@pytest.fixture(scope="module")
def many() -> Ranking:
    return make_web(150, docs_per_query=20, seed=3, first_query=1000)


def test_a_student_ranks_as_its_teacher_does(teacher: rr.Booster, many: Ranking) -> None:
    found = rr.distill(teacher, many.X, qid=many.qid, ranker=student())
    assert found.fidelity > 0.9
    assert found.fidelity.num_queries == 30, "a fifth is held out"
    assert found.against is None
    noise = np.random.default_rng(0).permutation(teacher.predict(many.X))
    assert rr.distill(noise, many.X, qid=many.qid, ranker=student()).fidelity < found.fidelity - 0.2


@pytest.mark.parametrize(
    "ranker",
    [rr.MART(n_estimators=40, num_leaves=12), rr.LambdaRank(epochs=5, weight_decay=0.0)],
    ids=["MART", "net"],
)
def test_students_may_be_of_any_kind(teacher: rr.Booster, many: Ranking, ranker: Any) -> None:
    assert rr.distill(teacher, many.X, qid=many.qid, ranker=ranker).fidelity > 0.8


def test_labels_are_for_measuring_alone(teacher: rr.Booster, many: Ranking) -> None:
    plain = rr.distill(teacher, many.X, qid=many.qid, ranker=student(), valid=0.3)
    labelled = rr.distill(
        teacher, many.X, y=many.y, qid=many.qid, ranker=student(), valid=0.3, metric="err"
    )
    assert labelled.against is not None
    assert labelled.teacher is not None
    assert labelled.teacher.name == "err"
    assert plain.booster == labelled.booster
    said = str(labelled)
    assert "teacher  err" in said
    assert "by labels, err: " in said
    assert labelled.to_dict()["labels"]["means"]["teacher"] == float(labelled.teacher)
    assert "fidelity" in labelled._repr_html_()


def test_a_student_does_not_depend_on_the_order_of_rows(teacher: rr.Booster, many: Ranking) -> None:
    order = np.random.default_rng(1).permutation(len(many.y))
    first = rr.distill(teacher, many.X, qid=many.qid, ranker=student(), num_threads=1)
    other = rr.distill(teacher, many.X[order], qid=many.qid[order], ranker=student())
    assert first.booster == other.booster
    assert first.fidelity == other.fidelity


def test_an_ensemble_teaches() -> None:
    docs = make_web(60, docs_per_query=15, seed=5)
    members = {
        "inner": rr.MART(n_estimators=5, num_leaves=4),
        "outer": rr.Member(rr.LambdaMART(n_estimators=5, num_leaves=4), stack=("inner",)),
    }
    whole = rr.ensemble(members, docs, folds=3, combinations=["average"])
    found = rr.distill(whole, docs.X, qid=docs.qid, ranker=student(n_estimators=10))
    assert found.booster.num_trees == 10


def test_ranks_are_labels_and_ties_share_them() -> None:
    docs = as_raw_rows((np.zeros((7, 1)), np.zeros(7), [0, 0, 0, 0, 1, 1, 1]), "docs")
    scores = np.array([0.5, 2.0, 2.0, 1.0, 3.0, 3.0, 3.0])
    assert ranked(scores, docs, 3).tolist() == [0, 2.5, 2.5, 1, 2, 2, 2]


def test_what_cannot_be_learned_is_refused(teacher: rr.Booster, many: Ranking) -> None:
    given: dict[str, Any] = {"qid": many.qid}
    with pytest.raises(rr.DataError, match="docs the same: there is no ranking to learn"):
        rr.distill(np.ones(len(many.y)), many.X, **given)
    with pytest.raises(rr.DataError, match="scores of the teacher"):
        rr.distill(np.ones(3), many.X, **given)
    for options, message in (
        ({"valid": 1.0}, "valid: got 1.0, expected a share"),
        ({"targets": "labels"}, "targets: got 'labels', expected one of ranks, scores"),
        ({"ranker": rr.LambdaMART}, "ranker: got <class"),
        ({"depth": 0}, "depth: got 0"),
    ):
        more: dict[str, Any] = {**given, **options}
        with pytest.raises(rr.ParamError, match=message):
            rr.distill(teacher, many.X, **more)


def test_the_gain_of_ranks_is_not_that_of_labels(many: Ranking, tmp_path: Any) -> None:
    trees: Any = student().fit(many.X, many.y, qid=many.qid)
    rankers: list[Any] = [student(), student(gain="linear"), rr.MART(n_estimators=5)]
    rankers.append(rr.LambdaRank(epochs=2))
    for ranker in rankers:
        copied = rr.distill(trees.booster_, many.X, qid=many.qid, ranker=ranker).booster
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for model in (copied, rr.Booster.from_text(copied.to_text())):
                rr.evaluate(model, many.y, X=many.X, qid=many.qid)
            page = tmp_path / "report.html"
            rr.report({"teacher": trees, "student": copied}, (many.X, many.y, many.qid), path=page)
