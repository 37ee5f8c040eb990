"""
Operands, results and regions of our operations, read by their positions.

The accessors that IRDL makes ask each time which kind of list they are of, and make a view of it: what looks at every
operation of a kernel reads them by the thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation
from xdsl.ir.core import SSAValues
from xdsl.irdl import VarIRConstruct
from xdsl.irdl.operations import (
    BeforeVariadicSingleAccessor,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
)

from .type_memo import remembered

OpT = TypeVar("OpT", bound=Operation)

_LISTS: dict[VarIRConstruct, Callable[[Any], tuple[Any, ...]]] = {
    VarIRConstruct.OPERAND: attrgetter("_operands"),
    VarIRConstruct.RESULT: attrgetter("results"),
    VarIRConstruct.REGION: attrgetter("regions"),
}


_item: Callable[..., Any] = cast(Any, tuple).__getitem__
"""What `SSAValues` asks after a look at the index."""


def by_position(cls: type[OpT]) -> type[OpT]:
    """
    Class decorator, above IRDL's: what stands before all that is variable in number, what is so alone, and lists of operands of
    which a property has the sizes.
    """
    for name, made in list(vars(cls).items()):
        if isinstance(made, BeforeVariadicSingleAccessor) and made.construct in _LISTS:
            setattr(cls, name, _One(_LISTS[made.construct], made.idx))
        elif isinstance(made, UniqueVariadicAccessor) and made.construct is VarIRConstruct.OPERAND:
            setattr(cls, name, _Several(made.idx, made.num_defs))
        elif isinstance(made, UniqueVariadicAccessor) and made.construct is VarIRConstruct.RESULT:
            if made.num_defs == 1:
                setattr(cls, name, _AllResults())
        elif isinstance(made, VariadicAttrAccessor) and made.construct is VarIRConstruct.OPERAND:
            setattr(cls, name, _Segment(made.idx, made.option.attribute_name))
    return cls


class _Read:
    def __set__(self, op: Operation, value: object) -> NoReturn:
        raise NotImplementedError("found an operand, result or region set by its name")


class _One(_Read):
    def __init__(self, list_of: Callable[[Any], tuple[Any, ...]], index: int):
        self.list_of, self.index = list_of, index

    def __get__(self, op: Operation, owner: type[Operation] | None = None) -> Any:
        return _item(self.list_of(op), self.index)


class _AllResults(_Read):
    def __get__(self, op: Operation, owner: type[Operation] | None = None) -> Any:
        return op.results


class _Segment(_Read):
    def __init__(self, number: int, sizes: str):
        self.number, self.sizes = number, sizes

    def __get__(self, op: Operation, owner: type[Operation] | None = None) -> Any:
        known: Any = op.properties[self.sizes]
        sizes = _numbers(known)
        first = sum(sizes[: self.number])
        operands = tuple(op._operands)  # pyright: ignore[reportPrivateUsage]
        return SSAValues(operands[first : first + sizes[self.number]])


@remembered
def _numbers(sizes: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return sizes.get_values()


class _Several(_Read):
    def __init__(self, first: int, named: int):
        self.first, self.others = first, named - 1

    def __get__(self, op: Operation, owner: type[Operation] | None = None) -> Any:
        operands: tuple[Any, ...] = op._operands  # pyright: ignore[reportPrivateUsage]
        return SSAValues(tuple(operands)[self.first : self.first + len(operands) - self.others])
