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
    "inspect": "summarise files of data and models, and what is wrong with them",
    "train": "train a ranker",
    "score": "score documents with a model",
    "evaluate": "measure rankings: scores, models or TREC runs",
    "compare": "test the difference between two rankings",
    "report": "compare rankers on one HTML page",
    "combine": "find the best linear combination of rankers",
    "auto": "train the best ranker that can be had in a given time",
    "adapt": "adapt a ranker to another market with little data",
    "tune": "search for the best options of a ranker",
    "convert": "convert a model from or for another library",
    "shard": "split a data set by queries, for several workers",
    "completion": "print what lets a shell complete commands and options",
}


def register(commands: Any, only: str | None = None) -> None:
    """Add all commands to a parser; their arguments too, or those of one command only."""
    for name, says in NAMES.items():
        parser = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
        if only in (None, name):
            import_module(f"rustrank.cli.commands.{name}").register(parser)
