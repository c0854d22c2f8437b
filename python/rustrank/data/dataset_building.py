"""The arguments of the extension for building data sets: read options, bin options, and rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from rustrank import _rustrank
from rustrank.errors import DataError, ParamError, warn_caller, wrong_kind, wrong_value
from rustrank.inputs.categories import Categories, numbered_for, numbers_of
from rustrank.inputs.docs import QID
from rustrank.inputs.feature_names import check_joined_names, numbered_in
from rustrank.inputs.queries import as_queries, as_query_weight, query_ids_in_errors
from rustrank.inputs.scalars import flag, real, text, threads, whole
from rustrank.inputs.tables import (
    Table,
    check_different,
    check_same_names,
    columns_of,
    feature_names_in_errors,
    in_one_piece,
    named_columns,
)
from rustrank.inputs.vectors import (
    as_doubles,
    as_labels,
    as_scores,
    check_length,
    first_true,
    library,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset
    from rustrank.model.booster import Booster


#: The code of the warning of query ids that are a feature.
QUERY_COLUMN = "features.qid"
#: The attribute of a model with the value that counted as missing in its training set, besides NaN.
MISSING = "missing"


class ReadOptions:
    """How raw values are read: what is missing, what infinite values are, and the threads to use."""

    # Not a frozen dataclass, which takes longer to make: a model may score one row at a time.
    def __init__(self, missing: Any, infinite: Any, num_threads: Any) -> None:
        self.missing = None if missing is None else real("missing", missing)
        self.infinite = text("infinite", infinite)
        self.num_threads = threads(num_threads)


def missing_of(given: Any, like: Dataset | Booster | None, base: Booster | None) -> float:
    """Return the value that counts as missing: as given, or as in the dataset or model that is followed."""
    if given is not None:
        return real("missing", given)
    missing: float = getattr(base if like is None else like, "_missing", math.nan)
    return missing


def missing_note(missing: float) -> dict[str, str]:
    """Return the attribute for a value that counts as missing; none for NaN, which always does."""
    return {} if math.isnan(missing) else {MISSING: repr(float(missing))}


#: Options of binning: bins, sampled rows, ranks within queries, categorical features and their texts.
BinOptions: TypeAlias = tuple[
    int, int, bool | None, list[int], Mapping[int, list[str] | list[bool] | list[float]]
]


class LetorOptions:
    """The options of reading LETOR text, checked.

    ``num_threads`` are those of `read_table` and `inspect_letor`; data sets take theirs from `ReadOptions`.
    ``buffer_bytes`` is how much of the parsed values is kept until the bins of a data set are chosen.
    """

    progress: Callable[[int], object] | None = None
    #: The model whose scores become base scores, and whether they do so only where bins cannot score it.
    base: _rustrank.Booster | None = None
    base_if_needed = False

    def __init__(
        self,
        max_features: Any = 1 << 20,
        zero_based: Any = False,
        num_threads: Any = None,
        buffer_bytes: Any = None,
    ) -> None:
        self.max_features = whole("max_features", max_features, 1, 2**31)
        self.zero_based = flag("zero_based", zero_based)
        self.num_threads = threads(num_threads)
        kept = 1 << 30 if buffer_bytes is None else buffer_bytes
        self.buffer_bytes = whole("buffer_bytes", kept, 0)


class Rows:
    """What is known of rows besides their features, read and checked."""

    def __init__(
        self,
        num_rows: int,
        y: Any,
        qid: Any,
        group: Any,
        query_weight: Any = None,
        row_weight: Any = None,
        base_score: Any = None,
        position: Any = None,
        extra_labels: Mapping[str, Any] | None = None,
    ) -> None:
        self.labels = as_labels(y)
        check_length("y", len(self.labels), num_rows, "rows")
        self.queries, self.query_ids = as_queries(qid, group, num_rows)
        self.row_weight = None if row_weight is None else as_doubles(row_weight, "row_weight")
        self.query_weight = as_query_weight(query_weight, self.query_ids)
        self.base_score = None if base_score is None else as_scores(base_score, "base_score")
        self.position = None if position is None else _positions(position)
        extra = {} if extra_labels is None else extra_labels
        #: The further labels, with their names.
        self.extra_labels = [(name, as_labels(one, name)) for name, one in extra.items()]


def named_labels(X: Any, given: Any) -> tuple[Any, dict[str, Any]]:
    """Return a table without the columns that are further labels, and these labels by name."""
    labels = extra_labels_of(given)
    X, columns = named_columns(X, {_argument(name): one for name, one in labels.items()})
    return X, dict(zip(labels, columns.values(), strict=True))


def label_columns(given: Any) -> dict[str, str]:
    """Return the columns that are further labels, by what they are given as."""
    labels = extra_labels_of(given).items()
    return {_argument(name): one for name, one in labels if isinstance(one, str)}


def _argument(name: str) -> str:
    return f"extra_labels[{name!r}]"


def extra_labels_of(given: Any) -> dict[str, Any]:
    """Return further labels by name: columns of the table, by default those of that name, or values."""
    if given is None:
        return {}
    if isinstance(given, str):
        given = [given]
    if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        given = {name: name for name in given}
    if not isinstance(given, Mapping):
        raise wrong_kind("extra_labels", given, "a mapping from names to labels")
    for name in given:
        if not isinstance(name, str) or not name or set(name) & set("@: \t\n"):
            expected = "a name without spaces, '@' and ':', which metrics refer to"
            raise wrong_value("extra_labels", name, expected, "extra_labels")
        if name.partition("(")[0] in [one.partition("(")[0] for one in _rustrank.measures()]:
            raise wrong_value(
                "extra_labels", name, "another name: this is a metric", "extra_labels"
            )
    return dict(given)


def _positions(given: Any) -> NDArray[np.uint32]:
    """Return positions, whole numbers from 1; the extension checks the largest one."""
    places = as_doubles(given, "position")
    row = first_true(~((places >= 1) & (places < 2**32) & (places % 1 == 0)))
    if row is not None:
        message = f"position[{row}] = {places[row]:g}, expected a place: a whole number from 1"
        raise DataError(message, code="position", row=row)
    return places.astype(np.uint32)


def with_ranks(names: list[str]) -> list[str]:
    """Return the names of features followed by those of their ranks within queries."""
    return [*names, *(f"rank({name})" for name in names)]


def numbered_names(num_features: int, query_ranks: bool) -> list[str]:
    """Return default names of features: ``f0``, ``f1``, ..."""
    if query_ranks:
        return with_ranks(numbered_names(num_features // 2, query_ranks=False))
    return [f"f{i}" for i in range(num_features)]


def is_booster(value: Any) -> TypeGuard[Booster]:
    """Return whether a value is a `Booster`: known by the compiled model that it holds.

    The class itself is in a package above this one, since it scores and evaluates datasets.
    """
    return isinstance(getattr(value, "_core", None), _rustrank.Booster)


@dataclass(frozen=True)
class BaseIfNeeded:
    """A base whose scores become base scores only if the bins are not enough to score it.

    Given to `Dataset.from_letor` and `Dataset.from_batches` as their ``base`` where bins are not known
    before: by workers and by the command line, whose users have no `Dataset` in their hands. A base that
    was trained on the same bins then trains the same model as with a `Dataset` without base.
    """

    booster: Booster

    def for_bins(self, binning: _rustrank.Binning) -> Booster | None:
        """Return the base of a data set with these bins."""
        return None if self.booster._core.scores_bins(binning) else self.booster


#: How a model of another library is saved so that `Booster.load` reads it.
_SAVED = {
    "lightgbm": 'save_model("model.txt") of its Booster (booster_ of a ranker)',
    "xgboost": 'save_model("model.json")',
    "catboost": 'save_model("model.json", format="json")',
}


def wrong_base(name: str, given: Any, expected: str, *, takes_paths: bool = False) -> ParamError:
    """Return the error of what is no model to go on from; that of another library goes through a file."""
    if (saved := _SAVED.get(library(given))) is not None:
        then = "the path of the file" if takes_paths else "rr.Booster.load"
        expected = (
            f"{expected}; a model of another library goes through a file: {saved}, then {then}"
        )
    return wrong_kind(name, given, expected)


def base_of(given: Any, like: Any, *, has_scores: bool) -> Booster | None:
    """Return the booster whose scores become base scores."""
    if given is None:
        return None if has_scores else getattr(like, "_base", None)
    if not is_booster(given):
        raise wrong_base("base", given, "a Booster")
    if has_scores:
        message = "base and base_score: expected one of them, since a base has scores of its own"
        raise ParamError(message, code="base")
    return given


def check_base_names(
    base: Booster | None, names: list[str] | None, what: str = "the data set"
) -> None:
    """Raise `DataError` if a base scores other columns than a data set with these names, or in another order.

    The trees that are trained and those of the base become one model, which knows features by position.
    """
    if base is None:
        return
    hint = (
        "training goes on with the columns of the base in their order: give the data as "
        "frame[base.feature_names], or train without base= and combine the two by their scores"
    )
    check_joined_names(("base", raw_names(base)), (what, names), hint)


def base_of_text(given: Any, like: Any, text: LetorOptions) -> Booster | None:
    """Return the booster whose scores become base scores, and add it to the options of reading text."""
    text.base_if_needed = isinstance(given, BaseIfNeeded)
    base = base_of(given.booster if text.base_if_needed else given, like, has_scores=False)
    if base is not None:
        if base._core.category_lists():
            message = (
                "base: it has texts or columns of a categorical type, and LETOR text holds numbers"
            )
            raise ParamError(message, code="base")
        text.base = base._core
    return base


def base_of_batches(
    given: Any, like: Any, binning: _rustrank.Binning, *, has_scores: bool
) -> Booster | None:
    """Return the booster whose scores of rows, which come in batches, become base scores."""
    if isinstance(given, BaseIfNeeded):
        given = given.for_bins(binning)
    base = base_of(given, like, has_scores=has_scores)
    if base is not None and base._core.needs_queries:
        message = (
            "base: its scores depend on the other docs of the query, and batches may divide a query; "
            "make the Dataset from arrays or from LETOR text"
        )
        raise ParamError(message, code="base")
    return base


def scores_of(base: Booster, table: Table, reading: ReadOptions) -> list[NDArray[np.float64]]:
    """Return the scores of the blocks of a table, whose categories the model numbers in its own way."""
    own = numbered_for(base._core, table, reading.missing)
    return [base._core.score(block, reading) for block in own.blocks()]


def binning_of(like: Any) -> _rustrank.Binning | None:
    """Return the bins of a `Dataset` or a `Booster`; None for anything else."""
    if is_booster(like):
        return like._core.binning()
    core = getattr(like, "_core", None)
    return core.binning if isinstance(core, _rustrank.Dataset) else None


def known_categories(like: Any) -> Categories | None:
    """Return the categories of ``like``."""
    binning = binning_of(like)
    if binning is None:
        return None
    # A booster has bins for the features of its splits alone.
    core = like._core if is_booster(like) else binning
    return Categories(core.categorical(), core.category_lists())


def bins_of(
    like: Any,
    names: list[str] | None = None,
    max_bins: Any = None,
    sample_rows: Any = None,
    query_ranks: Any = None,
    categories: Categories | None = None,
    **more: Any,
) -> _rustrank.Binning | BinOptions:
    """Return the bins of ``like``, if it has the same features, or the options to choose bins."""
    ranks = None if query_ranks is None else flag("query_ranks", query_ranks)
    if like is None:
        most = 255 if max_bins is None else whole("max_bins", max_bins, 2, 255)
        rows = 65_536 if sample_rows is None else whole("sample_rows", sample_rows, 2, 2**30)
        own = categories or Categories(numbers_of(more.get("categorical"), names, None))
        return most, rows, ranks, own.features, own.lists
    binning = binning_of(like)
    if binning is None:
        raise wrong_kind("like", like, "a Dataset or a Booster")
    for name, value in {"max_bins": max_bins, "sample_rows": sample_rows, **more}.items():
        if value is not None:
            raise wrong_value(name, value, "none: the bins are those of `like`")
    check_names_like(names, like)
    if ranks not in (None, binning.query_ranks):
        expected = f"{binning.query_ranks}: the features are those of `like`"
        raise wrong_value("query_ranks", ranks, expected)
    return binning


def check_names_like(names: list[str] | None, like: Any) -> None:
    """Raise `DataError` if features have other names than those of ``like``, which may be None."""
    check_same_names(names, raw_names(like))


def raw_names(like: Any) -> list[str] | None:
    """Return the names of the raw features of a `Dataset` or a `Booster`, if it has names."""
    names: list[str] | None = getattr(like, "_names", None)
    return names and names[: len(names) // (2 if like.query_ranks else 1)]


def columns_like(table: Table, like: Any, names: list[str] | None, what: str = "X") -> Table:
    """Return a table with the columns of ``like``, matched by name unless names are given otherwise."""
    theirs = raw_names(like) if names is None else None
    if theirs is None and names is None and binning_of(like) is not None and table.names:
        num_raw = like.num_features // (2 if like.query_ranks else 1)
        if numbered_in(table.names, num_raw) is not None:
            return columns_of(table, (num_raw, None), what, "`like`")
    return table if theirs is None else columns_of(table, (len(theirs), theirs), what, "`like`")


def warn_of_query_column(names: list[str] | None, given: str) -> None:
    """Warn of a feature that is called as query ids are, which the caller gave otherwise."""
    if QID in (names or ()):
        warn_caller(
            f"the column {QID} of X is a feature, since {given}= says what the queries are: leave it out of X, or pass "
            f"{QID}={QID!r} to take the queries from it",
            QUERY_COLUMN,
        )


def binned_dataset(
    table: Table, rows: Rows, bins: _rustrank.Binning | BinOptions, reading: ReadOptions
) -> _rustrank.Dataset:
    """Bin a table, with bins that are given or chosen from its rows; errors name the ids of queries."""
    with query_ids_in_errors(rows.query_ids), feature_names_in_errors(table):
        return _binned(table, rows, bins, reading)


def _binned(
    table: Table, rows: Rows, bins: _rustrank.Binning | BinOptions, reading: ReadOptions
) -> _rustrank.Dataset:
    whole = table.whole()
    if whole is None and (bins[2] if isinstance(bins, tuple) else bins.query_ranks):
        whole = in_one_piece(table)
    if whole is not None:
        return _rustrank.Dataset.of_block(whole, rows, bins, reading)
    if isinstance(bins, tuple):
        bins, _ = sampled([table], bins, reading)
    builder = _rustrank.Builder(bins, table.num_rows, reading)
    for block in table.blocks():
        builder.push(block)
    return builder.finish(rows)


def checked_names(given: list[str] | None, table: Table) -> list[str] | None:
    """Return the given names, or those of the table."""
    names = given if given is not None else table.names
    if names is not None:
        check_length("feature_names", len(names), table.num_features, "features")
        check_different(names)
    return names


def sampled(
    tables: Iterable[Table], options: BinOptions, reading: ReadOptions
) -> tuple[_rustrank.Binning, int]:
    """Choose bins in a pass over at least one table; returns them and a hash of the content."""
    sampler = None
    for table in tables:
        sampler = sampler or _rustrank.Sampler(table.num_features, options, reading)
        for block in table.blocks():
            sampler.push(block)
    assert sampler is not None  # noqa: S101 - a source without batches is an error before
    content = sampler.content
    return sampler.choose(), content
