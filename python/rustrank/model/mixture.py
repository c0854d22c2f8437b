"""Mixtures: the weighted sum of the scores of several boosters, as one booster."""

from __future__ import annotations

from typing import Any

from rustrank import _rustrank
from rustrank.model._normalisation import as_boosters, as_normalisations, as_weights
from rustrank.model.booster import Booster

__all__ = ["mix"]


def mix(
    boosters: Any, weights: Any = None, *, normalise: Any = None, scores: Any = None
) -> Booster:
    """Return a booster whose score is the weighted sum of the scores of several boosters.

    Normalisation and weights are part of the new booster, which is saved as one file. The boosters may be
    of any kind, mixtures included, with or without ranks of features within queries.

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
    >>> scores = [booster.score(data.X) for booster in boosters]
    >>> both = rr.mix(boosters, normalise="set", scores=scores)
    >>> both.num_trees
    10
    """
    given = as_boosters(boosters, "boosters")
    normalisations = as_normalisations(normalise, len(given), scores)
    cores = [booster._core for booster in given]
    return Booster._of(
        _rustrank.Booster.sum(cores, as_weights(weights, len(given)), normalisations)
    )
