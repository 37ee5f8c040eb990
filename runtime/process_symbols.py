"""Where functions of this process are: those of its C library, and of libraries that were loaded for all to see."""

from __future__ import annotations

import ctypes
from functools import lru_cache


def process_address(name: str) -> int | None:
    """The address of a function; None where the process has none of that name."""
    found = getattr(process(), name, None)
    return None if found is None else ctypes.cast(found, ctypes.c_void_p).value


@lru_cache(maxsize=1)
def process() -> ctypes.CDLL:
    """The process as a library."""
    whole = ctypes.CDLL(None)
    if not hasattr(whole, "expf"):  # most Pythons are linked with the mathematics library
        from ctypes.util import find_library  # late: it starts processes

        name = find_library("m")
        if name is not None:
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    return whole
