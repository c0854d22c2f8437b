"""The HTML page of a report: its frame, and the sections about the metrics of rankers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rustrank._rustrank import __version__
from rustrank.formatting import count, interval, number, p_text, percent
from rustrank.reporting import _html as html
from rustrank.reporting._html_cases import cases, extremes
from rustrank.reporting._html_models import data, importance, learning, settings
from rustrank.reporting._svg_charts import Line, fall_chart, interval_track, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank.reporting._findings import Findings

_UNCORRECTED = (
    "The p-values of these tables are not corrected for the number of metrics and rankers."
)
_STYLE = Path(__file__).with_name("report.css")


def page(findings: Findings, title: str) -> str:
    """Return the whole page."""
    parts = [
        ("quality", "How good is each ranker?", _quality(findings)),
        ("chance", "Is the difference more than chance?", _chance(findings)),
        ("cuts", "The metric by cut", _cuts(findings)),
        ("queries", "Won and lost, query by query", _queries(findings)),
        ("cases", "Where they differ most, and why", cases(findings)),
        ("extremes", "The worst and the best queries", extremes(findings)),
        ("importance", "Which features matter?", importance(findings)),
        ("learning", "Learning curves", learning(findings)),
        ("data", "The data", data(findings)),
        ("settings", "Settings", settings(findings)),
    ]
    shown = [part for part in parts if part[2]]
    contents = [html.tag("li", html.tag("a", head, href=f"#{name}")) for name, head, _ in shown]
    version = f"rustrank {__version__}"
    side = findings.side
    of_what = (
        f"{count(len(findings.names), 'ranker')} on {count(len(side.labels), 'doc')} of "
        f"{count(len(side.query_ids), 'query', 'queries')}"
    )
    sections = (html.section(*part) for part in shown)
    body = html.tag(
        "body",
        html.tag("a", "Skip to the content", href="#content", class_="skip"),
        html.tag("header", html.tag("h1", title), html.note(of_what)),
        html.tag("nav", html.tag("ol", *contents), aria_label="Contents"),
        html.tag("main", _summary(findings), *sections, id="content", tabindex="-1"),
        html.tag("footer", html.note(f"Made by {version}.")),
    )
    head = html.tag(
        "head",
        html.tag("meta", charset="utf-8"),
        html.tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html.tag("meta", name="color-scheme", content="light dark"),
        html.tag("meta", name="generator", content=version),
        html.tag("title", title),
        html.tag("style", html.Markup(_STYLE.read_text("utf-8"))),
    )
    return f"<!DOCTYPE html>\n{html.tag('html', head, body, lang='en')}\n"


def _summary(findings: Findings) -> html.Markup:
    """Return the summary, a few sentences."""
    metric = findings.metric
    first = findings.ranking()[0]
    value = findings.evaluations[first][metric]
    sentences: list[object] = [
        html.tag("strong", first),
        f" has {'the highest ' if len(findings.names) > 1 else ''}{metric}: {number(value)}",
        _in_brackets(findings.intervals[first][metric]),
        ". ",
    ]
    if findings.best is not None:
        one = findings.against[findings.best][metric]
        sentences += [
            html.tag("strong", findings.best),
            " minus the baseline, ",
            html.tag("strong", findings.baseline),
            f": {number(one.difference, '+')}{_in_brackets(one.interval, '+')}, ",
            f"{p_text(findings.p_of(findings.best), name=findings.p_name)}; {findings.best} is better for ",
            f"{count(one.wins, 'query', 'queries')}, worse for {one.losses:,}, the same for {one.ties:,}.",
        ]
    return html.tag("p", *sentences, class_="lead")


def _in_brackets(ends: tuple[float, float], sign: str = "") -> str:
    return "" if math.isnan(ends[0]) else f" [{interval(ends, sign)}]"


def _quality(findings: Findings) -> html.Markup:
    metric, names = findings.metric, findings.names
    values = {name: float(findings.evaluations[name][metric]) for name in names}
    ends = {name: findings.intervals[name][metric] for name in names}
    known = [one for name in names for one in (values[name], *ends[name]) if not math.isnan(one)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = 0.08 * (high - low) or 0.05
    scale = max(low - room, 0.0), high + room
    rows = []
    for at, name in enumerate(names):
        chart = interval_track(values[name], ends[name], scale, at)
        rows.append([name, html.cell_with_chart(chart, number(values[name])), interval(ends[name])])
    level = percent(findings.drawing.level)
    drawing = (
        f"A dot is the mean over queries, the bar around it the {level} bootstrap interval; the scale "
        f"goes from {number(scale[0])} to {number(scale[1])}."
    )
    return html.joined(
        html.table(f"{metric} of each ranker", ["ranker", metric, f"{level} interval"], rows),
        html.note(drawing),
        _all_metrics(findings) if len(findings.judging.metrics) > 1 else None,
    )


def _all_metrics(findings: Findings) -> html.Markup:
    metrics = findings.judging.metrics
    evaluations = findings.evaluations
    most = {
        metric: max(
            (one[metric] for one in evaluations.values() if one[metric] == one[metric]),
            default=math.nan,
        )
        for metric in metrics
    }
    rows = []
    for name, one in evaluations.items():
        cells: list[object] = []
        for metric in metrics:
            ends = html.tag("small", interval(findings.intervals[name][metric]))
            shown = html.joined(number(one[metric]), ends)
            cells.append(html.emphasised(shown) if one[metric] == most[metric] else shown)
        rows.append([name, *cells])
    some = next(iter(evaluations.values()))
    skipped = _queries_left_out(
        {metric: one.num_skipped for metric, one in some.items()}, findings.judging.empty
    )
    return html.joined(
        html.table("All metrics, the highest in bold", ["ranker", *metrics], rows),
        html.note(skipped) if skipped else None,
    )


def _queries_left_out(skipped: Mapping[str, int], empty: str) -> str:
    """Say how many queries each metric leaves out of its mean, and by what rule."""
    nothing = "no doc is relevant"
    if empty == "skip-one-label":
        nothing += ", or all docs have one label"
    rules = {nothing: False, "no two docs have different labels": True}
    found = []
    for rule, is_of_pairs in rules.items():
        counts = [
            f"{number:,} of {metric}"
            for metric, number in skipped.items()
            if number and metric.startswith("pairwise") == is_of_pairs
        ]
        if counts:
            found.append(f"{', '.join(counts)}, as {rule}")
    return f"Queries left out of the mean: {'; '.join(found)}." if found else ""


def _chance(findings: Findings) -> html.Markup | None:
    if not findings.pairs:
        return None
    level = percent(findings.drawing.level)
    rows = []
    for pair in findings.pairs:
        one = pair.compared
        cells = one.cells()
        cells.insert(4, one._shown_p(pair.p_holm))
        rows.append([f"{one.names[1]} minus {one.names[0]}", *cells])
    head = ["difference of", "mean", f"{level} interval", "p (t)", "p (random)", "p (Holm)"]
    caption = f"{findings.metric}: every ranker against every other"
    corrected = f"; p (Holm) corrects the latter for the {len(rows)} pairs" if len(rows) > 1 else ""
    explained = (
        f"Paired over queries: Student's t-test and the randomisation test{corrected}. Wins are queries "
        "for which the first of the two is better."
    )
    statements = [html.tag("li", one, ".") for one in findings.statements]
    others = [
        html.table(f"{name} against {findings.baseline}", *compared._tables()[0])
        for name, compared in findings.against.items()
    ]
    return html.joined(
        html.tag("ul", *statements),
        html.table(caption, [*head, "wins", "ties", "losses"], rows),
        html.note(explained),
        html.folded("All metrics, against the baseline", *others, html.note(_UNCORRECTED))
        if len(findings.judging.metrics) > 1
        else None,
    )


def _cuts(findings: Findings) -> html.Markup | None:
    if not findings.cuts:
        return None
    base = findings.metric.partition("@")[0]
    lines, rows = [], []
    for place, (name, cuts) in enumerate(findings.cuts.items()):
        values = np.array([value for _, value, _ in cuts])
        ends = np.array([one for _, _, one in cuts])
        if np.isnan(values).all():
            continue
        band = None if np.isnan(ends).all() else (ends[:, 0], ends[:, 1])
        lines.append(Line(name, np.array([float(cut) for cut, _, _ in cuts]), values, place, band))
        rows.append([name, *(number(value) for value in values)])
    if not lines:
        return None
    said = "; ".join(f"{one.name} goes from {one.y[0]:.4f} to {one.y[-1]:.4f}" for one in lines)
    label = f"{base} at cuts from 1 to {len(lines[0].x)}: {said}"
    x_label = f"cut k: {base}@k looks at the first k docs"
    places = [f"@{cut:g}" for cut in lines[0].x]
    level = percent(findings.drawing.level)
    title = f"{base}@k; bands are {level} intervals"
    return html.joined(
        line_chart(title, lines, label, x_label, f"{base}@k"),
        html.folded("As a table", html.table(f"{base} by cut", ["ranker", *places], rows)),
    )


def _queries(findings: Findings) -> html.Markup | None:
    if not findings.against:
        return None
    parts: list[html.Markup] = []
    for one, _ in findings.compared():
        first, second = one.names
        if np.isnan(one.per_query).all():
            continue
        alternative = (
            f"{one.metric} of {second} minus {first}, query by query, from {np.nanmax(one.per_query):+.4f} "
            f"to {np.nanmin(one.per_query):+.4f}: {one.wins} queries won, {one.ties} tied, {one.losses} lost"
        )
        share = 100 / max(one.wins + one.ties + one.losses, 1)
        tally = [
            html.tag("li", f"{what} {number_:,} ({number_ * share:.0f}%)", class_=side)
            for what, number_, side in (
                (f"{second} is better for", one.wins, "gain"),
                ("the same for", one.ties, None),
                (f"{first} is better for", one.losses, "loss"),
            )
        ]
        title = f"{one.metric} of {second} minus {first}: every query, the largest gain first"
        parts.append(
            html.figure(
                title,
                html.tag("ul", *tally, class_="tally"),
                fall_chart(one.per_query, alternative),
            )
        )
    parts.append(_all_queries(findings))
    hidden = "A mean may hide that a ranker is much better for some queries and worse for many."
    return html.joined(html.paragraph(hidden), parts)


def _all_queries(findings: Findings) -> html.Markup:
    metric = findings.metric
    best = findings.best or findings.baseline
    by_name = {name: one[metric].per_query for name, one in findings.evaluations.items()}
    differences = by_name[best] - by_name[findings.baseline]
    order = np.argsort(-differences, kind="stable")
    order = order[~np.isnan(differences[order])]
    ids = findings.side.query_ids
    # Those in the middle, which differ least, are left out first.
    half = 250
    chosen = np.concatenate([order[:half], order[half:][-half:]])
    rows = []
    for at in chosen.tolist():
        values = [number(of_queries[at]) for of_queries in by_name.values()]
        rows.append([str(ids[at]), number(differences[at], "+"), *values])
    left_out = len(order) - len(chosen)
    caption = f"{metric} of every query, sorted by what {best} gains on {findings.baseline}"
    return html.folded(
        "All queries" if not left_out else f"The {len(chosen):,} queries that differ most",
        html.table(caption, ["query", "difference", *by_name], rows),
    )
