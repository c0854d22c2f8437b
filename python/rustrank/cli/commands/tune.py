"""The command `tune`: `rustrank.tune` for files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rustrank._rustrank import objectives
from rustrank.cli.parsing import (
    METRIC_NAMES,
    add_json,
    add_progress,
    add_reading,
    add_threads,
    command,
    offer,
    reading_of,
    suggestion,
)
from rustrank.cli.streams import path_of, print_json, require_place, save_model, telling
from rustrank.errors import ParamError, UnknownNameError
from rustrank.inputs.scalars import gain_of

if TYPE_CHECKING:
    import argparse

_LEARNERS = (
    *(estimator for _, estimator, _ in objectives()),
    "LambdaRank",
    "RankNet",
    "LambdaBoost",
)
_RANKERS = {name.lower(): name for name in _LEARNERS}
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
  rustrank tune train.txt best.rrk --trials 20 --valid vali.txt --set n_estimators=50
  rustrank tune train.txt best.rrk --space lambdasmart-2009 --folds 3 --records sweep.jsonl
  rustrank tune train.txt net.rrk --ranker lambdarank --try learning_rate=1e-4..1e-2:log --trials 5
"""
_RANGE = re.compile(r"(.+?)\.\.(.+?)(:log)?")


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "tune",
        "try options of a ranker",
        usage="[options] DATA MODEL",
        epilog=_EPILOG,
        run=_run,
        reads=("data", "valid"),
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="the training set: LETOR or SVMlight text, plain or gzip")
    add("model", metavar="MODEL", help="where to save the ranker with the best setting")
    add("--valid", metavar="DATA", help="what settings are judged by, instead of folds")
    ranker = add(
        "--ranker", default="lambdamart", metavar="NAME", help="what is tuned (lambdamart)"
    )
    space = add("--space", metavar="NAME", help="a space by its name (lambdamart, without --try)")
    add("--try", action="append", metavar="NAME=...", help="what to try; may be repeated")
    add("--set", action="append", metavar="NAME=X", help="an option that stays; may be repeated")
    method = add("--method", metavar="NAME", help="grid, random or optuna (grid if it is finite)")
    add("--trials", type=int, metavar="N", help="how many settings (50, or all of a grid)")
    add("--folds", type=int, default=5, metavar="N", help="folds of DATA to judge by (5)")
    metric = add("--metric", default="ndcg@10", metavar="NAME", help="what to maximise (ndcg@10)")
    add("--records", metavar="FILE", help="where each value is written at once")
    gain = add(
        "--gain", default="exp2", metavar="GAIN", help="exp2, linear or a table such as 0,1,3,7"
    )
    add("--max-label", type=float, metavar="L", help="top of ERR's label scale (the largest label)")
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random (0)")
    add("--jobs", type=int, metavar="N", help="settings to try at once (as many as cores)")
    add("--plot", metavar="FILE", help="draw values (png, svg, pdf); needs matplotlib")
    add_reading(parser)
    add_progress(parser)
    add_threads(parser)
    add_json(parser)
    offer(ranker, _RANKERS)
    offer(method, ("grid", "random", "optuna"))
    offer(metric, METRIC_NAMES)
    offer(gain, ("exp2", "linear"))
    offer(space, ("lambdamart", "lambdarank", "lambdamart-2010", "lambdarank-2010"))


def _run(options: argparse.Namespace) -> int:
    for output in (options.model, options.plot, options.records):
        require_place(output, options.data, options.valid)
    found = _tuned(options)
    save_model(found.booster, options.model)
    if options.plot:
        found.plot()[0].figure.savefig(options.plot, dpi=150)
    stream = telling(options.model)
    if options.json:
        print_json(found.to_dict(), stream)
    else:
        stream.write(f"{found}\n")
    return 0


def _tuned(options: argparse.Namespace) -> Any:
    """Run the tuning."""
    from rustrank.datasets import read_letor
    from rustrank.selection.tuning import tune

    gain = gain_of(options.gain)
    ranker = _ranker(options, gain)
    space = _space(options)
    reading = {"num_threads": options.threads, **reading_of(options)}
    docs = read_letor(path_of(options.data), **reading)
    valid = None
    if options.valid is not None:
        valid = read_letor(path_of(options.valid), **reading)
    return tune(
        ranker,
        docs,
        space,
        method=options.method,
        trials=options.trials,
        valid=valid,
        folds=options.folds,
        metric=options.metric,
        records=options.records,
        seed=options.seed,
        gain=gain,
        max_label=options.max_label,
        progress=options.progress,
        n_jobs=options.jobs,
        num_threads=options.threads,
    )


def _ranker(options: argparse.Namespace, gain: Any) -> Any:
    import rustrank

    if options.ranker not in _RANKERS:
        hint = suggestion(options.ranker, _RANKERS) or f", expected one of {', '.join(_RANKERS)}"
        message = f"--ranker: got {options.ranker!r}{hint}"
        raise UnknownNameError(message, code="ranker")
    fixed = dict(_split("--set", one) for one in options.set or ())
    options_of_ranker = {"metric": options.metric, "gain": gain, "random_state": options.seed}
    ranker = getattr(rustrank, _RANKERS[options.ranker])(**options_of_ranker)
    return ranker.set_params(**{name: _value(text) for name, text in fixed.items()})


def _space(options: argparse.Namespace) -> Any:
    from rustrank.selection.search_spaces import Between, grids

    tried = dict(_split("--try", one) for one in vars(options)["try"] or ())
    if not tried:
        return options.space or "lambdamart"
    space: dict[str, Any] = {}
    if options.space is not None:
        if options.space not in grids:
            message = f"--space: got {options.space!r}, expected one of {', '.join(grids)}"
            raise UnknownNameError(message, code="space")
        space.update(grids[options.space])
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
        message = f"{option}: got {given!r}, expected NAME=..."
        raise ParamError(message, code=option.strip("-"))
    return name.strip().replace("-", "_"), text.strip()


def _list(text: str) -> list[Any]:
    """Parse values separated by commas; JSON lists are single values."""
    try:
        return list(json.loads(f"[{text}]"))
    except ValueError:
        return [_value(part) for part in text.split(",")]


def _value(text: str) -> Any:
    """Parse a number, true, false, none or a JSON list; anything else is a name."""
    text = text.strip()
    try:
        return None if text == "none" else json.loads(text)
    except ValueError:
        return text
