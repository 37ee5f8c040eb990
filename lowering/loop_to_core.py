"""loop → core: named loops become `scf`, affine accesses `memref` operations on computed indices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from ..analysis.alias import Aliases
from ..analysis.dominance import reachable_order
from ..analysis.interleaved import LaneStores, lane_stores
from ..analysis.levels import Level
from ..analysis.operations import body_of, operands_of, operations_in, operations_of
from ..analysis.reductions import ReductionUpdate, Updates, find_running
from ..dialects import loop
from ..dialects.affine_bounds import Range
from ..dialects.leaf_operations import (
    block_with,
    copy_of,
    keep_name,
    leaf,
    operand_segments,
    region_of,
    structured,
    take_name,
)
from ..dialects.shaped import memref_type
from ..dialects.upstream.memref import PrefetchOp
from ..frozen import frozen
from ..transforms.stepwell_pass import StepwellPass
from .affine_to_arith import AffineExpander
from .alike_loops import alike_loops
from .core_builder import NONTEMPORAL, PLAIN, CoreBuilder, CoreLoop
from .lane_block import LaneBlock, lane_block
from .lane_count import LaneCounter, is_written_out, lane_count
from .lane_order import check_lanes
from .lanes import convert_lanes
from .loop_writes import LoopWrites
from .reciprocals import may_multiply, shared_reciprocal
from .transposed import convert_transposed
from .vector_loops import VectorLoop


@frozen
class _Form:
    """What a loop becomes, each time that it is written."""

    lanes: int | None
    """the iterations of a vector loop"""
    transposed: LaneBlock | None
    """where it is the outer one of two vector loops"""
    is_written_out: bool
    """its iterations, one after the other"""
    is_alike: bool
    """a loop whose iterations LLVM writes out: they are alike"""

    @staticmethod
    def of(op: loop.ForOp, alike: Collection[loop.ForOp], lanes_of: LaneCounter) -> _Form:
        lanes = lanes_of(op) if _runs_in_lanes(op) else None
        transposed = lane_block(op) if lanes is None else None
        is_one_for_all = op in alike
        return _Form(lanes, transposed, not is_one_for_all and is_written_out(op), is_one_for_all)


@dataclass
class FunctionConverter:
    """Rebuilds the body of one function at core level."""

    expander: AffineExpander
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    blocks: dict[Block, Block] = field(default_factory=dict[Block, Block])
    parallel: list[Block] = field(default_factory=list[Block])
    """The bodies of `scf.parallel` that are being filled, innermost last."""
    updates: Mapping[Operation, ReductionUpdate] = field(
        default_factory=dict[Operation, ReductionUpdate]
    )
    """the reductions of the function; needed where it has vector loops"""
    running: Mapping[loop.ForOp, Collection[ReductionUpdate]] = field(
        default_factory=dict[loop.ForOp, Collection[ReductionUpdate]]
    )
    """the running reductions of its vector loops"""
    stores: LaneStores = field(default_factory=LaneStores)
    """what is known of the stores of its vector loops; needed where it has any"""
    aliases: Aliases | None = None
    """of the function at core level; None where control flows from block to block"""
    writes: LoopWrites | None = None
    """what its loops store to; None where it has none"""
    alike: Collection[loop.ForOp] = ()
    """the loops that LLVM writes out"""
    lanes_of: LaneCounter = lane_count
    """`lane_count`, which may know what it has said before"""
    _sources: dict[CoreLoop, loop.ForOp] = field(default_factory=dict[CoreLoop, loop.ForOp])
    """the loops that those of this level come from"""
    _forms: dict[loop.ForOp, _Form] = field(default_factory=dict[loop.ForOp, _Form])
    _vector_loops: dict[loop.ForOp, VectorLoop] = field(
        default_factory=dict[loop.ForOp, VectorLoop]
    )

    def convert(self, block: Block, builder: CoreBuilder) -> None:
        """Append what the operations of `block` become, a `loop.yield` excepted."""
        allocated: list[SSAValue] = []
        for op in operations_of(block):
            if allocated and op is block.last_op and op.has_trait(IsTerminator):
                self._free(builder, allocated)
            if type(op) is loop.AllocOp:
                self._alloc(op, builder, allocated)
            else:
                self.convert_op(op, builder)

    def convert_op(self, op: Operation, builder: CoreBuilder) -> None:
        """Append what one operation becomes."""
        convert = self.CONVERSIONS.get(type(op))
        if convert is None:
            self._clone(op, builder)
        else:
            convert(self, op, builder)

    def convert_region(self, old: Region, new: Region, around: CoreBuilder | None = None) -> None:
        """Fill the blocks of `new`, made by `_empty_copy`, with what those of `old` become."""
        for old_block, new_block in zip(old.blocks, new.blocks, strict=True):
            self.blocks[old_block] = new_block
            for old_arg, new_arg in zip(old_block.args, new_block.args, strict=True):
                self._named(old_arg, new_arg)
        # Definitions come before uses; blocks that nothing leads to come last.
        for block in dict.fromkeys((*reachable_order(old), *old.blocks)):
            self.convert(block, CoreBuilder(self.blocks[block], around, aliases=self.aliases))

    def _named(self, old: SSAValue, new: SSAValue) -> None:
        take_name(old, new)
        self.values[old] = new

    def _clone(self, op: Operation, builder: CoreBuilder) -> None:
        """Copy an operation that is core already; loops inside its regions are converted."""
        if not op.regions and not op.successors:
            builder.insert(copy_of(op, self.values))
            return
        new = op.clone_without_regions(self.values, self.blocks)
        for old_region, new_region in zip(op.regions, new.regions, strict=True):
            new_region.add_block(_empty_copy(old_region))
            if isinstance(new, scf.ParallelOp):
                self.parallel.append(new.body.block)
            self.convert_region(old_region, new_region, builder)
            if isinstance(new, scf.ParallelOp):
                self.parallel.pop()
        builder.insert(new)

    def _nothing(self, op: loop.YieldOp, builder: CoreBuilder) -> None:
        """What a `loop.yield` becomes, which the operation around it sees to."""

    def _constant(self, op: arith.ConstantOp, builder: CoreBuilder) -> None:
        """Constants stand at the function's start, each once."""
        new, old = self.expander.constant_of(op.value), op.results[0]
        keep_name(old, new)
        self.values[old] = new

    def _apply(self, op: affine.ApplyOp, builder: CoreBuilder) -> None:
        map_ = op.map.data
        dims = [AffineExpr.dimension(n) for n in range(map_.num_dims + map_.num_symbols)]
        symbols = dims[map_.num_dims :]
        expr = map_.results[0].replace_dims_and_symbols(dims, symbols)
        value = self.expander.expand(builder, expr, [self.values[v] for v in op.mapOperands])
        self.values[op.result] = value

    def _divide(self, op: arith.DivfOp, builder: CoreBuilder) -> None:
        """A division, as the product with the reciprocal where that may be and is worth it."""
        if not may_multiply(op) or not builder.is_invariant(self.values[op.rhs]):
            self._clone(op, builder)
            return
        reciprocal = shared_reciprocal(builder, self.expander, op, self.values[op.rhs])
        sides, flags = (self.values[op.lhs], reciprocal), {"fastmath": op.fastmath}
        self._named(op.result, builder.emit(arith.MulfOp, sides, reciprocal.type, flags))

    def _form(self, op: loop.ForOp) -> _Form:
        form = self._forms.get(op)
        if form is None:
            form = self._forms[op] = _Form.of(op, self.alike, self.lanes_of)
        return form

    def _for(self, op: loop.ForOp, builder: CoreBuilder) -> None:
        form = self._form(op)
        if form.lanes is not None:
            convert_lanes(self, op, form.lanes, builder)
            return
        if form.transposed is not None:
            convert_transposed(self, form.transposed, builder)
            return
        if form.is_written_out:
            for inside in self.open_copies(op, builder):
                self.convert(body_of(op), inside)
            return
        inside = self.open_for(op, builder)
        if not _runs_on_threads(op):
            self.convert(body_of(op), inside)
            inside.append(scf.YieldOp, ())
            return
        body = inside.block
        self.parallel.append(body)
        self.convert(body_of(op), inside)
        self.parallel.pop()
        inside.append(scf.ReduceOp, ())

    def vector_loop(self, op: loop.ForOp) -> VectorLoop:
        known = self._vector_loops.get(op)
        if known is None:
            known = self._vector_loops[op] = VectorLoop.of(
                op, self.updates, self.running.get(op, ()), self.stores
            )
        return known

    def open_copies(self, op: loop.ForOp, builder: CoreBuilder) -> Iterator[CoreBuilder]:
        """For each iteration of a loop that is written out: where its operations go."""
        count, step = op.greatest_trip_count(), op.step.value.data
        assert count is not None
        (low,) = op.lower_map.data.results
        assert isinstance(low, AffineConstantExpr)
        operands = [self.values[v] for v in operands_of(op)[op.lower_map.data.num_dims :]]
        limits = [e for e in op.upper_map.data.results if not isinstance(e, AffineConstantExpr)]
        variable = op.induction_variable
        for number in range(count):
            value = low.value + number * step
            self.values[variable] = self.expander.constant(value)
            if not limits:
                yield builder
                continue
            left = [loop.at_least_zero(limit - (value + 1)) for limit in limits]
            condition = self.expander.condition(builder, left, operands)
            block = Block()
            inside = builder.inside(block)
            yield inside
            inside.append(scf.YieldOp, ())
            builder.branch(condition, block)

    def open_for(self, op: loop.ForOp, builder: CoreBuilder) -> CoreBuilder:
        """Append the `scf.for` (or `scf.parallel`) that a loop becomes; the end of its body, still empty."""
        expander = self.expander
        operands, count = [self.values[v] for v in operands_of(op)], op.lower_map.data.num_dims
        lower_operands, upper_operands = operands[:count], operands[count:]
        lower_exprs, upper_exprs = op.lower_map.data.results, op.upper_map.data.results
        lower = expander.extreme(builder, lower_exprs, lower_operands, arith.MaxSIOp)
        upper = expander.extreme(builder, upper_exprs, upper_operands, arith.MinSIOp)
        body = block_with([op.induction_variable.type])
        self._named(op.induction_variable, body.args[0])
        expander.ranges[body.args[0]] = _variable_range(
            [expander.range_of(expr, lower_operands) for expr in lower_exprs],
            [expander.range_of(expr, upper_operands) for expr in upper_exprs],
        )
        step = expander.constant(op.step.value.data)
        if _runs_on_threads(op):
            on_threads = builder.insert(
                structured(
                    scf.ParallelOp,
                    (lower, upper, step),
                    (region_of(body),),
                    properties={"operandSegmentSizes": operand_segments(1, 1, 1, 0)},
                )
            )
            self._sources[on_threads] = op
            return builder.inside_loop(on_threads)
        new = builder.insert(structured(scf.ForOp, (lower, upper, step), (region_of(body),)))
        self._sources[new] = op
        if op.mode is not None:
            new.attributes[loop.MODE] = StringAttr(op.mode.data.value)
        if loop.UNROLLED in op.attributes:
            new.attributes[loop.UNROLLED] = loop.MARK
        return builder.inside_loop(new)

    def _if(self, op: loop.IfOp, builder: CoreBuilder) -> None:
        operands = [self.values[v] for v in op.condition_operands]
        condition = self.expander.condition(builder, op.condition.data.constraints, operands)
        blocks: list[Block] = []
        for old in op.regions:
            if not old.blocks:
                continue
            block = Block()
            inside = builder.inside(block)
            self.convert(old.block, inside)
            terminator = old.block.last_op
            assert isinstance(terminator, loop.YieldOp)
            inside.append(scf.YieldOp, [self.values[v] for v in operands_of(terminator)])
            blocks.append(block)
        new = builder.branch(condition, *blocks, result_types=op.outputs.types)
        for old_result, new_result in zip(op.outputs, new.results, strict=True):
            self._named(old_result, new_result)

    def _subscripts(
        self, op: loop.LoadOp | loop.StoreOp | loop.PrefetchOp, builder: CoreBuilder
    ) -> tuple[SSAValue, list[SSAValue]]:
        used = operands_of(op)
        buffer, *operands = [
            self.values[v] for v in (used[1:] if type(op) is loop.StoreOp else used)
        ]
        indices = [self.expander.expand(builder, expr, operands) for expr in op.map.data.results]
        return buffer, indices

    def _load(self, op: loop.LoadOp, builder: CoreBuilder) -> None:
        self._named(op.result, self.load_element(op, builder))

    def load_element(self, op: loop.LoadOp, builder: CoreBuilder) -> SSAValue:
        """The element that a load is of, for the values that its operands have here."""
        buffer, indices = self._subscripts(op, builder)

        def may_leave(core_loop: CoreLoop) -> bool:
            source = self._sources.get(core_loop)
            return (
                source is not None
                # What a loop on threads uses is passed to it: that pays where it is prepared before (`core-divide-by-invariants`).
                and (isinstance(core_loop, scf.ForOp) or _is_divisor(op.result))
                and self.writes is not None
                and not self.writes.may_change(source, op.buffer)
                and self.is_inside(op)
            )

        element = memref_type(buffer).element_type
        return builder.load(memref.LoadOp, (buffer, *indices), element, may_leave)

    def may_leave_copies(self, buffer: SSAValue) -> Callable[[CoreLoop], bool]:
        """
        Whether a load of a buffer may stand before a loop that it does not depend on: one that LLVM writes out, which has
        iterations, and in which nothing changes the buffer.
        """

        def may_leave(core_loop: CoreLoop) -> bool:
            source = self._sources.get(core_loop)
            return (
                source is not None
                and self._form(source).is_alike
                and self.writes is not None
                and not self.writes.may_change(source, buffer)
            )

        return may_leave

    def is_inside(self, op: loop.LoadOp) -> bool:
        """Whether the element exists whatever the conditions around the load say."""
        new = [self.values[v] for v in op.operands_]
        for expr, size in zip(op.map.data.results, memref_type(op.buffer).get_shape(), strict=True):
            low, high = self.expander.range_of(expr, new)
            if low is None or high is None or low < 0 or not high < size:
                return False
        return True

    def _store(self, op: loop.StoreOp, builder: CoreBuilder) -> None:
        buffer, indices = self._subscripts(op, builder)
        hint = NONTEMPORAL if op.is_nontemporal else PLAIN
        builder.append(memref.StoreOp, (self.values[op.value], buffer, *indices), hint)

    def _prefetch(self, op: loop.PrefetchOp, builder: CoreBuilder) -> None:
        buffer, indices = self._subscripts(op, builder)
        is_write, locality = bool(op.is_write.value.data), op.locality.value.data
        builder.insert(PrefetchOp(buffer, indices, is_write=is_write, locality=locality))

    def _alloc(self, op: loop.AllocOp, builder: CoreBuilder, allocated: list[SSAValue]) -> None:
        type_ = op.buffer.type
        if op.scope.data in (loop.Scope.REGISTER, loop.Scope.STACK):
            buffer = self.stack_buffer(type_)
        else:
            sizes = [self.values[v] for v in op.dynamic_sizes]
            counts = {"operandSegmentSizes": operand_segments(len(sizes), 0)}
            buffer = builder.insert(leaf(memref.AllocOp, sizes, (type_,), counts)).memref
            allocated.append(buffer)
        self._named(op.buffer, buffer)

    def stack_buffer(self, type_: MemRefType[Attribute]) -> SSAValue:
        """
        A buffer at the start of the function: an alloca inside a loop would grow the stack at each turn.

        But iterations that run at once have each their own.
        """
        place = (
            _after_allocas(self.parallel[-1]) if self.parallel else self.expander.after_constants()
        )
        sizes = {"operandSegmentSizes": operand_segments(0, 0)}
        new = leaf(memref.AllocaOp, (), (type_,), sizes)
        Rewriter.insert_op(new, place)
        return new.memref

    def _free(self, builder: CoreBuilder, allocated: list[SSAValue]) -> None:
        for buffer in reversed(allocated):
            builder.insert(memref.DeallocOp.get(buffer))

    CONVERSIONS: ClassVar[Mapping[type[Operation], Callable[[Any, Any, CoreBuilder], None]]] = {
        affine.ApplyOp: _apply,
        arith.ConstantOp: _constant,
        arith.DivfOp: _divide,
        loop.ForOp: _for,
        loop.IfOp: _if,
        loop.LoadOp: _load,
        loop.PrefetchOp: _prefetch,
        loop.StoreOp: _store,
        loop.YieldOp: _nothing,
    }
    """Of the operations that become others; the rest are core already."""


