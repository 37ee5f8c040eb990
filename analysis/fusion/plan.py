"""The fusion plan: which computes are one nest of loops, and which nests one kernel."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects import te
from ...frozen import frozen
from .nests import Nest


@frozen
class KernelPlan:
    """The nests of one kernel, in order, and what others need of it."""

    nests: tuple[Nest, ...]
    results: tuple[SSAValue, ...]

    @property
    def name(self) -> str:
        """What the kernel computes, from the names of its values."""
        hints = [nest.name for nest in self.nests]
        return "_".join(hint for hint in hints if hint) or "kernel"

    @property
    def computes(self) -> str:
        """The names of the tensors that its nests make, in order."""
        values = [value.name_hint or "?" for nest in self.nests for value in nest.results]
        return ", ".join(values)


@frozen
class Boundary:
    """Two kernels of which the one needs the other, and why they are two."""

    producer: KernelPlan
    consumer: KernelPlan
    reason: str


@frozen
class FusionPlan:
    """What becomes of a block's computes: kernels, among the other operations, in a new order; and why no fewer."""

    order: tuple[KernelPlan | Operation, ...]
    boundaries: tuple[Boundary, ...]
    factored: tuple[te.ComputeOp, ...] = ()
    """
    Reductions over all axes whose operands a chain of rows makes: it can reduce its rows before they are stored, and
    what is left is a number for each row. They are to be written so, and the block to be planned again.
    """

    @property
    def kernels(self) -> tuple[KernelPlan, ...]:
        return tuple(each for each in self.order if isinstance(each, KernelPlan))
