"""
te → linalg: computes as `linalg.generic` on tensors, which upstream's own tools go on with.

    %r = te.compute [%i = 4] add [%k = 8] (%a = %x[%i, %k]) : … { te.yield %a : f32 }
    → %r = linalg.generic {maps (i, k) -> (i, k) and (i), ["parallel", "reduction"]} ins(%x) outs(%zeros) { … %old + %a … }

Kernels are written out. A read with an `else` value reads what `tensor.pad` makes. Where nothing is indexed by a reduction
iterator alone, an empty tensor of its extent is one more operand, as the windows of linalg's pooling are. Marks of ours go,
among them those of unsigned arguments: upstream's integers have no signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ..analysis.levels import Level
from ..dialects import te
from ..dialects.affine_bounds import attained_range
from ..dialects.combiner import Combiner
from ..dialects.dtypes import numpy_dtype
from ..dialects.resources import tensor_elements
from ..dialects.shaped import Tensor, shape_of, tensor_type
from ..dialects.te.text import Number
from ..dialects.upstream.linalg import IndexOp
from ..errors import StepwellError
from ..transforms.stepwell_pass import StepwellPass

_MARKS = "stepwell."


class ConvertTeToLinalgPass(StepwellPass):
    """Give computes back as linalg.generic on tensors, for upstream's mlir-opt and mlir-runner."""

    name = "convert-te-to-linalg"
    level_in: ClassVar[Level] = Level.TE
    level_out: ClassVar[Level] = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bodies = [
            (function, _converted(function))
            for function in op.walk()
            if isinstance(function, func.FuncOp) and function.body.blocks
        ]
        for function, body in bodies:
            old = function.detach_region(function.body)
            function.add_region(body)
            old.drop_all_references()
            function.arg_attrs = function.res_attrs = None


def _converted(function: func.FuncOp) -> Region:
    if len(function.body.blocks) != 1:
        raise StepwellError(
            f"found {len(function.body.blocks)} blocks in '{function.sym_name.data}', expected one of straight-line "
            "code over tensors",
            op=function,
        )
    old = function.body.block
    block = Block(arg_types=[arg.type for arg in old.args])
    writer = _Writer(Builder(InsertPoint.at_end(block)))
    writer.bind(old.args, block.args)
    writer.block(old)
    return Region(block)


