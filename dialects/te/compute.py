"""`te.compute`: one tensor, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..affine_bounds import attained_range
from ..affine_text import write_affine
from ..combiner import Combiner
from .text import parse_iterators, parse_read, print_iterators, shape_text, types_text


@irdl_attr_definition
class CombinerAttr(EnumAttribute[Combiner], SpacedOpaqueSyntaxAttribute):
    name = "te.combiner"


@dataclass(frozen=True)
class Iterator:
    """One iterator of a compute: its name, and its extent (an int, or an `index` value)."""

    name: str
    extent: int | SSAValue


@dataclass(frozen=True)
class Read:
    """
    One operand of a compute.

    With a `map` over the iterators the body sees one element, and where the map leaves the tensor the
    value `pad` (then required). Without a map the body sees the whole tensor, for reads at computed
    indices by `tensor.extract`.
    """

    source: SSAValue
    map: AffineMap | None
    pad: FloatAttr | IntegerAttr | None = None


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a compute with the element's value, or of a kernel with its results."""

    name = "te.yield"

    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[values])


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """
    Defines a tensor element by element over named iterators.

    The entry block has the iterators (`index`) and then one argument per operand. The parallel
    iterators come first and are the axes of the result in order; the others are reduced by `combiner`.
    """

    name = "te.compute"

    sources = var_operand_def(TensorType)
    dynamic_extents = var_operand_def(IndexType())
    extents = prop_def(DenseArrayBase.constr(i64))
    num_parallel = prop_def(IntegerAttr.constr(i64))
    maps = prop_def(ArrayAttr)
    pads = prop_def(ArrayAttr)
    combiner = opt_prop_def(CombinerAttr)
    result = result_def(TensorType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        parallel: Sequence[Iterator],
        reads: Sequence[Read],
        result_type: TensorType,
        body: Region,
        *,
        reduction: Sequence[Iterator] = (),
        combiner: Combiner | None = None,
    ):
        """
        `body` is a region of one block with `compute_block(...)`'s arguments and a `te.yield`.
        """
        iterators = (*parallel, *reduction)
        super().__init__(
            operands=[
                [read.source for read in reads],
                [it.extent for it in iterators if isinstance(it.extent, SSAValue)],
            ],
            properties={
                "extents": DenseArrayBase.from_list(
                    i64,
                    [
                        it.extent if isinstance(it.extent, int) else DYNAMIC_INDEX
                        for it in iterators
                    ],
                ),
                "num_parallel": IntegerAttr(len(parallel), i64),
                "maps": ArrayAttr(
                    [UnitAttr() if read.map is None else AffineMapAttr(read.map) for read in reads]
                ),
                "pads": ArrayAttr([UnitAttr() if read.pad is None else read.pad for read in reads]),
                "combiner": None if combiner is None else CombinerAttr(combiner),
            },
            result_types=[result_type],
            regions=[body],
        )

    # Views of the operation as Python values.

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        dynamic = iter(self.dynamic_extents)
        return tuple(
            Iterator(arg.name_hint or f"i{n}", next(dynamic) if extent == DYNAMIC_INDEX else extent)
            for n, (arg, extent) in enumerate(
                zip(self.body.block.args, self.extents.iter_values(), strict=False)
            )
        )

    @property
    def parallel(self) -> tuple[Iterator, ...]:
        return self.iterators[: self.num_parallel.value.data]

    @property
    def reduction(self) -> tuple[Iterator, ...]:
        return self.iterators[self.num_parallel.value.data :]

    @property
    def combining(self) -> Combiner | None:
        return None if self.combiner is None else self.combiner.data

    @property
    def static_extents(self) -> tuple[int, ...]:
        """The extents; DYNAMIC_INDEX where one is a value."""
        return tuple(self.extents.iter_values())

    @property
    def reads(self) -> tuple[Read, ...]:
        return tuple(
            Read(
                source,
                map_.data if isinstance(map_, AffineMapAttr) else None,
                pad if isinstance(pad, FloatAttr | IntegerAttr) else None,
            )
            for source, map_, pad in zip(self.sources, self.maps, self.pads, strict=True)
        )

    @property
    def iterator_args(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[: len(self.extents)])

    @property
    def read_args(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[len(self.extents) :])

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp)
        return tuple(terminator.values)

    # Verification.

    def verify_(self) -> None:
        count = len(self.extents)
        parallel = self.num_parallel.value.data
        if not 0 <= parallel <= count:
            raise VerifyException(f"num_parallel is {parallel}, expected 0 to {count}")
        if (self.combiner is not None) != (parallel < count):
            raise VerifyException(
                "a combiner and reduction iterators go together; found "
                + ("a combiner alone" if self.combiner else "reduction iterators alone")
            )
        if any(e < 0 and e != DYNAMIC_INDEX for e in self.static_extents):
            raise VerifyException(f"extents {list(self.static_extents)} must not be negative")
        if self.static_extents.count(DYNAMIC_INDEX) != len(self.dynamic_extents):
            raise VerifyException("expected one index operand for each dynamic extent")
        self._verify_result()
        if not len(self.sources) == len(self.maps) == len(self.pads):
            raise VerifyException(
                f"{len(self.sources)} operands but {len(self.maps)} maps and {len(self.pads)} pads"
            )
        for number, read in enumerate(self.reads):
            self._verify_read(number, read)
        self._verify_block()

    def _verify_result(self) -> None:
        shape = self.result.type.get_shape()
        expected = self.static_extents[: self.num_parallel.value.data]
        if len(shape) != len(expected) or any(
            s != e for s, e in zip(shape, expected, strict=True) if DYNAMIC_INDEX not in (s, e)
        ):
            raise VerifyException(
                f"result shape {shape_text(shape)} differs from the parallel extents "
                f"{shape_text(expected)}"
            )

    def _verify_read(self, number: int, read: Read) -> None:
        source_type = read.source.type
        assert isinstance(source_type, TensorType)
        element: Attribute = source_type.get_element_type()
        if read.pad is not None and read.pad.type != element:
            raise VerifyException(
                f"operand {number}: pad value of type {read.pad.type}, expected {element}"
            )
        if read.map is None:
            return
        shape = source_type.get_shape()
        if read.map.num_dims != len(self.extents) or read.map.num_symbols:
            raise VerifyException(
                f"operand {number}: map {read.map} takes {read.map.num_dims} dimensions and "
                f"{read.map.num_symbols} symbols, expected one dimension for each of the "
                f"{len(self.extents)} iterators and no symbols"
            )
        if len(read.map.results) != len(shape):
            raise VerifyException(
                f"operand {number}: {len(read.map.results)} indices for a tensor of rank {len(shape)}"
            )
        extents = self.static_extents
        if read.pad is not None or DYNAMIC_INDEX in extents or 0 in extents:
            return
        for axis, (expr, size) in enumerate(zip(read.map.results, shape, strict=True)):
            low, high = attained_range(expr, extents)
            if low < 0 or (size != DYNAMIC_INDEX and high >= size):
                raise VerifyException(
                    f"operand {number}: index {axis} runs from {low} to {high}, outside the "
                    f"{size} elements of that axis; add an 'else' value or mend the map"
                )

    def _verify_block(self) -> None:
        elements = self.result.type.get_element_type()
        expected: list[Attribute] = [IndexType()] * len(self.extents)
        for read in self.reads:
            assert isinstance(read.source.type, TensorType)
            whole = read.map is None
            expected.append(read.source.type if whole else read.source.type.get_element_type())
        found = [arg.type for arg in self.body.block.args]
        if found != expected:
            raise VerifyException(
                f"body takes ({types_text(found)}), expected ({types_text(expected)})"
            )
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException("body must end with te.yield")
        types = [value.type for value in terminator.values]
        if self.combining is not None and self.combining.is_arg:
            if len(types) != 2 or types[1] != elements:
                raise VerifyException(
                    f"{self.combining} body must yield a value and an index of type {elements}, "
                    f"found ({types_text(types)})"
                )
        elif types != [elements]:
            raise VerifyException(
                f"body must yield one value of type {elements}, found ({types_text(types)})"
            )

    # Text.

    def print(self, printer: Printer) -> None:
        parallel = self.num_parallel.value.data
        extents = [it.extent for it in self.iterators]
        args = self.body.block.args
        printer.print_string(" ")
        print_iterators(printer, args[:parallel], extents[:parallel])
        if self.combiner is not None:
            printer.print_string(f" {self.combiner.data.value} ")
            print_iterators(printer, args[parallel : len(extents)], extents[parallel:])
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                zip(self.read_args, self.reads, strict=True),
                lambda pair: self._print_read(printer, *pair),
            )
        printer.print_string(" : ")
        printer.print_function_type([s.type for s in self.sources], [self.result.type])
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def _print_read(self, printer: Printer, arg: SSAValue, read: Read) -> None:
        printer.print_ssa_value(arg)
        printer.print_string(" = ")
        printer.print_ssa_value(read.source)
        if read.map is None:
            return
        args = self.body.block.args
        with printer.in_square_brackets():
            printer.print_list(
                read.map.results,
                lambda expr: write_affine(
                    expr, printer.print_string, lambda i: printer.print_ssa_value(args[i])
                ),
            )
        if read.pad is not None:
            printer.print_string(" else ")
            printer.print_attribute(read.pad)

    @classmethod
    def parse(cls, parser: Parser) -> ComputeOp:
        names: list[Parser.UnresolvedArgument] = []
        parallel = parse_iterators(parser, names)
        reduction: list[int | SSAValue] = []
        combiner = None
        for candidate in Combiner:
            if parser.parse_optional_keyword(candidate.value) is not None:
                combiner = candidate
                reduction = parse_iterators(parser, names)
                break
        reads = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_read(parser, names)
        )
        parser.parse_punctuation(":")
        position = parser.pos
        function_type = parser.parse_function_type()
        types = function_type.inputs.data
        if len(types) != len(reads) or len(function_type.outputs.data) != 1:
            parser.raise_error(f"expected {len(reads)} operand types and one result type", position)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        sources = parser.resolve_operands([read[1] for read in reads], types, position)
        args = [name.resolve(IndexType()) for name in names]
        for (arg, _, map_, _), type_ in zip(reads, types, strict=True):
            if not isinstance(type_, TensorType):
                parser.raise_error(f"expected a tensor type, found {type_}", position)
            args.append(arg.resolve(type_ if map_ is None else type_.get_element_type()))
        result_type = function_type.outputs.data[0]
        if not isinstance(result_type, TensorType):
            parser.raise_error(f"expected a tensor type, found {result_type}", position)
        body = parser.parse_region(args)
        count = len(parallel)
        iterators = [
            Iterator(name.name.text[1:], extent)
            for name, extent in zip(names, [*parallel, *reduction], strict=True)
        ]
        op = cls(
            iterators[:count],
            [
                Read(source, None if map_ is None else AffineMap(len(names), 0, map_), pad)
                for source, (_, _, map_, pad) in zip(sources, reads, strict=True)
            ],
            result_type,
            body,
            reduction=iterators[count:],
            combiner=combiner,
        )
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def compute_block(
    iterators: Sequence[Iterator], reads: Sequence[Read], names: Sequence[str | None] = ()
) -> Block:
    """An empty body block for a compute: its iterators, then one argument per read, named."""
    types: list[Attribute] = [IndexType()] * len(iterators)
    for read in reads:
        assert isinstance(read.source.type, TensorType)
        types.append(read.source.type if read.map is None else read.source.type.get_element_type())
    block = Block(arg_types=types)
    hints = [*(it.name for it in iterators), *(names or [read.source.name_hint for read in reads])]
    for arg, hint in zip(block.args, hints, strict=True):
        arg.name_hint = hint
    return block
