"""Constants as globals of a module: equal ones share one."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ...analysis.constants import contents_of
from ...dialects.resources import ElementsAttr, constant_global_op


class ConstantGlobals:
    """The private constants of a module, by what they hold; new ones stand at its start."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._names: dict[Attribute, str] = {}
        for op in module.ops:
            if not isinstance(op, memref.GlobalOp) or op.constant is None:
                continue
            contents = contents_of(op) if op.sym_visibility.data == "private" else None
            if contents is not None:
                self._names.setdefault(contents, op.sym_name.data)

    def name_of(self, value: ElementsAttr, hint: str) -> str:
        """The symbol of a global that holds the constant, called after `hint` where it is new."""
        known = self._names.get(value)
        if known is not None:
            return known
        name = unique_symbol(self.module, f"constant_{hint}" if hint else "constant")
        ops = [op for op in self.module.ops if isinstance(op, memref.GlobalOp)]
        new = constant_global_op(name, value)
        block = self.module.body.block
        if ops:
            block.insert_op_after(new, ops[-1])
        elif block.first_op is not None:
            block.insert_op_before(new, block.first_op)
        else:
            block.add_op(new)
        self._names[value] = name
        return name


def unique_symbol(module: ModuleOp, name: str) -> str:
    """`name`, or with a number after it when an operation of the module has it already."""
    taken: set[str] = {
        op.properties["sym_name"].data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        for op in module.ops
        if "sym_name" in op.properties
    }
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate
