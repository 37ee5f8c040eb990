"""
The polyhedral view of a function: which operations run when, and which memory they touch.

Every operation that touches memory has an iteration domain (an integer set over the loops around it), a
time (a vector compared lexicographically: positions in blocks and loop variables in turn) and, for each
buffer, the elements it reads or writes. Following Feautrier, Dataflow analysis of array and scalar
references, 1991; the sets are isl's (Verdoolaege, isl: An integer set library, 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count

import islpy as isl
from xdsl.dialects import affine, func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import MemoryEffectKind, get_effects

from ..dialects import loop
from .alias import Aliases, is_allocation
from .domains import REMEMBERED, Around, Moment, Place, element_map, time_map, touched
from .frames import Frame, Frames
from .operations import operations_in


@dataclass(frozen=True, eq=False)
class Access:
    """
    One operation's reading or writing of one buffer.

    Subscripts that are affine are known exactly. Of the others, and of an operation that is opaque, it is
    taken that they may be any index.
    """

    op: Operation
    name: str
    buffer: SSAValue
    is_write: bool
    loops: tuple[loop.ForOp, ...]
    around: Around
    place: Place
    moment: Moment
    exact: bool
    """Whether the element is known: all subscripts are affine."""
    certain: bool
    """Whether it is made in all of its domain: every bound and condition around it is affine."""

    @property
    def is_direct(self) -> bool:
        """Whether it is an affine load or store by the buffer's own name, as most steps rewrite them."""
        return (
            self.exact
            and isinstance(self.op, loop.LoadOp | loop.StoreOp)
            and self.op.buffer is self.buffer
        )

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

    def _named(self, relation: isl.Map) -> isl.Map:
        return relation.set_tuple_name(isl.dim_type.in_, self.name)

    @property
    def kind(self) -> str:
        return "write" if self.is_write else "read"


@dataclass
class Scop:
    """The accesses of a function in textual order, and what surrounds them."""

    frames: Frames
    accesses: list[Access] = field(default_factory=list[Access])
    time_length: int = 1
    """The length of the time vectors."""
    names: Iterator[int] = field(default_factory=count)
    """Numbers for the names of accesses."""
    made: dict[Operation, tuple[tuple[object, ...], Access]] = field(
        default_factory=dict[Operation, tuple[tuple[object, ...], Access]]
    )
    """The accesses of affine loads and stores, each with all that it was made from."""

    @property
    def function(self) -> func.FuncOp:
        return self.frames.function

    @property
    def parameters(self) -> list[SSAValue]:
        """The values that affine expressions leave open."""
        return self.frames.parameters

    @cached_property
    def aliases(self) -> Aliases:
        return Aliases(self.function)

    def of(self, op: Operation) -> list[Access]:
        """The accesses of one operation."""
        return [access for access in self.accesses if access.op is op]

    def inside(self, op: Operation) -> list[Access]:
        """The accesses of the operation and of everything in its regions."""
        if isinstance(op, loop.ForOp):
            return [access for access in self.accesses if op in access.loops]
        return [access for access in self.accesses if op.is_ancestor(access.op)]


def extract(frames: Frames, before: Scop | None = None) -> Scop:
    """
    The polyhedral view of a function of one block at the loop level.

    Of the view from `before` the function was rewritten, accesses that have not changed are taken over.
    """
    scop = Scop(frames) if before is None else Scop(frames, names=before.names)
    return _Extractor(scop, before).run()


def iteration_domain(scop: Scop, loops: Sequence[loop.ForOp]) -> isl.Set:
    """The iterations of nested loops, outermost first; a bound that is not affine is left out."""
    frame = scop.frames.outermost
    for for_op in loops:
        frame = scop.frames.in_loop(for_op, frame)
    return frame.domain


def _time_depth(block: Block) -> int:
    """The longest time vector, in levels, of anything in the block."""
    deepest = 0
    for op in block.ops:
        if op.regions and isinstance(op, loop.ForOp | loop.IfOp):
            inner = max((_time_depth(b) for r in op.regions for b in r.blocks), default=0)
            deepest = max(deepest, 1 + inner)
    return deepest


