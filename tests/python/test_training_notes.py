"""What a model notes of its training: the value that counted as missing, and what labels were worth."""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MISSING = -1.0


def docs_with_gaps(seed: int, gap: float) -> tuple[Any, Any, Any]:
    """Return documents of which a third of the values is ``gap``."""
    data = rr.datasets.make_polynomial(60, seed=seed)
    is_gap = np.random.default_rng(seed).random(data.X.shape) < 0.3
    return np.where(is_gap, gap, data.X), data.y, data.qid


def copied(booster: rr.Booster) -> rr.Booster:
    copy: rr.Booster = pickle.loads(pickle.dumps(booster))  # noqa: S301 - made here
    return copy


def dataset(seed: int, gap: float, **options: Any) -> rr.Dataset:
    X, y, qid = docs_with_gaps(seed, gap)
    return rr.Dataset(X, y, qid=qid, **options)


@pytest.fixture(scope="module")
def with_value() -> rr.Booster:
    return rr.train(dataset(0, MISSING, missing=MISSING), num_trees=10)


@pytest.fixture(scope="module")
def with_nan() -> rr.Booster:
    """The same model, trained on NaN in place of the value."""
    return rr.train(dataset(0, np.nan), num_trees=10)


def test_a_model_reads_the_value_as_missing_that_was_so_in_training(
    with_value: rr.Booster, with_nan: rr.Booster, tmp_path: Path
) -> None:
    (X, y, qid), expected = (
        docs_with_gaps(1, MISSING),
        with_nan.predict(docs_with_gaps(1, np.nan)[0]),
    )
    with_value.save(tmp_path / "model.txt")
    read = rr.Booster.load(tmp_path / "model.txt"), copied(with_value)
    for booster in (with_value, *read):
        assert np.array_equal(booster.predict(X), expected)
        for like in (dataset(0, MISSING, missing=MISSING), booster):
            assert np.array_equal(booster.predict(rr.Dataset(X, y, qid=qid, like=like)), expected)
        assert rr.evaluate(booster, y, X=X, qid=qid) == rr.evaluate(expected, y, qid=qid)
    # What is given wins.
    assert not np.array_equal(with_value.predict(X, missing=np.nan), expected)
    assert np.array_equal(with_nan.predict(X, missing=MISSING), expected)


CHANGES: dict[str, Callable[[rr.Booster, rr.Dataset], rr.Booster]] = {
    "truncate": lambda booster, _: booster.truncate(5),
    "refit": lambda booster, data: booster.refit(data),
    "reweigh": lambda booster, data: booster.reweigh(data),
    "calibrate": lambda booster, data: booster.calibrate(data),
    "mix": lambda booster, _: rr.mix([booster, booster.truncate(5)]),
    "train on": lambda booster, data: rr.train(data, num_trees=5, base=booster),
}


@pytest.mark.parametrize("change", CHANGES)
def test_models_made_of_it_do_too(
    change: str, with_value: rr.Booster, with_nan: rr.Booster
) -> None:
    made = [
        CHANGES[change](booster, dataset(2, gap, like=booster))
        for booster, gap in ((with_value, MISSING), (with_nan, np.nan))
    ]
    scores = [
        one.predict(docs_with_gaps(1, gap)[0])
        for one, gap in zip(made, (MISSING, np.nan), strict=True)
    ]
    assert np.array_equal(scores[0], scores[1])


def test_explanations_read_it_as_missing(with_value: rr.Booster, with_nan: rr.Booster) -> None:
    of_value, of_nan = (docs_with_gaps(1, gap)[0][:20] for gap in (MISSING, np.nan))
    assert np.array_equal(with_value.explain(of_value), with_nan.explain(of_nan))
    pairs = [
        booster.contrast(X[0], X[1]) for booster, X in ((with_value, of_value), (with_nan, of_nan))
    ]
    assert np.array_equal(pairs[0], pairs[1])


def test_the_default_call_and_auto_note_it() -> None:
    data, (X, _, qid) = dataset(0, MISSING, missing=MISSING), docs_with_gaps(1, MISSING)
    of_nan = docs_with_gaps(1, np.nan)[0]
    for booster in (
        rr.train(data, progress=False),
        rr.auto(data, time_limit=1, max_members=2, folds=2, progress=False).booster,
    ):
        assert np.array_equal(booster.predict(X, qid=qid), booster.predict(of_nan, qid=qid))


