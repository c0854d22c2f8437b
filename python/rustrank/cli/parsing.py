"""The parser of the command line: errors are one line with a hint, and help ends with examples."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from rustrank._rustrank import measures
from rustrank.cli.replacing import MODEL, require_replaceable
from rustrank.cli.streams import PIPE, complain, require_output, require_place
from rustrank.errors import ParamError, suggestion
from rustrank.exit_codes import USAGE
from rustrank.inputs.scalars import gain_of, separated, threads, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: The help about data, and about all files, which several commands share.
DATA = """\
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`, plain or gzip; or a table, *.parquet,
           *.csv or *.tsv, in which --label and --qid name columns and all other columns are features"""
FILES = f"""\
files:
{DATA}
  SCORES   one number a line, for the lines of DATA in their order
  MODEL    a model file, of ours or of another library, which scores DATA
  QRELS    TREC judgements, `qid iteration docno label`
  RUN      a TREC run, `qid Q0 docno rank score tag`
  A - stands for standard input.
"""
METRICS = f"""\
metrics:
  {", ".join(measures())}; each with a cut (err@20) or without
"""


def _takes(metavar: str, kind: type, default: Any, text: str) -> dict[str, Any]:
    return {"metavar": metavar, "type": kind, "default": default, "help": text}


#: The options that several commands have; a command may change a part of one, such as its help.
_SHARED: dict[str, dict[str, Any]] = {
    "--config": _takes(
        "FILE",
        str,
        None,
        "read options from a TOML or JSON file; those on the command line win",
    ),
    "--metric": _takes("NAME", str, "ndcg@10", "the metric to maximise (ndcg@10)"),
    "--gain": _takes(
        "GAIN", str, "exp2", "gain of labels: exp2, linear or a table such as 0,1,3,7 (exp2)"
    ),
    "--ties": _takes(
        "RULE", str, "expected", "docs with equal scores: expected, rows or worst (expected)"
    ),
    "--empty": _takes(
        "RULE",
        str,
        "skip",
        "queries with nothing relevant: skip, skip-one-label, zero or one (skip)",
    ),
    "--relevant-from": _takes(
        "L", float, 1.0, "smallest label that is relevant, for map, mrr, ... (1)"
    ),
    "--max-label": _takes(
        "L", float, None, "the highest label of the scale, for ERR (the largest label)"
    ),
    "--level": _takes("P", float, 0.95, "confidence level of intervals (0.95)"),
    "--resamples": _takes("N", int, 10_000, "bootstrap samples and random permutations (10000)"),
    "--seed": _takes("N", int, 0, "seed of these samples (0)"),
    "--max-features": _takes(
        "N", int, 1 << 20, f"the highest feature of text that is no error ({1 << 20})"
    ),
    "--label": _takes("NAME", str, "label", "the column of labels in Parquet and CSV (label)"),
    "--qid": _takes("NAME", str, "qid", "the column of query ids in Parquet and CSV (qid)"),
    "--ignore": {
        "metavar": "NAME,...",
        "action": "append",
        "default": None,
        "help": "columns of Parquet and CSV that are not features; may be repeated",
    },
    "--categorical": {
        "metavar": "NAME,...",
        "action": "append",
        "default": None,
        "help": "features that hold categories: columns of a table, numbers from 0 of text; may be repeated",
    },
    "--more-data": {
        "metavar": "DATA",
        "action": "append",
        "default": None,
        "help": "another file whose docs follow those of DATA; may be repeated",
    },
    "--segments": _takes(
        "NAME",
        str,
        None,
        "a column of Parquet and CSV that groups queries; each group is shown, too",
    ),
    "--zero-based": {
        "action": "store_true",
        "help": "features of text are numbered from 0, not from 1",
    },
    "--threads": _takes("N", int, None, "threads to use (all cores)"),
    "--json": {"action": "store_true", "help": "print JSON"},
    "--progress": {
        "action": argparse.BooleanOptionalAction,
        "default": True,
        "help": "show progress on standard error: a bar on a terminal, else lines (yes)",
    },
}
#: How rankings are evaluated, the intervals of means, and how data are read: options by their purpose.
JUDGING = ("gain", "ties", "empty", "relevant_from", "max_label")
DRAWING = ("level", "resamples", "seed")
READING = ("label", "qid", "ignore", "zero_based", "max_features")
#: The names that completion offers as values of options; others may be valid, too. Of metrics those
#: without a parameter, which shells would have to quote.
OFFERED: dict[str, Sequence[str]] = {
    "metric": [f"{name}{cut}" for name in measures() if "(" not in name for cut in ("", "@10")],
    "gain": ("exp2", "linear"),
    "ties": ("expected", "rows", "worst"),
    "empty": ("skip", "skip-one-label", "zero", "one"),
}


class Parser(argparse.ArgumentParser):
    """The parser of the command line, or of a command: errors are one line, with a suggestion."""

    #: The arguments that name files to read, those of them that are models, and files to write.
    reads: Sequence[str] = ()
    models: Sequence[str] = ()
    writes: Mapping[str, str] = MappingProxyType({})

    def __init__(self, *names: Any, **how: Any) -> None:
        # Help keeps the line breaks of its epilog.
        layout = partial(argparse.RawDescriptionHelpFormatter, max_help_position=28)
        super().__init__(*names, **{"formatter_class": layout, "allow_abbrev": False, **how})

    def define(
        self,
        run: Callable[[argparse.Namespace], int],
        usage: str,
        epilog: str,
        *,
        reads: Sequence[str] = (),
        models: Sequence[str] = (),
        writes: Mapping[str, str] = MappingProxyType({}),
        has_config: bool = True,
    ) -> None:
        """Make this the parser of a command.

        Parameters
        ----------
        run : callable
            Takes the options, returns the exit code.
        usage, epilog : str
            What help shows; the usage without ``rustrank`` and the name, the epilog with examples.
        reads, models : sequence of str
            The arguments that name files to read, and models among them: one of them at most may be
            standard input.
        writes : mapping
            The arguments that name files to write, and the kinds of these in `rustrank.cli.replacing`. None may
            be a file to read that is no model, or replace a file of another kind.
        has_config : bool
            Whether options may come from a file.
        """
        self.usage, self.epilog = f"{self.prog} {usage}", epilog
        self.reads, self.models, self.writes = reads, models, writes
        self.set_defaults(run=run, parser=self)
        if has_config:
            self.share("config")

    def share(self, *names: str) -> None:
        """Add options as several commands have them."""
        for name in names:
            self.add(f"--{name.replace('_', '-')}")

    def add(
        self, name: str, metavar: Any = None, text: str | None = None, **how: Any
    ) -> argparse.Action:
        """Add an argument that takes values: what commands share of it, and what is given here.

        ``offered`` are the names that completion offers as its values.
        """
        offered = how.pop("offered", None)
        given = {"metavar": metavar, "help": text}
        given = {key: value for key, value in given.items() if value is not None}
        action = self.add_argument(name, **_SHARED.get(name, {}) | given | how)
        return offer(action, OFFERED.get(action.dest, ()) if offered is None else offered)

    def flag(self, name: str, text: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=text)

    def add_metrics(self, text: str) -> None:
        """Add ``--metric`` for several metrics; `listed` reads them."""
        self.add("--metric", "NAME,...", text, action="append", default=None)

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
            options_there = [name for action in parser._actions for name in action.option_strings]
            # Imported late: it knows all parameters.
            from rustrank.parameters.hints import option_hint

            wrong = f"there is no option {named[0]}{option_hint(named[0], options_there)}"
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


def offer(action: argparse.Action, names: Iterable[str]) -> argparse.Action:
    """Set the names that completion offers as values of an argument; files if there are none."""
    if offered := tuple(names):
        vars(action)["completer"] = lambda **_: offered
    return action


def require_files(options: argparse.Namespace) -> None:
    """Raise an error for files of a command that cannot be read or written together.

    Standard input can be read only once, and no output may be the same file as data.
    """

    def named(arguments: Iterable[str]) -> list[Any]:
        values = (getattr(options, argument) for argument in arguments)
        return [one for each in values for one in (each if isinstance(each, list) else [each])]

    parser = options.parser
    pipes = named([*parser.reads, *parser.models]).count(PIPE)
    if pipes > 1:
        message = f"files: got {PIPE} for {pipes} of them, expected it for one at most"
        raise ParamError(message, code="files")
    has_valid = getattr(options, "valid", ()) is None
    hint = "; if it has validation data, give it by --valid" if has_valid else ""
    for argument, kind in parser.writes.items():
        output = getattr(options, argument)
        require_place(output, *named(parser.reads))
        if output is not None and output != PIPE:
            require_replaceable(output, kind, hint if kind == MODEL else "")


def passed(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options as arguments of the package's function of the same names, with the threads."""
    given = {name: getattr(options, name) for name in names}
    if "gain" in given:
        given["gain"] = gain_of(given["gain"])
    return given | {"num_threads": options.threads}


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading text for `Dataset.from_letor` and `read_letor`."""
    return {
        "max_features": whole("--max-features", options.max_features, 1, 2**31),
        "zero_based": options.zero_based,
        "num_threads": threads(options.threads, "--threads"),
    }


def listed(given: str | Iterable[str]) -> list[str]:
    """Return the names in texts of several, separated by commas."""
    texts = [given] if isinstance(given, str) else given
    return [name for one in texts for name in separated(one)]


def add_metric_options(parser: Parser) -> None:
    """Add the options of `evaluate` and `compare`."""
    parser.add("--qrels", "QRELS", "TREC judgements; the other files are TREC runs")
    parser.share("more_data", *READING, "segments")
    parser.add_metrics("metrics to compute; may be repeated (ndcg@10)")
    parser.share(*JUDGING)
    parser.flag("--single-precision", "with --qrels: round scores (trec_eval)")
    parser.share(*DRAWING, "threads", "json")
