"""What was measured, one JSON object a line: appended at once, so that a run can be resumed.

A record is found again by its key, a mapping of plain values. Nothing can tell that rustrank was
built anew since: take another file, or `--variant` with another name, after a change that matters.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Key = dict[str, Any]


class Records:
    """Records read from some files and appended to the first; kept in memory without one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._out = paths[0] if paths else None
        self._found: dict[str, Any] = {}
        for path in paths:
            if path.exists():
                for line in path.read_text("utf-8").splitlines():
                    self._read(line)

    def _read(self, line: str) -> None:
        try:
            record = json.loads(line)
        except ValueError:
            # Half a line: its writer was killed. What it measured is measured again.
            return
        self._add(record)

    def _add(self, record: Key) -> None:
        self._found.setdefault(_name(record["key"]), record["value"])

    def get(self, key: Key) -> Any:
        """Return the value under a key, or None."""
        return self._found.get(_name(key))

    def keep_in_memory(self, key: Key, value: Any) -> None:
        """Keep a value for this run alone."""
        self._add({"key": key, "value": value})

    def put(self, key: Key, value: Any) -> None:
        record = {"key": key, "value": value}
        self._add(record)
        if self._out is not None:
            with self._out.open("a", encoding="utf-8") as file:
                # The first line break is for after half a line.
                file.write("\n" + json.dumps(record) + "\n")


def _name(key: Key) -> str:
    return json.dumps(key, sort_keys=True)
