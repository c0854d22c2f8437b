"""What all tests share."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> Iterator[None]:
    """Let Ctrl-C work, here and in child processes, where a shell started us in the background.

    Such a shell has its jobs ignore SIGINT, and their children inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
