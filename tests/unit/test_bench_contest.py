"""`stepwell bench` measures each contestant in a process of its own, and only one of them runs at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.tools import bench_case, bench_contest, bench_worker
from stepwell.tools.bench_contest import Contest, Process
from stepwell.tools.cli import main

pytestmark = pytest.mark.usefixtures("kept_code")

HAS_PROC = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="no /proc to look for processes in"
)

SUITE = '''
import os, signal, threading
from pathlib import Path
from stepwell.tools.bench_case import Case

FOLDER = Path(__file__).parent

def kernel(name, numpy=None, ours=lambda x: x + 1, shape="4xf32"):
    return Case(name, ours, {"x": shape}, numpy=numpy)

def dies(x):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_later(x):
    calls.append(0)
    return x + 1 if len(calls) < 5 else dies(x)

def raises_later(x):
    calls.append(0)
    return x + 1 if len(calls) < 5 else x.nothing

def looks(x):
    """Writes the states of the other contestants."""
    states = ""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if number != os.getpid() and int(rest[1]) == os.getppid() and is_contestant(stat):
            states += rest[0]
    with (FOLDER / "states").open("a") as file:
        file.write(states)
    return x + 1

def is_contestant(stat):
    return b"bench_worker" in stat.with_name("cmdline").read_bytes()

calls = []
CASES = [
    kernel("dies", dies),
    kernel("dies-later", dies_later),
    kernel("raises-later", raises_later),
    kernel("wrong", ours=lambda x: x.nothing),
    kernel("unlike", lambda x: x + 2),
    kernel("looks", looks),
    kernel("lives", lambda x: x + 1),
]
'''


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "s.py"
    path.write_text(SUITE)
    return path


def request(name: str, suite: Path) -> bench_case.Request:
    (found,) = bench_case.requests([name], {}, suite)
    return found


def children() -> list[int]:
    """The processes that this one has started and that are still there."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid():
            found.append(int(stat.parent.name))
    return found


def state(process: int) -> str:
    """As in /proc: `T` is stopped; nothing when it is gone, or nearly so."""
    try:
        letter = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return "" if letter == "Z" else letter


