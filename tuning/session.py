"""A schedule in the making: steps applied to one function and kept, so that they can be printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..analysis.operations import body_of
from ..dialects import loop
from ..dialects.schedule import Step
from ..transforms.step_support.handles import (
    BufferHandle,
    Handle,
    LoopHandle,
    buffer_handle,
    loop_handle,
)
from ..transforms.step_support.made import Made, SplitLoops
from ..transforms.step_support.nest import Nest, Nests, loops_around, loops_of
from ..transforms.step_support.planning import apply
from ..transforms.step_support.refusal import Refusal
from ..transforms.step_support.step_methods import StepMethods

Tail = Literal["guard", "peel", "pad", "perfect"]


class Session(StepMethods):
    """
    The steps a rule takes on a function. Every one is proved legal as any other step is.

    There is a method for each step, which returns what it made: `outer, inner = session.split(loop, 8)`.
    Loops and buffers are given as handles, or called by their names without the function's. A refusal leaves the
    session with the steps before it; `rules.py` then puts the function back as it was.
    """

    def __init__(self, module: ModuleOp, function: func.FuncOp):
        self.name = function.sym_name.data
        self.steps: list[Step] = []
        self._nests = Nests(module)
        self._tidied = -1
        """after how many of the rewrites it was cleaned up last"""

    @property
    def nest(self) -> Nest:
        """The function as it is now."""
        return self._nests.resolve(f"{self.name}/")[0]

    def named(self, name: str) -> str:
        """The name as a step takes it."""
        return f"{self.name}/{name}"

    def apply(self, step: Step) -> Made[Handle]:
        """Apply one step; what it made. Raises its Refusal."""
        step = self._qualified(step)
        made = apply(step, self._nests)
        self.steps.append(step)
        return made

    def loop_handle(self, name: str) -> LoopHandle:
        """The loop called `name`. Raises StepwellError when there is none."""
        return loop_handle(self.nest, self.nest.loop(name))

    def buffer_handle(self, name: str) -> BufferHandle:
        """The buffer called `name`. Raises StepwellError when there is none."""
        return buffer_handle(self.nest, self.nest.buffer(name))

    def handle(self, op: loop.ForOp) -> LoopHandle:
        """The handle of a loop."""
        return loop_handle(self.nest, op)

    def buffer(self, value: SSAValue) -> BufferHandle:
        """The handle of a buffer."""
        return buffer_handle(self.nest, value)

    def take_apart(self) -> None:
        """Loops that stand there by now, and buffers, are no copies of others for what follows: steps on one leave the others alone."""
        self.nest.identities.forget_copies()

    def cut(
        self, of: LoopHandle, factor: int, outer: str, inner: str, tail: Tail = "guard"
    ) -> SplitLoops:
        """Split a loop; `outer` and `inner` are words for the two, which follow the first part of its name."""
        first = of.name.split(".")[0]
        into, within = self.nest.chosen_names([of.op], [f"{first}.{w}" for w in (outer, inner)])
        return self.split(of, factor, into, within, tail)

    def fuse_nests(self, kept: Sequence[LoopHandle], joined: Sequence[LoopHandle]) -> None:
        """Fuse loops with those of a nest that follows, outermost first: at once, or one by one where more is around them."""
        pairs = [*zip(kept, joined, strict=False)]
        if not pairs:
            return
        try:
            self.fuse_loops(*pairs[0], depth=len(pairs))
        except Refusal:
            for pair in pairs:
                self.fuse_loops(*pair)

    def order(self, *loops: LoopHandle) -> None:
        """Put perfectly nested loops in this order, outermost first, unless they are in it already."""
        outermost = min(loops, key=lambda handle: len(loops_around(handle.op)))
        if [handle.op for handle in loops] != _chain(outermost.op, len(loops)):
            self.reorder(outermost, loops)

    def tidy(self) -> None:
        """
        Clean up what steps have left, and let loops count their iterations: 0, 1, 2 … Steps since the last time that have
        only said how loops run have left nothing.
        """
        if self._nests.rewrites != self._tidied:
            self.simplify(self.name)
            self.normalize(self.name)
            self._tidied = self._nests.rewrites

    def _qualified(self, step: Step) -> Step:
        """The step with the function written out in the name of what it is about."""
        if "/" in step.target or step.first_parameter() == "function":
            return step
        return step.with_target(self.named(step.target))


def _chain(outermost: loop.ForOp, length: int) -> list[loop.ForOp]:
    """A loop and the first loops of the bodies inside of it, at most so many."""
    chain = [outermost]
    while len(chain) < length:
        inner = loops_of(body_of(chain[-1]))
        if not inner:
            break
        chain.append(inner[0])
    return chain
