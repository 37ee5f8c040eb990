"""Decides where tensors live: functions over tensors become functions over buffers, around kernels of `te`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.buffer_checks import check_kernel_buffers
from ...analysis.buffer_plan import BufferPlan, Placed, plan_buffers
from ...analysis.levels import Level
from ...analysis.movements import Box
from ...analysis.strided_views import Placing, row_major
from ...dialects import loop, te
from ...dialects.shaped import Buffer, Tensor, is_tensor, memref_type, tensor_type
from ...dialects.te.text import Number, axis_names
from ...errors import StepwellError
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_globals import ConstantGlobals
from .loose_computes import group_loose_computes


def buffer_type(type_: Tensor, placing: Placing | None = None) -> Buffer:
    """
    The type of a buffer with a tensor's elements, in row-major order or as they are placed.

    The offset stays open: kernels that differ in it alone are the same.
    """
    shape, element = type_.get_shape(), type_.get_element_type()
    if placing is None or placing.is_contiguous(shape):
        return MemRefType(element, shape)
    return MemRefType(element, shape, StridedLayoutAttr(placing.strides, None))


def bufferize(module: ModuleOp) -> None:
    """
    Give every tensor of the module's functions a place in memory, as `te-bufferize` does.

    Raises StepwellError for what is not straight-line code of kernels, computes and calls, and for open shapes.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and has_tensors(op)]
    for function in functions:
        _check_function(function)
    constants = ConstantGlobals(module)
    for function in functions:
        if function.body.blocks:
            group_loose_computes(function)
            _bufferize_body(function, constants)
            check_kernel_buffers(function)
        else:
            _bufferize_type(function)


def has_tensors(function: func.FuncOp) -> bool:
    """Whether the function takes, gives or computes tensors, those inside of kernels over buffers excepted."""
    types = (*function.function_type.inputs, *function.function_type.outputs)
    if any(isinstance(type_, TensorType) for type_ in types):
        return True
    return any(_touches_tensors(op) for block in function.body.blocks for op in block.ops)


def _touches_tensors(op: Operation) -> bool:
    """Whether the operation or one inside it has tensors as operands or results."""
    if isinstance(op, te.KernelOp):
        return any(is_tensor(value) for value in (*op.operands, *op.results))
    return any(is_tensor(v) for inner in op.walk() for v in (*inner.operands, *inner.results))


# What cannot be bufferized.


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
    for block in function.body.blocks:
        for op in block.ops:
            _check_has_buffers(op)
    function_type = function.function_type
    _check_shapes(function, (*function_type.inputs, *function_type.outputs))


def _check_has_buffers(op: Operation) -> None:
    known = te.KernelOp | te.ComputeOp | te.LoopsOp | tensor.DimOp | func.CallOp | func.ReturnOp
    is_constant = isinstance(op, arith.ConstantOp) and is_tensor(op.result)
    if not (isinstance(op, known) or is_constant) and _touches_tensors(op):
        raise StepwellError(
            f"found '{op.name}' on tensors, which te-bufferize has no buffers for; "
            "express it with te.compute",
            op=op,
        )


def _check_shapes(op: Operation, types: Sequence[Attribute]) -> None:
    for type_ in types:
        if isinstance(type_, TensorType) and not type_.has_static_shape():
            raise StepwellError(
                f"found '{op.name}' with the dynamic shape {type_}, expected static extents for "
                "te-bufferize; give the sizes as numbers",
                op=op,
            )


# Functions.


