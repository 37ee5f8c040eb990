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

import islpy as isl
from xdsl.dialects import affine, arith, func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import MemoryEffectKind, get_effects

from ..dialects import loop
from .affine_isl import applied, constant, constraint_set, parameter, pw_aff, variable
from .alias import Aliases, is_allocation


@dataclass(frozen=True)
class Access:
    """
    One operation's reading or writing of one buffer.

    `subscripts` maps all of the loops' space to the buffer's indices. It is `exact`, or it relates each
    point to every element because the subscripts are not affine or the operation is opaque.
    """

    op: Operation
    name: str
    buffer: SSAValue
    is_write: bool
    loops: tuple[loop.ForOp, ...]
    domain: isl.Set
    private: int
    """How many of the loops around have a buffer of their own in each iteration (made inside them)."""
    subscripts: isl.Map
    time: isl.Map
    exact: bool
    certain: bool
    """Whether it is made in all of its domain: every bound and condition around it is affine."""

    @property
    def element(self) -> isl.Map:
        """The element each iteration of the domain touches; every element when not `exact`."""
        return self.subscripts.intersect_domain(self.domain)

    @property
    def kind(self) -> str:
        return "write" if self.is_write else "read"


_Around = loop.ForOp | tuple[loop.IfOp, bool]
"""A loop, or a condition and whether it holds."""


@dataclass
class _Frame:
    """What surrounds a block: loops, the constraints of their bounds and conditions, the time so far."""

    loops: tuple[loop.ForOp, ...] = ()
    conditions: tuple[loop.IfOp, ...] = ()
    time: tuple[int | loop.ForOp, ...] = ()
    order: tuple[_Around, ...] = ()
    """Loops and branches taken (True: then), outermost first."""


@dataclass
class Scop:
    """The accesses of a function in textual order, and the values its affine expressions leave open."""

    function: func.FuncOp
    accesses: list[Access] = field(default_factory=list[Access])
    parameters: list[SSAValue] = field(default_factory=list[SSAValue])
    time_length: int = 1
    """The length of the time vectors."""
    aliases: Aliases = field(init=False)

    def __post_init__(self) -> None:
        self.aliases = Aliases(self.function)

    def of(self, op: Operation) -> list[Access]:
        """The accesses of one operation."""
        return [access for access in self.accesses if access.op is op]

    def inside(self, op: Operation) -> list[Access]:
        """The accesses of the operation and of everything in its regions."""
        return [access for access in self.accesses if op.is_ancestor(access.op)]


def extract(function: func.FuncOp) -> Scop:
    """The polyhedral view of a function of one block at the loop level."""
    return _Extractor(Scop(function)).run()


def iteration_domain(scop: Scop, loops: Sequence[loop.ForOp]) -> isl.Set:
    """The iterations of nested loops, outermost first; a bound that is not affine is left out."""
    extractor = _Extractor(scop)
    frame = _Frame(tuple(loops), order=tuple(loops))
    return extractor.domain(extractor.space("", frame), frame)


def loop_range(
    here: isl.PwAff,
    lower: Sequence[isl.PwAff],
    upper: Sequence[isl.PwAff],
    step: int,
    multiple: int = 1,
) -> isl.Set:
    """
    Where a variable is one that `max(lower) to min(upper) step` runs through.

    The number of iterations is rounded up to a multiple of `multiple`.
    """
    result = isl.Set.universe(here.get_domain_space())
    if multiple == 1 or not lower:
        for bound in upper:
            result = result.intersect(here.lt_set(bound))
    if not lower:
        return result
    start = lower[0]
    for bound in lower[1:]:
        start = start.max(bound)
    result = result.intersect(here.ge_set(start))
    if multiple != 1 and upper:
        end = upper[0]
        for bound in upper[1:]:
            end = end.min(bound)
        span = isl.Val(step * multiple)
        blocks = end.sub(start).scale_down_val(span).ceil()
        result = result.intersect(here.sub(start).lt_set(blocks.scale_val(span)))
    if step != 1:
        offset = here.sub(start).mod_val(isl.Val(step))
        result = result.intersect(offset.zero_set())
    return result


