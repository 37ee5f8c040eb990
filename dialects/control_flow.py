"""
Control flow over tensors, as the graph level and te both have it: operations whose regions are run step by step.

A region may use the values around it. A level's operation is one of the bases here with the level's name.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .shaped import Tensor, is_tensor, tensor_type

FLAG = TensorType(i1, ())
"""The type of a condition."""


class ControlFlow(IRDLOperation, ABC):
    """An operation on tensors that runs its regions, each of which ends with the values that it gives."""

    outputs = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())

    @staticmethod
    def yielded(block: Block) -> Sequence[SSAValue]:
        """What a region's block gives."""
        terminator = block.last_op
        assert terminator is not None
        return terminator.operands

    def verify_(self) -> None:
        for value in (*self.operands, *self.outputs):
            if not is_tensor(value):
                raise VerifyException(
                    f"found a value of type {value.type}, expected a ranked tensor; {self.name} takes no others"
                )

    def _verify_block(
        self, block: Block, arguments: Sequence[Attribute], yielded: Sequence[Attribute]
    ) -> None:
        """Check what the block takes and gives."""
        if list(block.arg_types) != list(arguments):
            raise VerifyException(
                f"found a body that takes ({_types_text(block.arg_types)}), expected "
                f"({_types_text(arguments)}); make them agree"
            )
        found = [value.type for value in self.yielded(block)]
        if found != list(yielded):
            raise VerifyException(
                f"found a body that yields ({_types_text(found)}), expected ({_types_text(yielded)}); "
                "make them agree"
            )


