"""Fitted members as single models: the mean of their fits, stacking, normalisation and combination."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rustrank import _rustrank
from rustrank.combining.combiner import merged
from rustrank.data.raw_rows import RawRows
from rustrank.model.mixture import mix
from rustrank.model.stacking import Stacking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.ensembles.members import Member
    from rustrank.estimators.nets import LambdaRank
    from rustrank.model.booster import Booster

    Scores = NDArray[np.float64]


def score(booster: Booster, docs: RawRows, num_threads: int | None) -> Scores:
    """Return a booster's scores of documents."""
    return booster.score(docs.X, qid=docs.query, num_threads=num_threads)


def with_derived(
    docs: RawRows, below: Sequence[Booster], scores: Sequence[Scores], derive: Sequence[str]
) -> RawRows:
    """Return documents with further features, derived from the scores of other members."""
    stacking = Stacking(below, derive)
    X = stacking.table(docs.X, qid=docs.query, scores=list(scores))
    names = None
    if docs.names is not None:
        names = [*docs.names, *stacking.names[len(docs.names) :]]
    return RawRows(np.asarray(X, np.float32), docs.y, docs.query, docs.query_ids, names)


def normalised(scores: Scores, docs: RawRows, how: str) -> Scores:
    """Normalise scores as a model with this normalisation does."""
    if how == "none":
        return scores
    return _rustrank.normalised(scores, how, docs.queries[0])


def member_booster(
    member: Member, of: Member, fits: list[Booster], below: list[Booster]
) -> Booster:
    """Return a member as one model; ``of`` is the member that its fits belong to."""
    booster = merged(fits, np.full(len(fits), 1.0 / len(fits)))
    if of.stack:
        booster = Stacking(below, of.derive).booster(booster)
    if member.normalise != "none":
        booster = mix([booster], [1.0], normalise=member.normalise)
    return booster


def combined(
    parts: Mapping[str, Sequence[Booster]],
    spreads: Mapping[str, float],
    weights: Mapping[str, float],
) -> Booster:
    """Return a weighted sum of members as one model.

    A member is one model, or the mean of several. All models become parts of one sum, so that all their
    trees are scored in one pass.
    """
    boosters: list[Booster] = []
    of: list[float] = []
    for name, weight in weights.items():
        boosters += parts[name]
        of += [weight / spreads[name] / len(parts[name])] * len(parts[name])
    return merged(boosters, np.array(of))


def net_on_members(
    boosters: Mapping[str, Booster], spreads: Mapping[str, float], net: LambdaRank
) -> Booster:
    """Return a net whose inputs are the scores of members as one model."""
    scaled = [(0.0, spreads[name]) for name in boosters]
    stacking = Stacking(boosters, ("score",), own=False, normalise=scaled)
    return stacking.booster(net.booster_)
