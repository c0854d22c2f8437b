"""The sections of a report about single queries: swapped documents with reasons, best and worst queries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rustrank.formatting import count, number
from rustrank.reporting import _html as html
from rustrank.reporting._svg_charts import two_sided_bar

if TYPE_CHECKING:
    from rustrank.combining.side_by_side import SideBySide
    from rustrank.reporting._findings import Findings
    from rustrank.reporting._swapped_docs import Case, Swap

#: The number of worst and of best queries to list.
_ENDS = 10


def cases(findings: Findings) -> html.Markup | None:
    """Return the section about the queries that gained and lost most."""
    if findings.best is None or not (findings.gained or findings.lost):
        return None
    better, base = findings.best, findings.baseline
    parts = [
        html.paragraph(
            f"{better} and {base} side by side: the docs that stand high in either ranking, the pair of "
            "docs whose order differs and matters most, and what the features did to the scores of "
            "that pair."
        )
    ]
    for name, chosen in ((better, findings.gained), (base, findings.lost)):
        if chosen:
            parts.append(html.tag("h3", f"{name} is better"))
        for at, case in enumerate(chosen):
            parts.append(_case(findings, case, is_open=at == 0 and chosen is findings.gained))
    return html.joined(parts)


def _case(findings: Findings, case: Case, is_open: bool) -> html.Markup:
    side, metric = findings.side, findings.metric
    query = str(side.query_ids[case.query])
    first, second = case.values
    values = ", ".join(f"{name} {number(value)}" for name, value in case.values.items())
    title = html.joined(
        html.tag("strong", f"query {query}"),
        f": {metric} {number(case.difference, '+')} ({values}), {count(case.num_docs, 'doc')}",
    )
    pair = () if case.swap is None else (case.swap.better, case.swap.worse)
    rows = []
    for row in case.shown:
        doc = side.doc(row)
        ranks = [case.ranks[name][row] for name in (second, first)]
        scores = [number(side.by_ranker[name][row]) for name in (second, first)]
        moved = _moved(ranks[1] - ranks[0])
        named = html.tag("strong", doc) if row in pair else doc
        rows.append([named, f"{side.labels[row]:g}", *map(str, ranks), moved, *scores])
    head = ["doc", "label", f"rank, {second}", f"rank, {first}", "moved", f"score, {second}"]
    head.append(f"score, {first}")
    docs = html.table(f"Query {query}: docs that stand high in either ranking", head, rows)
    tied = html.note("Docs with equal scores share a rank.") if case.has_ties else None
    return html.folded(title, docs, tied, _why(findings, case), is_open=is_open)


def _moved(places: int) -> str:
    """Return how many places a document went up or down."""
    if not places:
        return "="
    return f"{'▲' if places > 0 else '▼'} {abs(places)}"


def _why(findings: Findings, case: Case) -> html.Markup:
    swap = case.swap
    if swap is None:
        return html.note(
            "Near the top, the two rankings order no two docs with different labels the other way round whose "
            f"exchange changes {findings.metric}; docs with equal scores have no order."
        )
    side, metric = findings.side, findings.metric
    first, second = case.values
    winner, loser = (second, first) if case.difference > 0 else (first, second)
    sentence = html.paragraph(
        html.tag("strong", winner),
        f" has {side.doc(swap.better)} (label {side.labels[swap.better]:g}) above "
        f"{side.doc(swap.worse)} (label {side.labels[swap.worse]:g}), {loser} the other way round. If the "
        f"two traded their scores in {winner}, {metric} of this query would change by "
        f"{number(-swap.delta, '+')}.",
    )
    if not swap.reasons:
        return html.joined(sentence, html.note(_no_reasons(side, (first, second))))
    return html.joined(sentence, _reasons(side, case, swap))


def _no_reasons(side: SideBySide, names: tuple[str, str]) -> str:
    if not any(name in side.boosters for name in names):
        return "Neither ranker is a model that can be looked into, so the difference cannot be explained."
    if not side.has_features:
        return "Without the raw features (X) the difference cannot be explained."
    return "Neither ranker can say what single features did."


def _reasons(side: SideBySide, case: Case, swap: Swap) -> html.Markup:
    names = list(swap.reasons[0].contribution)
    largest = max(abs(value) for one in swap.reasons for value in one.contribution.values())
    docs = side.doc(swap.better), side.doc(swap.worse)
    rows = []
    for one in swap.reasons:
        charts = [
            html.cell_with_chart(two_sided_bar(value, largest), f"{value:+.4f}")
            for value in one.contribution.values()
        ]
        rows.append([one.feature, html.plain(one.better), html.plain(one.worse), *charts])
    query = str(side.query_ids[case.query])
    head = ["feature", docs[0], docs[1], *(f"in {name}" for name in names)]
    differences = [
        f"{name} {side.by_ranker[name][swap.better] - side.by_ranker[name][swap.worse]:+.4f}"
        for name in names
    ]
    explained = (
        f"Shapley values: what each feature did to put {docs[0]} above {docs[1]} (to the right) or below. "
        f"With the features not shown, they add up to the score of {docs[0]} minus that of {docs[1]}: "
        f"{', '.join(differences)}.{_of_ranks(side, names, docs)}"
    )
    return html.joined(html.table(f"Query {query}: why", head, rows), html.note(explained))


def _of_ranks(side: SideBySide, names: list[str], docs: tuple[str, str]) -> str:
    """Return what the values are for models with ranks within queries, whose rows cannot be contrasted alone."""
    ranked = [name for name in names if side.boosters[name].query_ranks]
    if not ranked:
        return ""
    return (
        f" In {' and '.join(ranked)}, which rank features within queries, they are what each feature does to the "
        f"score of {docs[0]} in its query minus what it does to that of {docs[1]}: a feature that both docs share "
        "may have an effect, too."
    )


def extremes(findings: Findings) -> html.Markup | None:
    """Return the section with the worst and the best queries of the best ranker."""
    metric, name = findings.metric, findings.ranking()[0]
    values = findings.evaluations[name][metric].per_query
    order = np.argsort(values, kind="stable")
    order = order[~np.isnan(values[order])]
    if not len(order):
        return None
    side = findings.side
    sizes = np.bincount(side.query, minlength=len(side.query_ids))
    is_relevant = side.labels >= findings.judging.relevant_from
    relevant = np.bincount(side.query, weights=is_relevant, minlength=len(side.query_ids))
    head = ["query", *findings.names, "docs", "relevant docs"]

    def rows(chosen: list[int]) -> list[list[str]]:
        shown = []
        for at in chosen:
            values = [number(one[metric].per_query[at]) for one in findings.evaluations.values()]
            counts = [f"{sizes[at]:,}", f"{relevant[at]:,.0f}"]
            shown.append([str(side.query_ids[at]), *values, *counts])
        return shown

    worst, best = order[:_ENDS].tolist(), order[::-1][:_ENDS].tolist()
    return html.joined(
        html.paragraph(
            f"By {metric} of {name}"
            f"{', which has the highest mean' if len(findings.names) > 1 else ''}."
        ),
        html.table(f"The worst queries of {name}", head, rows(worst)),
        html.table(f"The best queries of {name}", head, rows(best)),
        html.note(_spread(values, metric)),
    )


def _spread(values: np.ndarray, metric: str) -> str:
    quarters = np.nanquantile(values, [0.25, 0.5, 0.75])
    if any(math.isnan(one) for one in quarters):
        return ""
    low, middle, high = (number(float(one)) for one in quarters)
    return f"Half of all queries have {metric} from {low} to {high}; the median is {middle}."