class Scan(ControlFlow, ABC):
    """
    Runs its body once for each index of the leading axis of some tensors, with state carried from step to step.

        %last, %ys = graph.scan 7 carry (%h = %h0) over (%x = %xs)
            : (tensor<2xf32>, tensor<7x4xf32>) -> (tensor<2xf32>, tensor<7x2xf32>) {
          ...
          graph.yield %next, %y : tensor<2xf32>, tensor<2xf32>
        }

    Step t is given `xs[t]`. The body yields the next state, then one tensor for each result behind the last states;
    these are stacked along a leading axis. `reverse` runs from the last index to the first: what step t gives is at t.
    """

    carried = var_operand_def()
    sequences = var_operand_def()
    steps = prop_def(IntegerAttr.constr(i64))
    reverse = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        steps: int,
        carried: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        body: Region,
        *,
        reverse: bool = False,
    ):
        given = self.yielded(body.block)
        super().__init__(
            operands=[carried, sequences],
            properties={
                "steps": IntegerAttr(steps, i64),
                "reverse": UnitAttr() if reverse else None,
            },
            result_types=[
                [
                    *(value.type for value in carried),
                    *(stacked_type(steps, tensor_type(v)) for v in given[len(carried) :]),
                ]
            ],
            regions=[body],
        )

    @property
    def last(self) -> Sequence[SSAValue]:
        """The results that are the state after the last step."""
        return self.outputs[: len(self.carried)]

    @property
    def stacked(self) -> Sequence[SSAValue]:
        """The results with one tensor for each step."""
        return self.outputs[len(self.carried) :]

    @property
    def indices(self) -> range:
        """The indices of the leading axis, in the order of the steps."""
        steps = range(self.steps.value.data)
        return steps[::-1] if self.reverse is not None else steps

    def verify_(self) -> None:
        super().verify_()
        steps = self.steps.value.data
        if steps < 0:
            raise VerifyException(f"found {steps} steps, expected none below 0; mend the number")
        for value in self.sequences:
            shape = tensor_type(value).get_shape()
            if not shape or shape[0] != steps:
                raise VerifyException(
                    f"found {value.type} to scan over in {steps} steps, expected a leading axis of {steps}; "
                    "make them agree"
                )
        states = [value.type for value in self.carried]
        if len(self.outputs) < len(states):
            raise VerifyException(
                f"found {len(self.outputs)} results, expected at least {len(states)}, the last state; "
                "name them all"
            )
        slices = [slice_type(tensor_type(value)) for value in self.sequences]
        given = [slice_type(tensor_type(value)) for value in self.stacked]
        self._verify_block(self.body.block, [*states, *slices], [*states, *given])
        results = [*states, *(stacked_type(steps, type_) for type_ in given)]
        if list(self.outputs.types) != results:
            raise VerifyException(
                f"found results ({_types_text(self.outputs.types)}), expected ({_types_text(results)}); "
                "make them agree"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.steps.value.data}")
        if self.reverse is not None:
            printer.print_string(" reverse")
        args = self.body.block.args
        count = len(self.carried)
        _print_bindings(printer, " carry ", args[:count], self.carried)
        _print_bindings(printer, " over ", args[count:], self.sequences)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.outputs.types)
        _print_body(printer, self, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        steps = parser.parse_integer(allow_boolean=False)
        reverse = parser.parse_optional_keyword("reverse") is not None
        carried = _parse_bindings(parser, "carry")
        bindings = [*carried, *_parse_bindings(parser, "over")]
        parser.parse_punctuation(":")
        position = parser.pos
        type_ = parser.parse_function_type()
        operands = _resolved(parser, [op for _, op in bindings], type_.inputs.data, position)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        types = [*type_.inputs.data[: len(carried)]]
        types += [
            slice_type(cast(Tensor, t)) if isinstance(t, TensorType) else t
            for t in type_.inputs.data[len(carried) :]
        ]
        body = _parse_body(parser, bindings, types)
        op = cls.create(
            operands=operands,
            result_types=type_.outputs.data,
            properties={"steps": IntegerAttr(steps, i64)},
            attributes={} if attributes is None else attributes.data,
            regions=[body],
        )
        _set_segments(op, len(carried), len(bindings) - len(carried))
        if reverse:
            op.reverse = UnitAttr()
        return op


class While(ControlFlow, ABC):
    """
    Runs its body as long as a flag holds; the body gives the next flag and the next state.

        %n = graph.while %go carry (%k = %k0) : (tensor<i1>, tensor<i64>) -> tensor<i64> {
          ...
          graph.yield %again, %next : tensor<i1>, tensor<i64>
        }
    """

    condition = operand_def()
    carried = var_operand_def()
    body = region_def("single_block")

    def __init__(self, condition: SSAValue, carried: Sequence[SSAValue], body: Region):
        super().__init__(
            operands=[condition, carried],
            result_types=[[value.type for value in carried]],
            regions=[body],
        )

    def verify_(self) -> None:
        super().verify_()
        _verify_flag(self.condition)
        states = [value.type for value in self.carried]
        self._verify_block(self.body.block, states, [FLAG, *states])
        if list(self.outputs.types) != states:
            raise VerifyException(
                f"found results ({_types_text(self.outputs.types)}), expected ({_types_text(states)}), the "
                "types of the state; make them agree"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        _print_bindings(printer, " carry ", self.body.block.args, self.carried)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.outputs.types)
        _print_body(printer, self, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        bindings = _parse_bindings(parser, "carry")
        parser.parse_punctuation(":")
        position = parser.pos
        type_ = parser.parse_function_type()
        operands = _resolved(
            parser, [condition, *(op for _, op in bindings)], type_.inputs.data, position
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = _parse_body(parser, bindings, type_.inputs.data[1:])
        return cls.create(
            operands=operands,
            result_types=type_.outputs.data,
            attributes={} if attributes is None else attributes.data,
            regions=[body],
        )


class If(ControlFlow, ABC):
    """
    Runs the one region or the other; both give values of the results' types.

        %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
          graph.yield %a : tensor<4xf32>
        } else {
          graph.yield %b : tensor<4xf32>
        }
    """

    condition = operand_def()
    then = region_def("single_block")
    otherwise = region_def("single_block")

    assembly_format = (
        "$condition attr-dict `:` type($condition) `->` type($outputs) $then `else` $otherwise"
    )

    def __init__(self, condition: SSAValue, then: Region, otherwise: Region):
        types = [value.type for value in self.yielded(then.block)]
        super().__init__(operands=[condition], result_types=[types], regions=[then, otherwise])

    def verify_(self) -> None:
        super().verify_()
        _verify_flag(self.condition)
        for region in (self.then, self.otherwise):
            self._verify_block(region.block, [], self.outputs.types)


def slice_type(type_: Tensor) -> Tensor:
    """The type of what lies at one index of the leading axis."""
    return TensorType(type_.get_element_type(), type_.get_shape()[1:])


def stacked_type(count: int, type_: Tensor) -> Tensor:
    """The type of so many tensors along a new leading axis."""
    return TensorType(type_.get_element_type(), (count, *type_.get_shape()))


def _verify_flag(condition: SSAValue) -> None:
    if condition.type != FLAG:
        raise VerifyException(
            f"found a condition of type {condition.type}, expected {FLAG}; compare, and reduce to one element"
        )


def _types_text(types: Sequence[Attribute]) -> str:
    return ", ".join(str(type_) for type_ in types)


def _set_segments(op: Operation, *sizes: int) -> None:
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)


# The text: `(%inside = %outside, ...)`.

_Binding = tuple[Parser.UnresolvedArgument, UnresolvedOperand]


def _print_bindings(
    printer: Printer, words: str, args: Sequence[SSAValue], operands: Sequence[SSAValue]
) -> None:
    def print_one(pair: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        printer.print_ssa_value(pair[1])

    if operands:
        printer.print_string(words)
        with printer.in_parens():
            printer.print_list(zip(args, operands, strict=True), print_one)


def _print_body(printer: Printer, op: Operation, body: Region) -> None:
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(body, print_entry_block_args=False, print_empty_block=False)


def _parse_bindings(parser: Parser, word: str) -> list[_Binding]:
    def parse_one() -> _Binding:
        arg = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return arg, parser.parse_unresolved_operand()

    if parser.parse_optional_keyword(word) is None:
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)


def _resolved(
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    types: Sequence[Attribute],
    position: int,
) -> Sequence[SSAValue]:
    if len(types) != len(operands):
        parser.raise_error(
            f"found {len(types)} operand types, expected {len(operands)}, one for each operand; make them agree",
            position,
        )
    return parser.resolve_operands(operands, types, position)


def _parse_body(parser: Parser, bindings: Sequence[_Binding], types: Sequence[Attribute]) -> Region:
    args = [arg.resolve(type_) for (arg, _), type_ in zip(bindings, types, strict=True)]
    return parser.parse_region(args)
