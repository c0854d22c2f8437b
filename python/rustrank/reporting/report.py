"""Reports: rankers of any kind compared on a set of docs, as one HTML file that needs nothing else."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank.combining.side_by_side import SideBySide
from rustrank.errors import UnknownNameError, shown
from rustrank.inputs.scalars import real, text, whole
from rustrank.metrics.evaluation import Drawing, Judging, warn_of_nothing
from rustrank.reporting._findings import Choices, Findings, found
from rustrank.reporting._html_page import page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from rustrank.metrics.comparison import Comparison
    from rustrank.metrics.evaluation import Evaluation

__all__ = ["Report", "report"]

#: What is measured unless something else is asked for.
METRICS = ("ndcg@10", "err@10", "map", "mrr", "precision@10")


class Report:
    """A report: a page, and the figures that it shows. Notebooks show it in a frame.

    Attributes
    ----------
    html : str
        The whole page; no script, no font and no picture is loaded from elsewhere.
    evaluations : dict of str to Evaluation
        All metrics of each ranker.
    comparisons : dict of (str, str) to Comparison
        The baseline against each other ranker, by the names of the two.
    """

    html: str
    evaluations: dict[str, Evaluation]
    comparisons: dict[tuple[str, str], Comparison]

    def __init__(self, findings: Findings) -> None:
        self.html = page(findings)
        self.evaluations = findings.evaluations
        self.comparisons = {one.names: compared for one, compared in findings.compared()}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (
            '<iframe title="rustrank report" style="width:100%;height:640px;border:1px solid gray" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        names = ", ".join(self.evaluations)
        return f"<Report: {names}, {len(self.html.encode()) / 1024:.0f} KiB>"


def report(
    rankers: Any,
    y: Any,
    *,
    X: Any = None,
    qid: Any = None,
    group: Any = None,
    path: str | PathLike[str] | None = None,
    metrics: str | Sequence[str] = METRICS,
    baseline: str | None = None,
    title: str = "Rankers compared",
    examples: int = 5,
    doc_ids: Any = None,
    feature_names: Any = None,
    query_weight: Any = None,
    gain: Any = "exp2",
    ties: str = "expected",
    empty: str = "skip",
    relevant_from: float = 1,
    max_label: float | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    num_threads: int | None = None,
) -> Report:
    """Compare rankers on a set of docs, and write what is found as a page.

    The page has the metrics with intervals and paired tests, the metric by cut, the queries that were
    won and lost and why (the docs that changed places, and what the features did to it), what boosters
    look at and how they learned, what is in the data, and all settings. It is one file without scripts
    that opens without a network, in light and dark, on paper and on a phone. The same docs, rankers and
    options make the same bytes.

    Parameters
    ----------
    rankers : mapping or sequence
        Rankers by their names: scores of all docs, boosters, fitted estimators, combiners, models of
        other libraries (what has a ``predict``), functions of ``X``, or paths of model files.
    y : array-like of shape (num_docs,), or Dataset
        Labels; or a dataset that has labels, queries and weights, and that boosters score.
    X : array-like of shape (num_docs, num_features), or Dataset, optional
        What rankers that are not scores already score. Only with raw features can it be said why docs
        changed places.
    qid, group, query_weight
        As for `rustrank.evaluate`.
    path : path-like, optional
        Where to write the page, too.
    metrics : str or sequence of str
        The metrics; the first decides in whatever looks at one alone.
    baseline : str, optional
        The ranker that others are compared with; the first by default.
    title : str
        The heading of the page.
    examples : int, default 5
        How many won and how many lost queries are looked into.
    doc_ids : array-like of shape (num_docs,), optional
        What docs are called; their rows by default.
    feature_names : sequence of str, optional
        What features are called by boosters that do not know.
    gain, ties, empty, relevant_from, max_label, num_threads
        As for `rustrank.evaluate`.
    level, resamples, seed
        As for `rustrank.compare`.

    Returns
    -------
    Report
        The page and its figures.

    Examples
    --------
    >>> import rustrank as rr
    >>> train, test = (rr.datasets.make_polynomial(40, seed=seed) for seed in (0, 1))
    >>> booster = rr.train(rr.Dataset(train.X, train.y, qid=train.qid), num_trees=5)
    >>> rankers = {"first feature": test.X[:, 0], "trees": booster}
    >>> made = rr.report(rankers, test.y, X=test.X, qid=test.qid, metrics=["ndcg@10", "map"])
    >>> list(made.evaluations), list(made.comparisons)
    (['first feature', 'trees'], [('first feature', 'trees')])
    >>> made.save("report.html")  # doctest: +SKIP
    """
    judging = Judging.of(metrics, gain, ties, empty, relevant_from, max_label, num_threads)
    choices = Choices(
        judging,
        Drawing.of(resamples, seed, num_threads),
        real("level", level),
        text("title", title),
        whole("examples", examples, 0, 1000),
    )
    given = {"y": y, "X": X, "qid": qid, "group": group, "query_weight": query_weight}
    side = SideBySide.of(rankers, given, num_threads).called(doc_ids, feature_names)
    first = _baseline(baseline, list(side.by_ranker))
    findings = found(side, choices, first)
    warn_of_nothing(findings.evaluations[first])
    made = Report(findings)
    if path is not None:
        made.save(os.fspath(path))
    return made


def _baseline(given: str | None, names: list[str]) -> str:
    if given is None:
        return names[0]
    if given not in names:
        message = f"baseline: got {shown(given)}, expected one of {', '.join(names)}"
        raise UnknownNameError(message, code="baseline")
    return given
