"""The command line, as a shell sees it."""

import contextlib
import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rustrank as rr

GOLDEN = Path(__file__).parents[1] / "golden"
RUNS = [sys.executable, "-m", "rustrank"]

LETOR = """\
2 qid:a 1:0.5 2:1 # the best
0 qid:a 1:0.25 2:1
1 qid:a 1:nan 2:1
0 qid:b 1:1 2:1
1 qid:b 1:2 2:1
0 qid:c 1:1 2:1
0 qid:c 1:1 2:1
"""


def run(*arguments: Any, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [*RUNS, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=60, **more
    )


def good(*arguments: Any, **more: Any) -> str:
    done = run(*arguments, **more)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.txt"
    path.write_text(LETOR, "ascii")
    (tmp_path / "a.txt").write_text("3\n2\n1\n1\n2\n0\n0\n", "ascii")
    (tmp_path / "b.txt").write_text("1\n2\n3\n1\n1\n0\n0\n", "ascii")
    return path


def test_evaluate_prints_a_table(data: Path) -> None:
    a, b = data.parent / "a.txt", data.parent / "b.txt"
    lines = good("evaluate", data, a, b, "--metric", "mrr,map", "--metric=ndcg@10").splitlines()
    assert lines[0].split() == ["scores", "metric", "mean", "95%", "interval", "queries", "skipped"]
    assert [line.split()[1] for line in lines[1:]] == ["mrr", "map", "ndcg@10"] * 2
    assert lines[1].split()[2:] == ["1.0000", "1.0000", "to", "1.0000", "3", "1"]
    assert [line.split()[0] for line in lines[1:]] == [str(a)] * 3 + [str(b)] * 3


def test_evaluate_prints_values_of_queries(data: Path) -> None:
    a, b = data.parent / "a.txt", data.parent / "b.txt"
    text = good("evaluate", data, b, "--metric", "mrr,map@1", "--per-query", "--empty", "zero")
    assert text.splitlines() == ["query\tmrr\tmap@1", "a\t1.0\t0.5", "b\t0.75\t0.5", "c\t0.0\t0.0"]
    lines = good("evaluate", data, a, b, "--metric", "mrr", "--per-query").splitlines()
    assert lines[0] == "scores\tquery\tmrr"
    assert lines[3:5] == [f"{a}\tc\tnan", f"{b}\ta\t1.0"]


def test_evaluate_prints_json(data: Path) -> None:
    text = good("evaluate", data, data.parent / "b.txt", "--metric", "mrr", "--per-query", "--json")
    shown = json.loads(text)
    value = rr.evaluate(
        [1, 2, 3, 1, 1, 0, 0], [2, 0, 1, 0, 1, 0, 0], group=[3, 2, 2], metrics="mrr"
    )
    assert shown["data"] == str(data)
    assert shown["results"][0]["metrics"]["mrr"] == {
        "mean": float(value["mrr"]),
        "level": 0.95,
        "interval": list(value["mrr"].interval),
        "num_queries": 3,
        "num_skipped": 1,
        "per_query": {"a": 1.0, "b": 0.75, "c": None},
    }


def test_options_are_those_of_the_package(data: Path) -> None:
    scores, labels = [1, 2, 3, 1, 1, 0, 0], [2, 0, 1, 0, 1, 0, 0]
    cases: list[tuple[list[str], dict[str, Any]]] = [
        (["--ties", "rows"], {"ties": "rows"}),
        (["--gain", "linear"], {"gain": "linear"}),
        (["--gain", "0,1,5"], {"gain": [0, 1, 5]}),
        (["--gain", ".5,1,2"], {"gain": [0.5, 1, 2]}),
        (["--empty", "one"], {"empty": "one"}),
        (["--relevant-from", "2"], {"relevant_from": 2}),
        (["--max-label", "4"], {"max_label": 4}),
        (["--threads", "1"], {"num_threads": 1}),
    ]
    metrics = ["ndcg", "err", "map"]
    for arguments, options in cases:
        found = rr.evaluate(scores, labels, group=[3, 2, 2], metrics=metrics, **options)
        text = good(
            *("evaluate", data, data.parent / "b.txt", "--metric", ",".join(metrics)),
            *("--json", "--seed", "7", "--resamples", "100", "--level", "0.9", *arguments),
        )
        shown = json.loads(text)["results"][0]["metrics"]
        assert {name: one["mean"] for name, one in shown.items()} == found
        for name, value in found.items():
            assert tuple(shown[name]["interval"]) == value.bootstrap(0.9, 100, 7)


def test_text_may_be_packed_and_scores_may_come_by_a_pipe(data: Path) -> None:
    packed = data.with_suffix(".gz")
    packed.write_bytes(gzip.compress(LETOR.encode("ascii")))
    scores = (data.parent / "a.txt").read_text("ascii")
    text = good("evaluate", packed, "-", "--resamples", "0", input=scores)
    assert text.splitlines()[1].split() == ["-", "ndcg@10", "0.9820", "-", "3", "1"]


def test_compare_prints_a_verdict_or_json(data: Path) -> None:
    names = [str(data.parent / "a.txt"), str(data.parent / "b.txt")]
    text = good("compare", data, *names, "--metric", "mrr,ndcg@10")
    assert (
        f"mrr: no clear difference between {names[0]} and {names[1]}: {names[1]} minus {names[0]} -0.1250"
        in text
    )
    shown = json.loads(good("compare", data, *names, "--metric", "mrr", "--json"))
    assert (shown["a"], shown["b"]) == tuple(names)
    mrr = shown["metrics"]["mrr"]
    assert (mrr["difference"], mrr["wins"], mrr["ties"], mrr["losses"]) == (-0.125, 0, 1, 1)
    same = json.loads(good("compare", data, names[0], names[0], "--json"))["metrics"]["ndcg@10"]
    assert (same["difference"], same["p_randomisation"]) == (0.0, 1.0)


def test_compare_prints_values_of_queries(data: Path) -> None:
    arguments = ("compare", data, data.parent / "a.txt", data.parent / "b.txt", "--per-query")
    lines = good(*arguments, "--metric", "mrr,map@1").splitlines()
    assert lines == [
        "metric\tquery\ta\tb\tdifference",
        "mrr\ta\t1.0\t1.0\t0.0",
        "mrr\tb\t1.0\t0.75\t-0.25",
        "mrr\tc\tnan\tnan\tnan",
        "map@1\ta\t0.5\t0.5\t0.0",
        "map@1\tb\t1.0\t0.5\t-0.5",
        "map@1\tc\tnan\tnan\tnan",
    ]
    mrr = json.loads(good(*arguments, "--metric", "mrr", "--json"))["metrics"]["mrr"]
    assert mrr["per_query"] == {"a": 0.0, "b": -0.25, "c": None}
    plain = json.loads(good(*arguments[:-1], "--metric", "mrr", "--json"))["metrics"]["mrr"]
    assert "per_query" not in plain


def test_inspect_tells_what_is_in_a_file(data: Path) -> None:
    text = good("inspect", data)
    assert text.startswith(f"{data}: 7 docs in 3 queries, 2 features, ")
    for part in (
        "0         4  57.1%  ████",
        "docs a query       2 to 3, median 2",
        "queries            1 without a relevant doc, 1 with one label only",
        "repeated rows      1",
        "features           f0 to f1; f1 is number 2 in the file",
        "constant features  1: f1",
        "missing values in  1: f0 (14.3%)",
    ):
        assert part in text, text
    rows = good("inspect", data, "--features").splitlines()
    assert rows[0].split() == ["feature", "in", "file", "docs", "missing", "min", "max"]
    assert rows[1].split() == ["f0", "1", "7", "1", "0.25", "2"]
    assert rows[2].split() == ["f1", "2", "7", "0", "1", "1", "constant"]
    shown = json.loads(good("inspect", data, "--json"))
    assert [(one["name"], one["index"]) for one in shown["features"]] == [("f0", 1), ("f1", 2)]
    assert (shown["rows"], shown["labels"]) == (7, [[0.0, 4], [1.0, 2], [2.0, 1]])


def test_inspect_counts_many_labels_together(tmp_path: Path) -> None:
    path = tmp_path / "real.txt"
    path.write_text("".join(f"{i / 8} qid:1 1:{i}\n" for i in range(100)), "ascii")
    assert "\n100 labels from 0 to 12.375\n" in good("inspect", path)


def test_inspect_points_at_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("1 qid:a 1:1\n0 qid:a 1:x\n1 qid:b 1:1\n1 qid:a 1:1\n", "ascii")
    done = run("inspect", path)
    assert (done.returncode, done.stderr) == (65, "")
    assert "1 line cannot be read:" in done.stdout
    assert f"  {path}:2:11: " in done.stdout
    assert f"  {path}:4:3: qid `a` returns" in done.stdout
    path.write_text("", "ascii")
    done = run("inspect", path)
    assert (done.returncode, done.stdout) == (65, f"{path}: no docs\n")


def test_inspect_finds_that_there_are_no_features(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("1 qid:a\n0 qid:a\n", "ascii")
    done = run("inspect", path)
    assert (done.returncode, done.stderr) == (65, "")
    assert f"the file cannot be loaded:\n  {path}: no line has a feature" in done.stdout
    shown = json.loads(run("inspect", path, "--json").stdout)
    assert [finding["code"] for finding in shown["findings"]] == ["features"]


def test_a_run_compared_with_itself_is_warned_of_once(trec: tuple[Path, Path]) -> None:
    run_path, qrels = trec
    part = run_path.with_name("few.txt")
    lines = run_path.read_text("ascii").splitlines(keepends=True)
    part.write_text("".join(line for line in lines if "-tied-" in line), "ascii")
    done = run("compare", "--qrels", qrels, part, part)
    assert done.returncode == 0
    assert done.stderr.count("nothing is retrieved for") == 1


def test_output_without_unicode_has_other_bars(data: Path) -> None:
    text = good("inspect", data, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert "57.1%  ####" in text


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 2, "required: COMMAND"),
        (["evalute"], 2, "invalid choice: 'evalute'"),
        (["evaluate", "{data}"], 2, "files: got 1, expected DATA and SCORES"),
        (["evaluate", "{data}", "{a}", "--metrik", "map"], 2, "--metrik"),
        (["evaluate", "{data}", "{a}", "--metric", "ndgc@10"], 2, "did you mean ndcg?"),
        (["evaluate", "{data}", "{a}", "--gain", "0,x"], 2, "expected exp2, linear or a table"),
        (["evaluate", "{data}", "{a}", "--threads", "-2"], 2, "num_threads: got -2"),
        (["evaluate", "{data}", "{a}", "--level", "95"], 2, "between 0 and 1"),
        (["evaluate", "{data}", "{a}", "--gain=-1,2"], 2, "gain[0]"),
        (["evaluate", "{data}", "{a}", "--gain", "--"], 2, "expected one argument"),
        (["evaluate", "{data}", "{a}", "--threads", "2000"], 2, "from 1 to 1024"),
        (["evaluate", "{data}", "{a}", "--single-precision"], 2, "needs --qrels"),
        (["evaluate", "{data}", "{a}", "--all-queries"], 2, "needs --qrels"),
        (["compare", "{data}", "{a}", "{a}", "--single-precision"], 2, "needs --qrels"),
        (["evaluate", "{data}", "{a}", "--metric", "P_10"], 2, "did you mean precision@10?"),
        (["compare", "{data}", "{a}"], 2, "expected DATA A B"),
        (["compare", "--qrels", "{data}", "{a}"], 2, "expected two runs"),
        (["evaluate", "{data}", "{data}"], 65, "data.txt:1:1"),
        (["evaluate", "{a}", "{a}"], 65, "a.txt:1:"),
        (["evaluate", "{data}", "{short}"], 65, "got 2 scores, expected 7, one for each doc"),
        (["evaluate", "{data}", "{a}", "--gain", "0,1"], 65, "label[0] = 2.0"),
        (["evaluate", "--qrels", "{a}", "{a}"], 65, "a.txt:1:"),
        (["evaluate", "{data}", "nowhere.txt"], 66, "nowhere.txt: No such file"),
        (["evaluate", "nowhere.txt", "{a}"], 66, "nowhere.txt: No such file"),
        (["evaluate", "{folder}", "{a}"], 66, "Is a directory"),
        (["inspect", "nowhere.txt"], 66, "nowhere.txt: No such file"),
        (["inspect", "{data}", "--max-features", "0"], 2, "--max-features: got 0"),
    ],
)
def test_faults_are_one_line_and_an_exit_code(
    data: Path, arguments: list[str], code: int, part: str
) -> None:
    (data.parent / "short.txt").write_text("1\n2\n", "ascii")
    names = {
        "data": data,
        "a": data.parent / "a.txt",
        "short": data.parent / "short.txt",
        "folder": data.parent,
    }
    done = run(*(argument.format(**names) for argument in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("rustrank: error: ")
    assert done.stderr.count("\n") == 1
    assert part in done.stderr


def test_a_cut_gzip_file_is_an_error(data: Path) -> None:
    packed = data.with_suffix(".gz")
    packed.write_bytes(gzip.compress(LETOR.encode("ascii") * 1000)[:-20])
    done = run("inspect", packed)
    assert done.returncode in (65, 74)
    assert done.stderr.startswith("rustrank: error: ")
    assert str(packed) in done.stderr


def test_a_mean_of_nothing_warns(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("0 qid:1 1:1\n", "ascii")
    (tmp_path / "scores.txt").write_text("1\n", "ascii")
    done = run("evaluate", tmp_path / "data.txt", tmp_path / "scores.txt", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith("rustrank: warning: the mean of ndcg@10 is NaN")
    assert json.loads(done.stdout)["results"][0]["metrics"]["ndcg@10"]["mean"] is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("arguments", [["inspect", "{data}"], ["--help"], ["--version"]])
def test_a_full_disk_is_an_error(data: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = subprocess.run(
            [*RUNS, *(argument.format(data=data) for argument in arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (74, "rustrank: error: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
@pytest.mark.parametrize(
    ("closed", "arguments", "code", "says"),
    [
        (">&-", "inspect {data}", 74, "rustrank: error: standard output is closed\n"),
        (">&-", "--version", 74, "rustrank: error: standard output is closed\n"),
        ("2>&-", "inspect {data}", 0, ""),
        ("2>&-", "inspect nowhere.txt", 66, ""),
        ("2>&-", "inspekt", 2, ""),
        (">&- 2>&-", "inspect {data}", 74, ""),
    ],
)
def test_closed_streams_keep_the_exit_code(
    data: Path, closed: str, arguments: str, code: int, says: str
) -> None:
    line = f"{sys.executable} -m rustrank {arguments.format(data=data)} {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == code
    assert done.stderr.endswith(says)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_reader_that_leaves_is_no_error(data: Path) -> None:
    path = data.parent / "many.txt"
    path.write_text("".join(f"1 qid:{i} 1:1\n" for i in range(50_000)), "ascii")
    (data.parent / "ones.txt").write_text("1\n" * 50_000, "ascii")
    command = [*RUNS, "evaluate", str(path), str(data.parent / "ones.txt"), "--per-query"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "query\tndcg@10\n"
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_has_its_exit_code(data: Path) -> None:
    num = 30_000
    path = data.parent / "many.txt"
    path.write_text("".join(f"{i % 2} qid:{i // 2} 1:1\n" for i in range(2 * num)), "ascii")
    scores = data.parent / "scores.txt"
    scores.write_text("".join(f"{i * 7919 % 13}\n" for i in range(2 * num)), "ascii")
    # The second file is a pipe: the bootstrap of the first can only begin once it was written.
    pipe = data.parent / "pipe"
    os.mkfifo(pipe)
    command = [*RUNS, "evaluate", str(path), str(scores), str(pipe), "--resamples", "10000000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        pipe.write_bytes(scores.read_bytes())
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (130, "rustrank: error: interrupted\n")


def test_help_lists_what_an_option_offers() -> None:
    for command in ("evaluate", "compare"):
        shown = " ".join(good(command, "--help").split())
        assert "skip, skip-one-label, zero or one (skip)" in shown


def test_help_and_version() -> None:
    assert good("--version") == f"rustrank {rr.__version__}\n"
    assert "rustrank compare test.txt a.txt b.txt" in good("--help")
    for command in ("evaluate", "compare", "inspect"):
        assert "examples:" in good(command, "--help")


def golden(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def trec(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The golden queries as TREC files, lines in no order."""
    folder = tmp_path_factory.mktemp("trec")
    run_lines, qrels_lines = [], []
    numbers: dict[str, int] = defaultdict(int)
    for doc in golden("queries.tsv"):
        query = doc["query"]
        # trec_eval ranks tied docs by falling docno: this makes it the row order.
        docno = f"d{999 - numbers[query]}"
        numbers[query] += 1
        run_lines.append(f"{query} Q0 {docno} 0 {doc['score']} golden\n")
        qrels_lines.append(f"{query} 0 {docno} {doc['label']}\n")
    rng = np.random.default_rng(0)
    for lines in (run_lines, qrels_lines):
        rng.shuffle(lines)
    paths = folder / "run.txt", folder / "qrels.txt"
    for path, lines in zip(paths, (run_lines, qrels_lines), strict=True):
        path.write_text("".join(lines), "ascii")
    return paths


def test_trec_files_have_the_values_of_trec_eval(trec: tuple[Path, Path]) -> None:
    run_path, qrels = trec
    wanted: dict[str, dict[str, float]] = defaultdict(dict)
    for row in golden("metrics.tsv"):
        if row["tool"] == "pytrec_eval":
            wanted[row["metric"]][row["query"]] = float(row["value"])
    text = good(
        *("evaluate", "--qrels", qrels, run_path, "--metric", ",".join(wanted)),
        *("--gain", "linear", "--ties", "rows", "--empty", "zero", "--single-precision"),
        *("--per-query", "--json", "--resamples", "0"),
    )
    shown = json.loads(text)["results"][0]["metrics"]
    assert len(wanted) > 10
    for metric, values in wanted.items():
        ours = {query: shown[metric]["per_query"][query] for query in values}
        assert ours == pytest.approx(values, abs=1e-12), metric


def test_queries_that_a_run_lacks_are_said(trec: tuple[Path, Path]) -> None:
    run_path, qrels = trec
    part = run_path.with_name("part.txt")
    lines = run_path.read_text("ascii").splitlines(keepends=True)
    part.write_text("".join(line for line in lines if "-tied-" in line), "ascii")
    few = run("evaluate", "--qrels", qrels, part, "--metric", "map", "--json")
    assert few.returncode == 0
    assert ": left out, see --all-queries" in few.stderr
    everything = run(
        "evaluate", "--qrels", qrels, part, "--metric", "map", "--json", "--all-queries"
    )
    assert "they count too" in everything.stderr
    num_few, num_all = (
        json.loads(done.stdout)["results"][0]["metrics"]["map"]["num_queries"]
        for done in (few, everything)
    )
    assert num_few < num_all == len({row["query"] for row in golden("queries.tsv")})
    compared = run("compare", "--qrels", qrels, part, run_path, "--metric", "map", "--json")
    value = json.loads(compared.stdout)["metrics"]["map"]
    assert value["num_queries"] == num_all
    assert value["difference"] > 0


@pytest.mark.parametrize(
    "arguments",
    [
        "train {data} {data}",
        "train {data} {a} --valid {a}",
        "train {data} model.rrk --checkpoint {data}",
        "tune {data} {data} --try num_leaves=2,3",
        "combine {data} {a} {b} --scores {b}",
    ],
)
def test_an_input_is_not_written_over(data: Path, arguments: str) -> None:
    names = {"data": data, "a": data.parent / "a.txt", "b": data.parent / "b.txt"}
    before = [path.read_bytes() for path in names.values()]
    done = run(*arguments.format_map(names).split(), cwd=data.parent)
    assert done.returncode == 2
    assert "is read and would be written over: name another file to write" in done.stderr
    assert [path.read_bytes() for path in names.values()] == before
    assert not (data.parent / "model.rrk").exists()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("train {data} {other}", "a model"),
        ("train {data} {other} --valid {data}", "a model"),
        ("train {data} new.rrk --checkpoint {other}", "a model"),
        ("tune {data} {other} --try num_leaves=2,3", "a model"),
        ("tune {data} new.rrk --try num_leaves=2,3 --plot {other}", "a picture"),
        ("auto {data} {other} --time-limit 1", "a model"),
        ("adapt {model} {data} --save {other}", "a model"),
        ("combine {data} {model} {model} --save {other}", "a model"),
        ("combine {data} {a} {b} --scores {other}", "a file of scores"),
        ("score {model} {data} --out {other}", "a file of scores"),
        ("convert {model} {other}", "a model"),
        ("report {data} {a} {b} --out {other}", "an HTML page"),
    ],
)
def test_a_file_of_another_kind_is_not_replaced(
    data: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, kind: str
) -> None:
    folder = data.parent
    other, model = folder / "other.txt", folder / "model.rrk"
    with pytest.warns(rr.RustrankWarning, match="one value"):
        train = rr.Dataset.from_letor(data)
    rr.train(train, num_trees=1, min_leaf_docs=1).save(model)
    names = {"data": data, "a": folder / "a.txt", "b": folder / "b.txt", "other": other}
    filled = arguments.format_map({**names, "model": model}).split()
    monkeypatch.chdir(folder)
    for content in (LETOR, "label,qid,f\n1,a,0.5\n", '{"a": 1}\n', "\x89\0"):
        other.write_text(content, "utf-8")
        code, said = in_process(filled)
        assert code == 2, said
        assert f"{other}: this file exists and is not {kind}, which would replace it" in said
        assert "name another file, or delete this one first" in said
        # Who forgot the option gave validation data in place of the model.
        if arguments == "train {data} {other}":
            assert "if it has validation data, give it by --valid" in said
        assert other.read_text("utf-8") == content
    assert not (folder / "new.rrk").exists()


def in_process(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and standard error."""
    from rustrank.cli import main

    stream = io.StringIO()
    with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(io.StringIO()):
        code = main(arguments)
    return code, stream.getvalue()


def test_files_of_the_same_kind_empty_ones_and_devices_are_written(data: Path) -> None:
    folder = data.parent
    small = ("--num-trees", "2", "--min-leaf-docs", "1")
    for name in ("web.rrk", "/dev/null"):
        for _ in range(2):
            good_but_warned("train", data, name, *small, cwd=folder)
    (folder / "empty").touch()
    good_but_warned("train", data, "empty", *small, cwd=folder)
    for ending in (".rrk", ".txt", ".json", ".xml", ".onnx"):
        for _ in range(2):
            good_but_warned("convert", "web.rrk", f"out{ending}", cwd=folder)
            # What one format holds may become another one.
            good_but_warned("convert", "web.rrk", f"out{ending}", "--to", "rustrank", cwd=folder)
            good_but_warned("convert", "web.rrk", f"out{ending}", cwd=folder)
    for _ in range(2):
        good_but_warned("score", "web.rrk", data, "--out", "scores", cwd=folder)
        good_but_warned("report", data, "a.txt", "b.txt", "--out", "page.html", cwd=folder)


def good_but_warned(*arguments: Any, **more: Any) -> None:
    done = run(*arguments, **more)
    assert done.returncode == 0, done.stderr


def test_text_that_begins_with_feature_0_is_read_by_all(data: Path) -> None:
    path, model = data.parent / "from0.txt", data.parent / "model.rrk"
    lines = [f"{i % 3} qid:{i // 6} 0:{i % 3}.5 1:{i * 7 % 5}" for i in range(60)]
    path.write_text("\n".join(lines) + "\n", "ascii")
    few = ("--num-trees", 2, "--min-leaf-docs", 1, "--no-progress")
    done = run("train", path, model, *few)
    assert done.returncode == 65
    assert "zero_based" in done.stderr
    good("train", path, model, *few, "--zero-based", "--max-features", 2)
    scores = [float(score) for score in good("score", model, path, "--zero-based").splitlines()]
    assert len(scores) == 60
    told = good("inspect", path, "--zero-based")
    assert "features           f0 to f1\n" in told
    rows = good("inspect", path, "--zero-based", "--features").splitlines()
    assert [row.split()[:2] for row in rows] == [["feature", "docs"], ["f0", "60"], ["f1", "60"]]
    assert scores[0] < scores[2], "feature 0 says what is relevant"
    assert run("score", model, path).returncode == 65
    told = good("combine", path, model, model, "--zero-based")
    assert told.splitlines()[-1].split()[:2] == ["combined", "1.0000"]
    assert run("train", path, model, "--max-features", 0).returncode == 2
