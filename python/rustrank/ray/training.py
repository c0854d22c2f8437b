"""Training on a Ray cluster, from the driver."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import partitions
from rustrank.errors import CommError, DataError, ParamError, suggestion, wrong_kind
from rustrank.inputs.scalars import real, whole
from rustrank.partitions.launching import errors_are_sent, with_restarts
from rustrank.partitions.placement import divided, homes_of, joined, query_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rustrank.model.booster import Booster

#: The columns of documents besides the features, by the arguments that name them.
_COLUMNS = {"y": "label", "qid": "qid", "row_weight": "row_weight", "base_score": "base_score"}
#: The seconds that workers may take to end after one of them has failed.
_GRACE = 5.0


def train(
    dataset: Any,
    *,
    label: str = "label",
    qid: str = "qid",
    row_weight: str | None = None,
    base_score: str | None = None,
    features: Sequence[str] | None = None,
    valid: Any = None,
    num_workers: int = 2,
    threads_per_worker: int = 1,
    deadline: float = 300.0,
    max_restarts: int = 0,
    **options: Any,
) -> Booster:
    """Train in actors of a Ray cluster on a dataset of Ray Data.

    The model is that of `rustrank.train` with all rows on one machine, to the byte.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Documents: columns of features, labels and queries. Blocks may cut queries; their rows are brought together.
    label, qid : str
        The columns of labels and of queries.
    row_weight, base_score : str, optional
        The columns of factors on gradients, and of scores to start from.
    features : sequence of str, optional
        The columns of features, by default all others.
    valid : ray.data.Dataset or mapping, optional
        A validation set with the same columns, or several by their names.
    num_workers : int, default 2
        How many actors train together.
    threads_per_worker : int, default 1
        The cores of each.
    deadline : float, default 300
        The seconds after which a worker that does not answer is lost.
    max_restarts : int, default 0
        How often training starts again when a worker was lost: from ``checkpoint``, if that is a path which all
        nodes see, or else from the beginning.
    **options
        As for `rustrank.partitions.train`.

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
    if options.get("callbacks") is not None:
        raise ParamError(
            "callbacks: got some, expected none: workers are other processes", code="callbacks"
        )
    named = {"y": label, "qid": qid, "row_weight": row_weight, "base_score": base_score}
    columns = {argument: one for argument, one in named.items() if one is not None}
    sets = {"": dataset, **_sets(valid)}
    count = whole("num_workers", num_workers, 1, 65_536)
    threads = whole("threads_per_worker", threads_per_worker, 1, 1024)
    restarts = whole("max_restarts", max_restarts, 0, 2**31)
    wait = real("deadline", deadline)

    def run(given: dict[str, Any]) -> Booster:
        parts = {name: _parts(name, one, columns, features, count) for name, one in sets.items()}
        return _run(parts, count, threads, wait, {"num_threads": threads, **given})

    return with_restarts(run, restarts, options)


def _sets(valid: Any) -> dict[str, Any]:
    if valid is None:
        return {}
    if isinstance(valid, Mapping):
        return {str(name): one for name, one in valid.items()}
    return {"valid": valid}


def _parts(
    name: str, dataset: Any, columns: Mapping[str, str], features: Any, count: int
) -> list[list[Any]]:
    """Return references to the partitions of each worker, of which no two share a query."""
    import ray

    what = f"valid[{name!r}]" if name else "dataset"
    if not hasattr(dataset, "to_pandas_refs"):
        raise wrong_kind(what, dataset, "a ray.data.Dataset", "dataset")
    whole_set = dataset.materialize()
    schema = whole_set.schema()
    known = [] if schema is None else list(schema.names)
    wanted = [*columns.values(), *(features or ())]
    for column in wanted:
        if column not in known:
            near = suggestion(column, known)
            message = f"{what} has no column {column!r}, expected one of {known}{near}"
            raise DataError(message, code="column")
    kept = (
        [one for one in known if one not in columns.values()]
        if features is None
        else list(features)
    )
    made = ray.remote(_part)
    blocks = [made.remote(one, kept, dict(columns)) for one in whole_set.to_pandas_refs()]
    counts = ray.get([ray.remote(query_counts).remote(block) for block in blocks])
    pieces: list[list[Any]] = [[] for _ in blocks]
    for number, (block, away) in enumerate(zip(blocks, homes_of(counts), strict=True)):
        if not away:
            pieces[number].append(block)
            continue
        several = ray.remote(divided).remote(block, away, number)
        for target in {number, *away.values()}:
            pieces[target].append(ray.remote(_taken).remote(several, target))
    rows = [sum(found.values()) for found in counts]
    workers: list[list[Any]] = [[] for _ in range(count)]
    loads = np.zeros(count)
    for number in sorted(range(len(blocks)), key=lambda one: -rows[one]):
        least = int(np.argmin(loads))
        workers[least] += pieces[number]
        loads[least] += rows[number]
    return workers


