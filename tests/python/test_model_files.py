"""Model files as Python sees them: whole or refused, old or new. The core's tests go deeper."""

from __future__ import annotations

import errno
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rustrank as rr
from rustrank.compat import xgboost

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def booster() -> rr.Booster:
    data = rr.datasets.make_polynomial(num_queries=30, seed=3)
    return rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=20, num_leaves=12)


def test_a_flipped_bit_is_refused_300_times(booster: rr.Booster, tmp_path: Path) -> None:
    path = tmp_path / "model.rrk"
    booster.save(path)
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    for at in random.integers(0, 8 * len(whole), 300):
        broken = bytearray(whole)
        broken[at // 8] ^= 1 << int(at % 8)
        path.write_bytes(broken)
        with pytest.raises(rr.ModelFormatError):
            rr.Booster.load(path)


def test_a_cut_file_says_where_it_ends(booster: rr.Booster, tmp_path: Path) -> None:
    path = tmp_path / "model.rrk"
    booster.save(path)
    whole = path.read_bytes()
    for length in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(rr.ModelFormatError) as caught:
            rr.Booster.load(path)
        assert length < 40 or f"ends at byte {length}" in str(caught.value)
        assert caught.value.path == str(path)


def test_what_is_no_model_and_what_is_too_new_are_told(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for other in (b"", b"\x00\xff\xfe", b"<html></html>", b"{}", b"\x1f\x8b\x08"):
        path.write_bytes(other)
        with pytest.raises(rr.ModelFormatError, match="not a rustrank model"):
            rr.Booster.load(path)
    path.write_bytes(b"rustrank model 7\nbytes 3\nabc")
    with pytest.raises(rr.ModelVersionError, match="format 7, this build reads 1"):
        rr.Booster.load(path)
    with pytest.raises(FileNotFoundError):
        rr.Booster.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        rr.Booster.load(tmp_path)


def test_another_number_of_features_is_refused(booster: rr.Booster) -> None:
    for width in (3, booster.num_features + 1):
        with pytest.raises(rr.DataError, match=f"got {width}, expected {booster.num_features}"):
            booster.predict(np.zeros((4, width)))


def test_names_that_no_file_can_have_are_refused(booster: rr.Booster, tmp_path: Path) -> None:
    for call in (booster.save, rr.Booster.load):
        with pytest.raises(FileNotFoundError) as caught:
            call("")
        assert caught.value.filename == ""
        with pytest.raises(ValueError, match=r"path: got .*NUL"):
            call("a\0b")
    longest = tmp_path / ("m" * 255)
    booster.save(longest)
    assert rr.Booster.load(longest) == booster
    with pytest.raises(OSError, match="File name too long"):
        booster.save(tmp_path / ("m" * 256))


FULL = """
import errno, resource, signal, sys
import rustrank as rr
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
booster = rr.Booster.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    booster.save(sys.argv[1])
except OSError as error:
    print(error.errno, error.filename)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit here")
def test_a_full_disk_leaves_the_old_model_and_nothing_else(
    booster: rr.Booster, tmp_path: Path
) -> None:
    path = tmp_path / "model.rrk"
    booster.save(path)
    command = [sys.executable, "-W", "ignore", "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [str(errno.EFBIG), str(path)]
    assert rr.Booster.load(path) == booster
    assert [file.name for file in tmp_path.iterdir()] == ["model.rrk"]


def test_numbered_columns_of_lightgbm_are_no_names() -> None:
    raw = rr.datasets.make_polynomial(num_queries=20, seed=0)
    booster = rr.train(rr.Dataset(raw.X, raw.y, qid=raw.qid), num_trees=3)
    exported = booster.export("lightgbm").decode()
    assert "feature_names=Column_0 Column_1" in exported
    read = rr.Booster.from_text(exported)
    assert read.feature_names == booster.feature_names
    named = {f"x{at}": column for at, column in enumerate(raw.X.T)}
    assert read.predict(named).tolist() == booster.predict(raw.X).tolist()
    other = exported.replace("Column_1 ", "bm25 ")
    with pytest.raises(rr.DataError, match="X lacks 50 features of the model"):
        rr.Booster.from_text(other).predict(named)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("learning_rate", lambda model, train: model.refit(train)),
        ("chosen", lambda model, _: model.chosen),
        ("position_bias", lambda model, _: model.position_bias),
        ("missing", lambda model, train: model.predict(np.zeros((2, train.num_features)))),
        ("label_scale", lambda model, train: model.evaluate(train, ["ndcg@10"])),
        ("num_parallel_tree", lambda model, _: xgboost.Booster.of(model, {}).num_boosted_rounds()),
    ],
)
@pytest.mark.parametrize("text", ["x", "", "9" * 5000 + "x", "[" * 100_000, "[1]", '{"a": 1}'])
def test_attributes_that_say_nothing_are_named(
    booster: rr.Booster, tmp_path: Path, name: str, use: Callable[..., object], text: str
) -> None:
    data = rr.datasets.make_polynomial(num_queries=30, seed=3)
    train = rr.Dataset(data.X, data.y, qid=data.qid)
    path = tmp_path / "odd.rrk"
    rr.Booster._of(booster._core.with_attribute(name, text)).save(path)
    with pytest.raises(rr.ModelFormatError, match=f"attribute {name} of the model") as caught:
        use(rr.Booster.load(path), train)
    assert len(str(caught.value)) < 250


def test_thresholds_of_lightgbm_that_are_no_numbers_are_refused(booster: rr.Booster) -> None:
    text = booster.export("lightgbm").decode()
    head, mark, rest = text.partition("\nthreshold=")
    odd = f"{head}{mark}nan {rest.partition(' ')[2]}"
    with pytest.raises(
        rr.ModelFormatError, match="`threshold` of tree 0 is not as LightGBM writes"
    ):
        rr.Booster.from_text(odd)


def test_scores_beyond_all_numbers_are_refused(booster: rr.Booster) -> None:
    data = rr.datasets.make_polynomial(num_queries=30, seed=3)
    text = booster.export("lightgbm").decode()
    lines = [
        "leaf_value=" + " ".join(["1e308"] * len(line.split())) if "leaf_value=" in line else line
        for line in text.splitlines()
    ]
    odd = rr.Booster.from_text("\n".join(lines) + "\n")
    for docs in (data.X, data.X[:1]):
        with pytest.raises(rr.ModelFormatError, match="scores are not finite: got inf"):
            odd.predict(docs)
