"""How fast the processor's counter runs that `core-time-calls` reads."""

from __future__ import annotations

import ctypes
import time
from functools import lru_cache

from .engine import link_for_good

_READ = "stepwell_read_cycle_counter"
_TEXT = f"""
declare i64 @llvm.readcyclecounter()
define i64 @{_READ}() {{
  %ticks = call i64 @llvm.readcyclecounter()
  ret i64 %ticks
}}
"""
_SECONDS = 0.02


@lru_cache(maxsize=1)
def ticks_per_second() -> float:
    """The rate of the counter, measured once against the system's clock, to about a part in a thousand."""
    read = ctypes.CFUNCTYPE(ctypes.c_int64)(link_for_good(_TEXT, {}, [_READ])[_READ])
    start, first = time.perf_counter(), read()
    time.sleep(_SECONDS)
    last, end = read(), time.perf_counter()
    return (last - first) / (end - start)
