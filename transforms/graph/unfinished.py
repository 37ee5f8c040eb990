"""
Whether a loop goes on as long as any element is unfinished, and leaves finished ones as they are:
`while any(p(x)) and q: x = body(x)` with `body(x)[i] == x[i]` wherever `p(x)[i]` is false.

This is proved by putting false for `p(x)` into the body, and folding.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, TensorType, i1
from xdsl.ir import OpResult, SSAValue

from ...dialects import graph
from ...dialects.shaped import shape_of, tensor_type

Shape = tuple[int, ...]


def keeps_finished_elements(op: graph.WhileOp, shape: Shape) -> bool:
    """Whether the loop is one of these, for a state of tensors of this shape and of numbers."""
    block = op.body.block
    go, *following = op.yielded(block)
    unfinished = _unfinished(go)
    if unfinished is None or tensor_type(unfinished) != TensorType(i1, shape):
        return False
    before: dict[SSAValue, set[SSAValue]] = {}
    for value, arg in zip(following, block.args, strict=True):
        before.setdefault(value, set()).add(arg)
    results = [result for inner in block.ops for result in inner.results]
    same = _Same(before)
    values: list[SSAValue] = [*block.args, *results]
    finished = {value for value in values if same(unfinished, value)}
    if not finished:
        return False
    fold = _Folded(finished)
    pairs = zip(following, block.args, strict=True)
    return all(not shape_of(arg) or fold.is_kept(value, arg) for value, arg in pairs)


def _unfinished(go: SSAValue) -> SSAValue | None:
    """The p of a condition `any(p) and q`, which has no other use; None for other conditions."""
    leaves, found = [go], list[SSAValue]()
    while leaves:
        op = leaves.pop().owner
        if isinstance(op, graph.AndOp):
            leaves += op.operands
        elif isinstance(op, graph.MaxOp):
            found.append(op.operands[0])
    reductions = [op for op in _block_of(go) if isinstance(op, graph.MaxOp)]
    is_only = len(found) == len(reductions) == 1
    return found[0] if is_only and _is_used_once(reductions[0].results[0]) else None


def _block_of(value: SSAValue):
    return value.owner.parent.ops if isinstance(value, OpResult) and value.owner.parent else ()


def _is_used_once(value: SSAValue) -> bool:
    """Whether a value has one use, and what is made of it by `and` does too, up to the end of the block."""
    while value.has_one_use():
        (use,) = value.uses
        if isinstance(use.operation, graph.YieldOp):
            return use.index == 0
        if not isinstance(use.operation, graph.AndOp):
            return False
        value = use.operation.results[0]
    return False


class _Same:
    """Compares expressions of the next state with those of the state before it."""

    def __init__(self, before: dict[SSAValue, set[SSAValue]]):
        self._before = before
        self._known: dict[tuple[SSAValue, SSAValue], bool] = {}

    def __call__(self, after: SSAValue, value: SSAValue) -> bool:
        """Whether `value` says of the state what `after` says of the next one."""
        key = (after, value)
        if key not in self._known:
            self._known[key] = False  # values do not depend on themselves
            self._known[key] = self._compared(after, value)
        return self._known[key]

    def _compared(self, after: SSAValue, value: SSAValue) -> bool:
        if after in self._before:
            # With a number that changes, such as a bound that grows, finished elements may be unfinished again.
            is_kept = bool(shape_of(after)) or after in self._before[after]
            return is_kept and value in self._before[after]
        if after is value:
            return not self._depends(after)
        if not isinstance(after, OpResult) or not isinstance(value, OpResult):
            return False
        a, b = after.owner, value.owner
        if a.parent is not b.parent or type(a) is not type(b):
            return False
        if a.properties != b.properties or after.type != value.type or not a.operands:
            return False
        return len(a.operands) == len(b.operands) and all(
            self(x, y) for x, y in zip(a.operands, b.operands, strict=True)
        )

    def _depends(self, value: SSAValue) -> bool:
        """Whether a value follows from a state."""
        if not isinstance(value, OpResult):
            return any(value in args for args in self._before.values())
        return any(self._depends(operand) for operand in value.owner.operands)


class _Folded:
    """Expressions where the elements are finished: False, a number 0, or a value."""

    def __init__(self, finished: set[SSAValue]):
        self._finished = finished

    def is_kept(self, value: SSAValue, arg: SSAValue) -> bool:
        """Whether the next value of a state is the one before."""
        found = self(value)
        return found is arg or (found is False and arg in self._finished)

    def __call__(self, value: SSAValue) -> SSAValue | bool | int:
        if value in self._finished:
            return False
        op = value.owner
        if isinstance(op, graph.WhereOp):
            condition, _, other = op.operands
            is_alike = tensor_type(other) == tensor_type(value)
            return self(other) if is_alike and self(condition) is False else value
        if isinstance(op, graph.CastOp):
            return 0 if self(op.operands[0]) in (False, 0) else value
        if isinstance(op, graph.AndOp | graph.OrOp | graph.AddOp | graph.SubOp):
            return self._of_two(op, value)
        return value

    def _of_two(self, op: graph.AndOp | graph.OrOp | graph.AddOp | graph.SubOp, value: SSAValue):
        left, right = (self(operand) for operand in op.operands)
        if isinstance(op, graph.AndOp):
            return False if left is False or right is False else value
        # -0.0 + 0.0 is 0.0, and -0.0 - 0.0 is -0.0.
        is_exact = isinstance(tensor_type(value).get_element_type(), IntegerType)
        if _is_zero(right) and (is_exact or isinstance(op, graph.SubOp)):
            return self._alike(left, value)
        if _is_zero(left) and is_exact and not isinstance(op, graph.SubOp):
            return self._alike(right, value)
        return value

    @staticmethod
    def _alike(found: SSAValue | bool | int, value: SSAValue) -> SSAValue | bool | int:
        """What was found where it has the shape of the value."""
        if isinstance(found, SSAValue) and found.type != value.type:
            return value
        return found


def _is_zero(found: SSAValue | bool | int) -> bool:
    return not isinstance(found, SSAValue) and not found
