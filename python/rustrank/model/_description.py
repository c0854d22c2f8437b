"""What a model says of itself: its size, features and parameters, and its trees as text and drawings."""

from __future__ import annotations

import functools
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset_building import numbered_names, with_ranks
from rustrank.errors import ParamError, shown
from rustrank.formatting import count, one_line, some
from rustrank.inputs.attributes import mapping_of, read_attribute
from rustrank.inputs.categories import as_shown
from rustrank.inputs.scalars import whole
from rustrank.plotting.tree_layout import Picture, tree_picture, tree_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

    from rustrank import _rustrank

#: The attribute of a model that says what `rustrank.train` chose from the data.
CHOSEN = "chosen"
#: Attributes that are no parameters: the choice, which `chosen` has, and the loss as the compiled half reads it.
_NOT_SHOWN = (CHOSEN, "convention")
#: The line of a model file with which a net begins: its limit, and the number of its inputs.
_NET = re.compile(r"^mlp [0-9.e+]+ [0-9]+$", re.MULTILINE)


class DescribedModel:
    """The base of `Booster`: what can be read of a model without documents."""

    _core: _rustrank.Booster

    @property
    def num_trees(self) -> int:
        """The number of all trees, those of models inside (of a mixture, a stack, a calibrated model) too."""
        return self._core.num_trees_inside

    @property
    def num_rounds(self) -> int:
        """The number of boosting rounds: trees, or trees of each class.

        It is what `truncate` counts. Rounds of models inside do not count, so a mixture
        of models (`rustrank.mix`, `Combiner.booster`) may have fewer rounds than its models.
        """
        return self._core.num_rounds

    @property
    def classes(self) -> NDArray[np.float64] | None:
        """The labels of a McRank booster in rising order; None for other boosters."""
        return self._core.classes

    @property
    def num_features(self) -> int:
        """The number of features, ranks within queries included.

        In a sum of models, such as one of `rustrank.mix`, they are included if any of these looks at them.
        """
        return self._core.num_features

    @property
    def num_raw_features(self) -> int:
        """The number of raw features: without the ranks within queries."""
        return self._core.num_raw_features

    @property
    def query_ranks(self) -> bool:
        """Whether the second half of the features are the ranks of the first within queries."""
        return self._core.query_ranks

    @property
    def feature_names(self) -> list[str]:
        """The names of the features; ``f0``, ``f1``, ... where the training set had none."""
        return self._names or numbered_names(self.num_features, self.query_ranks)

    @property
    def _names(self) -> list[str] | None:
        """The names of the features, if they have some; those of ranks, too, which a sum itself does not have."""
        names = self._core.feature_names
        return with_ranks(names) if names and len(names) < self.num_features else names

    @property
    def params(self) -> dict[str, str]:
        """The parameters and the objective of training, as text."""
        noted = self._core.attributes()
        objective = {"objective": self._objective()} if "objective" in noted else {}
        return {
            name: value
            for name, value in (noted | objective).items()
            if not name.startswith("categories.") and name not in _NOT_SHOWN
        }

    @property
    def chosen(self) -> dict[str, Any] | None:
        """What `rustrank.train` chose from the data, and why; None where its caller chose, and of changed models.

        ``options`` are parameters of `rustrank.train` that train the same trees again, on a `Dataset` made with the
        ``query_ranks`` that it has, too: those that were chosen, and of those that the caller gave, which are named
        in ``given``, all that change the trees, but for functions and preferences. ``values`` are the means of
        ``metric`` over ``queries`` held-out queries for each preset that was tried, by which it was chosen;
        ``value`` is that of the chosen one over all queries that were held out once. Each is the highest of a
        curve that is smoothed over 41 rounds, and no figure of this booster: that is ``booster.evaluate(valid)``.

        Examples
        --------
        >>> import rustrank as rr
        >>> data = rr.datasets.make_polynomial(num_queries=30, seed=1)
        >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
        >>> booster = rr.train(train, progress=False)
        >>> sorted(booster.chosen["options"])
        ['learning_rate', 'num_trees', 'preset']
        >>> pinned = rr.Dataset(data.X, data.y, qid=data.qid, query_ranks=booster.chosen["query_ranks"])
        >>> again = rr.train(pinned, **booster.chosen["options"])
        >>> bool((again.predict(pinned) == booster.predict(pinned)).all())
        True
        """
        expected = "JSON of a choice, with its options"
        return read_attribute(self._core.attributes(), CHOSEN, _choice_of, expected, None)

    def _with_choice(self, note: dict[str, Any] | None) -> Self:
        """Write into this model what was chosen from the data, or that nothing was."""
        text = None if note is None else json.dumps(note)
        self._core = self._core.with_attribute(CHOSEN, text)
        return self

    @property
    def position_bias(self) -> NDArray[np.float64] | None:
        """The learned position bias: the log ratio of clicks at each position to the first one.

        A position at which the same document is clicked half as often has about -0.69. None if the training
        set had no positions. Training that continues from this booster starts with these values.

        Examples
        --------
        >>> import rustrank as rr
        >>> judged = rr.datasets.make_polynomial(num_queries=50, seed=1)
        >>> log = rr.datasets.make_clicks(judged, sessions=20)
        >>> train = rr.Dataset(log.X, log.y, qid=log.qid, position=log.position)
        >>> seen = np.exp(rr.train(train, num_trees=50).position_bias)
        >>> bool(seen[0] == 1.0 > seen[1] > seen[4])
        True
        """
        values = read_attribute(
            self.params,
            "position_bias",
            _finite_numbers,
            "finite numbers with spaces between",
            None,
        )
        return None if values is None else np.asarray(values - values[0])

    @property
    def path(self) -> list[tuple[int, float]]:
        """The features of linear parts with their weights, in the order they were added.

        For `LambdaBoost`, the feature and the step of each round.
        """
        features, weights = self._core.terms()
        return list(zip(features.tolist(), weights.tolist(), strict=True))

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The weight of each feature in linear parts: the sum over the `path`."""
        features, weights = self._core.terms()
        sums = np.zeros(self.num_features)
        np.add.at(sums, features, weights)
        return sums

    def _kind(self) -> str:
        """Return in a few words what the model consists of."""
        own = self._core.num_trees
        is_net = not own and self._core.attributes().get("trainer") == "net"
        what = "a net" if is_net else count(self.num_trees, "tree")
        if self.num_trees > own:
            what += " of models inside" if not own else ", some of models inside"
        beside = [] if is_net else self._beside_trees()
        return ", ".join([what, *beside] if self.num_trees or not beside else beside)

    def _parts_beside_trees(self) -> list[str]:
        """Return the kinds of parts that are no trees, those of models inside too, such as ``a net``."""
        # Others are what is done to the scores of parts, such as how they are normalised.
        return [one for one in self._core.splits()[2] if one.startswith("a ")]

    def _beside_trees(self) -> list[str]:
        """Return in words what the model has beside trees; the parts of a stack are counted, too."""
        kinds = self._parts_beside_trees()
        has_nets = {"a net", "a stack"}.intersection(kinds) and self._num_nets
        nets = [count(self._num_nets, "net")] if has_nets else []
        return nets + [one for one in kinds if one not in ("a net", "a stack")]

    @functools.cached_property
    def _num_nets(self) -> int:
        """The number of nets, those of models inside too."""
        return len(_NET.findall(self._core.to_text()))

    def _objective(self) -> str:
        """Return the objective that trained the model by its name in `rustrank.train`; empty if it is not known.

        The papers' LambdaRank is a net; what trains trees, and sums of features, by its lambdas is LambdaMART. A
        model of another library has the name that it has there.
        """
        noted = self._core.attributes()
        objective = noted.get("objective", "")
        is_own_name = noted.get("trainer") == "net" or "source" in noted
        return "lambdamart" if objective == "lambdarank" and not is_own_name else objective

    def _facts(self) -> list[tuple[str, str]]:
        """Return facts about the model by name; the text is empty where one does not apply."""
        params, names = self.params, self.feature_names
        reductions, _, _ = self._core.splits()
        order = np.argsort(-reductions, kind="stable")[: np.count_nonzero(reductions)].tolist()
        shares = reductions / (reductions.sum() or 1.0)
        shown = ("learning_rate", "num_leaves", "tree_shape") if self._core.num_trees else ()
        in_splits = f", {len(order):,} in splits" if order else ""
        what = "most important" + (" in its trees" if self._parts_beside_trees() else "")
        return [
            ("model", self._kind()),
            ("objective", self._objective()),
            ("options", ", ".join(f"{name}={params[name]}" for name in shown if name in params)),
            ("features", f"{self.num_features:,}{in_splits}"),
            (what, some([f"{names[at]} {shares[at]:.0%}" for at in order])),
        ]

    def dump(self, *, nested: bool = True) -> dict[str, Any]:
        """Return all trees, save those of models inside, as dictionaries.

        ``trees_inside`` is the number of trees of models inside, which are left out: trees of the models that were
        mixed, stacked or calibrated. Dump these models themselves. `draw_tree` and `rustrank.plot_tree` number the
        trees as they are here.

        ``docs`` of a node is the number of training documents in it that had a gradient in the round of the
        tree. Under a loss of pairs, as that of LambdaMART, a document whose query has no two different
        labels has none, nor has one that is in no pair, such as below ``pairs_to``; sampling leaves out
        more. So ``docs`` of a root may be below the number of training documents.

        Parameters
        ----------
        nested : bool, default True
            Whether each split holds its two children, ``left`` and ``right``. If False, a tree is a list of its nodes
            from the root on, and ``left`` and ``right`` are places in this list. `json` writes both, but of nested
            dictionaries only some hundred levels: a tree of 500 leaves may have as many.

        Examples
        --------
        >>> import rustrank as rr
        >>> X, y, qid = rr.datasets.make_polynomial(num_queries=50, seed=1)
        >>> labels = y * (qid >= 10)  # The first ten queries have nothing relevant.
        >>> root = rr.train(rr.Dataset(X, labels, qid=qid), num_trees=1).dump()["trees"][0]
        >>> root["docs"], int((qid >= 10).sum()), len(y)
        (2000, 2000, 2500)
        """
        return {
            "num_features": self.num_features,
            "feature_names": self.feature_names,
            "intercept": self._core.intercept,
            "params": self.params,
            "trees_inside": self.num_trees - self._core.num_trees,
            "trees": [
                _nested_tree(self._core, number) if nested else _nodes(self._core, number)
                for number in range(self._core.num_trees)
            ],
        }

    def dump_text(self) -> str:
        """Return all trees, save those of models inside, as indented text; see `dump`."""
        lines = [f"{self!r}", f"intercept {self._core.intercept!r}"]
        if left_out := self._trees_inside():
            lines.append(f"not shown: {left_out}")
        names = [one_line(name) for name in self.feature_names]
        for number in range(self._core.num_trees):
            lines.append(f"tree {number}")
            lines += _text_lines(_nodes(self._core, number), names)
        return "\n".join(lines) + "\n"

    def _nested(self, number: int) -> dict[str, Any]:
        return _nested_tree(self._core, number)

    def _trees_inside(self) -> str:
        """Return how many trees are of models inside, and how to see them; empty if none are."""
        inside = self.num_trees - self._core.num_trees
        if not inside:
            return ""
        return f"{count(inside, 'tree')} of models inside: take the models that were mixed, stacked or calibrated"

    def _tree_at(self, name: str, number: Any) -> int:
        """Take the number of a tree that is not of a model inside."""
        trees, inside = self._core.num_trees, self._trees_inside()
        if not trees:
            hint = f", but {inside}" if inside else ""
            message = f"{name}: got {shown(number)}, but {self!r} has no trees of its own{hint}"
            raise ParamError(message, code="tree")
        return whole(name, number, 0, trees - 1, f"; it has {inside}" if inside else "")

    def _tree_title(self, number: int, tree: dict[str, Any], max_depth: int | None) -> str:
        """Return the title of the picture of a tree."""
        inside = self.num_trees - self._core.num_trees
        title = tree_title(number, self._core.num_trees, tree, max_depth)
        return f"{title}; {inside:,} more of models inside" if inside else title

    def draw_tree(self, number: int, *, max_depth: int | None = None) -> Picture:
        """Return a drawing of a tree as SVG, which notebooks display.

        The root is on the left. Documents at or below a threshold go up; missing values follow the thick
        line. Leaves show their values, and the number of training documents that had a gradient in that round
        and fell into them: see `dump`.

        Parameters
        ----------
        number : int
            Which tree: its place in `dump`, which leaves out the trees of models inside.
        max_depth : int, optional
            How many levels of splits to draw; below them is the number of leaves. All by default.
        """
        at = self._tree_at("number", number)
        most = None if max_depth is None else whole("max_depth", max_depth, 1)
        tree = self._nested(at)
        title = self._tree_title(at, tree, most)
        return tree_picture(tree, self.feature_names, title, most)


def _choice_of(text: str) -> dict[str, Any]:
    choice = mapping_of(text)
    if not isinstance(choice.get("options"), dict):
        raise TypeError
    return choice


def _finite_numbers(text: str) -> NDArray[np.float64]:
    values = np.array(text.split(" "), np.float64)
    if not np.isfinite(values).all():
        raise ValueError
    return values


def _nodes(core: _rustrank.Booster, number: int) -> list[dict[str, Any]]:
    """Return the nodes of a tree: the splits from the root on, then the leaves; children are places in the list."""
    flat = core.tree(number)
    assert flat is not None  # noqa: S101 - numbers come from the model's own range
    splits = len(flat["feature"])
    nodes: list[dict[str, Any]] = []
    for at in range(splits):
        fields = ("feature", "threshold", "missing_left", "reduction", "docs")
        node = {name: flat[name][at] for name in fields}
        if flat["categories"][at] is not None:
            node = _on_categories(core, node, flat["categories"][at])
        for side in ("left", "right"):
            end = flat[side][at]
            node[side] = splits - 1 - end if end < 0 else end
        nodes.append(node)
    leaves = zip(flat["leaf_value"], flat["leaf_docs"], strict=True)
    return [*nodes, *({"value": value, "docs": docs} for value, docs in leaves)]


def _nested_tree(core: _rustrank.Booster, number: int) -> dict[str, Any]:
    """Return a tree as nested dictionaries."""
    nodes = _nodes(core, number)
    for node in nodes:
        if "value" not in node:
            node["left"], node["right"] = nodes[node["left"]], nodes[node["right"]]
    return nodes[0]


def _text_lines(nodes: Sequence[dict[str, Any]], names: Sequence[str]) -> list[str]:
    """Return the nodes of a tree as text, one line each: a node, all below it on the left, then on the right."""
    lines = []
    todo = [(0, 1)]
    while todo:
        at, depth = todo.pop()
        lines.append("  " * depth + _text_line(nodes[at], names))
        if "value" not in nodes[at]:
            todo += [(nodes[at]["right"], depth + 1), (nodes[at]["left"], depth + 1)]
    return lines


def _text_line(node: dict[str, Any], names: Sequence[str]) -> str:
    if "value" in node:
        return f"{node['value']!r} ({count(node['docs'], 'doc')})"
    missing = "left" if node["missing_left"] else "right"
    categories = ", ".join(map(repr, node.get("categories", ())))
    asked = f"in {categories}" if "categories" in node else f"<= {node['threshold']!r}"
    return (
        f"{names[node['feature']]} {asked}, missing {missing} "
        f"({count(node['docs'], 'doc')}, reduction {node['reduction']:.6g})"
    )


def _on_categories(
    core: _rustrank.Booster, node: dict[str, Any], categories: list[int]
) -> dict[str, Any]:
    """Return a split on categories: those that go left, by their names where they have some."""
    if node["threshold"] >= 1:  # Of a foreign model: all that is not missing goes left.
        return {**node, "threshold": sys.float_info.max}
    known = core.category_lists().get(node["feature"])
    named = categories if known is None else as_shown([known[at] for at in categories])
    kept = {name: value for name, value in node.items() if name != "threshold"}
    return {**kept, "categories": named}
