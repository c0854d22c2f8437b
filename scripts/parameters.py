"""Write what Python says statically of parameters, from the schema: ``make parameters``.

That is the documentation of the parameters of `rustrank.train`, and the types of its options and of those
of estimators, for editors and type checkers. A test fails where they are not what this writes.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rustrank as rr
from rustrank.estimators.lambdamart import tree_options
from rustrank.parameters.schema import TRAININGS, Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rustrank.estimators.ranker import Ranker

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "rustrank"
#: Types of options that are no parameters of a training, or that take more in estimators.
_TYPES = {
    "categorical": "Sequence[str | int] | None",
    "max_bins": "int | None",
    "missing": "float",
    "ordinal": "bool",
    "query_ranks": "bool",
    "random_state": "int | None",
    "validation_fraction": "float",
}
#: Options that all estimators call otherwise than `rustrank.train`.
_OF_ESTIMATORS = ("random_state", "n_jobs")
_HEAD = """# The types of the options of `rustrank.train` and of estimators: written by `make parameters`. Only type
# checkers read them, so this is a stub.
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

from rustrank.model.booster import Booster
from rustrank.parameters.plan import EarlyStopping
from rustrank.training.rounds import Round
"""


def training() -> tuple[Path, str]:
    """Return the module of `rustrank.train`, and what should be in it."""
    path = PACKAGE / "training" / "train.py"
    text = path.read_text("utf-8")
    known = TRAININGS["train"].values()
    documents = "".join(f"{_entry(one)}\n" for one in known)
    return path, re.sub(
        rf"\n    {next(iter(known)).name} :.*?(\n    Returns\n)",
        lambda found: f"\n{documents}{found[1]}",
        text,
        flags=re.DOTALL,
    )


def types() -> tuple[Path, str]:
    """Return the module of the types of options, and what should be in it."""
    train, trees, nets = TRAININGS["train"], tree_options(()), rr.RankNet._defaults
    growth = [name for name in trees if name in train]
    shared = [name for name in growth if name in nets and _type(name, rr.RankNet) == _type(name)]
    of_pairs = [name for name in rr.RankNetMART._defaults if name not in trees]
    of_lambdas = [name for name in rr.LambdaMART._defaults if name not in trees]
    kinds: list[tuple[str, str, Iterable[str], type[Ranker], str]] = [
        ("SharedOptions", "", shared, rr.MART, "all trainings"),
        ("EstimatorOptions", "SharedOptions", [*shared, *_OF_ESTIMATORS], rr.MART, "all rankers"),
        ("GrowthOptions", "SharedOptions", growth, rr.MART, "all trainings of trees"),
        ("QueryLoss", "", ["augment"], rr.XENDCGMART, "losses on queries"),
        ("PairLoss", "QueryLoss", of_pairs, rr.RankNetMART, "losses on pairs"),
        ("LambdaLoss", "PairLoss", of_lambdas, rr.LambdaMART, "lambdas: pairs weighed by a metric"),
        ("TreeOptions", "GrowthOptions, EstimatorOptions", trees, rr.MART, "rankers made of trees"),
        ("QueryOptions", "TreeOptions, QueryLoss", (), rr.XENDCGMART, "trees for queries"),
        ("PairOptions", "TreeOptions, PairLoss", (), rr.RankNetMART, "trees for pairs"),
        ("LambdaOptions", "TreeOptions, LambdaLoss", (), rr.LambdaMART, "trees for lambdas"),
        ("MARTOptions", "TreeOptions", rr.MART._defaults, rr.MART, "trees for docs"),
        ("McRankOptions", "TreeOptions", rr.McRank._defaults, rr.McRank, "trees for classes"),
        ("RankNetOptions", "EstimatorOptions", nets, rr.RankNet, "nets"),
        (
            *("LambdaRankOptions", "RankNetOptions", rr.LambdaRank._defaults, rr.LambdaRank),
            "nets that see a metric",
        ),
        (
            *("LambdaBoostOptions", "EstimatorOptions", rr.LambdaBoost._defaults, rr.LambdaBoost),
            "`LambdaBoost`",
        ),
    ]
    parts, all_of = [_HEAD], {"": set[str]()}
    for name, bases, options, ranker, says in kinds:
        inherited = set[str]().union(*(all_of[base] for base in bases.split(", ")))
        all_of[name] = inherited | set(options)
        own = {option: _type(option, ranker) for option in options if option not in inherited}
        parts.append(_typed(name, bases, says, own))
    inherited = all_of["GrowthOptions"] | all_of["LambdaLoss"]
    own = {name: one.annotation for name, one in train.items() if name not in inherited}
    parts.append(_typed("TrainOptions", "GrowthOptions, LambdaLoss", "`rustrank.train`", own))
    return PACKAGE / "parameters" / "option_types.pyi", "\n".join(parts)


def _typed(name: str, bases: str, says: str, own: Mapping[str, str]) -> str:
    head = f"# Options of {says}.\nclass {name}({bases or 'TypedDict'}, total=False):"
    fields = "".join(f"\n    {option}: {kind}" for option, kind in own.items())
    return f"{head}{fields or ' ...'}\n"


def _type(option: str, ranker: type[Ranker] = rr.MART) -> str:
    of_training = TRAININGS[ranker._training]
    known = of_training.get(ranker._renamed.get(option, option))
    if option in _TYPES or known is None:
        return _TYPES[option]
    # A function as a loss is for `rustrank.train` alone.
    return "str" if option == "objective" else known.annotation


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _entry(one: Parameter) -> str:
    """Return the documentation of a parameter, as in numpy's docstrings."""
    kind = one.annotation
    if one.choices and kind.removesuffix(" | None") == "str":
        names = ", ".join(f'"{name}"' for name in one.choices)
        kind = f"{{{names}}}" + (" or None" if kind != "str" else "")
    optional = one.default is None and one.kind != "bool"
    default = ", optional" if optional else f", default {_literal(one.default)}"
    kind = kind.removesuffix(" or None" if optional else "").removesuffix(" | None")
    kind += " or None" if one.annotation.endswith("| None") and not optional else ""
    within = f" Within: {one.within}." if one.within else ""
    doc = re.sub(r"`+", "``", one.doc) + within
    return f"    {one.name} : {kind}{default}\n" + textwrap.fill(
        doc,
        width=100,
        initial_indent=" " * 8,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )


