"""Convolutions of one to any number of dimensions: `conv` and `conv_transpose`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import product as every
from math import gcd
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..combiner import Combiner
from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims, reshape_indices
from ..te.reads import Iterator
from .base import NUMBERS, GraphOp, Value, graph_op, number_attr, verify_same_element
from .contraction import product
from .expressions import DecomposableInParts, Expr, concat
from .shapes import element_count, shape_text

Sizes = Sequence[int]


class SlidingWindowOp(GraphOp, ABC):
    """An image, weights, and how the window moves over the image."""

    image = operand_def()
    weights = operand_def()
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    before = prop_def(DenseArrayBase.constr(i64))
    after = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    @property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """Strides, dilations and pads by their names, one of each for each axis of the window."""
        properties = {
            "strides": self.strides,
            "dilations": self.dilations,
            "before": self.before,
            "after": self.after,
        }
        return {name: tuple(each.get_values()) for name, each in properties.items()}

    @property
    def window(self) -> list[tuple[int, int, int, int]]:
        """For each axis of the window stride, dilation, and what the image is padded by before and after it."""
        return _by_axis(self.numbers)

    def flops(self) -> int | None:
        count = self.multiply_adds()
        return None if count is None else 2 * count


class ConvolutionOp(SlidingWindowOp, ABC):
    """Weights and an image whose channels are an axis, in groups."""

    ELEMENTS: ClassVar = NUMBERS

    groups = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$image `,` $weights `strides` `=` $strides `dilations` `=` $dilations `pad` `=` $before `,` $after "
        "`groups` `=` $groups attr-dict `:` type($image) `,` type($weights) `->` type($result)"
    )

    def __init__(
        self,
        image: Value,
        weights: Value,
        strides: Sizes | None = None,
        dilations: Sizes | None = None,
        before: Sizes | None = None,
        after: Sizes | None = None,
        groups: int = 1,
    ):
        """Sizes have a number for each axis of the window; strides and dilations are 1 and pads 0 by default."""
        rank = tensor_type(image).get_num_dims() - 2
        numbers = {
            "strides": strides or (1,) * rank,
            "dilations": dilations or (1,) * rank,
            "before": before or (0,) * rank,
            "after": after or (0,) * rank,
        }
        types = tensor_type(image), tensor_type(weights)
        super().__init__(
            operands=[image, weights],
            properties={
                **{name: DenseArrayBase.from_list(i64, each) for name, each in numbers.items()},
                "groups": IntegerAttr(groups, i64),
            },
            result_types=[self.infer_type(*types, numbers, groups)],
        )

    @classmethod
    def infer_type(
        cls, image: Tensor, weights: Tensor, numbers: Mapping[str, Sizes], groups: int
    ) -> Tensor:
        """The result type. Raises VerifyException for types or numbers that do not go together."""
        x, w = image.get_shape(), weights.get_shape()
        if len(x) < 3 or len(x) != len(w):
            raise VerifyException(
                f"found shapes {shape_text(x)} and {shape_text(w)}, expected a batch, channels and the same number "
                "of axes after them in both; reshape one"
            )
        verify_same_element(weights.get_element_type(), image.get_element_type(), "weights")
        for name, values in numbers.items():
            if len(values) != len(x) - 2:
                raise VerifyException(
                    f"found {len(values)} numbers for {name}, expected {len(x) - 2}, one for each axis of the window; "
                    "give all"
                )
            if name in ("strides", "dilations") and min(values) < 1:
                raise VerifyException(
                    f"found {name} {list(values)}, expected at least 1 each; give others"
                )
        if groups < 1 or any(n != DYNAMIC_INDEX and n % groups for n in (x[1], w[0])):
            raise VerifyException(
                f"found {groups} groups of {x[1]} channels and weights for {w[0]}, expected a number that divides "
                "both; give another"
            )
        extents = [
            DYNAMIC_INDEX if DYNAMIC_INDEX in (size, taps) else cls.extent(size, taps, *one)
            for size, taps, one in zip(x[2:], w[2:], _by_axis(numbers), strict=True)
        ]
        if any(extent < 1 and extent != DYNAMIC_INDEX for extent in extents):
            raise VerifyException(
                f"found a result of extents {shape_text(extents)} along the window, expected at least 1 each: the "
                "window does not fit the padded image; pad more"
            )
        return TensorType(image.get_element_type(), (x[0], cls.channels(x, w, groups), *extents))

    @staticmethod
    @abstractmethod
    def extent(size: int, taps: int, stride: int, step: int, low: int, high: int) -> int:
        """Of the result along an axis of the window with so many places in an image of this size."""

    @staticmethod
    @abstractmethod
    def channels(image: Sizes, weights: Sizes, groups: int) -> int:
        """Of the result. Raises VerifyException where the weights are for another number than the image has."""

    def inferred_types(self) -> Sequence[Tensor]:
        types = tensor_type(self.image), tensor_type(self.weights)
        return (self.infer_type(*types, self.numbers, self.groups.value.data),)


def _by_axis(numbers: Mapping[str, Sizes]) -> list[tuple[int, int, int, int]]:
    names = ("strides", "dilations", "before", "after")
    return list(zip(*(numbers[name] for name in names), strict=True))


def _by_groups(groups: int, images: Array, weights: Array) -> tuple[Array, Array]:
    """With an axis for groups before channels and outputs, of which there may be none."""
    (count, channels, *sizes), (outputs, *rest) = images.shape, weights.shape
    by_group = images.reshape(count, groups, channels // groups, *sizes)
    return by_group, weights.reshape(groups, outputs // groups, *rest)


def _checked_channels(found: int, expected: int) -> None:
    if DYNAMIC_INDEX not in (found, expected) and found != expected:
        raise VerifyException(
            f"found {found} channels and weights for {expected}, expected as many; give other weights"
        )


@graph_op
class ConvOp(ConvolutionOp, DefinedInTe):
    """
    Sums of products of weights and windows of an image (ONNX Conv; no flip): for image (n, c, …) and weights
    (f, c / groups, …) r[n, f, o] = sum over c, k of image[n, c, o · stride + k · dilation - before] · weights[f, c, k].

    Outside of the image there are zeros; negative pads cut off. Output channels of a group see the group's channels.

        %r = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1
            : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x8xf32>
    """

    name = "graph.conv"

    @staticmethod
    def extent(size: int, taps: int, stride: int, step: int, low: int, high: int) -> int:
        return (size + low + high - step * (taps - 1) - 1) // stride + 1

    @staticmethod
    def channels(image: Sizes, weights: Sizes, groups: int) -> int:
        _checked_channels(image[1], weights[1] * groups if weights[1] > 0 else weights[1])
        return weights[0]

    def numpy(self, x: Array, w: Array) -> Array:
        """A product of channels for each place of the window."""
        groups, window = self.groups.value.data, self.window
        extents = shape_of(self.result)
        low, high = ([max(each[n], 0) for each in window] for n in (2, 3))
        high = [most + stride for most, (stride, _, _, _) in zip(high, window, strict=True)]
        wide = np.pad(x, [(0, 0), (0, 0), *zip(low, high, strict=True)])
        wide, w = _by_groups(groups, wide, w)
        y = np.zeros((x.shape[0], groups, w.shape[1], *extents[2:]), x.dtype)
        for tap in every(*(range(taps) for taps in w.shape[3:])):
            starts = [
                t * step + max(-first, 0)
                for t, (_, step, first, _) in zip(tap, window, strict=True)
            ]
            places = tuple(
                slice(start, start + (extent - 1) * stride + 1, stride)
                for start, extent, (stride, _, _, _) in zip(
                    starts, extents[2:], window, strict=True
                )
            )
            part = wide[(..., *places)]
            y += np.einsum("ngc...,gfc->ngf...", part, w[(..., *tap)])
        return y.reshape(extents)

    def define(self, te: TeBuilder) -> SSAValue:
        """As above; where several channels are in several groups, with an axis for groups, which reshapes take off."""
        groups, result = self.groups.value.data, tensor_type(self.result)
        x, w, shape = self.image, self.weights, result.get_shape()
        image, weights = shape_of(x), shape_of(w)
        if groups == 1:
            return self._sum(te, x, w, shape, ["n", "f"])
        if groups == image[1] == weights[0]:
            return self._sum(te, x, w, shape, ["n", "c"])
        element = result.get_element_type()

        def reshaped(value: SSAValue, old: Sizes, new: Sizes, hint: str) -> SSAValue:
            indices = reshape_indices(old, new, dims(len(new)))
            return te.compute(TensorType(element, new), [Access(value, indices)], hint=hint)

        x = reshaped(x, image, (image[0], groups, image[1] // groups, *image[2:]), "image")
        w = reshaped(w, weights, (groups, weights[0] // groups, *weights[1:]), "weights")
        inner = (shape[0], groups, shape[1] // groups, *shape[2:])
        y = self._sum(te, x, w, inner, ["n", "g", "f"])
        return te.compute(result, [Access(y, reshape_indices(inner, shape, dims(len(shape))))])

    def _sum(
        self, te: TeBuilder, x: SSAValue, w: SSAValue, shape: Sizes, names: Sequence[str]
    ) -> SSAValue:
        """
        The convolution whose result's axes before the window are these: n of the image, g of image and weights, f of
        the weights, and c of both, where each channel is alone in its group.
        """
        element, rank = tensor_type(self.result).get_element_type(), len(self.window)
        outer = dict(zip(names, dims(len(shape)), strict=False))
        letters = "dhw"[-rank:] if rank <= 3 else [str(n) for n in range(rank)]
        extents = dict(
            zip((f"k{letter}" for letter in letters), shape_of(self.weights)[2:], strict=True)
        )
        if "c" not in names:
            extents = {"c": shape_of(self.weights)[1], **extents}
        summed = dict(zip(extents, dims(len(extents), len(shape)), strict=True))
        channel = [summed.pop("c")] if "c" in summed else []
        places = [
            o * stride + k * step - low
            for o, k, (stride, step, low, _) in zip(
                dims(rank, len(names)), summed.values(), self.window, strict=True
            )
        ]
        pads = any(low > 0 or high > 0 for _, _, low, high in self.window)
        of_image = [outer[name] for name in names if name != "f"]
        of_weights = [outer[name] for name in names if name != "n"]
        own = channel or [AffineExpr.constant(0)]
        return te.compute(
            TensorType(element, shape),
            [
                Access(
                    x, [*of_image, *channel, *places], number_attr(0, element) if pads else None
                ),
                Access(w, [*of_weights, *own, *summed.values()]),
            ],
            product,
            names=[*names, *(f"o{letter}" for letter in letters)],
            reduction=[Iterator(name, extent) for name, extent in extents.items()],
            combiner=Combiner.ADD,
        )

    def multiply_adds(self) -> int | None:
        return element_count((*shape_of(self.result), *shape_of(self.weights)[1:]))


@graph_op
class ConvTransposeOp(ConvolutionOp, DecomposableInParts):
    """
    The transposition of a convolution (ONNX ConvTranspose): each element of an image (n, c, …), times the weights
    (c, f / groups, …) of its channel, is added to a window of the result, at o = i · stride + k · dilation - before.

    `after` is what is cut off at the end; negative, the result has so many more elements there. Outside of the image
    there are zeros, so that weights that are no finite numbers make NaN at the border.

        %r = graph.conv_transpose %x, %w strides = [2] dilations = [1] pad = [0], [0] groups = 1
            : tensor<1x3x8xf32>, tensor<3x4x2xf32> -> tensor<1x4x16xf32>
    """

    name = "graph.conv_transpose"
    WHOLE_AXES: ClassVar = 2

    @staticmethod
    def extent(size: int, taps: int, stride: int, step: int, low: int, high: int) -> int:
        return (size - 1) * stride + step * (taps - 1) + 1 - low - high

    @staticmethod
    def channels(image: Sizes, weights: Sizes, groups: int) -> int:
        _checked_channels(image[1], weights[0])
        return weights[1] * groups if weights[1] != DYNAMIC_INDEX else DYNAMIC_INDEX

    def numpy(self, x: Array, w: Array) -> Array:
        """What each place of the window adds to the result, of zeros around the image as well."""
        groups, window, shape = self.groups.value.data, self.window, shape_of(self.result)
        taps = w.shape[2:]
        first = [
            max(0, -((low - step * (count - 1)) // stride))
            for count, (stride, step, low, _) in zip(taps, window, strict=True)
        ]
        last = [
            max(0, (low + extent - 1) // stride + 1 - size)
            for size, extent, (stride, _, low, _) in zip(
                x.shape[2:], shape[2:], window, strict=True
            )
        ]
        x = np.pad(x, [(0, 0), (0, 0), *zip(first, last, strict=True)])
        sizes = x.shape[2:]
        x, w = _by_groups(groups, x, w)
        starts = [
            before * stride + low for before, (stride, _, low, _) in zip(first, window, strict=True)
        ]
        whole = [
            max((size - 1) * stride + step * (count - 1) + 1, start + extent)
            for size, count, start, extent, (stride, step, _, _) in zip(
                sizes, taps, starts, shape[2:], window, strict=True
            )
        ]
        y = np.zeros((x.shape[0], groups, w.shape[2], *whole), x.dtype)
        for tap in every(*map(range, taps)):
            places = tuple(
                slice(k * step, k * step + (size - 1) * stride + 1, stride)
                for k, size, (stride, step, _, _) in zip(tap, sizes, window, strict=True)
            )
            y[(..., *places)] += np.einsum("ngc...,gcf->ngf...", x, w[(..., *tap)])
        kept = tuple(
            slice(start, start + extent) for start, extent in zip(starts, shape[2:], strict=True)
        )
        return y[(..., *kept)].reshape(shape)

    @property
    def phases(self) -> list[int]:
        """How many elements of the result are not alike modulo the strides, on each axis."""
        extents = shape_of(self.result)[2:]
        return [min(stride, n) for (stride, *_), n in zip(self.window, extents, strict=True)]

    def decompose_finished(self, finish: Callable[[Expr], Expr], *operands: Expr) -> Expr:
        """
        A convolution for each phase, the elements of the result that are alike modulo the strides, of the places of
        the window that meet them; then the phases in turn. (Dumoulin and Visin, "A guide to convolution arithmetic
        for deep learning", 2016, chapter 4, have what is convolved with; no zeros are put between elements here.)
        """
        x, w = operands
        groups, shape = self.groups.value.data, shape_of(self.result)
        c, f, *taps = w.shape
        rank = len(taps)
        w = w.reshape((groups, c // groups, f, *taps))
        w = w.transpose((0, 2, 1, *range(3, 3 + rank))).reshape((groups * f, c // groups, *taps))
        counts = [
            -(-extent // stride)
            for extent, (stride, *_) in zip(shape[2:], self.window, strict=True)
        ]
        per_axis = self.phases
        phases = [
            finish(self._phase(x, w, phase, counts)).expand_dims(rank + 2)
            for phase in every(*map(range, per_axis))
        ]
        if len(phases) == 1:
            return phases[0].squeeze(rank + 2)
        joined = concat(phases, rank + 2).reshape((*shape[:2], *counts, *per_axis))
        pairs = [axis for n in range(rank) for axis in (2 + n, 2 + rank + n)]
        extents = [count * stride for count, stride in zip(counts, per_axis, strict=True)]
        whole = joined.transpose((0, 1, *pairs)).reshape((*shape[:2], *extents))
        if whole.shape == tuple(shape):
            return whole
        return whole[tuple(slice(0, extent) for extent in shape)]

    def _phase(self, x: Expr, w: Expr, phase: Sizes, counts: Sizes) -> Expr:
        """The elements o = q · stride + phase of the result, `counts` of them along each axis."""
        slices: list[slice] = []
        dilations: list[int] = []
        before: list[int] = []
        after: list[int] = []
        numbers = zip(phase, counts, x.shape[2:], w.shape[2:], self.window, strict=True)
        for first, count, size, taps, (stride, step, low, _) in numbers:
            # Place k meets element i of the image where i · stride = o + low - k · step.
            apart = stride // gcd(stride, step)
            met = [k for k in range(taps) if (first + low - k * step) % stride == 0]
            if not met:
                zero = x.constant(0, "zero")
                return zero.broadcast_to((x.shape[0], w.shape[0], *counts))
            nearest = (first + low - met[-1] * step) // stride
            dilation = apart * step // stride
            dilations.append(dilation)
            before.append(-nearest)
            after.append(count + nearest + dilation * (len(met) - 1) - size)
            # Places further on meet elements further back.
            slices.append(slice(met[-1], met[0] - 1 if met[0] else None, -apart))
        part = w[(slice(None), slice(None), *slices)]
        groups = self.groups.value.data
        return x.made(ConvOp(x.value, part.value, None, dilations, before, after, groups))

    def multiply_adds(self) -> int | None:
        return element_count((*shape_of(self.image), *shape_of(self.weights)[1:]))