class Surroundings:
    """
    What is known where the operations of a block run: the loops around, and the values they have there.

    `domain` is a set over the variables of `loops`, outermost first. It holds all iterations in which
    the block runs; bounds and conditions that are not affine are left out, which only adds some.
    """

    def __init__(self, scop: Scop, block: Block, rounded: Mapping[loop.ForOp, int] | None = None):
        """`rounded` are loops whose trip count is taken up to a multiple of a number."""
        self._extractor = _Extractor(scop, rounded or {})
        self._frame = _frame_of(block)
        self.loops = self._frame.loops
        self.space = self._extractor.space("", self._frame)
        self.domain = self._extractor.domain(self.space, self._frame)
        self.certain = self._extractor.is_affine(self._frame)
        """Whether the block runs in all of the domain."""

    def values(
        self, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]
    ) -> list[isl.PwAff] | None:
        """The expressions as functions on the domain's space, or None when an operand is not affine."""
        dims = self._extractor.values(operands, self.space, self._frame)
        return None if dims is None else [pw_aff(expr, dims, self.space) for expr in exprs]


def parametric(function: func.FuncOp) -> Scop:
    """The function's parameters without its accesses, which is what `Surroundings` need."""
    scop = Scop(function)
    _Extractor(scop).find_parameters(function.body.block)
    return scop


def _frame_of(block: Block) -> _Frame:
    """The loops around a block and the branches taken to it."""
    order: list[_Around] = []
    current: Block | None = block
    while current is not None:
        around = current.parent_op()
        if isinstance(around, loop.ForOp):
            order.insert(0, around)
        elif isinstance(around, loop.IfOp):
            order.insert(0, (around, current is around.then_region.block))
        current = None if around is None else around.parent
    loops = tuple(part for part in order if isinstance(part, loop.ForOp))
    return _Frame(loops, order=tuple(order))


def _time_depth(block: Block) -> int:
    """The longest time vector, in levels, of anything in the block."""
    deepest = 0
    for op in block.ops:
        if isinstance(op, loop.ForOp | loop.IfOp):
            inner = max((_time_depth(b) for r in op.regions for b in r.blocks), default=0)
            deepest = max(deepest, 1 + inner)
    return deepest


