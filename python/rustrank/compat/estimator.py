"""What the rankers of both libraries have of scikit-learn's protocols, which is optional."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from rustrank.errors import unfitted

if TYPE_CHECKING:
    from typing_extensions import Self


class CompatRanker:
    """The base of rankers whose constructor takes named parameters, and others as keywords."""

    _booster: Any = None
    _others: dict[str, Any]

    @classmethod
    def _names(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        named = [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
        return named[1:]

    def _keep(self, given: dict[str, Any], others: dict[str, Any]) -> None:
        """Keep what the constructor was given."""
        for name in self._names():
            setattr(self, name, given[name])
        self._others = dict(others)
        for name, value in others.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return all parameters by name."""
        return {name: getattr(self, name) for name in (*self._names(), *self._others)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return the ranker."""
        for name, value in params.items():
            setattr(self, name, value)
            if name not in self._names():
                self._others[name] = value
        return self

    def _fitted(self) -> Any:
        if self._booster is None:
            raise unfitted(type(self).__name__)
        return self._booster

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the ranker is fitted."""
        return self._booster is not None

    def __sklearn_tags__(self) -> Any:
        """Return the accepted input: sparse and missing values, labels from 0."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="ranker",
            target_tags=TargetTags(required=True, positive_only=True),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    def __repr__(self) -> str:
        """Show the parameters that are not the defaults."""
        parameters = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in parameters or value is not parameters[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
