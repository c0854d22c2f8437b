"""The ensemble that won Yahoo's challenge: tables 1 to 3 and figure 1 of Burges, Svore and others (2011).

Fits the twelve members of the paper, combines them in its ways and some that came later, and prints ERR and NDCG
beside the paper's, with what of its findings holds here. The paper's data are not public: on artificial web
data, each fold another draw of queries; or, with folders of LETOR parts, on real folds, of which each tests on a part,
chooses weights on another and fits to the rest.

    python examples/papers/ensemble.py [--scale tiny|small|paper] [--figure figure1.png]
    python examples/papers/ensemble.py --data MQ2007 MQ2008 --scale small --directory fits
    python examples/papers/ensemble.py --data MQ2007 --recipe diverse

The lambdas, the splits and the nets are the paper's; with ``--defaults`` they are this library's defaults, and MART's
features are six. The paper's table 1 has six of the members, tested on two tenths of its queries, and its tables 2
and 3 all twelve, tested on four tenths; here all tables are of all twelve and of the same test queries, but for the two
last rows of table 1, which are of the four members that the paper names. Of its two MARTs the text says that one was
normalised by Pmax (1 + P - Pmax), and table 2 to unit variance within queries: here it is the former. Which four
features MART's scores became it does not say: here they are the maximum and the mean of M11 over a query, and the
maximum and the mean of the top three of M12.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Iterator

Docs = rr.datasets.Ranking


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    #: Queries of the artificial data to fit to, and to choose and test by; and folds.
    queries: int
    held: int
    docs: int
    draws: int
    trees: int
    leaves: int
    rate: float
    leaf_docs: int
    stop: int
    folds: int
    bags: int
    epochs: int
    hidden: int


SCALES = {
    "tiny": Scale(60, 40, 12, 2, 10, 4, 0.2, 5, 10, 3, 1, 2, 4),
    "small": Scale(400, 200, 24, 3, 150, 15, 0.07, 20, 40, 5, 3, 100, 16),
    # Sections 2 and 4.2: 19,944 queries of 24 docs, six tenths of them to fit to; 3000 rounds.
    "paper": Scale(11_966, 3_989, 24, 1, 3000, 110, 0.05, 20, 200, 10, 10, 500, 25),
}

# The paper's ERR and NDCG.
TABLE_1 = {
    "average": (0.459, 0.783),
    "exact tree, similar first (Tree 1)": (0.458, 0.784),
    "exact tree, different first (Tree 2)": (0.458, 0.785),
    "linear LambdaRank (NDCG)": (0.457, 0.785),
    "linear LambdaRank (ERR)": (0.457, 0.785),
    "two-layer LambdaRank (NDCG)": (0.458, 0.785),
    "two-layer LambdaRank (ERR)": (0.458, 0.785),
}
#: The rows of table 1 that leave members out. Its models 1 to 4 are M1, M3, M5 and M7 of table 2.
TABLE_1_SUBSETS = {
    "models 2 and 4 of table 1": (0.457, 0.785),
    "models 1, 2, 3 and 4 of table 1": (0.458, 0.784),
}
TABLE_2 = {
    "M1": (0.461, 0.774),
    "M2": (0.464, 0.786),
    "M3": (0.462, 0.780),
    "M4": (0.460, 0.775),
    "M5": (0.462, 0.779),
    "M6": (0.464, 0.787),
    "M7": (0.463, 0.783),
    "M8": (0.461, 0.781),
    "M9": (0.453, 0.750),
    "M10": (0.453, 0.757),
    "M11": (0.455, 0.772),
    "M12": (0.455, 0.772),
}
TABLE_3 = {
    "All: M1-M12": (0.4657, 0.7878),
    "All minus MARTs": (0.4657, 0.7875),
    "LambdaMART only": (0.4652, 0.7874),
    "All minus LambdaRanks": (0.4653, 0.7879),
    "Augmented only": (0.4641, 0.7864),
    "Non-augmented": (0.4648, 0.7850),
    "Just ERR": (0.4657, 0.7860),
    "Just NDCG": (0.4652, 0.7869),
}
#: Tree 1 joins the two metrics of each kind first, as ((13)(24))(56) does; Tree 2 what is least alike.
TREE_1: Any = (
    (((("M1", "M5"), ("M2", "M6")), (("M3", "M7"), ("M4", "M8"))), ("M9", "M10")),
    ("M11", "M12"),
)
TREE_2: Any = (
    ((("M6", "M9"), ("M1", "M10")), (("M2", "M11"), ("M5", "M12"))),
    (("M3", "M8"), ("M7", "M4")),
)


@dataclass(frozen=True)
class Fold:
    """Docs to fit to, to choose weights by, and to test on."""

    name: str
    fit: Docs
    held_out: Docs
    test: Docs


def recipe_of(scale: Scale, name: str, ndcg: str, is_ours: bool) -> rr.Recipe:
    """Return the paper's members, of a size; and its combinations beside ours."""
    if name == "diverse":
        return rr.recipe(
            "diverse",
            num_trees=scale.trees,
            num_leaves=scale.leaves,
            learning_rate=scale.rate,
            early_stopping=scale.stop,
            min_leaf_docs=scale.leaf_docs,
            epochs=scale.epochs,
            metric=ndcg,
        )
    made = rr.recipe(
        "yahoo2010",
        num_trees=scale.trees,
        num_leaves=scale.leaves,
        learning_rate=scale.rate,
        early_stopping=scale.stop,
        min_leaf_docs=scale.leaf_docs,
        bags=scale.bags,
        epochs=scale.epochs,
        hidden=scale.hidden,
        ndcg=ndcg,
        **({"preset": None, "net_preset": None, "derived": 6} if is_ours else {}),
    )
    ways = dict(made.combinations)
    ours = ("exact, one after the other", "forward selection")
    trees = dict(zip(list(TABLE_1)[1:3], (TREE_1, TREE_2), strict=True))
    combinations = {
        "average": "average",
        **trees,
        **{name: ways[name] for name in list(TABLE_1)[3:]},
        **{name: ways[name] for name in ours},
    }
    of_table_1 = dict(zip(TABLE_1_SUBSETS, (["M3", "M7"], ["M1", "M3", "M5", "M7"]), strict=True))
    subsets = {**made.subsets, **of_table_1}
    return rr.Recipe(made.members, combinations, subsets, made.descriptions, made.metrics)


