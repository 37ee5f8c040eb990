"""
The polyhedral view of a function: which operations run when, and which memory they touch.

Every operation that touches memory has an iteration domain (an integer set over the loops around it), a
time (a vector compared lexicographically: positions in blocks and loop variables in turn) and, for each
buffer, the elements it reads or writes. Following Feautrier, Dataflow analysis of array and scalar
references, 1991; the sets are isl's (Verdoolaege, isl: An integer set library, 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import islpy as isl
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import MemoryEffectKind, get_effects

from ..dialects import loop
from ..dialects.affine_atoms import constant_expr
from ..dialects.affine_substitution import substituted, used_dims
from ..dialects.leaf_operations import map_of
from ..frozen import frozen_in_types, replaced
from ..lazy import cached_property
from .alias import Aliases, is_allocation
from .domains import Around, Moment, Place, element_map, time_map, touched
from .frames import Frame, Frames
from .operations import (
    blocks_of,
    body_of,
    is_of_scalars,
    last_operands,
    operands_of,
    operation_around,
    operations_in,
)


@frozen_in_types
class Access:
    """
    One operation's reading or writing of one buffer.

    Subscripts that are affine are known exactly. Of the others, and of an operation that is opaque, it is
    taken that they may be any index. What takes more than a look at the operation is found when it is first
    asked for, which has to be before the function is rewritten.
    """

    op: Operation
    number: int
    """which of its function's, in textual order"""
    buffer: SSAValue
    is_write: bool
    loops: tuple[loop.ForOp, ...]
    _accessed: SSAValue
    """the buffer itself or the view of it that the operation uses"""
    _scop: Scop

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def name(self) -> str:
        """What it is called in integer sets."""
        return f"A{self.number}"

    @cached_property
    def _frame(self) -> Frame:
        assert self.op.parent is not None
        return self._scop.frame(self.op.parent)

    @property
    def around(self) -> Around:
        return self._frame.around

    @cached_property
    def place(self) -> Place:
        frame = self._frame
        return Place.of(_loops_of(self.buffer, frame), self._subscripts(frame))

    @cached_property
    def moment(self) -> Moment:
        """The entries of the time vector, padded with zeros to the function's length."""
        time = self._scop.time(self.op)
        return (*time, *[constant_expr(0)] * (self._scop.time_length - len(time)))

    @cached_property
    def exact(self) -> bool:
        """Whether the element is known: all subscripts are affine."""
        kind = type(self.op)
        return (kind is loop.LoadOp or kind is loop.StoreOp) and self.place.is_affine

    @property
    def certain(self) -> bool:
        """Whether it is made in all of its domain: every bound and condition around it is affine."""
        return self._frame.certain

    @property
    def is_direct(self) -> bool:
        """Whether it is an affine load or store by the buffer's own name, as most steps rewrite them."""
        return self.exact and self._accessed is self.buffer

    @property
    def private(self) -> int:
        """How many of the loops around have a buffer of their own in each iteration (made inside them)."""
        return self.place.private

    @cached_property
    def domain(self) -> isl.Set:
        """The iterations of the loops around in which it is made."""
        return self.around.domain.set_tuple_name(self.name)

    @cached_property
    def subscripts(self) -> isl.Map:
        """From all of the loops' space to the buffer's indices."""
        return self._named(element_map(self.around, self.place))

    @cached_property
    def element(self) -> isl.Map:
        """The element each iteration of the domain touches; when not `exact`, all that it may touch."""
        return self._named(touched(self.around, self.place))

    @cached_property
    def time(self) -> isl.Map:
        """The time vector of each iteration of the domain."""
        return self._named(time_map(self.around, self.moment))

    def at(self, place: Place) -> Access:
        """The same access as one of another element."""
        moved = replaced(self)
        moved.__dict__["place"] = place
        return moved

    def _named(self, relation: isl.Map) -> isl.Map:
        return relation.set_tuple_name(isl.dim_type.in_, self.name)

    def _subscripts(self, frame: Frame) -> tuple[AffineExpr | None, ...]:
        """For each axis of the buffer the subscript as an affine expression, None where it is not one."""
        op, root = self.op, self.buffer
        if self._accessed is root or self._scop.aliases.same_indices(self._accessed) is root:
            if type(op) is loop.LoadOp or type(op) is loop.StoreOp:
                return _subscripts_of(op, frame)
            match op:
                case memref.LoadOp() | memref.StoreOp():
                    return tuple(frame.term(index) for index in op.indices)
                case _:
                    pass
        type_ = root.type
        return (None,) * (type_.get_num_dims() if isinstance(type_, MemRefType) else 0)

    @property
    def kind(self) -> str:
        return "write" if self.is_write else "read"


