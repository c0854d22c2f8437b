"""The parameters of each kind of training, as the compiled half defines them.

A parameter is defined once, in Rust: its name, kind, range, default and documentation. From that come the
checks here, the signatures of estimators, the options of the command line and the reference page.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.inputs.scalars import choice

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from rustrank.errors import ParamError

#: What is called otherwise in estimators, as in scikit-learn.
RENAMED = {"n_estimators": "num_trees", "n_jobs": "num_threads", "random_state": "seed"}
#: The names in estimators of what is called otherwise there.
OF_ESTIMATORS = {ours: name for name, ours in RENAMED.items()}


_HUGE = 2**31
#: A sentence that is longer is cut where its first part ends.
_LONG = 120


@dataclass(frozen=True)
class Parameter:
    """What is known of a parameter.

    Attributes
    ----------
    name, group : str
        Its name, and what it is about.
    annotation : str
        Its type.
    kind : str
        What its text is read as: ``int``, ``float``, ``bool`` or ``str``; ``other``, which the compiled
        half reads; or ``foreign``, which is read here.
    is_optional : bool
        Whether it can be None.
    choices : sequence of str
        Its values, where these are names.
    range : mapping or None
        Its values, where these are numbers: ``low``, ``is_above`` (whether ``low`` is refused), ``high``.
    default : object
        Its value if nobody says otherwise.
    elsewhere : sequence of str
        What other libraries call it.
    doc : str
        What it does, in Markdown.
    """

    name: str
    group: str
    annotation: str
    kind: str
    is_optional: bool
    choices: Sequence[str]
    range: Mapping[str, Any] | None
    default: Any
    elsewhere: Sequence[str]
    doc: str

    @property
    def within(self) -> str:
        """Its range in words; empty where it has none."""
        if self.range is None:
            return ""
        low, high = self.range["low"], self.range["high"]
        least = f"{'above' if self.range['is_above'] else 'from'} {_shown(low)}"
        # The largest that the machine can hold is no bound that anyone meets.
        if high is None or high >= _HUGE:
            return least
        return f"{least}{', up' if self.range['is_above'] else ''} to {_shown(high)}"

    @property
    def summary(self) -> str:
        """The first sentence about it, cut where it is long, without Markdown."""
        first = re.split(r"(?<=[\w)`][.;])\s", self.doc, maxsplit=1)[0]
        if len(first) > _LONG:
            first = re.split(r":\s| \(", first, maxsplit=1)[0]
        return first.rstrip(".:;").replace("`", "")


def _shown(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_SCHEMA = json.loads(_rustrank.schema())
#: The parameters of `rustrank.train` (``train``), of nets (``net``), of `LambdaBoost` (``features``) and
#: of `Booster.refit` (``refit``), by name.
TRAININGS: dict[str, dict[str, Parameter]] = {
    training: {
        one["name"]: Parameter(**{**one, "default": _frozen(one["default"])}) for one in parameters
    }
    for training, parameters in _SCHEMA["trainings"].items()
}
#: Parameters of `rustrank.train` that go together, by the name of the preset.
PRESETS: dict[str, dict[str, Any]] = dict(_SCHEMA["presets"])
#: The same of nets.
NET_PRESETS: dict[str, dict[str, Any]] = {
    name: {option: _frozen(value) for option, value in values.items()}
    for name, values in _SCHEMA["net_presets"]
}
#: Defaults of other parameters that a value of ``step`` changes, by that value.
_STEPS: dict[str, dict[str, Any]] = dict(_SCHEMA["steps"])
OBJECTIVES = TRAININGS["train"]["objective"].choices


def with_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given and, for parameters that were not, what the preset and the step say."""
    if (name := given.get("preset")) is not None:
        choice("preset", name, PRESETS)
    return {**changed_defaults(given), **given}


def changed_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults that are others because of the preset and the step that were given."""
    preset, step = (
        value if isinstance(value, str) else "" for value in map(given.get, ("preset", "step"))
    )
    return {**PRESETS.get(preset, {}), **NET_PRESETS.get(preset, {}), **_STEPS.get(step, {})}


def checked(training: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a kind of training: those given, checked, and others' defaults."""
    return _rustrank.checked(training, {name: _unlimited(name, given[name]) for name in given})


def _unlimited(name: str, value: Any) -> Any:
    """Return None for -1, which says "no limit" in other libraries, where None says so here."""
    is_none = name in ("max_depth", "num_threads") and type(value) is int and value == -1
    return None if is_none else value


def as_named(error: ParamError, names: Mapping[str, str]) -> ParamError:
    """Return an error about a parameter under the name that its caller knows it by."""
    for name, inner in names.items():
        if error.code == inner and (said := str(error)).startswith(inner):
            return type(error)(name + said.removeprefix(inner), code=name)
    return error


def signature_of(parameters: Mapping[str, Any]) -> inspect.Signature:
    """Return parameters with their defaults as the signature of a function that takes them by name."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, keyword, default=value) for name, value in parameters.items()]
    )


def options_of(
    training: str,
    taken: Iterable[str],
    renamed: Mapping[str, str] = RENAMED,
    left_out: Container[str] = ("objective",),
) -> dict[str, Any]:
    """Return the options of an estimator with their defaults: its names for those of a training.

    Of the groups that are ``left_out``, only those are its options that are ``taken``.
    """
    names, taken = {inner: name for name, inner in renamed.items()}, set(taken)
    return {
        names.get(one.name, one.name): one.default
        for one in TRAININGS[training].values()
        if one.group not in left_out or one.name in taken
    }
