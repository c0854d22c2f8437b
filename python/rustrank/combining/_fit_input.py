"""The arguments of `Combiner` and its `fit`, checked: options, rankers, labels and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.combining.methods import METHODS
from rustrank.data.scored_rows import ScoredRows
from rustrank.errors import (
    DataError,
    ParamError,
    ParamKindError,
    UnknownNameError,
    listed,
    shown,
    wrong_kind,
    wrong_value,
)
from rustrank.inputs.docs import DocArguments, has_parts, is_dataset, is_table, judged_docs
from rustrank.inputs.rankers import is_ranker, scores_of
from rustrank.inputs.scalars import choice, flag, named, real, whole
from rustrank.inputs.vectors import first_true
from rustrank.model.conversion import own_booster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rustrank.inputs.docs import JudgedDocs
    from rustrank.metrics.evaluation import Judging

#: The arguments of `fit`, which a held-out set may have, too.
_FIELDS = ("rankers", "docs", "y", "X", "qid", "group", "query_weight", "tie_break")

_EXPECTED = "nested pairs of numbers such as ((0, 1), 2), or one of"


class CombinerOptions:
    """The metric to maximise, and the search for weights."""

    def __init__(self, judging: Judging, options: Mapping[str, Any]) -> None:
        """Check the kinds of options and the method; the core checks ranges."""
        if len(judging.metrics) != 1:
            message = f"metric: got {len(judging.metrics)} metrics, expected one"
            raise ParamError(message, code="metric.name")
        self.judging = judging
        listed = isinstance(options["method"], (tuple, list))
        self.method = (
            "tree" if listed else choice("method", options["method"], METHODS, of=_EXPECTED)
        )
        self.tree = _tree(options["method"]) if listed else None
        self.alphas = _alphas(options["alphas"])
        self.negative = flag("negative", options["negative"])
        self.reach = real("reach", options["reach"])
        self.most_passes = whole("most_passes", options["most_passes"], 1, 2**31)
        self.restarts = whole("restarts", options["restarts"], 0, 2**31)
        self.seed = whole("seed", options["seed"], 0, 2**64 - 1)
        self.curve_steps = whole("curve_steps", options["curve_steps"], 0, 2**31)
        self.jitter = options["ties"] == "jitter"


def _alphas(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = given
    except (TypeError, ValueError):
        raise wrong_kind("alphas", given, "two numbers, or None", "combine.range") from None
    return real("alphas[0]", low), real("alphas[1]", high)


def _tree(given: Any) -> list[tuple[int, int]]:
    """Return the joins of a tree of nested pairs, leaves first."""
    joins: list[tuple[int, int]] = []
    leaves = _leaves(given)

    def node(one: Any) -> int:
        if not isinstance(one, (tuple, list)):
            return whole("method", one, 0, 2**31)
        if len(one) != 2:
            raise wrong_value("method", one, "a pair of rankers, or of such pairs", "combine.tree")
        first, second = node(one[0]), node(one[1])
        joins.append((first, second))
        return leaves + len(joins) - 1

    node(given)
    return joins


def _leaves(tree: Any) -> int:
    return sum(map(_leaves, tree)) if isinstance(tree, (tuple, list)) else 1


def scored_rows(rankers: Any, given: Mapping[str, Any], options: CombinerOptions) -> ScoredRows:
    """Read labels and queries, and the scores of rankers; break ties in the scores where asked to."""
    named = as_rankers(rankers)
    judged = judged_docs(given.get("docs"), given)
    scores = {name: _scores(name, one, judged, options) for name, one in named.items()}
    scored = ScoredRows.of_docs(judged, scores)
    tie_break = given.get("tie_break")
    if tie_break is None and not options.jitter:
        return scored
    by = None if tie_break is None else _scores("tie_break", tie_break, judged, options)
    untied = _rustrank.untied(scored, by, 0 if by is not None else options.seed)
    return replace(scored, by_ranker=dict(zip(named, untied, strict=True)))


def as_rankers(rankers: Any) -> dict[str, Any]:
    """Return rankers by name; without names they are numbered."""
    expected = "a sequence of rankers or of scores of all docs, one a ranker, or a mapping"
    expected += " from names to these"
    found = named("rankers", rankers, "ranker ", expected, "combine.rankers")
    if not found:
        raise ParamError("rankers: got none, expected at least one", code="combine.rankers")
    return found


def held_out(
    valid: Any, rankers: Any, given: Mapping[str, Any], options: CombinerOptions
) -> ScoredRows | None:
    """Read a held-out set: documents, or the arguments of `fit` in a mapping; names of columns hold for it."""
    if valid is None:
        return None
    arguments = DocArguments(*(given[name] for name in DocArguments._fields)).names()
    has_arguments = isinstance(valid, Mapping) and arguments.y not in valid
    if not has_arguments and not (is_dataset(valid) or has_parts(valid) or is_table(valid)):
        raise wrong_kind("valid", valid, "a Dataset, documents, or a mapping of fit's arguments")
    own = dict(valid) if has_arguments else {"docs": valid}
    for name in own:
        if name not in _FIELDS:
            message = f"valid has {shown(name)}: expected {', '.join(_FIELDS)}"
            raise UnknownNameError(message, code="valid")
    fitted = as_rankers(rankers)
    theirs = own.get("rankers")
    if theirs is None:
        if not all(map(scores_features, fitted.values())):
            raise ParamError("valid needs rankers: the scores of its own docs", code="valid")
        theirs = rankers
    docs = own.get("docs")
    if own.get("X") is not None or (is_table(docs) and not has_parts(docs)):
        qid = None if own.get("group") is not None else arguments.qid
        own = {"y": arguments.y, "qid": qid, **own}
    return scored_rows(in_order(theirs, list(fitted), "valid"), own, options)


def scores_features(ranker: Any) -> bool:
    """Return whether a ranker scores the features of any documents: it is no scores of some."""
    return is_ranker(ranker) or isinstance(ranker, str)


def refuse_scores(docs: Any, rankers: Mapping[str, Any]) -> None:
    """Raise `ParamKindError` for the scores of rankers in place of the features that they score."""
    boosters = [found for one in rankers.values() if (found := own_booster(one)) is not None]
    widths = {one.num_raw_features for one in boosters}
    if len(boosters) < len(rankers):
        return
    if isinstance(docs, Mapping):
        is_scores = set(docs) == set(rankers)
    elif isinstance(docs, np.ndarray):
        is_scores = docs.ndim == 2 and docs.shape[1] == len(rankers)
        is_scores = is_scores and docs.shape[1] not in widths
    else:
        is_scores = isinstance(docs, (list, tuple)) and len(docs) == len(rankers)
        is_scores = is_scores and all(np.ndim(one) == 1 and len(one) not in widths for one in docs)
    if is_scores:
        raise _scores_for_features(list(rankers), rankers)


@contextmanager
def features_in_errors(docs: Any, rankers: Mapping[str, Any]) -> Iterator[None]:
    """Let the error of rankers that cannot score a mapping say so where it has scores, perhaps by wrong names."""
    try:
        yield
    except DataError as error:
        if not isinstance(docs, Mapping):
            raise
        given = list(map(str, docs))
        is_like = len(given) == len(rankers) or not set(given).isdisjoint(rankers)
        lacks = error.code in ("features", "features.names") and is_like
        if not lacks and not (error.code == "rankers" and set(given) == set(rankers)):
            raise
        raise _scores_for_features(given, rankers) from error


def _scores_for_features(given: Sequence[str], rankers: Mapping[str, Any]) -> ParamKindError:
    message = (
        f"docs: got what look like the scores of {listed(given)}, expected features: the combiner was fitted to the "
        f"rankers themselves ({listed(list(rankers))}), which score the features"
    )
    return ParamKindError(message, code="docs")


def in_order(rankers: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """Return rankers in the order of the fit: by name if they have names, or else as given."""
    named = as_rankers(rankers)
    if isinstance(rankers, Mapping):
        if set(named) != set(names):
            message = f"{what} has rankers {', '.join(named)}: expected {', '.join(names)}"
            raise ParamError(message, code="combine.rankers")
        return {name: named[name] for name in names}
    if len(named) != len(names):
        message = f"{what} has another number of rankers: got {len(named)}, expected {len(names)}"
        raise DataError(message, code="combine.rankers")
    return dict(zip(names, named.values(), strict=True))


def _scores(
    name: str, ranker: Any, docs: JudgedDocs, options: CombinerOptions
) -> NDArray[np.float64]:
    scores = scores_of(ranker, docs, name, options.judging.num_threads)
    row = first_true(~np.isfinite(scores))
    if row is not None:
        message = (
            f"scores of {name}, row {row}: got {float(scores[row])!r}, expected a finite number; "
            "give docs that a ranker did not retrieve a score just below its lowest"
        )
        raise DataError(message, code="score.infinite", row=row)
    return scores
