"""The folder of an unfinished ensemble: model files, each with a file about its fit, and what all have in common.

A model is written completely before the file about it, and every file is replaced atomically. If a run is killed
at any moment, the models that are told about are complete; the others are fitted again. Several runs may share a
folder: none writes a file that another one has fitted otherwise, and each finds what the others have done.
"""

from __future__ import annotations

import glob
import hashlib
import json
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import __version__
from rustrank.errors import DataError, ParamError
from rustrank.inputs.files import checksum, replace_file
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MANIFEST = "manifest.json"
#: The version of the manifest.
_FORMAT = 2
#: The letters of a member's name in names of files: a letter may take four bytes, a file's name 255.
_MOST_LETTERS = 50
#: What all fits of a manifest have in common, and how an error calls others.
_ABOUT = {
    "format": "another version of manifests",
    "rustrank": "another version of rustrank",
    "data": "other docs",
}


class SavedModels:
    """A folder of fitted models, safe to use from several threads and processes."""

    def __init__(self, folder: Path, data: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        about = {"format": _FORMAT, "rustrank": __version__, "data": data}
        path = folder / MANIFEST
        if path.exists():
            self._compare(about, _read(path, _ABOUT))
        else:
            replace_file(path, _text(about))

    def _compare(self, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        for name, what in _ABOUT.items():
            if theirs[name] != ours[name]:
                message = (
                    f"{self.folder} has fits of {what}: got {ours[name]}, expected {theirs[name]}; "
                    "pass another directory"
                )
                raise ParamError(message, code="ledger")

    def load(self, name: str, recipe: dict[str, Any]) -> Booster | None:
        """Return a saved model, or None. One of the same name with other options is a `ParamError`."""
        for path in sorted(self.folder.glob(f"{glob.escape(_plain(name))}-*.json")):
            entry = _read(path, ("name", "file", "sha256", "recipe"))
            if entry["name"] != name:
                continue
            self._check_recipe(name, recipe, dict(entry["recipe"]))
            model = path.with_suffix(".rrk")
            if checksum(model) != entry["sha256"]:
                message = f"{model} is not what was saved: its checksum is another; delete it and {path.name}"
                raise DataError(message, code="ledger", path=str(model))
            return Booster.load(model)
        return None

    def _check_recipe(self, name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        for key in {**ours, **theirs}:
            if theirs.get(key) != ours.get(key):
                message = (
                    f"{self.folder} has {name} fitted otherwise: its {key} was {theirs.get(key)}, "
                    f"and is {ours.get(key)}; pass another directory, or name the member otherwise"
                )
                raise ParamError(message, code="ledger")

    def keep(self, name: str, recipe: dict[str, Any], booster: Booster) -> None:
        """Save a model, then the file about it."""
        digest = hashlib.sha256(json.dumps([name, recipe], sort_keys=True).encode()).hexdigest()
        path = self.folder / f"{_plain(name)}-{digest[:8]}.rrk"
        booster.save(path)
        entry = {"name": name, "file": path.name, "sha256": checksum(path), "recipe": recipe}
        replace_file(path.with_suffix(".json"), _text(entry))


def _plain(name: str) -> str:
    """Return the name of a member as part of a file's name."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)[:_MOST_LETTERS]


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _read(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return what a file of this folder says, which must have these names."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return {name: found[name] for name in names}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = (
            f"{path} is no file of an ensemble ({error}); delete it, or pass another directory"
        )
        raise DataError(message, code="ledger", path=str(path)) from None
