"""Distillation: a small ranker trained to reproduce the ranking of a large one, without labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import RawRows, as_raw_rows
from rustrank.ensembles._member_fitting import score
from rustrank.ensembles.ensemble import Ensemble
from rustrank.errors import DataError, dropped_warnings, wrong_kind
from rustrank.estimators.fitting import WithoutQueries, queries_within
from rustrank.estimators.lambdamart import MART, LambdaMART
from rustrank.estimators.ranker import Ranker, fitted_again
from rustrank.formatting import Table, TableResult, interval, number
from rustrank.inputs.keywords import OF_ONE_METRIC, refuses_unknown
from rustrank.inputs.scalars import choice, share, text, threads, whole
from rustrank.inputs.vectors import as_scores, check_length
from rustrank.metrics.comparison import compare_values
from rustrank.metrics.evaluation import Drawing, Judging, MetricValue, first_value, plain_value
from rustrank.metrics.label_scale import without_scale
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.metrics.comparison import MetricComparison

    Scores = NDArray[np.float64]

__all__ = ["Distillation", "distill"]


@dataclass(frozen=True, eq=False, repr=False)
class Distillation(TableResult):
    """A student, and how well it reproduces the ranking of its teacher on held-out queries.

    Attributes
    ----------
    booster : Booster
        The student.
    fidelity : MetricValue
        The NDCG of the student's ranking where the teacher's ranking is the ideal one: the document that the
        teacher ranks first has gain ``depth``, the next ``depth - 1``, and so on. 1 is the same ranking.
    against : MetricComparison or None
        With labels: the comparison of teacher and student by them, on the same queries.
    """

    booster: Booster
    fidelity: MetricValue
    against: MetricComparison | None
    #: The trees of the teacher, if it is a booster that has some.
    _trees: int | None
    _left = 2

    @property
    def teacher(self) -> MetricValue | None:
        """The teacher's metric by the labels, if there are any."""
        return None if self.against is None else self.against.a

    @property
    def student(self) -> MetricValue | None:
        """The student's metric by the labels, if there are any."""
        return None if self.against is None else self.against.b

    @property
    def statements(self) -> list[str]:
        """The result in sentences."""
        sentences = [
            f"the student's ranking has {number(self.fidelity)} [{interval(self.fidelity.interval)}] "
            "of the NDCG of the teacher's own"
        ]
        if self._trees is not None:
            sentences.append(f"{self.booster.num_trees:,} trees in place of {self._trees:,}")
        if self.against is not None:
            sentences.append(f"by labels, {self.against.statement}")
        return sentences

    def _tables(self) -> list[Table]:
        head = ["", "metric", "mean", "95% interval"]
        measured = [("student", "fidelity", self.fidelity)]
        if self.against is not None:
            metric = self.against.metric
            measured += [("teacher", metric, self.against.a), ("student", metric, self.against.b)]
        rows = [[who, what, number(one), interval(one.interval)] for who, what, one in measured]
        return [(head, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "fidelity": plain_value(self.fidelity),
            "labels": None if self.against is None else self.against.to_dict(),
            "statements": self.statements,
        }


@refuses_unknown(OF_ONE_METRIC)
def distill(
    teacher: Any,
    X: Any,
    *,
    qid: Any = None,
    group: Any = None,
    y: Any = None,
    ranker: Any = None,
    targets: str | None = None,
    depth: int = 10,
    valid: float = 0.2,
    metric: str = "ndcg@10",
    gain: Any = "exp2",
    max_label: float | None = None,
    seed: int = 0,
    num_threads: int | None = None,
) -> Distillation:
    """Train one ranker to rank as another does, on docs without labels.

    A model that is a thousand trees of many kinds may be copied by one of a few: what it takes is docs, of
    which there are more without labels than with (Bucila and others 2006).

    Parameters
    ----------
    teacher : Booster, Ensemble or array-like of shape (num_docs,)
        What is copied, or its scores of the docs.
    X, qid, group
        Raw features and queries, as for `Dataset`; the more, the better, and other docs than those that the
        teacher learned from.
    y : array-like of shape (num_docs,), optional
        Labels. Nothing learns from them: teacher and student are measured by them.
    ranker : ranker, optional
        The student with its options; by default ``LambdaMART(n_estimators=300)``.
    targets : {"ranks", "scores"}, optional
        What the student learns: the teacher's ``depth`` best docs of a query, as labels from ``depth`` down to
        1 with linear gains; or the teacher's scores. By default scores for `MART`, and ranks for others.
    depth : int, default 10
        How many docs of a query count.
    valid : float, default 0.2
        The share of the queries that the student does not learn from, on which it is measured.
    metric, gain, max_label
        What labels are measured by, as for `rustrank.evaluate`.
    seed : int, default 0
        Which queries are held out.
    num_threads : int, optional
        Threads to use; all cores by default.

    Returns
    -------
    Distillation
        The student, and what was lost.

    Examples
    --------
    >>> import rustrank as rr
    >>> few, many = (rr.datasets.make_polynomial(n, 20, first_query=n) for n in (60, 150))
    >>> trees = rr.LambdaMART(n_estimators=40, num_leaves=8)
    >>> teacher = trees.fit(few.X, few.y, qid=few.qid).booster_
    >>> small = rr.LambdaMART(n_estimators=20, num_leaves=16)
    >>> copied = rr.distill(teacher, many.X, qid=many.qid, ranker=small)
    >>> copied.booster.num_trees, bool(copied.fidelity > 0.6)
    (20, True)
    """
    most = threads(num_threads)
    teacher = teacher.booster if isinstance(teacher, Ensemble) else teacher
    student = _student(ranker, most)
    default = "scores" if isinstance(student, MART) else "ranks"
    kind = default if targets is None else choice("targets", targets, ("ranks", "scores"))
    deep = whole("depth", depth, 1, 10_000)
    held = share("valid", valid)
    docs, scores = _docs(teacher, X, y, (qid, group), most)
    ranks = ranked(scores, docs, deep)
    spread = float(np.std(np.sort(scores)))
    labels = ranks if kind == "ranks" else (scores - scores.min()) / spread
    # What is held out must not depend on whether there are labels.
    as_told = replace(docs, y=ranks.astype(np.float32))
    halves = as_told.split_queries([1 - held, held], whole("seed", seed, 0, 2**31))
    fit, judged = (np.flatnonzero(np.isin(docs.query, some)) for some in halves)
    # Parts have features of one value: nothing that a caller could change.
    with dropped_warnings():
        learned_from = replace(docs, y=labels.astype(np.float32)).take(fit)
        # The gain of a training on ranks says nothing of the gain of labels.
        booster = without_scale(fitted_again(student, learned_from, None).booster_)
    own = score(booster, docs.take(judged), most)
    alike = Judging(f"ndcg@{deep}", "linear", num_threads=most)
    fidelity = first_value(as_told.take(judged).evaluate(own, alike))
    against = None
    if y is not None:
        top = float(docs.y.max()) if max_label is None else max_label
        by = Judging(text("metric", metric), gain, max_label=top, num_threads=most)
        theirs, mine = (
            first_value(docs.take(judged).evaluate(one, by)) for one in (scores[judged], own)
        )
        drawing = Drawing(num_threads=most)
        against = compare_values(theirs, mine, ("teacher", "student"), drawing)
    trees = teacher.num_trees or None if isinstance(teacher, Booster) else None
    return Distillation(booster, fidelity, against, trees)


def _student(ranker: Any, num_threads: int | None) -> Ranker:
    if ranker is None:
        ranker = LambdaMART(n_estimators=300)
    if isinstance(ranker, type) or not isinstance(ranker, Ranker):
        raise wrong_kind("ranker", ranker, "a ranker such as rr.LambdaMART()")
    options, changed = ranker.get_params(), dict[str, Any]()
    if options.get("gain") == "exp2":
        # Ranks are worth what they are.
        changed["gain"] = "linear"
    if options["n_jobs"] is None:
        changed["n_jobs"] = num_threads
    return ranker._again(**changed)


def _docs(
    teacher: Any, X: Any, y: Any, queries: tuple[Any, Any], num_threads: int | None
) -> tuple[RawRows, Scores]:
    """Return the documents and the teacher's scores of them."""
    taken, qid, group = queries_within(X, *queries, without=WithoutQueries.ANY)
    labels = np.zeros(taken.num_rows, np.float32) if y is None else y
    docs = as_raw_rows({"X": taken, "y": labels, "qid": qid, "group": group}, "X")
    if isinstance(teacher, Booster):
        scores = score(teacher, docs, num_threads)
    else:
        scores = as_scores(teacher, "scores of the teacher")
        check_length("scores of the teacher", len(scores), len(docs.y), "rows")
    if not np.isfinite(scores).all():
        raise DataError("scores of the teacher: some are not finite", code="score.nan")
    if scores.min() == scores.max():
        message = (
            f"the teacher scores all {len(scores):,} docs the same: there is no ranking to learn"
        )
        raise DataError(message, code="distill.flat")
    return docs, scores


def ranked(scores: Scores, docs: RawRows, depth: int) -> Scores:
    """Return labels that say a doc's rank in its query: of the best ``depth``, and 0 of those below.

    Docs with equal scores share their labels.
    """
    order = np.lexsort((-scores, docs.query))
    query, ordered = docs.query[order], scores[order]
    is_first = np.diff(query, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    place = np.arange(len(order)) - starts[np.cumsum(is_first) - 1]
    labels = np.maximum(0, depth - place).astype(np.float64)
    is_new = is_first | (np.diff(ordered, prepend=np.nan) != 0)
    block = np.cumsum(is_new) - 1
    mean = np.bincount(block, labels) / np.bincount(block)
    found = np.empty(len(scores))
    found[order] = mean[block]
    return found
