"""Loops of ours from isl's abstract syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import islpy as isl
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr

from ...dialects import loop
from ...errors import StepwellError
from .rewrite import as_bound

# By name, since Python's own words end in an underscore here but not in islpy's stubs.
_FOR, _IF = isl.ast_node_type["for_"], isl.ast_node_type["if_"]
_AND, _OR = isl.ast_expr_op_type["and_"], isl.ast_expr_op_type["or_"]
_CHOICES = isl.ast_expr_op_type.select, isl.ast_expr_op_type.cond

EmitStatement = Callable[[Block, str, Sequence[AffineExpr], Sequence[SSAValue]], None]
"""
Append a statement to a block: its name, and the values of its loop variables as affine expressions over
index values.
"""


class AstToLoops:
    """Builds loop IR for a tree; `parameters` are the values of isl's `p0`, `p1` …"""

    def __init__(self, parameters: Sequence[SSAValue], emit: EmitStatement, prefix: str = "t"):
        self._values: list[SSAValue] = list(parameters)
        self._dims = {f"p{n}": n for n in range(len(parameters))}
        self._emit = emit
        self._prefix = prefix
        self._count = 0
        self._kind = loop.LoopKind.SERIAL
        """of the loops to come, as the mark around them says"""

    def build(self, node: isl.AstNode, block: Block) -> None:
        """Append what the tree says to the block."""
        kind = node.get_type()
        if kind == _FOR:
            self._for(node, node.for_get_init(), block)
        elif kind == _IF:
            self._if(node, block)
        elif kind == isl.ast_node_type.block:
            children = node.block_get_children()
            for n in range(children.n_ast_node()):
                self.build(children.get_at(n), block)
        elif kind == isl.ast_node_type.mark:
            around = self._kind
            self._kind = loop.LoopKind(node.mark_get_id().get_name())
            self.build(node.mark_get_node(), block)
            self._kind = around
        else:
            self._user(node, block)

    def _for(self, node: isl.AstNode, first: isl.AstExpr, block: Block) -> None:
        """The loop of a node, from the `first` value, which may be one of two by a condition."""
        is_op = first.get_type() == isl.ast_expr_type.op
        if is_op and isl.ast_expr_op_type(first.get_op_type()) in _CHOICES:
            alternatives = self._alternatives(first.get_op_arg(0))
            taken, other = (partial(self._for, node, first.get_op_arg(n)) for n in (1, 2))
            self._branch(alternatives, taken, other, block)
            return
        self._loop(node, self._terms(first, isl.ast_expr_op_type.max), block)

    def _loop(self, node: isl.AstNode, start: Sequence[AffineExpr], block: Block) -> None:
        """The loop of a node, from the greatest of the values in `start`."""
        if node.for_is_degenerate() and len(start) > 1:
            # An end would be the least of several: which one is the greatest start is asked for before.
            is_first = [loop.at_least_zero(start[0] - other) for other in start[1:]]
            taken, other = (partial(self._loop, node, each) for each in (start[:1], start[1:]))
            self._branch([is_first], taken, other, block)
            return
        if node.for_is_degenerate():
            # One iteration: a loop all the same, which `simplify` removes.
            end, step = [start[0] + 1], 1
        else:
            end = self._upper(node.for_get_cond())
            step = node.for_get_inc().get_val().to_python()
        for_op = loop.ForOp(
            f"{self._prefix}{self._count}",
            as_bound((start, self._values)),
            as_bound((end, self._values)),
            step=step,
            kind=self._kind,
        )
        self._count += 1
        block.add_op(for_op)
        around, self._kind = self._kind, loop.LoopKind.SERIAL
        self._body(node, for_op)
        self._kind = around

    def _body(self, node: isl.AstNode, for_op: loop.ForOp) -> None:
        name = node.for_get_iterator().get_id().get_name()
        self._dims[name] = len(self._values)
        self._values.append(for_op.induction_variable)
        target = for_op.body.block
        last = target.last_op
        assert last is not None
        last.detach()
        self.build(node.for_get_body(), target)
        target.add_op(last)
        self._values.pop()
        del self._dims[name]

    def _if(self, node: isl.AstNode, block: Block) -> None:
        taken = partial(self.build, node.if_get_then_node())
        other = partial(self.build, node.if_get_else_node()) if node.if_has_else_node() else None
        self._branch(self._alternatives(node.if_get_cond()), taken, other, block)

    def _branch(
        self,
        alternatives: Sequence[Sequence[AffineConstraintExpr]],
        taken: Callable[[Block], None],
        other: Callable[[Block], None] | None,
        block: Block,
    ) -> None:
        """Append what is `taken` where one of some alternatives holds, which are asked for one after the other, and the `other` else."""
        if not alternatives:
            if other is not None:
                other(block)
            return
        if not all(alternatives):  # one of them asks for nothing
            taken(block)
            return
        constraints, *left = alternatives
        if left:
            other = partial(self._branch, left, taken, other)
        then, otherwise = Block(), None
        taken(then)
        then.add_op(loop.YieldOp())
        if other is not None:
            otherwise = Block()
            other(otherwise)
            otherwise.add_op(loop.YieldOp())
        else_region = None if otherwise is None else Region(otherwise)
        block.add_op(loop.IfOp(constraints, self._values, Region(then), else_region))

    def _user(self, node: isl.AstNode, block: Block) -> None:
        call = node.user_get_expr()
        name = call.get_op_arg(0).get_id().get_name()
        arguments = [self._expr(call.get_op_arg(n)) for n in range(1, call.get_op_n_arg())]
        self._emit(block, name, arguments, list(self._values))

    # Expressions.

    def _terms(self, expr: isl.AstExpr, join: isl.ast_expr_op_type) -> list[AffineExpr]:
        """The expressions under a maximum or minimum."""
        if expr.get_type() == isl.ast_expr_type.op and expr.get_op_type() == join:
            parts = (expr.get_op_arg(n) for n in range(expr.get_op_n_arg()))
            return [term for part in parts for term in self._terms(part, join)]
        return [self._expr(expr)]

    def _upper(self, cond: isl.AstExpr) -> list[AffineExpr]:
        """The excluded upper bounds in a condition `i <= e` or `i < e`."""
        exprs = self._terms(cond.get_op_arg(1), isl.ast_expr_op_type.min)
        if cond.get_op_type() == isl.ast_expr_op_type.le:
            return [e + 1 for e in exprs]
        return exprs

    def _alternatives(self, cond: isl.AstExpr) -> list[list[AffineConstraintExpr]]:
        """The constraints of which all of one list hold where the condition does; some parts of it are the numbers 0 and 1."""
        if cond.get_type() == isl.ast_expr_type.int:
            return [] if cond.get_val().is_zero() else [[]]
        ops = isl.ast_expr_op_type
        kind = ops(cond.get_op_type())
        if kind not in (_AND, _OR, ops.and_then, ops.or_else):
            return [[self._constraint(cond)]]
        parts = [self._alternatives(cond.get_op_arg(n)) for n in range(cond.get_op_n_arg())]
        if kind in (_OR, ops.or_else):
            return [alternative for part in parts for alternative in part]
        return [[one for each in chosen for one in each] for chosen in product(*parts)]

    def _constraint(self, cond: isl.AstExpr) -> AffineConstraintExpr:
        ops = isl.ast_expr_op_type
        kind = ops(cond.get_op_type())
        lhs, rhs = self._expr(cond.get_op_arg(0)), self._expr(cond.get_op_arg(1))
        if kind == ops.eq:
            zero = AffineExpr.constant(0)
            return AffineConstraintExpr(
                AffineConstraintKind.eq, lhs - rhs, zero, canonicalize=False
            )
        difference = {
            ops.ge: lhs - rhs,
            ops.gt: lhs - rhs - 1,
            ops.le: rhs - lhs,
            ops.lt: rhs - lhs - 1,
        }.get(kind)
        if difference is None:
            raise StepwellError(f"isl gave a condition that is not affine: {cond.to_C_str()}")
        return loop.at_least_zero(difference)

    def _expr(self, expr: isl.AstExpr) -> AffineExpr:
        kind = expr.get_type()
        if kind == isl.ast_expr_type.int:
            return AffineExpr.constant(expr.get_val().to_python())
        if kind == isl.ast_expr_type.id:
            return AffineExpr.dimension(self._dims[expr.get_id().get_name()])
        ops = isl.ast_expr_op_type
        args = [self._expr(expr.get_op_arg(n)) for n in range(expr.get_op_n_arg())]
        match expr.get_op_type():
            case ops.minus:
                return args[0] * -1
            case ops.add:
                return args[0] + args[1]
            case ops.sub:
                return args[0] - args[1]
            case ops.mul:
                return args[0] * args[1]
            case ops.fdiv_q | ops.pdiv_q | ops.div:
                return args[0] // args[1]
            case ops.pdiv_r | ops.zdiv_r:
                return args[0] % args[1]
            case _:
                raise StepwellError(f"isl gave an expression that is not affine: {expr.to_C_str()}")
