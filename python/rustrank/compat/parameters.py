"""Translation of another library's parameters: renamed, accepted because they change nothing, or refused."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rustrank.errors import ParamError, UnknownNameError, shown, suggestion, wrong_kind
from rustrank.inputs.scalars import real, whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


@dataclass
class Translation:
    """Parameters of another library as those of rustrank.

    Attributes
    ----------
    train : mapping
        Options of `rustrank.train`.
    dataset : mapping
        Options of `rustrank.Dataset`.
    other : mapping
        What the module itself does: metrics, early stopping, the number of rounds.
    names : mapping
        The caller's names of options of `rustrank.train` and `rustrank.Dataset`, for errors.
    """

    train: dict[str, Any] = field(default_factory=dict)
    dataset: dict[str, Any] = field(default_factory=dict)
    other: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fixed:
    """A parameter of which only some values are accepted: those that change nothing here."""

    values: tuple[Any, ...]
    hint: str


class Given:
    """The parameters that a caller gave, by their canonical names; each is taken once."""

    def __init__(
        self,
        params: Mapping[str, Any],
        aliases: Mapping[str, str],
        known: Iterable[str],
        arguments: Iterable[str] = (),
    ) -> None:
        """Resolve aliases, and refuse names that there are not, or that come twice.

        ``arguments`` are names beside the parameters that a misspelt name may mean.
        """
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        known = [*known, *aliases]
        for name, value in params.items():
            if name not in known:
                message = (
                    f"there is no parameter {name}{suggestion(str(name), [*known, *arguments])}"
                )
                raise UnknownNameError(message, code="param")
            canonical = aliases.get(name, name)
            if canonical in self.names and not _same(self.values[canonical], value):
                message = (
                    f"{name}: got {shown(value)}, and {self.names[canonical]} is another name of it"
                )
                raise ParamError(f"{message} with another value; pass one of them", code=name)
            self.names[canonical], self.values[canonical] = name, value

    def take(self, name: str, default: Any = None) -> Any:
        """Return a value and forget it."""
        return self.values.pop(name, default)

    def name(self, canonical: str) -> str:
        """Return the name that the caller used."""
        return self.names.get(canonical, canonical)

    def names_of(self, ours: Mapping[str, str]) -> dict[str, str]:
        """Return the caller's names of our options, given their canonical names."""
        return {option: self.name(canonical) for option, canonical in ours.items()}

    def refuse(self, canonical: str, value: Any, expected: str, hint: str = "") -> ParamError:
        """Return the error of a value that has no translation."""
        name = self.name(canonical)
        tail = f"; {hint}" if hint else ""
        return ParamError(f"{name}: got {shown(value)}, expected {expected}{tail}", code=name)

    def number(self, canonical: str, default: float, least: float | None = None) -> float:
        """Take a number, perhaps one from ``least`` on."""
        number = real(self.name(canonical), self.take(canonical, default))
        if least is not None and not number >= least:
            raise self.refuse(canonical, number, f"a number from {least:g} on")
        return number

    def count(self, canonical: str, default: int, least: int = 0) -> int:
        """Take a whole number; a float without a fraction is one, too."""
        value = self.take(canonical, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return whole(self.name(canonical), value, least)

    def flag(self, canonical: str, default: bool) -> bool:
        """Take True or False, also as 1 or 0 or text."""
        value = self.take(canonical, default)
        text = str(value).lower()
        if text in ("true", "1", "+"):
            return True
        if text in ("false", "0", "-"):
            return False
        raise wrong_kind(self.name(canonical), value, "True or False")

    def choice(self, canonical: str, default: str, known: Collection[str], hint: str = "") -> str:
        """Take one of some names."""
        value = self.take(canonical, default)
        if value not in known:
            raise self.refuse(canonical, value, " or ".join(map(repr, known)), hint)
        return str(value)

    def accept(self, names: Iterable[str]) -> None:
        """Take parameters that change nothing here, whatever their values."""
        for name in names:
            self.take(name)

    def hold(self, fixed: Mapping[str, Fixed]) -> None:
        """Take parameters of which only some values have a meaning here."""
        for name, rule in fixed.items():
            if name not in self.values:
                continue
            value = self.take(name)
            if not any(_same(value, one) for one in rule.values):
                expected = " or ".join(dict.fromkeys(shown(one) for one in rule.values))
                raise self.refuse(name, value, expected, rule.hint)


def _same(a: Any, b: Any) -> bool:
    """Whether two values of a parameter are equal; arrays are compared by their text."""
    if type(a) is not type(b) and isinstance(a, str) != isinstance(b, str):
        return False
    try:
        return bool(a == b)
    except (TypeError, ValueError):
        return repr(a) == repr(b)


def seed_of(name: str, value: Any) -> int:
    """Return the seed of a number, or of a numpy generator, which is drawn from."""
    if value is None:
        return 0
    for method in ("integers", "randint"):  # numpy's Generator, and its RandomState.
        if hasattr(value, method):
            return int(getattr(value, method)(2**31 - 1))
    return whole(name, value, 0, 2**63 - 1)


def seed_of_several(seeds: Sequence[int]) -> int:
    """Return one seed that changes with any of several."""
    seed = seeds[0]
    for other in seeds[1:]:
        seed = (seed * 1_000_003 + other + 1) % 2**63
    return seed


def threads_of(name: str, value: Any) -> int | None:
    """Return a number of threads; None for all cores, as for 0 and negative numbers there."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_kind(name, value, "a whole number") from None
    return number if number > 0 else None


def bins_of(given: Given, canonical: str, default: int) -> int:
    """Return the number of bins: one byte holds 255, and one more for missing values."""
    bins = given.count(canonical, default, 2)
    if bins > 256:
        raise given.refuse(canonical, bins, "2 to 255: the number of a bin is one byte")
    return min(bins, 255)
