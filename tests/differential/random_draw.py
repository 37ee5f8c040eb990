"""Choices at random of loops and buffers that a function has, for the parameters of schedule steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from stepwell.dialects import loop
from stepwell.transforms.step_support.nest import Nest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

LARGEST = 500
"""Operations of a function that is not unrolled any more."""


class NotHere(Exception):
    """The function has nothing that the step could be applied to."""


@dataclass(frozen=True)
class Draw:
    """The choices of one step's parameters."""

    rng: Random
    nest: Nest

    def one(self, values: Iterator[loop.ForOp] | list[loop.ForOp]) -> loop.ForOp:
        found = list(values)
        if not found:
            raise NotHere
        return self.rng.choice(found)

    def loop(self) -> loop.ForOp:
        return self.one(self.nest.loops())

    def path(self, op: loop.ForOp) -> str:
        return f"f/{op.loop_name.data}"

    def buffer(self, wanted: Callable[[SSAValue], bool] = lambda value: True) -> str:
        found = [v.name_hint for v in self.nest.buffers() if v.name_hint and wanted(v)]
        if not found:
            raise NotHere
        return self.rng.choice(found)

    def pair(self, pairs: list[tuple[SSAValue, loop.ForOp]]) -> tuple[SSAValue, loop.ForOp]:
        if not pairs:
            raise NotHere
        return self.rng.choice(pairs)

    def places(self) -> dict[Operation, int]:
        """The operations of the function in the order of the text."""
        return {op: n for n, op in enumerate(self.nest.function.walk())}

    def functions(self) -> list[func.FuncOp]:
        """All functions of the module."""
        module = self.nest.function.parent_op()
        assert isinstance(module, ModuleOp)
        return [op for op in module.ops if isinstance(op, func.FuncOp)]

    def tail(self) -> str:
        return self.rng.choice(("guard", "guard", "peel", "peel", "pad", "perfect"))

    def is_small(self) -> bool:
        return sum(1 for _ in self.nest.function.walk()) < LARGEST
