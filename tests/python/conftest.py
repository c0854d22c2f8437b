"""What all tests share."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from rustrank.data import dataset

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


@pytest.fixture(autouse=True, scope="module")
def _nothing_was_named() -> None:
    """Let the fixtures of each module see the warning of constant features, which a process shows once."""
    vars(dataset)["_NAMED"].clear()


@pytest.fixture(autouse=True)
def _nothing_was_named_before(_nothing_was_named: None) -> None:
    """Let each test see it, too."""
    vars(dataset)["_NAMED"].clear()
