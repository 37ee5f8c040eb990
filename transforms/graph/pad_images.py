"""Images with the border that a convolution reads, which what computes them writes them inside of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...analysis.plans.cost import time_text
from ...analysis.plans.operation_cost import predicted_alone
from ...analysis.plans.threads import line_seconds
from ...dialects.dtypes import bit_width
from ...dialects.graph import BlockedConvOp, BlockedWindowOp, GraphOp, PadOp
from ...dialects.graph.blocked_convolution import whole_weights
from ...dialects.graph.convolution import SlidingWindowOp
from ...dialects.graph.expressions import built_before
from ...dialects.interfaces import Elementwise
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass

SPACE = slice(2, -1)
"""The axes of an image with blocks of channels that a window moves along."""


@dataclass
class Borders:
    """What is known while images get borders: predicted times, of equal convolutions once."""

    target: Target
    threads: int = 1
    seconds: dict[object, float] = field(default_factory=dict[object, float])
    """by the types and the window"""

    def pad(self, conv: BlockedWindowOp) -> None:
        """conv(x) with pads → conv(pad(x)) without, where the two kernels are predicted to take less time so"""
        before, after = conv.numbers["before"], conv.numbers["after"]
        if not any((*before, *after)):
            return
        reason = "its channels are not in blocks" if conv.blocks.image == 1 else None
        reason = reason or why_not_written_inside(conv) or self._why_slower(conv)
        if reason is not None:
            remark(conv, f"the image is copied into its border: {reason}", missed=True)
            return
        builder = built_before(conv)
        pad = builder.insert(PadOp(conv.image, (0, 0, *before, 0), (0, 0, *after, 0)))
        pad.result.name_hint = conv.image.name_hint
        pad.location = conv.location
        conv.operands[0] = pad.result
        conv.before = conv.after = DenseArrayBase.from_list(i64, [0] * len(before))
        remark(conv, "what computes the image writes it inside of its border")

    def _why_slower(self, conv: BlockedWindowOp) -> str | None:
        """
        Why two kernels would take longer with a border between them, or None. The convolution's saves a copy. A producer
        that is a product for each pixel loses that all pixels are one axis: where rows have a border, tiles end with each.
        """
        bordered = with_border(conv)
        before, after = self._seconds(conv), self._seconds(bordered)
        writer = _producer(conv.image)
        if writer is not None and _is_of_pixels(writer):
            before += self._seconds(_with_pixels_as_one_axis(writer))
            after += self._seconds(writer)
        before /= self.threads
        after = after / self.threads + self._writing(conv, bordered)
        if after < before:
            return None
        return f"with one already there they are predicted to take {time_text(after)}, and else {time_text(before)}"

    def _writing(self, conv: BlockedWindowOp, bordered: BlockedWindowOp) -> float:
        """
        Seconds in which the border is written: by one thread, as it is little. Lines beside the others' parts of the image come from
        their caches for this, and go there again when they are read.
        """
        of_border = prod(shape_of(bordered.image)) - prod(shape_of(conv.image))
        bits = bit_width(tensor_type(conv.image).get_element_type())
        bytes_ = of_border * bits / 8
        going = 2 * line_seconds(bytes_ * (1 - 1 / self.threads), self.target)
        return bytes_ / self.target.rates.copy_l2.core + going

    def _seconds(self, conv: BlockedWindowOp) -> float:
        key = (conv.name, conv.image.type, conv.weights.type, *conv.properties.values())
        if key not in self.seconds:
            cost = predicted_alone(conv, {1}, self.target)
            self.seconds[key] = inf if cost is None else cost.seconds
        return self.seconds[key]


def why_not_written_inside(conv: SlidingWindowOp) -> str | None:
    """Why what makes an image cannot write it with its rows apart from each other, or None."""
    if min(*conv.numbers["before"], *conv.numbers["after"]) < 0:
        return "a pad cuts off"
    if not conv.image.has_one_use():
        return "something else reads it too"
    owner = conv.image.owner
    if not isinstance(owner, GraphOp) or not owner.COMPUTES or len(owner.results) != 1:
        return "nothing computes it"
    return None


def _producer(image: SSAValue) -> BlockedConvOp | None:
    """The convolution whose kernel makes an image: element-wise operations are done where its elements are."""
    op: Operation | Block | None = image.owner
    while not isinstance(op, BlockedConvOp):
        if not isinstance(op, Operation) or not isinstance(op, Elementwise):
            return None
        same = [v for v in op.operands if shape_of(v) == shape_of(image) and v.has_one_use()]
        writers = (value.owner for value in same)
        op = next((w for w in writers if isinstance(w, BlockedConvOp | Elementwise)), None)
    return op


def _is_of_pixels(conv: BlockedConvOp) -> bool:
    """Whether each pixel of the result is of the same pixel of the image alone."""
    sizes = whole_weights(shape_of(conv.weights), conv.blocks)[2:]
    return conv.blocks.image > 1 and set(sizes) == {1} and set(conv.window) == {(1, 1, 0, 0)}


def with_border(conv: BlockedWindowOp) -> BlockedWindowOp:
    """A convolution of an image that has its border, to be looked at."""
    n, c, *_, block = shape_of(conv.image)
    extents = shape_of(conv.image)[SPACE]
    space = [
        low + size + high for size, (_, _, low, high) in zip(extents, conv.window, strict=True)
    ]
    none = (0,) * len(space)
    return _with(conv, (n, c, *space, block), conv.numbers | {"before": none, "after": none})


def _with_pixels_as_one_axis(conv: BlockedConvOp) -> BlockedWindowOp:
    """A product for each pixel, to be looked at, of an image that is one row."""
    n, c, *_, block = shape_of(conv.image)
    extents = shape_of(conv.image)[SPACE]
    return _with(conv, (n, c, *[1] * (len(extents) - 1), prod(extents), block), conv.numbers)


def _with(
    conv: BlockedWindowOp, shape: Sequence[int], numbers: Mapping[str, tuple[int, ...]]
) -> BlockedWindowOp:
    element = tensor_type(conv.image).get_element_type()
    image, weights = Block(arg_types=(TensorType(element, shape), conv.weights.type)).args
    return conv.of(image, weights, numbers)


@frozen
class GraphPadImagesPass(StepwellPass):
    """
    Put the border that a convolution reads around its image in an operation before it.

    The kernel of a convolution copies an image to where it has a border. Where the image is computed for nothing else, with
    its channels in blocks, what computes it writes it inside of the border instead, and the border is written alone. Whether
    both kernels are predicted to take less time decides, on so many `threads`, 0 being as many as the target has cores.
    """

    name = "graph-pad-images"
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
        borders = Borders(target, self.threads or target.cores)
        for conv in [inner for inner in operations_in(op) if isinstance(inner, BlockedWindowOp)]:
            borders.pad(conv)
