"""Cases: a data set and the options of a training, all drawn from one number.

A case is a flat mapping of settings, so that a case that fails can be made smaller by leaving settings out.
The names of the settings begin with what they are about: ``docs.``, ``dataset.`` or ``train.``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from same_results.choices import draw_dataset, draw_train
from same_results.columns import draw_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: Without these there is no case.
NEEDED = (
    "docs.queries",
    "docs.length",
    "docs.features",
    "docs.kinds",
    "docs.labels",
    "train.num_trees",
)
MOST_QUERIES = 60
_WEIGHTS = (0.05, 0.2, 0.3, 0.2, 0.05, 0.2)


#: What is refused together with a setting, with a value of it, or with classes.
_REFUSED = (
    (
        "classes",
        ("dataset.categorical", "train.step", "train.monotone", "train.base", "train.exportable"),
    ),
    ("classes", ("docs.base_score", "docs.position")),
    ("train.monotone", ("dataset.categorical",)),
    ("train.exportable", ("dataset.categorical", "dataset.query_ranks")),
    ("train.step_ties=feature", ("dataset.categorical",)),
    ("train.step", ("docs.position",)),
    ("train.criterion", ("train.doc_sampling", "train.top_docs")),
    ("train.base=other", ("docs.base_score",)),
    ("train.base=dataset", ("docs.base_score",)),
)


@dataclass(frozen=True)
class Case:
    """A case: its number, and its settings."""

    number: int
    settings: Mapping[str, Any]

    def of(self, about: str) -> dict[str, Any]:
        """Return the settings about something."""
        start = f"{about}."
        return {
            name.removeprefix(start): value
            for name, value in self.settings.items()
            if name.startswith(start)
        }

    def get(self, name: str, default: Any = None) -> Any:
        return self.settings.get(name, default)

    def without(self, name: str) -> Case:
        return replace(
            self, settings={key: self.settings[key] for key in self.settings if key != name}
        )

    def random(self, purpose: int) -> np.random.Generator:
        """Return random numbers for a purpose, which other settings do not change."""
        return np.random.default_rng([self.number, purpose])


class Docs(NamedTuple):
    """Documents, those of a query together; what is None is not given."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    qid: NDArray[np.int64]
    row_weight: NDArray[np.float64] | None
    base_score: NDArray[np.float64] | None
    position: NDArray[np.int64] | None
    extra: NDArray[np.float64] | None
    query_weight: dict[int, float] | None

    def taken(self, rows: NDArray[np.int64]) -> Docs:
        """Return some rows, in the order given."""
        columns = (None if one is None else one[rows] for one in self[:-1])
        kept = set(self.qid[rows].tolist())
        weight = self.query_weight
        some = (
            None if weight is None else {query: weight[query] for query in weight if query in kept}
        )
        return Docs(*columns, some)  # type: ignore[arg-type, call-arg]


