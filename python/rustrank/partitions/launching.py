"""What launchers on an engine share: errors of workers that others hear of, and starting again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rustrank.errors import CommError, warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rustrank import _rustrank
    from rustrank.model.booster import Booster


@contextmanager
def errors_are_sent(team: _rustrank.Team) -> Iterator[None]:
    """Tell the other workers of an error, and take off it what does not go to another process."""
    try:
        yield
    except BaseException as error:
        team.leave(str(error) or type(error).__name__)
        for name in ("booster", "_checkpoint", "_dataset"):
            vars(error).pop(name, None)
        raise


def with_restarts(
    run: Callable[[dict[str, Any]], Booster], most: int, options: dict[str, Any]
) -> Booster:
    """Train with some options; again from the checkpoint, if there is one, as often as a worker is lost."""
    for attempt in range(most):
        try:
            return run(options)
        except CommError as error:
            warn_caller(f"{error}: starting again ({attempt + 1} of {most})")
            options = {**options, "resume": options.get("checkpoint") is not None}
    return run(options)
