"""The picture of a sweep; matplotlib is imported when it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.plotting.style import FIRST, SECOND, plain, tidy

if TYPE_CHECKING:
    from rustrank.selection.tuning import Tuning


def plot_tuning(tuning: Tuning, axes: Any = None) -> Any:
    """Draw the metric over each parameter, the best setting marked."""
    names = list(tuning.best)
    if axes is None:
        from matplotlib import pyplot as plt

        size = (3.2 * len(names) + 0.8, 3.2)
        _, axes = plt.subplots(
            1, len(names), figsize=size, sharey=True, squeeze=False, layout="constrained"
        )
    panels = np.ravel(np.asarray(axes, object))
    means = np.array([float(trial.value) for trial in tuning.trials])
    best = int(np.nanargmax(means)) if not np.isnan(means).all() else 0
    for panel, name in zip(panels, names, strict=True):
        places = _places(panel, [trial.setting[name] for trial in tuning.trials])
        panel.plot(places, means, "o", color=FIRST, markersize=4, alpha=0.7)
        panel.plot(places[best], means[best], "D", color=SECOND, markersize=8, label="best")
        panel.set_xlabel(plain(name))
        tidy(panel)
    panels[0].set_ylabel(tuning.metric)
    panels[0].legend(frameon=False)
    return panels


def _places(panel: Any, values: list[Any]) -> Any:
    """Return where values go: numbers where they are, on a logarithmic axis if they span much."""
    is_number = all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
    )
    if is_number:
        places = np.array(values, float)
        if places.min() > 0 and places.max() / places.min() >= 10:
            panel.set_xscale("log")
        return places
    said = list(dict.fromkeys(map(str, values)))
    panel.set_xticks(range(len(said)), said, rotation=45)
    return np.array([said.index(str(value)) for value in values])
