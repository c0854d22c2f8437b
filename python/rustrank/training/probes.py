"""Trainings that are judged on held-out queries, to compare settings and to choose the number of rounds."""

from __future__ import annotations

import math
import time
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.inputs.docs import judged_docs
from rustrank.metrics.evaluation import Judging, judge_docs
from rustrank.parameters.plan import Plan
from rustrank.training.rounds import cancellable_pool, check_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset

    Curve = NDArray[np.float64]

#: How long a better round is waited for, and over how many rounds curves are smoothed: on four small real sets the
#: rounds chosen so were better than by less of either (docs/reference/tried.md).
PATIENCE, SMOOTH = 200, 41
#: After how many rounds it is asked whether the best is long ago.
_STRIDE = 20


class Probe:
    """A training that is judged on held-out queries after each round."""

    def __init__(self, fit: Dataset, held: Dataset, options: dict[str, Any], metric: int) -> None:
        self.held, self.metric = held, metric
        self.threads = options["num_threads"]
        options = {**options, "valid": {"held": held}, "early_stopping": None}
        self.trainer = _rustrank.Trainer.trees(fit._core, Plan(fit, options, None), None)
        self.ends = False

    def train_to(self, rounds: int) -> None:
        """Train until there are so many rounds, or nothing more to learn."""
        for _ in range(rounds - len(self.trainer.history())):
            check_cancelled()
            if self.trainer.next_round() is None:
                self.ends = True
                break

    @property
    def curve(self) -> Curve:
        """The metric after each round."""
        return np.array(self.trainer.history(), np.float64)[:, self.metric]

    def rounds_at(self, rounds: int) -> int:
        """Return the number of rounds, or of all that there were."""
        return min(rounds, len(self.trainer.history()))

    def per_query(self, rounds: int, judging: Judging) -> NDArray[np.float64]:
        """Return the metric of each held-out query for the model of the first rounds."""
        scores = self.trainer.booster_at(self.rounds_at(rounds)).score_dataset(
            self.held._core, None, self.threads
        )
        found = judge_docs(scores, judged_docs(self.held, {}), judging)
        values: NDArray[np.float64] = next(iter(found.values())).per_query
        return values


class Probes:
    """The probes of the same settings on one or several folds, which have the number of rounds in common."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self.probes = list(probes)

    def train(self, most: int, n_jobs: int, deadline: float = math.inf) -> bool:
        """Train as many probes at once as there are jobs, until the common curve has not risen for long.

        Return false if it was the deadline that ended it, by `time.monotonic`.
        """
        rounds = 0
        with cancellable_pool(n_jobs) as pool:
            while rounds < most:
                rounds = min(most, rounds + _STRIDE)
                list(pool.map(Probe.train_to, self.probes, repeat(rounds)))
                if rounds - self.best >= PATIENCE or all(probe.ends for probe in self.probes):
                    break
                if time.monotonic() >= deadline:
                    return False
        return True

    @property
    def curve(self) -> Curve:
        """The smoothed mean of the curves; one that has ended goes on as it ended."""
        curves = [probe.curve for probe in self.probes]
        length = max(map(len, curves))
        padded = [np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves]
        return smoothed(np.mean(padded, axis=0), SMOOTH)

    @property
    def best(self) -> int:
        """The number of rounds at which the curve is highest."""
        return int(np.argmax(self.curve)) + 1

    @property
    def value(self) -> float:
        """The highest value of the curve."""
        return float(np.max(self.curve))

    def per_query(self, judging: Judging) -> NDArray[np.float64]:
        """Return the metric of all held-out queries at the best number of rounds."""
        return np.concatenate([probe.per_query(self.best, judging) for probe in self.probes])


def objective_for(metric: str) -> dict[str, str]:
    """Return what `rustrank.train` should weigh pairs by to do well in a metric, if not by the metric itself.

    The reciprocal rank looks at one document of a query. Pairs that are weighed by it learn little: on four real
    sets those weighed by NDCG@10 had a larger mean reciprocal rank.
    """
    return {"objective_metric": "ndcg@10"} if metric.startswith("mrr") else {}


def smoothed(curve: Curve, window: int) -> Curve:
    """Return the mean of the values around each one; the first have as many after them as before.

    These are the means of `rustrank.EarlyStopping` (src/rounds/early_stopping.rs says why).
    """
    sums = np.concatenate([[0.0], np.cumsum(curve)])
    at = np.arange(len(curve))
    before = np.minimum(at, window // 2)
    from_it = np.minimum(-(-window // 2), before + 1)
    end = np.minimum(at + from_it, len(curve))
    means: Curve = (sums[end] - sums[at - before]) / (end - at + before)
    return means


def better(candidates: Sequence[Probes], judging: Judging, errors: float) -> int:
    """Return the first candidate, or the best of those that are better by more than so many standard errors."""
    first = candidates[0].per_query(judging)
    gains = [0.0]
    for other in candidates[1:]:
        ahead = other.per_query(judging) - first
        ahead = ahead[np.isfinite(ahead)]
        error = float(np.std(ahead, ddof=1)) / math.sqrt(len(ahead)) if len(ahead) > 1 else math.inf
        mean = float(ahead.mean()) if len(ahead) else 0.0
        gains.append(mean if mean > errors * error else 0.0)
    return int(np.argmax(gains))


def num_judged_queries(data: Dataset) -> int:
    """Return the number of queries with different labels."""
    codes, labels = data._core.query_codes(), data.labels
    least, most = np.full(data.num_queries, np.inf), np.full(data.num_queries, -np.inf)
    np.minimum.at(least, codes, labels)
    np.maximum.at(most, codes, labels)
    return int((least < most).sum())
