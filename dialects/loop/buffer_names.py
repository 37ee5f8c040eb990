"""
The names of buffers, by which schedules call them.

A buffer is called what its SSA value is called in the text, `%A.staged` or `%a_1`. Where the hints from which
xDSL prints SSA names cannot say that (they have no number at their end, and two values may have one hint), the
name is a property of `loop.alloc`, or the attribute `stepwell.name` of a function's argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from .memory import AllocOp

BUFFER_NAME = "stepwell.name"
"""Attribute of a function's argument: what the buffer is called, where the SSA name does not say it."""


def buffer_name(value: SSAValue) -> str | None:
    """What a buffer is called, without `%`; None when it has no name."""
    owner = value.owner
    if type(owner) is AllocOp:
        given = owner.buffer_name
    else:
        given = _argument_attributes(value).get(BUFFER_NAME)
    return given.data if type(given) is StringAttr else value.name_hint


def set_buffer_name(value: SSAValue, name: str | None) -> None:
    """Call a buffer `name`. Views, which are made by operations of other dialects, have a hint only."""
    value.name_hint = name if SSAValue.is_valid_name(name) else None
    given = None if name is None or name == value.name_hint else StringAttr(name)
    owner = value.owner
    if isinstance(owner, AllocOp):
        owner.buffer_name = given
        return
    attributes = _argument_attributes(value)
    if attributes.get(BUFFER_NAME) != given:
        kept = {key: attribute for key, attribute in attributes.items() if key != BUFFER_NAME}
        _set_argument_attributes(value, kept if given is None else {**kept, BUFFER_NAME: given})


def name_apart(function: func.FuncOp, operations: Iterable[Operation]) -> None:
    """
    Give the buffers of a function different names, which steps call them by; the first of a name keeps it. `operations` are
    all in the function, in textual order.

    They are the names that the text shows, `%a` and `%a_1`.
    """
    taken: set[str] = set()
    last: dict[str, int] = {}
    """the number that a name had last"""
    values = [*function.args, *(result for op in operations for result in op.results)]
    for value in values:
        if type(value.type) is not MemRefType:
            continue
        own = buffer_name(value)
        name = own or "buffer"
        candidate, number = name, last.get(name, 0)
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        last[name] = number
        taken.add(candidate)
        if candidate != own:
            set_buffer_name(value, candidate)


def _function_of(value: SSAValue) -> func.FuncOp | None:
    """The function that a value is an argument of."""
    owner = value.owner
    parent = owner.parent_op() if isinstance(owner, Block) else None
    return parent if isinstance(parent, func.FuncOp) else None


def _argument_attributes(value: SSAValue) -> Mapping[str, Attribute]:
    function = _function_of(value)
    if function is None or function.arg_attrs is None:
        return {}
    assert isinstance(value, BlockArgument)
    return function.arg_attrs.data[value.index].data


def _set_argument_attributes(value: SSAValue, attributes: dict[str, Attribute]) -> None:
    function = _function_of(value)
    if function is None:
        return
    every = list(function.arg_attrs or [DictionaryAttr({})] * len(function.args))
    every[function.args.index(value)] = DictionaryAttr(attributes)
    function.arg_attrs = ArrayAttr(every)
