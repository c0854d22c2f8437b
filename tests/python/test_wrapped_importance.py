"""The importance of features in models that hold others: calibrated ones, mixtures, stacks, and those with a net."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.compat import lightgbm as lgb
from rustrank.compat import xgboost as xgb

if TYPE_CHECKING:
    from pathlib import Path

DATA = rr.datasets.make_polynomial(60, 20, seed=1, num_features=6)
TRAIN = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
MODEL = rr.train(TRAIN, num_trees=10, num_leaves=8)
OTHER = rr.train(
    rr.Dataset(DATA.X[:, ::-1].copy(), DATA.y, qid=DATA.qid), num_trees=10, num_leaves=8
)


def _by_hand(booster: rr.Booster, feature: int, times: int = 30) -> float:
    """The mean loss in NDCG@10 where the values of a feature are shuffled."""
    random = np.random.default_rng(feature)

    def value(X: np.ndarray) -> float:
        return float(rr.evaluate(booster.predict(X), DATA.y, qid=DATA.qid)["ndcg@10"])

    shuffled = []
    for _ in range(times):
        X = DATA.X.copy()
        X[:, feature] = random.permutation(X[:, feature])
        shuffled.append(value(X))
    return value(DATA.X) - float(np.mean(shuffled))


def test_permutations_reach_the_models_inside() -> None:
    calibrated = MODEL.calibrate(DATA.X, DATA.y, qid=DATA.qid)
    mcrank = rr.train(TRAIN, num_trees=4, num_leaves=6, objective="mcrank")
    mixture = rr.mix([MODEL, calibrated], [1, 1])
    for booster in (MODEL, calibrated, mixture, mcrank):
        found = booster.feature_importance("permutation", dataset=TRAIN)
        for feature in (0, 4):
            assert found[feature] == pytest.approx(_by_hand(booster, feature), abs=0.08)
    # Equal scores but for ties, by shuffles that are the same.
    plain = MODEL.feature_importance("permutation", dataset=TRAIN)
    assert np.allclose(
        calibrated.feature_importance("permutation", dataset=TRAIN), plain, atol=0.05
    )


@pytest.mark.parametrize("kind", ["reduction", "count"])
def test_splits_inside_count(kind: str) -> None:
    plain, other = MODEL.feature_importance(kind), OTHER.feature_importance(kind)
    calibrated = MODEL.calibrate(DATA.X, DATA.y, qid=DATA.qid)
    assert np.array_equal(calibrated.feature_importance(kind), plain)
    assert np.array_equal(rr.mix([MODEL, OTHER], [1, 0]).feature_importance(kind), plain)
    for weights in ([1, 1], [0.5, 2], [1, -1]):
        found = rr.mix([MODEL, OTHER], weights).feature_importance(kind)
        factors = [1, 1] if kind == "count" else np.abs(weights)
        assert np.allclose(found, factors[0] * plain + factors[1] * other, rtol=1e-12)
    twice = rr.mix([rr.mix([MODEL, OTHER], [1, 2]), MODEL], [3, 1]).feature_importance(kind)
    factors = [2, 1] if kind == "count" else [4, 6]
    assert np.allclose(twice, factors[0] * plain + factors[1] * other, rtol=1e-12)


def test_what_splits_do_not_say_is_said() -> None:
    net = rr.RankNet(epochs=1).fit(DATA.X, DATA.y, qid=DATA.qid).booster_
    with pytest.warns(rr.RustrankWarning, match="a net is a part of the model"):
        found = rr.mix([MODEL, net], [0.1, 10]).feature_importance()
    assert np.allclose(found, 0.1 * MODEL.feature_importance())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rr.mix([MODEL, net], [1, 0]).feature_importance()
    with pytest.warns(rr.RustrankWarning, match="how scores are normalised"):
        rr.mix([MODEL, OTHER], [1, 1], normalise="query").feature_importance()
    stacking = rr.Stacking([MODEL])
    outer = rr.train(
        rr.Dataset(stacking.table(DATA.X, qid=DATA.qid), DATA.y, qid=DATA.qid), num_trees=3
    )
    for booster in (net, stacking.booster(outer)):
        with pytest.raises(rr.ParamError, match="has no trees on features"):
            booster.feature_importance()


NAMES = ["a", "b", "c", "d", "e", "f"]
RANKED = [*NAMES, *(f"rank({name})" for name in NAMES)]


def _frame() -> dict[str, np.ndarray]:
    return dict(zip(NAMES, DATA.X.T, strict=True))


def _with_and_without_ranks(*, named: bool) -> tuple[rr.Booster, rr.Booster]:
    """A model of raw features alone, and one of these and their ranks."""
    X = _frame() if named else DATA.X
    sets = (rr.Dataset(X, DATA.y, qid=DATA.qid, query_ranks=ranks) for ranks in (False, True))
    plain, ranked = (rr.train(one, num_trees=8, num_leaves=8) for one in sets)
    return plain, ranked


def _mixtures(plain: rr.Booster, ranked: rr.Booster) -> list[tuple[rr.Booster, float, float]]:
    """Mixtures of every depth, each with the weights of the two models in it."""
    inside = rr.mix([plain, ranked], [1, 2])
    X, qid = (_frame() if plain._names else DATA.X), DATA.qid
    combined = rr.Combiner().fit({"a": inside, "b": plain}, X=X, y=DATA.y, qid=qid)
    first, second = combined.weights
    return [
        (inside, 1, 2),
        (rr.mix([ranked, plain], [0.5, -3]), 3, 0.5),
        (rr.mix([inside, plain], [2, 1]), 3, 4),
        (rr.mix([ranked, inside], [1, 1]), 1, 3),
        (combined.booster, first + second, 2 * first),
        (inside.calibrate(X, DATA.y, qid=qid), 1, 2),
    ]


@pytest.mark.parametrize("named", [True, False])
def test_a_mixture_has_the_ranks_of_its_models(named: bool) -> None:
    plain, ranked = _with_and_without_ranks(named=named)
    reductions = plain.feature_importance(), ranked.feature_importance()
    counts = plain.feature_importance("count"), ranked.feature_importance("count")
    raw, with_ranks = np.pad(reductions[0], (0, 6)), reductions[1]
    for mixture, of_plain, of_ranked in _mixtures(plain, ranked):
        again = rr.Booster.from_text(mixture.to_text())
        for one in (mixture, again):
            assert one.feature_names == ranked.feature_names
            assert (one.num_features, one.num_raw_features, one.query_ranks) == (12, 6, True)
            found = one.feature_importance()
            assert np.allclose(found, of_plain * raw + of_ranked * with_ranks, rtol=1e-12)
            number = one.feature_importance("count")
            assert set(number - counts[1]) >= {0} or number.sum() > counts[1].sum()
            assert len(number) == 12
    both = rr.mix([plain, ranked]).feature_importance("count")
    assert np.array_equal(both, np.pad(counts[0], (0, 6)) + counts[1])
    assert ranked.feature_names == (
        RANKED if named else [*(f"f{i}" for i in range(6)), *(f"rank(f{i})" for i in range(6))]
    )
    assert plain.num_features == rr.mix([plain, plain]).num_features == 6


def test_a_mixture_is_explained_with_the_ranks_of_its_models() -> None:
    plain, ranked = _with_and_without_ranks(named=True)
    X, qid = DATA.X[:60], DATA.qid[:60]
    of_ranked = ranked.explain(X, qid=qid)
    of_plain = np.insert(plain.explain(X), [6] * 6, 0.0, axis=1)
    mixture = rr.mix([plain, ranked], [1, 2])
    values = mixture.explain(X, qid=qid)
    assert values == pytest.approx(of_plain + 2 * of_ranked, abs=1e-12)
    assert values.sum(axis=1) == pytest.approx(mixture.predict(X, qid=qid), abs=1e-9)
    with pytest.raises(rr.ParamError, match="ranks features within queries"):
        mixture.explain(X)
    with pytest.raises(rr.ParamError, match="no ranks within their query"):
        mixture.contrast(X[0], X[1])
    with pytest.raises(rr.ParamError, match="no other library ranks features within queries"):
        mixture.export("lightgbm")


def test_bins_of_a_mixture_of_some_that_rank_are_refused() -> None:
    plain, ranked = _with_and_without_ranks(named=True)
    mixture = rr.mix([plain, ranked])
    some = "only some of the models in it rank features within queries"
    for ranks in (False, True):
        data = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, query_ranks=ranks)
        with pytest.raises(rr.DataError, match=some):
            mixture.predict(data)
        with pytest.raises(rr.DataError, match="only some of its models rank features"):
            mixture.feature_importance("permutation", dataset=data)
    with pytest.raises(rr.DataError, match=some):
        rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, like=mixture)
    # All models rank: the bins are those of raw features and ranks.
    both = rr.mix([ranked, ranked])
    data = rr.Dataset(_frame(), DATA.y, qid=DATA.qid, like=both)
    assert len(both.feature_importance("permutation", dataset=data)) == 12


def test_what_shows_features_of_a_mixture_shows_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    plain, ranked = _with_and_without_ranks(named=True)
    mixture = rr.mix([plain, ranked], [0.1, 1])
    importance = mixture.feature_importance()
    top = RANKED[int(importance[6:].argmax()) + 6]
    used = [name for name, value in zip(RANKED, importance, strict=True) if value > 0]
    axes = rr.plot_importance(mixture)
    labels = [one.get_text() for one in axes.get_yticklabels()]
    assert sorted(labels) == sorted(used)
    facts = dict(mixture._facts())
    assert facts["features"] == f"12, {len(used)} in splits"
    assert RANKED[int(importance.argmax())] in facts["most important"]
    assert mixture.dump()["feature_names"] == RANKED
    report = rr.report({"plain": plain, "both": mixture}, DATA.y, X=_frame(), qid=DATA.qid)
    assert top in report.html
    path = tmp_path / "model.rrk"
    mixture.save(path)
    assert main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"in splits  {len(used)} of 12 features" in printed
    assert top in printed
    # Read by the names of other libraries.
    other = lgb.Booster(model_file=str(path))
    assert other.feature_name() == RANKED
    assert np.array_equal(other.feature_importance("gain"), 2 * importance)
    assert list(xgb.Booster(model_file=str(path)).get_score()) == used
    numbered = lgb.Booster(model_file=str(path))
    numbered.native._core = rr.mix(_with_and_without_ranks(named=False))._core
    assert numbered.feature_name()[5:7] == ["Column_5", "rank(Column_0)"]


def test_training_on_a_base_of_ranks_has_their_importance() -> None:
    plain, ranked = _with_and_without_ranks(named=True)
    base = rr.mix([plain, ranked])
    made = rr.train(rr.Dataset(_frame(), DATA.y, qid=DATA.qid, base=base), num_trees=3)
    own = np.zeros(12)
    for tree in made.dump()["trees"][-3:]:
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            if "feature" in node:
                own[node["feature"]] += node["reduction"]
                nodes += [node["left"], node["right"]]
    assert np.allclose(made.feature_importance(), base.feature_importance() + own)
    assert made.feature_names == RANKED
    assert made.truncate(made.num_rounds - 1).feature_names == RANKED
    wide = rr.Dataset(_frame(), DATA.y, qid=DATA.qid, query_ranks=True)
    raw = rr.Dataset(_frame(), DATA.y, qid=DATA.qid, query_ranks=False)
    for data, of, message in (
        (
            wide,
            base,
            "got ranks in some of its models, expected ranks in all; make the dataset without",
        ),
        (wide, plain, "got raw features alone, .* make the dataset without query_ranks"),
        (raw, ranked, "got ranks within queries, .* make the dataset with query_ranks"),
    ):
        with pytest.raises(rr.DataError, match=message):
            rr.train(data, base=of, num_trees=1)


@pytest.mark.parametrize("normalise", [None, "query"])
def test_an_estimator_scores_by_a_base_that_needs_queries(normalise: str | None) -> None:
    plain, ranked = _with_and_without_ranks(named=False)
    base = rr.mix([plain, ranked] if normalise is None else [plain, plain], normalise=normalise)
    ranker = rr.LambdaMART(n_estimators=2).fit(DATA.X, DATA.y, qid=DATA.qid, base=base)
    booster = ranker.booster_
    scores = booster.predict(DATA.X, qid=DATA.qid)
    assert np.array_equal(ranker.predict(DATA.X, qid=DATA.qid), scores)
    with pytest.raises(rr.DataError, match="fitted with queries"):
        ranker.predict(DATA.X)
    if normalise is None:
        assert len(ranker.feature_importances_) == booster.num_features == 12
    with pytest.raises(rr.ParamError, match=r"ranks features|depend on the other docs"):
        rr.adapt(base, (DATA.X, DATA.y, DATA.qid))


def test_shuffles_are_repeated() -> None:
    once = MODEL.feature_importance("permutation", dataset=TRAIN)
    assert np.array_equal(MODEL.feature_importance("permutation", dataset=TRAIN, repeats=1), once)
    for booster in (MODEL, MODEL.calibrate(DATA.X, DATA.y, qid=DATA.qid)):
        many = booster.feature_importance("permutation", dataset=TRAIN, repeats=30)
        again = booster.feature_importance("permutation", dataset=TRAIN, repeats=30, num_threads=1)
        assert np.array_equal(many, again)
        for feature in (0, 4):
            assert many[feature] == pytest.approx(_by_hand(booster, feature), abs=0.02)
    for wrong in (0, -1, 2.5):
        with pytest.raises((rr.ParamError, TypeError), match="repeats: got"):
            MODEL.feature_importance("permutation", dataset=TRAIN, repeats=wrong)  # type: ignore[arg-type]