class Scop:
    """
    The accesses of a function in textual order, and what surrounds them.

    It is of the function as it is when it is made. Most of it is found when it is first asked for, so that who
    rewrites the function must not ask it any more, and sets `is_open` to false.
    """

    def __init__(self, frames: Frames, operations: Sequence[Operation]):
        """`operations` are all of the function's, in textual order."""
        self.frames = frames
        self.is_open = True
        """Whether the function still is as it was."""
        body = frames.function.body.block
        self._frames: dict[int, Frame] = {id(body): frames.outermost}
        """By the identity of each block."""
        self._positions: dict[Block, dict[Operation, int]] = {}
        self._times: dict[Block, Moment] = {body: ()}
        self._loops: dict[int, tuple[loop.ForOp, ...]] = {id(body): ()}
        """By the identity of each block the loops around; the blocks of opaque operations are not among them."""
        self._levels: int
        """Loops and conditions around the block that has most of them."""
        self.accesses = self._found(operations)

    def _found(self, operations: Sequence[Operation]) -> list[Access]:
        loops_of, levels = self._loops, dict.fromkeys(self._loops, 0)
        roots: dict[int, SSAValue] = {}
        """by the identity of each buffer"""
        block, loops, found, aliases = None, None, list[Access](), self.aliases
        for op in operations:
            kind = type(op)
            if kind in _WITHOUT_ACCESSES:
                continue
            if op.parent is not block:
                block = op.parent
                assert block is not None
                loops = loops_of.get(id(block))
            if loops is None:
                continue  # a part of an opaque operation
            if kind is loop.ForOp:
                inner = id(body_of(op))
                inside: Any = (*loops, op)
                loops_of[inner], levels[inner] = inside, levels[id(block)] + 1
                continue
            if kind is loop.IfOp:
                for inner in map(id, blocks_of(op)):
                    loops_of[inner], levels[inner] = loops, levels[id(block)] + 1
                continue
            if is_of_scalars(kind):
                _WITHOUT_ACCESSES.add(kind)
                continue
            for buffer, is_write in _touched(op, kind):
                root = roots.get(id(buffer))
                if root is None:
                    root = roots[id(buffer)] = aliases.root(buffer)
                found.append(Access(op, len(found), root, is_write, loops, buffer, self))
        self._levels = max(levels.values())
        return found

    @property
    def function(self) -> func.FuncOp:
        return self.frames.function

    @property
    def parameters(self) -> list[SSAValue]:
        """The values that affine expressions leave open."""
        return self.frames.parameters

    @property
    def aliases(self) -> Aliases:
        return self.frames.aliases

    @cached_property
    def time_length(self) -> int:
        """The length of the time vectors."""
        return 2 * self._levels + 1

    def of(self, op: Operation) -> list[Access]:
        """The accesses of one operation."""
        return [access for access in self.accesses if access.op is op]

    def inside(self, op: Operation) -> list[Access]:
        """The accesses of the operation and of everything in its regions."""
        if type(op) is loop.ForOp:
            own = self._loops.get(id(body_of(op)))
            if own is not None:
                depth = len(own) - 1
                return [a for a in self.accesses if len(a.loops) > depth and a.loops[depth] is op]
        if op is self.function:
            return [*self.accesses]
        if not op.regions:
            return self.of(op)
        return [access for access in self.accesses if op.is_ancestor(access.op)]

    def frame(self, block: Block) -> Frame:
        """What surrounds a block, which opaque operations add nothing to."""
        found = self._frames.get(id(block))
        if found is None:
            assert self.is_open, "the function has been rewritten since"
            around = block.parent_op()
            assert around is not None and around.parent is not None
            found = self.frames.inside(around, block, self.frame(around.parent))
            self._frames[id(block)] = found
        return found

    def time(self, op: Operation) -> Moment:
        """
        When an operation runs: positions in blocks and numbers of branches, and loops' variables, in turn.
        """
        block = op.parent
        assert block is not None and self.is_open, "the function has been rewritten since"
        positions = self._positions.get(block)
        if positions is None:
            positions = self._positions[block] = {each: n for n, each in enumerate(block.ops)}
        time = self._times.get(block)
        if time is None:
            time = self._times[block] = self._time_of_block(block)
        return (*time, constant_expr(positions[op]))

    def _time_of_block(self, block: Block) -> Moment:
        around = block.parent_op()
        assert around is not None
        time = self.time(around)
        if type(around) is loop.ForOp:
            return (*time, self.frame(block).variables[around.induction_variable])
        return (*time, constant_expr(around.regions.index(cast(Region, block.parent))))


