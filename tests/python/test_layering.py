"""The structure of the Python package: small folders, private modules, no cycles, imports that go down.

Imports inside functions count like those at the top of a module. Imports under ``TYPE_CHECKING`` do not:
they are never executed, and a result's class is named in the signatures of packages below it (a `Dataset`
takes a `Booster` as ``like=``; the plot of a result is drawn by `rustrank.plotting`).
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKAGE = Path(__file__).parents[2] / "python" / "rustrank"
#: The packages and modules at the top, lowest first: each imports from lower ones only.
LAYERS = (
    "errors",
    "exit_codes",
    "formatting",
    "progress",
    "inputs",
    "plotting",
    "metrics",
    "data",
    "datasets",
    "clicks",
    "parameters",
    "model",
    "distributed",
    "training",
    "partitions",
    "estimators",
    "combining",
    "selection",
    "ensembles",
    "adaptation",
    "reporting",
    "plots",
    "compat",
    "dask",
    "ray",
    "spark",
    "",  # The public names, in ``__init__.py``.
    "cli",
    "__main__",
)
# A folder of commands has a module for each.
MOST_AT_THE_TOP, MOST_IN_A_FOLDER = 12, 15
#: The compiled extension, which every module may import.
EXTENSION = "rustrank._rustrank"


class Import(NamedTuple):
    """An import of one module by another, by their full names."""

    source: str
    target: str


def name_of(path: Path, root: Path) -> str:
    """Return the full name of the module in a file; that of a package for its ``__init__.py``."""
    parts = ["rustrank", *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources_of(root: Path) -> dict[str, str]:
    """Return the source of each module, by the path of its file from the package's folder."""
    files = sorted(root.rglob("*.py"))
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in files}


