"""`Booster`: a trained model, which scores, evaluates and explains documents, and is saved as a file."""

from __future__ import annotations

import functools
import math
from contextlib import contextmanager
from os import fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.caller_errors import errors_in_order_of_rows
from rustrank.data.dataset import Dataset, as_dataset
from rustrank.data.dataset_building import MISSING, ReadOptions, missing_note, raw_names
from rustrank.data.ranked import as_booster_sees
from rustrank.errors import DataError, ParamError, shown, warn_caller, wrong_value
from rustrank.formatting import count, html_facts, number
from rustrank.inputs.attributes import read_attribute
from rustrank.inputs.categories import numbered_for
from rustrank.inputs.column_kinds import read_by_a_model
from rustrank.inputs.docs import QID, judged_docs
from rustrank.inputs.feature_names import check_joined_names
from rustrank.inputs.keywords import OF_PREDICT_OF_MODEL, refuses_unknown
from rustrank.inputs.queries import as_queries
from rustrank.inputs.scalars import decoded, real, text, whole
from rustrank.inputs.single_rows import as_rows
from rustrank.inputs.tables import (
    Table,
    as_block,
    as_table,
    columns_of,
    feature_names_in_errors,
    in_one_piece,
    labels_of,
    named_columns,
)
from rustrank.inputs.vectors import as_doubles
from rustrank.metrics.evaluation import Evaluation, Judging, judge_docs, warn_of_nothing
from rustrank.metrics.label_scale import scale_of, warn_of_other_scale
from rustrank.metrics.segments import as_segments
from rustrank.model._description import DescribedModel
from rustrank.model._importance import check_has_bins, importance_by_splits
from rustrank.model.best_iteration import may_be_theirs, warn_of_later_rounds
from rustrank.model.ranking import RankingModel
from rustrank.parameters.hints import check_objective, refuse_unknown
from rustrank.parameters.schema import TRAININGS, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["Booster"]

_NOT_REFITTED = (
    "only a model of trees alone, trained by rustrank, can be refitted: this one has trees of another library, a net, "
    "or parts with weights; train on from it instead, as from any model: make the Dataset with base= and train "
    "(init_model= in rustrank.compat.lightgbm); trees of another library are refitted by that library"
)


