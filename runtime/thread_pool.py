"""
The threads that loops marked `threads` run on: LLVM IR that the engine puts into this process once.

It defines `GOMP_parallel` for bodies that claim what they do (lowering/core_to_llvm/parallel.py), so that any number
of threads does all of it. An OpenMP library waits at the end of a region until every thread of the team has come,
however long the system lets it wait for a core. Here the caller opens a region, does what it can claim itself,
closes the region, and waits for those threads alone that came in before:

    caller                                            worker
    open a region: `workers` places, nobody inside    find a region with a place; take it: one inside more
    announce it; wake a sleeper                       wake further sleepers, as long as there are places
    run the body                                      run the body
    close the region: no places any more              leave: one inside less; the last one wakes the caller
    wait until nobody is inside                       look for other regions for a short time; then sleep

A region's places and who is inside are one number, which changes by atomic instructions alone. Nothing is locked, so
no thread waits for one that the system has stopped with a lock in its hands. Regions are never freed, and a worker
reads what to run after it has taken a place, so one that comes late touches nothing that is gone.

Threads sleep on semaphores, which count: who wakes a sleeper takes it off their number first, and so calls the system
neither for workers that look for work nor for those that have been woken but have no core yet.

Signals that are sent to the process are not for workers, where they would end it though the program has blocked them to wait
for them: workers block all but those of faults.

Beside a program that keeps another processor busy, the system lets a caller and its worker share one. Who looks for work or
waits there keeps the other from going on, and so each lets the other have the processor where that was on the same one. Now
and then a worker goes to another processor by itself: the system leaves it where it is as long as it hardly runs.
"""

from __future__ import annotations

import platform
import signal
import sys
from pathlib import Path
from string import Template

from ..frozen import frozen
from ..lowering.llvm_text import GOMP_PARALLEL, MAX_THREADS, THREAD_NUMBER

REGIONS = 16
"""Callers that may have a region at once. One more runs its loop alone: the processors are busy enough."""

SPIN_NANOSECONDS = 200_000
"""
How long a thread looks for work before it sleeps, and a caller for the end of its region: as long as many programs run on one
thread between two loops, so that workers are there for the next one. Sleeping and waking take a tenth of it. Other runtimes
look longer, LLVM's libomp for 200 milliseconds (https://openmp.llvm.org/, KMP_BLOCKTIME).
"""

LEAST_STAY_NANOSECONDS = 1_000_000
MOST_STAY_NANOSECONDS = 100_000_000
"""
How long after one has left workers stay on the processor of a caller before the next goes to another one. Where the other
processor is idle, a loop should not run on one of them for long; where that is busy the system brings the worker back soon,
and each time it has left in vain the caller may wait for it. So the time doubles with every worker that leaves within four
times of it, and is the least again after the system has left them apart for longer.
"""

WAKES = 2
"""How many sleepers a thread wakes before it works: all are awake after a logarithm of their number."""

RESET = "stepwell_reset_threads"
WORKERS = "stepwell_workers"
EXPORTED = (GOMP_PARALLEL, MAX_THREADS, THREAD_NUMBER, RESET, WORKERS)


@frozen
class System:
    """What the pool calls of the C library: types, constants, and the three functions on semaphores."""

    key_type: str
    """of `pthread_key_t`"""
    monotonic_clock: int
    """`CLOCK_MONOTONIC`"""
    semaphores: str
    """LLVM IR that defines @new_semaphore, @post and @wait on a slot of 64 bytes"""
    processor: str
    """
    LLVM IR that defines @processor, the number of that on which a thread runs, negative where it is not known, and @leave,
    which lets the thread go on on another one, if there is one that it may use
    """
    functions: tuple[str, ...]
    """what these call"""


_POSIX = System(
    key_type="i32",
    monotonic_clock=1,
    functions=(
        "sem_init",
        "sem_post",
        "sem_wait",
        "sched_getcpu",
        "sched_getaffinity",
        "sched_setaffinity",
    ),
    processor="""
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i32 @processor() {
  %number = call i32 @sched_getcpu()
  ret i32 %number
}
define internal void @leave(i32 %processor) {
entry:
  %allowed = alloca [128 x i8], align 8  ; cpu_set_t: a bit for each of 1024 processors
  %is_far = icmp uge i32 %processor, 1024
  br i1 %is_far, label %done, label %ask
ask:
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %is_failed = icmp ne i32 %failed, 0
  br i1 %is_failed, label %done, label %move
move:
  %number = lshr i32 %processor, 3
  %place = getelementptr i8, ptr %allowed, i32 %number
  %in_byte = and i32 %processor, 7
  %digit = trunc i32 %in_byte to i8
  %bit = shl i8 1, %digit
  %whole = load i8, ptr %place
  %rest = xor i8 %whole, %bit
  store i8 %rest, ptr %place
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)  ; fails where there is no other, and leaves it as it is
  store i8 %whole, ptr %place
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  br label %done
done:
  ret void
}
""",
    semaphores="""
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_post(ptr)
declare i32 @sem_wait(ptr)

define internal void @new_semaphore(ptr %semaphore) {
  call i32 @sem_init(ptr %semaphore, i32 0, i32 0)
  ret void
}
define internal void @post(ptr %semaphore) {
  call i32 @sem_post(ptr %semaphore)
  ret void
}
define internal void @wait(ptr %semaphore) {
  br label %again
again:  ; a signal ends the call early
  %failed = call i32 @sem_wait(ptr %semaphore)
  %interrupted = icmp ne i32 %failed, 0
  br i1 %interrupted, label %again, label %done
done:
  ret void
}
""",
)

