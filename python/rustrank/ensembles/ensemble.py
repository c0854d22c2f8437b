"""Ensembles: members of many kinds, fitted, combined, and made into one model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.combining.combiner import merged
from rustrank.ensembles._building import DataSplit, EnsembleOptions, Row, pooled_tables
from rustrank.ensembles.members import as_recipe
from rustrank.errors import UnknownNameError, dropped_warnings, shown
from rustrank.formatting import Table, TableResult, interval, number, percent
from rustrank.inputs.files import replace_file
from rustrank.inputs.keywords import OF_EVALUATE, refuses_unknown
from rustrank.inputs.scalars import flag
from rustrank.metrics.comparison import difference_cells
from rustrank.metrics.evaluation import first_value, height
from rustrank.model.stacking import Stacking
from rustrank.plotting.results import plot_ensemble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from rustrank.ensembles._member_fitting import FittedMember
    from rustrank.ensembles._weighting import MemberWeights
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]

__all__ = ["Ensemble", "EnsembleTables", "ensemble"]


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleTables(TableResult):
    """What members, combinations and subsets are worth on unseen docs, in tables like the fifth paper's.

    Attributes
    ----------
    members, combinations, subsets : dict
        A row of figures by name: ``held_out`` and ``valid``, each an `Evaluation`, and ``against``, a
        `MetricComparison` with the best member. Subsets are averages of their members.
    chosen : str
        The combination to use.
    best_member : str
        The member that is best on the held-out docs.
    metrics : list of str
        What is measured; the first decides.
    level : float
        The level of intervals and of significance.
    """

    members: dict[str, Row]
    combinations: dict[str, Row]
    subsets: dict[str, Row]
    chosen: str
    best_member: str
    metrics: list[str]
    level: float
    _left = 2

    @property
    def statements(self) -> list[str]:
        """What the figures say."""
        row = self.combinations[self.chosen]
        first = self.metrics[0]
        sentences = [
            f"{self.chosen}: {first} {number(row.valid[first])} "
            f"[{interval(row.valid[first].bootstrap(self.level))}] on docs that nothing has seen",
            f"against the member that was best on held-out docs, {row.against.statement}",
        ]
        others = [name for name in self.combinations if name != self.chosen]
        if others:
            best = max(
                others, key=lambda name: height(first_value(self.combinations[name].held_out))
            )
            theirs = self.combinations[best]
            sentences.append(
                f"{best} is the best of the others: {number(theirs.held_out[first])} against "
                f"{number(row.held_out[first])} on held-out docs, {number(theirs.valid[first])} "
                f"against {number(row.valid[first])} on these"
            )
        return sentences

    def _tables(self) -> list[Table]:
        """Return a table each for combinations, members and subsets, as the fifth paper has them."""
        parts = {"combination": self.combinations, "member": self.members, "subset": self.subsets}
        return [self._table_of(kind, rows) for kind, rows in parts.items() if rows]

    def _sentences(self) -> list[str]:
        """Return what the figures say, after how those of the held-out docs are made."""
        how = (
            f"held-out {self.metrics[0]}: of members on the held-out queries, none of which they were fitted to; of "
            "combinations by cross-fitting, each half of these queries with the weights of the other"
        )
        return [how, *self.statements]

    def _table_of(self, kind: str, rows: dict[str, Row]) -> Table:
        head = [kind, "", f"held-out {self.metrics[0]}"]
        for metric in self.metrics:
            head += [metric, f"{percent(self.level)} interval"]
        head += [f"over {self.best_member}", "p"]
        marked = {"combination": self.chosen, "member": self.best_member}.get(kind)
        shown_rows = []
        for name, row in rows.items():
            cells = [f"{name} *" if name == marked else name, row.description]
            cells.append(number(row.held_out[self.metrics[0]]))
            for metric in self.metrics:
                value = row.valid[metric]
                cells += [number(value), interval(value.bootstrap(self.level))]
            same = kind == "member" and name == self.best_member
            shown_rows.append(cells + difference_cells(None if same else row.against))
        return head, shown_rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = ("metrics", "chosen", "best_member", "statements")
        tables = ("combinations", "members", "subsets")
        return {name: getattr(self, name) for name in plain} | {
            part: {name: row.to_dict() for name, row in getattr(self, part).items()}
            for part in tables
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the first metric of all members, combinations and subsets with intervals; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib axes
        """
        return plot_ensemble(self, ax)


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(EnsembleTables):
    """Members, what each and each combination is worth on unseen docs, and one model of them.

    Attributes
    ----------
    members, combinations, subsets, chosen, best_member, metrics, level
        As of `EnsembleTables`. `booster` is the combination that was chosen.
    """

    _made: dict[str, FittedMember] = field(repr=False)
    _mixtures: dict[str, MemberWeights] = field(repr=False)
    _spreads: dict[str, float] = field(repr=False)

    @property
    def booster(self) -> Booster:
        """The chosen combination as one model, which is saved as one file."""
        return self.combined(self.chosen)

    @property
    def boosters(self) -> dict[str, Booster]:
        """Each member as a model: the mean of its fits, normalised as it says."""
        return {name: made.booster for name, made in self._made.items()}

    @property
    def weights(self) -> dict[str, float] | None:
        """What the scores of each member weigh in the chosen combination, after division by their spread."""
        return self._mixtures[self.chosen].weights

    def combined(self, name: str) -> Booster:
        """Return another combination as one model.

        Parameters
        ----------
        name : str
            One of `combinations`.
        """
        if name not in self._mixtures:
            message = f"there is no combination {shown(name)}: expected one of {', '.join(self._mixtures)}"
            raise UnknownNameError(message, code="combinations")
        mixture = self._mixtures[name]
        if mixture.net is not None:
            scaled = [(0.0, self._spreads[name]) for name in self.boosters]
            stacking = Stacking(self.boosters, ("score",), own=False, normalise=scaled)
            return stacking.booster(mixture.net.booster_)
        # All models become parts of one sum, so that all their trees are scored in one pass.
        boosters: list[Booster] = []
        weights: list[float] = []
        for name, weight in (mixture.weights or {}).items():
            parts = self._made[name].parts
            boosters += parts
            weights += [weight / self._spreads[name] / len(parts)] * len(parts)
        return merged(boosters, np.array(weights))

    def predict(
        self, X: Any, *, qid: Any = None, group: Any = None, num_threads: int | None = None
    ) -> Scores:
        """Score docs with the chosen combination.

        Parameters
        ----------
        X, qid, group, num_threads
            As for `Booster.predict`; queries are needed if a member looks at whole queries.
        """
        return self.booster.predict(X, qid=qid, group=group, num_threads=num_threads)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**super().to_dict(), "weights": self.weights}

    @staticmethod
    def pooled(ensembles: Sequence[Ensemble]) -> EnsembleTables:
        """Return the tables of several ensembles of the same members over all their queries together.

        Parameters
        ----------
        ensembles : sequence of Ensemble
            Of several folds, each measured on docs of its own.
        """
        return EnsembleTables(**pooled_tables(ensembles))


