"""The functions that read and write files, for tests that let their calls of the system fail one by one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from rustrank.cli import main
from rustrank.distributed.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

warnings.simplefilter("ignore")

_G = np.random.default_rng(0)
X = _G.normal(size=(120, 4)).astype(np.float32)
Y = np.clip(np.rint(X[:, 0] + _G.normal(size=120)), 0, 2)
QID = np.arange(120) // 10
_LITTLE: dict[str, Any] = {"num_leaves": 4, "min_leaf_docs": 5, "preset": "plain"}
#: Files that a killed process may leave, and files that it may have had open.
_HIDDEN = "."


@dataclass
class EntryPoint:
    """A call that reads or writes files of a folder."""

    name: str
    #: Writes what is there before.
    prepare: Callable[[Path], object]
    #: The call; what it returns is compared, too.
    act: Callable[[Path], object]
    #: What the folder says, by a reader that a user would have; compared instead of the files' bytes.
    says: Callable[[Path], object] | None = None
    #: Whether a call that failed may have left a part of the new, from which the next call goes on.
    goes_on: bool = False

    def state(self, folder: Path) -> object:
        """Return what is in the folder, without the files that a killed process may leave."""
        if self.says is not None:
            return self.says(folder)
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.name: path.read_bytes() for path in files if path.name[0] != _HIDDEN}


def _train(seed: int = 0, **options: Any) -> rr.Booster:
    plain = {"num_trees": 6, "seed": seed, "progress": False, "num_threads": 1}
    return rr.train(rr.Dataset(X, Y, qid=QID), **(_LITTLE | plain | options))


@cache
def _booster(seed: int = 0) -> rr.Booster:
    return _train(seed, features_per_tree=0.5)


def _letor(seed: int) -> str:
    lines = []
    for label, qid, row in zip(Y, QID, X * (1 + seed), strict=True):
        cells = " ".join(f"{at}:{value:.9g}" for at, value in enumerate(row.tolist(), 1))
        lines.append(f"{label:.0f} qid:{qid} {cells}\n")
    return "".join(lines)


def _write_letor(folder: Path) -> None:
    (folder / "docs.txt").write_text(_letor(0))


def _write_scores(path: Path) -> None:
    path.write_text("".join(f"{score!r}\n" for score in X[:, 0].tolist()))


def _checkpoint(folder: Path) -> str:
    path = folder / "checkpoint.rrk"
    return _train(checkpoint=path, checkpoint_every=2, resume=True).to_text()


def _checkpoint_rounds(folder: Path) -> str:
    """Return the trees of the checkpoint, which are the first of the whole training, or fail."""
    path = folder / "checkpoint.rrk"
    if not path.exists():
        return "none"
    found = rr.Booster.load(path)
    np.testing.assert_array_equal(found.predict(X), _train(num_trees=found.num_trees).predict(X))
    return str(found.num_trees)


def _source(folder: Path) -> Path:
    """Return the folder for what is read and not written."""
    return folder / "source"


def _prepare_shards(folder: Path) -> None:
    source = _source(folder)
    source.mkdir()
    (source / "old.txt").write_text(_letor(0))
    (source / "new.txt").write_text(_letor(1))
    rr.shard(source / "old.txt", folder / "shards", shards=2)


def _shard(compress: bool) -> Callable[[Path], object]:
    def act(folder: Path) -> object:
        made = rr.shard(
            _source(folder) / "new.txt",
            folder / "shards",
            shards=3,
            overwrite=True,
            compress=compress,
        )
        return made.num_docs

    return act


def _shards_say(folder: Path) -> object:
    shards = Shards.load(folder / "shards")
    data = shards.dataset()
    return len(shards.paths()), data.num_docs, data.labels.tolist(), data.num_features


def _report(folder: Path) -> None:
    rr.report({"model": _booster()}, rr.Dataset(X, Y, qid=QID)).save(folder / "report.html")


def _ensemble(folder: Path) -> str:
    members = {
        name: rr.LambdaMART(n_estimators=trees, n_jobs=1, **_LITTLE)
        for name, trees in (("a", 3), ("b", 4))
    }
    found = rr.ensemble(
        members, X, y=Y, qid=QID, folds=2, directory=folder, num_threads=1, metrics="ndcg@5"
    )
    return found.booster.to_text()


def _tune(folder: Path) -> object:
    ranker = rr.LambdaMART(n_estimators=3, n_jobs=1, **_LITTLE)
    found = rr.tune(
        ranker, X, {"learning_rate": [0.1, 0.3], "num_leaves": [2, 4]}, y=Y, qid=QID, method="grid", folds=2,
        records=folder / "records.jsonl", refit=False, num_threads=1,
    )  # fmt: skip
    return found.best


def _run(*arguments: object) -> None:
    """Run a command as `rustrank` does, and raise for its exit code."""
    code = main([str(argument) for argument in arguments])
    if code:
        raise OSError(f"exit code {code}: {arguments}")


def _score(folder: Path) -> None:
    _run(
        "score",
        _source(folder) / "model.rrk",
        _source(folder) / "docs.txt",
        "--out",
        folder / "scores",
    )


def _prepare_score(folder: Path) -> None:
    source = _source(folder)
    source.mkdir()
    _write_letor(source)
    _booster().save(source / "model.rrk")
    _write_scores(folder / "scores")


def _save_model(folder: Path) -> None:
    _booster(1).save(folder / "model.rrk")


def _prepare_model(folder: Path) -> None:
    _booster().save(folder / "model.rrk")


ENTRY_POINTS = [
    EntryPoint("save", _prepare_model, _save_model),
    EntryPoint("save a new file", lambda _: None, _save_model),
    EntryPoint("checkpoint", lambda _: None, _checkpoint, says=_checkpoint_rounds, goes_on=True),
    EntryPoint("shard text", _prepare_shards, _shard(False), says=_shards_say),
    EntryPoint("shard gzip", _prepare_shards, _shard(True), says=_shards_say),
    EntryPoint(
        "report", lambda folder: (folder / "report.html").write_text("<!doctype html>"), _report
    ),
    EntryPoint("ensemble", lambda _: None, _ensemble, says=lambda _: "none", goes_on=True),
    EntryPoint("tune", lambda _: None, _tune, says=lambda _: "none", goes_on=True),
    EntryPoint("score", _prepare_score, _score),
    EntryPoint(
        "load", _prepare_model, lambda folder: rr.Booster.load(folder / "model.rrk").to_text()
    ),
    EntryPoint(
        "read text",
        _write_letor,
        lambda folder: rr.Dataset.from_letor(folder / "docs.txt").labels.tolist(),
    ),
    EntryPoint("read shards", _prepare_shards, _shards_say),
]
