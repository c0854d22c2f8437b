"""What notebooks show of datasets, models and results."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = rr.datasets.make_polynomial(40, seed=0)
EVIL = "<script>alert('&')</script>"
NAMES = [EVIL, *(f"f{at}" for at in range(1, DATA.X.shape[1]))]
FEW: dict[str, Any] = {"n_estimators": 3, "num_leaves": 4}


@pytest.fixture(scope="module")
def train() -> rr.Dataset:
    return rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, feature_names=NAMES)


@pytest.fixture(scope="module")
def booster(train: rr.Dataset) -> rr.Booster:
    # Only the feature with the name to escape is looked at.
    alone: dict[str | int, float] = {name: float(name == EVIL) for name in NAMES}
    return rr.train(
        train,
        num_trees=6,
        num_leaves=4,
        valid={EVIL: train},
        feature_weight=alone,
        early_stopping=rr.EarlyStopping(3, valid=EVIL),
    )


class _Page(HTMLParser):
    """The elements that are open, all tags, all attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def _shown(value: Any) -> str:
    """Return the text of a result's HTML, which has tables and paragraphs alone, in the page's colours."""
    page = _Page()
    page.feed(value._repr_html_())
    page.close()
    assert not page.open
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "p", "div"}
    assert {name for name, _ in page.attributes} <= {"style", "scope"}
    assert not re.search(r"color|background|url\(", " ".join(of or "" for _, of in page.attributes))
    return " ".join(page.text.split())


def test_a_dataset_says_how_large_it_is(train: rr.Dataset) -> None:
    text = _shown(train)
    assert text.startswith(f"Dataset docs {len(DATA.y):,} queries 40, of ")
    assert f"features 50: {EVIL}, f1, f2, f3, f4 and 45 more" in text
    assert f"labels 0: {(DATA.y == 0).mean():.1%}, 1: {(DATA.y == 1).mean():.1%}" in text
    assert "categorical" not in text
    assert "not used" not in text
    X = DATA.X.copy()
    X[:, 2], X[:, 3] = 1, np.arange(len(X)) % 4
    with pytest.warns(rr.RustrankWarning):
        some = rr.Dataset(X, DATA.y, qid=DATA.qid, categorical=[3])
    assert "categorical f3 not used: one value f2 labels" in _shown(some)


def test_a_booster_shows_its_model_and_its_training(booster: rr.Booster) -> None:
    text = _shown(booster)
    assert text.startswith(f"Booster model {booster.num_trees} trees objective lambdamart options ")
    assert "learning_rate=0.1, num_leaves=4" in text
    assert f"most important {EVIL} 100% best round {booster.best_round} of " in text
    assert text.endswith(f"{EVIL} ndcg@10 {booster.history[EVIL]['ndcg@10'].max():.4f}")
    loaded = rr.Booster.from_text(booster.to_text())
    assert "best round" not in _shown(loaded)
    assert EVIL in _shown(loaded)
    assert "trees of models inside" in _shown(loaded.calibrate(DATA.X, DATA.y))
    assert "0 trees" in _shown(booster.truncate(0))


@pytest.mark.parametrize("kind", [rr.LambdaMART, rr.McRank, rr.LambdaBoost])
def test_estimators_show_their_options_and_the_fitted_model(kind: Callable[..., Any]) -> None:
    ranker = kind(n_estimators=3)
    name = type(ranker).__name__
    assert _shown(ranker) == f"{name}, not fitted given n_estimators=3"
    assert _shown(kind()) == f"{name}, not fitted given no options: all are the defaults"
    text = _shown(ranker.fit(DATA.X, DATA.y, qid=DATA.qid))
    assert text.startswith(f"{name}, fitted given n_estimators=3 model ")
    assert "features 50" in text
    assert EVIL in _shown(kind(metric=EVIL))


def test_a_net_says_that_it_is_one() -> None:
    net = rr.RankNet(epochs=1).fit(DATA.X, DATA.y, qid=DATA.qid)
    assert "model a net objective ranknet features 50" in _shown(net)