def artificial(scale: Scale) -> Iterator[Fold]:
    """Draw queries of one artificial engine; each fold has others."""

    def some(queries: int, first: int) -> Docs:
        return rr.datasets.make_web(queries, scale.docs, seed=11, first_query=first)

    for draw in range(scale.draws):
        first = draw * (scale.queries + 2 * scale.held)
        starts = first, first + scale.queries, first + scale.queries + scale.held
        sizes = scale.queries, scale.held, scale.held
        parts = [some(size, start) for size, start in zip(sizes, starts, strict=True)]
        yield Fold(f"draw {draw + 1}", *parts)


def real(folder: Path) -> Iterator[Fold]:
    """Read five LETOR parts: fold k tests on part k, and chooses weights on the one before."""
    paths = sorted(folder.glob("part*.txt*"))
    parts = [rr.datasets.read_letor(path) for path in paths]
    for fold in range(len(parts)):
        rest = [parts[(fold + step) % len(parts)] for step in range(1, len(parts) - 1)]
        # Two parts may number their queries alike.
        qid = np.concatenate([part.qid + (at << 40) for at, part in enumerate(rest)])
        X, y = np.concatenate([part.X for part in rest]), np.concatenate([part.y for part in rest])
        fit = Docs(X, y, qid, rest[0].feature_names)
        yield Fold(f"fold {fold + 1}", fit, parts[fold - 1], parts[fold])


def run(fold: Fold, scale: Scale, args: argparse.Namespace, where: str) -> rr.Ensemble:
    start, cpu = time.monotonic(), time.process_time()
    directory = None
    if args.directory is not None:
        directory = args.directory / f"{args.recipe} {where} {fold.name}".replace(" ", "-")
    found = rr.ensemble(
        recipe_of(scale, args.recipe, args.ndcg, args.defaults),
        fold.fit,
        held_out=fold.held_out,
        valid=fold.test,
        folds=scale.folds,
        directory=directory,
        num_threads=args.threads,
    )
    spent = f"{time.monotonic() - start:.0f} s, {time.process_time() - cpu:.0f} CPU s"
    print(f"{where}, {fold.name}: {spent}, {found.booster!r}", flush=True)
    return found


Figures = dict[str, tuple[float, float]]


