"""Channels of images in blocks of a vector, where convolutions are predicted to take less time with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import blocks_in
from ...analysis.plans.cost import time_text
from ...analysis.plans.operation_cost import predicted_alone
from ...dialects.dtypes import bit_width, is_float
from ...dialects.graph import (
    BlockedConvOp,
    BlockedDepthwiseConvOp,
    BlockedWindowOp,
    ConcatOp,
    ConvOp,
    GraphOp,
    PoolOp,
    ReductionOp,
    ReshapeOp,
    SplitOp,
)
from ...dialects.graph.blocked_convolution import (
    CHANNELS,
    Blocks,
    blocked,
    blocked_shape,
    split_weights,
)
from ...dialects.graph.expressions import built_before
from ...dialects.interfaces import Elementwise
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import is_listening, remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known, known_array, new_constant
from .pad_images import why_not_written_inside, with_border

Shape = tuple[int, ...]


@dataclass(eq=False)
class Images:
    """Values of a block that have their channels in blocks together, or not at all: what stands between them needs that."""

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    writers: list[ConvOp] = field(default_factory=list[ConvOp])
    readers: list[ConvOp] = field(default_factory=list[ConvOp])
    between: list[GraphOp] = field(default_factory=list[GraphOp])
    """operations for which a block of channels is as good as channels"""
    obstacle: str = ""
    """why channels stay as they are"""

    @property
    def convolutions(self) -> list[ConvOp]:
        """All that read or write them."""
        between = [op for op in self.between if isinstance(op, ConvOp)]
        return [*self.writers, *self.readers, *between]


class _Joined:
    """Values by the set that they are in, of which one is the first."""

    def __init__(self) -> None:
        self._first: dict[SSAValue, SSAValue] = {}

    def first(self, value: SSAValue) -> SSAValue:
        while (other := self._first.get(value, value)) is not value:
            value = other
        return value

    def join(self, one: SSAValue, other: SSAValue) -> None:
        self._first[self.first(other)] = self.first(one)


def is_direct(op: Operation) -> bool:
    """Whether it is a convolution whose image or result may have its channels in blocks."""
    return isinstance(op, ConvOp) and op.groups.value.data == 1 and _is_definite(op)


def is_depthwise(op: Operation) -> bool:
    """Whether it is a convolution of each channel alone, which takes and makes images with their channels in blocks."""
    if not isinstance(op, ConvOp) or not _is_definite(op):
        return False
    alone = {op.groups.value.data, shape_of(op.image)[CHANNELS], shape_of(op.result)[CHANNELS]}
    return len(alone) == 1 and is_image(op.image) and is_image(op.result)


def _is_definite(conv: ConvOp) -> bool:
    """Whether it adds up floats, and weights and all extents are known."""
    return (
        is_known(conv.weights)
        and is_float(tensor_type(conv.result).get_element_type())
        and DYNAMIC_INDEX not in (*shape_of(conv.image), *shape_of(conv.weights))
    )


def is_image(value: SSAValue) -> bool:
    """
    Whether a value has a batch, channels and more than one element of each, all extents being known: single elements are
    near together as they are.
    """
    type_ = value.type
    if not isinstance(type_, TensorType):
        return False
    shape = shape_of(value)
    if len(shape) < 3 or DYNAMIC_INDEX in shape:
        return False
    return shape[CHANNELS] > 1 and prod(shape[CHANNELS + 1 :]) > 1


def carried(op: Operation) -> Sequence[SSAValue] | None:
    """
    The operands and results of an operation that have their channels in blocks together, where it does the same to each
    channel, or joins or cuts images; None for other operations.
    """
    if isinstance(op, ConvOp):
        return (op.image, op.result) if is_depthwise(op) else None
    if isinstance(op, PoolOp):
        alone = {n for each in (op.window, op.strides) for n in each.get_values()[: CHANNELS + 1]}
        return (op.operand, op.result) if alone == {1} else None
    if isinstance(op, ConcatOp | SplitOp):
        values = (*op.operands, *op.results)
        return None if any(is_known(v) or not is_image(v) for v in values) else values
    if isinstance(op, ReductionOp):
        behind = range(2, len(shape_of(op.operand)))
        return (op.operand,) if tuple(op.axes.get_values()) == tuple(behind) else None
    if not isinstance(op, Elementwise) or not isinstance(op, GraphOp) or len(op.results) != 1:
        return None
    (result,) = op.results
    images = [value for value in op.operands if shape_of(value) == shape_of(result)]
    others = [value for value in op.operands if shape_of(value) != shape_of(result)]
    is_said = all(is_alike(value, shape_of(result)) for value in others)
    return (*(v for v in images if not is_known(v)), result) if images and is_said else None


def is_alike(value: SSAValue, shape: Sequence[int]) -> bool:
    """Whether it is broadcast to an image along all axes behind the channels, or is a constant."""
    own = (*[1] * (len(shape) - len(shape_of(value))), *shape_of(value))
    return is_known(value) or all(extent == 1 for extent in own[CHANNELS + 1 :])


def images_of(block: Block, channels: int) -> list[Images]:
    """The images of a block that convolutions make, whose channels are blocks of so many."""
    joined = _Joined()
    values = (v for op in block.ops for v in (*op.operands, *op.results))
    images = [v for v in dict.fromkeys(values) if is_image(v)]
    for op in block.ops:
        if not is_direct(op):
            first, *others = [v for v in carried(op) or () if is_image(v)] or [None]
            for other in others:
                assert first is not None and other is not None
                joined.join(first, other)
    found: dict[SSAValue, Images] = {}
    for value in images:
        one = found.setdefault(joined.first(value), Images())
        one.values.append(value)
        _describe(one, value, block, channels)
    for one in found.values():
        one.between = list(dict.fromkeys(one.between))
    return [one for one in found.values() if one.writers and one.readers]


def _describe(images: Images, value: SSAValue, block: Block, channels: int) -> None:
    """Add what makes and what reads one of the values that are used in a block."""
    writer = value.owner
    count = shape_of(value)[CHANNELS]
    if count % channels:
        images.obstacle = f"{count} are no whole blocks of {channels}"
    if isinstance(writer, Block) or writer.parent is not block:
        images.obstacle = "an argument has them so"
    elif is_direct(writer):
        assert isinstance(writer, ConvOp)
        images.writers.append(writer)
    elif value in (carried(writer) or ()) and isinstance(writer, GraphOp):
        images.between.append(writer)
    else:
        images.obstacle = f"{writer.name} needs them so"
    for use in value.uses:
        reader = use.operation
        if is_direct(reader) and use.index == 0:
            assert isinstance(reader, ConvOp)
            images.readers.append(reader)
        elif value in (carried(reader) or ()) and isinstance(reader, GraphOp):
            images.between.append(reader)
        else:
            images.obstacle = f"{reader.name} needs them so"


# The rewrite.


@dataclass
class _Blocking:
    """What is known while operations get images with their channels in blocks."""

    channels: int
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """of what has its channels in blocks now, by what it was"""

    def convolution(self, conv: ConvOp, is_blocked: bool) -> None:
        """conv(x, w) → blocked_conv(x', w), the result in blocks where that is asked for"""
        builder = built_before(conv)
        image = self.values.get(conv.image, conv.image)
        in_blocks, plain = self.channels, 1
        blocks = Blocks(
            in_blocks if conv.image in self.values else plain, in_blocks if is_blocked else plain
        )
        shape = split_weights(shape_of(conv.weights), blocks)
        array = known_array(conv.weights).reshape(shape)
        weights = new_constant(array, conv.weights.name_hint or "weights", builder).value
        made = builder.insert(BlockedConvOp(image, weights, numbers_of(conv), blocks))
        made.result.name_hint = conv.result.name_hint
        if is_blocked:
            self.values[conv.result] = made.result
        else:
            conv.result.replace_all_uses_with(made.result)

    def depthwise(self, conv: ConvOp) -> None:
        """conv(x, w) → blocked_depthwise_conv(x', w')"""
        builder = built_before(conv)
        taps = np.moveaxis(known_array(conv.weights), 1, 0)
        array = np.ascontiguousarray(blocked(taps, self.channels)[0])
        weights = new_constant(array, conv.weights.name_hint or "weights", builder).value
        image = self.values[conv.image]
        made = builder.insert(BlockedDepthwiseConvOp(image, weights, numbers_of(conv)))
        made.result.name_hint = conv.result.name_hint
        self.values[conv.result] = made.result

    def joined(self, op: ConcatOp | SplitOp) -> None:
        """concat(x, y) → concat(x', y') along the same axis, and so for parts; of channels it has blocks"""
        builder, axis = built_before(op), op.axis.value.data
        images = [self.values[value] for value in op.operands]
        if isinstance(op, ConcatOp):
            made = builder.insert(ConcatOp(images, axis))
        else:
            one = self.channels if axis == CHANNELS else 1
            made = builder.insert(
                SplitOp(images[0], [n // one for n in op.sizes.get_values()], axis)
            )
        for old, result in zip(op.results, made.results, strict=True):
            result.name_hint = old.name_hint
            self.values[old] = result

    def same(self, op: GraphOp) -> None:
        """f(x, y) → f(x', y')"""
        builder = built_before(op)
        (result,) = op.results
        properties = dict(op.properties)
        if isinstance(op, PoolOp):
            for name in ("window", "strides", "dilations", "low", "high"):
                numbers = (*getattr(op, name).get_values(), 0 if name in ("low", "high") else 1)
                properties[name] = DenseArrayBase.from_list(i64, numbers)
        rank = len(shape_of(result))
        operands = [self._operand(builder, value, rank) for value in op.operands]
        shape = blocked_shape(shape_of(result), self.channels)
        if isinstance(op, ReductionOp):
            shape = self._reduced(op)
        element = tensor_type(result).get_element_type()
        made = builder.insert(
            type(op).create(
                operands=operands,
                result_types=[TensorType(element, shape)],
                properties=properties,
                attributes=op.attributes,
            )
        )
        made.results[0].name_hint = result.name_hint
        if not isinstance(op, ReductionOp):
            self.values[result] = made.results[0]
            return
        # Blocks of single elements are in memory as channels are.
        plain = builder.insert(ReshapeOp(made.results[0], shape_of(result)))
        result.replace_all_uses_with(plain.result)

    def _reduced(self, op: ReductionOp) -> Shape:
        n, c, *behind = shape_of(op.operand)
        ones = [1] * len(behind) if op.keepdims is not None else []
        return (n, c // self.channels, *ones, self.channels)

    def _operand(self, builder: Builder, value: SSAValue, rank: int) -> SSAValue:
        """An operand with its channels in blocks; numbers, and what is the same for all channels, as they are."""
        if value in self.values:
            return self.values[value]
        shape = shape_of(value)
        whole = (*[1] * (rank - len(shape)), *shape)
        if not shape:
            return value
        if is_known(value):
            array = known_array(value).reshape(whole)
            if whole[CHANNELS] > 1:
                array = np.ascontiguousarray(blocked(array, self.channels))
            else:
                array = array.reshape(*whole, 1)
            return new_constant(array, value.name_hint or "constant", builder).value
        own = self.channels if whole[CHANNELS] > 1 else 1
        return builder.insert(ReshapeOp(value, blocked_shape(whole, own))).result


def numbers_of(conv: ConvOp) -> dict[str, tuple[int, ...]]:
    """Strides, dilations and pads of a convolution by their names."""
    names = ("strides", "dilations", "before", "after")
    return dict(zip(names, zip(*conv.window, strict=True), strict=True))


def _pads(conv: ConvOp) -> bool:
    return any(low or high for _, _, low, high in conv.window)


def rewrite(block: Block, chosen: Sequence[Images], channels: int) -> None:
    """Put the channels of these images into blocks."""
    values = {value for images in chosen for value in images.values}
    blocking = _Blocking(channels)
    between = {op for images in chosen for op in images.between}
    convolutions = {op for images in chosen for op in (*images.writers, *images.readers)}
    old = [op for op in block.ops if op in convolutions or op in between]
    for op in old:
        if is_depthwise(op):
            assert isinstance(op, ConvOp)
            blocking.depthwise(op)
        elif isinstance(op, ConvOp):
            blocking.convolution(op, op.result in values)
        elif isinstance(op, ConcatOp | SplitOp):
            blocking.joined(op)
        else:
            assert isinstance(op, GraphOp)
            blocking.same(op)
    for op in reversed(old):
        Rewriter.erase_op(op)


# The choice.


@dataclass
class _Times:
    """Predicted times of convolutions by themselves, by the blocks of their images and results; of equal ones once."""

    channels: int
    target: Target
    known: dict[object, float] = field(default_factory=dict[object, float])
    """by the types and the window"""
    found: dict[object, float] = field(default_factory=dict[object, float])
    """by the convolution itself"""

    def of_all(self, convolutions: Sequence[ConvOp], chosen: Sequence[Images]) -> float:
        """The seconds of some convolutions where the channels of the chosen images are in blocks."""
        values = {value for images in chosen for value in images.values}
        return sum(self._of(c, c.image in values, c.result in values) for c in convolutions)

    def _of(self, conv: ConvOp, reads: bool, writes: bool) -> float:
        one = (conv, reads, writes)
        if one not in self.found:
            self.found[one] = self._of_equal(conv, reads, writes)
        return self.found[one]

    def _of_equal(self, conv: ConvOp, reads: bool, writes: bool) -> float:
        types = (conv.image.type, conv.weights.type, conv.result.type)
        has_border = reads and _pads(conv) and why_not_written_inside(conv) is None
        key = (reads, writes, has_border, *types, *conv.properties.values())
        if key not in self.known:
            op = self._made(conv, reads, writes) if reads or writes else conv
            self.known[key] = self._alone(op)
            if has_border:  # `graph-pad-images` takes the better one
                assert isinstance(op, BlockedWindowOp)
                self.known[key] = min(self.known[key], self._alone(with_border(op)))
        return self.known[key]

    def _alone(self, op: GraphOp) -> float:
        cost = predicted_alone(op, {1}, self.target)
        return inf if cost is None else cost.seconds

    def _made(self, conv: ConvOp, reads: bool, writes: bool) -> BlockedWindowOp:
        image, shape = tensor_type(conv.image), shape_of(conv.image)
        blocks = Blocks(self.channels if reads else 1, self.channels if writes else 1)
        element, weights = image.get_element_type(), shape_of(conv.weights)
        if is_depthwise(conv):
            split = blocked_shape((1, weights[0], *weights[2:]), self.channels)[1:]
        else:
            split = split_weights(weights, blocks)
        types = [
            TensorType(element, blocked_shape(shape, self.channels) if reads else shape),
            TensorType(element, split),
        ]
        x, w = Block(arg_types=types).args
        if is_depthwise(conv):
            return BlockedDepthwiseConvOp(x, w, numbers_of(conv))
        return BlockedConvOp(x, w, numbers_of(conv), blocks)


def choose(found: Sequence[Images], channels: int, target: Target) -> tuple[list[Images], str]:
    """
    The images whose convolutions are predicted to take less time with channels in blocks; and the times. One after the
    other is left out where all take less without it.
    """
    times = _Times(channels, target)
    every = list(dict.fromkeys(c for one in found for c in one.convolutions))
    chosen = list(found)
    least = times.of_all(every, chosen)
    for images in found:
        fewer = [one for one in chosen if one is not images]
        seconds = times.of_all(every, fewer)
        if seconds <= least:
            chosen, least = fewer, seconds
    text = f"predicted to take {time_text(least)}"
    if is_listening():  # who does not is not to wait for it
        text += f", with channels as they are {time_text(times.of_all(every, ()))}"
    return chosen, text


@frozen
class GraphBlockChannelsPass(StepwellPass):
    """
    Give images between convolutions their channels in blocks of a vector of `target`.

    All that a tile of a convolution reads of an image is near together then, and what it computes goes to memory by
    whole vectors. Operations that do the same to each channel take such images as they are; where another one reads an
    image, it keeps its channels. Whether the convolutions are predicted to take less time decides. They add up their
    terms block by block, so that `fp=strict` leaves everything as it is.
    """

    name = "graph-block-channels"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP
    target: str | Target = "host"
    opt: str = "full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.opt == "quick" or fp_contract(self.fp) == "strict":
            return
        target = Target.of(self.target)
        for block in blocks_in(op):
            _block_channels(block, target)


def _block_channels(block: Block, target: Target) -> None:
    convolutions = [op for op in block.ops if isinstance(op, ConvOp)]
    for element in dict.fromkeys(tensor_type(op.result).get_element_type() for op in convolutions):
        if not is_float(element):
            continue
        channels = target.core.lanes(bit_width(element) // 8)
        found = [
            images
            for images in images_of(block, channels)
            if tensor_type(images.values[0]).get_element_type() == element
        ]
        for images in found:
            if images.obstacle:
                message = f"channels are as they are: {images.obstacle}"
                remark(images.writers[0], message, missed=True)
        able = [images for images in found if not images.obstacle]
        if not able:
            continue
        chosen, text = choose(able, channels, target)
        for images in able:
            if images not in chosen:
                message = "channels are as they are: in blocks no less time is predicted"
                remark(images.writers[0], message, missed=True)
        if chosen:
            message = f"channels of {len(chosen)} of {len(able)} images in blocks of {channels}: convolutions are {text}"
            remark(chosen[0].writers[0], message)
            rewrite(block, chosen, channels)
