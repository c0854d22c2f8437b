"""An extension of griffe, which reads docstrings for the site: names of one entry keep their own defaults.

Of ``gain, ties : ...`` griffe gives every name the default of the first one in the signature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator


class OwnDefaults(griffe.Extension):
    """Give each parameter in a docstring the default that it has in the signature."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through a package that was loaded."""
        for documented in _documented(pkg):
            _correct(documented)


def _documented(owner: griffe.Module | griffe.Class) -> Iterator[griffe.Function | griffe.Class]:
    for member in owner.members.values():
        if isinstance(member, (griffe.Function, griffe.Class)) and member.docstring:
            yield member
        if isinstance(member, (griffe.Module, griffe.Class)):
            yield from _documented(member)


def _correct(documented: griffe.Function | griffe.Class) -> None:
    signature = documented.parameters
    # The same object as a default of the signature: not one that the docstring has in words.
    of_signature = {id(one.default) for one in signature}
    for section in documented.docstring.parsed if documented.docstring else ():
        if isinstance(section, griffe.DocstringSectionParameters):
            for one in section.value:
                if one.name in signature and id(one.value) in of_signature | {id(None)}:
                    one.value = signature[one.name].default
