"""Existing files that a command would replace: only those of the kind that it writes."""

from __future__ import annotations

from pathlib import Path

from rustrank.errors import ParamError

#: The kinds of files that commands write, as messages call them.
MODEL, SCORES, PAGE, PLOT = "a model", "a file of scores", "an HTML page", "a picture"
#: A file that is checked by what reads it again.
ANY = "any file"
#: The bytes of a file that show what it is.
_START = 1 << 16
#: What the models begin with that we write, but for JSON, and what JSON and UBJSON of a model have in them.
_MODELS = (b"rustrank model", b"tree\n", b"tree\r", b"## LambdaMART", b"\x08")
_IN_JSON = (b"learner", b'"features_info"', b'"oblivious_trees"', b'"tree_info"')
#: What pages and the pictures of matplotlib begin with.
_PAGES = (b"<!doctype html", b"<html")
_PLOTS = (
    b"\x89PNG",
    b"%PDF",
    b"%!PS",
    b"<?xml",
    b"<svg",
    b"\xff\xd8",
    b"RIFF",
    b"II*",
    b"MM\0",
    b"GIF8",
)


def require_replaceable(output: str, kind: str, hint: str = "") -> None:
    """Raise `ParamError` for a file that exists and is of another kind than what would replace it.

    Empty files, pipes and devices may be written.
    """
    if kind == ANY or output.startswith("/dev/") or not Path(output).is_file():
        return
    with Path(output).open("rb") as stream:
        start = stream.read(_START)
    if start and not _is_of_kind(start, kind):
        message = (
            f"{output}: this file exists and is not {kind}, which would replace it: name another file, or "
            f"delete this one first{hint}"
        )
        raise ParamError(message, code="output")


def _is_of_kind(start: bytes, kind: str) -> bool:
    content = start.lstrip()
    if kind == MODEL:
        is_json = content.startswith(b"{") and any(one in content for one in _IN_JSON)
        return is_json or start.startswith(_MODELS)
    if kind == PAGE:
        return content[:20].lower().startswith(_PAGES)
    return start.startswith(_PLOTS) if kind == PLOT else _are_numbers(start)


def _are_numbers(start: bytes) -> bool:
    """Whether lines are a number each; the last one may be cut."""
    lines = start.split()
    is_one_a_line = len(lines) <= len(start.splitlines())
    try:
        [float(line) for line in lines[: -1 if len(start) == _START else None]]
    except ValueError:
        return False
    return is_one_a_line