def test_results_escape_the_names_of_rankers(booster: rr.Booster) -> None:
    scores = {EVIL: booster.predict(DATA.X), "first": DATA.X[:, 0].astype(np.float64)}
    queries: dict[str, Any] = {"qid": DATA.qid}
    combiner = rr.Combiner("ndcg@10")
    assert _shown(combiner) == "Combiner, not fitted metric ndcg@10"
    rivals = {EVIL: rr.LambdaMART(**FEW), "MART": rr.MART(**FEW)}
    results = [
        rr.compare(scores[EVIL], scores["first"], DATA.y, **queries, names=(EVIL, "first")),
        combiner.fit(scores, DATA.y, **queries),
        rr.cross_validate(rivals, DATA.X, DATA.y, **queries, folds=2),
    ]
    for result in results:
        assert EVIL in _shown(result)
    assert "ndcg@10" in _shown(rr.evaluate(scores[EVIL], DATA.y, **queries))
    tuned = rr.tune(rr.LambdaMART(**FEW), DATA, {"l2": [0.0, 1.0]}, folds=2, refit=False)
    assert "best of 2 settings" in _shown(tuned)


def test_data_and_recipes_are_shown_in_a_few_lines() -> None:
    docs = rr.datasets.make_polynomial(4, 5, seed=0)
    low, high = docs.y.min(), docs.y.max()
    expected = f"<Ranking: 20 docs, 4 queries, 50 features, labels {low:g} to {high:g}>"
    assert repr(docs) == expected
    log = rr.datasets.make_clicks(docs, sessions=3, depth=2)
    clicks = int(log.y.sum())
    assert repr(log).startswith("<Clicks: 24 shown docs, 12 sessions, ")
    assert f", {clicks} click" in repr(log)
    domains = rr.datasets.make_domains()
    lines = repr(domains).splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(vars(domains))
    assert f"{len(domains.target.y):,}" in lines[2]
    assert "valid_closed" in _shown(domains)
    recipe = rr.recipe("yahoo2010")
    assert repr(recipe).splitlines()[1].startswith("M1 ")
    assert recipe.descriptions["M2"] in _shown(recipe)
    assert len(repr(rr.recipe("diverse"))) < 2000


def test_the_comparison_by_one_metric_is_shown_as_that_by_all() -> None:
    scores = DATA.X[:, 0], DATA.X[:, 1]
    found = rr.compare(*scores, DATA.y, qid=DATA.qid, metrics=["ndcg@10", "map"], resamples=50)
    lines = repr(found["map"]).splitlines()
    assert lines[1].startswith("map ")
    assert lines[-1] == found["map"].statement
    assert "ndcg@10" not in repr(found["map"])
    assert found["map"].statement in _shown(found["map"])


def test_click_models_and_relevance_are_shown_in_a_line() -> None:
    log = rr.clicks.ClickLog(
        session=[1, 1, 2, 2],
        query=["cat"] * 4,
        doc=["a", "b", "b", "a"],
        position=[1, 2, 1, 2],
        click=[1, 0, 1, 0],
    )
    for model in (rr.clicks.PositionBased(), rr.clicks.Cascade(), rr.clicks.DynamicBayesian()):
        name = type(model).__name__
        assert repr(model) == f"<{name}: not fitted>"
        assert repr(model.fit(log)).startswith(f"<{name}: fitted to ClickLog: 4 rows, 2 sessions")
        found = model.relevance()
        mean = f"{found.value.mean():.4f}"
        expected = f"<Relevance: 2 pairs of query and doc, 4 impressions, mean value {mean}>"
        assert repr(found) == expected


def test_relevance_is_a_table_of_pairs() -> None:
    pytest.importorskip("pandas")
    log = rr.clicks.ClickLog([1, 1], ["q", "q"], ["a", "b"], [1, 2], [1, 0])
    found = rr.clicks.PositionBased().fit(log).relevance()
    table = found.to_pandas()
    assert list(table) == ["query", "doc", "value", "impressions"]
    assert table["doc"].tolist() == ["a", "b"]
    assert table["value"].tolist() == found.value.tolist()
