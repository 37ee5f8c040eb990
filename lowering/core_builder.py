"""
Operations of level 4, appended to a block. Of computations without effects none is there twice, and none in a loop
that does not depend on it; nor is an element loaded again that nothing has stored to since. No later pass has to look
for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..analysis.alias import Aliases
from ..analysis.effects import has_no_effect
from ..analysis.operations import block_of
from ..dialects.leaf_operations import (
    append_leaf,
    insert_leaf_before,
    leaf,
    numbers_attribute,
    structured,
)

OpT = TypeVar("OpT", bound=Operation)

Properties = Mapping[str, Attribute]

CoreLoop = scf.ForOp | scf.ParallelOp

NONE: Properties = MappingProxyType({})

_BUFFER_OF_STORE: dict[type[Operation], int] = {
    memref.StoreOp: 1,
    vector.StoreOp: 1,
    vector.MaskedStoreOp: 0,
}
"""The operand that is the buffer."""


class CoreBuilder:
    """
    Appends operations to one block.

    Operations are made by what they consist of: xDSL's constructors spend twice the time on finding that out of their
    arguments.
    """

    def __init__(
        self,
        block: Block,
        around: CoreBuilder | None = None,
        loop: CoreLoop | None = None,
        aliases: Aliases | None = None,
    ) -> None:
        """
        `around` appends to the block in which an operation stands, or is to stand, that has this block inside.

        `loop` is this operation where it is a loop. `aliases` are those of the function, by default as for `around`; of
        a function without them every load stays.
        """
        self.block = block
        self._around = around
        self._loop = loop
        self._aliases = around._aliases if around is not None and aliases is None else aliases
        # Values are known by their ids: what was made of them keeps them. Their own hash is a function of Python's.
        self._shared: dict[tuple[Hashable, ...], SSAValue] = {}
        self._loaded: dict[tuple[Hashable, ...], SSAValue] = {}
        self._read: dict[SSAValue, dict[tuple[Hashable, ...], SSAValue]] = {}
        """what is known of memory here: by the buffer, views seen through, and by what has loaded it"""

    def inside(self, block: Block) -> CoreBuilder:
        """For a block of the operation that comes next."""
        return CoreBuilder(block, self)

    def inside_loop(self, loop: CoreLoop) -> CoreBuilder:
        """For the body of a loop that stands in the block."""
        return CoreBuilder(loop.body.block, self, loop)

    def insert(self, op: OpT) -> OpT:
        """Append an operation that is new."""
        append_leaf(self.block, op)
        if not op.regions and not has_no_effect(type(op)):
            self._forget(None)  # what stands in regions has been appended by the builders of these
        return op

    def branch(
        self,
        condition: SSAValue,
        then: Block,
        otherwise: Block | None = None,
        result_types: Sequence[Attribute] = (),
    ) -> scf.IfOp:
        """Append an `scf.if` with these blocks, which builders `inside` have filled."""
        regions = (Region(then), Region() if otherwise is None else Region(otherwise))
        return self.insert(structured(scf.IfOp, (condition,), regions, result_types))

    def append(
        self, kind: type[Operation], operands: Sequence[SSAValue], properties: Properties = NONE
    ) -> None:
        """An operation without results."""
        append_leaf(self.block, leaf(kind, operands, (), properties))
        if kind in _BUFFER_OF_STORE:
            self._forget(operands[_BUFFER_OF_STORE[kind]])

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Properties = NONE,
    ) -> SSAValue:
        """The result of an operation that has one."""
        op = leaf(kind, operands, (result,), properties)
        append_leaf(self.block, op)
        (value,) = op.results
        return value

    def shared(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Properties = NONE,
        *,
        mark: Hashable = None,
    ) -> SSAValue:
        """
        As `emit`, of an operation without effects, or of an equal one before this place.

        It stands before the loops that it does not depend on, which may have no iteration: it must not fail. It stays
        inside of loops on threads, into which all that they use is passed. `mark` tells apart what differs in its properties or result.
        """
        key = (kind, *map(id, operands), mark)
        builder: CoreBuilder | None = self
        while builder is not None:
            known = builder._shared.get(key)
            if known is not None:
                return known
            builder = builder._around
        new = leaf(kind, operands, (result,), properties)
        home, loop = self._home(operands)
        if loop is None:
            append_leaf(home.block, new)
        else:
            insert_leaf_before(home.block, new, loop)
        (made,) = new.results
        home._shared[key] = made
        return made

    def load(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        may_leave: Callable[[CoreLoop], bool],
        *,
        mark: Hashable = None,
    ) -> SSAValue:
        """
        An element of a buffer, which with its subscripts are the operands, or neighbours in a vector. `mark` is as of `read`.

        It is loaded before the loops that it does not depend on and that it `may_leave`, once for each of these.
        """
        home, loop = self._home(operands, may_leave)
        if loop is None:
            return self.read(kind, operands, result, mark=mark)
        key = (loop, kind, *map(id, operands), mark)
        known = home._loaded.get(key)
        if known is None:
            new = leaf(kind, operands, (result,))
            insert_leaf_before(home.block, new, loop)
            known = home._loaded[key] = new.results[0]
        return known

    def read(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        *,
        mark: Hashable = None,
    ) -> SSAValue:
        """
        As `emit`, of a load, or what an equal one has loaded before in the block when nothing may have stored there since.

        The buffer is the first operand. `mark` tells apart results of different types.
        """
        aliases = self._aliases
        if aliases is None:
            return self.emit(kind, operands, result)
        known = self._read.setdefault(aliases.root(operands[0]), {})
        key = (kind, *map(id, operands), mark)
        value = known.get(key)
        if value is None:
            value = known[key] = self.emit(kind, operands, result)
        return value

    def _forget(self, stored: SSAValue | None) -> None:
        """Something stores to a buffer here; None is any of them."""
        builder: CoreBuilder | None = self
        while builder is not None:
            read, aliases = builder._read, builder._aliases
            if read and aliases is not None:
                root = None if stored is None else aliases.root(stored)
                for buffer in tuple(read):
                    if root is None or aliases.may_alias(buffer, root):
                        del read[buffer]
            builder = builder._around

    def is_invariant(self, value: SSAValue) -> bool:
        """Whether it does not depend on the loop whose body the block is."""
        return type(self._loop) is scf.ForOp and block_of(value) is not self.block

    def _home(
        self,
        operands: Sequence[SSAValue],
        may_leave: Callable[[CoreLoop], bool] = lambda loop: type(loop) is scf.ForOp,
    ) -> tuple[CoreBuilder, CoreLoop | None]:
        """The outermost place for what depends on these; None is the end of its block, else it is before a loop."""
        builder, loop = self, None
        if builder._loop is None:
            return builder, None
        needed = {id(block_of(value)) for value in operands}
        while builder._loop is not None and id(builder.block) not in needed:
            if not may_leave(builder._loop):
                break
            assert builder._around is not None
            builder, loop = builder._around, builder._loop
        return builder, loop


# Properties that many operations have. Operations copy them.

PLAIN: Properties = {"nontemporal": BoolAttr.from_bool(False)}
NONTEMPORAL: Properties = {"nontemporal": BoolAttr.from_bool(True)}
"""Of stores that go through the caches, and past them."""


@lru_cache(maxsize=64)
def predicate(name: str) -> Properties:
    """Of a comparison of integers: `sge` and the like."""
    return {"predicate": IntegerAttr(CMPI_COMPARISON_OPERATIONS.index(name), i64)}


@lru_cache(maxsize=256)
def lane_position(lane: int) -> Properties:
    """Of what extracts or inserts one element of a vector."""
    return {"static_position": numbers_attribute(i64, (lane,))}
