"""The options that `evaluate` and `compare` share, and the evaluation of score files and TREC runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rustrank import _rustrank
from rustrank.cli.parsing import METRIC_NAMES, add_json, add_judging, add_threads, offer
from rustrank.cli.streams import path_of
from rustrank.errors import DataError, ParamError
from rustrank.formatting import count
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rustrank.metrics.evaluation import Evaluation, Judging


@dataclass(frozen=True)
class _Joining:
    """The options of joining a TREC run with its judgements."""

    all_queries: bool
    single_precision: bool
    num_threads: int | None


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that evaluate rankings."""
    add = parser.add_argument
    add("--qrels", metavar="QRELS", help="TREC judgements; the other files are TREC runs")
    metric = add(
        "--metric",
        action="append",
        metavar="NAME,...",
        help="metrics to compute; may be repeated (ndcg@10)",
    )
    offer(metric, METRIC_NAMES)
    add_judging(parser)
    add("--single-precision", action="store_true", help="with --qrels: round scores (trec_eval)")
    add("--level", type=float, default=0.95, metavar="P", help="level of intervals (0.95)")
    add("--resamples", type=int, default=10_000, metavar="N", help="random replicates (10000)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the replicates (0)")
    add_threads(parser)
    add_json(parser)


def judging_of(options: argparse.Namespace) -> Judging:
    """Return the metric options, checked before a large file is read."""
    from rustrank.metrics.evaluation import Judging, judge

    names = [name.strip() for one in options.metric or ["ndcg@10"] for name in one.split(",")]
    of_options = (options.ties, options.empty, options.relevant_from, options.max_label)
    judging = Judging.of(names, gain_of(options.gain), *of_options, options.threads)
    nothing = np.zeros(1, np.float32), (np.ones(1, np.int64), np.zeros(1, np.int64))
    judge(np.zeros(1), *nothing, judging, None)
    return judging


def evaluations(
    options: argparse.Namespace, judging: Judging, files: Sequence[str]
) -> list[Evaluation]:
    """Evaluate TREC runs, or files of scores after a data file."""
    from rustrank.metrics.evaluation import judge

    if options.qrels is not None:
        # A run that is compared with itself is read, and warned about, only once.
        runs = {run: _evaluated_run(run, options, judging) for run in dict.fromkeys(files)}
        return [runs[run] for run in files]
    data, *of_scores = files
    labels, sizes, ids = _rustrank.read_labels(path_of(data), options.threads)
    queries = sizes, np.array(ids)
    results = {}
    for path in dict.fromkeys(of_scores):
        scores = _rustrank.read_scores(path_of(path), options.threads)
        if len(scores) != len(labels):
            message = (
                f"{path} has the wrong length: got {len(scores)} scores, expected {len(labels)}, "
                f"one for each doc of {data}"
            )
            raise DataError(message, code="length", path=path)
        results[path] = judge(scores, labels, queries, judging, None)
    return [results[path] for path in of_scores]


def _evaluated_run(run: str, options: argparse.Namespace, judging: Judging) -> Evaluation:
    from rustrank.metrics.evaluation import judge

    joining = _Joining(options.all_queries, options.single_precision, options.threads)
    joined = _rustrank.read_trec(path_of(run), path_of(options.qrels), joining)
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


def require_files(options: argparse.Namespace, wanted: str, good: bool) -> None:
    """Raise `ParamError` for a wrong number of files."""
    if good:
        return
    message = f"files: got {len(options.files)}, expected {wanted}"
    raise ParamError(message, code="files")


def require_qrels(options: argparse.Namespace, name: str) -> None:
    """Raise `ParamError` for an option of TREC runs without ``--qrels``."""
    if getattr(options, name) and options.qrels is None:
        message = f"--{name.replace('_', '-')} needs --qrels: it is about TREC runs"
        raise ParamError(message, code=name)
