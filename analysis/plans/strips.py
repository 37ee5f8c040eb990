"""
Chains of convolutions computed by strips of rows: which rows a strip needs of each layer, and what strips save.

Between one layer and the next stands an image. As a whole it goes to memory beyond the second-level cache and comes back
from there; a strip of it does not, where it fits that cache. Rows that the windows of two strips share are kept from the
first for the second, so that nothing is computed twice. (Alwani, Chen, Ferdman and Milder, "Fused-Layer CNN
Accelerators", MICRO 2016, who call this the reuse model.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dtypes import bit_width
from ...dialects.graph import ConvOp
from ...dialects.shaped import Tensor, shape_of, tensor_type
from ...dialects.type_memo import remembered
from ...frozen import frozen, replaced
from ...lazy import cached_property
from ...targets.target import Target
from .cost import Cost, kept_bytes, time_text
from .operation_cost import predicted_alone
from .threads import AWAKE_SECONDS, pays

ROWS = 2
"""The axis of images that strips are cut along: the first one that windows move along."""

LEAST_GAIN = 0.1
"""
The part of the layers' time that strips are predicted to save at least: they are kernels of their own for the compiler,
and predictions err by as much.
"""


@frozen
class Layer:
    """A convolution, and the element-wise operations that its kernel finishes elements with, in order."""

    conv: ConvOp
    finishing: tuple[Operation, ...]

    @property
    def result(self) -> SSAValue:
        """What the next layer reads."""
        return (self.conv, *self.finishing)[-1].results[0]

    @property
    def rows(self) -> int:
        """How many rows the result has."""
        return shape_of(self.conv.result)[ROWS]

    @cached_property
    def window(self) -> RowWindow:
        return RowWindow.of(self.conv)


@frozen
class Part:
    """What one strip has of one layer."""

    first: int
    end: int
    """the rows of the result that are computed"""
    low: int
    high: int
    """the rows of the image that these read"""
    before: int
    after: int
    """rows of padding around them"""

    @property
    def count(self) -> int:
        """How many rows are computed."""
        return self.end - self.first

    @property
    def read(self) -> int:
        """How many rows of the image are read."""
        return self.high - self.low

    @property
    def with_border(self) -> Part:
        """The same of an image that has the rows of padding as rows of zeros."""
        return replaced(
            self, low=self.low - self.before, high=self.high + self.after, before=0, after=0
        )


Strip = tuple[Part, ...]
"""A part for each layer of a chain."""


@frozen
class StripsPlan:
    """How layers that follow one another are computed: strip by strip, or each as a whole where there is one strip."""

    layers: tuple[Layer, ...]
    strips: tuple[Strip, ...]
    seconds: float
    apart: float
    """what they are predicted to take as strips, and each as a whole"""

    def __str__(self) -> str:
        rows = self.strips[0][-1].count
        times = (
            f"predicted to take {time_text(self.seconds)}, layer by layer {time_text(self.apart)}"
        )
        return f"{len(self.layers)} layers computed by {len(self.strips)} strips of {rows} rows: {times}"


@frozen
class RowWindow:
    """How the rows of a convolution's result lie over those of its image."""

    stride: int
    padding: int
    """rows before the image"""
    height: int
    """rows that one row of the result reads, and those that it steps over between them"""
    extent: int
    """rows of the image"""

    @staticmethod
    def of(conv: ConvOp) -> RowWindow:
        stride, dilation, padding, _ = conv.window[0]
        height = (shape_of(conv.weights)[ROWS] - 1) * dilation + 1
        return RowWindow(stride, padding, height, shape_of(conv.image)[ROWS])

    def read(self, first: int, end: int) -> Part | None:
        """What rows from `first` up to, without, `end` read; None where all of that is padding."""
        low = first * self.stride - self.padding
        high = (end - 1) * self.stride - self.padding + self.height
        extent = self.extent
        part = Part(first, end, max(low, 0), min(high, extent), max(-low, 0), max(high - extent, 0))
        return part if part.read > 0 else None


def strips_of(layers: Sequence[Layer], rows: int) -> tuple[Strip, ...] | None:
    """
    The strips in which the last layer has so many rows, the last strip as many as are left. None where a strip would
    need no new row of a layer.

    Of every other layer all strips but the first compute equally many rows, so that one kernel does: as many as one of
    them needs at most, so that some rows are computed again where others need fewer.
    """
    number, final = len(layers) - 1, layers[-1].rows
    firsts = list(range(0, final, rows))
    ends = [min(first + rows, final) for first in firsts]
    found: list[list[Part]] = []
    while True:
        parts = list(map(layers[number].window.read, firsts, ends))
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        found.append(known)
        if number == 0:
            return tuple(zip(*reversed(found), strict=True))
        number -= 1
        bounds = _rows_of_strips(known)
        if bounds is None:
            return None
        firsts, ends = bounds


