"""
A function at the loop level as an indented outline, for reading.

    mm
      A: f32[17, 17], argument, 1156 bytes
      for i = 0 to 17               parallel, 17 iterations
        for k = 0 to 17             reduction, 17 iterations
          C[i] += A[i, k] * B[k]
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, SSAValue

from ..analysis.pseudocode import Pseudocode
from ..dialects import loop
from ..dialects.dtypes import bit_width
from ..dialects.shaped import Buffer
from ..transforms.step_support.nest import Nest
from ..transforms.step_support.trip_count import TripCount

_INDENT = "  "
_WIDEST = 60
"""Remarks stand in one column where the code is not wider than this."""


class _Line(NamedTuple):
    depth: int
    text: str
    remark: str = ""


def outline(nest: Nest) -> str:
    """A function's buffers, loops (range, kind, trip count) and statements, one a line."""
    function = nest.function
    lines = [*_header(function), *_Writer(nest).block(function.body.block, 1)]
    widths = [len(_INDENT) * line.depth + len(line.text) for line in lines if line.remark]
    column = max((width for width in widths if width <= _WIDEST), default=0) + 2
    return "\n".join(_text(line, column) for line in lines)


def _text(line: _Line, column: int) -> str:
    code = _INDENT * line.depth + line.text
    if not line.remark:
        return code
    return code.ljust(max(column, len(code) + 2)) + line.remark


def _header(function: func.FuncOp) -> Iterator[_Line]:
    yield _Line(0, function.sym_name.data)
    attributes = function.arg_attrs
    for number, arg in enumerate(function.body.block.args):
        marks = attributes.data[number].data.keys() if attributes is not None else ()
        what = "result" if loop.RESULT in marks else "arena" if loop.ARENA in marks else "argument"
        yield _Line(1, f"{loop.buffer_name(arg) or f'arg{number}'}: {_described(arg, what)}")


def _described(value: SSAValue, what: str) -> str:
    """The element type and shape, where it lives, and its size."""
    type_ = value.type
    if not isinstance(type_, MemRefType):
        return f"{type_}, {what}"
    shape = ", ".join("?" if n == DYNAMIC_INDEX else str(n) for n in type_.get_shape())
    size = _bytes(cast(Buffer, type_))
    in_bytes = f", {size} byte{'' if size == 1 else 's'}" if size is not None else ""
    return f"{type_.get_element_type()}[{shape}], {what}{in_bytes}"


def _bytes(type_: Buffer) -> int | None:
    shape = type_.get_shape()
    if DYNAMIC_INDEX in shape:
        return None
    return prod(shape) * max(bit_width(type_.get_element_type()), 8) // 8


class _Writer:
    """Writes the loops and statements of a function."""

    def __init__(self, nest: Nest):
        self._nest = nest
        self._code = Pseudocode(nest.function)

    def block(self, block: Block, depth: int) -> Iterator[_Line]:
        for statement in self._code.statements(block):
            match statement.op:
                case None:
                    yield _Line(depth, statement.text)
                case loop.AllocOp() as op:
                    described = _described(op.buffer, f"{op.scope.data.value} buffer")
                    yield _Line(depth, f"{self._code.name(op.buffer)}: {described}")
                case loop.ForOp() as op:
                    yield _Line(
                        depth, f"for {op.loop_name.data} = {self._range(op)}", self._remark(op)
                    )
                    yield from self.block(op.body.block, depth + 1)
                case loop.IfOp() as op:
                    yield from self._branches(op, depth)

    def _branches(self, op: loop.IfOp, depth: int) -> Iterator[_Line]:
        results = ", ".join(self._code.name(result) for result in op.results)
        assigned = f"{results} = " if results else ""
        yield _Line(depth, f"{assigned}if {self._code.condition(op)}")
        yield from self.block(op.then_region.block, depth + 1)
        if op.else_region.blocks:
            yield _Line(depth, "else")
            yield from self.block(op.else_region.block, depth + 1)

    def _range(self, op: loop.ForOp) -> str:
        lower = [self._code.affine(e, list(op.lower_operands)) for e in op.lower_map.data.results]
        upper = [self._code.affine(e, list(op.upper_operands)) for e in op.upper_map.data.results]
        low = lower[0] if len(lower) == 1 else f"max({', '.join(lower)})"
        high = upper[0] if len(upper) == 1 else f"min({', '.join(upper)})"
        step = op.step.value.data
        return f"{low} to {high}" + (f" step {step}" if step != 1 else "")

    def _remark(self, op: loop.ForOp) -> str:
        """The loop's kind, how it runs, its trip count and what is noted on it."""
        mode = f" {op.mode.data.value}" if op.mode is not None else ""
        count = _iterations(*TripCount(self._nest, op).range())
        notes = [f"{name} = {value}" for name, value in sorted(op.attributes.items())]
        return ", ".join([f"{op.kind.data.value}{mode}", count, *notes])


def _iterations(least: int, greatest: int | None) -> str:
    if greatest is None:
        return f"at least {least} iterations" if least else "any number of iterations"
    if least == greatest:
        return f"{least} iteration{'' if least == 1 else 's'}"
    return f"{least} to {greatest} iterations"
