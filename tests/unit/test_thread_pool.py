"""The pool of threads: how many, late ones, without any, forks, the end of the process; code ahead of time."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.runtime.threads import default_threads
from stepwell.tools.cli import main

from .thread_programs import needs_threads, numbers, running_sums, sums_of

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

pytestmark = pytest.mark.usefixtures("kept_code")


def run_python(
    code: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with the names of thread_programs.py."""
    folder = str(Path(__file__).parent)
    start = f"import ctypes, sys; sys.path.insert(0, {folder!r})\nfrom thread_programs import *\n"
    start += "from stepwell.runtime.thread_pool import WORKERS\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


# Where there are no threads to have.

WITHOUT_A_POOL = """
from stepwell.runtime import threads
threads.system = lambda: None
"""


def test_without_a_pool() -> None:
    code = f"""
{WITHOUT_A_POOL}
import warnings
from stepwell.runtime.jit import compile_module
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for count in COUNTS:
        check_sums(lowered(running_sums(str(count))).compile(threads=3), numbers(count))
    print(len(who_ran(lowered(WHO).compile(threads=2))), len(who_ran(compile_module(parse_text(WHO)))))
print(*[warning.message for warning in caught], sep="; ")
"""
    first, second = run_python(code).stdout.splitlines()
    assert first == "1 1"
    assert second.startswith(
        "found no threads and semaphores of POSIX in the C library, so loops run on one"
    )
    assert ";" not in second.partition("; compile")[2]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit that the system keeps")
def test_the_system_refuses_threads() -> None:
    """A new thread's stack takes 8 MB of addresses, which are not to be had."""
    code = """
import resource
from stepwell.runtime.engine import _thread_functions
program = lowered(running_sums("17"))
alone, both = program.compile(threads=1), program.compile(threads=4)
rows = numbers(17)
check_sums(alone, rows)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 20),) * 2)
for _ in range(3):
    check_sums(both, rows)
print(ctypes.c_int32.from_address(_thread_functions()[WORKERS]).value)
"""
    assert run_python(code).stdout == "0\n"


# How many there are.


