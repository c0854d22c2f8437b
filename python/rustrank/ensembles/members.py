"""The members of an ensemble, and recipes: named lists of members and combinations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rustrank.combining.combiner import Combiner
from rustrank.ensembles._weighting import DEFAULTS
from rustrank.errors import ParamError, ParamKindError, shown, wrong_kind, wrong_value
from rustrank.estimators.lambdamart import MART, XENDCGMART, LambdaMART
from rustrank.estimators.ranker import Ranker
from rustrank.estimators.raw_rankers import LambdaRank
from rustrank.formatting import Table, TableResult
from rustrank.inputs.scalars import choice, named, real, text, whole
from rustrank.model.booster import Booster

__all__ = ["Member", "Recipe", "recipe"]

#: The features that can be derived from the scores of another member, in their order.
DERIVED = ("score", "max", "mean", "top3")
#: The normalisations of a member's scores before they are combined.
NORMALISATIONS = ("none", "logistic", "query", "query_range", "query_top")
#: The most models of a member.
_MOST_BAGS = 1000


@dataclass(frozen=True)
class Member:
    """A member of an ensemble: a ranker, and how it is fitted.

    Parameters
    ----------
    ranker : ranker, Booster or str
        One of this library's rankers with its options, such as ``rr.LambdaMART(n_estimators=500)``; a
        `Booster`, which is taken as it is; or the name of another member whose models this one shares.
    bags : int, optional
        The number of models to fit and average, each with another fold of the queries as its validation set;
        0 for one model of all queries without a validation set. By default one for each fold.
    augment : (float, int), optional
        ``(share, copies)``: train on additional copies of each query, each with this share of its documents.
        ``(0.7, 5)`` is the fifth paper's Aug70, ``(0.5, 10)`` its Aug50.
    stack : sequence of str
        The members whose scores are features of this one.
    derive : sequence of {"score", "max", "mean", "top3"} or of (member, name)
        The features derived from each of these: the score of the document, the largest and the mean score of
        its query, and the mean of the three largest. A pair is of that member only, such as ``("M11", "max")``.
    normalise : {"none", "logistic", "query", "query_range", "query_top"}
        The normalisation of scores before they are combined: probabilities of a logistic loss
        (``logistic``); mean 0 and variance 1 (``query``) or the range 0 to 1 (``query_range``) within each
        query; or ``Pmax * (1 + P - Pmax)`` as in the fifth paper (``query_top``), where P is the probability
        and Pmax the largest of the query.
    """

    ranker: Any
    bags: int | None = None
    augment: tuple[float, int] | None = None
    stack: Sequence[str] = ()
    derive: Sequence[str | tuple[str, str]] = DERIVED
    normalise: str = "none"

    @property
    def is_given(self) -> bool:
        """Whether the ranker is a booster, which is not fitted."""
        return isinstance(self.ranker, Booster)

    @property
    def shared(self) -> str | None:
        """The member whose models this one shares."""
        return self.ranker if isinstance(self.ranker, str) else None

    @property
    def is_fitted(self) -> bool:
        """Whether models are fitted: the ranker is no booster, and not that of another member."""
        return not isinstance(self.ranker, (str, Booster))

    @property
    def derived(self) -> list[str | tuple[int, str]]:
        """What is derived from the members of ``stack``, which are named by their numbers."""
        return [
            one if isinstance(one, str) else (list(self.stack).index(one[0]), one[1])
            for one in self.derive
        ]

    def description(self) -> str:
        """Describe the member in one line."""
        description = f"the models of {self.ranker}" if self.shared else repr(self.ranker)
        if self.augment is not None:
            description += f", {self.augment[1]} copies of {self.augment[0]:g} of the docs"
        if self.stack:
            description += f", on {', '.join(self.stack)}"
        return description if self.normalise == "none" else f"{description}, as {self.normalise}"


@dataclass(frozen=True, repr=False)
class Recipe(TableResult):
    """Members, combinations to try, and subsets to evaluate, by name.

    Parameters
    ----------
    members : mapping from names to Members
        The members of the ensemble.
    combinations, subsets : mappings
        As for `rustrank.ensemble`.
    descriptions : mapping
        Descriptions of members for tables.
    metrics : sequence of str
        The default metrics of `rustrank.ensemble`.
    """

    members: Mapping[str, Member]
    combinations: Mapping[str, Any] = field(default_factory=dict)
    subsets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    metrics: Sequence[str] = ("ndcg@10",)

    _left = 2

    def _tables(self) -> list[Table]:
        rows = [
            [name, self.descriptions.get(name) or member.description()]
            for name, member in self.members.items()
        ]
        return [(["member", "what it is"], rows)]

    def _sentences(self) -> list[str]:
        parts = {"combinations": self.combinations, "subsets": self.subsets}
        return [f"{name}: {', '.join(of)}" for name, of in parts.items() if of]


def yahoo2010(
    *,
    num_trees: int = 3000,
    num_leaves: int = 110,
    learning_rate: float = 0.05,
    preset: str | None = "yahoo2010",
    early_stopping: int = 200,
    bags: int | None = None,
    aug70: tuple[float, int] = (0.7, 5),
    aug50: tuple[float, int] = (0.5, 10),
    mart_trees: int | None = None,
    derived: int = 4,
    mart_normalise: str = "query_top",
    net_preset: str | None = "sgd",
    net_learning_rate: float | None = None,
    hidden: int = 25,
    epochs: int | None = None,
    min_leaf_docs: int = 20,
    ndcg: str = "ndcg",
) -> Recipe:
    """Return the twelve members that won Yahoo's challenge (Burges, Svore and others 2011, table 2)."""
    trees: dict[str, Any] = {
        "preset": preset,
        "n_estimators": num_trees,
        "num_leaves": num_leaves,
        "learning_rate": learning_rate,
        "early_stopping": early_stopping,
        "min_leaf_docs": min_leaf_docs,
    }
    # These features are the same for all documents of a query.
    stacked = {"stack": ("M11", "M12"), "derive": _derived(derived)}
    table: dict[str, tuple[Member, str]] = {}
    for first, metric, called in ((1, "err", "ERR"), (5, ndcg, "NDCG")):
        variants: tuple[tuple[dict[str, Any], str], ...] = (
            ({}, ""),
            ({"augment": aug50}, ", Aug50"),
            ({"augment": aug70}, ", Aug70"),
            (stacked, ", MART scores as features"),
        )
        for at, (options, suffix) in enumerate(variants, first):
            member = Member(LambdaMART(metric=metric, **trees), bags, **options)
            table[f"M{at}"] = member, f"LambdaMART for {called}{suffix}"
    of_nets: dict[str, Any] = {"epochs": epochs, "learning_rate": net_learning_rate}
    of_nets = {name: value for name, value in of_nets.items() if value is not None}
    for name, metric, called in (("M9", "err", "ERR"), ("M10", ndcg, "NDCG")):
        net = LambdaRank(preset=net_preset, hidden=(hidden,), metric=metric, **of_nets)
        table[name] = Member(net, 1), f"LambdaRank for {called}"
    if mart_trees is not None:
        trees["n_estimators"] = mart_trees
    mart = MART(objective="err_logistic", metric="err", **trees)
    table["M11"] = Member(mart, 1, normalise="logistic"), "MART"
    # The two differ in nothing else, so they share their models.
    table["M12"] = Member("M11", normalise=mart_normalise), "MART, normalised within queries"
    return _recipe_of(table, ("err", ndcg), _combinations(ndcg), _subsets())


