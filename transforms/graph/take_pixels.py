"""The pixels of an image that a product for each of them reads with strides, next to each other before it."""

from __future__ import annotations

from math import inf, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.ir import Block

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...analysis.plans.cost import time_text
from ...analysis.plans.operation_cost import predicted_alone
from ...dialects.graph import ConvOp, GraphOp, MatmulOp, SliceOp
from ...dialects.graph.expressions import built_before
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known


def is_of_strided_pixels(conv: ConvOp) -> bool:
    """Whether each pixel of the result is of one of the image, with others between these along memory."""
    shape = (*shape_of(conv.image), *shape_of(conv.weights))
    return (
        DYNAMIC_INDEX not in shape
        and set(shape_of(conv.weights)[2:]) == {1}
        and all(low == high == 0 for _, _, low, high in conv.window)
        and conv.window[-1][0] > 1
        and conv.groups.value.data == 1
    )


def take(conv: ConvOp, target: Target) -> None:
    """conv(x) with strides → conv(x[:, :, ::stride, …]) without, where the two kernels are predicted to take less time"""
    taken, product = _to_be_looked_at(conv)
    is_constant = is_known(conv.weights)
    before = _seconds(conv, {1} if is_constant else set(), target)
    after = _seconds(taken, set(), target)
    after += _seconds(product, {0} if is_constant else set(), target)
    times = f"predicted to take {time_text(after)}, and else {time_text(before)}"
    if after >= before:
        remark(
            conv,
            f"the image is read with strides: with its pixels taken first {times}",
            missed=True,
        )
        return
    remark(conv, f"the pixels that it reads are taken first: {times}")
    pixels = built_before(conv).insert(SliceOp(conv.image, _slices(conv)))
    pixels.result.name_hint = conv.image.name_hint
    pixels.location = conv.location
    conv.operands[0] = pixels.result
    conv.strides = DenseArrayBase.from_list(i64, [1] * len(conv.window))


def _slices(conv: ConvOp) -> list[slice]:
    strides = (slice(None, None, stride) for stride, *_ in conv.window)
    return [slice(None), slice(None), *strides]


def _to_be_looked_at(conv: ConvOp) -> tuple[SliceOp, MatmulOp]:
    """
    What takes the pixels of some image, and what the convolution of these becomes: a product of weights with their channels, whose columns are
    all pixels. The program's own image and weights are not used by them.
    """
    (image,) = Block(arg_types=[conv.image.type]).args
    taken = SliceOp(image, _slices(conv))
    n, c, *extents = shape_of(taken.result)
    element = tensor_type(image).get_element_type()
    types = [
        TensorType(element, shape) for shape in (shape_of(conv.weights)[:2], (n, c, prod(extents)))
    ]
    weights, pixels = Block(arg_types=types).args
    return taken, MatmulOp(weights, pixels)


def _seconds(op: GraphOp, constant: set[int], target: Target) -> float:
    cost = predicted_alone(op, constant, target)
    return inf if cost is None else cost.seconds


@frozen
class GraphTakePixelsPass(StepwellPass):
    """
    Copy the pixels that a product reads with strides to one place before it.

    A convolution of 1 x 1 with strides uses a part of each cache line of an image whose rows are along memory, and asks for these lines
    again for each tile of outputs. What is copied first is half of each line or less, and all pixels are one axis. Whether both
    kernels are predicted to take less time decides.
    """

    name = "graph-take-pixels"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    target: str | Target = "host"
    opt: str = "full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.opt == "quick":
            return
        target = Target.of(self.target)
        for conv in [inner for inner in operations_in(op) if isinstance(inner, ConvOp)]:
            if is_of_strided_pixels(conv):
                take(conv, target)
