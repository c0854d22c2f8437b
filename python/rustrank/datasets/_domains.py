"""Generator of data for adaptation: a market with much data and another with little."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rustrank.datasets import _random_blocks as blocks
from rustrank.formatting import TableResult
from rustrank.inputs.scalars import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.data.ranking import Ranking
    from rustrank.datasets._random_blocks import Floats, Ints
    from rustrank.formatting import Table

#: Queries of one set; the sets follow each other, so that no two share a query.
_SPAN = 1 << 20
_FEATURES, _FACTORS = 40, 8
_NAMES = tuple(f"x{feature}" for feature in range(_FEATURES))
#: Shares of docs up to each label but the best.
_SHARES = (0.52, 0.8, 0.93, 0.98)


@dataclass(frozen=True, eq=False, repr=False)
class Domains(TableResult):
    """The sets that a ranker is moved between, in the words of the papers.

    Attributes
    ----------
    background : Ranking
        The market that there is much data of.
    target : Ranking
        The market that a ranker is wanted for: the little there is to fit one to.
    valid_closed, test_closed : Ranking
        More of the target, of the same time as ``target``.
    valid_open, test_open : Ranking
        The target at a later time, when it has drifted.
    """

    background: Ranking
    target: Ranking
    valid_closed: Ranking
    valid_open: Ranking
    test_closed: Ranking
    test_open: Ranking

    def _tables(self) -> list[Table]:
        rows = [
            [name, f"{len(part.y):,}", f"{len(part.group):,}", f"{part.y.mean():.2f}"]
            for name, part in vars(self).items()
        ]
        return [(["set", "docs", "queries", "mean label"], rows)]


@dataclass(frozen=True)
class _Relation:
    """What makes a doc relevant: single features and products of two, of unit variance."""

    weights: Floats
    pairs: Ints
    products: Floats
    deviation: float

    @classmethod
    def draw(cls, seed: int, number: int) -> _Relation:
        rng = blocks.stream(seed, blocks.DOMAIN, number)
        # Few features matter much and many a little.
        weights = rng.standard_normal(_FEATURES) * rng.random(_FEATURES) ** 2
        pairs = rng.integers(_FEATURES, size=(12, 2))
        products = 0.4 * rng.standard_normal(len(pairs))
        made = cls(weights.astype(np.float32), pairs, products.astype(np.float32), 1.0)
        return replace(made, deviation=float(made.of(_hidden(rng, np.full(256, 16))).std()))

    def of(self, hidden: Floats) -> Floats:
        # Sums by column, in one order on any machine.
        total = np.zeros(len(hidden), np.float32)
        for feature in range(_FEATURES):
            total += self.weights[feature] * np.tanh(hidden[:, feature])
        for (a, b), product in zip(self.pairs, self.products, strict=True):
            total += product * hidden[:, a] * hidden[:, b]
        return total / np.float32(self.deviation)


@dataclass(frozen=True)
class _Domain:
    """Relations with their shares of the variance, and where the features lie."""

    relations: tuple[tuple[float, _Relation], ...]
    offsets: NDArray[np.float64]
    noise: float

    def docs(self, rng: np.random.Generator, sizes: Ints, X: Floats) -> Floats:
        """Write the features of docs, and return how relevant they are."""
        hidden = _hidden(rng, sizes)
        relevance = np.zeros(len(X), np.float32)
        for part, relation in self.relations:
            relevance += np.float32(np.sqrt(part)) * relation.of(hidden)
        mood = np.repeat(rng.standard_normal(len(sizes), dtype=np.float32), sizes)
        error = rng.standard_normal(len(X), dtype=np.float32)
        relevance += np.float32(0.4) * mood + np.float32(self.noise) * error
        for feature in range(_FEATURES):
            seen = hidden[:, feature] + np.float32(self.offsets[feature])
            X[:, feature] = _measured(feature, seen)
        # What nobody has measured.
        for feature in range(3, _FEATURES, 8):
            X[rng.random(len(X), dtype=np.float32) < np.float32(0.2), feature] = np.nan
        return relevance


def _hidden(rng: np.random.Generator, sizes: Ints) -> Floats:
    """Return normal values in groups that go together; a quarter of the variance is a query's."""
    count, queries = int(sizes.sum()), len(sizes)
    factors = rng.standard_normal((count, _FACTORS), dtype=np.float32)
    of_query = rng.standard_normal((queries, _FEATURES), dtype=np.float32)
    hidden = rng.standard_normal((count, _FEATURES), dtype=np.float32) * np.float32(0.6)
    hidden += np.repeat(of_query, sizes, axis=0) * np.float32(0.5)
    for feature in range(_FEATURES):
        hidden[:, feature] += np.float32(0.625) * factors[:, feature % _FACTORS]
    return hidden


