"""Reports: a comparison of rankers on a set of documents, as one self-contained HTML file."""

from __future__ import annotations

import html
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rustrank.combining.side_by_side import SideBySide
from rustrank.errors import ParamError
from rustrank.inputs.files import replace_file
from rustrank.inputs.keywords import OF_EVALUATE, refuses_unknown
from rustrank.inputs.scalars import choice, text, whole
from rustrank.inputs.tables import labels_of
from rustrank.metrics.evaluation import Drawing, Judging, warn_of_nothing
from rustrank.reporting._findings import Findings
from rustrank.reporting._html_page import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from rustrank.inputs.docs import JudgedDocs
    from rustrank.metrics.comparison import Comparison
    from rustrank.metrics.evaluation import Evaluation

__all__ = ["Report", "report"]

#: The default metrics.
METRICS = ("ndcg@10", "err@10", "map", "mrr", "precision@10")


class Report:
    """An HTML page that compares rankers, and the figures that it shows. Notebooks display it.

    Attributes
    ----------
    html : str
        The whole page, which has no scripts and loads nothing from elsewhere.
    evaluations : dict of str to Evaluation
        All metrics of each ranker.
    comparisons : dict of (str, str) to Comparison
        The comparison of the baseline with each other ranker, by the names of the two.
    statements : list of str
        These comparisons by the first metric as sentences. With several pairs of rankers, the p-value of a
        sentence is "p (Holm)", the randomisation test's corrected for the number of pairs.
    """

    html: str
    evaluations: dict[str, Evaluation]
    comparisons: dict[tuple[str, str], Comparison]
    statements: list[str]

    def __init__(self, findings: Findings, title: str) -> None:
        self.html = page(findings, title)
        self.evaluations = findings.evaluations
        self.comparisons = {one.names: compared for one, compared in findings.compared()}
        self.statements = findings.statements

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, which is replaced as a whole."""
        replace_file(path, self.html)

    def _repr_html_(self) -> str:
        # The base of a frame's document is the page around it: without another one, the links of the
        # contents would load the notebook inside the frame.
        inside = self.html.replace("<head>", '<head><base href="about:srcdoc">', 1)
        return (
            '<iframe title="rustrank report" style="width:100%;height:640px;border:1px solid gray" '
            f'srcdoc="{html.escape(inside)}"></iframe>'
        )

    def __repr__(self) -> str:
        names = ", ".join(self.evaluations)
        return f"<Report: {names}, {len(self.html.encode()) / 1024:.0f} KiB>"


@refuses_unknown(OF_EVALUATE)
def report(
    rankers: Any,
    docs: Any = None,
    *,
    y: Any = None,
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
    """Compare rankers on a set of documents, and write the results as an HTML page.

    The page has the metrics with intervals and paired tests, the metric by cut, the queries that gained and
    lost most with the reasons (which documents changed places, and the contributions of features), feature
    importance and learning curves of boosters, a summary of the data, and all settings. It is one file
    without scripts that needs no network, for screens, dark mode, phones and paper. The same documents,
    rankers and options give the same bytes.

    Parameters
    ----------
    rankers : mapping, sequence or one ranker
        Rankers by their names, or one alone: scores of all docs, names of columns of ``X``, boosters, fitted estimators,
        combiners, models of other libraries (what has a ``predict``), functions of ``X``, or paths of model
        files.
    docs, y, X, qid, group, query_weight
        The documents, as for `rustrank.evaluate`: labels, perhaps with features, or both together. The
        reasons for swapped documents need raw features.
    path : path-like, optional
        A file to write the page to.
    metrics : str or sequence of str
        The metrics of the label ``y``; the first one is used wherever a single metric is needed. A further label,
        such as a margin, has a report of its own: ``y="margin", gain="linear"``.
    baseline : str, optional
        The ranker to compare the others with; the first by default.
    title : str
        The heading of the page.
    examples : int, default 5
        The number of queries to show in detail that gained most, and of those that lost most.
    doc_ids : array-like of shape (num_docs,) or str, optional
        The names of documents, or the name of a column of the table; by default their row numbers.
    feature_names : sequence of str, optional
        The names of features, for boosters without names.
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
    judging = Judging(metrics, gain, ties, empty, relevant_from, max_label, num_threads)
    drawing = Drawing(resamples, seed, num_threads, level)
    heading, cases = text("title", title), whole("examples", examples, 0, 1000)
    given = {"docs": docs, "y": y, "X": X, "qid": qid, "group": group}
    given |= {"query_weight": query_weight, "doc_ids": doc_ids}
    side = SideBySide.of(rankers, given, num_threads).with_names(feature_names)
    names = list(side.by_ranker)
    first = names[0] if baseline is None else choice("baseline", baseline, names)
    with _labels_in_errors(side.docs, judging):
        findings = Findings(side, judging, drawing, first, cases)
    warn_of_nothing(findings.evaluations[first])
    made = Report(findings, heading)
    if path is not None:
        made.save(os.fspath(path))
    return made


@contextmanager
def _labels_in_errors(docs: JudgedDocs, judging: Judging) -> Iterator[None]:
    """Let the error of a metric of another label say how a report of that label is made."""
    try:
        yield
    except ParamError as error:
        for name in judging.metrics if error.code == "metric.name" else ():
            of, _, cut = name.partition("@")
            of, _, metric = of.partition(":")
            if of not in docs.extra_labels and of not in labels_of(docs.X):
                continue
            own = "@".join(filter(None, (metric or "ndcg", cut)))
            rows = "the raw rows instead of the Dataset, with " if docs.extra_labels else ""
            error.args = (
                f"{error}; a report has the label y alone: for a report of {of}, pass {rows}y={of!r} or its values, "
                f'gain="linear", metrics={own!r}',
            )
            break
        raise
