"""The commands of the command line, one module for each.

A module has ``register(commands)``, which adds its command: the options, the help, and the function that
takes the options and returns the exit code. Modules that are needed only to run a command are imported
when it runs, so that help and completion are fast.
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
    """Add all commands to a parser."""
    for name in NAMES:
        import_module(f"rustrank.cli.commands.{name}").register(commands)