def show(title: str, rows: Any, theirs: Figures, best: str, metrics: list[str]) -> None:
    """Print a table, the paper's figures beside ours."""
    heads = []
    for metric in metrics:
        heads += [metric.upper(), "95% interval", "paper's"]
    print(f"\n{title}\n\n| | {' | '.join(heads)} | {metrics[0].upper()} over {best} | p |")
    print("| --- |" + " ---: |" * (len(heads) + 2))
    for name, row in rows.items():
        cells = [name if row.description in (name, "") else f"{name}: {row.description}"]
        for at, metric in enumerate(metrics):
            value = row.valid[metric]
            low, high = value.interval
            paper = f"{theirs[name][at]:.4g}" if name in theirs else ""
            cells += [f"{float(value):.4f}", f"{low:.4f} to {high:.4f}", paper]
        against = row.against
        cells += [f"{against.difference:+.4f}", f"{against.p_randomisation:.4f}"]
        print(f"| {' | '.join(cells)} |")


class Findings:
    """What the paper says, and whether it is so here: pairs of rows, compared query by query."""

    def __init__(self, tables: rr.EnsembleTables) -> None:
        self.tables = tables
        self.lines: list[str] = []

    def _values(self, name: str, metric: str) -> Any:
        tables = self.tables
        for rows in (tables.members, tables.combinations, tables.subsets):
            if name in rows:
                return rows[name].valid[metric].per_query
        raise KeyError(name)

    def difference(self, first: str, second: str, metric: str) -> tuple[float, float]:
        """Return by how much the second is better, and the p-value of random signs."""
        pairs = self._values(second, metric) - self._values(first, metric)
        known = pairs[~np.isnan(pairs)]
        signs = np.random.default_rng(0).choice((-1.0, 1.0), (4000, len(known)))
        mean = float(known.mean())
        drawn = np.abs(signs @ known) / len(known)
        return mean, float(((drawn >= abs(mean) - 1e-15).sum() + 1) / (len(drawn) + 1))

    def better(self, claim: str, *pairs: tuple[str, str], metric: str | None = None) -> None:
        """Claim that each second is better than the first."""
        self._judge(claim, pairs, metric, lambda found: found[0] > 0 and found[1] < 0.05)

    def alike(self, claim: str, *pairs: tuple[str, str], metric: str | None = None) -> None:
        """Claim that no second is clearly better than the first."""
        self._judge(claim, pairs, metric, lambda found: found[0] <= 0 or found[1] >= 0.05)

    def _judge(self, claim: str, pairs: Any, metric: str | None, is_so: Any) -> None:
        metrics = self.tables.metrics if metric is None else [metric]
        found = [self.difference(a, b, one) for a, b in pairs for one in metrics]
        wrong = [one for one in found if one[0] < 0 and one[1] < 0.05]
        verdict = "held" if all(map(is_so, found)) else "did not hold" if wrong else "not clear"
        said = ", ".join(f"{difference:+.4f} (p {p:.4f})" for difference, p in found)
        self.lines.append(f"- {claim}: **{verdict}**: {said}")


def findings(tables: rr.EnsembleTables) -> Findings:
    found = Findings(tables)
    for metric in tables.metrics:
        alone = {name: float(row.valid[metric]) for name, row in tables.members.items()}
        best = max(alone, key=lambda name: alone[name])
        claim = f"the average beats the member that is best on these queries by {metric} ({best})"
        found.better(claim, (best, "average"), metric=metric)
    others = [name for name in tables.combinations if name != "average"]
    chosen = tables.best_member
    found.better(
        f"the average beats the member that is best on held-out docs ({chosen})",
        (chosen, "average"),
    )
    found.alike(
        "no combination is clearly better than the plain average",
        *(("average", name) for name in others),
    )
    if "M1" not in tables.members:
        return found
    found.better("augmentation helps, of ERR and of NDCG", ("M1", "M2"), ("M5", "M6"))
    found.better("LambdaMART beats MART and the net", ("M11", "M5"), ("M10", "M5"))
    found.better(
        "less accurate members help: all against LambdaMART only",
        ("LambdaMART only", "All: M1-M12"),
    )
    found.better(
        "augmented members help: all against those that are not",
        ("Non-augmented", "All: M1-M12"),
    )
    found.alike(
        "trained for ERR or for NDCG, members are alike by ERR",
        *(("M1", "M5"), ("M5", "M1")),
        metric=tables.metrics[0],
    )
    return found


