"""What importing the package brings along: counted, since times depend on the machine."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

import rustrank as rr

ROOT = Path(__file__).parents[2]
#: What only some need: never imported unless it is asked for.
OPTIONAL = ["sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "optuna", "tqdm"]
OPTIONAL += ["argcomplete"]


def imported(code: str, *, without: tuple[str, ...] = ()) -> set[str]:
    """Return the modules that code imports in a fresh interpreter, some of which may be forbidden."""
    line = f"import json, sys\nfor one in {without!r}: sys.modules[one] = None\nimport numpy\n"
    line += f"before = set(sys.modules)\n{code}\nprint(json.dumps(list(set(sys.modules) - before)))"
    done = subprocess.run(
        [sys.executable, "-c", line], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout))


def test_the_package_alone_is_three_modules() -> None:
    found = imported("import rustrank")
    ours = {name for name in found if name.startswith("rustrank")}
    assert ours == {"rustrank", "rustrank.errors", "rustrank._rustrank"}
    assert not {name.partition(".")[0] for name in found} & set(OPTIONAL)


def test_a_name_brings_what_it_needs_and_nothing_optional() -> None:
    every = "import rustrank\nfor name in rustrank.__all__: getattr(rustrank, name)"
    found = imported(every)
    assert not {name.partition(".")[0] for name in found} & set(OPTIONAL)
    assert "rustrank.training.train" in found
    assert not any(name.startswith("rustrank.compat") for name in found)
    judging = imported("from rustrank import evaluate")
    assert not judging & {
        "rustrank.training.train",
        "rustrank.adaptation.adaptation",
        "rustrank.plots",
    }


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import rustrank.compat.pyterrier", "PyTerrier: pip install python-terrier"),
        (
            "from rustrank.compat import mlflow\nmlflow.metric('ndcg@10')",
            "MLflow: pip install mlflow",
        ),
    ],
)
def test_a_missing_library_is_named(code: str, needed: str) -> None:
    line = f"import sys\nsys.modules |= {{'pyterrier': None, 'mlflow': None}}\n{code}"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False)
    assert re.search(
        rf"ImportError: rustrank\.compat\.\w+ needs {needed}$", done.stderr, re.MULTILINE
    )


def test_numpy_and_tqdm_are_enough() -> None:
    code = """
import rustrank as rr
docs = rr.datasets.make_polynomial(20, 10, seed=1)
booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=3)
rr.evaluate(booster.predict(docs.X), docs.y, qid=docs.qid)
rr.LambdaMART(n_estimators=2).fit(docs.X, docs.y, qid=docs.qid).predict(docs.X)
"""
    without = tuple(name for name in OPTIONAL if name != "tqdm")
    assert "rustrank.model.booster" in imported(code, without=without)
    needed = metadata.requires("rustrank") or []
    always = {one.partition(">")[0] for one in needed if "extra ==" not in one}
    assert always == {"argcomplete", "numpy", "tqdm"}


def test_names_of_other_libraries_need_neither_these_nor_anything_optional() -> None:
    code = """
import rustrank as rr
docs = rr.datasets.make_polynomial(20, 10, seed=1)
import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb
lgb.LGBMRanker(n_estimators=2).fit(docs.X, docs.y, group=docs.group).predict(docs.X)
xgb.XGBRanker(n_estimators=2).fit(docs.X, docs.y, qid=docs.qid).predict(docs.X)
"""
    without = (*(name for name in OPTIONAL if name != "tqdm"), "lightgbm", "xgboost")
    found = imported(code, without=without)
    assert "rustrank.compat.xgboost.sklearn" in found


def test_names_are_where_type_checkers_see_them() -> None:
    tree = ast.parse((ROOT / "python" / "rustrank" / "__init__.py").read_text("utf-8"))
    (block,) = (
        one
        for one in tree.body
        if isinstance(one, ast.If) and getattr(one.test, "id", "") == "TYPE_CHECKING"
    )
    seen: dict[str, str] = {}
    for one in block.body:
        if isinstance(one, ast.ImportFrom):
            names = [alias.name for alias in one.names]
            if names == ["*"]:
                names = import_module(str(one.module)).__all__
            seen |= dict.fromkeys(names, str(one.module).removeprefix("rustrank").lstrip("."))
    homes = vars(rr)["_HOMES"] | dict.fromkeys(vars(rr)["_MODULES"], "")
    assert seen == homes
    # A module of that name, once imported, would hide the name.
    packages = {home.partition(".")[0] for home in vars(rr)["_HOMES"].values()}
    assert not set(vars(rr)["_HOMES"]) & packages
    assert set(dir(rr)) == set(rr.__all__)
    assert set(homes) <= set(rr.__all__)


def test_a_name_that_there_is_not_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'rustrank' has no attribute 'trian'"):
        rr.trian  # type: ignore[attr-defined]  # noqa: B018
