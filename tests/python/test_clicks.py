"""Click models against brute force over all that is hidden, and on logs that were simulated from them."""

from __future__ import annotations

import math
import pickle
import warnings
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import rustrank as rr

clicks = rr.clicks


def simulated(
    kind: str, sessions: int = 6000, docs: int = 8, shown: int = 5, seed: int = 0
) -> tuple[clicks.ClickLog, dict[str, Any]]:
    """Simulate sessions of two queries, in which documents stand in random order."""
    random = np.random.default_rng(seed)
    attraction, satisfaction = random.uniform(0.1, 0.9, (2, 2, docs))
    examination = np.array([1.0, 0.7, 0.5, 0.3, 0.2])[:shown]
    rows = []
    for session in range(sessions):
        query = session % 2
        looks = True
        for place, doc in enumerate(random.permutation(docs)[:shown]):
            if kind == "pbm":
                looks = random.random() < examination[place]
            click = looks and random.random() < attraction[query, doc]
            rows.append((session, query, doc, place + 1, int(click)))
            if kind == "cascade" and click:
                looks = False
            if kind == "dbn":
                is_done = click and random.random() < satisfaction[query, doc]
                looks = looks and not is_done and random.random() < 0.8
    table = np.array(rows)
    truth = {"attraction": attraction, "satisfaction": satisfaction, "examination": examination}
    return clicks.ClickLog(*table.T), truth


def by_pair(found: clicks.Relevance) -> np.ndarray[Any, Any]:
    values = np.full((2, 8), np.nan)
    values[found.query, found.doc] = found.value
    return values


def test_a_position_based_model_is_recovered() -> None:
    log, truth = simulated("pbm", 20_000)
    model = clicks.PositionBased().fit(log)
    assert np.abs(model.examination - truth["examination"]).max() < 0.05
    assert np.abs(by_pair(model.relevance()) - truth["attraction"]).max() < 0.07
    # Clicks alone mix attraction with the position.
    assert model.perplexity() < clicks.Cascade().fit(log).perplexity()
    found = model.relevance()
    assert found.impressions.sum() == log.num_rows
    assert set(found.labels()) <= {0, 1, 2, 3, 4}
    assert found.labels(2).tolist() == (found.value >= 0.5).astype(float).tolist()


def test_a_cascade_is_recovered() -> None:
    log, truth = simulated("cascade", 12_000)
    model = clicks.Cascade().fit(log)
    assert np.abs(by_pair(model.relevance()) - truth["attraction"]).max() < 0.05
    after_click = model.click_probability()[np.roll(log.clicks == 1, 1) & (log.positions > 1)]
    assert (after_click == 0).all()


def test_a_dynamic_bayesian_network_is_recovered() -> None:
    log, truth = simulated("dbn", 30_000)
    model = clicks.DynamicBayesian().fit(log)
    assert abs(model.continuation - 0.8) < 0.05
    expected = truth["attraction"] * truth["satisfaction"]
    assert np.abs(by_pair(model.relevance()) - expected).max() < 0.08
    assert model.perplexity() < clicks.PositionBased().fit(log).perplexity()


def likelihood_of_path(a: Any, s: Any, gamma: float, c: Any, looks: Any, done: Any) -> float:
    """Return the probability of clicks, looks and satisfaction together."""
    p = 1.0
    for at in range(len(c)):
        before = 1.0
        if at:
            before = 0.0 if not looks[at - 1] or done[at - 1] else gamma
        p *= before if looks[at] else 1 - before
        p *= (a[at] if c[at] else 1 - a[at]) if looks[at] else float(not c[at])
        p *= (s[at] if done[at] else 1 - s[at]) if c[at] else float(not done[at])
    return p


def test_expected_looks_and_satisfaction_are_those_of_all_paths() -> None:
    log, _ = simulated("dbn", 60, shown=4, seed=3)
    with pytest.warns(rr.RustrankWarning, match="has not converged"):
        model = clicks.DynamicBayesian(3).fit(log)
    grid = log.grid()
    looked, satisfied, went_on, could = model._expected(log, grid)
    p_click = model.click_probability()
    totals = np.zeros(2)
    for rows in grid:
        a, s = model._attraction[log.pairs[rows]], model._satisfaction[log.pairs[rows]]
        c, gamma = log.clicks[rows] == 1, model.continuation
        paths = list(product(product((0, 1), repeat=4), repeat=2))
        weights = np.array([likelihood_of_path(a, s, gamma, c, *path) for path in paths])
        posterior = weights / weights.sum()
        looks, done = (np.array([path[which] for path in paths]) for which in (0, 1))
        assert np.allclose(posterior @ looks, looked[rows])
        assert np.allclose(posterior @ done, satisfied[rows])
        free = looks[:, :-1] * (1 - done[:, :-1])
        totals += posterior @ (free * looks[:, 1:]).sum(1), posterior @ free.sum(1)
        # The chain of click probabilities is the likelihood of the clicks.
        chain = np.where(c, p_click[rows], 1 - p_click[rows])
        assert math.isclose(chain.prod(), weights.sum(), rel_tol=1e-9)
    assert np.allclose(totals, (went_on, could))


