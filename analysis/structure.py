"""What a function is without its names: equal structures compute the same of arguments in the same order."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import loop, te

Structure = tuple[Hashable, ...]

_NAMES = frozenset(("sym_name", "buffer_name", "kernel_name"))
"""Properties of operations that only name them."""


def structure(function: func.FuncOp, *, loop_names: bool = True) -> Structure:
    """
    The operations, types, attributes and uses of values of a function of one block, as something to compare.

    Left out are the names of the function and its buffers, locations, and the loops' names where these are not
    wanted.
    """
    return _Reader(loop_names=loop_names).function(function)


def kernel_structure(op: te.KernelOp, *, contents: bool = True) -> Structure:
    """
    As `structure`, of a kernel: what it computes, and which of its buffers are one.

    Left out are also the names of the kernel and of its iterators; and the elements of tensors that are constants,
    without `contents`.
    """
    outside = list(dict.fromkeys((*op.inputs, *op.destinations)))
    passed = tuple(outside.index(value) for value in (*op.inputs, *op.destinations))
    types = tuple(value.type for value in outside)
    said = _items(op.attributes), len(op.inputs)
    reader = _Reader(loop_names=False, contents=contents)
    return (said, types, passed, reader.block(op.body.block))


class _Reader:
    def __init__(self, *, loop_names: bool, contents: bool = True):
        self._left_out = _NAMES if loop_names else _NAMES | {"loop_name"}
        self._contents = contents
        self._numbers: dict[SSAValue, int] = {}

    def function(self, function: func.FuncOp) -> Structure:
        attributes = function.arg_attrs or ArrayAttr[DictionaryAttr](())
        arguments = tuple(_items(attrs.data, {loop.BUFFER_NAME}) for attrs in attributes)
        said = _items(function.properties, {*self._left_out, "arg_attrs"})
        return (said, arguments, self.block(function.body.block))

    def _operation(self, op: Operation) -> Structure:
        is_left_out = (
            not self._contents
            and isinstance(op, arith.ConstantOp)
            and isinstance(op.result.type, TensorType)
        )
        properties = () if is_left_out else _items(op.properties, self._left_out)
        said = (properties, _items(op.attributes))
        operands = tuple(self._numbers[value] for value in op.operands)
        types = tuple(result.type for result in op.results)
        for result in op.results:
            self._numbers[result] = len(self._numbers)
        regions = tuple(
            tuple(self.block(block) for block in region.blocks) for region in op.regions
        )
        return (type(op), said, operands, types, regions)

    def block(self, block: Block) -> Structure:
        for arg in block.args:
            self._numbers[arg] = len(self._numbers)
        types = tuple(arg.type for arg in block.args)
        return (types, tuple(self._operation(op) for op in block.ops))


def _items(
    attributes: Mapping[str, Attribute], left_out: Collection[str] = ()
) -> tuple[tuple[str, Attribute], ...]:
    return tuple((key, attributes[key]) for key in sorted(attributes) if key not in left_out)