@pytest.mark.parametrize(("text", "number"), [("3", 3), (" 5 ", 5), ("7,2", 7), ("1024", 1024)])
def test_the_environment_says_how_many(
    monkeypatch: pytest.MonkeyPatch, text: str, number: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert default_threads() == number


@pytest.mark.parametrize("text", ["0", "-1", "1025", "two", "", "2.0", ",2", "9" * 5000])
def test_the_environment_says_nonsense(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    message = f"found OMP_NUM_THREADS='{text}', expected a number from 1 to 1024; mend or unset it"
    with pytest.raises(StepwellError, match=re.escape(message)):
        default_threads()


def test_all_processors_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    assert default_threads() == len(affinity(0))


@needs_threads
def test_code_without_a_number_has_the_default() -> None:
    code = """
from stepwell.runtime.engine import _thread_functions
executable = lowered(WHO).compile()
who_ran(executable)
print(ctypes.c_int32.from_address(_thread_functions()[WORKERS]).value)
"""
    assert run_python(code, {**os.environ, "OMP_NUM_THREADS": "4"}).stdout == "3\n"
    assert run_python(code, {**os.environ, "OMP_NUM_THREADS": "1"}).stdout == "0\n"


@needs_threads
def test_threads_have_the_same_numbers_in_all_regions() -> None:
    code = """
import threading
from stepwell.lowering.llvm_text import GOMP_PARALLEL, THREAD_NUMBER
from stepwell.runtime.engine import _thread_functions
functions = _thread_functions()
number = ctypes.CFUNCTYPE(ctypes.c_int32)(functions[THREAD_NUMBER])
body = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
parallel = ctypes.CFUNCTYPE(None, body, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)(functions[GOMP_PARALLEL])
def numbers_of_a_region():
    found, all_there = {}, threading.Barrier(3, timeout=50)
    def run(_):
        all_there.wait()
        found[threading.get_native_id()] = number()
    parallel(body(run), None, 3, 0)
    return found
first, second = numbers_of_a_region(), numbers_of_a_region()
assert first == second, (first, second)
assert sorted(first.values()) == [0, 1, 2] and first[threading.get_native_id()] == 0, first
print(number())
"""
    assert run_python(code).stdout == "0\n"


# Late threads, forks and ends.


@needs_threads
@needs_fork
def test_a_caller_does_not_wait_for_threads_that_never_come() -> None:
    """The C library's fork, of which Python does not know: the pool counts threads that the child does not have."""
    code = """
import os
executable, rows = lowered(running_sums("17")).compile(threads=3), numbers(17)
check_sums(executable, rows)
child = ctypes.CDLL(None).fork()
if not child:
    for _ in range(100):
        check_sums(executable, rows)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(code).stdout == "7\n"


@needs_threads
@pytest.mark.parametrize("number", [0, -1])
def test_threads_that_share_a_processor_and_threads_that_do_not_know(number: int) -> None:
    code = f"""
import os
from dataclasses import replace
from pathlib import Path
from time import sleep
from stepwell.runtime import thread_pool, threads
thread_pool.LEAST_STAY_NANOSECONDS = thread_pool.MOST_STAY_NANOSECONDS = 0  # a worker goes to another processor whenever it waits
known = threads.system()
always = known.processor.replace("call i32 @sched_getcpu()", "add i32 0, {number}")
assert always != known.processor
threads.system = lambda: replace(known, processor=always)
for count in COUNTS:
    executable = lowered(running_sums(str(count))).compile(threads=3)
    for _ in range(20):
        check_sums(executable, numbers(count))
def allowed():
    tasks = Path("/proc/self/task").glob("*")
    return {{frozenset(os.sched_getaffinity(int(task.name))) for task in tasks}}
for _ in range(500):  # workers that still look for work are on their way to another processor again and again
    sleep(0.01)
    found = allowed()
    if len(found) == 1:
        break
print(len(found))  # all threads may use the same processors afterwards
"""
    assert run_python(code).stdout == "1\n"


@needs_threads
def test_a_worker_that_looked_at_the_clock_before_another_one_left_stays() -> None:
    code = """
from dataclasses import replace
from time import sleep
from stepwell.runtime import threads
from stepwell.runtime.engine import _thread_functions
known, pool = threads.system(), threads.pool
counted = '''
@leavings = global i32 0
define internal i32 @processor() {
  ret i32 0
}
define internal void @leave(i32 %processor) {
  atomicrmw add ptr @leavings, i32 1 monotonic
  ret void
}
'''
threads.system = lambda: replace(known, processor=counted)
never, later = (f"@left = internal global i64 {time}," for time in (0, 1 << 62))
assert never in pool(known, 1)
threads.pool = lambda *of: pool(*of).replace(never, later)
threads.EXPORTED = (*threads.EXPORTED, "leavings")
executable, rows = lowered(running_sums("17")).compile(threads=3), numbers(17)
for _ in range(20):
    check_sums(executable, rows)
    sleep(0.001)  # workers look for work all the time that they do so
print(ctypes.c_int32.from_address(_thread_functions()["leavings"]).value)
"""
    assert run_python(code).stdout == "0\n"


@needs_threads
@needs_fork
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = """
import os, time
executable = lowered(running_sums("17")).compile(threads=2)
who = lowered(WHO).compile(threads=2)
check_sums(executable, numbers(17))
child = os.fork()
check_sums(executable, numbers(17))
check_sums(lowered(running_sums("33")).compile(threads=2), numbers(33))
end = time.monotonic() + 30
while len(who_ran(who)) < 2:
    assert time.monotonic() < end
if not child:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(code).stdout == "7\n"


@needs_threads
@needs_fork
def test_forks_while_other_threads_call() -> None:
    code = """
import os, threading
executable, rows = lowered(running_sums("1000")).compile(threads=3), numbers(1000)
check_sums(executable, rows)  # imports numpy.testing: a fork during an import would leave its lock held
stop = threading.Event()
def work():
    while not stop.is_set():
        check_sums(executable, rows)
callers = [threading.Thread(target=work) for _ in range(3)]
for caller in callers:
    caller.start()
codes = []
for _ in range(10):
    child = os.fork()
    if not child:
        for _ in range(20):
            check_sums(executable, rows)
        os._exit(7)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for caller in callers:
    caller.join()
print(set(codes))
"""
    assert run_python(code).stdout == "{7}\n"


@needs_threads
@pytest.mark.parametrize("pause", ["0", "0.2"])
def test_the_process_ends_while_threads_wait(pause: str) -> None:
    """Awake, or asleep; and while a daemon thread has a region."""
    code = f"""
import threading, time
executable, rows = lowered(running_sums("1000")).compile(threads=4), numbers(1000)
def work():
    while True:
        executable(rows, np.zeros_like(rows), 1000)
threading.Thread(target=work, daemon=True).start()
check_sums(executable, rows)
time.sleep({pause})
print("end")
"""
    assert run_python(code).stdout == "end\n"


@pytest.mark.skipif(
    sys.platform != "linux", reason="of the GNU C library, and signals that stop a process"
)
@needs_threads
def test_a_process_that_is_stopped_at_its_end_goes_on_to_it() -> None:
    """Its threads sleep on semaphores of the pool, which they look at again when the process goes on, after Python has let go all objects."""
    code = """
import ctypes, signal
from thread_programs import *
executable = lowered(running_sums("1000")).compile(threads=2)
for _ in range(20):
    check_sums(executable, numbers(1000))
c = ctypes.CDLL(None)
c.__cxa_atexit(c.usleep, ctypes.c_void_p(200_000), None)
c.__cxa_atexit(getattr(c, "raise"), ctypes.c_void_p(signal.SIGSTOP.value), None)
c.__cxa_atexit(c.usleep, ctypes.c_void_p(50_000), None)
"""
    folder = str(Path(__file__).parent)
    start = f"import sys; sys.path.insert(0, {folder!r})\n"
    process = subprocess.Popen([sys.executable, "-c", start + code], stderr=subprocess.PIPE)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


@needs_threads
@pytest.mark.skipif(not hasattr(signal, "sigwait"), reason="needs signals of POSIX")
def test_signals_are_left_to_the_program() -> None:
    """One that the program has blocked, to wait for it, would end the process in a thread that has not."""
    code = """
import os, signal
before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
check_sums(lowered(running_sums("1000")).compile(threads=4), numbers(1000))
assert signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}) == before
for _ in range(20):
    os.kill(os.getpid(), signal.SIGUSR1)
    print(signal.sigwait({signal.SIGUSR1}).name)
"""
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # NumPy's threads block nothing
    assert run_python(code, alone).stdout == "SIGUSR1\n" * 20


# Ahead of time, and the command line.


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_shared_library(tmp_path: Path) -> None:
    source, library = tmp_path / "sums.mlir", tmp_path / "sums.so"
    source.write_text(running_sums("17"))
    rows = numbers(17)
    for threads in ("1", "2"):
        assert main(["compile", str(source), "-o", str(library), "--threads", threads]) == 0
        found = np.zeros_like(rows)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (rows, found)]
        ctypes.CDLL(str(library)).f(*pointers, ctypes.c_int64(17))
        np.testing.assert_array_equal(found, sums_of(rows))
        library.unlink()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "sums.mlir"
    source.write_text(running_sums("17").replace(", %n: index", ""))
    for options in ([], ["--threads", "1"], ["--threads", "3"]):
        assert main(["run", str(source), "--random", "0", "--check", *options]) == 0
    out = capsys.readouterr().out
    assert out.count("check: agrees with the interpreter") == 3
    assert main(["compile", str(source), "--emit", "llvm", "--threads", "3"]) == 0
    assert "arith" not in (text := capsys.readouterr().out) and "(3 : i32) : i32" in text
    assert main(["run", str(source), "--random", "0", "--threads", "0"]) == 1
    assert "found threads=0, expected a number from 1 to 1024" in capsys.readouterr().err
