"""Whether another library's format can hold a model, known before it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import is_booster
from rustrank.errors import ParamError
from rustrank.formatting import some

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What messages call the formats; our own holds everything.
_FORMATS = {
    "lightgbm": "LightGBM's text",
    "xgboost": "XGBoost's JSON",
    "ranklib": "RankLib's XML",
    "onnx": "ONNX",
}
#: The objectives that give a document a score for each class.
_OF_CLASSES = ("mcrank", "mcrank_ordinal")
#: LightGBM's text has a bit for each category up to the largest.
_LARGEST_CATEGORY = 1_000_000


def check_exportable(dataset: Any, options: Mapping[str, Any]) -> None:
    """Raise `ParamError` if ``exportable`` names a format that cannot hold the model of a training.

    Parameters
    ----------
    dataset : Dataset or anything else
        The training set. Shards have neither categories nor ranks within queries.
    options : mapping
        All options of the training.
    """
    library = options["exportable"]
    if library not in _FORMATS:
        return
    reason = _of_options(options) or _of_data(dataset, library)
    if reason is not None:
        raise ParamError(
            f"exportable={library!r}: {_FORMATS[library]} cannot hold {reason}", code="exportable"
        )
    base = options["base"] or getattr(dataset, "_base", None)
    if is_booster(base):
        try:
            base._core.export(library, None)
        except ParamError as error:
            message = f"exportable={library!r}: the base is part of the model, and {error}"
            raise ParamError(message, code="exportable") from None


def _of_options(options: Mapping[str, Any]) -> str | None:
    objective = options["objective"]
    if objective in _OF_CLASSES:
        return f"the classes of objective={objective!r}; other objectives have one score for a doc"
    return None


def _of_data(dataset: Any, library: str) -> str | None:
    if not isinstance(dataset, Dataset):
        return None
    if dataset.query_ranks:
        return "ranks within queries; make the data set with query_ranks=False"
    features = dataset.categorical
    if not features:
        return None
    names = dataset.feature_names
    if library != "lightgbm":
        which = some([names[at] for at in features])
        return f"splits on categories ({which}); lightgbm holds them, or encode them as numbers"
    large = [names[at] for at in features if _largest(dataset, at) > _LARGEST_CATEGORY]
    if large:
        return f"categories above a million ({some(large)}); number them from 0"
    return None


def _largest(dataset: Dataset, feature: int) -> int:
    return max(dataset._core.binning.categories(feature) or [], default=0)
