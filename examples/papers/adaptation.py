"""The adaptation tables of two papers, on artificial markets: each with the paper's own algorithm.

Gao, Wu, Burges and others (2009), Tables 3 to 12 and Figure 4; Wu, Burges, Svore and Gao (2008), Tables 3
to 5. Prints NDCG beside the papers' figures, with half of the 95% interval of NDCG@10, what was chosen on
the validation queries, and which claims hold. Rows that begin with "ours:" have LambdaMART models as bases
and `rustrank.adapt` with its defaults.

    python examples/papers/adaptation.py [--scale tiny|small|paper] [--figure figure4.svg]
        [--log-inputs] [--shift 0.3] [--drift 0.8] [--study]
    python examples/papers/adaptation.py --background MQ2007 --target MQ2008

The data: `rustrank.datasets.make_domains`, one background and a target for the person names, three
backgrounds and a target for the languages. ``small`` has a tenth of the papers' training queries, fewer
documents a query, and 40 features where they have about 420. Tables 3 and 4 and Figure 4 (a) and (b) are
made again with a tenth of the target's queries, for what they say of the open set depends on these. With two folders of five LETOR parts,
Tables 3 and 4 on real sets that share their features: the open set is then the background's own.

The rankers of Gao and others: LambdaRank nets by plain gradient descent with 15 hidden units (background) and
10 (in-domain); LambdaBoost; LambdaSMART with splits by least squares and 0.7 of documents and features drawn
at each node (``preset="gao2009"``); interpolations; for the third ranker of 3W a net on the target and
its neighbours in the background. As there, validation queries of the target choose the number of trees or
features (at most 500), the rate (0.1 or 0.5), the leaves (2, 5, 10 or 20) and the weights. Those of Wu and
others: nets with 10 units, trees without draws, rate 0.1, 20 leaves (10 in Table 3; ``preset="wu2008"``).

What differs: the papers' nets have a rate of 1e-5, where an epoch has 4.2 million documents of 31,555 queries.
Here an epoch is a fiftieth of that, and at 1e-5 a background's net is at an NDCG@10 of 0.53 on its own
queries after 300 epochs, where 1e-3 ends at 0.66: rates from 1e-3 to 1e-2 are tried. A net stops 20 epochs
after its best on validation queries, with two restarts from random weights. The papers do not say how the
training of a background's net ends: here a fifth of its own queries validates. They do not say
how features are scaled: here they are standardised. ``--log-inputs`` takes logarithms of features with long
tails first, as `rustrank.LambdaRank` does by default.

``--study`` compares the interpolation of two rankers with LambdaSMART at the settings that won there: 20 leaves
and rate 0.5, which the validation queries here do not choose.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import rustrank as rr
from adapting import rankers as by
from adapting import tables
from adapting.data import Docs, joined, real_folds
from adapting.rankers import Nets, Ranker
from adapting.tables import Findings, Results, Tested, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adapting.data import Sets

BASES = ("En", "Ja", "Cn")
#: The queries of each background to train on, and those to choose on.
Own = dict[str, tuple[Docs, Docs]]
#: Whose rankers are judged, and what their names begin with.
WHOSE = {"the papers' algorithms": "", "our defaults": "ours: "}


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    #: Queries of the background of the person names, of their target, and of a target with few.
    names: tuple[int, int, int]
    #: Queries of the three languages' backgrounds, and of their target.
    languages: tuple[int, int, int]
    korean: int
    #: Queries of all lengths, and the long ones of them: Table 3 of the first paper.
    long: tuple[int, int]
    #: Queries of the target to choose on, and of each test set.
    valid: int
    test: int
    docs: int
    #: The most trees or features: the papers' M.
    rounds: int
    nets: Nets
    seeds: int
    #: How far the target is from the background, and the open sets from the target.
    shift: float = 0.3
    drift: float = 0.8


SCALES = {
    "tiny": Scale((60, 20, 8), (20, 60, 40), 20, (60, 8), 15, 30, 12, 15, Nets(4, (1e-2,)), 1),
    "small": Scale(
        names=(3_155, 575, 58),
        languages=(617, 4_501, 3_283),
        korean=372,
        long=(1_489, 52),
        valid=158,
        test=400,
        docs=30,
        rounds=500,
        nets=Nets(300, (1e-3, 3e-3, 1e-2)),
        seeds=4,
    ),
    # Tables 1 and 2 of the second paper, section 5.1 of the first; one test set is as large as the other.
    "paper": Scale(
        names=(31_555, 5_752, 575),
        languages=(6_167, 45_012, 32_827),
        korean=3_724,
        long=(14_893, 525),
        valid=158,
        test=4_370,
        docs=85,
        rounds=500,
        nets=Nets(100, (1e-4, 1e-3, 1e-2)),
        seeds=1,
    ),
}


@dataclass
class Adaptations:
    """Results of the tables, and those of Figure 4 by base."""

    table: Results = field(default_factory=Results)
    figures: dict[str, Results] = field(default_factory=dict)


def markets(scale: Scale, sizes: tuple[int, int], seed: int, number: int = 0) -> Sets:
    every = (*sizes, scale.valid, scale.test, scale.docs, seed)
    return rr.datasets.make_domains(*every, shift=scale.shift, drift=scale.drift, background=number)


def of_names(scale: Scale, drawn: Iterable[Sets]) -> Adaptations:
    """One background: Tables 3 and 4 and Figure 4 (a) and (b) of Gao and others."""
    made = Adaptations(figures={"names": Results()})
    for sets in drawn:
        own = by.own_validation(sets.background)
        base = by.net(*own, by.BACKGROUND_UNITS, scale.nets)
        inside = by.net(sets.target, sets.valid_closed, by.IN_DOMAIN_UNITS, scale.nets)
        two = {"Back.": base, "In-domain": inside}
        three = {**two, "grown": by.grown_net(sets, scale.nets)}
        figure = by.by_leaves(base, sets, scale.rounds)
        mixed = {
            "2W-Interp.": by.interpolated(two, sets.valid_closed),
            "3W-Interp.": by.interpolated(three, sets.valid_closed),
        }
        mart = by.lambda_mart(*own, scale.rounds)
        ours = by.with_defaults({"base": mart}, sets, scale.rounds, sets.background)
        made.table.add(sets, {**three, **mixed, **by.of_figure(figure), **ours})
        made.figures["names"].add(sets, {**figure, "3W-Interp.": mixed["3W-Interp."]})
    return made


def of_languages(scale: Scale) -> tuple[Adaptations, Results]:
    """Three backgrounds: Tables 5 to 12 and Figure 4 (d) to (f) of Gao and others, and 4 and 5 of Wu's."""
    second, first = Adaptations(figures={name: Results() for name in BASES}), Results()
    for seed in range(scale.seeds):
        there = {
            name: markets(scale, (queries, scale.korean), seed, number)
            for number, (name, queries) in enumerate(zip(BASES, scale.languages, strict=True))
        }
        sets = there[BASES[0]]
        own = {name: by.own_validation(one.background) for name, one in there.items()}
        marts = {name: by.lambda_mart(*parts, scale.rounds) for name, parts in own.items()}
        ours = by.with_defaults(marts, sets, scale.rounds)
        made = adapted_2009(own, sets, scale, second.figures)
        second.table.add(sets, {**made, **ours})
        first.add(sets, {**adapted_2008(own, sets, scale), **ours})
    return second, first


