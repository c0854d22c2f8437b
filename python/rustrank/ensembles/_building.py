"""The steps of `rustrank.ensemble`: split the data, fit members, find weights, measure everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.raw_rows import RawRows, as_raw_rows
from rustrank.ensembles._member_fitting import FittedMember, MemberFitting, score
from rustrank.ensembles._saved_models import SavedModels
from rustrank.ensembles._weighting import (
    DEFAULTS,
    CombinationMethod,
    MemberScores,
    MemberWeights,
    spread_of,
)
from rustrank.errors import DataError, ParamError, wrong_kind
from rustrank.inputs.docs import DocArguments
from rustrank.inputs.scalars import choice, share, text, threads, whole
from rustrank.metrics.comparison import MetricComparison, compare_values
from rustrank.metrics.evaluation import (
    Drawing,
    Evaluation,
    Judging,
    MetricValue,
    first_value,
    height,
)
from rustrank.progress import progress_of_steps

if TYPE_CHECKING:
    from rustrank.ensembles.members import Recipe


@dataclass(frozen=True)
class Figures:
    """The metrics of a member, a combination or a subset, as a `Row` has them."""

    description: str
    held_out: Evaluation
    valid: Evaluation


@dataclass(frozen=True)
class Row(Figures):
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


class DataSplit:
    """The documents to fit members to, to fit weights to, and to evaluate on."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Check the data sets, and split off those that are given as shares."""
        seed = whole("seed", given["seed"], 0, 2**31)
        arguments = DocArguments(*(given[name] for name in ("y", "qid", "group")))
        self.whole = as_raw_rows(given["docs"], "docs", arguments)
        like = self.whole.features("docs")
        shares, others = {}, {}
        for name in ("held_out", "valid"):
            one = given[name]
            if isinstance(one, (int, float)) and not isinstance(one, bool):
                shares[name] = share(name, one, "docs, or a share between 0 and 1")
            elif name == "valid" or not isinstance(one, str) or one != "folds":
                others[name] = as_raw_rows(one, name, arguments, like, is_further=True)
        taken = sum(shares.values())
        if taken >= 1:
            message = f"held_out and valid take {taken:g} of the docs, expected less"
            raise ParamError(message, code="held_out")
        self.fit, *split = self.whole.split([1 - taken, *shares.values()], seed)
        others.update(zip(shares, split, strict=True))
        for name, one in {"docs": self.fit, **others}.items():
            _check(one, name)
        self.held_out, self.valid = others.get("held_out"), others["valid"]

    @property
    def top(self) -> float:
        """The largest label of all documents."""
        return max(float(part.y.max()) for part in (self.whole, self.held_out, self.valid) if part)


def _check(docs: RawRows, name: str) -> None:
    if not docs.has_pairs().any():
        message = (
            f"no query of {name} has docs with different labels: nothing can be learned from them, "
            "nor judged by them"
        )
        raise DataError(message, code="labels.one")


