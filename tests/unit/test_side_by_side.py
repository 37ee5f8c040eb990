"""Kernels are compiled in processes side by side: the same code, whatever becomes of a process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest
from stepwell.cache.store import Store
from stepwell.errors import StepwellError
from stepwell.runtime import objects, side_by_side
from stepwell.runtime.codegen import CodeGenerator
from stepwell.runtime.objects import objects_of
from stepwell.targets.target import Target

from .test_forks import status_of_child

HOST = Target.host()
GENERATOR = CodeGenerator(HOST.triple, HOST.cpu, HOST.features, quick=True)
TEXTS = [
    f"define i64 @f{n}(i64 %x) {{\n  %y = add i64 %x, {n}\n  ret i64 %y\n}}\n" for n in range(6)
]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that compile in this test: two, however small the modules are."""
    processes: list[subprocess.Popen[bytes]] = []
    start = side_by_side._started

    def watched(imports: Sequence[str]) -> subprocess.Popen[bytes]:
        processes.append(start(imports))
        return processes[-1]

    monkeypatch.setattr(side_by_side, "_started", watched)
    monkeypatch.setattr(side_by_side, "process_count", lambda _: 2)
    return processes


def have_ended(processes: list[subprocess.Popen[bytes]]) -> bool:
    return bool(processes) and all(process.poll() is not None for process in processes)


def slowed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lets another process take something before this one has compiled anything; what this one compiles."""
    here, taken = list[str](), threading.Event()
    plain, send = CodeGenerator.object_code, side_by_side.send

    def sends(data: bytes, to: IO[bytes]) -> None:
        taken.set()
        send(data, to)

    def slow(self: CodeGenerator, text: str) -> bytes:
        here.append(text)
        taken.wait(300)
        return plain(self, text)

    monkeypatch.setattr(side_by_side, "send", sends)

    slow.__name__ = "object_code"  # which other processes call it by
    monkeypatch.setattr(CodeGenerator, "object_code", slow)
    return here


def test_processes_make_the_same_code(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
):
    expected = [GENERATOR.object_code(text) for text in TEXTS]
    here = slowed(monkeypatch)
    assert objects_of(TEXTS, GENERATOR) == expected
    assert have_ended(started) and len(here) < len(TEXTS)


def test_what_a_process_does_not_answer_is_compiled_here(monkeypatch: pytest.MonkeyPatch):
    def dies(_: Sequence[str]) -> subprocess.Popen[bytes]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen([sys.executable, "-c", "print('no object')"], **pipes)

    monkeypatch.setattr(side_by_side, "process_count", lambda _: 2)
    monkeypatch.setattr(side_by_side, "_started", dies)
    expected = [GENERATOR.object_code(text) for text in TEXTS]
    assert objects_of(TEXTS, GENERATOR) == expected


def test_a_refused_module_is_one_error(started: list[subprocess.Popen[bytes]]):
    with pytest.raises(StepwellError, match="LLVM does not accept the emitted IR"):
        objects_of([*TEXTS, "define void @f() {"], GENERATOR)
    assert have_ended(started)


def test_an_interrupt_ends_the_processes_and_leaves_no_file(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def interrupted(_: CodeGenerator, __: str) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(CodeGenerator, "object_code", interrupted)
    with pytest.raises(KeyboardInterrupt):
        objects_of(TEXTS, GENERATOR, Store(tmp_path))
    assert have_ended(started)
    assert all(entry.path.suffix != ".new" for entry in Store(tmp_path).entries())


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_threads_of_this_process_take_no_processor_from_its_work(monkeypatch: pytest.MonkeyPatch):
    """Some of them join weights while the program is on its way to kernels."""
    assert side_by_side._running_here() >= 1
    monkeypatch.setattr(side_by_side, "_running_here", lambda: 1000)
    assert side_by_side._running() == 1


def test_busy_machines_have_no_processes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(side_by_side, "_running", lambda: 1)
    assert side_by_side.process_count(2) == 2
    assert side_by_side.process_count(100) == 7
    assert side_by_side.process_count(-1) == 0
    monkeypatch.setattr(side_by_side, "_running", lambda: 7)
    assert side_by_side.process_count(2) == 1
    monkeypatch.setattr(side_by_side, "_running", lambda: 9)
    assert side_by_side.process_count(2) == 0
    looks = iter([9, 8, 7, 9])
    monkeypatch.setattr(side_by_side, "_running", lambda: next(looks))
    assert side_by_side.process_count(2) == 1
    monkeypatch.setattr(side_by_side, "_running", lambda: 1)
    monkeypatch.setattr(sys, "executable", "/usr/bin/blender")
    assert side_by_side.process_count(2) == 0


def test_processes_that_wait_for_work_take_processors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    monkeypatch.setattr(side_by_side, "_running", lambda: 1)
    assert [side_by_side.process_count(5, started) for started in (0, 1, 2, 3, 4)] == [
        3,
        2,
        1,
        0,
        0,
    ]
    assert side_by_side.process_count(2, 1) == 1


def test_processes_that_started_ahead_end_with_the_work(started: list[subprocess.Popen[bytes]]):
    ahead = side_by_side.WorkersAhead(1)
    with side_by_side.workers(1, started=ahead.taken()) as both:
        assert [*both.processes] == started and len(started) == 2
        assert all(process.poll() is None for process in started)
    assert have_ended(started) and ahead.taken() == []


def test_processes_that_nobody_takes_end(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
):
    let_go = side_by_side.WorkersAhead(1)
    del let_go
    assert have_ended(started)
    monkeypatch.setattr(side_by_side, "_PATIENCE_SECONDS", 2.0)  # longer than a start takes
    kept = side_by_side.WorkersAhead(1)
    started[1].wait(timeout=60)
    assert kept.taken() == []


def answering_process(seconds: float) -> subprocess.Popen[bytes]:
    """A process that is ready after some seconds."""
    code = (
        f"import time; time.sleep({seconds}); import sys; sys.argv = ['worker', '1'];"
        "from stepwell.runtime.worker import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_answers_come_in_the_order_of_jobs():
    with side_by_side.workers(0, started=[answering_process(0)]) as processes:
        while not processes.answers(abs, [-1, -2]) or not processes._ready:
            time.sleep(0.01)
        assert processes.answers(abs, [-n for n in range(50)]) == [*range(50)]


def test_what_modules_print_while_they_are_imported_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of fewer bytes than an answer has at least, and before any module of ours runs."""
    for name in ("sitecustomize", "prints_little"):
        (tmp_path / f"{name}.py").write_text("print('ab', flush=True)")
    monkeypatch.syspath_prepend(tmp_path)
    with side_by_side.workers(1, "prints_little") as processes:
        ending = threading.Timer(60, processes.kill)
        ending.start()
        while not processes._ready and processes.processes[0].poll() is None:
            assert processes.answers(abs, [-1, -2]) == [1, 2]
        assert processes._ready and processes.answers(abs, [-1, -2]) == [1, 2]
        ending.cancel()