def adapted_2009(
    own: Own, sets: Sets, scale: Scale, figures: dict[str, Results]
) -> dict[str, Ranker]:
    """Return the rankers of Gao and others for three backgrounds, and add those of their Figure 4."""
    made = {"In-domain": by.net(sets.target, sets.valid_closed, by.IN_DOMAIN_UNITS, scale.nets)}
    for name in BASES:
        base = by.net(*own[name], by.BACKGROUND_UNITS, scale.nets)
        figure = by.by_leaves(base, sets, scale.rounds)
        figures[name].add(sets, figure)
        two = {name: base, "In-domain": made["In-domain"]}
        mixed = by.interpolated(two, sets.valid_closed)
        boosted = {f"{kind} ({name})": one for kind, one in by.of_figure(figure).items()}
        made |= {f"Back. ({name})": base, f"Interp. ({name})": mixed, **boosted}
    return {**made, "4W-Interp.": by.interpolated(four(made), sets.valid_closed)}


def adapted_2008(own: Own, sets: Sets, scale: Scale) -> dict[str, Ranker]:
    """Return the rankers of Wu and others for three backgrounds."""
    made = {"In-domain": by.net(sets.target, sets.valid_closed, by.UNITS_2008, scale.nets)}
    for name in BASES:
        base = by.net(*own[name], by.UNITS_2008, scale.nets)
        made[f"Back. ({name})"] = base
        made[f"λ-SMART ({name})"] = by.lambda_smart_2008(base.booster, sets, scale.rounds, 20)
    return {**made, "4W-Interp.": by.interpolated(four(made), sets.valid_closed)}


