"""Adaptation, as in two papers: their tables in miniature, and what of their findings holds here.

Gao, Wu, Burges and others (2009), tables 3 to 12 and figure 4; Wu, Burges, Svore and Gao (2008), tables 3
to 5. On artificial markets (`rustrank.datasets.make_domains`): one background and a target, as the
papers' person names; three backgrounds and a target, as their languages. The papers' rankers are nets of
two layers; here all are LambdaMART. With folders of LETOR parts, the first experiment on real sets
that share their features: the open set is then the background's own.

    python examples/papers/adaptation.py [--scale tiny|small|paper] [--figure figure4.png]
    python examples/papers/adaptation.py --background MQ2007 --target MQ2008
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Sets = rr.datasets.Domains
#: NDCG at 1, 3 and 10, and its mean over 1 to 10.
SHOWN = ("NDCG@1", "NDCG@3", "NDCG@10", "AveNDCG")
CUTS = [f"ndcg@{cut}" for cut in range(1, 11)]
LEAVES = (2, 3, 5, 10, 20)
RECIPES = ("target", "interpolate", "features", "trees")


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    #: Queries of the backgrounds: of the one market, and of the three languages.
    background: int
    languages: tuple[int, int, int]
    target: int
    valid: int
    test: int
    docs: int
    trees: int
    seeds: int


SCALES = {
    "tiny": Scale(60, (20, 60, 40), 20, 15, 30, 12, 15, 1),
    "small": Scale(1500, (300, 2200, 1600), 180, 120, 300, 25, 200, 4),
    # Table 1 and 2 of the second paper; one test set is as large as the other here.
    "paper": Scale(31_555, (6_167, 45_012, 32_827), 5_752, 158, 4_370, 85, 500, 1),
}

# Rows of the papers' tables: closed and open NDCG@1, 3, 10 and AveNDCG.
NAMES = {
    "Back.": ((0.4575, 0.4952, 0.5446, 0.5092), (0.5472, 0.5347, 0.5731, 0.5510)),
    "In-domain": ((0.4921, 0.5296, 0.5774, 0.5433), (0.5216, 0.5266, 0.5789, 0.5472)),
    "2W-Interp.": ((0.4745, 0.5254, 0.5747, 0.5391), (0.5452, 0.5414, 0.5891, 0.5604)),
    "3W-Interp.": ((0.4829, 0.5333, 0.5814, 0.5454), (0.5474, 0.5470, 0.5951, 0.5661)),
    "λ-Boost": ((0.4706, 0.5011, 0.5569, 0.5192), (0.5269, 0.5233, 0.5716, 0.5428)),
    "λ-SMART": ((0.5042, 0.5449, 0.5951, 0.5623), (0.5200, 0.5331, 0.5875, 0.5538)),
}
LANGUAGES = {
    "Back. (En)": ((0.5371, 0.5413, 0.5873, 0.5616), (0.4991, 0.5242, 0.5397, 0.5278)),
    "Back. (Ja)": ((0.5640, 0.5684, 0.6027, 0.5808), (0.5052, 0.5092, 0.5377, 0.5194)),
    "Back. (Cn)": ((0.4966, 0.5105, 0.5761, 0.5393), (0.4779, 0.4855, 0.5114, 0.4942)),
    "In-domain": ((0.5927, 0.5824, 0.6291, 0.6055), (0.5164, 0.5295, 0.5675, 0.5430)),
    "Interp. (En)": ((0.5954, 0.5893, 0.6335, 0.6088), (0.5178, 0.5369, 0.5768, 0.5500)),
    "Interp. (Ja)": ((0.6047, 0.5898, 0.6339, 0.6116), (0.5274, 0.5416, 0.5788, 0.5531)),
    "Interp. (Cn)": ((0.5812, 0.5807, 0.6268, 0.6024), (0.5224, 0.5339, 0.5766, 0.5487)),
    "4W-Interp.": ((0.5878, 0.5870, 0.6289, 0.6054), (0.5278, 0.5414, 0.5823, 0.5549)),
    "λ-Boost (En)": ((0.5757, 0.5716, 0.6197, 0.5935), (0.4960, 0.5203, 0.5486, 0.5281)),
    "λ-Boost (Ja)": ((0.5801, 0.5807, 0.6225, 0.5982), (0.5090, 0.5167, 0.5374, 0.5233)),
    "λ-Boost (Cn)": ((0.5731, 0.5793, 0.6226, 0.5972), (0.5177, 0.5324, 0.5673, 0.5439)),
    "λ-SMART (En)": ((0.6096, 0.6057, 0.6454, 0.6238), (0.5177, 0.5297, 0.5563, 0.5391)),
    "λ-SMART (Ja)": ((0.6014, 0.5966, 0.6385, 0.6172), (0.5205, 0.5317, 0.5522, 0.5368)),
    "λ-SMART (Cn)": ((0.5955, 0.6095, 0.6415, 0.6209), (0.5198, 0.5305, 0.5644, 0.5410)),
}
#: What the papers call our recipes.
CALLED = {
    "base": "Back.",
    "target": "In-domain",
    "interpolate": "2W-Interp.",
    "interpolate grown": "3W-Interp.",
    "features": "λ-Boost",
    "trees": "λ-SMART",
}


@dataclass
class Tested:
    """Scores of the docs of one test set by each ranker, of all seeds after each other."""

    y: list[NDArray[np.float32]] = field(default_factory=list)
    qid: list[NDArray[np.int64]] = field(default_factory=list)
    scores: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)

    def add(self, docs: rr.datasets.Ranking, rankers: dict[str, rr.Booster]) -> None:
        """Score the docs of one more seed."""
        self.y.append(docs.y)
        self.qid.append(docs.qid + (len(self.qid) << 32))
        for name, ranker in rankers.items():
            self.scores.setdefault(name, []).append(ranker.score(docs.X))

    def row(self, name: str) -> list[float]:
        """Return what a table shows of a ranker."""
        scores = np.concatenate(self.scores[name])
        y, qid = np.concatenate(self.y), np.concatenate(self.qid)
        values = [float(value) for value in rr.evaluate(scores, y, qid=qid, metrics=CUTS).values()]
        return [values[0], values[2], values[9], float(np.mean(values))]

    def difference(self, first: str, second: str, metric: str = "ndcg@10") -> tuple[float, float]:
        """Return by how much the second is better, and the p-value of the randomisation test."""
        a, b = (np.concatenate(self.scores[name]) for name in (first, second))
        y, qid = np.concatenate(self.y), np.concatenate(self.qid)
        found = rr.compare(a, b, y, qid=qid, metrics=metric)[metric]
        return found.difference, found.p_randomisation


class Findings:
    """What a paper says, and whether it is so here."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, claim: str, pairs: Sequence[tuple[Tested, str, str]]) -> None:
        """Claim that each second ranker is better than the first on its set."""
        known = [(on, a, b) for on, a, b in pairs if a in on.scores and b in on.scores]
        if not known:
            self.lines.append(f"- {claim}: not tried")
            return
        found = [on.difference(a, b) for on, a, b in known]
        if all(difference > 0 and p < 0.05 for difference, p in found):
            verdict = "held"
        elif any(difference < 0 and p < 0.05 for difference, p in found):
            verdict = "did not hold"
        else:
            verdict = "not clear"
        said = ", ".join(f"{difference:+.4f} (p {p:.4f})" for difference, p in found)
        self.lines.append(f"- {claim}: **{verdict}**: {said}")


