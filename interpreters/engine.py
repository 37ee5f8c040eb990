"""
xDSL's interpreter with a lean inner loop.

`xdsl.interpreter.Interpreter` looks every value up in a chain of dictionaries keyed by SSA values and
makes a new scope for each run of a block. The fuzzers run loop nests element by element, so here each
block is compiled once into a list of closures over a frame, a Python list with one slot for each SSA
value of a function. What an operation means is still what its registered implementation says;
implementations made from evaluators (evaluators.py) are called without the framework's wrapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.interpreter import (
    Interpreter,
    OpImplResult,
    PythonValues,
    ReturnedValues,
    Successor,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from ..errors import StepwellError
from .evaluators import MAKE_EVALUATOR, YIELDS, Evaluator

Frame: TypeAlias = list[Any]
Step: TypeAlias = Callable[[Frame], None]


@dataclass(frozen=True, eq=False, slots=True)
class BlockPlan:
    """
    A block ready to run: its arguments' slots, its operations as steps, and how it ends.

    It ends by returning the values in `returns`, or, when that is None, as `terminator` says.
    """

    block: Block
    args: tuple[int, ...]
    steps: tuple[Step, ...]
    ops: tuple[Operation, ...]
    returns: tuple[int, ...] | None
    terminator: Callable[[Frame], OpImplResult] | None


@dataclass(frozen=True, eq=False, slots=True)
class RegionPlan:
    """A region ready to run; `frame_size` is set when it needs a frame of its own."""

    region: Region
    entry: BlockPlan | None
    blocks: dict[Block, BlockPlan]
    frame_size: int | None


@dataclass
class Engine(Interpreter):
    """
    An interpreter that runs compiled blocks.

    The module must not change while it is in use: make a new one after a rewrite.
    Raises StepwellError, with the operation's place, for whatever goes wrong inside an operation.
    """

    _slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int], init=False)
    _frame_sizes: dict[Operation, int] = field(default_factory=dict[Operation, int], init=False)
    _plans: dict[int, RegionPlan] = field(default_factory=dict[int, RegionPlan], init=False)
    _symbols: dict[str, Operation] = field(default_factory=dict[str, Operation], init=False)
    _frame: Frame | None = field(default=None, init=False)

    # region: the framework's interface

    def get_values(self, values: Iterable[SSAValue]) -> tuple[Any, ...]:
        frame, slots = self._frame, self._slots
        if frame is None:
            return super().get_values(values)
        return tuple([frame[slots[value]] for value in values])

    def set_values(self, pairs: Iterable[tuple[SSAValue, Any]]) -> None:
        frame, slots = self._frame, self._slots
        if frame is None:
            return super().set_values(pairs)
        for value, result in pairs:
            frame[slots[value]] = result
        return None

    def get_op_for_symbol(self, symbol: str | SymbolRefAttr) -> Operation:
        name = symbol if isinstance(symbol, str) else symbol.string_value()
        op = self._symbols.get(name)
        if op is None:
            op = self._symbols[name] = super().get_op_for_symbol(symbol)
        return op

    def call_op(
        self, op: Operation | str | SymbolRefAttr, inputs: PythonValues = ()
    ) -> PythonValues:
        # IEEE results and wrapping are what the operations mean, never worth a warning.
        with np.errstate(all="ignore"):
            return super().call_op(op, inputs)

    def run_ssacfg_region(
        self, region: Region, args: PythonValues, name: str = "unknown"
    ) -> PythonValues:
        plan = self._plans.get(id(region)) or self._plan_region(region)
        if plan.entry is None:
            return ()
        frame = self._frame
        if plan.frame_size is None and frame is not None:
            return self._run_blocks(plan, plan.entry, frame, args)
        self._frame = [None] * self._frame_size(_root_of(region))
        try:
            return self._run_blocks(plan, plan.entry, self._frame, args)
        finally:
            self._frame = frame

    def run_iterations(self, region: Region, numbers: Iterable[int]) -> None:
        """Run a region, which has one argument and yields nothing, once for each number: the body of a loop."""
        plan = self._plans.get(id(region)) or self._plan_region(region)
        block, frame = plan.entry, self._frame
        if block is None or block.returns != () or plan.frame_size is not None or frame is None:
            for number in numbers:
                self.run_ssacfg_region(region, (number,))
            return
        (slot,) = block.args
        steps, step = block.steps, _terminate
        try:
            for number in numbers:
                frame[slot] = number
                for step in steps:
                    step(frame)
        except StepwellError:
            raise
        except Exception as error:
            raise _failure(block, step, error) from error

    # endregion
    # region: running

    def _run_blocks(
        self, plan: RegionPlan, block: BlockPlan, frame: Frame, args: PythonValues
    ) -> PythonValues:
        while True:
            for slot, value in zip(block.args, args, strict=True):
                frame[slot] = value
            step, terminator = _terminate, block.terminator
            try:
                for step in block.steps:
                    step(frame)
                if block.returns is not None:
                    return tuple([frame[slot] for slot in block.returns])
                step = _terminate
                end = None if terminator is None else terminator(frame).terminator_value
            except StepwellError:
                raise
            except Exception as error:
                raise _failure(block, step, error) from error
            match end:
                case ReturnedValues(values=values):
                    return values
                case Successor(block=successor, args=args):
                    block = plan.blocks[successor]
                case None:
                    return ()

    # endregion
    # region: planning

    def _frame_size(self, root: Operation) -> int:
        """The number of slots of a frame for `root`, which are numbered here when it is first met."""
        size = self._frame_sizes.get(root)
        if size is not None:
            return size
        size = 0
        pending = [*root.regions]
        while pending:
            for block in pending.pop().blocks:
                for arg in block.args:
                    self._slots[arg] = size
                    size += 1
                for op in block.ops:
                    for result in op.results:
                        self._slots[result] = size
                        size += 1
                    if not op.has_trait(IsolatedFromAbove):
                        pending.extend(op.regions)
        self._frame_sizes[root] = size
        return size

    def _plan_region(self, region: Region) -> RegionPlan:
        root = _root_of(region)
        size = self._frame_size(root)
        blocks = {block: self._plan_block(block) for block in region.blocks}
        entry = next(iter(blocks.values()), None)
        own_frame = size if root is region.parent_op() else None
        plan = RegionPlan(region, entry, blocks, own_frame)
        self._plans[id(region)] = plan
        return plan

    def _plan_block(self, block: Block) -> BlockPlan:
        ops = tuple(block.ops)
        args = tuple(self._slots[arg] for arg in block.args)
        last = ops[-1] if ops and ops[-1].has_trait(IsTerminator) else None
        straight = ops if last is None else ops[:-1]
        steps = tuple(self._step(op) for op in straight)
        if last is None:
            return BlockPlan(block, args, steps, ops, (), None)
        functions, run = self._implementation(last)
        operands = tuple(self._slots[operand] for operand in last.operands)
        if hasattr(run, YIELDS) and not self.listeners:
            return BlockPlan(block, args, steps, ops, operands, None)

        def terminator(frame: Frame) -> OpImplResult:
            values = tuple([frame[slot] for slot in operands])
            return (
                self._run_op(last, values) if self.listeners else run(functions, self, last, values)
            )

        return BlockPlan(block, args, steps, ops, None, terminator)

    def _implementation(self, op: Operation) -> tuple[Any, Any]:
        known = self._impls._impl_dict.get(type(op))  # pyright: ignore[reportPrivateUsage]
        if known is None:
            raise StepwellError(
                f"found operation '{op.name}', expected one the interpreter knows; "
                "register an implementation of it",
                op=op,
            )
        return known

    def _step(self, op: Operation) -> Step:
        functions, run = self._implementation(op)
        operands = tuple(self._slots[operand] for operand in op.operands)
        results = tuple(self._slots[result] for result in op.results)
        maker = getattr(run, MAKE_EVALUATOR, None)
        if maker is not None and not self.listeners:
            return _evaluator_step(_made(maker, op), operands, results)

        def step(frame: Frame) -> None:
            values = tuple([frame[slot] for slot in operands])
            result = (
                self._run_op(op, values) if self.listeners else run(functions, self, op, values)
            )
            for slot, value in zip(results, result.values, strict=True):
                frame[slot] = value

        return step

    # endregion


def _root_of(region: Region) -> Operation:
    """The nearest enclosing operation whose regions see no value from outside: the owner of the frame."""
    op = region.parent_op()
    assert op is not None, "a region that is interpreted belongs to an operation"
    while not op.has_trait(IsolatedFromAbove):
        parent = op.parent_op()
        if parent is None:
            return op
        op = parent
    return op


def _terminate(frame: Frame) -> None:
    """Stands for the terminator where the step that failed is told."""


def _failure(block: BlockPlan, step: Step, error: Exception) -> StepwellError:
    op = block.ops[-1] if step is _terminate else block.ops[block.steps.index(step)]
    return StepwellError(f"'{op.name}' failed: {_one_line(error)}", op=op)


def _made(maker: Callable[[Any], Evaluator], op: Operation) -> Evaluator:
    try:
        return maker(op)
    except StepwellError:
        raise
    except Exception as error:
        raise StepwellError(
            f"'{op.name}' cannot be interpreted: {_one_line(error)}", op=op
        ) from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _evaluator_step(
    evaluate: Evaluator, operands: tuple[int, ...], results: tuple[int, ...]
) -> Step:
    """The step of an evaluator, written out for the common numbers of operands."""
    if len(results) != 1:
        return _multiple_step(evaluate, operands, results)
    (result,) = results
    match operands:
        case ():

            def step0(frame: Frame) -> None:
                frame[result] = evaluate()

            return step0
        case (a,):

            def step1(frame: Frame) -> None:
                frame[result] = evaluate(frame[a])

            return step1
        case (a, b):

            def step2(frame: Frame) -> None:
                frame[result] = evaluate(frame[a], frame[b])

            return step2
        case (a, b, c):

            def step3(frame: Frame) -> None:
                frame[result] = evaluate(frame[a], frame[b], frame[c])

            return step3
        case _:

            def step(frame: Frame) -> None:
                frame[result] = evaluate(*[frame[slot] for slot in operands])

            return step


def _multiple_step(
    evaluate: Evaluator, operands: tuple[int, ...], results: tuple[int, ...]
) -> Step:
    if not results:

        def effect(frame: Frame) -> None:
            evaluate(*[frame[slot] for slot in operands])

        return effect

    def step(frame: Frame) -> None:
        values = evaluate(*[frame[slot] for slot in operands])
        for slot, value in zip(results, values, strict=True):
            frame[slot] = value

    return step