def four(made: dict[str, Ranker]) -> dict[str, Ranker]:
    """Return the in-domain ranker and the three of the backgrounds."""
    return {name: made[name] for name in ("In-domain", *(f"Back. ({base})" for base in BASES))}


def of_long_queries(scale: Scale) -> dict[int, Tested]:
    """Table 3 of Wu and others: the base has seen the target's queries among others; by their number.

    The paper has the first number only.
    """
    tested: dict[int, Tested] = {}
    background, queries = scale.long
    for size in (queries, 4 * queries, 16 * queries):
        tested[size] = Tested()
        for seed in range(scale.seeds):
            sets = markets(scale, (background, size), seed)
            docs, own = by.own_validation(sets.background)
            every = joined(docs, sets.target)
            base = by.net(every, own, by.UNITS_2008, scale.nets)
            smart = by.lambda_smart_2008(base.booster, sets, scale.rounds, 10)
            mart = by.lambda_mart(every, own, scale.rounds)
            ours = by.with_defaults({"base": mart}, sets, scale.rounds)
            tested[size].add(sets.test_closed, {"λ-Rank": base, "λ-SMART": smart, **ours})
    return tested


def names_findings(made: Results, prefix: str = "", label: str = "") -> list[str]:
    """Judge what Gao and others say of Tables 3 and 4."""
    closed, opened = made.both
    found = Findings(tables.METRIC_2009, prefix, label)
    found.add("in-domain beats the background, closed", [(closed, "Back.", "In-domain")])
    found.add("the background beats in-domain, open", [(opened, "In-domain", "Back.")])
    others = ["In-domain", "2W-Interp.", "3W-Interp.", "λ-Boost"]
    found.add("λ-SMART is the best, closed", [(closed, one, "λ-SMART") for one in others])
    found.add("2W-interpolation beats λ-SMART, open", [(opened, "λ-SMART", "2W-Interp.")])
    found.add("3W-interpolation beats λ-SMART, open", [(opened, "λ-SMART", "3W-Interp.")])
    pairs = [(on, "2W-Interp.", "3W-Interp.") for on in made.both]
    found.add("the grown set helps: 3W beats 2W, closed and open", pairs)
    pairs = [(on, one, "3W-Interp.") for on in made.both for one in ("Back.", "In-domain")]
    found.add("3W-interpolation beats both baselines, closed and open", pairs)
    found.add_smaller("λ-SMART's lead over λ-Boost is smaller, open", "λ-Boost", "λ-SMART", made)
    if prefix:
        pairs = [(on, "Back.", "refit") for on in made.both]
        found.add(
            "refitted leaves beat the background, closed and open (no claim of the paper)", pairs
        )
        pairs = [(opened, "λ-SMART", "refit")]
        found.add("refitted leaves beat λ-SMART, open (no claim of the paper)", pairs)
    return found.lines