def dataset(docs: rr.datasets.Ranking, **more: Any) -> rr.Dataset:
    return rr.Dataset(docs.X, docs.y, qid=docs.qid, **more)


def ranker(docs: rr.datasets.Ranking, valid: rr.datasets.Ranking, trees: int) -> rr.Booster:
    """Train a ranker of a background, with as many trees as its own other queries call for."""
    train = dataset(docs)
    held = dataset(valid, like=train)
    return rr.train(train, num_trees=trees, num_leaves=15, valid=held, early_stopping=30)


def trees_of(scale: Scale, leaves: int = 8, random: bool = True) -> dict[str, Any]:
    share = 0.7 if random else 1.0
    return {
        "num_trees": scale.trees,
        "num_leaves": leaves,
        "features_per_node": share,
        "rows_per_node": share,
    }


def halves(
    docs: rr.datasets.Ranking, part: float
) -> tuple[rr.datasets.Ranking, rr.datasets.Ranking]:
    """Divide queries: the first share, and the rest."""
    queries = np.unique(docs.qid)
    first = np.isin(docs.qid, queries[: round(part * len(queries))])

    def taken(rows: Any) -> rr.datasets.Ranking:
        return rr.datasets.Ranking(docs.X[rows], docs.y[rows], docs.qid[rows], docs.feature_names)

    return taken(first), taken(~first)


