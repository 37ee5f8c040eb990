"""
te → loop: decides in which order elements are computed and where tensors live.

A function over tensors becomes one over buffers: results are trailing arguments marked
`stepwell.result`, tensors between kernels are `loop.alloc arena`, each `te.kernel` is a private
function. Loop order follows one rule, `choose_order` in `te_loop_order.py`: the innermost loop is the
one over which most accesses are contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..analysis.levels import Level
from ..dialects import loop, te
from ..dialects.resources import retyped
from ..errors import StepwellError
from ..transforms.stepwell_pass import StepwellPass
from .te_nests import FpMode, NestBuilder, fp_mode


def buffer_type(type_: TensorType) -> MemRefType:
    """The type of the buffer that holds a tensor: the same shape, in row-major order."""
    return MemRefType(type_.get_element_type(), type_.get_shape())


@dataclass
class _ModuleConverter:
    """Converts one module; collects the globals and kernel functions it needs on the way."""

    module: ModuleOp
    fp: FpMode
    globals: dict[Attribute, str] = field(default_factory=dict[Attribute, str])
    new_ops: list[Operation] = field(default_factory=list[Operation])
    names: set[str] = field(default_factory=set[str])

    def run(self) -> None:
        self.names = {
            op.properties["sym_name"].data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            for op in self.module.ops
            if "sym_name" in op.properties
        }
        functions = [op for op in self.module.ops if isinstance(op, func.FuncOp)]
        for function in functions:
            _check_function(function)
        converted = [self._convert_function(function) for function in functions]
        block = self.module.body.block
        for function in functions:
            function.detach()
            function.erase()
        block.add_ops([*self.new_ops, *converted])

    def unique(self, name: str) -> str:
        candidate, number = name, 0
        while candidate in self.names:
            number += 1
            candidate = f"{name}_{number}"
        self.names.add(candidate)
        return candidate

    def global_for(self, value: DenseIntOrFPElementsAttr | DenseResourceAttr, hint: str) -> str:
        """The symbol of a global holding the constant; equal constants share one."""
        known = self.globals.get(value)
        if known is not None:
            return known
        assert isinstance(value.type, TensorType)
        name = self.unique(f"constant_{hint}" if hint else "constant")
        type_ = buffer_type(value.type)
        contents = (
            DenseIntOrFPElementsAttr(value.type, value.data)
            if isinstance(value, DenseIntOrFPElementsAttr)
            else retyped(value, value.type)
        )
        self.new_ops.append(
            memref.GlobalOp.get(
                StringAttr(name),
                type_,
                contents,
                sym_visibility=StringAttr("private"),
                constant=UnitAttr(),
            )
        )
        self.globals[value] = name
        return name

    def _convert_function(self, function: func.FuncOp) -> func.FuncOp:
        if not function.body.blocks:
            return function.clone()
        old = function.body.block
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        arg_types = [_argument_type(arg.type) for arg in old.args]
        result_types = [buffer_type(v.type) for v in terminator.operands if _is_tensor(v)]
        scalar_types = [v.type for v in terminator.operands if not _is_tensor(v)]
        block = Block(arg_types=[*arg_types, *result_types])
        body = _BodyConverter(self, Builder(InsertPoint.at_end(block)))
        for old_arg, new_arg in zip(old.args, block.args, strict=False):
            new_arg.name_hint = old_arg.name_hint
            body.values[old_arg] = new_arg
        outputs = block.args[len(arg_types) :]
        body.convert_block(old, terminator, outputs)
        return func.FuncOp(
            function.sym_name.data,
            FunctionType.from_lists([*arg_types, *result_types], scalar_types),
            Region(block),
            visibility=function.sym_visibility,
            arg_attrs=_argument_attributes(function, len(arg_types), len(result_types)),
        )


def _is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def _argument_type(type_: Attribute) -> Attribute:
    return buffer_type(type_) if isinstance(type_, TensorType) else type_


def _check_function(function: func.FuncOp) -> None:
    if len(function.body.blocks) > 1:
        raise StepwellError(
            f"function '{function.sym_name.data}' has {len(function.body.blocks)} blocks, expected "
            "straight-line code over tensors; express the branch with te.compute",
            op=function,
        )
    for op in function.body.ops:
        if op.dialect_name() == "graph":
            raise StepwellError(
                f"found '{op.name}', expected only te operations; run convert-graph-to-te first",
                op=op,
            )
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and not value.type.has_static_shape():
                raise StepwellError(
                    f"'{op.name}' has the dynamic shape {value.type}, but convert-te-to-loop needs "
                    "static extents; give the sizes as numbers",
                    op=op,
                )


def _argument_attributes(
    function: func.FuncOp, inputs: int, results: int
) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of the old arguments, then those of the results with the result mark."""
    empty = DictionaryAttr({})
    old = list(function.arg_attrs) if function.arg_attrs is not None else [empty] * inputs
    if function.res_attrs is None:
        result_attrs = [empty] * results
    else:
        result_attrs = [
            attrs
            for attrs, type_ in zip(
                function.res_attrs, function.function_type.outputs.data, strict=True
            )
            if isinstance(type_, TensorType)
        ]
    marked = [DictionaryAttr({loop.RESULT: loop.MARK, **attrs.data}) for attrs in result_attrs]
    if not any(attrs.data for attrs in (*old, *marked)):
        return None
    return ArrayAttr([*old, *marked])


