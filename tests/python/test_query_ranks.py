"""Ranks within queries as features: datasets, models, what is refused."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

OPTIONS: dict[str, Any] = {"num_trees": 10, "num_leaves": 8, "min_leaf_docs": 5}


class Docs:
    """Docs in queries of 1 to 20; missing and equal values; relevance lies in the ranks."""

    def __init__(self, seed: int, num_queries: int = 60) -> None:
        rng = np.random.default_rng(seed)
        self.group = rng.integers(1, 21, num_queries)
        self.group[0] = 1
        self.qid = np.repeat(np.arange(num_queries), self.group)
        num_docs = len(self.qid)
        shift = rng.normal(0, 30, (num_queries, 4))[self.qid]
        X = np.round(rng.normal(size=(num_docs, 4)) + shift, 1)
        self.y = np.clip(np.round(X[:, 0] - shift[:, 0] + 1), 0, 4)
        X[rng.random((num_docs, 4)) < 0.1] = np.nan
        self.X = X


@pytest.fixture(scope="module")
def docs() -> Docs:
    return Docs(0)


@pytest.fixture(scope="module")
def train(docs: Docs) -> rr.Dataset:
    return rr.Dataset(docs.X, docs.y, qid=docs.qid, query_ranks=True)


@pytest.fixture(scope="module")
def booster(train: rr.Dataset) -> rr.Booster:
    return rr.train(train, **OPTIONS)


def ranked(X: NDArray[Any], qid: NDArray[Any]) -> NDArray[np.float32]:
    """Append ranks by the words of their definition."""
    X = X.astype(np.float32)
    ranks = np.full(X.shape, np.nan, np.float32)
    for query in np.unique(qid):
        (rows,) = np.nonzero(qid == query)
        for feature in range(X.shape[1]):
            values = X[rows, feature]
            known = values[~np.isnan(values)]
            for row, value in zip(rows, values, strict=True):
                if not np.isnan(value):
                    place = (known < value).sum() + ((known == value).sum() + 1) / 2
                    ranks[row, feature] = (place - 0.5) / len(known)
    return np.hstack([X, ranks])


def test_ranks_are_features_after_the_others(docs: Docs, train: rr.Dataset) -> None:
    assert train.query_ranks
    assert train.num_features == 8
    assert train.feature_names == ["f0", "f1", "f2", "f3", *(f"rank(f{i})" for i in range(4))]
    by_hand = rr.Dataset(ranked(docs.X, docs.qid), docs.y, qid=docs.qid)
    assert train.fingerprint == by_hand.fingerprint
    assert train.thresholds("rank(f2)").tolist() == by_hand.thresholds(6).tolist()
    assert not by_hand.query_ranks


def test_scores_are_those_of_rows_that_bring_their_ranks(docs: Docs, booster: rr.Booster) -> None:
    wide = ranked(docs.X, docs.qid)
    plain = rr.train(rr.Dataset(wide, docs.y, qid=docs.qid), **OPTIONS)
    assert (booster.num_features, booster.num_raw_features) == (8, 4)
    assert booster.query_ranks
    assert not plain.query_ranks
    assert booster != plain
    scores = booster.predict(docs.X, qid=docs.qid)
    assert scores.tolist() == plain.predict(wide).tolist()
    assert scores.tolist() == booster.predict(docs.X, group=docs.group).tolist()
    # A model without ranks does not look at the queries.
    assert plain.predict(wide, qid=docs.qid).tolist() == scores.tolist()


def test_ranks_help_where_relevance_is_within_the_query(docs: Docs, booster: rr.Booster) -> None:
    test = Docs(1)
    without = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), **OPTIONS)

    def ndcg(scores: Any) -> float:
        return float(rr.evaluate(scores, test.y, qid=test.qid, metrics="ndcg@10")["ndcg@10"])

    with_ranks = ndcg(booster.predict(test.X, qid=test.qid))
    assert with_ranks > ndcg(without.predict(test.X)) + 0.05
    held = rr.Dataset(test.X, test.y, qid=test.qid, like=booster)
    assert booster.evaluate(held)["ndcg@10"] == pytest.approx(with_ranks, abs=1e-12)


def test_the_order_of_rows_and_the_threads_do_not_matter(
    docs: Docs, train: rr.Dataset, booster: rr.Booster
) -> None:
    order = np.random.default_rng(3).permutation(len(docs.y))
    moved = rr.Dataset(
        np.asfortranarray(docs.X[order]), docs.y[order], qid=docs.qid[order], query_ranks=True
    )
    assert moved.fingerprint == train.fingerprint
    assert rr.train(moved, **OPTIONS, num_threads=2) == booster
    scores = booster.predict(docs.X, qid=docs.qid)
    for threads in (1, 2):
        again = booster.predict(docs.X[order], qid=docs.qid[order], num_threads=threads)
        assert again.tolist() == scores[order].tolist()


def test_a_batch_of_queries_scores_as_one_at_a_time(docs: Docs, booster: rr.Booster) -> None:
    scores = booster.predict(docs.X, qid=docs.qid)
    for query in range(5):
        rows = docs.qid == query
        alone = booster.predict(docs.X[rows], group=[rows.sum()])
        assert alone.tolist() == scores[rows].tolist()
    # One doc as it is.
    assert booster.predict(docs.X[0], group=[1]).tolist() == scores[:1].tolist()
    # More than is copied at a time.
    times = 70_000 // len(docs.y) + 1
    many = np.tile(docs.X, (times, 1))
    ids = np.concatenate([docs.qid + 1000 * copy for copy in range(times)])
    assert booster.predict(many, qid=ids).tolist() == np.tile(scores, times).tolist()


def test_tables_of_every_kind_are_ranked(
    docs: Docs, train: rr.Dataset, booster: rr.Booster
) -> None:
    pl = pytest.importorskip("polars")
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame(dict(zip(names, docs.X.T, strict=True)))
    made = rr.Dataset(frame, docs.y, qid=docs.qid, query_ranks=True)
    assert made.fingerprint == train.fingerprint
    assert made.feature_names == [*names, *(f"rank({name})" for name in names)]
    model = rr.train(made, **OPTIONS)
    assert model.feature_names == made.feature_names
    scores = booster.predict(docs.X, qid=docs.qid)
    assert model.predict(frame, qid=docs.qid).tolist() == scores.tolist()
    with pytest.raises(rr.DataError, match=r"X lacks a feature of the model: .* also 'b'"):
        model.predict(frame.rename({"b": "z"}), qid=docs.qid)
    moved = rr.Dataset(frame.select(names[::-1]), docs.y, qid=docs.qid, like=made)
    assert moved.fingerprint == made.fingerprint
    again = rr.Dataset(frame, docs.y, qid=docs.qid, like=model)
    assert again.feature_names == made.feature_names
    with pytest.raises(rr.DataError, match=r"X lacks a feature of `like`: .* also 'b'"):
        rr.Dataset(frame.rename({"b": "z"}), docs.y, qid=docs.qid, like=model)


def test_text_is_ranked(tmp_path: Path, docs: Docs, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.txt"
    with path.open("w") as out:
        for row, label, query in zip(docs.X.tolist(), docs.y, docs.qid, strict=True):
            cells = " ".join(f"{at}:{x!r}" for at, x in enumerate(row[:-1], 1))
            out.write(f"{int(label)} qid:{query} {cells}\n")
    X = docs.X[:, :3]
    made = rr.Dataset.from_letor(path, query_ranks=True, buffer_bytes=0)
    table = rr.Dataset(X, docs.y, qid=docs.qid, query_ranks=True)
    assert made.fingerprint == table.fingerprint
    assert len(made.feature_names) == 6
    booster = rr.train(made, **OPTIONS)
    test = rr.Dataset.from_letor(path, like=booster)
    assert test.query_ranks
    assert booster.predict(test).tolist() == booster.predict(X, qid=docs.qid).tolist()
    model = tmp_path / "model.rrk"
    arguments = ["--query-ranks", "--num-trees", "10", "--num-leaves", "8", "--min-leaf-docs", "5"]
    assert main(["train", str(path), str(model), *arguments]) == 0
    assert rr.Booster.load(model) == booster
    capsys.readouterr()
    assert main(["score", str(model), str(path)]) == 0
    printed = capsys.readouterr().out.split()
    assert [float(score) for score in printed] == booster.predict(X, qid=docs.qid).tolist()
    named = rr.Dataset.from_letor(path, query_ranks=True, feature_names=["a", "b", "c"])
    assert named.feature_names[3:] == ["rank(a)", "rank(b)", "rank(c)"]


def test_a_validation_set_takes_the_option_of_its_training_set(
    docs: Docs, train: rr.Dataset
) -> None:
    test = Docs(2)
    valid = rr.Dataset(test.X, test.y, qid=test.qid, like=train)
    assert valid.query_ranks
    booster = rr.train(train, valid=valid, early_stopping=5, **OPTIONS)
    scores = booster.predict(test.X, qid=test.qid)
    assert booster.predict(valid).tolist() == scores.tolist()
    with pytest.raises(rr.ParamError, match="query_ranks: got False, expected True"):
        rr.Dataset(test.X, test.y, qid=test.qid, like=train, query_ranks=False)
    plain = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    with pytest.raises(rr.ParamError, match="query_ranks: got True, expected False"):
        rr.Dataset(test.X, test.y, qid=test.qid, like=plain, query_ranks=True)


def test_a_model_keeps_its_ranks(tmp_path: Path, docs: Docs, booster: rr.Booster) -> None:
    path = tmp_path / "model.rrk"
    booster.save(path)
    scores = booster.predict(docs.X, qid=docs.qid).tolist()
    for same in (rr.Booster.load(path), pickle.loads(pickle.dumps(booster))):  # noqa: S301
        assert same == booster
        assert same.query_ranks
        assert same.predict(docs.X, qid=docs.qid).tolist() == scores
    assert "features 8 ranks" in booster.to_text()
    assert booster.truncate(3).query_ranks


def test_explanations_have_ranks_as_features(docs: Docs, booster: rr.Booster) -> None:
    values = booster.explain(docs.X, qid=docs.qid)
    assert values.shape == (len(docs.y), 9)
    assert values.sum(axis=1) == pytest.approx(booster.predict(docs.X, qid=docs.qid), abs=1e-9)
    assert np.abs(values[:, 4]).sum() > np.abs(values[:, 1]).sum()
    assert len(booster.feature_importance()) == 8


def test_what_cannot_be_ranked_is_refused(
    docs: Docs, train: rr.Dataset, booster: rr.Booster
) -> None:
    with pytest.raises(rr.ParamError, match=r"ranks features within queries.*qid="):
        booster.predict(docs.X)
    with pytest.raises(rr.ParamError, match="ranks features within queries"):
        booster.explain(docs.X)
    with pytest.raises(rr.ParamError, match="no ranks within their query"):
        booster.contrast(docs.X[1], docs.X[2])
    with pytest.raises(rr.DataError, match="both are given"):
        booster.predict(docs.X, qid=docs.qid, group=docs.group)
    with pytest.raises(rr.DataError, match="another number of features"):
        booster.predict(ranked(docs.X, docs.qid), qid=docs.qid)
    with pytest.raises(rr.ParamError, match="a Dataset knows its queries"):
        booster.predict(train, qid=docs.qid)
    with pytest.raises(rr.ParamError, match="batches cannot be ranked"):
        rr.Dataset.from_batches([(docs.X, docs.y, docs.qid)], like=train)
    with pytest.raises(rr.ParamError, match="no other library ranks"):
        booster.export("lightgbm")
    plain = rr.Dataset(ranked(docs.X, docs.qid), docs.y, qid=docs.qid)
    with pytest.raises(rr.DataError, match="the dataset has other features"):
        booster.predict(plain)
    with pytest.raises(rr.DataError, match="the dataset has other features"):
        rr.train(plain, base=booster, **OPTIONS)
    X = docs.X.copy()
    X[17, 2] = np.inf
    with pytest.raises(rr.DataError, match="infinite") as raised:
        booster.predict(X[::-1], qid=docs.qid[::-1])
    assert raised.value.row == len(X) - 18
    names = ["a", "b", "c", "rank(a)"]
    with pytest.raises(rr.DataError, match="rank"):
        rr.Dataset(docs.X, docs.y, qid=docs.qid, query_ranks=True, feature_names=names)


def test_categories_have_no_ranks(recwarn: pytest.WarningsRecorder) -> None:
    docs = rr.datasets.make_web(60, 12, seed=3)
    brand = (np.arange(len(docs.y)) * 7 + docs.y.astype(int) * 2) % 9
    renamed = np.random.default_rng(0).permutation(9)
    assert not np.array_equal(renamed, np.arange(9))
    scores = []
    for codes in (brand, renamed[brand]):
        X = np.column_stack([docs.X[:, 5:8], codes])
        how: dict[str, Any] = {"categorical": ["brand"], "feature_names": ["a", "b", "c", "brand"]}
        data = rr.Dataset(X, docs.y, qid=docs.qid, query_ranks=True, **how)
        assert data.feature_names[-1] == "rank(brand)"
        assert data.unused_features == [7]
        like = rr.Dataset(X, docs.y, qid=docs.qid, like=data)
        assert like.fingerprint == data.fingerprint
        booster = rr.train(data, num_trees=10, noise_scale=0.0, min_leaf_docs=5)
        importance = booster.feature_importance("count")
        assert importance[3] > 0
        assert importance[7] == 0
        scores.append(booster.predict(X, qid=docs.qid))
        assert np.array_equal(booster.predict(data), scores[-1])
        based = rr.Dataset(X, docs.y, qid=docs.qid, query_ranks=True, base=booster, **how)
        more = rr.train(based, num_trees=2, noise_scale=0.0, min_leaf_docs=5)
        assert more.num_trees >= 2
    assert np.array_equal(scores[0], scores[1])
    assert not [one for one in recwarn if "not used" in str(one.message)]


def test_what_cannot_be_ranked_names_the_way_out(docs: Docs, booster: rr.Booster) -> None:
    way = r"qid=.*group=\[len\(X\)\].*query_ranks=False"
    for call in (booster.predict, booster.explain, booster.rank):
        with pytest.raises(rr.ParamError, match=way):
            call(docs.X)
    assert booster.predict(docs.X[:3], group=[3]).shape == (3,)
    for library in ("lightgbm", "xgboost", "ranklib", "onnx"):
        way = rf'Dataset\(\.\.\., query_ranks=False\).*exportable="{library}"'
        with pytest.raises(rr.ParamError, match=way):
            booster.export(library)
    with pytest.raises(rr.ParamError, match="not a library that models are written for"):
        booster.export("lighgbm")


def test_converting_names_the_option_of_the_command(
    booster: rr.Booster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    booster.save(tmp_path / "m.rrk")
    assert main(["convert", str(tmp_path / "m.rrk"), str(tmp_path / "m.txt")]) != 0
    said = capsys.readouterr().err
    assert '--exportable "lightgbm"' in said
    assert "rr." not in said


@pytest.mark.parametrize("named", [False, True])
def test_a_set_with_a_base_has_the_ranks_of_the_base(docs: Docs, named: bool) -> None:
    X: Any = docs.X
    if named:
        X = {name: X[:, at] for at, name in enumerate("abcd")}
    bare = rr.Dataset(X, docs.y, qid=docs.qid)
    base = rr.train(rr.Dataset(X, docs.y, qid=docs.qid, query_ranks=True), **OPTIONS)
    wide = rr.Dataset(X, docs.y, qid=docs.qid, base=base, query_ranks=True)
    wanted = rr.train(wide, **OPTIONS)
    assert wanted.num_rounds == 20
    hows: list[dict[str, Any]] = [{}, {"like": bare}, {"like": bare, "query_ranks": True}]
    for how in hows:
        found = rr.Dataset(X, docs.y, qid=docs.qid, base=base, **how)
        assert found.feature_names == base.feature_names
        assert rr.train(found, **OPTIONS) == wanted
    assert not bare.query_ranks


def test_a_like_that_cannot_have_the_ranks_of_a_base_is_refused(
    docs: Docs, booster: rr.Booster
) -> None:
    without = rr.Dataset(docs.X, docs.y, qid=docs.qid, query_ranks=False)
    plain = rr.train(without, **OPTIONS)
    for like in (without, plain):
        with pytest.raises(rr.ParamError, match=r"like: the base ranks .*query_ranks=True"):
            rr.Dataset(docs.X, docs.y, qid=docs.qid, like=like, base=booster)


def test_text_with_a_base_has_the_ranks_of_the_base(
    docs: Docs, booster: rr.Booster, tmp_path: Path
) -> None:
    path = tmp_path / "docs.txt"
    rows = np.nan_to_num(docs.X)
    lines = (
        f"{y:g} qid:{q} " + " ".join(f"{at}:{x!r}" for at, x in enumerate(row.tolist(), 1))
        for y, q, row in zip(docs.y, docs.qid, rows, strict=True)
    )
    path.write_text("\n".join(lines))
    bare = rr.Dataset.from_letor(path)
    for like in (None, bare):
        found = rr.Dataset.from_letor(path, base=booster, like=like)
        assert found.query_ranks
        assert rr.train(found, **OPTIONS).num_rounds == 20
