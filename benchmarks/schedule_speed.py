"""How fast schedules are applied and dependences computed.

    python benchmarks/schedule_speed.py [--repeat N] [--profile]

The targets: 30 steps on a nest of 12 loops in under 2 s, and the dependences of each kernel of
`examples/kernels` in under 1 s. The exit status says whether they are met.
"""

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path

import stepwell as sw
from stepwell.analysis.dependence import dependences
from stepwell.frontend.text import parse_file
from xdsl.dialects import func

KERNELS = Path(__file__).parents[1] / "examples" / "kernels"
STEPS_TARGET, DEPENDENCES_TARGET = 2.0, 1.0

LOOPS = 12
"""A convolution with everything blocked has as many loops."""


def deep_nest() -> str:
    """A sum over four of twelve loops: `C[a..h] += A[a..h, i..l] * B[i..l]` with extents of 6."""
    names = "abcdefghijkl"[:LOOPS]
    parallel, reduced = names[:8], names[8:]
    c, b = "x".join(["6"] * len(parallel)), "x".join(["6"] * len(reduced))
    lines = [
        f"func.func @f(%A: memref<{c}x{b}xf32>, %B: memref<{b}xf32>, %C: memref<{c}xf32>)"
        " attributes {stepwell.noalias} {"
    ]
    for name in names:
        kind = "reduction" if name in reduced else "parallel"
        lines.append(f'loop.for {kind} "{name}" %{name} = 0 to 6 {{')
    at_c, at_b = (", ".join(f"%{name}" for name in part) for part in (parallel, reduced))
    lines += [
        f"%x = loop.load %A[{at_c}, {at_b}] : memref<{c}x{b}xf32>",
        f"%y = loop.load %B[{at_b}] : memref<{b}xf32>",
        "%p = arith.mulf %x, %y : f32",
        f"%z = loop.load %C[{at_c}] : memref<{c}xf32>",
        "%s = arith.addf %z, %p fastmath<reassoc> : f32",
        f"loop.store %s, %C[{at_c}] : memref<{c}xf32>",
    ]
    return "\n".join([*lines, *"}" * LOOPS, "func.return", "}"])


STEPS = (
    # Parallel loops outermost, blocks of the reduction inside of them.
    "reorder(a, [b, a])",
    "reorder(g, [h, g])",
    "reorder(i, [j, i])",
    "reorder(c, [d, e, f, c])",
    "split(b, 3, tail=perfect)",
    "split(a, 3, tail=perfect)",
    "reorder(b.inner, [a.outer, b.inner, a.inner])",
    "split(l, 4, tail=guard)",
    "split(k, 4, tail=guard)",
    "reorder(k.inner, [l.outer, k.inner])",
    "split(g, 2, tail=perfect)",
    "reorder(g.inner, [j, i, k.outer, l.outer, k.inner, g.inner])",
    "split(d, 2, tail=perfect)",
    "reorder(d.inner, [e, f, d.inner])",
    "tile(e, [3, 3], tail=perfect)",
    "simplify(f)",
    "reorder(h, [g.outer, h])",
    "reorder(e.inner, [f.inner, e.inner])",
    "split(c, 4, tail=guard)",
    "reorder(j, [i, j])",
    "split(h, 5, tail=guard)",
    "reorder(h.inner, [i, h.inner])",
    "fuse(b.outer, a.outer)",
    "pragma(l.inner, key=note)",
    "stage(B, at=k.outer, scope=stack)",
    "storage_align(B.staged, axis=3, factor=16)",
    "split(i, 2, tail=perfect)",
    "unroll(i.inner)",
    "vectorize(g.inner)",
    "parallel(b.outer.a.outer)",
)
"""Thirty steps as a performance engineer might write them."""


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def apply_steps(program: str) -> list[tuple[str, float]]:
    """Each step and its seconds, the analyses it asks for included."""
    schedule = sw.Schedule(program)
    return [(call, seconds(lambda call=call: schedule.apply(call))) for call in STEPS]


def dependences_of(path: Path) -> None:
    for op in parse_file(path).ops:
        if isinstance(op, func.FuncOp):
            dependences(op)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--profile", action="store_true", help="where the time of the steps goes")
    arguments = parser.parse_args()

    program = deep_nest()
    if arguments.profile:
        profile = cProfile.Profile()
        profile.runcall(apply_steps, program)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return 0
    runs: list[list[tuple[str, float]]] = []
    cpu: list[float] = []
    for _ in range(arguments.repeat):
        start = time.process_time()
        runs.append(apply_steps(program))
        cpu.append(time.process_time() - start)
    steps = min(runs, key=lambda run: sum(took for _, took in run))
    for call, took in sorted(steps, key=lambda step: -step[1])[:5]:
        print(f"  {took * 1e3:8.1f} ms  {call}")
    total = sum(took for _, took in steps)
    print(
        f"{len(steps)} steps on {LOOPS} loops: {total:.2f} s, {min(cpu):.2f} s of CPU time "
        f"(target {STEPS_TARGET:.1f} s)\n"
    )

    slowest = 0.0
    for path in sorted(set(KERNELS.glob("*.mlir")) - set(KERNELS.glob("*.schedule.mlir"))):
        took = min(seconds(lambda path=path: dependences_of(path)) for _ in range(arguments.repeat))
        slowest = max(slowest, took)
        print(f"  {took * 1e3:8.1f} ms  {path.stem}")
    print(f"dependences, slowest kernel: {slowest:.2f} s (target {DEPENDENCES_TARGET:.1f} s)")
    return 0 if total < STEPS_TARGET and slowest < DEPENDENCES_TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
