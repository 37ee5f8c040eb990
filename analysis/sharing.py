"""
By which of their dimensions threads share the buffers of a program: one choice for all of its kernels.

A kernel alone does not know who wrote what it reads. Where the one before it dealt out rows and it deals out channels, most
lines change from one core's cache to another's, which takes as long as memory. So the ways to deal out each kernel are
compared together: what a thread reads that others have written, what all of them read, and how evenly the work is shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from ..frozen import frozen
from ..targets.core import LINE_BYTES
from ..targets.target import Target
from .facts import Home, KernelFacts, Role, Statement
from .partitioning import Cuts, axis_along, cuts, written_last
from .plans.cost import kept_bytes
from .plans.threads import AWAKE_SECONDS, line_seconds, pays

LEAST_LINES = 16
"""
That each thread has beside each other: of fewer, too many belong to two of them, and prefetchers, which do not know where a
thread's part ends, bring too many of the others'.
"""

ALIKE = 3 / 4
"""From which part of each other two sizes lead to about the same parts, as those of rows with their border and without."""

ROUNDS = 8
"""How often each kernel is asked again after others have changed their way, at most."""


@frozen
class Way:
    """A way to deal a kernel's iterations to threads: by a loop of so many, which moves along these dimensions."""

    cuts: Cuts
    trips: int

    @property
    def is_dealt(self) -> bool:
        """Whether threads share the iterations."""
        return bool(self.cuts)


ALONE = Way({}, 1)
"""One thread has all iterations."""


@dataclass(eq=False)
class Kernel:
    """A kernel with the ways in which it may be dealt out, the first of them until another one is chosen."""

    name: str
    facts: KernelFacts
    ways: Sequence[Way]
    seconds: float
    way: int = 0
    is_alone: bool = False
    """whether no kernel of the program is dealt out"""

    def __post_init__(self) -> None:
        self.read = {access.buffer for s in self.facts.statements for access in s.reads}

    @staticmethod
    def of(name: str, facts: KernelFacts, target: Target, threads: int) -> Kernel:
        """A kernel, with ways where threads pay: one of them alone would wait for what the others have."""
        work = sum(2 * (statement.points or 0) for statement in facts.statements if statement.reads)
        near = sum(buffer.bytes or 0 for buffer in facts.buffers)
        rates = target.rates
        seconds = max(work / rates.peak(), near / rates.bandwidth("L2", "copy"))
        alone = seconds + line_seconds(near * (1 - 1 / threads), target)
        return Kernel(name, facts, ways(facts, threads) if pays(alone) else (), seconds)

    def span(self, buffer: int, dimension: int) -> int | None:
        """
        Over how many bytes of memory the elements along a dimension lie: by that parts of views are compared. None where there
        is one element, or where it is not known.
        """
        one = self.facts.buffers[buffer]
        stride, extent = one.strides[dimension], one.shape[dimension]
        if isinstance(stride, int) and isinstance(extent, int) and extent > 1:
            return stride * extent * one.element_bytes
        return None

    def spans(self, buffer: int) -> list[int | None]:
        """The same of each dimension."""
        return [self.span(buffer, n) for n in range(len(self.facts.buffers[buffer].shape))]

    def cut(self, buffer: int) -> int | None:
        """The dimension along which threads share a buffer by the chosen way."""
        return self.chosen.cuts.get(buffer)

    @property
    def chosen(self) -> Way:
        return self.ways[self.way] if self.ways and not self.is_alone else ALONE


@dataclass(eq=False)
class Call:
    """A call of a kernel: the memory that each of the buffers it is given is a part of, as its facts number them."""

    kernel: Kernel
    memory: Sequence[Hashable]
    writers: dict[int, list[tuple[Call, int]]] = field(
        default_factory=dict[int, list[tuple["Call", int]]]
    )
    """of an argument that is read: the calls before that have written its memory, each as one of their arguments"""

    def given(self, buffer: int) -> list[int]:
        """The spans by which those who wrote a buffer share it, as far as they do."""
        found = (
            one.kernel.span(n, cut)
            for one, n in self.writers.get(buffer, ())
            if (cut := one.kernel.cut(n)) is not None
        )
        return [span for span in found if span is not None]


def ways(facts: KernelFacts, threads: int) -> list[Way]:
    """The ways to deal out a kernel: by the dimensions of what it writes last that belong to others, outermost first."""
    last = written_last(facts)
    if last is None:
        return []
    found = (_way(facts, last, n, threads) for n in range(len(last.write.subscripts)))
    return [way for way in found if way is not None]


