"""Errors about the rows and queries of a dataset, in the words of the caller's arrays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, ParamError
from rustrank.inputs.docs import JudgedDocs, is_dataset, judged_docs
from rustrank.inputs.queries import query_ids_in_errors
from rustrank.metrics.evaluation import Judging, judge, meant_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rustrank.data.dataset import Dataset

#: Errors about labels that only the loss refuses.
_OF_LABELS = ("label.large", "label.fraction")


@contextmanager
def errors_in_order_of_rows(
    docs: Dataset | JudgedDocs, options: Mapping[str, Any]
) -> Iterator[None]:
    """Let errors of training name the caller's query ids, and of several bad labels the first one.

    Training has its own order of documents, in which another label may be the first, and does not say
    of which set a label is, nor which validation set lacks further labels.
    """
    try:
        with query_ids_in_errors(docs.query_ids):
            yield
    except DataError as error:
        if error.code in _OF_LABELS and error.row is not None:
            metric = "err" if "max_label" in str(error) else "ndcg"
            judging = Judging(metric, options["gain"], max_label=options["max_label"])
            _evaluate_labels(docs, judging)
            for name, one in _valid_sets(options.get("valid")):
                try:
                    _evaluate_labels(one, judging)
                except DataError as of_valid:
                    of_valid.args = (f"{name}: {of_valid}",)
                    vars(of_valid)["_dataset"] = one
                    raise
        if error.code == "extra_labels":
            lacking = [
                name
                for name, one in _valid_sets(options.get("valid"))
                if not docs.extra_labels.keys() <= one.extra_labels.keys()
            ]
            error.args = (f"{lacking[0]}: {error}" if lacking else str(error),)
        raise
    except ParamError as error:
        if error.code == "metric.name" and is_dataset(docs):
            error.args = (f"{error}{meant_labels(str(error), docs.extra_labels)}",)
        raise


def is_of(error: DataError, dataset: object) -> bool:
    """Whether an error of training is about a row of this validation set."""
    return vars(error).get("_dataset") is dataset


def _valid_sets(valid: Any) -> list[tuple[str, Dataset | JudgedDocs]]:
    if isinstance(valid, Mapping):
        return [(f"valid[{name!r}]", one) for name, one in valid.items()]
    if isinstance(valid, (list, tuple)):
        return [(f"valid[{at}]", one) for at, one in enumerate(valid)]
    return [] if valid is None else [("valid", valid)]


def _evaluate_labels(docs: Dataset | JudgedDocs, judging: Judging) -> None:
    """Evaluate equal scores: this refuses the first bad label in the order of rows."""
    one = judged_docs(docs, {}) if is_dataset(docs) else docs
    assert isinstance(one, JudgedDocs)  # noqa: S101 - a Dataset was read just before
    judge(np.zeros(len(one.labels)), one.labels, (one.queries, one.query_ids), judging, None)
