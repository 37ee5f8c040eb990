"""The bodies of kernels that are left of a movement: copies of parts, and the values around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from ...dialects import te
from ...dialects.shaped import memref_type
from ...dialects.te.text import Number, axis_names


def moving_body(source: SSAValue, map_: AffineMap, part: SSAValue) -> Region:
    """The body of a kernel that moves `source[map]` to a buffer."""
    inside = Block(arg_types=[source.type])
    inside.args[0].name_hint = source.name_hint
    read = te.Read(inside.args[0], map_)
    return _elements(inside, part, [read], lambda builder, elements: elements[0])


def constant_body(part: SSAValue, value: Number) -> Region:
    """The body of a kernel that sets all elements of a buffer to a number."""
    return _elements(
        Block(), part, [], lambda builder, _: builder.insert(arith.ConstantOp(value)).result
    )


def _elements(
    inside: Block,
    part: SSAValue,
    reads: Sequence[te.Read],
    element: Callable[[Builder, Sequence[SSAValue]], SSAValue],
) -> Region:
    """The body of a kernel of one compute, with the elements of a buffer."""
    type_ = memref_type(part)
    names = axis_names(type_.get_num_dims())
    iterators = [te.Iterator(*pair) for pair in zip(names, type_.get_shape(), strict=True)]
    body = te.compute_block(iterators, reads)
    builder = Builder(InsertPoint.at_end(body))
    builder.insert(te.YieldOp(element(builder, body.args[len(iterators) :])))
    tensor_ = TensorType(type_.get_element_type(), type_.get_shape())
    compute = te.ComputeOp(iterators, reads, tensor_, Region(body))
    compute.result.name_hint = part.name_hint
    inside.add_ops([compute, te.YieldOp(compute.result)])
    return Region(inside)
