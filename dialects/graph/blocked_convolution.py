"""Convolutions of images whose channels stand in blocks: `blocked_conv` and `blocked_depthwise_conv`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from ...frozen import frozen
from ..combiner import Combiner
from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims
from ..te.reads import Iterator
from .base import FLOATS, Value, graph_op, number_attr
from .contraction import product
from .convolution import ConvOp, SlidingWindowOp
from .shapes import element_count, shape_text

Sizes = Sequence[int]

CHANNELS = 1
"""The axis of channels, or of blocks of them."""


def blocked_shape(shape: Sequence[int], block: int) -> tuple[int, ...]:
    """(n, c, …) → (n, c / block, …, block)"""
    return (shape[0], shape[CHANNELS] // block, *shape[2:], block)


def plain_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """(n, c / block, …, block) → (n, c, …)"""
    return (shape[0], shape[CHANNELS] * shape[-1], *shape[2:-1])


def blocked(x: Array, block: int) -> Array:
    """The elements of (n, c, …) with channels in blocks, which are the last axis."""
    split = x.reshape(x.shape[0], -1, block, *x.shape[2:])
    return split.transpose(0, 1, *range(3, split.ndim), 2)


def unblocked(x: Array) -> Array:
    """What `blocked` was made of."""
    rank = x.ndim
    return x.transpose(0, 1, rank - 1, *range(2, rank - 1)).reshape(plain_shape(x.shape))


@frozen
class Blocks:
    """How many channels of an image and of a result stand together; 1 where channels are an axis before the window's."""

    image: int
    result: int