#: The derived features of ``yahoo2010``, by their number. Its paper has four, "derived from two logistic
#: regression models": the largest and the mean score "over all the documents, and also over the top three",
#: whose largest is the same. Six are all that differ.
_DERIVED: dict[int, Sequence[str | tuple[str, str]]] = {
    4: (("M11", "max"), ("M11", "mean"), ("M12", "max"), ("M12", "top3")),
    6: ("max", "mean", "top3"),
}


def _derived(number: int) -> Sequence[str | tuple[str, str]]:
    if number not in _DERIVED:
        raise wrong_value("derived", number, "4 or 6")
    return _DERIVED[number]


def _recipe_of(
    table: Mapping[str, tuple[Member, str]],
    metrics: Sequence[str],
    combinations: Mapping[str, Any] | None = None,
    subsets: Mapping[str, Sequence[str]] | None = None,
) -> Recipe:
    """Return the recipe of members that come with their descriptions."""
    members = {name: member for name, (member, _) in table.items()}
    descriptions = {name: description for name, (_, description) in table.items()}
    return Recipe(members, combinations or {}, subsets or {}, descriptions, metrics)


def _combinations(ndcg: str) -> dict[str, Any]:
    """Return the combinations of table 1, and newer methods, for all members."""
    named = {name: one for name, one in DEFAULTS.items() if "LambdaRank" not in name}
    nets = {"linear": "lambdarank", "two-layer": "lambdarank_net"}
    return named | {
        f"{kind} LambdaRank ({called})": Combiner(metric, method=method)
        for kind, method in nets.items()
        for called, metric in (("NDCG", ndcg), ("ERR", "err"))
    }


