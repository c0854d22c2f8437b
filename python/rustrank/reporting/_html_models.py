"""The sections of a report about models and data: feature importance, learning curves, data, settings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import label_ends
from rustrank.formatting import count, number, percent
from rustrank.reporting import _html as html
from rustrank.reporting._findings import EXPLAINED, by_rounds, shap_means
from rustrank.reporting._svg_charts import Line, bar, line_chart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.combining.side_by_side import SideBySide
    from rustrank.model.booster import Booster
    from rustrank.reporting._findings import Findings

#: The features that are listed.
_FEATURES = 15
#: The labels that are listed.
_LABELS = 32


def importance(findings: Findings) -> html.Markup | None:
    """Return the section on feature importance."""
    side, silent = findings.side, []
    parts: list[html.Markup] = []
    has_shap = False
    for place, name in enumerate(findings.names):
        shown = None
        if name in side.boosters:
            # Of many, the first shows what the others are like.
            is_open = not parts or len(side.boosters) < 3
            shap = shap_means(side, side.boosters[name])
            shown = _importance(side, name, shap, (place, is_open))
            has_shap |= shown is not None and shap is not None
        if shown is None:
            silent.append(name)
        else:
            parts.append(shown)
    if not parts:
        return None
    if silent:
        parts.append(html.note(f"Without feature importance: {', '.join(silent)}."))
    few = f"about {EXPLAINED:,} of these docs, those of evenly spaced queries"
    which = "these docs" if len(side.labels) <= EXPLAINED else few
    of_shap = (
        f"SHAP: the mean absolute Shapley value of a feature over {which}, in units of the score. "
    )
    of_reduction = (
        "Reduction: the share of the splits on a feature in the reduction of the training loss."
    )
    explained = html.paragraph(of_shap if has_shap else "", of_reduction)
    return html.joined(explained, parts)


def _importance(
    side: SideBySide, name: str, shap: NDArray[np.float64] | None, look: tuple[int, bool]
) -> html.Markup | None:
    booster, (place, is_open) = side.boosters[name], look
    # Of a net, which has no splits, all zeros.
    reduction, _, _ = booster._core.splits()
    by_shap = shap is not None and shap.any()
    # The splits of a mixture with a net say nothing of the net.
    if not by_shap and (not reduction.any() or booster._parts_beside_trees()):
        return None
    share = 100 * reduction / (reduction.sum() or 1)
    weight = shap if by_shap and shap is not None else reduction
    order = np.argsort(-weight, kind="stable")[:_FEATURES]
    order = order[weight[order] > 0]
    rows, names = [], side.names_of(booster)
    for at in order.tolist():
        row: list[Any] = [names[at]]
        if shap is not None:
            row.append(html.cell_with_chart(bar(shap[at], weight.max(), place), f"{shap[at]:.4g}"))
        row.append(html.cell_with_chart(bar(share[at], share.max(), place), f"{share[at]:.1f}%"))
        rows.append(row)
    head = ["feature", *(["SHAP"] if shap is not None else []), "reduction"]
    more = int(np.count_nonzero(weight)) - len(rows)
    return html.folded(
        html.tag("strong", name),
        html.table(f"The features of {name} that matter most", head, rows),
        html.note(f"{count(more, 'feature')} of less importance not shown.") if more > 0 else None,
        is_open=is_open,
    )


def learning(findings: Findings) -> html.Markup | None:
    """Return the section with learning curves, on the validation sets and on these documents."""
    parts = []
    for name, booster in findings.side.boosters.items():
        parts.append(_history(name, booster, findings.metric))
        bias = getattr(booster, "position_bias", None)
        parts.append(None if bias is None else _position_bias(name, np.exp(bias)))
    shown = [part for part in [*parts, _growth(findings)] if part is not None]
    return html.joined(shown) if shown else None


def _history(name: str, booster: Booster, wanted: str) -> html.Markup | None:
    known = list(dict.fromkeys(metric for one in booster.history.values() for metric in one))
    if not known:
        return None
    metric = wanted if wanted in known else known[0]
    before, _ = booster._rounds_of_history()
    lines = [
        Line(
            of_set,
            before + np.arange(1.0, len(values[metric]) + 1),
            np.asarray(values[metric]),
            place,
        )
        for place, (of_set, values) in enumerate(booster.history.items())
        if metric in values and len(values[metric]) and not np.isnan(values[metric]).all()
    ]
    if not lines:
        return None
    best = booster.best_round
    marks = [(float(best), f"best round: {best:,}")] if best else []
    ends = "; ".join(f"on {one.name} it ends at {one.y[-1]:.4f}" for one in lines)
    label = f"{metric} of {name} after each round: {ends}"
    title = f"{name}: {metric} on its validation sets"
    return line_chart(title, lines, label, "round", metric, marks=marks)


def _position_bias(name: str, share: np.ndarray) -> html.Markup:
    line = Line(name, np.arange(1.0, len(share) + 1), 100 * share, 0)
    label = f"position bias of {name}: from 100% to {100 * share[-1]:.1f}%"
    title = f"{name}: learned position bias"
    clicks = "clicks on the same docs, % of those at position 1"
    return line_chart(title, [line], label, "position", clicks)


def _growth(findings: Findings) -> html.Markup | None:
    """Draw the metric on the documents of the report after 1, 2, 4, ... rounds."""
    side, metric = findings.side, findings.metric
    lines, rows = [], []
    made_of_others = [name for name, one in side.boosters.items() if one._least_rounds() is None]
    for place, name in enumerate(findings.names):
        if name not in side.boosters:
            continue
        values = by_rounds(side, name, findings.judging)
        if values is None or all(math.isnan(value) for _, value in values):
            continue
        rounds, means = map(np.array, zip(*values, strict=True))
        lines.append(Line(name, np.log2(rounds), means.astype(float), place))
        rows += [[name, f"{at:,}", number(value)] for at, value in values]
    if not lines:
        return None
    most = max(float(one.x[-1]) for one in lines)
    steps = range(0, math.floor(most) + 1, max(1, math.ceil(most / 6)))
    places = [(float(power), f"{2**power:,}") for power in steps]
    ends = "; ".join(f"{one.name} from {one.y[0]:.4f} to {one.y[-1]:.4f}" for one in lines)
    label = f"{metric} by number of rounds: {ends}"
    x_label = "rounds (each step to the right doubles them)"
    title = f"{metric} on these docs with the first rounds only"
    chart = line_chart(title, lines, label, x_label, metric, x_ticks=places)
    figures = html.table("By number of rounds", ["ranker", "rounds", metric], rows)
    without = (
        html.note(f"Without rounds, being made of other models: {', '.join(made_of_others)}.")
        if made_of_others
        else None
    )
    return html.joined(chart, without, html.folded("As a table", figures))


def data(findings: Findings) -> html.Markup:
    """Return the section about the data."""
    side = findings.side
    sizes = np.bincount(side.query, minlength=len(side.query_ids))
    low, high = label_ends(side.labels, side.query, len(side.query_ids))
    from_ = findings.judging.relevant_from
    rows = [("docs", f"{len(side.labels):,}"), ("queries", f"{len(sizes):,}")]
    if len(sizes):
        spread = f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):,.0f}"
        rows += [
            ("docs a query", spread),
            ("queries without a relevant doc", f"{int((high < from_).sum()):,}"),
            ("queries with one label only", f"{int((low == high).sum()):,}"),
        ]
    shape = getattr(side.X, "shape", None)
    if side.has_features and shape is not None:
        rows += _features(side, shape[1])
    if side.query_weight is not None:
        weight = side.query_weight
        rows.append(("weights of queries", f"{weight.min():.4g} to {weight.max():.4g}"))
    return html.joined(html.facts(rows), _labels(side))


def _features(side: SideBySide, num_columns: int) -> list[tuple[str, str]]:
    """Return how many features the models have, and how many columns the table has, where that differs."""
    found = sorted({booster.num_raw_features for booster in side.boosters.values()})
    numbers = f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
    if found == [num_columns]:
        return [("features", numbers)]
    return [
        ("features of the models", numbers),
        ("columns that may be features", f"{num_columns:,}"),
    ]


def _labels(side: SideBySide) -> html.Markup:
    levels, numbers = np.unique(side.labels, return_counts=True)
    if len(levels) > _LABELS:
        return html.note(f"{len(levels):,} different labels, from {levels[0]:g} to {levels[-1]:g}.")
    share = 100 * numbers / max(len(side.labels), 1)
    rows = [
        [f"{level:g}", f"{number_:,}", html.cell_with_chart(bar(part, share.max()), f"{part:.1f}%")]
        for level, number_, part in zip(levels, numbers.tolist(), share.tolist(), strict=True)
    ]
    return html.table("Docs of each label", ["label", "docs", "share"], rows)


def settings(findings: Findings) -> html.Markup:
    """Return the section about the settings, and the parameters of boosters."""
    judging, drawing = findings.judging, findings.drawing
    rows: list[tuple[str, Any]] = [
        ("metrics", ", ".join(judging.metrics)),
        ("baseline", findings.baseline),
        ("gain", judging.gain if isinstance(judging.gain, str) else str(list(judging.gain))),
        ("ties", judging.ties),
        ("empty", judging.empty),
        ("relevant from label", f"{judging.relevant_from:g}"),
        ("max_label", "the largest" if judging.max_label is None else f"{judging.max_label:g}"),
        ("level", percent(drawing.level)),
        ("resamples", f"{drawing.resamples:,}"),
        ("seed", str(drawing.seed)),
    ]
    boosters = findings.side.boosters
    models = [
        html.folded(f"Parameters of {name}", _parameters(name, booster))
        for name, booster in boosters.items()
    ]
    kinds = [
        [name, repr(boosters[name]) if name in boosters else "scores"] for name in findings.names
    ]
    same = "The same docs, rankers and settings give the same page, byte for byte: there is no date in it."
    rankers = html.table("The rankers", ["ranker", "what it is"], kinds, left=2)
    return html.joined(html.facts(rows), rankers, models, html.note(same))


def _parameters(name: str, booster: Booster) -> html.Markup:
    rows = [[key, html.tag("code", value)] for key, value in sorted(booster.params.items())]
    if not rows:
        return html.note("The model has none noted down.")
    return html.table(f"What {name} was trained with", ["parameter", "value"], rows, left=2)