def sanity(fold: Fold, scale: Scale, ndcg: str) -> dict[str, dict[str, Any]]:
    """Train a linear LambdaRank on either metric, judged by both after each epoch: figure 1."""
    curves: dict[str, dict[str, Any]] = {}
    for metric in (ndcg, "err"):
        net = rr.LambdaRank(
            hidden=(),
            epochs=scale.epochs,
            patience=None,
            metric=(ndcg, "err"),
            objective_metric=metric,
            n_jobs=1,
        )
        given = (fold.held_out.X, fold.held_out.y, fold.held_out.qid)
        net.fit(fold.fit.X, fold.fit.y, qid=fold.fit.qid, eval_set=given)
        curves[metric] = {name: net.history["valid"][name] for name in (ndcg, "err")}
    return curves


def draw(curves: dict[str, dict[str, Any]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    metrics = list(curves)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axes, metric in zip(panels, metrics, strict=True):
        for trained, mark in zip(metrics, ("-", "--"), strict=True):
            values = curves[trained][metric]
            epochs = np.arange(1, len(values) + 1)
            axes.plot(epochs, values, mark, label=f"trained for {trained.upper()}")
        axes.set_xlabel("epoch")
        axes.set_ylabel(f"{metric.upper()}, other queries")
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def counted(scale: Scale) -> str:
    """Say how many queries augmentation makes, beside the paper's counts."""
    docs = rr.datasets.make_web(scale.queries, 24, seed=11)
    data = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    said = []
    for (share, copies), paper in (((0.7, 5), 119_305), ((0.5, 10), 217_175)):
        more = len(np.unique(data.augmented((share, copies)).qid))
        whole = data.num_queries * (copies + 1)
        theirs = 19_944 * (copies + 1)
        said.append(
            f"{share:.0%} of the docs, {copies} times: {more:,} of {whole:,} queries "
            f"({more / whole:.2%}), the paper {paper:,} of {theirs:,} ({paper / theirs:.2%})"
        )
    return "\n".join(f"- {one}" for one in said)


def tables_of(folds: Iterator[Fold], scale: Scale, args: argparse.Namespace, where: str) -> Any:
    found = rr.Ensemble.pooled([run(fold, scale, args, where) for fold in folds])
    best, metrics = found.best_member, found.metrics
    print(f"\n## {where}: {found.members[best].valid[metrics[0]].num_queries:,} test queries")
    some = {name: one for name, one in found.subsets.items() if name in TABLE_1_SUBSETS}
    rest = {name: one for name, one in found.subsets.items() if name not in some}
    first = {**found.combinations, **some}
    show("Table 1: combinations", first, {**TABLE_1, **TABLE_1_SUBSETS}, best, metrics)
    show("Table 2: members", found.members, TABLE_2, best, metrics)
    show("Table 3: averages of subsets", rest, TABLE_3, best, metrics)
    print("\nWhat held:\n\n" + "\n".join(findings(found).lines), flush=True)
    return found.to_dict()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--recipe", choices=("yahoo2010", "diverse"), default="yahoo2010")
    parser.add_argument("--defaults", action="store_true", help="this library's defaults instead")
    parser.add_argument("--data", type=Path, nargs="+", help="folders with part1.txt to part5.txt")
    parser.add_argument("--directory", type=Path, help="where fits are kept, to go on from")
    parser.add_argument("--ndcg", default="ndcg@10", help="which NDCG (ndcg@10)")
    parser.add_argument("--figure", metavar="FILE", help="where to draw figure 1")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write all figures")
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    # Real sets have features of one value.
    warnings.simplefilter("ignore", rr.RustrankWarning)
    scale = SCALES[args.scale]
    done = {}
    if args.data:
        for folder in args.data:
            done[folder.name] = tables_of(real(folder), scale, args, folder.name)
    else:
        done["artificial"] = tables_of(artificial(scale), scale, args, "artificial web data")
        print(f"\nQueries that augmentation makes:\n\n{counted(scale)}")
        curves = sanity(next(artificial(scale)), scale, args.ndcg)
        ends = {name: curve["err"][-1] for name, curve in curves.items()}
        said = ", ".join(f"for {name.upper()} {value:.4f}" for name, value in ends.items())
        print(f"\nFigure 1: ERR of a linear LambdaRank trained {said}")
        if args.figure:
            draw(curves, args.figure)
    if args.json:
        args.json.write_text(json.dumps(done, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
