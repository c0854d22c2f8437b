"""Mixtures: normalised scores of several boosters and their weighted sum, as one booster."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank import _rustrank
from rustrank.data.dataset_building import missing_note, raw_names
from rustrank.errors import DataError, ParamError, warn_caller, wrong_kind, wrong_value
from rustrank.inputs.feature_names import (
    check_joined_names,
    check_joined_texts,
    features_of_text,
    have_same_names,
)
from rustrank.inputs.scalars import as_list, real
from rustrank.inputs.vectors import as_doubles
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["mix"]

#: A normalisation as the extension reads it: a name, or a mean and a scale.
Normalising: TypeAlias = str | tuple[float, float]

_NAMES = ("logistic", "query", "query_range", "query_top")


def as_boosters(given: Any, name: str) -> list[Booster]:
    """Return a list of boosters, at least one."""
    boosters = as_list(name, given, "a list of boosters")
    for at, one in enumerate(boosters):
        if not isinstance(one, Booster):
            raise wrong_kind(f"{name}[{at}]", one, "a booster", name)
    if not boosters:
        raise ParamError(f"{name}: got none, expected a booster at least", code=name)
    return boosters


#: What to do with models of other columns, which cannot be one model.
_HINT = (
    "one model knows features by their position: train all with the columns in one order "
    "(frame[booster.feature_names]), or mix their scores, which predict matches by name"
)
#: What to do with models of which one has texts where another has numbers.
_TEXTS = (
    "one model reads a column in one way: train all with texts there, or all with numbers (on files or frames of "
    "one kind)"
)


def check_same_columns(
    boosters: Sequence[Booster], names: Sequence[str], hint: str = _HINT
) -> None:
    """Raise `DataError` unless boosters score the same columns in the same order; ``names`` are the boosters'."""
    columns = list(zip(names, map(raw_names, boosters), strict=True))
    for first, other in combinations(columns, 2):
        check_joined_names(first, other, hint)
    of_texts = [
        (name, features_of_text(one._core.category_lists()))
        for name, one in zip(names, boosters, strict=True)
    ]
    for own, theirs in combinations(of_texts, 2):
        check_joined_texts(own, theirs, _TEXTS)


def share_columns(boosters: Sequence[Booster]) -> bool:
    """Return whether boosters score the same columns in the same order, so that they can be one model."""
    pairs = combinations(map(raw_names, boosters), 2)
    kinds = {
        tuple((at, type(own[0])) for at, own in one._core.category_lists().items())
        for one in boosters
    }
    return len(kinds) < 2 and all(have_same_names(one, other) for one, other in pairs)


def as_normalisations(normalise: Any, count: int, scores: Any) -> list[Normalising]:
    """Return the normalisation of each of ``count`` rankers."""
    if normalise is None or isinstance(normalise, str):
        each = [normalise] * count
    else:
        each = as_list("normalise", normalise, "a name, or one for each ranker")
    if len(each) != count:
        message = f"normalise: got {len(each)}, expected one for each of {count} rankers"
        raise ParamError(message, code="normalise")
    of_set = [None] * count if scores is None else list(scores)
    if len(of_set) != count:
        message = f"scores: got {len(of_set)} arrays, expected one for each of {count} rankers"
        raise DataError(message, code="stack.scores")
    return [
        _normalising(one, own, at) for at, (one, own) in enumerate(zip(each, of_set, strict=True))
    ]


def _normalising(one: Any, scores: Any, at: int) -> Normalising:
    if one is None:
        return "as-is"
    if isinstance(one, tuple) and len(one) == 2:
        mean, scale = real("mean", one[0]), real("scale", one[1])
        if not math.isfinite(mean) or not 0.0 < scale < math.inf:
            raise wrong_value("normalise", (mean, scale), "finite numbers, the scale above 0")
        return mean, scale
    if one == "set":
        if scores is None:
            message = (
                f"normalise[{at}]: got 'set' without scores, expected scores= with what each "
                "ranker says of the docs of a set"
            )
            raise ParamError(message, code="normalise")
        return mean_and_deviation(as_doubles(scores, f"scores[{at}]"))
    if one in _NAMES:
        return str(one)
    names = ", ".join(map(repr, ("set", *_NAMES)))
    raise wrong_value("normalise", one, f"None, {names}, or (mean, scale)")


