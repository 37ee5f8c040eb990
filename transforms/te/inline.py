"""Producers computed where they are read, instead of being stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.cost import CHEAP, body_cost, is_data_movement
from ...analysis.fusion import is_epilogue_of
from ...analysis.levels import Level
from ...dialects import te
from ...dialects.affine_bounds import is_within, linear_form
from ...dialects.shaped import tensor_type
from ..stepwell_pass import StepwellPass

MAX_READS = 16
"""A compute with more operands than this is not given further ones: registers run out."""

MAX_BODY_OPS = 96
"""Bodies do not grow beyond this by inlining, so that chains of reused values stay linear in size."""


def refusal(consumer: te.ComputeOp, number: int) -> str | None:
    """Why the producer of the consumer's operand `number` stays as it is; None when it is inlined."""
    read = consumer.reads[number]
    producer = read.source.owner
    if not isinstance(producer, te.ComputeOp):
        return "the operand is not computed here"
    if producer.combining is not None:
        return "the producer is a reduction; recomputing it at each read would multiply its work"
    if read.map is None:
        return "the consumer reads it at computed indices"
    if read.pad is not None and not is_data_movement(producer):
        return "the consumer reads outside of it"
    if read.pad is not None and any(r.pad is not None for r in producer.reads):
        return "producer and consumer both read outside of their operands"
    if read.pad is not None and not _leaves_operand_with(producer, read.map, consumer):
        return "the consumer reads outside of it, which may be inside of the producer's operand"
    if any(r.map is None for r in producer.reads) and consumer.combining is not None:
        return "the producer reads at computed indices, inside a reduction"
    if len(consumer.reads) + len(producer.reads) > MAX_READS + 1:
        return f"the consumer would have more than {MAX_READS} operands"
    readers = {use.operation for use in producer.result.uses}
    stays = len(readers) > 1 or not _is_identity(read.map, consumer)
    if stays and any(
        isinstance(r.source.owner, te.ComputeOp) and is_epilogue_of(producer, r.source.owner)
        for r in producer.reads
    ):
        return "the producer is the epilogue of a reduction"
    size = sum(1 for _ in consumer.body.walk()) + sum(1 for _ in producer.body.walk())
    if size > MAX_BODY_OPS:
        return f"the body would have more than {MAX_BODY_OPS} operations"
    return _recomputation(consumer, producer, read.map)


def _is_identity(map_: AffineMap, consumer: te.ComputeOp) -> bool:
    return map_ == AffineMap.identity(len(consumer.extents))


def _leaves_operand_with(producer: te.ComputeOp, map_: AffineMap, consumer: te.ComputeOp) -> bool:
    """
    Whether the consumer's read through `map_` is outside of `producer`, which only moves data, exactly
    where the composed read is outside of the producer's operand.

    So it is when each index that may be outside is passed on as it is, to an axis of the same size.
    """
    extents = producer.static_extents
    within = {
        dim
        for dim, (expr, extent) in enumerate(zip(map_.results, extents, strict=True))
        if is_within(expr, consumer.static_extents, extent)
    }
    (read,) = producer.reads
    assert read.map is not None
    shape = tensor_type(read.source).get_shape()
    passed_on = {
        expr.position
        for expr, size in zip(read.map.results, shape, strict=True)
        if isinstance(expr, AffineDimExpr) and extents[expr.position] == size != DYNAMIC_INDEX
    }
    return len(within | passed_on) == len(extents)


def _recomputation(consumer: te.ComputeOp, producer: te.ComputeOp, map_: AffineMap) -> str | None:
    """Why the extra work of computing each element at each of its reads is too much, or None."""
    linear = all(linear_form(expr, map_.num_dims) is not None for expr in map_.results)
    if is_data_movement(producer):
        composed = producer.reads[0].map
        assert composed is not None
        simple = linear and all(
            linear_form(expr, composed.num_dims) is not None for expr in composed.results
        )
        if simple or consumer.combining is None:
            return None
        return "the copy's subscripts are not linear, inside a reduction"
    cost = body_cost(producer)
    reads_per_element = _reads_per_element(consumer, producer)
    different_reads = len({read for read in consumer.reads if read.source is producer.result})
    users = len({use.operation for use in producer.result.uses})
    times = reads_per_element * different_reads * users
    if times <= 1:
        return None
    if cost <= CHEAP and consumer.combining is None and reads_per_element <= 1:
        return None
    return f"each of its elements, costing {cost:g} additions, would be computed {times:g} times"


