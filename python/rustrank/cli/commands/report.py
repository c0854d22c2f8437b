"""The command `report`: `rustrank.report` for files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.cli.category_columns import texts_of_models
from rustrank.cli.parsing import DATA, DRAWING, JUDGING, METRICS, READING, listed, passed
from rustrank.cli.rankers import models_of, read_scores
from rustrank.cli.reading import checked_judging, data_files, read_docs
from rustrank.cli.replacing import PAGE
from rustrank.cli.streams import PIPE, print_result
from rustrank.errors import ParamError
from rustrank.inputs.scalars import choice

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.cli.parsing import Parser
    from rustrank.cli.reading import Docs
    from rustrank.model.booster import Booster

_EPILOG = f"""\
files:
{DATA}
  RANKER   a model file, of ours or of another library, which scores DATA; or scores, one number a
           line, for the lines of DATA in their order. NAME=RANKER gives it another name than that of its file
  A - stands for standard input.

{METRICS}
The first ranker is what others are compared with, unless --baseline names another. The page is one file
that opens without a network. Features say why docs changed places where rankers are models.

examples:
  rustrank report test.txt bm25=bm25.txt mine=model.rrk
  rustrank report test.parquet a.rrk b.rrk --label grade --qid query
  rustrank report test.txt a.rrk b.rrk lightgbm.txt --out page.html --title "Spring release" --examples 2
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage, reads = "[options] DATA RANKER...", ("data", "more_data")
    parser.define(_run, usage, _EPILOG, reads=reads, models=("rankers",), writes={"out": PAGE})
    add = parser.add
    add("data", "DATA", "the docs that rankers are judged by")
    add("rankers", "RANKER", "a model or scores, perhaps as NAME=FILE", nargs="+")
    add("--out", "FILE", "where to write it (report.html)", default="report.html")
    add("--title", "TEXT", "the heading of the page", default="Rankers compared")
    add("--baseline", "NAME", "the ranker that others are compared with (the first)")
    add(
        "--examples",
        "N",
        "queries to show in detail, of those won and of those lost (5)",
        type=int,
        default=5,
    )
    add("--doc-ids", "FILE", "names of docs: a line for each of DATA")
    add("--feature-names", "FILE", "names of features, from the first: a line each")
    default = "ndcg@10,err@10,map,mrr,precision@10"
    parser.add_metrics(f"metrics; may be repeated; the first decides ({default})")
    parser.share(*JUDGING, *DRAWING, "more_data", *READING, "threads", "json")


def _run(options: argparse.Namespace) -> int:
    from rustrank.model.booster import Booster
    from rustrank.reporting.report import METRICS as BY_DEFAULT
    from rustrank.reporting.report import report

    # Before a large file is read.
    files = _named(options.rankers)
    if options.baseline is not None:
        choice("--baseline", options.baseline, files, "baseline")
    metrics = listed(options.metric or BY_DEFAULT)
    checked_judging(metrics, options, JUDGING)
    docs, rankers = _read(files, options)
    models = [one for one in rankers.values() if isinstance(one, Booster)]
    width = max((one.num_raw_features for one in models), default=0)
    with docs.places_in_errors():
        made = report(
            rankers,
            **docs.rows(width, models),
            metrics=metrics,
            doc_ids=_lines(options.doc_ids),
            feature_names=_lines(options.feature_names),
            **passed(options, "baseline", "title", "examples", *JUDGING, *DRAWING),
        )
    lines = list(made.statements)
    if options.out == PIPE:
        sys.stdout.write(made.html)
    else:
        made.save(options.out)
        lines.append(f"wrote {options.out}")
    summary = {
        "data": options.data,
        "out": options.out,
        "rankers": {name: one.to_dict() for name, one in made.evaluations.items()},
        "comparisons": [
            {"a": a, "b": b, "metrics": compared.to_dict()}
            for (a, b), compared in made.comparisons.items()
        ],
    }
    return print_result(options, summary, "\n".join(lines))


def _lines(file: str | None) -> list[str] | None:
    return None if file is None else Path(file).read_text("utf-8").splitlines()


def _named(given: Sequence[str]) -> dict[str, str]:
    """Return files by name: a given one, or that of the file."""
    named: dict[str, str] = {}
    for one in given:
        name, sign, file = one.partition("=")
        if not sign or Path(one).exists():
            name, file = ("-" if one == PIPE else Path(one).stem), one
            name = file if name in named else name
        if not name or not file or name in named:
            message = f"RANKER: got {one!r}, expected a file, or NAME=FILE with a name of its own"
            raise ParamError(message, code="rankers")
        named[name] = file
    return named


def _read(
    files: Mapping[str, str], options: argparse.Namespace
) -> tuple[Docs, dict[str, Booster | NDArray[Any]]]:
    """Read the data, with features if models need them, and the rankers, which are models or scores."""
    models = models_of(files.values())
    texts = texts_of_models(models.values())
    data = data_files(options.data, options)
    docs = read_docs(data, options, values=bool(models), texts=texts)
    rankers = {
        name: models[file] if file in models else read_scores(file, docs, options)
        for name, file in files.items()
    }
    return docs, rankers
