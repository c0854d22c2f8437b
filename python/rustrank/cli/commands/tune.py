"""The command `tune`: `rustrank.tune` for files."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import objectives
from rustrank.cli.category_columns import declared
from rustrank.cli.parsing import READING, passed
from rustrank.cli.reading import categorical_of, checked_judging, data_files, read_docs
from rustrank.cli.replacing import ANY, MODEL, PLOT
from rustrank.cli.streams import print_result, save_model, save_plot
from rustrank.errors import ParamError, UnknownNameError, suggestion
from rustrank.inputs.scalars import choice

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser

_LEARNERS = [estimator for _, estimator, _ in objectives()]
_RANKERS = {name.lower(): name for name in [*_LEARNERS, "LambdaRank", "RankNet", "LambdaBoost"]}
_METHODS = ("grid", "random", "optuna")
_SPACES = ("lambdamart", "lambdarank", "lambdamart-2010", "lambdarank-2010")
_EPILOG = f"""\
Tries settings of a ranker, judges each on queries that it has not seen, by folds of DATA or by --valid, and
saves a ranker with the best. With --records, a sweep that was interrupted goes on from there.

rankers:
  {", ".join(_RANKERS)}

what is tried:
  --space NAME       of rustrank.grids: lambdamart, lambdarank, and the papers' lambdamart-2010,
                     lambdarank-2010, lambdamart-2011, lambdasmart-2009
  --try NAME=A,B,C   these values
  --try NAME=A..B    a range; A..B:log on a logarithmic scale

examples:
  rustrank tune train.txt best.rrk --try num_leaves=7,15,31 --try learning_rate=0.05,0.1
  rustrank tune train.parquet best.rrk --label grade --qid query --try num_leaves=7,15
  rustrank tune sites.parquet best.rrk --categorical site,brand --try num_leaves=7,15
  rustrank tune train.txt best.rrk --trials 20 --valid vali.txt --set n_estimators=50
  rustrank tune train.txt best.rrk --space lambdasmart-2009 --folds 3 --records sweep.jsonl
  rustrank tune train.txt net.rrk --ranker lambdarank --try learning_rate=1e-4..1e-2:log --trials 5
"""
_RANGE = re.compile(r"(.+?)\.\.(.+?)(:log)?")


def register(parser: Parser) -> None:
    """Add the arguments."""
    reads, writes = ("data", "valid", "more_data"), {"model": MODEL, "plot": PLOT, "records": ANY}
    parser.define(_run, "[options] DATA MODEL", _EPILOG, reads=reads, writes=writes)
    add = parser.add
    add("data", "DATA", "the training set: LETOR or SVMlight text, plain or gzip; Parquet or CSV")
    add("model", "MODEL", "where to save the ranker with the best setting")
    add("--valid", "DATA", "a validation set to judge settings by, instead of folds")
    add(
        "--ranker",
        "NAME",
        "the ranker to tune (lambdamart)",
        default="lambdamart",
        offered=_RANKERS,
    )
    add("--space", "NAME", "a space by its name (lambdamart, without --try)", offered=_SPACES)
    add("--try", "NAME=...", "what to try; may be repeated", action="append")
    add("--set", "NAME=X", "an option that stays fixed; may be repeated", action="append")
    parser.share("categorical")
    add("--method", "NAME", "grid, random or optuna (grid if it is finite)", offered=_METHODS)
    add("--trials", "N", "the number of settings (50, or all of a grid)", type=int)
    add("--folds", "N", "folds of DATA to judge by (5)", type=int, default=5)
    add("--metric")
    add("--records", "FILE", "a file of the value of each setting, from which a run goes on")
    parser.share("gain", "max-label")
    add("--seed", text="seed of everything random (0)")
    add("--jobs", "N", "settings to try at once (as many as cores)", type=int)
    add("--plot", "FILE", "draw values (png, svg, pdf); needs matplotlib")
    parser.share("more_data", *READING, "progress", "threads", "json")


def _run(options: argparse.Namespace) -> int:
    from rustrank.selection.tuning import tune

    search = ("method", "trials", "folds", "records")
    given = passed(options, *search, "metric", "gain", "max_label", "seed", "progress")
    ranker, space = _ranker(options, given["gain"]), _space(options)
    judging = checked_judging(options.metric, options, ("gain", "max_label"))
    texts = declared(ranker.get_params().get("categorical"))
    docs = read_docs(data_files(options.data, options), options, values=True, texts=texts)
    width, valid, held_out = docs.width, None, None
    takes_texts = "categorical" in ranker.get_params()
    if options.valid is not None:
        held_out = read_docs([options.valid], options, values=True, texts=texts)
        width = max(width, held_out.width)
        valid = held_out.raw_rows(judging, width, takes_texts=takes_texts)
    rows = docs.raw_rows(judging, width, takes_texts=takes_texts)
    with docs.places_of_text_in_errors(), (held_out or docs).places_of_text_in_errors():
        found = tune(ranker, rows, space, valid=valid, n_jobs=options.jobs, **given)
    save_model(found.booster, options.model)
    if options.plot:
        save_plot(found.plot()[0], options.plot)
    return print_result(options, found.to_dict(), found)


def _ranker(options: argparse.Namespace, gain: Any) -> Any:
    import rustrank

    if options.ranker not in _RANKERS:
        hint = suggestion(options.ranker, _RANKERS) or f", expected one of {', '.join(_RANKERS)}"
        raise UnknownNameError(f"--ranker: got {options.ranker!r}{hint}", code="ranker")
    fixed = dict(_split("--set", one) for one in options.set or ())
    options_of_ranker = {"metric": options.metric, "gain": gain, "random_state": options.seed}
    ranker = getattr(rustrank, _RANKERS[options.ranker])(**options_of_ranker)
    given = {name: _value(text) for name, text in fixed.items()}
    if isinstance(given.get("categorical"), (str, int)):
        options.categorical = [*(options.categorical or ()), fixed["categorical"]]
    if options.categorical is not None:
        given["categorical"] = categorical_of(options)
    return ranker.set_params(**given)


def _space(options: argparse.Namespace) -> Any:
    from rustrank.selection.search_spaces import Between, grids

    tried = dict(_split("--try", one) for one in vars(options)["try"] or ())
    if not tried:
        return options.space or "lambdamart"
    space: dict[str, Any] = {}
    if options.space is not None:
        space.update(grids[choice("--space", options.space, grids, "space")])
    for name, text in tried.items():
        if (ends := _RANGE.fullmatch(text)) is not None:
            low, high = _value(ends[1]), _value(ends[2])
            space[name] = Between(low, high, log=ends[3] is not None)
        else:
            space[name] = _list(text)
    return space


def _split(option: str, given: str) -> tuple[str, str]:
    name, sign, text = given.partition("=")
    if not sign or not text:
        raise ParamError(f"{option}: got {given!r}, expected NAME=...", code=option.strip("-"))
    return name.strip().replace("-", "_"), text.strip()


def _list(text: str) -> list[Any]:
    """Parse values separated by commas; JSON lists are single values."""
    try:
        return list(json.loads(f"[{text}]", parse_constant=_no_number))
    except (ValueError, RecursionError):
        return [_value(part) for part in text.split(",")]


def _value(text: str) -> Any:
    """Parse a number as Python writes it, true, false, none or a JSON list; anything else is a name."""
    text = text.strip()
    try:
        return None if text == "none" else json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        pass
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        # No option is infinite or NaN: these words are names here.
        return number if math.isfinite(number) else text
    return text


def _no_number(text: str) -> Any:
    raise ValueError(text)
