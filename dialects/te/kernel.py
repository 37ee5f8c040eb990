"""`te.kernel`: computes that become one native function."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    MemoryEffect,
    MemoryEffectKind,
)
from xdsl.utils.exceptions import VerifyException

from ..by_position import by_position
from ..leaf_operations import fill, operand_segments
from ..shaped import is_tensor, memref_type
from .compute import ComputeOp
from .terms import YieldOp
from .text import types_text


class _KernelEffects(MemoryEffect):
    """A kernel over tensors has none; one over buffers reads its inputs and writes its destinations."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, KernelOp)
        reads = (value for value in op.inputs if isinstance(value.type, MemRefType))
        return {
            *(EffectInstance(MemoryEffectKind.READ, value) for value in reads),
            *(EffectInstance(MemoryEffectKind.WRITE, value) for value in op.destinations),
        }


@by_position
@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    Groups computes that become one native function.

        %r = te.kernel "softmax" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> { ... te.yield %v : ... }

    After te-bufferize it reads buffers and writes its results into buffers. The body still sees tensors: what the
    inputs hold before anything is written.

        te.kernel "softmax" (%a = %x) into (%y) : (memref<4xf32>) -> memref<4xf32> { ... te.yield %v : ... }

    A buffer that is an input and a destination is updated in place. `te.kernel inline` is no function of its own:
    its computes stand in the function around it.
    """

    name = "te.kernel"

    inputs = var_operand_def()
    destinations = var_operand_def(MemRefType.constr())
    kernel_name = prop_def(StringAttr)
    inline = opt_prop_def(UnitAttr)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_KernelEffects(), IsolatedFromAbove())

    def __init__(
        self,
        kernel_name: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
        *,
        destinations: Sequence[SSAValue] = (),
        inline: bool = False,
    ):
        """With `destinations` there are no results: `result_types` are then empty."""
        properties: dict[str, Attribute] = {"kernel_name": StringAttr(kernel_name)}
        if inline:
            properties["inline"] = UnitAttr()
        properties["operandSegmentSizes"] = operand_segments(len(inputs), len(destinations))
        fill(self, (*inputs, *destinations), result_types, properties)
        self.add_region(body)

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp)
        return tuple(terminator.values)

    def verify_(self) -> None:
        if self.destinations and self.outputs:
            raise VerifyException(
                f"found {len(self.destinations)} destinations and {len(self.outputs)} results, expected one "
                "or the other; results that are written to buffers are no values"
            )
        found = [arg.type for arg in self.body.block.args]
        expected = [_as_tensor(value) for value in self.inputs]
        if found != expected:
            raise VerifyException(
                f"found a body that takes ({types_text(found)}), expected ({types_text(expected)}), the "
                "types of the inputs; make them agree"
            )
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException("found a body without te.yield, expected it at the end; add it")
        types = [value.type for value in terminator.values]
        results = [_as_tensor(value) for value in (*self.outputs, *self.destinations)]
        if types != results:
            raise VerifyException(
                f"found a body that yields ({types_text(types)}), expected ({types_text(results)}), the "
                "types of the results; make them agree"
            )
        if len(set(self.destinations)) < len(self.destinations):
            raise VerifyException(
                "found a buffer twice among the destinations, expected each once; give each result its own"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" inline " if self.inline is not None else " ")
        printer.print_string_literal(self.kernel_name.data)
        printer.print_string(" ")
        # The operands belong to the scope around, the arguments to the kernel's own.
        with printer.in_parens():
            printer.print_list(
                zip(self.body.block.args, self.inputs, strict=True),
                lambda pair: _print_binding(printer, *pair),
            )
        if self.destinations:
            printer.print_string(" into ")
            with printer.in_parens():
                printer.print_list(self.destinations, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_function_type(
            [value.type for value in self.inputs],
            [value.type for value in (*self.outputs, *self.destinations)],
        )
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        inline = parser.parse_optional_keyword("inline") is not None
        kernel_name = parser.parse_str_literal()

        def parse_binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            arg = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return arg, parser.parse_unresolved_operand()

        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_binding)
        into: list[UnresolvedOperand] | None = None
        if parser.parse_optional_keyword("into") is not None:
            into = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_unresolved_operand
            )
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
        results = function_type.outputs.data
        if into is not None and len(into) != len(results):
            parser.raise_error(
                f"found {len(results)} result types, expected {len(into)}, one for each destination; "
                "make them agree",
                position,
            )
        destinations = parser.resolve_operands(into or [], results if into else [], position)
        args = [
            arg.resolve(_as_tensor(value)) for (arg, _), value in zip(bindings, inputs, strict=True)
        ]
        body = parser.parse_region(args)
        op = cls(
            kernel_name,
            inputs,
            () if into is not None else results,
            body,
            destinations=destinations,
            inline=inline,
        )
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def _as_tensor(value: SSAValue) -> Attribute:
    """What the body sees of an input or gives for a destination: a buffer's elements, as a tensor."""
    if not isinstance(value.type, MemRefType):
        return value.type
    type_ = memref_type(value)
    return TensorType(type_.get_element_type(), type_.get_shape())


def _print_binding(printer: Printer, arg: SSAValue, value: SSAValue) -> None:
    printer.print_ssa_value(arg)
    printer.print_string(" = ")
    printer.print_ssa_value(value)


def tensor_constants(block: Block) -> list[arith.ConstantOp]:
    """The constant tensors that a kernel's body makes, in order: te-bufferize makes them inputs, after the others."""
    return [op for op in block.ops if isinstance(op, arith.ConstantOp) and is_tensor(op.result)]


def reads_padding(block: Block) -> bool:
    """Whether a compute of a kernel's body says what it reads where a map leaves the tensor."""
    computes = (op for op in block.ops if isinstance(op, ComputeOp))
    return any(read.pad is not None for op in computes for read in op.reads)
