"""Training of one model by workers that hold the documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.errors import DataError, ParamError
from rustrank.parameters.hints import refuse_unknown
from rustrank.parameters.plan import train_options
from rustrank.parameters.schema import TRAININGS
from rustrank.partitions.parts import PartsOfTraining, agreed, part_of, valid_part
from rustrank.training.exportable import check_exportable
from rustrank.training.train import trained

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank.model.booster import Booster

#: Options of a dataset, which all workers pass alike.
_OF_DATASET = (
    "feature_names", "max_bins", "sample_rows", "missing", "infinite", "categorical"
)  # fmt: skip
#: Options of `rustrank.train` that have no meaning here, and why.
_REFUSED = {
    "workers": "the workers are those that call this",
    "max_restarts": "whoever started the workers starts them again",
    "on_loss": "whoever started the workers starts them again",
    "overlap": "no two parts share a query",
    "preferences": "they are pairs of row numbers, and each part numbers its own",
}


def train(
    part: Any,
    team: _rustrank.Team,
    *,
    valid: Mapping[str, Any] | None = None,
    **options: Any,
) -> Booster:
    """Train together with the other workers of a team, each with its part of the queries.

    All workers call this at the same time, with the same options and the same names of validation sets. The
    model is that of one process with the documents of all, to the byte, whatever their order and however they are
    divided; each worker returns it.

    Parameters
    ----------
    part : tuple, mapping or None
        This worker's documents: ``(X, y, qid)``, or a mapping with these and perhaps ``query_weight``,
        ``row_weight``, ``base_score`` and ``position``, as for `Dataset`. None, or no rows, if it has none. A query
        belongs to one worker, whole.
    team : Team
        The workers, of `TcpPort.connect` or `team_of`.
    valid : mapping, optional
        Validation sets by name: this worker's part of each, as for ``part``.
    **options
        As for `rustrank.train`, with ``mode="histogram"`` or a selection, and for the training set those of
        `rustrank.Dataset`: ``feature_names``, ``max_bins``, ``sample_rows``, ``missing``, ``infinite`` and
        ``categorical``. The first worker writes checkpoints, and reads the one to resume from. Callbacks must do the
        same on all workers.

    Returns
    -------
    Booster
        The model.

    Raises
    ------
    DataError
        A query is in two parts, parts have other columns, or nothing can be learned.
    CommError
        A worker has failed, is lost, or has passed other options.
    """
    try:
        return _train(part, team, valid, options)
    except BaseException as error:
        # The others wait for this worker.
        team.leave(str(error) or type(error).__name__)
        raise


def _train(
    part: Any, team: _rustrank.Team, valid: Mapping[str, Any] | None, options: dict[str, Any]
) -> Booster:
    of_dataset = {name: options.pop(name) for name in _OF_DATASET if name in options}
    refuse_unknown(options, [one for one in TRAININGS["train"] if one not in _REFUSED])
    every = train_options(options)
    if every["mode"] == "features":
        message = "mode: got 'features', expected 'histogram' or a selection: each worker has its own docs"
        raise ParamError(message, code="mode")
    own, sets = part_of("part", part), _sets(team, valid)
    if every["exportable"] == "lightgbm":
        every["missing_is_unknown"] = True
    reading = {"num_threads": every["num_threads"]}
    dataset = PartsOfTraining(own, team, base=every["base"], **reading, **of_dataset).dataset()
    check_exportable(dataset, every)
    infinite = of_dataset.get("infinite", "error")
    every["valid"] = {
        name: valid_part(team, name, one, dataset, infinite) for name, one in sets.items()
    }
    found = _checkpoint(team, every)
    return trained(dataset, every, team, found)


def _sets(team: _rustrank.Team, valid: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return this worker's parts of the validation sets; an error on all workers if they have other sets."""
    made: dict[str, Any] = {}

    def own() -> bytes:
        made.update({name: part_of(f"valid[{name!r}]", one) for name, one in (valid or {}).items()})
        return json.dumps(list(made)).encode()

    names = [json.loads(text) for text in agreed(team, own)]
    other = next((rank for rank, one in enumerate(names) if one != names[0]), None)
    if other is not None:
        message = (
            f"valid: ranks 0 and {other} have other validation sets: got {names[0]} and "
            f"{names[other]}, expected the same names in the same order"
        )
        raise DataError(message, code="valid")
    return made


def _checkpoint(team: _rustrank.Team, options: dict[str, Any]) -> _rustrank.Booster | None:
    """Return the checkpoint that the first worker has to resume from, on all of them."""

    def own() -> bytes:
        path = options["checkpoint"]
        if team.rank or not options["resume"] or path is None:
            return b""
        try:
            return _rustrank.Booster.load(path).to_text().encode()
        except FileNotFoundError:
            return b""

    text = agreed(team, own)[0]
    options["resume"] = False
    return _rustrank.Booster.from_text(text.decode()) if text else None