def of_each(on: Tested, first: str, second: str) -> list[tuple[Tested, str, str]]:
    """Return the comparisons of two kinds of rankers for each base, whose name takes the place of {}."""
    return [(on, first.format(base), second.format(base)) for base in BASES]


def languages_findings(made: Results, prefix: str = "") -> list[str]:
    """Judge what Gao and others say of Tables 5 to 12."""
    closed, opened = made.both
    found = Findings(tables.METRIC_2009, prefix)
    smart = "λ-SMART ({})"
    found.add("in-domain beats each background, closed", of_each(closed, "Back. ({})", "In-domain"))
    found.add("in-domain beats each background, open", of_each(opened, "Back. ({})", "In-domain"))
    found.add("λ-SMART beats in-domain, closed", of_each(closed, "In-domain", smart))
    found.add("λ-SMART beats 4W-interpolation, closed", of_each(closed, "4W-Interp.", smart))
    found.add("λ-SMART beats λ-Boost, closed", of_each(closed, "λ-Boost ({})", smart))
    found.add("4W-interpolation beats λ-SMART, open", of_each(opened, smart, "4W-Interp."))
    found.add("4W-interpolation beats in-domain, open", [(opened, "In-domain", "4W-Interp.")])
    found.add("2W-interpolation beats λ-SMART of its base, open",
              of_each(opened, smart, "Interp. ({})"))  # fmt: skip
    found.add_level("λ-SMART and λ-Boost are level, open", of_each(opened, "λ-Boost ({})", smart))
    return found.lines


def first_findings(long: dict[int, Tested], languages: Results, prefix: str = "") -> list[str]:
    """Judge what Wu and others say of Tables 3 to 5."""
    found = Findings(tables.METRIC_2008, prefix)
    # With our defaults, the base is LambdaMART.
    base = "Back." if prefix else "λ-Rank"
    (queries, few), *_, (most, many) = long.items()
    found.add_level(
        f"table 3: λ-SMART gains nothing of {queries} queries", [(few, base, "λ-SMART")]
    )
    found.add(
        f"table 3: it gains of more, here {most} (a guess of the paper)", [(many, base, "λ-SMART")]
    )
    on, smart = languages.closed, "λ-SMART ({})"
    found.add("table 4: in-domain beats each background", of_each(on, "Back. ({})", "In-domain"))
    found.add("table 5: λ-SMART beats its base", of_each(on, "Back. ({})", smart))
    found.add("table 5: λ-SMART beats in-domain", of_each(on, "In-domain", smart))
    found.add("table 5: λ-SMART beats interpolation", of_each(on, "4W-Interp.", smart))
    found.add("table 5: interpolation beats in-domain", [(on, "In-domain", "4W-Interp.")])
    return found.lines


def leaves_findings(names: Results, label: str = "") -> list[str]:
    """Judge what Gao and others say of Figure 4 (a) and (b)."""
    found = Findings(tables.METRIC_2009, label=label)
    closed, opened = names.both
    steps = (("L = 1", "L = 2"), ("L = 2", "L = 5"), ("L = 5", "L = 20"))
    found.add("(a) more leaves are better, closed, without draws: 1, 2, 5, 20",
              [(closed, a, b) for a, b in steps])  # fmt: skip
    found.add("(b) but not so, open, without draws: 2 beats 20", [(opened, "L = 20", "L = 2")])
    drawn = [(on, f"{a}, random", f"{b}, random") for on in names.both for a, b in steps[1:]]
    found.add("(a), (b) more leaves are better, with draws: 2, 5, 20, closed and open", drawn)
    found.add("(b) draws help, open, with 10 and 20 leaves", draws_help(names))
    found.add("no λ-SMART with draws reaches 3W-interpolation, open",
              [(opened, f"L = {n}, random", "3W-Interp.") for n in by.LEAVES])  # fmt: skip
    return found.lines