def penalised(model: Any, log: Any, *probabilities: Any, mean: float = 0.5) -> float:
    """The log-likelihood with the prior that adds two looks, of which ``mean`` are successes."""
    shares = (mean, *[0.5] * (len(probabilities) - 1))
    priors = sum(
        2 * float(np.sum(share * np.log(p) + (1 - share) * np.log1p(-p)))
        for share, p in zip(shares, probabilities, strict=True)
    )
    return float(model.log_likelihood() * log.num_rows + priors)


def rare_clicks() -> tuple[clicks.ClickLog, Any, Any]:
    """A log of a position-based model in which two to ten of a hundred looks are clicks."""
    random = np.random.default_rng(0)
    attraction = random.uniform(0.02, 0.1, (20, 6))
    examination = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.2])
    return (*log_of_pages(random, attraction, examination, 20_000), attraction)


def log_of_pages(random: Any, attraction: Any, examination: Any, sessions: int) -> Any:
    session = np.repeat(np.arange(sessions), 6)
    query, position = session % 20, np.tile(np.arange(1, 7), sessions)
    doc = np.concatenate([random.permutation(6) for _ in range(sessions)])
    is_clicked = random.random(6 * sessions) < attraction[query, doc] * examination[position - 1]
    return clicks.ClickLog(session, query, doc, position, is_clicked), examination


def slow_position_based(log: clicks.ClickLog, rounds: int) -> tuple[Any, Any]:
    """Expectation maximisation as in the book, with the first position looked at always."""
    a, e = np.full(log.num_pairs, 0.5), np.full(log.num_positions, 0.5)
    e[0] = 1.0
    on_first = log.clicks[log.positions == 1]
    mean = (on_first.sum() + 1) / (len(on_first) + 2)
    shown = np.bincount(log.pairs, minlength=log.num_pairs)
    places = log.positions - 1
    for _ in range(rounds):
        ra, re = a[log.pairs], e[places]
        attracts = np.where(log.clicks == 1, 1.0, ra * (1 - re) / (1 - ra * re))
        looks = np.where(log.clicks == 1, 1.0, re * (1 - ra) / (1 - ra * re))
        a = (np.bincount(log.pairs, attracts) + 2 * mean) / (shown + 2)
        e = (np.bincount(places, looks) + 1) / (np.bincount(places) + 2)
        e[0] = 1.0
    return a, e


@pytest.mark.filterwarnings("error")
def test_rare_clicks_give_the_true_probabilities() -> None:
    log, examination, attraction = rare_clicks()
    model = clicks.PositionBased().fit(log)
    assert np.abs(model.examination - examination).max() < 0.04
    found = model.relevance()
    assert abs((found.value / attraction[found.query, found.doc]).mean() - 1) < 0.03
    product = model.examination[log.positions - 1] * found.value[log.pairs]
    assert (model.click_probability() == product).all()
    for position in range(1, 7):
        is_here = log.positions == position
        assert abs(product[is_here].mean() / log.clicks[is_here].mean() - 1) < 0.01


@pytest.mark.parametrize("kind", ["rare", "documented", "few"])
def test_a_position_based_model_is_that_of_slow_expectation_maximisation(kind: str) -> None:
    if kind == "rare":
        log, rounds = rare_clicks()[0], 3000
    elif kind == "documented":
        random = np.random.default_rng(0)
        attraction = random.uniform(0.05, 0.9, (20, 6))
        looked_at = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.2])
        log, rounds = log_of_pages(random, attraction, looked_at, 3000)[0], 1000
    else:
        log, rounds = simulated("pbm", 40)[0], 5000
    model = clicks.PositionBased().fit(log)
    attraction, examination = slow_position_based(log, rounds)
    assert np.abs(model.examination - examination).max() < 1e-4
    assert np.abs(model._attraction - attraction).max() < 1e-4


@pytest.mark.parametrize("kind", [clicks.PositionBased, clicks.DynamicBayesian])
def test_a_fit_that_has_not_converged_warns(kind: Any) -> None:
    log, _ = simulated("dbn", 300)
    name = kind.__name__
    with pytest.warns(rr.RustrankWarning, match=rf"{name} has not converged: .* 2 .*iterations=20"):
        kind(2).fit(log)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough, more = kind().fit(log), kind(5000).fit(log)
    assert (enough.relevance().value == more.relevance().value).all()


