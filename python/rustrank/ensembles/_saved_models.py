"""The folder of an unfinished ensemble: model files, and a manifest with the options of each.

A model is written completely before the manifest lists it, and the manifest is replaced atomically. If a
run is killed at any moment, the models that the manifest lists are complete; the others are fitted again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import __version__
from rustrank.errors import DataError, ParamError
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from os import PathLike

MANIFEST = "manifest.json"
#: The version of the manifest.
_FORMAT = 1


class SavedModels:
    """A folder of fitted models, safe to use from several threads."""

    def __init__(self, directory: str | PathLike[str], data: str) -> None:
        self.folder = Path(fspath(directory))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._manifest: dict[str, Any] = {
            "format": _FORMAT,
            "rustrank": __version__,
            "data": data,
            "fits": {},
        }
        path = self.folder / MANIFEST
        if path.exists():
            self._manifest["fits"] = self._read(path)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text("utf-8"))
            fits = dict(found["fits"])
            theirs = {name: found[name] for name in ("format", "rustrank", "data")}
        except (ValueError, KeyError, TypeError) as error:
            message = f"{path} is no manifest of an ensemble ({error})"
            raise DataError(message, code="ledger", path=str(path)) from None
        for name, what in (
            ("format", "another version of manifests"),
            ("rustrank", "another version of rustrank"),
            ("data", "other docs"),
        ):
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
        changed = [key for key in recipe if recipe[key] != theirs.get(key)]
        changed += [key for key in theirs if key not in recipe]
        if changed:
            key = changed[0]
            message = (
                f"{self.folder} has {name} fitted otherwise: its {key} was {theirs.get(key)}, and is "
                f"{recipe.get(key)}; pass another directory, or name the member otherwise"
            )
            raise ParamError(message, code="ledger")
        path = self.folder / entry["file"]
        if _checksum(path) != entry["sha256"]:
            message = (
                f"{path} is not what was saved: its checksum is another; delete it and {MANIFEST}"
            )
            raise DataError(message, code="ledger", path=str(path))
        return Booster.load(path)

    def keep(self, name: str, recipe: dict[str, Any], booster: Booster) -> Booster:
        """Save a model, then list it in the manifest."""
        plain = "".join(letter if letter.isalnum() else "-" for letter in name)
        digest = hashlib.sha256(json.dumps([name, recipe], sort_keys=True).encode()).hexdigest()
        file = f"{plain}-{digest[:8]}.rrk"
        path = self.folder / file
        booster.save(path)
        entry = {"file": file, "sha256": _checksum(path), "recipe": recipe}
        with self._lock:
            self._manifest["fits"][name] = entry
            replace_file(
                self.folder / MANIFEST, json.dumps(self._manifest, indent=1, sort_keys=True)
            )
        return booster


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically."""
    other = path.with_name(f".{path.name}.new")
    other.write_text(text + "\n", "utf-8")
    other.replace(path)


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
