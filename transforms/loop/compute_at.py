"""compute_at: a producer computed in a loop of its consumer, only what one iteration reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.regions import Box, bounding_box, touched
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule.steps import ComputeAt
from ...frozen import frozen
from ..step_support.common_block import (
    CommonBlock,
    check_may_move,
    common_block,
    new_names,
    rename,
)
from ..step_support.handles import loops_in
from ..step_support.made import SomeLoops
from ..step_support.narrow import Narrowing, time_in_body
from ..step_support.nest import Nest, Nests
from ..step_support.new_times import first_entries
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse, refuse_dependence
from ..step_support.rewrite import added_up, body_ops, set_subscripts, shifted_to
from ..step_support.scratch import check_affine, check_certain, check_unchanged, iteration_text
from ..step_support.touches import Touch, make_serial, weaken


@frozen
class OwnBuffer:
    """The buffer made in each iteration of the loop, as large as the part that it uses."""

    alloc: loop.AllocOp
    box: Box | None
    """None when the size is not known, and the buffer as large as before"""
    accesses: tuple[loop.LoadOp | loop.StoreOp, ...]
    outer: tuple[SSAValue, ...]
    """the values the box's expressions are over"""

    def apply(self, nest: Nest, at: loop.ForOp) -> None:
        first = at.body.block.first_op
        assert first is not None
        old = self.alloc.buffer
        if self.box is None:
            self.alloc.detach()
            at.body.block.insert_op_before(self.alloc, first)
            return
        assert isinstance(old.type, MemRefType)
        type_ = MemRefType(old.type.get_element_type(), self.box.extents)
        new = Builder(InsertPoint.before(first)).insert(loop.AllocOp(self.alloc.scope.data, type_))
        new.attributes |= self.alloc.attributes
        loop.set_buffer_name(new.buffer, loop.buffer_name(old))
        for op in self.accesses:
            values = list(op.operands_)
            lower = shifted_to(self.box.lower, len(values))
            exprs = [e - low for e, low in zip(op.map.data.results, lower, strict=True)]
            op.operands[0 if isinstance(op, loop.LoadOp) else 1] = new.buffer
            set_subscripts(op, *added_up(exprs, [*values, *self.outer]))
        nest.identities.moved(old, new.buffer)
        for use in list(old.uses):  # prefetches
            use.operation.detach()
            use.operation.erase()
        self.alloc.detach()
        self.alloc.erase()


@frozen
class ComputeAtPlan:
    """The producers, the loop they go into, and the operation of its body they go in front of."""

    nest: Nest
    at: loop.ForOp
    producers: tuple[Operation, ...]
    before: Operation
    narrowing: Narrowing
    own: OwnBuffer | None
    names: dict[loop.ForOp, str]
    serial: tuple[loop.ForOp, ...]

    def apply(self) -> SomeLoops:
        """`for i: B[i] = …` and `for j: use B[j]` → `for j: (for i in j..j + 1: B[i] = …); use B[j]`."""
        block = self.at.body.block
        self.narrowing.apply()
        for op in self.producers:
            op.detach()
            block.insert_op_before(op, self.before)
        rename(self.names)
        if self.own is not None:
            self.own.apply(self.nest, self.at)
        make_serial(self.serial)
        return SomeLoops(loops_in(self.nest, self.producers))


@planner(ComputeAt)
def plan_compute_at(step: ComputeAt, nests: Nests) -> ComputeAtPlan:
    """
    Legal when the producer's operands keep their values until it is computed again, no element is
    missing from what later readers see, and nothing but the buffer is produced.
    """
    nest, name = nests.resolve(step.buffer)
    buffer, at = nest.buffer(name), nest.loop(step.at)
    return _Planner(step, nest, buffer, at).plan()


