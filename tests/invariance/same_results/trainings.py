"""Trainings of a case, and what they end with: a model with its scores, or an error."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from rustrank import _rustrank
from rustrank.parameters.plan import train_options
from rustrank.training.train import trained
from same_results.cases import docs_of
from same_results.forms import Form, dataset, table
from same_results.thread_ranks import ThreadRanks, on_threads, own_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from same_results.cases import Case, Docs


class StoppedError(Exception):
    """A training was stopped here, to be resumed."""


@dataclass
class Outcome:
    """What a training ended with."""

    #: The kind of the error and its code.
    error: tuple[str, str | None] | None = None
    text: str = ""
    scores: bytes = b""
    history: dict[str, bytes] = field(default_factory=dict)
    best_round: int | None = None
    fingerprint: int | None = None
    booster: rr.Booster | None = None
    message: str = ""

    def difference(self, other: Outcome) -> str | None:
        """Return what differs first."""
        if self.error != other.error:
            return f"error: {self.error or 'none'} {self.message}\nand\n{other.error or 'none'} {other.message}"
        if (
            None not in (self.fingerprint, other.fingerprint)
            and self.fingerprint != other.fingerprint
        ):
            return f"fingerprint: {self.fingerprint}\nand\n{other.fingerprint}"
        if self.history != other.history:
            return f"history: {_shown(self.history)}\nand\n{_shown(other.history)}"
        if self.best_round != other.best_round:
            return f"best round: {self.best_round} and {other.best_round}"
        if self.text != other.text:
            lines = zip(self.text.splitlines(), other.text.splitlines(), strict=False)
            first = next((f"{a}\nand\n{b}" for a, b in lines if a != b), "its length")
            return f"text: {first}"
        return None if self.scores == other.scores else "scores"


def _shown(history: dict[str, bytes]) -> str:
    return "; ".join(f"{name} {np.frombuffer(values)}" for name, values in history.items())


def outcome(call: Callable[[], Outcome]) -> Outcome:
    """Return what a call returns, or its error, which must be one of rustrank's own."""
    try:
        return call()
    except rr.InternalError:
        raise
    except rr.RustrankError as error:
        return Outcome((type(error).__name__, error.code), message=str(error))


