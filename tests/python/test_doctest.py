"""The examples in docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import rustrank

MODULES = [name for _, name, _ in pkgutil.walk_packages(rustrank.__path__, "rustrank.")]
#: Modules that are made of classes of another library, and that library.
OPTIONAL = {"rustrank.compat.pyterrier": "pyterrier", "rustrank.spark": "pyspark"}


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_run(name: str) -> None:
    for start, library in OPTIONAL.items():
        if name.startswith(start):
            pytest.importorskip(library)
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_public_functions_have_examples() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in ("Combiner", "Dataset", "evaluate", "compare"):
        found = finder.find(getattr(rustrank, name), name)
        assert any(one.examples for one in found), name
