"""HTML that is escaped by construction: everything that is not `Markup` is escaped as text.

Only this module turns text into markup, so names of queries and features may contain any characters.
"""

from __future__ import annotations

from html import escape
from typing import Any

#: Elements without content or end tag.
_VOID = frozenset({"meta", "link", "br", "col", "hr", "img", "input"})


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def joined(*parts: Any) -> Markup:
    """Concatenate parts; text is escaped, and None is left out."""
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
    """Replace characters that are not allowed in HTML: control characters and lone surrogates."""
    return "".join(
        letter
        if letter in "\n\t" or (letter >= " " and not "\x7f" <= letter <= "\x9f")
        else "\N{REPLACEMENT CHARACTER}"
        for letter in text.encode("utf-8", "replace").decode("utf-8")
    )


def tag(name: str, /, *inside: Any, **attributes: Any) -> Markup:
    """Return an element; attributes that are None or False are left out, ``class_`` is ``class``."""
    attributes_text = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            attributes_text.append(f" {attribute}")
        else:
            attributes_text.append(f' {attribute}="{escape(_printable(str(value)))}"')
    start = f"<{name}{''.join(attributes_text)}>"
    return Markup(start if name in _VOID else f"{start}{joined(*inside)}</{name}>")
