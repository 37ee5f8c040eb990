"""How many terms of a register tile's sum are written out in an iteration of its loop, and what the loop's control takes."""

from __future__ import annotations

from math import prod

from ...targets.core import Core
from ...targets.rates import OWN_MOST_LOADS, OWN_VECTORS
from ..facts import Contraction
from .convolution_plan import ConvolutionPlan

CONTROL = 4
"""Instructions that control a loop over terms: a step of a pointer for each operand, a comparison and a jump."""

CONTROL_SHARE = 1 / 3
"""
Of these in each cycle at most: a few percent of the four to eight instructions that cores begin in a cycle, so
that what they have left is for loads, and for another thread of the same core.
"""

CONVOLUTION_SHARE = 1 / 4
"""
The same of a convolution's tiles: the innermost loop of their sums is short, where it goes over a block of channels, and those around it take
instructions too.
"""

CONTROL_CYCLES = 1 / 8
"""
What each of them takes of the multiply-adds' time where both go to the same ports: of five that take scalar instructions two
take multiply-adds, so that it is a fifth if ports are given at random; they are given by how many wait at each. (With AVX2 on
Intel's Granite Rapids tiles of 4 x 24, one term at a time, reach 0.96 of those of 6 x 16, two; those of 5 x 16, four, 0.98.)
"""

TWO_TERMS = 2
"""
Terms of a product's tile that an iteration has at least where its control has ports of multiply-adds, and hints stand in each term. (LLVM
moves no loads across these; without them it loaded for both terms at once, and spilled sums of tiles that leave few registers.)

Half of the control is worth more than its share of the ports: Intel's cores lower their clock by what they do beside multiply-adds of full
vectors. (On Granite Rapids these alone ran at 3.6 GHz, in a tile of 9 x 48 with all in L1 at 3.3, and with B coming from L2 at 3.1 to
3.3. Products of 384, 512, 768 and 1024 took 0.960, 0.966, 0.952 and 0.982 of the time with two terms, one of 512 0.995 with four.)
"""

BETWEEN_HINTS = 32
"""
Terms of a tile's sums between hints for pieces that are apart in memory, as rows are. The address of such a hint takes about as
many instructions as a term of a small tile has, in each of which they would take ports from the multiply-adds where a core has
integers on the same ones, as Intel's have.
"""

LINES_AT_ONCE = 8
"""
Lines that a tile asks for at once. L1 has 10 to 16 misses under way, of which some are left to what the tile loads. (Fog, "The
microarchitecture of Intel, AMD and VIA CPUs".) Products of 1024 x 1024 x 1024 took 1.5 to 2.2 % longer on Intel's Granite Rapids
where their tiles stopped for one line after every 32 terms.
"""


BEYOND = 1 / 10
"""
The part of a sum for whose terms a tile asks beyond the end, from which on it is worth going through the sum by parts, each of which has a loop
around it. (On Intel's Granite Rapids layers of 56 x 56 took 0.90 to 0.97 and 0.92 of the time in parts of 16 terms where sums have 64 and 96,
those of 28 x 28 the same where they have 128, and those of 14 x 14 in parts of 12 and 16 terms 1.0 to 1.05 where they have 192 and more.)
"""


def is_worth_parts(terms: int, ahead: int) -> bool:
    """Whether the hints of a sum of so many terms, so many of them ahead, go on in the next tile: they stand in parts of it then."""
    return terms < 2 * BETWEEN_HINTS or ahead >= BEYOND * terms


def has_parts(terms: int, ahead: int) -> bool:
    """Whether a sum of so many terms is gone through by parts of as many as its hints are ahead."""
    return terms % ahead == 0 and is_worth_parts(terms, ahead)