def extract(frames: Frames, operations: Sequence[Operation] | None = None) -> Scop:
    """The polyhedral view of a function of one block at the loop level; `operations` are all of it in textual order."""
    return Scop(frames, operations_in(frames.function) if operations is None else operations)


def around_of(scop: Scop, loops: Sequence[loop.ForOp]) -> Around:
    """Nested loops, outermost first; a bound that is not affine is left out, and so is a condition between them."""
    frame = scop.frames.outermost
    for for_op in loops:
        frame = scop.frames.in_loop(for_op, frame)
    return frame.around


def groups_that_may_meet(scop: Scop) -> list[list[Access]]:
    """The accesses that may touch one element: those of one buffer, and of buffers that may alias it."""
    by_buffer: dict[SSAValue, list[Access]] = {}
    for access in scop.accesses:
        by_buffer.setdefault(access.buffer, []).append(access)
    if all(map(scop.aliases.is_separate, by_buffer)):
        return [*by_buffer.values()]
    groups: list[list[SSAValue]] = []
    for buffer in by_buffer:
        met = [g for g in groups if any(scop.aliases.may_alias(buffer, other) for other in g)]
        groups = [g for g in groups if g not in met]
        groups.append([*(other for g in met for other in g), buffer])
    return [[access for access in scop.accesses if access.buffer in group] for group in groups]


def _subscripts_of(op: loop.LoadOp | loop.StoreOp, frame: Frame) -> tuple[AffineExpr | None, ...]:
    """The subscripts as `Frame.terms` has them; of each only the operands that it uses have to be affine."""
    map_ = map_of(op, "map")
    operands = last_operands(op, map_.num_dims)
    affine = frame.terms(map_.results, operands)
    if affine is not None:
        return tuple(affine)
    known, zero = [frame.term(operand) for operand in operands], constant_expr(0)
    terms = [term or zero for term in known]
    return tuple(
        None
        if any(known[position] is None for position in used_dims(expr))
        else substituted(expr, terms)
        for expr in map_.results
    )


_WITHOUT_ACCESSES: set[type[Operation]] = {loop.AllocOp, loop.PrefetchOp}
"""Classes of operations that touch no memory whose contents matter, and have nothing inside; those of scalars come in when they are seen."""


def _touched(op: Operation, kind: type[Operation]) -> Sequence[tuple[SSAValue, bool]]:
    """Each buffer that an operation of a class may touch, and whether it is written."""
    if kind is loop.LoadOp:
        return ((next(iter(operands_of(op))), False),)
    if kind is loop.StoreOp:
        _, buffer, *_ = operands_of(op)
        return ((buffer, True),)
    buffers = _buffers_used(op)
    if not buffers:
        return ()
    match op:
        case memref.LoadOp():
            return [(op.memref, False)]
        case memref.StoreOp():
            return [(op.memref, True)]
        case _ if _is_harmless(op):
            return []
        case _:
            return [(buffer, written) for buffer in buffers for written in (False, True)]


def _loops_of(buffer: SSAValue, frame: Frame) -> int:
    """How many of the loops of the frame are around the operation that makes the buffer."""
    if not is_allocation(buffer):
        return 0
    owner: Any = buffer.owner
    around, count = operation_around(owner), 0
    loops = set(map(id, frame.loops))
    while around is not None:
        count += id(around) in loops
        around = operation_around(around)
    return count


def _is_harmless(op: Operation) -> bool:
    """Whether the operation touches no memory whose contents matter: pure, or making a scratch buffer."""
    if isinstance(op, func.ReturnOp | loop.PrefetchOp | loop.YieldOp):
        return True
    effects = get_effects(op)
    return effects is not None and all(e.kind is MemoryEffectKind.ALLOC for e in effects)


def _buffers_used(op: Operation) -> list[SSAValue]:
    """The buffers an opaque operation, or what is inside of it, may touch."""
    found = [v for v in operands_of(op) if type(v.type) is MemRefType]
    if op.regions:
        found += [v for o in operations_in(op) for v in o.operands if type(v.type) is MemRefType]
    return list(dict.fromkeys(found))
