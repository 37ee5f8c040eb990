"""What operations of the graph level are at te, found once for those that are equal but for their operands."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.copies import copy_of
from ..dialects.graph.base import splat_number
from ..dialects.interfaces import DefinedInTe
from ..dialects.te.builder import TeBuilder
from ..frozen import frozen


@frozen
class _Definition:
    """What an operation became."""

    values: tuple[SSAValue, ...]
    """of its operands"""
    ops: tuple[Operation, ...]
    results: tuple[SSAValue, ...]

    def repeated(self, values: Sequence[SSAValue], te: TeBuilder) -> Sequence[SSAValue]:
        """Insert a copy for operands of these values; the values of its results."""
        became = dict(zip(self.values, values, strict=True))
        for op in self.ops:
            te.insert(copy_of(op, became))
        return [became[result] for result in self.results]


class Definitions:
    """The definitions of a program's operations so far, by all that they depend on."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Definition] = {}

    def of(self, op: DefinedInTe, te: TeBuilder) -> Sequence[SSAValue]:
        """Insert what an operation is at te; the values of its results."""
        assert isinstance(op, Operation)
        if op.regions or not op.operands:
            return _as_values(op.define(te))
        values = tuple(te.values[operand] for operand in op.operands)
        key = _key(op, values)
        known = self._known.get(key)
        if known is not None:
            return known.repeated(values, te)
        before = te.last
        results = _as_values(op.define(te))
        self._known[key] = _Definition(values, te.since(before), results)
        return results


def _as_values(found: SSAValue | Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    return (found,) if isinstance(found, SSAValue) else tuple(found)


def _key(op: Operation, values: Sequence[SSAValue]) -> Hashable:
    """All that the definition of an operation depends on, see `DefinedInTe`; `values` are those of its operands."""
    operands = tuple(op.operands)
    return (
        type(op),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        tuple((result.type, result.name_hint) for result in op.results),
        tuple(_operand_key(value) for value in operands),
        tuple(map(operands.index, operands)),
        tuple(map(values.index, values)),
    )


def _operand_key(value: SSAValue) -> tuple[Attribute, Hashable]:
    number = splat_number(value)
    return value.type, None if number is None else (number.dtype.str, number.tobytes())
