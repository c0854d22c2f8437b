"""The command `completion`: what lets a shell complete commands, options and names.

The package argcomplete asks this command line itself, each time that TAB is pressed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser

_EPILOG = """\
examples:
  rustrank completion bash > rustrank.bash && source ./rustrank.bash
  rustrank completion zsh > _rustrank
  rustrank completion fish > rustrank.fish

To keep it: bash reads ~/.local/share/bash-completion/completions/rustrank, zsh a file `_rustrank` in a
folder of $fpath, and fish ~/.config/fish/completions/rustrank.fish.
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    parser.define(_run, "{bash,zsh,fish}", _EPILOG, has_config=False)
    shells = ("bash", "zsh", "fish")
    parser.add("shell", "SHELL", "bash, zsh or fish", choices=shells)


def _run(options: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["rustrank"], shell=options.shell))
    return 0