def split_weights(shape: Sequence[int], blocks: Blocks) -> tuple[int, ...]:
    """The shape of weights (f, c, …) with axes for blocks, and for what is in one."""
    outputs, channels, *window = shape
    split = [
        [size // block, block] if block > 1 else [size]
        for size, block in ((outputs, blocks.result), (channels, blocks.image))
    ]
    return (*split[0], *split[1], *window)


def whole_weights(shape: Sequence[int], blocks: Blocks) -> tuple[int, ...]:
    """What `split_weights` was made of; `split_weights` makes another shape of it where no weights were."""
    ends = [2 if block > 1 else 1 for block in (blocks.result, blocks.image)]
    outputs, channels = shape[: ends[0]], shape[ends[0] : sum(ends)]
    return (prod(outputs), prod(channels), *shape[sum(ends) :])


class BlockedWindowOp(SlidingWindowOp, DefinedInTe, ABC):
    """A window over an image whose channels may stand in blocks."""

    ELEMENTS: ClassVar = FLOATS

    @property
    @abstractmethod
    def blocks(self) -> Blocks: ...

    @abstractmethod
    def of(self, image: Value, weights: Value, numbers: Mapping[str, Sizes]) -> BlockedWindowOp:
        """The same of another image, with other strides, dilations and pads."""


@graph_op
class BlockedConvOp(BlockedWindowOp):
    """
    A convolution as `graph.conv`, of an image and to a result whose channels may stand in blocks: (n, c / b, …, b), as
    vector registers want them. Either may have channels as they are, which is a block of 1.

        %r = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 8, 16
            : tensor<1x2x9x9x8xf32>, tensor<2x16x2x8x3x3xf32> -> tensor<1x2x9x9x16xf32>

    Weights are those of the convolution, (f, c, …), with an axis for blocks and one for what is in a block.
    """

    name = "graph.blocked_conv"

    image_block = prop_def(IntegerAttr.constr(i64))
    result_block = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$image `,` $weights `strides` `=` $strides `dilations` `=` $dilations `pad` `=` $before `,` $after "
        "`blocks` `=` $image_block `,` $result_block attr-dict "
        "`:` type($image) `,` type($weights) `->` type($result)"
    )

    def __init__(self, image: Value, weights: Value, numbers: Mapping[str, Sizes], blocks: Blocks):
        """`numbers` are the strides, dilations and pads `before` and `after`, one for each axis of the window."""
        types = tensor_type(image), tensor_type(weights)
        super().__init__(
            operands=[image, weights],
            properties={
                **{name: DenseArrayBase.from_list(i64, each) for name, each in numbers.items()},
                "image_block": IntegerAttr(blocks.image, i64),
                "result_block": IntegerAttr(blocks.result, i64),
            },
            result_types=[self.infer_type(*types, numbers, blocks)],
        )

    @classmethod
    def infer_type(
        cls, image: Tensor, weights: Tensor, numbers: Mapping[str, Sizes], blocks: Blocks
    ) -> Tensor:
        """The result type. Raises VerifyException for types or numbers that do not go together."""
        x, w = image.get_shape(), weights.get_shape()
        if DYNAMIC_INDEX in (*x, *w):
            raise VerifyException(
                f"found shapes {shape_text(x)} and {shape_text(w)}, expected known extents; use graph.conv"
            )
        if min(blocks.image, blocks.result) < 1:
            raise VerifyException(
                f"found blocks of {blocks.image} and {blocks.result}, expected 1 at least; give others"
            )
        if blocks.image > 1 and (len(x) < 4 or x[-1] != blocks.image):
            raise VerifyException(
                f"found an image of shape {shape_text(x)}, expected a block of {blocks.image} channels as the last "
                "axis; give another block"
            )
        whole = whole_weights(w, blocks)
        if len(whole) < 3 or split_weights(whole, blocks) != tuple(w):
            raise VerifyException(
                f"found weights of shape {shape_text(w)}, expected axes for blocks of {blocks.result} outputs and "
                f"{blocks.image} channels; reshape them"
            )
        plain, element = plain_shape(x) if blocks.image > 1 else x, image.get_element_type()
        types = TensorType(element, plain), TensorType(weights.get_element_type(), whole)
        shape = ConvOp.infer_type(*types, numbers, 1).get_shape()
        return TensorType(
            element, blocked_shape(shape, blocks.result) if blocks.result > 1 else shape
        )

    def inferred_types(self) -> Sequence[Tensor]:
        types = tensor_type(self.image), tensor_type(self.weights)
        return (self.infer_type(*types, self.numbers, self.blocks),)

    @property
    def blocks(self) -> Blocks:
        return Blocks(self.image_block.value.data, self.result_block.value.data)

    def of(self, image: Value, weights: Value, numbers: Mapping[str, Sizes]) -> BlockedConvOp:
        return BlockedConvOp(image, weights, numbers, self.blocks)

    def numpy(self, x: Array, w: Array) -> Array:
        """The convolution of the image with its channels as they are."""
        plain = unblocked(x) if self.blocks.image > 1 else x
        w = w.reshape(whole_weights(w.shape, self.blocks))
        types = [
            TensorType(tensor_type(self.image).get_element_type(), a.shape) for a in (plain, w)
        ]
        image, weights = Block(arg_types=types).args
        strides, dilations, before, after = self.numbers.values()
        y = ConvOp(image, weights, strides, dilations, before, after).numpy(plain, w)
        return blocked(y, self.blocks.result) if self.blocks.result > 1 else y

    def define(self, te: TeBuilder) -> SSAValue:
        """
        With iterators for blocks and for the channels of one: y[n, f, …, g] = sum over c, k, d of
        x[n, c, …, d] · w[f, g, c, d, k].
        """
        type_ = tensor_type(self.result)
        shape, blocks = type_.get_shape(), self.blocks
        window = self.window
        rank = len(window)
        _, channels, *taps = whole_weights(shape_of(self.weights), blocks)
        letters = _letters(rank)
        names = ["n", "f", *(f"o{letter}" for letter in letters), *["g"] * (blocks.result > 1)]
        extents = {"c": channels // blocks.image}
        extents |= {f"k{letter}": size for letter, size in zip(letters, taps, strict=True)}
        extents |= {"d": blocks.image} if blocks.image > 1 else {}
        n, f, *outer = dims(len(shape))
        c, *inner = dims(len(extents), len(shape))
        outer, of_block = outer[:rank], outer[rank:]
        inner, channel = inner[:rank], inner[rank:]
        image = _image(self, [n, c], (outer, inner), channel)
        return te.compute(
            type_,
            [
                image,
                Access(self.weights, [f, *of_block, c, *channel, *inner]),
            ],
            product,
            names=names,
            reduction=[Iterator(name, extent) for name, extent in extents.items()],
            combiner=Combiner.ADD,
        )

    def multiply_adds(self) -> int | None:
        _, *terms = whole_weights(shape_of(self.weights), self.blocks)
        return element_count((*shape_of(self.result), *terms))


@graph_op
class BlockedDepthwiseConvOp(BlockedWindowOp):
    """
    A convolution of each channel alone, as `graph.conv` with a group for each, of an image (n, c / b, …, b) to a result of
    as many channels in the same blocks.

        %r = graph.blocked_depthwise_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1]
            : tensor<1x2x9x9x8xf32>, tensor<2x3x3x8xf32> -> tensor<1x2x9x9x8xf32>

    Weights have their channels in blocks as images have, (c / b, …, b): what a vector is multiplied with is a vector.
    """

    name = "graph.blocked_depthwise_conv"

    assembly_format = (
        "$image `,` $weights `strides` `=` $strides `dilations` `=` $dilations `pad` `=` $before `,` $after attr-dict "
        "`:` type($image) `,` type($weights) `->` type($result)"
    )

    def __init__(self, image: Value, weights: Value, numbers: Mapping[str, Sizes]):
        """`numbers` are the strides, dilations and pads `before` and `after`, one for each axis of the window."""
        types = tensor_type(image), tensor_type(weights)
        super().__init__(
            operands=[image, weights],
            properties={
                name: DenseArrayBase.from_list(i64, each) for name, each in numbers.items()
            },
            result_types=[self.infer_type(*types, numbers)],
        )

    @classmethod
    def infer_type(cls, image: Tensor, weights: Tensor, numbers: Mapping[str, Sizes]) -> Tensor:
        """The result type. Raises VerifyException for types or numbers that do not go together."""
        x, w = image.get_shape(), weights.get_shape()
        if DYNAMIC_INDEX in (*x, *w):
            raise VerifyException(
                f"found shapes {shape_text(x)} and {shape_text(w)}, expected known extents; use graph.conv"
            )
        if len(x) < 4 or len(w) != len(x) - 1 or (w[0], w[-1]) != (x[CHANNELS], x[-1]):
            raise VerifyException(
                f"found shapes {shape_text(x)} and {shape_text(w)}, expected a batch, blocks, the window's axes and the "
                "channels of a block, and weights with all of these but the batch; reshape one"
            )
        element, plain = image.get_element_type(), plain_shape(x)
        types = (
            TensorType(element, plain),
            TensorType(weights.get_element_type(), (plain[CHANNELS], 1, *w[1:-1])),
        )
        shape = ConvOp.infer_type(*types, numbers, plain[CHANNELS]).get_shape()
        return TensorType(element, blocked_shape(shape, x[-1]))

    def inferred_types(self) -> Sequence[Tensor]:
        types = tensor_type(self.image), tensor_type(self.weights)
        return (self.infer_type(*types, self.numbers),)

    @property
    def blocks(self) -> Blocks:
        block = shape_of(self.image)[-1]
        return Blocks(block, block)

    def of(
        self, image: Value, weights: Value, numbers: Mapping[str, Sizes]
    ) -> BlockedDepthwiseConvOp:
        return BlockedDepthwiseConvOp(image, weights, numbers)

    def numpy(self, x: Array, w: Array) -> Array:
        """The convolution of the image with its channels as they are."""
        plain, taps = unblocked(x), np.moveaxis(unblocked(w[np.newaxis]), 0, 1)
        element = tensor_type(self.image).get_element_type()
        image, weights = Block(arg_types=[TensorType(element, a.shape) for a in (plain, taps)]).args
        strides, dilations, before, after = self.numbers.values()
        conv = ConvOp(image, weights, strides, dilations, before, after, plain.shape[CHANNELS])
        return blocked(conv.numpy(plain, taps), x.shape[-1])

    def define(self, te: TeBuilder) -> SSAValue:
        """y[n, c, …, d] = sum over k of x[n, c, …, d] · w[c, k, d], with d for the channels of a block."""
        type_ = tensor_type(self.result)
        shape, taps = type_.get_shape(), shape_of(self.weights)[1:-1]
        letters = _letters(len(taps))
        n, c, *outer, channel = dims(len(shape))
        inner = dims(len(taps), len(shape))
        return te.compute(
            type_,
            [
                _image(self, [n, c], (outer, inner), [channel]),
                Access(self.weights, [c, *inner, channel]),
            ],
            product,
            names=["n", "c", *(f"o{letter}" for letter in letters), "d"],
            reduction=[Iterator(f"k{a}", size) for a, size in zip(letters, taps, strict=True)],
            combiner=Combiner.ADD,
        )

    def multiply_adds(self) -> int | None:
        return element_count((*shape_of(self.result), *shape_of(self.weights)[1:-1]))


Exprs = Sequence[AffineExpr]


def _letters(rank: int) -> Sequence[str]:
    """The names of the axes of a window."""
    return "dhw"[-rank:] if rank <= 3 else [str(n) for n in range(rank)]


def _image(op: BlockedWindowOp, before: Exprs, places: tuple[Exprs, Exprs], after: Exprs) -> Access:
    """What a window reads of the image: `places` are those in the result and in the window."""
    window = op.window
    subscripts = [
        o * stride + k * step - low
        for o, k, (stride, step, low, _) in zip(*places, window, strict=True)
    ]
    pads = any(low > 0 or high > 0 for _, _, low, high in window)
    outside = number_attr(0, tensor_type(op.image).get_element_type()) if pads else None
    return Access(op.image, [*before, *subscripts, *after], outside)