def _way(facts: KernelFacts, last: Statement, dimension: int, threads: int) -> Way | None:
    """That by one dimension of what the last statement writes; None where its loop is not parallel, or too short."""
    axis = axis_along(last, last.write, dimension)
    if axis is None or last.axes[axis].role is not Role.PARALLEL:
        return None
    trips, stride = last.axes[axis].extent, facts.stride(last.write, axis)
    if not isinstance(trips, int) or trips < threads or stride is None:
        return None
    if trips * stride * facts.element_bytes(last.write) < LEAST_LINES * LINE_BYTES * threads:
        return None
    own = cuts(facts, last, dimension)
    return None if _keeps_windows(facts, own, trips, threads) else Way(own, trips)


def _keeps_windows(facts: KernelFacts, own: Cuts, trips: int, threads: int) -> bool:
    """
    Whether these are the rows of a reduction over windows alone that stay with one thread: while one image goes by after the
    other, its rows stay in L1 for the windows of the next ones, and dealt out by rows they would not. Equal blocks of rows are
    an image each for this, where vectors are along the channels: tiles of them do not cross the border of a block.
    """
    update = next((s for s in facts.statements if s.combiner is not None), None)
    cut = None if update is None else own.get(update.write.buffer)
    if update is None or cut is None:
        return False
    moved = [
        [n for n, by in enumerate(s.coefficients) if by]
        for read in update.reads
        for s in read.subscripts
        if s is not None
    ]
    in_windows = {n for axes in moved if len(axes) > 1 for n in axes}
    summed = {n for n, axis in enumerate(update.axes) if axis.role is Role.REDUCTION}
    if not {*summed, axis_along(update, update.write, cut)} <= in_windows:
        return False
    lanes = axis_along(update, update.write, len(update.write.subscripts) - 1)
    return lanes in in_windows or trips % threads != 0


def choose(calls: Sequence[Call], target: Target, threads: int) -> None:
    """
    Choose the ways of all kernels that are called, in the order of the program: those that take least time together, of
    some beginnings from each of which every kernel in turn takes its best way until none changes its own. Where all
    kernels are so short that one thread would take no longer, it has all of them. (On two threads of a Granite Rapids
    core a classifier of 62 kernels that take 230 us took 290 us where those of more than 6 us were dealt out, and what
    follows them.)
    """
    _find_writers(calls)
    costs = _Costs(calls, target, threads)
    kernels = list(dict.fromkeys(call.kernel for call in calls if call.kernel.ways))
    best: tuple[float, list[int]] | None = None
    for first in range(max((len(kernel.ways) for kernel in kernels), default=0)):
        for kernel in kernels:
            kernel.way = min(first, len(kernel.ways) - 1)
        costs.improve(kernels)
        found = costs.total(), [kernel.way for kernel in kernels]
        best = found if best is None or found[0] < best[0] else best
    for kernel, way in zip(kernels, best[1] if best else (), strict=True):
        kernel.way = way
    every, most = list(dict.fromkeys(call.kernel for call in calls)), costs.total()
    _leave_alone(every, is_alone=True)
    if costs.total() >= most:
        _leave_alone(every, is_alone=False)


def _leave_alone(kernels: Sequence[Kernel], *, is_alone: bool) -> None:
    for kernel in kernels:
        kernel.is_alone = is_alone


def _find_writers(calls: Sequence[Call]) -> None:
    written: dict[Hashable, list[tuple[Call, int]]] = {}
    for call in calls:
        facts = call.kernel.facts
        for buffer, memory in enumerate(call.memory):
            if buffer in call.kernel.read and memory in written:
                call.writers[buffer] = list(written[memory])
        for buffer in {s.write.buffer for s in facts.statements}:
            if buffer < len(call.memory):
                written.setdefault(call.memory[buffer], []).append((call, buffer))


