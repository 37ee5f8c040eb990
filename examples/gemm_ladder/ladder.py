"""
The GEMM ladder: one naive kernel, and on each rung a schedule that makes it faster.

    python examples/gemm_ladder/ladder.py [-o curve.png] [--sizes 256,512] [--rungs 07_simd,12_by_rules]

Each rung is lowered, compiled, compared with NumPy and timed at every size. The table says how many
GFLOP/s it reaches, which part that is of the multiply-adds that a core does in the same seconds (peak) and of
those of one register tile that reads both of its operands from the second-level cache (tile), how many
multiply-add instructions its innermost loop has, and the largest difference from NumPy's result. The exit
status is 1 when a result is wrong. The last rung is what rules make for this machine (`stepwell probe`, which
runs first where it has not yet).
"""

# ruff: noqa: E402

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

# One thread for NumPy's BLAS, and the kernels that it chooses for this machine: it reads these when it is loaded.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
for _variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_variable, None)

import numpy as np
import stepwell as sw
from stepwell.dialects.schedule.script_text import script_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.runtime.executable import Executable
from stepwell.runtime.gauge import Gauge
from stepwell.runtime.measure import Pace, Sampler, interleaved
from stepwell.runtime.probe_jobs import Job, fma_job, tile_jobs
from stepwell.runtime.roofline import check_picture, new_figure, save_figure
from stepwell.tools.diagnostics import OneLineArgumentParser, run_tool
from stepwell.tuning.rules import schedule_kernels

FOLDER = Path(__file__).resolve().parent
SIZES = (64, 128, 256, 384, 512, 768, 1024)
FILE_SIZES = ("192", "256", "320")
"""The M, N and K that stand in `gemm.mlir`, and nothing else there does."""
NUMPY = "numpy"
NEAREST = "11_block_of_b"
"""The rung that leaves A where it is and has a tile of its own."""
RULES = "12_by_rules"
"""The rung that has no file: rules write its script, for the sizes and the machine."""
ROUNDS = 1_000_000
"""of multiply-adds in a call: milliseconds"""

Call: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Rung:
    """A script. `name` is that of its file, without the ending; rules write the script of the one without a file."""

    name: str

    @property
    def path(self) -> Path | None:
        return None if self.name == RULES else FOLDER / f"{self.name}.mlir"

    @property
    def sequence(self) -> str:
        """Which of the two ladders it belongs to."""
        return "TVM's sequence" if self.name.startswith("tvm") else "the classic sequence"

    @property
    def threads(self) -> int:
        """As many as there are cores where the script has a parallel loop, else one."""
        is_parallel = self.path and "schedule.parallel" in self.path.read_text()
        return sw.Target.host().cores if is_parallel else 1


def rungs() -> list[Rung]:
    """All rungs, the classic sequence first."""
    files = [path.stem for path in FOLDER.glob("*.mlir") if path.name != "gemm.mlir"]
    return [Rung(name) for name in sorted([*files, RULES])]


@dataclass(frozen=True)
class Tile:
    """What a rung's numbers follow from: the register tile is `rows` by two vectors of `lanes` f32."""

    lanes: int
    rows: int
    depth: int
    """steps of k that a block has: KC"""
    near: NearTile

    @staticmethod
    def of(target: sw.Target) -> Tile:
        """
        Two vectors of B and two of A's elements, spread over vectors, leave the other registers to the sums.
        A panel of B, `depth` by two vectors, takes at most three quarters of the first-level cache, through
        which A and C pass as well.

        Low et al., Analytical Modeling Is Enough for High-Performance BLIS, ACM TOMS 43(2), 2016.
        """
        lanes = target.vector_bits // 32
        panel = 3 * target.caches[0].bytes // 4
        depth = panel // (2 * lanes * 4) // 64 * 64
        rows = (target.vector_registers - 4) // 2
        return Tile(lanes, rows, max(depth, 64), NearTile.of(target))