@pytest.mark.parametrize("is_ready", [True, False])
@pytest.mark.parametrize("leaves_garbage", [True, False])
def test_garbage_is_collected_while_processes_do_the_last_jobs(
    is_ready: bool, leaves_garbage: bool, monkeypatch: pytest.MonkeyPatch
):
    """Here they do none, so that all jobs are done in their order."""
    done: list[Any] = []
    process = answering_process(600)
    with side_by_side.workers(0, started=[process]) as processes:
        monkeypatch.setattr(side_by_side.Workers, "_feed", lambda *_: None)
        monkeypatch.setattr(side_by_side, "collect_youngest", lambda: done.append("collected"))
        if is_ready:
            processes._ready.add(process)
        processes.run(
            abs, [-1, -2, -3, -4], lambda _, n: done.append(n), leaves_garbage=leaves_garbage
        )
    places = [place for place, one in enumerate(done) if one == "collected"]
    assert [one for one in done if one != "collected"] == [1, 2, 3, 4]
    assert len(places) == (is_ready and leaves_garbage)
    assert all(0 < place < 4 for place in places), "after some of the jobs, and before the last"


def test_nobody_waits_for_a_process_that_is_not_ready():
    start = time.monotonic()
    with side_by_side.workers(0, started=[answering_process(600)]) as processes:
        assert processes.answers(abs, [-1, -2, -3]) == [1, 2, 3]
    assert time.monotonic() - start < 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied on POSIX alone")
def test_a_copy_of_the_process_leaves_its_processes_alone(started: list[subprocess.Popen[bytes]]):
    ahead = side_by_side.WorkersAhead(1)

    def take() -> None:
        nonlocal ahead
        assert ahead.taken() == []
        del ahead

    assert status_of_child(take) == 0
    assert started[0].poll() is None
    with side_by_side.workers(0, started=ahead.taken()) as processes:
        assert [*processes.processes] == started
        assert processes.answers(abs, [-1, -2]) == [1, 2]


def test_a_process_answers_where_many_files_are_open(
    started: list[subprocess.Popen[bytes]],
):
    """More than `select` takes."""
    with ExitStack() as files:
        try:
            for _ in range(1100):
                files.enter_context(open(os.devnull))
        except OSError:
            pytest.skip("fewer files may be open here")
        with side_by_side.workers(1) as processes:
            while not processes._ready:
                assert processes.answers(abs, [-1, -2]) == [1, 2]
                time.sleep(0.01)


def test_no_thread_waits_where_no_process_starts():
    before = threading.active_count()
    ahead = side_by_side.WorkersAhead(0)
    assert threading.active_count() == before and ahead.taken() == []


def test_small_modules_are_worth_no_process(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    monkeypatch.setattr(side_by_side, "process_count", lambda wanted: asked.append(wanted) or 0)
    objects_of(TEXTS, GENERATOR)
    monkeypatch.setattr(objects, "START_BYTES", 1)
    objects_of(TEXTS, GENERATOR)
    assert asked == [0, len(TEXTS) - 1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_moves_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(side_by_side, "process_count", lambda _: 0)
    monkeypatch.setattr(objects, "START_BYTES", 1)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        objects_of(TEXTS, GENERATOR)
        assert ("compiling kernels" in stream.getvalue()) == stream.isatty()


def test_a_process_without_a_stream_for_errors_compiles(monkeypatch: pytest.MonkeyPatch):
    """As `2>&-` starts one, or as one that closes the stream to go on by itself."""
    monkeypatch.setattr(side_by_side, "process_count", lambda _: 0)
    monkeypatch.setattr(objects, "START_BYTES", 1)
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        assert len(objects_of(TEXTS, GENERATOR)) == len(TEXTS)
