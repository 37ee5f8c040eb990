"""`te.compute`: tensors over one iteration space, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    OpResult,
    Region,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..affine_bounds import attained_range, is_within, why_not_affine
from ..affine_text import write_affine
from ..by_position import by_position
from ..combiner import Combiner
from ..leaf_operations import (
    array_attribute,
    fill,
    map_attribute,
    numbers_attribute,
    operand_segments,
    word_attribute,
)
from ..shaped import Tensor, tensor_type
from ..type_memo import remembered
from .reads import Iterator, Read
from .terms import YieldOp, dealt, verify_element, verify_term
from .text import (
    parse_combiners,
    parse_iterators,
    parse_read,
    print_iterators,
    shape_text,
    types_text,
)

_NONE = UnitAttr()
"""In the place of a map or a pad that there is not."""


@irdl_attr_definition
class CombinerAttr(EnumAttribute[Combiner], SpacedOpaqueSyntaxAttribute):
    name = "te.combiner"


@by_position
@irdl_op_definition
class ComputeOp(IRDLOperation):
    """
    Defines one tensor, or several of the same shape, element by element over named iterators.

    The entry block has the iterators (`index`) and then one argument per operand. The parallel
    iterators come first and are the axes of each result in order; the others are reduced, each result by its
    own combiner. The body yields the element of each result; for an arg-reduction a value and its index.
    """

    name = "te.compute"

    sources = var_operand_def(TensorType.constr())
    dynamic_extents = var_operand_def(IndexType())
    extents = prop_def(DenseArrayBase.constr(i64))
    num_parallel = prop_def(IntegerAttr.constr(i64))
    maps = prop_def(ArrayAttr.constr(base(AffineMapAttr) | base(UnitAttr)))
    pads = prop_def(ArrayAttr.constr(base(FloatAttr) | base(IntegerAttr) | base(UnitAttr)))
    combiner_list = opt_prop_def(ArrayAttr.constr(base(CombinerAttr)), prop_name="combiners")
    outputs = var_result_def(TensorType.constr())
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        parallel: Sequence[Iterator],
        reads: Sequence[Read],
        result_types: Tensor | Sequence[Tensor],
        body: Region,
        *,
        reduction: Sequence[Iterator] = (),
        combiner: Combiner | Sequence[Combiner] | None = None,
    ):
        """
        `body` is a region of one block with `compute_block(...)`'s arguments and a `te.yield`. There is one
        combiner for each result, or none.
        """
        iterators = (*parallel, *reduction)
        combiners = [combiner] if isinstance(combiner, Combiner) else list(combiner or ())
        sources = [read.source for read in reads]
        dynamic = [it.extent for it in iterators if isinstance(it.extent, SSAValue)]
        extents = [it.extent if isinstance(it.extent, int) else DYNAMIC_INDEX for it in iterators]
        properties: dict[str, Attribute] = {
            "extents": numbers_attribute(i64, extents),
            "num_parallel": word_attribute(len(parallel)),
            "maps": array_attribute(
                [_NONE if read.map is None else map_attribute(read.map) for read in reads]
            ),
            "pads": array_attribute([_NONE if read.pad is None else read.pad for read in reads]),
        }
        if combiners:
            properties["combiners"] = array_attribute(map(CombinerAttr, combiners))
        properties["operandSegmentSizes"] = operand_segments(len(sources), len(dynamic))
        types = (result_types,) if isinstance(result_types, TensorType) else result_types
        fill(self, (*sources, *dynamic), types, properties)
        self.add_region(body)

    # Views of the operation as Python values.

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        """The iterators, whose names are all different."""
        dynamic = iter(self.dynamic_extents if DYNAMIC_INDEX in self.static_extents else ())
        iterators: dict[str, Iterator] = {}
        pairs = zip(self.iterator_args, self.static_extents, strict=True)
        for n, (arg, extent) in enumerate(pairs):
            name = arg.name_hint or f"i{n}"
            while name in iterators:
                name = f"{name}_{n}"
            iterators[name] = Iterator(name, next(dynamic) if extent == DYNAMIC_INDEX else extent)
        return tuple(iterators.values())

    @property
    def rank(self) -> int:
        """How many iterators are parallel: the axes of each result."""
        return self.num_parallel.value.data

    @property
    def parallel(self) -> tuple[Iterator, ...]:
        return self.iterators[: self.num_parallel.value.data]

    @property
    def reduction(self) -> tuple[Iterator, ...]:
        return self.iterators[self.num_parallel.value.data :]

    @property
    def result(self) -> OpResult[Tensor]:
        """The only result, or the first of several, which have all the same shape."""
        return self.outputs[0]

    @property
    def combiners(self) -> tuple[Combiner, ...]:
        """How each result is reduced; none where nothing is."""
        combiners: Any = self.properties.get("combiners")
        return () if combiners is None else tuple([attr.data for attr in combiners.data])

    @property
    def combining(self) -> Combiner | None:
        """How the only result, or the first of several, is reduced."""
        combiners = self.combiners
        return combiners[0] if combiners else None

    @property
    def static_extents(self) -> tuple[int, ...]:
        """The extents; DYNAMIC_INDEX where one is a value."""
        return _numbers(self.extents)

    # Planning asks for these at every step: they read what is stored, past the checks of definitions.

    @property
    def reads(self) -> tuple[Read, ...]:
        maps, pads = self.maps.data, self.pads.data
        return tuple(
            [
                Read(
                    source,
                    map_.data if isinstance(map_, AffineMapAttr) else None,
                    None if isinstance(pad, UnitAttr) else pad,
                )
                for source, map_, pad in zip(self.sources, maps, pads, strict=True)
            ]
        )

    @property
    def iterator_args(self) -> tuple[SSAValue, ...]:
        return tuple(self.regions[0].block.args[: len(self.static_extents)])

    @property
    def read_args(self) -> tuple[SSAValue, ...]:
        return tuple(self.regions[0].block.args[len(self.static_extents) :])

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        terminator = self.regions[0].block.last_op
        assert isinstance(terminator, YieldOp)
        return tuple(terminator.operands)

    @property
    def terms(self) -> tuple[tuple[SSAValue, ...], ...]:
        """What the body yields for each result: a value, for an arg-reduction with its index."""
        return self.deal(self.yielded)

    def deal(self, values: Sequence[SSAValue]) -> tuple[tuple[SSAValue, ...], ...]:
        """Values for those that the body yields, by results."""
        return dealt(values, self.combiners, len(self.outputs))

    # Verification.

    def verify_(self) -> None:
        self._verify_iterators()
        self._verify_result()
        counts = (len(self.sources), len(self.maps), len(self.pads))
        if len(set(counts)) != 1:
            raise VerifyException(
                "found {} operands, {} maps and {} pads, expected as many of each; mend the lists".format(
                    *counts
                )
            )
        for number, read in enumerate(self.reads):
            self._verify_read(number, read)
        self._verify_block()

    def _verify_iterators(self) -> None:
        count = len(self.extents)
        parallel = self.num_parallel.value.data
        if not 0 <= parallel <= count:
            raise VerifyException(
                f"found num_parallel = {parallel}, expected 0 to {count}, the number of iterators; mend it"
            )
        if bool(self.combiners) != (parallel < count):
            raise VerifyException(
                f"found {'a combiner' if self.combiners else 'reduction iterators'} alone, expected "
                "a combiner and reduction iterators, or neither; add what is missing"
            )
        if any(e < 0 and e != DYNAMIC_INDEX for e in self.static_extents):
            raise VerifyException(
                f"found extents {list(self.static_extents)}, expected none below 0; mend them"
            )
        dynamic = self.static_extents.count(DYNAMIC_INDEX)
        if dynamic != len(self.dynamic_extents):
            raise VerifyException(
                f"found {len(self.dynamic_extents)} extents given as values, expected {dynamic}; "
                "give one for each dynamic extent"
            )

    def _verify_result(self) -> None:
        if not self.outputs:
            raise VerifyException("found no result, expected at least one; add what is computed")
        if self.combiners and len(self.combiners) != len(self.outputs):
            raise VerifyException(
                f"found {len(self.combiners)} combiners for {len(self.outputs)} results, expected one for "
                "each; make them agree"
            )
        expected = self.static_extents[: self.num_parallel.value.data]
        for output in self.outputs:
            shape = output.type.get_shape()
            if len(shape) != len(expected) or any(
                s != e for s, e in zip(shape, expected, strict=True) if DYNAMIC_INDEX not in (s, e)
            ):
                raise VerifyException(
                    f"found a result of shape {shape_text(shape)}, expected {shape_text(expected)}, the "
                    "extents of the parallel iterators; make them agree"
                )
            verify_element("a result", output.type.get_element_type())

    def _verify_read(self, number: int, read: Read) -> None:
        source_type = tensor_type(read.source)
        element = source_type.get_element_type()
        verify_element(f"operand {number}", element)
        if read.pad is not None and read.pad.type != element:
            raise VerifyException(
                f"found the 'else' value {read.pad} on operand {number}, expected one of type {element}, "
                "the tensor's elements; mend it"
            )
        if read.map is None:
            if read.pad is not None:
                raise VerifyException(
                    f"found an 'else' value on operand {number}, expected none on a read without "
                    "subscripts; drop it"
                )
            return
        if read.map.num_dims != len(self.extents) or read.map.num_symbols:
            raise VerifyException(
                f"found map {read.map} on operand {number}, expected one dimension for each of the "
                f"{len(self.extents)} iterators and no symbols; mend the map"
            )
        rank = source_type.get_num_dims()
        if len(read.map.results) != rank:
            raise VerifyException(
                f"found {len(read.map.results)} subscripts on operand {number}, expected {rank}, "
                "the tensor's rank; mend the map"
            )
        for axis, expr in enumerate(read.map.results):
            reason = why_not_affine(expr)
            if reason is not None:
                raise VerifyException(
                    f"found subscript {axis} of operand {number} not affine, expected it to be: {reason}"
                )
            if read.pad is None:
                self._verify_inside(number, axis, expr, source_type.get_shape()[axis])

    def _verify_inside(self, number: int, axis: int, expr: AffineExpr, size: int) -> None:
        extents = self.static_extents
        if 0 in extents:
            return
        # Of an extent not known yet, one point is enough to find an index outside.
        known = [1 if extent == DYNAMIC_INDEX else extent for extent in extents]
        beyond = (1 << 63) - 1 if size == DYNAMIC_INDEX else size
        if is_within(expr, known, beyond):
            return
        low, high = attained_range(expr, known)
        if low < 0 or high >= beyond:
            raise VerifyException(
                f"found subscript {axis} of operand {number} running from {low} to {high}, expected "
                f"it inside the {size} elements of that axis; add an 'else' value or mend it"
            )

    def _verify_block(self) -> None:
        expected: list[Attribute] = [IndexType()] * len(self.extents)
        for read in self.reads:
            type_ = tensor_type(read.source)
            expected.append(type_ if read.map is None else type_.get_element_type())
        found = [arg.type for arg in self.body.block.args]
        if found != expected:
            raise VerifyException(
                f"found a body that takes ({types_text(found)}), expected ({types_text(expected)}): "
                "the iterators, then what is read; mend its arguments"
            )
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException("found a body without te.yield, expected it at the end; add it")
        self._verify_yield([value.type for value in terminator.values])

    def _verify_yield(self, types: Sequence[Attribute]) -> None:
        count = len(self.outputs)
        expected = count + sum(combiner.is_arg for combiner in self.combiners)
        if count > 1 and len(types) != expected:
            raise VerifyException(
                f"found a body that yields ({types_text(types)}), expected {expected} values for the "
                f"{count} results; yield what is missing"
            )
        parts = [types] if count == 1 else dealt(types, self.combiners, count)
        combiners = self.combiners or (None,) * count
        for output, combiner, own in zip(self.outputs, combiners, parts, strict=True):
            verify_term(output.type.get_element_type(), combiner, own)

    # Text.

    def print(self, printer: Printer) -> None:
        parallel = self.num_parallel.value.data
        extents = [it.extent for it in self.iterators]
        args = self.body.block.args
        printer.print_string(" ")
        print_iterators(printer, args[:parallel], extents[:parallel])
        if self.combiners:
            printer.print_string(f" {', '.join(self.combiners)} ")
            print_iterators(printer, args[parallel : len(extents)], extents[parallel:])
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                zip(self.read_args, self.reads, strict=True),
                lambda pair: self._print_read(printer, *pair),
            )
        printer.print_string(" : ")
        printer.print_function_type([s.type for s in self.sources], [r.type for r in self.outputs])
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
        combiners = parse_combiners(parser)
        reduction = parse_iterators(parser, names) if combiners else []
        reads = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_read(parser, names)
        )
        parser.parse_punctuation(":")
        position = parser.pos
        function_type = parser.parse_function_type()
        inputs, outputs = function_type.inputs.data, function_type.outputs.data
        if len(inputs) != len(reads) or not outputs:
            parser.raise_error(
                f"found {len(inputs)} operand and {len(outputs)} result types, expected "
                f"{len(reads)} and at least one; give the types of what is read, then those of the results",
                position,
            )
        types = _tensor_types(parser, (*inputs, *outputs), position)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        sources = parser.resolve_operands([read[1] for read in reads], inputs, position)
        args = [name.resolve(IndexType()) for name in names]
        for (arg, _, map_, _), type_ in zip(reads, types, strict=False):
            args.append(arg.resolve(type_ if map_ is None else type_.get_element_type()))
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
            types[len(inputs) :],
            body,
            reduction=iterators[count:],
            combiner=combiners,
        )
        op.attributes |= {} if attributes is None else attributes.data
        return op


@remembered
def _numbers(extents: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return extents.get_values()


def _tensor_types(parser: Parser, types: Sequence[Attribute], position: int) -> list[Tensor]:
    for type_ in types:
        if not isinstance(type_, TensorType):
            parser.raise_error(f"found the type {type_}, expected a tensor; mend it", position)
    return [cast(Tensor, type_) for type_ in types]