def base_of(docs: rr.datasets.Ranking, scale: Scale) -> rr.Booster:
    return ranker(*halves(docs, 0.8), scale.trees)


def adapted(base: Any, sets: Sets, scale: Scale, **more: Any) -> rr.Adaptation:
    """Adapt as the paper does: fit to the target, choose on its validation queries."""
    given: dict[str, Any] = {"trees": trees_of(scale), **more}
    return rr.adapt(
        base,
        sets.target,
        held_out=sets.valid_closed,
        valid_closed=sets.test_closed,
        valid_open=sets.test_open,
        **given,
    )


def markets(scale: Scale, seed: int, **more: Any) -> Sets:
    sizes = (scale.background, scale.target, scale.valid, scale.test)
    return rr.datasets.make_domains(*sizes, docs_per_query=scale.docs, seed=seed, **more)


def of_names(scale: Scale, given: Sequence[Sets] | None = None) -> tuple[Tested, Tested]:
    """One background: tables 3 and 4 of the second paper."""
    closed, opened = Tested(), Tested()
    every = given or (markets(scale, seed) for seed in range(scale.seeds))
    for sets in every:
        base = base_of(sets.background, scale)
        found = adapted(base, sets, scale, background=sets.background)
        rankers = {CALLED.get(name, name): one for name, one in found.boosters.items()}
        closed.add(sets.test_closed, rankers)
        opened.add(sets.test_open, rankers)
    return closed, opened


def of_languages(scale: Scale) -> tuple[Tested, Tested]:
    """Three backgrounds: tables 5 to 12 of the second paper, 4 and 5 of the first."""
    closed, opened = Tested(), Tested()
    called = {"interpolate all": "4W-Interp.", "target": "In-domain"}
    starts = {"interpolate": "Interp.", "trees": "λ-SMART", "features": "λ-Boost"}
    for seed in range(scale.seeds):
        bases = {}
        for place, (name, queries) in enumerate(
            zip(("En", "Ja", "Cn"), scale.languages, strict=True)
        ):
            sets = rr.datasets.make_domains(
                queries,
                scale.target,
                scale.valid,
                scale.test,
                docs_per_query=scale.docs,
                seed=seed,
                background=place,
            )
            bases[name] = base_of(sets.background, scale)
        found = adapted(bases, sets, scale, recipes=RECIPES)
        rankers = {}
        for name, one in found.boosters.items():
            start, _, base = name.partition(" (")
            also = f"{starts[start]} ({base}" if base else called.get(name, f"Back. ({name})")
            rankers[also] = one
        closed.add(sets.test_closed, rankers)
        opened.add(sets.test_open, rankers)
    return closed, opened


