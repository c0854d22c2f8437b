"""Errors of the core in the words of another library: its names of parameters, and hints that it can follow."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rustrank.errors import RustrankError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: What names an option that functions of other libraries do not have, and what takes its place.
_HINTS = {
    '; infinite="missing" treats infinite values as missing': "; replace it",
    "`save` keeps the model, in our own format": (
        "booster.native.save(path) keeps the model, in rustrank's own format"
    ),
    "; or a mapping from features": "",
}
#: The hints at gains of labels, which libraries have different parameters for.
GAIN_HINTS = (
    '; pass a longer gain table or gain="linear"',
    '; pass gain="linear" or a gain table',
)


@contextmanager
def in_words_of(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let errors name parameters by the names that are given for ours, and drop hints at other options.

    Texts that are no names, such as `GAIN_HINTS`, are replaced as they are.
    """
    try:
        yield
    except RustrankError as error:
        if error.args:
            error.args = (_reworded(str(error.args[0]), names or {}), *error.args[1:])
        raise


def _reworded(message: str, names: Mapping[str, str]) -> str:
    hints = {found: other for found, other in names.items() if not found.isidentifier()}
    for found, other in {**_HINTS, **hints}.items():
        message = message.replace(found, other)
    # Not the arguments of a function of rustrank. A name that is a word, such as gain, is followed by its
    # value, its place or what is wrong with it.
    pattern = r"(?<![\w.(@])(?:[a-z]+(?:_[a-z]+)+(?!\w)|[a-z]\w*(?=[:\[=]| is | has ))"
    return re.sub(pattern, lambda one: names.get(one[0], one[0]), message)
