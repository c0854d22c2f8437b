"""The folder of an unfinished ensemble: model files, and a manifest with the options of each.

A model is written completely before the manifest lists it, and the manifest is replaced atomically. If a
run is killed at any moment, the models that the manifest lists are complete; the others are fitted again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import __version__
from rustrank.errors import DataError, ParamError
from rustrank.inputs.files import checksum, replace_file
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
#: The version of the manifest.
_FORMAT = 1
#: What all fits of a manifest have in common, and how an error calls others.
_ABOUT = {
    "format": "another version of manifests",
    "rustrank": "another version of rustrank",
    "data": "other docs",
}


class SavedModels:
    """A folder of fitted models, safe to use from several threads."""

    def __init__(self, folder: Path, data: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        about = {"format": _FORMAT, "rustrank": __version__, "data": data}
        self._manifest: dict[str, Any] = {**about, "fits": {}}
        path = folder / MANIFEST
        if path.exists():
            self._manifest["fits"] = self._read(path)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text("utf-8"))
            fits, theirs = dict(found["fits"]), {name: found[name] for name in _ABOUT}
        except (ValueError, KeyError, TypeError) as error:
            message = f"{path} is no manifest of an ensemble ({error})"
            raise DataError(message, code="ledger", path=str(path)) from None
        for name, what in _ABOUT.items():
            if theirs[name] != self._manifest[name]:
                message = (
                    f"{self.folder} has fits of {what}: got {self._manifest[name]}, expected "
                    f"{theirs[name]}; pass another directory"
                )
                raise ParamError(message, code="ledger")
        return fits

    def load(self, name: str, recipe: dict[str, Any]) -> Booster | None:
        """Return a saved model, or None. One of the same name with other options is a `ParamError`."""
        with self._lock:
            entry = self._manifest["fits"].get(name)
        if entry is None:
            return None
        theirs = entry["recipe"]
        for key in {**recipe, **theirs}:
            if theirs.get(key) != recipe.get(key):
                message = (
                    f"{self.folder} has {name} fitted otherwise: its {key} was {theirs.get(key)}, "
                    f"and is {recipe.get(key)}; pass another directory, or name the member otherwise"
                )
                raise ParamError(message, code="ledger")
        path = self.folder / entry["file"]
        if checksum(path) != entry["sha256"]:
            message = (
                f"{path} is not what was saved: its checksum is another; delete it and {MANIFEST}"
            )
            raise DataError(message, code="ledger", path=str(path))
        return Booster.load(path)

    def keep(self, name: str, recipe: dict[str, Any], booster: Booster) -> None:
        """Save a model, then list it in the manifest."""
        plain = "".join(letter if letter.isalnum() else "-" for letter in name)
        digest = hashlib.sha256(json.dumps([name, recipe], sort_keys=True).encode()).hexdigest()
        path = self.folder / f"{plain}-{digest[:8]}.rrk"
        booster.save(path)
        entry = {"file": path.name, "sha256": checksum(path), "recipe": recipe}
        with self._lock:
            self._manifest["fits"][name] = entry
            text = json.dumps(self._manifest, indent=1, sort_keys=True)
            replace_file(self.folder / MANIFEST, f"{text}\n")