def terms_between_hints(terms: int, lines: int) -> int:
    """
    Terms of a sum of so many between hints for so many lines in all, of which `LINES_AT_ONCE` stand together: some times `BETWEEN_HINTS`,
    such that no term is left where none is between shorter ones.
    """
    hints = max(-(-lines // LINES_AT_ONCE), 2)
    length = max(terms // (hints * BETWEEN_HINTS), 1) * BETWEEN_HINTS
    while terms % BETWEEN_HINTS == 0 and terms % length:
        length -= BETWEEN_HINTS
    return length


def terms_written_out(cycles: float, share: float = CONTROL_SHARE) -> int:
    """How many terms, of so many cycles of multiply-adds each, there are in an iteration: a power of two."""
    count = 1
    while count * cycles * share < CONTROL:
        count *= 2
    return count


def terms_of_product(
    core: Core, rows: int, vectors: int, *, in_pairs: bool, own_loads: bool = False
) -> int:
    """
    The same of a product's tile, whose terms may stand `in_pairs` (see `TWO_TERMS`), or whose multiply-adds may have `own_loads`; 1 where there are
    no registers for more.
    """
    if not can_write_out(core, rows, vectors):
        return 1
    count = terms_written_out(rows * vectors / core.fma_ports)
    is_paired = in_pairs or (own_loads and loads_by_itself(core, rows, vectors))
    return max(count, TWO_TERMS) if is_paired and not core.add_ports else count


def loads_by_itself(core: Core, rows: int, vectors: int, hints: int = 0) -> bool:
    """
    Whether each multiply-add of a product's tile loads the element that goes into all lanes, on cores where that is free, if each term asks L1 for so
    many lines: elements take no registers then, and no instructions of their own. (See `lowering/core_to_llvm/advancing.py`.)
    """
    sums = rows * vectors
    takes_all_lanes = vectors == OWN_VECTORS and core.vector_bits >= 512
    return takes_all_lanes and sums + vectors + hints <= OWN_MOST_LOADS * sums


def can_write_out(core: Core, rows: int, vectors: int) -> bool:
    """
    Whether there is a register for the next element of A beside the present one, and each is used more than once: otherwise
    LLVM moves accumulators about.
    """
    return vectors > 1 and (rows + 1) * vectors + 2 <= core.vector_registers


def writes_out_terms(core: Core, rows: int, vectors: int, *, own_loads: bool = False) -> bool:
    """Whether an iteration has more than one term of a tile's sum, whatever it asks for; multiply-adds may have `own_loads`."""
    return terms_of_product(core, rows, vectors, in_pairs=False, own_loads=own_loads) > 1


def terms_of_convolution(plan: ConvolutionPlan, c: Contraction, core: Core) -> int:
    """
    The same of a convolution's whole tiles.

    All of a row of the window, and all of a few channels; of others some terms, if each element that is broadcast is used more than once and there are
    registers for what the next term loads beside what the present one does: the operand of which a tile loads less stays in registers for a term, and the next
    term's first element beside it; of the other one, two elements are loaded at a time. Lanes that are neighbours in the image share elements
    between places in the window, but none between channels.
    """
    last = plan.summed[-1]
    if plan.has_whole_row:
        return c.extent((last,))
    if plan.lanes in c.batch or (last in c.window and (plan.lanes in c.m or plan.window_inside)):
        return 1
    rows, vectors = rows_and_vectors(plan, c, core)
    count = terms_written_out(rows * vectors / core.fma_ports, CONVOLUTION_SHARE)
    channels = plan.block or c.extent((last,))
    is_over_channels = plan.lanes not in c.m and not plan.window_inside and last not in c.window
    if is_over_channels and channels < 2 * count:
        return channels
    kept = min(rows, vectors) + 1
    fits = vectors > 1 and rows * vectors + kept + 2 <= core.vector_registers
    return count if fits else 1


def rows_and_vectors(plan: ConvolutionPlan, c: Contraction, core: Core) -> tuple[int, int]:
    """Of a whole tile: the elements of one operand that are broadcast, and the vectors of the other one that each is multiplied with."""
    in_lanes = c.n if plan.lanes in c.n else c.m
    sizes = {axis: size for axis, size in plan.tile if axis != plan.lanes}
    vectors = -(-plan.size(plan.lanes) // core.lanes(c.result_bytes))
    vectors *= prod(size for axis, size in sizes.items() if axis in in_lanes)
    return prod(size for axis, size in sizes.items() if axis not in in_lanes), vectors


def control_instructions(core: Core, rows: int, vectors: int, *, own_loads: bool = False) -> float:
    """Instructions of a product's tile's term that control its loop; what more than two terms gain was not seen."""
    return CONTROL / (2 if writes_out_terms(core, rows, vectors, own_loads=own_loads) else 1)


def control_cycles(core: Core, rows: int, vectors: int, *, own_loads: bool = False) -> float:
    """Cycles of a product's tile's term in which its loop's control has ports of multiply-adds."""
    return cycles_of_control(core, control_instructions(core, rows, vectors, own_loads=own_loads))


def cycles_of_control(core: Core, instructions: float) -> float:
    """The same of so many instructions. Cores whose additions have ports of their own have others for scalar instructions."""
    return 0.0 if core.add_ports else CONTROL_CYCLES * instructions
