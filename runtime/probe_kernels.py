"""The kernels that `probe.py` times, as text at core level: fused multiply-adds, and streams of loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable

UNROLL = 8
"""How many vectors an iteration of a stream kernel handles."""


def fma_kernel(element: str, lanes: int, accumulators: int) -> str:
    """
    `rounds` times `acc = acc * x[0] + x[1]` in every lane of `accumulators` independent vectors.

    The vectors begin and end in `%sums`, so that nothing is known of them, and none is dead.
    """
    vector = f"vector<{lanes}x{element}>"
    sums = f"memref<{accumulators}x{lanes}x{element}>"
    every = range(accumulators)
    lines = [
        f"func.func @probe_fma(%rounds: index, %x: memref<2x{element}>, %sums: {sums}) {{",
        *_constants({0, 1, *every}),
        f"%factor = memref.load %x[%c0] : memref<2x{element}>",
        f"%summand = memref.load %x[%c1] : memref<2x{element}>",
        f"%a = vector.broadcast %factor : {element} to {vector}",
        f"%b = vector.broadcast %summand : {element} to {vector}",
        *(f"%first{n} = vector.load %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        f"%last:{accumulators} = scf.for %round = %c0 to %rounds step %c1",
        f"iter_args({_pairs('%acc', '%first', every)}) -> ({_times(vector, every)}) {{",
        *(f"%next{n} = vector.fma %acc{n}, %a, %b : {vector}" for n in every),
        f"scf.yield {_names('%next', every)} : {_times(vector, every)}",
        "}",
        *(f"vector.store %last#{n}, %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def read_kernel(lanes: int) -> str:
    """`rounds` times the sum of all of `%x`, whose size is a multiple of `UNROLL * lanes`, added to `%sums`."""
    vector, sums = f"vector<{lanes}xf32>", f"memref<{UNROLL}x{lanes}xf32>"
    every = range(UNROLL)
    types = _times(vector, every)
    lines = [
        f"func.func @probe_read(%rounds: index, %x: memref<?xf32>, %sums: {sums}) {{",
        *_constants({0, 1, *every, UNROLL * lanes, *(n * lanes for n in every)}),
        "%size = memref.dim %x, %c0 : memref<?xf32>",
        *(f"%first{n} = vector.load %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        f"%last:{UNROLL} = scf.for %round = %c0 to %rounds step %c1",
        f"iter_args({_pairs('%outer', '%first', every)}) -> ({types}) {{",
        f"%inner:{UNROLL} = scf.for %i = %c0 to %size step %c{UNROLL * lanes}",
        f"iter_args({_pairs('%acc', '%outer', every)}) -> ({types}) {{",
        *_each(lambda n: _place(n, lanes)),
        *(f"%x{n} = vector.load %x[%i{n}] : memref<?xf32>, {vector}" for n in every),
        *(f"%next{n} = arith.addf %acc{n}, %x{n} : {vector}" for n in every),
        f"scf.yield {_names('%next', every)} : {types}",
        "}",
        f"scf.yield {_names('%inner#', every)} : {types}",
        "}",
        *(f"vector.store %last#{n}, %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def copy_kernel(lanes: int) -> str:
    """`rounds` times `y = x`, for sizes that are multiples of `UNROLL * lanes`."""
    vector = f"vector<{lanes}xf32>"
    body = [
        *_each(lambda n: f"%x{n} = vector.load %x[%i{n}] : memref<?xf32>, {vector}"),
        *_each(lambda n: f"vector.store %x{n}, %y[%i{n}] : memref<?xf32>, {vector}"),
    ]
    return _stream("copy", ("x", "y"), (), body, lanes)


def _stream(
    name: str, arrays: Iterable[str], prologue: Iterable[str], body: Iterable[str], lanes: int
) -> str:
    """A function that goes `rounds` times over its arrays; `body` is at `%i0`, `%i1` and so on."""
    arguments = ", ".join(f"%{array}: memref<?xf32>" for array in arrays)
    lines = [
        f"func.func @probe_{name}(%rounds: index, {arguments}) {{",
        *_constants({0, 1, UNROLL * lanes, *(n * lanes for n in range(UNROLL))}),
        *prologue,
        "%size = memref.dim %x, %c0 : memref<?xf32>",
        "scf.for %round = %c0 to %rounds step %c1 {",
        f"scf.for %i = %c0 to %size step %c{UNROLL * lanes} {{",
        *_each(lambda n: _place(n, lanes)),
        *body,
        "}",
        "}",
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def _each(line: Callable[[int], str]) -> list[str]:
    return [line(number) for number in range(UNROLL)]


def _place(number: int, lanes: int) -> str:
    return f"%i{number} = arith.addi %i, %c{number * lanes} : index"


def _constants(values: set[int]) -> list[str]:
    return [f"%c{value} = arith.constant {value} : index" for value in sorted(values)]


def _names(prefix: str, numbers: Iterable[int]) -> str:
    return ", ".join(f"{prefix}{number}" for number in numbers)


def _pairs(inside: str, outside: str, numbers: Iterable[int]) -> str:
    """`%acc0 = %first0, %acc1 = %first1`, …; results of `%outer` have a `#` when they are of a loop."""
    return ", ".join(f"{inside}{number} = {outside}{number}" for number in numbers)


def _times(type_: str, numbers: Iterable[int]) -> str:
    return ", ".join(type_ for _ in numbers)
