"""Tables of the adaptation experiments: the papers' figures, ours, and which of their claims hold here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import rustrank as rr
from adapting.rankers import LEAVES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from adapting.data import Docs
    from adapting.rankers import Ranker

#: "AveNDCG" is the mean of NDCG@1 to NDCG@10.
METRICS = {
    "NDCG@1": "ndcg@1",
    "NDCG@3": "ndcg@3",
    "NDCG@10": "ndcg@10",
    "AveNDCG": "ndcg@1..10",
}
#: What the claims of a paper are judged by; on the open test set of Gao's Table 4, the background is above
#: in-domain at NDCG@1 and on average, and below at NDCG@10.
METRIC_2009, METRIC_2008 = "ndcg@1..10", "ndcg@10"
SHOWN_2009 = ("NDCG@1", "NDCG@3", "NDCG@10", "AveNDCG")
SHOWN_2008 = ("NDCG@10", "NDCG@3", "NDCG@1")
Row = tuple[float, ...]

# Tables 3 to 12 of Gao and others: a row of the closed test set, and one of the open.
NAMES: dict[str, tuple[Row, Row]] = {
    "Back.": ((0.4575, 0.4952, 0.5446, 0.5092), (0.5472, 0.5347, 0.5731, 0.5510)),
    "In-domain": ((0.4921, 0.5296, 0.5774, 0.5433), (0.5216, 0.5266, 0.5789, 0.5472)),
    "2W-Interp.": ((0.4745, 0.5254, 0.5747, 0.5391), (0.5452, 0.5414, 0.5891, 0.5604)),
    "3W-Interp.": ((0.4829, 0.5333, 0.5814, 0.5454), (0.5474, 0.5470, 0.5951, 0.5661)),
    "λ-Boost": ((0.4706, 0.5011, 0.5569, 0.5192), (0.5269, 0.5233, 0.5716, 0.5428)),
    "λ-SMART": ((0.5042, 0.5449, 0.5951, 0.5623), (0.5200, 0.5331, 0.5875, 0.5538)),
}
LANGUAGES: dict[str, tuple[Row, Row]] = {
    "Back. (En)": ((0.5371, 0.5413, 0.5873, 0.5616), (0.4991, 0.5242, 0.5397, 0.5278)),
    "Back. (Ja)": ((0.5640, 0.5684, 0.6027, 0.5808), (0.5052, 0.5092, 0.5377, 0.5194)),
    "Back. (Cn)": ((0.4966, 0.5105, 0.5761, 0.5393), (0.4779, 0.4855, 0.5114, 0.4942)),
    "In-domain": ((0.5927, 0.5824, 0.6291, 0.6055), (0.5164, 0.5295, 0.5675, 0.5430)),
    "Interp. (En)": ((0.5954, 0.5893, 0.6335, 0.6088), (0.5178, 0.5369, 0.5768, 0.5500)),
    "Interp. (Ja)": ((0.6047, 0.5898, 0.6339, 0.6116), (0.5274, 0.5416, 0.5788, 0.5531)),
    "Interp. (Cn)": ((0.5812, 0.5807, 0.6268, 0.6024), (0.5224, 0.5339, 0.5766, 0.5487)),
    "4W-Interp.": ((0.5878, 0.5870, 0.6289, 0.6054), (0.5278, 0.5414, 0.5823, 0.5549)),
    "λ-Boost (En)": ((0.5757, 0.5716, 0.6197, 0.5935), (0.4960, 0.5203, 0.5486, 0.5281)),
    "λ-Boost (Ja)": ((0.5801, 0.5807, 0.6225, 0.5982), (0.5090, 0.5167, 0.5374, 0.5233)),
    "λ-Boost (Cn)": ((0.5731, 0.5793, 0.6226, 0.5972), (0.5177, 0.5324, 0.5673, 0.5439)),
    "λ-SMART (En)": ((0.6096, 0.6057, 0.6454, 0.6238), (0.5177, 0.5297, 0.5563, 0.5391)),
    "λ-SMART (Ja)": ((0.6014, 0.5966, 0.6385, 0.6172), (0.5205, 0.5317, 0.5522, 0.5368)),
    "λ-SMART (Cn)": ((0.5955, 0.6095, 0.6415, 0.6209), (0.5198, 0.5305, 0.5644, 0.5410)),
}
# Tables 3 to 5 of Wu and others.
LONG_QUERIES: dict[str, Row] = {"λ-Rank": (0.705, 0.626, 0.540), "λ-SMART": (0.707, 0.623, 0.554)}
BASELINES: dict[str, Row] = {
    "In-domain": (0.614, 0.569, 0.584),
    "Back. (En)": (0.583, 0.533, 0.531),
    "Back. (Ja)": (0.539, 0.491, 0.485),
    "Back. (Cn)": (0.528, 0.458, 0.425),
}
ADAPTED: dict[str, Row] = {
    "λ-SMART (En)": (0.647, 0.609, 0.612),
    "λ-SMART (Ja)": (0.636, 0.595, 0.602),
    "λ-SMART (Cn)": (0.641, 0.596, 0.608),
    "4W-Interp.": (0.615, 0.571, 0.588),
}


@dataclass
class Tested:
    """Scores of the docs of one test set by each ranker, of all seeds after each other."""

    y: list[NDArray[np.float32]] = field(default_factory=list)
    qid: list[NDArray[np.int64]] = field(default_factory=list)
    scores: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)
    chosen: dict[str, list[str]] = field(default_factory=dict)

    def add(self, docs: Docs, rankers: Mapping[str, Ranker]) -> None:
        """Score the docs of one more seed."""
        self.y.append(docs.y)
        self.qid.append(docs.qid + (len(self.qid) << 32))
        for name, ranker in rankers.items():
            self.scores.setdefault(name, []).append(ranker.booster.predict(docs.X))
            self.chosen.setdefault(name, []).append(ranker.chosen)

    def row(self, name: str) -> dict[str, rr.MetricValue]:
        """Return the metrics of a ranker; queries of one label are left out, as in the first paper."""
        scores = np.concatenate(self.scores[name])
        y, qid = np.concatenate(self.y), np.concatenate(self.qid)
        metrics = list(METRICS.values())
        found = rr.evaluate(scores, y, qid=qid, metrics=metrics, empty="skip-one-label")
        return {shown: found[metric] for shown, metric in METRICS.items()}

    def compared(self, first: str, second: str, metric: str) -> rr.MetricComparison:
        """Compare two rankers: by how much the second is better."""
        a, b = (np.concatenate(self.scores[name]) for name in (first, second))
        y, qid = np.concatenate(self.y), np.concatenate(self.qid)
        return rr.compare(a, b, y, qid=qid, metrics=metric, empty="skip-one-label")[metric]


@dataclass
class Results:
    """The closed and the open test set of an experiment."""

    closed: Tested = field(default_factory=Tested)
    opened: Tested = field(default_factory=Tested)

    def add(self, sets: rr.datasets.Domains, rankers: Mapping[str, Ranker]) -> None:
        """Score the docs of one more seed."""
        self.closed.add(sets.test_closed, rankers)
        self.opened.add(sets.test_open, rankers)

    @property
    def both(self) -> tuple[Tested, Tested]:
        """The closed and the open set."""
        return self.closed, self.opened


class Findings:
    """What a paper says, and whether it is so here; a prefix names rankers other than the paper's."""

    def __init__(self, metric: str, prefix: str = "", label: str = "") -> None:
        self.metric, self.prefix, self.label = metric, prefix, f"{prefix}{label}"
        self.lines: list[str] = []

    def add(self, claim: str, pairs: Sequence[tuple[Tested, str, str]]) -> None:
        """Claim that each second ranker is better than the first on its set."""
        self._judge(claim, pairs, level=False)

    def add_level(self, claim: str, pairs: Sequence[tuple[Tested, str, str]]) -> None:
        """Claim that no second ranker differs from the first on its set."""
        self._judge(claim, pairs, level=True)

    def add_smaller(self, claim: str, first: str, second: str, on: Results) -> None:
        """Claim that the lead of the second ranker is smaller on the open set, by a z-test."""
        pair = self.prefix + first, self.prefix + second
        leads = [one.compared(*pair, self.metric) for one in on.both]
        apart = leads[0].difference - leads[1].difference
        each = [lead.per_query[~np.isnan(lead.per_query)] for lead in leads]
        deviation = math.sqrt(sum(float(values.var()) / len(values) for values in each))
        p = math.erfc(abs(apart) / deviation / math.sqrt(2))
        verdict = "not clear" if p >= 0.05 else "held" if apart > 0 else "did not hold"
        said = f"by {leads[1].difference:+.4f}, closed by {leads[0].difference:+.4f} (p {p:.4f})"
        self.lines.append(f"- {self.label}{claim}: **{verdict}**: {said}")

    def _judge(self, claim: str, pairs: Sequence[tuple[Tested, str, str]], level: bool) -> None:
        named = [(on, self.prefix + a, self.prefix + b) for on, a, b in pairs]
        if any(a not in on.scores or b not in on.scores for on, a, b in named):
            self.lines.append(f"- {self.label}{claim}: not tried")
            return
        each = [on.compared(a, b, self.metric) for on, a, b in named]
        found = [(one.difference, one.p_randomisation) for one in each]
        clear = [p < 0.05 for _, p in found]
        if level:
            verdict = "did not hold" if any(clear) else "held"
        elif all(difference > 0 for difference, _ in found) and all(clear):
            verdict = "held"
        elif any(difference < 0 and p < 0.05 for difference, p in found):
            verdict = "did not hold"
        else:
            verdict = "not clear"
        said = ", ".join(f"{difference:+.4f} (p {p:.4f})" for difference, p in found)
        self.lines.append(f"- {self.label}{claim}: **{verdict}**: {said}")


