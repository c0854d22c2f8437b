"""The parser of the command line: errors are one line with a hint, and help ends with examples."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from rustrank._rustrank import measures
from rustrank.cli.streams import PIPE, complain, require_output
from rustrank.errors import ParamError
from rustrank.exit_codes import USAGE
from rustrank.inputs.scalars import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: The help about files, which several commands share.
FILES = """\
files:
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`; plain or gzip
  SCORES   one number a line, for the lines of DATA in their order
  QRELS    TREC judgements, `qid iteration docno label`
  RUN      a TREC run, `qid Q0 docno rank score tag`
  A - stands for standard input.
"""
METRICS = f"""\
metrics:
  {", ".join(measures())}; each with a cut (err@20) or without
"""
#: Metrics as completion offers them: those without a parameter, which shells would have to quote.
METRIC_NAMES = tuple(
    f"{name}{cut}" for name in measures() if "(" not in name for cut in ("", "@10")
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with a suggestion."""

    def error(self, message: str) -> NoReturn:
        """Print an error and exit."""
        complain(f"error: {message} (try `{self.prog} --help`)")
        raise SystemExit(USAGE)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the command line; for an unknown option, suggest the nearest one."""
        options, unknown = self.parse_known_args(arguments)
        if not unknown:
            return options
        parser: Parser = getattr(options, "parser", self)
        named = [one.partition("=")[0] for one in unknown if one.startswith("--")]
        wrong = f"unrecognized arguments: {' '.join(unknown)}"
        if named:
            wrong = f"there is no option {named[0]}{suggestion(named[0], options_of(parser))}"
        return parser.error(wrong)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        names = [str(one) for one in action.choices]
        hint = suggestion(str(value), names) or f", expected one of {', '.join(names)}"
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint}")

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ARG002
        # Only for help and version; argparse would ignore a failure to write them.
        require_output()
        sys.stdout.write(message)


def new_parser(
    make: Callable[..., argparse.ArgumentParser], name: str, says: str, epilog: str, **more: Any
) -> argparse.ArgumentParser:
    """Return a parser whose help keeps the line breaks of its epilog."""
    layout = argparse.RawDescriptionHelpFormatter
    return make(
        name, description=says, epilog=epilog, formatter_class=layout, allow_abbrev=False, **more
    )


def command(
    commands: Any,
    name: str,
    says: str,
    *,
    usage: str,
    epilog: str,
    run: Callable[[argparse.Namespace], int],
    reads: Sequence[str] = (),
    has_config: bool = True,
) -> argparse.ArgumentParser:
    """Add a command.

    Parameters
    ----------
    commands : object
        What `ArgumentParser.add_subparsers` returned.
    name, says, usage, epilog : str
        What help shows; the usage without ``rustrank`` and the name, the epilog with examples.
    run : callable
        Takes the options, returns the exit code.
    reads : sequence of str
        The arguments that name files to read: one of them at most may be standard input.
    has_config : bool
        Whether options may come from a file.
    """
    description = f"{says[0].upper()}{says[1:]}."
    usage = f"rustrank {name} {usage}"
    parser = new_parser(commands.add_parser, name, description, epilog, help=says, usage=usage)
    parser.set_defaults(run=run, parser=parser, reads=tuple(reads))
    if has_config:
        parser.add_argument(
            "--config",
            metavar="FILE",
            help="take options from a TOML or JSON file, by their names; flags win over it",
        )
    return parser


def offer(action: argparse.Action, names: Iterable[str]) -> None:
    """Set the names that shell completion offers for an argument; others may be valid, too."""
    vars(action)["offered"] = tuple(names)


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the names of all options of a parser."""
    return [name for action in parser._actions for name in action.option_strings]


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return the suggestion for an unknown name, as the end of an error message."""
    near = get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""


def require_one_pipe(options: argparse.Namespace) -> None:
    """Raise `ParamError` if standard input is named twice, since it can be read only once."""
    named: list[Any] = []
    for argument in options.reads:
        value = getattr(options, argument)
        named += value if isinstance(value, list) else [value]
    if named.count(PIPE) > 1:
        message = f"files: got {PIPE} for {named.count(PIPE)} of them, expected it for one at most"
        raise ParamError(message, code="files")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add ``--zero-based`` and ``--max-features``, the options of reading text."""
    parser.add_argument("--zero-based", action="store_true", help="the first feature of text is 0")
    parser.add_argument(
        "--max-features",
        type=int,
        default=1 << 20,
        metavar="N",
        help=f"believe no feature above N ({1 << 20})",
    )


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading text for `Dataset.from_letor` and `read_letor`."""
    most = whole("--max-features", options.max_features, 1, 2**31)
    return {"max_features": most, "zero_based": options.zero_based}


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add ``--threads``."""
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Add ``--progress`` and ``--no-progress``."""
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="say on standard error how far it is: a bar on a terminal, lines elsewhere (yes)",
    )


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add the options of metrics."""
    add = parser.add_argument
    gain = add(
        "--gain", default="exp2", metavar="GAIN", help="exp2, linear or a table such as 0,1,3,7"
    )
    ties = add(
        "--ties", default="expected", metavar="RULE", help="expected, rows or worst (expected)"
    )
    empty = add("--empty", default="skip", metavar="RULE", help="skip, zero or one (skip)")
    add("--relevant-from", type=float, default=1.0, metavar="L", help="smallest relevant label (1)")
    add("--max-label", type=float, metavar="L", help="top of ERR's label scale (the largest label)")
    offer(gain, ("exp2", "linear"))
    offer(ties, ("expected", "rows", "worst"))
    offer(empty, ("skip", "zero", "one"))
