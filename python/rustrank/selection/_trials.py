"""Evaluation of the settings of a tuning run, and the file that records their values."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank._rustrank import __version__
from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import DataError, ParamError
from rustrank.estimators.ranker import fitted_again, option_record
from rustrank.estimators.raw_rankers import RawRanker
from rustrank.inputs.docs import DocArguments
from rustrank.inputs.files import errors_name, replace_file
from rustrank.inputs.scalars import text, whole
from rustrank.metrics.evaluation import Judging, MetricValue, first_value
from rustrank.selection.folds import QueryFolds
from rustrank.training.rounds import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows
    from rustrank.estimators.ranker import Ranker

_FORMAT = 1


class Records:
    """The values of the settings tried so far, kept in an append-only file of JSON lines.

    The first line describes the ranker, the data and the metric. An incomplete last line is dropped, and
    its trial is repeated.
    """

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, list[float]] = {}
        about = {"format": _FORMAT, "rustrank": __version__, **about}
        if path is not None and path.exists() and path.stat().st_size:
            self._read(path, about)
        elif path is not None:
            replace_file(path, json.dumps(about) + "\n")

    def _read(self, path: Path, about: dict[str, Any]) -> None:
        text = path.read_text("utf-8")
        whole = text[: text.rfind("\n") + 1]
        try:
            head, *lines = [json.loads(line) for line in whole.splitlines()]
            self._known = {line["setting"]: line["values"] for line in lines}
            changed = [name for name in about if head.get(name) != about[name]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            message = f"{path} has no records of a tuning run ({error})"
            raise DataError(message, code="records", path=str(path)) from None
        for name in changed:
            message = (
                f"{path} has records of another tuning run: its {name} was {head.get(name)}, and is "
                f"{about[name]}; pass another file"
            )
            raise ParamError(message, code="records")
        if len(whole) < len(text):
            replace_file(path, whole)

    def get(self, setting: Mapping[str, Any]) -> NDArray[np.float64] | None:
        """Return the metric of each query for a setting, or None if it was not tried yet."""
        with self._lock:
            values = self._known.get(setting_key(setting))
        return None if values is None else np.array(values, np.float64)

    def put(self, setting: Mapping[str, Any], values: NDArray[np.float64]) -> None:
        """Record the values of a setting."""
        key = setting_key(setting)
        with self._lock:
            self._known[key] = values.tolist()
            if self._path is not None:
                self._append(self._path, json.dumps({"setting": key, "values": values.tolist()}))

    @staticmethod
    def _append(path: Path, line: str) -> None:
        """Append a line, all of it or nothing: another thread may go on after this one has failed."""
        before = path.stat().st_size
        try:
            with errors_name(path), path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            os.truncate(path, before)
            raise


def setting_key(setting: Mapping[str, Any]) -> str:
    """Return a setting as text that is the same in any process."""
    return json.dumps(
        {name: option_record(value) for name, value in setting.items()}, sort_keys=True
    )


class TrialEvaluator:
    """Fits a ranker with a setting, and evaluates it on a validation set or by cross-validation."""

    def __init__(self, options: Mapping[str, Any], num_threads: int) -> None:
        """Check the data and the metric; the threads are those of each fit."""
        self.options, self.ranker, valid = options, options["ranker"], options["valid"]
        arguments = DocArguments(*(options[name] for name in ("y", "qid", "group")))
        self.docs = as_raw_rows(options["docs"], "docs", arguments, takes_texts=True)
        like = self.docs.features("docs")
        more: Any = {"is_further": True, "takes_texts": True}
        self.valid = None if valid is None else as_raw_rows(valid, "valid", arguments, like, **more)
        own = self.ranker._evaluated_by()
        top = own["max_label"] if options["max_label"] is None else options["max_label"]
        self.judging = Judging(
            own["metrics"] if options["metric"] is None else text("metric", options["metric"]),
            own["gain"] if options["gain"] is None else options["gain"],
            relevant_from=own["relevant_from"],
            max_label=top,
            num_threads=num_threads,
        )
        for one in (self.docs, self.evaluated):
            # Bad labels are named by their rows here, not by those of a fold.
            one.evaluate(np.zeros(len(one.y)), self.judging)
        if top is None:
            self.judging = self.judging.but(max_label=float(self.docs.y.max()))
        seed = whole("seed", options["seed"], 0, 2**31)
        #: The rows outside and inside each fold, where there is no validation set.
        self.folds = []
        if self.valid is None:
            numbers = QueryFolds(options["folds"], random_state=seed).fold_numbers(self.docs)[0]
            self.folds = list(self.docs.rows_of_folds(numbers, int(options["folds"])))

    @property
    def evaluated(self) -> RawRows:
        """The documents that settings are evaluated on."""
        return self.docs if self.valid is None else self.valid

    def stops_on_judged_queries(self, setting: Mapping[str, Any]) -> bool:
        """Return whether the queries that judge a setting also say how many rounds it has."""
        options = {**self.ranker.get_params(), **setting}
        stops = options.get("early_stopping") is not None or options.get("preset") == "auto"
        # Nets and `LambdaBoost` always keep the round that is best on a validation set.
        return self.valid is not None and (stops or isinstance(self.ranker, RawRanker))

    def value(self, per_query: NDArray[np.float64]) -> MetricValue:
        """Return the mean of the values of all queries."""
        name, ids = self.judging.metric, self.evaluated.query_ids
        return MetricValue(name, per_query, ids, None, self.judging.num_threads)

    def evaluate(self, setting: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the metric of each query with a setting."""
        if self.valid is not None:
            scores = self._scores(self.fitted(setting), self.valid)
        else:
            scores = np.empty(len(self.docs.y))
            for rows, held in self.folds:
                check_cancelled()
                ranker = self.fitted(setting, self.docs.take(rows))
                scores[held] = self._scores(ranker, self.docs.take(held))
        return first_value(self.evaluated.evaluate(scores, self.judging)).per_query

    def _scores(self, ranker: Ranker, docs: RawRows) -> NDArray[np.float64]:
        booster, threads = ranker.booster_, self.judging.num_threads
        qid = docs.query if booster._core.needs_queries else None
        return booster.predict(docs.table(), qid=qid, num_threads=threads)

    def fitted(
        self, setting: Mapping[str, Any], train: RawRows | None = None, n_jobs: int | None = None
    ) -> Ranker:
        """Return a ranker fitted to some documents, by default all and with the validation set."""
        options = {**setting, "n_jobs": n_jobs or self.judging.num_threads}
        valid = self.valid if train is None else None
        return fitted_again(self.ranker, train or self.docs, valid, **options)
