"""The rankers that commands read: models, and files of scores."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

from rustrank import _rustrank
from rustrank.cli.file_kinds import is_model, model_hint, start_of
from rustrank.cli.streams import PIPE, path_of
from rustrank.errors import DataError, ModelFormatError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rustrank.cli.reading import Docs
    from rustrank.model.booster import Booster


def has_scores(file: str) -> bool:
    """Whether a file has scores; otherwise it is a model."""
    # What is read from a pipe is gone; a file that is missing is named on reading.
    if not Path(file).is_file():
        return True
    start = start_of(file)
    words = start.split(maxsplit=1)
    try:
        float(words[0] if words else b"0")
    except ValueError:
        # A line that is no number is named on reading.
        return not is_model(start, of_any_library=True)
    return True


def load_model(file: str) -> Booster:
    """Read a model file of ours or of another library."""
    from rustrank.model.booster import Booster

    try:
        return Booster.load(path_of(file))
    except ModelFormatError as error:
        hint = None if file == PIPE else model_hint(file)
        if hint is None:
            raise
        raise ModelFormatError(f"{file}: {hint}", code=error.code, path=file) from None


def models_of(files: Iterable[str]) -> dict[str, Booster]:
    """Read those files that are models."""
    return {file: load_model(file) for file in dict.fromkeys(files) if not has_scores(file)}


def read_ranker(
    file: str, docs: Docs, options: argparse.Namespace, models: Mapping[str, Booster]
) -> NDArray[np.float64]:
    """Return scores of documents: those of a file, or of one of the models that were read."""
    if file in models:
        return docs.score(file, models[file], options.threads)
    return read_scores(file, docs, options)


def read_scores(file: str, docs: Docs, options: argparse.Namespace) -> NDArray[np.float64]:
    """Return the scores of a file, which has one for each document."""
    if file != PIPE and not Path(file).exists():
        # Perhaps the name of a column, which Python takes as a ranker.
        why = "No such file or directory; scores are in a file, one a line, and columns as rankers are for Python only"
        raise FileNotFoundError(errno.ENOENT, why, file)
    scores = _rustrank.read_scores(path_of(file), options.threads)
    if len(scores) != docs.num_docs:
        message = (
            f"{file} has the wrong length: got {len(scores)} scores, expected {docs.num_docs}, "
            f"one for each doc of {', '.join(docs.files)}"
        )
        raise DataError(message, code="length", path=file)
    return scores
