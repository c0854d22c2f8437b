"""Every snippet of the documentation runs, page by page and in order, and every name has a place in it.

`make docs` builds the site and refuses links that lead nowhere. Blocks of `console` are for the eye:
they need a network, a service or another toolchain.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from importlib import import_module, util
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rustrank as rr

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
#: What a block may be; the others are for reading.
RUN, SHOWN = ("python", "sh"), ("console", "json", "toml", "text")
#: Libraries that are not among our tools: their blocks run where they are.
PEERS = ("catboost", "lightgbm", "xgboost")
#: Pages on such a library, which run as a whole or not at all, and what is imported of it.
ABOUT = {
    "mlflow": "mlflow",
    "pyterrier": "pyterrier",
    "dask": "distributed",
    "ray": "ray",
    "spark": "pyspark",
}


class Block(NamedTuple):
    """A block of code, the line it stands at, and what language it is in."""

    line: int
    language: str
    code: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    fence = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
    return [
        Block(text.count("\n", 0, one.start()) + 1, one[2], textwrap.dedent(one[3]))
        for one in fence.finditer(text)
    ]


def test_blocks_say_what_they_are() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.language in RUN + SHOWN, f"{page}:{block.line}"
            if block.language == "json":
                json.loads(block.code)


def lacks(code: str) -> bool:
    """Whether a block needs a library that is not here."""
    return any(f"import {peer}" in code and util.find_spec(peer) is None for peer in PEERS)


def shell(code: str, folder: Path) -> None:
    commands = folder / "bin"
    if not commands.exists():
        commands.mkdir()
        for name, runs in (("rustrank", "-W ignore -m rustrank"), ("python", "-W ignore")):
            (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {runs} "$@"\n', "ascii")
            (commands / name).chmod(0o755)
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    done = subprocess.run(
        [bash, "-e", "-o", "pipefail", "-c", code],
        cwd=folder,
        env=os.environ | {"PATH": f"{commands}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(block.language in RUN for block in blocks(page))],
    ids=lambda page: page.stem,
)
@pytest.mark.filterwarnings("ignore::rustrank.RustrankWarning")
# Of the libraries themselves.
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.filterwarnings("ignore:There are shared pipeline components")
@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow")
@pytest.mark.filterwarnings("ignore:PySpark does not yet")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
@pytest.mark.filterwarnings("ignore:`use_push_based_shuffle`")
def test_blocks_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem in ABOUT:
        pytest.importorskip(ABOUT[page.stem])
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "toml":
            # A file that the page names in its first line.
            name = block.code.partition("\n")[0].removeprefix("# ")
            if name.endswith(".toml"):
                Path(name).write_text(block.code, "utf-8")
        elif block.language == "sh":
            shell(block.code, tmp_path)
        elif block.language == "python" and not lacks(block.code):
            # Line numbers of errors are those of the page.
            code = "\n" * block.line + block.code
            exec(compile(code, str(page), "exec"), names)  # noqa: S102


def test_every_public_name_has_a_place() -> None:
    placed = set(re.findall(r"^::: rustrank\.(\S+)$", "\n".join(map(Path.read_text, PAGES)), re.M))
    errors = {name for name in rr.__all__ if name.endswith(("Error", "Timeout", "Warning"))}
    told = (DOCS / "reference" / "errors.md").read_text("utf-8")
    assert {name for name in errors if f"rr.{name}" not in told} <= {"RustrankWarning"}
    modules = {"clicks", "datasets", "partitions", "plots"}
    assert set(rr.__all__) - errors - modules - {"__version__"} - placed == set()
    # Those of compat may need another library; the site is not built if one is missing.
    for name in (
        name for name in placed if not name.startswith(("compat.", "dask.", "ray.", "spark."))
    ):
        owner: Any = rr
        for part in name.split("."):
            owner = getattr(owner, part)


def test_every_option_of_a_table_of_names_exists() -> None:
    """The tables in the guides from other libraries name options of `train`, and of nothing else."""
    import inspect

    known = set(inspect.signature(rr.train).parameters)
    for cls in (rr.Dataset, rr.Booster, rr.LambdaMART, rr.Dataset.from_letor, rr.LambdaMART.fit):
        known |= set(dir(cls)) | set(inspect.signature(cls).parameters)
    known |= {
        "sample_weight",
        "history",
        "best_round",
        "best_round_",
        "history_",
        "booster_",
        "feature_importances_",
    }
    for name in PEERS:
        text = (DOCS / "how-to" / f"{name}.md").read_text("utf-8")
        table = text.partition("## Names")[2].partition("\n## ")[0]
        for row in table.splitlines()[4:]:
            if not row.startswith("|"):
                continue
            for code in re.findall(r"`([^`]+)`", row.split("|")[2]):
                tree = ast.parse(f"f({code})" if "=" in code and "(" not in code else code)
                named = [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)]
                if re.fullmatch(r"[a-z_]+", code):
                    named.append(code)
                for word in named:
                    assert word in known, f"{name}.md: {word}"


def test_names_of_one_entry_have_their_own_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the site; griffe would give all the default of the first."""
    griffe = pytest.importorskip("griffe")
    monkeypatch.syspath_prepend(DOCS.parent / "scripts")
    extension = import_module("griffe_defaults").OwnDefaults()
    code = '''
def function(X, a=1, b="x", c=None, *, d=2.5):
    """Do it.

    Parameters
    ----------
    a, b, c
        Some.
    X, d
        More.
    """
'''
    with griffe.temporary_visited_package(
        "package", {"__init__.py": code}, docstring_parser="numpy"
    ) as package:
        extension.on_package(pkg=package)
        sections = package["function"].docstring.parsed
        found = {one.name: one.value for section in sections[1:] for one in section.value}
    assert found == {"a": "1", "b": "'x'", "c": "None", "X": None, "d": "2.5"}
