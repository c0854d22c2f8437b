"""Makes a case that fails smaller: settings left out, fewer queries, features and rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from same_results.cases import NEEDED
from same_results.forms import Form
from same_results.trainings import Setting
from same_results.variants import Difference, applies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from same_results.cases import Case

_SIZES = ("docs.queries", "docs.length", "docs.features", "train.num_trees", "docs.valid_queries")


def shrunk(difference: Difference, folder: Path) -> Difference:
    """Return the smallest case that is found to differ in the same variant."""
    best, goes_on = difference, True
    while goes_on:
        goes_on = False
        for smaller in _smaller(best):
            what = _difference(smaller, folder)
            if what is not None:
                best, goes_on = replace(smaller, what=what), True
                break
    return best


def _difference(tried: Difference, folder: Path) -> str | None:
    """Return how a case differs now; None where it does not, or is refused."""
    setting = Setting(tried.case, folder)
    try:
        plain = setting.trained(Form())
        if plain.error != tried.error or not applies(tried.variant, setting, plain):
            return None
        what = tried.variant.difference(setting, plain)
    except Exception:  # Smaller cases may have settings that no longer fit.
        return None
    kind = tried.what.partition(":")[0]
    return what if what is not None and what.partition(":")[0] == kind else None


def _smaller(difference: Difference) -> Iterator[Difference]:
    case, variant = difference.case, difference.variant
    for name in _SIZES:
        size = case.get(name, 1)
        for less in dict.fromkeys((size // 4, size // 2, size - 1)):
            if less >= 1:
                yield replace(difference, case=_having(case, name, less))
    for name in case.settings:
        if name not in NEEDED:
            yield replace(difference, case=case.without(name))
    simple = Form(seed=variant.form.seed)
    for changed in (
        replace(variant, form=replace(variant.form, form="doubles")),
        replace(variant, form=replace(variant.form, order="given")),
        replace(variant, form=simple),
        replace(variant, then=simple),
        replace(variant, threads=2),
    ):
        if changed != variant:
            yield replace(difference, variant=changed)


def _having(case: Case, name: str, value: int) -> Case:
    return replace(case, settings={**case.settings, name: value})
