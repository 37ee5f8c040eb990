"""
`linalg` as mlir-opt prints it. xDSL has `linalg.generic` whole; of the named operations it has some, without the indexing
maps, several operands or short bodies that upstream's text has, so these are all ours.

Each is a `StructuredOp`: like `linalg.generic` it has indexing maps, iterator types and a body, which follow from its name
and attributes. Those that are a sum or an extreme over windows or shared axes are rows of tables in linalg_named.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..shaped import Tensor, is_tensor, shape_of

Attributes = Mapping[str, Attribute]


def element_of(value: SSAValue) -> Attribute:
    """What one iteration sees of an operand: an element of a tensor or buffer, or the scalar itself."""
    type_ = value.type
    if isinstance(type_, TensorType | MemRefType):
        return cast(Tensor, type_).get_element_type()
    return type_


def extents_of(value: SSAValue) -> Sequence[int]:
    """The extents of a tensor or buffer."""
    type_ = value.type
    return cast(Tensor, type_).get_shape() if isinstance(type_, TensorType | MemRefType) else ()


class StructuredOp(LinalgStructuredOperation, ABC):
    """A named operation. A subclass says its maps and its scalar, and where its text differs what stands where."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    LEADING: ClassVar[Sequence[str]] = ()
    """Attributes written `name = value` in front of the operands."""
    TRAILING: ClassVar[str | None] = None
    """A list of axes written `name = [0, 1]` behind the operands; the types of results are then not written."""

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        attributes: Attributes | None = None,
        body: Region | None = None,
    ):
        """`body` is what the text says of it; without one it follows from the name, the types and the attributes."""
        attributes = attributes or {}
        region = self.hidden_body(inputs, outputs, attributes) if body is None else body
        super().__init__(
            operands=[inputs, outputs],
            result_types=[[value.type for value in outputs if is_tensor(value)]],
            attributes=dict(attributes),
            regions=[region],
        )

    @abstractmethod
    def indexing(self) -> Sequence[AffineMap]:
        """The map of each operand. Raises VerifyException for operands that the operation does not take."""

    @classmethod
    @abstractmethod
    def scalar(cls, builder: Builder, args: Sequence[SSAValue], attributes: Attributes) -> SSAValue:
        """Emits what one iteration yields, from an element of each operand, the results' old ones included."""

    @classmethod
    def hidden_body(
        cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], attributes: Attributes
    ) -> Region:
        block = Block(arg_types=[element_of(value) for value in (*inputs, *outputs)])
        builder = Builder(InsertPoint.at_end(block))
        builder.insert(linalg.YieldOp(cls.scalar(builder, block.args, attributes)))
        return Region(block)

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        return ArrayAttr(map(AffineMapAttr, self.indexing()))

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        """Parallel are the loops that the results are indexed with."""
        maps = self.indexing()
        parallel = {
            expr.position
            for map_ in maps[len(self.inputs) :]
            for expr in map_.results
            if isinstance(expr, AffineDimExpr)
        }
        kinds = (IteratorTypeAttr.reduction(), IteratorTypeAttr.parallel())
        return ArrayAttr(kinds[dim in parallel] for dim in range(maps[0].num_dims))

    # Text.

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes: dict[str, Attribute] = {}
        for name in cls.LEADING:
            if parser.parse_optional_keyword(name) is not None:
                parser.parse_punctuation("=")
                attributes[name] = parser.parse_attribute()
        payload = _parse_payload(parser) if issubclass(cls, WithBody) else None
        if payload is None:
            attributes |= parser.parse_optional_attr_dict()
        inputs, outputs = _parse_operands(parser, "ins"), _parse_operands(parser, "outs")
        if cls.TRAILING is not None:
            parser.parse_keyword(cls.TRAILING)
            parser.parse_punctuation("=")
            attributes[cls.TRAILING] = _parse_axes(parser)
        body = None
        if issubclass(cls, WithBody):
            body = (
                cls.parse_body(parser) if payload is None else cls.body_of(payload, inputs, outputs)
            )
        attributes |= parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation("->") is not None:
            _parse_result_types(parser)
        return cls(inputs, outputs, attributes, body)

    def print(self, printer: Printer) -> None:
        special = (*self.LEADING, *([self.TRAILING] if self.TRAILING else []))
        for name in self.LEADING:
            if name in self.attributes:
                printer.print_string(f" {name} = ")
                printer.print_attribute(self.attributes[name])
        rest = {name: value for name, value in self.attributes.items() if name not in special}
        if rest and not self.TRAILING:
            printer.print_op_attributes(rest)
        _print_operands(printer, "ins", self.inputs)
        _print_operands(printer, "outs", self.outputs)
        if self.TRAILING is not None:
            printer.print_string(f" {self.TRAILING} = ")
            axes = cast("DenseArrayBase[Any]", self.attributes[self.TRAILING]).get_values()
            printer.print_string(f"[{', '.join(map(str, axes))}]")
        if isinstance(self, WithBody):
            printer.print_string(" ")
            with printer.in_parens():
                printer.print_list(self.body.block.args, printer.print_block_argument)
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False)
        elif self.res and self.TRAILING is None:
            printer.print_string(" -> ")
            printer.print_list(self.res.types, printer.print_attribute)