class _Planner:
    def __init__(self, step: ComputeAt, nest: Nest, buffer: SSAValue, at: loop.ForOp):
        self.step = step
        self.nest = nest
        self.at = at
        self.scop = nest.dependences.scop
        self.buffer = self.scop.aliases.root(buffer)
        self.name = loop.buffer_name(self.buffer)
        accesses = [a for a in self.scop.accesses if a.buffer is self.buffer]
        writers = [a for a in accesses if a.is_write]
        if not writers:
            raise refuse(step, f"nothing produces '%{self.name}'")
        self.common: CommonBlock = common_block(
            step, at, [a.op for a in writers], f"the computation of '%{self.name}'"
        )
        self.producers = self.common.others
        self.produced = [a for op in self.producers for a in self.scop.inside(op)]
        self.writes = writers
        self.own_reads = [a for a in self.produced if a.buffer is self.buffer and not a.is_write]
        self.reads = [a for a in accesses if not a.is_write and a not in self.own_reads]
        self.inner_reads = [a for a in self.reads if at.is_ancestor(a.op)]
        self._check()
        self.narrowing = Narrowing(nest, at, self.common.depth)
        self.region = touched(self.inner_reads, len(self.narrowing.outer))
        self.narrowing.narrow(self.producers, self._wanted)

    def _time_of(self, access: Access) -> isl.Map:
        """The times at which an access of the producers is made in its new place."""
        return self.narrowing.into(access).apply_range(self.time)

    def plan(self) -> ComputeAtPlan:
        before = self._first_use()
        position = list(self.at.body.block.ops).index(before)
        self.time = time_in_body(self.nest, self.at, position)
        self._check_complete()
        for access in self.produced:
            is_operand = access.buffer is not self.buffer and not self._is_internal(access.buffer)
            if is_operand and not access.is_write:
                to_time = partial(self._time_of, access)
                remedy = "keep the producer where it is"
                check_unchanged(self.step, self.nest, access, to_time, remedy)
        outside = self._outside()
        own, alloc = None, self.buffer.owner
        if not isinstance(alloc, loop.AllocOp) or outside:
            self._check_kept(outside)
        elif len(self.inner_reads) == len(self.reads):
            own = self._own_buffer(alloc)
        return ComputeAtPlan(
            self.nest,
            self.at,
            self.producers,
            before,
            self.narrowing,
            own,
            new_names(self.nest, self.producers),
            self._serial(own is not None),
        )

    # What is asked of the nests.

    def _check(self) -> None:
        step, name, at = self.step, self.name, self.step.at
        check_may_move(step, self.at, self.producers)
        if not self.inner_reads:
            raise refuse(step, f"loop '{at}' does not read '%{name}'")
        for access in (*self.writes, *self.own_reads, *self.inner_reads):
            check_affine(step, access)
        for access in (*self.writes, *self.own_reads):
            check_certain(step, access)
        for producer in self.producers:
            if not producer.is_before_in_block(self.common.head):
                raise refuse(
                    step, f"'%{name}' is computed after loop '{at}' too, not only before it"
                )
            if any(result.uses for result in producer.results):
                raise refuse(step, f"'{producer.name}', which computes '%{name}', has results")
        for access in self.produced:
            if access.is_write and not (
                access.buffer is self.buffer or self._is_internal(access.buffer)
            ):
                raise refuse(
                    step,
                    f"the nest that computes '%{name}' also writes '%{loop.buffer_name(access.buffer)}'",
                    remedy="fission it first",
                )
        for access in self.scop.accesses:
            if access.buffer is not self.buffer and self.scop.aliases.may_alias(
                access.buffer, self.buffer
            ):
                raise refuse(
                    step,
                    f"'%{loop.buffer_name(access.buffer)}' may be the same memory as '%{name}'",
                    remedy="mark the arguments stepwell.noalias if they never overlap",
                )

    def _is_internal(self, buffer: SSAValue) -> bool:
        """Whether the buffer is made by the producers for themselves."""
        maker = buffer.owner
        return isinstance(maker, Operation) and any(op.is_ancestor(maker) for op in self.producers)

    def _first_use(self) -> Operation:
        users = {self.at.body.block.find_ancestor_op_in_block(a.op) for a in self.inner_reads}
        return next(op for op in body_ops(self.at) if op in users)

    # Which iterations are wanted.

    def _wanted(self, for_op: loop.ForOp) -> isl.Set | None:
        """The iterations of a producer's loop that make elements that one iteration of `at` reads."""
        assert self.region is not None
        depth = len(self.narrowing.outer)
        rank = self.region.dim(isl.dim_type.set) - depth
        reads = isl.Map.from_domain(self.region).move_dims(
            isl.dim_type.out, 0, isl.dim_type.in_, depth, rank
        )
        chain = self.narrowing.chain(for_op)
        found: isl.Set | None = None
        for access in self.produced:
            if not access.is_write or not for_op.is_ancestor(access.op):
                continue
            if access.buffer is not self.buffer:
                maker = access.buffer.owner
                if isinstance(maker, Operation) and for_op.is_ancestor(maker):
                    continue
                return None
            elements = access.element.project_out(isl.dim_type.out, 0, access.private)
            needed = self.narrowing.lift(reads.apply_range(elements.reverse()))
            extra = needed.dim(isl.dim_type.set) - depth - len(chain)
            needed = needed.project_out(isl.dim_type.set, depth + len(chain), extra)
            found = needed if found is None else found.union(needed)
        return found

    # Whether what is computed is all there, and right.

    def _check_complete(self) -> None:
        """Everything the producer reads of its own buffer must be computed in the same turn."""
        for read in self.own_reads:
            known = isl.Set.empty(read.domain.get_space())
            into = self.narrowing.into(read)
            for write in self.writes:
                pairs = self._in_one_turn(write, read)
                known = known.union(pairs.range())
                if not pairs.apply_range(into).is_subset(self.narrowing.into(write)):
                    raise refuse(
                        self.step,
                        f"elements of '%{self.name}' are computed from others of its elements (a "
                        "recurrence), which one iteration does not read",
                        remedy="compute it as a whole, where it is",
                    )
            if not read.domain.is_subset(known):
                raise refuse(
                    self.step,
                    f"the producer reads '%{self.name}' before it writes it, so it goes on from "
                    "values of before and cannot be computed again",
                    remedy="initialise the buffer in the same loops, or choose a loop further out",
                )

    def _in_one_turn(self, write: Access, read: Access) -> isl.Map:
        """The pairs of a write and a later read in the same iteration of the common loops."""
        pairs = write.element.apply_range(read.element.reverse())
        pairs = pairs.intersect(write.time.lex_lt_map(read.time))
        return self._same_turn(pairs)

    def _same_turn(self, pairs: isl.Map) -> isl.Map:
        for n in range(self.common.depth):
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        return pairs

    def _outside(self) -> list[tuple[Access, Access, isl.Map]]:
        """Writes with later reads, not by the loop in the same turn, that may see what they wrote."""
        found: list[tuple[Access, Access, isl.Map]] = []
        for read in self.reads:
            later = read.domain
            if read in self.inner_reads:
                for write in self.writes:
                    later = later.subtract(self._in_one_turn(write, read).range())
            for dependence in self.nest.dependences.all:
                if dependence.sink is read and dependence.source in self.writes:
                    pairs = dependence.relation.intersect_range(later)
                    if not pairs.is_empty():
                        found.append((dependence.source, read, pairs))
        return found

    def _check_kept(self, outside: Sequence[tuple[Access, Access, isl.Map]]) -> None:
        """Where others read the buffer too: each of its elements must be computed in time for them."""
        narrowing, name = self.narrowing, self.name
        for write in self.writes:
            into = narrowing.into(write)
            missing = write.domain.subtract(into.domain()) if narrowing.certain else write.domain
            if not missing.is_empty():
                reader = outside[0][1].op if outside else None
                who = "the caller sees" if reader is None else f"'{reader.name}' elsewhere reads"
                raise refuse(
                    self.step,
                    f"{who} elements of '%{name}' that loop '{self.step.at}' does not need, so they "
                    f"would not be computed, as that of iteration {iteration_text(write, missing)}",
                    remedy="keep the producer where it is",
                )
            for other in self.writes:
                pairs = other.element.apply_range(write.element.reverse())
                if not self._same_turn(pairs).apply_range(into).is_subset(narrowing.into(other)):
                    raise refuse(
                        self.step,
                        f"others read '%{name}', and elements of it would be computed in part only",
                    )
        for write, read, pairs in outside:
            in_time = narrowing.into(write).apply_range(self.time)
            count = in_time.dim(isl.dim_type.out)
            late = pairs.subtract(in_time.lex_le_map(first_entries(read.time, count)))
            if late.is_empty():
                continue
            for dependence in self.nest.dependences.all:
                if dependence.source is write and dependence.sink is read:
                    raise refuse_dependence(
                        self.step,
                        self.nest.dependences,
                        dependence,
                        late,
                        remedy="move the other reader behind the loop",
                    )

    # Where the elements are kept.

    def _own_buffer(self, alloc: loop.AllocOp) -> OwnBuffer:
        """The buffer used in one iteration only, made there and as large as is needed there."""
        assert self.region is not None and isinstance(alloc.buffer.type, MemRefType)
        depth = len(self.narrowing.outer)
        rank = alloc.buffer.type.get_num_dims()
        used = self.region
        for write in self.writes:
            written = self.narrowing.into(write).reverse().apply_range(write.element)
            written = written.project_out(isl.dim_type.out, 0, write.private)
            used = used.union(written.set_tuple_name(isl.dim_type.in_, "").wrap().flatten())
        box = bounding_box(used, depth, rank)
        shape = alloc.buffer.type.get_shape()
        if box is not None and tuple(shape) == box.extents:
            box = None
        outer = (op.induction_variable for op in self.narrowing.outer)
        accesses = [*self.writes, *self.own_reads, *self.inner_reads]
        return OwnBuffer(
            alloc,
            box,
            tuple(a.op for a in accesses if isinstance(a.op, loop.LoadOp | loop.StoreOp)),
            (*outer, *self.scop.parameters),
        )

    def _serial(self, has_own_buffer: bool) -> tuple[loop.ForOp, ...]:
        """The loops around that are no longer parallel."""
        new: list[Touch] = []
        for access in self.produced:
            if self._is_internal(access.buffer):
                continue
            if has_own_buffer and access.buffer is self.buffer:
                continue
            elements = self.narrowing.into(access).reverse().apply_range(access.element)
            elements = elements.set_tuple_name(isl.dim_type.in_, "")
            new.append(
                Touch.exactly(access.buffer, access.is_write, self.narrowing.outer, elements)
            )
        loops = self.narrowing.outer[self.common.depth :]
        gone = self.inner_reads if has_own_buffer else ()
        return weaken(self.step, self.nest, loops, new, gone)


LoopComputeAtPass = step_pass(ComputeAt)