def _measured(feature: int, seen: Floats) -> Floats:
    """Return what a feature shows: a count, a share, a grade, or the value itself."""
    kind = feature % 4
    shown: Floats = seen
    if kind == 0:
        shown = np.floor(np.exp(seen + np.float32(1)))
    elif kind == 1:
        shown = np.float32(1) / (np.float32(1) + np.exp(-seen))
    elif kind == 2:
        shown = np.clip(np.rint(2 * seen), -6, 6)
    return shown


def make_domains(
    num_background: int = 1000,
    num_target: int = 60,
    num_valid: int = 150,
    num_test: int = 500,
    docs_per_query: int = 30,
    seed: int = 0,
    *,
    shift: float = 0.3,
    drift: float = 0.8,
    noise: float = 1.0,
    background: int = 0,
) -> Domains:
    """Make a background domain, a target domain with few queries, and that target some time later.

    Relevance is the sum of a relation that all domains share and one of a domain's own, functions of
    hidden values in the same 40 features: sums of single ones and products of two. Features show
    hidden values as counts, shares, grades or as they are, one in eight with gaps, and lie elsewhere in
    each domain. Labels 0 to 4 take about 52, 28, 13, 5 and 2 percent of the docs of a domain. In the
    open sets, a part of the target's own relation has given way to a new one, and the features
    have moved on. By default a ranker of the target beats one of the background on the closed sets, and
    is no better on the open ones, much as in the data of the papers.

    Every query is a function of the seed, its set and its number in it: with more queries the
    first ones stay as they are.

    Parameters
    ----------
    num_background, num_target, num_valid, num_test : int
        Queries of each set; ``num_valid`` and ``num_test`` both of the closed and of the open one.
    docs_per_query : int, default 30
        The mean size of a query; sizes vary around it.
    seed : int, default 0
        Fixes everything.
    shift : float, default 0.3
        How much is a domain's own: that share of the variance of relevance, and how far features
        lie apart. 0 to 1; with 0 the target is the background.
    drift : float, default 0.8
        How much of what is the target's own has changed in the open sets, 0 to 1.
    noise : float, default 1.0
        Standard deviation of the judges' error; the relevance itself has one of about 1.
    background : int, default 0
        Which background: others have relations of their own, and the target is the same.

    Returns
    -------
    Domains
        Six sets of docs.

    Examples
    --------
    >>> markets = make_domains(num_background=100, num_target=10, seed=3)
    >>> len(markets.background.group), len(markets.target.group), len(markets.test_open.group)
    (100, 10, 500)
    """
    sizes = {"num_background": num_background, "num_target": num_target}
    sizes |= {"num_valid": num_valid, "num_test": num_test}
    for name, number in sizes.items():
        whole(name, number, 1, _SPAN)
    blocks.check(docs_per_query=docs_per_query)
    blocks.check(0, seed=seed)
    whole("background", background, 0, 2**16)
    shift, drift = blocks.share("shift", shift), blocks.share("drift", drift)
    noise = blocks.deviation("noise", noise)

    def relation(number: int) -> _Relation:
        return _Relation.draw(seed, number)

    def offsets(number: int) -> NDArray[np.float64]:
        return blocks.stream(seed, blocks.DOMAIN, 1 << 20 | number).standard_normal(_FEATURES)

    # Streams 0 to 2 are what all share, the target's own and what it becomes; then backgrounds.
    shared, own, later = relation(0), relation(1), relation(2)
    theirs = relation(3 + background)
    at_target = np.sqrt(shift) * offsets(1)
    there = _Domain(((1 - shift, shared), (shift, theirs)), np.zeros(_FEATURES), noise)
    here = _Domain(((1 - shift, shared), (shift, own)), at_target, noise)
    parts = ((1 - shift, shared), (shift * (1 - drift), own), (shift * drift, later))
    then = _Domain(parts, at_target + np.sqrt(shift * drift) * offsets(2), noise)

    def made(domain: _Domain, number: int, count: int) -> Ranking:
        """Make the first queries of a set; its labels are cut at the levels of its domain."""
        rng, group = blocks.stream(seed, blocks.REFERENCE, number), np.full(600, 30, np.int64)
        docs = blocks.labelled(domain.docs, rng, group, _FEATURES, _SHARES)
        return blocks.assemble(count, number * _SPAN, seed, _NAMES, query_sizes, docs)

    query_sizes = blocks.varying_sizes(seed, docs_per_query, 0.4, 0.08)
    return Domains(
        background=made(there, 5 + background, num_background),
        target=made(here, 0, num_target),
        valid_closed=made(here, 1, num_valid),
        valid_open=made(then, 2, num_valid),
        test_closed=made(here, 3, num_test),
        test_open=made(then, 4, num_test),
    )
