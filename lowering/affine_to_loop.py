"""
affine → loop: raises upstream code (affine, scf and memref functions) to named loops over buffers.

This is the way in for IR that Stepwell did not make; afterwards every schedule step applies to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ..analysis.alias import NOALIAS
from ..analysis.levels import Level
from ..dialects import loop
from ..dialects.affine_text import compact
from ..errors import StepwellError
from ..frozen import frozen
from ..transforms.stepwell_pass import StepwellPass

OperationT = TypeVar("OperationT", bound=Operation)

Subscripts = tuple[tuple[AffineExpr, ...], list[SSAValue]]
"""Affine expressions, and the values their dimensions stand for."""


@dataclass
class _FunctionRaiser:
    """Rebuilds the body of one function at the loop level."""

    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    names: set[str] = field(default_factory=set[str])

    def raise_block(self, block: Block, builder: Builder) -> None:
        """Append what the operations of `block`, loop terminators excepted, become."""
        for op in block.ops:
            match op:
                case affine.YieldOp() | scf.YieldOp():
                    pass
                case affine.ForOp():
                    self._affine_for(op, builder)
                case affine.ParallelOp():
                    self._parallel(op, builder)
                case affine.IfOp():
                    self._if(op, builder)
                case affine.LoadOp():
                    exprs, values = self._mapped(op.map.data, op.indices)
                    self._load(op, self.values[op.memref], exprs, values, builder)
                case affine.StoreOp():
                    exprs, values = self._mapped(op.map.data, op.indices)
                    self._store(op, self.values[op.memref], exprs, values, builder)
                case memref.LoadOp():
                    exprs, values = self._raised_indices(op.indices)
                    self._load(op, self.values[op.memref], exprs, values, builder)
                case memref.StoreOp():
                    exprs, values = self._raised_indices(op.indices)
                    self._store(op, self.values[op.memref], exprs, values, builder)
                case scf.ForOp() if _constant(op.step) is not None:
                    self._scf_for(op, builder)
                case _:
                    self._clone(op, builder)

    def _insert(self, new: OperationT, source: Operation, builder: Builder) -> OperationT:
        """Append an operation that `source` becomes: messages about it name the place of that one."""
        new.location = source.location
        return builder.insert(new)

    def _clone(self, op: Operation, builder: Builder) -> None:
        """Keep what has no counterpart; loops inside its regions are raised all the same."""
        if op.dialect_name() == "affine" and not isinstance(op, affine.ApplyOp | affine.MinOp):
            raise StepwellError(
                f"convert-affine-to-loop has no counterpart for '{op.name}'; lower it first", op=op
            )
        new = op.clone_without_regions(self.values)
        for old_region, new_region in zip(op.regions, new.regions, strict=True):
            blocks = {old: Block(arg_types=old.arg_types) for old in old_region.blocks}
            for old_block, new_block in blocks.items():
                new_region.add_block(new_block)
                for old_arg, new_arg in zip(old_block.args, new_block.args, strict=True):
                    self._named(old_arg, new_arg)
                inside = Builder(InsertPoint.at_end(new_block))
                self.raise_block(old_block, inside)
                last = old_block.last_op
                if isinstance(last, scf.YieldOp):
                    values = [self.values[v] for v in last.arguments]
                    self._insert(scf.YieldOp(*values), last, inside)
        self._insert(new, op, builder)

    def _named(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    # Affine expressions.

    def _mapped(self, map_: AffineMap, operands: Sequence[SSAValue]) -> Subscripts:
        """A map's results over dimensions only: its symbols become further dimensions."""
        dims = [AffineExpr.dimension(n) for n in range(map_.num_dims)]
        symbols = [AffineExpr.dimension(map_.num_dims + n) for n in range(map_.num_symbols)]
        exprs = [e.replace_dims_and_symbols(dims, symbols) for e in map_.results]
        return compact(exprs, [self.values[v] for v in operands])

    def _raised_indices(self, indices: Sequence[SSAValue]) -> Subscripts:
        """Index arithmetic as affine expressions as far as it is; the rest stays a value."""
        operands: list[SSAValue] = []
        exprs = [self._raised(index, operands) for index in indices]
        return compact(exprs, operands)

    def _raised(self, value: SSAValue, operands: list[SSAValue]) -> AffineExpr:
        owner = value.owner
        number = _constant(value)
        if number is not None:
            return AffineExpr.constant(number)
        if isinstance(owner, arith.AddiOp):
            return self._raised(owner.lhs, operands) + self._raised(owner.rhs, operands)
        if isinstance(owner, arith.SubiOp):
            return self._raised(owner.lhs, operands) - self._raised(owner.rhs, operands)
        if isinstance(owner, arith.MuliOp) and (factor := _constant(owner.rhs)) is not None:
            return self._raised(owner.lhs, operands) * factor
        if isinstance(owner, arith.MuliOp) and (factor := _constant(owner.lhs)) is not None:
            return self._raised(owner.rhs, operands) * factor
        if isinstance(owner, arith.FloorDivSIOp) and (_constant(owner.rhs) or 0) > 0:
            return self._raised(owner.lhs, operands) // _positive(owner.rhs)
        if isinstance(owner, affine.ApplyOp):
            map_ = owner.map.data
            inner = [self._raised(v, operands) for v in owner.mapOperands]
            dims, symbols = inner[: map_.num_dims], inner[map_.num_dims :]
            return map_.results[0].replace_dims_and_symbols(dims, symbols)
        operands.append(self.values[value])
        return AffineExpr.dimension(len(operands) - 1)

    # Memory.

    def _load(
        self,
        op: affine.LoadOp | memref.LoadOp,
        buffer: SSAValue,
        exprs: Sequence[AffineExpr],
        values: Sequence[SSAValue],
        builder: Builder,
    ) -> None:
        load = loop.LoadOp(buffer, AffineMap(len(values), 0, tuple(exprs)), values)
        self._named(op.results[0], self._insert(load, op, builder).result)

    def _store(
        self,
        op: affine.StoreOp | memref.StoreOp,
        buffer: SSAValue,
        exprs: Sequence[AffineExpr],
        values: Sequence[SSAValue],
        builder: Builder,
    ) -> None:
        map_ = AffineMap(len(values), 0, tuple(exprs))
        self._insert(loop.StoreOp(self.values[op.value], buffer, map_, values), op, builder)

    # Loops and conditions.

    def _loop_name(self, variable: SSAValue) -> str:
        stem = variable.name_hint or "l"
        name, number = stem, 0
        while name in self.names:
            number += 1
            name = f"{stem}_{number}"
        self.names.add(name)
        return name

    def _affine_for(self, op: affine.ForOp, builder: Builder) -> None:
        self._for(
            op,
            self._bound(op.lowerBoundMap.data, op.lowerBoundOperands),
            self._bound(op.upperBoundMap.data, op.upperBoundOperands),
            op.step.value.data,
            op.inits,
            builder,
        )

    def _scf_for(self, op: scf.ForOp, builder: Builder) -> None:
        bounds = [self._raised_indices([bound]) for bound in (op.lb, op.ub)]
        lower, upper = ((AffineMap(len(values), 0, exprs), values) for exprs, values in bounds)
        self._for(op, lower, upper, _positive(op.step), op.iter_args, builder)

    def _bound(
        self, map_: AffineMap, operands: Sequence[SSAValue]
    ) -> tuple[AffineMap, list[SSAValue]]:
        exprs, values = self._mapped(map_, operands)
        return AffineMap(len(values), 0, exprs), values

    def _for(
        self,
        op: affine.ForOp | scf.ForOp,
        lower: tuple[AffineMap, list[SSAValue]],
        upper: tuple[AffineMap, list[SSAValue]],
        step: int,
        inits: Sequence[SSAValue],
        builder: Builder,
    ) -> None:
        """A loop; values it carries live in scratch buffers of one element."""
        body = op.body.block
        carried = [self._scratch(value, op, builder) for value in inits]
        for_op = loop.ForOp(self._loop_name(body.args[0]), lower, upper, step=step)
        self._insert(for_op, op, builder)
        self._named(body.args[0], for_op.induction_variable)
        last = for_op.body.block.last_op
        terminator = body.last_op
        assert last is not None and isinstance(terminator, affine.YieldOp | scf.YieldOp)
        inside = Builder(InsertPoint.before(last))
        for arg, buffer in zip(body.args[1:], carried, strict=True):
            self._named(arg, self._insert(loop.LoadOp(buffer, ()), op, inside).result)
        self.raise_block(body, inside)
        for value, buffer in zip(terminator.arguments, carried, strict=True):
            self._insert(loop.StoreOp(self.values[value], buffer, ()), terminator, inside)
        for result, buffer in zip(op.res, carried, strict=True):
            self._named(result, self._insert(loop.LoadOp(buffer, ()), op, builder).result)

    def _scratch(self, init: SSAValue, source: Operation, builder: Builder) -> SSAValue:
        type_ = MemRefType(init.type, ())
        buffer = self._insert(loop.AllocOp(loop.Scope.REGISTER, type_), source, builder).buffer
        buffer.name_hint = "carried"
        self._insert(loop.StoreOp(self.values[init], buffer, ()), source, builder)
        return buffer

    def _parallel(self, op: affine.ParallelOp, builder: Builder) -> None:
        if op.res:
            raise StepwellError(
                "found 'affine.parallel' with reductions, expected one without results; "
                "write it as affine.for with iter_args",
                op=op,
            )
        lower_map, upper_map = op.lowerBoundsMap.data, op.upperBoundsMap.data
        count = lower_map.num_dims + lower_map.num_symbols
        operands = list(op.map_operands)
        lowers = _grouped(op.lowerBoundsGroups.get_values(), lower_map.results)
        uppers = _grouped(op.upperBoundsGroups.get_values(), upper_map.results)
        for arg, low, high, step in zip(
            op.body.block.args, lowers, uppers, op.steps.data, strict=True
        ):
            low_map = AffineMap(lower_map.num_dims, lower_map.num_symbols, low)
            high_map = AffineMap(upper_map.num_dims, upper_map.num_symbols, high)
            for_op = loop.ForOp(
                self._loop_name(arg),
                self._bound(low_map, operands[:count]),
                self._bound(high_map, operands[count:]),
                step=step.value.data,
                kind=loop.LoopKind.PARALLEL,
            )
            self._insert(for_op, op, builder)
            self._named(arg, for_op.induction_variable)
            last = for_op.body.block.last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
        self.raise_block(op.body.block, builder)

    def _if(self, op: affine.IfOp, builder: Builder) -> None:
        condition = op.condition.data
        dims = [AffineExpr.dimension(n) for n in range(condition.num_dims)]
        symbols = [
            AffineExpr.dimension(condition.num_dims + n) for n in range(condition.num_symbols)
        ]
        constraints = [
            AffineConstraintExpr(
                c.kind,
                (c.lhs - c.rhs).replace_dims_and_symbols(dims, symbols),
                AffineExpr.constant(0),
                canonicalize=False,
            )
            for c in condition.constraints
        ]
        regions = [self._branch(region) for region in op.regions]
        new = loop.IfOp(
            constraints,
            [self.values[v] for v in op.args],
            regions[0],
            regions[1],
            [value.type for value in op.res],
        )
        self._insert(new, op, builder)
        for old, result in zip(op.res, new.outputs, strict=True):
            self._named(old, result)

    def _branch(self, region: Region) -> Region:
        if not region.blocks:
            return Region()
        block = Block()
        inside = Builder(InsertPoint.at_end(block))
        self.raise_block(region.block, inside)
        last = region.block.last_op
        yielded = last.arguments if isinstance(last, affine.YieldOp) else ()
        inside.insert(loop.YieldOp(*(self.values[v] for v in yielded)))
        return Region(block)


