"""Which columns of tables hold categories, and whether these are texts or numbers.

CSV does not say it: 7 may be a number, or a text that is another one than 007. What a model or a training set
was made of decides, so that a column has the same kind in every file, and in training and scoring.
"""

from __future__ import annotations

import importlib
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from rustrank.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rustrank.data.dataset import Dataset
    from rustrank.model.booster import Booster


class TextColumns(NamedTuple):
    """The features that are read as text: their names, and their numbers where they have no names."""

    features: frozenset[str | int] = frozenset()
    #: Those of them that are read as numbers all the same.
    numbers: frozenset[str | int] = frozenset()

    def among(self, names: Sequence[str]) -> list[str]:
        """Return the names of those features that are read as text."""
        return [
            name
            for at, name in enumerate(names)
            if {name, at} & self.features and not {name, at} & self.numbers
        ]


NO_TEXTS = TextColumns()


def declared(features: Iterable[str | int] | None, base: Booster | None = None) -> TextColumns:
    """Return the features of a training set that are texts.

    These are the declared categories, unless a base has numbers there, and the texts of the base.
    """
    own = frozenset(features or ())
    if base is None:
        return TextColumns(own)
    texts = texts_of_models([base]).features
    every: Iterable[str | int] = _raw_names(base) or range(base.num_raw_features)
    return TextColumns(own | texts, frozenset(every) - texts)


def texts_of_dataset(dataset: Dataset) -> TextColumns:
    """Return the features of a data set that are texts."""
    return TextColumns(frozenset(_texts_of(dataset, dataset._core.binning.category_lists())))


def texts_of_models(models: Iterable[Booster]) -> TextColumns:
    """Return the features that are texts in some of these models."""
    lists = ((model, model._core.category_lists()) for model in models)
    return TextColumns(frozenset(chain.from_iterable(starmap(_texts_of, lists))))


def _texts_of(of: Dataset | Booster, lists: Mapping[int, Sequence[Any]]) -> Sequence[str | int]:
    """Return the names of the features whose categories are texts, or their numbers."""
    # Imported late: the help of commands needs no numpy.
    from rustrank.inputs.feature_names import features_of_text

    names, of_texts = _raw_names(of), features_of_text(lists)
    return of_texts if names is None else [names[at] for at in of_texts]


def as_models_take(table: Any, texts: Collection[str], models: Collection[Booster]) -> Any:
    """Return a table of features whose columns are of the kinds that models have them.

    A column that was read as text, and that the models know as numbers, becomes numbers if all of it is
    numbers.
    """
    kinds = [_kinds_in(model, table.column_names) for model in models]
    for at, name in enumerate(table.column_names):
        found = {kind[name] for kind in kinds if name in kind}
        if name in texts and len(found) > 1 and "text" in found:
            message = (
                f"column {shown(name)} holds texts in one model and numbers in another, and one table is read "
                "for all of them: give one model as a file of its scores (rustrank score MODEL DATA --out FILE)"
            )
            raise DataError(message, code="category", feature=name)
        column = given = table.column(name)
        if name in texts and found and "text" not in found:
            column = _as_numbers(column)
        if column is not given:
            table = table.set_column(at, name, column)
    return table


def _kinds_in(model: Booster, columns: Sequence[str]) -> dict[str, str]:
    """Return "text" or "number" for each column that is a feature of a model."""
    texts = set(_texts_of(model, model._core.category_lists()))
    names = _raw_names(model) or columns[: model.num_raw_features]
    return {name: "text" if {name, at} & texts else "number" for at, name in enumerate(names)}


def _as_numbers(column: Any) -> Any:
    """Return a column of text as numbers; as it is if some of it is no number."""
    arrow, compute = (importlib.import_module(one) for one in ("pyarrow", "pyarrow.compute"))
    try:
        return compute.utf8_trim_whitespace(column).cast(arrow.float64())
    except arrow.ArrowInvalid:
        return column


def _raw_names(of: Dataset | Booster) -> list[str] | None:
    """Return the names of raw features, if there are some."""
    # Imported late: the help of commands needs no numpy.
    from rustrank.data.dataset_building import raw_names

    return raw_names(of)
