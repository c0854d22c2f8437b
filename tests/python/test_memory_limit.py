"""A process at the limit of its memory gets a MemoryError from every function, or the result, and goes on."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")

#: What is called, by name; `X`, `y`, `qid`, `s`, `t` and the boosters are made by `_CHILD`.
CALLS = {
    "dataset": "rr.Dataset(X, y, qid=qid)",
    "ranks": "rr.Dataset(X, y, qid=qid, query_ranks=True)",
    "letor": "rr.Dataset.from_letor(folder + '/docs.txt')",
    "training": "rr.train(data, num_trees=3, progress=False, num_threads=2)",
    "predict": "small.predict(X)",
    "predict with queries": "ranked.predict(X, qid=qid)",
    "explain": "small.explain(X[:20_000])",
    "evaluate": "rr.evaluate(s, y, qid=qid, metrics=['ndcg@10', 'map', 'mrr'])",
    "compare": "rr.compare(s, t, y, qid=qid, resamples=100)",
    "combine two": "rr.Combiner().fit({'a': s, 'b': t}, y, qid=qid)",
    "combine three": "rr.Combiner().fit({'a': s, 'b': t, 'c': s * t}, y, qid=qid)",
    "text": "large.to_text()",
    "load": "rr.Booster.load(folder + '/large.rrk')",
    "save": "large.save(folder + '/again.rrk')",
    "lightgbm": "large.export('lightgbm')",
    "xgboost": "large.export('xgboost')",
    "ranklib": "large.export('ranklib')",
    "onnx": "large.export('onnx')",
}

#: Calls whose parts each take more than the reserve of the extension: these are asked for beforehand.
LARGE_CALLS = {
    "dataset": "rr.Dataset(X, y, qid=qid)",
    "ranks": "rr.Dataset(X, y, qid=qid, query_ranks=True)",
    "training": "rr.train(data, num_trees=2, preset='plain', progress=False, num_threads=2)",
    "explain": "small.explain(X)",
    "predict": "small.predict(X)",
    "evaluate": "rr.evaluate(s, y, qid=qid)",
    "compare": "rr.compare(s, t, y, qid=qid, resamples=20)",
    "combine two": "rr.Combiner().fit({'a': s, 'b': t}, y, qid=qid)",
}

_PREPARE = """
import sys, warnings
import numpy as np, rustrank as rr
warnings.simplefilter("ignore")
folder = sys.argv[1]
g = np.random.default_rng(0)
X = g.normal(size=(8000, 20)).astype(np.float32)
y, qid = np.clip(X[:, 0] + g.normal(size=8000), 0, 2).round(), np.arange(8000) // 40
plain = {"progress": False, "num_leaves": 8}
data = rr.Dataset(X, y, qid=qid)
rr.train(data, num_trees=10, **plain).save(folder + "/small.rrk")
rr.train(rr.Dataset(X, y, qid=qid, query_ranks=True), num_trees=10, **plain).save(folder + "/ranked.rrk")
rr.train(data, num_trees=700, num_leaves=63, min_leaf_docs=5, progress=False).save(folder + "/large.rrk")
docs = rr.datasets.make_web(1000, 20, seed=0)
docs.to_letor(folder + "/docs.txt")
"""

_CHILD = """
import resource, sys, warnings
import numpy as np, rustrank as rr
warnings.simplefilter("ignore")
folder, call, limits = sys.argv[1], sys.argv[2], [float(one) for one in sys.argv[3:]]
n, features = (200_000, 20) if "LARGE" not in call else (6_000_000, 2)
g = np.random.default_rng(0)
X = g.random((n, features), np.float32)
y, qid = g.integers(0, 3, n), np.arange(n) // 40
s = g.normal(size=n)
t = s + y
if features == 2:
    small = ranked = rr.train(rr.Dataset(X[:4000], y[:4000], qid=qid[:4000]), num_trees=5, num_leaves=4, progress=False)
else:
    small, ranked = (rr.Booster.load(folder + f"/{name}.rrk") for name in ("small", "ranked"))
large = rr.Booster.load(folder + "/large.rrk") if "large" in call else None
data = rr.Dataset(X, y, qid=qid) if "data" in call else None
rr.evaluate(s[:40], y[:40], qid=qid[:40], num_threads=2), small.predict(X[:10]), small.explain(X[:2])
# Modules are read before: where there is no memory, Python itself finds errors in their syntax.
[getattr(rr, name) for name in rr.__all__]
outcomes = []
for extra in limits:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(extra * 2**20), resource.RLIM_INFINITY))
    try:
        eval(call)
        outcomes.append("ok")
    except (MemoryError, ImportError):
        # What Python cannot import without memory is not ours.
        outcomes.append("error")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
# The process is as good as before.
eval(call)
print(*outcomes)
"""

#: Mebibytes above what the process uses.
_LIMITS = ("0.25", "2", "8", "24", "64", "192")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, "-c", _PREPARE, str(made)], check=True, timeout=300)
    return made


@pytest.mark.parametrize("name", CALLS)
def test_the_limit_is_an_error_and_the_process_goes_on(name: str, folder: Path) -> None:
    command = [sys.executable, "-c", _CHILD, str(folder), CALLS[name], *_LIMITS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    outcomes = done.stdout.split()
    assert len(outcomes) == len(_LIMITS)
    assert outcomes[-1] == "ok"


@pytest.mark.parametrize("name", LARGE_CALLS)
def test_what_takes_more_than_the_reserve_is_asked_for(name: str, tmp_path: Path) -> None:
    limits = [str(limit) for limit in (30, 75, 150, 250, 350, 450, 600, 2000)]
    command = [sys.executable, "-c", _CHILD, str(tmp_path), f"{LARGE_CALLS[name]} # LARGE", *limits]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    outcomes = done.stdout.split()
    assert len(outcomes) == len(limits)
    assert outcomes[-1] == "ok"