class EnsembleOptions:
    """The options of `rustrank.ensemble`, checked."""

    def __init__(self, recipe: Recipe, given: Mapping[str, Any], top: float) -> None:
        """Check options; ``top`` is the largest label of all documents."""
        self.recipe = recipe
        wanted = recipe.metrics if given["metrics"] is None else given["metrics"]
        most = threads(given["num_threads"])
        # All parts share one label scale, whatever their own largest labels are.
        scale = top if given["max_label"] is None else given["max_label"]
        self.judging = Judging(wanted, given["gain"], max_label=scale, num_threads=most)
        self.drawing = Drawing(num_threads=most, level=given["level"])
        stacking = choice("stacking", given["stacking"], ("out_of_fold", "paper"))
        self.out_of_fold = stacking == "out_of_fold"
        self.on_folds = isinstance(given["held_out"], str)
        self.methods = _methods(recipe, given["combinations"])
        self.subsets = _subsets(recipe, given["subsets"])
        self.choose = choice("choose", given["choose"], ["auto", *self.methods])
        self.directory = None if given["directory"] is None else Path(given["directory"])
        self.num_folds = whole("folds", given["folds"], 2, 1000)
        self.seed = whole("seed", given["seed"], 0, 2**31)
        self.cores = _rustrank.num_threads() if most is None else most
        jobs = min(self.cores, len(recipe.members)) if given["n_jobs"] is None else given["n_jobs"]
        self.n_jobs = whole("n_jobs", jobs, 1, 1024)

    def fit(self, docs: RawRows, where: str, progress: bool) -> dict[str, FittedMember]:
        """Fit all members."""
        usable = int(docs.has_pairs().sum())
        if usable < self.num_folds:
            message = (
                f"folds: got {self.num_folds}, expected at most {usable}, the number of queries with "
                "different labels that members are fitted to"
            )
            raise ParamError(message, code="folds")
        saved = None
        if self.directory is not None:
            saved = SavedModels(self.directory / where, docs.checksum())
        fitting = MemberFitting(
            docs=docs,
            folds=docs.folds(self.num_folds, self.seed + 1),
            num_folds=self.num_folds,
            members=self.recipe.members,
            scored_unseen=set(self.recipe.members) if self.on_folds and not where else set(),
            out_of_fold=self.out_of_fold,
            seed=self.seed,
            max_label=self.judging.max_label,
            num_threads=max(1, self.cores // self.n_jobs),
            saved=saved,
        )
        with progress_of_steps(fitting.num_fits, "fit", progress) as step:
            return fitting.run(self.n_jobs, step)

    def evaluate(self, made: dict[str, FittedMember], parts: DataSplit) -> dict[str, Any]:
        """Fit weights on the held-out documents, and measure members, combinations and subsets."""
        most = self.judging.num_threads
        raw = parts.fit if parts.held_out is None else parts.held_out
        unseen = {
            name: one.unseen if parts.held_out is None else score(one.booster, raw, most)
            for name, one in made.items()
        }
        spreads = {name: spread_of(scores) for name, scores in unseen.items()}
        scores = {name: score(one.booster, parts.valid, most) for name, one in made.items()}
        held = MemberScores.of(raw, unseen, spreads)
        valid = MemberScores.of(parts.valid, scores, spreads)
        mixtures = {
            name: method.find(held, self.judging, self.seed)
            for name, method in self.methods.items()
        }
        figures = self._measured(held, valid, mixtures)
        tables = compared_with_best(figures, self.drawing)
        rows = tables["combinations"]
        return {
            **tables,
            "chosen": self._chosen(rows) if self.choose == "auto" else self.choose,
            "metrics": self.judging.metrics,
            "level": self.drawing.level,
            "_made": made,
            "_mixtures": mixtures,
            "_spreads": spreads,
        }

    def _measured(
        self, held: MemberScores, valid: MemberScores, mixtures: Mapping[str, MemberWeights]
    ) -> dict[str, dict[str, Figures]]:
        """Measure members, combinations and subsets on the held-out and the validation set."""
        judging = self.judging

        def average(description: str, names: Sequence[str]) -> Figures:
            mixture = MemberWeights(dict.fromkeys(names, 1.0))
            return Figures(description, *(mixture.evaluate(one, judging) for one in (held, valid)))

        described = self.recipe.descriptions
        return {
            "members": {
                name: average(described.get(name, member.description()), [name])
                for name, member in self.recipe.members.items()
            },
            "combinations": {
                name: Figures(
                    mixtures[name].description(),
                    method.cross_fitted(held, judging, self.seed),
                    mixtures[name].evaluate(valid, judging),
                )
                for name, method in self.methods.items()
            },
            "subsets": {
                name: average(f"{len(some)} members", some) for name, some in self.subsets.items()
            },
        }

    def _chosen(self, rows: dict[str, Row]) -> str:
        """Return the first combination unless another is significantly better on held-out documents."""
        first, *others = rows
        best, height = first, 0.0
        for name in others:
            pair = first_value(rows[first].held_out), first_value(rows[name].held_out)
            found = compare_values(*pair, (first, name), self.drawing)
            is_clear = len(others) * found.p_randomisation < 1 - self.drawing.level
            if is_clear and found.difference > height:
                best, height = name, found.difference
        return best


def compared_with_best(
    figures: Mapping[str, Mapping[str, Figures]], drawing: Drawing
) -> dict[str, Any]:
    """Return tables with a row for each name, compared with the best member, and its name."""
    members = figures["members"]
    best = max(members, key=lambda name: height(first_value(members[name].held_out)))

    def row(name: str, one: Figures) -> Row:
        pair = first_value(members[best].valid), first_value(one.valid)
        against = compare_values(*pair, ("the best member", name), drawing)
        return Row(**vars(one), against=against)

    tables = {
        part: {name: row(name, one) for name, one in of.items()} for part, of in figures.items()
    }
    return {**tables, "best_member": best}


def pooled_tables(ensembles: Sequence[Any]) -> dict[str, Any]:
    """Return the tables of several ensembles, with the queries of all of them together."""
    if not ensembles:
        raise ParamError("ensembles: got none, expected at least one", code="ensembles")
    first = ensembles[0]
    parts = ("members", "combinations", "subsets")
    for other in ensembles:
        if any(list(getattr(other, part)) != list(getattr(first, part)) for part in parts):
            message = "ensembles: expected the same members, combinations and subsets in all"
            raise ParamError(message, code="ensembles")
    figures = {
        part: {
            name: _joined([getattr(one, part)[name] for one in ensembles])
            for name in getattr(first, part)
        }
        for part in parts
    }
    choices = [one.chosen for one in ensembles]
    return {
        **compared_with_best(figures, Drawing(level=first.level)),
        "chosen": max(dict.fromkeys(choices), key=choices.count),
        "metrics": first.metrics,
        "level": first.level,
    }


def _joined(rows: Sequence[Row]) -> Figures:
    """Join the evaluations of several rows; queries are renumbered, since folds may share ids."""

    def joined(evaluations: Sequence[Evaluation]) -> Evaluation:
        values = {}
        for metric in evaluations[0]:
            per_query = np.concatenate([one[metric].per_query for one in evaluations])
            values[metric] = MetricValue(metric, per_query, np.arange(len(per_query)))
        return Evaluation(values)

    held_out, valid = ([getattr(row, name) for row in rows] for name in ("held_out", "valid"))
    return Figures(rows[0].description, joined(held_out), joined(valid))


def _methods(recipe: Recipe, given: Any) -> dict[str, CombinationMethod]:
    if given is None:
        given = recipe.combinations or DEFAULTS
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Sequence):
        given = {text("combinations", name): name for name in given}
    if not isinstance(given, Mapping) or not given:
        raise wrong_kind("combinations", given, "a mapping from names, or names")
    names = list(recipe.members)
    return {
        text("combinations", name): CombinationMethod(name, one, names)
        for name, one in given.items()
    }


def _subsets(recipe: Recipe, given: Any) -> dict[str, list[str]]:
    if given is None:
        given = recipe.subsets or {
            f"all but {left}": [name for name in recipe.members if name != left]
            for left in recipe.members
            if len(recipe.members) > 2
        }
    if not isinstance(given, Mapping):
        raise wrong_kind("subsets", given, "a mapping from names to members")
    for name, some in given.items():
        what = f"subset {name!r}"
        if isinstance(some, str) or not isinstance(some, Sequence) or not some:
            raise wrong_kind(what, some, "names of members", "subsets")
        for one in some:
            choice(what, one, recipe.members, "subsets", "some of")
    return {name: list(some) for name, some in given.items()}
