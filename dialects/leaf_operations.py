"""
Operations made, changed and appended with no more work than they need, most of them without regions and successors, and
copies of structured ones: lowerings and schedules make hundreds for each kernel.

This is the one place that writes private fields of xDSL's operations and blocks. What it makes is what `Operation.create`
and `Block.add_op` make, with which a test compares it.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import prod
from struct import pack
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.affine import AffineMap
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef

OpT = TypeVar("OpT", bound=Operation)
AttributeT = TypeVar("AttributeT", bound=Attribute)

_NONE: Mapping[str, Attribute] = MappingProxyType({})
_NO_VALUES: SSAValues[OpResult] = SSAValues(())
_NO_OPERANDS: SSAValues[SSAValue] = SSAValues(())

Defaults: TypeAlias = "tuple[tuple[tuple[str, Attribute], ...], tuple[tuple[str, Attribute], ...]]"
"""Properties and attributes that are there where none are given."""

_NO_DEFAULTS: Defaults = ((), ())


def leaf(
    kind: type[OpT],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    attributes: Mapping[str, Attribute] = _NONE,
    location: LocationAttr | None = None,
) -> OpT:
    """As `kind.create`, for an operation without regions and successors."""
    defaults = _defaults(kind)
    if defaults is None:
        return kind.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            location=location,
        )
    op = object.__new__(kind)
    _fill(op, operands, result_types, properties, attributes, location, defaults)
    return op


def fill(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    attributes: Mapping[str, Attribute] = _NONE,
    location: LocationAttr | None = None,
) -> None:
    """
    As `Operation.__init__`, of a new operation without regions and successors, whose kind does nothing of its own then.

    Regions can be added after it.
    """
    defaults = _defaults(type(op)) or _NO_DEFAULTS
    _fill(op, operands, result_types, properties, attributes, location, defaults)


def _fill(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    location: LocationAttr | None,
    defaults: Defaults,
) -> None:
    if operands:
        _use(op, operands)
    else:
        op._operands, op._operand_uses = _NO_OPERANDS, ()
    if not result_types:
        op.results = _NO_VALUES
    elif len(result_types) == 1:
        op.results = SSAValues((OpResult(result_types[0], op, 0),))
    else:
        op.results = SSAValues(
            [OpResult(each, op, index) for index, each in enumerate(result_types)]
        )
    op.properties = own = dict(properties) if properties else {}
    op.attributes = dict(attributes) if attributes else {}
    if defaults is not _NO_DEFAULTS:
        for name, value in defaults[0]:
            own.setdefault(name, value)
        for name, value in defaults[1]:
            op.attributes.setdefault(name, value)
    op.location = UNKNOWN_LOC if location is None else location
    op.regions = ()


def structured(
    kind: type[OpT],
    operands: Sequence[SSAValue],
    regions: Sequence[Region],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
) -> OpT:
    """As `kind.create`, for an operation with regions, whose kind does nothing of its own when it is made."""
    op = leaf(kind, operands, result_types, properties)
    for region in regions:
        op.add_region(region)
    return op


def jump(
    kind: type[OpT],
    operands: Sequence[SSAValue],
    successors: Sequence[Block],
    properties: Mapping[str, Attribute] = _NONE,
    location: LocationAttr | None = None,
) -> OpT:
    """As `kind.create`, for an operation that goes on in one of other blocks."""
    op = leaf(kind, operands, (), properties, location=location)
    op._successors = tuple(successors)
    op._successor_uses = uses = tuple([Use(op, index) for index in range(len(successors))])
    for successor, use in zip(successors, uses, strict=True):
        successor.add_use(use)
    return op


def block_with(types: Iterable[Attribute]) -> Block:
    """As `Block(arg_types=types)`, which imports the location of each argument anew."""
    block = object.__new__(Block)
    block._args = tuple([BlockArgument(t, block, n, UNKNOWN_LOC) for n, t in enumerate(types)])
    block._first_op = block._last_op = None
    return block


def region_of(block: Block) -> Region:
    """As `Region(block)`, of a block that is in none."""
    region = object.__new__(Region)
    region._first_block = region._last_block = block
    block.parent = region
    return region


def first_argument(op: Operation) -> SSAValue:
    """As `op.regions[0].block.args[0]`, which looks at all blocks of the region."""
    block = op.regions[0]._first_block
    assert block is not None
    return block._args[0]


def keep_name(old: SSAValue, new: SSAValue) -> None:
    """Call a value as another one, which it stands for, unless it has a name."""
    if new._name is None:
        new._name = old._name


def take_name(old: SSAValue, new: SSAValue) -> None:
    """Call a value as another one, which it stands for."""
    new._name = old._name


def set_name(value: SSAValue, name: str | None) -> None:
    """As `value.name_hint = name`, which looks at every letter, of a name that is known to be one."""
    value._name = name


def index_attribute(value: int) -> IntegerAttr[IndexType]:
    """As `IntegerAttr(value, IndexType())`, which asks whether the number fits."""
    return _integer(value, _INDEX)


def word_attribute(value: int) -> IntegerAttr[IntegerType]:
    """As `IntegerAttr(value, i64)`, of a number that is known to fit, likewise."""
    return _integer(value, i64)


def half_word_attribute(value: int) -> IntegerAttr[IntegerType]:
    """As `IntegerAttr(value, i32)`, likewise."""
    return _integer(value, i32)


def bit_attribute(value: bool) -> BoolAttr:
    """As `BoolAttr.from_bool(value)`, likewise."""
    return _BITS[value]


def map_of(op: Operation, name: str) -> AffineMap:
    """The affine map that a property of an operation is: `op.upper_map.data` without xDSL's accessor."""
    attribute: Any = op.properties[name]
    return attribute.data


