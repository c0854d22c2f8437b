"""Moving a ranker to another market: data for it, refitted leaves, neighbours, all recipes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.adaptation.neighbours import label_entropy
from rustrank.data.raw_rows import as_raw_rows
from rustrank.datasets import Domains, Ranking, make_domains
from rustrank.parameters.schema import TRAININGS

TREES = {"num_trees": 20, "num_leaves": 6}


@pytest.fixture(scope="module")
def markets() -> Domains:
    return make_domains(150, 30, 40, 40, docs_per_query=20, seed=2)


@pytest.fixture(scope="module")
def base(markets: Domains) -> rr.Booster:
    there = markets.background
    train = rr.Dataset(there.X, there.y, qid=there.qid, feature_names=there.feature_names)
    return rr.train(train, num_trees=40, num_leaves=8)


def value(booster: rr.Booster, docs: Ranking) -> float:
    return float(rr.evaluate(booster.predict(docs.X), docs.y, qid=docs.qid)["ndcg@10"])


def same(a: Ranking, b: Ranking) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


# Data.


def test_domains_have_the_promised_layout(markets: Domains) -> None:
    sets = vars(markets)
    for name, docs in sets.items():
        assert [str(array.dtype) for array in docs] == ["float32", "float32", "int64"], name
        assert docs.X.shape[1] == len(docs.feature_names) == 40
        shares = np.bincount(docs.y.astype(int), minlength=5) / len(docs.y)
        np.testing.assert_allclose(shares, [0.52, 0.28, 0.13, 0.05, 0.02], atol=0.07)
    queries = np.concatenate([np.unique(docs.qid) for docs in sets.values()])
    assert len(np.unique(queries)) == len(queries), "no query is in two sets"
    assert len(markets.background.group) == 150


def test_a_query_does_not_depend_on_how_many_there_are() -> None:
    few, many = make_domains(3, 3, 3, 3, seed=5), make_domains(90, 70, 80, 60, seed=5)
    for name, docs in vars(few).items():
        more = getattr(many, name)
        rows = np.isin(more.qid, docs.qid)
        assert same(docs, Ranking(more.X[rows], more.y[rows], more.qid[rows], ())), name


def test_shift_drift_and_background_do_what_they_say() -> None:
    def differing(a: Domains, b: Domains) -> set[str]:
        return {name for name, docs in vars(a).items() if not same(docs, getattr(b, name))}

    sizes = (5, 5, 5, 5)
    plain = make_domains(*sizes)
    assert differing(plain, make_domains(*sizes)) == set()
    assert differing(plain, make_domains(*sizes, background=1)) == {"background"}
    assert differing(plain, make_domains(*sizes, drift=0.1)) == {"valid_open", "test_open"}
    assert differing(plain, make_domains(*sizes, seed=1)) == set(vars(plain))


def test_a_background_without_shift_serves_the_target() -> None:
    def gap(shift: float) -> float:
        sets = make_domains(300, 1, 1, 200, docs_per_query=20, seed=4, shift=shift)
        there = sets.background
        booster = rr.train(rr.Dataset(there.X, there.y, qid=there.qid), num_trees=60, num_leaves=8)
        return value(booster, sets.test_closed)

    assert gap(0.0) > gap(0.9) + 0.1


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"shift": 1.5}, "shift: got 1.5"),
        ({"drift": -0.1}, "drift"),
        ({"noise": float("nan")}, "noise"),
        ({"num_target": 0}, "num_target"),
        ({"background": -1}, "background"),
    ],
)
def test_domains_that_cannot_be_are_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(rr.ParamError, match=said):
        make_domains(**how)


def test_text_comes_back_as_values(markets: Domains, tmp_path: Path) -> None:
    docs = markets.target
    docs.to_letor(tmp_path / "target.txt")
    assert same(rr.datasets.read_letor(tmp_path / "target.txt"), docs)
    (tmp_path / "words.txt").write_text("1 qid:b 2:1.5\n0 qid:a 1:1\n", encoding="ascii")
    X, y, qid = rr.datasets.read_letor(tmp_path / "words.txt")
    np.testing.assert_array_equal(X, [[0, 1.5], [1, 0]])
    assert (y.tolist(), qid.tolist()) == ([1, 0], [0, 1])


def test_several_texts_are_read_as_one(tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    files[0].write_text("1 qid:3 1:2 3:1.5\n0 qid:3 2:1\n", encoding="ascii")
    files[1].write_text("2 qid:1 2:4\n", encoding="ascii")
    docs = rr.datasets.read_letor(files)
    assert docs.X.tolist() == [[2, 0, 1.5], [0, 1, 0], [0, 4, 0]]
    assert (docs.y.tolist(), docs.qid.tolist()) == ([1, 0, 2], [3, 3, 1])
    assert docs.feature_names == ("f0", "f1", "f2")
    assert (
        rr.Dataset.from_letor(files).fingerprint
        == rr.Dataset(docs.X, docs.y, qid=docs.qid).fingerprint
    )
    assert same(rr.datasets.read_letor(files[:1]), rr.datasets.read_letor(files[0]))
    for read in (rr.datasets.read_letor, rr.Dataset.from_letor):
        with pytest.raises(
            rr.DataError, match=r"qid `3` stands in .* keep the docs of a query in one file"
        ):
            read([*files, files[0]])
        with pytest.raises(rr.ParamError, match="path: got no files"):
            read([])


# Refitted leaves.


def test_refitting_keeps_splits_and_helps(base: rr.Booster, markets: Domains) -> None:
    docs = markets.test_closed
    here = rr.Dataset(docs.X, docs.y, qid=docs.qid, like=base)
    adapted = base.refit(here, decay=0.3)
    assert value(adapted, docs) > value(base, docs)
    assert base.refit(here, decay=1).dump()["trees"] == base.dump()["trees"]
    assert "decay 0.3" in adapted.params["refitted"]
    assert base.refit(here, prior_docs=1e9).dump()["trees"] != adapted.dump()["trees"]
    for number in (0, base.num_trees - 1):
        ours, theirs = adapted.dump()["trees"][number], base.dump()["trees"][number]
        assert (ours["feature"], ours["threshold"]) == (theirs["feature"], theirs["threshold"])


def test_neither_threads_nor_rows_change_a_refitted_byte(
    base: rr.Booster, markets: Domains
) -> None:
    X, y, qid = markets.target
    order = np.random.default_rng(0).permutation(len(y))
    orders: list[tuple[Any, int | None]] = [(slice(None), 1), (order, 2), (order[::-1], None)]
    texts = {
        base.refit(rr.Dataset(X[rows], y[rows], qid=qid[rows], like=base), num_threads=n).to_text()
        for rows, n in orders
    }
    assert len(texts) == 1


def test_the_learning_rate_is_that_of_training(base: rr.Booster, markets: Domains) -> None:
    X, y, qid = markets.target
    here = rr.Dataset(X, y, qid=qid, like=base)
    assert base.refit(here) == base.refit(here, learning_rate=0.1)
    assert base.refit(here) != base.refit(here, learning_rate=0.2)
    assert base.refit(here) != base.refit(here, sigma=2.0)


def test_refitting_has_the_defaults_of_training() -> None:
    refit, train = TRAININGS["refit"], TRAININGS["train"]
    shared = [name for name, one in refit.items() if one.group in ("objective", "labels")]
    assert {"sigma", "pairs_to", "relevant_from"} <= set(shared)
    for name in (*shared, "learning_rate", "seed"):
        assert refit[name].default == train[name].default, name


def test_what_cannot_be_refitted_is_told(base: rr.Booster, markets: Domains) -> None:
    X, y, qid = markets.target
    here = rr.Dataset(X, y, qid=qid, like=base)
    with pytest.raises(rr.ParamError, match="decay"):
        base.refit(here, decay=2)
    with pytest.raises(rr.ParamError, match="did you mean sigma"):
        base.refit(here, sgima=2)
    with pytest.raises(rr.DataError, match="thresholds"):
        base.refit(rr.Dataset(X, y, qid=qid))
    with pytest.raises(rr.DataError):
        base.refit(rr.Dataset(X, np.ones_like(y), qid=qid, like=base))


# Neighbours.


def slow_expansion(here: Ranking, there: Ranking, share: float, most: float) -> list[int]:
    """Find the rows that the paper would take, one by one."""
    entropies = {}
    for query in np.unique(here.qid):
        labels = here.y[here.qid == query]
        p = np.unique(labels, return_counts=True)[1] / len(labels)
        if len(p) > 1:
            entropies[query] = -sum(p * np.log(p))
    least = sorted(entropies, key=lambda query: entropies[query])
    seeds = np.isin(here.qid, least[: int(np.ceil(share * len(least)))])
    mean, spread = np.nanmean(here.X, axis=0), np.nanstd(here.X, axis=0)

    def placed(X: Any) -> Any:
        return np.nan_to_num((X.astype(float) - mean) / spread)

    places, labels = placed(here.X[seeds]), here.y[seeds]
    taken = []
    for row, doc in enumerate(placed(there.X)):
        lengths = np.linalg.norm(places, axis=1) * np.linalg.norm(doc)
        distance = 1 - places @ doc / lengths
        near = np.argsort(distance)[:3]
        if distance[near].max() <= most and there.y[row] in labels[near]:
            taken.append(row)
    return taken


def test_docs_are_taken_as_by_brute_force(markets: Domains) -> None:
    pytest.importorskip("sklearn")
    for share, most in [(0.5, 0.45), (1.0, 0.4), (0.2, 0.6)]:
        found = rr.expand(markets.target, markets.background, queries=share, max_distance=most)
        truth = slow_expansion(markets.target, markets.background, share, most)
        assert found.rows.tolist() == truth
        assert 0 < len(truth) < len(markets.background.y)
        assert (found.distance <= most).all()
        np.testing.assert_array_equal(found.qid, markets.background.qid[truth])


def test_the_default_distance_is_a_small_one_between_seeds(markets: Domains) -> None:
    pytest.importorskip("sklearn")
    found = rr.expand(markets.target, markets.background)
    assert 0 < found.max_distance < 1
    everything = rr.expand(markets.target, markets.background, max_distance=2)
    assert found.share == len(found.rows) / len(markets.background.y)
    assert 0 < found.share < 0.1 * everything.share
    assert f"{found.share:.2%} of the background" in repr(found)
    # The same for any order of rows.
    X, y, qid = markets.target
    order = np.random.default_rng(1).permutation(len(y))
    again = rr.expand((X[order], y[order], qid[order]), markets.background)
    np.testing.assert_array_equal(again.rows, found.rows)


def test_entropy_is_that_of_labels() -> None:
    found = label_entropy(np.array([0, 0, 1, 2, 1, 2, 3]), np.array([0, 0, 0, 1, 1, 2, 2]))
    third = -(2 / 3) * np.log(2 / 3) - np.log(1 / 3) / 3
    np.testing.assert_allclose(found, [third, np.log(2), np.log(2)])
    assert label_entropy(np.ones(3), np.zeros(3, int)).tolist() == [0.0]


def test_too_few_seeds_are_told(markets: Domains) -> None:
    pytest.importorskip("sklearn")
    X, y, qid = markets.target
    one = qid == qid[0]
    with pytest.raises(rr.DataError, match="pass max_distance="):
        rr.expand((X[one], y[one], qid[one]), markets.background)
    with pytest.raises(rr.DataError, match="expected more than 3"):
        rr.expand((X[:3], [0, 1, 0], [1, 1, 1]), markets.background)


# Recipes.


def adapted(base: Any, markets: Domains, **how: Any) -> rr.Adaptation:
    given = {
        "background": markets.background,
        "valid_closed": markets.valid_closed,
        "valid_open": markets.valid_open,
        "trees": TREES,
        "held_out": 3,
    }
    return rr.adapt(base, markets.target, **{**given, **how})


@pytest.fixture(scope="module")
def found(base: rr.Booster, markets: Domains) -> rr.Adaptation:
    pytest.importorskip("sklearn")
    return adapted(base, markets)


def test_every_recipe_is_judged_on_both_sets(
    found: rr.Adaptation, base: rr.Booster, markets: Domains
) -> None:
    assert not found.skipped
    assert list(found.boosters) == [
        "base",
        "target",
        "trees",
        "features",
        "interpolate",
        "refit",
        "reweigh",
        "grow",
        "interpolate grown",
        "pool",
    ]
    for name, docs in (("closed", markets.valid_closed), ("open", markets.valid_open)):
        for recipe, booster in found.boosters.items():
            assert float(found.values[name][recipe]) == value(booster, docs), (name, recipe)
        compared = rr.compare(
            base.predict(docs.X), found.boosters["trees"].predict(docs.X), docs.y, qid=docs.qid
        )["ndcg@10"]
        assert found.comparisons[name]["trees"].difference == compared.difference
        assert found.comparisons[name]["trees"].p_randomisation == compared.p_randomisation
    means = {
        recipe: sum(float(values[recipe]) for values in found.values.values())
        for recipe in found.boosters
    }
    assert found.best == max(means, key=lambda recipe: means[recipe])
    assert found.booster is found.boosters[found.best]


def test_what_is_chosen_is_worth_less_than_what_chose_it(found: rr.Adaptation) -> None:
    mean = np.mean([float(of[found.best]) for of in found.values.values()])
    assert np.mean([float(one) for one in found.choosing.values()]) <= mean + 1e-12
    assert set(found.choosing) == {"closed", "open"}


def test_it_is_shown(found: rr.Adaptation) -> None:
    text = repr(found)
    assert "closed ndcg@10" in text
    assert f"{found.best} *" in text
    assert "taking the best of 10 on other queries gives" in text
    assert found._repr_html_().startswith("<table>")
    plain = found.to_dict()
    assert plain["best"] == found.best
    assert plain["recipes"]["trees"]["chosen"].endswith("rounds")
    assert plain["recipes"]["trees"]["values"]["open"]["p"] <= 1


def test_it_is_drawn(found: rr.Adaptation) -> None:
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    axes = found.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(found.boosters)


def test_adapted_boosters_are_saved_whole(
    found: rr.Adaptation, markets: Domains, tmp_path: Path
) -> None:
    for recipe, booster in found.boosters.items():
        booster.save(tmp_path / "one.rrk")
        again = rr.Booster.load(tmp_path / "one.rrk")
        X = markets.test_open.X
        np.testing.assert_array_equal(again.predict(X), booster.predict(X), err_msg=recipe)


def test_neither_rows_nor_threads_matter(base: rr.Booster, markets: Domains) -> None:
    pytest.importorskip("sklearn")

    def found(seed: int | None, num_threads: int | None) -> Any:
        def shuffled(docs: Ranking) -> Any:
            rows = np.arange(len(docs.y))
            rows = rows if seed is None else np.random.default_rng(seed).permutation(rows)
            return docs.X[rows], docs.y[rows], docs.qid[rows]

        made = rr.adapt(
            base,
            shuffled(markets.target),
            shuffled(markets.background),
            held_out=2,
            valid_closed=shuffled(markets.valid_closed),
            valid_open=shuffled(markets.valid_open),
            trees=TREES,
            num_threads=num_threads,
        )
        return {recipe: booster.to_text() for recipe, booster in made.boosters.items()}, repr(made)

    assert found(None, 1) == found(3, 2)


def test_docs_of_their_own_are_chosen_by(base: rr.Booster, markets: Domains) -> None:
    found = adapted(base, markets, held_out=markets.test_closed, recipes=["trees", "interpolate"])
    X, y, qid = markets.target
    start = base.predict(X)
    train = rr.Dataset(X, y, qid=qid, base_score=start, feature_names=list(base.feature_names))
    held = markets.test_closed
    valid = rr.Dataset(held.X, held.y, qid=held.qid, like=train, base_score=base.predict(held.X))
    more = {"learning_rate": 0.05, "features_per_node": 0.7, "rows_per_node": 0.7}
    alone = rr.train(train, valid=valid, metric="ndcg@10", **TREES, **more)  # type: ignore[arg-type]
    history = alone.history["valid"]["ndcg@10"]
    assert found.chosen["trees"] == f"{int(np.argmax(history)) + 1} rounds"
    mixed = found.boosters["trees"].predict(held.X)
    ours = base.predict(held.X) + alone.truncate(int(np.argmax(history)) + 1).predict(held.X)
    np.testing.assert_allclose(mixed, ours, atol=1e-9)


def test_several_bases_are_mixed(base: rr.Booster, markets: Domains) -> None:
    bases = {"en": base, "ja": base.truncate(10)}
    found = adapted(bases, markets, background=None, recipes=["trees", "interpolate"])
    assert list(found.boosters) == [
        "en",
        "ja",
        "trees (en)",
        "trees (ja)",
        "interpolate (en)",
        "interpolate (ja)",
        "interpolate all",
    ]


def test_many_are_mixed_by_a_linear_net_too(base: rr.Booster, markets: Domains) -> None:
    bases = {"en": base, "ja": base.truncate(10)}
    how = {"background": None, "recipes": "interpolate", "mixing": "lambdarank"}
    found = adapted(bases, markets, **how)
    assert found.chosen["interpolate all"].startswith("en + ")
    docs = markets.valid_open
    parts = [value(found.boosters[name], docs) for name in ("en", "interpolate (en)")]
    assert value(found.boosters["interpolate all"], docs) > min(parts) - 0.05


def test_any_model_is_a_base(base: rr.Booster, markets: Domains) -> None:
    mixed = rr.mix([base, base], [0.5, 0.25])
    found = adapted(mixed, markets, background=None)
    assert set(found.skipped) == {"refit", "reweigh", "grow", "pool"}
    assert "trees alone" in found.skipped["refit"]
    assert "it needs `background`" in found.skipped["pool"]
    assert any(one.startswith("skipped refit") for one in found.statements)
    with pytest.raises(rr.ParamError, match="recipe refit is not possible: only a model of trees"):
        adapted(mixed, markets, recipes=["refit"])


def test_without_closed_docs_some_of_the_target_judge(base: rr.Booster, markets: Domains) -> None:
    found = rr.adapt(base, markets.test_closed, recipes="trees", trees=TREES, held_out=2)
    assert list(found.values) == ["closed"]
    assert len(found.values["closed"]["base"].per_query) == 12


def first_query(docs: Ranking) -> Any:
    one = docs.qid == docs.qid[0]
    return docs.X[one], docs.y[one], docs.qid[one]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda d: {"target": first_query(d)}, rr.DataError, "the target has 1 query with diff"),
        (lambda d: {"target": (d.X, d.y * 0, d.qid)}, rr.DataError, "labels of target are 0"),
        (lambda d: {"target": (d.X[:, :9], d.y, d.qid)}, rr.DataError, "got 9, expected 40"),
        (lambda d: {"target": (d.X, d.y, d.qid[:-1])}, rr.DataError, "qid"),
        (lambda d: {"target": (d.X, d.y)}, rr.DataError, "target: got no queries"),
        (lambda d: {"target": rr.Dataset(d.X, d.y, qid=d.qid)}, rr.ParamError, "raw features"),
        (lambda d: {"target": {"X": d.X, "z": d.y}}, rr.ParamError, "target has 'z'"),
        (lambda d: {"valid_open": (d.X, d.y * 0 + 2, d.qid)}, rr.DataError, "valid_open are 2"),
        (
            lambda _: {"recipes": ["tree"]},
            rr.ParamError,
            "'tree', expected some of target, trees, features",
        ),
        (lambda _: {"trees": {"num_tree": 3}}, rr.ParamError, "num_tree is no parameter"),
        (lambda _: {"mixing": "stir"}, rr.ParamError, "'stir', expected one of powell"),
        (lambda _: {"held_out": 1}, rr.ParamError, "held_out"),
        (lambda _: {"held_out": None}, rr.ParamError, "held_out: got None"),
        (lambda _: {"metric": "ndgc"}, rr.ParamError, "ndgc"),
        (lambda _: {"base": {"trees": None}}, rr.ParamError, "expected a Booster"),
    ],
)
def test_what_cannot_be_adapted_is_told(
    base: rr.Booster,
    markets: Domains,
    change: Callable[[Ranking], dict[str, Any]],
    error: type[Exception],
    said: str,
) -> None:
    given = {"base": base, "target": markets.target, "trees": TREES, "recipes": ["trees"]}
    with pytest.raises(error, match=said):
        rr.adapt(**{**given, **change(markets.target)})


def test_names_of_features_must_be_those_of_the_base(base: rr.Booster, markets: Domains) -> None:
    docs = markets.target
    names = (*docs.feature_names[1:], "other")
    with pytest.raises(rr.DataError, match=r"target lacks a feature of the base: .* also 'x0'"):
        rr.adapt(base, Ranking(docs.X, docs.y, docs.qid, names))


def test_parts_depend_on_what_is_in_queries(markets: Domains) -> None:
    X, y, qid = markets.background
    order = np.random.default_rng(9).permutation(len(y))
    ours = as_raw_rows((X, y, qid), "docs").split([0.5, 0.3, 0.2], 7)
    theirs = as_raw_rows((X[order], y[order], qid[order]), "docs").split([0.5, 0.3, 0.2], 7)
    for mine, other in zip(ours, theirs, strict=True):
        assert sorted(mine.query_ids) == sorted(other.query_ids)
    assert sum(part.num_queries for part in ours) == 150
