"""
te → loop: decides in which order elements are computed and where tensors live.

A function over tensors becomes one over buffers: results are trailing arguments marked
`stepwell.result`, tensors between kernels are `loop.alloc arena`, each `te.kernel` is a private
function. Loop order follows one rule, `choose_order` in `te_loop_order.py`: the innermost loop is the
one over which most accesses are contiguous. Kernels of several reductions and large contractions are for a
schedule to order: each compute is perfect nests of its own, in the order of its iterators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

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
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..analysis.levels import Level
from ..dialects import loop, te
from ..dialects.resources import constant_global_op
from ..dialects.shaped import Buffer, Tensor, is_tensor, tensor_type
from ..errors import StepwellError
from ..transforms.numerics import DEFAULT_FP, FpContract, fp_contract
from ..transforms.stepwell_pass import StepwellPass
from .te_nests import NestBuilder, NestGroup


def buffer_type(type_: Tensor) -> Buffer:
    """The type of the buffer that holds a tensor: the same shape, in row-major order."""
    return MemRefType(type_.get_element_type(), type_.get_shape())


@dataclass
class _ModuleConverter:
    """Converts one module; collects the globals and kernel functions it needs on the way."""

    module: ModuleOp
    fp: FpContract
    globals: dict[Attribute, str] = field(default_factory=dict[Attribute, str])
    new_ops: list[Operation] = field(default_factory=list[Operation])
    names: set[str] = field(default_factory=set[str])

    def run(self) -> None:
        self.names = {
            op.properties["sym_name"].data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            for op in self.module.ops
            if "sym_name" in op.properties
        }
        functions = [
            op for op in self.module.ops if isinstance(op, func.FuncOp) and _has_tensors(op)
        ]
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
        name = self.unique(f"constant_{hint}" if hint else "constant")
        self.new_ops.append(constant_global_op(name, value))
        self.globals[value] = name
        return name

    def _convert_function(self, function: func.FuncOp) -> func.FuncOp:
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        arg_types = [_as_buffer(type_) for type_ in inputs]
        result_types = [_as_buffer(type_) for type_ in outputs if _is_tensor_type(type_)]
        scalar_types = [type_ for type_ in outputs if not _is_tensor_type(type_)]
        new = func.FuncOp(
            function.sym_name.data,
            FunctionType.from_lists([*arg_types, *result_types], scalar_types),
            Region(),
            visibility=function.sym_visibility,
            arg_attrs=_argument_attributes(function),
            res_attrs=_scalar_result_attributes(function),
        )
        new.attributes |= function.attributes
        new.location = function.location
        if function.body.blocks:
            new.body.add_block(self._convert_body(function, [*arg_types, *result_types]))
        return new

    def _convert_body(self, function: func.FuncOp, arg_types: Sequence[Attribute]) -> Block:
        old = function.body.block
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        block = Block(arg_types=arg_types)
        body = _BodyConverter(self, function.sym_name.data, Builder(InsertPoint.at_end(block)))
        for old_arg, new_arg in zip(old.args, block.args, strict=False):
            new_arg.name_hint = old_arg.name_hint
            body.values[old_arg] = new_arg
        body.convert_block(old, terminator, block.args[len(old.args) :])
        return block


def _is_tensor_type(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


def _as_buffer(type_: Attribute) -> Attribute:
    return buffer_type(cast(Tensor, type_)) if isinstance(type_, TensorType) else type_


def _touches_tensors(op: Operation) -> bool:
    """Whether the operation or one inside it has tensors as operands or results."""
    return any(is_tensor(v) for inner in op.walk() for v in (*inner.operands, *inner.results))


def _has_tensors(function: func.FuncOp) -> bool:
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return any(_is_tensor_type(type_) for type_ in types) or _touches_tensors(function)


def _check_function(function: func.FuncOp) -> None:
    if len(function.body.blocks) > 1:
        raise StepwellError(
            f"found {len(function.body.blocks)} blocks in '{function.sym_name.data}', expected one, of "
            "straight-line code over tensors; express the branch with te.compute",
            op=function,
        )
    for op in function.walk():
        if op.dialect_name() == "graph":
            raise StepwellError(
                f"found '{op.name}', expected only te operations; run convert-graph-to-te first",
                op=op,
            )
        _check_shapes(op, [value.type for value in (*op.operands, *op.results)])
    function_type = function.function_type
    _check_shapes(function, (*function_type.inputs, *function_type.outputs))


def _check_shapes(op: Operation, types: Sequence[Attribute]) -> None:
    for type_ in types:
        if isinstance(type_, TensorType) and not type_.has_static_shape():
            raise StepwellError(
                f"found '{op.name}' with the dynamic shape {type_}, expected static extents for "
                "convert-te-to-loop; give the sizes as numbers",
                op=op,
            )


def _argument_attributes(function: func.FuncOp) -> ArrayAttr[DictionaryAttr]:
    """The attributes of the old arguments, then those of the tensor results with the result mark."""
    old = _attributes_or_empty(function.arg_attrs, function.function_type.inputs)
    results = _attributes_or_empty(function.res_attrs, function.function_type.outputs)
    marked = [
        DictionaryAttr({loop.RESULT: loop.MARK, **attrs.data})
        for attrs, type_ in zip(results, function.function_type.outputs, strict=True)
        if _is_tensor_type(type_)
    ]
    return ArrayAttr([*old, *marked])


def _scalar_result_attributes(function: func.FuncOp) -> ArrayAttr[DictionaryAttr] | None:
    if function.res_attrs is None:
        return None
    outputs = zip(function.res_attrs, function.function_type.outputs, strict=True)
    return ArrayAttr([attrs for attrs, type_ in outputs if not _is_tensor_type(type_)])


def _attributes_or_empty(
    attributes: ArrayAttr[DictionaryAttr] | None, types: ArrayAttr[Attribute]
) -> Sequence[DictionaryAttr]:
    return [DictionaryAttr({})] * len(types) if attributes is None else attributes.data


@dataclass
class _BodyConverter:
    """Converts the straight-line code of the function or kernel `symbol` into a block over buffers."""

    module: _ModuleConverter
    symbol: str
    builder: Builder
    is_kernel: bool = False
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def convert_block(
        self, block: Block, terminator: Operation, outputs: Sequence[SSAValue]
    ) -> None:
        """Convert all operations; the tensors the terminator returns end up in `outputs`."""
        self._place_results(terminator, outputs)
        computes = [op for op in block.ops if isinstance(op, te.ComputeOp)]
        anchors = sum(compute.combining is not None for compute in computes)
        apart = self.is_kernel and anchors > 1
        nests = NestBuilder(self.builder, self.values, self.module.fp, apart=apart)
        pending: list[te.ComputeOp] = []
        for op in block.ops:
            if isinstance(op, te.ComputeOp):
                pending.append(op)
                continue
            self._flush(pending, nests)
            self._convert_op(op, terminator)
        self._copy_results(terminator, outputs)
        scalars = [self.values[v] for v in terminator.operands if not is_tensor(v)]
        self.builder.insert(func.ReturnOp(*scalars))

    def _place_results(self, terminator: Operation, outputs: Sequence[SSAValue]) -> None:
        """Let what defines a returned tensor write straight into the result buffer."""
        tensors = [v for v in terminator.operands if is_tensor(v)]
        for value, output in zip(tensors, outputs, strict=True):
            output.name_hint = value.name_hint if value.name_hint else "result"
            computed = isinstance(value.owner, te.ComputeOp | te.KernelOp | func.CallOp)
            if computed and value not in self.values:
                self.values[value] = output

    def _copy_results(self, terminator: Operation, outputs: Sequence[SSAValue]) -> None:
        tensors = [v for v in terminator.operands if is_tensor(v)]
        for value, output in zip(tensors, outputs, strict=True):
            if self.values[value] is not output:
                self.builder.insert(memref.CopyOp(self.values[value], output))

    def _flush(self, pending: list[te.ComputeOp], nests: NestBuilder) -> None:
        groups = nests.plan(pending)
        if any(group.is_apart for group in groups):
            self._prepare(groups, nests)
        for group in groups:
            for compute in group.materialized:
                self._buffer_for(compute.result)
            nests.build(group)
        pending.clear()

    def _prepare(self, groups: Sequence[NestGroup], nests: NestBuilder) -> None:
        """
        Buffers first, so that nests follow one another; of several, loops are named after their buffer.
        """
        for group in groups:
            for compute in group.materialized:
                self._buffer_for(compute.result)
        if len(groups) == 1:
            return
        names = _printed_names(self.builder.insertion_point.block)
        for group in groups:
            buffer = self.values.get(group.anchor.result)
            name = names.get(buffer) if buffer is not None else group.anchor.result.name_hint
            nests.prefixes[group.anchor] = f"{name}." if name else ""

    def _buffer_for(self, value: SSAValue) -> SSAValue:
        if value not in self.values:
            type_ = buffer_type(tensor_type(value))
            alloc = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, type_))
            alloc.buffer.name_hint = value.name_hint
            self.values[value] = alloc.buffer
        return self.values[value]

    def _convert_op(self, op: Operation, terminator: Operation) -> None:
        if op is terminator:
            return
        if isinstance(op, te.KernelOp):
            self._convert_kernel(op)
        elif isinstance(op, arith.ConstantOp) and is_tensor(op.result):
            self._convert_constant(op)
        elif isinstance(op, tensor.DimOp):
            size = memref.DimOp(self.values[op.source], self.values[op.index])
            self._set(op.result, self.builder.insert(size).result)
        elif isinstance(op, func.CallOp):
            self._convert_call(op)
        elif _touches_tensors(op):
            raise StepwellError(
                f"found '{op.name}' on tensors, which convert-te-to-loop has no lowering for; "
                "express it with te.compute",
                op=op,
            )
        else:
            self.builder.insert(op.clone(self.values))

    def _set(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _convert_call(self, op: func.CallOp) -> None:
        inputs = [self.values[value] for value in op.arguments]
        outputs = [self._buffer_for(value) for value in op.res if is_tensor(value)]
        scalars = [value for value in op.res if not is_tensor(value)]
        types = [value.type for value in scalars]
        call = self.builder.insert(func.CallOp(op.callee, [*inputs, *outputs], types))
        for old, new in zip(scalars, call.res, strict=True):
            self._set(old, new)

    def _convert_constant(self, op: arith.ConstantOp) -> None:
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        name = self.module.global_for(value, op.result.name_hint or "")
        get = self.builder.insert(memref.GetGlobalOp(name, buffer_type(tensor_type(op.result))))
        self._set(op.result, get.memref)

    def _convert_kernel(self, op: te.KernelOp) -> None:
        # With a dot in it, so that it is not the name of a C function, which code may call.
        name = self.module.unique(f"{self.symbol}.{op.kernel_name.data}")
        outputs = [self._buffer_for(value) for value in op.outputs]
        inputs = [self.values[value] for value in op.inputs]
        block = Block(arg_types=[value.type for value in (*inputs, *outputs)])
        builder = Builder(InsertPoint.at_end(block))
        body = _BodyConverter(self.module, name, builder, is_kernel=True)
        for old, new in zip(op.body.block.args, block.args, strict=False):
            new.name_hint = old.name_hint
            body.values[old] = new
        terminator = op.body.block.last_op
        assert terminator is not None
        body.convert_block(op.body.block, terminator, block.args[len(inputs) :])
        attributes = [DictionaryAttr({})] * len(inputs)
        attributes += [DictionaryAttr({loop.RESULT: loop.MARK})] * len(outputs)
        function = func.FuncOp(
            name,
            FunctionType.from_lists([arg.type for arg in block.args], []),
            Region(block),
            visibility="private",
            arg_attrs=ArrayAttr(attributes),
        )
        function.attributes |= op.attributes
        function.location = op.location
        self.module.new_ops.append(function)
        self.builder.insert(func.CallOp(name, [*inputs, *outputs], []))


def _printed_names(block: Block) -> dict[SSAValue, str]:
    """The names with which the values that the block defines are printed: all but the first get a number."""
    count: Counter[str] = Counter()
    names: dict[SSAValue, str] = {}
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        hint = value.name_hint
        if hint:
            names[value] = f"{hint}_{count[hint]}" if count[hint] else hint
            count[hint] += 1
    return names


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

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _ModuleConverter(op, fp_contract(self.fp)).run()
        for function in op.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                loop.name_apart(function)