def _part(frame: Any, features: list[str], columns: dict[str, str]) -> dict[str, Any]:
    """Return the documents of a block."""
    return {"X": frame[features], **{name: frame[one] for name, one in columns.items()}}


def _taken(several: Mapping[int, Any], target: int) -> Any:
    return several.get(target)


class _Worker:
    """An actor that trains."""

    def __init__(self) -> None:
        import ray

        self._port = partitions.TcpPort(ray.util.get_node_ip_address())

    def address(self) -> str:
        return self._port.address

    def work(
        self,
        job: Mapping[str, Any],
        rank: int,
        parts: list[Any],
        valid: Mapping[str, list[Any]],
        options: Mapping[str, Any],
    ) -> tuple[Booster, Booster] | None:
        import ray

        team = self._port.connect(rank, job["addresses"], job["token"], job["deadline"])
        with errors_are_sent(team):
            sets = {name: joined(ray.get(several)) for name, several in valid.items()}
            part = joined(ray.get(parts))
            booster = partitions.train(part, team, valid=sets, **options)
        return (booster, booster.all_rounds) if rank == 0 else None


def _run(
    parts: Mapping[str, list[list[Any]]],
    count: int,
    threads: int,
    deadline: float,
    options: Mapping[str, Any],
) -> Booster:
    """Train once."""
    import ray

    actor = ray.remote(_Worker).options(num_cpus=threads, scheduling_strategy="SPREAD")
    workers = [actor.remote() for _ in range(count)]
    try:
        job = {
            "addresses": ray.get([worker.address.remote() for worker in workers], timeout=deadline),
            "token": partitions.new_token(),
            "deadline": deadline,
        }
        futures = [
            worker.work.remote(
                job,
                rank,
                parts[""][rank],
                {name: several[rank] for name, several in parts.items() if name},
                options,
            )
            for rank, worker in enumerate(workers)
        ]
        booster: Booster
        booster, whole_booster = _results(futures)[0]
    except ray.exceptions.GetTimeoutError:
        message = f"{count} actors of {threads} cores did not start within {deadline:g} s"
        raise CommError(message, code="comm.timeout") from None
    finally:
        for worker in workers:
            with contextlib.suppress(Exception):
                ray.kill(worker)
    booster._all = None if whole_booster is booster else whole_booster
    return booster


def _results(futures: list[Any]) -> list[Any]:
    """Wait for all workers; raise the error of one that has failed, or that one is lost."""
    import ray

    left = list(futures)
    errors: list[Any] = []
    while left:
        done, left = ray.wait(left, timeout=_GRACE if errors else None)
        if not done:
            break
        for future in done:
            try:
                ray.get(future)
            except ray.exceptions.RayTaskError as error:
                errors.append(error.cause)
            except ray.exceptions.RayError as error:
                errors.append(CommError(f"a worker was lost: {error}", code="comm.lost"))
    own = [error for error in errors if not isinstance(error, CommError)]
    if own:
        raise own[0]
    lost = [error for error in errors if "was lost" in str(error)]
    if errors:
        raise (lost or errors)[0]
    return ray.get(futures)  # type: ignore[no-any-return]
