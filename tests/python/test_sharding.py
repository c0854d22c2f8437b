"""Shards: every query whole in one of them, checked when they are read."""

from __future__ import annotations

import errno
import gzip
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rustrank as rr
from rustrank.cli import main
from rustrank.distributed.shards import _assignment

if TYPE_CHECKING:
    from pathlib import Path

SIZES = [7, 1, 3, 12, 2, 2, 5, 9, 1, 4]


def lines() -> list[str]:
    rng = np.random.default_rng(0)
    return [
        f"{rng.integers(3)} qid:q{query} 1:{rng.random():.4f} 2:{rng.integers(4)} # doc {at}\n"
        for query, docs in enumerate(SIZES)
        for at in range(docs)
    ]


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text("# a comment\n\n" + "".join(lines()))
    return path


def queries_of(file: Path) -> list[str]:
    opened: Any = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt") as stream:
        return [line.split()[1] for line in stream]


@pytest.mark.parametrize("compress", [False, True])
def test_each_query_is_whole_in_one_shard(letor: Path, tmp_path: Path, compress: bool) -> None:
    made = rr.shard(letor, tmp_path / "shards", shards=3, compress=compress)
    ids = [queries_of(file) for file in made.paths()]
    assert [len(one) for one in ids] == [one.docs for one in made.shards]
    assert [len(set(one)) for one in ids] == [one.queries for one in made.shards]
    assert sum(len(set(one)) for one in ids) == len(set().union(*ids)) == made.num_queries == 10
    assert made.num_docs == sum(SIZES)
    assert 1.0 <= made.skew < 1.1
    made.check()
    assert rr.Shards.load(tmp_path / "shards") == made
    assert rr.Shards.load(tmp_path / "shards" / "manifest.json") == made
    assert made.dataset().fingerprint == rr.Dataset.from_letor(letor).fingerprint
    assert sorted(one.name for one in (tmp_path / "shards").iterdir()) == [
        "manifest.json",
        *(one.file for one in made.shards),
    ]


def test_the_same_docs_in_another_order_give_the_same_queries(letor: Path, tmp_path: Path) -> None:
    made = rr.shard(letor, tmp_path / "one", shards=4)
    by_query: dict[str, list[str]] = {}
    for line in lines():
        by_query.setdefault(line.split()[1], []).append(line)
    letor.write_text("".join("".join(docs) for docs in reversed(by_query.values())))
    other = rr.shard(letor, tmp_path / "two", shards=4)
    for one, two in zip(made.paths(), other.paths(), strict=True):
        assert set(queries_of(one)) == set(queries_of(two))


def test_parquet_files_are_shards_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    qid = rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    columns = {"a": rng.random(len(qid)), "y": rng.integers(3, size=len(qid)), "q": qid}
    pq.write_table(pa.table(columns), tmp_path / "train.parquet", row_group_size=11)
    made = rr.shard(tmp_path / "train.parquet", tmp_path / "s", shards=3, label="y", qid="q")
    held = [set(pq.read_table(path).column("q").to_pylist()) for path in made.paths()]
    assert sum(map(len, held)) == len(set().union(*held)) == len(SIZES)
    whole = rr.Dataset.from_parquet(tmp_path / "train.parquet", label="y", qid="q")
    assert rr.Shards.load(tmp_path / "s").dataset().fingerprint == whole.fingerprint


def test_there_may_be_more_shards_than_queries(letor: Path, tmp_path: Path) -> None:
    made = rr.shard(letor, tmp_path / "shards", shards=13)
    assert sum(one.docs == 0 for one in made.shards) == 3
    assert made.dataset().num_queries == 10
    dealt = [number for rank in range(4) for number in made.of_worker(rank, 4)]
    assert sorted(dealt) == list(range(13))
    empty = [at for at, one in enumerate(made.shards) if one.docs == 0]
    with pytest.raises(rr.DataError, match="hold no docs"):
        made.dataset(empty)


