"""The command line among others: completion, pipes, terminals, and the examples of its help."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank.cli import commands, main, parser
from rustrank.progress import progress_of_steps

if TYPE_CHECKING:
    from collections.abc import Callable

BASH = shutil.which("bash")
COMMANDS: dict[str, Any] = vars(parser())["commands"]


def told(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def runnable(folder: Path) -> dict[str, str]:
    """Make a `rustrank` to run, and return an environment that has it."""
    program = folder / "bin" / "rustrank"
    program.parent.mkdir()
    here = Path(sys.executable).parent
    program.write_text(f'#!/bin/sh\nexec {here}/python -W ignore -m rustrank "$@"\n', "ascii")
    program.chmod(0o755)
    return os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.fixture
def completed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """A function that returns what bash would offer for the last of some words."""
    if BASH is None:
        pytest.skip("no bash")
    (tmp_path / "script").write_text(told("bash", capsys), "utf-8")
    (tmp_path / "data.txt").touch()
    env = runnable(tmp_path)

    def offers(*words: str) -> list[str]:
        line = (
            'source ./script; COMP_LINE="rustrank $*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; '
            '_python_argcomplete rustrank; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            [str(BASH), "--norc", "-c", line, "bash", *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=env,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return offers


def test_bash_completes(completed: Callable[..., list[str]]) -> None:
    assert completed("co") == ["compare", "combine", "convert", "completion"]
    assert completed("train", "--num-t") == ["--num-trees"]
    assert completed("train", "--criterion", "") == ["second_order", "least_squares"]
    assert completed("evaluate", "--ties", "w") == ["worst"]
    assert completed("evaluate", "a.txt", "--metric", "ndc") == ["ndcg", "ndcg@10"]
    assert completed("completion", "") == ["bash", "zsh", "fish"]
    # After an option that takes a value, its value: no option, and here a file.
    assert completed("train", "--valid", "da") == ["data.txt"]
    assert completed("train", "da") == ["data.txt"]
    assert completed("nothing", "x") == []


def test_completion_knows_all_commands_and_options(completed: Callable[..., list[str]]) -> None:
    assert list(COMMANDS) == list(commands.NAMES)
    assert completed("") == list(COMMANDS)
    for name, command in COMMANDS.items():
        known = {option for action in command._actions for option in action.option_strings}
        assert set(completed(name, "-")) == known


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_code_of_the_shell(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "script"
    path.write_text(told(shell, capsys), "utf-8")
    assert "rustrank" in path.read_text("utf-8")
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n", str(path)], check=True, timeout=60)


def test_completion_does_not_wait_for_numpy() -> None:
    line = (
        "import sys\nfrom rustrank.cli import commands, parser\n"
        "for name in commands.NAMES: parser(name)\n"
        "assert not {'numpy', 'tqdm', 'argcomplete'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", line], check=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file that the examples name, and a `rustrank` to run."""
    folder = tmp_path_factory.mktemp("shell")
    runnable(folder)
    for seed, name in enumerate(
        ("train", "vali", "test", "web", "names", "names-2", "little", "ko")
    ):
        docs = rr.datasets.make_polynomial(24, 12, seed=seed)
        docs.to_letor(folder / f"{name}.txt")
        (folder / f"{name}.txt.gz").write_bytes(
            gzip.compress((folder / f"{name}.txt").read_bytes())
        )
        if name == "train":
            data = rr.Dataset.from_letor(folder / "train.txt")
            for trees, model in enumerate(("web", "model", "base", "en", "ja", "cn", "a", "b"), 2):
                made = rr.train(data, num_trees=trees, num_leaves=4)
                made.save(folder / f"{model}.rrk")
            made.export("lightgbm", folder / "lightgbm.txt")
    for seed, name in enumerate(("monday", "tuesday")):
        docs = rr.datasets.make_polynomial(24, 12, seed=seed, first_query=1000 * seed)
        docs.to_letor(folder / f"{name}.txt")
    pd = pytest.importorskip("pandas")
    for name in ("train", "vali", "test"):
        docs = rr.datasets.read_letor(folder / f"{name}.txt")
        table = pd.DataFrame(docs.X, columns=list(docs.feature_names))
        table = table.assign(grade=docs.y, query=docs.qid)
        table.to_parquet(folder / f"{name}.parquet")
    table["market"] = np.where(docs.qid % 2 == 0, "en", "ja")
    table.to_parquet(folder / "markets.parquet")
    table = table.drop(columns=["market", "grade", "query"])
    texts = np.array(["news", "shop", "wiki"])[np.arange(len(docs.y)) % 3]
    table = table.assign(site=texts, brand=np.arange(len(docs.y)) % 5, label=docs.y, qid=docs.qid)
    table.to_parquet(folder / "sites.parquet")
    rng = np.random.default_rng(1)
    for name in ("a", "b", "c", "bm25", "mine", "scores", "ta", "tb", "tc"):
        # All sets have as many docs.
        text = "".join(f"{score}\n" for score in rng.normal(size=24 * 12))
        (folder / f"{name}.txt").write_text(text, "ascii")
    qrels = "".join(f"q{i // 5} 0 d{i} {i % 3}\n" for i in range(20))
    (folder / "qrels.txt").write_text(qrels, "ascii")
    for at, run in enumerate(("bm25.run", "mine.run")):
        text = "".join(f"q{i // 5} Q0 d{i} 0 {i * 7 % (5 + at)} x\n" for i in range(20))
        (folder / run).write_text(text, "ascii")
    return folder


