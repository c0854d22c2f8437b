"""Options from a file: ``--config FILE``.

The file is TOML, or JSON if its name ends in ``.json``. Its keys are the names of options and arguments
(such as ``data``), with ``_`` or ``-``. Its values are used as if they were on the command line, which has
precedence. A table with the name of a command applies to this command only.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.cli.commands import NAMES
from rustrank.cli.parsing import Parser
from rustrank.errors import DataError, ParamError, UnknownNameError, shown, suggestion

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def with_config(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with those of its ``--config`` file among them.

    An argument that needs no option, such as ``data``, becomes the default of the parser's.
    """
    # What comes after `--` is no option.
    at = arguments.index("--") if "--" in arguments else len(arguments)
    ours, rest = arguments[:at], arguments[at:]
    finder = Parser(parser.prog, add_help=False)
    finder.share("config")
    path = finder.parse_known_args(ours)[0].config
    if path is None:
        return list(arguments)
    command = parser.prog.split()[-1]
    actions = {
        action.dest: action
        for action in parser._actions
        if action.dest not in ("help", "config", "json")
    }
    typed = {one.partition("=")[0] for one in ours}
    made: list[str] = []
    try:
        read = _of_command(_read(path), command, path)
    except RecursionError:
        message = f"{path}: lists or tables stand too deep inside each other"
        raise DataError(message, code="config", path=path) from None
    for key, value in read.items():
        action = actions.get(key.replace("-", "_"))
        if action is None:
            hint = suggestion(key.replace("-", "_"), actions)
            message = f"{path}: `rustrank {command}` has no option {key}{hint}"
            raise UnknownNameError(message, code="config")
        if not action.option_strings:
            _let_default(action, value, f"{path}: {key}")
        elif typed.isdisjoint(action.option_strings):
            made += _arguments(action, value, f"{path}: {key}")
    return [*ours, *made, *rest]


def _read(path: str) -> dict[str, Any]:
    text = Path(path).read_bytes()
    try:
        read = json.loads(text) if path.endswith(".json") else _toml(text.decode(), path)
    except ParamError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: cannot be read: {error}", code="config", path=path) from None
    if not isinstance(read, dict):
        message = f"{path}: got a {type(read).__name__}, expected names and values"
        raise DataError(message, code="config", path=path)
    return read


def _toml(text: str, path: str) -> Any:
    # Python 3.10 has no `tomllib`; the package of the same code may be installed.
    for name in ("tomllib", "tomli"):
        try:
            return import_module(name).loads(text)
        except ImportError:
            pass
    message = f"{path}: TOML needs Python 3.11 or the package tomli; JSON (.json) does not"
    raise ParamError(message, code="config") from None


def _of_command(read: dict[str, Any], command: str, path: str) -> dict[str, Any]:
    """Return the options for all commands and those for this one."""
    tables = {name: value for name, value in read.items() if isinstance(value, dict)}
    for name in tables:
        if name not in NAMES:
            message = f"{path}: there is no command [{name}]{suggestion(name, NAMES)}"
            raise UnknownNameError(message, code="config")
    general = {name: value for name, value in read.items() if name not in tables}
    return general | tables.get(command, {})


def _let_default(action: argparse.Action, value: Any, where: str) -> None:
    """Make a required argument optional, with a default from the file."""
    several = action.nargs == "+"
    values = value if several and isinstance(value, list) else [value]
    texts = [_text(one, where) for one in values]
    action.nargs = "*" if several else "?"
    action.required = False
    action.default = texts if several else texts[0]


def _arguments(action: argparse.Action, value: Any, where: str) -> list[str]:
    """Return an option of the file as command-line arguments."""
    name = action.option_strings[0]
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise ParamError(f"{where}: got {shown(value)}, expected true or false", code="config")
        off = [one for one in action.option_strings if one.startswith("--no-")]
        return [name] if value else off[:1]
    if isinstance(value, bool):
        message = f"{where}: got {str(value).lower()}, expected a value for {name}"
        raise ParamError(message, code="config")
    values = value if isinstance(value, list) else [value]
    if isinstance(value, dict) or any(isinstance(one, (list, dict)) for one in values):
        return [f"{name}={json.dumps(value)}"]
    texts = [_text(one, where) for one in values]
    if action.nargs is not None:
        return [name, *texts]
    if type(action).__name__ == "_AppendAction":
        return [f"{name}={text}" for text in texts]
    return [f"{name}={','.join(texts)}"]


def _text(value: Any, where: str) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    raise ParamError(f"{where}: got {shown(value)}, expected text or a number", code="config")
