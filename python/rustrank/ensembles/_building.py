"""The steps of `rustrank.ensemble`: split the data, fit members, find weights, measure everything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.raw_rows import RawRows, as_raw_rows
from rustrank.ensembles._member_fitting import FittedMember, MemberFitting
from rustrank.ensembles._member_models import score
from rustrank.ensembles._saved_models import SavedModels
from rustrank.ensembles._weighting import (
    DEFAULTS,
    CombinationMethod,
    MemberScores,
    MemberWeights,
    spread_of,
)
from rustrank.errors import (
    DataError,
    ParamError,
    ParamKindError,
    RustrankError,
    UnknownNameError,
    shown,
)
from rustrank.inputs.scalars import real, text, threads, whole
from rustrank.metrics.comparison import Comparison, MetricComparison
from rustrank.metrics.evaluation import Drawing, Evaluation, Judging, MetricValue
from rustrank.progress import progress_of_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.ensembles.members import Recipe

    Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """The metrics of a member, a combination or a subset: a row of a table.

    Attributes
    ----------
    description : str
        What the member, combination or subset consists of.
    held_out : Evaluation
        Its metrics on the documents that weights are fitted to; for a combination by cross-fitting: each half
        is scored with the weights fitted to the other half.
    valid : Evaluation
        Its metrics on documents that nothing was fitted to or chosen by.
    against : MetricComparison
        The comparison on these, by the first metric, with the member that is best on the held-out set.
    """

    description: str
    held_out: Evaluation
    valid: Evaluation
    against: MetricComparison

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "description": self.description,
            "held_out": self.held_out.to_dict(),
            "valid": self.valid.to_dict(),
            "difference": self.against.difference,
            "difference_interval": list(self.against.interval),
            "p": self.against.p_randomisation,
        }


@dataclass(frozen=True, eq=False)
class DataSplit:
    """The documents to fit members to, to fit weights to, and to evaluate on."""

    whole: RawRows
    fit: RawRows
    #: None where weights are fitted to out-of-fold scores of ``fit``.
    held_out: RawRows | None
    valid: RawRows

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> DataSplit:
        """Check the data sets, and split off those that are given as shares."""
        seed = whole("seed", given["seed"], 0, 2**31)
        docs = as_raw_rows(given["docs"], "docs")
        shares, others = {}, {}
        for name in ("held_out", "valid"):
            one = given[name]
            if name == "held_out" and isinstance(one, str) and one == "folds":
                continue
            if isinstance(one, (int, float)) and not isinstance(one, bool):
                shares[name] = real(name, one)
                if not 0 < shares[name] < 1:
                    message = f"{name}: got {one}, expected docs, or a share between 0 and 1"
                    raise ParamError(message, code=name)
            else:
                others[name] = as_raw_rows(one, name)
        if sum(shares.values()) >= 1:
            message = f"held_out and valid take {sum(shares.values()):g} of the docs, expected less"
            raise ParamError(message, code="held_out")
        fit, *split = docs.split([1 - sum(shares.values()), *shares.values()], seed)
        others.update(zip(shares, split, strict=True))
        for name, one in {"docs": fit, **others}.items():
            _check(one, name, docs.X.shape[1])
        return cls(docs, fit, others.get("held_out"), others["valid"])

    @property
    def top(self) -> float:
        """The largest label of all documents."""
        return max(float(part.y.max()) for part in (self.whole, self.held_out, self.valid) if part)


def _check(docs: RawRows, name: str, num_features: int) -> None:
    if docs.X.shape[1] != num_features:
        message = (
            f"{name} has another number of features: got {docs.X.shape[1]}, expected {num_features}"
        )
        raise DataError(message, code="features")
    if not docs.has_pairs().any():
        message = (
            f"no query of {name} has docs with different labels: nothing can be learned from them, "
            "nor judged by them"
        )
        raise DataError(message, code="labels.one")


@dataclass(frozen=True, eq=False)
class EnsembleOptions:
    """The options of `rustrank.ensemble`, checked."""

    recipe: Recipe
    judging: Judging
    num_folds: int
    out_of_fold: bool
    on_folds: bool
    methods: list[CombinationMethod]
    subsets: dict[str, list[str]]
    choose: str
    directory: Path | None
    level: float
    seed: int
    n_jobs: int

    @classmethod
    def of(cls, recipe: Recipe, given: Mapping[str, Any], top: float) -> EnsembleOptions:
        """Check options; ``top`` is the largest label of all documents."""
        wanted = recipe.metrics if given["metrics"] is None else given["metrics"]
        most = threads(given["num_threads"])
        # All parts share one label scale, whatever their own largest labels are.
        scale = top if given["max_label"] is None else given["max_label"]
        judging = Judging.of(wanted, given["gain"], "expected", "skip", 1, scale, most)
        if given["stacking"] not in ("out_of_fold", "paper"):
            message = f"stacking: got {shown(given['stacking'])}, expected out_of_fold or paper"
            raise UnknownNameError(message, code="stacking")
        methods = _methods(recipe, given["combinations"])
        choose = text("choose", given["choose"])
        if choose != "auto" and choose not in [method.name for method in methods]:
            known = ", ".join(["auto", *(method.name for method in methods)])
            message = f"choose: got {shown(choose)}, expected one of {known}"
            raise UnknownNameError(message, code="choose")
        directory = given["directory"]
        cores = _rustrank.num_threads() if most is None else most
        jobs = min(cores, len(recipe.members)) if given["n_jobs"] is None else given["n_jobs"]
        return cls(
            recipe,
            judging,
            whole("folds", given["folds"], 2, 1000),
            given["stacking"] == "out_of_fold",
            isinstance(given["held_out"], str),
            methods,
            _subsets(recipe, given["subsets"]),
            choose,
            None if directory is None else Path(directory),
            real("level", given["level"]),
            whole("seed", given["seed"], 0, 2**31),
            whole("n_jobs", jobs, 1, 1024),
        )

    def fit(self, docs: RawRows, where: str, progress: bool) -> dict[str, FittedMember]:
        """Fit all members."""
        usable = int(docs.has_pairs().sum())
        if usable < self.num_folds:
            message = (
                f"folds: got {self.num_folds}, expected at most {usable}, the number of queries with "
                "different labels that members are fitted to"
            )
            raise ParamError(message, code="folds")
        folds = np.zeros(docs.num_queries, np.int64)
        for fold, queries in enumerate(docs.split_queries([1.0] * self.num_folds, self.seed + 1)):
            folds[queries] = fold
        most = self.judging.num_threads
        cores = _rustrank.num_threads() if most is None else most
        saved = None
        if self.directory is not None:
            saved = SavedModels(self.directory / where, docs.checksum())
        fitting = MemberFitting(
            docs=docs,
            folds=folds,
            num_folds=self.num_folds,
            members=self.recipe.members,
            scored_unseen=set(self.recipe.members) if self.on_folds and not where else set(),
            out_of_fold=self.out_of_fold,
            seed=self.seed,
            max_label=self.judging.max_label,
            num_threads=max(1, cores // self.n_jobs),
            saved=saved,
        )
        with progress_of_steps(fitting.num_fits, "fit", progress) as step:
            return fitting.run(self.n_jobs, step)

    def evaluate(self, made: dict[str, FittedMember], parts: DataSplit) -> dict[str, Any]:
        """Fit weights on the held-out documents, and measure members, combinations and subsets."""
        most = self.judging.num_threads
        held = parts.fit if parts.held_out is None else parts.held_out
        unseen = {
            name: score(one.booster, held, most)
            if parts.held_out is not None
            else _unseen_scores(one)
            for name, one in made.items()
        }
        spreads = {name: spread_of(scores) for name, scores in unseen.items()}
        scores = {name: score(one.booster, parts.valid, most) for name, one in made.items()}
        scored = (
            MemberScores.of(held, unseen, spreads),
            MemberScores.of(parts.valid, scores, spreads),
        )
        table = _Measurements(self, scored)
        alone = table.members()
        best = max(alone, key=lambda name: mean_of(alone[name][1]))
        mixtures = {
            method.name: method.find(scored[0], self.judging, self.seed) for method in self.methods
        }
        members = table.rows(alone, alone[best][2])
        combinations = table.rows(table.combinations(mixtures), alone[best][2])
        return {
            "members": members,
            "combinations": combinations,
            "subsets": table.rows(table.averages(self.subsets), alone[best][2]),
            "chosen": self._chosen(combinations) if self.choose == "auto" else self.choose,
            "best_member": best,
            "metrics": self.judging.metrics,
            "level": self.level,
            "_made": made,
            "_mixtures": mixtures,
            "_spreads": spreads,
        }

    def _chosen(self, rows: dict[str, Row]) -> str:
        """Return the first combination unless another is significantly better on held-out documents."""
        first, *others = rows
        drawing = Drawing.of(10_000, 0, self.judging.num_threads)
        best, height = first, 0.0
        for name in others:
            pair = Comparison.of(
                rows[first].held_out, rows[name].held_out, (first, name), drawing, self.level
            )
            found = next(iter(pair.values()))
            if len(others) * found.p_randomisation < 1 - self.level and found.difference > height:
                best, height = name, found.difference
        return best


Figures = tuple[str, Evaluation, Evaluation]


@dataclass(frozen=True, eq=False)
class _Measurements:
    """Measures members, combinations and subsets on the held-out and the validation set."""

    plan: EnsembleOptions
    #: Of the held-out documents, and of the validation documents.
    scored: tuple[MemberScores, MemberScores]

    def members(self) -> dict[str, Figures]:
        """Measure each member alone."""
        recipe = self.plan.recipe
        held, valid = self.scored
        return {
            name: (
                recipe.descriptions.get(name, member.description()),
                self._of(held, held.by_ranker[name]),
                self._of(valid, valid.by_ranker[name]),
            )
            for name, member in recipe.members.items()
        }

    def combinations(self, mixtures: Mapping[str, MemberWeights]) -> dict[str, Figures]:
        """Measure each combination."""
        held, valid = self.scored
        return {
            method.name: (
                mixtures[method.name].description(),
                method.cross_fitted(held, self.plan.judging, self.plan.seed),
                self._of(valid, mixtures[method.name].score(valid)),
            )
            for method in self.plan.methods
        }

    def averages(self, subsets: Mapping[str, Sequence[str]]) -> dict[str, Figures]:
        """Measure the unweighted average of each subset."""
        held, valid = self.scored
        figures = {}
        for name, some in subsets.items():
            mixture = MemberWeights(dict.fromkeys(some, 1.0))
            scores = mixture.score(held), mixture.score(valid)
            description = f"{len(some)} members"
            figures[name] = description, self._of(held, scores[0]), self._of(valid, scores[1])
        return figures

    def _of(self, scored: MemberScores, scores: Scores) -> Evaluation:
        return scored.evaluate(scores, self.plan.judging)

    def rows(self, figures: Mapping[str, Figures], best: Evaluation) -> dict[str, Row]:
        """Return a row for each, compared with the best member."""
        return rows_of(figures, best, self.plan.level, self.plan.judging.num_threads)


def rows_of(
    figures: Mapping[str, Figures], best: Evaluation, level: float, num_threads: int | None
) -> dict[str, Row]:
    """Return a row for each name, compared with the best member."""
    drawing = Drawing.of(10_000, 0, num_threads)
    made = {}
    for name, (description, held, valid) in figures.items():
        pair = Comparison.of(best, valid, ("the best member", name), drawing, level)
        made[name] = Row(description, held, valid, next(iter(pair.values())))
    return made


def pooled_tables(ensembles: Sequence[Any]) -> dict[str, Any]:
    """Return the tables of several ensembles, with the queries of all of them together."""
    if not ensembles:
        message = "ensembles: got none, expected at least one"
        raise ParamError(message, code="ensembles")
    first = ensembles[0]
    parts = ("members", "combinations", "subsets")
    for other in ensembles:
        if any(list(getattr(other, part)) != list(getattr(first, part)) for part in parts):
            message = "ensembles: expected the same members, combinations and subsets in all"
            raise ParamError(message, code="ensembles")
    figures = {
        part: {
            name: (row.description, *_joined([getattr(one, part)[name] for one in ensembles]))
            for name, row in getattr(first, part).items()
        }
        for part in parts
    }
    members: dict[str, Figures] = figures["members"]
    best = max(members, key=lambda name: mean_of(members[name][1]))
    choices = [one.chosen for one in ensembles]
    return {
        **{part: rows_of(figures[part], members[best][2], first.level, None) for part in parts},
        "chosen": max(dict.fromkeys(choices), key=choices.count),
        "best_member": best,
        "metrics": first.metrics,
        "level": first.level,
    }


def _joined(rows: Sequence[Row]) -> tuple[Evaluation, Evaluation]:
    """Join the evaluations of several rows; queries are renumbered, since folds may share ids."""

    def joined(evaluations: Sequence[Evaluation]) -> Evaluation:
        values = {}
        for metric in evaluations[0]:
            per_query = np.concatenate([one[metric].per_query for one in evaluations])
            values[metric] = MetricValue(metric, per_query, np.arange(len(per_query)))
        return Evaluation(values)

    return joined([row.held_out for row in rows]), joined([row.valid for row in rows])


def _methods(recipe: Recipe, given: Any) -> list[CombinationMethod]:
    if given is None:
        given = recipe.combinations or DEFAULTS
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Sequence):
        given = {text("combinations", name): name for name in given}
    if not isinstance(given, Mapping) or not given:
        message = f"combinations: got {shown(given)}, expected a mapping from names, or names"
        raise ParamKindError(message, code="combinations")
    names = list(recipe.members)
    return [
        CombinationMethod.of(text("combinations", name), one, names) for name, one in given.items()
    ]


def _subsets(recipe: Recipe, given: Any) -> dict[str, list[str]]:
    if given is None:
        given = recipe.subsets or {
            f"all but {left}": [name for name in recipe.members if name != left]
            for left in recipe.members
            if len(recipe.members) > 2
        }
    if not isinstance(given, Mapping):
        message = f"subsets: got {shown(given)}, expected a mapping from names to members"
        raise ParamKindError(message, code="subsets")
    for name, some in given.items():
        if isinstance(some, str) or not isinstance(some, Sequence) or not some:
            message = f"subset {name!r}: got {shown(some)}, expected names of members"
            raise ParamKindError(message, code="subsets")
        for one in some:
            if one not in recipe.members:
                known = ", ".join(recipe.members)
                message = f"subset {name!r}: got {shown(one)}, expected some of {known}"
                raise UnknownNameError(message, code="subsets")
    return {name: list(some) for name, some in given.items()}


def _unseen_scores(made: FittedMember) -> Scores:
    if made.unseen_scores is None:
        message = "a member has no scores of docs it has not seen"
        raise RustrankError(message, code="ensemble.unseen_scores")
    return made.unseen_scores


def mean_of(evaluation: Evaluation) -> float:
    """Return the mean of the first metric; minus infinity if no query counts."""
    value = float(next(iter(evaluation.values())))
    return -math.inf if math.isnan(value) else value
