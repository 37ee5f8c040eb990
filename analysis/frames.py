"""What surrounds the blocks of a function: loops, conditions, and what their variables are called there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl
from xdsl.dialects import affine, arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr

from ..dialects import loop
from ..dialects.affine_atoms import constant_expr, dim_expr
from ..dialects.affine_substitution import substituted
from ..dialects.leaf_operations import first_argument, map_of
from ..frozen import frozen_in_types
from ..lazy import cached_property
from .affine_isl import applied
from .alias import Aliases
from .domains import Around, BranchPart, LoopPart
from .operations import (
    body_of,
    operands_before_and_after,
    operands_of,
    operations_in,
    operations_of,
)


@frozen_in_types
class Frame:
    """What surrounds a block."""

    around: Around
    """The loops and conditions by content."""
    variables: Mapping[SSAValue, AffineExpr]
    """What the parameters and the loops' variables are in affine expressions."""
    loops: tuple[loop.ForOp, ...] = ()
    """The loops, outermost first."""
    certain: bool = True
    """Whether every bound and condition is affine, so that the block runs in all of the domain."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def space(self) -> isl.Space:
        """The loops' variables, outermost first."""
        return self.around.space

    @property
    def domain(self) -> isl.Set:
        """
        All iterations in which the block runs, over the loops' variables.

        Bounds and conditions that are not affine are left out, which only adds some.
        """
        return self.around.domain

    def term(self, value: SSAValue) -> AffineExpr | None:
        """The value over parameters and loop variables, or None when it is not affine."""
        known = self.variables.get(value)
        if known is not None:
            return known
        number = constant_value(value)
        if number is not None:
            return constant_expr(number)
        if isinstance(value.owner, affine.ApplyOp):
            found = self.terms([applied(value.owner)], value.owner.mapOperands)
            return None if found is None else found[0]
        return None

    def terms(
        self, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]
    ) -> list[AffineExpr] | None:
        """Expressions over the parameters and the loops' variables; None when an operand is not affine."""
        if not operands:
            return list(exprs)
        dims: list[AffineExpr] = []
        for operand in operands:
            term = self.variables.get(operand) or self.term(operand)
            if term is None:
                return None
            dims.append(term)
        return [substituted(expr, dims) for expr in exprs]

    def values(
        self, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]
    ) -> list[isl.PwAff] | None:
        """The expressions as functions on the domain's space, or None when an operand is not affine."""
        found = self.terms(exprs, operands)
        return None if found is None else self.around.values(found)


Known = tuple[Frame, tuple[SSAValue, ...], tuple[Attribute | None, ...], Frame, Block]
"""The frame around an operation, its operands and what it says, and the frame of its block, which follows from these."""


class Frames:
    """
    The frames of one function's blocks, kept from one question to the next.

    The function may be rewritten in between. A frame is used again as long as the one around it, the
    attributes and the operands of its operation are the same: attributes are replaced and never changed. Values
    that are parameters are looked for by `update`, which whoever rewrites the function calls.
    """

    def __init__(self, function: func.FuncOp):
        self.function = function
        self._known: dict[int, Known] = {}
        """By the identity of the block, which is kept with what is known of it."""
        self._begin(_Parameters(function).found)

    @cached_property
    def aliases(self) -> Aliases:
        """Which of its buffers may overlap, which rewriting what surrounds its blocks does not change."""
        return Aliases(self.function)

    def update(self) -> bool:
        """Look for the parameters again; whether there are others."""
        parameters = _Parameters(self.function).found
        if parameters == self.parameters:
            return False
        self._begin(parameters)
        return True

    def _begin(self, parameters: list[SSAValue]) -> None:
        self.parameters = parameters
        """The values that affine expressions leave open."""
        self._known.clear()
        variables = {value: dim_expr(n) for n, value in enumerate(parameters)}
        self.outermost = Frame(Around.outermost(len(parameters)), variables)
        """That of the function's body."""

    def of(self, block: Block) -> Frame:
        """That of any block."""
        around = block.parent_op()
        if around is None or around is self.function:
            return self.outermost
        assert around.parent is not None
        return self.inside(around, block, self.of(around.parent))

    def inside(self, op: Operation, block: Block, outer: Frame) -> Frame:
        """That of a block of an operation that stands in a frame."""
        if type(op) is loop.ForOp:
            return self._in_body(op, block, outer)
        if type(op) is loop.IfOp:
            return self.in_branch(op, block is op.then_region.block, outer)
        return outer

    def in_loop(self, op: loop.ForOp, outer: Frame) -> Frame:
        """That of the body of a loop that stands in a frame."""
        return self._in_body(op, body_of(op), outer)

    def _in_body(self, op: loop.ForOp, block: Block, outer: Frame) -> Frame:
        operands = operands_of(op)
        own = op.properties
        said = own["lower_map"], own["upper_map"], own["step"]
        known = self._known.get(id(block))
        if known is None or not _holds(known, outer, operands, said):
            known = outer, operands, said, _in_loop(op, outer), block
            self._keep(known)
        return known[3]

    def in_branch(self, op: loop.IfOp, taken: bool, outer: Frame) -> Frame:
        """That of the body of a branch of a condition that stands in a frame."""
        block = (op.then_region if taken else op.else_region).block
        operands, said = operands_of(op), (op.condition,)
        known = self._known.get(id(block))
        if known is None or not _holds(known, outer, operands, said):
            known = outer, operands, said, _in_branch(op, taken, outer), block
            self._keep(known)
        return known[3]

    def _keep(self, known: Known) -> None:
        # What an `affine.apply` computes may be changed in its place.
        for value in known[1]:
            if value not in known[0].variables:
                return
        self._known[id(known[4])] = known


