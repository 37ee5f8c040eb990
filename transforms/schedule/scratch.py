"""What steps that do away with a scratch buffer, or that compute values again, have to know."""

from __future__ import annotations

import islpy as isl

from ...analysis.scop import Access
from ...analysis.values import written_between
from ...dialects import loop
from ...dialects.schedule import Step
from .nest import Nest
from .order import check_structured
from .refusal import refuse, refuse_dependence


def scratch_buffer(step: Step, nest: Nest, name: str) -> loop.AllocOp:
    """The allocation of a buffer. Raises the refusal when others than the function can see it."""
    buffer = nest.buffer(name)
    if not isinstance(buffer.owner, loop.AllocOp):
        raise refuse(
            step,
            f"'%{name}' is no scratch buffer of the function, so its contents are visible outside",
            remedy="choose a buffer made by loop.alloc",
        )
    check_structured(step, buffer.owner)
    return buffer.owner


def one_write(step: Step, nest: Nest, alloc: loop.AllocOp) -> tuple[Access, list[Access]]:
    """
    The only access that writes a buffer, and those that read it.

    Raises the refusal when there are more that write, or one that is not known exactly.
    """
    buffer, name = alloc.buffer, alloc.buffer.name_hint
    accesses = [a for a in nest.dependences.scop.accesses if a.buffer is buffer]
    for access in accesses:
        check_affine(step, access)
    writes = [access for access in accesses if access.is_write]
    if len(writes) != 1:
        several = "; only a buffer whose elements are set once can be done away with"
        raise refuse(
            step,
            f"'%{name}' is written in {len(writes)} places, expected one{several if writes else ''}",
        )
    check_certain(step, writes[0])
    return writes[0], [access for access in accesses if not access.is_write]


def check_affine(step: Step, access: Access) -> None:
    """Raise the refusal of `step` unless it is known which elements are touched."""
    if not access.exact or not isinstance(access.op, loop.LoadOp | loop.StoreOp):
        raise refuse(
            step,
            f"'{access.op.name}' uses '%{access.buffer.name_hint}' in a way that is not an affine access",
        )


def check_certain(step: Step, access: Access) -> None:
    """Raise the refusal of `step` unless it is known when the access is made."""
    if not access.certain:
        raise refuse(
            step,
            f"a bound or condition around the {'store to' if access.is_write else 'load of'} "
            f"'%{access.buffer.name_hint}' is not affine, so it is unknown when it is made",
        )


def check_unchanged(step: Step, nest: Nest, read: Access, to_time: isl.Map, remedy: str) -> None:
    """
    Raise the refusal of `step` when a load that is moved to a later time would see another value.

    `to_time` maps its iterations to the times, possibly several, that it is moved to.
    """
    scop = nest.dependences.scop
    for write in scop.accesses:
        same = write.buffer is read.buffer
        if not write.is_write or not (same or scop.aliases.may_alias(write.buffer, read.buffer)):
            continue
        changed = written_between(read, to_time, write, same_buffer=same)
        if changed.is_empty():
            continue
        for dependence in nest.dependences.all:
            if dependence.source is read and dependence.sink is write:
                raise refuse_dependence(step, nest.dependences, dependence, changed, remedy=remedy)
        raise refuse(step, f"'%{read.buffer.name_hint}' is written in between", remedy=remedy)


def iteration_text(access: Access, iterations: isl.Set) -> str:
    """One of the iterations as `(i=0, j=3)`, for messages."""
    point = iterations.lexmin().sample_point()
    return (
        "("
        + ", ".join(
            f"{op.loop_name.data}={point.get_coordinate_val(isl.dim_type.set, n)}"
            for n, op in enumerate(access.loops)
        )
        + ")"
    )
