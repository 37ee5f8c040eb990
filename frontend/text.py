"""
Reading IR from text.

`parse_file` and `parse_text` give a module whose operations know where they stand, and turn
whatever is wrong with the text into one line.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    ComplexType,
    DenseResourceAttr,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import AttributeInvT, BlockArgument, Operation, SSAValue
from xdsl.parser import AttrParser, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException, MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from ..dialects import loop
from ..dialects.ir_parser import PARSER_GIVES_UP, IRParser
from ..dialects.resource_handles import handle_of
from ..errors import StepwellError
from ..spelling import did_you_mean, one_line
from ..universe import make_context
from .files import checked_path, decode, read_bytes
from .parse_messages import excerpt, explain, unknown_attribute, unknown_operation

TEXT_SUFFIXES = (".mlir",)
"""What the name of a file of IR ends in."""


def parse_file(path: str | os.PathLike[str], ctx: Context | None = None) -> ModuleOp:
    """
    The module in the file `path`, which is UTF-8 text of any level.

    Raises StepwellError when the file cannot be read or its text is not valid IR.
    """
    path = checked_path(path)
    if path.suffix not in TEXT_SUFFIXES and not path.is_dir():
        raise StepwellError(
            f"found a file ending in '{path.suffix}', expected '.mlir'; rename it or convert it",
            where=str(path),
        )
    return parse_text(decode(read_bytes(path), str(path)), str(path), ctx)


def parse_text(
    text: str,
    filename: str = "<string>",
    ctx: Context | None = None,
    *,
    line_offset: int = 0,
    implicit_module: bool = True,
) -> ModuleOp:
    """
    The module written in `text`. `filename` and `line_offset` are for positions only.

    The module is parsed, not verified. Raises StepwellError at the place of the first mistake.
    """
    if not text.strip():
        raise StepwellError(
            "found an empty text, expected at least one operation; write a function",
            where=f"{filename}:{line_offset + 1}:1",
        )
    ctx = ctx or make_context()
    try:
        parser = LocatingParser(ctx, text, filename, line_offset)
    except ParseError as error:  # the first token
        raise _parse_failure(error, ctx, line_offset) from error
    return parser.parse_located_module(implicit_module)


class LocatingParser(IRParser):
    """
    xDSL's parser, which also notes where each operation stands, and which gives every resource of the
    text a name of its own.

    An operation's position is that of its name, as in MLIR. Positions are kept in `op.location` and so
    are printed with `--print-debuginfo` only.
    """

    def __init__(self, ctx: Context, text: str, filename: str, line_offset: int = 0):
        self._line_offset = line_offset
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._filename = StringAttr(filename)
        self._name_positions: list[int] = []
        self._first_uses: dict[str, Span] = {}
        self._defined: set[str] = set()
        self._argument_names: dict[BlockArgument, str] = {}
        self._resource_handles: dict[str, StringAttr] = {}
        self._resource_bytes: dict[str, str] | None = None
        super().__init__(ctx, text, filename)

    def parse_located_module(self, implicit_module: bool = True) -> ModuleOp:
        """
        The module that is the whole text. Raises StepwellError, and nothing else for a wrong text.
        """
        try:
            module = self.parse_module(implicit_module)
        except StepwellError:
            raise
        except ParseError as error:
            raise _parse_failure(error, self.ctx, self._line_offset) from error
        except RecursionError as error:
            self._fail(
                "found operations nested too deeply, expected fewer levels; flatten them", error
            )
        except (DiagnosticException, *PARSER_GIVES_UP) as error:
            # An attribute that does not verify, or a construct that xDSL's parser gives up on.
            self._fail(explain(_reason(error), excerpt(self._current_token.text)), error)
        if module.location is UNKNOWN_LOC:
            module.location = self._location(0)
        return module

    def _fail(self, message: str, cause: Exception) -> NoReturn:
        line, column = self._line_and_column(self._current_token.span.start)
        where = f"{self._filename.data}:{line}:{column}"
        raise StepwellError(message, where=where) from cause

    # Positions of operations

    def _line_and_column(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, position)
        return line + self._line_offset, position - self._line_starts[line - 1] + 1

    def _location(self, position: int) -> FileLineColLoc:
        line, column = self._line_and_column(position)
        return FileLineColLoc(self._filename, IntAttr(line), IntAttr(column))

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._name_positions.append(self.pos)
        return results

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op, func.FuncOp):
            for arg in op.args if op.body.blocks else ():
                if arg in self._argument_names and loop.buffer_name(arg) == arg.name_hint:
                    loop.set_buffer_name(arg, self._argument_names[arg])
        position = self._name_positions.pop()
        if op.location is UNKNOWN_LOC:
            op.location = self._location(position)
        return op

    # Names that nothing defines

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is None:
            start = self._name_positions[-1]
            self.raise_error(unknown_operation(name, self.ctx), start, start + len(name))
        return op_type

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        self._defined.add(name)
        awaited = self.forward_ssa_references.get(name, {})
        if not all(value.first_use for value in awaited.values()):
            # An operand of an operation that is not there yet: what is defined now is inside of it.
            self._raise_undefined(name)
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value.type, MemRefType) and value.name_hint not in (None, name):
                self._name_buffer(value, name)

    def _name_buffer(self, value: SSAValue, name: str) -> None:
        """Call a buffer as the text does where its hint does not say that, if it is not named anyway."""
        if isinstance(value, BlockArgument):
            self._argument_names[value] = name  # its function is yet to come
        elif isinstance(value.owner, loop.AllocOp) and value.owner.buffer_name is None:
            loop.set_buffer_name(value, name)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                self._raise_undefined(next(iter(self.forward_ssa_references)))
            raise

    def _raise_undefined(self, name: str) -> NoReturn:
        if name in self._defined:
            remedy = "it is defined in a region that does not enclose this use; return or yield it"
        else:
            known = [f"%{defined}" for defined in self._defined]
            remedy = did_you_mean(f"%{name}", known, "define it before this use")
        self.raise_error(
            f"found a use of %{name}, expected a value that is defined here; {remedy}",
            self._first_uses.get(name),
        )

    # Bit patterns in dense literals, which is how NaN and infinities are printed

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        is_hexadecimal = self._current_token.text[:2] in ("0x", "0X")
        element = super()._parse_tensor_literal_element()
        if not is_hexadecimal:
            return element
        return _BitPattern(element.is_negative, element.value, element.span)

    # Resources: xDSL keeps them in one table for the whole process, by name

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        key = self.parse_identifier(" for resource handle")
        if key not in self._resource_handles:
            if self._resource_bytes is None:
                self._resource_bytes = _resources_in(self.lexer.input.content, self.ctx)
            blob = self._resource_bytes.get(key)
            self._resource_handles[key] = _resource_handle(key, blob, interface)
        return self._resource_handles[key].data

    def _parse_builtin_dense_resource_attr(self) -> DenseResourceAttr:
        attr = super()._parse_builtin_dense_resource_attr()
        return DenseResourceAttr(handle_of(attr.resource_handle.data), attr.type)

    def _parse_resource(self, dialect_name: str, interface: OpAsmDialectInterface) -> None:
        key = self._current_token.text
        name = self._parse_dialect_resource_handle(dialect_name, interface)
        self.parse_punctuation(":", " after the name of a resource")
        place = self._current_token.span
        blob = self.parse_str_literal()
        if not _is_blob(blob):
            self.raise_error(
                f"found {excerpt(blob)} for resource '{key}', expected 0x and an even number of "
                "hexadecimal digits, at least 8 for the alignment; mend the bytes",
                place,
            )
        if interface.lookup(name) != blob:
            interface.parse_resource(name, blob)


class _BitPattern(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element of a dense literal; as a float, the float of these bits (xDSL 0.74: the number)."""

    def to_type(
        self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
    ) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        assert isinstance(self.value, int)
        try:
            return next(type.iter_unpack(self.value.to_bytes(type.compile_time_size, "little")))
        except OverflowError:
            parser.raise_error(
                f"found {self.span.text}, expected the {type.compile_time_size} bytes of {type}; "
                "mend the digits",
                self.span,
            )