def _subsets() -> dict[str, list[str]]:
    """Return the subsets of table 3."""
    numbers: dict[str, Sequence[int]] = {
        "All: M1-M12": range(1, 13),
        "All minus MARTs": range(1, 11),
        "LambdaMART only": range(1, 9),
        "All minus LambdaRanks": (*range(1, 9), 11, 12),
        "Augmented only": (2, 3, 6, 7),
        "Non-augmented": (1, 4, 5, *range(8, 13)),
        "Just ERR": (1, 2, 3, 4, 9),
        "Just NDCG": (5, 6, 7, 8, 10),
    }
    return {name: [f"M{number}" for number in some] for name, some in numbers.items()}


def diverse(
    *,
    num_trees: int = 500,
    num_leaves: int = 15,
    learning_rate: float = 0.07,
    early_stopping: int = 50,
    min_leaf_docs: int = 20,
    bags: int | None = None,
    epochs: int = 20,
    metric: str = "ndcg@10",
) -> Recipe:
    """Return six members that err in different ways: by loss, by features, by shape and by kind."""
    plain: dict[str, Any] = {
        "n_estimators": num_trees,
        "learning_rate": learning_rate,
        "early_stopping": early_stopping,
        "min_leaf_docs": min_leaf_docs,
        "features_per_node": 0.7,
        "metric": metric,
    }
    trees = {**plain, "num_leaves": num_leaves}
    ranks = {**trees, "query_ranks": True}
    depth = max(1, num_leaves.bit_length())
    symmetric = {**plain, "query_ranks": True, "tree_shape": "symmetric", "max_depth": depth}
    table: dict[str, tuple[Ranker, str]] = {
        "LambdaMART": (LambdaMART(**trees), "LambdaMART"),
        "LambdaMART, ranks": (
            LambdaMART(**ranks),
            "LambdaMART on values and their ranks in the query",
        ),
        "XENDCG, ranks": (XENDCGMART(**ranks), "the same, by the cross entropy that bounds NDCG"),
        "MART, ranks": (
            MART(objective="err_logistic", **ranks),
            "the same, doc by doc: the relevance that ERR sees",
        ),
        "symmetric, ranks": (
            LambdaMART(random_strength=1.0, **symmetric),
            "LambdaMART with a question a level, and chance",
        ),
        "net": (LambdaRank(epochs=epochs, metric=metric), "a LambdaRank net"),
    }
    return _recipe_of(
        {name: (Member(ranker, bags), says) for name, (ranker, says) in table.items()}, (metric,)
    )


#: Recipes by name.
RECIPES: dict[str, Callable[..., Recipe]] = {"yahoo2010": yahoo2010, "diverse": diverse}


def recipe(name: str, **options: Any) -> Recipe:
    """Return a recipe by its name, perhaps smaller than it was.

    Parameters
    ----------
    name : {"yahoo2010", "diverse"}
        ``yahoo2010``: the twelve members that won Track 1 of Yahoo's challenge: eight LambdaMARTs, half of
        them for ERR and half for NDCG, plain, on two augmented sets and with MART's scores as features; a LambdaRank
        net for each metric; and MART on the relevance that ERR sees, as it is and normalised within queries.
        ``diverse``: six members that err in different ways, good on small sets: LambdaMART, the same with the
        ranks of values within queries, and on these the cross entropy that bounds NDCG, MART and symmetric trees;
        and a net.
    **options
        Of ``yahoo2010``: ``num_trees`` (3000), ``num_leaves`` (110), ``learning_rate`` (0.05), ``preset``
        (``yahoo2010``: the paper's lambdas and splits; None for our defaults), ``early_stopping`` (200),
        ``min_leaf_docs`` (20), ``bags`` (one a fold; of LambdaMART), ``aug70`` and ``aug50``; ``mart_trees`` (as many
        as the others), ``derived`` (4 features of MART's scores, or 6), and ``mart_normalise``, what M12 is:
        ``query_top`` as in the paper's section 4.2, or ``query``, unit variance, as in its table 2;
        ``net_preset`` (``sgd``; None for our defaults), ``net_learning_rate``, ``hidden`` (25 units) and
        ``epochs`` of the nets; and ``ndcg`` (``ndcg``, or with a cut). Of ``diverse``: ``num_trees`` (500), ``num_leaves`` (15),
        ``learning_rate`` (0.07), ``early_stopping`` (50), ``min_leaf_docs``, ``bags``, ``epochs`` (20) and ``metric``
        (``ndcg@10``).

    Examples
    --------
    >>> import rustrank as rr
    >>> small = rr.recipe("yahoo2010", num_trees=50, num_leaves=8, bags=2)
    >>> list(small.members)[:3], small.descriptions["M2"]
    (['M1', 'M2', 'M3'], 'LambdaMART for ERR, Aug50')
    """
    make = RECIPES[choice("recipe", name, RECIPES)]
    try:
        return make(**options)
    except TypeError as error:
        message = f"recipe {name}: {error}".replace(f"{name}() ", "")
        raise ParamError(message, code="recipe") from None


