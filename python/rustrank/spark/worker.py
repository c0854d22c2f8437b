"""What runs in the tasks of a training on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rustrank import partitions
from rustrank.errors import DataError
from rustrank.partitions.launching import errors_are_sent
from rustrank.spark.columns import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The characters of a model's text in a row of the result.
_PIECE = 1 << 20
#: The columns that tasks get, besides the features.
LABEL, QUERY, WEIGHT, BASE, VALID = "label", "qid", "weight", "base_score", "is_valid"


@dataclass(frozen=True)
class Job:
    """A training: what every task knows."""

    token: bytes
    deadline: float
    #: The columns with a feature each; None where one column has all.
    features: list[str] | None
    options: Mapping[str, Any]

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Train on the rows of this task; the first one yields the model, as rows of text."""
        import pandas as pd
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        rank = context.partitionId()
        host = context.getTaskInfos()[rank].address.rpartition(":")[0]
        port = partitions.TcpPort(host or context.getTaskInfos()[rank].address)
        addresses = list(context.allGather(port.address))
        frames = list(batches)
        rows = pd.concat(frames, ignore_index=True) if frames else None
        team = port.connect(rank, addresses, self.token, self.deadline)
        with errors_are_sent(team):
            part, valid = self._parts(rows)
        options = dict(self.options)
        if context.attemptNumber() and options.get("checkpoint") is not None:
            options["resume"] = True
        sets = {"valid": valid} if options.pop("has_valid") else {}
        booster = partitions.train(part, team, valid=sets, **options)
        if rank == 0:
            text = booster.all_rounds.to_text()
            pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
            best = -1 if booster.best_round is None else booster.best_round
            yield pd.DataFrame({"number": range(len(pieces)), "best_round": best, "text": pieces})

    def _parts(self, rows: Any) -> tuple[Any, Any]:
        """Return the rows to train on and those to validate on."""
        if rows is None or not len(rows):
            return None, None
        if rows[LABEL].isna().any():
            raise DataError(f"{int(rows[LABEL].isna().sum())} labels are null", code="label")
        if rows[QUERY].isna().any():
            raise DataError(f"{int(rows[QUERY].isna().sum())} queries are null", code="qid")
        if VALID not in rows:
            return self._part(rows), None
        is_valid = rows[VALID].to_numpy(bool)
        return self._part(rows[~is_valid]), self._part(rows[is_valid])

    def _part(self, rows: Any) -> dict[str, Any] | None:
        if not len(rows):
            return None
        part = {
            "X": table_of(rows, self.features),
            "y": rows[LABEL].to_numpy(float),
            "qid": rows[QUERY].to_numpy(),
        }
        more = {"row_weight": WEIGHT, "base_score": BASE}
        part |= {key: rows[one].to_numpy(float) for key, one in more.items() if one in rows}
        return part
