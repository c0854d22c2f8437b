"""Each parameter is defined once, in Rust; what is said of it elsewhere agrees, and what is given wins."""

from __future__ import annotations

import inspect
import math
import re
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank.parameters.schema import PRESETS, TRAININGS, checked

if TYPE_CHECKING:
    from rustrank.estimators.ranker import Ranker

ROOT = Path(__file__).parents[2]
RAW = rr.datasets.make_polynomial(num_queries=30, seed=1)
X, y, qid = RAW.X, RAW.y, RAW.qid
TREES = (rr.LambdaMART, rr.RankNetMART, rr.XENDCGMART, rr.QueryRMSEMART, rr.MART, rr.McRank)
OTHERS = (rr.LambdaRank, rr.RankNet, rr.LambdaBoost)


def _script() -> Any:
    spec = util.spec_from_file_location("parameters", ROOT / "scripts" / "parameters.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_written_from_the_schema_is_up_to_date() -> None:
    script = _script()
    for path, text in (script.training(), script.types()):
        assert path.read_text("utf-8") == text, f"{path.name}: run `make parameters`"


def test_train_says_what_the_schema_says() -> None:
    known = TRAININGS["train"]
    signature = inspect.signature(rr.train).parameters
    assert [name for name in signature if name not in ("dataset", "y", "qid", "group")] == list(
        known
    )
    said = inspect.getdoc(rr.train) or ""
    for name, one in known.items():
        assert signature[name].default == one.default, name
        assert re.search(rf"^{name} : ", said, re.MULTILINE), f"{name} is not documented"
    names = re.findall(r"^(\w+) : ", said, re.MULTILINE)
    assert sorted(names) == sorted({"dataset", *known}), "each parameter once"


def test_a_method_says_what_the_schema_says() -> None:
    signature = inspect.signature(rr.Booster.refit).parameters
    for name, one in TRAININGS["refit"].items():
        # Where no learning rate is given, the booster's is taken.
        if name in signature and name != "learning_rate":
            assert signature[name].default == one.default, name


@pytest.mark.parametrize("kind", TREES + OTHERS)
def test_options_of_an_estimator_are_of_the_schema(kind: type[Ranker]) -> None:
    known = TRAININGS[kind._training]
    own = {"categorical", "max_bins", "missing", "ordinal", "query_ranks", "validation_fraction"}
    signature = inspect.signature(kind).parameters
    assert kind().get_params().keys() == signature.keys()
    for name, parameter in signature.items():
        one = known.get(kind._renamed.get(name, name))
        assert one is not None or name in own, name
        if one is not None and not (name == "objective" and kind is rr.MART):
            assert parameter.default == one.default, name
        value = getattr(kind(), name)
        assert value == parameter.default or math.isnan(value)


def test_options_of_the_command_are_of_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    from rustrank.cli import main

    assert main(["help", "train"]) == 0
    # A line may end after a hyphen.
    said = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    elsewhere = {"callbacks", "num_threads", "preferences"}
    for name, one in TRAININGS["train"].items():
        if name not in elsewhere:
            assert f"--{name.replace('_', '-')}" in said, name
        if one.choices and name not in elsewhere:
            assert ", ".join(one.choices) in said, name
    assert "The most leaves of a tree; from 2 to 65536 (31)" in said


def test_the_reference_has_every_parameter() -> None:
    page = _script().page()
    for known in TRAININGS.values():
        for name, one in known.items():
            assert f"| `{name}` |" in page, name
            assert one.doc in page.replace("\\|", "|"), name


def test_presets_are_of_parameters() -> None:
    for name, values in PRESETS.items():
        assert values or name in ("auto", "plain"), name
        options = checked("train", values)
        assert all(options[key] == value for key, value in values.items())


def test_checked_values_are_of_their_kinds() -> None:
    given = {
        "num_trees": np.int64(7),
        "learning_rate": np.float32(0.5),
        "l2": 1,
        "augment": "0.7x5",
        "gain": np.array([0, 1, 3]),
        "metric": [min],
    }
    options = checked("train", given)
    assert (options["num_trees"], options["learning_rate"], options["l2"]) == (7, 0.5, 1.0)
    assert type(options["num_trees"]) is int
    assert type(options["l2"]) is float
    assert (options["augment"], options["gain"]) == ([0.7, 5], [0.0, 1.0, 3.0])
    assert options["metric"] == [min]
    assert checked("train", options) == options
    assert checked("train", {}) == {name: one.default for name, one in TRAININGS["train"].items()}


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (
            {"num_leaves": 3.0},
            TypeError,
            "num_leaves: got 3.0, expected a whole number from 2 to 65",
        ),
        ({"num_leaves": True}, TypeError, "num_leaves: got True, expected a whole number"),
        ({"num_leaves": 1 << 200}, ValueError, "num_leaves: got "),
        ({"l2": None}, TypeError, "l2: got None, expected a number"),
        ({"l2": object}, TypeError, "l2: got <class 'object'>, expected a number"),
        ({"l2": math.inf}, ValueError, "l2 is out of range: got inf, expected a number from 0 on"),
        ({"step": "long"}, KeyError, 'step is not known: got "long", expected "newton" or "exact"'),
        ({"step": 1}, TypeError, "step: got 1, expected a name"),
        (
            {"seed": -1},
            ValueError,
            "seed: got -1, expected a whole number from 0 to 1844674407370955",
        ),
        ({"augment": (0.7,)}, TypeError, "augment: got [0.7], expected (fraction, copies)"),
        ({"resume": 1}, TypeError, "resume: got 1, expected True or False"),
        ({"deadline": 0}, ValueError, "deadline is out of range: got 0, expected a number above 0"),
    ],
)
def test_values_that_cannot_be_are_named(
    given: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(rr.ParamError) as caught:
        rr.train(rr.Dataset(X, y, qid=qid), **given)
    assert isinstance(caught.value, kind)
    assert said in str(caught.value)
    assert caught.value.code == next(iter(given))


def test_what_is_given_wins_over_a_preset_even_where_it_is_the_default() -> None:
    train = rr.Dataset(X, y, qid=qid)
    assert rr.train(train, preset="wu2008", num_trees=100, num_leaves=2).num_trees == 100
    said = rr.train(
        train, preset="robust", learning_rate=0.1, num_leaves=31, max_depth=None, num_trees=2
    ).params
    assert (said["learning_rate"], said["num_leaves"], said["max_depth"]) == ("0.1", "31", "none")
    assert said["features_per_node"] == "0.7"
    plain = rr.train(train, preset="wu2008", num_trees=2, pairs_to=30, noise_scale=None).params
    assert (plain["pairs_to"], plain["noise_scale"]) == ("30", "1")


def test_an_estimator_keeps_what_it_was_given_under_a_preset() -> None:
    ranker = rr.LambdaMART(
        preset="robust", learning_rate=0.1, num_leaves=31, features_per_node=1.0, n_estimators=2
    )
    said = ranker.fit(X, y, qid=qid).booster_.params
    assert (said["learning_rate"], said["num_leaves"]) == ("0.1", "31")
    assert (said["features_per_node"], said["rows_per_node"]) == ("1", "0.7")
    hundred = rr.LambdaMART(preset="wu2008", n_estimators=100, num_leaves=2).fit(X, y, qid=qid)
    assert hundred.booster_.num_trees == 100


def test_an_estimator_shows_what_it_will_train_with() -> None:
    ranker: Any = rr.LambdaMART(preset="robust", learning_rate=0.1)
    assert repr(ranker) == "LambdaMART(learning_rate=0.1, preset='robust')"
    assert (ranker.learning_rate, ranker.num_leaves, ranker.max_depth) == (0.1, 15, 5)
    assert (ranker.get_params()["num_leaves"], ranker.n_estimators) == (15, 100)
    again: Any = rr.LambdaMART(**ranker.get_params())
    assert again.get_params() == ranker.get_params() or math.isnan(again.missing)
    ranker.set_params(preset="wu2008")
    assert (ranker.learning_rate, ranker.num_leaves, ranker.n_estimators) == (0.1, 20, 500)
    ranker.set_params(num_leaves=31, preset=None)
    assert (ranker.num_leaves, ranker.max_depth) == (31, None)
    ranker.num_leaves = 7
    assert ranker.get_params()["num_leaves"] == 7
    kind: Any = rr.LambdaMART
    assert kind.num_leaves == 31


def test_a_clone_is_given_what_its_original_was() -> None:
    base = pytest.importorskip("sklearn.base")
    ranker: Any = rr.LambdaMART(preset="robust", learning_rate=0.1, metric=["err", "map"])
    copy = base.clone(ranker)
    assert repr(copy) == repr(ranker)
    assert copy.set_params(preset="wu2008").get_params()["n_estimators"] == 500
    assert copy.learning_rate == 0.1
    assert ranker.num_leaves == 15
    assert copy.metric is not ranker.metric
    net = base.clone(rr.RankNet(hidden=(3,)))
    assert (repr(net), net.pairs_to, net.relevant_from) == ("RankNet(hidden=(3,))", "auto", 1.0)


def test_a_search_can_try_presets() -> None:
    search = pytest.importorskip("sklearn.model_selection")
    frame = pd.DataFrame(X).assign(qid=qid)
    found = search.GridSearchCV(
        rr.LambdaMART(n_estimators=2),
        {"preset": [None, "robust"]},
        cv=2,
        scoring=lambda ranker, *_: float(ranker.booster_.params["num_leaves"]),
        refit=False,
    ).fit(frame, y)
    assert found.cv_results_["mean_test_score"].tolist() == [31.0, 15.0]
    ours = rr.tune(
        rr.LambdaMART(n_estimators=2, num_leaves=4),
        RAW,
        {"preset": ["robust", "noisy"]},
        method="grid",
        folds=2,
    )
    assert ours.ranker.num_leaves == 4


def test_old_notes_of_models_stay_as_they_are() -> None:
    booster = rr.train(rr.Dataset(X, y, qid=qid), num_trees=1)
    noted = booster.params
    assert (noted["learning_rate"], noted["l2"], noted["max_depth"]) == ("0.1", "0", "none")
    assert not {"num_trees", "category_smooth", "monotone"} & noted.keys()
    other = rr.train(rr.Dataset(X, y, qid=qid), num_trees=1, category_smooth=3)
    assert other.params["category_smooth"] == "3"