class _Extractor:
    def __init__(self, scop: Scop, rounded: Mapping[loop.ForOp, int] | None = None):
        self.scop = scop
        self.rounded = rounded or {}
        self.length = 2 * _time_depth(scop.function.body.block) + 1
        scop.time_length = self.length
        self._domains: dict[tuple[_Around, ...], tuple[isl.Set, bool]] = {}

    def run(self) -> Scop:
        self.find_parameters(self.scop.function.body.block)
        self._block(self.scop.function.body.block, _Frame())
        return self.scop

    # Parameters.

    def find_parameters(self, block: Block) -> None:
        """Every value an affine operation uses that is neither a loop variable nor computed from some."""
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

    # Walking.

    def _block(self, block: Block, frame: _Frame) -> None:
        for position, op in enumerate(block.ops):
            match op:
                case loop.ForOp():
                    self._block(
                        op.body.block,
                        _Frame(
                            (*frame.loops, op),
                            frame.conditions,
                            (*frame.time, position, op),
                            (*frame.order, op),
                        ),
                    )
                case loop.IfOp():
                    for region, taken in ((op.then_region, True), (op.else_region, False)):
                        self._branch(op, region, taken, position, frame)
                case _:
                    self._operation(op, position, frame)

    def _branch(
        self, op: loop.IfOp, region: Region, taken: bool, position: int, frame: _Frame
    ) -> None:
        if region.blocks:
            inner = _Frame(
                frame.loops,
                (*frame.conditions, op),
                (*frame.time, position, 0 if taken else 1),
                (*frame.order, (op, taken)),
            )
            self._block(region.block, inner)

    def _operation(self, op: Operation, position: int, frame: _Frame) -> None:
        touched = list(self._touched(op))
        if not touched:
            return
        for buffer, is_write, indices in touched:
            name = f"A{len(self.scop.accesses)}"
            space = self.space(name, frame)
            common, is_affine = self._domain_of(frame)
            domain = common.set_tuple_name(name)
            root = self.scop.aliases.root(buffer)
            private = _loops_of(root, frame)
            subscripts = None
            if indices is not None and root is buffer:
                subscripts = self._subscripts(indices, space, frame)
            self.scop.accesses.append(
                Access(
                    op,
                    name,
                    root,
                    is_write,
                    frame.loops,
                    domain,
                    private,
                    self._element(space, root, subscripts, private),
                    self._time(space, frame, position).intersect_domain(domain),
                    subscripts is not None,
                    is_affine,
                )
            )

    def _touched(
        self, op: Operation
    ) -> Iterator[tuple[SSAValue, bool, loop.LoadOp | loop.StoreOp | None]]:
        """(buffer, whether written, the affine access or None when any element may be touched)."""
        if isinstance(op, loop.LoadOp):
            yield op.buffer, False, op
        elif isinstance(op, loop.StoreOp):
            yield op.buffer, True, op
        elif isinstance(op, memref.LoadOp):
            yield op.memref, False, None
        elif isinstance(op, memref.StoreOp):
            yield op.memref, True, None
        elif not _is_harmless(op):
            for value in _buffers_used(op):
                yield value, False, None
                yield value, True, None

    # Sets and maps.

    def space(self, name: str, frame: _Frame) -> isl.Space:
        space = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT,
            set=[for_op.loop_name.data for for_op in frame.loops],
            params=[f"p{n}" for n in range(len(self.scop.parameters))],
        )
        return space.set_tuple_name(isl.dim_type.set, name) if name else space

    def _value(self, value: SSAValue, space: isl.Space, frame: _Frame) -> isl.PwAff | None:
        """The value as a function of loop variables and parameters, or None when it is not affine."""
        number = constant_value(value)
        if number is not None:
            return constant(space, number)
        for position, for_op in enumerate(frame.loops):
            if for_op.induction_variable is value:
                return variable(space, position)
        if isinstance(value.owner, affine.ApplyOp):
            dims = self.values(value.owner.mapOperands, space, frame)
            return None if dims is None else pw_aff(applied(value.owner), dims, space)
        if value in self.scop.parameters:
            return parameter(space, self.scop.parameters.index(value))
        return None

    def values(
        self, values: Sequence[SSAValue], space: isl.Space, frame: _Frame
    ) -> list[isl.PwAff] | None:
        found = [self._value(value, space, frame) for value in values]
        known = [value for value in found if value is not None]
        return known if len(known) == len(found) else None

    def _subscripts(
        self, op: loop.LoadOp | loop.StoreOp, space: isl.Space, frame: _Frame
    ) -> list[isl.PwAff] | None:
        dims = self.values(op.operands_, space, frame)
        if dims is None:
            return None
        return [pw_aff(expr, dims, space) for expr in op.map.data.results]

    def domain(self, space: isl.Space, frame: _Frame) -> isl.Set:
        """The iterations; a bound or condition that is not affine is left out, which only adds some."""
        domain = isl.Set.universe(space)
        for part in frame.order:
            if isinstance(part, loop.ForOp):
                domain = domain.intersect(self._range(part, space, frame))
            else:
                domain = domain.intersect(self._condition(part[0], part[1], space, frame))
        return domain

    def _domain_of(self, frame: _Frame) -> tuple[isl.Set, bool]:
        """The domain of all operations of a frame, without a name, and whether it is affine."""
        if frame.order not in self._domains:
            domain = self.domain(self.space("", frame), frame)
            self._domains[frame.order] = domain, self.is_affine(frame)
        return self._domains[frame.order]

    def is_affine(self, frame: _Frame) -> bool:
        """Whether every bound and condition of the frame is affine."""
        known = [*self.scop.parameters, *(op.induction_variable for op in frame.loops)]
        pending: list[SSAValue] = []
        for part in frame.order:
            pending += part.operands if isinstance(part, loop.ForOp) else part[0].operands
        while pending:
            value = pending.pop()
            if isinstance(value.owner, affine.ApplyOp):
                pending += value.owner.mapOperands
            elif constant_value(value) is None and value not in known:
                return False
        return True

    def _range(self, op: loop.ForOp, space: isl.Space, frame: _Frame) -> isl.Set:
        here = variable(space, frame.loops.index(op))
        lower_dims = self.values(op.lower_operands, space, frame)
        upper_dims = self.values(op.upper_operands, space, frame)
        lower, upper = op.lower_map.data.results, op.upper_map.data.results
        return loop_range(
            here,
            [] if lower_dims is None else [pw_aff(expr, lower_dims, space) for expr in lower],
            [] if upper_dims is None else [pw_aff(expr, upper_dims, space) for expr in upper],
            op.step.value.data,
            self.rounded.get(op, 1),
        )

    def _condition(self, op: loop.IfOp, taken: bool, space: isl.Space, frame: _Frame) -> isl.Set:
        dims = self.values(op.condition_operands, space, frame)
        holds = isl.Set.universe(space)
        if dims is None:
            return holds
        for part in op.condition.data.constraints:
            holds = holds.intersect(constraint_set(part, dims, space))
        return holds if taken else isl.Set.universe(space).subtract(holds)

    def _element(
        self,
        space: isl.Space,
        buffer: SSAValue,
        subscripts: Sequence[isl.PwAff] | None,
        private: int,
    ) -> isl.Map:
        """
        The space's points to the elements of the buffer, preceded by the variables of the loops that
        the buffer is made in: each of their iterations has memory of its own.
        """
        type_ = buffer.type
        rank = type_.get_num_dims() if isinstance(type_, MemRefType) else 0
        everywhere = isl.Set.universe(space)
        target = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT,
            set=[f"e{n}" for n in range(rank)],
            params=[f"p{n}" for n in range(len(self.scop.parameters))],
        )
        nothing = isl.Set.universe(target.drop_dims(isl.dim_type.set, 0, rank))
        relation = isl.Map.from_domain_and_range(everywhere, nothing)
        for n in range(private):
            relation = relation.flat_range_product(isl.Map.from_pw_aff(variable(space, n)))
        if subscripts is None:
            anything = isl.Map.from_domain_and_range(everywhere, isl.Set.universe(target))
            return relation.flat_range_product(anything)
        for subscript in subscripts:
            relation = relation.flat_range_product(isl.Map.from_pw_aff(subscript))
        return relation

    def _time(self, space: isl.Space, frame: _Frame, position: int) -> isl.Map:
        """The domain's iterations to time vectors, padded with zeros to the function's length."""
        entries: list[int | loop.ForOp] = [*frame.time, position]
        entries += [0] * (self.length - len(entries))
        functions = isl.MultiAff.zero(
            isl.Space.map_from_domain_and_range(
                space, space.params().add_dims(isl.dim_type.set, self.length)
            )
        )
        local = isl.LocalSpace.from_space(space)
        for n, entry in enumerate(entries):
            if isinstance(entry, int):
                aff = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(entry))
            else:
                aff = isl.Aff.var_on_domain(local, isl.dim_type.set, frame.loops.index(entry))
            functions = functions.set_aff(n, aff)
        return isl.Map.from_multi_aff(functions)


def _loops_of(buffer: SSAValue, frame: _Frame) -> int:
    """How many of the loops of the frame are around the operation that makes the buffer."""
    if not is_allocation(buffer):
        return 0
    made_by = buffer.owner
    assert isinstance(made_by, Operation)
    return sum(1 for for_op in frame.loops if for_op.is_ancestor(made_by))


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


def _buffers_used(op: Operation) -> Iterator[SSAValue]:
    """The buffers an opaque operation, or what is inside of it, may touch."""
    seen: set[SSAValue] = set()
    for inner in op.walk():
        for operand in inner.operands:
            if isinstance(operand.type, MemRefType) and operand not in seen:
                seen.add(operand)
                yield operand
