"""``compare.py quality``: test NDCG@10 on real folds, the same small grid for every engine.

For every set, fold and engine the validation queries pick the setting and the round; the test
queries judge what was picked. Every fit is a record, its validation and test figures in it, so
that a run can be resumed, split over processes, and our defaults chosen by validation alone.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from versus import fitted
from versus.fitted import ENGINES, PEERS, Plan, Setting, ndcg
from versus.folds import DATA, FOLDS, SETS, read_fold
from versus.process import machine, say
from versus.records import Records
from versus.variants import OURS, Variant, add_variants, chosen

if TYPE_CHECKING:
    import argparse

    from numpy.typing import NDArray

#: What these sets ask for, chosen by validation, as YetiRank is of CatBoost: it is held to the bars.
NOISY = Variant("noisy", {"preset": "noisy", "query_ranks": True})
#: By how much the average of the sets must be above the best engine's.
MARGIN = 0.005


@dataclass(frozen=True)
class Contender:
    """An engine with parameters of its own: a row of the tables."""

    label: str
    engine: str
    params: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Picked:
    """What validation picked on one fold, averaged over seeds; `grid` over all settings."""

    grid: float
    valid: float
    test: float
    queries: NDArray[np.float64]
    setting: Setting
    rounds: int


@dataclass(frozen=True, eq=False)
class Standing:
    """A contender on one set: means over folds, and the test value of each query.

    To choose among variants read `grid`, the validation values of all settings: the best setting's
    flatters itself, and the mean of many is less noisy.
    """

    grid: float
    valid: float
    test: float
    queries: NDArray[np.float64]


def contenders(args: argparse.Namespace) -> list[Contender]:
    found = []
    for engine in args.engines:
        variants = [Variant("", {})]
        if engine == OURS:
            variants = [*([] if args.no_defaults else [NOISY]), *chosen(args)]
        for variant in variants:
            label = variant.label if engine == OURS else engine
            found.append(Contender(label, engine, variant.params))
    return found


def settings(args: argparse.Namespace) -> list[Setting]:
    return [Setting(*point) for point in product(args.leaves, args.rates, args.leaf_docs)]


def key(name: str, fold: int, contender: Contender, setting: Setting, plan: Plan) -> dict[str, Any]:
    return {
        "set": name,
        "fold": fold,
        "engine": contender.engine,
        "params": contender.params,
        **setting._asdict(),
        "seed": plan.seed,
        "rounds": plan.rounds,
        "patience": plan.patience,
    }


def fit(
    name: str, fold: int, contender: Contender, setting: Setting, plan: Plan, data: Path
) -> Any:
    docs = read_fold(name, fold, data)
    cpu = time.process_time()
    done = ENGINES[contender.engine](docs, setting, plan, contender.params)
    cpu = time.process_time() - cpu
    value = ndcg(done.scores, docs.test)
    queries = [None if math.isnan(x) else round(x, 6) for x in value.per_query.tolist()]
    return {
        "valid": done.curve[done.best - 1],
        "round": done.best,
        "test": float(value),
        "cpu": round(cpu, 3),
        "queries": queries,
    }


def run(args: argparse.Namespace, records: Records) -> None:
    """Fit all that is not on record."""
    for name, fold, contender in product(args.sets, args.folds, contenders(args)):
        fits, began = 0, time.perf_counter()
        for seed, setting in product(range(args.seeds), settings(args)):
            plan = Plan(args.rounds, args.patience, seed, args.threads)
            at = key(name, fold, contender, setting, plan)
            if records.get(at) is None:
                records.put(at, fit(name, fold, contender, setting, plan, args.data))
                fits += 1
        if fits:
            took = time.perf_counter() - began
            say(f"{name}, fold {fold}, {contender.label}: {fits} fits in {took:.0f} s")


def pick(
    args: argparse.Namespace, records: Records, name: str, fold: int, contender: Contender
) -> Picked | None:
    picks, grid = [], []
    for seed in range(args.seeds):
        plan = Plan(args.rounds, args.patience, seed, args.threads)
        found = [
            (setting, records.get(key(name, fold, contender, setting, plan)))
            for setting in settings(args)
        ]
        if any(value is None for _, value in found):
            return None
        grid += [value["valid"] for _, value in found]
        picks.append(max(found, key=lambda pair: pair[1]["valid"]))
    values = [value for _, value in picks]
    queries = np.array([value["queries"] for value in values], np.float64).mean(axis=0)
    valid, test = (float(np.mean([value[part] for value in values])) for part in ("valid", "test"))
    setting = picks[0][0]
    return Picked(float(np.mean(grid)), valid, test, queries, setting, values[0]["round"])


def stand(
    args: argparse.Namespace, records: Records, name: str, contender: Contender
) -> Standing | None:
    """Return how a contender does on a set; None while folds are missing."""
    picks = [pick(args, records, name, fold, contender) for fold in args.folds]
    whole = [picked for picked in picks if picked is not None]
    if len(whole) < len(picks):
        return None
    grid, valid, test = (
        float(np.mean([getattr(picked, part) for picked in whole]))
        for part in ("grid", "valid", "test")
    )
    return Standing(grid, valid, test, np.concatenate([picked.queries for picked in whole]))


# --- Tables -------------------------------------------------------------------------------------


def average(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def shown(value: float | None, form: str = ".4f") -> str:
    return "" if value is None else format(value, form)


#: The parts of a standing that have a table each.
PARTS = {"grid": "valid, mean of the grid", "valid": "valid, as picked", "test": "test, as picked"}


def table(args: argparse.Namespace, standings: dict[str, list[Standing | None]], part: str) -> None:
    print(f"| {PARTS[part]} | " + " | ".join(args.sets) + " | average |")
    print("| --- |" + " ---: |" * (len(args.sets) + 1))
    for label, row in standings.items():
        values = [None if standing is None else getattr(standing, part) for standing in row]
        print(f"| {label} | " + " | ".join(map(shown, [*values, average(values)])) + " |")
    print()


def difference(ours: Standing | None, peer: Standing | None) -> tuple[float, float] | None:
    """Return by how much we are better, and the standard error of that over paired queries."""
    if ours is None or peer is None:
        return None
    pairs = ours.queries - peer.queries
    pairs = pairs[~np.isnan(pairs)]
    return ours.test - peer.test, float(np.std(pairs, ddof=1) / math.sqrt(len(pairs)))


def best_peers(
    args: argparse.Namespace, standings: dict[str, list[Standing | None]]
) -> list[Standing | None]:
    best: list[Standing | None] = []
    for column in range(len(args.sets)):
        known = [standings[name][column] for name in PEERS if name in standings]
        whole = [standing for standing in known if standing is not None]
        best.append(max(whole, key=lambda standing: standing.test, default=None))
    return best


def verdicts(args: argparse.Namespace, standings: dict[str, list[Standing | None]]) -> bool:
    """Print the differences to the best engine of each set; true if the first row passes."""
    best = best_peers(args, standings)
    print("| test, above the best engine | " + " | ".join(args.sets) + " | average |")
    print("| --- |" + " ---: |" * (len(args.sets) + 1))
    passed = None
    for label, row in standings.items():
        if label.partition(":")[0] != OURS:
            continue
        found = [difference(ours, peer) for ours, peer in zip(row, best, strict=True)]
        # The best engine of the average is one engine, not the best of each set.
        ours = average([None if standing is None else standing.test for standing in row])
        averages = [
            average([None if standing is None else standing.test for standing in standings[name]])
            for name in PEERS
            if name in standings
        ]
        peers = [value for value in averages if value is not None]
        above = None if ours is None or not peers else ours - max(peers)
        cells = ["" if pair is None else f"{pair[0]:+.4f} ± {pair[1]:.4f}" for pair in found]
        print(f"| {label} | " + " | ".join([*cells, shown(above, "+.4f")]) + " |")
        if passed is None:
            each = all(pair is not None and pair[0] >= 0 for pair in found)
            passed = each and above is not None and above >= MARGIN
    print(f"\nBars: at least 0 on each set, {MARGIN:+.4f} on the average of the sets.\n")
    return bool(passed)


def costs(args: argparse.Namespace, records: Records) -> None:
    """Print which settings were picked how often, and the CPU time of all fits."""
    print("| engine | fits, CPU s | picked: leaves / rate / leaf size, rounds, a fold each |")
    print("| --- | ---: | --- |")
    for contender in contenders(args):
        spent, picked = 0.0, []
        for name, fold in product(args.sets, args.folds):
            found = pick(args, records, name, fold, contender)
            if found is not None:
                leaves, rate, docs = found.setting
                picked.append(f"{leaves}/{rate:g}/{docs} {found.rounds}")
            for setting in settings(args):
                plan = Plan(args.rounds, args.patience, 0, args.threads)
                value = records.get(key(name, fold, contender, setting, plan))
                spent += value["cpu"] if value else 0.0
        print(f"| {contender.label} | {spent:.0f} | {', '.join(picked)} |")


def quality(args: argparse.Namespace) -> bool:
    records = Records(args.results)
    if not args.show:
        run(args, records)
    standings = {
        contender.label: [stand(args, records, name, contender) for name in args.sets]
        for contender in contenders(args)
    }
    grid = " x ".join(str(len(axis)) for axis in (args.leaves, args.rates, args.leaf_docs))
    print(
        f"NDCG@10 over folds {args.folds}, grid {grid}, up to {args.rounds} rounds, "
        f"{args.seeds} seed(s); {machine(*PEERS)}\n"
    )
    for part in PARTS:
        table(args, standings, part)
    passed = verdicts(args, standings)
    if args.picked:
        costs(args, records)
    return passed


def add_quality(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=[OURS, *PEERS])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--folds", nargs="+", type=int, choices=FOLDS, default=list(FOLDS))
    parser.add_argument(
        "--leaves", nargs="+", type=int, choices=list(fitted.DEPTH), default=[7, 15, 31]
    )
    parser.add_argument("--rates", nargs="+", type=float, default=[0.05, 0.1])
    parser.add_argument(
        "--leaf-docs", nargs="+", type=int, choices=list(fitted.LEAST_HESSIAN), default=[20, 100]
    )
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--patience", type=int, default=100, help="rounds without a new best")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--results",
        type=Path,
        nargs="+",
        default=[],
        help="files of records: new ones go to the first, all are read",
    )
    parser.add_argument("--show", action="store_true", help="print what is on record, fit nothing")
    parser.add_argument("--picked", action="store_true", help="print the settings picked as well")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real sets")
    add_variants(parser)
