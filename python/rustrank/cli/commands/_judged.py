"""The evaluation of score files and TREC runs, for `evaluate` and `compare`."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rustrank import _rustrank
from rustrank.cli.category_columns import texts_of_models
from rustrank.cli.parsing import DRAWING, JUDGING, listed, passed
from rustrank.cli.rankers import models_of, read_ranker
from rustrank.cli.reading import checked_judging, data_files, read_docs
from rustrank.cli.streams import path_of
from rustrank.errors import ParamError
from rustrank.formatting import count
from rustrank.metrics.evaluation import Drawing, Judging, judge
from rustrank.metrics.segments import as_segments

if TYPE_CHECKING:
    import argparse

    from rustrank.metrics.evaluation import Evaluation
    from rustrank.metrics.segments import QueriesOfSegments


class Evaluated(NamedTuple):
    """The evaluation of each file, the queries of each segment, and how intervals are drawn."""

    results: list[Evaluation]
    segments: QueriesOfSegments | None
    drawing: Drawing


def evaluations(options: argparse.Namespace, wanted: str, is_good: bool) -> Evaluated:
    """Evaluate TREC runs, or files of scores and models after a data file.

    Options are checked before a large file is read; ``is_good`` says whether the number of files is right.
    """
    for name in ("single_precision", "all_queries"):
        if vars(options).get(name) and options.qrels is None:
            message = f"--{name.replace('_', '-')} needs --qrels: it is about TREC runs"
            raise ParamError(message, code=name)
    if options.segments is not None and options.qrels is not None:
        message = "--segments: not with --qrels: it names a column of Parquet or CSV"
        raise ParamError(message, code="segments")
    if not is_good:
        raise ParamError(f"files: got {len(options.files)}, expected {wanted}", code="files")
    judging = checked_judging(listed(options.metric or ["ndcg@10"]), options, JUDGING)
    drawing = Drawing(**passed(options, *DRAWING))
    results, files, segments = {}, options.files, None
    # What is compared with itself is read, and warned about, only once.
    if options.qrels is not None:
        for run in dict.fromkeys(files):
            results[run] = _evaluated_run(run, options, judging)
    else:
        data, *files = files
        models = models_of(files)
        texts = texts_of_models(models.values())
        docs = read_docs(data_files(data, options), options, values=bool(models), texts=texts)
        queries = docs.queries, docs.query_ids
        with docs.places_in_errors():
            segments = as_segments(docs.segments, *queries)
        for path in dict.fromkeys(files):
            scores = read_ranker(path, docs, options, models)
            with docs.places_in_errors():
                found = judge(scores, docs.labels, queries, judging, None)
            results[path] = found.of_segments(segments)
    return Evaluated([results[path] for path in files], segments, drawing)


def _evaluated_run(run: str, options: argparse.Namespace, judging: Judging) -> Evaluation:
    # Only `evaluate` has the option: `compare` counts all queries.
    every = vars(options).get("all_queries", True)
    joining = SimpleNamespace(
        all_queries=every, single_precision=options.single_precision, num_threads=options.threads
    )
    joined = _rustrank.read_trec(path_of(run), path_of(options.qrels), joining)
    counted = "they count too" if every else "left out, see --all-queries"
    for key, before, after in (
        ("queries_not_judged", "", " without judgements left out"),
        ("queries_not_retrieved", "nothing is retrieved for ", f" of {options.qrels}: {counted}"),
    ):
        if joined[key]:
            queries = count(joined[key], "query", "queries")
            warnings.warn(f"{run}: {before}{queries}{after}", stacklevel=1)
    queries_of_run = joined["sizes"], np.array(joined["ids"])
    return judge(joined["scores"], joined["labels"], queries_of_run, judging, None)
