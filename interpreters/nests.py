"""
What nests of parallel loops store, the whole iteration space at once, by NumPy.

Every loop variable becomes an array of its values that varies along an axis of its own, as in te.py; loads
gather, the scalar operations run once on arrays, and stores scatter. Conditions and bounds that depend on
outer loops become masks. It computes what loop.py does one iteration after the other, for the nests that
`is_closed` admits, a hundred times as fast: quick enough to run while a program is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import affine, arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap

from ..dialects import loop
from .affine import compile_map
from .arith import EVALUATORS
from .loop import EVALUATORS as LOOP_EVALUATORS

CHUNK_POINTS = 1 << 18
"""Points of a space evaluated at a time, so that what is made of them stays in a cache."""

_SCALAR = {**EVALUATORS, affine.ApplyOp: LOOP_EVALUATORS[affine.ApplyOp]}


class OutOfBounds(Exception):
    """An access of the nest leaves its buffer."""


def is_closed(nest: Operation, buffer: SSAValue) -> bool:
    """
    Whether the nest does nothing but store to `buffer` what it computes from other buffers, whatever runs
    around it.

    So it is when its loops are parallel, it loads nothing from `buffer`, and all other values it uses
    are defined inside or constants.
    """
    return all(_is_closed(op, nest, buffer) for op in nest.walk())


def _is_closed(op: Operation, nest: Operation, buffer: SSAValue) -> bool:
    if isinstance(op, loop.LoadOp):
        return op.buffer is not buffer and all(_is_known(v, nest) for v in op.operands_)
    if isinstance(op, loop.StoreOp):
        return op.buffer is buffer and all(_is_known(v, nest) for v in (op.value, *op.operands_))
    if isinstance(op, loop.ForOp):
        is_any_order = op.kind.data is loop.LoopKind.PARALLEL or op.constant_trip_count() in (0, 1)
        return is_any_order and all(_is_known(value, nest) for value in op.operands)
    is_scalar = type(op) in _SCALAR or isinstance(op, loop.IfOp | loop.YieldOp)
    return is_scalar and all(_is_known(value, nest) for value in op.operands)


def _is_known(value: SSAValue, nest: Operation) -> bool:
    owner = value.owner
    inside = owner.parent_op() if isinstance(owner, Block) else owner
    return isinstance(owner, arith.ConstantOp) or (inside is not None and nest.is_ancestor(inside))


def run_nest(nest: Operation, contents: Mapping[SSAValue, np.ndarray], into: np.ndarray) -> None:
    """
    Run a closed nest, which stores to `into`; it loads from the buffers that `contents` has.

    Raises OutOfBounds when an access leaves its buffer.
    """
    depth = _depth(nest)
    with np.errstate(all="ignore"):
        _Evaluation(contents, into, depth).op(nest, None, 0)


def _depth(op: Operation) -> int:
    """The number of loops in each other."""
    inner = (_depth(o) for region in op.regions for block in region.blocks for o in block.ops)
    return isinstance(op, loop.ForOp) + max(inner, default=0)


class _Evaluation:
    """The values of a nest as arrays of rank `depth`, or numbers, that broadcast to the space."""

    def __init__(self, contents: Mapping[SSAValue, np.ndarray], into: np.ndarray, depth: int):
        self.contents = contents
        self.into = into
        self.depth = depth
        self.values: dict[SSAValue, Any] = {}

    def _get(self, values: Sequence[SSAValue]) -> list[Any]:
        return [self._value(value) for value in values]

    def _value(self, value: SSAValue) -> Any:
        if value not in self.values and isinstance(value.owner, arith.ConstantOp):
            self.values[value] = EVALUATORS[arith.ConstantOp](value.owner)()
        return self.values[value]

    def block(self, block: Block, mask: Any, level: int) -> list[Any]:
        """Run a block where `mask` holds (None: everywhere); the values it yields."""
        for op in block.ops:
            if isinstance(op, loop.YieldOp):
                return self._get(op.operands)
            self.op(op, mask, level)
        return []

    def op(self, op: Operation, mask: Any, level: int) -> None:
        """Run one operation inside of `level` loops."""
        match op:
            case loop.ForOp():
                self._for(op, mask, level)
            case loop.IfOp():
                self._if(op, mask, level)
            case loop.LoadOp():
                source = self.contents[op.buffer]
                place = _place(op.map.data, self._get(op.operands_), source.shape, mask)
                self.values[op.result] = np.take(source.reshape(-1), place)
            case loop.StoreOp():
                self._store(op, mask)
            case _:
                (result,) = op.results
                value = _SCALAR[type(op)](op)(*self._get(op.operands))
                self.values[result] = value

    def _for(self, op: loop.ForOp, mask: Any, level: int) -> None:
        step = op.step.value.data
        lower = _joined(np.maximum, op.lower_map.data, self._get(op.lower_operands))
        upper = _joined(np.minimum, op.upper_map.data, self._get(op.upper_operands))
        spans = np.asarray(upper) - np.asarray(lower)
        count = max(0, -(-int(spans.max(initial=0)) // step))
        chunk = count if level else max(1, CHUNK_POINTS // max(1, _points_inside(op)))
        shape = [1] * self.depth
        is_even = bool((spans > (count - 1) * step).all())
        for first in range(0, count, max(1, chunk)):
            shape[level] = min(chunk, count - first)
            numbers = np.arange(first, first + shape[level], dtype=np.int64).reshape(shape)
            variable = lower + step * numbers
            self.values[op.induction_variable] = variable
            inside = mask if is_even else _both(mask, variable < upper)
            self.block(op.body.block, inside, level + 1)

    def _if(self, op: loop.IfOp, mask: Any, level: int) -> None:
        operands = self._get(op.condition_operands)
        holds: Any = np.True_
        for constraint in op.condition.data.constraints:
            sides = AffineMap(len(operands), 0, (constraint.lhs, constraint.rhs))
            left, right = compile_map(sides)(*operands)
            holds = holds & _COMPARE[constraint.kind](np.asarray(left), right)
        taken = self.block(op.then_region.block, _both(mask, holds), level)
        if not op.else_region.blocks:
            return
        other = self.block(op.else_region.block, _both(mask, ~holds), level)
        for result, yes, no in zip(op.results, taken, other, strict=True):
            self.values[result] = np.where(holds, yes, no)

    def _store(self, op: loop.StoreOp, mask: Any) -> None:
        place = _place(op.map.data, self._get(op.operands_), self.into.shape, mask)
        value = np.asarray(self._value(op.value))
        flat = self.into.reshape(-1)
        if mask is None:
            place, value = np.broadcast_arrays(place, value)
            flat[place] = value
        else:
            place, value, mask = np.broadcast_arrays(place, value, mask)
            flat[place[mask]] = value[mask]


_COMPARE: dict[AffineConstraintKind, Any] = {
    AffineConstraintKind.ge: np.greater_equal,
    AffineConstraintKind.le: np.less_equal,
    AffineConstraintKind.eq: np.equal,
}


def _joined(join: Any, map_: AffineMap, operands: Sequence[Any]) -> Any:
    first, *others = compile_map(map_)(*operands)
    for other in others:
        first = join(first, other)
    return first


def _both(mask: Any, condition: Any) -> Any:
    """Where both hold; None when that is everywhere."""
    if mask is None and np.all(condition):
        return None
    return condition if mask is None else mask & condition


def _points_inside(op: loop.ForOp) -> int:
    """About how many points one iteration of the loop has."""
    most = 1
    for inner in op.body.block.ops:
        if isinstance(inner, loop.ForOp):
            most = max(most, (inner.constant_trip_count() or 1) * _points_inside(inner))
    return most


def _place(map_: AffineMap, operands: Sequence[Any], shape: Sequence[int], mask: Any) -> Any:
    """
    The positions of the elements in the flat buffer; of 0 where the mask does not hold and the subscript
    is outside.
    """
    place: Any = np.int64(0)
    stride = int(np.prod(shape, dtype=np.int64))
    for index, size in zip(compile_map(map_)(*operands), shape, strict=True):
        stride //= max(1, size)
        index = np.asarray(index)
        if index.size and (index.min() < 0 or index.max() >= size):
            inside = (index >= 0) & (index < size)
            if not size or mask is None or np.any(mask & ~inside):
                raise OutOfBounds
            index = np.where(inside, index, 0)
        place = place + index * stride
    return place
