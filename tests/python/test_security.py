"""What SECURITY.md promises of input that somebody else made, where no other test holds it."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rustrank as rr
from rustrank.distributed import launching

ROOT = Path(__file__).parents[2]

#: Reads files of every kind, scores, explains, writes; the second time under an audit of what Python does.
_AUDITED = """
import pathlib, sys, warnings
import numpy as np, rustrank as rr
warnings.simplefilter("ignore")
folder = pathlib.Path(sys.argv[1])
docs = rr.datasets.make_polynomial(seed=0, num_queries=30)
docs.to_letor(folder / "docs.txt")
made = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=3, num_leaves=4, progress=False)
made.save(folder / "model.rrk")
for kind in ("lightgbm", "xgboost"):
    made.export(kind, folder / f"model.{kind}")

def work():
    for name in ("model.rrk", "model.lightgbm", "model.xgboost"):
        booster = rr.Booster.load(folder / name)
        booster.predict(docs.X)
        booster.explain(docs.X[:5])
    data = rr.Dataset.from_letor(folder / "docs.txt")
    rr.evaluate(docs.X[:, 0], docs.y, qid=docs.qid)
    rr.report({"model": booster}, docs).save(folder / "report.html")
    rr.shard(folder / "docs.txt", folder / "shards", shards=2, overwrite=True).dataset()
    rr.train(data, num_trees=2, progress=False, checkpoint=folder / "part").predict(docs.X)

work()
seen = []
def audit(event, args):
    name = event.partition(".")[0]
    if event in ("exec", "compile", "import", "os.system", "os.exec", "pickle.find_class") or name in ("socket", "subprocess", "ctypes"):
        seen.append((event, str(args)[:80]))
sys.addaudithook(audit)
work()
found, seen[:] = list(seen), []
eval("1")  # The audit sees something.
print(found, bool(seen))
"""


def test_files_run_no_code_and_nothing_is_sent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _AUDITED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[] True"


def test_a_job_of_workers_is_in_a_folder_of_its_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[int] = []

    def launched(_job: Any, _restarts: int, folder: Path) -> None:
        seen.append(stat.S_IMODE(folder.stat().st_mode))

    monkeypatch.setattr(launching, "launched", launched)
    docs = rr.datasets.make_polynomial(seed=0, num_queries=30)
    docs.to_letor(tmp_path / "docs.txt")
    shards = rr.shard(tmp_path / "docs.txt", tmp_path / "shards", shards=2)
    rr.train(shards, workers=2, num_trees=1)
    assert seen == [0o700]


def test_the_wheel_needs_three_packages() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    found = re.search(r"^dependencies = \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert [one.partition(">")[0] for one in re.findall(r'"(.*?)"', found[1])] == [
        "argcomplete",
        "numpy",
        "tqdm",
    ]


def test_the_tests_that_are_named_exist() -> None:
    named = re.findall(
        r"`((?:tests|fuzz|examples|scripts|docs)/[^`]*|test_\w+\.py)`",
        (ROOT / "SECURITY.md").read_text(),
    )
    assert len(named) > 10
    for one in named:
        assert (ROOT / one).exists() or (ROOT / "tests/python" / one).exists(), one


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("GPL-3.0 OR LGPL-2.1-or-later", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0 WITH LLVM-exception", False),
    ],
)
def test_licences_must_leave_a_choice_that_is_allowed(expression: str, is_allowed: bool) -> None:
    script = ROOT / "scripts" / "check-licences"
    names: dict[str, Any] = {"__name__": "check_licences"}
    exec(compile(script.read_text(), str(script), "exec"), names)  # noqa: S102 - a script of ours
    assert names["is_allowed"](expression) == is_allowed
