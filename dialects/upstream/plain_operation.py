"""
Operations of upstream's dialects that are alike in text: a name, operands, attributes as they come, types and regions.

What they mean is said where they are brought in (frontend/stablehlo/, frontend/tosa/).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, var_operand_def, var_region_def, var_result_def
from xdsl.parser import Parser, UnresolvedOperand

from ..resources import elements_to_numpy


def settings_of(op: Operation) -> dict[str, Any]:
    """What the attributes of an operation say, as numbers, words, lists and arrays."""
    return {name: plain_value(value) for name, value in (op.properties | op.attributes).items()}


def plain_value(attribute: Attribute) -> Any:
    """An attribute as a Python number or word, a list or dictionary of them, or an array; others as they are."""
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return cast("IntegerAttr[Any] | FloatAttr[Any]", attribute).value.data
    if isinstance(attribute, ArrayAttr):
        return [plain_value(item) for item in cast("ArrayAttr[Attribute]", attribute)]
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, EnumAttribute):
        return cast("EnumAttribute[Any]", attribute).data.value
    if isinstance(attribute, DictionaryAttr):
        return {name: plain_value(value) for name, value in attribute.data.items()}
    if isinstance(attribute, DenseIntOrFPElementsAttr | DenseResourceAttr):
        return elements_to_numpy(cast("DenseIntOrFPElementsAttr[Any]", attribute))
    if isinstance(numbers := getattr(attribute, "numbers", None), DictionaryAttr):
        return plain_value(numbers)
    get_values = getattr(attribute, "get_values", None)
    return attribute if get_values is None else list(get_values())


class PlainOp(IRDLOperation):
    """Any operands, results and regions; the subclass reads what stands in front of the attributes."""

    arguments = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def()

    @classmethod
    def made(
        cls,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        attributes: Mapping[str, Attribute],
        regions: Sequence[Region] = (),
    ) -> Self:
        return cls.build(
            operands=[operands],
            result_types=[types],
            attributes=dict(attributes),
            regions=[list(regions)],
        )

    @property
    def settings(self) -> dict[str, Any]:
        return settings_of(self)

    @classmethod
    def with_types(
        cls, parser: Parser, names: Sequence[UnresolvedOperand], attributes: dict[str, Attribute]
    ) -> Self:
        """The operation, whose attributes in braces and types come next."""
        attributes |= cls.attributes_in_braces(parser)
        position = parser.pos
        if parser.parse_optional_punctuation(":") is None:
            return cls.made((), (), attributes)
        inputs, outputs = cls.types_of(parser, len(names))
        return cls.made(parser.resolve_operands(names, inputs, position), outputs, attributes)

    @classmethod
    def attributes_in_braces(cls, parser: Parser) -> Mapping[str, Attribute]:
        """What stands in braces, or nothing."""
        return parser.parse_optional_attr_dict()

    @classmethod
    def types_of(
        cls, parser: Parser, count: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Of the operands and of the results: a type of a function, or one type where they are all the same."""
        function = parser.parse_optional_function_type()
        if function is not None:
            return function.inputs.data, function.outputs.data
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if parser.parse_optional_punctuation("->") is not None:
            results = parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_type
            )
            return types, [parser.parse_type()] if results is None else results
        if len(types) == 1:
            return types * count, types
        return [*types[:-1], *types[-1:] * (count - len(types) + 1)], types[-1:]