@dataclass(frozen=True)
class NearTile:
    """The numbers of the rung that leaves A where it is, whose register tile is `rows` by three vectors."""

    rows: int
    depth: int
    """steps of k that a block has: KC"""
    columns: int
    """that a block of B has: NC"""

    @staticmethod
    def of(target: sw.Target) -> NearTile:
        """
        Three vectors rather than two: rows of A that are a power of two apart fall on one set of the
        first-level cache, which has ways for 9 of them but not for 14. The rows take at most three quarters
        of that cache, and a block of B, two panels at least, half of the second.
        """
        width = 3 * (target.vector_bits // 32)
        rows = (target.vector_registers - 4) // 3
        first, second = 3 * target.caches[0].bytes // 4, target.caches[1].bytes // 2
        depth = max(min(first // (rows * 4), second // (2 * width * 4)) // 64 * 64, 64)
        return NearTile(rows, depth, max(second // (depth * 4) // width, 1) * width)


FILE_TILE = Tile(16, 6, 256, NearTile(9, 1024, 144))
"""What the scripts are written for; 16 tiles on top of each other are a block of A, 96 rows."""


def kernel(m: int, n: int, k: int) -> str:
    """The text of `gemm.mlir` for other sizes."""
    sizes = dict(zip(FILE_SIZES, map(str, (m, n, k)), strict=True))
    numbers = re.compile(rf"(?<!\d)({'|'.join(FILE_SIZES)})(?!\d)")
    return numbers.sub(lambda found: sizes[found[0]], (FOLDER / "gemm.mlir").read_text())


def script(rung: Rung, tile: Tile) -> str:
    """The text of a rung's script for a tile."""
    assert rung.path is not None
    text = rung.path.read_text()
    factors, near = {16: tile.lanes}, tile.near
    if rung.name == NEAREST:
        factors |= {48: 3 * tile.lanes, 9: near.rows, 144: near.columns, 1024: near.depth}
    elif not rung.name.startswith(
        "tvm"
    ):  # there 32 is the size of a block, whatever the vectors are
        factors |= {32: 2 * tile.lanes, 6: tile.rows, 96: 16 * tile.rows}
        text = text.replace('"gemm/k" factor = 256', f'"gemm/k" factor = {tile.depth}')
    numbers = re.compile(rf"(?:(?<== )|(?<=\[)|(?<=, ))({'|'.join(map(str, factors))})\b")
    return numbers.sub(lambda found: str(factors[int(found[1])]), text)


def scheduled(rung: Rung, m: int, n: int, k: int, tile: Tile = FILE_TILE) -> sw.Schedule:
    """The kernel of these sizes after the rung's steps. Raises StepwellError when one is refused."""
    text = kernel(m, n, k)
    steps = script(rung, tile) if rung.path else script_by_rules(text)
    return sw.Schedule(text, script=steps).run()


def script_by_rules(kernel: str) -> str:
    """The text of the script that rules write for a kernel on one core of this machine, as the rung runs on one thread."""
    return script_text(schedule_kernels(parse_text(kernel), sw.Target.host().alone))


_LABEL = re.compile(r"^([\w.$]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b(?:\.\w+)?|t?cbn?z)\s.*?([\w.$]+)$")
_FMA = re.compile(r"^\s+(?:vfn?m(?:add|sub)\w+|fn?m(?:add|sub|l[as]))\s")


def fused_multiply_adds(assembly: str) -> int:
    """How many instructions multiply and add in the innermost loop that has most of them (x86 and AArch64)."""
    lines = [line.split("#")[0].rstrip() for line in assembly.splitlines()]
    labels = {found[1]: n for n, line in enumerate(lines) if (found := _LABEL.match(line))}
    jumps = ((n, found[1]) for n, line in enumerate(lines) if (found := _JUMP.match(line)))
    loops = [(labels[to], n) for n, to in jumps if labels.get(to, n) < n]
    innermost = [
        (a, b)
        for a, b in loops
        if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in loops)
    ]
    return max((sum(bool(_FMA.match(x)) for x in lines[a:b]) for a, b in innermost), default=0)


def inputs(m: int, n: int, k: int) -> list[np.ndarray]:
    """Values from -1 to 1 for A, B and C."""
    random = np.random.default_rng(0)
    shapes = ((m, k), (k, n), (m, n))
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def tolerance(k: int) -> float:
    """
    How far two sums of `k` products from -1 to 1 may be apart: each is rounded k times, and like the sum
    itself its errors, of both signs, grow with the square root of k. A wrong kernel is off by more than that.

    Higham, Accuracy and Stability of Numerical Algorithms (2002), section 4.2.
    """
    return 4 * (k + 1) * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Result:
    """One rung at one size."""

    name: str
    sequence: str
    size: int
    difference: float
    gflops: float
    peak: float
    """GFLOP/s of independent multiply-adds on one core in the same seconds"""
    tile: float
    """GFLOP/s of a register tile in the same seconds, see `Roofs`"""
    threads: int = 1
    fmas: int = 0
    """multiply-add instructions in the innermost loop"""

    @property
    def is_right(self) -> bool:
        return self.difference <= tolerance(self.size)


def largest_difference(executable: Executable, arrays: list[np.ndarray]) -> float:
    """From NumPy's result."""
    a, b, c = (np.array(array) for array in arrays)
    executable(a, b, c)
    return float(np.abs(c - (arrays[2] + arrays[0] @ arrays[1])).max(initial=0))


class Roofs:
    """
    What a core can do at most, measured in turns with a product, as clocks differ from one second to the next: independent
    multiply-adds on registers, and the register tile of `stepwell probe` with both operands in the second-level cache,
    where a product of more than the first holds has at least one of them.
    """

    def __init__(self) -> None:
        target = sw.Target.host()
        jobs = tile_jobs(target)
        self._fmas = fma_job(target, "f32", target.vector_bits)
        self._tile = jobs.asked if target.rates.panels_hints_gain else jobs.near
        self._pace = Pace(Gauge(target).read)

    def beside(self, call: Call, size: int, seconds: float) -> tuple[float, float, float]:
        """
        GFLOP/s of a product, of the multiply-adds and of the tile: the medians of calls that take turns for so many seconds each.
        """
        fmas, work = _repeated(self._fmas, ROUNDS)
        near, near_work = _repeated(self._tile, 1)
        contestants = {"product": call, "peak": fmas, "tile": near}
        turns = {name: Sampler(each, 1).take_turn for name, each in contestants.items()}
        timings = interleaved(turns, seconds=seconds, pace=self._pace).timings
        done = {"product": 2.0 * size**3, "peak": work, "tile": near_work}
        product, peak, tile = (done[name] / timings[name].median / 1e9 for name in contestants)
        return product, peak, tile


def _repeated(job: Job, rounds: int) -> tuple[Call, float]:
    """A call of a job's kernel with arrays of its own, and the operations that it does."""
    arrays = job.arguments()
    return lambda: job.kernel(rounds, *arrays), rounds * job.work(arrays)


def climb(chosen: list[Rung], size: int, seconds: float, roofs: Roofs) -> Iterator[Result]:
    """Every rung at one size, and NumPy."""
    arrays = inputs(size, size, size)
    tile = Tile.of(sw.Target.host())
    for rung in chosen:
        executable = scheduled(rung, size, size, size, tile).compile(threads=rung.threads)
        difference = largest_difference(executable, arrays)
        a, b, c = (np.array(array) for array in arrays)
        rates = roofs.beside(lambda run=executable, x=a, y=b, z=c: run(x, y, z), size, seconds)
        fmas = fused_multiply_adds(executable.assembly())
        yield Result(rung.name, rung.sequence, size, difference, *rates, rung.threads, fmas)
    a, b, c = arrays
    rates = roofs.beside(lambda: np.add(c, a @ b, out=c), size, seconds)
    yield Result(NUMPY, "", size, 0.0, *rates)


def measure_host() -> None:
    """Measure what this machine can do, if it was not before: rules go by it."""
    if not sw.Target.host().is_measured:
        from stepwell.runtime.probe import probe_and_store

        print("measuring the machine, as `stepwell probe` does")
        probe_and_store()


def show(result: Result, width: int) -> None:
    each = result.gflops / result.threads
    note = "" if result.is_right else "  wrong"
    note += f"  {result.threads} threads" if result.threads > 1 else ""
    print(
        f"{result.name:<{width}}  {result.size:>5}  {result.gflops:>8.1f}  {each / result.peak:>6.1%}  "
        f"{each / result.tile:>6.1%}  {result.fmas:>4}  {result.difference:>10.2g}{note}",
        flush=True,
    )


def draw(results: list[Result], path: Path) -> None:
    """GFLOP/s over sizes, a panel for each sequence, with NumPy and the peak in both."""
    sequences = list(dict.fromkeys(r.sequence for r in results if r.sequence))
    most = median(r.peak for r in results)
    figure, panels = new_figure(len(sequences))
    for axes, sequence in zip(panels, sequences, strict=True):
        mine = [r for r in results if r.sequence == sequence]
        names = list(dict.fromkeys(r.name for r in mine))
        for number, name in enumerate([*names, NUMPY]):
            line = [(r.size, r.gflops) for r in results if r.name == name]
            shade = {"color": "black", "linestyle": ":"} if name == NUMPY else _shade(number, names)
            axes.plot(*zip(*line, strict=True), marker="o", markersize=3, label=name, **shade)
        for threads in sorted({r.threads for r in mine}):
            height = threads * most
            label = f"FMA peak, {threads} core{'s' * (threads > 1)}"
            axes.axhline(height, color="#888888", linewidth=0.8, linestyle="--")
            axes.annotate(
                label,
                (1, height),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8,
            )
        axes.set(xlabel="M = N = K", title=f"GEMM: {sequence}")
        axes.set_yscale("log")
        axes.set_ylabel("GFLOP/s")
        handles, labels = axes.get_legend_handles_labels()
        # The fastest on top, as in the picture.
        place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        axes.legend(handles[::-1], labels[::-1], fontsize=8, frameon=False, **place)
    save_figure(figure, path)


def _shade(number: int, names: list[str]) -> dict[str, object]:
    """From light to dark, up the ladder."""
    from matplotlib import colormaps

    return {"color": colormaps["viridis_r"](0.08 + 0.92 * number / max(1, len(names) - 1))}


def parse_arguments(args: list[str] | None) -> argparse.Namespace:
    parser = OneLineArgumentParser(prog="ladder.py", description="Climb the GEMM ladder.")
    add = parser.add_argument
    add("-o", "--output", metavar="FILE.png|.svg", help="draw the curves, which needs matplotlib")
    add("--sizes", default=",".join(map(str, SIZES)), help="M = N = K (default: %(default)s)")
    add("--rungs", default="", metavar="NAME,…", help="only these (default: all)")
    add("--seconds", type=float, default=0.3, help="to time each for (default: %(default)s)")
    return parser.parse_args(args)


def _chosen(names: str) -> list[Rung]:
    known = {rung.name: rung for rung in rungs()}
    wanted = names.split(",") if names else list(known)
    for name in wanted:
        if name not in known:
            raise StepwellError(
                f"found rung '{name}', expected one of {', '.join(known)}; name one of them"
            )
    return [known[name] for name in wanted]


def _sizes(text: str) -> list[int]:
    sizes = text.split(",")
    if not all(size.isdigit() and int(size) for size in sizes):
        raise StepwellError(f"found --sizes {text}, expected positive numbers as in 256,512")
    return [int(size) for size in sizes]


def run(args: list[str] | None = None) -> int:
    arguments = parse_arguments(args)
    chosen, sizes = _chosen(arguments.rungs), _sizes(arguments.sizes)
    picture = Path(arguments.output) if arguments.output else None
    if picture:
        check_picture(picture)
    measure_host()
    width = max(len(rung.name) for rung in chosen)
    print(
        f"{'rung':<{width}}  {'size':>5}  {'GFLOP/s':>8}  {'peak':>6}  {'tile':>6}  {'FMAs':>4}  {'difference':>10}"
    )
    roofs = Roofs()
    results: list[Result] = []
    for size in sizes:
        for result in climb(chosen, size, arguments.seconds, roofs):
            show(result, width)
            results.append(result)
    if picture:
        draw(results, picture)
        print(f"drawn in {picture}")
    return int(not all(result.is_right for result in results))


if __name__ == "__main__":
    sys.exit(run_tool(run))
