"""
While loops over whole tensors, tile by tile.

A loop that updates elements as long as any of them is unfinished, such as an escape-time fractal or Newton's method for
many starts, streams all of its state through memory at each step. Its elements do not depend on each other: a tile of
them can be brought to its end before the next one is begun, from the first-level cache, and stops when its own last
element is finished. This is strip-mining, with the tile's loop outermost (Wolfe, High Performance Compilers for Parallel
Computing, 1996, chapter 9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...analysis.levels import Level
from ...dialects import graph
from ...dialects.dtypes import bit_width
from ...dialects.graph.elementwise import ElementwiseOp
from ...dialects.shaped import shape_of, tensor_type
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .unfinished import keeps_finished_elements

Shape = tuple[int, ...]

LEAST_OF_TILE = 8
"""A tile may be this many times smaller than what the cache holds, where no larger one divides the tensor."""


@dataclass(frozen=True)
class _Plan:
    """A loop that may be tiled: the shape of its state, and how many elements a tile has."""

    shape: Shape
    tile: int
    captured: tuple[SSAValue, ...]
    """Tensors of that shape that the body reads from around the loop."""

    @property
    def tiles(self) -> int:
        return prod(self.shape) // self.tile


def _plan(op: graph.WhileOp, tile_bytes: int) -> _Plan | None:
    """How a loop is tiled; None where its elements depend on each other, or no tile divides them."""
    shapes = {shape_of(value) for value in op.carried} - {()}
    if len(shapes) != 1 or not _are_unused(op):
        return None
    (shape,) = shapes
    captured = _captured(op, shape)
    if captured is None or not keeps_finished_elements(op, shape):
        return None
    states = [value for value in op.carried if shape_of(value)]
    # Each state is read and written; what is captured is read.
    bits = sum(bit_width(tensor_type(v).get_element_type()) for v in (*states, *states, *captured))
    most = tile_bytes * 8 // bits
    count = prod(shape)
    tile = next((n for n in range(min(most, count // 2), 0, -1) if count % n == 0), 0)
    return _Plan(shape, tile, tuple(captured)) if tile * LEAST_OF_TILE >= most > 0 else None


def _are_unused(op: graph.WhileOp) -> bool:
    """Whether nobody asks for the last numbers: each tile takes another number of steps."""
    return all(shape_of(value) or value.first_use is None for value in op.outputs)


def _captured(op: graph.WhileOp, shape: Shape) -> list[SSAValue] | None:
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


def _tile(op: graph.WhileOp, plan: _Plan, rewriter: PatternRewriter) -> None:
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
    loop = graph.WhileOp(op.condition, carried, _body(op.body.block, tiles, plan))
    results = [value for value in loop.outputs if shape_of(value)]
    block.add_ops([loop, graph.YieldOp(*results)])
    scan = graph.ScanOp(plan.tiles, [], [one.results[0] for one in reshaped], Region(block))
    scan.location = loop.location = op.location
    back = [graph.ReshapeOp(value, plan.shape) for value in scan.outputs]
    rewriter.insert([*reshaped, scan, *back], InsertPoint.before(op))
    made_of = iter(back)
    # Nobody uses the numbers among the results.
    replaced = [
        next(made_of).results[0] if shape_of(result) else start
        for result, start in zip(op.outputs, op.carried, strict=True)
    ]
    rewriter.replace(op, [], replaced)


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


@dataclass(frozen=True)
class GraphTileWhilePass(StepwellPass):
    """Run loops of independent elements tile by tile: while any(p(x)): x = where(p(x), f(x), x)."""

    name = "graph-tile-while"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    tile_bytes: int = 32768
    """What a tile's state may take: the target's first-level cache."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in op.walk() if isinstance(inner, graph.WhileOp)]:
            plan = _plan(loop, self.tile_bytes)
            if plan is not None:
                remark(loop, f"runs in {plan.tiles} tiles of {plan.tile} elements")
                _tile(loop, plan, PatternRewriter(loop))
