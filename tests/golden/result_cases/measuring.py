"""Metrics, and what is built on them: comparing, combining, tuning, adapting, the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from result_cases.bases import bases
from result_cases.docs import (
    METRIC_NAMES,
    METRICS,
    WORKING,
    Docs,
    case,
    clean,
    few,
    held,
    letor,
    mixed,
    model,
    noise,
)
from result_cases.table import Result, digest, figures, floats, of_models, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@cache
def judged() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of two rankers of the mixed docs, the first with ties."""
    y = mixed().y
    return np.floor(noise(len(y), 3) / 2) + y, noise(len(y), 4, 100) * 4 + 2 * y


@case("metrics")
@case("metrics linear", gain="linear", num_threads=2)
@case("metrics table", gain=[0, 1, 1, 5, 9])
@case("metrics rows", ties="rows")
@case("metrics worst", ties="worst", num_threads=1)
@case("metrics zero", empty="zero", relevant_from=4)
@case("metrics one", empty="one", relevant_from=4)
@case("metrics max_label", max_label=7, relevant_from=2)
@case("metrics weights", query_weight=np.arange(50) % 4)
def metrics(**options: Any) -> Result:
    names = [*METRIC_NAMES, "ndcg@1", "precision", "recall@20", "dcg"]
    docs = mixed()
    found = rr.evaluate(judged()[0], docs.y, qid=docs.qid, metrics=names, **options)
    intervals = [found[name].bootstrap(resamples=500, seed=1) for name in METRICS]
    each = [found[name].per_query for name in names]
    return Result(scores=floats(*each), values=written({**found, "intervals": floats(intervals)}))


@case("compare", resamples=2000)
@case("compare seed", resamples=500, seed=4, level=0.8, metrics=["mrr", "pairwise"], ties="worst")
def compared(**options: Any) -> Result:
    docs = mixed()
    found = rr.compare(*judged(), docs.y, qid=docs.qid, **options)
    one = next(iter(found.values()))
    shown = {"difference": one.difference, "p_t": one.p_t, "p": one.p_randomisation}
    return Result(scores=floats(figures(found.to_dict())), values=written(shown))


@case("compare exactly")
def compared_exactly() -> Result:
    docs = mixed(3, 12)
    a, b = noise(len(docs.y), 5), noise(len(docs.y), 6)
    one = rr.compare(a, b, docs.y, qid=docs.qid)["ndcg@10"]
    return Result(values=written({"exact": one.exact, "p": one.p_randomisation, "p_t": one.p_t}))


COMBINED: dict[str, dict[str, Any]] = {
    **{f"combine {one}": {"metric": one} for one in METRIC_NAMES},
    "combine alphas": {"alphas": (-2, 5), "curve_steps": 20, "ties": "rows"},
    "combine jitter": {"ties": "jitter", "seed": 3, "empty": "zero"},
}
for _name in (
    "coordinate",
    "powell",
    "best_first",
    "most_different_first",
    "average",
    "lambdarank",
):
    COMBINED[f"combine method {_name}"] = {"method": _name, "seed": 1}
COMBINED["combine method restarts"] = {"method": "powell", "restarts": 2, "most_passes": 1}
COMBINED["combine method positive"] = {"method": "coordinate", "negative": False, "reach": 5.0}
COMBINED["combine method pairs"] = {"method": ((0, 2), 1), "metric": "err@5"}
COMBINED["combine method lambdarank_net"] = {"method": "lambdarank_net", "seed": 1}


def combined(options: dict[str, Any], *, many: bool) -> Result:
    docs = mixed()
    rankers = [*judged(), *([noise(len(docs.y), 5, 200) - docs.y] if many else [])]
    best = rr.Combiner(**options).fit(rankers, docs.y, qid=docs.qid)
    net = options.get("method") == "lambdarank_net"
    weights = {} if net else {"weights": [repr(float(one)) for one in best.weights]}
    curve = best.curve
    more = [] if curve is None else [curve.start, curve.end, curve.value]
    shown = {"value": best.value, **weights, "alpha": best.alpha}
    values = written(shown).replace(", ", ",").replace("'", "")
    return Result(scores=floats(best.predict(rankers), best.history, *more), values=values)


for _name, _options in COMBINED.items():
    case(_name, _options, many="method" in _options)(combined)


@case("combine boosters")
def combined_boosters() -> Result:
    rankers = {name: bases()[name] for name in ("trees", "net", "linear")}
    first, second = clean(), held()
    valid = {"rankers": rankers, "y": second.y, "X": second.X, "qid": second.qid}
    best = rr.Combiner("ndcg@10").fit(rankers, first.y, X=first.X, qid=first.qid, valid=valid)
    return model(best.booster, second, value=best.value, held_out=best.held_out, chosen=best.chosen)


