"""Elements of computes, written where loops over buffers need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, tensor
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects import loop, te
from ...dialects.affine_bounds import guards_within
from ...dialects.shaped import tensor_type


class ElementWriter:
    """
    Writes elements of a compute into loops: `buffers` are what it reads there, `known` is what is read of some tensors.
    """

    def __init__(
        self,
        compute: te.ComputeOp,
        buffers: Mapping[SSAValue, SSAValue],
        known: Mapping[SSAValue, SSAValue] = MappingProxyType({}),
    ):
        self.compute, self.buffers, self.known = compute, buffers, known

    @property
    def name(self) -> str | None:
        return self.compute.result.name_hint

    def element(self, builder: Builder, map_: AffineMap, operands: Sequence[SSAValue]) -> SSAValue:
        """The element at subscripts, of the first result."""
        return self.elements(builder, map_, operands)[0]

    def elements(
        self, builder: Builder, map_: AffineMap, operands: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The element at subscripts of each result."""
        compute, mapping = self.compute, dict[SSAValue, SSAValue]()
        for arg, read in zip(compute.read_args, compute.reads, strict=True):
            if read.source in self.known:
                mapping[arg] = self.known[read.source]
                continue
            if read.map is None:
                mapping[arg] = self.buffers[read.source]
                continue
            mapping[arg] = self.read(builder, read, map_, operands)
            mapping[arg].name_hint = arg.name_hint
        for arg, expr in zip(compute.iterator_args, map_.results, strict=True):
            if arg.uses:
                mapping[arg] = _index(builder, map_, expr, operands)
        for op in compute.body.block.ops:
            if isinstance(op, te.YieldOp):
                break
            if isinstance(op, tensor.ExtractOp):
                indices = [mapping[index] for index in op.indices]
                load = memref.LoadOp.get(mapping[op.tensor], indices)
                mapping[op.result] = builder.insert(load).res
            else:
                builder.insert(op.clone(mapping))
        return [mapping[value] for value in compute.yielded]

    def read(
        self, builder: Builder, read: te.Read, map_: AffineMap, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """What the element at subscripts reads of an operand, or the pad outside of that."""
        return self.load(builder, read, map_, operands, is_guarded=read.pad is not None)

    def load(
        self,
        builder: Builder,
        read: te.Read,
        map_: AffineMap,
        operands: Sequence[SSAValue],
        *,
        is_guarded: bool,
        place: AffineMap | None = None,
    ) -> SSAValue:
        """Load what a read finds at subscripts, from another place of the buffer if one is given; a pad only if guarded."""
        assert read.map is not None
        map_read = read.map.compose(map_) if place is None else place
        load = loop.LoadOp(self.buffers[read.source], map_read, operands)
        guards: list[AffineExpr] = []
        if is_guarded:
            shape = tensor_type(read.source).get_shape()
            guards = guards_within(read.map.results, shape, self.compute.static_extents)
        if read.pad is None or not guards:
            return builder.insert(load).result
        pad = arith.ConstantOp(read.pad)
        inside, outside = Block([load, loop.YieldOp(load.result)]), Block([pad])
        outside.add_op(loop.YieldOp(pad.result))
        exprs = [guard.replace_dims_and_symbols(map_.results, []) for guard in guards]
        conditions = [loop.at_least_zero(expr) for expr in exprs]
        regions = Region(inside), Region(outside)
        guarded = loop.IfOp(conditions, operands, *regions, [load.result.type])
        return builder.insert(guarded).outputs[0]


def body_at(
    compute: te.ComputeOp,
    builder: Builder,
    at: Sequence[SSAValue | int],
    elements: Sequence[SSAValue],
) -> SSAValue:
    """What the body yields first at values of its iterators, some of which may be known numbers, for elements it reads."""
    known: dict[SSAValue, SSAValue] = dict(zip(compute.read_args, elements, strict=True))
    for arg, value in zip(compute.iterator_args, at, strict=True):
        if isinstance(value, SSAValue):
            known[arg] = value
        elif arg.uses:
            known[arg] = builder.insert(arith.ConstantOp(IntegerAttr(value, IndexType()))).result
    for op in compute.body.block.ops:
        if not isinstance(op, te.YieldOp):
            builder.insert(op.clone(known))
    return known[compute.yielded[0]]


def _index(
    builder: Builder, map_: AffineMap, expr: AffineExpr, operands: Sequence[SSAValue]
) -> SSAValue:
    """A subscript as a value."""
    if isinstance(expr, AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, AffineConstantExpr):
        return builder.insert(arith.ConstantOp(IntegerAttr(expr.value, IndexType()))).result
    of_one = AffineMapAttr(AffineMap(map_.num_dims, 0, (expr,)))
    return builder.insert(affine.ApplyOp(operands, of_one)).result
