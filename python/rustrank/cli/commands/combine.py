"""The command `combine`: `rustrank.Combiner` for files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.cli.category_columns import texts_of_models
from rustrank.cli.parsing import DATA, JUDGING, READING, passed
from rustrank.cli.rankers import has_scores, load_model, models_of, read_ranker
from rustrank.cli.reading import checked_judging, data_files, read_docs
from rustrank.cli.replacing import MODEL, PLOT, SCORES
from rustrank.cli.streams import PIPE, print_result, save_model, save_plot
from rustrank.combining.methods import METHODS
from rustrank.errors import ParamError
from rustrank.inputs.files import replace_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rustrank.cli.parsing import Parser
    from rustrank.combining.combiner import Combiner
    from rustrank.metrics.evaluation import Judging

_EPILOG = f"""\
files:
{DATA}
  SCORES   one number a line, for the lines of DATA in their order
  MODEL    a model file, of ours or of another library, which scores DATA
  A - stands for standard input.

Two rankers are swept over all their mixtures: the answer is exact, the middle of the best interval.
More are swept one after the other until nothing raises the metric. With --valid, the result is judged
on a held-out set too, and of several rankers the weights that are best there are taken.

examples:
  rustrank combine vali.txt bm25.txt mine.txt --plot curve.png
  rustrank combine vali.txt a.txt b.txt c.txt --metric err@20 --valid test.txt ta.txt tb.txt tc.txt
  rustrank combine vali.txt a.rrk b.rrk --valid test.txt --save both.rrk
  rustrank combine vali.txt bm25.txt web.rrk --valid test.txt ta.txt
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    usage = "[options] DATA {SCORES | MODEL}..."
    reads = ("data", "files", "valid", "more_data")
    writes = {"save": MODEL, "scores": SCORES, "plot": PLOT}
    parser.define(_run, usage, _EPILOG, reads=reads, writes=writes)
    add, flag = parser.add, parser.flag
    add("data", "DATA", "the docs that weights are fitted to")
    add("files", "FILE", "SCORES of DATA, and models, which score it", nargs="+")
    held_out = "a held-out set: its DATA, and its SCORES for each ranker that is no model"
    add("--valid", "FILE", held_out, nargs="+")
    add("--metric")
    several = "auto, sweep, coordinate, best_first, ..."
    add("--method", "NAME", several, default="auto", offered=METHODS)
    add(
        "--alphas",
        ("FROM", "TO"),
        "search alpha of A + alpha * B in this range",
        nargs=2,
        type=float,
    )
    flag("--non-negative", "allow no weights below 0")
    add("--restarts", "N", "further searches from random weights (0)", type=int, default=0)
    add("--seed", text="seed of restarts and jitter (0)")
    add("--save", "MODEL", "save the mixture as one model; all rankers must be models")
    add("--scores", "FILE", "write the combined score of each line of DATA")
    add("--plot", "FILE", "draw the metric (png, svg, pdf); needs matplotlib")
    parser.share(*JUDGING, "more_data", *READING, "threads", "json")


def _run(options: argparse.Namespace) -> int:
    found = _combined(options)
    return print_result(options, found.to_dict(), found)


def _combined(options: argparse.Namespace) -> Combiner:
    """Fit a combiner, and write the outputs."""
    from rustrank.combining.combiner import Combiner

    scores = [file for file in options.files if has_scores(file)]
    if options.save and scores:
        message = f"--save: {scores[0]} is no model, and a mixture of scores is none either"
        raise ParamError(message, code="save")
    names = ("method", "alphas", "restarts", "seed", *JUDGING)
    negative = not options.non_negative
    combiner = Combiner(options.metric, negative=negative, **passed(options, *names))
    judging = checked_judging(options.metric, options, JUDGING)
    fitted = _fitted(data_files(options.data, options), options.files, options, judging)
    valid = None
    if options.valid is not None:
        data, *theirs = options.valid
        if len(theirs) != len(scores):
            message = (
                f"--valid: got {len(theirs)} files of scores, expected {len(scores)}: DATA, and one for each "
                "ranker that is no model"
            )
            raise ParamError(message, code="valid")
        of_valid = iter(theirs)
        files = [next(of_valid) if file in scores else file for file in options.files]
        valid = _fitted([data], files, options, judging)
        # By their order: files of other docs have other names.
        valid["rankers"] = list(valid["rankers"].values())
    combiner.fit(**fitted, valid=valid)
    _write(combiner, fitted, options)
    return combiner


def _fitted(
    data: Sequence[str], files: Sequence[str], options: argparse.Namespace, judging: Judging
) -> dict[str, Any]:
    """Return the arguments of `Combiner.fit`: rankers as scores, labels and queries."""
    models = models_of(files)
    texts = texts_of_models(models.values())
    docs = read_docs(data, options, values=bool(models), texts=texts)
    rankers = [read_ranker(file, docs, options, models) for file in files]
    # The combiner does not know which of its two sets has a bad label.
    docs.check_labels(judging)
    return {"rankers": _named(files, rankers), "y": docs.labels, "qid": docs.qid}


def _named(files: Sequence[str], rankers: Sequence[Any]) -> dict[str, Any]:
    """Return names of rankers: those of their files, made unique by number."""
    names = [Path(name).name for name in files]
    if len(set(names)) < len(names):
        is_unique = len(set(files)) == len(files)
        names = list(files) if is_unique else [str(at) for at in range(len(files))]
    return dict(zip(names, rankers, strict=True))


def _write(combiner: Combiner, fitted: dict[str, Any], options: argparse.Namespace) -> None:
    from rustrank.combining.combiner import merged

    if options.scores:
        mixed = combiner.predict(fitted["rankers"])
        lines = "".join(f"{score!r}\n" for score in mixed.tolist())
        if options.scores == PIPE:
            sys.stdout.write(lines)
        else:
            replace_file(options.scores, lines)
    if options.save:
        boosters = [load_model(name) for name in options.files]
        save_model(merged(boosters, combiner.weights, combiner.names), options.save)
    if options.plot:
        save_plot(combiner.plot(), options.plot)