EXAMPLES = [
    (name, line.strip())
    for name, command in {"rustrank": parser(), **COMMANDS}.items()
    for line in (command.epilog or "").partition("examples:\n")[2].splitlines()
    if line.startswith("  ") and "rustrank " in line
]


def test_every_command_has_examples() -> None:
    assert {name for name, _ in EXAMPLES} == {"rustrank", *commands.NAMES}


@pytest.mark.skipif(BASH is None, reason="no bash")
@pytest.mark.parametrize("line", [line for _, line in EXAMPLES])
def test_examples_of_help_run(folder: Path, tmp_path: Path, line: str) -> None:
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    example = COMMANDS["train"].epilog.partition("as JSON:\n")[2]
    (work / "train.toml").write_text(example, "ascii")
    # The overview says after each line what it is for.
    line = line.partition("  ")[0]
    line = line.replace("--num-trees 500", "--num-trees 5")
    if "train shards" in line:
        rr.shard(work / "train.txt", work / "shards", shards=2)
    if "rustrank adapt" in line:
        line += " --num-trees 3 --folds 2"
    env = os.environ | {"PATH": f"{work}/bin:{os.environ['PATH']}"}
    assert BASH is not None
    done = subprocess.run(
        [BASH, "-o", "pipefail", "-c", line],
        cwd=work,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
def test_models_and_scores_go_through_pipes(folder: Path) -> None:
    options = "--num-trees 3 --num-leaves 4 --no-progress"
    line = f"cat train.txt | rustrank train - - {options} | rustrank score - test.txt"
    done = shell(folder, line)
    assert done.returncode == 0, done.stderr
    data = rr.Dataset.from_letor(folder / "train.txt")
    booster = rr.train(data, num_trees=3, num_leaves=4)
    docs = rr.Dataset.from_letor(folder / "test.txt", like=booster)
    assert np.array_equal(np.array(done.stdout.split(), float), booster.predict(docs))
    # What is told about the model does not stand in the midst of it.
    assert done.stderr == "-: 3 trees\n"
    done = shell(folder, "rustrank convert - - --to ranklib < web.rrk | head -c 30")
    assert done.stdout.startswith("## LambdaMART")
    done = shell(folder, "rustrank combine vali.txt a.rrk b.rrk --save - | rustrank inspect x")
    assert done.returncode == 66


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
def test_standard_input_is_read_once(folder: Path) -> None:
    done = shell(folder, "rustrank score - - < web.rrk")
    assert (done.returncode, done.stdout) == (2, "")
    assert "got - for 2 of them" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(folder: Path) -> None:
    import fcntl
    import pty
    import struct
    import termios

    line = "rustrank train train.txt web-2.rrk --num-trees 3"
    elsewhere = shell(folder, line)
    assert elsewhere.stderr.startswith("round 1\n")
    assert elsewhere.stderr.count("\n") == 2
    assert "\r" not in elsewhere.stderr
    assert shell(folder, f"{line} --no-progress").stderr == ""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    with subprocess.Popen(
        ["/bin/sh", "-c", line], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=theirs
    ) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert child.returncode == 0
    assert b"\r" in shown
    assert b"3/3" in shown


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert "rustrank COMMAND --help" in capsys.readouterr().out
    assert main(["help", "train"]) == 0
    assert capsys.readouterr().out.startswith("usage: rustrank train ")


def test_steps_are_told_by_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_of_steps(30, "fit", shown=True) as step:
        for at in range(30):
            step(f"number {at}")
    with progress_of_steps(2, "fit", shown=False) as step:
        step()
    assert capsys.readouterr().err == "fit 1 of 30: number 0\nfit 30 of 30: number 29\n"


def test_inspect_tells_what_a_model_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "web.rrk"
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{path}: 2 trees, 50 features, ")
    assert "objective         lambdamart" in text
    booster = rr.Booster.load(path)
    best = int(np.argmax(booster.feature_importance("reduction")))
    assert main(["inspect", str(path), "--features"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == ["feature", "reduction", "share", "splits"]
    assert rows[1].split()[0] == booster.feature_names[best]
    assert len(rows) == 51
    assert main(["inspect", str(folder / "lightgbm.txt")]) == 0
    assert ": 9 trees, 50 features" in capsys.readouterr().out
    (folder / "half.rrk").write_bytes(path.read_bytes()[:500])
    assert main(["inspect", str(folder / "half.rrk")]) == 65
    assert "half.rrk" in capsys.readouterr().err


def test_nothing_is_trained_for_a_place_that_cannot_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = str(folder / "train.txt")
    for place, code in (("none/m.rrk", 66), ("train.txt/m.rrk", 66), ("bin", 66)):
        assert main(["train", train, str(folder / place)]) == code
        # No line of progress came before.
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (rr.CommError("rank 1 is gone"), 75),
        (rr.CommTimeout("rank 1 was waited for"), 75),
        (rr.ResourceError("too large"), 70),
        (MemoryError(), 70),
        (rr.InternalError("a panic"), 70),
        (ZeroDivisionError("division by zero"), 70),
        (TimeoutError(110, "Connection timed out"), 74),
        (KeyboardInterrupt(), 130),
        (ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib"), 2),
        (ModuleNotFoundError("No module named 'rustrank.x'", name="rustrank.x"), 70),
    ],
)
def test_every_kind_of_fault_has_its_exit_code(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails(options: object) -> int:  # noqa: ARG001
        raise error

    # What cannot be written to standard output would be closed.
    monkeypatch.setattr("rustrank.cli.close_output", lambda: None)
    monkeypatch.setattr("rustrank.cli.commands.inspect._run", fails)
    assert main(["inspect", "x.txt"]) == code
    told = capfd.readouterr().err
    assert told.startswith("rustrank: error: ")
    assert told.count("\n") == 1
    assert "Traceback" not in told


def test_names_do_not_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = rr.datasets.make_polynomial(num_queries=30, seed=1)
    names = [f"\x1b]0;title\x07\u202eä{at}\n" for at in range(data.X.shape[1])]
    booster = rr.train(rr.Dataset(data.X, data.y, qid=data.qid, feature_names=names), num_trees=2)
    booster.save(tmp_path / "m.rrk")
    for more in ([], ["--features"]):
        assert main(["inspect", str(tmp_path / "m.rrk"), *more]) == 0
        told = capsys.readouterr().out
        assert "\\x1b]0;title\\x07\\u202eä" in told
        assert not set(told) & set("\x1b\x07\u202e")
    assert not set(booster.dump_text()) & set("\x1b\x07\u202e")
    named = tmp_path / "\x1b[31mred.txt"
    assert main(["inspect", str(named)]) == 66
    assert "\x1b" not in capsys.readouterr().err
