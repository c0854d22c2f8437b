"""Models of XGBoost with rounds after the best one, which XGBoost's ranker does not predict by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rustrank.errors import warn_caller
from rustrank.formatting import count
from rustrank.inputs.attributes import WHOLE, positive_of, read_attribute
from rustrank.inputs.files import errors_name

if TYPE_CHECKING:
    from rustrank import _rustrank

#: The code of the warning, for `rustrank.errors.dropped_warnings`.
LATER_ROUNDS = "best_iteration"
#: What the text and the binary form of XGBoost's files start with, and no other file that has its notes.
_START = b"{"


def warn_of_later_rounds(core: _rustrank.Booster, name: str) -> None:
    """Warn of a model that has just been read from XGBoost's format, if XGBRanker predicts by fewer rounds."""
    notes = core.attributes()
    best = notes.get("xgboost.best_iteration", "")
    # A training of ours that went on from it has noted its own parameters.
    if not best.isdecimal() or "learning_rate" in notes:
        return
    trees = read_attribute(notes, "num_parallel_tree", positive_of, WHOLE, 1)
    first = 1 + read_attribute(notes, "xgboost.best_iteration", int, WHOLE, 0)
    if first * trees >= core.num_rounds:
        return
    rounds = count(core.num_rounds // trees, "round")
    warn_caller(
        f"{name} is a model of XGBoost with {rounds}, of which early stopping found number {first:,} the best: "
        f"XGBRanker predicts by the rounds up to that one, xgboost.Booster and this Booster by all; "
        f"booster.truncate({first * trees}) has those of XGBRanker",
        LATER_ROUNDS,
    )


def may_be_theirs(path: str) -> bool:
    """Return whether a file that has been read as a model may have been in XGBoost's format; True of a pipe."""
    file = Path(path)
    if not file.is_file():
        return True
    with errors_name(file), file.open("rb") as opened:
        return opened.read(1) == _START