def _rows_of_strips(behind: Sequence[Part]) -> tuple[list[int], list[int]] | None:
    """Of which rows of a layer to which each strip computes, for these parts of the layer behind; None as above."""
    # What lies before the first row that anything reads is left out.
    done = [0, *(part.high for part in behind)]
    new = [part.high - max(at, part.low) for at, part in zip(done, behind, strict=False)]
    if min(new) <= 0:
        return None
    first, *others = behind
    most = max(new[1:], default=new[0])
    starts = [max(0, part.high - most) for part in others]
    return [min(first.low, max(0, first.high - most)), *starts], [part.high for part in behind]


def choose(chain: Sequence[Layer], target: Target, threads: int = 1) -> list[StripsPlan]:
    """
    The plans for layers that follow one another, by which all of them are predicted to take least time on so many
    threads; of those that no plan has each is computed as a whole.

    Where an image between stays near as a whole, the layers before it and those behind it are chains of their own.
    """
    costs = _Costs(target, threads)
    plans: list[StripsPlan] = []
    first = 0
    for end, layer in enumerate(chain, 1):
        if end == len(chain) or costs.stays_near(layer.result):
            plans += _choose(chain[first:end], costs)
            first = end
    return plans


def _choose(chain: Sequence[Layer], costs: _Costs) -> Sequence[StripsPlan]:
    """The same where no image between stays near. All layers are computed by strips if these save time, else some."""
    if len(chain) < 2:
        return ()
    together = costs.best(chain)
    if together is not None or len(chain) == 2:
        return () if together is None else (together,)
    least: list[tuple[float, tuple[StripsPlan, ...]]] = [(0.0, ())]
    for end in range(1, len(chain) + 1):
        alone = costs.whole(chain[end - 1])
        if alone is None:
            return ()  # no family plans it
        seconds, plans = least[-1]
        best = seconds + alone, plans
        for first in range(max(0, end + 1 - len(chain)), end - 1):
            plan = costs.best(chain[first:end])
            seconds, plans = least[first]
            if plan is not None and seconds + plan.seconds < best[0]:
                best = seconds + plan.seconds, (*plans, plan)
        least.append(best)
    return least[-1][1]


