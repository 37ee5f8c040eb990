"""What steps that do away with a scratch buffer, or that compute values again, have to know."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from ...analysis.first_point import first_point
from ...analysis.scop import Access
from ...analysis.values import last_writes, written_between
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


def known_accesses(
    step: Step, nest: Nest, alloc: loop.AllocOp
) -> tuple[list[Access], list[Access]]:
    """
    The accesses that write a buffer, and those that read it.

    Raises the refusal when one of them is not known exactly, or none writes.
    """
    accesses = [a for a in nest.dependences.scop.accesses if a.buffer is alloc.buffer]
    for access in accesses:
        check_affine(step, access)
    writes = [access for access in accesses if access.is_write]
    if not writes:
        raise refuse(step, f"nothing writes '%{loop.buffer_name(alloc.buffer)}'")
    for write in writes:
        check_certain(step, write)
    return writes, [access for access in accesses if not access.is_write]


def sources(step: Step, writes: Sequence[Access], read: Access) -> dict[Access, isl.Map]:
    """
    The stores that a load gets its values from, and in which of their iterations; empty when it never runs.

    Raises the refusal when it may read an element that nothing has written.
    """
    found = last_writes(writes, read)
    missing = read.domain
    for source in found.values():
        missing = missing.subtract(source.domain())
    if not missing.is_empty():
        raise refuse(
            step,
            f"the load of '%{loop.buffer_name(read.buffer)}' reads an element that nothing has written, in "
            f"iteration {iteration_text(read, missing)}",
        )
    return {write: source for write, source in found.items() if not source.is_empty()}


def check_affine(step: Step, access: Access) -> None:
    """Raise the refusal of `step` unless it is known which elements are touched."""
    if not access.is_direct:
        raise refuse(
            step,
            f"'{access.op.name}' uses '%{loop.buffer_name(access.buffer)}' in a way that is not an affine access",
        )


def check_certain(step: Step, access: Access) -> None:
    """Raise the refusal of `step` unless it is known when the access is made."""
    if not access.certain:
        raise refuse(
            step,
            f"a bound or condition around the {'store to' if access.is_write else 'load of'} "
            f"'%{loop.buffer_name(access.buffer)}' is not affine, so it is unknown when it is made",
        )


def check_unchanged(
    step: Step, nest: Nest, read: Access, to_time: Callable[[], isl.Map], remedy: str
) -> None:
    """
    Raise the refusal of `step` when a load that is moved to a later time would see another value.

    `to_time` maps its iterations to the times, possibly several, that it is moved to; it is asked for where something is
    written that the load may see.
    """
    scop = nest.dependences.scop
    for write in scop.accesses:
        same = write.buffer is read.buffer
        if not write.is_write or not (same or scop.aliases.may_alias(write.buffer, read.buffer)):
            continue
        changed = written_between(read, to_time(), write, same_buffer=same)
        if changed.is_empty():
            continue
        for dependence in nest.dependences.all:
            if dependence.source is read and dependence.sink is write:
                raise refuse_dependence(step, nest.dependences, dependence, changed, remedy=remedy)
        raise refuse(
            step, f"'%{loop.buffer_name(read.buffer)}' is written in between", remedy=remedy
        )


def iteration_text(access: Access, iterations: isl.Set) -> str:
    """One of the iterations as `(i=0, j=3)`, for messages."""
    point = first_point(iterations)
    return (
        "("
        + ", ".join(
            f"{op.loop_name.data}={point.get_coordinate_val(isl.dim_type.set, n)}"
            for n, op in enumerate(access.loops)
        )
        + ")"
    )
