"""
The polyhedral view of a function: which operations run when, and which memory they touch.

Every operation that touches memory has an iteration domain (an integer set over the loops around it), a
time (a vector compared lexicographically: positions in blocks and loop variables in turn) and, for each
buffer, the elements it reads or writes. Following Feautrier, Dataflow analysis of array and scalar
references, 1991; the sets are isl's (Verdoolaege, isl: An integer set library, 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import islpy as isl
from xdsl.dialects import affine, arith, func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr
from xdsl.traits import MemoryEffectKind, get_effects

from ..dialects import loop
from .affine_isl import applied
from .alias import Aliases, is_allocation
from .domains import Around, BranchPart, LoopPart, Moment, Place, element_map, time_map, touched
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


@dataclass(frozen=True)
class _Frame:
    """What surrounds a block: the loops, the time so far, and what variables and parameters are called."""

    around: Around
    terms: Mapping[SSAValue, AffineExpr]
    loops: tuple[loop.ForOp, ...] = ()
    time: Moment = ()
    certain: bool = True
    """Whether every bound and condition is affine."""


@dataclass
class Scop:
    """The accesses of a function in textual order, and the values its affine expressions leave open."""

    function: func.FuncOp
    accesses: list[Access] = field(default_factory=list[Access])
    parameters: list[SSAValue] = field(default_factory=list[SSAValue])
    time_length: int = 1
    """The length of the time vectors."""
    frames: dict[Block, _Frame] = field(default_factory=dict[Block, _Frame])
    """What surrounds blocks, as far as it is known."""

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


def extract(function: func.FuncOp) -> Scop:
    """The polyhedral view of a function of one block at the loop level."""
    return _Extractor(Scop(function)).run()


def iteration_domain(scop: Scop, loops: Sequence[loop.ForOp]) -> isl.Set:
    """The iterations of nested loops, outermost first; a bound that is not affine is left out."""
    extractor = _Extractor(scop)
    frame = extractor.outermost()
    for for_op in loops:
        frame = extractor.in_loop(for_op, frame)
    return frame.around.domain


class Surroundings:
    """
    What is known where the operations of a block run: the loops around, and the values they have there.

    `domain` is a set over the variables of `loops`, outermost first. It holds all iterations in which
    the block runs; bounds and conditions that are not affine are left out, which only adds some.
    """

    def __init__(self, scop: Scop, block: Block, rounded: Mapping[loop.ForOp, int] | None = None):
        """`rounded` are loops whose trip count is taken up to a multiple of a number."""
        self._extractor = _Extractor(scop, rounded or {})
        self._frame = self._extractor.frame_of(block)
        self.loops = self._frame.loops
        self.around = self._frame.around
        """The same by content."""
        self.certain = self._frame.certain
        """Whether the block runs in all of the domain."""

    @cached_property
    def space(self) -> isl.Space:
        return self.around.space

    @cached_property
    def domain(self) -> isl.Set:
        return self.around.domain

    def inside(self, for_op: loop.ForOp) -> Around:
        """What surrounds the body of a loop that stands in the block."""
        return self._extractor.in_loop(for_op, self._frame).around

    def terms(
        self, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]
    ) -> list[AffineExpr] | None:
        """The expressions over the parameters and the loops' variables; None when one is not affine."""
        return self._extractor.terms(exprs, operands, self._frame)

    def values(
        self, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]
    ) -> list[isl.PwAff] | None:
        """The expressions as functions on the domain's space, or None when an operand is not affine."""
        found = self.terms(exprs, operands)
        return None if found is None else self.around.values(found)


def parametric(function: func.FuncOp) -> Scop:
    """The function's parameters without its accesses, which is what `Surroundings` need."""
    scop = Scop(function)
    _Extractor(scop).find_parameters(function.body.block)
    return scop


def _time_depth(block: Block) -> int:
    """The longest time vector, in levels, of anything in the block."""
    deepest = 0
    for op in block.ops:
        if op.regions and isinstance(op, loop.ForOp | loop.IfOp):
            inner = max((_time_depth(b) for r in op.regions for b in r.blocks), default=0)
            deepest = max(deepest, 1 + inner)
    return deepest


