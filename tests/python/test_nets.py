"""Nets from Python: what they learn, what must not matter, and what is refused."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def made(seed: int = 0, queries: int = 60) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Docs whose labels follow two features, with some values missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * 10, 4)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=len(X))), 0, 4)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y, np.repeat(np.arange(queries), 10)


@pytest.mark.parametrize("kind", [rr.LambdaRank, rr.RankNet])
@pytest.mark.parametrize("hidden", [(), (8,), (8, 4)])
def test_a_net_learns(kind: type[rr.LambdaRank], hidden: tuple[int, ...]) -> None:
    X, y, qid = made()
    net = kind(hidden=hidden, epochs=20, learning_rate=0.01).fit(X, y, qid=qid)
    V, z, ids = made(1)
    value = rr.evaluate(net.predict(V), z, qid=ids)["ndcg@10"]
    # A linear net knows no magnitudes.
    assert value > (0.85 if hidden else 0.75)
    assert value > rr.evaluate(np.zeros(len(z)), z, qid=ids)["ndcg@10"] + 0.05


def test_the_order_of_rows_and_threads_change_nothing() -> None:
    X, y, qid = made()
    net = rr.LambdaRank(epochs=3, batch_queries=4, n_jobs=1).fit(X, y, qid=qid)
    order = np.random.default_rng(1).permutation(len(y))
    other = rr.LambdaRank(epochs=3, batch_queries=4, n_jobs=3)
    other.fit(np.asfortranarray(X[order].astype(np.float64)), y[order], qid=qid[order].astype(str))
    assert net.booster.to_text() == other.booster.to_text()


def test_a_validation_set_decides_which_epoch_is_kept() -> None:
    X, y, qid = made()
    valid = made(1)
    net = rr.LambdaRank(
        epochs=60, learning_rate=0.05, patience=2, restarts=1, metric=["ndcg@5", "map"]
    ).fit(X, y, qid=qid, eval_set=valid)
    history = net.history["valid"]["ndcg@5"]
    assert net.best_epoch == int(np.argmax(history)) + 1
    assert len(history) < 60
    assert net.num_restarts == 1
    value = rr.evaluate(net.predict(valid[0]), valid[1], qid=valid[2], metrics=["ndcg@5"])["ndcg@5"]
    assert value == history.max()
    mapping = {"X": valid[0], "y": valid[1], "group": [10] * 60}
    again = rr.LambdaRank(**net.get_params()).fit(X, y, qid=qid, eval_set=mapping)
    assert again.booster == net.booster


def test_the_papers_training_is_a_preset() -> None:
    net: Any = rr.LambdaRank(preset="sgd")
    assert (net.optimiser, net.schedule, net.weight_decay) == ("sgd", "constant", 0.0)
    assert (net.inputs, net.hidden, net.learning_rate, net.epochs) == ("plain", (25,), 1e-3, 500)
    assert (net.restart_from, net.restart_factor) == ("random", 1.0)
    (X, y, qid), (V, z, ids) = made(), made(1)
    options: dict[str, Any] = {"preset": "sgd", "hidden": (8,), "learning_rate": 0.02}
    options |= {"patience": 4, "restarts": 3, "epochs": 200}
    net = rr.LambdaRank(**options).fit(X, y, qid=qid, eval_set=(V, z, ids))
    assert net.num_restarts == 3
    history = list(net.history["valid"]["ndcg@10"])
    assert net.best_epoch == int(np.argmax(history)) + 1
    value = rr.evaluate(net.predict(V), z, qid=ids)["ndcg@10"]
    assert value == pytest.approx(max(history))
    # Each start learns until four epochs bring nothing new, compared with that start alone.
    starts, best, since = 0, -1.0, 0
    for at, one in enumerate(history):
        best, since = (one, 0) if one > best else (best, since + 1)
        if since == 4:
            starts, best, since = starts + 1, -1.0, 0
            assert at + 1 == len(history) or history[at + 1] < max(history), "a net of no skill"
    assert starts == 4
    order = np.random.default_rng(1).permutation(len(y))
    again = rr.LambdaRank(**options, n_jobs=1)
    again.fit(X[order], y[order], qid=qid[order], eval_set=(V, z, ids))
    np.testing.assert_array_equal(again.predict(V), net.predict(V))
    with pytest.raises(rr.ParamError, match="preset"):
        rr.LambdaRank(preset="wu2008").fit(X, y, qid=qid)


def test_soft_preferences_are_learned_instead_of_labels() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    pairs = [[0, 1, 0.9, 1.0], [1, 2, 0.8, 1.0], [2, 3, 1.0, 0.5], [3, 2, 1.0, 0.2]]
    net = rr.RankNet(hidden=(), epochs=100, learning_rate=0.05)
    scores = net.fit(X, np.zeros(4), group=[4], preferences=pairs).predict(X)
    assert (np.diff(scores) < 0).all()


def test_a_net_is_a_booster_like_any_other(tmp_path: Path) -> None:
    X, y, qid = made()
    net = rr.LambdaRank(epochs=2).fit(X, y, qid=qid)
    path = tmp_path / "net.rrk"
    net.booster.save(path)
    for booster in (rr.Booster.load(path), pickle.loads(pickle.dumps(net.booster))):  # noqa: S301
        assert booster == net.booster
        assert (booster.predict(X) == net.predict(X)).all()
    assert net.booster.num_trees == 0
    assert repr(net.booster) == "<Booster: a net, 4 features>"
    with pytest.raises(rr.ParamError, match="net is not explained"):
        net.booster.explain(X)
    with pytest.raises(rr.ParamError, match="cannot hold a net"):
        net.booster.export("lightgbm")


def test_trees_go_on_from_a_net() -> None:
    X, y, qid = made()
    net = rr.LambdaRank(epochs=3).fit(X, y, qid=qid).booster
    train = rr.Dataset(X, y, qid=qid, base_score=net.predict(X))
    both = rr.train(train, base=net, num_trees=3, num_leaves=4)
    assert both.num_trees == 3
    again = rr.Booster.from_text(both.to_text())
    assert (again.predict(X) == both.predict(X)).all()
    assert not np.allclose(again.predict(X), net.predict(X))


def test_params_are_scikit_learns() -> None:
    from sklearn.base import clone

    net = rr.RankNet(hidden=(3,), epochs=7)
    assert clone(net).get_params() == net.get_params()
    assert net.set_params(epochs=8).epochs == 8
    assert repr(net) == "RankNet(hidden=(3,), epochs=8)"
    with pytest.raises(rr.ParamError, match="there is no parameter epoch; did you mean epochs"):
        net.set_params(epoch=9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hidden": (1, 2, 3)}, "hidden is out of range: got 3, expected at most 2 hidden layers"),
        ({"hidden": (0,)}, "hidden: got 0, expected a whole number from 1 to 4096"),
        ({"epochs": 0}, "epochs: got 0, expected a whole number from 1"),
        ({"learning_rate": -1.0}, "learning_rate is out of range: got -1"),
        ({"learning_rate": "fast"}, "learning_rate: got 'fast', expected a number"),
        ({"optimiser": "lbfgs"}, 'optimiser is not known: got "lbfgs", expected "adam" or "sgd"'),
        ({"inputs": "rank"}, 'inputs is not known: got "rank"'),
        ({"schedule": "cosine"}, 'schedule is not known: got "cosine"'),
        ({"batch_queries": 0}, "batch_queries: got 0"),
        ({"limit": 0.0}, "limit is out of range"),
        ({"random_state": -1}, "random_state: got -1"),
        ({"n_jobs": 0}, "n_jobs: got 0"),
        ({"metric": "ndgc"}, "ndcg"),
        ({"sigma": 0.0}, "sigma"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, Any], said: str) -> None:
    X, y, qid = made(queries=5)
    with pytest.raises((rr.ParamError, TypeError)) as caught:
        rr.LambdaRank(**options).fit(X, y, qid=qid)
    assert said in str(caught.value)


def test_what_cannot_be_learned_from_is_said() -> None:
    X, y, qid = made(queries=5)
    net = rr.LambdaRank(epochs=1)
    with pytest.raises(rr.DataError, match="in every query all labels are equal"):
        net.fit(X, np.ones(len(y)), qid=qid)
    with pytest.raises(rr.DataError, match="no feature has two values"):
        net.fit(np.ones_like(X), y, qid=qid)
    with pytest.raises(rr.DataError, match=r"label\[3\] = 0.5 \(query 0"):
        net.fit(X, np.where(np.arange(len(y)) == 3, 0.5, y), qid=qid)
    with pytest.raises(rr.DataError, match="infinite"):
        net.fit(np.where(X > 1, np.inf, X), y, qid=qid)
    with pytest.raises(rr.DataError, match="eval_set has another number of features than the"):
        net.fit(X, y, qid=qid, eval_set=(X[:, :3], y, qid))
    with pytest.raises(TypeError, match="which keeps no values"):
        net.fit(rr.Dataset(X, y, qid=qid), y, qid=qid)
    with pytest.raises(rr.ParamError, match="eval_set has no y"):
        net.fit(X, y, qid=qid, eval_set={"X": X})
    with pytest.raises(rr.ParamError, match="eval_set has 'labels'"):
        net.fit(X, y, qid=qid, eval_set={"X": X, "labels": y})
    with pytest.raises(rr.DataError, match=r"a row of preferences\[0\]: got 99"):
        rr.RankNet().fit(X, y, qid=qid, preferences=[[0, 99]])
    with pytest.raises(rr.RustrankError, match="not fitted"):
        rr.RankNet().predict(X)


def test_tables_of_any_kind_are_taken() -> None:
    import pandas as pd
    from scipy import sparse

    X, y, qid = made()
    X = np.nan_to_num(X)
    plain = rr.LambdaRank(epochs=1).fit(X, y, qid=qid)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    named = rr.LambdaRank(epochs=1).fit(frame, y, qid=qid)
    assert named.booster.feature_names == ["a", "b", "c", "d"]
    assert (named.predict(frame) == plain.predict(X)).all()
    stored = rr.LambdaRank(epochs=1).fit(sparse.csr_matrix(X), y, qid=qid)
    assert (stored.predict(X) == plain.predict(X)).all()


def test_ctrl_c_ends_training_and_leaves_the_booster() -> None:
    X, y, qid = made(queries=2000)
    net = rr.LambdaRank(epochs=100_000, hidden=(64, 64))

    def press() -> None:
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        net.fit(X, y, qid=qid)
    thread.join()
    assert caught.value.booster.num_features == 4  # type: ignore[attr-defined]


def test_progress_is_said_where_no_terminal_is(capfd: pytest.CaptureFixture[str]) -> None:
    X, y, qid = made()
    rr.LambdaRank(epochs=3, progress=True).fit(X, y, qid=qid, eval_set=made(1))
    said = capfd.readouterr().err
    assert said.startswith("epoch 1, valid ndcg@10 0.")
    assert "epoch 3" in said


@pytest.mark.parametrize("kind", [rr.LambdaRank, rr.RankNet])
def test_the_best_epoch_is_another_fact_than_the_epochs(kind: Any) -> None:
    docs, held = (rr.datasets.make_polynomial(20, seed=seed) for seed in (0, 1))
    options: dict[str, Any] = {"hidden": (8,), "learning_rate": 0.05, "weight_decay": 0.0}
    net = kind(epochs=10, **options).fit(docs.X, docs.y, docs.qid, eval_set=tuple(held))
    values = net.history_["valid"]["ndcg@10"]
    best = int(np.argmax(values)) + 1
    assert best < 10
    assert net.booster_.params["epochs"] == "10"
    assert net.best_round_ == net.best_epoch == net.booster_.best_round == best
    axes = rr.plot_metric(net)
    assert f"best round: {best}" in [one.get_text() for one in axes.get_legend().get_texts()]
    assert f"{best} of {len(values)}" in net.booster_._repr_html_()
    plain = kind(epochs=2, **options).fit(docs.X, docs.y, docs.qid)
    assert plain.best_round_ is plain.booster_.best_round is None
    assert plain.booster_.params["epochs"] == "2"
    with pytest.raises(AttributeError, match="not fitted"):
        _ = kind().best_round_
