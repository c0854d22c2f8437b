"""The command line: train, score, convert, evaluate, compare, combine, adapt, inspect.

Exit codes follow sysexits: 0, 2 (usage), 65 (data), 66 (no input), 70 (a bug, or no memory), 74
(input or output failed), 130 (interrupted). An error is one line on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import sys
import traceback
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import numpy as np

from rustrank import _rustrank
from rustrank._adapting_command import ADAPT, add_adapt, run_adapt
from rustrank._combining_command import COMBINE, add_combine, run_combine
from rustrank._errors import DataError, ModelFormatError, ParamError, ResourceError
from rustrank._inspection import NO_FEATURES, inspection
from rustrank._model_commands import CONVERT, add_convert, run_convert
from rustrank._options import gain_of, threads, whole
from rustrank._tables import count, interval, number, percent, text_table
from rustrank._training_commands import (
    SCORE,
    TRAIN,
    add_score,
    add_train,
    run_score,
    run_train,
    table_of,
)
from rustrank.comparison import Comparison
from rustrank.evaluation import (
    Drawing,
    Evaluation,
    Judging,
    MetricValue,
    judge,
    warn_of_nothing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]

USAGE, DATA, NO_INPUT, INTERNAL, IO, INTERRUPTED = 2, 65, 66, 70, 74, 130

_FILES = """\
files:
  DATA     LETOR or SVMlight text, `label qid:Q 1:v 2:v ...`; plain or gzip
  SCORES   one number a line, for the lines of DATA in their order
  QRELS    TREC judgements, `qid iteration docno label`
  RUN      a TREC run, `qid Q0 docno rank score tag`
  A - stands for standard input.
"""
_METRICS = """\
metrics:
  ndcg, dcg, err, map, mrr, precision, recall, pairwise; each with a cut (err@20) or without
"""
_EVALUATE = f"""\
{_FILES}
{_METRICS}
examples:
  rustrank evaluate test.txt.gz scores.txt --metric ndcg@10,err@20,map
  rustrank evaluate test.txt bm25.txt mine.txt --per-query > values.tsv
  rustrank evaluate --qrels qrels.txt run.txt --metric ndcg@10
  as trec_eval does it: --gain linear --ties rows --empty zero --single-precision
"""
_COMPARE = f"""\
{_FILES}
{_METRICS}
Differences are B minus A: the mean, its bootstrap interval, Student's paired t-test and the paired
randomisation test. With --qrels, queries for which a run has nothing count as they are: 0.

examples:
  rustrank compare test.txt bm25.txt mine.txt --metric ndcg@10,map
  rustrank compare --qrels qrels.txt bm25.run mine.run --json
"""
_INSPECT = """\
The exit code is 65 if lines cannot be read, the docs of a query do not stand together, or no line
has a feature: such a file cannot be loaded.

examples:
  rustrank inspect train.txt.gz
  rustrank inspect train.txt --features | less
"""
_ALL = """\
examples:
  rustrank inspect train.txt                      what is in a file, and what is wrong with it
  rustrank train train.txt model.rrk              a ranker of boosted trees
  rustrank score model.rrk test.txt               the scores of docs
  rustrank convert model.rrk model.onnx           the model for another library
  rustrank evaluate test.txt scores.txt           how good is a ranking?
  rustrank compare test.txt a.txt b.txt           which is better, and is that more than chance?
  rustrank combine vali.txt a.txt b.txt           which mixture of both is best?
  rustrank adapt base.rrk little.txt              a ranker for another market, from little data

`rustrank COMMAND --help` says more.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    # A query id may hold what the terminal cannot show.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _done(arguments)
    except BrokenPipeError:
        # Whoever reads has had enough, as `head` does.
        _close_output()
        return 0
    except KeyboardInterrupt:
        return _failed(INTERRUPTED, "interrupted")
    except Exception as error:
        return _failed(*_told(error))


def _done(arguments: Sequence[str] | None) -> int:
    """Run a command; all it printed has arrived when this returns."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:
        # After --help, --version or a usage error.
        if not end.code:
            _flush_output()
        return int(end.code or 0)
    _require_output()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _warn
        code: int = options.run(options)
    _flush_output()
    return code


def _require_output() -> None:
    # Python has no stream where the shell closed it.
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")


def _flush_output() -> None:
    _require_output()
    sys.stdout.flush()


def _told(error: Exception) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    if isinstance(error, ParamError):
        return USAGE, str(error)
    if isinstance(error, (DataError, ModelFormatError)):
        return DATA, str(error)
    if isinstance(error, OSError):
        absent = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
        place = "" if error.filename is None else f"{os.fspath(error.filename)}: "
        code = NO_INPUT if isinstance(error, absent) else IO
        if error.filename is None:
            _close_output()
        return code, f"{place}{error.strerror or error}"
    if isinstance(error, (MemoryError, ResourceError)):
        return INTERNAL, str(error) or "there is not enough memory"
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119
    return INTERNAL, f"a bug, please report it: {type(error).__name__}: {error} ({where})"


def _failed(code: int, message: str) -> int:
    line = " ".join(message.split())
    _complain(f"error: {line}")
    return code


def _complain(what: str) -> None:
    """Write to standard error; where that cannot be, the exit code must do."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"rustrank: {what}\n")


