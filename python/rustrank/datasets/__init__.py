"""Artificial ranking data, for examples, tests, benches and first steps.

`make_polynomial` is the clean data of the LambdaSMART paper: labels without noise, cut out of a
random cubic polynomial. `make_web` looks like the data of a web search engine: counts, heavy
tails, flags, empty fields, correlated groups, missing cells, noisy labels. `make_domains` has two
markets, for moving a ranker from one to the other. `make_clicks` makes a click log of any of them.

All are functions of `seed` and the number of a query alone: query 17 is the same whether 20
queries are made or 20,000, so a validation set is the same call with another `first_query`.
(The last bit of a value may differ between processors: numpy's own `exp` and `log` do.)
Queries are made in blocks, so that the memory above the result is small.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.batches import paths_of
from rustrank.data.dataset_building import LetorOptions
from rustrank.data.ranking import Ranking
from rustrank.datasets import _random_blocks as blocks
from rustrank.datasets._clicks import Clicks, make_clicks
from rustrank.datasets._domains import Domains, make_domains
from rustrank.errors import DataError
from rustrank.inputs.queries import numbers_if_all

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rustrank.datasets._random_blocks import Floats, Ints

__all__ = [
    "Clicks",
    "Domains",
    "Ranking",
    "make_clicks",
    "make_domains",
    "make_polynomial",
    "make_web",
    "read_letor",
]


def make_polynomial(
    num_queries: int = 1000,
    docs_per_query: int = 50,
    num_features: int = 50,
    seed: int = 0,
    *,
    num_terms: int = 100,
    first_query: int = 0,
) -> Ranking:
    """Make docs whose labels are levels of a random cubic polynomial, without noise.

    Features are uniform in [-1, 1]. The polynomial is a sum of monomials of one to three factors,
    each of unit variance times a normal coefficient. Its value is cut into five labels that take
    1/2, 1/4, 1/8, 1/16 and 1/16 of all docs, the best label the rarest. The paper
    says "random cubic polynomials" and no more: the number of terms is our choice.

    Parameters
    ----------
    num_queries, docs_per_query, num_features : int
        The shape; the paper has 10,000 training queries, 50 docs a query and 50 features.
    seed : int, default 0
        Fixes the polynomial and the docs.
    num_terms : int, default 100
        Monomials in the polynomial.
    first_query : int, default 0
        The number of the first query: another range gives other docs of the same polynomial.

    Returns
    -------
    Ranking
        ``num_queries * docs_per_query`` docs.

    Examples
    --------
    >>> train = make_polynomial(100, seed=7)
    >>> valid = make_polynomial(50, seed=7, first_query=100)
    >>> train.X.shape, valid.X.shape
    ((5000, 50), (2500, 50))
    """
    blocks.check(num_queries=num_queries, docs_per_query=docs_per_query, num_features=num_features)
    blocks.check(num_terms=num_terms)
    blocks.check(0, seed=seed, first_query=first_query)
    value = _polynomial(blocks.stream(seed, blocks.POLYNOMIAL), num_features, num_terms)

    def relevance(rng: np.random.Generator, _: Ints, X: Floats) -> Floats:
        X[:] = blocks.uniform(rng, len(X), num_features)
        return value(X)

    shares = [1 / 2, 3 / 4, 7 / 8, 15 / 16]
    group = np.array([1 << 16])
    docs = blocks.labelled(
        relevance, blocks.stream(seed, blocks.REFERENCE), group, num_features, shares
    )
    sizes = np.full(blocks.BLOCK, docs_per_query, dtype=np.int64)
    names = tuple(f"x{feature}" for feature in range(num_features))
    return blocks.assemble(num_queries, first_query, seed, names, lambda _: sizes, docs)


def make_web(
    num_queries: int = 1000,
    docs_per_query: int = 120,
    seed: int = 0,
    *,
    noise: float = 2.0,
    first_query: int = 0,
) -> Ranking:
    """Make data of a web search engine's kind: 136 mixed features and noisy labels.

    Five text fields of a page give 25 features each (counts, lengths, idf, tf and tf-idf sums,
    BM25, language models: strongly correlated, all zero where a field is empty), the page itself
    eleven (links, ranks, flags, clicks and dwell time that are missing for pages nobody saw). Four
    columns are constant. Labels 0 to 4 take about 52, 32, 13, 2 and 1 percent of the docs;
    queries differ in their size, their number of good docs and their terms.

    Parameters
    ----------
    num_queries : int, default 1000
        Queries to make.
    docs_per_query : int, default 120
        The mean size of a query; sizes vary around it.
    seed : int, default 0
        Fixes everything.
    noise : float, default 2.0
        Standard deviation of the judges' error; the relevance itself has one of about 1.5.
    first_query : int, default 0
        The number of the first query: another range gives other queries of the same engine.

    Returns
    -------
    Ranking
        About ``num_queries * docs_per_query`` docs.

    Examples
    --------
    >>> X, y, qid = make_web(20, seed=1)
    >>> X.shape[1], X.dtype, y.max() <= 4
    (136, dtype('float32'), np.True_)
    """
    blocks.check(num_queries=num_queries, docs_per_query=docs_per_query)
    blocks.check(0, seed=seed, first_query=first_query)
    noise = blocks.deviation("noise", noise)
    sizes = blocks.varying_sizes(seed, docs_per_query, 0.5, 0.125)

    def relevance(rng: np.random.Generator, sizes: Ints, X: Floats) -> Floats:
        page = _Page.draw(rng, sizes)
        _fill_web(page, rng, X)
        return page.relevance() + np.float32(noise) * blocks.normal(rng, len(X))

    rng, shares = blocks.stream(seed, blocks.REFERENCE), [0.52, 0.84, 0.97, 0.99]
    group = np.concatenate([sizes(block) for block in range(4)])
    docs = blocks.labelled(relevance, rng, group, len(_WEB_NAMES), shares)
    return blocks.assemble(num_queries, first_query, seed, _WEB_NAMES, sizes, docs)


def _polynomial(
    rng: np.random.Generator, num_features: int, num_terms: int
) -> Callable[[Floats], Floats]:
    """Draw monomials of degree one to three: ``sum_t c[t] * prod_d (x[f[t, d]] or 1)``."""
    factors = rng.integers(num_features, size=(num_terms, 3))
    degree = rng.integers(1, 4, size=num_terms)
    # A uniform factor on [-1, 1] has variance 1/3; a repeated one differs a little, and may.
    coefficient = (rng.standard_normal(num_terms) * np.sqrt(3.0**degree)).astype(np.float32)

    def value(X: Floats) -> Floats:
        columns = np.ascontiguousarray(X.T)
        total = np.zeros(len(X), np.float32)
        for term in range(num_terms):
            product = columns[factors[term, 0]] * coefficient[term]
            for feature in factors[term, 1 : degree[term]]:
                product *= columns[feature]
            total += product
        return total

    return value


def read_letor(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    zero_based: bool = False,
    max_features: int = 1 << 20,
    num_threads: int | None = None,
) -> Ranking:
    """Read LETOR or SVMlight text as values: for what needs more than the bins of a `Dataset`.

    Parameters
    ----------
    path : path-like, or a sequence of them
        The file, plain or gzip, or several that are read as one; the lines of a query stand together, in one file.
    zero_based : bool, default False
        Whether the first feature is 0 and not 1.
    max_features : int, default 2**20
        The highest feature that is believed; a larger one is an error.
    num_threads : int, optional
        Threads to use; all cores by default.

    Returns
    -------
    Ranking
        The docs; query ids that are not all numbers are counted from 0 instead.
    """
    options = LetorOptions(max_features, zero_based, num_threads)
    tables = [_rustrank.read_table(file, options) for file in paths_of(path)]
    X, y, sizes, ids = tables[0] if len(tables) == 1 else _joined(tables)
    numbers = numbers_if_all(ids)
    if numbers.dtype.kind != "i":
        numbers = np.arange(len(ids), dtype=np.int64)
    names = tuple(f"f{feature}" for feature in range(X.shape[1]))
    return Ranking(X, y, np.repeat(numbers, sizes), names)


def _joined(tables: Sequence[tuple[Any, ...]]) -> tuple[Any, Any, Any, list[str]]:
    """Return the values of several files as those of one; features that a file does not have are 0."""
    ids = [one for table in tables for one in table[3]]
    if len(set(ids)) < len(ids):
        twice = next(one for one, number in Counter(ids).items() if number > 1)
        hint = "keep the docs of a query in one file, and let qids differ between files"
        raise DataError(f"qid `{twice}` stands in several files; {hint}", code="qid.files")
    width = max(table[0].shape[1] for table in tables)
    parts = [np.pad(table[0], ((0, 0), (0, width - table[0].shape[1]))) for table in tables]
    labels, sizes = (np.concatenate([table[at] for table in tables]) for at in (1, 2))
    return np.concatenate(parts), labels, sizes, ids


_FIELDS = ("body", "anchor", "title", "url", "whole")
_TERM_STATS = ("sum", "min", "max", "mean", "var")
_FIELD_FEATURES = (
    "covered",
    "covered_ratio",
    "length",
    "idf",
    *(f"{count}_{stat}" for count in ("tf", "tf_norm", "tfidf") for stat in _TERM_STATS),
    "all_covered",
    "cosine",
    "bm25",
    "lm_absolute",
    "lm_dirichlet",
    "lm_jelinek",
)
_PAGE_FEATURES = (
    "address_slashes",
    "address_length",
    "links_in",
    "links_out",
    "page_rank",
    "site_rank",
    "quality",
    "spam",
    "clicks",
    "dwell_time",
    "language",
)
_WEB_NAMES = (
    *(f"{field}_{feature}" for field in _FIELDS for feature in _FIELD_FEATURES),
    *_PAGE_FEATURES,
)
# For each field: log of the usual length, how well it shows the match, how often it is empty.
_FIELD_SHAPE = (
    (6.0, 0.8, 0.01),
    (3.0, 1.0, 0.45),
    (2.0, 0.9, 0.05),
    (1.6, 0.5, 0.3),
    (6.2, 0.7, 0),
)


@dataclass(frozen=True)
class _Page:
    """The hidden properties of documents, which determine features and labels."""

    match: Floats
    quality: Floats
    spam: NDArray[np.bool_]
    mood: Floats
    terms: Floats
    idf: Floats

    @classmethod
    def draw(cls, rng: np.random.Generator, sizes: Ints) -> _Page:
        count = int(sizes.sum())
        queries = len(sizes)
        mood = np.repeat(blocks.normal(rng, queries), sizes)
        terms = np.repeat(rng.integers(1, 7, queries).astype(np.float32), sizes)
        idf = np.repeat(
            np.exp(np.float32(0.4) * blocks.normal(rng, queries) + np.float32(1.5)), sizes
        )
        spam = rng.random(count, dtype=np.float32) < np.float32(0.07)
        return cls(blocks.normal(rng, count), blocks.normal(rng, count), spam, mood, terms, idf)

    def relevance(self) -> Floats:
        good = self.match + np.float32(0.5) * self.quality + np.float32(0.6) * self.mood
        both = np.float32(0.4) * np.maximum(self.match, 0) * self.quality
        relevance: Floats = good + both - np.float32(1.5) * self.spam
        return relevance


def _fill_web(page: _Page, rng: np.random.Generator, X: Floats) -> None:
    width = len(_FIELD_FEATURES)
    for number, shape in enumerate(_FIELD_SHAPE):
        _fill_field(page, rng, shape, X[:, number * width : (number + 1) * width])
    url = _FIELDS.index("url") * width
    for feature in ("tf_min", "tf_norm_min", "tfidf_min"):
        X[:, url + _FIELD_FEATURES.index(feature)] = 0
    _fill_page(page, rng, X[:, len(_FIELDS) * width :])


def _fill_field(
    page: _Page, rng: np.random.Generator, shape: tuple[float, float, float], X: Floats
) -> None:
    """Fill in the 25 features of a text field, which are 0 for an empty field."""
    log_length, shows, empty = (np.float32(number) for number in shape)
    count = len(X)
    seen = shows * page.match + np.float32(0.7) * blocks.normal(rng, count) + page.spam
    length = np.ceil(np.exp(log_length + np.float32(0.8) * blocks.normal(rng, count)))
    share = 1 / (1 + np.exp(np.float32(-0.8) - seen))
    covered = np.rint(page.terms * share)
    full = (rng.random(count, dtype=np.float32) >= empty) & (covered > 0)
    # Long fields repeat the terms more often.
    log_tf = np.float32(0.6) * seen + np.float32(0.35) * np.log(length) - np.float32(0.5)
    tf_sum = covered + np.floor(np.exp(log_tf + np.float32(0.4) * blocks.normal(rng, count)))
    tf_mean = tf_sum / page.terms
    low, high = rng.random((2, count), dtype=np.float32)
    tf_min = np.where(covered < page.terms, np.float32(0), np.floor(tf_mean * low))
    tf_max = np.ceil(tf_mean + (tf_sum - tf_mean) * high)
    tf_var = (tf_max - tf_min) ** 2 * np.float32(0.25)
    saturation = np.float32(1.2) * (
        np.float32(0.25) + np.float32(0.75) * length / np.exp(log_length)
    )
    bm25 = page.idf * covered * tf_mean * np.float32(2.2) / (tf_mean + saturation)
    share_of_length = tf_sum / length
    jelinek = -page.terms * np.log1p(1 / (share_of_length + np.float32(0.05)))
    dirichlet = jelinek + np.float32(0.1) * np.log(length + 2000)
    columns = [covered, covered / page.terms, length, page.idf * page.terms]
    columns += [tf_sum, tf_min, tf_max, tf_mean, tf_var]
    columns += [tf / length for tf in (tf_sum, tf_min, tf_max, tf_mean)] + [tf_var / length**2]
    columns += [tf * page.idf for tf in (tf_sum, tf_min, tf_max, tf_mean)]
    columns += [tf_var * page.idf**2]
    columns += [(covered == page.terms).astype(np.float32)]
    columns += [np.sqrt(share) * share_of_length / (share_of_length + 1)]
    columns += [bm25, jelinek * np.float32(0.9), dirichlet, jelinek]
    for place, column in enumerate(columns):
        X[:, place] = column * full + np.float32(0)  # never -0.0


def _fill_page(page: _Page, rng: np.random.Generator, X: Floats) -> None:
    count = len(X)

    def near(seen: Floats, sd: float) -> Floats:
        return seen + np.float32(sd) * blocks.normal(rng, count)

    slashes = rng.poisson(2, count).astype(np.float32)
    X[:, 0] = slashes
    X[:, 1] = np.rint(12 + 9 * slashes + np.exp(near(page.mood * 0, 0.8) + np.float32(1.5)))
    X[:, 2] = np.floor(np.exp(near(2 * page.quality, 1.5)))
    X[:, 3] = np.floor(np.exp(near(page.spam * np.float32(2), 1.0) + np.float32(2)))
    X[:, 4] = np.clip(np.floor(np.exp(near(page.quality, 0.7) + np.float32(6))), 0, 65535)
    X[:, 5] = np.clip(np.floor(np.exp(near(page.quality, 1.0) + np.float32(8))), 0, 65535)
    X[:, 6] = np.clip(np.rint(128 + 40 * near(page.quality, 0.8)), 0, 255)
    X[:, 7] = page.spam & (rng.random(count, dtype=np.float32) < np.float32(0.8))
    clicks = np.floor(np.exp(near(page.match + page.quality, 1.0) - np.float32(1.5)))
    X[:, 8] = clicks
    X[:, 9] = np.where(clicks > 0, np.exp(near(page.match, 1.0) + np.float32(3)), np.nan)
    X[rng.random(count, dtype=np.float32) < np.float32(0.35), 8:10] = np.nan
    X[:, 10] = 1
