"""A column of a categorical type: how rows that were read keep a column of pandas, polars or Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Values that are categories: texts and None, or numbers and NaN."""

    values: NDArray[Any]
    #: All categories, where their order is to be kept: as that of LightGBM.
    order: list[Any] | None = None
    #: Reads as that of other libraries.
    dtype: str = "category"

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> CategoryColumn:
        return CategoryColumn(self.values[rows], self.order)

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return self.values if dtype is None else self.values.astype(dtype)
