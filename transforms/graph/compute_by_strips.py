"""Convolutions that follow one another computed by strips of rows, so that images between them stay in cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import blocks_in
from ...analysis.plans.strips import (
    ROWS,
    Layer,
    Part,
    StripsPlan,
    choose,
    convolution_of_rows,
)
from ...dialects.graph import ConcatOp, ConvOp, GraphOp, PadOp, SliceOp
from ...dialects.graph.expressions import built_before
from ...dialects.interfaces import Elementwise
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known

MOST_BRANCHES = 8
"""How many element-wise operations may stand between an image and the one in which all that is made of it meets again."""


def chains(block: Block) -> Iterator[list[Layer]]:
    """The convolutions of a block of which each is all that reads the one before, two at least."""
    order = {op: number for number, op in enumerate(block.ops)}
    taken: set[ConvOp] = set()
    for op in block.ops:
        chain: list[Layer] = []
        while isinstance(op, ConvOp) and op not in taken and _has_rows(op):
            taken.add(op)
            chain.append(layer := Layer(op, _finishing(op, order)))
            reader = layer.result.get_user_of_unique_use()
            if not isinstance(reader, ConvOp) or reader.image is not layer.result:
                break
            op = reader
        if len(chain) > 1:
            yield chain


def _has_rows(conv: ConvOp) -> bool:
    """Whether rows of the result are computed from known rows of the image, with weights that are prepared once."""
    shapes = (*shape_of(conv.image), *shape_of(conv.weights))
    return DYNAMIC_INDEX not in shapes and is_known(conv.weights)


def _finishing(conv: ConvOp, order: dict[Operation, int]) -> tuple[Operation, ...]:
    """The element-wise operations behind a convolution, up to where its elements are read by something else too."""
    found: tuple[Operation, ...] = ()
    value: SSAValue = conv.result
    while (more := _up_to_one_value(value, order)) is not None:
        found += more
        value = more[-1].results[0]
    return found


def _up_to_one_value(value: SSAValue, order: dict[Operation, int]) -> tuple[Operation, ...] | None:
    """The fewest element-wise operations that read all of a value and have one result that is read elsewhere."""
    found: list[Operation] = []
    values = [value]
    while len(found) < MOST_BRANCHES:
        readers = {use.operation for one in values for use in one.uses}.difference(found)
        if not readers or any(reader not in order for reader in readers):
            return None
        reader = min(readers, key=lambda op: order[op])
        if not isinstance(reader, Elementwise) or len(reader.results) != 1:
            return None
        if shape_of(reader.results[0]) != shape_of(value):
            return None
        found.append(reader)
        values.append(reader.results[0])
        if all(use.operation in found for one in values[:-1] for use in one.uses):
            return tuple(found)
    return None


def rewrite(plan: StripsPlan) -> None:
    """
    conv(conv(x, v), w) → concat(conv(a, w), conv(concat(a[last rows], b), w), …) with a, b, … the parts of conv(x, v)
    """
    last = (plan.layers[-1].conv, *plan.layers[-1].finishing)[-1]
    builder = built_before(last)
    images: list[tuple[SSAValue, int]] = [(layer.result, 0) for layer in plan.layers]
    """of each layer the rows that the last strip had, and the number of the first of them"""
    results: list[SSAValue] = []
    for strip in plan.strips:
        image = _rows(builder, plan.layers[0].conv.image, strip[0].low, strip[0].high)
        for at, (layer, part) in enumerate(zip(plan.layers, strip, strict=True)):
            image = _computed(builder, layer, part.with_border if at else part, image)
            if at + 1 < len(strip):
                behind = strip[at + 1]
                image = _with_kept(builder, image, part, images[at], behind)
                images[at] = image, behind.low - behind.before
            image.name_hint = layer.result.name_hint
        results.append(image)
    joined = builder.insert(ConcatOp(results, ROWS)).result
    joined.name_hint = plan.layers[-1].result.name_hint
    plan.layers[-1].result.replace_all_uses_with(joined)
    for layer in reversed(plan.layers):
        for op in (*reversed(layer.finishing), layer.conv):
            Rewriter.erase_op(op)


def _with_kept(
    builder: Builder, computed: SSAValue, part: Part, before: tuple[SSAValue, int], behind: Part
) -> SSAValue:
    """
    The rows that a part of the layer behind reads, with its border: those that are computed now, the ones before them
    from the last strip's image, and zeros. With the border among the rows all strips do with one kernel.
    """
    image, first = before
    skipped = max(behind.low - part.first, 0)
    rows = _rows(builder, computed, skipped, behind.high - part.first)
    if behind.low < part.first:
        kept = _rows(builder, image, behind.low - first, part.first - first)
        rows = builder.insert(ConcatOp([kept, rows], ROWS)).result
    if not behind.before and not behind.after:
        return rows
    low, high = ([0] * len(shape_of(rows)) for _ in range(2))
    low[ROWS], high[ROWS] = behind.before, behind.after
    return builder.insert(PadOp(rows, low, high)).result


def _rows(builder: Builder, value: SSAValue, first: int, end: int) -> SSAValue:
    """Some rows of a value; the value where these are all."""
    shape = shape_of(value)
    if (first, end) == (0, shape[ROWS]):
        return value
    slices = [slice(None)] * len(shape)
    slices[ROWS] = slice(first, end)
    return builder.insert(SliceOp(value, slices)).result


def _computed(builder: Builder, layer: Layer, part: Part, rows: SSAValue) -> SSAValue:
    """The part's rows of a layer's result."""
    conv = builder.insert(convolution_of_rows(layer.conv, part, rows, layer.conv.weights))
    conv.location = layer.conv.location
    values: dict[SSAValue, SSAValue] = {layer.conv.result: conv.result}
    rank = len(shape_of(conv.result))
    for op in layer.finishing:
        assert isinstance(op, GraphOp)
        operands = [
            values[v] if v in values else _broadcast_rows(builder, v, part, rank, layer.rows)
            for v in op.operands
        ]
        (result,) = op.results
        shape = list(shape_of(result))
        shape[ROWS] = part.count
        type_ = TensorType(tensor_type(result).get_element_type(), shape)
        copy = type(op).create(
            operands=operands,
            result_types=[type_],
            properties=op.properties,
            attributes=op.attributes,
        )
        values[result] = builder.insert(copy).results[0]
        copy.location = op.location
    return values[layer.result]


def _broadcast_rows(
    builder: Builder, value: SSAValue, part: Part, rank: int, rows: int
) -> SSAValue:
    """The part's rows of an operand that is broadcast to all of them, or has the same for each row."""
    axis = ROWS - (rank - len(shape_of(value)))
    if axis < 0 or shape_of(value)[axis] != rows or rows == 1:
        return value
    slices = [slice(None)] * len(shape_of(value))
    slices[axis] = slice(part.first, part.end)
    return builder.insert(SliceOp(value, slices)).result


@frozen
class GraphComputeByStripsPass(StepwellPass):
    """
    Compute convolutions that follow one another by strips of rows, where images between them leave the second-level cache.

    So are the narrow, wide and narrow layers of MobileNet's blocks, between which stand the largest images of the
    network. A strip is as large as the cache allows. Whether strips are predicted to take less time on `target` decides,
    with so many `threads`, 0 being as many as it has cores: kernels of strips are too short to be shared by many.
    """

    name = "graph-compute-by-strips"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    target: str | Target = "host"
    opt: str = "full"
    zero_has_meaning = frozenset({"threads"})

    threads: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.opt == "quick":
            return
        target = Target.of(self.target)
        for block in blocks_in(op):
            for chain in list(chains(block)):
                _compute(chain, target, self.threads or target.cores)


def _compute(chain: Sequence[Layer], target: Target, threads: int) -> None:
    plans = choose(chain, target, threads)
    if not plans:
        message = (
            f"{len(chain)} layers computed each as a whole: no strips are predicted to take less"
        )
        remark(chain[0].conv, message, missed=True)
    for plan in plans:
        remark(plan.layers[0].conv, str(plan))
        rewrite(plan)
