"""Memory stays flat however often each function is called, also when it fails.

`make leaks` runs 1000 calls of each; the tests run a tenth.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: What is called, by name; `_CHILD` makes what the calls use.
CALLS = {
    "dataset": "rr.Dataset(X, y, qid=qid)",
    "ranks": "rr.Dataset(X, y, qid=qid, query_ranks=True)",
    "categories": "rr.Dataset(frame, y, qid=qid, categorical=['shop'])",
    "read text": "rr.Dataset.from_letor(folder / 'docs.txt')",
    "batches": "rr.Dataset.from_batches(lambda: [(X, y, qid)])",
    "training": "rr.train(data, num_trees=2, valid=data, **little)",
    "mcrank": "rr.train(data, objective='mcrank', num_trees=1, **little)",
    "own loss": "rr.train(data, objective=own_loss, num_trees=2, **little)",
    "nets": "rr.RankNet(epochs=1, n_jobs=1).fit(X, y, qid=qid)",
    "failed training": "fails(rr.train, data, num_trees=2, callbacks=stops, **little)",
    "ended training": "fails(rr.train, data, num_trees=2, monotone={'no': 1}, **little)",
    "predict": "booster.predict(X)",
    "predict with ranks": "ranked.predict(X, qid=qid)",
    "predict a frame": "booster.predict(pd.DataFrame(X))",
    "failed predict": "fails(booster.predict, X[:, :2])",
    "explain": "booster.explain(X[:20])",
    "importance": "booster.feature_importance()",
    "evaluate": "rr.evaluate(s, y, qid=qid, metrics=['ndcg@10', 'map'])",
    "compare": "rr.compare(s, -s, y, qid=qid, resamples=50)",
    "combine": "rr.Combiner().fit({'a': s, 'b': -s}, y, qid=qid)",
    "mix": "rr.mix([booster, booster], [0.5, 0.5])",
    "text": "rr.Booster.from_text(booster.to_text())",
    "files": "booster.save(folder / 'm'), rr.Booster.load(folder / 'm')",
    "failed load": "fails(rr.Booster.load, folder / 'docs.txt')",
    "pickles": "pickle.loads(pickle.dumps(booster))",
    "lightgbm": "rr.Booster.from_text(booster.export('lightgbm').decode())",
    "xgboost": "booster.export('xgboost')",
    "onnx": "booster.export('onnx')",
    "shards": "rr.shard(folder / 'docs.txt', folder / 'shards', shards=2, overwrite=True).dataset()",
    "report": "rr.report({'model': booster}, data).html",
}
#: How often each is called: `make leaks` says 1000.
CALLS_OF_EACH = int(os.environ.get("RUSTRANK_LEAK_CALLS", "100"))

_CHILD = """
import pathlib, pickle, sys, tempfile, warnings
import numpy as np, pandas as pd, rustrank as rr
warnings.simplefilter("ignore")
call, times = sys.argv[1], int(sys.argv[2])
folder = pathlib.Path(tempfile.mkdtemp())
docs = rr.datasets.make_polynomial(seed=0, num_queries=20)
X, y, qid = docs.X[:, :8].copy(), docs.y, docs.qid
s = X[:, 0].astype(float)
frame = pd.DataFrame({"a": X[:, 0], "shop": np.where(X[:, 1] > 0, "one", "two")})
docs.to_letor(folder / "docs.txt")
little = {"num_leaves": 4, "progress": False, "num_threads": 1}
data = rr.Dataset(X, y, qid=qid)
booster = rr.train(data, num_trees=5, **little)
ranked = rr.train(rr.Dataset(X, y, qid=qid, query_ranks=True), num_trees=5, **little)

def own_loss(scores, labels, rows):
    return labels - scores, np.ones_like(scores)

def stops(latest):
    raise ValueError

def fails(what, *arguments, **options):
    try:
        what(*arguments, **options)
    except Exception:
        return
    raise SystemExit("it did not fail")

def held():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096

def cycles(number):
    for _ in range(number):
        eval(code)

code = compile(call, "call", "eval")
# The first calls fill what is kept on purpose: imports, pools, the allocator's own lists.
cycles(max(20, times // 2))
before = held()
cycles(times)
print(held() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_is_flat(call: str) -> None:
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, call, str(CALLS_OF_EACH)],
        env=os.environ | {"MALLOC_ARENA_MAX": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    grown = int(done.stdout)
    # A leak of the data, the model or the page of a call would be of 20 KB and more.
    assert grown < 600_000 + 2_000 * CALLS_OF_EACH, f"{grown:,} bytes in {CALLS_OF_EACH} calls"