def mean_and_deviation(scores: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and standard deviation of scores, the same for any order of rows.

    The deviation of equal scores is returned as 1, so that they become 0.
    """
    if len(scores) == 0 or not np.isfinite(scores).all():
        message = "scores: got none or some that are not finite, expected finite numbers"
        raise DataError(message, code="stack.scores")
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((scores - mean) ** 2) / len(scores))
    return mean, deviation if deviation > 0.0 else 1.0


def as_weights(weights: Any, count: int) -> Sequence[float]:
    """Return a weight for each of ``count`` boosters; by default equal weights that sum to 1."""
    if weights is None:
        return [1.0 / count] * count
    taken: list[float] = as_doubles(weights, "weights").tolist()
    if len(taken) != count:
        message = f"weights: got {len(taken)}, expected one for each of {count} boosters"
        raise ParamError(message, code="weights")
    return taken


def mix(
    boosters: Any, weights: Any = None, *, normalise: Any = None, scores: Any = None
) -> Booster:
    """Return a booster whose score is the weighted sum of the scores of several boosters.

    Normalisation and weights are part of the new booster, which is saved as one file. The boosters may be
    of any kind, mixtures included, with or without ranks of features within queries. Those with names of
    features must have the same names in the same order. A mixture of several cannot be truncated: truncate
    the boosters first. If only some of them rank features, the mixture has ranks among its `feature_names`, its
    importance and its SHAP values, but it scores raw features alone, and no `Dataset`.

    Parameters
    ----------
    boosters : sequence of Booster
        The boosters to mix.
    weights : sequence of float, optional
        The weight of each booster; by default equal weights that sum to 1.
    normalise : optional
        The normalisation of scores, one for all boosters or a sequence with one for each:

        - None: nothing;
        - ``"set"``: mean 0 and variance 1 over the docs of ``scores``, or of a set whose mean and
          scale are given as a pair ``(mean, scale)``;
        - ``"query"``: mean 0 and variance 1 within the query;
        - ``"query_range"``: from 0 to 1 within the query;
        - ``"logistic"``: the probability ``1 / (1 + exp(-score))`` of a logistic loss;
        - ``"query_top"``: ``P_max * (1 + P - P_max)``, with that probability ``P`` and the largest of
          the query, ``P_max``: of the ensemble that won the Yahoo! challenge of 2010.

        With a normalisation within queries, scoring needs the queries.
    scores : sequence of arrays, optional
        For ``"set"``: the scores of each booster for the documents of one set.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=50, seed=0)
    >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
    >>> boosters = [rr.train(train, num_trees=5, seed=seed) for seed in (0, 1)]
    >>> scores = [booster.predict(data.X) for booster in boosters]
    >>> both = rr.mix(boosters, normalise="set", scores=scores)
    >>> both.num_trees
    10
    """
    given = as_boosters(boosters, "boosters")
    check_same_columns(given, [f"boosters[{at}]" for at in range(len(given))])
    normalisations = as_normalisations(normalise, len(given), scores)
    cores = [booster._core for booster in given]
    core = _rustrank.Booster.sum(cores, as_weights(weights, len(given)), normalisations)
    return made_of(given, core)


def made_of(boosters: Sequence[Booster], core: _rustrank.Booster) -> Booster:
    """Return the model that boosters make together, which reads the same value as missing as they do."""
    values = {repr(booster._missing): booster._missing for booster in boosters}
    if len(values) > 1:
        warn_caller(
            f"the models read different values as missing, besides NaN ({', '.join(values)}): that of all of them "
            "reads only NaN so, unless missing= says another"
        )
        return Booster._of(core)
    for name, value in missing_note(boosters[0]._missing).items():
        core = core.with_attribute(name, value)
    return Booster._of(core)