def page() -> str:
    """Return the reference of all parameters, in Markdown."""
    titles = {
        "train": "Trees: `rustrank.train` and its estimators",
        "net": "Nets: `LambdaRank` and `RankNet`",
        "features": "`LambdaBoost`",
        "refit": "`Booster.refit`",
    }
    parts = []
    seen: set[tuple[str, str]] = set()
    for training, known in TRAININGS.items():
        parts += [f"## {titles[training]}"]
        for group in dict.fromkeys(one.group for one in known.values()):
            of_group = [one for one in known.values() if one.group == group]
            fresh = [one for one in of_group if (one.name, one.doc) not in seen]
            seen |= {(one.name, one.doc) for one in of_group}
            if fresh:
                parts += [f"### {group.capitalize()} of `{training}`", _table(fresh)]
    return "\n\n".join(parts)


def _table(known: Iterable[Parameter]) -> str:
    rows = ["| name | values | default | |", "| --- | --- | --- | --- |"]
    for one in known:
        values = one.within or ", ".join(f"`{name}`" for name in one.choices)
        cells = [f"`{one.name}`", values or f"`{one.annotation}`", f"`{_literal(one.default)}`"]
        rows.append(f"| {' | '.join(map(_cell, [*cells, one.doc]))} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    """Return the text of a cell: bars end it, but for those in code, where a backslash would be shown."""
    parts = text.split("`")
    return "`".join(part if at % 2 else part.replace("|", "\\|") for at, part in enumerate(parts))


def main() -> None:
    """Write the files."""
    for path, text in (training(), types()):
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
