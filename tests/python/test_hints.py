"""What other libraries call our parameters leads to ours, wherever it is typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.inputs.keywords import OF_MODEL

#: Names of LightGBM, XGBoost, CatBoost and scikit-learn, and what they are in `rr.train`, `rr.LambdaMART`,
#: `rr.Dataset` and `rustrank train`: the name here, or "fit: NAME", "Dataset: NAME", "train: NAME" where it
#: belongs, or some words of the hint in quotes; "=" if the name is right, "-" for the list of all names.
TABLE = """
objective                     =                 'rr.LambdaMART (lambdamart)'  -          =
loss_function                 objective         'rr.LambdaMART (lambdamart)'  -          objective
loss                          objective         'rr.LambdaMART (lambdamart)'  -          objective
eval_metric                   metric            metric             -                     metric
metrics                       metric            metric             -                     metric
eval_at                       metric            metric             -                     metric
num_trees                     =                 n_estimators       -                     =
num_iterations                num_trees         n_estimators       -                     num_trees
num_boost_round               num_trees         n_estimators       -                     num_trees
num_tree                      num_trees         n_estimators       -                     num_trees
n_estimators                  num_trees         =                  -                     num_trees
iterations                    num_trees         n_estimators       -                     num_trees
max_iter                      num_trees         n_estimators       -                     num_trees
eta                           learning_rate     learning_rate      -                     learning_rate
shrinkage_rate                learning_rate     learning_rate      -                     learning_rate
max_leaves                    num_leaves        num_leaves         -                     num_leaves
max_leaf_nodes                num_leaves        num_leaves         -                     num_leaves
depth                         max_depth         max_depth          -                     max_depth
min_data_in_leaf              min_leaf_docs     min_leaf_docs      -                     min_leaf_docs
min_child_samples             min_leaf_docs     min_leaf_docs      -                     min_leaf_docs
min_samples_leaf              min_leaf_docs     min_leaf_docs      -                     min_leaf_docs
min_sum_hessian_in_leaf       min_leaf_hess     min_leaf_hess      -                     min_leaf_hess
min_child_weight              min_leaf_hess     min_leaf_hess      -                     min_leaf_hess
subsample                     docs_per_tree     docs_per_tree      -                     docs_per_tree
bagging_fraction              docs_per_tree     docs_per_tree      -                     docs_per_tree
bagging_freq                  'anew'            'anew'             -                     'anew'
feature_fraction              features_per_tree features_per_tree  -                     features_per_tree
colsample_bytree              features_per_tree features_per_tree  -                     features_per_tree
rsm                           features_per_tree features_per_tree  -                     features_per_tree
colsample_bynode              features_per_node features_per_node  -                     features_per_node
early_stopping_rounds         early_stopping    early_stopping     -                     early_stopping
n_iter_no_change              early_stopping    early_stopping     -                     early_stopping
od_wait                       early_stopping    early_stopping     -                     early_stopping
lambda_l1                     'no L1'           'no L1'            -                     'no L1'
reg_alpha                     'no L1'           'no L1'            -                     'no L1'
lambda_l2                     l2                l2                 -                     l2
reg_lambda                    l2                l2                 -                     l2
l2_leaf_reg                   l2                l2                 -                     l2
min_gain_to_split             min_reduction     min_reduction      -                     min_reduction
gamma                         min_reduction     min_reduction      -                     min_reduction
drop_rate                     dropout           dropout            -                     dropout
skip_drop                     dropout_skip      dropout_skip       -                     dropout_skip
boosting_type                 'DART'            'DART'             -                     'DART'
max_bin                       Dataset:max_bins  max_bins           max_bins              Dataset:max_bins
border_count                  Dataset:max_bins  max_bins           max_bins              Dataset:max_bins
grow_policy                   tree_shape        tree_shape         -                     tree_shape
tree_method                   'always binned'   'always binned'    -                     'always binned'
monotone_constraints          monotone          monotone           -                     monotone
categorical_feature           Dataset:categorical categorical      categorical           categorical
cat_features                  Dataset:categorical categorical      categorical           categorical
cat_smooth                    category_smooth   category_smooth    -                     category_smooth
path_smooth                   =                 =                  -                     =
extra_trees                   'random_strength' 'random_strength'  -                     'random_strength'
lambdarank_truncation_level   pairs_to          pairs_to           -                     pairs_to
sigmoid                       sigma             sigma              -                     sigma
lambdarank_norm               query_normaliser  query_normaliser   -                     query_normaliser
label_gain                    gain              gain               -                     gain
random_state                  seed              =                  -                     seed
seed                          =                 random_state       -                     =
n_jobs                        num_threads       =                  num_threads           threads
nthread                       num_threads       n_jobs             num_threads           threads
num_threads                   =                 n_jobs             =                     threads
verbose                       progress          progress           -                     progress
device                        'processor'       'processor'        -                     'processor'
scale_pos_weight              'row_weight'      'row_weight'       -                     'row_weight'
init_model                    base              fit:base           base                  base
init_score                    Dataset:base_score fit:base_score    base_score            Dataset:base_score
weight                        Dataset:row_weight fit:sample_weight row_weight            Dataset:row_weight
sample_weight                 Dataset:row_weight fit:sample_weight row_weight            Dataset:row_weight
group                         =                 fit:group          =                     Dataset:group
qid                           =                 fit:qid            =                     =
label                         y                 fit:y              y                     =
valid_sets                    valid             fit:eval_set       -                     valid
eval_set                      valid             fit:eval_set       -                     valid
params                        '**params'        '**params'         -                     config
snapshot_freq                 snapshot_every    train:snapshot_every -                   snapshot_every
feature_name                  Dataset:feature_names Dataset:feature_names feature_names  Dataset:feature_names
group_weight                  Dataset:query_weight fit:query_weight query_weight        Dataset:query_weight
sampling_unit                 'whole queries'   'whole queries'    -                     'whole queries'
leaf_estimation_iterations    'Newton step'     'Newton step'      -                     'Newton step'
score_function                criterion         criterion          -                     criterion
metric_period                 'each round'      'each round'       -                     'each round'
allow_writing_files           'each round'      'each round'       -                     'each round'
max_ctr_complexity            'sets of values'  'sets of values'   -                     'sets of values'
langevin                      'nothing like it' 'nothing like it'  -                     'nothing like it'
learning_rat                  did:learning_rate did:learning_rate  -                     did:learning-rate
"""


def rows() -> list[tuple[str, ...]]:
    found = []
    for line in TABLE.strip().splitlines():
        parts: list[str] = []
        quoted = False
        for word in line.split():
            if quoted:
                parts[-1] += f" {word}"
            else:
                parts.append(word)
            quoted = parts[-1].startswith("'") and not parts[-1].endswith("'")
        assert len(parts) == 5, line
        found.append(tuple(parts))
    return found


def wording(expected: str, option: bool = False) -> str:
    """Return what a message says."""
    if expected == "-":
        return "expected one of"
    if expected.startswith("'"):
        return expected.strip("'")
    place, sign, name = expected.rpartition(":")
    if sign:
        return {
            "fit": f"it is an argument of fit: {name}",
            "Dataset": f"it is an option of rr.Dataset: {name}",
            "train": f"it is an option of rr.train with trees: {name}",
            "did": f"did you mean {'--' if option else ''}{name}?",
        }[place]
    return f"here it is called {'--' + name.replace('_', '-') if option else name}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_names_of_other_libraries_lead_to_ours(
    row: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, of_train, of_estimator, of_dataset, of_command = row
    docs = rr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    given: dict[str, Any] = {name: 1}
    if of_train != "=":
        with pytest.raises(rr.ParamError) as caught:
            rr.train(docs, **given)
        assert wording(of_train) in str(caught.value)
    if of_estimator != "=":
        with pytest.raises(rr.ParamError) as caught:
            rr.LambdaMART(**given)
        assert wording(of_estimator) in str(caught.value)
    if of_dataset != "=":
        with pytest.raises(rr.ParamError) as caught:
            rr.Dataset([[1.0]], [0], **given)
        assert isinstance(caught.value, TypeError), "as Python's own error"
        assert wording(of_dataset) in str(caught.value)
    if of_command != "=":
        assert main(["train", "x", str(tmp_path / "x"), f"--{name.replace('_', '-')}", "1"]) == 2
        assert wording(of_command, option=True) in capsys.readouterr().err


def test_what_is_right_is_taken() -> None:
    for name, of_train, of_estimator, *_ in rows():
        if of_estimator == "=":
            assert name in rr.LambdaMART().get_params()
        for hinted in (of_estimator, of_train):
            assert hinted.count(":") <= 1
        if of_estimator.isidentifier():
            assert of_estimator in rr.LambdaMART().get_params()


def test_half_of_the_values_of_xgboost_is_said_for_trees_alone() -> None:
    docs = rr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    for name in ("eta", "lambda", "reg_lambda", "min_child_weight"):
        with pytest.raises(rr.ParamError, match="and is half of XGBoost's value"):
            rr.train(docs, **dict[str, Any]({name: 1}))
    with pytest.raises(rr.ParamError) as caught:
        rr.LambdaRank(**dict[str, Any]({"reg_lambda": 1}))
    assert "half" not in str(caught.value)


def test_the_method_of_pairs_of_xgboost_leads_to_pairs_to() -> None:
    docs = rr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    with pytest.raises(rr.ParamError, match=r"pairs_to=8 here.*pairs_to=None, all pairs"):
        rr.train(docs, **dict[str, Any](lambdarank_pair_method="topk"))


#: Names whose translation needs two options, or a value of its own, and what the hint says of these.
OF_SEVERAL = {
    "lambdarank_norm": (
        "query_normaliser='log_sum', pair_normaliser='score_gap', gap_offset=0.01",
        "query_normaliser='none', pair_normaliser='none'",
    ),
    "lambdarank_normalization": ("query_normaliser='log_sum'", "query_normaliser='none'"),
    "lambdarank_score_normalization": (
        "pair_normaliser='score_gap', gap_offset=0.01",
        "pair_normaliser='none'",
    ),
    "lambdarank_truncation_level": ("pairs_to", "ideal_to"),
    "lambdarank_num_pair_per_sample": ("pairs_to", "ideal_to"),
    "lambdarank_pair_method": ("pairs_to=8", "ideal_to=8"),
    "top_rate": ("top_docs", "doc_sampling='one_sided'", "docs_per_tree"),
    "data_sample_strategy": ("doc_sampling='one_sided'", "top_docs", "docs_per_tree"),
    "depth": ("tree_shape='symmetric'", "max_depth=6", "num_leaves=64"),
    "min_child_weight": ("min_leaf_hess", "min_leaf_docs=1"),
}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_a_hint_names_all_options_of_a_translation(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = rr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    with pytest.raises(rr.ParamError) as caught:
        rr.train(docs, **dict[str, Any]({name: 1}))
    assert main(["train", "x", str(tmp_path / "x"), f"--{name.replace('_', '-')}", "1"]) == 2
    of_command = capsys.readouterr().err
    for said in OF_SEVERAL[name]:
        assert said in str(caught.value)
        assert said.replace("_", "-") in of_command.replace("_", "-")


def test_the_options_that_hints_name_are_options() -> None:
    docs = rr.datasets.make_polynomial(num_queries=40, docs_per_query=10, seed=0)
    for options in (
        {"query_normaliser": "log_sum", "pair_normaliser": "score_gap", "gap_offset": 0.01},
        {"query_normaliser": "none", "pair_normaliser": "none"},
        {"doc_sampling": "one_sided", "top_docs": 0.2, "docs_per_tree": 0.3},
        {"tree_shape": "symmetric", "max_depth": 6, "num_leaves": 64, "min_leaf_docs": 1},
    ):
        assert rr.train(docs, num_trees=1, **dict[str, Any](options)).num_trees == 1


def test_nets_and_commands_have_their_own_names(capsys: pytest.CaptureFixture[str]) -> None:
    for name, ours in (("max_iter", "epochs"), ("hidden_layer_sizes", "hidden")):
        with pytest.raises(rr.ParamError, match=f"here it is called {ours}"):
            rr.LambdaRank(**dict[str, Any]({name: 1}))
    for arguments, said in (
        (["tune", "x", "y", "--num-trees", "9"], "given as --set n_estimators="),
        (["inspect", "x", "--num-trees", "9"], "there is no option --num-trees (try"),
        (["evaluate", "x", "y", "--metrics", "map"], "here it is called --metric"),
    ):
        assert main(arguments) == 2
        assert said in capsys.readouterr().err


def test_the_name_of_the_papers_is_the_one_second_name_of_a_loss() -> None:
    docs = rr.datasets.make_polynomial(num_queries=20, docs_per_query=10, seed=0)
    data = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    ours, theirs = (
        rr.train(data, objective=name, num_trees=2) for name in ("lambdamart", "lambdarank")
    )
    assert ours == theirs
    for name in ("rank:ndcg", "YetiRank"):
        with pytest.raises(rr.ParamError, match="here it is called lambdamart"):
            rr.train(data, objective=name)
    guide = (Path(__file__).parents[2] / "docs/how-to/lightgbm.md").read_text(encoding="utf-8")
    assert '`objective="lambdarank"`, as LightGBM and the papers say, is `"lambdamart"`' in guide


X, Y, QID = rr.datasets.make_polynomial(num_queries=20, docs_per_query=10, seed=0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r, _: r.fit(X, Y, qid=QID, eval_at=[1]), "metric is an option of the estimator"),
        (lambda r, _: r.fit(X, Y, qid=QID, verbose=10), "progress is an option of the estimator"),
        (lambda r, _: r.fit(X, Y, qid=QID, init_score=Y), "here it is called base_score"),
        (lambda r, _: r.predict(X, num_iteration=3), r"; booster_\.truncate\(n\).predict\(X\)"),
        (
            lambda r, _: r.booster_.predict(X, num_iteration=3),
            r"; booster\.truncate\(n\)\.predict\(X\) scores by the first n trees",
        ),
        (lambda r, _: r.predict(X, pred_contrib=True), "Booster.explain gives contributions"),
        (lambda r, _: r.booster_.predict(X, raw_score=True), "scores are always raw"),
        (lambda r, _: r.best_iteration_, "here it is called best_round_"),
        (lambda r, _: r.evals_result_, "here it is called history_"),
        (
            lambda r, _: r.booster_.feature_importance("gain"),
            "kind: got 'gain', which is called 'reduction' here; expected 'reduction', 'count' or 'permutation'",
        ),
        (lambda _, d: rr.train(*[{"num_leaves": 7}, d, 10]), "got parameters first"),
        (lambda _, d: rr.train(d, 10), "got 2 arguments without a name"),
    ],
)
def test_calls_of_other_libraries_are_answered(call: Any, said: str) -> None:
    ranker = rr.LambdaMART(n_estimators=2).fit(X, Y, qid=QID)
    with pytest.raises((AttributeError, TypeError, rr.ParamError), match=said):
        call(ranker, rr.Dataset(X, Y, qid=QID))
    assert not hasattr(ranker, "evals_result_")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("score", "predict; the value of a metric is evaluate(dataset)"),
        ("save_model", "save"),
        ("best_iteration", "best_round"),
        ("evals_result", "history"),
    ],
)
def test_attributes_of_other_models_are_answered_with_ours(name: str, ours: str) -> None:
    data = rr.datasets.make_polynomial(num_queries=10, seed=0)
    booster = rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=1)
    assert not hasattr(booster, name)
    with pytest.raises(
        AttributeError, match=f"no attribute '{name}'; here it is called {re.escape(ours)}"
    ):
        getattr(booster, name)


def test_every_attribute_that_is_named_exists() -> None:
    data = rr.datasets.make_polynomial(num_queries=10, seed=0)
    booster = rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=1)
    for ours in OF_MODEL.values():
        name = ours.partition(";")[0].partition(",")[0].removeprefix("Booster.")
        assert hasattr(booster, name), ours


@pytest.mark.parametrize(
    ("name", "called"),
    [("LGBMRanker", "rr.LambdaMART"), ("cv", "rr.cross_validate"), ("DMatrix", "rr.Dataset")],
)
def test_functions_and_classes_of_other_libraries_are_named(name: str, called: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; here it is {called}"):
        getattr(rr, name)
    assert hasattr(rr, called.removeprefix("rr."))
    with pytest.raises(AttributeError, match=r"no attribute 'mystery'$"):
        getattr(rr, "mystery")  # noqa: B009


def test_categories_belong_to_the_data_or_the_ranker() -> None:
    docs = rr.datasets.make_polynomial(4, 5, seed=0)
    rank: Any = rr.auto
    for name in ("categorical", "cat_features", "categorical_feature"):
        with pytest.raises(TypeError, match=rf"no parameter {name}; categories .*rr\.AutoRanker\("):
            rank(docs.X, docs.y, docs.qid, **{name: [0]})
