"""The commands of the command line, one module for each.

A module has ``register(parser)``, which gives the parser of its command the arguments, the help, and the
function that takes the options and returns the exit code. Modules that are needed only to run a command
are imported when it runs, so that help and completion are fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["NAMES", "register"]

#: All commands with what they are for, in the order in which help names them.
NAMES = {
    "inspect": "what is in a file of data, or of a model?",
    "train": "train a ranker",
    "score": "score docs with a model",
    "evaluate": "how good is a ranking?",
    "compare": "which of two rankings is better?",
    "report": "rankers compared, as one HTML page",
    "combine": "the best mixture of rankers",
    "adapt": "a ranker for another market",
    "tune": "try options of a ranker",
    "convert": "a model from or for another library",
    "shard": "split a data set by queries, for several workers",
    "completion": "what a shell needs to complete our commands",
}


def register(commands: Any, only: str | None = None) -> None:
    """Add all commands to a parser; their arguments too, or those of one command only."""
    for name, says in NAMES.items():
        parser = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
        if only in (None, name):
            import_module(f"rustrank.cli.commands.{name}").register(parser)
