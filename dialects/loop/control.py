"""`loop.for`, `loop.if` and the `loop.yield` that ends their regions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineMap,
    AffineSet,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..affine_atoms import constant_expr
from ..affine_substitution import value_at
from ..affine_text import ValueSpace, compact, print_affine, print_affine_list
from ..by_position import by_position
from ..int64 import is_int64
from ..leaf_operations import (
    append_leaf,
    block_with,
    fill,
    first_argument,
    map_attribute,
    map_of,
    operand_segments,
    region_of,
    set_name,
)
from .access import Index, bound, verify_affine, verify_map
from .attributes import (
    LoopKind,
    LoopKindAttr,
    RunMode,
    RunModeAttr,
    kind_attribute,
    mode_attribute,
)


@by_position
@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a loop body, or a branch of `loop.if` with its values. Not printed without values."""

    name = "loop.yield"

    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ForOp, IfOp), Pure()))
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        fill(self, [SSAValue.get(value) for value in values])


@lru_cache(maxsize=64)
def step_attribute(step: int) -> IntegerAttr[IndexType]:
    """The property that says in which steps a loop counts."""
    return IntegerAttr(step, IndexType())


@lru_cache(maxsize=1024)
def _name(name: str) -> StringAttr:
    return StringAttr(name)


@lru_cache(maxsize=1024)
def _hint(name: str) -> str | None:
    """What the variable of a loop is called in the text."""
    return SSAValue.extract_valid_name(name.replace(".", "_"))


_INDEX = IndexType()


