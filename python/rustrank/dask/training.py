"""Training on a Dask cluster, from the client."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rustrank import partitions
from rustrank.dask import worker as on_worker
from rustrank.dask.collections import partitions_of, whole_queries
from rustrank.errors import CommError, ParamError, wrong_kind
from rustrank.formatting import number
from rustrank.inputs.scalars import flag, real, whole
from rustrank.partitions.launching import with_restarts
from rustrank.progress import progress_of_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Client, Future

    from rustrank.model.booster import Booster

#: How often the workers are looked at, and how long they may take to end after one has failed, in seconds.
_LOOK, _GRACE = 0.05, 10.0
#: The columns of documents besides the features.
_COLUMNS = ("y", "qid", "row_weight", "base_score")


def train(
    X: Any,
    y: Any,
    qid: Any,
    *,
    row_weight: Any = None,
    base_score: Any = None,
    valid: Any = None,
    client: Client | None = None,
    deadline: float = 300.0,
    max_restarts: int = 0,
    progress: bool = False,
    **options: Any,
) -> Booster:
    """Train on the workers of a Dask cluster that have the documents.

    The model is that of `rustrank.train` with all rows on one machine, to the byte.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Features. The partitions stay where they are, except for queries that several partitions share: their
        rows are brought to the one that has most of them.
    y, qid : dask Array or Series, or str
        Labels and the query of each row, with the partitions of ``X``; or names of columns of ``X``, which are then
        no features.
    row_weight, base_score : dask Array or Series, or str, optional
        As for `rustrank.Dataset`.
    valid : tuple or mapping, optional
        A validation set ``(X, y, qid)``, or several by their names; a mapping with these and ``row_weight``,
        ``base_score`` is a set, too.
    client : distributed.Client, optional
        The cluster; by default the current one.
    deadline : float, default 300
        The seconds after which a worker that does not answer is lost.
    max_restarts : int, default 0
        How often training starts again when a worker was lost: from the checkpoint, if ``checkpoint`` is a path
        that all workers see, or else from the beginning. Partitions that were on the worker are computed again.
    progress : bool, default False
        Whether to show a progress bar in this process; lines of text where standard error is no terminal.
    **options
        As for `rustrank.partitions.train`. ``num_threads`` are by default the threads of each worker.

    Returns
    -------
    Booster
        The model, in this process.

    Raises
    ------
    CommError
        A worker was lost.
    RustrankError
        An error of a worker.
    """
    for name in ("callbacks", "num_workers"):
        if options.get(name) is not None:
            raise ParamError(
                f"{name}: got some, expected none: workers are other processes", code=name
            )
    own = {"y": y, "qid": qid, "row_weight": row_weight, "base_score": base_score}
    sets = {"": (X, own)} | {name: _set_of(name, one) for name, one in _sets_by_name(valid).items()}
    cluster = _client(client)
    restarts = whole("max_restarts", max_restarts, 0, 2**31)
    shows = flag("progress", progress)
    job = _Job(cluster, sets, real("deadline", deadline), shows)
    return with_restarts(job.run, restarts, options)


def _client(client: Client | None) -> Client:
    from distributed import get_client

    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        message = (
            "client: there is none, expected a distributed.Client: make one before, or pass it"
        )
        raise ParamError(message, code="client") from None


def _sets_by_name(valid: Any) -> dict[str, Any]:
    if valid is None:
        return {}
    if isinstance(valid, Mapping) and "X" not in valid:
        return {str(name): one for name, one in valid.items()}
    return {"valid": valid}


def _set_of(name: str, given: Any) -> tuple[Any, dict[str, Any]]:
    """Return the features and the other columns of a validation set."""
    if isinstance(given, tuple) and len(given) == 3:
        given = dict(zip(("X", "y", "qid"), given, strict=True))
    if not isinstance(given, Mapping) or not {"X", "y", "qid"} <= set(given) <= {"X", *_COLUMNS}:
        raise wrong_kind(f"valid[{name!r}]", given, "(X, y, qid), or a mapping with these", "valid")
    return given["X"], {key: one for key, one in given.items() if key != "X"}


class _Job:
    """One training: its partitions, and the workers that have them."""

    def __init__(
        self,
        client: Client,
        sets: Mapping[str, tuple[Any, dict[str, Any]]],
        deadline: float,
        shows: bool,
    ) -> None:
        self.client, self.deadline = client, deadline
        self.shows = shows
        self.sets = {
            name: partitions_of(f"valid[{name!r}]" if name else "train", X, columns)
            for name, (X, columns) in sets.items()
        }

    def run(self, options: dict[str, Any]) -> Booster:
        """Train once."""
        from distributed import wait

        booster: Booster

        name = f"rustrank-{uuid.uuid4().hex}"
        sets = {}
        for key, delayed in self.sets.items():
            parts = self.client.compute(delayed)
            wait(parts)
            sets[key] = whole_queries(self.client, parts)
            wait(sets[key])
        _raise_failed([part for parts in sets.values() for part in parts])
        placed = {key: self._placed(parts) for key, parts in sets.items()}
        workers = sorted({address for one in placed.values() for address in one})
        try:
            ports = self.client.run(on_worker.open_port, name, workers=workers)
            about = {
                "name": name,
                "addresses": [ports[address] for address in workers],
                "token": partitions.new_token(),
                "deadline": self.deadline,
            }
            futures = [
                self.client.submit(
                    on_worker.work,
                    about,
                    rank,
                    placed[""].get(address, []),
                    {key: one.get(address, []) for key, one in placed.items() if key},
                    options,
                    workers=[address],
                    allow_other_workers=False,
                    pure=False,
                    retries=0,
                    priority=10,
                )
                for rank, address in enumerate(workers)
            ]
            with self._progress(name, int(options.get("num_trees", 100))):
                self._wait(futures, workers)
                booster, whole_booster = futures[0].result()
        except BaseException:
            self._end(name, workers, cancels=True)
            raise
        self._end(name, workers, cancels=False)
        booster._all = None if whole_booster is booster else whole_booster
        return booster

    def _placed(self, parts: list[Future]) -> dict[str, list[Future]]:
        """Return the partitions of each worker: where they are, but no worker has many more than its share."""
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"])
        holders = self.client.who_has(parts)
        most = -(-len(parts) // max(1, len(workers)))
        placed: dict[str, list[Future]] = {}
        for part in parts:
            has = [one for one in holders.get(part.key, ()) if len(placed.get(one, [])) < most]
            least = min(workers, key=lambda one: len(placed.get(one, [])))
            placed.setdefault(has[0] if has else least, []).append(part)
        return placed

    def _lost(self, workers: list[str]) -> list[str]:
        """Return the workers that the cluster has no more."""
        present = self.client.scheduler_info(n_workers=-1)["workers"]
        return [address for address in workers if address not in present]

    def _wait(self, futures: list[Future], workers: list[str]) -> None:
        """Wait until all workers have ended; raise the error of one that has failed or is lost."""
        failed_at = None
        while not all(future.done() for future in futures):
            time.sleep(_LOOK)
            lost = self._lost(workers)
            if failed_at is None and (lost or any(_has_failed(future) for future in futures)):
                failed_at = time.monotonic()
            # The task of a lost worker waits for ever: there is no other that may have it.
            left = [at for future, at in zip(futures, workers, strict=True) if not future.done()]
            is_late = failed_at is not None and time.monotonic() - failed_at > _GRACE
            if is_late or set(left) <= set(lost):
                break
        self._raise_error(futures, workers)

    def _raise_error(self, futures: list[Future], workers: list[str]) -> None:
        """Raise the error of the workers, if there is one: rather its own than that another one has left."""
        errors = [future.exception() for future in futures if future.status == "error"]
        own = [error for error in errors if not isinstance(error, CommError)]
        if own:
            raise own[0]
        lost = self._lost(workers)
        if lost or not all(future.done() for future in futures):
            named = f"the worker at {lost[0]} was lost" if lost else "a worker was lost or hangs"
            why = f" ({errors[0]})" if errors else ""
            raise CommError(f"{named}{why}", code="comm.lost")
        if errors:
            raise errors[0]

    def _end(self, name: str, workers: list[str], *, cancels: bool) -> None:
        """Have the workers forget the job."""
        with contextlib.suppress(Exception):
            present = self.client.scheduler_info(n_workers=-1)["workers"]
            left = [address for address in workers if address in present]
            self.client.run(on_worker.end, name, cancels, workers=left, on_error="ignore")

    @contextlib.contextmanager
    def _progress(self, name: str, total: int) -> Iterator[None]:
        """Show the rounds that the first worker tells of."""
        with progress_of_steps(total, "round", self.shows) as step:
            if not self.shows:
                yield
                return
            self.client.subscribe_topic(name, _shower(step))
            try:
                yield
            finally:
                self.client.unsubscribe_topic(name)


def _shower(step: Callable[..., object]) -> Callable[[Any], None]:
    def show(event: Any) -> None:
        _, told = event
        step(", ".join(f"{name} {number(value)}" for name, value in told["values"]))

    return show


def _has_failed(future: Future) -> bool:
    return future.status in ("error", "lost", "cancelled")


def _raise_failed(futures: list[Future]) -> None:
    """Raise the error of a partition that could not be computed."""
    for future in futures:
        if future.status == "error":
            raise future.exception()
