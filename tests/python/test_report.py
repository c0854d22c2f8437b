"""A report is valid, accessible HTML that needs nothing else, and says what the package says."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rustrank as rr
from rustrank.cli import main
from rustrank.metrics.comparison import holm
from rustrank.model.ranking import feature_ranks
from rustrank.reporting import _findings, _svg_charts
from rustrank.reporting._html import Markup, joined, tag
from rustrank.reporting._swapped_docs import contrast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

#: What would break a page that did not escape it.
EVIL = "<script>alert('x')</script><img src=x onerror=\"y\"> & &lt; \"' ]]> $x$ \x00\ud800"

#: All elements that a page has.
ELEMENTS = """
    html head meta title style body a header h1 p nav ol li main section h2 h3 div ul table caption
    thead tbody tr th td span strong small figure figcaption details summary dl dt dd code svg line
    path footer
"""

TRAIN, TEST = (rr.datasets.make_polynomial(30, seed=seed) for seed in (0, 1))
NAMES = [f"{EVIL} {at}" for at in range(TRAIN.X.shape[1])]
QID = np.array([f"{EVIL} q{query}" for query in TEST.qid], dtype=object)


@pytest.fixture(scope="module")
def booster() -> rr.Booster:
    names = [name.replace("\x00", "").replace("\ud800", "") for name in NAMES]
    train = rr.Dataset(TRAIN.X, TRAIN.y, qid=TRAIN.qid, feature_names=names)
    return rr.train(train, num_trees=8, num_leaves=6, valid={EVIL[:20]: train})


@pytest.fixture(scope="module")
def made(booster: rr.Booster) -> rr.Report:
    noise = np.random.default_rng(0).normal(size=len(TEST.y))
    other = rr.LambdaMART(n_estimators=4).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    rankers = {
        "noise": noise,
        EVIL: booster,
        "an estimator": other,
        "a function": lambda X: X[:, 0],
        "another library's": SimpleNamespace(predict=lambda X: X[:, 1]),
        "reversed": -noise,
    }
    docs = [f"{EVIL} doc {row}" for row in range(len(TEST.y))]
    return rr.report(
        rankers,
        TEST.y,
        X=TEST.X,
        qid=QID,
        doc_ids=docs,
        title=EVIL,
        resamples=200,
        examples=2,
        metrics=["ndcg@10", "map"],
    )


def parsed(text: str) -> tuple[Any, list[str]]:
    import html5lib

    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(text)
    return tree, [f"{place}: {what} {more}" for place, what, more in parser.errors]


def elements(tree: Any) -> Iterator[Element]:
    yield from (one for one in tree.iter() if isinstance(one.tag, str))


def name_of(one: Element) -> str:
    return one.tag.rpartition("}")[2]


def text_of(one: Element) -> str:
    return " ".join("".join(one.itertext()).split())


def test_the_page_is_valid(made: rr.Report) -> None:
    _, faults = parsed(made.html)
    assert faults == []
    assert made.html.startswith('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">')


def test_the_validator_finds_faults() -> None:
    assert parsed('<!DOCTYPE html><p title="a" title="b">x</p>')[1]
    assert parsed("<!DOCTYPE html><p><table></p></table>")[1]


def test_what_people_call_things_is_text(made: rr.Report) -> None:
    tree, _ = parsed(made.html)
    assert {name_of(one) for one in elements(tree)} <= set(ELEMENTS.split())
    shown = "".join(tree.itertext())
    escaped = EVIL.replace("\x00", "\ufffd").replace("\ud800", "?")
    for what in (escaped, f"{escaped} q", f"{escaped} doc "):
        assert what in shown
    assert "onerror" not in {key for one in elements(tree) for key in one.attrib}
    assert [text_of(one) for one in elements(tree) if name_of(one) == "h1"] == [
        " ".join(escaped.split())
    ]


def test_nothing_is_loaded_from_elsewhere(made: rr.Report) -> None:
    tree, _ = parsed(made.html)
    for one in elements(tree):
        for key, value in one.attrib.items():
            assert key.rpartition("}")[2] not in ("src", "srcset", "action", "data", "xlink:href")
            if key == "href":
                assert value.startswith("#")
            if key == "style":
                assert "url" not in value
    assert not re.search(r"url\(|@import|@font-face", made.html.partition("</style>")[0])


def test_headings_landmarks_and_links_are_in_order(made: rr.Report) -> None:
    tree, _ = parsed(made.html)
    levels = [
        int(name_of(one)[1]) for one in elements(tree) if re.fullmatch("h[1-6]", name_of(one))
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len([one for one in elements(tree) if name_of(one) == "main"]) == 1
    ids = [one.attrib["id"] for one in elements(tree) if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    for one in elements(tree):
        for named in (one.attrib.get("aria-labelledby"), one.attrib.get("href", "")[1:]):
            assert not named or named in ids
    sections = [one for one in elements(tree) if name_of(one) == "section"]
    links = [one.attrib["href"] for one in elements(tree) if name_of(one) == "a"]
    assert links == ["#content", *(f"#{one.attrib['aria-labelledby']}" for one in sections)]
    assert len(sections) == 10


def test_tables_and_pictures_say_what_they_are(made: rr.Report) -> None:
    tree, _ = parsed(made.html)
    tables = [one for one in elements(tree) if name_of(one) == "table"]
    assert len(tables) > 10
    for table in tables:
        assert text_of(table.findall("caption")[0])
        head = table.findall("thead/tr/th")
        assert all(cell.attrib["scope"] == "col" and text_of(cell) for cell in head)
        for row in table.findall("tbody/tr"):
            first, *others = list(row)
            assert (first.tag, first.attrib["scope"]) == ("th", "row")
            assert len(others) == len(head) - 1
    for one in elements(tree):
        if name_of(one) == "svg":
            is_hidden = one.attrib.get("aria-hidden") == "true"
            assert is_hidden or (one.attrib["role"] == "img" and one.attrib["aria-label"])
        if "scroll" in one.attrib.get("class", "").split():
            # Who has no mouse scrolls by keys.
            assert one.attrib["tabindex"] == "0"
            assert one.attrib["role"] == "group"
            assert one.attrib["aria-label"]
        assert "nan" not in one.attrib.get("style", "") + one.attrib.get("d", "")


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def against(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def schemes(css: str) -> dict[str, dict[str, str]]:
    """Return the colours of each scheme, by the condition that it has."""
    import tinycss2

    found: dict[str, dict[str, str]] = {}

    def read(rules: Any, condition: str) -> None:
        for rule in rules:
            assert rule.type != "error", rule.message
            if rule.type == "at-rule":
                inside = tinycss2.parse_rule_list(rule.content, True, True)
                read(inside, tinycss2.serialize(rule.prelude).strip())
                continue
            said = tinycss2.parse_declaration_list(rule.content, True, True)
            assert [one.message for one in said if one.type == "error"] == []
            if tinycss2.serialize(rule.prelude).strip() == ":root":
                found[condition] = {
                    one.name[2:]: tinycss2.serialize(one.value).strip() for one in said
                }

    read(tinycss2.parse_stylesheet(css, True, True), "")
    return found


def test_colours_have_contrast_in_light_dark_and_on_paper() -> None:
    css = (Path(rr.__file__).parent / "reporting" / "report.css").read_text("utf-8")
    found = schemes(css)
    assert list(found) == ["", "(prefers-color-scheme: dark)", "print"]
    for colors in found.values():
        assert set(colors) == set(found[""])
        for behind in ("page", "card"):
            for text in ("ink", "soft", "link"):
                assert against(colors[text], colors[behind]) >= 4.5
            for shape in ("c0", "c1", "c2", "c3", "c4", "gain", "loss", "link"):
                assert against(colors[shape], colors[behind]) >= 3
    # Every colour of text and shapes is one of those.
    body = re.sub(r":root \{[^}]*\}", "", css)
    assert not re.search(r"#[0-9a-f]{3,8}\b", body)
    assert set(re.findall(r"--c(\d)", css)) == {str(at) for at in range(_svg_charts.SERIES)}


def test_figures_are_those_of_the_package(made: rr.Report, booster: rr.Booster) -> None:
    scores = booster.predict(TEST.X)
    noise = np.random.default_rng(0).normal(size=len(TEST.y))
    expected = rr.evaluate(scores, TEST.y, qid=TEST.qid, metrics=["ndcg@10", "map"])
    found = made.evaluations[EVIL]
    assert {name: float(value) for name, value in found.items()} == {
        name: float(value) for name, value in expected.items()
    }
    shown = unescape(made.html)
    compared = rr.compare(noise, scores, TEST.y, qid=TEST.qid, resamples=200)["ndcg@10"]
    ours = made.comparisons["noise", EVIL]["ndcg@10"]
    assert ours.to_dict() == {**compared.to_dict(), "means": ours.to_dict()["means"]}
    for text in (
        f"{float(expected['map']):.4f}",
        f"{compared.difference:+.4f}",
        f"{compared.interval[0]:+.4f} to {compared.interval[1]:+.4f}",
        f"is better for {compared.wins:,}",
    ):
        assert text in shown
    assert list(made.comparisons) == [
        ("noise", name) for name in made.evaluations if name != "noise"
    ]


def test_the_same_makes_the_same_page(booster: rr.Booster) -> None:
    def once(threads: int) -> str:
        rankers = {"feature": TEST.X[:, 0], "trees": booster}
        more: dict[str, Any] = {"resamples": 100, "num_threads": threads}
        return rr.report(rankers, TEST.y, X=TEST.X, qid=TEST.qid, **more).html

    assert once(1) == once(2)


def test_swaps_are_what_the_metric_loses(booster: rr.Booster) -> None:
    scores = booster.predict(TEST.X)
    rankers = {"feature": TEST.X[:, 0], "trees": booster}
    given = {"y": TEST.y, "X": TEST.X, "qid": TEST.qid}
    from rustrank.combining.side_by_side import SideBySide
    from rustrank.metrics.evaluation import Drawing, Judging

    judging = Judging("err@10", "exp2", "expected", "skip", 1, None, None)
    side = SideBySide.of(rankers, given, None)
    found = _findings.Findings(side, judging, Drawing(50, 0, None), "feature", 3)
    assert len(found.gained) == 3
    value = rr.evaluate(scores, TEST.y, qid=TEST.qid, metrics="err@10")["err@10"].per_query
    for case in found.gained:
        assert case.swap is not None
        assert case.difference > 0
        better, worse = case.swap.better, case.swap.worse
        assert TEST.y[better] > TEST.y[worse]
        assert scores[better] > scores[worse]
        assert TEST.X[better, 0] < TEST.X[worse, 0]
        traded = scores.copy()
        traded[[better, worse]] = scores[[worse, better]]
        after = rr.evaluate(traded, TEST.y, qid=TEST.qid, metrics="err@10")["err@10"].per_query
        assert case.swap.delta == pytest.approx(value[case.query] - after[case.query])
        whole = contrast(booster, TEST.X.astype(float), better, worse)
        assert whole is not None
        assert whole.sum() == pytest.approx(scores[better] - scores[worse])
        for reason in case.swap.reasons:
            at = booster.feature_names.index(reason.feature)
            assert reason.contribution == {"trees": pytest.approx(whole[at])}
            assert (reason.better, reason.worse) == (TEST.X[better, at], TEST.X[worse, at])
    gains = [case.difference for case in found.gained]
    assert gains == sorted(gains, reverse=True)


def test_ranks_within_queries_are_explained_too() -> None:
    train = rr.Dataset(TRAIN.X, TRAIN.y, qid=TRAIN.qid, query_ranks=True)
    ranker = rr.train(train, num_trees=5, num_leaves=6)
    rankers = {"feature": TEST.X[:, 0], "ranks": ranker}
    names = [f"name {at}" for at in range(TEST.X.shape[1])]
    more: dict[str, Any] = {"X": TEST.X, "qid": TEST.qid, "resamples": 50}
    shown = rr.report(rankers, TEST.y, feature_names=names, **more).html
    assert parsed(shown)[1] == []
    assert ": why" in shown
    assert "rank(name " in shown
    tables = [one for one in elements(parsed(shown)[0]) if name_of(one) == "table"]
    found = [
        [text_of(cell) for cell in row]
        for table in tables
        if text_of(table.findall("caption")[0]).endswith(": why")
        for row in table.findall("tbody/tr")
        if text_of(row[0]).startswith("rank(")
    ]
    assert found
    assert not [row for row in found if "missing" in row]
    with pytest.raises(
        rr.DataError, match="feature_names has 49 names, expected 50: the features of"
    ):
        rr.report(rankers, TEST.y, feature_names=names[1:], **more)


def test_rankers_may_be_of_any_kind(booster: rr.Booster, tmp_path: Path) -> None:
    booster.save(tmp_path / "model.rrk")
    scores = booster.predict(TEST.X)
    combiner = rr.Combiner(method="average").fit(
        {"a": booster, "b": booster}, TEST.y, X=TEST.X, qid=TEST.qid
    )
    net = rr.RankNet(epochs=1).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    rankers = {
        "file": str(tmp_path / "model.rrk"),
        "path": tmp_path / "model.rrk",
        "scores": scores.tolist(),
        "combiner": combiner,
        "net": net,
    }
    made = rr.report(rankers, TEST.y, X=TEST.X, qid=TEST.qid, resamples=50, metrics="ndcg@5")
    values = [float(one["ndcg@5"]) for one in made.evaluations.values()]
    assert values[:4] == pytest.approx([values[0]] * 4)
    assert parsed(made.html)[1] == []
    # The same docs as a dataset: no features, so no reasons.
    dataset = rr.Dataset(TEST.X, TEST.y, qid=TEST.qid, like=booster)
    binned = rr.report({"trees": booster, "scores": TEST.X[:, 0]}, dataset, resamples=50)
    assert float(binned.evaluations["trees"]["ndcg@10"]) == pytest.approx(
        float(booster.evaluate(dataset)["ndcg@10"])
    )
    assert "Without the raw features" in binned.html
    listed = rr.report([scores, -scores], TEST.y, qid=TEST.qid, resamples=50)
    assert list(listed.evaluations) == ["ranker 0", "ranker 1"]
    assert "so the difference cannot be explained" in listed.html


def test_features_may_be_more_than_numbers() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"number": TEST.X[:, 0], "text": [f"t{at % 3}" for at in range(len(TEST.y))]}
    )
    rankers = {"number": lambda X: X["number"], "length": lambda X: X["text"].str.len()}
    shown = rr.report(rankers, TEST.y, X=table, qid=TEST.qid, resamples=50).html
    assert parsed(shown)[1] == []


def test_little_is_enough(tmp_path: Path) -> None:
    alone = rr.report({"alone": [3.0, 2, 1]}, [1, 0, 2], path=tmp_path / "page.html", resamples=0)
    assert (tmp_path / "page.html").read_text("utf-8") == alone.html
    assert parsed(alone.html)[1] == []
    assert "more than chance" not in alone.html
    assert alone.comparisons == {}
    tied = rr.report({"a": [1.0, 1], "b": [2.0, 2]}, [1, 0], examples=1)
    assert parsed(tied.html)[1] == []
    pairs = rr.report({"a": [1.0, 2], "b": [2.0, 1]}, [1, 0], metrics="pairwise", examples=0)
    assert parsed(pairs.html)[1] == []
    with pytest.warns(rr.RustrankWarning, match="is NaN"):
        nothing = rr.report({"a": [1.0, 2], "b": [2.0, 1]}, [0, 0], metrics="ndcg@10")
    assert parsed(nothing.html)[1] == []


def test_the_bias_of_places_is_shown_where_there_is_one(
    booster: rr.Booster, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = property(lambda _: np.log([1.0, 0.5, 0.25]))
    monkeypatch.setattr(rr.Booster, "position_bias", learned, raising=False)
    shown = rr.report({"clicks": booster}, TEST.y, X=TEST.X, qid=TEST.qid).html
    assert parsed(shown)[1] == []
    assert "of clicks: from 100% to 25.0%" in shown


def test_a_ranker_that_is_the_baseline_again_is_not_looked_into(booster: rr.Booster) -> None:
    rankers = {"base": booster, "again": booster, "other": TEST.X[:, 0]}
    shown = rr.report(rankers, TEST.y, X=TEST.X, qid=TEST.qid, resamples=50).html
    assert "<h3>base is better</h3>" in shown
    assert "<h3>other is better</h3>" in shown


def test_notebooks_show_it_in_a_frame(made: rr.Report) -> None:
    frame = made._repr_html_()
    tree, faults = parsed(f"<!DOCTYPE html><title>x</title>{frame}")
    assert faults == []
    (inside,) = [one for one in elements(tree) if name_of(one) == "iframe"]
    page = inside.attrib["srcdoc"]
    assert page.startswith("<!DOCTYPE html>")
    # Links such as "#queries" stay inside the frame only with a base of their own.
    assert page.replace('<base href="about:srcdoc">', "", 1) == made.html
    assert page.index("<base ") < page.index('href="#')
    assert repr(made).startswith("<Report: noise, ")


def test_one_ranker_needs_no_list(booster: rr.Booster) -> None:
    docs: dict[str, Any] = {"X": TEST.X, "qid": TEST.qid, "resamples": 20, "examples": 0}
    for one in (booster, booster.predict(TEST.X)):
        made = rr.report(one, TEST.y, **docs)
        assert list(made.evaluations) == ["ranker"]
        assert not made.comparisons
    assert made.html == rr.report({"ranker": one}, TEST.y, **docs).html
    with pytest.raises(rr.ParamError, match=r"takes two rankers before them, and .* one"):
        rr.compare(booster, TEST.y, X=TEST.X, qid=TEST.qid)


def test_what_cannot_be_is_refused(booster: rr.Booster) -> None:
    scores = TEST.X[:, 0]
    with pytest.raises(rr.ParamError, match=r"baseline: got 'c', expected one of a"):
        rr.report({"a": scores}, TEST.y, qid=TEST.qid, baseline="c")
    with pytest.raises(
        rr.ParamError, match=r"b is a Booster, which needs features to score: pass X="
    ):
        rr.report({"a": scores, "b": booster}, TEST.y, qid=TEST.qid)
    with pytest.raises(rr.DataError, match="scores of a has the wrong length"):
        rr.report({"a": scores[1:]}, TEST.y, qid=TEST.qid)
    with pytest.raises(rr.DataError, match="doc_ids has the wrong length"):
        rr.report({"a": scores}, TEST.y, qid=TEST.qid, doc_ids=["x"])
    with pytest.raises(rr.ParamError, match="examples: got -1"):
        rr.report({"a": scores}, TEST.y, qid=TEST.qid, examples=-1)
    with pytest.raises(rr.ParamError, match="metric"):
        rr.report({"a": scores}, TEST.y, qid=TEST.qid, metrics="nonsense")


def test_reasons_of_models_with_ranks_are_said_to_be_differences() -> None:
    said = "In ranked, which rank features within queries, they are what each feature does to the"
    made = {
        name: rr.train(
            rr.Dataset(TRAIN.X, TRAIN.y, qid=TRAIN.qid, query_ranks=name == "ranked"),
            num_trees=5,
        )
        for name in ("plain", "ranked")
    }
    column = TEST.X[:, 0]
    rankers = {
        "both": made,
        "plain": {"c": column, "plain": made["plain"]},
        "ranked": {"c": column, "ranked": made["ranked"]},
    }
    pages = {
        name: rr.report(some, TEST.y, X=TEST.X, qid=TEST.qid).html for name, some in rankers.items()
    }
    assert [said in page for page in pages.values()] == [True, False, True]
    assert all("Shapley values: what each feature did" in page for page in pages.values())


def test_features_are_those_of_the_models() -> None:
    names = [f"c{at}" for at in range(12)]
    frame = pd.DataFrame(TEST.X[:, :12], columns=names)

    def facts(*widths: int) -> str:
        rankers = {
            f"of {width}": rr.LambdaMART(n_estimators=2).fit(
                frame[names[:width]], TEST.y, qid=TEST.qid
            )
            for width in widths
        }
        page = rr.report(rankers, TEST.y, X=frame, qid=TEST.qid).html
        return re.sub("(<[^>]*>)+", "|", page[page.index("The data</h2>") :])

    assert "|features|12|" in facts(12)
    assert "|features of the models|7|columns that may be features|12|" in facts(7)
    assert "|features of the models|7 to 12|columns that may be features|12|" in facts(7, 12)


def test_doc_ids_may_name_a_column() -> None:
    names = [f"c{at}" for at in range(TEST.X.shape[1])]
    products = [f"product {row}" for row in range(len(TEST.y))]
    frame = pd.DataFrame(TEST.X, columns=names).assign(
        label=TEST.y, query=TEST.qid, product_id=products
    )
    columns: dict[str, Any] = {"y": "label", "qid": "query"}
    ranker = rr.LambdaMART(n_estimators=3).fit(frame[names], TEST.y, qid=TEST.qid)
    rankers = {"c0": "c0", "trees": ranker, "all": lambda X: X.to_numpy()[:, -1]}
    plain = frame.drop(columns="product_id")
    listed = rr.report(rankers, plain, **columns, doc_ids=products).html
    for table in (frame, pl.from_pandas(frame)):
        chosen = rankers if table is frame else {"c0": "c0", "trees": ranker, "all": "c49"}
        assert rr.report(chosen, table, **columns, doc_ids="product_id").html == listed
    assert "product 1" in listed
    other = rr.report(
        {"c0": "c0"}, TEST.y, X=frame[["c0", "product_id"]], qid=TEST.qid, doc_ids="product_id"
    )
    assert "c0" in other.evaluations
    near = r"doc_ids: .* has no column 'produkt_id', expected one of .*did you mean product_id\?"
    with pytest.raises(rr.DataError, match=near):
        rr.report(rankers, frame, **columns, doc_ids="produkt_id")
    scores = TEST.X[:, 0]
    with pytest.raises(
        rr.DataError, match=r"doc_ids: got 'product_id', the name of a column, expected a t"
    ):
        rr.report({"a": scores}, TEST.y, qid=TEST.qid, doc_ids="product_id")
    with pytest.raises(
        rr.DataError, match=r"doc_ids: X has no column 'product_id', expected a table with n"
    ):
        rr.report({"a": scores}, TEST.y, X=TEST.X, qid=TEST.qid, doc_ids="product_id")
    data = rr.Dataset(TEST.X, TEST.y, qid=TEST.qid)
    with pytest.raises(TypeError, match=r"doc_ids: .*a Dataset has no columns"):
        rr.report({"a": scores}, data, doc_ids="product_id")


def test_ranks_of_the_page_are_those_of_models() -> None:
    cells = np.array([[10.0, 5.0], [30.0, np.nan], [30.0, 1.0]])
    found = feature_ranks(cells)
    assert found[:, 0] == pytest.approx([0.5 / 3, 2 / 3, 2 / 3])
    assert found[:, 1] == pytest.approx([0.75, np.nan, 0.25], nan_ok=True)
    ranks = np.empty(TEST.X.shape)
    for query in np.unique(TEST.qid):
        ranks[query == TEST.qid] = feature_ranks(TEST.X[query == TEST.qid])
    wide = np.hstack([TEST.X, ranks])
    written = rr.train(rr.Dataset(wide, TEST.y, qid=TEST.qid), num_trees=5)
    docs = rr.Dataset(TEST.X, TEST.y, qid=TEST.qid, query_ranks=True)
    found = rr.train(docs, num_trees=5).predict(TEST.X, qid=TEST.qid)
    assert np.array_equal(found, written.predict(wide))


def test_sentences_and_p_values_of_several_rankers_are_corrected() -> None:
    rng = np.random.default_rng(0)
    noisy = {f"noise {by}": TEST.y + by * rng.normal(size=len(TEST.y)) for by in (1, 2, 4)}
    made = rr.report(noisy, TEST.y, qid=TEST.qid, resamples=500)
    shown = unescape(made.html)
    assert "noise 2 minus noise 1 -" in made.statements[0]
    assert "noise 1 is better than noise 2" in made.statements[0]
    assert all("p (Holm)" in one for one in made.statements)
    summary = shown.partition('class="lead"')[2].partition("</p>")[0]
    assert "minus the baseline" in summary
    assert "p (Holm)" in summary
    (two,) = rr.report(dict([*noisy.items()][:2]), TEST.y, qid=TEST.qid).statements
    assert "Holm" not in two
    # What is clear alone is not so among many.
    pair = made.comparisons["noise 1", "noise 2"]["ndcg@10"]
    assert "no clear difference" in pair._sentence(0.06, "p (Holm)")
    assert "noise 1 is better" in pair._sentence(0.04, "p (Holm)")


def test_p_values_among_several_are_holms() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.31, 0.48, [0.35, 0.4, 0.45]),
        (1, 20, [5, 10, 15, 20]),
        (-0.31, 0.62, [-0.2, 0, 0.2, 0.4, 0.6]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert _svg_charts.ticks(low, high) == pytest.approx(expected)


def test_many_lines_have_looks_of_their_own() -> None:
    lines = [
        _svg_charts.Line(f"line {at}", np.array([1.0, 2]), np.array([at, at + 1.0]), at)
        for at in range(12)
    ]
    chart = _svg_charts.line_chart("lines", lines, "said", "x", "y")
    strokes = re.findall(r'class="(line c\d)"(?: stroke-dasharray="([^"]*)")?', chart)
    assert len(set(strokes)) == 12


def test_markup_is_made_of_text() -> None:
    assert (
        tag("p", "<b>", Markup("<i>x</i>"), class_='"') == '<p class="&quot;">&lt;b&gt;<i>x</i></p>'
    )
    assert tag("meta", charset="utf-8", hidden=None, open=True) == '<meta charset="utf-8" open>'
    assert joined("a\x00\x1b", ["&", None]) == "a\ufffd\ufffd&amp;"


def test_it_needs_numpy_alone() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import rustrank as rr\n"
        "made = rr.report({'a': [1.0, 2, 3], 'b': [3.0, 1, 2]}, [0, 1, 2])\n"
        "assert made.html.endswith('</html>\\n')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def files(tmp_path: Path, booster: rr.Booster, monkeypatch: pytest.MonkeyPatch) -> Path:
    TEST.to_letor(tmp_path / "test.txt")
    booster.save(tmp_path / "model.rrk")
    lines = "".join(f"{float(one)!r}\n" for one in TEST.X[:, 0])
    (tmp_path / "first.txt").write_text(lines, "ascii")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["report", *arguments])
    return code, *capsys.readouterr()


def test_the_command_writes_a_page(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--resamples", "50", "--metric", "map,err@5", "--title", "Q1 & <Q2>")
    code, out, _ = run(capsys, "test.txt", "first.txt", "trees=model.rrk", *options)
    assert code == 0
    assert out.splitlines()[0].startswith("map: no clear difference between first and trees: ")
    assert out.endswith("wrote report.html\n")
    page = (files / "report.html").read_text("utf-8")
    assert parsed(page)[1] == []
    assert "<h1>Q1 &amp; &lt;Q2&gt;</h1>" in page
    assert ": why" in page
    json_too = ("--json", "--out", "page.html", "--baseline", "model")
    code, out, _ = run(capsys, "test.txt", "first.txt", "model.rrk", *options, *json_too)
    told = json.loads(out)
    assert code == 0
    assert (told["out"], list(told["rankers"])) == ("page.html", ["first", "model"])
    assert [(one["a"], one["b"]) for one in told["comparisons"]] == [("model", "first")]
    (files / "docs.txt").write_text("".join(f"doc é{at}\n" for at in range(len(TEST.y))), "utf-8")
    named = ("--doc-ids", "docs.txt", "--resamples", "10", "--out", "-")
    code, out, _ = run(capsys, "test.txt", "first.txt", "model.rrk", *named)
    assert code == 0
    assert "doc é" in out
    code, out, _ = run(capsys, "test.txt", "first.txt", "--out", "-", "--resamples", "10")
    assert (code, parsed(out)[1]) == (0, [])


def test_the_command_says_what_is_wrong(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "short.txt").write_text("1\n2\n", "ascii")
    (files / "bad.rrk").write_text("what is this\n", "ascii")
    cases = [
        (("test.txt", "none.txt"), 66, "none.txt: No such file"),
        (("test.txt", "short.txt"), 65, "short.txt has the wrong length: got 2 scores"),
        (("test.txt", "bad.rrk"), 65, "bad.rrk"),
        (("test.txt", "a=first.txt", "a=model.rrk"), 2, "with a name of its own"),
        (
            ("test.txt", "first.txt", "--baseline", "x"),
            2,
            "--baseline: got 'x', expected one of first",
        ),
        (("test.txt", "first.txt", "--metric", "nonsense"), 2, "nonsense"),
        (("test.txt", "first.txt", "--out", "no/such/page.html"), 66, "no/such/page.html"),
    ]
    for arguments, expected, message in cases:
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (expected, ""), arguments
        assert message in err, err
        assert err.count("\n") == 1


def test_a_single_ranker_is_not_called_the_highest() -> None:
    one = rr.report({"alone": TEST.X[:, 0]}, TEST.y, qid=TEST.qid, resamples=50).html
    assert "<strong>alone</strong> has ndcg@10: " in one
    assert "the highest mean" not in one
    two = rr.report({"a": TEST.X[:, 0], "b": TEST.X[:, 1]}, TEST.y, qid=TEST.qid, resamples=50).html
    assert "has the highest ndcg@10: " in two
    assert "which has the highest mean" in two
    # One pair needs no correction.
    assert "corrects" not in two
    three = {name: TEST.X[:, at] for at, name in enumerate("abc")}
    made = rr.report(three, TEST.y, qid=TEST.qid, resamples=50)
    assert "p (Holm) corrects the latter for the 3 pairs" in made.html


def test_queries_left_out_are_explained_by_the_rule_of_each_metric() -> None:
    # One query without a relevant doc, one whose docs are all alike, one with both labels.
    labels, queries = [0, 0, 1, 1, 0, 1], [1, 1, 2, 2, 3, 3]
    scores = [2.0, 1.0, 2.0, 1.0, 2.0, 1.0]
    metrics = ["precision@10", "map", "pairwise"]

    def said(**options: Any) -> str:
        made = rr.report(
            {"a": scores}, labels, qid=queries, metrics=metrics, resamples=0, **options
        )
        return text_of(parsed(made.html)[0])

    assert (
        "Queries left out of the mean: 1 of precision@10, 1 of map, as no doc is relevant; "
        "2 of pairwise, as no two docs have different labels."
    ) in said()
    assert "2 of map, as no doc is relevant, or all docs have one label" in said(
        empty="skip-one-label"
    )
    assert "left out of the mean" not in said(empty="zero")


def test_the_documents_of_the_mean_shapley_values_are_named(tmp_path: Path) -> None:
    data = rr.datasets.make_polynomial(60, 20, seed=1)
    booster = rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=3)
    for most, said in ((49, "over these docs"), (60, "over about 1,000 of these docs")):
        few = data.qid < np.unique(data.qid)[most] if most < 60 else data.qid == data.qid
        rankers = {"model": booster, "first": data.X[few, 0]}
        path = tmp_path / "r.html"
        rr.report(rankers, data.y[few], X=data.X[few], qid=data.qid[few], path=path, examples=0)
        assert said in path.read_text("utf-8")