def executed(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements below a node, but for those under ``TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from executed(ast.Module([other], []))
        elif isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        else:
            yield from executed(child)


def imports_of(sources: Mapping[str, str]) -> list[Import]:
    """Return the imports among the modules of a package, given the sources by path."""
    modules = {name_of(Path("x") / path, Path("x")): source for path, source in sources.items()}
    packages = {
        name_of(Path("x") / path, Path("x")) for path in sources if path.endswith("__init__.py")
    }
    found = []
    for module, source in modules.items():
        for statement in executed(ast.parse(source)):
            names = [alias.name for alias in statement.names]
            if isinstance(statement, ast.ImportFrom):
                base = statement.module or ""
                if statement.level:
                    depth = statement.level - (module in packages)
                    above = module.split(".")[: len(module.split(".")) - depth]
                    base = ".".join([*above, base] if base else above)
                # `from package import module` imports the module; `from module import name` does not.
                names = [
                    f"{base}.{name}" if f"{base}.{name}" in modules or base == "rustrank" else base
                    for name in names
                ]
            ours = (name for name in names if name.split(".")[0] == "rustrank")
            found += [Import(module, name) for name in ours if name not in (module, EXTENSION)]
    return list(dict.fromkeys(found))


def large_folders(sources: Mapping[str, str]) -> list[str]:
    """Name the folders with too many modules."""
    counts: dict[str, int] = {}
    for path in sources:
        folder = path.rpartition("/")[0]
        counts[folder] = counts.get(folder, 0) + 1
    return [
        f"{folder or 'the top'} has {count} modules"
        for folder, count in counts.items()
        if count > (MOST_IN_A_FOLDER if folder else MOST_AT_THE_TOP)
    ]


def private_imports(imports: Iterable[Import], packages: Iterable[str]) -> list[str]:
    """Name the imports of private modules from outside their folder."""
    known = set(packages)
    found = []
    for source, target in imports:
        inside = source if source in known else source.rpartition(".")[0]
        folder, _, name = target.rpartition(".")
        if name.startswith("_") and not name.endswith("__") and inside != folder:
            found.append(f"{source} imports {target}")
    return found


def cycles(imports: Iterable[Import]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or by way of others."""
    targets: dict[str, set[str]] = {}
    for source, target in imports:
        targets.setdefault(source, set()).add(target)
        targets.setdefault(target, set())

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(targets[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += targets[module]
        return seen

    reached = {module: reachable(module) for module in targets}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in targets
        if module in reached[module]
    }
    return [list(group) for group in sorted(groups)]


def upward_imports(imports: Iterable[Import]) -> list[str]:
    """Name the imports that do not go to a lower layer, and the modules that are in no layer."""
    found = []
    for source, target in imports:
        above, below = ((*name.split("."), "")[1] for name in (source, target))
        if above == below:
            continue
        if not {above, below} <= set(LAYERS):
            found.append(f"{source} imports {target}: one is in no layer, give it one in LAYERS")
        elif LAYERS.index(below) > LAYERS.index(above):
            found.append(f"{source} imports {target}")
    return found


def packages_of(sources: Mapping[str, str]) -> list[str]:
    """Return the full names of the packages."""
    here = Path("x")
    return [name_of(here / path, here) for path in sources if path.endswith("__init__.py")]


def test_folders_are_small() -> None:
    assert large_folders(sources_of(PACKAGE)) == []


def test_private_modules_are_imported_in_their_folder_only() -> None:
    sources = sources_of(PACKAGE)
    assert private_imports(imports_of(sources), packages_of(sources)) == []


def test_no_modules_import_each_other() -> None:
    imports = imports_of(sources_of(PACKAGE))
    assert len(imports) > 300, "the checker sees too few imports"
    assert cycles(imports) == []


def test_imports_go_down_only() -> None:
    sources = sources_of(PACKAGE)
    assert upward_imports(imports_of(sources)) == []
    tops = {path.split("/")[0].removesuffix(".py") for path in sources}
    assert tops - {"__init__"} == set(LAYERS) - {""}


def test_planted_large_folders_are_found() -> None:
    top = {f"m{number}.py": "" for number in range(13)}
    assert large_folders(top) == ["the top has 13 modules"]
    folder = {f"data/m{number}.py": "" for number in range(16)}
    assert large_folders(folder) == ["data has 16 modules"]
    assert large_folders(dict(list(folder.items())[1:])) == []


def test_planted_private_imports_are_found() -> None:
    def found(path: str, source: str) -> list[str]:
        sources = {"data/__init__.py": "", "data/_rows.py": "", "model/__init__.py": ""}
        sources[path] = source
        return private_imports(imports_of(sources), packages_of(sources))

    for line in (
        "from rustrank.data._rows import read",
        "from rustrank.data import _rows",
        "from ..data._rows import read",
        "import rustrank.data._rows",
        "def late() -> None:\n    from rustrank.data._rows import read",
    ):
        assert found("model/booster.py", line) == [
            "rustrank.model.booster imports rustrank.data._rows"
        ]
        assert found("data/dataset.py", line) == []
    assert found("data/__init__.py", "from rustrank.data._rows import read") == []
    assert found("model/__init__.py", "from rustrank.data._rows import read") != []
    assert found("model/booster.py", "from rustrank import _rustrank") == []


def test_planted_cycles_are_found() -> None:
    late = "def late() -> None:\n    from rustrank.data.a import x"
    typed = "if TYPE_CHECKING:\n    from rustrank.data.a import x"
    a = "from rustrank.data.b import y"
    group = ["rustrank.data.a", "rustrank.data.b"]
    for source in (
        late,
        "from .a import x",
        "import rustrank.data.a",
        f"{typed}\nelse:\n    import rustrank.data.a",
    ):
        assert cycles(imports_of({"data/a.py": a, "data/b.py": source})) == [group]
    assert cycles(imports_of({"data/a.py": a, "data/b.py": typed})) == []
    three = {"data/a.py": a, "data/b.py": "import rustrank.data.c", "data/c.py": late}
    assert cycles(imports_of(three)) == [[*group, "rustrank.data.c"]]


def test_planted_imports_upwards_are_found() -> None:
    def found(path: str, source: str) -> list[str]:
        sources = {"model/booster.py": "", "data/dataset.py": "", "new/thing.py": ""}
        return upward_imports(imports_of(sources | {path: source}))

    up = "from rustrank.model.booster import Booster"
    assert found("data/dataset.py", up) == ["rustrank.data.dataset imports rustrank.model.booster"]
    assert found("data/dataset.py", f"def late() -> None:\n    {up}") != []
    assert found("data/dataset.py", f"if TYPE_CHECKING:\n    {up}") == []
    assert found("model/booster.py", "from rustrank.data.dataset import Dataset") == []
    assert found("data/dataset.py", "import rustrank") == ["rustrank.data.dataset imports rustrank"]
    assert found("model/booster.py", "from rustrank import Dataset") != []
    assert "in no layer" in found("new/thing.py", up)[0]