@dataclass
class Setting:
    """A case with its documents, and the base that all its trainings go on from."""

    case: Case
    folder: Path

    @functools.cached_property
    def docs(self) -> Docs:
        return docs_of(self.case)

    @functools.cached_property
    def valid(self) -> Docs | None:
        return docs_of(self.case, 2) if "docs.valid_queries" in self.case.settings else None

    @functools.cached_property
    def base(self) -> rr.Booster | None:
        kind = self.case.get("train.base")
        if kind is None:
            return None
        docs = docs_of(self.case, 3 if kind == "other" else 1)
        made = dataset(self.case, docs, Form(), self.folder)
        return rr.train(
            made, num_trees=3, num_leaves=4, min_leaf_docs=2, objective="regression", preset="plain"
        )

    def fits(self, form: Form) -> bool:
        """Whether all documents can be passed in a form."""
        sets = [self.docs] + ([] if self.valid is None else [self.valid])
        return all(form.fits(self.case, docs) for docs in sets)

    def sets(self, form: Form) -> tuple[rr.Dataset, rr.Dataset | None]:
        """Return the training set and the validation set in a form."""
        more: dict[str, Any] = {}
        if self.case.get("train.base") in ("other", "dataset"):
            more["base"] = self.base
        made = dataset(self.case, self.docs.taken(form.rows(self.docs)), form, self.folder, **more)
        if self.valid is None:
            return made, None
        valid = self.valid.taken(form.rows(self.valid))
        return made, dataset(self.case, valid, form, self.folder, like=made)

    def options(self, form: Form, train: Any, valid: Any, threads: int) -> dict[str, Any]:
        """Return the options of `rustrank.train` for these sets."""
        options = {
            "preset": "plain",
            "min_leaf_docs": 2,
            **self.case.of("train"),
            "num_threads": threads,
        }
        if options["objective"] == "function":
            options["objective"] = squares
        metric = options.get("metric")
        if metric == "function":
            options["metric"] = ["ndcg@10", largest_error]
        if options.get("early_stopping") == "smooth":
            options["early_stopping"] = rr.EarlyStopping(3, smooth=3)
        which = options.pop("valid", None)
        sets = {
            "valid": {"valid": valid},
            "train": {"train": train},
            "train and valid": {"train": train, "valid": valid},
        }
        if which is not None:
            options["valid"] = sets[which]
        if options.get("base") == "same":
            options["base"] = self.base
        elif "base" in options:
            del options["base"]
        if "preferences" in options:
            options["preferences"] = self._preferences(form)
        return options

    def _preferences(self, form: Form) -> NDArray[np.float64]:
        """Return pairs of docs of a query, by their rows in the order of a form."""
        random, count = self.case.random(9), len(self.docs.qid)
        better = random.integers(0, count, 3 * count)
        worse = np.clip(better + random.choice([-2, -1, 1, 2], 3 * count), 0, count - 1)
        pairs = (self.docs.qid[better] == self.docs.qid[worse]) & (better != worse)
        place = np.argsort(form.rows(self.docs))
        sure = random.choice([1.0, 0.8, 0.5], 3 * count)
        weight = random.choice([1.0, 0.3, 2.0], 3 * count)
        columns = [place[better], place[worse], sure, weight]
        return np.asarray(np.column_stack(columns)[pairs], np.float64)

    def _finished(self, booster: rr.Booster, train: rr.Dataset | None) -> Outcome:
        scores = booster.predict(self.docs.X, qid=self.docs.qid, num_threads=1)
        history = {
            # There are many NaNs, which all say that no query was judged.
            f"{name} {metric}": np.where(np.isnan(values), np.nan, values).tobytes()
            for name, metrics in (booster.history or {}).items()
            for metric, values in metrics.items()
        }
        fingerprint = None if train is None else train.fingerprint
        return Outcome(
            None,
            booster.to_text(),
            scores.tobytes(),
            history,
            booster.best_round,
            fingerprint,
            booster,
        )

    def trained(self, form: Form, threads: int = 2) -> Outcome:
        """Train on documents in a form."""

        def call() -> Outcome:
            train, valid = self.sets(form)
            return self._finished(
                rr.train(train, **self.options(form, train, valid, threads)), train
            )

        return outcome(call)

    def from_tables(self, form: Form, mode: str, threads: int) -> Outcome:
        """Train on tables themselves: a tuple of table, labels and ids, or a table with arguments beside it."""

        def given(docs: Docs) -> tuple[Any, Any, Any]:
            moved = docs.taken(form.rows(docs))
            named = form.form if form.form in ("polars", "arrow", "columns") else "pandas"
            return table(moved.X, named), moved.y, moved.qid

        def call() -> Outcome:
            train = given(self.docs)
            valid = None if self.valid is None else given(self.valid)
            options = self.options(form, train, valid, threads)
            if mode == "tuple":
                return self._finished(rr.train(train, **options), None)
            return self._finished(rr.train(train[0], y=train[1], qid=train[2], **options), None)

        return outcome(call)

    def resumed(self, first: Form, then: Form, at: int, threads: int) -> Outcome:
        """Train up to a round, and go on with documents in another form."""

        def stop(latest: rr.Round) -> None:
            if len(latest._trainer.history()) > at:
                raise StoppedError

        def call() -> Outcome:
            path = self.folder / "checkpoint.rrk"
            path.unlink(missing_ok=True)
            for form, callbacks in ((first, stop), (then, None)):
                train, valid = self.sets(form)
                options = self.options(form, train, valid, threads if callbacks else 2)
                more: dict[str, Any] = {"checkpoint": path, "resume": True, "callbacks": callbacks}
                try:
                    booster = rr.train(train, **options, **more)
                except StoppedError:
                    continue
            return self._finished(booster, train)

        return outcome(call)

    def in_two_halves(self, form: Form, at: int, threads: int) -> Outcome:
        """Train some rounds, and go on from the booster as a base."""

        def call() -> Outcome:
            train, valid = self.sets(form)
            options = self.options(form, train, valid, threads)
            rounds = options.pop("num_trees")
            half = rr.train(train, num_trees=at, **options)
            if half.num_rounds < at:
                return self._finished(half, train)
            try:
                made = rr.train(train, num_trees=rounds - at, base=half, **options)
            except rr.RustrankError as error:
                if not str(error).startswith("nothing can be learned"):
                    raise
                # Rounds without a split end a training, and a training of such rounds alone is refused.
                made = half
            return self._finished(made, train)

        return outcome(call)

    def by_workers(self, form: Form, size: int, mode: str, seed: int) -> Outcome:
        """Train with several workers, which are threads, each with some of the queries."""

        def call() -> Outcome:
            train, valid = self.sets(form)
            parts = [self._part(train, self.docs, rank, size, mode, seed) for rank in range(size)]
            valid_parts = [
                None if valid is None else self._part(train, self.valid, rank, size, mode, seed)  # type: ignore[arg-type]
                for rank in range(size)
            ]

            def work(ranks: ThreadRanks) -> Any:
                own, judged = parts[ranks.rank], valid_parts[ranks.rank]
                # Each has a pool of its own, since a thread that waits for others cannot work for them; the
                # pool of one thread is used by all.
                options = self.options(form, own, judged, 2 + ranks.rank)
                every = {**train_options(options), "mode": mode}
                # As `rustrank.train` has it.
                every["missing_is_unknown"] |= every["exportable"] == "lightgbm"
                return trained(own, every, _rustrank.Team(ranks))

            found = on_threads(size, work)
            if (error := own_error(found)) is not None:
                raise error
            texts = {one.to_text() for one in found}
            return (
                self._finished(found[0], None)
                if len(texts) == 1
                else Outcome(text="workers differ")
            )

        return outcome(call)

    def _part(
        self, whole: rr.Dataset, docs: Docs, rank: int, size: int, mode: str, seed: int
    ) -> rr.Dataset:
        rows = np.arange(len(docs.qid))
        if mode == "histogram":
            random = np.random.default_rng(seed)
            rows = random.permutation(rows)
            place = {
                query: int(random.integers(size)) for query in dict.fromkeys(docs.qid.tolist())
            }
            rows = rows[[place[query] == rank for query in docs.qid[rows].tolist()]]
        if not len(rows):
            # As a worker without shards has it.
            empty = _rustrank.Dataset.empty(whole._core.binning, whole._core.has_base_scores)
            ids, made = np.empty(0, np.int64), rr.Dataset.__new__(rr.Dataset)
            made._missing = whole._missing
            return made._finish(empty, whole._names, ids, base=whole._base, warns=False)
        return dataset(self.case, docs.taken(rows), Form(threads=1), self.folder, like=whole)


def squares(scores: Any, labels: Any, rows: Any) -> tuple[Any, Any]:
    """Return gradients of the squared error."""
    del rows
    return scores - labels, np.ones(len(labels))


def largest_error(scores: Any, labels: Any) -> float:
    """Return a metric that is no sum, so that the order of documents cannot matter to it."""
    return -float(np.abs(scores - labels).max())
