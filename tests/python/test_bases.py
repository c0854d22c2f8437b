"""Training from a base: any booster, which travels inside the result; LambdaBoost; presets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

DATA = rr.datasets.make_polynomial(60, 20, seed=1)
HELD = rr.datasets.make_polynomial(20, 20, seed=1, first_query=60)
OTHER = rr.datasets.make_polynomial(40, 20, seed=3)
# LightGBM's file format, which no bins of ours were made from.
LIGHTGBM = """tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=49
objective=lambdarank
feature_names={names}
feature_infos={infos}
tree_sizes=400

Tree=0
num_leaves=2
num_cat=0
split_feature=3
split_gain=1
threshold=0.12345678
decision_type=2
left_child=-1
right_child=-2
leaf_value=-0.5 0.75
leaf_weight=10 20
leaf_count=10 20
internal_value=0
internal_weight=30
internal_count=30
is_linear=0
shrinkage=1


end of trees
"""


def _bases(tmp_path: Path) -> dict[str, rr.Booster]:
    there = rr.Dataset(OTHER.X, OTHER.y, qid=OTHER.qid)
    small = {"num_trees": 4, "num_leaves": 6}
    file = tmp_path / "lightgbm.txt"
    names = " ".join(f"f{at}" for at in range(50))
    file.write_text(LIGHTGBM.format(names=names, infos=" ".join(["[-1:1]"] * 50)))
    trees = rr.train(there, **small)  # type: ignore[arg-type]
    classes = rr.train(there, objective="mcrank", **small)  # type: ignore[arg-type]
    linear = rr.LambdaBoost(n_estimators=5).fit(OTHER.X, OTHER.y, qid=OTHER.qid).booster
    net = rr.LambdaRank(hidden=(4,), epochs=1).fit(OTHER.X, OTHER.y, qid=OTHER.qid)
    return {
        "trees of other bins": trees,
        "lightgbm": rr.Booster.load(file),
        "mcrank": classes,
        "linear": linear,
        "net": net.booster,
        "boosted twice": rr.LambdaBoost(n_estimators=3, base=classes)
        .fit(OTHER.X, OTHER.y, qid=OTHER.qid)
        .booster,
    }


def test_any_base_travels_inside_and_scores_to_the_same_bits(tmp_path: Path) -> None:
    for name, base in _bases(tmp_path).items():
        train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base=base)
        held = rr.Dataset(HELD.X, HELD.y, qid=HELD.qid, like=train)
        smart = rr.train(train, num_trees=5, num_leaves=6, valid=held)
        assert smart.num_rounds == base.num_rounds + 5, name
        assert (
            smart.truncate(base.num_rounds).predict(HELD.X).tolist()
            == base.predict(HELD.X).tolist()
        )
        smart.save(tmp_path / "smart.rrk")
        back = rr.Booster.load(tmp_path / "smart.rrk")
        scores = smart.predict(HELD.X)
        assert (back.predict(HELD.X) == scores).all()
        assert (back.predict(held) == scores).all()
        measured = float(smart.evaluate(held)["ndcg@10"])
        assert measured == smart.history["valid"]["ndcg@10"][-1]
        assert measured == float(rr.evaluate(scores, HELD.y, qid=HELD.qid)["ndcg@10"])
        # Ten rounds and ten more.
        more = rr.train(train, num_trees=5, num_leaves=6)
        assert more == smart.truncate(smart.num_rounds)


def test_a_base_in_batches_and_with_its_scores_is_the_same(tmp_path: Path) -> None:
    base = _bases(tmp_path)["mcrank"]
    train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base=base)
    parts = [(DATA.X[at::2], DATA.y[at::2], DATA.qid[at::2]) for at in range(2)]
    batched = rr.Dataset.from_batches(parts, base=base)
    expected = rr.train(train, num_trees=3)
    assert rr.train(batched, num_trees=3) == expected
    scored = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base_score=base.predict(DATA.X))
    assert rr.train(scored, num_trees=3, base=base) == expected
    assert rr.train(train, num_trees=3, base=base) == expected


def _text(folder: Path, num_features: int = 50, name: str = "docs.txt") -> rr.datasets.Ranking:
    """Write docs with missing and with absent values as text, and return them as arrays."""
    X = DATA.X[:, :num_features].astype(np.float32)
    X[::7, 2], X[::5, 3], X[::3, 5:9], X[:, -1] = np.nan, -999.9, 0, 0
    lines = [
        f"{label:g} qid:{query} " + " ".join(f"{at}:{x}" for at, x in enumerate(row, 1) if x != 0)
        for row, label, query in zip(X, DATA.y, DATA.qid, strict=True)
    ]
    (folder / name).write_text("\n".join(lines) + "\n")
    return rr.datasets.Ranking(X, DATA.y, DATA.qid, DATA.feature_names)


def _of_queries() -> dict[str, rr.Booster]:
    """Return boosters whose scores depend on the other documents of the query."""
    ranked = rr.Dataset(OTHER.X, OTHER.y, qid=OTHER.qid, query_ranks=True)
    ranks = rr.train(ranked, num_trees=3, num_leaves=6)
    plain = rr.Dataset(OTHER.X, OTHER.y, qid=OTHER.qid)
    trees = rr.train(plain, num_trees=3, num_leaves=6)
    return {"ranks": ranks, "mixed within queries": rr.mix([trees], normalise="query")}


@pytest.mark.filterwarnings("ignore:.* are not used")
@pytest.mark.parametrize("missing", [np.nan, 0.0, -999.9])
def test_text_is_scored_by_a_base_as_arrays_are(tmp_path: Path, missing: float) -> None:
    docs = _text(tmp_path)
    path = tmp_path / "docs.txt"
    scored = np.where(np.equal(docs.X, np.float32(missing)), np.nan, docs.X)
    for name, base in {**_bases(tmp_path), **_of_queries()}.items():
        how: dict[str, Any] = {"missing": missing, "query_ranks": base.query_ranks}
        expected = rr.Dataset(docs.X, docs.y, qid=docs.qid, base=base, **how)
        scores = base.predict(scored, qid=docs.qid)
        assert (base.predict(docs.X, qid=docs.qid, missing=missing) == scores).all()
        booster = rr.train(expected, num_trees=2, num_leaves=4)
        for buffer_bytes, num_threads in ((None, None), (None, 1), (0, None), (9000, 1)):
            dataset = rr.Dataset.from_letor(
                path, base=base, buffer_bytes=buffer_bytes, num_threads=num_threads, **how
            )
            assert dataset.fingerprint == expected.fingerprint, (name, buffer_bytes)
            assert (base.predict(dataset) == scores).all(), (name, buffer_bytes)
            assert rr.train(dataset, num_trees=2, num_leaves=4) == booster
        # The base of the training set, in one pass over the text.
        again = rr.Dataset.from_letor(path, like=dataset, missing=missing)
        assert again.fingerprint == expected.fingerprint, name
        assert (base.predict(again) == scores).all(), name
        assert rr.train(dataset, valid=again, num_trees=1).num_rounds == base.num_rounds + 1


@pytest.mark.filterwarnings("ignore:.* are not used")
def test_text_with_fewer_features_than_its_base_has_zeros(tmp_path: Path) -> None:
    docs, path = _text(tmp_path, 30), tmp_path / "docs.txt"
    padded = np.pad(docs.X, ((0, 0), (0, 20)))
    for name, base in _bases(tmp_path).items():
        expected = rr.Dataset(padded, docs.y, qid=docs.qid, base=base)
        for buffer_bytes in (None, 0):
            dataset = rr.Dataset.from_letor(path, base=base, buffer_bytes=buffer_bytes)
            assert dataset.fingerprint == expected.fingerprint, name
    narrow = rr.LambdaRank(epochs=1).fit(OTHER.X[:, :7], OTHER.y, qid=OTHER.qid).booster
    for buffer_bytes in (None, 0):
        with pytest.raises(rr.DataError, match="the base has another number of features: got 7"):
            rr.Dataset.from_letor(path, base=narrow, buffer_bytes=buffer_bytes)
    with pytest.raises(rr.DataError, match="the base has another number of features: got 7"):
        rr.Dataset.from_letor(path, base=narrow, like=dataset)
    with pytest.raises(TypeError, match="base: got 3, expected a Booster"):
        rr.Dataset.from_letor(path, base=3)  # type: ignore[arg-type]


def test_a_base_of_texts_cannot_score_letor_text(tmp_path: Path) -> None:
    docs = _text(tmp_path)
    words = {"word": [["a", "b"][row % 2] for row in range(len(docs.y))], "x": docs.X[:, 0]}
    base = rr.train(rr.Dataset(words, docs.y, qid=docs.qid, categorical=["word"]), num_trees=1)
    with pytest.raises(rr.ParamError, match="base: it has texts"):
        rr.Dataset.from_letor(tmp_path / "docs.txt", base=base)


def test_bases_that_do_not_fit_are_told(tmp_path: Path) -> None:
    bases = _bases(tmp_path)
    plain = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
    with pytest.raises(rr.DataError, match="make every Dataset with base="):
        rr.train(plain, base=bases["lightgbm"])
    narrow = rr.datasets.make_polynomial(20, 20, 7, seed=1)
    with pytest.raises(rr.DataError, match="another number of features"):
        rr.Dataset(narrow.X, narrow.y, qid=narrow.qid, base=bases["linear"])
    small = rr.Dataset(narrow.X, narrow.y, qid=narrow.qid)
    with pytest.raises(rr.DataError, match="the base has another number of features"):
        rr.train(small, base=bases["linear"])
    train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base=bases["linear"])
    held = rr.Dataset(HELD.X, HELD.y, qid=HELD.qid, like=plain)
    with pytest.raises(rr.ParamError, match="base: valid was made with no base"):
        rr.train(train, valid=held)
    with pytest.raises(rr.ParamError, match="base: the training set was made with another base"):
        rr.train(train, base=bases["mcrank"])
    with pytest.raises(rr.ParamError, match="expected one of them"):
        rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base=bases["linear"], base_score=DATA.y)
    with pytest.raises(rr.DataError, match="the trees of another base"):
        bases["linear"].predict(train.__class__(HELD.X, HELD.y, qid=HELD.qid, base=bases["mcrank"]))
    with pytest.raises(rr.DataError, match="classes have no base scores"):
        rr.train(train, objective="mcrank")


def test_one_query_and_one_feature_are_enough() -> None:
    one = rr.Dataset(DATA.X[:20], DATA.y[:20], group=[20])
    booster = rr.train(one, num_trees=2, num_leaves=3, min_leaf_docs=3)
    smart = rr.train(
        rr.Dataset(DATA.X[:20], DATA.y[:20], group=[20], base=booster),
        num_trees=2,
        num_leaves=3,
        min_leaf_docs=3,
        preset="robust",
    )
    assert smart.num_trees == 4
    ranker = rr.LambdaBoost(n_estimators=3).fit(DATA.X[:20, :1], DATA.y[:20], group=[20])
    assert {feature for feature, _ in ranker.path} == {0}


def test_lambdaboost_selects_features_and_keeps_the_best_round() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30)).astype(np.float32)
    y = np.clip(np.round(X[:, 4] - 0.5 * X[:, 11] + 1), 0, 4)
    qid = np.repeat(np.arange(100), 20)
    fitted = rr.LambdaBoost(n_estimators=200, early_stopping=60)
    fitted.fit(X[:1000], y[:1000], qid=qid[:1000], eval_set=(X[1000:], y[1000:], qid[1000:]))
    assert fitted.path[0][0] == 4
    assert fitted.path[1][0] in (4, 11)
    heaviest = np.argsort(-np.abs(fitted.coefficients))[:2]
    assert heaviest.tolist() == [4, 11]
    values = fitted.history["valid"]["ndcg@10"]
    assert fitted.best_round == int(np.argmax(values)) + 1
    assert len(values) == len(fitted.path)
    assert fitted.booster.path == fitted.path[: fitted.best_round]
    np.testing.assert_allclose(fitted.predict(X), X @ fitted.coefficients, rtol=0, atol=1e-5)
    value = rr.evaluate(fitted.predict(X[1000:]), y[1000:], qid=qid[1000:])["ndcg@10"]
    assert float(value) == values.max()
    assert repr(fitted) == "LambdaBoost(n_estimators=200, early_stopping=60)"
    again = rr.LambdaBoost(**fitted.get_params()).fit(X[::-1], y[::-1], qid=qid[::-1])
    other = rr.LambdaBoost(**fitted.get_params()).fit(X, y, qid=qid)
    assert again.booster == other.booster


def test_lambdaboost_tells_what_it_cannot_use() -> None:
    with pytest.raises(rr.RustrankError, match="not fitted"):
        _ = rr.LambdaBoost().booster
    dataset = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
    with pytest.raises(rr.ParamError, match="learn from values"):
        rr.LambdaBoost().fit(dataset, DATA.y)
    with pytest.raises(rr.ParamError, match="classes have a gradient each"):
        rr.LambdaBoost(objective="mcrank").fit(DATA.X, DATA.y, qid=DATA.qid)
    with pytest.raises(rr.ParamError, match="eval_set has 'Z'"):
        rr.LambdaBoost().fit(DATA.X, DATA.y, qid=DATA.qid, eval_set={"Z": 1})
    with pytest.raises(rr.DataError, match="no pairs to learn from"):
        rr.LambdaBoost().fit(DATA.X, np.ones(len(DATA.y)), qid=DATA.qid)


def test_presets_give_way_to_what_is_said() -> None:
    train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
    robust = rr.train(train, preset="robust", num_trees=2, num_leaves=4)
    assert robust.params["num_leaves"] == "4"
    assert robust.params["rows_per_node"] == robust.params["features_per_node"] == "0.7"
    assert robust.params["learning_rate"] == "0.05"
    paper = rr.train(train, preset="wu2008", num_trees=2)
    assert paper.params["criterion"] == "least_squares"
    assert (paper.params["pair_normaliser"], paper.params["noise_scale"]) == ("none", "0")
    assert paper.params["pairs_to"] == "none"
    noisy = rr.train(train, preset="noisy", num_trees=2)
    assert noisy.params["tree_shape"] == "symmetric"
    assert (noisy.params["random_strength"], noisy.params["pair_normaliser"]) == ("1", "none")
    with pytest.raises(rr.ParamError, match="expected one of auto, plain, robust, noisy"):
        rr.train(train, preset="fast")


def test_a_model_of_another_library_is_gone_on_from_as_the_errors_say(tmp_path: Path) -> None:
    made = rr.datasets.make_polynomial(40, seed=0)
    X, y, qid = made.X, made.y, made.qid
    path = tmp_path / "lgb.txt"
    rr.train(rr.Dataset(X, y, qid=qid), num_trees=5).export("lightgbm", path)
    base = rr.Booster.load(path)
    plain = rr.Dataset(X, y, qid=qid)
    # Each error names a way that works, and none of them leads to another error.
    with pytest.raises(rr.DataError, match=r"make every Dataset with base="):
        rr.train(plain, base=base, num_trees=2)
    for refused in (
        lambda: rr.Dataset(X, y, qid=qid, like=base),
        lambda: base.evaluate(plain),
        lambda: base.predict(plain),
    ):
        with pytest.raises(
            rr.DataError, match=r"score the raw features, predict\(X, qid"
        ) as caught:
            refused()
        assert "base=" in str(caught.value)
        assert "make the Dataset with base=, the model" in str(caught.value)
        assert "like=" not in str(caught.value)
    based = rr.Dataset(X, y, qid=qid, base=base)
    assert np.array_equal(base.predict(based), base.predict(X))
    with pytest.raises(rr.DataError, match="make the Dataset with base= and train"):
        base.refit(plain)
    with pytest.raises(rr.DataError, match=r"combine it with others instead \(Combiner\)"):
        base.reweigh(plain)
    docs = rr.Dataset(X, y, qid=qid, base=base)
    grown = rr.train(docs, num_trees=2, valid=rr.Dataset(X, y, qid=qid, base=base, like=docs))
    assert grown.num_trees == 7
    assert rr.evaluate(base.predict(X), y, qid=qid)["ndcg@10"] > 0
    combined = rr.Combiner().fit({"base": base, "grown": grown}, y, X=X, qid=qid)
    assert combined.booster.num_features == X.shape[1]
    adapted = rr.adapt(base, (X, y, qid), valid_closed=(X, y, qid), trees={"num_trees": 3})
    assert {"trees", "interpolate", "features"} <= set(adapted.boosters)
    assert "like=" not in "".join(adapted.skipped.values())


def test_batches_with_base_scores_take_no_base_besides() -> None:
    base = rr.train(rr.Dataset(DATA.X, DATA.y, qid=DATA.qid), num_trees=2)
    scores = np.arange(len(DATA.y)) / 8
    batch: dict[str, Any] = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid, "base_score": scores}
    with pytest.raises(rr.ParamError, match="base and base_score: expected one of them"):
        rr.Dataset.from_batches([batch], base=base)
    # The base of `like` is the default, and scores that are given win over it, as in a Dataset.
    like = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, base=base)
    made = rr.Dataset.from_batches([batch], like=like)
    whole = rr.Dataset(**batch, like=like)
    assert made.fingerprint == whole.fingerprint