def test_what_is_wrong_is_said(letor: Path, tmp_path: Path) -> None:
    made = rr.shard(letor, tmp_path / "shards", shards=2)
    with pytest.raises(rr.ParamError, match="there are shards already"):
        rr.shard(letor, tmp_path / "shards", shards=2)
    file = made.paths()[0]
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"?")
    with pytest.raises(rr.DataError, match="its checksum differs"):
        made.check([0])
    made.check([1])
    file.write_bytes(whole[:-1])
    with pytest.raises(rr.DataError, match=f"got {len(whole) - 1} bytes, expected {len(whole)}"):
        rr.Shards.load(tmp_path / "shards")
    file.unlink()
    with pytest.raises(FileNotFoundError):
        rr.Shards.load(tmp_path / "shards")
    for text in ("{", "[]", json.dumps({"format": "other", "version": 1})):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(rr.DataError, match=r"not a manifest|got version"):
            rr.Shards.load(tmp_path / "manifest.json")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_shards_are_replaced_once_the_new_ones_are_complete(letor: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    made = rr.shard(letor, folder, shards=3)
    before = contents(folder)
    bad = tmp_path / "bad.txt"
    bad.write_text("1 qid:1 1:2\n1 1:2\n")
    for source, error in ((tmp_path / "typo.txt", FileNotFoundError), (bad, rr.DataError)):
        with pytest.raises(error):
            rr.shard(source, folder, shards=2, overwrite=True)
        assert contents(folder) == before
    for compress in (True, False, False):
        again = rr.shard(letor, folder, shards=2, compress=compress, overwrite=True)
        assert rr.Shards.load(folder) == again
        assert set(contents(folder)) == {"manifest.json", *(one.file for one in again.shards)}
        assert again.dataset().fingerprint == rr.Dataset.from_letor(letor).fingerprint
    assert made.num_docs == again.num_docs


FULL = """
import resource, signal, sys
import rustrank as rr
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
try:
    rr.shard(sys.argv[1], sys.argv[2], shards=2, overwrite=True)
except OSError as error:
    print(error.errno)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit here")
def test_a_full_disk_leaves_the_old_shards_and_nothing_else(letor: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    rr.shard(letor, folder, shards=3)
    before = contents(folder)
    command = [sys.executable, "-c", FULL, str(letor), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [str(errno.EFBIG)]
    assert contents(folder) == before


@pytest.mark.parametrize("file", ["/etc/hostname", "../train.txt", "inner/shard.txt", "", ".", 5])
def test_a_manifest_names_files_of_its_folder_only(file: Any, letor: Path, tmp_path: Path) -> None:
    made = rr.shard(letor, tmp_path / "shards", shards=1)
    manifest = json.loads((tmp_path / "shards" / "manifest.json").read_text())
    manifest["shards"][0]["file"] = file
    (tmp_path / "shards" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(rr.DataError, match="expected a name in the manifest's folder"):
        rr.Shards.load(tmp_path / "shards")
    assert made.num_docs == sum(SIZES)


def test_a_manifest_of_a_hundred_thousand_brackets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(rr.DataError, match="not a manifest"):
        rr.Shards.load(tmp_path)


def test_a_dataset_of_changed_shards_is_refused(letor: Path, tmp_path: Path) -> None:
    made = rr.shard(letor, tmp_path / "shards", shards=2)
    file = made.paths()[1]
    file.write_bytes(file.read_bytes().replace(b" 1:", b" 2:", 1))
    with pytest.raises(rr.DataError, match="its checksum differs"):
        rr.Shards.load(tmp_path / "shards").dataset()
    assert rr.Shards.load(tmp_path / "shards").dataset([0]).num_docs == made.shards[0].docs


def test_a_line_without_an_end_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.gz", "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(b"1" * (1 << 20))
    with pytest.raises(rr.DataError, match="line is longer than 67,108,864 bytes"):
        rr.shard(tmp_path / "bomb.gz", tmp_path / "shards", shards=1)
    assert not (tmp_path / "shards").exists()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("1 qid:1 1:2\n1 qid:2 1:2\n0 qid:1 1:3\n", "qid '1' returns after another qid.*line 3"),
        ("1 1:2\n", "expected `qid:` after the label, got '1:2'.*line 1"),
        ("1\n", "got 'nothing'.*line 1"),
    ],
)
def test_lines_without_a_clear_query_are_refused(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "train.txt").write_text(text)
    with pytest.raises(rr.DataError, match=wrong):
        rr.shard(tmp_path / "train.txt", tmp_path / "shards", shards=2)
    assert not (tmp_path / "shards").exists()


def test_the_command_prints_what_each_file_holds(
    letor: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shard", str(letor), str(tmp_path / "s"), "--shards", "2", "--by-query"]) == 0
    told = capsys.readouterr().out
    assert "shard-00001.txt" in told
    assert "46 docs, 10 queries; the largest has 1.000 times the average" in told
    assert main(["shard", str(letor), str(tmp_path / "s"), "--shards", "2"]) == 2


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 8))
def test_no_shard_has_more_than_a_query_above_the_average(sizes: list[int], shards: int) -> None:
    homes = _assignment(dict(enumerate(sizes)), shards)
    held = [sum(sizes[query] for query, at in homes.items() if at == one) for one in range(shards)]
    assert max(held) <= sum(sizes) / shards + max(sizes)
