"""The same documents in another order and in another form: arrays, tables, batches, text."""

from __future__ import annotations

import gzip
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from same_results.cases import Case, Docs

ORDERS = ("given", "queries", "within", "any")
#: Forms of a table that hold every value.
TABLES = (
    "doubles",
    "floats",
    "fortran",
    "strided",
    "pandas",
    "polars",
    "arrow",
    "lists",
    "columns",
)
FORMS = (*TABLES, "sparse", "group", "batches", "parquet", "letor", "letor twice", "letor gzip")
#: Text has one column of labels and nothing else; it also has no missing values.
TEXT = ("letor", "letor twice", "letor gzip")


@dataclass(frozen=True)
class Form:
    """In which order documents are, in which form, and by how many threads they are read."""

    form: str = "doubles"
    order: str = "given"
    threads: int = 2
    seed: int = 0

    def fits(self, case: Case, docs: Docs) -> bool:
        """Whether documents can be passed in this form."""
        if self.form == "group":
            return self.order != "any"
        if self.form == "sparse":
            # A number that is not stored is 0, and -0.0 would be stored: both are equal.
            return bool(docs.X.shape[1])
        if self.form in TEXT:
            return self.order != "any" and _is_text(docs)
        if self.form in ("batches", "parquet"):
            # Both refuse them: ranks need whole queries.
            ranks = case.get("dataset.query_ranks")
            return not ranks and docs.position is None and docs.X.shape[1] > 0
        return True

    def rows(self, docs: Docs) -> NDArray[np.int64]:
        """Return the row of each document in this order."""
        random = np.random.default_rng(self.seed)
        count = len(docs.qid)
        if self.order == "any":
            return random.permutation(count)
        ids = np.array(list(dict.fromkeys(docs.qid.tolist())))
        place = dict(zip(ids.tolist(), range(len(ids)), strict=True))
        of_query = np.array([place[query] for query in docs.qid.tolist()])
        if self.order == "queries":
            return np.argsort(random.permutation(len(ids))[of_query], kind="stable")
        if self.order == "within":
            return np.lexsort((random.random(count), of_query))
        return np.arange(count)


def _is_text(docs: Docs) -> bool:
    others = (docs.row_weight, docs.base_score, docs.position, docs.extra, docs.query_weight)
    return all(one is None for one in others) and not bool(np.isnan(docs.X).any())


def names_of(docs: Docs) -> list[str]:
    """Return the names of features, which tables have and arrays are given."""
    return [f"f{at}" for at in range(docs.X.shape[1])]


def table(X: NDArray[np.float64], form: str) -> Any:
    """Return features in a form."""
    floats = X.astype(np.float32)
    names = [f"f{at}" for at in range(X.shape[1])]
    columns = dict(zip(names, floats.T.copy(), strict=True))
    if form == "pandas":
        return pd.DataFrame(columns)
    if form == "polars":
        return pl.DataFrame(columns)
    if form == "arrow":
        return pa.table(columns)
    if form == "columns":
        return columns
    if form == "lists":
        return X.tolist()
    if form == "sparse":
        return scipy.sparse.csr_matrix(floats)
    if form == "floats":
        return floats
    if form == "fortran":
        return np.asfortranarray(floats)
    if form == "strided":
        wide = np.zeros((len(X), 2 * X.shape[1] + 1))
        wide[:, ::2][:, : X.shape[1]] = X
        return wide[:, ::2][:, : X.shape[1]]
    return X


def dataset(case: Case, docs: Docs, form: Form, folder: Path, **more: Any) -> rr.Dataset:
    """Build a data set of documents, which are in the order of the form already."""
    options = {**case.of("dataset"), "num_threads": form.threads, **more}
    if "like" in more:
        options = {"num_threads": form.threads, **more}
    else:
        options["feature_names"] = names_of(docs)
    if "categorical" in options:
        known = [at for at in options["categorical"] if at < docs.X.shape[1]]
        options["categorical"] = known
    if form.form in TEXT:
        return _of_text(docs, form, folder, options)
    if form.form == "batches":
        return _of_batches(docs, form, options)
    if form.form == "parquet":
        return _of_parquet(docs, form, folder, options)
    given: dict[str, Any] = {"qid": docs.qid}
    if form.form == "group":
        changes = np.flatnonzero(np.diff(docs.qid, prepend=-1))
        given = {"group": np.diff(changes, append=len(docs.qid))}
    weight: Any = docs.query_weight
    if weight is not None and (form.form == "group" or form.seed % 2):
        # An array has the order of first appearance.
        weight = np.array([weight[query] for query in dict.fromkeys(docs.qid.tolist())])
    names = ("row_weight", "base_score", "position")
    given |= {name: getattr(docs, name) for name in names if getattr(docs, name) is not None}
    if docs.extra is not None:
        given["extra_labels"] = {"extra": docs.extra}
    return rr.Dataset(table(docs.X, form.form), docs.y, query_weight=weight, **given, **options)


def _of_batches(docs: Docs, form: Form, options: dict[str, Any]) -> rr.Dataset:
    random = np.random.default_rng(form.seed)
    most = (
        int(random.choice([1, 7, 64, 1000]))
        if len(docs.qid) < 500
        else int(random.choice([50, 999]))
    )
    cuts = [*range(0, len(docs.qid), most), len(docs.qid)]
    batches = []
    for start, end in itertools.pairwise(cuts):
        part = docs.taken(np.arange(start, end))
        batch: dict[str, Any] = {"X": part.X, "y": part.y, "qid": part.qid}
        if part.extra is not None:
            batch["X"] = pd.DataFrame(part.X, columns=names_of(docs)).assign(extra=part.extra)
        for name in ("row_weight", "base_score"):
            if getattr(part, name) is not None:
                batch[name] = getattr(part, name)
        batches.append(batch)
    extra: dict[str, Any] = {} if docs.extra is None else {"extra_labels": "extra"}
    return rr.Dataset.from_batches(batches, query_weight=docs.query_weight, **extra, **options)


def _of_parquet(docs: Docs, form: Form, folder: Path, options: dict[str, Any]) -> rr.Dataset:
    random = np.random.default_rng(form.seed)
    columns: dict[str, Any] = {f"f{at}": column for at, column in enumerate(docs.X.T)}
    columns |= {"label": docs.y, "qid": docs.qid}
    for name in ("row_weight", "base_score"):
        if getattr(docs, name) is not None:
            columns[name] = getattr(docs, name)
            options[name] = name
    if docs.extra is not None:
        columns["extra"] = docs.extra
        options["extra_labels"] = "extra"
    path = folder / f"{form.seed}.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=int(random.choice([10, 100, 5000])))
    options["batch_rows"] = int(random.choice([100, 65_536]))
    return rr.Dataset.from_parquet(path, query_weight=docs.query_weight, **options)


def write_text(docs: Docs, path: Path) -> None:
    """Write LETOR text that gives every number back."""
    rows = docs.X.astype(np.float32).tolist()
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
        for label, query, row in zip(docs.y.tolist(), docs.qid.tolist(), rows, strict=True):
            cells = " ".join(f"{at}:{value:.9g}" for at, value in enumerate(row, 1))
            file.write(f"{label:.9g} qid:{query} {cells}\n")


def _of_text(docs: Docs, form: Form, folder: Path, options: dict[str, Any]) -> rr.Dataset:
    path = folder / f"{form.seed}.txt{'.gz' if 'gzip' in form.form else ''}"
    write_text(docs, path)
    if form.form == "letor twice" and "like" not in options:
        options["buffer_bytes"] = 1000
    return rr.Dataset.from_letor(path, progress=False, **options)
