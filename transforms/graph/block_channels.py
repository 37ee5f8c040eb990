"""Channels of images in blocks of a vector, where convolutions are predicted to take less time with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import blocks_in
from ...analysis.plans.cost import half_part, time_text
from ...analysis.plans.operation_cost import predicted_alone_each
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
    TransposeOp,
)
from ...dialects.graph.blocked_convolution import (
    CHANNELS,
    Blocks,
    blocked,
    blocked_shape,
    split_weights,
)
from ...dialects.graph.expressions import built_before
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import is_listening, remark
from ..stepwell_pass import StepwellPass
from .blocked_images import Images, images_of, is_depthwise
from .constant_operands import is_known, known_array, new_constant
from .pad_images import why_not_written_inside, with_border

Shape = tuple[int, ...]

HALF_AS_GOOD = 3 / 4
"""
The part of the time of full vectors' instructions from which on that of half ones is rather all of it: it is a half or
all, and was measured.
"""


# The rewrite.


@dataclass
class _Blocking:
    """What is known while operations get images with their channels in blocks."""

    channels: Mapping[SSAValue, int]
    """of values whose channels are to be in blocks, how many are in one"""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """of what has its channels in blocks now, by what it was"""

    def convolution(self, conv: ConvOp) -> None:
        """conv(x, w) → blocked_conv(x', w), the result in blocks where that is asked for"""
        builder = built_before(conv)
        image = self.values.get(conv.image, conv.image)
        blocks = Blocks(*(self.channels.get(value, 1) for value in (conv.image, conv.result)))
        shape = split_weights(shape_of(conv.weights), blocks)
        array = known_array(conv.weights).reshape(shape)
        weights = new_constant(array, conv.weights.name_hint or "weights", builder).value
        made = builder.insert(BlockedConvOp(image, weights, numbers_of(conv), blocks))
        made.result.name_hint = conv.result.name_hint
        if blocks.result > 1:
            self.values[conv.result] = made.result
        else:
            conv.result.replace_all_uses_with(made.result)

    def depthwise(self, conv: ConvOp) -> None:
        """conv(x, w) → blocked_depthwise_conv(x', w')"""
        builder = built_before(conv)
        taps = np.moveaxis(known_array(conv.weights), 1, 0)
        array = np.ascontiguousarray(blocked(taps, self.channels[conv.image])[0])
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
            one = self.channels[op.operands[0]] if axis == CHANNELS else 1
            made = builder.insert(
                SplitOp(images[0], [n // one for n in op.sizes.get_values()], axis)
            )
        for old, result in zip(op.results, made.results, strict=True):
            result.name_hint = old.name_hint
            self.values[old] = result

    def to_tiles(self, op: TransposeOp) -> None:
        """transpose(x) with channels last → reshape(transpose(x'))"""
        builder = built_before(op)
        turned = builder.insert(TransposeOp(self.values[op.operand], (0, 2, 3, 1, 4)))
        made = builder.insert(ReshapeOp(turned.result, shape_of(op.result)))
        made.result.name_hint = turned.result.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(made.result)

    def from_tiles(self, op: TransposeOp) -> None:
        """transpose(y), of channels that are last → transpose(reshape(y))"""
        builder, channels = built_before(op), self.channels[op.result]
        *outer, last = shape_of(op.operand)
        split = builder.insert(ReshapeOp(op.operand, (*outer, last // channels, channels)))
        made = builder.insert(TransposeOp(split.result, (0, 3, 1, 2, 4)))
        made.result.name_hint = op.result.name_hint
        self.values[op.result] = made.result

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
        channels = next(self.channels[v] for v in (*op.operands, result) if v in self.channels)
        operands = [self._operand(builder, value, rank, channels) for value in op.operands]
        if isinstance(op, ReductionOp):
            shape = _reduced(op, channels)
        else:
            shape = blocked_shape(shape_of(result), channels)
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

    def _operand(self, builder: Builder, value: SSAValue, rank: int, channels: int) -> SSAValue:
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
                array = np.ascontiguousarray(blocked(array, channels))
            else:
                array = array.reshape(*whole, 1)
            return new_constant(array, value.name_hint or "constant", builder).value
        own = channels if whole[CHANNELS] > 1 else 1
        return builder.insert(ReshapeOp(value, blocked_shape(whole, own))).result


def _reduced(op: ReductionOp, channels: int) -> Shape:
    n, c, *behind = shape_of(op.operand)
    ones = [1] * len(behind) if op.keepdims is not None else []
    return (n, c // channels, *ones, channels)


def numbers_of(conv: ConvOp) -> dict[str, tuple[int, ...]]:
    """Strides, dilations and pads of a convolution by their names."""
    names = ("strides", "dilations", "before", "after")
    return dict(zip(names, zip(*conv.window, strict=True), strict=True))


def _channels_of(chosen: Sequence[Images]) -> dict[SSAValue, int]:
    """How many channels are in a block, of each value of these images."""
    return {value: images.channels for images in chosen for value in images.values}


def _pads(conv: ConvOp) -> bool:
    return any(low or high for _, _, low, high in conv.window)


def rewrite(block: Block, chosen: Sequence[Images]) -> None:
    """Put the channels of these images into blocks."""
    blocking = _Blocking(_channels_of(chosen))
    between = {op for images in chosen for op in images.between}
    convolutions = {op for images in chosen for op in (*images.writers, *images.readers)}
    from_tiles = {op for images in chosen for op in images.from_tiles}
    to_tiles = {op for images in chosen for op in images.to_tiles}
    changed = convolutions | between | from_tiles | to_tiles
    old = [op for op in block.ops if op in changed]
    for op in old:
        if isinstance(op, TransposeOp) and op in to_tiles:
            blocking.to_tiles(op)
        elif isinstance(op, TransposeOp) and op in from_tiles:
            blocking.from_tiles(op)
        elif is_depthwise(op):
            assert isinstance(op, ConvOp)
            blocking.depthwise(op)
        elif isinstance(op, ConvOp):
            blocking.convolution(op)
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

    target: Target
    known: dict[object, float] = field(default_factory=dict[object, float])
    """by the types and the window"""
    found: dict[tuple[ConvOp, Blocks], float] = field(
        default_factory=dict[tuple[ConvOp, Blocks], float]
    )
    """by the convolution itself"""

    def of_all(self, convolutions: Sequence[ConvOp], chosen: Sequence[Images]) -> float:
        """The seconds of some convolutions where the channels of the chosen images are in blocks."""
        self.learn(convolutions, [chosen])
        return sum(self.found[one] for one in _blocked(convolutions, chosen))

    def learn(self, convolutions: Sequence[ConvOp], choices: Iterable[Sequence[Images]]) -> None:
        """Predict the times of some convolutions with each of these choices of images, all that are not known yet at once."""
        asked = (one for chosen in choices for one in _blocked(convolutions, chosen))
        keys = {one: _key_of(*one) for one in dict.fromkeys(asked) if one not in self.found}
        missing = {key: one for one, key in keys.items() if key not in self.known}
        made = [(key, op) for key, one in missing.items() for op in _made_each(*one)]
        costs = predicted_alone_each([(op, {1}) for _, op in made], self.target)
        for (key, _), cost in zip(made, costs, strict=True):
            seconds = inf if cost is None else cost.seconds
            self.known[key] = min(self.known.get(key, inf), seconds)
        self.found |= {one: self.known[key] for one, key in keys.items()}


def _blocked(
    convolutions: Sequence[ConvOp], chosen: Sequence[Images]
) -> Iterator[tuple[ConvOp, Blocks]]:
    """Convolutions with the blocks of their images and results where the channels of the chosen images are in blocks."""
    channels = _channels_of(chosen)
    for conv in convolutions:
        yield conv, Blocks(channels.get(conv.image, 1), channels.get(conv.result, 1))


def _key_of(conv: ConvOp, blocks: Blocks) -> object:
    """What convolutions of the same time have in common."""
    types = (conv.image.type, conv.weights.type, conv.result.type)
    return (blocks, _may_have_border(conv, blocks), *types, *conv.properties.values())


def _may_have_border(conv: ConvOp, blocks: Blocks) -> bool:
    return blocks.image > 1 and _pads(conv) and why_not_written_inside(conv) is None


def _made_each(conv: ConvOp, blocks: Blocks) -> list[GraphOp]:
    """The convolution with its blocks; and where it may have its image's border, too: `graph-pad-images` takes the better one."""
    if blocks == Blocks(1, 1):
        return [conv]
    made = _made(conv, blocks)
    return [made, with_border(made)] if _may_have_border(conv, blocks) else [made]


def _made(conv: ConvOp, blocks: Blocks) -> BlockedWindowOp:
    """A convolution of an image and to a result that have their channels in blocks, to be looked at."""
    shape, weights = shape_of(conv.image), shape_of(conv.weights)
    element = tensor_type(conv.image).get_element_type()
    if is_depthwise(conv):
        split = blocked_shape((1, weights[0], *weights[2:]), blocks.image)[1:]
    else:
        split = split_weights(weights, blocks)
    image = blocked_shape(shape, blocks.image) if blocks.image > 1 else shape
    x, w = Block(arg_types=[TensorType(element, image), TensorType(element, split)]).args
    if is_depthwise(conv):
        return BlockedDepthwiseConvOp(x, w, numbers_of(conv))
    return BlockedConvOp(x, w, numbers_of(conv), blocks)


def choose(found: Sequence[Images], target: Target) -> tuple[list[Images], str]:
    """
    The images whose convolutions are predicted to take less time with channels in blocks; and the times. One after the
    other is left out where all take less without it.
    """
    times = _Times(target)
    every = list(dict.fromkeys(c for one in found for c in one.convolutions))
    chosen = list(found)
    without_one = ([one for one in chosen if one is not images] for images in found)
    times.learn(every, [chosen, *without_one])
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
    Lay out images between convolutions with their channels in blocks of a vector of `target`.

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
        sizes = _block_sizes(bit_width(element) // 8, target)
        found = [
            images
            for images in images_of(block, sizes)
            if tensor_type(images.values[0]).get_element_type() == element
        ]
        for images in found:
            if images.obstacle:
                message = f"channels are as they are: {images.obstacle}"
                remark(images.first_writer, message, missed=True)
        able = [images for images in found if not images.obstacle]
        if not able:
            continue
        chosen, text = choose(able, target)
        for images in able:
            if images not in chosen:
                message = "channels are as they are: in blocks no less time is predicted"
                remark(images.first_writer, message, missed=True)
        if chosen:
            counts = " and ".join(str(n) for n in sizes if n in {one.channels for one in chosen})
            message = f"channels of {len(chosen)} of {len(able)} images in blocks of {counts}: convolutions are {text}"
            remark(chosen[0].first_writer, message)
            rewrite(block, chosen)


def _block_sizes(element_bytes: int, target: Target) -> list[int]:
    """A vector, and a half of one where a core takes half of the time for that: more numbers of channels have whole ones."""
    lanes = target.core.lanes(element_bytes)
    return [lanes, lanes // 2] if half_part(target) < HALF_AS_GOOD else [lanes]
