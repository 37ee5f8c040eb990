"""`loop.load`, `loop.store`, `loop.prefetch`, and the scratch buffers of `loop.alloc`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..affine_text import print_affine_list
from ..by_position import by_position
from ..leaf_operations import bit_attribute, fill, half_word_attribute, map_attribute
from ..shaped import Buffer, memref_type
from .access import (
    Index,
    access,
    bound,
    parse_memref_type,
    parse_subscripts,
    print_access,
    verify_subscripts,
)
from .attributes import Scope, ScopeAttr
from .control import is_surely_run


@by_position
@irdl_op_definition
class LoadOp(IRDLOperation):
    """Reads one element of a buffer at affine subscripts: `%v = loop.load %A[%i, %k + 1] : memref<..>`."""

    name = "loop.load"

    buffer = operand_def(MemRefType.constr())
    operands_ = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)
    result = result_def()

    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[Index] | AffineMap,
        operands: Sequence[SSAValue] = (),
    ):
        """`indices` are numbers and values, or a map over `operands`."""
        map_, values = (
            bound((indices, operands)) if isinstance(indices, AffineMap) else access(indices)
        )
        element = memref_type(buffer).get_element_type()
        fill(self, (buffer, *values), (element,), {"map": map_attribute(map_)})

    def verify_(self) -> None:
        _verify_access(self, self.result.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_access(printer, self.buffer, self.map.data, self.operands_, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer = parser.parse_unresolved_operand()
        map_, values = parse_subscripts(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(buffer, parse_memref_type(parser)), map_, values)
        op.attributes |= attributes
        return op


NONTEMPORAL = "nontemporal"
"""
Attribute of a `loop.store`: the element is not used soon, so it need not stay in the caches, nor its line be
fetched. A hint, as that of `memref.store` and `vector.store` upstream.
"""


@by_position
@irdl_op_definition
class StoreOp(IRDLOperation):
    """
    Writes one element of a buffer at affine subscripts: `loop.store %v, %A[%i] : memref<..>`.

    `{nontemporal}` says that it is not used soon.
    """

    name = "loop.store"

    value = operand_def()
    buffer = operand_def(MemRefType.constr())
    operands_ = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self,
        value: SSAValue,
        buffer: SSAValue,
        indices: Sequence[Index] | AffineMap,
        operands: Sequence[SSAValue] = (),
    ):
        """`indices` are numbers and values, or a map over `operands`."""
        map_, values = (
            bound((indices, operands)) if isinstance(indices, AffineMap) else access(indices)
        )
        fill(self, (value, buffer, *values), (), {"map": map_attribute(map_)})

    @property
    def is_nontemporal(self) -> bool:
        return NONTEMPORAL in self.attributes

    def verify_(self) -> None:
        _verify_access(self, self.value.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        print_access(printer, self.buffer, self.map.data, self.operands_, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        buffer = parser.parse_unresolved_operand()
        map_, values = parse_subscripts(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parse_memref_type(parser)
        op = cls(
            parser.resolve_operand(value, type_.get_element_type()),
            parser.resolve_operand(buffer, type_),
            map_,
            values,
        )
        op.attributes |= attributes
        return op


@cache
def _hints(is_write: bool, locality: int) -> Mapping[str, Attribute]:
    return {"is_write": bit_attribute(is_write), "locality": half_word_attribute(locality)}


@by_position
@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    Asks for an element to be in the cache soon: `loop.prefetch %A[%i + 8], read, locality<3> : memref<..>`.

    It changes nothing that a program sees, and its subscripts may be outside of the buffer. `locality`
    is from 0, used once, to 3, used often.
    """

    name = "loop.prefetch"

    buffer = operand_def(MemRefType.constr())
    operands_ = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)
    is_write = prop_def(BoolAttr)
    locality = prop_def(IntegerAttr.constr(i32))

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[Index] | AffineMap,
        operands: Sequence[SSAValue] = (),
        *,
        is_write: bool = False,
        locality: int = 3,
    ):
        """`indices` are numbers and values, or a map over `operands`."""
        map_, values = (
            bound((indices, operands)) if isinstance(indices, AffineMap) else access(indices)
        )
        hints = _hints(is_write, locality)
        fill(self, (buffer, *values), (), {"map": map_attribute(map_), **hints})

    def verify_(self) -> None:
        verify_subscripts(self.map.data, self.operands_, memref_type(self.buffer))
        if not 0 <= self.locality.value.data <= 3:
            raise VerifyException(
                f"found locality {self.locality.value.data}, expected 0 (used once) to 3 (used often); "
                "mend it"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            print_affine_list(printer, self.map.data.results, self.operands_)
        kind = "write" if self.is_write.value.data else "read"
        printer.print_string(f", {kind}, locality<{self.locality.value.data}>")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parser.parse_unresolved_operand()
        map_, values = parse_subscripts(parser)
        parser.parse_punctuation(",")
        is_write = parser.expect(
            lambda: parser.parse_optional_keyword_in(("read", "write")),
            "'read' or 'write' expected",
        )
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer(allow_boolean=False)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(buffer, parse_memref_type(parser)),
            map_,
            values,
            is_write=is_write == "write",
            locality=locality,
        )
        op.attributes |= attributes
        return op