@dataclass
class _BodyConverter:
    """Converts the straight-line code of one function or kernel into a block over buffers."""

    module: _ModuleConverter
    builder: Builder
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def convert_block(
        self, block: Block, terminator: Operation, outputs: Sequence[SSAValue]
    ) -> None:
        """Convert all operations; the tensors the terminator returns end up in `outputs`."""
        self._place_results(terminator, outputs)
        nests = NestBuilder(self.builder, self.values, self.module.fp)
        pending: list[te.ComputeOp] = []
        for op in block.ops:
            if isinstance(op, te.ComputeOp):
                pending.append(op)
                continue
            self._flush(pending, nests)
            self._convert_op(op, terminator)
        self._copy_results(terminator, outputs)
        scalars = [self.values[v] for v in terminator.operands if not _is_tensor(v)]
        self.builder.insert(func.ReturnOp(*scalars))

    def _place_results(self, terminator: Operation, outputs: Sequence[SSAValue]) -> None:
        """Let what defines a returned tensor write straight into the result buffer."""
        tensors = [v for v in terminator.operands if _is_tensor(v)]
        for value, output in zip(tensors, outputs, strict=True):
            output.name_hint = value.name_hint if value.name_hint else "result"
            if isinstance(value.owner, te.ComputeOp | te.KernelOp) and value not in self.values:
                self.values[value] = output

    def _copy_results(self, terminator: Operation, outputs: Sequence[SSAValue]) -> None:
        tensors = [v for v in terminator.operands if _is_tensor(v)]
        for value, output in zip(tensors, outputs, strict=True):
            if self.values[value] is not output:
                self.builder.insert(memref.CopyOp(self.values[value], output))

    def _flush(self, pending: list[te.ComputeOp], nests: NestBuilder) -> None:
        for group in nests.plan(pending):
            for compute in group.materialized:
                self._buffer_for(compute.result)
            nests.build(group)
        pending.clear()

    def _buffer_for(self, value: SSAValue) -> SSAValue:
        if value not in self.values:
            assert isinstance(value.type, TensorType)
            alloc = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, buffer_type(value.type)))
            alloc.buffer.name_hint = value.name_hint
            self.values[value] = alloc.buffer
        return self.values[value]

    def _convert_op(self, op: Operation, terminator: Operation) -> None:
        if op is terminator:
            return
        if isinstance(op, te.KernelOp):
            self._convert_kernel(op)
        elif isinstance(op, arith.ConstantOp) and _is_tensor(op.result):
            self._convert_constant(op)
        elif isinstance(op, tensor.DimOp):
            new = self.builder.insert(
                memref.DimOp.from_source_and_index(self.values[op.source], self.values[op.index])
            )
            self.values[op.result] = new.result
        elif any(_is_tensor(v) for v in (*op.operands, *op.results)):
            raise StepwellError(
                f"convert-te-to-loop has no lowering for '{op.name}' on tensors; "
                "express it with te.compute",
                op=op,
            )
        else:
            self.builder.insert(op.clone(self.values))

    def _convert_constant(self, op: arith.ConstantOp) -> None:
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        assert isinstance(op.result.type, TensorType)
        name = self.module.global_for(value, op.result.name_hint or "")
        get = self.builder.insert(memref.GetGlobalOp(name, buffer_type(op.result.type)))
        get.memref.name_hint = op.result.name_hint
        self.values[op.result] = get.memref

    def _convert_kernel(self, op: te.KernelOp) -> None:
        name = self.module.unique(op.kernel_name.data)
        outputs = [self._buffer_for(value) for value in op.outputs]
        inputs = [self.values[value] for value in op.inputs]
        block = Block(arg_types=[value.type for value in (*inputs, *outputs)])
        body = _BodyConverter(self.module, Builder(InsertPoint.at_end(block)))
        for old, new in zip(op.body.block.args, block.args, strict=False):
            new.name_hint = old.name_hint
            body.values[old] = new
        terminator = op.body.block.last_op
        assert terminator is not None
        body.convert_block(op.body.block, terminator, block.args[len(inputs) :])
        attributes = [DictionaryAttr({})] * len(inputs)
        attributes += [DictionaryAttr({loop.RESULT: loop.MARK})] * len(outputs)
        self.module.new_ops.append(
            func.FuncOp(
                name,
                FunctionType.from_lists([arg.type for arg in block.args], []),
                Region(block),
                visibility="private",
                arg_attrs=ArrayAttr(attributes),
            )
        )
        self.builder.insert(func.CallOp(name, [*inputs, *outputs], []))


@dataclass(frozen=True)
class ConvertTeToLoopPass(StepwellPass):
    """
    Gives each tensor a buffer and each compute a loop nest; kernels become functions.

    `fp` is the numerical contract: `strict` keeps the order of every sum; `contract` (default) lets
    reductions be reassociated and multiply-adds be fused; `fast` allows all of LLVM's fast-math flags.
    """

    name = "convert-te-to-loop"
    level_in = Level.TE
    level_out = Level.LOOP
    numerics = "reassociates"

    fp: str = "contract"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _ModuleConverter(op, fp_mode(self.fp)).run()
