"""Constants as globals of a module: equal ones share one."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute

from ...analysis.constants import contents_of
from ...dialects.resources import ElementsAttr, constant_global_op


class ConstantGlobals:
    """
    The private constants of a module, by what they hold; new ones stand at its start.

    While this is used, other symbols are added to the module under names of `unique` alone.
    """

    def __init__(self, module: ModuleOp):
        self.module = module
        self._names: dict[Attribute, str] = {}
        self._last: memref.GlobalOp | None = None
        self._last_numbers: dict[str, int] = {}
        symbols = (op.properties.get("sym_name") for op in module.ops)
        self._taken = {symbol.data for symbol in symbols if isinstance(symbol, StringAttr)}
        for op in module.ops:
            if not isinstance(op, memref.GlobalOp):
                continue
            self._last = op
            is_private = op.constant is not None and op.sym_visibility.data == "private"
            contents = contents_of(op) if is_private else None
            if contents is not None:
                self._names.setdefault(contents, op.sym_name.data)

    def name_of(self, value: ElementsAttr, hint: str) -> str:
        """The symbol of a global that holds the constant, called after `hint` where it is new."""
        known = self._names.get(value)
        if known is not None:
            return known
        name = self.unique(f"constant_{hint}" if hint else "constant")
        new = constant_global_op(name, value)
        block = self.module.body.block
        if self._last is not None:
            block.insert_op_after(new, self._last)
        elif block.first_op is not None:
            block.insert_op_before(new, block.first_op)
        else:
            block.add_op(new)
        self._last = new
        self._names[value] = name
        return name

    def unique(self, name: str) -> str:
        """`name`, or with a number after it when a symbol of the module has it already; it is taken then."""
        candidate, number = name, self._last_numbers.get(name, 0)
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._last_numbers[name] = number
        self._taken.add(candidate)
        return candidate
