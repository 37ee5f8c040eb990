"""What the probe times: for each rate of a core, a kernel with arrays that lie where they must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np
from xdsl.parser import Parser

from ..frozen import frozen
from ..targets.core import LINE_BYTES, Cache
from ..targets.rates import OWN_VECTORS, PIECE_BYTES, ROWS_IN_TURNS, ROWS_PANELS, Kind, Rate
from ..targets.target import Target
from ..universe import make_context
from .engine import scratch_memory
from .executable import Executable
from .jit import compile_module
from .probe_kernels import (
    UNROLL,
    chase_kernel,
    copy_kernel,
    fma_kernel,
    pack_kernel,
    pieces_tile_kernel,
    read_kernel,
    read_rows_kernel,
    rows_tile_kernel,
    strided_tile_kernel,
    tile_kernel,
)
from .probe_timing import Job

BITS = {"f32": 32, "f64": 64}

_LARGEST = 256 << 20
"""Bytes that memory is measured with, on machines whose last cache is not larger itself."""

_DEPTH = 256
"""Steps of the summation in a panel: usual for blocks of the summed axis in matrix products."""

_FAR, _ROWS_FAR = 4, 8
"""
What is beyond L2 is so many times as large. Rows that tiles use are twice of that, as an L2 that does not replace what is
least recently used keeps a part of the rest: on a Zen 5 core hints gained 1 to 6 percent for 4 MB, and 6 to 8 for 6 to 64 MB.
"""

_PIECE = 64
"""Elements of a row that are read before those of the next."""

_PART = 32
"""Of rows that come from beyond L2, the steps of the summation between hints for the next ones."""

_LINKS = 64
"""Lines that are loaded one after the other in each round of a chase."""

_PAGE = 4096
"""Bytes of a row that is used in pieces."""

_ROW_APART = (_PAGE + LINE_BYTES) // 4
"""Elements from one of these rows to the next, which do not fall into the same sets."""

_ROW_BYTES = 4096
"""From one unpacked row to the next: a page, and what all ways of most first-level caches come to."""


def compiled(text: str, target: Target) -> Executable:
    """What is measured again is compiled once, whatever is known of the target meanwhile."""
    return _compiled(text, replace(target, found=()))


@lru_cache(maxsize=64)
def _compiled(text: str, target: Target) -> Executable:
    return compile_module(Parser(make_context(), text).parse_module(), target=target)


def working_sets(caches: Sequence[Cache], cores: int) -> list[tuple[str, int, int]]:
    """
    What each level is measured with: its name, and bytes for a core alone and for one of all cores.

    Half of a cache stays free for what else is in it, and the cores that share it use equal parts. Memory's
    are four times what the last cache holds.
    """
    sets: list[tuple[str, int, int]] = []
    inner = 0
    for cache in caches:
        alone, sharing = cache.bytes // 2, min(cores, cache.shared_by)
        # With less, the cache inside would serve them.
        if alone >= 2 * inner:
            sets.append((cache.name, alone, max(alone // sharing, 2 * inner)))
            inner = cache.bytes
    last = max(caches, key=lambda cache: cache.bytes)
    alone = max(min(4 * last.bytes, _LARGEST), 2 * last.bytes)
    return [*sets, ("memory", alone, max(alone // cores, 2 * last.bytes // last.shared_by))]


def parts_of_last_cache(caches: Sequence[Cache], level_2: int) -> list[int]:
    """Half of the last cache, a quarter and so on, down to what is as near beyond L2 as is measured."""
    sizes = [caches[-1].bytes // 2]
    while sizes[-1] // 2 >= _FAR * level_2:
        sizes.append(sizes[-1] // 2)
    return sizes


def fma_job(target: Target, element: str, vector_bits: int) -> Job:
    """
    12 independent vectors where there are 16 registers, 24 where there are 32: more than latency times
    throughput of any core's multiply-adds (10 on Intel's), and the two operands stay in registers too.
    """
    return _fmas(target, element, vector_bits, 3 * target.vector_registers // 4)


def fma_chain_job(target: Target) -> Job:
    """Each multiply-add of full vectors of f32 waits for the one before: one begins in each latency, which tells of the clock."""
    return _fmas(target, "f32", target.vector_bits, 1)


def _fmas(target: Target, element: str, vector_bits: int, count: int) -> Job:
    lanes = vector_bits // BITS[element]
    dtype = np.dtype(f"f{BITS[element] // 8}")

    def arguments() -> list[np.ndarray]:
        # Whatever it begins with, x / 2 + 1 repeated comes to 2.
        return [np.array([0.5, 1], dtype), _zeros((count, lanes), dtype)]

    return Job(
        compiled(fma_kernel(element, lanes, count), target),
        arguments,
        lambda arrays: 2.0 * arrays[1].size,
        lambda rounds, arrays: rounds < 100 or bool((arrays[1] == 2).all()),
    )


def stream_kernel(target: Target, kind: Kind) -> Executable:
    lanes = target.lanes(4)
    return compiled(read_kernel(lanes) if kind == "read" else copy_kernel(lanes), target)


def past_kernel(target: Target) -> Executable:
    """Copies past the caches, which are written to by whole lines."""
    return compiled(copy_kernel(max(target.lanes(4), LINE_BYTES // 4), is_past=True), target)


def stream_job(kernel: Executable, kind: Kind, size: int) -> Job:
    """Arrays of `size` bytes in all."""
    count = 1 if kind == "read" else 2
    # The last argument of the read kernel are its sums.
    sums = cast("tuple[int, ...]", kernel.signature.inputs[-1].shape) if kind == "read" else ()
    granule = UNROLL * 64

    def arguments() -> list[np.ndarray]:
        elements = max(1, size // 4 // count // granule) * granule
        return [
            *_staggered(count, elements),
            *(np.zeros(shape, np.float32) for shape in [sums] if shape),
        ]

    def check(rounds: int, arrays: Sequence[np.ndarray]) -> bool:
        if kind == "read":  # all ones: what is added goes on until a sum no longer changes
            return bool(arrays[-1].min() >= min(rounds, 1 << 24))
        last = arrays[count - 1]
        return bool(last[0] == last[-1] == 1)

    return Job(kernel, arguments, lambda arrays: 4.0 * count * arrays[0].size, check)


def rows_kernel(target: Target) -> Executable:
    """Reads a matrix by its rows in turns."""
    return compiled(read_rows_kernel(target.lanes(4), ROWS_IN_TURNS, _PIECE), target)


def rows_job(kernel: Executable, size: int) -> Job:
    """A matrix of `ROWS_IN_TURNS` rows, of `size` bytes in all, whose rows do not fall into the same sets."""
    pieces = max(size // 4 // ROWS_IN_TURNS // _PIECE, 1) | 1
    return Job(
        kernel,
        lambda: [
            _ones((ROWS_IN_TURNS, pieces * _PIECE)),
            _zeros(cast("tuple[int, ...]", kernel.signature.inputs[-1].shape)),
        ],
        lambda arrays: 4.0 * arrays[0].size,
        lambda rounds, arrays: bool(arrays[-1].min() >= min(rounds, 1 << 24)),
    )


def chase_job(target: Target, size: int) -> Job:
    """Lines of `size` bytes in all, of which each says where the next one is: all of them in one cycle, in random order."""
    each = LINE_BYTES // 8
    order = np.random.default_rng(0).permutation(max(size // LINE_BYTES, 2)) * each

    x = _zeros((order.size * each,), np.dtype(np.int64))
    x[order] = np.roll(order, -1)
    return Job(
        compiled(chase_kernel(_LINKS), target),
        lambda: [x, np.array(order[:1])],
        lambda arrays: float(_LINKS * LINE_BYTES),
        lambda rounds, arrays: bool(arrays[1][0] == order[(rounds + 1) * _LINKS % order.size]),
    )


@frozen
class TileJobs:
    """The kernel of one register tile: how much of each operand there is decides from where it comes."""

    in_l1: Job
    near: Job
    asked: Job
    split: Job
    wide_far: Job
    narrow_far: Job


def tile_jobs(target: Target) -> TileJobs:
    """
    Near, each operand has a quarter of L2. Those of the wide one that are asked for are so when the instructions before
    them begin, and those that are split begin in the midst of a vector. One that is far has more than fits in L2, the
    other one panel. In L1 there is one panel of each, as long as stays there.
    """
    rows, vectors = target.core.probe_tile
    lanes, level_2 = target.lanes(4), target.cache(2).bytes
    columns = vectors * lanes

    def kernel(depth: int, ahead: int = 0) -> Executable:
        return compiled(tile_kernel(rows, vectors, lanes, depth, ahead), target)

    def job(
        of: Executable,
        depth: int,
        narrow_bytes: int,
        wide_bytes: int,
        wide_ones: Callable[[Sequence[int]], np.ndarray] = _ones,
    ) -> Job:
        narrows = max(narrow_bytes // (4 * depth * rows), 1)
        wides = max(wide_bytes // (4 * depth * columns), 1)
        return Job(
            of,
            lambda: [
                _ones((narrows, depth, rows)),
                wide_ones((wides, depth, columns)),
                _zeros((rows, columns)),
            ],
            lambda arrays: 2.0 * narrows * wides * depth * rows * columns,
            lambda rounds, arrays: bool((arrays[2] == depth).all()),
        )

    short, long = target.core.probe_terms, kernel(_DEPTH)
    ahead = int(target.core.terms_under_way(rows * vectors, rows + vectors))
    return TileJobs(
        job(kernel(short), short, 0, 0),
        job(long, _DEPTH, level_2 // 4, level_2 // 4),
        job(kernel(_DEPTH, ahead), _DEPTH, level_2 // 4, level_2 // 4),
        job(long, _DEPTH, level_2 // 4, level_2 // 4, _split_ones),
        job(long, _DEPTH, 0, _FAR * level_2),
        job(long, _DEPTH, _FAR * level_2, 0),
    )


@frozen
class RowsJobs:
    """
    The same with rows that are not packed: as `TileJobs.near` but for that; longer ones in L2, and those beyond it, each block
    of which is used with panels that take half of L2; the same with hints that ask for the next block; and rows beyond L2 that are used piece
    by piece, each with one panel.
    """

    near: Job
    long: Job
    far: Job
    asked: Job
    pieces: Job


def rows_jobs(target: Target) -> RowsJobs:
    """A register tile of rows that are not packed, and do not fall into the same sets."""
    rows, vectors = target.core.probe_tile
    lanes, level_2 = target.lanes(4), target.cache(2).bytes

    def of_parts(terms: int) -> int:
        return (terms // _PART | 1) * _PART

    def kernel(depth: int, panels: int, *, is_asked: bool = False) -> Executable:
        text = rows_tile_kernel(rows, vectors, lanes, depth, panels, _PART, is_asked=is_asked)
        return compiled(text, target)

    def job(of: Executable, depth: int, panels: int, size: int) -> Job:
        blocks = max(size // (4 * rows * depth), 1)
        return Job(
            of,
            lambda: [
                _ones((blocks, rows, depth)),
                _ones((panels, depth, vectors * lanes)),
                _zeros((rows, vectors * lanes)),
            ],
            lambda arrays: 2.0 * blocks * panels * depth * arrays[2].size,
            lambda rounds, arrays: bool((arrays[2] == depth).all()),
        )

    short, panels = of_parts(_DEPTH), max(level_2 // 4 // (4 * _DEPTH * vectors * lanes), 1)
    depth = of_parts(level_2 // 2 // (4 * ROWS_PANELS * vectors * lanes))
    far = depth, ROWS_PANELS, _ROWS_FAR * level_2
    plain = kernel(*far[:2])
    return RowsJobs(
        job(kernel(short, panels), short, panels, level_2 // 4),
        job(plain, *far[:2], level_2 // 8),
        job(plain, *far),
        job(kernel(*far[:2], is_asked=True), *far),
        _pieces_job(target),
    )


def _pieces_job(target: Target) -> Job:
    """Blocks of rows, each a page long, that take half of L2, and of which there are several times as many as it holds."""
    rows, vectors = target.core.probe_tile
    lanes, level_2, terms = target.lanes(4), target.cache(2).bytes, PIECE_BYTES // 4
    pieces = _PAGE // PIECE_BYTES
    tiles = max(level_2 // 2 // (_PAGE * rows), 1)
    blocks = max(_FAR * level_2 // (_PAGE * rows * tiles), 1)
    text = pieces_tile_kernel(rows, vectors, lanes, terms, pieces, tiles, _ROW_APART)
    return Job(
        compiled(text, target),
        lambda: [
            _ones((blocks, tiles, rows, _ROW_APART)),
            _ones((pieces, terms, vectors * lanes)),
            _zeros((rows, vectors * lanes)),
        ],
        lambda arrays: 2.0 * blocks * tiles * pieces * terms * arrays[2].size,
        lambda rounds, arrays: bool((arrays[2] == terms).all()),
    )


def strided_jobs(target: Target, rows: int) -> tuple[Job, Job]:
    """A register tile of so many unpacked rows: whose lines fall into one set of L1, and one line further apart."""
    vectors, lanes = target.core.vectors_beside(rows), target.lanes(4)
    kernel = compiled(strided_tile_kernel(rows, vectors, lanes, _DEPTH), target)

    def job(row_bytes: int) -> Job:
        return Job(
            kernel,
            lambda: [
                _ones((rows, row_bytes // 4)),
                _ones((1, _DEPTH, vectors * lanes)),
                _zeros((rows, vectors * lanes)),
            ],
            lambda arrays: 2.0 * _DEPTH * arrays[2].size,
            lambda rounds, arrays: bool((arrays[2] == _DEPTH).all()),
        )

    return job(_ROW_BYTES), job(_ROW_BYTES + target.cache(1).line_bytes)


def own_loads_jobs(target: Target) -> tuple[Job, Job]:
    """A register tile whose multiply-adds load the element that goes into all lanes each by itself, and one where those of a row share it; in L1."""
    rows, columns = target.core.rows_beside(OWN_VECTORS), OWN_VECTORS * target.lanes(4)
    text, depth = tile_kernel(rows, 1, columns, _PART), _PART

    def job(slowdown: float) -> Job:
        told = replace(target, found=(("own_loads", Rate(slowdown, slowdown)),))
        return Job(
            _compiled(text, told),
            lambda: [
                _ones((1, depth, rows)),
                _ones((1, depth, columns)),
                _zeros((rows, columns)),
            ],
            lambda arrays: 2.0 * depth * rows * columns,
            lambda rounds, arrays: bool((arrays[2] == depth).all()),
        )

    return job(1.0), job(2.0)


def pack_jobs(target: Target) -> tuple[Job, Job]:
    """Panels of a quarter of L2, packed from an operand that is near, and from one beyond L2."""
    vectors, lanes, level_2 = target.core.probe_tile[1], target.lanes(4), target.cache(2).bytes
    columns = vectors * lanes
    panels = max(level_2 // 4 // (4 * _DEPTH * columns), 1)
    kernel = compiled(pack_kernel(vectors, lanes, _DEPTH, panels), target)
    block = 4 * _DEPTH * panels * columns

    def job(size: int) -> Job:
        blocks = max(size // block, 1)
        return Job(
            kernel,
            lambda: [
                _ones((blocks, _DEPTH, panels * columns)),
                _zeros((panels, _DEPTH, columns)),
            ],
            lambda arrays: 4.0 * arrays[0].size,
            lambda rounds, arrays: bool((arrays[1] == 1).all()),
        )

    return job(block), job(_FAR * level_2)


def _filled(shape: Sequence[int], dtype: np.dtype, value: float) -> np.ndarray:
    """Large arrays are on huge pages, as programs have theirs: on others a part of L2 is lost to those that happen to share sets."""
    size = int(np.prod(shape))
    array = scratch_memory(size * dtype.itemsize).view(dtype).reshape(shape)
    array[...] = value
    return array


_F32 = np.dtype(np.float32)


def _zeros(shape: Sequence[int], dtype: np.dtype = _F32) -> np.ndarray:
    return _filled(shape, dtype, 0)


def _ones(shape: Sequence[int]) -> np.ndarray:
    return _filled(shape, _F32, 1)


def _split_ones(shape: Sequence[int]) -> np.ndarray:
    """From 16 bytes after the beginning of a line, as large arrays of NumPy's: each vector as long as a line lies across two."""
    size = int(np.prod(shape))
    return _ones((size + 4,))[4:].reshape(shape)


def _staggered(count: int, elements: int) -> list[np.ndarray]:
    """
    Arrays of ones on cache lines that begin at different places of a page: loads at the address of a
    store before it, modulo 4096, would wait for that.
    """
    arrays: list[np.ndarray] = []
    for number in range(count):
        raw = scratch_memory(4 * elements + 8192)
        start = (-raw.ctypes.data + number * 1344) % 4096
        array = raw[start : start + 4 * elements].view(np.float32)
        array[...] = 1
        arrays.append(array)
    return arrays
