"""Workers that go on from a base of any kind: each scores its own docs, and the model is that of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS: dict[str, Any] = {"num_trees": 5, "num_leaves": 6, "min_leaf_docs": 5}


def docs(num_queries: int, seed: int) -> rr.datasets.Ranking:
    """Return docs of six features with missing values, as text reads them back."""
    X, y, qid = rr.datasets.make_polynomial(num_queries=num_queries, seed=seed)
    X = np.round(X[:, :6], 3).astype(np.float32)
    X[seed::11, 2] = np.nan
    return rr.datasets.Ranking(X, y, qid, tuple(f"f{at}" for at in range(6)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    for name, num_queries, seed in (("train", 24, 1), ("valid", 8, 2)):
        data = docs(num_queries, seed)
        data.to_letor(folder / f"{name}.txt")
        columns = {f"x{at}": column for at, column in enumerate(data.X.T)}
        table = pa.table({**columns, "label": data.y, "qid": data.qid})
        pq.write_table(table, folder / f"{name}.parquet")
    for kind in ("txt", "parquet"):
        rr.shard(folder / f"train.{kind}", folder / f"train-{kind}", shards=3)
        rr.shard(folder / f"valid.{kind}", folder / f"valid-{kind}", shards=2)
    return folder


@pytest.fixture(scope="module")
def bases() -> dict[str, rr.Booster]:
    other = docs(20, 3)
    net = rr.LambdaRank(hidden=(4,), epochs=2).fit(other.X, other.y, qid=other.qid).booster
    there = rr.Dataset(other.X, other.y, qid=other.qid)
    trees = rr.train(there, num_trees=4, num_leaves=6)
    mixed = rr.mix([trees, net], normalise="query")
    return {"net": net, "trees of other bins": trees, "mixed within queries": mixed}


def alone(base: rr.Booster, **options: Any) -> rr.Booster:
    """Train in one process, on arrays."""
    train, valid = docs(24, 1), docs(8, 2)
    dataset = rr.Dataset(train.X, train.y, qid=train.qid, base=base)
    held = rr.Dataset(valid.X, valid.y, qid=valid.qid, like=dataset)
    return rr.train(dataset, valid=held, base=base, **OPTIONS, **options)


def same(one: rr.Booster, other: rr.Booster) -> bool:
    values = [booster.history["valid"]["ndcg@10"].tolist() for booster in (one, other)]
    # Columns of Parquet have names, and those of text have none.
    texts = [rr.Booster._of(booster._core.named(None)).to_text() for booster in (one, other)]
    return texts[0] == texts[1] and values[0] == values[1]


@pytest.mark.parametrize("mode", ["histogram", "features"])
@pytest.mark.parametrize("name", ["net", "trees of other bins"])
def test_the_model_is_that_of_one_process(
    folder: Path, bases: dict[str, rr.Booster], mode: str, name: str
) -> None:
    base = bases[name]
    expected = alone(base)
    assert expected.num_rounds == base.num_rounds + 5
    for kind, workers, valid in (
        ("txt", 2, "valid.txt"),
        # One of the workers has no documents, and two of them no validation set.
        ("txt", 4, "valid-txt"),
        ("parquet", 2, "valid-parquet"),
        ("parquet", 4, "valid-parquet"),
    ):
        booster = rr.train(
            folder / f"train-{kind}",
            valid=folder / valid,
            workers=workers,
            mode=mode,
            base=base,
            **OPTIONS,
        )
        assert same(booster, expected), (kind, workers)


def test_scores_within_queries_are_made_by_the_worker_that_has_them(
    folder: Path, bases: dict[str, rr.Booster]
) -> None:
    base = bases["mixed within queries"]
    options: dict[str, Any] = {"base": base, "valid": folder / "valid.txt", "workers": 3, **OPTIONS}
    assert same(rr.train(folder / "train-txt", **options), alone(base))
    with pytest.raises(rr.ParamError, match="depend on the other docs of the query"):
        rr.train(folder / "train-parquet", **options | {"workers": 2})


@pytest.mark.parametrize("mode", ["histogram", "features"])
def test_a_base_of_the_same_bins_is_scored_by_them(folder: Path, mode: str) -> None:
    plain = rr.Dataset.from_letor(folder / "train.txt")
    base = rr.train(plain, **OPTIONS)
    valid = rr.Dataset.from_letor(folder / "valid.txt", like=plain)
    expected = rr.train(plain, valid=valid, base=base, **OPTIONS)
    told: dict[str, Any] = {"workers": 2, "mode": mode, "base": base, **OPTIONS}
    for kind in ("txt", "parquet"):
        booster = rr.train(folder / f"train-{kind}", valid=folder / f"valid-{kind}", **told)
        assert same(booster, expected), kind


def test_training_from_a_base_is_resumed_by_any_number_of_workers(
    folder: Path, bases: dict[str, rr.Booster], tmp_path: Path
) -> None:
    told: dict[str, Any] = {
        "valid": folder / "valid.txt",
        "base": bases["net"],
        "checkpoint": tmp_path / "c.rrk",
        **OPTIONS,
    }
    rr.train(folder / "train-txt", workers=2, **told | {"num_trees": 2})
    resumed = rr.train(folder / "train-txt", workers=3, resume=True, **told)
    assert same(resumed, alone(bases["net"]))
    other = told | {"base": bases["trees of other bins"], "resume": True}
    with pytest.raises(rr.DataError, match="the checkpoint is of another training set"):
        rr.train(folder / "train-txt", workers=2, **other)


def test_full_selection_starts_from_the_scores_of_the_base(
    folder: Path, bases: dict[str, rr.Booster]
) -> None:
    # Algorithm 3 of Svore and Burges 2011, with a tree of each worker trained apart.
    base = bases["net"]
    options: dict[str, Any] = {"preset": "burges2010", "num_leaves": 6, "min_leaf_docs": 5}
    told: dict[str, Any] = {"workers": 3, "base": base, "num_trees": 3, **options}
    booster = rr.train(folder / "train-txt", mode="full-selection", **told)
    files = rr.Shards.load(folder / "train-txt").paths(range(3))
    parts = [rr.datasets.read_letor(file) for file in files]
    bins = rr.Dataset.from_letor(list(files))
    scores = [base.predict(part.X) for part in parts]
    for _ in range(3):
        trees = [
            rr.train(
                rr.Dataset(part.X, part.y, qid=part.qid, like=bins, base_score=so_far),
                num_trees=1,
                **options,
            )
            for part, so_far in zip(parts, scores, strict=True)
        ]
        values = []
        for worker, tree in enumerate(trees):
            judges = [at for at in range(3) if at != worker]
            y, qid = (
                np.concatenate([getattr(parts[at], name) for at in judges]) for name in ("y", "qid")
            )
            after = [scores[at] + tree.predict(parts[at].X) for at in judges]
            values.append(float(rr.evaluate(np.concatenate(after), y, qid=qid)["ndcg@10"]))
        best = trees[int(np.argmax(values))]
        scores = [one + best.predict(part.X) for one, part in zip(scores, parts, strict=True)]
    for part, slow in zip(parts, scores, strict=True):
        np.testing.assert_allclose(booster.predict(part.X), slow, rtol=0, atol=1e-6)
    drawn = rr.train(folder / "train-txt", mode="sample-selection", **told)
    assert drawn.num_rounds == base.num_rounds + 3


def test_a_base_that_does_not_fit_is_told_by_all_workers(
    folder: Path, bases: dict[str, rr.Booster]
) -> None:
    wide = rr.datasets.make_polynomial(20, 20, seed=1)
    base = rr.LambdaRank(epochs=1).fit(wide.X[:, :3], wide.y, qid=wide.qid).booster
    for kind in ("txt", "parquet"):
        for mode in ("histogram", "features"):
            with pytest.raises(rr.DataError, match="another number of features"):
                rr.train(folder / f"train-{kind}", workers=2, mode=mode, base=base, **OPTIONS)
    told: dict[str, Any] = {"mode": "features", "objective": "mcrank", **OPTIONS}
    with pytest.raises(rr.DataError, match="classes have no base scores"):
        rr.train(folder / "train-txt", workers=2, base=bases["net"], **told)
