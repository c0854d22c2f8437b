"""The calls that take long, on data on which they do, for measuring how soon an interrupt ends them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from rustrank.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

warnings.simplefilter("ignore")


#: The exit code of a command that was interrupted.
_INTERRUPTED = 130


@dataclass
class Call:
    """A call that takes long."""

    name: str
    #: The call.
    act: Callable[[Path], object]
    #: Makes what it works on, which is not interrupted.
    prepare: Callable[[Path], object] = lambda _: None


@cache
def _docs(rows: int, features: int, per_query: int) -> dict[str, Any]:
    """Return documents whose labels depend on a few features."""
    draws = np.random.default_rng(0)
    X = draws.standard_normal((rows, features), dtype=np.float32)
    noise = draws.standard_normal(rows, dtype=np.float32)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + noise, [0.5, 1.2, 1.9, 2.6]).astype(np.float32)
    return {"X": X, "y": y, "qid": np.arange(rows) // per_query}


def _many() -> dict[str, Any]:
    return _docs(4_000_000, 60, 100)


def _some() -> dict[str, Any]:
    return _docs(100_000, 30, 50)


def _one_query() -> dict[str, Any]:
    return _docs(200_000, 5, 200_000)


@cache
def _dataset(kind: str) -> rr.Dataset:
    made = {"many": _many, "some": _some, "one query": _one_query}[kind]()
    return rr.Dataset(**made)


@cache
def _frame(rows: int) -> Any:
    import pandas as pd

    X = _docs(rows, 12, 100)["X"]
    frame = pd.DataFrame(X, columns=[f"f{at}" for at in range(X.shape[1])])
    frame["brand"] = np.char.add("brand-", (np.abs(X[:, 3]) * 1000).astype(int).astype(str))
    frame["query"] = np.char.add("q-", (np.arange(rows) // 100).astype(str))
    frame["label"] = _docs(rows, 12, 100)["y"]
    return frame


@cache
def _booster(trees: int, leaves: int, kind: str = "some") -> rr.Booster:
    return rr.train(
        _dataset(kind), num_trees=trees, num_leaves=leaves, preset="plain", min_leaf_docs=5, progress=False
    )  # fmt: skip


@cache
def _deep() -> rr.Booster:
    """Return a model of chains of splits."""
    rows = 1200
    X = np.eye(rows, dtype=np.float32)
    data = rr.Dataset(X, np.arange(rows) % 5, group=[rows])
    return rr.train(
        data, num_trees=3, num_leaves=1000, objective="regression", min_leaf_docs=1, preset="plain", progress=False
    )  # fmt: skip


def _scores(of: dict[str, Any]) -> np.ndarray[Any, Any]:
    return of["X"][:, 0].astype(np.float64)


def _train(kind: str, **options: Any) -> Call:
    fixed = {"preset": "plain", "num_trees": 200, "num_leaves": 64, "progress": False}
    title = ", ".join(f"{name}={value}" for name, value in options.items()) or "plain"
    return Call(
        f"train on {kind}: {title}",
        lambda _: rr.train(_dataset(kind), **(fixed | options)),
        lambda _: _dataset(kind),
    )


def _evaluated(metric: str, kind: Callable[[], dict[str, Any]] = _many) -> Call:
    def act(_: Path) -> None:
        data = kind()
        for _ in range(50):
            rr.evaluate(_scores(data), data["y"], qid=data["qid"], metrics=metric)

    return Call(f"evaluate {metric} {kind.__name__.strip('_')}", act, lambda _: kind())


def _combined(method: str, rankers: int, **options: Any) -> Call:
    def act(_: Path) -> None:
        data = _many()
        scores = {str(at): data["X"][:, at].astype(np.float64) for at in range(rankers)}
        rr.Combiner(method=method, **options).fit(scores, data["y"], qid=data["qid"])

    return Call(f"combine {rankers} by {method}", act, lambda _: _many())


def _write_text(folder: Path) -> None:
    path = folder / "docs.txt"
    if path.exists():
        return
    data = _docs(20_000, 60, 100)
    lines = []
    for label, qid, row in zip(data["y"], data["qid"], data["X"].tolist(), strict=True):
        cells = " ".join(f"{at}:{value:.7g}" for at, value in enumerate(row, 1))
        lines.append(f"{label:.0f} qid:{qid} {cells}\n")
    text = "".join(lines)
    with path.open("w") as stream:
        for part in range(1, 101):
            stream.write(text.replace(" qid:", f" qid:{part}000"))


def _write_tables(folder: Path) -> None:
    if not (folder / "docs.parquet").exists():
        _frame(1_000_000).to_parquet(folder / "docs.parquet")
        _frame(200_000).to_csv(folder / "docs.csv", index=False)


@cache
def _clicks() -> Any:
    draws = np.random.default_rng(0)
    shape = 200_000, 10
    return rr.clicks.ClickLog(
        session=np.repeat(np.arange(shape[0]), shape[1]),
        query=np.repeat(np.arange(shape[0]) % 5_000, shape[1]),
        doc=(draws.integers(0, 50, shape) * 10 + np.arange(10)).ravel(),
        position=np.tile(np.arange(1, 11), shape[0]),
        click=draws.random(shape).ravel() < 0.1,
    )


def _command(name: str, *arguments: str) -> Call:
    def act(folder: Path) -> None:
        places = [one.format(folder=folder) for one in arguments]
        if main([name, *places]) == _INTERRUPTED:
            raise KeyboardInterrupt

    return Call(" ".join(("rustrank", name, *arguments)), act, _write_tables)


CALLS = [
    Call("dataset", lambda _: rr.Dataset(**_many()), lambda _: _many()),
    Call(
        "dataset with ranks", lambda _: rr.Dataset(**_many(), query_ranks=True), lambda _: _many()
    ),
    Call(
        "dataset of one query",
        lambda _: rr.Dataset(**_one_query(), query_ranks=True),
        lambda _: _one_query(),
    ),
    Call(
        "dataset of a frame with texts",
        lambda _: rr.Dataset(_frame(1_000_000), "label", qid="query", categorical=["brand"]),
        lambda _: _frame(1_000_000),
    ),
    Call("from_letor", lambda folder: rr.Dataset.from_letor(folder / "docs.txt"), _write_text),
    Call(
        "from_parquet",
        lambda folder: rr.Dataset.from_parquet(
            folder / "docs.parquet", label="label", qid="query", categorical=["brand"]
        ),
        _write_tables,
    ),
    Call(
        "fingerprint",
        lambda _: [rr.Dataset(**_some()).fingerprint for _ in range(20)],
        lambda _: _some(),
    ),
    Call(
        "shard",
        lambda folder: rr.shard(folder / "docs.txt", folder / "shards", shards=4, overwrite=True),
        _write_text,
    ),
    _train("many"),
    _train("some"),
    _train("one query", num_leaves=8),
    _train("many", num_leaves=4096),
    _train("many", tree_shape="symmetric"),
    _train("many", objective="mcrank"),
    _train("many", objective="xendcg"),
    _train("many", objective="regression"),
    _train("many", metric="map"),
    _train("many", metric="err@10"),
    _train("one query", metric="map"),
    _train("one query", metric="err"),
    _train("one query", metric="mrr"),
    _train("some", dropout=0.5),
    _train("some", features_per_tree=0.5, queries_per_tree=0.5, monotone=[1] * 30),
    Call(
        "default call",
        lambda _: rr.train(_dataset("some"), progress=False),
        lambda _: _dataset("some"),
    ),
    Call("auto", lambda _: rr.auto(_dataset("some"), time_limit=60), lambda _: _dataset("some")),
    Call("RankNet", lambda _: rr.RankNet(epochs=100).fit(**_some()), lambda _: _some()),
    Call("LambdaRank", lambda _: rr.LambdaRank().fit(**_one_query()), lambda _: _one_query()),
    Call("LambdaBoost", lambda _: rr.LambdaBoost().fit(**_some()), lambda _: _some()),
    Call(
        "predict",
        lambda _: [_booster(300, 64).predict(_docs(1_000_000, 30, 100)["X"]) for _ in range(3)],
        lambda _: (_booster(300, 64), _docs(1_000_000, 30, 100)),
    ),
    Call(
        "top",
        lambda _: [
            _booster(30, 64).top(
                _docs(1_000_000, 30, 100)["X"], 10, qid=_docs(1_000_000, 30, 100)["qid"]
            )
            for _ in range(3)
        ],
        lambda _: (_booster(30, 64), _docs(1_000_000, 30, 100)),
    ),
    Call(
        "explain",
        lambda _: _booster(300, 64).explain(_some()["X"][:50_000]),
        lambda _: _booster(300, 64),
    ),
    Call(
        "explain deep trees",
        lambda _: _deep().explain(np.eye(1200, dtype=np.float32)),
        lambda _: _deep(),
    ),
    Call(
        "importance by permutation",
        lambda _: _booster(300, 64).feature_importance(
            "permutation", dataset=_dataset("some"), repeats=3
        ),
        lambda _: _booster(300, 64),
    ),
    Call(
        "refit",
        lambda _: [_booster(300, 64).refit(_dataset("some")) for _ in range(5)],
        lambda _: _booster(300, 64),
    ),
    Call(
        "reweigh", lambda _: _booster(30, 64).reweigh(_dataset("some")), lambda _: _booster(30, 64)
    ),
    Call(
        "calibrate",
        lambda _: [_booster(300, 64).calibrate(_dataset("some")) for _ in range(20)],
        lambda _: _booster(300, 64),
    ),
    Call(
        "adapt",
        lambda _: rr.adapt(_booster(30, 64), tuple(_some().values())),
        lambda _: _booster(30, 64),
    ),
    Call(
        "local_optimum",
        lambda _: rr.local_optimum(
            _booster(30, 16), _some()["X"], _some()["y"], qid=_some()["qid"]
        ),
        lambda _: _booster(30, 16),
    ),
    Call(
        "distill", lambda _: rr.distill(_booster(300, 64), **_some()), lambda _: _booster(300, 64)
    ),
    Call(
        "expand",
        lambda _: rr.expand(tuple(_some().values()), tuple(_some().values())),
        lambda _: _dataset("some"),
    ),
    Call(
        "text of a model",
        lambda _: [rr.Booster.from_text(_booster(2000, 255).to_text()) for _ in range(5)],
        lambda _: _booster(2000, 255),
    ),
    Call(
        "save",
        lambda folder: [_booster(2000, 255).save(folder / "saved.rrk") for _ in range(5)],
        lambda _: _booster(2000, 255),
    ),
    Call("dump", lambda _: _booster(2000, 255).dump(), lambda _: _booster(2000, 255)),
    Call(
        "mix",
        lambda _: [rr.mix([_booster(2000, 255)] * 5, [1.0] * 5) for _ in range(3)],
        lambda _: _booster(2000, 255),
    ),
    *(
        Call(
            f"export to {library}",
            lambda _, to=library: [_booster(2000, 255).export(to) for _ in range(5)],
            lambda _: _booster(2000, 255),
        )
        for library in ("lightgbm", "xgboost", "ranklib", "onnx")
    ),
    *(
        Call(
            f"read {library}",
            lambda folder, of=library: [rr.Booster.load(folder / of) for _ in range(5)],
            lambda folder, of=library: _booster(2000, 255).export(of, folder / of),
        )
        for library in ("lightgbm", "xgboost")
    ),
    _evaluated("ndcg@10"),
    _evaluated("map"),
    _evaluated("err"),
    _evaluated("ndcg", _one_query),
    Call(
        "compare",
        lambda _: rr.compare(
            _scores(_many()), -_scores(_many()), _many()["y"], qid=_many()["qid"], resamples=200_000
        ),
        lambda _: _many(),
    ),
    _combined("sweep", 2),
    _combined("powell", 4, metric="map"),
    _combined("auto", 3),
    Call(
        "cross_validate", lambda _: rr.cross_validate(rr.LambdaMART(), **_some()), lambda _: _some()
    ),
    Call(
        "tune",
        lambda _: rr.tune(rr.LambdaMART(), tuple(_some().values()), trials=20),
        lambda _: _dataset("some"),
    ),
    Call(
        "ensemble",
        lambda _: rr.ensemble({"a": rr.LambdaMART(), "b": rr.RankNet()}, tuple(_some().values())),
        lambda _: _dataset("some"),
    ),
    Call(
        "pareto_front",
        lambda _: rr.pareto_front(_dataset("some"), ["ndcg@10", "map"]),
        lambda _: _dataset("some"),
    ),
    Call(
        "report",
        lambda _: rr.report({"a": _booster(300, 64), "b": _booster(30, 64)}, _dataset("some")),
        lambda _: (_booster(300, 64), _booster(30, 64)),
    ),
    _command(
        "train",
        "{folder}/docs.parquet",
        "{folder}/trained.rrk",
        "--label",
        "label",
        "--qid",
        "query",
        "--categorical",
        "brand",
    ),
    _command(
        "train",
        "{folder}/docs.csv",
        "{folder}/trained.rrk",
        "--label",
        "label",
        "--qid",
        "query",
        "--categorical",
        "brand",
    ),
    Call(
        "position-based clicks",
        lambda _: rr.clicks.PositionBased().fit(_clicks()),
        lambda _: _clicks(),
    ),
]