def map_attribute(map_: AffineMap) -> AffineMapAttr:
    """As `AffineMapAttr(map_)`, which asks whether it is an attribute."""
    made = object.__new__(AffineMapAttr)
    object.__setattr__(made, "data", map_)
    return made


def numbers_attribute(type_: IntegerType, values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """As `DenseArrayBase.from_list(type_, values)`, of i32 or i64, of numbers that are known to fit."""
    data = pack(f"<{len(values)}{'i' if type_ is i32 else 'q'}", *values)
    made: Any = _unchecked(DenseArrayBase, elt_type=type_, data=_unchecked(BytesAttr, data=data))
    return made


def function_type(inputs: Iterable[Attribute], outputs: Iterable[Attribute]) -> FunctionType:
    """As `FunctionType.from_lists(inputs, outputs)`, which asks of each type whether it is an attribute."""
    return _unchecked(
        FunctionType, inputs=array_attribute(inputs), outputs=array_attribute(outputs)
    )


@lru_cache(maxsize=256)
def vector_of(element: Attribute, *shape: int) -> VectorType[Attribute]:
    """As `VectorType(element, shape)`; types are compared by content, and take long to make."""
    numbers = array_attribute([_unchecked(IntAttr, data=size) for size in shape])
    scalable = array_attribute([_BITS[False]] * len(shape))
    return _unchecked(VectorType, element_type=element, shape=numbers, scalable_dims=scalable)


def splat(type_: VectorType[Any], number: int | float) -> DenseIntOrFPElementsAttr:
    """
    As `DenseIntOrFPElementsAttr.from_list(type_, [number])`, of a number that is known to fit, an integer with its sign.
    """
    data: bytes = type_.element_type.pack((number,)) * prod(type_.get_shape())
    return _unchecked(DenseIntOrFPElementsAttr, type=type_, data=_unchecked(BytesAttr, data=data))


def array_attribute(elements: Iterable[Attribute]) -> ArrayAttr[Attribute]:
    """As `ArrayAttr(elements)`, which asks of each whether it is an attribute."""
    return _unchecked(ArrayAttr, data=tuple(elements))


@lru_cache(maxsize=64)
def operand_segments(*sizes: int) -> DenseArrayBase[IntegerType]:
    """The property that says how many operands each of several lists of operands has."""
    return numbers_attribute(i32, sizes)


_INDEX = IndexType()
_BITS: tuple[BoolAttr, BoolAttr] = (BoolAttr.from_bool(False), BoolAttr.from_bool(True))


def _integer(value: int, type_: Attribute) -> IntegerAttr[Any]:
    number = object.__new__(IntAttr)
    object.__setattr__(number, "data", value)
    made: IntegerAttr[Any] = object.__new__(IntegerAttr)
    object.__setattr__(made, "value", number)
    object.__setattr__(made, "type", type_)
    return made


def _unchecked(kind: type[AttributeT], **parameters: Any) -> AttributeT:
    """An attribute of these parameters, which its constructor would look at one by one."""
    made: Any = object.__new__(kind)
    made.__dict__.update(parameters)
    return made


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """As `old.replace_all_uses_with(new)`."""
    use = None if old is new else old.first_use
    while use is not None:
        following, op = use._next_use, use._operation
        operands = list(op._operands)
        operands[use._index] = new
        op._operands = SSAValues(operands)
        new.add_use(use)
        use = following
    if old is not new:
        old.first_use = None
        keep_name(old, new)


def erase_leaf(op: Operation) -> None:
    """As `op.erase()`, of an operation without regions and successors whose results nothing uses."""
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    op._operands, op._operand_uses = SSAValues(()), ()
    before, following, block = op._prev_op, op._next_op, op.parent
    if block is not None:
        if before is None:
            block._first_op = following
        else:
            before._next_op = following
        if following is None:
            block._last_op = before
        else:
            following._prev_op = before
    op._prev_op = op._next_op = op.parent = None


def set_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """As `op.operands = operands`; where these are the ones that it has, nothing is done."""
    if op._operands == tuple(operands):
        return
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    _use(op, operands)


def _use(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Give operands to an operation that has none."""
    op._operands = SSAValues(operands)
    uses: list[Use] = []
    for index, operand in enumerate(operands):
        # As its constructor and `add_use` do, in the same order, so that what all uses have is kept in one way.
        use, first = object.__new__(Use), operand.first_use
        use._operation = op
        use._index = index
        use._prev_use = None
        use._next_use = first
        operand.first_use = use
        if first is not None:
            first._prev_use = use
        uses.append(use)
    op._operand_uses = tuple(uses)


def copy_of_leaf(op: OpT, values: Mapping[SSAValue, SSAValue]) -> OpT:
    """A copy of an operation without regions and successors, of the `values` of its operands, with the same names."""
    copy = leaf(
        type(op),
        [values.get(value, value) for value in op._operands],
        [result.type for result in op.results],
        op.properties,
        op.attributes,
        op.location,
    )
    for result, new in zip(op.results, copy.results, strict=True):
        new._name = result._name
    return copy


def copy_of(op: OpT, values: dict[SSAValue, SSAValue]) -> OpT:
    """
    As `op.clone(values)`, which goes through what is inside of each operation once more: a copy with all that is in it. Where it
    has blocks after each other, or more is done when its kind is made, it is what `clone` gives. Of the values that it makes
    `values` has those that are seen from outside then.
    """
    if not _is_plain(op):
        return op.clone(values)
    copy = _copy_of_plain(op, {id(old): new for old, new in values.items()} if values else {})
    for result, new in zip(op.results, copy.results, strict=True):
        values[result] = new
    return copy


def copy_of_region(region: Region) -> Region:
    """As `region.clone()`; of one block, as `copy_of` for all that is in it."""
    block = region._first_block
    if block is None or block is not region._last_block:
        return region.clone()
    return region_of(_copy_of_block(block, {}))


def _is_plain(op: Operation) -> bool:
    """Whether nothing more is done when an operation of its kind is made, and it has at most one block in a region."""
    if op._successors or _defaults(type(op)) is None:
        return False
    return all(r._first_block is r._last_block for r in op.regions) if op.regions else True


def _copy_of_plain(op: OpT, values: dict[int, SSAValue]) -> OpT:
    """A copy of a plain operation, of the `values` of its operands by their addresses, to which it adds its results."""
    copy = object.__new__(type(op))
    operands = [values.get(id(value), value) for value in op._operands]
    types = [result.type for result in op.results]
    defaults = _defaults(type(op)) or _NO_DEFAULTS
    _fill(copy, operands, types, op.properties, op.attributes, op.location, defaults)
    for result, new in zip(op.results, copy.results, strict=True):
        values[id(result)] = new
        new._name = result._name
    for region in op.regions:
        block = region._first_block
        copy.add_region(Region() if block is None else region_of(_copy_of_block(block, values)))
    return copy


def _clone(op: Operation, values: dict[int, SSAValue]) -> Operation:
    """As `_copy_of_plain`, by xDSL."""
    used = (value for inner in op.walk() for value in inner._operands)
    copy = op.clone({value: values[id(value)] for value in used if id(value) in values})
    for result, new in zip(op.results, copy.results, strict=True):
        values[id(result)] = new
    return copy


def _copy_of_block(block: Block, values: dict[int, SSAValue]) -> Block:
    made = block_with([arg.type for arg in block._args])
    for arg, new in zip(block._args, made._args, strict=True):
        values[id(arg)] = new
        new._name = arg._name
    op = block._first_op
    while op is not None:
        append_leaf(made, _copy_of_plain(op, values) if _is_plain(op) else _clone(op, values))
        op = op._next_op
    return made


def append_leaf(block: Block, op: Operation) -> None:
    """As `block.add_op`, for a new operation: the block is not in it."""
    last = block._last_op
    op.parent = block
    op._prev_op = last
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op


def inserted(builder: Builder, op: OpT) -> OpT:
    """
    As `builder.insert(op)`, likewise, by a builder that nobody listens to. An operation that is new may have regions.
    """
    point = builder.insertion_point
    if point.insert_before is None:
        append_leaf(point.block, op)
    else:
        insert_leaf_before(point.block, op, point.insert_before)
    return op


def insert_leaf_before(block: Block, op: Operation, place: Operation) -> None:
    """As `block.insert_op_before`, likewise; `place` is in the block. An operation with regions may be moved so, but not into itself."""
    before = place._prev_op
    op.parent = block
    op._prev_op, op._next_op = before, place
    place._prev_op = op
    if before is None:
        block._first_op = op
    else:
        before._next_op = op


@cache
def _defaults(kind: type[Operation]) -> Defaults | None:
    """The properties and attributes that a kind has where none are given; None where it does more when it is made."""
    if not issubclass(kind, IRDLOperation) or kind.__post_init__ is not IRDLOperation.__post_init__:
        return None
    definition = kind.get_irdl_definition()
    properties, attributes = (
        tuple(
            (name, found.default_value)
            for name, found in given.items()
            if not isinstance(found, OptionalDef) and found.default_value is not None
        )
        for given in (definition.properties, definition.attributes)
    )
    return (properties, attributes) if properties or attributes else _NO_DEFAULTS