def test_a_log_without_the_first_position_has_another_first() -> None:
    log = clicks.ClickLog([1, 1, 2, 2], [1] * 4, [1, 2, 2, 1], [2, 3, 2, 3], [1, 0, 1, 0])
    model = clicks.PositionBased().fit(log)
    assert model.examination[:2].tolist() == [0.5, 1.0]
    assert 0 < model.examination[2] < 0.5


@pytest.mark.filterwarnings("ignore:.*has not converged")
@pytest.mark.parametrize("kind", ["pbm", "dbn"])
def test_every_round_raises_the_likelihood(kind: str) -> None:
    log, _ = simulated(kind, 300, seed=5)
    values = []
    for rounds in range(1, 12):
        if kind == "pbm":
            pbm = clicks.PositionBased(rounds).fit(log)
            on_first = log.clicks[log.positions == 1]
            mean = (on_first.sum() + 1) / (len(on_first) + 2)
            values.append(penalised(pbm, log, pbm._attraction, pbm.examination[1:], mean=mean))
        else:
            dbn = clicks.DynamicBayesian(rounds).fit(log)
            gamma = np.array([dbn.continuation])
            values.append(penalised(dbn, log, dbn._attraction, dbn._satisfaction, gamma))
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(values))
    assert values[-1] > values[0]


@pytest.mark.parametrize("kind", [clicks.PositionBased, clicks.Cascade, clicks.DynamicBayesian])
def test_the_order_of_rows_and_the_type_of_ids_change_no_bit(kind: Any) -> None:
    log, _ = simulated("dbn", 400)
    docs, queries = log.doc_of_pair[log.pairs], log.query_of_pair[log.pairs]
    order = np.random.default_rng(1).permutation(log.num_rows)
    columns = (log.sessions, queries, docs, log.positions, log.clicks)
    shuffled = clicks.ClickLog(*(column[order] for column in columns))
    one, other = kind().fit(log), kind().fit(shuffled)
    assert (one.relevance().value == other.relevance().value).all()
    assert (one.relevance().doc == other.relevance().doc).all()
    named = clicks.ClickLog(
        [f"s{one:05}" for one in log.sessions], queries.astype(str), docs.astype(str), *columns[3:]
    )
    assert (kind().fit(named).relevance().value == one.relevance().value).all()
    assert pickle.loads(pickle.dumps(one)).perplexity() == one.perplexity()  # noqa: S301


def test_labels_of_clicks_train_a_ranker() -> None:
    log, truth = simulated("pbm", 6000)
    found = clicks.PositionBased().fit(log).relevance()
    attraction = truth["attraction"][found.query, found.doc]
    X = np.column_stack([attraction, found.doc])
    ranker = rr.LambdaMART(n_estimators=5, min_leaf_docs=2).fit(X, found.labels(), qid=found.query)
    assert np.corrcoef(ranker.predict(X), X[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"click": [0, 2]}, r"click\[1\] = 2, expected 0 or 1"),
        ({"position": [1, 0.5]}, r"position\[1\] = 0.5, expected a whole number from 1"),
        ({"position": [1, 1]}, "session 7 has two rows at position 1"),
        ({"query": ["a", "b"]}, "session 7 has two queries"),
        ({"doc": ["x"]}, "doc has the wrong length: got 1, expected 2"),
    ],
)
def test_bad_logs_are_refused(changes: dict[str, Any], said: str) -> None:
    given = {"session": [7, 7], "query": ["a", "a"], "doc": ["x", "y"]}
    given |= {"position": [1, 2], "click": [0, 1]}
    assert "2 rows, 1 sessions" in repr(clicks.ClickLog(**given))
    with pytest.raises(rr.DataError, match=said):
        clicks.ClickLog(**(given | changes))


def test_models_say_what_they_need() -> None:
    with pytest.raises(rr.NotFittedError, match="PositionBased is not fitted"):
        clicks.PositionBased().relevance()
    with pytest.raises(rr.ParamError, match="continuation: got 0"):
        clicks.DynamicBayesian(continuation=0)
    log = clicks.ClickLog([1, 1], [1, 1], [1, 2], [1, 3], [0, 1])
    assert clicks.PositionBased().fit(log).relevance().value.shape == (2,)
    for kind in (clicks.Cascade, clicks.DynamicBayesian):
        with pytest.raises(rr.DataError, match="position 3 and not 2"):
            kind().fit(log)
