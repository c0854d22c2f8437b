"""How workers reach each other: over TCP, or by a communicator of the caller's."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Protocol

from rustrank import _rustrank
from rustrank.errors import ParamKindError, wrong_kind
from rustrank.inputs.scalars import real, text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The bytes of a token.
_TOKEN = 32


class Communicator(Protocol):
    """What workers need of each other: an object with these attributes and methods.

    All workers call the same methods in the same order, with values of the same length but for `allgather`. A method
    returns when all have called it, and raises rather than wait for ever: `TimeoutError` if a worker does not
    answer, and any other exception if it is gone. Each is called by one thread at a time, without Python's main thread.

    Attributes
    ----------
    rank : int
        The number of this worker, from 0.
    size : int
        The number of workers.
    """

    rank: int
    size: int

    def sum_i64(self, values: memoryview) -> None:
        """Replace each 64-bit integer by the sum over all workers, modulo 2**64.

        The view is of bytes, and ends with the call: nothing may keep it.
        """

    def max_f64(self, values: memoryview) -> None:
        """Replace each double by the largest of all workers."""

    def allgather(self, own: bytes) -> list[bytes]:
        """Return the bytes of each worker, by rank; their lengths may differ."""


def team_of(communicator: Communicator) -> _rustrank.Team:
    """Return the team of a communicator, for `train`.

    Messages are checked: a worker that skips one, another version or damaged bytes end in a `CommError`
    on all workers.
    """
    for name in ("rank", "size", "sum_i64", "max_f64", "allgather"):
        if not hasattr(communicator, name):
            raise wrong_kind(
                "communicator", communicator, f"a Communicator: it has no {name}", "communicator"
            )
    return _rustrank.Team(communicator)


def new_token() -> bytes:
    """Return a new secret for the workers of one job, which each of them passes to `TcpPort.connect`."""
    return secrets.token_bytes(_TOKEN)


class TcpPort:
    """A port on which a worker waits for the others, before it knows where they are.

    Every worker opens one, learns the addresses of all in the order of their ranks from whoever has started it,
    and connects. Messages are not encrypted: workers belong in a trusted network. The token keeps strangers and other
    jobs out.

    Parameters
    ----------
    host : str
        The address of this machine by which the other workers reach it.
    port : int, default 0
        The port; 0 takes a free one.
    listen : str, optional
        Where to listen, if not on all addresses of the machine.

    Attributes
    ----------
    address : str
        The host and the port, for the other workers.

    Raises
    ------
    CommError
        The port is not free.
    """

    def __init__(self, host: str, port: int = 0, *, listen: str | None = None) -> None:
        where = text("host", host)
        on = ("::" if ":" in where else "0.0.0.0") if listen is None else text("listen", listen)  # noqa: S104 - trusted network
        self._listening = _rustrank.TcpListening(on, whole("port", port, 0, 65_535))
        number = self._listening.port
        self.address = f"[{where}]:{number}" if ":" in where else f"{where}:{number}"

    def connect(
        self, rank: int, addresses: Sequence[str], token: bytes, deadline: float = 300.0
    ) -> _rustrank.Team:
        """Connect this worker to all others, and return the team; the port is used up.

        Parameters
        ----------
        rank : int
            The number of this worker, from 0.
        addresses : sequence of str
            The addresses of all workers, by rank.
        token : bytes
            The secret of the job: 32 bytes, of `new_token`.
        deadline : float, default 300
            The seconds after which a worker that does not connect, or later does not answer, is lost.

        Raises
        ------
        CommTimeout
            A worker did not connect in time.
        CommError
            A worker belongs to another job or another version.
        """
        secret: Any = token
        if not isinstance(secret, bytes) or len(secret) != _TOKEN:
            raise ParamKindError(
                f"token: expected {_TOKEN} bytes, of rustrank.partitions.new_token()", code="token"
            )
        most = real("deadline", deadline)
        everybody = [text("addresses", one) for one in addresses]
        return self._listening.connect(
            whole("rank", rank, 0, len(everybody) - 1), everybody, secret, most
        )
