"""How each primitive graph operation is defined element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ..dialects import graph, te
from ..dialects.dtypes import is_bool, is_unsigned, signless
from ..dialects.graph.base import number_attr, splat_number
from ..dialects.interfaces import Elementwise
from ..dialects.resources import retyped
from ..dialects.scalar import NONPOSITIVE, ScalarBuilder
from ..dialects.shaped import Tensor, shape_of, tensor_type
from ..dialects.te.text import axis_names
from .graph_to_te_maps import broadcast_indices, dims, reshape_indices

Body: TypeAlias = Callable[[Builder, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]
"""Emits a body from the iterators and the elements read; what it yields."""

OpT = TypeVar("OpT", bound=Operation)

_READ_NAMES = "abcdefgh"


@dataclass
class Emitter:
    """Where the new operations go, and what became of the old values."""

    builder: Builder
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    source: Operation | None = None
    """The operation being converted."""

    def insert(self, op: OpT) -> OpT:
        """Insert an operation at the place the source operation came from."""
        if self.source is not None:
            op.location = self.source.location
        return self.builder.insert(op)

    def read(
        self,
        value: SSAValue,
        indices: Sequence[AffineExpr] | None,
        num_iterators: int,
        pad: FloatAttr | IntegerAttr | None = None,
    ) -> te.Read:
        """A read of what became of `value`; of all of it when `indices` is None."""
        map_ = None if indices is None else AffineMap(num_iterators, 0, tuple(indices))
        return te.Read(self.values[value], map_, pad)

    def compute(
        self,
        result: Tensor,
        reads: Sequence[te.Read],
        body: Body,
        *,
        names: Sequence[str] | None = None,
        reduction: Sequence[te.Iterator] = (),
        combiner: te.Combiner | None = None,
        hint: str | None = None,
    ) -> SSAValue:
        """
        Insert a compute of this (graph-level) result type; its value.

        `names` are those of the parallel iterators. Equal reads become one.
        """
        shape = result.get_shape()
        names = axis_names(len(shape)) if names is None else names
        parallel = [te.Iterator(name, extent) for name, extent in zip(names, shape, strict=True)]
        iterators = [*parallel, *reduction]
        distinct = list(dict.fromkeys(reads))
        hints = [_READ_NAMES[n] if n < len(_READ_NAMES) else None for n in range(len(distinct))]
        block = te.compute_block(iterators, distinct, hints)
        args = block.args[len(iterators) :]
        builder = Builder(InsertPoint.at_end(block))
        elements = [args[distinct.index(read)] for read in reads]
        yielded = body(builder, block.args[: len(iterators)], elements)
        builder.insert(te.YieldOp(*yielded))
        op = te.ComputeOp(
            parallel,
            distinct,
            signless_tensor(result),
            Region(block),
            reduction=reduction,
            combiner=combiner,
        )
        op.result.name_hint = hint
        return self.insert(op).result


def signless_tensor(type_: Tensor) -> Tensor:
    """The type as it is from te down."""
    return TensorType(signless(type_.get_element_type()), type_.get_shape(), type_.encoding)


def convert_operation(op: Operation, emitter: Emitter) -> Sequence[SSAValue] | None:
    """Emit the definition of a primitive graph operation; its values, or None when there is no rule."""
    if isinstance(op, graph.ConstantOp):
        return (_convert_constant(op, emitter),)
    if isinstance(op, Elementwise):
        return (_convert_elementwise(op, emitter),)
    if isinstance(op, graph.ReductionOp):
        return (_convert_reduction(op, emitter),)
    if isinstance(op, graph.SplitOp):
        return _convert_split(op, emitter)
    rule = _RULES.get(type(op))
    return None if rule is None else (rule(op, emitter),)


def _identity(
    builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    return elements


def _hint(op: Operation) -> str:
    """The name of the result in the source, or that of the operation."""
    return op.results[0].name_hint or op.name.partition(".")[2]


def _convert_constant(op: graph.ConstantOp, emitter: Emitter) -> SSAValue:
    attr = op.value
    type_ = signless_tensor(tensor_type(op.result))
    if type_ != op.result.type:
        attr = retyped(attr, type_)
    constant = emitter.insert(arith.ConstantOp(attr, type_))
    constant.result.name_hint = op.result.name_hint
    return constant.result


def _convert_elementwise(op: Operation, emitter: Emitter) -> SSAValue:
    """A constant whose elements are all equal is a number in the body, not a tensor that is read."""
    assert isinstance(op, Elementwise)
    result = tensor_type(op.results[0])
    shape = result.get_shape()
    own = dims(len(shape))
    numbers = [splat_number(value) for value in op.operands]
    reads = [
        emitter.read(value, broadcast_indices(shape_of(value), shape, own), len(shape))
        for value, number in zip(op.operands, numbers, strict=True)
        if number is None
    ]

    def body(
        builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        remaining = iter(elements)
        args = [
            next(remaining)
            if number is None
            else ScalarBuilder(builder, tensor_type(value).get_element_type()).constant(number)
            for value, number in zip(op.operands, numbers, strict=True)
        ]
        value = op.scalar(ScalarBuilder(builder, op.body_type), *args)
        if NONPOSITIVE in op.attributes and isinstance(value.owner, math.ExpOp):
            value.owner.attributes[NONPOSITIVE] = op.attributes[NONPOSITIVE]
        return (value,)

    return emitter.compute(result, reads, body, hint=_hint(op))


def _convert_matmul(op: graph.MatmulOp, emitter: Emitter) -> SSAValue:
    """r[…, i, j] = sum over k of x[…, i, k] · y[…, k, j]; a vector has no i or j."""
    lhs, rhs, result = shape_of(op.lhs), shape_of(op.rhs), tensor_type(op.result)
    shape = result.get_shape()
    has_row, has_column = len(lhs) > 1, len(rhs) > 1
    batch_rank = len(shape) - has_row - has_column
    batch_names = ["b"] if batch_rank == 1 else [f"b{axis}" for axis in range(batch_rank)]
    names = [*batch_names, *(["i"] if has_row else []), *(["j"] if has_column else [])]
    count = len(shape) + 1
    exprs = dims(count)
    batch, inner = exprs[:batch_rank], exprs[-1]
    row = [exprs[batch_rank]] if has_row else []
    column = [exprs[-2]] if has_column else []
    x = [*broadcast_indices(lhs[:-2], shape[:batch_rank], batch), *row, inner]
    y = [*broadcast_indices(rhs[:-2], shape[:batch_rank], batch), inner, *column]

    def body(
        builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        return (ScalarBuilder(builder, result.get_element_type()).mul(*elements),)

    return emitter.compute(
        result,
        [emitter.read(op.lhs, x, count), emitter.read(op.rhs, y, count)],
        body,
        names=names,
        reduction=[te.Iterator("k", lhs[-1])],
        combiner=te.Combiner.OR if is_bool(result.get_element_type()) else te.Combiner.ADD,
        hint=_hint(op),
    )


@dataclass(frozen=True)
class _ReductionSpace:
    """The iterators of a reduction and the operand's index over them."""

    names: tuple[str, ...]
    reduction: tuple[te.Iterator, ...]
    indices: tuple[AffineExpr, ...]

    @property
    def num_iterators(self) -> int:
        return len(self.names) + len(self.reduction)

    @staticmethod
    def of(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> _ReductionSpace:
        """Every axis keeps its letter; a kept axis of extent 1 is called `u`, for unit."""
        letters = axis_names(len(shape))
        kept = [axis for axis in range(len(shape)) if keepdims or axis not in axes]
        names = [letters[a] if a not in axes else f"u{a}" if len(axes) > 1 else "u" for a in kept]
        position = {axis: kept.index(axis) for axis in kept if axis not in axes}
        position |= {axis: len(kept) + number for number, axis in enumerate(axes)}
        return _ReductionSpace(
            tuple(names),
            tuple(te.Iterator(letters[axis], shape[axis]) for axis in axes),
            tuple(AffineExpr.dimension(position[axis]) for axis in range(len(shape))),
        )


_COMBINERS: dict[type[graph.ReductionOp], te.Combiner] = {
    graph.SumOp: te.Combiner.ADD,
    graph.ProdOp: te.Combiner.MUL,
    graph.MaxOp: te.Combiner.MAX,
    graph.MinOp: te.Combiner.MIN,
}


_UNSIGNED = {te.Combiner.MAX: te.Combiner.UMAX, te.Combiner.MIN: te.Combiner.UMIN}


def _combiner(op: graph.ReductionOp, element: Attribute) -> te.Combiner:
    combiner = _COMBINERS[type(op)]
    if is_bool(element):
        return te.Combiner.OR if combiner is te.Combiner.MAX else te.Combiner.AND
    return _UNSIGNED.get(combiner, combiner) if is_unsigned(element) else combiner


def _convert_reduction(op: graph.ReductionOp, emitter: Emitter) -> SSAValue:
    type_ = tensor_type(op.operand)
    element = type_.get_element_type()
    space = _ReductionSpace.of(type_.get_shape(), op.axis_tuple, op.keepdims is not None)
    return emitter.compute(
        tensor_type(op.result),
        [emitter.read(op.operand, space.indices, space.num_iterators)],
        _identity,
        names=space.names,
        reduction=space.reduction,
        combiner=_combiner(op, element) if space.reduction else None,
        hint=_hint(op),
    )


def _bias(
    builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The top bit flipped: takes the order of unsigned numbers to that of signed ones."""
    (element,) = elements
    b = ScalarBuilder(builder, element.type)
    return (b.bit_xor(element, b.constant(1 << (b.width - 1))),)


def _convert_arg_reduction(op: graph.ArgReductionOp, emitter: Emitter) -> SSAValue:
    type_ = tensor_type(op.operand)
    element = type_.get_element_type()
    space = _ReductionSpace.of(type_.get_shape(), (op.axis.value.data,), op.keepdims is not None)

    def body(
        builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        b = ScalarBuilder(builder, element)
        value = elements[0]
        if is_bool(element):
            value = b.cast_to(value, i8)
        elif is_unsigned(element):
            (value,) = _bias(builder, iterators, elements)
        return value, b.of_type(i64).from_index(iterators[-1])

    return emitter.compute(
        tensor_type(op.result),
        [emitter.read(op.operand, space.indices, space.num_iterators)],
        body,
        names=space.names,
        reduction=space.reduction,
        combiner=te.Combiner.ARGMAX if isinstance(op, graph.ArgmaxOp) else te.Combiner.ARGMIN,
        hint=_hint(op),
    )


def _copy(
    op: Operation,
    emitter: Emitter,
    indices: Sequence[AffineExpr],
    pad: FloatAttr | IntegerAttr | None = None,
) -> SSAValue:
    """A result whose elements are the operand's at `indices`."""
    result = tensor_type(op.results[0])
    read = emitter.read(op.operands[0], indices, result.get_num_dims(), pad)
    return emitter.compute(result, [read], _identity, hint=_hint(op))


def _convert_reshape(op: Operation, emitter: Emitter) -> SSAValue:
    shape = shape_of(op.results[0])
    indices = reshape_indices(shape_of(op.operands[0]), shape, dims(len(shape)))
    return _copy(op, emitter, indices)


def _convert_broadcast(op: graph.BroadcastToOp, emitter: Emitter) -> SSAValue:
    shape = shape_of(op.result)
    return _copy(op, emitter, broadcast_indices(shape_of(op.operand), shape, dims(len(shape))))


def _convert_transpose(op: graph.TransposeOp, emitter: Emitter) -> SSAValue:
    perm = op.permutation
    return _copy(op, emitter, [AffineExpr.dimension(perm.index(a)) for a in range(len(perm))])


def _convert_slice(op: graph.SliceOp, emitter: Emitter) -> SSAValue:
    exprs = dims(len(op.bounds))
    return _copy(
        op,
        emitter,
        [expr * step + start for expr, (start, _, step) in zip(exprs, op.bounds, strict=True)],
    )


def _convert_pad(op: graph.PadOp, emitter: Emitter) -> SSAValue:
    low = op.low.get_values()
    indices = [expr - amount for expr, amount in zip(dims(len(low)), low, strict=True)]
    return _copy(op, emitter, indices, _signless_number(op.value))


def _signless_number(value: FloatAttr | IntegerAttr) -> FloatAttr | IntegerAttr:
    if isinstance(value, FloatAttr):
        return value
    type_ = cast(IntegerType, signless(value.type))
    return IntegerAttr(value.value.data, type_, truncate_bits=True)


def _convert_split(op: graph.SplitOp, emitter: Emitter) -> Sequence[SSAValue]:
    axis = op.axis.value.data
    values: list[SSAValue] = []
    for part, offset in zip(op.parts, op.offsets(), strict=True):
        result = tensor_type(part)
        indices = dims(result.get_num_dims())
        indices[axis] = indices[axis] + offset
        read = emitter.read(op.operand, indices, len(indices))
        hint = part.name_hint or "part"
        values.append(emitter.compute(result, [read], _identity, hint=hint))
    return values


def _convert_concat(op: graph.ConcatOp, emitter: Emitter) -> SSAValue:
    """
    Every input is read where the result's index falls into it (elsewhere the read gives 0, not used),
    and the index decides between them.
    """
    result = tensor_type(op.result)
    axis = op.axis.value.data
    parts = [value for value in op.inputs if shape_of(value)[axis] != 0] or op.inputs[:1]
    ends: list[int] = []
    reads: list[te.Read] = []
    offset = 0
    for value in parts:
        indices = dims(result.get_num_dims())
        indices[axis] = indices[axis] - offset
        pad = _zero(result.get_element_type()) if len(parts) > 1 else None
        reads.append(emitter.read(value, indices, len(indices), pad))
        offset += shape_of(value)[axis]
        ends.append(offset)

    def body(
        builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        chosen = elements[-1]
        for element, end in list(zip(elements, ends, strict=True))[-2::-1]:
            limit = builder.insert(arith.ConstantOp(IntegerAttr(end, IndexType())))
            inside = builder.insert(arith.CmpiOp(iterators[axis], limit, "slt"))
            chosen = builder.insert(arith.SelectOp(inside, element, chosen)).result
        return (chosen,)

    return emitter.compute(result, reads, body, hint=_hint(op))


def _zero(element: Attribute) -> FloatAttr | IntegerAttr:
    return _signless_number(number_attr(0, element))


def _convert_gather(op: graph.GatherOp, emitter: Emitter) -> SSAValue:
    result = tensor_type(op.result)
    axis, rank = op.axis.value.data, result.get_num_dims()
    extent = shape_of(op.operand)[axis]
    width = tensor_type(op.indices).get_num_dims()
    reads = [
        emitter.read(op.operand, None, rank),
        emitter.read(op.indices, dims(width, axis), rank),
    ]

    def body(
        builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        whole, chosen = elements
        b = ScalarBuilder(builder, IndexType())
        index = b.emit(arith.IndexCastOp(chosen, IndexType()))
        zero = b.constant(0)
        from_end = b.select(b.compare("lt", index, zero), b.add(index, b.constant(extent)), index)
        inside = b.minimum(b.maximum(from_end, zero), b.constant(max(extent - 1, 0)))
        position = [*iterators[:axis], inside, *iterators[axis + width :]]
        element = signless(result.get_element_type())
        return (b.emit(tensor.ExtractOp(whole, position, element)),)

    return emitter.compute(result, reads, body, hint=_hint(op))


def _convert_iota(op: graph.IotaOp, emitter: Emitter) -> SSAValue:
    result = tensor_type(op.result)

    def body(
        builder: Builder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        b = ScalarBuilder(builder, result.get_element_type())
        return (b.from_index(iterators[op.axis.value.data]),)

    return emitter.compute(result, [], body, hint=_hint(op))


_RULES: dict[type[Operation], Callable[..., SSAValue]] = {
    graph.MatmulOp: _convert_matmul,
    graph.ArgmaxOp: _convert_arg_reduction,
    graph.ArgminOp: _convert_arg_reduction,
    graph.ReshapeOp: _convert_reshape,
    graph.ExpandDimsOp: _convert_reshape,
    graph.SqueezeOp: _convert_reshape,
    graph.BroadcastToOp: _convert_broadcast,
    graph.TransposeOp: _convert_transpose,
    graph.SliceOp: _convert_slice,
    graph.PadOp: _convert_pad,
    graph.ConcatOp: _convert_concat,
    graph.GatherOp: _convert_gather,
    graph.IotaOp: _convert_iota,
}
