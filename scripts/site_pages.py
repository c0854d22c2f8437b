"""What pages of the documentation take from the sources, so that nothing is said twice.

A line ``{{ name argument }}`` of a page is replaced by what the function of that name returns.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
_MARK = re.compile(r"^\{\{ (\w+)(?: (\S+))? \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in a page; what MkDocs calls."""
    return _MARK.sub(lambda found: _FILLERS[found[1]](found[2] or ""), markdown)


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def _story(path: str) -> str:
    """Return the documentation at the head of a Rust file."""
    lines = [line for line in _read(path).splitlines() if line.startswith("//!")]
    return "\n".join(line[3:].removeprefix(" ") for line in lines)


def _block(path: str, start: str) -> str:
    """Return the first block of a Rust file's story that opens with ``start``."""
    return _story(path).partition(f"{start}\n")[2].partition("```")[0]


def _grammar(_: str) -> str:
    """Return the grammar of model files: of the whole, then of each kind of part."""
    folder = ROOT / "src" / "model" / "parts"
    parts = sorted([*folder.glob("*.rs"), *folder.glob("*/mod.rs")])
    paths = ["src/model/format.rs", *(str(path.relative_to(ROOT)) for path in parts)]
    return _fence("text", "".join(_block(path, "```text") for path in paths))


def _format_notes(_: str) -> str:
    """Return what the story says after the grammar."""
    rest = _story("src/model/format.rs").partition("```text")[2].partition("```\n")[2]
    return "\n".join(line for line in rest.splitlines() if not line.startswith("[`"))


def _first_rust(_: str) -> str:
    lines = _block("src/lib.rs", "```").splitlines()
    return _fence("rust", "\n".join(line.removeprefix("# ") for line in lines))


def _source(path: str) -> str:
    language = {"rs": "rust", "h": "c", "py": "python"}[path.rpartition(".")[2]]
    return _fence(language, _read(path))


def _markdown(path: str) -> str:
    """Return a page of the repository without its title."""
    text = _read(path).partition("\n")[2]
    return re.sub(r"^(#+) ", r"\1# ", text, flags=re.MULTILINE) if "\n# " in text else text


def _papers(_: str) -> str:
    """Return what each script of `examples/papers` says of itself."""
    parts = []
    for path in sorted((ROOT / "examples" / "papers").glob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        title, _, rest = said.partition("\n")
        body: list[str] = []
        command: list[str] = []
        for line in rest.strip("\n").splitlines():
            (command if line.startswith("    python ") else body).append(line)
        parts += [f"### `{path.name}`: {title.rstrip('.')}", "\n".join(body).strip()]
        parts.append(_fence("text", textwrap.dedent("\n".join(command))))
    return "\n\n".join(parts)


def _commands(_: str) -> str:
    """Return the help of every command, at one width."""
    import os

    from rustrank.cli import parser

    os.environ["COLUMNS"] = "100"
    made = parser()
    parts = [_fence("text", made.format_help())]
    for name, command in vars(made)["commands"].items():
        parts += [f"## `rustrank {name}`", _fence("text", command.format_help())]
    return "\n\n".join(parts)


def _parameters(_: str) -> str:
    """Return all parameters of all kinds of training."""
    import runpy

    page: str = runpy.run_path(str(ROOT / "scripts" / "parameters.py"))["page"]()
    return page


_FILLERS: dict[str, Callable[[str], str]] = {
    "grammar": _grammar,
    "format_notes": _format_notes,
    "first_rust": _first_rust,
    "source": _source,
    "markdown": _markdown,
    "papers": _papers,
    "commands": _commands,
    "parameters": _parameters,
}
