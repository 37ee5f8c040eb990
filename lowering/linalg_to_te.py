"""
linalg, tensor → te: what mlir-opt prints of programs on tensors becomes computes.

Structured operations go by their maps and bodies (structured_to_te.py); operations of `tensor` by the operation of the graph
level that means the same (tensor_to_te.py); `arith` and `math` on tensors element by element. Shapes are those of the operands at te, so
that casts to `?` and back leave nothing. A result that starts as `tensor.empty` is not read; where a program does
read one, its elements are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from ..analysis.levels import Level
from ..dialects.combiner import Combiner
from ..dialects.dtypes import is_element_type, is_float, signless
from ..dialects.scalar import ScalarBuilder
from ..dialects.shaped import Tensor, is_tensor, shape_of, tensor_type
from ..dialects.te import ComputeOp, Iterator
from ..dialects.te.builder import Access, TeBuilder
from ..dialects.te.index_maps import dims
from ..dialects.te.text import axis_names
from ..dialects.upstream.linalg import SoftmaxOp
from ..errors import StepwellError
from ..transforms.stepwell_pass import StepwellPass
from ..transforms.unused import erase_unused_in
from .structured_to_te import structured_to_te
from .tensor_to_te import TENSOR_CONVERSIONS


class ConvertLinalgToTePass(StepwellPass):
    """Define linalg, tensor and elementwise operations on tensors element by element."""

    name = "convert-linalg-to-te"
    level_in: ClassVar[Level] = Level.TE
    level_out: ClassVar[Level] = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bodies = [
            (function, _converted(function))
            for function in op.walk()
            if isinstance(function, func.FuncOp) and _has_tensors(function)
        ]
        for function, body in bodies:
            old = function.detach_region(function.body)
            function.add_region(body)
            old.drop_all_references()


def _has_tensors(function: func.FuncOp) -> bool:
    return any(is_upstream(op) for op in function.walk())


def is_upstream(op: Operation) -> bool:
    """Whether an operation is one that this pass is for, outside of the bodies of te."""
    if isinstance(op, arith.ConstantOp | ComputeOp):
        return False
    dialect = op.dialect_name()
    if dialect in ("linalg", "tensor"):
        return not isinstance(op, tensor.ExtractOp) or not isinstance(op.parent_op(), ComputeOp)
    return dialect in ("arith", "math") and any(map(is_tensor, op.results))


def _converted(function: func.FuncOp) -> Region:
    """The body of a function at te. Raises StepwellError."""
    if len(function.body.blocks) != 1:
        raise StepwellError(
            f"found {len(function.body.blocks)} blocks in '{function.sym_name.data}', expected one of straight-line "
            "code over tensors; express branches with arith.select",
            op=function,
        )
    old = function.body.block
    block = Block(arg_types=[arg.type for arg in old.args])
    te = TeBuilder(Builder(InsertPoint.at_end(block)))
    for before, after in zip(old.args, block.args, strict=True):
        after.name_hint = before.name_hint
        after.location = before.location
        te.values[before] = after
        _check_type(function, before.type)
    for op in old.ops:
        te.source = op
        for before, after in zip(op.results, _convert(op, te), strict=True):
            te.values[before] = after
    # What only tensors were needed for that are not read: results that are overwritten, and their numbers.
    erase_unused_in(block)
    return Region(block)


def _check_type(op: Operation, type_: Attribute) -> None:
    if not isinstance(type_, TensorType):
        return
    found = cast(Tensor, type_)
    if DYNAMIC_INDEX in found.get_shape():
        raise StepwellError(
            f"found {type_}, expected static extents: te has no tensors of '?'; give the extents",
            op=op,
        )
    element = found.get_element_type()
    if not is_element_type(element) or signless(element) != element:
        raise StepwellError(
            f"found elements of {element}, expected floats or signless integers of 8 to 64 bits or i1; cast them",
            op=op,
        )


def _convert(op: Operation, te: TeBuilder) -> Sequence[SSAValue]:
    """What becomes of the results of an operation. Raises StepwellError."""
    try:
        values = _values_of(op, te)
    except VerifyException as error:
        raise StepwellError(str(error), op=op) from error
    for value in values:
        _check_type(op, value.type)
    return values


def _values_of(op: Operation, te: TeBuilder) -> Sequence[SSAValue]:
    if isinstance(op, LinalgStructuredOperation):
        return structured_to_te(op, te)
    if isinstance(op, SoftmaxOp):
        return [_softmax(op, te)]
    if type(op) in TENSOR_CONVERSIONS:
        return [TENSOR_CONVERSIONS[type(op)](op, te)]
    if op.dialect_name() in ("linalg", "tensor"):
        raise StepwellError(
            f"found {op.name}, which convert-linalg-to-te has no definition for, expected another operation; express "
            "it with linalg.generic",
            op=op,
        )
    if op.dialect_name() in ("arith", "math") and any(map(is_tensor, op.results)):
        return op.results and [_elementwise(op, te)]
    if op.regions and any(is_upstream(inner) for inner in op.walk()):
        raise StepwellError(
            f"found operations on tensors inside {op.name}, expected straight-line code; unroll it, or write the branch "
            "with arith.select",
            op=op,
        )
    copy = te.insert(op.clone(te.values))
    for before, after in zip(op.results, copy.results, strict=True):
        after.name_hint = before.name_hint
    return copy.results


# Elementwise operations on tensors


def _elementwise(op: Operation, te: TeBuilder) -> SSAValue:
    """`arith.addf %a, %b : tensor<…>`, and `arith.constant dense<…>`, which te has as it is."""
    if isinstance(op, arith.ConstantOp):
        return te.insert(op.clone()).result
    operands = [te.values[value] for value in op.operands]
    result = _as_element_of(op.results[0].type, next(filter(is_tensor, operands)))
    index = dims(result.get_num_dims())
    accesses = [Access(value, index) for value in operands if is_tensor(value)]

    def body(
        b: ScalarBuilder, indices: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> SSAValue:
        read = iter(elements)
        args = [next(read) if is_tensor(value) else value for value in operands]
        scalar = type(op).create(
            operands=args,
            result_types=[result.get_element_type()],
            properties=op.properties,
            attributes=op.attributes,
        )
        return b.emit(scalar)

    return te.compute(result, accesses, body)


def _as_element_of(type_: Attribute, like: SSAValue) -> Tensor:
    """The type with the extents that an operand has at te."""
    return TensorType(cast(Tensor, type_).get_element_type(), shape_of(like))


def _softmax(op: SoftmaxOp, te: TeBuilder) -> SSAValue:
    """exp(x - max) / sum: four computes, the maximum subtracted so that nothing overflows."""
    x = te.values[op.input]
    type_, axis = tensor_type(x), op.dimension.value.data
    if not is_float(type_.get_element_type()):
        raise StepwellError(
            f"found elements of {type_.get_element_type()}, expected floats; cast them", op=op
        )
    shape = type_.get_shape()
    whole = dims(len(shape))
    row = [expr for n, expr in enumerate(whole) if n != axis]
    rows: Tensor = TensorType(
        type_.get_element_type(), [e for n, e in enumerate(shape) if n != axis]
    )

    def reduced(source: SSAValue, combiner: Combiner) -> SSAValue:
        names = axis_names(len(shape))
        outer = dims(len(shape) - 1)
        index = [*outer[:axis], dims(1, len(shape) - 1)[0], *outer[axis:]]
        along = [Iterator(names[-1], shape[axis])]
        return te.compute(
            rows, [Access(source, index)], names=names[:-1], reduction=along, combiner=combiner
        )

    top = reduced(x, Combiner.MAX)
    powers = te.compute(
        type_,
        [Access(x, whole), Access(top, row)],
        lambda b, _, e: b.exp(b.sub(e[0], e[1]), is_nonpositive=True),
    )
    total = reduced(powers, Combiner.ADD)
    return te.compute(
        type_, [Access(powers, whole), Access(total, row)], lambda b, _, e: b.div(e[0], e[1])
    )