@dataclass
class _Writer:
    """Appends what computes become. `values` is what became of the values of the program."""

    builder: Builder
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def bind(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
        for before, after in zip(old, new, strict=True):
            after.name_hint = before.name_hint
            self.values[before] = after

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, te.KernelOp):
                self._kernel(op)
            elif isinstance(op, te.ComputeOp):
                self.bind(op.outputs, self._compute(op))
            elif isinstance(op, te.YieldOp):
                return
            elif op.dialect_name() in ("te", "loop") or op.regions:
                raise StepwellError(
                    f"found {op.name}, expected computes and kernels over tensors: linalg has no counterpart; leave the "
                    "operator out or lower the program with convert-te-to-loop",
                    op=op,
                )
            else:
                copy = self.builder.insert(op.clone(self.values))
                self.bind(op.results, copy.results)

    def _kernel(self, op: te.KernelOp) -> None:
        if op.destinations:
            raise StepwellError(
                "found a te.kernel over buffers, expected tensors; convert it before te-bufferize",
                op=op,
            )
        for arg, source in zip(op.body.block.args, op.inputs, strict=True):
            self.values[arg] = self.values[source]
        self.block(op.body.block)
        self.bind(op.outputs, [self.values[value] for value in op.yielded])

    def _compute(self, op: te.ComputeOp) -> Sequence[SSAValue]:
        extents = op.static_extents
        for value in (*op.sources, *op.outputs):
            if any(extent < 0 for extent in (*shape_of(value), *extents)):
                raise StepwellError(
                    f"found te.compute on {value.type}, expected static extents; give the numbers",
                    op=op,
                )
        if 0 in extents:
            return [self._of_nothing(op, number) for number in range(len(op.outputs))]
        operands = [self._operand(read, extents) for read in op.reads if read.map is not None]
        window = self._window(op, [map_ for _, map_ in operands])
        inputs = [*operands, *([window] if window is not None else [])]
        outputs = [value for number in range(len(op.outputs)) for value in self._inits(op, number)]
        parallel = len(op.parallel)
        result_map = AffineMap(len(extents), 0, tuple(map(AffineDimExpr, range(parallel))))
        generic = linalg.GenericOp(
            [value for value, _ in inputs],
            outputs,
            self._body(op, [value for value, _ in inputs], outputs),
            [*(AffineMapAttr(map_) for _, map_ in inputs)]
            + [AffineMapAttr(result_map)] * len(outputs),
            [IteratorTypeAttr.parallel()] * parallel
            + [IteratorTypeAttr.reduction()] * (len(extents) - parallel),
            [value.type for value in outputs],
        )
        generic.location = op.location
        self.builder.insert(generic)
        # Of an arg-reduction the value goes before its index, which is the result.
        return [part[-1] for part in op.deal(generic.results)]

    def _of_nothing(self, op: te.ComputeOp, number: int) -> SSAValue:
        """A result without elements, or of a reduction over nothing."""
        type_ = tensor_type(op.outputs[number])
        empty = self._empty(type_)
        if 0 in type_.get_shape():
            return empty
        combiner = op.combiners[number]
        zero = Combiner.ADD if combiner.is_arg else combiner
        return self._filled(type_, zero.identity(type_.get_element_type()))

    # Operands

    def _operand(self, read: te.Read, extents: Sequence[int]) -> tuple[SSAValue, AffineMap]:
        """What a read reads, padded so that its map stays inside, and cut to the loops that are its axes."""
        assert read.map is not None
        source, exprs = self.values[read.source], list(read.map.results)
        if read.pad is not None:
            source, exprs = self._padded(source, exprs, extents, read.pad)
        shape = shape_of(source)
        sizes = [
            extents[expr.position] if isinstance(expr, AffineDimExpr) else extent
            for expr, extent in zip(exprs, shape, strict=True)
        ]
        if tuple(sizes) != shape:
            cut = tensor.ExtractSliceOp.from_static_parameters(source, [0] * len(sizes), sizes)
            source = self.builder.insert(cut).result
        return source, AffineMap(len(extents), 0, tuple(exprs))

    def _padded(
        self,
        source: SSAValue,
        exprs: Sequence[AffineExpr],
        extents: Sequence[int],
        value: Number,
    ) -> tuple[SSAValue, list[AffineExpr]]:
        type_ = tensor_type(source)
        ranges = [attained_range(expr, extents) for expr in exprs]
        shape = type_.get_shape()
        low = [max(0, -least) for least, _ in ranges]
        high = [max(0, most + 1 - extent) for (_, most), extent in zip(ranges, shape, strict=True)]
        if not any((*low, *high)):
            return source, list(exprs)
        block = Block(arg_types=[IndexType()] * len(shape))
        constant = arith.ConstantOp(value)
        block.add_ops([constant, tensor.YieldOp(constant.result)])
        padded = [a + extent + b for a, extent, b in zip(low, shape, high, strict=True)]
        result = TensorType(type_.get_element_type(), padded)
        pad = tensor.PadOp(source, [], [], Region(block), low, high, result)
        shifted = [expr + amount for expr, amount in zip(exprs, low, strict=True)]
        return self.builder.insert(pad).result, shifted

    def _window(
        self, op: te.ComputeOp, maps: Sequence[AffineMap]
    ) -> tuple[SSAValue, AffineMap] | None:
        """An operand for the extents of the reduction iterators that index none alone."""
        alone = {
            expr.position for m in maps for expr in m.results if isinstance(expr, AffineDimExpr)
        }
        count = len(op.extents)
        missing = [dim for dim in range(len(op.parallel), count) if dim not in alone]
        if not missing:
            return None
        element = tensor_type(op.result).get_element_type()
        shape = [op.static_extents[dim] for dim in missing]
        value = self._empty(TensorType(element, shape))
        return value, AffineMap(count, 0, tuple(map(AffineDimExpr, missing)))

    def _inits(self, op: te.ComputeOp, number: int) -> list[SSAValue]:
        """What a result starts as: nothing, or the identity; of an arg-reduction a value and an index."""
        type_ = tensor_type(op.outputs[number])
        if not op.combiners:
            return [self._empty(type_)]
        combiner = op.combiners[number]
        element = op.terms[number][0].type
        values: Tensor = TensorType(element, type_.get_shape())
        filled = self._filled(values, combiner.identity(element))
        if not combiner.is_arg:
            return [filled]
        # Any index is less than this one, so that the first value wins even where it is the identity.
        last = Combiner.MIN.identity(type_.get_element_type())
        return [filled, self._filled(type_, last)]

    def _empty(self, type_: Tensor) -> SSAValue:
        return self.builder.insert(tensor.EmptyOp([], type_)).tensor

    def _filled(self, type_: Tensor, number: FloatAttr | IntegerAttr) -> SSAValue:
        array = np.full(type_.get_shape(), number.value.data, numpy_dtype(number.type))
        return self.builder.insert(arith.ConstantOp(tensor_elements(array))).result

    # Bodies

    def _body(
        self, op: te.ComputeOp, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]
    ) -> Region:
        block = Block(
            arg_types=[tensor_type(value).get_element_type() for value in (*inputs, *outputs)]
        )
        builder = Builder(InsertPoint.at_end(block))
        inside = dict(self.values)
        read_args = iter(block.args)
        for arg, read in zip(op.read_args, op.reads, strict=True):
            inside[arg] = self.values[read.source] if read.map is None else next(read_args)
            if read.map is not None:
                inside[arg].name_hint = arg.name_hint
        for dim, arg in enumerate(op.iterator_args):
            if arg.uses:
                index = IndexOp.create(
                    properties={"dim": IntegerAttr(dim, 64)}, result_types=[IndexType()]
                )
                inside[arg] = builder.insert(index).results[0]
        for inner in op.body.block.ops:
            if not isinstance(inner, te.YieldOp):
                copy = builder.insert(inner.clone(inside))
                _drop_marks(copy)
                inside.update(zip(inner.results, copy.results, strict=True))
        new = [inside.get(value, value) for value in op.yielded]
        if op.combiners:
            new = _combined(builder, op, new, block.args[len(inputs) :])
        builder.insert(linalg.YieldOp(*new))
        return Region(block)


def _combined(
    builder: Builder, op: te.ComputeOp, new: Sequence[SSAValue], old: Sequence[SSAValue]
) -> list[SSAValue]:
    """The terms, each joined with what its result was before."""
    joined: list[SSAValue] = []
    for combiner, before, term in zip(op.combiners, op.deal(old), op.deal(new), strict=True):
        if combiner.is_arg:
            pair = combiner.combine_arg(builder, (before[0], before[1]), (term[0], term[1]))
            joined.extend(pair)
        else:
            joined.append(combiner.combine(builder, before[0], term[0]))
    return joined


def _drop_marks(op: Operation) -> None:
    for name in [name for name in op.attributes if name.startswith(_MARKS)]:
        del op.attributes[name]
