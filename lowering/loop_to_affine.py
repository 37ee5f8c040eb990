"""
loop → affine: gives loops back as upstream affine code.

Loop names, kinds and modes become attributes of `affine.for`, which `convert-affine-to-loop` does not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, func, memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..analysis.levels import Level
from ..dialects import loop
from ..frozen import frozen
from ..transforms.stepwell_pass import StepwellPass

LOOP_NAME = "stepwell.loop"
LOOP_KIND = "stepwell.kind"


@dataclass
class _FunctionConverter:
    """Rebuilds the body of one function with affine operations."""

    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def convert(self, block: Block, builder: Builder) -> None:
        """Append what the operations of `block`, loop terminators excepted, become."""
        allocated: list[SSAValue] = []
        for op in block.ops:
            match op:
                case loop.YieldOp():
                    self._free(allocated, builder)
                case loop.ForOp():
                    self._for(op, builder)
                case loop.IfOp():
                    self._if(op, builder)
                case loop.LoadOp():
                    indices = [self.values[v] for v in op.operands_]
                    load = affine.LoadOp(self.values[op.buffer], indices, op.map)
                    self._named(op.result, builder.insert(load).result)
                case loop.StoreOp():
                    indices = [self.values[v] for v in op.operands_]
                    value, buffer = self.values[op.value], self.values[op.buffer]
                    builder.insert(affine.StoreOp(value, buffer, indices, op.map))
                case loop.AllocOp():
                    self._alloc(op, builder, allocated)
                case _:
                    if isinstance(op, func.ReturnOp):
                        self._free(allocated, builder)
                    self._clone(op, builder)

    def _named(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _clone(self, op: Operation, builder: Builder) -> None:
        new = op.clone_without_regions(self.values)
        for old_region, new_region in zip(op.regions, new.regions, strict=True):
            for old_block in old_region.blocks:
                new_block = Block(arg_types=old_block.arg_types)
                new_region.add_block(new_block)
                for old_arg, new_arg in zip(old_block.args, new_block.args, strict=True):
                    self._named(old_arg, new_arg)
                self.convert(old_block, Builder(InsertPoint.at_end(new_block)))
        builder.insert(new)

    def _for(self, op: loop.ForOp, builder: Builder) -> None:
        body = Block(arg_types=[IndexType()])
        self._named(op.induction_variable, body.args[0])
        inside = Builder(InsertPoint.at_end(body))
        self.convert(op.body.block, inside)
        inside.insert(affine.YieldOp.get())
        new = affine.ForOp.from_region(
            [self.values[v] for v in op.lower_operands],
            [self.values[v] for v in op.upper_operands],
            [],
            [],
            AffineMapAttr(op.lower_map.data),
            AffineMapAttr(op.upper_map.data),
            Region(body),
            IntegerAttr(op.step.value.data, IndexType()),
        )
        new.attributes[LOOP_NAME] = op.loop_name
        new.attributes[LOOP_KIND] = StringAttr(op.kind.data.value)
        if op.mode is not None:
            new.attributes[loop.MODE] = StringAttr(op.mode.data.value)
        builder.insert(new)

    def _if(self, op: loop.IfOp, builder: Builder) -> None:
        regions: list[Region] = []
        for old in op.regions:
            if not old.blocks:
                regions.append(Region())
                continue
            block = Block()
            inside = Builder(InsertPoint.at_end(block))
            self.convert(old.block, inside)
            last = old.block.last_op
            assert isinstance(last, loop.YieldOp)
            inside.insert(affine.YieldOp.get(*(self.values[v] for v in last.values)))
            regions.append(Region(block))
        new = affine.IfOp.create(
            operands=[self.values[v] for v in op.condition_operands],
            properties={"condition": AffineSetAttr(op.condition.data)},
            result_types=[value.type for value in op.outputs],
            regions=regions,
        )
        builder.insert(new)
        for old_value, new_value in zip(op.outputs, new.results, strict=True):
            self._named(old_value, new_value)

    def _alloc(self, op: loop.AllocOp, builder: Builder, allocated: list[SSAValue]) -> None:
        type_ = op.buffer.type
        assert isinstance(type_, MemRefType)
        shape, element = type_.get_shape(), type_.get_element_type()
        if op.scope.data in (loop.Scope.REGISTER, loop.Scope.STACK):
            new = builder.insert(memref.AllocaOp.get(element, shape=shape)).memref
        else:
            sizes = [self.values[v] for v in op.dynamic_sizes]
            new = builder.insert(
                memref.AllocOp.get(element, shape=shape, dynamic_sizes=sizes)
            ).memref
            allocated.append(new)
        self._named(op.buffer, new)

    def _free(self, allocated: list[SSAValue], builder: Builder) -> None:
        for buffer in reversed(allocated):
            builder.insert(memref.DeallocOp.get(buffer))


@frozen
class ConvertLoopToAffinePass(StepwellPass):
    """Give named loops back as upstream affine code, for MLIR and other xDSL projects."""

    name = "convert-loop-to-affine"
    level_in = Level.LOOP
    level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                blocks = {old: Block(arg_types=old.arg_types) for old in function.body.blocks}
                converter = _FunctionConverter()
                for old, new in blocks.items():
                    for old_arg, new_arg in zip(old.args, new.args, strict=True):
                        new_arg.name_hint = old_arg.name_hint
                        converter.values[old_arg] = new_arg
                for old, new in blocks.items():
                    converter.convert(old, Builder(InsertPoint.at_end(new)))
                old_region = function.detach_region(function.body)
                function.add_region(Region(list(blocks.values())))
                old_region.drop_all_references()
