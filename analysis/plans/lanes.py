"""How many vectors of an innermost loop run together, by what hides latencies and what the registers hold."""

from __future__ import annotations

from math import ceil

from ...targets.core import Core
from ..facts import Access
from ..interleaved import MOST_APART
from .row_nests import Nest

FUNCTION_REGISTERS = 3
"""
Vectors that a function holds beside its argument: an exponential's are the remainder, the scale and the polynomial's
value. A power is a logarithm and an exponential whose numbers are each the sum of two.
"""


COEFFICIENTS = 8
"""Numbers that a polynomial of single precision and the reduction of its argument take, about."""


def hiding_vectors(core: Core) -> int:
    """
    The vectors whose sums, each of which waits for the one before, keep the ports busy: as many additions as begin
    while one is under way, of which each has a load. A power of two, as blocks are.
    """
    begun = core.fma_latency * min(core.fma_ports, core.load_ports)
    return 1 << max(ceil(begun) - 1, 0).bit_length()


def block_lanes(nest: Nest, core: Core, axis: int | None = None) -> int:
    """
    The elements of a block of a nest's innermost loop: what hides latencies, as far as the registers hold it. `axis` says
    which axis that loop is of: elements that are a few apart along it are loaded with what lies between.
    """
    vectors = hiding_vectors(core)
    left = core.vector_registers - coefficients(nest)
    while vectors > 1 and vectors * registers(nest, axis) > left:
        vectors //= 2
    return core.lanes(nest.element_bytes) * vectors


def registers(nest: Nest, axis: int | None = None) -> int:
    """
    The vectors that one vector of a nest's iterations along an axis has under way at once: what it reads, a function's, and
    the entries of tables that registers hold: of each pair one is chosen by a bit of the index, for all vectors at once.
    """
    names = _functions(nest)
    doubled = 2 if "math.powf" in names else 1
    reads = nest.distinct_reads
    loaded = len(reads) if axis is None else sum(_vectors_of(nest, read, axis) for read in reads)
    entries = sum(nest.facts.statements[n].entries for n in nest.statements)
    return max(loaded, 1) + FUNCTION_REGISTERS * doubled * bool(names) + entries


def _vectors_of(nest: Nest, read: Access, axis: int) -> int:
    """The vectors that are loaded for one of a read's elements."""
    stride = abs(nest.stride(read, axis) or 1)
    if stride > MOST_APART:
        return 1
    return max(stride * nest.facts.element_bytes(read) // nest.element_bytes, 1)


def coefficients(nest: Nest) -> int:
    """The vectors of numbers that all iterations of a nest use: those of each function are set up before its loops."""
    return COEFFICIENTS * len(_functions(nest))


def _functions(nest: Nest) -> list[str]:
    return [name for name in nest.operations if name.startswith("math.")]
