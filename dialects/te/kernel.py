"""`te.kernel`: computes that become one native function."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from .compute import YieldOp
from .text import types_text


@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    Groups computes that become one native function.

        %r = te.kernel "softmax" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> { ... te.yield %v : ... }
    """

    name = "te.kernel"

    inputs = var_operand_def()
    kernel_name = prop_def(StringAttr)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        kernel_name: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
    ):
        super().__init__(
            operands=[inputs],
            properties={"kernel_name": StringAttr(kernel_name)},
            result_types=[result_types],
            regions=[body],
        )

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp)
        return tuple(terminator.values)

    def verify_(self) -> None:
        found = [arg.type for arg in self.body.block.args]
        expected = [value.type for value in self.inputs]
        if found != expected:
            raise VerifyException(
                f"found a body that takes ({types_text(found)}), expected ({types_text(expected)}), the "
                "types of the inputs; make them agree"
            )
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException("found a body without te.yield, expected it at the end; add it")
        types = [value.type for value in terminator.values]
        results = [value.type for value in self.outputs]
        if types != results:
            raise VerifyException(
                f"found a body that yields ({types_text(types)}), expected ({types_text(results)}), the "
                "types of the results; make them agree"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.kernel_name.data)
        printer.print_string(" ")
        # The operands belong to the scope around, the arguments to the kernel's own.
        with printer.in_parens():
            printer.print_list(
                zip(self.body.block.args, self.inputs, strict=True),
                lambda pair: _print_binding(printer, *pair),
            )
        printer.print_string(" : ")
        printer.print_function_type(
            [value.type for value in self.inputs], [value.type for value in self.outputs]
        )
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        kernel_name = parser.parse_str_literal()

        def parse_binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            arg = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return arg, parser.parse_unresolved_operand()

        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_binding)
        parser.parse_punctuation(":")
        position = parser.pos
        function_type = parser.parse_function_type()
        types = function_type.inputs.data
        if len(types) != len(bindings):
            parser.raise_error(
                f"found {len(types)} input types, expected {len(bindings)}, one for each input; "
                "make them agree",
                position,
            )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        inputs = parser.resolve_operands([source for _, source in bindings], types, position)
        args = [arg.resolve(type_) for (arg, _), type_ in zip(bindings, types, strict=True)]
        body = parser.parse_region(args)
        op = cls(kernel_name, inputs, function_type.outputs.data, body)
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def _print_binding(printer: Printer, arg: SSAValue, value: SSAValue) -> None:
    printer.print_ssa_value(arg)
    printer.print_string(" = ")
    printer.print_ssa_value(value)