@case("cross_validate")
def cross_validated() -> Result:
    docs = clean()
    rankers = {"trees": rr.LambdaMART(**few()), "net": rr.LambdaRank(hidden=(), epochs=2)}
    found = rr.cross_validate(
        rankers, docs.X, docs.y, qid=docs.qid, folds=3, repeats=2, seed=5, metrics=METRICS
    )
    difference = found.compare("net", "trees")["map"]
    values = {name: found[name]["ndcg@10"] for name in rankers}
    return Result(
        scores=floats(*found.scores.values(), found.folds, found.by_fold("trees")),
        values=written({**values, "difference": difference.difference}),
    )


def three(docs: Docs) -> tuple[Any, Any, Any]:
    return docs.X, docs.y, docs.qid


@case("tune grid", {"num_leaves": [3, 6], "learning_rate": [0.05, 0.3]}, folds=3)
@case(
    "tune random",
    {"num_leaves": rr.Between(3, 9), "l2": rr.Between(0.1, 9.0, log=True)},
    trials=3,
    folds=2,
)
def tuned(space: dict[str, Any], **options: Any) -> Result:
    found = rr.tune(rr.LambdaMART(**few()), three(clean()), space, seed=2, **options)
    best = " ".join(f"{name}={value!r}" for name, value in found.best.items())
    plain = figures(found.to_dict())
    return of_models([found.booster], plain, value=found.value, best=digest(best))


@case("distill", {"ranker": rr.LambdaMART(**few())})
@case("distill scores", {"ranker": rr.MART(**few()), "depth": 5, "valid": 0.3, "seed": 1})
def distilled(options: dict[str, Any]) -> Result:
    docs = clean()
    found = rr.distill(bases()["mixture"], docs.X, qid=docs.qid, y=docs.y, **options)
    return model(
        found.booster,
        held(),
        fidelity=found.fidelity,
        figures=floats(figures(found.to_dict())),
    )


@case("local_optimum trees", "trees")
@case("local_optimum net", "net")
def optimum(name: str) -> Result:
    docs = clean(30, 0, 4)
    found = rr.local_optimum(
        bases()[name], docs.X, docs.y, qid=docs.qid, directions=30, steps=2, most_weights=5, seed=1
    )
    # numpy's sums of products, which differ between processors in the last bits, move the weights.
    moved = [np.round(one, 6) for one in (found.offsets, found.curves, found.changes)]
    values = {"value": found.value, "ascents": found.share_of_ascents}
    return Result(scores=floats(found.weights, found.looked_at, *moved), values=written(values))


@case("ensemble")
def ensembled() -> Result:
    members = {
        "trees": rr.LambdaMART(**few(early_stopping=3)),
        "net": rr.Member(rr.LambdaRank(hidden=(), epochs=2), bags=1),
        "stacked": rr.Member(rr.XENDCGMART(**few()), bags=2, stack=["trees"], augment=(0.5, 1)),
    }
    found = rr.ensemble(members, three(clean(60)), folds=3, seed=1)
    chosen = {"chosen": found.chosen, "figures": floats(figures(found.to_dict()))}
    return model(found.booster, held(), **chosen)


@case("adapt all", lambda: 3)
@case("adapt held out", lambda: three(clean(12, 200)), mixing="coordinate", metric="err@10")
def adapted(held_out: Callable[[], Any], **options: Any) -> Result:
    later = held()
    given: dict[str, Any] = {
        "held_out": held_out(),
        "valid_closed": three(later),
        "recipes": ["target", "trees", "features", "interpolate", "refit", "reweigh", "pool"],
        "trees": {"num_trees": 8, "num_leaves": 4, "min_leaf_docs": 5},
        **options,
    }
    target, background = three(clean(24)), three(clean(30, 0, 4))
    found = rr.adapt({"there": bases()["trees"]}, target, background, **given)
    boosters = [found.boosters[name] for name in sorted(found.boosters)]
    scores = [one.predict(later.X) for one in boosters]
    told = floats(figures(found.to_dict()))
    return of_models(boosters, scores, best=found.best.replace(" ", "-"), figures=told)


@case("command line")
def commands() -> Result:
    def run(*arguments: Any) -> str:
        command = [sys.executable, "-m", "rustrank", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with TemporaryDirectory() as name:
        folder = Path(name)
        train, test = letor(folder / "train.txt", clean()), letor(folder / "test.txt", held())
        options = [f"--{key.replace('_', '-')}={value}" for key, value in WORKING.items()]
        run("train", train, folder / "m.rrk", "--valid", test, "--no-progress", *options)
        (folder / "a.txt").write_text(run("score", folder / "m.rrk", test))
        (folder / "b.txt").write_text("".join(f"{one!r}\n" for one in noise(500, 1).tolist()))
        scored = [test, folder / "a.txt", folder / "b.txt"]
        said = [run(one, *scored, "--json") for one in ("evaluate", "compare", "combine")]
        booster = rr.Booster.load(folder / "m.rrk")
        scores = np.loadtxt(folder / "a.txt")
        numbers = [figures(json.loads(one)) for one in said]
    return of_models([booster], scores, figures=floats(*numbers))
