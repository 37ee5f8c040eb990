"""
TOSA 1.0 as mlir-opt prints it: xDSL's dialect, with the operations it lacks or reads in part only.

xDSL's matmul, mul and argument constraints leave out what the specification allows (batches, results of a wider type,
words such as `nan_mode = IGNORE`, constants in resources). What the operations mean is said in frontend/tosa/.
Specification: https://www.mlplatform.org/tosa/tosa_spec.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import tosa
from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from .extended import extended
from .plain_operation import PlainOp


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """`!tosa.shape<4>`: so many extents, known before the program runs."""

    name = "tosa.shape"
    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.rank.data}>")


class ResizeMode(StrEnum):
    """How `tosa.resize` makes an element of those around it."""

    NEAREST_NEIGHBOR = "NEAREST_NEIGHBOR"
    BILINEAR = "BILINEAR"


@irdl_attr_definition
class ResizeModeAttr(EnumAttribute[ResizeMode]):
    """`#tosa.resize_mode<BILINEAR>`"""

    name = "tosa.resize_mode"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResizeMode:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ResizeMode)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


_WORDS: dict[str, tuple[type[EnumAttribute[Any]], type[StrEnum]]] = {
    "nan_mode": (tosa.NanModeAttr, tosa.NanMode),
    "rounding_mode": (tosa.RoundingModeAttr, tosa.RoundingMode),
    "mode": (ResizeModeAttr, ResizeMode),
}
"""Attributes that are written as a bare word."""


class TosaOp(PlainOp):
    """An operation of TOSA: `name %a, %b {axis = 1 : i32, nan_mode = IGNORE} : (types) -> type`."""

    @classmethod
    def parse(cls, parser: Parser) -> TosaOp:
        names: list[UnresolvedOperand] = []
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            names.append(operand)
            if parser.parse_optional_punctuation(",") is None:
                break
        return cls.with_types(parser, names, {})

    @classmethod
    def attributes_in_braces(cls, parser: Parser) -> Mapping[str, Attribute]:
        def pair() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            if name not in _WORDS:
                return name, parser.parse_attribute()
            attribute, words = _WORDS[name]
            return name, attribute(parser.parse_str_enum(words))

        pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, pair)
        return dict(pairs or ())

    @classmethod
    def types_of(
        cls, parser: Parser, count: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """A type of a function; of constants of shapes the type of the result alone."""
        function = parser.parse_optional_function_type()
        if function is not None:
            return function.inputs.data, function.outputs.data
        parser.parse_optional_punctuation("->")
        return (), [parser.parse_type()]


_CONVOLUTION = "acc_type dilation local_bound pad stride"
_OURS = {
    "abs": "",
    "argmax": "axis nan_mode",
    "arithmetic_right_shift": "round",
    "bitwise_and": "",
    "bitwise_not": "",
    "bitwise_or": "",
    "bitwise_xor": "",
    "cast": "",
    "ceil": "",
    "clamp": "max_val min_val nan_mode",
    "clz": "",
    "const": "values",
    "const_shape": "values",
    "conv2d": _CONVOLUTION,
    "conv3d": _CONVOLUTION,
    "custom": "domain_name implementation_attrs operator_name",
    "depthwise_conv2d": _CONVOLUTION,
    "equal": "",
    "erf": "",
    "exp": "",
    "fft2d": "inverse local_bound",
    "floor": "",
    "gather": "",
    "greater": "",
    "greater_equal": "",
    "identity": "",
    "intdiv": "",
    "log": "",
    "logical_and": "",
    "logical_left_shift": "",
    "logical_not": "",
    "logical_or": "",
    "logical_right_shift": "",
    "logical_xor": "",
    "matmul": "",
    "max_pool2d": "kernel nan_mode pad stride",
    "maximum": "nan_mode",
    "minimum": "nan_mode",
    "mul": "",
    "negate": "",
    "pad": "",
    "pow": "",
    "reduce_max": "axis nan_mode",
    "reduce_min": "axis nan_mode",
    "rescale": "input_unsigned output_unsigned per_channel rounding_mode scale32",
    "reshape": "",
    "resize": "mode",
    "reverse": "axis",
    "rfft2d": "local_bound",
    "rsqrt": "",
    "scatter": "",
    "select": "",
    "sigmoid": "",
    "slice": "",
    "table": "",
    "tanh": "",
    "tile": "",
    "transpose": "perms",
    "transpose_conv2d": "acc_type local_bound out_pad stride",
}
"""By name the attributes of the operations that are read here; the others are xDSL's."""


def _named(name: str, properties: str) -> type[TosaOp]:
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Op"
    members: dict[str, Any] = {
        "name": f"tosa.{name}",
        "__doc__": f"`tosa.{name}`",
        "__module__": __name__,
    }
    members |= {prop: opt_prop_def(Attribute) for prop in properties.split()}
    return irdl_op_definition(cast("type[TosaOp]", type(class_name, (TosaOp,), members)))


_Own = extended(tosa.TOSA, *(_named(name, properties) for name, properties in _OURS.items()))
Tosa = Dialect("tosa", [*_Own.operations], [*_Own.attributes, ShapeType, ResizeModeAttr])
