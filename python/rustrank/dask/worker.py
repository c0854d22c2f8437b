"""What runs on the workers of a Dask cluster."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rustrank import partitions
from rustrank.errors import CommError
from rustrank.partitions.launching import errors_are_sent
from rustrank.partitions.placement import joined
from rustrank.training.rounds import IS_CANCELLED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rustrank.model.booster import Booster
    from rustrank.partitions.placement import Part
    from rustrank.training.rounds import Round

#: The ports that wait for a job, by the job and the worker: several may be threads of this process.
_PORTS: dict[tuple[str, str], partitions.TcpPort] = {}
#: The jobs that were cancelled, or may be.
_CANCELLED: dict[str, threading.Event] = {}


def open_port(job: str, dask_worker: Any) -> str:
    """Open a port for a job; return the address by which the other workers reach it."""
    address = urlsplit(dask_worker.address)
    host = "127.0.0.1" if address.scheme == "inproc" else address.hostname
    port = partitions.TcpPort(host or "127.0.0.1")
    _PORTS[job, dask_worker.address] = port
    _CANCELLED.setdefault(job, threading.Event())
    return port.address


def end(job: str, cancels: bool, dask_worker: Any) -> None:
    """Forget a job; with ``cancels`` its training ends, if it still runs."""
    _PORTS.pop((job, dask_worker.address), None)
    event = _CANCELLED.pop(job, None) if not cancels else _CANCELLED.get(job)
    if cancels and event is not None:
        event.set()


def work(
    job: Mapping[str, Any],
    rank: int,
    parts: Sequence[Part | None],
    valid: Mapping[str, Sequence[Part | None]],
    options: Mapping[str, Any],
) -> tuple[Booster, Booster] | None:
    """Train on the partitions of this worker; the first one returns the booster, and that of all rounds."""
    from distributed import get_worker

    worker = get_worker()
    port = _PORTS.pop((job["name"], worker.address), None)
    if port is None:
        raise CommError("the worker was started again, and its port is gone", code="comm.lost")
    token = IS_CANCELLED.set(_CANCELLED.setdefault(job["name"], threading.Event()).is_set)
    try:
        team = port.connect(rank, job["addresses"], job["token"], job["deadline"])
        own = dict(options)
        own["num_threads"] = own.get("num_threads") or worker.state.nthreads
        if rank == 0:
            own["callbacks"] = [_reporter(worker, job["name"])]
        with errors_are_sent(team):
            sets = {name: joined(several) for name, several in valid.items()}
            booster = partitions.train(joined(parts), team, valid=sets, **own)
    finally:
        IS_CANCELLED.reset(token)
    return (booster, booster.all_rounds) if rank == 0 else None


def _reporter(worker: Any, job: str) -> Any:
    """Return a call-back that sends the first value of each round to the client."""

    def report(latest: Round) -> None:
        values = [
            (f"{name} {metric}", float(value))
            for name, metrics in latest.values.items()
            for metric, value in metrics.items()
        ]
        worker.log_event(job, {"round": latest.number, "values": values[:1]})

    return report
