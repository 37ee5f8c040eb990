"""Which buffers of a function may share memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, SSAValue

from ..dialects import loop
from ..dialects.shaped import memref_type

NOALIAS = "stepwell.noalias"
"""Function or argument attribute: no other argument shares this argument's memory."""

# Sets of classes: xDSL's have a metaclass that makes isinstance slow where the answer is no.
_VIEWS = frozenset(
    {
        memref.SubviewOp,
        memref.ViewOp,
        memref.CastOp,
        memref.ReinterpretCastOp,
        memref.ExpandShapeOp,
        memref.CollapseShapeOp,
    }
)

_ALLOCATIONS = frozenset({loop.AllocOp, memref.AllocOp, memref.AllocaOp})


def is_allocation(value: SSAValue) -> bool:
    """Whether the buffer is memory of its own, made where it is defined."""
    return type(value.owner) in _ALLOCATIONS


@dataclass
class Aliases:
    """
    Answers whether two buffers may overlap.

    Arguments of kernels (functions with a `stepwell.result` mark, and private functions, which only our
    passes make) never overlap; those of other functions may, unless marked `stepwell.noalias` or
    `llvm.noalias`. Scratch buffers overlap nothing, and globals only themselves. A view overlaps what it
    views. A buffer from anywhere else (a call, a select) may overlap everything.
    """

    function: func.FuncOp
    _entry: Block = field(init=False)
    """the block of its arguments; they stay so where the body is taken out of the function"""
    _separate: set[SSAValue] = field(init=False)
    _answers: dict[tuple[SSAValue, SSAValue], bool] = field(
        default_factory=dict[tuple[SSAValue, SSAValue], bool], init=False
    )

    def __post_init__(self) -> None:
        entry = self.function.body.first_block
        assert entry is not None, "a declaration has no buffers"
        self._entry = entry
        args = self._entry.args
        attributes = self.function.arg_attrs
        marks = [attrs.data for attrs in attributes.data] if attributes is not None else []
        is_kernel = (
            any(loop.RESULT in attrs for attrs in marks)
            or self.function.sym_visibility is not None
            or NOALIAS in self.function.attributes
        )
        if is_kernel:
            self._separate = set(args)
            return
        self._separate = {
            arg
            for arg, mark in zip(args, marks, strict=False)
            if NOALIAS in mark or "llvm.noalias" in mark
        }

    def root(self, value: SSAValue) -> SSAValue:
        """The buffer a view was made from, through any number of views."""
        owner: Any = value.owner
        while type(owner) in _VIEWS:
            value = owner.operands[0]
            owner = value.owner
        return value

    def same_indices(self, value: SSAValue) -> SSAValue:
        """The buffer whose elements have the same indices: what was cast, through any number of casts."""
        while isinstance(value.owner, memref.CastOp) and isinstance(
            value.owner.source.type, MemRefType
        ):
            value = value.owner.source
        return value

    def may_alias(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether two different root buffers may share memory."""
        if a is b:
            return True
        known = self._answers.get((a, b))
        if known is None:
            known = self._answers[a, b] = self._found(a, b)
        return known

    def _found(self, a: SSAValue, b: SSAValue) -> bool:
        if not (self._is_known(a) and self._is_known(b)):
            return True
        first, second = a.owner, b.owner
        if type(first) is memref.GetGlobalOp and type(second) is memref.GetGlobalOp:
            return first.name_ == second.name_
        if not (self._is_open(a) and self._is_open(b)):
            return False
        # Memory is typed: an f32 buffer and an i32 buffer of the caller are different arrays.
        return memref_type(a).get_element_type() == memref_type(b).get_element_type()

    def is_separate(self, value: SSAValue) -> bool:
        """Whether a root buffer certainly shares its memory with no other one."""
        return is_allocation(value) or value in self._separate

    def _is_known(self, value: SSAValue) -> bool:
        """Whether it is certain where the buffer comes from."""
        if type(value) is BlockArgument:
            return value.block is self._entry
        return is_allocation(value) or type(value.owner) is memref.GetGlobalOp

    def _is_open(self, value: SSAValue) -> bool:
        return type(value) is BlockArgument and value not in self._separate
