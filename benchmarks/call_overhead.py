"""
What a call costs that computes next to nothing: 8 elements, `x * 2 + 1`.

    python benchmarks/call_overhead.py [--check]

Prints microseconds, the best of several runs, for kinds of calls, beside NumPy and whichever of numba,
PyTorch, JAX and ONNX Runtime is installed; then what a kernel costs in a program of many, and how much 100,000 calls
add to the process's memory. `--check` exits with 1 when the plain call costs 5 µs or more, a kernel 0.2 µs or more, or
the memory grows by 1 MB or more.
"""

import argparse
import itertools
import resource
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import stepwell as sw
from stepwell.frontend.text import parse_text

CALLS = 20_000
RUNS = 9
LIMIT_US = 5.0
LIMIT_KERNEL_US = 0.2
LIMIT_BYTES = 1_000_000
CHAIN = 1000
"""Kernels of the long program"""

X = np.arange(8, dtype=np.float32)


def function(x):
    return x * 2 + 1


def microseconds(call: Callable[[], Any]) -> float:
    """The least time per call over several runs."""
    call()
    return min(timeit.repeat(call, number=CALLS, repeat=RUNS)) / CALLS * 1e6


def stepwell_calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Kinds of calls, the plain one first."""
    plain = sw.jit(function)
    three = sw.jit(lambda x, y, z: x * y + z)
    scaled = sw.jit(lambda x, n: x * n)
    nested = sw.jit(lambda p: {"y": p["x"] * 2})
    read_only = X.copy()
    read_only.flags.writeable = False
    strided = np.repeat(X, 2)[::2]
    executable = plain.lower(X).compile()
    out = np.empty_like(X)
    yield "jit: f(x)", lambda: plain(X)
    yield "jit: f(x, y, z)", lambda: three(X, X, X)
    yield "jit: f(x, 3)", lambda: scaled(X, 3)
    yield "jit: f(x, n=3)", lambda: scaled(X, n=3)
    yield "jit: f({'x': x})", lambda: nested({"x": X})
    yield "jit: f(read-only)", lambda: plain(read_only)
    yield "jit: f(not contiguous)", lambda: plain(strided)
    yield "Executable: f(x)", lambda: executable(X)
    yield "Executable: f(x, out=y)", lambda: executable(X, out=out)
    written = in_place()
    yield "Executable: f(x, y) in place", lambda: written(X, out)


def in_place() -> sw.Executable:
    """The same function as a kernel that writes one of its arguments."""
    text = """
    func.func @affine(%x: memref<8xf32>, %y: memref<8xf32>) {
      %one = arith.constant 1.0 : f32
      loop.for parallel "i" %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xf32>
        %b = arith.addf %a, %a : f32
        %c = arith.addf %b, %one : f32
        loop.store %c, %y[%i] : memref<8xf32>
      }
      func.return
    }"""
    return sw.Lowered(parse_text(text)).compile(threads=1)


def other_calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The same function elsewhere, where that is installed."""
    yield "numpy", lambda: function(X)
    try:
        import numba

        compiled = numba.njit(function)
        yield "numba", lambda: compiled(X)
    except ImportError:
        pass
    try:
        import torch

        tensor = torch.from_numpy(X)
        yield "torch (eager)", lambda: function(tensor)
    except ImportError:
        pass
    try:
        import jax

        jitted = jax.jit(function)
        yield "jax", lambda: jitted(X).block_until_ready()
    except ImportError:
        pass


def chain(count: int) -> sw.Executable:
    """A program of so many kernels: each doubles 8 elements and turns their order."""
    buffer = "memref<8xf32>"
    buffers = ["%x", *(f"%t{n}" for n in range(1, count)), "%y"]
    calls = [
        f"  func.call @turn({one}, {other}) : ({buffer}, {buffer}) -> ()"
        for one, other in itertools.pairwise(buffers)
    ]
    text = [
        f"func.func private @turn(%x: {buffer}, %y: {buffer} {{stepwell.result}}) {{",
        '  loop.for parallel "i" %i = 0 to 8 {',
        f"    %a = loop.load %x[%i] : {buffer}",
        "    %b = arith.addf %a, %a : f32",
        f"    loop.store %b, %y[7 - %i] : {buffer}",
        "  }",
        "  func.return",
        "}",
        f"func.func @main(%x: {buffer}, %y: {buffer} {{stepwell.result}}) {{",
        *(f"  {name} = loop.alloc arena : {buffer}" for name in buffers[1:-1]),
        *calls,
        "  func.return",
        "}",
    ]
    return sw.Lowered(parse_text("\n".join(text))).compile(threads=1)


def growth_in_bytes(call: Callable[[], Any], calls: int = 100_000) -> int:
    """By how much the process's largest memory grows over so many calls, after a warm-up."""
    for _ in range(calls // 10):
        call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(calls):
        call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail when a limit is passed")
    check = parser.parse_args().check

    calls = [*stepwell_calls(), *other_calls()]
    results = {name: microseconds(call) for name, call in calls}
    print(f"{'call on 8 elements':<28}{'µs':>8}")
    for name, cost in results.items():
        print(f"{name:<28}{cost:>8.2f}")
    one, many = chain(1), chain(CHAIN)
    kernel = (microseconds(lambda: many(X)) - microseconds(lambda: one(X))) / (CHAIN - 1)
    print(f"{f'a kernel, of {CHAIN}':<28}{kernel:>8.3f}")
    growth = growth_in_bytes(calls[0][1])
    print(f"\n100,000 calls add {growth / 1e6:.3f} MB")
    failed = results[calls[0][0]] >= LIMIT_US or kernel >= LIMIT_KERNEL_US or growth >= LIMIT_BYTES
    return int(check and failed)


if __name__ == "__main__":
    raise SystemExit(main())
