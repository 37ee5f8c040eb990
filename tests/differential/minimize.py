"""Making a failing program small: whatever it fails without is taken away, greedily."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stepwell.dialects.graph.base import GraphOp
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import SSAValue

from . import monte_carlo
from .random_programs import Program

Reduction = Callable[[Program], None]


def minimize(program: Program, still_fails: Callable[[Program], bool]) -> Program:
    """The smallest program found that still fails, by single steps until none helps."""
    progress = True
    while progress:
        progress = False
        for reduce in _reductions(program):
            candidate = _reduced(program, reduce)
            if candidate is not None and still_fails(candidate):
                program, progress = candidate, True
                break
    return program


def _reduced(program: Program, reduce: Reduction) -> Program | None:
    """A copy of the program with one thing less; None when nothing is left to see."""
    candidate = Program(program.module.clone(), list(program.inputs), program.size)
    reduce(candidate)
    _drop_unused(candidate)
    _update_type(candidate)
    same = str(candidate.module) == str(program.module)
    return None if same or not _returned(candidate) else candidate


def _reductions(program: Program) -> Iterator[Reduction]:
    """What could be taken away, the most first."""
    results = len(_returned(program))
    if results > 1:
        for number in range(results):
            yield lambda candidate, number=number: _keep_result(candidate, number)
        for number in range(results):
            yield lambda candidate, number=number: _drop_result(candidate, number)
    for number in range(results):
        yield lambda candidate, number=number: _return_operands(candidate, number)
    for number in reversed(range(len(program.operations()))):
        yield lambda candidate, number=number: _cut(candidate, number)
        yield lambda candidate, number=number: _bypass(candidate, number)


def _return_op(program: Program) -> func.ReturnOp:
    terminator = program.function.body.block.last_op
    assert isinstance(terminator, func.ReturnOp)
    return terminator


def _returned(program: Program) -> list[SSAValue]:
    return list(_return_op(program).arguments)


def _keep_result(program: Program, number: int) -> None:
    _return_op(program).operands = [_returned(program)[number]]


def _drop_result(program: Program, number: int) -> None:
    kept = _returned(program)
    del kept[number]
    _return_op(program).operands = kept


def _return_operands(program: Program, number: int) -> None:
    """What a result is computed from becomes results in its place."""
    kept = _returned(program)
    owner = kept.pop(number).owner
    if isinstance(owner, GraphOp) and owner.operands:
        _return_op(program).operands = [*kept, *owner.operands]


def _cut(program: Program, number: int) -> None:
    """An operation's results become inputs."""
    op = program.operations()[number]
    values = monte_carlo.evaluate(program.function, program.inputs)
    block = program.function.body.block
    for result in op.results:
        if not any(result.uses):
            continue
        arg = block.insert_arg(result.type, len(block.args))
        arg.name_hint = f"x{len(block.args)}"
        program.inputs.append(values[result].array)
        result.replace_all_uses_with(arg)


def _bypass(program: Program, number: int) -> None:
    """An operation's result becomes an operand of the same type."""
    op = program.operations()[number]
    same = next((value for value in op.operands if value.type == op.results[0].type), None)
    if same is not None and len(op.results) == 1:
        op.results[0].replace_all_uses_with(same)


def _drop_unused(program: Program) -> None:
    for op in reversed(program.operations()):
        if not any(use for result in op.results for use in result.uses):
            op.detach()
            op.erase()
    block = program.function.body.block
    for arg in reversed(block.args):
        if not any(arg.uses):
            del program.inputs[arg.index]
            block.erase_arg(arg)


def _update_type(program: Program) -> None:
    function = program.function
    types = [arg.type for arg in function.body.block.args]
    function.function_type = FunctionType.from_lists(
        types, [value.type for value in _returned(program)]
    )
