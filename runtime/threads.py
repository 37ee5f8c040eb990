"""
The OpenMP library that loops marked `threads` run on, found when code that needs one is loaded.

A library that is in the process already is taken first: two would keep twice as many threads, and LLVM's
and Intel's end the process when they find each other. After it come GCC's libgomp, which lives beside any
other, LLVM's libomp from PyPI's `cmeel-libomp`, and LLVM's and Intel's where the system has them.
`STEPWELL_OPENMP` names another, or `none`. Without one, every loop runs on the thread that calls.

After `os.fork` the child of a process that has used libgomp would wait for threads it does not have, for
ever. There, loops run on the thread that calls, too. libomp and libiomp5 start new threads.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..errors import StepwellError
from ..lowering.core_to_llvm.parallel import (
    GOMP_PARALLEL,
    OPENMP_FUNCTIONS,
    TEAM_SIZE,
    THREAD_NUMBER,
)

ENVIRONMENT_VARIABLE = "STEPWELL_OPENMP"
NONE = "none"

MAX_THREADS = 1024
"""An OpenMP library ends the process when the system gives it fewer threads than were asked for."""

_FILE = re.compile(r"/lib(g|i)?omp5?(-[0-9a-f]+)?\.(so|dylib)(\.\d+)*$")
"""Files that are an OpenMP library, also as wheels rename them: `libgomp-24e2ab19.so.1.0.0`."""

_GNU = ("libgomp.so.1",)
_LLVM = ("libomp.so", "libomp.so.5", "libiomp5.so")
if sys.platform == "darwin":
    _GNU = ("libgomp.1.dylib",)
    _LLVM = ("libomp.dylib", "/opt/homebrew/opt/libomp/lib/libomp.dylib", "libiomp5.dylib")


@dataclass(frozen=True)
class OpenMP:
    """An OpenMP library: its file, and the address of each function that code may call."""

    path: str
    addresses: dict[str, int]
    survives_fork: bool
    """Whether it works in the child of a process that has used it."""


@lru_cache(maxsize=1)
def openmp() -> OpenMP | None:
    """
    The library that this process uses; None when there is none.

    Raises StepwellError when STEPWELL_OPENMP names a file that is no OpenMP library.
    """
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen == NONE:
        return None
    if chosen:
        library = _opened(chosen)
        if library is None:
            raise StepwellError(
                f"found {ENVIRONMENT_VARIABLE}={chosen}, expected an OpenMP library that can be loaded, or "
                f"'{NONE}'; mend or unset it"
            )
        return library
    candidates = (*_loaded(), *_GNU, *installed(), *_LLVM)
    return next((found for path in candidates if (found := _opened(path)) is not None), None)


SPINS = "10000"
"""How often a waiting thread of libgomp looks for work before it sleeps: for about as long as a thread takes to
wake. By default it looks for milliseconds, in which other programs have no processor, nor the thread it
waits for when these have it."""


@contextmanager
def _short_waits() -> Generator[None]:
    """
    libgomp reads its environment when it is loaded: what is set here is for it alone. Nothing where the user
    has said how threads wait.
    """
    variables = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    if any(variable in os.environ for variable in variables):
        yield
        return
    os.environ[variables[0]] = SPINS
    try:
        yield
    finally:
        os.environ.pop(variables[0], None)


def _opened(path: str) -> OpenMP | None:
    try:
        with _short_waits():
            library = ctypes.CDLL(path)
        addresses = {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
            for name in OPENMP_FUNCTIONS
        }
    except (OSError, AttributeError):
        return None
    # An entry point that only LLVM's library, and Intel's, which it comes from, have.
    return OpenMP(path, addresses, hasattr(library, "__kmpc_fork_call"))


def is_openmp_library(path: str) -> bool:
    """By its name."""
    return _FILE.search(path) is not None


def _loaded() -> list[str]:
    """The OpenMP libraries in this process, as far as the system tells."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return []
    paths = (line.split(maxsplit=5)[-1] for line in lines)
    return list(dict.fromkeys(filter(is_openmp_library, paths)))


def installed() -> Iterator[str]:
    """The library of `cmeel-libomp`."""
    name = "libomp.dylib" if sys.platform == "darwin" else "libomp.so"
    for folder in sys.path:
        path = Path(folder, "cmeel.prefix", "lib", name)
        if path.is_file():
            yield str(path)


# What loaded code calls.

_SERIAL = f"""
define void @{GOMP_PARALLEL}(ptr %body, ptr %data, i32 %threads, i32 %flags) {{
  call void %body(ptr %data)
  ret void
}}
define i32 @{THREAD_NUMBER}() {{
  ret i32 0
}}
define i32 @{TEAM_SIZE}() {{
  ret i32 1
}}
"""
"""The functions of a library that has one thread."""

_UNLESS_FORKED = f"""
@forked = external global i32
declare void @team(ptr, ptr, i32, i32)
define void @{GOMP_PARALLEL}(ptr %body, ptr %data, i32 %threads, i32 %flags) {{
  %is_child = load i32, ptr @forked
  %alone = icmp ne i32 %is_child, 0
  br i1 %alone, label %here, label %everywhere
here:
  call void %body(ptr %data)
  ret void
everywhere:
  tail call void @team(ptr %body, ptr %data, i32 %threads, i32 %flags)
  ret void
}}
"""
"""The library's function, except in a forked process. The library counts one thread there."""

_forked = ctypes.c_int32(0)


def _note_fork() -> None:
    _forked.value = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@dataclass(frozen=True)
class Glue:
    """
    LLVM IR that stands between loaded code and the library.

    It defines `defined`, and needs the `imported` addresses; the other functions are at `direct`.
    """

    text: str
    defined: tuple[str, ...]
    imported: dict[str, int]
    direct: dict[str, int]


def glue() -> Glue:
    """For the library of this process. Warns, once, when there is none."""
    library = openmp()
    if library is None:
        warnings.warn(
            "found no OpenMP library, so loops run on one thread; install libgomp or cmeel-libomp, or "
            "compile with threads=1",
            RuntimeWarning,
            stacklevel=2,
        )
        return Glue(_SERIAL, OPENMP_FUNCTIONS, {}, {})
    if library.survives_fork:
        return Glue("", (), {}, library.addresses)
    direct = dict(library.addresses)
    imported = {"team": direct.pop(GOMP_PARALLEL), "forked": ctypes.addressof(_forked)}
    return Glue(_UNLESS_FORKED, (GOMP_PARALLEL,), imported, direct)


def checked_threads(threads: int | None) -> int:
    """
    The number that code is lowered for: 0 for None, which leaves it to the library.

    Raises StepwellError for what is no number of threads.
    """
    if threads is None:
        return 0
    is_integer = isinstance(threads, int) and not isinstance(threads, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_integer or not 1 <= threads <= MAX_THREADS:
        raise StepwellError(
            f"found threads={threads!r}, expected a number from 1 to {MAX_THREADS}, or None for as many as "
            "there are processors; choose one"
        )
    return threads
