"""Rewriting by a worklist that has only operations with something to look for."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead

from ...analysis.operations import operations_in, operations_within

Kinds = AbstractSet[type[Operation]]
Rewrite = Callable[[Operation, PatternRewriter, Kinds], None]


class Pattern(RewritePattern, ABC):
    """A rewrite of operations of some kinds."""

    ROOTS: ClassVar[tuple[type[Operation], ...]]
    """It does nothing to others."""


class _Rewriting(RewritePattern):
    """Erases an operation that nothing uses, and rewrites any other."""

    def __init__(self, rewrite: Rewrite):
        self._rewrite = rewrite
        self.kinds: set[type[Operation]] = set()
        """of the operations that there are, or were"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if is_dead(op):
            rewriter.erase(op)
        else:
            self._rewrite(op, rewriter, self.kinds)


class _Walker(PatternRewriteWalker):
    """xDSL's, which starts with operations of chosen kinds, and with those that nothing uses."""

    def __init__(self, rewrite: Rewrite, is_root: Callable[[type[Operation]], bool]):
        self._rewriting = _Rewriting(rewrite)
        super().__init__(self._rewriting)
        self._is_root = is_root

    def _populate_worklist(self, op: Operation | Region | Block) -> None:
        assert isinstance(op, Region)
        operations = operations_within(op)
        kinds = set(map(type, operations))
        self._rewriting.kinds |= kinds
        roots = {kind for kind in kinds if self._is_root(kind)}
        for inner in reversed(operations):  # a stack
            if type(inner) in roots or not is_used(inner):
                self._worklist.push(inner)

    def _handle_operation_insertion(self, op: Operation) -> None:
        self._rewriting.kinds.add(type(op))
        super()._handle_operation_insertion(op)


def rewrite_kinds(
    module: ModuleOp, rewrite: Rewrite, is_root: Callable[[type[Operation]], bool]
) -> bool:
    """
    Rewrite the operations of a module until nothing changes; whether anything did.

    As xDSL's walker, which looks at every operation each time: `rewrite` does something only for kinds that are roots, and
    is told which kinds there are. What nothing uses is erased.
    """
    return _Walker(rewrite, is_root).rewrite_module(module)


def erase_dead(module: ModuleOp) -> bool:
    """Erase what nothing uses, and then what it used; whether there was anything."""
    is_any = False
    for op in reversed(operations_in(module)):
        if is_dead(op):
            op.detach()
            op.erase()
            is_any = True
    return is_any


def is_used(op: Operation) -> bool:
    for result in op.results:  # noqa: SIM110 - asked of every operation, and `any` takes three times as long
        if result.first_use is not None:
            return True
    return False


def is_dead(op: Operation) -> bool:
    """Whether nothing uses an operation and it has no effect, as xDSL's `is_trivially_dead` says it."""
    if is_used(op):
        return False
    always = can_be_erased(type(op))
    return would_be_trivially_dead(op) if always is None else always


@cache
def can_be_erased(kind: type[Operation]) -> bool | None:
    """Whether operations of a kind may go when nothing uses them; None where it depends on the operation."""
    kept = (IsTerminator, SymbolOpInterface)
    if any(kind.has_trait(trait, value_if_unregistered=False) for trait in kept):
        return False
    effects = kind.get_traits_of_type(MemoryEffect)
    if not effects:
        return False
    return True if all(isinstance(effect, NoMemoryEffect) for effect in effects) else None
