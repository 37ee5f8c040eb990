"""`te.loops`: tensors defined by loops over buffers, for what has no definition element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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

from .. import loop
from ..by_position import by_position
from ..shaped import Buffer, Tensor, is_tensor, tensor_type
from .terms import YieldOp
from .text import types_text


def buffer_of(type_: Tensor) -> Buffer:
    """The type of a buffer with a tensor's elements."""
    return MemRefType(type_.get_element_type(), type_.get_shape())


_Binding: TypeAlias = "tuple[Parser.UnresolvedArgument, UnresolvedOperand | None]"
"""A buffer's name in the body, and the tensor it has the elements of."""


@by_position
@irdl_op_definition
class LoopsOp(IRDLOperation):
    """
    Defines tensors by loops that write buffers: a scan, a sort, a scatter.

        %y = te.loops "scatter" (%i = %indices) -> (%out = %x) : (tensor<4xi64>) -> tensor<9xf32> { loop.store … }

    The block has a buffer for each operand, which it only reads, and one for each result, whose elements it writes. The
    first results may be given what they start with: the tensors `inits`, in destination-passing style, so that a tensor
    that nothing else needs is updated in its place. The elements of other results are undefined before they are
    written, and all are to be. Passes on te take the loops as they are; te → loop writes them out.
    """

    name = "te.loops"

    sources = var_operand_def(TensorType.constr())
    inits = var_operand_def(TensorType.constr())
    loops_name = prop_def(StringAttr)
    outputs = var_result_def(TensorType.constr())
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        loops_name: str,
        sources: Sequence[SSAValue],
        inits: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
    ):
        """`body` has one block, whose arguments are buffers for the sources and the results, and ends in `te.yield`."""
        super().__init__(
            operands=[sources, inits],
            properties={"loops_name": StringAttr(loops_name)},
            result_types=[result_types],
            regions=[body],
        )

    @property
    def source_args(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[: len(self.sources)])

    @property
    def output_args(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[len(self.sources) :])

    def verify_(self) -> None:
        if not self.outputs:
            raise VerifyException("found no result, expected at least one; add what is computed")
        starts, ends = self.inits.types, self.outputs.types
        if tuple(starts) != tuple(ends[: len(starts)]):
            raise VerifyException(
                f"found ({types_text(starts)}) to start from for results ({types_text(ends)}), expected the types of "
                "the first results; make them agree"
            )
        expected = [buffer_of(tensor_type(v)) for v in (*self.sources, *self.outputs)]
        found = [arg.type for arg in self.body.block.args]
        if found != expected:
            raise VerifyException(
                f"found a body that takes ({types_text(found)}), expected ({types_text(expected)}): buffers for what "
                "is read and for the results; mend its arguments"
            )
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp) or terminator.values:
            raise VerifyException("found no plain te.yield, expected one at the end; add it")
        self._verify_body()

    def _verify_body(self) -> None:
        for op in self.body.walk():
            if any(is_tensor(value) for value in (*op.operands, *op.results)):
                raise VerifyException(
                    f"found '{op.name}' on tensors inside of loops, expected buffers; load and store elements"
                )
            stored = op.buffer if isinstance(op, loop.StoreOp) else None
            stored = op.memref if isinstance(op, memref.StoreOp) else stored
            if stored is not None and stored in self.source_args:
                raise VerifyException(
                    f"found a store to %{stored.name_hint or 'an operand'}, which is only read, expected one to a "
                    "result; give it a result that starts with the operand"
                )

    # Text.

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.loops_name.data)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                zip(self.source_args, self.sources, strict=True),
                lambda pair: _print_binding(printer, *pair),
            )
        printer.print_string(" -> ")
        starts = [*self.inits, *[None] * (len(self.outputs) - len(self.inits))]
        with printer.in_parens():
            printer.print_list(
                zip(self.output_args, starts, strict=True),
                lambda pair: _print_binding(printer, *pair),
            )
        printer.print_string(" : ")
        printer.print_function_type(self.sources.types, self.outputs.types)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(
            self.body,
            print_entry_block_args=False,
            print_empty_block=False,
            print_block_terminators=False,
        )

    @classmethod
    def parse(cls, parser: Parser) -> LoopsOp:
        name = parser.parse_str_literal()

        def parse_binding() -> _Binding:
            arg = parser.parse_argument(expect_type=False)
            if parser.parse_optional_punctuation("=") is None:
                return arg, None
            return arg, parser.parse_unresolved_operand()

        read = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_binding)
        parser.parse_punctuation("->")
        written = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_binding)
        parser.parse_punctuation(":")
        position = parser.pos
        type_ = parser.parse_function_type()
        inputs, outputs = type_.inputs.data, type_.outputs.data
        sources = [source for _, source in read if source is not None]
        starts = [start for _, start in written if start is not None]
        if len(sources) != len(read) or any(s is None for _, s in written[: len(starts)]):
            parser.raise_error(
                "found an operand without a value, expected '%name = %value' for each, and results that start with "
                "a value before the others",
                position,
            )
        if (len(inputs), len(outputs)) != (len(read), len(written)):
            parser.raise_error(
                f"found {len(inputs)} operand and {len(outputs)} result types, expected {len(read)} and "
                f"{len(written)}; give one for each",
                position,
            )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        args: list[Parser.Argument] = []
        for (arg, _), each in zip((*read, *written), (*inputs, *outputs), strict=True):
            if not isinstance(each, TensorType):
                parser.raise_error(f"found the type {each}, expected a tensor; mend it", position)
            args.append(arg.resolve(buffer_of(cast(Tensor, each))))
        region = parser.parse_region(args)
        if not isinstance(region.block.last_op, YieldOp):
            region.block.add_op(YieldOp())
        op = cls(
            name,
            parser.resolve_operands(sources, inputs, position),
            parser.resolve_operands(starts, outputs[: len(starts)], position),
            outputs,
            region,
        )
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def _print_binding(printer: Printer, arg: SSAValue, value: SSAValue | None) -> None:
    printer.print_ssa_value(arg)
    if value is not None:
        printer.print_string(" = ")
        printer.print_ssa_value(value)