def show(
    title: str,
    tested: Tested,
    theirs: Mapping[str, Row],
    shown: Sequence[str] = SHOWN_2009,
    only: Sequence[str] | None = None,
) -> None:
    """Print a table: ours with half of the 95% interval of NDCG@10, and the paper's figures beside it."""
    heads = [f"{name} ±" if name == "NDCG@10" else name for name in shown]
    heads += [f"paper: {name}" for name in shown] if theirs else []
    print(f"\n{title}\n\n| ranker | " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * len(heads))
    first = [name for name in theirs if name in tested.scores]
    for name in dict.fromkeys([*first, *(tested.scores if only is None else only)]):
        row = tested.row(name)
        low, high = row["NDCG@10"].interval
        half = {"NDCG@10": f" ± {(high - low) / 2:.4f}"}
        cells = [f"{row[one]:.4f}{half.get(one, '')}" for one in shown]
        if theirs:
            cells += [f"{value:.4f}" for value in theirs.get(name, ())] or [""] * len(shown)
        print(f"| {name} | {' | '.join(cells)} |")


def show_chosen(title: str, tested: Tested) -> None:
    """Print what was chosen on the validation queries, seed after seed."""
    print(f"\nChosen on the validation queries, {title}:\n")
    for name, texts in tested.chosen.items():
        if any(texts):
            print(f"- {name}: {'; '.join(text or 'as it is' for text in texts)}")


