"""The OpenMP library: where it is found, what happens without one and after a fork; code ahead of time."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.runtime import threads as runtime_threads
from stepwell.runtime.threads import openmp
from stepwell.tools.cli import main

from .thread_programs import needs_openmp, numbers, running_sums, sums_of


def run_python(
    code: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with the names of thread_programs.py."""
    folder = str(Path(__file__).parent)
    start = f"import sys; sys.path.insert(0, {folder!r})\nfrom thread_programs import *\n"
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


def test_without_a_library() -> None:
    code = """
import warnings
from stepwell.runtime.jit import compile_module
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for count in COUNTS:
        check_sums(lowered(running_sums(str(count))).compile(threads=3), numbers(count))
    print(shares(lowered(WHO).compile(threads=2)), shares(compile_module(parse_text(WHO))))
print(*[warning.message for warning in caught], sep="; ")
"""
    done = run_python(code, {**os.environ, "STEPWELL_OPENMP": "none"})
    first, second = done.stdout.splitlines()
    assert first == "[17] [17]"
    assert second.startswith("found no OpenMP library, so loops run on one thread; install")
    assert ";" not in second.partition("; install")[2]


def test_a_library_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_OPENMP", "/nowhere/libomp.so")
    message = "found STEPWELL_OPENMP=/nowhere/libomp.so, expected an OpenMP library"
    with pytest.raises(StepwellError, match=message):
        openmp.__wrapped__()


@pytest.mark.skipif(sys.platform == "darwin", reason="the file is called libomp.dylib there")
def test_the_wheel_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "cmeel.prefix" / "lib" / "libomp.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(library) in runtime_threads.installed()


@pytest.mark.parametrize(
    ("path", "is_openmp"),
    [
        ("/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", True),
        ("/site-packages/torch.libs/libgomp-24e2ab19.so.1.0.0", True),
        ("/opt/conda/lib/libiomp5.so", True),
        ("/site-packages/cmeel.prefix/lib/libomp.so", True),
        ("/usr/lib/libcomp.so", False),
        ("/usr/lib/libgompertz.so.1", False),
        ("/usr/lib/libompd.so", False),
    ],
)
def test_names_of_libraries(path: str, is_openmp: bool) -> None:
    assert runtime_threads.is_openmp_library(path) is is_openmp


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@needs_openmp
def test_threads_wait_for_a_short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the library is loaded, and where the user has not said how long."""
    for variable in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(variable, raising=False)
    with runtime_threads._short_waits():
        assert os.environ["GOMP_SPINCOUNT"] == runtime_threads.SPINS
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with runtime_threads._short_waits():
        assert "GOMP_SPINCOUNT" not in os.environ


def test_a_forked_process_does_not_hang() -> None:
    code = """
import os
executable = lowered(running_sums("17")).compile(threads=2)
check_sums(executable, numbers(17))
child = os.fork()
if not child:
    check_sums(executable, numbers(17))
    check_sums(lowered(running_sums("33")).compile(threads=2), numbers(33))
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
check_sums(executable, numbers(17))
print(shares(lowered(WHO).compile(threads=2)))
"""
    assert run_python(code).stdout.split("\n")[:2] == ["7", "[9, 8]"]


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
