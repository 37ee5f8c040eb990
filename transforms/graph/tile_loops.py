"""
Loops over whole tensors, tile by tile.

A loop that updates all elements of its state at each step, such as an escape-time fractal, Newton's method for many
starts, or a simulation of particles that do not meet, streams all of its state through memory at each step. Its elements
do not depend on each other: a tile of them can be brought to its end before the next one is begun, from the first-level
cache. A loop that goes on as long as any element is unfinished then stops, for each tile, when the tile's own last
element is finished. This is strip-mining, with the tile's loop outermost (Wolfe, High Performance Compilers for Parallel
Computing, 1996, chapter 9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects import graph
from ...dialects.dtypes import bit_width
from ...dialects.graph.elementwise import ElementwiseOp
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .unfinished import keeps_finished_elements

Shape = tuple[int, ...]

LEAST_OF_TILE = 8
"""A tile may be this many times smaller than what the cache holds, where no larger one divides the tensor."""

WHOLE_VECTORS = 16
"""Tiles of a multiple of this have no remainder in the lanes of vectors; they may be half as large for it."""

Loop: TypeAlias = graph.WhileOp | graph.ScanOp


@frozen
class _Plan:
    """A loop that may be tiled: the shape of its state, and how many elements a tile has."""

    shape: Shape
    tile: int
    captured: tuple[SSAValue, ...]
    """Tensors of that shape that the body reads from around the loop."""

    @property
    def tiles(self) -> int:
        return prod(self.shape) // self.tile


def _plan(op: Loop, tile_bytes: int) -> _Plan | None:
    """How a loop is tiled; None where its elements depend on each other, or no tile divides them."""
    shapes = {shape_of(value) for value in op.carried} - {()}
    if len(shapes) != 1 or not _numbers_are_unused(op):
        return None
    (shape,) = shapes
    captured = _captured(op, shape)
    if captured is None:
        return None
    if isinstance(op, graph.WhileOp) and not keeps_finished_elements(op, shape):
        return None
    if isinstance(op, graph.ScanOp) and not _has_numbers_only(op):
        return None
    states = [value for value in op.carried if shape_of(value)]
    # Each state is read and written; what is captured is read.
    bits = sum(bit_width(tensor_type(v).get_element_type()) for v in (*states, *states, *captured))
    most, count = tile_bytes * 8 // bits, prod(shape)
    if isinstance(op, graph.ScanOp) and count <= most:
        return None  # All of it stays in the cache from step to step.
    tile = _tile_of(count, min(most, count // 2))
    return _Plan(shape, tile, tuple(captured)) if tile * LEAST_OF_TILE >= most > 0 else None


def _tile_of(count: int, most: int) -> int:
    """The largest divisor of `count` up to `most`, or one of whole vectors at least half as large; 0 for none."""
    largest = next((n for n in range(most, 0, -1) if count % n == 0), 0)
    step = -WHOLE_VECTORS
    whole = range(largest - largest % WHOLE_VECTORS, max(largest // 2, 1) - 1, step)
    return next((n for n in whole if count % n == 0), largest)


def _numbers_are_unused(op: Loop) -> bool:
    """Whether nobody asks for the numbers that the loop ends with: each tile has a loop, and numbers, of its own."""
    return all(shape_of(value) or value.first_use is None for value in op.outputs)


def _has_numbers_only(op: graph.ScanOp) -> bool:
    """Whether each step is given nothing but numbers, and gives nothing but the next state: tiles cut no sequence."""
    given = op.body.block.args[len(op.carried) :]
    return op.steps.value.data > 1 and not op.stacked and not any(map(shape_of, given))


def _captured(op: Loop, shape: Shape) -> list[SSAValue] | None:
    """The tensors of this shape from around the loop; None where its body does more than elements apart."""
    inside = {*op.body.block.args}
    captured: dict[SSAValue, None] = {}
    for inner in op.body.block.ops:
        if not isinstance(inner, ElementwiseOp | graph.ConstantOp | graph.MaxOp | graph.YieldOp):
            return None
        if isinstance(inner, graph.MaxOp) and shape_of(inner.results[0]):
            return None
        for value in (*inner.operands, *inner.results):
            if shape_of(value) not in ((), shape):
                return None
        if isinstance(inner, graph.ConstantOp) and shape_of(inner.result):
            return None
        around = [value for value in inner.operands if value not in inside and shape_of(value)]
        captured |= dict.fromkeys(around)
        inside |= {*inner.results}
    return list(captured)


def _tile(op: Loop, plan: _Plan, rewriter: PatternRewriter) -> None:
    """Replace the loop by a scan over tiles, whose body is the loop on a tile."""
    whole = [*(value for value in op.carried if shape_of(value)), *plan.captured]
    spread = {value: start for value in whole if (start := _number_of(value)) is not None}
    rows = [value for value in dict.fromkeys(whole) if value not in spread]
    reshaped = [graph.ReshapeOp(value, (plan.tiles, plan.tile)) for value in rows]
    block = Block(arg_types=[_tile_type(value, plan) for value in rows])
    tiles: dict[SSAValue, SSAValue] = dict(zip(rows, block.args, strict=True))
    for value, number in spread.items():
        made = graph.BroadcastToOp(number, (plan.tile,))
        block.add_op(made)
        tiles[value] = made.results[0]
    carried = [tiles.get(value, value) for value in op.carried]
    loop = _with(op, carried, _body(op.body.block, tiles, plan))
    # Only what is asked for is put together again: nobody uses the numbers, and perhaps not all of the state.
    used = [result for result in op.outputs if result.first_use is not None]
    results = [new for new, old in zip(loop.outputs, op.outputs, strict=True) if old in used]
    block.add_ops([loop, graph.YieldOp(*results)])
    scan = graph.ScanOp(plan.tiles, [], [one.results[0] for one in reshaped], Region(block))
    scan.location = loop.location = op.location
    back = [graph.ReshapeOp(value, plan.shape) for value in scan.outputs]
    rewriter.insert([*reshaped, scan, *back], InsertPoint.before(op))
    whole_again = dict(zip(used, back, strict=True))
    replaced = [
        whole_again[result].results[0] if result in whole_again else start
        for result, start in zip(op.outputs, op.carried, strict=True)
    ]
    rewriter.replace(op, [], replaced)


def _with(op: Loop, carried: Sequence[SSAValue], body: Region) -> Loop:
    """The loop with another state and body."""
    if isinstance(op, graph.WhileOp):
        return graph.WhileOp(op.condition, carried, body)
    steps, is_reverse = op.steps.value.data, op.reverse is not None
    return graph.ScanOp(steps, carried, op.sequences, body, reverse=is_reverse)


def _number_of(value: SSAValue) -> SSAValue | None:
    """The number that a tensor is filled with."""
    made = value.owner
    if isinstance(made, graph.BroadcastToOp) and not shape_of(made.operands[0]):
        return made.operands[0]
    return None


def _tile_type(value: SSAValue, plan: _Plan) -> Attribute:
    type_ = tensor_type(value)
    is_whole = type_.get_shape() == plan.shape
    return TensorType(type_.get_element_type(), (plan.tile,)) if is_whole else type_


def _body(old: Block, tiles: Mapping[SSAValue, SSAValue], plan: _Plan) -> Region:
    """The body on a tile."""
    block = Block(arg_types=[_tile_type(arg, plan) for arg in old.args])
    values = {**tiles, **dict(zip(old.args, block.args, strict=True))}
    for op in old.ops:
        operands = [values.get(value, value) for value in op.operands]
        new = _on_tile(op, operands, plan)
        new.location = op.location
        block.add_op(new)
        values |= dict(zip(op.results, new.results, strict=True))
    for value, other in values.items():
        other.name_hint = other.name_hint or value.name_hint
    return Region(block)


def _on_tile(op: Operation, operands: Sequence[SSAValue], plan: _Plan) -> Operation:
    if isinstance(op, graph.MaxOp):
        return graph.MaxOp(operands[0])
    return type(op).create(
        operands=operands,
        result_types=[_tile_type(result, plan) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )


@frozen
class GraphTileLoopsPass(StepwellPass):
    """
    Run loops of independent elements tile by tile.

    These are `while any(p(x)): x = where(p(x), f(x), x)`, and `for t: x = f(x, t)` with numbers t, for element-wise p and f.
    """

    name = "graph-tile-loops"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    tile_bytes: int = 32768
    """What a tile's state may take: the target's first-level cache."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [
            inner for inner in operations_in(op) if isinstance(inner, graph.WhileOp | graph.ScanOp)
        ]:
            plan = _plan(loop, self.tile_bytes)
            if plan is not None:
                remark(loop, f"runs in {plan.tiles} tiles of {plan.tile} elements")
                _tile(loop, plan, PatternRewriter(loop))