def test_mixing_models_that_differ_in_it_warns(
    with_value: rr.Booster, with_nan: rr.Booster
) -> None:
    with pytest.warns(
        rr.RustrankWarning, match=r"different values as missing, besides NaN \(-1\.0, nan\)"
    ):
        rr.mix([with_value, with_nan])


def test_exporting_warns_that_the_format_cannot_say_it(with_value: rr.Booster) -> None:
    with pytest.warns(rr.RustrankWarning, match="reads -1 as missing, which the format cannot say"):
        with_value.export("lightgbm")


def linear(**options: Any) -> tuple[rr.Booster, rr.Dataset]:
    data = dataset(0, np.nan)
    return rr.train(data, num_trees=3, valid=data, **options), data


@pytest.mark.parametrize(
    ("options", "metric", "others"),
    [
        ({"gain": "linear"}, "ndcg@10", ["map"]),
        ({"gain": [0, 1, 2, 3, 4]}, "err", ["mrr"]),
        ({"relevant_from": 2}, "map", ["ndcg@10", "err"]),
        ({"max_label": 9}, "err@10", ["ndcg@10"]),
    ],
)
def test_other_labels_than_in_training_are_warned_of(
    options: dict[str, Any], metric: str, others: list[str]
) -> None:
    booster, data = linear(**options, metric=metric)
    X, y, qid = docs_with_gaps(0, np.nan)
    (name,) = options
    calls: list[Callable[..., Any]] = [
        lambda **how: booster.evaluate(data, **how),
        lambda **how: rr.evaluate(booster, y, X=X, qid=qid, **how),
        lambda **how: rr.compare(
            booster, booster.truncate(1), y, X=X, qid=qid, resamples=10, **how
        ),
        lambda **how: rr.report({"model": booster}, y=y, X=X, qid=qid, resamples=10, **how),
    ]
    for call in calls:
        with pytest.warns(rr.RustrankWarning, match=f"trained with {name}=.* pass {name}="):
            call(metrics=[metric])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(metrics=[metric], **options)
            call(metrics=others)
    assert booster.evaluate(data, metric, **options)[metric] == pytest.approx(
        booster.history["valid"][metric][-1], abs=1e-12
    )


def test_cross_validation_warns_of_it() -> None:
    X, y, qid = docs_with_gaps(0, np.nan)
    ranker = rr.LambdaMART(n_estimators=2, gain="linear")
    with pytest.warns(rr.RustrankWarning, match="trained with gain='linear'"):
        rr.cross_validate(ranker, X, y, qid=qid, folds=2)


@pytest.mark.parametrize(
    ("options", "largest", "metric"),
    [
        ({"gain": [0, 1, 3]}, 2, "ndcg@10"),
        ({"gain": [0, 1, 3, 8]}, 2, "err@10"),
        ({"gain": "linear"}, 1, "ndcg@10"),
        ({"relevant_from": 0.5}, 2, "map"),
        ({"max_label": 2}, 2, "err"),
    ],
)
def test_options_that_mean_the_same_for_all_labels_are_no_reason_to_warn(
    options: dict[str, Any], largest: int, metric: str
) -> None:
    X, y, qid = docs_with_gaps(0, np.nan)
    y = np.minimum(y, largest)
    booster = rr.train(rr.Dataset(X, y, qid=qid), num_trees=2, **options)
    ranker = rr.LambdaMART(n_estimators=2, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        booster.evaluate(rr.Dataset(X, y, qid=qid, like=booster), metric)
        rr.evaluate(booster, y, X=X, qid=qid, metrics=metric)
        rr.compare(booster, np.arange(len(y)), y, X=X, qid=qid, metrics=metric, resamples=10)
        rr.report({"model": booster}, y, X=X, qid=qid, metrics=metric, resamples=10)
        rr.cross_validate(ranker, X, y, qid=qid, folds=2, metrics=metric)
    # With a larger label, the values differ.
    y = np.where(np.arange(len(y)) == 0, 3 if largest == 2 else 2, y)
    if "relevant_from" not in options and options != {"gain": [0, 1, 3, 8]}:
        with pytest.warns(rr.RustrankWarning, match="trained with"):
            rr.evaluate(booster, y, X=X, qid=qid, metrics=metric)