def as_recipe(given: Any) -> Recipe:
    """Take a recipe, its name, or members by name; check what can be checked without docs."""
    if isinstance(given, str):
        given = recipe(given)
    expected = "a recipe or its name, or a mapping from names to members"
    is_recipe = isinstance(given, Recipe)
    found = given if is_recipe else Recipe(named("members", given, "member ", expected))
    members = {
        name: one if isinstance(one, Member) else Member(one) for name, one in found.members.items()
    }
    if not members:
        raise ParamError("members: got none, expected at least one", code="members")
    for name, member in members.items():
        _check(name, member, members)
    order_of(members)
    return replace(found, members=members)


def _check(name: str, member: Member, members: Mapping[str, Member]) -> None:
    what = f"member {name!r}"
    if not text("members", name).strip() or "\n" in name:
        message = f"members: got {shown(name)} for a name, expected text on one line"
        raise ParamError(message, code="members")
    _check_ranker(what, member, members)
    if member.bags is not None:
        whole(f"bags of {what}", member.bags, 0, _MOST_BAGS)
    _check_augment(f"augment of {what}", member.augment)
    _check_known(f"stack of {what}", member.stack, members)
    _check_derive(f"derive of {what}", member)
    _check_known(f"normalise of {what}", [member.normalise], NORMALISATIONS)
    if member.stack and not member.derive:
        message = f"derive of {what} is empty: expected some of {', '.join(DERIVED)}"
        raise ParamError(message, code="members")


def _check_ranker(what: str, member: Member, members: Mapping[str, Member]) -> None:
    ranker = member.ranker
    if isinstance(ranker, str):
        _check_known(f"ranker of {what}", [ranker], members)
        if members[ranker].shared is not None:
            message = f"{what} shares the models of {ranker}, which shares those of another"
            raise ParamError(message, code="members")
    elif not isinstance(ranker, (Ranker, Booster)):
        message = (
            f"{what} is {shown(ranker)}, expected a ranker such as rr.LambdaMART(), or a Booster"
        )
        raise ParamKindError(message, code="members")
    if not member.is_fitted and (member.augment is not None or member.stack):
        message = f"{what} is not fitted, and so has neither augment= nor stack="
        raise ParamError(message, code="members")


def _check_augment(what: str, augment: Any) -> None:
    if augment is None:
        return
    try:
        share, copies = augment
    except (TypeError, ValueError):
        raise wrong_kind(what, augment, "(share, copies)", "augment") from None
    whole(what, copies, 1, 1000, " copies")
    if not 0 < real(what, share) < 1:
        message = f"{what}: got a share of {share}, expected one between 0 and 1"
        raise ParamError(message, code="augment")


def _check_known(what: str, names: Any, known: Collection[str]) -> None:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise wrong_kind(what, names, "a sequence of names", "members")
    for name in names:
        choice(what, name, known, "members", "some of")


def _check_derive(what: str, member: Member) -> None:
    pairs = (
        []
        if isinstance(member.derive, str)
        else [one for one in member.derive if not isinstance(one, str)]
    )
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise wrong_kind(what, pair, "a name, or a member and a name", "members")
    _check_known(what, [pair[0] for pair in pairs], member.stack)
    names = (
        member.derive
        if isinstance(member.derive, str)
        else [one if isinstance(one, str) else one[1] for one in member.derive]
    )
    _check_known(what, names, DERIVED)


def needs_of(member: Member) -> list[str]:
    """Return the members that must be fitted before this one."""
    return [*member.stack, *filter(None, [member.shared])]


def order_of(members: Mapping[str, Member]) -> list[str]:
    """Return the members in an order in which each comes after all that it needs."""
    done: list[str] = []
    while len(done) < len(members):
        ready = [
            name
            for name, member in members.items()
            if name not in done and all(need in done for need in needs_of(member))
        ]
        if not ready:
            left = ", ".join(name for name in members if name not in done)
            message = f"members stand on each other's scores in a circle: {left}"
            raise ParamError(message, code="members.circle")
        done += ready
    return done
