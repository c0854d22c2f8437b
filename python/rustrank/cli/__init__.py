"""The command line: ``rustrank COMMAND``. The commands are in `rustrank.cli.commands`.

Exit codes follow sysexits: 0, 2 (usage), 65 (data), 66 (no input), 70 (a bug, or no memory), 74
(input or output failed), 75 (a worker was lost: starting again makes sense), 130 (interrupted). An
error is one line on standard error.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

from rustrank import _rustrank
from rustrank.cli import commands
from rustrank.cli.config import with_config
from rustrank.cli.parsing import Parser, require_files
from rustrank.cli.streams import close_output, complain, flush_output, require_output
from rustrank.errors import CommError
from rustrank.exit_codes import INTERRUPTED, exit_code_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["main", "parser"]

_EPILOG = """\
examples:
  rustrank inspect train.txt                      summarise a file, and what is wrong with it
  rustrank train train.txt model.rrk              train boosted trees
  rustrank score model.rrk test.txt > scores.txt  score documents
  rustrank convert model.rrk model.onnx           convert a model for another library
  rustrank evaluate test.txt scores.txt           measure a ranking
  rustrank compare test.txt a.txt b.txt           test whether one is better
  rustrank report test.txt bm25.txt model.rrk     compare rankers on one HTML page
  rustrank combine vali.txt a.txt b.txt           find the best combination of both
  rustrank auto train.txt best.rrk                train the best model within a minute
  rustrank adapt base.rrk little.txt              adapt a ranker to another market
  rustrank tune train.txt best.rrk --try num_leaves=7,15    find the best settings

`rustrank COMMAND --help` shows the options of a command.
Exit codes: 0; 2 wrong usage; 65 data or a model that cannot be used; 66 no such file; 70 a bug, or not
enough memory; 74 input or output failed; 75 a worker was lost; 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    # A query id may hold what the terminal cannot show.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _done(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        # Whoever reads has had enough, as `head` does.
        close_output()
        return 0
    except KeyboardInterrupt:
        return _failed(INTERRUPTED, "interrupted")
    except Exception as error:
        is_of_system = isinstance(error, OSError) and not isinstance(error, CommError)
        if is_of_system and getattr(error, "filename", None) is None:
            close_output()  # A stream has failed, and a flush at exit would fail again.
        return _failed(*exit_code_of(error))


def parser(only: str | None = None) -> Parser:
    """Return the parser of the whole command line, or of what one command needs."""
    says = "Train, measure, compare and inspect rankings."
    made = Parser("rustrank", description=says, epilog=_EPILOG)
    version = f"rustrank {_rustrank.__version__}"
    made.add_argument("--version", action="version", version=version)
    found = made.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    commands.register(found, only)
    vars(made)["commands"] = found.choices
    return made


def _complete() -> None:
    """Tell the shell how the words before the cursor go on, and exit."""
    from argcomplete import autocomplete

    autocomplete(parser(_named(os.environ["COMP_LINE"].split()[1:])), always_complete_options=False)


def _named(arguments: Sequence[str]) -> str:
    """Return the command that is named first, or nothing."""
    return arguments[0] if arguments and arguments[0] in commands.NAMES else ""


def _done(arguments: Sequence[str]) -> int:
    """Run a command, and flush its output."""
    try:
        options = _options(list(arguments))
    except SystemExit as end:
        # After --help, --version or a usage error.
        if not end.code:
            flush_output()
        return int(end.code or 0)
    require_output()
    require_files(options)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: complain(f"warning: {message}")
        code: int = options.run(options)
    flush_output()
    return code


def _options(arguments: list[str]) -> argparse.Namespace:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    name = _named(arguments)
    made = parser(name)
    if name:
        arguments[1:] = with_config(vars(made)["commands"][name], arguments[1:])
    return made.parse(arguments)


#: Hints at what Python has, and what takes their place.
_HINTS = {
    '; infinite="missing" treats infinite values as missing': "; leave the cell empty for a missing value",
    ", or a column of a categorical type, which may hold any numbers": "; a column of text may hold any ids",
    "train without ranks: on rr.Dataset(..., query_ranks=False), or with exportable=": "train it with --exportable ",
    " where rr.train chooses the settings": "",
    "early_stopping needs a validation set and a metric: pass valid=": "--early-stopping needs a validation set: pass "
    "--valid",
    "resume needs a checkpoint: pass checkpoint=": "--resume needs a checkpoint: pass --checkpoint",
    "guard: there is no base, expected base=, the booster": "--guard: there is no base, expected --base, the model",
}


def _failed(code: int, message: str) -> int:
    for hint, instead in _HINTS.items():
        message = message.replace(hint, instead)
    if message.startswith("unknown metric"):
        message += "; metrics of further labels, as revenue@10, are for Python only"
    complain(f"error: {' '.join(message.split())}")
    return code


if __name__ == "__main__":
    sys.exit(main())