_DARWIN = System(
    key_type="i64",
    monotonic_clock=6,
    functions=("dispatch_semaphore_create", "dispatch_semaphore_signal", "dispatch_semaphore_wait"),
    processor="""
define internal i32 @processor() {
  ret i32 -1
}
define internal void @leave(i32 %processor) {
  ret void
}
""",
    semaphores="""
declare ptr @dispatch_semaphore_create(i64)
declare i64 @dispatch_semaphore_signal(ptr)
declare i64 @dispatch_semaphore_wait(ptr, i64)

define internal void @new_semaphore(ptr %semaphore) {
  %new = call ptr @dispatch_semaphore_create(i64 0)
  store ptr %new, ptr %semaphore
  ret void
}
define internal void @post(ptr %semaphore) {
  %it = load ptr, ptr %semaphore
  call i64 @dispatch_semaphore_signal(ptr %it)
  ret void
}
define internal void @wait(ptr %semaphore) {
  %it = load ptr, ptr %semaphore
  call i64 @dispatch_semaphore_wait(ptr %it, i64 -1)
  ret void
}
""",
)
"""macOS has no unnamed POSIX semaphores."""

_SYSTEMS = {"linux": _POSIX, "darwin": _DARWIN}

_COMMON_FUNCTIONS = (
    "clock_gettime",
    "pthread_create",
    "pthread_detach",
    "pthread_getspecific",
    "pthread_key_create",
    "pthread_setspecific",
    "pthread_sigmask",
    "sched_yield",
)


def system() -> System | None:
    """Of this process; None where the pool cannot run."""
    return _SYSTEMS.get(sys.platform)


def needed_functions(of: System) -> tuple[str, ...]:
    """The functions of the C library that the pool calls."""
    return (*_COMMON_FUNCTIONS, *of.functions)


_RELAX = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "amd64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.isb(i32 15)",
    "arm64": "call void @llvm.aarch64.isb(i32 15)",
}
"""An instruction for loops that wait, which leaves the core to its other hardware thread."""

# A region's state is one number: who may come in, who is inside, whether its caller sleeps, whether it is taken.
_PLACE, _INSIDE = 1, 1 << 15
_PLACES, _ALL_INSIDE = _INSIDE - 1, (1 << 30) - _INSIDE
_ASLEEP, _TAKEN = 1 << 30, 1 << 31


_FAULTS = ("SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS")
"""Signals that a thread gets for what it does itself. Others go to a thread of the program, which may wait for them."""


def _masked() -> int:
    """The first 64 signals without faults, a bit for each, as a signed number."""
    return -1 - sum(1 << (getattr(signal, name) - 1) for name in _FAULTS)


def pool(of: System, default_threads: int) -> str:
    """The LLVM IR of a pool; code that asks for 0 threads has `default_threads`."""
    template = Template(Path(__file__).with_suffix(".ll").read_text())
    text = template.substitute(
        parallel=GOMP_PARALLEL,
        max_threads=MAX_THREADS,
        thread_number=THREAD_NUMBER,
        reset=RESET,
        workers=WORKERS,
        key_type=of.key_type,
        clock=of.monotonic_clock,
        default_threads=default_threads,
        regions=REGIONS,
        spin=SPIN_NANOSECONDS,
        least_stay=LEAST_STAY_NANOSECONDS,
        most_stay=MOST_STAY_NANOSECONDS,
        wakes=WAKES,
        set_mask=int(signal.SIG_SETMASK),
        masked=_masked(),
        more_masked=", ".join(["i64 -1"] * 15),
        relax=_RELAX.get(platform.machine().lower(), ""),
        taken=_TAKEN,
        asleep=_ASLEEP,
        close=~_PLACES,
        enter=_INSIDE - _PLACE,
        one_inside=_INSIDE,
        all_inside=_ALL_INSIDE,
        all_places=_PLACES,
        inside_or_asleep=_ALL_INSIDE | _ASLEEP,
        last_and_asleep=_INSIDE | _ASLEEP,
    )
    return text + of.semaphores + of.processor