def _verify_access(op: LoadOp | StoreOp, element: Attribute) -> None:
    type_ = memref_type(op.buffer)
    verify_subscripts(op.map.data, op.operands_, type_)
    if element != type_.get_element_type():
        raise VerifyException(
            f"found a value of type {element}, expected {type_.get_element_type()}, the elements of "
            f"{type_}; cast it or mend the buffer"
        )
    # Behind a condition that never holds, as unrolling leaves them, subscripts may be outside.
    for axis, (expr, size) in enumerate(zip(op.map.data.results, type_.get_shape(), strict=True)):
        if not isinstance(expr, AffineConstantExpr) or size == DYNAMIC_INDEX:
            continue
        if not 0 <= expr.value < size and is_surely_run(op):
            raise VerifyException(
                f"found {expr} as subscript {axis}, expected it inside the {size} elements of that "
                "axis; mend it"
            )


def _printed_name(printer: Printer, result: SSAValue) -> str | None:
    """How an operation's only result has just been printed: its hint, with a number when that was taken."""
    hint = result.name_hint
    if hint is None:
        return None
    earlier = printer.ssa_names.get(hint, 1) - 1
    return f"{hint}_{earlier}" if earlier else hint


@by_position
@irdl_op_definition
class AllocOp(IRDLOperation):
    """
    A scratch buffer, alive to the end of the block that has it: `%t = loop.alloc stack : memref<64xf32>`.

    It is called what the SSA value is called; where the text does not say that, the name follows the scope:
    `%t = loop.alloc stack "t_1" : memref<64xf32>`. Its contents are undefined. `register` and `stack` buffers have a static shape.
    """

    name = "loop.alloc"

    dynamic_sizes = var_operand_def(IndexType())
    scope = prop_def(ScopeAttr)
    buffer_name = opt_prop_def(StringAttr)
    """set where the hint of the result is not the buffer's name; `buffer_name(value)` gives the name"""
    buffer = result_def(MemRefType.constr())

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, scope: Scope, type_: Buffer, dynamic_sizes: Sequence[SSAValue] = ()):
        fill(self, dynamic_sizes, (type_,), {"scope": ScopeAttr(scope)})

    def verify_(self) -> None:
        dynamic = self.buffer.type.get_shape().count(DYNAMIC_INDEX)
        if dynamic != len(self.dynamic_sizes):
            raise VerifyException(
                f"found {len(self.dynamic_sizes)} sizes given as values, expected {dynamic} for "
                f"{self.buffer.type}; give one for each '?'"
            )
        if dynamic and self.scope.data in (Scope.REGISTER, Scope.STACK):
            raise VerifyException(
                f"found a {self.scope.data.value} buffer of type {self.buffer.type}, expected a "
                "static shape; give the sizes or choose another scope"
            )
        self._verify_uses()

    def _verify_uses(self) -> None:
        block = self.parent
        for use in self.buffer.uses:
            if block is not None and block.find_ancestor_op_in_block(use.operation) is None:
                raise VerifyException(
                    f"found a use of the buffer by '{use.operation.name}' in another block, expected "
                    "uses inside the block that has it, where it is alive; allocate it there"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.scope.data.value}")
        name = self.buffer.name_hint if self.buffer_name is None else self.buffer_name.data
        if name is not None and name != _printed_name(printer, self.buffer):
            printer.print_string(" ")
            printer.print_attribute(StringAttr(name))
        if self.dynamic_sizes:
            with printer.in_parens():
                printer.print_list(self.dynamic_sizes, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        scope = parser.parse_str_enum(Scope)
        name = parser.parse_optional_str_literal()
        sizes = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType())
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(scope, parse_memref_type(parser), sizes or ())
        op.attributes |= attributes
        op.buffer_name = None if name is None else StringAttr(name)
        return op
