"""The picture of an ensemble; matplotlib is imported when it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.formatting import percent
from rustrank.plotting.style import FIRST, NEUTRAL, SECOND, legend_above, new_axes, plain, tidy

if TYPE_CHECKING:
    from rustrank.ensembles.ensemble import EnsembleTables

#: Of members, combinations and subsets: told apart by shape as well, for who sees no colours.
_MARKS = {"member": ("s", NEUTRAL), "combination": ("o", FIRST), "subset": ("^", SECOND)}


def plot_ensemble(ensemble: EnsembleTables, ax: Any = None) -> Any:
    """Draw the first metric of everything that was measured, with its interval."""
    metric = ensemble.metrics[0]
    parts = {
        "combination": ensemble.combinations,
        "member": ensemble.members,
        "subset": ensemble.subsets,
    }
    names = [name for rows in parts.values() for name in rows]
    axes = new_axes(8.5, max(3.0, 0.24 * len(names) + 1.2)) if ax is None else ax
    place = len(names)
    for kind, rows in parts.items():
        if not rows:
            continue
        values = [row.valid[metric] for row in rows.values()]
        means = np.array([float(value) for value in values])
        ends = np.array([value.bootstrap(ensemble.level) for value in values])
        places = np.arange(place - 1, place - 1 - len(rows), -1)
        place -= len(rows)
        mark, color = _MARKS[kind]
        bars = np.abs(ends.T - means)
        axes.errorbar(
            means, places, xerr=bars, fmt=mark, color=color, markersize=5, linewidth=1, label=kind
        )
    best = float(ensemble.members[ensemble.best_member].valid[metric])
    axes.axvline(best, color=_MARKS["member"][1], linewidth=0.8, linestyle=":")
    marked = {ensemble.chosen, ensemble.best_member}
    labels = [plain(f"{name} *" if name in marked else name) for name in names]
    axes.set_yticks(np.arange(len(names) - 1, -1, -1), labels, fontsize="small")
    said = f"{metric} with {percent(ensemble.level)} intervals; dotted: {ensemble.best_member}"
    axes.set_xlabel(said)
    tidy(axes, "x")
    legend_above(axes, 3)
    return axes
