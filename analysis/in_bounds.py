"""Whether loops stay inside their buffers, decided exactly."""

from __future__ import annotations

import islpy as isl
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp

from ..errors import StepwellError
from .scop import Access, extract


def check_in_bounds(module: ModuleOp) -> None:
    """
    Raise StepwellError for the first affine access of a loop-level function that leaves its buffer.

    The message names an iteration that does. Accesses that are not affine, axes of dynamic size and
    bounds that depend on arguments are not checked.
    """
    for op in module.ops:
        if isinstance(op, func.FuncOp) and len(op.body.blocks) == 1:
            for access in extract(op).accesses:
                _check(access)


def _check(access: Access) -> None:
    type_ = access.buffer.type
    if not access.exact or not isinstance(type_, MemRefType):
        return
    for axis, size in enumerate(type_.get_shape()):
        if size == DYNAMIC_INDEX:
            continue
        inside = isl.Map.universe(access.element.get_space())
        position = access.private + axis
        inside = inside.lower_bound_val(isl.dim_type.out, position, isl.Val(0))
        inside = inside.upper_bound_val(isl.dim_type.out, position, isl.Val(size - 1))
        outside = access.element.subtract(inside)
        if _uses_parameters(access) or outside.is_empty():
            continue
        raise StepwellError(_message(access, outside, axis, size), op=access.op)


def _uses_parameters(access: Access) -> bool:
    count = access.domain.dim(isl.dim_type.param)
    return count > 0 and (
        access.domain.involves_dims(isl.dim_type.param, 0, count)
        or access.subscripts.involves_dims(isl.dim_type.param, 0, count)
    )


def _message(access: Access, outside: isl.Map, axis: int, size: int) -> str:
    point = outside.wrap().lexmin().sample_point()
    depth = len(access.loops)
    values = [
        point.get_coordinate_val(isl.dim_type.set, n).to_python()
        for n in range(depth + access.private + axis + 1)
    ]
    names = [for_op.loop_name.data for for_op in access.loops]
    iteration = ", ".join(f"{n}={v}" for n, v in zip(names, values[:depth], strict=True))
    at = f" in iteration ({iteration})" if iteration else ""
    return (
        f"'{access.op.name}' has subscript {axis} equal to {values[-1]}{at}, expected 0 to {size - 1}; "
        "mend the subscript or the bounds of the loop"
    )
