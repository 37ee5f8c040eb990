"""
A dialect with one operation, the cube of each element, a function of it, and a pass that finds cubes in programs.

    import stepwell as sw
    from stepwell_cubic import cube

    volume = sw.jit(lambda side: cube(side).sum())
"""

from dataclasses import dataclass
from typing import ClassVar

from stepwell.analysis.levels import Level
from stepwell.dialects import graph
from stepwell.frontend.numpy.elementwise import unary
from stepwell.transforms.stepwell_pass import StepwellPass
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.universe import Universe


@irdl_op_definition
class CubeOp(graph.UnaryElementwiseOp):
    """x · x · x, element by element."""

    name = "cubic.cube"
    ELEMENTS: ClassVar = graph.FLOATS

    def numpy(self, x):
        return x * x * x

    def scalar(self, b, x):
        return b.mul(b.mul(x, x), x)


Cubic = Dialect("cubic", [CubeOp])

cube = unary(CubeOp)


class _FindCubes(RewritePattern):
    """(x · x) · x → cube(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MulOp, rewriter: PatternRewriter, /) -> None:
        square = op.lhs.owner
        if isinstance(square, graph.MulOp) and square.lhs is square.rhs is op.rhs:
            rewriter.replace_op(op, CubeOp(op.rhs))


@dataclass(frozen=True)
class CubicFindPass(StepwellPass):
    """Write x · x · x as one operation."""

    name = "cubic-find"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx, op) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier([_FindCubes()])).rewrite_module(op)


UNIVERSE = Universe(
    all_dialects={"cubic": lambda: Cubic}, all_passes={"cubic-find": lambda: CubicFindPass}
)