def _runs_in_lanes(op: loop.ForOp) -> bool:
    mode = op.mode
    return mode is not None and mode.data is loop.RunMode.VECTOR


def _is_divisor(value: SSAValue) -> bool:
    return any(isinstance(use.operation, arith.DivfOp) and use.index == 1 for use in value.uses)


def _runs_on_threads(op: loop.ForOp) -> bool:
    """A mark is not enough: hand-written text may have it on a loop whose iterations must run in order."""
    is_parallel = op.kind.data is loop.LoopKind.PARALLEL
    return is_parallel and op.mode is not None and op.mode.data is loop.RunMode.THREADS


def _after_allocas(block: Block) -> InsertPoint:
    for op in block.ops:
        if not isinstance(op, memref.AllocaOp):
            return InsertPoint.before(op)
    return InsertPoint.at_end(block)


def _variable_range(lower: list[Range], upper: list[Range]) -> Range:
    """What is known of a loop variable from what is known of its bounds."""
    lows = [low for low, _ in lower if low is not None]
    highs = [high for _, high in upper if high is not None]
    return max(lows, default=None), min(highs) - 1 if highs else None


@frozen
class ConvertLoopToCorePass(StepwellPass):
    """
    Turn named loops into scf, and affine accesses into memref operations on index arithmetic.

    A loop marked `threads` becomes an scf.parallel, whose iterations have stack buffers of their own, if
    it is parallel too; one marked `vector` operations on vectors of as many lanes as it has iterations;
    two of these, one inside the other, that read along one and write along the other, a transposition in
    registers; one marked `unroll` its iterations one after the other. Where these are alike, as the rows of a register
    tile, one stands for all in a loop that LLVM writes out. Where something cannot be it stays a loop, too, a
    correct way to run it, as its iterations may run in any order the mark allows. Then the mark stays
    visible as the attribute `stepwell.mode = "vector"` of the `scf.for`.
    """

    name = "convert-loop-to-core"
    level_in = Level.LOOP
    level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        for function in functions:
            _convert_function(function)


def _empty_copy(region: Region) -> list[Block]:
    return [block_with(block.arg_types) for block in region.blocks]


def _convert_function(function: func.FuncOp) -> None:
    operations, aliases = operations_in(function), Aliases(function)
    loops = [op for op in operations if type(op) is loop.ForOp]
    in_lanes = [op for op in loops if _runs_in_lanes(op)]
    updates = Updates(operations, aliases).found() if in_lanes else {}
    running = {op: set(find_running(op, aliases).values()) for op in in_lanes}
    check_lanes(function, updates, running)
    stores = lane_stores(in_lanes, aliases)
    is_structured = len(function.body.blocks) == 1
    lanes_of = cache(lane_count)  # the loops stay as they are: others are made of them
    alike = alike_loops(loops, lanes_of)
    old = function.detach_region(function.body)
    new = Region(_empty_copy(old))
    function.add_region(new)
    converter = FunctionConverter(
        AffineExpander(new.blocks[0]),
        updates=updates,
        running=running,
        stores=stores,
        aliases=Aliases(function) if is_structured else None,
        writes=LoopWrites(aliases) if is_structured else None,
        alike=alike,
        lanes_of=lanes_of,
    )
    converter.convert_region(old, new)
    converter.expander.drop_unused_constants()
