"""Write what Python says statically of parameters, from the schema: ``make parameters``.

That is the signature of `rustrank.train` with the documentation of its parameters, and the types of the
options of estimators, for editors and type checkers. A test fails where they are not what this writes.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rustrank as rr
from rustrank.estimators.tree_ranker import tree_options
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
_HEAD = '''"""The types of the options of estimators: written by ``make parameters``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rustrank.model.booster import Booster
    from rustrank.training.train import EarlyStopping
'''


def training() -> tuple[Path, str]:
    """Return the module of `rustrank.train`, and what should be in it."""
    path = PACKAGE / "training" / "train.py"
    text = path.read_text("utf-8")
    known = TRAININGS["train"].values()
    signature = "".join(
        f"    {one.name}: {one.annotation} = {_literal(one.default)},\n" for one in known
    )
    documents = "".join(f"{_entry(one)}\n" for one in known)
    text = re.sub(
        r"(\ndef train\(\n.*?\n    \*,\n).*?(    \*\*unknown: Any,\n)",
        lambda found: f"{found[1]}{signature}{found[2]}",
        text,
        flags=re.DOTALL,
    )
    return path, re.sub(
        rf"\n    {next(iter(known)).name} :.*?(\n    Returns\n)",
        lambda found: f"\n{documents}{found[1]}",
        text,
        flags=re.DOTALL,
    )


def types() -> tuple[Path, str]:
    """Return the module of the types of options, and what should be in it."""
    kinds: list[tuple[str, str, Mapping[str, Any] | None, type[Ranker], str]] = [
        ("TreeOptions", "", tree_options(()), rr.MART, "all rankers made of trees"),
        ("QueryOptions", "TreeOptions", None, rr.XENDCGMART, "losses on queries"),
        ("PairOptions", "QueryOptions", None, rr.RankNetMART, "losses on pairs"),
        (
            "LambdaOptions",
            "PairOptions",
            None,
            rr.LambdaMART,
            "pairs that weigh what a metric says",
        ),
        ("MARTOptions", "TreeOptions", None, rr.MART, "losses on docs"),
        ("McRankOptions", "TreeOptions", None, rr.McRank, "losses on classes"),
        ("RankNetOptions", "", None, rr.RankNet, "nets"),
        ("LambdaRankOptions", "RankNetOptions", None, rr.LambdaRank, "nets that see a metric"),
        ("LambdaBoostOptions", "", None, rr.LambdaBoost, "`LambdaBoost`"),
    ]
    parts, all_of = [_HEAD], {"": set[str]()}
    for name, base, given, ranker, says in kinds:
        options: Mapping[str, Any] = ranker._defaults if given is None else given
        all_of[name] = set(options)
        own = [option for option in options if option not in all_of[base]]
        lines = [f"    {option}: {_type(option, ranker)}" for option in own]
        head = f"class {name}({base or 'TypedDict'}, total=False):"
        parts.append("\n".join([head, f'    """Options of {says}."""', "", *lines, ""]))
    return PACKAGE / "estimators" / "_option_types.py", "\n\n".join(parts)


def _type(option: str, ranker: type[Ranker]) -> str:
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
        rows.append(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in [*cells, one.doc]) + " |"
        )
    return "\n".join(rows)


def main() -> None:
    """Write the files."""
    for path, text in (training(), types()):
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