@by_position
@irdl_op_definition
class ForOp(IRDLOperation):
    """
    Runs its body for `max(lower) <= iv < min(upper)` in steps of `step`.

    No iteration runs when the range is empty. Names are unique among the loops around each other.
    """

    name = "loop.for"

    lower_operands = var_operand_def(IndexType())
    upper_operands = var_operand_def(IndexType())
    loop_name = prop_def(StringAttr)
    kind = prop_def(LoopKindAttr)
    mode = opt_prop_def(RunModeAttr)
    lower_map = prop_def(AffineMapAttr)
    upper_map = prop_def(AffineMapAttr)
    step = prop_def(IntegerAttr.constr(IndexType()))
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        loop_name: str,
        lower: Index | tuple[AffineMap, Sequence[SSAValue]],
        upper: Index | tuple[AffineMap, Sequence[SSAValue]],
        body: Region | None = None,
        *,
        step: int = 1,
        kind: LoopKind = LoopKind.SERIAL,
        mode: RunMode | None = None,
    ):
        """Without `body` an empty one is made, whose variable is called as the loop."""
        if body is None:
            block = block_with([_INDEX])
            append_leaf(block, YieldOp())
            set_name(block.args[0], _hint(loop_name))
            body = region_of(block)
        lower_map, lower_operands = bound(lower)
        upper_map, upper_operands = bound(upper)
        properties: dict[str, Attribute] = {
            "loop_name": _name(loop_name),
            "kind": kind_attribute(kind),
            "lower_map": map_attribute(lower_map),
            "upper_map": map_attribute(upper_map),
            "step": step_attribute(step),
            "operandSegmentSizes": operand_segments(len(lower_operands), len(upper_operands)),
        }
        if mode is not None:
            properties["mode"] = mode_attribute(mode)
        # Steps make loops by the thousand: IRDL's own constructor, which sorts operands out, takes ten times as long.
        fill(self, (*lower_operands, *upper_operands), (), properties)
        self.add_region(body)

    @property
    def induction_variable(self) -> SSAValue:
        return first_argument(self)

    def constant_trip_count(self) -> int | None:
        """The number of iterations when both bounds are numbers, else None."""
        lower, upper = map_of(self, "lower_map"), map_of(self, "upper_map")
        if lower.num_dims or upper.num_dims:
            return None
        low = max([value_at(expr, ()) for expr in lower.results])
        high = min([value_at(expr, ()) for expr in upper.results])
        return max(0, -(-(high - low) // self.step.value.data))

    def greatest_trip_count(self) -> int | None:
        """The most iterations there can be, when a number among the bounds says so, else None."""
        lows = [e.value for e in self.lower_map.data.results if isinstance(e, AffineConstantExpr)]
        highs = [e.value for e in self.upper_map.data.results if isinstance(e, AffineConstantExpr)]
        if not lows or not highs:
            return None
        return max(0, -(-(min(highs) - max(lows)) // self.step.value.data))

    def verify_(self) -> None:
        verify_map("lower bound", self.lower_map.data, self.lower_operands)
        verify_map("upper bound", self.upper_map.data, self.upper_operands)
        if not self.lower_map.data.results or not self.upper_map.data.results:
            raise VerifyException("found no bound, expected a lower and an upper one; add it")
        if self.step.value.data < 1:
            raise VerifyException(
                f"found step {self.step.value.data}, expected at least 1; mend it"
            )
        if not is_int64(self.step.value.data):
            raise VerifyException(
                f"found step {self.step.value.data}, expected one of at most 64 bits; mend it"
            )
        if tuple(self.body.block.arg_types) != (IndexType(),):
            raise VerifyException(
                f"found a body of {len(self.body.block.args)} arguments, expected one of type index, "
                "the loop variable; mend them"
            )
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp) or terminator.values:
            raise VerifyException(
                "found no plain loop.yield, expected one at the end of the body; add it"
            )
        self._verify_name()

    def _verify_name(self) -> None:
        around = self.parent_op()
        while around is not None:
            if isinstance(around, ForOp) and around.loop_name == self.loop_name:
                raise VerifyException(
                    f'found loop "{self.loop_name.data}" inside another of that name, expected '
                    "another name: schedules address loops by name; rename one"
                )
            around = around.parent_op()

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data.value} ")
        if self.mode is not None:
            printer.print_string(f"{self.mode.data.value} ")
        printer.print_string_literal(self.loop_name.data)
        printer.print_string(" ")
        printer.print_ssa_value(self.induction_variable)
        printer.print_string(" = ")
        _print_bound(printer, "max", self.lower_map.data, self.lower_operands)
        printer.print_string(" to ")
        _print_bound(printer, "min", self.upper_map.data, self.upper_operands)
        if self.step.value.data != 1:
            printer.print_string(f" step {self.step.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(
            self.body,
            print_entry_block_args=False,
            print_empty_block=False,
            print_block_terminators=False,
        )

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        kind = parser.parse_str_enum(LoopKind)
        mode = next((m for m in RunMode if parser.parse_optional_keyword(m.value)), None)
        loop_name = parser.parse_str_literal()
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = _parse_bound(parser, "max")
        parser.parse_keyword("to")
        upper = _parse_bound(parser, "min")
        step = 1
        if parser.parse_optional_keyword("step") is not None:
            step = parser.parse_integer(allow_boolean=False)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([variable.resolve(IndexType())])
        _end_with_yield(body)
        op = cls(loop_name, lower, upper, body, step=step, kind=kind, mode=mode)
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def is_surely_run(op: Operation) -> bool:
    """Whether the operation runs whenever its function does: under loops that are not empty, and no if."""
    around = op.parent_op()
    while isinstance(around, ForOp) and around.constant_trip_count():
        around = around.parent_op()
    return around is None or around.has_trait(IsolatedFromAbove)


def _end_with_yield(region: Region) -> None:
    if not region.blocks:
        region.add_block(Block())
    last = region.block.last_op
    if last is None or not last.has_trait(IsTerminator):
        region.block.add_op(YieldOp())


def _print_bound(
    printer: Printer, join: str, map_: AffineMap, operands: Sequence[SSAValue]
) -> None:
    if len(map_.results) == 1:
        print_affine(printer, map_.results[0], operands)
        return
    printer.print_string(join)
    with printer.in_parens():
        print_affine_list(printer, map_.results, operands)


def _parse_bound(parser: Parser, join: str) -> tuple[AffineMap, list[SSAValue]]:
    space = ValueSpace(parser)
    if parser.parse_optional_keyword(join) is not None:
        exprs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, space.expr)
    else:
        exprs = [space.expr()]
    return space.map(exprs), space.operands()


@by_position
@irdl_op_definition
class IfOp(IRDLOperation):
    """
    Runs one of two branches by an affine condition, all of whose constraints must hold.

        %v = loop.if (%i - 1 >= 0, %i - 65 <= 0) -> (f32) { ... loop.yield %a : f32 } else { ... }
    """

    name = "loop.if"

    condition_operands = var_operand_def(IndexType())
    condition = prop_def(AffineSetAttr)
    outputs = var_result_def()
    then_region = region_def("single_block")
    else_region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        constraints: Sequence[AffineConstraintExpr],
        operands: Sequence[SSAValue],
        then_region: Region,
        else_region: Region | None = None,
        result_types: Sequence[Attribute] = (),
    ):
        """`constraints` are over `operands`; they are kept as comparisons with zero."""
        differences = [constraint.lhs - constraint.rhs for constraint in constraints]
        exprs, values = compact(differences, operands)
        zero = constant_expr(0)
        normal = tuple(
            AffineConstraintExpr(constraint.kind, expr, zero, canonicalize=False)
            for constraint, expr in zip(constraints, exprs, strict=True)
        )
        condition = AffineSetAttr(AffineSet(len(values), 0, normal))
        fill(self, values, result_types, {"condition": condition})
        self.add_region(then_region)
        self.add_region(Region() if else_region is None else else_region)

    def verify_(self) -> None:
        self._verify_condition()
        if self.outputs and not self.else_region.blocks:
            raise VerifyException("found results without an else branch, expected one; add it")
        for region in self.regions:
            if region.blocks:
                self._verify_branch(region.block)

    def _verify_condition(self) -> None:
        condition = self.condition.data
        if condition.num_symbols or condition.num_dims != len(self.condition_operands):
            raise VerifyException(
                f"found condition {condition}, expected one dimension for each of its "
                f"{len(self.condition_operands)} operands and no symbols; mend it"
            )
        if not condition.constraints:
            raise VerifyException("found an empty condition, expected a constraint; add one")
        for constraint in condition.constraints:
            verify_affine("condition", constraint.lhs)
            if constraint.rhs != constant_expr(0):
                raise VerifyException(
                    f"found {constraint}, expected a comparison with 0; subtract its right side"
                )

    def _verify_branch(self, block: Block) -> None:
        if block.args:
            raise VerifyException("found a branch with arguments, expected none; drop them")
        terminator = block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException(
                "found a branch without loop.yield, expected it at the end; add it"
            )
        found, expected = list(terminator.operand_types), list(self.outputs.types)
        if found != expected:
            raise VerifyException(
                f"found a branch that yields ({', '.join(map(str, found))}), expected "
                f"({', '.join(map(str, expected))}), the result types; make them agree"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                self.condition.data.constraints,
                lambda constraint: _print_constraint(
                    printer, constraint, tuple(self.condition_operands)
                ),
            )
        if self.outputs:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.outputs.types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        with_yield = bool(self.outputs)
        printer.print_region(self.then_region, print_block_terminators=with_yield)
        if self.else_region.blocks:
            printer.print_string(" else ")
            printer.print_region(self.else_region, print_block_terminators=with_yield)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        space = ValueSpace(parser)
        constraints = parser.parse_comma_separated_list(parser.Delimiter.PAREN, space.constraint)
        types: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        then_region = parser.parse_region()
        _end_with_yield(then_region)
        else_region = None
        if parser.parse_optional_keyword("else") is not None:
            else_region = parser.parse_region()
            _end_with_yield(else_region)
        op = cls(constraints, space.operands(), then_region, else_region, types)
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def _print_constraint(
    printer: Printer, constraint: AffineConstraintExpr, operands: Sequence[SSAValue]
) -> None:
    print_affine(printer, constraint.lhs, operands)
    printer.print_string(f" {constraint.kind.value} 0")