def _bufferize_type(function: func.FuncOp) -> None:
    """Tensors become buffers; those that are returned are arguments behind the others, marked as results."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    arg_attrs = _attributes_or_empty(function.arg_attrs, inputs)
    res_attrs = _attributes_or_empty(function.res_attrs, outputs)
    pairs = list(zip(outputs, res_attrs, strict=True))
    results = [pair for pair in pairs if isinstance(pair[0], TensorType)]
    scalars = [pair for pair in pairs if not isinstance(pair[0], TensorType)]
    marked = [DictionaryAttr({loop.RESULT: loop.MARK, **attrs.data}) for _, attrs in results]
    function.function_type = FunctionType.from_lists(
        [_as_buffer(type_) for type_ in (*inputs, *(type_ for type_, _ in results))],
        [type_ for type_, _ in scalars],
    )
    function.arg_attrs = ArrayAttr([*arg_attrs, *marked])
    if function.res_attrs is not None:
        function.res_attrs = ArrayAttr([attrs for _, attrs in scalars])


def _as_buffer(type_: Attribute) -> Attribute:
    return buffer_type(cast(Tensor, type_)) if isinstance(type_, TensorType) else type_


def _attributes_or_empty(
    attributes: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]
) -> Sequence[DictionaryAttr]:
    return [DictionaryAttr({})] * len(types) if attributes is None else attributes.data


def _bufferize_body(function: func.FuncOp, constants: ConstantGlobals) -> None:
    old = function.body.block
    plan = plan_buffers(old)
    _bufferize_type(function)
    block = Block(arg_types=function.function_type.inputs.data)
    body = _Body(plan, constants, block, function)
    body.convert(old)
    region = function.detach_region(function.body)
    function.add_region(Region(block))
    region.drop_all_references()


@dataclass
class _Body:
    """The function's new block while it is filled."""

    plan: BufferPlan
    constants: ConstantGlobals
    block: Block
    function: func.FuncOp
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """buffers of tensors, and the new values of others"""
    results: list[SSAValue] = field(default_factory=list[SSAValue])
    """the arguments for the results"""

    @property
    def builder(self) -> Builder:
        return Builder(InsertPoint.at_end(self.block))

    def convert(self, old: Block) -> None:
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        for before, after in zip(old.args, self.block.args, strict=False):
            self._set(before, after)
        self.results = list(self.block.args[len(old.args) :])
        returned = [value for value in terminator.operands if is_tensor(value)]
        for value, result in zip(returned, self.results, strict=True):
            result.name_hint = value.name_hint or "result"
        for op in old.ops:
            if op is not terminator:
                self._convert_op(op)
        for number, reason in self.plan.returned.items():
            message = f"result {number} is copied to the caller's array: {reason}"
            remark(self.function, message, missed=True)
            self.builder.insert(
                memref.CopyOp(self.buffer_of(returned[number]), self.results[number])
            )
        scalars = [self.values[value] for value in terminator.operands if not is_tensor(value)]
        self.builder.insert(func.ReturnOp(*scalars))

    def _set(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _convert_op(self, op: Operation) -> None:
        if isinstance(op, te.KernelOp):
            self._convert_kernel(op)
        elif isinstance(op, arith.ConstantOp) and is_tensor(op.result):
            self._set(op.result, self._global(op))
        elif isinstance(op, tensor.DimOp):
            size = memref.DimOp(self.buffer_of(op.source), self.values[op.index])
            self._set(op.result, self.builder.insert(size).result)
        elif isinstance(op, func.CallOp):
            self._convert_call(op)
        else:
            self.builder.insert(op.clone(self.values))

    def _convert_call(self, op: func.CallOp) -> None:
        inputs = [self._operand(value) for value in op.arguments]
        outputs = [self.buffer_of(value) for value in op.res if is_tensor(value)]
        scalars = [value for value in op.res if not is_tensor(value)]
        types = [value.type for value in scalars]
        call = self.builder.insert(func.CallOp(op.callee, [*inputs, *outputs], types))
        call.location = op.location
        for old, new in zip(scalars, call.res, strict=True):
            self._set(old, new)

    def _convert_kernel(self, op: te.KernelOp) -> None:
        if op in self.plan.views:
            remark(
                op, f"'{op.kernel_name.data}' moves nothing: its result is a view of its operand"
            )
            return
        placed = self.plan.placed.get(op)
        if placed is not None:
            self._finish(placed)
            return
        reason = self.plan.kept.get(op)
        if reason is not None:
            remark(op, f"'{op.kernel_name.data}' copies: {reason}", missed=True)
        inputs = [
            self._straightened(arg, value) or self._operand(value)
            for arg, value in zip(op.body.block.args, op.inputs, strict=True)
        ]
        for value in op.outputs:
            if value in self.plan.in_place:
                name = self.plan.in_place[value].name_hint
                remark(op, f"'{op.kernel_name.data}' writes its result in place of '{name}'")
        outputs = [self.buffer_of(value) for value in op.outputs]
        self._insert_kernel(op, op.kernel_name.data, inputs, outputs, op.detach_region(op.body))

    def _straightened(self, arg: BlockArgument, value: SSAValue) -> SSAValue | None:
        """The view through which a kernel reads an operand without divisions, where the plan has one."""
        found = self.plan.straightened.get(arg)
        if found is None:
            return None
        for use in [*arg.uses]:
            compute = use.operation
            assert isinstance(compute, te.ComputeOp)
            maps = [*compute.maps]
            maps[use.index] = AffineMapAttr(found.map)
            compute.maps = ArrayAttr(maps)
        type_ = TensorType(tensor_type(value).get_element_type(), found.shape)
        Rewriter.replace_value_with_new_type(arg, type_)
        box = Box((0,) * len(found.shape), found.shape)
        return self._view(value, found.home.root, box, found.home.placing)

    def _insert_kernel(
        self,
        origin: te.KernelOp,
        name: str,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        body: Region,
    ) -> None:
        """Append a kernel over these buffers, and scalars."""
        buffers = [*inputs]
        for constant in te.tensor_constants(body.block):
            # An argument, so that kernels that differ in their constants alone are equal.
            buffers.append(self._global(constant))
            inside = body.block.insert_arg(constant.result.type, len(body.block.args))
            inside.name_hint = constant.result.name_hint
            Rewriter.replace_op(constant, [], [inside])
        kernel = te.KernelOp(
            name,
            buffers,
            (),
            body,
            destinations=outputs,
            inline=origin.inline is not None,
        )
        kernel.attributes |= origin.attributes
        kernel.location = origin.location
        self.builder.insert(kernel)

    def _global(self, op: arith.ConstantOp) -> SSAValue:
        """The buffer of a constant."""
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        name = self.constants.name_of(value, op.result.name_hint or "")
        get = self.builder.insert(memref.GetGlobalOp(name, buffer_type(tensor_type(op.result))))
        get.memref.name_hint = op.result.name_hint
        return get.memref

    def _operand(self, value: SSAValue) -> SSAValue:
        return self.buffer_of(value) if is_tensor(value) else self.values[value]

    # Movements whose sources are in their places.

    def _finish(self, placed: Placed) -> None:
        """What is left of a movement: the border's values, and pieces that are elsewhere."""
        movement = placed.movement
        op, result = movement.kernel, movement.result
        name = op.kernel_name.data
        remark(op, f"'{name}': what computes its operands writes them into the result")
        home = self.plan.homes[result]
        for border in movement.borders:
            assert movement.pad is not None
            part = self._view(result, home.root, border, home.placing)
            self._insert_kernel(
                op, f"{name}_border", (), [part], _constant_body(part, movement.pad)
            )
        for piece, reason in placed.copied:
            remark(op, f"'{name}' copies a part: {reason}", missed=True)
            part = self._view(result, home.root, piece.box, home.placing)
            body = _moving_body(piece.source, piece.map, part)
            self._insert_kernel(op, f"{name}_part", [self.buffer_of(piece.source)], [part], body)

    # Buffers.

    def buffer_of(self, value: SSAValue) -> SSAValue:
        """The buffer of a tensor, made here where it is the first time that it is needed."""
        if value in self.plan.in_place:
            return self.buffer_of(self.plan.in_place[value])
        if value not in self.values:
            home = self.plan.homes[value]
            type_ = tensor_type(value)
            if home.root is value:
                alloc = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, buffer_type(type_)))
                self._set(value, alloc.buffer)
            elif isinstance(home.root, int) and self.results[home.root].type == buffer_type(
                type_, home.placing
            ):
                self.values[value] = self.results[home.root]
            else:
                whole = Box((0,) * type_.get_num_dims(), type_.get_shape())
                self.values[value] = self._view(value, home.root, whole, home.placing)
        return self.values[value]

    def _view(self, value: SSAValue, root: SSAValue | int, box: Box, placing: Placing) -> SSAValue:
        """A part of a tensor that is placed in a buffer."""
        source = self.results[root] if isinstance(root, int) else self.buffer_of(root)
        part = placing.part(box.low).normalized(box.extents)
        type_ = buffer_type(TensorType(tensor_type(value).get_element_type(), box.extents), part)
        is_plain = part.is_contiguous(box.extents)
        offsets: list[SSAValue] = []
        if not is_plain:
            constant = arith.ConstantOp(IntegerAttr(part.offset, IndexType()))
            offsets.append(self.builder.insert(constant).result)
        cast_op = memref.ReinterpretCastOp(
            source,
            offsets,
            [],
            [],
            [0 if is_plain else DYNAMIC_INDEX],
            list(box.extents),
            list(row_major(box.extents) if is_plain else part.strides),
            type_,
        )
        view = self.builder.insert(cast_op).result
        view.name_hint = value.name_hint
        return view


def _moving_body(source: SSAValue, map_: AffineMap, part: SSAValue) -> Region:
    """The body of a kernel that moves `source[map]` to a buffer."""
    inside = Block(arg_types=[source.type])
    inside.args[0].name_hint = source.name_hint
    read = te.Read(inside.args[0], map_)
    return _elements(inside, part, [read], lambda builder, elements: elements[0])


def _constant_body(part: SSAValue, value: Number) -> Region:
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


@dataclass(frozen=True)
class TeBufferizePass(StepwellPass):
    """
    Decides where each tensor lives; what moves elements becomes a view where it can.

    Arguments and results become buffers: results are trailing arguments marked `stepwell.result`, which what computes
    them writes itself. Kernels read buffers and write `into` buffers. A reshape, slice or transposition is a view of its
    source; the parts of a concatenation, the inside of a pad, and what is merged by a reshape are written in their
    place by what computes them. Arguments are never written. A copy that remains says why in a remark.
    """

    name = "te-bufferize"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bufferize(op)
