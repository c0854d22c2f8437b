"""Training that goes on: from checkpoints and bases, and on several workers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rustrank as rr
from result_cases.bases import bases, imported
from result_cases.docs import SMALL, WORKING, case, clean, held, letor, model
from result_cases.table import Result, content, digest, floats

GOING_ON: dict[str, Any] = {**SMALL, "num_trees": 9, "docs_per_tree": 0.8, "dropout": 0.3}


@case("in one go", 9)
@case("resumed", 4)
def resumed(rounds: int) -> Result:
    dataset = clean().dataset()
    valid = held().dataset(like=dataset)
    with TemporaryDirectory() as folder:
        kept: dict[str, Any] = {"valid": valid, "checkpoint": Path(folder) / "kept.rrk"}
        options = {**GOING_ON, **kept, "checkpoint_every": 2}
        booster = rr.train(dataset, **{**options, "num_trees": rounds})
        if rounds < 9:
            booster = rr.train(dataset, **options, resume=True)
        kept_text = rr.Booster.load(Path(folder) / "kept.rrk").to_text()
        return model(booster, held(), checkpoint=digest(content(kept_text)))


@case("stopped by a callback")
def stopped() -> Result:
    heard: list[float] = []

    def after(one: rr.Round) -> bool:
        heard.append(one.number)
        return len(heard) == 4

    booster = rr.train(clean().dataset(), **SMALL, callbacks=after)
    return model(booster.truncate(3), held(), heard=floats(heard), trees=booster.num_trees)


for _name in ("trees", "linear", "net", "classes", "ranks", "mixture", "stack", "logistic"):
    case(f"part {_name}", _name)(lambda name: model(bases()[name], held()))


@case("base trees", "trees", {})
@case("base trees dropout", "trees", {"dropout": 0.5, "dropout_skip": 0.0})
@case("base linear", "linear", {})
@case("base net", "net", {"tree_shape": "symmetric"})
@case("base classes", "classes", {})
@case("base ranks", "ranks", {})
@case("base lightgbm", "lightgbm", {})
def on_a_base(name: str, options: dict[str, Any]) -> Result:
    base = imported("lightgbm") if name == "lightgbm" else bases()[name]
    dataset = clean().dataset(base=base, query_ranks=base.query_ranks)
    return model(rr.train(dataset, valid=held().dataset(like=dataset), **SMALL, **options), held())


@case("base mixture", "mixture")
@case("base stack", "stack")
def on_scores_of_a_base(name: str) -> Result:
    base, docs = bases()[name], clean()
    dataset = docs.dataset(base_score=base.predict(docs.X, qid=docs.qid))
    return model(rr.train(dataset, base=base, **SMALL), held())


@case("base on the same bins", {})
@case("base mcrank on the same bins", {"objective": "mcrank", "num_trees": 2})
def same_bins(options: dict[str, Any]) -> Result:
    dataset = clean().dataset()
    first = rr.train(dataset, **{**SMALL, **options})
    return model(rr.train(dataset, **{**SMALL, **options}, base=first, seed=1), held())


@case("workers none", None)
@case("workers histogram", "histogram")
@case("workers features", "features")
@case("workers full-selection-all", "full-selection-all")
@case("workers full-selection", "full-selection")
@case("workers sample-selection", "sample-selection")
@case("workers overlap", "full-selection", workers=3, overlap=1)
def workers(mode: str | None, **options: Any) -> Result:
    with TemporaryDirectory() as name:
        folder = Path(name)
        train, valid = letor(folder / "train.txt", clean()), letor(folder / "valid.txt", held())
        if mode is None:
            dataset = rr.Dataset.from_letor(train)
            made = rr.Dataset.from_letor(valid, like=dataset)
            return model(rr.train(dataset, valid=made, **WORKING), held())
        rr.shard(train, folder / "shards", shards=3)
        running = {"workers": 2, "mode": mode, "num_threads": 1, **options}
        return model(rr.train(folder / "shards", valid=valid, **WORKING, **running), held())
