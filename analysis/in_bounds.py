"""Whether loops stay inside their buffers, decided exactly."""

from __future__ import annotations

import islpy as isl
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp

from ..errors import StepwellError
from .first_point import first_point
from .frames import Frames
from .scop import Access, extract


def check_in_bounds(module: ModuleOp) -> None:
    """
    Raise StepwellError for the first access of a loop-level function with an affine subscript outside of its buffer.

    The message names an iteration where it is. Subscripts that are not affine, axes of dynamic size and
    bounds or conditions around that depend on arguments or are not affine are not checked.
    """
    for op in module.ops:
        if isinstance(op, func.FuncOp) and len(op.body.blocks) == 1:
            for access in extract(Frames(op)).accesses:
                _check(access)


def _check(access: Access) -> None:
    type_ = access.buffer.type
    if not access.certain or not isinstance(type_, MemRefType):
        return
    for axis, size in enumerate(type_.get_shape()):
        if size == DYNAMIC_INDEX or access.place.subscripts[axis] is None:
            continue
        subscript = _along(access, axis)
        inside = isl.Map.universe(subscript.get_space())
        inside = inside.lower_bound_val(isl.dim_type.out, 0, isl.Val(0))
        inside = inside.upper_bound_val(isl.dim_type.out, 0, isl.Val(size - 1))
        outside = subscript.subtract(inside)
        if _uses_parameters(access) or outside.is_empty():
            continue
        raise StepwellError(_message(access, outside, axis, size), op=access.op)


def _along(access: Access, axis: int) -> isl.Map:
    """The subscript of one axis in each iteration of the domain."""
    position, count = access.private + axis, access.element.dim(isl.dim_type.out)
    rest = access.element.project_out(isl.dim_type.out, position + 1, count - position - 1)
    return rest.project_out(isl.dim_type.out, 0, position)


def _uses_parameters(access: Access) -> bool:
    count = access.domain.dim(isl.dim_type.param)
    return count > 0 and (
        access.domain.involves_dims(isl.dim_type.param, 0, count)
        or access.subscripts.involves_dims(isl.dim_type.param, 0, count)
    )


def _message(access: Access, outside: isl.Map, axis: int, size: int) -> str:
    point = first_point(outside.wrap())
    depth = len(access.loops)
    values = [point.get_coordinate_val(isl.dim_type.set, n).to_python() for n in range(depth + 1)]
    names = [for_op.loop_name.data for for_op in access.loops]
    iteration = ", ".join(f"{n}={v}" for n, v in zip(names, values[:depth], strict=True))
    at = f" in iteration ({iteration})" if iteration else ""
    return (
        f"'{access.op.name}' has subscript {axis} equal to {values[-1]}{at}, expected 0 to {size - 1}; "
        "mend the subscript or the bounds of the loop"
    )
