"""
How many threads loops marked `threads` run on, and the functions that loaded code calls for them.

Where the C library lacks what the pool of thread_pool.py needs, every loop runs on the thread that calls.
"""

from __future__ import annotations

import os
import warnings

from ..errors import StepwellError
from ..frozen import frozen
from ..lowering.llvm_text import GOMP_PARALLEL, MAX_THREADS, OPENMP_FUNCTIONS, THREAD_NUMBER
from ..targets.machine import allowed_cpus
from .process_symbols import process_address
from .thread_pool import EXPORTED, needed_functions, pool, system

NUMBER_VARIABLE = "OMP_NUM_THREADS"

LIMIT = 1024
"""Threads; what is asked for beyond it is a mistake."""

MOST_DIGITS = 100
"""Of a number in the environment. Python makes no number of thousands, and raises an error that names no variable."""


@frozen
class ThreadCode:
    """LLVM IR that defines `exported`, and the addresses of what it calls."""

    text: str
    exported: tuple[str, ...]
    imported: dict[str, int]

    @property
    def is_pool(self) -> bool:
        return bool(self.imported)


_SERIAL = ThreadCode(
    f"""
define void @{GOMP_PARALLEL}(ptr %body, ptr %data, i32 %threads, i32 %flags) {{
  call void %body(ptr %data)
  ret void
}}
define i32 @{MAX_THREADS}() {{
  ret i32 1
}}
define i32 @{THREAD_NUMBER}() {{
  ret i32 0
}}
""",
    OPENMP_FUNCTIONS,
    {},
)


def thread_code() -> ThreadCode:
    """
    What loaded code calls in this process. Warns where that is no pool.

    Raises StepwellError when OMP_NUM_THREADS is no number of threads.
    """
    here = system()
    if here is not None:
        addresses = {name: process_address(name) or 0 for name in needed_functions(here)}
        if all(addresses.values()):
            return ThreadCode(pool(here, default_threads()), EXPORTED, addresses)
    warnings.warn(
        "found no threads and semaphores of POSIX in the C library, so loops run on one thread; compile with "
        "threads=1 to have plain loops and no warning",
        RuntimeWarning,
        stacklevel=2,
    )
    return _SERIAL


def default_threads() -> int:
    """
    As many as OMP_NUM_THREADS says, whose first number counts, or as this process may use processors.

    Raises StepwellError when OMP_NUM_THREADS is no number of threads.
    """
    chosen = os.environ.get(NUMBER_VARIABLE)
    if chosen is None:
        return min(len(allowed_cpus()), LIMIT)
    first = chosen.partition(",")[0].strip()
    is_short = len(first) <= MOST_DIGITS and first.isdecimal()
    if not is_short or not 1 <= int(first) <= LIMIT:
        raise StepwellError(
            f"found {NUMBER_VARIABLE}={chosen!r}, expected a number from 1 to {LIMIT}; mend or unset it"
        )
    return int(first)


def checked_threads(threads: int | None) -> int:
    """
    The number that code is lowered for: 0 for None, which are as many as `default_threads` says.

    Raises StepwellError for what is no number of threads.
    """
    if threads is None:
        return 0
    is_integer = isinstance(threads, int) and not isinstance(threads, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_integer or not 1 <= threads <= LIMIT:
        raise StepwellError(
            f"found threads={threads!r}, expected a number from 1 to {LIMIT}, or None for as many as "
            "there are processors; choose one"
        )
    return threads
