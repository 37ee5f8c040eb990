"""How long each kernel of a program takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, cast

import numpy as np
from xdsl.dialects import func

from ..analysis.signature import entry_function
from ..errors import StepwellError, location_of
from ..frozen import frozen
from ..transforms.core.time_calls import CoreTimeCallsPass, timed_calls
from .lowered import Lowered
from .text import make_context

ROUNDS = 20


@frozen
class KernelTime:
    """One call of a kernel: its name, where it comes from in the source, and the seconds it took."""

    kernel: str
    source: str
    seconds: float


class Profiler:
    """
    A program that keeps the time of each of its calls of kernels.

    It is compiled for this: besides the calls it reads the processor's counter, which takes some ten nanoseconds a
    call. Raises StepwellError for a program below the core level, and as compiling and calling do.
    """

    def __init__(self, low: Lowered, threads: int | None = None):
        module = low.module("core")
        function = entry_function(module, None)
        calls = timed_calls(function) if isinstance(function, func.FuncOp) else []
        if not calls:
            raise StepwellError(
                f"found no kernels that '{low.name}' calls, expected a program of several; time the call itself"
            )
        self._found = [(call.callee.string_value(), location_of(call) or "") for call in calls]
        CoreTimeCallsPass().apply(make_context(), module)
        self._run = Lowered(module, name=low.name, options=low.options).compile(threads=threads)
        self._ticks: list[np.ndarray] = []

    def __len__(self) -> int:
        """How often it ran."""
        return len(self._ticks)

    def run(self, *arrays: Any) -> None:
        """Run it once."""
        results = cast("tuple[np.ndarray, ...]", self._run(*arrays))
        self._ticks.append(results[-1])

    def times(self, of: Callable[[Iterable[int]], float] = median) -> list[KernelTime]:
        """
        The calls of kernels, in the order of the program's text, with the median time of each over all runs but the
        first, or what else `of` makes of them. A call in a loop stands once, with the time of all of its runs.
        """
        from ..runtime.cycle_counter import ticks_per_second

        rate, kept = ticks_per_second(), self._ticks[1:]
        times = (of(int(one[n]) for one in kept) / rate for n in range(len(self._found)))
        return [
            KernelTime(*pair, seconds) for pair, seconds in zip(self._found, times, strict=True)
        ]


def profile(
    low: Lowered, *arrays: Any, threads: int | None = None, rounds: int = ROUNDS
) -> list[KernelTime]:
    """The calls of kernels of a program with the median time of each over so many runs on these arrays."""
    profiler = Profiler(low, threads)
    for _ in range(rounds + 1):
        profiler.run(*arrays)
    return profiler.times()