class RoundedFrames:
    """
    The frames of a function's blocks with the trip counts of some loops taken up to multiples of a number, as long as nothing
    changes it.
    """

    def __init__(self, frames: Frames, factors: Mapping[loop.ForOp, int]):
        self._frames, self.factors = frames, factors
        self._found: dict[int, Frame] = {}
        """by the identity of the block"""

    def of(self, block: Block) -> Frame:
        """That of any block."""
        found = self._found.get(id(block))
        if found is None:
            found = self._found[id(block)] = self._inside(block)
        return found

    def _inside(self, block: Block) -> Frame:
        op = block.parent_op()
        if op is None or op is self._frames.function:
            return self._frames.outermost
        assert op.parent is not None
        outer = self.of(op.parent)
        # Frames that are rounded are not kept with the others, which are needed again.
        if type(op) is loop.ForOp:
            return _in_loop(op, outer, self.factors.get(op, 1))
        if type(op) is loop.IfOp:
            return _in_branch(op, block is op.then_region.block, outer)
        return outer


def _holds(
    known: Known, outer: Frame, operands: Sequence[SSAValue], said: tuple[Attribute | None, ...]
) -> bool:
    """Whether a frame still is that of its block."""
    return known[0] is outer and known[1] is operands and known[2] == said


def _in_loop(op: loop.ForOp, outer: Frame, multiple: int = 1) -> Frame:
    lower_map, upper_map = map_of(op, "lower_map"), map_of(op, "upper_map")
    low_operands, high_operands = operands_before_and_after(op, lower_map.num_dims)
    lower = outer.terms(lower_map.results, low_operands)
    upper = outer.terms(upper_map.results, high_operands)
    part = LoopPart(tuple(lower or ()), tuple(upper or ()), op.step.value.data, multiple)
    variable = dim_expr(outer.around.parameters + len(outer.loops))
    return Frame(
        outer.around.within(part),
        {**outer.variables, first_argument(op): variable},
        (*outer.loops, op),
        outer.certain and lower is not None and upper is not None,
    )


def _in_branch(op: loop.IfOp, taken: bool, outer: Frame) -> Frame:
    constraints = op.condition.data.constraints
    lhs = outer.terms([c.lhs for c in constraints], op.condition_operands)
    known = None
    if lhs is not None:
        parts = zip(constraints, lhs, strict=True)
        known = tuple(AffineConstraintExpr(c.kind, e, c.rhs, canonicalize=False) for c, e in parts)
    return Frame(
        outer.around.within(BranchPart(known, taken)),
        outer.variables,
        outer.loops,
        outer.certain and known is not None,
    )


class _Parameters:
    """Every value an affine operation uses that is neither a loop variable nor computed from some."""

    def __init__(self, function: func.FuncOp):
        self._body = function.body.block
        self.found: list[SSAValue] = []
        if IndexType in [type(value.type) for value in _values(self._body)]:
            for op in operations_in(function):
                self._look_at(op)

    def _look_at(self, op: Operation) -> None:
        match op:
            case loop.ForOp():
                used: Sequence[SSAValue] = op.operands
            case loop.IfOp():
                used = op.condition_operands
            case loop.LoadOp() | loop.StoreOp():
                used = op.operands_
            case _:
                return
        for value in used:
            self._note(value)

    def _note(self, value: SSAValue) -> None:
        if isinstance(value.owner, affine.ApplyOp):
            for operand in value.owner.mapOperands:
                self._note(operand)
        elif self._is_parameter(value) and value not in self.found:
            self.found.append(value)

    def _is_parameter(self, value: SSAValue) -> bool:
        if type(value.type) is not IndexType or constant_value(value) is not None:
            return False
        block = value.owner if isinstance(value, BlockArgument) else value.owner.parent
        return block is self._body


def _values(block: Block) -> list[SSAValue]:
    """The arguments of a block, and the results of the operations that stand in it."""
    return [*block.args, *[result for op in operations_of(block) for result in op.results]]


def constant_value(value: SSAValue) -> int | None:
    """The number an `arith.constant` of integer or index type gives, else None."""
    owner = value.owner
    if type(owner) is not arith.ConstantOp:
        return None
    found = owner.value
    return found.value.data if isinstance(found, IntegerAttr) else None
