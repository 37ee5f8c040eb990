"""What makes two plans of kernels equal but for the values that they are about."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import te
from .nests import Nest
from .plan import KernelPlan


def plan_structure(plan: KernelPlan) -> tuple[Hashable, Sequence[SSAValue]]:
    """
    The nests of a kernel with the bodies of their computes, their names and types, and the values that these are
    about, in order.

    Of plans with equal structures, the values in equal places have the same parts.
    """
    reader = _Reader()
    nests = tuple(map(reader.nest, plan.nests))
    results = tuple(map(reader.value, plan.results))
    return (nests, results, tuple(reader.about)), tuple(reader.numbers)


def plan_size(plan: KernelPlan) -> Hashable:
    """How many iterations, computes and reads the nests of a kernel have: the same where structures are equal."""
    return tuple(
        (nest.space.numbers, len(nest.roots), len(nest.points), len(nest.reads))
        for nest in plan.nests
    )


class _Reader:
    """Numbers for values and computes, in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[SSAValue, int] = {}
        self.about: list[Hashable] = []
        """of each value, what is to be equal"""
        self._computes: dict[te.ComputeOp, int] = {}

    def value(self, value: SSAValue) -> int:
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.numbers)
            is_constant = isinstance(value.owner, arith.ConstantOp)
            self.about.append((value.type, value.name_hint, is_constant))
        return number

    def nest(self, nest: Nest) -> Hashable:
        return (
            tuple(e if isinstance(e, int) else (self.value(e),) for e in nest.space.every),
            len(nest.space.parallel),
            tuple(map(self._compute, nest.roots)),
            tuple(
                (self._compute(point.compute), point.map, point.extents, point.pad)
                for point in nest.points
            ),
            tuple((self.value(read.source), read.map, read.pad) for read in nest.reads),
            tuple(map(self.value, nest.results)),
            tuple(map(self.value, nest.passed_on)),
        )

    def _compute(self, op: te.ComputeOp) -> Hashable:
        """The number of a compute, with its structure where it is met first."""
        number = self._computes.get(op)
        if number is not None:
            return number
        self._computes[op] = len(self._computes)
        return self._operation(op, at_top=True)

    def _operation(self, op: Operation, *, at_top: bool = False) -> Hashable:
        """`at_top` says that the location is that of its kernel's compute, which is made anew."""
        operands = tuple(map(self.value, op.operands))
        return (
            type(op),
            tuple(op.properties.items()),
            tuple(op.attributes.items()),
            None if at_top else op.location,
            operands,
            tuple(map(self.value, op.results)),
            tuple(self._block(block) for region in op.regions for block in region.blocks),
        )

    def _block(self, block: Block) -> Hashable:
        args = tuple(map(self.value, block.args))
        return (args, tuple(map(self._operation, block.ops)))
