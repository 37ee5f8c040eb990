"""Whether dependences stand when some statements move to other places, and which loops they move into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from ...analysis.affine_isl import constant
from ...analysis.dependence import Dependence
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.loop import LoopKind, LoopKindAttr
from ...dialects.schedule import Step
from .nest import Nest
from .refusal import refuse_dependence


class NewTimes:
    """
    The times of all accesses of a function once `moved` run at other ones.

    `gone` are accesses that are taken away; dependences through them do not count.
    """

    def __init__(self, nest: Nest, moved: Mapping[Access, isl.Map], gone: Sequence[Access] = ()):
        self._nest = nest
        self._moved = moved
        self._padded: dict[Access, isl.Map] = {}
        lengths = [time.dim(isl.dim_type.out) for time in moved.values()]
        self._length = max([nest.dependences.scop.time_length, *lengths])
        self._dependences = [
            d
            for d in nest.dependences.all
            if d.source not in gone
            and d.sink not in gone
            and (d.source in moved or d.sink in moved)
        ]

    def of(self, access: Access) -> isl.Map:
        """When the access runs, for each of its iterations; all vectors have the same length."""
        known = self._padded.get(access)
        if known is None:
            known = _padded(self._moved.get(access, access.time), self._length)
            self._padded[access] = known
        return known

    def check(self, step: Step, remedy: str) -> None:
        """Raise the refusal of `step` when a dependence is turned around."""
        for dependence in self._dependences:
            if dependence.reduction is not None:
                continue
            backwards = self.of(dependence.source).lex_ge_map(self.of(dependence.sink))
            swapped = dependence.relation.intersect(backwards)
            if not swapped.is_empty():
                raise refuse_dependence(
                    step, self._nest.dependences, dependence, swapped, remedy=remedy
                )

    def kinds(
        self, step: Step, loops: Sequence[tuple[loop.ForOp, int]]
    ) -> dict[loop.ForOp, LoopKind]:
        """
        What may still be said of loops that statements move into, for those of which it is less.

        Each loop comes with the position of its variable in the new times. Raises the refusal of `step`
        when one is marked to run in threads or vector lanes and is not parallel any more.
        """
        weaker: dict[loop.ForOp, LoopKind] = {}
        for for_op, position in loops:
            kind = for_op.kind.data
            for dependence in self._dependences:
                if kind is LoopKind.SERIAL:
                    break
                kind = self._kind(step, for_op, position, kind, dependence)
            if kind is not for_op.kind.data:
                weaker[for_op] = kind
        return weaker

    def _kind(
        self, step: Step, for_op: loop.ForOp, position: int, kind: LoopKind, d: Dependence
    ) -> LoopKind:
        if not all(a in self._moved or for_op.is_ancestor(a.op) for a in (d.source, d.sink)):
            return kind
        if kind is LoopKind.REDUCTION and d.reduction is not None:
            return kind
        source, sink = self.of(d.source), self.of(d.sink)
        around = d.relation.intersect(_agreeing(source, sink, position))
        carried = around.subtract(_agreeing(source, sink, position + 1))
        if carried.is_empty():
            return kind
        if for_op.mode is not None and for_op.mode.data is not loop.RunMode.UNROLL:
            raise refuse_dependence(
                step,
                self._nest.dependences,
                d,
                carried,
                what=f"raced by '{for_op.loop_name.data}', which is marked '{for_op.mode.data.value}'",
                remedy="mark loops after all other steps",
            )
        return LoopKind.SERIAL if d.reduction is None else LoopKind.REDUCTION


def set_kinds(kinds: Mapping[loop.ForOp, LoopKind]) -> None:
    """Say of loops what is known of them now."""
    for for_op, kind in kinds.items():
        for_op.kind = LoopKindAttr(kind)


def followed_by(time: isl.Map, parts: Sequence[isl.Map | int]) -> isl.Map:
    """Time vectors with entries after them: numbers, or further vectors of the same iterations."""
    space = time.get_space().domain()
    for part in parts:
        if isinstance(part, int):
            part = isl.Map.from_pw_aff(constant(space, part))
        time = time.flat_range_product(part)
    return time


def first_entries(time: isl.Map, count: int) -> isl.Map:
    """The first entries of time vectors."""
    return time.project_out(isl.dim_type.out, count, time.dim(isl.dim_type.out) - count)


def last_entries(time: isl.Map, start: int) -> isl.Map:
    """The entries of time vectors from `start` on."""
    return time.project_out(isl.dim_type.out, 0, start)


def _padded(time: isl.Map, length: int) -> isl.Map:
    missing = length - time.dim(isl.dim_type.out)
    return followed_by(time, [0] * missing)


def _agreeing(source: isl.Map, sink: isl.Map, count: int) -> isl.Map:
    """The pairs of iterations whose times have the same first `count` entries."""
    return first_entries(source, count).apply_range(first_entries(sink, count).reverse())