def draws_help(figure: Results) -> list[tuple[Tested, str, str]]:
    """Return the comparisons of draws at each node with none, on the open set, for large trees."""
    return [(figure.opened, f"L = {n}", f"L = {n}, random") for n in (10, 20)]


def languages_leaves_findings(figures: dict[str, Results]) -> list[str]:
    """Judge what Gao and others say of Figure 4 (d) to (f)."""
    found = Findings(tables.METRIC_2009)
    for letter, (name, figure) in zip("def", figures.items(), strict=True):
        claim = f"({letter}) draws help, open, with 10 and 20 leaves, {name}"
        found.add(claim, draws_help(figure))
    found.add("(f) λ-Boost beats 2 leaves, open, Cn", [(figures["Cn"].opened, "L = 2", "L = 1")])
    return found.lines


def show_names(title: str, made: Adaptations, theirs: bool = True) -> None:
    for place, (kind, on) in enumerate(zip(("closed", "open"), made.table.both, strict=True)):
        figures = {name: rows[place] for name, rows in tables.NAMES.items()} if theirs else {}
        show(title.format(3 + place, kind), on, figures)


def show_languages(second: Results) -> None:
    for place, (kind, numbers) in enumerate(
        (("closed", "5, 7, 9 and 11"), ("open", "6, 8, 10 and 12"))
    ):
        figures = {name: rows[place] for name, rows in tables.LANGUAGES.items()}
        show(
            f"Gao and others, Tables {numbers}, {kind}: three backgrounds",
            second.both[place],
            figures,
        )


def show_first(long: dict[int, Tested], languages: Results) -> None:
    """Print Tables 3 to 5 of Wu and others."""
    shown = tables.SHOWN_2008
    (queries, few), *more = long.items()
    title = "Wu and others, Table 3: the base has seen the target's queries among others"
    show(f"{title} ({queries} queries)", few, tables.LONG_QUERIES, shown)
    for size, tested in more:
        show(f"The same with {size} queries, not in the paper", tested, {}, shown)
    on = languages.closed
    ours = [f"ours: {name}" for name in tables.BASELINES]
    title = "Wu and others, Table 4: baselines, on the target"
    show(title, on, tables.BASELINES, shown, ours)
    ours = [f"ours: {name}" for name in tables.ADAPTED]
    title = "Wu and others, Table 5: λ-SMART on each background, and the interpolation of all"
    show(title, on, tables.ADAPTED, shown, ours)


def on_real_folds(background: Path, target: Path, scale: Scale) -> None:
    """Print Tables 3 and 4 of Gao and others on real folds."""
    made = of_names(scale, real_folds(background, target))
    show_names(f"{background.name} to {target.name}, five folds, as Table {{}}, {{}}", made, False)
    tables.show_chosen("five folds", made.table.closed)
    print("\nWhat held:")
    for whose, prefix in WHOSE.items():
        print(f"\nGao and others, with {whose}, by AveNDCG:\n")
        print("\n".join(names_findings(made.table, prefix)))
    print("\nFigure 4:\n\n" + "\n".join(leaves_findings(made.figures["names"])))


def show_figure(
    names: dict[int, Adaptations], languages: dict[str, Results], path: str | None
) -> None:
    """Print Figure 4 as tables, and draw it."""
    sheet: dict[str, Tested] = {}
    for queries, made in names.items():
        figure = made.figures["names"]
        sheet |= {f"(a) closed, {queries} queries": figure.closed}
        sheet |= {f"(b) open, {queries} queries": figure.opened}
    for letter, (name, figure) in zip("def", languages.items(), strict=True):
        sheet[f"({letter}) open, {name}"] = figure.opened
    for title, tested in sheet.items():
        show(f"Gao and others, Figure 4 {title}", tested, {})
    if path:
        tables.draw(sheet, path)