def draw(figure: Mapping[str, Tested], path: str) -> None:
    """Draw Figure 4: AveNDCG of LambdaSMART by leaves, a panel for each test set."""
    import matplotlib as mpl

    mpl.use("agg")
    # Text as text, not as outlines: a small file. Equal ids on each run.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "figure 4"})
    from matplotlib import pyplot as plt

    rows = -(-len(figure) // 4)
    sheet, panels = plt.subplots(rows, 4, figsize=(10, 2.8 * rows + 0.4), layout="constrained")
    for axes in panels.flat[len(figure) :]:
        axes.set_axis_off()
    for axes, (title, tested) in zip(panels.flat, figure.items(), strict=False):
        values = {name: float(tested.row(name)["AveNDCG"]) for name in tested.scores}
        places = 1 + np.arange(len(LEAVES))
        plain = [values[f"L = {leaves}"] for leaves in LEAVES]
        random = [values[f"L = {leaves}, random"] for leaves in LEAVES]
        axes.bar(places - 0.2, plain, 0.4, color="#9ec5e8", label="all rows and features")
        label = "rows and features drawn at each node"
        axes.bar(places + 0.2, random, 0.4, color="#1f4e79", label=label)
        axes.bar([0], [values["L = 1"]], 0.4, color="#c8641e", label="LambdaBoost")
        axes.set_ylim(min(values.values()) - 0.02, max(values.values()) + 0.005)
        axes.set_xticks(range(1 + len(LEAVES)), [1, *LEAVES])
        axes.set_title(title, fontsize=9)
        # Few marks: the file is small.
        axes.locator_params(axis="y", nbins=3)
        axes.tick_params(length=0)
        axes.spines[["top", "right"]].set_visible(False)
    sheet.supxlabel("leaves")
    sheet.supylabel("AveNDCG")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    sheet.legend(handles, labels, frameon=False, loc="outside upper center", ncols=3)
    sheet.savefig(path, dpi=150, metadata={"Date": None} if path.endswith(".svg") else None)
