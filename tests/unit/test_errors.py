"""
What users get for their mistakes: one line with the place, what was found, what was expected and what to do,
exit status 1, and never a traceback. Each mistake goes through the real main functions.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.onnx.reading import read_model
from stepwell.tools import cli, opt

from .command_mistakes import DRIVER_MISTAKES, RUN_MISTAKES
from .mistakes import IDENTITY, Mistake
from .program_mistakes import LOWERING_MISTAKES, TEXT_MISTAKES, VERIFIER_MISTAKES

MAIN: dict[str, Callable[[list[str]], int]] = {"stepwell-opt": opt.main, "stepwell": cli.main}

MISTAKES = [
    *TEXT_MISTAKES,
    *VERIFIER_MISTAKES,
    *LOWERING_MISTAKES,
    *DRIVER_MISTAKES,
    *RUN_MISTAKES,
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files of the wrong kinds in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07")
    (tmp_path / "binary.mlir").write_bytes(b"//\n  \xff\xfe")
    (tmp_path / "layer.py").write_text("def layer(x, w):\n    return x @ w\n")
    (tmp_path / "fails.py").write_text("def f():\n    pass\n1 / 0\n")
    (tmp_path / "wrong.py").write_text("def f(:\n")
    (tmp_path / "returns.py").write_text(
        "def nothing(x):\n    pass\n\n\ndef word(x):\n    return {'a': (x, 'no tensor')}\n"
    )
    np.save("x.npy", np.zeros((2, 3), np.float32))
    np.save("other_shape.npy", np.zeros((3, 2), np.float32))
    np.save("other_rank.npy", np.zeros(6, np.float32))
    np.save("other_dtype.npy", np.zeros((2, 3), np.float64))
    return tmp_path


def assert_one_good_line(stderr: str, case: Mistake) -> None:
    assert stderr.count("\n") == 1 and stderr.endswith("\n"), stderr
    assert "Traceback" not in stderr
    start = (
        f"error: {case.where}:" if case.where and case.where[-1] != ":" else f"error: {case.where}"
    )
    assert stderr.startswith(start)
    position = 0
    for part in case.parts:
        found = stderr.find(part, position)
        assert found >= 0, f"{part!r} is not in, or not in order in: {stderr}"
        position = found + len(part)


@pytest.mark.parametrize("case", MISTAKES, ids=[case.name for case in MISTAKES])
def test_a_mistake_is_one_line(
    case: Mistake, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if case.text is not None:
        (folder / "in.mlir").write_text(case.text)
    program, *args = case.command.split()
    assert MAIN[program](args) == 1
    out, err = capsys.readouterr()
    assert_one_good_line(err, case)
    assert out == ""


def test_there_are_enough_and_they_are_distinct() -> None:
    assert len({(case.command, case.text) for case in MISTAKES}) == len(MISTAKES) >= 25


@pytest.mark.parametrize(
    "case",
    [case for case in MISTAKES if case.name in ("unknown operation", "malformed pipeline")],
    ids=lambda case: case.name,
)
def test_a_mistake_ends_the_process_with_status_1(case: Mistake, folder: Path) -> None:
    (folder / "in.mlir").write_text(case.text or "")
    _, *args = case.command.split()
    done = subprocess.run(
        [sys.executable, "-m", "stepwell.tools.opt", *args],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert_one_good_line(done.stderr, case)


ENDINGS = [
    ("cli run in.mlir --random 0 > /dev/full", 1, "error: cannot write the output: No space"),
    ("opt in.mlir > /dev/full", 1, "error: cannot write the output: No space"),
    ("cli run in.mlir --random 0 >&-", 0, ""),
    ("cli run - --random 0 <&-", 1, "error: <stdin>:1:1: found an empty text"),
    ("opt - <&-", 1, "error: <stdin>:1:1: found an empty text"),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device without room")
@pytest.mark.parametrize(("command", "status", "said"), ENDINGS)
def test_streams_that_are_full_or_closed(command: str, status: int, said: str, folder: Path):
    (folder / "in.mlir").write_text(IDENTITY)
    line = f"{sys.executable} -m stepwell.tools.{command}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=folder)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)


def test_a_file_larger_than_models_can_be_is_not_read(tmp_path: Path):
    with open(tmp_path / "m.onnx", "wb") as file:
        file.truncate(1 << 40)
    for load in (sw.load, read_model):
        with pytest.raises(sw.StepwellError, match="less than 2 GiB"):
            load(tmp_path / "m.onnx")
