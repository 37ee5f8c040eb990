"""How long each kernel of a program takes."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any, cast

import numpy as np
from xdsl.dialects import func

from ..analysis.signature import entry_function
from ..errors import StepwellError, location_of
from ..transforms.core.time_calls import CoreTimeCallsPass, timed_calls
from .lowered import Lowered
from .text import make_context

ROUNDS = 20


@dataclass(frozen=True)
class KernelTime:
    """One call of a kernel: its name, where it comes from in the source, and the seconds it took."""

    kernel: str
    source: str
    seconds: float


def profile(
    low: Lowered, *arrays: Any, threads: int | None = None, rounds: int = ROUNDS
) -> list[KernelTime]:
    """
    The calls of kernels of a program, in the order of its text, with the median time of each over so many runs on
    these arrays. A call in a loop stands once, with the time of all of its runs.

    The program is compiled for this: besides the calls it reads the processor's counter, which takes some ten
    nanoseconds a call. Raises StepwellError for a program below the core level, and as compiling and calling do.
    """
    from ..runtime.cycle_counter import ticks_per_second

    module = low.module("core")
    function = entry_function(module, None)
    calls = timed_calls(function) if isinstance(function, func.FuncOp) else []
    if not calls:
        raise StepwellError(
            f"found no kernels that '{low.name}' calls, expected a program of several; time the call itself"
        )
    found = [(call.callee.string_value(), location_of(call) or "") for call in calls]
    CoreTimeCallsPass().apply(make_context(), module)
    run = Lowered(module, name=low.name, options=low.options).compile(threads=threads)
    ticks: list[np.ndarray] = []
    for _ in range(rounds + 1):
        results = cast("tuple[np.ndarray, ...]", run(*arrays))
        ticks.append(results[-1])
    rate = ticks_per_second()
    times = (median(int(one[n]) for one in ticks[1:]) / rate for n in range(len(calls)))
    return [KernelTime(*pair, seconds) for pair, seconds in zip(found, times, strict=True)]