def _warn(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    _complain(f"warning: {message}")


def _close_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter can end in peace."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        _complain(f"error: {message} (try `{self.prog} --help`)")
        raise SystemExit(USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ARG002
        # Only help and version come here; argparse would swallow that they cannot be written.
        _require_output()
        sys.stdout.write(message)


def _parser() -> argparse.ArgumentParser:
    parser = _new(_Parser, "rustrank", "Train, measure, compare and inspect rankings.", _ALL)
    version = f"rustrank {_rustrank.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    usage = "rustrank train [options] DATA MODEL"
    trains = _command(commands, "train", "train a ranker", TRAIN, usage)
    add_train(trains)
    trains.set_defaults(run=_train)

    usage = "rustrank score [options] MODEL DATA"
    scores = _command(commands, "score", "score docs with a model", SCORE, usage)
    add_score(scores)
    scores.set_defaults(run=_score)

    usage = "rustrank convert [options] MODEL OUT"
    convert = _command(commands, "convert", "a model from or for another library", CONVERT, usage)
    add_convert(convert)
    convert.set_defaults(run=_convert)

    usage = "rustrank evaluate [options] {DATA SCORES... | --qrels QRELS RUN...}"
    evaluate = _command(commands, "evaluate", "how good is a ranking?", _EVALUATE, usage)
    evaluate.add_argument("files", nargs="+", metavar="FILE", help="DATA SCORES..., or RUN...")
    _add_metric_options(evaluate)
    evaluate.add_argument("--per-query", action="store_true", help="print a line a query (TSV)")
    evaluate.add_argument(
        "--all-queries",
        action="store_true",
        help="with --qrels: count queries for which nothing was retrieved (trec_eval -c)",
    )
    evaluate.set_defaults(run=_evaluate)

    usage = "rustrank compare [options] {DATA A B | --qrels QRELS A B}"
    compare = _command(commands, "compare", "which of two rankings is better?", _COMPARE, usage)
    compare.add_argument("files", nargs="+", metavar="FILE", help="DATA A B, or A B (runs)")
    _add_metric_options(compare)
    compare.set_defaults(run=_compare, all_queries=True)

    usage = "rustrank combine [options] DATA {SCORES... | --models MODEL...}"
    combine = _command(commands, "combine", "the best mixture of rankers", COMBINE, usage)
    add_combine(combine)
    combine.set_defaults(run=_combine)

    usage = "rustrank adapt [options] BASE TARGET"
    adapts = _command(commands, "adapt", "a ranker for another market", ADAPT, usage)
    add_adapt(adapts)
    adapts.set_defaults(run=_adapt)

    usage = "rustrank inspect [options] DATA"
    inspect = _command(commands, "inspect", "what is in a file?", _INSPECT, usage)
    inspect.add_argument("data", metavar="DATA", help="LETOR or SVMlight text, plain or gzip")
    inspect.add_argument("--features", action="store_true", help="print a line a feature")
    inspect.add_argument("--zero-based", action="store_true", help="the first feature is 0")
    inspect.add_argument(
        "--max-features", type=int, default=1 << 20, metavar="N", help="believe no feature above N"
    )
    inspect.add_argument("--json", action="store_true", help="print JSON")
    inspect.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores)")
    inspect.set_defaults(run=_inspect)
    return parser


def _new(
    make: Callable[..., argparse.ArgumentParser], name: str, says: str, epilog: str, **more: Any
) -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    return make(
        name, description=says, epilog=epilog, formatter_class=layout, allow_abbrev=False, **more
    )


def _command(
    commands: Any, name: str, says: str, epilog: str, usage: str
) -> argparse.ArgumentParser:
    said = f"{says[0].upper()}{says[1:]}"
    return _new(commands.add_parser, name, said, epilog, help=says, usage=usage)


def _add_metric_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--qrels", metavar="QRELS", help="TREC judgements; the other files are TREC runs")
    add(
        "--metric",
        action="append",
        metavar="NAME,...",
        help="metrics to compute; may be repeated (ndcg@10)",
    )
    add("--gain", default="exp2", metavar="GAIN", help="exp2, linear or a table such as 0,1,3,7")
    add("--ties", default="expected", metavar="RULE", help="expected, rows or worst (expected)")
    add("--empty", default="skip", metavar="RULE", help="skip, zero or one (skip)")
    add("--relevant-from", type=float, default=1.0, metavar="L", help="smallest relevant label (1)")
    add("--max-label", type=float, metavar="L", help="top of ERR's label scale (the largest label)")
    add("--single-precision", action="store_true", help="with --qrels: round scores (trec_eval)")
    add("--level", type=float, default=0.95, metavar="P", help="level of intervals (0.95)")
    add("--resamples", type=int, default=10_000, metavar="N", help="random replicates (10000)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the replicates (0)")
    add("--threads", type=int, metavar="N", help="threads to use (all cores)")
    add("--json", action="store_true", help="print JSON")


@dataclass(frozen=True)
class _Joining:
    """How a run and its judgements are joined."""

    all_queries: bool
    single_precision: bool
    num_threads: int | None


@dataclass(frozen=True)
class _Looking:
    """How a LETOR file is looked at."""

    max_features: int
    zero_based: bool
    num_threads: int | None


def _judging(options: argparse.Namespace) -> Judging:
    names = [name.strip() for one in options.metric or ["ndcg@10"] for name in one.split(",")]
    of_options = (options.ties, options.empty, options.relevant_from, options.max_label)
    judging = Judging.of(names, gain_of(options.gain), *of_options, options.threads)
    # Options are refused before a large file is read.
    nothing = np.zeros(1, np.float32), (np.ones(1, np.int64), np.zeros(1, np.int64))
    judge(np.zeros(1), *nothing, judging, None)
    return judging


def _evaluations(
    options: argparse.Namespace, judging: Judging, files: Sequence[str]
) -> list[Evaluation]:
    """Evaluate the runs, or the scores after the data, that the files are."""
    if options.qrels is not None:
        # A run that is compared with itself is read, and warned of, once.
        runs = {run: _evaluated_run(run, options, judging) for run in dict.fromkeys(files)}
        return [runs[run] for run in files]
    data, *of_scores = files
    labels, sizes, ids = _rustrank.read_labels(_path(data), options.threads)
    queries = sizes, np.array(ids)
    results = {}
    for path in dict.fromkeys(of_scores):
        scores = _rustrank.read_scores(_path(path), options.threads)
        if len(scores) != len(labels):
            message = (
                f"{path} has the wrong length: got {len(scores)} scores, expected {len(labels)}, "
                f"one for each doc of {data}"
            )
            raise DataError(message, code="length", path=path)
        results[path] = judge(scores, labels, queries, judging, None)
    return [results[path] for path in of_scores]


def _evaluated_run(run: str, options: argparse.Namespace, judging: Judging) -> Evaluation:
    joining = _Joining(options.all_queries, options.single_precision, options.threads)
    joined = _rustrank.read_trec(_path(run), _path(options.qrels), joining)
    if joined["queries_not_judged"]:
        warnings.warn(
            f"{run}: {_queries(joined['queries_not_judged'])} without judgements left out",
            stacklevel=1,
        )
    if joined["queries_not_retrieved"]:
        counted = "they count too" if options.all_queries else "left out, see --all-queries"
        warnings.warn(
            f"{run}: nothing is retrieved for {_queries(joined['queries_not_retrieved'])} of "
            f"{options.qrels}: {counted}",
            stacklevel=1,
        )
    queries = joined["sizes"], np.array(joined["ids"])
    return judge(joined["scores"], joined["labels"], queries, judging, None)


def _queries(number: int) -> str:
    return count(number, "query", "queries")


def _path(name: str) -> str:
    return "/dev/stdin" if name == "-" else name


def _require_files(options: argparse.Namespace, wanted: str, good: bool) -> None:
    if good:
        return
    message = f"files: got {len(options.files)}, expected {wanted}"
    raise ParamError(message, code="files")


def _require_qrels(options: argparse.Namespace, name: str) -> None:
    if getattr(options, name) and options.qrels is None:
        message = f"--{name.replace('_', '-')} needs --qrels: it is about TREC runs"
        raise ParamError(message, code=name)


def _evaluate(options: argparse.Namespace) -> int:
    runs = options.qrels is not None
    for name in ("single_precision", "all_queries"):
        _require_qrels(options, name)
    _require_files(options, "DATA and SCORES, or --qrels QRELS", runs or len(options.files) > 1)
    judging = _judging(options)
    drawing = Drawing.of(options.resamples, options.seed, options.threads)
    results = _evaluations(options, judging, options.files)
    names = options.files if runs else options.files[1:]
    for result in results:
        warn_of_nothing(result)
    if options.json:
        shown = [
            {"scores": name, "metrics": _plain(result, options, drawing)}
            for name, result in zip(names, results, strict=True)
        ]
        _print_json({"data": options.qrels if runs else options.files[0], "results": shown})
    elif options.per_query:
        _print_values(names, results)
    else:
        _print_means(names, results, options, drawing)
    return 0


def _interval(
    value: MetricValue, options: argparse.Namespace, drawing: Drawing
) -> tuple[float, float]:
    """Return the interval; none with ``--resamples 0``."""
    if drawing.resamples == 0:
        return math.nan, math.nan
    return _rustrank.bootstrap(value.per_query, None, options.level, drawing)


def _plain(
    result: Evaluation, options: argparse.Namespace, drawing: Drawing
) -> dict[str, dict[str, Any]]:
    plain: dict[str, dict[str, Any]] = {}
    for name, value in result.items():
        plain[name] = {
            "mean": float(value),
            "level": options.level,
            "interval": list(_interval(value, options, drawing)),
            "num_queries": value.num_queries,
            "num_skipped": value.num_skipped,
        }
        if options.per_query:
            ids = value.query_ids.tolist()
            plain[name]["per_query"] = dict(zip(ids, value.per_query.tolist(), strict=True))
    return plain


def _print_values(names: Sequence[str], results: Sequence[Evaluation]) -> None:
    several = len(results) > 1
    head = (["scores"] if several else []) + ["query", *results[0]]
    sys.stdout.write("\t".join(head) + "\n")
    for name, result in zip(names, results, strict=True):
        columns = [value.per_query.tolist() for value in result.values()]
        for query, *values in zip(result.query_ids.tolist(), *columns, strict=True):
            row = ([name] if several else []) + [query, *map(repr, values)]
            sys.stdout.write("\t".join(row) + "\n")


def _print_means(
    names: Sequence[str],
    results: Sequence[Evaluation],
    options: argparse.Namespace,
    drawing: Drawing,
) -> None:
    head = ["scores", "metric", "mean", f"{percent(options.level)} interval", "queries", "skipped"]
    rows = [
        [
            name,
            metric,
            number(value),
            interval(_interval(value, options, drawing)),
            f"{value.num_queries:,}",
            f"{value.num_skipped:,}",
        ]
        for name, result in zip(names, results, strict=True)
        for metric, value in result.items()
    ]
    sys.stdout.write(text_table(head, rows, left=2) + "\n")


def _compare(options: argparse.Namespace) -> int:
    runs = options.qrels is not None
    _require_qrels(options, "single_precision")
    wanted = "two runs" if runs else "DATA A B, or --qrels QRELS A B"
    _require_files(options, wanted, len(options.files) == (2 if runs else 3))
    judging = _judging(options)
    drawing = Drawing.of(options.resamples, options.seed, options.threads)
    first, second = options.files[-2:]
    names = (first, second) if first != second else ("a", "b")
    a, b = _evaluations(options, judging, options.files)
    warn_of_nothing(a)
    compared = Comparison.of(a, b, names, drawing, options.level)
    if options.json:
        data = options.qrels if runs else options.files[0]
        _print_json({"data": data, "a": first, "b": second, "metrics": compared.to_dict()})
    else:
        sys.stdout.write(f"{compared}\n")
    return 0


def _inspect(options: argparse.Namespace) -> int:
    most = whole("--max-features", options.max_features, 1, 2**31)
    looking = _Looking(most, options.zero_based, threads(options.threads, "--threads"))
    summary = _rustrank.inspect_letor(_path(options.data), looking)
    if summary["rows"] and not summary["features"]:
        summary["findings"].append(NO_FEATURES)
    if options.json:
        _print_json({"data": options.data, **summary})
    else:
        sys.stdout.write(inspection(options.data, summary, options.features) + "\n")
    return 0 if summary["rows"] and not summary["findings"] else DATA


def _combine(options: argparse.Namespace) -> int:
    found = run_combine(options, _path)
    if options.json:
        _print_json(found.to_dict())
    else:
        sys.stdout.write(f"{found}\n")
    return 0


def _adapt(options: argparse.Namespace) -> int:
    found = run_adapt(options, _path)
    if options.json:
        _print_json(found.to_dict())
    else:
        sys.stdout.write(f"{found}\n")
    return 0


def _train(options: argparse.Namespace) -> int:
    told = run_train(options, _path)
    if options.json:
        _print_json(told)
    else:
        sys.stdout.write(f"{table_of(told)}\n")
    return 0


def _score(options: argparse.Namespace) -> int:
    run_score(options, _path)
    return 0


def _convert(options: argparse.Namespace) -> int:
    run_convert(options)
    return 0


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(_without_nan(value), indent=2) + "\n")


def _without_nan(value: Any) -> Any:
    """Replace NaN, which JSON does not have, by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
