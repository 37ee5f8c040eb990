"""What the rules ask about loops: perfect nests, and how accesses move through memory along a loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ..analysis.reductions import operator_of
from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.dtypes import bit_width
from ..dialects.shaped import memref_type
from ..targets.target import Target

Access = loop.LoadOp | loop.StoreOp


@dataclass(frozen=True)
class PerfectNest:
    """Loops with nothing between them, outermost first, and the operations of the innermost body."""

    loops: tuple[loop.ForOp, ...]
    body: tuple[Operation, ...]

    @property
    def names(self) -> list[str]:
        return [for_op.loop_name.data for for_op in self.loops]

    @property
    def extents(self) -> list[int] | None:
        """The trip counts, None when one is not a constant."""
        counts = [for_op.constant_trip_count() for for_op in self.loops]
        return None if None in counts else [count for count in counts if count is not None]

    @property
    def loads(self) -> list[loop.LoadOp]:
        return [op for op in self.body if isinstance(op, loop.LoadOp)]

    @property
    def stores(self) -> list[loop.StoreOp]:
        return [op for op in self.body if isinstance(op, loop.StoreOp)]

    @property
    def is_flat(self) -> bool:
        """Whether the body has no loops and conditions."""
        return not any(op.regions for op in self.body)


def perfect_nest(outermost: loop.ForOp) -> PerfectNest:
    """The loops from `outermost` inwards as long as each is all there is in the one around it."""
    loops = [outermost]
    while True:
        body = [op for op in loops[-1].body.block.ops if not isinstance(op, loop.YieldOp)]
        if len(body) != 1 or not isinstance(body[0], loop.ForOp):
            return PerfectNest(tuple(loops), tuple(body))
        loops.append(body[0])


def top_nests(function: func.FuncOp) -> Iterator[PerfectNest]:
    """The perfect nests at a function's top level, in order."""
    for op in function.body.block.ops:
        if isinstance(op, loop.ForOp):
            yield perfect_nest(op)


def stride_along(access: Access, for_op: loop.ForOp) -> int | None:
    """
    How many elements further the access is in the next iteration of the loop.

    None when that is not the same for all iterations, or the buffer's shape or layout does not say.
    """
    type_ = memref_type(access.buffer)
    strides = type_.get_strides()
    if strides is None or any(s is None or s == DYNAMIC_INDEX for s in strides):
        return None
    operands: Sequence[SSAValue] = list(access.operands_)
    variable = for_op.induction_variable
    total = 0
    for expr, stride in zip(access.map.data.results, strides, strict=True):
        linear = linear_form(expr, len(operands))
        if linear is None:
            if any(operands[n] is variable for n in expr.used_dims()):
                return None
            continue
        moves = sum(c for c, v in zip(linear[0], operands, strict=True) if v is variable)
        total += moves * (stride or 0) * for_op.step.value.data
    return total


def sums_in_any_order(stores: Iterable[loop.StoreOp]) -> bool:
    """Whether all that is stored may be summed up in another order: the sums of `fp=strict` may not."""
    owners = [store.value.owner for store in stores]
    return all(isinstance(op, Operation) and operator_of(op) is not None for op in owners)


def moving_axes(access: Access) -> list[int]:
    """The axes whose subscripts are not constants."""
    return [axis for axis, expr in enumerate(access.map.data.results) if expr.used_dims()]


def element_bytes(value: SSAValue) -> int:
    """The size of a buffer's element."""
    return max(bit_width(memref_type(value).get_element_type()), 8) // 8


def lanes(target: Target, bytes_: int) -> int:
    """How many elements of so many bytes a vector register of the target holds."""
    return max(target.vector_bits // 8 // bytes_, 1)


def cache_bytes(target: Target, level: int) -> int:
    """The size of a data cache; of the last one there is when there is none of that level."""
    sizes = [cache.bytes for cache in target.caches if cache.level <= level]
    return sizes[-1]


def round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def balanced(extent: int, most: int, unit: int = 1) -> int:
    """The size of equal blocks, multiples of `unit`, of which none is larger than `most` (or a unit)."""
    blocks = -(-extent // max(most, unit))
    return round_up(-(-extent // blocks), unit)
