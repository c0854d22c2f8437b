"""The commands of the command line, a module each.

A module has ``register(commands)``, which adds its command: options, help, and the function that
takes the options and returns the exit code. What a command needs only to do its work is imported
when it does it, so that help and completion are quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["NAMES", "register"]

#: All commands, in the order in which help names them.
NAMES = (
    "inspect",
    "train",
    "score",
    "evaluate",
    "compare",
    "report",
    "combine",
    "adapt",
    "tune",
    "convert",
    "shard",
    "completion",
)


def register(commands: Any) -> None:
    """Add all commands to a parser's."""
    for name in NAMES:
        import_module(f"rustrank.cli.commands.{name}").register(commands)
