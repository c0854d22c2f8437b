"""LightGBM's model text in parts: to keep it as it was read, to write some of its trees, to set its objective."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.inputs.files import errors_name

if TYPE_CHECKING:
    from typing_extensions import Self

_FIRST_LINE = "tree\n"
_END = "end of trees\n"
_IMPORTANCE = re.compile(r"(?ms)^(feature[_ ]importances:\n).*?(?=^\n|\Z)")
_PARAMETER = re.compile(r"(?m)^\[(\w+): (.*)\]$")

# The kinds of LightGBM's parameters; those that are not here are numbers.
_NAMES_OF_KIND = {
    "flag": "bagging_by_query boost_from_average deterministic enable_bundle extra_trees feature_pre_filter "
    "first_metric_only force_col_wise force_row_wise gpu_use_dp header is_enable_sparse is_unbalance "
    "lambdarank_norm linear_tree pre_partition precise_float_parser quant_train_renew_leaf reg_sqrt "
    "stochastic_rounding two_round uniform_drop use_missing use_quantized_grad xgboost_dart_mode "
    "zero_as_missing",
    "text": "boosting data data_sample_strategy device_type forcedbins_filename forcedsplits_filename "
    "gpu_device_id_list group_column label_column machine_list_filename machines "
    "monotone_constraints_method objective parser_config_file tree_learner weight_column",
    "texts": "metric valid",
    "numbers": "auc_mu_weights categorical_feature cegb_penalty_feature_coupled cegb_penalty_feature_lazy "
    "eval_at feature_contri ignore_column label_gain max_bin_by_feature monotone_constraints",
    "groups": "interaction_constraints",
}
_KINDS = {name: kind for kind, names in _NAMES_OF_KIND.items() for name in names.split()}


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

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of training, as numbers, truth values, texts and lists; without empty ones."""
        section = self.tail.partition("parameters:\n")[2].partition("end of parameters")[0]
        found = _PARAMETER.findall(section)
        return {name: _typed(name, text) for name, text in found if text}

    def part(self, start: int, end: int) -> Self:
        """Return the text of some trees; the importance of features stays as it is."""
        return replace(self, trees=self.trees[start:end])

    def with_importance(self, kind: str, num_trees: int) -> Self:
        """Return the text with the importance of features in the first trees, or all for 0, as LightGBM does.

        Numbers of splits (``split``) or gains of splits (``gain``), cut to whole numbers, the largest first.
        """
        names = _line(self.head, "feature_names").split()
        if not names:
            return self
        sums = np.zeros(len(names))
        for tree in self.trees[: num_trees if num_trees > 0 else None]:
            features = np.array(_line(tree, "split_feature").split(), np.int64)
            gains = np.array(_line(tree, "split_gain").split(), np.float32).astype(np.float64)
            if len(gains) != len(features):
                continue  # A file without gains: as if all were 0.
            counted = gains if kind == "gain" else np.ones(len(gains))
            # As in LightGBM, splits without a gain do not count.
            np.add.at(sums, features[gains > 0], counted[gains > 0])
        whole = sorted(zip(sums.astype(np.int64), names, strict=True), key=lambda one: -one[0])
        lines = "".join(f"{name}={value}\n" for value, name in whole if value > 0)
        return replace(self, tail=_IMPORTANCE.sub(lambda at: at[1] + lines, self.tail, count=1))

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


def _line(text: str, name: str) -> str:
    """Return what follows ``name=``; nothing if there is no such line."""
    found = re.search(rf"(?m)^{name}=(.*)$", text)
    return found[1] if found else ""


def _typed(name: str, text: str) -> Any:
    """Return a parameter as LightGBM gives it, and one of an unknown name as a number if it looks like one."""
    kind = _KINDS.get(name)
    if kind == "flag":
        return text == "1"
    if kind in ("texts", "numbers"):
        listed = text.split(",")
        return listed if kind == "texts" else [_number(one) for one in listed]
    if kind == "groups":
        groups: list[str] = re.findall(r"\[(.*?)\]", text)
        return [[_number(one) for one in group.split(",") if one] for group in groups]
    return text if kind == "text" else _number(text)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def is_model_text(text: str) -> bool:
    """Return whether a text is that of a model file of LightGBM."""
    return text.startswith(_FIRST_LINE)


def text_of_file(path: str | PathLike[str]) -> str | None:
    """Return the text of a model file of LightGBM; None for files of another kind."""
    with errors_name(path), Path(fspath(path)).open("rb") as file:
        if not is_model_text(file.readline(80).decode("latin-1").replace("\r", "")):
            return None
        file.seek(0)
        return file.read().decode("utf-8").replace("\r\n", "\n")
