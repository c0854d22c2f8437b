"""LightGBM's model text in parts: to keep it as it was read, to write some of its trees, to set its objective."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_FIRST_LINE = "tree\n"
_END = "end of trees\n"


@dataclass(frozen=True)
class ModelText:
    """The text of a model file.

    Attributes
    ----------
    head : str
        The lines before the trees.
    trees : tuple of str
        The lines of each tree but for the first, which numbers it.
    tail : str
        What follows the trees: importance, parameters, names of categories.
    """

    head: str
    trees: tuple[str, ...]
    tail: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Divide a text into its parts."""
        before, _, tail = text.partition(_END)
        head, *trees = re.split(r"(?m)^Tree=\d+\n", before)
        return cls(head, tuple(trees), tail)

    @property
    def is_average(self) -> bool:
        """Whether a prediction is the mean over the trees: of a random forest."""
        return re.search(r"(?m)^average_output$", self.head) is not None

    def as_sum(self) -> Self:
        """Return the text of a model whose scores are sums over the trees."""
        return replace(self, head=re.sub(r"(?m)^average_output\n", "", self.head))

    def part(self, start: int, end: int) -> Self:
        """Return the text of some trees, without the importance of features, which is that of all trees."""
        if (start, end) == (0, len(self.trees)):
            return self
        found = r"(?ms)^feature_importances:\n.*?^\n"
        tail = re.sub(found, "feature_importances:\n\n", self.tail, count=1)
        return replace(self, trees=self.trees[start:end], tail=tail)

    def with_objective(self, objective: str | None) -> Self:
        """Return the text with another objective; without one for None."""
        line = "" if objective is None else f"objective={objective}\n"
        head = re.sub(r"(?m)^objective=.*\n", lambda _: line, self.head, count=1)
        return replace(self, head=head)

    def __str__(self) -> str:
        """Return the text; LightGBM finds the trees by the sizes that the head has."""
        trees = [f"Tree={at}\n{tree}" for at, tree in enumerate(self.trees)]
        sizes = " ".join(str(len(one.encode())) for one in trees)
        head = re.sub(r"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}", self.head)
        return "".join([head, *trees, _END, self.tail])


def is_model_text(text: str) -> bool:
    """Return whether a text is that of a model file of LightGBM."""
    return text.startswith(_FIRST_LINE)


def text_of_file(path: str | PathLike[str]) -> str | None:
    """Return the text of a model file of LightGBM; None for files of another kind."""
    with Path(fspath(path)).open("rb") as file:
        if not is_model_text(file.readline(80).decode("latin-1").replace("\r", "")):
            return None
    return Path(fspath(path)).read_text("utf-8")
