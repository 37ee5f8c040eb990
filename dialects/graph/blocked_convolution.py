"""Convolutions of images whose channels stand in blocks: `blocked_conv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Block, SSAValue
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from ...frozen import frozen
from ..combiner import Combiner
from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.compute import Iterator
from ..te.index_maps import dims
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


@graph_op
class BlockedConvOp(SlidingWindowOp, DefinedInTe):
    """
    A convolution as `graph.conv`, of an image and to a result whose channels may stand in blocks: (n, c / b, …, b), as
    vector registers want them. Either may have channels as they are, which is a block of 1.

        %r = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 8, 16
            : tensor<1x2x9x9x8xf32>, tensor<2x16x2x8x3x3xf32> -> tensor<1x2x9x9x16xf32>

    Weights are those of the convolution, (f, c, …), with an axis for blocks and one for what is in a block.
    """

    name = "graph.blocked_conv"
    ELEMENTS: ClassVar = FLOATS

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
        element, shape, blocks = type_.get_element_type(), type_.get_shape(), self.blocks
        window = self.window
        rank = len(window)
        _, channels, *taps = whole_weights(shape_of(self.weights), blocks)
        letters = "dhw"[-rank:] if rank <= 3 else [str(n) for n in range(rank)]
        names = ["n", "f", *(f"o{letter}" for letter in letters), *["g"] * (blocks.result > 1)]
        extents = {"c": channels // blocks.image}
        extents |= {f"k{letter}": size for letter, size in zip(letters, taps, strict=True)}
        extents |= {"d": blocks.image} if blocks.image > 1 else {}
        n, f, *outer = dims(len(shape))
        c, *inner = dims(len(extents), len(shape))
        outer, of_block = outer[:rank], outer[rank:]
        inner, channel = inner[:rank], inner[rank:]
        places = [
            o * stride + k * step - low
            for o, k, (stride, step, low, _) in zip(outer, inner, window, strict=True)
        ]
        pads = any(low > 0 or high > 0 for _, _, low, high in window)
        outside = number_attr(0, element) if pads else None
        return te.compute(
            type_,
            [
                Access(self.image, [n, c, *places, *channel], outside),
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
