"""What a function is without its names: equal structures compute the same of arguments in the same order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import TypeAlias

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import loop, te
from .operations import operands_of, operations_of

Structure = tuple[Hashable, ...]

Said: TypeAlias = Callable[[Attribute], Hashable]
"""What stands for an attribute in a structure."""

_NAMES = frozenset(("sym_name", "buffer_name", "kernel_name"))
"""Properties of operations that only name them."""


class Numbered:
    """
    A number for each attribute, equal ones having one: for who compares many structures. Attributes compare all that is in
    them, and copies of an operation have the same ones.
    """

    def __init__(self) -> None:
        self._numbers: dict[Attribute, int] = {}
        self._seen: dict[int, tuple[Attribute, int]] = {}
        """by identity, which no other attribute gets while this one is kept"""

    def __call__(self, attribute: Attribute) -> int:
        known = self._seen.get(id(attribute))
        if known is None:
            number = self._numbers.setdefault(attribute, len(self._numbers))
            known = self._seen[id(attribute)] = attribute, number
        return known[1]


def _itself(attribute: Attribute) -> Hashable:
    return attribute


def structure(function: func.FuncOp, *, loop_names: bool = True, said: Said = _itself) -> Structure:
    """
    The operations, types, attributes and uses of values of a function of one block, as something to compare.

    Left out are the names of the function and its buffers, locations, and the loops' names where these are not
    wanted. Structures with one `said` compare.
    """
    return _Reader(loop_names=loop_names, said=said).function(function)


def kernel_structure(op: te.KernelOp, *, contents: bool = True, said: Said = _itself) -> Structure:
    """
    As `structure`, of a kernel: what it computes, and which of its buffers are one.

    Left out are also the names of the kernel and of its iterators; and the elements of tensors that are constants,
    without `contents`. Structures with one `said` compare.
    """
    outside = list(dict.fromkeys((*op.inputs, *op.destinations)))
    passed = tuple(outside.index(value) for value in (*op.inputs, *op.destinations))
    reader = _Reader(loop_names=False, contents=contents, said=said)
    about = reader.items(op.attributes), len(op.inputs)
    return (about, reader.types(outside), passed, reader.block(op.body.block))


class _Reader:
    def __init__(self, *, loop_names: bool, contents: bool = True, said: Said = _itself):
        self._left_out = _NAMES if loop_names else _NAMES | {"loop_name"}
        self._contents, self._said = contents, said
        self._numbers: dict[SSAValue, int] = {}

    def function(self, function: func.FuncOp) -> Structure:
        attributes = function.arg_attrs or ArrayAttr[DictionaryAttr](())
        arguments = tuple(self.items(attrs.data, {loop.BUFFER_NAME}) for attrs in attributes)
        about = self.items(function.properties, {*self._left_out, "arg_attrs"})
        return (about, arguments, self.block(function.body.block))

    def _operation(self, op: Operation) -> Structure:
        is_left_out = (
            not self._contents
            and isinstance(op, arith.ConstantOp)
            and isinstance(op.result.type, TensorType)
        )
        properties = () if is_left_out else self.items(op.properties, self._left_out)
        about = (properties, self.items(op.attributes))
        operands = tuple([self._numbers[value] for value in operands_of(op)])
        types = self.types(op.results)
        for result in op.results:
            self._numbers[result] = len(self._numbers)
        regions = tuple(
            tuple(self.block(block) for block in region.blocks) for region in op.regions
        )
        return (type(op), about, operands, types, regions)

    def block(self, block: Block) -> Structure:
        for arg in block.args:
            self._numbers[arg] = len(self._numbers)
        types = self.types(block.args)
        return (types, tuple([self._operation(op) for op in operations_of(block)]))

    def types(self, values: Iterable[SSAValue]) -> tuple[Hashable, ...]:
        said = self._said
        return tuple([said(value.type) for value in values])

    def items(
        self, attributes: Mapping[str, Attribute], left_out: Collection[str] = ()
    ) -> tuple[tuple[str, Hashable], ...]:
        if not attributes:
            return ()
        said = self._said
        return tuple([(k, said(attributes[k])) for k in sorted(attributes) if k not in left_out])
