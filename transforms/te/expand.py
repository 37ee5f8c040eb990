"""Dimensions that hold two axes of a contraction become two."""

from __future__ import annotations

from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.expandable import Expansion, find_expansion
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import te
from ...dialects.shaped import memref_type, tensor_type
from ..stepwell_pass import StepwellPass
from .recast import recast


class TeExpandPass(StepwellPass):
    """
    View the operands of a contraction with a dimension for each of its axes.

    Before: `s[h, i, j] = sum_k x[i, h * 64 + k] * x[j, h * 64 + k + 768]`, the scores of heads that lie side by side in rows.
    After: `s[h, i, j] = sum_k x[i, h, k] * x[j, h + 12, k]`, a product of matrices for each h. Nothing is copied.
    """

    name = "te-expand"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in operations_of_kind(op, te.KernelOp):
            if not kernel.destinations:
                continue
            while (found := find_expansion(kernel)) is not None:
                _pass_view(kernel, found)
                expand_body(found)


def expand_body(expansion: Expansion) -> None:
    """What a kernel's computes read has the new shape; what is passed to the kernel has still the old one."""
    tensor = expansion.tensor
    type_ = tensor_type(tensor)
    shape = _with_two(type_.get_shape(), expansion)
    Rewriter.replace_value_with_new_type(tensor, TensorType(type_.get_element_type(), shape))
    for (compute, number), map_ in expansion.maps.items():
        maps = list(compute.maps)
        maps[number] = AffineMapAttr(map_)
        compute.maps = ArrayAttr(maps)


def _with_two(shape: tuple[int, ...], expansion: Expansion) -> list[int]:
    at, size = expansion.dimension, expansion.size
    return [*shape[:at], shape[at] // size, size, *shape[at + 1 :]]


def _pass_view(kernel: te.KernelOp, expansion: Expansion) -> None:
    """Pass a view of the new shape to the kernel."""
    number = expansion.tensor.index
    passed: SSAValue = kernel.inputs[number]
    type_ = memref_type(passed)
    known = type_.get_strides()
    assert known is not None, "buffers of kernels are strided"
    strides = [cast(int, stride) for stride in known]
    at = expansion.dimension
    strides.insert(at, strides[at] * expansion.size)
    view = recast(
        Builder(InsertPoint.before(kernel)),
        passed,
        _with_two(type_.get_shape(), expansion),
        strides,
    )
    kernel.operands[number] = view