class _Extractor:
    def __init__(self, scop: Scop, rounded: Mapping[loop.ForOp, int] | None = None):
        self.scop = scop
        self.rounded = rounded or {}

    def run(self) -> Scop:
        body = self.scop.function.body.block
        self.scop.time_length = 2 * _time_depth(body) + 1
        self.find_parameters(body)
        self._block(body, self.outermost())
        return self.scop

    # Parameters.

    def find_parameters(self, block: Block) -> None:
        """Every value an affine operation uses that is neither a loop variable nor computed from some."""
        if not any(self._is_parameter(value) for value in _index_values(block)):
            return
        for op in block.walk():
            if isinstance(op, loop.ForOp):
                used: Sequence[SSAValue] = (*op.lower_operands, *op.upper_operands)
            elif isinstance(op, loop.IfOp):
                used = op.condition_operands
            elif isinstance(op, loop.LoadOp | loop.StoreOp):
                used = op.operands_
            else:
                continue
            for value in used:
                self._note_parameter(value)

    def _note_parameter(self, value: SSAValue) -> None:
        if isinstance(value.owner, affine.ApplyOp):
            for operand in value.owner.mapOperands:
                self._note_parameter(operand)
        elif self._is_parameter(value) and value not in self.scop.parameters:
            self.scop.parameters.append(value)

    def _is_parameter(self, value: SSAValue) -> bool:
        if not isinstance(value.type, IndexType) or constant_value(value) is not None:
            return False
        block = value.owner if isinstance(value, BlockArgument) else value.owner.parent
        return block is self.scop.function.body.block

    # Frames.

    def outermost(self) -> _Frame:
        """That of the function's body, once the parameters are known."""
        parameters = self.scop.parameters
        terms = {value: AffineExpr.dimension(n) for n, value in enumerate(parameters)}
        return _Frame(Around(len(parameters)), terms)

    def frame_of(self, block: Block) -> _Frame:
        """That of any block; its time is not to be used."""
        if self.rounded:
            return self._frame_of(block)
        frames = self.scop.frames
        if block not in frames:
            frames[block] = self._frame_of(block)
        return frames[block]

    def _frame_of(self, block: Block) -> _Frame:
        around = block.parent_op()
        if around is None or block is self.scop.function.body.block:
            return self.outermost()
        assert around.parent is not None
        frame = self.frame_of(around.parent)
        if isinstance(around, loop.ForOp):
            return self.in_loop(around, frame)
        if isinstance(around, loop.IfOp):
            return self._in_branch(around, block is around.then_region.block, frame)
        return frame

    def in_loop(self, op: loop.ForOp, frame: _Frame, position: int = 0) -> _Frame:
        """That of the body of a loop that stands in a frame."""
        operands, lower_map, upper_map = op.operands, op.lower_map.data, op.upper_map.data
        lower = self.terms(lower_map.results, operands[: lower_map.num_dims], frame)
        upper = self.terms(upper_map.results, operands[lower_map.num_dims :], frame)
        part = LoopPart(
            op.loop_name.data,
            tuple(lower or ()),
            tuple(upper or ()),
            op.step.value.data,
            self.rounded.get(op, 1),
        )
        variable = AffineExpr.dimension(frame.around.parameters + len(frame.loops))
        return _Frame(
            frame.around.within(part),
            {**frame.terms, op.induction_variable: variable},
            (*frame.loops, op),
            (*frame.time, AffineExpr.constant(position), variable),
            frame.certain and lower is not None and upper is not None,
        )

    def _in_branch(self, op: loop.IfOp, taken: bool, frame: _Frame, position: int = 0) -> _Frame:
        constraints = op.condition.data.constraints
        lhs = self.terms([c.lhs for c in constraints], op.condition_operands, frame)
        known = None
        if lhs is not None:
            parts = zip(constraints, lhs, strict=True)
            known = tuple(
                AffineConstraintExpr(c.kind, e, c.rhs, canonicalize=False) for c, e in parts
            )
        which = AffineExpr.constant(0 if taken else 1)
        return _Frame(
            frame.around.within(BranchPart(known, taken)),
            frame.terms,
            frame.loops,
            (*frame.time, AffineExpr.constant(position), which),
            frame.certain and known is not None,
        )

    # Walking.

    def _block(self, block: Block, frame: _Frame) -> None:
        self.scop.frames[block] = frame
        for position, op in enumerate(block.ops):
            if not op.regions:  # nearly all: what follows takes longer
                self._operation(op, position, frame)
            elif isinstance(op, loop.ForOp):
                self._block(op.body.block, self.in_loop(op, frame, position))
            elif isinstance(op, loop.IfOp):
                for region, taken in ((op.then_region, True), (op.else_region, False)):
                    if region.blocks:
                        self._block(region.block, self._in_branch(op, taken, frame, position))
            else:
                self._operation(op, position, frame)

    def _operation(self, op: Operation, position: int, frame: _Frame) -> None:
        is_affine = isinstance(op, loop.LoadOp | loop.StoreOp)
        for buffer, is_write in self._touched(op):
            root = self.scop.aliases.root(buffer)
            place = Place(_loops_of(root, frame), self._subscripts(op, buffer, root, frame))
            self.scop.accesses.append(
                Access(
                    op,
                    f"A{len(self.scop.accesses)}",
                    root,
                    is_write,
                    frame.loops,
                    frame.around,
                    place,
                    self._moment(frame, position),
                    is_affine and None not in place.subscripts,
                    frame.certain,
                )
            )

    def _touched(self, op: Operation) -> list[tuple[SSAValue, bool]]:
        """Each buffer that may be touched, and whether it is written."""
        if isinstance(op, loop.LoadOp | loop.StoreOp):
            return [(op.buffer, isinstance(op, loop.StoreOp))]
        buffers = _buffers_used(op)
        match op:
            case memref.LoadOp():
                return [(op.memref, False)]
            case memref.StoreOp():
                return [(op.memref, True)]
            case _:
                if not buffers or _is_harmless(op):
                    return []
                return [(buffer, written) for buffer in buffers for written in (False, True)]

    def _subscripts(
        self, op: Operation, buffer: SSAValue, root: SSAValue, frame: _Frame
    ) -> tuple[AffineExpr | None, ...]:
        """For each axis of the root buffer the subscript as an affine expression, None where it is not one."""
        if self.scop.aliases.same_indices(buffer) is root:
            match op:
                case loop.LoadOp() | loop.StoreOp():
                    operands = op.operands_
                    return tuple(self._partly(e, operands, frame) for e in op.map.data.results)
                case memref.LoadOp() | memref.StoreOp():
                    return tuple(self._term(index, frame) for index in op.indices)
                case _:
                    pass
        type_ = root.type
        return (None,) * (type_.get_num_dims() if isinstance(type_, MemRefType) else 0)

    def _partly(
        self, expr: AffineExpr, operands: Sequence[SSAValue], frame: _Frame
    ) -> AffineExpr | None:
        """One expression as `terms`: only the operands that it uses have to be affine."""
        known = [self._term(operand, frame) for operand in operands]
        if any(known[position] is None for position in expr.used_dims()):
            return None
        zero = AffineExpr.constant(0)
        return expr.replace_dims_and_symbols([term or zero for term in known], ())

    # By content.

    def _term(self, value: SSAValue, frame: _Frame) -> AffineExpr | None:
        """The value over parameters and loop variables, or None when it is not affine."""
        known = frame.terms.get(value)
        if known is not None:
            return known
        number = constant_value(value)
        if number is not None:
            return AffineExpr.constant(number)
        if isinstance(value.owner, affine.ApplyOp):
            found = self.terms([applied(value.owner)], value.owner.mapOperands, frame)
            return None if found is None else found[0]
        return None

    def terms(
        self, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue], frame: _Frame
    ) -> list[AffineExpr] | None:
        """Expressions over the parameters and the loops' variables; None when an operand is not affine."""
        if not operands:
            return list(exprs)
        dims: list[AffineExpr] = []
        for operand in operands:
            term = self._term(operand, frame)
            if term is None:
                return None
            dims.append(term)
        return [expr.replace_dims_and_symbols(dims, ()) for expr in exprs]

    def _moment(self, frame: _Frame, position: int) -> Moment:
        """A time vector, padded with zeros to the function's length."""
        entries = (*frame.time, AffineExpr.constant(position))
        zeros = [AffineExpr.constant(0)] * (self.scop.time_length - len(entries))
        return (*entries, *zeros)


def _index_values(block: Block) -> Iterator[SSAValue]:
    """The values defined in a block that could be parameters."""
    yield from block.args
    for op in block.ops:
        yield from op.results


def _loops_of(buffer: SSAValue, frame: _Frame) -> int:
    """How many of the loops of the frame are around the operation that makes the buffer."""
    if not is_allocation(buffer):
        return 0
    around, count = buffer.owner.parent_op(), 0
    while around is not None:
        count += around in frame.loops
        around = around.parent_op()
    return count


def constant_value(value: SSAValue) -> int | None:
    """The number an `arith.constant` of integer or index type gives, else None."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


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