def _parse_operands(parser: Parser, keyword: str) -> list[SSAValue]:
    position = parser.pos
    if parser.parse_optional_keyword(keyword) is None:
        return []
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(names, types, position))


def _print_operands(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    if not values:
        return
    printer.print_string(f" {keyword}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(" : ")
    printer.print_list([value.type for value in values], printer.print_attribute)
    printer.print_string(")")


def _parse_axes(parser: Parser) -> Attribute:
    axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, axes)


def _parse_result_types(parser: Parser) -> None:
    """The types behind the arrow, which are those of the outputs."""
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if types is None:
        parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)


_Payload = tuple[type[IRDLOperation], dict[str, Attribute]]


def _parse_payload(parser: Parser) -> _Payload | None:
    """The short form of a body, `{ arith.addf {fastmath = …} }`: one operation on the arguments."""
    if parser.parse_optional_punctuation("{") is None:
        return None
    position = parser.pos
    name = parser.parse_identifier(" for the operation of the body")
    op_type = parser.ctx.get_optional_op(name)
    if op_type is None or not issubclass(op_type, IRDLOperation):
        parser.raise_error(f"found unknown operation '{name}'; name one of arith or math", position)
    attributes = dict(parser.parse_optional_attr_dict())
    parser.parse_punctuation("}")
    return op_type, attributes


def _made(payload: _Payload, operands: Sequence[SSAValue], result: Attribute) -> Operation:
    op_type, attributes = payload
    known = op_type.get_irdl_definition().properties
    return op_type.build(
        operands=operands,
        result_types=[result],
        properties={name: value for name, value in attributes.items() if name in known},
        attributes={name: value for name, value in attributes.items() if name not in known},
    )


class WithBody(StructuredOp, ABC):
    """An operation whose text has a body: arguments and a region, or one operation in braces."""

    RESULTS_FIRST: ClassVar[bool]
    """Whether the operation in braces takes the old elements of the results, and takes them first."""

    @classmethod
    def scalar(cls, builder: Builder, args: Sequence[SSAValue], attributes: Attributes) -> SSAValue:
        raise VerifyException("found no body, expected one; write what one iteration yields")

    @classmethod
    def body_of(
        cls, payload: _Payload, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]
    ) -> Region:
        block = Block(arg_types=[element_of(value) for value in (*inputs, *outputs)])
        read, old = block.args[: len(inputs)], block.args[len(inputs) :]
        op = _made(payload, [*old, *read] if cls.RESULTS_FIRST else read, old[0].type)
        block.add_ops([op, linalg.YieldOp(*op.results)])
        return Region(block)

    @classmethod
    def parse_body(cls, parser: Parser) -> Region:
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        return parser.parse_region(args)


@irdl_op_definition
class MapOp(WithBody):
    """`linalg.map { arith.addf } ins(%a, %b : …) outs(%c : …)`: element by element."""

    name = "linalg.map"
    RESULTS_FIRST: ClassVar[bool] = False

    def indexing(self) -> Sequence[AffineMap]:
        rank = len(extents_of(self.outputs[0]))
        return [AffineMap.identity(rank)] * len(self.operands)


@irdl_op_definition
class ReduceOp(WithBody):
    """`linalg.reduce { arith.addf } ins(%a : …) outs(%b : …) dimensions = [1]`"""

    name = "linalg.reduce"
    RESULTS_FIRST: ClassVar[bool] = True
    TRAILING: ClassVar[str | None] = "dimensions"

    def indexing(self) -> Sequence[AffineMap]:
        rank = len(extents_of(self.inputs[0]))
        axes = axes_of(self, "dimensions")
        if any(not 0 <= axis < rank for axis in axes):
            raise VerifyException(
                f"found dimensions {list(axes)}, expected numbers of 0 to {rank - 1}; mend them"
            )
        return [AffineMap.identity(rank)] * len(self.inputs) + [
            _without(rank, axes_of(self, "dimensions"))
        ] * len(self.outputs)


class _MovingOp(StructuredOp, ABC):
    """The elements of its operand at other indices."""

    @classmethod
    def scalar(cls, builder: Builder, args: Sequence[SSAValue], attributes: Attributes) -> SSAValue:
        return args[0]


@irdl_op_definition
class TransposeOp(_MovingOp):
    """`linalg.transpose ins(%a : …) outs(%b : …) permutation = [1, 0]`: axis i of the result is axis p[i]."""

    name = "linalg.transpose"
    TRAILING: ClassVar[str | None] = "permutation"

    def indexing(self) -> Sequence[AffineMap]:
        permutation = axes_of(self, "permutation")
        rank = len(permutation)
        if sorted(permutation) != list(range(rank)):
            raise VerifyException(
                f"found permutation {list(permutation)}, expected each axis once; mend it"
            )
        source = tuple(AffineDimExpr(permutation.index(axis)) for axis in range(rank))
        return [AffineMap(rank, 0, source), AffineMap.identity(rank)]


