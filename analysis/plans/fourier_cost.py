"""What the transforms of `graph.real_fft` are predicted to take."""

from __future__ import annotations

from math import log2

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Attribute

from ...dialects.dtypes import bit_width
from ...dialects.graph.fft_stages import complex_length, lanes_of, radices
from ...targets.target import Target
from .cost import Cost, cost_of, cycles_per_second
from .operation_cost import copying


def real_transform_cost(
    shape: tuple[int, int, int], element: Attribute, target: Target
) -> Cost | None:
    """
    The predicted time of `batch` times `inner` transforms of `length` real numbers; None for a length without one.

    Sums and products are counted apart, as few of them fuse; every stage loads and stores all numbers; and each goes
    from a row into a lane and back through as many shuffles as lanes have bits. Both tensors go through memory once.
    """
    assert isinstance(element, FixedBitwidthType)
    batch, length, inner = shape
    half = complex_length(length)
    factors = radices(half)
    if factors is None:
        return None
    core, bytes_ = target.core, bit_width(element) // 8
    count = batch * inner
    # Rows one after the other have vectors of runs, but in their first stages, which are as many shuffles as above.
    is_in_lanes = inner == 1 or lanes_of(shape, element) is not None
    lanes = core.lanes(bytes_) if is_in_lanes else 1
    flops = 5 * half * log2(max(half, 2)) + 6 * length
    moved = 2 * half * (len(factors) + 1)
    shuffles = 2 * length * log2(lanes) if inner == 1 else 0
    cycles = flops / core.fma_ports + moved / core.store_ports + shuffles
    seconds = count * cycles / lanes / cycles_per_second(target)
    return cost_of(
        (
            ("arithmetic", seconds),
            ("copying", copying(2 * count * length * bytes_, target)),
        )
    )
