"""Transposed convolutions that enlarge an image by whole windows, as one convolution with the outputs of all phases."""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.graph import ConvOp, ConvTransposeOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.interfaces import Array
from ...dialects.shaped import shape_of
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known, known_array, new_constant
from .decompose import finished, finishing


def has_phases_alike(op: ConvTransposeOp) -> bool:
    """Whether all elements of the result that differ modulo the strides, the phases, meet the same elements of the image."""
    strides = [stride for stride, *_ in op.window]
    return (
        prod(strides) > 1
        and DYNAMIC_INDEX not in (*shape_of(op.image), *shape_of(op.weights))
        and op.phases == strides
        and all(
            step == 1 and taps % stride == low % stride == 0
            for taps, (stride, step, low, _) in zip(
                shape_of(op.weights)[2:], op.window, strict=True
            )
        )
    )


def _stacked(op: ConvTransposeOp, weights: Array) -> Array:
    """The weights of a convolution whose outputs are those of each phase, next to each other for each output of `op`."""
    groups, (c, f, *taps) = op.groups.value.data, weights.shape
    strides, rank = [stride for stride, *_ in op.window], len(taps)
    far = [count // stride for count, stride in zip(taps, strides, strict=True)]
    pairs = [n for pair in zip(far, strides, strict=True) for n in pair]
    places, phases = range(3, 3 + 2 * rank, 2), range(4, 4 + 2 * rank, 2)
    w = weights.reshape(groups, c // groups, f, *pairs).transpose(0, 2, *phases, 1, *places)
    w = w.reshape(groups * f * prod(strides), c // groups, *far)
    # Places of the window that are further on meet elements of the image that are further back.
    return np.ascontiguousarray(np.flip(w, tuple(range(2, 2 + rank))))


def rewrite(op: ConvTransposeOp) -> None:
    """finish(conv_transpose(x, w)) → the phases of finish(conv(x, w with these as outputs)) in turn"""
    behind = finishing(op)
    last = behind[-1] if behind else op
    builder = built_before(last)
    x, shape = Expr(op.image, builder), shape_of(op.result)
    w = new_constant(_stacked(op, known_array(op.weights)), "phases", builder)
    strides, rank = [stride for stride, *_ in op.window], len(op.window)
    counts = [-(-extent // stride) for extent, stride in zip(shape[2:], strides, strict=True)]
    before, after = list[int](), list[int]()
    for count, size, taps, (stride, _, low, _) in zip(
        counts, x.shape[2:], w.shape[2:], op.window, strict=True
    ):
        before.append(taps - 1 - low // stride)
        after.append(count - size + low // stride)
    groups = op.groups.value.data
    y = x.made(ConvOp(x.value, w.value, None, [1] * rank, before, after, groups)).named("phases")
    # All phases of a channel stand where its rows do: what is added to each channel fits them.
    y = finished(y.reshape((*shape[:2], prod(strides) * counts[0], *counts[1:])), op, behind)
    turns = [axis for n in range(rank) for axis in (2 + rank + n, 2 + n)]
    y = y.reshape((*shape[:2], *strides, *counts)).transpose((0, 1, *turns))
    extents = [count * stride for count, stride in zip(counts, strides, strict=True)]
    y = y.reshape((*shape[:2], *extents))
    if y.shape != tuple(shape):
        y = y[tuple(slice(0, extent) for extent in shape)]
    y.value.name_hint = last.results[0].name_hint
    Rewriter.replace_op(last, [], [y.value])
    for done in reversed([op, *behind][:-1]):
        Rewriter.erase_op(done)


class GraphStackPhasesPass(StepwellPass):
    """
    Compute a transposed convolution by constant weights as one convolution, where its window is a multiple of its strides.

    Before: `conv_transpose(x, w)` by windows of 2 with strides of 2, which `graph-decompose` takes for four convolutions. After:
    a convolution with four times the outputs, and these in turn along rows and columns. It reads the image once, has larger
    register tiles, and is enough work for several threads. (Shi et al., "Is the deconvolution layer the same as a convolutional
    layer?", 2016.)
    """

    name = "graph-stack-phases"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in operations_in(op):
            if (
                isinstance(inner, ConvTransposeOp)
                and is_known(inner.weights)
                and has_phases_alike(inner)
            ):
                phases = prod(stride for stride, *_ in inner.window)
                remark(inner, f"computes its {phases} phases as outputs of one convolution")
                rewrite(inner)
