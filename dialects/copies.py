"""Copies of operations, for what is made once and wanted often."""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Block, Operation, Region, SSAValue

from .leaf_operations import append_leaf, copy_of_leaf

OpT = TypeVar("OpT", bound=Operation)


def copy_of(op: OpT, values: dict[SSAValue, SSAValue]) -> OpT:
    """
    As xDSL's `op.clone(values)`, for an operation without successors, also in its regions.

    xDSL's visits everything several times, as there a value may be defined behind its uses.
    """
    return _Copier(values).operation(op)


class _Copier:
    def __init__(self, values: dict[SSAValue, SSAValue]):
        self._values = values

    def operation(self, op: OpT) -> OpT:
        values = self._values
        if not op.regions:
            copy = copy_of_leaf(op, values)
            values.update(zip(op.results, copy.results, strict=True))
            return copy
        copy = type(op).create(
            operands=[values.get(value, value) for value in op.operands],
            result_types=[result.type for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
            regions=[Region(map(self._block, region.blocks)) for region in op.regions],
        )
        for result, new in zip(op.results, copy.results, strict=True):
            new.name_hint = result.name_hint
            values[result] = new
        return copy

    def _block(self, old: Block) -> Block:
        block = Block(arg_types=[arg.type for arg in old.args])
        for arg, new in zip(old.args, block.args, strict=True):
            new.name_hint, new.location = arg.name_hint, arg.location
            self._values[arg] = new
        for op in old.ops:
            copy = self.operation(op)
            if op.regions:
                block.add_op(copy)
            else:
                append_leaf(block, copy)
        return block
