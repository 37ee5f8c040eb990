"""
Equations that are used from left to right, and the pass that uses a table of them.

    x, c = Variable("x"), Constant("c")
    RULES = (
        Rule(relu(relu(x)), relu(x)),
        Rule(x / c, x * (1 / c), when=has_exact_reciprocal),
        Rule(minimum(relu(x), c), clip(x, min=0, max=c), when=(c >= 0,)),
    )
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeAlias, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from ...analysis.levels import Level
from ...dialects import graph
from ...dialects.graph.expressions import Expr
from ...frozen import frozen
from ...lazy import cached_property
from ..numerics import DEFAULT_FP, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .matching import Match, matches, needed_kinds
from .terms import Apply, Term, built, number_in
from .worklist import Kinds, Pattern, rewrite_kinds

Condition: TypeAlias = "tuple[Term, ...] | Callable[..., bool]"


@dataclass(frozen=True, eq=False)
class Rule:
    """
    An equation: `before` becomes `after`.

    `after` is a term, or a function that is given the variables of `before` by their names, tensors as `Expr`, numbers
    as NumPy scalars, settings as Python values, and the value that is replaced as `result`. `when` is inequalities of
    numbers that all have to hold, or a function that is given the same.
    """

    before: Apply
    after: Term | Callable[..., Expr]
    when: Condition = ()
    text: str = ""
    """What `after` is, where it is a function."""
    any_order: bool = False
    """Whether sums and products are looked for in every grouping."""
    may_share: bool = False
    """Whether others may use what lies between, as what replaces the whole costs no more than its last operation."""

    def __str__(self) -> str:
        return f"{self.before} → {self.text or self.after}"

    @property
    def roots(self) -> tuple[type[graph.GraphOp], ...]:
        """The operations at which it may begin."""
        op = self.before.op
        for group in (
            (graph.AddOp, graph.SubOp),
            (graph.MulOp, graph.DivOp, graph.ReciprocalOp),
        ):
            if self.any_order and op in group:
                return group
        return (op,)

    @cached_property
    def needs(self) -> frozenset[type[Operation]]:
        """Kinds of operations without which it is nowhere."""
        return needed_kinds(self.before, self.any_order)


def find(rule: Rule, op: Operation) -> Match | None:
    """
    Where the rule may be used with `op` as its last operation.

    What lies between is not used by others, unless the rule says that it may: it would have to be computed as well as
    what replaces it. Nor does it stand in another region: what is computed once does not go into a loop.
    """
    for match in matches(rule.before, op.results[0], rule.any_order, Match()):
        covered = set(match.ops)
        if any(inner.parent is not op.parent for inner in match.ops):
            continue
        if rule.may_share or all(
            use.operation in covered
            for inner in match.ops
            if inner is not op
            for result in inner.results
            for use in result.uses
        ):
            return match
    return None


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _call(function: Callable[..., Any], bound: dict[str, Any]) -> Any:
    return function(*(bound[name] for name in _parameters(function)))


def _holds(when: Condition, bound: dict[str, Any]) -> bool:
    if callable(when):
        return bool(_call(when, bound))
    return all(number_in(each, bound) for each in when)


def replacement(rule: Rule, op: Operation, match: Match) -> tuple[SSAValue, Block] | None:
    """
    What stands for the operation's result and a block with the operations for it; None where the rule does not apply.

    They are made aside first, so that a rule whose result has another type, or one that an operation is not defined
    for, leaves no trace.
    """
    block = Block()
    builder = Builder(InsertPoint.at_end(block))
    bound = {
        name: Expr(cast(SSAValue, value), builder) if isinstance(value, SSAValue) else value
        for name, value in match.bound.items()
    }
    bound["result"] = Expr(op.results[0], builder)
    try:
        if not _holds(rule.when, bound):
            return None
        if isinstance(rule.after, Term):
            value = built(rule.after, bound, builder, Expr(op.results[0], builder)).value
        else:
            value = _call(rule.after, bound).value
        for new in block.ops:
            new.verify_()
    except VerifyException:
        value = None
    if value is None or value.type != op.results[0].type:
        for new in reversed(list(block.ops)):
            block.erase_op(new)
        return None
    return value, block


def use(rule: Rule, op: Operation, match: Match, rewriter: PatternRewriter) -> bool:
    """Use the rule, where its result is of the right type; what nothing needs any more goes."""
    made = replacement(rule, op, match)
    if made is None:
        return False
    value, block = made
    remark(op, f"rewrote {rule}")
    new_ops = list(block.ops)
    for new in new_ops:
        new.detach()
        new.location = op.location
    if value.owner in new_ops and op.results[0].name_hint is not None:
        value.name_hint = op.results[0].name_hint
    operands = list(op.operands)
    rewriter.replace(op, new_ops, [value])
    erase_unused(operands, rewriter)
    return True


def erase_unused(values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase the graph operations that made the values, and what made their operands, where nothing uses them."""
    waiting = list(values)
    while waiting:
        op = waiting.pop().owner
        if not isinstance(op, graph.GraphOp) or op.parent is None or op.has_trait(ConstantLike):
            continue
        if any(result.first_use is not None for result in op.results):
            continue
        waiting += op.operands
        rewriter.erase(op)


class _Table:
    """The first rule that applies to an operation, or else the first pattern that rewrites it."""

    def __init__(self, rules: Sequence[Rule], patterns: Sequence[Pattern]):
        self._rules: defaultdict[type[Operation], list[Rule]] = defaultdict(list)
        for rule in rules:
            for root in rule.roots:
                self._rules[root].append(rule)
        self._patterns = patterns
        self._patterns_of: dict[type[Operation], list[Pattern]] = {}

    def is_root(self, kind: type[Operation]) -> bool:
        return kind in self._rules or bool(self._patterns_at(kind))

    def _patterns_at(self, kind: type[Operation]) -> Sequence[Pattern]:
        found = self._patterns_of.get(kind)
        if found is None:
            found = [pattern for pattern in self._patterns if issubclass(kind, pattern.ROOTS)]
            self._patterns_of[kind] = found
        return found

    def rewrite(self, op: Operation, rewriter: PatternRewriter, kinds: Kinds) -> None:
        """`kinds` are those of the operations that there are."""
        for rule in self._rules.get(type(op), ()):
            match = find(rule, op) if rule.needs <= kinds else None
            if match is not None and use(rule, op, match, rewriter):
                return
        for pattern in self._patterns_at(type(op)):
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


_table = cache(_Table)


def apply_rules(module: ModuleOp, rules: Sequence[Rule], patterns: Sequence[Pattern] = ()) -> None:
    """
    Use the rules, and patterns that no equation can say, until none applies.

    A worklist has the operations that are left to look at: all at which one may begin, and then those that are new or
    whose operands have changed.
    """
    table = _table(tuple(rules), tuple(patterns))
    rewrite_kinds(module, table.rewrite, table.is_root)


@frozen
class EquationsPass(StepwellPass):
    """The base of a pass that uses a table of equations. `fp=strict` leaves all but exact ones unused."""

    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    RULES: ClassVar[tuple[Rule, ...]]
    PATTERNS: ClassVar[tuple[Pattern, ...]] = ()
    """Rewrites that no equation can say, such as those of operations with any number of operands."""

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) != "strict" or self.numerics == "exact":
            apply_rules(op, self.RULES, self.PATTERNS)
