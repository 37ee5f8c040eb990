"""
Elements that are a few apart from lane to lane, such as the colours of pixels.

Stores of a vector loop may together fill neighbouring elements, though each alone leaves gaps between its lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.shaped import memref_type
from ..frozen import frozen
from .alias import Aliases
from .operations import blocks_of, operations_of, operations_within

MOST_APART = 8
"""
Elements from one lane to the next, at most, that are loaded or stored with what lies between: of a vector of every
eighth element seven eighths are loaded for nothing, and that takes no longer than to load and to insert one after the
other.
"""


@frozen
class InterleavedStores:
    """As many stores of one block as the lanes are elements apart, in the order of their elements in memory."""

    stores: tuple[loop.StoreOp, ...]
    last: loop.StoreOp
    """the one that comes last in the block, where all can be done"""


@frozen
class LaneStores:
    """What is known of the stores of a function's vector loops."""

    groups: dict[Operation, InterleavedStores] = field(
        default_factory=dict[Operation, InterleavedStores]
    )
    """those that are done together, by each of them"""
    forwarded: dict[Operation, loop.StoreOp] = field(default_factory=dict[Operation, loop.StoreOp])
    """the loads of what the same lanes have stored just before, and by which store"""
    overwritten: set[Operation] = field(default_factory=set[Operation])
    """the stores whose elements are stored again before anything else loads them"""


def lane_stores(vector_loops: Iterable[loop.ForOp], aliases: Aliases) -> LaneStores:
    """What is known of the stores of a function's vector loops."""
    found = LaneStores()
    for op in vector_loops:
        inner = [b for i in operations_within(op.body) for b in blocks_of(i)]
        for block in (op.body.block, *inner):
            kinds = [kind for i in operations_of(block) if (kind := type(i)) in _ACCESSES]
            if loop.StoreOp not in kinds[:-1]:
                continue  # nothing comes after a store, as in most
            for group in _groups(block, op, aliases):
                found.groups.update(dict.fromkeys(group.stores, group))
            _forward(block, op, aliases, found)
    return found


_ACCESSES = (loop.LoadOp, loop.StoreOp)


def _forward(block: Block, for_op: loop.ForOp, aliases: Aliases, found: LaneStores) -> None:
    """
    Find the loads of one block that need not load and the stores that need not store: scalar replacement. (Callahan,
    Carr and Kennedy, "Improving Register Allocation for Subscripted Variables", PLDI 1990.)
    """
    known: dict[_Key, loop.StoreOp] = {}
    unread: dict[_Key, loop.StoreOp] = {}
    for op in operations_of(block):
        if isinstance(op, loop.LoadOp):
            key = _key(op, for_op)
            if key in known:
                found.forwarded[op] = known[key]
                continue
            root = aliases.root(op.buffer)
            for other in [k for k in unread if aliases.may_alias(root, aliases.root(k[0]))]:
                del unread[other]
        elif isinstance(op, loop.StoreOp):
            key, root = _key(op, for_op), aliases.root(op.buffer)
            for other in [k for k in known if aliases.may_alias(root, aliases.root(k[0]))]:
                del known[other]
            if key in unread:
                found.overwritten.add(unread.pop(key))
            if key is not None:
                known[key] = unread[key] = op
        elif op.regions or isinstance(op, memref.LoadOp):
            known.clear()
            unread.clear()


_Key = tuple[SSAValue, Attribute, tuple[SSAValue, ...]]
"""A buffer and the subscripts in it."""


def _key(op: loop.LoadOp | loop.StoreOp, for_op: loop.ForOp) -> _Key | None:
    """Which elements an access is of, where they are other ones in each lane, else None."""
    place = _distances(op, for_op)
    if place is None or not place[0].get(for_op.induction_variable, 0):
        return None
    return op.buffer, op.map, tuple(op.operands_)


_Form = tuple[SSAValue, frozenset[tuple[SSAValue, int]]]
"""A buffer, and what is added up for the place in it but for the constant."""


def _groups(block: Block, for_op: loop.ForOp, aliases: Aliases) -> Iterator[InterleavedStores]:
    by_form: dict[_Form, dict[int, loop.StoreOp]] = {}
    places: dict[_Form, int] = {}
    for store in operations_of(block):
        if type(store) is not loop.StoreOp:
            continue
        place = _place(store, for_op)
        if place is None:
            continue
        form, at, apart = place
        if at in by_form.setdefault(form, {}):
            by_form[form] = {}  # stored twice: which one comes last matters
            continue
        by_form[form][at] = store
        places[form] = apart
    order = {op: n for n, op in enumerate(block.ops)} if by_form else {}
    for form, stores in by_form.items():
        apart = places[form]
        at = sorted(stores)
        while len(at) >= apart:
            first, members = at[0], at[:apart]
            if members != list(range(first, first + apart)):
                at = at[1:]
                continue
            at = at[apart:]
            together = tuple(stores[n] for n in members)
            last = max(together, key=lambda op: order[op])
            if _may_wait(together, last, aliases):
                yield InterleavedStores(together, last)


def _place(store: loop.StoreOp, for_op: loop.ForOp) -> tuple[_Form, int, int] | None:
    """
    Which elements a store is of: what it has in common with its group, where it is in that, and how far apart lanes are.
    """
    found = _distances(store, for_op)
    if found is None:
        return None
    total, constant = found
    apart = total.get(for_op.induction_variable, 0) * for_op.step.value.data
    if not 2 <= apart <= MOST_APART:
        return None
    return (store.buffer, frozenset(total.items())), constant, apart


def _distances(
    access: loop.LoadOp | loop.StoreOp, for_op: loop.ForOp
) -> tuple[dict[SSAValue, int], int] | None:
    """
    How many elements further in memory an access is for each step of a value, and where it is when all are 0; None where
    that is not so or values of the body, other than variables of loops, are among them.
    """
    type_, operands = memref_type(access.buffer), tuple(access.operands_)
    shape, strides = type_.get_shape(), type_.get_strides()
    if strides is None or DYNAMIC_INDEX in shape:
        return None
    expected = [prod(shape[n + 1 :]) for n in range(len(shape))]
    sizes = zip(shape, strides, expected, strict=True)
    if any(size != 1 and stride != row for size, stride, row in sizes):
        return None
    total, constant = dict[SSAValue, int](), 0
    for expr, by in zip(access.map.data.results, expected, strict=True):
        linear = linear_form(expr, len(operands))
        if linear is None:
            return None
        constant += by * linear[1]
        for factor, value in zip(linear[0], operands, strict=True):
            total[value] = total.get(value, 0) + by * factor
    moved = {value: by for value, by in total.items() if by}
    inside = (v.owner for v in moved if isinstance(v.owner, Operation))
    return None if any(map(for_op.is_ancestor, inside)) else (moved, constant)


def _may_wait(stores: Sequence[loop.StoreOp], last: loop.StoreOp, aliases: Aliases) -> bool:
    """Whether nothing between the first and the last of some stores uses their buffer."""
    root = aliases.root(last.buffer)
    left = len(stores)
    block = last.parent_block()
    assert block is not None
    for op in block.ops:
        if op in stores:
            left -= 1
            if not left:
                return True
        elif left < len(stores) and any(
            isinstance(inner, memref.LoadOp)
            or (
                isinstance(inner, loop.LoadOp | loop.StoreOp)
                and aliases.may_alias(root, aliases.root(inner.buffer))
            )
            for inner in op.walk()
        ):
            return False
    return False