def test_what_goes_wrong_is_a_line(suite: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--suite", str(suite), "--seconds", "0.001", "--against", "numpy", "--again", "0"]
    kernels = ["dies", "dies-later", "raises-later", "wrong", "unlike", "lives"]
    assert main(["bench", *kernels, *options]) == 1
    said = capsys.readouterr()
    assert not said.err
    lines = said.out.splitlines()
    after = {line.split()[0]: lines[i + 1] for i, line in enumerate(lines[:-1]) if line}
    ended = "  note: numpy fails: the measuring process ended with signal 9"
    assert after["dies"] == after["dies-later"] == ended
    assert after["raises-later"].startswith("  note: numpy fails: AttributeError: ")
    assert after["unlike"].startswith("  note: numpy gives another result: off by ")
    ratios = {line.split()[0]: line.split()[-1] for line in lines if line}
    left_out = ("dies", "dies-later", "raises-later", "unlike")
    assert [ratios[name] for name in left_out] == ["-"] * 4
    assert ratios["lives"].endswith("x")
    (wrong,) = (line for line in lines if line.startswith("wrong "))
    assert "  fails: " in wrong


@HAS_PROC
def test_others_are_stopped(suite: Path):
    with Contest(["numpy"], 0.001, 1) as contest:
        contest.measure(request("lives", suite))
        ours = contest._ours._process
        assert ours is not None
        assert state(ours.pid) == "T"
        contest.measure(request("looks", suite))
    states = (suite.parent / "states").read_text()
    assert len(states) > 4
    assert set(states) == {"T"}


@HAS_PROC
def test_ours_ends(suite: Path, monkeypatch: pytest.MonkeyPatch):
    """Before its turn or within it: the kernel fails, and the next has a process again."""
    with Contest(["numpy"], 0.001, 1) as contest:
        assert not contest.measure(request("lives", suite)).error
        process = contest._ours._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        outcome = contest.measure(request("lives", suite))
        assert outcome.error == "the measuring process ended with signal 9"
        assert not contest.measure(request("lives", suite)).error

        def kill_then_ask(seconds: float) -> object:
            assert contest._ours._process is not None
            os.kill(contest._ours._process.pid, signal.SIGSEGV)
            return Process.take_turn(contest._ours, seconds)

        monkeypatch.setattr(contest._ours, "take_turn", kill_then_ask)
        outcome = contest.measure(request("lives", suite))
        assert outcome.error == "the measuring process ended with signal 11"


@HAS_PROC
def test_processes_end_with_the_contest(suite: Path, monkeypatch: pytest.MonkeyPatch):
    before = set(children())

    def interrupt(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_contest, "interleaved", interrupt)
    with pytest.raises(KeyboardInterrupt), Contest(["numpy"], 0.001, 1) as contest:
        folder = contest._results.parent
        try:
            contest.measure(request("lives", suite))
        finally:
            assert len(set(children()) - before) == 3  # ours, the peer and the gauge
            assert folder.exists()
    assert set(children()) == before
    assert not folder.exists()


@HAS_PROC
def test_processes_end_with_a_command_that_is_killed(tmp_path: Path):
    """A stopped process cannot notice: the system wakes it."""
    program = tmp_path / "killed.py"
    program.write_text(
        "import sys\n"
        "from stepwell.errors import StepwellError\n"
        "from stepwell.tools.bench_contest import Measure, Process\n"
        "process = Process('numpy', 1)\n"
        "try: process.ask(Measure(0.0))\n"  # there is nothing to measure yet: it answers with an error
        "except StepwellError: print(process._process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # whoever takes its children over is in another
    )
    with command:
        assert command.stdout is not None
        worker = int(command.stdout.readline())
        assert state(worker) == "T"
        command.kill()
    end = time.monotonic() + 5
    while state(worker) and time.monotonic() < end:
        time.sleep(0.01)
    assert not state(worker)


def test_results_keep_their_order_and_dtypes(tmp_path: Path):
    arrays = [np.arange(n, dtype="f8" if n % 2 else "u1") for n in range(12)]
    bench_worker._write(tmp_path / "x.npz", arrays)
    for before, after in zip(arrays, bench_worker.read_arrays(tmp_path / "x.npz"), strict=True):
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype


def test_an_answer_that_is_an_error(suite: Path):
    process = Process("numpy", 1)
    try:
        task = bench_worker.Prepare(request("raises-later", suite), "/no/results")
        assert process.ask(task) == {"is_ready": True, "note": ""}
        with pytest.raises(StepwellError, match=r"^AttributeError: .* has no attribute 'nothing'$"):
            process.take_turn(0.001)
    finally:
        process.end()
    process.end()  # nothing is left to do


def test_what_a_neighbour_slowed_is_measured_again(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The gauge is slow during the first of two programs: its first measurement does not count."""
    measured: list[str] = []
    measure = Contest.measure

    def measure_counting(contest: Contest, request: bench_case.Request) -> bench_worker.Outcome:
        measured.append(request.program)
        return measure(contest, request)

    def read_gauge(_: Process) -> list[float]:
        return [3.0 if measured in ([], ["lives"]) else 1.0] * 2

    monkeypatch.setattr(Contest, "measure", measure_counting)
    monkeypatch.setattr(Process, "read_gauge", read_gauge)
    options = ["--suite", str(suite), "--seconds", "0.001", "--against", "numpy"]
    assert main(["bench", "lives", "looks", *options]) == 0
    assert measured == ["lives", "looks", "lives"]
    said = capsys.readouterr().out
    assert said.count("neighbours slowed the cores, so these are measured again:") == 1
    assert "the cores were slower" not in said
    measured.clear()
    assert main(["bench", "lives", "looks", *options, "--again", "0"]) == 0
    assert measured == ["lives", "looks"]
    assert "slower than at other times of this run for 1 of 2 (lives)" in capsys.readouterr().out


def test_another_checkout_takes_turns(suite: Path, capsys: pytest.CaptureFixture[str]):
    """Its time has a column of its own and is none of the peers'."""
    options = ["--suite", str(suite), "--seconds", "0.001", "--against", "numpy", "--again", "0"]
    assert main(["bench", "lives", "looks", *options, "--before", sys.executable]) == 0
    lines = capsys.readouterr().out.splitlines()
    (heading,) = (line for line in lines if line.startswith("kernel "))
    assert heading.split()[-2:] == ["best", "before"]
    (lives,) = (line for line in lines if line.startswith("lives "))
    assert all(ratio.endswith("x") for ratio in lives.split()[-3:])
    (summary,) = (line for line in lines if line.startswith("against the checkout before: "))
    assert "geometric mean " in summary and "lives " in summary


def test_another_checkout_with_other_results(suite: Path):
    with Contest([], 0.001, 1, Path(sys.executable)) as contest:
        before = contest._before
        assert before is not None

        def ask(message: bench_worker.Message) -> dict[str, object]:
            answer = Process.ask(before, message)
            if isinstance(message, bench_worker.Prepare):
                with Path(message.results).open("wb") as file:
                    np.savez(file, np.full(4, 7, np.float32))
            return answer

        before.ask = ask
        outcome = contest.measure(request("lives", suite))
    (note,) = outcome.notes
    assert note.startswith("before gives another result: off by ")
    assert list(outcome.samples) == ["stepwell"]


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("nowhere/python", "cannot run it: No such file or directory"),
        ("/bin/false", "found no stepwell that it can import"),
    ],
)
def test_no_other_checkout(python: str, said: str, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "softmax", "--before", python]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: --before {python}: {said}")