@refuses_unknown(OF_EVALUATE)
def ensemble(
    members: Any,
    docs: Any,
    *,
    y: Any = None,
    qid: Any = None,
    group: Any = None,
    held_out: Any = 0.2,
    valid: Any = 0.2,
    metrics: str | Sequence[str] | None = None,
    folds: int = 10,
    stacking: str = "out_of_fold",
    combinations: Mapping[str, Any] | Sequence[str] | None = None,
    subsets: Mapping[str, Sequence[str]] | None = None,
    choose: str = "auto",
    retrain: bool = False,
    directory: str | PathLike[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    gain: Any = "exp2",
    max_label: float | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    num_threads: int | None = None,
) -> Ensemble:
    """Fit rankers of several kinds, combine them, and evaluate each member and each combination.

    Members are fitted to one part of the queries, by folds: each model has another fold as its
    validation set, and a member is the mean of its models. Weights are fitted to a second part, and
    everything is evaluated on a third. The result depends on the documents and the options only: not on the
    order of rows, nor on threads.

    Parameters
    ----------
    members : str, Recipe, or mapping or sequence of Members, rankers and Boosters
        ``"yahoo2010"``, the ensemble that won Yahoo's challenge, or a `recipe` of it; or members by name, such
        as ``{"trees": rr.LambdaMART(early_stopping=50), "net": rr.LambdaRank()}``. A `Member` says more:
        bags, augmentation, scores of other members as features.
    docs : docs
        The documents to fit members to, and to take the next two parts from if they are shares: in the
        forms that `rustrank.tune` takes.
    y, qid, group : array-like or str, optional
        Labels and queries of a table, as for `rustrank.tune`; names of columns hold for all tables.
    held_out : float, docs or "folds", default 0.2
        The documents to fit weights to: a share of the queries, other documents, or ``"folds"``: the training
        documents, each scored by models that were not fitted to it. With ``"folds"`` the values of stacked
        members are slightly too high, since their input features come from models that saw these documents.
    valid : float or docs, default 0.2
        The documents to evaluate on.
    metrics : str or sequence of str, optional
        The metrics, NDCG@10 by default; weights maximise the first one.
    folds : int, default 10
        The number of folds, and of models of each member that has no other number of bags.
    stacking : {"out_of_fold", "paper"}
        Which scores stacked members learn from: those of models that used the document neither for fitting nor
        for early stopping, or, as in the fifth paper, those of models fitted to the same documents.
    combinations : mapping, optional
        The methods of combining to try, by name: ``average`` (of scores divided by their standard deviation),
        ``forward`` (forward selection: repeatedly add the best member); ``coordinate``, ``powell``,
        ``best_first``, ``most_different_first``, ``lambdarank`` and ``lambdarank_net`` as for `Combiner`; a
        `Combiner` of your own; nested pairs of members, joined by exact sweeps; or a mapping from members to
        weights. By default all of these but the last three and ``powell``.
    subsets : mapping from names to sequences of members, optional
        Averages of subsets to evaluate as well; by default all members but one, for each member.
    choose : str, default "auto"
        The combination to return: a name, or ``auto``: the first, usually the average, unless another is
        significantly better on held-out documents.
    retrain : bool, default False
        Whether to finally refit the members to all of ``docs``; weights and reported metrics stay.
    directory : path-like, optional
        A folder where every fit is saved immediately. A run that was killed continues from it and gives the
        same model; other documents or options are an error. The result is saved there as ``ensemble.rrk``.
    level : float, default 0.95
        The level of intervals and of significance.
    seed : int, default 0
        The seed of the split, the folds and the augmentation.
    gain, max_label
        As for `rustrank.evaluate`; ``max_label`` also applies to rankers without one of their own.
    progress : bool, default False
        Whether to show a progress bar.
    n_jobs : int, optional
        The number of members to fit at once; the number of cores by default.
    num_threads : int, optional
        Threads to use, for all of these together; all cores by default.

    Returns
    -------
    Ensemble
        The tables of metrics, and the combination as one `Booster`.

    Raises
    ------
    DataError
        Nothing can be learned from the documents, or the parts have different features.
    ParamError
        An option is unknown or out of range, or the directory belongs to other data or options.

    Examples
    --------
    >>> import rustrank as rr
    >>> web = rr.datasets.make_polynomial(num_queries=150, docs_per_query=20, seed=0)
    >>> members = {
    ...     "trees": rr.LambdaMART(n_estimators=20, num_leaves=6),
    ...     "net": rr.Member(rr.LambdaRank(epochs=5), bags=1),
    ... }
    >>> found = rr.ensemble(members, web, folds=3, combinations=["average", "coordinate"])
    >>> sorted(found.members), found.chosen
    (['net', 'trees'], 'average')
    >>> found.booster
    <Booster: 60 trees, 1 net, 50 features>
    """
    options = dict(locals())
    recipe = as_recipe(members)
    parts = DataSplit(options)
    plan = EnsembleOptions(recipe, options, parts.top)
    # Parts may have features with a single value, which the caller cannot change.
    with dropped_warnings():
        made = plan.fit(parts.fit, "", flag("progress", progress))
        found = Ensemble(**plan.evaluate(made, parts))
        if flag("retrain", retrain):
            again = plan.fit(parts.whole, "retrained", progress)
            vars(found)["_made"].update(again)
    if plan.directory is not None:
        found.booster.save(plan.directory / "ensemble.rrk")
        text = json.dumps(found.to_dict(), indent=1)
        replace_file(plan.directory / "ensemble.json", f"{text}\n")
    return found
