"""
Copies of a buffer's part that hold what is added to its elements, or joined with them by another operator.

Such a copy begins with what leaves all values as they are, and is joined with the buffer at the end (`accum` of Exo's
`stage_mem`: Ikarashi et al., "Exocompilation for Productive Programming of Hardware Accelerators", PLDI 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, SSAValue

from ...analysis.reductions import find_updates
from ...analysis.scop import Access
from ...dialects.combiner import Combiner
from ...dialects.schedule.steps import Stage
from ...frozen import frozen
from .nest import Nest
from .refusal import refuse


@frozen
class Accumulated:
    """The copy begins with the identity of an operator, by which it is joined with the buffer at the end."""

    element: Attribute
    operator: Combiner
    flags: arith.FastMathFlagsAttr | None
    """those of the operations that are given another order, where they are of floats"""

    def zero(self, builder: Builder) -> SSAValue:
        """What the copy begins with. Of sums of floats it is -0, to which 0 and -0 are added unchanged."""
        identity = self.operator.identity(self.element)
        if isinstance(identity, FloatAttr) and self.operator is Combiner.ADD:
            identity = FloatAttr(-0.0, identity.type)
        return builder.insert(arith.ConstantOp(identity)).result

    def copied_back(
        self, builder: Builder, value: SSAValue, before: SSAValue | None, to: Attribute
    ) -> SSAValue:
        """What is stored to the buffer, whose elements of type `to` have had the value `before`."""
        assert before is not None and to == self.element
        return self.operator.combine(builder, before, value, self.flags)


def plan_accumulated(step: Stage, nest: Nest, accesses: Sequence[Access]) -> Accumulated:
    """Raises the refusal when some access is no part of an update, or updates are by several operators."""
    found = find_updates(nest.function)
    updates = [found.get(access.op) for access in accesses]
    for access, update in zip(accesses, updates, strict=True):
        if update is None:
            raise refuse(
                step,
                f"'{access.op.name}' is no part of an update whose order does not matter",
                remedy="leave out accumulate; floating-point sums and products need fastmath<reassoc>",
            )
    operators = dict.fromkeys(update.operator for update in updates if update is not None)
    if len(operators) > 1 or not set(operators) <= {*map(str, Combiner)}:
        raise refuse(
            step,
            f"updates are by {' and '.join(operators)}, expected one operator with an identity",
            remedy="leave out accumulate",
        )
    first = next(update for update in updates if update is not None)
    combine = first.combine
    is_of_floats = isinstance(combine, arith.FloatingPointLikeBinaryOperation)
    flags = combine.fastmath if is_of_floats else None
    return Accumulated(first.load.result.type, Combiner(first.operator), flags)