class Booster(RankingModel, DescribedModel):
    """A trained model: immutable, and safe to share between threads.

    `rustrank.train` makes one, `Booster.load` reads one. Two boosters are equal if
    their model files are. Pickling keeps the text of the model file, `history` and `best_round`, but not the later
    rounds of `all_rounds`; a copy is the booster itself, which nothing can change.

    Attributes
    ----------
    best_round : int or None
        With early stopping, the number of rounds with the best metric: the rounds of this booster.
        `all_rounds` has the later ones, too. Of a net, the epoch whose weights it has.
    history : mapping
        The value of each metric on each validation set after each round:
        ``history["valid"]["ndcg@10"][0]`` is that of the first. Not part of the model file.
    """

    best_round: int | None = None
    history: dict[str, dict[str, NDArray[np.float64]]]
    _all: Booster | None = None

    def __init__(self) -> None:
        raise TypeError("a Booster is made by rustrank.train or Booster.load")

    @classmethod
    def _of(cls, core: _rustrank.Booster) -> Booster:
        made = cls.__new__(cls)
        made._core = core
        made.history = {}
        return made

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Booster:
        """Read a model file and check it completely, or raise `ModelFormatError`.

        The file may be another library's: LightGBM's text, XGBoost's JSON or UBJSON, or CatBoost's
        JSON. Scores are that library's raw scores, by all rounds: a file of XGBoost with rounds after the best
        one of early stopping, by which ``XGBRanker.predict`` does not score, is a warning.
        """
        core = _rustrank.Booster.load(fspath(path))
        if may_be_theirs(fspath(path)):
            warn_of_later_rounds(core, fspath(path))
        return cls._of(core)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, atomically."""
        self._core.save(fspath(path))

    @classmethod
    def from_text(cls, text: str | bytes) -> Booster:
        """Read the text of a model file, of any library as `load` does; also the bytes of a text."""
        text = decoded("text", text)
        core = _rustrank.Booster.from_text(text)
        if text.lstrip().startswith("{"):
            warn_of_later_rounds(core, "the text")
        return cls._of(core)

    def to_text(self) -> str:
        """Return the text of the model file."""
        return self._core.to_text()

    def export(self, library: str, path: str | PathLike[str] | None = None) -> bytes:
        """Return the model in the file format of another library, with the same scores.

        A model that was read from XGBoost's file and has not been trained further keeps, in that format, what the
        file had beside the trees, such as ``best_iteration``; what `truncate` has cut off is left out.

        Parameters
        ----------
        library : {"lightgbm", "xgboost", "ranklib", "onnx", "rustrank"}
            LightGBM's text, XGBoost's JSON, RankLib's XML (where a missing value counts as 0), an
            ONNX tree ensemble, or our own text. What the format cannot hold is a `ParamError`;
            ``exportable`` of `rustrank.train` finds that out before training. XGBoost's JSON has hessians as
            covers, and no numbers of documents: SHAP values of a model read from it are weighted by hessians,
            and differ from those of `explain` here. In either library's file, leaves that no document came to, as
            symmetric trees have them, count as small ones instead, since SHAP values there are divided by these
            numbers: they differ a little from `explain` here.
        path : path-like, optional
            A file to write to, atomically.
        """
        made = self._core.export(text("library", library), path and fspath(path))
        if not math.isnan(self._missing) and library != "rustrank":
            warn_caller(
                f"the model reads {self._missing:g} as missing, which the format cannot say: replace it by NaN in "
                f"what {library} scores"
            )
        return made

    @property
    def all_rounds(self) -> Booster:
        """The booster with all trees, including those after the best round.

        Only available directly after training.
        """
        return self if self._all is None else self._all

    def truncate(self, num_trees: int) -> Booster:
        """Return a booster of the first trees (with McRank, of each class).

        With ``dropout`` in training, later rounds have rescaled these trees. The sum of several models
        (`rustrank.mix`, `Combiner.booster`) has no first trees: truncate the models, and mix what that
        returns. Where training went on from such a sum, the rounds of that training can be taken off.

        Parameters
        ----------
        num_trees : int
            How many, up to `num_rounds`.
        """
        least = self._least_rounds()
        if least is None or (least and isinstance(num_trees, int) and 0 <= num_trees < least):
            trained = f", or take {least:,} or more: those of the sum" if least else ""
            message = (
                f"num_trees: got {shown(num_trees)} for {self!r}, which is made of other models, so that its trees "
                "are not one sequence of rounds: truncate the models first, then mix, stack or calibrate "
                f"them{trained}"
            )
            raise ParamError(message, code="num_trees")
        most = whole("num_trees", num_trees, 0, self.num_rounds)
        return self if most == self.num_rounds else _changed(self._core.truncated(most))

    def _least_rounds(self) -> int | None:
        """Return the fewest rounds that `truncate` can leave; None if the model's trees are no sequence of rounds."""
        rounds, mixed = self.num_rounds, self._core.num_mixed_rounds
        has_none = not rounds and self.num_trees > 0
        return None if has_none or 0 < rounds == mixed else mixed

    @refuses_unknown(OF_PREDICT_OF_MODEL)
    def predict(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: Any = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the scores of documents; larger is more relevant.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_raw_features), or Dataset
            Raw features in any form that `Dataset` accepts; named columns are matched to `feature_names`,
            and others are left out. Or one row of them: an array of one dimension, a list, a mapping from
            names to values, or a Series of pandas whose index has the names, as ``frame.iloc[0]``. Or a dataset made ``like=`` the training set or
            this booster; its base scores are added. Models with a net, a linear part or trees of LightGBM have no bins:
            they score a dataset that was made with them as ``base=``.
        qid, group : array-like or str, optional
            The queries, as for `Dataset`; ``qid`` may name a column of X. Needed with raw features if
            scores depend on the other documents of the query, as with `query_ranks`; otherwise ignored.
        missing : float, optional
            A value that means "missing", besides NaN; by default that of the training set, if it had one.
        infinite : {"error", "missing"}, default "error"
            What infinite values are.
        num_threads : int, optional
            Threads to use; all cores by default. The scores do not depend on it.
        """
        reading = self._reading(missing, infinite, num_threads)
        if isinstance(X, Dataset):
            for name, given in {"qid": qid, "group": group}.items():
                if given is not None:
                    raise wrong_value(name, given, "none: a Dataset knows its queries")
            X = as_booster_sees(self, X)
            of_set, hint = ("X", raw_names(X)), "make the Dataset like= this booster"
            check_joined_names(("the model", raw_names(self)), of_set, hint)
            base = None if X._base is None else X._base._core
            return self._core.score_dataset(X._core, base, reading.num_threads)
        if isinstance(qid, str):
            X, columns = named_columns(X, {"qid": qid})
            qid = columns["qid"]
        if qid is not None or group is not None:
            block, queries = _of_queries(self._core, X, reading, (qid, group))
            return self._core.score(block, reading, queries)
        is_whole = _is_plain(X) and X.shape[1] == self._core.num_raw_features
        if is_whole and not self._core.categorical() and not self._core.category_lists():
            return self._core.score(X, reading)
        return _by_blocks(self._core, X, reading, lambda block: self._core.score(block, reading))

    def probabilities(
        self,
        X: Any,
        *,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the probability of each label for each document; McRank boosters only.

        Parameters
        ----------
        X, missing, infinite, num_threads
            As for `predict`, but raw features only.

        Returns
        -------
        array of shape (num_docs, num_classes)
            A column for each of `classes`. A row sums to 1, and the sum of gain times probability
            is the doc's score.
        """
        reading = self._reading(missing, infinite, num_threads)
        of_row = 0 if self.classes is None else len(self.classes)
        compute = self._core.probabilities
        return _by_blocks(self._core, X, reading, lambda block: compute(block, reading), of_row)

    def with_gain(self, gain: Any) -> Booster:
        """Return a McRank booster with other gains of the classes, and so other scores.

        Parameters
        ----------
        gain : sequence of float
            The gain of each of `classes`.
        """
        return _changed(self._core.with_gains(as_doubles(gain, "gain")))

    def calibrate(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        relevant_from: float = 1,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> Booster:
        """Return the booster with its score made a probability: that the doc is relevant.

        The function from score to probability never falls, so no two docs change places; where it is
        constant, docs are tied. Of all such functions it is the one with the least squared error on
        these docs (isotonic regression), which should be docs that the booster was not trained on.
        Calibrate last: training cannot go on from a calibrated booster.

        Parameters
        ----------
        X : array-like of shape (num_docs, num_raw_features), or Dataset
            Docs, as for `predict`.
        y : array-like of shape (num_docs,), optional
            Their labels. A Dataset has its own.
        qid, group, missing, infinite, num_threads
            As for `predict`.
        relevant_from : float, default 1
            The smallest label that counts as relevant. Without a doc on both sides of it every probability
            is 0, or 1, with a warning.

        Examples
        --------
        >>> import rustrank as rr
        >>> docs, held_out = (rr.datasets.make_polynomial(50, seed=seed) for seed in (0, 1))
        >>> booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=5)
        >>> calibrated = booster.calibrate(held_out.X, held_out.y, relevant_from=2)
        >>> p = calibrated.predict(held_out.X)
        >>> bool(0 <= p.min() and p.max() <= 1 and abs(p.mean() - (held_out.y >= 2).mean()) < 1e-9)
        True
        """
        if isinstance(X, Dataset) == (y is not None):
            hint = "a Dataset has its own" if y is not None else "only a Dataset has its own"
            raise wrong_value("y", y, f"the labels of X; {hint}")
        labels = X.labels if isinstance(X, Dataset) else y
        scores = self.predict(
            X, qid=qid, group=group, missing=missing, infinite=infinite, num_threads=num_threads
        )
        threshold = real("relevant_from", relevant_from)
        labels = as_doubles(labels, "y")
        core = _rustrank.calibrated(self._core, scores, labels, threshold)
        warn_of_one_probability(labels, threshold)
        if isinstance(X, Dataset) and X._base is None:
            # An error if the Dataset has base scores: they are no part of what was calibrated.
            core.score_dataset(as_booster_sees(self, X)._core, None, num_threads)
        for name, value in missing_note(self._missing).items():
            core = core.with_attribute(name, value)
        return _changed(core)

    def explain(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: Any = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the exact SHAP values of each feature for each document.

        They are path-dependent: an unknown feature takes both branches, weighted by the training
        documents that took them: those with a gradient in the round of the tree, as in `dump`. A model that was
        read from XGBoost's or CatBoost's format has no numbers of documents, and its covers weight them.

        Parameters
        ----------
        X, qid, group, missing, infinite, num_threads
            As for `predict`, but raw features only.

        Returns
        -------
        array of shape (num_docs, num_features + 1)
            A row sums to the score of the document, up to rounding. Ranks within queries are separate
            features. The last column is the expected score without any feature.
        """
        reading = self._reading(missing, infinite, num_threads)
        if isinstance(qid, str):
            X, columns = named_columns(X, {"qid": qid})
            qid = columns["qid"]
        if qid is not None or group is not None:
            whole_table, queries = _of_queries(self._core, X, reading, (qid, group))
            return self._core.explain(whole_table, reading, queries)
        compute, of_row = self._core.explain, self.num_features + 1
        return _by_blocks(self._core, X, reading, lambda block: compute(block, reading), of_row)

    def contrast(
        self, above: Any, below: Any, *, missing: float | None = None, infinite: str = "error"
    ) -> NDArray[np.float64]:
        """Return the contribution of each feature to the score difference of two documents.

        The values sum to the difference of the two scores, up to rounding. They are the Shapley
        values of going from the features of ``below`` to those of ``above``: a feature that the two
        share has 0, which a difference of `explain` would not promise.

        Parameters
        ----------
        above, below : array-like of shape (num_features,)
            The raw features of the two docs: each one row, as `predict` takes it, or a table of one row.
        missing, infinite
            As for `predict`.
        """
        reading = self._reading(missing, infinite, 1)
        tables = [
            _table(self._core, one, reading, name)
            for name, one in (("above", above), ("below", below))
        ]
        for name, table in zip(("above", "below"), tables, strict=True):
            if table.num_rows != 1:
                raise DataError(f"{name}: got {table.num_rows} rows, expected one", code="shape")
        pair = np.concatenate([in_one_piece(table) for table in tables])
        with feature_names_in_errors(tables[0]), read_by_a_model():
            return self._core.contrast(pair, reading)

    @functools.cached_property
    def _missing(self) -> float:
        """The value that counts as missing, besides NaN; NaN if there is none."""
        return read_attribute(self._core.attributes(), MISSING, float, "a number", math.nan)

    @functools.cached_property
    def _label_scale(self) -> dict[str, Any]:
        """What labels were worth in the metrics of its training, by option, where that was not the default."""
        return scale_of(self._core.attributes())

    def _reading(
        self, missing: float | None, infinite: str, num_threads: int | None
    ) -> ReadOptions:
        """Return how raw features are read, by default as those of the training set."""
        return ReadOptions(self._missing if missing is None else missing, infinite, num_threads)

    def _explain_numbers(
        self, cells: NDArray[np.float64], group: Any = None
    ) -> NDArray[np.float64]:
        """Return SHAP values of docs whose categories are numbered."""
        queries = None if group is None else as_queries(None, group, len(cells))[0]
        return self._core.explain(cells, self._reading(None, "error", None), queries)

    def _contrast_numbers(self, pair: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what `contrast` does, of two docs whose categories are numbered."""
        return self._core.contrast(pair, self._reading(None, "error", 1))

    def evaluate(
        self,
        dataset: Dataset,
        metrics: str | Sequence[str] = ("ndcg@10",),
        *,
        gain: Any = "exp2",
        ties: str = "expected",
        empty: str = "skip",
        relevant_from: float = 1,
        max_label: float | None = None,
        segments: Any = None,
        num_threads: int | None = None,
    ) -> Evaluation:
        """Return metrics of the booster's ranking of a dataset.

        Parameters
        ----------
        dataset : Dataset
            A dataset made ``like=`` the training set or this booster.
        metrics, gain, ties, empty, relevant_from, max_label, segments, num_threads
            As for `rustrank.evaluate`. Where the dataset has ``extra_labels``, ``revenue@10`` is NDCG@10 of
            those called ``revenue``, with linear gain, and ``revenue:err@10`` is another metric of them.
        """
        as_dataset(dataset, "dataset")
        judging = Judging(metrics, gain, ties, empty, relevant_from, max_label, num_threads)
        docs = judged_docs(dataset, {})
        warn_of_other_scale(self, judging, docs.labels)
        scores = self.predict(dataset, num_threads=num_threads)
        parts = as_segments(segments, docs.queries, docs.query_ids)
        result = judge_docs(scores, docs, judging)
        warn_of_nothing(result)
        return result.of_segments(parts)

    def reweigh(
        self,
        dataset: Dataset,
        metric: str = "ndcg@10",
        *,
        valid: Dataset | None = None,
        low: float = 0.0,
        high: float = 10.0,
        most_passes: int = 20,
        gain: Any = "exp2",
        relevant_from: float = 1,
        max_label: float | None = None,
        num_threads: int | None = None,
    ) -> Booster:
        """Return the booster with tree weights that maximise a metric.

        One weight at a time is set to its exact optimum, until no change improves the metric, which never
        falls on the dataset. A tree of weight 0 is dropped. The new booster's
        `history` has the metric before and after each pass over all trees.

        Parameters
        ----------
        dataset : Dataset
            One that was made ``like=`` the training set, or the training set itself.
        metric : str, default "ndcg@10"
            The metric to maximise.
        valid : Dataset, optional
            A held-out set: passes end when they no longer improve its metric.
        low, high : float, default 0 and 10
            The range of weights, relative to the current ones.
        most_passes : int, default 20
            The most passes.
        gain, relevant_from, max_label, num_threads
            As for `rustrank.evaluate`.

        Examples
        --------
        >>> import rustrank as rr
        >>> data = rr.datasets.make_polynomial(num_queries=50, seed=0)
        >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
        >>> booster = rr.train(train, num_trees=5, num_leaves=8)
        >>> better = booster.reweigh(train)
        >>> bool(better.evaluate(train)["ndcg@10"] > booster.evaluate(train)["ndcg@10"])
        True
        """
        name = text("metric", metric)
        judging = Judging(name, gain, "expected", "skip", relevant_from, max_label, num_threads)
        bounds = real("low", low), real("high", high), whole("most_passes", most_passes, 1, 2**31)
        core = as_booster_sees(self, as_dataset(dataset, "dataset"))._core
        other = None if valid is None else as_booster_sees(self, as_dataset(valid, "valid"))._core
        made, history, held_out = self._core.reweigh((core, other), judging, bounds)
        booster = _changed(made)
        booster.history = {"dataset": {name: np.array(history)}}
        if valid is not None:
            booster.history["valid"] = {name: np.array(held_out)}
        return booster

    def refit(
        self,
        dataset: Dataset,
        *,
        decay: float = 0.5,
        prior_docs: float = 0.0,
        learning_rate: float | None = None,
        l2: float = 0.0,
        objective: str = "lambdamart",
        metric: str = "ndcg@10",
        seed: int = 0,
        gain: Any = "exp2",
        max_label: float | None = None,
        num_threads: int | None = None,
        **of_objective: Any,
    ) -> Booster:
        """Return the booster with leaf values refitted to other documents; splits stay.

        Tree after tree, the value of a leaf becomes a weighted mean of its old value and the Newton step of
        its new documents. A leaf without documents keeps its value. Only models of trees that rustrank
        trained can be refitted; training goes on from any model, with `Dataset` ``(base=)``.

        Parameters
        ----------
        dataset : Dataset
            Documents of another market or time, made ``like=`` this booster or its training set.
        decay : float, default 0.5
            The weight of the old value, 0 to 1.
        prior_docs : float, default 0
            A number of documents that count for the old value: small leaves keep more of it.
        learning_rate : float, optional
            The learning rate of the Newton steps; by default that of the training.
        l2 : float, default 0
            Added to the hessians of a leaf.
        objective, metric, seed, gain, max_label, num_threads, **of_objective
            The loss, as for `rustrank.train`.

        Examples
        --------
        >>> import rustrank as rr
        >>> there, here = (rr.datasets.make_polynomial(50, seed=seed) for seed in (0, 1))
        >>> booster = rr.train(rr.Dataset(there.X, there.y, qid=there.qid), num_trees=5)
        >>> docs = rr.Dataset(here.X, here.y, qid=here.qid, like=booster)
        >>> adapted = booster.refit(docs, decay=0.2)
        >>> bool(adapted.evaluate(docs)["ndcg@10"] > booster.evaluate(docs)["ndcg@10"])
        True
        """
        schema, given = TRAININGS["refit"], {**locals(), **of_objective}
        core = as_booster_sees(self, as_dataset(dataset, "dataset"))._core
        losses = [name for name, one in schema.items() if one.group == "objective"]
        refuse_unknown(of_objective, [*losses, "relevant_from"])
        check_objective(objective)
        if learning_rate is None:
            default = schema["learning_rate"].default
            given["learning_rate"] = read_attribute(
                self.params, "learning_rate", float, "a number", default
            )
        del given["self"], given["dataset"], given["of_objective"]
        with errors_in_order_of_rows(dataset, given):
            try:
                return _changed(self._core.refit(core, checked("refit", given)))
            except DataError as error:
                if "can be refitted" in str(error):  # Other bins have the same code, `base`.
                    error.args = (_NOT_REFITTED,)
                raise

    def feature_importance(
        self,
        kind: str = "reduction",
        *,
        dataset: Dataset | None = None,
        metric: str = "ndcg@10",
        seed: int = 0,
        repeats: int = 1,
        gain: Any = "exp2",
        relevant_from: float = 1,
        max_label: float | None = None,
        num_threads: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the importance of each feature: a value for each of `feature_names`.

        Parameters
        ----------
        kind : {"reduction", "count", "permutation"}
            The total reduction of the loss by splits on the feature, over the documents with a gradient in
            the round of the tree, times the absolute weight of the tree's model in a mixture; the number of these
            splits, in models whose weight is not 0; or the loss
            in a metric on ``dataset`` when the values of the feature are shuffled among its documents.
            Splits need a model with trees; permutations one that scores a Dataset, which nets, `LambdaBoost`
            and models of other libraries do not: scikit-learn's ``permutation_importance`` works with any
            estimator.
        dataset, metric, seed
            For permutations: the data, the metric and the seed.
        repeats : int, default 1
            For permutations: how often each feature is shuffled; the loss is the mean over them.
        gain, relevant_from, max_label, num_threads
            As for `rustrank.evaluate`.
        """
        if kind in ("reduction", "count"):
            return importance_by_splits(self, kind)
        if kind != "permutation":
            ours = {
                "gain": "reduction",
                "total_gain": "reduction",
                "split": "count",
                "weight": "count",
            }
            kinds = "'reduction', 'count' or 'permutation'"
            if kind in ours:
                message = (
                    f"kind: got {kind!r}, which is called {ours[kind]!r} here; expected {kinds}"
                )
                raise ParamError(message, code="kind")
            raise wrong_value("kind", kind, kinds)
        check_has_bins(self)
        permuted = as_booster_sees(self, as_dataset(dataset, "dataset"))
        judging = Judging(
            text("metric", metric), gain, "expected", "skip", relevant_from, max_label, num_threads
        )
        drawn = whole("seed", seed, 0, 2**64 - 1)
        times = whole("repeats", repeats, 1, 2**32 - 1)
        return self._core.permutation_importance(permuted._core, judging, drawn, times)

    def _rounds_of_history(self) -> tuple[int, int]:
        """Return the number of rounds before those of the history, which are of a base, and of those in it."""
        every = self.all_rounds
        history = self.history or every.history
        lengths = [len(values) for metrics in history.values() for values in metrics.values()]
        recorded = max(lengths, default=every.num_rounds)
        return max(0, every.num_rounds - recorded), recorded

    def __repr__(self) -> str:
        """Summarise the model in one line."""
        return f"<Booster: {self._kind()}, {count(self.num_features, 'feature')}>"

    def _repr_html_(self) -> str:
        return html_facts("Booster", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """Return what notebooks show: of the model, and of its training where that is known."""
        facts = super()._facts()
        before, recorded = self._rounds_of_history()
        if self.best_round is not None:
            facts.append(("best round", f"{self.best_round:,} of {before + recorded:,}"))
        at = -1 if self.best_round is None else self.best_round - 1 - before
        for name, metrics in self.history.items():
            values = [
                f"{metric} {number(float(of[at]))}"
                for metric, of in metrics.items()
                if -1 <= at < len(of) and len(of)
            ]
            facts.append((name, ", ".join(values)))
        return [fact for fact in facts if fact[1]]

    def __eq__(self, other: object) -> bool:
        """Compare by the text of the model file, but for what was chosen from the data."""
        return isinstance(other, Booster) and self._text() == other._text()

    def __hash__(self) -> int:
        return hash(self._text())

    def _text(self) -> str:
        """Return the text without the note of what was chosen, which says how the options came about."""
        return self.to_text() if self.chosen is None else _changed(self._core).to_text()

    def __copy__(self) -> Booster:
        """Return the booster itself: nothing can change it."""
        return self

    def __deepcopy__(self, memo: object) -> Booster:
        """Return the booster itself: nothing can change it."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"history": self.history, "best_round": self.best_round}
        return Booster.from_text, (self.to_text(),), state


def warn_of_one_probability(labels: NDArray[np.float64], relevant_from: float) -> None:
    """Warn of labels that are all relevant, or none."""
    relevant = labels >= relevant_from
    if not relevant.any():
        warn_caller(
            f"relevant_from: no label is {relevant_from:g} or more, the largest is {labels.max():g}: no doc is "
            "relevant, and every probability is 0"
        )
    elif relevant.all():
        warn_caller(
            f"relevant_from: all labels are {relevant_from:g} or more, the smallest is {labels.min():g}: all docs are "
            "relevant, and every probability is 1"
        )


# Types that the extension reads directly.
_PLAIN = {np.dtype(np.float32).str, np.dtype(np.float64).str}


def _is_plain(X: Any) -> bool:
    """Whether the extension reads X directly: a shortcut that keeps scoring of single queries fast."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.str in _PLAIN and X.flags.c_contiguous


def _by_blocks(
    core: _rustrank.Booster,
    X: Any,
    reading: ReadOptions,
    compute: Callable[[Any], NDArray[np.float64]],
    *of_row: int,
) -> NDArray[np.float64]:
    """Return what is computed of raw features, block by block; a row's result has shape ``of_row``."""
    table = _table(core, X, reading)
    with feature_names_in_errors(table), read_by_a_model(), _naming_queries(X):
        parts = [compute(block) for block in table.blocks()]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, *of_row))


@contextmanager
def _naming_queries(X: Any) -> Iterator[None]:
    """Let the error of a model that needs queries name the column of X that has them."""
    try:
        yield
    except ParamError as error:
        if error.code == "score.queries" and QID in labels_of(X):
            error.args = (f'{error}; X has a column {QID}: pass qid="{QID}"',)
        raise


def _of_queries(
    core: _rustrank.Booster, X: Any, reading: ReadOptions, given: tuple[Any, Any]
) -> tuple[Any, Any]:
    """Return raw features in one piece, and their queries, given as ids or sizes."""
    table = _table(core, X, reading)
    queries, _ = as_queries(*given, table.num_rows)
    with read_by_a_model():
        return as_block(table), queries


def _table(core: _rustrank.Booster, X: Any, reading: ReadOptions, name: str = "X") -> Table:
    expected = core.num_raw_features, core.feature_names
    table = columns_of(as_table(as_rows(X)), expected, name, "the model")
    return numbered_for(core, table, reading.missing)


def _changed(core: _rustrank.Booster) -> Booster:
    """Return a booster that was made of another one, whose choice it is not."""
    return Booster._of(core)._with_choice(None)
