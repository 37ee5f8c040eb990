"""Convolutions by windows of 3 by 3 elements as products of transformed tiles."""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32, f64
from xdsl.ir import Block
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...analysis.plans.cost import kept_bytes, time_text
from ...analysis.plans.operation_cost import copying, predicted_alone
from ...dialects.dtypes import bit_width
from ...dialects.graph import ConstantOp, ConvOp, MatmulOp, WinogradInputOp, WinogradOutputOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.minimal_filtering import TAPS, TILES, minimal_filtering
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .blocks_of_rows import bytes_of
from .constant_operands import is_known, known_array, new_constant


@frozen
class Tiling:
    """A convolution by F(tile, 3), and the sizes of what is made on the way."""

    conv: ConvOp
    tile: int

    @property
    def counts(self) -> tuple[int, int]:
        """Rows and columns of tiles in an image; the last ones may reach beyond the result."""
        rows, columns = (-(-extent // self.tile) for extent in shape_of(self.conv.result)[2:])
        return rows, columns

    @property
    def points(self) -> int:
        return minimal_filtering(self.tile).size ** 2

    @property
    def padded(self) -> tuple[int, int]:
        """The rows and columns of an image that the tiles see."""
        rows, columns = (count * self.tile + TAPS - 1 for count in self.counts)
        return rows, columns

    @property
    def product(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the transformed tiles and of the transformed weights."""
        images, (rows, columns) = shape_of(self.conv.image)[0], self.counts
        outputs, channels, *_ = shape_of(self.conv.weights)
        tiles = images * rows * columns
        return (self.points, tiles, channels), (self.points, channels, outputs)

    def seconds(self, target: Target, constants: float = 0.0) -> float | None:
        """
        The predicted time: that of the products, of the weights' coming beside so many bytes of `constants`, and of the four times that
        images and tiles go through memory, to put channels last, to be transformed, and back.

        Each weight meets few tiles, and more arithmetic than these have is not there to hide what it comes in. (On Intel's Granite
        Rapids products of 16 tiles with 9.4 MB of weights from memory took 1.02 ms, of which these come in 0.62 and are used in 0.37,
        and with 16.8 MB 1.74 ms, in 1.10 and 0.69.)
        """
        element = tensor_type(self.conv.result).get_element_type()
        shapes = [TensorType(element, shape) for shape in self.product]
        cost = predicted_alone(MatmulOp(*Block(arg_types=shapes).args), {1}, target)
        if cost is None:
            return None
        images, channels, *image = shape_of(self.conv.image)
        outputs, bytes_ = shape_of(self.conv.result)[1], bit_width(element) // 8
        (points, tiles, _), weights = self.product
        image, padded = (images * channels * prod(sizes) for sizes in (image, self.padded))
        result = tiles * outputs * self.tile**2
        before, behind = points * tiles * channels, points * tiles * outputs
        steps = (image + padded, padded + before, behind + result, 2 * result)
        moving = sum(copying(bytes_ * elements, target) for elements in steps)
        streamed = dict(cost.terms).get("streaming B", 0.0)
        coming = _coming(bytes_ * prod(weights), constants, target)
        return cost.seconds + max(coming - streamed, 0.0) + moving


def _coming(weights: float, constants: float, target: Target) -> float:
    """
    Seconds in which so many bytes of weights come that L2 does not keep from call to call, while all constants of the program go by: from the
    last cache, or from memory. A last cache that many cores share may be hardly faster than that, however large it is.
    """
    last, rates = target.core.caches[-1], target.rates
    passing = max(weights, constants)
    if passing <= kept_bytes(target.core.cache(2)):
        return 0.0
    is_cached = last.level > 2 and passing <= last.bytes // last.shared_by
    return weights / (rates.read_l3 if is_cached else rates.read_memory).core


def _direct_seconds(conv: ConvOp, target: Target, constants: float) -> float | None:
    """The predicted time of a convolution as it is, beside so many bytes of constants, which may leave its weights in memory."""
    cost = predicted_alone(conv, {1}, target)
    if cost is None:
        return None
    weights = float(bytes_of(conv.weights))
    if weights <= kept_bytes(target.core.cache(2)):
        return cost.seconds
    later = _coming(weights, constants, target) - _coming(weights, weights, target)
    return cost.seconds + max(later, 0.0)


def why_direct(conv: ConvOp) -> str | None:
    """Why a convolution has no tiles that can be transformed; None when it has."""
    weights, element = shape_of(conv.weights), tensor_type(conv.result).get_element_type()
    if tuple(weights[2:]) != (TAPS, TAPS):
        return f"its window has {'x'.join(map(str, weights[2:]))} elements, not 3x3"
    if any(number != 1 for axis in conv.window for number in axis[:2]):
        return "its window moves by more than one element, or has holes"
    if conv.groups.value.data != 1:
        return "its channels are in groups"
    if element not in (f32, f64):
        return f"elements of {element} have too few digits"
    if any(number < 0 for axis in conv.window for number in axis[2:]):
        return "its image is cut off"
    if DYNAMIC_INDEX in (*shape_of(conv.image), *weights):
        return "its extents are not all known"
    if not is_known(conv.weights):
        return "its weights are not known at compile time, and would be transformed in each call"
    return None


def rewrite(tiling: Tiling) -> None:
    """
    conv(x, w) → transpose(winograd_output(winograd_input(pad(transpose(x))) @ u)), with `u` the transformed weights.
    """
    conv, tile = tiling.conv, tiling.tile
    filtering = minimal_filtering(tile)
    builder = built_before(conv)
    images, _, *sizes = shape_of(conv.image)
    _, outputs, *extents = shape_of(conv.result)
    _, (points, channels, _) = tiling.product
    weights = filtering.transformed_taps(known_array(conv.weights)).transpose(2, 3, 1, 0)
    weights = np.ascontiguousarray(weights).reshape(points, channels, outputs)
    u = new_constant(weights, "transformed_weights", builder)
    low = [axis[2] for axis in conv.window]
    high = [
        whole - size - first for whole, size, first in zip(tiling.padded, sizes, low, strict=True)
    ]
    x = Expr(conv.image, builder).transpose([0, 2, 3, 1]).named("channels_last")
    if any((*low, *high)):
        x = x.pad([0, *low, 0], [0, *high, 0]).named("padded")
    v = x.made(WinogradInputOp(x.value, tile)).named("tiles")
    m = (v @ u).named("products")
    y = x.made(WinogradOutputOp(m.value, tile, *tiling.counts)).named("outputs")
    if y.shape[1:3] != tuple(extents):
        y = y[[slice(0, size) for size in (images, *extents, outputs)]]
    y = y.transpose([0, 3, 1, 2])
    y.value.name_hint = conv.result.name_hint
    Rewriter.replace_op(conv, [], [y.value])


def choose(conv: ConvOp, target: Target, constants: float = 0.0) -> tuple[Tiling | None, str]:
    """
    The tiling that is predicted to take least time, None where the convolution itself takes less; and the times, in a program of so many bytes
    of constants.
    """
    direct = _direct_seconds(conv, target, constants)
    if direct is None:
        return None, "there is no prediction of what it takes"
    tilings = [Tiling(conv, tile) for tile in TILES]
    times = {
        tiling: seconds for tiling in tilings if (seconds := tiling.seconds(target, constants))
    }
    words = [f"F({tiling.tile}, 3) {time_text(seconds)}" for tiling, seconds in times.items()]
    best = min(times, key=lambda tiling: times[tiling], default=None)
    is_less = best is not None and times[best] < direct
    text = f"predicted to take {', '.join([*words, f'direct {time_text(direct)}'])}"
    return best if is_less else None, text


@frozen
class GraphWinogradPass(StepwellPass):
    """
    Compute convolutions by windows of 3 by 3 as products of transformed tiles, where `winograd`, or `fp=fast`, allows it.

    F(4, 3) takes a quarter of the multiplications and F(2, 3) four ninths, between transforms of the image and of the
    result; those of constant weights are made here. Which of these, or the convolution as it is, is the fastest by
    prediction on `target` is chosen. Rounding errors are larger: docs/winograd.md has the bound.
    """

    name = "graph-winograd"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics: ClassVar[NumericalEffect] = "approximates"

    winograd: bool = False
    fp: str = DEFAULT_FP
    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.winograd and fp_contract(self.fp) != "fast":
            return
        target = Target.of(self.target)
        ops = operations_in(op)
        constants = sum(bytes_of(one.result) for one in ops if isinstance(one, ConstantOp))
        for conv in ops:
            if isinstance(conv, ConvOp):
                _compute(conv, target, constants)


def _compute(conv: ConvOp, target: Target, constants: float) -> None:
    reason = why_direct(conv)
    if reason is not None:
        remark(conv, f"computed directly: {reason}", missed=True)
        return
    tiling, times = choose(conv, target, constants)
    if tiling is None:
        remark(conv, f"computed directly: {times}", missed=True)
        return
    remark(conv, f"computed by tiles of {tiling.tile}x{tiling.tile}: {times}")
    rewrite(tiling)