def _is_blob(text: str) -> bool:
    try:
        return text.startswith("0x") and len(bytes.fromhex(text[2:])) >= 4
    except ValueError:
        return False


def _reason(error: Exception) -> str:
    return one_line(str(error)) or f"not something that can be read ({type(error).__name__})"


class _ResourceScanner(IRParser):
    """Reads the resources of a text and keeps them to itself."""

    found: dict[str, str]

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        return self.parse_identifier(" for resource handle")

    def _parse_resource(self, dialect_name: str, interface: OpAsmDialectInterface) -> None:
        key = self.parse_identifier(" for resource handle")
        self.parse_punctuation(":")
        self.found[key] = self.parse_str_literal()

    def scan(self) -> dict[str, str]:
        self.found = {}
        try:
            self._parse_file_metadata_dictionary()
        except ParseError:
            return {}  # LocatingParser will come to the same place and say what is wrong
        return self.found


def _resources_in(text: str, ctx: Context) -> dict[str, str]:
    """The resources a text brings: name in the text -> blob. They stand at its end, after their uses."""
    position = text.rfind("{-#")
    return {} if position < 0 else _ResourceScanner(ctx, text[position:]).scan()


def _resource_handle(key: str, blob: str | None, interface: OpAsmDialectInterface) -> StringAttr:
    """
    The handle with the name under which the resource `key` of one text is kept in the process.

    That is `key`, unless another text has brought other bytes under that name. A name that ends in a
    digest, as all names given by `dialects.resources` do, may be used without bringing the bytes again.
    """
    is_new = interface.lookup(key) is None
    handle = handle_of(key)
    if is_new or blob == interface.lookup(key):
        return handle
    if blob is not None:
        return handle_of(f"{key}_{hashlib.sha256(blob.encode()).hexdigest()[:12]}")
    is_digest = re.search(r"_[0-9a-f]{12}$", key) is not None
    return handle if is_digest else handle_of(interface.declare_resource(key))


def _parse_failure(error: ParseError, ctx: Context, line_offset: int) -> StepwellError:
    span = error.span
    start = span.start
    message = one_line(error.msg)
    if isinstance(error, MultipleSpansParseError) and message.startswith("region ends with"):
        start = error.refs[0][0].start  # the branch, rather than the end of the region
    if match := re.match(r"'([\w.$]+)' is not registered", message):
        # The parser has read past the name.
        start = str(span.input.content).rfind(match[1], 0, start)
        message = unknown_attribute(match[1], ctx)
    else:
        message = explain(message, excerpt(span.text))
    line, column = _place(str(span.input.content), start)
    return StepwellError(message, where=f"{span.input.name}:{line + line_offset}:{column}")


def _place(text: str, position: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, position) + 1
    return text.count("\n", 0, line_start) + 1, position - line_start + 1