@irdl_op_definition
class BroadcastOp(_MovingOp):
    """`linalg.broadcast ins(%a : …) outs(%b : …) dimensions = [2]`: these axes of the result are new."""

    name = "linalg.broadcast"
    TRAILING: ClassVar[str | None] = "dimensions"

    def indexing(self) -> Sequence[AffineMap]:
        rank = len(extents_of(self.outputs[0]))
        return [_without(rank, axes_of(self, "dimensions")), AffineMap.identity(rank)]


def axes_of(op: Operation, name: str) -> Sequence[int]:
    """A list of axes among the attributes."""
    return tuple(cast("DenseArrayBase[Any]", op.attributes[name]).get_values())


def _without(rank: int, axes: Sequence[int]) -> AffineMap:
    return AffineMap(
        rank, 0, tuple(AffineDimExpr(axis) for axis in range(rank) if axis not in axes)
    )


@irdl_op_definition
class GenericSyntaxOp(IRDLOperation):
    """Reads `linalg.generic`, which is then xDSL's: xDSL's parser takes types of several results without parentheses only."""

    name = "linalg.generic"

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        position = parser.pos
        attributes = parser.parse_optional_attr_dict()
        maps, kinds = attributes.pop("indexing_maps", None), attributes.pop("iterator_types", None)
        if not isinstance(maps, ArrayAttr) or not isinstance(kinds, ArrayAttr):
            parser.raise_error(
                "found linalg.generic without indexing_maps or iterator_types, expected both; write them in braces",
                position,
            )
        kinds = [
            _iterator_type(parser, kind, position) for kind in cast("ArrayAttr[Attribute]", kinds)
        ]
        inputs, outputs = _parse_operands(parser, "ins"), _parse_operands(parser, "outs")
        if parser.parse_optional_keyword("attrs") is not None:
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        body = parser.parse_region()
        if parser.parse_optional_punctuation("->") is not None:
            _parse_result_types(parser)
        doc, call = attributes.pop("doc", None), attributes.pop("library_call", None)
        op = linalg.GenericOp(
            inputs,
            outputs,
            body,
            cast("ArrayAttr[AffineMapAttr]", maps),
            kinds,
            [value.type for value in outputs if is_tensor(value)],
            doc if isinstance(doc, StringAttr) else None,
            call if isinstance(call, StringAttr) else None,
        )
        op.attributes |= attributes
        return op


def _iterator_type(parser: Parser, kind: Attribute, position: int) -> Attribute:
    words = [str(word) for word in IteratorType]
    if isinstance(kind, IteratorTypeAttr):
        return kind
    if not isinstance(kind, StringAttr) or kind.data not in words:
        parser.raise_error(
            f"found the iterator type {kind}, expected one of {', '.join(words)}; mend it", position
        )
    return IteratorTypeAttr(IteratorType(kind.data))


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """`linalg.softmax dimension(1) ins(%x : …) outs(%o : …) -> …`: exp(x - max) over its sum along an axis."""

    name = "linalg.softmax"

    input = operand_def(TensorType)
    output = operand_def(TensorType)
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    def __init__(self, input: SSAValue, output: SSAValue, dimension: int):
        super().__init__(
            operands=[input, output],
            properties={"dimension": IntegerAttr(dimension, i64)},
            result_types=[output.type],
        )

    def verify_(self) -> None:
        rank = len(shape_of(self.input))
        if not 0 <= self.dimension.value.data < rank:
            raise VerifyException(
                f"found dimension {self.dimension.value.data}, expected one of 0 to {rank - 1}; mend it"
            )
        if shape_of(self.input) != shape_of(self.output):
            raise VerifyException("found different shapes, expected equal ones; mend the types")

    @classmethod
    def parse(cls, parser: Parser) -> SoftmaxOp:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_keyword("dimension")
        parser.parse_punctuation("(")
        dimension = parser.parse_integer()
        parser.parse_punctuation(")")
        position = parser.pos
        operands = [*_parse_operands(parser, "ins"), *_parse_operands(parser, "outs")]
        if len(operands) != 2:
            parser.raise_error(
                f"found {len(operands)} operands, expected one in 'ins' and one in 'outs'", position
            )
        parser.parse_punctuation("->")
        parser.parse_type()
        op = cls(operands[0], operands[1], dimension)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(f" dimension({self.dimension.value.data})")
        _print_operands(printer, "ins", [self.input])
        _print_operands(printer, "outs", [self.output])
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class IndexOp(IRDLOperation):
    """`linalg.index 0 : index`: the number of a loop, in the body of any structured operation (xDSL: of generic)."""

    name = "linalg.index"

    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$dim attr-dict `:` type($result)"
