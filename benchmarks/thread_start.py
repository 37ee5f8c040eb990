"""
What threads cost: how long a parallel region takes to start, and what a busy core does to two threads.

    python benchmarks/thread_start.py [--seconds S] [--start] [--busy] [--idle]

`--start` times regions of 8 stores, with two threads less with one: when they follow each other closely, and when the
threads have slept in between. `--busy` times kernels with two threads and with one while the last core computes
something else: a thread of this process inside of OpenSSL, then another process. `--idle` does so without. Samples
with one and with two threads take turns; a ratio is that of the whole times, then that of the medians, and above 1
two threads are slower. Without any of the three, all are printed.
"""

import argparse
import contextlib
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import stepwell as sw
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text

REGIONS = 10_000
"""Regions that follow each other in one call."""

SLEEP_SECONDS = 2e-3
SAMPLE_SECONDS = 10e-3

Call = Callable[[], object]


# The start of a region.


def regions(count: int) -> str:
    """A program that runs so many regions of 8 stores."""
    return f"""
func.func @f(%A: memref<8xi32>) {{
  %v = arith.constant 7 : i32
  loop.for serial "again" %again = 0 to {count} {{
    loop.for parallel threads "i" %i = 0 to 8 {{
      loop.store %v, %A[%i] : memref<8xi32>
    }}
  }}
  func.return
}}"""


def call_of_regions(count: int, threads: int) -> Call:
    executable = Lowered(parse_text(regions(count), "regions.mlir")).compile(threads=threads)
    array = np.zeros(8, np.int32)
    return lambda: executable(array)


def seconds_of(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def close_regions(seconds: float) -> tuple[float, float]:
    """Seconds of a region among others: the least, and the median."""
    call = call_of_regions(REGIONS, 2)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        times.append(seconds_of(call) / REGIONS)
    return min(times), median(times)


def single_regions(seconds: float) -> tuple[float, float]:
    """Seconds that two threads add to a call of one region after a sleep: to the least, and to the median."""
    calls = [call_of_regions(1, threads) for threads in (1, 2)]
    times: list[list[float]] = [[], []]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for call, into in zip(calls, times, strict=True):
            time.sleep(SLEEP_SECONDS)
            into.append(seconds_of(call))
    one, two = times
    return min(two) - min(one), median(two) - median(one)


def print_start(seconds: float) -> None:
    print(f"{'µs to start a region':<32}{'least':>8}{'median':>8}")
    for name, measured in (
        ("one after the other", close_regions),
        ("after a sleep", single_regions),
    ):
        least, middle = measured(seconds)
        print(f"{name:<32}{least * 1e6:>8.2f}{middle * 1e6:>8.2f}")


# Kernels beside a busy core.


def kernels() -> Iterator[tuple[str, Callable[..., object], tuple[np.ndarray, ...]]]:
    """Their names, functions and arguments."""
    random = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, np.float32)

    for size in (128, 256, 512):
        yield f"product {size}", lambda a, b: a @ b, (array(size, size), array(size, size))
    yield "batched product 8 x 128", lambda a, b: a @ b, (array(8, 128, 128), array(8, 128, 128))
    yield (
        "layer 64 x 512",
        lambda x, w, b: sw.relu(x @ w + b),
        (
            array(64, 512),
            array(512, 512),
            array(512),
        ),
    )
    yield "softmax 512 x 512", lambda x: sw.softmax(x, axis=-1), (array(512, 512),)
    yield "sum of columns 1024", lambda x: sw.sum(x, axis=0), (array(1024, 1024),)
    yield "add 1024 x 1024", lambda x, y: x + y, (array(1024, 1024), array(1024, 1024))
    yield "exp 512 x 512", sw.exp, (array(512, 512),)


def sampled(call: Call) -> list[float]:
    """Seconds of each call, of as many as fill a sample."""
    end = time.perf_counter() + SAMPLE_SECONDS
    times = [seconds_of(call)]
    while time.perf_counter() < end:
        times.append(seconds_of(call))
    return times


def print_ratios(title: str, seconds: float) -> None:
    print(f"\n{title:<32}{'1 (µs)':>10}{'2 (µs)':>10}{'ratio':>8}{'median':>8}")
    for name, function, arrays in kernels():
        executables = [sw.jit(function, threads=threads) for threads in (1, 2)]
        calls = [lambda run=run, arrays=arrays: run(*arrays) for run in executables]
        times: list[list[float]] = [[], []]
        for call in calls:
            call()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for call, into in zip(calls, times, strict=True):
                into += sampled(call)
        one, two = (sum(into) / len(into) for into in times)
        medians = median(times[1]) / median(times[0])
        print(f"{name:<32}{one * 1e6:>10.1f}{two * 1e6:>10.1f}{two / one:>8.2f}{medians:>8.2f}")


def last_core() -> int:
    return max(os.sched_getaffinity(0))


@contextlib.contextmanager
def busy_thread() -> Iterator[None]:
    """A thread of this process that computes on the last core, and has no need of the interpreter's lock."""
    stop = threading.Event()

    def work() -> None:
        os.sched_setaffinity(0, {last_core()})
        while not stop.is_set():
            hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1_000_000)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextlib.contextmanager
def busy_process() -> Iterator[None]:
    """Another process that computes on the last core."""
    code = f"import os\nos.sched_setaffinity(0, {{{last_core()}}})\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row (default: 2)")
    parts = ("start", "busy", "idle")
    for part in parts:
        parser.add_argument(f"--{part}", action="store_true", help="this part only")
    args = parser.parse_args()
    if not args.seconds > 0:
        parser.error(f"found --seconds {args.seconds}, expected a number above 0")
    chosen = [part for part in parts if getattr(args, part)] or parts
    if "start" in chosen:
        print_start(args.seconds)
    if "idle" in chosen:
        print_ratios("beside nothing", args.seconds)
    if "busy" in chosen:
        with busy_thread():
            print_ratios("beside a thread of this process", args.seconds)
        with busy_process():
            print_ratios("beside another process", args.seconds)


if __name__ == "__main__":
    main()
