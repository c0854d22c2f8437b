"""The command `completion`: scripts that let a shell complete commands, options and names.

They are generated from the parser.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank.cli.parsing import command, offer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

_EPILOG = """\
examples:
  rustrank completion bash > rustrank.bash && source ./rustrank.bash
  rustrank completion zsh > _rustrank
  rustrank completion fish > rustrank.fish

To keep it: bash reads ~/.local/share/bash-completion/completions/rustrank, zsh a file `_rustrank` in a
folder of $fpath, and fish ~/.config/fish/completions/rustrank.fish.
"""


@dataclass(frozen=True)
class Option:
    """An option of a command, for completion."""

    names: tuple[str, ...]
    says: str
    takes_value: bool
    offered: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command, for completion; its arguments are files unless names are offered."""

    name: str
    says: str
    options: tuple[Option, ...]
    offered: tuple[str, ...]


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "completion",
        "what a shell needs to complete our commands",
        usage="{bash,zsh,fish}",
        epilog=_EPILOG,
        run=lambda options: _run(commands, options.shell),
        has_config=False,
    )
    shell = parser.add_argument(
        "shell", metavar="SHELL", choices=list(_WRITERS), help="bash, zsh or fish"
    )
    offer(shell, _WRITERS)


def _run(commands: Any, shell: str) -> int:
    sys.stdout.write(_WRITERS[shell](list(_known(commands))))
    return 0


def _known(commands: Any) -> Iterator[Command]:
    says = {one.dest: one.help or "" for one in commands._choices_actions}
    for name, parser in commands.choices.items():
        offered: tuple[str, ...] = ()
        options = []
        for action in parser._actions:
            names = vars(action).get("offered", ())
            if action.option_strings:
                options.append(_option(action, names))
            else:
                offered += tuple(names)
        yield Command(name, says[name], tuple(options), offered)


def _option(action: argparse.Action, offered: tuple[str, ...]) -> Option:
    description = (action.help or "").replace("%%", "%")
    return Option(tuple(action.option_strings), description, action.nargs != 0, tuple(offered))


def _bash(commands: list[Command]) -> str:
    cases, values = [], []
    for one in commands:
        names = " ".join(name for option in one.options for name in option.names)
        words = " ".join(one.offered)
        cases.append(f"        {one.name}) options='{names}' words='{words}' ;;")
        for option in one.options:
            if option.offered:
                pattern = "|".join(f"{one.name}:{name}" for name in option.names)
                values.append(f"        {pattern}) words='{' '.join(option.offered)}' ;;")
    takers = _takers(commands)
    return _BASH.format(
        commands=" ".join(one.name for one in commands),
        cases="\n".join(cases),
        values="\n".join(values),
        takers="|".join(takers),
    )


def _takers(commands: list[Command]) -> list[str]:
    """Return the names of all options that take a value."""
    named = {
        name: None
        for one in commands
        for option in one.options
        if option.takes_value
        for name in option.names
    }
    return list(named)


# Files complete as bash's own: so `compopt` where there is nothing of ours.
_BASH = """\
# bash completion for rustrank; made by `rustrank completion bash`.
_rustrank() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local options='' words=''
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{commands} --help --version' -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) return ;;
    esac
    case "$before" in
        {takers}) options='' words='' ;;
    esac
    case "${{COMP_WORDS[1]}}:$before" in
{values}
    esac
    case "$current" in
        -*) words="$options" ;;
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -F _rustrank rustrank
"""


def _zsh(commands: list[Command]) -> str:
    named = "\n".join(f"        '{one.name}:{_zsh_text(one.says)}'" for one in commands)
    return _ZSH.format(
        named=named, cases="\n".join(_zsh_case(one) for one in commands if one.options)
    )


def _zsh_case(one: Command) -> str:
    lines = [
        f"        '{repeat}{name}[{_zsh_text(option.says)}]{_zsh_value(option)}'"
        for option in one.options
        for name in option.names
        for repeat in ("*" if option.takes_value else "",)
    ]
    rest = f"'*:name:({' '.join(one.offered)})'" if one.offered else "'*:file:_files'"
    joined = " \\\n".join([*lines, f"        {rest}"])
    return f"    {one.name}) _arguments \\\n{joined} ;;"


def _zsh_value(option: Option) -> str:
    if not option.takes_value:
        return ""
    return f":value:({' '.join(option.offered)})" if option.offered else ":value:_files"


def _zsh_text(text: str) -> str:
    """Return a text quoted for zsh: brackets and colons are escaped."""
    for mark in "\\[]:":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("'", "'\\''")


_ZSH = """\
#compdef rustrank
# zsh completion for rustrank; made by `rustrank completion zsh`.
_rustrank() {{
    local -a commands
    commands=(
{named}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local name="$words[2]"
    shift words
    (( CURRENT-- ))
    case "$name" in
{cases}
    esac
}}
if [ "$funcstack[1]" = "_rustrank" ]; then
    _rustrank "$@"
else
    compdef _rustrank rustrank
fi
"""


def _fish(commands: list[Command]) -> str:
    lines = ["# fish completion for rustrank; made by `rustrank completion fish`."]
    for one in commands:
        says = _fish_text(one.says)
        lines.append(f"complete -c rustrank -n __fish_use_subcommand -f -a {one.name} -d {says}")
    for one in commands:
        seen = f"complete -c rustrank -n '__fish_seen_subcommand_from {one.name}'"
        if one.offered:
            lines.append(f"{seen} -f -a '{' '.join(one.offered)}'")
        lines += [f"{seen} {_fish_option(option)}" for option in one.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    )
    value = " -r" if option.takes_value else ""
    if option.offered:
        value += f" -f -a '{' '.join(option.offered)}'"
    return f"{names}{value} -d {_fish_text(option.says)}"


def _fish_text(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


_WRITERS: dict[str, Callable[[list[Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