class _Extractor:
    def __init__(self, scop: Scop, before: Scop | None):
        self.scop = scop
        self._before = {} if before is None else before.made
        self._loops: dict[tuple[SSAValue, Frame], int] = {}

    def run(self) -> Scop:
        body = self.scop.function.body.block
        self.scop.time_length = 2 * _time_depth(body) + 1
        self._block(body, self.scop.frames.outermost, ())
        return self.scop

    def _block(self, block: Block, frame: Frame, time: Moment) -> None:
        """Note the accesses in a block; `time` is that of the operation around it."""
        frames = self.scop.frames
        for position, op in enumerate(block.ops):
            if type(op) is loop.LoadOp or type(op) is loop.StoreOp:
                self._affine_access(op, frame, (*time, _number(position)))
            elif not op.regions:
                self._operation(op, frame, (*time, _number(position)))
            elif isinstance(op, loop.ForOp):
                inner = frames.in_loop(op, frame)
                variable = inner.variables[op.induction_variable]
                self._block(op.body.block, inner, (*time, _number(position), variable))
            elif isinstance(op, loop.IfOp):
                for number, region in enumerate(op.regions):
                    if region.blocks:
                        branch = frames.in_branch(op, number == 0, frame)
                        when = (*time, _number(position), _number(number))
                        self._block(region.block, branch, when)
            else:
                self._operation(op, frame, (*time, _number(position)))

    def _operation(self, op: Operation, frame: Frame, time: Moment) -> None:
        for buffer, is_write in _touched(op):
            self._note(self._access(op, buffer, is_write, frame, self._moment(time)))

    def _moment(self, time: Moment) -> Moment:
        """The time vector, padded with zeros to the function's length."""
        return (*time, *[_number(0)] * (self.scop.time_length - len(time)))

    def _affine_access(self, op: loop.LoadOp | loop.StoreOp, frame: Frame, time: Moment) -> None:
        """Note the access, the one of before where nothing it was made from has changed."""
        is_write, operands = type(op) is loop.StoreOp, tuple(op.operands)
        buffer, moment = operands[is_write], self._moment(time)
        said = (frame, moment, self._private(buffer, frame), op.properties["map"], *operands)
        known = self._before.get(op)
        if known is not None and known[0] == said:
            self.scop.made[op] = known
            self._note(known[1])
            return
        access = self._access(op, buffer, is_write, frame, moment)
        self._note(access)
        if access.buffer is buffer and not any(
            type(value.owner) is affine.ApplyOp for value in op.operands_
        ):  # what the operands of others say may be changed in its place
            self.scop.made[op] = said, access

    def _private(self, buffer: SSAValue, frame: Frame) -> int:
        """How many loops of the frame have their own memory of a buffer in each iteration."""
        key = buffer, frame
        if key not in self._loops:
            self._loops[key] = _loops_of(self.scop.aliases.root(buffer), frame)
        return self._loops[key]

    def _note(self, access: Access) -> None:
        self.scop.accesses.append(access)

    def _access(
        self, op: Operation, buffer: SSAValue, is_write: bool, frame: Frame, moment: Moment
    ) -> Access:
        root = self.scop.aliases.root(buffer)
        place = Place(_loops_of(root, frame), self._subscripts(op, buffer, root, frame))
        return Access(
            op,
            f"A{next(self.scop.names)}",
            root,
            is_write,
            frame.loops,
            frame.around,
            place,
            moment,
            isinstance(op, loop.LoadOp | loop.StoreOp) and None not in place.subscripts,
            frame.certain,
        )

    def _subscripts(
        self, op: Operation, buffer: SSAValue, root: SSAValue, frame: Frame
    ) -> tuple[AffineExpr | None, ...]:
        """For each axis of the root buffer the subscript as an affine expression, None where it is not one."""
        if self.scop.aliases.same_indices(buffer) is root:
            match op:
                case loop.LoadOp() | loop.StoreOp():
                    operands = op.operands_
                    return tuple(_partly(e, operands, frame) for e in op.map.data.results)
                case memref.LoadOp() | memref.StoreOp():
                    return tuple(frame.term(index) for index in op.indices)
                case _:
                    pass
        type_ = root.type
        return (None,) * (type_.get_num_dims() if isinstance(type_, MemRefType) else 0)


def _partly(expr: AffineExpr, operands: Sequence[SSAValue], frame: Frame) -> AffineExpr | None:
    """One expression as `terms`: only the operands that it uses have to be affine."""
    known = [frame.term(operand) for operand in operands]
    if any(known[position] is None for position in expr.used_dims()):
        return None
    zero = AffineExpr.constant(0)
    return expr.replace_dims_and_symbols([term or zero for term in known], ())


@lru_cache(REMEMBERED)
def _number(value: int) -> AffineExpr:
    return AffineExpr.constant(value)


def _touched(op: Operation) -> list[tuple[SSAValue, bool]]:
    """Each buffer that an operation other than an affine access may touch, and whether it is written."""
    buffers = _buffers_used(op)
    match op:
        case _ if not buffers:
            return []
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
    around, count = buffer.owner.parent_op(), 0
    while around is not None:
        count += around in frame.loops
        around = around.parent_op()
    return count


def _is_harmless(op: Operation) -> bool:
    """Whether the operation touches no memory whose contents matter: pure, or making a scratch buffer."""
    effects = get_effects(op)
    if isinstance(op, func.ReturnOp | loop.PrefetchOp | loop.YieldOp):
        return True
    return effects is not None and all(e.kind is MemoryEffectKind.ALLOC for e in effects)


def _buffers_used(op: Operation) -> list[SSAValue]:
    """The buffers an opaque operation, or what is inside of it, may touch."""
    found = [v for v in op.operands if type(v.type) is MemRefType]
    if op.regions:
        found += [v for o in operations_in(op) for v in o.operands if type(v.type) is MemRefType]
    return list(dict.fromkeys(found))
