"""Where tensors lie in buffers, and the views through which kernels have them."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
)
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ...analysis.strided_views import Placing, row_major
from ...dialects.shaped import Buffer, Tensor, contiguous
from ...frozen import frozen


def buffer_type(type_: Tensor, placing: Placing | None = None) -> Buffer:
    """
    The type of a buffer with a tensor's elements, in row-major order or as they are placed.

    The offset stays open: kernels that differ in it alone are the same.
    """
    shape, element = type_.get_shape(), type_.get_element_type()
    if placing is None or placing.is_contiguous(shape):
        return contiguous(type_)
    return MemRefType(element, shape, StridedLayoutAttr(placing.strides, None))


@frozen
class Place:
    """
    Where something starts: `start` elements behind the start of a buffer. The start is an expression over loop
    variables, `variables`, where it changes from step to step.
    """

    buffer: SSAValue
    start: AffineExpr = field(default_factory=lambda: AffineExpr.constant(0))
    variables: tuple[SSAValue, ...] = ()

    def behind(self, offset: int) -> Place:
        """The place that many elements further on."""
        return Place(self.buffer, self.start + offset, self.variables)

    def at(self, variable: SSAValue, factor: int) -> Place:
        """The place `factor * variable` elements further on."""
        by = AffineExpr.dimension(len(self.variables)) * factor
        return Place(self.buffer, self.start + by, (*self.variables, variable))

    @property
    def known_start(self) -> int | None:
        """The start, where it is a number."""
        return self.start.value if isinstance(self.start, AffineConstantExpr) else None

    def is_whole(self, type_: Buffer) -> bool:
        """Whether a view of this type that starts here is the buffer itself."""
        return self.known_start == 0 and self.buffer.type == type_

    def view(self, builder: Builder, type_: Tensor, part: Placing) -> SSAValue:
        """The buffer as a tensor of this type that lies so from here on."""
        shape = type_.get_shape()
        is_plain = self.known_start == 0 and part.is_contiguous(shape)
        layout = StridedLayoutAttr(part.strides, None)
        found = (
            buffer_type(type_) if is_plain else MemRefType(type_.get_element_type(), shape, layout)
        )
        cast_op = memref.ReinterpretCastOp(
            self.buffer,
            [] if is_plain else [self.behind(part.offset)._start_value(builder)],
            [],
            [],
            [0 if is_plain else DYNAMIC_INDEX],
            list(shape),
            list(row_major(shape) if is_plain else part.strides),
            found,
        )
        return builder.insert(cast_op).result

    def _start_value(self, builder: Builder) -> SSAValue:
        known = self.known_start
        if known is not None:
            return builder.insert(arith.ConstantOp(IntegerAttr(known, IndexType()))).result
        map_ = AffineMap(len(self.variables), 0, (self.start,))
        return builder.insert(affine.ApplyOp(self.variables, AffineMapAttr(map_))).result


PlacedTensor: TypeAlias = tuple[Place, Placing]
"""Where a tensor starts, and how it lies from there on."""
