"""loop → core: named loops become `scf`, affine accesses `memref` operations on computed indices."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..analysis.levels import Level
from ..dialects import loop
from ..errors import StepwellError
from ..transforms.stepwell_pass import StepwellPass
from .affine_to_arith import AffineExpander, Range


@dataclass
class _FunctionConverter:
    """Rebuilds the body of one function at core level."""

    expander: AffineExpander
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def convert(self, block: Block, builder: Builder) -> None:
        """Append what the operations of `block`, its terminator excepted, become."""
        allocated: list[SSAValue] = []
        for op in block.ops:
            match op:
                case loop.YieldOp():
                    self._free(builder, allocated)
                case loop.ForOp():
                    self._for(op, builder)
                case loop.IfOp():
                    self._if(op, builder)
                case loop.LoadOp():
                    self._load(op, builder)
                case loop.StoreOp():
                    self._store(op, builder)
                case loop.AllocOp():
                    self._alloc(op, builder, allocated)
                case affine.ApplyOp():
                    operands = [self.values[v] for v in op.mapOperands]
                    value = self.expander.expand(builder, op.map.data.results[0], operands)
                    self.values[op.result] = value
                case _:
                    if isinstance(op, func.ReturnOp):
                        self._free(builder, allocated)
                    self._clone(op, builder)

    def _named(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _clone(self, op: Operation, builder: Builder) -> None:
        """Copy an operation that is core already; loops inside its regions are converted."""
        new = op.clone_without_regions(self.values)
        for old_region, new_region in zip(op.regions, new.regions, strict=True):
            blocks = {old: Block(arg_types=old.arg_types) for old in old_region.blocks}
            for old_block, new_block in blocks.items():
                for old_arg, new_arg in zip(old_block.args, new_block.args, strict=True):
                    self._named(old_arg, new_arg)
                new_region.add_block(new_block)
                self.convert(old_block, Builder(InsertPoint.at_end(new_block)))
        builder.insert(new)

    def _for(self, op: loop.ForOp, builder: Builder) -> None:
        _check_runnable(op)
        expander = self.expander
        lower_operands = [self.values[v] for v in op.lower_operands]
        upper_operands = [self.values[v] for v in op.upper_operands]
        lower_exprs, upper_exprs = op.lower_map.data.results, op.upper_map.data.results
        lower = expander.extreme(builder, lower_exprs, lower_operands, arith.MaxSIOp)
        upper = expander.extreme(builder, upper_exprs, upper_operands, arith.MinSIOp)
        body = Block(arg_types=[op.induction_variable.type])
        self._named(op.induction_variable, body.args[0])
        expander.ranges[body.args[0]] = _variable_range(
            [expander.range_of(expr, lower_operands) for expr in lower_exprs],
            [expander.range_of(expr, upper_operands) for expr in upper_exprs],
        )
        inside = Builder(InsertPoint.at_end(body))
        self.convert(op.body.block, inside)
        inside.insert(scf.YieldOp())
        step = expander.constant(op.step.value.data)
        builder.insert(scf.ForOp(lower, upper, step, [], Region(body)))

    def _if(self, op: loop.IfOp, builder: Builder) -> None:
        operands = [self.values[v] for v in op.condition_operands]
        condition = self.expander.condition(builder, op.condition.data.constraints, operands)
        regions: list[Region] = []
        for old in op.regions:
            if not old.blocks:
                regions.append(Region())
                continue
            block = Block()
            inside = Builder(InsertPoint.at_end(block))
            self.convert(old.block, inside)
            terminator = old.block.last_op
            assert isinstance(terminator, loop.YieldOp)
            inside.insert(scf.YieldOp(*(self.values[v] for v in terminator.values)))
            regions.append(Region(block))
        new = builder.insert(scf.IfOp(condition, op.outputs.types, regions[0], regions[1]))
        for old_result, new_result in zip(op.outputs, new.results, strict=True):
            self._named(old_result, new_result)

    def _subscripts(
        self, op: loop.LoadOp | loop.StoreOp, builder: Builder
    ) -> tuple[SSAValue, list[SSAValue]]:
        operands = [self.values[v] for v in op.operands_]
        indices = [self.expander.expand(builder, expr, operands) for expr in op.map.data.results]
        return self.values[op.buffer], indices

    def _load(self, op: loop.LoadOp, builder: Builder) -> None:
        new = builder.insert(memref.LoadOp.get(*self._subscripts(op, builder)))
        self._named(op.result, new.res)

    def _store(self, op: loop.StoreOp, builder: Builder) -> None:
        buffer, indices = self._subscripts(op, builder)
        builder.insert(memref.StoreOp.get(self.values[op.value], buffer, indices))

    def _alloc(self, op: loop.AllocOp, builder: Builder, allocated: list[SSAValue]) -> None:
        type_ = op.buffer.type
        assert isinstance(type_, MemRefType)
        sizes = [self.values[v] for v in op.dynamic_sizes]
        shape = type_.get_shape()
        element = type_.get_element_type()
        if op.scope.data in (loop.Scope.REGISTER, loop.Scope.STACK):
            # At the start of the function: an alloca inside a loop would grow the stack at each turn.
            entry = Builder(self.expander.after_constants())
            new = entry.insert(memref.AllocaOp.get(element, shape=shape))
        else:
            new = builder.insert(memref.AllocOp.get(element, shape=shape, dynamic_sizes=sizes))
            allocated.append(new.memref)
        self._named(op.buffer, new.memref)

    def _free(self, builder: Builder, allocated: list[SSAValue]) -> None:
        for buffer in reversed(allocated):
            builder.insert(memref.DeallocOp.get(buffer))


def _variable_range(lower: list[Range], upper: list[Range]) -> Range:
    """What is known of a loop variable from what is known of its bounds."""
    lows = [low for low, _ in lower if low is not None]
    highs = [high for _, high in upper if high is not None]
    return max(lows, default=None), min(highs) - 1 if highs else None


def _check_runnable(op: loop.ForOp) -> None:
    if op.mode is not None:
        raise StepwellError(
            f"loop '{op.loop_name.data}' is marked '{op.mode.data.value}', which "
            "convert-loop-to-core does not lower yet; remove the mark",
            op=op,
        )


@dataclass(frozen=True)
class ConvertLoopToCorePass(StepwellPass):
    """Turns named loops into scf, and affine accesses into memref operations on index arithmetic."""

    name = "convert-loop-to-core"
    level_in = Level.LOOP
    level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        for function in functions:
            for nested in function.walk():
                if isinstance(nested, loop.ForOp):
                    _check_runnable(nested)
        for function in functions:
            _convert_function(function)


def _convert_function(function: func.FuncOp) -> None:
    new_blocks = [Block(arg_types=block.arg_types) for block in function.body.blocks]
    converter = _FunctionConverter(AffineExpander(new_blocks[0]))
    for old, new in zip(function.body.blocks, new_blocks, strict=True):
        for old_arg, new_arg in zip(old.args, new.args, strict=True):
            new_arg.name_hint = old_arg.name_hint
            converter.values[old_arg] = new_arg
        converter.convert(old, Builder(InsertPoint.at_end(new)))
    replacement = Region(new_blocks)
    old_region = function.detach_region(function.body)
    function.add_region(replacement)
    old_region.drop_all_references()
