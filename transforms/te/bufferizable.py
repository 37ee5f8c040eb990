"""What `te-bufferize` has buffers for: looked at before anything is changed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation

from ...analysis.operations import operands_of, operations_in
from ...dialects import te
from ...dialects.control_flow import ControlFlow
from ...dialects.shaped import is_tensor
from ...errors import StepwellError


def has_tensors(function: func.FuncOp) -> bool:
    """Whether the function takes, gives or computes tensors, those inside of kernels over buffers excepted."""
    types = (*function.function_type.inputs, *function.function_type.outputs)
    if any(isinstance(type_, TensorType) for type_ in types):
        return True
    return any(_touches_tensors(op) for block in function.body.blocks for op in block.ops)


def _touches_tensors(op: Operation) -> bool:
    """Whether the operation or one inside it, but for those inside of kernels, has tensors as operands or results."""
    if any(is_tensor(value) for value in (*op.operands, *op.results)):
        return True
    return not isinstance(op, te.KernelOp) and any(
        _touches_tensors(inner)
        for region in op.regions
        for block in region.blocks
        for inner in block.ops
    )


def check_function(function: func.FuncOp) -> None:
    """Raises StepwellError for what is not kernels, computes, calls and control flow of these, and for open shapes."""
    if len(function.body.blocks) > 1:
        raise StepwellError(
            f"found {len(function.body.blocks)} blocks in '{function.sym_name.data}', expected one, of "
            "straight-line code over tensors; express the branch with te.compute",
            op=function,
        )
    operations = operations_in(function)
    kinds = {type(op) for op in operations}
    graph = {kind for kind in kinds if kind.dialect_name() == "graph"}
    static: set[int] = set()
    for op in operations:
        if type(op) in graph:
            raise StepwellError(
                f"found '{op.name}', expected only te operations; run convert-graph-to-te first",
                op=op,
            )
        # Operations share the attributes that are their types.
        types = [value.type for value in (*operands_of(op), *op.results)]
        unknown = [type_ for type_ in types if id(type_) not in static]
        if unknown:
            _check_shapes(op, unknown)
            static.update(map(id, unknown))
    for block in function.body.blocks:
        _check_have_buffers(block)
    function_type = function.function_type
    _check_shapes(function, (*function_type.inputs, *function_type.outputs))


def _check_have_buffers(block: Block) -> None:
    for op in block.ops:
        if isinstance(op, ControlFlow):
            for region in op.regions:
                _check_have_buffers(region.block)
        else:
            _check_has_buffers(op)


def _check_has_buffers(op: Operation) -> None:
    known = te.KernelOp | te.ComputeOp | te.LoopsOp | tensor.DimOp | func.ReturnOp | te.YieldOp
    is_constant = isinstance(op, arith.ConstantOp) and is_tensor(op.result)
    if isinstance(op, func.CallOp) and not isinstance(op.parent_op(), ControlFlow):
        return
    if not (isinstance(op, known) or is_constant) and _touches_tensors(op):
        raise StepwellError(
            f"found '{op.name}' on tensors, which te-bufferize has no buffers for; "
            "express it with te.compute",
            op=op,
        )


def _check_shapes(op: Operation, types: Sequence[Attribute]) -> None:
    for type_ in types:
        if isinstance(type_, TensorType) and not type_.has_static_shape():
            raise StepwellError(
                f"found '{op.name}' with the dynamic shape {type_}, expected static extents for "
                "te-bufferize; give the sizes as numbers",
                op=op,
            )
