"""HTML that is escaped by construction: what is not `Markup` already is text.

Nothing but this module turns text into markup, so that a query or a feature may be called anything.
"""

from __future__ import annotations

from html import escape
from typing import Any

#: Elements without content or end tag.
_VOID = frozenset({"meta", "link", "br", "col", "hr", "img", "input"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def joined(*parts: Any) -> Markup:
    """Put parts one after the other: markup as it is, all else as text; None is nothing."""
    return Markup("".join(_text(part) for part in parts))


def _text(part: Any) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, (list, tuple)):
        return joined(*part)
    return escape(_printable(str(part)), quote=False)


def _printable(text: str) -> str:
    """Replace what no HTML document may contain: control characters and halves of surrogate pairs."""
    return "".join(
        letter
        if letter in "\n\t" or (letter >= " " and not "\x7f" <= letter <= "\x9f")
        else "\N{REPLACEMENT CHARACTER}"
        for letter in text.encode("utf-8", "replace").decode("utf-8")
    )


def tag(name: str, /, *inside: Any, **attributes: Any) -> Markup:
    """Make an element; attributes that are None or False are left out, ``class_`` is ``class``."""
    said = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            said.append(f" {attribute}")
        else:
            said.append(f' {attribute}="{escape(_printable(str(value)))}"')
    start = f"<{name}{''.join(said)}>"
    return Markup(start if name in _VOID else f"{start}{joined(*inside)}</{name}>")
