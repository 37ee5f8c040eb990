"""Copies of loops and other operations, with names of their own and known as copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from ...analysis.operations import operations_in
from ...dialects import loop
from ...dialects.leaf_operations import copy_of
from .identities import subjects_in
from .nest import Nest

OperationT = TypeVar("OperationT", bound=Operation)


class Copier:
    """
    Copies operations of a function, as often as one step needs to.

    No copy has a name that another loop or buffer of the function has, or that this copier has given.
    """

    def __init__(self, nest: Nest, *, without: Iterable[str] = ()):
        """`without` are names of loops that the step takes away, and that are free therefore."""
        self._identities = nest.identities
        self._taken = nest.taken_names() - set(without)

    def fresh(self, name: str) -> str:
        """`name`, or with `_` and a number after it when it is taken; it is taken from now on."""
        return self._fresh(name, "_")

    def loop(self, op: loop.ForOp, name: str) -> loop.ForOp:
        """A copy of a loop called `name`, in which loops and buffers end in what `name` adds to `op`'s."""
        copy = copy_of(op, {})
        self.note(op, copy)
        suffix = name.removeprefix(op.loop_name.data) or ".copy"
        copy.loop_name = StringAttr(name)
        self._taken.add(name)
        self.rename_inside(copy, suffix)
        return copy

    def operation(
        self, op: OperationT, suffix: str, values: dict[SSAValue, SSAValue] | None = None
    ) -> OperationT:
        """A copy of an operation that uses `values` in place of others; names inside of it end in `suffix`."""
        copy = copy_of(op, {} if values is None else values)
        self.note(op, copy)
        self.rename_inside(copy, suffix)
        return copy

    def note(self, old: Operation, new: Operation) -> None:
        """Note that an operation, just cloned, is a copy of another with all that is in it."""
        for original, copy in zip(subjects_in(old), subjects_in(new), strict=True):
            self._identities.copied(original, copy)

    def rename_inside(self, root: Operation, suffix: str) -> None:
        """Give the loops and buffers inside a copy names of their own, which end in `suffix`."""
        for op in (root, *operations_in(root)):
            if type(op) is loop.ForOp and op is not root:
                op.loop_name = StringAttr(self._fresh(op.loop_name.data + suffix, "_"))
            for result in op.results:
                name = loop.buffer_name(result) if type(result.type) is MemRefType else None
                if name:
                    name = SSAValue.extract_valid_name(name + suffix.replace(".", "_"))
                    loop.set_buffer_name(result, self._fresh(name, ""))

    def _fresh(self, name: str, before_number: str) -> str:
        candidate, number = name, 0
        while candidate in self._taken:
            number += 1
            candidate = f"{name}{before_number}{number}"
        self._taken.add(candidate)
        return candidate
