"""
StableHLO and CHLO as JAX prints them: the text, which xDSL does not read. What the operations mean is said where they are
brought in (frontend/stablehlo/).

Syntax as in https://openxla.org/stablehlo/spec. Operations are alike: operands, results, regions, and attributes, which are
read as they come: `name = [0, 1]`, `name = [0] x [1]`, words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    ParametrizedAttribute,
    Region,
    SpacedOpaqueSyntaxAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from .plain_operation import PlainOp

# Attributes


class _NumbersAttr(ParametrizedAttribute):
    """`#stablehlo.gather<offset_dims = [1], index_vector_dim = 1>`: names with a number or a list of numbers."""

    numbers: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def pair() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, _number_or_list(parser)

        pairs = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, pair)
        return [DictionaryAttr(dict(pairs))]

    def print_parameters(self, printer: Printer) -> None:
        parts = [f"{name} = {_plain(value)}" for name, value in self.numbers.data.items()]
        printer.print_string(f"<{', '.join(parts)}>")


@irdl_attr_definition
class GatherAttr(_NumbersAttr):
    """Which axes of a gather mean what."""

    name = "stablehlo.gather"


@irdl_attr_definition
class ScatterAttr(_NumbersAttr):
    """Which axes of a scatter mean what."""

    name = "stablehlo.scatter"


class _WordAttr(Data[str], SpacedOpaqueSyntaxAttribute):
    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@irdl_attr_definition
class PrecisionAttr(_WordAttr):
    """`#stablehlo<precision DEFAULT>`"""

    name = "stablehlo.precision"


@irdl_attr_definition
class DirectionAttr(_WordAttr):
    """`#stablehlo<comparison_direction LT>`"""

    name = "stablehlo.comparison_direction"


def _number_or_list(parser: AttrParser) -> Attribute:
    number = parser.parse_optional_integer()
    if number is not None:
        return IntegerAttr(number, i64)
    items = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _number_or_word(parser)
    )
    return ArrayAttr(items)


def _number_or_word(parser: AttrParser) -> Attribute:
    """An element of a list: a number, a word, or a list of these."""
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return IntegerAttr(number, i64)
    word = parser.parse_optional_identifier()
    return StringAttr(word) if word is not None else _number_or_list(parser)


def _plain(value: Attribute) -> str:
    """A number, a word or a list as the text has it."""
    if isinstance(value, IntegerAttr):
        return str(cast("IntegerAttr[Any]", value).value.data)
    if isinstance(value, ArrayAttr):
        return f"[{', '.join(map(_plain, cast('ArrayAttr[Attribute]', value)))}]"
    return value.data if isinstance(value, StringAttr) else str(value)


# Operations


class HloOp(PlainOp):
    """An operation of StableHLO or CHLO. This base reads `name %a, %b, word, name = [..] {..} : types`."""

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        names: list[UnresolvedOperand] = []
        attributes: dict[str, Attribute] = {}
        words: list[Attribute] = []
        is_enclosed = parser.parse_optional_punctuation("(") is not None  # as of chlo.top_k
        while True:
            if (operand := parser.parse_optional_unresolved_operand()) is not None:
                names.append(operand)
            elif parser.parse_optional_punctuation("[") is not None:
                attributes["slices"] = _slices(parser)
            elif (word := parser.parse_optional_identifier()) is None:
                break
            elif parser.parse_optional_punctuation("=") is not None:
                attributes[word] = _setting(parser)
            else:
                words.append(StringAttr(word))
            parser.parse_optional_punctuation(",")
        if is_enclosed:
            parser.parse_punctuation(")")
        if words:
            attributes["words"] = ArrayAttr(words)
        return cls.with_types(parser, names, attributes)


def _setting(parser: Parser) -> Attribute:
    """What stands behind `=`: a number, a word, a list, `[..] x [..]`, or words with lists in braces."""
    if parser.parse_optional_punctuation("{") is not None:

        def pair() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, _number_or_list(parser)

        pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, pair)
        parser.parse_punctuation("}")
        return DictionaryAttr(dict(pairs))
    word = parser.parse_optional_identifier()
    if word is not None:
        return StringAttr(word)
    value = _number_or_list(parser)
    if parser.parse_optional_keyword("x") is not None:
        return ArrayAttr([value, _number_or_list(parser)])
    return value


def _slices(parser: Parser) -> Attribute:
    """`1:4, 0:5:2]`: from, to, and each how manyth."""

    def one() -> Attribute:
        numbers = [parser.parse_integer()]
        while parser.parse_optional_punctuation(":") is not None:
            numbers.append(parser.parse_integer())
        return ArrayAttr([IntegerAttr(number, i64) for number in numbers])

    if parser.parse_optional_punctuation("]") is not None:
        return ArrayAttr([])
    slices = parser.parse_comma_separated_list(parser.Delimiter.NONE, one)
    parser.parse_punctuation("]")
    return ArrayAttr(slices)


@irdl_op_definition
class ConstantOp(HloOp):
    """`stablehlo.constant dense<1.0> : tensor<f32>`"""

    name = "stablehlo.constant"

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        type_ = getattr(value, "type", None)
        if not isinstance(type_, TensorType):
            parser.raise_error(f"found {value}, expected dense<…> : tensor<…>; mend the constant")
        return cls.made((), (cast(Attribute, type_),), {**attributes, "value": value})


@irdl_op_definition
class ConvolutionOp(HloOp):
    """`stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {…} {…} : …`"""

    name = "stablehlo.convolution"

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        image = _number_or_list(parser)
        parser.parse_keyword("x")
        kernel = _number_or_list(parser)
        parser.parse_punctuation("->")
        layouts = ArrayAttr([image, kernel, _number_or_list(parser)])
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        return cls.with_types(parser, names, {"layouts": layouts, "window": _setting(parser)})


@irdl_op_definition
class CustomCallOp(HloOp):
    """`stablehlo.custom_call @target(%x) {…} : …`, which is read to be refused by its name."""

    name = "stablehlo.custom_call"

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        target = parser.parse_symbol_name()
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        return cls.with_types(parser, names, {"call_target_name": target})


@irdl_op_definition
class ReduceOp(HloOp):
    """`stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : …`, or with a reducer behind."""

    name = "stablehlo.reduce"

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        def pair() -> tuple[UnresolvedOperand, UnresolvedOperand]:
            parser.parse_punctuation("(")
            value = parser.parse_unresolved_operand()
            parser.parse_keyword("init")
            parser.parse_punctuation(":")
            start = parser.parse_unresolved_operand()
            parser.parse_punctuation(")")
            return value, start

        pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, pair)
        attributes: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("applies") is not None:
            attributes["applies"] = StringAttr(parser.parse_identifier())
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        attributes["dimensions"] = _number_or_list(parser)
        names = [value for value, _ in pairs] + [start for _, start in pairs]
        op = cls.with_types(parser, names, attributes)
        if parser.parse_optional_keyword("reducer") is not None:
            op.add_region(_reducer(parser, len(pairs)))
        return op


def _reducer(parser: Parser, count: int) -> Region:
    """`(%a0, %b0) (%a1, %b1) {…}`: the arguments of the region are a0, a1, …, and then b0, b1, …"""
    pairs = [
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        for _ in range(count)
    ]
    return parser.parse_region([pair[0] for pair in pairs] + [pair[1] for pair in pairs])


@irdl_op_definition
class WhileOp(HloOp):
    """`stablehlo.while(%i = %a, …) : types cond {…} do {…}`: both regions take the state."""

    name = "stablehlo.while"

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        def pair() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return argument, parser.parse_unresolved_operand()

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
        position = parser.pos
        types: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation(":") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        state = parser.resolve_operands([operand for _, operand in pairs], types, position)
        regions: list[Region] = []
        for keyword in ("cond", "do"):
            parser.parse_keyword(keyword)
            regions.append(
                parser.parse_region(
                    [
                        argument.resolve(type_)
                        for (argument, _), type_ in zip(pairs, types, strict=True)
                    ]
                )
            )
        return cls.made(state, types, {} if attributes is None else attributes.data, regions)


@irdl_op_definition
class ReturnOp(HloOp):
    """Ends a region with its results."""

    name = "stablehlo.return"
    traits = traits_def(IsTerminator())

    @classmethod
    def types_of(
        cls, parser: Parser, count: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type), ()


_STABLEHLO = [
    "abs",
    "add",
    "and",
    "atan2",
    "broadcast_in_dim",
    "case",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "concatenate",
    "convert",
    "cosine",
    "count_leading_zeros",
    "divide",
    "dot",
    "dot_general",
    "dynamic_slice",
    "dynamic_update_slice",
    "exponential",
    "exponential_minus_one",
    "floor",
    "gather",
    "if",
    "iota",
    "is_finite",
    "log",
    "log_plus_one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "optimization_barrier",
    "or",
    "pad",
    "popcnt",
    "power",
    "real",
    "reduce_precision",
    "reduce_window",
    "remainder",
    "reshape",
    "reverse",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "scatter",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sine",
    "slice",
    "sort",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "transpose",
    "xor",
    "bitcast_convert",
    "rng",
    "rng_bit_generator",
    "batch_norm_inference",
    "select_and_scatter",
]
_CHLO = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cosh",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "digamma",
    "sinh",
    "square",
    "tan",
    "top_k",
]


_PROPERTIES = {
    "gather": "dimension_numbers indices_are_sorted slice_sizes",
    "scatter": "indices_are_sorted scatter_dimension_numbers unique_indices",
    "sort": "dimension is_stable",
    "reduce_window": "base_dilations padding window_dilations window_dimensions window_strides",
}
"""Attributes of the operations that have no text of their own, and are printed as any operation is."""


def _named(name: str) -> type[HloOp]:
    class_name = "".join(word.capitalize() for word in re.split("[._]", name)) + "Op"
    members: dict[str, Any] = {"name": name, "__doc__": f"`{name}`", "__module__": __name__}
    properties = _PROPERTIES.get(name.partition(".")[2], "").split()
    members |= {prop: opt_prop_def(Attribute) for prop in properties}
    return irdl_op_definition(cast("type[HloOp]", type(class_name, (HloOp,), members)))


StableHlo = Dialect(
    "stablehlo",
    [
        *(_named(f"stablehlo.{name}") for name in _STABLEHLO),
        ConstantOp,
        ConvolutionOp,
        CustomCallOp,
        ReduceOp,
        WhileOp,
        ReturnOp,
    ],
    [GatherAttr, ScatterAttr, PrecisionAttr, DirectionAttr],
)
Chlo = Dialect("chlo", [_named(f"chlo.{name}") for name in _CHLO], [])