def draw(number: int, *, most_docs: int = 4000) -> Case:
    """Draw the case of a number."""
    random = np.random.default_rng([number, 0])
    settings: dict[str, Any] = {
        "docs.queries": int(np.exp(random.uniform(0, np.log(60)))) + int(random.random() < 0.5) * 5,
        "docs.length": int(np.exp(random.uniform(0, np.log(200)))) + 1,
        "docs.features": int(np.exp(random.uniform(0, np.log(40)))) + int(random.random() < 0.5),
        "docs.labels": str(
            random.choice(
                ["graded", "binary", "skewed", "fractions", "large", "equal", "many"],
                p=[0.4, 0.2, 0.2, 0.06, 0.06, 0.02, 0.06],
            )
        ),
    }
    settings["docs.queries"] = max(
        1, min(MOST_QUERIES, settings["docs.queries"], most_docs // settings["docs.length"])
    )
    shares = {
        "docs.lengths_differ": 0.7,
        "docs.same_rows": 0.35,
        "docs.same_queries": 0.2,
        "docs.row_weight": 0.2,
        "docs.query_weight": 0.2,
        "docs.base_score": 0.12,
        "docs.position": 0.1,
        "docs.noise": 0.7,
    }
    settings |= {name: True for name, share in shares.items() if random.random() < share}
    settings |= draw_dataset(random, settings)
    settings |= draw_train(random, settings)
    _mostly_legal(random, settings)
    return Case(number, settings)


def _mostly_legal(random: np.random.Generator, settings: dict[str, Any]) -> None:
    """Leave out most of what is refused together: errors must be the same, too, but are no models."""
    if random.random() < 0.1:
        return
    drawn = {
        "classes": settings["train.objective"].startswith("mcrank"),
        **dict.fromkeys(settings, True),
        **{f"{name}={value}": True for name, value in settings.items() if isinstance(value, str)},
    }
    for if_drawn, refused in _REFUSED:
        if drawn.get(if_drawn):
            for name in refused:
                settings.pop(name, None)


def docs_of(case: Case, purpose: int = 1) -> Docs:
    """Return the documents of a case; another purpose is another set of the same kind."""
    num_queries = case.get("docs.queries") if purpose == 1 else case.get("docs.valid_queries", 5)
    random = case.random(purpose)
    # All are drawn for the most queries, so that smaller cases are parts of larger ones.
    lengths = np.full(MOST_QUERIES, case.get("docs.length"))
    drawn = random.integers(1, 2 * case.get("docs.length"), MOST_QUERIES, endpoint=True)
    if case.get("docs.lengths_differ"):
        lengths = np.minimum(drawn, 200)
    qid = np.repeat(random.permutation(1000)[:MOST_QUERIES], lengths)
    X = draw_columns(case, len(qid), purpose)
    y = _labels(case, X, purpose)
    _repeat(case, X, y, lengths, purpose)
    random = case.random(purpose + 100)
    weights = random.choice([0.0, 0.5, 1.0, 3.0, 1e-3, 0.1], MOST_QUERIES, p=_WEIGHTS)
    columns = {
        "row_weight": random.choice([0.0, 1.0, 2.0, 0.3, 1.7, 1e-3], len(qid), p=_WEIGHTS),
        "base_score": np.round(random.normal(size=len(qid)), 2),
        "position": random.integers(1, 12, len(qid)),
        "extra": random.integers(0, 50, len(qid)) / 4,
    }
    given = {name: column if case.get(f"docs.{name}") else None for name, column in columns.items()}
    if purpose > 1:
        given |= {"row_weight": None, "position": None}
    ids = list(dict.fromkeys(qid.tolist()))
    by_query = dict(zip(ids, weights.tolist(), strict=True))
    whole = Docs(
        X, y, qid, **given, query_weight=by_query if case.get("docs.query_weight") else None
    )
    return whole.taken(np.arange(lengths[:num_queries].sum()))


def _labels(case: Case, X: NDArray[np.float64], purpose: int) -> NDArray[np.float64]:
    """Return labels that the first columns say something about."""
    random = case.random(purpose + 200)
    signal = np.zeros(len(X))
    for column in X.T[:4]:
        known = np.nan_to_num(np.clip(column, -3, 3), nan=1.0)
        signal += known - known.mean()
    noise = random.normal(size=len(X))
    signal += noise if case.get("docs.noise") else 0.1 * noise
    rank = (np.argsort(np.argsort(signal, kind="stable"), kind="stable") + 0.5) / len(X)
    kinds = {
        "graded": np.floor(rank * 5),
        "binary": np.floor(rank * 2),
        "skewed": np.floor(rank**6 * 5),
        "fractions": np.floor(rank * 8) / 4,
        "large": np.floor(rank * 31),
        "equal": np.zeros(len(X)),
        "many": np.floor(rank**3 * 12),
    }
    return kinds[case.get("docs.labels")]


def _repeat(
    case: Case,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    lengths: NDArray[np.int64],
    purpose: int,
) -> None:
    """Overwrite rows by others, with their labels or without, and queries by others."""
    random = case.random(purpose + 300)
    if case.get("docs.same_rows"):
        to = random.random(len(X)) < 0.3
        source = random.integers(0, len(X), len(X))
        X[to] = X[source[to]]
        if random.random() < 0.5:
            y[to] = y[source[to]]
    if case.get("docs.same_queries") and len(lengths) > 1:
        starts = np.cumsum(lengths) - lengths
        for at in range(1, len(lengths), 2):
            docs = min(lengths[at - 1], lengths[at])
            here, there = starts[at], starts[at - 1]
            X[here : here + docs] = X[there : there + docs]
            y[here : here + docs] = y[there : there + docs]
