"""Positional arguments that XGBoost takes with a warning."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def positional_too(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take keyword arguments by position, too, with a `FutureWarning` as in XGBoost.

    Parameters
    ----------
    *names : str
        The keyword arguments in the order of XGBoost; by default those of the function in its own order.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters.values()
        num_positional = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)
        order = names or tuple(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)

        @functools.wraps(function)
        def taking(*args: P.args, **given: P.kwargs) -> R:
            further = args[num_positional:]
            # What is too many or given twice is left to Python's own error.
            named = dict(zip(order, further, strict=False))
            if not further or len(further) > len(order) or named.keys() & given.keys():
                return function(*args, **given)
            message = f"Pass `{', '.join(named)}` as keyword args."
            warnings.warn(message, FutureWarning, stacklevel=2)
            return function(*args[:num_positional], **named, **given)  # type: ignore[arg-type]

        return taking

    return decorated