def study(scale: Scale) -> None:
    """Ask whether the settings that Gao and others chose decide what they say of the open set."""
    background, *targets = scale.names
    lines = []
    for queries in targets:
        made = Results()
        for seed in range(scale.seeds):
            sets = markets(scale, (background, queries), seed)
            base = by.net(*by.own_validation(sets.background), by.BACKGROUND_UNITS, scale.nets)
            inside = by.net(sets.target, sets.valid_closed, by.IN_DOMAIN_UNITS, scale.nets)
            mixed = by.interpolated({"Back.": base, "In-domain": inside}, sets.valid_closed)
            theirs = by.lambda_smart_as_chosen(base.booster, sets, scale.rounds)
            made.add(sets, {"2W-Interp.": mixed, **theirs})
        found = Findings(tables.METRIC_2009, label=f"{queries} queries: ")
        for kind, on in zip(("closed", "open"), made.both, strict=True):
            show(f"λ-SMART with 20 leaves and rate 0.5, {kind}, {queries} queries", on, {})
            for name in theirs:
                found.add(f"2W-interpolation beats {name}, {kind}", [(on, name, "2W-Interp.")])
        lines += found.lines
    print("\nWhat held:\n\n" + "\n".join(lines))


def on_artificial_markets(scale: Scale, picture: str | None) -> None:
    """Print all tables and Figure 4, and what held."""
    background, *targets = scale.names
    names = {
        queries: of_names(
            scale, (markets(scale, (background, queries), seed) for seed in range(scale.seeds))
        )
        for queries in targets
    }
    for queries, made in names.items():
        title = f"Gao and others, Table {{}}, {{}}: one background, {queries} queries of the target"
        show_names(title, made)
    second, first = of_languages(scale)
    show_languages(second.table)
    long = of_long_queries(scale)
    show_first(long, first)
    show_figure(names, second.figures, picture)
    for queries, made in names.items():
        tables.show_chosen(f"names, {queries} queries", made.table.closed)
    tables.show_chosen("languages, Gao and others", second.table.closed)
    tables.show_chosen("languages, Wu and others", first.closed)
    print("\nWhat held:")
    for whose, prefix in WHOSE.items():
        print(f"\nGao and others, with {whose}, by AveNDCG:\n")
        for queries, made in names.items():
            print("\n".join(names_findings(made.table, prefix, f"{queries} queries: ")))
        print("\n".join(languages_findings(second.table, prefix)))
        print(f"\nWu and others, with {whose}, by NDCG@10:\n")
        print("\n".join(first_findings(long, first, prefix)))
    print("\nGao and others, Figure 4, by AveNDCG:\n")
    for queries, made in names.items():
        print("\n".join(leaves_findings(made.figures["names"], f"{queries} queries: ")))
    print("\n".join(languages_leaves_findings(second.figures)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--figure", metavar="FILE", help="where to draw figure 4")
    parser.add_argument("--background", type=Path, help="a folder with part1.txt to part5.txt")
    parser.add_argument("--target", type=Path, help="another, with the same features")
    parser.add_argument("--log-inputs", action="store_true", help="nets take logarithms of counts")
    parser.add_argument("--study", action="store_true", help="only: what decides on the open set")
    for name in ("shift", "drift"):
        parser.add_argument(f"--{name}", type=float, help="as in rustrank.datasets.make_domains")
    args = parser.parse_args()
    # Real sets have features of one value.
    warnings.simplefilter("ignore", rr.RustrankWarning)
    scale, start = SCALES[args.scale], time.monotonic()
    if args.log_inputs:
        scale = replace(scale, nets=scale.nets._replace(inputs="auto"))
    domains = {"shift": args.shift, "drift": args.drift}
    scale = replace(scale, **{name: one for name, one in domains.items() if one is not None})
    if args.background is not None and args.target is not None:
        on_real_folds(args.background, args.target, scale)
    elif args.study:
        study(scale)
    else:
        on_artificial_markets(scale, args.figure)
    seconds = time.monotonic() - start
    print(f"\n{seconds:.0f} s at scale {args.scale}, {scale.seeds} seeds")


if __name__ == "__main__":
    main()
