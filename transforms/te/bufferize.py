"""Decides where tensors live: functions over tensors become functions over buffers, around kernels of `te`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region

from ...analysis.buffer_checks import check_kernel_buffers
from ...analysis.buffer_plan import plan_buffers
from ...analysis.levels import Level
from ...dialects import loop
from ...dialects.leaf_operations import function_type
from ...dialects.shaped import Tensor
from ...frozen import frozen
from ..stepwell_pass import StepwellPass
from .bufferizable import check_function, has_tensors
from .constant_globals import ConstantGlobals
from .loose_computes import group_loose_computes
from .places import buffer_type
from .region_buffers import RegionBufferizer


def bufferize(module: ModuleOp) -> None:
    """
    Give every tensor of the module's functions a place in memory, as `te-bufferize` does.

    Raises StepwellError for what is not kernels, computes, calls and control flow of these, and for open shapes.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and has_tensors(op)]
    for function in functions:
        check_function(function)
    constants = ConstantGlobals(module)
    for function in functions:
        if function.body.blocks:
            group_loose_computes(function)
            _bufferize_body(function, constants)
            check_kernel_buffers(function)
        else:
            _bufferize_type(function)


# Functions.


def _bufferize_type(function: func.FuncOp) -> None:
    """Tensors become buffers; those that are returned are arguments behind the others, marked as results."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    arg_attrs = _attributes_or_empty(function.arg_attrs, inputs)
    res_attrs = _attributes_or_empty(function.res_attrs, outputs)
    pairs = list(zip(outputs, res_attrs, strict=True))
    results = [pair for pair in pairs if isinstance(pair[0], TensorType)]
    scalars = [pair for pair in pairs if not isinstance(pair[0], TensorType)]
    marked = [DictionaryAttr({loop.RESULT: loop.MARK, **attrs.data}) for _, attrs in results]
    function.function_type = function_type(
        [_as_buffer(type_) for type_ in (*inputs, *(type_ for type_, _ in results))],
        [type_ for type_, _ in scalars],
    )
    function.arg_attrs = ArrayAttr([*arg_attrs, *marked])
    if function.res_attrs is not None:
        function.res_attrs = ArrayAttr([attrs for _, attrs in scalars])


def _as_buffer(type_: Attribute) -> Attribute:
    return buffer_type(cast(Tensor, type_)) if isinstance(type_, TensorType) else type_


def _attributes_or_empty(
    attributes: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]
) -> Sequence[DictionaryAttr]:
    return [DictionaryAttr({})] * len(types) if attributes is None else attributes.data


def _bufferize_body(function: func.FuncOp, constants: ConstantGlobals) -> None:
    old = function.body.block
    plan = plan_buffers(old)
    _bufferize_type(function)
    block = Block(arg_types=function.function_type.inputs.data)
    RegionBufferizer(plan, constants, block, function).convert_function(old)
    region = function.detach_region(function.body)
    function.add_region(Region(block))
    region.drop_all_references()


@frozen
class TeBufferizePass(StepwellPass):
    """
    Decide where each tensor lives; what moves elements becomes a view where it can.

    Arguments and results become buffers: results are trailing arguments marked `stepwell.result`, which what computes
    them writes itself. Kernels read buffers and write `into` buffers. A reshape, slice or transposition is a view of its
    source; the parts of a concatenation, the inside of a pad, and what is merged by a reshape are written in their
    place by what computes them. Arguments are never written. A copy that remains says why in a remark.
    """

    name = "te-bufferize"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bufferize(op)