class _Costs:
    """What ways take that differs between them."""

    def __init__(self, calls: Sequence[Call], target: Target, threads: int):
        self.calls, self.target, self.threads = calls, target, threads
        self.near = kept_bytes(target.core.cache(2))
        self.readers: dict[Kernel, list[Call]] = {}
        """by kernel, its calls and those that read what these write"""
        for call in calls:
            self.readers.setdefault(call.kernel, []).append(call)
            for writers in call.writers.values():
                for kernel in {one.kernel for one, _ in writers}:
                    self.readers.setdefault(kernel, []).append(call)

    def improve(self, kernels: Sequence[Kernel]) -> None:
        """Let each kernel take its best way, as long as one changes."""
        for _ in range(ROUNDS):
            before = [kernel.way for kernel in kernels]
            for kernel in kernels:
                kernel.way = min(range(len(kernel.ways)), key=lambda n, k=kernel: self._with(k, n))
            if before == [kernel.way for kernel in kernels]:
                return

    def _with(self, kernel: Kernel, way: int) -> float:
        before, kernel.way = kernel.way, way
        seconds = sum(map(self.of, self.readers[kernel]))
        kernel.way = before
        return seconds

    def total(self) -> float:
        return sum(map(self.of, self.calls))

    def of(self, call: Call) -> float:
        """
        What a call takes longer than an even share of its work: its threads wait for each other, and for what is not in the cache
        of their core.
        """
        kernel, way, threads = call.kernel, call.kernel.chosen, self.threads
        seconds = kernel.seconds * (-(-way.trips // threads) / way.trips - 1 / threads)
        seconds += AWAKE_SECONDS if way.is_dealt else 0.0
        used = sum(facts.bytes or 0 for facts in kernel.facts.buffers)
        stays = min(self.near * threads / max(used, 1), 1.0)
        for buffer, facts in enumerate(kernel.facts.buffers[: len(call.memory)]):
            if facts.bytes is None or buffer not in kernel.read:
                continue
            if facts.home is Home.CONSTANT:
                if kernel.cut(buffer) is None:
                    others = facts.bytes * (1 - 1 / threads)
                    seconds += others / self.target.rates.beyond_l2.core
            else:
                part = self._part_of_others(call, buffer, stays)
                seconds += line_seconds(facts.bytes * part, self.target)
        return seconds

    def _part_of_others(self, call: Call, buffer: int, stays: float) -> float:
        """
        The part of a buffer for which the thread waits that reads most of what others have written, on average over who wrote it; of
        what threads have parts of only as far as it stays in their caches.
        """
        kernel, others = call.kernel, 1 - 1 / self.threads
        writers = call.writers.get(buffer, ())
        if not writers:
            return others if kernel.chosen.is_dealt and kernel.cut(buffer) is None else 0.0
        return sum(self._part(kernel, buffer, *one, stays) for one in writers) / len(writers)

    def _part(self, kernel: Kernel, buffer: int, writer: Call, written: int, stays: float) -> float:
        """The same for one of those who wrote it."""
        cut, given, others = kernel.cut(buffer), writer.kernel.cut(written), 1 - 1 / self.threads
        is_dealt, was_dealt = kernel.chosen.is_dealt, writer.kernel.chosen.is_dealt
        if not is_dealt:
            return others if was_dealt else 0.0
        if cut is None:
            return others if was_dealt else 1.0
        if not was_dealt or given is None:
            return stays / self.threads
        span = writer.kernel.span(written, given)
        is_alike = span is not None and alike(span, kernel.span(buffer, cut))
        return 0.0 if is_alike else stays * others / self.threads


def alike(one: int, other: int | None) -> bool:
    """Whether parts along so many bytes of memory are about the same."""
    return other is not None and min(one, other) >= ALIKE * max(one, other)


def left_alone(calls: Sequence[Call]) -> set[str]:
    """The kernels of a program that is left to one thread."""
    return {call.kernel.name for call in calls if call.kernel.is_alone}


def shared(calls: Sequence[Call], target: Target, threads: int) -> dict[str, dict[int, int]]:
    """
    For each kernel the dimensions along which the program's threads share its arguments: what it reads as those do who
    wrote it, where they agree, and what it writes by its own way. Only those large enough for this to matter.
    """
    found: dict[str, dict[int, int]] = {}
    by_kernel: dict[Kernel, list[Call]] = {}
    for call in calls:
        by_kernel.setdefault(call.kernel, []).append(call)
    for kernel, of_kernel in by_kernel.items():
        if not kernel.chosen.is_dealt:
            continue
        dimensions: dict[int, int] = {}
        for buffer in range(len(of_kernel[0].memory)):
            others = (kernel.facts.buffers[buffer].bytes or 0) * (1 - 1 / threads) / threads
            dimension = _dimension(of_kernel, buffer)
            if dimension is not None and line_seconds(others, target) >= AWAKE_SECONDS:
                dimensions[buffer] = dimension
        found[kernel.name] = dimensions
    return found


def _dimension(calls: Sequence[Call], buffer: int) -> int | None:
    kernel = calls[0].kernel
    given = {span for call in calls for span in call.given(buffer)}
    if not given:
        is_written = kernel.facts.buffers[buffer].home is Home.RESULT
        return kernel.cut(buffer) if is_written else None
    spans = kernel.spans(buffer)
    return next(
        (n for n, one in enumerate(spans) if one and all(alike(g, one) for g in given)), None
    )