def _grouped(sizes: Sequence[int], exprs: Sequence[AffineExpr]) -> list[tuple[AffineExpr, ...]]:
    """The expressions in consecutive groups of the given sizes."""
    groups: list[tuple[AffineExpr, ...]] = []
    start = 0
    for size in sizes:
        groups.append(tuple(exprs[start : start + size]))
        start += size
    return groups


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data if isinstance(value.type, IndexType) else None
    return None


def _positive(value: SSAValue) -> int:
    number = _constant(value)
    if number is None or number < 1:
        found = "that is computed" if number is None else f"of {number}"
        raise StepwellError(
            f"found a step or divisor {found}, expected a positive constant; make it one",
            op=value.owner if isinstance(value.owner, Operation) else None,
        )
    return number


@frozen
class ConvertAffineToLoopPass(StepwellPass):
    """
    Raise affine, scf and memref functions to named loops, to which every schedule step applies.

    Arguments may alias each other afterwards, unless `noalias-args` promises that they do not. What has
    no counterpart (`scf.while`, calls, loops of a step that is not a number) stays, opaque to analysis.
    """

    name = "convert-affine-to-loop"
    level_in = Level.CORE
    level_out = Level.LOOP

    noalias_args: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        raised = [_raise_function(function) for function in functions]
        for function, region in zip(functions, raised, strict=True):
            old = function.detach_region(function.body)
            function.add_region(region)
            old.drop_all_references()
            if self.noalias_args:
                function.attributes[NOALIAS] = UnitAttr()


def _raise_function(function: func.FuncOp) -> Region:
    raiser = _FunctionRaiser()
    blocks = {old: Block(arg_types=old.arg_types) for old in function.body.blocks}
    if len(blocks) != 1:
        raise StepwellError(
            f"function '{function.sym_name.data}' has {len(blocks)} blocks, expected structured control "
            "flow; raise its branches to scf first",
            op=function,
        )
    for old, new in blocks.items():
        for old_arg, new_arg in zip(old.args, new.args, strict=True):
            new_arg.name_hint = old_arg.name_hint
            raiser.values[old_arg] = new_arg
        raiser.raise_block(old, Builder(InsertPoint.at_end(new)))
    return Region(list(blocks.values()))