def of_sizes(scale: Scale) -> tuple[list[int], list[tuple[float, float]]]:
    """How LambdaSMART's gain grows with the target's queries: what table 3 of the first paper is about."""
    sizes = [max(4, scale.target * share // 16) for share in (1, 4, 16)]
    gains = []
    for size in sizes:
        tested = Tested()
        for seed in range(scale.seeds):
            sets = rr.datasets.make_domains(
                scale.background, size, scale.valid, scale.test, scale.docs, seed
            )
            base = base_of(sets.background, scale)
            found = adapted(base, sets, scale, recipes=["trees"])
            tested.add(sets.test_closed, found.boosters)
        gains.append(tested.difference("base", "trees"))
    return sizes, gains


def of_leaves(scale: Scale) -> tuple[Tested, Tested]:
    """Figure 4: LambdaSMART with trees of different sizes, with and without randomness at each node.

    One leaf is LambdaBoost, as in the paper's figure.
    """
    closed, opened = Tested(), Tested()
    for seed in range(scale.seeds):
        sets = markets(scale, seed)
        base = base_of(sets.background, scale)
        boosted = adapted(base, sets, scale, recipes=["features"])
        rankers = {"1": boosted.boosters["features"]}
        for leaves in LEAVES:
            for random in (False, True):
                how = trees_of(scale, leaves, random)
                found = adapted(base, sets, scale, recipes=["trees"], trees=how)
                rankers[f"{leaves}{' random' if random else ''}"] = found.boosters["trees"]
        closed.add(sets.test_closed, rankers)
        opened.add(sets.test_open, rankers)
    return closed, opened


Row = tuple[float, float, float, float]


def show(title: str, tested: Tested, theirs: dict[str, tuple[Row, Row]], place: int) -> None:
    """Print a table, the paper's figures beside ours where it has some."""
    heads = [*SHOWN, f"paper: {SHOWN[0]}", *SHOWN[1:]] if theirs else [*SHOWN]
    print(f"\n{title}\n\n| ranker | " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * len(heads))
    first = [name for name in theirs or NAMES if name in tested.scores]
    for name in dict.fromkeys([*first, *tested.scores]):
        cells = [f"{value:.4f}" for value in tested.row(name)]
        if theirs:
            cells += (
                [f"{value:.4f}" for value in theirs[name][place]] if name in theirs else [""] * 4
            )
        print(f"| {name} | {' | '.join(cells)} |")


def names_findings(closed: Tested, opened: Tested) -> Findings:
    found = Findings()
    found.add(
        "the in-domain ranker beats the background's, closed", [(closed, "Back.", "In-domain")]
    )
    found.add("the background's beats the in-domain ranker, open", [(opened, "In-domain", "Back.")])
    others = ["In-domain", "2W-Interp.", "3W-Interp.", "λ-Boost"]
    found.add("λ-SMART is the best, closed", [(closed, one, "λ-SMART") for one in others])
    found.add("3W-interpolation beats λ-SMART, open", [(opened, "λ-SMART", "3W-Interp.")])
    found.add("2W-interpolation beats λ-SMART, open", [(opened, "λ-SMART", "2W-Interp.")])
    both = [(on, "2W-Interp.", "3W-Interp.") for on in (closed, opened)]
    found.add("the grown set helps: 3W beats 2W, closed and open", both)
    both = [(on, one, "3W-Interp.") for on in (closed, opened) for one in ("Back.", "In-domain")]
    found.add("3W-interpolation beats both baselines, closed and open", both)
    found.add("refitted leaves beat the background's, closed and open (not in the papers)",
              [(on, "Back.", "refit") for on in (closed, opened)])  # fmt: skip
    found.add("refitted leaves beat λ-SMART, open (not in the papers)",
              [(opened, "λ-SMART", "refit")])  # fmt: skip
    return found


def languages_findings(closed: Tested, opened: Tested) -> Findings:
    found = Findings()
    bases = ("En", "Ja", "Cn")
    found.add("the in-domain ranker beats all backgrounds, closed (first paper, table 4)",
              [(closed, f"Back. ({base})", "In-domain") for base in bases])  # fmt: skip
    found.add("λ-SMART beats each background, closed (first paper, table 5)",
              [(closed, f"Back. ({base})", f"λ-SMART ({base})") for base in bases])  # fmt: skip
    found.add("λ-SMART beats 4W-interpolation, closed (first paper, table 5)",
              [(closed, "4W-Interp.", f"λ-SMART ({base})") for base in bases])  # fmt: skip
    found.add("4W-interpolation beats λ-SMART, open",
              [(opened, f"λ-SMART ({base})", "4W-Interp.") for base in bases])  # fmt: skip
    found.add("λ-SMART beats λ-Boost, closed",
              [(closed, f"λ-Boost ({base})", f"λ-SMART ({base})") for base in bases])  # fmt: skip
    return found


def leaves_findings(closed: Tested, opened: Tested) -> Findings:
    found = Findings()
    found.add("2 leaves beat LambdaBoost, closed, without randomness", [(closed, "1", "2")])
    found.add("20 leaves beat 2, closed, without randomness", [(closed, "2", "20")])
    found.add("20 leaves beat 2, open, with randomness", [(opened, "2 random", "20 random")])
    found.add("randomness helps, open, with 10 and 20 leaves",
              [(opened, f"{leaves}", f"{leaves} random") for leaves in (10, 20)])  # fmt: skip
    return found


def draw(closed: Tested, opened: Tested, path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for axes, tested, title in ((panels[0], closed, "closed"), (panels[1], opened, "open")):
        for random, color in ((False, "#9ec5e8"), (True, "#1f4e79")):
            names = [f"{leaves}{' random' if random else ''}" for leaves in LEAVES]
            values = [tested.row(name)[3] for name in names]
            places = 1 + np.arange(len(LEAVES)) + (0.2 if random else -0.2)
            label = "rows and features drawn at each node" if random else "all rows and features"
            axes.bar(places, values, 0.4, color=color, label=label)
        axes.bar([0], [tested.row("1")[3]], 0.4, color="#c8641e", label="LambdaBoost")
        low = min(tested.row(name)[3] for name in tested.scores)
        axes.set_ylim(low - 0.02, None)
        axes.set_xticks(range(1 + len(LEAVES)), [1, *LEAVES])
        axes.set_title(title)
        axes.set_xlabel("leaves")
        axes.set_ylabel("AveNDCG")
    panels[0].legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.1))
    figure.savefig(path, dpi=150)


def real(background: Path, target: Path) -> list[Sets]:
    """Read folders of five LETOR parts: each fold of the target is moved to with little of its data."""

    def part(folder: Path, number: int) -> rr.datasets.Ranking:
        (path,) = folder.glob(f"part{number % 5 + 1}.txt*")
        return rr.datasets.read_letor(path)

    def joined(*parts: rr.datasets.Ranking) -> rr.datasets.Ranking:
        X, y, qid = (np.concatenate(one) for one in zip(*parts, strict=True))
        return rr.datasets.Ranking(X, y, qid, parts[0].feature_names)

    made = []
    for fold in range(5):
        little, _ = halves(part(target, fold), 0.6)
        there = [part(background, fold + step) for step in range(5)]
        made.append(
            Sets(
                background=joined(*there[:4]),
                target=little,
                valid_closed=part(target, fold + 1),
                valid_open=there[4],
                test_closed=part(target, fold + 2),
                test_open=there[4],
            )
        )
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--figure", metavar="FILE", help="where to draw figure 4")
    parser.add_argument("--background", type=Path, help="a folder with part1.txt to part5.txt")
    parser.add_argument("--target", type=Path, help="another, with the same features")
    args = parser.parse_args()
    # Real sets have features of one value.
    warnings.simplefilter("ignore", rr.RustrankWarning)
    scale, start = SCALES[args.scale], time.monotonic()
    if args.background is not None and args.target is not None:
        closed, opened = of_names(scale, real(args.background, args.target))
        title = f"{args.background.name} to {args.target.name}, five folds"
        show(f"{title}: closed", closed, {}, 0)
        show(f"{title}: open is the background's own test part", opened, {}, 1)
        print("\n" + "\n".join(names_findings(closed, opened).lines))
        return
    closed, opened = of_names(scale)
    show("Table 3, closed: one background", closed, NAMES, 0)
    show("Table 4, open", opened, NAMES, 1)
    lines = names_findings(closed, opened).lines
    closed, opened = of_languages(scale)
    show("Tables 5, 7, 9, 11, closed: three backgrounds", closed, LANGUAGES, 0)
    show("Tables 6, 8, 10, 12, open", opened, LANGUAGES, 1)
    lines += languages_findings(closed, opened).lines
    print(
        "\nLambdaSMART over the background, closed, by queries of the target (first paper, table 3)\n"
    )
    for size, (gain, p) in zip(*of_sizes(scale), strict=True):
        print(f"- {size} queries: {gain:+.4f} NDCG@10 (p {p:.4f})")
    closed, opened = of_leaves(scale)
    show("Figure 4, closed", closed, {}, 0)
    show("Figure 4, open", opened, {}, 1)
    lines += leaves_findings(closed, opened).lines
    if args.figure:
        draw(closed, opened, args.figure)
    print("\nWhat held:\n\n" + "\n".join(lines))
    print(f"\n{time.monotonic() - start:.0f} s at scale {args.scale}, {scale.seeds} seeds")


if __name__ == "__main__":
    main()