def _reads_per_element(consumer: te.ComputeOp, producer: te.ComputeOp) -> float:
    extents = consumer.static_extents
    shape = producer.result.type.get_shape()
    if DYNAMIC_INDEX in extents or DYNAMIC_INDEX in shape:
        return 1.0 if len(extents) <= len(shape) else float("inf")
    return prod(extents) / max(1, prod(shape))


def inline_read(consumer: te.ComputeOp, number: int) -> te.ComputeOp:
    """
    Replace the consumer by one that computes operand `number`, and those equal to it, in its own body.

        %p = te.compute [%a = 8] (%x = %s[%a]) { f(%x) }
        %c = te.compute [%i = 4, %j = 2] (%y = %p[2 * %i + %j]) { g(%y) }

    becomes

        %c = te.compute [%i = 4, %j = 2] (%x = %s[2 * %i + %j]) { g(f(%x)) }
    """
    read = consumer.reads[number]
    producer = read.source.owner
    assert isinstance(producer, te.ComputeOp) and read.map is not None
    moved = [
        te.Read(
            r.source,
            None if r.map is None else r.map.compose(read.map),
            r.pad if r.pad is not None else read.pad,
        )
        for r in producer.reads
    ]
    reads = list(dict.fromkeys([*(r for r in consumer.reads if r != read), *moved]))
    hints = {
        r: arg.name_hint
        for r, arg in (
            *zip(producer.reads, producer.read_args, strict=True),
            *zip(consumer.reads, consumer.read_args, strict=True),
        )
    }
    hints |= {new: arg.name_hint for new, arg in zip(moved, producer.read_args, strict=True)}
    block = te.compute_block(consumer.iterators, reads, [hints.get(r) for r in reads])
    builder = Builder(InsertPoint.at_end(block))
    variables = block.args[: len(consumer.extents)]
    args = dict(zip(reads, block.args[len(consumer.extents) :], strict=True))

    inner: dict[SSAValue, SSAValue] = dict(
        zip(producer.read_args, (args[r] for r in moved), strict=True)
    )
    for arg, expr in zip(producer.iterator_args, read.map.results, strict=True):
        if isinstance(expr, AffineDimExpr):
            inner[arg] = variables[expr.position]
        elif arg.uses:
            map_ = AffineMap(read.map.num_dims, 0, (expr,))
            inner[arg] = builder.insert(affine.ApplyOp(variables, AffineMapAttr(map_))).result
    (value,) = _clone_body(producer, builder, inner)

    outer: dict[SSAValue, SSAValue] = dict(zip(consumer.iterator_args, variables, strict=True))
    for r, arg in zip(consumer.reads, consumer.read_args, strict=True):
        outer[arg] = value if r == read else args[r]
    builder.insert(te.YieldOp(*_clone_body(consumer, builder, outer)))
    return _replace(consumer, reads, block)


def _clone_body(
    compute: te.ComputeOp, builder: Builder, mapping: dict[SSAValue, SSAValue]
) -> list[SSAValue]:
    for op in compute.body.block.ops:
        if isinstance(op, te.YieldOp):
            return [mapping.get(value, value) for value in op.values]
        builder.insert(op.clone(mapping))
    raise AssertionError("a compute's body ends with te.yield")


def _replace(consumer: te.ComputeOp, reads: Sequence[te.Read], block: Block) -> te.ComputeOp:
    new = te.ComputeOp(
        consumer.parallel,
        reads,
        consumer.result.type,
        Region(block),
        reduction=consumer.reduction,
        combiner=consumer.combining,
    )
    new.attributes |= consumer.attributes
    new.result.name_hint = consumer.result.name_hint
    new.location = consumer.location
    Builder(InsertPoint.before(consumer)).insert(new)
    consumer.result.replace_all_uses_with(new.result)
    sources = [source.owner for source in consumer.sources]
    consumer.detach()
    consumer.erase()
    for source in dict.fromkeys(sources):
        if isinstance(source, te.ComputeOp) and not source.result.uses:
            source.detach()
            source.erase()
    return new


@dataclass(frozen=True)
class TeInlinePass(StepwellPass):
    """Inlines element-wise producers into their readers where that recomputes nothing expensive."""

    name = "te-inline"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    inline_block(block)


def inline_block(block: Block) -> None:
    """Inline what can be inlined in one block, producers first."""
    for op in list(block.ops):
        if isinstance(op, te.KernelOp):
            inline_block(op.body.block)
        if isinstance(op, te.ComputeOp):
            _inline_into(op)


def _inline_into(compute: te.ComputeOp) -> None:
    number = 0
    while number < len(compute.reads):
        if refusal(compute, number) is None:
            compute = inline_read(compute, number)
            number = 0
        else:
            number += 1
