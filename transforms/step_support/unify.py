"""Whether a nest computes what a kernel does: the same loops, operations and order, other buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects import loop
from ...dialects.shaped import memref_type
from .nest import Nest
from .slices import may_repeat
from .trip_count import TripCount

COMMUTATIVE = (
    arith.AddfOp,
    arith.AddiOp,
    arith.AndIOp,
    arith.MaximumfOp,
    arith.MaxSIOp,
    arith.MaxUIOp,
    arith.MinimumfOp,
    arith.MinSIOp,
    arith.MinUIOp,
    arith.MulfOp,
    arith.MuliOp,
    arith.OrIOp,
    arith.XOrIOp,
)

_FASTMATH = "fastmath"


class Mismatch(Exception):
    """The first difference between a kernel and a nest, in words."""


Accessor = loop.LoadOp | loop.StoreOp


@dataclass
class Unifier:
    """Walks a kernel and a nest together, and notes what of one stands for what of the other."""

    kernel: Nest
    nest: Nest
    root: loop.ForOp
    """the nest's outermost loop"""
    loops: list[tuple[loop.ForOp, loop.ForOp]] = field(
        default_factory=list[tuple[loop.ForOp, loop.ForOp]]
    )
    """kernel loop and nest loop, outermost first"""
    accesses: list[tuple[Accessor, Accessor]] = field(
        default_factory=list[tuple[Accessor, Accessor]]
    )
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _blocks: dict[Block, Block] = field(default_factory=dict[Block, Block])

    def run(self) -> None:
        """Raise Mismatch with the first difference, or return with all found out."""
        block = self.kernel.function.body.block
        effects = _effects(block)
        if len(effects) != 1 or not isinstance(effects[0], loop.ForOp):
            raise Mismatch(f"the kernel has {len(effects)} statements, expected one loop")
        self._blocks[block] = _block_of(self.root)
        self._loop(effects[0], self.root)

    # Structure.

    def _block(self, ours: Block, theirs: Block, where: str) -> None:
        self._blocks[ours] = theirs
        left, right = _effects(ours), _effects(theirs)
        for number, (a, b) in enumerate(zip(left, right, strict=False), 1):
            if type(a) is not type(b):
                raise Mismatch(
                    f"statement {number} of {where} is '{a.name}' in the kernel and '{b.name}' in the "
                    "nest"
                )
            self._effect(a, b)
        if len(left) != len(right):
            raise Mismatch(
                f"{where} has {len(left)} statements in the kernel and {len(right)} in the nest"
            )

    def _effect(self, ours: Operation, theirs: Operation) -> None:
        match ours, theirs:
            case loop.ForOp(), loop.ForOp():
                self._loop(ours, theirs)
            case loop.StoreOp(), loop.StoreOp():
                self._access(ours, theirs)
                self._value(ours.value, theirs.value)
            case _:
                raise Mismatch(f"the kernel has '{ours.name}', which is not compared")

    def _loop(self, ours: loop.ForOp, theirs: loop.ForOp) -> None:
        names = f"'{ours.loop_name.data}' of the kernel", f"'{theirs.loop_name.data}' of the nest"
        counts = [
            TripCount(nest, op).range() for nest, op in ((self.kernel, ours), (self.nest, theirs))
        ]
        if counts[0][0] != counts[0][1]:
            raise Mismatch(f"loop {names[0]} has no constant number of iterations")
        if counts[0] != counts[1]:
            raise Mismatch(
                f"loop {names[0]} runs {counts[0][0]} iterations, and {names[1]} {_range(counts[1])}"
            )
        if theirs.mode is not None:
            raise Mismatch(f"loop {names[1]} is marked '{theirs.mode.data.value}'")
        self.loops.append((ours, theirs))
        self._block(ours.body.block, theirs.body.block, f"loop {names[0]}")

    # Values.

    def _value(self, ours: SSAValue, theirs: SSAValue) -> None:
        if ours.type != theirs.type:
            raise Mismatch(f"the kernel has a value of type {ours.type}, the nest of {theirs.type}")
        if self.values.get(ours) is theirs:
            return
        if isinstance(ours.type, MemRefType):
            raise Mismatch(f"the kernel uses '%{loop.buffer_name(ours)}' other than by loop.load")
        a, b = ours.owner, theirs.owner
        if isinstance(a, Block):
            self._argument(ours, theirs)
        elif isinstance(b, Block) or type(a) is not type(b):
            theirs_name = "a variable" if isinstance(b, Block) else f"'{b.name}'"
            raise Mismatch(f"the kernel has '{a.name}' where the nest has {theirs_name}")
        else:
            self._operation(a, b)
        self.values[ours] = theirs

    def _argument(self, ours: SSAValue, theirs: SSAValue) -> None:
        """A scalar argument of the kernel stands for a value from outside of the nest."""
        name = loop.buffer_name(ours) or "an argument"
        owner = theirs.owner
        made_by = owner.parent_op() if isinstance(owner, Block) else owner
        if ours.owner is not self.kernel.function.body.block:
            raise Mismatch(f"the kernel computes with its loop variable '%{name}'")
        if made_by is not None and self.root.is_ancestor(made_by):
            raise Mismatch(f"'%{name}' of the kernel would change inside of the nest")
        known = self.values.get(ours)
        if known is not None and known is not theirs:
            raise Mismatch(f"'%{name}' of the kernel stands for two values of the nest")

    def _operation(self, ours: Operation, theirs: Operation) -> None:
        match ours, theirs:
            case loop.LoadOp(), loop.LoadOp():
                self._same_place(ours, theirs)
                self._access(ours, theirs)
                return
            case affine.ApplyOp(), affine.ApplyOp():
                raise Mismatch("the kernel computes with an index")
            case _:
                pass
        if ours.regions:
            raise Mismatch(f"the kernel has '{ours.name}', which is not compared")
        self._same_attributes(ours, theirs)
        if len(ours.operands) != len(theirs.operands):
            raise Mismatch(f"'{ours.name}' has another number of operands in the nest")
        try:
            self._operands(ours.operands, theirs.operands)
        except Mismatch as first:
            if not isinstance(ours, COMMUTATIVE):
                raise
            try:
                self._operands(ours.operands, theirs.operands[::-1])
            except Mismatch:
                raise first from None

    def _operands(self, ours: Sequence[SSAValue], theirs: Sequence[SSAValue]) -> None:
        """Match operands in order; what was noted is forgotten when they differ."""
        before = dict(self.values), dict(self.buffers), list(self.accesses)
        try:
            for a, b in zip(ours, theirs, strict=True):
                self._value(a, b)
        except Mismatch:
            self.values, self.buffers, self.accesses = before
            raise

    def _same_attributes(self, ours: Operation, theirs: Operation) -> None:
        if set(_flags(ours)) - set(_flags(theirs)):
            raise Mismatch(
                f"'{ours.name}' has fast-math flags in the kernel that it does not have in the nest"
            )
        if _facts(ours) != _facts(theirs):
            what = "value" if isinstance(ours, arith.ConstantOp) else "attributes"
            raise Mismatch(f"'{ours.name}' has another {what} in the nest")

    # Buffers.

    def _access(self, ours: Accessor, theirs: Accessor) -> None:
        """Note that two accesses belong together; the subscripts are compared later."""
        known = self.buffers.setdefault(ours.buffer, theirs.buffer)
        if known is not theirs.buffer:
            raise Mismatch(
                f"'%{loop.buffer_name(ours.buffer)}' of the kernel stands for '%{loop.buffer_name(known)}' and for "
                f"'%{loop.buffer_name(theirs.buffer)}'"
            )
        elements = [memref_type(op.buffer).get_element_type() for op in (ours, theirs)]
        if elements[0] != elements[1]:
            raise Mismatch(
                f"'%{loop.buffer_name(ours.buffer)}' of the kernel and '%{loop.buffer_name(theirs.buffer)}' have "
                "elements of other types"
            )
        if self._loops_of(ours, 0) != self._loops_of(theirs, 1):
            raise Mismatch(
                f"the subscripts of '%{loop.buffer_name(ours.buffer)}' of the kernel use other loops than those "
                f"of '%{loop.buffer_name(theirs.buffer)}'"
            )
        self.accesses.append((ours, theirs))

    def _loops_of(self, op: Accessor, side: int) -> list[set[int]]:
        """For each subscript with loops of the nest in it, which of them these are."""
        numbers = {pair[side].induction_variable: n for n, pair in enumerate(self.loops)}
        used = [
            {numbers[v] for n in expr.used_dims() if (v := op.operands_[n]) in numbers}
            for expr in op.map.data.results
        ]
        return [loops for loops in used if loops]

    def _same_place(self, ours: loop.LoadOp, theirs: loop.LoadOp) -> None:
        """A load of what is written must stand between the same statements."""
        scop = self.nest.dependences.scop
        root = scop.aliases.root(theirs.buffer)
        is_inside = self.root.is_ancestor(theirs)
        writes = scop.inside(self.root) if is_inside else scop.accesses
        if not any(
            a.is_write and (a.buffer is root or scop.aliases.may_alias(a.buffer, root))
            for a in writes
        ):
            return
        a, b = _block_of(ours), _block_of(theirs)
        if not is_inside or self._blocks.get(a) is not b or _position(ours) != _position(theirs):
            raise Mismatch(
                f"the load of '%{loop.buffer_name(ours.buffer)}' stands at another place in the nest"
            )


def _block_of(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent


def _effects(block: Block) -> list[Operation]:
    """The operations that do something, in order; those that only give values come with their users."""
    return [op for op in block.ops if not op.has_trait(IsTerminator) and not _only_gives(op)]


def _only_gives(op: Operation) -> bool:
    """Whether the operation, when nothing uses its results, might as well not be there."""
    if isinstance(op, loop.AllocOp | loop.PrefetchOp):
        return True
    return bool(op.results) and may_repeat(op)


def _position(op: Operation) -> int:
    """How many statements of its block come before an operation."""
    return sum(other.is_before_in_block(op) for other in _effects(_block_of(op)))


def _flags(op: Operation) -> Sequence[FastMathFlag]:
    flags = op.properties.get(_FASTMATH)
    return tuple(flags.data) if isinstance(flags, arith.FastMathFlagsAttr) else ()


def _facts(op: Operation) -> dict[str, Attribute]:
    """What an operation does, beside its operands; fast-math flags are compared on their own."""
    return {name: value for name, value in op.properties.items() if name != _FASTMATH}


def _range(count: tuple[int, int | None]) -> str:
    least, greatest = count
    if least == greatest:
        return str(least)
    return f"{least} or more" if greatest is None else f"from {least} to {greatest}"
