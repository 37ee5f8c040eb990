"""Fills a block over buffers with what the operations of a block over tensors become, by a plan of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.buffer_plan import BufferPlan, Placed, Surroundings
from ...analysis.constants import is_constant_argument
from ...analysis.movements import Box
from ...analysis.strided_views import Placing
from ...dialects import loop, te
from ...dialects.leaf_operations import append_leaf, copy_of, inserted, leaf
from ...dialects.shaped import is_tensor, tensor_type
from ..remarks import remark
from .constant_globals import ConstantGlobals
from .moving_kernels import constant_body, moving_body
from .places import Place, buffer_type


@dataclass
class BodyBufferizer:
    """A new block over buffers while it is filled with what a block over tensors becomes."""

    plan: BufferPlan
    constants: ConstantGlobals
    block: Block
    function: func.FuncOp
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """buffers of tensors, and the new values of others"""
    results: list[Place] = field(default_factory=list[Place])
    """where the results go"""
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    """where tensors are that enter a region"""
    around: Surroundings = field(default_factory=Surroundings)
    step: SSAValue | None = None
    """the number of the step, in the body of a loop that counts them"""

    @property
    def builder(self) -> Builder:
        return Builder(InsertPoint.at_end(self.block))

    def convert_function(self, old: Block) -> None:
        """Fill the block with what a function's block becomes."""
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        for before, after in zip(old.args, self.block.args, strict=False):
            self._set(before, after)
        results = self.block.args[len(old.args) :]
        self.results = [Place(result) for result in results]
        returned = [value for value in terminator.operands if is_tensor(value)]
        for value, result in zip(returned, results, strict=True):
            result.name_hint = value.name_hint or "result"
        self.convert_ops(old)
        for number, reason in self.plan.returned.items():
            message = f"result {number} is copied to the caller's array: {reason}"
            remark(self.function, message, missed=True)
            self.copy(self.buffer_of(returned[number]), results[number])
        scalars = [self.values[value] for value in terminator.operands if not is_tensor(value)]
        append_leaf(self.block, leaf(func.ReturnOp, scalars))

    def convert_ops(self, old: Block) -> None:
        """Append what the operations of a block become, but for the last."""
        for op in old.ops:
            if op is not old.last_op:
                self.convert_op(op)

    def copy(self, source: SSAValue, destination: SSAValue) -> None:
        """Append a copy between buffers of one shape."""
        inserted(self.builder, memref.CopyOp(source, destination))

    def _set(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def convert_op(self, op: Operation) -> None:
        if isinstance(op, te.KernelOp):
            self._convert_kernel(op)
        elif isinstance(op, arith.ConstantOp) and is_tensor(op.result):
            self._set(op.result, self._global(op))
        elif isinstance(op, tensor.DimOp):
            size = memref.DimOp(self.buffer_of(op.source), self.values[op.index])
            self._set(op.result, inserted(self.builder, size).result)
        elif isinstance(op, func.CallOp):
            self._convert_call(op)
        else:
            inserted(self.builder, copy_of(op, self.values))

    def _convert_call(self, op: func.CallOp) -> None:
        inputs = [self._operand(value) for value in op.arguments]
        outputs = [self.buffer_of(value) for value in op.res if is_tensor(value)]
        scalars = [value for value in op.res if not is_tensor(value)]
        types = [value.type for value in scalars]
        call = inserted(self.builder, func.CallOp(op.callee, [*inputs, *outputs], types))
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
            if value in self.plan.apart:
                reason = self.plan.apart[value]
                remark(op, f"'{op.kernel_name.data}' is not in place: {reason}", missed=True)
        outputs = [self.buffer_of(value) for value in op.outputs]
        name, body = op.kernel_name.data, op.detach_region(op.body)
        needed = op.attributes.get(loop.NEEDED) if self.step is not None else None
        if self.step is not None and needed is not None:
            inputs.append(self.step)
            body.block.insert_arg(IndexType(), len(body.block.args)).name_hint = "step"
        given = [n for n, value in enumerate(op.inputs) if is_constant_argument(value)]
        kernel = self._insert_kernel(op, name, inputs, outputs, body, given)
        if needed is not None:
            kernel.attributes[loop.NEEDED] = needed

    def _straightened(self, arg: BlockArgument, value: SSAValue) -> SSAValue | None:
        """The view through which a kernel reads an operand without divisions, where the plan has one."""
        found = self.plan.straightened.get(arg)
        if found is None or is_constant_argument(value):
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
        given: Sequence[int] = (),
    ) -> te.KernelOp:
        """
        Append a kernel over these buffers, and scalars; all that it writes is needed.

        Operands of these numbers are constants that the function is given: they are where constants of a kernel are.
        """
        buffers = [*inputs]
        for constant in te.tensor_constants(body.block):
            # An argument, so that kernels that differ in their constants alone are equal.
            buffers.append(self._global(constant))
            inside = body.block.insert_arg(constant.result.type, len(body.block.args))
            inside.name_hint = constant.result.name_hint
            Rewriter.replace_op(constant, [], [inside])
        _put_last(body.block, buffers, given)
        kernel = te.KernelOp(
            name,
            buffers,
            (),
            body,
            destinations=outputs,
            inline=origin.inline is not None,
        )
        kernel.attributes |= origin.attributes
        kernel.attributes.pop(loop.NEEDED, None)
        kernel.location = origin.location
        return inserted(self.builder, kernel)

    def _global(self, op: arith.ConstantOp) -> SSAValue:
        """The buffer of a constant."""
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        name = self.constants.name_of(value, op.result.name_hint or "")
        type_ = buffer_type(tensor_type(op.result))
        get = leaf(memref.GetGlobalOp, (), (type_,), {"name": SymbolRefAttr(name)})
        inserted(self.builder, get)
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
            self._insert_kernel(op, f"{name}_border", (), [part], constant_body(part, movement.pad))
        for piece, reason in placed.copied:
            remark(op, f"'{name}' copies a part: {reason}", missed=True)
            part = self._view(result, home.root, piece.box, home.placing)
            body = moving_body(piece.source, piece.map, part)
            self._insert_kernel(op, f"{name}_part", [self.buffer_of(piece.source)], [part], body)

    # Buffers.

    def buffer_of(self, value: SSAValue) -> SSAValue:
        """The buffer of a tensor, made here where it is the first time that it is needed."""
        if value in self.plan.in_place:
            return self.buffer_of(self.plan.in_place[value])
        if value not in self.values:
            home, type_ = self.plan.homes[value], tensor_type(value)
            if home.root in self.plan.updated:
                # One buffer for both: a kernel that updates an operand has it once.
                return self.buffer_of(self.around.state[cast(int, home.root)])
            place = self._known_place(home.root)
            if place is None and home.root is value:
                alloc = inserted(self.builder, loop.AllocOp(loop.Scope.ARENA, buffer_type(type_)))
                self._set(value, alloc.buffer)
            elif place is not None and place.is_whole(buffer_type(type_, home.placing)):
                self.values[value] = place.buffer
            else:
                whole = Box((0,) * type_.get_num_dims(), type_.get_shape())
                self.values[value] = self._view(value, home.root, whole, home.placing)
        return self.values[value]

    def _known_place(self, root: SSAValue | int) -> Place | None:
        return self.results[root] if isinstance(root, int) else self.places.get(root)

    def place_of(self, value: SSAValue) -> Place:
        """Where a tensor starts, in a buffer that starts where its memory does."""
        while value in self.plan.in_place:
            value = self.plan.in_place[value]
        home = self.plan.homes[value]
        place = self._known_place(home.root)
        if place is None:
            assert isinstance(home.root, SSAValue)
            place = Place(self.buffer_of(home.root))
        return place.behind(home.placing.offset)

    def _view(self, value: SSAValue, root: SSAValue | int, box: Box, placing: Placing) -> SSAValue:
        """A part of a tensor that is placed in a buffer."""
        place = self._known_place(root)
        if place is None:
            assert isinstance(root, SSAValue)
            place = Place(self.buffer_of(root))
        part = placing.part(box.low).normalized(box.extents)
        type_ = TensorType(tensor_type(value).get_element_type(), box.extents)
        view = place.view(self.builder, type_, part)
        view.name_hint = value.name_hint
        return view


def _put_last(block: Block, operands: list[SSAValue], numbers: Sequence[int]) -> None:
    """Move operands of these numbers, and the arguments of a kernel's block for them, behind the others."""
    for arg in [block.args[number] for number in numbers]:
        operands.append(operands.pop(arg.index))
        last = block.insert_arg(arg.type, len(block.args))
        last.name_hint = arg.name_hint
        arg.replace_all_uses_with(last)
        block.erase_arg(arg)