class _Costs:
    """Predicted times on a target, each asked for once."""

    def __init__(self, target: Target, threads: int):
        self.target, self.threads = target, threads
        self.near = threads * kept_bytes(target.core.cache(2))
        """bytes that stay in the second-level caches of all threads, each of which has its part of an image"""
        self.known: dict[Hashable, float | None] = {}
        self.asked: dict[tuple[ConvOp, int, int, int], float | None] = {}

    def stays_near(self, image: SSAValue) -> bool:
        """Whether an image as a whole stays in the second-level cache."""
        return _row_bytes(image) * shape_of(image)[ROWS] <= self.near

    def whole(self, layer: Layer) -> float | None:
        """Of one call that computes all rows."""
        part = layer.window.read(0, layer.rows)
        return None if part is None else self._seconds(layer.conv, part)

    def _seconds(self, conv: ConvOp, part: Part) -> float | None:
        """Of the rows that a part reads, in one call."""
        question = conv, part.read, part.before, part.after
        if question not in self.asked:
            self.asked[question] = self._of_equal(conv, part)
        return self.asked[question]

    def _of_equal(self, conv: ConvOp, part: Part) -> float | None:
        """The same, which equal convolutions take."""
        types = tensor_type(conv.image), tensor_type(conv.weights)
        key = types, tuple(conv.window), conv.groups, part.read, part.before, part.after
        if key not in self.known:
            rows = _of_some_image(conv, part)
            cost = predicted_alone(rows, {1}, self.target)
            self.known[key] = None if cost is None else self._on_threads(_beside_arithmetic(cost))
        return self.known[key]

    def _on_threads(self, seconds: float) -> float:
        """Of a kernel that takes one core so many seconds, which threads that are awake share where that pays: strips take fewer."""
        is_shared = self.threads > 1 and pays(seconds)
        return seconds / self.threads + AWAKE_SECONDS if is_shared else seconds

    def best(self, layers: Sequence[Layer]) -> StripsPlan | None:
        """The plan of the fewest strips that fit the second-level cache; None where the layers do as they are."""
        for rows in self._sizes(layers[-1].rows):
            strips = strips_of(layers, rows)
            if strips is None:
                return None
            if max(self._live(layers, strip) for strip in strips) <= self.near:
                apart = [time for time in map(self.whole, layers) if time is not None]
                if len(apart) < len(layers):
                    return None  # no family plans one of them
                seconds = self._strip_by_strip(layers, strips)
                if seconds is None or seconds > (1 - LEAST_GAIN) * sum(apart):
                    return None
                return StripsPlan(tuple(layers), strips, seconds, sum(apart))
        return None

    def _sizes(self, rows: int) -> Iterator[int]:
        """The sizes of strips, largest first. Where some have equal strips in twice as many at most, only those."""
        for count in range(2, rows + 1):
            equal = [n for n in range(count, min(2 * count, rows) + 1) if not rows % n]
            yield rows // equal[0] if equal else -(-rows // count)

    def _live(self, layers: Sequence[Layer], strip: Strip) -> int:
        """
        The bytes that a strip uses: all weights in the cache of each thread, the first image's rows, those of all results, and rows that
        two strips share, for which the strip before and this one have a buffer each.
        """
        pairs = list(zip(layers, strip, strict=True))
        results = [_row_bytes(layer.result) * part.count for layer, part in pairs]
        kept = self._kept(layers, strip)
        shared = [size + both for size, both in zip(results, kept, strict=False) if both]
        weights = [_row_bytes(w) * shape_of(w)[ROWS] for w in (one.conv.weights for one in layers)]
        rows = _row_bytes(layers[0].conv.image) * strip[0].read
        return self.threads * sum(weights) + rows + sum(results) + sum(shared)

    def _kept(self, layers: Sequence[Layer], strip: Strip) -> list[int]:
        """Bytes of the rows of each image between layers that are kept from the strip before."""
        return [
            _row_bytes(layer.result) * max(part.first - behind.low, 0)
            for layer, part, behind in zip(layers, strip, strip[1:], strict=False)
        ]

    def _strip_by_strip(self, layers: Sequence[Layer], strips: Sequence[Strip]) -> float | None:
        """
        All kernels, each with its operands in the second-level cache; the first image and the last result, which are
        whole, beyond it; and the copies of rows that are kept.
        """
        rates = self.target.rates
        seconds = 0.0
        for strip in strips:
            for number, (layer, part) in enumerate(zip(layers, strip, strict=True)):
                one = self._seconds(layer.conv, part.with_border if number else part)
                if one is None:
                    return None
                seconds += one
            seconds += sum(2 * size for size in self._kept(layers, strip)) / rates.copy_l2.core
        ends = (layers[0].conv.image, layers[-1].result)
        far = [_row_bytes(end) * shape_of(end)[ROWS] for end in ends if not self.stays_near(end)]
        return seconds + sum(far) / rates.beyond_l2.at(self.threads, self.target.cores)


def _beside_arithmetic(cost: Cost) -> float:
    """
    Seconds of a kernel whose result goes to memory while it computes: it is asked for ahead, and nothing waits for what
    is stored. The terms of a cost, which compare plans that write as much, have both one after the other.
    """
    terms = dict(cost.terms)
    writing = sum(seconds for name, seconds in cost.terms if name.startswith("writing"))
    return cost.seconds - min(writing, terms.get("arithmetic", 0.0))


def convolution_of_rows(conv: ConvOp, part: Part, image: SSAValue, weights: SSAValue) -> ConvOp:
    """The convolution of the rows that a part reads."""
    window = conv.window
    before = (part.before, *(axis[2] for axis in window[1:]))
    after = (part.after, *(axis[3] for axis in window[1:]))
    strides, dilations = ([axis[n] for axis in window] for n in (0, 1))
    return ConvOp(image, weights, strides, dilations, before, after, conv.groups.value.data)


def _of_some_image(conv: ConvOp, part: Part) -> ConvOp:
    """The same of some image and weights, to be looked at: the program's own are not used by it."""
    type_ = tensor_type(conv.image)
    shape = list(type_.get_shape())
    shape[ROWS] = part.read
    rows = TensorType(type_.get_element_type(), shape)
    image, weights = Block(arg_types=[rows, conv.weights.type]).args
    return convolution_of_rows(conv, part, image, weights)


def _row_bytes(value: SSAValue) -> int:
    """The bytes of one row of all channels of all images."""
    return _bytes_of_row(tensor_type(value))


@remembered
def _bytes_of_row(type_: Tensor) -> int:
    shape = type_.get_shape()
    return prod((*shape[:ROWS], *shape[ROWS + 1 :])) * bit_width(type_.get_element_type()) // 8
